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
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

from treeproof.errors import UnsupportedModelError
from treeproof.model.columns import LEAF, Column
from treeproof.model.decision import Sums, Vote
from treeproof.model.forest import Forest
from treeproof.model.importers.assemble import Tree, assemble, column_names, split_counts
from treeproof.model.importers.selfcheck import check_against, check_scores, decoded
from treeproof.model.importers.sklearn import refuse_vote, require_fitted, require_known

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
    if not classifier and model.loss in ("poisson", "gamma"):
        raise UnsupportedModelError(
            f"The loss of a regressor must have the identity as its link. Got {model.loss!r}, which predicts exp(sum)."
        )
    order, columns = _columns(model)
    start = np.ravel(model._baseline_prediction).astype(float)
    known = [None if column.categories is None else len(column.categories) - 1 for column in columns]
    seen = model._bin_mapper.bin_thresholds_
    trees = [
        _tree(predictor, k, order, known, seen) for stage in model._predictors for k, predictor in enumerate(stage)
    ]
    forest = assemble(
        trees,
        classes=model.classes_ if classifier else np.array(["any score"]),
        columns=columns,
        importances=split_counts(trees, len(columns)),
        vote="sum",
        dtype="float64",
        sums=Sums(tuple(start.tolist()), cuts=None if len(start) > 1 else (5e-324,) if classifier else ()),
    )
    named = hasattr(model, "feature_names_in_")
    check_scores(forest, lambda rows: model._raw_predict(decoded(forest, rows, named)))
    if classifier:
        check_against(forest, lambda rows: model.predict(decoded(forest, rows, named)))
    return forest


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


def _tree(predictor: Any, k: int, order: list[int], n_known: list[int | None], seen: list[Any]) -> Tree:
    nodes = predictor.nodes
    if type(predictor) is not TreePredictor or set(nodes.dtype.names) - _NODE_FIELDS:
        raise UnsupportedModelError("This scikit-learn stores its trees in a way that treeproof does not know.")
    leaf = nodes["is_leaf"].astype(bool)
    feature = np.where(leaf, LEAF, np.array(order)[np.where(leaf, 0, nodes["feature_idx"])])
    left_categories = {}
    for node in np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf).tolist():
        n = n_known[feature[node]]
        assert n is not None
        words = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]].tolist()
        chosen = {code for code in range(n) if words[code // 32] >> code % 32 & 1}
        if nodes["missing_go_to_left"][node]:  # and so do categories that training did not see
            chosen |= set(range(n + 1)) - {int(code) for code in seen[nodes["feature_idx"][node]]}
        left_categories[node] = frozenset(chosen)
    return Tree(
        feature=feature,
        threshold=nodes["num_threshold"],
        left=nodes["left"].astype(np.int64),
        right=nodes["right"].astype(np.int64),
        values=nodes["value"],
        missing_left=nodes["missing_go_to_left"].astype(bool),
        left_categories=left_categories,
        adds_to=k,
    )
