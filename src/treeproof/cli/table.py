"""CSV files with a header line, plain or gzipped, read without guessing.

With the csv module, not pandas: cells stay text until the model's columns say what they are, and no library is needed.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import re
import shlex
import sys
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treeproof.errors import InputError, did_you_mean
from treeproof.model.columns import Column, Label
from treeproof.model.files import MAX_MB
from treeproof.model.rows import as_wanted, day_number
from treeproof.space.features import NumericKind

TABLES = (".csv", ".tsv", ".gz", ".data")  # endings of tables, never of models
STANDARD_INPUT = "-"
# Texts that pandas reads as missing. Among numbers and dates, so are they in any spelling; a category "none" is a name.
GAPS = {"", "?", "#N/A", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"}
_ANY_GAPS = {text.lower() for text in GAPS}
_DAY = re.compile(r"(\d{4}-\d\d-\d\d)([ T]00:00(:00(\.0+)?)?)?", re.ASCII)
_WHOLE = re.compile(r"[-+]?\d+", re.ASCII)
_TRUTH = {"true": 1.0, "false": 0.0}
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|[-+]?inf(inity)?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class Table:
    """The header and the rows of a CSV file, all as text."""

    path: str
    header: list[str]
    rows: list[list[str]]

    def row(self, index: int, columns: tuple[Column, ...], named: int | None = None) -> list[Any]:
        """Return row `index` (from 0) as the model expects it: columns matched by name, numbers parsed.

        An error names the row by its number, or by `named` if the table is a part of a file.
        """
        self.check(index)
        cells = self.rows[index]
        return [
            self._value(cells[place], column, index if named is None else named)
            for place, column in zip(self.places(columns), columns, strict=True)
        ]

    def values(self, columns: tuple[Column, ...]) -> list[tuple[Any, ...]]:
        """Return all rows as `row` does; what it costs to find the columns is paid once."""
        read = []
        for place, column in zip(self.places(columns), columns, strict=True):
            known: dict[str, Any] = {}  # most columns repeat themselves
            for i, cells in enumerate(self.rows):
                if cells[place] not in known:
                    known[cells[place]] = self._value(cells[place], column, i)
            read.append([known[cells[place]] for cells in self.rows])
        return list(zip(*read, strict=True))

    def texts(self, names: Sequence[str]) -> list[list[str]]:
        """Return the cells of all rows in these columns, as they are."""
        places = self.places(tuple(Column(name) for name in names))
        return [[cells[place] for place in places] for cells in self.rows]

    def kinds(self, columns: tuple[Column, ...]) -> dict[str, NumericKind]:
        """Return the kinds of numeric columns as the cells of all rows tell them, where they do.

        "integer" is as `are_whole` says; "binary" are True and False; "real": some number is a fraction.
        """
        found: dict[str, NumericKind] = {}
        for place, column in zip(self.places(columns), columns, strict=True):
            cells = {row[place] for row in self.rows}
            given = [cell for cell in cells if not is_empty(cell)]
            if column.categories is not None or column.date or not given:
                continue
            if are_whole(given, gaps=len(given) < len(cells)):
                found[column.name] = "integer"
            elif all(cell.lower() in _TRUTH for cell in given):
                found[column.name] = "binary"
            elif any(is_number(cell) and not float(cell).is_integer() for cell in given):
                found[column.name] = "real"
        return found

    def check(self, index: int) -> None:
        """Raise InputError unless the row exists."""
        if not 0 <= index < len(self.rows):
            raise InputError(
                f"The row must be between 0 and {len(self.rows) - 1}: {self.path} has {len(self.rows)} rows, counted "
                f"from 0. Got {index}."
            )

    def places(self, columns: tuple[Column, ...]) -> list[int]:
        """Return where the model's columns are in the header; InputError if one is not."""
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
            f"{self.path} must have the model's columns. Missing: {few(missing)}. Its header: {few(self.header)}.{near}"
        )

    def _value(self, text: str, column: Column, index: int) -> Any:
        empty = is_empty(text)
        if column.categories is not None:
            named = (category for category in column.categories if category is not None and str(category) == text)
            known = next(named, None)
            if known is None and text in GAPS and None in column.categories:
                return math.nan if column.gap == "NaN" else None
            if known is None and column.other is not None and column.numbers:
                return self.number(text, column.name, index)
            return text if known is None else known
        if empty and column.missing != "never":
            return None
        day = as_day(text) if column.date else None
        return self.number(text, column.name, index) if day is None else day

    def number(self, text: str, name: str, index: int) -> float:
        """Return a cell as a number."""
        if is_number(text) or text.lower() in ("nan", "-nan", "+nan"):
            return float(text)
        if text.lower() in _TRUTH:
            return _TRUTH[text.lower()]
        got = repr(text) if text.strip() else "an empty cell"
        hint = ""
        if re.fullmatch(r"[-+]?\d+,\d+", text):
            hint = " Write a decimal point, not a comma."
        elif re.fullmatch(r"[-+]?\d+(_\d+)+", text):
            hint = " Write digits without underscores."
        elif as_day(text) is not None:
            hint = f" If the model was trained with toordinal() of these dates, say so: --date {shlex.quote(name)}."
        raise InputError(f"Column {name!r} must be a number in {self.path}, row {index}. Got {got}.{hint}")


def is_empty(text: str) -> bool:
    """Return whether a cell means a missing value."""
    return text.strip().lower() in _ANY_GAPS


def as_day(text: str) -> int | None:
    """Return a cell such as ``2024-02-29``, also with a time of midnight, as the number of a day; None if it is none.

    >>> as_day("2024-02-29"), as_day("2024-02-29 00:00:00"), as_day("2024-02-30")
    (738945, 738945, None)
    """
    match = _DAY.fullmatch(text)
    if match is None:
        return None
    try:
        return day_number(match[1])
    except InputError:
        return None


def is_number(text: str) -> bool:
    """Return whether a cell is a number as programs write it. (Python's own ``1_000`` is none.)

    >>> is_number("-1.5e3"), is_number("1_000"), is_number("٣")
    (True, False, False)
    """
    return _NUMBER.fullmatch(text) is not None


def are_whole(cells: Iterable[str], gaps: bool = False) -> bool:
    """Return whether all cells are whole numbers; with a decimal point only beside gaps, where pandas writes one.

    >>> are_whole(["-12", "3"]), are_whole(["12.0"]), are_whole(["12.0", "3"], gaps=True)
    (True, False, True)
    """
    return all(
        _WHOLE.fullmatch(text) or (gaps and _NUMBER.fullmatch(text) and float(text).is_integer()) for text in cells
    )


def read_table(path: str, max_mb: float = MAX_MB) -> Table:
    """Read a CSV file, or standard input if the path is ``-``; every row must have as many cells as the header.

    Cells are separated by commas or, if the header has these instead, by semicolons or tabs. A compressed file must
    not hold more than `max_mb` million bytes.
    """
    content = sys.stdin.buffer.read() if path == STANDARD_INPUT else Path(path).read_bytes()
    path = "standard input" if path == STANDARD_INPUT else path
    try:
        if Path(path).suffix == ".gz" or content.startswith(b"\x1f\x8b"):
            content = _decompressed(path, content, max_mb)
        text = content.decode("utf-8-sig")
        lines = _cells(text)
    except (UnicodeDecodeError, csv.Error, gzip.BadGzipFile, zlib.error, EOFError) as error:
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


def _decompressed(path: str, content: bytes, max_mb: float) -> bytes:
    most = int(max_mb * 1e6)
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
        found = file.read(most + 1)
    if len(found) > most:
        raise InputError(
            f"{path} must not hold more than {max_mb:g} MB when it is decompressed. If it may, allow more: --max-mb N."
        )
    return found


def _cells(text: str) -> list[list[str]]:
    lines = [line for line in csv.reader(io.StringIO(text, newline="")) if line]
    if lines and len(lines[0]) == 1:
        for separator in ";\t":
            if separator in lines[0][0]:
                return [line for line in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if line]
    return lines


def few(names: Sequence[str], limit: int = 8) -> str:
    """Return the first of some names, and how many more there are."""
    more = f", ... {len(names) - limit} more" if len(names) > limit else ""
    return f"[{', '.join(map(repr, names[:limit]))}{more}]"


def as_labels(texts: list[str]) -> list[Label]:
    """Return class labels as whole numbers if all are, else as text."""
    return [int(text) for text in texts] if are_whole(texts) else list(texts)
