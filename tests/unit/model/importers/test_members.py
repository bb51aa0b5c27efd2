"""Voting and bagging of forests, of boosted regressors, and of each other: what members give is rounded on its own."""

from __future__ import annotations

import copy
import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

import treeproof as tp
from importing import agrees, as_array, as_frame, proofs_hold, refused, sums_agree
from treeproof.errors import UnsupportedModelError
from treeproof.model.importers import import_model

IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)


def forest(n=7, depth=4, kind=RandomForestClassifier, **options):
    return kind(n, max_depth=depth, random_state=0, **options)


def extra(n=6, depth=4):
    return forest(n, depth, ExtraTreesClassifier)


def tree():
    return DecisionTreeClassifier(max_depth=3, random_state=1)


def soft(*members, weights=None):
    return VotingClassifier([(f"m{i}", m) for i, m in enumerate(members)], voting="soft", weights=weights)


CLASSIFIERS = {
    "two forests": soft(forest(), extra()),
    "with weights": soft(forest(), extra(), tree(), weights=[0.1, 0.2, 0.3]),
    "one of them nothing": soft(forest(), extra(), weights=[1, 0]),
    "grown without limit": soft(forest(6, None), extra(5, None), weights=[5, 6]),
    "majority": soft(tp.MajorityForestClassifier(5, random_state=0), tree(), weights=[2, 1]),
    "searched": soft(GridSearchCV(forest(3), {"max_depth": [2, 3]}, cv=2), tree()),
    "bagged": BaggingClassifier(forest(3), 4, max_features=0.7, bootstrap_features=True, random_state=0),
    "bagged with few rows": BaggingClassifier(extra(3), 5, max_samples=4, random_state=0),
    "all in one": soft(
        soft(forest(4), extra(3), weights=[1, 3]),
        BaggingClassifier(soft(extra(2), tree()), 3, random_state=0),
        BaggingClassifier(tree(), 3, random_state=0),
        weights=[2, 1, 0.7],
    ),
    "nine forests": soft(*(forest(2, 3, max_features=k) for k in (1, 2, 3) for _ in range(3))),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers(name):
    X, y = CANCER if list(CLASSIFIERS).index(name) % 2 else IRIS
    X = X[:, :6]
    model = CLASSIFIERS[name].fit(X, np.array(["x", "y", "z"])[y])
    imported = agrees(model, as_array)
    sums_agree(imported, model.predict_proba)
    one_by_one = [model.predict_proba(row[None])[0].tolist() for row in X[:160:20]]  # numpy may add one row differently
    assert imported.add(imported.apply(X[:160:20])).tolist() == one_by_one
    proofs_hold(model, tp.Explainer(model), X[70], as_array)


def boosted(**options):
    return GradientBoostingRegressor(n_estimators=6, max_depth=3, random_state=0, **options)


def histogram(**options):
    return HistGradientBoostingRegressor(max_iter=5, max_leaf_nodes=8, **options)


def regression_forest():
    return forest(5, 4, RandomForestRegressor)


def mean(*members, weights=None):
    return VotingRegressor([(f"m{i}", m) for i, m in enumerate(members)], weights=weights)


REGRESSORS = {
    "forests and boosting": mean(regression_forest(), boosted(), weights=[0.1, 0.3]),
    "float32 and float64 inputs": mean(regression_forest(), histogram(), boosted()),
    "bagged boosting": BaggingRegressor(boosted(), 3, max_features=0.5, random_state=0),
    "bagged histograms": BaggingRegressor(histogram(loss="absolute_error"), 3, random_state=0),
    "bagged votes": BaggingRegressor(mean(regression_forest(), boosted(), weights=[2, 1]), 2, random_state=0),
    "seven": mean(*(boosted(max_features=k) for k in range(1, 8))),
}


def scores_agree(model, X):
    imported = import_model(model)
    sums_agree(imported, model.predict)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about names
        assert imported.score(X[:160:20]).tolist() == [model.predict(row[None])[0] for row in X[:160:20]]
        proofs_hold(model, tp.Explainer(model, cuts=[120, 180]), X[0], as_array)
    assert tp.Explainer(model).around(X[0], 30).abductive(X[0]).label.startswith("within 30 of")
    return imported


@pytest.mark.parametrize("model", REGRESSORS.values(), ids=REGRESSORS)
def test_regressors(model):
    scores_agree(model.fit(*DIABETES), DIABETES[0])


@pytest.mark.parametrize("weights", [None, [0.3, 0.2, 0.5], np.float32([0.3, 0.2, 0.5])], ids=["even", "64", "32"])
def test_regressors_of_other_libraries(weights):
    """XGBoost adds in float32; what it predicts is weighted in float64, unless all numbers are float32."""
    xgboost, lightgbm = pytest.importorskip("xgboost"), pytest.importorskip("lightgbm")
    small = xgboost.XGBRegressor(n_estimators=6, max_depth=3)
    other = xgboost.XGBRegressor(n_estimators=4, max_depth=2, base_score=100)
    single = scores_agree(mean(small, other, small, weights=weights).fit(*DIABETES), DIABETES[0])
    assert single.sums.dtype == ("float64" if isinstance(weights, list) else "float32")
    mixed = mean(small, lightgbm.LGBMRegressor(n_estimators=5, verbose=-1), regression_forest(), weights=weights)
    assert scores_agree(mixed.fit(*DIABETES), DIABETES[0]).sums.dtype == "float64"
    scores_agree(BaggingRegressor(small, 3, random_state=0).fit(*DIABETES), DIABETES[0])


def test_inputs_beyond_float32_are_not_in_the_space_of_a_forest_among_others():
    X, y = DIABETES
    imported = import_model(mean(regression_forest(), histogram()).fit(X, y))
    assert imported.dtype == "float64"
    assert {(column.low, column.high) for column in imported.columns} == {
        (-3.4028235677973362e38, 3.4028235677973362e38)
    }


def test_a_frame_keeps_its_names():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = soft(forest(3), extra(2)).fit(X, y)
    imported = agrees(model, as_frame, n=300)
    assert imported.column_names == tuple(X.columns)
    assert pd.Series(imported.importances, X.columns).idxmax().startswith("petal")


def test_members_with_jobs_are_added_in_their_order():
    X, y = IRIS
    model = soft(forest(30), BaggingClassifier(tree(), 9, random_state=0)).fit(X, y)
    for member in model.estimators_:
        member.n_jobs = 2
    import_model(model)
    assert [member.n_jobs for member in model.estimators_] == [2, 2]


def test_near_ties_of_members_are_decided_as_the_model_does():
    """Tenths of a vote, added in two orders: equal in exact numbers, and one bit apart or not in the model's own."""
    points = np.array(list(itertools.product([0.0, 1.0], repeat=4)))
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (30, 4)).astype(float), rng.integers(0, 2, 30)
    for weights in ([0.1, 0.2, 0.3], [1, 2, 3], [0.7, 0.1, 0.8]):
        model = soft(extra(2, None), extra(2, None), extra(2, None), weights=weights).fit(X, y)
        model.estimators_[1:] = model.estimators_[0], copy.deepcopy(model.estimators_[0])
        for one in model.estimators_[0].estimators_:  # votes, as of trees that are grown on many rows
            one.tree_.value[:] = np.eye(2)[np.argmax(one.tree_.value, axis=2)]
        for one, opposite in zip(model.estimators_[0].estimators_, model.estimators_[2].estimators_, strict=True):
            opposite.tree_.value[:] = one.tree_.value[:, :, ::-1]  # as much as the others together
        assert np.ptp(model.predict_proba(points), axis=1).max() < 1e-9
        labels = dict(zip(map(tuple, points.tolist()), model.predict(points).tolist(), strict=True))
        assert set(labels.values()) == ({0} if weights == [1, 2, 3] else {0, 1}), "the last bit must decide"
        explainer = tp.Explainer(model)
        for row in points:
            why = explainer.abductive(row)
            kept = list(why.features)
            alike = {labels[tuple(p)] for p in points.tolist() if [p[f] for f in kept] == row[kept].tolist()}
            assert alike == {labels[tuple(row)]}
            assert tp.check(why.certificate(), explainer.forest)


def test_refusals():
    X, y = IRIS
    model = soft(forest(2), GradientBoostingClassifier(n_estimators=2)).fit(X, y)
    refused(model, UnsupportedModelError, r"Got GradientBoostingClassifier, whose .* alone, model.estimators_\[1\]")
    assert tp.Explainer(model.estimators_[1]).abductive(X[0]).label == 0  # the advice is possible
    refused(BaggingClassifier(VotingClassifier([("a", tree())]), 2).fit(X, y), UnsupportedModelError, "Got VotingClass")
    model = mean(histogram(loss="poisson"), regression_forest()).fit(*DIABETES)
    refused(model, UnsupportedModelError, r"predicts a function of such a sum; .* model.estimators_\[0\]")
    model = mean(LinearRegression(), regression_forest()).fit(*DIABETES)
    refused(model, UnsupportedModelError, r"Got LinearRegression as model.estimators_\[0\]")
    model = mean(*(boosted() for _ in range(8))).fit(*DIABETES)
    refused(model, UnsupportedModelError, "at most 7 members. Got 8")
    hard = VotingClassifier([("a", forest(2)), ("b", tree())]).fit(X, y)
    refused(hard, UnsupportedModelError, r"voting='hard' must combine decision trees.*set_params\(voting='soft'\)")
    import_model(hard.set_params(voting="soft"))  # the advice is possible
    hard = VotingClassifier(
        [("a", LogisticRegression(max_iter=9999)), ("b", GradientBoostingClassifier(n_estimators=2))]
    )
    refused(
        hard.fit(X, y), UnsupportedModelError, r"no sum of leaf values. Explain a member alone: model.estimators_\[1\]"
    )
    import_model(hard.estimators_[1])  # a soft vote would be refused as well
    bag = BaggingClassifier(GradientBoostingClassifier(n_estimators=2), 2).fit(X, y)
    refused(bag, UnsupportedModelError, r"Explain it alone, model.estimators_\[0\]\.$")  # none can be left out
    model = mean(regression_forest(), boosted(), weights=np.longdouble([1, 2])).fit(*DIABETES)
    refused(model, UnsupportedModelError, "must be float64 numbers")
