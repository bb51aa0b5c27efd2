"""Answers that rows share: a search sees cells, not values, so rows in the same cells get the same one."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import Any, Generic, TypeVar

from treeproof.query.context import Instance

Found = TypeVar("Found")

MOST = 10_000  # each takes some kilobytes


class Memory(Generic[Found]):
    """What was found for the keys that were asked for last, at most so many; threads may share it.

    >>> memory = Memory[str](most=1)
    >>> memory.put(1, "one")
    >>> memory.put(2, "two")
    >>> memory.get(1), memory.get(2)
    (None, 'two')
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._found: OrderedDict[Hashable, Found] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Found | None:
        """Return what was found, None if it is not known."""
        with self._lock:
            found = self._found.get(key)
            if found is not None:
                self._found.move_to_end(key)
            return found

    def put(self, key: Hashable, found: Found) -> None:
        """Remember what was found; the longest unused is forgotten if there are too many."""
        self.put_all([(key, found)])

    def put_all(self, found: Iterable[tuple[Hashable, Found]]) -> None:
        """Remember what was found for each of several keys."""
        with self._lock:
            self._found.update(found)
            while len(self._found) > self._most:
                self._found.popitem(last=False)


def once(memory: Memory[Any] | None, instance: Instance, find: Callable[[], Found]) -> Found:
    """Return what is found for a row; for one with the very same values, what was found before, under its own name.

    For questions about values, such as the closest change. What a deadline cut short is not remembered.
    """
    if memory is None:
        return find()
    start = time.perf_counter()
    key = instance.row.tobytes()
    known = memory.get(key)
    if known is not None:
        stats = replace(known.stats, seconds=time.perf_counter() - start)
        return replace(known, stats=stats, _origin=instance.origin)
    found: Any = find()
    if found.decided:
        memory.put(key, found)
    return found
