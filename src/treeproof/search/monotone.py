"""Whether a score never falls (or never rises) from one cell of a feature to the next, whatever the others are.

Neighbouring cells suffice: what never falls in one step never falls in several. For one step, only trees with a split
between the two cells count, and of these only the difference of what lies on its two sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treeproof.oracles.sums import SumOracle
from treeproof.query.cells import CellForest
from treeproof.query.oracle import Entailed, Refuted
from treeproof.query.sums import Integers, SumForest
from treeproof.query.twins import Trees, Twins
from treeproof.space.domains import Cells, Domain


@dataclass(frozen=True, slots=True)
class Fall:
    """A step against the direction: the points before and after it, and by how much the sum falls."""

    before: Cells
    after: Cells
    size: int


@dataclass(frozen=True, slots=True)
class Steps:
    """What is known about all steps of a feature.

    `fall` is the largest fall found; none is larger than `most` (0: the sum never falls). `by_tree` says that no single
    tree ever falls. `clauses` are the constraints that a proof used.
    """

    fall: Fall | None
    most: int
    by_tree: bool
    clauses: frozenset[int]


def falls(
    cells: CellForest, numbers: Integers, feature: int, domains: Sequence[Domain], near: Cells, deadline: float | None
) -> Steps:
    """Return the largest fall of a sum in one step of an ordered feature, upwards through its domain."""
    twins = Twins(cells, (feature,))
    steps = [_Step(twins, numbers, cell, domains) for cell in _steps(cells, feature, domains[feature])]
    steps = [step for step in steps if step.forest is not None and step.most > 0]
    if not steps:
        return Steps(None, 0, True, frozenset())
    best: Fall | None = None
    open_: list[int] = []
    clauses: set[int] = set()
    for step in sorted(steps, key=lambda step: -step.most):  # the largest possible fall first: it may settle others
        while step.most > (best.size if best else 0):
            answer = step.ask((best.size if best else 0) + 1, near, deadline)
            if isinstance(answer, Refuted):
                best = step.fall(answer.witness)
            elif isinstance(answer, Entailed):
                clauses |= {c for c in answer.clauses if c < len(cells.clauses)}
                break
            else:
                open_.append(step.most)
                break
    return Steps(best, max([best.size if best else 0, *open_]), False, frozenset(clauses))


def _steps(cells: CellForest, feature: int, domain: Domain) -> list[int]:
    """Return the cells of a domain whose next cell is in it too; missing values beside the order have no next one."""
    last = cells.n_cells[feature] - 1
    return [c for c in sorted(domain) if c + 1 in domain and not (cells.gapped[feature] and c + 1 == last)]


class _Step:
    """One step: from a cell to the next."""

    def __init__(self, twins: Twins, numbers: Integers, cell: int, domains: Sequence[Domain]) -> None:
        self.twins, self.cell = twins, cell
        (feature,) = twins.doubled
        cells = twins.cells
        copy = twins.copies[feature]
        here, there = cells.only(feature, (cell,)), cells.only(feature, (cell + 1,))
        self.domains = [*domains, there]
        self.domains[feature] = here
        splits = np.flatnonzero(cells.feature == feature)
        between = [n for n in splits.tolist() if cells.goes_left(n, cell) != cells.goes_left(n, cell + 1)]
        self.forest: SumForest | None = None
        self.most = 0
        if not between:
            return
        trees = np.unique(np.searchsorted(cells.source.roots, between, side="right") - 1)
        grown = Trees(twins.cells, 1, twins)
        grown.add_difference(trees.tolist(), 0, -numbers, {feature: here, copy: there})
        self.forest = grown.forest()
        self.most = self.forest.largest[0]
        self._oracle: SumOracle | None = None

    def ask(self, least: int, near: Cells, deadline: float | None):  # type: ignore[no-untyped-def]
        assert self.forest is not None
        if self._oracle is None:
            self._oracle = SumOracle(self.forest)
        return self._oracle.reach([least], self.domains, deadline, self._home(near))

    def _home(self, near: Cells) -> Cells:
        (feature,) = self.twins.doubled
        return (*near[:feature], self.cell, *near[feature + 1 :], self.cell + 1)

    def fall(self, point: Cells) -> Fall:
        assert self._oracle is not None
        return Fall(*self.twins.pair(point), self._oracle.totals(point)[0])
