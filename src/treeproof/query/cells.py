"""The forest over cells: what oracles see. Below this line nobody meets a float, except to break near-ties.

Each feature is a finite domain of cells ``0 .. n_cells - 1``, each split a set of cells that go left, each leaf an
integer score per class. The label at a point follows from the sums of scores, up to a rounding band:

    sum_k - sum_c >= theta(k, c) + band   =>   class k beats class c at this point
    sum_k - sum_c <  theta(k, c) - band   =>   class k does not beat class c at this point

For a vote, ``theta(k, c)`` is 0 if k precedes c (ties go to the first class), else 1; what sums start from and where a
score is cut moves it. For sums inside the band only the model's own float arithmetic decides, which `CellForest.label`
repeats.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from treeproof.model.columns import LEAF, IntArray
from treeproof.model.forest import Forest
from treeproof.query.scores import integer_scores
from treeproof.space.domains import Clause, Domain
from treeproof.space.features import Feature, NumericFeature, ValueFeature
from treeproof.space.space import Space


@dataclass(frozen=True, eq=False)
class CellForest:
    """A forest whose splits are sets of cells and whose leaves carry integer scores.

    Parameters
    ----------
    source
        The forest this came from, for its decision rule.
    n_cells
        Number of cells of each feature.
    ordered
        Per feature, whether its splits are cuts of an order; then domains are ranges.
    gapped
        Per feature, whether they are so but for its last cell, that of missing values, which each split sends where it
        likes; then domains are ranges of numbers, with or without that cell. Other features have sets of values.
    feature
        Per node the feature tested; -1 at leaves.
    cut
        Per node: on an ordered feature, cells ``<= cut`` go left; on a gapped one, the first ``cut // 2`` cells do, and
        missing values iff ``cut`` is odd; on a feature of values, it is an index into `left_sets`.
    left_sets
        Sets of values that go left.
    scores
        Per node an integer for each class; meaningful at leaves.
    theta
        Per winner and loser, the least difference of sums of scores with which it wins.
    band
        Half-width of the rounding band; 0 when sums of scores decide every comparison.
    exponent
        Scores are the leaves' values times 2 to the power of this, rounded down.
    clauses
        Constraints between features: of each clause, at least one literal holds at every point of the space. A literal
        says that a feature's cell is in a domain, which starts or ends where the whole does if the feature is ordered.
    between
        Of ordered features, the cell of missing values that lies between two of numbers.
    """

    source: Forest
    n_cells: tuple[int, ...]
    ordered: tuple[bool, ...]
    gapped: tuple[bool, ...]
    feature: IntArray
    cut: IntArray
    left_sets: tuple[frozenset[int], ...]
    scores: npt.NDArray[np.int64]
    theta: npt.NDArray[np.int64]
    band: int
    exponent: int
    clauses: tuple[Clause, ...] = ()
    between: Mapping[int, int] = field(default_factory=dict)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.n_cells)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.source.n_classes

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.source.n_trees

    @cached_property
    def full(self) -> tuple[Domain, ...]:
        """The whole domain of each feature."""
        cells = map(range, self.n_cells)
        return tuple(each if order else frozenset(each) for each, order in zip(cells, self.ordered, strict=True))

    @cached_property
    def tested(self) -> list[int]:
        """The features of splits, in ascending order."""
        return np.flatnonzero(np.bincount(self.feature[self.feature >= 0])).tolist()

    def only(self, feature: int, cells: Iterable[int]) -> Domain:
        """Return the domain of `feature` with just these cells; where they have an order, without holes."""
        chosen = sorted(cells)
        if not self.ordered[feature]:
            return frozenset(chosen)
        domain = range(chosen[0], chosen[-1] + 1)
        assert len(domain) == len(chosen), "an ordered feature's domain has no holes"
        return domain

    def at(self, feature: int, cell: int) -> Domain:
        """Return the domain of `feature` with one cell."""
        return range(cell, cell + 1) if self.ordered[feature] else frozenset((cell,))

    def allows(self, point: Sequence[int], clauses: Iterable[int] | None = None) -> bool:
        """Return whether a point satisfies all constraints between features, or these ones."""
        asked = self.clauses if clauses is None else [self.clauses[c] for c in clauses]
        return not asked or all(any(point[f] in domain for f, domain in clause) for clause in asked)

    def goes_left(self, node: int, cell: int) -> bool:
        """Return whether a cell of the node's feature goes left at `node`."""
        return self._sends_left(int(self.feature[node]), int(self.cut[node]), cell)

    def left_cells(self, feature: int, cut: int) -> frozenset[int]:
        """Return the cells of a feature that go left at a split."""
        return frozenset(cell for cell in range(self.n_cells[feature]) if self._sends_left(feature, cut, cell))

    def _sends_left(self, feature: int, cut: int, cell: int) -> bool:
        if self.ordered[feature]:
            return cell <= cut
        if self.gapped[feature]:
            return bool(cut & 1) if cell == self.n_cells[feature] - 1 else cell < cut >> 1
        return cell in self.left_sets[cut]

    def left_mask(self, feature: int, cut: int) -> int:
        """Return the cells of a feature that go left at a split, as bits of a number."""
        if self.ordered[feature]:
            return (1 << cut + 1) - 1
        if self.gapped[feature]:
            return (1 << (cut >> 1)) - 1 | (cut & 1) << self.n_cells[feature] - 1
        known = self._left_masks.get((feature, cut))
        if known is None:
            known = self._left_masks[feature, cut] = sum(1 << cell for cell in self.left_sets[cut])
        return known

    @cached_property
    def _left_masks(self) -> dict[tuple[int, int], int]:
        return {}  # of sets; a number has one bit for each cell, so that those of all cuts would take much memory

    def leaves(self, point: Sequence[int]) -> list[int]:
        """Return the leaf that `point` reaches in each tree."""
        feature, cut, left, right = self.source_views
        reached = []
        for node in self.source.roots.tolist():
            while (f := feature[node]) != LEAF:
                at, cell = cut[node], point[f]
                goes_left = cell <= at if self.ordered[f] else self._sends_left(f, at, cell)  # most are ordered
                node = left[node] if goes_left else right[node]
            reached.append(node)
        return reached

    @property
    def source_views(self) -> tuple[memoryview, memoryview, memoryview, memoryview]:
        """Features, cuts and children as views, which Python walks faster than arrays, and has at once."""
        return self.feature.data, self.cut.data, self.source.left.data, self.source.right.data

    def label(self, point: Sequence[int]) -> int:
        """Return the class index of the model's own ``predict`` at `point`."""
        return int(self.source.decide(np.array([self.leaves(point)], dtype=np.int32))[0])

    def may_tie(self, point: Sequence[int], label: int) -> bool:
        """Return whether rounding may have decided for the label at a point: its sums are that close to another's."""
        if self.band == 0:
            return False
        sums = self.scores[self.leaves(point)].sum(axis=0)
        leads = [sums[label] - sums[k] - self.theta[label, k] for k in range(self.n_classes) if k != label]
        return min(leads) < self.band

    def labels(self, points: Sequence[Sequence[int]]) -> list[int]:
        """Return what `label` does for each point; for many points at once it is several times faster."""
        cells = np.array(points).reshape(len(points), self.n_features)
        ordered = np.array(self.ordered)
        node = np.tile(self.source.roots, (len(points), 1))
        while (inner := (feature := self.feature[node]) != LEAF).any():
            cut, cell = self.cut[node], np.take_along_axis(cells, np.maximum(feature, 0), axis=1)
            goes_left = cell <= cut
            for at in np.argwhere(inner & ~ordered[feature]).tolist():
                goes_left[*at] = self._sends_left(int(feature[*at]), int(cut[*at]), int(cell[*at]))
            node = np.where(inner, np.where(goes_left, self.source.left[node], self.source.right[node]), node)
        return self.source.decide(node.astype(np.int32)).tolist()


def _gap_between(feature: Feature) -> int | None:
    """Return the cell of missing values, if it has cells of numbers on both sides in the feature's order."""
    gap = feature.missing_cell if isinstance(feature, NumericFeature) and feature.ordered else None
    return gap if gap is not None and 0 < gap < feature.n_cells - 1 else None


def discretise(space: Space) -> CellForest:
    """Return the forest over the cells of this space; ``discretise().label(cells(x)) == predict_index([x])``."""
    forest = space.forest
    of_column = {column: f for f, feature in enumerate(space.features) for column in feature.columns}
    # Mostly, features are the columns, in their order, and then nothing is copied.
    same = all(column == f for column, f in of_column.items())
    feature = forest.feature if same else np.full(forest.n_nodes, LEAF, dtype=np.int32)
    cut = np.full(forest.n_nodes, LEAF, dtype=np.int32)
    left_sets: dict[frozenset[int], int] = {}
    for column, f in of_column.items():
        nodes = forest.splits_of(column)
        if not same:
            feature[nodes] = f
        seen = space.features[f]
        if isinstance(seen, NumericFeature):
            # The last cell that goes left: cells are intervals that no threshold cuts.
            last = np.searchsorted(seen.highs, forest.threshold[nodes], side="right") - 1
            if seen.apart:
                cut[nodes] = 2 * (last + 1) + forest.missing_left[nodes]
            else:
                cut[nodes] = last if seen.missing_cell is None else last + forest.missing_left[nodes]
            continue
        assert isinstance(seen, ValueFeature)
        place = seen.columns.index(column)
        for node in nodes.tolist():
            goes_left = frozenset(
                cell for cell in range(seen.n_cells) if _goes_left(forest, node, float(seen.points[cell, place]))
            )
            cut[node] = left_sets.setdefault(goes_left, len(left_sets))
    integers = integer_scores(forest)
    cells = CellForest(
        source=forest,
        n_cells=tuple(f.n_cells for f in space.features),
        ordered=tuple(f.ordered for f in space.features),
        gapped=tuple(isinstance(f, NumericFeature) and f.apart for f in space.features),
        feature=feature,
        cut=cut,
        left_sets=tuple(left_sets),
        scores=integers.scores,
        theta=integers.theta,
        band=integers.band,
        exponent=integers.exponent,
        between={f: gap for f, feature in enumerate(space.features) if (gap := _gap_between(feature)) is not None},
    )
    return replace(cells, clauses=tuple(clause for _, clause in space.clauses)) if space.constraints else cells


def _goes_left(forest: Forest, node: int, value: float) -> bool:
    if forest.subset[node] >= 0:
        return int(value) in forest.subsets[forest.subset[node]]
    return bool(value <= forest.threshold[node])
