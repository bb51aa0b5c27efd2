"""Changes of random forests' rows under random limits: minimal, closest, within the limits, against enumeration."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

import treeproof as tp
from changing import Case, default_scale, flips, minimal, random_case
from treeproof.model.rows import as_row

seeds = st.integers(0, 2**32 - 1)
votes = st.sampled_from(["majority", "mean"])


def check(case: Case, change: tp.Contrastive, target=None) -> None:
    ways = flips(case, target)
    if change.status == "impossible":
        assert ways == []
        return
    assert change.status == "minimal"
    features = frozenset(change.features)
    assert features in minimal([way.features for way in ways])
    inside = [way for way in ways if way.features <= features]
    least = min(sum(way.distances.values()) for way in inside)
    assert change.closest
    assert change.distance == float(least)
    # The witness as it is written: its label, its distance, its limits.
    assert case.explainer.forest.predict([change.witness])[0] == change.witness_label != change.label
    assert target is None or change.witness_label == target
    assert distance(case, change) == least
    within_limits(case, change)


def distance(case: Case, change: tp.Contrastive) -> Fraction:
    """From the instance to the witness, as the model reads them."""
    columns = case.explainer.forest.columns
    before, after = as_row(case.row, columns).tolist(), as_row(change.witness, columns).tolist()
    total = Fraction(0)
    for f, feature in enumerate(case.explainer.space.features):
        differs = [column for column in feature.columns if before[column] != after[column]]
        assert bool(differs) == (f in change.features)
        scale = Fraction(str(case.scale.get(feature.name, default_scale(case.explainer.forest, feature))))
        if differs:
            apart = abs(Fraction(after[differs[0]]) - Fraction(before[differs[0]]))
            total += (1 if feature.kind == "categorical" else apart) / scale
    return total


def within_limits(case: Case, change: tp.Contrastive) -> None:
    for f in change.features:
        feature = case.explainer.space.features[f]
        shown = change.changes[change.features.index(f)]
        assert feature.name not in case.fixed
        if feature.kind == "categorical":
            assert shown.after in map(str, case.limits.get(feature.name, feature.labels))
            continue
        value = change.witness[feature.columns[0]]
        as_shown, as_found = ([np.float32(number).item()] * len(case.row) for number in (float(shown.after), value))
        assert feature.cell(as_shown) == feature.cell(as_found)  # what is shown rounded gives the same label
        assert shown.rounded or as_shown == as_found
        low, high = case.limits.get(feature.name, (None, None))
        for number in (value, float(shown.after)):
            assert low is None or low <= number
            assert high is None or number <= high
        way = case.directions.get(feature.name)
        own = np.float32(case.row[feature.columns[0]])
        assert way is None or (np.float32(value) > own) == (way == "up")


@given(seeds, votes)
@settings(max_examples=150, deadline=None)
def test_a_change_within_limits_is_minimal_and_the_closest_or_impossible(seed, vote):
    case = random_case(seed, vote, limited=True)
    check(case, case.explainer.contrastive(case.row, **case.options))


@given(seeds, votes)
@settings(max_examples=50, deadline=None)
def test_a_change_without_limits_is_minimal_and_the_closest_or_impossible(seed, vote):
    case = random_case(seed, vote, limited=False)
    check(case, case.explainer.contrastive(case.row, **case.options))


@given(seeds, votes)
@settings(max_examples=50, deadline=None)
def test_a_target_is_reached_within_limits_or_proved_out_of_reach(seed, vote):
    case = random_case(seed, vote, limited=True)
    own = case.explainer.forest.predict([case.row])[0]
    for target in set(case.explainer.forest.classes.tolist()) - {own}:
        check(case, case.explainer.contrastive(case.row, target=target, **case.options), target)


@example(7, 4)  # never ended: a known core named a feature that could not change, and was not fixed by the question
@given(seeds, st.integers(1, 4))
@settings(max_examples=75, deadline=None)
def test_several_changes_are_minimal_closest_different_and_share_little(seed, n):
    case = random_case(seed, "majority", limited=bool(seed % 2))
    result = case.explainer.contrastives(case.row, n, **case.options)
    left = minimal([way.features for way in flips(case)])
    assert len(result) == min(n, len(left))
    assert result.status == ("found" if len(left) >= n else "all")
    used: frozenset[int] = frozenset()
    for change in result:
        check(case, change)
        features = frozenset(change.features)
        assert features in left
        assert not any(other & used < features & used for other in left)
        used |= features
        left.remove(features)
    if result:
        first = case.explainer.contrastive(case.row, **case.options)
        assert (result[0].features, result[0].distance) == (first.features, first.distance)


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_every_oracle_finds_the_same_features_at_the_same_distance(seed):
    found = []
    for oracle in ("native", "brute", "sat", "smt"):
        case = random_case(seed, "majority", limited=True, oracle=oracle)
        result = case.explainer.contrastives(case.row, 3, **case.options)
        found.append([(change.features, change.distance, change.closest) for change in result] + [result.status])
    assert found[0] == found[1] == found[2] == found[3]
