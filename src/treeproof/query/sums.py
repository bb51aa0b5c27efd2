"""Sums of integers over trees of cells: what questions about all inputs of a model come down to.

A label is one question about a forest; its score, the difference of two scores, or two labels at once are others. Each
is a list of sums: every tree adds the numbers of the leaf that a point reaches. Integers stand for what the model adds
in floats: `Score` says how far the model's own score may be from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from treeproof.model.columns import LEAF, FloatArray, IntArray, Label
from treeproof.model.forest import Forest
from treeproof.model.linear import linear
from treeproof.query.cells import CellForest
from treeproof.query.scores import largest_sum, rounding_error
from treeproof.space.domains import Cells, Clause, Domain

Integers = npt.NDArray[np.int64]

# Sums stay below 2 to the power of this, and so do differences of two and their bounds in 64 bits.
LARGEST = 58
_PART = 10_000  # so many numbers are looked at together


@dataclass(frozen=True, eq=False)
class SumForest:
    """Trees over cells, as in a `CellForest`, whose leaves hold integers, one for each of several sums.

    Parameters
    ----------
    n_cells, ordered, gapped, left_sets, clauses, feature, cut
        As in a `CellForest`.
    roots, left, right
        As in a `Forest`.
    numbers
        Per node an integer for each sum; 0 at inner nodes.
    """

    n_cells: tuple[int, ...]
    ordered: tuple[bool, ...]
    gapped: tuple[bool, ...]
    left_sets: tuple[frozenset[int], ...]
    clauses: tuple[Clause, ...]
    roots: IntArray
    feature: IntArray
    cut: IntArray
    left: IntArray
    right: IntArray
    numbers: Integers

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.n_cells)

    @cached_property
    def largest(self) -> list[int]:
        """Of each sum, a number that it nowhere exceeds."""
        return self._extreme(np.maximum, np.iinfo(np.int64).min)

    @cached_property
    def smallest(self) -> list[int]:
        """Of each sum, a number that it is nowhere below."""
        return self._extreme(np.minimum, np.iinfo(np.int64).max)

    def _extreme(self, of: np.ufunc, otherwise: int) -> list[int]:
        leaves = np.where((self.feature == LEAF)[:, None], self.numbers, otherwise)
        if not len(self.roots):
            return [0] * self.numbers.shape[1]
        by_tree: Integers = of.reduceat(leaves, self.roots, axis=0)
        return [int(n) for n in by_tree.sum(axis=0)]


def sum_forest(cells: CellForest, numbers: Integers) -> SumForest:
    """Return the trees of a forest with other numbers at their leaves."""
    source = cells.source
    return SumForest(
        cells.n_cells,
        cells.ordered,
        cells.gapped,
        cells.left_sets,
        cells.clauses,
        source.roots,
        cells.feature,
        cells.cut,
        source.left,
        source.right,
        np.where((cells.feature == LEAF)[:, None], numbers, 0),
    )


def full_domains(forest: SumForest) -> tuple[Domain, ...]:
    """Return the whole domain of each feature."""
    return tuple(range(n) if o else frozenset(range(n)) for n, o in zip(forest.n_cells, forest.ordered, strict=True))


@dataclass(frozen=True, eq=False)
class Score:
    """What a forest adds up for one class, or a regressor's score, as sums of integers.

    At every point, with `total` the sum of `numbers` over the leaves that it reaches,

        (total * unit + start) / divisor <= exact score <= (total * unit + slack + start) / divisor

    and the model's own score, in floats, is within `error` of the exact one. `slack` is 0 if leaves are multiples of
    the unit, as votes are. The model's own score is nowhere below `floor` nor above `ceiling`: what its arithmetic
    makes of the least and of the largest leaf of each tree, as rounding keeps the order of numbers.
    """

    name: str
    label: Label | None
    index: int
    numbers: Integers
    unit: Fraction
    start: Fraction
    divisor: Fraction
    slack: Fraction
    error: Fraction
    keeps_order: bool
    """Whether the model's own scores are never in another order than the sums: it adds without rounding."""
    floor: float = -np.inf
    ceiling: float = np.inf

    def at_least(self, total: int) -> Fraction:
        """Return what the model's own score surely reaches where the sum reaches `total`."""
        found = (total * self.unit + self.start) / self.divisor - self.error
        return max(found, Fraction(self.floor)) if np.isfinite(self.floor) else found

    def at_most(self, total: int) -> Fraction:
        """Return what the model's own score surely does not exceed where the sum does not exceed `total`."""
        found = (total * self.unit + self.slack + self.start) / self.divisor + self.error
        return min(found, Fraction(self.ceiling)) if np.isfinite(self.ceiling) else found


_SCORES: WeakKeyDictionary[Forest, dict[int | None, Score]] = WeakKeyDictionary()


def score_of(forest: Forest, index: int | None = None) -> Score:
    """Return the score of the class at this index; of a forest with one sum, that sum. It is remembered.

    >>> from treeproof.model.examples import heart_disease
    >>> forest, _ = heart_disease()
    >>> score = score_of(forest, 1)
    >>> score.name, score.label, score.at_most(2)
    ('share of the votes', 'Yes', Fraction(...))
    """
    known = _SCORES.setdefault(forest, {})
    if index not in known:
        known[index] = _score_of(forest, index)
    return known[index]


def _score_of(forest: Forest, index: int | None) -> Score:
    one = forest.decision.cuts is not None
    k = 0 if one or index is None else index
    label = None if one or index is None else forest.classes.tolist()[k]
    n, leaf = forest.n_trees, forest.feature == LEAF
    if forest.vote == "majority":
        votes = np.where(leaf & (forest.leaf_class == k), 1, 0).astype(np.int64)
        nothing, rounding = Fraction(0), Fraction(1, 2**53)  # that of the share, written as a float
        name, ends = "share of the votes", [float(each.mean()) for each in _ends(votes, forest)]
        return Score(name, label, k, votes, Fraction(1), nothing, Fraction(n), nothing, rounding, True, *ends)
    exact = linear(forest) if forest.decision.members else None
    values: FloatArray = np.where(leaf, (forest.values if exact is None else exact.values)[:, k], 0.0)
    start = Fraction((forest.decision.start if exact is None else exact.start)[k])
    divisor = Fraction(forest.decision.floats.round(forest.decision.divisor))  # as the model divides
    numbers, unit = as_integers(values, forest.roots)
    rounded = not np.array_equal(numbers * float(unit), values)
    slack = n * unit if rounded else Fraction(0)
    keeps_order = not rounded and rounding_error(forest) == 0
    error = _error(forest) / divisor
    name = "probability" if forest.vote == "mean" else "score"
    ends = [_own(forest, k, each) for each in _ends(forest.values[:, k], forest, places=True)]
    return Score(name, label, k, numbers, unit, start, divisor, slack, error, keeps_order, *ends)


def _ends(numbers: npt.NDArray[Any], forest: Forest, *, places: bool = False) -> list[npt.NDArray[Any]]:
    """Return per tree the smallest number of a leaf, and the largest; or in which leaf it is."""
    found = []
    for of, otherwise in ((np.argmin, np.inf), (np.argmax, -np.inf)):
        leaves = np.where(forest.feature == LEAF, numbers, otherwise)
        at = [start + int(of(leaves[start:end])) for start, end in pairwise([*forest.roots.tolist(), len(leaves)])]
        found.append(np.array(at, dtype=np.int32) if places else leaves[at])
    return found


def _own(forest: Forest, k: int, leaves: IntArray) -> float:
    """Return what the model's own arithmetic makes of one leaf of each tree."""
    return float(forest.add(leaves[None, :])[0, k])


def _error(forest: Forest) -> Fraction:
    """Return how far the model's own sum, rounded and divided, may be from the exact one."""
    found = rounding_error(forest)
    if found == 0 and forest.decision.divisor != 1:  # sums are exact; a quotient is rounded once
        return largest_sum(forest) / forest.decision.floats.unit
    return found


def as_integers(values: FloatArray, roots: IntArray) -> tuple[Integers, Fraction]:
    """Return numbers as whole multiples, rounded down, of a power of two: one that makes them exact, if sums allow."""
    sizes = np.maximum.reduceat(np.abs(values), roots) if len(roots) else np.zeros(1)
    largest = sum(map(Fraction, sizes.tolist()), Fraction(0))
    exponent = 0
    if largest > 0:
        exponent = LARGEST - (largest.numerator // largest.denominator).bit_length()
        while largest * Fraction(2) ** (exponent + 1) <= 2**LARGEST:
            exponent += 1
    places = 0
    for part in np.split(values, range(_PART, len(values), _PART)):  # often the first one has too many
        if places < exponent:
            places = max(places, _binary_places(part))
    exponent = min(exponent, places)
    return np.floor(np.ldexp(values, exponent)).astype(np.int64), Fraction(2) ** -exponent


def _binary_places(values: FloatArray) -> int:
    """Return how many binary digits behind the point make all of these numbers exact."""
    fractions, exponents = np.frexp(values)
    digits = np.ldexp(fractions, 53).astype(np.int64)  # whole, times a power of two
    last = np.frexp((digits & -digits).astype(float))[1] - 1  # the place of the last digit that is not 0
    return max(0, int(np.where(digits == 0, 0, 53 - exponents - last).max(initial=0)))


def totals(forest: SumForest, point: Sequence[int]) -> list[int]:
    """Return the sums at a point, by a walk through all trees."""
    # Views, which Python walks faster than arrays.
    feature, cut, left, right = forest.feature.data, forest.cut.data, forest.left.data, forest.right.data
    leaves = []
    for node in forest.roots.tolist():
        while (f := feature[node]) != LEAF:
            node = (left if sends_left(forest, f, cut[node], point[f]) else right)[node]
        leaves.append(node)
    return [int(n) for n in forest.numbers[leaves].sum(axis=0)] if leaves else [0] * forest.numbers.shape[1]


def sends_left(forest: SumForest, feature: int, cut: int, cell: int) -> bool:
    """Return whether a cell goes left at a split with this cut."""
    if forest.ordered[feature]:
        return cell <= cut
    if forest.gapped[feature]:
        return bool(cut & 1) if cell == forest.n_cells[feature] - 1 else cell < cut >> 1
    return cell in forest.left_sets[cut]


def keeps(clauses: Sequence[Clause], point: Cells) -> bool:
    """Return whether a point satisfies all clauses."""
    return all(any(point[f] in domain for f, domain in clause) for clause in clauses)
