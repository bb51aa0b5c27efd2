"""``treeproof compare``: which rows get another label, or another reason, from a new version of a model."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from typing import Any

from treeproof.cli import codes
from treeproof.cli.options import (
    add_files,
    add_model,
    add_search,
    check_order,
    count,
    make_explainer,
    own_numbers,
)
from treeproof.cli.output import OUT_HELP, check_out, compared, write_results
from treeproof.cli.rows import add_rows, chosen_rows
from treeproof.cli.table import Table, read_table
from treeproof.cli.terminal import say, say_view, shows_progress
from treeproof.errors import InputError
from treeproof.explainer import Explainer
from treeproof.model.files import load_model
from treeproof.model.rows import is_missing
from treeproof.questions.compare import Comparison, compare

EXAMPLES = """
treeproof compare old.json new.json data.csv
treeproof compare old.json new.json data.csv --rows 0:100 --out changes.csv
treeproof compare old.json new.json data.csv --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    add_files(parser, old="old version of the model, a file that explain reads", new="new version of the model")
    add_rows(parser, default="all")
    add_model(parser, within=False)
    add_search(parser, order=False, jobs=True, out=OUT_HELP)


def run(args: argparse.Namespace) -> int:
    """Compare two versions on the chosen rows."""
    if args.out:
        check_out(args.out)
    check_order([args.old, args.new], args.data)
    models = [load_model(path, trust=args.trust, max_mb=args.max_mb) for path in (args.old, args.new)]
    table = read_table(args.data, args.max_mb)
    old, new = (make_explainer(args, model, table, args.oracle) for model in models)
    rows = chosen_rows(args, table)
    with own_numbers(rows):
        found = compare(
            old,
            new,
            [_row(table, index, old, new) for index in rows],
            n_jobs=args.jobs,
            progress=shows_progress(args.quiet),
            timeout=args.timeout,
        )
    result = Comparison(tuple(replace(row, row=rows[row.row]) for row in found.rows))
    counts = {
        "relabelled": len(result.relabelled),
        "reason_changed": len(result.reason_changed),
        "unknown": len(result.unknown),
    }
    if args.out:
        write_results(args.out, [compared(row) for row in result.rows])
        if args.json:
            say(json.dumps({"out": args.out, "rows": len(rows), **counts}))
        elif not args.quiet:
            say(result.title)
            say(f"{count(len(rows), 'row')} compared, saved to {args.out}")
    elif args.json:
        for row in result.rows:
            say(json.dumps(compared(row)[0]))
    else:
        say_view(result)
    return codes.code_of([result])


def _row(table: Table, index: int, old: Explainer, new: Explainer) -> dict[str, Any]:
    """Return a row by column name, for both versions."""
    row: dict[str, Any] = {}
    for explainer in (old, new):
        columns = explainer.forest.columns
        for column, value in zip(columns, table.row(index, columns), strict=True):
            other = row.setdefault(column.name, value)
            if value != other and not (is_missing(value) and is_missing(other)):
                raise InputError(
                    f"Both models must read column {column.name!r} in the same way. In row {index} one reads "
                    f"{other!r}, the other {value!r}."
                )
    return row
