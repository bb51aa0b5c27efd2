"""Bagging and voting: trees over some columns and classes are put together as the ensemble does it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import treeproof as tp
from importing import agrees, as_array, proofs_hold, refused
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


def vote(X, y, kind, n=5, **options):
    trees = [(f"t{i}", DecisionTreeClassifier(max_depth=3, max_features=2, random_state=i)) for i in range(n)]
    return VotingClassifier(trees, voting=kind, **options).fit(X, y)


@pytest.mark.parametrize("kind", ["hard", "soft"])
@pytest.mark.parametrize(("n", "data"), [(1, IRIS), (2, CANCER), (4, IRIS), (9, CANCER), (20, IRIS)])
def test_voting(kind, n, data):
    X, y = data
    model = vote(X, np.array(["x", "y", "z"])[y], kind, n)
    forest = agrees(model, as_array)
    assert forest.vote == ("majority" if kind == "hard" else "mean")
    proofs_hold(model, tp.Explainer(model), X[70], as_array)
    one_by_one = [model.predict(row[None])[0] for row in X[:40]]  # numpy may add one row in another order
    assert forest.predict(X[:40]).tolist() == one_by_one


@pytest.mark.parametrize("kind", ["hard", "soft"])
def test_voting_that_ties(kind):
    rng = np.random.default_rng(5)
    X = rng.integers(0, 3, (60, 3)).astype(float)
    model = vote(X, rng.integers(0, 3, 60), kind, 6)
    forest = agrees(model, as_array, n=4000)
    assert forest.predict(X).tolist() == [model.predict(row[None])[0] for row in X]
    for row in X[:4]:
        proofs_hold(model, tp.Explainer(model), row, as_array)


def test_a_dropped_tree_does_not_vote():
    X, y = IRIS
    model = VotingClassifier(
        [
            ("a", DecisionTreeClassifier(max_depth=2)),
            ("b", "drop"),
            ("c", ExtraTreeClassifier(max_depth=3, random_state=0)),
        ]
    ).fit(X, y)
    assert agrees(model, as_array).n_trees == 2


class OwnProbabilities(BaggingClassifier):
    def predict_proba(self, X):
        return super().predict_proba(X)[:, ::-1]


class OwnCollection(VotingClassifier):
    def _collect_probas(self, X):
        return super()._collect_probas(X)[:, :, ::-1]


def test_refusals():
    X, y = IRIS
    for inner in (KNeighborsClassifier(), RandomForestClassifier(3), LogisticRegression(max_iter=9999)):
        refused(bag(X, y, inner, n_estimators=2), UnsupportedModelError, f"Got {type(inner).__name__}")
        model = VotingClassifier([("a", inner), ("b", DecisionTreeClassifier())]).fit(X, y)
        refused(model, UnsupportedModelError, f"must combine decision trees. Got {type(inner).__name__}")
    refused(vote(X, y, "soft", weights=[1, 2, 1, 1, 1]), UnsupportedModelError, "same weight. Got weights")
    refused(BaggingClassifier(), NotFittedError, "call its fit")
    refused(VotingClassifier([("a", DecisionTreeClassifier())]), NotFittedError, "call its fit")
    refused(OwnProbabilities(n_estimators=2).fit(X, y), UnsupportedModelError, "own 'predict_proba'")
    model = OwnCollection([("a", DecisionTreeClassifier())], voting="soft").fit(X, y)
    refused(model, UnsupportedModelError, "own '_collect_probas'")
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
    """What CatBoost calls its classifier."""


def test_models_of_no_importer_are_refused_by_name():
    refused(CatBoostClassifier(), UnsupportedModelError, "Got CatBoostClassifier .* CatBoost and ONNX models are not")
