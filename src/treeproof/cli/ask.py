"""``treeproof ask QUESTION``: questions other than why, and what would change it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from treeproof.cli import codes, model
from treeproof.cli.options import (
    about,
    add_at_most,
    add_certificate,
    add_files,
    add_model,
    add_radius,
    add_scale,
    add_search,
    add_target,
    count,
    load,
    own_numbers,
    radius_of,
    say_result,
    scales_of,
    section,
    target_of,
)
from treeproof.cli.output import OUT_HELP, audited, check_out, make_folder, write_certificate, write_results
from treeproof.cli.rows import add_rows, chosen_rows
from treeproof.cli.table import Table
from treeproof.cli.terminal import follow, say, shows_progress
from treeproof.explainer import Explainer
from treeproof.questions.norms import NORMS

Command = Callable[..., argparse.ArgumentParser]


def add_commands(command: Command) -> None:
    """Add a command for each question; `command` makes a parser from a name, a text, what to run, and examples."""
    question = partial(add_question, command)
    question(
        "relevance", "which features matter at all: necessary, relevant or irrelevant", _relevance, " --timeout 10"
    )
    place = question(
        "attribution", "the share of abductive explanations that contain each feature", _attribution, " --limit 100"
    )
    place.add_argument("--limit", type=int, metavar="N", help="stop after N explanations")
    place = question(
        "robustness",
        "the largest distance at which the prediction is proved constant",
        _robustness,
        " --norm l0",
        " --target yes",
    )
    meanings = ", ".join(f"{name}: {norm.meaning}" for name, norm in NORMS.items())
    place.add_argument("--norm", choices=NORMS, default="linf", help=f"distance; {meanings} (default: %(default)s)")
    place.add_argument("--keep", nargs="+", default=[], metavar="FEATURE", help="features that keep their values")
    place = question(
        "profile",
        "how far all other features may move, for ever more features that are kept",
        _profile,
        " --at-most 5",
        " --timeout 10",
    )
    add_at_most(place)
    place = question(
        "changes",
        "several changes that give another prediction and share few features",
        _changes,
        " -n 5 --fixed age",
    )
    place.add_argument("-n", type=int, default=3, metavar="N", help="number of changes (default: %(default)s)")
    place.add_argument("--fixed", nargs="+", default=[], metavar="FEATURE", help="features that must not change")
    question("general", "the proved rule around a row that covers the most rows of the data", _general, " --timeout 10")
    place = question(
        "review",
        "whether a given explanation forces the prediction",
        _review,
        'treeproof ask review model.json data.csv --row 7 --claim "age <= 30"\n'
        'treeproof ask review model.json data.csv --row 7 --claim "age, income"',
    )
    place.add_argument(
        "--claim",
        required=True,
        metavar="TEXT",
        help="conditions joined by 'and', or feature names separated by commas",
    )
    _add_audit(command)
    model.add_commands(command)


def add_question(command: Command, name: str, text: str, answer: Callable[..., Any], *options: str) -> Any:
    """Add a question about one row; return the place for its options."""
    examples = "\n".join(f"treeproof ask {name} model.json data.csv --row 7{option}" for option in ("", *options))
    made = command(name, text, lambda args: _ask(args, answer), examples if answer is not _review else options[0])
    add_files(made)
    add_rows(made)
    place = section(made, "question") if name not in ("relevance", "general") else None
    if name in ("robustness", "changes"):
        add_target(made)
    if name in ("profile", "robustness"):
        add_scale(made)
    if name == "review":
        add_radius(made)
    add_model(made)
    if name == "robustness":
        add_certificate(made, "each row's certificate (row-7-robustness.json)")
    add_search(made, order=False)
    return place


def _add_audit(command: Command) -> None:
    made = command(
        "audit",
        "which predictions depend on protected features",
        _audit,
        "treeproof ask audit model.json data.csv --protected sex age\n"
        "treeproof ask audit model.json data.csv --protected sex --out audit.csv",
    )
    add_files(made)
    add_rows(made, default="all")
    section(made, "question").add_argument(
        "--protected", nargs="+", required=True, metavar="FEATURE", help="the protected features"
    )
    add_model(made, within=False)
    add_certificate(made, "the certificate of all decided rows (audit.json)")
    add_search(made, order=False, jobs=True, out=OUT_HELP)


def _ask(args: argparse.Namespace, answer: Callable[[argparse.Namespace, Explainer, Table, Any], Any]) -> int:
    """Answer a question about each chosen row; the exit code says whether all were decided in time."""
    folder = getattr(args, "certificate", None)
    make_folder(folder)
    explainer, table = load(args, args.oracle)
    rows = chosen_rows(args, table)

    def ask(index: int) -> tuple[int, Any]:
        x = table.row(index, explainer.forest.columns)
        return index, answer(args, about(args, explainer, x), table, x)

    code = codes.DONE
    answers = map(ask, rows)
    for index, result in follow(args, answers, len(rows), "answering"):
        say_result(args, index, result)
        if folder:
            write_certificate(folder, f"row-{index}-robustness.json", result)
        code = max(code, codes.code_of([result]))
    return code


def _relevance(args: argparse.Namespace, explainer: Explainer, table: Table, x: Any) -> Any:
    return explainer.relevance(x, timeout=args.timeout)


def _attribution(args: argparse.Namespace, explainer: Explainer, table: Table, x: Any) -> Any:
    return explainer.attribution(x, limit=args.limit, timeout=args.timeout)


def _robustness(args: argparse.Namespace, explainer: Explainer, table: Table, x: Any) -> Any:
    target = target_of(args, explainer)
    scale = scales_of(args) or None
    return explainer.robustness(x, args.norm, target=target, keep=args.keep, scale=scale, timeout=args.timeout)


def _profile(args: argparse.Namespace, explainer: Explainer, table: Table, x: Any) -> Any:
    shows = shows_progress(args.quiet)
    return explainer.profile(
        x, at_most=args.at_most, scale=scales_of(args), progress=shows and args.row is not None, timeout=args.timeout
    )


def _changes(args: argparse.Namespace, explainer: Explainer, table: Table, x: Any) -> Any:
    target = target_of(args, explainer)
    return explainer.contrastives(x, args.n, target=target, fixed=args.fixed, timeout=args.timeout)


def _general(args: argparse.Namespace, explainer: Explainer, table: Table, x: Any) -> Any:
    rows = [table.row(i, explainer.forest.columns) for i in range(len(table.rows))]
    return explainer.most_general(x, rows, timeout=args.timeout)


def _review(args: argparse.Namespace, explainer: Explainer, table: Table, x: Any) -> Any:
    names = [name.strip() for name in args.claim.split(",")]
    known = {*explainer.space.names, *(group.name for group in explainer.groups)}
    claim = names if set(names) <= known else args.claim
    return explainer.review(x, claim, timeout=args.timeout, **radius_of(args))


def _audit(args: argparse.Namespace) -> int:
    if args.out:
        check_out(args.out)
    make_folder(args.certificate)
    explainer, table = load(args, args.oracle)
    chosen = chosen_rows(args, table)
    rows = [table.row(i, explainer.forest.columns) for i in chosen]
    with own_numbers(chosen):
        found = explainer.audit(
            rows, args.protected, n_jobs=args.jobs, progress=shows_progress(args.quiet), timeout=args.timeout
        )
    result = replace(found, rows=tuple(replace(row, row=chosen[row.row]) for row in found.rows))
    if args.out:
        write_results(args.out, [audited(row) for row in result.rows])
        if args.json:
            counts = {"flips": result.n_flips, "free": result.n_free, "unknown": result.n_unknown}
            say(json.dumps({"out": args.out, "rows": result.n_rows, **counts}))
        elif not args.quiet:
            say(result.summary())
            say(f"{count(result.n_rows, 'row')} audited, saved to {args.out}")
    else:
        say_result(args, None, result)
    if args.certificate:
        write_certificate(args.certificate, "audit.json", result)
    return codes.code_of([result])
