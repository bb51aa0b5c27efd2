"""Which values a change may lead to, and how far they are: limits on the features, and exact distances.

A limit applies to new values. A feature may always keep its value, even one outside its limits; if it changes, the new
value is inside. Limits are about the numbers that users write, as in `treeproof.space.region`: the value that is shown
satisfies them exactly as written.

The distance of a number is its difference, read as the model does, divided by the feature's scale; that of another
named value is 1 divided by the scale; from a missing value to a number, or back, it is 1.
Distances are exact: whole multiples of one small unit.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from treeproof.errors import InputError, InternalError
from treeproof.model.columns import Label, Rows, Value
from treeproof.model.floats import as_float
from treeproof.model.forest import Forest
from treeproof.query.ball import Ball
from treeproof.query.context import Context, Instance
from treeproof.query.oracle import Refuted, expired
from treeproof.questions.changes import Changed, changes_between
from treeproof.questions.costs import exact_number
from treeproof.questions.result import within_words
from treeproof.search.closest import CellCosts
from treeproof.space.domains import Cells, Domain, as_domain
from treeproof.space.features import NumericFeature, ValueFeature
from treeproof.space.grammar import Bounds, Interval, rounded
from treeproof.space.region import Region, Restriction, numeric_restriction

_AT_ONCE = 2048  # cells whose distances are found without a look at the clock


@dataclass(frozen=True, slots=True)
class Reached:
    """An input that a change leads to, its label, and what has changed, by feature."""

    values: tuple[Value, ...]
    label: Label
    changes: Mapping[int, Changed]


@dataclass(frozen=True, eq=False)
class Moves:
    """What a row may become: the cells that each feature may take, its own among them, and their distances.

    `limits` has the limits, by feature; `words` states them briefly. `kept` are the features that must not change.
    `scales` are those that the user gave; the others are the `usual` ones, or else the span of the forest's cuts.
    """

    context: Context
    instance: Instance
    free: tuple[Domain, ...]
    limits: Mapping[int, Restriction]
    words: tuple[str, ...]
    scales: Mapping[int, Fraction]
    kept: frozenset[int] = frozenset()
    usual: tuple[Fraction, ...] | None = None

    @property
    def has_limits(self) -> bool:
        """Whether the user gave limits beyond the ball of the instance."""
        return len(self.words) > (self.instance.ball is not None)

    def row(self, point: Cells) -> tuple[Rows, dict[int, float]]:
        """Return the closest row in these cells within the limits, and how its limited numbers are written.

        A feature in its own cell keeps its value. Rows are remembered: a witness is shown, and measured twice.
        """
        if point not in self._rows:
            own, space = self.instance.point, self.context.space
            limits = [limit for f, limit in self.limits.items() if point[f] != own[f]]
            self._rows[point] = Region(space, limits).row(point, near=self.instance.row)
        return self._rows[point]

    @cached_property
    def _rows(self) -> dict[Cells, tuple[Rows, dict[int, float]]]:
        return {}

    def costs(
        self, features: Iterable[int], *, stay: bool, deadline: float | None = None
    ) -> tuple[CellCosts, Fraction]:
        """Return the distances of each cell that these features may take, in whole units, and the unit.

        `stay` says whether a feature may stay in its own cell, at no cost. TimeoutError at the deadline.
        """
        scales: dict[int, Fraction] = {}
        costs: dict[int, dict[int, int]] = {}
        common = 1
        for f in sorted(features):
            _be_on_time(deadline)
            scales[f] = self.scale(f)
            common = math.lcm(common, scales[f].numerator)
        for f, scale in scales.items():
            own, cells = self.instance.point[f], list(self.free[f])
            weight = scale.denominator * (common // scale.numerator)
            units: dict[int, int | None] = {}
            for begin in range(0, len(cells), _AT_ONCE):
                _be_on_time(deadline)
                units |= self._units(f, cells[begin : begin + _AT_ONCE])
            lost = common * self._fine  # missing values are at a distance of 1
            costs[f] = {cell: lost if n is None else n * weight for cell, n in units.items() if cell != own}
            if stay:
                costs[f][own] = 0
        return costs, Fraction(1, common * self._fine)

    @property
    def nearest(self) -> Fraction | None:
        """The least distance at which a feature leaves its own cell; None if no feature can."""
        least: tuple[int, int] | None = None  # as a fraction: one of Python's own takes longer to compare
        for f in self._perhaps_nearest():
            scale, own = self.scale(f), self.instance.point[f]
            for cell, n in self._units(f, self._beside(f)).items():
                far = (self._fine, 1) if n is None else (n * scale.denominator, scale.numerator)
                if cell != own and (least is None or far[0] * least[1] < least[0] * far[1]):
                    least = far
        return None if least is None else Fraction(least[0], least[1] * self._fine)

    def _perhaps_nearest(self) -> Iterable[int]:
        """Return features among which is one that leaves its own cell at the least distance."""
        space, everything = self.context.space, range(len(self.free))
        if space.cuts is None or self.limits or not all(isinstance(domain, range) for domain in self.free):
            return everything
        at, values = space.cuts.begins[:-1] + np.array(self.instance.point), self.instance.row.astype(np.float64)
        begins, ends = (
            space.cuts.begins[:-1] + [getattr(domain, end) for domain in self.free] for end in ("start", "stop")
        )
        with np.errstate(all="ignore"):
            down = np.where(at > begins, values - space.cuts.highs[at - 1], np.inf)
            up = np.where(at + 1 < ends, space.cuts.lows[np.minimum(at + 1, len(space.cuts.lows) - 1)] - values, np.inf)
            far = np.minimum(down, up) / np.array([as_float(self.scale(f)) for f in everything])
        least = float(np.min(far, initial=np.inf))
        # Floats are off by less than the factor; not so where they underflow or overflow.
        return np.flatnonzero(far <= least * 1.0001).tolist() if 1e-200 < least < 1e200 else everything

    def _beside(self, f: int) -> frozenset[int]:
        """Return few cells of a feature: its own and, of the others that it may take, a closest one."""
        domain, own, feature = self.free[f], self.instance.point[f], self.context.space.features[f]
        if isinstance(feature, NumericFeature) and own != feature.missing_cell:
            missing = () if feature.missing_cell is None else (feature.missing_cell,)
            step = 2 if missing else 1  # the next number on either side may be behind the cell of missing values
            return frozenset(cell for cell in (*range(own - step, own + step + 1), *missing) if cell in domain)
        return frozenset({own, *itertools.islice((cell for cell in domain if cell != own), 1)})  # all are equally far

    def _units(self, f: int, cells: Iterable[int] | None = None) -> dict[int, int | None]:
        """Return how far each cell that a feature may take is, or each of these, in whole multiples of 1 / _fine.

        Unscaled; None where a missing value is lost or found.
        """
        feature, cells = self.context.space.features[f], self.free[f] if cells is None else cells
        if not isinstance(feature, NumericFeature):
            return dict.fromkeys(cells, self._fine)
        value = float(self.instance.row[feature.column])
        limit = self.limits.get(f)
        given = limit.intervals if limit and limit.intervals else None
        (low, high), *_ = [(-math.inf, math.inf)] if given is None else rounded(given, feature.floats)
        if math.isnan(value):
            return dict.fromkeys(cells)
        fine, own = self._fine, _units(value, self._fine)

        def far(place: int) -> int:
            nearest = min(max(value, feature.starts[place], low), feature.ends[place], high)
            return abs(_units(nearest, fine) - own)

        return {cell: None if cell == feature.missing_cell else far(feature.place(cell)) for cell in cells}

    @property
    def _fine(self) -> int:
        return self.context.forest.floats.fine

    def scale(self, feature: int) -> Fraction:
        """Return the change of a feature that is a distance of 1."""
        if feature in self.scales:
            return self.scales[feature]
        return self.usual[feature] if self.usual else span(self.context, feature)

    def reach(self, answer: Refuted, digits: int = 3, ball: Ball | None = None) -> Reached:
        """Return the closest input of a witness's cells, evaluated by the forest's own predict.

        Its numbers may be shown rounded within their cells, to that many digits, and inside the `ball`.
        """
        context, before, point = self.context, self.instance.row, answer.witness
        row, written = self.row(point)
        values, label = context.evaluated(row, answer.label)
        changes = changes_between(context.space, before, row, written, ball=ball or self.instance.ball, digits=digits)
        for f in changes:
            if f in self.limits and not _keeps(context, self.limits[f], row, written):
                raise InternalError(
                    f"The witness {row.tolist()} breaks the limit {self.limits[f].text!r}; please report this."
                )
        return Reached(as_written(values, written), label, changes)

    def distances(self, answer: Refuted) -> list[Fraction]:
        """Return how far each changed feature of `reach` is, from the values themselves and not from `costs`."""
        before, point, features = self.instance.row, answer.witness, self.context.space.features
        if point not in self._distances:
            row, _ = self.row(point)
            changed = [f for f, (cell, own) in enumerate(zip(point, self.instance.point, strict=True)) if cell != own]
            columns = [features[f].columns[0] for f in changed]
            self._distances[point] = [
                self._moved(f, float(before[c]), float(row[c])) for f, c in zip(changed, columns, strict=True)
            ]
        return self._distances[point]

    @cached_property
    def _distances(self) -> dict[Cells, list[Fraction]]:
        return {}

    def _moved(self, f: int, before: float, after: float) -> Fraction:
        """Return how far a feature moved."""
        if not isinstance(self.context.space.features[f], NumericFeature):
            return 1 / self.scale(f)
        if math.isnan(before) or math.isnan(after):
            return Fraction(1)
        scale, fine = self.scale(f), self._fine
        return Fraction(abs(_units(after, fine) - _units(before, fine)) * scale.denominator, fine * scale.numerator)

    def beyond(self, f: int, radius: Fraction) -> frozenset[int]:
        """Return the cells of a feature that have no value within its limits and the radius."""
        unit = Fraction(1, self._fine) / self.scale(f)
        distances = {cell: Fraction(1) if n is None else n * unit for cell, n in self._units(f).items()}
        return frozenset(c for c, far in distances.items() if far > radius and c != self.instance.point[f])


def make_moves(
    context: Context,
    instance: Instance,
    *,
    fixed: Iterable[str | int] = (),
    directions: Mapping[str | int, str] | None = None,
    limits: Mapping[str | int, Any] | None = None,
    scale: Mapping[str | int, Any] | None = None,
    usual: tuple[Fraction, ...] | None = None,
) -> Moves:
    """Return the moves that the user's limits allow, and their distances; InputError for invalid limits."""
    space, point = context.space, instance.point
    kept = frozenset(context.features(fixed))
    ways = _by_feature(context, directions, "directions")
    bounds = {f: _limit(context, f, given) for f, given in _by_feature(context, limits, "limits").items()}
    ball = instance.ball
    domains = Region(space, bounds.values()).domains(instance.free or context.cells.full)
    free, words = [], []
    for f, feature in enumerate(space.features):
        own = point[f]
        if f not in kept and f not in ways and f not in bounds and isinstance(domains[f], range) and own in domains[f]:
            free.append(domains[f])
            continue
        cells = frozenset(domains[f])
        if f in kept:
            cells = frozenset()
            words.append(f"{feature.name} fixed")
        if f in ways:
            cells = frozenset(cell for cell in cells if _leads(context, f, ways[f], own, cell))
            words.append(f"{feature.name} only {ways[f]}")
        if f in bounds:
            inside = Region(space, [bounds[f]]).holds(instance.row, point)
            words.append(bounds[f].text if inside else f"{bounds[f].text} if changed")
        free.append(as_domain(cells | {own}, context.cells.ordered[f]))
    if ball is None:
        return Moves(context, instance, tuple(free), bounds, tuple(words), given_scales(context, scale), kept, usual)
    words.append(f"every feature {within_words(ball.radius)}")
    moves = Moves(context, instance, tuple(free), bounds, tuple(words), dict(enumerate(ball.scales)), kept)
    for f in bounds:  # a cell may have a value in the ball and one within the limits, but none that is both
        free[f] = as_domain(frozenset(free[f]) - moves.beyond(f, ball.radius), context.cells.ordered[f])
    return replace(moves, free=tuple(free))


def given_scales(context: Context, scale: Mapping[str | int, Any] | None) -> dict[int, Fraction]:
    """Return the user's scales by feature; InputError unless they are positive numbers."""
    return {f: _scale(context, f, given) for f, given in _by_feature(context, scale, "scale").items()}


def _by_feature(context: Context, given: Mapping[str | int, Any] | None, name: str) -> dict[int, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(f"The '{name}' parameter must map features to values, as in {{'age': ...}}. Got {given!r}.")
    found = {context.space.index(feature): value for feature, value in given.items()}
    if len(found) < len(given):
        raise InputError(f"The '{name}' parameter must name each feature once. Got {list(given)}.")
    return found


def _leads(context: Context, f: int, way: Any, own: int, cell: int) -> bool:
    """Return whether a cell lies in that direction; a missing value is neither up nor down."""
    down, feature = _is_down(context, f, way), context.space.features[f]
    assert isinstance(feature, NumericFeature)
    return feature.missing_cell not in (own, cell) and (cell < own if down else cell > own)


def _is_down(context: Context, f: int, way: Any) -> bool:
    feature = context.space.features[f]
    if not isinstance(feature, NumericFeature):
        raise InputError(
            f"A direction must be given for a numeric feature. {feature.name!r} has named values, which have no order; "
            "use limits={...} to choose among them."
        )
    if way not in ("up", "down"):
        raise InputError(f"The direction of {feature.name!r} must be 'up' or 'down'. Got {way!r} instead.")
    return way == "down"


def _limit(context: Context, f: int, given: Any) -> Restriction:
    """Return what the user's limit allows: two numbers, or named values."""
    feature = context.space.features[f]
    if isinstance(feature, ValueFeature):
        cells = _chosen(feature, given)
        return Restriction(f, str(feature.condition(cells)), cells=cells)
    assert isinstance(feature, NumericFeature)
    low, high = _bounds(feature.name, given)
    ends = [None if end is None else repr(end).removesuffix(".0") for end in (low, high)]
    text = " <= ".join(part for part in (ends[0], feature.name, ends[1]) if part is not None)
    if low is None and high is None:
        text = f"{feature.name} is any value"
    limit = numeric_restriction(feature, [Bounds(f, low, False, high, False)], text, missing=False)
    if not limit.intervals or Region(context.space, [limit]).empty is not None:
        raise InputError(f"The limits of {feature.name!r} must contain some {feature.kind} value. Got {given!r}.")
    return limit


def _chosen(feature: ValueFeature, given: Any) -> frozenset[int]:
    if isinstance(given, str) or not isinstance(given, Collection) or not given:
        raise InputError(f"The limits of {feature.name!r} must be a list of its values. Got {given!r}.")
    known = {(isinstance(label, bool), label): cell for cell, label in enumerate(feature.labels)}
    cells = set()
    for value in given:
        plain = value.item() if isinstance(value, np.generic) else value
        key = (isinstance(plain, bool), plain)
        if key not in known:
            raise InputError(f"The limits of {feature.name!r} must be among {list(feature.labels)}. Got {value!r}.")
        cells.add(known[key])
    return frozenset(cells)


def _bounds(name: str, given: Any) -> tuple[float | None, float | None]:
    pair = list(given) if isinstance(given, Collection) and not isinstance(given, str) else []
    low, high = pair if len(pair) == 2 and all(end is None or _is_number(end) for end in pair) else (math.nan, math.nan)
    ends = -math.inf if low is None else float(low), math.inf if high is None else float(high)
    if not ends[0] <= ends[1]:
        raise InputError(
            f"The limits of {name!r} must be two numbers (low, high), low <= high, or None for an open end. "
            f"Got {given!r}."
        )
    return (ends[0] if ends[0] > -math.inf else None), (ends[1] if ends[1] < math.inf else None)


def _scale(context: Context, f: int, given: Any) -> Fraction:
    name = context.space.names[f]
    if not _is_number(given) or not 0 < given < math.inf:
        raise InputError(f"The scale of {name!r} must be a positive number. Got {given!r}.")
    return exact_number(given)


def as_written(values: Sequence[Value], written: Mapping[int, float]) -> tuple[Value, ...]:
    """Return a row as people write it, with these numbers, by column, as they are written; texts stay."""
    found = list(values)
    for column, number in written.items():
        if not isinstance(found[column], str):
            found[column] = number
    return tuple(found)


_SPANS: WeakKeyDictionary[Context, dict[int, Fraction]] = WeakKeyDictionary()  # by feature; each takes all nodes


def spans(context: Context) -> list[Fraction]:
    """Return the span of each feature."""
    features, known = range(context.space.n_features), _SPANS.get(context, {})
    if len(known) < len(features):
        return [span(context, f) for f in features]
    return [known[f] for f in features]


def span(context: Context, f: int) -> Fraction:
    """Return the difference between the forest's first and last cut of a feature; 1 if it has fewer than two cuts."""
    known = _SPANS.setdefault(context, {})
    if f not in known:
        feature = context.space.features[f]
        first, last = _cuts(context.forest, feature) if isinstance(feature, NumericFeature) else (0.0, 0.0)
        known[f] = Fraction(last) - Fraction(first) or Fraction(1)
    return known[f]


def _be_on_time(deadline: float | None) -> None:
    if expired(deadline):
        raise TimeoutError


def _cuts(forest: Forest, feature: NumericFeature) -> Interval:
    cuts = forest.threshold[forest.splits_of(feature.column)]
    cuts = cuts[np.abs(cuts) < forest.floats.largest]
    if len(cuts) == 0:
        return 0.0, 0.0
    if feature.kind != "real":
        cuts = np.floor(cuts)
    return float(cuts.min()), float(cuts.max())


def _keeps(context: Context, limit: Restriction, row: Rows, written: Mapping[int, float]) -> bool:
    """Return whether a changed feature is within its limit, as written and as the model reads it."""
    feature = context.space.features[limit.feature]
    if limit.intervals is None:
        return limit.cells is not None and feature.cell(row.tolist()) in limit.cells
    column = feature.columns[0]
    inside = any(low <= written[column] <= high for low, high in limit.intervals)
    return inside and row.dtype.type(written[column]) == row[column]


def _units(value: float, fine: int) -> int:
    """Return one of the model's numbers in whole multiples of 1 / fine."""
    numerator, denominator = value.as_integer_ratio()
    return numerator * (fine // denominator)


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction | np.integer | np.floating):
        return False
    try:
        return not math.isnan(float(value))
    except OverflowError:
        return False
