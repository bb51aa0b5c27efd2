"""Time explanations of boosted models beside the models' own one-row ``predict``.

``python -m treeproof_bench.boosted --data DIR [--instances 20] [--repeats 3] [--dataset NAME ...] [--part xgboost]``

DIR holds the datasets as CSV files and ``table1.csv``. Each part is one library: ``sklearn`` (GradientBoosting),
``hist`` (HistGradientBoosting), ``xgboost`` and ``lgbm`` (LightGBM); one that is not installed is left out. Of each,
models of 100, 300 and 1000 trees (for each class, if there are several), of depth 3 and 6.

Times are CPU times of one thread. Both are timed in turns on the same instances; each instance counts with the median
of its repeats, and a ratio of a model is the ratio of the means over its instances.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable, Sequence
from functools import partial
from statistics import geometric_mean
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier

import treeproof as tp
from treeproof_bench.harness import Row, Table, figure, run
from treeproof_bench.recipe import read, sample
from treeproof_bench.timing import Action, medians, ms, predicts, take_turns

DATASETS = ("wdbc", "sonar", "spambase", "vowel")

Train = Callable[[int, int], Any]


def sklearn_model(trees: int, depth: int) -> Any:
    return GradientBoostingClassifier(n_estimators=trees, max_depth=depth, random_state=0)


def hist_model(trees: int, depth: int) -> Any:
    return HistGradientBoostingClassifier(
        max_iter=trees, max_depth=depth, max_leaf_nodes=None, early_stopping=False, random_state=0
    )


def xgboost_model(trees: int, depth: int) -> Any:
    import xgboost

    return xgboost.XGBClassifier(n_estimators=trees, max_depth=depth, n_jobs=1, random_state=0)


def lightgbm_model(trees: int, depth: int) -> Any:
    import lightgbm

    options = {"max_depth": depth, "num_leaves": 2**depth, "n_jobs": 1, "random_state": 0, "verbose": -1}
    return lightgbm.LGBMClassifier(n_estimators=trees, **options)


def run_library(train: Train, title: str, args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    table = Table(
        f"{title}: one explanation beside one-row predict, at most {args.timeout:g} s for an instance",
        "dataset:15 trees:7 depth:7 nodes:9 import_ms:11.1f explain_ms:12.2f predict_ms:12.3f ratio:9.2f median:9.2f "
        "worst:9.2f minimal:9 instances:11 near_ties:11 length:8.1f",
    )
    for name in args.dataset or DATASETS:
        X, y = read(args.data, name)
        y = np.unique(y, return_inverse=True)[1]  # XGBoost takes classes 0, 1, ... only
        rows = sample(args.data, name, args.instances)[1]
        for trees, depth in [(t, d) for t in args.trees for d in args.depth]:
            model = train(trees, depth).fit(X, y)
            imported = take_turns({"": tp.Explainer}, [model], 1, warm_up=False)[""]
            explainer = imported.results[0]
            actions: dict[str, Action] = {
                "explain": partial(explainer.abductive, timeout=args.timeout),
                "predict": predicts(model),
            }
            timed = take_turns(actions, rows, args.repeats)
            explain, predict = timed["explain"], timed["predict"]
            if [why.label for why in explain.results] != predict.results:
                raise SystemExit(f"{name}: what is explained is not what the model predicts")
            ratios = medians(explain) / medians(predict)
            row = {"dataset": name, "trees": trees, "depth": depth, "nodes": explainer.forest.n_nodes}
            row |= {"import_ms": ms(imported), "explain_ms": ms(explain), "predict_ms": ms(predict)}
            row |= {
                "ratio": ms(explain) / ms(predict),
                "median": float(np.median(ratios)),
                "worst": float(np.max(ratios)),
            }
            row |= {"minimal": sum(why.status == "minimal" for why in explain.results), "instances": len(ratios)}
            row |= {"near_ties": sum(why.stats.near_ties > 0 for why in explain.results)}
            row |= {"length": float(np.mean([len(why.features) for why in explain.results]))}
            table.add(row | {"explain_raw": explain.raw, "predict_raw": predict.raw})
    found = table.rows
    minimal, n = sum(row["minimal"] for row in found), sum(row["instances"] for row in found)
    worst = max(found, key=lambda row: row["ratio"])
    where = f"{worst['dataset']}, {worst['trees']} trees, depth {worst['depth']}"
    return found, [
        figure("geometric mean of explanation / predict", geometric_mean(row["ratio"] for row in found)),
        figure(f"largest ratio of a model ({where})", worst["ratio"]),
        figure("minimal in time", f"{minimal} of {n}", "all", minimal == n),
    ]


PARTS = {
    "sklearn": partial(run_library, sklearn_model, "sklearn, GradientBoosting"),
    "hist": partial(run_library, hist_model, "hist, HistGradientBoosting"),
    "xgboost": partial(run_library, xgboost_model, "xgboost"),
    "lgbm": partial(run_library, lightgbm_model, "lightgbm"),
}


NEEDS = {"xgboost": "xgboost", "lgbm": "lightgbm"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--trees", type=int, nargs="+", default=[100, 300, 1000], help="numbers of trees")
    parser.add_argument("--depth", type=int, nargs="+", default=[3, 6], help="depths of trees")
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds for one explanation")


def main(argv: Sequence[str] | None = None) -> None:
    there = {name: part for name, part in PARTS.items() if importlib.util.find_spec(NEEDS.get(name, "sklearn"))}
    run(there, __doc__, add_arguments, argv)


if __name__ == "__main__":
    main()
