"""Memory of PySAT's objects, freed at most once.

PySAT frees memory and then notes that it did, and its destructors free what has no such note. An interrupt between the
two would make them free the same memory again, which ends the process.
"""

from __future__ import annotations

from functools import cache
from typing import Any


def without_destructor(native: Any) -> Any:
    """Return a solver or a counter of PySAT that frees its memory in `delete` alone, to be called by `free`."""
    for part in (native, getattr(native, "solver", None)):  # a solver wraps one of its kind
        if part is not None:
            kind: Any = type(part)
            part.__class__ = _without_destructor(kind)
    return native


@cache
def _without_destructor(kind: Any) -> Any:
    return type(kind.__name__, (kind,), {"__del__": lambda self: None})


def free(owned: list[Any]) -> None:
    """Free the memory of these objects, each removed before: an interrupt rather leaves memory than frees it twice."""
    while owned:
        owned.pop().delete()
