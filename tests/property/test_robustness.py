"""The distance of the nearest flip of random forests' rows, exact, against enumeration."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treeproof as tp
from changing import default_scale, flips, minimal, random_case

MEASURE = {
    "linf": lambda way: max(way.distances.values()),
    "l1": lambda way: sum(way.distances.values()),
    "l0": lambda way: len(way.distances),
}


@pytest.mark.parametrize("norm", MEASURE)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["majority", "mean"]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_radius_is_the_distance_of_the_nearest_flip(norm, seed, vote, aimed):
    case = random_case(seed, vote, limited=False)
    forest = case.explainer.forest
    own = forest.predict([case.row])[0]
    target = next((c for c in forest.classes.tolist() if c != own), None) if aimed else None
    scale = None if norm == "l0" else case.scale
    result = case.explainer.robustness(case.row, norm, target=target, scale=scale)
    ways = flips(case, target)
    if not ways:
        assert result.status == "constant"
        assert result.proved == result.nearest == math.inf
        assert result.witness is None
        return
    least = min(MEASURE[norm](way) for way in ways)
    assert result.status == "exact"
    assert result.proved_exact == result.nearest_exact == least
    assert Fraction(result.proved) <= least <= Fraction(result.nearest)
    assert math.nextafter(result.proved, math.inf) > least
    assert forest.predict([result.witness])[0] == result.witness_label != own
    assert target is None or result.witness_label == target
    # At exactly this distance: the enumeration has a flip with the same label and as many features changed there.
    same = [way for way in ways if MEASURE[norm](way) == least and way.label == result.witness_label]
    assert len(result.changes) in {len(way.distances) for way in same}
    if norm == "linf":
        names = case.explainer.space.names
        near = [way.features for way in ways if MEASURE[norm](way) <= least]
        assert frozenset(names.index(change.name) for change in result.changes) in minimal(near)
    as_printed(case, result, norm)


def as_printed(case, result, norm):
    """The input with the printed numbers has the label, and is no farther than is printed."""
    features, row = dict(zip(case.explainer.space.names, case.explainer.space.features, strict=True)), [*result.witness]
    apart = [Fraction(0)]
    for change in result.changes:
        feature = features[change.name]
        if feature.kind in ("categorical", "binary"):
            continue
        column = feature.columns[0]
        row[column] = float(change.after)
        scale = Fraction(str(case.scale.get(feature.name, default_scale(case.explainer.forest, feature))))
        before, after = (Fraction(np.float32(value).item()) for value in (case.row[column], row[column]))
        apart.append(abs(after - before) / scale)
    assert case.explainer.forest.predict([row])[0] == result.witness_label
    if norm == "linf":
        assert max(apart) <= Fraction(re.search(r"this one is within (\S+)\.( |$)", str(result))[1])


def test_numbers_are_as_round_as_the_printed_distance_allows():
    """The income may go a little farther, since the age is what decides the distance."""
    forest = tp.build_forest(
        [tp.split("age", 41.5, "refuse", "approve"), tp.split("income", 38989.8554, "refuse", "approve")],
        columns=["age", "income"],
        classes=["refuse", "approve"],
    )
    explainer = tp.Explainer(forest, kinds={"age": "integer"})
    result = explainer.robustness([24, 28711.16], scale={"age": 24.5, "income": 14000})
    assert [str(change) for change in result.changes] == ["age: 24 -> 42", "income: 28711.16 -> 38989.86"]
    assert "; this one is within 0.734694." in str(result)
