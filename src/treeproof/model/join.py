"""The trees of two models side by side, over the same columns and the same numbers."""

from __future__ import annotations

import dataclasses

import numpy as np

from treeproof.errors import InputError
from treeproof.model.columns import LEAF, FloatArray
from treeproof.model.decision import Sums
from treeproof.model.forest import Forest


def join(old: Forest, new: Forest) -> Forest:
    """Return the trees of both, those of `old` first; of what they add up nothing is kept.

    Columns are matched by name, and stand as in `old`. Where one model rounds its inputs to float32 and the other does
    not, thresholds of the first are those float64 numbers up to which inputs are rounded to its left side.
    """
    order = columns_of(new, old)
    dtype = old.dtype if old.dtype == new.dtype else "float64"
    place = np.array([*order, LEAF], dtype=np.int32)  # the last is for leaves, whose column is -1
    moved = np.where(new.feature == LEAF, LEAF, place[new.feature]).astype(np.int32)
    n, n_subsets = old.n_nodes, len(old.subsets)

    def behind(items: np.ndarray, by: int) -> np.ndarray:
        return np.where(items >= 0, items + by, items)

    def thresholds(forest: Forest) -> FloatArray:
        return forest.threshold if forest.dtype == dtype else _as_float64(forest.threshold)

    return Forest(
        roots=np.append(old.roots, new.roots + n),
        feature=np.append(old.feature, moved),
        threshold=np.append(thresholds(old), thresholds(new)),
        subset=np.append(old.subset, behind(new.subset, n_subsets)),
        left=np.append(old.left, behind(new.left, n)),
        right=np.append(old.right, behind(new.right, n)),
        values=np.zeros((n + new.n_nodes, 1)),
        subsets=(*old.subsets, *new.subsets),
        classes=np.array(["any score"]),
        columns=old.columns,
        importances=old.importances,
        vote="sum",
        missing_left=np.append(old.missing_left, new.missing_left),
        dtype=dtype,
        sums=Sums((0.0,), cuts=()),
    )


def columns_of(new: Forest, old: Forest) -> list[int]:
    """Return for each column of `new` its place in `old`; InputError unless both have the same columns."""
    names = list(old.column_names)
    by_position = [f"x{j}" for j in range(new.n_columns)]
    if sorted(new.column_names) == sorted(names):
        order = [names.index(name) for name in new.column_names]
    elif new.n_columns == len(names) and by_position in (list(new.column_names), names):
        order = list(range(len(names)))  # one was trained without names, and reads by position
    else:
        raise InputError(f"Both models must have the same columns. Got {names[:10]} and {list(new.column_names)[:10]}.")
    for j, place in enumerate(order):
        one, other = old.columns[place], dataclasses.replace(new.columns[j], name=old.columns[place].name)
        if one.categories != other.categories:
            raise InputError(f"Both models must know the same values of {one.name!r}. They do not.")
    return order


def _as_float64(thresholds: FloatArray) -> FloatArray:
    """Return the largest float64 that rounds to a float32 of at most the threshold."""
    single = thresholds.astype(np.float32)
    with np.errstate(over="ignore"):
        above = np.nextafter(single, np.float32(np.inf)).astype(np.float64)
    middle = np.where(np.isfinite(above), single.astype(np.float64) / 2 + above / 2, thresholds)
    goes_left = middle.astype(np.float32) <= single
    return np.where(np.isnan(thresholds) | goes_left, middle, np.nextafter(middle, -np.inf))
