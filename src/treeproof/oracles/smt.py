"""z3 as an oracle: the SMT encoding of Izza and Marques-Silva (IJCAI 2021, section 4), and its SMT-LIB text.

The text is the encoding: z3 reads the same assertions that `to_smtlib` writes. The cell of feature f is ``xf``. A
claim names one class, and is violated when another class beats it (`Stays`) or when it beats all others
(`Never`). For each other class k, ``mt_k`` is the margin in tree t of the one that has to win over the one
that has to lose:

    path to a node  =>  mt_k <= the largest difference of their scores at a leaf below the node
    sum of mt_k over t  >=  theta(winner, loser)

At a leaf, the first line is the paper's implication for a path. Only large sums violate a claim, so margins need no
bound from below. The implications of inner nodes follow from those of their leaves; they, and margins in place of one
sum per class, made queries 2 to 20 times faster.

With a rounding band, a sum may be smaller by the band where ``near`` holds. That needs a tree t with ``rt``:
one that reaches a leaf whose values may be rounded when floats are added. A point found there is evaluated
with the model's own arithmetic.
"""

from __future__ import annotations

import math
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from treeproof.errors import InternalError, MissingExtraError
from treeproof.model.columns import LEAF
from treeproof.oracles.building import be_on_time
from treeproof.query.cells import CellForest
from treeproof.query.oracle import (
    Answer,
    Claim,
    Entailed,
    Query,
    Refuted,
    Stays,
    Unknown,
    expired,
    restricted,
    violates,
)
from treeproof.query.scores import exact_leaves
from treeproof.space.domains import Cells, Clause, Domain

Box = Mapping[int, Domain]
"""Domains of the features that are restricted; all other features are free."""

_NO_TIMEOUT = 2**32 - 1


class SmtOracle:
    """Answers with z3, exactly, for every vote; safe to share between threads, which take turns.

    What z3 learns about a claim is kept for later queries with the same claim.

    Parameters
    ----------
    forest
        The forest to answer queries about.

    Examples
    --------
    >>> from treeproof.model.examples import heart_disease
    >>> from treeproof.query.cells import discretise
    >>> from treeproof.query.oracle import fix
    >>> from treeproof.space.declare import declare
    >>> forest, patient = heart_disease()
    >>> cells = discretise(declare(forest))
    >>> oracle = SmtOracle(cells)
    >>> oracle.decide(Query(fix(cells, (1, 0, 1, 0), [0, 2]), Stays(1)))
    Entailed(core=frozenset({0, 2}), near_tie=False, clauses=frozenset())
    >>> oracle.decide(Query(fix(cells, (1, 0, 1, 0), [1, 2]), Stays(1))).label
    0
    """

    name = "smt"

    def __init__(self, forest: CellForest) -> None:
        self.forest = forest
        self._z3 = _import_z3()
        self._context = self._z3.Context()  # z3's default context is shared by everything in the process
        self._claims: dict[Claim, _ClaimSolver] = {}
        self._lock = threading.Lock()

    def decide(self, query: Query) -> Answer:
        """Answer the query; the core is that of z3's proof, and need not be minimal."""
        if not self._lock.acquire(timeout=min(_remaining(query.deadline), threading.TIMEOUT_MAX)):
            return Unknown("deadline")
        try:
            return self._decide(query)
        finally:
            self._lock.release()

    def _decide(self, query: Query) -> Answer:
        # A method of its own, so that every z3 object made here is freed under the lock, as z3 demands.
        if expired(query.deadline):
            return Unknown("deadline")
        solver = self._claims.get(query.claim)
        if solver is None:
            solver = self._claims[query.claim] = _ClaimSolver(self._z3, self._context, self.forest, query.claim)
        return solver.decide(query)


class _ClaimSolver:
    """A z3 solver that holds the violation of one claim, and answers queries with that claim.

    Only facts about the forest and this claim are asserted, so they may all stay: its encoding, near-ties in
    which the model does not violate the claim, and ``literal => restriction``. A query assumes its literals,
    and one more for the near-ties, which tells whether its proof needed them.
    """

    def __init__(self, z3: Any, context: Any, forest: CellForest, claim: Claim) -> None:
        self._z3 = z3
        self._forest = forest
        self._claim = claim
        self._cells = [z3.Int(f"x{f}", context) for f in range(forest.n_features)]
        self._literals: dict[tuple[int, str, int], Any] = {}
        self._judged = z3.Bool("judged", context)
        self._alike: dict[tuple[int, bytes], Any] = {}
        self._exact = exact_leaves(forest.source)
        self._context = context
        self._solver = z3.Solver(ctx=context)
        self._solver.from_string("\n".join([*_declarations(forest), *_encoding(forest, claim)]))
        self._clauses = [z3.Bool(f"constraint {c}", context) for c in range(len(forest.clauses))]
        declared = {f"x{f}": cell for f, cell in enumerate(self._cells)}
        for literal, clause in zip(self._clauses, forest.clauses, strict=True):
            text = f"(assert (=> constraint {_clause_term(forest, clause)}))"
            self._solver.add(z3.parse_smt2_string(text, decls=declared | {"constraint": literal}, ctx=context))

    def decide(self, query: Query) -> Answer:
        assumed = {
            literal.decl().name(): (literal, feature)
            for feature in sorted(restricted(self._forest, query.domains))
            for literal in self._restrict(feature, query.domains[feature])
        }
        literals = [self._judged, *self._clauses, *(literal for literal, _ in assumed.values())]
        while True:
            if expired(query.deadline):
                return Unknown("deadline")
            self._solver.set("timeout", _milliseconds(query.deadline))
            result = self._solver.check(*literals)
            if result == self._z3.unsat:
                core = {literal.decl().name() for literal in self._solver.unsat_core()}
                near_tie = self._judged.decl().name() in core
                clauses = frozenset(c for c, clause in enumerate(self._clauses) if clause.decl().name() in core)
                return Entailed(frozenset(assumed[name][1] for name in core & assumed.keys()), near_tie, clauses)
            if result == self._z3.unknown:
                return self._undecided(query.deadline)
            point = self._point()
            inside = all(cell in domain for cell, domain in zip(point, query.domains, strict=True))
            if not inside or not self._forest.allows(point):
                raise InternalError(f"z3 gave the point {point}, which is outside the domains of the query.")
            label, leaves = self._forest.label(point), self._forest.leaves(point)
            surely = self._surely_violated(leaves)
            if violates(query.claim, label):
                return Refuted(point, label, near_tie=not surely)
            if surely:
                raise InternalError(f"The scores at {point} violate {query.claim}, but its label is {label}.")
            self._keep(leaves)

    def _surely_violated(self, leaves: Sequence[int]) -> bool:
        """Return whether the sums of scores violate the claim by more than the model may round."""
        total = self._forest.scores[leaves].sum(axis=0)
        band = 0 if self._exact[leaves].all() else self._forest.band
        won = [
            total[winner] - total[loser] >= self._forest.theta[winner, loser] + band
            for winner, loser in _duels(self._forest, self._claim)
        ]
        return any(won) if isinstance(self._claim, Stays) else all(won)

    def _keep(self, leaves: Sequence[int]) -> None:
        """Record a near-tie in which the model's own arithmetic keeps the claim.

        It does so at every point that reaches leaves with the same values, whatever the domains of the query.
        """
        roots = self._forest.source.roots
        alike = [self._reaches_like(t, leaf) for t, leaf in enumerate(leaves) if leaf != roots[t]]
        self._solver.add(self._z3.Or(self._z3.Not(self._judged), *map(self._z3.Not, alike)))

    def _reaches_like(self, tree: int, leaf: int) -> Any:
        """Return a literal that holds wherever the tree reaches a leaf with the same values as `leaf`."""
        source = self._forest.source
        key = (tree, source.values[leaf].tobytes())
        if key not in self._alike:
            literal = self._z3.Bool(f"tree {tree} gives {leaf}", self._context)
            declared = {f"x{feature}": cell for feature, cell in enumerate(self._cells)} | {"like": literal}
            paths = [
                f"(assert (=> {_and(_box_terms(self._forest, box))} like))"
                for node, _, box in _paths(self._forest, int(source.roots[tree]))
                if self._forest.feature[node] == LEAF and source.values[node].tobytes() == key[1]
            ]
            text = "\n".join(paths)
            self._solver.add(self._z3.parse_smt2_string(text, decls=declared, ctx=self._context))
            self._alike[key] = literal
        return self._alike[key]

    def _restrict(self, feature: int, domain: Domain) -> Iterator[Any]:
        """Return literals that together restrict the feature.

        One literal for each bound or value, not one for each domain: all that were ever made stay.
        """
        cell, last = self._cells[feature], self._forest.n_cells[feature] - 1
        if self._forest.ordered[feature]:
            if min(domain) > 0:
                yield self._literal(feature, ">=", min(domain), cell >= min(domain))
            if max(domain) < last:
                yield self._literal(feature, "<=", max(domain), cell <= max(domain))
        elif len(domain) == 1:
            (only,) = domain
            yield self._literal(feature, "=", only, cell == only)
        else:
            for value in range(last + 1):
                if value not in domain:
                    yield self._literal(feature, "!=", value, cell != value)

    def _literal(self, feature: int, relation: str, cell: int, restriction: Any) -> Any:
        key = (feature, relation, cell)
        if key not in self._literals:
            literal = self._z3.Bool(f"x{feature}{relation}{cell}", self._context)
            self._solver.add(self._z3.Implies(literal, restriction))
            self._literals[key] = literal
        return self._literals[key]

    def _point(self) -> Cells:
        model = self._solver.model()
        return tuple(model.eval(cell, model_completion=True).as_long() for cell in self._cells)

    def _undecided(self, deadline: float | None) -> Unknown:
        if expired(deadline):
            return Unknown("deadline")
        reason = self._solver.reason_unknown()
        if reason in ("canceled", "interrupted from keyboard", "interrupted"):
            # z3 took the process's SIGINT to stop itself, so it is handed on here: by default the main
            # thread, usually this one, gets a KeyboardInterrupt.
            signal.raise_signal(signal.SIGINT)
            return Unknown("interrupted")
        return Unknown(reason)


def to_smtlib(
    oracle: SmtOracle,
    query: Query,
    names: Sequence[str] | None = None,
    describe: Callable[[int, Domain], str] | None = None,
) -> str:
    r"""Return the query as SMT-LIB 2 text that is satisfiable iff the query is refuted.

    With a rounding band (``forest.band > 0``) unsatisfiable still means entailed, but a model may be a
    near-tie that does not violate the claim; a comment says so. The restrictions are named assertions
    (``fix-<feature>``), for solvers that give unsatisfiable cores.

    Parameters
    ----------
    oracle
        The oracle whose encoding is written.
    query
        The query; its deadline is left out.
    names
        Name of each feature; by default ``feature 0``, ``feature 1`` and so on.
    describe
        Text for a domain of a feature; by default its cells.

    Examples
    --------
    >>> from treeproof.model.examples import heart_disease
    >>> from treeproof.query.cells import discretise
    >>> from treeproof.query.oracle import fix
    >>> from treeproof.space.declare import declare
    >>> forest, patient = heart_disease()
    >>> cells = discretise(declare(forest))
    >>> query = Query(fix(cells, (1, 0, 1, 0), [0, 2]), Stays(1))
    >>> print(*to_smtlib(SmtOracle(cells), query, forest.column_names).splitlines()[-3:], sep="\n")
    ; chest-pain: cells [1]
    (assert (! (>= x2 1) :named fix-chest-pain))
    (check-sat)
    """
    forest = oracle.forest
    if names is None:
        names = [f"feature {f}" for f in range(forest.n_features)]
    if describe is None:
        describe = _list_cells
    lines = [
        f"; {forest.source.vote} vote of {forest.n_trees} trees: does a point violate {query.claim}?",
        "; Classes are numbered in the order in which ties are resolved:",
        *(f";   {k}: {_one_line(str(label))}" for k, label in enumerate(forest.source.classes.tolist())),
    ]
    if forest.band:
        lines += [
            f"; Where 'near' holds, sums less than {forest.band} from a tie are decided by the model's own",
            "; float arithmetic, which is not written here. unsat proves the claim. The cells of a model",
            "; with 'near' refute it if the forest, evaluated there, does violate it.",
        ]
    lines += [
        "; The named assertions restrict features. To learn which ones a proof of unsat needs, start with",
        "; (set-option :produce-unsat-cores true) and end with (get-unsat-core).",
        "(set-logic QF_LIA)",
    ]
    for feature, declaration in enumerate(_declarations(forest)):
        lines.append(f"; x{feature} is the cell of {_one_line(names[feature])}")
        for cell in range(forest.n_cells[feature]):
            lines.append(f";   {cell}: {_one_line(describe(feature, forest.only(feature, (cell,))))}")
        lines.append(declaration)
    lines += _encoding(forest, query.claim)
    if forest.clauses:
        lines.append("; Constraints between features.")
    for number, clause in enumerate(forest.clauses, start=1):
        lines.append(f"(assert (! {_clause_term(forest, clause)} :named constraint-{number}))")
    taken: set[str] = set()
    for feature in sorted(restricted(forest, query.domains)):
        domain = query.domains[feature]
        lines.append(f"; {_one_line(names[feature])}: {_one_line(describe(feature, domain))}")
        inside = _and(_domain_terms(forest, feature, domain))
        lines.append(f"(assert (! {inside} :named {_symbol(f'fix-{names[feature]}', feature, taken)}))")
    return "\n".join([*lines, "(check-sat)", ""])


def _clause_term(forest: CellForest, clause: Clause) -> str:
    return _or([_and(_domain_terms(forest, f, domain)) for f, domain in clause])


def _declarations(forest: CellForest) -> Iterator[str]:
    for feature, n_cells in enumerate(forest.n_cells):
        yield f"(declare-const x{feature} Int) (assert (<= 0 x{feature} {n_cells - 1}))"


def _encoding(forest: CellForest, claim: Claim) -> Iterator[str]:
    """Return the assertions about paths and votes that together say: some point violates the claim."""
    others, duels = _others(forest, claim), _duels(forest, claim)
    best, rounds = _best_margins(forest, duels), _rounding_below(forest)
    for tree, root in enumerate(forest.source.roots.tolist()):
        be_on_time()
        yield f"; tree {tree}"
        for i, k in enumerate(others):
            yield f"(declare-const m{tree}_{k} Int) (assert (<= m{tree}_{k} {_number(best[root, i])}))"
        if rounds[root]:
            yield f"(declare-const r{tree} Bool)"
        for node, parent, box in _paths(forest, root):
            then = [
                f"(<= m{tree}_{k} {_number(best[node, i])})"
                for i, k in enumerate(others)
                if best[node, i] < best[parent, i]
            ]
            if rounds[parent] and not rounds[node]:
                then.append(f"(not r{tree})")
            if then:
                yield f"(assert (=> {_and(_box_terms(forest, box))} {_and(then)}))"
    yield "; the vote"
    if forest.band:
        rounding = [f"r{tree}" for tree, root in enumerate(forest.source.roots.tolist()) if rounds[root]]
        yield f"(declare-const near Bool) (assert (=> near {_or(rounding)}))"
    wins = []
    for k, (winner, loser) in zip(others, duels, strict=True):
        margins = [f"m{tree}_{k}" for tree in range(forest.n_trees)]
        total = margins[0] if len(margins) == 1 else f"(+ {' '.join(margins)})"
        least = int(forest.theta[winner, loser])
        win = f"(>= {total} {_number(least)})"
        if forest.band:
            win = f"(or {win} (and near (>= {total} {_number(least - forest.band)})))"
        wins.append(win)
    yield f"(assert {_or(wins) if isinstance(claim, Stays) else _and(wins)})"


def _others(forest: CellForest, claim: Claim) -> list[int]:
    return [k for k in range(forest.n_classes) if k != claim.label]


def _duels(forest: CellForest, claim: Claim) -> list[tuple[int, int]]:
    """Return (winner, loser) for each other class: one duel won violates `Stays`, all of them `Never`."""
    stays = isinstance(claim, Stays)
    return [(k, claim.label) if stays else (claim.label, k) for k in _others(forest, claim)]


def _best_margins(forest: CellForest, duels: Sequence[tuple[int, int]]) -> npt.NDArray[np.int64]:
    """Return, per node and duel, the largest margin of the winner over the loser at a leaf below the node."""
    winners, losers = [winner for winner, _ in duels], [loser for _, loser in duels]
    best = forest.scores[:, winners] - forest.scores[:, losers]
    left, right = forest.source.left, forest.source.right
    for node in range(len(best) - 1, -1, -1):  # children lie behind their parents
        if forest.feature[node] != LEAF:
            best[node] = np.maximum(best[left[node]], best[right[node]])
    return best


def _rounding_below(forest: CellForest) -> list[bool]:
    """Return per node whether below it there is a leaf whose values float sums may round."""
    rounds = ((forest.feature == LEAF) & ~exact_leaves(forest.source)).tolist()
    left, right = forest.source.left, forest.source.right
    for node in range(len(rounds) - 1, -1, -1):
        if forest.feature[node] != LEAF:
            rounds[node] = rounds[left[node]] or rounds[right[node]]
    return list(rounds)


def _paths(forest: CellForest, root: int) -> Iterator[tuple[int, int, Box]]:
    """Return each node below the root that some point reaches, its parent, and the box of those points."""
    source = forest.source
    to_visit: list[tuple[int, dict[int, Domain]]] = [(root, {})]
    while to_visit:
        node, box = to_visit.pop()
        if forest.feature[node] == LEAF:
            continue
        feature = int(forest.feature[node])
        for child, goes_left in ((int(source.right[node]), False), (int(source.left[node]), True)):
            domain = _side(forest, node, box.get(feature, forest.full[feature]), goes_left)
            if len(domain) > 0:
                child_box = {**box, feature: domain}
                yield child, node, child_box
                to_visit.append((child, child_box))


def _side(forest: CellForest, node: int, domain: Domain, goes_left: bool) -> Domain:
    """Return the cells of a domain that go to one side at the node."""
    cut = int(forest.cut[node])
    if isinstance(domain, range):
        middle = min(max(cut + 1, domain.start), domain.stop)
        return range(domain.start, middle) if goes_left else range(middle, domain.stop)
    left = forest.left_cells(int(forest.feature[node]), cut)
    return domain & left if goes_left else domain - left


def _box_terms(forest: CellForest, box: Box) -> list[str]:
    return [term for feature, domain in box.items() for term in _domain_terms(forest, feature, domain)]


def _domain_terms(forest: CellForest, feature: int, domain: Domain) -> list[str]:
    """Return conditions that together say that the feature's cell is in the domain; none if every cell is."""
    n_cells, cell = forest.n_cells[feature], f"x{feature}"
    if isinstance(domain, range):
        above = [f"(>= {cell} {domain.start})"] if domain.start > 0 else []
        below = [f"(<= {cell} {domain.stop - 1})"] if domain.stop < n_cells else []
        return above + below
    if 2 * len(domain) <= n_cells:
        return [_or([f"(= {cell} {value})" for value in sorted(domain)])]
    return [f"(not (= {cell} {value}))" for value in range(n_cells) if value not in domain]


def _and(terms: Sequence[str]) -> str:
    return _join("and", terms, "true")


def _or(terms: Sequence[str]) -> str:
    return _join("or", terms, "false")


def _join(operator: str, terms: Sequence[str], neutral: str) -> str:
    if not terms:
        return neutral
    return terms[0] if len(terms) == 1 else f"({operator} {' '.join(terms)})"


def _number(value: int) -> str:
    return str(value) if value >= 0 else f"(- {-int(value)})"


def _symbol(name: str, feature: int, taken: set[str]) -> str:
    """Return the name as an SMT-LIB symbol that is not taken yet."""
    # A quoted symbol holds any printable character but the bar and the backslash.
    symbol = "".join(c if c.isprintable() and c not in "|\\" else "_" for c in name)
    while symbol in taken:
        symbol += f"-{feature}"
    taken.add(symbol)
    return symbol if re.fullmatch(r"[A-Za-z0-9~!@$%^&*_+=<>.?/-]+", symbol) else f"|{symbol}|"


def _one_line(text: str) -> str:
    """Return text that stays inside a comment."""
    return "".join(c if c.isprintable() else " " for c in text)


def _list_cells(feature: int, domain: Domain) -> str:
    return f"cells {sorted(domain)}"


def _milliseconds(deadline: float | None) -> int:
    """Return z3's timeout, which ends after the deadline and never before it."""
    remaining = 1000 * _remaining(deadline)
    return _NO_TIMEOUT if remaining >= _NO_TIMEOUT else math.ceil(remaining) + 1


def _remaining(deadline: float | None) -> float:
    """Return the seconds until the deadline."""
    return math.inf if deadline is None else max(0.0, deadline - time.monotonic())


def _import_z3() -> Any:
    try:
        import z3
    except ImportError as error:
        raise MissingExtraError(
            "The 'smt' oracle needs z3, which is not installed. Install it: pip install 'treeproof[smt]'"
        ) from error
    return z3
