"""A result as a card for a notebook or a page."""

from __future__ import annotations

from itertools import groupby

from treeproof.questions.abductive import SECONDS, Abductive, in_ranges
from treeproof.questions.result import Result
from treeproof.show.templates import render


def notebook_card(result: Result) -> str:
    """Return the card that a notebook shows: a reason in ranges, with its plain values at hand, as in a report."""
    if not isinstance(result, Abductive) or result.inflated:
        return card(result)
    shown = in_ranges(result)
    late = shown is result and result.can_widen and result.decided and bool(result.features)
    hint = f"To widen these values takes more than {SECONDS:g} s: widened() does it all the same."
    return card(shown, hint if late else "")


def card(result: Result, hint: str = "") -> str:
    """Return a result as HTML: the cards of its parts, then its title and its lines, items as lists.

    Below a reason in ranges, its plain values can be unfolded.
    """
    groups = [
        (is_item, [str(line) for line in lines])
        for is_item, lines in groupby(result.lines, key=lambda line: line.is_item)
    ]
    values = result.values if isinstance(result, Abductive) and result.inflated else ()
    own = render("card.html.j2", title=result.title, groups=groups, values=values, hint=hint)
    return "".join([*(f"<div>{card(part)}</div>" for part in result.parts), own])
