"""The inputs near a row: no feature moves by more than a part, the radius, of its scale.

A cell belongs to the ball iff some value of it does. All values of a cell act alike, so a proof over these cells is
one about the inputs of the ball, and a witness in them has a row in the ball: the one that is nearest to the row.

Distances are exact. A number's is its difference, read as the model does, divided by the feature's scale; that of
another named value is 1 divided by the scale; from a missing value to a number, or back, it is 1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from treeproof.model.columns import Rows
from treeproof.model.floats import as_float, rounded_down
from treeproof.space.domains import Cells, Domain, as_domain
from treeproof.space.features import Feature, NumericFeature
from treeproof.space.space import Space

_SLACK = 2.0**-50  # of the numbers at hand: more than floats are off
_TINY = 2.0**-1000  # below it they may be off by more


@dataclass(frozen=True, slots=True)
class Ball:
    """How far the features of an input may move: by `radius` times their scale; `measure` says what the scales are.

    An `open` ball ends just before its radius.
    """

    radius: Fraction
    scales: tuple[Fraction, ...]
    measure: str
    open: bool = False

    def domains(self, space: Space, row: Rows, point: Cells) -> tuple[Domain, ...]:
        """Return the cells of each feature that some input of the ball around a row has; `point` has its own."""
        known = self._at_once(space, row, point)
        return tuple(
            domain or self._domain(feature, self.radius * scale, row, own)
            for feature, scale, own, domain in zip(space.features, self.scales, point, known, strict=True)
        )

    def _at_once(self, space: Space, row: Rows, point: Cells) -> Iterable[range | None]:
        """Return those of the domains that floats tell for certain; the others are None."""
        if space.cuts is None or np.isnan(row).any() or 0 < self.radius < _TINY:
            return itertools.repeat(None, space.n_features)
        values, radius = row.astype(np.float64), as_float(self.radius)
        scales = np.array(list(map(as_float, self.scales)))
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            near = radius * scales
            slack = (np.abs(values) + near) * _SLACK
            inner = space.cuts.between(values - near + slack, values + near - slack)
            outer = space.cuts.between(values - near - slack, values + near + slack)
            certain = (np.minimum(slack, scales) > _TINY) & np.isfinite(values + near + slack)
        (first, last), own = inner, np.array(point)
        certain &= (
            (radius == 0 or radius > _TINY) & (first == outer[0]) & (last == outer[1]) & (first <= own) & (own <= last)
        )
        pairs = zip(certain.tolist(), first.tolist(), (last + 1).tolist(), strict=True)
        return (range(begin, end) if known else None for known, begin, end in pairs)

    def reaches(self, f: int, before: float, after: float) -> bool:
        """Return whether a numeric feature may move to a number, from another or from a missing value."""
        if math.isnan(before):
            return self._spans(self.radius)
        far, reach = abs(Fraction(after) - Fraction(before)), self.radius * self.scales[f]
        return far < reach or (far == reach and not self.open)

    def _domain(self, feature: Feature, reach: Fraction, row: Rows, own: int) -> Domain:
        cells = {own}
        if not isinstance(feature, NumericFeature) or own == feature.missing_cell:
            if self._spans(self.radius if isinstance(feature, NumericFeature) else reach):
                cells.update(range(feature.n_cells))
        else:
            numbers = self._numbers(feature, reach, float(row[feature.column]))
            if isinstance(numbers, range) and own in numbers:
                return numbers
            cells.update(numbers)
            if self._spans(self.radius) and feature.missing_cell is not None:
                cells.add(feature.missing_cell)
        return as_domain(frozenset(cells), feature.ordered)

    def _numbers(self, feature: NumericFeature, reach: Fraction, value: float) -> Sequence[int]:
        """Return the cells of numbers within reach of a value."""
        near = as_float(reach)
        slack = (abs(value) + near) * _SLACK
        if slack > _TINY and math.isfinite(value + near + slack):
            inner = feature.between(value - near + slack, value + near - slack)
            if inner == feature.between(value - near - slack, value + near + slack):
                return inner
        exact = Fraction(value)
        return feature.between(-self._last(reach - exact), self._last(exact + reach))

    def _spans(self, reach: Fraction) -> bool:
        """Return whether a distance of 1 is within reach."""
        return reach > 1 or (reach == 1 and not self.open)

    def _last(self, end: Fraction) -> float:
        """Return the largest number up to an end of the ball."""
        last = rounded_down(end)
        return math.nextafter(last, -math.inf) if self.open and last == end else last
