"""Steps whose exact function rises, but whose rounded values may fall here and there by a few last digits.

Logarithms, powers and the like are computed to within a few units in the last place (numpy and the libraries behind it
state at most 4). So where a value, shifted up by twice as much and more, is still below a threshold, all smaller
numbers are made below it as well; in the same way from above. Between these two places every float is tried.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
)
from sklearn.utils._set_output import _get_output_config

from treeproof.errors import UnsupportedModelError

ROUGH = (
    *(np.log, np.log2, np.log10, np.log1p, np.exp, np.exp2, np.expm1),
    *(np.cbrt, np.arcsinh, np.sinh, np.arctan, np.tanh),
)
"""Functions whose exact values rise, known to within a few units in the last place."""
_UNITS = 16


def twin(step: Any, change: Callable[[Any], Any]) -> Any:
    """Return a fitted step like this one, in which each part that is no composition is what `change` makes of it."""
    if type(step) is Pipeline:
        return Pipeline([(name, twin(part, change)) for name, part in step.steps])
    if type(step) is ColumnTransformer:
        made = copy.copy(step)
        made.transformers_ = [(name, twin(part, change), columns) for name, part, columns in step.transformers_]
        return made
    if type(step) is FeatureUnion:
        made = copy.copy(step)
        made.transformer_list = [(name, twin(part, change)) for name, part in step.transformer_list]
        return made
    return step if step is None or isinstance(step, str) else change(step)


def only_for(steps: Pipeline, taken: Collection[int]) -> Pipeline:
    """Return steps that make the same of some columns of the input, and anything of the others, for less.

    Where the first step is a ColumnTransformer, its parts that take none of them are left out.
    """
    (name, first), *others = steps.steps
    if type(first) is Pipeline:
        return Pipeline([(name, only_for(first, taken)), *others])
    if type(first) is not ColumnTransformer or _get_output_config("transform", first)["dense"] != "default":
        return steps
    made, places = copy.copy(first), first.output_indices_
    made.transformers_ = [
        (part, step, columns)
        if isinstance(step, str) or not set(taken).isdisjoint(first._transformer_to_input_indices[part])
        else (part, _Blank(places[part].stop - places[part].start, first.sparse_output_), columns)
        for part, step, columns in first.transformers_
    ]
    return Pipeline([(name, made), *others])


class _Blank:
    """Stands for a step that makes so many columns."""

    def __init__(self, width: int, sparse: bool) -> None:
        self.width, self.sparse = width, sparse

    def transform(self, X: Any) -> Any:
        """Return zeros."""
        return (csr_array if self.sparse else np.zeros)((len(X), self.width))


def shifted(step: Any, way: int) -> Any:
    """Return the step, shifted up (1) or down (-1) by more than twice its error, or (0) as it is.

    None of them refuses numbers: where the step itself would, they make missing or infinite values of them.
    """
    if type(step) is FunctionTransformer and any(step.func is function for function in ROUGH) and way:
        made = copy.copy(step)
        made.func = partial(_shifted, step.func, way)
        return made
    for known, kind in _TWINS.items():
        if type(step) is known or type(step) is kind:
            if getattr(step, "encode", "ordinal") != "ordinal":
                return step  # a column for each bin is followed in another way
            made = copy.copy(step)
            made.__class__ = kind
            made.way = way
            return made
    return step


def tried(step: Any) -> Any:
    """Return the step, which raises UnsupportedModelError if a row alone and rows together are made different."""
    if type(step) is FunctionTransformer and any(step.func is function for function in ROUGH):
        made = copy.copy(step)
        made.func = partial(_tried, step.func)
        return made
    return shifted(step, 0)


def _shifted(function: Any, way: int, X: Any) -> Any:
    found = function(X)
    return _moved(found, way, _UNITS * np.spacing(np.abs(np.asarray(found))))


def _moved(found: Any, way: int, by: npt.NDArray[Any]) -> Any:
    """Return values moved by at least so much; those that are infinite or missing stay."""
    return found + way * np.where(np.isfinite(np.asarray(found)), by, 0)


def _tried(function: Any, X: Any) -> Any:
    found = function(X)
    values, where = np.unique(np.asarray(X), return_inverse=True)
    spread = np.repeat(values, 2)[::2]
    # Copied: where an array runs backwards in memory, numpy takes another routine on some processors (docs/models.md).
    backwards = function(values[::-1].copy())[::-1]
    together = function(values)
    ways = [together, backwards, function(spread), _alone(function, values, np.empty_like(together))]
    ways = [np.asarray(found).ravel(), *(way[where.ravel()] for way in ways)]
    if not all(np.array_equal(ways[0], way, equal_nan=True) for way in ways):
        raise UnsupportedModelError(
            f"numpy's {function.__name__} must give the same value for a number alone and among others. It does not on "
            "this machine; leave that step out, which gives the trees the same choices."
        )
    return found


def _alone(function: Any, values: npt.NDArray[Any], found: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Put into `found` what a function makes of each value alone: numpy runs it anew for each stretch of a mask."""
    even = np.arange(len(values)) % 2 == 0
    for mask in (even, ~even):
        function(values, where=mask, out=found)
    return found


class _Power(PowerTransformer):  # type: ignore[misc]
    """A PowerTransformer whose values are shifted before they are scaled."""

    way = 0

    def transform(self, X: Any) -> Any:
        """Return what PowerTransformer does, shifted; missing values for what it refuses."""
        plain = copy.copy(self)
        plain.__class__ = PowerTransformer
        plain.standardize = False
        plain.set_output(transform="default")
        numbers = np.array(X)
        if self.method == "box-cox":
            numbers[numbers <= 0] = np.nan
        found = plain.transform(numbers.copy())
        if self.way:
            found = _moved(found, self.way, self._error(numbers, found))
        found[~np.isfinite(numbers)] = numbers[~np.isfinite(numbers)]
        return self._scaler.transform(found) if self.standardize else found

    def _error(self, numbers: npt.NDArray[Any], found: npt.NDArray[Any]) -> npt.NDArray[Any]:
        # A value is expm1(power * log(x)) / power, or with log1p(|x|): the error of the logarithm grows in expm1.
        power = np.asarray(self.lambdas_)
        if self.method == "box-cox":
            logarithm = np.abs(np.log(numbers))
        else:
            power, logarithm = np.where(numbers < 0, 2 - power, power), np.log1p(np.abs(numbers))
        if hasattr(PowerTransformer, "_yeo_johnson_transform") and self.method != "box-cox":
            # Before scikit-learn 1.7: ((x + 1) ** power - 1) / power, whose error does not vanish at 0.
            logarithm = logarithm + 1 / np.maximum(np.abs(power), np.finfo(float).eps)
        size = np.abs(found)
        unit = _UNITS * np.finfo(found.dtype).eps
        return unit * (1 + np.abs(power) * logarithm) * size + unit * logarithm + _UNITS * np.spacing(size)


class _Quantile(QuantileTransformer):  # type: ignore[misc]
    """A QuantileTransformer whose values are shifted."""

    way = 0

    def transform(self, X: Any) -> Any:
        """Return what QuantileTransformer does, shifted."""
        plain = copy.copy(self)
        plain.__class__ = QuantileTransformer
        plain.set_output(transform="default")
        numbers = np.array(X)
        found = plain.transform(numbers.copy())
        found[~np.isfinite(numbers)] = numbers[~np.isfinite(numbers)]
        if not self.way:
            return found
        # Shares of 1 are known to within a few units of 1; a normal value as far as its density says.
        flat = np.exp(found**2 / 2) * np.sqrt(2 * np.pi) if self.output_distribution == "normal" else 1.0
        return _moved(found, self.way, _UNITS * np.finfo(found.dtype).eps * (flat + np.abs(found)))


def _kept(known: type) -> type:
    """Return a class of steps that leave missing and infinite values as they are, where `known` would hide them."""

    class Kept(known):  # type: ignore[misc]
        way = 0

        def transform(self, X: Any) -> Any:
            """Return what the step does, but for missing and infinite values."""
            numbers = np.asarray(X, dtype=np.float64)
            found = np.asarray(super().transform(X))
            # The type of the values stays: steps compute in float32 what they get in float32.
            return (
                found
                if np.isfinite(numbers).all()
                else np.where(np.isfinite(numbers), found, numbers.astype(found.dtype))
            )

    return Kept


_TWINS = {
    PowerTransformer: _Power,
    QuantileTransformer: _Quantile,
    **{known: _kept(known) for known in (KBinsDiscretizer, Binarizer, MinMaxScaler)},
}
