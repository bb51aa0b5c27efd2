"""The rows to explain: ``--row``, ``--rows``, ``--all`` and ``--where``, the same for every command."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence

from treeproof.cli.options import section
from treeproof.cli.table import Table, as_day, is_empty, is_number
from treeproof.errors import InputError
from treeproof.space.grammar import Bounds, Either, ParsedCondition, parse_conditions

_PART = re.compile(r"(\d+)|(\d*):(\d*)")


def add_rows(parser: argparse.ArgumentParser, *, default: str = "0") -> None:
    """Declare the options; `default` applies without them: ``"all"``, or a text as for ``--rows``."""
    group = section(parser, "rows")
    group.description = f"which rows of the data, counted from 0 (default: {default})"
    which = group.add_mutually_exclusive_group()
    which.add_argument("--row", type=_row, nargs="+", metavar="N", help="these rows")
    which.add_argument("--rows", metavar="RANGE", help="a range (end excluded) or a list: 0:20, 100:, 3,5,7")
    which.add_argument("--all", action="store_true", help="every row")
    group.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="CONDITION",
        help="keep only rows matching CONDITION on columns of the CSV file: 'age > 30', 'colour = red', "
        "'a <= 1 and b is missing'; without the options above, of all rows; may be repeated",
    )
    parser.set_defaults(rows_default=default)


def _row(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"rows must be whole numbers. Got {text!r}; put the files before the options"
        ) from None


def chosen_rows(args: argparse.Namespace, table: Table) -> list[int]:
    """Return the rows that the options choose, each once; InputError if there are none."""
    n = len(table.rows)
    if args.row is not None:
        rows = list(args.row)
    elif args.rows is not None:
        rows = parse_range(args.rows, n)
    elif args.all or args.where or args.rows_default == "all":
        rows = list(range(n))
    else:
        rows = parse_range(args.rows_default, n)
    for index in rows:
        table.check(index)
    for text in args.where:
        rows = _filter(table, rows, text)
    if not rows:
        raise InputError(f"At least one row of {table.path} must satisfy --where. None does.")
    return list(dict.fromkeys(rows))


def parse_range(text: str, n: int) -> list[int]:
    """Return the rows that a text names; a range ends with the table, as in Python.

    >>> parse_range("3,5:7,98:", 100)
    [3, 5, 6, 98, 99]
    """
    rows: list[int] = []
    for part in text.split(","):
        match = _PART.fullmatch(part.strip())
        if not match:
            raise InputError(f"--rows must look like 0:20, 100: or 3,5,7. Got {text!r}.")
        if match[1]:
            rows.append(int(match[1]))
            continue
        found = range(int(match[2] or 0), min(int(match[3] or n), n))
        if not found:
            raise InputError(f"--rows must choose some of the {n} rows, counted from 0. {part.strip()!r} chooses none.")
        rows += found
    return rows


def _filter(table: Table, rows: Sequence[int], text: str) -> list[int]:
    conditions = [parsed for _, parsed in parse_conditions(text, table.header)]
    return [index for index in rows if all(_satisfies(table, index, condition) for condition in conditions)]


def _satisfies(table: Table, index: int, condition: ParsedCondition) -> bool:
    if isinstance(condition, Either):
        return any(_satisfies(table, index, part) for part in condition.parts)
    cell = table.rows[index][condition.feature]
    if not isinstance(condition, Bounds) and cell in condition.values:  # also a name such as "none"
        return not condition.negated
    if is_empty(cell):
        return condition.missing
    if isinstance(condition, Bounds):
        number = _number(table, index, condition.feature)
        return any(low <= number <= high for low, high in condition.intervals())
    return any(_equal(cell, value) for value in condition.values) != condition.negated


def _number(table: Table, index: int, column: int) -> float:
    cell = table.rows[index][column]
    day = as_day(cell)
    return float(day) if day is not None else table.number(cell, table.header[column], index)


def _equal(cell: str, value: str) -> bool:
    """Return whether a cell equals a value: the same text, or the same number."""
    if cell == value:
        return True
    return is_number(cell) and is_number(value) and float(cell) == float(value)
