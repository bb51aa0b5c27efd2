"""A result as a card for a notebook or a page."""

from __future__ import annotations

from itertools import groupby

from treeproof.questions.result import Result
from treeproof.show.templates import render


def card(result: Result) -> str:
    """Return a result as HTML: the cards of its parts, then its title and its lines, items as lists."""
    groups = [
        (is_item, [str(line) for line in lines])
        for is_item, lines in groupby(result.lines, key=lambda line: line.is_item)
    ]
    own = render("card.html.j2", title=result.title, groups=groups)
    return "".join([*(f"<div>{card(part)}</div>" for part in result.parts), own])
