from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest
from pysat.solvers import Solver

from treeproof.oracles.encodings.cardinality import CARDINALITIES
from treeproof.oracles.encodings.cnf import TRUE, Formula
from treeproof.oracles.encodings.features import FeatureVariables, IntervalVariables, OrderVariables, ValueVariables
from treeproof.space.domains import Domain

SETS = {
    0: frozenset[int](),
    3: frozenset({0}),
    4: frozenset({1, 2}),
    5: frozenset({0, 3}),
    9: frozenset(range(4)),
}
ORDERED: dict[str, Callable[[Formula, int], FeatureVariables]] = {
    "order": OrderVariables,
    **{
        f"interval-{encoding}": lambda formula, n, encoding=encoding: IntervalVariables(formula, n, encoding)
        for encoding in CARDINALITIES
    },
}


def all_models(formula: Formula, variables: FeatureVariables) -> Iterator[list[int]]:
    """Every model, projected to the variables that have a meaning."""
    shown = [variable for variable, _ in variables.meanings()]
    with Solver("minisat22", bootstrap_with=formula.clauses) as solver:
        for signs in itertools.product((-1, 1), repeat=len(shown)):
            if solver.solve(assumptions=[sign * variable for sign, variable in zip(signs, shown, strict=True)]):
                yield solver.get_model()


def literal_holds(model: list[int], literal: int) -> bool:
    if abs(literal) == TRUE:
        return literal == TRUE
    return model[abs(literal) - 1] == literal


def check(
    formula: Formula,
    variables: FeatureVariables,
    n_cells: int,
    domains: list[Domain],
    lefts: dict[int, set[int]],
):
    seen = []
    for model in all_models(formula, variables):
        cell = variables.cell(model)
        seen.append(cell)
        for variable, cells in variables.meanings():
            assert (model[variable - 1] > 0) == (cell in cells)
        for cut, goes_left in lefts.items():
            assert literal_holds(model, variables.left(cut)) == (cell in goes_left)
        for domain in domains:
            assert all(literal_holds(model, literal) for literal in variables.within(domain)) == (cell in domain)
    assert sorted(seen) == list(range(n_cells))  # one model for each cell


@pytest.mark.parametrize("kind", ORDERED)
@pytest.mark.parametrize("n_cells", [2, 3, 6])
def test_models_of_an_ordered_feature_are_its_cells(kind, n_cells):
    formula = Formula()
    variables = ORDERED[kind](formula, n_cells)
    domains: list[Domain] = [
        range(first, last + 1)
        for first in range(n_cells)
        for last in range(first, n_cells)
        if last - first + 1 < n_cells
    ]
    check(formula, variables, n_cells, domains, {cut: set(range(cut + 1)) for cut in range(-1, n_cells + 1)})


@pytest.mark.parametrize("encoding", CARDINALITIES)
def test_models_of_a_feature_of_values_are_its_values(encoding):
    formula = Formula()
    variables = ValueVariables(formula, 4, SETS, encoding)
    domains: list[Domain] = [frozenset(cells) for size in (1, 2, 3) for cells in itertools.combinations(range(4), size)]
    check(formula, variables, 4, domains, {cut: set(cells) for cut, cells in SETS.items()})


def test_a_feature_of_one_cell_has_no_choice():
    formula = Formula()
    ordered, named = OrderVariables(formula, 1), ValueVariables(formula, 1, {0: frozenset({0})}, "seqcounter")
    assert (ordered.left(0), ordered.left(-1), named.left(0)) == (TRUE, -TRUE, TRUE)
    with Solver("minisat22", bootstrap_with=formula.clauses) as solver:
        assert solver.solve()
        model = solver.get_model()
    assert (ordered.cell(model), named.cell(model)) == (0, 0)


def test_a_feature_of_two_cells_is_one_literal():
    formula = Formula()
    variables = OrderVariables(formula, 2)
    assert (formula.n_variables, formula.clauses) == (1, [])
    assert (variables.within(range(1)), variables.within(range(1, 2))) == ([1], [-1])


def test_variables_that_a_model_leaves_out_do_not_hold():
    formula = Formula()
    formula.variable()
    assert OrderVariables(formula, 2).cell([1]) == 1


def test_a_set_of_values_has_one_variable_however_often_it_is_split_at():
    formula = Formula()
    variables = ValueVariables(formula, 4, {0: frozenset({0, 1}), 1: frozenset({0, 1})}, "seqcounter")
    assert variables.left(0) == variables.left(1) == formula.n_variables
