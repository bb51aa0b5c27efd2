"""What a fitted classifier of two classes answers, as a function of its forest's one sum: what wrappers build upon.

A wrapper (a calibration, a threshold) makes its label of a number that the classifier inside answers. The wrapper's own
code is asked for the label of any such number: in a copy of it, a `Given` stands in the place of the classifier.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin

from treeproof.errors import UnsupportedModelError
from treeproof.model.forest import Forest
from treeproof.model.importers import decision_of, import_model, probability_of
from treeproof.model.monotone import sums_within
from treeproof.model.scores import share_of

Method = Literal["decision_function", "predict_proba"]


@dataclass(frozen=True, slots=True, eq=False)
class Response:
    """What a classifier answers: `function` of the one sum of `forest`, which is not cut, and lies in `within`.

    It is what `method` has for the class at `positive`.
    """

    forest: Forest
    method: Method
    positive: int
    function: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
    within: tuple[float, float]

    def negated(self) -> Response:
        """Return the same answers for a forest whose sums are the negative ones: rounding treats both signs alike."""
        forest = dataclasses.replace(self.forest, values=0.0 - self.forest.values, sums=self.forest.decision.negated)
        low, high = self.within
        return dataclasses.replace(
            self, forest=forest, function=lambda sums: self.function(-sums), within=(-high, -low)
        )

    def given(self, classes: npt.NDArray[Any]) -> Any:
        """Return a classifier that answers what it is asked: a column of numbers."""
        return GivenDecision(classes) if self.method == "decision_function" else GivenShare(classes, self.positive)


def response_of(model: Any, methods: Iterable[str], positive: int = 1) -> Response:
    """Return what the first of these methods that a classifier of two classes has gives for the class at `positive`."""
    classes = getattr(model, "classes_", None)
    if classes is None or len(classes) != 2:
        raise UnsupportedModelError(
            f"The model inside must be a classifier of two classes, whose label comes from one number. "
            f"Got {type(model).__name__}{'' if classes is None else f' of {len(classes)} classes'}."
        )
    forest = import_model(model)
    method = next((name for name in methods if hasattr(model, name)), None)
    if method == "decision_function":
        decision = decision_of(model)
        if decision is not None and forest.decision.cuts is not None:
            return Response(_uncut(forest), "decision_function", 1, decision, sums_within(forest))
    elif method == "predict_proba":
        if forest.sums is None and (forest.values >= 0).all() and (forest.values <= 1).all():
            return Response(share_of(forest, positive), "predict_proba", positive, lambda sums: sums, (0.0, 1.0))
        probability = probability_of(model)
        if probability is not None and forest.decision.cuts is not None:
            number = forest.decision.floats.dtype

            def second(sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
                found = np.array([probability(total) for total in sums.tolist()], dtype=number)
                return found if positive else number(1) - found

            return Response(_uncut(forest), "predict_proba", positive, second, sums_within(forest))
    raise UnsupportedModelError(
        f"The {method or 'predict_proba'} of {type(model).__name__} cannot be followed exactly, so nothing that is "
        f"made of it can. Explain the {type(model).__name__} alone."
    )


def _uncut(forest: Forest) -> Forest:
    sums = dataclasses.replace(forest.decision, cuts=())
    return dataclasses.replace(forest, vote="sum", sums=sums, classes=np.array(["any score"]))


class _Given(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier that answers what it is asked: each row is one number."""

    def __init__(self, classes: Any, positive: int = 1) -> None:
        self.classes = classes
        self.positive = positive

    @property
    def classes_(self) -> Any:
        """The classes of the classifier that it stands for."""
        return self.classes

    def fit(self, X: Any, y: Any) -> _Given:  # what is asked must look like an estimator
        """Return the classifier as it is: there is nothing to fit."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True


class GivenDecision(_Given):
    """One whose decision function that is."""

    def decision_function(self, X: Any) -> Any:
        """Return the numbers that were given."""
        return np.asarray(X)[:, 0]


class GivenShare(_Given):
    """One whose probability of a class that is."""

    def predict_proba(self, X: Any) -> Any:
        """Return the numbers that were given as the probability of one class, and what is left for the other."""
        given = np.asarray(X)[:, 0]
        both = [given.dtype.type(1) - given, given]
        return np.column_stack(both if self.positive else both[::-1])
