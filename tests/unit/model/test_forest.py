from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from generators import random_forest, random_row
from treeproof.errors import ForestFormatError, InputError
from treeproof.model.build import build_forest, isin, leaf, split
from treeproof.model.columns import LEAF, Column
from treeproof.model.decision import Sums
from treeproof.model.forest import Forest
from treeproof.model.importers.selfcheck import boundary_rows

LARGEST = np.finfo(np.float32).max

TINY = 2.0**-149  # the smallest positive float32


def next32(value: float, direction: float) -> float:
    return float(np.nextafter(np.float32(value), np.float32(direction)))


def cut_at(threshold: float) -> Forest:
    """Class 0 for values that go left, 1 for those that go right."""
    return build_forest([split("a", threshold, 0, 1)], columns=["a"], classes=[0, 1])


def example() -> Forest:
    """Two trees: a numeric and a categorical split in the first, a single leaf as the second."""
    return build_forest(
        [split("a", 0.5, isin("c", ["r"], [0.25, 0.75], [1, 0]), [0, 1]), leaf([0.5, 0.5])],
        columns=["a", Column("c", ("r", "g"))],
        classes=["no", "yes"],
        vote="mean",
    )


class TestThresholds:
    @pytest.mark.parametrize(
        ("given", "stored"),
        [
            (0.1, next32(0.1, -1)),  # float32(0.1) lies above 0.1 and goes right
            (float(np.float32(0.1)), float(np.float32(0.1))),
            (1.0 + 1e-12, 1.0),
            (1.0 - 1e-12, next32(1.0, 0)),
            (0.0, 0.0),
            (-0.0, 0.0),
            (1e-50, 0.0),
            (-1e-50, -TINY),
            (1e-45, 0.0),
            (TINY, TINY),
            (1.5 * TINY, TINY),
            (-1.5 * TINY, -2 * TINY),
            (float(LARGEST), float(LARGEST)),
            (3.4028236e38, float(LARGEST)),
            (1e39, float(LARGEST)),
            (np.inf, float(LARGEST)),
            (-float(LARGEST), -float(LARGEST)),
            (-3.4028236e38, -np.inf),
            (-1e39, -np.inf),
            (-np.inf, -np.inf),
        ],
    )
    def test_is_stored_as_the_largest_float32_that_goes_left(self, given, stored):
        assert cut_at(given).threshold[0] == stored

    def test_sends_every_float32_where_the_float64_threshold_does(self):
        rng = np.random.default_rng(0)
        bits = rng.integers(0, 2**32, 300, dtype=np.uint64).astype(np.uint32).view(np.float32)
        for base in bits[np.isfinite(bits)].tolist():
            for threshold in (
                base,
                np.nextafter(base, np.inf),
                np.nextafter(base, -np.inf),
                base * 1.0000001,
            ):
                near = np.float32([next32(base, -np.inf), base, next32(base, np.inf)])
                near = near[np.isfinite(near)][:, None]
                expected = (near[:, 0].astype(np.float64) > threshold).astype(int)
                np.testing.assert_array_equal(cut_at(threshold).predict(near), expected)

    def test_without_a_float32_between_them_are_one(self):
        assert cut_at(1.0) == cut_at(1.0 + 1e-12)
        assert cut_at(1.0) != cut_at(1.0 - 1e-12)

    def test_at_the_ends_of_float32_have_one_side_only(self):
        ends = [[-LARGEST], [0.0], [LARGEST]]
        assert cut_at(1e300).predict(ends).tolist() == [0, 0, 0]
        assert cut_at(float(LARGEST)).predict(ends).tolist() == [0, 0, 0]
        assert cut_at(next32(LARGEST, 0)).predict(ends).tolist() == [0, 0, 1]
        assert cut_at(-float(LARGEST)).predict(ends).tolist() == [0, 1, 1]
        assert cut_at(-1e300).predict(ends).tolist() == [1, 1, 1]

    @pytest.mark.parametrize("zero", [0.0, -0.0])
    def test_at_either_zero_sends_both_zeros_left(self, zero):
        assert cut_at(zero).predict([[0.0], [-0.0], [TINY]]).tolist() == [0, 0, 1]


class TestMeanVote:
    def test_adds_in_tree_order_as_floats_do(self):
        # Ten times 0.1, one after the other, is below 1; exactly, or added pairwise, it is not.
        trees = [leaf([0.1, 1.0])] + [leaf([0.1, 0.0])] * 9
        forest = build_forest(trees, columns=["a"], classes=[0, 1], vote="mean")
        assert 10 * Fraction(0.1) > 1
        assert forest.predict([[0]]).tolist() == [1]

    def test_order_of_trees_matters(self):
        large, small = leaf([1.0, 1.0]), leaf([0, 2.0**-53])
        for trees, label in (([large, small, small], 0), ([small, small, large], 1)):
            forest = build_forest(trees, columns=["a"], classes=[0, 1], vote="mean")
            assert forest.predict([[0]]).tolist() == [label]

    def test_divides_before_it_compares(self):
        low = 4 - 2.0**-49
        while low / 3 != np.nextafter(low, 4) / 3:
            low = float(np.nextafter(low, 4))
        high = float(np.nextafter(low, 4))
        assert high < 4
        trees = [leaf([low, high]), leaf([0, 0]), leaf([0, 0])]
        forest = build_forest(trees, columns=["a"], classes=[0, 1], vote="mean")
        assert forest.predict([[0]]).tolist() == [0]

    def test_gives_ties_to_the_first_class(self):
        forest = build_forest([leaf([0, 0.5, 0.5])], columns=["a"], classes=["x", "y", "z"], vote="mean")
        assert forest.predict([[0]]).tolist() == ["y"]


def naive_majority(forest: Forest, row: list[Any]) -> int:
    """Walks each tree with Python's own comparisons and counts."""
    counts = [0] * forest.n_classes
    for node in forest.roots.tolist():
        while forest.feature[node] != LEAF:
            column = int(forest.feature[node])
            if forest.subset[node] >= 0:
                code = forest.columns[column].categories.index(row[column])
                left = code in forest.subsets[forest.subset[node]]
            else:
                left = float(np.float32(row[column])) <= forest.threshold[node]
            node = int((forest.left if left else forest.right)[node])
        values = forest.values[node].tolist()
        counts[values.index(max(values))] += 1
    return counts.index(max(counts))


class TestMajorityVote:
    @pytest.mark.parametrize("categorical", [False, True])
    def test_equals_a_naive_count_with_ties_to_the_first_class(self, categorical):
        tied = 0
        for seed in range(30):
            rng = np.random.default_rng(seed)
            forest = random_forest(rng, vote="mean", n_trees=4, categorical=categorical).with_vote("majority")
            rows = [random_row(rng, forest) for _ in range(20)]
            assert forest.predict_index(rows).tolist() == [naive_majority(forest, row) for row in rows]
            votes = forest.leaf_class[forest.apply(rows)]
            tied += sum((np.bincount(v) == np.bincount(v).max()).sum() > 1 for v in votes)
        assert tied > 50

    def test_a_tie_inside_a_leaf_goes_to_the_first_class(self):
        forest = build_forest([leaf([0.2, 0.4, 0.4])], columns=["a"], classes=["x", "y", "z"])
        assert forest.predict([[0]]).tolist() == ["y"]

    def test_differs_from_the_mean_where_it_should(self):
        trees = [leaf([0.6, 0.4]), leaf([0.6, 0.4]), leaf([0, 1])]
        forest = build_forest(trees, columns=["a"], classes=[0, 1])
        assert forest.predict([[0]]).tolist() == [0]
        assert forest.with_vote("mean").predict([[0]]).tolist() == [1]
        assert forest.with_vote("mean").with_vote("majority") == forest

    def test_an_unknown_vote_is_refused_by_name(self):
        with pytest.raises(InputError, match=r"'vote'.*'plurality'"):
            cut_at(0).with_vote("plurality")


class TestPredict:
    @pytest.mark.parametrize("classes", [["b", "a"], [2, -1], [0.5, -1.5], [True, False], np.float32([0.5, 0.1])])
    def test_returns_labels_of_the_given_type_in_the_given_order(self, classes):
        forest = dataclasses.replace(cut_at(0), classes=np.array(classes))
        got = forest.predict([[-1], [1]])
        assert got.tolist() == list(classes)
        assert got.dtype == np.array(classes).dtype

    def test_many_rows_reach_the_leaves_that_each_reaches_alone(self):
        forest = random_forest(np.random.default_rng(0), n_trees=4)
        rows = boundary_rows(forest, 3000)
        leaves = forest.route(rows)
        assert leaves.shape == (3000, 4)
        for at in (0, 1999, 2047, 2048, 2999):  # so many are routed at once
            assert leaves[at].tolist() == forest.route(rows[at : at + 1])[0].tolist()

    @pytest.mark.parametrize("vote", ["mean", "sum"])
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("largest", [1.0, 3e38])
    def test_few_rows_get_the_sums_that_they_get_among_many_bit_for_bit(self, vote, dtype, largest):
        rng = np.random.default_rng(3)
        forest = random_forest(rng, n_trees=40, vote="mean")
        values = np.where((forest.feature == LEAF)[:, None], rng.random(forest.values.shape, dtype) * largest, 0.0)
        sums = Sums((0.5,) * forest.n_classes, dtype=dtype) if vote == "sum" else None
        forest = dataclasses.replace(forest, values=values, vote=vote, sums=sums)
        leaves = forest.route(boundary_rows(forest, 100))
        many = forest.add(leaves)
        for n in (1, 16, 17):
            assert forest.add(leaves[:n]).tobytes() == many[:n].tobytes()
        assert np.isfinite(many).all() == (largest == 1 or many.dtype == np.float64)

    def test_apply_names_the_leaf_of_each_tree(self):
        assert example().apply([[0, "r"], [0, "g"], [1, "r"]]).tolist() == [[2, 5], [3, 5], [4, 5]]

    def test_no_rows_give_no_labels(self):
        forest = cut_at(0)
        assert forest.predict(np.empty((0, 1))).tolist() == []
        assert forest.apply(np.empty((0, 1))).shape == (0, 1)

    @pytest.mark.parametrize(
        ("classes", "label", "index"),
        [
            (["no", "yes"], "yes", 1),
            (["no", "yes"], np.str_("yes"), 1),
            ([0, 1], np.int64(1), 1),
            ([0, 1], 1.0, 1),
            ([False, True], True, 1),
            ([False, True], np.True_, 1),
        ],
    )
    def test_class_index_finds_a_label(self, classes, label, index):
        forest = build_forest([leaf([1, 0])], columns=["a"], classes=classes)
        assert forest.class_index(label) == index

    @pytest.mark.parametrize(
        ("classes", "label"),
        [([0, 1], 2), ([0, 1], True), ([False, True], 1), (["0", "1"], 1), ([0, 1], None)],
    )
    def test_class_index_refuses_what_is_not_a_label(self, classes, label):
        forest = build_forest([leaf([1, 0])], columns=["a"], classes=classes)
        with pytest.raises(InputError, match="class must be one of"):
            forest.class_index(label)


def test_a_forest_cannot_be_changed_from_outside():
    values = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    forest = dataclasses.replace(cut_at(0), values=values)
    values[1] = [0, 9]
    assert forest.predict([[-1]]).tolist() == [0]
    with pytest.raises(ValueError, match="read-only"):
        forest.values[1] = [0, 9]
    with pytest.raises(ValueError, match="read-only"):
        forest.classes[0] = 5
    with pytest.raises(dataclasses.FrozenInstanceError):
        forest.vote = "mean"


@pytest.mark.parametrize(
    "change",
    [
        {"vote": "majority"},
        {"classes": np.array(["no", "Yes"])},
        {"classes": np.array(["no", "yes"], dtype=object)},
        {"columns": (Column("A"), Column("c", ("r", "g")))},
        {"columns": (Column("a"), Column("c", ("g", "r")))},
        {"importances": [1, 0]},
        {"threshold": [0.75] + [np.nan] * 5},
        {"subsets": (frozenset({1}),)},
        {"values": np.full((6, 2), 0.5)},
    ],
)
def test_equality_sees_every_part(change):
    assert example() == example()
    assert dataclasses.replace(example(), **change) != example()


def test_equality_with_something_else_is_false():
    assert example() != "forest"


# The nodes of example(): 0 numeric split, 1 categorical split, 2-4 leaves, 5 the second tree.
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"left": [0, 2, -1, -1, -1, -1]}, "after its parent"),  # a cycle of one
        ({"left": [1, 0, -1, -1, -1, -1]}, "after its parent"),  # a cycle of two
        ({"left": [1, 5, -1, -1, -1, -1]}, "in the same tree"),
        ({"left": [1, 99, -1, -1, -1, -1]}, "in the same tree"),
        ({"left": [1, -1, -1, -1, -1, -1]}, "after its parent"),
        ({"left": [1, 3, -1, -1, -1, -1]}, "exactly one parent"),  # 3 has two parents, 2 none
        ({"left": [1, 2, -1, -1, -1, 4]}, "no children"),
        ({"left": [1, 2, -1, -1, -1]}, "'left' must have one entry for each of the 6 nodes"),
        ({"roots": []}, "at least one tree"),
        ({"roots": [1, 5]}, "'roots'"),
        ({"roots": [0, 0, 5]}, "'roots'"),
        ({"roots": [0, 6]}, "'roots'"),
        ({"roots": [0, -1]}, "'roots'"),
        ({"roots": [0]}, "exactly one parent"),
        ({"roots": [[0, 5]]}, "at least one tree"),
        ({"feature": [2, 1, -1, -1, -1, -1]}, "below 2"),
        ({"feature": [-2, 1, -1, -1, -1, -1]}, "-1 at leaves"),
        ({"feature": ["a", 1, -1, -1, -1, -1]}, "'feature' must be an array of int32"),
        ({"feature": [1, 1, -1, -1, -1, -1]}, "split by subsets"),
        ({"feature": [0, 0, -1, -1, -1, -1]}, "split by subsets"),
        ({"subset": [-1, 1, -1, -1, -1, -1]}, "'subset' must be below 1"),
        ({"subsets": (frozenset({2}),)}, "a category that column 'c' does not have"),
        ({"threshold": [np.nan] * 6}, "must be a number. Got NaN"),
        ({"values": np.zeros((6, 3))}, "'values' must have shape"),
        ({"values": np.full((6, 2), np.nan)}, "finite"),
        ({"values": np.full((6, 2), np.inf)}, "finite"),
        ({"classes": np.array(["yes", "yes"])}, "labels must differ"),
        ({"classes": np.array([])}, "at least one class"),
        ({"columns": ()}, "at least one column"),
        ({"columns": (Column("a"), Column("a", ("r", "g")))}, "names must differ"),
        ({"columns": (Column("a"), Column("c", ("r", "r")))}, "no duplicates"),
        ({"columns": (Column("a"), Column("c", ()))}, "at least one category"),
        ({"importances": [1.0]}, "'importances'"),
        ({"importances": [np.nan, 1.0]}, "'importances'"),
        ({"vote": "plurality"}, r"'vote' must be one of .* Got 'plurality'"),
    ],
)
def test_arrays_that_are_no_forest_are_refused(change, message):
    with pytest.raises(ForestFormatError, match=message):
        dataclasses.replace(example(), **change)


def test_repr_counts_what_is_there():
    assert repr(example()) == "Forest(2 trees, 6 nodes, 2 columns, 2 classes, mean vote)"
