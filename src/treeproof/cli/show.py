"""How results look on a terminal: cards and colours if rich is there. Elsewhere, and without it, plain text.

A card has the lines of the plain text and no others, so it says exactly what was proved.
"""

from __future__ import annotations

import os
import sys
from typing import Any


def say(text: str) -> None:
    """Write a line to standard output at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def terminal() -> Any:
    """Return rich's console if standard output is a terminal and rich is installed, else None."""
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(highlight=False)


def shows_progress(quiet: bool) -> bool:
    """Return whether a progress bar helps: on a terminal, unless results are printed there as well."""
    return not quiet and sys.stderr.isatty() and not sys.stdout.isatty()


def say_card(text: str, name: str | None = None) -> None:
    """Write a result: a card on a terminal; else ``name: text`` and an empty line."""
    console = terminal()
    if console is None:
        say(f"{text}\n" if name is None else f"{name}: {text}\n")
        return
    from rich.panel import Panel
    from rich.text import Text

    first, *others = text.splitlines()
    card = Text()
    card.append(first, style=f"bold {_colour(first)}".strip())  # not as the style of the whole
    for line in others:
        card.append("\n")
        card.append(line, style=_colour(line))
    console.print(Panel(card, title=None if name is None else Text(name), title_align="left", expand=False))


def say_found(n: int, kind: str, names: str) -> None:
    """Write one line of a list of explanations."""
    console = terminal()
    if console is None:
        say(f"{n:4d}  {kind:<12} {{{names}}}")
        return
    from rich.text import Text

    style = "cyan" if kind == "contrastive" else "green"
    console.print(Text.assemble((f"{n:4d}  ", "dim"), (f"{kind:<12} ", style), f"{{{names}}}"), soft_wrap=True)


def _colour(line: str) -> str:
    """Return the colour of a line: only what is proved is green, and what the time did not suffice for never is."""
    if "time was up" in line or line.startswith("Not "):
        return "yellow"
    if line.startswith(("Wrong", "Refuted")):
        return "red"
    return "green" if line.startswith(("Proved", "Checked", "Right")) else ""
