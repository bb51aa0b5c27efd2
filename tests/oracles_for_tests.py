"""Oracles that only tests need."""

from __future__ import annotations

from dataclasses import dataclass

from treeproof.oracles.brute import BruteOracle
from treeproof.query.cells import CellForest
from treeproof.query.oracle import Answer, Query, Unknown


@dataclass
class Giving:
    """An oracle that gives up after so many answers."""

    forest: CellForest
    left: float = float("inf")
    name = "giving"

    def decide(self, query: Query) -> Answer:
        self.left -= 1
        return BruteOracle(self.forest).decide(query) if self.left >= 0 else Unknown("gave up")
