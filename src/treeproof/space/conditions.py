"""Conditions on one feature, as results state them."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Real

from treeproof.errors import InputError, require_bool
from treeproof.model.columns import Label
from treeproof.model.floats import FLOATS, FloatName
from treeproof.space.wording import (
    ABOVE_ZERO,
    AS_FLOAT32,
    Bound,
    lower_bound,
    show_day,
    show_label,
    show_name,
    upper_bound,
)

Range = tuple[float | None, float | None]
_KNOWN = frozenset((float, type(None)))


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on one feature: closed bounds, or a choice of named values; with neither, any value satisfies it.

    Bounds are numbers as the model reads them, exactly; the text has shorter ones that mean the same to the model, or,
    if `is_rounded`, a little less (see `treeproof.space.wording`). `missing` says whether a missing value satisfies the
    condition; it is None if the feature cannot be missing, or if every value satisfies the condition. With several
    `ranges`, one of them must hold. `others` are the named values that do not satisfy it. `whole` says that the feature
    has whole numbers only. `near` is a number that satisfies the condition, if it is about a row; its text keeps it.

    Examples
    --------
    >>> print(Condition("age", low=18, high=65), "and", Condition("colour", values=("red",)))
    18 <= age <= 65 and colour = red
    >>> print(Condition("age", high=65, missing=True))
    age <= 65 or missing
    >>> print(Condition("checking", values=("<0", None), others=("other", ">200")))
    checking in {"<0", missing}
    >>> print(Condition("width", low=0.6000000238418579, high=1.7499998807907104))
    0.6 <= width < 1.75
    """

    name: str
    low: float | None = None
    high: float | None = None
    values: tuple[Label | None, ...] | None = None
    missing: bool | None = None
    ranges: tuple[Range, ...] = ()
    dtype: FloatName = "float32"
    date: bool = False
    others: tuple[Label | None, ...] = ()
    whole: bool = False
    near: float | None = None

    def __post_init__(self) -> None:
        simple = type(self.ranges) is tuple and not self.ranges and self.values is None and self.date is False
        known = type(self.low) in _KNOWN and type(self.high) in _KNOWN and type(self.near) in _KNOWN
        if type(self.dtype) is not str or self.dtype not in FLOATS:
            raise InputError(f"The numbers of a condition must be 'float32' or 'float64'. Got {self.dtype!r}.")
        if simple and known and type(self.name) is str:
            return  # most are, and wide models have thousands of them
        right = isinstance(self.ranges, tuple) and all(isinstance(e, tuple) and len(e) == 2 for e in self.ranges)
        if not right:
            raise InputError(f"The ranges of a condition must be a tuple of (low, high). Got {self.ranges!r}.")
        numbers = [self.low, self.high, self.near, *(end for ends in self.ranges for end in ends)]
        known = all(n is None or type(n) is float or isinstance(n, Real) for n in numbers)  # the last one takes long
        if not isinstance(self.name, str) or not known:
            raise InputError(f"A condition must have a name, and numbers as ends. Got {self.name!r} and {numbers}.")
        require_bool("date", self.date)
        if self.date:
            days = [end for ends in self._ranges() if not self._is_extreme(*ends) for end in ends if end is not None]
            if not all(math.isnan(day) or 1 <= day <= datetime.date.max.toordinal() for day in days):
                raise InputError(f"A condition on dates must have days as ends, 0001-01-01 being 1. Got {days}.")
        if self.values is not None and not isinstance(self.values, tuple):
            raise InputError(f"The values of a condition must be a tuple. Got {self.values!r}.")

    def __repr__(self) -> str:
        return f"<Condition: {self}>"

    def __str__(self) -> str:
        name = show_name(self.name)
        if self.values is not None:
            few, negated = (self.others, True) if 0 < len(self.others) < len(self.values) else (self.values, False)
            if few == (None,):
                return f"{name} is {'not ' * negated}missing"
            shown = [show_label(value) for value in few]
            if len(shown) == 1:
                return f"{name} {'!=' if negated else '='} {shown[0]}"
            return f"{name} {'not ' * negated}in {{{', '.join(shown)}}}"
        if not self.ranges and self.low is None and self.high is None:
            return f"{name} is {'any value' if self.missing is None else 'not missing'}"
        parts = [self._show(name, *ends) for ends in self._ranges() if not self._is_extreme(*ends)]
        if not parts:
            return f"{name} is missing"
        return " or ".join([*parts, *(["missing"] if self.missing else [])])

    def _show(self, name: str, low: float | None, high: float | None) -> str:
        if low is not None and low == high:
            return f"{name} = {show_day(low) if self.date else FLOATS[self.dtype].shortest(low)}"
        below, above = self.bounds(low, high)
        if above is None:
            assert below is not None
            return f"{name} {'>' if below.strict else '>='} {below.text}"
        start = "" if below is None else f"{below.text} {'<' if below.strict else '<='} "
        return f"{start}{name} {'<' if above.strict else '<='} {above.text}"

    def bounds(self, low: float | None, high: float | None) -> tuple[Bound | None, Bound | None]:
        """Return the ends of a range as they are written."""
        if self.date:
            return None if low is None else Bound(show_day(low)), None if high is None else Bound(show_day(high))
        floats = FLOATS[self.dtype]
        first = -math.inf if low is None else low
        last = math.inf if high is None else high
        # Both ends may be rounded towards each other, but not past this number.
        inside = self.near if self.near is not None and first <= self.near <= last else None
        if inside is None and low is not None and high is not None:
            inside = low + (high - low) / 2 if math.isfinite(high - low) else 0.0
        return (
            None
            if low is None
            else lower_bound(low, floats, whole=self.whole, keep=math.inf if inside is None else inside),
            None
            if high is None
            else upper_bound(high, floats, whole=self.whole, keep=-math.inf if inside is None else inside),
        )

    def written(self) -> Iterator[Bound]:
        """Yield the bounds of the text."""
        for low, high in self._ranges():
            if low is None or low != high:
                yield from (bound for bound in self.bounds(low, high) if bound is not None)

    def _ranges(self) -> tuple[Range, ...]:
        return self.ranges or ((self.low, self.high),)

    def _is_extreme(self, low: float | None, high: float | None) -> bool:
        """Return whether a range is only the number in whose place CatBoost puts missing values; the text omits it."""
        return bool(self.missing) and low is not None and low == high and abs(low) == FLOATS[self.dtype].largest

    @property
    def is_rounded(self) -> bool:
        """Whether the text is narrower than the condition, because its bounds would take many digits.

        >>> condition = Condition("age", high=34.50000043792192, dtype="float64")
        >>> print(condition, condition.is_rounded)
        age <= 34.5 True
        """
        rounded = any(bound.rounded or bound.of_zero for bound in self.written())
        return rounded or any(self._is_extreme(*ends) for ends in self._ranges())


def remarks(conditions: Iterable[Condition]) -> list[str]:
    """Return what must be said about numbers for the conditions' texts to be true of all inputs.

    >>> remarks([Condition("age", low=18, high=65), Condition("width", low=0.6000000238418579)])
    []
    >>> remarks([Condition("width", high=0.5999999642372131)])
    ['Numbers are compared as the model reads them: as float32.']
    """
    found = [(bound, condition.dtype) for condition in conditions for bound in condition.written()]
    single = any(bound.strict and dtype == "float32" for bound, dtype in found)
    return [AS_FLOAT32] * single + [ABOVE_ZERO] * any(bound.of_zero for bound, _ in found)
