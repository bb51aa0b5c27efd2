"""What scikit-learn wraps around one classifier or regressor: a calibration, a threshold, a transformed target.

Each makes its prediction of one number that the model inside gives, by a monotone function. So the trees are those of
the model inside, and the label changes at a cut, which is found by asking the wrapper's own code.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from treeproof.errors import UnsupportedModelError
from treeproof.model.decision import Vote
from treeproof.model.forest import Forest
from treeproof.model.importers import Function, import_model, link_of, unwrapped
from treeproof.model.importers.responses import Response, response_of
from treeproof.model.importers.rough import ROUGH
from treeproof.model.importers.selfcheck import check_against, check_scores, decoded
from treeproof.model.importers.sklearn import refuse_vote, require_fitted
from treeproof.model.importers.tree_nodes import require_known
from treeproof.model.monotone import beside, find_cut, sums_within

TAKES = (
    "around one model: CalibratedClassifierCV with ensemble=False, FixedThresholdClassifier, "
    "TunedThresholdClassifierCV, TransformedTargetRegressor"
)

_RISING_STEPS = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, PowerTransformer, QuantileTransformer)
_KINDS = (CalibratedClassifierCV, FixedThresholdClassifier, TunedThresholdClassifierCV, TransformedTargetRegressor)


def takes(model: Any) -> bool:
    """Return whether the model is one of these wrappers."""
    return isinstance(model, _KINDS)


def load(model: Any, vote: Vote | None) -> Forest:
    """Return the forest of a fitted wrapper; its labels or scores are checked against its own."""
    require_fitted(model)
    refuse_vote(model, vote)
    kind = next(kind for kind in _KINDS if isinstance(model, kind))
    require_known(model, "predict", [kind.__dict__["predict"]])
    if isinstance(model, TransformedTargetRegressor):
        return _load_regressor(model)
    if isinstance(model, CalibratedClassifierCV):
        require_known(model, "predict_proba", [CalibratedClassifierCV.__dict__["predict_proba"]])
    response, asked = _classifier(model)

    def second(sums: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        return np.asarray(asked.predict(response.function(sums)[:, None]) == model.classes_[1])

    what = f"The label of a {type(model).__name__}, as a function of what the model inside gives,"
    cut = find_cut(response.forest, second, what, response.within)
    forest = response.forest.with_cuts([cut], model.classes_.tolist())
    if not isinstance(_inside(model), Pipeline):  # its importer knows which rows it takes, and has checked them
        check_against(forest, lambda rows: model.predict(_as_given(model, forest, rows)))
    return forest


def probability(model: Any) -> Callable[[float], float] | None:
    """Return the function from the sum to the calibrated probability of the second class."""
    if not isinstance(model, CalibratedClassifierCV):
        return None
    response, asked = _classifier(model)
    number = response.forest.decision.floats.dtype

    def second(total: float) -> float:
        inside = np.clip(np.array([total], dtype=number), *map(number, response.within))  # no sum is outside
        return float(asked.predict_proba(response.function(inside)[:, None])[0, 1])

    return second


def link(model: Any) -> Function | None:
    """Return the function from the sum to what a TransformedTargetRegressor predicts."""
    if not isinstance(model, TransformedTargetRegressor):
        return None
    asked = copy.copy(model)
    asked.regressor_ = _GivenScore()
    return _Target(asked, link_of(model.regressor_))


@dataclass(frozen=True)
class _Target:
    """What a TransformedTargetRegressor makes of sums: `asked` takes what the regressor inside predicts for rows."""

    asked: Any
    inside: Function | None

    def __call__(self, sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        predicted = sums if self.inside is None else self.inside(sums)
        with np.errstate(over="ignore"):
            return np.asarray(self.asked.predict(predicted[:, None]))


def _inside(model: Any) -> Any:
    """Return the classifier or regressor that is wrapped."""
    if isinstance(model, TransformedTargetRegressor):
        return unwrapped(model.regressor_)
    if not isinstance(model, CalibratedClassifierCV):
        return unwrapped(getattr(model, "estimator_", model.estimator))
    if len(model.classes_) != 2:
        raise UnsupportedModelError(
            "CalibratedClassifierCV must have two classes, so that its label comes from one number. Got "
            f"{len(model.classes_)} classes. Explain the model that it calibrates alone: "
            "model.calibrated_classifiers_[0].estimator."
        )
    if len(model.calibrated_classifiers_) != 1:
        raise UnsupportedModelError(
            "CalibratedClassifierCV must calibrate one model. Got the mean of "
            f"{len(model.calibrated_classifiers_)} calibrated models, whose probabilities are rounded before they are "
            "added. Fit it with ensemble=False."
        )
    return unwrapped(model.calibrated_classifiers_[0].estimator)


def _classifier(model: Any) -> tuple[Response, Any]:
    """Return what the classifier inside answers, and a copy of the wrapper that takes such answers for rows.

    The label of the copy, and the probability of the second class, never fall as the sums of the answers grow.
    """
    inside, asked = _inside(model), copy.copy(model)
    if isinstance(model, CalibratedClassifierCV):
        response = response_of(inside, ("decision_function", "predict_proba"))
        asked.calibrated_classifiers_ = [copy.copy(model.calibrated_classifiers_[0])]
        asked.calibrated_classifiers_[0].estimator = response.given(inside.classes_)
        _require_monotone(asked, response)
    else:
        chosen = model.response_method
        methods = ("predict_proba", "decision_function") if chosen == "auto" else (chosen,)
        label = model.pos_label if isinstance(model, FixedThresholdClassifier) else model._curve_scorer._get_pos_label()
        positive = 1 if label is None else model.classes_.tolist().index(label)
        response = response_of(inside, methods, positive)
        asked.estimator_ = response.given(inside.classes_)
    ends = response.function(np.array(response.within, dtype=response.forest.decision.floats.dtype))[:, None]
    second = asked.predict(ends) == model.classes_[1]
    if isinstance(model, CalibratedClassifierCV):
        second = asked.predict_proba(ends)[:, 1]
    return (response.negated() if second[1] < second[0] else response), asked


def _require_monotone(asked: Any, response: Response) -> None:
    """Refuse a calibration whose label goes back and forth: an isotonic one is made of lines, each rounded alone."""
    knots = [x for each in asked.calibrated_classifiers_[0].calibrators for x in getattr(each, "X_thresholds_", ())]
    answers = beside(np.array(knots, dtype=response.forest.decision.floats.dtype))
    if response.method == "predict_proba":
        answers = answers[(answers >= 0) & (answers <= 1)]
    if len(answers) and np.count_nonzero(np.diff(asked.predict(answers[:, None]) == asked.classes_[1])) > 1:
        raise UnsupportedModelError(
            "The label of a CalibratedClassifierCV must be a monotone function of what the model inside gives. Here "
            "rounding makes it go back and forth. Fit it with method='sigmoid'."
        )


def _load_regressor(model: Any) -> Forest:
    """Return the forest of the regressor inside: its sum, whose function the prediction is, is not cut yet."""
    forest = import_model(model.regressor_)
    if forest.decision.cuts != () or model._training_dim != 1:
        raise UnsupportedModelError("A TransformedTargetRegressor must predict one number per row. It does not.")
    _require_rising(model, forest)
    if not isinstance(_inside(model), Pipeline):
        check_scores(forest, lambda rows: model.predict(_as_given(model, forest, rows)), function=link(model))
    return forest


def _require_rising(model: TransformedTargetRegressor, forest: Forest) -> None:
    """Refuse a transformation whose inverse is not known to rise: asking it here and there would not show that."""
    transformer = model.transformer_
    got = type(transformer).__name__
    if type(transformer) in _RISING_STEPS:
        return
    if type(transformer) is FunctionTransformer and not transformer.inv_kw_args:
        inverse = transformer.inverse_func
        if inverse is None or any(inverse is function for function in (*ROUGH, np.sqrt)):
            return
        if inverse is np.square and link_of(model.regressor_) is None and sums_within(forest)[0] >= 0:
            return
        got = getattr(inverse, "__name__", repr(inverse))
    raise UnsupportedModelError(
        "The inverse function of a TransformedTargetRegressor must be monotone, and known to be so: numpy's exp, expm1 "
        f"and the like, square where nothing is negative, or that of a scaler. Got {got}. Explain the regressor "
        "inside, on its own scale: model.regressor_."
    )


def _as_given(model: Any, forest: Forest, rows: Any) -> Any:
    """Return rows as the wrapper takes them: the names and categories are those of the model inside."""
    return decoded(forest, rows, named=hasattr(model, "feature_names_in_"))


class _GivenScore(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A regressor that predicts what it is given: each row is one number."""

    def predict(self, X: Any) -> Any:
        """Return the numbers that were given."""
        return np.asarray(X)[:, 0]
