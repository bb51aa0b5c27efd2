"""The native oracle against enumeration where arithmetic and shapes are at their limits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from generators import holds, random_query
from treeproof.model.build import build_forest, leaf, split
from treeproof.model.forest import Forest
from treeproof.oracles.native import NativeOracle, PlainOracle
from treeproof.query.cells import discretise
from treeproof.query.oracle import Entailed, Never, Query, Refuted, Stays, violates
from treeproof.space.declare import declare

LARGEST = np.finfo(np.float32).max

THRESHOLDS = [-np.inf, -float(LARGEST), -1.5, -5e-324, 0.0, 1e-45, 2.5, float(LARGEST), 1e39, np.inf]


def stumps(rng, values, *, n_trees: int, n_classes: int, depth: int = 2, vote: str = "mean") -> Forest:
    """Trees over three columns (a fourth is in no tree), thresholds at the ends of float32, some trees twice."""

    def node(level: int):
        if level == 0 or rng.random() < 0.1:
            return leaf(values(rng, n_classes))
        column = f"c{rng.integers(3)}"
        return split(column, float(rng.choice(THRESHOLDS)), node(level - 1), node(level - 1))

    different = [node(depth) for _ in range(max(1, n_trees // 2))]
    trees = [different[rng.integers(len(different))] for _ in range(n_trees)]
    columns = [f"c{j}" for j in range(4)]
    return build_forest(trees, columns=columns, classes=list(range(n_classes)), vote=vote)


def tenths(rng, n):
    """Sums of tenths tie or miss a tie by a rounding error."""
    return list(rng.choice([0.1, 0.2, 0.3, 0.6, 0.7], n))


def thirds(rng, n):
    counts = rng.integers(0, 3, n) + np.eye(n, dtype=int)[rng.integers(n)]
    return list(counts / counts.sum())


def huge(rng, n):
    return list(rng.choice([0.0, 1e300, 1e300 * (1 + 2**-52), 1.0], n))


def overflowing(rng, n):
    return list(rng.choice([1e308, -1e308, 1.7e308, 0.0], n))


def tiny(rng, n):
    return list(rng.choice([0.0, 5e-324, 1e-323, 1e-310, 1e-300], n))


def mixed(rng, n):
    return list(rng.choice([1e-300, 1.0, 1e-17, 2**-53, 0.5, 0.1], n))


def mostly_pure(rng, n):
    return votes(rng, n) if rng.random() < 0.8 else thirds(rng, n)


def votes(rng, n):
    return list(np.eye(n)[rng.integers(n)])


def check(forest: Forest, rng, n_queries: int) -> None:
    cells = discretise(declare(forest))
    for oracle in (NativeOracle(cells), NativeOracle(cells, tabulate=False), PlainOracle(cells)):
        for _ in range(n_queries):
            query = random_query(rng, cells)
            answer = oracle.decide(query)
            with np.errstate(over="ignore", invalid="ignore"):
                if holds(cells, query):
                    assert isinstance(answer, Entailed)
                else:
                    assert isinstance(answer, Refuted)
                    assert cells.label(answer.witness) == answer.label
                    assert violates(query.claim, answer.label)


@pytest.mark.parametrize("values", [tenths, thirds, huge, overflowing, tiny, mixed, mostly_pure, votes])
@pytest.mark.parametrize("seed", range(40))
def test_near_ties_and_extreme_leaf_values(values, seed):
    rng = np.random.default_rng(seed)
    forest = stumps(rng, values, n_trees=int(rng.integers(1, 8)), n_classes=int(rng.integers(1, 5)))
    check(forest, rng, 8)


@pytest.mark.parametrize("vote", ["majority", "mean"])
@pytest.mark.parametrize("n_classes", [1, 2, 7, 26])
def test_many_classes(n_classes, vote):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        check(stumps(rng, thirds, n_trees=9, n_classes=n_classes, vote=vote), rng, 8)


@pytest.mark.parametrize("vote", ["majority", "mean"])
@pytest.mark.parametrize("n_trees", [1, 2, 100, 1000])
def test_many_trees(n_trees, vote):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        check(stumps(rng, thirds, n_trees=n_trees, n_classes=3, depth=1, vote=vote), rng, 2)


def test_more_classes_than_bits_in_a_word():
    rng = np.random.default_rng(0)
    check(stumps(rng, votes, n_trees=12, n_classes=70, vote="majority"), rng, 10)


def test_every_tie_of_two_classes_goes_to_the_first():
    # Two trees that disagree, in both orders of the classes, under both votes.
    for vote, (first, second) in itertools.product(["majority", "mean"], [(0, 1), (1, 0)]):
        forest = build_forest([split("a", 0, first, second), split("a", 0, second, first)], columns=["a"],
                              classes=[0, 1], vote=vote)  # fmt: skip
        cells = discretise(declare(forest))
        oracle = NativeOracle(cells, tabulate=False)
        assert isinstance(oracle.decide(Query(cells.full, Stays(0))), Entailed)
        assert isinstance(oracle.decide(Query(cells.full, Never(1))), Entailed)
        assert isinstance(oracle.decide(Query(cells.full, Stays(1))), Refuted)
