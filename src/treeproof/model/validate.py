"""Whether arrays describe a forest: proper trees over the declared columns and classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from treeproof.errors import ForestFormatError
from treeproof.model.columns import LEAF, FloatArray
from treeproof.model.decision import Member, Sums, Vote
from treeproof.model.floats import FLOATS, FloatName
from treeproof.model.linear import linear

if TYPE_CHECKING:
    from treeproof.model.forest import Forest

_NESTED = "Members must come in the order of their trees, and one that is part of another before it."


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
    if forest.classes.dtype.kind == "U":  # in a damaged file, numbers that are no characters
        codes = np.frombuffer(forest.classes.astype(forest.classes.dtype.newbyteorder("=")).tobytes(), dtype=np.uint32)
        require(bool((codes < 0x110000).all()), "Labels must be text. Got one with characters that do not exist.")
    labels = forest.classes.tolist()
    require(len(set(labels)) == len(labels), f"Class labels must differ. Got {labels}.")
    require(
        not any(isinstance(label, float) and np.isnan(label) for label in labels),
        "A class label must not be NaN.",
    )
    require(
        isinstance(forest.vote, str) and forest.vote in get_args(Vote),
        f"'vote' must be one of {get_args(Vote)}. Got {forest.vote!r}.",
    )
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
    inner = np.flatnonzero(~leaf).astype(np.int32)
    sizes = np.diff(roots, append=np.int32(n_nodes))
    end = np.repeat(roots + sizes, sizes)[inner]
    has_parent = np.zeros(n_nodes, dtype=np.bool_)
    for side in (forest.left, forest.right):
        children = side[inner]
        require(
            ((children > inner) & (children < end)).all(),
            "Every child must come after its parent, in the same tree.",
        )
        has_parent[children] = True
    # Were a child met twice, fewer nodes than there are branches would have a parent.
    n_met = int(np.count_nonzero(has_parent))
    require(
        n_met == 2 * len(inner) == n_nodes - len(roots) and not has_parent[roots].any(),
        "Every node except a root must have exactly one parent.",
    )

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
    if forest.sums is not None and forest.sums.members:
        _validate_members(forest, forest.sums, require)


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
    require(not (sums.members and sums.softmax), "'members' must not be combined with 'softmax'.")
    if sums.sigmoid is not None:
        require(
            sums.cuts is None and not sums.softmax and not sums.members and sums.dtype == "float64",
            "'sigmoid' must not be combined with 'cuts', 'softmax', 'members' or sums in float32.",
        )
        require(0 < sums.sigmoid < math.inf, f"'sigmoid' must be a positive number. Got {sums.sigmoid!r}.")
    if not sums.members:
        for numbers in (forest.values, np.array(sums.start)):
            _require_numbers(numbers, sums.dtype, require)
    return n_sums


def _validate_members(forest: Forest, sums: Sums, require: Callable[[Any, str], None]) -> None:
    """Check the models that the model combines."""
    n_trees, n_sums = len(forest.roots), len(sums.start)
    whole: list[Member] = []  # that are part of no other so far
    for member in sums.members:
        require(
            0 <= member.first < member.last <= n_trees,
            f"A member must have trees from 0 to {n_trees}. Got those from {member.first} to {member.last}.",
        )
        while whole and whole[-1].first >= member.first:
            part = whole.pop()
            require(part.last <= member.last, _NESTED)
            require(
                part.dtype in ("float32", member.dtype),
                "A member that adds in float32 must not have members that add in float64.",
            )
        require(not whole or whole[-1].last <= member.first, _NESTED)
        whole.append(member)
        require(
            member.dtype in ("float32", sums.dtype),
            f"'dtype' of a member must be float32 or that of all sums, {sums.dtype}. Got {member.dtype!r}.",
        )
        floats = member.floats
        require(
            0 < member.divisor < math.inf and floats.round(member.divisor) == member.divisor,
            f"'divisor' of a member must be a positive {member.dtype} number. Got {member.divisor!r}.",
        )
        require(
            0 <= member.weight < math.inf and floats.round(member.weight) == member.weight,
            f"'weight' of a member must be a {member.dtype} number, 0 or more. Got {member.weight!r}.",
        )
        require(
            len(member.start) == n_sums and all(math.isfinite(start) for start in member.start),
            f"'start' of a member must hold {n_sums} finite number(s). Got {member.start!r}.",
        )
        _require_numbers(np.array(member.start), member.dtype, require)
    types = [sums.dtype] * n_trees
    for member in reversed(sums.members):  # the inner ones last
        types[member.first : member.last] = [member.dtype] * (member.last - member.first)
    sizes = np.diff(np.append(forest.roots, len(forest.values)))
    _require_numbers(np.array(sums.start), sums.dtype, require)
    _require_numbers(forest.values[np.repeat(np.array(types) == "float32", sizes)], "float32", require)
    linear(forest)  # refuses sums that may overflow


def _require_numbers(values: FloatArray, dtype: FloatName, require: Callable[[Any, str], None]) -> None:
    with np.errstate(over="ignore"):
        same = dtype == "float64" or np.array_equal(values.astype(FLOATS[dtype].dtype), values)
    require(same, f"Leaf values and 'start' must be exact {dtype} numbers, the type in which the model adds.")
