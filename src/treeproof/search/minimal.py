"""Subset-minimal explanations by canonical deletion.

Abductive: in the given order, a feature is freed iff the rest still entails the claim. Contrastive, its dual: in the
given order, a feature is fixed iff the rest, free, still refutes it. Which answer a question has does not depend on the
oracle, so neither does the result. With groups, these go or stay as a whole, and "feature" means a unit.

Jumping to a core (or to the features in which a witness differs) would be a shortcut to *some* minimal set, one that
depends on which core the oracle happened to find; the cache gives most of the speed without that.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from treeproof.errors import InternalError
from treeproof.query.cache import Cache
from treeproof.query.oracle import Alters, Deletes, Entailed, Labels, Refuted, Stays, Unknown, expired, violates

Status = Literal["minimum", "minimal", "sound"]
"""What is proved of a set beyond that it does: none is cheaper; no feature can be left out; nothing."""


@dataclass(frozen=True, slots=True)
class Sufficient:
    """Features whose values alone force the claim; `sound` if the deadline came first.

    `clauses` are the constraints between features that the proof of that used.
    """

    features: frozenset[int]
    status: Status
    clauses: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Change:
    """Features whose change alone can break the claim, with a witness; `sound` if the deadline came first."""

    features: frozenset[int]
    witness: Refuted
    status: Status


def abductive(cache: Cache, order: Sequence[int], start: frozenset[int] | None = None) -> Sufficient:
    """Return a subset-minimal set of features that entails the claim.

    `start` is a set that is known to entail it, by default all features: the instance itself satisfies the claim.
    """
    found = _deleted(cache, order, cache.features if start is None else start)
    if cache.forest.band and found.features == cache.features and found.status == "minimal":
        cache.ask(found.features)  # all rests on the row itself, whose own sums may be closer than rounding
    return found


def _deleted(cache: Cache, order: Sequence[int], kept: frozenset[int]) -> Sufficient:
    if (
        isinstance(cache.oracle, Deletes)
        and isinstance(cache.claim, Stays)
        and not (cache.has_holes or cache.units.groups)
    ):
        free = cache.free if cache.limited else None
        deletion = cache.oracle.delete(cache.point, cache.claim.label, order, kept, cache.deadline, cache.cancel, free)
        cache.tally.add(deletion.tally)
        clauses = deletion.clauses if deletion.tally.entailed else _clauses_used(cache, kept)
        return Sufficient(deletion.features, "minimal" if deletion.minimal else "sound", clauses)
    for feature in order:
        if feature not in kept:
            continue
        answer = cache.ask(kept - {feature})
        if isinstance(answer, Unknown):
            kept = cache.smallest_core(kept)
            return Sufficient(kept, "sound", _clauses_used(cache, kept))
        if isinstance(answer, Entailed):
            kept -= {feature}
    return Sufficient(kept, "minimal", _clauses_used(cache, kept))


def shortest_abductive(cache: Cache, first: Sequence[int], others: Iterable[Sequence[int]] = ()) -> Sufficient:
    """Return the first of the shortest sets that deletion in each of these orders gives.

    The deadline may come before all were tried; only if the first was not finished is the result not minimal.
    """
    best = abductive(cache, first)
    for order in others:
        if expired(cache.deadline):
            break
        other = abductive(cache, order)
        if other.status == "minimal" and len(other.features) < len(best.features):
            best = other
    return best


def shuffled(order: Sequence[int], seed: int) -> list[int]:
    """Return the order somewhat perturbed: a feature moves up by less than half the length, at random.

    >>> shuffled(range(8), 1)
    [0, 3, 1, 2, 4, 5, 6, 7]
    """
    jitter = random.Random(seed)
    reach = len(order) / 2
    place = {f: i + reach * jitter.random() for i, f in enumerate(order)}
    return sorted(order, key=place.__getitem__)


def _clauses_used(cache: Cache, features: frozenset[int]) -> frozenset[int]:
    """Return the constraints between features that a known proof of sufficiency used."""
    if not cache.forest.clauses or features == cache.features:
        return frozenset()
    answer = cache.ask(features)  # known, so remembered
    return answer.clauses if isinstance(answer, Entailed) else frozenset(range(len(cache.forest.clauses)))


def contrastive(
    cache: Cache,
    order: Sequence[int],
    witness: Refuted,
    start: frozenset[int] | None = None,
    unasked: frozenset[int] = frozenset(),
) -> Change:
    """Return a subset-minimal set of features that, when freed, refutes the claim.

    `start` is a set that is known to refute it when freed, by default all features; `witness` shows that. Features of
    `unasked` are not worth a question: they go only where a witness at hand does without. Then the set is minimal in
    the others alone, and which one it is depends on the oracle.
    """
    found = _altered(cache, order, witness, cache.features if start is None else start, unasked)
    if cache.forest.label(found.witness.witness) != found.witness.label:
        raise InternalError(f"{cache.oracle.name}: a witness has another label than it said; please report this.")
    return found


def _altered(
    cache: Cache, order: Sequence[int], witness: Refuted, freed: frozenset[int], unasked: frozenset[int]
) -> Change:
    if isinstance(cache.oracle, Alters) and not (cache.limited or cache.units.groups):
        found = cache.oracle.alter(
            cache.point, cache.claim, order, freed, witness, cache.deadline, cache.cancel, unasked
        )
        cache.tally.add(found.tally)
        return Change(found.features, found.witness, "minimal" if found.minimal else "sound")
    for feature in order:
        if feature not in freed:
            continue
        without = _put_back(cache, witness, feature)
        if without is None and feature in unasked and not cache.forest.band:
            continue
        answer = without or cache.ask(cache.features - freed | {feature})
        if isinstance(answer, Unknown):
            return Change(cache.differences(witness), witness, "sound")
        if isinstance(answer, Refuted):
            witness = answer
            freed -= {feature}
    return Change(freed - (unasked - cache.differences(witness)), witness, "minimal")


def _put_back(cache: Cache, witness: Refuted, unit: int) -> Refuted | None:
    """Return the witness with this feature or group as it was, if that is one too: much cheaper than a question.

    Sums closer than rounding would go unnoticed here, so this is for forests without them only.
    """
    members = cache.units.members[unit]
    cells = tuple(cache.point[f] if f in members else cell for f, cell in enumerate(witness.witness))
    if cells == witness.witness:
        cache.tally.remembered += 1
        return witness
    if cache.forest.band or not cache.forest.allows(cells):
        return None
    oracle = cache.oracle
    label = oracle.label(cells) if isinstance(oracle, Labels) else cache.forest.label(cells)
    if not violates(cache.claim, label):
        return None
    cache.tally.remembered += 1
    return Refuted(cells, label)
