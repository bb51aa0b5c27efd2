"""Options that commands share, and the model and data that they name.

An option has the same name, help text and place in the help of every command that has it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

import numpy as np

from treeproof.cli.table import TABLES, Table, read_table
from treeproof.cli.terminal import complain, say, say_view, waiting
from treeproof.errors import InputError, did_you_mean
from treeproof.explainer import Explainer
from treeproof.model.columns import FloatArray
from treeproof.model.files import MAX_MB, MODELS, load_model
from treeproof.model.forest import Forest
from treeproof.model.importers import import_model, needs_data
from treeproof.model.labels import plain_label
from treeproof.oracles import ORACLES
from treeproof.questions.result import Result
from treeproof.space.constraints import read_declarations
from treeproof.space.declare import dated
from treeproof.space.features import NumericKind

MODEL_HELP = "saved model: .json, .skops, XGBoost .json or .ubj, LightGBM .txt, or a trusted .pkl / .joblib"
MOST_NAMED = 30  # columns in a line
TIMEOUT = 60.0  # seconds for each row, unless others are given
JOBS_HELP = "number of workers; -1: one per core (default: 1)"
DATA_HELP = "CSV file with a header that names the model's columns; may be .gz, or - for standard input"


def section(parser: argparse.ArgumentParser, title: str) -> Any:
    """Return the argument group with this title; several functions may add options to it."""
    for group in parser._action_groups:
        if group.title == title:
            return group
    return parser.add_argument_group(title)


def add_certificate(parser: argparse.ArgumentParser, files: str) -> None:
    """Add the option that writes certificates."""
    section(parser, "output").add_argument(
        "--certificate", metavar="DIR", help=f"write {files} and the forest to DIR, for treeproof check"
    )


def class_of(explainer: Explainer, text: str | None) -> Any:
    """Return the class that is written like this, by its label or its name; the text itself if there is none."""
    labels = explainer.scored_context.labels
    return next((label for label in labels if text in (str(label), str(plain_label(label)))), text)


def add_files(parser: argparse.ArgumentParser, **models: str) -> None:
    """Add positional arguments: the model or models, each with its help text, and the data."""
    for name, text in (models or {"model": MODEL_HELP}).items():
        parser.add_argument(name, metavar=name.upper(), help=text)
    parser.add_argument("data", metavar="DATA", help=DATA_HELP)
    add_size(parser)


def add_size(parser: argparse.ArgumentParser) -> None:
    """Add how much a compressed file may hold."""
    section(parser, "inputs").add_argument(
        "--max-mb",
        type=float,
        default=MAX_MB,
        metavar="N",
        help="refuse compressed files (.csv.gz, .skops) that hold more than N million bytes (default: %(default)g)",
    )


def add_question(parser: argparse.ArgumentParser, *, target: bool = True) -> None:
    """Add the files, the model's options and, if the question has one, the target."""
    add_files(parser)
    if target:
        add_target(parser)
    add_model(parser)


def add_widening(parser: argparse.ArgumentParser, title: str, default: str) -> None:
    """Add whether conditions are widened."""
    group = section(parser, title)
    which = group.add_mutually_exclusive_group()
    which.add_argument(
        "--inflate",
        action="store_true",
        help=f"widen every condition; ends early where it would take seconds (default for {default})",
    )
    which.add_argument(
        "--quick",
        dest="inflate",
        action="store_const",
        const="quick",
        help="widen every condition, but at a few times the cost of the plain reason: for many rows",
    )
    which.add_argument(
        "--widest",
        dest="inflate",
        action="store_const",
        const="widest",
        help="widen every condition as far as possible, and prove that; on a large model this can take minutes",
    )
    which.add_argument(
        "--unions",
        dest="inflate",
        action="store_const",
        const="unions",
        help="widen every condition, if need be to several ranges: a < 1 or a > 2",
    )
    which.add_argument("--plain", action="store_true", help="do not widen conditions: what the row's own values force")


def add_target(parser: argparse.ArgumentParser, title: str = "question") -> None:
    """Add the class of a "why not?"."""
    section(parser, title).add_argument("--target", metavar="CLASS", help="the class to reach (why not this class?)")


def add_radius(parser: argparse.ArgumentParser) -> None:
    """Add how far features may move. (--within is about a regressor's score.)"""
    question = section(parser, "question")
    question.add_argument(
        "--radius",
        type=float,
        metavar="R",
        help="only about inputs near the row: features that are not kept move by at most R times their scale",
    )
    add_scale(parser)


def add_scale(parser: argparse.ArgumentParser) -> None:
    """Add the scales by which it is measured how far features move."""
    section(parser, "question").add_argument(
        "--scale",
        nargs="+",
        default=[],
        metavar="FEATURE=NUMBER",
        help="scales of features (default: half the distance between the 16th and 84th percentile of the data)",
    )


def add_at_most(group: Any) -> None:
    """Add the largest number of features."""
    group.add_argument(
        "--at-most", type=int, metavar="N", help="keep at most N features, and let the others move as far as possible"
    )


def radius_of(args: argparse.Namespace) -> dict[str, Any]:
    """Return how far features may move, as arguments of a question."""
    at_most = getattr(args, "at_most", None)
    if args.scale and args.radius is None and at_most is None:
        needs = "--radius or --at-most" if hasattr(args, "at_most") else "--radius"
        raise InputError(f"--scale requires {needs}, whose distances it measures.")
    radius = {} if args.radius is None else {"within": args.radius}
    budget = {} if at_most is None else {"at_most": at_most}
    return {**radius, **budget, "scale": scales_of(args)} if radius or budget else {}


def scales_of(args: argparse.Namespace) -> dict[str | int, float]:
    """Return the scales that were given."""
    return dict(named_number(text, "--scale") for text in args.scale)


def named_number(text: str, option: str) -> tuple[str, float]:
    """Return the feature and the number of an option."""
    name, _, number = text.rpartition("=")
    try:
        return name, float(number)
    except ValueError:
        raise InputError(f"{option} must look like FEATURE=NUMBER. Got {text!r}.") from None


def add_model(parser: argparse.ArgumentParser, *, within: bool = True) -> None:
    """Add options that say what is explained: which function of the model, over which inputs."""
    model = section(parser, "model")
    add_trust(model)
    model.add_argument("--vote", choices=["majority", "mean"], help="explain this vote of the trees (default: predict)")
    model.add_argument("--output", metavar="NAME", help="explain this output of a model with several: number or name")
    model.add_argument("--names", metavar="LABEL=NAME,...", help="what to call the labels: 0=good,1=bad")
    claim = model.add_mutually_exclusive_group()
    claim.add_argument(
        "--threshold", type=float, metavar="P", help="explain the second class if its probability is >= P"
    )
    claim.add_argument(
        "--confidence",
        type=float,
        metavar="P",
        help="explain a class only if its probability is >= P, else 'uncertain'",
    )
    claim.add_argument(
        "--cut",
        type=float,
        nargs="+",
        metavar="SCORE",
        help="for a regressor: explain which range between these numbers the score lies in",
    )
    if within:
        claim.add_argument(
            "--within",
            type=float,
            metavar="DISTANCE",
            help="for a regressor: explain why the score stays within this distance of its prediction",
        )
    inputs = section(parser, "inputs")
    inputs.add_argument(
        "--missing",
        nargs="*",
        metavar="COLUMN",
        help="numeric columns that may be missing (without names: all that the model allows)",
    )
    inputs.add_argument(
        "--other",
        nargs="*",
        metavar="COLUMN",
        help="columns that may hold categories unknown to the model (without names: all that it has a place for)",
    )
    inputs.add_argument("--binary", nargs="+", default=[], metavar="COLUMN", help="columns that are 0 or 1")
    inputs.add_argument(
        "--integer", "--ordinal", nargs="+", default=[], metavar="COLUMN", help="columns of whole numbers"
    )
    inputs.add_argument(
        "--real",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="columns of any numbers, though those in the data, or in the model's record, are whole",
    )
    inputs.add_argument(
        "--date",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="columns of dates, such as 2024-02-29, which the model knows as toordinal() of the day",
    )
    inputs.add_argument(
        "--one-hot",
        action="append",
        default=[],
        metavar="NAME=COLUMN,COLUMN,...",
        help="treat columns of which exactly one is 1 as one feature; may be repeated",
    )
    inputs.add_argument(
        "--group",
        action="append",
        default=[],
        metavar="NAME=FEATURE,FEATURE,...",
        help="keep or free features together, and count them as one; may be repeated",
    )
    inputs.add_argument(
        "--constraints", metavar="FILE", help="constraints between features, one per line: if A = 1 then B <= 3"
    )
    inputs.add_argument("--observed", action="store_true", help="keep features within the ranges of the data")


def add_trust(group: Any) -> None:
    """Add the consent to read a file that can execute code."""
    group.add_argument("--trust", action="store_true", help="read a pickle, or unknown types (can execute code)")


def add_encoding(parser: argparse.ArgumentParser) -> None:
    """Add options of the SAT encoding."""
    search = section(parser, "search")
    search.add_argument("--preset", choices=["paper", "compact"], help="encoding of the sat oracle")
    search.add_argument("--solver", metavar="NAME", help="PySAT solver of the sat oracle")
    search.add_argument("--cardinality", metavar="NAME", help="PySAT cardinality encoding of the sat oracle")


def add_search(
    parser: argparse.ArgumentParser,
    *,
    order: bool = True,
    jobs: bool = False,
    out: str | None = None,
    limit: str = "time limit for each row",
) -> None:
    """Add options of a search (deadline, order, threads, oracle) and of the output."""
    search = section(parser, "search")
    add_timeout(parser, limit)
    if order:
        search.add_argument(
            "--order",
            choices=["importance", "row", "index"],
            default="importance",
            help="which features are tried for removal first: the least important (default), those that matter least "
            "for the row (shorter explanations, more time), or by column",
        )
    if jobs:
        search.add_argument("--jobs", type=int, metavar="N", help=JOBS_HELP)
    search.add_argument(
        "--oracle", choices=list(ORACLES), default="native", help="proof backend (default: %(default)s)"
    )
    add_encoding(parser)
    add_output(parser, out=out)


def add_timeout(parser: argparse.ArgumentParser, limit: str = "time limit for each row") -> None:
    """Add the option of a time limit."""
    section(parser, "search").add_argument(
        "--timeout",
        type=_seconds,
        metavar="SECONDS",
        help=f"{limit}; the best answer until then is given (default: {TIMEOUT:g}; none: no limit)",
    )


def _seconds(text: str) -> float:
    return math.inf if text == "none" else float(text)


def set_timeout(args: argparse.Namespace) -> None:
    """Set the time limit where none is given: a person waits for a minute, and is told."""
    args.usual_timeout = False
    if getattr(args, "timeout", TIMEOUT) == math.inf:
        args.timeout = None
    elif getattr(args, "timeout", TIMEOUT) is None and getattr(args, "solver", None) is None:  # not all can be stopped
        args.timeout, args.usual_timeout = TIMEOUT, True


def add_output(parser: argparse.ArgumentParser, *, out: str | None = None) -> None:
    """Add output options, the same for every command; `out` is the help text of --out, if there is one."""
    output = section(parser, "output")
    if out:
        output.add_argument("--out", metavar="FILE", help=out)
    output.add_argument("--json", action="store_true", help="print one JSON object per line for each result")
    output.add_argument("--quiet", action="store_true", help="print results only: no progress bars, no remarks")


def say_result(args: argparse.Namespace, row: int | None, result: Result) -> None:
    """Write a result, as JSON on request; on standard error, that the usual time limit was reached."""
    if args.json:
        say(json.dumps({**result.to_dict(), **({} if row is None else {"row": row})}))
    else:
        say_view(result, None if row is None else f"row {row}")
    if args.usual_timeout and not args.quiet and not result.decided:
        at = "" if row is None else f" for row {row}"
        complain(f"stopped at the time limit{at}, {TIMEOUT:g} s by default. For more: --timeout SECONDS, or none.")


def load(args: argparse.Namespace, oracle: str) -> tuple[Explainer, Table]:
    """Return the explainer and the rows that the options ask for."""
    check_order([args.model], args.data)
    with waiting(args.quiet, f"reading {args.model}"):
        model = load_model(args.model, trust=args.trust, max_mb=args.max_mb)
        table = read_table(args.data, args.max_mb)
        return make_explainer(args, model, table, oracle), table


def check_order(models: Sequence[str], data: str) -> None:
    """Raise InputError if model and data are in the wrong order."""
    swapped = [model for model in models if Path(model).suffix.lower() in TABLES]
    if swapped and Path(data).suffix.lower() in MODELS:
        raise InputError(
            f"The model must come before the data. {swapped[0]} looks like data and {data} like a model; swap them."
        )


def make_explainer(args: argparse.Namespace, model: Any, table: Table | None, oracle: str) -> Explainer:
    """Return the explainer of a model that the options ask for."""
    return Explainer(model, **explainer_options(args, model, table, oracle))


def explainer_options(args: argparse.Namespace, model: Any, table: Table | None, oracle: str) -> dict[str, Any]:
    """Return the arguments of that explainer."""
    kinds = _declared_kinds(args)
    one_hot = named_lists(args.one_hot, "--one-hot", "COLUMN")
    options: dict[str, Any] = sat_options(args) if oracle == "sat" else {}
    if not options and hasattr(args, "oracle"):
        for name in sat_options(args):
            raise InputError(f"--{name} requires --oracle sat.")
    if getattr(args, "verify", False):
        options["verify"] = True
    options["groups"] = named_lists(args.group, "--group", "FEATURE")
    options |= {"threshold": args.threshold, "confidence": args.confidence, "cuts": args.cut, "names": names_of(args)}
    if args.missing is not None:
        options["missing"] = args.missing or "all"
    if args.other is not None:
        options["other"] = args.other or "all"
    if args.constraints:
        options["constraints"] = args.constraints
    names = needs_data(model)
    texts = table.texts(names) if names and table is not None else None
    forest = dated(import_model(model, vote=args.vote, output=args.output, data=texts), kinds)
    measured = hasattr(args, "scale") and (not hasattr(args, "radius") or bool(radius_of(args)))
    whole = getattr(args, "whole", False)  # about all inputs: the table says which values may be missing
    if table is not None and (args.observed or names or measured or whole):
        options["data"] = [table.row(i, forest.columns) for i in range(len(table.rows))]
        options["domain"] = "observed" if args.observed else "all"
    if measured and not args.observed and not names:  # scales alone say nothing about which inputs there are
        in_groups = set(itertools.chain(*one_hot.values()))
        expected = [c.name for c in forest.columns if c.missing == "expected" and c.categories is None]
        options = {"missing": [name for name in expected if name not in in_groups], "other": ()} | options
    written = read_declarations(args.constraints).kinds if args.constraints else {}
    settled = {*kinds, *written, *itertools.chain(*one_hot.values())}
    if table is not None:
        kinds |= _usual_kinds(args, forest, table, settled)
    return {"vote": args.vote, "output": args.output, "kinds": kinds, "one_hot": one_hot, "oracle": oracle, **options}


def _declared_kinds(args: argparse.Namespace) -> dict[str | int, NumericKind]:
    """Return the kinds of columns that options declare."""
    kinds: dict[str | int, NumericKind] = {}
    for kind in get_args(NumericKind):
        for name in getattr(args, kind):
            if kinds.setdefault(name, kind) != kind:
                raise InputError(f"A column must not be both {kinds[name]} and {kind}. Got {name!r} in both.")
    return kinds


def _usual_kinds(
    args: argparse.Namespace, forest: Forest, table: Table, settled: Container[str | int]
) -> dict[str | int, NumericKind]:
    """Return the kinds of the other columns where the data tell them; say which are narrower than any number.

    Whole numbers are a column's kind if the model kept that, or if all are whole in the data and the model separates
    no others: it was trained on such.
    """
    kinds: dict[str | int, NumericKind] = {}
    told = table.kinds(forest.columns)
    for j, column in enumerate(forest.columns):
        kind = told.get(column.name)
        if column.name in settled or kind is None:
            continue
        if kind != "integer" or column.integer or _between_whole(forest.thresholds_of(j)):
            kinds[column.name] = kind
    words = {"integer": "whole numbers", "binary": "0 or 1"}
    narrow = {word: [str(name) for name in kinds if kinds[name] == kind] for kind, word in words.items()}
    said = "; ".join(f"as {word}: {listed(names)}" for word, names in narrow.items() if names)
    if said and not args.quiet and said != getattr(args, "said", ""):  # once, if two models are compared
        args.said = said
        complain(f"counted {said}. If other numbers can occur there: --real COLUMN")
    return kinds


def listed(names: Sequence[str]) -> str:
    """Return names in a line, if there are very many the first of them."""
    more = f", ... {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"


def _between_whole(thresholds: FloatArray) -> bool:
    """Return whether thresholds are midway between whole numbers, or at them.

    Up to what a scaler in front of them rounds, and the 1e-5 by which XGBoost's last one is beyond all numbers.
    """
    doubled = 2 * thresholds
    return bool((abs(doubled - np.round(doubled)) <= 2.0**-15 * abs(thresholds).max(initial=1)).all())


def named_lists(given: Sequence[str], option: str, what: str) -> dict[str, list[str]]:
    """Return the names, each with its list, of an option that may be repeated."""
    found: dict[str, list[str]] = {}
    for text in given:
        name, _, listed = text.partition("=")
        if not name or not listed:
            raise InputError(f"{option} must look like NAME={what},{what},... Got {text!r}.")
        if name in found:
            raise InputError(f"{option} must have each name once. Got {name!r} twice.")
        found[name] = listed.split(",")
    return found


def about(args: argparse.Namespace, explainer: Explainer, x: Any) -> Explainer:
    """Return the explainer for one row: with --within, the one for scores around its own."""
    return explainer if args.within is None else explainer.around(x, args.within)


def sat_options(args: argparse.Namespace) -> dict[str, str]:
    """Return the options of the SAT oracle that were given."""
    chosen = {"preset": args.preset, "solver": args.solver, "cardinality": args.cardinality}
    return {name: value for name, value in chosen.items() if value is not None}


def names_of(args: argparse.Namespace) -> dict[str, str] | None:
    """Return the names of labels that were given, by the labels' text."""
    if args.names is None:
        return None
    pairs = [pair.partition("=") for pair in args.names.split(",")]
    if any(not label or not name for label, _, name in pairs):
        raise InputError(f"--names must look like LABEL=NAME,LABEL=NAME. Got {args.names!r}.")
    return {label.strip(): name.strip() for label, _, name in pairs}


def target_of(args: argparse.Namespace, explainer: Explainer) -> Any:
    """Return the class that the text names: labels are compared as they are printed."""
    if args.target is None:
        return None
    labels = explainer._context.labels
    for label in labels:
        if args.target in (str(label), str(plain_label(label))):
            return label
    near = did_you_mean(args.target, map(str, labels))
    raise InputError(f"--target must be one of {labels}, the classes of {args.model}. Got {args.target!r}.{near}")


def count(n: int, thing: str, things: str = "") -> str:
    """Return a number of things in words.

    >>> count(1, "row"), count(2, "row"), count(2, "class", "classes")
    ('1 row', '2 rows', '2 classes')
    """
    return f"{n} {thing}" if n == 1 else f"{n} {things or thing + 's'}"


@contextmanager
def own_numbers(rows: Sequence[int]) -> Iterator[None]:
    """Let an error name a row by its number in the file, not among the chosen ones."""
    try:
        yield
    except InputError as error:
        if error.row is not None:
            error.row = rows[error.row]
        raise
