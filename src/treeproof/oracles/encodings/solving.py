"""A SAT solver that keeps its formula between questions and stops at a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pysat.solvers import Solver, SolverNames, pysolvers

from treeproof.oracles.encodings.cnf import Formula
from treeproof.query.native import free, without_destructor

# Kissat ignores assumptions, so that its answers would be about another question; CryptoMiniSat gives no
# cores; Lingeling ends the process when a variable that it has eliminated is assumed.
_UNUSABLE = ("cryptosat", "kissat404", "lingeling")

SOLVERS: tuple[str, ...] = tuple(
    sorted(name for name in vars(SolverNames) if not name.startswith("_") and name not in _UNUSABLE)
)
"""The solvers of PySAT that can be used."""


def solver_named(name: object) -> str | None:
    """Return PySAT's own name of a usable solver given by that name or one of its short ones, else None.

    >>> solver_named("g3"), solver_named("kissat")
    ('glucose3', None)
    """
    known = (solver for solver in SOLVERS if name == solver or name in getattr(SolverNames, solver))
    return next(known, None)


class IncrementalSolver:
    """A solver with a fixed formula, asked again and again under different assumptions.

    Examples
    --------
    >>> formula = Formula()
    >>> formula.add(formula.variable(), formula.variable())
    >>> solver = IncrementalSolver("minisat22", formula)
    >>> solver.solve([-1, -2]), sorted(solver.core())
    (False, [-2, -1])
    >>> solver.solve([-1]), solver.model()
    (True, [-1, 2])
    """

    def __init__(self, name: str, formula: Formula) -> None:
        # Not without any variable: MapleSAT crashes when it is asked about nothing.
        clauses = formula.clauses or [[formula.n_variables + 1]]
        # PySAT looks solvers up by alias, and the attribute's own name is not always one.
        self._owned: list[Any] = []
        self._solver = without_destructor(Solver(name=getattr(SolverNames, name)[0], bootstrap_with=clauses))
        self._owned.append(self._solver)
        self._expects_interrupt = False

    def __del__(self) -> None:
        free(self._owned)

    @contextmanager
    def until(self, deadline: float | None) -> Iterator[None]:
        """Let every `solve` inside stop at the deadline, a time of ``time.monotonic()``."""
        if deadline is None:
            yield
            return
        seconds = min(deadline - time.monotonic(), threading.TIMEOUT_MAX)
        timer = threading.Timer(seconds, self._solver.interrupt)
        timer.daemon = True
        self._expects_interrupt = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()  # it may be about to interrupt; only then is there nothing left to clear later
            self._solver.clear_interrupt()
            self._expects_interrupt = False

    def solve(self, assumptions: Sequence[int]) -> bool | None:
        """Return whether the formula has a model under the assumptions; None if the deadline came first."""
        try:
            status: bool | None = (
                self._solver.solve_limited(assumptions=assumptions, expect_interrupt=True)
                if self._expects_interrupt
                else self._solver.solve(assumptions=assumptions)
            )
        except pysolvers.error as error:
            # When Ctrl-C is pressed PySAT jumps out of the solver and reports that as an error of its own.
            if "keyboard interrupt" in str(error):
                raise KeyboardInterrupt from error
            raise
        return status

    def model(self) -> list[int]:
        """Return the model that `solve` found: literal ``v`` or ``-v`` at index ``v - 1``."""
        model: list[int] = self._solver.get_model()
        return model

    def core(self) -> list[int]:
        """Return assumptions of the last `solve` that cannot hold together."""
        return self._solver.get_core() or []


def can_be_interrupted(name: str) -> bool:
    """Return whether the solver stops at a deadline.

    >>> can_be_interrupted("glucose3"), can_be_interrupted("cadical153")
    (True, False)
    """
    with Solver(name=getattr(SolverNames, name)[0]) as solver:
        try:
            solver.interrupt()
            solver.clear_interrupt()
        except NotImplementedError:
            return False
    return True
