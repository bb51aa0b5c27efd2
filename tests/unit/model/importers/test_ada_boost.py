"""AdaBoost: sums of weights over the total weight, where ties are common, are the model's, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import treeproof as tp
from importing import agrees, as_array, proofs_hold, refused, sums_agree
from treeproof.errors import InputError, NotFittedError, UnsupportedModelError
from treeproof.model.importers import import_model

CANCER = load_breast_cancer(return_X_y=True)
IRIS = load_iris(return_X_y=True)


def boosted(X, y, tree=None, **options):
    return AdaBoostClassifier(tree, **{"n_estimators": 15, "random_state": 0, **options}).fit(X, y)


TREES = [None, DecisionTreeClassifier(max_depth=3), ExtraTreeClassifier(max_depth=2)]


@pytest.mark.parametrize("tree", TREES, ids=str)
@pytest.mark.parametrize("options", [{}, {"learning_rate": 0.3, "n_estimators": 6}], ids=str)
def test_two_classes(tree, options):
    X, y = CANCER
    model = boosted(X, np.array(["no", "yes"])[y], tree, **options)
    forest = agrees(model, as_array)
    sums_agree(forest, lambda rows: model.decision_function(rows) / 2)  # scikit-learn adds both classes' sums
    proofs_hold(model, tp.Explainer(model), X[3], as_array, n=500)


@pytest.mark.parametrize("tree", TREES, ids=str)
@pytest.mark.parametrize("options", [{}, {"learning_rate": 0.3}], ids=str)
def test_several_classes(tree, options):
    X, y = make_classification(300, 6, n_informative=4, n_classes=4, random_state=1)
    model = boosted(X, y + 3, tree, **options)
    forest = agrees(model, as_array)
    sums_agree(forest, model.decision_function)
    for row in X[:3]:
        proofs_hold(model, tp.Explainer(model), row, as_array)


def test_a_perfect_first_tree_ends_the_boosting():
    X, y = IRIS
    model = boosted(X, y, DecisionTreeClassifier())
    assert len(model.estimators_) == 1
    agrees(model, as_array, n=500)


@pytest.mark.parametrize("n_trees", [2, 4, 10])
def test_equal_weights_tie(n_trees):
    """Half of the trees against the other half: a sum of 0 is the first class, and so is it a last bit below 0."""
    X, y = CANCER
    model = boosted(X, y, n_estimators=n_trees)
    for weights in (np.full(n_trees, 1.0), np.full(n_trees, 0.1), np.tile([0.1, np.nextafter(0.1, 1)], n_trees // 2)):
        model.estimator_weights_[:] = weights
        forest = agrees(model, as_array, n=4000)
        scores = model.decision_function(X)
        explainer = tp.Explainer(model)
        for row in X[np.argsort(np.abs(scores))[:3]]:
            proofs_hold(model, explainer, row, as_array)
        assert forest.predict(X).tolist() == model.predict(X).tolist()


def test_several_classes_that_tie():
    X, y = IRIS
    model = boosted(X, y, n_estimators=9)
    rng = np.random.default_rng(0)
    for _ in range(5):
        model.estimator_weights_[:] = rng.choice([0.1, 0.2, 0.3, np.nextafter(0.3, 1)], len(model.estimator_weights_))
        agrees(model, as_array, n=4000)
        proofs_hold(model, tp.Explainer(model), X[60], as_array)


def test_weights_so_small_that_quotients_are_subnormal():
    X, y = CANCER
    model = boosted(X, y, n_estimators=4)
    model.estimator_weights_[:] = [5e-324, 1e-323, 5e-324, 1e-310]
    agrees(model, as_array)


class OwnDecision(AdaBoostClassifier):
    def decision_function(self, X):
        return -super().decision_function(X)


def test_refusals():
    X, y = CANCER
    for inner in (LogisticRegression(max_iter=9999), RandomForestClassifier(3)):
        model = AdaBoostClassifier(inner, n_estimators=2).fit(X[:, :2], y)
        refused(model, UnsupportedModelError, f"must boost decision trees. Got {type(inner).__name__}")
    refused(AdaBoostClassifier(), NotFittedError, "call its fit")
    refused(OwnDecision(n_estimators=2).fit(X, y), UnsupportedModelError, "own 'decision_function'")
    refused(boosted(X, y, n_estimators=2), InputError, "leave it out", vote="mean")
    refused(boosted(X, np.zeros(len(X)), n_estimators=2), UnsupportedModelError, "at least two classes")
    model = boosted(X, y, n_estimators=2)
    model.estimator_weights_[:] = 0
    refused(model, UnsupportedModelError, "positive sum. Got 0")


def test_missing_values_are_refused_as_the_model_does():
    X, y = CANCER
    forest = import_model(boosted(X, y, n_estimators=2))
    with pytest.raises(InputError, match="not accept missing values"):
        forest.predict([[np.nan] * X.shape[1]])
