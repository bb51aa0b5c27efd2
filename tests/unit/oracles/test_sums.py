"""Sums of integers that must reach something, all at once, against all points."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from generators import cell_forests, random_clauses
from treeproof.model.build import build_forest, leaf, split
from treeproof.oracles.sums import SumOracle
from treeproof.query.cells import discretise
from treeproof.query.oracle import Entailed, Refuted, Unknown
from treeproof.query.sums import _binary_places, keeps, sum_forest, totals
from treeproof.space.declare import declare


def random_numbers(rng: np.random.Generator, n_nodes: int, n_sums: int) -> np.ndarray:
    size = int(rng.choice([1, 3, 10**6, 2**50]))
    return rng.integers(-size, size + 1, (n_nodes, n_sums))


def test_a_point_is_found_iff_there_is_one():
    outcomes = set()
    for seed, cells in enumerate(cell_forests(40, seed=5, n_columns=3, vote="sum")):
        rng = np.random.default_rng(seed)
        forest = sum_forest(cells, random_numbers(rng, len(cells.feature), 1 + seed % 3))
        if seed % 4 == 0:
            forest = replace(forest, clauses=random_clauses(rng, cells))
        oracle = SumOracle(forest)
        points = [p for p in itertools.product(*map(range, forest.n_cells)) if keeps(forest.clauses, p)]
        sums = np.array([totals(forest, p) for p in points]).reshape(len(points), forest.numbers.shape[1])
        for _ in range(6):
            if not len(sums):
                break
            least = sums[rng.integers(len(sums))] + rng.integers(0, 2, sums.shape[1])
            answer = oracle.reach(least.tolist(), cells.full)
            reached = (sums >= least).all(axis=1)
            outcomes.add(type(answer))
            assert isinstance(answer, Refuted if reached.any() else Entailed)
            if isinstance(answer, Refuted):
                assert (np.array(totals(forest, answer.witness)) >= least).all()
                assert answer.witness in points
                assert oracle.totals(answer.witness) == totals(forest, answer.witness)
    assert outcomes == {Refuted, Entailed}


def test_a_deadline_leaves_it_open():
    cells = next(cell_forests(1, seed=1, n_columns=3))
    oracle = SumOracle(sum_forest(cells, np.ones((len(cells.feature), 1), dtype=np.int64)))
    assert isinstance(oracle.reach([0], cells.full, deadline=0.0), Unknown)


def test_a_huge_leaf_counts_for_whatever_is_asked_later():
    # Bounds cut off leaves that outweigh every target. Which targets there will be is not known when they are made.
    huge = 2**55
    trees = [split("a", 0.5, leaf([0.0, 1.0]), leaf([1.0, 0.0])) for _ in range(4)]
    cells = discretise(declare(build_forest(trees, columns=["a"], classes=[0, 1], vote="mean")))
    numbers = np.array([0, 2**30, -(2**30)] * 3 + [0, 5, huge], dtype=np.int64)[:, None]
    forest = sum_forest(cells, numbers)
    oracle = SumOracle(forest)
    (best,) = totals(forest, (1,))
    for least in (best - 2**40, best):
        answer = oracle.reach([least], cells.full)
        assert isinstance(answer, Refuted)
        assert answer.witness == (1,)
    assert isinstance(oracle.reach([best + 1], cells.full), Entailed)


def test_exact_numbers_have_as_many_binary_places_as_they_need():
    rng = np.random.default_rng(5)
    some = [0.0, -0.0, 1.0, -3.0, 0.75, 5e-324, -1e300, 2.0**-1022, 1 / 3, 2.0**60, *rng.normal(size=20).tolist()]
    for value in some:
        places = value.as_integer_ratio()[1].bit_length() - 1
        assert _binary_places(np.array([value, 2.0])) == places
    assert _binary_places(np.zeros(0)) == 0
