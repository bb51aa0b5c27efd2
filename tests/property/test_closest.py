"""Limited domains and cheapest witnesses on random forests, against enumeration; sound whenever the time is up."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from generators import cell_forests, random_clauses
from treeproof.oracles.brute import BruteOracle
from treeproof.oracles.native import NativeOracle
from treeproof.query.cache import Cache
from treeproof.query.cells import CellForest
from treeproof.query.oracle import Answer, Entailed, Query, Refuted, Stays, Unknown, violates
from treeproof.search.closest import closest, closest_maximum


class Impatient:
    """An oracle whose time is up after so many answers."""

    name = "impatient"

    def __init__(self, forest: CellForest, patience: int) -> None:
        self._oracle = BruteOracle(forest)
        self._left = patience

    def decide(self, query: Query) -> Answer:
        self._left -= 1
        return self._oracle.decide(query) if self._left >= 0 else Unknown("patience")


def cases(n: int, seed: int):
    """Forests with rules at times, a point that keeps them, and the cells that each feature may take, with holes."""
    for i, forest in enumerate(cell_forests(n, seed=seed, n_columns=3)):
        rng = np.random.default_rng([seed, i])
        if rng.random() < 0.3:
            forest = replace(forest, clauses=random_clauses(rng, forest))
        points = [p for p in itertools.product(*(range(n) for n in forest.n_cells)) if forest.allows(p)]
        if not points:
            continue
        point = points[rng.integers(len(points))]
        free = []
        for f, n_cells in enumerate(forest.n_cells):
            some = frozenset(np.flatnonzero(rng.random(n_cells) < 0.6).tolist()) | {point[f]}
            free.append(some if rng.random() < 0.6 else forest.full[f])
        yield rng, forest, point, free, Stays(forest.label(point))


@pytest.mark.parametrize("native", [True, False])
def test_questions_about_limited_features_agree_with_enumeration(native):
    holes = 0
    for rng, forest, point, free, claim in cases(150, seed=8):
        oracle = NativeOracle(forest, tabulate=False) if native else BruteOracle(forest)
        cache = Cache(forest, oracle, point, claim, free=free)

        def holds(fixed, forest=forest, point=point, free=free, claim=claim):
            domains = [(point[f],) if f in fixed else free[f] for f in range(forest.n_features)]
            return not any(violates(claim, forest.label(p)) for p in itertools.product(*domains) if forest.allows(p))

        for _ in range(6):
            fixed = frozenset(np.flatnonzero(rng.random(forest.n_features) < 0.4).tolist())
            answer = cache.ask(fixed)
            assert isinstance(answer, Entailed) == holds(fixed)
            if isinstance(answer, Entailed):
                assert answer.core <= fixed
                assert holds(answer.core)
            else:
                assert isinstance(answer, Refuted)
                assert all(answer.witness[f] == point[f] for f in fixed)
                assert all(answer.witness[f] in free[f] for f in range(forest.n_features))
        holes += cache.tally.refuted + cache.tally.entailed > 6
    assert holes > 0, "some questions must have been cut at holes"


@pytest.mark.parametrize("search", [closest, closest_maximum])
def test_the_cheapest_witness_is_found_and_bounds_hold_whenever_the_time_is_up(search):
    total = sum if search is closest else max
    late = 0
    for rng, forest, point, free, claim in cases(120, seed=2):
        costs = {}
        for f, cells in enumerate(free):
            if forest.ordered[f]:
                # A cost that never falls away from the point's own cell, with plateaus.
                steps = rng.integers(0, 4, (2, forest.n_cells[f])).cumsum(axis=1)
                costs[f] = {c: int(steps[int(c > point[f]), abs(c - point[f]) - 1]) for c in cells if c != point[f]}
            else:
                costs[f] = {c: int(rng.integers(0, 4)) for c in cells if c != point[f]}
            costs[f][point[f]] = 0
        flips = [p for p in itertools.product(*free) if forest.allows(p) and violates(claim, forest.label(p))]
        if not flips:
            continue
        prices = {p: total(costs[f][p[f]] for f in costs) for p in flips}
        start = Refuted(max(flips, key=lambda p: prices[p]), -1)
        if search is closest_maximum and min(prices.values()) == 0:
            continue  # the instance's own cells only are to be free of charge
        for patience in (0, 1, 2, 4, 8, 16, 10**6):
            oracle = Impatient(forest, patience)
            found = search(Cache(forest, oracle, point, claim, free=free), costs, start)
            assert found.cost == prices[found.witness.witness]
            assert found.bound <= min(prices.values()) <= found.cost
            late += not found.proved
        assert found.proved
        native = NativeOracle(forest, tabulate=False)
        assert search(Cache(forest, native, point, claim, free=free), costs, start).cost == found.cost
    assert late > 20
