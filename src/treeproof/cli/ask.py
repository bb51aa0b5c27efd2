"""``treeproof ask QUESTION``: the questions beyond why and what would change it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from treeproof.cli.choose import add_rows, chosen_rows
from treeproof.cli.common import about, add_question, add_search, load, say_result, target_of
from treeproof.cli.show import shows_progress
from treeproof.cli.table import Table
from treeproof.explainer import Explainer
from treeproof.parallel import track

Command = Callable[[str, str, Callable[[argparse.Namespace], int]], argparse.ArgumentParser]


def add_commands(command: Command) -> None:
    """Add a command for each question; `command` makes a parser from a name, a help text and what to run."""

    def question(name: str, text: str, answer: Callable[..., Any], *, target: bool = False) -> argparse.ArgumentParser:
        made = command(name, text, lambda args: _ask(args, answer))
        add_question(made, target=target)
        add_rows(made)
        add_search(made, order=False)
        return made

    question("relevance", "which features matter at all: necessary, relevant or irrelevant", _relevance)
    made = question("attribution", "the share of abductive explanations that contain each feature", _attribution)
    made.add_argument("--limit", type=int, help="stop after so many explanations")
    made = question(
        "robustness", "the largest distance at which the prediction is proved constant", _robustness, target=True
    )
    made.add_argument("--norm", choices=["linf", "l1", "l0"], default="linf", help="distance (default: %(default)s)")
    made = question(
        "changes", "several changes that give another prediction, with few features in common", _changes, target=True
    )
    made.add_argument("-n", type=int, default=3, metavar="N", help="how many (default: 3)")
    made.add_argument("--fixed", nargs="+", default=[], metavar="FEATURE", help="features that must not change")
    question("general", "the proved rule around a row that covers most rows of the data", _general)
    made = question("review", "whether somebody else's explanation forces the prediction", _review)
    made.add_argument("--claim", required=True, help="conditions joined by 'and', or feature names with commas between")
    made = command("audit", "which predictions rest on protected features", _audit)
    add_question(made, target=False)
    made.add_argument("--protected", nargs="+", required=True, metavar="FEATURE", help="the protected features")
    add_rows(made, default="all")
    made.add_argument("--jobs", type=int, metavar="N", help="threads; -1 is one for each core")
    add_search(made, order=False)


def _ask(args: argparse.Namespace, answer: Callable[[argparse.Namespace, Explainer, Table, Any], Any]) -> int:
    """Answer a question about each chosen row; the exit code tells whether a deadline came first."""
    explainer, table = load(args, args.oracle)
    code = 0
    rows = chosen_rows(args, table)
    show = len(rows) > 1 and shows_progress(args.quiet)
    for index in track(rows, len(rows), "answering" if show else None):
        x = table.row(index, explainer.forest.columns)
        result = answer(args, about(args, explainer, x), table, x)
        say_result(args, index, result)
        code = max(code, int(not _is_decided(result)))
    return code


def _is_decided(result: Any) -> bool:
    return result.status not in ("sound", "unknown", "bounds", "incomplete")


def _relevance(args: argparse.Namespace, explainer: Explainer, table: Table, x: Any) -> Any:
    return explainer.relevance(x, timeout=args.timeout)


def _attribution(args: argparse.Namespace, explainer: Explainer, table: Table, x: Any) -> Any:
    return explainer.attribution(x, limit=args.limit, timeout=args.timeout)


def _robustness(args: argparse.Namespace, explainer: Explainer, table: Table, x: Any) -> Any:
    return explainer.robustness(x, args.norm, target=target_of(args, explainer), timeout=args.timeout)


def _changes(args: argparse.Namespace, explainer: Explainer, table: Table, x: Any) -> Any:
    target = target_of(args, explainer)
    return explainer.contrastives(x, args.n, target=target, fixed=args.fixed, timeout=args.timeout)


def _general(args: argparse.Namespace, explainer: Explainer, table: Table, x: Any) -> Any:
    rows = [table.row(i, explainer.forest.columns) for i in range(len(table.rows))]
    return explainer.most_general(x, rows, timeout=args.timeout)


def _review(args: argparse.Namespace, explainer: Explainer, table: Table, x: Any) -> Any:
    names = [name.strip() for name in args.claim.split(",")]
    known = set(explainer.space.names)
    return explainer.review(x, names if set(names) <= known else args.claim, timeout=args.timeout)


def _audit(args: argparse.Namespace) -> int:
    explainer, table = load(args, args.oracle)
    columns = explainer.forest.columns
    rows = [table.row(i, columns) for i in chosen_rows(args, table)]
    show = shows_progress(args.quiet)
    result = explainer.audit(rows, args.protected, n_jobs=args.jobs, progress=show, timeout=args.timeout)
    say_result(args, None, result)
    return int(any(not _is_decided(row) for row in result.rows))
