"""Models of CatBoost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

from catalogue import Entry
from importing import mixed_data

SMALL = {"iterations": 12, "depth": 4, "verbose": 0, "thread_count": 1, "allow_writing_files": False, "random_seed": 0}
FRAME, TARGET = mixed_data(n=200)
HIGH = np.where(TARGET > 140, "high", "low")
NAMES = ["sex", "weight"]


def _fit(kind: str, **options: Any) -> Any:
    """Return what fits a CatBoost model of a kind; classes are three, unless the loss is for two."""

    def make() -> tuple[Any, Any]:
        catboost = pytest.importorskip("catboost", reason="models of CatBoost need CatBoost")
        X, y = load_diabetes(return_X_y=True) if kind != "CatBoostClassifier" else load_iris(return_X_y=True)
        if kind == "CatBoostRanker":
            return catboost.CatBoostRanker(**SMALL, **options).fit(X, y, group_id=np.arange(len(X)) // 10), X
        model = catboost.CatBoost(SMALL) if kind == "CatBoost" else getattr(catboost, kind)(**SMALL, **options)
        return model.fit(X, y), X

    return make


def _binary(holes: bool, **options: Any) -> Any:
    def make() -> tuple[Any, Any]:
        catboost = pytest.importorskip("catboost", reason="models of CatBoost need CatBoost")
        X = FRAME.drop(columns=NAMES)
        X = X if holes else X.fillna(X.mean())
        return catboost.CatBoostClassifier(**SMALL, **options).fit(X, HIGH), X

    return make


def _mixed(**options: Any) -> Any:
    def make() -> tuple[Any, Any]:
        catboost = pytest.importorskip("catboost", reason="models of CatBoost need CatBoost")
        return catboost.CatBoostClassifier(**SMALL, **options, cat_features=NAMES).fit(FRAME, HIGH), FRAME

    return make


def _counted() -> tuple[Any, Any]:
    catboost = pytest.importorskip("catboost", reason="models of CatBoost need CatBoost")
    heavy = np.isin(FRAME["weight"], ["high", "top"])
    return catboost.CatBoostClassifier(**SMALL, cat_features=["weight"]).fit(FRAME[["weight"]], heavy), FRAME[
        ["weight"]
    ]


def _texts() -> tuple[Any, Any]:
    catboost = pytest.importorskip("catboost", reason="models of CatBoost need CatBoost")
    X = FRAME[["age"]].assign(note="a " + FRAME["sex"] + " of " + FRAME["weight"])
    return catboost.CatBoostClassifier(**SMALL, text_features=["note"]).fit(X, HIGH), X


CUTS = {"cuts": [140]}
ENTRIES = [
    Entry("CatBoost", "`CatBoostClassifier`, two classes", _binary(False)),
    Entry("CatBoost", "`CatBoostClassifier`, missing values", _binary(True)),
    Entry("CatBoost", '`CatBoostClassifier(nan_mode="Max")`, missing values', _binary(True, nan_mode="Max")),
    Entry("CatBoost", "`CatBoostClassifier`, several classes", _fit("CatBoostClassifier")),
    Entry(
        "CatBoost",
        '`CatBoostClassifier(loss_function="MultiClassOneVsAll")`',
        _fit("CatBoostClassifier", loss_function="MultiClassOneVsAll"),
    ),
    Entry(
        "CatBoost",
        '`CatBoostClassifier(grow_policy="Depthwise")`, or `"Lossguide"`',
        _fit("CatBoostClassifier", grow_policy="Depthwise"),
    ),
    Entry(
        "CatBoost",
        "`CatBoostClassifier`, categories with `one_hot_max_size`, and `data=`",
        _mixed(one_hot_max_size=10),
        options={"data": FRAME},
    ),
    Entry("CatBoost", "`CatBoostRegressor`", _fit("CatBoostRegressor"), options=CUTS),
    Entry(
        "CatBoost",
        '`CatBoostRegressor(loss_function="Poisson")`, or `"Tweedie"`',
        _fit("CatBoostRegressor", loss_function="Poisson"),
        options=CUTS,
    ),
    Entry("CatBoost", "`CatBoostRanker`", _fit("CatBoostRanker"), options={"cuts": [0]}),
    Entry("CatBoost", "`CatBoost`, its sum", _fit("CatBoost"), options=CUTS),
    Entry("CatBoost", "`CatBoostClassifier`, categories without `data=`", _mixed(one_hot_max_size=10), "only hashes"),
    Entry("CatBoost", "`CatBoostClassifier`, statistics of categories", _counted, "CTR"),
    Entry("CatBoost", "`CatBoostClassifier`, text", _texts, "text features"),
    Entry(
        "CatBoost",
        '`CatBoostRegressor(loss_function="RMSEWithUncertainty")`',
        _fit("CatBoostRegressor", loss_function="RMSEWithUncertainty"),
        "one number",
        options=CUTS,
    ),
]
