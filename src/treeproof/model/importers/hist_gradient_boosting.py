"""scikit-learn's HistGradientBoostingClassifier and HistGradientBoostingRegressor, with categories and missing values.

Inputs are compared as float64. A missing value goes the way each split has for it; a category that was not seen in
training does so too, and so does the label None here. Leaf values are added in float64. The second of two classes wins
iff the sum is > 0; of several, the first with the largest sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn._loss.link import IdentityLink
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE as _NODE
from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from treeproof.errors import ForestFormatError, UnsupportedModelError
from treeproof.model.columns import LEAF, Column
from treeproof.model.decision import Sums, Vote
from treeproof.model.forest import Forest
from treeproof.model.importers import Function
from treeproof.model.importers.assemble import Tree, assemble, column_names, split_counts
from treeproof.model.importers.selfcheck import check_against, check_scores, decoded
from treeproof.model.importers.sklearn import refuse_vote, require_fitted
from treeproof.model.importers.tree_nodes import refuse_unsound, require_known

TAKES = "HistGradientBoostingClassifier and HistGradientBoostingRegressor"

_NODE_FIELDS = {
    "value",
    "count",
    "feature_idx",
    "num_threshold",
    "missing_go_to_left",
    "left",
    "right",
    "gain",
    "depth",
    "is_leaf",
    "bin_threshold",
    "is_categorical",
    "bitset_idx",
}


def takes(model: Any) -> bool:
    """Return whether the model is one of scikit-learn's histogram-based gradient boosting."""
    return isinstance(model, HistGradientBoostingClassifier | HistGradientBoostingRegressor)


def load(model: Any, vote: Vote | None) -> Forest:
    """Return the forest of a fitted model; its sums and labels are checked against the model's."""
    require_fitted(model)
    refuse_vote(model, vote)
    classifier = isinstance(model, HistGradientBoostingClassifier)
    base = HistGradientBoostingClassifier if classifier else HistGradientBoostingRegressor
    require_known(model, "predict", [base.__dict__["predict"]])
    for method in ("_raw_predict", "_predict_iterations", "_preprocess_X"):
        require_known(model, method, [BaseHistGradientBoosting.__dict__[method]])
    order, columns = _columns(model)
    start = np.ravel(model._baseline_prediction).astype(float)
    trees = _trees(model, order, columns)
    forest = assemble(
        [trees],
        classes=model.classes_ if classifier else np.array(["any score"]),
        columns=columns,
        importances=split_counts([trees], len(columns)),
        vote="sum",
        dtype="float64",
        sums=Sums(tuple(start.tolist()), cuts=None if len(start) > 1 else (5e-324,) if classifier else ()),
    )
    named = hasattr(model, "feature_names_in_")
    with threadpool_limits(1, user_api="openmp"):  # starting threads for each tree takes longer than its few rows
        check_scores(forest, lambda rows: model._raw_predict(decoded(forest, rows, named)))
        if classifier:
            check_against(forest, lambda rows: model.predict(decoded(forest, rows, named)))
        else:
            check_scores(forest, lambda rows: model.predict(decoded(forest, rows, named)), function=link(model))
    return forest


def link(model: Any) -> Function | None:
    """Return the function from sums to what a regressor predicts: exp for the losses of counts and amounts."""
    if isinstance(model, HistGradientBoostingRegressor) and not isinstance(model._loss.link, IdentityLink):
        inverse: Function = model._loss.link.inverse
        return inverse
    return None


def decision(model: Any) -> Function | None:
    """Return the function from sums to the decision function: the sums themselves."""
    return (
        (lambda sums: sums) if isinstance(model, HistGradientBoostingClassifier) and len(model.classes_) == 2 else None
    )


def probability(model: Any) -> Callable[[float], float] | None:
    """Return the function from the sum to the probability of the second class."""
    if not isinstance(model, HistGradientBoostingClassifier) or len(model.classes_) != 2:
        return None
    return lambda total: float(model._loss.predict_proba(np.array([total]))[0, 1])


def _columns(model: Any) -> tuple[list[int], list[Column]]:
    """Return, for each column that the trees see, its place in the input; and the input's columns."""
    names = column_names(model)
    if model._preprocessor is None:
        return list(range(len(names))), [Column(name, missing="expected") for name in names]
    categorical = np.asarray(model.is_categorical_)
    order = [*np.flatnonzero(categorical).tolist(), *np.flatnonzero(~categorical).tolist()]
    columns = [Column(name, missing="expected") for name in names]
    encoder = model._preprocessor.named_transformers_["encoder"]
    for j, categories in zip(np.flatnonzero(categorical).tolist(), encoder.categories_, strict=True):
        labels = [c for c in categories.tolist() if not (c is None or (isinstance(c, float) and math.isnan(c)))]
        columns[j] = Column(names[j], (*labels, None))
    return order, columns


def _trees(model: Any, order: list[int], columns: list[Column]) -> Tree:
    """Return the trees, if their nodes are sound: as for other trees, scikit-learn's own code follows them blindly."""
    predictors = [predictor for stage in model._predictors for predictor in stage]
    known = not set(_NODE.names) - _NODE_FIELDS
    if not known or any(type(p) is not TreePredictor or p.nodes.dtype != _NODE for p in predictors):
        raise UnsupportedModelError("This scikit-learn stores its trees in a way that treeproof does not know.")
    if not predictors:
        raise UnsupportedModelError("The model must have at least one tree. Got none.")
    sizes = np.array([len(predictor.nodes) for predictor in predictors], dtype=np.int32)
    roots = (np.cumsum(sizes) - sizes).astype(np.int32)
    first = np.repeat(roots, sizes)
    # As bytes: numpy would compare the fields of each tree with those of the next.
    nodes = np.concatenate([p.nodes.view(f"V{_NODE.itemsize}") for p in predictors]).view(_NODE)
    leaf, categorical = nodes["is_leaf"].astype(bool), nodes["is_categorical"].astype(bool)
    left, right = nodes["left"].astype(np.int32), nodes["right"].astype(np.int32)
    place, seen = np.arange(len(nodes), dtype=np.int32) - first, nodes["feature_idx"]
    named = np.array([columns[j].categories is not None for j in order])
    n_sets = np.array([_n_sets(predictor) for predictor in predictors])
    inside = (seen >= 0) & (seen < len(order))
    sound = inside & (named[np.where(inside, seen, 0)] == categorical)
    sound &= ~categorical | (nodes["bitset_idx"] < np.repeat(n_sets, sizes))
    for child in (left, right):
        sound &= (child > place) & (child < np.repeat(sizes, sizes))
    refuse_unsound(sound | leaf, roots, "a leaf, or split one of the model's columns and have two children")
    if (sizes == 0).any() or not np.array_equal(np.asarray(model._bin_mapper.is_categorical_, dtype=bool), named):
        raise ForestFormatError("The trees of the model do not fit its columns: the model is damaged.")
    sets = np.concatenate([predictor.raw_left_cat_bitsets for predictor in predictors])
    set_of = nodes["bitset_idx"] + np.repeat(np.cumsum(n_sets) - n_sets, sizes)
    splits = np.flatnonzero(categorical & ~leaf)
    for child in (left, right):
        child += first
        child[leaf] = LEAF
    # Copies of single fields: a view would keep all of them.
    return Tree(
        feature=np.where(leaf, np.int32(LEAF), np.array(order, dtype=np.int32)[np.where(leaf, 0, seen)]),
        threshold=nodes["num_threshold"].copy(),
        left=left,
        right=right,
        values=nodes["value"].copy(),
        missing_left=nodes["missing_go_to_left"].astype(bool),
        left_categories=_left_categories(model, nodes, splits, sets[set_of[splits]], order, columns),
        adds_to=np.arange(len(predictors)) % len(model._predictors[0]),
        roots=roots,
    )


def _n_sets(predictor: Any) -> int:
    """Return how many sets of categories a tree has; each holds a bit for every code below 256."""
    sets = np.asarray(predictor.raw_left_cat_bitsets)
    if sets.ndim != 2 or sets.dtype != np.uint32 or (len(sets) and sets.shape[1] != 8):
        raise ForestFormatError("A tree's sets of categories must have 256 bits each: the model is damaged.")
    return len(sets)


def _left_categories(
    model: Any, nodes: Any, splits: Any, sets: Any, order: list[int], columns: list[Column]
) -> dict[int, frozenset[int]]:
    """Return, per node that splits a categorical column, the categories that go left; None is the last category."""
    flags = np.unpackbits(sets.astype("<u4").view(np.uint8).reshape(-1, 32), axis=1, bitorder="little")
    found = {}
    for node, bits in zip(splits.tolist(), flags.astype(bool), strict=True):
        o = int(nodes["feature_idx"][node])
        categories = columns[order[o]].categories
        assert categories is not None
        left = np.append(bits[: len(categories) - 1], False)
        if nodes["missing_go_to_left"][node]:  # and so do categories that training did not see
            unseen = np.ones(len(categories), dtype=bool)
            unseen[model._bin_mapper.bin_thresholds_[o].astype(int)] = False
            left |= unseen
        found[node] = frozenset(np.flatnonzero(left).tolist())
    return found
