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
from dataclasses import dataclass, replace
from typing import Literal

from treeproof.errors import InternalError
from treeproof.query.cache import Cache
from treeproof.query.nearer import FEW, put_back
from treeproof.query.oracle import (
    Alteration,
    Alters,
    Deletes,
    Entailed,
    Labels,
    Refuted,
    Stays,
    Thrift,
    Unknown,
    expired,
    violates,
)
from treeproof.space.domains import Cells

Status = Literal["minimum", "minimal", "sound"]
"""What is proved of a set beyond that it does: none is cheaper; no feature can be left out; nothing."""

_EFFORT = 30  # steps of the bound for one feature of a change that need not be minimal


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
    """Features whose change alone can break the claim, with a witness that changes all of them.

    `sound` if the deadline came first, or if a minimal set was not asked for.
    """

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


def contrastive(cache: Cache, order: Sequence[int], witness: Refuted, start: frozenset[int] | None = None) -> Change:
    """Return a subset-minimal set of features that, when freed, refutes the claim.

    `start` is a set that is known to refute it when freed, by default all features; `witness` shows that.
    """
    freed = cache.features if start is None else start
    if _alters_as_a_whole(cache):
        found = _alteration(cache, order, freed, witness)
        assert found.witness is not None, "it had one"
        change = Change(found.features, found.witness, "minimal" if found.finished else "sound")
    else:
        change = _altered(cache, order, witness, freed)
    return checked(cache, _thinned(cache, change) if change.status == "sound" else change)


def _thinned(cache: Cache, change: Change) -> Change:
    """Return a change that the deadline cut short; of many features, those that its witness can do without are gone."""
    point, own = change.witness.witness, cache.point
    changed = [f for f, cell in enumerate(point) if cell != own[f]]
    if len(changed) <= FEW:
        return change

    def other(cells: Cells) -> int | None:
        label = _label(cache, cells) if cache.forest.allows(cells) else None
        return label if label is not None and violates(cache.claim, label) else None

    nearer, label = put_back(point, change.witness.label, own, changed, other, cache.deadline)
    near_tie = cache.forest.may_tie(nearer, label)
    cache.tally.near_ties += near_tie
    witness = Refuted(nearer, label, near_tie)
    return Change(cache.differences(witness), witness, "sound")


def change_beside(
    cache: Cache, order: Sequence[int], kept: frozenset[int], unasked: frozenset[int], hint: Cells = ()
) -> Change | None:
    """Return features other than the kept ones that refute the claim when freed, or None if the kept ones suffice.

    They are few, but perhaps not minimal, and depend on the oracle: those of `unasked` go only where a witness at hand
    does without, and so do others where the question takes long. A witness is looked for near the `hint` first. Raises
    TimeoutError when the deadline comes first. The
    caller has its witness `checked`.
    """
    if _alters_as_a_whole(cache):
        found = _alteration(cache, order, cache.features - kept, None, Thrift(unasked, _EFFORT, hint))
        if not found.finished:
            raise TimeoutError
        return None if found.witness is None else Change(found.features, found.witness, "sound")
    answer = cache.ask(kept)
    if isinstance(answer, Entailed):
        return None
    change = None if isinstance(answer, Unknown) else _altered(cache, order, answer, cache.features - kept, unasked)
    if change is None or change.status == "sound":
        raise TimeoutError
    return replace(change, status="sound")


def _alters_as_a_whole(cache: Cache) -> bool:
    return isinstance(cache.oracle, Alters) and not (cache.has_holes or cache.units.groups)


def _alteration(
    cache: Cache, order: Sequence[int], freed: frozenset[int], witness: Refuted | None, thrift: Thrift | None = None
) -> Alteration:
    assert isinstance(cache.oracle, Alters)
    free = cache.free if cache.limited else None
    found = cache.oracle.alter(
        cache.point, cache.claim, order, freed, witness, cache.deadline, cache.cancel, free, thrift
    )
    cache.tally.add(found.tally)
    return found


def checked(cache: Cache, change: Change) -> Change:
    """Return the change; InternalError unless the forest itself gives its witness the label that the oracle said."""
    _compare(cache, change, cache.forest.label(change.witness.witness))
    return change


def check_all(cache: Cache, changes: Sequence[Change]) -> None:
    """Do as `checked` does for many changes at once: a few times faster."""
    labels = cache.forest.labels([change.witness.witness for change in changes])
    for change, label in zip(changes, labels, strict=True):
        _compare(cache, change, label)


def _compare(cache: Cache, change: Change, label: int) -> None:
    if change.witness.label != label:
        raise InternalError(f"{cache.oracle.name}: a witness has another label than it said; please report this.")


def _altered(
    cache: Cache,
    order: Sequence[int],
    witness: Refuted,
    freed: frozenset[int],
    unasked: frozenset[int] = frozenset(),
) -> Change:
    """Return what is left of the freed features when each goes that can, but for those that are not asked about."""
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
    return Change(cache.differences(witness), witness, "minimal")  # a later one may do without what was not asked about


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
    label = _label(cache, cells)
    if not violates(cache.claim, label):
        return None
    cache.tally.remembered += 1
    return Refuted(cells, label)


def _label(cache: Cache, cells: Cells) -> int:
    return cache.oracle.label(cells) if isinstance(cache.oracle, Labels) else cache.forest.label(cells)
