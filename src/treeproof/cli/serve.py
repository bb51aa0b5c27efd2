"""``treeproof serve``: the workbench, a page on this machine on which all questions about a model are asked."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from treeproof.cli import codes
from treeproof.cli.options import (
    MODEL_HELP,
    add_files,
    add_model,
    add_output,
    check_order,
    explainer_options,
    section,
)
from treeproof.cli.table import read_table
from treeproof.cli.terminal import say, waiting
from treeproof.errors import InputError
from treeproof.explainer import Explainer
from treeproof.model.files import load_model

EXAMPLES = """
treeproof serve model.json data.csv
treeproof serve model.json data.csv --compare newer.json
treeproof serve model.json data.csv --port 8000 --no-browser
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    add_files(parser)
    section(parser, "workbench").add_argument(
        "--compare", metavar="MODEL", help=f"a second model to compare with, of the same columns: {MODEL_HELP}"
    )
    add_address(parser)
    add_model(parser, within=False)
    add_output(parser)
    parser.set_defaults(scale=[])  # distances are measured by the data


def add_address(parser: argparse.ArgumentParser) -> None:
    """Add where the page is."""
    group = section(parser, "workbench")
    group.add_argument("--port", type=int, default=0, metavar="N", help="port of the page (default: a free one)")
    group.add_argument("--no-browser", action="store_true", help="print the address, and open no browser")


def run(args: argparse.Namespace) -> int:
    """Read the model and the data, and serve them."""
    paths = [args.model, *([args.compare] if args.compare else [])]
    check_order(paths, args.data)
    with waiting(args.quiet, f"reading {args.model}"):
        table = read_table(args.data, args.max_mb)
        explainers, lines = [], _first_lines(args.data)
        for path, name in zip(paths, ("explainer", "other"), strict=False):
            model = load_model(path, trust=args.trust, max_mb=args.max_mb)
            options = explainer_options(args, model, table, "native")
            explainers.append(Explainer(model, **options))
            lines.append(_line(name, path, args.trust, options))
    if args.cut is None and explainers[0].forest.decision.cuts == ():
        raise InputError("A regressor's score needs ranges to explain: --cut SCORE, the numbers between which it lies.")
    columns = explainers[0].forest.columns
    rows = [table.row(i, columns) for i in range(len(table.rows))]
    title = f"{Path(args.model).name} on {Path(args.data).name}"
    return serve(args, explainers, rows, title=title, names=[Path(path).name for path in paths], lines=lines)


def _first_lines(data: str) -> list[str]:
    return ["import pandas as pd", "import treeproof as tp", "", f"X = pd.read_csv({data!r})"]


def _line(name: str, path: str, trust: bool, options: dict[str, Any]) -> str:
    """Return the Python line that makes an explainer as the options do."""
    given = {key: value for key, value in options.items() if value is not None and value not in ({}, [], ())}
    given = {
        key: value for key, value in given.items() if (key, value) not in (("oracle", "native"), ("domain", "all"))
    }
    written = "".join(f", {key}={'X' if key == 'data' else repr(value)}" for key, value in given.items())
    return f"{name} = tp.Explainer(tp.load_model({path!r}{', trust=True' * trust}){written})"


def serve(
    args: argparse.Namespace,
    explainers: Sequence[Explainer],
    X: Any,
    *,
    title: str,
    names: Sequence[str],
    lines: Sequence[str],
) -> int:
    """Serve a workbench until Ctrl-C."""
    from treeproof.workbench.server import Server, open_browser  # needs an extra
    from treeproof.workbench.session import Session

    session = Session(explainers, X, title=title, names=names, lines=lines)
    server = Server(session, args.port)

    def opened() -> None:
        if args.json:
            say(json.dumps({"url": server.url}))
        elif args.quiet:
            say(server.url)
        else:
            say(f"The workbench is at {server.url}\nOnly this machine can open it. Ctrl-C ends it.")
        sys.stdout.flush()  # who reads it through a pipe needs it now
        if not args.no_browser:
            open_browser(server.url)

    with suppress(KeyboardInterrupt):  # how it is meant to end
        server.run(opened)
    if not args.quiet and not args.json:
        say("The workbench has ended.")
    return codes.DONE
