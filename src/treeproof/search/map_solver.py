"""A SAT solver over one variable per feature: the map of the sets of features that are still of interest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from treeproof.query.native import free, without_destructor
from treeproof.query.oracle import expired

_CONFLICTS = 1000  # between two looks at the clock; some milliseconds


class Chart:
    """Clauses over features, with models that are sets of features.

    A feature f is the literal ``f + 1``; literals beyond the features are auxiliary. A search is cut into slices of
    some milliseconds, between which Python sees Ctrl-C and the clock; a solver in the middle of a search cannot.

    Examples
    --------
    >>> with Chart(range(3)) as chart:
    ...     chart.meet({0, 2})
    ...     chart.avoid({0})
    ...     chart.solve(), sorted(chart.features())
    (True, [2])
    """

    def __init__(self, features: Iterable[int], *, deadline: float | None = None, solver: str = "minisat22") -> None:
        self._owned: list[Any] = []  # what is still to be freed
        from pysat.solvers import Solver  # imported late: most questions need no map, and it is slow

        self._features = frozenset(features)
        self._deadline = deadline
        self._solver = without_destructor(Solver(name=solver))
        self._owned.append(self._solver)
        for f in sorted(self._features):
            self._solver.add_clause([f + 1, -(f + 1)])

    def __enter__(self) -> Chart:
        return self

    def __exit__(self, *_: object) -> None:
        self.delete()

    def __del__(self) -> None:
        if hasattr(self, "_owned"):  # it may have been interrupted before
            self.delete()

    def delete(self) -> None:
        """Give the solver's memory back."""
        free(self._owned)

    def add(self, clause: Iterable[int]) -> None:
        """Add a clause of literals."""
        self._solver.add_clause(list(clause))

    def meet(self, features: Iterable[int]) -> None:
        """Keep only the sets that have one of these features."""
        self.add(f + 1 for f in sorted(features))

    def avoid(self, features: Iterable[int]) -> None:
        """Keep only the sets that lack one of these features."""
        self.add(-(f + 1) for f in sorted(features))

    def favour(self, literals: Iterable[int]) -> None:
        """Let the solver try these literals first."""
        self._solver.set_phases(list(literals))

    def solve(self, assumptions: Sequence[int] = ()) -> bool:
        """Return whether there is a set left, under these literals; TimeoutError when the deadline comes first."""
        while True:
            self._solver.conf_budget(_CONFLICTS)
            status: bool | None = self._solver.solve_limited(assumptions=list(assumptions), expect_interrupt=True)
            if status is not None:
                return status
            if expired(self._deadline):
                raise TimeoutError

    def attempt(self, assumptions: Sequence[int], conflicts: int) -> bool | None:
        """Return whether there is a set left, under these literals; None if so many conflicts do not tell."""
        self._solver.conf_budget(conflicts)
        status: bool | None = self._solver.solve_limited(assumptions=list(assumptions), expect_interrupt=True)
        return status

    def refutes(self, assumptions: Sequence[int], conflicts: int) -> bool:
        """Return whether it turns out, with so many conflicts at most, that no set satisfies these literals."""
        return self.attempt(assumptions, conflicts) is False

    def features(self) -> frozenset[int]:
        """Return the set that `solve` found."""
        return frozenset(literal - 1 for literal in self._solver.get_model() if literal > 0) & self._features

    def core(self) -> list[int]:
        """Return literals among the last assumptions that no set satisfies together."""
        return self._solver.get_core() or []
