"""Gradient boosting of scikit-learn: the import is the model, bit for bit, also where sums tie or nearly do."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.tree import DecisionTreeClassifier

import treeproof as tp
from importing import agrees, as_array, as_frame, proofs_hold, refused, sums_agree
from treeproof.errors import InputError, NotFittedError, UnsupportedModelError
from treeproof.model.importers import import_model

CANCER = load_breast_cancer(return_X_y=True)
IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)


def boosted(X, y, **options):
    options = {"n_estimators": 12, "max_depth": 3, "random_state": 0, **options}
    return GradientBoostingClassifier(**options).fit(X, y)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "exponential"},
        {"init": "zero"},
        {"init": "zero", "learning_rate": 1.0},
        {"init": DummyClassifier()},
        {"init": DummyClassifier(strategy="uniform")},
        {"subsample": 0.5, "max_features": 0.3},
        {"n_iter_no_change": 2, "n_estimators": 30, "learning_rate": 0.5},
        {"n_estimators": 1, "max_depth": 1, "init": "zero"},
    ],
    ids=str,
)
def test_two_classes(options):
    X, y = CANCER
    model = boosted(X, y, **options)
    forest = agrees(model, as_array)
    sums_agree(forest, model._raw_predict)
    why = proofs_hold(model, tp.Explainer(model), X[3], as_array)
    assert why.status == "minimal"


@pytest.mark.parametrize("options", [{}, {"init": "zero"}, {"learning_rate": 0.3, "max_depth": 1}], ids=str)
def test_several_classes(options):
    X, y = IRIS
    model = boosted(X, np.array(["a", "b", "c"])[y], **options)
    sums_agree(agrees(model, as_array), model._raw_predict)
    for row in X[::40]:
        proofs_hold(model, tp.Explainer(model), row, as_array)


@pytest.mark.parametrize(
    "options",
    [{}, {"loss": "huber"}, {"loss": "quantile", "alpha": 0.9}, {"init": "zero"}, {"init": DummyRegressor()}],
    ids=str,
)
def test_regressors(options):
    X, y = DIABETES
    model = GradientBoostingRegressor(n_estimators=10, random_state=0, **options).fit(X, y)
    forest = agrees(model, as_array)
    sums_agree(forest, model.predict)
    assert forest.score(X).tolist() == model.predict(X).tolist()


def test_a_regressor_cut_at_a_value_and_around_one():
    X, y = DIABETES
    model = GradientBoostingRegressor(n_estimators=8, random_state=0).fit(X, y)
    cut = float(model.predict(X[:1])[0])  # exactly on it
    explainer = tp.Explainer(model, cuts=[cut])
    assert explainer.forest.predict(X).tolist() == [
        f">= {cut!r}" if p >= cut else f"< {cut!r}" for p in model.predict(X)
    ]
    proofs_hold(model, explainer, X[0], as_array)


def test_names_come_from_the_frame():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = boosted(X, y)
    forest = agrees(model, as_frame)
    assert forest.column_names == tuple(X.columns)


def test_a_sum_of_zero_is_the_second_class():
    """Mirrored stumps add up to exactly 0, which is the second class here; a last bit below it is the first."""
    X = np.arange(8.0)[:, None]
    model = boosted(X, (X[:, 0] > 3).astype(int), n_estimators=2, max_depth=1, init="zero", learning_rate=1.0)
    for values, expected in [((0.1, -0.1), 1), ((0.1, -np.nextafter(0.1, 1)), 0), ((0.1, -np.nextafter(0.1, 0)), 1)]:
        for stage, value in zip(model.estimators_, values, strict=True):
            stage[0].tree_.value[:, 0, 0] = value
        explainer = tp.Explainer(model)
        assert model.predict(X[:1]).tolist() == explainer.forest.predict(X[:1]).tolist() == [expected]
        assert explainer.abductive(X[0]).features == ()


def test_sums_that_straddle_the_cut_off_by_the_last_bit():
    """Leaf values are altered so that sums lie within a few last bits of 0: every label is still the model's own."""
    rng = np.random.default_rng(0)
    X, y = make_classification(200, 5, random_state=0)
    model = boosted(X, y, n_estimators=9, max_depth=2, init="zero")
    for stage in model.estimators_:
        value = stage[0].tree_.value
        value[:, 0, 0] = rng.choice([0.1, 0.2, 0.3, 0.7], len(value)) * rng.choice([-1, 1], len(value))
    forest = agrees(model, as_array, n=5000)
    sums = forest.add(forest.route(X.astype(np.float32)))
    assert (np.abs(sums) < 1e-15).any(), "some sums must be close to the cut-off"
    explainer = tp.Explainer(model)
    near = np.argsort(np.abs(sums[:, 0]))[:6]
    for row in X[near]:
        proofs_hold(model, explainer, row, as_array)


@pytest.mark.parametrize("last_bit", [0, 1, -1])
def test_classes_with_the_same_trees_tie(last_bit):
    """The trees of the second class are those of the first: a tie goes to the first, unless the last bit differs."""
    X, y = IRIS
    model = boosted(X, y, n_estimators=5, init="zero", learning_rate=0.1)
    for stage in model.estimators_:
        stage[1] = copy.deepcopy(stage[0])
    value = model.estimators_[-1][1].tree_.value
    for _ in range(abs(last_bit)):
        value[:] = np.nextafter(value, np.inf * last_bit)
    forest = agrees(model, as_array, n=3000)
    sums_agree(forest, model._raw_predict)
    for row in X[::60]:
        proofs_hold(model, tp.Explainer(model), row, as_array)


def test_a_threshold_of_probability():
    X, y = CANCER
    model = boosted(X, y)
    p = float(model.predict_proba(X[:1])[0, 1])
    explainer = tp.Explainer(model, threshold=p)
    assert explainer.forest.predict(X).tolist() == (model.predict_proba(X)[:, 1] >= p).astype(int).tolist()


class OwnPredict(GradientBoostingClassifier):
    def predict(self, X):
        return 1 - super().predict(X)


def test_refusals():
    X, y = IRIS
    for init in (DecisionTreeClassifier(max_depth=2), DummyClassifier(strategy="stratified")):
        refused(boosted(X, y, init=init), UnsupportedModelError, "init=None or 'zero'. Got D")
    refused(GradientBoostingClassifier(), NotFittedError, "call its fit")
    refused(OwnPredict(n_estimators=2).fit(X, y), UnsupportedModelError, "OwnPredict has its own 'predict'")
    model = boosted(X, y)
    for vote in ("majority", "mean"):
        refused(model, InputError, "leave it out", vote=vote)
    model.predict = lambda X: X
    refused(model, UnsupportedModelError, "own 'predict'")


def test_a_forest_is_not_needed_to_stay_fitted():
    X, y = CANCER
    model = boosted(X, y)
    forest = import_model(model)
    before = forest.predict(X).tolist()
    for stage in model.estimators_:
        stage[0].tree_.value[:] = 0
    assert forest.predict(X).tolist() == before
