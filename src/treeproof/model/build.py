"""Forests written by hand: trees as nested calls, turned into a `Forest`.

For the paper's running example, for tests, and for users of tools with their own format.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from treeproof.errors import InputError, is_list, require_list
from treeproof.model.columns import LEAF, Column, Label
from treeproof.model.decision import Sums, Vote
from treeproof.model.floats import FloatName
from treeproof.model.forest import Forest


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf; made by `leaf`."""

    value: Any


@dataclass(frozen=True, slots=True)
class Split:
    """An inner node; made by `split` and `isin`."""

    column: str
    threshold: float
    categories: tuple[Label | None, ...] | None
    yes: Split | Leaf
    no: Split | Leaf
    missing: Literal["yes", "no"] = "no"


Node = Split | Leaf


def leaf(value: Any) -> Leaf:
    """Return a leaf: a class label, or a sequence with one value per class.

    >>> leaf("Yes")
    Leaf(value='Yes')
    """
    return Leaf(value)


def split(
    column: str, threshold: float, yes: Node | Any, no: Node | Any, missing: Literal["yes", "no"] = "no"
) -> Split:
    """Return a node that goes to `yes` iff ``column <= threshold``; anything but a node becomes a leaf.

    A missing value, where the column allows one, goes to `missing`.

    >>> split("weight", 75, "No", "Yes").no
    Leaf(value='Yes')
    """
    if not isinstance(missing, str) or missing not in ("yes", "no"):
        raise InputError(f"Missing values go to 'yes' or 'no'. Got {missing!r}.")
    return Split(column, _float(threshold, "A threshold"), None, _node(yes), _node(no), missing)


def isin(column: str, categories: Collection[Label | None], yes: Node | Any, no: Node | Any) -> Split:
    """Return a node that goes to `yes` iff ``column`` is one of the categories.

    >>> isin("colour", ["red", "blue"], 0, 1).categories
    ('red', 'blue')
    """
    if not is_list(categories) or not isinstance(categories, Collection):
        kind = "the string " if isinstance(categories, str) else ""
        raise InputError(f"The categories of a split must be a list. Got {kind}{categories!r}.")
    return Split(column, float("nan"), tuple(categories), _node(yes), _node(no))


def build_forest(
    trees: Sequence[Node | Any],
    *,
    columns: Sequence[str | Column],
    classes: Sequence[Label],
    vote: Vote = "majority",
    importances: Sequence[float] | None = None,
    dtype: FloatName = "float32",
    sums: Sums | None = None,
) -> Forest:
    """Return the forest of the given trees.

    Parameters
    ----------
    trees
        One node or leaf per tree.
    columns
        Name of each numeric column, or ``Column(name, categories)`` for a categorical one.
    classes
        The class labels, in the order in which ties are resolved.
    vote
        The decision rule.
    importances
        Importance of each column; by default the share of splits on it.
    dtype
        The float type to which inputs are rounded.
    sums
        With vote ``"sum"``: how sums of leaf values become a label. With cuts, a leaf has one value.

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
    for parameter, given in (("trees", trees), ("columns", columns), ("classes", classes)):
        require_list(parameter, given, parameter)
    if sums is not None and not isinstance(sums, Sums):
        raise InputError(f"The 'sums' parameter must be None or a Sums. Got {sums!r} instead.")
    all_columns = tuple(Column(column) if isinstance(column, str) else column for column in columns)
    for column in all_columns:
        if not isinstance(column, Column):
            raise InputError(f"A column must be a name or a Column. Got {column!r}.")
    labels = _labels(classes)
    if not all(isinstance(label, str | int | float | np.generic) for label in labels.tolist()):
        raise InputError(f"Classes must be texts or numbers. Got {list(classes)!r}.")
    n_sums = len(labels) if sums is None or sums.cuts is None else 1
    writer = _Writer(all_columns, labels.tolist(), n_sums)
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
        values=np.array(writer.values, dtype=np.float64).reshape(len(writer.feature), n_sums),
        subsets=tuple(writer.subsets),
        classes=labels,
        columns=all_columns,
        importances=np.array(splits / max(1, splits.sum()) if importances is None else importances),
        vote=vote,
        missing_left=np.array(writer.missing_left, dtype=np.bool_),
        dtype=dtype,
        sums=sums,
    )


def _node(value: Any) -> Node:
    return value if isinstance(value, Split | Leaf) else Leaf(value)


def _float(value: Any, what: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{what} must be a number. Got {value!r}.") from error


def _labels(classes: Any) -> np.ndarray[Any, Any]:
    """Return the labels as an array that keeps their types: numpy alone would turn [0, "a"] into strings."""
    if isinstance(classes, np.ndarray):
        return classes
    plain = [label.item() if isinstance(label, np.generic) else label for label in classes]
    array = np.array(plain)
    same = array.ndim == 1 and [type(label) for label in array.tolist()] == [type(label) for label in plain]
    return array if same else np.array(plain, dtype=object)


def _key(label: Any) -> tuple[bool, Any]:
    """Return what two equal labels share; True does not equal 1."""
    plain = label.item() if isinstance(label, np.generic) else label
    return isinstance(plain, bool), plain


def _places(labels: Iterable[Any]) -> dict[tuple[bool, Any], int]:
    """Return the place of each label, the first where there are several; looked up, as there may be many."""
    found: dict[tuple[bool, Any], int] = {}
    for i, label in enumerate(labels):
        found.setdefault(_key(label), i)
    return found


def _place(label: Any, places: Mapping[tuple[bool, Any], int]) -> int | None:
    try:
        return places.get(_key(label))
    except TypeError:  # it cannot be looked up, so it is none of them
        return None


class _Writer:
    """Lays nodes out in preorder."""

    def __init__(self, columns: Sequence[Column], classes: list[Label], n_sums: int) -> None:
        self.columns = {
            column.name: (j, None if column.categories is None else _places(column.categories))
            for j, column in enumerate(columns)
        }
        self.classes = classes
        self.class_places = _places(classes)
        self.n_sums = n_sums
        self.roots: list[int] = []
        self.feature: list[int] = []
        self.threshold: list[float] = []
        self.subset: list[int] = []
        self.left: list[int] = []
        self.right: list[int] = []
        self.values: list[list[float]] = []
        self.missing_left: list[bool] = []
        self.subsets: dict[frozenset[int], int] = {}  # with their places

    def write(self, tree: Node) -> None:
        # A stack, not recursion: a tree may be deeper than Python's recursion limit.
        pending: list[tuple[Node, list[int] | None, int]] = [(tree, None, 0)]
        while pending:
            node, links, parent = pending.pop()
            at = len(self.feature)
            if links is not None:
                links[parent] = at
            self.left.append(LEAF)
            self.right.append(LEAF)
            if isinstance(node, Leaf):
                self.append(LEAF, float("nan"), LEAF, self.leaf_values(node.value), False)
                continue
            if node.column not in self.columns:
                raise InputError(f"A split must be on one of {list(self.columns)}. Got {node.column!r}.")
            column, categories = self.columns[node.column]
            subset, values = self.subset_of(node, categories), [0.0] * self.n_sums
            self.append(column, node.threshold, subset, values, node.missing == "yes")
            pending += [(node.no, self.right, at), (node.yes, self.left, at)]

    def append(self, feature: int, threshold: float, subset: int, values: list[float], missing_left: bool) -> None:
        self.feature.append(feature)
        self.threshold.append(threshold)
        self.subset.append(subset)
        self.values.append(values)
        self.missing_left.append(missing_left)

    def subset_of(self, node: Split, categories: Mapping[tuple[bool, Any], int] | None) -> int:
        if (categories is None) != (node.categories is None):
            raise InputError(f"Column {node.column!r} must be split by {'split' if categories is None else 'isin'}().")
        if categories is None or node.categories is None:
            return LEAF
        codes = [_place(category, categories) for category in node.categories]
        unknown = [category for category, code in zip(node.categories, codes, strict=True) if code is None]
        if unknown:
            raise InputError(
                f"Categories of {node.column!r} must be among {[label for _, label in categories]}. Got {unknown}."
            )
        subset = frozenset(code for code in codes if code is not None)
        return self.subsets.setdefault(subset, len(self.subsets))

    def leaf_values(self, value: Any) -> list[float]:
        if isinstance(value, list | tuple | np.ndarray):
            if len(value) != self.n_sums:
                raise InputError(f"A leaf must have {self.n_sums} values, one per class. Got {len(value)}.")
            return [_float(v, "A leaf's value") for v in value]
        place = _place(value, self.class_places)
        if place is None:
            raise InputError(f"A leaf's class must be one of {self.classes}. Got {value!r}.")
        return [float(k == place) for k in range(len(self.classes))]
