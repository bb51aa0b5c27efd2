"""The canonical forest: flat arrays, a decision rule, and the reference ``predict`` that proofs are about.

Invariant of import: ``forest.predict(X) == model.predict(X)`` bit for bit, for every X that the model accepts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from treeproof import _core
from treeproof.errors import ForestFormatError, InputError
from treeproof.model.columns import LEAF, BoolArray, Column, Columns, FloatArray, IntArray, Label, Rows
from treeproof.model.decision import Member, Sums, Vote, check_vote
from treeproof.model.floats import FLOATS, FloatName, Floats
from treeproof.model.labels import find_label
from treeproof.model.rows import as_rows
from treeproof.model.validate import validate


@dataclass(frozen=True, eq=False)
class Forest:
    """An immutable tree ensemble with exactly the ``predict`` of the model it came from.

    The nodes of all trees are in one set of arrays, each tree contiguous, every child after its parent. A numeric node
    sends x to the left iff ``x <= threshold``, a categorical one iff x is in ``subsets[subset]``.

    A threshold is stored as the largest number, of the float type `numbers`, that goes left. scikit-learn's trees round
    inputs to float32, so this is the same split, and two float64 thresholds with no float32 between them become one.

    Parameters
    ----------
    roots
        Index of each tree's first node, ascending; the first is 0.
    feature, threshold, subset, left, right
        Per node: column tested (-1 at leaves), threshold (NaN where there is none), index into `subsets` (-1 where
        there is none), children (-1 at leaves).
    values
        Per node the value of each class (with ``sums.cuts``: one value); zero at inner nodes.
    subsets
        Sets of category indices used by categorical nodes.
    classes
        Class labels, in the order in which ties are resolved.
    columns
        The model's input columns.
    importances
        Importance of each column; it guides the search and never affects what is proved.
    vote
        ``"majority"``: each tree votes for the first maximum of its leaf, ties go to the first class (Breiman 2001).
        ``"mean"``: leaf values are added in float64 in tree order, divided by the number of trees, first maximum.
        ``"sum"``: leaf values are added in tree order, as `sums` says.
    missing_left
        Per node, whether a missing value goes left.
    dtype
        The float type to which inputs are rounded before they are compared.
    sums
        With ``"sum"``: how sums become a label.

    Notes
    -----
    Arrays are copied, except those that are read-only and own their memory: large models are dear to copy.

    Examples
    --------
    >>> from treeproof.model.examples import heart_disease
    >>> forest, patient = heart_disease()
    >>> forest.n_trees, forest.predict([patient])
    (3, array(['Yes'], dtype='<U3'))
    """

    roots: IntArray
    feature: IntArray
    threshold: FloatArray
    subset: IntArray
    left: IntArray
    right: IntArray
    values: FloatArray
    subsets: tuple[frozenset[int], ...]
    classes: npt.NDArray[Any]
    columns: tuple[Column, ...]
    importances: FloatArray
    vote: Vote
    missing_left: BoolArray = None  # type: ignore[assignment]  # None: all False
    dtype: FloatName = "float32"
    sums: Sums | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.dtype, str) or self.dtype not in FLOATS:
            raise ForestFormatError(f"'dtype' must be one of {list(FLOATS)}. Got {self.dtype!r}.")
        if self.missing_left is None:
            object.__setattr__(self, "missing_left", np.zeros(len(np.atleast_1d(self.feature)), dtype=np.bool_))
        for name, dtype in _ARRAYS.items():
            try:
                array = _own(getattr(self, name), dtype)
            except (ValueError, TypeError, OverflowError) as error:
                raise ForestFormatError(f"'{name}' must be an array of {dtype.__name__}. Got: {error}.") from error
            self._freeze(name, self.floats.at_most(array) if name == "threshold" else array)
        self._freeze("classes", np.array(self.classes))
        validate(self)
        object.__setattr__(self, "columns", Columns(self.columns))

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in (*_ARRAYS, "classes"):  # numpy does not keep this in a pickle
            getattr(self, name).flags.writeable = False

    def _freeze(self, name: str, array: npt.NDArray[Any]) -> None:
        array.flags.writeable = False
        object.__setattr__(self, name, array)

    @property
    def floats(self) -> Floats:
        """The float type to which inputs are rounded."""
        return FLOATS[self.dtype]

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.roots)

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees, leaves included."""
        return len(self.feature)

    @property
    def n_columns(self) -> int:
        """Number of input columns."""
        return len(self.columns)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def splits_of(self, column: int) -> IntArray:
        """Return the nodes that split a column, in ascending order."""
        splits, begin = self.splits_by_column
        return splits[begin[column] : begin[column + 1]]

    @cached_property
    def splits_by_column(self) -> tuple[IntArray, IntArray]:
        """All splits, column by column, and where each column's begin: found once, as models may have many columns."""
        small = self.feature.astype(np.int16) if self.n_columns < 2**15 else self.feature  # numpy sorts these faster
        order = np.argsort(small, kind="stable").astype(np.int32)
        begin = np.searchsorted(small[order], np.arange(self.n_columns + 1, dtype=small.dtype))
        return order[begin[0] :].copy(), (begin - begin[0]).astype(np.int32)

    def thresholds_of(self, column: int) -> FloatArray:
        """Return the distinct thresholds of a numeric column, ascending."""
        return np.unique(self.threshold[self.splits_of(column)])

    @cached_property
    def column_names(self) -> tuple[str, ...]:
        """Names of the input columns."""
        return tuple(column.name for column in self.columns)

    def with_vote(self, vote: Vote) -> Forest:
        """Return the same trees under another decision rule."""
        check_vote(vote)
        if vote == self.vote:
            return self
        if self.sums is not None:
            raise InputError(f"A {vote} vote requires classification trees. These trees add up scores.")
        return dataclasses.replace(self, vote=vote)

    def apply(self, X: Any) -> IntArray:
        """Return the leaf (node index) that each row reaches in each tree, shape (n_rows, n_trees)."""
        return self.route(as_rows(X, self.columns, self.floats))

    def route(self, rows: Rows) -> IntArray:
        """Return what `apply` does, for rows in the forest's own float type, with categories given by index."""
        leaves = np.empty((len(rows), self.n_trees), dtype=np.int32)
        step = max(1, _ROUTED_AT_ONCE // self.n_trees)
        for first in range(0, len(rows), step):
            leaves[first : first + step] = self._route(rows[first : first + step])
        return leaves

    def _route(self, rows: Rows) -> IntArray:
        at = np.tile(self.roots, len(rows))  # the rows' leaves one after the other
        moving = np.flatnonzero(self.feature[at] != LEAF)
        while len(moving):
            node = at[moving]
            x = rows[moving // self.n_trees, self.feature[node]]
            goes_left = np.where(np.isnan(x), self.missing_left[node], x <= self.threshold[node])
            if self.subsets:
                named = np.flatnonzero(self.subset[node] >= 0)
                keys = self.subset[node[named]] * np.int64(self._n_codes) + x[named].astype(np.int64)
                goes_left[named] = np.isin(keys, self._members)
            node = np.where(goes_left, self.left[node], self.right[node])
            at[moving] = node
            moving = moving[self.feature[node] != LEAF]
        return at.reshape(len(rows), self.n_trees)

    @cached_property
    def _n_codes(self) -> int:
        """More than any code of a category."""
        return max((len(column.categories or ()) for column in self.columns), default=0) + 1

    @cached_property
    def _members(self) -> npt.NDArray[np.int64]:
        """For each subset s and each code c in it, ``s * _n_codes + c``: one array, to look up many at once."""
        pairs = [s * self._n_codes + code for s, subset in enumerate(self.subsets) for code in sorted(subset)]
        return np.array(pairs, dtype=np.int64)

    def decide(self, leaves: IntArray) -> npt.NDArray[np.intp]:
        """Return the class index for each row of leaves, in the model's own arithmetic."""
        if self.vote == "majority":
            votes = self.leaf_class[leaves]
            counts = np.zeros((len(leaves), self.n_classes), dtype=np.int64)
            np.add.at(counts, (np.arange(len(leaves))[:, None], votes), 1)
            return np.argmax(counts, axis=1)
        total = self.add(leaves)
        if self.decision.cuts is not None:
            return np.searchsorted(self.decision.cuts, total[:, 0], side="right")
        if self.decision.softmax:
            single = self.decision.dtype == "float32"
            return np.array(_core.softmax_labels(total.astype(np.float64), single), dtype=np.intp)
        if self.decision.sigmoid is not None:
            return np.array(_core.sigmoid_labels(total, self.decision.sigmoid), dtype=np.intp)
        return np.argmax(total, axis=1)

    def add(self, leaves: IntArray) -> npt.NDArray[Any]:
        """Return the sums (under mean vote: the means) of the leaves' values, in the model's own arithmetic."""
        # One tree at a time, then one division: numpy's sum() over the tree axis adds pairwise and would decide
        # near-ties differently.
        decision = self.decision
        opened, closed = decision.opened, decision.closed
        totals = [_repeated(decision, len(leaves))]  # of the model, of a member that is being added, of a part of it
        with np.errstate(over="ignore"):  # a sum beyond the largest number is infinite, as in the model
            if not decision.members and len(leaves) <= _FEW_ROWS:  # a running sum adds in that order, too
                terms = self.values[leaves].astype(decision.floats.dtype, copy=False)
                running = np.add.accumulate(np.concatenate([totals[0][:, None], terms], axis=1), axis=1)
                return _divided(running[:, -1].copy(), decision)
            for tree in range(self.n_trees):
                for member in opened.get(tree, ()):
                    totals.append(_repeated(member, len(leaves)))
                totals[-1] += self.values[leaves[:, tree]].astype(totals[-1].dtype, copy=False)
                for member in closed.get(tree, ()):
                    rounded = _divided(totals.pop(), member)
                    if member.weight != 1:
                        rounded *= rounded.dtype.type(member.weight)
                    totals[-1] += rounded.astype(totals[-1].dtype, copy=False)
            return _divided(totals[0], decision)

    @cached_property
    def decision(self) -> Sums:
        """How leaf values are added up: `sums`, or its equivalent for a mean or majority vote."""
        return self.sums or Sums((0.0,) * self.n_classes, divisor=float(self.n_trees if self.vote == "mean" else 1))

    def score(self, X: Any) -> npt.NDArray[Any]:
        """Return the score of each row, for a forest with one sum.

        It is what the source regressor predicts, bit for bit, or what it makes its prediction of by a function.
        """
        if self.decision.cuts is None:
            raise InputError(f"A score needs a forest with one sum. Got {self!r}.")
        return np.asarray(self.add(self.apply(X))[:, 0])

    def with_cuts(self, cuts: Sequence[float], labels: Sequence[Label]) -> Forest:
        """Return the forest that predicts which of the ranges between these cuts the score lies in."""
        if self.decision.cuts is None:
            raise InputError(f"Cuts need a forest with one sum. Got {self!r}.")
        sums = dataclasses.replace(self.decision, cuts=tuple(float(cut) for cut in cuts))
        return dataclasses.replace(self, sums=sums, classes=np.array(labels))

    @cached_property
    def leaf_class(self) -> npt.NDArray[np.intp]:
        """Per node the first maximum of its values, the vote of a leaf under majority vote."""
        return np.argmax(self.values, axis=1)

    def predict_index(self, X: Any) -> npt.NDArray[np.intp]:
        """Return the index of the predicted class of each row."""
        return self.decide(self.apply(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the predicted class label of each row, bit for bit as the source model does."""
        return np.asarray(self.classes[self.predict_index(X)])

    def class_index(self, label: Any) -> int:
        """Return the index of a class label."""
        return find_label(self.classes.tolist(), label)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Forest):
            return NotImplemented
        # Dictionaries with weak keys ask whether a forest equals itself.
        return self is other or (
            all(np.array_equal(getattr(self, n), getattr(other, n), equal_nan=True) for n in _ARRAYS)
            and self.classes.dtype == other.classes.dtype
            and self.classes.tolist() == other.classes.tolist()
            and (self.subsets, self.columns, self.vote) == (other.subsets, other.columns, other.vote)
            and (self.dtype, self.sums) == (other.dtype, other.sums)
        )

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return (
            f"Forest({self.n_trees} trees, {self.n_nodes} nodes, {self.n_columns} columns, "
            f"{self.n_classes} classes, {self.vote} vote)"
        )


def _repeated(sums: Sums | Member, n_rows: int) -> npt.NDArray[Any]:
    """Return what sums start from, for each row."""
    return np.tile(np.array(sums.start, dtype=sums.floats.dtype), (n_rows, 1))


def _divided(total: npt.NDArray[Any], by: Sums | Member) -> npt.NDArray[Any]:
    if by.divisor != 1:
        total /= total.dtype.type(by.divisor)
    return total


def _own(given: Any, dtype: type) -> npt.NDArray[Any]:
    """Return an array that nobody else changes: `given` itself, if nobody can, as large models are dear to copy."""
    array = np.asarray(given)
    if array.dtype == dtype and not array.flags.writeable and array.flags.owndata:
        return array
    with np.errstate(invalid="ignore"):
        cast: npt.NDArray[Any] = array.astype(dtype)
    # A cast would wrap and truncate silently.
    if dtype in (np.int32, np.bool_) and array.dtype != dtype and not np.array_equal(cast, array):
        raise ValueError("numbers that are not whole, or too large")
    return cast


_ROUTED_AT_ONCE = 2**13
"""Rows times trees: what is noted of each of them on its way takes more memory than the leaf that it ends in."""

_FEW_ROWS = 16
"""Up to here, a step for each tree costs more than what it adds."""

_ARRAYS: dict[str, type] = {
    "roots": np.int32,
    "feature": np.int32,
    "threshold": np.float64,
    "subset": np.int32,
    "left": np.int32,
    "right": np.int32,
    "values": np.float64,
    "importances": np.float64,
    "missing_left": np.bool_,
}
