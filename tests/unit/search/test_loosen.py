"""Conditions dropped or loosened one by one, against enumeration; at a deadline they still entail the claim."""

from __future__ import annotations

import itertools

import numpy as np

from generators import cell_forests, holds
from oracles_for_tests import Giving
from treeproof.query.cache import Cache
from treeproof.query.cells import CellForest
from treeproof.query.oracle import Entailed, Query, Refuted, Stays
from treeproof.search.loosen import Chosen, Conditions
from treeproof.space.domains import Domain


class Case:
    """A forest and, for each feature, two conditions around a point: its cell, and its cell or the next one."""

    def __init__(self, forest: CellForest, point: tuple[int, ...]) -> None:
        self.forest, self.point, self.claim = forest, point, Stays(forest.label(point))
        self.features = [f for f in range(forest.n_features) for _ in range(2)]
        self.tight = frozenset(range(0, len(self.features), 2))
        self.looser = {c: frozenset({c + 1}) for c in sorted(self.tight)}

    def domains(self, chosen: Chosen) -> tuple[Domain, ...]:
        found = list(self.forest.full)
        for c in sorted(chosen, reverse=True):  # the tight one last
            f = self.features[c]
            cells = {self.point[f], self.point[f] if c % 2 == 0 else min(self.point[f] + 1, self.forest.n_cells[f] - 1)}
            found[f] = self.forest.only(f, cells)
        return tuple(found)

    def enough(self, chosen: Chosen) -> bool:
        return holds(self.forest, Query(self.domains(chosen), self.claim))

    def conditions(self, answers: float = float("inf")) -> tuple[Conditions, Cache]:
        cache = Cache(self.forest, Giving(self.forest, answers), self.point, self.claim)
        return Conditions(cache, self.features, self.domains), cache


def cases(n: int = 25):
    for i, forest in enumerate(cell_forests(n, seed=61, n_columns=3)):
        yield Case(forest, tuple(np.random.default_rng(i).integers(forest.n_cells).tolist()))


def test_what_was_asked_before_changes_no_answer():
    remembered = 0
    for case in cases():
        conditions, cache = case.conditions()
        every = [frozenset(s) for n in range(4) for s in itertools.combinations(range(len(case.features)), n)]
        for chosen in every:
            before = cache.tally.remembered
            asked = cache.tally.entailed + cache.tally.refuted
            answer = conditions.ask(chosen)
            assert isinstance(answer, Entailed) == case.enough(chosen)
            if isinstance(answer, Refuted):
                inside = zip(answer.witness, case.domains(chosen), strict=True)
                assert all(cell in domain for cell, domain in inside)
            new = cache.tally.entailed + cache.tally.refuted - asked
            assert cache.tally.remembered - before == 1 - new
            assert conditions.ask(chosen) == answer
            assert cache.tally.remembered - before == 2 - new  # the second time it is known for sure
        remembered += cache.tally.remembered
    assert remembered > 100


def test_as_many_as_possible_are_dropped_in_the_order():
    dropped = 0
    for case in cases():
        for order in (sorted(case.tight), sorted(case.tight, reverse=True)):
            expected = case.tight
            for condition in order:
                if case.enough(expected - {condition}):
                    expected -= {condition}
            conditions, cache = case.conditions()
            assert conditions.drop(case.tight, [1, *order, 3]) == (expected, True)
            asked = cache.tally.entailed + cache.tally.refuted
            for answers in range(asked):
                kept, ended = case.conditions(answers)[0].drop(case.tight, order)
                assert not ended
                assert expected <= kept
                assert case.enough(kept)
            dropped += len(case.tight - expected)
    assert dropped > 20


def test_each_is_exchanged_for_its_looser_ones_where_that_is_enough():
    exchanged = 0
    for case in cases():
        expected = case.tight
        for condition, instead in case.looser.items():
            if case.enough(expected - {condition} | instead):
                expected = expected - {condition} | instead
        conditions, cache = case.conditions()
        assert conditions.exchange(case.tight, {1: frozenset(), **case.looser}) == (expected, True)
        asked = cache.tally.entailed + cache.tally.refuted
        for answers in range(asked):
            kept, ended = case.conditions(answers)[0].exchange(case.tight, case.looser)
            assert not ended
            assert case.enough(kept)
        exchanged += len(expected - case.tight)
    assert exchanged > 20
