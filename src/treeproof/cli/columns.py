"""What the columns of a table for training are: numbers, whole numbers, dates or categories, each said aloud."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from treeproof.cli.table import GAPS, are_whole, as_day, is_empty, is_number
from treeproof.errors import InputError

ROW_NUMBERS = {"", "unnamed: 0", "index", "id", "row"}  # names under which programs write row numbers
MOST_CATEGORIES = 200
FEW = 20  # so many different texts are categories in any table

Kind = Literal["number", "whole number", "date", "category", "dropped"]


@dataclass(frozen=True, slots=True)
class Reading:
    """How a column is read: its values as the model takes them, None where one is missing; or why it is dropped."""

    name: str
    kind: Kind
    values: tuple[Any, ...] = ()
    why: str = ""

    @property
    def n_gaps(self) -> int:
        """Number of missing values."""
        return sum(value is None for value in self.values)

    def __str__(self) -> str:
        remarks = [self.why] if self.why else []
        if self.kind == "category":
            remarks.append(f"{len(set(self.values) - {None})} values")
        if self.n_gaps:
            remarks.append(f"{self.n_gaps} missing")
        name = self.name or "the column without a name"
        return f"{name} ({', '.join(remarks)})" if remarks else name


def read_column(name: str, cells: Sequence[str], path: str, rows: Sequence[int] = ()) -> Reading:
    """Return how a column is read: numbers and days if all its cells are, else categories, if these are few.

    `rows` are the numbers of the cells' rows in the file, unless these are 0, 1, ...

    >>> read_column("opened", ["2024-02-28", "", "2024-02-29"], "data.csv").values
    (738944, None, 738945)
    >>> print(read_column("colour", ["red", "green", "NA", "red"], "data.csv"))
    colour (2 values, 1 missing)
    """
    given = [cell for cell in cells if not is_empty(cell)]
    if not given:
        return Reading(name, "dropped", why="empty")
    if all(map(is_number, given)):
        whole = are_whole(given, gaps=len(given) < len(cells))
        if whole and name.lower() in ROW_NUMBERS and len(set(given)) == len(cells):
            return Reading(name, "dropped", why="row numbers")
        numbers = tuple(None if is_empty(cell) else float(cell) for cell in cells)
        with np.errstate(over="ignore"):
            if not all(number is None or math.isfinite(np.float32(number)) for number in numbers):
                raise InputError(f"All numbers in {path} must be finite float32 values. Column {name!r} has others.")
        return Reading(name, "whole number" if whole else "number", numbers)
    if all(as_day(cell) is not None for cell in given):
        return Reading(name, "date", tuple(None if is_empty(cell) else as_day(cell) for cell in cells))
    return _read_categories(name, cells, path, rows or range(len(cells)))


def _read_categories(name: str, cells: Sequence[str], path: str, rows: Sequence[int]) -> Reading:
    texts = tuple(None if cell in GAPS else cell for cell in cells)
    given = [text for text in texts if text is not None]
    odd = [text for text in given if not is_number(text)]
    if 10 * len(odd) <= len(given):
        raise InputError(
            f"Column {name!r} of {path} has numbers, but {len(odd)} of its cells are none, such as {odd[0]!r} in row "
            f"{rows[texts.index(odd[0])]}. Correct them, or leave them empty."
        )
    distinct = set(given)
    if len(distinct) == 1 and len(given) == len(texts):
        return Reading(name, "dropped", why=f"always {given[0]!r}")
    if len(distinct) > FEW and 2 * len(distinct) > len(given):
        return Reading(name, "dropped", why=f"{len(distinct)} different texts in {len(given)} rows")
    if len(distinct) > MOST_CATEGORIES:
        return Reading(name, "dropped", why=f"{len(distinct)} different texts, more than {MOST_CATEGORIES}")
    return Reading(name, "category", texts)
