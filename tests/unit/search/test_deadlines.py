"""What searches leave when the time is up: after so many looks at the clock, or when the oracle gives up."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from generators import cell_forests
from treeproof.model.build import build_forest, split
from treeproof.oracles.brute import BruteOracle
from treeproof.query.cache import Cache
from treeproof.query.cells import CellForest, discretise
from treeproof.query.oracle import Answer, Query, Stays, Unknown
from treeproof.search import diverse, hitting, inflation, marco, minimal, minimum, relevance
from treeproof.search import most_general as general
from treeproof.space.declare import declare

SEARCHES = [diverse, general, hitting, inflation, marco, minimal, minimum, relevance]


class Giving:
    """An oracle that gives up after so many answers, for good or just once."""

    name = "giving"

    def __init__(self, forest: CellForest, answers: float = float("inf"), once: bool = False) -> None:
        self._oracle = BruteOracle(forest)
        self._left, self._once = answers, once

    def decide(self, query: Query) -> Answer:
        self._left -= 1
        late = self._left == -1 if self._once else self._left < 0
        return Unknown("gave up") if late else self._oracle.decide(query)


class Clock:
    """A deadline that has passed after so many looks."""

    def __init__(self, looks: float = float("inf")) -> None:
        self.seen, self._looks = 0, looks

    def __call__(self, deadline: float | None) -> bool:
        self.seen += 1
        return self.seen > self._looks


@pytest.fixture
def clock(monkeypatch):
    """Sets the clock of all searches."""

    def start(looks: float = float("inf")) -> Clock:
        new = Clock(looks)
        for module in SEARCHES:
            monkeypatch.setattr(module, "expired", new)
        return new

    return start


def cases(n: int = 12) -> Iterator[tuple[CellForest, tuple[int, ...]]]:
    """Forests whose label some change breaks, and a point."""
    found = 0
    for i, forest in enumerate(cell_forests(200, seed=31, n_columns=4)):
        point = tuple(np.random.default_rng(i).integers(forest.n_cells).tolist())
        labels = {forest.label(p) for p in itertools.product(*map(range, forest.n_cells))}
        if len(labels) > 1 and sum(n > 1 for n in forest.n_cells) > 2:
            found += 1
            yield forest, point
        if found == n:
            return


def remember(forest: CellForest, point: tuple[int, ...], answers: float = float("inf"), once: bool = False) -> Cache:
    return Cache(forest, Giving(forest, answers, once), point, Stays(forest.label(point)))


def ways_to_end(looks: int, answers: int) -> Iterator[tuple[float, float, bool]]:
    """All ways in which the time is up early: looks at the clock, answers of the oracle, and if it gives up once."""
    yield from ((n, answers, False) for n in range(looks))
    yield from ((np.inf, n, once) for n in range(answers) for once in (False, True))


def drained(found: Iterator[Any]) -> tuple[list[Any], bool]:
    """What a search finds, and whether it came to its end."""
    got = []
    try:
        for each in found:
            got.append((type(each), each.features))
    except TimeoutError:
        return got, False
    return got, True


def each_kind(cache: Cache) -> list[Any]:
    order = range(cache.forest.n_features)
    return [
        lambda: marco.enumerate_minimal(cache, order, "abductive"),
        lambda: marco.enumerate_minimal(cache, order, "contrastive"),
        lambda: diverse.different_changes(cache, order),
    ]


@pytest.mark.parametrize("kind", range(3), ids=["abductive first", "contrastive first", "different"])
def test_a_list_of_explanations_ends_early_with_an_error_and_never_by_itself(kind, clock):
    for forest, point in cases():
        ticks = clock()
        cache = remember(forest, point)
        everything, ended = drained(each_kind(cache)[kind]())
        assert ended
        assert everything
        asked = cache.tally.entailed + cache.tally.refuted
        for looks, answers, once in ways_to_end(ticks.seen, asked):
            clock(looks)
            got, ended = drained(each_kind(remember(forest, point, answers, once))[kind]())
            assert not ended
            assert got == everything[: len(got)]
        clock()
        assert drained(each_kind(remember(forest, point, asked))[kind]()) == (everything, True)


def test_the_kind_that_is_wanted_first_comes_first():
    for forest, point in cases():
        order = range(forest.n_features)
        for first, kind in (("abductive", minimal.Sufficient), ("contrastive", minimal.Change)):
            cache = remember(forest, point)
            assert type(next(marco.enumerate_minimal(cache, order, first))) is kind


def test_what_is_said_of_features_at_the_deadline_is_true(clock):
    fixed = 0
    for forest, point in cases():
        order = range(forest.n_features)
        ticks = clock()
        cache = remember(forest, point)
        whole = relevance.find_relevances(cache, order)
        kinds = [whole.necessary.keys(), whole.relevant.keys(), whole.irrelevant]
        assert sorted(itertools.chain(*kinds)) == sorted(cache.features)  # each is of one kind
        fewer = 0
        asked = cache.tally.entailed + cache.tally.refuted
        for looks, answers, once in ways_to_end(ticks.seen, asked):
            clock(looks)
            found = relevance.find_relevances(remember(forest, point, answers, once), order)
            assert found.necessary.keys() <= whole.necessary.keys()
            assert found.relevant.keys() <= whole.relevant.keys()
            assert found.irrelevant <= whole.irrelevant
            fewer += not all(map(found.known, cache.features))
        assert fewer > 0
        clock(0)
        at_once = relevance.find_relevances(remember(forest, point), order)
        unchanging = frozenset(f for f in order if forest.n_cells[f] == 1)
        assert (at_once.necessary, at_once.relevant, at_once.irrelevant) == ({}, {}, unchanging)
        fixed += len(unchanging)
    assert fixed > 0


@pytest.mark.parametrize("abductive", [True, False])
def test_a_minimum_at_the_deadline_is_a_set_that_does_with_a_bound_that_holds(abductive, clock):
    late = 0
    for i, (forest, point) in enumerate(cases()):
        costs = dict(enumerate(np.random.default_rng(i).integers(1, 4, forest.n_features).tolist()))

        def search(cache: Cache, costs=costs) -> tuple[Any, int]:
            order = range(cache.forest.n_features)
            found: Any
            if abductive:
                found = minimum.minimum_abductive(cache, order, costs)
            else:
                oracle = BruteOracle(cache.forest)
                witness = Cache(cache.forest, oracle, cache.point, cache.claim).ask(frozenset())
                found = minimum.minimum_contrastive(cache, order, costs, witness)
            return found.found, found.bound

        ticks = clock()
        cache = remember(forest, point)
        best, bound = search(cache)
        assert best.status == "minimum"
        assert bound == sum(costs[f] for f in best.features)
        asked = cache.tally.entailed + cache.tally.refuted
        for looks, answers, once in ways_to_end(ticks.seen, asked):
            clock(looks)
            found, least = search(remember(forest, point, answers, once))
            cost = sum(costs[f] for f in found.features)
            assert least <= bound <= cost
            assert (found.status == "minimum") == (least == cost)
            late += found.status != "minimum"
    assert late > 20


def test_the_shortest_of_several_tries_is_the_first_best_of_those_before_the_deadline(clock):
    """The label rests on a alone, or on b and c, or on b and d."""
    tree = split("a", 0, split("b", 0, 0, split("c", 0, split("d", 0, 0, 1), 1)), 1)
    forest = discretise(declare(build_forest([tree], columns=list("abcd"), classes=[0, 1])))
    orders = [(0, 3, 1, 2), (0, 2, 1, 3), (1, 2, 3, 0), (3, 2, 1, 0)]
    expected = [{1, 2}, {1, 2}, {0}, {0}]
    for looks in range(len(orders)):
        clock(looks)
        found = minimal.shortest_abductive(remember(forest, (1, 1, 1, 1)), orders[0], orders[1:])
        assert (found.features, found.status) == (expected[looks], "minimal")


def test_what_was_widened_until_the_deadline_is_proved(clock):
    for forest, point in cases():
        order = list(range(forest.n_features))
        ticks = clock()
        cache = remember(forest, point)
        whole = inflation.widen(cache, cache.own, order)
        assert whole.widest
        asked = cache.tally.entailed + cache.tally.refuted
        last = tuple(map(len, cache.own))
        for looks, answers, once in ways_to_end(ticks.seen, asked):
            clock(looks)
            found = inflation.widen(remember(forest, point, answers, once), cache.own, order)
            assert not found.widest
            assert all(set(a) <= set(b) for a, b in zip(found.domains, whole.domains, strict=True))
            last = tuple(map(len, found.domains))
        assert sum(last) <= sum(map(len, whole.domains))
