"""The two float types that models read: float32, to which scikit-learn's trees round, and float64.

All statements about the inputs of a forest are in its own float type: the largest number that goes left, the next one,
which goes right, and the shortest text that reads back as the same number.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

FloatName = Literal["float32", "float64"]


@dataclass(frozen=True, slots=True)
class Floats:
    """One float type."""

    name: FloatName
    dtype: type[Any]
    largest: float
    fine: int
    """Every number of this type is a whole multiple of 1 / fine."""
    unit: int
    """A sum or quotient is rounded by at most 1 / unit of its size."""

    def round(self, value: float) -> float:
        """Return the nearest number of this type; beyond the largest one, infinity.

        >>> FLOAT32.round(0.1), FLOAT64.round(0.1)
        (0.10000000149011612, 0.1)
        """
        with np.errstate(over="ignore"):
            return float(self.dtype(value))

    def next(self, value: float, towards: float) -> float:
        """Return the next number of this type, in that direction.

        >>> FLOAT32.next(1.0, math.inf), FLOAT64.next(1.0, math.inf)
        (1.0000001192092896, 1.0000000000000002)
        """
        with np.errstate(over="ignore", under="ignore"):
            return float(np.nextafter(self.dtype(value), self.dtype(towards)))

    def after(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the next larger number of each."""
        with np.errstate(over="ignore"):
            return np.nextafter(values.astype(self.dtype), self.dtype(np.inf)).astype(np.float64)

    def at_most(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the largest number <= each: -inf where none is finite, the largest number for all above it."""
        found = values.astype(np.float64)
        with np.errstate(over="ignore"):
            if self.dtype is np.float32:
                nearest = values.astype(self.dtype)
                above = nearest > values
                np.nextafter(nearest, self.dtype(-np.inf), out=nearest, where=above)
                found[...] = nearest
        np.minimum(found, self.largest, out=found)
        return found

    def shortest(self, value: float) -> str:
        """Return the shortest decimal that reads back as the same number, also when it is read as a float64 first.

        A condition ``x <= b`` printed with it is true of exactly those float64 inputs that it should be true of:
        rounding is monotone, so ``x <= float(text)`` gives ``round(x) <= b``.

        >>> FLOAT32.shortest(0.10000000149011612), FLOAT64.shortest(0.10000000149011612), FLOAT32.shortest(70.0)
        ('0.1', '0.10000000149011612', '70')
        """
        return "missing" if math.isnan(value) else _shortest(self.name, value)

    def texts(self, values: npt.NDArray[Any]) -> list[str]:
        """Return what `shortest` does for each of many numbers of this type, several times faster.

        >>> FLOAT32.texts(np.array([0.1, 70, -0.0, np.nan, 1e16], dtype=np.float32))
        ['0.1', '70', '0', 'missing', '1e+16']
        """
        numbers = values.astype(self.dtype) + self.dtype(0)  # no "-0"
        written = numbers.astype(str)
        same = written.astype(np.float64).astype(self.dtype) == numbers
        found = [text.removesuffix(".0") for text in written.tolist()]
        for i in np.flatnonzero(~same).tolist():
            found[i] = self.shortest(float(numbers[i]))
        return found

    def all_short(self, values: npt.NDArray[Any]) -> list[float]:
        """Return a decimal with few digits for each number of this type: of seven digits, or else the shortest.

        Many at a time, which is several times faster than `shortest` for each. Missing ones stay.

        >>> FLOAT32.all_short(np.array([0.1, 16777216.0, 0.12345679], dtype=np.float32))
        [0.1, 16777216.0, 0.12345679]
        """
        short = _with_digits(7, values)
        (left,) = np.nonzero(short.astype(self.dtype) != values)
        if self.dtype is np.float64:
            short[left] = values[left]
        for digits in () if self.dtype is np.float64 else (8, 9):
            if not len(left):  # as in most rows: what follows takes as long for no numbers as for many
                break
            # Numbers are less far apart below a power of two than above: its nearest decimal need not be the shortest.
            powers = left[np.abs(np.frexp(values[left])[0]) == 0.5]
            short[left] = _with_digits(digits, values[left])
            short[powers] = [float(self.shortest(value)) for value in values[powers].tolist()]
            left = left[short[left].astype(self.dtype) != values[left]]
        found = short.tolist()
        for i in np.flatnonzero(np.isnan(values)).tolist():
            found[i] = math.nan  # the same object each time, so that rows of results are equal
        return found


def _with_digits(digits: int, values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the decimals with so many digits that are nearest to the values."""
    texts = f"%.{digits}g " * len(values) % tuple(values.tolist())
    return np.fromiter(map(float, texts.split()), np.float64, len(values))


@lru_cache(maxsize=2**14)
def _shortest(name: FloatName, value: float) -> str:
    """Return what `Floats.shortest` does; a row's own numbers, and those of conditions, are shown again and again."""
    dtype = FLOATS[name].dtype
    number = dtype(value) + dtype(0)  # no "-0"
    text = str(number).removesuffix(".0")
    return text if dtype(float(text)) == number else repr(float(number))


FLOAT32 = Floats("float32", np.float32, float(np.finfo(np.float32).max), 2**149, 2**24)
FLOAT64 = Floats("float64", np.float64, float(np.finfo(np.float64).max), 2**1074, 2**53)

FLOATS: dict[str, Floats] = {"float32": FLOAT32, "float64": FLOAT64}


FINITE_AS_FLOAT32 = float(np.nextafter(FLOAT32.largest + 2.0**103, 0.0))
"""The largest float64 that is finite as a float32; from half a step above the largest one, numbers become infinite."""


def rounded_up_to(ends: npt.NDArray[Any], floats: Floats) -> npt.NDArray[np.float64]:
    """Return, for each end, the largest float64 that is not above it when it is one of these floats; inf, if all are.

    >>> rounded_up_to(np.array([1.0, 0.1]), FLOAT32)
    array([1.00000006, 0.1       ])
    """
    if floats is not FLOAT32:
        return np.where(ends >= FLOAT64.largest, np.inf, ends)
    with np.errstate(over="ignore"):
        below = FLOAT32.at_most(ends)
        above = FLOAT32.after(below)
        middle = below / 2 + above / 2  # both have 24 bits, so this is exact
        above_it = middle.astype(np.float32).astype(np.float64) > below  # a tie goes to the even one
    found = np.where(above_it, np.nextafter(middle, -np.inf), middle)
    return np.where(ends >= FLOAT32.largest, np.inf, np.where(ends < -FLOAT32.largest, -np.inf, found))


def as_float(value: Fraction) -> float:
    """Return the nearest float, which is infinite beyond the largest finite one."""
    numerator, denominator = value.as_integer_ratio()  # several times as fast as float(value)
    try:
        return numerator / denominator
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def rounded_down(value: Fraction) -> float:
    """Return the largest float that is not above the value.

    >>> rounded_down(Fraction(1, 10)), rounded_down(Fraction(1, 3)) < Fraction(1, 3)
    (0.09999999999999999, True)
    """
    nearest = as_float(value)
    if nearest == math.inf:
        return sys.float_info.max
    return nearest if nearest == -math.inf or Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)


def smallest_reaching(reaches: Any, low: float, high: float, numbers: Floats) -> float:
    """Return the smallest number in [low, high] for which `reaches`, which is monotone, is true; it is at `high`.

    Found by bisection over the numbers themselves, to the last bit.

    >>> smallest_reaching(lambda x: x * x >= 2, 0.0, 2.0, FLOAT64)
    1.4142135623730951
    """
    if reaches(low):
        return low
    first, last = _place(low, numbers), _place(high, numbers)
    while last - first > 1:
        middle = (first + last) // 2
        if reaches(_at(middle, numbers)):
            last = middle
        else:
            first = middle
    return _at(last, numbers)


def smallest_reaching_at_once(reaches: Any, low: float, high: float, numbers: Floats) -> float:
    """Return what `smallest_reaching` does, for a function that is given an array: few calls, of many numbers each.

    >>> smallest_reaching_at_once(lambda x: x * x >= 2, 0.0, 2.0, FLOAT64)
    1.4142135623730951
    """
    first, last = _place(low, numbers) - 1, _place(high, numbers)
    while last - first > 1:
        places = sorted({first + (last - first) * i // 32 for i in range(1, 32)} - {first, last} or {first + 1})
        true = reaches(np.array([_at(place, numbers) for place in places], dtype=numbers.dtype))
        n_below = int(np.argmax(true)) if true.any() else len(places)
        first, last = [first, *places][n_below], [*places, last][n_below]
    return _at(last, numbers)


def _place(value: float, numbers: Floats) -> int:
    """Return the position of a finite number in the order of all numbers of its type; zero is at 0."""
    integer = np.int32 if numbers is FLOAT32 else np.int64
    bits = int(numbers.dtype(value).view(integer))
    return bits if bits >= 0 else -(bits & int(np.iinfo(integer).max))


def _at(place: int, numbers: Floats) -> float:
    integer = np.int32 if numbers is FLOAT32 else np.int64
    magnitude = float(integer(abs(place)).view(numbers.dtype))
    return magnitude if place >= 0 else -magnitude
