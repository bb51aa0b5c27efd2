"""The canonical forest: flat arrays, a decision rule, and the reference ``predict`` that proofs are about.

Invariant of import: ``forest.predict(X) == model.predict(X)`` bit for bit, for every X that the model accepts.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from treeproof import _core
from treeproof.errors import ForestFormatError, InputError
from treeproof.floats import FLOATS, Floats, Numbers

Vote = Literal["majority", "mean", "sum"]
Label = str | int | float | bool
Missing = Literal["never", "possible", "expected"]

IntArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Rows = npt.NDArray[Any]
"""Rows of a forest's own numbers, float32 or float64; a missing value is NaN."""

LEAF = -1


@dataclass(frozen=True, slots=True)
class Column:
    """One input column of a model: its name and, if it is categorical, its categories.

    A categorical column holds the index of a category; None among them stands for a missing value. A numeric column
    (``categories is None``) holds a finite number. `missing` says whether it may be missing as well: ``"never"`` (the
    model refuses that), ``"possible"`` (it has a place for it), or ``"expected"`` (and was made for such data). With
    `date`, its numbers count days (``datetime.date.toordinal``), and rows may hold dates for it.

    Examples
    --------
    >>> Column("colour", ("red", "green")).categories
    ('red', 'green')
    """

    name: str
    categories: tuple[Label | None, ...] | None = None
    missing: Missing = "never"
    date: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.categories, str):
            raise InputError(f"Column {self.name!r} needs a list of categories. Got {self.categories!r}.")
        if self.categories is not None:
            plain = tuple(c.item() if isinstance(c, np.generic) else c for c in self.categories)
            object.__setattr__(self, "categories", plain)


@dataclass(frozen=True, slots=True)
class Sums:
    """How sums of leaf values become a label: what boosted models, scores and cut-offs need beyond a mean.

    Parameters
    ----------
    start
        What each sum starts from, before the first tree.
    numbers
        In which numbers the model adds.
    divisor
        What sums are divided by in the end.
    cuts
        None: the first of the largest sums wins. Otherwise there is one sum, the score, and the label's index is the
        number of cuts, in ascending order, that it reaches.
    softmax
        Whether the largest of the softmax of the sums wins, which has ties where the sums themselves have none.
    """

    start: tuple[float, ...]
    numbers: Numbers = "float64"
    divisor: float = 1.0
    cuts: tuple[float, ...] | None = None
    softmax: bool = False

    @property
    def floats(self) -> Floats:
        """The numbers in which the model adds."""
        return FLOATS[self.numbers]


@dataclass(frozen=True, eq=False)
class Forest:
    """An immutable tree ensemble with exactly the ``predict`` of the model it came from.

    The nodes of all trees lie in one set of arrays, each tree contiguous, every child behind its parent. A numeric node
    sends x to the left iff ``x <= threshold``, a categorical one iff x is in ``subsets[subset]``.

    Thresholds are stored as the largest of the model's `numbers` that goes left. scikit-learn's trees round inputs to
    float32, so this is the same split, and two float64 thresholds with no float32 between them become one.

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
        Importance of each column; it orders the search and never changes what is proved.
    vote
        ``"majority"``: each tree votes for the first maximum of its leaf, ties go to the first class (Breiman 2001).
        ``"mean"``: leaf values are added in float64 in tree order, divided by the number of trees, first maximum.
        ``"sum"``: leaf values are added in tree order, as `sums` says.
    missing_left
        Per node, whether a missing value goes left.
    numbers
        Numbers to which inputs are rounded before they are compared.
    sums
        With ``"sum"``: how sums become a label.

    Examples
    --------
    >>> from treeproof.examples import heart_disease
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
    numbers: Numbers = "float32"
    sums: Sums | None = None

    def __post_init__(self) -> None:
        if self.numbers not in FLOATS:
            raise ForestFormatError(f"'numbers' must be one of {list(FLOATS)}. Got {self.numbers!r}.")
        if self.missing_left is None:
            object.__setattr__(self, "missing_left", np.zeros(len(np.atleast_1d(self.feature)), dtype=np.bool_))
        for name, dtype in _ARRAYS.items():
            try:
                given = np.asarray(getattr(self, name))
                with np.errstate(invalid="ignore"):
                    array: npt.NDArray[Any] = given.astype(dtype)
                # A cast wraps and truncates silently.
                if dtype in (np.int32, np.bool_) and not np.array_equal(array, given):
                    raise ValueError("numbers that are not whole, or too large")
            except (ValueError, TypeError, OverflowError) as error:
                raise ForestFormatError(f"'{name}' must be an array of {dtype.__name__}. Got: {error}.") from error
            if name == "threshold":
                array = self.floats.at_most(array)
            self._freeze(name, array)
        self._freeze("classes", np.array(self.classes))
        _validate(self)

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in (*_ARRAYS, "classes"):  # numpy forgets this in a pickle
            getattr(self, name).flags.writeable = False

    def _freeze(self, name: str, array: npt.NDArray[Any]) -> None:
        array.flags.writeable = False
        object.__setattr__(self, name, array)

    @property
    def floats(self) -> Floats:
        """The numbers to which inputs are rounded."""
        return FLOATS[self.numbers]

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
            raise InputError(
                f"These trees add up scores: only a forest of classification trees can take a {vote} vote."
            )
        return dataclasses.replace(self, vote=vote)

    def apply(self, X: Any) -> IntArray:
        """Return the leaf (node index) that each row reaches in each tree, shape (n_rows, n_trees)."""
        from treeproof.rows import as_rows

        return self.route(as_rows(X, self.columns, self.floats))

    def route(self, rows: Rows) -> IntArray:
        """Return what `apply` does, for rows of the forest's own numbers, with categories given by index."""
        at = np.tile(self.roots, (len(rows), 1))
        while True:
            inner = self.feature[at] != LEAF
            if not inner.any():
                return at
            row, _ = np.nonzero(inner)
            node = at[inner]
            x = rows[row, self.feature[node]]
            goes_left = np.where(np.isnan(x), self.missing_left[node], x <= self.threshold[node])
            for i in np.flatnonzero(self.subset[node] >= 0):
                goes_left[i] = int(x[i]) in self.subsets[self.subset[node[i]]]
            at[inner] = np.where(goes_left, self.left[node], self.right[node])

    def decide(self, leaves: IntArray) -> npt.NDArray[np.intp]:
        """Return the class index for each row of leaves, in the model's own arithmetic."""
        if self.vote == "majority":
            votes = self.leaf_class[leaves]
            counts = np.zeros((len(leaves), self.n_classes), dtype=np.int64)
            np.add.at(counts, (np.arange(len(leaves))[:, None], votes), 1)
            return np.argmax(counts, axis=1)
        total = self.add(leaves)
        if self.sums is not None and self.sums.cuts is not None:
            return np.searchsorted(self.sums.cuts, total[:, 0], side="right")
        if self.sums is not None and self.sums.softmax:
            return np.array(
                _core.softmax_labels(total.astype(np.float64), self.sums.numbers == "float32"), dtype=np.intp
            )
        return np.argmax(total, axis=1)

    def add(self, leaves: IntArray) -> npt.NDArray[Any]:
        """Return the sums (under mean vote: the means) of the leaves' values, in the model's own arithmetic."""
        # One tree after the other, then one division: numpy's sum() over the tree axis adds pairwise and would decide
        # near-ties differently.
        sums = self.sums or Sums((0.0,) * self.n_classes)
        values = self.values.astype(sums.floats.dtype)
        total = np.tile(np.array(sums.start, dtype=sums.floats.dtype), (len(leaves), 1))
        with np.errstate(over="ignore"):  # a sum beyond the largest number is infinite, as in the model
            for tree in range(self.n_trees):
                total += values[leaves[:, tree]]
            if self.divisor != 1:
                total /= sums.floats.dtype(self.divisor)
        return total

    @property
    def divisor(self) -> float:
        """What sums of leaf values are divided by, the number of trees, for a mean."""
        if self.sums is not None:
            return self.sums.divisor
        return self.n_trees if self.vote == "mean" else 1

    def score(self, X: Any) -> npt.NDArray[Any]:
        """Return the score of each row, for a forest with one sum: what the source regressor predicts, bit for bit."""
        if self.sums is None or self.sums.cuts is None:
            raise InputError(f"A score needs a forest with one sum. Got {self!r}.")
        return np.asarray(self.add(self.apply(X))[:, 0])

    def with_cuts(self, cuts: Sequence[float], labels: Sequence[Label]) -> Forest:
        """Return the forest that tells in which of the ranges, parted by these cuts, its score lies."""
        if self.sums is None or self.sums.cuts is None:
            raise InputError(f"Only a forest with one sum has a score to cut. Got {self!r}.")
        sums = dataclasses.replace(self.sums, cuts=tuple(float(cut) for cut in cuts))
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
        for index, known in enumerate(self.classes.tolist()):
            if known == label and isinstance(known, bool) == isinstance(label, bool | np.bool_):
                return index
        raise InputError(f"The class must be one of {self.classes.tolist()}. Got {label!r} instead.")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Forest):
            return NotImplemented
        return (
            all(np.array_equal(getattr(self, n), getattr(other, n), equal_nan=True) for n in _ARRAYS)
            and self.classes.dtype == other.classes.dtype
            and self.classes.tolist() == other.classes.tolist()
            and (self.subsets, self.columns, self.vote) == (other.subsets, other.columns, other.vote)
            and (self.numbers, self.sums) == (other.numbers, other.sums)
        )

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return (
            f"Forest({self.n_trees} trees, {self.n_nodes} nodes, {self.n_columns} columns, "
            f"{self.n_classes} classes, {self.vote} vote)"
        )


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


def check_vote(vote: Any) -> None:
    """Raise InputError unless this is a vote that trees can take."""
    if vote not in ("majority", "mean"):
        raise InputError(f"The 'vote' parameter must be 'majority' or 'mean'. Got {vote!r} instead.")


def _validate(forest: Forest) -> None:
    """Raise ForestFormatError unless the arrays describe proper trees over the declared columns and classes."""

    def require(condition: Any, message: str) -> None:
        if not condition:
            raise ForestFormatError(message)

    n_nodes = len(forest.feature)
    for name in ("threshold", "subset", "left", "right", "missing_left"):
        require(
            getattr(forest, name).shape == (n_nodes,),
            f"'{name}' must have one entry for each of the {n_nodes} nodes. Got shape {getattr(forest, name).shape}.",
        )
    require(forest.classes.ndim == 1 and len(forest.classes) >= 1, "A forest must have at least one class.")
    labels = forest.classes.tolist()
    require(len(set(labels)) == len(labels), f"Class labels must differ. Got {labels}.")
    require(
        not any(isinstance(label, float) and np.isnan(label) for label in labels),
        "A class label must not be NaN.",
    )
    require(forest.vote in get_args(Vote), f"'vote' must be one of {get_args(Vote)}. Got {forest.vote!r}.")
    shape = (n_nodes, _validate_sums(forest, require))
    require(forest.values.shape == shape, f"'values' must have shape {shape}. Got {forest.values.shape}.")
    require(np.isfinite(forest.values).all(), "Leaf values must be finite numbers.")
    require(len(forest.columns) >= 1, "A forest must have at least one column.")
    require(
        len(set(forest.column_names)) == len(forest.columns),
        f"Column names must differ. Got {list(forest.column_names)}.",
    )
    require(
        forest.importances.shape == (len(forest.columns),) and np.isfinite(forest.importances).all(),
        "'importances' must hold one finite number for each column.",
    )

    roots = forest.roots
    require(roots.ndim == 1 and len(roots) >= 1, "A forest must have at least one tree.")
    require(
        roots[0] == 0 and (np.diff(roots) > 0).all() and roots[-1] < n_nodes,
        "'roots' must start at 0, ascend, and point at nodes.",
    )
    leaf = forest.feature == LEAF
    require(
        ((forest.feature >= LEAF) & (forest.feature < len(forest.columns))).all(),
        f"'feature' must be -1 at leaves and below {len(forest.columns)} elsewhere.",
    )
    require(
        (forest.left[leaf] == LEAF).all()
        and (forest.right[leaf] == LEAF).all()
        and (forest.subset[leaf] == LEAF).all(),
        "A leaf must have no children and no subset.",
    )
    # Every child lies behind its parent in the same tree and has one parent: no cycles, nothing shared or left over.
    end = np.append(roots[1:], n_nodes)[np.searchsorted(roots, np.arange(n_nodes), side="right") - 1]
    inner = np.flatnonzero(~leaf)
    children = np.concatenate([forest.left[inner], forest.right[inner]])
    parents = np.concatenate([inner, inner])
    require(
        ((children > parents) & (children < end[parents])).all(),
        "Every child must lie behind its parent and inside the same tree.",
    )
    n_parents = np.bincount(children, minlength=n_nodes)
    expected = np.ones(n_nodes, dtype=np.int64)
    expected[roots] = 0
    require((n_parents == expected).all(), "Every node but a root must have exactly one parent.")

    categorical = np.array([column.categories is not None for column in forest.columns])
    has_subset = forest.subset[inner] >= 0
    require(
        (has_subset == categorical[forest.feature[inner]]).all(),
        "Categorical columns must be split by subsets, and numeric ones by thresholds.",
    )
    require((forest.subset < len(forest.subsets)).all(), f"'subset' must be below {len(forest.subsets)}.")
    require(
        not np.isnan(forest.threshold[inner[~has_subset]]).any(),
        "The threshold of a numeric split must be a number. Got NaN.",
    )
    for column in forest.columns:
        if column.categories is not None:
            require(
                len(column.categories) >= 1 and len(set(column.categories)) == len(column.categories),
                f"Column {column.name!r} must have at least one category, and no category twice.",
            )
    nodes = inner[has_subset]
    # Once for each pair: many nodes may share a large subset.
    pairs = zip(forest.subset[nodes].tolist(), forest.feature[nodes].tolist(), strict=True)
    for subset, column_ in sorted(set(pairs)):
        name, categories = forest.columns[column_].name, forest.columns[column_].categories
        assert categories is not None
        require(
            all(0 <= code < len(categories) for code in forest.subsets[subset]),
            f"A node splits on a category that column {name!r} does not have.",
        )


def _validate_sums(forest: Forest, require: Callable[[Any, str], None]) -> int:
    """Check how sums become a label; return the number of sums."""
    sums = forest.sums
    if sums is None:
        require(forest.vote != "sum", "A forest with vote 'sum' must say how: 'sums' is missing.")
        return forest.n_classes
    require(forest.vote == "sum", f"Only vote 'sum' has 'sums'. Got vote {forest.vote!r} with 'sums'.")
    require(sums.numbers in FLOATS, f"'numbers' of the sums must be one of {list(FLOATS)}. Got {sums.numbers!r}.")
    require(
        0 < sums.floats.round(sums.divisor) < math.inf,
        f"'divisor' must be a positive {sums.numbers} number. Got {sums.divisor!r}.",
    )
    n_sums = forest.n_classes if sums.cuts is None else 1
    require(
        len(sums.start) == n_sums and all(math.isfinite(start) for start in sums.start),
        f"'start' must hold {n_sums} finite number(s). Got {sums.start!r}.",
    )
    if sums.cuts is not None:
        require(not sums.softmax, "Cuts are made through a sum, not a softmax.")
        require(
            len(sums.cuts) == forest.n_classes - 1
            and all(math.isfinite(cut) for cut in sums.cuts)
            and list(sums.cuts) == sorted(set(sums.cuts)),
            f"'cuts' must be {forest.n_classes - 1} ascending number(s), one less than classes. Got {sums.cuts!r}.",
        )
    exact = np.append(forest.values, sums.start)
    with np.errstate(over="ignore"):
        same = np.array_equal(exact.astype(sums.floats.dtype).astype(np.float64), exact)
    require(
        same,
        f"Leaf values and 'start' must be {sums.numbers} numbers, as the model adds them.",
    )
    return n_sums
