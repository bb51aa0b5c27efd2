"""A round of an attack: a process of its own with limits, whose end is always reported."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import treeproof as tp

CPU = 60  # seconds for a round, after which the system ends it
CASE_CPU = 15  # seconds for a case
MEMORY = 4 * 2**30  # bytes for a round
LONGEST = 6000  # letters of a message


@dataclass
class Round:
    """What an attack gets: random numbers, an empty folder, and where to say what happened."""

    kind: str
    seed: int
    number: int
    n_cases: int  # how many cases to try, about
    folder: Path
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    clock: tuple[float, float] = (-1.0, 0.0)  # when the CPU time was looked at, at most a second ago, and what it was
    at: Any = None  # a pipe to which the case at hand is written, in case that it is the last one

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng([self.seed, zlib.crc32(self.kind.encode()), self.number])

    @property
    def again(self) -> str:
        """The command that does this round again."""
        return f"PYTHONPATH=tests python -m attack --kind {self.kind} --seed {self.seed} --round {self.number}"

    def fail(self, what: str) -> None:
        """Report what must not happen."""
        self.failures.append(what if len(what) < 2000 else f"{what[:1000]} ... {what[-900:]}")

    def require(self, condition: Any, what: str) -> None:
        """Report what must not happen, if the condition is false."""
        if not condition:
            self.fail(what)

    @contextlib.contextmanager
    def case(self, what: str, *, allowed: tuple[type[BaseException], ...] = ()) -> Iterator[None]:
        """Try one case: it may end in an error of ours, of the system, or as allowed, with a sentence, and soon."""
        self.counts["cases"] += 1
        if self.at is not None:
            self.at.seek(0)
            self.at.truncate()
            self.at.write(what[:400])
            self.at.flush()
        began = time.monotonic()
        if began > self.clock[0] + 1:  # where this is a call of the system, it takes longer than many a case
            self.clock = began, time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
            self.counts["taken"] += 1
        except (tp.TreeproofError, tp.CheckError, OSError, *allowed) as error:
            self.counts["refused"] += 1
            self.require(not isinstance(error, tp.InternalError), f"{what}: {error!r}")
            self.require(
                len(str(error)) < LONGEST, f"{what}: a message of {len(str(error))} letters: {str(error)[:200]}"
            )
            self.require(str(error), f"{what}: {type(error).__name__} without a message")
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            self.fail(f"{what}: {type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})")
        if time.monotonic() > began + CASE_CPU:
            took = time.process_time() - self.clock[1]
            self.require(took < CASE_CPU + 1, f"{what}: {took:.1f} s of CPU")

    def command(self, what: str, words: list[str], codes: tuple[int, ...] = (0, 1, 2)) -> str:
        """Run a command; return what it printed. It must end with one of these codes, and without a traceback."""
        from treeproof.cli import main

        out, err = io.StringIO(), io.StringIO()
        with self.case(what), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main(words)
            except SystemExit as stop:
                code = stop.code if isinstance(stop.code, int) else 2
            printed = err.getvalue()
            self.counts[f"exit code {code}"] += 1
            self.require(code in codes, f"{what}: exit code {code}: {printed[-600:]}")
            self.require("Traceback" not in printed, f"{what}: a traceback: {printed[-600:]}")
            self.require(len(printed) < LONGEST, f"{what}: a message of {len(printed)} letters")
            self.require(code != 2 or printed, f"{what}: exit code 2 without a message")
        return out.getvalue() + err.getvalue()


def load_attack(kind: str) -> tuple[Callable[[Round], None], Callable[[], object]]:
    """Return the function of a kind of attack, and one that makes once what all rounds share."""
    module = import_module(f"attack.{kind}")
    return module.attack, getattr(module, "prepare", lambda: None)


def run_round(kind: str, seed: int, number: int, n_cases: int) -> Round:
    """Run a round in a process of its own; if that dies, how is a failure."""
    with tempfile.TemporaryDirectory() as folder:
        made = Round(kind, seed, number, n_cases, Path(folder))
        work, prepare = load_attack(kind)
        prepare()
        answer = tempfile.TemporaryFile()  # noqa: SIM115
        made.at = tempfile.TemporaryFile("w+", errors="backslashreplace")  # noqa: SIM115
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            _in_child(work, made, answer)
        _, status, used = os.wait4(child, 0)
        made.counts["CPU s"] += round(used.ru_utime + used.ru_stime)
        answer.seek(0)
        content = answer.read()
        if content:
            counts, made.failures = pickle.loads(content)
            made.counts.update(counts)
        made.at.seek(0)
        last = made.at.read()
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            made.fail(f"killed by {signal.Signals(-code).name}, in: {last}")
        elif code or not content:
            made.fail(f"ended with {code}, in: {last}")
        return made


def _in_child(work: Callable[[Round], None], made: Round, answer: Any) -> None:
    """Do the work within limits, write what came of it, and end."""
    code = 0
    try:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (CPU, CPU + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.chdir(made.folder)
        try:
            work(made)
        except BaseException:
            made.fail(f"the attack itself failed: {traceback.format_exc()}")
        answer.write(pickle.dumps((made.counts, made.failures)))
        answer.flush()
    except BaseException:
        traceback.print_exc()
        code = 70
    finally:
        os._exit(code)
