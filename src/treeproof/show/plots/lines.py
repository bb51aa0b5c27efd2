"""One line for each feature, on its own scale: numbers, or named values."""

from __future__ import annotations

import datetime
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from treeproof.errors import InputError
from treeproof.model.columns import Rows
from treeproof.model.floats import FLOATS
from treeproof.model.rows import FIRST_DAY, LAST_DAY, as_rows
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
from treeproof.space.conditions import Condition, Range, remarks
from treeproof.space.features import NumericFeature
from treeproof.space.wording import show_day, show_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_VALUES = 8  # named values on one line
PROVED = "#3b75af"  # of medium brightness: visible on white, on black, and in grey
MISSING = 1.15  # where a line shows missing values
BINS = 30

NOTHING = object()  # an unknown value


@dataclass(frozen=True, slots=True)
class NumberLine:
    """The scale of a numeric feature: numbers from 0 to 1, missing values beyond, at `MISSING`."""

    low: float
    high: float
    open_low: bool
    open_high: bool
    missing: bool
    whole: bool
    show: Callable[[Any], str]

    @classmethod
    def of(cls, feature: Any, condition: Condition, value: Any, rows: Rows | None) -> NumberLine:
        """Return a scale that includes the condition, the value, and the rows."""
        date = condition.date or getattr(feature, "kind", None) == "date"
        numbers = FLOATS[condition.dtype] if feature is None else feature.floats
        known: list[float] = [end for ends in _ranges(condition) for end in ends if end is not None]
        known += [] if value is NOTHING else [value]
        ends: list[float | None] = [None, None]
        if isinstance(feature, NumericFeature):
            domain = float(feature.lows[0]), float(feature.highs[-1])
            widest = (FIRST_DAY, LAST_DAY) if date else (-numbers.largest, numbers.largest)
            # Behind a pipeline, float64 numbers end where those of a float32 model do: nobody means these ends.
            ends = [
                None if end == wide or abs(end) >= FLOATS["float32"].largest else end
                for end, wide in zip(domain, widest, strict=True)
            ]
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

    def axis(self, picture: Lines, y: float, feature: Any) -> None:
        """Draw the scale."""
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
        """Return a few round numbers on the scale."""
        if max(abs(self.low), abs(self.high)) > 1e300:  # too large for matplotlib's arithmetic
            return []
        from matplotlib.ticker import MaxNLocator

        if self.show is show_day and (days := _days(self.low, self.high)):
            return days
        locator = MaxNLocator(nbins=4, integer=self.whole, steps=[1, 2, 5, 10])
        found = [float(tick) for tick in locator.tick_values(self.low, self.high) if self.low <= tick <= self.high]
        return [tick for tick in found if FIRST_DAY <= tick <= LAST_DAY] if self.show is show_day else found

    def prove(self, picture: Lines, y: float, condition: Condition) -> None:
        """Draw the ranges that are proved, and write the condition below them."""
        if condition.values is not None:  # only missing values
            picture.slot(y, MISSING, filled=True)
            return
        places: list[float] = []
        for low, high in _ranges(condition):
            left = 0.0 if low is None else self.at(low)
            right = 1.0 if high is None else self.at(high)
            picture.bar(y, left, right, low is None and self.open_low, high is None and self.open_high)
            places += [left, right]
        if condition.missing or (condition.missing is None and self.missing and is_any(condition)):
            picture.slot(y, MISSING, filled=True)
        picture.conditions.append(condition)
        picture.fitted(y, (min(places) + max(places)) / 2, str(replace(condition, name="x")))


@dataclass(frozen=True, slots=True)
class NamedLine:
    """The scale of a feature with named values: a place for each, and one for those that do not fit."""

    shown: tuple[Any, ...]
    allowed: tuple[Any, ...]
    more: int  # allowed values without their own place
    others: int  # and values that are not allowed, without their own place

    @classmethod
    def of(cls, feature: Any, allowed: Sequence[Any], value: Any) -> NamedLine:
        """Return a scale that includes the allowed values and the row's own."""
        labels = tuple(dict.fromkeys([*(() if feature is None else feature.labels), *allowed]))
        if value is not NOTHING and value not in labels:
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
        """Number of places on the line."""
        return len(self.shown) + (self.more > 0) + (self.others > 0)

    def place(self, k: int) -> float:
        """Return where the k-th place is."""
        return (k + 0.5) / self.n_slots

    def at(self, value: Any) -> float:
        """Return where a value is drawn."""
        return self.place(self.shown.index(value))

    def show(self, value: Any) -> str:
        """Return a value as text."""
        return show_label(value)

    def _slots(self) -> list[tuple[str, bool]]:
        slots = [(show_label(label), label in self.allowed) for label in self.shown]
        slots += [(f"{self.more} more", True)] if self.more else []
        return slots + ([(f"{self.others} others", False)] if self.others else [])

    def axis(self, picture: Lines, y: float, feature: Any) -> None:
        """Draw the scale."""
        ends = [self.place(0), self.place(self.n_slots - 1)]
        picture.ax.plot(ends, [y, y], color=picture.ink, linewidth=0.8, alpha=0.25, zorder=1)
        width = max(8, 80 // self.n_slots)
        for k, (text, _) in enumerate(self._slots()):
            picture.under(y, self.place(k), short(text, width))
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

    def prove(self, picture: Lines, y: float, condition: Condition) -> None:
        """Mark the values that are proved."""
        for k, (_, allowed) in enumerate(self._slots()):
            if allowed:
                picture.slot(y, self.place(k), filled=True)


class Lines:
    """A picture with one line per feature; y counts lines from the top, x goes from 0 to 1 on each."""

    def __init__(
        self, ax: Axes, n_lines: int, rows: Rows | None, title: str, claim: str, among: Sequence[str] = ()
    ) -> None:
        self.ax, self.n_lines, self.rows, self.claim, self.among = ax, n_lines, rows, claim, among
        self.ink = ink(ax)
        self.ground = ax.get_facecolor()
        self.names: list[str] = []
        self.values: list[str] = []
        self.conditions: list[Condition] = []  # those that are written
        self.wide = False
        self._title_text = title

    @classmethod
    def of(cls, result: Any, n_lines: int, data: Any, ax: Axes | None, why: str) -> Lines:
        """Return an empty picture of a result, with rows behind it if `data` is given."""
        rows = None
        if data is not None:
            if result._scales is None:
                raise InputError(
                    "Rows can only be drawn behind the result of an explainer. This one was made by hand; leave out "
                    "'data'."
                )
            rows = as_rows(data, result._scales.columns, result._scales.floats)
        among = () if result._scales is None else [column.name for column in result._scales.columns]
        return cls(new_axes(ax, max(n_lines, 1), each=0.85), n_lines, rows, why, result.claim, among)

    def nothing(self, text: str) -> Axes:
        """Say that there is nothing to draw; return the axes."""
        say_nothing(self.ax, text)
        add_title(self.ax, self._title_text)
        say(self.ax, self.claim)
        return self.ax

    def axis(self, y: float, name: str, line: NumberLine | NamedLine, feature: Any, value: str = "") -> None:
        """Draw the empty scale of a feature, with its name and the row's value beside it."""
        self.names.append(name)
        self.values.append(f"\n= {short(value, 26)}" if value else "")
        line.axis(self, y, feature)

    def distribution(self, y: float, bars: Sequence[tuple[float, float, int]]) -> None:
        """Draw counts as bars on the line: position, width, count."""
        most = max((n for _, _, n in bars), default=0)
        for place, width, n in bars:
            if n:
                height = max(0.36 * n / most, 0.02)
                self.ax.bar(place, -height, width, bottom=y - 0.11, color=self.ink, alpha=0.18, linewidth=0, zorder=0)

    def bar(self, y: float, left: float, right: float, open_left: bool, open_right: bool) -> None:
        """Draw a proved range; an open side ends in an arrow."""
        thin = 0.012  # a single value stays visible
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

    def fitted(self, y: float, x: float, text: str) -> None:
        """Write below a line so that the text stays between its ends."""
        inches = self.ax.get_window_extent().width / self.ax.figure.dpi
        letters = max(int(12 * inches), 12)  # that fit below a line, with room for names beside it
        text = short(text, letters)
        half = len(text) / letters / 2
        side = "left" if x < half else "right" if x > 1 - half else "center"
        self.under(y, 0.0 if side == "left" else 1.0 if side == "right" else x, text, PROVED, side)

    def mark(self, y: float, x: float, text: str) -> None:
        """Draw the row's own value."""
        self.ax.plot(
            [x], [y], "o", markersize=6.5, color=self.ink, markeredgecolor=self.ground, clip_on=False, zorder=3
        )
        self.above(y, x, text)

    def above(self, y: float, x: float, text: str) -> None:
        """Write above a line."""
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
        self.above(y, start, before if start <= 1 else "")  # the place of missing values is labelled already
        if end <= 1:
            self.fitted(y, end, after)

    def finish(self, kinds: Sequence[str]) -> Axes:
        """Write names, title, legend and statement."""
        ax = self.ax
        ax.set_xlim(-0.04, MISSING + 0.07 if self.wide else 1.04)
        ax.set_ylim(self.n_lines - 0.5, -0.5)
        ax.set_xticks([])
        name_lines(ax, self.names, ends=self.values, among=self.among)
        strip(ax)
        add_title(ax, self._title_text, pad=22)
        if kinds[0] == "proved":
            ax.plot([], [], color=PROVED, linewidth=5, label="proved")
            ax.plot([], [], "o", linestyle="none", markersize=6, color=self.ink, label=kinds[1])
        else:
            ax.plot([], [], "o", linestyle="none", markerfacecolor=self.ground, color=self.ink, label=plain(kinds[0]))
            ax.plot([], [], "D", linestyle="none", color=PROVED, label=plain(kinds[1]))
        if self.rows is not None:
            n = len(self.rows)
            ax.plot([], [], color=self.ink, alpha=0.18, linewidth=7, label=f"{n} row{'s' * (n != 1)}")
        add_key(ax, 3)
        say(ax, " ".join([self.claim, *remarks(self.conditions)]))
        return ax


def _days(low: float, high: float) -> list[float]:
    """Return between two and five first days of years or months between two days; none if there are too few."""
    first, last = (datetime.date.fromordinal(int(min(max(day, FIRST_DAY), LAST_DAY))) for day in (low, high))
    months = range(12 * first.year + first.month, 12 * last.year + last.month)  # after the first, up to the last
    for step in (1200, 600, 240, 120, 60, 24, 12, 6, 3, 1):
        found = [month for month in months if month % step == 0]
        if len(found) >= 2:
            found = found[:: -(-len(found) // 5)]
            return [float(datetime.date(month // 12, month % 12 + 1, 1).toordinal()) for month in found]
    return []


def _ranges(condition: Condition) -> tuple[Range, ...]:
    if condition.values is not None:
        return ()
    return condition.ranges or ((condition.low, condition.high),)


def is_any(condition: Condition) -> bool:
    """Return whether every value satisfies a condition."""
    return condition.values is None and not condition.ranges and condition.low is None and condition.high is None


def is_named(condition: Condition) -> bool:
    """Return whether a condition chooses among named values."""
    return condition.values is not None and condition.values != (None,)
