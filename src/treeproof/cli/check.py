"""``treeproof check``: check a certificate with the independent checker."""

from __future__ import annotations

import argparse
import gzip
import json
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

from treeproof import checker
from treeproof.checker import CheckError
from treeproof.cli import codes
from treeproof.cli.options import add_output, add_trust, count, section
from treeproof.cli.output import check_writable
from treeproof.cli.table import read_table
from treeproof.cli.terminal import complain, say, say_card, terminal
from treeproof.errors import InputError, TreeproofError
from treeproof.model.files import FORMAT, forest_from_json, write_whole
from treeproof.proof.certificate import check, model_text
from treeproof.questions.result import Line

EXAMPLES = """
treeproof explain model.json data.csv --row 7 --certificate proofs
treeproof check proofs/row-7-why.json model.json
treeproof check proofs/row-7-why.json model.json data.csv --row 7
treeproof check proofs/differ-label.json old.json new.json
treeproof check --copy checker.py
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument(
        "certificate",
        metavar="CERTIFICATE",
        nargs="?",
        help="file written by --certificate (.json, or .jsonl for many rows; may be compressed)",
    )
    parser.add_argument(
        "model",
        metavar="MODEL",
        nargs="?",
        help="the model that it is about: a forest as .json, or any model file that explain reads",
    )
    parser.add_argument(
        "data",
        metavar="SECOND",
        nargs="?",
        help="the second model, if it is about two; with --row, the table with the row that it must be about: CSV",
    )
    parser.add_argument(
        "--row", type=int, metavar="N", help="the row of the table that it must be about, counted from 0"
    )
    parser.add_argument(
        "--budget",
        type=float,
        metavar="STEPS",
        default=checker.BUDGET,
        help="how many steps the check may take (default: %(default)s, about a minute)",
    )
    add_trust(section(parser, "model"))
    section(parser, "output").add_argument(
        "--copy", metavar="FILE", help="write the checker to FILE: a single file that runs without treeproof"
    )
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Check a certificate, or write the checker."""
    if args.copy:
        check_writable(args.copy, "--copy")
        write_whole(args.copy, Path(checker.__file__).read_bytes())
        if not args.certificate:
            if args.json:
                say(json.dumps({"copy": args.copy}))
            elif not args.quiet:
                say(f"checker saved to {args.copy}; run it with: python {args.copy} certificate.json forest.json")
            return codes.DONE
    if not args.certificate or not args.model:
        raise InputError("check needs a certificate and the model that it is about: treeproof check CERTIFICATE MODEL.")
    for path in filter(None, (args.certificate, args.model, args.data)):
        if Path(path).is_dir():
            raise InputError(f"check takes one file at a time. Got {path}, which is a folder; name a file in it.")
    if args.data is None and args.row is not None:
        raise InputError(
            "The row that it must be about needs a table and its number: check CERTIFICATE MODEL DATA --row N."
        )
    if args.certificate.endswith((".jsonl", ".jsonl.gz")):
        return _check_lines(args)
    other = args.data if args.row is None else None
    if other is not None and Path(other).suffix.lower() in (".csv", ".gz", ".tsv", ".parquet", ".feather"):
        raise InputError(f"A table needs the number of a row: check CERTIFICATE MODEL {other} --row N.")
    try:
        checked = check(args.certificate, args.model, other, row=_row(args), budget=args.budget, trust=args.trust)
    except (CheckError, TreeproofError) as error:
        if _format(args.certificate) == FORMAT and _format(args.model) == "treeproof-certificate":
            raise InputError(
                f"The certificate must come before the model. {args.certificate} is a model and {args.model} is a "
                "certificate; swap them."
            ) from error
        if not isinstance(error, CheckError):
            raise
        return _rejected(args, error)
    if args.json:
        say(json.dumps({"accepted": True, **asdict(checked)}))
    elif not args.quiet:
        console = terminal()
        if console is None:
            say(str(checked))
        else:
            lines = [Line(role, text) for role, text in checked.lines]
            say_card(console, [(line, "  " if line.is_item else "") for line in lines])
    return codes.DONE


def _rejected(args: argparse.Namespace, error: CheckError) -> int:
    """Say why a certificate is rejected; a model that cannot be read is bad input."""
    if isinstance(error, checker.ModelError):
        raise InputError(f"{args.model} cannot be read. {error}") from error
    if args.json:
        say(json.dumps({"accepted": False, "reason": str(error)}))
    complain(f"rejected: {error}")
    return codes.REJECTED


def _check_lines(args: argparse.Namespace) -> int:
    """Check the certificates of the rows of a table, one on each line, until one is rejected."""
    try:
        model = checker.Model(model_text(args.model, args.trust, args.budget))
    except CheckError as error:
        return _rejected(args, error)
    accepted = without = 0
    most = int(max(0, min(2**40, args.budget / checker.BYTE_STEPS)))
    opened = gzip.open if args.certificate.endswith(".gz") else open
    with opened(args.certificate, "rb") as lines:
        while True:
            row = "?"
            try:
                if not (line := lines.readline(most + 1)):  # a small file may unpack to a huge one
                    break
                checker.require(len(line) <= most, f"A line has over {most:,} bytes. Allow more: budget=, or --budget.")
                found = checker.parse(line)
                row, certificate = found["row"], found["certificate"]
                if certificate is None or set(certificate) == {"error"}:
                    without += 1
                    continue
                checker.check(certificate, model, budget=args.budget)
            except (CheckError, *checker.DAMAGED, EOFError, zlib.error) as error:
                reason = str(error)
                if not isinstance(error, CheckError):
                    reason = f"The line is damaged: {type(error).__name__}: {error}."
                if args.json:
                    say(json.dumps({"accepted": False, "row": row, "reason": reason}))
                complain(f"row {row}: rejected: {reason}")
                return codes.REJECTED
            accepted += 1
    if args.json:
        say(json.dumps({"accepted": accepted, "without": without}))
    elif not args.quiet:
        say(f"Checked: {count(accepted, 'row')}" + (f"; {without} have no certificate" if without else ""))
    return codes.DONE


def _row(args: argparse.Namespace) -> list[Any] | None:
    """Return the row that the certificate must be about, as the table has it."""
    if args.row is None:
        return None
    columns = forest_from_json(model_text(args.model, args.trust, args.budget)).columns
    return read_table(args.data).row(args.row, columns)


def _format(path: str) -> str | None:
    """Return the format that a JSON file declares at its beginning."""
    try:
        with Path(path).open("rb") as file:
            beginning = file.read(200)
    except OSError:
        return None
    return next((one for one in (FORMAT, "treeproof-certificate") if f'"{one}"'.encode() in beginning), None)
