"""Rules by deletion: as few conditions as possible, each as loose as possible, that still entail the claim.

Deletion is canonical, as in `treeproof.search.minimal`: a condition goes iff the claim holds without it, whatever was
asked before. What is known makes answers come sooner: a witness that satisfies the conditions refutes them, and
conditions that entail the claim do so together with others as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from treeproof.query.cache import Cache
from treeproof.query.oracle import Answer, Entailed, Refuted, Unknown
from treeproof.space.domains import Domain

Domains = tuple[Domain, ...]
Chosen = frozenset[int]
"""Some of the conditions, by index."""


class Conditions:
    """Asks whether some of many conditions, each on one feature, entail the claim.

    `features` has the feature of each condition; `domains` returns the cells that some conditions leave. With `local`,
    a feature without a condition stays near the point, where a condition may let it go further. Then fewer conditions
    may leave fewer points, so that what is known counts only for domains inside those it is known of.
    """

    def __init__(
        self, cache: Cache, features: Sequence[int], domains: Callable[[Chosen], Domains], local: bool = False
    ) -> None:
        self._cache = cache
        self._features = features
        self._domains = domains
        self._local = local
        self._witnesses: list[Refuted] = []
        self._enough: list[tuple[Chosen, Domains, Entailed]] = []

    def ask(self, chosen: Chosen) -> Answer:
        """Does the claim hold for all points that satisfy these conditions?"""
        domains = self._domains(chosen)
        for enough, proved, entailed in self._enough:
            if self._is_inside(domains, proved, entailed) if self._local else enough <= chosen:
                self._cache.tally.remembered += 1
                return entailed
        for refuted in reversed(self._witnesses):
            if all(cell in domain for cell, domain in zip(refuted.witness, domains, strict=True)):
                self._cache.tally.remembered += 1
                return refuted
        answer = self._cache.decide(domains)
        if isinstance(answer, Refuted):
            self._witnesses.append(answer)
        elif isinstance(answer, Entailed):
            enough = frozenset(c for c in chosen if self._features[c] in answer.core)
            self._enough.append((enough, domains, answer))
        return answer

    @staticmethod
    def _is_inside(domains: Domains, proved: Domains, entailed: Entailed) -> bool:
        """Return whether domains lie inside those of a proof, in every feature that it rests on."""
        return all(set(domains[f]) <= set(proved[f]) for f in entailed.core)

    def drop(self, kept: Chosen, order: Iterable[int]) -> tuple[Chosen, bool]:
        """Return what is left of conditions that entail the claim when, in this order, each is dropped that can be.

        Also whether that was the end: false if the deadline came first. What is left entails the claim anyway.
        """
        before, order = kept, list(order)
        for condition in order:
            if condition not in kept:
                continue
            answer = self.ask(kept - {condition})
            if isinstance(answer, Unknown):
                return kept, False
            if isinstance(answer, Entailed):
                kept -= {condition}
        if self._local and kept != before:  # one that was needed may be so no longer
            return self.drop(kept, order)
        return kept, True

    def exchange(self, kept: Chosen, looser: Mapping[int, Chosen]) -> tuple[Chosen, bool]:
        """Return conditions that entail the claim, with each exchanged for its looser ones if these do as well.

        The second value is as for `drop`.
        """
        for condition, instead in looser.items():
            if condition not in kept:
                continue
            answer = self.ask(kept - {condition} | instead)
            if isinstance(answer, Unknown):
                return kept, False
            if isinstance(answer, Entailed):
                kept = kept - {condition} | instead
        return kept, True
