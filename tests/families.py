"""Random explainers with rows, and by enumeration all their minimal explanations of both kinds."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np

import treeproof as tp
from generators import Labels, random_forest, random_row
from treeproof.model.rows import as_row
from treeproof.query.cells import discretise

Family = set[frozenset[int]]


def random_case(seed: int, vote: str, oracle: str = "native", **options: Any) -> tuple[tp.Explainer, list[Any]]:
    """A forest of five or six features: binary ones, and at times a categorical, ordinal or one-hot one, or a rule."""
    rng = np.random.default_rng(seed)
    grouped = bool(rng.random() < 0.3)
    forest = random_forest(
        rng,
        vote=vote,
        n_columns=7 if grouped else 6,
        n_classes=int(rng.integers(2, 5)),
        n_trees=int(rng.integers(3, 10)),
        categorical=bool(rng.random() < 0.3),
    )
    row = random_row(rng, forest)
    kinds: dict[str, Any] = dict.fromkeys(["c1", "c2", "c3"], "binary")
    row[1:4] = rng.integers(0, 2, 3).astype(float).tolist()
    if rng.random() < 0.6:
        kinds["c4"] = "ordinal"
        row[4] = float(rng.integers(-3, 3))
    one_hot = {}
    if grouped:
        one_hot["group"] = ["c5", "c6"]
        row[5:] = [0.0, 1.0] if rng.random() < 0.5 else [1.0, 0.0]
    constraints = []
    if rng.random() < 0.3 and row[1] <= row[2]:
        constraints = ["if c1 >= 1 then c2 >= 1"]
    if oracle == "native":
        options.setdefault("tabulate", bool(rng.random() < 0.15))
    return tp.Explainer(forest, kinds=kinds, one_hot=one_hot, constraints=constraints, oracle=oracle, **options), row


def families(explainer: tp.Explainer, row: list[Any], target: Any = None) -> tuple[Family, Family]:
    """All abductive and all contrastive explanations, from the labels of all points."""
    cells = discretise(explainer.space)
    point = explainer.space.cells(as_row(row, explainer.forest.columns))
    label = cells.label(point)
    wanted = None if target is None else explainer.forest.class_index(target)
    labels = Labels(cells).labels
    breaks = (labels >= 0) & (labels != label) if wanted is None else labels == wanted
    masks = np.unique((np.argwhere(breaks) != point) @ (1 << np.arange(cells.n_features))).tolist()
    changes = [frozenset(f for f in range(cells.n_features) if mask >> f & 1) for mask in masks]
    contrastive = smallest(changes)
    everything = range(cells.n_features)
    subsets = [frozenset(s) for n in range(len(everything) + 1) for s in itertools.combinations(everything, n)]
    return smallest(s for s in subsets if all(s & c for c in contrastive)), contrastive


def smallest(sets: Iterable[frozenset[int]]) -> Family:
    """Those that contain no other."""
    kept: list[frozenset[int]] = []
    for s in sorted(sets, key=len):
        if not any(other <= s for other in kept):
            kept.append(s)
    return set(kept)
