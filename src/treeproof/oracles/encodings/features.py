"""Variables for the cell of each feature: how splits, domains and models are written with them.

A feature's variables are tied together by clauses so that they describe exactly one cell in every model.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from treeproof.oracles.encodings.cardinality import Cardinality, exactly_one
from treeproof.oracles.encodings.cnf import TRUE, Formula
from treeproof.query.cells import CellForest
from treeproof.space.domains import Domain


class FeatureVariables(Protocol):
    """The variables of one feature."""

    def left(self, cut: int) -> int:
        """Return the literal that holds iff the cell goes left at a split; `cut` as in `CellForest`."""

    def within(self, domain: Domain) -> list[int]:
        """Return literals that hold together iff the cell is in the domain, a proper part of the whole."""

    def any_of(self, domain: Domain) -> list[int]:
        """Return literals of which one holds iff the cell is in the domain, one that occurs in `CellForest.clauses`."""

    def cell(self, model: Sequence[int]) -> int:
        """Return the cell in a model: entry ``v - 1`` is positive iff variable v holds."""

    def meanings(self) -> Iterator[tuple[int, Domain]]:
        """Yield variables with the cells for which they hold; those without such a meaning are left out."""


class OrderVariables:
    """An ordered feature in the order encoding: one variable for each cut, true iff the cell is not above it.

    A feature of two cells is the paper's case of a binary feature, a single literal.

    Examples
    --------
    >>> formula = Formula()
    >>> weight = OrderVariables(formula, 4)
    >>> weight.within(range(1, 3)), formula.clauses
    ([3, -1], [[-1, 2], [-2, 3]])
    """

    def __init__(self, formula: Formula, n_cells: int) -> None:
        self._not_above = [formula.variable() for _ in range(n_cells - 1)]
        for lower, upper in zip(self._not_above, self._not_above[1:], strict=False):
            formula.add(-lower, upper)

    def left(self, cut: int) -> int:
        """Return the literal for ``cell <= cut``."""
        if cut < 0:
            return -TRUE
        return self._not_above[cut] if cut < len(self._not_above) else TRUE

    def within(self, domain: Domain) -> list[int]:
        """Return an upper and a lower bound, where the domain has them."""
        assert isinstance(domain, range)
        bounds = []
        if domain.stop <= len(self._not_above):
            bounds.append(self._not_above[domain.stop - 1])
        if domain.start > 0:
            bounds.append(-self._not_above[domain.start - 1])
        return bounds

    def any_of(self, domain: Domain) -> list[int]:
        """Return the one bound of the domain, a proper part of the whole that starts or ends where it does."""
        return OrderVariables.within(self, domain)

    def cell(self, model: Sequence[int]) -> int:
        """Return the first cell that the model does not put above; the order makes bisection right."""
        return bisect_left(self._not_above, True, key=lambda variable: _holds(model, variable))

    def meanings(self) -> Iterator[tuple[int, Domain]]:
        """Yield each cut with the cells up to it."""
        return ((variable, range(cut + 1)) for cut, variable in enumerate(self._not_above))


class IntervalVariables(OrderVariables):
    """An ordered feature as in the paper: a variable for each interval beside those for the thresholds.

    These are the paper's ``z_i`` and (negated) ``l_j``, tied by its compact set of constraints: ``l_j <->
    (z_{j+1} or l_{j+1})`` and ``not l_j <-> (z_j or not l_{j-1})`` ("AXps for Random Forests", SAT Encoding;
    in its example of three intervals the second ``l_j`` stands for ``z_2 or z_3``). They imply ``z_i <->
    (l_{i-1} and not l_i)`` and so that exactly one interval holds. The formulas counted in the paper's Table
    1 say so a second time, with a cardinality constraint for each feature; this class does too.
    """

    def __init__(self, formula: Formula, n_cells: int, cardinality: Cardinality) -> None:
        self._not_above = below = [formula.variable() for _ in range(n_cells - 1)]
        self._intervals = intervals = [formula.variable() for _ in range(n_cells)]
        for j, not_above in enumerate(below):
            _equivalent(formula, not_above, intervals[j], below[j - 1] if j > 0 else -TRUE)
            _equivalent(formula, -not_above, intervals[j + 1], -below[j + 1] if j + 1 < len(below) else -TRUE)
        exactly_one(formula, intervals, cardinality)

    def within(self, domain: Domain) -> list[int]:
        """Return the interval, if it is a single one, and bounds otherwise."""
        if isinstance(domain, range) and len(domain) == 1:
            return [self._intervals[domain.start]]
        return super().within(domain)

    def meanings(self) -> Iterator[tuple[int, Domain]]:
        """Yield each cut with the cells up to it, then each interval."""
        yield from super().meanings()
        yield from ((variable, range(cell, cell + 1)) for cell, variable in enumerate(self._intervals))


class ValueVariables:
    """A feature of named values: a variable for each value, and for each set of values that a split asks for.

    The paper's case of a categorical feature: ``l_j <-> (z_1 or ... or z_n)``; for a set of one value, or all
    values but one, ``l_j`` is that value's literal itself.

    Examples
    --------
    >>> formula = Formula()
    >>> colour = ValueVariables(formula, 4, {7: frozenset({0, 2})}, "seqcounter")
    >>> colour.within(frozenset({0, 1})), colour.left(7) == formula.n_variables
    ([-3, -4], True)
    """

    def __init__(
        self,
        formula: Formula,
        n_cells: int,
        left_sets: Mapping[int, frozenset[int]],
        cardinality: Cardinality,
    ) -> None:
        self._values = [formula.variable() for _ in range(n_cells)]
        exactly_one(formula, self._values, cardinality)
        self._sets: dict[frozenset[int], int] = {}
        self._left = {cut: self._member(formula, cells) for cut, cells in left_sets.items()}

    def _member(self, formula: Formula, cells: frozenset[int]) -> int:
        others = frozenset(range(len(self._values))) - cells
        if not cells or not others:
            return TRUE if cells else -TRUE
        if len(cells) == 1:
            return self._values[min(cells)]
        if len(others) == 1:
            return -self._values[min(others)]
        if cells not in self._sets:
            self._sets[cells] = formula.variable()
            _equivalent(formula, self._sets[cells], *(self._values[cell] for cell in sorted(cells)))
        return self._sets[cells]

    def left(self, cut: int) -> int:
        """Return the literal for a value in the split's set."""
        return self._left[cut]

    def within(self, domain: Domain) -> list[int]:
        """Return the value, if it is a single one, and otherwise the values that are left out, negated."""
        if len(domain) == 1:
            return [self._values[min(domain)]]
        return [-variable for cell, variable in enumerate(self._values) if cell not in domain]

    def any_of(self, domain: Domain) -> list[int]:
        """Return the values."""
        return [self._values[cell] for cell in sorted(domain)]

    def cell(self, model: Sequence[int]) -> int:
        """Return the value that holds."""
        return next(cell for cell, variable in enumerate(self._values) if _holds(model, variable))

    def meanings(self) -> Iterator[tuple[int, Domain]]:
        """Yield each value, then each set of values."""
        yield from ((variable, frozenset({cell})) for cell, variable in enumerate(self._values))
        yield from ((variable, cells) for cells, variable in self._sets.items())


def left_sets(forest: CellForest, feature: int) -> dict[int, frozenset[int]]:
    """Return the cells that go left for each `cut` at which the forest splits a feature that is not ordered."""
    cuts = np.unique(forest.cut[forest.feature == feature]).tolist()
    return {cut: forest.left_cells(feature, cut) for cut in cuts}


def _equivalent(formula: Formula, literal: int, *others: int) -> None:
    """State that `literal` holds iff at least one of the others does."""
    formula.add(-literal, *others)
    for other in others:
        formula.add(literal, -other)


def _holds(model: Sequence[int], variable: int) -> bool:
    # Solvers leave the last variables out of a model when no clause and no assumption mentions them.
    return variable <= len(model) and model[variable - 1] > 0
