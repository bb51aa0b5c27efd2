"""Pictures of results, with matplotlib (the extra ``plot``), which is imported only when something is drawn.

Every function takes ``ax=`` and returns the axes it drew on, as scikit-learn's displays do. Results call them by their
``plot`` methods. Each feature has a scale of its own, so lengths are comparable within a line, not between lines.
Pictures keep to the ink of the running style and one colour, and tell everything by shape as well: they can be printed
in grey. What a picture cannot show, the statement below it says: it is the one that the result prints.
"""

from __future__ import annotations

import math
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treeproof.conditions import Condition, Range, show_day, show_label
from treeproof.errors import InputError, MissingExtraError
from treeproof.explanation import Abductive, Contrastive, Scales
from treeproof.features import NumericFeature, ValueFeature
from treeproof.floats import FLOATS
from treeproof.forest import Rows
from treeproof.questions.attribution import Attribution
from treeproof.questions.general import MostGeneral
from treeproof.questions.robustness import Robustness
from treeproof.rows import FIRST_DAY, LAST_DAY, as_row, as_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

MOST_EXPLANATIONS = 60  # columns of a matrix
MOST_FEATURES = 30  # lines of a matrix, of bars
MOST_VALUES = 8  # named values on one line
PROVED = "#3b75af"  # of middle brightness: seen on white, on black, and in grey
MISSING = 1.15  # where a line has the place of missing values
BINS = 30
SMALL = 8


def explanation(result: Abductive | MostGeneral, data: Any = None, ax: Axes | None = None) -> Axes:
    """Draw each condition of an explanation on the scale of its feature: the row's own value, and what is proved.

    Parameters
    ----------
    result
        An explanation with a rule.
    data
        Rows, as the model takes them; their distribution is drawn behind each line.
    ax
        Where to draw; by default a new figure.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> ax = tp.Explainer(forest).abductive(patient).plot()
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['blocked-arteries', 'chest-pain']
    """
    picture = _Lines.of(result, len(result.rule), data, ax, why=str(result).partition("\n")[0])
    if not result.rule:
        return picture.nothing("whatever the input")
    start = _read(result, result.instance)
    for i, condition in enumerate(result.rule):
        feature = result._scales.features[i] if result._scales else None
        value = _value(feature, start, result, i)
        line: _NumberLine | _NamedLine
        if isinstance(feature, ValueFeature) or (feature is None and _is_named(condition)):
            allowed = (feature.labels if feature else ()) if condition.values is None else condition.values
            line = _NamedLine.of(feature, allowed, value)
        else:
            line = _NumberLine.of(feature, condition, value, picture.rows)
        picture.axis(i, condition.name, line, feature)
        line.prove(picture, i, condition)
        if value is not _NOTHING:
            picture.mark(i, line.at(value), "" if isinstance(line, _NamedLine) else line.show(value))
    return picture.finish(["proved", "this row"])


def changes(result: Contrastive | Robustness, data: Any = None, ax: Axes | None = None) -> Axes:
    """Draw each change that gives another prediction as an arrow on the scale of its feature.

    Parameters are as in `explanation`.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> ax = tp.Explainer(forest).contrastive(patient).plot()
    >>> ax.get_title(loc="left")
    'No instead of Yes, if'
    """
    picture = _Lines.of(result, len(result.changes), data, ax, why=result._title())
    if not result.changes or result.witness is None:
        return picture.nothing("no change does" if result.witness is None else "no change is needed")
    before, after = _read(result, result.instance), _read(result, result.witness)
    for i, change in enumerate(result.changes):
        feature = result._scales.features[i] if result._scales else None
        start, end = _value(feature, before, result, i), _value(feature, after, result, i, result.witness)
        line: _NumberLine | _NamedLine
        if start is _NOTHING or isinstance(feature, ValueFeature) or isinstance(start, str) or isinstance(end, str):
            if start is _NOTHING:  # a result made by hand: only its words are known
                start, end = change.before, change.after
            line = _NamedLine.of(feature, (end,), start)
            texts = "", ""
        else:
            line = _NumberLine.of(feature, Condition(change.name, end, end), start, picture.rows)
            texts = change.before, change.after
        picture.axis(i, change.name, line, feature)
        picture.arrow(i, line.at(start), line.at(end), *texts)
    return picture.finish([f"this row: {result.label}", f"changed: {result.witness_label}"])


def matrix(results: Iterable[Any], ax: Axes | None = None, *, complete: bool | None = None) -> Axes:
    """Draw which features are in which explanations: a line for each feature, a column for each explanation.

    Parameters
    ----------
    results
        Abductive and contrastive explanations, of one row. Columns keep their order, the abductive ones first.
    ax
        Where to draw; by default a new figure.
    complete
        Whether these are all explanations, if that is known; it is said below the picture.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> ax = tp.plots.matrix(list(tp.Explainer(forest).enumerate(patient, kind="both")))
    >>> print(ax.get_xlabel())
    1 abductive and 2 contrastive explanations. Each is proved.
    """
    found = _listed(results)
    abductive = [result for result in found if isinstance(result, Abductive)]
    contrastive = [result for result in found if isinstance(result, Contrastive) and result.witness is not None]
    if len({(repr(result.instance), result.target) for result in found if not isinstance(result, Exception)}) > 1:
        raise InputError(
            "Explanations in one matrix must be of one row, and of one target. Got several; plots.overview takes rows."
        )
    if not abductive and not contrastive:
        return _nothing(_axes(ax, 1), "no explanations")
    # Half of the room is for each kind, and what one does not need is for the other.
    room = max(MOST_EXPLANATIONS // 2, MOST_EXPLANATIONS - len(contrastive))
    shown: list[Any] = [*abductive[:room]]
    n_abductive = len(shown)
    shown += contrastive[: MOST_EXPLANATIONS - n_abductive]
    counts = Counter(name for result in shown for name in result.feature_names)
    places = {name: f for result in shown for f, name in zip(result.features, result.feature_names, strict=True)}
    names = sorted(counts, key=lambda name: (-counts[name], places[name]))[:MOST_FEATURES]
    ax = _axes(ax, max(len(names), 1), each=0.28, width=max(5.5, 2.5 + 0.18 * len(shown)))
    ink = _ink(ax)
    size = min(7.0, 0.7 * 72 * ax.get_window_extent().width / ax.figure.dpi / len(shown))
    for i in range(0, len(names), 2):
        ax.axhspan(i - 0.5, i + 0.5, color=ink, alpha=0.06, linewidth=0)
    for kind, first, part in (("abductive", 0, shown[:n_abductive]), ("contrastive", n_abductive, shown[n_abductive:])):
        if not part:
            continue
        spots = [(first + k, names.index(n)) for k, r in enumerate(part) for n in r.feature_names if n in names]
        xs, ys = [x for x, _ in spots], [y for _, y in spots]
        filled = kind == "abductive"
        ax.plot(
            xs,
            ys,
            linestyle="none",
            marker="s" if filled else "o",
            markersize=size,
            color=PROVED if filled else ink,
            markerfacecolor=PROVED if filled else "none",
            label=_meaning(kind, shown[0].target),
        )
    if 0 < n_abductive < len(shown):
        ax.axvline(n_abductive - 0.5, color=ink, linewidth=0.8)
    ax.set_xlim(-0.5, max(len(shown), 8) - 0.5)
    ax.set_ylim(max(len(names), 1) - 0.5, -0.5)
    _ticks(ax, names)
    step = 1 if len(shown) <= 25 else 5
    columns = [*range(0, n_abductive, step), *range(n_abductive, len(shown), step)]
    ax.set_xticks(columns, [str(k + 1 if k < n_abductive else k - n_abductive + 1) for k in columns], fontsize=SMALL)
    _bare(ax)
    _key(ax, 1)
    parts = [f"{len(part)} {kind}" for kind, part in (("abductive", abductive), ("contrastive", contrastive)) if part]
    said = f"{' and '.join(parts)} explanation{'s' * (len(abductive) + len(contrastive) != 1)}. "
    kinds = "of this kind" if len(parts) == 1 else "of these kinds"
    said += {
        None: "Each is proved.",
        True: f"Proved: there are no others {kinds}.",
        False: "Each is proved; there may be more.",
    }[complete]
    cut = []
    if len(shown) < len(abductive) + len(contrastive):
        cut.append(f"the first {n_abductive} and {len(shown) - n_abductive} of them")
    if len(names) < len(counts):
        cut.append(f"the {len(names)} features of {len(counts)} that are in most")
    _say(ax, said + (f" Drawn: {', '.join(cut)}." if cut else ""))
    return ax


def attribution(result: Attribution, ax: Axes | None = None) -> Axes:
    """Draw the share of the abductive explanations that contain each feature, as bars.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> ax = tp.Explainer(forest).attribution([0, 1, 0, 80]).plot()
    >>> [round(bar.get_width()) for bar in ax.patches]
    [50, 50, 50, 0]
    """
    ranked = sorted(zip(result.counts, result.feature_names, strict=True), key=lambda entry: -entry[0])
    kept = ranked[:MOST_FEATURES]
    ax = _axes(ax, max(len(kept), 1), each=0.23)
    shares = [100 * count / max(result.n_abductive, 1) for count, _ in kept]
    _bars(ax, [name for _, name in kept], shares, [f"{share:.3g} %" for share in shares], 100)
    ax.set_xticks([])
    first = "" if result.complete else "first "
    _title(ax, f"{result.label}: the share of its {first}{result.n_abductive} explanations with each feature")
    left = len(ranked) - len(kept)
    _say(ax, result._claim() + (f" {left} features more, in at most {ranked[len(kept)][0]}." if left else ""))
    return ax


def overview(results: Iterable[Any], ax: Any = None) -> np.ndarray[Any, np.dtype[Any]]:
    """Draw what explanations of many rows rest on: how many contain each feature, and how long they are.

    Parameters
    ----------
    results
        What `Explainer.batch` returns, or other explanations, all of them abductive or all of them contrastive. Errors
        among them are counted below the picture.
    ax
        Two axes, or one whose place both take; by default a new figure.

    Returns
    -------
    array of two axes
        The features, and the lengths.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> features, lengths = tp.plots.overview(tp.Explainer(forest).batch([patient, [0, 1, 0, 80]]))
    >>> [label.get_text() for label in lengths.get_yticklabels()]
    ['1', '2']
    """
    given = _listed(results, mixed=False)
    failed = sum(isinstance(result, Exception) for result in given)
    found = [result for result in given if not isinstance(result, Exception)]
    none = sum(isinstance(result, Contrastive) and result.witness is None for result in found)
    counted = [result for result in found if not (isinstance(result, Contrastive) and result.witness is None)]
    counts = Counter(name for result in counted for name in result.feature_names)
    places = {name: f for result in counted for f, name in zip(result.features, result.feature_names, strict=True)}
    ranked = sorted(counts, key=lambda name: (-counts[name], places[name]))
    names = ranked[:MOST_FEATURES]
    features, lengths = _two_axes(ax, max(len(names), 1))
    if not counted:
        _nothing(features, "no explanations")
    else:
        shares = [100 * counts[name] / len(counted) for name in names]
        _bars(features, names, shares, [str(counts[name]) for name in names], 100)
        features.set_xticks([0, 50, 100], ["0", "50 %", "100 %"], fontsize=SMALL)
    what = "changes" if any(isinstance(result, Contrastive) for result in found) else "explanations"
    _title(features, f"{len(counted)} {what}: how many contain each feature")
    sizes = Counter(len(result.features) for result in counted)
    if sizes:
        every = range(min(sizes), max(sizes) + 1)
        _bars(lengths, [str(n) for n in every], [sizes[n] for n in every], [str(sizes[n]) for n in every])
        lengths.set_ylim(max(len(every), len(names)) - 0.5, -0.5)
        lengths.set_xticks([])
    else:
        _nothing(lengths, "")
    _title(lengths, "how many have this length")
    lengths.set_ylabel("features", fontsize=SMALL, loc="top")
    late = sum(result.status == "sound" for result in counted)
    notes = [
        f"{len(ranked) - len(names)} features more, in at most {counts[ranked[len(names)]]} each."
        if len(ranked) > len(names)
        else "",
        f"Of {late} the time was up: perhaps fewer features would do." if late else "",
        f"No change, or none in time: {none} of the rows." if none else "",
        f"Not explained, because of errors: {failed} of the rows." if failed else "",
    ]
    _say(features, " ".join(filter(None, ["Each is proved." if counted else "", *notes])))
    return np.array([features, lengths])


def _meaning(kind: str, target: Any) -> str:
    if kind == "abductive":
        return f"abductive: together they {'force the prediction' if target is None else f'rule out {target}'}"
    return f"contrastive: changing them together can {'change it' if target is None else f'give {target}'}"


_NOTHING = object()  # a value that is not known


@dataclass(frozen=True, slots=True)
class _NumberLine:
    """The scale of a numeric feature: numbers from 0 to 1, missing values beyond, at `MISSING`."""

    low: float
    high: float
    open_low: bool
    open_high: bool
    missing: bool
    whole: bool
    show: Callable[[Any], str]

    @classmethod
    def of(cls, feature: Any, condition: Condition, value: Any, rows: Rows | None) -> _NumberLine:
        date = condition.date or getattr(feature, "kind", None) == "date"
        numbers = FLOATS[condition.numbers] if feature is None else feature.floats
        known: list[float] = [end for ends in _ranges(condition) for end in ends if end is not None]
        known += [] if value is _NOTHING else [value]
        ends: list[float | None] = [None, None]
        if isinstance(feature, NumericFeature):
            domain = float(feature.lows[0]), float(feature.highs[-1])
            widest = (FIRST_DAY, LAST_DAY) if date else (-numbers.largest, numbers.largest)
            ends = [end if end != wide else None for end, wide in zip(domain, widest, strict=True)]
        if rows is not None and feature is not None:
            known += np.asarray(rows[:, feature.column], dtype=np.float64).tolist()
        missing = any(math.isnan(number) for number in known) or condition.missing is not None
        missing = missing or bool(condition.values and None in condition.values)
        numbers_known = [number for number in known if not math.isnan(number)] or [0.0]
        low, high = min(numbers_known), max(numbers_known)
        span = high / 2 - low / 2
        pad = 0.3 * span if rows is None else 0.06 * span
        pad = pad or abs(low) / 4 or 1.0
        limit = sys.float_info.max
        given_low, given_high = ends
        return cls(
            max(low - pad, -limit) if given_low is None else given_low,
            min(high + pad, limit) if given_high is None else max(given_high, math.nextafter(low, math.inf)),
            given_low is None,
            given_high is None,
            missing,
            date or getattr(feature, "kind", "real") != "real",
            show_day if date else numbers.shortest,
        )

    def at(self, value: Any) -> float:
        """Return where a value is drawn."""
        if math.isnan(value):
            return MISSING
        return (value / 2 - self.low / 2) / ((self.high / 2 - self.low / 2) or 1.0)  # halves never overflow

    def axis(self, picture: _Lines, y: float, feature: Any) -> None:
        picture.ax.plot([0, 1], [y, y], color=picture.ink, linewidth=0.8, alpha=0.5, zorder=1)
        for tick in self._ticks():
            picture.tick(y, self.at(tick), self.show(tick) if self.show is show_day else f"{tick:g}")
        if self.missing:
            picture.wide = True
            picture.under(y, MISSING, "missing")
            picture.slot(y, MISSING, filled=False)
        if picture.rows is None or feature is None or len(picture.rows) == 0:
            return
        values = np.asarray(picture.rows[:, feature.column], dtype=np.float64)
        places = np.array([self.at(value) for value in values[~np.isnan(values)].tolist()])
        places = places[(places >= 0) & (places <= 1)]
        different = np.unique(places)
        if len(different) <= 12:
            gap = float(np.min(np.diff(different))) if len(different) > 1 else 0.1
            counts = [int(np.sum(places == place)) for place in different]
            bars = [(float(place), min(0.03, 0.8 * gap), n) for place, n in zip(different, counts, strict=True)]
        else:
            histogram, edges = np.histogram(places, bins=BINS, range=(0, 1))
            bars = [
                (float(edges[k] + edges[k + 1]) / 2, 1 / BINS, int(n)) for k, n in enumerate(histogram.tolist()) if n
            ]
        gone = int(np.isnan(values).sum())
        picture.distribution(y, [*bars, *([(MISSING, 0.03, gone)] if gone else [])])

    def _ticks(self) -> list[float]:
        """Return a few round numbers of the scale."""
        if max(abs(self.low), abs(self.high)) > 1e300:  # more than matplotlib can count with
            return []
        from matplotlib.ticker import MaxNLocator

        days = self.show is show_day
        locator = MaxNLocator(nbins=4, integer=self.whole, steps=[1, 2, 5, 10])
        found = [float(tick) for tick in locator.tick_values(self.low, self.high) if self.low <= tick <= self.high]
        return [tick for tick in found if FIRST_DAY <= tick <= LAST_DAY] if days else found

    def prove(self, picture: _Lines, y: float, condition: Condition) -> None:
        """Draw the ranges that are proved, with the exact ends below them."""
        if condition.values is not None:  # only missing values
            picture.slot(y, MISSING, filled=True)
            return
        ends: list[tuple[float, str]] = []
        for low, high in _ranges(condition):
            left = 0.0 if low is None else self.at(low)
            right = 1.0 if high is None else self.at(high)
            picture.bar(y, left, right, low is None and self.open_low, high is None and self.open_high)
            shown = [(left, low), (right, high)] if low != high else [(left, low)]
            ends += [(place, self.show(end)) for place, end in shown if end is not None]
        if condition.missing or (condition.missing is None and self.missing and _is_any(condition)):
            picture.slot(y, MISSING, filled=True)
        picture.ends(y, ends)


@dataclass(frozen=True, slots=True)
class _NamedLine:
    """The scale of a feature of named values: a place for each, and one for those that are too many."""

    shown: tuple[Any, ...]
    allowed: tuple[Any, ...]
    more: int  # allowed values that have no place of their own
    others: int  # and values that are not allowed

    @classmethod
    def of(cls, feature: Any, allowed: Sequence[Any], value: Any) -> _NamedLine:
        labels = tuple(dict.fromkeys([*(() if feature is None else feature.labels), *allowed]))
        if value is not _NOTHING and value not in labels:
            labels = (*labels, value)
        if len(labels) <= MOST_VALUES:
            return cls(labels, tuple(allowed), 0, 0)
        first = [label for label in labels if label == value] + [label for label in labels if label in allowed]
        room = MOST_VALUES - 2
        chosen = list(dict.fromkeys([*first, *labels]))[:room]
        shown = tuple(label for label in labels if label in chosen)
        hidden = [label for label in labels if label not in chosen]
        more = sum(label in allowed for label in hidden)
        return cls(shown, tuple(allowed), more, len(hidden) - more)

    @property
    def n_slots(self) -> int:
        return len(self.shown) + (self.more > 0) + (self.others > 0)

    def place(self, k: int) -> float:
        return (k + 0.5) / self.n_slots

    def at(self, value: Any) -> float:
        """Return where a value is drawn."""
        return self.place(self.shown.index(value))

    def show(self, value: Any) -> str:
        return show_label(value)

    def _slots(self) -> list[tuple[str, bool]]:
        slots = [(show_label(label), label in self.allowed) for label in self.shown]
        slots += [(f"{self.more} more", True)] if self.more else []
        return slots + ([(f"{self.others} others", False)] if self.others else [])

    def axis(self, picture: _Lines, y: float, feature: Any) -> None:
        ends = [self.place(0), self.place(self.n_slots - 1)]
        picture.ax.plot(ends, [y, y], color=picture.ink, linewidth=0.8, alpha=0.25, zorder=1)
        width = max(8, 80 // self.n_slots)
        for k, (text, _) in enumerate(self._slots()):
            picture.under(y, self.place(k), _short(text, width))
            picture.slot(y, self.place(k), filled=False)
        if picture.rows is None or feature is None:
            return
        found = picture.rows[:, list(feature.columns)]
        counts = {label: int((found == feature.points[k]).all(axis=1).sum()) for k, label in enumerate(feature.labels)}
        bars = [(self.place(k), 0.5 / self.n_slots, counts.get(label, 0)) for k, label in enumerate(self.shown)]
        for kept, n in ((True, self.more), (False, self.others)):
            if n:
                hidden = [x for x in feature.labels if x not in self.shown and (x in self.allowed) == kept]
                k = len(self.shown) + (not kept and self.more > 0)
                bars.append((self.place(k), 0.5 / self.n_slots, sum(counts[label] for label in hidden)))
        picture.distribution(y, bars)

    def prove(self, picture: _Lines, y: float, condition: Condition) -> None:
        """Mark the values that are proved."""
        for k, (_, allowed) in enumerate(self._slots()):
            if allowed:
                picture.slot(y, self.place(k), filled=True)


class _Lines:
    """A picture of one line for each feature; y counts lines, from the top, x goes from 0 to 1 on each."""

    def __init__(self, ax: Axes, n_lines: int, rows: Rows | None, title: str, claim: str) -> None:
        self.ax, self.n_lines, self.rows, self.claim = ax, n_lines, rows, claim
        self.ink = _ink(ax)
        self.ground = ax.get_facecolor()
        self.names: list[str] = []
        self.wide = False
        self._title_text = title

    @classmethod
    def of(cls, result: Any, n_lines: int, data: Any, ax: Axes | None, why: str) -> _Lines:
        rows = None
        if data is not None:
            if result._scales is None:
                raise InputError(
                    "Rows can be drawn behind a result of an explainer only. This one was made by hand; leave out "
                    "'data'."
                )
            rows = as_rows(data, result._scales.columns, result._scales.floats)
        return cls(_axes(ax, max(n_lines, 1), each=0.85), n_lines, rows, why, result._claim())

    def nothing(self, text: str) -> Axes:
        _nothing(self.ax, text)
        _title(self.ax, self._title_text)
        _say(self.ax, self.claim)
        return self.ax

    def axis(self, y: float, name: str, line: _NumberLine | _NamedLine, feature: Any) -> None:
        """Draw the empty scale of a feature."""
        self.names.append(name)
        line.axis(self, y, feature)

    def distribution(self, y: float, bars: Sequence[tuple[float, float, int]]) -> None:
        """Draw counts as bars on the line: place, width, count."""
        most = max((n for _, _, n in bars), default=0)
        for place, width, n in bars:
            if n:
                height = max(0.36 * n / most, 0.02)
                self.ax.bar(place, -height, width, bottom=y - 0.11, color=self.ink, alpha=0.18, linewidth=0, zorder=0)

    def bar(self, y: float, left: float, right: float, open_left: bool, open_right: bool) -> None:
        """Draw a proved range; an open side ends in an arrow."""
        thin = 0.012  # a single value is still seen
        if right - left < thin:
            left, right = (left + right - thin) / 2, (left + right + thin) / 2
        self.ax.barh(y, right - left, 0.17, left=left, color=PROVED, linewidth=0, zorder=2)
        for is_open, place, marker in ((open_left, left, "<"), (open_right, right, ">")):
            if is_open:
                self.ax.plot([place], [y], marker=marker, color=PROVED, markersize=13, clip_on=False, zorder=2)

    def slot(self, y: float, x: float, *, filled: bool) -> None:
        """Draw the place of a named value; filled, it is proved."""
        face = PROVED if filled else self.ground
        edge = PROVED if filled else self.ink
        size, alpha = (11, 1.0) if filled else (7, 0.5)
        self.ax.plot([x], [y], "s", markersize=size, markerfacecolor=face, markeredgecolor=edge, alpha=alpha, zorder=2)

    def tick(self, y: float, x: float, text: str) -> None:
        """Draw a small tick, far enough below the line to leave room for exact values."""
        self.ax.plot([x, x], [y, y + 0.09], color=self.ink, linewidth=0.8, alpha=0.5, zorder=1)
        self.ax.text(x, y + 0.33, text, ha="center", va="top", fontsize=SMALL - 1, color=self.ink, alpha=0.6)

    def under(self, y: float, x: float, text: str, colour: str | None = None, align: str = "center") -> None:
        """Write below the line."""
        self.ax.text(
            x, y + 0.14, text, ha=align, va="top", fontsize=SMALL, color=colour or self.ink, parse_math=False, zorder=4
        )

    def ends(self, y: float, ends: Sequence[tuple[float, str]]) -> None:
        """Write the exact ends of ranges below them; those that are close become one text."""
        groups: list[list[tuple[float, str]]] = []
        for place, text in sorted(ends):
            if groups and place - groups[-1][-1][0] < 0.015 * (len(text) + len(groups[-1][-1][1])) / 2 + 0.02:
                groups[-1].append((place, text))
            else:
                groups.append([(place, text)])
        for group in groups:
            middle = (group[0][0] + group[-1][0]) / 2
            self.under(y, min(max(middle, 0.0), 1.0), " to ".join(dict.fromkeys(t for _, t in group)), PROVED)

    def mark(self, y: float, x: float, text: str) -> None:
        """Draw the row's own value."""
        self.ax.plot(
            [x], [y], "o", markersize=6.5, color=self.ink, markeredgecolor=self.ground, clip_on=False, zorder=3
        )
        self.above(y, x, text)

    def above(self, y: float, x: float, text: str) -> None:
        self.ax.text(x, y - 0.14, text, ha="center", va="bottom", fontsize=SMALL, parse_math=False, zorder=4)

    def arrow(self, y: float, start: float, end: float, before: str, after: str) -> None:
        """Draw a change."""
        self.ax.annotate(
            "",
            (end, y),
            (start, y),
            arrowprops={"arrowstyle": "-|>", "color": PROVED, "linewidth": 2, "shrinkA": 5, "shrinkB": 5},
            zorder=2,
        )
        self.ax.plot([start], [y], "o", markersize=8, markerfacecolor=self.ground, markeredgecolor=self.ink, zorder=3)
        self.ax.plot([end], [y], "D", markersize=7, color=PROVED, markeredgecolor=self.ground, zorder=3)
        self.above(y, start, before if start <= 1 else "")  # the place of missing values has its name
        self.under(y, end, after if end <= 1 else "", PROVED)

    def finish(self, kinds: Sequence[str]) -> Axes:
        """Write names, title, key and statement."""
        ax = self.ax
        ax.set_xlim(-0.04, MISSING + 0.07 if self.wide else 1.04)
        ax.set_ylim(self.n_lines - 0.5, -0.5)
        ax.set_xticks([])
        _ticks(ax, self.names)
        _bare(ax)
        _title(ax, self._title_text, pad=22)
        if kinds[0] == "proved":
            ax.plot([], [], color=PROVED, linewidth=5, label="proved")
            ax.plot([], [], "o", linestyle="none", markersize=6, color=self.ink, label=kinds[1])
        else:
            ax.plot([], [], "o", linestyle="none", markerfacecolor=self.ground, color=self.ink, label=_plain(kinds[0]))
            ax.plot([], [], "D", linestyle="none", color=PROVED, label=_plain(kinds[1]))
        if self.rows is not None:
            n = len(self.rows)
            ax.plot([], [], color=self.ink, alpha=0.18, linewidth=7, label=f"{n} row{'s' * (n != 1)}")
        _key(ax, 3)
        _say(ax, self.claim)
        return ax


def _ranges(condition: Condition) -> tuple[Range, ...]:
    if condition.values is not None:
        return ()
    return condition.ranges or ((condition.low, condition.high),)


def _is_any(condition: Condition) -> bool:
    return condition.values is None and not condition.ranges and condition.low is None and condition.high is None


def _is_named(condition: Condition) -> bool:
    return condition.values is not None and condition.values != (None,)


def _read(result: Any, values: Sequence[Any]) -> Rows | None:
    """Return a row of a result as the model reads it."""
    scales: Scales | None = result._scales
    return None if scales is None else as_row(list(values), scales.columns, scales.floats)


def _value(feature: Any, row: Rows | None, result: Any, i: int, values: Sequence[Any] | None = None) -> Any:
    """Return the value of the result's i-th feature: a number or a name."""
    if isinstance(feature, ValueFeature) and row is not None:
        return feature.labels[feature.cell(row.tolist())]
    if feature is not None and row is not None:
        return float(row[feature.column])
    given = result.instance if values is None else values
    if not hasattr(result, "features") or len(given) != result.n_features:
        return _NOTHING  # some feature has several columns, and which is not known
    return given[result.features[i]]


def _listed(results: Iterable[Any], *, mixed: bool = True) -> list[Any]:
    found = list(results)
    for result in found:
        if not isinstance(result, Abductive | Contrastive | Exception):
            raise InputError(
                f"Results must be abductive or contrastive explanations. Got {type(result).__name__} among them."
            )
    if not mixed and len({type(r) for r in found if not isinstance(r, Exception)}) > 1:
        raise InputError("Results must be all abductive or all contrastive. Got both; draw one kind at a time.")
    return found


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError("Pictures need matplotlib: pip install 'treeproof[plot]'.") from error
    return plt


def _axes(ax: Axes | None, n_lines: int, *, each: float = 0.85, width: float = 7.0) -> Axes:
    plt = _pyplot()
    if ax is not None:
        return ax
    return plt.subplots(figsize=(width, 1.2 + each * n_lines), layout="constrained")[1]


def _two_axes(ax: Any, n_lines: int) -> tuple[Axes, Axes]:
    plt = _pyplot()
    if ax is None:
        size = (9.0, 1.2 + 0.23 * max(n_lines, 4))
        _, pair = plt.subplots(1, 2, figsize=size, width_ratios=[3, 2], layout="constrained")
        return pair[0], pair[1]
    if hasattr(ax, "get_subplotspec"):
        ax.set_axis_off()
        place = ax.get_subplotspec()
        if place is None:
            raise InputError("One axes must be part of a grid to be divided. Got a free one; pass two axes.")
        parts = place.subgridspec(1, 2, width_ratios=[3, 2])
        return ax.figure.add_subplot(parts[0]), ax.figure.add_subplot(parts[1])
    pair = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(pair) != 2:
        raise InputError(f"The 'ax' parameter must be one axes or two. Got {len(pair)}.")
    return pair[0], pair[1]


def _ink(ax: Axes) -> Any:
    """Return the colour of text in the style of the axes, which is seen on its ground."""
    return ax.yaxis.label.get_color()


def _bars(
    ax: Axes, names: Sequence[str], widths: Sequence[float], texts: Sequence[str], full: float | None = None
) -> None:
    full = full or max(*widths, 1)
    ax.barh(range(len(names)), widths, height=0.7, color=_ink(ax), alpha=0.55, linewidth=0)
    for i, (width, text) in enumerate(zip(widths, texts, strict=True)):
        ax.text(width + 0.01 * full, i, text, va="center", fontsize=SMALL)
    ax.set_xlim(0, 1.12 * full)
    ax.set_ylim(max(len(names), 1) - 0.5, -0.5)
    _ticks(ax, names, size=9)
    _bare(ax)


def _ticks(ax: Axes, names: Sequence[str], size: float | None = None) -> None:
    ax.set_yticks(range(len(names)), [_short(name, 30) for name in names], fontsize=size)
    for label in ax.get_yticklabels():
        label.set_parse_math(False)


def _key(ax: Axes, n_columns: int) -> None:
    """Write the key between the title and the picture."""
    style: dict[str, Any] = {"ncols": n_columns, "frameon": False, "fontsize": SMALL, "borderaxespad": 0.2}
    key = ax.legend(loc="lower left", bbox_to_anchor=(0, 1), **style)
    for text in key.get_texts():
        text.set_parse_math(False)


def _bare(ax: Axes) -> None:
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)


def _nothing(ax: Axes, text: str) -> Axes:
    ax.text(0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes, style="italic")
    ax.set_xticks([])
    ax.set_yticks([])
    _bare(ax)
    return ax


def _title(ax: Axes, text: str, pad: float = 8) -> None:
    written: Text = ax.set_title("\n".join(textwrap.wrap(_plain(text), 60)), loc="left", fontsize=11, pad=pad)
    written.set_parse_math(False)


def _say(ax: Axes, text: str) -> None:
    """Write the statement below the picture."""
    inches = ax.get_window_extent().width / ax.figure.dpi
    room = max(int(16 * inches), 30)
    written: Text = ax.set_xlabel("\n".join(textwrap.wrap(_plain(text), room)), loc="left", fontsize=SMALL)
    written.set_multialignment("left")
    written.set_parse_math(False)


def _plain(text: str) -> str:
    """Return text on one line; what cannot be printed is left out."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _short(text: str, most: int) -> str:
    text = _plain(text)
    return text if len(text) <= most else f"{text[: most - most // 3 - 1]}…{text[-(most // 3) :]}"
