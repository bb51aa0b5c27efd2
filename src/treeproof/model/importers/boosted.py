"""What the importers of XGBoost and LightGBM share: the nodes of all trees at once, in the order of a forest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from treeproof.errors import ForestFormatError, UnsupportedModelError
from treeproof.model.columns import LEAF
from treeproof.model.importers.assemble import Tree

Ints = npt.NDArray[Any]


def require_trees(trees: Sequence[Any]) -> None:
    """Refuse a model without trees."""
    if not trees:
        raise UnsupportedModelError("The model must have at least one tree. Got none.")


def read_trees(
    sizes: Ints,
    left: Ints,
    right: Ints,
    *,
    feature: Ints,
    threshold: npt.NDArray[Any],
    values: npt.NDArray[Any],
    missing_left: npt.NDArray[np.bool_],
    left_categories: Mapping[int, frozenset[int]],
    adds_to: Ints,
    n_columns: int,
) -> Tree:
    """Return trees whose nodes are in a few long arrays, tree by tree, the root of each first; refuse what is no tree.

    `sizes` and `adds_to` say, of each tree, how many nodes it has and which sum it adds to. Children are places within
    their tree, negative at leaves. Apart from the root, nodes may be in any order, and some may be unused; what is read
    for a leaf as if it were a split, or the other way round, is ignored.
    """
    order, sizes, left, right = in_order(sizes, left, right)
    feature = feature[order]
    leaf = left == LEAF
    wrong = ~leaf & ((feature < 0) | (feature >= n_columns))
    if wrong.any():
        raise ForestFormatError(f"Each split must be on one of {n_columns} columns. Got column {feature[wrong][0]}.")
    feature = feature.astype(np.int32, copy=False)
    feature[leaf] = LEAF
    new_place = {}
    if left_categories:
        place = np.full(len(order) and int(order.max()) + 1, LEAF)
        place[order] = np.arange(len(order))
        new_place = {node: int(place[node]) for node in left_categories if node < len(place) and place[node] != LEAF}
    return Tree(
        feature=feature,
        threshold=threshold[order],
        left=left,
        right=right,
        values=values[order],
        missing_left=missing_left[order],
        left_categories={new: left_categories[node] for node, new in new_place.items()},
        adds_to=adds_to,
        roots=np.cumsum(sizes) - sizes,
    )


def in_order(sizes: Ints, left: Ints, right: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the nodes in use, each before its left branch and that before the right one, in trees of so many nodes.

    The result is: which node stands at each place, the sizes of the trees, and the children, now places among all nodes
    and -1 at leaves. All trees are walked at once, level by level.

    >>> in_order(np.array([1, 4]), np.array([-1, 3, -1, -1, -1]), np.array([-1, 2, -1, -1, -1]))
    (array([0, 1, 4, 3], ...), array([1, 3], ...), array([-1,  2, -1, -1], ...), array([-1,  3, -1, -1], ...))
    """
    n = len(left)
    if len(right) != n or int(sizes.sum()) != n or (sizes < 1).any():
        raise ForestFormatError("Trees must have as many left as right children, and at least one node.")
    # Places are 32-bit integers throughout: these arrays take most of the memory of an import.
    first = (np.cumsum(sizes) - sizes).astype(np.int32)
    tree = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    inner = []
    level, met = first, np.full(n, LEAF, np.int32)
    below: Any = np.empty(n, np.int32), np.empty(n, np.int32)
    while len(level):
        twice = met[level] >= 0
        number = np.arange(len(level), dtype=np.int32)
        met[level] = number
        twice |= met[level] != number
        if twice.any():
            raise _not_a_tree(level[twice][0], tree, first, "is reached twice")
        splits = level[(left[level] >= 0) | (right[level] >= 0)]
        inner.append(splits)
        for children, to in zip((left, right), below, strict=True):
            child = children[splits]
            wrong = (child < 0) | (child >= sizes[tree[splits]])
            if wrong.any():
                got = child[wrong][0]
                reason = "has one branch" if got < 0 else f"leads to node {got}, which it does not have"
                raise _not_a_tree(splits[wrong][0], tree, first, reason)
            to[splits] = child + first[tree[splits]]
        level = np.concatenate([to[splits] for to in below])
    to_left, to_right = below
    del met, tree
    weight = np.ones(n, np.int32)  # nodes of the branch
    for splits in reversed(inner):
        weight[splits] += weight[to_left[splits]] + weight[to_right[splits]]
    used = weight[first]
    place = np.full(n, LEAF, np.int32)
    place[first] = np.cumsum(used) - used
    for splits in inner:
        place[to_left[splits]] = place[splits] + 1
        place[to_right[splits]] = place[splits] + 1 + weight[to_left[splits]]
    del weight
    reached = np.flatnonzero(place != LEAF).astype(np.int32)
    order = np.empty(len(reached), np.int32)
    order[place[reached]] = reached
    new_left, new_right = np.full(len(order), LEAF, np.int32), np.full(len(order), LEAF, np.int32)
    splits = np.concatenate(inner)
    new_left[place[splits]], new_right[place[splits]] = place[to_left[splits]], place[to_right[splits]]
    return order, used, new_left, new_right


def _not_a_tree(node: int, tree: Ints, first: Ints, reason: str) -> ForestFormatError:
    number = tree[node]
    return ForestFormatError(
        f"Tree {number} must be a tree with two branches at every split. Node {node - first[number]} {reason}."
    )
