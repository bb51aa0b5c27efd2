"""All minimal explanations, of one kind or both."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal

import numpy as np

from treeproof.errors import InputError, UnsupportedQueryError, require_one_of
from treeproof.proof.certificate import Certificate, certify_complete
from treeproof.query.context import Context, Instance, check_timeout
from treeproof.query.oracle import Claim
from treeproof.questions.abductive import Abductive, make_abductive, widening
from treeproof.questions.contrastive import Contrastive, make_contrastive
from treeproof.questions.result import Line, Result, lines_of, whatever
from treeproof.search.marco import enumerate_minimal
from treeproof.search.minimal import Sufficient

_KEPT = 10  # explanations that a card lists

ExplanationKind = Literal["abductive", "contrastive", "both"]


class Enumeration(Result, Iterator[Abductive | Contrastive]):
    """Yields explanations as they are found; afterwards `complete` says whether these were all.

    `complete` is None while the iteration runs, True when it ended because everything was found, and False when the
    limit or the deadline came first. `n_found` counts those that it has yielded.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> listing = tp.Explainer(forest).enumerate(patient, kind="both", limit=2)
    >>> for found in listing:
    ...     print(found.feature_names)
    ('blocked-arteries', 'chest-pain')
    ('chest-pain',)
    >>> listing.complete, listing.n_found
    (False, 2)
    """

    def __init__(
        self,
        results: Callable[[], Iterator[Abductive | Contrastive]],
        limit: int | None,
        certify: Callable[[float | None], Certificate],
    ) -> None:
        self.complete: bool | None = None
        self._results = results()
        self._certify = certify
        self._limit = limit
        self.n_found = 0
        self._first: list[str] = []

    def __iter__(self) -> Enumeration:
        return self

    def __next__(self) -> Abductive | Contrastive:
        if self.complete is not None:
            raise StopIteration
        try:
            if self._limit is None or self.n_found < self._limit:
                found = next(self._results)
                self.n_found += 1
                if len(self._first) < _KEPT:
                    kind = "abductive" if isinstance(found, Abductive) else "contrastive"
                    none = whatever(found.within) if isinstance(found, Abductive) else ""
                    self._first.append(f"{kind}: {', '.join(found.feature_names) or none}")
                return found
            self.complete = False
        except StopIteration:
            self.complete = True
        except TimeoutError:
            self.complete = False
        raise StopIteration

    def certificate(self, timeout: float | None = None) -> Any:
        """Return a `Certificate` that these are all minimal explanations, of both kinds; once the list is `complete`.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, patient = tp.examples.heart_disease()
        >>> listing = tp.Explainer(forest).enumerate(patient)
        >>> found = list(listing)
        >>> for line in listing.certificate().check().conditions:
        ...     print(line)
        reason: blocked-arteries, chest-pain
        change: blocked-arteries
        change: chest-pain
        in none of them: good-blood-circulation, weight
        """
        if self.complete is not True:
            raise UnsupportedQueryError(
                "A certificate that a list is complete needs all of it: iterate over it to its end, without a limit."
            )
        return self._certify(timeout)

    def plot(self, ax: Any = None) -> Any:
        """Draw which features are in which of the explanations that are still to come; return the axes.

        This runs the iteration to its end, as a loop over it does. To keep the explanations as well, make a list of
        them first, and pass it to `treeproof.show.plots.matrix`.
        """
        from treeproof.show import plots

        before = self.n_found
        found = list(self)
        return plots.matrix(found, ax, complete=self.complete if before == 0 else None)

    @property
    def decided(self) -> bool:
        """Whether the iteration has ended, and not by the deadline: with all explanations, or with the limit."""
        return self.complete is True or (self.complete is False and self.n_found == self._limit)

    @property
    def title(self) -> str:
        """How many explanations were found."""
        n = self.n_found
        return f"{n} explanation{'s' * (n != 1)}{' so far' if self.complete is None else ''}"

    @property
    def lines(self) -> list[Line]:
        """The features of the first explanations, and whether there are others."""
        n = self.n_found
        more = [Line("more", f"... and {n - len(self._first)} more")] if n > len(self._first) else []
        each = "Each is proved. " if n else ""
        if self.complete is None:
            end = Line("note", f"{each}More may come: iterate over it.")
        elif self.complete:
            end = Line("proved", "Proved: there are no others of the kind asked for.")
        elif self.decided:
            end = Line("note", f"{each}There may be more: the limit was reached.")
        else:
            end = Line("open", f"{each}Timed out; there may be more.")
        return [*lines_of("row", self._first), *more, end]

    def to_dict(self) -> dict[str, Any]:
        """Return how far the iteration has come as plain data, ready for JSON."""
        return {"kind": "enumeration", "n_found": self.n_found, "complete": self.complete, "decided": self.decided}


def enumerate_all(
    context: Context,
    instance: Instance,
    kind: ExplanationKind,
    target: Any,
    limit: int | None,
    timeout: float | None,
    ordering: list[int],
) -> Enumeration:
    """Return an iterator over all minimal explanations of a kind; the time runs from the first request."""
    require_one_of("kind", kind, ("abductive", "contrastive", "both"))
    check_limit(limit)
    check_timeout(timeout)
    claim = context.claim(instance, target)

    def results() -> Iterator[Abductive | Contrastive]:
        start = time.perf_counter()
        cache = context.cache(instance, claim, timeout)
        first: Literal["abductive", "contrastive"] = "contrastive" if kind == "contrastive" else "abductive"
        for found in enumerate_minimal(cache, ordering, first):
            stats = context.statistics(cache, start)
            if isinstance(found, Sufficient):
                if kind != "contrastive":
                    widen = widening(context, instance, target, found, ordering)
                    yield make_abductive(context, instance, target, found, stats, widen=widen)
            elif kind != "abductive":
                yield make_contrastive(context, instance, target, found, stats)

    return Enumeration(results, limit, partial(certify_all, context, instance, claim))


def certify_all(context: Context, instance: Instance, claim: Claim, timeout: float | None) -> Certificate:
    """Return a certificate of all minimal explanations, which are searched once more."""
    cache = context.cache(instance, claim, timeout)
    try:
        found = list(enumerate_minimal(cache, context.order("importance", ()), "abductive"))
    except TimeoutError:
        raise UnsupportedQueryError("Timed out before all explanations were found; allow more time.") from None
    reasons = [one.features for one in found if isinstance(one, Sufficient)]
    changes = [one.witness for one in found if not isinstance(one, Sufficient)]
    return certify_complete(context, instance, claim, reasons, changes, deadline=cache.deadline)


def check_limit(limit: Any) -> None:
    """Raise InputError unless `limit` is None or a number of results."""
    if limit is not None and (not isinstance(limit, int | np.integer) or isinstance(limit, bool) or limit < 0):
        raise InputError(f"The 'limit' parameter must be a whole number of at least 0. Got {limit!r} instead.")
