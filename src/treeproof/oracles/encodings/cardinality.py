"""Constraints on how many literals hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

from pysat.card import CardEnc, EncType

from treeproof.oracles.encodings.cnf import TRUE, Formula

Cardinality = Literal["cardnetwrk", "seqcounter", "sortnetwrk", "totalizer", "mtotalizer", "kmtotalizer"]
"""PySAT's encodings that count beyond one and consist of clauses (``native`` is for MiniCard only)."""

CARDINALITIES: tuple[str, ...] = get_args(Cardinality)


def at_most(formula: Formula, literals: Sequence[int], bound: int, encoding: Cardinality) -> None:
    """Add clauses that hold for an assignment iff at most `bound` of the literals do."""
    if bound < 0:
        formula.contradict()
    elif bound < len(literals):
        _extend(formula, CardEnc.atmost, literals, bound, encoding)


def at_least(formula: Formula, literals: Sequence[int], bound: int, encoding: Cardinality) -> None:
    """Add clauses that hold for an assignment iff at least `bound` of the literals do."""
    if bound > len(literals):
        formula.contradict()
    elif bound > 0:
        _extend(formula, CardEnc.atleast, literals, bound, encoding)


def exactly_one(formula: Formula, literals: Sequence[int], encoding: Cardinality) -> None:
    """Add clauses that hold for an assignment iff exactly one of the literals does.

    >>> formula = Formula()
    >>> exactly_one(formula, [formula.variable(), formula.variable()], "seqcounter")
    >>> formula.clauses
    [[1, 2], [-1, -2]]
    """
    formula.add(*literals)
    at_most(formula, literals, 1, encoding)


def totalizer(formula: Formula, numbers: Sequence[Sequence[int]], limit: int) -> list[int]:
    """Return literals of which the i-th, from 0, holds if the sum of the numbers is above i; i <= `limit`.

    Each number is unary: a list of literals of which at least the first n hold if its value is n or more. The
    literals returned may hold for smaller sums too: clauses go from the parts to the sum only, which is all
    that an upper bound on the sum needs (Bailleux and Boufkhad, CP 2003). Numbers are added in pairs, so
    neighbours meet early.

    >>> formula = Formula()
    >>> x, y = formula.variable(), formula.variable()
    >>> totalizer(formula, [[x], [y]], 1)
    [3, 4]
    >>> formula.clauses
    [[-2, 3], [-1, 3], [-1, -2, 4]]
    """
    sums = [list(number) for number in numbers]
    while len(sums) > 1:
        pairs = [_add(formula, *pair, limit) for pair in zip(sums[::2], sums[1::2], strict=False)]
        sums = pairs + sums[len(pairs) * 2 :]
    return sums[0] if sums else []


def above(outputs: Sequence[int], value: int) -> int:
    """Return the literal that holds if the sum behind a totalizer's outputs is above `value`.

    >>> above([7, 8], 1), above([7, 8], -1) == TRUE, above([7, 8], 2) == -TRUE
    (8, True, True)
    """
    if value < 0:
        return TRUE
    return outputs[value] if value < len(outputs) else -TRUE


def _add(formula: Formula, first: Sequence[int], second: Sequence[int], limit: int) -> list[int]:
    outputs = [formula.variable() for _ in range(min(len(first) + len(second), limit + 1))]
    # Without Formula.add: there are no constants here, and these are most of the clauses of an encoding.
    clauses = formula.clauses
    for j in range(min(len(second), len(outputs))):
        clauses.append([-second[j], outputs[j]])
    for i in range(min(len(first), len(outputs))):
        clauses.append([-first[i], outputs[i]])
        for j in range(min(len(second), len(outputs) - i - 1)):
            clauses.append([-first[i], -second[j], outputs[i + j + 1]])
    return outputs


def _extend(
    formula: Formula, make: Callable[..., Any], literals: Sequence[int], bound: int, encoding: Cardinality
) -> None:
    made = make(lits=list(literals), bound=bound, top_id=formula.n_variables, encoding=getattr(EncType, encoding))
    formula.extend(made.clauses, made.nv)
