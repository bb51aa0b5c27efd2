"""A folder as the benchmarks expect it, with made-up datasets."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

COLUMNS = ["dataset", "instances", "depth", "nodes", "accuracy", "sat_calls", "axp_avg_s", "axp_won_pct"]


def write_datasets(folder: Path) -> Path:
    """Write two datasets, some rows of the first twice, and a table whose figures are wrong for the second."""
    X = np.random.default_rng(0).integers(0, 8, size=(80, 4))
    rows = [[*row, int(row[0] + row[1] > 7)] for row in X.tolist()]
    _write(folder / "sums.csv", [["a", "b", "c", "d", "class"], *rows, *rows[:40]])
    rows = [[*row, int(row[0] > 3) + int(row[2] > 5)] for row in X.tolist()]
    _write(folder / "steps.csv", [["a", "b", "c", "d", "class"], *rows])
    lines = [["sums", 42, 3, 968, 68, 2, 0.5, 100], ["steps", 1, 2, 1, 1, 0, 0, 100]]
    _write(folder / "table1.csv", [COLUMNS, *lines])
    return folder


def _write(path: Path, rows: list[list[object]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
