"""What a model reads and returns: columns, rows, labels, and the arrays that hold them."""

from __future__ import annotations

import itertools
import math
import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from treeproof.errors import InputError, is_list

Label = str | int | float | bool
Value = float | Label | None
"""A value in a table, as users write it; None and NaN are missing."""
Missing = Literal["never", "possible", "expected"]
Gap = Literal["either", "NaN", "None"]

IntArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Rows = npt.NDArray[Any]
"""Rows of a forest's own numbers, float32 or float64; a missing value is NaN."""

LEAF = -1
_TOO_LARGE = 2**31


@dataclass(frozen=True, slots=True)
class Column:
    """One input column of a model: its name and, if it is categorical, its categories.

    A categorical column holds the index of a category; the category None means a missing value. A numeric column
    (``categories is None``) holds a finite number, from `low` to `high`: steps in front of the model may refuse others.
    `missing` says whether it may be missing as well: ``"never"`` (the
    model refuses that), ``"possible"`` (it has a place for it), or ``"expected"`` (and was made for such data). With
    `date`, its numbers count days (``datetime.date.toordinal``), and rows may hold dates for it. `gap` says how a
    missing category is written, where the model tells NaN from None; pandas.NA and the like count as NaN. `other` is
    the category, if any, that stands for every value without a category of its own: the model takes these, and treats
    them all alike. It stands for whole numbers only, if the others are these; for finite numbers only, if the others
    are numbers; else for text only. `other_expected` says that the model was made for such values, as those are that
    number their categories themselves; otherwise the model only has a place for them, and they are declared. `integer`
    says that the numbers in the column are whole.

    Examples
    --------
    >>> Column("colour", ("red", "green")).categories
    ('red', 'green')
    """

    name: str
    categories: tuple[Label | None, ...] | None = None
    missing: Missing = "never"
    date: bool = False
    gap: Gap = "either"
    other: str | None = None
    low: float = -math.inf
    high: float = math.inf
    other_expected: bool = True
    integer: bool = False

    def __post_init__(self) -> None:
        if not (self.categories is None or is_list(self.categories)):
            raise InputError(f"Column {self.name!r} needs a list of categories. Got {self.categories!r}.")
        if self.categories is not None:
            plain = tuple(c.item() if isinstance(c, np.generic) else c for c in self.categories)
            object.__setattr__(self, "categories", plain)

    def category(self, code: int) -> Value:
        """Return a category as the model takes it."""
        assert self.categories is not None
        found = self.categories[code]
        if found is not None and found == self.other:
            return self.unlisted()
        return math.nan if found is None and self.gap == "NaN" else found

    @property
    def other_code(self) -> int | None:
        """Index of the category `other`, if there is one."""
        return None if self.other is None or self.categories is None else self.categories.index(self.other)

    @property
    def listed(self) -> list[Label]:
        """The categories, apart from a missing value and the other values."""
        return [c for c in self.categories or () if c is not None and c != self.other]

    @property
    def whole(self) -> bool:
        """Whether the listed categories are whole numbers."""
        return all(isinstance(c, int) and not isinstance(c, bool) for c in self.listed)

    @property
    def numbers(self) -> bool:
        """Whether the listed categories are numbers."""
        return all(isinstance(c, int | float) and not isinstance(c, bool) for c in self.listed)

    def unlisted(self) -> Value:
        """Return a value without a category of its own; the category `other` stands for it.

        >>> Column("code", (3, 5, "other"), other="other").unlisted()
        6
        >>> Column("size", (3.5, 5.0, "other"), other="other").unlisted()
        6.0
        >>> Column("city", ("Bern", "other"), other="other").unlisted()
        'other'
        """
        if not self.numbers:
            return self.other
        largest = max((float(c) for c in self.listed), default=0.0)
        start = math.floor(largest) + 1 if abs(largest) < _TOO_LARGE - 1 else 0
        number = next(n for n in itertools.count(start) if n not in self.listed)
        return number if self.whole else float(number)

    def stands_for(self, value: object) -> bool:
        """Return whether the category `other` stands for a value that is not listed."""
        if self.other is None:
            return False
        if not self.numbers:
            # An array of text loses what is zero at the end, and then holds another text.
            return isinstance(value, str) and not value.endswith("\0")
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        if self.whole:
            # Models may turn numbers into 32-bit integers: undefined beyond them, and cutting off fractions.
            return abs(value) < _TOO_LARGE and value == int(value)
        # Steps turn whole numbers into floats, and might take those that are rounded for a listed one.
        return abs(value) <= sys.float_info.max and value == float(value)


class Columns(tuple[Column, ...]):
    """The input columns of a model."""

    @cached_property
    def take_all(self) -> bool:
        """Whether every finite number may stand in every column."""
        return all(c.categories is None and (c.low, c.high) == (-math.inf, math.inf) for c in self)
