from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from generators import random_forest, random_row
from treeproof.model.build import build_forest, isin, leaf, split
from treeproof.model.columns import LEAF, Column
from treeproof.model.decision import Sums
from treeproof.model.floats import FLOAT64, FLOATS
from treeproof.model.forest import Forest
from treeproof.model.rows import as_row
from treeproof.model.sigmoid import sigmoid_gap
from treeproof.query.cells import discretise
from treeproof.query.scores import (
    LARGEST_EXPONENT,
    exact_leaves,
    integer_scores,
    rounding_error,
    theta,
)
from treeproof.space.declare import declare


class TestLabel:
    @pytest.mark.parametrize("vote", ["majority", "mean"])
    @pytest.mark.parametrize("categorical", [False, True])
    def test_in_cells_is_the_prediction_for_the_row(self, vote, categorical):
        for seed in range(25):
            rng = np.random.default_rng(seed)
            forest = random_forest(rng, vote=vote, categorical=categorical, n_classes=int(rng.integers(1, 5)))
            space = declare(forest)
            cells = discretise(space)
            rows = [random_row(rng, forest) for _ in range(15)]
            points = [space.cells(as_row(row, forest.columns)) for row in rows]
            assert [cells.label(point) for point in points] == forest.predict_index(rows).tolist()
            for some in (points, points[:1], []):
                assert cells.labels(some) == [cells.label(point) for point in some]

    def test_is_the_same_everywhere_in_a_cell(self):
        for seed in range(25):
            rng = np.random.default_rng(seed)
            forest = random_forest(rng, vote="mean")
            space = declare(forest)
            point = [int(rng.integers(f.n_cells)) for f in space.features]
            ends = [
                [rng.choice([f.lows[c], f.highs[c]]) for f, c in zip(space.features, point, strict=True)]
                for _ in range(10)
            ]
            assert set(forest.predict_index(ends).tolist()) == {discretise(space).label(point)}

    def test_follows_declared_kinds_and_groups(self):
        rng = np.random.default_rng(0)
        names = ["red", "green", "blue", "flag", "age"]

        def node(depth: int) -> object:
            if depth == 0:
                return leaf(int(rng.integers(3)))
            if rng.random() < 0.3:
                return isin("size", ["S", "L"], node(depth - 1), node(depth - 1))
            at = float(rng.choice([-0.5, 0.0, 0.3, 0.5, 1.0, 1.5, 17.5, 40.0]))
            return split(str(rng.choice(names)), at, node(depth - 1), node(depth - 1))

        columns = [*names, Column("size", ("S", "M", "L"))]
        forest = build_forest([node(4) for _ in range(9)], columns=columns, classes=[0, 1, 2])
        space = declare(
            forest,
            kinds={"flag": "binary", "age": "ordinal"},
            one_hot={"colour": ["red", "green", "blue"]},
        )
        cells = discretise(space)
        assert cells.ordered == (False, True, True, False)
        for _ in range(200):
            colour = np.eye(3)[rng.integers(3)].tolist()
            row = [*colour, int(rng.integers(2)), int(rng.integers(-3, 45)), "SML"[rng.integers(3)]]
            x = as_row(row, forest.columns)
            assert cells.label(space.cells(x)) == forest.predict_index([row])[0]


class TestDomains:
    def test_are_ranges_on_ordered_features_and_sets_on_others(self):
        forest = build_forest(
            [split("a", 0, isin("c", ["r"], 0, 1), 1)],
            columns=["a", Column("c", ("r", "g", "b"))],
            classes=[0, 1],
        )
        cells = discretise(declare(forest))
        assert cells.full == (range(2), frozenset({0, 1, 2}))
        assert cells.only(0, [1]) == range(1, 2)
        assert cells.only(1, [2, 0]) == frozenset({0, 2})

    def test_points_keep_all_rules_or_those_asked_for(self):
        forest = build_forest([split("a", 0, 0, split("b", 0, 0, 1))], columns=["a", "b"], classes=[0, 1])
        rules = (((0, range(1)), (1, range(1))), ((0, range(1, 2)),))  # not both above 0; a above 0
        cells = replace(discretise(declare(forest)), clauses=rules)
        points = [(0, 0), (1, 0), (1, 1)]
        assert [cells.allows(p) for p in points] == [False, True, False]
        assert [cells.allows(p, [0]) for p in points] == [True, True, False]
        assert [cells.allows(p, [1]) for p in points] == [False, True, True]
        assert [cells.allows(p, []) for p in points] == [True, True, True]

    def test_cells_go_left_up_to_the_cut_or_if_they_are_named(self):
        tree = split("a", 1, isin("c", ["g"], 0, 1), split("a", 2, 0, 1))
        forest = build_forest([tree], columns=["a", Column("c", ("r", "g", "b"))], classes=[0, 1])
        cells = discretise(declare(forest))
        assert [cells.goes_left(0, cell) for cell in range(3)] == [True, False, False]
        assert [cells.goes_left(1, cell) for cell in range(3)] == [False, True, False]


def beats(forest: Forest, leaves: list[int], winner: int, loser: int) -> bool:
    """Whether winner beats loser in the model's arithmetic, in Python's own floats."""
    totals = []
    for k in (winner, loser):
        total = 0.0
        for node in leaves:
            total += float(forest.values[node, k])
        totals.append(total / forest.n_trees)
    return totals[0] > totals[1] or (totals[0] == totals[1] and winner < loser)


def two_leaf_trees(rng: np.random.Generator, pool: list[float], n_trees: int, n_classes: int) -> Forest:
    def values() -> object:
        return leaf([float(rng.choice(pool)) for _ in range(n_classes)])

    trees = [split("a", 0, values(), values()) for _ in range(n_trees)]
    return build_forest(trees, columns=["a"], classes=list(range(n_classes)), vote="mean")


def random_leaves(rng: np.random.Generator, forest: Forest) -> list[int]:
    """One leaf for each tree, any of its leaves."""
    ends = [*forest.roots[1:].tolist(), forest.n_nodes]
    leaf_nodes = np.flatnonzero(forest.feature == LEAF)
    return [
        int(rng.choice(leaf_nodes[(leaf_nodes >= start) & (leaf_nodes < end)]))
        for start, end in zip(forest.roots.tolist(), ends, strict=True)
    ]


def check_promise(forest: Forest, leaves: list[int], scores: np.ndarray, band: int) -> tuple[int, int]:
    """The promise of the module; returns how many pairs were decided by scores, and how many in the band."""
    decided = banded = 0
    sums = [sum(int(scores[node, k]) for node in leaves) for k in range(forest.n_classes)]
    exact = [sum(Fraction(float(forest.values[n, k])) for n in leaves) for k in range(forest.n_classes)]
    for k in range(forest.n_classes):
        for c in range(forest.n_classes):
            if k == c:
                continue
            difference = sums[k] - sums[c]
            if difference >= theta(k, c) + band:
                assert beats(forest, leaves, k, c)
                assert exact[k] >= exact[c]
                decided += 1
            elif difference < theta(k, c) - band:
                assert not beats(forest, leaves, k, c)
                assert exact[k] <= exact[c]
                decided += 1
            else:
                assert band > 0
                banded += 1
    return decided, banded


POOLS = {
    "thirds": [0.0, 1 / 3, 2 / 3, 1.0],
    "tenths": [0.1, 0.2, 0.3, 0.7, 0.9],
    "ulps": [1.0, 1 - 2.0**-53, 1 + 2.0**-52, 1 / 3, 2.0**-54],
    "huge": [1e300, 1e300 / 3, 2e300 / 3, 1e284],
    "small": [1e-200, 1e-200 / 3, 2e-200 / 3],
    "tiny": [1e-300, 1e-300 / 3, 2e-300 / 3],
    "near the smallest normal": [2.3e-308, 2.3e-308 / 3, 2.3e-308 * 2 / 3, 5e-324],
    "subnormal": [5e-324, 1e-323, 1.5e-323, 0.0],
    "huge and tiny": [1e300, 1e-300, 5e-324, 1.0, 1e284],
    "signed": [-1 / 3, 1 / 3, -0.1, 0.1, 0.2, -1.0],
    "counts": [3.0, 1.0, 1e15 + 0.5, 7.0],
    "beyond the largest float64": [1e308, 1.7e308, 1.0],
}


@pytest.mark.filterwarnings("ignore:overflow")
class TestIntegerScores:
    @pytest.mark.parametrize("pool", POOLS.values(), ids=POOLS)
    @pytest.mark.parametrize("n_trees", [1, 3, 10, 37])
    def test_decide_as_the_model_does_outside_the_band(self, pool, n_trees):
        rng = np.random.default_rng(n_trees)
        for _ in range(8):
            forest = two_leaf_trees(rng, pool, n_trees, n_classes=3)
            scores, band = scaled(forest)
            for _ in range(6):
                check_promise(forest, random_leaves(rng, forest), scores, band)

    @pytest.mark.parametrize("pool", ["thirds", "huge", "tiny"])
    def test_decide_as_the_model_does_with_a_thousand_trees(self, pool):
        rng = np.random.default_rng(0)
        forest = two_leaf_trees(rng, POOLS[pool], 1000, n_classes=3)
        scores, band = scaled(forest)
        for _ in range(10):
            check_promise(forest, random_leaves(rng, forest), scores, band)

    def test_leave_real_near_ties_to_the_model_where_exact_sums_would_be_wrong(self):
        rng = np.random.default_rng(0)
        banded = misled = 0
        for _ in range(100):
            forest = two_leaf_trees(rng, POOLS["tenths"], 10, n_classes=2)
            scores, band = scaled(forest)
            leaves = random_leaves(rng, forest)
            _, n = check_promise(forest, leaves, scores, band)
            banded += n
            exact = [sum(Fraction(float(forest.values[i, k])) for i in leaves) for k in (0, 1)]
            misled += (exact[0] >= exact[1]) != beats(forest, leaves, 0, 1)
        assert misled > 0
        assert banded > 0

    @pytest.mark.parametrize("pool", ["thirds", "tenths", "huge", "small", "signed"])
    @pytest.mark.parametrize("n_trees", [2, 100])
    def test_leave_only_near_ties_to_the_model(self, pool, n_trees):
        rng = np.random.default_rng(1)
        forest = two_leaf_trees(rng, POOLS[pool], n_trees, n_classes=2)
        scores, band = scaled(forest)
        scale = n_trees * max(Fraction(abs(v)) for v in POOLS[pool])
        for _ in range(30):
            leaves = random_leaves(rng, forest)
            exact = [sum(Fraction(float(forest.values[i, k])) for i in leaves) for k in (0, 1)]
            if abs(exact[0] - exact[1]) > scale / 10**10:
                assert check_promise(forest, leaves, scores, band) == (2, 0)

    @pytest.mark.parametrize(
        "pool",
        [[0.0, 1.0], [0.25, 0.5, 0.75], [3.0, 1e14], [2.0**-800, 2.0**-810], [-0.5, 0.125], [2.0**45, 0.5]],
    )
    def test_need_no_band_for_dyadic_values(self, pool):
        rng = np.random.default_rng(2)
        forest = two_leaf_trees(rng, pool, 9, n_classes=3)
        scores, band = scaled(forest)
        for _ in range(20):
            check_promise(forest, random_leaves(rng, forest), scores, band)
        assert band == 0

    def test_of_zeros_are_zeros(self):
        scores, band = scaled(build_forest([leaf([0.0, 0.0])] * 3, columns=["a"], classes=[0, 1], vote="mean"))
        assert (scores.tolist(), band) == ([[0, 0]] * 3, 0)

    def test_of_majority_vote_are_one_for_the_first_maximum_of_each_leaf(self):
        trees = [split("a", 0, [0.2, 0.4, 0.4], [1 / 3] * 3), leaf([0, 0, 1e300])]
        scores, band = scaled(build_forest(trees, columns=["a"], classes=[0, 1, 2]))
        assert scores.tolist() == [[0, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]]
        assert band == 0

    @pytest.mark.parametrize("pool", POOLS.values(), ids=POOLS)
    def test_and_their_sums_stay_far_from_overflow(self, pool):
        scores, band = scaled(two_leaf_trees(np.random.default_rng(3), pool, 50, n_classes=2))
        assert sum(int(np.abs(scores[i : i + 3]).max()) for i in range(0, 150, 3)) + 2 * band < 2**63


@pytest.mark.parametrize(
    ("dyadic", "other"),
    [
        ([0.0, 0.5, 1.0], 1 / 3),
        ([1.0, 2.0**-40, 2.0**-45], 0.1),
        ([2.0**-890, 2.0**-900, 0.0], 2.0**-901),
        ([2.0**40, 0.5, 0.25], 0.3),
        ([-1.0, 1.0, -0.25], -0.1),
    ],
)
@pytest.mark.parametrize("n_trees", [1, 3, 7, 30])
def test_sums_at_exact_leaves_decide_without_a_band(dyadic, other, n_trees):
    rng = np.random.default_rng(n_trees)
    for _ in range(15):
        trees = [split("a", 0, leaf(rng.choice(dyadic, 2)), leaf([other, dyadic[0]])) for _ in range(n_trees)]
        forest = build_forest(trees, columns=["a"], classes=[0, 1], vote="mean")
        scores, band = scaled(forest)
        assert band > 0
        assert exact_leaves(forest).tolist() == [False, True, False] * n_trees
        leaves = [root + 1 for root in forest.roots.tolist()]
        difference = sum(int(scores[node, 0]) - int(scores[node, 1]) for node in leaves)
        assert (difference >= theta(0, 1)) == beats(forest, leaves, 0, 1)
        assert (-difference >= theta(1, 0)) == beats(forest, leaves, 1, 0)


def scaled(forest):
    found = integer_scores(forest)
    return found.scores, found.band


def test_theta_gives_ties_to_the_first_class():
    assert [theta(0, 1), theta(1, 0), theta(2, 5), theta(5, 2)] == [0, 1, 0, 1]


def summed(values: list[list[list[float]]], start: tuple[float, ...], **options: Any) -> Forest:
    """A forest of trees of one split with these leaves."""
    sums = Sums(start, **{"dtype": "float64", **options})
    classes = list(range(len(start) if sums.cuts is None else len(sums.cuts) + 1))
    trees = [split("a", float(i), leaf(low), leaf(high)) for i, (low, high) in enumerate(values)]
    return build_forest(trees, columns=["a"], classes=classes, vote="sum", sums=sums)


class TestRoundingError:
    """By the formulas of the comments in `treeproof.query.cells`."""

    TREES = [[[0.1, 0.0], [-0.3, 0.0]], [[0.0, 0.7], [0.2, 0.0]], [[0.0, 0.0], [0.0, -0.1]], [[0.0, 0.0], [0.01, 0.0]]]

    @pytest.mark.parametrize("divisor", [1.0, 0.5, 3.0])
    @pytest.mark.parametrize("softmax", [False, True])
    @pytest.mark.parametrize(("numbers", "bits", "finest"), [("float64", 53, 1074), ("float32", 24, 149)])
    def test_of_sums(self, divisor, softmax, numbers, bits, finest):
        rounded = FLOATS[numbers].round
        trees = [[[rounded(v) for v in values] for values in tree] for tree in self.TREES]
        start = (rounded(-0.01), rounded(0.01))
        forest = summed(trees, start, dtype=numbers, divisor=divisor, softmax=softmax)
        largest = max(
            Fraction(-start[0]) + Fraction(-trees[0][1][0]) + Fraction(trees[1][1][0]) + Fraction(trees[3][1][0]),
            Fraction(start[1]) + Fraction(trees[1][0][1]) + Fraction(-trees[2][1][1]),
        )
        most = max(Fraction(1), Fraction(divisor))
        expected = 4 * (3 + 1) * largest / 2**bits + 4 * most / 2**finest + (16 * most / 2**bits if softmax else 0)
        assert rounding_error(forest) == expected

    def test_of_sigmoids(self):
        trees = [[[4.0, -1.0], [2.0, -2.0]], [[-3.0, 0.5], [-1.0, 0.0]]]  # 3.25 at most
        plain, steep = (summed(trees, (0.25, -0.5), divisor=2.0, sigmoid=s) for s in (1.0, 20.0))
        error, without = rounding_error(plain), rounding_error(summed(trees, (0.25, 0.1), divisor=2.0))
        assert error - without == sigmoid_gap(plain) > 2 * 5 * Fraction(math.exp(3.25 / 2)) / 2**53
        assert error < Fraction(1, 10**12)
        assert sigmoid_gap(steep) is None
        assert rounding_error(steep) == 4 * Fraction(7.25) + 2
        assert not exact_leaves(plain).any()

    def test_of_sums_that_may_overflow(self, monkeypatch):
        def may_overflow(first: float, n_trees: int = 1, **options: Any) -> bool:
            tree = [[first, 0.0], [0.0, 0.1]]
            forest = summed([tree] * n_trees, (0.0, 0.0), **options)
            return rounding_error(forest) == 4 * n_trees * Fraction(first) + 2

        half = FLOAT64.largest / 2
        assert [may_overflow(half), may_overflow(math.nextafter(half, math.inf))] == [False, True]
        assert [may_overflow(half / 2, divisor=0.5), may_overflow(half, divisor=0.5)] == [False, True]
        monkeypatch.setitem(FLOATS, "float64", replace(FLOAT64, unit=32))
        assert [may_overflow(1.0, n_trees=4), may_overflow(1.0, n_trees=5)] == [False, True]

    @pytest.mark.parametrize(
        ("numbers", "largest", "exact", "rounded"),
        [
            ("float64", 1.0, 2.0**-50, 2.0**-51),
            ("float64", 2.0**50, 1.0, 0.5),
            ("float64", 2.0**-890, 2.0**-900, 2.0**-901),
            ("float32", 1.0, 2.0**-21, 2.0**-22),
            ("float32", 2.0**21, 1.0, 0.5),
            ("float32", 2.0**-90, 2.0**-100, 2.0**-101),
        ],
    )
    def test_is_none_at_exact_leaves(self, numbers, largest, exact, rounded):
        def which(start: tuple[float, float] = (0.0, 0.0), most: float = largest, **options: Any) -> list[bool]:
            trees = [[[most, 0.0], [0.0, exact]], [[0.0, 0.0], [0.0, rounded]]]
            found = exact_leaves(summed(trees, start, dtype=numbers, **options)).tolist()
            assert not found[0]
            assert not found[3]
            return [found[i] for i in (1, 2, 4, 5)]

        assert which() == which(divisor=2.0**32) == [True, True, True, False]
        assert which((0.0, rounded)) == which(softmax=True) == which(divisor=2.0**33) == [False] * 4
        if largest > 1:
            assert which(divisor=0.5) == which(most=largest + 1) == [False] * 4
            assert which(divisor=0.5, most=largest / 2) == [True] * 4
        forest = summed([[[largest, 0.0], [0.0, exact]]], (0.0, 0.0), dtype=numbers)
        assert rounding_error(forest) == 0


class TestScores:
    """Of what integers are made, by the docstrings of `treeproof.query.cells`."""

    @pytest.mark.parametrize("numbers", ["float32", "float64"])
    @pytest.mark.parametrize("scale", [2.0**-120, 2.0**-30, 1.0, 2.0**70])
    @pytest.mark.parametrize("n_cuts", [None, 0, 1, 2, 4])
    @pytest.mark.parametrize("values", [[0.25, -0.5, 1.0], [0.1, -0.7, 0.3]], ids=["exact", "rounded"])
    def test_of_a_forest(self, numbers, scale, n_cuts, values):
        rounded = [FLOATS[numbers].round(value * scale) for value in values]
        if n_cuts is None:
            trees = [[[rounded[0], 0.0], [0.0, rounded[1]]], [[rounded[2], rounded[0]], [0.0, 0.0]]]
            forest = summed(trees, (rounded[1], rounded[2]), dtype=numbers)
            largest = max(sum(map(abs, map(Fraction, rounded))), sum(map(abs, map(Fraction, rounded))))
        else:
            cuts = tuple(float(cut) * scale for cut in (-0.3, 0.25, 0.7, 1e9)[:n_cuts])
            trees = [[[rounded[0]], [rounded[1]]], [[rounded[2]], [0.0]]]
            forest = summed(trees, (rounded[1],), dtype=numbers, cuts=cuts)
            largest = 2 * Fraction(abs(rounded[1])) + Fraction(rounded[2])
        n, found, error = forest.n_classes, integer_scores(forest), rounding_error(forest)
        unit = Fraction(2) ** found.exponent
        times = 1 if n_cuts is None else max(1, n - 1)
        if error:
            within = largest if n_cuts is None else (2 * largest + 1) * times
            most = LARGEST_EXPONENT[numbers]
            assert within * unit <= 2**60
            assert found.exponent == most or within * unit * 2 > 2**60
            assert found.exponent <= most
        else:
            everything = [*forest.values[forest.feature == LEAF].ravel().tolist(), *forest.sums.start]
            whole = [all((Fraction(v) * 2**e).denominator == 1 for v in everything) for e in range(found.exponent + 1)]
            assert whole == [False] * found.exponent + [True]
        for node in np.flatnonzero(forest.feature == LEAF).tolist():
            floors = [math.floor(Fraction(value) * unit) for value in forest.values[node].tolist()]
            expected = floors if n_cuts is None else [k * floors[0] for k in range(n)]
            assert found.scores[node].tolist() == expected
        assert found.band == times * (math.ceil(error * unit) + (forest.n_trees + 3 if error else 0))
        starts = [math.floor(Fraction(value) * unit) for value in forest.sums.start]
        for k in range(n):
            for c in range(k):
                if n_cuts is None:
                    assert found.theta[c, k] == 0 - (starts[c] - starts[k])
                    assert found.theta[k, c] == 1 - (starts[k] - starts[c])
                    continue
                beyond = 2 * largest + 1
                reach = [min(max(Fraction(cut), -beyond), beyond) for cut in forest.sums.cuts[c:k]]
                assert found.theta[k, c] == sum(math.ceil(cut * unit) - starts[0] for cut in reach)
                assert found.theta[c, k] == 1 - found.theta[k, c]

    def test_of_a_majority_are_votes(self):
        found = integer_scores(build_forest([split("a", 0, [0.1, 0.9], 0)], columns=["a"], classes=[0, 1]))
        assert (found.scores.tolist(), found.theta.tolist()) == ([[0, 0], [0, 1], [1, 0]], [[1, 0], [1, 1]])
        assert (found.band, found.exponent) == (0, 0)

    def test_of_sums_that_may_overflow_leave_everything_to_the_model(self):
        half = FLOAT64.largest
        found = integer_scores(summed([[[half, 0.0], [0.0, 0.1]]], (0.0, 0.0)))
        assert found.band >= 2 * np.abs(found.scores).max()
        assert found.band <= 2**62

    @pytest.mark.parametrize("numbers", ["float32", "float64"])
    @pytest.mark.parametrize("divisor", [1.0, 3.0, 0.7])
    def test_a_cut_is_where_the_model_has_it(self, numbers, divisor):
        """In each forest of one leaf the label is known, and the cut lies on the sum, or next to it."""
        dtype = FLOATS[numbers].dtype
        for total in (0.1, -0.3, 1.0, 7.5):
            value = FLOATS[numbers].round(total)
            share = float(dtype(value) / dtype(divisor))
            for cut in (share, math.nextafter(share, math.inf), math.nextafter(share, -math.inf), 1e30, -1e30):
                forest = summed([[[value], [0.0]]], (0.0,), dtype=numbers, divisor=divisor, cuts=(cut,))
                found = integer_scores(forest)
                lead = int(found.scores[1, 1] - found.scores[1, 0])
                label = int(share >= cut)
                if lead >= found.theta[1, 0] + found.band:
                    assert label == 1
                if lead < found.theta[1, 0] - found.band:
                    assert label == 0
                if abs(cut) > 1e20:
                    assert abs(lead - int(found.theta[1, 0])) > found.band
