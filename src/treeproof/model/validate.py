"""Whether arrays describe a forest: proper trees over the declared columns and classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from treeproof.errors import ForestFormatError
from treeproof.model.columns import LEAF
from treeproof.model.decision import Vote
from treeproof.model.floats import FLOATS

if TYPE_CHECKING:
    from treeproof.model.forest import Forest


def validate(forest: Forest) -> None:
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
        "'roots' must start at 0, be ascending, and be indices of nodes.",
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
    # Every child comes after its parent in the same tree and has one parent: no cycles, no shared or unused nodes.
    end = np.append(roots[1:], n_nodes)[np.searchsorted(roots, np.arange(n_nodes), side="right") - 1]
    inner = np.flatnonzero(~leaf)
    children = np.concatenate([forest.left[inner], forest.right[inner]])
    parents = np.concatenate([inner, inner])
    require(
        ((children > parents) & (children < end[parents])).all(),
        "Every child must come after its parent, in the same tree.",
    )
    n_parents = np.bincount(children, minlength=n_nodes)
    expected = np.ones(n_nodes, dtype=np.int64)
    expected[roots] = 0
    require((n_parents == expected).all(), "Every node except a root must have exactly one parent.")

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
                f"Column {column.name!r} must have at least one category, and no duplicates.",
            )
        require(
            column.other is None or column.other in (column.categories or ()),
            f"'other' of column {column.name!r} must be one of its categories. Got {column.other!r}.",
        )
    nodes = inner[has_subset]
    # Once per pair: many nodes may share a large subset.
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
        require(forest.vote != "sum", "A forest with vote 'sum' must have 'sums'. Got none.")
        return forest.n_classes
    require(forest.vote == "sum", f"Only a forest with vote 'sum' may have 'sums'. Got vote {forest.vote!r}.")
    require(sums.dtype in FLOATS, f"'dtype' of the sums must be one of {list(FLOATS)}. Got {sums.dtype!r}.")
    require(
        0 < sums.floats.round(sums.divisor) < math.inf,
        f"'divisor' must be a positive {sums.dtype} number. Got {sums.divisor!r}.",
    )
    n_sums = forest.n_classes if sums.cuts is None else 1
    require(
        len(sums.start) == n_sums and all(math.isfinite(start) for start in sums.start),
        f"'start' must hold {n_sums} finite number(s). Got {sums.start!r}.",
    )
    if sums.cuts is not None:
        require(not sums.softmax, "'cuts' must not be combined with 'softmax'.")
        require(
            len(sums.cuts) == forest.n_classes - 1
            and all(math.isfinite(cut) for cut in sums.cuts)
            and list(sums.cuts) == sorted(set(sums.cuts)),
            f"'cuts' must be {forest.n_classes - 1} ascending number(s), one fewer than classes. Got {sums.cuts!r}.",
        )
    exact = np.append(forest.values, sums.start)
    with np.errstate(over="ignore"):
        same = np.array_equal(exact.astype(sums.floats.dtype).astype(np.float64), exact)
    require(
        same,
        f"Leaf values and 'start' must be exact {sums.dtype} numbers, the type in which the model adds.",
    )
    return n_sums
