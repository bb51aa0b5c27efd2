"""scikit-learn's decision trees, random forests and extra trees, and what is derived from them."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.ensemble._forest import BaseForest, ForestClassifier, ForestRegressor
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.tree import BaseDecisionTree, DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from treeproof.errors import InputError, NotFittedError, UnsupportedModelError
from treeproof.model.columns import LEAF, Column, Missing
from treeproof.model.decision import Sums, Vote
from treeproof.model.forest import Forest
from treeproof.model.importers.assemble import assemble, column_names
from treeproof.model.importers.selfcheck import check_against, check_scores
from treeproof.model.importers.tree_nodes import Nodes, read_nodes, require_known, require_known_in_all
from treeproof.model.majority import MajorityForestClassifier

TAKES = (
    "scikit-learn's DecisionTree, RandomForest and ExtraTrees classifiers and regressors, "
    "treeproof.MajorityForestClassifier, and their subclasses"
)

# The methods that make up a prediction, and the implementations that are understood: the guarantee is about this
# code. A subclass may change anything else.
_FOREST_VOTE: dict[Any, Vote] = {
    ForestClassifier.__dict__["predict_proba"]: "mean",
    MajorityForestClassifier.__dict__["predict_proba"]: "majority",
}

_FORESTS = (RandomForestClassifier, ExtraTreesClassifier, RandomForestRegressor, ExtraTreesRegressor)

_SOME_ROWS = np.zeros((1, 1))  # dense ones: what trees do with missing values depends on that


def takes(model: Any) -> bool:
    """Return whether the model is a tree, or a forest of trees, with one output."""
    kinds = ForestClassifier | DecisionTreeClassifier | ForestRegressor | DecisionTreeRegressor
    return isinstance(model, kinds) and getattr(model, "n_outputs_", 1) == 1


def load(model: Any, vote: Vote | None, output: int = 0, *, compare: bool = True) -> Forest:
    """Return the forest of a fitted scikit-learn model; its ``predict`` is checked against the model's.

    Of a model with several outputs, it is the forest of the one with this number. Without `compare`, the check is left
    to the caller.
    """
    require_fitted(model)
    if isinstance(model, ForestRegressor | DecisionTreeRegressor):
        refuse_vote(model, vote)
        forest = _load_regressor(model, output)
        if compare:
            check_scores(forest, lambda rows: _one_of(sequential(model).predict(rows), output))
        return forest
    if isinstance(model, ForestClassifier):
        require_known(model, "_validate_X_predict", [BaseForest.__dict__["_validate_X_predict"]])
        trees = list(model.estimators_)
        if not trees:
            raise UnsupportedModelError(f"{type(model).__name__} must have at least one tree. Got none.")
    else:
        trees = [model]
    own_vote = _own_vote(model, needed=vote is None)
    forest = _flatten(model, trees, vote or own_vote, output)
    if forest.vote == "majority" and isinstance(model, ForestClassifier) and len(trees) == 1:
        # Its probabilities are shares of votes, as those of several trees are; not those of a DecisionTreeClassifier.
        votes = np.eye(forest.n_classes)[forest.leaf_class] * (forest.feature == LEAF)[:, None]
        forest = dataclasses.replace(forest, values=votes)
    if compare:
        check_against(forest, _source_predict(model, trees, vote, forest.classes, output))
    return forest


def require_fitted(model: Any) -> None:
    """Refuse a model that is not fitted."""
    try:
        check_is_fitted(model)
    except SklearnNotFittedError as error:
        raise NotFittedError(
            f"The model must be fitted before it can be explained. Got an unfitted {type(model).__name__}; "
            "call its fit(X, y) first."
        ) from error


def refuse_vote(model: Any, vote: Vote | None) -> None:
    """Refuse another vote than the model's own, where its trees do not vote."""
    if vote is not None:
        raise InputError(
            f"Only the trees of a scikit-learn forest can take another vote. Got vote={vote!r} for a "
            f"{type(model).__name__}; leave it out to explain its own predict."
        )


def _load_regressor(model: Any, output: int) -> Forest:
    """Return a regressor's forest: one sum, the score, which is not cut yet."""
    forest_model = isinstance(model, ForestRegressor)
    if forest_model:
        require_known(model, "_validate_X_predict", [BaseForest.__dict__["_validate_X_predict"]])
        require_known(model, "predict", [ForestRegressor.__dict__["predict"]])
    trees = list(model.estimators_) if forest_model else [model]
    require_known_in_all(trees, "predict", BaseDecisionTree)
    nodes = read_nodes(trees, model.n_features_in_)
    return assemble(
        [nodes.with_values(np.concatenate([values[:, output, :1] for values in nodes.values]))],
        classes=np.array(["any score"]),
        columns=[Column(name, missing=missing_in(trees[:1])) for name in column_names(model)],
        importances=_importances(model, trees),
        vote="sum",
        sums=Sums((0.0,), divisor=float(len(trees)) if forest_model else 1.0, cuts=()),
    )


def _own_vote(model: Any, needed: bool) -> Vote:
    """Return the vote that the model's own ``predict`` takes; refuse a ``predict`` that is not understood."""
    if not isinstance(model, ForestClassifier):
        if needed:
            require_known(model, "predict", [BaseDecisionTree.__dict__["predict"]])
        return "majority"  # the first maximum of one leaf: both votes agree, and every oracle takes this one
    if not needed:
        return "mean"
    require_known(model, "predict", [ForestClassifier.__dict__["predict"], *_own(MajorityForestClassifier, "predict")])
    require_known(model, "predict_proba", list(_FOREST_VOTE))
    return _FOREST_VOTE[inspect.getattr_static(model, "predict_proba")]


def _own(cls: type, method: str) -> list[Any]:
    return [cls.__dict__[method]] if method in cls.__dict__ else []


def _flatten(model: Any, trees: list[Any], vote: Vote, output: int) -> Forest:
    require_known_in_all(trees, "predict_proba", DecisionTreeClassifier)
    nodes = read_nodes(trees, model.n_features_in_)
    several = model.n_outputs_ > 1
    known = list(model.n_classes_) if several else [model.n_classes_]
    return assemble(
        [nodes.with_values(_probabilities(nodes, known, output))],
        classes=model.classes_[output] if several else model.classes_,
        columns=[Column(name, missing=missing_in(trees[:1])) for name in column_names(model)],
        importances=_importances(model, trees),
        vote=vote,
    )


def _probabilities(nodes: Nodes, n_classes: Sequence[int], output: int) -> Any:
    """Return what each node of classification trees has for each class of an output: its probability."""
    for values in nodes.values:
        if values.shape[1:] != (len(n_classes), max(n_classes)):
            raise UnsupportedModelError(
                f"Every tree must know all {max(n_classes)} classes. Got leaf values of shape {values.shape[1:]}."
            )
    return np.concatenate([values[:, output, : n_classes[output]] for values in nodes.values])


def _importances(model: Any, trees: Sequence[Any]) -> Any:
    """Return the model's own importances: of a forest a mean, for which it would start a job for each tree."""
    if inspect.getattr_static(model, "feature_importances_") is not BaseForest.__dict__["feature_importances_"]:
        return model.feature_importances_
    found = [tree.tree_.compute_feature_importances() for tree in trees if tree.tree_.node_count > 1]
    mean = np.mean(found, axis=0) if found else np.zeros(model.n_features_in_)
    return mean / np.sum(mean) if found else mean


def _one_of(predicted: Any, output: int) -> Any:
    """Return one output of what a model predicts; with one output, it has no axis of them."""
    return predicted if predicted.ndim == 1 else predicted[:, output]


def missing_in(trees: Sequence[Any]) -> Missing:
    """Return whether columns may be missing for all these trees."""
    return "possible" if all(tree._support_missing_values(_SOME_ROWS) for tree in trees) else "never"


def _source_predict(model: Any, trees: list[Any], vote: Vote | None, classes: Any, output: int) -> Any:
    """Return the function whose values the forest must reproduce, computed by scikit-learn alone."""
    if vote is None:
        return lambda rows: _one_of(sequential(model).predict(rows), output)

    def predict(X: Any) -> Any:
        leaf_values = [tree.tree_.predict(np.asarray(X, dtype=np.float32)) for tree in trees]
        leaf_values = [values if values.ndim == 2 else values[:, output] for values in leaf_values]
        if vote == "mean":
            total = np.zeros_like(leaf_values[0])
            for values in leaf_values:
                total += values
            return classes[np.argmax(total / len(trees), axis=1)]
        votes = [np.argmax(values, axis=1) for values in leaf_values]
        counts = np.array([np.bincount(row, minlength=len(classes)) for row in np.transpose(votes)])
        return classes[np.argmax(counts, axis=1)]

    return predict


def sequential(model: Any) -> Any:
    """Return the model, without several jobs: these add in any order, and the guarantee is for tree order."""
    sequential = copy.copy(model)
    if hasattr(sequential, "n_jobs"):
        sequential.n_jobs = None
    if hasattr(sequential, "verbose"):
        sequential.verbose = 0
    return sequential


def brief(model: Any) -> Any:
    """Return a model that takes and refuses the rows that this one does, for less: of a forest, its first tree."""
    brief = sequential(model)
    if type(model) in _FORESTS and "predict" not in vars(model):  # they look at the first tree to see what is taken
        brief.estimators_ = model.estimators_[:1]
    return brief
