"""Many independent tasks in threads: results in order, a progress bar, and an end when the user wants one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from treeproof.errors import InputError

Task = TypeVar("Task")
Result = TypeVar("Result")


def run_parallel(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    n_jobs: int | None,
    progress: str | None = None,
    cancel: Callable[[], None] = lambda: None,
) -> list[Result]:
    """Return ``[function(task) for task in tasks]``, computed by `n_jobs` threads.

    `progress` is the text beside a progress bar on standard error. `cancel` is called before an exception, Ctrl-C
    included, leaves: it should make running tasks end soon.

    >>> run_parallel(abs, [-2, 1, -3], n_jobs=2)
    [2, 1, 3]
    """
    threads = count_jobs(n_jobs)
    if threads == 1 or len(tasks) < 2:
        return list(track(map(function, tasks), len(tasks), progress))
    with ThreadPoolExecutor(threads) as pool:
        try:
            return list(track(pool.map(function, tasks), len(tasks), progress))
        except BaseException:
            cancel()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def count_jobs(n_jobs: Any) -> int:
    """Return the number of threads that scikit-learn's parameter `n_jobs` asks for.

    >>> count_jobs(None), count_jobs(3)
    (1, 3)
    """
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise InputError(f"The 'n_jobs' parameter must be None or a whole number other than 0. Got {n_jobs!r} instead.")
    return int(n_jobs) if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))


def track(items: Iterable[Result], total: int, text: str | None) -> Iterator[Result]:
    """Yield the items and show how many have come: a bar if rich is installed, else a count; nothing without `text`."""
    if text is None:
        yield from items
        return
    try:
        from rich.console import Console
        from rich.progress import track as rich_track
    except ImportError:
        for done, item in enumerate(items, start=1):
            sys.stderr.write(f"\r{text} {done}/{total}" + ("\n" if done == total else ""))
            sys.stderr.flush()
            yield item
        return
    yield from rich_track(items, description=text, total=total, console=Console(stderr=True))
