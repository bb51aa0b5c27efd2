"""What the cache keeps, counts and refuses, with an oracle that says what it is told to."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest

from treeproof.errors import InternalError
from treeproof.model.build import build_forest, isin, split
from treeproof.model.columns import Column
from treeproof.oracles.brute import BruteOracle
from treeproof.query import cache as module
from treeproof.query.cache import Cache
from treeproof.query.cells import CellForest, discretise
from treeproof.query.oracle import Answer, Entailed, Query, Refuted, Stays, Unknown
from treeproof.query.tally import Statistics, Tally
from treeproof.space.declare import declare


class Told:
    """An oracle with these answers."""

    name = "told"

    def __init__(self, *answers: Answer) -> None:
        self._answers, self.asked = list(answers), list[Query]()

    def decide(self, query: Query) -> Answer:
        self.asked.append(query)
        return self._answers.pop(0)


@pytest.fixture
def forest() -> CellForest:
    """Class 1 iff two of: a above 0, b above 1 (of 0, 1, 2), c red."""
    trees = [split("a", 0, 0, 1), split("b", 1, 0, split("b", 2, 1, 1)), split("b", 0, 0, 0)]
    trees += [isin("c", ["red"], 1, 0), 1]
    columns = ["a", "b", Column("c", ("red", "green", "blue"))]
    return discretise(declare(build_forest(trees, columns=columns, classes=[0, 1])))


POINT = (1, 2, 0)


def remember(forest: CellForest, *answers: Answer, free: Sequence[range | frozenset[int]] | None = None) -> Cache:
    return Cache(forest, Told(*answers), POINT, Stays(forest.label(POINT)), free=free)


def test_the_forest_is_as_described(forest):
    assert (forest.n_cells, forest.ordered) == ((2, 4, 3), (True, True, False))
    assert [forest.label(p) for p in (POINT, (0, 2, 0), (0, 1, 0), (1, 1, 1))] == [1, 1, 0, 0]


def test_answers_are_remembered_and_counted(forest):
    cache = remember(forest, Refuted((0, 1, 0), 0), Entailed(frozenset({0, 1})), Unknown("late"))
    assert Statistics.of(cache.tally, "told", 0) == Statistics("told", 0, 0, 0, 0, 0, 0, 0, 0, 0)
    assert isinstance(cache.ask(frozenset({2})), Refuted)
    assert cache.ask(frozenset()) == Refuted((0, 1, 0), 0)
    assert isinstance(cache.ask(frozenset({0, 1})), Entailed)
    assert cache.ask(frozenset({0, 1, 2})).core == {0, 1}
    assert isinstance(cache.ask(frozenset({0, 2})), Unknown)
    counts = cache.tally
    assert (counts.entailed, counts.refuted, counts.unknown, counts.remembered) == (1, 1, 1, 2)
    assert cache.smallest_core(frozenset({0, 1, 2})) == {0, 1}
    assert cache.smallest_core(frozenset({1, 2})) == {1, 2}
    assert len(cache.oracle.asked) == 3
    assert cache.oracle.asked[0].domains == (range(2), range(4), frozenset({0}))
    assert cache.differences(Refuted((0, 1, 0), 0)) == {0, 1}


def test_times_and_near_ties_are_counted(forest, monkeypatch):
    ticks = iter([0.0, 3.0, 10.0, 12.0, 20.0, 25.0, 30.0, 31.0])
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(ticks))
    flip = Refuted((0, 1, 0), 0, near_tie=True)
    cache = remember(forest, Entailed(frozenset()), Entailed(frozenset(), near_tie=True), flip, flip)
    for _ in range(4):
        cache.decide(forest.full)
    counts = cache.tally
    assert (counts.longest_entailed, counts.longest_refuted, counts.near_ties) == (3.0, 5.0, 3)
    other = Tally()
    other.entailed, other.refuted, other.unknown, other.remembered, other.near_ties = 1, 2, 3, 4, 5
    other.work, other.longest_entailed, other.longest_refuted = 6, 4.0, 4.0
    counts.add(other)
    assert (counts.longest_entailed, counts.longest_refuted) == (4.0, 5.0)
    assert (counts.entailed, counts.refuted, counts.unknown) == (3, 4, 3)
    assert Statistics.of(counts, "told", 1.5) == Statistics("told", 1.5, 3, 4, 3, 4, 8, 6, 4.0, 5.0)
    assert (counts.remembered, counts.near_ties) == (4, 8)


def test_an_oracle_that_is_wrong_is_found_out(forest):
    for answer in (
        Refuted((0, 1, 0), 1),  # true, but for what it says of the label: this is noticed later
        Refuted((0, 2, 0), 0),
        Refuted((1, 1, 1), 0),
        Refuted((1, 2, 1), 0),
    ):
        cache = remember(forest, answer)
        right = forest.label(answer.witness) == 0 and answer.witness[2] == 0
        if right:
            assert cache.ask(frozenset({2})) == answer
            continue
        with pytest.raises(InternalError, match="did not refute its query"):
            cache.ask(frozenset({2}))
    ruled = replace(forest, clauses=(((0, range(1, 2)), (1, range(2, 4))),))
    with pytest.raises(InternalError, match="did not refute its query"):
        remember(ruled, Refuted((0, 1, 0), 0)).ask(frozenset({2}))
    with pytest.raises(ValueError, match="zip"):
        remember(forest, Refuted((0, 1), 0)).ask(frozenset())
    with pytest.raises(InternalError, match="a core must consist of fixed features"):
        remember(forest, Entailed(frozenset({0, 1}))).ask(frozenset({0}))
    assert remember(forest, Entailed(frozenset({0}))).ask(frozenset({0, 1})).core == {0}


def test_free_features_keep_to_their_cells(forest):
    free = [frozenset({0, 1}), frozenset({0, 2, 3}), frozenset({0, 1})]
    cache = remember(forest, Entailed(frozenset({0, 1, 2})), free=free)
    assert cache.limited == {1, 2}
    assert cache.free == (range(2), frozenset({0, 2, 3}), frozenset({0, 1}))
    assert cache.ask(frozenset({0})).core == {0}
    assert cache.oracle.asked[0].domains == (range(1, 2), range(4), frozenset({0, 1}))
    with pytest.raises(InternalError, match="a core must consist of fixed features"):
        remember(forest, Entailed(frozenset({0})), free=free).ask(frozenset())
    with pytest.raises(AssertionError, match="may stay as it is"):
        remember(forest, free=[range(1, 2), frozenset({0, 1, 3}), frozenset({0, 1})])


def test_a_witness_in_a_hole_leads_to_both_sides_of_it(forest):
    domains = (range(2), frozenset({0, 2, 3}), frozenset({0}))
    astray = Refuted((0, 1, 0), 0)
    for first, second in itertools.product((False, True), repeat=2):
        cache = remember(
            forest,
            astray,
            Entailed(frozenset({2}), near_tie=first, clauses=frozenset({0})),
            Entailed(frozenset({0}), near_tie=second, clauses=frozenset({1})),
        )
        expected = Entailed(frozenset({0, 1, 2}), near_tie=first or second, clauses=frozenset({0, 1}))
        assert cache.decide(domains) == expected
        assert [query.domains[1] for query in cache.oracle.asked] == [range(4), range(1), range(2, 4)]
    late = remember(forest, astray, Unknown("late"))
    assert isinstance(late.decide(domains), Unknown)
    flip = Refuted((0, 0, 0), 0)
    assert remember(forest, astray, flip).decide(domains) == flip
    real = Cache(forest, BruteOracle(forest), POINT, Stays(1)).decide(domains)
    assert isinstance(real, Refuted)
    assert real.witness[1] == 0
