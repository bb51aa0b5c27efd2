"""What importers share: trees one by one, put together to a forest."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from treeproof.errors import InputError, UnsupportedModelError
from treeproof.model.columns import LEAF, Column
from treeproof.model.decision import Sums, Vote
from treeproof.model.floats import FloatName
from treeproof.model.forest import Forest

MOST_VALUES = 2**27
"""Nodes times sums of a forest, at most: a small file may claim to have very many classes."""


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """One tree: arrays with one entry per node, the root first, every child behind its parent.

    `feature`, `left` and `right` are -1 at leaves. `values` has one row per node, or, if the tree adds to one sum only,
    one number per node, and `adds_to` says which sum that is; what inner nodes have is ignored. `missing_left` says
    where missing values go. `left_categories` has, for nodes that split a categorical column, the categories' indices
    that go left; their threshold does not matter.

    Where the nodes of several trees are at hand in one set of arrays, one after the other, `roots` says where each of
    them begins, children are counted from the first node of all, and `adds_to` may have an entry per node.
    """

    feature: Sequence[int] | npt.NDArray[Any]
    threshold: Sequence[float] | npt.NDArray[Any]
    left: Sequence[int] | npt.NDArray[Any]
    right: Sequence[int] | npt.NDArray[Any]
    values: Sequence[Sequence[float]] | Sequence[float] | npt.NDArray[Any]
    missing_left: Sequence[bool] | npt.NDArray[Any] | None = None
    left_categories: dict[int, frozenset[int]] | None = None
    adds_to: int | npt.NDArray[Any] | None = None
    roots: Sequence[int] | npt.NDArray[Any] = (0,)


def assemble(
    trees: Sequence[Tree],
    *,
    classes: Any,
    columns: Sequence[Column],
    importances: Any,
    vote: Vote,
    dtype: FloatName = "float32",
    sums: Sums | None = None,
) -> Forest:
    """Return the forest of these trees."""
    n_sums = len(classes) if sums is None else len(sums.start)
    n_nodes = sum(len(tree.feature) for tree in trees)
    if not trees:
        raise UnsupportedModelError("The model must have at least one tree. Got none.")
    if n_nodes * n_sums > MOST_VALUES:
        raise UnsupportedModelError(
            f"The model must have at most {MOST_VALUES} leaf values. Got {n_nodes} nodes, for {n_sums} sums each."
        )
    values = np.zeros((n_nodes, n_sums))
    parts: dict[str, list[Any]] = {
        name: [] for name in ("roots", "feature", "threshold", "left", "right", "missing_left", "subset")
    }
    subsets: dict[frozenset[int], int] = {}
    offset = 0
    for tree in trees:
        feature = np.asarray(tree.feature)
        leaf = feature == LEAF
        categories = tree.left_categories or {}
        subset = np.full(len(feature), LEAF, dtype=np.int32)
        for node, left_set in categories.items():
            subset[node] = subsets.setdefault(left_set, len(subsets))
        parts["roots"].append(np.asarray(tree.roots) + offset)
        parts["feature"].append(feature)
        parts["threshold"].append(np.where(leaf | (subset != LEAF), np.nan, np.asarray(tree.threshold, dtype=float)))
        parts["left"].append(np.where(leaf, LEAF, np.asarray(tree.left) + offset))
        parts["right"].append(np.where(leaf, LEAF, np.asarray(tree.right) + offset))
        at = np.flatnonzero(leaf)
        to: Any = slice(None) if tree.adds_to is None else tree.adds_to
        values[offset + at, to if np.ndim(to) == 0 else to[at]] = np.asarray(tree.values, dtype=float)[at]
        missing = np.zeros(len(feature), bool) if tree.missing_left is None else np.asarray(tree.missing_left, bool)
        parts["missing_left"].append(missing & ~leaf)
        parts["subset"].append(subset)
        offset += len(feature)
    arrays = {name: np.concatenate(chunks) for name, chunks in parts.items()}
    if not np.isfinite(values).all():
        raise UnsupportedModelError("Leaf values must be finite. Got NaN or infinity; were all sample weights zero?")
    return Forest(
        subsets=tuple(subsets),
        classes=classes,
        columns=tuple(columns),
        importances=np.nan_to_num(np.asarray(importances, dtype=float)),
        values=values,
        vote=vote,
        dtype=dtype,
        sums=sums,
        **arrays,
    )


def split_counts(trees: Iterable[Tree], n_columns: int) -> npt.NDArray[np.float64]:
    """Return how many splits each column has: an importance, where the model has no other."""
    counts = np.zeros(n_columns)
    for tree in trees:
        feature = np.asarray(tree.feature)
        counts += np.bincount(feature[feature != LEAF], minlength=n_columns)
    return counts


def column_names(model: Any) -> list[str]:
    """Return the names of a fitted scikit-learn model's columns, or x0, x1, ... if it never saw names."""
    names = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(model.n_features_in_)] if names is None else [str(name) for name in names]


def require_methods(model: Any, base: type, methods: Iterable[str]) -> None:
    """Refuse a model that has its own version of a method that `base` predicts with."""
    for method in methods:
        # getattr_static sees an attribute set on the instance too, and runs no code of the model.
        if inspect.getattr_static(model, method) is not inspect.getattr_static(base, method):
            raise UnsupportedModelError(
                f"{type(model).__name__} has its own '{method}', which treeproof does not know and so cannot prove "
                f"anything about. Pass a model that predicts as {base.__name__} does."
            )


def refuse_any_vote(vote: Vote | None) -> None:
    """Refuse a vote: boosted trees add up, and each of them alone says nothing about the label."""
    if vote is not None:
        raise InputError(f"Boosted trees take no vote. Got vote={vote!r}; leave it out to explain the model's predict.")
