"""A deadline for the building of a formula, which takes as long as the forest is large."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from treeproof.query.oracle import expired

_deadline: ContextVar[float | None] = ContextVar("deadline", default=None)


@contextmanager
def building_until(deadline: float | None) -> Iterator[None]:
    """Let what builds a formula here stop with a TimeoutError at the deadline, a time of ``time.monotonic()``."""
    before = _deadline.set(deadline)
    try:
        yield
    finally:
        _deadline.reset(before)


def be_on_time() -> None:
    """Raise TimeoutError if the deadline has passed."""
    if expired(_deadline.get()):
        raise TimeoutError
