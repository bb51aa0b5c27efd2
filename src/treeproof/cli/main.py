"""Arguments, dispatch, exit codes. Each command has its own file."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

import treeproof
from treeproof.cli import ask, check, codes, compare, completion, demo, encode, explain, report, serve, train
from treeproof.cli import enumerate as enumerate_
from treeproof.cli.options import set_timeout
from treeproof.cli.output import check_apart
from treeproof.cli.terminal import complain, say, show_table
from treeproof.errors import InternalError, MissingExtraError, TreeproofError, did_you_mean, shortened

EXAMPLES = """
treeproof demo                                a first look, needs no files
treeproof train data.csv                      train a forest: data.json
treeproof explain data.json data.csv --row 7  why this prediction?
treeproof explain data.json data.csv --row 7 --kind contrastive
treeproof explain --help                      every command has examples
"""
NO_BENCHMARKS = "The benchmarks are a package of their own. In a clone of the repository: pip install ./bench"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    args, others = make_parser(benchmarks=words[:1] == ["bench"]).parse_known_args(words)
    if others:
        sys.stderr.write(_not_understood(args.command, others))
        return codes.BAD
    args.say, args.show_table, args.words = say, show_table, words
    try:
        check_apart(args)
        set_timeout(args)
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reading end closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return codes.DONE
    except OSError as error:
        at = f"{error.filename}: " if error.filename is not None else ""
        complain(f"{at}{error.strerror or error}")
        return codes.BAD
    except InternalError:
        return _bug()
    except TreeproofError as error:
        complain(str(error))
        return codes.BAD
    except MemoryError:
        complain("there is not enough memory for this: a file is too large, or damaged")
        return codes.BAD
    except Exception:
        return _bug()
    except KeyboardInterrupt:
        complain("interrupted")
        return codes.INTERRUPTED


def _bug() -> int:
    """Write an unexpected exception, and what to do about it."""
    traceback.print_exc()
    complain("this is a bug in treeproof; no result is claimed. Please report it with the lines above.")
    return codes.BUG


def _not_understood(command: argparse.ArgumentParser, words: Sequence[str]) -> str:
    """Return the message about arguments that a command does not know; only the options, if there are any."""
    unknown = [word.partition("=")[0] for word in words if word.startswith("-")]
    what = "no such option" if unknown else "not understood"
    near = did_you_mean(unknown[0], command._option_string_actions) if unknown else ""
    return f"{command.prog}: {what}: {' '.join(unknown or words)}.{near} See {command.prog} --help.\n"


def make_parser(benchmarks: bool = True) -> argparse.ArgumentParser:
    """Return the parser of all commands; those of the benchmarks only on request, since they are slow to import."""
    parser = _Parser(
        prog="treeproof",
        usage="treeproof COMMAND [options]",
        description="Explain the predictions of tree ensembles, with proofs.",
        epilog=_epilog(EXAMPLES),
        formatter_class=_Help,
    )
    parser.set_defaults(run=lambda args: _help(parser), command=parser)
    parser.add_argument("--version", action=_Version, help="show the version and exit")
    command = partial(_add, parser.add_subparsers(title="commands", metavar="COMMAND", prog="treeproof"))

    command("demo", "explain the paper's running example and an iris forest", demo)
    command("train", "train a forest on a CSV file, as the paper does", train)
    command("explain", "say why a row gets its prediction, or what would change it", explain)
    command("enumerate", "list all minimal explanations of a row", enumerate_)
    asks = command("ask", "ask other questions: relevance, robustness, review, audit, ...")
    ask.add_commands(partial(_add_run, asks.add_subparsers(title="questions", metavar="QUESTION")))
    command("compare", "say which rows two versions of a model treat differently", compare)
    command("report", "write a self-contained HTML report on rows", report)
    command("serve", "open the workbench: all questions on one page in the browser", serve)
    command("check", "check a certificate with the independent checker", check)
    command("encode", "write a query about a row as DIMACS or SMT-LIB", encode)
    bench = command("bench", "reproduce the paper's experiment and compare with other tools")
    if benchmarks:
        _add_benchmarks(bench)
    command("completion", "print a shell completion script", completion)
    for made in _below(parser):
        made.usage = _usage(made)
        made.set_defaults(command=made)
    return parser


def _add_benchmarks(parser: argparse.ArgumentParser) -> None:
    """Add the commands of the package treeproof-bench; without it, a command that says how to get it."""
    if importlib.util.find_spec("treeproof_bench"):
        importlib.import_module("treeproof_bench.command").add_arguments(parser)
    else:
        parser.add_argument("words", nargs=argparse.REMAINDER, metavar="BENCHMARK", help=NO_BENCHMARKS)
        parser.set_defaults(run=_no_benchmarks)


def _no_benchmarks(args: argparse.Namespace) -> int:
    raise MissingExtraError(NO_BENCHMARKS)


def _add(commands: Any, name: str, text: str, module: Any = None) -> argparse.ArgumentParser:
    """Add a command that a module declares and runs; without a module, the command shows its help."""
    made = _add_run(commands, name, text, module and module.run, getattr(module, "EXAMPLES", ""))
    if module:
        module.add_arguments(made)
    return made


def _add_run(
    commands: Any, name: str, text: str, run: Callable[[argparse.Namespace], int] | None = None, examples: str = ""
) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=text, epilog=_epilog(examples), formatter_class=_Help
    )
    made.set_defaults(run=run or (lambda args: _help(made)), parser=make_parser, command=made)
    return made


def _help(parser: argparse.ArgumentParser) -> int:
    parser.print_help()
    return codes.DONE


def _epilog(examples: str) -> str:
    lines = "".join(f"  {line}\n" for line in examples.strip().splitlines())
    return f"examples:\n{lines}\n{codes.TEXT}" if lines else codes.TEXT


def _below(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """Return the parsers of all commands that have no commands of their own."""
    made = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    return [leaf for action in made for sub in action.choices.values() for leaf in _below(sub)] if made else [parser]


def _usage(parser: argparse.ArgumentParser) -> str:
    """Return the usage line with required arguments only; options are listed below it anyway."""
    words = [parser.prog]
    for action in parser._actions:
        name = str(action.metavar or "|".join(map(str, action.choices or ())) or action.dest.upper())
        if not action.option_strings:
            words.append(f"[{name}]" if action.nargs == "?" else name)
        elif action.required:
            words.append(f"{action.option_strings[-1]} {name}{' ...' * (action.nargs == '+')}")
    return " ".join([*words, "[options]"])


class _Parser(argparse.ArgumentParser):
    """A parser that knows what was meant."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            near = did_you_mean(str(value), map(str, action.choices or ()))
            raise argparse.ArgumentError(action, f"{shortened(error.message)}.{near}") from None


class _Version(argparse.Action):
    """Prints the version, which is looked up when it is asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        say(f"treeproof {treeproof.__version__}")
        parser.exit()


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help with aligned command descriptions: argparse forgets that the command names are indented."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        self._action_max_length = len("    completion")
