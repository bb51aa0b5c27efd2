"""How far apart sums must be for their sigmoids, 1 / (1 + exp(-s sum)) in float64, to keep the order of the sums.

Let u = 2**-53, t = s a for a sum a after its division, and T the largest t that the trees can give. The model's own
steps are a product, an exponential, an addition and a division:

* The product is off by u |t|, the exponential (of any C library in use) by less than two units in its last place, 4u
  relatively. So it is the exact exponential of -t' with |t' - t| <= u |t| + 5u.
* The addition and the division are off by u relatively, each: the logarithm of the result is that of the exact sigmoid
  of t', off by at most 2.01u.
* The derivative of that logarithm is 1 / (1 + exp(t')), which falls. So if t' of one sum exceeds that of another one by
  5u (1 + exp(T)), the logarithms differ by more than 4.02u, and the results keep the order.

Together, t must differ by u (5 (1 + exp(T)) + 2 |t| + 10). All of this needs exponentials far from overflow, so t must
not be far below 0; and T well below 36, where the sigmoid is 1 to the last bit and sums far from each other tie.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from treeproof.model.columns import LEAF
from treeproof.model.forest import Forest

HIGHEST, LARGEST = 32, 700


def sigmoid_gap(forest: Forest) -> Fraction | None:
    """Return a gap between sums before their division that, beyond their own rounding, keeps the order of sigmoids.

    None if leaves may add up to so much that sigmoids are all but equal: more than 32 / s, or 700 / s below 0.

    >>> from treeproof.model.build import build_forest, leaf, split
    >>> from treeproof.model.decision import Sums
    >>> def gap(most):
    ...     trees, sums = [split("a", 0, leaf([most, 0.0]), leaf([0.0, 1.0]))], Sums((0.0, 0.0), sigmoid=1.0)
    ...     return sigmoid_gap(build_forest(trees, columns=["a"], classes=[0, 1], vote="sum", sums=sums))
    >>> float(gap(1.0)) < 1e-14, float(gap(30.0)) < 0.02, gap(33.0)
    (True, True, None)
    """
    high, size = sigmoid_range(forest)
    if not (high <= HIGHEST and size <= LARGEST):
        return None
    sums = forest.decision
    exponential = 2 ** math.ceil(13 * Fraction(max(high, 0.0)) / 9)  # exp(t) < 2**(13 t / 9)
    gap = (5 * (1 + exponential) + 2 * Fraction(size) + 10) / sums.floats.unit
    return gap * Fraction(sums.divisor) / Fraction(_steepness(forest))


def sigmoid_range(forest: Forest) -> tuple[float, float]:
    """Return two numbers that s times a sum, and s times its absolute value, do not exceed, however it is rounded."""
    sums, leaf = forest.decision, (forest.feature == LEAF)[:, None]
    with np.errstate(over="ignore"):  # what overflows is infinite, and too large
        tops = np.maximum.reduceat(np.where(leaf, forest.values, -np.inf), forest.roots, axis=0).sum(axis=0)
        sizes = np.maximum.reduceat(np.abs(forest.values), forest.roots, axis=0).sum(axis=0)
        high, size = float((tops + sums.start).max()), float((sizes + np.abs(sums.start)).max())
        # Each of n additions, also those here, moves a sum by at most 1 / unit of the size, and so do divisions.
        off = 8 * (forest.n_trees + 2) * size / sums.floats.unit + 8 * max(1.0, sums.divisor) * (1 / sums.floats.fine)
    times = _steepness(forest) / sums.divisor
    return (high + off) * times, (size + off) * times


def _steepness(forest: Forest) -> float:
    assert forest.decision.sigmoid is not None
    return forest.decision.sigmoid
