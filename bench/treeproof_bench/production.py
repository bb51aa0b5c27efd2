"""Time explanations and widening of production models: boosted, 300 to 1000 trees, two classes and five; wide data.

``python -m treeproof_bench.production [--instances 8] [--rows 20000] [--part binary,many,ties,wide] [--before FILE]``

It needs no data: models are trained on a made-up population (`population.draw`). ``--json FILE`` of a run with another
version of treeproof, given as ``--before``, is set beside the times of this one.

Times are CPU milliseconds: sums over the instances, or (`ties`, gradient boosting with leaves of very different sizes;
`wide`, sparse counts of many features) the median and the worst of them, beside the model's own one-row `predict`;
`minimal` and `widest` count the answers that came in time.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import treeproof as tp
from treeproof_bench.harness import Row, Table, figure, run
from treeproof_bench.population import Population, draw, draw_counts
from treeproof_bench.timing import Action, medians, predicts, take_turns

FEATURES = 40


def xgboost_model(trees: int, depth: int) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=trees, max_depth=depth, n_jobs=1, random_state=0)


def lightgbm_model(trees: int, leaves: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=trees, num_leaves=leaves, n_jobs=1, random_state=0, verbose=-1)


Make = Callable[[int, int], Any]
LIBRARIES: dict[str, tuple[Make, tuple[int, ...]]] = {
    "xgboost": (xgboost_model, (6,)),  # depth
    "lightgbm": (lightgbm_model, (31, 127)),  # leaves
}


def measure(part: str, n_classes: int, sizes: Sequence[int], args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    population = draw(args.rows, FEATURES, n_classes=n_classes)
    chosen = population.X[np.random.default_rng(0).choice(args.rows, args.instances, replace=False)]
    earlier = json.loads(args.before.read_text())["parts"].get(part, {"rows": []}) if args.before else {"rows": []}
    before = {row["model"]: row for row in earlier["rows"]}
    table = Table(
        f"{part}: {n_classes} classes, at most {args.timeout:g} s for an answer",
        "model:24 nodes:9 plain_ms:11.1f before_ms:11.1f minimal:9 widened_ms:12.1f before_widened:16.1f widest:8 "
        "instances:11",
    )
    for library, (make, shapes) in LIBRARIES.items():
        for trees, shape in [(t, s) for t in sizes for s in shapes] if importlib.util.find_spec(library) else ():
            explainer = tp.Explainer(make(trees, shape).fit(population.X, population.y))
            ways = {
                "plain": partial(explainer.abductive, timeout=args.timeout),
                "widened": partial(explainer.abductive, inflate=True, timeout=args.timeout),
            }
            timed = take_turns(ways, chosen, args.repeats)
            row: Row = {"model": f"{library} {trees} x {shape}", "nodes": explainer.forest.n_nodes}
            row |= {f"{way}_ms": float(np.sum(medians(timed[way]))) for way in ways}
            row["minimal"] = sum(why.status == "minimal" for why in timed["plain"].results)
            row["widest"] = sum(bool(why.widest) for why in timed["widened"].results)
            row["instances"] = len(chosen)
            known = before.get(row["model"], {})
            table.add(row | {"before_ms": known.get("plain_ms"), "before_widened": known.get("widened_ms")})
    asked = sum(row["instances"] for row in table.rows)
    minimal, widest = (sum(row[key] for row in table.rows) for key in ("minimal", "widest"))
    return table.rows, [
        figure(f"minimal in time, {n_classes} classes", f"{minimal} of {asked}", "all", minimal == asked),
        figure(f"widest in time, {n_classes} classes", f"{widest} of {asked}", "all", widest == asked),
    ]


def run_binary(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    return measure("binary", 2, (300, 1000), args)


def run_many(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    return measure("many", 5, (100, 300), args)


def measure_each(
    part: str, models: Iterable[tuple[str, Any, Population]], args: argparse.Namespace
) -> tuple[list[Row], list[Row]]:
    table = Table(
        f"{part}: at most {args.timeout:g} s for an answer",
        "model:34 nodes:9 median_ms:11.1f worst_ms:10.1f predict_ms:12.2f ratio:8.1f kept:6 near_ties:11 minimal:9 "
        "instances:11",
    )
    for name, model, population in models:
        rows = population.X[np.random.default_rng(1).choice(len(population.X), args.instances, replace=False)]
        model.fit(population.X, population.y)
        explainer = tp.Explainer(model)
        actions: dict[str, Action] = {
            "explain": partial(explainer.abductive, timeout=args.timeout),
            "predict": predicts(model),
        }
        timed = take_turns(actions, rows, args.repeats)
        times, predict = medians(timed["explain"]), float(np.median(medians(timed["predict"])))
        found = timed["explain"].results
        row: Row = {"model": name, "nodes": explainer.forest.n_nodes, "predict_ms": predict}
        row |= {"median_ms": float(np.median(times)), "worst_ms": float(np.max(times))}
        row |= {"ratio": row["median_ms"] / predict, "kept": int(np.median([len(why.features) for why in found]))}
        row["near_ties"] = sum(why.stats.near_ties > 0 for why in found)
        row["minimal"] = sum(why.status == "minimal" for why in found)
        table.add(row | {"instances": len(rows)})
    asked, minimal = (sum(row[key] for row in table.rows) for key in ("instances", "minimal"))
    return table.rows, [figure(f"minimal in time, {part}", f"{minimal} of {asked}", "all", minimal == asked)]


def run_ties(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    from sklearn.ensemble import GradientBoostingClassifier

    population = draw(args.rows, FEATURES)
    model = GradientBoostingClassifier(
        n_estimators=1000, max_depth=5, subsample=0.2, max_features=FEATURES // 4, random_state=0
    )
    return measure_each("ties", [("gradient boosting 1000 x 5", model, population)], args)


def run_wide(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    from sklearn.ensemble import RandomForestClassifier

    def models() -> Iterator[tuple[str, Any, Population]]:
        for n_features in (200, 1000, 5000):
            population = draw_counts(args.rows // 2, n_features)
            if importlib.util.find_spec("xgboost"):
                yield f"xgboost 300 x 6, {n_features} features", xgboost_model(300, 6), population
            forest = RandomForestClassifier(100, max_depth=8, random_state=0)
            yield f"forest 100 x 8, {n_features} features", forest, population

    return measure_each("wide", models(), args)


PARTS = {"binary": run_binary, "many": run_many, "ties": run_ties, "wide": run_wide}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(instances=8, repeats=1)
    parser.add_argument("--rows", type=int, default=20_000, help="rows to train on")
    parser.add_argument("--timeout", type=float, default=20.0, help="seconds for one answer")
    parser.add_argument("--before", type=Path, help="the JSON file of an earlier run, to print beside this one")


def main(argv: Sequence[str] | None = None) -> None:
    run(PARTS, __doc__, add_arguments, argv, needs_data=False)


if __name__ == "__main__":
    main()
