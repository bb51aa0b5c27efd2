"""Enumeration of all points: the reference for tests, hopeless on real forests."""

from __future__ import annotations

import itertools

from treeproof.query.cells import CellForest
from treeproof.query.oracle import Answer, Entailed, Query, Refuted, Unknown, expired, restricted, violates
from treeproof.space.domains import Cells

_MOST_KEPT = 1 << 16  # labels


class BruteOracle:
    """Answers by trying every point of the domains; meant for forests with few cells."""

    name = "brute"

    def __init__(self, forest: CellForest) -> None:
        self._forest = forest
        self._labels: dict[Cells, int] = {}  # of points that were met: queries about one row share most of theirs

    def decide(self, query: Query) -> Answer:
        """Answer the query; the core is all restricted features."""
        for point in itertools.product(*query.domains):
            if expired(query.deadline):
                return Unknown("deadline")
            if not self._forest.allows(point):
                continue
            label = self._label(point)
            if violates(query.claim, label):
                return Refuted(point, label)
        return Entailed(restricted(self._forest, query.domains), clauses=frozenset(range(len(self._forest.clauses))))

    def _label(self, point: Cells) -> int:
        label = self._labels.get(point)
        if label is None:
            label = self._forest.label(point)
            if len(self._labels) < _MOST_KEPT:
                self._labels[point] = label
        return label
