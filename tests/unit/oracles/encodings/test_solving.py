from __future__ import annotations

import itertools
import math
import threading
import time

import pytest
from pysat.solvers import pysolvers

from treeproof.oracles.encodings.cnf import Formula
from treeproof.oracles.encodings.solving import SOLVERS, IncrementalSolver, can_be_interrupted, solver_named

STOPPABLE = [name for name in SOLVERS if can_be_interrupted(name)]


def pigeons(n_holes: int) -> Formula:
    """Unsatisfiable, and hard for every solver."""
    formula = Formula()
    sits = [[formula.variable() for _ in range(n_holes)] for _ in range(n_holes + 1)]
    for pigeon in sits:
        formula.add(*pigeon)
    for hole in range(n_holes):
        for one, other in itertools.combinations(sits, 2):
            formula.add(-one[hole], -other[hole])
    return formula


@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_takes_assumptions_and_gives_models_and_cores(name):
    formula = Formula()
    x, y, z = (formula.variable() for _ in range(3))
    formula.add(-x, y)
    formula.add(-y, z)
    solver = IncrementalSolver(name, formula)
    assert solver.solve([x]) is True
    assert solver.model()[:3] == [x, y, z]
    assert solver.solve([x, -z]) is False
    assert set(solver.core()) == {x, -z}
    assert solver.solve([-z]) is True
    assert solver.model()[0] == -x


@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_takes_the_empty_formula(name):
    solver = IncrementalSolver(name, Formula())
    assert solver.solve([]) is True
    assert solver.solve([5, -7]) is True
    assert solver.model()[4] == 5


@pytest.mark.parametrize("name", STOPPABLE)
def test_a_solver_stops_at_the_deadline_and_goes_on_afterwards(name):
    formula = pigeons(12)
    solver = IncrementalSolver(name, formula)
    start = time.monotonic()
    with solver.until(start + 0.05):
        assert solver.solve([]) is None
    assert time.monotonic() - start < 2
    # Pigeon 0 sits in hole 0 and pigeon 1 does, too: decided at once, and no old interrupt stops it.
    with solver.until(math.inf):
        assert solver.solve([1, 13]) is False
    assert set(solver.core()) == {1, 13}


def test_the_default_solvers_can_be_stopped_and_cadical_cannot():
    assert {"minisat22", "glucose3"} <= set(STOPPABLE)
    assert "cadical153" not in STOPPABLE


def test_the_deadline_leaves_no_thread_behind():
    solver = IncrementalSolver("minisat22", pigeons(3))
    before = threading.active_count()
    with solver.until(time.monotonic() + 100):
        assert solver.solve([]) is False
        assert threading.active_count() == before + 1
    assert threading.active_count() == before


def test_solvers_are_known_by_all_their_names_in_pysat():
    assert [solver_named(name) for name in ("g3", "glucose3", "cdl153", "mgh", "minisatgh")] == [
        "glucose3",
        "glucose3",
        "cadical153",
        "minisatgh",
        "minisatgh",
    ]


@pytest.mark.parametrize("name", ["kissat404", "ks", "cryptosat", "lgl", "nonsense", "", 3, None])
def test_solvers_that_cannot_be_used_are_not_known(name):
    assert solver_named(name) is None


@pytest.mark.parametrize(
    ("message", "raised"), [("Caught keyboard interrupt", KeyboardInterrupt), ("?", pysolvers.error)]
)
def test_control_c_comes_out_as_such(monkeypatch, message, raised):
    solver = IncrementalSolver("minisat22", pigeons(2))

    def interrupted(assumptions):
        raise pysolvers.error(message)

    monkeypatch.setattr(solver._solver, "solve", interrupted)
    with pytest.raises(raised):
        solver.solve([])
