"""A refused model is told why, and its user what can be done."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostRegressor,
    RandomForestClassifier,
    RandomTreesEmbedding,
    StackingClassifier,
    StackingRegressor,
)
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import Ridge, SGDClassifier
from sklearn.multiclass import OneVsOneClassifier, OutputCodeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from importing import refused
from treeproof.errors import UnsupportedModelError
from treeproof.model.importers import import_model

X, Y = load_iris(return_X_y=True)
FOREST = RandomForestClassifier(2, max_depth=2, random_state=0)

REFUSED = {
    "linear": (SGDClassifier(), "That is a linear model, not a tree ensemble"),
    "ridge": (Ridge(), "That is a linear model"),
    "support vectors": (SVC(), "That is a support vector machine"),
    "network": (MLPClassifier((2,), max_iter=2000, tol=1), "That is a neural network, not a tree ensemble"),
    "neighbours": (KNeighborsClassifier(), "nearest neighbours"),
    "Bayes": (GaussianNB(), "naive Bayes"),
    "guess": (DummyClassifier(), "a constant or random guess"),
    "clusters": (KMeans(2, n_init=1), "a clustering"),
    "embedding": (RandomTreesEmbedding(2), "It has no predict"),
    "stacking": (StackingClassifier([("a", FOREST)], cv=2), "the input of another model"),
    "stacked regressors": (StackingRegressor([("a", DecisionTreeRegressor())], cv=2), "the input of another model"),
    "pairs": (OneVsOneClassifier(FOREST), "a model for each pair of classes"),
    "code": (OutputCodeClassifier(FOREST, random_state=0), "with a code"),
    "median": (AdaBoostRegressor(n_estimators=2, random_state=0), "AdaBoostRegressor predicts a weighted median"),
    "wrapper": (SelectFromModel(FOREST), "Explain the model that it wraps alone: model.estimator_"),
}


@pytest.mark.parametrize(("model", "reason"), REFUSED.values(), ids=REFUSED)
def test_the_reason(model, reason):
    refused(model.fit(X, Y), UnsupportedModelError, reason)


def test_advice_is_possible():
    """The attribute that a message names is there, and can be explained."""
    model = SelfTrainingClassifier(DecisionTreeClassifier(max_depth=2)).fit(X, np.where(np.arange(150) % 3, Y, -1))
    refused(model, UnsupportedModelError, "that it wraps alone: model.estimator_")
    assert model.estimator_.tree_.node_count > 1
    with pytest.raises(UnsupportedModelError) as error:
        import_model(SelectFromModel(FOREST))
    assert "estimator_" not in str(error.value)
    for path in ("model.json", Path("model.json")):
        refused(path, UnsupportedModelError, r"Read the file first: treeproof.load_model\(path\)")


def test_an_unknown_model_is_told_what_is_taken():
    refused(object(), UnsupportedModelError, "Got object instead. It takes: scikit-learn's DecisionTree, .*XGBoost")
