"""The datasets and forests of the paper's Table 1, where the data is at hand.

The data does not belong to this repository. Tests that need it look in the folder named by the environment variable
TREEPROOF_DATA, else in ``shared/data`` beside the checkout, and skip when neither is there.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np

import treeproof as tp
from treeproof_bench import recipe

DATA = Path(os.environ.get("TREEPROOF_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
TABLE = recipe.read_table(DATA) if (DATA / "table1.csv").exists() else {}


@cache
def rows_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The different rows of a dataset and their classes."""
    return recipe.read(DATA, name)


@cache
def trained(name: str) -> tuple[tp.MajorityForestClassifier, float]:
    """The forest of Table 1 and its accuracy on held-out rows."""
    X, y = rows_of(name)
    _, X_test, _, y_test = recipe.split(X, y)
    model = recipe.voting(recipe.train(X, y, TABLE[name]["depth"]))
    return model, float(np.mean(model.predict(X_test) == y_test))
