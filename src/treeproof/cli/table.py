"""CSV files with a header line, plain or gzipped, read without guessing.

With the csv module, not pandas: cells stay text until the model's columns say what they are, and no library is needed.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treeproof.errors import InputError, did_you_mean
from treeproof.model.columns import Column, Label
from treeproof.model.rows import as_wanted

TABLES = (".csv", ".tsv", ".gz", ".data")  # endings of tables, never of models
_MISSING = {"nan", "na", "none", "null", "?"}


@dataclass(frozen=True)
class Table:
    """The header and the rows of a CSV file, all as text."""

    path: str
    header: list[str]
    rows: list[list[str]]

    def row(self, index: int, columns: tuple[Column, ...]) -> list[Any]:
        """Return row `index` (from 0) as the model expects it: columns matched by name, numbers parsed."""
        self.check(index)
        cells = self.rows[index]
        return [
            self._value(cells[place], column, index)
            for place, column in zip(self._places(columns), columns, strict=True)
        ]

    def texts(self, names: Sequence[str]) -> list[list[str]]:
        """Return the cells of all rows in these columns, as they are."""
        places = self._places(tuple(Column(name) for name in names))
        return [[cells[place] for place in places] for cells in self.rows]

    def check(self, index: int) -> None:
        """Raise InputError unless the row exists."""
        if not 0 <= index < len(self.rows):
            raise InputError(
                f"The row must be between 0 and {len(self.rows) - 1}: {self.path} has {len(self.rows)} rows, counted "
                f"from 0. Got {index}."
            )

    def _places(self, columns: tuple[Column, ...]) -> list[int]:
        names = [column.name for column in columns]
        header = as_wanted(self.header, names)
        if set(names) <= set(header):
            return [header.index(name) for name in names]
        if all(re.fullmatch(r"x\d+", name) for name in names) and len(self.header) in (
            len(names),
            len(names) + 1,
        ):
            return list(
                range(len(names))
            )  # a model without column names: its columns come first, then possibly the class
        missing = [name for name in names if name not in self.header]
        near = "".join(did_you_mean(name, self.header) for name in missing[:1])
        raise InputError(
            f"{self.path} must have the model's columns. Missing: {_few(missing)}. "
            f"Its header: {_few(self.header)}.{near}"
        )

    def _value(self, text: str, column: Column, index: int) -> Any:
        empty = is_empty(text)
        if column.categories is not None:
            if empty and None in column.categories:
                return math.nan if column.gap == "NaN" else None
            known = next((category for category in column.categories if str(category) == text), None)
            if known is None and column.other is not None and column.numbers:
                return self.number(text, column.name, index)
            return text if known is None else known
        return None if empty and column.missing != "never" else self.number(text, column.name, index)

    def number(self, text: str, name: str, index: int) -> float:
        """Return a cell as a number."""
        try:
            return float(text)
        except ValueError:
            got = repr(text) if text.strip() else "an empty cell"
            comma = " Write a decimal point, not a comma." if re.fullmatch(r"[-+]?\d+,\d+", text) else ""
            raise InputError(
                f"Column {name!r} must be a number in {self.path}, row {index}. Got {got}.{comma}"
            ) from None


def is_empty(text: str) -> bool:
    """Return whether a cell means a missing value."""
    return not text.strip() or text.strip().lower() in _MISSING


def read_table(path: str) -> Table:
    """Read a CSV file; every row must have as many cells as the header.

    Cells are separated by commas or, if the header has these instead, by semicolons or tabs.
    """
    opener = gzip.open if Path(path).suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            text = file.read()
        lines = _cells(text)
    except (UnicodeDecodeError, csv.Error, gzip.BadGzipFile, EOFError) as error:
        raise InputError(f"{path} must be a CSV text file. Got: {error}.") from error
    if not lines:
        raise InputError(f"{path} must have a header line and rows. Got an empty file.")
    if text.lstrip().startswith(("{", "[{")):
        raise InputError(f"{path} must be a CSV file with a header. Got JSON; is it a model?")
    header = [name.strip() for name in lines[0]]
    if len(set(header)) < len(header):
        raise InputError(f"The column names in the first line of {path} must differ. Got {header}.")
    rows = [[cell.strip() for cell in line] for line in lines[1:]]
    for index, row in enumerate(rows):
        if len(row) != len(header):
            raise InputError(f"Row {index} of {path} must have {len(header)} cells, like the header. Got {len(row)}.")
    if not rows:
        raise InputError(f"{path} must have at least one row below its header.")
    return Table(path, header, rows)


def _cells(text: str) -> list[list[str]]:
    lines = [line for line in csv.reader(io.StringIO(text, newline="")) if line]
    if lines and len(lines[0]) == 1:
        for separator in ";\t":
            if separator in lines[0][0]:
                return [line for line in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if line]
    return lines


def _few(names: list[str], limit: int = 8) -> str:
    more = f", ... {len(names) - limit} more" if len(names) > limit else ""
    return f"[{', '.join(map(repr, names[:limit]))}{more}]"


def as_labels(texts: list[str]) -> list[Label]:
    """Return class labels as whole numbers if all are, else as text."""
    try:
        return [int(text) for text in texts]
    except ValueError:
        return list(texts)
