"""Decides whether sums of integers over trees can reach what they must, all at once: the native engine without floats.

It is the engine that decides labels, asked about a class that leads every other one: in sum k, the class leads class
k + 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treeproof.oracles.native import CoreForest
from treeproof.query.oracle import Answer, Never, Query, seconds_left
from treeproof.query.sums import LARGEST, SumForest
from treeproof.space.domains import Cells, Domain

# What every sum reaches: it asks nothing.
NOTHING = -(2 ** (LARGEST + 1))
_NODES_PER_SECOND = 2e7  # that the core takes in, roughly


class SumOracle(CoreForest):
    """Finds points at which every sum reaches a number of its own, or proves that there is none.

    It remembers prices from one question to the next, so it is for one thread. TimeoutError if the deadline has passed,
    or comes before a forest of that size is in the core's memory.

    Examples
    --------
    >>> from treeproof.model.examples import heart_disease
    >>> from treeproof.query.cells import discretise
    >>> from treeproof.query.sums import score_of, sum_forest
    >>> from treeproof.space.declare import declare
    >>> forest, _ = heart_disease()
    >>> cells = discretise(declare(forest))
    >>> oracle = SumOracle(sum_forest(cells, score_of(forest, 1).numbers[:, None]))
    >>> oracle.reach([3], cells.full), oracle.reach([4], cells.full)
    (Refuted(...), Entailed(...))
    """

    _forest: SumForest

    def __init__(self, forest: SumForest, deadline: float | None = None) -> None:
        if seconds_left(deadline) <= len(forest.feature) / _NODES_PER_SECOND:
            raise TimeoutError
        self._n = forest.numbers.shape[1]
        scores = np.zeros((len(forest.feature), self._n + 1), dtype=np.int64)
        np.negative(forest.numbers, out=scores[:, 1:])
        scores.flags.writeable = False
        super().__init__(
            forest,
            n_classes=self._n + 1,
            roots=forest.roots,
            left=forest.left,
            right=forest.right,
            scores=scores.ravel(),
            theta=np.zeros((self._n + 1) ** 2, dtype=np.int64),
            values=np.zeros(0),
            exact=np.zeros(0, dtype=np.uint8),
            band=0,
            exponent=0,
            unit=0,
            vote="exact",
            start=[],
            single=False,
            divisor=1.0,
            cuts=None,
            softmax=False,
            sigmoid=0.0,
            members=[],
            tabulate=False,
        )

    @property
    def forest(self) -> SumForest:
        """The trees."""
        return self._forest

    def reach(
        self,
        least: Sequence[int],
        domains: Sequence[Domain],
        deadline: float | None = None,
        near: Cells | None = None,
    ) -> Answer:
        """Return a point of the domains at which sum k is at least ``least[k]``, for all k, as the witness of Refuted.

        Entailed if it is proved that there is none.
        """
        theta = np.zeros((self._n + 1, self._n + 1), dtype=np.int64)
        theta[0, 1:] = np.clip(least, NOTHING, -NOTHING)
        self._core.require(theta.ravel().tolist())
        return self._ask(Query(tuple(domains), Never(0), deadline, near), plain=False)

    def totals(self, point: Cells) -> list[int]:
        """Return the sums at a point."""
        return [-total for total in self._core.totals(list(point))[1:]]
