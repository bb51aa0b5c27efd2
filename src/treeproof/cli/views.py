"""Tables of results on a terminal. Each says what the plain text of the result says, and nothing else.

Names are wrapped, never cut: two of them may differ in the middle only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import singledispatch
from typing import Any

from treeproof.cli.show import colour_of, line_text, say, say_card, say_panel, terminal, visible
from treeproof.questions.abductive import Abductive
from treeproof.questions.attribution import Attribution
from treeproof.questions.audit import Audit
from treeproof.questions.compare import ComparedRow, Comparison
from treeproof.questions.contrastive import Contrastive
from treeproof.questions.relevance import Relevance

SHOWN = 20
GAP = 3  # between columns
NARROW = 60  # columns below which a table of long texts is a list instead
GRADES = {"necessary": "red", "relevant": "yellow", "irrelevant": "dim", "not decided": "magenta"}
DIFFERENCES = {"label": "red", "reason": "yellow", "unknown": "magenta", "same": "dim"}
KINDS = {"contrastive": "cyan", "abductive": "green"}


def say_view(result: Any, name: str | None = None) -> None:
    """Write a result: as a card or a table on a terminal, else ``name: text`` and an empty line."""
    console = terminal()
    parts = None if console is None else view(result, console.width < NARROW)
    if parts is None:
        say_card(plain_text(result), name)
    else:
        say_panel(console, [part for each in parts for part in ("", each)][1:], name, colour_of(str(result)))


def plain_text(result: Any) -> str:
    """Return a result as plain text, with what a person at a command line can do next."""
    return re.sub(r"(\.\.\. and \d+ more)(; see \.table\(\))?$", r"\1; --out FILE or --json gives all", str(result))


def show_table(columns: Sequence[str], rows: Sequence[Sequence[str]], n_names: int) -> bool:
    """Write a wide table on a terminal, a part of its columns below the other, the first `n_names` in each.

    False, and nothing is written, elsewhere: lines of a file may be as long as they are.
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
def view(result: Any, narrow: bool) -> list[Any] | None:
    """Return what stands on the card of a result, with an empty line between; None if its plain text does."""
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
                else f"{entry.change.before} -> {entry.change.after} gives {entry.witness_label}",
            )
            for entry in result.grades
            if entry.grade == grade
        ]
    title, *_, claim = str(result).splitlines()
    columns = ["grade", "feature", "shown by"] if result.necessary else ["grade", "feature"]
    return [line_text(title, bold=True), _table(columns, rows), line_text(claim)]


@view.register
def _(result: Attribution, narrow: bool) -> list[Any]:
    from rich.bar import Bar

    ranked = sorted(zip(result.counts, result.feature_names, result.shares, strict=True), key=lambda entry: -entry[0])
    rows = [
        (name, f"{float(100 * share):.3g} %", str(count), Bar(1, 0, float(share), width=12, color="cyan"))
        for count, name, share in ranked
    ]
    title, *_, claim = str(result).splitlines()
    table = _table(["feature", ">share", ">count", *([] if narrow else [""])], rows)
    return [line_text(title, bold=True), table, line_text(claim)]


@view.register
def _(result: Audit, narrow: bool) -> list[Any]:
    def share(n: int) -> str:
        return f"{100 * n / result.n_rows:.1f} %" if result.n_rows else "-"

    found = [
        ("another prediction if only these change", result.n_flips),
        ("forced without them", result.n_free),
        *([("not decided in time", result.n_unknown)] if result.n_unknown else []),
        *((f"in every explanation: {name}", n) for name, n in result.necessary.items()),
    ]
    title, *_ = result.summary().splitlines()
    parts = [
        line_text(title, bold=True),
        _table(["predictions", ">rows", ">share"], [(text, str(n), share(n)) for text, n in found]),
    ]
    flips = [row for row in result.rows if row.flips]
    if flips:
        rows = [
            (str(row.row), str(row.label), str(row.witness_label), ", ".join(map(str, row.changes)))
            for row in flips[:SHOWN]
        ]
        parts.append(_table([">row", "label", "becomes", "if only"], rows))
    return parts + _more(len(flips))


@view.register
def _(result: Comparison, narrow: bool) -> list[Any]:
    changed = [*result.relabelled, *result.rereasoned, *result.unknown]
    title, *_ = str(result).splitlines()
    rows: list[tuple[Any, ...]] = []
    for row in changed[:SHOWN]:
        style = DIFFERENCES[row.difference]
        rows += [
            (str(row.row), (row.difference, style), f"before: {row.old.label}", _reason(row.old, row.new, style)),
            ("", "", f"now: {row.new.label}", _reason(row.new, row.old, style)),
        ]
    parts: list[Any] = [line_text(title, bold=True)]
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
    """A list of explanations that is written while it is found: a table on a terminal, lines elsewhere."""

    def __init__(self, title: str | None = None) -> None:
        self._counts: dict[str, int] = {}
        self._kind_width = 11
        if title is not None:
            console = terminal()
            if console is None:
                say(title)
            else:
                console.print(line_text(title, bold=True))

    @property
    def n_found(self) -> int:
        """How many there are so far."""
        return sum(self._counts.values())

    def add(self, result: Abductive | Contrastive) -> None:
        """Write one explanation."""
        rules_out = isinstance(result, Abductive) and result.target is not None
        kind = f"rules out {result.target}" if rules_out else type(result).__name__.lower()
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
        shown = names or "none: whatever the input"
        self._line(console, str(self.n_found), (kind, KINDS.get(kind, "green")), (shown, "" if names else "dim"))

    def end(self, complete: bool, limit: int | None) -> None:
        """Write how many there were of each kind, and whether these are all."""
        n = self.n_found
        kinds = ", ".join(f"{n} {kind}" for kind, n in self._counts.items()) if len(self._counts) > 1 else ""
        if complete:
            end = (
                "complete: there is none" if n == 0 else f"complete: {'this 1 is' if n == 1 else f'these {n} are'} all"
            )
        else:
            end = f"not complete: stopped by the {'limit' if n == limit else 'time limit'} after {n}"
        end = f"{end} ({kinds})" if kinds else end
        console = terminal()
        if console is None:
            say(end)
        else:
            console.print(line_text(end))

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
    """Return a table; a column whose title begins with ``>`` has its numbers at the right."""
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


def _more(n: int) -> list[Any]:
    return [line_text(f"... and {n - SHOWN} more; --out FILE or --json gives all")] if n > SHOWN else []
