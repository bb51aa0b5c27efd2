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
from treeproof.query.oracle import Entailed, Inflates, Refuted, Stays, expired
from treeproof.space.domains import Domain


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
