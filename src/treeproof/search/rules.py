"""Few boxes that entail a claim each and together cover many of given points: a greedy set cover.

A round widens the explanations of some points that no chosen box covers, keeps all of these boxes, and takes the one
that covers the most points that are not covered yet. That one is first extended towards these points, as
`treeproof.search.most_general` begins. A box whose points the others cover is dropped again. Every box is proved on its
own; how good the choice is, is not: fewer boxes may do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from treeproof.query.cache import Cache
from treeproof.query.oracle import expired
from treeproof.search.inflation import Widened, widen, widen_values
from treeproof.search.minimal import abductive, shuffled
from treeproof.search.most_general import Search, within
from treeproof.space.domains import Cells, Domain

_SEEDS = 8  # points whose explanations are widened in a round
_ORDERS = 2  # of deletion, for each of them
_GUIDES = 300  # points, at most, towards which a box is extended


@dataclass(frozen=True, eq=False, slots=True)
class Box:
    """Domains around a point that entail the claim; `widest` if no cell can be added to any of them.

    `covers` says of each point whether it is inside. `clauses` are the constraints that the proof used.
    """

    home: Cells
    domains: tuple[Domain, ...]
    widest: bool
    clauses: frozenset[int]
    covers: npt.NDArray[np.bool_]
    size: int


@dataclass(frozen=True, eq=False, slots=True)
class Boxes:
    """The chosen boxes, and whether the choice came to its end before the deadline."""

    chosen: tuple[Box, ...]
    finished: bool


def cover(
    ask: Callable[[Cells], Cache],
    points: Mapping[Cells, int],
    others: Iterable[Cells],
    order: Sequence[int],
    *,
    at_most: int,
    at_most_conditions: int | None,
    deadline: float | None,
) -> Boxes:
    """Return at most so many boxes that entail the claim and together cover many points.

    `ask` returns a cache for the claim around a point, with the deadline. `points` satisfy the claim; each counts as
    often as it is mapped to. `others` violate it. A box restricts at most `at_most_conditions` features. Features are
    dropped and widened in this order.
    """
    return _Greedy(ask, points, list(others), order, at_most_conditions, deadline).run(at_most)


class _Greedy:
    def __init__(
        self,
        ask: Callable[[Cells], Cache],
        points: Mapping[Cells, int],
        others: list[Cells],
        order: Sequence[int],
        at_most_conditions: int | None,
        deadline: float | None,
    ) -> None:
        self._ask, self._others, self._order, self._deadline = ask, others, list(order), deadline
        self._points = list(points)
        self._cells = np.array(self._points, dtype=int)
        self._weights = np.array(list(points.values()), dtype=int)
        self._most = at_most_conditions
        self._pool: list[Box] = []
        self._chosen: list[Box] = []
        self._covered = np.zeros(len(self._points), dtype=bool)

    def run(self, at_most: int) -> Boxes:
        # Mixed, so that those of a round differ; the same in every run.
        mixed = np.random.default_rng(0).permutation(len(self._points)).tolist()
        seeds = (i for i in mixed if not self._covered[i])
        while len(self._chosen) < at_most and not self._covered.all():
            tried = list(islice(seeds, _SEEDS))
            for i in tried:
                self._pool += self._around(i)
            best = max(self._pool, key=self._worth, default=None)
            gain = 0 if best is None else self._gain(best)
            if best is not None and gain:
                self._take(max((best, self._extended(best)), key=self._worth))
            if expired(self._deadline):
                return Boxes(tuple(self._chosen), bool(self._covered.all()))
            if not tried and not gain:
                break
        return Boxes(tuple(self._chosen), True)

    def _gain(self, box: Box) -> int:
        """Return what a box covers that is not covered yet."""
        return int(self._weights[box.covers & ~self._covered].sum())

    def _worth(self, box: Box) -> tuple[int, int, int]:
        return self._gain(box), -box.size, int(self._weights[box.covers].sum())

    def _take(self, box: Box) -> None:
        """Choose a box, and drop those whose points the others cover, those that cover the least first."""
        self._chosen.append(box)
        self._covered |= box.covers
        for one in sorted(self._chosen, key=lambda one: int(self._weights[one.covers].sum())):
            others = [other.covers for other in self._chosen if other is not one]
            if others and not (one.covers & ~np.logical_or.reduce(others)).any():
                self._chosen.remove(one)

    def _around(self, i: int) -> Iterator[Box]:
        """Yield boxes around a point: its explanations by deletion in several orders, widened."""
        home = self._points[i]
        for seed in range(_ORDERS):
            if expired(self._deadline):
                return
            cache = self._ask(home)
            order = self._order if seed == 0 else shuffled(self._order, seed)
            why = abductive(cache, order)
            if why.status == "sound":  # the deadline came, and the box has hardly more than the point
                return
            yield from self._made(home, widen_values(cache, why.features, self._order), why.clauses)

    def _extended(self, box: Box) -> Box:
        """Return a box around the same point that covers more of what is not covered yet, if one is found quickly."""
        left = np.flatnonzero(~self._covered)
        step = -(-len(left) // _GUIDES)
        guides = {self._points[i]: int(self._weights[i]) for i in left[::step].tolist()}
        cache = self._ask(box.home)
        found = Search(cache, guides, self._others, Widened(box.domains, box.widest, box.clauses)).approach()
        if found.domains == box.domains:
            return box
        wider = widen(cache, found.domains, self._order)
        return next(self._made(box.home, wider, found.clauses), box)

    def _made(self, home: Cells, widened: Widened, clauses: frozenset[int]) -> Iterator[Box]:
        """Yield a box, unless it restricts too many features."""
        domains = widened.domains
        full = self._ask(home).forest.full
        size = sum(len(domain) < len(whole) for domain, whole in zip(domains, full, strict=True))
        if self._most is None or size <= self._most:
            covers = within(self._cells, domains)
            yield Box(home, domains, widened.widest, clauses | widened.clauses, covers, size)
