"""scikit-learn's VotingClassifier and VotingRegressor of trees and forests, with or without weights.

Soft voting and the regressor take the (weighted) mean, hard voting counts votes, or adds the weights of those who vote.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.ensemble._voting import _BaseVoting

from treeproof.errors import UnsupportedModelError
from treeproof.model.columns import Column
from treeproof.model.decision import Sums, Vote
from treeproof.model.forest import Forest
from treeproof.model.importers import is_taken
from treeproof.model.importers.assemble import Tree, assemble, column_names, split_counts
from treeproof.model.importers.bagging import all_trees, trees_over
from treeproof.model.importers.members import gives_means, load_average
from treeproof.model.importers.selfcheck import check_against, check_scores
from treeproof.model.importers.sklearn import missing_in, refuse_vote, require_fitted, sequential
from treeproof.model.importers.tree_nodes import require_known

TAKES = "VotingClassifier and VotingRegressor of trees and forests"

_MOST_REGRESSORS = 7
"""From eight on, numpy adds what they predict in pairs for one row, and one after the other for several rows."""


def takes(model: Any) -> bool:
    """Return whether the model is one of scikit-learn's voting."""
    return isinstance(model, VotingClassifier | VotingRegressor)


def load(model: Any, vote: Vote | None) -> Forest:
    """Return the forest of a fitted model; its labels or scores are checked against the model's."""
    require_fitted(model)
    refuse_vote(model, vote)
    classifier = isinstance(model, VotingClassifier)
    base = VotingClassifier if classifier else VotingRegressor
    for method in ("predict", "predict_proba", "_collect_probas") if classifier else ("predict",):
        require_known(model, method, [base.__dict__[method]])
    require_known(model, "_predict", [_BaseVoting.__dict__["_predict"]])
    require_known(model, "_weights_not_none", [_BaseVoting.__dict__["_weights_not_none"]])
    trees_only = all_trees(model, classifier)
    n_trees = len(model.estimators_)
    if not classifier and n_trees > _MOST_REGRESSORS:
        raise UnsupportedModelError(
            f"A VotingRegressor must have at most {_MOST_REGRESSORS} members. Got {n_trees}: of so many it adds the "
            "predictions in another order for one row than for several, so one row can have two predictions. "
            "Train a BaggingRegressor instead."
        )
    every = np.arange(model.n_features_in_)
    if not trees_only:
        if classifier and model.voting == "hard":
            raise _not_trees(model)
        weights = None if _weights(model) is None else np.asanyarray(model._weights_not_none)
        return load_average(model, [every] * n_trees, weights)
    trees = trees_over(model, [every] * n_trees, model.classes_ if classifier else None)
    trees, ballot, sums = _decision(model, trees, _weights(model))
    forest = assemble(
        [trees],
        classes=model.classes_ if classifier else np.array(["any score"]),
        columns=[Column(name, missing=missing_in(model.estimators_)) for name in column_names(model)],
        importances=split_counts([trees], model.n_features_in_),
        vote=ballot,
        sums=sums,
    )
    if classifier:
        check_against(forest, sequential(model).predict)
    else:
        check_scores(forest, sequential(model).predict)
    return forest


def _not_trees(model: Any) -> UnsupportedModelError:
    """Return why a hard vote of other models than trees is refused, and what is possible with these members."""
    other = [place for place, member in enumerate(model.estimators_) if not gives_means(member)]
    explained = [place for place, member in enumerate(model.estimators_) if is_taken(member)]
    advice = ""
    if not other:
        advice = " model.set_params(voting='soft') is taken, without fitting it again: it takes the largest mean."
    elif explained:
        advice = f" Explain a member alone: model.estimators_[{explained[0]}]."
    return UnsupportedModelError(
        "A VotingClassifier with voting='hard' must combine decision trees. Got other models: which label such a "
        f"member votes for is no sum of leaf values.{advice}"
    )


def _weights(model: Any) -> Any:
    """Return the weights of the trees, or None."""
    weights = model._weights_not_none
    if weights is None:
        return None
    weights = np.asarray(weights, dtype=float)
    if not (np.isfinite(weights).all() and (weights >= 0).all() and 0 < weights.sum() < math.inf):
        raise UnsupportedModelError(
            f"{type(model).__name__} must have weights that are not negative, and not all zero. Got {weights.tolist()}."
        )
    return weights


def _decision(model: Any, trees: Tree, weights: Any) -> tuple[Tree, Vote, Sums | None]:
    """Return the trees with what their leaves add, and how that becomes a label."""
    values = np.asarray(trees.values)
    n_trees, n_sums = len(trees.roots), values.shape[1]
    hard = isinstance(model, VotingClassifier) and model.voting == "hard"
    if weights is None:
        if isinstance(model, VotingRegressor):
            return trees, "sum", Sums((0.0,), divisor=float(n_trees), cuts=())
        return trees, "majority" if hard else "mean", None
    if hard:
        values = np.eye(n_sums)[np.argmax(values, axis=1)]
    sizes = np.diff(np.append(trees.roots, len(values)))
    weighted = dataclasses.replace(trees, values=values * np.repeat(weights, sizes)[:, None])
    if hard:
        return weighted, "sum", Sums((0.0,) * n_sums)
    # The divisor is the sum of the weights, in the order in which numpy adds them.
    divisor = float(np.average(np.ones((n_trees, 1)), axis=0, weights=weights, returned=True)[1][0])
    cuts = () if isinstance(model, VotingRegressor) else None
    return weighted, "sum", Sums((0.0,) * n_sums, divisor=divisor, cuts=cuts)
