"""How short reasons get when they are local: lengths, radii and times.

``python -m treeproof_bench.local [--data DIR] [--instances 5] [--rows 50000] [--part boosted,forests]``

``boosted``: XGBoost and LightGBM of 300 and 1000 trees on a made-up population of 40 features (`population.draw`).
``forests``: the 32 forests of the paper's Table 1, majority vote; it needs ``--data``.

For each model the mean length of the minimal reason within a radius, and everywhere; the median radius that 0, 3 and 5
features reach; and the CPU time of these. Scales are those of the rows that the model was trained on.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import treeproof as tp
from treeproof_bench.harness import Row, Table, figure, recipe, run
from treeproof_bench.models import lightgbm, xgboost
from treeproof_bench.population import draw
from treeproof_bench.recipe import read
from treeproof_bench.timing import medians, take_turns

RADII = (0.05, 0.1, 0.25, 0.5, 1)
BUDGETS = (0, 3, 5)
READABLE = 5  # features


def measure(models: Iterator[tuple[str, tp.Explainer, Any]], title: str, args: argparse.Namespace) -> list[Row]:
    lengths = " ".join(f"r{radius:g}:7.1f" for radius in RADII)
    reached = " ".join(f"at_{most}:9.3g" for most in BUDGETS)
    table = Table(
        f"{title}: mean length within a radius, median radius of few features, median CPU ms",
        f"model:22 features:9 {lengths} everywhere:11.1f {reached} "
        "ms_local:10.1f ms_everywhere:14.1f ms_at_5:9.0f late:5",
    )
    for name, explainer, rows in models:
        ways: dict[str, Callable[[Any], Any]] = {"everywhere": partial(explainer.abductive, timeout=args.timeout)}
        ways |= {f"r{r:g}": partial(explainer.abductive, within=r, timeout=args.timeout) for r in RADII}
        ways |= {f"at_{k}": partial(explainer.abductive, at_most=k, timeout=args.timeout) for k in BUDGETS}
        timed = take_turns(ways, rows, args.repeats)
        row: Row = {"model": name, "features": explainer.space.n_features}
        for way in ("everywhere", *(f"r{r:g}" for r in RADII)):
            row[way] = float(np.mean([len(why.features) for why in timed[way].results]))
        for k in BUDGETS:
            found = [why.within for why in timed[f"at_{k}"].results]
            row[f"at_{k}"] = float(np.median([np.inf if radius is None else float(radius) for radius in found]))
        times = {way: medians(timed[way]) for way in ways}
        row |= {"ms_local": float(np.median(times["r0.25"])), "ms_everywhere": float(np.median(times["everywhere"]))}
        row |= {"ms_at_5": float(np.median(times["at_5"])), "worst_ms_at_5": float(np.max(times["at_5"]))}
        row["late"] = sum(not why.decided for way in ways for why in timed[way].results)
        table.add(row)
    return table.rows


def figures(rows: list[Row]) -> list[Row]:
    found = []
    for r in (0.1, 0.25):
        share = sum(row[f"r{r:g}"] for row in rows) / sum(row["everywhere"] for row in rows)
        found.append(figure(f"length within {r:g} / everywhere, sums of the means", float(share)))
        short = sum(row[f"r{r:g}"] <= READABLE for row in rows)
        found.append(
            figure(f"models with at most {READABLE} features on average within {r:g}", f"{short} of {len(rows)}")
        )
    worst = max(row["worst_ms_at_5"] for row in rows)
    found.append(figure("ms for the radius of 5 features: worst row of all", worst))
    return found


def boosted(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    population = draw(args.rows)
    chosen = population.X[np.random.default_rng(0).choice(args.rows, args.instances, replace=False)]

    def models() -> Iterator[tuple[str, tp.Explainer, Any]]:
        for name, make in (("xgboost", xgboost), ("lightgbm", lightgbm)):
            for trees in args.trees if importlib.util.find_spec(name) else ():
                model = make(trees).fit(population.X, population.y)
                yield f"{name}, {trees} trees", tp.Explainer(model, data=population.X), chosen

    rows = measure(models(), f"boosted, {args.rows} rows", args)
    return rows, figures(rows)


def forests(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    if args.data is None:
        print("\nforests: left out, they need --data")
        return [], []

    def models() -> Iterator[tuple[str, tp.Explainer, Any]]:
        for name, _, model, rows in recipe(args):
            yield name, tp.Explainer(model, vote="majority", data=read(args.data, name)[0]), rows

    rows = measure(models(), "forests", args)
    return rows, figures(rows)


PARTS = {"boosted": boosted, "forests": forests}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(instances=5, repeats=1)
    parser.add_argument("--data", type=Path, help="folder with the datasets and table1.csv")
    parser.add_argument("--dataset", nargs="+", help="datasets, by default all")
    parser.add_argument("--rows", type=int, default=50_000, help="rows to train on")
    parser.add_argument("--trees", type=int, nargs="+", default=[300, 1000], help="trees of boosted models")
    parser.add_argument("--timeout", type=float, default=5.0, help="seconds for one explanation")


def main(argv: Sequence[str] | None = None) -> None:
    run(PARTS, __doc__, add_arguments, argv, needs_data=False)


if __name__ == "__main__":
    main()
