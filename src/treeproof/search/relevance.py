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
that meet all changes without t that are known, and with which the box has a witness. Each is first enlarged by what
else a witness there can leave alone. If it suffices with t, t is relevant; if not, there is one more change without t.
All boxes are tried for a while before any is tried for longer: where t is relevant, one of them mostly shows it soon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from treeproof.query.cache import Cache
from treeproof.query.gains import gaining_regions
from treeproof.query.oracle import Entailed, Refuted, Unknown, expired
from treeproof.search.map_solver import Chart
from treeproof.search.marco import enumerate_minimal
from treeproof.search.minimal import Sufficient, abductive, change_beside, checked
from treeproof.space.domains import Domain, as_domain

_PATIENCE = 200  # explanations that show nothing new, before features are looked at one by one; then a quarter of that
_EFFORT = 100  # sets that are tried for each of their boxes at first; twice as many the next time
_MOST_REGIONS = 500  # of a feature that is looked at; one with more turns up sooner or later


@dataclass(slots=True)
class _Region:
    """A box in which a feature can help a rival, and what the search there has found so far.

    `forced` are the features that every point of the domains changes, the feature itself among them. `useless` are sets
    of others that, kept, leave the domains without a witness. Once it is `closed`, the feature is in no explanation for
    a witness in this box.
    """

    domains: Sequence[Domain]
    forced: frozenset[int]
    useless: list[frozenset[int]] = field(default_factory=list)
    closed: bool = False


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
    targets: dict[int, list[_Region]] | None = None
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
        if idle >= (_PATIENCE if targets is None else _PATIENCE // 4):
            idle = 0
            targets = _targets(cache, found) if targets is None else targets
            for feature, regions in targets.items():
                if found.known(feature):
                    continue
                sufficient = _with_target(cache, order, feature, regions, changes, effort)
                if sufficient is not None:
                    show(sufficient)
                elif all(region.closed for region in regions):
                    found.irrelevant |= {feature}
            effort *= 2
        if all(map(found.known, cache.features)):
            return
        order.sort(key=lambda f: not found.known(f))


def _targets(cache: Cache, found: Relevances) -> dict[int, list[_Region]]:
    """Return the unknown features, each with the boxes in which it can help a rival; those with few boxes first.

    With constraints between features, or sums that may round, a feature may matter elsewhere too.
    """
    if cache.forest.band or cache.forest.clauses or cache.units.groups:
        return {}
    targets = {}
    for target in sorted(cache.features):
        if found.known(target):
            continue
        boxes = gaining_regions(cache.forest, cache.point, cache.claim.label, target, _MOST_REGIONS)
        if boxes is not None:
            targets[target] = [region for box in boxes if (region := _region(cache, box)) is not None]
    return dict(sorted(targets.items(), key=lambda entry: len(entry[1])))


def _region(cache: Cache, box: Mapping[int, int]) -> _Region | None:
    """Return the part of a box that is allowed, if there is one."""
    domains = [
        as_domain(frozenset(cell for cell in free if box[f] >> cell & 1), cache.forest.ordered[f]) if f in box else free
        for f, free in enumerate(cache.free)
    ]
    forced = frozenset(f for f in box if cache.point[f] not in domains[f])
    return _Region(domains, forced) if all(map(len, domains)) else None


def _with_target(
    cache: Cache,
    order: Sequence[int],
    target: int,
    regions: Sequence[_Region],
    changes: list[frozenset[int]],
    effort: int,
) -> Sufficient | None:
    """Return an abductive explanation with the target, or None if none was found; regions without any are closed.

    `changes` are sets whose change breaks the claim; those found on the way are added. In each region at most `effort`
    sets are tried.
    """
    for region in regions:
        if region.closed:
            continue
        kept = _kept_by_witness(cache, order, target, region, changes, effort)
        if kept is not None:
            return abductive(cache, order, start=kept | {target})
    return None


def _kept_by_witness(
    cache: Cache,
    order: Sequence[int],
    target: int,
    region: _Region,
    changes: list[frozenset[int]],
    effort: int,
) -> frozenset[int] | None:
    """Return features that a witness in the region leaves alone, and that suffice with the target.

    None if so many tries find none; the region is closed if there are none. Changes that are found are added to
    `changes`.
    """
    forced = region.forced
    # Any point of the region will do: forced features are never put back.
    home = tuple(
        cell if cell in domain else min(domain) for cell, domain in zip(cache.point, region.domains, strict=True)
    )
    inside = Cache(cache.forest, cache.oracle, home, cache.claim, cache.deadline, cache.cancel, region.domains)
    inside.tally = cache.tally
    forced_last = sorted(order, key=lambda f: f in forced)
    with Chart(cache.features - forced, deadline=cache.deadline) as chart:
        chart.favour(-(f + 1) for f in cache.features - forced)
        for known in changes:
            if target not in known:
                chart.meet(known - forced)
        for useless in region.useless:
            chart.avoid(useless)
        while chart.solve():
            if (effort := effort - 1) < 0:
                return None
            kept = chart.features()
            # Which of the others can a witness leave alone too? The more, the sooner they suffice.
            near = change_beside(inside, order[::-1], kept, forced)
            if near is None:
                useless = _core(inside, kept)
                region.useless.append(useless)
                chart.avoid(useless)
                continue
            kept = cache.features - forced - near.features
            change = change_beside(cache, forced_last, kept | {target}, forced)
            if change is None:
                return kept
            changes.append(checked(cache, change).features)
            chart.meet(change.features - forced)
    region.closed = True
    return None


def _core(cache: Cache, kept: frozenset[int]) -> frozenset[int]:
    """Return those of features that suffice which the proof of that needs; TimeoutError when the deadline comes first.

    A minimal set would exclude more, but takes a question for each feature: fewer rows were decided in the same time.
    """
    answer = cache.ask(kept)
    if isinstance(answer, Unknown):
        raise TimeoutError
    assert isinstance(answer, Entailed), "they suffice"
    return answer.core
