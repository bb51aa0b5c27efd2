"""z3 as an oracle: the SMT encoding of Izza and Marques-Silva (IJCAI 2021, section 4), and its SMT-LIB text.

The text is the encoding: z3 reads the same rules that `to_smtlib` writes. The cell of feature f is ``xf``. A
claim names one class, and is violated when another class beats it (`Stays`) or when it beats all others
(`Never`). For each other class k, ``mt_k`` is the margin in tree t of the one that has to win over the one
that has to lose:

    path to a node  =>  mt_k <= the largest difference of their scores at a leaf below the node
    sum of mt_k over t  >=  theta(winner, loser) - band

At a leaf, the first line is the paper's rule for a path. Only large sums violate a claim, so no rule needs to
bound margins from below. The rules of inner nodes follow from those of their leaves; they, and margins in
place of one sum per class, made queries 2 to 20 times faster.
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

from treeproof.cells import CellForest, theta
from treeproof.errors import InternalError, MissingExtraError
from treeproof.forest import LEAF
from treeproof.query import (
    Answer,
    Cells,
    Claim,
    Domain,
    Entailed,
    Query,
    Refuted,
    Stays,
    Unknown,
    expired,
    restricted,
    violates,
)

Box = Mapping[int, Domain]
"""Domains of the features that are restricted; all other features are free."""

_NO_TIMEOUT = 2**32 - 1


class SmtOracle:
    """Answers with z3, exactly, for both votes; safe to share between threads, which take turns.

    What z3 learns about a claim is kept for later queries with the same claim.

    Parameters
    ----------
    forest
        The forest to answer queries about.

    Examples
    --------
    >>> from treeproof.examples import heart_disease
    >>> from treeproof.query import fix
    >>> from treeproof.space import Space
    >>> forest, patient = heart_disease()
    >>> cells = Space.of(forest).discretise()
    >>> oracle = SmtOracle(cells)
    >>> oracle.decide(Query(fix(cells, (1, 0, 1, 0), [0, 2]), Stays(1)))
    Entailed(core=frozenset({0, 2}), near_tie=False)
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
            solver = self._claims[query.claim] = _ClaimSolver(
                self._z3, self._context, self.forest, query.claim
            )
        return solver.decide(query)


class _ClaimSolver:
    """A z3 solver that holds the violation of one claim, and answers queries with that claim.

    Only facts about the forest and this claim are asserted, so they may all stay: the rules, regions in which
    the model does not violate the claim, and ``literal => restriction``. A query assumes its literals, and
    one more for the regions, which tells whether its proof needed them.
    """

    def __init__(self, z3: Any, context: Any, forest: CellForest, claim: Claim) -> None:
        self._z3 = z3
        self._forest = forest
        self._claim = claim
        self._cells = [z3.Int(f"x{f}", context) for f in range(forest.n_features)]
        self._literals: dict[tuple[int, str, int], Any] = {}
        self._near_ties = z3.Bool("near-ties", context)
        self._context = context
        self._solver = z3.Solver(ctx=context)
        self._solver.from_string("\n".join([*_declarations(forest), *_rules(forest, claim)]))

    def decide(self, query: Query) -> Answer:
        assumed = {
            literal.decl().name(): (literal, feature)
            for feature in sorted(restricted(self._forest, query.domains))
            for literal in self._restrict(feature, query.domains[feature])
        }
        literals = [self._near_ties, *(literal for literal, _ in assumed.values())]
        while True:
            if expired(query.deadline):
                return Unknown("deadline")
            self._solver.set("timeout", _milliseconds(query.deadline))
            result = self._solver.check(*literals)
            if result == self._z3.unsat:
                core = {literal.decl().name() for literal in self._solver.unsat_core()}
                near_tie = self._near_ties.decl().name() in core
                return Entailed(frozenset(assumed[name][1] for name in core & assumed.keys()), near_tie)
            if result == self._z3.unknown:
                return self._undecided(query.deadline)
            point = self._point()
            if any(cell not in domain for cell, domain in zip(point, query.domains, strict=True)):
                raise InternalError(f"z3 gave the point {point}, which is outside the domains of the query.")
            label = self._forest.label(point)
            surely = _surely_violates(self._forest, query.claim, point)
            if violates(query.claim, label):
                return Refuted(point, label, near_tie=not surely)
            if surely:
                raise InternalError(f"The scores at {point} violate {query.claim}, but its label is {label}.")
            # A near-tie in which the model's own arithmetic keeps the claim. It does so wherever the same
            # leaves are reached, whatever the domains: later queries with this claim may use that.
            self._exclude(_region(self._forest, point))

    def _exclude(self, region: Box) -> None:
        declared = {f"x{feature}": self._cells[feature] for feature in region}
        text = f"(assert (not {_and(_box_terms(self._forest, region))}))"
        (outside,) = self._z3.parse_smt2_string(text, decls=declared, ctx=self._context)
        self._solver.add(self._z3.Implies(self._near_ties, outside))

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
            # z3 took the process's SIGINT to stop itself. Hand it on: by default the main thread gets a
            # KeyboardInterrupt, which is here unless this thread is another.
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
    >>> from treeproof.examples import heart_disease
    >>> from treeproof.query import fix
    >>> from treeproof.space import Space
    >>> forest, patient = heart_disease()
    >>> cells = Space.of(forest).discretise()
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
            f"; Sums less than {forest.band} from a tie are decided by the model's own float arithmetic,",
            "; which is not written here. unsat proves the claim. The cells of a model refute it if the",
            "; forest, evaluated there, does violate it; otherwise they are such a near-tie.",
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
    lines += _rules(forest, query.claim)
    taken: set[str] = set()
    for feature in sorted(restricted(forest, query.domains)):
        domain = query.domains[feature]
        lines.append(f"; {_one_line(names[feature])}: {_one_line(describe(feature, domain))}")
        inside = _and(_domain_terms(forest, feature, domain))
        lines.append(f"(assert (! {inside} :named {_symbol(f'fix-{names[feature]}', feature, taken)}))")
    return "\n".join([*lines, "(check-sat)", ""])


def _declarations(forest: CellForest) -> Iterator[str]:
    for feature, n_cells in enumerate(forest.n_cells):
        yield f"(declare-const x{feature} Int) (assert (<= 0 x{feature} {n_cells - 1}))"


def _rules(forest: CellForest, claim: Claim) -> Iterator[str]:
    """Return the path rules and the vote inequality that together say: some point violates the claim."""
    others, duels = _others(forest, claim), _duels(forest, claim)
    best = _best_margins(forest, duels)
    for tree, root in enumerate(forest.source.roots.tolist()):
        yield f"; tree {tree}"
        for i, k in enumerate(others):
            yield f"(declare-const m{tree}_{k} Int) (assert (<= m{tree}_{k} {_number(best[root, i])}))"
        for node, parent, box in _paths(forest, root):
            bounds = [
                f"(<= m{tree}_{k} {_number(best[node, i])})"
                for i, k in enumerate(others)
                if best[node, i] < best[parent, i]
            ]
            if bounds:
                yield f"(assert (=> {_and(_box_terms(forest, box))} {_and(bounds)}))"
    yield "; the vote"
    wins = []
    for k, (winner, loser) in zip(others, duels, strict=True):
        margins = [f"m{tree}_{k}" for tree in range(forest.n_trees)]
        total = margins[0] if len(margins) == 1 else f"(+ {' '.join(margins)})"
        wins.append(f"(>= {total} {_number(theta(winner, loser) - forest.band)})")
    yield f"(assert {_or(wins) if isinstance(claim, Stays) else _and(wins)})"


def _others(forest: CellForest, claim: Claim) -> list[int]:
    return [k for k in range(forest.n_classes) if k != claim.label]


def _duels(forest: CellForest, claim: Claim) -> list[tuple[int, int]]:
    """Return (winner, loser) for each other class: one duel won violates `Stays`, all of them `Never`."""
    stays = isinstance(claim, Stays)
    return [(k, claim.label) if stays else (claim.label, k) for k in _others(forest, claim)]


def _surely_violates(forest: CellForest, claim: Claim, point: Cells) -> bool:
    """Return whether the sums of scores violate the claim by more than the rounding band."""
    total = forest.scores[forest.leaves(point)].sum(axis=0)
    won = [
        total[winner] - total[loser] >= theta(winner, loser) + forest.band
        for winner, loser in _duels(forest, claim)
    ]
    return any(won) if isinstance(claim, Stays) else all(won)


def _best_margins(forest: CellForest, duels: Sequence[tuple[int, int]]) -> Any:
    """Return, per node and duel, the largest margin of the winner over the loser at a leaf below the node."""
    winners, losers = [winner for winner, _ in duels], [loser for _, loser in duels]
    best = forest.scores[:, winners] - forest.scores[:, losers]
    left, right = forest.source.left, forest.source.right
    for node in range(len(best) - 1, -1, -1):  # children lie behind their parents
        if forest.feature[node] != LEAF:
            best[node] = np.maximum(best[left[node]], best[right[node]])
    return best


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
    return domain & forest.left_sets[cut] if goes_left else domain - forest.left_sets[cut]


def _region(forest: CellForest, point: Cells) -> Box:
    """Return the box of all points that reach the same leaf as `point` in every tree."""
    box: dict[int, Domain] = {}
    for node in forest.source.roots.tolist():
        while forest.feature[node] != LEAF:
            feature = int(forest.feature[node])
            goes_left = forest.goes_left(node, point[feature])
            box[feature] = _side(forest, node, box.get(feature, forest.full[feature]), goes_left)
            node = int((forest.source.left if goes_left else forest.source.right)[node])
    return box


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
