"""Memory of PySAT's objects, freed at most once.

PySAT frees memory and then notes that it did, and its destructors free what has no such note. An interrupt between the
two would make them free the same memory again, which ends the process.
"""

from __future__ import annotations

from functools import cache
from typing import Any


def without_destructor(native: Any) -> Any:
    """Return a solver or a counter of PySAT that frees its memory in `delete` alone, to be called by `free`."""
    native.__class__ = _without_destructor(type(native))
    inner = getattr(native, "solver", None)  # what a solver of any kind wraps
    if inner is not None:
        inner.__class__ = _without_destructor(type(inner))
    return native


@cache
def _without_destructor(kind: type) -> type:
    return type(kind.__name__, (kind,), {"__del__": lambda self: None})


def free(owned: list[Any]) -> None:
    """Free the memory of these objects, each removed before: an interrupt rather leaves memory than frees it twice."""
    while owned:
        owned.pop().delete()
