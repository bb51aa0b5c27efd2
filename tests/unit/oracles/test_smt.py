from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest
import z3

from generators import cell_forests, check_answer, holds, random_query
from treeproof.errors import MissingExtraError
from treeproof.model.build import build_forest, isin, leaf, split
from treeproof.model.columns import Column
from treeproof.model.forest import Forest
from treeproof.oracles.smt import SmtOracle, to_smtlib
from treeproof.query.cells import CellForest, discretise
from treeproof.query.oracle import Answer, Entailed, Never, Query, Refuted, Stays, Unknown, fix
from treeproof.query.scores import rounding_error
from treeproof.space.declare import declare

pytestmark = pytest.mark.slow


def all_claims(forest: CellForest) -> list[Stays | Never]:
    return [claim(k) for k in range(forest.n_classes) for claim in (Stays, Never)]


def test_mean_vote_with_exact_sums_needs_no_band():
    for i in range(40):
        rng = np.random.default_rng([22, i])
        quarters = lambda: leaf((rng.multinomial(4, [1 / 3] * 3) / 4).tolist())  # noqa: B023, E731
        trees = [split("ab"[t % 2], t // 2, quarters(), split("b", 1, quarters(), quarters())) for t in range(4)]
        forest = cells(build_forest(trees, columns=["a", "b"], classes=[0, 1, 2], vote="mean"))
        assert forest.band == 0
        oracle = SmtOracle(forest)
        for claim in all_claims(forest):
            answer = oracle.decide(Query(forest.full, claim))
            check_answer(forest, Query(forest.full, claim), answer)
            assert not answer.near_tie


def test_sets_of_values():
    categories = tuple("abcdefg")
    trees = [
        isin("v", list("ab"), 0, isin("v", list("cdef"), 1, 2)),
        isin("v", list("bcdefg"), split("x", 0, 1, 2), 0),
        isin("v", [], 2, isin("v", categories, 1, 0)),
    ]
    forest = cells(build_forest(trees, columns=[Column("v", categories), "x"], classes=[0, 1, 2]))
    oracle = SmtOracle(forest)
    for n_values in (1, 2, 6, 7):
        for values in itertools.combinations(range(7), n_values):
            for claim in all_claims(forest):
                query = Query((frozenset(values), forest.full[1]), claim)
                check_answer(forest, query, oracle.decide(query))


@pytest.mark.parametrize("vote", ["majority", "mean"])
def test_the_core_leaves_out_what_the_proof_does_not_need(vote):
    trees = [split("a", 0, 0, 1), split("b", 0, 0, 0), split("b", 1, 1, 1)]
    forest = cells(build_forest(trees, columns=["a", "b"], classes=[0, 1], vote=vote))
    oracle = SmtOracle(forest)
    assert oracle.decide(Query(fix(forest, (0, 0), [0, 1]), Stays(0))) == Entailed(frozenset({0}))
    assert oracle.decide(Query(fix(forest, (0, 2), [1]), Stays(0))).label == 1


def test_queries_on_both_sides_of_earlier_ones():
    for i, forest in enumerate(cell_forests(10, seed=23, vote="mean")):
        rng, oracle = np.random.default_rng(i), SmtOracle(forest)
        queries = [random_query(rng, forest) for _ in range(12)]
        first = [oracle.decide(query) for query in queries]
        again = [oracle.decide(query) for query in reversed(queries)][::-1]
        assert [type(answer) for answer in again] == [type(answer) for answer in first]
        for query, answer in zip(queries, again, strict=True):
            check_answer(forest, query, answer)


# Sums of 0.1, 0.2 and 0.3 depend on their order by one unit in the last place.
@pytest.mark.parametrize(
    ("values", "label"),
    [
        ([[0.1, 0.3], [0.2, 0.2], [0.3, 0.1]], 0),  # 0.6000000000000001 against 0.6
        ([[0.3, 0.1], [0.2, 0.2], [0.1, 0.3]], 1),
        ([[0.1, 0.1], [0.2, 0.2], [0.3, 0.3]], 0),
        ([[0.1, 0.2], [0.2, 0.3], [0.3, 0.1]], 0),  # the same sums, rounded alike
    ],
)
def test_the_models_own_additions_decide_near_ties(values, label):
    # The split moves no point out of the band: both of its sides have these values.
    trees = [split("a", t, leaf(v), leaf(v)) for t, v in enumerate(values)]
    built = build_forest(trees, columns=["a"], classes=["x", "y"], vote="mean")
    assert built.predict_index([[0.0]]) == label
    forest = cells(built)
    assert forest.band > 0
    oracle = SmtOracle(forest)
    for point in range(4):
        answer = oracle.decide(Query(fix(forest, (point,), [0]), Stays(label)))
        assert isinstance(answer, Entailed)
        assert answer.near_tie
    assert oracle.decide(Query(forest.full, Stays(label))) == Entailed(frozenset(), near_tie=True)
    assert oracle.decide(Query(forest.full, Never(label))).near_tie
    assert oracle.decide(Query(forest.full, Stays(1 - label))).label == label
    assert isinstance(oracle.decide(Query(forest.full, Never(1 - label))), Entailed)


def test_sums_that_only_the_division_makes_equal():
    # 0.9999999999999999 and 1.0000000000000002 differ from 1 by about an ulp; divided by 3 some of them meet.
    rng = np.random.default_rng(0)
    met = 0
    for _ in range(400):
        first = rng.random(3)
        total = (0.0 + first[0]) + first[1] + first[2]
        second = first.copy()
        second[2] = np.nextafter(second[2], 2)
        other = (0.0 + second[0]) + second[1] + second[2]
        if other == total or other / 3 != total / 3:
            continue
        met += 1
        trees = [split("a", 0, leaf([a, b]), leaf([b, a])) for a, b in zip(first, second, strict=True)]
        built = build_forest(trees, columns=["a"], classes=["x", "y"], vote="mean")
        assert built.predict([[0.0], [1.0]]).tolist() == ["x", "x"]  # exactly, y wins at 0
        forest = cells(built)
        oracle = SmtOracle(forest)
        assert oracle.decide(Query(forest.full, Stays(0))) == Entailed(frozenset(), near_tie=True)
        assert isinstance(oracle.decide(Query(forest.full, Never(1))), Entailed)
    assert met >= 5


def test_forests_in_which_every_point_is_a_near_tie():
    outcomes: Counter[tuple[type, bool]] = Counter()
    for i in range(30):
        rng = np.random.default_rng([24, i])
        forest = cells(near_tied(rng, n_classes=2 + i % 2))
        oracle = SmtOracle(forest)
        for claim in all_claims(forest):
            for _ in range(2):
                point = tuple(int(rng.integers(n)) for n in forest.n_cells)
                query = Query(fix(forest, point, np.flatnonzero(rng.random(3) < 0.5)), claim)
                answer = oracle.decide(query)
                check_answer(forest, query, answer)
                outcomes[type(answer), answer.near_tie] += 1
    assert set(outcomes) == {(Entailed, True), (Refuted, True)}


def near_tied(rng: np.random.Generator, n_classes: int) -> Forest:
    """All classes have the same value in a tree, but for units in the last place."""

    def values(base: float) -> Any:
        return leaf([base + int(rng.integers(-1, 2)) * np.spacing(base) for _ in range(n_classes)])

    trees = []
    for t in range(3):
        base = rng.random()
        inner = split("abc"[(t + 1) % 3], rng.integers(2), values(base), values(base))
        trees.append(split("abc"[t], rng.integers(2), inner, values(base)))
    return build_forest(trees, columns=["a", "b", "c"], classes=list(range(n_classes)), vote="mean")


def test_near_ties_of_one_claim_say_nothing_about_another():
    # x wins the near-tie at a <= 0, y the one at a > 0: each claim excludes another region.
    trees = [
        split("a", 0, leaf([0.1, 0.3]), leaf([0.3, 0.1])),
        leaf([0.2, 0.2]),
        split("a", 0, leaf([0.3, 0.1]), leaf([0.1, 0.3])),
    ]
    forest = cells(build_forest(trees, columns=["a"], classes=["x", "y"], vote="mean"))
    assert [forest.label((cell,)) for cell in range(2)] == [0, 1]
    for order in itertools.permutations(all_claims(forest)):
        oracle = SmtOracle(forest)
        for claim in order:
            assert oracle.decide(Query(forest.full, claim)).witness == (int(claim in (Stays(0), Never(1))),)
        for claim in order:
            keeps = int(claim not in (Stays(0), Never(1)))
            answer = oracle.decide(Query((range(keeps, keeps + 1),), claim))
            assert answer == Entailed(frozenset({0}), near_tie=True)


def test_a_tie_between_pure_leaves_is_exact_although_other_leaves_are_not():
    trees = [
        split("a", 0, [1, 0], [0, 1]),
        split("a", 0, [0, 1], [1, 0]),
        split("b", 0, [0.5, 0.5], split("b", 1, [0.3, 0.7], [0.7, 0.3])),
    ]
    forest = cells(build_forest(trees, columns=["a", "b"], classes=["x", "y"], vote="mean"))
    assert forest.band > 0
    oracle = SmtOracle(forest)
    assert oracle.decide(Query((forest.full[0], range(1)), Stays(0))) == Entailed(frozenset({1}), near_tie=False)
    answer = oracle.decide(Query((forest.full[0], range(1)), Never(0)))
    assert (answer.label, answer.near_tie) == (0, False)
    assert solve(to_smtlib(oracle, Query((forest.full[0], range(1)), Stays(0)))) == z3.unsat


def test_a_clear_answer_is_no_near_tie():
    trees = [split("a", t, leaf([0.7, 0.3]), leaf([0.1, 0.9])) for t in range(3)]
    forest = cells(build_forest(trees, columns=["a"], classes=["x", "y"], vote="mean"))
    assert forest.band > 0
    oracle = SmtOracle(forest)
    assert oracle.decide(Query((range(1),), Stays(0))) == Entailed(frozenset({0}), near_tie=False)
    assert oracle.decide(Query((range(3, 4),), Stays(0))) == Refuted((3,), 1, near_tie=False)


@pytest.mark.parametrize("tiny", [5e-324, 1e-310, 2.0**-1020])
def test_quotients_that_lose_their_last_bits(tiny):
    built = build_forest(
        [split("a", 0, [0, tiny], [tiny, 0]), leaf([0, 0]), leaf([0, 0])],
        columns=["a"],
        classes=["x", "y"],
        vote="mean",
    )
    assert rounding_error(built) > 0
    forest = cells(built)
    for claim in all_claims(forest):
        check_answer(forest, Query(forest.full, claim), SmtOracle(forest).decide(Query(forest.full, claim)))


def test_sums_that_overflow():
    with np.errstate(over="ignore"):
        trees = [split("a", 0, [1e308, 1.2e308], [1, 2])] * 2
        forest = cells(build_forest(trees, columns=["a"], classes=["x", "y"], vote="mean"))
        assert [forest.label((cell,)) for cell in range(2)] == [0, 1]  # inf and inf are a tie
        oracle = SmtOracle(forest)
        assert oracle.decide(Query((range(1),), Stays(0))) == Entailed(frozenset({0}), near_tie=True)
        assert oracle.decide(Query(forest.full, Stays(0))).witness == (1,)


@pytest.mark.parametrize("vote", ["majority", "mean"])
def test_one_class_and_single_leaves(vote):
    forest = cells(build_forest([leaf("c"), split("a", 0, "c", "c")], columns=["a"], classes=["c"], vote=vote))
    oracle = SmtOracle(forest)
    assert oracle.decide(Query(forest.full, Stays(0))) == Entailed(frozenset())
    assert oracle.decide(Query(forest.full, Never(0))).label == 0
    forest = cells(build_forest([leaf([0.1, 0.2])] * 3, columns=["a"], classes=["c", "d"], vote=vote))
    assert SmtOracle(forest).decide(Query(forest.full, Stays(1))) == Entailed(frozenset())
    forest = cells(build_forest([leaf([0.1, 0.1])] * 3, columns=["a"], classes=["c", "d"], vote=vote))
    assert isinstance(SmtOracle(forest).decide(Query(forest.full, Never(1))), Entailed)


def test_thresholds_that_no_value_passes():
    huge = float(np.finfo(np.float32).max)
    trees = [split("a", huge, 0, 1), split("a", 0, split("a", 5, 0, 1), split("a", -5, 1, 0))]
    forest = cells(build_forest(trees, columns=["a"], classes=[0, 1]))
    assert SmtOracle(forest).decide(Query(forest.full, Stays(0))) == Entailed(frozenset())


def test_a_deadline_in_the_past():
    forest = next(cell_forests(1, seed=0))
    query = Query(forest.full, Stays(0), deadline=time.monotonic() - 1)
    assert SmtOracle(forest).decide(query) == Unknown("deadline")


def test_an_endless_deadline():
    forest = next(cell_forests(1, seed=0))
    query = Query(forest.full, Stays(0), deadline=float("inf"))
    check_answer(forest, query, SmtOracle(forest).decide(query))


def test_a_hard_query_stops_at_its_deadline_and_the_oracle_can_be_asked_again():
    forest = hard()
    oracle = SmtOracle(forest)
    start = time.monotonic()
    assert oracle.decide(Query(forest.full, Stays(0), start + 0.5)) == Unknown("deadline")
    assert 0.5 <= time.monotonic() - start < 10
    point = tuple(n // 2 for n in forest.n_cells)
    query = Query(fix(forest, point, range(forest.n_features)), Stays(forest.label(point)))
    assert isinstance(oracle.decide(query), Entailed)


def test_a_thread_waits_for_another_until_its_deadline_only():
    forest = hard()
    oracle = SmtOracle(forest)
    long = Query(forest.full, Stays(0), time.monotonic() + 1.5)
    other = threading.Thread(target=oracle.decide, args=[long])
    other.start()
    time.sleep(0.1)
    assert oracle.decide(Query(forest.full, Stays(0), time.monotonic() + 0.2)) == Unknown("deadline")
    assert other.is_alive()
    other.join()


def test_threads_take_turns():
    forest = next(f for f in cell_forests(50, seed=25, vote="mean") if f.n_classes == 3)
    oracle = SmtOracle(forest)
    queries = [random_query(np.random.default_rng(i), forest) for i in range(60)]
    answers: dict[int, Answer] = {}

    def ask(first: int) -> None:
        for i in range(first, len(queries), 3):
            answers[i] = oracle.decide(queries[i])

    threads = [threading.Thread(target=ask, args=[first]) for first in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, query in enumerate(queries):
        check_answer(forest, query, answers[i])


def test_control_c_ends_a_search():
    forest = hard()
    oracle = SmtOracle(forest)
    interrupt = threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT])
    interrupt.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        oracle.decide(Query(forest.full, Stays(0), start + 20))
    assert time.monotonic() - start < 10
    interrupt.join()
    assert isinstance(oracle.decide(Query(fix(forest, (0,) * 8, range(8)), Stays(forest.label((0,) * 8)))), Entailed)


def hard() -> CellForest:
    """A forest on which z3 needs more than half a minute to show that one class is impossible."""
    rng = np.random.default_rng(0)

    def node(level: int) -> Any:
        if level == 0:
            return int(rng.random() < 0.15)
        return split(f"c{rng.integers(8)}", rng.normal(), node(level - 1), node(level - 1))

    trees = [node(6) for _ in range(90)]
    return cells(build_forest(trees, columns=[f"c{j}" for j in range(8)], classes=[0, 1]))


def test_z3_is_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "z3", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'treeproof\[smt\]'"):
        SmtOracle(next(cell_forests(1, seed=0)))


def test_z3_is_not_imported_before_it_is_needed():
    code = "import treeproof.oracles.smt, sys; sys.exit('z3' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("vote", ["majority", "mean"])
def test_smtlib_text_is_satisfiable_iff_the_query_is_refuted(vote):
    outcomes = set()
    for i, forest in enumerate(cell_forests(60, seed=26, vote=vote)):
        oracle = SmtOracle(forest)
        query = random_query(np.random.default_rng(i), forest)
        result = solve(to_smtlib(oracle, query))
        if forest.band == 0:
            assert result == (z3.unsat if holds(forest, query) else z3.sat)
        elif result == z3.unsat:  # for sat, see the next test
            assert holds(forest, query)
        else:
            assert not holds(forest, query) or "float arithmetic" in to_smtlib(oracle, query)
        outcomes.add(str(result))
    assert outcomes == {"sat", "unsat"}


def test_smtlib_text_lets_near_ties_in_and_says_so():
    trees = [leaf([0.1, 0.3]), leaf([0.2, 0.2]), leaf([0.3, 0.1])]
    forest = cells(build_forest(trees, columns=["a"], classes=["x", "y"], vote="mean"))
    query = Query(forest.full, Stays(0))
    assert holds(forest, query)
    text = to_smtlib(SmtOracle(forest), query)
    assert solve(text) == z3.sat
    assert f"sums less than {forest.band} from a tie are decided" in text
    exact = cells(build_forest([leaf([0.5, 0.25])], columns=["a"], classes=["x", "y"], vote="mean"))
    assert "from a tie are decided" not in to_smtlib(SmtOracle(exact), Query(exact.full, Stays(0)))


def test_smtlib_text_is_readable():
    trees = [split("a", 0.5, "no", "yes"), isin("b", ["u", "v"], "yes", "no")]
    built = build_forest(trees, columns=["a", Column("b", ("u", "v", "w"))], classes=["no", "yes"])
    space = declare(built)
    forest = discretise(space)
    query = Query((range(1), forest.full[1]), Stays(0))
    text = to_smtlib(SmtOracle(forest), query, space.names, lambda f, domain: f"{space.names[f]} in {sorted(domain)}")
    assert (
        text
        == """\
; majority vote of 2 trees: does a point violate Stays(label=0)?
; Classes are numbered in the order in which ties are resolved:
;   0: no
;   1: yes
; The named assertions restrict features. To learn which ones a proof of unsat needs, start with
; (set-option :produce-unsat-cores true) and end with (get-unsat-core).
(set-logic QF_LIA)
; x0 is the cell of a
;   0: a in [0]
;   1: a in [1]
(declare-const x0 Int) (assert (<= 0 x0 1))
; x1 is the cell of b
;   0: b in [0]
;   1: b in [1]
;   2: b in [2]
(declare-const x1 Int) (assert (<= 0 x1 2))
; tree 0
(declare-const m0_1 Int) (assert (<= m0_1 1))
(assert (=> (<= x0 0) (<= m0_1 (- 1))))
; tree 1
(declare-const m1_1 Int) (assert (<= m1_1 1))
(assert (=> (= x1 2) (<= m1_1 (- 1))))
; the vote
(assert (>= (+ m0_1 m1_1) 1))
; a: a in [0]
(assert (! (<= x0 0) :named fix-a))
(check-sat)
"""
    )
    assert solve(text) == z3.unsat


def test_smtlib_text_survives_any_names():
    names = [
        "a|b",
        "a\\b",
        "a_b",
        'quote " me',
        "two\nlines (check-sat)",
        "größe ≤ 1",
        "",
        "a b",
        "; c",
        "\x00\u2028",
    ]
    trees = [split(name, 0, 0, 1) for name in names]
    forest = cells(build_forest(trees, columns=names, classes=[0, 1]))
    low = Query(fix(forest, (0,) * len(names), range(len(names))), Stays(0))
    text = to_smtlib(SmtOracle(forest), low, names, lambda f, domain: f"{names[f]}\n(assert false)")
    assert solve(text) == z3.unsat
    assert text.splitlines().count("(check-sat)") == 1
    solver = z3.Solver()
    solver.from_string(f"(set-option :produce-unsat-cores true)\n{text}")
    assert solver.check() == z3.unsat
    core = {str(name) for name in solver.unsat_core()}
    assert len(core) >= 5  # half of the trees are enough for a tie
    assert core <= {
        *("fix-a_b", "fix-a_b-1", "fix-a_b-2", 'fix-quote " me', "fix-two_lines (check-sat)"),
        *("fix-größe ≤ 1", "fix-", "fix-a b", "fix-; c", "fix-__"),
    }
    high = Query(fix(forest, (1,) * len(names), range(len(names))), Stays(0))
    assert solve(to_smtlib(SmtOracle(forest), high, names)) == z3.sat


def solve(text: str) -> Any:
    solver = z3.Solver()
    solver.add(z3.parse_smt2_string(text))
    return solver.check()


def cells(forest: Forest) -> CellForest:
    return discretise(declare(forest))
