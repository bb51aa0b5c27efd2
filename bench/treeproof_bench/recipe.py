"""The datasets, forests and instances of the paper's Table 1, as its authors made them.

A folder holds each dataset as ``NAME.csv`` or ``NAME.csv.gz`` (a header, the features, the class last, a whole number)
and ``table1.csv``, the table as printed, of which the columns ``dataset`` and ``depth`` are needed.
"""

from __future__ import annotations

import csv
import gzip
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import treeproof as tp

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Line = dict[str, Any]

N_TREES = 100
SPLIT_SEED = 0
FOREST_SEED = 324089
# numpy's RandomState(7) draws the 60 instances of iris that the published tool comes with, in their order, and as many
# instances as Table 1 prints for all 32 datasets, of which six lose some to repeats: the sample of the paper.
SAMPLE_SEED = 7


def read_table(data: Path) -> dict[str, Line]:
    """Return the lines of Table 1 by dataset: numbers as numbers, what is empty as None."""
    path = data / "table1.csv"
    if not path.is_file():
        raise tp.InputError(f"The folder of datasets must hold table1.csv. Got {data}.")
    with path.open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    if not lines or not {"dataset", "depth"} <= set(lines[0]):
        raise tp.InputError(f"{path} must have lines with the columns dataset and depth.")
    try:
        return {line.pop("dataset"): {key: _number(text) for key, text in line.items()} for line in lines}
    except ValueError as error:
        raise tp.InputError(f"{path} must hold numbers but for the first column. Got: {error}.") from error


def find(data: Path, name: str) -> Path:
    """Return the file of a dataset."""
    for path in (data / f"{name}.csv", data / f"{name}.csv.gz"):
        if path.is_file():
            return path
    raise tp.InputError(f"The dataset {name} must be in the folder, as {name}.csv or {name}.csv.gz. Got {data}.")


def read(data: Path, name: str) -> tuple[Floats, Integers]:
    """Return the distinct rows of a dataset in the file's order, as float32, and their classes."""
    rows = list(dict.fromkeys(_rows(data, name)))
    try:
        return _features(rows), np.array([int(row[-1]) for row in rows])
    except (ValueError, IndexError) as error:
        raise tp.InputError(f"{find(data, name)} must hold numbers, and a class last. Got: {error}.") from error


def sample(data: Path, name: str, n: int | None = None, seed: int = SAMPLE_SEED) -> tuple[list[int], Floats]:
    """Return the instances that the paper explains, at most `n`: their places in the file, from 0, and the rows.

    40, 20, 10 or 2 % of the rows by the size of the dataset, rounded up; instances that repeat count once.
    """
    rows = _rows(data, name)
    size = len(rows)
    percent = 40 if size < 200 else 20 if size < 1000 else 10 if size < 10_000 else 2
    drawn = np.random.RandomState(seed).permutation(size)[: -(-size * percent // 100)].tolist()
    first = {rows[place][:-1]: place for place in reversed(drawn)}
    places = [place for place in drawn if first[rows[place][:-1]] == place][:n]
    return places, _features([rows[place] for place in places])


def draw(X: Floats, n: int) -> Floats:
    """Return `n` rows, or all there are, drawn with a fixed seed."""
    return X[np.random.RandomState(SAMPLE_SEED).permutation(len(X))[:n]]


def settings(depth: int | None, n_trees: int = N_TREES) -> dict[str, Any]:
    """Return the arguments of RandomForestClassifier."""
    return {"n_estimators": n_trees, "max_depth": depth, "criterion": "entropy", "random_state": FOREST_SEED}


def split(X: Floats, y: Integers) -> tuple[Floats, Floats, Integers, Integers]:
    """Return the rows for training and for testing, and their classes: 80 and 20 %."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=SPLIT_SEED)
    return X_train, X_test, y_train, y_test


def train(X: Floats, y: Integers, depth: int | None, n_trees: int = N_TREES, **others: Any) -> Any:
    """Return the forest that the paper's recipe gives; `others` are further settings of RandomForestClassifier."""
    X_train, _, y_train, _ = split(X, y)
    return RandomForestClassifier(**{**settings(depth, n_trees), **others}).fit(X_train, y_train)


def voting(forest: Any) -> tp.MajorityForestClassifier:
    """Return a forest with the same trees whose ``predict`` is their majority vote, as in the paper."""
    same = tp.MajorityForestClassifier(**forest.get_params())
    same.__dict__.update(forest.__dict__)
    return same


def n_nodes(forest: Any) -> int:
    """Return the number of nodes of all trees, #N."""
    return sum(tree.tree_.node_count for tree in forest.estimators_)


@lru_cache(maxsize=1)
def _rows(data: Path, name: str) -> list[tuple[str, ...]]:
    path = find(data, name)
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", newline="", encoding="utf-8") as file:
            return [tuple(row) for row in list(csv.reader(file))[1:] if row]
    except (UnicodeDecodeError, csv.Error, gzip.BadGzipFile, EOFError) as error:
        raise tp.InputError(f"{path} must be a CSV file. Got: {error}.") from error


def _features(rows: list[tuple[str, ...]]) -> Floats:
    return np.array([row[:-1] for row in rows], dtype=np.float32)


def _number(text: str | None) -> int | float | None:
    if not text:
        return None
    return float(text) if "." in text else int(text)
