"""The datasets and forests of the paper's Table 1, for the benchmarks.

A folder holds each dataset as ``NAME.csv`` or ``NAME.csv.gz`` (a header, the features, the class last) and
``table1.csv``, the table as printed.
"""

from __future__ import annotations

import csv
import gzip
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

SEED = 2021


def read_table(data: Path) -> dict[str, dict[str, str]]:
    """Return the lines of Table 1 by dataset."""
    with (data / "table1.csv").open(newline="") as file:
        return {line["dataset"]: line for line in csv.DictReader(file)}


@cache
def read(data: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows of a dataset in the file's order, as float32, and their classes."""
    path = next(path for path in (data / f"{name}.csv", data / f"{name}.csv.gz") if path.exists())
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", newline="") as file:
        rows = list(dict.fromkeys(tuple(row) for row in list(csv.reader(file))[1:]))
    return np.array([row[:-1] for row in rows], dtype=np.float32), np.array([int(row[-1]) for row in rows])


def train(X: np.ndarray, y: np.ndarray, depth: int | None, n_trees: int = 100, **settings: Any) -> Any:
    """Return the forest that the paper's recipe gives; `settings` are further ones of RandomForestClassifier."""
    X, _, y, _ = train_test_split(X, y, test_size=0.2, random_state=0)
    settings = {"criterion": "entropy", "random_state": 324089, **settings}
    return RandomForestClassifier(n_trees, max_depth=depth, **settings).fit(X, y)


def choose(X: np.ndarray, n_rows: int) -> np.ndarray:
    """Return `n_rows` rows, or all there are, drawn with a fixed seed."""
    return X[np.random.default_rng(SEED).choice(len(X), min(n_rows, len(X)), replace=False)]
