"""The nodes of scikit-learn's trees, checked before any code of scikit-learn that trusts them runs.

A model from a file may hold any numbers. scikit-learn's C code follows them without looking, in its `predict` as in its
`feature_importances_`, so importers read nodes here first.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble._forest import ForestClassifier
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree as SklearnTree

from treeproof.errors import ForestFormatError, UnsupportedModelError
from treeproof.model.columns import LEAF, IntArray
from treeproof.model.importers.assemble import Tree

# What a node of a fitted tree may carry. A field that is not here changes how rows are routed (native categorical
# splits, for example), in a way that reading thresholds alone would get wrong.
_NODE_FIELDS = {
    "left_child",
    "right_child",
    "feature",
    "threshold",
    "impurity",
    "n_node_samples",
    "weighted_n_node_samples",
    "missing_go_to_left",
}


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """The nodes of several trees, one tree after the other, known to be sound.

    `feature`, `left` and `right` are -1 at leaves; `left` and `right` count from the first node of all. `values` holds,
    per tree, what each node has for each output and class.
    """

    roots: IntArray
    feature: IntArray
    threshold: npt.NDArray[np.float64]
    left: IntArray
    right: IntArray
    missing_left: npt.NDArray[np.bool_]
    values: list[npt.NDArray[np.float64]]

    @property
    def sizes(self) -> IntArray:
        """How many nodes each tree has."""
        return np.diff(self.roots, append=np.int32(len(self.feature)))

    def with_values(self, values: Any, adds_to: Any = None) -> Tree:
        """Return the trees with these leaf values."""
        return Tree(
            self.feature, self.threshold, self.left, self.right, values, self.missing_left, None, adds_to, self.roots
        )


def read_nodes(trees: Sequence[Any], n_features: int | Sequence[int]) -> Nodes:
    """Return the nodes of fitted trees, classifiers or regressors; refuse what routes rows in an unknown way.

    `n_features` is how many columns the rows have that scikit-learn gives to a tree: to all of them, or to each.
    """
    require_known_in_all(trees, "_validate_X_predict", BaseDecisionTree)
    counts = [n_features] * len(trees) if isinstance(n_features, int) else list(n_features)
    states = [_state(tree.tree_, n) for tree, n in zip(trees, counts, strict=True)]
    if not states:
        raise UnsupportedModelError("The model must have at least one tree. Got none.")
    unknown = set(states[0]["nodes"].dtype.names) - _NODE_FIELDS
    if unknown:
        raise UnsupportedModelError(
            f"This scikit-learn stores {sorted(unknown)} with each node, which treeproof does not know. "
            "Update treeproof, or train with an older scikit-learn."
        )
    sizes = np.array([len(state["nodes"]) for state in states], dtype=np.int32)
    roots = (np.cumsum(sizes) - sizes).astype(np.int32)

    def field(name: str) -> npt.NDArray[Any]:
        return np.concatenate([state["nodes"][name] for state in states])

    def places(name: str) -> IntArray:
        given = field(name)
        # What does not fit into 32 bits becomes something that is not sound, whatever it is.
        return np.clip(given, -(2**31), 2**31 - 1, out=given).astype(np.int32)

    feature, left, right = places("feature"), places("left_child"), places("right_child")
    leaf = left == LEAF
    inner = np.flatnonzero(~leaf)
    first, size, count = (np.repeat(each, sizes)[inner] for each in (roots, sizes, np.array(counts, dtype=np.int32)))
    # A node stands before its children, as training writes it. So no path comes back to a node, and all of them end.
    sound = leaf & (right == LEAF)
    sound[inner] = (feature[inner] >= 0) & (feature[inner] < count)
    for child in (left, right):
        sound[inner] &= (child[inner] > inner - first) & (child[inner] < size)
    refuse_unsound(sound, roots, "a leaf without children, or split one of the model's columns and have two children")
    feature[leaf] = left[leaf] = right[leaf] = LEAF
    left[inner] += first
    right[inner] += first
    missing_left, values = field("missing_go_to_left").astype(bool), [state["values"] for state in states]
    return Nodes(roots, feature, field("threshold"), left, right, missing_left, values)


def refuse_unsound(sound: npt.NDArray[np.bool_], roots: npt.NDArray[Any], what: str) -> None:
    """Refuse nodes of which one is not sound: it must be what `what` says."""
    if not sound.all():
        at = int(np.argmin(sound))
        tree = int(np.searchsorted(roots, at, side="right")) - 1
        raise ForestFormatError(
            f"Every node of a tree must be {what} behind it. Node {at - roots[tree]} of tree {tree} is not so: the "
            "model is damaged. Load it again from its source, or train it again."
        )


def require_known(model: Any, method: str, known: Sequence[Any]) -> None:
    """Refuse a model whose method is none of the known implementations."""
    # getattr_static sees an attribute set on the instance too, and runs no code of the model.
    if not any(inspect.getattr_static(model, method, None) is function for function in known):
        # The vote of the trees does not go through the forest's own predict.
        avoidable = isinstance(model, ForestClassifier) and method in ("predict", "predict_proba")
        remedy = ', or explain the trees\' majority vote with vote="majority"' if avoidable else ""
        raise UnsupportedModelError(
            f"{type(model).__name__} has its own '{method}', which treeproof does not know and so cannot prove "
            f"anything about. Pass a model that predicts as scikit-learn's own classes do{remedy}."
        )


def require_known_in_all(models: Sequence[Any], method: str, base: type) -> None:
    """Refuse models of which one has another method than `base` has: as `require_known`, but fast for many models."""
    known: set[type] = set()
    for model in models:
        if type(model) not in known or method in vars(model):
            require_known(model, method, [base.__dict__[method]])
            known.add(type(model))


def _state(nodes: Any, n_features: int) -> dict[str, Any]:
    """Return what a tree is saved as, if it can be read without leaving its memory."""
    if type(nodes) is not SklearnTree:
        raise UnsupportedModelError(f"A tree must be scikit-learn's own Tree. Got {type(nodes).__name__}.")
    if not 0 < nodes.node_count <= nodes.capacity:
        raise ForestFormatError(
            f"A tree must have at least one node, and no more than it holds. It claims {nodes.node_count} and holds "
            f"{nodes.capacity}: the model is damaged."
        )
    if nodes.n_features != n_features:
        raise ForestFormatError(
            f"Every tree of the model must be made for {n_features} columns. Got one for {nodes.n_features}."
        )
    state: dict[str, Any] = nodes.__getstate__()
    return state
