"""The space of inputs as people see it: features, their domains, and the cells into which the forest cuts them.

A cell is a set of values that no split of the forest tells apart; the paper calls it an interval. The space turns a row
into cells, cells back into a concrete row, and a forest into a `CellForest`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, get_args

import numpy as np

from treeproof.cells import CellForest, integer_scores
from treeproof.errors import InputError
from treeproof.forest import LARGEST, LEAF, FloatArray, Forest, Label, Rows
from treeproof.query import Cells, Domain

NumericKind = Literal["binary", "ordinal", "real"]
Kind = Literal["binary", "ordinal", "real", "categorical"]


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on one feature: closed bounds, or a choice of named values; with neither, any value will do.

    Bounds are float32 values. Both are closed, because ``x > b`` would also be true of float64 inputs that round to b.

    Examples
    --------
    >>> print(Condition("age", low=18, high=65), "and", Condition("colour", values=("red",)))
    18 <= age <= 65 and colour = red
    """

    name: str
    low: float | None = None
    high: float | None = None
    values: tuple[Label, ...] | None = None

    def __str__(self) -> str:
        if self.values is not None:
            shown = ", ".join(str(value) for value in self.values)
            return f"{self.name} = {shown}" if len(self.values) == 1 else f"{self.name} in {{{shown}}}"
        if self.low is None and self.high is None:
            return f"{self.name} is any value"
        if self.low is None or self.high is None:
            return f"{self.name} {'<=' if self.low is None else '>='} {shortest(_given(self.high, self.low))}"
        if self.low == self.high:
            return f"{self.name} = {shortest(self.low)}"
        return f"{shortest(self.low)} <= {self.name} <= {shortest(self.high)}"


def _given(first: float | None, second: float | None) -> float:
    value = second if first is None else first
    assert value is not None
    return value


class Feature(Protocol):
    """One feature as a person sees it: one numeric column, one categorical column, or a group of one-hot columns."""

    @property
    def name(self) -> str:
        """Name of the feature."""

    @property
    def kind(self) -> Kind:
        """Kind of the feature."""

    @property
    def columns(self) -> tuple[int, ...]:
        """The model's columns that this feature fills."""

    @property
    def n_cells(self) -> int:
        """Number of cells."""

    def cell(self, row: Sequence[float]) -> int:
        """Return the cell that the row lies in; InputError if the row is outside the feature's domain."""

    def values(self, cell: int, near: Rows) -> list[float]:
        """Return values of `columns` in this cell, as close to the row `near` as possible."""

    def condition(self, domain: Domain) -> Condition:
        """Return the condition that is true of exactly the values in the domain."""

    def show(self, row: Rows) -> str:
        """Return the feature's value in a row, readable."""


@dataclass(frozen=True, eq=False)
class OrderedFeature:
    """A numeric feature; its cells are the closed intervals ``[lows[i], highs[i]]`` of float32 values."""

    name: str
    kind: NumericKind
    column: int
    lows: FloatArray
    highs: FloatArray

    @property
    def columns(self) -> tuple[int, ...]:
        """The model's column."""
        return (self.column,)

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.lows)

    def cell(self, row: Sequence[float]) -> int:
        """Return the cell that the row lies in."""
        value = row[self.column]
        if self.kind == "binary" and value not in (0, 1):
            raise InputError(f"Feature {self.name!r} was declared binary: it must be 0 or 1. Got {shortest(value)}.")
        if self.kind == "ordinal" and not value.is_integer():
            raise InputError(
                f"Feature {self.name!r} was declared ordinal: it must be a whole number. Got {shortest(value)}."
            )
        return bisect_left(self._highs, value)

    @cached_property
    def _highs(self) -> list[float]:
        return self.highs.tolist()

    def values(self, cell: int, near: Rows) -> list[float]:
        """Return the value of this cell that is closest to the row `near`."""
        return [float(np.clip(near[self.column], self.lows[cell], self.highs[cell]))]

    def condition(self, domain: Domain) -> Condition:
        """Return the domain as closed bounds; a bound that is the domain's own end is left out."""
        first, last = min(domain), max(domain)
        low, high = float(self.lows[first]), float(self.highs[last])
        if low == high:
            return Condition(self.name, low=low, high=high)
        return Condition(self.name, low=low if first > 0 else None, high=high if last < self.n_cells - 1 else None)

    def show(self, row: Rows) -> str:
        """Return the value in a row."""
        return shortest(float(row[self.column]))


@dataclass(frozen=True, eq=False)
class ValueFeature:
    """A feature of named values; cell i stands for ``labels[i]``, which puts ``points[i]`` into `columns`."""

    name: str
    columns: tuple[int, ...]
    labels: tuple[Label, ...]
    points: FloatArray

    @property
    def kind(self) -> Literal["categorical"]:
        """Kind of the feature."""
        return "categorical"

    @property
    def n_cells(self) -> int:
        """Number of values."""
        return len(self.labels)

    def cell(self, row: Sequence[float]) -> int:
        """Return the index of the value in the row."""
        given = [row[column] for column in self.columns]
        matches = np.flatnonzero((self.points == given).all(axis=1))
        if len(matches) == 0:
            got = [shortest(value) for value in given]
            raise InputError(
                f"Feature {self.name!r} must be one of its {self.n_cells} values: exactly one of its columns is 1 and "
                f"the others are 0. Got [{', '.join(got)}]."
            )
        return int(matches[0])

    def values(self, cell: int, near: Rows) -> list[float]:
        """Return what this value puts into the columns."""
        return [float(value) for value in self.points[cell]]

    def condition(self, domain: Domain) -> Condition:
        """Return the domain as a choice of named values."""
        if len(domain) == self.n_cells:
            return Condition(self.name)
        return Condition(self.name, values=tuple(self.labels[cell] for cell in sorted(domain)))

    def show(self, row: Rows) -> str:
        """Return the named value in a row."""
        return str(self.labels[self.cell(row.tolist())])


@dataclass(frozen=True, eq=False)
class Space:
    """The features of a forest and the cells into which the forest cuts them.

    Built by `Space.of`. Without declarations a numeric column is ``real`` (any finite float32) and a categorical column
    of the forest is ``categorical``.

    Examples
    --------
    >>> from treeproof.examples import heart_disease
    >>> forest, patient = heart_disease()
    >>> space = Space.of(forest)
    >>> [(f.name, f.n_cells) for f in space.features]
    [('blocked-arteries', 2), ('good-blood-circulation', 2), ('chest-pain', 2), ('weight', 2)]
    """

    forest: Forest
    features: tuple[Feature, ...]

    @classmethod
    def of(
        cls,
        forest: Forest,
        *,
        kinds: Mapping[str | int, NumericKind] | None = None,
        one_hot: Mapping[str, Sequence[str | int]] | None = None,
    ) -> Space:
        """Build the space of a forest.

        Parameters
        ----------
        forest
            The forest.
        kinds
            Column (name or index) to ``"binary"`` (0 or 1), ``"ordinal"`` (whole numbers) or ``"real"``, the default.
        one_hot
            Feature name to the columns of which exactly one is 1 and the others are 0; they become one feature.
        """
        declared: dict[int, NumericKind] = {}
        for given, kind in (kinds or {}).items():
            column = _column(forest, given)
            if kind not in get_args(NumericKind):
                raise InputError(f"A kind must be one of {get_args(NumericKind)}. Got {kind!r}.")
            if forest.columns[column].categories is not None:
                raise InputError(f"Column {forest.columns[column].name!r} is categorical in the model already.")
            if column in declared:
                raise InputError(f"Column {forest.columns[column].name!r} must have one kind. Got two.")
            declared[column] = kind
        groups = _groups(forest, one_hot or {}, declared)
        thresholds = _thresholds(forest)
        features: list[Feature] = []
        for j, column_ in enumerate(forest.columns):
            if j in groups:
                name, members = groups[j]
                if j == members[0]:
                    labels = tuple(forest.columns[m].name for m in members)
                    features.append(ValueFeature(name, members, labels, np.eye(len(members))))
            elif column_.categories is not None:
                points = np.arange(len(column_.categories), dtype=np.float64)[:, None]
                features.append(ValueFeature(column_.name, (j,), column_.categories, points))
            else:
                features.append(_ordered(column_.name, declared.get(j, "real"), j, thresholds[j]))
        names = [feature.name for feature in features]
        if len(set(names)) < len(names):
            raise InputError(f"Feature names must differ. Got {names}.")
        return cls(forest, tuple(features))

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
        """Importance of each feature: the sum over its columns."""
        return np.array([self.forest.importances[list(feature.columns)].sum() for feature in self.features])

    def index(self, feature: Any) -> int:
        """Return the index of a feature given by name or index."""
        if isinstance(feature, str):
            if feature in self.names:
                return self.names.index(feature)
            raise InputError(f"A feature must be one of {list(self.names)}. Got {feature!r}.")
        if isinstance(feature, int | np.integer) and not isinstance(feature, bool):
            if 0 <= feature < self.n_features:
                return int(feature)
            raise InputError(f"A feature index must be between 0 and {self.n_features - 1}. Got {feature}.")
        raise InputError(f"A feature must be given by name or index. Got {feature!r}.")

    def cells(self, row: Rows) -> Cells:
        """Return the cell of each feature that a row lies in."""
        values = np.asarray(row).tolist()  # Python's own floats: indexing an array costs more than the search
        return tuple(feature.cell(values) for feature in self.features)

    def row(self, cells: Cells, near: Rows) -> Rows:
        """Return a row in the given cells; where a cell is that of `near`, the row keeps its value."""
        row = np.array(near, dtype=np.float32)
        for feature, cell in zip(self.features, cells, strict=True):
            row[list(feature.columns)] = feature.values(cell, near)
        return row

    def discretise(self) -> CellForest:
        """Return the forest over the cells of this space; ``discretise().label(cells(x)) == predict_index([x])``."""
        forest = self.forest
        of_column = {column: f for f, feature in enumerate(self.features) for column in feature.columns}
        feature = np.full(forest.n_nodes, LEAF, dtype=np.int32)
        cut = np.full(forest.n_nodes, LEAF, dtype=np.int32)
        left_sets: dict[frozenset[int], int] = {}
        for column, f in of_column.items():
            nodes = np.flatnonzero(forest.feature == column)
            feature[nodes] = f
            seen = self.features[f]
            if isinstance(seen, OrderedFeature):
                # The last cell that goes left: cells are intervals that no threshold cuts.
                cut[nodes] = np.searchsorted(seen.highs, forest.threshold[nodes], side="right") - 1
                continue
            assert isinstance(seen, ValueFeature)
            place = seen.columns.index(column)
            for node in nodes.tolist():
                goes_left = frozenset(
                    cell for cell in range(seen.n_cells) if _goes_left(forest, node, float(seen.points[cell, place]))
                )
                cut[node] = left_sets.setdefault(goes_left, len(left_sets))
        scores, band = integer_scores(forest)
        return CellForest(
            source=forest,
            n_cells=tuple(f.n_cells for f in self.features),
            ordered=tuple(isinstance(f, OrderedFeature) for f in self.features),
            feature=feature,
            cut=cut,
            left_sets=tuple(left_sets),
            scores=scores,
            band=band,
        )


def shortest(value: float) -> str:
    """Return the shortest decimal that reads back as the same float32, also when it is read as a float64 first.

    A condition ``x <= b`` printed with it is true of exactly those float64 inputs that it should be true of: rounding
    to float32 is monotone, so ``x <= float(text)`` gives ``float32(x) <= b``.

    >>> shortest(0.10000000149011612), shortest(70.0)
    ('0.1', '70')
    """
    number = np.float32(value) + np.float32(0)  # no "-0"
    text = str(number).removesuffix(".0")
    return text if np.float32(float(text)) == number else repr(float(number))


def _ordered(name: str, kind: NumericKind, column: int, thresholds: FloatArray) -> OrderedFeature:
    """Cut the domain of a numeric column at the thresholds that have values on both sides."""
    low, high = (0.0, 1.0) if kind == "binary" else (-float(LARGEST), float(LARGEST))
    whole = kind != "real"
    cuts = np.unique(np.floor(thresholds) if whole else thresholds)
    cuts = cuts[(cuts >= low) & (cuts < high)]
    after = np.nextafter(cuts.astype(np.float32), np.float32(np.inf)).astype(np.float64)
    return OrderedFeature(
        name,
        kind,
        column,
        lows=np.append(low, np.ceil(after) if whole else after),
        highs=np.append(cuts, high),
    )


def _thresholds(forest: Forest) -> list[FloatArray]:
    """Return the different thresholds of each column."""
    numeric = (forest.feature != LEAF) & (forest.subset < 0)
    return [np.unique(forest.threshold[numeric & (forest.feature == j)]) for j in range(forest.n_columns)]


def _goes_left(forest: Forest, node: int, value: float) -> bool:
    if forest.subset[node] >= 0:
        return int(value) in forest.subsets[forest.subset[node]]
    return bool(value <= forest.threshold[node])


def _column(forest: Forest, column: Any) -> int:
    if isinstance(column, str):
        if column in forest.column_names:
            return forest.column_names.index(column)
        raise InputError(f"A column must be one of {list(forest.column_names)}. Got {column!r}.")
    if isinstance(column, int | np.integer) and 0 <= column < forest.n_columns:
        return int(column)
    raise InputError(f"A column must be a name or an index below {forest.n_columns}. Got {column!r}.")


def _groups(
    forest: Forest, one_hot: Mapping[str, Sequence[str | int]], declared: Mapping[int, str]
) -> dict[int, tuple[str, tuple[int, ...]]]:
    """Return, for each column of a one-hot group, the group's name and columns."""
    groups: dict[int, tuple[str, tuple[int, ...]]] = {}
    for name, members in one_hot.items():
        if isinstance(members, str):
            raise InputError(f"The columns of group {name!r} must be a list. Got the string {members!r}.")
        columns = tuple(sorted(_column(forest, member) for member in members))
        if not columns:
            raise InputError(f"The one-hot group {name!r} must have at least one column.")
        for column in columns:
            if column in groups or columns.count(column) > 1:
                raise InputError(f"Column {forest.columns[column].name!r} is in two one-hot groups.")
            if column in declared:
                raise InputError(f"Column {forest.columns[column].name!r} is in a one-hot group and has a kind too.")
            if forest.columns[column].categories is not None:
                raise InputError(f"Column {forest.columns[column].name!r} is categorical in the model already.")
        groups.update(dict.fromkeys(columns, (name, columns)))
    return groups
