"""Features as users see them, and the cells into which a forest cuts their values."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from treeproof.errors import InputError
from treeproof.model.columns import FloatArray, Label, Rows, Value
from treeproof.model.floats import FLOAT32, Floats
from treeproof.model.rows import LAST_DAY
from treeproof.space.conditions import Condition, Range
from treeproof.space.constraints import intervals
from treeproof.space.domains import Domain
from treeproof.space.grammar import Choice, ParsedCondition
from treeproof.space.wording import rounded_inside, show_day, show_label

NumericKind = Literal["binary", "integer", "real", "date"]
FeatureKind = Literal["binary", "integer", "real", "date", "categorical"]


class Feature(Protocol):
    """One feature as the user sees it: one numeric column, one categorical column, or a group of one-hot columns."""

    @property
    def name(self) -> str:
        """Name of the feature."""

    @property
    def kind(self) -> FeatureKind:
        """Kind of the feature."""

    @property
    def columns(self) -> tuple[int, ...]:
        """The model's columns that this feature covers."""

    @property
    def n_cells(self) -> int:
        """Number of cells."""

    @property
    def ordered(self) -> bool:
        """Whether every split of the forest cuts the ordered cells in two; then domains are ranges."""

    def cell(self, row: Sequence[float]) -> int:
        """Return the cell that the row lies in; InputError if the row is outside the feature's domain."""

    def cells(self, rows: FloatArray) -> npt.NDArray[np.int32]:
        """Return the cell that each row lies in, -1 where `cell` raises an error."""

    def values(self, cell: int, near: Sequence[float]) -> list[float]:
        """Return values of `columns` in this cell, as close to the row `near` as possible."""

    def condition(self, domain: Domain, near: Rows | None = None) -> Condition:
        """Return the condition that is true of exactly the values in the domain, that of the row `near` among them."""

    def show(self, row: Rows) -> str:
        """Return the feature's value in a row as readable text."""

    def show_presented(self, row: Sequence[Value]) -> str:
        """Return what `show` does, of a row as people write it."""

    def show_briefly(self, row: Rows, like: Rows, digits: int = 3) -> str:
        """Return what `show` does or, if that takes many digits, a value of the same cell with as few as in `like`."""

    def satisfying(self, condition: ParsedCondition) -> frozenset[int]:
        """Return the cells in which a condition is true; it is false in all others, as cells are cut at its bounds."""


def _own_floats(numbers: FloatArray) -> Sequence[float]:
    """Return numbers as Python's own floats, each made when it is asked for: there may be very many."""
    return array("d", numbers.astype(np.float64, copy=False).tobytes())


@dataclass(frozen=True, eq=False)
class NumericFeature:
    """A numeric feature; its cells are closed intervals ``[lows[i], highs[i]]`` of the model's numbers.

    If it may be missing, there is one more cell, `missing_cell`. Where every split sends missing values as it sends
    some number (they are imputed, or always go the same way), that cell has a place in the order of the numbers' cells,
    and the feature stays ordered. Otherwise it is `apart` from the order, numbered after the others.
    """

    name: str
    kind: NumericKind
    column: int
    lows: FloatArray
    highs: FloatArray
    floats: Floats
    missing_cell: int | None = None
    apart: bool = False

    @property
    def columns(self) -> tuple[int, ...]:
        """The model's column."""
        return (self.column,)

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.lows) + (self.missing_cell is not None)

    @property
    def ordered(self) -> bool:
        """Whether every split cuts the ordered cells in two."""
        return not self.apart

    def cell_of(self, place: int) -> int:
        """Return the cell whose numbers are those between ``lows[place]`` and ``highs[place]``."""
        return place + (self.missing_cell is not None and place >= self.missing_cell)

    def place(self, cell: int) -> int:
        """Return where the ends of a cell of numbers are found, the inverse of `cell_of`."""
        return cell - (self.missing_cell is not None and cell > self.missing_cell)

    def cell(self, row: Sequence[float]) -> int:
        """Return the cell that the row lies in."""
        value = row[self.column]
        if math.isnan(value):
            if self.missing_cell is not None:
                return self.missing_cell
            raise InputError(
                f"Feature {self.name!r} must not be missing, unless declared so. Got NaN; impute it, or "
                f"declare it: Explainer(model, missing=[{self.name!r}]), on the command line --missing."
            )
        if self.kind == "binary" and value not in (0, 1):
            raise InputError(f"Feature {self.name!r} is of kind binary: it must be 0 or 1. Got {self.text(value)}.")
        if self.kind in ("integer", "date") and not value.is_integer():
            raise InputError(
                f"Feature {self.name!r} is of kind {self.kind}: it must be a whole number. "
                f"Got {self.floats.shortest(value)}; correct it, or declare the kind: "
                f"Explainer(model, kinds={{{self.name!r}: 'real'}})."
            )
        if not self._lowest <= value <= self.ends[-1]:
            limit = self.floats.largest
            low, high = self._lowest, self.ends[-1]
            bounds = self._condition(None if low == -limit else low, None if high == limit else high)
            got = self.floats.shortest(value) if not 1 <= value <= LAST_DAY else self.text(value)
            raise InputError(f"Feature {self.name!r} must lie within its bounds: {bounds}. Got {got}.")
        return self.cell_of(bisect_left(self.ends, value))

    def cells(self, rows: FloatArray) -> npt.NDArray[np.int32]:
        """Return the cell that each row lies in, -1 where `cell` raises an error."""
        values = rows[:, self.column]
        places = np.searchsorted(self.highs, values).astype(np.int32)
        good = (values >= self.lows[0]) & (values <= self.highs[-1])
        if self.kind != "real":
            good &= (values == 0) | (values == 1) if self.kind == "binary" else values == np.floor(values)
        missing = -1 if self.missing_cell is None else self.missing_cell
        cells = places if self.missing_cell is None else places + (places >= missing)
        return np.where(np.isnan(values), missing, np.where(good, cells, -1)).astype(np.int32)

    @cached_property
    def _lowest(self) -> float:
        return float(self.lows[0])

    @cached_property
    def ends(self) -> Sequence[float]:
        """The largest number of each cell of numbers: `highs`, as Python's own floats."""
        return _own_floats(self.highs)

    @cached_property
    def starts(self) -> Sequence[float]:
        """The smallest number of each cell of numbers: `lows`, as Python's own floats."""
        return _own_floats(self.lows)

    def text(self, value: float) -> str:
        """Return a value as readable text."""
        return show_day(value) if self.kind == "date" else self.floats.shortest(value)

    def show_presented(self, row: Sequence[Value]) -> str:
        """Return the value in a row as people write it."""
        value = row[self.column]
        return value if isinstance(value, str) else self.text(math.nan if value is None else float(value))

    def values(self, cell: int, near: Sequence[float]) -> list[float]:
        """Return the value of this cell that is closest to the row `near`, or to 0 if that value is missing."""
        if cell == self.missing_cell:
            return [math.nan]
        place, value = self.place(cell), float(near[self.column])
        return [min(max(0.0 if math.isnan(value) else value, self.starts[place]), self.ends[place])]

    def condition(self, domain: Domain, near: Rows | None = None) -> Condition:
        """Return the domain as closed bounds; a bound at the end of the feature's own range is left out."""
        if len(domain) == self.n_cells > 1:
            return Condition(self.name)
        value = None if near is None else near.item(self.column)  # Python's own float
        if value is not None and math.isnan(value):
            value = None
        if self.missing_cell is None and isinstance(domain, range):
            return self._condition(*self._ends(domain[0], domain[-1]), near=value)
        cells = sorted(self.place(cell) for cell in domain if cell != self.missing_cell)
        missing = None if self.missing_cell is None else self.missing_cell in domain
        if not cells:
            return Condition(self.name, values=(None,), near=value)
        ends = [-1, *(i for i, (one, other) in enumerate(pairwise(cells)) if other > one + 1), len(cells) - 1]
        ranges = tuple(self._ends(cells[before + 1], cells[end]) for before, end in pairwise(ends))
        if len(ranges) > 1:
            return self._condition(None, None, missing=missing, ranges=ranges, near=value)
        return self._condition(*ranges[0], missing=missing, near=value)

    def _condition(self, low: float | None, high: float | None, **more: Any) -> Condition:
        kind = self.kind
        return Condition(
            self.name, low, high, dtype=self.floats.name, date=kind == "date", whole=kind != "real", **more
        )

    def _ends(self, first: int, last: int) -> Range:
        low, high = self.starts[first], self.ends[last]
        if low == high:
            return low, high
        return low if first > 0 else None, high if last < len(self.starts) - 1 else None

    def show(self, row: Rows) -> str:
        """Return the value in a row."""
        return self.text(float(row[self.column]))

    def show_briefly(self, row: Rows, like: Rows, digits: int = 3) -> str:
        """Return the value in a row or, if that takes many digits, one of its cell with as few as in the row `like`."""
        value = float(row[self.column])
        if self.kind != "real" or math.isnan(value):
            return self.text(value)
        place, own = bisect_left(self.ends, value), float(like[self.column])
        return rounded_inside(value, self.starts[place], self.ends[place], self.floats, own, digits)

    def satisfying(self, condition: ParsedCondition) -> frozenset[int]:
        """Return the cells whose values all satisfy the condition."""
        inside = [(self.lows >= low) & (self.highs <= high) for low, high in intervals(condition, self.floats)]
        places = np.flatnonzero(np.any(inside, axis=0)).tolist() if inside else []
        cells = {self.cell_of(place) for place in places}
        if self.missing_cell is not None and condition.missing:
            cells.add(self.missing_cell)
        return frozenset(cells)

    def between(self, low: float, high: float) -> Sequence[int]:
        """Return the cells that contain a number of the interval."""
        first = bisect_left(self.ends, low)
        last = bisect_right(self.starts, high) - 1
        places = range(first, last + 1)
        return places if self.missing_cell is None else [self.cell_of(place) for place in places]


@dataclass(frozen=True, eq=False)
class ValueFeature:
    """A feature with named values; cell i stands for ``labels[i]``, and ``points[i]`` are its values in `columns`.

    `undeclared` is the column's number for values without a category of their own, if they are not declared.
    """

    name: str
    columns: tuple[int, ...]
    labels: tuple[Label | None, ...]
    points: FloatArray
    undeclared: int | None = None
    ordered = False

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
        if len(matches) == 0 and given == [self.undeclared]:
            raise InputError(
                f"Feature {self.name!r} must be one of the {self.n_cells} values that are known to the model, unless "
                f"declared otherwise. Got another one; declare that: Explainer(model, other=[{self.name!r}]), "
                "on the command line --other."
            )
        if len(matches) == 0:
            got = [FLOAT32.shortest(value) for value in given]
            raise InputError(
                f"Feature {self.name!r} must be one of its {self.n_cells} values: exactly one of its columns is 1 and "
                f"the others are 0. Got [{', '.join(got)}]."
            )
        return int(matches[0])

    def cells(self, rows: FloatArray) -> npt.NDArray[np.int32]:
        """Return the index of the value in each row, -1 where `cell` raises an error."""
        cells = np.full(len(rows), -1, dtype=np.int32)
        given = rows[:, list(self.columns)]
        for cell in reversed(range(self.n_cells)):  # the first that matches
            cells[(given == self.points[cell]).all(axis=1)] = cell
        return cells

    def values(self, cell: int, near: Sequence[float]) -> list[float]:
        """Return the columns' values for this named value."""
        return [float(value) for value in self.points[cell]]

    def condition(self, domain: Domain, near: Rows | None = None) -> Condition:
        """Return the domain as a choice of named values."""
        if len(domain) == self.n_cells:
            return Condition(self.name)
        values = tuple(self.labels[cell] for cell in sorted(domain))
        others = tuple(label for cell, label in enumerate(self.labels) if cell not in domain)
        return Condition(self.name, values=values, others=others)

    def show(self, row: Rows) -> str:
        """Return the named value in a row."""
        return show_label(self.labels[self.cell(row.tolist())])

    def show_presented(self, row: Sequence[Value]) -> str:
        """Return the named value in a row as people write it: a label, or the numbers of a one-hot group."""
        if len(self.columns) > 1:
            given = [row[column] for column in self.columns]
            return show_label(
                next(label for label, point in zip(self.labels, self.points, strict=True) if (point == given).all())
            )
        value = row[self.columns[0]]
        missing = value is None or (isinstance(value, float) and math.isnan(value))
        known = [label for label in self.labels if type(label) is type(value) and label == value]
        return "missing" if missing else show_label(known[0] if known else "other")

    def show_briefly(self, row: Rows, like: Rows, digits: int = 3) -> str:
        """Return the named value in a row."""
        return self.show(row)

    def satisfying(self, condition: ParsedCondition) -> frozenset[int]:
        """Return the values that satisfy the condition."""
        if isinstance(condition, Choice):
            return condition.places(self.labels)
        raise InputError(
            f"A condition on {self.name!r} must choose among its values, as in "
            f"'{self.name} = {show_label(self.labels[0])}'."
        )
