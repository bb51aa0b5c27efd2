"""Time explanations of production models: boosted and default ones of up to 1000 trees, many classes, gaps, wide data.

``python -m treeproof_bench.production [--part binary,many,gaps,ties,forest,wide,widened] [--instances 20]``

It needs no data: models are trained on a made-up population (`population.draw`) of ``--rows`` rows, drawn with
``--seed``. Training takes longer than measuring, so fitted models stay in ``--models``, a folder, for the next run.

Times are CPU milliseconds, the median and the worst of the instances, beside the median of the model's own one-row
`predict` on them; `minimal` counts the answers that came in time. The part `widened` has sums over the instances, and
``--json FILE`` of a run with another version of treeproof, given as ``--before``, is set beside them.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import treeproof as tp
from treeproof_bench.harness import Part, Row, Table, figure, run
from treeproof_bench.population import Population, draw, draw_counts
from treeproof_bench.timing import Action, medians, predicts, take_turns

FEATURES = 40
WIDE_ROWS = 10_000  # at most so many rows of many features
WORST_RATIO = 100  # no explanation should take longer than so many predictions


def xgboost_model(trees: int, depth: int, rate: float = 0.3) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=trees, max_depth=depth, learning_rate=rate, n_jobs=1, random_state=0)


def lightgbm_model(trees: int, leaves: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=trees, num_leaves=leaves, n_jobs=1, random_state=0, verbose=-1)


def histogram_model(trees: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=trees, early_stopping=False, random_state=0)


def gradient_model(trees: int, depth: int) -> Any:
    from sklearn.ensemble import GradientBoostingClassifier

    return GradientBoostingClassifier(
        n_estimators=trees, max_depth=depth, subsample=0.2, max_features=FEATURES // 4, random_state=0
    )


def forest_model(trees: int, depth: int | None = None) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(trees, max_depth=depth, random_state=0)


Options = Mapping[str, Mapping[str, Any]]  # of Explainer, by what they mean


@dataclass(frozen=True)
class Model:
    """A model to train, on whom, and what is asked of its explanations: their median, in predictions."""

    name: str
    library: str
    make: Callable[[], Any]
    population: Callable[[], Population]
    goal: float | None = None
    options: Options = field(default_factory=lambda: {"": {}})

    def fitted(self, args: argparse.Namespace, population: Population) -> Any:
        """Train the model, or read it from an earlier run with the same library, rows and seed."""
        version = importlib.import_module(self.library).__version__
        shape = f"{len(population.X)} rows, seed {args.seed}, {self.library} {version}"
        path = args.models / f"{self.name}, {shape}.pickle".replace(" ", "_").replace(",", "")
        if path.exists():
            return pickle.loads(path.read_bytes())
        model = self.make().fit(population.X, population.y)
        args.models.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_bytes(pickle.dumps(model))
        unfinished.rename(path)
        return model


def binary_models(args: argparse.Namespace) -> Iterator[Model]:
    people = partial(draw, args.rows, FEATURES, seed=args.seed)
    for trees in (300, 1000):
        yield Model(f"xgboost {trees} x 6", "xgboost", partial(xgboost_model, trees, 6), people, 5)
    for leaves in (31, 127):
        yield Model(f"lightgbm 1000 x {leaves}", "lightgbm", partial(lightgbm_model, 1000, leaves), people, 5)


def many_models(args: argparse.Namespace) -> Iterator[Model]:
    for n_classes, trees, rate in ((5, 300, 0.1), (20, 100, 0.3)):
        people = partial(draw, args.rows, FEATURES, n_classes=n_classes, seed=args.seed)
        name = f"xgboost {trees} x 6, {n_classes} classes"
        yield Model(name, "xgboost", partial(xgboost_model, trees, 6, rate), people, 20)


def gaps_models(args: argparse.Namespace) -> Iterator[Model]:
    people = partial(draw, args.rows, FEATURES, seed=args.seed, gaps=0.05)
    options: Options = {", gaps": {}, ", missing=[]": {"missing": []}}
    yield Model("histogram 500", "sklearn", partial(histogram_model, 500), people, 5, options)


def ties_models(args: argparse.Namespace) -> Iterator[Model]:
    people = partial(draw, args.rows, FEATURES, seed=args.seed)
    yield Model("gradient boosting 1000 x 5", "sklearn", partial(gradient_model, 1000, 5), people)


def forest_models(args: argparse.Namespace) -> Iterator[Model]:
    people = partial(draw, args.rows // 2, FEATURES, seed=args.seed)
    options = {", mean": {}, ", majority": {"vote": "majority"}}
    yield Model("forest of 500", "sklearn", partial(forest_model, 500), people, 5, options)


def wide_models(args: argparse.Namespace) -> Iterator[Model]:
    for n_features in (200, 1000, 5000):
        counts = partial(draw_counts, min(args.rows, WIDE_ROWS), n_features, seed=args.seed)
        wide = f"{n_features} features"
        yield Model(f"xgboost 300 x 6, {wide}", "xgboost", partial(xgboost_model, 300, 6), counts)
        options = {", mean": {}, ", majority": {"vote": "majority"}}
        yield Model(f"forest 100 x 8, {wide}", "sklearn", partial(forest_model, 100, 8), counts, options=options)


def measure(
    part: str, models: Callable[[argparse.Namespace], Iterable[Model]], args: argparse.Namespace
) -> tuple[list[Row], list[Row]]:
    table = Table(
        f"{part}: at most {args.timeout:g} s for an answer",
        "model:40 nodes:9 median_ms:11.1f worst_ms:10.1f predict_ms:12.2f ratio:8.1f worst_ratio:13.1f kept:6 "
        "near_ties:11 minimal:9 instances:11",
    )
    figures = []
    for model in models(args):
        if not importlib.util.find_spec(model.library) or args.model not in model.name:
            continue
        population = model.population()
        fitted = model.fitted(args, population)
        rows = population.X[np.random.default_rng(1).choice(len(population.X), args.instances, replace=False)]
        for meaning, options in model.options.items():
            complete = rows if options.get("missing") is None else np.nan_to_num(rows)
            row = measure_one(model.name + meaning, fitted, tp.Explainer(fitted, **options), complete, args)
            table.add(row)
            if model.goal is not None:
                goal, ratio = f"{model.goal:g}", row["ratio"]
                figures.append(figure(f"predictions, {row['model']}", ratio, goal, ratio <= model.goal))
                worst = row["worst_ratio"]
                figures.append(figure("  in the worst case", worst, str(WORST_RATIO), worst <= WORST_RATIO))
    asked, minimal = (sum(row[key] for row in table.rows) for key in ("instances", "minimal"))
    return table.rows, [figure(f"minimal in time, {part}", f"{minimal} of {asked}", "all", minimal == asked), *figures]


def measure_one(name: str, fitted: Any, explainer: tp.Explainer, rows: Any, args: argparse.Namespace) -> Row:
    actions: dict[str, Action] = {
        "explain": partial(explainer.abductive, timeout=args.timeout),
        "predict": predicts(fitted),
    }
    timed = take_turns(actions, rows, args.repeats)
    times, predict = medians(timed["explain"]), float(np.median(medians(timed["predict"])))
    found = timed["explain"].results
    row: Row = {"model": name, "nodes": explainer.forest.n_nodes, "predict_ms": predict, "each_ms": times.tolist()}
    row |= {"median_ms": float(np.median(times)), "worst_ms": float(np.max(times))}
    row |= {"ratio": row["median_ms"] / predict, "worst_ratio": row["worst_ms"] / predict}
    row["kept"] = int(np.median([len(why.features) for why in found]))
    row["near_ties"] = sum(why.stats.near_ties > 0 for why in found)
    row["minimal"] = sum(why.status == "minimal" for why in found)
    return row | {"instances": len(rows)}


def widened_models(args: argparse.Namespace) -> Iterator[Model]:
    for n_classes, sizes in ((2, (300, 1000)), (5, (100, 300))):
        people = partial(draw, args.rows // 5, FEATURES, n_classes=n_classes, seed=args.seed)
        of = f"{n_classes} classes"
        for trees in sizes:
            yield Model(f"xgboost {trees} x 6, {of}", "xgboost", partial(xgboost_model, trees, 6), people)
            for leaves in (31, 127):
                make = partial(lightgbm_model, trees, leaves)
                yield Model(f"lightgbm {trees} x {leaves}, {of}", "lightgbm", make, people)


def run_widened(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    earlier = json.loads(args.before.read_text())["parts"].get("widened", {"rows": []}) if args.before else {"rows": []}
    before = {row["model"]: row for row in earlier["rows"]}
    table = Table(
        f"widened: at most {args.timeout:g} s for an answer",
        "model:34 nodes:9 plain_ms:11.1f before_ms:11.1f minimal:9 widened_ms:12.1f before_widened:16.1f widest:8 "
        "instances:11",
    )
    for model in widened_models(args):
        if not importlib.util.find_spec(model.library) or args.model not in model.name:
            continue
        population = model.population()
        chosen = population.X[np.random.default_rng(0).choice(len(population.X), args.instances, replace=False)]
        explainer = tp.Explainer(model.fitted(args, population))
        ways = {
            "plain": partial(explainer.abductive, timeout=args.timeout),
            "widened": partial(explainer.abductive, inflate=True, timeout=args.timeout),
        }
        timed = take_turns(ways, chosen, args.repeats)
        row: Row = {"model": model.name, "nodes": explainer.forest.n_nodes}
        row |= {f"{way}_ms": float(np.sum(medians(timed[way]))) for way in ways}
        row["minimal"] = sum(why.status == "minimal" for why in timed["plain"].results)
        row["widest"] = sum(bool(why.widest) for why in timed["widened"].results)
        row["instances"] = len(chosen)
        known = before.get(row["model"], {})
        table.add(row | {"before_ms": known.get("plain_ms"), "before_widened": known.get("widened_ms")})
    asked, minimal, widest = (sum(row[key] for row in table.rows) for key in ("instances", "minimal", "widest"))
    return table.rows, [
        figure("minimal in time, widened", f"{minimal} of {asked}", "all", minimal == asked),
        figure("widest in time", f"{widest} of {asked}", "all", widest == asked),
    ]


MODELS: dict[str, Callable[[argparse.Namespace], Iterator[Model]]] = {
    "binary": binary_models,
    "many": many_models,
    "gaps": gaps_models,
    "ties": ties_models,
    "forest": forest_models,
    "wide": wide_models,
}
PARTS: dict[str, Part] = {
    **{part: partial(measure, part, models) for part, models in MODELS.items()},
    "widened": run_widened,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(repeats=1)
    parser.add_argument("--rows", type=int, default=100_000, help="rows to train on")
    parser.add_argument("--seed", type=int, default=1, help="of the population")
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds for one answer")
    parser.add_argument("--model", default="", help="only models with this in their names")
    folder = Path(tempfile.gettempdir()) / "treeproof-models"
    parser.add_argument("--models", type=Path, default=folder, help="folder for fitted models")
    parser.add_argument("--before", type=Path, help="the JSON file of an earlier run, to print beside this one")


def main(argv: Sequence[str] | None = None) -> None:
    run(PARTS, __doc__, add_arguments, argv, needs_data=False)


if __name__ == "__main__":
    main()
