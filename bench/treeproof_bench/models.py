"""What it takes to import the models that people have, and what missing values cost.

``python -m treeproof_bench.models [--rows 20000] [--instances 10] [--repeats 3] [--part import,gaps]``

``import``: CPU time of ``Explainer(model)`` per node, and the memory it takes beside the model's own arrays (40 bytes
a node). ``gaps``: the constructor and explanations of a forest behind an imputer beside those of the same forest
without one, and explanations of histogram boosting, whose splits send missing values left or right, beside LightGBM of
the same shape. The rows are those of `population.draw`. Libraries that are not installed are left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

import treeproof as tp
from treeproof_bench.harness import Row, Table, figure, run
from treeproof_bench.population import draw
from treeproof_bench.timing import medians, ms, take_turns

BYTES_A_NODE = 40  # feature, threshold, two children, one value
MICROSECONDS_A_NODE = 2.0


def hist(trees: int) -> Any:
    return HistGradientBoostingClassifier(max_iter=trees, early_stopping=False, random_state=0)


def xgboost(trees: int) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=trees, max_depth=6, n_jobs=1, random_state=0)


def lightgbm(trees: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=trees, n_jobs=1, random_state=0, verbose=-1)


def catboost(trees: int) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(iterations=trees, thread_count=1, random_seed=0, verbose=False, allow_writing_files=False)


FAMILIES: dict[str, tuple[str, Callable[[int], Any], tuple[int, int]]] = {
    "forest": ("sklearn", lambda trees: RandomForestClassifier(trees, random_state=0, n_jobs=2), (50, 150)),
    "extra trees": ("sklearn", lambda trees: ExtraTreesClassifier(trees, random_state=0, n_jobs=2), (50, 150)),
    "gradient boosting": (
        "sklearn",
        lambda trees: GradientBoostingClassifier(n_estimators=trees, max_depth=5, random_state=0),
        (50, 150),
    ),
    "hist boosting": ("sklearn", hist, (100, 500)),
    "xgboost": ("xgboost", xgboost, (300, 1500)),
    "lightgbm": ("lightgbm", lightgbm, (300, 1000)),
    "catboost": ("catboost", catboost, (200, 800)),
}


def time_imports(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    population = draw(args.rows)
    table = Table(
        "Explainer(model): CPU time and memory",
        "model:20 trees:7 nodes:10 ms:10.0f us_a_node:11.2f memory_mb:11.1f of_model:10.1f",
    )
    figures = []
    for name, (library, make, sizes) in FAMILIES.items():
        if not importlib.util.find_spec(library):
            continue
        for trees in sizes:
            model = make(trees).fit(population.X, population.y)
            tp.Explainer(model)  # imports of modules, once
            timed = take_turns({"": tp.Explainer}, [model], args.repeats, warm_up=False)[""]
            nodes = timed.results[0].forest.n_nodes
            tracemalloc.start()
            tp.Explainer(model)
            memory = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            row: Row = {"model": name, "trees": trees, "nodes": nodes, "ms": ms(timed)}
            row |= {"us_a_node": 1000 * ms(timed) / nodes, "memory_mb": memory / 1e6}
            table.add(row | {"of_model": memory / (BYTES_A_NODE * nodes)})
        small, large = table.rows[-2:]
        # What is the same for both, such as the self-check, cancels.
        more = 1000 * (large["ms"] - small["ms"]) / (large["nodes"] - small["nodes"])
        target = f"<= {MICROSECONDS_A_NODE:g}"
        figures.append(figure(f"{name}: microseconds for each further node", more, target, more <= MICROSECONDS_A_NODE))
    # Of each family the larger one: for a model of a few thousand nodes, any row that is looked at counts as much.
    heaviest = max(table.rows[1::2], key=lambda row: row["of_model"])
    share = heaviest["of_model"]
    figures.append(figure(f"memory / arrays of a large model ({heaviest['model']})", share, "<= 3", share <= 3))
    return table.rows, figures


def time_gaps(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    whole, holey = draw(args.rows), draw(args.rows, gaps=0.05)
    forest = RandomForestClassifier(100, max_depth=10, random_state=0, n_jobs=2)
    filled = SimpleImputer().fit_transform(holey.X)
    plain = forest.fit(filled, holey.y)
    pipeline = make_pipeline(SimpleImputer(), forest).fit(holey.X, holey.y)
    explainers = {"forest": tp.Explainer(plain), "forest behind an imputer": tp.Explainer(pipeline)}
    constructors = {
        "forest": lambda _: tp.Explainer(plain),
        "forest behind an imputer": lambda _: tp.Explainer(pipeline),
    }
    made = take_turns(constructors, [None], max(args.repeats, 5))
    boosted = hist(200).fit(holey.X, holey.y)
    explainers |= {"hist boosting, gaps": tp.Explainer(boosted)}
    explainers |= {"hist boosting, missing=[]": tp.Explainer(boosted, missing=[])}
    if importlib.util.find_spec("lightgbm"):
        explainers["lightgbm, no gaps"] = tp.Explainer(lightgbm(200).fit(whole.X, whole.y))
    rows = filled[: args.instances]
    table = Table(
        "missing values: explanations of the same rows",
        "model:28 question:10 nodes:10 median_ms:11.2f worst_ms:10.2f complete:10 instances:11",
    )
    for name, timed in made.items():
        row: Row = {"model": name, "question": "Explainer", "nodes": explainers[name].forest.n_nodes}
        table.add(row | {"median_ms": ms(timed), "worst_ms": max(timed.raw[0]), "complete": 1, "instances": 1})
    questions = {"abductive": False, "inflate": True}
    for name, explainer in explainers.items():
        for question, inflate in questions.items():
            action = partial(explainer.abductive, timeout=args.timeout, inflate=inflate)
            timed = take_turns({"": action}, rows, args.repeats)[""]
            complete = sum(why.status == "minimal" for why in timed.results)
            row = {"model": name, "question": question, "nodes": explainer.forest.n_nodes}
            row |= {"median_ms": float(np.median(medians(timed))), "worst_ms": float(medians(timed).max())}
            table.add(row | {"complete": complete, "instances": len(rows)})

    def ratio(one: str, other: str, question: str) -> float:
        found = {row["model"]: row["median_ms"] for row in table.rows if row["question"] == question}
        return float(found[one] / found[other])

    imputer, forest_alone = "forest behind an imputer", "forest"
    value = ratio(imputer, forest_alone, "Explainer")
    figures = [figure(f"constructor: {imputer} / {forest_alone}", value, "<= 1.5", value <= 1.5)]
    for question in questions:
        pairs = [(imputer, forest_alone), ("hist boosting, gaps", "hist boosting, missing=[]")]
        if "lightgbm, no gaps" in explainers:
            pairs.append(("hist boosting, gaps", "lightgbm, no gaps"))
        for one, other in pairs:
            value = ratio(one, other, question)
            figures.append(figure(f"{question}: {one} / {other}", value, "<= 1.5", value <= 1.5))
    return table.rows, figures


PARTS = {"import": time_imports, "gaps": time_gaps}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, default=20_000, help="rows to train on")
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds for one explanation")


def main(argv: Sequence[str] | None = None) -> None:
    run(PARTS, __doc__, add_arguments, argv, needs_data=False)


if __name__ == "__main__":
    main()
