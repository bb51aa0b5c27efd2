"""Arguments, dispatch, exit codes."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import treeproof
from treeproof.cli import demo, train
from treeproof.cli.table import Table, read_table
from treeproof.errors import InputError, TreeproofError
from treeproof.explainer import Explainer
from treeproof.explanation import Abductive
from treeproof.files import load_model, write_whole
from treeproof.oracles import ORACLES
from treeproof.parallel import track

EXIT_CODES = """exit codes:
  0    done
  1    done, but a deadline came first: a result is not minimal, not complete or unknown
  2    bad input or usage; the message says what is needed
  130  interrupted
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = _parser()
    args = parser.parse_args(argv)
    if not hasattr(args, "run"):
        parser.print_help()
        return 0
    args.say = _say
    try:
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (TreeproofError, OSError) as error:
        sys.stderr.write(f"treeproof: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("treeproof: interrupted\n")
        return 130


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="treeproof",
        description="Explain the predictions of random forests, with proofs.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"treeproof {treeproof.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    def command(name: str, text: str, run: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
        made = commands.add_parser(
            name,
            help=text,
            description=text,
            epilog=EXIT_CODES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        made.set_defaults(run=run)
        return made

    command("demo", "explain the paper's running example and an iris forest", demo.run)
    train.add_arguments(command("train", "train a forest on a CSV file, as the paper does", train.run))

    explain = command("explain", "say why a row gets its prediction, or what would change it", _explain)
    _add_question(explain)
    which = explain.add_mutually_exclusive_group()
    which.add_argument(
        "--row", type=int, nargs="+", default=[0], metavar="N", help="rows to explain, from 0 (default: 0)"
    )
    which.add_argument("--all", action="store_true", help="explain every row")
    explain.add_argument(
        "--kind",
        choices=["abductive", "contrastive"],
        default="abductive",
        help="why (abductive, the default), or what would change it (contrastive)",
    )
    explain.add_argument("--prefer", nargs="+", default=[], metavar="FEATURE", help="features to keep or change first")
    _add_search(explain)

    enumerate_ = command("enumerate", "list all minimal explanations of a row", _enumerate)
    _add_question(enumerate_)
    enumerate_.add_argument("--row", type=int, default=0, metavar="N", help="row to explain, from 0 (default: 0)")
    enumerate_.add_argument("--kind", choices=["abductive", "contrastive", "both"], default="both")
    enumerate_.add_argument("--limit", type=int, help="stop after so many")
    _add_search(enumerate_)

    encode = command("encode", "write a query about a row as DIMACS or SMT-LIB", _encode)
    _add_question(encode)
    encode.add_argument("--row", type=int, default=0, metavar="N", help="row of the query, from 0 (default: 0)")
    encode.add_argument("--keep", nargs="*", metavar="FEATURE", help="features kept at their value (default: all)")
    encode.add_argument("--format", choices=["dimacs", "smtlib"], default="dimacs")
    encode.add_argument("--out", metavar="FILE", help="where to write it (default: standard output)")
    return parser


def _add_question(parser: argparse.ArgumentParser) -> None:
    """Options that say what is explained: model, data, space, vote, target, and the SAT encoding."""
    parser.add_argument("model", help="saved model: .json, .skops, or a trusted .pkl / .joblib")
    parser.add_argument("data", help="CSV file with a header that names the model's columns")
    parser.add_argument("--trust", action="store_true", help="read a pickle, which can run any code its author put in")
    parser.add_argument(
        "--vote", choices=["majority", "mean"], help="explain this vote of the trees (default: predict)"
    )
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
    parser.add_argument("--preset", choices=["paper", "compact"], help="encoding of the sat oracle")
    parser.add_argument("--solver", help="PySAT solver of the sat oracle")
    parser.add_argument("--cardinality", help="PySAT cardinality encoding of the sat oracle")


def _add_search(parser: argparse.ArgumentParser) -> None:
    """Options of a search: oracle, order, deadline, output."""
    parser.add_argument("--oracle", choices=list(ORACLES), default="native", help="backend (default: %(default)s)")
    parser.add_argument(
        "--order",
        choices=["importance", "index"],
        default="importance",
        help="which features are tried for removal first (default: least important)",
    )
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="time limit for each row")
    parser.add_argument("--json", action="store_true", help="one JSON object for each result")


def _explain(args: argparse.Namespace) -> int:
    explainer, table = _load(args, args.oracle)
    rows = range(len(table.rows)) if args.all else args.row
    code = 0
    # A bar is shown on a terminal whose output goes elsewhere.
    show = len(rows) > 1 and sys.stderr.isatty() and not sys.stdout.isatty()
    for index in track(rows, len(rows), "explaining" if show else None):
        x = table.row(index, explainer.forest.columns)
        common: dict[str, Any] = {"order": args.order, "prefer": args.prefer, "timeout": args.timeout}
        if args.kind == "contrastive":
            result: Any = explainer.contrastive(x, target=_target(args, explainer), **common)
        elif args.target is not None:
            raise InputError("--target goes with --kind contrastive.")
        else:
            result = explainer.abductive(x, **common)
        if result.status in ("sound", "unknown"):
            code = 1
        if args.json:
            _say(json.dumps({"row": index, **result.to_dict()}))
        else:
            _say(f"row {index}: {result}\n")
    return code


def _enumerate(args: argparse.Namespace) -> int:
    explainer, table = _load(args, args.oracle)
    x = table.row(args.row, explainer.forest.columns)
    results = explainer.enumerate(
        x,
        kind=args.kind,
        target=_target(args, explainer),
        limit=args.limit,
        timeout=args.timeout,
        order=args.order,
    )
    n = 0
    for n, result in enumerate(results, start=1):
        if args.json:
            _say(json.dumps({"row": args.row, **result.to_dict()}))
        else:
            rules_out = isinstance(result, Abductive) and result.target is not None
            kind = f"rules out {result.target}" if rules_out else type(result).__name__.lower()
            _say(f"{n:4d}  {kind:<12} {{{', '.join(result.feature_names)}}}")
    ended_early = results.complete is False
    if not args.json:
        if not ended_early:
            _say(f"complete: these {n} are all")
        else:
            _say(f"not complete: stopped by the {'limit' if n == args.limit else 'time limit'}")
    return 1 if ended_early and n != args.limit else 0


def _encode(args: argparse.Namespace) -> int:
    explainer, table = _load(args, "native")
    text = explainer.encode(
        table.row(args.row, explainer.forest.columns),
        features=args.keep,
        target=_target(args, explainer),
        format=args.format,
        **(_sat_options(args) if args.format == "dimacs" else {}),
    )
    if args.out:
        write_whole(args.out, text.encode())
    else:
        sys.stdout.write(text)
    return 0


def _load(args: argparse.Namespace, oracle: str) -> tuple[Explainer, Table]:
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
    options = _sat_options(args) if oracle == "sat" else {}
    model = load_model(args.model, trust=args.trust)
    explainer = Explainer(model, vote=args.vote, kinds=kinds, one_hot=one_hot, oracle=oracle, **options)
    return explainer, read_table(args.data)


def _sat_options(args: argparse.Namespace) -> dict[str, str]:
    chosen = {"preset": args.preset, "solver": args.solver, "cardinality": args.cardinality}
    return {name: value for name, value in chosen.items() if value is not None}


def _target(args: argparse.Namespace, explainer: Explainer) -> Any:
    """Return the class that the text names: labels are compared as they are printed."""
    if args.target is None:
        return None
    labels = explainer.forest.classes.tolist()
    for label in labels:
        if str(label) == args.target:
            return label
    raise InputError(f"--target must be one of {labels}. Got {args.target!r}.")
