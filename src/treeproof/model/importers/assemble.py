"""What importers share: trees one by one, put together to a forest."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from treeproof.errors import ForestFormatError, InputError, UnsupportedModelError
from treeproof.model.columns import LEAF, Column, IntArray
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
    them begins, children are counted from the first node of all, and `adds_to` may have an entry per tree.
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
    # Arrays of the final type are taken as they are: a large model is not held twice.
    tree = trees[0] if len(trees) == 1 else _joined(trees, n_sums)
    feature, left, right = (_small(getattr(tree, name), name) for name in ("feature", "left", "right"))
    leaf = feature == LEAF
    left, right = (side if (side[leaf] == LEAF).all() else np.where(leaf, LEAF, side) for side in (left, right))
    subset = np.full(n_nodes, LEAF, dtype=np.int32)
    subsets: dict[frozenset[int], int] = {}
    for node, left_set in (tree.left_categories or {}).items():
        subset[node] = subsets.setdefault(left_set, len(subsets))
    threshold = np.array(tree.threshold, dtype=np.float64)
    threshold[leaf | (subset != LEAF)] = np.nan
    missing_left = np.zeros(n_nodes, bool) if tree.missing_left is None else np.asarray(tree.missing_left, bool) & ~leaf
    values = _values(tree, n_sums, leaf)
    arrays: dict[str, npt.NDArray[Any]] = {"feature": feature, "left": left, "right": right, "subset": subset}
    arrays |= {"threshold": threshold, "missing_left": missing_left, "values": values}
    for array in arrays.values():
        array.flags.writeable = False
    if not np.isfinite(values).all():
        raise UnsupportedModelError("Leaf values must be finite. Got NaN or infinity; were all sample weights zero?")
    return Forest(
        roots=np.asarray(tree.roots),
        subsets=tuple(subsets),
        classes=classes,
        columns=tuple(columns),
        importances=np.nan_to_num(np.asarray(importances, dtype=float)),
        vote=vote,
        dtype=dtype,
        sums=sums,
        **arrays,
    )


def _joined(trees: Sequence[Tree], n_sums: int) -> Tree:
    """Return all trees in one set of arrays."""
    first = np.cumsum([0, *(len(tree.feature) for tree in trees)])[:-1].tolist()

    def side(name: str) -> IntArray:
        parts = [_small(getattr(tree, name), name) for tree in trees]
        return np.concatenate([np.where(part == LEAF, LEAF, part + at) for part, at in zip(parts, first, strict=True)])

    sets = [((tree.left_categories or {}).items(), at) for tree, at in zip(trees, first, strict=True)]
    missing = [np.zeros(len(t.feature), bool) if t.missing_left is None else t.missing_left for t in trees]
    return Tree(
        feature=np.concatenate([_small(tree.feature, "feature") for tree in trees]),
        threshold=np.concatenate([np.asarray(tree.threshold, dtype=np.float64) for tree in trees]),
        left=side("left"),
        right=side("right"),
        values=np.concatenate([_values(tree, n_sums, np.asarray(tree.feature) == LEAF) for tree in trees]),
        missing_left=np.concatenate(missing),
        left_categories={at + node: left_set for items, at in sets for node, left_set in items},
        roots=np.concatenate([np.asarray(tree.roots) + at for tree, at in zip(trees, first, strict=True)]),
    )


def _values(tree: Tree, n_sums: int, leaf: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Return what each node adds to each sum; inner ones add nothing."""
    values, given = np.zeros((len(leaf), n_sums)), np.asarray(tree.values)
    if tree.adds_to is None:
        values[leaf] = given[leaf]
    elif n_sums == 1 or np.ndim(tree.adds_to) == 0:
        values[leaf, 0 if n_sums == 1 else tree.adds_to] = given[leaf]
    else:
        sizes = np.diff(np.append(tree.roots, len(leaf)))
        to = np.repeat(np.asarray(tree.adds_to, dtype=np.int32), sizes)
        values[leaf, to[leaf]] = given[leaf]
    return values


def _small(given: Any, name: str) -> IntArray:
    """Return numbers as 32-bit integers; a cast alone would wrap and truncate silently."""
    array = np.asarray(given)
    cast: IntArray = array.astype(np.int32, copy=False)
    if array.dtype != np.int32 and not np.array_equal(cast, array):
        raise ForestFormatError(f"'{name}' of nodes must be whole numbers below 2**31. Got others.")
    return cast


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
