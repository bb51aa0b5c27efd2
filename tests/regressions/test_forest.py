"""Forests that were built from something else than what was given."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest

from treeproof.errors import ForestFormatError, InputError, TreeproofError
from treeproof.model.build import build_forest, isin, leaf, split
from treeproof.model.columns import Column
from treeproof.space.declare import declare

LARGEST = np.finfo(np.float32).max


@pytest.mark.parametrize("threshold", [-float(LARGEST), float(LARGEST), -np.inf, 1e300])
def test_thresholds_at_the_ends_of_float32_raise_no_numpy_warning(threshold):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build_forest([split("a", threshold, 0, 1)], columns=["a"], classes=[0, 1])


@pytest.mark.parametrize("left", [np.array([2**32 + 1, -1, -1]), np.array([1.9, -1.0, -1.0])])
def test_indices_are_not_wrapped_or_truncated_into_range(left):
    forest = build_forest([split("a", 0, 0, 1)], columns=["a"], classes=[0, 1])
    with pytest.raises(ForestFormatError, match="left"):
        dataclasses.replace(forest, left=left)


def test_labels_of_different_types_keep_them_or_are_refused():
    try:
        forest = build_forest([leaf(0)], columns=["a"], classes=[0, "a"])
    except TreeproofError:
        return
    assert forest.predict([[0]]).tolist() == [0]


@pytest.mark.parametrize(
    "build",
    [
        lambda: split("a", "high", 0, 1),
        lambda: split("a", None, 0, 1),
        lambda: isin("c", None, 0, 1),
        lambda: build_forest([leaf(["x", "y"])], columns=["a"], classes=[0, 1]),
        lambda: build_forest([leaf([])], columns=["a"], classes=[]),
        lambda: build_forest([leaf(0)], columns=[1], classes=[0, 1]),
        lambda: build_forest([leaf(True)], columns=["a"], classes=[0, 1]),
        lambda: build_forest([isin("c", [True], 0, 1)], columns=[Column("c", (1, 2))], classes=[0, 1]),
    ],
    ids=["threshold text", "threshold None", "categories None", "values text", "no classes", "column 1",
         "label True for 1", "category True for 1"],
)  # fmt: skip
def test_what_cannot_be_built_is_a_treeproof_error(build):
    with pytest.raises(TreeproofError):
        build()


def test_a_very_deep_tree_can_be_built():
    node = leaf(1)
    for depth in range(3000):
        node = split("a", depth, node, 0)
    forest = build_forest([node], columns=["a"], classes=[0, 1])
    assert forest.predict([[-1], [0.5]]).tolist() == [1, 0]


def test_a_kind_declared_twice_for_one_column_is_refused():
    forest = build_forest([split("a", 0.5, 0, 1)], columns=["a"], classes=[0, 1])
    with pytest.raises(InputError, match="'a'"):
        declare(forest, kinds={"a": "binary", 0: "real"})
