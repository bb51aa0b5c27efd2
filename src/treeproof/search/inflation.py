"""The widest domains around a point, by canonical widening (Izza et al., AAAI 2024: inflated explanations).

First all ranges grow together: each end moves by the same share of the cells beyond it, the largest multiple of 1/64,
found by bisection, with which the claim still holds. So no feature takes all the room that there is.

Then, in the given order, each feature takes as many further cells as the claim, with the others' domains as they are,
still holds for: an ordered feature all cells up to the first that refutes it, on either side; another feature every
value that does not. A gapped feature does both, for its numbers and for missing values; where it was missing, its
numbers start with the lowest that does not refute the claim. A domain entails the claim iff each of its cells does, so
the cells of one feature do not compete, and the result depends on the order of the features alone, not on the oracle or
its witnesses. Nothing can be added afterwards: domains have only grown since a cell was refuted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from treeproof.query.cache import Cache
from treeproof.query.cells import CellForest
from treeproof.query.oracle import Entailed, Inflates, Labels, Refuted, Stays, expired, violates
from treeproof.space.domains import Domain, as_domain

_SHARES = 64
_BISECTION = (32, 16, 8, 4, 2, 1)
_START: dict[bool | str, int] = {True: 2_000_000, "quick": 40_000}


@dataclass(frozen=True, slots=True)
class Widened:
    """Domains that entail the claim; `widest` (no cell can be added) unless time or work came to an end.

    `stopped` says that it was the time. `clauses` are the constraints between features that proofs on the way used.
    """

    domains: tuple[Domain, ...]
    widest: bool
    clauses: frozenset[int] = frozenset()
    stopped: bool = False


def widen(cache: Cache, domains: Sequence[Domain], order: Iterable[int], most_work: int | None = None) -> Widened:
    """Return the widest domains around given ones, which contain the point and entail the claim.

    Only the features of `order` are widened, in that order, to any cells; the domains of the others may have holes.
    An oracle that does all of it at once stops after `most_work`.
    """
    order = list(order)
    return _looked_behind_gaps(cache, _widen(cache, domains, order, most_work), order)


def _looked_behind_gaps(cache: Cache, widened: Widened, chosen: Iterable[int]) -> Widened:
    """Return the same; `widest` only if the next numbers cannot join a range either that ends at missing values.

    Where these lie in the order of the numbers they stop a range, as a domain of ordered cells has no holes.
    """
    domains, between = widened.domains, cache.forest.between
    for f in chosen if widened.widest else ():
        gap, domain = between.get(f), domains[f]
        if gap is None or gap in domain or not isinstance(domain, range):
            continue
        behind = gap + 1 if gap == domain.stop else gap - 1 if gap == domain.start - 1 else None
        if behind is None:
            continue
        answer = cache.decide([*domains[:f], range(behind, behind + 1), *domains[f + 1 :]])
        if not isinstance(answer, Refuted):
            return replace(widened, widest=False)
    return widened


def _widen(cache: Cache, domains: Sequence[Domain], order: Iterable[int], most_work: int | None) -> Widened:
    wider, forest = list(domains), cache.forest
    chosen = [f for f in order if len(wider[f]) < forest.n_cells[f]]
    if chosen and expired(cache.deadline):
        return Widened(tuple(wider), False, stopped=True)
    if isinstance(cache.oracle, Inflates) and isinstance(cache.claim, Stays) and not cache.has_holes:
        label, deadline = cache.claim.label, cache.deadline
        found = cache.oracle.inflate(cache.point, label, wider, chosen, deadline, cache.cancel, most_work)
        cache.tally.add(found.tally)
        return Widened(found.domains, found.widest, found.clauses, found.stopped)
    balanced = _balance(cache, wider, chosen)
    if balanced.stopped:
        return balanced
    wider, clauses = list(balanced.domains), balanced.clauses
    for f in chosen:
        ranges = forest.ordered[f] or forest.gapped[f]
        for cells in _beside(forest, f, wider):
            # Cells that a witness excludes go, until the others are proved.
            while cells:
                if expired(cache.deadline):
                    return Widened(tuple(wider), False, clauses, stopped=True)
                answer = cache.decide([*wider[:f], forest.only(f, cells), *wider[f + 1 :]])
                if isinstance(answer, Refuted):
                    at = cells.index(answer.witness[f])
                    cells = cells[:at] if ranges else cells[:at] + cells[at + 1 :]
                elif isinstance(answer, Entailed):
                    wider[f] = forest.only(f, {*wider[f], *cells})
                    clauses |= answer.clauses
                    break
                else:
                    return Widened(tuple(wider), False, clauses, stopped=True)
    return Widened(tuple(wider), True, clauses)


def _balance(cache: Cache, domains: Sequence[Domain], chosen: Iterable[int]) -> Widened:
    """Return the domains with all ranges grown by the same share of the cells beyond their ends."""
    forest, widened, share = cache.forest, Widened(tuple(domains), False), 0
    ends = {}
    for f in chosen:
        n_numbers = forest.n_cells[f] - forest.gapped[f]
        numbers = [cell for cell in domains[f] if cell < n_numbers]
        if numbers and (forest.ordered[f] or forest.gapped[f]):
            ends[f] = (min(numbers), max(numbers), n_numbers - 1)
    for more in _BISECTION:
        wider = list(domains)
        for f, (low, high, last) in ends.items():
            down, up = (cells * (share + more) // _SHARES for cells in (low, last - high))
            wider[f] = forest.only(f, {*domains[f], *range(low - down, high + up + 1)})
        if tuple(wider) != widened.domains:
            answer = None if expired(cache.deadline) else cache.decide(wider)
            if isinstance(answer, Refuted):
                continue
            if not isinstance(answer, Entailed):
                return replace(widened, stopped=True)
            widened = Widened(tuple(wider), False, widened.clauses | answer.clauses)
        share += more
    return widened


def work_limit(cache: Cache, inflate: bool | str) -> int | None:
    """Return the work that widening is worth: some times what the search before it took, and some to start with.

    The last proofs, of domains that are on the verge at every end, take most of the time and add least. What there is
    to start with takes some tenth of a second, in which most models are widened to the end; nearly none if it is to be
    quick. None is no limit.
    """
    start = _START.get(inflate)
    return None if start is None else 2 * cache.tally.work + start


def widen_values(cache: Cache, features: frozenset[int], order: Iterable[int], most_work: int | None = None) -> Widened:
    """Return the widest domains around the point's own cells of these features, which suffice; the others are free."""
    kept = cache.units.features(features)
    start = [own if f in kept else cache.free[f] for f, own in enumerate(cache.own)]
    order = [f for unit in order if unit in features for f in cache.units.members[unit]]
    return widen(cache, start, order, most_work)


def unite(cache: Cache, widened: Widened, order: Iterable[int]) -> Widened:
    """Return the domains with every cell that can join them, also behind others that cannot: ranges with holes.

    Features take further cells in the given order. If there was no time for the widest ranges, they stay as they are.
    """
    if widened.stopped:
        return widened
    wider, forest, clauses = list(widened.domains), cache.forest, widened.clauses
    kept = (f for unit in order for f in cache.units.members[unit])
    for f in [f for f in kept if forest.ordered[f] or forest.gapped[f]]:
        cells = frozenset(range(forest.n_cells[f])).difference(wider[f])
        while cells:
            if expired(cache.deadline):
                return Widened(tuple(wider), False, clauses, stopped=True)
            answer = cache.decide([*wider[:f], as_domain(cells, forest.ordered[f]), *wider[f + 1 :]])
            if isinstance(answer, Refuted):
                cells -= _refuted(cache, answer, f, cells)
            elif isinstance(answer, Entailed):
                wider[f] = as_domain(cells.union(wider[f]), forest.ordered[f])
                clauses |= answer.clauses
                break
            else:
                return Widened(tuple(wider), False, clauses, stopped=True)
    return Widened(tuple(wider), True, clauses)


def _refuted(cache: Cache, answer: Refuted, f: int, cells: frozenset[int]) -> frozenset[int]:
    """Return the cells with which the witness refutes the claim, whatever its own."""
    label = cache.oracle.label if isinstance(cache.oracle, Labels) else cache.forest.label
    moved = {cell: (*answer.witness[:f], cell, *answer.witness[f + 1 :]) for cell in cells}
    return frozenset(
        cell for cell, point in moved.items() if violates(cache.claim, label(point)) and cache.forest.allows(point)
    )


def _beside(forest: CellForest, f: int, wider: Sequence[Domain]) -> Iterator[list[int]]:
    """Yield cells that may join the domain as it then is: on the sides of a range, the nearest first, or of a set."""
    if not (forest.ordered[f] or forest.gapped[f]):
        yield [cell for cell in range(forest.n_cells[f]) if cell not in wider[f]]
        return
    n_numbers = forest.n_cells[f] - forest.gapped[f]
    if min(wider[f]) == n_numbers:  # missing
        for cell in range(n_numbers):
            yield [cell]
            if cell in wider[f]:
                break
    low, high = min(wider[f]), max((cell for cell in wider[f] if cell < n_numbers), default=n_numbers)
    yield list(range(high + 1, n_numbers))
    yield list(range(low - 1, -1, -1)) if high < n_numbers else []
    if n_numbers < forest.n_cells[f] and n_numbers not in wider[f]:
        yield [n_numbers]
