"""Every row of a table of any size: one output file for each part of it, restartable, with nothing lost.

A part is written under a temporary name and renamed when it is complete; then the manifest says so. Whatever ends a
run, the next one with the same settings goes on with the parts that are not in the manifest.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import gzip
import importlib.metadata
import json
import os
import platform
import sys
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

import treeproof
from treeproof.cli import codes
from treeproof.cli.options import JOBS_HELP, check_order, count, make_explainer, target_of
from treeproof.cli.output import FORMATS, make_folder
from treeproof.cli.parts import BLOCK, Block, CsvInput, ParquetInput, Part, Stream, is_parquet, open_input
from treeproof.cli.terminal import complain, say, shows_progress, waiting
from treeproof.errors import InputError, LostWorkerError, MissingExtraError, TreeproofError
from treeproof.explainer import Explainer
from treeproof.model.files import load_model, save_forest, write_whole
from treeproof.model.frames import Origin
from treeproof.proof.certificate import fingerprint
from treeproof.questions.arrow import as_table, pyarrow, schema
from treeproof.questions.batch import Question, answers, count_open
from treeproof.questions.parallel import count_jobs

MANIFEST, LOCK = "_manifest.json", "_lock"  # names that readers of a folder of Parquet files leave out
FORMAT = "treeproof-explanations"
# Options that say where and how a run works, not what it finds.
_ELSEWHERE = {
    *("model", "data", "out", "jobs", "backend", "scheduler", "quiet", "json", "trust", "max_mb", "certificate"),
    *("words", "usual_timeout", "said", "constraints", "rows_default"),
}
_LOG_EVERY = 10.0  # seconds between lines in a pipe
# A client of Dask keeps what it sent last, rows and all: by default a thousand chunks, which are gigabytes at worst.
_BRIEF = {"distributed.admin.low-level-log-length": 10}
# What a cluster of Dask on this machine need not watch: nobody looks at it, and all that takes a tenth of a core.
_CALM = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.diagnostics.nvml": False,
}


def add_arguments(search: Any, rows: Any) -> None:
    """Declare the options of a run over a whole table."""
    search.add_argument("--jobs", type=int, metavar="N", help=JOBS_HELP)
    search.add_argument(
        "--backend",
        choices=["threads", "loky", "dask"],
        default="threads",
        help="with --out DIR: what workers are: threads (default), processes (loky) or those of a Dask cluster",
    )
    search.add_argument(
        "--scheduler", metavar="ADDRESS", help="with --backend dask: its scheduler (default: a cluster on this machine)"
    )
    rows.add_argument(
        "--key", nargs="+", default=[], metavar="COLUMN", help="with --out DIR: columns to copy to the results"
    )
    rows.add_argument(
        "--part-rows",
        type=int,
        default=20_000,
        metavar="N",
        help="with --out DIR: a file of more rows becomes several output files (default: %(default)s)",
    )


def is_wanted(args: argparse.Namespace) -> bool:
    """Return whether the results of a whole table go to a folder; InputError if options for that do not fit."""
    folder = bool(args.out) and Path(args.out).suffix.lower() not in FORMATS
    if not folder:
        if is_parquet(args.data):
            raise InputError(
                "A folder, or a Parquet table, is explained as a whole: --all --out DIR. For single rows: a CSV file."
            )
        given = [f"--{name}" for name in ("key", "jobs", "scheduler") if getattr(args, name)]
        if given or args.backend != "threads":
            raise InputError(f"{given[0] if given else '--backend'} requires --all --out DIR: a whole table.")
        return False
    if not args.all or args.where or args.row is not None or args.rows is not None:
        raise InputError(
            f"--out must end in .csv, .json or .parquet, or, with --all, be a folder for all rows. Got {args.out!r}."
        )
    for name in ("within", "observed"):
        if getattr(args, name):
            raise InputError(f"--{name} cannot be used with a whole table in a folder; it needs all rows at once.")
    if args.part_rows < 1:
        raise InputError(f"--part-rows must be at least 1. Got {args.part_rows}.")
    if args.scheduler and args.backend != "dask":
        raise InputError("--scheduler requires --backend dask.")
    return True


def run(args: argparse.Namespace, options: dict[str, Any]) -> int:
    """Explain every row of a table into a folder; go on where an earlier run with the same settings ended."""
    pyarrow()
    count_jobs(args.jobs)
    check_order([args.model], args.data)
    make_folder(args.certificate)
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    with _locked(out), contextlib.ExitStack() as stack:
        with waiting(args.quiet, f"reading {args.data}"):
            source = open_input(args.data, args.part_rows)
            explainer = make_explainer(
                args, load_model(args.model, trust=args.trust, max_mb=args.max_mb), source.head(), args.oracle
            )
        if args.kind == "contrastive":
            options["target"] = target_of(args, explainer)
        else:
            options["inflate"] = args.inflate
        timeout = options.pop("timeout")
        question = Question(explainer, args.kind, timeout, options)
        manifest = _Manifest.opened(out, _identity(args, explainer), source.parts)
        for path in filter(_is_left_over, out.iterdir()):
            path.unlink()
        manifest.write(len(source.parts))  # before any result: a folder without one is somebody else's
        left = [part for part in source.parts if part.name not in manifest.done]
        if len(left) < len(source.parts) and not args.quiet:
            complain(f"{len(source.parts) - len(left)} of {count(len(source.parts), 'part')} done already.")
        if left:
            stack.enter_context(_workers(args))
        return _Run(args, source, question, manifest, left).explain()


@contextlib.contextmanager
def _locked(out: Path) -> Iterator[None]:
    """Keep other runs out of a folder; the system lifts the lock when this process ends, however it ends."""
    with open(out / LOCK, "a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            who = file.read().strip() or "another process"
            raise InputError(
                f"Only one run at a time can write to {out}. {who} is doing so; wait for it, or pass another --out."
            ) from error
        file.truncate(0)
        file.write(f"process {os.getpid()} on {platform.node()}")
        file.flush()
        yield


@contextlib.contextmanager
def _workers(args: argparse.Namespace) -> Iterator[None]:
    """Have joblib use the workers that were asked for."""
    if args.backend == "threads":
        yield
        return
    import joblib

    if args.backend == "loky":
        with joblib.parallel_config(backend="loky"):
            yield
        return
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise MissingExtraError("--backend dask needs Dask: pip install 'treeproof[scale]'.") from error
    with contextlib.ExitStack() as stack:
        stack.enter_context(dask.config.set(_BRIEF))
        address = args.scheduler
        if address is None:
            stack.enter_context(dask.config.set(_CALM))
            address = stack.enter_context(
                LocalCluster(n_workers=count_jobs(args.jobs), threads_per_worker=1, dashboard_address=":0")
            )
        stack.enter_context(Client(address))
        stack.enter_context(joblib.parallel_config(backend="dask"))
        yield


def _identity(args: argparse.Namespace, explainer: Explainer) -> dict[str, Any]:
    """Return all that results depend on: what a run that goes on must have in common with the one before."""
    plain = (bool, int, float, str, list, type(None))
    given = {name: value for name, value in vars(args).items() if name not in _ELSEWHERE and isinstance(value, plain)}
    return {
        "treeproof": treeproof.__version__,
        "model": fingerprint(explainer.forest),
        "settings": {
            **{name: given[name] for name in sorted(given)},
            "constraints": Path(args.constraints).read_text(encoding="utf-8") if args.constraints else None,
            "certificate": bool(args.certificate),
            "kinds": {feature.name: feature.kind for feature in explainer.space.features},
        },
    }


@dataclass
class _Manifest:
    """What a folder of results is about, and which of its parts are complete."""

    path: Path
    identity: Mapping[str, Any]
    done: dict[str, dict[str, Any]]
    failed: dict[str, str]

    @staticmethod
    def opened(out: Path, identity: Mapping[str, Any], parts: Sequence[Part]) -> _Manifest:
        """Return the manifest of a folder; InputError if it is about something else."""
        path = out / MANIFEST
        identity = json.loads(json.dumps(identity))
        if not path.exists():
            others = [file.name for file in out.iterdir() if file.name != LOCK and not _is_left_over(file)]
            if others:
                raise InputError(
                    f"{out} must be empty, or hold the results of an earlier run. It holds {others[0]!r}; pass another "
                    "--out."
                )
            return _Manifest(path, identity, {}, {})
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            earlier, done = found["identity"], found["done"]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path} is damaged. Delete {out}, or pass another --out.") from error
        for what in identity:
            if earlier.get(what) != identity[what]:
                raise InputError(
                    f"{out} holds results for {_difference(what, earlier.get(what), identity[what])}. To go on, use "
                    "the same; otherwise pass another --out, or delete the folder."
                )
        done = {name: note for name, note in done.items() if (out / _file(name)).exists()}
        now = {part.name: {"rows": part.n_rows, "bytes": part.size} for part in parts}
        for name, note in done.items():
            if {what: note[what] for what in ("rows", "bytes")} != now.get(name):
                raise InputError(
                    f"{out} holds results for another table: its part {name!r} is not there any more, or has changed. "
                    "Pass another --out, or delete that file of results to have it explained again."
                )
        return _Manifest(path, identity, done, {})

    def write(self, n_parts: int) -> None:
        """Write the manifest, whole or not at all."""
        content = {
            "format": FORMAT,
            "version": 1,
            "complete": len(self.done) == n_parts and not self.failed,
            "rows": sum(note["rows"] for note in self.done.values()),
            "identity": self.identity,
            "versions": _versions(),
            "done": self.done,
            "failed": self.failed,
        }
        write_whole(self.path, (json.dumps(content, indent=1) + "\n").encode())


@lru_cache(maxsize=1)
def _versions() -> dict[str, str]:
    packages = ("numpy", "pyarrow", "scikit-learn")
    return {"python": platform.python_version(), **{name: importlib.metadata.version(name) for name in packages}}


def _difference(what: str, earlier: Any, now: Any) -> str:
    """Return in words what differs between two runs."""
    if what == "settings" and isinstance(earlier, dict):
        for name in sorted({*earlier, *now}):
            if earlier.get(name) != now.get(name):
                return f"another setting: {name} was {earlier.get(name)!r}, and is {now.get(name)!r} now"
    if what == "treeproof":
        return f"another version of treeproof, {earlier}"
    return f"another {what}"


def _is_left_over(path: Path) -> bool:
    """Return whether a file was being written when a run was killed."""
    return path.name.startswith(".") and (path.name.endswith(".part") or path.name.startswith(f".{MANIFEST}."))


def _file(name: str) -> str:
    return f"{name}.parquet"


@dataclass
class _Finished:
    """The lines of some rows, how many of them have an error or timed out, and their certificates, if wanted."""

    table: Any
    failed: int
    late: int
    certificates: list[Any]


def _finish(
    certificates: bool, timeout: float | None, question: Question, results: Sequence[Any], scores: Any
) -> _Finished:
    """Make lines of results, where they were found: this takes time too, and a certificate needs the explainer."""
    failed, late = count_open(results)
    return _Finished(
        as_table(results, scores, question.context.labels),
        failed,
        late,
        [_certificate(result, timeout) for result in results] if certificates else [],
    )


def _certificate(result: Any, timeout: float | None) -> Any:
    try:
        return None if isinstance(result, TreeproofError) else result.certificate(timeout).document
    except TreeproofError as error:  # nothing is proved, or not in time
        return {"error": str(error)}


@dataclass
class _Run:
    """Explains the parts that are left as one stream of rows, so that no worker waits where one of them ends."""

    args: argparse.Namespace
    source: ParquetInput | CsvInput
    question: Question
    manifest: _Manifest
    left: list[Part]

    def __post_init__(self) -> None:
        self._ends = dict(zip(self.left, accumulate(part.n_rows for part in self.left), strict=True))
        self._unread: dict[str, OSError | ValueError] = {}  # parts that cannot be read, and why
        self._rows = Stream(self._blocks())
        self._taken = 0

    def explain(self) -> int:
        """Explain the parts that are left, and say how it went."""
        progress = Progress(max(self._ends.values(), default=0), quiet=self.args.quiet)
        self.manifest.failed.update(self.source.broken)
        for name, why in self.source.broken.items():
            complain(f"{name}: {why}")
        if self.args.certificate and self.left:
            forest = self.question.context.forest
            path = Path(self.args.certificate) / f"forest-{fingerprint(forest)[:12]}.json"
            if not path.exists():
                save_forest(forest, path)
        try:
            with contextlib.closing(self._answers()) as chunks:
                for part in self.left:
                    try:
                        self.manifest.done[part.name] = self._write(part, chunks, progress)
                    except LostWorkerError as error:
                        error.row += part.begin + part.n_rows - self._ends[part]
                        raise InputError(f"{part.path}: {error} {self._so_far()}") from error
                    except _UnreadError as error:
                        for _ in self._take(part, chunks, progress):
                            pass
                        self._cannot_read(part, error)
                    try:
                        self.manifest.write(len(self.source.parts))
                    except OSError:  # no room for it: the next run will not know of this part
                        self.manifest.done.pop(part.name, None)
                        raise
        except KeyboardInterrupt:
            progress.end()
            complain(self._so_far())
            raise
        except OSError as error:
            progress.end()
            raise InputError(f"{self.args.out}: {error.strerror or error}. {self._so_far()}") from error
        progress.end()
        self.manifest.write(len(self.source.parts))
        return self._summary()

    def _cannot_read(self, part: Part, error: Exception) -> None:
        self.manifest.failed[part.name] = f"{part.path} cannot be read: {error}"
        complain(f"{part.name}: {part.path} cannot be read: {error}")

    def _so_far(self) -> str:
        done = f"{len(self.manifest.done)} of {count(len(self.source.parts), 'part')} are complete in {self.args.out}"
        return f"{done}; the same command goes on with the others."

    def _write(self, part: Part, chunks: Iterator[_Finished], progress: Progress) -> dict[str, Any]:
        """Write the results of a part under another name, then rename them; return what the manifest says of it."""
        from pyarrow import parquet

        args, start = self.args, time.perf_counter()
        note = {"rows": 0, "failed": 0, "late": 0}
        target = Path(args.out) / _file(part.name)
        temporary = target.with_name(f".{target.name}.part")
        proofs = Path(args.certificate) / f"{part.name}.jsonl.gz" if args.certificate else None
        temporary_proofs = None if proofs is None else proofs.with_name(f".{proofs.name}.part")
        with contextlib.ExitStack() as stack:
            stack.callback(temporary.unlink, missing_ok=True)
            writer = lines = None
            if temporary_proofs is not None:
                stack.callback(temporary_proofs.unlink, missing_ok=True)
                lines = stack.enter_context(gzip.open(temporary_proofs, "wt", encoding="utf-8"))
            for begin, found, kept in self._found(part, chunks, progress):
                table = _with_keys(pyarrow().concat_tables([each.table for each in found]), part, begin, kept)
                if writer is None:
                    writer = stack.enter_context(parquet.ParquetWriter(temporary, table.schema, compression="zstd"))
                writer.write_table(table)
                note["rows"] += table.num_rows
                note["failed"] += sum(each.failed for each in found)
                note["late"] += sum(each.late for each in found)
                certificates = (certificate for each in found for certificate in each.certificates)
                for row, certificate in enumerate(certificates, start=begin):
                    if lines is not None:
                        lines.write(json.dumps({"row": row, "certificate": certificate}) + "\n")
            assert writer is not None, "a part without rows has a table without lines"
            writer.close()
            if lines is not None and proofs is not None and temporary_proofs is not None:
                lines.close()
                _put(temporary_proofs, proofs)
            _put(temporary, target)
        return {**note, "bytes": part.size, "seconds": round(time.perf_counter() - start, 3)}

    def _blocks(self) -> Iterator[Block]:
        """Yield the rows of all parts; in the place of what cannot be read, so many errors."""
        for part in self.left:
            there = 0
            try:
                for block in self._blocks_of(part) if part.n_rows else ():
                    there += len(block.rows)
                    yield block
                if there < part.n_rows:
                    raise ValueError(f"it ends after {there} rows")
            except (OSError, ValueError) as error:  # of pyarrow, or about the part's columns
                self._unread[part.name] = error
                for begin in range(there, part.n_rows, BLOCK):
                    n = min(BLOCK, part.n_rows - begin)
                    nothing = [InputError("The part cannot be read.")] * n
                    yield Block(begin, nothing, [Origin(None, self.question.context.form)] * n, None)

    def _blocks_of(self, part: Part) -> Iterator[Block]:
        context = self.question.context
        return self.source.blocks(part, context.forest.columns, context.form, self.args.key)

    def _answers(self) -> Generator[_Finished, None, None]:
        """Return what workers find for all rows, in order, in chunks that do not go beyond the end of a part."""
        args, ends = self.args, list(self._ends.values())
        n_rows = ends[-1] if ends else 0
        if n_rows:
            first = next(part for part in self.left if part.n_rows)
            _, rows, _ = self._rows.some(0, min(BLOCK, first.n_rows))
            unread = self._unread.get(first.name)
            if isinstance(unread, InputError):
                raise unread  # columns that do not fit, as those of all others
            if unread is None and not self.manifest.done and all(isinstance(row, InputError) for row in rows):
                raise InputError(f"No row of {first.path} can be read, of the first {len(rows)}. {rows[0]}")
        finish = partial(_finish, bool(args.certificate), args.timeout)
        return answers(
            self.question, n_rows, self._rows.some, n_jobs=args.jobs, on_error="return", finish=finish, borders=ends
        )

    def _take(self, part: Part, chunks: Iterator[_Finished], progress: Progress) -> Iterator[_Finished]:
        """Yield the chunks that are left of a part."""
        while self._taken < self._ends[part]:
            chunk = next(chunks)
            self._taken += chunk.table.num_rows
            progress.add(chunk.table.num_rows, chunk.failed)
            yield chunk

    def _found(
        self, part: Part, chunks: Iterator[_Finished], progress: Progress
    ) -> Iterator[tuple[int, list[_Finished], Any]]:
        """Yield what was found for some thousand rows after the other, with the first one and the columns to keep."""
        found = [_Finished(schema(self.question.context.labels).empty_table(), 0, 0, [])]
        if not part.n_rows:
            try:
                yield part.begin, found, next(self._blocks_of(part)).kept
            except (OSError, ValueError) as error:
                raise _UnreadError(error) from error
        start = begin = self._taken
        for chunk in self._take(part, chunks, progress):
            found.append(chunk)
            if part.name in self._unread:
                raise _UnreadError(self._unread[part.name])
            if self._taken - begin >= BLOCK or self._taken == self._ends[part]:
                yield part.begin + begin - start, found, self._rows.kept(begin, self._taken)
                found, begin = [], self._taken

    def _summary(self) -> int:
        notes = self.manifest.done.values()
        rows, failed, late = (sum(note[name] for note in notes) for name in ("rows", "failed", "late"))
        broken = len(self.manifest.failed)
        if self.args.json:
            say(json.dumps({"out": self.args.out, "rows": rows, "failed": failed, "late": late, "broken": broken}))
        elif not self.args.quiet:
            parts = [f"{count(rows, 'row')} explained, saved to {self.args.out}"]
            parts += [f"{failed} not explained, because of errors"] if failed else []
            parts += [f"{late} timed out, not fully proved"] if late else []
            say("; ".join(parts))
        if broken:
            complain(f"{count(broken, 'part')} could not be read; repair them and run the same command again.")
            return codes.BAD
        return codes.LATE if failed or late else codes.DONE


class _UnreadError(Exception):
    """A part cannot be read."""


def _put(temporary: Path, target: Path) -> None:
    """Give a complete file its name, after all of it is on the disk."""
    with open(temporary, "rb") as file:
        os.fsync(file.fileno())
    os.replace(temporary, target)


def _with_keys(table: Any, part: Part, begin: int, kept: Any) -> Any:
    """Return lines with the columns that say which row they are about: its file, its number, and those to keep."""
    pa = pyarrow()
    n = table.num_rows
    files = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, dtype=np.int32)), pa.array([Path(part.path).name]))
    named = {"file": files, "row": pa.array(np.arange(begin, begin + n, dtype=np.int64))}
    for name in kept.schema.names:
        named[name if name not in (*table.schema.names, *named) else f"key_{name}"] = kept[name]
    for place, (name, values) in enumerate(named.items()):
        table = table.add_column(place, name, values)
    return table


class Progress:
    """How many rows are done, how fast, how long it still takes, how many failed: on a terminal, or as log lines."""

    def __init__(self, total: int, *, quiet: bool, stream: Any = None) -> None:
        self._total, self._quiet, self._stream = total, quiet, stream or sys.stderr
        self._drawn = shows_progress(quiet)
        self._done = self._failed = self._first = 0
        self._start = self._told = time.monotonic()

    def add(self, n: int, failed: int) -> None:
        """Count rows that are done."""
        self._done += n
        self._failed += failed
        now = time.monotonic()
        if not self._first:  # what it took to start says nothing about the rest
            self._first, self._start = self._done, now
        if not self._quiet and now - self._told >= (0.2 if self._drawn else _LOG_EVERY):
            self._told = now
            self._stream.write(f"\r\x1b[K{self.text(now)}" if self._drawn else f"treeproof: {self.text(now)}\n")
            self._stream.flush()

    def text(self, now: float) -> str:
        """Return what is told."""
        rate = (self._done - self._first) / max(now - self._start, 1e-9)
        speed = f"{rate:,.0f}" if rate >= 100 else f"{rate:.2g}"
        pace = f"{speed}/s, {_span((self._total - self._done) / rate)} left, " if rate else ""
        return f"{self._done:,} of {self._total:,} rows, {pace}{self._failed:,} failed"

    def end(self) -> None:
        """Remove the line from a terminal."""
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def _span(seconds: float) -> str:
    """Return a span of time in words.

    >>> _span(75), _span(7325)
    ('1:15', '2:02:05')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
