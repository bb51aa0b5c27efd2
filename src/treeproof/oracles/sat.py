"""The SAT oracle: the violated claim as a propositional formula, the domains as assumptions, PySAT to decide.

It is independent of the native oracle, which makes it a reference, and it has the encoding of the paper that
treeproof started from (``preset="paper"``) beside a faster one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

from pysat.formula import CNF
from pysat.solvers import Solver

from treeproof.errors import InputError, InternalError, UnsupportedQueryError
from treeproof.oracles.building import building_until
from treeproof.oracles.encodings.cardinality import CARDINALITIES, Cardinality
from treeproof.oracles.encodings.compact import CompactEncoder
from treeproof.oracles.encodings.encoding import Encoder, Encoding, with_clauses
from treeproof.oracles.encodings.paper import VOTES, PaperEncoder, Votes
from treeproof.oracles.encodings.solving import SOLVERS, IncrementalSolver, can_be_interrupted, solver_named
from treeproof.query.cells import CellForest
from treeproof.query.oracle import (
    Answer,
    Claim,
    Entailed,
    Query,
    Refuted,
    Unknown,
    expired,
    restricted,
    violates,
)
from treeproof.space.domains import Domain

Preset = Literal["compact", "paper"]


class SatOracle:
    """Answers queries about a majority vote with a SAT solver.

    One solver is kept for each claim, with what it has learnt; a query enters as assumptions only.

    Parameters
    ----------
    forest
        The forest over cells; its vote must be ``"majority"``.
    preset
        ``"compact"``, treeproof's own encoding, or ``"paper"``, that of Izza and Marques-Silva (IJCAI 2021).
    votes
        How the paper's encoding compares the votes of more than two classes: ``"selected"`` (default), which
        the compact encoding does too in its own way, or ``"pairwise"``.
    cardinality
        How the paper's cardinality constraints become clauses, by PySAT's name; ``"cardnetwrk"`` by default,
        as in the paper. The compact encoding always has a ``"totalizer"``, its own.
    solver
        PySAT's name of a solver; ``"minisat22"`` by default, for the paper's encoding ``"glucose3"``. Glucose
        looks at a deadline only when it restarts, which can be a few seconds late on hard queries.

    Examples
    --------
    >>> from treeproof.model.examples import heart_disease
    >>> from treeproof.query.cells import discretise
    >>> from treeproof.query.oracle import Stays, fix
    >>> from treeproof.space.declare import declare
    >>> forest, patient = heart_disease()
    >>> space = declare(forest)
    >>> cells, point = discretise(space), space.cells(patient)
    >>> SatOracle(cells).decide(Query(fix(cells, point, [0, 1, 2]), Stays(1)))
    Entailed(core=frozenset({0, 1, 2}), near_tie=False, clauses=frozenset())
    """

    name = "sat"

    def __init__(
        self,
        forest: CellForest,
        *,
        preset: Preset = "compact",
        votes: Votes | None = None,
        cardinality: Cardinality | None = None,
        solver: str | None = None,
    ) -> None:
        _require("preset", preset, ("compact", "paper"))
        paper = preset == "paper"
        _require("votes", votes, (None, *VOTES) if paper else (None, "selected"))
        _require("cardinality", cardinality, (None, *CARDINALITIES) if paper else (None, "totalizer"))
        chosen = solver_named(("glucose3" if paper else "minisat22") if solver is None else solver)
        if chosen is None:
            raise _refused("solver", solver, SOLVERS)
        if forest.source.vote != "majority":
            raise UnsupportedQueryError(
                f"The 'sat' oracle takes majority vote only. Got a forest with {forest.source.vote} vote. "
                "Use the oracle 'native' or 'smt', or Explainer(..., vote='majority') to explain the "
                "majority vote instead."
            )
        self.forest = forest
        self._solver = chosen
        self._stops = can_be_interrupted(chosen)
        self._encoder: Encoder = (
            PaperEncoder(forest, votes=votes or "selected", cardinality=cardinality or "cardnetwrk")
            if paper
            else CompactEncoder(forest)
        )
        self._sessions: dict[Claim, _Session] = {}
        self._order = list(reversed(range(forest.n_features)))
        self._before: frozenset[int] = frozenset()
        self._lock = threading.Lock()

    def decide(self, query: Query) -> Answer:
        """Answer the query; `Unknown` only at the deadline."""
        timeout = -1.0
        if query.deadline is not None:
            if not self._stops:
                raise UnsupportedQueryError(
                    f"The solver {self._solver!r} cannot be stopped at a deadline. Ask without one, or use a "
                    "solver that can be, such as 'minisat22' or 'glucose3'."
                )
            timeout = min(max(0.0, query.deadline - time.monotonic()), threading.TIMEOUT_MAX)
        if not self._lock.acquire(timeout=timeout):
            return Unknown("deadline")
        try:
            return self._decide(query)
        except BaseException:
            # Whatever escaped, Ctrl-C included, may have left the solver in the middle of things.
            self._sessions.pop(query.claim, None)
            raise
        finally:
            self._lock.release()

    def encoding(self, claim: Claim) -> Encoding:
        """Return the encoding of the claim's violation, the same one as for queries."""
        return with_clauses(self._encoder.encode(claim), self.forest.clauses)

    def size(self, claim: Claim) -> tuple[int, int]:
        """Return the numbers of variables and clauses of the claim's formula, no instance included."""
        formula = self.encoding(claim).formula
        return formula.n_variables, len(formula.clauses)

    def _decide(self, query: Query) -> Answer:
        if expired(query.deadline):
            return Unknown("deadline")
        if query.claim not in self._sessions:
            try:
                with building_until(query.deadline):
                    self._sessions[query.claim] = _Session(self.encoding(query.claim), self._solver)
            except TimeoutError:
                return Unknown("deadline")
        session = self._sessions[query.claim]
        owner = {
            literal: feature
            for feature in self._in_order(restricted(self.forest, query.domains))
            for literal in session.features[feature].within(query.domains[feature])
        }
        result = session.run([*session.clauses, *owner], query.deadline)
        if result is None:
            return Unknown("deadline")
        if isinstance(result, frozenset):
            core = frozenset(owner[literal] for literal in result if literal in owner)
            return Entailed(core, clauses=frozenset(session.clauses.index(c) for c in result - owner.keys()))
        witness = tuple(variables.cell(result) for variables in session.features)
        label = self.forest.label(witness)
        inside = all(cell in domain for cell, domain in zip(witness, query.domains, strict=True))
        if not inside or not self.forest.allows(witness) or not violates(query.claim, label):
            raise InternalError("sat: a model of the formula did not refute the query; please report this.")
        return Refuted(witness, label)

    def _in_order(self, features: frozenset[int]) -> list[int]:
        """Return the features in the order in which to assume them: those that were freed last come first.

        A solver assumes one literal after the other and stops at the first conflict: features at the end are
        rarely in a core. Deletion frees one feature after the other and fixes those again that it cannot do
        without; these belong in front. The others are best assumed in the reverse of the order in which it
        will try them, that of the instance before, for then the core tends to miss just those that it tries
        next.
        """
        freed = [feature for feature in self._order if feature in self._before - features]
        if freed:
            self._order = freed + [feature for feature in self._order if feature not in freed]
        self._before = features
        return [feature for feature in self._order if feature in features]


class _Session:
    """The solver of one claim, and what it has proved about each case."""

    def __init__(self, encoding: Encoding, solver: str) -> None:
        # The formula itself is not kept: the solver has a copy, and many classes make many formulas.
        self.features = encoding.features
        self.clauses = encoding.clauses
        self._solver = IncrementalSolver(solver, encoding.formula)
        self._cases = list(encoding.cases)
        self._excluded: dict[int, frozenset[int]] = {}

    def run(self, assumptions: list[int], deadline: float | None) -> list[int] | frozenset[int] | None:
        """Return a model under the assumptions, or assumptions that exclude one, or None at the deadline.

        Cases are tried one after the other, first the one that had the last model, as the same rival often
        wins again. The assumptions that excluded a case are kept; while all of them are made, it need not be
        tried.
        """
        with self._solver.until(deadline):
            if not self._cases:
                return self._solve(assumptions)
            held = frozenset(assumptions)
            core: frozenset[int] = frozenset()
            for case in self._cases:
                if case not in self._excluded or not self._excluded[case] <= held:
                    result = self._solve([case, *assumptions])
                    if not isinstance(result, frozenset):
                        if result is not None:
                            self._cases.remove(case)
                            self._cases.insert(0, case)
                        return result
                    self._excluded[case] = result - {case}
                core |= self._excluded[case]
            return core

    def _solve(self, assumptions: Sequence[int]) -> list[int] | frozenset[int] | None:
        satisfiable = self._solver.solve(assumptions)
        if satisfiable is None:
            return None
        return self._solver.model() if satisfiable else frozenset(self._solver.core())


def to_dimacs(
    oracle: SatOracle,
    query: Query,
    names: Sequence[str] | None = None,
    describe: Callable[[int, Domain], str] | None = None,
) -> str:
    """Return a CNF in DIMACS format that is satisfiable iff the query is refuted.

    Parameters
    ----------
    oracle
        Gives the forest and the encoding.
    query
        The claim whose violation is encoded; the domains become unit clauses, at the end.
    names
        Names of the features, for the comment lines that say what variables mean.
    describe
        Returns a condition for a feature and a part of its domain, such as ``weight <= 75``; by default cells
        are numbered.

    Examples
    --------
    >>> from treeproof.model.examples import heart_disease
    >>> from treeproof.query.cells import discretise
    >>> from treeproof.query.oracle import Stays
    >>> from treeproof.space.declare import declare
    >>> space = declare(heart_disease()[0])
    >>> cells = discretise(space)
    >>> text = to_dimacs(SatOracle(cells), Query(cells.full, Stays(1)), space.names)
    >>> for line in text.splitlines()[3:9]:
    ...     print(line)
    c 4 weight in cells 0
    c 5 only if tree 1 votes No
    c 6 only if tree 2 votes No
    c 7 only if tree 3 votes No
    c the other 4 variables are auxiliary
    p cnf 11 13
    """
    encoding = oracle.encoding(query.claim)
    assumptions = list(encoding.clauses) + [
        literal
        for feature in sorted(restricted(oracle.forest, query.domains))
        for literal in encoding.features[feature].within(query.domains[feature])
    ]

    def numbered(feature: int, domain: Domain) -> str:
        name = f"feature {feature}" if names is None else names[feature]
        return f"{name} in cells {', '.join(map(str, sorted(domain)))}"

    return encoding.dimacs(assumptions, describe or numbered)


def to_drat(dimacs: str, solver: str = "glucose4") -> str:
    r"""Return a DRAT proof that a formula is unsatisfiable, by a solver that logs one; InputError if it is satisfiable.

    Parameters
    ----------
    dimacs
        The formula, as `to_dimacs` writes it.
    solver
        PySAT solver that logs proofs: ``"glucose3"``, ``"glucose4"``, ``"cadical153"``, ...

    Examples
    --------
    >>> to_drat("p cnf 1 2\n1 0\n-1 0\n").split()[-1]
    '0'
    """
    formula = CNF(from_string=dimacs)
    with Solver(name=solver, bootstrap_with=formula.clauses, with_proof=True) as prover:
        if prover.solve():
            raise InputError(
                "Only an unsatisfiable formula has a proof. This one is satisfiable: the label can change."
            )
        lines = prover.get_proof()
    # Solvers leave out what they see at once: the empty clause ends every proof.
    return "\n".join([*lines, *([] if lines and lines[-1].strip() == "0" else ["0"])]) + "\n"


def _require(name: str, value: Any, allowed: Sequence[str | None]) -> None:
    if value not in allowed:
        raise _refused(name, value, [choice for choice in allowed if choice is not None])


def _refused(name: str, value: Any, allowed: Sequence[str]) -> InputError:
    return InputError(f"The {name!r} parameter must be one of {tuple(allowed)}. Got {value!r} instead.")
