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
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import config_context
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from treeproof.errors import UnsupportedModelError
from treeproof.model.columns import LEAF, Column, Gap, Label, Missing, Rows
from treeproof.model.decision import Vote
from treeproof.model.floats import FLOAT64
from treeproof.model.forest import Forest
from treeproof.model.importers import Function, xgboost
from treeproof.model.importers.pieces import Pieces, unfold
from treeproof.model.importers.selfcheck import N_ROWS, boundary_rows, check_against, check_scores
from treeproof.model.importers.sklearn import require_fitted, sequential
from treeproof.model.importers.steps import Source, Stage, follow, is_idle
from treeproof.model.importers.tree_nodes import require_known
from treeproof.model.rows import is_missing

TAKES = "scikit-learn's Pipeline that ends in one of these"

_ROWS_AT_ONCE = 10_000
_REACH = 1e30
"""Rows of the check on import stay within this, as many models refuse larger numbers."""


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
        steps += [step for _, step in model.steps[:-1] if not is_idle(step)]
        model = unwrapped(model.steps[-1][1])
    return steps, model


@dataclass(frozen=True, slots=True)
class _Input:
    """A column of the input as the steps take it: numeric, or with labels, of which None stands for a missing value."""

    name: str
    labels: tuple[Label | None, ...] | None = None
    dtype: Any = None  # of a numpy array, or "category" of pandas
    missing_as: Any = math.nan
    gap: Gap = "either"

    def values(self, given: Sequence[Any]) -> Any:
        """Return values, numbers or labels, as the steps take them."""
        if self.labels is None:
            return np.array(given, dtype=np.float64)
        if self.dtype == "category":
            import pandas as pd

            return pd.Categorical(list(given), categories=[label for label in self.labels if label is not None])
        if self.dtype is None or any(value is None for value in given):
            found = np.empty(len(given), dtype=object)
            found[:] = [self.missing_as if value is None else value for value in given]
            return found
        return np.array(given, dtype=self.dtype)

    @property
    def default(self) -> Any:
        """A value that the steps take."""
        return 0.0 if self.labels is None else self.labels[0]


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

    def outputs(self, j: int) -> list[int]:
        """Return the columns of the final estimator that are made of a column of the input."""
        return [o for o, source in enumerate(self.sources) if source.column == j]

    def table(self, given: Mapping[int, Sequence[Any]]) -> Any:
        """Return rows as the pipeline takes them; columns that are not given hold what is always taken."""
        n = max((len(values) for values in given.values()), default=1)
        columns = {}
        for j, seen in enumerate(self.inputs):
            values = list(given.get(j, ()))
            columns[seen.name] = seen.values(values + (n - len(values)) * [seen.default])
        if self.named:
            return _frame(columns)
        numbers = all(values.dtype != object for values in columns.values())
        return np.column_stack([values.astype(float if numbers else object) for values in columns.values()])

    def seen(self, given: Mapping[int, Sequence[Any]]) -> Rows:
        """Return what the final estimator sees, in its numbers; with categories by index, and NaN for missing."""
        return self.narrow(self.made(given))

    def narrow(self, made: Rows) -> Rows:
        """Return rows in the final estimator's numbers."""
        with np.errstate(over="ignore"):
            rows: Rows = made.astype(self.inner.floats.dtype)
        return np.clip(rows, -self.inner.floats.largest, self.inner.floats.largest)

    def made(self, given: Mapping[int, Sequence[Any]], *, absent: bool = True) -> Rows:
        """Return what the steps make of rows, as float64.

        With `absent` false, what a sparse matrix does not hold is 0 in any case.
        """
        # Numbers beyond the largest one may occur on the way. Steps that refuse them need not do so here.
        with warnings.catch_warnings(), np.errstate(all="ignore"), config_context(assume_finite=True):
            warnings.simplefilter("ignore")
            found = self.steps.transform(self.table(given))
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

    def predicts(self, given: Mapping[int, Sequence[Any]]) -> bool:
        """Return whether the pipeline takes such a row."""
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                self.model.predict(self.table(given))
        except (ValueError, TypeError):
            return False
        return True

    def lost(self, j: int, row: Rows) -> bool:
        """Return whether the final estimator would meet a missing value of a column in a row, and takes none."""
        never = [o for o in self.outputs(j) if self.inner.columns[o].categories is None]
        return any(np.isnan(row[o]) and self.inner.columns[o].missing == "never" for o in never)

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
        steps=Pipeline(parts),
        model=Pipeline([*parts, ("final", sequential(final))]),
        inner=inner,
        sources=tuple(sources),
        inputs=tuple(_input(name, j, sources, met, inner, named) for j, name in enumerate(names)),
        used=frozenset(source.column for source in [*met, *sources]),
        named=named,
        absent_is_missing=xgboost.takes(final),
    )
    return dataclasses.replace(route, inputs=tuple(_usable(route, j) for j in range(len(names))))


def _input(name: str, j: int, sources: list[Source], met: list[Source], inner: Forest, named: bool) -> _Input:
    """Return a column of the input: with labels if it is encoded anywhere, else numeric."""
    outputs = [(o, source) for o, source in enumerate(sources) if source.column == j]
    categories: list[Any] = []
    dtype: Any = None
    for encoder, place in dict.fromkeys(s.encoder for s in met if s.column == j and s.encoder is not None):
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
    # Where None and NaN are different categories, NaN is the missing value, and rows with None are refused.
    none = any(c is None for c in categories) and not any(is_missing(c) and c is not None for c in categories)
    none = none or any(
        type(step) is SimpleImputer and step.missing_values is None for o, s in outputs for step, *_ in s.stages
    )
    labels = dict.fromkeys(None if is_missing(c) else c for c in categories)
    if any(source.imputed for _, source in outputs):
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
        inputs = tuple(as_this if i == j else other for i, other in enumerate(route.inputs))
        trial = dataclasses.replace(route, inputs=inputs)
        if trial.predicts({j: [None]}):
            row = trial.seen({j: [None]})[0]
            if not trial.lost(j, row):
                forms.append((as_this, row[route.outputs(j)]))
        if seen.dtype is not None:
            break  # an array of numbers, or of pandas' categories, has one kind of missing values
    if not forms:
        return known
    found, row = forms[0]
    if seen.dtype is None and not (len(forms) == 2 and np.array_equal(row, forms[1][1], equal_nan=True)):
        return dataclasses.replace(found, gap="None" if found.missing_as is None else "NaN")
    return found


def _missing_taken(route: _Route) -> set[int]:
    """Return the numeric columns that may be missing: the pipeline predicts then, in a way that is known."""
    numeric = [j for j, seen in enumerate(route.inputs) if seen.labels is None]
    if not numeric:
        return set()
    alone = {j: [math.nan if i == k else 0.0 for k in range(len(numeric))] for i, j in enumerate(numeric)}
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
    columns = _columns(route, used)
    threshold, missing_left = inner.threshold.copy(), inner.missing_left.copy()
    feature, subset = inner.feature.copy(), np.full(inner.n_nodes, LEAF, dtype=np.int32)
    subsets: dict[frozenset[int], int] = {}
    tests: dict[int, Pieces] = {}
    importances = np.zeros(len(used))
    names = {j: columns[j].categories or () for j in used if columns[j].categories is not None}
    numeric = [j for j in used if columns[j].categories is None]
    named = route.seen(names)
    missing = route.seen({j: [math.nan] for j in numeric if columns[j].missing != "never"})
    cuts = _Cuts(route, numeric)
    for o, source in enumerate(route.sources):
        column = columns[source.column]
        importances[place[source.column]] += inner.importances[o]
        nodes = np.flatnonzero(inner.feature == o)
        feature[nodes] = place[source.column]
        if len(nodes) == 0:
            continue
        if column.categories is not None:
            sides = route.goes_left(o, nodes, named[: len(column.categories), o])
            for node, flags in zip(nodes.tolist(), sides.T, strict=True):
                chosen = frozenset(np.flatnonzero(flags).tolist())
                subset[node] = subsets.setdefault(chosen, len(subsets))
            threshold[nodes], missing_left[nodes] = np.nan, False
            continue
        missing_left[nodes] = column.missing != "never" and route.goes_left(o, nodes, missing[:1, o])[0]
        for node, test in zip(nodes.tolist(), cuts.tests(o, nodes), strict=True):
            if len(test.cuts) == 0:
                threshold[node] = FLOAT64.largest if test.left[0] else -math.inf
            else:
                threshold[node] = test.cuts[0]
                if test.left != (True, False):
                    tests[node] = test
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


def _columns(route: _Route, used: list[int]) -> dict[int, Column]:
    taken = _missing_taken(route)
    columns = {}
    for j in used:
        seen, outputs = route.inputs[j], route.outputs(j)
        made_for = any(route.sources[o].imputed or route.inner.columns[o].missing == "expected" for o in outputs)
        missing: Missing = "never" if j not in taken else "expected" if made_for else "possible"
        columns[j] = Column(seen.name, seen.labels, missing, gap=seen.gap)
    return columns


class _Cuts:
    """Where numbers of the input's columns begin to go right, for all splits of the inner forest at once."""

    def __init__(self, route: _Route, numeric: list[int]) -> None:
        self.route, inner = route, route.inner
        columns = [o for j in numeric for o in route.outputs(j) if route.sources[o].bin is None]
        ends = {o: np.unique(inner.threshold[inner.feature == o]) for o in columns}
        ends = {o: np.append(-np.inf, values) for o, values in ends.items() if len(values)}
        found = self._cuts(ends, route.narrow)
        self.cuts = {o: dict(zip(ends[o].tolist(), cuts.tolist(), strict=True)) for o, cuts in found.items()}
        zeros = {}
        if route.absent_is_missing and np.isnan(route.made({})).any():
            zeros = self._cuts({o: np.array([-5e-324, 0.0]) for o in ends}, lambda made: made)
        # Numbers that become missing: those below a square root, and those that a sparse matrix does not hold.
        self.lost = {o: [(-math.inf, cuts[-math.inf])] for o, cuts in self.cuts.items() if route.sources[o].root}
        for o, (low, high) in zeros.items():
            if low < high and np.isnan(route.made({route.sources[o].column: [high]})[0, o]):
                self.lost.setdefault(o, []).append((float(low), float(high)))

    def _cuts(
        self, ends: Mapping[int, npt.NDArray[Any]], narrow: Callable[[Rows], Rows]
    ) -> dict[int, npt.NDArray[np.float64]]:
        """Return, per column of the inner forest and end, the largest number that is not seen above that end."""
        column = {o: self.route.sources[o].column for o in ends}

        def reached(numbers: Mapping[int, npt.NDArray[Any]]) -> dict[int, npt.NDArray[np.bool_]]:
            given: dict[int, list[float]] = {}
            places = {}
            for o, values in numbers.items():  # what is made of one column of the input is asked in different rows
                asked = given.setdefault(column[o], [])
                places[o] = slice(len(asked), len(asked) + values.size)
                asked += values.ravel().tolist()
            seen = narrow(self.route.made(given, absent=False))
            return {o: ~(seen[places[o], o].reshape(numbers[o].shape) > ends[o][:, None]) for o in numbers}

        return _bisect(reached, {o: len(values) for o, values in ends.items()})

    def tests(self, o: int, nodes: Any) -> list[Pieces]:
        """Return, per node that splits the inner forest's column o, which numbers of the input go left."""
        if self.route.sources[o].bin is not None:
            return self._of_bin(o, nodes)
        inner, lost = self.route.inner, self.lost.get(o, [])
        tests = []
        for end, missing in zip(inner.threshold[nodes].tolist(), inner.missing_left[nodes].tolist(), strict=True):
            cut = self.cuts[o][end]
            ends = sorted({cut, *(x for pair in lost for x in pair)})
            sides = [missing if any(low < x <= high for low, high in lost) else x <= cut for x in [*ends, math.inf]]
            tests.append(Pieces.of(ends, sides))
        return tests

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
            last = np.arange(len(edges))[:, None]
            self._edges[key] = _bisect(lambda asked: {0: bins(asked[0]) <= last}, {0: len(edges)}).get(0, last[:, 0])
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


def _bisect(
    reached: Callable[[Mapping[int, npt.NDArray[Any]]], Mapping[int, npt.NDArray[np.bool_]]], sizes: Mapping[int, int]
) -> dict[int, npt.NDArray[np.float64]]:
    """Return, for each of several arrays of questions, the largest float64 that has not gone past each of them.

    That is -inf if all have, and the largest number if none has. `reached` is given some numbers for each question, and
    tells of each whether it has not gone past: true up to some number, and false behind it.
    """
    low = {o: np.full((n, 1), _place(-FLOAT64.largest), dtype=np.uint64) for o, n in sizes.items()}
    high = {o: np.full((n, 1), _place(FLOAT64.largest), dtype=np.uint64) for o, n in sizes.items()}
    if sum(sizes.values()) == 0:
        return {}
    never = {o: ~flags for o, flags in reached({o: _numbers(places) for o, places in low.items()}).items()}
    always = reached({o: _numbers(places) for o, places in high.items()})
    # Steps cost more than rows do, so each question is asked for many numbers at once.
    ways = np.arange(1, 1 + min(255, max(1, _ROWS_AT_ONCE // sum(sizes.values()))), dtype=np.uint64)
    while any((high[o] - low[o] > 1).any() for o in low):
        step = {o: np.maximum(1, (high[o] - low[o]) // np.uint64(len(ways) + 1)) for o in low}
        places = {o: np.minimum(low[o] + step[o] * ways, np.maximum(high[o] - 1, low[o])) for o in low}
        flags = reached({o: _numbers(places[o]) for o in low})
        for o, answers in flags.items():
            count = np.sum(answers, axis=1, keepdims=True)
            ends = np.hstack([low[o], places[o], high[o]])
            low[o], high[o] = np.take_along_axis(ends, count, axis=1), np.take_along_axis(ends, count + 1, axis=1)
    found = {o: np.where(always[o], FLOAT64.largest, np.where(never[o], -np.inf, _numbers(low[o]))) for o in low}
    return {o: cuts[:, 0] for o, cuts in found.items()}


_ZERO = np.uint64(2**63)


def _place(value: float) -> np.uint64:
    """Return the place of a float64 in the order of all of them; zero is in the middle."""
    size = np.abs(np.float64(value)).view(np.uint64)
    return _ZERO - size if value < 0 else _ZERO + size


def _numbers(places: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
    """Return the float64 at each place."""
    negative = places < _ZERO
    sizes = np.where(negative, _ZERO - places, places - _ZERO).view(np.float64)
    return np.where(negative, -sizes, sizes)


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

    rows = boundary_rows(forest, N_ROWS)
    numeric = [column.categories is None for column in forest.columns]
    rows[:, numeric] = np.clip(rows[:, numeric], -_REACH, _REACH)
    if forest.sums is not None:
        check_scores(forest, lambda rows: route.inner.add(route.inner.route(route.seen(given(rows)))), rows)
    if vote is not None:
        return
    if forest.decision.cuts == ():
        check_scores(forest, lambda rows: route.model.predict(route.table(given(rows))), rows, link(route.model))
    else:
        check_against(forest, lambda rows: route.model.predict(route.table(given(rows))), rows)
