"""scikit-learn's BaggingClassifier of decision trees, and VotingClassifier of decision trees.

Bagging and soft voting average the trees' probabilities, hard voting counts their votes.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.ensemble._voting import _BaseVoting
from sklearn.tree import BaseDecisionTree, DecisionTreeClassifier

from treeproof.errors import UnsupportedModelError
from treeproof.model.columns import LEAF, Column, Missing
from treeproof.model.decision import Vote
from treeproof.model.forest import Forest
from treeproof.model.importers.assemble import Tree, assemble, column_names, split_counts
from treeproof.model.importers.selfcheck import check_against
from treeproof.model.importers.sklearn import nodes_of, refuse_vote, require_fitted, require_known

TAKES = "BaggingClassifier and VotingClassifier of decision trees"


def takes(model: Any) -> bool:
    """Return whether the model is scikit-learn's BaggingClassifier or VotingClassifier."""
    return isinstance(model, BaggingClassifier | VotingClassifier)


def load(model: Any, vote: Vote | None) -> Forest:
    """Return the forest of a fitted model; its labels are checked against the model's."""
    require_fitted(model)
    refuse_vote(model, vote)
    bagging = isinstance(model, BaggingClassifier)
    base = BaggingClassifier if bagging else VotingClassifier
    require_known(model, "predict", [base.__dict__["predict"]])
    require_known(model, "predict_proba", [base.__dict__["predict_proba"]])
    if bagging and model.n_estimators != len(model.estimators_):
        raise UnsupportedModelError(
            f"A BaggingClassifier must have n_estimators trees. Got {len(model.estimators_)} and "
            f"n_estimators={model.n_estimators}; was that changed after fitting?"
        )
    if not bagging:
        require_known(model, "_collect_probas", [VotingClassifier.__dict__["_collect_probas"]])
        require_known(model, "_predict", [_BaseVoting.__dict__["_predict"]])
    for tree in model.estimators_:
        if not isinstance(tree, DecisionTreeClassifier):
            raise UnsupportedModelError(
                f"{type(model).__name__} must combine decision trees. Got {type(tree).__name__}; "
                "explain that model alone."
            )
        require_known(tree, "predict", [BaseDecisionTree.__dict__["predict"]])
        require_known(tree, "predict_proba", [DecisionTreeClassifier.__dict__["predict_proba"]])
    if not bagging and model.weights is not None:
        raise UnsupportedModelError("VotingClassifier must give all trees the same weight. Got weights=...")
    every = np.arange(model.n_features_in_)
    features = model.estimators_features_ if bagging else [every] * len(model.estimators_)
    trees = [_tree(tree, chosen, len(model.classes_)) for tree, chosen in zip(model.estimators_, features, strict=True)]
    missing: Missing = (
        "possible" if all(t._support_missing_values(np.zeros((1, 1))) for t in model.estimators_) else "never"
    )
    forest = assemble(
        trees,
        classes=model.classes_,
        columns=[Column(name, missing=missing) for name in column_names(model)],
        importances=split_counts(trees, model.n_features_in_),
        vote="mean" if bagging or model.voting == "soft" else "majority",
    )
    sequential = copy.copy(model)
    sequential.n_jobs = None
    check_against(forest, sequential.predict)
    return forest


def _tree(tree: Any, features: Any, n_classes: int) -> Tree:
    """Return a tree over all columns and classes; its own may be some of them, in any order."""
    nodes = nodes_of(tree)
    leaf = nodes.children_left == LEAF
    values = np.zeros((nodes.node_count, n_classes))
    values[:, np.asarray(tree.classes_, dtype=int)] = nodes.value[:, 0, :]  # classes are numbered by the ensemble
    return Tree(
        feature=np.where(leaf, LEAF, np.asarray(features)[np.where(leaf, 0, nodes.feature)]),
        threshold=nodes.threshold,
        left=nodes.children_left,
        right=nodes.children_right,
        values=values,
        missing_left=nodes.missing_go_to_left,
    )
