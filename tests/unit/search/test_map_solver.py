"""The map of sets of features: which sets it has, and what it says when it has none."""

from __future__ import annotations

import itertools
import random

import pytest

from treeproof.search import map_solver as module
from treeproof.search.map_solver import Chart


def left(chart: Chart, features: range) -> set[frozenset[int]]:
    """All sets that are left, one assumption after the other."""
    found = set()
    for signs in itertools.product((1, -1), repeat=len(features)):
        if chart.solve([sign * (f + 1) for f, sign in zip(features, signs, strict=True)]):
            found.add(chart.features())
    return found


def test_sets_meet_what_they_must_and_avoid_the_rest():
    for seed in range(30):
        rng = random.Random(seed)
        features = range(rng.randint(1, 5))
        expected = {frozenset(s) for n in range(6) for s in itertools.combinations(features, n)}
        with Chart(features) as chart:
            assert left(chart, features) == expected
            for _ in range(rng.randint(0, 4)):
                some = frozenset(rng.sample(features, rng.randint(1, len(features))))
                if rng.random() < 0.5:
                    chart.meet(some)
                    expected = {s for s in expected if s & some}
                else:
                    chart.avoid(some)
                    expected = {s for s in expected if not some <= s}
                assert left(chart, features) == expected


@pytest.mark.parametrize("solver", ["minisat22", "glucose4"])
def test_all_features_or_none_are_tried_first_if_wished(solver):
    for sign, first in ((1, {0, 1, 2}), (-1, set())):
        with Chart(range(3), solver=solver) as chart:
            chart.favour(sign * (f + 1) for f in range(3))
            assert chart.solve()
            assert chart.features() == first


def test_what_stands_for_something_else_is_not_among_the_features():
    with Chart([0, 2]) as chart:
        chart.add([7])
        assert chart.solve([1, 3])
        assert chart.features() == {0, 2}


def test_refutation_is_certain():
    with Chart(range(3)) as chart:
        chart.avoid({0, 1})
        assert chart.refutes([1, 2], 10)
        assert not chart.refutes([1], 10)
        assert not chart.solve([1, 2, 3])
        assert set(chart.core()) <= {1, 2}
        assert chart.core()
        chart.meet({2})
        chart.avoid({2})
        assert not chart.solve()
        assert chart.core() == []


def test_a_search_goes_on_in_slices_until_the_deadline(monkeypatch):
    """The pigeonhole principle: nine pigeons do not fit into eight holes, which takes more than one conflict."""
    pigeons, holes = range(9), range(8)
    monkeypatch.setattr(module, "_CONFLICTS", 1)
    with Chart(range(72)) as chart:
        for p in pigeons:
            chart.meet(8 * p + h for h in holes)
        for h in holes:
            for pair in itertools.combinations(pigeons, 2):
                chart.avoid(8 * p + h for p in pair)
        assert not chart.refutes([], 1)
        looks = []
        monkeypatch.setattr(module, "expired", lambda deadline: len(looks) > 20 or looks.append(deadline))
        with pytest.raises(TimeoutError):
            chart.solve()
        assert len(looks) == 21


def test_other_threads_run_while_the_solver_works(monkeypatch):
    """The solver keeps Python's lock, and takes Ctrl-C for itself, unless it is told that it may be interrupted."""
    with Chart(range(2)) as chart:
        told = []
        real = chart._solver.solve_limited

        def solve_limited(assumptions, expect_interrupt):
            told.append(expect_interrupt)
            return real(assumptions=assumptions, expect_interrupt=expect_interrupt)

        monkeypatch.setattr(chart._solver, "solve_limited", solve_limited)
        assert chart.solve()
        assert not chart.refutes([1], 10)
        assert told == [True, True]
