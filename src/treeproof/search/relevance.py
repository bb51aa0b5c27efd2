"""Which features are in every, in some or in no abductive explanation.

A feature is in every one iff all others together do not suffice. For the rest, explanations of both kinds are
enumerated until every feature has turned up in one, or there are no more. Deletion tries those features last that have
not turned up yet, so most do soon.

A feature t of a contrastive explanation C is relevant too. Fix t and everything outside C: that entails the claim,
because C is minimal. Of C it has only t, so every abductive explanation inside it has t, or it would not meet C.

That a feature t is in none would take all explanations, of which there are too many. But t is in one iff there is a
witness that is none any more with t put back, such that t and all that the witness leaves alone suffice. Such a witness
lies where t can help a rival, in one of a few boxes of cells (`gaining_regions`). It changes every feature whose own
cell is outside the box. What it leaves alone is looked for among the others: for each box, and as in `minimum`, sets
that meet all changes without t that are known, and with which the box has a witness. There are far fewer of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from treeproof.query.cache import Cache
from treeproof.query.gains import gaining_regions
from treeproof.query.oracle import Answer, Entailed, Refuted, Unknown, expired
from treeproof.search.map_solver import Chart
from treeproof.search.marco import enumerate_minimal
from treeproof.search.minimal import Sufficient, abductive, change_beside, checked
from treeproof.space.domains import Domain

_PATIENCE = 200  # explanations that show nothing new, before features are looked at one by one
_EFFORT = 1000  # sets that are tried for each of them at first; twice as many the next time
_MOST_REGIONS = 500  # of a feature that is looked at; one with more turns up sooner or later


class _TooHardError(Exception):
    """So many sets do not decide whether a feature is relevant."""


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

    idle, effort = 0, _EFFORT
    targets: list[tuple[int, list[dict[int, int]]]] | None = None
    changes: list[frozenset[int]] = []
    for explanation in enumerate_minimal(cache, order, "abductive"):
        n_relevant = len(found.relevant)
        if isinstance(explanation, Sufficient):
            show(explanation)
        else:
            changes.append(explanation.features)
            for feature in sorted(explanation.features):
                if not found.known(feature):
                    show(abductive(cache, order, start=cache.features - explanation.features | {feature}))
        idle = 0 if len(found.relevant) > n_relevant else idle + 1
        if idle >= _PATIENCE:
            idle = 0
            targets = _targets(cache, found) if targets is None else targets
            for feature, regions in targets:
                if found.known(feature):
                    continue
                try:
                    sufficient = _with_target(cache, order, feature, regions, changes, effort)
                except _TooHardError:
                    continue
                if sufficient is None:
                    found.irrelevant |= {feature}
                else:
                    show(sufficient)
            effort *= 2
        if all(map(found.known, cache.features)):
            return
        order.sort(key=lambda f: not found.known(f))


def _targets(cache: Cache, found: Relevances) -> list[tuple[int, list[dict[int, int]]]]:
    """Return the unknown features, each with the boxes in which it can help a rival; those with few boxes first.

    With constraints between features, or sums that may round, a feature may matter elsewhere too.
    """
    if cache.forest.band or cache.forest.clauses or cache.units.groups:
        return []
    forest, point, label = cache.forest, cache.point, cache.claim.label
    unknown = [f for f in sorted(cache.features) if not found.known(f)]
    regions = ((f, gaining_regions(forest, point, label, f, _MOST_REGIONS)) for f in unknown)
    return sorted(((f, boxes) for f, boxes in regions if boxes is not None), key=lambda entry: len(entry[1]))


def _with_target(
    cache: Cache,
    order: Sequence[int],
    target: int,
    regions: Sequence[dict[int, int]],
    changes: list[frozenset[int]],
    effort: int,
) -> Sufficient | None:
    """Return an abductive explanation with the target, or None if there is none.

    `changes` are sets whose change breaks the claim; those found on the way are added. Raises _TooHardError if `effort`
    sets for a box do not tell.
    """
    for region in regions:
        domains = [
            frozenset(cell for cell in free if region[f] >> cell & 1) if f in region else free
            for f, free in enumerate(cache.free)
        ]
        forced = frozenset(f for f in region if cache.point[f] not in domains[f])
        if not all(domains) or any(change <= forced - {target} for change in changes):
            continue
        forced_last = sorted(order, key=lambda f: f in forced)
        kept = _kept_by_witness(cache, forced_last, target, domains, forced, changes, effort)
        if kept is not None:
            return abductive(cache, order, start=kept | {target})
    return None


def _kept_by_witness(
    cache: Cache,
    order: Sequence[int],
    target: int,
    domains: Sequence[Domain],
    forced: frozenset[int],
    changes: list[frozenset[int]],
    effort: int,
) -> frozenset[int] | None:
    """Return features that a witness in the domains leaves alone, and that suffice with the target; None without any.

    `forced` are those that every point there changes, the target among them. Changes that are found are added to
    `changes`.
    """

    def inside(kept: frozenset[int]) -> Entailed | Refuted:
        answer = cache.decide([cache.own[f] if f in kept else domain for f, domain in enumerate(domains)])
        return _certain(cache, answer)

    if isinstance(inside(frozenset()), Entailed):
        return None
    with Chart(cache.features - forced, deadline=cache.deadline) as chart:
        chart.favour(-(f + 1) for f in cache.features - forced)
        for known in changes:
            if target not in known:
                chart.meet(known - forced)
        while chart.solve():
            if (effort := effort - 1) < 0:
                raise _TooHardError
            kept = chart.features()
            change = change_beside(cache, order, kept | {target}, forced)
            if change is not None:
                changes.append(checked(cache, change).features)
                chart.meet(change.features - forced)
                continue
            answer = inside(kept)
            if isinstance(answer, Refuted):
                return kept
            kept &= answer.core
            for f in [f for f in order if f in kept]:
                answer = inside(kept - {f})
                if isinstance(answer, Entailed):
                    kept &= answer.core
                    kept -= {f}
            chart.avoid(kept)
    return None


def _certain(cache: Cache, answer: Answer) -> Entailed | Refuted:
    """Return the answer; TimeoutError when the deadline came first."""
    if isinstance(answer, Unknown) or expired(cache.deadline):
        raise TimeoutError
    return answer
