from __future__ import annotations

import numpy as np
import pytest

from treeproof.errors import InputError, TreeproofError
from treeproof.model.build import build_forest, isin, leaf, split
from treeproof.model.columns import Column
from treeproof.model.examples import heart_disease

COLOUR = Column("colour", ("red", "amber", "green"))


def test_yes_is_the_side_at_or_below_the_threshold():
    forest = build_forest([split("a", 2, "low", "high")], columns=["a"], classes=["low", "high"])
    assert forest.predict([[2], [2.001]]).tolist() == ["low", "high"]


def test_yes_is_the_side_of_the_named_categories():
    forest = build_forest([isin("colour", {"red", "green"}, 1, 0)], columns=[COLOUR], classes=[0, 1])
    assert forest.predict([["red"], ["amber"], ["green"]]).tolist() == [1, 0, 1]


def test_no_category_at_all_always_goes_to_no():
    forest = build_forest([isin("colour", [], 1, 0)], columns=[COLOUR], classes=[0, 1])
    assert forest.predict([["red"], ["amber"], ["green"]]).tolist() == [0, 0, 0]


def test_equal_sets_of_categories_are_kept_once():
    trees = [isin("colour", ["red", "green"], 0, 1), isin("colour", ["green", "red"], 1, 0)]
    assert build_forest(trees, columns=[COLOUR], classes=[0, 1]).subsets == (frozenset({0, 2}),)


@pytest.mark.parametrize("values", [[0.25, 0.75], (0.25, 0.75), np.array([0.25, 0.75])])
def test_a_leaf_takes_a_value_for_each_class(values):
    forest = build_forest([leaf(values)], columns=["a"], classes=["x", "y"], vote="mean")
    assert forest.values.tolist() == [[0.25, 0.75]]
    assert forest.predict([[0]]).tolist() == ["y"]


def test_a_label_leaf_is_one_for_its_class():
    forest = build_forest(["y", leaf("x")], columns=["a"], classes=["x", "y"])
    assert forest.values.tolist() == [[0, 1], [1, 0]]


def test_nodes_are_laid_out_in_preorder():
    forest = build_forest([split("a", 1, split("b", 2, 0, 1), 1), 0], columns=["a", "b"], classes=[0, 1])
    assert forest.roots.tolist() == [0, 5]
    assert forest.feature.tolist() == [0, 1, -1, -1, -1, -1]
    assert forest.left.tolist() == [1, 2, -1, -1, -1, -1]
    assert forest.right.tolist() == [4, 3, -1, -1, -1, -1]


def test_importances_are_the_share_of_splits_unless_given():
    tree = split("a", 1, split("b", 2, 0, 1), split("a", 3, split("a", 2, 0, 1), 1))
    names = ["a", "b", "unused"]
    assert build_forest([tree], columns=names, classes=[0, 1]).importances.tolist() == [0.75, 0.25, 0]
    given = build_forest([tree], columns=names, classes=[0, 1], importances=[1, 2, 3])
    assert given.importances.tolist() == [1, 2, 3]
    assert build_forest([leaf(0)], columns=names, classes=[0, 1]).importances.tolist() == [0, 0, 0]


def test_the_papers_patient_has_heart_disease_and_his_healthy_twin_has_not():
    forest, patient = heart_disease()
    assert forest.predict([patient, [0, 1, 0, 70]]).tolist() == ["Yes", "No"]
    assert forest.vote == "majority"


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (split("b", 0, 0, 1), r"split must be on one of \['a', 'colour'\]. Got 'b'"),
        (split("a", 0, 0, split("b", 0, 0, 1)), "Got 'b'"),
        (split("a", 0, 0, 2), r"class must be one of \[0, 1\]. Got 2"),
        ("yes", "Got 'yes'"),
        (leaf([0.5]), "must have 2 values, one per class. Got 1"),
        (leaf([0.5, 0.5, 0]), "Got 3"),
        (split("colour", 1, 0, 1), r"'colour' must be split by isin\(\)"),
        (isin("a", [1], 0, 1), r"'a' must be split by split\(\)"),
        (isin("colour", ["red", "blue"], 0, 1), r"among \['red', 'amber', 'green'\]. Got \['blue'\]"),
    ],
)
def test_trees_that_do_not_fit_the_columns_and_classes_are_refused(tree, message):
    with pytest.raises(InputError, match=message):
        build_forest([tree], columns=["a", COLOUR], classes=[0, 1])


def test_a_string_is_not_a_list_of_categories():
    with pytest.raises(InputError, match="Got the string 'red'"):
        isin("colour", "red", 0, 1)


@pytest.mark.parametrize(
    ("trees", "columns", "classes", "message"),
    [
        ([], ["a"], [0, 1], "at least one tree"),
        ([leaf(0)], [], [0, 1], "at least one column"),
        ([leaf(0)], ["a", "a"], [0, 1], "names must differ"),
        ([leaf(0)], ["a"], [0, 0], "labels must differ"),
        ([split("a", float("nan"), 0, 1)], ["a"], [0, 1], "NaN"),
        ([leaf([float("inf"), 0])], ["a"], [0, 1], "finite"),
    ],
)
def test_what_cannot_be_a_forest_is_refused(trees, columns, classes, message):
    with pytest.raises(TreeproofError, match=message):
        build_forest(trees, columns=columns, classes=classes)


def test_importances_must_match_the_columns():
    with pytest.raises(TreeproofError, match="'importances'"):
        build_forest([leaf(0)], columns=["a", "b"], classes=[0, 1], importances=[1])


def test_missing_values_go_to_one_of_the_two_sides():
    for side in ("left", "", None, True):
        with pytest.raises(InputError, match="Missing values go to 'yes' or 'no'"):
            split("a", 0, 0, 1, missing=side)
