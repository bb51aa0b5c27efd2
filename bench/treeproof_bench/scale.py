"""Measure a whole table: rows per second, memory and efficiency for numbers of rows, workers and kinds of workers.

``python -m treeproof_bench.scale --folder DIR [--rows 10000,100000,1000000] [--model xgboost,forest,xgboost-4]
[--workers 1,2] [--backend threads,loky,dask] [--json FILE]``

It makes tables of 20 features, Parquet in 20 files, and the models in `DIR`, once, and runs ``treeproof explain --all
--out`` on them in processes of its own: one line for each choice of model, rows, backend and workers. With ``--json``,
each is written to the file as soon as it is measured, and one that is there is not measured again, so that a long run
can be interrupted and gone on with.

* The table is that of `treeproof_bench.population`: columns that depend on each other, heavy tails, counts, shares,
  categories, and labels that no model predicts without errors.
* Models: `xgboost`, 100 trees with XGBoost's own defaults (depth 6); `forest`, scikit-learn's, 100 trees of depth 8;
  `xgboost-4`, 100 trees of depth 4 at a learning rate of 0.1, whose explanations take least, so that all else weighs
  most. All learnt from 20,000 rows.
* `rows_s`: rows per second of the whole run, its start included;
* `ms_row`: an explanation's own time, on average;
* `peak_mb`: the largest memory (PSS: shared pages count once) of all its processes together; `early_mb`: the same in
  the first fifth of its time. Where both are alike, memory does not grow with the rows;
* `start`: the seconds that a run with the same model and workers takes for a table of one row in each file, those of
  its explanations not counted: to import, to build the explainer, to start workers and to end them;
* `efficiency`: the sum of the explanations' own seconds with one thread, alone, divided by the run's seconds times its
  workers; ``-`` until a run with one thread was measured for the model. Measure it on a machine that does nothing else;
* `later`: the same, with the seconds of the start taken from the run's;
* `own`: the same as `efficiency`, with the run's own explanations in place of those of one thread: the share of its
  workers' time that they explained. It does not depend on how fast the machine was in another line.

``--part shared`` measures how many searches rows of discrete columns share, and ``--part pickle`` how long an explainer
takes to be built and to be unpickled, and how long until a worker has it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import treeproof as tp
from treeproof_bench import population

FEATURES, FILES, TRAINED, MOST = 20, 20, 20_000, 1_000_000
MODELS = ("xgboost", "forest", "xgboost-4")


@lru_cache(maxsize=1)
def draw(n: int) -> Any:
    """Return a frame of rows, of which the first are those to learn from, and their labels."""
    import pandas as pd

    drawn = population.draw(TRAINED + n, FEATURES, seed=0)
    return pd.DataFrame(drawn.X.astype(np.float32), columns=[f"f{j}" for j in range(FEATURES)]), drawn.y


def prepare(folder: Path, rows: int, model: str) -> tuple[Path, Path]:
    """Return the files of the table and of the model, made if they are not there; a table begins as a larger one."""
    table, saved = folder / f"rows-{rows}", folder / f"{model}.json"
    if not table.exists():
        frame, _ = draw(max(MOST, rows))
        begun = table.with_suffix(".begun")
        begun.mkdir(parents=True, exist_ok=True)
        ends = np.linspace(TRAINED, TRAINED + rows, FILES + 1).astype(int)
        for k in range(FILES):
            frame[ends[k] : ends[k + 1]].to_parquet(begun / f"part-{k:02d}.parquet", index=False)
        begun.rename(table)
    if not saved.exists():
        tp.save_forest(tp.Explainer(make(model)).forest, saved)
    return table, saved


def make(model: str) -> Any:
    """Return a model, learnt from the first rows."""
    X, y = (some[:TRAINED] for some in draw(MOST))
    if model == "forest":
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(100, max_depth=8, random_state=0, n_jobs=1).fit(X, y)
    from xgboost import XGBClassifier

    smaller = {"max_depth": 4, "learning_rate": 0.1} if model == "xgboost-4" else {}
    return XGBClassifier(n_estimators=100, n_jobs=1, random_state=0, **smaller).fit(X, y)


def run(table: Path, model: Path, out: Path, workers: int, backend: str) -> dict[str, float]:
    """Return what one run takes."""
    import pyarrow.parquet as pq

    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "treeproof", "explain", str(model), str(table), "--all", "--out", str(out)]
    command += ["--jobs", str(workers), "--backend", backend, "--quiet"]
    start = time.perf_counter()
    with subprocess.Popen(command, env=_as_installed()) as process:
        seen: list[tuple[float, int]] = []
        watch = threading.Thread(target=_watch, args=(process, seen))
        watch.start()
        code = process.wait()
        seconds = time.perf_counter() - start
        watch.join()
    if code != 0:
        raise RuntimeError(f"The run ended with {code}: {' '.join(command)}")
    alone = [pq.read_table(file, columns=["seconds"])["seconds"].to_numpy() for file in out.glob("*.parquet")]
    return {
        "seconds": seconds,
        "explaining": float(np.concatenate(alone).sum()),
        "peak_mb": max(memory for _, memory in seen) / 1e6,
        "early_mb": max((memory for at, memory in seen if at < start + seconds / 5), default=0) / 1e6,
    }


def _watch(process: subprocess.Popen[bytes], seen: list[tuple[float, int]]) -> None:
    """Note the memory of a process and its children, five times a second, with the time."""
    while process.poll() is None:
        seen.append((time.perf_counter(), sum(_memory(pid) for pid in _family(process.pid))))
        time.sleep(0.2)


def _family(pid: int) -> Iterator[int]:
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:  # it has just ended
            continue
        for child in children:
            yield from _family(int(child))


def _memory(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


NAMES = ("model", "rows", "backend", "workers")


def measure(args: argparse.Namespace) -> None:
    known = [record for record in _read(args.json) if record.get("part", "tables") == "tables"]
    print("model      rows      backend workers   rows/s  ms/row  early MB  peak MB  start  efficiency  later   own")
    for model, rows, backend, workers in itertools.product(args.model, args.rows, args.backend, args.workers):
        short = _measured(args, known, (model, FILES, backend, workers))
        start = short["seconds"] - short["explaining"] / workers
        _tell(_measured(args, known, (model, rows, backend, workers)), start, known)


def _measured(
    args: argparse.Namespace, known: list[dict[str, Any]], choice: tuple[str, int, str, int]
) -> dict[str, Any]:
    """Return what one run takes, measured unless it is known."""
    place = dict(zip(NAMES, choice, strict=True))
    record = next((each for each in known if {name: each[name] for name in NAMES} == place), None)
    if record is None:
        model, rows, backend, workers = choice
        record = place | run(*prepare(args.folder, rows, model), args.folder / "out", workers, backend)
        known.append(record)
        _append(args.json, {"part": "tables", **record})
    return record


def _tell(record: dict[str, Any], start: float, known: list[dict[str, Any]]) -> None:
    """Print one line; efficiency is measured against the longest run of the same model with one thread."""
    alone = [
        each for each in known if (each["model"], each["backend"], each["workers"]) == (record["model"], "threads", 1)
    ]
    one = max(alone, key=lambda each: int(each["rows"]), default=None)
    rows, seconds = record["rows"], record["seconds"]
    ideal = None if one is None else rows * one["explaining"] / one["rows"] / record["workers"]
    print(
        f"{record['model']:<9} {rows:>9,} {record['backend']:>8} {record['workers']:>7} {rows / seconds:>8.0f} "
        f"{1000 * record['explaining'] / rows:>7.3f} {record['early_mb']:>9.0f} {record['peak_mb']:>8.0f} "
        f"{start:>6.2f} {'-' if ideal is None else f'{ideal / seconds:.2f}':>11} "
        f"{'-' if ideal is None else f'{ideal / (seconds - start):.2f}':>6} "
        f"{record['explaining'] / (seconds * record['workers']):>5.2f}",
        flush=True,
    )


def _read(path: Path | None) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path is not None and path.exists() else []


def _append(path: Path | None, record: dict[str, Any]) -> None:
    if path is not None:
        with path.open("a") as file:
            file.write(json.dumps(record) + "\n")


def shared(args: argparse.Namespace) -> None:
    """Print how many rows share a search, and what that saves, on columns of few values."""
    from sklearn.ensemble import RandomForestClassifier

    print("values  columns   rows  searches  share of searches  CPU of the batch / of its rows one by one")
    rng = np.random.default_rng(0)
    n = args.rows[0]
    for values, columns in ((2, 8), (2, 16), (4, 8), (8, 8)):
        X = rng.integers(0, values, size=(n, columns)).astype(np.float32)
        model = RandomForestClassifier(30, max_depth=6, random_state=0).fit(X, X[:, :3].sum(1) > 1.5 * (values - 1))
        explainer = tp.Explainer(model, tabulate=False)
        distinct = len(set(explainer.space.cells_of(X)))
        start = time.process_time()
        explainer.batch(X)
        middle = time.process_time()
        for row in X:
            explainer.abductive(row)
        ratio = (middle - start) / (time.process_time() - middle)
        print(f"{values:>6} {columns:>8} {n:>6} {distinct:>9} {distinct / n:>18.3f} {ratio:>12.3f}", flush=True)
        found = {"values": values, "columns": columns, "rows": n, "searches": distinct, "cpu_ratio": ratio}
        _append(args.json, {"part": "shared", **found})


def pickled(args: argparse.Namespace) -> None:
    """Print how long an explainer takes to be built, to be unpickled, and to be there in a process that starts."""
    from sklearn.ensemble import RandomForestClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, FEATURES)).astype(np.float32)
    model = RandomForestClassifier(100, random_state=0, n_jobs=1).fit(X, X[:, 0] + 0.4 * rng.normal(size=len(X)) > 0)
    start = time.process_time()
    explainer = tp.Explainer(model)
    built = time.process_time() - start
    content = pickle.dumps(explainer, protocol=pickle.HIGHEST_PROTOCOL)
    start = time.process_time()
    pickle.loads(content)
    read = time.process_time() - start
    with tempfile.NamedTemporaryFile(suffix=".pickle") as file:
        file.write(content)
        file.flush()
        imported = _started("import treeproof")
        there = _started(f"import pickle; pickle.load(open({file.name!r}, 'rb'))")
    record = {"nodes": explainer.forest.n_nodes, "mb": len(content) / 1e6, "built": built, "unpickled": read}
    _append(args.json, {"part": "pickle", **record, "import": imported, "start": there})
    print(
        f"{record['nodes']:,} nodes, {record['mb']:.1f} MB: built in {built:.2f} s of CPU, unpickled in {read:.2f} s. "
        f"A process that imports treeproof takes {imported:.2f} s of CPU, one that unpickles it {there:.2f} s."
    )


@lru_cache(maxsize=1)
def _as_installed() -> dict[str, str]:
    """Return an environment in which Python keeps its bytecode, as what is installed has it."""
    cache = Path(tempfile.gettempdir()) / "treeproof-bench-bytecode"
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(cache)}


def _started(code: str) -> float:
    """Return the seconds of CPU that a new process takes for some lines of Python; the second time, files are known."""
    import resource

    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True, env=_as_installed())
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("scale"), help="for tables, models and results")
    parser.add_argument("--part", choices=["tables", "shared", "pickle"], default="tables")
    parser.add_argument("--rows", type=_numbers, default=[10_000])
    parser.add_argument("--model", type=_words, default=list(MODELS))
    parser.add_argument("--workers", type=_numbers, default=[1, 2])
    parser.add_argument("--backend", type=_words, default=["threads", "loky", "dask"])
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="append what is measured; what is there is not measured again"
    )
    args = parser.parse_args()
    for chosen, there in ((args.model, MODELS), (args.backend, ("threads", "loky", "dask"))):
        for name in chosen:
            if name not in there:
                parser.error(f"There is no {name!r}; there are {', '.join(there)}.")
    args.folder.mkdir(parents=True, exist_ok=True)
    {"tables": measure, "shared": shared, "pickle": pickled}[args.part](args)


def _words(text: str) -> list[str]:
    return text.split(",")


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


if __name__ == "__main__":
    main()
