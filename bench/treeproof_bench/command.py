"""``treeproof bench``: arguments, progress, and the loop over datasets."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import treeproof as tp
from treeproof_bench import growth, judge, machine, recipe, report, summary, table1
from treeproof_bench.results import COMMAND, Results, load, start
from treeproof_bench.timing import Stage, silent

EXAMPLES = """examples:
  treeproof bench table1 --data DIR --quick
  treeproof bench table1 --data DIR --oracle native,sat:10 --json table1.jsonl \\
                         --peers anchor:10=anchor-env/bin/python --report report
"""
QUICK_INSTANCES = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the benchmarks and their options."""
    benchmarks = parser.add_subparsers(title="benchmarks", metavar="BENCHMARK")
    text = "reproduce Table 1 of the paper on its own forests and instances"
    this = benchmarks.add_parser(
        "table1",
        help=text,
        description=text,
        epilog=EXAMPLES + f"\n{parser.epilog or ''}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    this.set_defaults(run=run_table1)
    this.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder with datasets and table1.csv")
    this.add_argument("--dataset", nargs="+", metavar="NAME", help="some datasets of the table (default: all)")
    this.add_argument("--instances", metavar="N|paper", help="at most N of the paper's instances (default: paper, all)")
    this.add_argument("--seed", type=int, default=recipe.SAMPLE_SEED, help="of the sample (default: the paper's)")
    this.add_argument(
        "--oracle",
        metavar="NAME[:N],...",
        help=f"some of {', '.join(table1.ORACLES)}, each on the first N instances (default: native, all); sat is the "
        "paper's encoding with Glucose 3",
    )
    this.add_argument(
        "--peers",
        metavar="NAME[:N][=PYTHON],...",
        help=f"some of {', '.join(judge.PEERS)}, each on the first N instances, with the interpreter that has it "
        "(default: none, and this interpreter)",
    )
    this.add_argument("--limit", type=float, default=60.0, metavar="SECONDS", help="for one explanation (default: 60)")
    this.add_argument("--repeats", type=int, default=3, help="of native and predict; the median counts (default: 3)")
    this.add_argument("--quick", action="store_true", help=f"native on {QUICK_INSTANCES} instances, measured once")
    this.add_argument("--json", type=Path, metavar="FILE", help="results, written as they come; a run can be resumed")
    this.add_argument("--report", type=Path, metavar="DIR", help="write a report there: Markdown, HTML, pictures")
    this.add_argument("--quiet", action="store_true", help="no progress bars and no line for each dataset")
    this.add_argument(
        "--growth",
        action=argparse.BooleanOptionalAction,
        help="measure growth curves too (default: if a report of all datasets is wanted, unless --quick)",
    )
    again = benchmarks.add_parser(
        "report", help="write the report of a file of results", description="write the report of a file of results"
    )
    again.set_defaults(run=run_report)
    again.add_argument("json", type=Path, metavar="FILE", help="file that --json wrote")
    again.add_argument("report", type=Path, metavar="DIR", help="folder of the report")
    again.add_argument("--quiet", action="store_true", help="do not say where it is")


def run_report(args: argparse.Namespace) -> int:
    """Write the report of stored results."""
    _check_report(args.report)
    report.write(load(args.json), args.report)
    if not args.quiet:
        args.say(f"report: {args.report / 'report.html'}")
    return 0


def run_table1(args: argparse.Namespace) -> int:
    """Measure what is missing, show the table, write the report."""
    settings, pythons = _settings(args)
    table = recipe.read_table(args.data)
    names = args.dataset or list(table)
    for name in names:
        if name not in table:
            raise tp.InputError(f"--dataset must name datasets of {args.data / 'table1.csv'}. Got {name}.")
        recipe.find(args.data, name)
    if args.report:
        _check_report(args.report)
    _check_oracles(settings)
    peer_versions = {judge.package(peer): judge.installed(peer, python) for peer, python in pythons.items()}
    header = {
        "command": COMMAND,
        "settings": vars(settings),
        "machine": machine.machine(),
        "versions": {**machine.versions(*_packages(settings)), **peer_versions},
        "date": machine.now(),
    }
    results = start(args.json, header)
    wanted = args.growth if args.growth is not None else bool(args.report and not args.dataset and not args.quick)
    curves = [place for place in growth.places() if wanted and place not in results.growth]
    left = [name for name in names if name not in results.datasets]
    if len(left) < len(names) and not args.quiet:
        args.say(f"{args.json} has {len(names) - len(left)} of {len(names)} datasets already.")
    with _progress(len(left) + len(curves), args.quiet) as stage:
        for name in left:
            record = table1.measure(args.data, name, table[name], settings, pythons, _named(stage, name))
            results.add(record)
            if not args.quiet:
                args.say(_line(record))
        for curve, at in curves:
            _named(stage, "growth")(f"{curve} {at or 'none'}", 1)()
            results.add(growth.measure(curve, at, settings.limit, settings.repeats))
    shown = Results(results.header, None, {name: results.datasets[name] for name in names}, results.growth)
    records = list(shown.datasets.values())
    printed = report.table1(records)
    if not args.show_table(printed.columns, printed.rows, printed.n_names):
        args.say("\n" + report.as_text(printed) + "\n")
    for line in report.findings(shown):
        args.say(f"* {line}")
    for line in report.worse_lines(shown):
        args.say(f"* worse than the paper, or different: {line}")
    if args.report:
        report.write(shown, args.report)
        args.say(f"report: {args.report / 'report.html'}")
    late = any(each["over_limit"] for record in records for each in record["oracles"].values())
    return 1 if late else 0


def _settings(args: argparse.Namespace) -> tuple[table1.Settings, dict[str, str]]:
    """Return the settings, and the interpreter of each peer."""
    if args.quick and (args.instances or args.oracle or args.peers):
        raise tp.InputError("--quick goes without --instances, --oracle and --peers: it chooses them.")
    instances = f"{QUICK_INSTANCES}" if args.quick else args.instances or "paper"
    if args.limit <= 0:
        raise tp.InputError(f"--limit must be a number of seconds above 0. Got {args.limit:g}.")
    if args.repeats < 1:
        raise tp.InputError(f"--repeats must be at least 1. Got {args.repeats}.")
    if not 0 <= args.seed < 2**32:
        raise tp.InputError(f"--seed must be a whole number from 0 to 2**32 - 1. Got {args.seed}.")
    pythons = {}
    peers = {}
    for word in args.peers.split(",") if args.peers else ():
        text, _, python = word.partition("=")
        name, most = _counted("--peers", text, judge.PEERS)
        peers[name], pythons[name] = most, python or sys.executable
    oracles = dict(_counted("--oracle", text, table1.ORACLES) for text in (args.oracle or "native").split(","))
    most = None if instances == "paper" else _count("--instances", instances, " or paper")
    repeats = 1 if args.quick else args.repeats
    return table1.Settings(most, oracles, peers, args.seed, args.limit, repeats), pythons


def _counted(option: str, text: str, known: Any) -> tuple[str, int | None]:
    name, colon, count = text.partition(":")
    if name not in known:
        raise tp.InputError(f"{option} must name some of {', '.join(known)}, with commas between them. Got {name!r}.")
    return name, _count(f"The number after {name}: in {option}", count) if colon else None


def _count(option: str, text: str, otherwise: str = "") -> int:
    if not text.isdecimal() or int(text) < 1:
        raise tp.InputError(f"{option} must be a whole number above 0{otherwise}. Got {text!r}.")
    return int(text)


def _check_oracles(settings: table1.Settings) -> None:
    """Fail now, not after hours, if an oracle cannot be had."""
    forest, _ = tp.examples.heart_disease()
    for oracle in settings.oracles:
        tp.Explainer(forest, oracle=oracle, **table1.ORACLES[oracle])


def _check_report(folder: Path) -> None:
    """Fail now if the report cannot be drawn or written."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise tp.MissingExtraError("A report needs matplotlib: pip install 'treeproof[plot]'.") from error
    del mpl
    folder.mkdir(parents=True, exist_ok=True)
    probe = folder / ".writable"
    probe.touch()
    probe.unlink()


def _packages(settings: table1.Settings) -> list[str]:
    return ["z3-solver"] if "smt" in settings.oracles else []


def _line(record: dict[str, Any]) -> str:
    """Return the news of a dataset on one line."""
    nodes, accuracy = summary.forest_as_printed(record)
    checks = {True: "as printed", False: "NOT as printed", None: "not printed"}
    parts = [
        f"{record['dataset']}: {record['nodes']} nodes {checks[nodes]}",
        f"accuracy {record['accuracy']:g} % {checks[accuracy]}",
        f"{record['instances']} instances",
    ]
    for oracle, found in record["oracles"].items():
        over = f", {len(found['over_limit'])} over the limit" if found["over_limit"] else ""
        parts.append(f"{oracle} {report.sig(sum(found['ms']) / len(found['ms']))} ms{over}")
    if (beside := summary.default_order(record)) is not None:
        parts.append(f"{report.sig(beside.ratio)} predicts")
    for method in summary.methods([record]):
        found = summary.validity([record], method)
        parts.append(
            f"{summary.label(method)} {report.sig(found.mean_ms)} ms, {found.refuted} of {found.answered} do not force"
        )
    parts += [f"{peer} FAILED: {each['error']}" for peer, each in record["peers"].items() if "error" in each]
    return "; ".join(parts)


def _named(stage: Stage, name: str) -> Stage:
    return lambda text, total: stage(f"{name}: {text}", total)


@contextmanager
def _progress(total: int, quiet: bool) -> Iterator[Stage]:
    """Show how far the run is: bars on a terminal if rich is there, else nothing but the lines of the datasets.

    They are drawn between measurements, at most five times a second, never by a thread in the background, whose CPU
    time would be counted.
    """
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        yield silent
        return
    if quiet or not sys.stderr.isatty():
        yield silent
        return
    columns = (
        TextColumn("{task.description:<28}"),
        BarColumn(bar_width=16),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
    )
    bars = Progress(
        *columns, console=Console(stderr=True), auto_refresh=False, redirect_stdout=sys.stdout.isatty(), transient=True
    )
    every, current = bars.add_task("all", total=total, rate=""), bars.add_task("", total=1, rate="")
    dataset, drawn, done, began = "", 0.0, 0, 0.0

    def stage(text: str, steps: int) -> Callable[[], None]:
        nonlocal dataset, done, began
        done, began = 0, time.monotonic()
        name = text.partition(":")[0]
        if dataset not in ("", name) or dataset == name == "growth":
            bars.advance(every)
        dataset = name
        bars.reset(current, description=text, total=steps, rate="")
        bars.refresh()

        def tick() -> None:
            nonlocal drawn, done
            done += 1
            bars.advance(current)
            if (now := time.monotonic()) - drawn > 0.2:
                drawn = now
                bars.update(current, rate=f"{done / max(now - began, 1e-9):.3g}/s")
                bars.refresh()

        return tick

    with bars:
        yield stage
