"""Where a monotone function of a forest's one sum begins to give another answer, to the last bit.

The function is the library's own code. Mathematically it is monotone; its rounding may not be, in the last bit. So the
function is also asked beside the cut, and over the whole range that sums can have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from treeproof.errors import UnsupportedModelError
from treeproof.model.floats import Floats, smallest_reaching
from treeproof.model.forest import Forest

Reaches = Callable[[npt.NDArray[Any]], npt.NDArray[np.bool_]]

_NEARBY = 64
_GRID = 513


def sums_within(forest: Forest) -> float:
    """Return a number that no sum of the forest exceeds in size, however it is rounded; a sum there is finite."""
    largest = np.maximum.reduceat(np.abs(forest.values), forest.roots, axis=0).sum(axis=0).max()
    bound = 2 * (float(largest) + max(map(abs, forest.decision.start))) / forest.decision.divisor + 1
    return min(bound, forest.decision.floats.largest)


def find_cut(forest: Forest, reaches: Reaches, what: str, also: Iterable[float] = ()) -> float:
    """Return the sum from which on `reaches` is true, for all sums that the forest can have.

    If it is true for all or for none, the cut is where no sum is. `also` holds sums at which the function changes its
    form. A function that is not monotone is refused, and `what` it is.
    """
    numbers, bound = forest.decision.floats, sums_within(forest)

    def at(total: float) -> bool:
        return bool(reaches(np.array([total], dtype=numbers.dtype))[0])

    if at(-bound):
        cut = -numbers.largest
    elif not at(bound):
        cut = numbers.largest
    else:
        cut = smallest_reaching(at, -bound, bound, numbers)
    asked = np.concatenate(
        [np.linspace(-bound, bound, _GRID), _beside(cut, numbers), *(_beside(x, numbers) for x in also)]
    )
    asked = np.unique(asked[np.abs(asked) <= bound].astype(numbers.dtype))
    if not np.array_equal(reaches(asked), asked >= cut):
        raise UnsupportedModelError(f"{what} must be monotone, so that it can be followed exactly. It is not.")
    return cut


def _beside(number: float, numbers: Floats) -> npt.NDArray[np.float64]:
    """Return the number, and those next to it on either side."""
    near = [number]
    for towards in (-math.inf, math.inf):
        at = number
        for _ in range(_NEARBY):
            at = numbers.next(at, towards)
            near.append(at)
    return np.array(near)
