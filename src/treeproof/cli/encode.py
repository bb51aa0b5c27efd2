"""``treeproof encode``: write a query about a row as DIMACS or SMT-LIB."""

from __future__ import annotations

import argparse
import json
import sys

from treeproof.cli import codes
from treeproof.cli.options import (
    about,
    add_encoding,
    add_files,
    add_model,
    add_output,
    add_target,
    add_timeout,
    load,
    sat_options,
    section,
    target_of,
)
from treeproof.cli.output import check_writable
from treeproof.cli.rows import add_rows, chosen_rows
from treeproof.cli.terminal import say
from treeproof.errors import InputError
from treeproof.model.files import write_whole

EXAMPLES = """
treeproof encode model.json data.csv --row 7 --out query.cnf
treeproof encode model.json data.csv --keep age income --proof query.drat
treeproof encode model.json data.csv --row 7 --format smtlib
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    add_files(parser)
    add_rows(parser)
    section(parser, "rows").description += "; one row must be left"
    question = section(parser, "question")
    question.add_argument(
        "--keep", nargs="*", metavar="FEATURE", help="features to keep at their values (default: all)"
    )
    add_target(parser)
    add_model(parser)
    add_timeout(parser)
    add_encoding(parser)
    output = section(parser, "output")
    output.add_argument(
        "--format", choices=["dimacs", "smtlib"], default="dimacs", help="output format (default: %(default)s)"
    )
    output.add_argument(
        "--proof", metavar="FILE", help="write a DRAT proof to FILE, if the label cannot change (DIMACS only)"
    )
    add_output(parser, out="write the formula to FILE (default: standard output)")


def run(args: argparse.Namespace) -> int:
    """Write the formula, and its proof."""
    if args.format != "dimacs":
        for name in [*sat_options(args), *(["proof"] if args.proof else [])]:
            raise InputError(f"--{name} requires --format dimacs.")
    for option in ("out", "proof"):
        if getattr(args, option):
            check_writable(getattr(args, option), f"--{option}")
    explainer, table = load(args, "native")
    rows = chosen_rows(args, table)
    if len(rows) > 1:
        raise InputError(f"Exactly one row must be chosen. Got {len(rows)}; choose one with --row.")
    (row,) = rows
    x = table.row(row, explainer.forest.columns)
    explainer = about(args, explainer, x)
    text = explainer.encode(
        x,
        features=args.keep,
        target=target_of(args, explainer),
        format=args.format,
        timeout=args.timeout,
        **(sat_options(args) if args.format == "dimacs" else {}),
    )
    from treeproof.oracles.sat import to_drat  # slow to import

    proof = to_drat(text).encode() if args.proof else b""
    if args.out:
        write_whole(args.out, text.encode())
    if args.proof:
        write_whole(args.proof, proof)
    if args.json:
        files = {"out": args.out, "proof": args.proof}
        say(json.dumps({"row": row, "format": args.format, **files, "text": None if args.out else text}))
    elif not args.out:
        sys.stdout.write(text)
    elif not args.quiet:
        also = f", proof to {args.proof}" if args.proof else ""
        say(f"row {row}: query saved to {args.out}{also}")
    return codes.DONE
