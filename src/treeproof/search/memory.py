"""What is known about one instance and one claim, so that the oracle is asked only what is new.

A question is a set of features fixed at the instance's values. A known witness that agrees with the instance on all of
them refutes it; a known sufficient set inside it entails it. Both are facts, so they can only make an answer come
sooner, never change it: results do not depend on what was asked before.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from treeproof.cells import CellForest
from treeproof.errors import InternalError
from treeproof.oracles.native import Cancel, Deletion
from treeproof.query import Answer, Cells, Claim, Entailed, Oracle, Query, Refuted, Unknown, fix, violates


@dataclass(slots=True)
class Counts:
    """How many questions had which outcome at the oracle, and how many were answered from memory.

    The longest are seconds that one question with that outcome took.
    """

    entailed: int = 0
    refuted: int = 0
    unknown: int = 0
    remembered: int = 0
    near_ties: int = 0
    longest_entailed: float = 0.0
    longest_refuted: float = 0.0

    def add(self, other: Deletion) -> None:
        """Count what a deletion inside the native core asked."""
        self.entailed += other.entailed
        self.refuted += other.refuted
        self.unknown += other.unknown
        self.remembered += other.remembered
        self.near_ties += other.near_ties
        self.longest_entailed = max(self.longest_entailed, other.longest_entailed)
        self.longest_refuted = max(self.longest_refuted, other.longest_refuted)


class Memory:
    """Asks the oracle about sets of fixed features of one point, and remembers its answers.

    Sets of features are kept as bit masks: memory is scanned for every question.
    """

    def __init__(
        self,
        forest: CellForest,
        oracle: Oracle,
        point: Cells,
        claim: Claim,
        deadline: float | None = None,
        cancel: Cancel | None = None,
    ) -> None:
        self.forest = forest
        self.point = point
        self.claim = claim
        self.deadline = deadline
        self.cancel = cancel
        self.counts = Counts()
        self.oracle = oracle
        # Each with the features in which it differs from the point.
        self._witnesses: list[tuple[int, Refuted]] = []
        self._cores: list[tuple[int, Entailed]] = []

    @property
    def features(self) -> frozenset[int]:
        """All features."""
        return frozenset(range(self.forest.n_features))

    def ask(self, fixed: frozenset[int]) -> Answer:
        """Does the claim hold with these features fixed at the point and all others free?"""
        wanted = _mask(fixed)
        for differs, refuted in reversed(self._witnesses):
            if not differs & wanted:
                self.counts.remembered += 1
                return refuted
        for core, entailed in reversed(self._cores):
            if not core & ~wanted:
                self.counts.remembered += 1
                return entailed
        query = Query(fix(self.forest, self.point, fixed), self.claim, self.deadline, self.point)
        start = time.perf_counter()
        answer = self.oracle.decide(query)
        self._remember(query, answer, fixed, time.perf_counter() - start)
        return answer

    def smallest_core(self, inside: frozenset[int]) -> frozenset[int]:
        """Return the smallest set inside `inside`, itself sufficient, that is known to be sufficient."""
        wanted = _mask(inside)
        known = [entailed.core for core, entailed in self._cores if not core & ~wanted]
        return min([inside, *known], key=len)

    def differences(self, witness: Refuted) -> frozenset[int]:
        """Return the features in which the witness differs from the point."""
        return frozenset(f for f in self.features if witness.witness[f] != self.point[f])

    def _remember(self, query: Query, answer: Answer, fixed: frozenset[int], seconds: float) -> None:
        if isinstance(answer, Unknown):
            self.counts.unknown += 1
            return
        self.counts.near_ties += answer.near_tie
        if isinstance(answer, Entailed):
            self.counts.entailed += 1
            self.counts.longest_entailed = max(self.counts.longest_entailed, seconds)
            if not answer.core <= fixed:
                raise InternalError(f"{self.oracle.name}: a core must consist of fixed features; please report this.")
            self._cores.append((_mask(answer.core), answer))
            return
        self.counts.refuted += 1
        self.counts.longest_refuted = max(self.counts.longest_refuted, seconds)
        inside = all(cell in domain for cell, domain in zip(answer.witness, query.domains, strict=True))
        if not inside or not violates(self.claim, self.forest.label(answer.witness)):
            raise InternalError(f"{self.oracle.name}: a witness did not refute its query; please report this.")
        self._witnesses.append((_mask(self.differences(answer)), answer))


def _mask(features: Iterable[int]) -> int:
    mask = 0
    for feature in features:
        mask |= 1 << feature
    return mask
