"""Many independent tasks in threads: results in order, a progress bar, and a prompt stop on Ctrl-C.

By hand, so that `cancel` runs between Ctrl-C and the wait for running searches; joblib's `Parallel` has no such hook.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import Any, TypeVar

import numpy as np

from treeproof.errors import InputError
from treeproof.questions.waiting import waiting

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

    `progress` is the text next to a progress bar on standard error. `cancel` is called before an exception, Ctrl-C
    included, is raised: it should make running tasks end soon.

    >>> run_parallel(abs, [-2, 1, -3], n_jobs=2)
    [2, 1, 3]
    """
    threads = count_jobs(n_jobs)
    if threads == 1 or len(tasks) < 2:
        return list(track(map(function, tasks), len(tasks), progress))
    with ThreadPoolExecutor(threads) as pool:
        try:
            return list(
                track(
                    _results([pool.submit(copy_context().run, function, task) for task in tasks]), len(tasks), progress
                )
            )
        except BaseException:
            cancel()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _results(futures: Sequence[Future[Result]]) -> Iterator[Result]:
    """Yield the results in order, waking up several times a second.

    After z3 had run in the process, a wait without timeout no longer noticed Ctrl-C, perhaps because system calls are
    then resumed after a signal.
    """
    for future in futures:
        while not wait([future], timeout=0.1).done:
            pass
        yield future.result()


def count_jobs(n_jobs: Any) -> int:
    """Return the number of threads that `n_jobs` asks for; None is one, and negative numbers count as in joblib.

    >>> count_jobs(None), count_jobs(3)
    (1, 3)
    """
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise InputError(f"The 'n_jobs' parameter must be None or a whole number other than 0. Got {n_jobs!r} instead.")
    if n_jobs > 0:
        return int(n_jobs)
    from joblib import effective_n_jobs  # slow to import, and most calls do not need it

    return int(effective_n_jobs(int(n_jobs)))


def track(items: Iterable[Result], total: int | None, text: str | None, console: Any = None) -> Iterator[Result]:
    """Yield the items and show how many are done, and how many per second; show nothing without `text`.

    A bar on standard error if rich is installed, else a count. `total` is None if it is not known: then there is no
    bar and no time left. On rich's `console`, if one is given, the bar disappears at the end.
    """
    if text is None:
        yield from items
        return
    with waiting(None):
        yield from _drawn(items, total, text, console)


def _drawn(items: Iterable[Result], total: int | None, text: str, console: Any) -> Iterator[Result]:
    try:
        from rich import progress as shown
        from rich.console import Console
    except ImportError:
        yield from _count(items, total, text)
        return
    known = (shown.BarColumn(), shown.MofNCompleteColumn(), shown.TextColumn("{task.fields[rate]}"))
    left = shown.TimeRemainingColumn(compact=True)
    unknown = (shown.TextColumn("{task.completed:,}, {task.fields[rate]},"), shown.TimeElapsedColumn())
    bar = shown.Progress(
        *(() if total is not None else (shown.SpinnerColumn(),)),
        shown.TextColumn("{task.description}", markup=False),
        *((*known, left, shown.TextColumn("left")) if total is not None else unknown),
        console=console or Console(stderr=True),
        transient=console is not None,
    )
    start = time.perf_counter()
    with bar:
        task = bar.add_task(text, total=total, rate="-/s")
        for done, item in enumerate(items, start=1):
            yield item
            bar.update(task, completed=done, rate=_rate(done, start))


def _count(items: Iterable[Result], total: int | None, text: str) -> Iterator[Result]:
    start = time.perf_counter()
    of = "" if total is None else f"/{total}"
    for done, item in enumerate(items, start=1):
        yield item
        sys.stderr.write(f"\r{text} {done}{of}, {_rate(done, start)}   ")
        sys.stderr.flush()
    sys.stderr.write("\n")


def _rate(done: int, start: float) -> str:
    rate = done / max(time.perf_counter() - start, 1e-9)
    return f"{rate:,.0f}/s" if rate >= 100 else f"{rate:.2g}/s"
