"""The largest value of a sum of trees over a box: a witness below, a proved bound above, closing in."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from treeproof.oracles.sums import NOTHING, SumOracle
from treeproof.query.oracle import Entailed, Refuted, expired
from treeproof.query.sums import SumForest, keeps, totals
from treeproof.space.domains import Cells, Domain

# Of the time that is left: what one question may take while the bounds close in, and what the last one may, which asks
# for anything better than the best point.
_SLICE = 0.05
_LAST = 0.6
_CLOSE = 16  # closing in ends when the gap is that part of what it was at first


@dataclass(frozen=True, slots=True)
class Extreme:
    """The largest sum: `total` is that at `point`, and no point has more than `bound`.

    Without a point, the constraints leave none (then `bound` is None too), or timed out before one was found.
    `clauses` are those that a proof used.
    """

    point: Cells | None
    total: int | None
    bound: int | None
    clauses: frozenset[int] = frozenset()

    @property
    def exact(self) -> bool:
        """Whether that is the largest sum."""
        return self.total == self.bound


def largest(
    forest: SumForest,
    domains: Sequence[Domain],
    near: Cells,
    deadline: float | None,
    told: Callable[[Extreme], None] | None = None,
) -> Extreme:
    """Return the largest value of a forest's only sum over the domains, as closely as time allows.

    Bisection finds witnesses and bounds while both are cheap; then every question is for anything better than the best
    point, so that the last of them, if there is time, proves that there is none. `told` hears of every step. Without
    time for any question, the point is `near` and the bound what the largest leaves add up to.
    """
    inside = all(cell in domain for cell, domain in zip(near, domains, strict=True)) and keeps(forest.clauses, near)
    bound = forest.largest[0]
    first = Extreme(near, totals(forest, near)[0], bound) if inside else Extreme(None, None, bound)
    try:
        oracle = SumOracle(forest, deadline)
    except TimeoutError:
        return first
    return _Climb(oracle, domains, near, deadline, told or (lambda _: None), first).run()


class _Climb:
    def __init__(
        self,
        oracle: SumOracle,
        domains: Sequence[Domain],
        near: Cells,
        deadline: float | None,
        told: Callable[[Extreme], None],
        first: Extreme,
    ) -> None:
        self.oracle, self.domains, self.deadline, self.told = oracle, domains, deadline, told
        self.near, self.best = near, first

    def run(self) -> Extreme:
        if self.best.point is None and (not self._ask(NOTHING, 1.0) or self.best.bound is None):
            return self.best
        first, share = self._gap(), 0.5
        while self._gap() > first // _CLOSE and share < 0.95:
            if not self._ask(self._between(share), _SLICE):
                share = (1 + share) / 2  # too hard in that time: nearer to the bound it is easier to prove
        while self._gap() > 0 and self._ask(self._between(0.0), _LAST):
            pass
        share = 0.5
        while self._gap() > 0 and not expired(self.deadline) and share < 0.999:
            if not self._ask(self._between(share), _LAST):
                share = (1 + share) / 2
        return self.best

    def _gap(self) -> int:
        assert self.best.total is not None
        assert self.best.bound is not None
        return self.best.bound - self.best.total

    def _between(self, share: float) -> int:
        """Return a number above the best total, at most the bound."""
        assert self.best.total is not None
        return self.best.total + max(1, int(self._gap() * share))

    def _ask(self, least: int, share: float) -> bool:
        """Ask for a point whose sum is at least that, within a share of the time; return whether it was decided."""
        limit = self.deadline
        if limit is not None:
            now = time.monotonic()
            limit = now + share * (limit - now)
        answer = self.oracle.reach([least], self.domains, limit, self.near)
        best = self.best
        if isinstance(answer, Refuted):
            total = self.oracle.totals(answer.witness)[0]
            self.best = Extreme(answer.witness, total, best.bound, best.clauses)
            self.near = answer.witness
        elif isinstance(answer, Entailed):
            bound = None if least == NOTHING else least - 1
            self.best = Extreme(best.point, best.total, bound, best.clauses | answer.clauses)
        else:
            return False
        self.told(self.best)
        return True
