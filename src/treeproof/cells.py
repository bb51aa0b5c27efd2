"""The forest over cells: what oracles see. Below this line nobody meets a float, except to break near-ties.

Each feature is a finite domain of cells ``0 .. n_cells - 1``, each split a set of cells that go left, each leaf an
integer score per class. The label at a point follows from the sums of scores, up to a rounding band:

    sum_k - sum_c >= theta(k, c) + band   =>   class k beats class c at this point
    sum_k - sum_c <  theta(k, c) - band   =>   class k does not beat class c at this point

with ``theta(k, c) = 0`` if k precedes c (ties go to the first class), else 1. For sums inside the band only the model's
own float arithmetic decides, which `CellForest.label` repeats.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from treeproof.forest import LEAF, FloatArray, Forest, IntArray
from treeproof.query import Domain

Clause = tuple[tuple[int, Domain], ...]

UNIT_ROUNDOFF = Fraction(1, 2**53)
LARGEST_EXPONENT = 900  # of a scale: 2**-900 divided by any number of trees is far from subnormal


@dataclass(frozen=True, eq=False)
class CellForest:
    """A forest whose splits are sets of cells and whose leaves carry integer scores.

    Parameters
    ----------
    source
        The forest this came from, for its decision rule.
    n_cells
        Number of cells of each feature.
    ordered
        Per feature, whether its splits are cuts of an order (domains are ranges) or arbitrary sets of values.
    feature
        Per node the feature tested; -1 at leaves.
    cut
        Per node: on an ordered feature, cells ``<= cut`` go left; on a feature of values, an index into `left_sets`.
    left_sets
        Sets of cells that go left.
    scores
        Per node an integer for each class; meaningful at leaves.
    band
        Half-width of the rounding band; 0 when sums of scores decide every comparison.
    clauses
        Rules between features: of each clause, at least one literal holds at every point of the space. A literal says
        that a feature's cell is in a domain, which starts or ends where the whole does if the feature is ordered.
    """

    source: Forest
    n_cells: tuple[int, ...]
    ordered: tuple[bool, ...]
    feature: IntArray
    cut: IntArray
    left_sets: tuple[frozenset[int], ...]
    scores: npt.NDArray[np.int64]
    band: int
    clauses: tuple[Clause, ...] = ()

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.n_cells)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.source.n_classes

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.source.n_trees

    @cached_property
    def full(self) -> tuple[Domain, ...]:
        """The whole domain of each feature."""
        return tuple(self.only(f, range(n)) for f, n in enumerate(self.n_cells))

    def only(self, feature: int, cells: Iterable[int]) -> Domain:
        """Return the domain of `feature` with just these cells (consecutive ones, if the feature is ordered)."""
        chosen = sorted(cells)
        if not self.ordered[feature]:
            return frozenset(chosen)
        domain = range(chosen[0], chosen[-1] + 1)
        assert len(domain) == len(chosen), "an ordered feature's domain has no holes"
        return domain

    def allows(self, point: Sequence[int], clauses: Iterable[int] | None = None) -> bool:
        """Return whether a point keeps all rules between features, or these ones."""
        asked = self.clauses if clauses is None else [self.clauses[c] for c in clauses]
        return all(any(point[f] in domain for f, domain in clause) for clause in asked)

    def goes_left(self, node: int, cell: int) -> bool:
        """Return whether a cell of the node's feature goes left at `node`."""
        cut = int(self.cut[node])
        return cell <= cut if self.ordered[self.feature[node]] else cell in self.left_sets[cut]

    def leaves(self, point: Sequence[int]) -> list[int]:
        """Return the leaf that `point` reaches in each tree."""
        feature, cut, left, right = self._lists
        reached = []
        for node in self.source.roots.tolist():
            while (f := feature[node]) != LEAF:
                goes_left = point[f] <= cut[node] if self.ordered[f] else point[f] in self.left_sets[cut[node]]
                node = left[node] if goes_left else right[node]
            reached.append(node)
        return reached

    @cached_property
    def _lists(self) -> tuple[list[int], list[int], list[int], list[int]]:
        """Features, cuts and children as lists, which Python walks several times faster than arrays."""
        return self.feature.tolist(), self.cut.tolist(), self.source.left.tolist(), self.source.right.tolist()

    def label(self, point: Sequence[int]) -> int:
        """Return the class index of the model's own ``predict`` at `point`."""
        return int(self.source.decide(np.array([self.leaves(point)], dtype=np.int32))[0])


def theta(winner: int, loser: int) -> int:
    """Return the least difference of scores with which `winner` beats `loser`: 0 if it precedes it, else 1.

    >>> theta(0, 2), theta(2, 0)
    (0, 1)
    """
    return 0 if winner < loser else 1


def integer_scores(forest: Forest) -> tuple[npt.NDArray[np.int64], int]:
    """Return integer scores per node and class, and the half-width of the rounding band.

    Majority vote needs ones and zeros and no band. Mean vote scales leaf values by a power of two. If
    `rounding_error` is 0, that makes them integers and needs no band either. Otherwise scores are rounded
    down, and the band covers that and the model's own rounding.
    """
    leaf = forest.feature == LEAF
    if forest.vote == "majority":
        scores = np.zeros(forest.values.shape, dtype=np.int64)
        scores[np.flatnonzero(leaf), forest.leaf_class[leaf]] = 1
        return scores, 0

    error = rounding_error(forest)
    if error == 0:
        return np.ldexp(forest.values, _common_exponent(forest.values[leaf])).astype(np.int64), 0

    largest_sum = _largest_sum(forest)
    exponent = 0
    while largest_sum * 2 ** (exponent + 1) <= 2**60 and exponent < LARGEST_EXPONENT:
        exponent += 1
    while largest_sum * Fraction(2) ** exponent > 2**60:
        exponent -= 1
    scaled = np.ldexp(forest.values, exponent)
    scores = np.floor(scaled).astype(np.int64)
    band = -int(-(error * Fraction(2) ** exponent) // 1)
    if (scaled != scores).any():
        band += forest.n_trees  # each tree's difference of two floors is off by less than 1
    return scores, band


def rounding_error(forest: Forest) -> Fraction:
    """Return a gap between two exact class sums at which the model's own arithmetic always keeps their order.

    It is 0 if that arithmetic keeps every order and every tie, because all leaves are `exact_leaves`.

    >>> from treeproof.examples import heart_disease
    >>> forest, _ = heart_disease()
    >>> rounding_error(forest), rounding_error(forest.with_vote("mean"))
    (Fraction(0, 1), Fraction(0, 1))
    """
    if exact_leaves(forest)[forest.feature == LEAF].all():
        return Fraction(0)
    largest_sum = _largest_sum(forest)
    # |fl(sum) - sum| <= g * M with g = (n-1)u / (1 - (n-1)u), M the largest sum of absolute values
    # [Higham 2002, 4.2]; the division by n moves each quotient by at most u relatively (2**-1075 absolutely
    # if it is subnormal). A gap of 2gM + 2u(1+g)M + 2n * 2**-1074 therefore survives both, and
    # 4nuM + n * 2**-1072 is at least that.
    n = forest.n_trees
    if 2 * largest_sum <= Fraction(np.finfo(np.float64).max):
        return 4 * n * UNIT_ROUNDOFF * largest_sum + Fraction(n, 2**1072)
    return 2 * largest_sum + 1  # sums may overflow, so none is trusted


def exact_leaves(forest: Forest) -> npt.NDArray[np.bool_]:
    """Return per node whether it is a leaf of the kind whose sums the model compares without rounding error.

    Where all trees reach such leaves, sums of scores decide without a band. Under majority vote these are all
    leaves; under mean vote those whose values are multiples of one power of two, not too small compared with
    the largest sum. Pure leaves are among them, and ties between pure leaves are common.

    >>> from treeproof.build import build_forest, leaf, split
    >>> trees = [split("a", 0, leaf([0.5, 0.5]), leaf([0.1, 0.9]))]
    >>> exact_leaves(build_forest(trees, columns=["a"], classes=[0, 1], vote="mean")).tolist()
    [False, True, False]
    """
    leaf: npt.NDArray[np.bool_] = np.equal(forest.feature, LEAF)
    if forest.vote == "majority":
        return leaf
    largest_sum = _largest_sum(forest)
    if largest_sum > 2**50:
        return np.zeros_like(leaf)
    # Multiples of 2**-exponent with sums up to 2**50 times that: every float sum is exact, and different sums
    # differ by more than their division by n can blur, as no quotient but 0 is subnormal.
    exponent = 0
    while largest_sum * 2 ** (exponent + 1) <= 2**50 and exponent < LARGEST_EXPONENT:
        exponent += 1
    scaled = np.ldexp(forest.values, exponent)
    return leaf & np.equal(scaled, np.floor(scaled)).all(axis=1)


def _largest_sum(forest: Forest) -> Fraction:
    """Return an upper bound of the absolute class sums at any point."""
    largest = np.abs(forest.values).max(axis=1)
    per_tree = np.maximum.reduceat(largest, forest.roots)
    return sum((Fraction(value) for value in per_tree.tolist()), Fraction(0))


def _common_exponent(values: FloatArray) -> int:
    """Return the least e >= 0 for which every value times 2**e is an integer."""
    denominators = {value.as_integer_ratio()[1] for value in np.unique(values).tolist()}
    return max(denominators, default=1).bit_length() - 1
