"""Text that is safe to show."""

from __future__ import annotations


def visible(text: str) -> str:
    r"""Return text without unprintable characters: some control a terminal, others reverse the text after them.

    >>> visible("a\x1b[2Jb")
    'a [2Jb'
    """
    return "".join(letter if letter.isprintable() else " " for letter in text)
