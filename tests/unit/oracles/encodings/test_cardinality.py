from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from pysat.solvers import Solver

from treeproof.oracles.encodings.cardinality import CARDINALITIES, above, at_least, at_most, exactly_one, totalizer
from treeproof.oracles.encodings.cnf import TRUE, Formula


def allowed_sums(state: Callable[[Formula, list[int]], None], n: int) -> set[int]:
    """The sums of n inputs that the constraint allows; all assignments with one sum must be treated alike."""
    formula = Formula()
    inputs = [formula.variable() for _ in range(n)]
    state(formula, inputs)
    verdicts: dict[int, set[bool]] = {}
    with Solver("minisat22", bootstrap_with=formula.clauses) as solver:
        for signs in itertools.product((-1, 1), repeat=n):
            assumptions = [sign * literal for sign, literal in zip(signs, inputs, strict=True)]
            verdicts.setdefault(signs.count(1), set()).add(solver.solve(assumptions=assumptions))
    assert all(len(verdict) == 1 for verdict in verdicts.values())
    return {total for total, verdict in verdicts.items() if verdict == {True}}


@pytest.mark.parametrize("encoding", CARDINALITIES)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_constraints_allow_exactly_the_sums_they_name(encoding, n):
    for bound in range(-1, n + 2):
        assert allowed_sums(lambda f, x, b=bound: at_most(f, x, b, encoding), n) == set(range(bound + 1)) & {
            *range(n + 1)
        }
        assert allowed_sums(lambda f, x, b=bound: at_least(f, x, b, encoding), n) == set(range(max(bound, 0), n + 1))
    assert allowed_sums(lambda f, x: exactly_one(f, x, encoding), n) == {1}


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_a_totalizer_bounds_the_sum_from_above(n):
    for bound in range(n + 1):

        def state(formula, inputs, bound=bound):
            outputs = totalizer(formula, [[literal] for literal in inputs], bound)
            formula.add(-above(outputs, bound))

        assert allowed_sums(state, n) == set(range(bound + 1))


def test_a_totalizer_adds_unary_numbers():
    for bound in range(7):
        formula = Formula()
        numbers = [[formula.variable(), formula.variable()] for _ in range(3)]
        for first, second in numbers:
            formula.add(-second, first)
        formula.add(-above(totalizer(formula, numbers, bound), bound))
        with Solver("minisat22", bootstrap_with=formula.clauses) as solver:
            for values in itertools.product((0, 1, 2), repeat=3):
                assumptions = [
                    literal if value > i else -literal
                    for number, value in zip(numbers, values, strict=True)
                    for i, literal in enumerate(number)
                ]
                assert solver.solve(assumptions=assumptions) == (sum(values) <= bound)


def test_a_totalizer_of_nothing_is_never_above_zero():
    formula = Formula()
    outputs = totalizer(formula, [], 3)
    assert (above(outputs, -1), above(outputs, 0)) == (TRUE, -TRUE)
    assert formula.clauses == []


def test_a_limit_saves_outputs_and_clauses():
    sizes = []
    for limit in (2, 20):
        formula = Formula()
        outputs = totalizer(formula, [[formula.variable()] for _ in range(20)], limit)
        sizes.append((len(outputs), len(formula.clauses)))
    assert sizes[0][0] == 3
    assert sizes[1][0] == 20
    assert sizes[0][1] < sizes[1][1] / 2
