"""``treeproof ask QUESTION`` about a whole model: there is no row, and a table only if one is given."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from treeproof.cli import codes
from treeproof.cli.options import (
    DATA_HELP,
    MODEL_HELP,
    add_certificate,
    add_model,
    add_search,
    add_size,
    check_order,
    class_of,
    make_explainer,
    own_numbers,
    say_result,
    section,
)
from treeproof.cli.output import make_folder, save_certificate
from treeproof.cli.rows import add_rows, chosen_rows
from treeproof.cli.table import Table, read_table
from treeproof.cli.terminal import complain, waiting
from treeproof.errors import InputError
from treeproof.explainer import Explainer
from treeproof.model.files import load_model
from treeproof.model.importers import needs_data
from treeproof.questions.certified import certificates_of
from treeproof.questions.differ import differ

Command = Callable[..., argparse.ArgumentParser]
Answer = Callable[[argparse.Namespace, Explainer], Any]


def add_commands(command: Command) -> None:
    """Add a command for each question about all inputs, and the one for rules that cover rows."""
    made = _add(command, "extremes", "the lowest and the highest score that any input has", _extremes, " --of yes")
    add_certificate(made, "a certificate of each end (extremes-lowest.json, extremes-highest.json)")
    made = _add(
        command,
        "monotone",
        "whether the score never falls as a feature grows, whatever the others are",
        _monotone,
        " --feature income",
    )
    add_certificate(made, "the certificate of each direction that is proved (monotone-income-never-falls.json)")
    question = section(made, "question")
    question.add_argument("--feature", metavar="FEATURE", help="this feature (default: all, in both directions)")
    question.add_argument("--decreasing", action="store_true", help="whether the score never rises instead")
    for name, text, answer, files in (
        ("effect", "how much features alone can change the score, and whether the label", _effect, "of the bound"),
        ("independent", "whether the label never depends on features", _independent, "if it never does"),
    ):
        made = _add(command, name, text, answer, " --features sex", of=name == "effect", required="--features sex")
        add_certificate(made, f"the certificate, {files} ({name}.json)")
        section(made, "question").add_argument(
            "--features", nargs="+", required=True, metavar="FEATURE", help="the features, which change together"
        )
    _add_prove(command)
    _add_differ(command)
    _add_rules(command)


def _add(
    command: Command, name: str, text: str, answer: Answer, option: str, *, of: bool = True, required: str = ""
) -> argparse.ArgumentParser:
    """Add a question about all inputs; return its parser."""
    needed = f" {required}" if required else ""
    examples = [
        f"treeproof ask {name} model.json{needed or option}",
        f'treeproof ask {name} model.json{needed} --where "age < 30"',
    ]
    made = command(name, text, lambda args: _ask(args, answer), "\n".join(examples))
    made.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    _add_space(made)
    if of:
        section(made, "question").add_argument(
            "--of", metavar="CLASS", help="the class whose score is meant (default: the second of two)"
        )
    return made


def _add_space(parser: argparse.ArgumentParser, *, where: bool = True) -> None:
    """Add the table that may be given, which inputs are meant, the model's options, and those of the search."""
    parser.add_argument(
        "data", metavar="DATA", nargs="?", help=f"optional, for missing values and --observed: {DATA_HELP}"
    )
    add_size(parser)
    if where:
        section(parser, "question").add_argument(
            "--where", action="append", default=[], metavar="CONDITION", help="only about inputs that satisfy CONDITION"
        )
    add_model(parser, within=False)
    add_search(parser, order=False, limit="time limit")
    parser.set_defaults(whole=True)


def _add_prove(command: Command) -> None:
    made = command(
        "prove",
        "whether a statement is true of every input",
        lambda args: _ask(args, _prove),
        'treeproof ask prove model.json --claim "if income > 60 then yes"\n'
        'treeproof ask prove model.json --claim "if age < 18 then not yes"',
    )
    made.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    _add_space(made, where=False)
    question = section(made, "question")
    question.add_argument("--claim", required=True, metavar="TEXT", help="if CONDITIONS then LABEL, or then not LABEL")
    question.add_argument("--examples", type=int, default=1, metavar="N", help="counterexamples (default: 1)")
    add_certificate(made, "the certificate of a true statement (prove.json)")


def _add_differ(command: Command) -> None:
    made = command(
        "differ",
        "whether two models give the same label to every input",
        _differ,
        "treeproof ask differ old.json new.json\ntreeproof ask differ old.json new.json data.csv --where 'age < 30'",
    )
    made.add_argument("old", metavar="OLD", help="a model, a file that explain reads; its inputs are meant")
    made.add_argument("new", metavar="NEW", help="the other model")
    _add_space(made)
    add_certificate(
        made, "certificates that labels are the same, and of the scores (differ-label.json, differ-score.json)"
    )


def _add_rules(command: Command) -> None:
    made = command(
        "rules",
        "a short list of proved rules that cover many rows of the data",
        _rules,
        "treeproof ask rules model.json data.csv\ntreeproof ask rules model.json data.csv --at-most 3",
    )
    made.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    made.add_argument("data", metavar="DATA", help=DATA_HELP)
    add_size(made)
    add_rows(made, default="all")
    question = section(made, "question")
    question.add_argument("--at-most", type=int, default=5, metavar="N", help="rules for each label (default: 5)")
    question.add_argument(
        "--at-most-conditions", type=int, metavar="N", help="conditions in each rule (default: any number)"
    )
    add_model(made, within=False)
    add_certificate(made, "each rule's certificate (rule-1.json)")
    add_search(made, order=False, limit="time limit")


def _read(args: argparse.Namespace, *paths: str) -> tuple[list[Explainer], Table | None]:
    """Return an explainer of each model, and the table, if one is given."""
    if args.data is not None:
        check_order(paths, args.data)
    with waiting(args.quiet, f"reading {', '.join(paths)}"):
        models = [load_model(path, trust=args.trust, max_mb=args.max_mb) for path in paths]
        table = None if args.data is None else read_table(args.data, args.max_mb)
        if table is None and (args.observed or any(map(needs_data, models))):
            what = "--observed needs rows to look at" if args.observed else "This model needs rows that name its values"
            raise InputError(f"{what}. Pass a CSV file after the model.")
        return [make_explainer(args, model, table, args.oracle) for model in models], table


def _ask(args: argparse.Namespace, answer: Answer) -> int:
    """Answer a question about all inputs."""
    folder = getattr(args, "certificate", None)
    make_folder(folder)
    (explainer,), _ = _read(args, args.model)
    result = answer(args, explainer)
    say_result(args, None, result)
    if folder:
        _write_certificates(args, folder, result)
    return codes.code_of([result])


def _write_certificates(args: argparse.Namespace, folder: str, result: Any) -> None:
    proved = certificates_of(result)
    for name, certify in proved.items():
        with waiting(args.quiet, f"certifying {name}"):
            save_certificate(folder, name, certify(None))
    if not proved and not args.quiet:
        complain("no certificate was written: nothing is proved that has one")


def _stated(args: argparse.Namespace, explainer: Explainer) -> dict[str, Any]:
    """Return the options that all of these questions have."""
    found: dict[str, Any] = {"where": " and ".join(args.where) or None, "timeout": args.timeout}
    if getattr(args, "of", None) is not None:
        found["of"] = class_of(explainer, args.of)
    return found


def _extremes(args: argparse.Namespace, explainer: Explainer) -> Any:
    return explainer.extremes(**_stated(args, explainer))


def _monotone(args: argparse.Namespace, explainer: Explainer) -> Any:
    if args.feature is None and args.decreasing:
        raise InputError("--decreasing requires --feature; without one, both directions are decided.")
    return explainer.monotone(args.feature, increasing=not args.decreasing, **_stated(args, explainer))


def _prove(args: argparse.Namespace, explainer: Explainer) -> Any:
    return explainer.prove(args.claim, examples=args.examples, timeout=args.timeout)


def _effect(args: argparse.Namespace, explainer: Explainer) -> Any:
    return explainer.effect(args.features, **_stated(args, explainer))


def _independent(args: argparse.Namespace, explainer: Explainer) -> Any:
    return explainer.independent(args.features, **_stated(args, explainer))


def _differ(args: argparse.Namespace) -> int:
    make_folder(args.certificate)
    (old, new), table = _read(args, args.old, args.new)
    rows = None if table is None else [table.row(i, old.forest.columns) for i in range(len(table.rows))]
    result = differ(old, new, rows, where=" and ".join(args.where) or None, timeout=args.timeout)
    say_result(args, None, result)
    if args.certificate:
        _write_certificates(args, args.certificate, result)
    return codes.code_of([result])


def _rules(args: argparse.Namespace) -> int:
    make_folder(args.certificate)
    (explainer,), table = _read(args, args.model)
    assert table is not None
    chosen = chosen_rows(args, table)
    rows = [table.row(i, explainer.forest.columns) for i in chosen]
    with own_numbers(chosen):
        result = explainer.rules(
            rows, at_most=args.at_most, at_most_conditions=args.at_most_conditions, timeout=args.timeout
        )
    result = result.numbered(chosen)
    say_result(args, None, result)
    if args.certificate:
        _write_certificates(args, args.certificate, result)
    return codes.code_of([result])
