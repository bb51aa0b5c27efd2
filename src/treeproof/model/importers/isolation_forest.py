"""scikit-learn's IsolationForest: why is this row an outlier?

A tree adds how deep a row's leaf is, and how much deeper the training rows in that leaf would still be parted on
average. The score is a power of the sum, and the row an inlier iff the score reaches the model's offset.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import IsolationForest
from sklearn.ensemble._iforest import _average_path_length
from sklearn.tree import BaseDecisionTree

from treeproof.errors import ForestFormatError
from treeproof.model.columns import Column
from treeproof.model.decision import Sums, Vote
from treeproof.model.forest import Forest
from treeproof.model.importers.assemble import assemble, column_names, split_counts
from treeproof.model.importers.bagging import over_columns
from treeproof.model.importers.selfcheck import check_against, check_scores
from treeproof.model.importers.sklearn import refuse_vote, require_fitted
from treeproof.model.importers.tree_nodes import read_nodes, require_known, require_known_in_all
from treeproof.model.monotone import find_cut

TAKES = "IsolationForest"

_METHODS = (
    "predict",
    "decision_function",
    "score_samples",
    "_score_samples",
    "_compute_chunked_score_samples",
    "_compute_score_samples",
)


def takes(model: Any) -> bool:
    """Return whether the model is scikit-learn's IsolationForest."""
    return isinstance(model, IsolationForest)


def load(model: Any, vote: Vote | None) -> Forest:
    """Return the forest of a fitted model: its label is 1 or -1; it and the score are checked against the model's."""
    require_fitted(model)
    refuse_vote(model, vote)
    for method in _METHODS:
        require_known(model, method, [IsolationForest.__dict__[method]])
    require_known_in_all(model.estimators_, "apply", BaseDecisionTree)
    every = np.arange(model.n_features_in_)
    chosen = model.estimators_features_ if model._max_features < len(every) else [every] * len(model.estimators_)
    nodes = read_nodes(model.estimators_, [len(columns) for columns in chosen])
    lengths = zip(model._decision_path_lengths, model._average_path_length_per_tree, strict=True)
    added = np.concatenate([depth + rest - 1.0 for depth, rest in lengths])
    if added.shape != nodes.feature.shape:
        raise ForestFormatError("An IsolationForest must know the depth of each node. It does not: it is damaged.")
    trees = dataclasses.replace(nodes.with_values(added, 0), feature=over_columns(nodes, chosen))
    forest = assemble(
        [trees],
        classes=np.array([-1, 1]),
        # Its trees have a side for missing values, whatever they were trained with.
        columns=[Column(name, missing="possible") for name in column_names(model)],
        importances=split_counts([trees], model.n_features_in_),
        vote="sum",
        sums=Sums((0.0,), cuts=(0.0,)),
    )
    cut = find_cut(forest, lambda sums: ~(_score(model, sums) - model.offset_ < 0), "The score of an IsolationForest")
    forest = forest.with_cuts([cut], [-1, 1])
    check_scores(forest, model.score_samples, function=lambda sums: _score(model, sums))
    check_against(forest, model.predict)
    return forest


def _score(model: Any, depths: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the score of rows whose trees added up to these depths, in the model's own arithmetic."""
    divisor = len(model.estimators_) * _average_path_length([model._max_samples])
    shares = np.divide(depths, divisor, out=np.ones_like(depths), where=divisor != 0)
    with np.errstate(over="ignore"):
        return np.asarray(-(2**-shares))
