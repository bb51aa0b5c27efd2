"""The space of inputs as users see it: features, their domains, and the cells into which the forest cuts them.

A cell is a set of values that no split of the forest distinguishes; the paper calls it an interval. The space turns a
row into cells, cells back into a concrete row, and a forest into a `CellForest`.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from treeproof.errors import InputError, did_you_mean
from treeproof.model.columns import FloatArray, Rows
from treeproof.model.forest import Forest
from treeproof.space.conditions import Condition
from treeproof.space.constraints import Constraint
from treeproof.space.domains import Cells, Clause, Domain
from treeproof.space.features import Feature, NumericFeature, ValueFeature

_MOST_CONDITIONS = 2**16  # that are kept of single cells: some megabytes


@dataclass(frozen=True, eq=False, slots=True)
class CellEnds:
    """The ends of the cells of all features, one feature after the other; those of feature f are from begins[f] on."""

    lows: FloatArray
    highs: FloatArray
    begins: npt.NDArray[np.intp]

    def nearest(self, cells: Cells, values: npt.NDArray[Any]) -> FloatArray:
        """Return the number of each cell that is nearest to the value beside it."""
        at, found = self.begins[:-1] + np.array(cells), values.astype(np.float64)
        low, high = self.lows[at], self.highs[at]
        return np.where(found < low, low, np.where(found > high, high, found))

    def between(self, low: FloatArray, high: FloatArray) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Return the first and the last cell of each feature that has a number between its ends."""
        first = self._count(lambda at: self.highs[at] < low)
        last = self._count(lambda at: self.lows[at] <= high) - 1
        return first, last

    def _count(self, is_before: Callable[[npt.NDArray[np.intp]], npt.NDArray[np.bool_]]) -> npt.NDArray[np.intp]:
        """Return, for each feature, how many of its cells come before the first for which that is false: by halves."""
        first, last = self.begins[:-1], self.begins[1:]
        while (first < last).any():
            middle = np.minimum((first + last) // 2, len(self.lows) - 1)
            before = is_before(middle) & (first < last)
            first, last = np.where(before, middle + 1, first), np.where(before, last, np.minimum(middle, last))
        return first - self.begins[:-1]


@dataclass(frozen=True, eq=False)
class Space:
    """The features of a forest and the cells into which the forest cuts them.

    Without declarations a numeric column is ``real`` (any finite number of the model's float type) and a
    categorical column of the forest is ``categorical``.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> space = tp.Explainer(forest).space
    >>> [(f.name, f.n_cells) for f in space.features]
    [('blocked-arteries', 2), ('good-blood-circulation', 2), ('chest-pain', 2), ('weight', 2)]
    """

    forest: Forest
    features: tuple[Feature, ...]
    constraints: tuple[Constraint, ...] = ()

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.features)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(feature.name for feature in self.features)

    @cached_property
    def importances(self) -> FloatArray:
        """Importance of each feature, the sum over its columns."""
        return np.array([self.forest.importances[list(feature.columns)].sum() for feature in self.features])

    def condition_in(self, f: int, domain: Domain) -> Condition:
        """Return the condition that a feature's value is in a domain."""
        if isinstance(domain, range) and len(domain) == 1:
            return self.condition_at(f, domain[0])
        return self.features[f].condition(domain)

    def condition_at(self, f: int, cell: int) -> Condition:
        """Return the condition that a feature's value is in one cell."""
        return self._conditions.get((f, cell)) or self._make_condition(f, cell)

    def conditions_at(self, features: Sequence[int], point: Cells) -> tuple[Condition, ...]:
        """Return the conditions that the values of features are in their cells of a point."""
        known = self._conditions
        return tuple([known.get((f, point[f])) or self._make_condition(f, point[f]) for f in features])

    def _make_condition(self, f: int, cell: int) -> Condition:
        if len(self._conditions) >= _MOST_CONDITIONS:
            self._conditions.clear()
        made = self._conditions[f, cell] = self.features[f].condition(range(cell, cell + 1))
        return made

    @cached_property
    def _conditions(self) -> dict[tuple[int, int], Condition]:
        return {}

    def index(self, feature: Any) -> int:
        """Return the index of a feature given by name or index."""
        return feature_index(feature, self.names)

    def cells(self, row: Rows) -> Cells:
        """Return the cell of each feature in which a row lies."""
        values = np.asarray(row).tolist()  # Python's own floats: indexing an array costs more than the search
        whole = self._whole
        if whole is not None and not math.isnan(sum(values)):
            return tuple(map(bisect_left, whole, values))
        return tuple(feature.cell(values) for feature in self.features)

    def cells_of(self, rows: Rows) -> Iterator[Cells]:
        """Yield what `cells` returns for each of many rows; its error is raised when it is the row's turn."""
        table = self.table_of(rows)
        fine = np.all(table >= 0, axis=1)
        for row, point, known in zip(rows, table.tolist(), fine.tolist(), strict=True):
            yield tuple(point) if known else self.cells(row)

    def table_of(self, rows: Rows) -> npt.NDArray[np.int32]:
        """Return the cell of each feature in which each row lies, -1 where there is none: found column by column."""
        numbers = rows.astype(np.float64)
        table = np.empty((self.n_features, len(rows)), dtype=np.int32)
        # Where every finite number lies in some cell, a look at its place is enough.
        columns = np.ascontiguousarray(numbers.T) if self._whole is not None and np.isfinite(numbers).all() else None
        for f, feature in enumerate(self.features):
            if columns is not None and isinstance(feature, NumericFeature):
                table[f] = feature.highs.searchsorted(columns[f])
            else:
                table[f] = feature.cells(numbers)
        return np.ascontiguousarray(table.T)

    @cached_property
    def _whole(self) -> list[Sequence[float]] | None:
        """The upper ends of all cells, if every feature is one column and may have every finite number."""
        ends: list[Sequence[float]] = []
        for j, feature in enumerate(self.features):
            if not isinstance(feature, NumericFeature) or feature.column != j or feature.kind != "real":
                return None
            limit, n = feature.floats.largest, len(feature.highs)
            if feature.lows[0] != -limit or feature.highs[-1] != limit or feature.cell_of(n - 1) != n - 1:
                return None
            ends.append(feature.ends)
        return ends if len(ends) == self.forest.n_columns else None

    @cached_property
    def cuts(self) -> CellEnds | None:
        """The ends of all cells in one table, if all features are columns of numbers, never missing."""
        numeric = [feature for feature in self.features if isinstance(feature, NumericFeature)]  # all of them
        if self._whole is None or any(feature.missing_cell is not None for feature in numeric):
            return None
        begins = np.cumsum([0, *(len(feature.highs) for feature in numeric)])
        return CellEnds(
            np.concatenate([feature.lows for feature in numeric]),
            np.concatenate([feature.highs for feature in numeric]),
            begins,
        )

    @cached_property
    def feature_of(self) -> list[int]:
        """The feature of each column."""
        found = {column: f for f, feature in enumerate(self.features) for column in feature.columns}
        return [found[column] for column in range(self.forest.n_columns)]

    def __repr__(self) -> str:
        return f"<Space: {self.n_features} features of {self.forest!r}>"

    def row(self, cells: Cells, near: Rows) -> Rows:
        """Return a row in the given cells, close to the row `near`; in a cell of `near` it keeps that value."""
        if self.cuts is not None and not np.isnan(near).any():
            return self.cuts.nearest(cells, near).astype(self.forest.floats.dtype)
        start: list[float] = np.asarray(near).tolist()  # Python's own floats, as in `cells`
        row = list(start)
        for feature, cell in zip(self.features, cells, strict=True):
            for column, value in zip(feature.columns, feature.values(cell, start), strict=True):
                row[column] = value
        return np.array(row, dtype=self.forest.floats.dtype)

    def observed(self, rows: Rows) -> dict[str | int, Sequence[Any]]:
        """Return the tightest bounds that contain the rows, in the form that `declare` takes."""
        if len(rows) == 0:
            raise InputError("There must be at least one observed row. Got none.")
        bounds: dict[str | int, Sequence[Any]] = {}
        for feature in self.features:
            values = rows[:, list(feature.columns)]
            if isinstance(feature, ValueFeature):
                cells = {feature.cell(row.tolist()) for row in np.unique(rows, axis=0)}
                bounds[feature.name] = [feature.labels[cell] for cell in sorted(cells)]
            elif not np.isnan(values).all():
                bounds[feature.name] = (float(np.nanmin(values)), float(np.nanmax(values)))
        return bounds

    @cached_property
    def clauses(self) -> tuple[tuple[int, Clause], ...]:
        """The constraints as clauses over cells, each with the index of its constraint."""
        return tuple(
            (i, clause) for i, constraint in enumerate(self.constraints) for clause in self._clauses_of(constraint)
        )

    def _clauses_of(self, constraint: Constraint) -> Iterator[Clause]:
        """Yield clauses that together say that at least one condition is true or one of `unless` false."""
        true_in: dict[int, frozenset[int]] = {}
        for condition, negated in [(c, True) for c in constraint.unless] + [(c, False) for c in constraint.conditions]:
            feature = self.features[condition.feature]
            cells = feature.satisfying(condition)
            if negated:
                cells = frozenset(range(feature.n_cells)) - cells
            true_in[condition.feature] = true_in.get(condition.feature, frozenset()) | cells
        if any(len(cells) == self.features[f].n_cells for f, cells in true_in.items()):
            return  # every input satisfies it
        # An ordered feature must avoid each gap between its cells: one clause for each choice of gaps.
        choices = [[(f, literals) for literals in self._literals(f, cells)] for f, cells in sorted(true_in.items())]
        for chosen in itertools.product(*choices):
            clause = tuple((f, domain) for f, literals in chosen for domain in literals)
            if not clause:
                raise InputError(
                    f"A constraint must be satisfiable. Got {constraint.text!r}, which no input satisfies."
                )
            yield clause

    def _literals(self, f: int, cells: frozenset[int]) -> list[list[Domain]]:
        """Return lists of domains: the cell is among `cells` iff each list has a domain that it lies in."""
        feature = self.features[f]
        n, missing = feature.n_cells, frozenset[int]()
        if not feature.ordered:
            if not (isinstance(feature, NumericFeature) and feature.apart):
                return [[cells] if cells else []]
            n, missing = n - 1, frozenset({n - 1})
        others = set(range(n)) - cells
        starts = sorted(cell for cell in others if cell - 1 not in others)
        ends = sorted(cell for cell in others if cell + 1 not in others)
        literals = [[range(start), range(end + 1, n)] for start, end in zip(starts, ends, strict=True)]
        if feature.ordered:
            return [[domain for domain in pair if len(domain) > 0] for pair in literals]
        # Missing values are in both domains or in neither. Where no number is excluded, they are.
        also = missing & cells
        sets = [[frozenset({*domain, *also}) for domain in pair] for pair in literals or [[range(n)]]]
        return [[domain for domain in pair if domain] for pair in sets]


def feature_index(feature: Any, names: Sequence[str]) -> int:
    """Return the index of a feature given by name or index."""
    if isinstance(feature, str):
        if feature in names:
            return names.index(feature)
        raise InputError(f"A feature must be one of {list(names)}. Got {feature!r}.{did_you_mean(feature, names)}")
    if isinstance(feature, int | np.integer) and not isinstance(feature, bool):
        if 0 <= feature < len(names):
            return int(feature)
        raise InputError(f"A feature index must be between 0 and {len(names) - 1}. Got {feature}.")
    raise InputError(f"A feature must be given by name or index. Got {feature!r}.")
