"""What every oracle must do. A new backend is one more line in ORACLES."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from generators import cell_forests, holds, random_clauses, random_query
from treeproof.model.build import build_forest, isin, split
from treeproof.model.columns import Column
from treeproof.oracles.brute import BruteOracle
from treeproof.oracles.native import NativeOracle, PlainOracle
from treeproof.oracles.sat import SatOracle
from treeproof.oracles.smt import SmtOracle
from treeproof.query.cache import Memory
from treeproof.query.cells import CellForest, discretise
from treeproof.query.oracle import Entailed, Never, Oracle, Query, Refuted, Stays, Unknown, fix, restricted, violates
from treeproof.search.minimal import abductive, contrastive
from treeproof.space.declare import declare

Factory = Callable[[CellForest], Oracle]

ORACLES: dict[str, tuple[Factory, int]] = {  # with the number of random forests it is tried on
    "brute": (BruteOracle, 100),
    "native": (lambda forest: NativeOracle(forest, tabulate=False), 2000),
    "native-table": (NativeOracle, 300),
    "plain": (PlainOracle, 500),
    "sat-compact": (lambda forest: SatOracle(forest, preset="compact"), 500),
    "sat-paper": (lambda forest: SatOracle(forest, preset="paper"), 300),
    "sat-paper-pairwise": (lambda forest: SatOracle(forest, preset="paper", votes="pairwise"), 200),
    "smt": (SmtOracle, 60),
}
MEAN = {"brute", "native", "native-table", "plain", "smt"}
CASES = [(name, "majority") for name in ORACLES] + [(name, vote) for vote in ("mean", "sum") for name in sorted(MEAN)]


@pytest.mark.parametrize(("name", "vote"), CASES)
def test_answers_respect_rules_between_features(name, vote):
    make, n_forests = ORACLES[name]
    outcomes, needed = set(), 0
    for i, forest in enumerate(cell_forests(n_forests // 2, seed=12, vote=vote)):
        rng = np.random.default_rng(i)
        forest = replace(forest, clauses=random_clauses(rng, forest))
        oracle = make(forest)
        for _ in range(4):
            query = random_query(rng, forest)
            answer = oracle.decide(query)
            outcomes.add(type(answer))
            if isinstance(answer, Entailed):
                relaxed = tuple(d if f in answer.core else forest.full[f] for f, d in enumerate(query.domains))
                used = replace(forest, clauses=tuple(forest.clauses[c] for c in sorted(answer.clauses)))
                assert holds(used, Query(relaxed, query.claim))
                needed += not holds(replace(forest, clauses=()), query)
            else:
                assert isinstance(answer, Refuted)
                assert forest.allows(answer.witness)
                assert all(cell in domain for cell, domain in zip(answer.witness, query.domains, strict=True))
                assert forest.label(answer.witness) == answer.label
                assert violates(query.claim, answer.label)
    assert outcomes == {Entailed, Refuted}
    assert needed > n_forests / 10, "rules must matter often enough"


@pytest.mark.parametrize(("name", "vote"), CASES)
def test_answers_agree_with_enumeration(name, vote):
    make, n_forests = ORACLES[name]
    outcomes = set()
    for i, forest in enumerate(cell_forests(n_forests, seed=11, vote=vote)):
        oracle, rng = make(forest), np.random.default_rng(i)
        for _ in range(4):
            query = random_query(rng, forest)
            answer = oracle.decide(query)
            outcomes.add(type(answer))
            if isinstance(answer, Entailed):
                assert holds(forest, query)
                assert answer.core <= restricted(forest, query.domains)
                relaxed = tuple(d if f in answer.core else forest.full[f] for f, d in enumerate(query.domains))
                assert holds(forest, Query(relaxed, query.claim))
            else:
                assert isinstance(answer, Refuted)
                assert all(cell in domain for cell, domain in zip(answer.witness, query.domains, strict=True))
                assert forest.label(answer.witness) == answer.label
                assert violates(query.claim, answer.label)
    assert outcomes == {Entailed, Refuted}


@pytest.mark.parametrize("vote", ["majority", "mean", "sum"])
def test_every_oracle_finds_the_same_features_for_the_same_order(vote):
    for i, forest in enumerate(cell_forests(60, seed=5, vote=vote)):
        rng = np.random.default_rng(i)
        point = tuple(int(rng.integers(n)) for n in forest.n_cells)
        order = rng.permutation(forest.n_features).tolist()
        found = set()
        for name, (make, _) in ORACLES.items():
            if vote != "majority" and name not in MEAN:
                continue
            memory = Memory(forest, make(forest), point, Stays(forest.label(point)))
            why = abductive(memory, order).features
            everything_free = memory.ask(frozenset())
            change = (
                contrastive(memory, order, everything_free).features if isinstance(everything_free, Refuted) else None
            )
            found.add((why, change))
        assert len(found) == 1


@pytest.mark.parametrize("name", ORACLES)
def test_answers_do_not_depend_on_earlier_questions(name):
    make, _ = ORACLES[name]
    for i, forest in enumerate(cell_forests(15, seed=7)):
        rng = np.random.default_rng(i)
        queries = [random_query(rng, forest) for _ in range(8)]
        oracle = make(forest)
        forwards = [type(oracle.decide(query)) for query in queries]
        backwards = [type(oracle.decide(query)) for query in reversed(queries)][::-1]
        assert forwards == backwards == [type(make(forest).decide(query)) for query in queries]


@pytest.mark.parametrize("name", ORACLES)
def test_a_deadline_in_the_past_is_unknown_or_answered_right(name):
    make, _ = ORACLES[name]
    for i, forest in enumerate(cell_forests(10, seed=3)):
        query = random_query(np.random.default_rng(i), forest)
        late = Query(query.domains, query.claim, deadline=time.monotonic() - 1)
        answer = make(forest).decide(late)
        assert answer == Unknown("deadline") or isinstance(answer, Entailed) == holds(forest, query)


@pytest.mark.parametrize("name", ORACLES)
def test_one_class_is_entailed_with_an_empty_core(name):
    forest = discretise(declare(build_forest([split("a", 0, "c", "c")], columns=["a"], classes=["c"])))
    oracle = ORACLES[name][0](forest)
    assert oracle.decide(Query(forest.full, Stays(0))) == Entailed(frozenset())
    assert isinstance(oracle.decide(Query(forest.full, Never(0))), Refuted)


@pytest.mark.parametrize("name", ORACLES)
def test_ties_go_to_the_first_class_on_both_sides(name):
    trees = [split("a", 0, "x", "y"), split("b", 0, "y", "z")]
    forest = discretise(declare(build_forest(trees, columns=["a", "b"], classes=["x", "y", "z"])))
    oracle = ORACLES[name][0](forest)
    for point in itertools.product(range(2), repeat=2):
        label = forest.label(point)
        assert isinstance(oracle.decide(Query(fix(forest, point, {0, 1}), Stays(label))), Entailed)
        for other in set(range(3)) - {label}:
            assert isinstance(oracle.decide(Query(fix(forest, point, {0, 1}), Never(other))), Entailed)
            assert isinstance(oracle.decide(Query(fix(forest, point, {0, 1}), Stays(other))), Refuted)


@pytest.mark.parametrize("name", ORACLES)
def test_categories_beyond_one_machine_word(name):
    categories = tuple(f"v{i}" for i in range(130))
    trees = [
        isin("a", categories[60:70], "x", "y"),
        isin("a", categories[:65] + categories[129:], "x", "y"),
        isin("a", categories[:1], "x", "y"),
    ]
    built = build_forest(trees, columns=[Column("a", categories)], classes=["x", "y"])
    forest = discretise(declare(built))
    oracle = ORACLES[name][0](forest)
    winners = {cell for cell in range(130) if forest.label((cell,)) == 0}
    assert winners == {0, 60, 61, 62, 63, 64}
    assert isinstance(oracle.decide(Query((frozenset(winners),), Stays(0))), Entailed)
    assert isinstance(oracle.decide(Query((frozenset(range(130)) - winners,), Stays(1))), Entailed)
    assert isinstance(oracle.decide(Query((frozenset(winners | {128}),), Stays(0))), Refuted)
