"""Forests written by hand: trees as nested calls, turned into a `Forest`.

For the paper's running example, for tests, and for people who come from tools with a format of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treeproof.errors import InputError
from treeproof.forest import LEAF, Column, Forest, Label, Vote


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf; made by `leaf`."""

    value: Any


@dataclass(frozen=True, slots=True)
class Split:
    """An inner node; made by `split` and `isin`."""

    column: str
    threshold: float
    categories: tuple[Label, ...] | None
    yes: Split | Leaf
    no: Split | Leaf


Node = Split | Leaf


def leaf(value: Any) -> Leaf:
    """Return a leaf: a class label, or a sequence with a value for each class.

    >>> leaf("Yes")
    Leaf(value='Yes')
    """
    return Leaf(value)


def split(column: str, threshold: float, yes: Node | Any, no: Node | Any) -> Split:
    """Return a node that goes to `yes` iff ``column <= threshold``; anything but a node becomes a leaf.

    >>> split("weight", 75, "No", "Yes").no
    Leaf(value='Yes')
    """
    return Split(column, float(threshold), None, _node(yes), _node(no))


def isin(column: str, categories: Collection[Label], yes: Node | Any, no: Node | Any) -> Split:
    """Return a node that goes to `yes` iff ``column`` is one of the categories.

    >>> isin("colour", ["red", "blue"], 0, 1).categories
    ('red', 'blue')
    """
    if isinstance(categories, str):
        raise InputError(f"The categories of a split must be a list. Got the string {categories!r}.")
    return Split(column, float("nan"), tuple(categories), _node(yes), _node(no))


def build_forest(
    trees: Sequence[Node | Any],
    *,
    columns: Sequence[str | Column],
    classes: Sequence[Label],
    vote: Vote = "majority",
    importances: Sequence[float] | None = None,
) -> Forest:
    """Return the forest of the given trees.

    Parameters
    ----------
    trees
        One node or leaf for each tree.
    columns
        Name of each numeric column, or ``Column(name, categories)`` for a categorical one.
    classes
        The class labels, in the order in which ties are resolved.
    vote
        The decision rule.
    importances
        Importance of each column; by default the share of splits on it.

    Examples
    --------
    >>> forest = build_forest(
    ...     [isin("colour", ["red"], "stop", "go"), split("speed", 30, "go", "stop")],
    ...     columns=[Column("colour", ("red", "amber", "green")), "speed"],
    ...     classes=["go", "stop"],
    ... )
    >>> forest.predict([["red", 50], ["green", 50]]).tolist()
    ['stop', 'go']
    """
    all_columns = tuple(Column(column) if isinstance(column, str) else column for column in columns)
    writer = _Writer(all_columns, list(classes))
    for tree in trees:
        writer.roots.append(len(writer.feature))
        writer.write(_node(tree))
    splits = np.bincount([f for f in writer.feature if f != LEAF], minlength=len(all_columns))
    return Forest(
        roots=np.array(writer.roots, dtype=np.int32),
        feature=np.array(writer.feature, dtype=np.int32),
        threshold=np.array(writer.threshold, dtype=np.float64),
        subset=np.array(writer.subset, dtype=np.int32),
        left=np.array(writer.left, dtype=np.int32),
        right=np.array(writer.right, dtype=np.int32),
        values=np.array(writer.values, dtype=np.float64).reshape(-1, len(writer.classes)),
        subsets=tuple(writer.subsets),
        classes=np.array(list(classes)),
        columns=all_columns,
        importances=np.array(splits / max(1, splits.sum()) if importances is None else importances),
        vote=vote,
    )


def _node(value: Any) -> Node:
    return value if isinstance(value, Split | Leaf) else Leaf(value)


class _Writer:
    """Lays nodes out in preorder."""

    def __init__(self, columns: Sequence[Column], classes: list[Label]) -> None:
        self.columns = {column.name: (j, column.categories) for j, column in enumerate(columns)}
        self.classes = classes
        self.roots: list[int] = []
        self.feature: list[int] = []
        self.threshold: list[float] = []
        self.subset: list[int] = []
        self.left: list[int] = []
        self.right: list[int] = []
        self.values: list[list[float]] = []
        self.subsets: list[frozenset[int]] = []

    def write(self, node: Node) -> int:
        at = len(self.feature)
        self.feature.append(LEAF)
        self.threshold.append(float("nan"))
        self.subset.append(LEAF)
        self.left.append(LEAF)
        self.right.append(LEAF)
        if isinstance(node, Leaf):
            self.values.append(self.leaf_values(node.value))
            return at
        self.values.append([0.0] * len(self.classes))
        if node.column not in self.columns:
            raise InputError(f"A split must be on one of {list(self.columns)}. Got {node.column!r}.")
        column, categories = self.columns[node.column]
        if (categories is None) != (node.categories is None):
            raise InputError(f"Column {node.column!r} must be split by {'split' if categories is None else 'isin'}().")
        self.feature[at] = column
        self.threshold[at] = node.threshold
        if node.categories is not None:
            assert categories is not None
            unknown = [category for category in node.categories if category not in categories]
            if unknown:
                raise InputError(f"Categories of {node.column!r} must be among {list(categories)}. Got {unknown}.")
            subset = frozenset(categories.index(category) for category in node.categories)
            if subset not in self.subsets:
                self.subsets.append(subset)
            self.subset[at] = self.subsets.index(subset)
        self.left[at] = self.write(node.yes)
        self.right[at] = self.write(node.no)
        return at

    def leaf_values(self, value: Any) -> list[float]:
        if isinstance(value, list | tuple | np.ndarray):
            if len(value) != len(self.classes):
                raise InputError(f"A leaf must have {len(self.classes)} values, one per class. Got {len(value)}.")
            return [float(v) for v in value]
        if value not in self.classes:
            raise InputError(f"A leaf's class must be one of {self.classes}. Got {value!r}.")
        return [float(label == value) for label in self.classes]
