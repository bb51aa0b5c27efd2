"""Models of scikit-learn: all of its tree ensembles, and what it wraps around them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, MultiOutputRegressor, RegressorChain
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

from catalogue import Entry
from treeproof import MajorityForestClassifier

TREES = "scikit-learn: trees and ensembles"
WRAPPERS = "scikit-learn: around a model"
OTHERS = "scikit-learn: other models"
CUTS = {"cuts": [120, 180]}


def _iris(model: Any) -> Any:
    """Three classes."""

    def make() -> tuple[Any, Any]:
        X, y = load_iris(return_X_y=True)
        return model.fit(X, y), X

    return make


def _two(model: Any) -> Any:
    """Two classes that overlap."""

    def make() -> tuple[Any, Any]:
        X, y = load_iris(return_X_y=True)
        return model.fit(X[50:], np.array(["versicolor", "virginica"])[y[50:] - 1]), X[50:]

    return make


def _score(model: Any) -> Any:
    """A regressor."""

    def make() -> tuple[Any, Any]:
        X, y = load_diabetes(return_X_y=True)
        return model.fit(X[:150], y[:150]), X[:150]

    return make


def _several(model: Any) -> Any:
    """Several outputs: whether each of two measurements is large."""

    def make() -> tuple[Any, Any]:
        X = load_iris().data
        return model.fit(X[:, 2:], (X[:, :2] > X[:, :2].mean(axis=0)).astype(int)), X[:, 2:]

    return make


def _tree(depth: int = 3) -> DecisionTreeClassifier:
    return DecisionTreeClassifier(max_depth=depth, random_state=0)


def _regression_tree(seed: int = 0) -> DecisionTreeRegressor:
    return DecisionTreeRegressor(max_depth=3, max_features=4, random_state=seed)


def _forest(n: int = 9) -> RandomForestClassifier:
    return RandomForestClassifier(n, max_depth=4, random_state=0)


def _boosted(n: int = 5) -> GradientBoostingClassifier:
    return GradientBoostingClassifier(n_estimators=n, max_depth=2, random_state=0)


def _histogram(**options: Any) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5, **options)


_TREES = [("a", _tree(2)), ("b", _tree(4)), ("c", ExtraTreeClassifier(max_depth=4, random_state=0))]
_REGRESSION_TREES = [(f"t{seed}", _regression_tree(seed)) for seed in range(4)]

ENTRIES = [
    Entry(TREES, "`DecisionTreeClassifier`", _iris(_tree(5))),
    Entry(TREES, "`DecisionTreeRegressor`", _score(_regression_tree()), options=CUTS),
    Entry(TREES, "`ExtraTreeClassifier`", _iris(ExtraTreeClassifier(random_state=0))),
    Entry(TREES, "`ExtraTreeRegressor`", _score(ExtraTreeRegressor(max_depth=4, random_state=0)), options=CUTS),
    Entry(TREES, "`RandomForestClassifier`", _iris(RandomForestClassifier(15, random_state=0))),
    Entry(
        TREES, "`RandomForestRegressor`", _score(RandomForestRegressor(9, max_depth=4, random_state=0)), options=CUTS
    ),
    Entry(TREES, "`ExtraTreesClassifier`", _iris(ExtraTreesClassifier(15, random_state=0))),
    Entry(TREES, "`ExtraTreesRegressor`", _score(ExtraTreesRegressor(9, max_depth=4, random_state=0)), options=CUTS),
    Entry(TREES, "`treeproof.MajorityForestClassifier`", _iris(MajorityForestClassifier(15, random_state=0))),
    Entry(TREES, "`GradientBoostingClassifier`, two classes", _two(_boosted())),
    Entry(TREES, "`GradientBoostingClassifier`, several classes", _iris(_boosted())),
    Entry(
        TREES,
        "`GradientBoostingClassifier(init=...)`",
        _two(GradientBoostingClassifier(n_estimators=2, init=LogisticRegression())),
        "initial estimator must be constant",
    ),
    Entry(
        TREES,
        "`GradientBoostingRegressor`",
        _score(GradientBoostingRegressor(n_estimators=8, random_state=0)),
        options=CUTS,
    ),
    Entry(TREES, "`HistGradientBoostingClassifier`, two classes", _two(_histogram())),
    Entry(TREES, "`HistGradientBoostingClassifier`, several classes", _iris(_histogram())),
    Entry(TREES, "`HistGradientBoostingRegressor`", _score(HistGradientBoostingRegressor(max_iter=8)), options=CUTS),
    Entry(
        TREES,
        '`HistGradientBoostingRegressor(loss="poisson")`, also `"gamma"`',
        _score(HistGradientBoostingRegressor(max_iter=8, loss="poisson")),
        options=CUTS,
    ),
    Entry(TREES, "`AdaBoostClassifier` of trees", _iris(AdaBoostClassifier(_tree(), n_estimators=5, random_state=0))),
    Entry(
        TREES,
        "`AdaBoostClassifier` of other models",
        _iris(AdaBoostClassifier(GaussianNB(), n_estimators=2)),
        "must boost decision trees",
    ),
    Entry(TREES, "`AdaBoostRegressor`", _score(AdaBoostRegressor(n_estimators=3, random_state=0)), "weighted median"),
    Entry(TREES, "`BaggingClassifier` of trees", _iris(BaggingClassifier(_tree(), 7, max_features=2, random_state=0))),
    Entry(
        TREES,
        "`BaggingRegressor` of trees",
        _score(BaggingRegressor(_regression_tree(), 7, max_features=5, random_state=0)),
        options=CUTS,
    ),
    Entry(
        TREES,
        "`BaggingClassifier` of forests",
        _iris(BaggingClassifier(_forest(3), 3, max_features=3, random_state=0)),
    ),
    Entry(
        TREES,
        "`BaggingRegressor` of forests or boosted regressors",
        _score(BaggingRegressor(GradientBoostingRegressor(n_estimators=4, random_state=0), 3, random_state=0)),
        options=CUTS,
    ),
    Entry(TREES, "`VotingClassifier` of trees, hard, with weights", _iris(VotingClassifier(_TREES, weights=[1, 2, 2]))),
    Entry(
        TREES,
        "`VotingClassifier` of trees, soft, with weights",
        _iris(VotingClassifier(_TREES, voting="soft", weights=[0.1, 0.7, 0.2])),
    ),
    Entry(
        TREES,
        "`VotingClassifier` of trees, forests, bagging and soft voting, soft, with weights",
        _iris(
            VotingClassifier(
                [("a", _forest(3)), ("b", _tree()), ("c", BaggingClassifier(_tree(), 3, random_state=0))],
                voting="soft",
                weights=[0.1, 0.2, 0.3],
            )
        ),
    ),
    Entry(
        TREES,
        "`VotingClassifier` of boosted classifiers, soft",
        _iris(VotingClassifier([("a", _forest(2)), ("b", _boosted(2))], voting="soft")),
        "whose probabilities are not",
    ),
    Entry(
        TREES,
        "`VotingClassifier` of forests, hard",
        _iris(VotingClassifier([("a", _forest(2)), ("b", _tree(2))])),
        "set_params(voting='soft')",
    ),
    Entry(
        TREES,
        "`VotingClassifier` of boosted classifiers, hard",
        _iris(VotingClassifier([("a", _forest(2)), ("b", _boosted(2))])),
        "Explain a member alone",
    ),
    Entry(
        TREES,
        "`VotingRegressor` of up to 7 forests or boosted regressors, with weights",
        _score(
            VotingRegressor(
                [
                    ("a", RandomForestRegressor(4, max_depth=4, random_state=0)),
                    ("b", GradientBoostingRegressor(n_estimators=4, random_state=0)),
                    ("c", HistGradientBoostingRegressor(max_iter=4)),
                ],
                weights=[0.5, 0.3, 0.2],
            )
        ),
        options=CUTS,
    ),
    Entry(
        TREES,
        "`VotingRegressor` of up to 7 trees, with weights",
        _score(VotingRegressor(_REGRESSION_TREES, weights=[0.1, 0.4, 0.3, 0.2])),
        options=CUTS,
    ),
    Entry(
        TREES,
        "`IsolationForest`",
        _iris(IsolationForest(n_estimators=9, max_samples=32, contamination=0.2, random_state=0)),
    ),
    Entry(TREES, "`RandomTreesEmbedding`", _iris(RandomTreesEmbedding(2)), "has no predict"),
    Entry(TREES, "`StackingClassifier`", _iris(StackingClassifier([("a", _tree())], cv=2)), "input of another model"),
    Entry(
        TREES,
        "`StackingRegressor`",
        _score(StackingRegressor([("a", _regression_tree())], cv=2)),
        "input of another model",
    ),
    Entry(WRAPPERS, "`GridSearchCV` and other searches", _iris(GridSearchCV(_tree(), {"max_depth": [2, 4]}, cv=2))),
    Entry(WRAPPERS, "`FrozenEstimator`", _iris(FrozenEstimator(_tree(4).fit(*load_iris(return_X_y=True))))),
    Entry(
        WRAPPERS,
        "`CalibratedClassifierCV(ensemble=False)`, two classes, sigmoid",
        _two(CalibratedClassifierCV(_forest(), cv=2, ensemble=False)),
    ),
    Entry(
        WRAPPERS,
        "`CalibratedClassifierCV(ensemble=False)`, two classes, isotonic",
        _two(CalibratedClassifierCV(_boosted(), method="isotonic", cv=2, ensemble=False)),
    ),
    Entry(
        WRAPPERS,
        "`CalibratedClassifierCV(ensemble=False)`, several classes",
        _iris(CalibratedClassifierCV(_tree(), cv=2, ensemble=False)),
        "must have two classes",
    ),
    Entry(
        WRAPPERS,
        "`CalibratedClassifierCV(ensemble=True)`",
        _two(CalibratedClassifierCV(_tree(), cv=2)),
        "Fit it with ensemble=False",
    ),
    Entry(WRAPPERS, "`FixedThresholdClassifier`", _two(FixedThresholdClassifier(_forest(), threshold=0.3))),
    Entry(WRAPPERS, "`TunedThresholdClassifierCV`", _two(TunedThresholdClassifierCV(_boosted(), cv=2, thresholds=9))),
    Entry(
        WRAPPERS,
        "`TransformedTargetRegressor` with an increasing inverse",
        _score(TransformedTargetRegressor(_regression_tree(), func=np.log, inverse_func=np.exp)),
        options=CUTS,
    ),
    Entry(WRAPPERS, "`OneVsRestClassifier` of forests", _iris(OneVsRestClassifier(_forest(5)))),
    Entry(WRAPPERS, "`OneVsRestClassifier` of boosted models", _iris(OneVsRestClassifier(_histogram()))),
    Entry(
        WRAPPERS,
        "`OneVsRestClassifier` of AdaBoost",
        _iris(OneVsRestClassifier(AdaBoostClassifier(n_estimators=2))),
        "must give sums",
    ),
    Entry(WRAPPERS, "`OneVsOneClassifier`", _iris(OneVsOneClassifier(_tree())), "each pair of classes"),
    Entry(WRAPPERS, "`OutputCodeClassifier`", _iris(OutputCodeClassifier(_tree(), random_state=0)), "with a code"),
    Entry(WRAPPERS, "`RandomForestClassifier` with several outputs", _several(_forest()), options={"output": 1}),
    Entry(WRAPPERS, "`MultiOutputClassifier`", _several(MultiOutputClassifier(_boosted())), options={"output": 0}),
    Entry(
        WRAPPERS,
        "`MultiOutputRegressor`",
        _several(MultiOutputRegressor(_regression_tree().set_params(max_features=None))),
        options={"output": 1, "cuts": [0.5]},
    ),
    Entry(
        WRAPPERS,
        "`OneVsRestClassifier` for several labels",
        _several(OneVsRestClassifier(_forest())),
        options={"output": 0},
    ),
    Entry(WRAPPERS, "`ClassifierChain`", _several(ClassifierChain(_tree())), "models of the next ones"),
    Entry(
        WRAPPERS,
        "`RegressorChain`",
        _several(RegressorChain(DecisionTreeRegressor(max_depth=2))),
        "models of the next ones",
    ),
    Entry(OTHERS, "linear models", _iris(LogisticRegression(max_iter=500)), "a linear model, not a tree ensemble"),
    Entry(OTHERS, "linear regression", _score(LinearRegression()), "a linear model, not a tree ensemble"),
    Entry(OTHERS, "support vector machines", _iris(SVC()), "support vector machine, not a tree ensemble"),
    Entry(OTHERS, "neural networks", _iris(MLPClassifier((2,), max_iter=1000, tol=1)), "neural network, not a tree"),
    Entry(OTHERS, "nearest neighbours", _iris(KNeighborsClassifier()), "nearest neighbours, not a tree ensemble"),
    Entry(OTHERS, "naive Bayes", _iris(GaussianNB()), "naive Bayes model, not a tree ensemble"),
]
