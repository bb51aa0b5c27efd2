"""scikit-learn pipelines: the final estimator's forest, carried back to the columns that people know.

Every column that the final estimator sees must come from one column of the input. Then a split of it is a split of that
column: a cut, if the column is numeric and its transforms never fall, or a set of categories. Where the cut lies is
asked of the transformers themselves, by bisection to the last float, and so is where each category and a missing value
go; no transform is recomputed here. A step that mixes columns, or whose rise cannot be relied on, is refused by name.

Numbers are float64, as in a frame or an array of floats. (Many transformers compute in float32 if all their input is.)
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import config_context
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from treeproof.errors import UnsupportedModelError
from treeproof.model.columns import LEAF, Column, Gap, Label, Missing, Rows
from treeproof.model.decision import Vote
from treeproof.model.floats import FLOAT32, FLOAT64, Floats
from treeproof.model.forest import Forest
from treeproof.model.importers import Function, xgboost
from treeproof.model.importers.pieces import Pieces, unfold
from treeproof.model.importers.rough import shifted, tried, twin
from treeproof.model.importers.selfcheck import boundary_rows, check_against, check_scores
from treeproof.model.importers.sklearn import require_fitted, sequential
from treeproof.model.importers.steps import Source, Stage, follow, is_idle
from treeproof.model.importers.tree_nodes import require_known
from treeproof.model.rows import is_missing

TAKES = "scikit-learn's Pipeline that ends in one of these"

_ROWS_AT_ONCE = 10_000
_MOST_AT_ONCE = 200_000
_MOST_TRIED = 1_000_000


def takes(model: Any) -> bool:
    """Return whether the model is a pipeline."""
    return isinstance(model, Pipeline)


def load(model: Any, vote: Vote | None) -> Forest:
    """Return the forest of a fitted pipeline, over the columns of its input."""
    from treeproof.model.importers import import_model

    require_fitted(model)
    steps, final = _flattened(model)
    inner = import_model(final, vote=vote)
    if not steps:
        return inner
    route = _route(steps, final, inner)
    forest = _carry_back(route)
    _check(forest, route, vote)
    return forest


def probability(model: Any) -> Callable[[float], float] | None:
    """Return what the final estimator's importer returns."""
    from treeproof.model.importers import probability_of

    return probability_of(_flattened(model)[1])


def decision(model: Any) -> Function | None:
    """Return what the final estimator's importer returns."""
    from treeproof.model.importers import decision_of

    return decision_of(_flattened(model)[1])


def link(model: Any) -> Function | None:
    """Return what the final estimator's importer returns."""
    from treeproof.model.importers import link_of

    return link_of(_flattened(model)[1])


def _flattened(model: Any) -> tuple[list[Any], Any]:
    """Return the transformers that predict runs through, and the final estimator, also of a pipeline in a pipeline."""
    from treeproof.model.importers import unwrapped

    steps: list[Any] = []
    while isinstance(model, Pipeline):
        require_known(model, "predict", [inspect.getattr_static(Pipeline, "predict")])
        steps += [part for _, step in model.steps[:-1] for part in _parts(step)]
        model = unwrapped(model.steps[-1][1])
    return steps, model


def _parts(step: Any) -> list[Any]:
    """Return the steps of a step that is a pipeline of its own; none, if it does nothing."""
    if type(step) is Pipeline:
        return [part for _, inner in step.steps for part in _parts(inner)]
    return [] if is_idle(step) else [step]


@dataclass(frozen=True, slots=True)
class _Input:
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
class _Route:
    """The way from the input's columns to those of the final estimator."""

    steps: Any
    model: Any
    inner: Forest
    sources: tuple[Source, ...]
    inputs: tuple[_Input, ...]
    used: frozenset[int]
    """Columns of the input that any step takes."""
    named: bool
    absent_is_missing: bool
    """Whether the final estimator takes what a sparse matrix does not hold for missing, as XGBoost does."""

    def with_input(self, j: int, seen: _Input) -> _Route:
        """Return the route with another view of one column of the input."""
        return dataclasses.replace(self, inputs=(*self.inputs[:j], seen, *self.inputs[j + 1 :]))

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
            else:
                columns[seen.name] = seen.values([*values, *(n - len(values)) * [seen.labels[0]]])
        if self.named:
            return _frame(columns)
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

    def predict(self, given: Mapping[int, Any]) -> Any:
        """Return what the pipeline predicts."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return self.model.predict(self.table(given))

    def predicts(self, given: Mapping[int, Any]) -> bool:
        """Return whether the pipeline takes such rows."""
        try:
            self.predict(given)
        except (ValueError, TypeError):
            return False
        return True

    def lost(self, j: int, row: Rows) -> bool:
        """Return whether the final estimator would meet a missing value of a column in a row, and takes none."""
        never = [o for o in self.outputs(j) if self.inner.columns[o].categories is None]
        return any(np.isnan(row[o]) and self.inner.columns[o].missing == "never" for o in never)

    def takes(self, given: Mapping[int, Any]) -> bool:
        """Return whether the pipeline takes a row with these values, in a way that is known."""
        if not self.predicts(given):
            return False
        try:
            row = self.seen(given)[0]
        except UnsupportedModelError:  # what is made of them is no category that the final estimator knows
            return False
        return not any(self.lost(j, row) for j in given)

    def goes_left(self, o: int, nodes: Any, seen: Any) -> npt.NDArray[np.bool_]:
        """Return, per value that the final estimator sees in its column o, and per node, whether it goes left."""
        inner, values = self.inner, np.asarray(seen)[:, None]
        if inner.columns[o].categories is None:
            return np.where(np.isnan(values), inner.missing_left[nodes], values <= inner.threshold[nodes])
        sets = [inner.subsets[s] for s in inner.subset[nodes].tolist()]
        return np.array(
            [[int(code) in chosen for chosen in sets] for code in np.asarray(seen).tolist()], dtype=np.bool_
        )


def _route(steps: list[Any], final: Any, inner: Forest) -> _Route:
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
    route = _Route(
        steps=Pipeline([(name, twin(step, partial(shifted, way=0))) for name, step in parts]),
        model=Pipeline([*parts, ("final", sequential(final))]),
        inner=inner,
        sources=tuple(sources),
        inputs=tuple(_input(name, j, sources, met, inner, named) for j, name in enumerate(names)),
        used=frozenset(source.column for source in [*met, *sources]),
        named=named,
        absent_is_missing=xgboost.takes(final),
    )
    route = _started(route)
    return _with_other(dataclasses.replace(route, inputs=tuple(_usable(route, j) for j in range(len(names)))))


def _input(name: str, j: int, sources: list[Source], met: list[Source], inner: Forest, named: bool) -> _Input:
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
        return _Input(name)
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
    return _Input(name, tuple(labels), dtype, None if none and dtype is None else math.nan)


def _usable(route: _Route, j: int) -> _Input:
    """Return a column of the input, with only those labels that the pipeline takes."""
    seen = route.inputs[j]
    if seen.labels is None:
        return seen
    labels = [label for label in seen.labels if label is not None]
    if not route.predicts({j: labels}):
        labels = [label for label in labels if route.predicts({j: [label]})]
    if not labels:
        raise UnsupportedModelError(f"Column {seen.name!r} must have a category that all steps take. It has none.")
    if None not in seen.labels:
        return dataclasses.replace(seen, labels=tuple(labels))
    known = dataclasses.replace(seen, labels=tuple(labels))
    forms = []
    for form in (seen.missing_as, None if seen.missing_as is not None else math.nan):
        as_this = dataclasses.replace(seen, labels=(*labels, None), missing_as=form)
        trial = route.with_input(j, as_this)
        if trial.takes({j: [None]}):
            forms.append((as_this, trial.seen({j: [None]})[0, route.outputs(j)]))
        if seen.dtype is not None:
            break  # an array of numbers, or of pandas' categories, has one kind of missing values
    if not forms:
        return known
    found, row = forms[0]
    if seen.dtype is None and not (len(forms) == 2 and np.array_equal(row, forms[1][1], equal_nan=True)):
        return dataclasses.replace(found, gap="None" if found.missing_as is None else "NaN")
    return found


def _with_other(route: _Route) -> _Route:
    """Return the route with a label for values that encoders do not know, in columns where the pipeline takes these.

    One of them answers for all: encoders treat them all alike. What passes no encoder might tell them apart.
    """
    named = {j: _named_other(seen) for j, seen in enumerate(route.inputs) if _may_have_other(route, j)}
    trial = dataclasses.replace(route, inputs=tuple(named.get(j, seen) for j, seen in enumerate(route.inputs)))
    asked = {j: [seen.other] for j, seen in named.items()}
    if not named or trial.takes(asked):
        return trial
    taken = [j for j in named if trial.takes({j: asked[j]})]
    inputs = [named[j] if j in taken else seen for j, seen in enumerate(route.inputs)]
    return dataclasses.replace(route, inputs=tuple(inputs))


def _may_have_other(route: _Route, j: int) -> bool:
    labels = [label for label in route.inputs[j].labels or () if label is not None]
    sources = [source for source in route.sources if source.column == j and not source.indicator]
    text = all(isinstance(label, str) for label in labels)
    numbers = not any(isinstance(label, str | bool) for label in labels)
    places = all(s.encoder and getattr(s.encoder[0], "handle_unknown", None) != "error" for s in sources)
    return len(labels) > 0 and (text or numbers) and places


def _named_other(seen: _Input) -> _Input:
    assert seen.labels is not None
    known = [label for label in seen.labels if label is not None]
    name = "other" if "other" not in known else "another value"
    while name in known:
        name += "?"
    return dataclasses.replace(seen, labels=(*known, name, *seen.labels[len(known) :]), other=name)


def _started(route: _Route) -> _Route:
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


def _last_taken(route: _Route, j: int, end: float) -> float:
    """Return the last number, on the way to an end, that the whole pipeline takes; most often the end itself.

    A step may refuse what a later one would repair.
    """
    if route.predicts({j: [end]}):
        return end
    first, last = _places(np.array([route.inputs[j].number, end])).tolist()
    while abs(last - first) > 1:
        middle = (first + last) // 2
        taken = route.predicts({j: _numbers(np.array([middle]))})
        first, last = (middle, last) if taken else (first, middle)
    return float(_numbers(np.array([first]))[0])


def _missing_taken(route: _Route) -> set[int]:
    """Return the numeric columns that may be missing: the pipeline predicts then, in a way that is known."""
    numeric = [j for j, seen in enumerate(route.inputs) if seen.labels is None]
    if not numeric:
        return set()
    alone = {
        j: [math.nan if i == k else route.inputs[j].number for k in range(len(numeric))] for i, j in enumerate(numeric)
    }
    try:
        rows = route.seen(alone)
    except (ValueError, TypeError):  # some step cannot even compute with a missing value
        one = {j: [math.nan] for j in numeric}
        return {j for j in numeric if route.predicts({j: one[j]}) and not route.lost(j, route.seen({j: one[j]})[0])}
    found = [j for j, row in zip(numeric, rows, strict=True) if not route.lost(j, row)]
    if found and not route.predicts({j: [math.nan] for j in found}):
        found = [j for j in found if route.predicts({j: [math.nan]})]
    return set(found)


def _carry_back(route: _Route) -> Forest:
    """Return the forest over the input's columns that predicts what the inner one does after the transforms."""
    inner = route.inner
    used = [j for j in range(len(route.inputs)) if j in route.used or not route.named]
    place = {j: i for i, j in enumerate(used)}
    cuts = _Cuts(route, [j for j in used if route.inputs[j].labels is None])
    columns = _columns(route, used, cuts.ranges())
    threshold, missing_left = inner.threshold.copy(), inner.missing_left.copy()
    feature, subset = inner.feature.copy(), np.full(inner.n_nodes, LEAF, dtype=np.int32)
    subsets: dict[frozenset[int], int] = {}
    tests: dict[int, Pieces] = {}
    importances = np.zeros(len(used))
    names = {j: columns[j].categories or () for j in used if columns[j].categories is not None}
    numeric = [j for j in used if columns[j].categories is None]
    named = route.seen(names)
    missing = route.seen({j: [math.nan] for j in numeric if columns[j].missing != "never"})
    for o, source in enumerate(route.sources):
        column = columns[source.column]
        importances[place[source.column]] += inner.importances[o]
        nodes = np.flatnonzero(inner.feature == o)
        feature[nodes] = place[source.column]
        if len(nodes) == 0:
            continue
        if column.categories is not None:
            sides = route.goes_left(o, nodes, named[: len(column.categories), o])
            chosen, which = np.unique(sides, axis=1, return_inverse=True)
            known = [subsets.setdefault(frozenset(np.flatnonzero(flags).tolist()), len(subsets)) for flags in chosen.T]
            subset[nodes] = np.array(known, dtype=np.int32)[which.ravel()]
            threshold[nodes], missing_left[nodes] = np.nan, False
            continue
        missing_left[nodes] = column.missing != "never" and route.goes_left(o, nodes, missing[:1, o])[0]
        threshold[nodes], in_pieces = cuts.tests(o, nodes)
        tests.update(in_pieces)
    forest = dataclasses.replace(
        inner,
        feature=feature,
        threshold=threshold,
        subset=subset,
        subsets=tuple(subsets),
        columns=tuple(columns[j] for j in used),
        importances=importances,
        missing_left=missing_left,
        dtype="float64",
    )
    too_large = (
        "The columns of KBinsDiscretizer, one for each bin, make trees too large here. "
        "Use encode='ordinal', which gives the trees the same choices."
    )
    return unfold(forest, tests, too_large) if tests else forest


def _columns(route: _Route, used: list[int], ranges: Mapping[int, tuple[float, float]]) -> dict[int, Column]:
    taken = _missing_taken(route)
    columns = {}
    for j in used:
        seen, outputs = route.inputs[j], route.outputs(j)
        made_for = any(route.sources[o].imputed or route.inner.columns[o].missing == "expected" for o in outputs)
        missing: Missing = "never" if j not in taken else "expected" if made_for or not outputs else "possible"
        low, high = ranges.get(j, (-math.inf, math.inf))
        columns[j] = seen.column(missing, low, high)
    return columns


class _Cuts:
    """Where numbers of the input's columns begin to go right, for all splits of the inner forest at once."""

    def __init__(self, route: _Route, numeric: list[int]) -> None:
        self.route, self.numeric, inner = route, numeric, route.inner
        columns = [o for j in numeric for o in route.outputs(j) if route.sources[o].bin is None]
        self.ends = {o: np.unique(inner.threshold[inner.feature == o]) for o in columns}
        limit = _FINITE_AS_FLOAT32 if inner.floats is FLOAT32 else FLOAT64.largest
        with np.errstate(over="ignore"):
            below = [-np.inf, np.nextafter(-limit, -np.inf)]
        # The first two and the last one are for what is not a finite number of the final estimator.
        ends = {
            o: np.concatenate([below, _rounded_up_to(values, inner.floats), [limit]]) for o, values in self.ends.items()
        }
        self.cuts = self._cuts(ends)
        self.flips = self._flips({o: values for o, values in ends.items() if route.sources[o].rough})
        # Numbers that are not where they should be in the order: parts of the line above the first end, up to the
        # second, and what the final estimator sees there, NaN if it takes that for missing.
        self.apart: dict[int, list[tuple[float, float, float]]] = {o: [] for o in self.ends}
        zeros = {}
        if route.absent_is_missing and np.isnan(route.made({})).any():
            zeros = self._cuts({o: np.array([-5e-324, 0.0]) for o in self.ends})
        for o, (low, high) in zeros.items():
            if low < high and np.isnan(route.made({route.sources[o].column: [high]})[0, o]):
                self.apart[o].append((float(low), float(high), math.nan))
        for o in self.ends:
            source, lost = route.sources[o], float(self.cuts[o][0])
            if self._taken_for_missing(o, lost):
                self.apart[o].append((-math.inf, lost, math.nan))
            for mark in source.marks:
                seen = float(route.seen({source.column: [mark]})[0, o])
                self.apart[o].append((float(np.nextafter(float(mark), -np.inf)), float(mark), seen))

    def ranges(self) -> dict[int, tuple[float, float]]:
        """Return from where to where the pipeline takes numbers of a column, of those where that is not everywhere.

        Final estimators refuse what is not finite: logarithms of 0, or numbers that overflow on the way.
        """
        ends = (-FLOAT64.largest, FLOAT64.largest)
        losing = any(source.losing for source in self.route.sources)
        if not losing and self.route.predicts(dict.fromkeys(self.numeric, ends)):
            return {}
        found = {}
        for j in self.numeric:
            low, high = ends
            for o in self.route.outputs(j):
                if o in self.cuts:
                    first, last = self.cuts[o][1], self.cuts[o][-1]
                    if not self._taken_for_missing(o, first):
                        low = max(low, float(np.nextafter(first, np.inf)))
                    high = min(high, float(last))
            found[j] = (low, high)
        for side in (0, 1):
            if not self.route.predicts({j: [pair[side]] for j, pair in found.items()}):
                for j in self.numeric:
                    end = _last_taken(self.route, j, found[j][side])
                    found[j] = (found[j][0], end) if side else (end, found[j][1])
        return {j: pair for j, pair in found.items() if pair != ends}

    def _taken_for_missing(self, o: int, number: float) -> bool:
        """Return whether numbers up to this one become missing values that the final estimator takes."""
        source = self.route.sources[o]
        if not source.losing or self.route.inner.columns[o].missing == "never" or number == -math.inf:
            return False
        return bool(np.isnan(self.route.made({source.column: [number]})[0, o]))

    def _flips(self, ends: Mapping[int, npt.NDArray[Any]]) -> dict[int, dict[int, list[float]]]:
        """Return, per column with a rough step and end, the last number of each piece, if there are more than two.

        The first piece is not made larger than the end, the second one is, and so on. Where there are two, `cuts` says
        where the first one ends, exactly from now on.
        """
        if not ends:
            return {}
        up, down = (self._cuts(ends, twin(self.route.steps, partial(shifted, way=way))) for way in (1, -1))
        careful = twin(self.route.steps, tried)
        found: dict[int, dict[int, list[float]]] = {}
        for o, values in ends.items():
            source, found[o] = self.route.sources[o], {}
            first, last = _places(up[o]), _places(down[o])
            widths = last - first
            widths[[0, 1, -1]] = 0
            if (widths < 0).any():  # some number is below an end and above it: the error is larger than it can be
                raise UnsupportedModelError(
                    f"{source.changed_by} must rise, but for a few units in the last place. It does not on this "
                    "machine; leave that step out and train again, which gives the trees the same choices."
                )
            self.cuts[o][[1, -1]] = down[o][1], up[o][-1]  # what may be too large is left out
            if widths.sum() > _MOST_TRIED:
                name = self.route.inputs[source.column].name
                raise UnsupportedModelError(
                    f"{source.changed_by} must not be almost flat where the model splits column {name!r}, around "
                    f"{_numbers(first)[np.argmax(widths)]}: too many numbers would have to be tried there. Leave that "
                    "step out and train again, which gives the trees the same choices; or explain the final estimator, "
                    "on data as it sees it."
                )
            starts = np.cumsum(widths) - widths
            places = np.repeat(first - starts, widths) + np.arange(widths.sum()) + 1
            above = np.zeros(len(places), dtype=bool)
            for start in range(0, len(places), _MOST_AT_ONCE):
                part = slice(start, start + _MOST_AT_ONCE)
                made = self.route.made({source.column: _numbers(places[part])}, absent=False, steps=careful)[:, o]
                above[part] = made > np.repeat(values, widths)[part]
            for i in np.flatnonzero(widths):
                sides = np.concatenate([[False], above[starts[i] : starts[i] + widths[i]], [True]])
                flips = _numbers(first[i] + np.flatnonzero(sides[1:] != sides[:-1])).tolist()
                self.cuts[o][i] = flips[0]
                if len(flips) > 1:
                    found[o][int(i)] = flips
        return found

    def _cuts(self, ends: Mapping[int, npt.NDArray[Any]], steps: Any = None) -> dict[int, npt.NDArray[np.float64]]:
        """Return, per column of the inner forest and end, the largest number of which nothing above it is made."""

        def made(numbers: Mapping[int, npt.NDArray[Any]]) -> dict[int, npt.NDArray[np.float64]]:
            given: dict[int, list[npt.NDArray[Any]]] = {}
            places = {}
            for o, values in numbers.items():  # what is made of one column of the input is asked in different rows
                source, asked = self.route.sources[o], values
                for mark in source.marks:  # it has no place in the order, so its neighbour answers for it
                    asked = np.where(asked == mark, np.nextafter(float(mark), -np.inf), asked)
                before = given.setdefault(source.column, [])
                start = sum(len(part) for part in before)
                places[o] = slice(start, start + len(values))
                before.append(asked)
            rows = self.route.made({j: np.concatenate(parts) for j, parts in given.items()}, absent=False, steps=steps)
            return {o: rows[places[o], o] for o in numbers}

        return _invert(made, ends)

    def tests(self, o: int, nodes: Any) -> tuple[npt.NDArray[np.float64], dict[int, Pieces]]:
        """Return thresholds of the nodes that split the inner forest's column o, and what takes more than a threshold.

        Those are tests of several pieces of the input's numbers.
        """
        inner = self.route.inner
        if self.route.sources[o].bin is not None:
            found = dict(zip(nodes.tolist(), self._of_bin(o, nodes), strict=True))
        else:
            which = np.searchsorted(self.ends[o], inner.threshold[nodes])
            cuts, flips = self.cuts[o][2:-1][which], self.flips.get(o, {})
            apart = sorted(self.apart[o])
            if not apart and not flips:
                return cuts, {}
            sides = self.route.goes_left(o, nodes, [seen for *_, seen in apart] or [0.0])
            found = {}
            for node, i, cut, flags in zip(
                nodes.tolist(), which.tolist(), cuts.tolist(), sides.T.tolist(), strict=True
            ):
                ways = flips.get(i + 2, [cut])
                ends = sorted({*ways, *(end for low, high, _ in apart for end in (low, high))})
                left = [
                    next(
                        (flag for (low, high, _), flag in zip(apart, flags, strict=False) if low < x <= high),
                        sum(end < x for end in ways) % 2 == 0,
                    )
                    for x in [*ends, math.inf]
                ]
                found[node] = Pieces.of(ends, left)
        thresholds, in_pieces = [], {}
        for node, test in found.items():
            if len(test.cuts) == 0:
                thresholds.append(FLOAT64.largest if test.left[0] else -math.inf)
                continue
            thresholds.append(test.cuts[0])
            if test.left != (True, False):
                in_pieces[node] = test
        return np.array(thresholds), in_pieces

    def _of_bin(self, o: int, nodes: Any) -> list[Pieces]:
        """Return the tests of a column that tells whether a number is in a certain bin."""
        found = self.route.sources[o].bin
        assert found is not None
        stages, k = found
        *before, (step, place, _) = stages
        edges = step.bin_edges_[place][1:-1]

        def bins(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
            reached = _replay(before, numbers.ravel()).reshape(numbers.shape)
            return np.searchsorted(edges, np.where(np.isnan(reached), -np.inf, reached), side="right")

        key = (id(step), place)
        if key not in self._edges:
            last = np.arange(len(edges), dtype=np.float64)
            self._edges[key] = _invert(lambda asked: {0: bins(asked[0]).astype(np.float64)}, {0: last})[0]
        edges_seen = np.where(self._edges[key] < FLOAT64.largest, self._edges[key], np.inf)  # some bins have no number
        cuts = np.concatenate([[-np.inf], edges_seen, [np.inf]])
        points = np.unique(np.concatenate([[0.0], cuts[1:-1], np.nextafter(cuts[1:-1], np.inf)]))
        points = points[np.abs(points) < FLOAT64.largest]
        inside = bins(points) == k
        seen = self.route.seen({self.route.sources[o].column: points.tolist()})[:, o]
        sides = {}
        for side in (True, False):
            values = np.unique(seen[inside == side])
            if len(values) > 1:
                raise UnsupportedModelError("KBinsDiscretizer must give each bin its own column. It does not.")
            left = self.route.goes_left(o, nodes, values if len(values) else [0.0])[0]
            sides[side] = left.tolist()
        low, high = cuts[k], cuts[k + 1]
        return [
            Pieces.of([low, high], [outside, within, outside])
            for within, outside in zip(sides[True], sides[False], strict=True)
        ]

    @cached_property
    def _edges(self) -> dict[tuple[int, int], npt.NDArray[Any]]:
        return {}


def _replay(stages: Sequence[Stage], numbers: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return what becomes of numbers of one column in these steps, asked of the steps themselves."""
    for step, before, after in stages:
        matrix = np.zeros((len(numbers), step.n_features_in_))
        matrix[:, before] = numbers
        names = getattr(step, "feature_names_in_", None)
        table = matrix if names is None else _frame(dict(zip(names, matrix.T, strict=True)))
        with warnings.catch_warnings(), np.errstate(all="ignore"), config_context(assume_finite=True):
            warnings.simplefilter("ignore")
            found = step.transform(table)
        found = found.toarray() if hasattr(found, "toarray") else found
        numbers = np.asarray(found)[:, after].astype(np.float64)
    return numbers


_FINITE_AS_FLOAT32 = float(np.nextafter(FLOAT32.largest + 2.0**103, 0.0))
"""The largest float64 that is finite as a float32; from half a step above the largest one, numbers become infinite."""


def _rounded_up_to(ends: npt.NDArray[Any], floats: Floats) -> npt.NDArray[np.float64]:
    """Return, for each end, the largest float64 that is not above it when it is one of these floats; inf, if all are.

    >>> _rounded_up_to(np.array([1.0, 0.1]), FLOAT32)
    array([1.00000006, 0.1       ])
    """
    if floats is not FLOAT32:
        return np.where(ends >= FLOAT64.largest, np.inf, ends)
    with np.errstate(over="ignore"):
        below = FLOAT32.at_most(ends)
        above = FLOAT32.after(below)
        middle = below / 2 + above / 2  # both have 24 bits, so this is exact
        above_it = middle.astype(np.float32).astype(np.float64) > below  # a tie goes to the even one
    found = np.where(above_it, np.nextafter(middle, -np.inf), middle)
    return np.where(ends >= FLOAT32.largest, np.inf, np.where(ends < -FLOAT32.largest, -np.inf, found))


def _invert(
    made: Callable[[Mapping[int, npt.NDArray[Any]]], Mapping[int, npt.NDArray[Any]]],
    ends: Mapping[int, npt.NDArray[Any]],
) -> dict[int, npt.NDArray[np.float64]]:
    """Return, for each of several functions that never fall, and each end, the largest float64 that is not made larger.

    That is -inf if all are, and the largest number if none is; NaN counts as below all ends. Of a function that falls
    here and there, it is a number that is not made larger than the end, while the next one is.

    All functions are asked at once, each for many numbers, as steps cost more than rows do. A number is looked for
    where the straight line between its neighbours would have it, and evenly between them in the order of all floats.
    """
    grid = np.concatenate([[-FLOAT64.largest], _numbers(_GRID), [FLOAT64.largest]])
    first = made(dict.fromkeys(ends, grid))
    low, high, made_low, made_high, found = {}, {}, {}, {}, {}
    for o, goals in ends.items():
        values = np.fmax.accumulate(np.where(np.isnan(first[o]), -np.inf, first[o]))
        after = np.searchsorted(values, goals, side="right")
        found[o] = np.where(after == 0, -np.inf, FLOAT64.largest)
        inside = (after > 0) & (after < len(grid))
        before = np.where(inside, after - 1, 0)
        low[o] = np.where(inside, _places(grid[before]), 0)
        high[o] = np.where(inside, _places(grid[before + 1]), 0)
        made_low[o], made_high[o] = values[before], values[before + 1]
    while True:
        open_ = {o: np.flatnonzero(high[o] - low[o] > 1) for o in ends}
        ways = min(255, 1 + _ROWS_AT_ONCE // max(1, sum(len(at) for at in open_.values())))
        asked = {}
        for o, at in open_.items():
            if len(at) > 0:
                bracket = (low[o][at], high[o][at], made_low[o][at], made_high[o][at])
                asked[o] = _candidates(*bracket, ends[o][at], n=ways)
        if not asked:
            break
        answers = made({o: _numbers(places).ravel() for o, places in asked.items()})
        for o, places in asked.items():
            at = open_[o]
            values = np.where(np.isnan(answers[o]), -np.inf, answers[o]).reshape(places.shape)
            values = np.hstack([made_low[o][at, None], values, made_high[o][at, None]])
            places = np.hstack([low[o][at, None], places, high[o][at, None]])
            past = np.argmax(values > ends[o][at, None], axis=1)[:, None]  # the first one is not, the last one is
            for place, value, step in ((low, made_low, past - 1), (high, made_high, past)):
                place[o][at] = np.take_along_axis(places, step, axis=1)[:, 0]
                value[o][at] = np.take_along_axis(values, step, axis=1)[:, 0]
    return {o: np.where(low[o] == high[o], found[o], _numbers(low[o])) for o in ends}


def _candidates(
    low: npt.NDArray[np.int64],
    high: npt.NDArray[np.int64],
    made_low: npt.NDArray[Any],
    made_high: npt.NDArray[Any],
    goal: npt.NDArray[Any],
    n: int,
) -> npt.NDArray[np.int64]:
    """Return places between two, in ascending order: some close to where a goal may be reached, and n even ones."""
    with np.errstate(all="ignore"):
        start, end = _numbers(low), _numbers(high)
        guess = start + (goal - made_low) / (made_high - made_low) * (end - start)
        guess = np.where((guess >= start) & (guess <= end), guess, start)
    even = low[:, None] + np.maximum(1, (high - low) // (n + 1))[:, None] * np.arange(1, n + 1)
    places = np.hstack([even, _places(guess)[:, None] + _AROUND])
    return np.sort(np.clip(places, low[:, None] + 1, high[:, None] - 1), axis=1)


def _places(values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the place of each float64 in the order of all of them; zero is at 0."""
    sizes = np.abs(np.asarray(values, dtype=np.float64)).view(np.int64)
    return np.where(np.signbit(values), -sizes, sizes)


def _numbers(places: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the float64 at each place."""
    sizes = np.abs(places).view(np.float64)
    return np.where(places < 0, -sizes, sizes)


_GRID = np.arange(-512, 513) * (_places(np.array(FLOAT64.largest)) // 512)
_AROUND = np.array([s * 2**k for k in (0, 5, 12, 24) for s in (1, -1)] + [0])


def _frame(columns: Mapping[str, Any]) -> Any:
    """Return a frame that keeps None and NaN apart."""
    try:
        import pandas as pd
    except ImportError:  # the model was trained with a frame of another library
        import polars

        return polars.DataFrame({name: [None if is_missing(v) else v for v in c] for name, c in columns.items()})
    return pd.DataFrame({name: pd.Series(c, dtype=c.dtype) for name, c in columns.items()})


def _check(forest: Forest, route: _Route, vote: Vote | None) -> None:
    """Compare the forest with the pipeline, and its sums with those of the final estimator's forest."""
    indices = {seen.name: j for j, seen in enumerate(route.inputs)}

    def given(rows: Rows) -> dict[int, list[Any]]:
        return {
            indices[column.name]: rows[:, i].tolist()
            if column.categories is None
            else [column.categories[int(code)] for code in rows[:, i]]
            for i, column in enumerate(forest.columns)
        }

    rows = boundary_rows(forest)
    if forest.sums is not None:
        check_scores(forest, lambda rows: route.inner.add(route.inner.route(route.seen(given(rows)))), rows)
    if vote is not None:
        return
    if forest.decision.cuts == ():
        check_scores(forest, lambda rows: route.predict(given(rows)), rows, link(route.model))
    else:
        check_against(forest, lambda rows: route.predict(given(rows)), rows)
