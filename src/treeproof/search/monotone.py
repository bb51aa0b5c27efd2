"""Whether a score never falls (or never rises) from one cell of a feature to the next, whatever the others are.

Neighbouring cells suffice: what never falls in one step never falls in several. (Unless a constraint mentions the
feature: it may forbid the cells between two others, so then all pairs of cells are steps.) For one step, only trees
with a split between the two cells count, and of these only the difference of what lies on its two sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np

from treeproof.oracles.sums import SumOracle
from treeproof.query.cells import CellForest
from treeproof.query.oracle import Answer, Entailed, Refuted, expired
from treeproof.query.sums import Integers, SumForest
from treeproof.query.twins import Trees, Twins, spread
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
    cells: CellForest,
    numbers: Integers,
    feature: int,
    missing: int | None,
    domains: Sequence[Domain],
    near: Cells,
    deadline: float | None,
    *,
    largest: bool = True,
) -> Steps:
    """Return the largest fall of a sum in one step of a feature of numbers, upwards through its domain.

    Its cell of missing values, if it has one, takes part in no step. Unless the `largest` is asked for, the first fall
    found is enough.
    """
    twins = Twins(cells, (feature,))
    ordered = [cell for cell in sorted(domains[feature]) if cell != missing]
    constrained = any(f == feature for clause in cells.clauses for f, _ in clause)
    pairs = combinations(ordered, 2) if constrained else pairwise(ordered)
    any_step = spread(cells, numbers)
    by_tree, clauses, steps = True, set[int](), list[_Step]()
    for before, after in pairs:
        try:
            step = _Step(twins, numbers, before, after, domains, deadline)
        except TimeoutError:
            return Steps(None, any_step, False, frozenset())
        if step.most <= 0:
            continue
        by_tree = False
        if not largest:
            answer = step.ask(1, near, deadline)
            if isinstance(answer, Refuted):
                return Steps(step.fall(answer.witness), any_step, False, frozenset())
            if isinstance(answer, Entailed):
                clauses |= {c for c in answer.clauses if c < len(cells.clauses)}
                continue
        steps.append(step)
    best: Fall | None = None
    open_: list[int] = []
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
    return Steps(best, max([best.size if best else 0, *open_]), by_tree, frozenset(clauses))


class _Step:
    """One step, from a cell to a later one."""

    def __init__(
        self,
        twins: Twins,
        numbers: Integers,
        before: int,
        after: int,
        domains: Sequence[Domain],
        deadline: float | None,
    ) -> None:
        if expired(deadline):
            raise TimeoutError
        self.twins, self.before, self.after = twins, before, after
        (feature,) = twins.doubled
        cells = twins.cells
        here, there = cells.only(feature, (before,)), cells.only(feature, (after,))
        self.domains = [*domains, there]
        self.domains[feature] = here
        splits = np.flatnonzero(cells.feature == feature)
        between = [n for n in splits.tolist() if cells.goes_left(n, before) != cells.goes_left(n, after)]
        trees = np.unique(np.searchsorted(cells.source.roots, between, side="right") - 1)
        grown = Trees(cells, 1, twins, deadline)
        grown.add_difference(trees.tolist(), 0, -numbers, {feature: here, twins.copies[feature]: there})
        self.forest: SumForest = grown.forest()
        self.most = self.forest.largest[0]

    @cached_property
    def oracle(self) -> SumOracle:
        """Made only for steps that the largest leaves do not settle."""
        return SumOracle(self.forest)

    def ask(self, least: int, near: Cells, deadline: float | None) -> Answer:
        """Ask for a point at which the step falls by at least that."""
        (feature,) = self.twins.doubled
        home = (*near[:feature], self.before, *near[feature + 1 :], self.after)
        return self.oracle.reach([least], self.domains, deadline, home)

    def fall(self, point: Cells) -> Fall:
        """Return the fall at a point."""
        return Fall(*self.twins.pair(point), self.oracle.totals(point)[0])
