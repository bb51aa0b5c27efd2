"""Voting: of decision trees, hard and soft, with and without weights."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    RandomForestClassifier,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

import treeproof as tp
from importing import agrees, as_array, proofs_hold, refused, sums_agree
from treeproof.errors import NotFittedError, UnsupportedModelError
from treeproof.model.importers import import_model

CANCER = load_breast_cancer(return_X_y=True)
IRIS = load_iris(return_X_y=True)


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
    one_by_one = [model.predict(row[None])[0] for row in X[:160:20]]  # numpy may add one row in another order
    assert forest.predict(X[:160:20]).tolist() == one_by_one


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


WEIGHTS = {"whole": [3, 1, 2, 1, 1], "tenths": [0.1, 0.2, 0.3, 0.1, 0.1], "one is nothing": [1, 0, 2, 2, 1]}


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize(("kind", "data"), [("hard", CANCER), ("soft", IRIS)], ids=["hard", "soft"])
def test_weights(kind, weights, data):
    X, y = data
    model = vote(X, np.array(["x", "y", "z"])[y], kind, 5, weights=weights)
    forest = agrees(model, as_array)
    assert forest.predict(X[:160:20]).tolist() == [model.predict(row[None])[0] for row in X[:160:20]]
    proofs_hold(model, tp.Explainer(model), X[70], as_array)


@pytest.mark.parametrize("kind", ["hard", "soft"])
@pytest.mark.parametrize("n", [6, 12])
def test_weights_that_tie(kind, n):
    """Tenths add up to the same or to the next number, by the order in which they are added."""
    rng = np.random.default_rng(5)
    X = rng.integers(0, 3, (60, 3)).astype(float)
    model = vote(X, rng.integers(0, 3, 60), kind, n, weights=rng.choice([0.1, 0.2, 0.3], n))
    forest = agrees(model, as_array, n=4000)
    assert forest.predict(X).tolist() == [model.predict(row[None])[0] for row in X]
    for row in X[:4]:
        proofs_hold(model, tp.Explainer(model), row, as_array)


def test_the_weight_of_a_dropped_tree_does_not_count():
    X, y = IRIS
    trees = [("a", DecisionTreeClassifier(max_depth=2)), ("b", "drop"), ("c", ExtraTreeClassifier(random_state=0))]
    assert agrees(VotingClassifier(trees, weights=[1, 100, 2]).fit(X, y), as_array).n_trees == 2


@pytest.mark.parametrize("weights", [None, [0.1, 0.7, 0.2, 1, 3, 0.3, 0.1]], ids=["even", "weighted"])
def test_regressors(weights):
    X, y = load_diabetes(return_X_y=True)
    trees = [(f"t{i}", DecisionTreeRegressor(max_depth=3, max_features=3, random_state=i)) for i in range(7)]
    model = VotingRegressor(trees, weights=weights).fit(X, y)
    forest = import_model(model)
    sums_agree(forest, model.predict)
    assert forest.score(X[::10]).tolist() == [model.predict(row[None])[0] for row in X[::10]]
    proofs_hold(model, tp.Explainer(model, cuts=[120, 180]), X[0], as_array)


def test_eight_regressors_predict_a_row_in_two_ways():
    """So there is no predict to prove anything about."""
    X, y = load_diabetes(return_X_y=True)
    trees = [(f"t{i}", DecisionTreeRegressor(max_depth=3, max_features=3, random_state=i)) for i in range(8)]
    model = VotingRegressor(trees).fit(X, y)
    assert model.predict(X).tolist() != [model.predict(row[None])[0] for row in X]
    refused(model, UnsupportedModelError, "at most 7 members. Got 8")


class OwnCollection(VotingClassifier):
    def _collect_probas(self, X):
        return super()._collect_probas(X)[:, :, ::-1]


def test_refusals():
    X, y = IRIS
    for inner in (RandomForestClassifier(3), LogisticRegression(max_iter=9999)):
        model = VotingClassifier([("a", inner), ("b", DecisionTreeClassifier())]).fit(X, y)
        refused(model, UnsupportedModelError, "voting='hard' must combine decision trees")
    for weights in ([1, -1, 1, 1, 1], [0] * 5, [1, np.nan, 1, 1, 1]):
        model = vote(X, y, "hard")
        model.weights = weights
        refused(model, UnsupportedModelError, "weights that are not negative, and not all zero")
    refused(VotingClassifier([("a", DecisionTreeClassifier())]), NotFittedError, "call its fit")
    model = OwnCollection([("a", DecisionTreeClassifier())], voting="soft").fit(X, y)
    refused(model, UnsupportedModelError, "own '_collect_probas'")
