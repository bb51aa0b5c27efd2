"""Few features that, kept, let all others move far.

How far is measured by cell costs, of which the largest counts, as in `closest_maximum`. The *reach* of a set of kept
features is the cost of the nearest witness that leaves them as they are: every point that costs less keeps the claim.

One more feature is kept at a time. The nearest witness changes some features, none of them needlessly. A larger set
that reaches further keeps one of these, so one joins: that with which the set reaches furthest. What is no longer
needed below that reach goes again. Witnesses are remembered: each bounds the reach of all sets that miss it, so that
most candidates need no question.

Greedy sets are good, not always best. Whether other features reach further is decided by the smallest sets that
suffice at the reach found (`treeproof.search.minimum`): if even these are larger, none does.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from treeproof.query.cache import Cache
from treeproof.query.oracle import Answer, Entailed, Refuted, Unknown
from treeproof.search.closest import CellCosts
from treeproof.search.minimal import abductive, contrastive
from treeproof.search.minimum import minimum_abductive
from treeproof.space.domains import Domain, as_domain


@dataclass(frozen=True, slots=True)
class Reach:
    """How far the others may move with these features kept.

    No witness costs less than `bound`; None says that there is none at all. `witness` is the nearest one known and
    `cost` what it costs. `clauses` are the constraints between features that the proof used. With `minimal`, none of
    the features can be dropped without losing reach.
    """

    features: frozenset[int]
    bound: int | None
    witness: Refuted | None = None
    cost: int | None = None
    clauses: frozenset[int] = frozenset()
    minimal: bool = False

    @property
    def exact(self) -> bool:
        """Whether the nearest witness is known, or that there is none."""
        return self.bound == self.cost

    def exceeds(self, other: Reach) -> bool:
        """Return whether this is proved to reach further than what is proved for the other."""
        return other.bound is not None and (self.bound is None or self.bound > other.bound)


class Reaches:
    """Finds reaches of sets of kept features; `costs` has every cell that each feature may take, its own at 0."""

    def __init__(self, cache: Cache, costs: CellCosts) -> None:
        self.cache = cache
        self._costs = costs
        self._levels = sorted({cost for cells in costs.values() for cost in cells.values()})
        self._known: list[tuple[frozenset[int], int, Refuted]] = []  # changed features, cost

    def of(self, kept: frozenset[int], floor: int = 0) -> Reach:
        """Return the reach of a set, of which it is proved that no witness costs `floor` or less."""
        levels, clauses = self._levels, frozenset[int]()
        low, high = bisect_left(levels, floor), len(levels)
        middle = high - 1  # if no witness is known, does anything change the label?
        while True:
            nearest = self._nearest(kept)
            if nearest is not None:
                high = bisect_left(levels, nearest[0])
                middle = (low + high) // 2
            if high - low < 2:
                break
            answer = self.ask(kept, levels[middle])
            if isinstance(answer, Entailed):
                low, clauses = middle, answer.clauses
            elif isinstance(answer, Unknown):
                break
        bound = levels[low + 1] if low + 1 < len(levels) else None
        cost, witness = (None, None) if nearest is None else nearest
        return Reach(kept, bound, witness, cost, clauses)

    def ask(self, kept: frozenset[int], level: int) -> Answer:
        """Does the claim hold for every point that keeps these features and costs at most `level`?"""
        near, own = self.within(level), self.cache.own
        fixed = self.cache.units.features(kept)
        answer = self.cache.decide([own[f] if f in fixed else domain for f, domain in enumerate(near)])
        if isinstance(answer, Refuted):
            self._learn(answer)
        return answer

    def within(self, level: int) -> tuple[Domain, ...]:
        """Return the cells of each feature that cost at most `level`."""
        ordered = self.cache.forest.ordered
        return tuple(
            as_domain(frozenset(cells[: bisect_left(costs, level + 1)]), ordered[f])
            for f, (cells, costs) in self._by_cost.items()
        )

    @cached_property
    def _by_cost(self) -> Mapping[int, tuple[list[int], list[int]]]:
        """The cells of each feature, the cheapest first, and their costs."""
        cells = {f: sorted(self._costs[f], key=self._costs[f].__getitem__) for f in sorted(self._costs)}
        return {f: (those, [self._costs[f][cell] for cell in those]) for f, those in cells.items()}

    def inside(self, level: int, kept: frozenset[int] = frozenset()) -> Cache:
        """Return a cache of questions about the points that cost at most `level` and keep these features."""
        cache = self.cache
        fixed = cache.units.features(kept)
        free = [cache.own[f] if f in fixed else domain for f, domain in enumerate(self.within(level))]
        inside = Cache(
            cache.forest, cache.oracle, cache.point, cache.claim, cache.deadline, cache.cancel, free, cache.units
        )
        inside.tally = cache.tally
        return inside

    def below(self, bound: int) -> int:
        """Return the largest cost of a cell below a bound."""
        return self._levels[bisect_left(self._levels, bound) - 1]

    def bounded(self, kept: frozenset[int], cost: int) -> bool:
        """Return whether a known witness shows that this set reaches no further than `cost`."""
        nearest = self._nearest(kept)
        return nearest is not None and nearest[0] <= cost

    def changed(self, reach: Reach, order: Sequence[int]) -> frozenset[int]:
        """Return features that the nearest witness of a set changes, or one as near; none of them needlessly."""
        assert reach.witness is not None, "there is a witness"
        assert reach.cost is not None
        change = contrastive(self.inside(reach.cost, reach.features), order, reach.witness)
        self._learn(change.witness)
        return change.features

    def _learn(self, answer: Refuted) -> None:
        changed = self.cache.differences(answer)
        self._known.append((changed, max(self._costs[f][cell] for f, cell in enumerate(answer.witness)), answer))

    def _nearest(self, kept: frozenset[int]) -> tuple[int, Refuted] | None:
        """Return the cost of the nearest known witness that leaves these features as they are, and that witness."""
        those = ((cost, answer) for changed, cost, answer in self._known if not changed & kept)
        return min(those, key=lambda entry: entry[0], default=None)


def grow(reaches: Reaches, order: Sequence[int], most: int) -> Iterator[Reach]:
    """Yield ever larger reaches, from that of no feature on, of sets of at most `most` features.

    Each is minimal. The last one is that of a minimal set that forces the claim whatever the others are, if there is
    such a small one. Raises TimeoutError when the deadline comes first, after what was proved before. `order` is that
    of deletion: features that come last are tried first for keeping.
    """
    best = current = reaches.of(frozenset())
    yield _shrunk(reaches, order, current)
    while current.exact and current.bound is not None and len(current.features) < most:
        current = _joined(reaches, order, current)
        if current.exceeds(best):
            best = current = _shrunk(reaches, order, current)
            yield best
    if not current.exact:
        raise TimeoutError


def _joined(reaches: Reaches, order: Sequence[int], reach: Reach) -> Reach:
    """Return the furthest reach of a set with one of the features more that the nearest witness changes."""
    assert reach.cost is not None
    change = reaches.changed(reach, order)
    first, *others = [reach.features | {f} for f in reversed(order) if f in change]
    best = reaches.of(first, reaches.below(reach.cost))  # a larger set reaches at least as far
    for kept in others:
        if not best.exact or best.bound is None:
            break
        if reaches.bounded(kept, best.bound):
            continue
        answer = reaches.ask(kept, best.bound)
        if isinstance(answer, Unknown):
            break
        if isinstance(answer, Entailed):
            best = reaches.of(kept, best.bound)
    return best


def _shrunk(reaches: Reaches, order: Sequence[int], reach: Reach) -> Reach:
    """Return the reach of a minimal set that reaches as far."""
    inside = reaches.cache if reach.bound is None else reaches.inside(reaches.below(reach.bound))
    kept = abductive(inside, order, start=reach.features)
    return Reach(kept.features, reach.bound, reach.witness, reach.cost, kept.clauses, kept.status == "minimal")


def furthest(reaches: Reaches, order: Sequence[int], most: int, reach: Reach) -> tuple[Reach, bool]:
    """Return the furthest reach of at most `most` features, and whether that is proved; `reach` is one to start with.

    When the deadline comes first, it is the best one known.
    """
    while reach.exact and reach.cost is not None:
        inside = reaches.inside(reach.cost)
        found = minimum_abductive(inside, order, dict.fromkeys(inside.features, 1), enough=most)
        if len(found.found.features) > most:
            return reach, found.bound > most
        reach = _shrunk(reaches, order, reaches.of(found.found.features, reach.cost))
    return reach, reach.exact
