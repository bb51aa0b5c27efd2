"""scikit-learn's GradientBoostingClassifier and GradientBoostingRegressor.

A tree's value is multiplied by the learning rate and added in float64, stage by stage, to what the constant initial
estimator gives. The second of two classes wins iff the sum is >= 0; of several, the first with the largest sum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.ensemble._gb import BaseGradientBoosting

from treeproof.errors import UnsupportedModelError
from treeproof.model.columns import Column
from treeproof.model.decision import Sums, Vote
from treeproof.model.forest import Forest
from treeproof.model.importers import Function
from treeproof.model.importers.assemble import assemble, column_names
from treeproof.model.importers.selfcheck import check_against, check_scores
from treeproof.model.importers.sklearn import refuse_vote, require_fitted
from treeproof.model.importers.tree_nodes import read_nodes, require_known

TAKES = "GradientBoostingClassifier and GradientBoostingRegressor"


def takes(model: Any) -> bool:
    """Return whether the model is one of scikit-learn's gradient boosting."""
    return isinstance(model, GradientBoostingClassifier | GradientBoostingRegressor)


def load(model: Any, vote: Vote | None) -> Forest:
    """Return the forest of a fitted model; its sums and labels are checked against the model's."""
    require_fitted(model)
    refuse_vote(model, vote)
    classifier = isinstance(model, GradientBoostingClassifier)
    base = GradientBoostingClassifier if classifier else GradientBoostingRegressor
    require_known(model, "predict", [base.__dict__["predict"]])
    if classifier:
        require_known(model, "decision_function", [base.__dict__["decision_function"]])
    for method in ("_raw_predict", "_raw_predict_init"):
        require_known(model, method, [BaseGradientBoosting.__dict__[method]])
    init = model.init_
    constant = type(init) in (DummyClassifier, DummyRegressor) and init.strategy != "stratified"
    if not isinstance(init, str) and not constant:
        raise UnsupportedModelError(
            f"The initial estimator must be constant: init=None or 'zero'. Got {init!r}, whose predictions are added "
            "to those of the trees."
        )
    start = model._raw_predict_init(np.zeros((1, model.n_features_in_)))[0]
    several = len(start) > 1
    nodes = read_nodes(np.ravel(model.estimators_).tolist(), model.n_features_in_)
    if any(values.shape[1:] != (1, 1) for values in nodes.values):
        raise UnsupportedModelError("Every tree must have one value per leaf. Got several.")
    adds_to = np.arange(len(nodes.values)) % len(start)
    forest = assemble(
        [nodes.with_values(model.learning_rate * np.concatenate(nodes.values)[:, 0, 0], adds_to)],
        classes=model.classes_ if classifier else np.array(["any score"]),
        columns=[Column(name) for name in column_names(model)],
        importances=model.feature_importances_,
        vote="sum",
        sums=Sums(tuple(start.tolist()), cuts=None if several else (0.0,) if classifier else ()),
    )
    check_scores(forest, model._raw_predict)
    if classifier:
        check_against(forest, model.predict)
    return forest


def decision(model: Any) -> Function | None:
    """Return the function from sums to the decision function: the sums themselves."""
    return (lambda sums: sums) if isinstance(model, GradientBoostingClassifier) and len(model.classes_) == 2 else None


def probability(model: Any) -> Callable[[float], float] | None:
    """Return the function from the sum to the probability of the second class."""
    if not isinstance(model, GradientBoostingClassifier) or len(model.classes_) != 2:
        return None
    return lambda total: float(model._loss.predict_proba(np.array([total]))[0, 1])
