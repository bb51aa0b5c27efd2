"""Measure a whole table: rows per second, memory and efficiency for numbers of rows, workers and kinds of workers.

``python -m treeproof_bench.scale --folder DIR [--rows 10000,100000] [--models xgboost,forest] [--workers 1,2]
[--backends threads,loky,dask] [--json FILE]``

It generates tables of 20 features, Parquet in 20 files, and the models in `DIR`, once, and runs ``treeproof explain
--all --out`` on them in processes of its own. With ``--json``, what is measured is kept, and not measured again.
``--part shared`` measures how many searches rows of discrete columns share, and ``--part pickle`` how long an explainer
takes to be built and to be unpickled.

* `rows_s`: rows per second of the whole run, its start included;
* `peak_mb`: the largest memory (PSS: shared pages count once) of all its processes together;
* `efficiency`: the sum of the explanations' own seconds with one thread, alone, divided by the run's seconds times its
  workers. Measure it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import pickle
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import treeproof as tp

FEATURES, FILES, TRAINED = 20, 20, 20_000
MODELS = ("xgboost", "forest")


def draw(n: int, seed: int) -> Any:
    """Return rows of 20 columns: ten continuous, ten of few values, with a label that depends on some of them."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, FEATURES // 2)).round(3)
    levels = rng.integers(0, 6, size=(n, FEATURES // 2))
    frame = pd.DataFrame(np.hstack([numbers, levels]), columns=[f"f{j}" for j in range(FEATURES)])
    score = frame.f0 + frame.f1 * (frame.f10 > 2) + 0.5 * frame.f11 - 0.4 * frame.f12 + 0.3 * rng.normal(size=n)
    return frame.astype(np.float32), (score > 0.25).astype(int)


def prepare(folder: Path, rows: int, model: str) -> tuple[Path, Path]:
    """Return the files of the table and of the model, made if they are not there."""
    table, saved = folder / f"rows-{rows}", folder / f"{model}.json"
    if not table.exists():
        begun = table.with_suffix(".begun")
        begun.mkdir(parents=True, exist_ok=True)
        for k in range(FILES):
            draw(rows // FILES, seed=k + 1)[0].to_parquet(begun / f"part-{k:02d}.parquet")
        begun.rename(table)
    if not saved.exists():
        tp.save_forest(tp.Explainer(make(model)).forest, saved)
    return table, saved


def make(model: str, trees: int = 100) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    X, y = draw(TRAINED, seed=0)
    if model == "forest":
        return RandomForestClassifier(trees, max_depth=8, random_state=0, n_jobs=1).fit(X, y)
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=trees, max_depth=4, learning_rate=0.1, n_jobs=1, random_state=0).fit(X, y)


def run(table: Path, model: Path, out: Path, workers: int, backend: str) -> dict[str, float]:
    """Return what one run takes."""
    import pyarrow.parquet as pq

    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "treeproof", "explain", str(model), str(table), "--all", "--out", str(out)]
    command += ["--jobs", str(workers), "--backend", backend, "--quiet"]
    start = time.perf_counter()
    with subprocess.Popen(command) as process:
        peak = [0.0]
        watch = threading.Thread(target=_watch, args=(process, peak))
        watch.start()
        code = process.wait()
        seconds = time.perf_counter() - start
        watch.join()
    if code != 0:
        raise RuntimeError(f"The run ended with {code}: {' '.join(command)}")
    alone = [pq.read_table(file, columns=["seconds"])["seconds"].to_numpy() for file in out.glob("*.parquet")]
    return {"seconds": seconds, "explaining": float(np.concatenate(alone).sum()), "peak_mb": peak[0] / 1e6}


def _watch(process: subprocess.Popen[bytes], peak: list[float]) -> None:
    """Keep the largest memory of a process and its children, five times a second."""
    while process.poll() is None:
        peak[0] = max(peak[0], sum(_memory(pid) for pid in _family(process.pid)))
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


def measure(args: argparse.Namespace) -> None:
    known = [json.loads(line) for line in args.json.read_text().splitlines()] if _exists(args.json) else []
    names = ("model", "rows", "workers", "backend")
    print("model     rows      workers backend   rows/s  peak MB  efficiency")
    for model in args.models:
        for rows in args.rows:
            table, saved = prepare(args.folder, rows, model)
            wanted = [
                (1, "threads"),
                *((w, b) for b in args.backends for w in args.workers if (w, b) != (1, "threads")),
            ]
            for workers, backend in wanted:
                place = dict(zip(names, (model, rows, workers, backend), strict=True))
                record = next((each for each in known if {n: each[n] for n in names} == place), None)
                if record is None:
                    record = place | run(table, saved, args.folder / "out", workers, backend)
                    known.append(record)
                    if args.json:
                        with args.json.open("a") as file:
                            file.write(json.dumps(record) + "\n")
                alone = next(
                    each["explaining"]
                    for each in known
                    if (each["model"], each["rows"], each["workers"], each["backend"]) == (model, rows, 1, "threads")
                )
                efficiency = alone / (record["seconds"] * workers)
                rate = rows / record["seconds"]
                print(
                    f"{model:<9} {rows:>9,} {workers:>7} {backend:<8} {rate:>7.0f} {record['peak_mb']:>8.0f} "
                    f"{efficiency:>11.2f}",
                    flush=True,
                )


def _exists(path: Path | None) -> bool:
    return path is not None and path.exists()


def shared(args: argparse.Namespace) -> None:
    """Print how many rows share a search, and what that saves, on columns of few values."""
    print("values  rows   distinct cells  CPU of a batch / CPU of its rows one by one")
    rng = np.random.default_rng(0)
    for values in (2, 4, 8):
        X = rng.integers(0, values, size=(args.rows[0], 8)).astype(np.float32)
        from sklearn.ensemble import RandomForestClassifier

        explainer = tp.Explainer(
            RandomForestClassifier(30, max_depth=6, random_state=0).fit(X, X[:, :3].sum(1) > values)
        )
        distinct = len(set(explainer.space.cells_of(X)))
        start = time.process_time()
        explainer.batch(X)
        middle = time.process_time()
        for row in X:
            explainer.abductive(row)
        ratio = (middle - start) / (time.process_time() - middle)
        print(f"{values:>6} {len(X):>6} {distinct:>14} {ratio:>12.2f}")


def pickled(args: argparse.Namespace) -> None:
    """Print how long an explainer takes to be built, and to be unpickled, and what importing takes."""
    from sklearn.ensemble import RandomForestClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, FEATURES)).astype(np.float32)
    model = RandomForestClassifier(100, random_state=0, n_jobs=1).fit(X, X[:, 0] + 0.5 * rng.normal(size=len(X)) > 0)
    start = time.process_time()
    explainer = tp.Explainer(model)
    built = time.process_time() - start
    content = pickle.dumps(explainer)
    start = time.process_time()
    pickle.loads(content)
    read = time.process_time() - start
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import treeproof"], check=True)
    imported = time.perf_counter() - start
    print(
        f"{explainer.forest.n_nodes:,} nodes, {len(content) / 1e6:.1f} MB: built in {built:.2f} s of CPU, unpickled in "
        f"{read:.2f} s; a process that imports treeproof takes {imported:.2f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("scale"), help="for tables, models and results")
    parser.add_argument("--part", choices=["tables", "shared", "pickle"], default="tables")
    parser.add_argument("--rows", type=_numbers, default=[10_000])
    parser.add_argument("--models", type=_words, default=list(MODELS))
    parser.add_argument("--workers", type=_numbers, default=[1, 2])
    parser.add_argument("--backends", type=_words, default=["threads", "loky", "dask"])
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep what is measured; do not measure it again")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    {"tables": measure, "shared": shared, "pickle": pickled}[args.part](args)


def _words(text: str) -> list[str]:
    return text.split(",")


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


if __name__ == "__main__":
    main()
