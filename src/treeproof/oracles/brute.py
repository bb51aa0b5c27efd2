"""Enumeration of all points: the reference for tests, hopeless on real forests."""

from __future__ import annotations

import itertools

from treeproof.query.cells import CellForest
from treeproof.query.oracle import Answer, Entailed, Query, Refuted, Unknown, expired, restricted, violates


class BruteOracle:
    """Answers by trying every point of the domains; meant for forests with few cells."""

    name = "brute"

    def __init__(self, forest: CellForest) -> None:
        self._forest = forest

    def decide(self, query: Query) -> Answer:
        """Answer the query; the core is all restricted features."""
        for point in itertools.product(*query.domains):
            if expired(query.deadline):
                return Unknown("deadline")
            if not self._forest.allows(point):
                continue
            label = self._forest.label(point)
            if violates(query.claim, label):
                return Refuted(tuple(point), label)
        return Entailed(restricted(self._forest, query.domains), clauses=frozenset(range(len(self._forest.clauses))))
