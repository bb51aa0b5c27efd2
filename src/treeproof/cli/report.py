"""``treeproof report``: a self-contained HTML report on chosen rows."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path
from typing import Any

from treeproof import checker
from treeproof.cli import codes
from treeproof.cli.options import (
    add_files,
    add_model,
    add_search,
    add_target,
    add_widening,
    class_of,
    count,
    load,
    section,
    target_of,
)
from treeproof.cli.output import check_writable
from treeproof.cli.rows import add_rows, chosen_rows
from treeproof.cli.table import STANDARD_INPUT, Table
from treeproof.cli.terminal import complain, say, shows_progress
from treeproof.errors import InputError, UnsupportedModelError
from treeproof.explainer import Explainer
from treeproof.model.columns import Column
from treeproof.proof.certificate import fingerprint, model_text
from treeproof.show.report.about import QUESTIONS
from treeproof.show.report.report import check_page, report

LIMIT = 50

EXAMPLES = """
treeproof report model.json data.csv --out report.html
treeproof report model.json data.csv --row 7 12 --title "Two refusals"
treeproof report model.json data.csv --where "age > 60" --limit 200
treeproof report model.json data.csv --about-model --protected sex
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    add_files(parser)
    add_rows(parser, default="0:5")
    section(parser, "rows").add_argument(
        "--limit", type=int, default=LIMIT, metavar="N", help="maximum number of rows (default: %(default)s)"
    )
    question = section(parser, "question")
    question.add_argument(
        "--kind",
        choices=["abductive", "contrastive", "both"],
        default="both",
        help="why (abductive), what would change it (contrastive), or both (the default)",
    )
    question.add_argument("--minimum", action="store_true", help="as few features as possible, with proof")
    add_widening(parser, "question", "reasons")
    add_target(parser)
    question.add_argument(
        "--about-model",
        nargs="*",
        choices=QUESTIONS,
        metavar="QUESTION",
        help=f"a section about the whole model: {', '.join(QUESTIONS)} (default: all that apply)",
    )
    question.add_argument(
        "--protected", nargs="+", default=[], metavar="FEATURE", help="features whose effect is asked for there"
    )
    question.add_argument(
        "--of", metavar="CLASS", help="the class whose score is meant there (default: the second of two)"
    )
    question.add_argument(
        "--model-timeout",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="time limit for that section (default: %(default)g)",
    )
    add_model(parser)
    add_search(parser, out="the HTML file (default: report.html), written atomically")
    output = section(parser, "output")
    output.add_argument("--title", metavar="TEXT", help="title of the report")
    output.add_argument(
        "--force", action="store_true", help="overwrite the page, and mix certificates about several models in a folder"
    )
    kept = output.add_mutually_exclusive_group()
    kept.add_argument(
        "--certificates",
        metavar="DIR",
        help="folder for certificates, forest and a copy of the checker (default: next to the report, named after it)",
    )
    kept.add_argument("--no-certificates", action="store_true", help="check the certificates but do not save them")


def run(args: argparse.Namespace) -> int:
    """Write a report on the chosen rows."""
    out = args.out or "report.html"
    check_page(out)
    check_writable(out)
    if args.target is not None and args.kind == "abductive":
        raise InputError("--target requires --kind contrastive or both.")
    explainer, table = load(args, args.oracle)
    rows = chosen_rows(args, table)
    if len(rows) > args.limit:
        raise InputError(
            f"A report must have at most {count(args.limit, 'row')}. Got {len(rows)}; choose fewer, or allow more: "
            f"--limit {len(rows)}."
        )
    made = report(
        explainer,
        _Rows(table, explainer.forest.columns),
        out,
        rows=rows,
        kind=args.kind,
        target=target_of(args, explainer) if args.within is None else args.target,
        within=args.within,
        minimum=args.minimum,
        inflate=args.inflate or (False if args.plain else None),
        order=args.order,
        timeout=args.timeout,
        about_model=args.about_model if args.about_model else args.about_model is not None,
        protected=args.protected,
        of=class_of(explainer, args.of),
        model_timeout=args.model_timeout,
        title=args.title or f"Explanations of {Path(args.model).name}",
        certificates=args.certificates or not args.no_certificates,
        force=args.force,
        progress=len(rows) > 1 and shows_progress(args.quiet),
        inputs={"Model file": args.model, **({} if args.data == STANDARD_INPUT else {"Data file": args.data})},
        command=shlex.join(["treeproof", *args.words]),
        model=args.model if _is_in_file(args, explainer) else None,
    )
    if args.json:
        say(json.dumps(made.to_dict()))
    elif not args.quiet:
        say(str(made))
    if made.rejected:
        complain(f"{count(made.rejected, 'certificate')} rejected; the report says why")
        return codes.REJECTED
    if made.failed:
        which = ", ".join(map(str, made.failed))
        complain(f"not explained: row{'s' * (len(made.failed) > 1)} {which}; the report says why")
        return codes.BAD
    return codes.code_of([made])


def _is_in_file(args: argparse.Namespace, explainer: Explainer) -> bool:
    """Return whether the model file, read without options, is exactly what is explained."""
    if args.within is not None:
        return False
    try:
        text = model_text(args.model, args.trust)
    except UnsupportedModelError:  # without the table, it does not know how its categories are called
        return False
    return checker.fingerprint(text) == fingerprint(explainer.forest)


class _Rows:
    """The rows of a table, each read on demand, so that one that cannot be read does not stop the others."""

    def __init__(self, table: Table, columns: tuple[Column, ...]) -> None:
        self._table, self._columns = table, columns

    def __len__(self) -> int:
        return len(self._table.rows)

    def __getitem__(self, index: int) -> list[Any]:
        return self._table.row(index, self._columns)
