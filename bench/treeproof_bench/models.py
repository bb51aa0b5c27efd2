"""What it takes to import the models that people have, and what missing values cost.

``python -m treeproof_bench.models [--rows 20000] [--instances 10] [--repeats 3] [--part import,gaps]``

``import``: CPU time of ``Explainer(model)`` per node, and the memory it takes beside the model's own arrays (40 bytes
a node). ``gaps``: explanations of a forest behind an imputer beside those of the same forest without one, and of
histogram boosting, whose splits send missing values left or right, beside LightGBM of the same shape. The rows are
those of `population.draw`. Libraries that are not installed are left out.
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
CHECK_MS = 250.0  # the self-check: it does not grow with the model


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


MODELS: dict[str, tuple[str, Callable[[], Any]]] = {
    "forest 100": ("sklearn", lambda: RandomForestClassifier(100, random_state=0, n_jobs=2)),
    "extra trees 100": ("sklearn", lambda: ExtraTreesClassifier(100, random_state=0, n_jobs=2)),
    "gradient boosting 200": ("sklearn", lambda: GradientBoostingClassifier(n_estimators=200, random_state=0)),
    "hist boosting 500": ("sklearn", partial(hist, 500)),
    "xgboost 300": ("xgboost", partial(xgboost, 300)),
    "xgboost 1500": ("xgboost", partial(xgboost, 1500)),
    "lightgbm 300": ("lightgbm", partial(lightgbm, 300)),
    "lightgbm 1000": ("lightgbm", partial(lightgbm, 1000)),
    "catboost 500": ("catboost", partial(catboost, 500)),
}


def time_imports(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    population = draw(args.rows)
    table = Table(
        "Explainer(model): CPU time and memory",
        "model:24 trees:7 nodes:10 ms:10.0f us_a_node:11.2f us_above_check:16.2f memory_mb:11.1f of_model:10.1f",
    )
    for name, (library, make) in MODELS.items():
        if not importlib.util.find_spec(library):
            continue
        model = make().fit(population.X, population.y)
        tp.Explainer(model)  # imports of modules, once
        timed = take_turns({"": tp.Explainer}, [model], args.repeats, warm_up=False)[""]
        forest = timed.results[0].forest
        tracemalloc.start()
        tp.Explainer(model)
        memory = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        taken = ms(timed)
        row: Row = {"model": name, "trees": forest.n_trees, "nodes": forest.n_nodes, "ms": taken}
        row |= {"us_a_node": 1000 * taken / forest.n_nodes, "memory_mb": memory / 1e6}
        row |= {"us_above_check": 1000 * max(taken - CHECK_MS, 0) / forest.n_nodes}
        row |= {"of_model": memory / (BYTES_A_NODE * forest.n_nodes)}
        table.add(row)
    slowest = max(table.rows, key=lambda row: row["us_above_check"])
    heaviest = max(table.rows, key=lambda row: row["of_model"])
    figures = [
        figure(
            f"microseconds a node beyond {CHECK_MS:g} ms ({slowest['model']})",
            slowest["us_above_check"],
            f"<= {MICROSECONDS_A_NODE:g}",
            slowest["us_above_check"] <= MICROSECONDS_A_NODE,
        ),
        figure(f"memory / arrays of the model ({heaviest['model']})", heaviest["of_model"], "<= 3"),
    ]
    return table.rows, figures


def time_gaps(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    whole, holey = draw(args.rows), draw(args.rows, gaps=0.05)
    forest = RandomForestClassifier(100, max_depth=10, random_state=0, n_jobs=2)
    filled = SimpleImputer().fit_transform(holey.X)
    plain = forest.fit(filled, holey.y)
    pipeline = make_pipeline(SimpleImputer(), forest).fit(holey.X, holey.y)
    explainers = {"forest": tp.Explainer(plain), "forest behind an imputer": tp.Explainer(pipeline)}
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
    questions = {"abductive": False, "inflate": True}
    for name, explainer in explainers.items():
        for question, inflate in questions.items():
            action = partial(explainer.abductive, timeout=args.timeout, inflate=inflate)
            timed = take_turns({"": action}, rows, args.repeats)[""]
            complete = sum(why.status == "minimal" for why in timed.results)
            row: Row = {"model": name, "question": question, "nodes": explainer.forest.n_nodes}
            row |= {"median_ms": float(np.median(medians(timed))), "worst_ms": float(medians(timed).max())}
            table.add(row | {"complete": complete, "instances": len(rows)})

    def ratio(one: str, other: str, question: str) -> float:
        found = {row["model"]: row["median_ms"] for row in table.rows if row["question"] == question}
        return float(found[one] / found[other])

    figures = []
    for question in questions:
        pairs = [("forest behind an imputer", "forest"), ("hist boosting, gaps", "hist boosting, missing=[]")]
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
