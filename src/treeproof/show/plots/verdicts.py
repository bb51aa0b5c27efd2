"""Pictures of what is known about features and rows: relevance, an audit, a review, the values behind many rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import takewhile
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from treeproof.errors import InputError
from treeproof.model.rows import as_row
from treeproof.questions.audit import Audit
from treeproof.questions.relevance import Grade, Relevance
from treeproof.questions.review import Review
from treeproof.show.plots.axes import (
    SMALL,
    add_key,
    add_title,
    ink,
    name_lines,
    new_axes,
    plain,
    say,
    say_nothing,
    short,
    strip,
)
from treeproof.show.plots.lines import MISSING, PROVED
from treeproof.space.features import ValueFeature
from treeproof.space.wording import show_class, show_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_FEATURES = 30
LABELS = ("#3b75af", "#d9822b", "#4d9a5b", "#9467bd", "#8c6d46")  # each label also has a shape of its own
SHAPES = ("o", "s", "^", "D", "v")
WARNING = LABELS[1]


def relevance(result: Relevance, ax: Axes | None = None) -> Axes:
    """Draw which features are in every, in some and in no explanation, and which change shows it.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> ax = tp.Explainer(forest).relevance(patient).plot()
    >>> ax.get_yticklabels()[0].get_text()
    'blocked-arteries'
    """
    order: tuple[Grade, ...] = ("necessary", "relevant", "unknown", "irrelevant")
    entries = sorted(result.grades, key=lambda entry: order.index(entry.grade))
    shown = entries[:MOST_FEATURES]
    ax = new_axes(ax, len(shown), each=0.28)
    styles: dict[str, dict[str, Any]] = {
        "necessary": {"marker": "s", "color": PROVED, "label": "in every explanation"},
        "relevant": {"marker": "s", "color": PROVED, "fillstyle": "left", "label": "in some"},
        "irrelevant": {"marker": "s", "color": ink(ax), "fillstyle": "none", "alpha": 0.5, "label": "in none"},
        "unknown": {"marker": "x", "color": WARNING, "label": "not decided"},
    }
    for grade in order:
        places = [i for i, entry in enumerate(shown) if entry.grade == grade]
        if places:
            ax.plot([0.03] * len(places), places, linestyle="none", markersize=9, **styles[grade])
    for i, entry in enumerate(shown):
        if entry.change is not None:
            text = f"{entry.change.before} -> {entry.change.after} gives {show_class(entry.witness_label)}"
            ax.text(0.08, i, plain(text), va="center", fontsize=SMALL, parse_math=False)
    ax.set_xlim(0, 1)
    ax.set_ylim(max(len(shown), 1) - 0.5, -0.5)
    ax.set_xticks([])
    name_lines(ax, [entry.name for entry in shown])
    strip(ax)
    add_key(ax, 4)
    add_title(ax, f"{show_class(result.label)}: which features matter", pad=22)
    left = len(entries) - len(shown)
    say(ax, result.claim + (f" {left} more features are not drawn." if left else ""))
    return ax


def audit(result: Audit, ax: Axes | None = None) -> Axes:
    """Draw for each label how many rows another value of the protected features would flip.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> ax = tp.Explainer(forest).audit([patient, [0, 1, 0, 80]], protected=["chest-pain"]).plot()
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['all', 'Yes', 'No']
    """
    every = {"rows": result.n_rows, "flips": result.n_flips, "free": result.n_free, "unknown": result.n_unknown}
    bars = [("all", every), *((show_class(label), counts) for label, counts in result.by_label.items())]
    ax = new_axes(ax, len(bars), each=0.34)
    parts = (
        ("flips", WARNING, "can flip by these alone", ""),
        ("free", PROVED, "forced without them", ""),
        ("unknown", ink(ax), "not decided", "//"),
    )
    starts = np.zeros(len(bars))
    for key, colour, meaning, hatch in parts:
        widths = np.array([100 * counts[key] / max(counts["rows"], 1) for _, counts in bars])
        if not widths.any():
            continue
        face = "none" if hatch else colour
        ax.barh(range(len(bars)), widths, 0.62, left=starts, color=face, edgecolor=colour, hatch=hatch, label=meaning)
        for i, (width, (_, counts)) in enumerate(zip(widths.tolist(), bars, strict=True)):
            if width > 4:
                tone = ink(ax) if hatch else "white"
                ax.text(
                    starts[i] + width / 2, i, str(counts[key]), ha="center", va="center", fontsize=SMALL, color=tone
                )
        starts += widths
    ax.set_xlim(0, 100)
    ax.set_ylim(len(bars) - 0.5, -0.5)
    ax.set_xticks([0, 50, 100], ["0", "50 %", "100 %"], fontsize=SMALL)
    name_lines(ax, [name for name, _ in bars])
    strip(ax)
    if result.n_rows:
        add_key(ax, 3)
    add_title(ax, result.title, pad=22)
    needed = ", ".join(f"{name} in {count}" for name, count in result.necessary.items())
    each = "Each row" if not result.n_unknown else f"Each row but {result.n_unknown}, not decided in time,"
    say(ax, f"{each} is proved. In every explanation of a row: {needed}.")
    return ax


def review(result: Review, ax: Axes | None = None) -> Axes:
    """Draw the counterexample to somebody's explanation as changes of the row; words, if it is right.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> ax = tp.Explainer(forest).review(patient, ["chest-pain"]).plot()
    >>> ax.get_title(loc="left")
    'Wrong: these conditions do not force Yes: chest-pain = 1'
    """
    from treeproof.show.plots import changes

    said = f"{result.title}: {' and '.join(result.conditions) or 'none at all'}"
    before_repair = takewhile(lambda line: not line.text.endswith(":"), result.lines)  # it is not drawn
    claim = " ".join(line.text for line in before_repair if not line.is_item)
    if result.changes and result.instance is not None:
        drawn: Any = SimpleNamespace(
            title=said,
            claim=claim,
            changes=result.changes,
            label=result.label,
            instance=result.instance,
            witness=result.counterexample,
            witness_label=result.counterexample_label,
            _scales=result._scales,
        )
        return changes(drawn, None, ax)
    words = {True: "right", False: "wrong", None: "not decided"}[result.holds]
    ax = say_nothing(new_axes(ax, 1), words)
    add_title(ax, said)
    say(ax, claim)
    return ax


def swarm(results: Iterable[Any], ax: Axes | None = None) -> Axes:
    """Draw for which of its values each feature is in the explanations of many rows: a dot for each, by label.

    Dots are where the rows' own values lie between the smallest and the largest of them, or at named values.

    Parameters
    ----------
    results
        What `Explainer.batch` returns, or other explanations.
    ax
        Where to draw; by default a new figure.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> ax = tp.plots.swarm(tp.Explainer(forest).batch([patient, [0, 1, 0, 80]]))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['chest-pain (2)', 'blocked-arteries (1)']
    """
    found = [result for result in results if getattr(result, "features", ())]
    if any(getattr(result, "_scales", None) is None for result in found):
        raise InputError("Results must be those of an explainer. Got one that was made by hand, or no explanation.")
    values: dict[str, list[tuple[Any, Any, Any]]] = {}
    for result in found:
        row = as_row(list(result.instance), result._scales.columns, result._scales.floats)
        for feature in result._scales.features:
            values.setdefault(feature.name, []).append((feature, row, result.label))
    counts = Counter({name: len(each) for name, each in values.items()})
    names = [name for name, _ in counts.most_common(MOST_FEATURES)]
    ax = new_axes(ax, max(len(names), 1), each=0.5)
    if not names:
        return say_nothing(ax, "no explanations")
    labels = list(dict.fromkeys(result.label for result in found))
    gone = False
    for y, name in enumerate(names):
        feature = values[name][0][0]
        places = _places(feature, [row for _, row, _ in values[name]])
        gone = gone or MISSING in places
        ax.plot([0, 1], [y, y], color=ink(ax), linewidth=0.8, alpha=0.3, zorder=1)
        heights = _spread(places)
        for k, label in enumerate(labels):
            own = [i for i, (_, _, given) in enumerate(values[name]) if given == label]
            ax.plot(
                [places[i] for i in own],
                [y + heights[i] for i in own],
                linestyle="none",
                marker=SHAPES[k % len(SHAPES)],
                markersize=3.5,
                markeredgewidth=0,
                color=LABELS[k % len(LABELS)],
                alpha=0.85,
                label=show_class(label) if y == 0 else None,
                zorder=2,
            )
        for place, text, align in _below(feature, places, [row for _, row, _ in values[name]]):
            ax.text(place, y + 0.46, text, ha=align, fontsize=SMALL - 1, alpha=0.7, parse_math=False)
    ax.set_xlim(-0.04, MISSING + 0.1 if gone else 1.04)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xticks([MISSING] if gone else [], ["missing"] if gone else [], fontsize=SMALL)
    name_lines(ax, names, size=9, ends=[f" ({counts[name]})" for name in names])
    strip(ax)
    add_key(ax, 5)
    add_title(ax, f"{len(found)} explanations: the values of the features in them", pad=22)
    left, late = len(counts) - len(names), sum(result.status == "sound" for result in found)
    notes = [
        "Each is proved. In brackets: how many contain the feature.",
        f"{late} timed out; may not be minimal." if late else "",
        f"{left} more features." if left else "",
    ]
    say(ax, " ".join(filter(None, notes)))
    return ax


def _places(feature: Any, rows: Sequence[Any]) -> list[float]:
    """Return where the rows' values of a feature are drawn, from 0 to 1, and at MISSING."""
    if isinstance(feature, ValueFeature):
        return [(feature.cell(row.tolist()) + 0.5) / len(feature.labels) for row in rows]
    numbers = np.array([float(row[feature.column]) for row in rows]) / 2  # halves never overflow
    low, high = (np.nanmin(numbers), np.nanmax(numbers)) if not np.isnan(numbers).all() else (0.0, 0.0)
    span = (high - low) or 1.0
    return [MISSING if np.isnan(number) else float((number - low) / span) for number in numbers]


def _below(feature: Any, places: Sequence[float], rows: Sequence[Any]) -> list[tuple[float, str, str]]:
    """Return what is written below a line, and where: named values, or the smallest and the largest number."""
    if isinstance(feature, ValueFeature):
        n = len(feature.labels)
        used = [k for k in range(n) if (k + 0.5) / n in places]
        width = max(4, 60 // n)  # letters between two places
        return [((k + 0.5) / n, short(show_label(feature.labels[k]), width), "center") for k in used]
    ends = {place: row for place, row in zip(places, rows, strict=True) if place in (0.0, 1.0)}
    return [(place, feature.show(row), "right" if place else "left") for place, row in ends.items()]


def _spread(places: Sequence[float]) -> list[float]:
    """Return heights that keep dots at nearly the same place apart: in turns above and below the line."""
    crowd: Counter[int] = Counter()
    heights = []
    for place in places:
        at = round(60 * place)
        k = crowd[at]
        heights.append((k + 1) // 2 * (-1) ** k)
        crowd[at] += 1
    step = min(0.07, 0.4 / max(max(map(abs, heights), default=1), 1))
    return [height * step for height in heights]
