"""Sets of inputs that conditions describe: the cells they meet, and concrete inputs inside them.

A condition is about the float64 numbers that users write, and many models see them rounded to float32. So the inputs
that satisfy ``x <= 2.4`` reach the model's numbers up to the one nearest to 2.4, and a cell matters iff one of these
lies in it: no split of the forest distinguishes the numbers of a cell. An input that is shown satisfies the condition
exactly as it is written, and not only after rounding.

For a feature of kind binary or integer, inputs are whole numbers: ``age > 4`` starts at 5.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from treeproof.errors import InputError, is_list
from treeproof.model.columns import Rows
from treeproof.model.floats import FLOAT64
from treeproof.space.conditions import Condition
from treeproof.space.constraints import intervals
from treeproof.space.domains import Cells, Domain, as_domain
from treeproof.space.features import NumericFeature, ValueFeature
from treeproof.space.grammar import Bounds, Choice, Interval, ParsedCondition, intersect, parse_conditions, rounded
from treeproof.space.space import Space
from treeproof.space.wording import SMALLEST, equals, rounded_inside, show_name


@dataclass(frozen=True, eq=False, slots=True)
class Restriction:
    """One condition on one feature: intervals that it lies in, or cells. `text` says it in words.

    `intervals` holds the float64 numbers that satisfy it; `read` the model's numbers that do, as in a constraint. With
    `missing`, a missing value satisfies it too.
    """

    feature: int
    text: str
    intervals: tuple[Interval, ...] | None = None
    read: tuple[Interval, ...] = ()
    cells: frozenset[int] | None = None
    missing: bool = False


class Region:
    """The inputs of a space that satisfy all of some restrictions."""

    def __init__(self, space: Space, restrictions: Iterable[Restriction]) -> None:
        self._space = space
        # For each restricted feature: the float64 numbers that it may have, if they matter, and the cells they reach.
        self._numbers: dict[int, list[Interval]] = {}
        self._read: dict[int, list[Interval]] = {}  # the same, as the model's numbers
        self._cells: dict[int, frozenset[int]] = {}
        by_feature = defaultdict(list)
        for restriction in restrictions:
            by_feature[restriction.feature].append(restriction)
        for f, several in by_feature.items():
            self._restrict(f, several)

    def _restrict(self, f: int, restrictions: Sequence[Restriction]) -> None:
        feature = self._space.features[f]
        cells = [restriction.cells for restriction in restrictions if restriction.cells is not None]
        numeric = [restriction for restriction in restrictions if restriction.intervals is not None]
        if numeric:
            assert isinstance(feature, NumericFeature)
            # Intersected before they are rounded: x < 2 and x > 2 both reach the cell of 2, together they reach none.
            numbers = reduce(intersect, [list(restriction.intervals or ()) for restriction in numeric])
            self._numbers[f] = numbers
            self._read[f] = reduce(intersect, [list(restriction.read) for restriction in numeric])
            parts = rounded(numbers, feature.floats)
            reached = {cell for low, high in parts for cell in feature.between(low, high)}
            if feature.missing_cell is not None and all(restriction.missing for restriction in numeric):
                reached.add(feature.missing_cell)
            cells.append(frozenset(reached))
        self._cells[f] = frozenset.intersection(*cells)

    def domains(self, full: Sequence[Domain]) -> tuple[Domain, ...]:
        """Return the cells that inputs of the region reach: a range if the feature is ordered and they have no gap."""
        return tuple(
            as_domain(self._cells[f], isinstance(whole, range)) if f in self._cells else whole
            for f, whole in enumerate(full)
        )

    @property
    def empty(self) -> int | None:
        """A feature whose restrictions no value satisfies, if there is one."""
        return next((f for f, cells in self._cells.items() if not cells), None)

    def holds(self, row: Rows, point: Cells, features: Iterable[int] | None = None) -> bool:
        """Return whether the model reads some input of the region as this row, whose cells are `point`.

        Only `features` count, if they are given.
        """
        reached = {f: rounded(numbers, self._space.forest.floats) for f, numbers in self._numbers.items()}
        return self._is_inside(row, point, self._cells if features is None else features, reached)

    def counts(self, row: Rows, point: Cells) -> bool:
        """Return whether this row, whose cells are `point`, satisfies the conditions as it would satisfy a constraint.

        The numbers of the conditions are rounded as the row's were, and then compared: 2 is never above 2.
        """
        return self._is_inside(row, point, self._cells, self._read)

    def _is_inside(
        self, row: Rows, point: Cells, features: Iterable[int], numbers: Mapping[int, Sequence[Interval]]
    ) -> bool:
        for f in features:
            if point[f] not in self._cells[f]:
                return False
            if f in numbers:
                value = float(row[self._space.features[f].columns[0]])
                if not math.isnan(value) and not any(low <= value <= high for low, high in numbers[f]):
                    return False
        return True

    def row(self, point: Cells, near: Rows, *, brief: bool = False) -> tuple[Rows, dict[int, float]]:
        """Return a row of the region in the given cells, near another row, as the model sees it.

        Beside it, the float64 numbers that satisfy the restrictions and round to it, by column. If `brief`, restricted
        numbers that would take many digits are not the nearest ones.
        """
        row, written = self._space.row(point, near), {}
        for f, numbers in self._numbers.items():
            feature = self._space.features[f]
            assert isinstance(feature, NumericFeature)
            column = feature.column
            if point[f] == feature.missing_cell:
                continue
            row[column], written[column] = _inside(feature, point[f], numbers, float(near[column]), brief)
        return row, written


def read_conditions(space: Space, claim: Any, row: Rows | None) -> list[Restriction]:
    """Return restrictions from text, `Condition` objects, or features (by name or index) kept at the row's values."""
    if isinstance(claim, str | Condition):
        claim = [claim]
    if isinstance(claim, Mapping) or not is_list(claim):
        raise InputError(
            f"Conditions must be text such as 'age <= 30 and colour = red', or a list of conditions or features. "
            f"Got {claim!r}."
        )
    # Other tools name the columns of a one-hot group, so these are known here as well.
    columns = [c for feature in space.features if isinstance(feature, ValueFeature) for c in feature.columns]
    names = [*space.names, *(n for n in (space.forest.columns[c].name for c in columns) if n not in space.names)]
    found = []
    for item in claim:
        if isinstance(item, Condition):
            found.append(_from_condition(space, item, names))
        elif isinstance(item, str) and item not in names:
            found += [_restriction(space, parsed, text, names) for text, parsed in parse_conditions(item, names)]
        else:
            found.append(_as_it_is(space, item, row))
    return found


def as_results_mean(space: Space, restriction: Restriction, above_zero: bool) -> Restriction:
    """Return a restriction as it is meant where a result prints it: numbers are compared as the model reads them.

    With `above_zero`, numbers above zero are at least 1e-30, and those below at most -1e-30 (`space.wording`).
    """
    feature = space.features[restriction.feature]
    if restriction.intervals is None or not isinstance(feature, NumericFeature) or feature.kind != "real":
        return restriction
    meant, floats = restriction.read, feature.floats
    if above_zero:
        first, last = floats.next(0.0, math.inf), floats.next(0.0, -math.inf)
        ends = (
            (floats.round(SMALLEST) if low == first else low, floats.round(-SMALLEST) if high == last else high)
            for low, high in meant
        )
        meant = tuple((low, high) for low, high in ends if low <= high)
    return replace(restriction, intervals=meant)


def in_own_cell(space: Space, feature: int, row: Rows, point: Cells) -> Restriction:
    """Return the restriction that keeps a feature in its own cell; `text` says that it keeps its value."""
    text = equals(space.names[feature], space.features[feature].show(row))
    return Restriction(feature, text, cells=frozenset((point[feature],)))


def _as_it_is(space: Space, item: Any, row: Rows | None) -> Restriction:
    """Return the restriction that a feature, or a column of a one-hot group, keeps its value in the row."""
    if row is None:
        raise InputError(f"A feature needs a row to take its value from. Got {item!r}; give the row, or a condition.")
    if isinstance(item, str) and item not in space.names:
        f, column, place = _group_column(space, item)
        feature = space.features[f]
        assert isinstance(feature, ValueFeature)
        value = float(row[column])
        cells = np.flatnonzero(feature.points[:, place] == value)
        text = f"{show_name(item)} = {space.forest.floats.shortest(value)}"
        return Restriction(f, text, cells=frozenset(cells.tolist()))
    return in_own_cell(space, space.index(item), row, space.cells(row))


def _from_condition(space: Space, condition: Condition, names: Sequence[str]) -> Restriction:
    if condition.name not in names:
        raise InputError(f"A feature must be one of {list(space.names)}. Got {condition.name!r} in a condition.")
    index = names.index(condition.name)
    feature = space.features[index] if index < space.n_features else None
    if isinstance(feature, NumericFeature) and condition.values is None:
        ranges = condition.ranges or ((condition.low, condition.high),)
        parts = [Bounds(index, low, False, high, False) for low, high in ranges]
        missing = parts[0].missing if condition.missing is None else condition.missing
        return numeric_restriction(feature, parts, str(condition), missing)
    if condition.values is None:
        return _restriction(space, Bounds(index, condition.low, False, condition.high, False), str(condition), names)
    if isinstance(feature, ValueFeature):
        known = [(type(label) is bool, label) for label in feature.labels]
        for value in condition.values:
            if (type(value) is bool, value) not in known:
                raise InputError(f"Feature {condition.name!r} must be one of {list(feature.labels)}. Got {value!r}.")
        cells = frozenset(known.index((type(value) is bool, value)) for value in condition.values)
        return Restriction(index, str(condition), cells=cells)
    written = tuple("missing" if value is None else str(value) for value in condition.values)
    return _restriction(space, Choice(index, written), str(condition), names)


def _restriction(space: Space, parsed: ParsedCondition, text: str, names: Sequence[str]) -> Restriction:
    """Return what a parsed condition says about the space."""
    try:
        if parsed.feature >= space.n_features:
            f, _, place = _group_column(space, names[parsed.feature])
            feature = space.features[f]
            assert isinstance(feature, ValueFeature)
            seen = rounded(parsed.intervals(whole=True), space.forest.floats)
            values = enumerate(feature.points[:, place].tolist())
            return Restriction(
                f, text, cells=frozenset(c for c, value in values if any(a <= value <= b for a, b in seen))
            )
        f = parsed.feature
        feature = space.features[f]
        if isinstance(feature, NumericFeature):
            return numeric_restriction(feature, [parsed], text, parsed.missing)
        assert isinstance(feature, ValueFeature)
        if isinstance(parsed, Choice):
            return Restriction(f, text, cells=feature.satisfying(parsed))
        if isinstance(parsed, Bounds) and parsed.low is None and parsed.high is None:
            return Restriction(f, text, cells=frozenset(range(feature.n_cells)))
    except InputError as error:
        raise InputError(f"In the condition {text!r}: {error}") from error
    raise InputError(f"Feature {feature.name!r} has named values, which have no order: use '=' or 'in'. Got {text!r}.")


def numeric_restriction(
    feature: NumericFeature, parts: Sequence[ParsedCondition], text: str, missing: bool
) -> Restriction:
    """Return the restriction of a numeric feature to what satisfies at least one of the parts."""
    written = sorted(one for part in parts for one in part.intervals(whole=feature.kind != "real"))
    read = sorted(one for part in parts for one in intervals(part, feature.floats))
    return Restriction(parts[0].feature, text, intervals=tuple(written), read=tuple(read), missing=missing)


def _group_column(space: Space, name: str) -> tuple[int, int, int]:
    """Return the feature of a column of a one-hot group, the column, and its position in the group."""
    column = space.forest.column_names.index(name)
    f = next(f for f, feature in enumerate(space.features) if column in feature.columns)
    return f, column, space.features[f].columns.index(column)


def _inside(
    feature: NumericFeature, cell: int, numbers: Sequence[Interval], near: float, brief: bool
) -> tuple[float, float]:
    """Return the cell's number near `near` that some number of the intervals rounds to, and that number."""
    best: tuple[float, float, float] | None = None
    place = feature.place(cell)
    near = 0.0 if math.isnan(near) else near
    for low, high in numbers:
        for first, last in rounded([(low, high)], feature.floats):
            first, last = max(first, float(feature.lows[place])), min(last, float(feature.highs[place]))
            if first > last:
                continue
            value = min(max(near, first), last)
            if brief:
                value = feature.floats.round(float(rounded_inside(value, first, last, feature.floats, like=near)))
            short = float(feature.floats.shortest(value))
            # Clipping moves no number across one of the model's: if value < low, then low rounds to value.
            written = short if low <= short <= high else min(max(value, low), high)
            if brief and feature.kind == "real":  # not 2.4000000000000004, which satisfies x > 2.4, if 2.41 will do
                bounds = max(low, first), min(high, last)
                written = (
                    float(rounded_inside(written, *bounds, FLOAT64, like=near)) if bounds[0] < bounds[1] else written
                )
                value = feature.floats.round(written)
            if best is None or abs(value - near) < best[0]:
                best = (abs(value - near), value, written)
    assert best is not None, "the cell is one of the region's"
    return best[1], best[2]
