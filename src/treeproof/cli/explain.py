"""``treeproof explain``: why a row gets its prediction, or what would change it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from typing import Any

from treeproof.cli import codes, scale
from treeproof.cli.options import (
    about,
    add_at_most,
    add_certificate,
    add_files,
    add_model,
    add_radius,
    add_search,
    add_target,
    add_widening,
    count,
    load,
    named_number,
    radius_of,
    say_result,
    section,
    target_of,
)
from treeproof.cli.output import OUT_HELP, check_out, explained, make_folder, write_certificate, write_results
from treeproof.cli.rows import add_rows, chosen_rows
from treeproof.cli.terminal import complain, follow, say
from treeproof.errors import InputError
from treeproof.questions.abductive import SECONDS, Abductive, in_ranges

EXAMPLES = """
treeproof explain model.json data.csv --row 7
treeproof explain model.json data.csv --row 7 --radius 0.25
treeproof explain model.json data.csv --row 7 --at-most 5
treeproof explain model.json data.csv --row 7 --kind contrastive --target yes
treeproof explain model.json data.csv --where "age > 30" --out result.csv
treeproof explain model.json table.parquet --all --out results --jobs -1
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    add_files(parser)
    add_rows(parser)
    question = section(parser, "question")
    question.add_argument(
        "--kind",
        choices=["abductive", "contrastive"],
        default="abductive",
        help="why (abductive, the default), or what would change it (contrastive)",
    )
    question.add_argument("--minimum", action="store_true", help="as few features as possible, with proof")
    question.add_argument(
        "--cost",
        nargs="+",
        default=[],
        metavar="FEATURE=NUMBER",
        help="with --minimum: minimise the total cost; features not listed cost 1",
    )
    question.add_argument("--prefer", nargs="+", default=[], metavar="FEATURE", help="features to keep or change first")
    add_radius(parser)
    why = section(parser, "why (with --kind abductive)")
    add_widening(parser, "why (with --kind abductive)", "printed reasons")
    add_at_most(why)
    why.add_argument("--tries", type=int, metavar="N", help="try N removal orders and keep the shortest explanation")
    title = "what would change it (with --kind contrastive)"
    change = section(parser, title)
    add_target(parser, title)
    change.add_argument("--fixed", nargs="+", metavar="FEATURE", help="features that must not change")
    change.add_argument("--up", nargs="+", metavar="FEATURE", help="features that may only increase")
    change.add_argument("--down", nargs="+", metavar="FEATURE", help="features that may only decrease")
    add_model(parser)
    section(parser, "search").add_argument(
        "--verify", action="store_true", help="check every answer with the independent checker"
    )
    add_certificate(parser, "each row's certificate (row-7-why.json or row-7-change.json)")
    folder = "with --all, a folder DIR: Parquet files, and DATA may be Parquet, or a folder of such, of any size"
    add_search(parser, out=f"{OUT_HELP}; or, {folder}")
    scale.add_arguments(section(parser, "search"), section(parser, "rows"))


def run(args: argparse.Namespace) -> int:
    """Explain the chosen rows one by one, or a whole table into a folder."""
    options = _options(args)
    if scale.is_wanted(args):
        return scale.run(args, options)
    if args.out:
        check_out(args.out)
    make_folder(args.certificate)
    explainer, table = load(args, args.oracle)
    rows = chosen_rows(args, table)
    results = []

    def answer(index: int) -> tuple[int, Any]:
        x = table.row(index, explainer.forest.columns)
        asked = about(args, explainer, x)
        if args.kind == "contrastive":
            return index, asked.contrastive(x, target=target_of(args, asked), **options)
        return index, _why(args, partial(asked.abductive, x, **options), index)

    answers = map(answer, rows)
    for index, result in follow(args, answers, len(rows), "explaining"):
        results.append((index, result))
        if not args.out:
            say_result(args, index, result)
        if args.certificate:
            kind = "why" if isinstance(result, Abductive) else "change"
            write_certificate(args.certificate, f"row-{index}-{kind}.json", result)
    late = sum(not result.decided for _, result in results)
    if args.out:
        write_results(args.out, [explained(index, result) for index, result in results])
        if args.json:
            say(json.dumps({"out": args.out, "rows": len(results), "late": late}))
        elif not args.quiet:
            end = f"; {late} timed out, not fully proved" if late else ""
            say(f"{count(len(results), 'row')} explained, saved to {args.out}{end}")
    return codes.code_of(result for _, result in results)


def _why(args: argparse.Namespace, ask: Callable[..., Abductive], row: int) -> Abductive:
    """Return a reason: in ranges for a person, if that takes seconds; for a program (--json, --out) only on request."""
    if args.inflate or args.plain or args.json or args.out:
        return ask(inflate=args.inflate, timeout=args.timeout)
    found = in_ranges(ask(timeout=args.timeout), args.timeout)
    if found.decided and not found.inflated and not args.quiet:
        complain(f"row {row}: to widen the conditions takes more than {SECONDS:g} s; --inflate does it all the same.")
    return found


def _options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments that both kinds of explanation share, and those of the kind asked for."""
    common: dict[str, Any] = {"order": args.order, "prefer": args.prefer, "timeout": args.timeout, **radius_of(args)}
    if args.minimum:
        common["minimum"] = True
    if args.minimum and args.tries is not None:
        raise InputError(
            "--tries must not be combined with --minimum, which looks for the smallest set in any case. Leave one out."
        )
    if args.cost:
        if not args.minimum:
            raise InputError("--cost requires --minimum, which finds the cheapest set.")
        common["cost"] = dict(named_number(text, "--cost") for text in args.cost)
    given: dict[str, dict[str, Any]] = {
        "abductive": {
            "inflate": args.inflate or None,
            "plain": args.plain or None,
            "tries": args.tries,
            "at_most": args.at_most,
        },
        "contrastive": {"fixed": args.fixed, "up": args.up, "down": args.down, "target": args.target},
    }
    for kind, options in given.items():
        for name, value in options.items():
            if value is not None and kind != args.kind:
                raise InputError(f"--{name.replace('_', '-')} requires --kind {kind}.")
    if args.kind == "abductive":
        return common | ({} if args.tries is None else {"tries": args.tries})
    directions = {**dict.fromkeys(args.up or (), "up"), **dict.fromkeys(args.down or (), "down")}
    if set(args.up or ()) & set(args.down or ()):
        raise InputError("A feature must not be in both --up and --down. Fix it with --fixed, or leave both out.")
    return common | {"fixed": args.fixed or (), "directions": directions}
