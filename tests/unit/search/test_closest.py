"""The parts of the search for the cheapest witness, by enumeration; of equally cheap ones, the first is kept."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from generators import cell_forests
from treeproof.oracles.brute import BruteOracle
from treeproof.query.cache import Cache
from treeproof.query.oracle import Query, Refuted, Stays, Unknown
from treeproof.search.closest import _falls_then_rises, _Line, closest, closest_maximum


class Silent:
    """An oracle that never answers."""

    name = "silent"

    def decide(self, query: Query) -> Unknown:
        return Unknown("silent")


@pytest.mark.parametrize("ordered", [True, False])
def test_the_cheapest_place_of_a_stretch_is_known(ordered):
    rng = np.random.default_rng(0)
    ranges = 0
    for _ in range(150):
        cells = sorted(rng.choice(8, int(rng.integers(1, 7)), replace=False).tolist())
        costs = {cell: int(rng.integers(0, 4)) for cell in cells}
        line = _Line(3, costs, ordered)
        n = len(cells)
        assert sorted(line.cells) == cells
        assert [costs[cell] for cell in line.cells] == line.costs
        for stretch in itertools.combinations_with_replacement(range(n), 2):
            inside = line.cells[stretch[0] : stretch[1] + 1]
            assert line.least(stretch) == min(costs[cell] for cell in inside)
            domain = line.domain(stretch)
            assert set(domain) == set(inside)
            assert ordered or isinstance(domain, frozenset)
            ranges += isinstance(domain, range)
            for limit in range(line.least(stretch) + 1, 5):
                first, last = line.below(limit, stretch)
                assert stretch[0] <= first <= last <= stretch[1]
                cheap = [place for place in range(stretch[0], stretch[1] + 1) if line.costs[place] < limit]
                assert (first, last) == (cheap[0], cheap[-1])
        if ordered and cells == list(range(cells[0], cells[0] + n)) and _falls_then_rises([costs[c] for c in cells]):
            assert isinstance(line.domain((0, n - 1)), range)  # a hole would be asked about in parts
    assert ranges > 50 or not ordered


def test_costs_that_fall_and_then_rise():
    for costs in ([1], [3, 1, 1, 2], [2, 2, 0], [0, 0, 5], [1, 1]):
        assert _falls_then_rises(costs)
    for costs in ([0, 1, 0], [3, 1, 2, 1], [1, 2, 0], [2, 3, 1]):
        assert not _falls_then_rises(costs)


@pytest.mark.parametrize("search", [closest, closest_maximum])
def test_a_witness_as_cheap_as_any_is_kept_and_without_time_only_the_first_step_is_known(search):
    total = sum if search is closest else max
    kept = 0
    for i, forest in enumerate(cell_forests(60, seed=71, n_columns=3)):
        rng = np.random.default_rng(i)
        point = tuple(rng.integers(forest.n_cells).tolist())
        claim = Stays(forest.label(point))
        costs = {f: {c: abs(c - point[f]) for c in range(n)} for f, n in enumerate(forest.n_cells)}
        points = itertools.product(*map(range, forest.n_cells))
        prices = {p: total(costs[f][p[f]] for f in costs) for p in points if forest.label(p) != claim.label}
        if not prices:
            continue
        least = min(prices.values())
        for start in sorted(p for p in prices if prices[p] == least):
            witness = Refuted(start, forest.label(start))
            found = search(Cache(forest, BruteOracle(forest), point, claim), costs, witness)
            assert (found.witness, found.cost, found.bound) == (witness, least, least)
            kept += 1
        start = max(prices, key=lambda p: prices[p])
        late = search(Cache(forest, Silent(), point, claim), costs, Refuted(start, forest.label(start)))
        assert late.cost == prices[start]
        expected = min(1, late.cost) if search is closest_maximum else 0
        assert late.bound == expected
    assert kept > 40
