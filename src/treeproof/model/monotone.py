"""Where a monotone function of a forest's one sum begins to give another answer, to the last bit.

The function is the library's own code. Mathematically it is monotone; its rounding may not be, in the last bit. So the
function is also asked beside the cut, and over the whole range that sums can have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from treeproof.errors import UnsupportedModelError
from treeproof.model.columns import LEAF
from treeproof.model.floats import smallest_reaching_at_once
from treeproof.model.forest import Forest
from treeproof.model.linear import linear

Reaches = Callable[[npt.NDArray[Any]], npt.NDArray[np.bool_]]

_NEARBY = 64
_GRID = 129


def sums_within(forest: Forest) -> tuple[float, float]:
    """Return two finite numbers between which the one sum of the forest lies for all rows, however it is rounded."""
    decision, values, leaf = forest.decision, forest.values[:, 0], forest.feature == LEAF
    start, error = decision.start[0], 0.0
    if decision.members:
        exact = linear(forest)
        values, start, error = exact.values[:, 0], float(exact.start[0]), 2 * float(exact.error)
    low, high = (
        float(end.reduceat(np.where(leaf, values, worst), forest.roots).sum()) + start
        for end, worst in ((np.minimum, np.inf), (np.maximum, -np.inf))
    )
    # Each of n + 1 additions, also those here, and the division move a sum by at most 1 / unit of the largest.
    size = float(np.maximum.reduceat(np.abs(values), forest.roots).sum()) + abs(start)
    error += 4 * (forest.n_trees + 2) * size / decision.floats.unit + 1 / decision.floats.fine
    low, high = (low - error) / decision.divisor, (high + error) / decision.divisor
    return max(low, -decision.floats.largest), min(high, decision.floats.largest)


def find_cut(forest: Forest, reaches: Reaches, what: str, within: tuple[float, float] | None = None) -> float:
    """Return the sum from which on `reaches` is true, for all sums that the forest can have: those in `within`.

    If it is true for all or for none, the cut is where no sum is. A function that is not monotone is refused, and
    `what` it is.
    """
    numbers = forest.decision.floats
    low, high = (numbers.round(end) for end in within or sums_within(forest))
    lowest, highest = reaches(np.array([low, high], dtype=numbers.dtype)).tolist()
    if lowest:
        cut = -numbers.largest
    elif not highest:
        cut = numbers.largest
    else:
        cut = smallest_reaching_at_once(reaches, low, high, numbers)
    asked = np.append(np.linspace(low, high, _GRID), beside(np.array([cut], dtype=numbers.dtype)))
    asked = np.unique(asked[(asked >= low) & (asked <= high)].astype(numbers.dtype))
    if not np.array_equal(reaches(asked), asked >= cut):
        raise UnsupportedModelError(f"{what} must be monotone, so that it can be followed exactly. It is not.")
    return cut


def beside(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return these numbers, and for each some of those next to it on either side, in ascending order."""
    near = [values]
    for towards in (-np.inf, np.inf):
        at = values
        for _ in range(_NEARBY):
            with np.errstate(over="ignore"):
                at = np.nextafter(at, values.dtype.type(towards))
            near.append(at)
    found = np.unique(np.concatenate(near))
    return found[np.isfinite(found)]
