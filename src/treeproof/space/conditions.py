"""Conditions on one feature, as results state them."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass

from treeproof.model.columns import Label
from treeproof.model.floats import FLOATS, FloatName

Range = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on one feature: closed bounds, or a choice of named values; with neither, any value satisfies it.

    Bounds are numbers as the model reads them. Both are closed, because ``x > b`` would also be true of float64 inputs
    that round to b. `missing` says whether a missing value satisfies the condition; it is None if the feature cannot be
    missing, or if every value satisfies the condition. With several `ranges`, one of them must hold.

    Examples
    --------
    >>> print(Condition("age", low=18, high=65), "and", Condition("colour", values=("red",)))
    18 <= age <= 65 and colour = red
    >>> print(Condition("age", high=65, missing=True))
    age <= 65 or missing
    """

    name: str
    low: float | None = None
    high: float | None = None
    values: tuple[Label | None, ...] | None = None
    missing: bool | None = None
    ranges: tuple[Range, ...] = ()
    dtype: FloatName = "float32"
    date: bool = False

    def __repr__(self) -> str:
        return f"<Condition: {self}>"

    def __str__(self) -> str:
        if self.values is not None:
            shown = list(dict.fromkeys(show_label(value) for value in self.values))  # a label may be called "missing"
            return f"{self.name} = {shown[0]}" if len(shown) == 1 else f"{self.name} in {{{', '.join(shown)}}}"
        if not self.ranges and self.low is None and self.high is None:
            return f"{self.name} is {'any value' if self.missing is None else 'not missing'}"
        ranges = self.ranges or ((self.low, self.high),)
        return " or ".join([*(self._show(*ends) for ends in ranges), *(["missing"] if self.missing else [])])

    def _show(self, low: float | None, high: float | None) -> str:
        shortest = show_day if self.date else FLOATS[self.dtype].shortest
        if low is not None and low == high:
            return f"{self.name} = {shortest(low)}"
        parts = [None if low is None else shortest(low), self.name, None if high is None else shortest(high)]
        if high is None and low is not None:
            return f"{self.name} >= {shortest(low)}"
        return " <= ".join(part for part in parts if part is not None)


def show_day(number: float) -> str:
    """Return a day number as a date.

    >>> show_day(738945.0)
    '2024-02-29'
    """
    return "missing" if math.isnan(number) else datetime.date.fromordinal(int(number)).isoformat()


def show_label(label: Label | None) -> str:
    """Return a named value as text; None means missing."""
    return "missing" if label is None else str(label)
