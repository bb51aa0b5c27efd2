"""Subset-minimal explanations by canonical deletion.

Abductive: in the given order, a feature is freed iff the rest still entails the claim. Contrastive, its dual: in the
given order, a feature is fixed iff the rest, free, still refutes it. Which answer a question has does not depend on the
oracle, so neither does the result.

Jumping to a core (or to the features in which a witness differs) would be a shortcut to *some* minimal set, one that
depends on which core the oracle happened to find; memory gives most of the speed without that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from treeproof.oracles.native import NativeOracle
from treeproof.query import Entailed, Refuted, Stays, Unknown
from treeproof.search.memory import Memory


@dataclass(frozen=True, slots=True)
class Sufficient:
    """Features whose values alone force the claim; `minimal` unless the deadline came first.

    `clauses` are the rules between features that the proof of that used.
    """

    features: frozenset[int]
    status: Literal["minimal", "sound"]
    clauses: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Change:
    """Features whose change alone can break the claim, with a witness; `minimal` unless the deadline came first."""

    features: frozenset[int]
    witness: Refuted
    status: Literal["minimal", "sound"]


def abductive(memory: Memory, order: Sequence[int], start: frozenset[int] | None = None) -> Sufficient:
    """Return a subset-minimal set of features that entails the claim.

    `start` is a set that is known to entail it, by default all features: the instance itself satisfies the claim.
    """
    kept = memory.features if start is None else start
    if isinstance(memory.oracle, NativeOracle) and isinstance(memory.claim, Stays):
        deletion = memory.oracle.delete(memory.point, memory.claim.label, order, kept, memory.deadline, memory.cancel)
        memory.counts.add(deletion)
        clauses = deletion.clauses if deletion.entailed else _clauses_used(memory, kept)
        return Sufficient(deletion.features, "minimal" if deletion.minimal else "sound", clauses)
    for feature in order:
        if feature not in kept:
            continue
        answer = memory.ask(kept - {feature})
        if isinstance(answer, Unknown):
            kept = memory.smallest_core(kept)
            return Sufficient(kept, "sound", _clauses_used(memory, kept))
        if isinstance(answer, Entailed):
            kept -= {feature}
    return Sufficient(kept, "minimal", _clauses_used(memory, kept))


def _clauses_used(memory: Memory, features: frozenset[int]) -> frozenset[int]:
    """Return the rules between features that a known proof of sufficiency used."""
    if not memory.forest.clauses or features == memory.features:
        return frozenset()
    answer = memory.ask(features)  # known, so remembered
    return answer.clauses if isinstance(answer, Entailed) else frozenset(range(len(memory.forest.clauses)))


def contrastive(memory: Memory, order: Sequence[int], witness: Refuted, start: frozenset[int] | None = None) -> Change:
    """Return a subset-minimal set of features that, when freed, refutes the claim.

    `start` is a set that is known to refute it when freed, by default all features; `witness` shows that.
    """
    freed = memory.features if start is None else start
    for feature in order:
        if feature not in freed:
            continue
        answer = memory.ask(memory.features - freed | {feature})
        if isinstance(answer, Unknown):
            return Change(memory.differences(witness), witness, "sound")
        if isinstance(answer, Refuted):
            witness = answer
            freed -= {feature}
    return Change(freed, witness, "minimal")
