"""Models of XGBoost and LightGBM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from catalogue import Entry
from importing import mixed_data

Made = Callable[[], tuple[Any, Any]]
CUTS = {"cuts": [100.0, 200.0]}
LGB = {"n_estimators": 8, "num_leaves": 6, "verbose": -1, "n_jobs": 1, "random_state": 0, "min_child_samples": 5}
XGB = {"n_estimators": 8, "max_depth": 3, "random_state": 0, "n_jobs": 1}


def _of(kind: Any, data: Any, **options: Any) -> Made:
    """Return what fits a model of this kind to this data."""

    def make() -> tuple[Any, Any]:
        X, y = data()
        return kind(**options).fit(X, y), X

    return make


def _cancer() -> tuple[Any, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    return X[::3, :8], y[::3]


def _iris() -> tuple[Any, Any]:
    return load_iris(return_X_y=True)


def _diabetes() -> tuple[Any, Any]:
    X, y = load_diabetes(return_X_y=True, scaled=False)
    return X[::2], y[::2]


def _holed() -> tuple[Any, Any]:
    X, y = _cancer()
    return np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X), y


def _minus_one() -> tuple[Any, Any]:
    X, y = _holed()
    return np.nan_to_num(X[:, :3], nan=-1.0), y


def _typed() -> tuple[Any, Any]:
    """Columns of pandas' type category, one with gaps, and numbers."""
    X, y = mixed_data()
    X = X.astype({"sex": "category", "weight": "category"})
    X.loc[::7, "weight"] = np.nan
    X["ward"] = pd.Categorical(np.random.default_rng(0).choice([3, 5, 8, 13, 21, 34], len(X)))
    return X, (y > 140).astype(int)


def _two_targets() -> tuple[Any, Any]:
    X, y = _diabetes()
    return X, np.column_stack([y, -y])


def _ranked(kind: Any, **options: Any) -> Made:
    def make() -> tuple[Any, Any]:
        X, y = _diabetes()
        options_of_fit = {"qid": np.repeat(np.arange(13), 17)} if kind is xgb.XGBRanker else {"group": [17] * 13}
        return kind(**options).fit(X, (y // 100).astype(int), **options_of_fit), X

    return make


def _stopped() -> tuple[Any, Any]:
    X, y = _cancer()
    model = xgb.XGBClassifier(**{**XGB, "n_estimators": 40}, learning_rate=1.0, early_stopping_rounds=2)
    return model.fit(X[::2], y[::2], eval_set=[(X[1::2], y[1::2])], verbose=False), X


def _squared(y: Any, p: Any) -> Any:
    return p - y, np.ones_like(p)


def _xgboost() -> list[Entry]:
    classifier, regressor = xgb.XGBClassifier, xgb.XGBRegressor
    every_kind = {**XGB, "enable_categorical": True}
    taken: list[tuple[str, Made, dict[str, Any]]] = [
        ("`XGBClassifier`, two classes", _of(classifier, _cancer, **XGB), {}),
        ("`XGBClassifier`, several classes", _of(classifier, _iris, **XGB), {}),
        ("`XGBClassifier`, missing values", _of(classifier, _holed, **XGB), {}),
        ("`XGBClassifier`, early stopping", _stopped, {}),
        ("`XGBClassifier`, categories", _of(classifier, _typed, **every_kind), {}),
        ("`XGBClassifier(max_cat_to_onehot=9)`", _of(classifier, _typed, **every_kind, max_cat_to_onehot=9), {}),
        ('`XGBClassifier(booster="dart")`', _of(classifier, _cancer, **XGB, booster="dart", rate_drop=0.4), {}),
        ("`XGBClassifier(num_parallel_tree=3)`", _of(classifier, _cancer, **XGB, num_parallel_tree=3), {}),
        ("`XGBClassifier(missing=-1)`", _of(classifier, _minus_one, **XGB, missing=-1), {}),
        ('`XGBClassifier(objective="multi:softmax")`', _of(classifier, _iris, **XGB, objective="multi:softmax"), {}),
        ('`XGBClassifier(objective="binary:hinge")`', _of(classifier, _cancer, **XGB, objective="binary:hinge"), {}),
        (
            '`XGBClassifier(objective="binary:logitraw")`',
            _of(classifier, _cancer, **XGB, objective="binary:logitraw"),
            {},
        ),
        ("`XGBRFClassifier`", _of(xgb.XGBRFClassifier, _cancer, **XGB), {}),
        ("`XGBRegressor`", _of(regressor, _diabetes, **XGB), CUTS),
        ('`XGBRegressor(booster="dart")`', _of(regressor, _diabetes, **XGB, booster="dart", rate_drop=0.4), CUTS),
        *(
            (f'`XGBRegressor(objective="{name}")`', _of(regressor, _diabetes, **XGB, objective=name), CUTS)
            for name in (
                "reg:absoluteerror",
                "reg:pseudohubererror",
                "reg:squaredlogerror",
                "count:poisson",
                "reg:gamma",
                "reg:tweedie",
                "survival:cox",
            )
        ),
        (
            '`XGBRegressor(objective="reg:quantileerror")`',
            _of(regressor, _diabetes, **XGB, objective="reg:quantileerror", quantile_alpha=0.8),
            CUTS,
        ),
        ("`XGBRFRegressor`", _of(xgb.XGBRFRegressor, _diabetes, **XGB), CUTS),
        *(
            (f'`XGBRanker(objective="{name}")`', _ranked(xgb.XGBRanker, **XGB, objective=name), {"cuts": [0.0]})
            for name in ("rank:ndcg", "rank:pairwise")
        ),
    ]
    refused: list[tuple[str, Made, str]] = [
        ('`XGBClassifier(booster="gblinear")`', _of(classifier, _cancer, n_estimators=2, booster="gblinear"), "gbtree"),
        (
            '`multi_strategy="multi_output_tree"`',
            _of(classifier, _iris, **XGB, multi_strategy="multi_output_tree"),
            "several outputs",
        ),
        ("`XGBRegressor`, two targets", _of(regressor, _two_targets, **XGB), "one output"),
        (
            "`quantile_alpha=[0.1, 0.9]`",
            _of(regressor, _diabetes, **XGB, objective="reg:quantileerror", quantile_alpha=[0.1, 0.9]),
            "one output",
        ),
        (
            "`XGBClassifier`, an objective of one's own",
            _of(classifier, _cancer, **XGB, objective=_squared),
            "objective",
        ),
    ]
    return [
        *(Entry("XGBoost", name, make, options=options) for name, make, options in taken),
        *(Entry("XGBoost", name, make, reason) for name, make, reason in refused),
    ]


def _zeros() -> tuple[Any, Any]:
    X, y = _holed()
    return np.nan_to_num(X[:, :3], nan=0.0), y


def _words() -> tuple[Any, Any]:
    """Column names with blanks, which LightGBM writes differently."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, y


def _codes() -> tuple[Any, Any]:
    """Whole numbers that are categories, some too rare for LightGBM."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.choice(6, 500), rng.normal(size=500)]).astype(float)
    X[:3, 0] = [40, 41, 77]
    return X, (np.isin(X[:, 0], [0, 3, 40]) ^ (X[:, 1] > 0.5)).astype(int)


def _lightgbm() -> list[Entry]:
    classifier, regressor = lgb.LGBMClassifier, lgb.LGBMRegressor
    bagged = {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1}

    def coded() -> tuple[Any, Any]:
        X, y = _codes()
        options = {**LGB, "cat_smooth": 1, "min_data_per_group": 5}
        return classifier(**options).fit(X, y, categorical_feature=[0]), X

    taken: list[tuple[str, Made, dict[str, Any]]] = [
        ("`LGBMClassifier`, two classes", _of(classifier, _cancer, **LGB), {}),
        ("`LGBMClassifier`, several classes", _of(classifier, _iris, **LGB), {}),
        ("`LGBMClassifier`, missing values", _of(classifier, _holed, **LGB), {}),
        ("`LGBMClassifier`, blanks in names of columns", _of(classifier, _words, **LGB), {}),
        ("`LGBMClassifier`, categories", _of(classifier, _typed, **LGB), {}),
        ("`LGBMClassifier`, whole numbers as categories", coded, {}),
        ('`LGBMClassifier(boosting_type="dart")`', _of(classifier, _cancer, **LGB, boosting_type="dart"), {}),
        ('`LGBMClassifier(boosting_type="rf")`', _of(classifier, _cancer, **LGB, **bagged), {}),
        ('`LGBMClassifier(boosting_type="rf")`, several classes', _of(classifier, _iris, **LGB, **bagged), {}),
        ("`LGBMClassifier(zero_as_missing=True)`", _of(classifier, _zeros, **LGB, zero_as_missing=True), {}),
        (
            '`LGBMClassifier(objective="cross_entropy")`',
            _of(classifier, _cancer, **LGB, objective="cross_entropy"),
            {},
        ),
        (
            '`LGBMClassifier(objective="multiclassova")`',
            _of(classifier, _iris, **LGB, objective="multiclassova", num_class=3),
            {},
        ),
        *(
            (f'`LGBMRegressor(objective="{name}")`', _of(regressor, _diabetes, **LGB, objective=name), CUTS)
            for name in (
                "regression",
                "regression_l1",
                "huber",
                "fair",
                "quantile",
                "mape",
                "poisson",
                "gamma",
                "tweedie",
            )
        ),
        ("`LGBMRegressor(reg_sqrt=True)`", _of(regressor, _diabetes, **LGB, reg_sqrt=True), CUTS),
        ('`LGBMRegressor(boosting_type="rf")`', _of(regressor, _diabetes, **LGB, **bagged), CUTS),
        ("`LGBMRanker`", _ranked(lgb.LGBMRanker, **LGB), {"cuts": [0.0]}),
    ]
    refused: list[tuple[str, Made, str]] = [
        ("`LGBMClassifier(linear_tree=True)`", _of(classifier, _cancer, **LGB, linear_tree=True), "linear_tree=True"),
        (
            '`LGBMClassifier(objective="multiclassova")`, leaves that add up to more than 32',
            _of(classifier, _iris, **{**LGB, "learning_rate": 50}, objective="multiclassova", num_class=3),
            "must add up to 32",
        ),
        ("`LGBMClassifier`, an objective of one's own", _of(classifier, _cancer, **LGB, objective=_squared), "custom"),
        (
            "`LGBMClassifier(pred_early_stop=True)`",
            _of(classifier, _cancer, **LGB, pred_early_stop=True),
            "pred_early_stop",
        ),
    ]
    return [
        *(Entry("LightGBM", name, make, options=options) for name, make, options in taken),
        *(Entry("LightGBM", name, make, reason) for name, make, reason in refused),
    ]


ENTRIES = [*_xgboost(), *_lightgbm()]
