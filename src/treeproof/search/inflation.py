"""The widest domains around a point, by canonical widening (Izza et al., AAAI 2024: inflated explanations).

In the given order, each feature takes as many further cells as the claim, with the others' domains as they are, still
holds for: an ordered feature all cells up to the first that refutes it, on either side; another feature every value
that does not. A gapped feature does both, for its numbers and for missing values; where it was missing, its numbers
start with the lowest that does not refute the claim. A domain entails the claim iff each of its cells does, so the
cells of one feature do not compete, and the result depends on the order of the features alone, not on the oracle or
its witnesses. Nothing can be added afterwards: domains have only grown since a cell was refuted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from treeproof.query.cache import Cache
from treeproof.query.cells import CellForest
from treeproof.query.oracle import Entailed, Inflates, Labels, Refuted, Stays, expired, violates
from treeproof.space.domains import Domain, as_domain


@dataclass(frozen=True, slots=True)
class Widened:
    """Domains that entail the claim; `widest` (no cell can be added) unless the deadline came first.

    `clauses` are the constraints between features that proofs on the way used.
    """

    domains: tuple[Domain, ...]
    widest: bool
    clauses: frozenset[int] = frozenset()


def widen(cache: Cache, domains: Sequence[Domain], order: Iterable[int]) -> Widened:
    """Return the widest domains around given ones, which contain the point and entail the claim.

    Only the features of `order` are widened, in that order, to any cells; the domains of the others may have holes.
    """
    wider, forest = list(domains), cache.forest
    chosen = [f for f in order if len(wider[f]) < forest.n_cells[f]]
    if chosen and expired(cache.deadline):
        return Widened(tuple(wider), False)
    if isinstance(cache.oracle, Inflates) and isinstance(cache.claim, Stays) and not cache.has_holes:
        found = cache.oracle.inflate(cache.point, cache.claim.label, wider, chosen, cache.deadline, cache.cancel)
        cache.tally.add(found.tally)
        return Widened(found.domains, found.widest, found.clauses)
    clauses: frozenset[int] = frozenset()
    for f in chosen:
        ranges = forest.ordered[f] or forest.gapped[f]
        for cells in _beside(forest, f, wider):
            # Cells that a witness excludes go, until the others are proved.
            while cells:
                if expired(cache.deadline):
                    return Widened(tuple(wider), False, clauses)
                answer = cache.decide([*wider[:f], forest.only(f, cells), *wider[f + 1 :]])
                if isinstance(answer, Refuted):
                    at = cells.index(answer.witness[f])
                    cells = cells[:at] if ranges else cells[:at] + cells[at + 1 :]
                elif isinstance(answer, Entailed):
                    wider[f] = forest.only(f, {*wider[f], *cells})
                    clauses |= answer.clauses
                    break
                else:
                    return Widened(tuple(wider), False, clauses)
    return Widened(tuple(wider), True, clauses)


def widen_values(cache: Cache, features: frozenset[int], order: Iterable[int]) -> Widened:
    """Return the widest domains around the point's own cells of these features, which suffice; the others are free."""
    kept = cache.units.features(features)
    start = [own if f in kept else cache.free[f] for f, own in enumerate(cache.own)]
    return widen(cache, start, [f for unit in order if unit in features for f in cache.units.members[unit]])


def unite(cache: Cache, widened: Widened, order: Iterable[int]) -> Widened:
    """Return the domains with every cell that can join them, also behind others that cannot: ranges with holes.

    Features take further cells in the given order. Domains that are not the widest ranges stay as they are.
    """
    if not widened.widest:
        return widened
    wider, forest, clauses = list(widened.domains), cache.forest, widened.clauses
    kept = (f for unit in order for f in cache.units.members[unit])
    for f in [f for f in kept if forest.ordered[f] or forest.gapped[f]]:
        cells = frozenset(range(forest.n_cells[f])).difference(wider[f])
        while cells:
            if expired(cache.deadline):
                return Widened(tuple(wider), False, clauses)
            answer = cache.decide([*wider[:f], as_domain(cells, forest.ordered[f]), *wider[f + 1 :]])
            if isinstance(answer, Refuted):
                cells -= _refuted(cache, answer, f, cells)
            elif isinstance(answer, Entailed):
                wider[f] = as_domain(cells.union(wider[f]), forest.ordered[f])
                clauses |= answer.clauses
                break
            else:
                return Widened(tuple(wider), False, clauses)
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
