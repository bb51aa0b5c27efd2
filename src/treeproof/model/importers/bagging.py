"""scikit-learn's BaggingClassifier and BaggingRegressor: the mean of what trees, or forests, give."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.tree import BaseDecisionTree, DecisionTreeClassifier, DecisionTreeRegressor

from treeproof.errors import UnsupportedModelError
from treeproof.model.columns import LEAF, Column
from treeproof.model.decision import Sums, Vote
from treeproof.model.forest import Forest
from treeproof.model.importers.assemble import Tree, assemble, column_names, split_counts
from treeproof.model.importers.members import load_average
from treeproof.model.importers.selfcheck import check_against, check_scores
from treeproof.model.importers.sklearn import missing_in, refuse_vote, require_fitted, sequential
from treeproof.model.importers.tree_nodes import Nodes, read_nodes, require_known, require_known_in_all

TAKES = "BaggingClassifier and BaggingRegressor of trees and forests"


def takes(model: Any) -> bool:
    """Return whether the model is one of scikit-learn's bagging."""
    return isinstance(model, BaggingClassifier | BaggingRegressor)


def load(model: Any, vote: Vote | None) -> Forest:
    """Return the forest of a fitted model; its labels or scores are checked against the model's."""
    require_fitted(model)
    refuse_vote(model, vote)
    classifier = isinstance(model, BaggingClassifier)
    base = BaggingClassifier if classifier else BaggingRegressor
    for method in ("predict", "predict_proba") if classifier else ("predict",):
        require_known(model, method, [base.__dict__[method]])
    if model.n_estimators != len(model.estimators_):
        raise UnsupportedModelError(
            f"A {base.__name__} must have n_estimators trees. Got {len(model.estimators_)} and "
            f"n_estimators={model.n_estimators}; was that changed after fitting?"
        )
    if not all_trees(model, classifier):
        return load_average(model, model.estimators_features_)
    trees = trees_over(model, model.estimators_features_, model.classes_ if classifier else None)
    forest = assemble(
        [trees],
        classes=model.classes_ if classifier else np.array(["any score"]),
        columns=[Column(name, missing=missing_in(model.estimators_)) for name in column_names(model)],
        importances=split_counts([trees], model.n_features_in_),
        vote="mean" if classifier else "sum",
        sums=None if classifier else Sums((0.0,), divisor=float(len(model.estimators_)), cuts=()),
    )
    if classifier:
        check_against(forest, sequential(model).predict)
    else:
        check_scores(forest, sequential(model).predict)
    return forest


def all_trees(model: Any, classifier: bool) -> bool:
    """Return whether all members are decision trees; refuse trees that do not predict as scikit-learn's do."""
    kind = DecisionTreeClassifier if classifier else DecisionTreeRegressor
    if not all(isinstance(member, kind) for member in model.estimators_):
        return False
    require_known_in_all(model.estimators_, "predict", BaseDecisionTree)
    if classifier:
        require_known_in_all(model.estimators_, "predict_proba", DecisionTreeClassifier)
    if any(np.ndim(tree.n_outputs_) or tree.n_outputs_ != 1 for tree in model.estimators_):
        raise UnsupportedModelError(f"{type(model).__name__} must combine trees with one output. Got several outputs.")
    return True


def trees_over(model: Any, chosen: Sequence[Any], classes: Any) -> Tree:
    """Return trees over all columns and classes; each tree's own may be some of them, in any order."""
    nodes = read_nodes(model.estimators_, [len(columns) for columns in chosen])
    values = np.zeros((len(nodes.feature), 1 if classes is None else len(classes)))
    for root, size, tree, own in zip(nodes.roots, nodes.sizes, model.estimators_, nodes.values, strict=True):
        # Classes of the trees are numbers, given to them by the ensemble.
        known = [0] if classes is None else np.asarray(tree.classes_, dtype=int)
        values[root : root + size, known] = own[:, 0, :]
    return dataclasses.replace(nodes.with_values(values), feature=over_columns(nodes, chosen))


def over_columns(nodes: Nodes, chosen: Sequence[Any]) -> Any:
    """Return which column each node splits, if each tree sees only those that were chosen for it."""
    first = np.cumsum([0, *map(len, chosen)])[:-1]  # of each tree's columns, among those of all trees
    place = np.where(nodes.feature == LEAF, 0, nodes.feature) + np.repeat(first, nodes.sizes)
    return np.where(nodes.feature == LEAF, LEAF, np.concatenate(chosen)[place])
