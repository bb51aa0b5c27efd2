"""What the benchmark scripts share: arguments, forests, tables that print as they grow, and the results file."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from treeproof_bench import machine
from treeproof_bench.recipe import Line, read, read_table, sample, train

Row = dict[str, Any]
Part = Callable[[argparse.Namespace], tuple[list[Row], list[Row]]]


class Table:
    """Prints lines under a heading as they come, and keeps them, with what they hold beyond the printed columns."""

    def __init__(self, title: str, columns: str) -> None:
        self.rows: list[Row] = []
        self._formats = dict(column.split(":") for column in columns.split())
        self._widths = {name: int(spec.partition(".")[0]) for name, spec in self._formats.items()}
        heading = "".join(f"{name.replace('_', ' '):>{width}}" for name, width in self._widths.items())
        print(f"\n{title}\n{heading}", flush=True)

    def add(self, row: Row) -> None:
        """Print one line and keep it; None is shown as a dash."""
        self.rows.append(row)
        shown = (
            f"{'-':>{self._widths[name]}}" if row[name] is None else f"{row[name]:>{spec}}"
            for name, spec in self._formats.items()
        )
        print("".join(shown), flush=True)


def recipe(args: argparse.Namespace) -> Iterator[tuple[str, Line, Any, Any]]:
    """Yield name, line of Table 1, forest and chosen rows of each dataset of the table."""
    table = read_table(args.data)
    for name in args.dataset or table:
        model = train(*read(args.data, name), table[name]["depth"])
        yield name, table[name], model, sample(args.data, name, args.instances)[1]


def figure(text: str, value: Any, target: str = "", met: bool | None = None) -> Row:
    return {"figure": text, "value": value, "target": target, "met": met}


def but(names: list[str]) -> str:
    return f", but {', '.join(names)}" if names else ""


PLACES = {"data", "json", "before", "models", "kept", "veritas"}  # options that say where things are on this machine


def about(args: argparse.Namespace) -> Row:
    """Return what the numbers depend on: when, where, with what."""
    options = {key: value for key, value in vars(args).items() if key not in PLACES}
    return {
        "date": machine.now(),
        "machine": {**machine.machine(), "load": os.getloadavg()},
        "versions": machine.versions(),
        "options": options,
    }


def run(
    parts: Mapping[str, Part],
    text: str,
    add_arguments: Callable[[argparse.ArgumentParser], None] = lambda parser: None,
    argv: Sequence[str] | None = None,
    *,
    needs_data: bool = True,
) -> None:
    """Run the parts that the command line asks for, print their figures, and write everything to a file on request."""
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    if needs_data:
        parser.add_argument("--data", type=Path, required=True, help="folder with the datasets and table1.csv")
        parser.add_argument("--dataset", nargs="+", help="datasets, by default those that each part is about")
    parser.add_argument("--instances", type=int, default=20, help="instances for each forest")
    parser.add_argument("--repeats", type=int, default=3, help="repeats of each measurement; the median counts")
    parser.add_argument("--part", default=",".join(parts), help="parts, with commas between them; by default all")
    parser.add_argument("--json", type=Path, help="file for all numbers, written anew after each part")
    add_arguments(parser)
    args = parser.parse_args(argv)
    if not set(args.part.split(",")) <= set(parts):
        parser.error(f"--part must name some of {', '.join(parts)}. Got {args.part}.")
    for name in (args.dataset if needs_data else None) or ():
        if name not in read_table(args.data):
            parser.error(f"--dataset must name datasets of {args.data / 'table1.csv'}. Got {name}.")
    report: Row = {**about(args), "parts": {}}
    for part in args.part.split(","):
        rows, figures = parts[part](args)
        report["parts"][part] = {"figures": figures, "rows": rows}
        if args.json:
            args.json.parent.mkdir(parents=True, exist_ok=True)
            args.json.write_text(json.dumps(report, default=str) + "\n")
    print(f"\n{'figures':74}{'here':>10}{'target':>9}")
    for part, found in report["parts"].items():
        for row in found["figures"]:
            value = f"{row['value']:.3g}" if isinstance(row["value"], float) else str(row["value"])
            verdict = {True: "met", False: "MISSED", None: ""}[row["met"]]
            print(f"{part:10}{row['figure']:64}{value:>10}{row['target']:>9}  {verdict}".rstrip())
