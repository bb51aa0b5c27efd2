r"""Numbers, values and names as results write them; `treeproof.space.grammar` reads them back as the same.

Between the last number inside a range and the first one outside, every number is a right place for the cut. So a bound
is written with the fewest digits: closed if it reads as the last number inside, strict if it reads as the first one
outside. Both are read as the model reads its inputs. A closed bound is then true of all inputs: rounding is monotone,
so whatever is at most the number written is read as at most the number inside. A strict one is not, in float32:
0.5999999999 is below 0.6, and the model reads it as 0.6. Results that have such a bound say so (`AS_FLOAT32`).

Where neither takes less than ten digits, as behind a scaler, the bound is rounded inward: what is proved of a range is
true of a narrower one. Numbers within 1e-30 of zero, such as those at which LightGBM cuts in place of zero, are written
as zero (`ABOVE_ZERO`).
"""

from __future__ import annotations

import datetime
import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from treeproof.model.floats import FLOAT64, Floats
from treeproof.model.labels import Named

if TYPE_CHECKING:
    from treeproof.model.columns import Label

AS_FLOAT32 = "Numbers are compared as the model reads them: as float32."
ABOVE_ZERO = "Here > 0 means at least 1e-30, and < 0 at most -1e-30."

SMALLEST = 1e-30  # what numbers above zero are, where zero is written in place of a smaller one

_MOST_DIGITS = 9  # a float32 never needs more
_FEW_DIGITS = 5  # that a value may have without being rounded
_COARSEST = Fraction(1, 10**6)  # how much of its size a rounded bound may lose
_BARE = re.compile(r"[^\W\d_](?:[\w .+/-]*[\w.+/-])?")
_SPECIAL = re.compile(
    r"(?:.*\s)?(?:and|or|then|in|is|not)(?:\s.*)?|missing|none|nan|null|true|false|inf(?:inity)?", re.I
)
_SCORES = re.compile(r"(?:>= \S+ and )?< \S+|>= \S+")  # labels that treeproof itself gives to ranges of scores
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\"}
_ESCAPED = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|(.))", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound as text: whether it is strict, and whether it is narrower than what it stands for."""

    text: str
    strict: bool = False
    rounded: bool = False
    of_zero: bool = False


def upper_bound(high: float, floats: Floats, *, whole: bool = False, keep: float = -math.inf) -> Bound:
    """Return the shortest bound for ``x <= high``; if it has to be rounded, numbers up to `keep` stay inside.

    >>> from treeproof.model.floats import FLOAT32
    >>> upper_bound(FLOAT32.next(FLOAT32.round(0.6), 0), FLOAT32)
    Bound(text='0.6', strict=True, rounded=False, of_zero=False)
    >>> upper_bound(34.50000043792192, FLOAT64)
    Bound(text='34.5', strict=False, rounded=True, of_zero=False)
    """
    closed, after = floats.shortest(high), floats.next(high, math.inf)
    if whole or math.isinf(after):
        return Bound(closed)
    strict = floats.shortest(after)
    if min(_n_digits(closed), _n_digits(strict)) <= _MOST_DIGITS:
        return Bound(strict, strict=True) if _n_digits(strict) < _n_digits(closed) else Bound(closed)
    if -SMALLEST < high < 0 and keep <= -SMALLEST:
        return Bound("0", strict=True, of_zero=True)
    exact = Fraction(high)
    least = Fraction(0) if 0 <= high < SMALLEST else exact - abs(exact) * _COARSEST
    return Bound(_shortest_between(max(least, Fraction(max(keep, -floats.largest))), exact, exact), rounded=True)


def lower_bound(low: float, floats: Floats, *, whole: bool = False, keep: float = math.inf) -> Bound:
    """Return the shortest bound for ``x >= low``: what `upper_bound` does, mirrored."""
    bound = upper_bound(-low, floats, whole=whole, keep=-keep)
    return Bound(_negated(bound.text), bound.strict, bound.rounded, bound.of_zero)


def rounded_inside(value: float, low: float, high: float, floats: Floats, like: float, digits: int = 3) -> str:
    """Return a number that reads as one between the ends, by the value if that takes many digits.

    It has as many decimals as `like`, and so many digits at least; more only where the ends leave no other room.

    >>> from treeproof.model.floats import FLOAT32
    >>> rounded_inside(34.50000043792192, 34.50000043792192, 40.0, FLOAT64, like=54.0)
    '34.6'
    >>> rounded_inside(FLOAT32.round(17.740002), FLOAT32.round(17.740002), 17.8, FLOAT32, like=15.93)
    '17.75'
    """
    if low <= 0 <= high and abs(value) < SMALLEST:  # where LightGBM cuts in place of zero
        return "0"
    text = floats.shortest(value)
    n_digits = _n_digits(text)
    if math.isnan(value) or n_digits <= max(digits, _FEW_DIGITS):
        return text
    own = 0 if math.isnan(like) else len(floats.shortest(like).partition("e")[0].partition(".")[2])
    magnitude = math.floor(math.log10(abs(value)))
    decimals = max(own, digits - 1 - magnitude)
    nearest = round(value, decimals)  # rounds the exact value; strictly inside, its decimal is inside too
    if (
        not low <= nearest <= high and decimals + magnitude < 12
    ):  # the next one towards the value: floats tell them apart
        nearest = round(nearest + math.copysign(10.0**-decimals, value - nearest), decimals)
    if not low < nearest < high:
        nearest = _nearest_inside(Fraction(value), Fraction(low), Fraction(high), decimals)
    shown = FLOAT64.shortest(nearest)
    return shown if _n_digits(shown) < n_digits else text


def _nearest_inside(value: Fraction, low: Fraction, high: Fraction, decimals: int) -> float:
    """Return the number between the ends that is closest to the value, with so many decimals, or more if none has."""
    while True:
        unit = Fraction(10) ** -decimals
        first, last = math.ceil(low / unit), math.floor(high / unit)
        if first <= last:
            return float(min(max(round(value / unit), first), last) * unit)
        decimals += 1


def _n_digits(text: str) -> int:
    """Return the number of digits of a decimal, without zeros at either end; zero has none."""
    return len(text.partition("e")[0].lstrip("-").replace(".", "").strip("0"))


def _shortest_between(low: Fraction, high: Fraction, near: Fraction) -> str:
    """Return the number between two others that has the fewest digits; of several, the nearest one."""
    if low <= 0 <= high:
        return "0"
    power = math.ceil(math.log10(max(abs(float(low)), abs(float(high))))) + 1
    while True:
        unit = Fraction(10) ** power
        first, last = math.ceil(low / unit), math.floor(high / unit)
        if first <= last:
            return FLOAT64.shortest(float(min(max(round(near / unit), first), last) * unit))
        power -= 1


def _negated(text: str) -> str:
    return "0" if text == "0" else text.removeprefix("-") if text.startswith("-") else f"-{text}"


def show_day(number: float) -> str:
    """Return a day number as a date.

    >>> show_day(738945.0)
    '2024-02-29'
    """
    return "missing" if math.isnan(number) else datetime.date.fromordinal(int(number)).isoformat()


def show_label(label: Label | None) -> str:
    r"""Return a named value as text, in which no two values look alike; None means missing.

    Text is quoted unless it begins with a letter, has no punctuation that conditions use, and is no word that means
    something else: a number, ``missing``, ``None``.

    >>> print(*map(show_label, ["red", "<0", "1", 1, "None", None, "a\t", 'say "no"']), sep="  ")
    red  "<0"  "1"  1  "None"  missing  "a\t"  "say \"no\""
    """
    if label is None:
        return "missing"
    if not isinstance(label, str):
        return str(label)
    return label if is_bare(label) else '"' + escaped(label, '"') + '"'


def show_class(label: Label | None) -> str:
    """Return a class, or its name, as text in a sentence: quoted like other values, unless it is a range of scores.

    >>> print(*map(show_class, ["good", ">50K", "1", 1, "None", ">= 2 and < 3.5"]), sep="  ")
    good  ">50K"  "1"  1  "None"  >= 2 and < 3.5
    """
    text = label.name if isinstance(label, Named) else label
    return text if isinstance(text, str) and is_range(text) else show_label(text)


def is_range(label: Label | None) -> bool:
    """Return whether a class is a range of scores."""
    return isinstance(label, str) and bool(_SCORES.fullmatch(label))


def is_bare(label: str) -> bool:
    """Return whether a value needs no quotes."""
    return bool(_BARE.fullmatch(label)) and label.isprintable() and not _SPECIAL.fullmatch(label)


def show_name(name: str) -> str:
    r"""Return a feature's name as text; unprintable characters are escaped, between backticks.

    >>> show_name("petal length (cm)"), show_name("a\t")
    ('petal length (cm)', '`a\\t`')
    """
    return name if name.isprintable() else "`" + escaped(name, "`") + "`"


def one_line(text: str) -> str:
    r"""Return a text with unprintable characters escaped: a label may have any, also some that act on a terminal.

    >>> one_line("a\x1b[2Jb")
    'a\\u{1b}[2Jb'
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text)


def equals(name: str, value: str) -> str:
    """Return that a feature has a value, given as text, in words.

    >>> equals("age", "30"), equals("age", "missing")
    ('age = 30', 'age is missing')
    """
    return f"{show_name(name)} is missing" if value == "missing" else f"{show_name(name)} = {value}"


def escaped(text: str, quote: str) -> str:
    """Return text without unprintable characters, quotes or backslashes that are not escaped."""
    return "".join(
        _ESCAPES.get(letter)
        or ("\\" + letter if letter == quote else letter if letter.isprintable() else f"\\u{{{ord(letter):x}}}")
        for letter in text
    )


def unescaped(text: str) -> str:
    r"""Return what was `escaped`; a backslash before any other character stands for itself.

    >>> unescaped(escaped('"\t\\', '"')) == '"\t\\'
    True
    """
    known = {shown[1:]: letter for letter, shown in _ESCAPES.items()} | {'"': '"', "'": "'", "`": "`"}

    def plain(match: re.Match[str]) -> str:
        if match[1] is not None:
            return chr(int(match[1], 16)) if int(match[1], 16) < 0x110000 else match[0]
        return known.get(match[2], match[0])

    return _ESCAPED.sub(plain, text)
