"""scikit-learn pipelines: the final estimator's forest, carried back to the columns that people know.

Every column that the final estimator sees must come from one column of the input. Then a split of it is a split of that
column: a cut, if the column is numeric and its transforms never fall, or a set of categories. Where the cut lies is asked
of the transformers themselves, by bisection to the last float, and so is where each category and a missing value go; no
transform is recomputed here. A step that mixes columns, or whose rise cannot be relied on, is refused by name.

Numbers are float64, as in a frame or an array of floats. (Many transformers compute in float32 if all their input is.)
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from treeproof.errors import UnsupportedModelError
from treeproof.floats import FLOAT64
from treeproof.forest import LEAF, Column, Forest, Label, Missing, Vote
from treeproof.importers.selfcheck import check_against, check_scores, decoded
from treeproof.importers.sklearn import require_fitted

TAKES = "scikit-learn's Pipeline that ends in one of these"

_SCALERS = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, Binarizer)
_ENCODERS = (OneHotEncoder, OrdinalEncoder)
# Correctly rounded, or exact: these never fall.
_RISING = {None, np.sqrt, np.floor, np.ceil, np.trunc, np.rint, np.float32, np.float64}


def takes(model: Any) -> bool:
    """Return whether the model is a pipeline."""
    return isinstance(model, Pipeline)


def load(model: Any, vote: Vote | None) -> Forest:
    """Return the forest of a fitted pipeline, over the columns of its input."""
    from treeproof.importers import import_model

    require_fitted(model)
    final = model.steps[-1][1]
    inner = import_model(final, vote=vote)
    if len(model.steps) == 1:
        return inner
    route = _Route.through(model)
    forest = _carry_back(inner, route)
    if forest.sums is not None:
        check_scores(forest, lambda rows: inner.add(inner.apply(route.transform(decoded(forest, rows, route.named, category=False)))))
    if vote is None and (forest.sums is None or forest.sums.cuts != ()):
        check_against(forest, lambda rows: model.predict(route.complete(decoded(forest, rows, route.named, category=False))))
    return forest


def probability(model: Any) -> Callable[[float], float] | None:
    """Return what the final estimator's importer returns."""
    from treeproof.importers import probability_of

    return probability_of(model.steps[-1][1])


@dataclass(frozen=True, slots=True)
class _Source:
    """Where a column of the final estimator comes from: a column of the input, and what it went through."""

    column: int
    encoder: tuple[Any, int] | None = None  # and the place of the column among those that it encodes
    imputed: bool = False


@dataclass(frozen=True, eq=False)
class _Route:
    """The way from the input's columns to those of the final estimator."""

    steps: Pipeline
    names: list[str]
    named: bool
    sources: list[_Source]

    @classmethod
    def through(cls, model: Pipeline) -> _Route:
        named = hasattr(model, "feature_names_in_")
        names = [str(n) for n in model.feature_names_in_] if named else [f"x{j}" for j in range(model.n_features_in_)]
        sources = [_Source(j) for j in range(len(names))]
        for _, step in model.steps[:-1]:
            sources = _follow(step, sources)
        return cls(model[:-1], names, named, sources)

    def complete(self, frame: Any) -> Any:
        """Return a frame with all columns of the input; those that nothing is made of are empty."""
        if not self.named:
            return frame
        return frame.reindex(columns=self.names)

    def transform(self, frame: Any) -> Any:
        """Return what the final estimator sees, as a dense array."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = self.steps.transform(self.complete(frame))
        found = found.toarray() if hasattr(found, "toarray") else found
        return found.to_numpy() if hasattr(found, "to_numpy") else np.asarray(found)


def _follow(step: Any, inputs: list[_Source]) -> list[_Source]:
    """Return the sources of a fitted step's output columns; UnsupportedModelError if one has several."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return inputs
    if isinstance(step, str) and step == "drop":
        return []
    if isinstance(step, Pipeline):
        for _, part in step.steps:
            inputs = _follow(part, inputs)
        return inputs
    if isinstance(step, ColumnTransformer):
        return _follow_columns(step, inputs)
    if isinstance(step, SelectorMixin):
        return [source for source, kept in zip(inputs, step.get_support(), strict=True) if kept]
    if type(step) in _SCALERS:
        return inputs
    if type(step) is SimpleImputer:
        return _follow_imputer(step, inputs)
    if type(step) is FunctionTransformer and step.func in _RISING:
        return inputs
    if type(step) is KBinsDiscretizer:
        widths = step.n_bins_ if step.encode != "ordinal" else np.ones(len(inputs), dtype=int)
        return [source for source, width in zip(inputs, widths, strict=True) for _ in range(width)]
    if type(step) in _ENCODERS:
        widths = step._n_features_outs if type(step) is OneHotEncoder else [1] * len(inputs)
        return [
            dataclasses.replace(source, encoder=source.encoder or (step, i))
            for i, (source, width) in enumerate(zip(inputs, widths, strict=True))
            for _ in range(width)
        ]
    name = type(step).__name__
    if isinstance(step, FunctionTransformer):
        name += f" of {getattr(step.func, '__name__', step.func)}"
    raise UnsupportedModelError(
        f"Every step of a pipeline must treat each column alone, in a way that can be followed exactly. Got {name}; "
        "explain the final estimator, on data as it sees it: Explainer(pipeline[-1]) and pipeline[:-1].transform(X)."
    )


def _follow_columns(step: ColumnTransformer, inputs: list[_Source]) -> list[_Source]:
    found: list[_Source | None] = [None] * sum(
        part.stop - part.start for name, part in step.output_indices_.items()
    )
    for (name, transformer, _), columns in zip(step.transformers_, _chosen(step), strict=True):
        part = step.output_indices_[name]
        outputs = _follow(transformer, [inputs[j] for j in columns])
        if len(outputs) != part.stop - part.start:
            raise UnsupportedModelError(
                f"The part {name!r} of a ColumnTransformer must have outputs that can be followed. "
                f"Expected {len(outputs)} columns, got {part.stop - part.start}."
            )
        found[part.start : part.stop] = outputs
    return [source for source in found if source is not None]


def _chosen(step: ColumnTransformer) -> list[list[int]]:
    """Return the input columns of each part, as places."""
    places = step._transformer_to_input_indices
    return [list(places[name]) for name, _, _ in step.transformers_]


def _follow_imputer(step: SimpleImputer, inputs: list[_Source]) -> list[_Source]:
    if step.add_indicator:
        raise UnsupportedModelError("SimpleImputer must not add indicators of missing values. Got add_indicator=True.")
    if not (isinstance(step.missing_values, float) and math.isnan(step.missing_values)) and step.missing_values is not None:
        raise UnsupportedModelError(f"SimpleImputer must replace NaN or None. Got missing_values={step.missing_values!r}.")
    empty = [isinstance(value, float) and math.isnan(value) for value in step.statistics_.tolist()]
    kept = [source for source, gone in zip(inputs, empty, strict=True) if not gone or step.keep_empty_features]
    return [dataclasses.replace(source, imputed=True) for source in kept]


def _carry_back(inner: Forest, route: _Route) -> Forest:
    """Return the forest over the input's columns that predicts what the inner one does after the transforms."""
    if len(route.sources) != inner.n_columns:
        raise UnsupportedModelError(
            f"The final estimator must see the columns that the steps make. It sees {inner.n_columns}, "
            f"they make {len(route.sources)}."
        )
    used = sorted({source.column for source in route.sources}) if route.named else list(range(len(route.names)))
    columns = {j: _column(inner, route, j) for j in used}
    place = {j: i for i, j in enumerate(used)}
    default = {
        columns[j].name: columns[j].categories[0] if columns[j].categories else 0.0  # type: ignore[index]
        for j in used
    }
    probe = _Probe(route, inner, default)
    threshold, missing_left = inner.threshold.copy(), inner.missing_left.copy()
    feature, subset = inner.feature.copy(), np.full(inner.n_nodes, LEAF, dtype=np.int32)
    subsets: dict[frozenset[int], int] = {}
    importances = np.zeros(len(used))
    for o, source in enumerate(route.sources):
        column = columns[source.column]
        importances[place[source.column]] += inner.importances[o]
        nodes = np.flatnonzero(inner.feature == o)
        feature[nodes] = place[source.column]
        if len(nodes) == 0:
            continue
        if column.categories is not None:
            goes_left = probe.categories(column, o, nodes)
            for node, flags in zip(nodes.tolist(), goes_left.T, strict=True):
                chosen = frozenset(np.flatnonzero(flags).tolist())
                subset[node] = subsets.setdefault(chosen, len(subsets))
            threshold[nodes] = np.nan
            missing_left[nodes] = False
            continue
        threshold[nodes] = probe.cuts(column, o, nodes)
        missing_left[nodes] = column.missing != "never" and probe.missing(column, o, nodes)
    return dataclasses.replace(
        inner,
        feature=feature,
        threshold=threshold,
        subset=subset,
        subsets=tuple(subsets),
        columns=tuple(columns[j] for j in used),
        importances=importances,
        missing_left=missing_left,
        numbers="float64",
    )


def _column(inner: Forest, route: _Route, j: int) -> Column:
    """Return a column of the input: categorical if it is encoded anywhere, else numeric."""
    name = route.names[j]
    outputs = [(o, source) for o, source in enumerate(route.sources) if source.column == j]
    encoders = [source.encoder for _, source in outputs if source.encoder is not None]
    imputed = any(source.imputed for _, source in outputs)
    if not encoders:
        if not outputs:
            return Column(name, missing="possible")
        kinds = {inner.columns[o].missing for o, _ in outputs}
        ways: list[Missing] = ["expected" if source.imputed else inner.columns[o].missing for o, source in outputs]
        missing: Missing = "never" if "never" in ways else "expected" if imputed or "expected" in kinds else "possible"
        return Column(name, missing=missing)
    labels: list[Label | None] = []
    for encoder, place in encoders:
        for category in encoder.categories_[place].tolist():
            gone = category is None or (isinstance(category, float) and math.isnan(category))
            if (None if gone else category) not in labels:
                labels.append(None if gone else category)
    if imputed and None not in labels:
        labels.append(None)
    return Column(name, tuple(labels))


@dataclass(frozen=True, eq=False)
class _Probe:
    """Asks the transformers where values of one column go at nodes of the inner forest, all other columns fixed."""

    route: _Route
    inner: Forest
    default: dict[str, Any]

    def goes_left(self, column: Column, o: int, values: Sequence[Any], nodes: Any) -> Any:
        """Return, per value and node, whether the value goes left; `nodes` is a row, or one row for each value."""
        seen = self.route.transform(self._frame(column, values))[:, o].astype(self.inner.floats.dtype)[:, None]
        missing = np.isnan(seen.astype(float))
        at = np.broadcast_to(nodes, (len(values), np.shape(nodes)[-1]))
        categories = self.inner.columns[o].categories
        if categories is None:
            return np.where(missing, self.inner.missing_left[at], seen <= self.inner.threshold[at])
        codes = [categories.index(None if math.isnan(v) else v) for v in seen[:, 0].tolist()]
        sets = self.inner.subsets
        return np.array([[c in sets[s] for s in self.inner.subset[row]] for c, row in zip(codes, at, strict=True)])

    def categories(self, column: Column, o: int, nodes: Any) -> Any:
        """Return, per category and node, whether the category goes left."""
        assert column.categories is not None
        return self.goes_left(column, o, column.categories, nodes)

    def missing(self, column: Column, o: int, nodes: Any) -> Any:
        """Return, per node, whether a missing value goes left."""
        return self.goes_left(column, o, [math.nan], nodes)[0]

    def cuts(self, column: Column, o: int, nodes: Any) -> Any:
        """Return, per node, the largest number that goes left, found by bisection over all float64 at once."""
        unique, inverse = np.unique(self.inner.threshold[nodes], return_inverse=True)
        first = np.array([nodes[np.flatnonzero(inverse == i)[0]] for i in range(len(unique))])

        def left(values: Any) -> Any:
            return self.goes_left(column, o, values.tolist(), first[:, None])[:, 0]

        low = np.full(len(first), _place(-FLOAT64.largest), dtype=object)
        high = np.full(len(first), _place(FLOAT64.largest), dtype=object)
        none, every = ~left(_numbers(low)), left(_numbers(high))
        while (high - low > 1).any():
            middle = (low + high) // 2
            goes = left(_numbers(middle))
            low, high = np.where(goes, middle, low), np.where(goes, high, middle)
        self._check_rise(column, o, first, low)
        cut = np.where(every, FLOAT64.largest, np.where(none, -np.inf, _numbers(low)))
        return cut[inverse]

    def _check_rise(self, column: Column, o: int, nodes: Any, low: Any) -> None:
        """Refuse transforms that fall: beside each cut, and far from it, smaller numbers must go left, larger right."""
        for step in (1, 2, 3, 64, 2**20, 2**40, 2**52):
            for sign in (-1, 1):
                places = np.clip(low + (sign > 0) + sign * (step - 1), _place(-FLOAT64.largest), _place(FLOAT64.largest))
                goes = self.goes_left(column, o, _numbers(places).tolist(), nodes[:, None])[:, 0]
                expected = places <= low
                inside = (low > _place(-FLOAT64.largest)) & (low < _place(FLOAT64.largest) - 1)
                if (inside & (goes != expected)).any():
                    raise UnsupportedModelError(
                        f"What is made of column {column.name!r} must never fall as it rises. It does; explain the final "
                        "estimator, on data as it sees it."
                    )

    def _frame(self, column: Column, values: Sequence[Any]) -> Any:
        """Return rows that differ in one column only, as the pipeline takes them."""
        given = [math.nan if value is None else value for value in values]
        data = {name: given if name == column.name else [value] * len(given) for name, value in self.default.items()}
        if not self.route.named:
            kind = float if all(isinstance(v, float | int) for v in self.default.values()) else object
            return np.array(list(data.values()), dtype=kind).T
        import pandas as pd

        return pd.DataFrame(data)


def _place(value: float) -> int:
    """Return the place of a float64 in the order of all of them."""
    bits = int(np.float64(value).view(np.int64))
    return bits if bits >= 0 else -(bits & 0x7FFFFFFFFFFFFFFF)


def _numbers(places: Any) -> Any:
    """Return the float64 at each place."""
    integers = np.array([abs(int(place)) for place in places], dtype=np.int64)
    return np.where(np.array([place < 0 for place in places]), -1.0, 1.0) * integers.view(np.float64)


