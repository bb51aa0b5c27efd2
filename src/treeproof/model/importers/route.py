"""The way from the columns of a pipeline's input to those of its final estimator, and what it takes on the way."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import config_context
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from treeproof.errors import UnsupportedModelError
from treeproof.model.columns import Column, Gap, Label, Missing, Rows
from treeproof.model.forest import Forest
from treeproof.model.importers import xgboost
from treeproof.model.importers.rough import shifted, twin
from treeproof.model.importers.sklearn import brief, sequential
from treeproof.model.importers.steps import Source, follow
from treeproof.model.rows import is_missing


@dataclass(frozen=True, slots=True)
class Input:
    """A column of the input as the steps take it: numeric, or with labels, of which None stands for a missing value."""

    name: str
    labels: tuple[Label | None, ...] | None = None
    dtype: Any = None  # of a numpy array, or "category" of pandas
    missing_as: Any = math.nan
    gap: Gap = "either"
    number: float = 0.0
    """Of a numeric column: one that the pipeline takes."""
    other: str | None = None
    """The label, if any, that stands for all values without a label."""

    def column(self, missing: Missing = "never", low: float = -math.inf, high: float = math.inf) -> Column:
        """Return the column of the forest."""
        return Column(
            self.name,
            self.labels,
            missing,
            gap=self.gap,
            other=self.other,
            low=low,
            high=high,
            other_expected=self.other is None,
        )

    def values(self, given: Sequence[Any]) -> Any:
        """Return labels as the steps take them."""
        assert self.labels is not None
        if self.dtype == "category":
            import pandas as pd

            return pd.Categorical(list(given), categories=[label for label in self.labels if label is not None])
        dtype = self.dtype
        if self.other is not None and self.other in given:
            unseen = self.column().unlisted()
            given = [unseen if value == self.other else value for value in given]
            dtype = dtype and np.array(given).dtype  # the column's own may be too narrow
        if dtype is None or any(value is None for value in given):
            found = np.empty(len(given), dtype=object)
            found[:] = [self.missing_as if value is None else value for value in given]
            return found
        return np.array(given, dtype=dtype)


@dataclass(frozen=True, eq=False)
class Route:
    """The way from the input's columns to those of the final estimator."""

    steps: Any
    model: Any
    brief: Any
    """Takes and refuses the rows that the model does, for less."""
    inner: Forest
    sources: tuple[Source, ...]
    inputs: tuple[Input, ...]
    used: frozenset[int]
    """Columns of the input that any step takes."""
    named: bool
    absent_is_missing: bool
    """Whether the final estimator takes what a sparse matrix does not hold for missing, as XGBoost does."""

    def outputs(self, j: int) -> list[int]:
        """Return the columns of the final estimator that are made of a column of the input."""
        return [o for o, source in enumerate(self.sources) if source.column == j]

    def table(self, given: Mapping[int, Any]) -> Any:
        """Return rows as the pipeline takes them; columns that are not given hold what is always taken."""
        n = max((len(values) for values in given.values()), default=1)
        columns = {}
        for j, seen in enumerate(self.inputs):
            values = given.get(j, ())
            if seen.labels is None:
                columns[seen.name] = np.full(n, seen.number)
                columns[seen.name][: len(values)] = values
            elif len(values):
                columns[seen.name] = seen.values([*values, *(n - len(values)) * [seen.labels[0]]])
            else:
                columns[seen.name] = seen.values(seen.labels[:1]).repeat(n)
        if self.named:
            return frame(columns)
        numbers = all(values.dtype != object for values in columns.values())
        return np.column_stack([values.astype(float if numbers else object) for values in columns.values()])

    def seen(self, given: Mapping[int, Any]) -> Rows:
        """Return what the final estimator sees, in its numbers; with categories by index, and NaN for missing."""
        return self.narrow(self.made(given))

    def narrow(self, made: Rows, *, clipped: bool = True) -> Rows:
        """Return rows in the final estimator's numbers, where infinite ones stand for numbers too large for it."""
        with np.errstate(over="ignore"):
            rows: Rows = made.astype(self.inner.floats.dtype)
        return np.clip(rows, -self.inner.floats.largest, self.inner.floats.largest) if clipped else rows

    def made(self, given: Mapping[int, Any], *, absent: bool = True, steps: Any = None) -> Rows:
        """Return what the steps, or these instead, make of rows, as float64.

        With `absent` false, what a sparse matrix does not hold is 0 in any case.
        """
        # Numbers beyond the largest one may occur on the way. Steps that refuse them need not do so here.
        with warnings.catch_warnings(), np.errstate(all="ignore"), config_context(assume_finite=True):
            warnings.simplefilter("ignore")
            found = (self.steps if steps is None else steps).transform(self.table(given))
        if hasattr(found, "toarray"):
            rows = found.toarray().astype(np.float64)
            if absent and self.absent_is_missing:
                held = found.tocoo()
                missing = np.ones(rows.shape, dtype=bool)
                missing[held.row, held.col] = False
                rows[missing] = np.nan
            return rows
        if isinstance(found, np.ndarray) and all(column.categories is None for column in self.inner.columns):
            return found.astype(np.float64)
        return np.column_stack([self._column(found, o) for o in range(self.inner.n_columns)])

    def _column(self, found: Any, o: int) -> Any:
        column = found.iloc[:, o].to_numpy() if hasattr(found, "iloc") else np.asarray(found[:, o])
        categories = self.inner.columns[o].categories
        if categories is None:
            return column.astype(np.float64)
        codes = {category: code for code, category in enumerate(categories)}
        labels = [None if is_missing(value) else value for value in column.tolist()]
        other = self.inner.columns[o].other
        unknown = [label for label in labels if label not in codes]
        if unknown and other is None:
            raise UnsupportedModelError(
                f"What the steps make of {self.inputs[self.sources[o].column].name!r} must be a category that the "
                f"final estimator knows. Got {unknown[0]!r}."
            )
        return np.array([codes[label if label in codes else other] for label in labels], dtype=np.float64)

    def predict(self, given: Mapping[int, Any], *, brief: bool = False) -> Any:
        """Return what the pipeline predicts."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return (self.brief if brief else self.model).predict(self.table(given))

    def predicts(self, given: Mapping[int, Any]) -> bool:
        """Return whether the pipeline takes such rows."""
        try:
            self.predict(given, brief=True)
        except (ValueError, TypeError):
            return False
        return True

    def lost(self, j: int, row: Rows) -> bool:
        """Return whether the final estimator would meet a missing value of a column in a row, and takes none."""
        never = [o for o in self.outputs(j) if self.inner.columns[o].categories is None]
        return any(np.isnan(row[o]) and self.inner.columns[o].missing == "never" for o in never)

    def taken(self, given: Mapping[int, Any]) -> Rows | None:
        """Return what the final estimator sees of a row with these values; None unless it is taken in a known way."""
        if not self.predicts(given):
            return None
        try:
            row: Rows = self.seen(given)[0]
        except UnsupportedModelError:  # what is made of them is no category that the final estimator knows
            return None
        return None if any(self.lost(j, row) for j in given) else row

    def goes_left(self, o: int, nodes: Any, seen: Any) -> npt.NDArray[np.bool_]:
        """Return, per value that the final estimator sees in its column o, and per node, whether it goes left."""
        inner, values = self.inner, np.asarray(seen)[:, None]
        if inner.columns[o].categories is None:
            return np.where(np.isnan(values), inner.missing_left[nodes], values <= inner.threshold[nodes])
        sets = [inner.subsets[s] for s in inner.subset[nodes].tolist()]
        return np.array(
            [[int(code) in chosen for chosen in sets] for code in np.asarray(seen).tolist()], dtype=np.bool_
        )


def find_route(steps: list[Any], final: Any, inner: Forest) -> Route:
    """Return the way through fitted steps; UnsupportedModelError if it cannot be followed."""
    names = getattr(steps[0], "feature_names_in_", None)
    named = names is not None
    names = [f"x{j}" for j in range(steps[0].n_features_in_)] if names is None else [str(name) for name in names]
    met: list[Source] = []
    sources = [Source(j) for j in range(len(names))]
    for step in steps:
        sources = follow(step, sources, met)
    if len(sources) != inner.n_columns:
        raise UnsupportedModelError(
            f"The final estimator must see the columns that the steps make. It sees {inner.n_columns}, "
            f"they make {len(sources)}."
        )
    parts = [(str(i), step) for i, step in enumerate(steps)]
    route = Route(
        steps=Pipeline([(name, twin(step, partial(shifted, way=0))) for name, step in parts]),
        model=Pipeline([*parts, ("final", sequential(final))]),
        brief=Pipeline([*parts, ("final", brief(final))]),
        inner=inner,
        sources=tuple(sources),
        inputs=tuple(_input(name, j, sources, met, inner, named) for j, name in enumerate(names)),
        used=frozenset(source.column for source in [*met, *sources]),
        named=named,
        absent_is_missing=xgboost.takes(final),
    )
    route = _started(route)
    return _with_other(_usable(route))


def _input(name: str, j: int, sources: list[Source], met: list[Source], inner: Forest, named: bool) -> Input:
    """Return a column of the input: with labels if it is encoded anywhere, else numeric."""
    outputs = [(o, source) for o, source in enumerate(sources) if source.column == j]
    passed = [source for source in (*met, *sources) if source.column == j]
    categories: list[Any] = []
    dtype: Any = None
    for encoder, place in dict.fromkeys(s.encoder for s in passed if s.encoder is not None and not s.indicator):
        categories += encoder.categories_[place].tolist()
        dtype = encoder.categories_[place].dtype
    for o, source in outputs:
        native = inner.columns[o].categories
        if native is None or source.encoder is not None:
            continue
        if source.changed_by:
            raise UnsupportedModelError(
                f"The final estimator takes {name!r} for categories, so they must be values of the input. "
                f"Got what {source.changed_by} makes of them."
            )
        categories += [category for category in native if category is None or category != inner.columns[o].other]
        dtype = "category" if named else None
    if not categories:
        return Input(name)
    odd = next((c for c in categories if not is_missing(c) and not isinstance(c, str | int | float)), None)
    if odd is not None:
        raise UnsupportedModelError(
            f"Categories must be text, numbers or booleans. Got {odd!r} in column {name!r}; convert it before the "
            "pipeline: a date with toordinal(), anything else with str()."
        )
    for source in passed:
        categories += source.marks
    # Where None and NaN are different categories, NaN is the missing value, and rows with None are refused.
    none = any(c is None for c in categories) and not any(is_missing(c) and c is not None for c in categories)
    none = none or any(
        type(step) is SimpleImputer and step.missing_values is None for source in passed for step, *_ in source.stages
    )
    labels = dict.fromkeys(None if is_missing(c) else c for c in categories)
    if any(source.imputed for source in passed):
        labels[None] = None
    if dtype != "category" and (dtype is None or dtype.kind not in "biuf"):
        dtype = None
    return Input(name, tuple(labels), dtype, None if none and dtype is None else math.nan)


def _usable(route: Route) -> Route:
    """Return the route with only those labels of the input's columns that the pipeline takes."""
    encoded = {j: seen for j, seen in enumerate(route.inputs) if seen.labels is not None}
    labels = _taken_labels(route, {j: [v for v in seen.labels or () if v is not None] for j, seen in encoded.items()})
    found = {j: dataclasses.replace(seen, labels=tuple(labels[j])) for j, seen in encoded.items()}
    gaps = {
        j: dataclasses.replace(seen, labels=(*labels[j], None))
        for j, seen in encoded.items()
        if None in (seen.labels or ())
    }
    first = _taken_gaps(route, gaps)
    # An array of numbers, or of pandas' categories, has one kind of missing values.
    others = {j: _other_gap(seen) for j, seen in gaps.items() if seen.dtype is None}
    second = _taken_gaps(route, others)
    for j in {**first, **second}:
        seen = gaps[j] if j in first else others[j]
        both = j in first and j in second and np.array_equal(first[j], second[j], equal_nan=True)
        if seen.dtype is None and not both:
            seen = dataclasses.replace(seen, gap="None" if seen.missing_as is None else "NaN")
        found[j] = seen
    return dataclasses.replace(route, inputs=tuple(found.get(j, seen) for j, seen in enumerate(route.inputs)))


def _other_gap(seen: Input) -> Input:
    return dataclasses.replace(seen, missing_as=None if seen.missing_as is not None else math.nan)


def _taken_labels(route: Route, labels: dict[int, list[Any]]) -> dict[int, list[Any]]:
    """Return, of the labels of each column, those that the pipeline takes: asked of all at once, then of each."""
    found = labels
    if labels and not route.predicts(labels):
        found = {
            j: given if route.predicts({j: given}) else [one for one in given if route.predicts({j: [one]})]
            for j, given in labels.items()
        }
    for j, given in found.items():
        if not given:
            name = route.inputs[j].name
            raise UnsupportedModelError(f"Column {name!r} must have a category that all steps take. It has none.")
    return found


def _taken_gaps(route: Route, asked: dict[int, Input]) -> dict[int, Rows]:
    """Return, per column whose missing values the pipeline takes, what the final estimator sees of one."""
    trial = dataclasses.replace(route, inputs=tuple(asked.get(j, seen) for j, seen in enumerate(route.inputs)))
    row = trial.taken({j: [None] for j in asked}) if asked else None
    if row is not None:
        return {j: row[route.outputs(j)] for j in asked}
    if len(asked) < 2:
        return {}
    return {j: row for one in asked for j, row in _taken_gaps(route, {one: asked[one]}).items()}


def _with_other(route: Route) -> Route:
    """Return the route with a label for values that encoders do not know, in columns where the pipeline takes these.

    One of them answers for all: encoders treat them all alike. What passes no encoder might tell them apart.
    """
    named = {j: _named_other(seen) for j, seen in enumerate(route.inputs) if _may_have_other(route, j)}
    trial = dataclasses.replace(route, inputs=tuple(named.get(j, seen) for j, seen in enumerate(route.inputs)))
    asked = {j: [seen.other] for j, seen in named.items()}
    if not named or trial.taken(asked) is not None:
        return trial
    taken = [j for j in named if trial.taken({j: asked[j]}) is not None]
    inputs = [named[j] if j in taken else seen for j, seen in enumerate(route.inputs)]
    return dataclasses.replace(route, inputs=tuple(inputs))


def _may_have_other(route: Route, j: int) -> bool:
    labels = [label for label in route.inputs[j].labels or () if label is not None]
    sources = [source for source in route.sources if source.column == j and not source.indicator]
    text = all(isinstance(label, str) for label in labels)
    numbers = not any(isinstance(label, str | bool) for label in labels)
    places = all(s.encoder and getattr(s.encoder[0], "handle_unknown", None) != "error" for s in sources)
    return len(labels) > 0 and (text or numbers) and places


def _named_other(seen: Input) -> Input:
    assert seen.labels is not None
    known = [label for label in seen.labels if label is not None]
    name = "other" if "other" not in known else "another value"
    while name in known:
        name += "?"
    return dataclasses.replace(seen, labels=(*known, name, *seen.labels[len(known) :]), other=name)


def _started(route: Route) -> Route:
    """Return the route with a number for each numeric column that the pipeline takes."""
    if route.predicts({}):
        return route
    numeric = [j for j, seen in enumerate(route.inputs) if seen.labels is None]
    tried = np.array([1.0, 0.0, 0.5, *(s * 2.0**k for k in range(-30, 61) for s in (1.0, -1.0))])
    made = route.narrow(route.made(dict.fromkeys(numeric, tried), absent=False), clipped=False)
    inputs = list(route.inputs)
    for j in numeric:
        good = np.isfinite(made[:, route.outputs(j)]).all(axis=1)
        if good.any():
            inputs[j] = dataclasses.replace(inputs[j], number=float(tried[np.argmax(good)]))
    return dataclasses.replace(route, inputs=tuple(inputs))


def frame(columns: Mapping[str, Any]) -> Any:
    """Return a frame that keeps None and NaN apart."""
    try:
        import pandas as pd
    except ImportError:  # the model was trained with a frame of another library
        import polars

        return polars.DataFrame({name: [None if is_missing(v) else v for v in c] for name, c in columns.items()})
    return pd.DataFrame({name: pd.Series(c, dtype=c.dtype) for name, c in columns.items()})
