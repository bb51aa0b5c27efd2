"""What the steps of a pipeline do to columns: where each column comes from, and what it went through.

Here is the list of transformers that are followed; any other is refused by name.
"""

from __future__ import annotations

import dataclasses
import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

from treeproof.errors import UnsupportedModelError
from treeproof.model.importers.rough import ROUGH
from treeproof.model.rows import is_missing

# Each rounds the exact value of a function that never falls, or a few such in turn: so it never falls either.
_SCALERS = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, Binarizer)
ENCODERS = (OneHotEncoder, OrdinalEncoder, TargetEncoder)
_SAME = (None, np.asarray, np.float64)
_RISING = (np.sqrt, np.floor, np.ceil, np.trunc, np.rint, np.float32)
_LOSING = (np.sqrt, np.log, np.log2, np.log10, np.log1p)

_IMPUTERS = (SimpleImputer, MissingIndicator)

Stage = tuple[Any, int, int]


def is_idle(step: Any) -> bool:
    """Return whether a step does nothing."""
    return step is None or (isinstance(step, str) and step == "passthrough")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a column comes from: a column of the input, and what it went through.

    `stages` are the numeric steps, each with the column's place before and after it. `encoder` is the first one, with
    the column's place there. `bin` is a bin of a KBinsDiscretizer, and the stages up to that, if the column tells
    whether the number is in that bin. `losing` names a function that made missing values of some numbers. `rough` says
    that some step rises only up to its rounding errors. `marks` are values of the input that an imputer takes for
    missing, other than missing values themselves. `indicator` says that the column tells whether the value is missing,
    and nothing else of it.
    """

    column: int
    stages: tuple[Stage, ...] = ()
    encoder: tuple[Any, int] | None = None
    bin: tuple[tuple[Stage, ...], int] | None = None
    imputed: bool = False
    losing: str = ""
    rough: bool = False
    marks: tuple[Any, ...] = ()
    indicator: bool = False

    @property
    def changed_by(self) -> str | None:
        """Name of a step that changed numbers, not only missing values."""
        return next((type(step).__name__ for step, _, _ in self.stages if type(step) not in _IMPUTERS), None)

    def through(self, step: Any, before: int, after: int) -> Source:
        """Return the column behind a numeric step."""
        return dataclasses.replace(self, stages=(*self.stages, (step, before, after)))


def follow(step: Any, inputs: list[Source], met: list[Source]) -> list[Source]:
    """Return the sources of a fitted step's output columns; UnsupportedModelError if one has several.

    Columns that a step takes are added to `met`, as some may be dropped later.
    """
    if is_idle(step):
        return inputs
    if (isinstance(step, str) and step == "drop") or not inputs:
        return []
    if _is(step, Pipeline):
        for _, part in step.steps:
            inputs = follow(part, inputs, met)
        return inputs
    if _is(step, ColumnTransformer):
        return _follow_columns(step, inputs, met)
    if _is(step, FeatureUnion):
        return _follow_union(step, inputs, met)
    met += inputs
    if isinstance(step, SelectorMixin) and _transform_of(step) is _transform_of(SelectorMixin):
        return [source for source, kept in zip(inputs, step.get_support(), strict=True) if kept]
    if any(_is(step, scaler) for scaler in _SCALERS):
        return [source.through(step, i, i) for i, source in enumerate(inputs)]
    if any(_is(step, imputer) for imputer in _IMPUTERS):
        outputs = _follow_imputer(step, inputs)
        met += outputs
        return outputs
    if _is(step, FunctionTransformer):
        if _clips(step):
            return [source.through(step, i, i) for i, source in enumerate(inputs)]
        if not step.kw_args and any(step.func is function for function in _SAME):
            return inputs
        if not step.kw_args and any(step.func is function for function in (*_RISING, *ROUGH)):
            return _follow_function(step, inputs)
    if _is(step, PowerTransformer) or (_is(step, QuantileTransformer) and not step.ignore_implicit_zeros):
        return [dataclasses.replace(source.through(step, i, i), rough=True) for i, source in enumerate(inputs)]
    if _is(step, KBinsDiscretizer):
        return _follow_bins(step, inputs)
    if any(_is(step, encoder) for encoder in ENCODERS):
        outputs = _follow_encoder(step, inputs)
        met += outputs
        return outputs
    name = type(step).__name__
    if isinstance(step, FunctionTransformer):
        name += f" of {getattr(step.func, '__name__', step.func)}"
    raise UnsupportedModelError(
        f"Every step of a pipeline must treat each column alone, in a way that can be followed exactly. Got {name}; "
        "explain the final estimator, on data as it sees it: Explainer(pipeline[-1]) and pipeline[:-1].transform(X)."
    )


def _is(step: Any, known: type) -> bool:
    """Return whether a step is of just this class, so that it transforms as that does."""
    return type(step) is known and "transform" not in vars(step)


def _transform_of(step: Any) -> Any:
    return inspect.getattr_static(step, "transform")


def _follow_columns(step: ColumnTransformer, inputs: list[Source], met: list[Source]) -> list[Source]:
    found: list[Source | None] = [None] * sum(part.stop - part.start for part in step.output_indices_.values())
    for name, transformer, _ in step.transformers_:
        part = step.output_indices_[name]
        outputs = follow(transformer, [inputs[j] for j in step._transformer_to_input_indices[name]], met)
        if len(outputs) != part.stop - part.start:
            raise UnsupportedModelError(
                f"The part {name!r} of a ColumnTransformer must have outputs that can be followed. "
                f"Expected {len(outputs)} columns, got {part.stop - part.start}."
            )
        found[part] = outputs
    return [source for source in found if source is not None]


def _follow_union(step: FeatureUnion, inputs: list[Source], met: list[Source]) -> list[Source]:
    found = []
    for name, transformer in step.transformer_list:
        weight = (step.transformer_weights or {}).get(name, 1)
        if weight is not None and weight < 0:
            raise UnsupportedModelError(
                f"Weights of a FeatureUnion must not be negative. Got {weight} for {name!r}; leave it out and train "
                "again, which gives the trees the same choices."
            )
        outputs = follow(transformer, inputs, met)
        found += [source.through(_Times(weight), 0, 0) for source in outputs] if weight not in (None, 1) else outputs
    return found


@dataclass(frozen=True, slots=True)
class _Times:
    """What a FeatureUnion does with a column that has a weight."""

    weight: float
    n_features_in_: int = 1

    def transform(self, X: Any) -> Any:
        """Return the column times its weight."""
        return X * self.weight


def _follow_imputer(step: Any, inputs: list[Source]) -> list[Source]:
    if type(step) is SimpleImputer:
        # Columns that were empty in training have no statistic, and are left out.
        statistics = step.statistics_.tolist()
        kept = [i for i in range(len(inputs)) if step.keep_empty_features or not is_missing(statistics[i])]
        n_values = len(kept)
        if step.add_indicator:
            kept += step.indicator_.features_.tolist()
    else:
        kept, n_values = step.features_.tolist(), 0
    marks = () if is_missing(step.missing_values) else (step.missing_values,)
    found = []
    for o, i in enumerate(kept):
        source = inputs[i]
        if source.losing:
            raise UnsupportedModelError(
                f"{type(step).__name__} must come before {source.losing}, which makes missing values of some numbers."
            )
        if marks and source.changed_by:
            raise UnsupportedModelError(
                f"{type(step).__name__} with missing_values={step.missing_values!r} must come before steps that change "
                f"numbers. It comes after {source.changed_by}; replace that value by NaN in the data, and train with "
                "missing_values=nan."
            )
        found.append(
            dataclasses.replace(
                source.through(step, i, o),
                imputed=not marks,
                marks=(*source.marks, *marks),
                indicator=source.indicator or o >= n_values,
            )
        )
    return found


def _clips(step: FunctionTransformer) -> bool:
    """Return whether a step cuts numbers off at constants."""
    limits = step.kw_args or {}
    known = set(limits) <= {"a_min", "a_max", "min", "max"}
    return step.func is np.clip and known and all(v is None or np.ndim(v) == 0 for v in limits.values())


def _follow_function(step: FunctionTransformer, inputs: list[Source]) -> list[Source]:
    losing = step.func.__name__ if any(step.func is function for function in _LOSING) else ""
    rough = any(step.func is function for function in ROUGH)
    return [
        dataclasses.replace(s.through(step, i, i), losing=s.losing or losing, rough=s.rough or rough)
        for i, s in enumerate(inputs)
    ]


def _follow_bins(step: KBinsDiscretizer, inputs: list[Source]) -> list[Source]:
    outputs = []
    for i, source in enumerate(inputs):
        if step.encode == "ordinal":
            outputs.append(source.through(step, i, i))
            continue
        for k in range(int(step.n_bins_[i])):
            if source.rough:
                raise UnsupportedModelError(
                    f"KBinsDiscretizer with a column for each bin must not come after {source.changed_by}. "
                    "Use encode='ordinal', which gives the trees the same choices."
                )
            binned = source.through(step, i, len(outputs))
            outputs.append(dataclasses.replace(binned, bin=source.bin or (binned.stages, k)))
    return outputs


def _follow_encoder(step: Any, inputs: list[Source]) -> list[Source]:
    widths = step._n_features_outs if type(step) is OneHotEncoder else [1] * len(inputs)
    if type(step) is TargetEncoder and step.target_type_ == "multiclass":
        widths = [len(step.classes_)] * len(inputs)
    outputs: list[Source] = []
    for i, (source, width) in enumerate(zip(inputs, widths, strict=True)):
        if source.encoder is None:
            if source.changed_by:
                raise UnsupportedModelError(
                    f"{type(step).__name__} must encode values of the input. Got what {source.changed_by} makes of "
                    "them; explain the final estimator, on data as it sees it."
                )
            source = dataclasses.replace(source, encoder=(step, i))
        outputs += [source.through(step, i, len(outputs) + k) for k in range(width)]
    return outputs
