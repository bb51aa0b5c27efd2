"""Shortest and cheapest explanations of random forests, against the families of all explanations."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treeproof as tp
from families import families, random_case

seeds = st.integers(0, 2**32 - 1)
votes = st.sampled_from(["majority", "mean"])
PRICES = [1, 2, 7, 0.1, 0.2, 0.3, 2.5, Fraction(1, 3), np.float32(0.7), np.int64(3), 1e-9, 10**20]


def random_costs(seed: int, explainer: tp.Explainer) -> dict:
    """A cost for some features, by name or index."""
    rng = np.random.default_rng([seed, 1])
    chosen = {}
    for f, name in enumerate(explainer.space.names):
        if rng.random() < 0.7:
            chosen[name if rng.random() < 0.5 else f] = PRICES[rng.integers(len(PRICES))]
    return chosen


def total(explainer: tp.Explainer, costs: dict, features) -> Fraction:
    """The exact cost: numbers as they are written."""
    given = {explainer.space.index(feature): Fraction(str(value)) for feature, value in costs.items()}
    return sum((given.get(f, Fraction(1)) for f in features), Fraction(0))


@given(seeds, votes)
@settings(max_examples=75, deadline=None)
def test_no_set_is_smaller_than_the_minimum(seed, vote):
    explainer, row = random_case(seed, vote)
    axps, cxps = families(explainer, row)
    why = explainer.abductive(row, minimum=True)
    assert why.status == "minimum"
    assert frozenset(why.features) in axps
    assert len(why.features) == why.lower_bound == min(map(len, axps))
    assert why.cost is None
    change = explainer.contrastive(row, minimum=True)
    if not cxps:
        assert change.status == "impossible"
        return
    assert change.status == "minimum"
    assert frozenset(change.features) in cxps
    assert len(change.features) == change.lower_bound == min(map(len, cxps))
    assert explainer.forest.predict([change.witness])[0] == change.witness_label != change.label


@given(seeds, votes)
@settings(max_examples=50, deadline=None)
def test_no_set_is_cheaper_than_the_minimum(seed, vote):
    explainer, row = random_case(seed, vote)
    costs = random_costs(seed, explainer)
    axps, cxps = families(explainer, row)
    why = explainer.abductive(row, minimum=True, cost=costs)
    assert why.status == "minimum"
    assert frozenset(why.features) in axps
    least = min(total(explainer, costs, axp) for axp in axps)
    assert total(explainer, costs, why.features) == why.cost == why.lower_bound == least
    change = explainer.contrastive(row, minimum=True, cost=costs)
    if cxps:
        assert change.status == "minimum"
        assert frozenset(change.features) in cxps
        least = min(total(explainer, costs, cxp) for cxp in cxps)
        assert total(explainer, costs, change.features) == change.cost == change.lower_bound == least


@given(seeds, votes)
@settings(max_examples=40, deadline=None)
def test_a_target_is_reached_by_the_smallest_change_within_limits(seed, vote):
    explainer, row = random_case(seed, vote)
    label = explainer.forest.predict([row])[0]
    fixed = np.random.default_rng([seed, 2]).permutation(explainer.space.n_features)[:2].tolist()
    for target in set(explainer.forest.classes.tolist()) - {label}:
        _, cxps = families(explainer, row, target)
        for kept in ([], fixed):
            possible = [cxp for cxp in cxps if not cxp & set(kept)]
            change = explainer.contrastive(row, minimum=True, target=target, fixed=kept)
            if not possible:
                assert change.status == "impossible"
                continue
            assert change.status == "minimum"
            assert frozenset(change.features) in possible
            assert len(change.features) == min(map(len, possible))
            assert change.witness_label == target == explainer.forest.predict([change.witness])[0]


@pytest.mark.parametrize("vote", ["majority", "mean"])
def test_every_oracle_finds_the_same_sets(vote):
    for seed in range(8):
        found = []
        for oracle in ("native", "brute", "smt", *(["sat"] if vote == "majority" else [])):
            explainer, row = random_case(seed, vote, oracle=oracle)
            costs = random_costs(seed, explainer)
            found.append(
                (
                    explainer.abductive(row, minimum=True).features,
                    explainer.abductive(row, minimum=True, cost=costs).features,
                    explainer.contrastive(row, minimum=True, distance=None).features,
                    explainer.contrastive(row, minimum=True, cost=costs, distance=None).features,
                    explainer.abductive(row, tries=5).features,
                )
            )
        assert all(other == found[0] for other in found)


@given(seeds, votes)
@settings(max_examples=50, deadline=None)
def test_more_tries_give_minimal_sets_that_are_no_longer(seed, vote):
    explainer, row = random_case(seed, vote)
    axps, _ = families(explainer, row)
    tried = [explainer.abductive(row, tries=n) for n in (1, 2, 5)]
    assert tried[0] == explainer.abductive(row)
    assert all(why.status == "minimal" and frozenset(why.features) in axps for why in tried)
    lengths = [len(why.features) for why in tried]
    assert lengths == sorted(lengths, reverse=True)
    assert explainer.batch([row, row], tries=5, n_jobs=2) == [tried[2], tried[2]]


def test_tries_keep_the_preferred_features_last():
    # Any two of five copies of a column force the label.
    trees = [tp.split(name, 0, 0, 1) for name in "abcde"]
    explainer = tp.Explainer(tp.build_forest([*trees, 1, 1], columns=list("abcde"), classes=[0, 1]))
    assert len(explainer.abductive([1] * 5).features) == 2
    for wanted in "abcde":
        assert wanted in explainer.abductive([1] * 5, tries=10, prefer=[wanted]).feature_names


def test_a_minimum_explanation_can_be_inflated():
    for seed in range(20):
        explainer, row = random_case(seed, "majority")
        why, wide = explainer.abductive(row, minimum=True), explainer.abductive(row, minimum=True, inflate=True)
        assert wide.status == "minimum"
        assert wide.features == why.features
        assert wide.widest


def test_whatever_the_deadline_what_is_said_is_true():
    statuses = set()
    for seed in range(60):
        explainer, row = random_case(seed, "majority", tabulate=False)
        axps, cxps = families(explainer, row)
        for timeout in (0, 1e-5, 3e-4, 1e-3):
            why = explainer.abductive(row, minimum=True, timeout=timeout)
            statuses.add(why.status)
            assert any(axp <= set(why.features) for axp in axps)
            assert why.lower_bound <= min(map(len, axps))
            assert why.status != "minimal" or frozenset(why.features) in axps
            assert why.status != "minimum" or len(why.features) == min(map(len, axps))
            change = explainer.contrastive(row, minimum=True, timeout=timeout)
            statuses.add(change.status)
            if change.status in ("unknown", "impossible"):
                assert change.status == "unknown" or not cxps
                continue
            assert any(cxp <= set(change.features) for cxp in cxps)
            assert change.lower_bound <= min(map(len, cxps))
            assert change.status != "minimal" or frozenset(change.features) in cxps
            assert change.status != "minimum" or len(change.features) == min(map(len, cxps))
    assert {"minimum", "sound"} <= statuses
