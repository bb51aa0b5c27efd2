"""Sizes at which the time, the memory or the stack once grew out of proportion.

Each of these took minutes, or ended the process, before; none needs a clock to tell.
"""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest

import treeproof as tp
from treeproof.model.decision import Sums


def test_many_categories_take_time_in_proportion():
    names = [f"c{i}" for i in range(100_000)]
    trees = [
        tp.isin("a", names[:50_000], "x", "y"),
        tp.split("b", 1, "x", "y"),
        tp.isin("a", names[1_000:2_000], "x", "y"),
    ]
    forest = tp.build_forest(trees, columns=[tp.Column("a", tuple(names)), "b"], classes=["x", "y"])
    why = tp.Explainer(forest).abductive(["c7", 0])
    assert why.feature_names == ("a", "b")
    assert why.certificate().check().leaves == 1


@pytest.mark.parametrize("wrong", [[], ["x"], {"x": 1}])
def test_a_leaf_that_cannot_be_looked_up_is_refused(wrong):
    with pytest.raises(tp.InputError, match=r"A leaf must have 2 values|A leaf's class must be one of"):
        tp.build_forest([tp.split("a", 1, wrong, "y")], columns=["a"], classes=["x", "y"])


def cut_forest(cuts: np.ndarray) -> tp.Forest:
    """Return trees whose score has few values, cut at many places."""
    trees = [
        tp.split(name, 0, tp.leaf([-size]), tp.leaf([size])) for name, size in (("a", 1.0), ("b", 0.5), ("c", 2.5))
    ]
    sums = Sums((0.25,), cuts=tuple(cuts.tolist()))
    classes = [str(k) for k in range(len(cuts) + 1)]
    return tp.build_forest(trees, columns=["a", "b", "c"], classes=classes, vote="sum", sums=sums)


@pytest.mark.parametrize("n_cuts", [3, 4, 9, 2_000])
def test_many_cuts_are_answered_by_the_neighbours(n_cuts):
    forest = cut_forest(np.linspace(-3, 3, n_cuts))
    explainer, row = tp.Explainer(forest, tabulate=False), [1, -1, 1]
    points = list(itertools.product([-1, 1], repeat=3))
    labels = dict(zip(points, forest.predict(points).tolist(), strict=True))
    for size in range(4):
        for kept in itertools.combinations(range(3), size):
            near = [p for p in points if all(p[f] == row[f] for f in kept)]
            assert explainer.holds(row, kept).holds == (len({labels[p] for p in near}) == 1)
    for target in set(labels.values()) - {labels[1, -1, 1]}:
        change = explainer.contrastive(row, target=target)
        assert change.witness_label == target
        fewest = min(sum(a != b for a, b in zip(p, row, strict=True)) for p in points if labels[p] == target)
        assert len(change.features) >= fewest


@pytest.mark.parametrize("leftward", [False, True])
def test_a_deep_tree_is_explained_on_a_small_stack(leftward):
    tree = 0
    for i in range(15_000):
        below = (tree, i % 2) if leftward else (i % 2, tree)
        tree = tp.split("ab"[i % 2], float(i), *below)
    forest = tp.build_forest([tree], columns=["a", "b"], classes=[0, 1])
    explainers = [tp.Explainer(forest), tp.Explainer(forest, tabulate=False)]
    found: list[tp.Abductive] = []
    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(
            target=lambda: found.extend(e.abductive([5.5, 100.5], inflate=True, timeout=60) for e in explainers)
        )
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert [why.label for why in found] == forest.predict([[5.5, 100.5]]).tolist() * 2
