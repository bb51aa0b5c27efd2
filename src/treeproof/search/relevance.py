"""Which features are in every, in some or in no abductive explanation.

A feature is in every one iff all others together do not suffice. For the rest, explanations of both kinds are
enumerated until every feature has turned up in one, or there are no more. Deletion tries those features last that have
not turned up yet, so most do soon.

A feature t of a contrastive explanation C is relevant too. Fix t and everything outside C: that entails the claim,
because C is minimal. Of C it has only t, so every abductive explanation inside it has t, or it would not meet C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from treeproof.query.cache import Cache
from treeproof.query.oracle import Refuted, Unknown, expired
from treeproof.search.marco import enumerate_minimal
from treeproof.search.minimal import Sufficient, abductive


@dataclass(slots=True)
class Relevances:
    """What is proved of features; nothing is known of one that is in none of these.

    `necessary`: in every abductive explanation, each with a witness that differs from the point in this feature alone.
    `relevant`: in some but not in every one, each with one that has it. `irrelevant`: in none.
    """

    necessary: dict[int, Refuted] = field(default_factory=dict)
    relevant: dict[int, frozenset[int]] = field(default_factory=dict)
    irrelevant: frozenset[int] = frozenset()

    def known(self, feature: int) -> bool:
        """Return whether it is proved what this feature is."""
        return feature in self.necessary or feature in self.relevant or feature in self.irrelevant


def find_relevances(cache: Cache, order: Sequence[int]) -> Relevances:
    """Return which features are necessary, relevant and irrelevant; at the deadline, as far as that is known."""
    # A feature that cannot change never matters.
    members = cache.units.members
    found = Relevances(
        irrelevant=frozenset(u for u in cache.features if all(len(cache.free[f]) == 1 for f in members[u]))
    )
    try:
        _find_necessary(cache, found)
        _find_relevant(cache, list(order), found)
        found.irrelevant |= frozenset(f for f in cache.features if not found.known(f))
    except TimeoutError:
        pass
    return found


def _find_necessary(cache: Cache, found: Relevances) -> None:
    for feature in sorted(cache.features):
        answer = cache.ask(cache.features - {feature})
        if isinstance(answer, Unknown) or expired(cache.deadline):
            raise TimeoutError
        if isinstance(answer, Refuted):
            found.necessary[feature] = answer


def _find_relevant(cache: Cache, order: list[int], found: Relevances) -> None:
    """Find every relevant feature, given the necessary ones; TimeoutError when the deadline comes first."""

    def show(sufficient: Sufficient) -> None:
        if sufficient.status == "sound":
            raise TimeoutError
        for feature in sufficient.features - found.necessary.keys():
            found.relevant.setdefault(feature, sufficient.features)

    for explanation in enumerate_minimal(cache, order, "abductive"):
        if isinstance(explanation, Sufficient):
            show(explanation)
        else:
            for feature in sorted(explanation.features):
                if not found.known(feature):
                    show(abductive(cache, order, start=cache.features - explanation.features | {feature}))
        if all(map(found.known, cache.features)):
            return
        order.sort(key=lambda f: not found.known(f))
