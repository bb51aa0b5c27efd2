"""Text that is safe to show."""

from __future__ import annotations


def visible(text: str) -> str:
    r"""Return text without characters that do not print: a terminal obeys some, others turn the order of letters.

    >>> visible("a\x1b[2Jb")
    'a [2Jb'
    """
    return "".join(letter if letter.isprintable() else " " for letter in text)
