"""Bagging: trees over some columns and classes are put together as the ensemble does it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

import treeproof as tp
from importing import agrees, as_array, proofs_hold, refused, sums_agree
from treeproof.errors import InputError, NotFittedError, UnsupportedModelError
from treeproof.model.importers import import_model

CANCER = load_breast_cancer(return_X_y=True)
IRIS = load_iris(return_X_y=True)


def bag(X, y, tree=None, **options):
    tree = DecisionTreeClassifier(max_depth=4) if tree is None else tree
    return BaggingClassifier(tree, **{"n_estimators": 12, "random_state": 0, **options}).fit(X, y)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_features": 0.3},
        {"max_features": 2, "bootstrap_features": True},
        {"bootstrap_features": True},
        {"bootstrap": False, "max_samples": 0.2},
        {"tree": ExtraTreeClassifier(max_depth=4)},
    ],
    ids=str,
)
@pytest.mark.parametrize("data", [CANCER, IRIS], ids=["cancer", "iris"])
def test_bagging(options, data):
    X, y = data
    model = bag(X, np.array(["x", "y", "z"])[y], **options)
    agrees(model, as_array)
    for row in (X[0], X[-1]):
        proofs_hold(model, tp.Explainer(model), row, as_array)


@pytest.mark.parametrize("seed", range(3))
def test_trees_that_miss_classes(seed):
    """A tree is fitted to the rows that were drawn for it, where sample weights cannot tell it of the others."""
    X, y = make_classification(
        120, 5, n_informative=4, n_redundant=0, n_classes=6, n_clusters_per_class=1, random_state=0
    )
    model = bag(X, y * 10, n_estimators=12, random_state=seed)
    for i, tree in enumerate(model.estimators_[:8]):
        some = np.random.default_rng([seed, i]).permutation(120)[: 3 + 2 * i]
        model.estimators_[i] = tree.fit(X[some], y[some])
    assert len({len(tree.classes_) for tree in model.estimators_}) > 2, "some trees must miss classes"
    agrees(model, as_array, n=4000)
    for row in X[:3]:
        proofs_hold(model, tp.Explainer(model), row, as_array)


def test_missing_values_go_where_each_tree_sends_them():
    X, y = CANCER
    rng = np.random.default_rng(0)
    X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    model = bag(X, y, max_features=0.5)
    agrees(model, as_array)
    proofs_hold(model, tp.Explainer(model, missing="all"), X[0], as_array)


@pytest.mark.parametrize("n_trees", [2, 3, 4, 11])
def test_probabilities_that_tie(n_trees):
    """Shares of a third and the like: sums differ in their last bit, or not at all."""
    rng = np.random.default_rng(n_trees)
    X = rng.integers(0, 3, (60, 3)).astype(float)
    y = rng.integers(0, 3, 60)
    model = bag(X, y, DecisionTreeClassifier(max_depth=2), n_estimators=n_trees, max_samples=9)
    agrees(model, as_array, n=4000)
    for row in X[:4]:
        proofs_hold(model, tp.Explainer(model), row, as_array)


@pytest.mark.parametrize(
    "options",
    [{}, {"max_features": 0.3}, {"max_features": 2, "bootstrap_features": True}, {"n_estimators": 1}],
    ids=str,
)
def test_bagging_of_regressors(options):
    X, y = load_diabetes(return_X_y=True)
    tree = ExtraTreeRegressor(max_depth=3) if options else DecisionTreeRegressor(max_depth=4)
    model = BaggingRegressor(tree, **{"n_estimators": 12, "random_state": 0, **options}).fit(X, y)
    model.n_jobs = 2
    forest = import_model(model)
    model.n_jobs = None
    sums_agree(forest, model.predict)
    assert forest.score(X[:160:20]).tolist() == [model.predict(row[None])[0] for row in X[:160:20]]
    proofs_hold(model, tp.Explainer(model, cuts=[120, 180]), X[0], as_array)
    around = tp.Explainer(model).around(X[0], 30)
    assert around.abductive(X[0]).label.startswith("within 30 of")


def test_refusals_of_regressors():
    X, y = load_diabetes(return_X_y=True)
    model = BaggingRegressor(LinearRegression(), 2).fit(X, y)
    refused(model, UnsupportedModelError, "BaggingRegressor must combine tree ensembles. Got LinearRegression")
    model = BaggingRegressor(DecisionTreeRegressor(max_depth=2), 2).fit(X, y)
    model.n_estimators = 1
    refused(model, UnsupportedModelError, "n_estimators")


class OwnProbabilities(BaggingClassifier):
    def predict_proba(self, X):
        return super().predict_proba(X)[:, ::-1]


def test_refusals():
    X, y = IRIS
    for inner in (KNeighborsClassifier(), LogisticRegression(max_iter=9999)):
        refused(bag(X, y, inner, n_estimators=2), UnsupportedModelError, f"Got {type(inner).__name__}")
    refused(BaggingClassifier(), NotFittedError, "call its fit")
    refused(OwnProbabilities(n_estimators=2).fit(X, y), UnsupportedModelError, "own 'predict_proba'")
    refused(bag(X, y), InputError, "leave it out", vote="majority")
    model = bag(X, y)
    model.n_estimators = 5  # it would predict with the first five
    refused(model, UnsupportedModelError, "n_estimators")


def test_a_model_with_jobs_is_left_as_it_was():
    X, y = IRIS
    model = bag(X, y, n_estimators=2)
    model.n_jobs = 2
    import_model(model)
    assert model.n_jobs == 2


class CatBoostClassifier:
    """What CatBoost calls its classifier, but not its own."""


def test_models_of_no_importer_are_refused_by_name():
    refused(CatBoostClassifier(), UnsupportedModelError, "Got CatBoostClassifier instead")
