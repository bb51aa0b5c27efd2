"""Two copies of a forest: the difference of a tree and its copy as one tree, against both of them."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest

from generators import cell_forests
from treeproof.query import twins as module
from treeproof.query.sums import sum_forest, totals
from treeproof.query.twins import Trees, Twins, spread


@pytest.mark.parametrize("largest", [module._LARGEST_OVERLAY, 2])
def test_differences_are_those_of_the_two_copies(monkeypatch, largest):
    monkeypatch.setattr(module, "_LARGEST_OVERLAY", largest)  # small: trees are put beside their copies
    for seed, cells in enumerate(cell_forests(12, seed=3, n_columns=3, vote="sum")):
        rng = np.random.default_rng(seed)
        numbers = rng.integers(-9, 10, len(cells.feature))
        plain = sum_forest(cells, numbers[:, None])
        doubled = ((0,), (1,), (1, 2))[seed % 3]
        twins = Twins(cells, doubled)
        trees = Trees(cells, 1, twins)
        trees.add_difference(twins.touched.tolist(), 0, numbers)
        forest = trees.forest()
        points = list(itertools.product(*map(range, forest.n_cells)))
        for i in rng.integers(len(points), size=40):
            first, second = twins.pair(points[i])
            assert totals(forest, points[i]) == [totals(plain, second)[0] - totals(plain, first)[0]]
            assert all(a == b for f, (a, b) in enumerate(zip(first, second, strict=True)) if f not in doubled)
            assert abs(totals(forest, points[i])[0]) <= spread(cells, numbers, twins.touched) <= spread(cells, numbers)
        assert twins.pair(twins.joint(first)) == (first, first)


def test_trees_that_test_no_doubled_feature_are_left_out():
    cells = next(cell_forests(1, seed=9, n_columns=4))
    twins = Twins(cells, (2,))
    tested = {int(np.searchsorted(cells.source.roots, n, side="right") - 1) for n in np.flatnonzero(cells.feature == 2)}
    assert set(twins.touched.tolist()) == tested


def test_collecting_trees_ends_at_the_deadline():
    cells = next(cells for cells in cell_forests(20, seed=9, n_columns=4) if (cells.feature == 2).any())
    numbers, twins = np.arange(len(cells.feature)), Twins(cells, (2,))
    late = Trees(cells, 1, twins, deadline=time.monotonic())
    for add in (
        lambda: late.add([0], {0: numbers}),
        lambda: late.add_difference(twins.touched.tolist(), 0, numbers),
    ):
        with pytest.raises(TimeoutError):
            add()


def test_the_clock_is_looked_at_within_a_tree(monkeypatch):
    cells = next(cells for cells in cell_forests(20, seed=9, n_columns=4) if (cells.feature == 2).sum() > 1)
    twins = Twins(cells, (2,))
    looks = iter([False, False, True])  # at the tree, at its first node, at the next one
    monkeypatch.setattr(module, "_NODES_PER_LOOK", 1)
    monkeypatch.setattr(module, "expired", lambda deadline: next(looks))
    with pytest.raises(TimeoutError):
        Trees(cells, 1, twins).add_difference(twins.touched.tolist(), 0, np.arange(len(cells.feature)))
    assert not list(looks)
