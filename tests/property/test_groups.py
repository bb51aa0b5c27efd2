"""Groups of features against enumeration: all is as if each group were one feature."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

import treeproof as tp
from enumerated import readable
from families import Family, families, random_case, smallest
from treeproof.checker import CheckError, Model, check
from treeproof.model.files import forest_to_json

SEEDS = range(14)
VOTES = ["majority", "mean", "sum"]


class Grouped:
    """An explainer with random groups, a row, and by enumeration all its minimal explanations, as sets of names."""

    def __init__(self, seed: int, **options: Any) -> None:
        rng = np.random.default_rng([seed, 97])
        vote = VOTES[seed % 3]
        plain, self.row = random_case(seed, vote)
        names = rng.permutation(plain.space.names).tolist()
        self.names = plain.space.names
        first, second = sorted(rng.integers(1, len(names), 2).tolist())
        parts = [names[:first], names[first:second]]
        self.groups = {f"g{i}": part for i, part in enumerate(parts) if part}
        self.explainer, _ = random_case(seed, vote, groups=self.groups, **options)
        self.unit = {name: name for name in names} | {m: g for g, part in self.groups.items() for m in part}
        _, changes = families(plain, self.row)
        self.contrastive = smallest(frozenset(self.unit[self.names[f]] for f in change) for change in changes)
        self.abductive = hitting(self.contrastive, sorted(set(self.unit.values())))
        self.plain = plain
        self.model = Model(forest_to_json(plain.forest))

    def costs(self, seed: int) -> dict[str, int]:
        rng = np.random.default_rng([seed, 98])
        return {unit: int(rng.integers(1, 5)) for unit in sorted(set(self.unit.values()))}


def hitting(sets: Family | Iterable[frozenset[str]], units: list[str]) -> set[frozenset[str]]:
    """All minimal sets of units that meet all sets."""
    chosen = [frozenset(s) for n in range(len(units) + 1) for s in itertools.combinations(units, n)]
    return smallest(s for s in chosen if all(s & one for one in sets))


@cache
def grouped(seed: int) -> Grouped:
    """A case; the tests share them."""
    return Grouped(seed)


def units(result: Any) -> frozenset[str]:
    assert len(set(result.feature_names)) == len(result.feature_names) == result.size
    return frozenset(result.feature_names)


def cheapest(family: Iterable[frozenset[str]], costs: Mapping[str, int]) -> int:
    return min(sum(costs[unit] for unit in one) for one in family)


@pytest.mark.parametrize("seed", SEEDS)
def test_explanations_of_both_kinds_are_those_of_groups(seed):
    case = grouped(seed)
    explainer, row, costs = case.explainer, case.row, case.costs(seed)
    for options in ({}, {"tries": 3}, {"order": "row"}, {"inflate": True}, {"prefer": ["g0"]}):
        why = explainer.abductive(row, **options)
        assert units(why) in case.abductive
        readable(why)
        # The conditions force the label; those of kept groups are all there unless they were widened away.
        assert case.plain.review(row, why.rule).holds
        assert {case.unit[case.names[f]] for f in why.features} == units(why)
        assert case.plain.holds(row, [f for f in case.names if case.unit[f] in units(why)]).holds
        if not why.inflated:
            assert explainer.holds(row, why.feature_names).holds
    assert explainer.abductive(row, minimum=True).size == min(map(len, case.abductive))
    least = explainer.abductive(row, minimum=True, cost=costs)
    assert units(least) in case.abductive
    assert least.cost == cheapest(case.abductive, costs)
    found = list(explainer.enumerate(row, kind="both"))
    assert len(found) == len(case.contrastive) + len(case.abductive)
    assert {units(one) for one in found if isinstance(one, tp.Contrastive)} == case.contrastive
    assert {units(one) for one in found if isinstance(one, tp.Abductive)} == case.abductive
    assert explainer.batch([row])[0] == explainer.abductive(row)


@pytest.mark.parametrize("seed", SEEDS)
def test_changes_are_those_of_groups(seed):
    case = grouped(seed)
    explainer, row, costs = case.explainer, case.row, case.costs(seed)
    if not case.contrastive:
        assert explainer.contrastive(row).status == "impossible"
        return
    for options in ({}, {"distance": None}, {"prefer": ["g0"]}, {"minimum": True}):
        change = explainer.contrastive(row, **options)
        readable(change)
        assert units(change) in case.contrastive
        assert explainer.forest.predict([list(change.witness)])[0] == change.witness_label != change.label
        moved = {case.names[f] for f in change.features}
        assert {case.unit[name] for name in moved} == units(change)
        others = [name for name in case.names if name not in moved]
        assert case.plain.contrastive(row, fixed=others).witness is not None
        if options == {}:  # the members of these groups may change, and no values are closer
            free = [name for name in case.names if case.unit[name] in units(change)]
            nearest = case.plain.robustness(row, "l1", keep=[name for name in case.names if name not in free])
            assert change.closest
            assert change.distance == pytest.approx(nearest.nearest)
    assert explainer.contrastive(row, minimum=True).size == min(map(len, case.contrastive))
    assert explainer.contrastive(row, minimum=True, cost=costs).cost == cheapest(case.contrastive, costs)
    several = explainer.contrastives(row, n=50)
    assert {units(change) for change in several} == case.contrastive
    assert several.status == "all"


@pytest.mark.parametrize("seed", SEEDS)
def test_which_groups_matter(seed):
    case = grouped(seed)
    relevance = case.explainer.relevance(case.row)
    readable(relevance)
    necessary, used = frozenset.intersection(*case.abductive), frozenset.union(*case.abductive)
    assert set(relevance.necessary) == necessary
    assert set(relevance.relevant) == used - necessary
    assert set(relevance.irrelevant) == set(case.unit.values()) - used
    attribution = case.explainer.attribution(case.row)
    counts = dict(zip(attribution.feature_names, attribution.counts, strict=True))
    assert counts == {unit: sum(unit in one for one in case.abductive) for unit in set(case.unit.values())}
    (row,) = case.explainer.audit([case.row], protected=["g0"]).rows
    assert row.flips == any(change <= {"g0"} for change in case.contrastive)
    if row.flips is False:
        assert units(row.why) in case.abductive
        assert "g0" not in row.why.feature_names
    for unit in sorted(used)[:2]:
        assert unit in str(check(relevance.certificate(unit).document, case.model))


@pytest.mark.parametrize("seed", SEEDS[:4])
def test_every_oracle_finds_the_same(seed):
    case, other = grouped(seed), Grouped(seed, oracle="brute")
    for ask in ("abductive", "contrastive"):
        mine, its = (getattr(one.explainer, ask)(case.row) for one in (case, other))
        assert mine.feature_names == its.feature_names
    assert Grouped(seed, verify=True).explainer.abductive(case.row) == case.explainer.abductive(case.row)


def refused(document: Mapping[str, Any], case: Grouped) -> bool:
    try:
        check(document, case.model)
    except CheckError:
        return True
    return False


@pytest.mark.parametrize("seed", SEEDS)
def test_certificates_are_about_groups_and_altered_ones_are_refused(seed):
    case = grouped(seed)
    explainer, row = case.explainer, case.row
    cost = case.costs(seed)
    for options in ({}, {"inflate": True}, {"minimum": True}, {"minimum": True, "cost": cost}):
        why = explainer.abductive(row, **options)
        document = why.certificate().document
        checked = check(document, case.model)
        assert all(name in checked.text for name in why.feature_names)
        assert len(checked.groups) == len(case.groups)
        own = [
            name for part in case.groups.values() for name in part if name != "group"
        ]  # a one-hot feature has no name there
        assert all(name in " ".join(checked.groups) for name in own)
        without = {key: value for key, value in document.items() if key != "groups"}
        kept = [group for group in document["groups"] if group["name"] in why.feature_names]
        several = [g for g in kept if sum(str(f) in document["box"] for f in g["features"]) > 1]
        if several:  # it is not said of single features that none can be dropped
            assert refused(without, case)
        for key in document["witnesses"]:
            fewer = {k: w for k, w in document["witnesses"].items() if k != key}
            assert refused({**document, "witnesses": fewer}, case)
            assert refused({**document, "witnesses": {**fewer, key: document["instance"]}}, case)
        everything = [{"name": "all", "features": list(range(len(case.names)))}]
        if why.size > 1:  # a larger group has one witness only
            assert refused({**document, "groups": everything}, case)
        for bad in ([{"name": "g", "features": []}], [{"name": "g", "features": [0, 0]}], [{"name": "g"}]):
            assert refused({**document, "groups": bad}, case)
        twice = [{"name": "a", "features": [0, 1]}, {"name": "b", "features": [1]}]
        assert refused({**document, "groups": twice}, case)
        if options == {"minimum": True, "cost": cost} and any(len(part) > 1 for part in case.groups.values()):
            split = next(g["features"] for g in document["groups"] if len(g["features"]) > 1)
            costs = list(document["minimum"]["costs"])
            costs[split[1]] += 1
            assert refused({**document, "minimum": {**document["minimum"], "costs": costs}}, case)
    for options in ({}, {"minimum": True}, {"minimum": True, "cost": cost}):
        change = explainer.contrastive(row, **options)
        if change.witness is None:
            continue
        document = change.certificate().document
        checked = check(document, case.model)
        assert all(name in checked.text for name in change.feature_names)
        assert len(checked.conditions) == len(change.changes)
        for key in document["proofs"]:
            fewer = {k: proof for k, proof in document["proofs"].items() if k != key}
            assert refused({**document, "proofs": fewer}, case)
        if len(document["changed"]) > change.size:
            assert refused({key: value for key, value in document.items() if key != "groups"}, case)
            part = next(
                g["features"]
                for g in document["groups"]
                if len(g["features"]) > 1 and g["features"][0] in document["changed"]
            )
            assert refused({**document, "changed": [f for f in document["changed"] if f != part[1]]}, case)
