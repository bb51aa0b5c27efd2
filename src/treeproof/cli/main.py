"""Arguments, dispatch, exit codes."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import treeproof
from treeproof import checker
from treeproof.certificate import check
from treeproof.checker import CheckError
from treeproof.cli import ask, completion, demo, train
from treeproof.cli.choose import add_rows, chosen_rows
from treeproof.cli.common import about, add_output, add_question, add_search, load, sat_options, say_result, target_of
from treeproof.cli.output import check_out, write_results
from treeproof.cli.show import say, say_card, say_found, shows_progress, terminal
from treeproof.errors import InputError, TreeproofError
from treeproof.explainer import Explainer
from treeproof.explanation import Abductive
from treeproof.files import save_forest, write_whole
from treeproof.oracles.sat import to_drat
from treeproof.parallel import track

EXIT_CODES = """exit codes:
  0    done
  1    done, but a deadline came first: a result is not minimal, not complete or unknown
  2    bad input or usage; the message says what is needed
  3    a certificate was rejected; the message says why
  130  interrupted
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    parser = _parser(benchmarks=words[:1] == ["bench"])
    args = parser.parse_args(words)
    if not hasattr(args, "run"):
        parser.print_help()
        return 0
    args.say = say
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


def _parser(benchmarks: bool) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="treeproof",
        description="Explain the predictions of tree ensembles, with proofs.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"treeproof {treeproof.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    command = partial(_add_command, commands)

    add_output(command("demo", "explain the paper's running example and an iris forest", demo.run))
    train.add_arguments(command("train", "train a forest on a CSV file, as the paper does", train.run))

    _add_explain(command("explain", "say why a row gets its prediction, or what would change it", _explain))

    enumerate_ = command("enumerate", "list all minimal explanations of a row", _enumerate)
    add_question(enumerate_)
    add_rows(enumerate_)
    enumerate_.add_argument("--kind", choices=["abductive", "contrastive", "both"], default="both")
    enumerate_.add_argument("--limit", type=int, help="stop after so many")
    add_search(enumerate_)

    asks = command("ask", "ask other questions: what matters at all, how robust, is this explanation right")
    ask.add_commands(partial(_add_command, asks.add_subparsers(title="questions", metavar="QUESTION")))

    checks = command("check", "check a certificate with the independent checker", _check)
    checks.add_argument("certificate", nargs="?", help="file that --certificate wrote (.json, also compressed)")
    checks.add_argument("model", nargs="?", help="the model it is about: a forest as .json, or what explain takes")
    checks.add_argument("--trust", action="store_true", help="read a pickle, which can run any code its author put in")
    checks.add_argument(
        "--copy", metavar="FILE", help="write the checker itself there: one file, for a machine without treeproof"
    )
    add_output(checks)

    encode = command("encode", "write a query about a row as DIMACS or SMT-LIB", _encode)
    add_question(encode)
    encode.add_argument("--row", type=int, default=0, metavar="N", help="row of the query, from 0 (default: 0)")
    encode.add_argument("--keep", nargs="*", metavar="FEATURE", help="features kept at their value (default: all)")
    encode.add_argument("--format", choices=["dimacs", "smtlib"], default="dimacs")
    encode.add_argument(
        "--proof", metavar="FILE", help="write a DRAT proof there, if the label cannot change (DIMACS only)"
    )
    encode.add_argument("--out", metavar="FILE", help="where to write it (default: standard output)")
    add_output(encode)

    shells = command("completion", "print a script with which a shell completes commands and options", _completion)
    shells.add_argument("shell", choices=["bash", "zsh", "fish"])
    shells.epilog = completion.INSTALL

    bench = command("bench", "reproduce the paper's experiment, side by side with other tools", lambda args: 0)
    if benchmarks:
        from treeproof.bench.command import add_arguments  # only now: nobody else waits for it

        add_arguments(bench)
    return parser


def _add_explain(explain: argparse.ArgumentParser) -> None:
    add_question(explain)
    add_rows(explain)
    explain.add_argument(
        "--kind",
        choices=["abductive", "contrastive"],
        default="abductive",
        help="why (abductive, the default), or what would change it (contrastive)",
    )
    explain.add_argument("--minimum", action="store_true", help="as few features as possible, proved")
    explain.add_argument(
        "--cost", nargs="+", default=[], metavar="FEATURE=NUMBER", help="with --minimum: cheapest by these costs"
    )
    why = explain.add_argument_group("why")
    why.add_argument("--inflate", action="store_true", help="widen every bound as far as it goes")
    why.add_argument("--tries", type=int, metavar="N", help="the shortest of N orders of removal")
    change = explain.add_argument_group("what would change it")
    change.add_argument("--fixed", nargs="+", metavar="FEATURE", help="features that must not change")
    change.add_argument("--up", nargs="+", metavar="FEATURE", help="features that may only rise")
    change.add_argument("--down", nargs="+", metavar="FEATURE", help="features that may only fall")
    explain.add_argument("--certificate", metavar="DIR", help="write a certificate of each row there, with the forest")
    explain.add_argument("--verify", action="store_true", help="let the independent checker check every answer")
    explain.add_argument("--prefer", nargs="+", default=[], metavar="FEATURE", help="features to keep or change first")
    explain.add_argument(
        "--out", metavar="FILE", help="write the results there instead, as .csv, .json or .parquet; whole or not at all"
    )
    add_search(explain)


def _add_command(
    commands: Any, name: str, text: str, run: Callable[[argparse.Namespace], int] | None = None
) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=text, epilog=EXIT_CODES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.set_defaults(run=run or (lambda args: _help(made)))
    return made


def _help(parser: argparse.ArgumentParser) -> int:
    parser.print_help()
    return 0


def _explain(args: argparse.Namespace) -> int:
    options = _explain_options(args)
    if args.out:
        check_out(args.out)
    explainer, table = load(args, args.oracle)
    rows = chosen_rows(args, table)
    results: list[tuple[int, Any]] = []
    code = 0
    show = len(rows) > 1 and (shows_progress(args.quiet) or bool(args.out and sys.stderr.isatty() and not args.quiet))
    for index in track(rows, len(rows), "explaining" if show else None):
        x = table.row(index, explainer.forest.columns)
        asked = about(args, explainer, x)
        if args.kind == "contrastive":
            result: Any = asked.contrastive(x, target=target_of(args, asked), **options)
        else:
            result = asked.abductive(x, **options)
        if result.status in ("sound", "unknown"):
            code = 1
        if args.out:
            results.append((index, result))
        else:
            say_result(args, index, result)
        if args.certificate:
            _write_certificate(Path(args.certificate), index, result)
    if args.out:
        write_results(args.out, results)
        late = sum(result.status in ("sound", "unknown") for _, result in results)
        if args.json:
            say(json.dumps({"out": args.out, "rows": len(results), "late": late}))
        elif not args.quiet:
            end = f"; {late} not minimal, the time was up" if late else ""
            say(f"{'1 row' if len(results) == 1 else f'{len(results)} rows'} explained, saved to {args.out}{end}")
    return code


def _write_certificate(folder: Path, index: int, result: Any) -> None:
    """Write the certificate of a row, and the forest that it is about, which a checker needs."""
    certificate = result.certificate()
    folder.mkdir(parents=True, exist_ok=True)
    certificate.save(folder / f"row-{index}.json")
    forest = folder / f"forest-{certificate.document['model'][:12]}.json"
    if not forest.exists():
        save_forest(certificate.forest, forest)


def _check(args: argparse.Namespace) -> int:
    if args.copy:
        write_whole(args.copy, Path(checker.__file__).read_bytes())
        if not args.quiet and not args.certificate:
            say(f"the checker is in {args.copy}; run it as: python {args.copy} certificate.json forest.json")
        if not args.certificate:
            return 0
    if not args.certificate or not args.model:
        raise InputError("check needs a certificate and the model it is about: treeproof check CERTIFICATE MODEL.")
    try:
        checked = check(args.certificate, args.model, trust=args.trust)
    except CheckError as error:
        if args.json:
            say(json.dumps({"accepted": False, "reason": str(error)}))
        sys.stderr.write(f"treeproof: rejected: {error}\n")
        return 3
    if args.json:
        say(json.dumps({"accepted": True, **asdict(checked)}))
    elif not args.quiet:
        if terminal() is None:
            say(str(checked))
        else:
            say_card(str(checked))
    return 0


def _explain_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments that both kinds of explanation share, and those of the kind asked for."""
    common: dict[str, Any] = {"order": args.order, "prefer": args.prefer, "timeout": args.timeout}
    if args.minimum:
        common["minimum"] = True
    if args.cost:
        common["cost"] = dict(_named_number(text) for text in args.cost)
    given: dict[str, dict[str, Any]] = {
        "abductive": {"inflate": args.inflate or None, "tries": args.tries},
        "contrastive": {"fixed": args.fixed, "up": args.up, "down": args.down, "target": args.target},
    }
    for kind, options in given.items():
        for name, value in options.items():
            if value is not None and kind != args.kind:
                raise InputError(f"--{name} goes with --kind {kind}.")
    if args.kind == "abductive":
        return common | {name: value for name, value in given["abductive"].items() if value is not None}
    directions = {**dict.fromkeys(args.up or (), "up"), **dict.fromkeys(args.down or (), "down")}
    if set(args.up or ()) & set(args.down or ()):
        raise InputError("A feature may rise or fall, not both. Fix it with --fixed, or leave both out.")
    return common | {"fixed": args.fixed or (), "directions": directions}


def _named_number(text: str) -> tuple[str, float]:
    name, _, number = text.rpartition("=")
    try:
        return name, float(number)
    except ValueError:
        raise InputError(f"--cost must look like FEATURE=NUMBER. Got {text!r}.") from None


def _enumerate(args: argparse.Namespace) -> int:
    explainer, table = load(args, args.oracle)
    rows = chosen_rows(args, table)
    code = 0
    for row in rows:
        if len(rows) > 1 and not args.json:
            say(f"row {row}")
        code = max(code, _enumerate_row(args, explainer, row, table.row(row, explainer.forest.columns)))
    return code


def _enumerate_row(args: argparse.Namespace, explainer: Explainer, row: int, x: Any) -> int:
    explainer = about(args, explainer, x)
    results = explainer.enumerate(
        x,
        kind=args.kind,
        target=target_of(args, explainer),
        limit=args.limit,
        timeout=args.timeout,
        order=args.order,
    )
    n = 0
    show = shows_progress(args.quiet)
    for n, result in enumerate(track(results, args.limit, f"row {row}" if show else None), start=1):
        if args.json:
            say(json.dumps({"row": row, **result.to_dict()}))
        else:
            rules_out = isinstance(result, Abductive) and result.target is not None
            kind = f"rules out {result.target}" if rules_out else type(result).__name__.lower()
            say_found(n, kind, ", ".join(result.feature_names))
    ended_early = results.complete is False
    if not args.json and not args.quiet:
        if not ended_early:
            say(f"complete: these {n} are all")
        else:
            say(f"not complete: stopped by the {'limit' if n == args.limit else 'time limit'}")
    return 1 if ended_early and n != args.limit else 0


def _encode(args: argparse.Namespace) -> int:
    explainer, table = load(args, "native")
    x = table.row(args.row, explainer.forest.columns)
    explainer = about(args, explainer, x)
    text = explainer.encode(
        x,
        features=args.keep,
        target=target_of(args, explainer),
        format=args.format,
        **(sat_options(args) if args.format == "dimacs" else {}),
    )
    if args.proof:
        if args.format != "dimacs":
            raise InputError("--proof goes with --format dimacs.")
        write_whole(args.proof, to_drat(text).encode())
    if args.out:
        write_whole(args.out, text.encode())
    if args.json:
        files = {"out": args.out, "proof": args.proof}
        say(json.dumps({"row": args.row, "format": args.format, **files, "text": None if args.out else text}))
    elif not args.out:
        sys.stdout.write(text)
    return 0


def _completion(args: argparse.Namespace) -> int:
    sys.stdout.write(completion.script(_parser(benchmarks=True), args.shell))
    return 0
