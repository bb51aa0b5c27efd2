"""The exact sums of leaf values that the rounded sums of a model's members stand for, and how far these may be off.

A member adds its trees' values, divides and multiplies, and rounds after each step; the model adds what its members
give, which rounds again. Without rounding, all of that is one sum: each leaf adds its values times a factor, the
product of weight / divisor of all members that its tree is part of.

The bound on the rounding follows the model from the inside out. `size` is the largest absolute value that an exact sum
can have, `error` how far the model's own may be from it, u half a unit in the last place, s the smallest number:

* n numbers, each off by its own error, are added to a start: the sum of the errors, and at most g (size + error) more,
  with g = nu / (1 - nu) <= 2nu for nu <= 1/8 [Higham 2002, 4.2], as the numbers that are really added have at most
  that sum of absolute values. Adding 0 rounds nothing, and is not counted.
* A division by d: (error + u (size + error)) / d + s. The last term is for quotients that are subnormal.
* A multiplication by w: w (error + u (size + error)) + s.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from treeproof.errors import ForestFormatError
from treeproof.model.columns import FloatArray
from treeproof.model.decision import Sums
from treeproof.model.floats import FLOAT64, Floats

if TYPE_CHECKING:
    from treeproof.model.forest import Forest

_FURTHEST = Fraction(2**500)
"""Factors between 1 / this and this are rounded to float64 by at most half a unit in the last place."""


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """Exact sums close to the model's own: `start`, and per tree the `values` of its leaf.

    No sum, and no sum of absolute values, is larger than `largest`. At every point, the model's own sum, before it is
    divided by the divisor of all, differs by at most `error` from the exact one.
    """

    values: FloatArray
    start: tuple[Fraction, ...]
    largest: Fraction
    error: Fraction


@dataclass(slots=True)
class _Adding:
    """A sum that is being added: of how many numbers but 0, of which size, and how far it may be off already."""

    size: Fraction
    error: Fraction = Fraction(0)
    n_terms: int = 0

    def add(self, size: Fraction, error: Fraction) -> None:
        self.size += size
        self.error += error
        self.n_terms += size > 0

    def round(self, floats: Floats, divisor: float = 1.0, weight: float = 1.0) -> tuple[Fraction, Fraction]:
        """Return size and error of the sum, divided and multiplied; refuse one that may overflow."""
        unit, fine = Fraction(1, floats.unit), Fraction(1, floats.fine)
        size, error = self.size, self.error + 2 * self.n_terms * unit * (self.size + self.error)
        sizes = [size + error]
        if divisor != 1:
            size, error = size / Fraction(divisor), (error + unit * (size + error)) / Fraction(divisor) + fine
            sizes.append(size + error)
        if weight != 1:
            size, error = size * Fraction(weight), (error + unit * (size + error)) * Fraction(weight) + fine
            sizes.append(size + error)
        if 2 * max(sizes) > Fraction(floats.largest) or 8 * self.n_terms > floats.unit:
            raise ForestFormatError("The sums of members must stay far below the largest number. They may overflow.")
        return size, error


_KNOWN: WeakKeyDictionary[Forest, Linear] = WeakKeyDictionary()


def linear(forest: Forest) -> Linear:
    """Return the exact sums for a forest with members; ForestFormatError if its own sums may overflow.

    >>> from treeproof.model.build import build_forest, leaf, split
    >>> from treeproof.model.decision import Member
    >>> halves = Member(0, 2, (0.0, 0.0), divisor=2.0, weight=3.0)
    >>> trees = [split("a", 0, leaf([0.5, 0.5]), leaf([0.25, 0.75]))] * 3
    >>> sums = Sums((0.0, 0.0), members=(halves,))
    >>> found = linear(build_forest(trees, columns=["a"], classes=[0, 1], vote="sum", sums=sums))
    >>> found.values[[1, -2]].tolist(), float(found.largest)
    ([[0.75, 0.75], [0.5, 0.5]], 3.0)
    """
    if forest not in _KNOWN:
        _KNOWN[forest] = _linear(forest)
    return _KNOWN[forest]


def _linear(forest: Forest) -> Linear:
    sums = forest.decision
    factors = [Fraction(1)] * forest.n_trees
    start = [Fraction(value) for value in sums.start]
    for member in reversed(sums.members):  # the outer ones first
        outside = factors[member.first]
        inside = outside * Fraction(member.weight) / Fraction(member.divisor)
        start = [own + Fraction(value) * inside for own, value in zip(start, member.start, strict=True)]
        factors[member.first : member.last] = [inside] * (member.last - member.first)
        if inside and not 1 / _FURTHEST <= inside <= _FURTHEST:
            raise ForestFormatError(f"Weights and divisors of members must not be extreme. Got {member!r}.")
    # Per tree and sum, the largest absolute value of a leaf; classes are often alike.
    terms = np.maximum.reduceat(np.abs(forest.values), forest.roots, axis=0)
    starts = [sums.start, *(member.start for member in sums.members)]
    alike = set(zip(map(tuple, zip(*starts, strict=True)), map(tuple, terms.T.tolist()), strict=True))
    bounds = [_bound(sums, each, column) for each, column in alike]
    largest = max(size for size, _ in bounds)
    error = max(error for _, error in bounds)
    sizes = np.diff(np.append(forest.roots, forest.n_nodes))
    values = forest.values * np.repeat([float(factor) for factor in factors], sizes)[:, None]
    # A factor, and its product with a value, are rounded here as well: by u each, and s if the product is subnormal.
    error += 3 * largest / FLOAT64.unit + Fraction(forest.n_trees, FLOAT64.fine)
    return Linear(values, tuple(start), largest, error)


def _bound(sums: Sums, starts: tuple[float, ...], terms: tuple[float, ...]) -> tuple[Fraction, Fraction]:
    """Return the size of one sum, and how far the model's own may be from it, before the division of all."""
    of_members = dict(zip(map(id, sums.members), starts[1:], strict=True))
    opened, closed = sums.opened, sums.closed
    adding = [_Adding(abs(Fraction(starts[0])))]
    for tree, term in enumerate(terms):
        adding += [_Adding(abs(Fraction(of_members[id(member)]))) for member in opened.get(tree, ())]
        adding[-1].add(Fraction(term), Fraction(0))
        for member in closed.get(tree, ()):
            inner = adding.pop()
            adding[-1].add(*inner.round(member.floats, member.divisor, member.weight))
    return adding[0].round(sums.floats)
