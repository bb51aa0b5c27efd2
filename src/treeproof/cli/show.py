"""How results look: cards, tables and bars on a terminal if rich is there; elsewhere, and without it, plain text.

Plain text is for pipes, files and tests, so it is stable; NO_COLOR and TERM=dumb ask for it on a terminal as well.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from treeproof.questions.parallel import track

Item = TypeVar("Item")

_live: Any = None  # the console that a progress bar is drawn on: what is printed goes above the bar


def say(text: str) -> None:
    """Write a line to standard output at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def terminal() -> Any:
    """Return rich's console if standard output is a terminal that may be drawn on and rich is installed, else None."""
    if _live is not None:
        return _live
    if not _is_drawn_on(sys.stdout):
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(highlight=False)


def shows_progress(quiet: bool) -> bool:
    """Return whether to draw a bar on standard error while nothing else is printed."""
    return not quiet and _is_drawn_on(sys.stderr)


def _is_drawn_on(stream: Any) -> bool:
    """Return whether a stream is a terminal that may be drawn on."""
    plain = os.environ.get("TERM") == "dumb" or os.environ.get("NO_COLOR")
    return not plain and bool(stream.isatty())


def follow(args: argparse.Namespace, items: Iterable[Item], total: int | None, text: str) -> Iterator[Item]:
    """Yield the items and show how many have come, how fast, and how long the others will take.

    On a terminal the bar stands below the results and goes away at the end. If results go into a file or a pipe, it
    is drawn on standard error. There is none with --quiet, nor below JSON.
    """
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
    yield from track(items, total, text if drawn else None)


def say_card(text: str, name: str | None = None) -> None:
    """Write a text: a card on a terminal; else ``name: text`` and an empty line."""
    console = terminal()
    if console is None:
        say(f"{text}\n" if name is None else f"{name}: {text}\n")
        return
    first, *others = text.splitlines()
    say_panel(console, [line_text(first, bold=True), *map(line_text, others)], name, colour_of(text))


def say_panel(console: Any, parts: Sequence[Any], name: str | None, style: str) -> None:
    """Print a card; its frame has the colour of what it says."""
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    title = None if name is None else Text(visible(name), "bold")
    console.print(Panel(Group(*parts), title=title, title_align="left", expand=False, border_style=style))


def line_text(line: str, *, bold: bool = False) -> Any:
    """Return a line for a card: in its colour, and wrapped below its own beginning."""
    from rich.padding import Padding
    from rich.text import Text

    words = line.lstrip(" ")
    text = Text(visible(words), style=f"{'bold ' * bold}{_colour(line)}".strip(), overflow="fold")
    hanging = len(line) - len(words)
    return Padding(text, (0, 0, 0, hanging), expand=False) if hanging else text


def visible(text: str) -> str:
    """Return text without characters that a terminal would obey."""
    return "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text)


def colour_of(text: str) -> str:
    """Return the colour of a whole text: that of its worst line, if only what is proved has one."""
    colours = {_colour(line) for line in text.splitlines()}
    return next((colour for colour in ("red", "yellow", "green") if colour in colours), "dim")


def _colour(line: str) -> str:
    """Return the colour of a line: only what is proved is green, and what the time did not suffice for never is."""
    if "time was up" in line or line.startswith(("Not ", "not complete")):
        return "yellow"
    if line.startswith(("Wrong", "Refuted")):
        return "red"
    return "green" if line.startswith(("Proved", "Checked", "Right", "complete")) else ""
