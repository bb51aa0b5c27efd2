"""What all pictures share: axes, text and colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treeproof.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

SMALL = 8


def pyplot() -> Any:
    """Return matplotlib.pyplot; MissingExtraError says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError("Pictures need matplotlib: pip install 'treeproof[plot]'.") from error
    return plt


def new_axes(ax: Axes | None, n_lines: int, *, each: float = 0.85, width: float = 7.0) -> Axes:
    """Return the axes to draw on: those given, or new ones with room for this many lines."""
    plt = pyplot()
    if ax is not None:
        return ax
    return plt.subplots(figsize=(width, 1.2 + each * n_lines), layout="constrained")[1]


def two_axes(ax: Any, n_lines: int) -> tuple[Axes, Axes]:
    """Return two axes side by side: those given, parts of the one given, or new ones."""
    plt = pyplot()
    if ax is None:
        size = (9.0, 1.2 + 0.23 * max(n_lines, 4))
        _, pair = plt.subplots(1, 2, figsize=size, width_ratios=[3, 2], layout="constrained")
        return pair[0], pair[1]
    if hasattr(ax, "get_subplotspec"):
        ax.set_axis_off()
        place = ax.get_subplotspec()
        if place is None:
            raise InputError(
                "A single axes must be part of a grid, so that it can be divided. Got a free one; pass two axes."
            )
        parts = place.subgridspec(1, 2, width_ratios=[3, 2])
        return ax.figure.add_subplot(parts[0]), ax.figure.add_subplot(parts[1])
    pair = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(pair) != 2:
        raise InputError(f"The 'ax' parameter must be one or two axes. Got {len(pair)}.")
    return pair[0], pair[1]


def ink(ax: Axes) -> Any:
    """Return the text colour in the style of the axes, which is visible on its background."""
    return ax.yaxis.label.get_color()


def draw_bars(
    ax: Axes,
    names: Sequence[str],
    widths: Sequence[float],
    texts: Sequence[str],
    full: float | None = None,
    among: Sequence[str] = (),
) -> None:
    """Draw named bars with text at their ends; `full` is the length of the longest possible bar."""
    full = full or max(*widths, 1)
    ax.barh(range(len(names)), widths, height=0.7, color=ink(ax), alpha=0.55, linewidth=0)
    for i, (width, text) in enumerate(zip(widths, texts, strict=True)):
        ax.text(width + 0.01 * full, i, text, va="center", fontsize=SMALL)
    ax.set_xlim(0, 1.12 * full)
    ax.set_ylim(max(len(names), 1) - 0.5, -0.5)
    name_lines(ax, names, size=9, among=among)
    strip(ax)


def name_lines(
    ax: Axes,
    names: Sequence[str],
    size: float | None = None,
    *,
    ends: Sequence[str] = (),
    among: Sequence[str] = (),
) -> None:
    """Write a name beside each line, and after it the end of its text, if there are ends.

    A name that is too long is shortened so that it can be told from the others, and from those that it is `among`.
    """
    others = [name for name in among if name not in names]
    shown = apart([*names, *others], 30)[: len(names)]
    texts = [f"{name}{end}" for name, end in zip(shown, ends or [""] * len(names), strict=True)]
    ax.set_yticks(range(len(names)), texts, fontsize=size)
    for label in ax.get_yticklabels():
        label.set_parse_math(False)


def add_key(ax: Axes, n_columns: int) -> None:
    """Write the legend above the picture, below its title; its texts are shortened to fit, each line on one.

    Names must have been written beside the lines before: they leave less room.
    """
    style: dict[str, Any] = {"ncols": n_columns, "frameon": False, "fontsize": SMALL, "borderaxespad": 0.2}
    key = ax.legend(loc="lower left", bbox_to_anchor=(0, 1), **style)
    written = key.get_texts()
    texts = [plain(text.get_text()) for text in written]
    for text, shown in zip(written, texts, strict=True):
        text.set_parse_math(False)
        text.set_text(shown)
    letters = max(map(len, texts)) if n_columns == 1 else sum(map(len, texts))
    width, n_marks = key.get_window_extent().width, len(texts) if n_columns > 1 else 1
    marks = n_marks * 4 * SMALL / 72 * ax.figure.dpi  # handles, and the space around them
    letters = int(letters * (_room(ax) - marks) / (width - marks)) if width > _room(ax) else letters
    if n_columns == 1:
        texts = [short(text, max(letters, 12)) for text in texts]
    elif sum(map(len, texts)) > letters:  # each gets the same room, and what one does not need goes to the others
        room = max(letters // len(texts), 8)
        spare = sum(max(room - len(text), 0) for text in texts) // sum(len(text) > room for text in texts)
        texts = apart(texts, room + spare)
    for text, shown in zip(written, texts, strict=True):
        text.set_text(shown)


def _room(ax: Axes) -> float:
    """Return how many pixels wide the axes will be, when a layout has made room for the names beside the lines."""
    place, width = ax.get_subplotspec(), ax.figure.bbox.width
    if ax.figure.get_layout_engine() is None or place is None:
        return float(ax.get_window_extent().width)
    share = len(place.colspan) / place.get_gridspec().ncols
    names = max((label.get_window_extent().width for label in ax.get_yticklabels()), default=0.0)
    return float(max(share * width - names - 0.15 * ax.figure.dpi, 60.0))


def strip(ax: Axes) -> None:
    """Remove the frame and the ticks."""
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)


def say_nothing(ax: Axes, text: str) -> Axes:
    """Write into an empty picture why there is nothing to draw; return the axes."""
    ax.text(0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes, style="italic")
    ax.set_xticks([])
    ax.set_yticks([])
    strip(ax)
    return ax


def add_title(ax: Axes, text: str, pad: float = 8) -> None:
    """Write the title, wrapped."""
    written: Text = ax.set_title(plain(text), loc="left", fontsize=11, pad=pad)
    written.set_parse_math(False)
    _fit(written, ax)


def say(ax: Axes, text: str) -> None:
    """Write the statement below the picture."""
    written: Text = ax.set_xlabel(plain(text), loc="left", fontsize=SMALL)
    written.set_multialignment("left")
    written.set_parse_math(False)
    _fit(written, ax)


def _fit(text: Text, ax: Axes) -> None:
    """Wrap a text at the width of its axes, whatever that is when they are drawn: a layout may still change it."""
    text.set_wrap(True)
    text._get_wrap_line_width = lambda: max(ax.get_window_extent().width, 60.0)  # type: ignore[attr-defined]


def plain(text: str) -> str:
    """Return text on one line, without unprintable characters."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def apart(names: Sequence[str], most: int) -> list[str]:
    """Return names of at most `most` characters, shortened in the middle, or at the ends that they share.

    >>> apart(["the measured width of a leaf", "the measured length of a leaf", "age"], 12)
    ['…width…', '…length…', 'age']
    """
    texts = [short(name, most) for name in names]
    for text in {text for text in texts if texts.count(text) > 1}:
        alike = [i for i, other in enumerate(texts) if other == text]
        words = [plain(names[i]).split(" ") for i in alike]
        first, last = _n_shared(words), _n_shared([each[::-1] for each in words])
        for i, each in zip(alike, words, strict=True):
            rest = " ".join(each[min(first, len(each) - 1) : max(len(each) - last, first + 1)])
            rest = rest.strip(",;: ") or rest
            texts[i] = short(f"{'…' * (first > 0)}{rest}{'…' * (last > 0)}", most)
    return texts


def _n_shared(words: Sequence[Sequence[str]]) -> int:
    """Return with how many words all texts begin."""
    return next((i for i, each in enumerate(zip(*words, strict=False)) if len(set(each)) > 1), min(map(len, words)))


def short(text: str, most: int) -> str:
    """Return text of at most `most` characters, shortened in the middle."""
    text = plain(text)
    return text if len(text) <= most else f"{text[: most - most // 3 - 1]}…{text[-(most // 3) :]}"
