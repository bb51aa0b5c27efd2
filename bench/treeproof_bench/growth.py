"""What more trees, deeper trees, more features and more classes cost, on data that anyone has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_classification

import treeproof as tp
from treeproof_bench import recipe
from treeproof_bench.timing import medians, predicts, take_turns

# Curve: what it is about, and the places on it. No limit of depth is None.
CURVES: dict[str, tuple[str, tuple[int | None, ...]]] = {
    "trees": ("trees (digits, depth 5)", (10, 30, 100, 300, 1000)),
    "depth": ("limit of depth (digits, 100 trees)", (3, 5, 8, 12, None)),
    "features": ("features (made-up data, 2 classes, depth 6)", (4, 16, 64, 256, 784)),
    "classes": ("classes (made-up data, 20 features, depth 6)", (2, 4, 8, 16, 32)),
}
INSTANCES = 20
SEED = 2021

Record = dict[str, Any]


def places() -> Iterator[tuple[str, int | None]]:
    """Yield all places of all curves."""
    for curve, (_, along) in CURVES.items():
        for at in along:
            yield curve, at


def measure(curve: str, at: int | None, limit: float, repeats: int) -> Record:
    """Return the record of one place: explanations by the native oracle, default order, beside one-row ``predict``."""
    X, forest = _grown(curve, at)
    explain = partial(tp.Explainer(recipe.voting(forest)).abductive, timeout=limit)
    actions: dict[str, Callable[[Any], Any]] = {"explain": explain, "predict": predicts(forest)}
    timed = take_turns(actions, recipe.draw(X, INSTANCES), repeats)
    results = timed["explain"].results
    return {
        "curve": curve,
        "at": at,
        "nodes": recipe.n_nodes(forest),
        "length": float(np.mean([len(why.features) for why in results])),
        "over_limit": sum(why.status != "minimal" for why in results),
        **{f"{name}_ms": [round(float(ms), 3) for ms in medians(each)] for name, each in timed.items()},
    }


def _grown(curve: str, at: int | None) -> tuple[recipe.Floats, Any]:
    depth: int | None = 6
    n_trees = recipe.N_TREES
    if curve == "features":
        assert at is not None
        X, y = make_classification(2000, at, n_informative=max(2, at // 4), random_state=SEED)
    elif curve == "classes":
        X, y = make_classification(
            4000, 20, n_informative=16, n_redundant=0, n_classes=at, n_clusters_per_class=1, random_state=SEED
        )
    else:
        X, y = load_digits(return_X_y=True)
        depth, n_trees = (5, at or 0) if curve == "trees" else (at, n_trees)
    X = X.astype(np.float32)
    return X, recipe.train(X, y, depth, n_trees)
