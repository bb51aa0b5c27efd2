"""What every oracle must do, and each of its capabilities. A new backend is one more line in ORACLES."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from generators import cell_forests, check_answer, holds, random_clauses, random_query
from treeproof import checker
from treeproof.model.build import build_forest, isin, split
from treeproof.model.columns import Column
from treeproof.model.files import forest_to_json
from treeproof.oracles.brute import BruteOracle
from treeproof.oracles.native import NativeOracle, PlainOracle
from treeproof.oracles.sat import SatOracle
from treeproof.oracles.smt import SmtOracle
from treeproof.proof.certificate import describe, proof_of
from treeproof.proof.verified import VerifiedOracle
from treeproof.query.cache import Cache
from treeproof.query.cells import CellForest, discretise
from treeproof.query.context import Context, form_of
from treeproof.query.oracle import (
    Alters,
    Deletes,
    DeletesMany,
    Entailed,
    Inflates,
    Labels,
    Never,
    Oracle,
    Proves,
    Query,
    Refuted,
    Stays,
    Thrift,
    Unknown,
    fix,
    violates,
)
from treeproof.query.units import Units
from treeproof.search.inflation import widen
from treeproof.search.minimal import abductive, contrastive
from treeproof.space.declare import declare

Factory = Callable[[CellForest], Oracle]


def verified(forest: CellForest) -> Oracle:
    native = NativeOracle(forest, tabulate=False)
    space = declare(forest.source)
    labels = forest.source.classes.tolist()
    units = Units(space.n_features, {})
    return VerifiedOracle(Context(forest.source, space, forest, native, labels, form_of(space), units))


# With the number of random forests that an oracle is tried on here; `make campaign` tries it on many more.
ORACLES: dict[str, tuple[Factory, int]] = {
    "brute": (BruteOracle, 30),
    "native": (lambda forest: NativeOracle(forest, tabulate=False), 180),
    "native-table": (NativeOracle, 70),
    "plain": (PlainOracle, 90),
    "sat-compact": (lambda forest: SatOracle(forest, preset="compact"), 90),
    "sat-paper": (lambda forest: SatOracle(forest, preset="paper"), 60),
    "sat-paper-pairwise": (lambda forest: SatOracle(forest, preset="paper", votes="pairwise"), 45),
    "smt": (SmtOracle, 30),
    "verified": (verified, 30),
}
MEAN = {"brute", "native", "native-table", "plain", "smt", "verified"}
CASES = [(name, "majority") for name in ORACLES] + [(name, vote) for vote in ("mean", "sum") for name in sorted(MEAN)]

CAPABILITIES: dict[type, set[str]] = {  # a verified oracle runs no search inside: no answer there could be checked
    Labels: {"native", "native-table", "verified"},
    Proves: {"native", "native-table", "verified"},
    Deletes: {"native", "native-table"},
    DeletesMany: {"native", "native-table"},
    Alters: {"native", "native-table"},
    Inflates: {"native", "native-table"},
}


def having(capability: type) -> pytest.MarkDecorator:
    cases = [(name, vote) for name, vote in CASES if name in CAPABILITIES[capability]]
    return pytest.mark.parametrize(("name", "vote"), cases)


@pytest.mark.parametrize(("name", "vote"), CASES)
def test_answers_respect_constraints_between_features(name, vote):
    make, n_forests = ORACLES[name]
    outcomes, needed = set(), 0
    for i, forest in enumerate(cell_forests(n_forests // 2, seed=12, vote=vote)):
        rng = np.random.default_rng(i)
        forest = replace(forest, clauses=random_clauses(rng, forest))
        oracle = make(forest)
        for _ in range(4):
            query = random_query(rng, forest)
            outcome = check_answer(forest, query, oracle.decide(query))
            outcomes.add(outcome)
            needed += outcome is Entailed and not holds(replace(forest, clauses=()), query)
    assert outcomes == {Entailed, Refuted}
    assert needed > n_forests / 10, "constraints must matter often enough"


@pytest.mark.parametrize(("name", "vote"), CASES)
def test_answers_agree_with_enumeration(name, vote):
    make, n_forests = ORACLES[name]
    outcomes = set()
    for i, forest in enumerate(cell_forests(n_forests, seed=11, vote=vote)):
        oracle, rng = make(forest), np.random.default_rng(i)
        for _ in range(4):
            query = random_query(rng, forest)
            outcomes.add(check_answer(forest, query, oracle.decide(query)))
    assert outcomes == {Entailed, Refuted}


@pytest.mark.parametrize("vote", ["majority", "mean", "sum"])
def test_every_oracle_finds_the_same_features_for_the_same_order(vote):
    for i, forest in enumerate(cell_forests(25, seed=5, vote=vote)):
        rng = np.random.default_rng(i)
        point = tuple(int(rng.integers(n)) for n in forest.n_cells)
        order = rng.permutation(forest.n_features).tolist()
        found = set()
        for name, (make, _) in ORACLES.items():
            if vote != "majority" and name not in MEAN:
                continue
            cache = Cache(forest, make(forest), point, Stays(forest.label(point)))
            why = abductive(cache, order).features
            everything_free = cache.ask(frozenset())
            change = (
                contrastive(cache, order, everything_free).features if isinstance(everything_free, Refuted) else None
            )
            found.add((why, change))
        assert len(found) == 1


@pytest.mark.parametrize("name", ORACLES)
def test_answers_do_not_depend_on_earlier_questions(name):
    make, _ = ORACLES[name]
    for i, forest in enumerate(cell_forests(6, seed=7)):
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


@pytest.mark.parametrize("name", ORACLES)
def test_an_oracle_offers_what_is_tested_here(name):
    oracle = ORACLES[name][0](next(cell_forests(1, seed=1)))
    for capability, names in CAPABILITIES.items():
        assert isinstance(oracle, capability) == (name in names)


@cache
def forests(vote: str) -> list[CellForest]:
    """Random forests, a third of them with constraints between features."""
    return [
        forest if i % 3 else replace(forest, clauses=random_clauses(np.random.default_rng(i), forest))
        for i, forest in enumerate(cell_forests(60, seed=17, vote=vote, n_columns=3))
    ]


def cases(name: str, vote: str) -> Iterator[tuple[CellForest, Oracle, np.random.Generator]]:
    """The forests with a new oracle each, and draws of their own."""
    for i, forest in enumerate(forests(vote)):
        yield forest, ORACLES[name][0](forest), np.random.default_rng([17, i])


brute = cache(BruteOracle)  # it keeps the labels that it has enumerated


@having(Labels)
def test_labels_are_those_of_the_model(name, vote):
    for forest, oracle, rng in cases(name, vote):
        points = [tuple(int(rng.integers(n)) for n in forest.n_cells) for _ in range(10)]
        assert [oracle.label(point) for point in points] == [forest.label(point) for point in points]


@having(Proves)
def test_there_is_a_proof_of_what_holds_and_the_checker_accepts_it(name, vote):
    proved = 0
    for forest, oracle, rng in cases(name, vote):
        space = checker.Space(checker.Model(forest_to_json(forest.source)), describe(declare(forest.source), forest))
        for _ in range(4):
            query = random_query(rng, forest)
            proof = oracle.prove(query)
            assert (proof is not None) == holds(forest, query)
            if proof is not None:
                box = [sum(1 << cell for cell in domain) for domain in query.domains]
                excluded = {k for k in range(forest.n_classes) if violates(query.claim, k)}
                checker.Proof(space, proof_of(oracle, forest, proof)).check(box, excluded)
                proved += 1
    assert proved > 50


@having(Proves)
def test_there_is_a_witness_for_each_feature_that_is_needed(name, vote):
    needed = 0
    for forest, oracle, rng in cases(name, vote):
        point = tuple(int(rng.integers(n)) for n in forest.n_cells)
        if not forest.allows(point):
            continue
        label, fixed = forest.label(point), frozenset(np.flatnonzero(rng.random(forest.n_features) < 0.7).tolist())
        found = oracle.witnesses(fix(forest, point, fixed), label, point, sorted(fixed), None)
        for f, witness in zip(sorted(fixed), found, strict=True):
            freed = fix(forest, point, fixed - {f})
            assert (witness == ()) == holds(forest, Query(freed, Stays(label)))
            if witness:
                assert all(cell in domain for cell, domain in zip(witness, freed, strict=True))
                assert forest.allows(witness)
                assert forest.label(witness) != label
                needed += 1
    assert needed > 20


@having(Deletes)
def test_deletion_is_that_of_single_questions(name, vote):
    for forest, oracle, rng in cases(name, vote):
        point = tuple(int(rng.integers(n)) for n in forest.n_cells)
        if not forest.allows(point):
            continue
        label, order = forest.label(point), rng.permutation(forest.n_features).tolist()
        everything = frozenset(range(forest.n_features))
        expected = abductive(Cache(forest, brute(forest), point, Stays(label)), order).features
        found = oracle.delete(point, label, order, everything, None)
        assert (found.features, found.minimal) == (expected, True)
        again = oracle.delete(point, label, order[::-1], expected, None)
        assert (again.features, again.minimal) == (expected, True)
        late = oracle.delete(point, label, order, everything, time.monotonic() - 1)
        assert late.features >= expected
        assert holds(forest, Query(fix(forest, point, late.features), Stays(label)))


@having(DeletesMany)
def test_deletion_at_many_points_is_that_at_each(name, vote):
    for forest, oracle, rng in cases(name, vote):
        drawn = [tuple(int(rng.integers(n)) for n in forest.n_cells) for _ in range(4)]
        points = [point for point in drawn if forest.allows(point)]
        order = rng.permutation(forest.n_features).tolist()
        found = oracle.delete_many(np.array(points, dtype=np.int32).reshape(-1, forest.n_features), order, None)
        assert found.labels.tolist() == [forest.label(point) for point in points]
        assert found.minimal.tolist() == [1] * len(points)
        for i, point in enumerate(points):
            cache = Cache(forest, brute(forest), point, Stays(forest.label(point)))
            expected = abductive(cache, order)
            assert set(np.flatnonzero(found.kept[i])) == expected.features
            used = [forest.clauses[c] for c in np.flatnonzero(found.clauses[i])]
            assert holds(
                replace(forest, clauses=tuple(used)), Query(fix(forest, point, expected.features), cache.claim)
            )
        joined = found.joined(found.packed())
        for table, twice in zip(found, joined, strict=True):
            np.testing.assert_array_equal(np.concatenate([table, table]), twice)
        late = oracle.delete_many(np.array(points, dtype=np.int32).reshape(-1, forest.n_features), order, 0)
        for i, point in enumerate(points):
            kept = np.flatnonzero(late.kept[i]).tolist()
            assert holds(forest, Query(fix(forest, point, kept), Stays(forest.label(point))))


@having(Alters)
def test_the_dual_of_deletion_is_that_of_single_questions(name, vote):
    changed = 0
    for forest, oracle, rng in cases(name, vote):
        point = tuple(int(rng.integers(n)) for n in forest.n_cells)
        if not forest.allows(point):
            continue
        order = rng.permutation(forest.n_features).tolist()
        everything = frozenset(range(forest.n_features))
        others = [label for label in range(forest.n_classes) if label != forest.label(point)]
        for claim in (Stays(forest.label(point)), *map(Never, others)):
            cache = Cache(forest, brute(forest), point, claim)
            witness = cache.ask(frozenset())
            if not isinstance(witness, Refuted):
                continue
            expected = contrastive(cache, order, witness).features
            found = oracle.alter(point, claim, order, everything, witness, None)
            unaided = oracle.alter(point, claim, order, everything, None, None)
            again = oracle.alter(point, claim, order[::-1], expected, found.witness, None)
            for each in (found, unaided, again):
                assert (each.features, each.finished) == (expected, True)
            late = oracle.alter(point, claim, order, everything, witness, time.monotonic() - 1)
            unasked = frozenset(order[::2])
            loose = oracle.alter(point, claim, order, everything, witness, None, thrift=Thrift(unasked))
            for f in loose.features - unasked:
                assert isinstance(cache.ask(everything - loose.features | {f}), Entailed)
            hasty = oracle.alter(point, claim, order, everything, None, None, thrift=Thrift(effort=1))
            for each in (found, unaided, again, late, loose, hasty):
                assert each.witness is not None
                assert cache.differences(each.witness) == each.features
                assert forest.allows(each.witness.witness)
                assert forest.label(each.witness.witness) == each.witness.label
                assert violates(claim, each.witness.label)
            unknown = oracle.alter(point, claim, order, everything, None, time.monotonic() - 1)
            assert (unknown.witness, unknown.finished) == (None, False)
            for f in expected:
                less = oracle.alter(point, claim, order, expected - {f}, None, None)
                assert (less.witness, less.finished) == (None, True)
            changed += 1
    assert changed > 5


@having(Alters)
def test_the_dual_of_deletion_keeps_to_the_cells_that_freed_features_may_take(name, vote):
    outcomes = Counter[bool]()
    for forest, oracle, rng in cases(name, vote):
        free = random_query(rng, forest).domains
        point = tuple(int(rng.choice([*domain])) for domain in free)
        if not forest.allows(point):
            continue
        order = rng.permutation(forest.n_features).tolist()
        claim = Stays(forest.label(point))
        cache = Cache(forest, brute(forest), point, claim, free=free)
        witness = cache.ask(frozenset())
        found = oracle.alter(point, claim, order, frozenset(order), None, None, None, free)
        outcomes[isinstance(witness, Refuted)] += 1
        if not isinstance(witness, Refuted):
            assert (found.witness, found.finished) == (None, True)
            continue
        assert found.features == contrastive(cache, order, witness).features
        assert all(cell in domain for cell, domain in zip(found.witness.witness, free, strict=True))
    assert min(outcomes[True], outcomes[False]) > 5


@having(Inflates)
def test_inflation_is_that_of_single_questions(name, vote):
    for forest, oracle, rng in cases(name, vote):
        point = tuple(int(rng.integers(n)) for n in forest.n_cells)
        if not forest.allows(point):
            continue
        label, order = forest.label(point), rng.permutation(forest.n_features).tolist()
        cache = Cache(forest, brute(forest), point, Stays(label))
        start = fix(forest, point, abductive(cache, order).features)
        found = oracle.inflate(point, label, start, order, None)
        assert (found.domains, found.widest) == (widen(cache, start, order).domains, True)
        late = oracle.inflate(point, label, start, order, time.monotonic() - 1)
        assert all(set(own) <= set(wider) for own, wider in zip(start, late.domains, strict=True))
        assert holds(forest, Query(late.domains, Stays(label)))
