"""Seconds, counted on a terminal while somebody waits for an answer."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

QUIET = "TREEPROOF_QUIET"  # an environment variable that switches it off, whatever its value

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")


def is_drawn_on(stream: Any) -> bool:
    """Return whether a stream is a terminal, and the environment does not ask for plain text."""
    if stream is None or not stream.isatty():
        return False
    return os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")


class _Teller:
    """A thread that says what the main thread is busy with, if that takes more than a second.

    One thread for all questions: to start one for each would cost as much as many an answer takes.
    """

    def __init__(self) -> None:
        self._depth = 0  # changed by the main thread only
        self._lock = threading.Lock()
        self._begun = threading.Event()
        self._busy: tuple[str, float] | None = None
        self._thread: threading.Thread | None = None

    def begin(self, text: str | None) -> None:
        """Begin to count, unless that has begun already; without a text, what has begun falls silent."""
        self._depth += 1
        if text is None:
            self._fall_silent()
        elif self._depth == 1:
            if self._thread is None or not self._thread.is_alive():  # the first time, or in a forked process
                self._lock = threading.Lock()
                self._thread = threading.Thread(target=self._tell, name="treeproof-waiting", daemon=True)
                self._thread.start()
            self._busy = text, time.monotonic()
            self._begun.set()

    def end(self) -> None:
        """End what was begun last; the line disappears with the first one."""
        self._depth -= 1
        if self._depth == 0:
            self._fall_silent()

    def _fall_silent(self) -> None:
        if self._busy is None:
            return
        with self._lock:
            _, since = self._busy
            self._busy = None
            if time.monotonic() - since >= 1:
                _write("\r\x1b[K")

    def _tell(self) -> None:
        while True:
            self._begun.wait()
            with self._lock:
                busy = self._busy
                if busy is None:
                    self._begun.clear()
                elif (seconds := time.monotonic() - busy[1]) >= 1:
                    _write(f"\r\x1b[K{busy[0]}: {int(seconds)} s")
            if busy is not None:
                time.sleep(0.5)


_teller = _Teller()


def _write(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):  # the terminal was closed
        pass


def _is_watched() -> bool:
    """Return whether the main thread has a terminal to count on."""
    if not is_drawn_on(sys.stderr) or QUIET in os.environ:
        return False
    return threading.current_thread() is threading.main_thread()


@contextmanager
def waiting(text: str | None) -> Iterator[None]:
    """Count the seconds of what is done here on standard error, if that is a terminal, after the first one.

    Inside another one, and in other threads than the main one, nothing is said. Without a text nothing is said from
    here on, for somebody who draws a progress bar.
    """
    if not _is_watched():
        yield
        return
    _teller.begin(text)
    try:
        yield
    finally:
        _teller.end()


def counted(text: str) -> Callable[[Callable[Parameters, Answer]], Callable[Parameters, Answer]]:
    """Return a decorator of a function during which seconds are counted."""

    def decorate(function: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
        @wraps(function)
        def answered(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
            if not _is_watched():  # short answers take little longer than the manager of a context
                return function(*args, **kwargs)
            with waiting(text):
                return function(*args, **kwargs)

        return answered

    return decorate
