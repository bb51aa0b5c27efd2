"""All minimal explanations, of one kind or both."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np

from treeproof.errors import InputError
from treeproof.explanation import Abductive, Contrastive
from treeproof.questions.change import make_contrastive
from treeproof.questions.why import make_abductive
from treeproof.search.marco import enumerate_minimal
from treeproof.search.minimal import Sufficient
from treeproof.setting import Instance, Setting, check_timeout

Kind = Literal["abductive", "contrastive", "both"]


class Enumeration(Iterator[Abductive | Contrastive]):
    """Yields explanations as they are found; afterwards `complete` says whether these were all.

    `complete` is None while the iteration runs, True when it ended because everything was found, and False when the
    limit or the deadline came first.
    """

    def __init__(self, results: Callable[[], Iterator[Abductive | Contrastive]], limit: int | None) -> None:
        self.complete: bool | None = None
        self._results = results()
        self._left = math.inf if limit is None else limit

    def __iter__(self) -> Enumeration:
        return self

    def __next__(self) -> Abductive | Contrastive:
        if self.complete is not None:
            raise StopIteration
        try:
            if self._left > 0:
                self._left -= 1
                return next(self._results)
            self.complete = False
        except StopIteration:
            self.complete = True
        except TimeoutError:
            self.complete = False
        raise StopIteration


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
