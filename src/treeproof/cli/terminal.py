"""How results look: cards, tables and bars on a terminal if rich is installed; otherwise plain text.

Plain text is for pipes, files and tests, so it is stable; NO_COLOR and TERM=dumb select it on a terminal as well. A
table says what the plain text says, and nothing else. Names are wrapped, never cut: two may differ only in the middle.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import singledispatch
from typing import Any, TypeVar

from treeproof.errors import shortened
from treeproof.questions.abductive import Abductive
from treeproof.questions.attribution import Attribution, percent
from treeproof.questions.audit import Audit
from treeproof.questions.compare import ComparedRow, Comparison
from treeproof.questions.contrastive import Contrastive
from treeproof.questions.enumerate import Enumeration
from treeproof.questions.parallel import track
from treeproof.questions.relevance import Relevance
from treeproof.questions.result import Line, Result, Role, whatever
from treeproof.questions.waiting import is_drawn_on
from treeproof.questions.waiting import waiting as counting
from treeproof.show.text import visible
from treeproof.space.wording import show_class

Item = TypeVar("Item")

SHOWN = 20
GAP = 3  # between columns
NARROW = 60  # on a narrower terminal, a table of long texts becomes a list
ALL = "--out FILE or --json gives all"
COLOURS: dict[Role, str] = {"refuted": "red", "open": "yellow", "proved": "green"}  # only what is proved is green
GRADES = {"necessary": "red", "relevant": "yellow", "irrelevant": "dim", "not decided": "magenta"}
DIFFERENCES = {"label": "red", "reason": "yellow", "unknown": "magenta", "same": "dim"}
KINDS = {"contrastive": "cyan", "abductive": "green"}

_live: Any = None  # the console with the progress bar: output is printed above the bar


def say(text: str) -> None:
    """Write lines to standard output immediately, without characters that control a terminal."""
    sys.stdout.write(shown(text) + "\n")
    sys.stdout.flush()


def complain(message: str) -> None:
    """Write a message of the program to standard error; its length is bounded, whatever names it contains."""
    sys.stderr.write(f"treeproof: {shown(shortened(message))}\n")


def shown(text: str) -> str:
    """Return lines as a terminal may show them: names in them may contain anything."""
    return "\n".join(map(visible, text.split("\n")))


def terminal() -> Any:
    """Return rich's console if standard output is a terminal for it and rich is installed, else None."""
    if _live is not None:
        return _live
    if not is_drawn_on(sys.stdout):
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(highlight=False)


def shows_progress(quiet: bool) -> bool:
    """Return whether to draw a progress bar on standard error while nothing else is printed."""
    return not quiet and is_drawn_on(sys.stderr)


@contextmanager
def waiting(quiet: bool, text: str) -> Iterator[None]:
    """Say on a terminal, after a second and until the work is done, what is being done, and for how long."""
    with counting(shown(text) if _live is None and not quiet else None):
        yield


def follow(args: argparse.Namespace, items: Iterable[Item], total: int | None, text: str) -> Iterator[Item]:
    """Yield the items and show how many are done, how fast, and the estimated time left.

    On a terminal the bar is below the results and disappears at the end. If results go to a file or a pipe, it is
    drawn on standard error. There is none with --quiet, or when JSON is printed on a terminal. For a single item, the
    seconds are counted instead, after the first one.
    """
    if total == 1:
        with waiting(args.quiet, text):
            found = list(items)
        yield from found
        return
    global _live  # noqa: PLW0603
    console = None if args.quiet or args.json else terminal()
    if console is not None:
        _live = console
        try:
            yield from track(items, total, text, console)
        finally:
            _live = None
        return
    drawn = shows_progress(args.quiet) and (not sys.stdout.isatty() or bool(getattr(args, "out", None)))
    with counting(None):
        yield from track(items, total, text if drawn else None)


def say_view(result: Result, name: str | None = None) -> None:
    """Write a result: as a card or a table on a terminal, else ``name: text`` and an empty line."""
    console = terminal()
    lines = [
        (Line(line.role, line.text, ALL if line.role == "more" else ""), before) for line, before in result.written()
    ]
    if console is None:
        text = "\n".join(f"{before}{line}" for line, before in lines)
        say(f"{text}\n" if name is None else f"{name}: {text}\n")
        return
    table = view(result, console.width < NARROW)
    if table is None:
        say_card(console, lines, name)
    else:
        parts = [line_text(Line(result.title_role, result.title), bold=True), *table]
        _say_panel(console, [part for each in parts for part in ("", each)][1:], name, [line for line, _ in lines])


def say_card(console: Any, lines: Sequence[tuple[Line, str]], name: str | None = None) -> None:
    """Print lines, each with its prefix, as a card; the first one is its title."""
    parts = [line_text(line, before, bold=i == 0) for i, (line, before) in enumerate(lines)]
    _say_panel(console, parts, name, [line for line, _ in lines])


def _say_panel(console: Any, parts: Sequence[Any], name: str | None, lines: Sequence[Line]) -> None:
    """Print a card; its frame has the colour of the worst statement in it."""
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    title = None if name is None else Text(visible(name), "bold")
    roles = {line.role for line in lines}
    style = next((colour for role, colour in COLOURS.items() if role in roles), "dim")
    console.print(Panel(Group(*parts), title=title, title_align="left", expand=False, border_style=style))


def line_text(line: Line, before: str = "", *, bold: bool = False) -> Any:
    """Return a line for a card: in the colour of its role, with wrapped text indented like its start."""
    from rich.padding import Padding
    from rich.text import Text

    style = f"{'bold ' * bold}{COLOURS.get(line.role, '')}".strip()
    text = Text(visible(str(line)), style=style, overflow="fold")
    return Padding(text, (0, 0, 0, len(before)), expand=False) if before else text


def show_table(columns: Sequence[str], rows: Sequence[Sequence[str]], n_names: int) -> bool:
    """Write a wide table on a terminal in parts, one below the other, each with the first `n_names` columns.

    Elsewhere, return False and write nothing: the lines of a file may have any length.
    """
    console = terminal()
    if console is None:
        return False
    widths = [max(len(line[j]) for line in [columns, *rows]) for j in range(len(columns))]
    names = range(n_names)
    parts: list[list[int]] = []
    for j in range(n_names, len(columns)):
        if not parts or sum(widths[i] + GAP for i in [*names, *parts[-1], j]) - GAP > console.width:
            parts.append([])
        parts[-1].append(j)
    for part in parts:
        chosen = [*names, *part]
        titles = [columns[j] if j < n_names else f">{columns[j]}" for j in chosen]
        console.print("", _table(titles, [[row[j] for j in chosen] for row in rows]))
    console.print()
    return True


@singledispatch
def view(result: Result, narrow: bool) -> list[Any] | None:
    """Return the parts shown below the title of a result, separated by empty lines; None to show its lines."""
    return None


@view.register
def _(result: Relevance, narrow: bool) -> list[Any]:
    rows = []
    for grade in ("necessary", "relevant", "irrelevant", "unknown"):
        shown = "not decided" if grade == "unknown" else grade
        rows += [
            (
                (shown, GRADES[shown]),
                entry.name,
                ""
                if entry.change is None
                else f"{entry.change.before} -> {entry.change.after} gives {show_class(entry.witness_label)}",
            )
            for entry in result.grades
            if entry.grade == grade
        ]
    columns = ["grade", "feature", "shown by"] if result.necessary else ["grade", "feature"]
    return [_table(columns, rows), *_statements(result)]


@view.register
def _(result: Attribution, narrow: bool) -> list[Any]:
    from rich.bar import Bar

    rows = [
        (name, f"{percent(share)} %", str(count), Bar(1, 0, float(share), width=12, color="cyan"))
        for name, count, share in result.ranked
    ]
    return [_table(["feature", ">share", ">count", *([] if narrow else [""])], rows), *_statements(result)]


@view.register
def _(result: Audit, narrow: bool) -> list[Any]:
    parts = [_table(["predictions", ">rows", ">share"], result.counts)]
    flips = [row for row in result.rows if row.flips]
    if flips:
        rows = [
            (str(row.row), show_class(row.label), show_class(row.witness_label), ", ".join(map(str, row.changes)))
            for row in flips[:SHOWN]
        ]
        parts.append(_table([">row", "label", "becomes", "if only"], rows))
    return parts + _more(len(flips))


@view.register
def _(result: Comparison, narrow: bool) -> list[Any]:
    changed = result.changed
    rows: list[tuple[Any, ...]] = []
    for row in changed[:SHOWN]:
        style = DIFFERENCES[row.difference]
        rows += [
            (
                str(row.row),
                (row.difference, style),
                f"before: {show_class(row.old.label)}",
                _reason(row.old, row.new, style),
            ),
            ("", "", f"now: {show_class(row.new.label)}", _reason(row.new, row.old, style)),
        ]
    parts: list[Any] = []
    if narrow:
        parts += [_stacked(row) for row in changed[:SHOWN]]
    elif rows:
        parts.append(_table([">row", "differs", "prediction", "because of"], rows))
    return parts + _more(len(changed))


def _stacked(row: ComparedRow) -> Any:
    """Return a compared row as a list, for a narrow terminal."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    style = DIFFERENCES[row.difference]
    lines = [
        Text.assemble(f"{when}: {visible(str(why.label))}, because of ", _reason(why, other, style), overflow="fold")
        for when, why, other in (("before", row.old, row.new), ("now", row.new, row.old))
    ]
    title = Text.assemble(f"row {row.row}: ", (row.difference, style))
    return Group(title, *(Padding(line, (0, 0, 0, 2)) for line in lines))


def _reason(why: Abductive, other: Abductive, style: str) -> Any:
    """Return the features of an explanation, coloured if they are not in the other one."""
    from rich.text import Text

    if not why.features:
        return Text("whatever the input", style)
    names = [Text(visible(name), "" if name in other.feature_names else style) for name in why.feature_names]
    return Text(", ", overflow="fold").join(names)


class Listing:
    """A list of explanations, written as they are found: a table on a terminal, lines elsewhere."""

    def __init__(self, title: str | None = None) -> None:
        self._counts: dict[str, int] = {}
        self._kind_width = 11
        if title is not None:
            console = terminal()
            if console is None:
                say(title)
            else:
                console.print(line_text(Line("title", title), bold=True))

    @property
    def n_found(self) -> int:
        """Number of explanations so far."""
        return sum(self._counts.values())

    def add(self, result: Abductive | Contrastive) -> None:
        """Write one explanation."""
        rules_out = isinstance(result, Abductive) and result.target is not None
        kind = f"rules out {show_class(result.target)}" if rules_out else type(result).__name__.lower()
        first = not self._counts
        self._counts[kind] = self._counts.get(kind, 0) + 1
        names = ", ".join(result.feature_names)
        console = terminal()
        if console is None:
            say(f"{self.n_found:4d}  {kind:<12} {{{names}}}")
            return
        if first:
            self._kind_width = min(max(11, len(kind)), max(11, console.width // 4))
            self._line(console, "#", ("kind", "bold"), ("features", "bold"), title=True)
        shown = names or f"none: {whatever(getattr(result, 'within', None))}"
        self._line(console, str(self.n_found), (kind, KINDS.get(kind, "green")), (shown, "" if names else "dim"))

    def end(self, results: Enumeration) -> None:
        """Write how many of each kind were found, and whether these are all."""
        n = self.n_found
        role: Role = "proved" if results.complete else "note" if results.decided else "open"
        if results.complete:
            end = (
                "complete: there is none" if n == 0 else f"complete: {'this 1 is' if n == 1 else f'these {n} are'} all"
            )
        else:
            end = f"not complete: stopped by the {'limit' if results.decided else 'time limit'} after {n}"
        if len(self._counts) > 1:
            end += f" ({', '.join(f'{n} {kind}' for kind, n in self._counts.items())})"
        console = terminal()
        if console is None:
            say(end)
        else:
            console.print(line_text(Line(role, end)))

    def _line(self, console: Any, number: str, kind: Any, names: Any, title: bool = False) -> None:
        from rich.table import Table

        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(width=4, justify="right", style="dim")
        table.add_column(width=self._kind_width, overflow="fold")
        table.add_column(overflow="fold")
        table.add_row(_cell(number), _cell(kind), _cell(names))
        console.print(table)
        if title:
            console.print("─" * min(console.width, 80), style="dim")


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Any:
    """Return a table; a column whose title begins with ``>`` is right-aligned."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for name in columns:
        right = name.startswith(">")
        table.add_column(name.removeprefix(">"), justify="right" if right else "left", overflow="fold", no_wrap=right)
    for row in rows:
        table.add_row(*(_cell(cell) for cell in row[: len(columns)]))
    return table


def _cell(cell: Any) -> Any:
    from rich.text import Text

    if isinstance(cell, str):
        return Text(visible(cell), overflow="fold")
    return Text(visible(cell[0]), cell[1], overflow="fold") if isinstance(cell, tuple) else cell


def _statements(result: Result) -> list[Any]:
    return [line_text(line) for line in result.lines if line.is_statement]


def _more(n: int) -> list[Any]:
    return [line_text(Line("more", f"... and {n - SHOWN} more", ALL))] if n > SHOWN else []
