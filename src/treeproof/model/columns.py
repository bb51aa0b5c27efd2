"""What a model reads and returns: columns, rows, labels, and the arrays that hold them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from treeproof.errors import InputError

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
    them all alike. If the others are whole numbers, it stands for whole numbers only.

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

    def __post_init__(self) -> None:
        if isinstance(self.categories, str):
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
    def whole(self) -> bool:
        """Whether the categories are whole numbers, apart from a missing value and the other values."""
        listed = [c for c in self.categories or () if c is not None and c != self.other]
        return all(isinstance(c, int) and not isinstance(c, bool) for c in listed)

    def unlisted(self) -> Value:
        """Return a value without a category of its own; the category `other` stands for it.

        >>> Column("code", (3, 5, "other"), other="other").unlisted()
        6
        """
        assert self.categories is not None
        if self.whole:
            return max((c for c in self.categories if isinstance(c, int)), default=0) + 1
        name = str(self.other)
        while name in self.categories:
            name += "?"
        return name
