"""What features cost, as users state it and as whole numbers."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from treeproof.errors import InputError, require_bool
from treeproof.query.context import Context
from treeproof.query.units import Units


@dataclass(frozen=True, slots=True)
class FeatureCosts:
    """The cost of every feature or group in whole units, exactly; `stated`: the user gave them; otherwise each is 1."""

    units: Mapping[int, int]
    unit: Fraction
    stated: bool

    def by_feature(self, units: Units) -> list[int] | None:
        """Return the cost of every feature, or of the group it is in, in whole units; None if none was stated."""
        return [self.units[unit] for unit in units.of] if self.stated else None

    def total(self, features: Iterable[int]) -> Fraction | None:
        """Return what features cost together, if costs were stated."""
        return self.unit * sum(self.units[f] for f in features) if self.stated else None


def make_costs(
    context: Context, minimum: bool, cost: Mapping[str | int, Any] | None, prefer: Sequence[str | int]
) -> FeatureCosts | None:
    """Return the costs to minimise, or None if no minimum is asked for; features without a stated cost have cost 1."""
    if minimum is False and cost is None:
        return None
    require_bool("minimum", minimum)
    if minimum and prefer:
        raise InputError(
            "'prefer' must not be combined with minimum=True, which ignores it. State what features cost with cost=."
        )
    if cost is None:
        return FeatureCosts(dict.fromkeys(context.units.members, 1), Fraction(1), stated=False) if minimum else None
    if not minimum:
        raise InputError("'cost' requires minimum=True, which finds the cheapest set. Pass both, or leave out 'cost'.")
    if not isinstance(cost, Mapping):
        raise InputError(f"The 'cost' parameter must map features to numbers, as in {{'age': 2}}. Got {cost!r}.")
    exact = dict.fromkeys(context.units.members, Fraction(1))
    given = {context.unit(feature): _exact(feature, value) for feature, value in cost.items()}
    if len(given) < len(cost):
        raise InputError(f"The 'cost' parameter must name each feature once. Got {list(cost)}.")
    exact.update(given)
    common = math.lcm(*(value.denominator for value in exact.values()))
    shared = math.gcd(*(int(value * common) for value in exact.values()))
    units = {f: int(value * common) // shared for f, value in exact.items()}
    return FeatureCosts(units, Fraction(shared, common), stated=True)


def exact_number(value: Any) -> Fraction:
    """Return a finite number as a fraction; a float is the decimal it is written as.

    >>> exact_number(0.1)
    Fraction(1, 10)
    """
    return Fraction(str(value))


def exact_sum(numbers: Collection[Fraction]) -> Fraction:
    """Return the sum of fractions, brought to their common denominator once.

    >>> exact_sum([Fraction(1, 2), Fraction(1, 3)])
    Fraction(5, 6)
    """
    common = math.lcm(*(number.denominator for number in numbers))
    return Fraction(sum(number.numerator * (common // number.denominator) for number in numbers), common)


def _exact(feature: str | int, value: Any) -> Fraction:
    """Return a number as a fraction; a float is the decimal it is written as."""
    if isinstance(value, int | Fraction | Decimal | float | np.integer | np.floating) and not isinstance(value, bool):
        try:
            exact = exact_number(value)
        except ValueError:  # not a finite number
            exact = Fraction(0)
        if exact > 0:
            return exact
    raise InputError(f"The cost of {feature!r} must be a positive number. Got {value!r} instead.")
