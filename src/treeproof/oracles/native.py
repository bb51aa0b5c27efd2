"""The default oracle: exact branch and bound in the C++ core, for every vote."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from treeproof import _core
from treeproof.errors import UnsupportedQueryError
from treeproof.query.cells import CellForest
from treeproof.query.oracle import (
    Alteration,
    Alters,
    Answer,
    Cancel,
    Claim,
    DeletesMany,
    Deletion,
    Deletions,
    Entailed,
    Inflates,
    Inflation,
    Labels,
    Proof,
    Proves,
    Query,
    Refuted,
    Stays,
    Thrift,
    Unknown,
    expired,
    seconds_left,
)
from treeproof.query.scores import exact_leaves
from treeproof.query.sums import SumForest
from treeproof.space.domains import Cells, Domain

_WORD = 64
MOST_NUMBERS = 2**24  # of a proof: as text about what a check with the usual budget reads

_Box = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.uint8], npt.NDArray[np.uint64]]


class CoreForest:
    """A forest in the memory of the C++ core, and the way from domains to its boxes."""

    def __init__(self, forest: CellForest | SumForest, **parts: Any) -> None:
        self._forest = forest
        # Ranges need no words; sets of values hold one bit for each.
        self._all_ordered = all(forest.ordered)
        self._ranges = [ordered or gapped for ordered, gapped in zip(forest.ordered, forest.gapped, strict=True)]
        words = [0 if ranges else -(-n // _WORD) for n, ranges in zip(forest.n_cells, self._ranges, strict=True)]
        self._begin = np.concatenate([[0], np.cumsum(words)]).astype(int).tolist()
        sizes = _feature_of_sets(forest)
        try:
            self._core = _core.make_forest(
                n_cells=np.array(forest.n_cells, dtype=np.int32),
                ordered=np.array(forest.ordered, dtype=np.uint8),
                gapped=np.array(forest.gapped, dtype=np.uint8),
                feature=forest.feature,
                cut=forest.cut,
                left_sets=[  # not all of them need occur
                    _bits(cells, words[sizes[s]]) if s in sizes else [] for s, cells in enumerate(forest.left_sets)
                ],
                clauses=[[self._literal(*literal, words) for literal in clause] for clause in forest.clauses],
                **parts,
            )
        except _core.TooDeepError as error:
            raise UnsupportedQueryError(str(error)) from None

    def _ask(self, query: Query, plain: bool) -> Answer:
        outcome = self._core.decide(
            self._box(query.domains),
            isinstance(query.claim, Stays),
            query.claim.label,
            None if query.near is None else list(query.near),
            seconds_left(query.deadline),
            plain,
        )
        if outcome.entailed:
            return Entailed(frozenset(outcome.core), outcome.near_tie, frozenset(outcome.clauses))
        if outcome.refuted:
            return Refuted(tuple(outcome.witness), outcome.label, outcome.near_tie)
        return Unknown("deadline")

    def _box(self, domains: Sequence[Domain]) -> _Box:
        """Return the ends of ranges, whether missing values are beside them, and sets one after the other."""
        n = self._forest.n_features
        ranges = [domain for domain in domains if isinstance(domain, range)] if self._all_ordered else []
        if len(ranges) == n:  # most spaces have no others, and many columns take long one by one
            low = np.array([domain.start for domain in ranges], dtype=np.int32)
            high = np.array([domain.stop for domain in ranges], dtype=np.int32) - np.int32(1)
            return low, high, np.zeros(n, dtype=np.uint8), np.zeros(0, dtype=np.uint64)
        low, high, missing = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.uint8)
        sets = np.zeros(self._begin[-1], dtype=np.uint64)
        for f, domain in enumerate(domains):
            if self._ranges[f]:
                low[f], high[f], missing[f] = self._range(f, domain)
            else:
                sets[self._begin[f] : self._begin[f + 1]] = _bits(domain, self._begin[f + 1] - self._begin[f])
        return low, high, missing, sets

    def _range(self, feature: int, domain: Domain) -> tuple[int, int, bool]:
        """Return the first and the last cell of a domain of numbers, and whether missing values are in it too."""
        if isinstance(domain, range) and self._forest.ordered[feature]:
            return domain[0], domain[-1], False
        if self._forest.ordered[feature]:
            return min(domain), max(domain), False
        last = self._forest.n_cells[feature] - 1
        missing = last in domain
        n_numbers = len(domain) - missing
        if n_numbers == 0:
            return 1, 0, missing
        low = min(domain)
        high = low + n_numbers - 1
        assert n_numbers == last or all(cell in domain for cell in range(low, high + 1)), "numbers have no holes"
        return low, high, missing

    def _literal(self, feature: int, domain: Domain, words: Sequence[int]) -> tuple[int, int, int, bool, list[int]]:
        if self._ranges[feature]:
            return feature, *self._range(feature, domain), []
        return feature, 0, 0, False, _bits(domain, words[feature])


class PlainOracle(CoreForest):
    """Answers by branch and bound with the naive bound alone; the simple twin that `native` is tested against."""

    name = "plain"
    _plain = True
    _forest: CellForest

    def __init__(self, forest: CellForest, *, tabulate: bool = False) -> None:
        source, sums = forest.source, forest.source.decision
        exact, unit = _exact_leaves(forest)
        super().__init__(
            forest,
            n_classes=forest.n_classes,
            roots=source.roots,
            left=source.left,
            right=source.right,
            scores=np.ascontiguousarray(forest.scores).ravel(),
            theta=np.ascontiguousarray(forest.theta).ravel(),
            values=np.ascontiguousarray(source.values).ravel(),
            exact=exact.view(np.uint8),
            band=forest.band,
            exponent=forest.exponent,
            unit=unit,
            vote=source.vote,
            start=list(sums.start),
            single=sums.dtype == "float32",
            divisor=sums.divisor,
            cuts=None if sums.cuts is None else list(sums.cuts),
            softmax=sums.softmax,
            sigmoid=sums.sigmoid or 0.0,
            members=[(m.first, m.last, list(m.start), m.divisor, m.weight, m.dtype == "float32") for m in sums.members],
            tabulate=tabulate,
        )

    def decide(self, query: Query) -> Answer:
        """Answer the query; the core is the features at whose splits the proof needed the restriction."""
        return self._ask(query, self._plain)


class NativeOracle(PlainOracle, Labels, Proves, DeletesMany, Alters, Inflates):
    """Answers by branch and bound with the Lagrangian bound on residual forests; safe to share between threads.

    In a space of a few thousand points at most, such as one of few binary features, all labels are listed beforehand
    and looked up, unless `tabulate` is false.
    """

    name = "native"
    _plain = False

    def __init__(self, forest: CellForest, *, tabulate: bool = True) -> None:
        super().__init__(forest, tabulate=tabulate)
        self._last_free: tuple[tuple[Domain, ...], _Box] | None = None

    def label(self, point: Sequence[int]) -> int:
        """Return the class index at `point`."""
        return self._core.label(list(point))

    @property
    def price_shift(self) -> int:
        """The binary exponent of a price's unit."""
        return self._core.price_shift

    def prove(self, query: Query, cancel: Cancel | None = None) -> Proof | None:
        """Return the record that the search wrote while it proved the query, unless that is too large."""
        near = query.near or tuple(min(domain) for domain in query.domains)
        try:
            proof = self._core.prove(
                self._box(query.domains),
                isinstance(query.claim, Stays),
                query.claim.label,
                list(near),
                seconds_left(query.deadline),
                cancel,
                MOST_NUMBERS,
            )
        except OverflowError as error:
            raise UnsupportedQueryError(
                f"The proof takes more than {MOST_NUMBERS:,} numbers, too many for a certificate. The result stands "
                "without one; inputs that are restricted (bounds=, constraints=, within=) take shorter proofs."
            ) from error
        return None if proof is None else Proof(proof.steps, proof.tables)

    def witnesses(
        self, domains: Sequence[Domain], label: int, near: Cells, features: Sequence[int], deadline: float | None
    ) -> list[Cells]:
        """Return all witnesses by one call of the core."""
        found = self._core.witnesses(
            self._box(domains), label, list(near), list(features), seconds_left(deadline), None
        )
        return [tuple(point) for point in found]

    def delete(
        self,
        point: Cells,
        label: int,
        order: Sequence[int],
        start: frozenset[int],
        deadline: float | None,
        cancel: Cancel | None = None,
        free: Sequence[Domain] | None = None,
    ) -> Deletion:
        """Return the features that are left, with the whole loop inside the core."""
        n = self._forest.n_features
        chosen = [1] * n if len(start) == n else [int(f in start) for f in range(n)]
        box = None if free is None else self._free_box(free)
        found = self._core.delete_features(list(point), label, list(order), chosen, seconds_left(deadline), cancel, box)
        return Deletion(frozenset(found.features), frozenset(found.clauses), found.minimal, found.tally)

    def delete_many(
        self,
        points: npt.NDArray[np.int32],
        order: Sequence[int],
        timeout: float | None,
        cancel: Cancel | None = None,
    ) -> Deletions:
        """Return what is found at all points, by one call of the core."""
        expired(None)  # somebody may have cancelled the question
        seconds = math.inf if timeout is None else timeout
        found = self._core.delete_features_of_many(np.ascontiguousarray(points), list(order), seconds, cancel)
        labels, scores, kept, clauses, minimal, counts, times = found
        return Deletions(labels[:, 0], scores[:, 0], kept, clauses, minimal[:, 0], counts, times)

    def _free_box(self, free: Sequence[Domain]) -> _Box:
        """Return the box; the last one is kept, since a search asks about the same one again and again."""
        if not isinstance(free, tuple):  # it may change
            return self._box(free)
        last = self._last_free
        if last is None or last[0] is not free:
            last = self._last_free = free, self._box(free)
        return last[1]

    def alter(
        self,
        point: Cells,
        claim: Claim,
        order: Sequence[int],
        start: frozenset[int],
        witness: Refuted | None,
        deadline: float | None,
        cancel: Cancel | None = None,
        free: Sequence[Domain] | None = None,
        thrift: Thrift | None = None,
    ) -> Alteration:
        """Return the features that are left, with the whole loop inside the core."""
        thrift = thrift or Thrift()
        found = self._core.change_features(
            list(point),
            isinstance(claim, Stays),
            claim.label,
            list(order),
            [int(f in start) for f in range(self._forest.n_features)],
            [] if witness is None else list(witness.witness),
            [int(f in thrift.unasked) for f in range(self._forest.n_features)],
            thrift.effort,
            list(thrift.hint),
            seconds_left(deadline),
            cancel,
            None if free is None else self._free_box(free),
        )
        last = Refuted(tuple(found.witness), found.label) if found.witness else None
        return Alteration(frozenset(found.features), last, found.finished, found.tally)

    def inflate(
        self,
        point: Cells,
        label: int,
        domains: Sequence[Domain],
        order: Sequence[int],
        deadline: float | None,
        cancel: Cancel | None = None,
        most_work: int | None = None,
    ) -> Inflation:
        """Return the widest domains, or what so much work finds, with the whole loop inside the core."""
        box = self._box(domains)
        found = self._core.inflate(box, list(point), label, list(order), seconds_left(deadline), cancel, most_work)
        low, high, missing, sets = found.low, found.high, found.missing, found.sets
        forest = self._forest

        def domain(f: int) -> Domain:
            if forest.ordered[f]:
                return range(low[f], high[f] + 1)
            if forest.gapped[f]:
                return frozenset([*range(low[f], high[f] + 1), *([forest.n_cells[f] - 1] if missing[f] else [])])
            return _cells(sets[self._begin[f] : self._begin[f + 1]])

        wider = tuple(domain(f) for f in range(forest.n_features))
        return Inflation(wider, frozenset(found.clauses), found.widest, found.stopped, found.tally)


def _exact_leaves(forest: CellForest) -> tuple[npt.NDArray[np.bool_], int]:
    """Return the leaves that need no band, and the score of a pure leaf's class if these are the pure leaves only.

    Sums over pure leaves are whole votes, which makes for a better bound. So where most leaves are pure, as in forests
    grown without limit, the few other exact ones count as inexact.
    """
    exact = exact_leaves(forest.source)
    if forest.band == 0 or forest.source.vote != "mean":
        return exact, 0
    values = forest.source.values
    pure = exact & (values.max(axis=1) == 1) & (np.count_nonzero(values, axis=1) == 1)
    if 2 * np.count_nonzero(pure) <= np.count_nonzero(exact):
        return exact, 0
    return pure, int(forest.scores[pure].max())


def _bits(cells: Iterable[int], n_words: int) -> list[int]:
    words = [0] * n_words
    for cell in cells:
        words[cell // _WORD] |= 1 << (cell % _WORD)
    return words


def _cells(words: Sequence[int]) -> frozenset[int]:
    return frozenset(w * _WORD + bit for w, word in enumerate(words) for bit in range(_WORD) if word >> bit & 1)


def _feature_of_sets(forest: CellForest | SumForest) -> dict[int, int]:
    """Return a feature whose splits use each left set; a set shared by features needs the words of the largest."""
    owner: dict[int, int] = {}
    for f in np.flatnonzero(~(np.array(forest.ordered) | np.array(forest.gapped))).tolist():
        for s in np.unique(forest.cut[forest.feature == f]).tolist():
            if s not in owner or forest.n_cells[owner[s]] < forest.n_cells[f]:
                owner[s] = f
    return owner
