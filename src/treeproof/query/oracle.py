"""The one question everything asks, and its three answers.

*With each feature kept in this part of its domain, can the model still violate the claim?* Every explanation is a
search over answers to this question; every oracle answers it. Some can do more, and inherit from the capabilities
below: label a point, prove, or run a whole search inside. What an oracle does not offer is done by `decide` alone.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from treeproof._core import Cancel, current_cancel
from treeproof.errors import Cancelled
from treeproof.query.tally import Tally
from treeproof.space.domains import Cells, Domain

if TYPE_CHECKING:
    from treeproof.query.cells import CellForest


__all__ = [
    "Answer",
    "Cancel",
    "Claim",
    "Deletes",
    "DeletesMany",
    "Deletion",
    "Deletions",
    "Entailed",
    "Inflates",
    "Inflation",
    "Labels",
    "Never",
    "Oracle",
    "Proof",
    "Proves",
    "Query",
    "Refuted",
    "Stays",
    "Unknown",
    "cancelling",
    "expired",
    "fix",
    "restricted",
    "violates",
]


@dataclass(frozen=True, slots=True)
class Stays:
    """The claim that the label is always this class."""

    label: int


@dataclass(frozen=True, slots=True)
class Never:
    """The claim that the label is never this class."""

    label: int


Claim = Stays | Never


@dataclass(frozen=True, slots=True)
class Query:
    """Does `claim` hold for every point whose cells lie in `domains`?

    `deadline` is a time of ``time.monotonic()``; an oracle answers `Unknown` soon after it. `near` is a point, usually
    the instance: an oracle may use its cells in a witness where they do not matter.
    """

    domains: tuple[Domain, ...]
    claim: Claim
    deadline: float | None = None
    near: Cells | None = None


@dataclass(frozen=True, slots=True)
class Entailed:
    """The claim holds. Restricting the features of `core` alone, as the query does, is enough for that.

    `clauses`: those of the forest's constraints between features that the proof used.

    `near_tie`: no bound keeps sums out of the rounding band, and the proof rests on the model's own float additions
    there, in tree order (a model that predicts with several jobs adds in any order).
    """

    core: frozenset[int]
    near_tie: bool = False
    clauses: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Refuted:
    """The claim fails at `witness`, a point of the query's domains, whose label is `label`.

    `near_tie`: as in `Entailed`.
    """

    witness: Cells
    label: int
    near_tie: bool = False


@dataclass(frozen=True, slots=True)
class Unknown:
    """The question was not decided; `reason` says why."""

    reason: str


Answer = Entailed | Refuted | Unknown


class Oracle(Protocol):
    """Answers queries about one forest. All backends pass the conformance suite in ``tests/oracle``."""

    @property
    def name(self) -> str:
        """Short name of the backend, as used in `Explainer(oracle=...)`."""

    def decide(self, query: Query) -> Answer:
        """Answer the query; `Unknown` only at the deadline."""


# Capabilities are inherited, not recognised by their methods: to ask a runtime-checkable protocol takes Python 3.11 ten
# microseconds, a tenth of a short explanation.


class Labels(ABC):
    """Evaluates the forest at a point."""

    @abstractmethod
    def label(self, point: Sequence[int]) -> int:
        """Return the class index of the model's own ``predict`` at `point`."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The record of a proof, as core/record.hpp describes it."""

    steps: list[int]
    tables: list[list[int]]


class Proves(ABC):
    """Gives what a certificate is made of: evidence, of which nothing is believed before the checker has seen it."""

    name: str

    @abstractmethod
    def decide(self, query: Query) -> Answer:
        """Answer the query, as every oracle does."""

    @property
    @abstractmethod
    def price_shift(self) -> int:
        """Prices in a proof are in units of 2 to the power of this, in scores."""

    @abstractmethod
    def prove(self, query: Query, cancel: Cancel | None = None) -> Proof | None:
        """Return the proof of an entailed query; None if it is refuted, or the deadline came first."""

    @abstractmethod
    def witnesses(
        self, domains: Sequence[Domain], label: int, near: Cells, features: Sequence[int], deadline: float | None
    ) -> list[Cells]:
        """Return, for each feature, a point of the domains with it freed that has another label; empty if none."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """What canonical deletion found: features that entail the claim, `minimal` unless the deadline came first."""

    features: frozenset[int]
    clauses: frozenset[int]
    minimal: bool
    tally: Tally


class Deletes(ABC):
    """Runs canonical deletion as a whole."""

    @abstractmethod
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
        """Return what `treeproof.search.minimal.abductive` finds by single questions about the label at `point`.

        Freed features take the cells of `free`, which have no holes; by default all.
        Another thread may stop it early by `cancel`, as a deadline would.
        """


class Deletions(NamedTuple):
    """What canonical deletion found at many points: tables with a line for each of them.

    `scores` has the sum, in the model's own arithmetic, that decided the label: of a majority vote, the votes. `kept`
    and `clauses` are flags, `counts` and `seconds` what `Statistics` has, in its order.
    """

    labels: npt.NDArray[Any]
    scores: npt.NDArray[Any]
    kept: npt.NDArray[Any]
    clauses: npt.NDArray[Any]
    minimal: npt.NDArray[Any]
    counts: npt.NDArray[Any]
    """How many answers were entailed, refuted, unknown and remembered, how many near ties there were, and the work."""
    seconds: npt.NDArray[Any]
    """Of the whole search, and of the longest answers that were entailed and refuted."""

    def lines(self, lines: npt.NDArray[np.intp]) -> Deletions:
        """Return a copy of these lines."""
        return Deletions(*(table[lines] for table in self))

    def packed(self) -> list[bytes]:
        """Return each line as bytes."""
        n = len(self.labels)
        if n == 0:
            return []
        tables = [np.ascontiguousarray(table).reshape(n, -1).view(np.uint8) for table in self]
        content, width = np.hstack(tables).tobytes(), sum(table.shape[1] for table in tables)
        return [content[i * width : (i + 1) * width] for i in range(n)]

    def joined(self, packed: Sequence[bytes]) -> Deletions:
        """Return these lines, and after them some more that were `packed`."""
        if not packed:
            return self
        content = np.frombuffer(b"".join(packed), dtype=np.uint8).reshape(len(packed), -1)
        tables, begin = [], 0
        for table in self:
            end = begin + table.itemsize * math.prod(table.shape[1:])
            more = np.ascontiguousarray(content[:, begin:end]).view(table.dtype).reshape(len(packed), *table.shape[1:])
            tables.append(np.concatenate([table, more]))
            begin = end
        return Deletions(*tables)


class DeletesMany(Deletes):
    """Runs canonical deletion as a whole, at many points at once."""

    @abstractmethod
    def delete_many(
        self,
        points: npt.NDArray[np.int32],
        order: Sequence[int],
        timeout: float | None,
        cancel: Cancel | None = None,
    ) -> Deletions:
        """Return the label at each point, a line of `points`, and what `delete` finds about it from all features on.

        Each point has `timeout` seconds of its own. Where all features are kept and rounding could matter, the point
        itself is asked about too, as `treeproof.search.minimal.abductive` does.
        """


@dataclass(frozen=True, slots=True)
class Alteration:
    """What the dual of deletion found: features that refute the claim when freed, and a witness.

    Unless it `finished`, the deadline came first, and the features are those in which the witness differs. Without a
    witness, the claim holds if it finished, and nothing is known if not.
    """

    features: frozenset[int]
    witness: Refuted | None
    finished: bool
    tally: Tally


@dataclass(frozen=True, slots=True)
class Thrift:
    """Questions that need no answer, where a set of features need not be minimal.

    A feature is kept in the set if it is `unasked`, or if the question whether it can go takes more than `effort` steps
    (0: however many it takes), unless a witness at hand does without it. A witness may be near the `hint`: that of a
    similar question, for example.
    """

    unasked: frozenset[int] = frozenset()
    effort: int = 0
    hint: Cells = ()


class Alters(ABC):
    """Runs the dual of canonical deletion as a whole."""

    @abstractmethod
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
        """Return what `treeproof.search.minimal.contrastive` finds by single questions about the claim at `point`.

        Without a witness, the first question is whether there is one. Freed features take the cells of `free`, which
        have no holes; by default all. Another thread may stop it by `cancel`, as a deadline would.
        """


@dataclass(frozen=True, slots=True)
class Inflation:
    """What canonical widening found: domains that entail the claim, `widest` unless time or work came to an end.

    `stopped` says that it was the time.
    """

    domains: tuple[Domain, ...]
    clauses: frozenset[int]
    widest: bool
    stopped: bool
    tally: Tally


class Inflates(ABC):
    """Runs canonical widening as a whole."""

    @abstractmethod
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
        """Return what `treeproof.search.inflation.widen` finds by single questions about the label at `point`.

        Another thread may stop it early by `cancel`, as a deadline would. With at most so much work, in the oracle's
        own measure, what is found may be narrower, and is the same whenever it is asked for.
        """


def violates(claim: Claim, label: int) -> bool:
    """Return whether a point with this label refutes the claim.

    >>> violates(Stays(1), 0), violates(Never(1), 0)
    (True, False)
    """
    return label != claim.label if isinstance(claim, Stays) else label == claim.label


def fix(forest: CellForest, point: Sequence[int], features: Iterable[int]) -> tuple[Domain, ...]:
    """Return the domains that keep `features` at their cell in `point` and leave the others free."""
    fixed = set(features)
    return tuple(forest.at(f, point[f]) if f in fixed else whole for f, whole in enumerate(forest.full))


def restricted(forest: CellForest, domains: Sequence[Domain]) -> frozenset[int]:
    """Return the features whose domain is smaller than the whole."""
    return frozenset(f for f, domain in enumerate(domains) if len(domain) < forest.n_cells[f])


@contextmanager
def cancelling(cancel: Cancel) -> Iterator[None]:
    """Let another thread end every question that is asked inside, whatever it is, within some milliseconds.

    When ``cancel.set()`` has been called, the question raises `Cancelled`, as it would raise ``KeyboardInterrupt`` at
    Ctrl-C: there is no result, and the explainer is as good as before. Threads that a question starts (`n_jobs`) end
    with it.

    Examples
    --------
    >>> import threading
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> cancel = tp.Cancel()
    >>> threading.Thread(target=cancel.set).start()
    >>> try:
    ...     with tp.cancelling(cancel):
    ...         while True:
    ...             why = tp.Explainer(forest).abductive(patient)
    ... except tp.Cancelled as stopped:
    ...     print(stopped)
    The question was cancelled.
    """
    before = current_cancel.set(cancel)
    try:
        yield
    finally:
        current_cancel.reset(before)


def _raise_cancelled() -> None:
    cancel = current_cancel.get(None)
    if cancel is not None and cancel.is_set:
        raise Cancelled


def expired(deadline: float | None) -> bool:
    """Return whether the deadline has passed; Cancelled if somebody cancelled the question."""
    _raise_cancelled()
    return deadline is not None and time.monotonic() >= deadline


def seconds_left(deadline: float | None) -> float:
    """Return how long it is to the deadline, as the core wants it: infinite without one.

    It is asked before every search of the core, so it raises Cancelled too.
    """
    _raise_cancelled()
    return math.inf if deadline is None else deadline - time.monotonic()
