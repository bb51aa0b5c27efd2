"""The SAT oracle: the violated claim as a propositional formula, the domains as assumptions, PySAT to decide.

It is independent of the native oracle, which makes it a reference, and it has the encoding of the paper that treeproof
started from (`preset="paper"`) beside a faster one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

from treeproof.cells import CellForest
from treeproof.encodings.cardinality import CARDINALITIES, Cardinality
from treeproof.encodings.compact import CompactEncoder
from treeproof.encodings.encoding import Encoder, Encoding
from treeproof.encodings.paper import VOTES, PaperEncoder, Votes
from treeproof.encodings.solving import SOLVERS, IncrementalSolver, can_be_interrupted, solver_named
from treeproof.errors import InputError, InternalError, UnsupportedQueryError
from treeproof.query import Answer, Claim, Domain, Entailed, Query, Refuted, Unknown, expired, restricted, violates

Preset = Literal["compact", "paper"]


class SatOracle:
    """Answers queries about a majority vote with a SAT solver.

    Parameters
    ----------
    forest
        The forest over cells; its vote must be ``"majority"``.
    preset
        ``"compact"``, treeproof's own encoding, or ``"paper"``, that of Izza and Marques-Silva (IJCAI 2021).
    votes
        How the paper's encoding compares the votes of more than two classes: ``"selected"`` (default) or
        ``"pairwise"``.
    cardinality
        The paper's cardinality constraints, by PySAT's name for them; ``"cardnetwrk"`` by default, as in the paper. The
        compact encoding has a totalizer of its own.
    solver
        PySAT's name of a solver; ``"minisat22"`` by default, for the paper's encoding ``"glucose3"``.

    Examples
    --------
    >>> from treeproof.examples import heart_disease
    >>> from treeproof.query import Stays, fix
    >>> from treeproof.space import Space
    >>> forest, patient = heart_disease()
    >>> space = Space.of(forest)
    >>> cells, oracle = space.discretise(), SatOracle(space.discretise())
    >>> point = space.cells(patient)
    >>> oracle.decide(Query(fix(cells, point, [0, 1, 2]), Stays(1)))
    Entailed(core=frozenset({0, 1, 2}), near_tie=False)
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
        _require("votes", votes, VOTES if paper else ("selected",), optional=True)
        _require("cardinality", cardinality, CARDINALITIES if paper else ("totalizer",), optional=True)
        chosen = solver_named(("glucose3" if paper else "minisat22") if solver is None else solver)
        if chosen is None:
            _require("solver", solver, SOLVERS)
            raise AssertionError("not reached: no usable solver was named")
        if forest.source.vote != "majority":
            raise UnsupportedQueryError(
                f"The 'sat' oracle takes majority vote only. Got a forest with {forest.source.vote} vote. The oracles "
                "'native' and 'smt' take it; Explainer(..., vote='majority') explains the majority vote instead."
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
        if query.deadline is not None and not self._stops:
            raise UnsupportedQueryError(
                f"The solver {self._solver!r} cannot be stopped at a deadline. Ask without one, or choose a solver that "
                "can be stopped, such as 'glucose3' or 'minisat22'."
            )
        timeout = -1.0 if query.deadline is None else max(0.0, query.deadline - time.monotonic())
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

    def size(self, claim: Claim) -> tuple[int, int]:
        """Return the numbers of variables and clauses of the claim's formula, no instance included."""
        formula = self._encoder.encode(claim).formula
        return formula.n_variables, len(formula.clauses)

    def encoding(self, claim: Claim) -> Encoding:
        """Return the encoding of the claim's violation."""
        return self._encoder.encode(claim)

    def _decide(self, query: Query) -> Answer:
        if expired(query.deadline):
            return Unknown("deadline")
        if query.claim not in self._sessions:
            self._sessions[query.claim] = _Session(self._encoder.encode(query.claim), self._solver)
        session = self._sessions[query.claim]
        owner = {
            literal: feature
            for feature in self._assume_first(restricted(self.forest, query.domains))
            for literal in session.encoding.features[feature].within(query.domains[feature])
        }
        result = session.run(list(owner), query.deadline)
        if result is None:
            return Unknown("deadline")
        if isinstance(result, frozenset):
            return Entailed(frozenset(owner[literal] for literal in result))
        witness = session.encoding.cells(result)
        label = self.forest.label(witness)
        inside = all(cell in domain for cell, domain in zip(witness, query.domains, strict=True))
        if not inside or not violates(query.claim, label):
            raise InternalError("sat: a model of the formula did not refute the query; please report this.")
        return Refuted(witness, label)

    def _assume_first(self, features: frozenset[int]) -> list[int]:
        """Return the features in the order in which to assume them: those freed most recently first.

        A solver assumes one literal after the other and stops at the first conflict, so that a core has few of the
        last ones. A search that frees features one by one soon needs the recently freed ones (freed, missed, fixed
        again) and will try those in vain last that it freed long ago; cores without these answer its next questions.
        """
        freed = [feature for feature in self._order if feature in self._before and feature not in features]
        self._order = freed + [feature for feature in self._order if feature not in set(freed)]
        self._before = features
        return [feature for feature in self._order if feature in features]


class _Session:
    """The solver of one claim, and what it proved about each case."""

    def __init__(self, encoding: Encoding, solver: str) -> None:
        self.encoding = encoding
        self._solver = IncrementalSolver(solver, encoding.formula)
        self._cases = list(encoding.cases)
        self._impossible: dict[int, frozenset[int]] = {}

    def run(self, assumptions: list[int], deadline: float | None) -> list[int] | frozenset[int] | None:
        """Return a model under the assumptions, or the assumptions that exclude one, or None at the deadline.

        Cases are tried one after the other, the one that last had a model first: a model often exists for the same
        rival again. What excluded a case is kept, and the solver not asked while it still holds.
        """
        with self._solver.until(deadline):
            if not self._cases:
                status = self._solver.solve(assumptions)
                if status is None:
                    return None
                return self._solver.model() if status else frozenset(self._solver.core())
            held = frozenset(assumptions)
            core: frozenset[int] = frozenset()
            for case in self._cases:
                if case not in self._impossible or not self._impossible[case] <= held:
                    status = self._solver.solve([case, *assumptions])
                    if status is None:
                        return None
                    if status:
                        self._cases.remove(case)
                        self._cases.insert(0, case)
                        return self._solver.model()
                    self._impossible[case] = frozenset(self._solver.core()) - {case}
                core |= self._impossible[case]
            return core


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
        The claim whose violation is encoded; the domains become unit clauses at the end.
    names
        Names of the features, for the comment lines that say what variables mean.
    describe
        Returns a condition for a feature and a part of its domain, such as ``weight <= 75``; by default cells are
        numbered.

    Examples
    --------
    >>> from treeproof.examples import heart_disease
    >>> from treeproof.query import Stays
    >>> from treeproof.space import Space
    >>> space = Space.of(heart_disease()[0])
    >>> cells = space.discretise()
    >>> query = Query(cells.full, Stays(1))
    >>> print(to_dimacs(SatOracle(cells), query, describe=lambda f, d: space.features[f].describe(d)))
    """
    encoding = oracle.encoding(query.claim)
    assumptions = [
        literal
        for feature in sorted(restricted(oracle.forest, query.domains))
        for literal in encoding.features[feature].within(query.domains[feature])
    ]

    def numbered(feature: int, domain: Domain) -> str:
        name = f"feature {feature}" if names is None else names[feature]
        cells = sorted(domain)
        return f"{name} in {'cell' if len(cells) == 1 else 'cells'} {', '.join(map(str, cells))}"

    return encoding.dimacs(assumptions, describe or numbered)


def _require(name: str, value: Any, allowed: Sequence[str], *, optional: bool = False) -> None:
    if not (optional and value is None) and value not in allowed:
        raise InputError(f"The {name!r} parameter must be one of {tuple(allowed)}. Got {value!r} instead.")
