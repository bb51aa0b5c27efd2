"""What is known about one instance and one claim, so that the oracle is asked only what is new.

A question is a set of features fixed at the instance's values. A known witness that agrees with the instance on all of
them refutes it; a known sufficient set inside it entails it. Both are facts, so they can only make an answer come
sooner, never change it: results do not depend on what was asked before.

The other features are free: each may take any cell, or, if `free` says so, only some cells, its own always among them.
Freeing one more feature then never takes a point away, which is all that the searches rely on.

With groups (`treeproof.query.units`), the sets that are asked about, and those of answers, are sets of units: whole
groups, each by its first feature, and single features.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

from treeproof.errors import InternalError
from treeproof.query.cells import CellForest
from treeproof.query.oracle import (
    Answer,
    Cancel,
    Claim,
    Entailed,
    Oracle,
    Query,
    Refuted,
    Unknown,
    restricted,
    violates,
)
from treeproof.query.tally import Tally
from treeproof.query.units import Units
from treeproof.space.domains import Cells, Domain

_RECENT = 64  # answers of each kind that are remembered; a scan of thousands costs more than most questions


class Cache:
    """Asks the oracle about sets of fixed features of one point, and remembers its answers.

    `free` has the cells that each feature may take where it is not fixed; by default all. The point's own cell must be
    among them. Those of an ordered feature may have holes here, though not in a query.

    Sets of features are kept as bit masks: the cache is scanned for every question.
    """

    def __init__(
        self,
        forest: CellForest,
        oracle: Oracle,
        point: Cells,
        claim: Claim,
        deadline: float | None = None,
        cancel: Cancel | None = None,
        free: Sequence[Domain] | None = None,
        units: Units | None = None,
    ) -> None:
        self.forest = forest
        self.units = Units(forest.n_features, {}) if units is None else units
        self.point = point
        self.claim = claim
        self.deadline = deadline
        self.cancel = cancel
        self.tally = Tally()
        self.oracle = oracle
        self.limited: frozenset[int] = frozenset()
        self.free = forest.full
        self.has_holes = False
        self._still: frozenset[int] = frozenset()  # fixed in any case
        if free is not None:
            self._limit(free)
        # Each with the units in which it differs from the point. Old ones hardly ever settle anything: searches go
        # where nothing is known yet.
        self._witnesses: deque[tuple[int, Refuted]] = deque(maxlen=_RECENT)
        self._cores: deque[tuple[int, Entailed]] = deque(maxlen=_RECENT)

    def _limit(self, free: Sequence[Domain]) -> None:
        """Let features that are not fixed take these cells only."""
        self.limited = restricted(self.forest, free)
        self.free = tuple(free[f] if f in self.limited else whole for f, whole in enumerate(self.forest.full))
        assert all(self.point[f] in self.free[f] for f in self.limited), "a feature may stay as it is"
        self.has_holes = any(len(self._filled(f, self.free[f])) > len(self.free[f]) for f in self.limited)
        self._still = frozenset(f for f in self.limited if len(self.free[f]) == 1)

    @cached_property
    def own(self) -> tuple[Domain, ...]:
        """The point's own cell of each feature, as a domain."""
        return tuple(map(self.forest.at, range(len(self.point)), self.point))

    @property
    def features(self) -> frozenset[int]:
        """All features, or units if there are groups."""
        return self.units.everything

    def ask(self, fixed: frozenset[int]) -> Answer:
        """Does the claim hold with these features fixed at the point and all others free?

        The core of an answer names fixed features only; that the others keep to their free cells goes without saying.
        """
        wanted = _mask(fixed)
        kept = self.units.features(fixed)
        for differs, refuted in reversed(self._witnesses):
            if not differs & wanted:
                self.tally.remembered += 1
                return refuted
        for core, entailed in reversed(self._cores):
            if not core & ~wanted:
                self.tally.remembered += 1
                return entailed
        domains = tuple(self.own[f] if f in kept else self.free[f] for f in range(len(self.point)))
        answer = self.decide(domains) if self.limited else self._decide(domains)  # without limits there are no holes
        if isinstance(answer, Refuted):
            self._witnesses.append((_mask(self.differences(answer)), answer))
        elif isinstance(answer, Entailed):
            if not answer.core <= kept | self.limited:
                raise InternalError(f"{self.oracle.name}: a core must consist of fixed features; please report this.")
            if self.limited or self.units.groups:
                answer = replace(answer, core=self.units.touched(answer.core & (kept - self._still)))
            self._cores.append((_mask(answer.core), answer))
        return answer

    def decide(self, domains: Sequence[Domain]) -> Answer:
        """Does the claim hold for every point of these domains? Those of ordered and gapped features may have holes.

        The oracle is asked about the domains with their holes filled. A witness in a hole says nothing, so the parts
        on both sides of it are asked about instead.
        """
        answer = self._decide(tuple(self._filled(f, domain) for f, domain in enumerate(domains)))
        if not isinstance(answer, Refuted):
            return answer
        astray = next((f for f, domain in enumerate(domains) if answer.witness[f] not in domain), None)
        if astray is None:
            return answer
        hole = answer.witness[astray]
        proof = Entailed(frozenset({astray}))
        for side in ({c for c in domains[astray] if c < hole}, {c for c in domains[astray] if c > hole}):
            part = self.decide((*domains[:astray], frozenset(side), *domains[astray + 1 :]))
            if not isinstance(part, Entailed):
                return part
            proof = Entailed(proof.core | part.core, proof.near_tie or part.near_tie, proof.clauses | part.clauses)
        return proof

    def _filled(self, f: int, domain: Domain) -> Domain:
        """Return the domain without holes between its ordered cells."""
        if isinstance(domain, range) or not (self.forest.ordered[f] or self.forest.gapped[f]):
            return domain
        missing = {self.forest.n_cells[f] - 1} if self.forest.gapped[f] else set()
        numbers = domain - missing
        filled = range(min(numbers), max(numbers) + 1) if numbers else range(0)
        return frozenset({*filled, *(domain & missing)}) if self.forest.gapped[f] else filled

    def smallest_core(self, inside: frozenset[int]) -> frozenset[int]:
        """Return the smallest set inside `inside`, itself sufficient, that is known to be sufficient."""
        wanted = _mask(inside)
        known = [entailed.core for core, entailed in self._cores if not core & ~wanted]
        return min([inside, *known], key=len)

    def differences(self, witness: Refuted) -> frozenset[int]:
        """Return the features, or units, in which the witness differs from the point."""
        return self.units.touched(f for f, cell in enumerate(self.point) if witness.witness[f] != cell)

    def _decide(self, domains: tuple[Domain, ...]) -> Answer:
        """Return the oracle's answer, counted and checked."""
        start = time.perf_counter()
        answer = self.oracle.decide(Query(domains, self.claim, self.deadline, self.point))
        seconds = time.perf_counter() - start
        if isinstance(answer, Unknown):
            self.tally.unknown += 1
            return answer
        self.tally.near_ties += answer.near_tie
        if isinstance(answer, Entailed):
            self.tally.entailed += 1
            self.tally.longest_entailed = max(self.tally.longest_entailed, seconds)
            return answer
        self.tally.refuted += 1
        self.tally.longest_refuted = max(self.tally.longest_refuted, seconds)
        inside = all(cell in domain for cell, domain in zip(answer.witness, domains, strict=True))
        allowed = inside and self.forest.allows(answer.witness)
        if not allowed or not violates(self.claim, self.forest.label(answer.witness)):
            raise InternalError(f"{self.oracle.name}: a witness did not refute its query; please report this.")
        return answer


def _mask(features: Iterable[int]) -> int:
    mask = 0
    for feature in features:
        mask |= 1 << feature
    return mask
