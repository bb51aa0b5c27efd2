"""scikit-learn's BaggingClassifier of decision trees, and VotingClassifier of decision trees.

Bagging and soft voting average the trees' probabilities, hard voting counts their votes.
"""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.ensemble._voting import _BaseVoting
from sklearn.tree import BaseDecisionTree, DecisionTreeClassifier

from treeproof.errors import UnsupportedModelError
from treeproof.model.columns import LEAF, Column
from treeproof.model.decision import Vote
from treeproof.model.forest import Forest
from treeproof.model.importers.assemble import Tree, assemble, column_names, split_counts
from treeproof.model.importers.selfcheck import check_against
from treeproof.model.importers.sklearn import missing_in, refuse_vote, require_fitted
from treeproof.model.importers.tree_nodes import read_nodes, require_known, require_known_in_all

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
    if not bagging and model.weights is not None:
        raise UnsupportedModelError("VotingClassifier must give all trees the same weight. Got weights=...")
    require_known_in_all(model.estimators_, "predict", BaseDecisionTree)
    require_known_in_all(model.estimators_, "predict_proba", DecisionTreeClassifier)
    every = np.arange(model.n_features_in_)
    chosen = model.estimators_features_ if bagging else [every] * len(model.estimators_)
    trees = _trees(model, chosen)
    forest = assemble(
        [trees],
        classes=model.classes_,
        columns=[Column(name, missing=missing_in(model.estimators_)) for name in column_names(model)],
        importances=split_counts([trees], model.n_features_in_),
        vote="mean" if bagging or model.voting == "soft" else "majority",
    )
    sequential = copy.copy(model)
    sequential.n_jobs = None
    check_against(forest, sequential.predict)
    return forest


def _trees(model: Any, chosen: list[Any]) -> Tree:
    """Return trees over all columns and classes; each tree's own may be some of them, in any order."""
    nodes = read_nodes(model.estimators_, [len(columns) for columns in chosen])
    values = np.zeros((len(nodes.feature), len(model.classes_)))
    for root, size, tree, own in zip(nodes.roots, nodes.sizes, model.estimators_, nodes.values, strict=True):
        classes = np.asarray(tree.classes_, dtype=int)  # classes are numbered by the ensemble
        values[root : root + size, classes] = own[:, 0, :]
    first = np.cumsum([0, *map(len, chosen)])[:-1]  # of each tree's columns, among those of all trees
    place = np.where(nodes.feature == LEAF, 0, nodes.feature) + np.repeat(first, nodes.sizes)
    feature = np.where(nodes.feature == LEAF, LEAF, np.concatenate(chosen)[place])
    return dataclasses.replace(nodes.with_values(values), feature=feature)
