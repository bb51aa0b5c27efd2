"""Two copies of a model that share all features but some: what a change of these alone can do, over all inputs.

The second copy has the doubled features under numbers of their own, behind all others. A tree that tests none of them
is the same in both copies, so it cancels out of every difference. Of the others, the difference of a tree and its copy
is one tree again, their overlay: both are walked at once, on one path where they agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from treeproof.model.columns import LEAF, IntArray
from treeproof.query.cells import CellForest
from treeproof.query.oracle import expired
from treeproof.query.sums import Integers, SumForest
from treeproof.space.domains import Cells, Clause, Domain

# Nodes of one overlay at most; a tree whose overlay is larger is put beside its copy instead, with a weaker bound.
_LARGEST_OVERLAY = 20_000
_NODES_PER_LOOK = 32  # at the clock


@dataclass(frozen=True, eq=False)
class Twins:
    """The cells of a forest with some features doubled, and the ways between its points and pairs of points."""

    cells: CellForest
    doubled: tuple[int, ...]

    @property
    def copies(self) -> dict[int, int]:
        """Doubled feature to its number in the second copy."""
        return {f: self.cells.n_features + i for i, f in enumerate(self.doubled)}

    def pair(self, point: Cells) -> tuple[Cells, Cells]:
        """Return the point of each copy."""
        first = point[: self.cells.n_features]
        second = list(first)
        for f, copy in self.copies.items():
            second[f] = point[copy]
        return first, tuple(second)

    def joint(self, point: Cells) -> Cells:
        """Return the point at which both copies are at `point`."""
        return (*point, *(point[f] for f in self.doubled))

    def domains(self, domains: Sequence[Domain]) -> tuple[Domain, ...]:
        """Return domains of both copies: the same ones."""
        return (*domains, *(domains[f] for f in self.doubled))

    @cached_property
    def touched(self) -> IntArray:
        """The trees that test a doubled feature, by number."""
        tested = np.isin(self.cells.feature, self.doubled)
        roots = self.cells.source.roots
        tree = np.searchsorted(roots, np.flatnonzero(tested), side="right") - 1
        return np.unique(tree).astype(np.int32)

    def clauses(self) -> tuple[Clause, ...]:
        """Return the constraints of both copies."""
        copies = self.copies
        again = (
            tuple((copies.get(f, f), domain) for f, domain in clause)
            for clause in self.cells.clauses
            if any(f in copies for f, _ in clause)
        )
        return (*self.cells.clauses, *again)


def tree_nodes(cells: CellForest, tree: int) -> slice:
    """Return where the nodes of a tree are."""
    roots = cells.source.roots
    return slice(int(roots[tree]), int(roots[tree + 1]) if tree + 1 < len(roots) else len(cells.feature))


def spread(cells: CellForest, numbers: Integers, trees: IntArray | None = None) -> int:
    """Return how far apart any two sums of numbers at leaves are at most, over some trees or all."""
    leaf, roots = cells.feature == LEAF, cells.source.roots
    ends = np.iinfo(np.int64)
    most = np.maximum.reduceat(np.where(leaf, numbers, ends.min), roots)
    least = np.minimum.reduceat(np.where(leaf, numbers, ends.max), roots)
    chosen = slice(None) if trees is None else trees
    return sum(most[chosen].tolist()) - sum(least[chosen].tolist())


class Trees:
    """Trees that are collected, one after the other, with the numbers of each sum at their leaves.

    Adding one raises TimeoutError when the deadline has passed.
    """

    def __init__(
        self, cells: CellForest, n_sums: int, twins: Twins | None = None, deadline: float | None = None
    ) -> None:
        self._cells, self._n_sums, self._twins = cells, n_sums, twins or Twins(cells, ())
        self._deadline = deadline
        self._roots: list[int] = []
        self._parts: list[tuple[IntArray, IntArray, IntArray, IntArray, Integers]] = []
        self._n = 0

    def add(
        self,
        trees: Iterable[int],
        numbers: Mapping[int, Integers],
        *,
        second: bool = False,
        cells: CellForest | None = None,
    ) -> None:
        """Add trees of the forest, or of the second copy; `numbers` has those of a sum, per node of the forest.

        `cells` is another forest over the same cells.
        """
        cells = cells or self._cells
        source = cells.source
        for tree in trees:
            _be_on_time(self._deadline)
            nodes = tree_nodes(cells, tree)
            feature = cells.feature[nodes].copy()
            if second:
                for f, copy in self._twins.copies.items():
                    feature[feature == f] = copy
            moved = self._n - nodes.start
            own = {k: those[nodes] for k, those in numbers.items()}
            self._append(feature, cells.cut[nodes], source.left[nodes] + moved, source.right[nodes] + moved, own)

    def add_difference(
        self, trees: Iterable[int], k: int, numbers: Integers, within: Mapping[int, Domain] | None = None
    ) -> None:
        """Add to sum k what these trees give in the second copy, less what they give in the first.

        `within` has domains of features, and of second copies, to which points keep.
        """
        allowed = {f: sum(1 << cell for cell in domain) for f, domain in (within or {}).items()}
        for tree in trees:
            root = int(self._cells.source.roots[tree])
            _be_on_time(self._deadline)
            found = _Overlay(self._twins, numbers, allowed, deadline=self._deadline).of(root, root)
            if found is None:
                self.add([tree], {k: numbers}, second=True)
                self.add([tree], {k: -numbers})
            else:
                self._append_overlay(k, found)

    def add_overlay(self, joint: CellForest, one: int, other: int, k: int, numbers: Integers) -> bool:
        """Add to sum k, as one tree, what tree `other` of a forest of two models gives less what tree `one` does.

        It is not added, and False returned, if it would have more nodes than both together.
        """
        most = sum(len(joint.feature[tree_nodes(joint, tree)]) for tree in (one, other))
        roots = joint.source.roots
        overlay = _Overlay(Twins(joint, ()), numbers, {}, most, self._deadline)
        found = overlay.of(int(roots[one]), int(roots[other]))
        if found is not None:
            self._append_overlay(k, found)
        return found is not None

    def _append_overlay(self, k: int, found: list[_Row]) -> None:
        if len(found) > 1 or found[0][4] != 0:
            feature, cut, left, right, number = np.array(found, dtype=np.int64).T
            self._append(feature, cut, left + self._n, right + self._n, {k: number})

    def _append(self, feature: Any, cut: Any, left: Any, right: Any, numbers: Mapping[int, Integers]) -> None:
        inner = feature != LEAF
        own = np.zeros((len(feature), self._n_sums), dtype=np.int64)
        for k, those in numbers.items():
            own[:, k] = np.where(inner, 0, those)
        left, right = (np.where(inner, child, LEAF).astype(np.int32) for child in (left, right))
        self._roots.append(self._n)
        self._parts.append((feature.astype(np.int32), cut.astype(np.int32), left, right, own))
        self._n += len(feature)

    def forest(self) -> SumForest:
        """Return all of them; without any, one leaf of zeros."""
        if not self._parts:
            leaf = np.full(1, LEAF, dtype=np.int32)
            self._append(leaf, leaf, leaf, leaf, {})
        cells, doubled = self._cells, self._twins.doubled
        feature, cut, left, right = (np.concatenate([part[i] for part in self._parts]) for i in range(4))
        return SumForest(
            (*cells.n_cells, *(cells.n_cells[f] for f in doubled)),
            (*cells.ordered, *(cells.ordered[f] for f in doubled)),
            (*cells.gapped, *(cells.gapped[f] for f in doubled)),
            cells.left_sets,
            self._twins.clauses(),
            np.array(self._roots, dtype=np.int32),
            feature,
            cut,
            left,
            right,
            np.concatenate([part[4] for part in self._parts]),
        )


_Row = tuple[int, int, int, int, int]  # feature, cut, left, right, number


class _TooLargeError(Exception):
    pass


def _be_on_time(deadline: float | None) -> None:
    if expired(deadline):
        raise TimeoutError


class _Overlay:
    """The difference of a tree in two copies, or of two trees, as one tree: nodes in preorder."""

    def __init__(
        self,
        twins: Twins,
        numbers: Integers,
        allowed: Mapping[int, int],
        most: int = _LARGEST_OVERLAY,
        deadline: float | None = None,
    ) -> None:
        cells = twins.cells
        self._feature, self._cut, self._left, self._right = cells.source_views
        self._cells, self._copies, self._numbers, self._allowed = cells, twins.copies, numbers, allowed
        self._most, self._deadline, self._n_grown = most, deadline, 0
        self._masks: dict[int, int] = {}
        self._rows: list[list[int]] = []
        self._touched: dict[int, bool] = {}

    def of(self, one: int, other: int) -> list[_Row] | None:
        """Return the nodes, from the two roots; None if there would be too many, or trees are too deep to walk so."""
        self._masks = dict(self._allowed)
        try:
            self._grow(one, other)
        except (_TooLargeError, RecursionError):
            return None
        return [(row[0], row[1], row[2], row[3], row[4]) for row in self._rows]

    def _tests(self, node: int) -> bool:
        """Return whether a doubled feature is tested at or below a node."""
        known = self._touched.get(node)
        if known is None:
            f = self._feature[node]
            known = f != LEAF and (f in self._copies or self._tests(self._left[node]) or self._tests(self._right[node]))
            self._touched[node] = known
        return known

    def _mask(self, feature: int, original: int) -> int:
        return self._masks.get(feature, (1 << self._cells.n_cells[original]) - 1)

    def _descend(self, node: int, second: bool) -> int:
        """Return the first node from here on at which the path is not decided."""
        while (f := self._feature[node]) != LEAF:
            here = self._mask(self._copies.get(f, f) if second else f, f)
            left = self._cells.left_mask(f, self._cut[node])
            if here & left and here & ~left:
                break
            node = self._left[node] if here & left else self._right[node]
        return node

    def _grow(self, one: int, other: int) -> int:
        """Append the overlay of the subtree `one` of the first copy and `other` of the second; return its index."""
        self._n_grown += 1
        if self._n_grown % _NODES_PER_LOOK == 0:
            _be_on_time(self._deadline)
        if one == other and not self._tests(one):
            return self._leaf(0)
        one, other = self._descend(one, False), self._descend(other, True)
        if one == other and not self._tests(one):
            return self._leaf(0)
        if self._feature[one] == LEAF and self._feature[other] == LEAF:
            return self._leaf(int(self._numbers[other]) - int(self._numbers[one]))
        # Where both copies are at the same node of a shared feature, both go the same way.
        first = self._feature[one] != LEAF
        node = one if first else other
        original, cut = self._feature[node], self._cut[node]
        feature = original if first else self._copies.get(original, original)
        if len(self._rows) >= self._most:
            raise _TooLargeError
        at = len(self._rows)
        self._rows.append([feature, cut, 0, 0, 0])
        before, left = self._mask(feature, original), self._cells.left_mask(original, cut)
        known = self._masks.get(feature)
        ends = []
        for side in (before & left, before & ~left):
            self._masks[feature] = side
            ends.append(self._grow(one, other))
        if known is None:
            del self._masks[feature]
        else:
            self._masks[feature] = known
        a, b = self._rows[ends[0]], self._rows[ends[1]]
        if a[0] == b[0] == LEAF and a[4] == b[4]:
            number = a[4]
            del self._rows[at:]
            return self._leaf(number)
        self._rows[at][2:4] = ends
        return at

    def _leaf(self, number: int) -> int:
        self._rows.append([LEAF, LEAF, LEAF, LEAF, number])
        return len(self._rows) - 1
