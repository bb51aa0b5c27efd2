"""What is particular to the native oracle; the rest is in the conformance suite."""

from __future__ import annotations

import pytest

import treeproof as tp


def chain(depth: int) -> tp.Forest:
    tree = 0
    for i in range(depth):
        tree = tp.split("a", float(i), i % 2, tree)
    return tp.build_forest([tree], columns=["a"], classes=[0, 1])


def test_a_very_deep_tree_is_explained():
    why = tp.Explainer(chain(15_000)).abductive([5])
    assert why.features == (0,)
    assert why.label == chain(15_000).predict([[5]])[0]


def test_a_tree_that_could_exhaust_the_stack_is_refused():
    with pytest.raises(tp.UnsupportedQueryError, match="depth up to 19000"):
        tp.Explainer(chain(30_000))
