from __future__ import annotations

import pytest
from pysat.formula import CNF
from pysat.solvers import Solver

from treeproof.oracles.encodings.cnf import TRUE, Formula, dimacs


def satisfiable(formula: Formula) -> bool:
    with Solver("minisat22", bootstrap_with=formula.clauses) as solver:
        return solver.solve()


def test_a_clause_with_a_true_literal_is_dropped_and_false_literals_are_left_out():
    formula = Formula()
    x, y = formula.variable(), formula.variable()
    formula.add(x, TRUE, y)
    formula.add(x, -TRUE, -y)
    assert formula.clauses == [[x, -y]]


def test_a_clause_without_a_literal_that_can_hold_makes_the_formula_unsatisfiable():
    formula = Formula()
    formula.add(formula.variable())
    assert satisfiable(formula)
    formula.add(-TRUE)
    assert not satisfiable(formula)
    assert all(formula.clauses)


def test_a_copy_grows_on_its_own():
    formula = Formula()
    formula.add(formula.variable("first"))
    other = formula.copy()
    other.add(-other.variable("second"))
    assert (formula.n_variables, formula.clauses, formula.notes) == (1, [[1]], {1: "first"})
    assert (other.n_variables, other.clauses, other.notes) == (2, [[1], [-2]], {1: "first", 2: "second"})


def test_clauses_from_elsewhere_bring_their_variables():
    formula = Formula()
    formula.variable()
    formula.extend([[1, 5]], 5)
    assert formula.variable() == 6


@pytest.mark.parametrize("assumptions", [[], [2], [-1, 7]])
def test_dimacs_is_read_back_by_pysat(assumptions):
    formula = Formula()
    formula.add(formula.variable("a\nname over\ttwo lines"), -formula.variable())
    read = CNF(from_string=dimacs(formula, assumptions, {2: "two"}))
    assert read.clauses == [[1, -2], *([literal] for literal in assumptions)]
    assert read.nv == max([2, *map(abs, assumptions)])
    assert read.comments[:2] == ["c 1 a name over two lines", "c 2 two"]


def test_dimacs_counts_the_variables_that_have_no_meaning():
    formula = Formula()
    formula.add(formula.variable("known"), formula.variable(), formula.variable())
    assert "c the other 2 variables are auxiliary\n" in dimacs(formula, [], {})
    assert "auxiliary" not in dimacs(formula, [], {2: "two", 3: "three"})
