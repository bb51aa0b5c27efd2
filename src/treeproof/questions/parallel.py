"""Many independent tasks on joblib's active backend: results in order, a progress bar, and a prompt stop on Ctrl-C.

Threads are the default: the core works outside Python's lock, and they share the explainer. Tasks go out in chunks
that take about a fifth of a second each, in another process a second, as measured on the way, so that what it
costs to hand one over does not count and no worker is left with a long one at the end.
"""

from __future__ import annotations

import pickle
import sys
import tempfile
import threading
import time
import warnings
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from contextvars import copy_context
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar
from uuid import uuid4

import numpy as np

from treeproof.errors import Cancelled, InputError, LostWorkerError, require_bool
from treeproof.query.oracle import expired
from treeproof.questions.waiting import waiting

Task = TypeVar("Task")
Result = TypeVar("Result")

SECONDS = 0.2  # that a chunk should take
_SECONDS_ELSEWHERE = 1.0  # in another process, to which it has to travel
_MOST_JOBS = 100_000
_PATIENCE = 5.0  # seconds for tasks that were cancelled to end
_AHEAD = 16  # chunks for each worker of Dask, of which one may keep the others waiting
_SHARE = 4  # a chunk towards the end should take a share of that


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

    def some(begin: int, end: int) -> list[Result]:
        return [function(task) for task in tasks[begin:end]]

    found = run_chunks(some, lambda *ends: ends, len(tasks), n_jobs=n_jobs, shared=True, cancel=cancel)
    return list(track((result for chunk in found for result in chunk), len(tasks), progress))


def run_chunks(
    work: Callable[..., Result],
    part: Callable[[int, int], tuple[Any, ...]],
    n: int,
    *,
    n_jobs: int | None,
    shared: bool,
    cancel: Callable[[], None] = lambda: None,
    speed: Speed | None = None,
    borders: Sequence[int] = (),
    common: tuple[Any, ...] = (),
) -> Generator[Result, None, None]:
    """Yield ``work(*common, *part(begin, end))`` for chunks of ``range(n)``, in order, computed by `n_jobs` workers.

    With `shared`, workers are threads; otherwise `work` and its arguments travel to wherever joblib's backend has them,
    the `common` ones once to each worker. `speed` is what an earlier call learnt of the same work. No chunk goes beyond
    one of the `borders`, which are in order. When a worker process was killed, what it had is done again by another,
    one by one; `LostWorkerError` if that fails.
    """
    jobs = count_jobs(n_jobs)
    here = _InThreads(work) if shared else None
    task: Callable[..., Result | Cancelled] = work if here is None else here
    speed = Speed() if speed is None else speed
    speed.seconds = SECONDS if shared else _SECONDS_ELSEWHERE
    done = lost = 0
    while done < n:
        begun, pace = done, _Pace(done, n, jobs, speed, borders)
        with closing(_outputs(task, common, part, pace, n_jobs, shared)) as outputs:
            try:
                for (begin, end), (seconds, result) in outputs:
                    if isinstance(result, Cancelled):
                        raise result
                    expired(None)  # of a question that runs in other processes, we are what can be cancelled
                    speed.learn(end - begin, seconds)
                    done = end
                    yield result
            except BaseException as error:
                if type(error).__name__ not in _LOST:
                    cancel()
                    if here is not None:
                        here.stop()
                    raise
                lost += 1
                speed.length = 1
                if done == begun and lost > 1:
                    raise LostWorkerError(
                        "A worker process was killed while it explained this row, or one of the next few, for the "
                        "second time; perhaps there is too little memory. Use fewer workers or a timeout.",
                        row=done,
                    ) from error


# What loky, Dask and Ray raise when a worker is gone.
_LOST = {"TerminatedWorkerError", "BrokenProcessPool", "FutureCancelledError", "KilledWorker", "ActorDiedError"}


Ends = tuple[int, int]


def _outputs(
    work: Callable[..., Result],
    common: tuple[Any, ...],
    part: Callable[[int, int], tuple[Any, ...]],
    pace: _Pace,
    n_jobs: Any,
    shared: bool,
) -> Generator[tuple[Ends, tuple[float, Result]], None, None]:
    """Yield chunks in order with their seconds and results."""
    if count_jobs(n_jobs) == 1 and (shared or shares_memory()):
        for ends in pace:
            yield ends, _timed(work, *common, *part(*ends))
        return
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend(prefer="threads")
    if type(backend).__name__ == "DaskDistributedBackend" and not shared:
        yield from _on_dask(backend, work, common, part, pace)
        return
    streams = shared or backend.supports_return_generator
    parallel = Parallel(
        n_jobs=n_jobs,
        prefer="threads",
        require="sharedmem" if shared else None,
        return_as="generator" if streams else "list",
        batch_size=1,
    )
    chunks = iter(pace)
    with ExitStack() as stack:
        filed = type(backend).__name__ == "LokyBackend" and not shared
        run = delayed(_timed)
        if filed:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="treeproof-", ignore_cleanup_errors=True))
            run = partial(delayed(_filed), folder)
        while True:
            sent: list[Ends] = []
            failed: list[Exception] = []

            def tasks(sent: list[Ends], failed: list[Exception]) -> Iterator[Any]:
                # A backend that returns all at once, as Ray's does, gets some for each worker at a time.
                for ends in chunks if streams else islice(chunks, 4 * pace.jobs):
                    try:
                        arguments = part(*ends)
                    except Exception as error:  # joblib may ask in a thread of its own, where nobody would hear of it
                        failed.append(error)
                        return
                    sent.append(ends)
                    yield run(work, *common, *arguments)

            outputs = parallel(tasks(sent, failed))
            try:
                for place, found in enumerate(outputs):
                    yield sent[place], _from_file(found) if filed else found
            finally:
                if streams:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")  # joblib warns of tasks that nobody waits for any more
                        outputs.close()
            if failed:
                raise failed[0]
            if streams or not sent:
                return


def _on_dask(
    backend: Any,
    work: Callable[..., Result],
    common: tuple[Any, ...],
    part: Callable[[int, int], tuple[Any, ...]],
    pace: _Pace,
) -> Generator[tuple[Ends, tuple[float, Result]], None, None]:
    """Yield chunks as `_outputs` does, as tasks of Dask's own.

    joblib would scatter what is common, and may wait for ever if the worker that has it is killed at the wrong moment.
    What a task has made is made again.
    """
    from distributed import wait

    client, jobs = backend.client, backend.effective_n_jobs(-1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")  # once
        held = [client.submit(_same, one, key=f"treeproof-{uuid4().hex}") for one in common]
    chunks, sent = iter(pace), deque[tuple[Ends, Any]]()
    failed: Exception | None = None
    finished = False
    try:
        while True:
            under_way = [future for _, future in sent if not future.done()]
            while not finished and len(under_way) < 2 * jobs and len(sent) < _AHEAD * jobs:
                ends = next(chunks, None)
                if finished := ends is None:
                    break
                try:
                    arguments = part(*ends)
                except Exception as error:  # raised after the results of what comes before
                    failed, finished = error, True
                    break
                sent.append((ends, client.submit(_timed, work, *held, *arguments, key=f"explain-{uuid4().hex}")))
                under_way.append(sent[-1][1])
            if not sent:
                break
            if sent[0][1].done():
                ends, future = sent.popleft()
                yield ends, future.result()
            else:
                wait(under_way, return_when="FIRST_COMPLETED")
        if failed is not None:
            raise failed
    finally:
        client.cancel([future for _, future in sent])


def _same(one: Any) -> Any:
    return one


class _InThreads(Generic[Result]):
    """Work for other threads, which `cancelling` ends as it does this one.

    It returns what it would raise then: no pool of threads expects an exception that is no ``Exception``.
    """

    def __init__(self, work: Callable[..., Result]) -> None:
        self._work, self._context = work, copy_context()
        self._running, self._stopped = 0, False
        self._changed = threading.Condition()

    def __call__(self, *arguments: Any) -> Result | Cancelled:
        with self._changed:
            if self._stopped:
                return Cancelled()
            self._running += 1
        try:
            return self._context.copy().run(self._work, *arguments)
        except Cancelled as stopped:
            return stopped
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def stop(self) -> None:
        """Begin nothing more, and wait for what was cancelled: Python must not end while a thread is in the core."""
        with self._changed:
            self._stopped = True
            self._changed.wait_for(lambda: not self._running, _PATIENCE)


def _timed(work: Callable[..., Result], *arguments: Any) -> tuple[float, Result]:
    start = time.perf_counter()
    result = work(*arguments)
    return time.perf_counter() - start, result


def _filed(folder: str, work: Callable[..., Result], *arguments: Any) -> str:
    """Return the name of a file with what `_timed` returns.

    What a process of loky returns goes through a pipe that all of them share. If one is killed between two writes, all
    others wait for it for ever; a name is so short that it is one write.
    """
    content = pickle.dumps(_timed(work, *arguments), protocol=pickle.HIGHEST_PROTOCOL)
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        file.write(content)
    return file.name


def _from_file(name: str) -> Any:
    path = Path(name)
    found = pickle.loads(path.read_bytes())
    path.unlink()
    return found


class Speed:
    """How long a chunk should be, by what was learnt so far."""

    def __init__(self) -> None:
        self.length, self.seconds = 1, SECONDS

    def learn(self, n: int, seconds: float) -> None:
        """Learn that a chunk of so many took so long."""
        if n >= self.length:
            self.length = max(1, min(2 * n, int(n * self.seconds / max(seconds, 1e-9))))


class _Pace:
    """Chunks of numbers, as long as the speed and the borders allow, and shorter towards the end."""

    def __init__(self, begin: int, end: int, jobs: int, speed: Speed, borders: Sequence[int]) -> None:
        self._begin, self._end, self.jobs, self._speed, self._borders = begin, end, jobs, speed, borders

    def __iter__(self) -> Iterator[tuple[int, int]]:
        begin = self._begin
        while begin < self._end:
            fair = -(-(self._end - begin) // self.jobs)
            # What is handed over costs some milliseconds, however short it is.
            length = max(1, self._speed.length // _SHARE, min(self._speed.length, fair))
            border = bisect_right(self._borders, begin)
            end = min(self._end, begin + length, *self._borders[border : border + 1])
            yield begin, end
            begin = end


def shares_memory() -> bool:
    """Return whether joblib's active backend has its workers in this process."""
    if "joblib" not in sys.modules:  # slow to import; without it, nobody has chosen a backend
        return True
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend(prefer="threads")
    return bool(getattr(backend, "supports_sharedmem", False))


def count_jobs(n_jobs: Any) -> int:
    """Return the number of workers that `n_jobs` asks for, as joblib counts them: None is one, or what is configured.

    >>> count_jobs(None), count_jobs(3)
    (1, 3)
    """
    if n_jobs is None and "joblib" not in sys.modules:
        return 1
    whole = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if n_jobs is not None and not (whole and 0 < abs(n_jobs) <= _MOST_JOBS):
        raise InputError(
            f"The 'n_jobs' parameter must be None or a whole number other than 0, up to {_MOST_JOBS}. Got {n_jobs!r} "
            "instead."
        )
    if n_jobs is not None and n_jobs > 0:
        return int(n_jobs)
    from joblib import effective_n_jobs

    return int(effective_n_jobs(None if n_jobs is None else int(n_jobs)))


def bar(progress: Any, text: str) -> str | None:
    """Return the text next to a progress bar, None if none is wanted.

    >>> bar(True, "auditing"), bar(False, "auditing")
    ('auditing', None)
    """
    require_bool("progress", progress)
    return text if progress else None


def track(
    items: Iterable[Result],
    total: int | None,
    text: str | None,
    console: Any = None,
    weigh: Callable[[Result], int] = lambda _: 1,
) -> Iterator[Result]:
    """Yield the items and show how many are done, and how many per second; show nothing without `text`.

    A bar on standard error if rich is installed, else a count. `total` is None if it is not known: then there is no
    bar and no time left. On rich's `console`, if one is given, the bar disappears at the end. An item counts as many as
    `weigh` says.
    """
    if text is None:
        yield from items
        return
    with waiting(None):
        yield from _drawn(items, total, text, console, weigh)


def _drawn(
    items: Iterable[Result], total: int | None, text: str, console: Any, weigh: Callable[[Result], int]
) -> Iterator[Result]:
    try:
        from rich import progress as shown
        from rich.console import Console
    except ImportError:
        yield from _count(items, total, text, weigh)
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
        done = 0
        for item in items:
            yield item
            done += weigh(item)
            bar.update(task, completed=done, rate=_rate(done, start))


def _count(items: Iterable[Result], total: int | None, text: str, weigh: Callable[[Result], int]) -> Iterator[Result]:
    start, done = time.perf_counter(), 0
    of = "" if total is None else f"/{total}"
    for item in items:
        yield item
        done += weigh(item)
        sys.stderr.write(f"\r{text} {done}{of}, {_rate(done, start)}   ")
        sys.stderr.flush()
    sys.stderr.write("\n")


def _rate(done: int, start: float) -> str:
    rate = done / max(time.perf_counter() - start, 1e-9)
    return f"{rate:,.0f}/s" if rate >= 100 else f"{rate:.2g}/s"
