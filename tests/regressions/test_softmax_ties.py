"""After a softmax, sums that differ by little tie: near ties of many classes, decided by the two classes at hand."""

from __future__ import annotations

import numpy as np
import pytest

from generators import check_answer, random_query
from treeproof.model.build import build_forest, leaf, split
from treeproof.model.decision import Sums
from treeproof.oracles.brute import BruteOracle
from treeproof.oracles.native import NativeOracle, PlainOracle
from treeproof.query.cells import CellForest, discretise
from treeproof.query.oracle import Entailed, Refuted
from treeproof.space.declare import declare

# Apart by less than float32 tells, by what a softmax tells or not, and by the gap beyond which a pair decides alone.
STEPS = [2.0**-24, 2.0**-23, 2.0**-21, 2.0**-17, 2.0**-14, 2.0**-13, 0.25]


def near_ties(seed: int) -> CellForest:
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(3, 5))
    step = float(rng.choice(STEPS))

    def value() -> list[float]:
        return [float(np.float32(rng.integers(-2, 3) * step)) for _ in range(n_classes)]

    trees = [
        split(f"c{rng.integers(3)}", float(rng.integers(3)), leaf(value()), leaf(value()))
        for _ in range(int(rng.integers(2, 6)))
    ]
    sums = Sums((0.5,) * n_classes, dtype="float32", softmax=True)
    forest = build_forest(trees, columns=["c0", "c1", "c2"], classes=list(range(n_classes)), vote="sum", sums=sums)
    return discretise(declare(forest))


@pytest.mark.parametrize("make", [PlainOracle, lambda forest: NativeOracle(forest, tabulate=False)])
def test_near_ties_after_a_softmax_are_decided_as_by_enumeration(make):
    outcomes = set()
    for seed in range(150):
        forest, rng = near_ties(seed), np.random.default_rng(seed)
        oracle, brute = make(forest), BruteOracle(forest)
        for _ in range(4):
            query = random_query(rng, forest)
            answer = oracle.decide(query)
            check_answer(forest, query, answer)
            assert type(answer) is type(brute.decide(query))
            outcomes.add(type(answer))
    assert outcomes == {Entailed, Refuted}
