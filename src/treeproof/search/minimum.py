"""The smallest or cheapest explanations, by implicit hitting sets.

Every abductive explanation meets every contrastive one, and whatever meets all of one kind contains one of the other.
So if some abductive explanation is cheaper than the best one found, a set as cheap meets all contrastive ones *known so
far*. If such a set suffices, it is a better one; if not, there is a contrastive explanation that it misses, which is
learned. That is repeated until there is no such set. With the kinds exchanged the same loop finds cheapest
changes. (Ignatiev, Previti, Liffiton and Marques-Silva, Smallest MUS Extraction with Minimal Hitting Set Dualization,
CP 2015.)

Which sets are learned decides how many are needed. They are built from the features that occurred least in earlier
ones, so that few features do not meet many of them; that saves two thirds of them. And after one is learned, more are
looked for that share no feature with it or the hitting set, until what was gathered suffices: that, shrunk, is a
candidate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from treeproof.query.cache import Cache
from treeproof.query.oracle import Entailed, Refuted, Unknown, expired
from treeproof.search.hitting import HittingSets
from treeproof.search.minimal import Change, Sufficient, abductive, contrastive

Found = TypeVar("Found", Sufficient, Change)
Other = TypeVar("Other", Sufficient, Change)
Set = frozenset[int]


@dataclass(frozen=True, slots=True)
class Minimum(Generic[Found, Other]):
    """The cheapest set found, with status ``"minimum"`` unless the deadline came first.

    `bound` is proved: no set of its kind costs less, for each must meet all of the `others`, sets of the other kind.
    """

    found: Found
    bound: int
    others: tuple[Other, ...]


def minimum_abductive(cache: Cache, order: Sequence[int], costs: Mapping[int, int]) -> Minimum[Sufficient, Change]:
    """Return a cheapest set of features that entails the claim; `costs` are positive, and given for every feature."""
    costliest_first = sorted(order, key=lambda f: -costs[f])

    def shrink(kept: Set) -> Sufficient:
        return abductive(cache, costliest_first, start=kept)

    def missed(kept: Set, order: Sequence[int]) -> Change | None:
        answer = _ask(cache, kept)
        return None if isinstance(answer, Entailed) else contrastive(cache, order, answer, cache.features - kept)

    return _minimum(cache, order, costs, shrink(cache.features), shrink, missed)


def minimum_contrastive(
    cache: Cache, order: Sequence[int], costs: Mapping[int, int], witness: Refuted
) -> Minimum[Change, Sufficient]:
    """Return a cheapest set of features that refutes the claim when freed; `witness` shows that all features do."""
    costliest_first = sorted(order, key=lambda f: -costs[f])

    def shrink(freed: Set) -> Change:
        answer = _ask(cache, cache.features - freed)
        assert isinstance(answer, Refuted), "only sets that do are shrunk"
        return contrastive(cache, costliest_first, answer, freed)

    def missed(freed: Set, order: Sequence[int]) -> Sufficient | None:
        answer = _ask(cache, cache.features - freed)
        return None if isinstance(answer, Refuted) else abductive(cache, order, cache.features - freed)

    return _minimum(cache, order, costs, contrastive(cache, costliest_first, witness), shrink, missed)


def _minimum(
    cache: Cache,
    order: Sequence[int],
    costs: Mapping[int, int],
    best: Found,
    shrink: Callable[[Set], Found],
    missed: Callable[[Set, Sequence[int]], Other | None],
) -> Minimum[Found, Other]:
    """Return a cheapest set of one kind.

    `best` is any set that does. `shrink` makes a set that does minimal; `missed` returns a minimal set of the other
    kind that has none of the given features, or None if these do.
    """
    uses: Counter[int] = Counter()
    others: list[Other] = []
    sets = HittingSets(costs, deadline=cache.deadline)

    def cost(features: Set) -> int:
        return sum(costs[f] for f in features)

    def filled(features: Set, most: int) -> Set:
        """Return these features and more, the often used ones first, as long as they cost no more than `most`."""
        left = most - cost(features)
        for f in sorted(cache.features - features, key=lambda f: -uses[f] / costs[f]):
            if costs[f] <= left:
                features |= {f}
                left -= costs[f]
        return features

    def learn(features: Set) -> Set:
        """Learn and return a set that these features miss; empty if these do."""
        if expired(cache.deadline):
            raise TimeoutError
        other = missed(features, sorted(order, key=lambda f: -uses[f] / costs[f]))
        if other is None:
            return frozenset()
        if other.status == "sound":
            raise TimeoutError
        uses.update(other.features)
        sets.add(other.features)
        others.append(other)
        return other.features

    with sets:
        try:
            for f in sorted(best.features):  # which of them does every set have?
                learn(cache.features - {f})
            while (gathered := sets.cheaper(than=cost(best.features))) is not None:
                if cost(gathered) > sets.bound:
                    gathered = filled(gathered, cost(best.features) - 1)
                while more := learn(gathered):
                    gathered |= more
                candidate = shrink(gathered)
                if cost(candidate.features) < cost(best.features):
                    best = candidate
        except TimeoutError:
            if sets.bound < cost(best.features):
                return Minimum(best, sets.bound, tuple(others))
    return Minimum(replace(best, status="minimum"), cost(best.features), tuple(others))


def _ask(cache: Cache, fixed: Set) -> Entailed | Refuted:
    """Return the answer; TimeoutError when the deadline comes first."""
    answer = cache.ask(fixed)
    if isinstance(answer, Unknown):
        raise TimeoutError
    return answer
