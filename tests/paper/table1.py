"""The datasets and forests of the paper's Table 1, where the data is at hand.

The data does not belong to this repository. Tests that need it look in the folder named by the environment variable
TREEPROOF_DATA, else in ``shared/data`` beside the checkout, and skip when neither is there.
"""

from __future__ import annotations

import csv
import os
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

import treeproof as tp

DATA = Path(os.environ.get("TREEPROOF_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
TABLE = {}
if (DATA / "table1.csv").exists():
    with (DATA / "table1.csv").open() as file:
        TABLE = {row["dataset"]: row for row in csv.DictReader(file)}


@cache
def rows_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The different rows of a dataset and their classes."""
    path = DATA / f"{name}.csv"
    frame = pd.read_csv(path if path.exists() else f"{path}.gz").drop_duplicates()
    return frame.iloc[:, :-1].to_numpy(np.float32), frame.iloc[:, -1].to_numpy()


@cache
def trained(name: str) -> tuple[tp.MajorityForestClassifier, float]:
    """The forest of Table 1 and its accuracy on held-out rows."""
    X, y = rows_of(name)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
    depth = int(TABLE[name]["depth"])
    model = tp.MajorityForestClassifier(100, max_depth=depth, criterion="entropy", random_state=324089)
    model.fit(X_train, y_train)
    return model, float(np.mean(model.predict(X_test) == y_test))
