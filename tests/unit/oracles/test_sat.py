from __future__ import annotations

import dataclasses
import math
import threading
import time
from typing import Any

import numpy as np
import pytest
from pysat.formula import CNF
from pysat.solvers import Solver

from generators import cell_forests, check_answer, holds, random_forest, random_query
from treeproof.errors import InputError, InternalError, UnsupportedQueryError
from treeproof.model.build import build_forest, isin, leaf, split
from treeproof.model.columns import Column
from treeproof.model.examples import heart_disease
from treeproof.oracles import sat
from treeproof.oracles.encodings.cardinality import CARDINALITIES
from treeproof.oracles.encodings.solving import SOLVERS, IncrementalSolver, can_be_interrupted
from treeproof.oracles.sat import SatOracle, to_dimacs
from treeproof.query.cells import CellForest, discretise
from treeproof.query.oracle import Entailed, Never, Query, Refuted, Stays, Unknown, fix
from treeproof.space.declare import declare

pytestmark = pytest.mark.slow

# Options of the oracle, and the number of random forests that it is tried on with them; the conformance suite tries the
# presets themselves on more.
OPTIONS: list[tuple[dict[str, Any], int]] = [
    *(({"preset": "paper", "cardinality": name}, 40) for name in CARDINALITIES),
    *(({"preset": "paper", "votes": "pairwise", "cardinality": name}, 25) for name in CARDINALITIES),
    *(({"solver": name}, 25) for name in SOLVERS),
    *(({"preset": "paper", "solver": name}, 12) for name in SOLVERS),
]


def check(oracle: SatOracle, query: Query) -> type:
    return check_answer(oracle.forest, query, oracle.decide(query))


def hard_forest() -> CellForest:
    """Random votes, one in five for class 1: whether it can win takes a solver many seconds."""
    rng = np.random.default_rng(0)

    def node(level: int) -> Any:
        if level == 0:
            return leaf(int(rng.random() < 0.2))
        return split(f"c{rng.integers(40)}", 0.5, node(level - 1), node(level - 1))

    trees = [node(5) for _ in range(81)]
    return discretise(declare(build_forest(trees, columns=[f"c{j}" for j in range(40)], classes=[0, 1])))


@pytest.mark.parametrize(
    ("options", "n_forests"),
    OPTIONS,
    ids=lambda value: "-".join(value.values()) if isinstance(value, dict) else "",
)
def test_answers_agree_with_enumeration(options, n_forests):
    outcomes = set()
    for i, forest in enumerate(cell_forests(n_forests, seed=23)):
        oracle, rng = SatOracle(forest, **options), np.random.default_rng(i)
        outcomes |= {check(oracle, random_query(rng, forest)) for _ in range(3)}
    assert outcomes == {Entailed, Refuted}


@pytest.mark.parametrize("preset", ["compact", "paper"])
def test_kinds_and_groups_of_columns(preset):
    """Declared kinds make splits that never divide; one-hot groups make value sets of every size."""
    outcomes = set()
    for i in range(100):
        rng = np.random.default_rng([31, i])
        forest = random_forest(rng, n_columns=6, n_classes=int(rng.integers(2, 5)), depth=4)
        space = declare(forest, kinds={"c0": "binary", "c1": "ordinal"}, one_hot={"group": ["c2", "c3", "c4"]})
        oracle = SatOracle(discretise(space), preset=preset)
        outcomes |= {check(oracle, random_query(rng, oracle.forest)) for _ in range(4)}
    assert outcomes == {Entailed, Refuted}


@pytest.mark.parametrize("preset", ["compact", "paper"])
@pytest.mark.parametrize("claim", [Stays(0), Stays(1), Never(0), Never(1)])
def test_sets_that_are_empty_or_everything(preset, claim):
    colours = ("red", "green", "blue")
    forest = discretise(
        declare(
            build_forest(
                [
                    isin("colour", [], 0, isin("colour", ["red", "green"], 1, 0)),
                    isin("colour", colours, isin("colour", ["blue"], 1, 0), 0),
                    leaf(0),
                ],
                columns=[Column("colour", colours), "unused"],
                classes=[0, 1],
            )
        )
    )
    oracle = SatOracle(forest, preset=preset)
    for cells in [{0}, {1}, {2}, {0, 1}, {0, 2}, {0, 1, 2}]:
        query = Query((forest.only(0, cells), forest.full[1]), claim)
        assert (check(oracle, query) is Entailed) == holds(forest, query)


@pytest.mark.parametrize("preset", ["compact", "paper"])
def test_a_forest_of_one_class_cannot_answer_anything_else(preset):
    forest = discretise(declare(build_forest([split("x", 0, 0, 0), leaf(0)], columns=["x"], classes=[0])))
    oracle = SatOracle(forest, preset=preset)
    for domains in (forest.full, fix(forest, (1,), [0])):
        assert oracle.decide(Query(domains, Stays(0))) == Entailed(frozenset())
        assert isinstance(oracle.decide(Query(domains, Never(0))), Refuted)


@pytest.mark.parametrize("preset", ["compact", "paper"])
def test_the_running_example(preset):
    forest, patient = heart_disease()
    space = declare(forest)
    cells, point = discretise(space), space.cells(patient)
    oracle = SatOracle(cells, preset=preset)
    assert oracle.decide(Query(fix(cells, point, [0, 2, 1]), Stays(1))) == Entailed(frozenset({0, 1, 2}))
    free = oracle.decide(Query(fix(cells, point, [0, 3]), Stays(1)))
    assert isinstance(free, Refuted)
    assert (free.label, free.witness[0], free.witness[3]) == (0, point[0], point[3])


@pytest.mark.parametrize("preset", ["compact", "paper"])
def test_answers_do_not_depend_on_what_was_asked_before(preset):
    for i, forest in enumerate(cell_forests(40, seed=41)):
        rng = np.random.default_rng(i)
        queries = [random_query(rng, forest) for _ in range(12)]
        once = [type(SatOracle(forest, preset=preset).decide(query)) for query in queries]
        oracle = SatOracle(forest, preset=preset)
        assert [type(oracle.decide(query)) for query in queries] == once
        assert [type(oracle.decide(query)) for query in reversed(queries)] == once[::-1]


def test_the_same_questions_get_the_same_answers_again():
    for i, forest in enumerate(cell_forests(20, seed=43)):
        answers = []
        for _ in range(2):
            oracle, rng = SatOracle(forest), np.random.default_rng(i)
            answers.append([oracle.decide(random_query(rng, forest)) for _ in range(8)])
        assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"preset": "small"},
            "The 'preset' parameter must be one of ('compact', 'paper'). Got 'small' instead.",
        ),
        (
            {"preset": "paper", "votes": "all"},
            "The 'votes' parameter must be one of ('selected', 'pairwise'). Got 'all' instead.",
        ),
        (
            {"votes": "pairwise"},
            "The 'votes' parameter must be one of ('selected',). Got 'pairwise' instead.",
        ),
        (
            {"cardinality": "cardnetwrk"},
            "The 'cardinality' parameter must be one of ('totalizer',). Got 'cardnetwrk' instead.",
        ),
        (
            {"preset": "paper", "cardinality": "native"},
            "The 'cardinality' parameter must be one of ('cardnetwrk', ",
        ),
        ({"solver": "kissat404"}, "The 'solver' parameter must be one of ('cadical103', "),
        ({"solver": 3}, "Got 3 instead."),
        ({"preset": None}, "Got None instead."),
    ],
)
def test_options_are_checked(options, message):
    forest = discretise(declare(heart_disease()[0]))
    with pytest.raises(InputError) as caught:
        SatOracle(forest, **options)
    assert message in str(caught.value)


def test_short_names_of_solvers_are_taken():
    forest = discretise(declare(heart_disease()[0]))
    assert isinstance(SatOracle(forest, solver="g4").decide(Query(forest.full, Stays(1))), Refuted)


def test_mean_vote_is_refused_and_the_message_says_what_takes_it():
    forest = discretise(declare(heart_disease()[0].with_vote("mean")))
    with pytest.raises(UnsupportedQueryError, match="mean vote") as caught:
        SatOracle(forest)
    assert all(word in str(caught.value) for word in ("'native'", "'smt'", "vote='majority'"))


@pytest.mark.parametrize("preset", ["compact", "paper"])
def test_the_deadline_is_kept_and_the_oracle_stays_usable(preset):
    forest = hard_forest()
    oracle = SatOracle(forest, preset=preset, solver="minisat22")
    start = time.monotonic()
    assert oracle.decide(Query(forest.full, Stays(0), start + 0.5)) == Unknown("deadline")
    assert time.monotonic() - start < 3
    point = tuple(0 for _ in forest.n_cells)
    claim = Stays(forest.label(point))
    answer = oracle.decide(Query(fix(forest, point, range(40)), claim, time.monotonic() + 60))
    assert isinstance(answer, Entailed)
    assert oracle.decide(Query(fix(forest, point, range(40)), claim)) == answer


def test_a_deadline_in_the_past_is_unknown_and_one_that_never_comes_is_none():
    forest = discretise(declare(heart_disease()[0]))
    oracle = SatOracle(forest)
    for past in (-math.inf, 0.0, time.monotonic()):
        assert oracle.decide(Query(forest.full, Stays(1), past)) == Unknown("deadline")
    assert isinstance(oracle.decide(Query(forest.full, Stays(1), math.inf)), Refuted)


def test_a_busy_oracle_does_not_keep_others_waiting_past_their_deadline():
    forest = discretise(declare(heart_disease()[0]))
    oracle = SatOracle(forest)
    with oracle._lock:
        assert oracle.decide(Query(forest.full, Stays(1), time.monotonic() + 0.05)) == Unknown("deadline")
    assert isinstance(oracle.decide(Query(forest.full, Stays(1), time.monotonic() + 60)), Refuted)


def test_a_solver_that_cannot_be_stopped_takes_no_deadline():
    forest = discretise(declare(heart_disease()[0]))
    assert not can_be_interrupted("cadical153")
    oracle = SatOracle(forest, solver="cadical153")
    assert isinstance(oracle.decide(Query(forest.full, Stays(1))), Refuted)
    with pytest.raises(UnsupportedQueryError, match=r"'cadical153' cannot be stopped.*'minisat22'"):
        oracle.decide(Query(forest.full, Stays(1), time.monotonic() + 60))


@pytest.mark.parametrize("raised", [KeyboardInterrupt, MemoryError])
def test_whatever_escapes_from_a_solver_does_not_spoil_the_oracle(monkeypatch, raised):
    forest = discretise(declare(heart_disease()[0]))
    oracle = SatOracle(forest)
    query = Query(forest.full, Stays(1))
    oracle.decide(query)
    before = oracle._sessions[Stays(1)]

    def interrupted(self, assumptions):
        raise raised

    monkeypatch.setattr(IncrementalSolver, "solve", interrupted)
    with pytest.raises(raised):
        oracle.decide(query)
    monkeypatch.undo()
    assert isinstance(oracle.decide(query), Refuted)
    assert oracle._sessions[Stays(1)] is not before


def test_a_model_that_does_not_refute_the_query_is_never_returned(monkeypatch):
    forest = discretise(declare(heart_disease()[0]))
    oracle = SatOracle(forest)
    monkeypatch.setattr(sat, "violates", lambda claim, label: False)
    with pytest.raises(InternalError, match="please report"):
        oracle.decide(Query(forest.full, Stays(1)))


def test_threads_may_share_an_oracle():
    forest = next(f for f in cell_forests(50, seed=47) if f.n_classes > 2 and f.n_trees > 4)
    oracle = SatOracle(forest)
    queries = [random_query(np.random.default_rng(i), forest) for i in range(60)]
    expected = [Entailed if holds(forest, query) else Refuted for query in queries]
    found: dict[int, list[type]] = {}

    def work(thread: int) -> None:
        found[thread] = [
            type(oracle.decide(dataclasses.replace(query, deadline=time.monotonic() + 60))) for query in queries
        ]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict.fromkeys(range(4), expected)


def test_deletion_in_a_steady_order_is_met_by_small_cores():
    """Features that are freed in the same order for each instance move to the end of the assumptions."""
    rng = np.random.default_rng(2)
    trees = [split(f"c{j}", 0.5, 0, 1) for j in rng.permutation(9).tolist()]
    forest = discretise(declare(build_forest(trees, columns=[f"c{j}" for j in range(9)], classes=[0, 1])))
    oracle, point = SatOracle(forest), (0,) * 9
    order = rng.permutation(9).tolist()
    for _ in range(2):
        for i in range(9):
            oracle.decide(Query(fix(forest, point, order[i + 1 :]), Stays(0)))
    answer = oracle.decide(Query(fix(forest, point, range(9)), Stays(0)))
    assert isinstance(answer, Entailed)
    assert answer.core == frozenset(order[-5:])  # five of nine trees are a majority


@pytest.mark.parametrize("preset", ["compact", "paper"])
def test_dimacs_is_satisfiable_iff_the_query_is_refuted(preset):
    outcomes = []
    for i, forest in enumerate(cell_forests(120, seed=53)):
        oracle, rng = SatOracle(forest, preset=preset), np.random.default_rng(i)
        query = random_query(rng, forest)
        text = to_dimacs(oracle, query)
        read = CNF(from_string=text)
        n_variables, n_clauses = oracle.size(query.claim)
        header = next(line for line in text.splitlines() if line.startswith("p"))
        assert header.split()[:2] == ["p", "cnf"]
        assert int(header.split()[2]) >= max([n_variables, read.nv])
        assert int(header.split()[3]) == len(read.clauses) >= n_clauses
        with Solver("glucose3", bootstrap_with=read.clauses) as solver:
            outcomes.append(solver.solve())
        assert outcomes[-1] == isinstance(oracle.decide(query), Refuted)
    assert {True, False} == set(outcomes)


def test_dimacs_names_what_variables_mean():
    space = declare(heart_disease()[0])
    forest = discretise(space)
    query = Query(fix(forest, (1, 0, 1, 0), [3]), Stays(1))
    paper = SatOracle(forest, preset="paper")
    lines = to_dimacs(paper, query, describe=lambda feature, domain: f"{space.names[feature]} <= 75").splitlines()
    assert "c 4 weight <= 75" in lines
    assert any(line.startswith("c ") and line.endswith("tree 3 votes Yes") for line in lines)
    assert lines[-1] == "4 0"  # the weight of the query
    assert "c 4 weight in cells 0" in to_dimacs(paper, query, space.names).splitlines()
    assert "c 4 feature 3 in cells 0" in to_dimacs(paper, query).splitlines()
    assert "c 5 only if tree 1 votes No" in to_dimacs(SatOracle(forest), query).splitlines()


def test_size_is_that_of_the_formula_without_an_instance():
    forest = discretise(declare(heart_disease()[0]))
    for preset in ("compact", "paper"):
        oracle = SatOracle(forest, preset=preset)
        read = CNF(from_string=to_dimacs(oracle, Query(forest.full, Stays(1))))
        assert oracle.size(Stays(1)) == (read.nv, len(read.clauses))
