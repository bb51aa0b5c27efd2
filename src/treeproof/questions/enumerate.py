"""All minimal explanations, of one kind or both."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np

from treeproof.errors import InputError
from treeproof.query.context import Instance, Setting, check_timeout
from treeproof.questions.abductive import Abductive, make_abductive
from treeproof.questions.contrastive import Contrastive, make_contrastive
from treeproof.questions.result import _card
from treeproof.search.marco import enumerate_minimal
from treeproof.search.minimal import Sufficient

_KEPT = 10  # explanations that a card lists

Kind = Literal["abductive", "contrastive", "both"]


class Enumeration(Iterator[Abductive | Contrastive]):
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

    def __init__(self, results: Callable[[], Iterator[Abductive | Contrastive]], limit: int | None) -> None:
        self.complete: bool | None = None
        self._results = results()
        self._left = math.inf if limit is None else limit
        self.n_found = 0
        self._first: list[str] = []

    def __repr__(self) -> str:
        end = {None: "there may be more", True: "these are all", False: "stopped before the end"}[self.complete]
        return f"<Enumeration: {self.n_found} found so far; {end}>"

    def __iter__(self) -> Enumeration:
        return self

    def __next__(self) -> Abductive | Contrastive:
        if self.complete is not None:
            raise StopIteration
        try:
            if self._left > 0:
                self._left -= 1
                found = next(self._results)
                self.n_found += 1
                if len(self._first) < _KEPT:
                    kind = "abductive" if isinstance(found, Abductive) else "contrastive"
                    self._first.append(f"{kind}: {', '.join(found.feature_names) or 'whatever the input'}")
                return found
            self.complete = False
        except StopIteration:
            self.complete = True
        except TimeoutError:
            self.complete = False
        raise StopIteration

    def plot(self, ax: Any = None) -> Any:
        """Draw which features are in which of the explanations that are still to come; return the axes.

        This runs the iteration to its end, as a loop over it does. To keep the explanations as well, make a list of
        them first, and pass it to `treeproof.show.plots.matrix`.
        """
        from treeproof.show import plots

        before = self.n_found
        found = list(self)
        return plots.matrix(found, ax, complete=self.complete if before == 0 else None)

    def _repr_html_(self) -> str:
        n = self.n_found
        state = {
            None: "More may come: iterate over it.",
            True: "Proved: there are no others of the kind asked for.",
            False: "There may be more: the limit or the time was reached.",
        }[self.complete]
        left = [f"... and {n - len(self._first)} more"] if n > len(self._first) else []
        title = (
            f"{n} explanation{'s' * (n != 1)} so far" if self.complete is None else f"{n} explanation{'s' * (n != 1)}"
        )
        return _card(title, [*self._first, *left], state if n == 0 or self.complete else f"Each is proved. {state}")


def enumerate_all(
    setting: Setting,
    instance: Instance,
    kind: Kind,
    target: Any,
    limit: int | None,
    timeout: float | None,
    ordering: list[int],
) -> Enumeration:
    """Return an iterator over all minimal explanations of a kind; the time runs from the first request."""
    if kind not in ("abductive", "contrastive", "both"):
        raise InputError(f"The 'kind' parameter must be 'abductive', 'contrastive' or 'both'. Got {kind!r} instead.")
    check_limit(limit)
    check_timeout(timeout)
    claim = setting.claim(instance, target)

    def results() -> Iterator[Abductive | Contrastive]:
        start = time.perf_counter()
        memory = setting.memory(instance, claim, timeout)
        first: Literal["abductive", "contrastive"] = "contrastive" if kind == "contrastive" else "abductive"
        for found in enumerate_minimal(memory, ordering, first):
            stats = setting.statistics(memory, start)
            if isinstance(found, Sufficient):
                if kind != "contrastive":
                    yield make_abductive(setting, instance, target, found, stats)
            elif kind != "abductive":
                yield make_contrastive(setting, instance, target, found, stats)

    return Enumeration(results, limit)


def check_limit(limit: Any) -> None:
    """Raise InputError unless `limit` is None or a number of results."""
    if limit is not None and (not isinstance(limit, int | np.integer) or isinstance(limit, bool) or limit < 0):
        raise InputError(f"The 'limit' parameter must be a whole number of at least 0. Got {limit!r} instead.")
