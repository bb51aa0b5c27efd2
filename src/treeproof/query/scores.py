"""Leaf values as integers, and how far the model's own float sums may be from them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from treeproof.model.columns import LEAF, FloatArray
from treeproof.model.floats import smallest_reaching
from treeproof.model.forest import Forest
from treeproof.model.linear import linear
from treeproof.model.sigmoid import sigmoid_gap

# Of a scale: a number that is not smaller than that, divided by any number of trees, is far from subnormal.
LARGEST_EXPONENT = {"float32": 100, "float64": 900}


def theta(winner: int, loser: int) -> int:
    """Return how many votes more `winner` needs to beat `loser`: 0 if it precedes it, else 1.

    >>> theta(0, 2), theta(2, 0)
    (0, 1)
    """
    return 0 if winner < loser else 1


@dataclass(frozen=True, eq=False, slots=True)
class Scores:
    """Leaf values as integers: `scores`, `theta`, `band` and `exponent` of a `CellForest`."""

    scores: npt.NDArray[np.int64]
    theta: npt.NDArray[np.int64]
    band: int
    exponent: int


def integer_scores(forest: Forest) -> Scores:
    """Return integer scores per node and class, what it takes to win, and the half-width of the rounding band.

    Majority vote needs ones and zeros and no band. Otherwise leaf values are scaled by a power of two. If
    `rounding_error` is 0, that makes them integers and needs no band either. Otherwise scores are rounded down, and
    the band covers that and the model's own rounding.

    Where a score s is cut, class k gets k times s: then k beats k - 1 iff s reaches their cut c_k, and it beats j < k
    iff (k - j) s reaches c_(j+1) + ... + c_k. That is so if s reaches c_k, and not if s does not reach c_(j+1).
    """
    leaf = forest.feature == LEAF
    n = forest.n_classes
    ties = np.tri(n, dtype=np.int64)  # what `theta` returns; no class meets itself
    if forest.vote == "majority":
        scores = np.zeros(forest.values.shape, dtype=np.int64)
        scores[np.flatnonzero(leaf), forest.leaf_class[leaf]] = 1
        scores.flags.writeable = False
        return Scores(scores, ties, band=0, exponent=0)

    sums = forest.decision
    error = rounding_error(forest)
    exponent = _exponent(forest, 2**60)
    if error == 0:
        exponent = _common_exponent(np.append(forest.values[leaf], sums.start))
    exact = linear(forest) if sums.members else None
    scaled = np.ldexp(forest.values if exact is None else exact.values, exponent)
    scores = np.floor(scaled, out=scaled).astype(np.int64)
    del scaled
    scale = Fraction(2) ** exponent
    start = [_floor(Fraction(value) * scale) for value in (sums.start if exact is None else exact.start)]
    least = np.zeros((n, n), dtype=np.int64)
    if sums.cuts is None:
        for k, c in np.ndindex(n, n):
            least[k, c] = ties[k, c] - (start[k] - start[c])
        times = 1
    else:
        beyond = 2 * largest_sum(forest) + 1
        reach = [-_floor(-_least_sum(forest, cut, beyond) * scale) - start[0] for cut in sums.cuts]
        # Sums of neighbours in a row are differences of sums from the first on.
        total = np.array([0, *itertools.accumulate(reach)], dtype=np.int64)
        np.subtract.outer(total, total, out=least)
        least += np.tri(n, k=-1, dtype=np.bool_).T
        times = max(1, n - 1)
        scores = scores * np.arange(n)
    scores.flags.writeable = False  # the core reads them where they are
    band = times * -_floor(-error * scale)
    if error > 0:
        # Each tree's difference of two floors is off by less than 1, and so is what sums start from or must reach.
        band += times * (forest.n_trees + 3)
        # Sums of scores, and what they must reach, are below 2**61: from there on all bands decide nothing alike.
        band = min(band, 2**62)
    return Scores(scores, least, band, exponent)


def rounding_error(forest: Forest) -> Fraction:
    """Return a gap between two exact class sums at which the model's own arithmetic always keeps their order.

    It is 0 if that arithmetic keeps every order and every tie, because all leaves are `exact_leaves`.

    >>> from treeproof.model.examples import heart_disease
    >>> forest, _ = heart_disease()
    >>> rounding_error(forest), rounding_error(forest.with_vote("mean"))
    (Fraction(0, 1), Fraction(0, 1))
    """
    if forest not in _ERRORS:
        _ERRORS[forest] = _rounding_error(forest)
    return _ERRORS[forest]


_ERRORS: WeakKeyDictionary[Forest, Fraction] = WeakKeyDictionary()


def _rounding_error(forest: Forest) -> Fraction:
    if exact_leaves(forest)[forest.feature == LEAF].all():
        return Fraction(0)
    most = largest_sum(forest)
    if forest.decision.members:
        # Two sums, each off by an error e and at most M + e; then the division, as below.
        numbers, off = forest.decision.floats, linear(forest).error
        fine = 4 * max(Fraction(1), Fraction(forest.decision.divisor)) / numbers.fine
        if 2 * (most + off) > Fraction(numbers.largest) * min(Fraction(1), Fraction(forest.decision.divisor)):
            return 4 * most + 2
        return 2 * off + 2 * (most + off) / numbers.unit + fine
    # |fl(sum) - sum| <= g * M with g = nu / (1 - nu), M the largest sum of absolute values [Higham 2002, 4.2], as
    # n numbers but 0 are added to what the sum starts from; the division by d moves each quotient by at most u
    # relatively (half of the smallest number absolutely if it is subnormal). A gap of 2gM + 2u(1+g)M + 2d * smallest
    # therefore survives both, and 4(n+1)uM + 4d * smallest is at least that.
    numbers, divisor = forest.decision.floats, Fraction(forest.decision.divisor)
    if 2 * most > Fraction(numbers.largest) * min(Fraction(1), divisor) or 8 * forest.n_trees > numbers.unit:
        return 4 * most + 2  # sums may overflow, so none is trusted, however far what they must reach
    error = 4 * (_most_terms(forest) + 1) * Fraction(1, numbers.unit) * most
    error += 4 * max(Fraction(1), divisor) / numbers.fine
    # Quotients m >= s + 8u give exp(s - m) <= 1 - 4u after rounding, which no common divisor makes equal to exp(0).
    if forest.decision.softmax:
        return error + 16 * max(Fraction(1), divisor) / numbers.unit
    if forest.decision.sigmoid is not None:
        gap = sigmoid_gap(forest)
        return 4 * most + 2 if gap is None else error + gap
    return error


def exact_leaves(forest: Forest) -> npt.NDArray[np.bool_]:
    """Return per node whether it is a leaf of the kind whose sums the model compares without rounding error.

    Where all trees reach such leaves, sums of scores decide without a band. Under majority vote these are all
    leaves; otherwise those whose values are multiples of one power of two, not too small compared with the largest
    sum, if what sums start from is so too. Pure leaves are among them, and ties between pure leaves are common. Where
    members are rounded before they are added, there are none.

    >>> from treeproof.model.build import build_forest, leaf, split
    >>> trees = [split("a", 0, leaf([0.5, 0.5]), leaf([0.1, 0.9]))]
    >>> exact_leaves(build_forest(trees, columns=["a"], classes=[0, 1], vote="mean")).tolist()
    [False, True, False]
    """
    leaf: npt.NDArray[np.bool_] = np.equal(forest.feature, LEAF)
    if forest.vote == "majority":
        return leaf
    # Multiples of 2**-exponent with sums up to 2**50 (2**21) times that: every float sum is exact, and different sums
    # differ by more than their division can blur, as no quotient but 0 is subnormal.
    sums = forest.decision
    limit = sums.floats.unit // 8
    small = min(Fraction(1), Fraction(sums.divisor))
    if (
        sums.softmax
        or sums.sigmoid is not None
        or sums.members
        or largest_sum(forest) > limit * small
        or sums.divisor > 2**32
    ):
        return np.zeros_like(leaf)
    exponent = _exponent(forest, limit)
    start = np.ldexp(np.array(sums.start), exponent)
    if not np.equal(start, np.floor(start)).all():
        return np.zeros_like(leaf)
    scaled = np.ldexp(forest.values, exponent)
    return leaf & np.equal(scaled, np.floor(scaled)).all(axis=1)


def largest_sum(forest: Forest) -> Fraction:
    """Return an upper bound of the absolute class sums at any point."""
    return linear(forest).largest if forest.decision.members else _sizes(forest)[0]


def _most_terms(forest: Forest) -> int:
    """Return how many numbers that are not 0 are added to a sum at most: in boosting, a tree is of one class only."""
    return _sizes(forest)[1]


_SIZES: WeakKeyDictionary[Forest, tuple[Fraction, int]] = WeakKeyDictionary()


def _sizes(forest: Forest) -> tuple[Fraction, int]:
    """Return the largest sum of absolute values that a class may get, and of how many numbers but 0."""
    if forest not in _SIZES:
        # Per tree and sum, the largest absolute value of a leaf; classes are often alike.
        terms = np.maximum.reduceat(np.abs(forest.values), forest.roots, axis=0)
        sums = set(zip(map(abs, forest.decision.start), map(tuple, terms.T.tolist()), strict=True))
        largest = max(_exact_sum([start, *each]) for start, each in sums)
        _SIZES[forest] = largest, int(np.count_nonzero(terms, axis=0).max())
    return _SIZES[forest]


def _exact_sum(terms: list[float]) -> Fraction:
    """Return the sum of floats, without rounding: their denominators are powers of two, so the largest is common."""
    ratios = [term.as_integer_ratio() for term in terms]
    common = max(denominator for _, denominator in ratios)
    return Fraction(sum(numerator * (common // denominator) for numerator, denominator in ratios), common)


def _least_sum(forest: Forest, cut: float, beyond: Fraction) -> Fraction:
    """Return the smallest of the model's sums that is `cut` when divided; `beyond`, which all are below, if none is."""
    sums = forest.decision
    if forest.decision.divisor == 1:
        return min(max(Fraction(cut), -beyond), beyond)
    number, largest = sums.floats.dtype, sums.floats.largest

    def reaches(total: float) -> bool:
        with np.errstate(over="ignore"):
            return (
                float(number(total) / number(forest.decision.divisor)) >= cut
            )  # numpy would round the cut to its own numbers

    if not reaches(largest):
        return beyond
    found = smallest_reaching(reaches, -largest, largest, sums.floats)
    return min(max(Fraction(found), -beyond), beyond)


def _exponent(forest: Forest, limit: int) -> int:
    """Return the largest exponent with which the largest sum, also of a multiple for cuts, stays within the limit."""
    largest = largest_sum(forest)
    if forest.decision.cuts is not None:
        largest = (2 * largest + 1) * max(1, forest.n_classes - 1)
    exponent = 0
    while largest * 2 ** (exponent + 1) <= limit and exponent < LARGEST_EXPONENT[forest.decision.dtype]:
        exponent += 1
    while largest * Fraction(2) ** exponent > limit:
        exponent -= 1
    return exponent


def _floor(value: Fraction) -> int:
    return value.numerator // value.denominator


def _common_exponent(values: FloatArray) -> int:
    """Return the least e >= 0 for which every value times 2**e is an integer."""
    denominators = {value.as_integer_ratio()[1] for value in np.unique(values).tolist()}
    return max(denominators, default=1).bit_length() - 1
