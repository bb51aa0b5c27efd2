"""Labels by sigmoids: what is taken, and sums that keep their order in the sigmoids, by brute force."""

from __future__ import annotations

import math
import random

import pytest

import treeproof as tp
from treeproof.model.build import build_forest, leaf, split
from treeproof.model.decision import Member, Sums
from treeproof.model.files import forest_from_json, forest_to_json
from treeproof.model.sigmoid import sigmoid_gap, sigmoid_range


def stumps(high: float, low: float, **options) -> tp.Forest:
    trees = [split("a", 0, leaf([high, 0.0]), leaf([0.0, low]))]
    sums = Sums((0.0, 0.0), **{"sigmoid": 1.0, **options})
    return build_forest(trees, columns=["a"], classes=[0, 1], vote="sum", sums=sums)


@pytest.mark.parametrize("steepness", [1.0, 0.7, 3.0])
@pytest.mark.parametrize("high", [0.1, 5.0, 20.0, 31.9])
def test_sums_further_apart_than_the_gap_keep_their_order(high, steepness):
    forest = stumps(high / steepness, -3.0 / steepness, sigmoid=steepness)
    gap = float(sigmoid_gap(forest))

    def sigmoid(total: float) -> float:
        return 1.0 / (1.0 + math.exp(-steepness * total))

    draw = random.Random(0)
    within = 0.0
    for _ in range(2000):
        total = draw.choice([draw.uniform(-3, high), high - draw.random() * 1e-3 * high]) / steepness
        other = total - gap
        assert other < total
        assert sigmoid(other) < sigmoid(total)
        close = total - gap * draw.random()
        if sigmoid(close) >= sigmoid(total):
            within = max(within, total - close)
    assert within > gap / 20, "not much wider than it must be"


def test_ranges_that_are_too_far():
    assert sigmoid_range(stumps(3.0, -4.0, sigmoid=2.0, divisor=0.5)) == pytest.approx((12.0, 16.0))
    assert sigmoid_gap(stumps(32.1, 0.0)) is None
    assert sigmoid_gap(stumps(32.1, 0.0, sigmoid=0.9)) is not None
    assert sigmoid_gap(stumps(0.0, -701.0)) is None
    assert sigmoid_gap(stumps(0.0, -699.0)) < 1e-12
    assert sigmoid_gap(stumps(1e308, -1e308, divisor=0.5)) is None


def test_where_all_sigmoids_are_1_the_first_class_wins():
    forest = build_forest(
        [split("a", 0, leaf([40.0, 50.0]), leaf([20.0, 30.0]))],
        columns=["a"],
        classes=[0, 1],
        vote="sum",
        sums=Sums((0.0, 0.0), sigmoid=1.0),
    )
    assert forest.predict([[0], [1]]).tolist() == [0, 1]
    assert tp.Explainer(forest).abductive([0]).features == (0,)
    assert forest_from_json(forest_to_json(forest)) == forest


def test_what_sigmoids_must_be():
    for wrong in ({"softmax": True}, {"dtype": "float32"}, {"members": (Member(0, 1, (0.0, 0.0)),)}):
        with pytest.raises(tp.ForestFormatError, match="'sigmoid' must not be combined"):
            stumps(1.0, 0.0, **wrong)
    for steepness in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(tp.ForestFormatError, match="'sigmoid' must be a positive number"):
            stumps(1.0, 0.0, sigmoid=steepness)
