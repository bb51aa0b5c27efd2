"""Tables that need not fit into memory: Parquet files, or one CSV file, in parts of many rows, read in blocks."""

from __future__ import annotations

import csv
import gzip
import io
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from treeproof.cli.table import STANDARD_INPUT, Table
from treeproof.errors import InputError
from treeproof.model.columns import Column, Rows
from treeproof.model.frames import Form, Origin
from treeproof.model.rows import as_rows, one_by_one
from treeproof.questions.arrow import pyarrow

BLOCK = 8192  # rows that are in memory at a time
LEARNT = 100_000  # rows from whose values the explainer learns kinds and scales

Lines = Rows | Sequence[Rows | InputError]


@dataclass(frozen=True)
class Part:
    """Rows of an input file, which become one output file of the same name."""

    name: str
    path: str
    begin: int
    n_rows: int
    size: int
    """Bytes of the file: another size is another input."""


@dataclass(frozen=True)
class Block:
    """Some rows of a part, as the forest takes them or with an error in their place, and the columns that are kept.

    `first` is the number of the first one in its file.
    """

    first: int
    rows: Lines
    origins: Sequence[Origin]
    kept: Any


class Stream:
    """The rows of blocks, numbered from 0; blocks are read when they are asked for, in order.

    Those before the last row that was `kept` are forgotten. A pool of workers asks from threads of its own.
    """

    def __init__(self, blocks: Iterator[Block]) -> None:
        self._blocks = blocks
        self._held: list[tuple[int, Block]] = []  # each with the number of its first row
        self._end = 0  # of what was read
        self._lock = threading.Lock()

    def some(self, begin: int, end: int) -> tuple[int, Lines, Sequence[Origin]]:
        """Return the number of the first of these rows in its file, the rows, and where they came from."""
        parts = list(self._between(begin, end))
        first, last, block = parts[0]
        number = block.first + first
        if len(parts) == 1:
            return number, block.rows[first:last], block.origins[first:last]
        rows: list[Any] = [row for first, last, block in parts for row in block.rows[first:last]]
        whole = all(isinstance(block.rows, np.ndarray) for _, _, block in parts)
        origins = [origin for first, last, block in parts for origin in block.origins[first:last]]
        return number, np.array(rows) if whole else rows, origins

    def kept(self, begin: int, end: int) -> Any:
        """Return the columns of these rows that are kept; none of the rows is asked for again."""
        parts = [block.kept.slice(first, last - first) for first, last, block in self._between(begin, end)]
        with self._lock:
            while len(self._held) > 1 and self._held[1][0] <= end:
                self._held.pop(0)
        return parts[0] if len(parts) == 1 else pyarrow().concat_tables(map(_as_table, parts))

    def _between(self, begin: int, end: int) -> Iterator[tuple[int, int, Block]]:
        """Yield the blocks that have these rows, and where in them."""
        with self._lock:
            while self._end < end or not self._held:
                block = next(self._blocks)
                self._held.append((self._end, block))
                self._end += len(block.origins)
            held = list(self._held)
        found = [(max(begin - at, 0), min(end - at, len(block.origins)), block) for at, block in held]
        yield from [part for part in found if part[0] < part[1]] or [(0, 0, held[0][1])]


def _as_table(kept: Any) -> Any:
    pa = pyarrow()
    return pa.Table.from_batches([kept]) if isinstance(kept, pa.RecordBatch) else kept


class ParquetInput:
    """A Parquet file, or a folder of such; a file of very many rows is several parts."""

    def __init__(self, path: str, part_rows: int) -> None:
        pyarrow()
        files = sorted(Path(path).rglob("*.parquet")) if Path(path).is_dir() else [Path(path)]
        files = [file for file in files if not file.name.startswith((".", "_"))]
        if not files:
            raise InputError(f"The folder must hold Parquet files, which end in .parquet. {path} has none.")
        root = Path(path) if Path(path).is_dir() else Path(path).parent
        self.parts: list[Part] = []
        self.broken: dict[str, str] = {}
        for file in files:
            name = str(file.relative_to(root).with_suffix("")).replace(os.sep, "--")
            try:
                n_rows, size = _opened(file).metadata.num_rows, file.stat().st_size
            except (OSError, ValueError) as error:  # pyarrow's errors are of these kinds
                self.broken[name] = f"{file} cannot be read: {error}"
                continue
            begins = range(0, n_rows, part_rows) or [0]
            self.parts += [
                Part(
                    name if len(begins) == 1 else f"{name}-{k:05d}",
                    str(file),
                    begin,
                    min(part_rows, n_rows - begin),
                    size,
                )
                for k, begin in enumerate(begins)
            ]
        if not self.parts:
            raise InputError(next(iter(self.broken.values())))

    def head(self) -> Table:
        """Return the first rows as text, from which the explainer learns what the options leave open."""
        path = self.parts[0].path
        block = next(_opened(path).iter_batches(batch_size=LEARNT), None)
        if block is None or not block.num_rows:
            raise InputError(f"{path} must have at least one row.")
        columns = [["" if value is None else str(value) for value in column.to_pylist()] for column in block.columns]
        return Table(path, list(block.schema.names), [list(row) for row in zip(*columns, strict=True)])

    def blocks(self, part: Part, columns: tuple[Column, ...], form: Form, keys: Sequence[str]) -> Iterator[Block]:
        """Yield the rows of a part."""
        file = _opened(part.path)
        there = file.schema_arrow.names
        missing = [key for key in keys if key not in there]
        if missing:
            raise InputError(f"--key must name columns of {part.path}. It has no {missing[0]!r}.")
        wanted = [column.name for column in columns]
        # A model without names of columns takes them by their order.
        read = list(dict.fromkeys([*wanted, *keys])) if set(wanted) <= set(there) else None
        if not part.n_rows:
            yield Block(0, [], [], file.schema_arrow.empty_table().select(list(keys)))
            return
        groups, skip = _groups(file, part)
        at, end = part.begin - skip, part.begin + part.n_rows
        for batch in file.iter_batches(batch_size=BLOCK, row_groups=groups, columns=read):
            begin, at = at, at + batch.num_rows
            first, last = max(begin, part.begin), min(at, end)
            if first < last:
                found = batch.slice(first - begin, last - first)
                frame = found.to_pandas()
                origins = [Origin(None, form.of(frame))] * len(frame)
                yield Block(first, _numbers(frame, columns, form), origins, found.select(list(keys)))


def _opened(path: Any) -> Any:
    from pyarrow import parquet

    return parquet.ParquetFile(path)


def _groups(file: Any, part: Part) -> tuple[list[int], int]:
    """Return the row groups that have rows of a part, and how many rows of the first one are before it."""
    groups: list[int] = []
    skip = begin = 0
    for k in range(file.metadata.num_row_groups):
        end = begin + file.metadata.row_group(k).num_rows
        if begin < part.begin + part.n_rows and end > part.begin:
            skip = skip if groups else part.begin - begin
            groups.append(k)
        begin = end
    return groups, skip


def _numbers(X: Any, columns: tuple[Column, ...], form: Form) -> Lines:
    try:
        return as_rows(X, columns, form.floats)
    except InputError:
        return one_by_one(X, columns, form.floats)


class CsvInput:
    """A CSV file, plain or gzipped, in parts; cells are read as for one row."""

    def __init__(self, path: str, part_rows: int) -> None:
        if path == STANDARD_INPUT:
            raise InputError("A folder of results needs a file, which can be read again to go on. Got standard input.")
        self._path, self.broken = path, dict[str, str]()
        self._reading: tuple[int, Iterator[list[str]]] | None = None  # from which row on, and the rows
        with self._lines() as (header, lines):
            self._header = header
            n_rows = sum(1 for _ in lines)
        if not n_rows:
            raise InputError(f"{path} must have at least one row below its header.")
        name, size = Path(path).name.split(".")[0], Path(path).stat().st_size
        begins = range(0, n_rows, part_rows)
        self.parts = [
            Part(name if len(begins) == 1 else f"{name}-{k:05d}", path, begin, min(part_rows, n_rows - begin), size)
            for k, begin in enumerate(begins)
        ]

    @contextmanager
    def _lines(self) -> Iterator[tuple[list[str], Iterator[list[str]]]]:
        """Give the header and an iterator of the cells of each row."""
        with _opened_text(self._path) as file:
            try:
                first = file.readline()
                names = next(csv.reader([first]), [])
                separator = next((mark for mark in ";\t" if len(names) == 1 and mark in names[0]), ",")
                header = [name.strip() for name in next(csv.reader([first], delimiter=separator), [])]
                if len(set(header)) < len(header) or not header:
                    raise InputError(f"The column names in the first line of {self._path} must differ. Got {header}.")
                yield header, (line for line in csv.reader(file, delimiter=separator) if line)
            except (UnicodeDecodeError, csv.Error, gzip.BadGzipFile, EOFError) as error:
                raise InputError(f"{self._path} must be a CSV text file. Got: {error}.") from error

    def head(self) -> Table:
        """Return the first rows, from which the explainer learns what the options leave open."""
        with self._lines() as (header, lines):
            rows = [[cell.strip() for cell in line] for line in islice(lines, LEARNT)]
        return Table(self._path, header, [row for row in rows if len(row) == len(header)])

    def blocks(self, part: Part, columns: tuple[Column, ...], form: Form, keys: Sequence[str]) -> Iterator[Block]:
        """Yield the rows of a part."""
        pa = pyarrow()
        missing = [key for key in keys if key not in self._header]
        if missing:
            raise InputError(f"--key must name columns of {part.path}. It has no {missing[0]!r}.")
        places = [self._header.index(key) for key in keys]
        Table(part.path, self._header, []).places(columns)  # names must fit
        begin, end, lines = part.begin, part.begin + part.n_rows, self._from(part.begin)
        while some := [[cell.strip() for cell in line] for line in islice(lines, min(BLOCK, end - begin))]:
            self._reading = begin + len(some), lines
            table = Table(part.path, self._header, some)
            origins = [Origin(None, form)] * len(some)
            kept = {
                key: pa.array([row[place] if place < len(row) else None for row in some], pa.string())
                for key, place in zip(keys, places, strict=True)
            }
            yield Block(begin, _numbers_of(table, columns, form, begin), origins, pa.table(kept))
            begin += len(some)

    def _from(self, begin: int) -> Iterator[list[str]]:
        """Return the rows from one on: parts are read one after the other, the file once."""
        at, lines = self._reading or (0, self._all())
        if at > begin:
            at, lines = 0, self._all()
        return islice(lines, begin - at, None)

    def _all(self) -> Iterator[list[str]]:
        with self._lines() as (_, lines):
            yield from lines


def _numbers_of(table: Table, columns: tuple[Column, ...], form: Form, begin: int) -> Lines:
    """Return the rows of a table of text as numbers: all at once, which is faster, unless one has an error."""
    if all(len(row) == len(table.header) for row in table.rows):
        with suppress(InputError):
            return as_rows(table.values(columns), columns, form.floats)
    return [_parsed(table, i, columns, form, begin) for i in range(len(table.rows))]


def _parsed(table: Table, i: int, columns: tuple[Column, ...], form: Form, begin: int) -> Rows | InputError:
    cells = table.rows[i]
    if len(cells) != len(table.header):
        return InputError(f"The row must have {len(table.header)} cells, like the header. Got {len(cells)}.")
    try:
        return as_rows([table.row(i, columns, named=begin + i)], columns, form.floats)[0]
    except InputError as error:
        return error


@contextmanager
def _opened_text(path: str) -> Iterator[TextIO]:
    with open(path, "rb") as raw:
        zipped = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        with io.TextIOWrapper(gzip.GzipFile(fileobj=raw) if zipped else raw, encoding="utf-8-sig", newline="") as text:
            yield text


def is_parquet(path: str) -> bool:
    """Return whether a path is that of a Parquet file, or of a folder."""
    return Path(path).is_dir() or Path(path).suffix.lower() == ".parquet"


def open_input(path: str, part_rows: int) -> ParquetInput | CsvInput:
    """Return the parts of a table, which may have any size."""
    if not os.path.exists(path) and path != STANDARD_INPUT:
        raise InputError(f"The table must be a CSV file, a Parquet file or a folder of such. There is no {path}.")
    return ParquetInput(path, part_rows) if is_parquet(path) else CsvInput(path, part_rows)
