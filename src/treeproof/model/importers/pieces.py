"""Splits that send several pieces of the number line left, written as ordinary splits of a tree."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from treeproof.errors import UnsupportedModelError
from treeproof.model.columns import LEAF
from treeproof.model.forest import Forest
from treeproof.model.importers.assemble import Tree, assemble

_LARGEST_GROWTH = 20
_NODES_ANYWAY = 100_000


@dataclass(frozen=True, slots=True)
class Pieces:
    """A test of one number: piece i holds the numbers above ``cuts[i - 1]``, up to ``cuts[i]``, and goes left or not.

    >>> Pieces.of([0.0, 0.0, 2.0, 3.0], [True, True, False, False, True])
    Pieces(cuts=(0.0, 3.0), left=(True, False, True))
    """

    cuts: tuple[float, ...]
    left: tuple[bool, ...]

    @classmethod
    def of(cls, cuts: list[float], left: list[bool]) -> Pieces:
        """Return the test, without empty pieces and with equal neighbours as one; cuts are in ascending order."""
        kept: list[tuple[float, bool]] = []
        start = -math.inf
        for cut, side in zip([*cuts, math.inf], left, strict=True):
            if cut > start:
                if kept and kept[-1][1] == side:
                    kept.pop()
                kept.append((cut, side))
                start = cut
        return cls(tuple(cut for cut, _ in kept[:-1]), tuple(side for _, side in kept))


@dataclass(frozen=True, slots=True)
class _Part:
    """What is left of a column in a branch: numbers above `low`, up to `high` (none, if that is empty); and missing."""

    low: float
    high: float
    missing: bool


def count_as_missing(forest: Forest, columns: Collection[int], numbers: tuple[float, float], too_large: str) -> Forest:
    """Return the forest in which numbers of this range, in these numeric columns, go where missing values go.

    No threshold lies inside the range: it ends there, or no number of it is parted from another. `too_large`: as below.
    """
    low, high = numbers
    before = forest.floats.next(low, -math.inf)
    tests = {}
    for node in np.flatnonzero(
        np.isin(forest.feature, list(columns)) & ((high <= forest.threshold) != forest.missing_left)
    ):
        threshold = float(forest.threshold[node])
        ends = sorted({before, high, threshold})
        sides = [bool(forest.missing_left[node]) if end == high else end <= threshold for end in [*ends, math.inf]]
        tests[int(node)] = Pieces.of(ends, sides)
    return unfold(forest, tests, too_large) if tests else forest


def unfold(forest: Forest, tests: Mapping[int, Pieces], too_large: str) -> Forest:
    """Return the forest in which these nodes, which split numeric columns, make these tests.

    A subtree that several pieces lead to is repeated for each, without what cannot happen there. `too_large` is the
    refusal where that makes trees too large.
    """
    ends = [*forest.roots[1:].tolist(), forest.n_nodes]
    limit = _LARGEST_GROWTH * forest.n_nodes + _NODES_ANYWAY
    changed = set(np.searchsorted(forest.roots, list(tests), side="right").tolist())
    trees = []
    for number, (root, end) in enumerate(zip(forest.roots.tolist(), ends, strict=True), start=1):
        if number not in changed:
            trees.append(_copy(forest, root, end))
            continue
        trees.append(_unfold(forest, tests, root, limit, too_large))
        limit -= len(trees[-1].feature)
    return assemble(
        trees,
        classes=forest.classes,
        columns=forest.columns,
        importances=forest.importances,
        vote=forest.vote,
        dtype=forest.dtype,
        sums=forest.sums,
    )


def _copy(forest: Forest, root: int, end: int) -> Tree:
    subset, nodes = forest.subset[root:end], slice(root, end)
    return Tree(
        feature=forest.feature[nodes],
        threshold=forest.threshold[nodes],
        left=forest.left[nodes] - root,
        right=forest.right[nodes] - root,
        values=forest.values[nodes],
        missing_left=forest.missing_left[nodes],
        left_categories={i: forest.subsets[s] for i, s in enumerate(subset.tolist()) if s != LEAF},
    )


def _unfold(forest: Forest, tests: Mapping[int, Pieces], root: int, limit: int, too_large: str) -> Tree:
    """Return one tree, unfolded from the root down: a node that several pieces reach is split, and met again below."""
    feature, threshold, missing_left = forest.feature.tolist(), forest.threshold.tolist(), forest.missing_left.tolist()
    children = {True: forest.left.tolist(), False: forest.right.tolist()}
    columns: list[int] = []
    cuts: list[float] = []
    values: list[Any] = []
    missing_goes_left: list[bool] = []
    left_categories: dict[int, frozenset[int]] = {}
    links: dict[bool, list[int]] = {True: [], False: []}
    pending: list[tuple[int, dict[int, _Part], int, bool]] = [(root, {}, LEAF, True)]
    while pending:
        node, parts, parent, side = pending.pop()
        j = feature[node]
        numeric = j != LEAF and forest.subset[node] == LEAF
        cut, missing = math.nan, False
        below = {True: (children[True][node], parts), False: (children[False][node], parts)}
        if numeric:
            part = parts.get(j, _Part(-math.inf, math.inf, forest.columns[j].missing != "never"))
            test = tests.get(node, Pieces((threshold[node],), (True, False)))
            ways = [
                way
                for low, high, way in zip((-math.inf, *test.cuts), (*test.cuts, math.inf), test.left, strict=True)
                if max(low, part.low) < min(high, part.high)
            ]
            if part.missing:
                ways.append(missing_left[node])
            if all(way == ways[0] for way in ways):
                pending.append((children[ways[0]][node], parts, parent, side))
                continue
            inside = [c for c in test.cuts if part.low < c < part.high]
            if part.missing and all(way == ways[0] for way in ways[:-1]):  # only a missing value goes another way
                cut, missing = (forest.floats.largest if ways[0] else -math.inf), ways[-1]
                numbers, none = _Part(part.low, part.high, False), _Part(math.inf, -math.inf, True)
                left, right = (none, numbers) if missing else (numbers, none)
            else:
                cut, missing = inside[0], part.missing and ways[0] == ways[-1]
                left = _Part(part.low, cut, missing)
                right = _Part(cut, part.high, part.missing and not missing)
            below = {True: (node, {**parts, j: left}), False: (node, {**parts, j: right})}
        place = len(columns)
        if place >= limit:
            raise UnsupportedModelError(too_large)
        if parent != LEAF:
            links[side][parent] = place
        if j != LEAF and not numeric:
            left_categories[place] = forest.subsets[forest.subset[node]]
        columns.append(j)
        cuts.append(cut)
        values.append(forest.values[node])
        missing_goes_left.append(missing)
        for way in (True, False):
            links[way].append(LEAF)
        if j != LEAF:
            pending += [(*below[False], place, False), (*below[True], place, True)]
    return Tree(columns, cuts, links[True], links[False], np.array(values), missing_goes_left, left_categories)
