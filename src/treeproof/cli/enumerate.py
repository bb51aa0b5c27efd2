"""``treeproof enumerate``: list all minimal explanations of a row."""

from __future__ import annotations

import argparse
import json
from typing import Any

from treeproof.cli import codes
from treeproof.cli.options import (
    about,
    add_certificate,
    add_files,
    add_model,
    add_radius,
    add_search,
    add_target,
    load,
    radius_of,
    section,
    target_of,
)
from treeproof.cli.output import make_folder, write_certificate
from treeproof.cli.rows import add_rows, chosen_rows
from treeproof.cli.terminal import Listing, follow, say
from treeproof.explainer import Explainer
from treeproof.space.wording import show_class

EXAMPLES = """
treeproof enumerate model.json data.csv --row 7
treeproof enumerate model.json data.csv --row 7 --kind contrastive --limit 20
treeproof enumerate model.json data.csv --rows 0:5 --timeout 10 --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    add_files(parser)
    add_rows(parser)
    question = section(parser, "question")
    question.add_argument(
        "--kind",
        choices=["abductive", "contrastive", "both"],
        default="both",
        help="why, what would change it, or both (default: %(default)s)",
    )
    add_target(parser)
    question.add_argument("--limit", type=int, metavar="N", help="stop after N explanations")
    add_radius(parser)
    add_model(parser)
    add_certificate(parser, "each row's certificate that the list is complete (row-7-all.json)")
    add_search(parser)


def run(args: argparse.Namespace) -> int:
    """List the explanations of the chosen rows as they are found."""
    make_folder(args.certificate)
    explainer, table = load(args, args.oracle)
    rows = chosen_rows(args, table)
    code = codes.DONE
    for row in rows:
        x = table.row(row, explainer.forest.columns)
        code = max(code, _list(args, about(args, explainer, x), row, x))
    return code


def _list(args: argparse.Namespace, explainer: Explainer, row: int, x: Any) -> int:
    target = target_of(args, explainer)
    results = explainer.enumerate(
        x,
        kind=args.kind,
        target=target,
        limit=args.limit,
        timeout=args.timeout,
        order=args.order,
        **radius_of(args),
    )
    context = explainer._context
    label = context.labels[context.instance(x).label]
    other = "" if target is None else f", not {show_class(target)}"
    title = f"row {row}: {show_class(label)}{other}; its minimal explanations:"
    listing = Listing(None if args.json else title)
    for result in follow(args, results, args.limit, f"row {row}"):
        if args.json:
            say(json.dumps({**result.to_dict(), "row": row}))
        else:
            listing.add(result)
    if not args.json and not args.quiet:
        listing.end(results)
    if args.certificate:
        write_certificate(args.certificate, f"row-{row}-all.json", results)
    return codes.code_of([results])
