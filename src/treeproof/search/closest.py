"""The witness that costs least, where each feature has a cost for each cell.

If the cost of a point is the largest of its features' costs, the points up to a cost are a box: bisection finds the
first one that the oracle refutes.

If it is their sum, it takes branch and bound over boxes. A box is worth a look if the sum of its least costs is below
the cost of the best witness, and then only its cells that could be part of something cheaper. If the oracle proves the
claim for these, the box is closed; if it finds a witness, the box is split where the witness exceeds the least cost
most, half way. Boxes are looked at in the order of their bounds, so that at any time the next one's bound is a bound of
everything.

Tried and not kept: cores of closed boxes to close others (they name nearly every feature); the sum as a Lagrangian term
in the leaves of a second forest (it knows the budget, but splits do not close its gap sooner); other places to split.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from treeproof.query.cache import Cache
from treeproof.query.oracle import Answer, Entailed, Refuted, Unknown
from treeproof.space.domains import Domain

CellCosts = Mapping[int, Mapping[int, int]]
"""Feature to cell to cost: the features that may change, the cells that each may take, and what each cell costs.

Costs are at least 0. Boxes are fewest where that of an ordered feature does not fall with the distance from the
instance's own cell.
"""

Box = tuple[tuple[int, int], ...]
"""First and last place on each line."""


@dataclass(frozen=True, slots=True)
class Closest:
    """A witness, its cost, and a bound that no witness costs less than; the witness is the cheapest if they agree."""

    witness: Refuted
    cost: int
    bound: int

    @property
    def proved(self) -> bool:
        """Whether no witness costs less."""
        return self.bound == self.cost


def closest(cache: Cache, costs: CellCosts, witness: Refuted) -> Closest:
    """Return the cheapest witness that changes no feature but those of `costs`, to no cell but those named there.

    `witness` is one such. At the deadline it is the cheapest one known.
    """
    search = _Search(cache, costs)
    best, least = witness, search.cost(witness)
    ticket = itertools.count()  # of equal bounds, first come, first served
    boxes = [(search.bound(search.everything), next(ticket), search.everything)]
    while boxes:
        bound, _, box = heapq.heappop(boxes)
        if bound >= least:
            break
        box = search.below(least, box, bound)
        answer = search.decide(box)
        if isinstance(answer, Unknown):
            return Closest(best, least, bound)
        if isinstance(answer, Entailed):
            continue
        cost = search.cost(answer)
        if cost < least:
            best, least = answer, cost
        for part, its_bound in search.split(box, bound, answer):
            if its_bound < least:
                heapq.heappush(boxes, (its_bound, next(ticket), part))
    return Closest(best, least, least)


def closest_maximum(cache: Cache, costs: CellCosts, witness: Refuted) -> Closest:
    """Return what `closest` does, with the largest of the features' costs, not their sum, as the cost of a witness.

    Each feature may stay in the instance's own cell, at the cost 0; every other cell must cost more.
    """
    search = _Search(cache, costs)
    levels = sorted({cost for line in search.lines for cost in line.costs})
    best = witness
    # No witness is within levels[low]: at cost 0 there is only the instance. The best one is within levels[high].
    low, high = 0, levels.index(search.largest(best))
    while high - low > 1:
        middle = (low + high) // 2
        answer = search.decide(search.within(levels[middle]))
        if isinstance(answer, Unknown):
            return Closest(best, levels[high], levels[low + 1])
        if isinstance(answer, Entailed):
            low = middle
        else:
            best = answer
            high = levels.index(search.largest(best))
    return Closest(best, levels[high], levels[high])


class _Line:
    """The cells of one feature in a line along which costs fall, if at all, and then rise, if at all.

    Those of an ordered feature are in their order, if costs are so along it (a missing value beyond all numbers may be
    closer than they are), those of another one in the order of their costs. A stretch of the line, from one place to
    another, is therefore cheapest at the place closest to `bottom`.
    """

    def __init__(self, feature: int, costs: Mapping[int, int], ordered: bool) -> None:
        self.feature = feature
        self.cells = sorted(costs)
        ordered = ordered and _falls_then_rises([costs[cell] for cell in self.cells])
        if not ordered:
            self.cells.sort(key=lambda cell: costs[cell])
        self.costs = [costs[cell] for cell in self.cells]
        self.bottom = self.costs.index(min(self.costs))
        self.place = {cell: place for place, cell in enumerate(self.cells)}
        self.has_holes = not ordered or self.cells[-1] - self.cells[0] >= len(self.cells)

    def cost(self, witness: Refuted) -> int:
        """Return what the witness costs here."""
        return self.costs[self.place[witness.witness[self.feature]]]

    def least(self, stretch: tuple[int, int]) -> int:
        """Return the least cost on the stretch."""
        return self.costs[min(max(self.bottom, stretch[0]), stretch[1])]

    def below(self, limit: int, stretch: tuple[int, int]) -> tuple[int, int]:
        """Return the part of the stretch that costs less than `limit`; there must be one."""
        first, last = stretch
        while self.costs[first] >= limit:
            first += 1
        while self.costs[last] >= limit:
            last -= 1
        return first, last

    def domain(self, stretch: tuple[int, int]) -> Domain:
        """Return the cells of the stretch."""
        first, last = stretch
        if self.has_holes:
            return frozenset(self.cells[first : last + 1])
        return range(self.cells[first], self.cells[last] + 1)


def _falls_then_rises(costs: list[int]) -> bool:
    bottom = costs.index(min(costs))
    return costs == sorted(costs[:bottom], reverse=True) + sorted(costs[bottom:])


class _Search:
    """What the steps of one search share."""

    def __init__(self, cache: Cache, costs: CellCosts) -> None:
        self.cache = cache
        self.lines = [_Line(f, costs[f], cache.forest.ordered[f]) for f in sorted(costs)]
        self.everything: Box = tuple((0, len(line.cells) - 1) for line in self.lines)

    def cost(self, witness: Refuted) -> int:
        """Return the sum of the witness's costs."""
        return sum(line.cost(witness) for line in self.lines)

    def largest(self, witness: Refuted) -> int:
        """Return the largest of the witness's costs."""
        return max(line.cost(witness) for line in self.lines)

    def within(self, limit: int) -> Box:
        """Return the box of all points of which no feature costs more than `limit`; there must be some."""
        return tuple(line.below(limit + 1, stretch) for line, stretch in zip(self.lines, self.everything, strict=True))

    def bound(self, box: Box) -> int:
        """Return the sum of the least costs in the box."""
        return sum(line.least(stretch) for line, stretch in zip(self.lines, box, strict=True))

    def below(self, limit: int, box: Box, bound: int) -> Box:
        """Return the part of the box that holds its points of a cost below `limit`; `bound` is the box's, below it."""
        room = limit - bound
        return tuple(
            line.below(line.least(stretch) + room, stretch) for line, stretch in zip(self.lines, box, strict=True)
        )

    def decide(self, box: Box) -> Answer:
        """Ask about the box, with all other features fixed."""
        domains = list(self.cache.own)
        for line, stretch in zip(self.lines, box, strict=True):
            domains[line.feature] = line.domain(stretch)
        return self.cache.decide(domains)

    def split(self, box: Box, bound: int, witness: Refuted) -> Iterator[tuple[Box, int]]:
        """Yield parts of the box, with their bounds: the cheap middle of a line, without the witness, and its ends.

        Where no line costs the witness more than it must, nothing in the box is cheaper, and there are no parts.
        """
        excess, i = max(
            (line.cost(witness) - line.least(stretch), i)
            for i, (line, stretch) in enumerate(zip(self.lines, box, strict=True))
        )
        if excess == 0:
            return
        line, (first, last) = self.lines[i], box[i]
        least = line.least(box[i])
        low, high = line.below(least + excess // 2 + 1, box[i])
        for part in ((low, high), (first, low - 1), (high + 1, last)):
            if part[0] <= part[1]:
                yield (*box[:i], part, *box[i + 1 :]), bound - least + line.least(part)
