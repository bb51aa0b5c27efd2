"""What commands share: how a question is put on the command line, and how its answers are written."""

from __future__ import annotations

import argparse
import json
from typing import Any

from treeproof.cli.show import say, say_card
from treeproof.cli.table import Table, read_table
from treeproof.errors import InputError
from treeproof.explainer import Explainer
from treeproof.files import load_model
from treeproof.importers import import_model
from treeproof.oracles import ORACLES


def say_result(args: argparse.Namespace, row: int | None, result: Any) -> None:
    """Write a result, as JSON on request."""
    if args.json:
        say(json.dumps({**({} if row is None else {"row": row}), **result.to_dict()}))
    else:
        say_card(str(result), None if row is None else f"row {row}")


def add_question(parser: argparse.ArgumentParser, *, target: bool = True) -> None:
    """Options that say what is explained: model, data, space, vote, target, and the SAT encoding."""
    parser.add_argument(
        "model", help="saved model: .json, .skops, XGBoost .json, LightGBM .txt, or a trusted .pkl / .joblib"
    )
    parser.add_argument("data", help="CSV file with a header that names the model's columns")
    parser.add_argument("--trust", action="store_true", help="read a pickle, which can run any code its author put in")
    parser.add_argument(
        "--vote", choices=["majority", "mean"], help="explain this vote of the trees (default: predict)"
    )
    claim = parser.add_mutually_exclusive_group()
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
        "--cut", type=float, nargs="+", metavar="SCORE", help="explain between which of these a regressor's score lies"
    )
    claim.add_argument(
        "--within",
        type=float,
        metavar="DISTANCE",
        help="explain why a regressor's score stays so close to its prediction",
    )
    parser.add_argument(
        "--missing", nargs="*", metavar="COLUMN", help="numeric columns that may be missing (alone: all that can be)"
    )
    if target:
        parser.add_argument("--target", metavar="CLASS", help="the class to reach (why not this one?)")
    parser.add_argument("--binary", nargs="+", default=[], metavar="COLUMN", help="columns that are 0 or 1")
    parser.add_argument("--ordinal", nargs="+", default=[], metavar="COLUMN", help="columns of whole numbers")
    parser.add_argument(
        "--one-hot",
        action="append",
        default=[],
        metavar="NAME=COLUMN,COLUMN,...",
        help="columns of which exactly one is 1, as one feature; may be repeated",
    )
    parser.add_argument(
        "--constraints", metavar="FILE", help="rules between features, one on each line: if A = 1 then B <= 3"
    )
    parser.add_argument("--observed", action="store_true", help="keep features in the ranges of the data")
    parser.add_argument("--preset", choices=["paper", "compact"], help="encoding of the sat oracle")
    parser.add_argument("--solver", help="PySAT solver of the sat oracle")
    parser.add_argument("--cardinality", help="PySAT cardinality encoding of the sat oracle")


def add_search(parser: argparse.ArgumentParser, *, order: bool = True) -> None:
    """Options of a search: oracle, order, deadline, output."""
    parser.add_argument("--oracle", choices=list(ORACLES), default="native", help="backend (default: %(default)s)")
    if order:
        parser.add_argument(
            "--order",
            choices=["importance", "index"],
            default="importance",
            help="which features are tried for removal first (default: least important)",
        )
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="time limit for each row")
    add_output(parser)


def add_output(parser: argparse.ArgumentParser) -> None:
    """Options of what is printed, the same for every command."""
    parser.add_argument("--json", action="store_true", help="one JSON object on a line for each result")
    parser.add_argument("--quiet", action="store_true", help="no progress bars and no remarks: results only")


def load(args: argparse.Namespace, oracle: str) -> tuple[Explainer, Table]:
    """Return the explainer and the rows that the options ask for."""
    kinds: Any = {**dict.fromkeys(args.binary, "binary"), **dict.fromkeys(args.ordinal, "ordinal")}
    both = set(args.binary) & set(args.ordinal)
    if both:
        raise InputError(f"A column is binary or ordinal, not both. Got {sorted(both)} in both.")
    one_hot = {}
    for group in args.one_hot:
        name, _, columns = group.partition("=")
        if not name or not columns:
            raise InputError(f"--one-hot must look like NAME=COLUMN,COLUMN,... Got {group!r}.")
        one_hot[name] = columns.split(",")
    options: dict[str, Any] = sat_options(args) if oracle == "sat" else {}
    model = load_model(args.model, trust=args.trust)
    table = read_table(args.data)
    if getattr(args, "verify", False):
        options["verify"] = True
    options |= {"threshold": args.threshold, "confidence": args.confidence, "cuts": args.cut}
    if args.missing is not None:
        options["missing"] = args.missing or "all"
    if args.constraints:
        options["constraints"] = args.constraints
    if args.observed:
        columns = import_model(model, vote=args.vote).columns
        options |= {"data": [table.row(i, columns) for i in range(len(table.rows))], "domain": "observed"}
    return Explainer(model, vote=args.vote, kinds=kinds, one_hot=one_hot, oracle=oracle, **options), table


def about(args: argparse.Namespace, explainer: Explainer, x: Any) -> Explainer:
    """Return the explainer for one row: with --within, the one for scores around its own."""
    return explainer if args.within is None else explainer.around(x, args.within)


def sat_options(args: argparse.Namespace) -> dict[str, str]:
    """Return the options of the SAT oracle that were given."""
    chosen = {"preset": args.preset, "solver": args.solver, "cardinality": args.cardinality}
    return {name: value for name, value in chosen.items() if value is not None}


def target_of(args: argparse.Namespace, explainer: Explainer) -> Any:
    """Return the class that the text names: labels are compared as they are printed."""
    if args.target is None:
        return None
    labels = explainer.forest.classes.tolist()
    for label in labels:
        if str(label) == args.target:
            return label
    raise InputError(f"--target must be one of {labels}. Got {args.target!r}.")
