"""The smallest or cheapest explanations, by implicit hitting sets.

Every abductive explanation meets every contrastive one, and whatever meets all of one kind contains one of the other.
So if some abductive explanation is cheaper than the best one found, a set as cheap meets all contrastive ones *known so
far*. If such a set suffices, it is a better one; if not, there is a contrastive explanation that it misses, which is
learned. That is repeated until there is no such set. With the kinds exchanged the same loop finds cheapest
changes. (Ignatiev, Previti, Liffiton and Marques-Silva, Smallest MUS Extraction with Minimal Hitting Set Dualization,
CP 2015.)

Which sets are learned decides how many are needed, and most time goes into learning them. The hitting set is filled up
with features that occurred often, as long as it would still be a better one. The search for hitting sets tries one
feature after the other, each excluded from then on: a set of excluded features alone closes a branch, the higher up
the earlier they were excluded. So what the hitting set misses leaves out first what is not excluded, often used
features first, then what was excluded last. It need not be minimal to count: whatever changes the label has to be met.
So nothing is proved: excluded features stay unless the witness at hand does without, and a question about others is
given up after some steps. Now and then more sets are learned that share no feature with it or the hitting set, until
what was gathered suffices: that is shrunk to a candidate.

A witness is looked for near that of the last set, by local search before any bound, and at first with all features that
are not excluded put back at once. A change near one that was shrunk has few features itself: three rows of wpbc need
six to seven tenths of the sets, each in half of the time.

On one row each, in the same order, proofs for every feature took 4.1 s and not 2.7 on biodegradation, 3.7 and not 2.1
on texture, more than 10 and not 3.0 on spectf, with fewer sets. Giving questions up took wpbc from more than 10 s to
7.5; elsewhere it was a gain on some rows and a loss on others.

Tried and not kept, on a row each, so a hint and no more: a SAT solver with a counter of the chosen features (on two of
the final families 12 to 30 times the time of branch and bound); filling up only to the size at hand (2 to 50 % more
sets), or with features that are not excluded first (from as many to 30 % more); asking beforehand about all features
that are not excluded (2 to 50 % more sets); prices of the bound kept from one set to the next (faster on some rows,
slower on others). In the search for hitting sets: excluding features that lie in too few open sets (no faster), and
bits for the sets of each feature (slower: deep down few sets are open); degrees weighted by the sizes of sets (close
one node in 6000); disjoint sets looked for a second time, those with rare features first (1.6 times the time). The one
of thousands of earlier witnesses that changes the fewest features of the hitting set, instead of the last one (no fewer
sets); questions about the one or three features that were excluded last (4 to 10 % more sets, dearer ones); 2 steps of
the bound about each excluded feature (15 % fewer sets, each 1.8 times as dear; with more steps, the time was up first);
a new start of the search when there are a fifth more sets (no fewer). Gathering and shrinking every time took a fifth
to half of all time. Doing it less often leaves somewhat longer sets where the deadline comes first (wpbc, sonar).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from treeproof.query.cache import Cache
from treeproof.query.oracle import Entailed, Refuted, Unknown, expired
from treeproof.search.hitting import HittingSets, SmallestHittingSets
from treeproof.search.minimal import Change, Sufficient, abductive, change_beside, check_all, contrastive
from treeproof.space.domains import Cells

Found = TypeVar("Found", Sufficient, Change)
Other = TypeVar("Other", Sufficient, Change)
Set = frozenset[int]

_BATCH = 256  # witnesses that are checked at once
_GATHER = 4  # a candidate is gathered when this share of sets, one in so many, was learned since the last one


@dataclass(frozen=True, slots=True)
class Minimum(Generic[Found, Other]):
    """The cheapest set found, with status ``"minimum"`` unless the deadline came first.

    `bound` is proved: no set of its kind costs less, for each must meet all of the `others`, sets of the other kind.
    """

    found: Found
    bound: int
    others: tuple[Other, ...]


def minimum_abductive(
    cache: Cache, order: Sequence[int], costs: Mapping[int, int], enough: int | None = None
) -> Minimum[Sufficient, Change]:
    """Return a cheapest set of features that entails the claim; `costs` are positive, and given for every feature.

    With `enough`, a set that costs no more will do, and the search ends when it is proved that there is none.
    """
    costliest_first = sorted(order, key=lambda f: -costs[f])
    unchecked: list[Change] = []
    last: Cells = ()  # the last witness

    def shrink(kept: Set) -> Sufficient:
        return abductive(cache, costliest_first, start=kept)

    def missed(kept: Set, order: Sequence[int], excluded: Set) -> Change | None:
        nonlocal last
        if len(unchecked) == _BATCH:
            check_all(cache, unchecked)
            unchecked.clear()
        change = change_beside(cache, order, kept, excluded, last)
        if change is not None:
            unchecked.append(change)
            last = change.witness.witness
        return change

    found = _minimum(cache, order, costs, shrink(cache.features), shrink, missed, enough)
    check_all(cache, unchecked)
    return found


def minimum_contrastive(
    cache: Cache, order: Sequence[int], costs: Mapping[int, int], witness: Refuted
) -> Minimum[Change, Sufficient]:
    """Return a cheapest set of features that refutes the claim when freed; `witness` shows that all features do."""
    costliest_first = sorted(order, key=lambda f: -costs[f])

    def shrink(freed: Set) -> Change:
        answer = _ask(cache, cache.features - freed)
        assert isinstance(answer, Refuted), "only sets that do are shrunk"
        return contrastive(cache, costliest_first, answer, freed)

    def missed(freed: Set, order: Sequence[int], _excluded: Set) -> Sufficient | None:
        if isinstance(_ask(cache, cache.features - freed), Refuted):
            return None
        found = abductive(cache, order, cache.features - freed)
        if found.status == "sound":
            raise TimeoutError
        return found

    return _minimum(cache, order, costs, contrastive(cache, costliest_first, witness), shrink, missed)


def _minimum(
    cache: Cache,
    order: Sequence[int],
    costs: Mapping[int, int],
    best: Found,
    shrink: Callable[[Set], Found],
    missed: Callable[[Set, Sequence[int], Set], Other | None],
    enough: int | None = None,
) -> Minimum[Found, Other]:
    """Return a cheapest set of one kind.

    `best` is any set that does. `shrink` makes a set that does minimal. `missed` returns a set of the other kind that
    has none of the given features, or None if these do; it leaves features out in the given order, but perhaps not
    every excluded one that it could.
    """
    uses = dict.fromkeys(cache.features, 0)
    others: list[Other] = []
    prices = set(costs.values())
    sets = (
        SmallestHittingSets(max(cache.features, default=-1) + 1, *prices, deadline=cache.deadline)
        if len(prices) == 1
        else HittingSets(costs, deadline=cache.deadline)
    )

    def cost(features: Set) -> int:
        return sum(costs[f] for f in features)

    def limit() -> int:
        """Return what a set must cost less than to be worth finding."""
        return cost(best.features) if enough is None else min(cost(best.features), enough + 1)

    def by_use() -> list[int]:
        """Return the features, the often used ones first."""
        return sorted(order, key=lambda f: -uses[f] / costs[f])

    def filled(features: Set, most: int) -> Set:
        """Return these features and more, the often used ones first, as long as they cost no more than `most`."""
        left = most - cost(features)
        for f in by_use() if left else ():
            if f not in features and costs[f] <= left:
                features |= {f}
                left -= costs[f]
        return features

    def learn(features: Set, excluded: Sequence[int] = ()) -> Set:
        """Learn and return a set that these features miss, if possible of what was excluded; empty if these do."""
        if expired(cache.deadline):
            raise TimeoutError
        late = frozenset(excluded)
        other = missed(features, [f for f in by_use() if f not in late] + [*reversed(excluded)], late)
        if other is None:
            return frozenset()
        for f in other.features:
            uses[f] += 1
        sets.add(other.features)
        others.append(other)
        return other.features

    with sets:
        try:
            for f in sorted(best.features):  # which of them does every set have?
                learn(cache.features - {f})
            gather_at = 0
            while (chosen := sets.cheapest(below=limit())) is not None:
                if enough is not None and cost(best.features) <= enough:
                    return Minimum(best, sets.bound, tuple(others))
                gathered = filled(chosen, limit() - 1)
                if more := learn(gathered, sets.excluded):
                    if len(others) < gather_at:
                        continue
                    gather_at = len(others) + len(others) // _GATHER
                    while more:
                        gathered |= more
                        more = learn(gathered)
                candidate = shrink(gathered)
                if cost(candidate.features) < cost(best.features):
                    best = candidate
        except TimeoutError:
            if sets.bound < cost(best.features):
                return Minimum(best, sets.bound, tuple(others))
    if limit() < cost(best.features):
        return Minimum(best, limit(), tuple(others))
    return Minimum(replace(best, status="minimum"), cost(best.features), tuple(others))


def _ask(cache: Cache, fixed: Set) -> Entailed | Refuted:
    """Return the answer; TimeoutError when the deadline comes first."""
    answer = cache.ask(fixed)
    if isinstance(answer, Unknown):
        raise TimeoutError
    return answer
