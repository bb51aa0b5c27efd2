r"""Conditions on features as users write them: parses text into a feature index with bounds or a choice of values.

::

    petal length (cm) <= 2.4        1 < age <= 30        0.5 >= width
    colour = red                    colour != red        colour in {red, blue}        colour not in {red, "a, b"}
    age is missing                  age is not missing   age in {30, missing}
    age <= 30 or missing            age < 30 or 40 <= age <= 50

A value that has commas, that could be read as something else, or that is text though it looks like a number, is put in
quotes: ``checking = "<0"``, ``code = "1"``, ``name = "None"``. Inside quotes, a backslash escapes, as in ``"\t"``.
A name may contain spaces, operators, brackets, the word "and", even another name: where several known names fit, the
longest is meant, and ambiguous text is refused (a name in backticks is never ambiguous). Numbers
are read as float64, because that is what ``x <= 2.4`` means to those who write it and to those who check it. Many
models round their inputs to float32; `rounded` gives what such a condition says about them. A date such as
2024-02-29 is read as its day number.

What a value means depends on the feature: ``= 3`` is a number for one feature and a name for another. So a `Choice`
keeps its values as text, with a reading for each.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from treeproof.errors import InputError, did_you_mean
from treeproof.model.floats import FLOAT32, Floats
from treeproof.space.wording import show_label, show_name, unescaped

Interval = tuple[float, float]
"""A closed interval of float64 numbers, never empty."""

_DATE = r"\d{4}-\d\d-\d\d"
_NUMBER = rf"(?:{_DATE}|[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf))"
_COMPARISON = "<=|>=|<|>|≤|≥"
_BEFORE = re.compile(rf"\s*({_NUMBER})\s*({_COMPARISON})\s*")
_AFTER = re.compile(rf"\s*({_COMPARISON})\s*({_NUMBER})\s*")
_EQUALS = re.compile(r"\s*(==|=|!=|≠)(.*)", re.DOTALL)
_MEMBER = re.compile(r"(?:\s+in|\s+(not)\s+in|\s*∈|\s*(∉))\s*\{(.*)\}\s*", re.DOTALL | re.IGNORECASE)
_ANYTHING = re.compile(r"\s+is any value\s*")
_MISSING = re.compile(r"\s+is(\s+not)?\s+missing\s*", re.IGNORECASE)
_JOINTS = {word: re.compile(rf"\s+{word}\s+", re.IGNORECASE) for word in ("and", "or")}
_QUOTED = r"""(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')"""
_VALUE = re.compile(rf"""\s*(?:{_QUOTED}|([^\s,"'][^,]*?))\s*(?:,|$)""", re.DOTALL)
_IN_QUOTES = re.compile(_QUOTED, re.DOTALL)
_MISSING_ALONE = re.compile(r"\s*missing\s*", re.IGNORECASE)
_OR_MISSING = re.compile(r"\s+or\s+missing\s*$", re.IGNORECASE)
_MIRRORED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}
_ASCII = {"≤": "<=", "≥": ">="}


class Quoted(str):
    """A value that was written in quotes: text, and nothing else."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Bounds:
    """The condition that a number lies between two bounds; a missing bound is None.

    Examples
    --------
    >>> parse_condition("1 < age <= 30", ["age"])
    Bounds(feature=0, low=1.0, low_strict=True, high=30.0, high_strict=False)
    """

    feature: int
    low: float | None = None
    low_strict: bool = False
    high: float | None = None
    high_strict: bool = False

    @property
    def missing(self) -> bool:
        """Whether a missing number satisfies the condition: only if every value satisfies it."""
        return self.low is None and self.high is None

    def intervals(self, whole: bool = False) -> list[Interval]:
        """Return the float64 numbers (whole ones, if `whole`) that satisfy the condition, as closed intervals."""
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        if self.low_strict:
            low = math.nextafter(low, math.inf) if low < math.inf else math.nan
        if self.high_strict:
            high = math.nextafter(high, -math.inf) if high > -math.inf else math.nan
        return _closed(low, high, whole)


@dataclass(frozen=True, slots=True)
class Choice:
    """The condition that a feature has one of these values, or, `negated`, none of them. Values are text.

    Examples
    --------
    >>> parse_condition("colour not in {red, blue}", ["colour"])
    Choice(feature=0, values=('red', 'blue'), negated=True)
    """

    feature: int
    values: tuple[str, ...]
    negated: bool = False

    @property
    def missing(self) -> bool:
        """Whether a missing number, which is unequal to every number, satisfies the condition."""
        return any(map(_is_missing, self.values)) != self.negated

    def intervals(self, whole: bool = False) -> list[Interval]:
        """Return the float64 numbers (whole ones, if `whole`) that satisfy the condition, as closed intervals.

        InputError if a value is neither a number nor "missing".
        """
        chosen = sorted({_finite(value) for value in self.values if not _is_missing(value)})
        if not self.negated:
            return [interval for value in chosen for interval in _closed(value, value, whole)]
        ends = [-math.inf, *chosen, math.inf]
        return [
            interval
            for low, high in pairwise(ends)
            for interval in _closed(math.nextafter(low, math.inf), math.nextafter(high, -math.inf), whole)
        ]

    def places(self, labels: Sequence[object]) -> frozenset[int]:
        """Return the indices of the labels that satisfy the condition; InputError if a value is not a label.

        A number matches a label that is equal to it, however either is written.
        """
        chosen = frozenset(_place(value, labels) for value in self.values)
        return frozenset(range(len(labels))) - chosen if self.negated else chosen


@dataclass(frozen=True, slots=True)
class Either:
    """The condition that a number satisfies at least one of several others.

    Examples
    --------
    >>> parse_condition("age < 30 or missing", ["age"]).missing
    True
    """

    feature: int
    parts: tuple[ParsedCondition, ...]

    @property
    def missing(self) -> bool:
        """Whether a missing number satisfies the condition."""
        return any(part.missing for part in self.parts)

    def intervals(self, whole: bool = False) -> list[Interval]:
        """Return the float64 numbers (whole ones, if `whole`) that satisfy the condition, as closed intervals."""
        return sorted(one for part in self.parts for one in part.intervals(whole))


ParsedCondition = Bounds | Choice | Either


def parse_condition(text: str, names: Sequence[str]) -> ParsedCondition:
    """Return the condition on one of the named features; InputError if the text is not one, or is ambiguous.

    Examples
    --------
    >>> parse_condition("petal length (cm) <= 2.4", ["petal length", "petal length (cm)"])
    Bounds(feature=1, low=None, low_strict=False, high=2.4, high_strict=False)
    >>> parse_condition("colour = red", ["age", "colour"])
    Choice(feature=1, values=('red',), negated=False)
    """
    found = _readings(text, names)
    if not found:
        raise InputError(_advice(text, names))
    return _only(text, found, names)


def parse_conditions(
    text: str, names: Sequence[str], joint: Literal["and", "or"] = "and"
) -> list[tuple[str, ParsedCondition]]:
    """Return the conditions that `text` joins by "and" (or by "or"), each with its own text.

    An "and" inside a name or a value does not separate: where there is a choice, conditions are as short as possible.

    Examples
    --------
    >>> names = ["food and drink", "colour"]
    >>> [condition for condition, _ in parse_conditions("food and drink > 3 and colour = red", names)]
    ['food and drink > 3', 'colour = red']
    """
    pieces = _split(
        text, joint, lambda part: _readings(part, names) if joint == "and" else _perhaps_missing(part, names)
    )
    if pieces is None:  # name the part that is wrong, split at every joint
        for part in _JOINTS[joint].split(text):
            parse_condition(part.strip(), names)
        raise InputError(_advice(text, names))
    return [(part, parse_condition(part, names)) for part in pieces]


def _split(text: str, joint: Literal["and", "or"], reads: Callable[[str], Any]) -> list[str] | None:
    """Return the shortest parts between joints that can all be read; None if there are none."""
    joints = list(_JOINTS[joint].finditer(text))
    starts = [0, *(joint.end() for joint in joints)]
    ends = [*(joint.start() for joint in joints), len(text)]
    # If a condition begins at piece i: its text, and the piece at which the next one begins. Filled from the end.
    step: list[tuple[str, int] | None] = [None] * len(starts)
    for i in reversed(range(len(starts))):
        for j in range(i, len(ends)):
            part = text[starts[i] : ends[j]].strip()
            if (j + 1 == len(ends) or step[j + 1]) and reads(part):
                step[i] = (part, j + 1)
                break
    parts, at = [], 0
    while at < len(starts):
        following = step[at]
        if following is None:
            return None
        part, at = following
        parts.append(part)
    return parts


def _perhaps_missing(text: str, names: Sequence[str]) -> list[Reading]:
    """Return the readings of a part between two "or": one condition, or one "or missing"."""
    return _single(_OR_MISSING.sub("", text), names)


def rounded(intervals: Sequence[Interval], floats: Floats = FLOAT32) -> list[Interval]:
    """Return the model's finite numbers to which numbers of the intervals round, as closed intervals.

    Rounding is monotone and leaves the model's numbers alone, so these are all from one rounded end to the other: a
    strict bound may well allow the bound itself, as the model sees it.

    >>> rounded(Bounds(0, high=2.0, high_strict=True).intervals())
    [(-3.4028234663852886e+38, 2.0)]
    """
    found = []
    for low, high in intervals:
        first, last = floats.round(low), floats.round(high)
        if first < math.inf and last > -math.inf:
            found.append((max(first, -floats.largest), min(last, floats.largest)))
    return found


def intersect(first: Sequence[Interval], second: Sequence[Interval]) -> list[Interval]:
    """Return the numbers that lie in both sets of intervals.

    >>> intersect([(0, 2), (4, 9)], [(1, 5)])
    [(1, 2), (4, 5)]
    """
    pairs = [(max(a, c), min(b, d)) for a, b in first for c, d in second]
    return sorted((low, high) for low, high in pairs if low <= high)


def _closed(low: float, high: float, whole: bool) -> list[Interval]:
    """Return the interval between the ends, shrunk to whole ends on request, unless it is empty."""
    if whole:
        low = math.ceil(low) if math.isfinite(low) else low
        high = math.floor(high) if math.isfinite(high) else high
    return [(float(low), float(high))] if low <= high else []


Reading = tuple[int, int, ParsedCondition]
"""A way to read a text as a condition, with the position of the name."""


def _readings(text: str, names: Sequence[str]) -> list[Reading]:
    """Return every way to read the text as a condition."""
    return _alternatives(text, names) or _single(text, names)


def _single(text: str, names: Sequence[str]) -> list[Reading]:
    """Return every way to read the text as a condition without "or"."""
    found = []
    for feature, name in enumerate(names):
        if name not in text and name.isprintable():  # most of many names; others are also written with escapes
            continue
        for start, end in _occurrences(text, name):
            parsed = _around(text[:start], feature, text[end:])
            if parsed is not None:
                found.append((start, end, parsed))
    return found


def _alternatives(text: str, names: Sequence[str]) -> list[Reading]:
    """Return the reading of the text as several conditions on one feature that are joined by "or", if there is one."""
    pieces = _split(text, "or", lambda part: _MISSING_ALONE.fullmatch(part) or _single(part, names)) or [text]
    readings = [_single(piece, names) for piece in pieces if not _MISSING_ALONE.fullmatch(piece)]
    parts = [_only(text, found, names) for found in readings] if len(pieces) > 1 else []
    if len({part.feature for part in parts}) != 1:
        return []
    feature = parts[0].feature
    parts += [Choice(feature, ("missing",)) for _ in range(len(pieces) - len(parts))]
    chosen = [value for part in parts if isinstance(part, Choice) and not part.negated for value in part.values]
    simple = all(isinstance(part, Choice) and not part.negated for part in parts)
    start, end, _ = readings[0][0]
    return [(start, end, Choice(feature, tuple(chosen)) if simple else Either(feature, tuple(parts)))]


def _only(text: str, found: Sequence[Reading], names: Sequence[str]) -> ParsedCondition:
    """Return the reading with the longest name; InputError if another one is not merely about a part of that name."""
    length = max(end - start for start, end, _ in found)
    best = [reading for reading in found if reading[1] - reading[0] == length]
    start, end, parsed = best[0]
    for other_start, other_end, other in found:
        apart = other_end <= start or end <= other_start
        if other != parsed and (apart or other_end - other_start == length):
            raise InputError(
                f"The condition {text!r} must not be ambiguous. It could be about {names[parsed.feature]!r} or "
                f"{names[other.feature]!r}; put the name in backticks."
            )
    return parsed


def _occurrences(text: str, name: str) -> Iterator[tuple[int, int]]:
    """Yield the positions of a name, plain and in backticks (which then belong to it), or as results write it."""
    for written in dict.fromkeys((name, f"`{name}`", show_name(name))):
        start = text.find(written) if written else -1
        while start >= 0:
            yield start, start + len(written)
            start = text.find(written, start + 1)


def _around(before: str, feature: int, after: str) -> ParsedCondition | None:
    """Return the condition on the feature whose name stands between two pieces of text, or None."""
    left = _BEFORE.fullmatch(before)
    if before.strip() and not left:
        return None
    if left:
        number, sign = left.groups()
        sides = [(_MIRRORED[_ASCII.get(sign, sign)], number)]
        if after.strip():
            right = _AFTER.fullmatch(after)
            if not right:
                return None
            sides.append((_ASCII.get(right[1], right[1]), right[2]))
        return _bounds(feature, sides)
    if right := _AFTER.fullmatch(after):
        return _bounds(feature, [(_ASCII.get(right[1], right[1]), right[2])])
    if match := _EQUALS.fullmatch(after):
        value = match[2].strip()
        quoted = _IN_QUOTES.fullmatch(value)
        negated = match[1] in ("!=", "≠")
        return Choice(feature, (_unquoted(quoted) if quoted else value,), negated) if value else None
    if match := _MEMBER.fullmatch(after):
        values = _values(match[3])
        return Choice(feature, values, bool(match[1] or match[2])) if values else None
    if match := _MISSING.fullmatch(after):
        return Choice(feature, ("missing",), bool(match[1]))
    return Bounds(feature) if _ANYTHING.fullmatch(after) else None


def _bounds(feature: int, sides: Sequence[tuple[str, str]]) -> Bounds | None:
    """Return the bounds that one or two comparisons give, each a sign as seen from the feature, and a number."""
    if len(sides) == 2 and sides[0][0][0] == sides[1][0][0]:
        return None  # such as 3 < x > 1
    low: tuple[float | None, bool] = (None, False)
    high = low
    for sign, number in sides:
        bound = (_read(number), len(sign) == 1)
        if sign[0] == ">":
            low = bound
        else:
            high = bound
    return Bounds(feature, *low, *high)


def _values(text: str) -> tuple[str, ...] | None:
    """Return the values between commas, without quotes; None if they are malformed."""
    found, at = [], 0
    while True:
        match = _VALUE.match(text, at)
        if not match:
            return None
        if match[3] == "":
            return None
        found.append(_unquoted(match) if match[3] is None else match[3])
        at = match.end()
        if not match[0].endswith(","):
            return tuple(found)


def _unquoted(match: re.Match[str]) -> Quoted:
    """Return what stands between quotes."""
    return Quoted(unescaped(match[1] if match[1] is not None else match[2]))


def _is_missing(value: str) -> bool:
    return value == "missing" and not isinstance(value, Quoted)


def _read(text: str) -> float:
    """Return a number, or the number of a day, as `datetime.date.toordinal` counts it."""
    if not re.fullmatch(_DATE, text):
        return float(text)
    try:
        return float(datetime.date.fromisoformat(text).toordinal())
    except ValueError as error:
        raise InputError(f"A date must exist in the calendar, such as 2024-02-29. Got {text!r}.") from error


def _finite(text: str) -> float:
    if re.fullmatch(_NUMBER, text) and math.isfinite(_read(text)):
        return _read(text)
    raise InputError(f"The value of a numeric feature must be a number. Got {text!r}.")


def _place(text: str, labels: Sequence[object]) -> int:
    """Return the index of the label with this text, or else of the only number that is equal to it.

    A value in quotes is text, if there is such a value; one without them is missing, or a number, if there is one.
    """
    quoted = isinstance(text, Quoted)
    alike = [place for place, label in enumerate(labels) if ("missing" if label is None else str(label)) == text]
    best = [place for place in alike if isinstance(labels[place], str) == quoted]
    if len(best or alike) == 1:
        return (best or alike)[0]
    if alike:
        raise InputError(f"The value must not be ambiguous. {text!r} matches several values of the feature.")
    if re.fullmatch(_NUMBER, text):
        numbers = [
            place
            for place, label in enumerate(labels)
            if isinstance(label, int | float) and not isinstance(label, bool) and label == _read(text)
        ]
        if len(numbers) == 1:
            return numbers[0]
    shown = ", ".join(show_label(label) for label in labels[:12]) + (", ..." if len(labels) > 12 else "")  # type: ignore[arg-type]
    raise InputError(f"The value must be one of {{{shown}}}. Got {text!r}.")


def _advice(text: str, names: Sequence[str]) -> str:
    known = [name for name in names if name and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)]
    if known:
        name = max(known, key=len)
        return (
            f"A condition must look like '{name} <= 2.4', '1 < {name} <= 30', '{name} = red' or "
            f"'{name} in {{red, blue}}'. Got {text!r}."
        )
    shown = ", ".join(repr(name) for name in names[:8]) + (", ..." if len(names) > 8 else "")
    left = _BEFORE.match(text)
    start = re.split(r"[<>=!≤≥≠]|\b(?:in|is|not)\b", text[left.end() :] if left else text, maxsplit=1)[0].strip()
    return f"A condition must name one of the features {shown}. Got {text!r}.{did_you_mean(start, names)}"
