"""scikit-learn's AdaBoostClassifier over decision trees.

Each tree adds its weight to the class it predicts and takes a share of it from the others; sums are divided by the
total weight. The second of two classes wins iff its sum is > 0; of several, the first with the largest sum.

AdaBoostRegressor is refused. Its prediction reaches a cut iff the trees below the cut have less than half the weight,
which is a sum of leaf values for that cut alone. But it adds the weights in the order of all trees' predictions, and
rounds in that order. So near half the weight, its own arithmetic needs every tree's prediction beside the weights,
which no `Sums` has; and with its default of 50 trees, some of the 2**50 sums of weights are that near. A third label
for such inputs would make the proofs true, but it is none that the model predicts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, AdaBoostRegressor
from sklearn.tree import BaseDecisionTree, DecisionTreeClassifier

from treeproof.errors import UnsupportedModelError
from treeproof.model.columns import Column
from treeproof.model.decision import Sums, Vote
from treeproof.model.forest import Forest
from treeproof.model.importers import Function
from treeproof.model.importers.assemble import assemble, column_names, split_counts
from treeproof.model.importers.selfcheck import check_against
from treeproof.model.importers.sklearn import refuse_vote, require_fitted
from treeproof.model.importers.tree_nodes import read_nodes, require_known, require_known_in_all

TAKES = "AdaBoostClassifier of decision trees"


def takes(model: Any) -> bool:
    """Return whether the model is scikit-learn's AdaBoostClassifier, or its AdaBoostRegressor, which is refused."""
    return isinstance(model, AdaBoostClassifier | AdaBoostRegressor)


def load(model: Any, vote: Vote | None) -> Forest:
    """Return the forest of a fitted model; its labels are checked against the model's."""
    if isinstance(model, AdaBoostRegressor):
        raise UnsupportedModelError(
            "AdaBoostRegressor predicts a weighted median: for each row it adds the trees' weights in the order of "
            "what the trees predict, and rounds in that order, so it is no sum of leaf values. Train a forest or a "
            "GradientBoostingRegressor instead."
        )
    require_fitted(model)
    refuse_vote(model, vote)
    for method in ("predict", "decision_function"):
        require_known(model, method, [AdaBoostClassifier.__dict__[method]])
    if getattr(model, "algorithm", "deprecated") == "SAMME.R":
        raise UnsupportedModelError("AdaBoostClassifier must use the algorithm SAMME. Got SAMME.R.")
    for tree in model.estimators_:
        if not isinstance(tree, DecisionTreeClassifier):
            raise UnsupportedModelError(f"AdaBoostClassifier must boost decision trees. Got {type(tree).__name__}.")
    n_classes = len(model.classes_)
    if n_classes < 2:
        raise UnsupportedModelError("AdaBoostClassifier must know at least two classes. Got one.")
    weights = np.asarray(model.estimator_weights_[: len(model.estimators_)], dtype=float).tolist()
    require_known_in_all(model.estimators_, "predict", BaseDecisionTree)
    nodes = read_nodes(model.estimators_, model.n_features_in_)
    trees = nodes.with_values(
        np.concatenate(
            [
                _added(tree, values, weight, model.classes_)
                for tree, values, weight in zip(model.estimators_, nodes.values, weights, strict=True)
            ]
        )
    )
    divisor = float(model.estimator_weights_.sum())
    if not 0 < divisor < math.inf:
        raise UnsupportedModelError(f"The weights of the trees must have a positive sum. Got {divisor}.")
    forest = assemble(
        [trees],
        classes=model.classes_,
        columns=[Column(name) for name in column_names(model)],
        importances=split_counts([trees], model.n_features_in_),
        vote="sum",
        sums=Sums((0.0,), divisor=divisor, cuts=(5e-324,))
        if n_classes == 2
        else Sums((0.0,) * n_classes, divisor=divisor),
    )
    check_against(forest, model.predict)
    return forest


def decision(model: Any) -> Function | None:
    """Return the function from sums to the decision function: what speaks for one class speaks against the other."""
    return (lambda sums: sums + sums) if len(model.classes_) == 2 else None


def _added(tree: Any, values: Any, weight: float, classes: Any) -> Any:
    """Return what each node of a tree adds to each class; of two classes, to the second."""
    predicted = tree.classes_[np.argmax(values[:, 0, :], axis=1)]
    added = np.where(predicted[:, None] == classes[None, :], weight, -1 / (len(classes) - 1) * weight)
    return added[:, 1:] if len(classes) == 2 else added
