"""The norms by which `robustness` measures how far an input is: one object for each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from typing import Literal

from treeproof.errors import InputError
from treeproof.query.ball import Ball
from treeproof.query.cache import Cache
from treeproof.query.oracle import Refuted, expired
from treeproof.questions.costs import exact_sum
from treeproof.questions.moves import Moves, Reached
from treeproof.questions.result import digits
from treeproof.search.closest import CellCosts, Closest, closest, closest_maximum
from treeproof.search.minimal import contrastive
from treeproof.search.minimum import minimum_contrastive
from treeproof.space.domains import as_domain

NormName = Literal["linf", "l1", "l0"]


class Norm(ABC):
    """How distances of features combine into the distance of an input, and how the nearest flip is found."""

    meaning: str
    """What the distance is, in words."""

    rounding_counts = False
    """Whether numbers that are shown with fewer digits may be at another distance than is said."""

    def costs(self, moves: Moves, deadline: float | None = None) -> tuple[CellCosts, Fraction]:
        """Return the distance of each cell of each feature, in whole units, and the unit; TimeoutError if late."""
        return moves.costs(range(len(moves.free)), stay=True, deadline=deadline)

    def nearest(self, moves: Moves) -> Fraction | None:
        """Return a distance below which all inputs are in the row's own cells; None if there are no others."""
        return moves.nearest

    @abstractmethod
    def search(self, cache: Cache, costs: CellCosts, ordering: list[int], answer: Refuted) -> Closest:
        """Return the nearest flip, or the nearest one found before the deadline; `answer` is any flip."""

    @abstractmethod
    def distance(self, parts: Sequence[Fraction]) -> Fraction:
        """Return the distance of an input from the distances of its changed features."""

    def reach(self, moves: Moves, witness: Refuted, distance: Fraction) -> Reached:
        """Return an input at a distance; its numbers are shown with few digits only if that does not matter."""
        return moves.reach(witness, digits=9)

    def below(self, distance: Fraction, n_features: int) -> str:
        """Return which inputs are nearer than a distance, in words."""
        return f"at a distance below {digits(distance, ROUND_FLOOR)}"

    def reached(self, distance: Fraction) -> str:
        """Return how far an input is, in words."""
        return f"is within {digits(distance, ROUND_CEILING)}"

    @property
    def remark(self) -> str:
        """A sentence that explains the distance."""
        return f" Distance: {self.meaning}."


class _Largest(Norm):
    meaning = "the largest scaled change of a feature"

    def search(self, cache: Cache, costs: CellCosts, ordering: list[int], answer: Refuted) -> Closest:
        """Return the nearest flip, of which no change can be left out."""
        found = closest_maximum(cache, costs, answer)
        if expired(cache.deadline):
            return found
        near = [frozenset(c for c, cost in costs[f].items() if cost <= found.cost) for f in sorted(costs)]
        free = [as_domain(cells, cache.forest.ordered[f]) for f, cells in enumerate(near)]
        inside = Cache(cache.forest, cache.oracle, cache.point, cache.claim, cache.deadline, free=free)
        inside.tally = cache.tally
        witness = contrastive(inside, ordering, found.witness).witness
        cost = max(costs[f][witness.witness[f]] for f in costs)
        return Closest(witness, cost, found.bound)

    def reach(self, moves: Moves, witness: Refuted, distance: Fraction) -> Reached:
        """Return an input at a distance; its numbers have as few digits as what is said of the distance allows."""
        scales = tuple(moves.scale(f) for f in range(len(moves.free)))
        return moves.reach(witness, ball=Ball(Fraction(digits(distance, ROUND_CEILING)), scales, ""))

    def distance(self, parts: Sequence[Fraction]) -> Fraction:
        """Return the largest part."""
        return max(parts)


class _Sum(Norm):
    meaning = "the sum of the scaled changes"
    rounding_counts = True

    def search(self, cache: Cache, costs: CellCosts, ordering: list[int], answer: Refuted) -> Closest:
        """Return the nearest flip."""
        # The closest witness of a minimal change is found quickly and is a good start.
        change = contrastive(cache, ordering, answer)
        inside = {f: {cell: costs[f][cell] for cell in costs[f] if cell != cache.point[f]} for f in change.features}
        return closest(cache, costs, closest(cache, inside, change.witness).witness)

    def distance(self, parts: Sequence[Fraction]) -> Fraction:
        """Return the sum of the parts."""
        return exact_sum(parts)


class _Count(Norm):
    meaning = "the number of changed features"

    def costs(self, moves: Moves, deadline: float | None = None) -> tuple[CellCosts, Fraction]:
        """Return none: features are counted, whatever their cells."""
        return {}, Fraction(1)

    def nearest(self, moves: Moves) -> Fraction | None:
        """Return 1, if a feature can change; InputError for a scale, which has no meaning here."""
        if moves.scales:
            raise InputError("'scale' has no meaning for norm='l0', which counts changed features. Leave it out.")
        return Fraction(1) if any(len(cells) > 1 for cells in moves.free) else None

    def search(self, cache: Cache, costs: CellCosts, ordering: list[int], answer: Refuted) -> Closest:
        """Return the flip with the fewest changes."""
        fewest = minimum_contrastive(cache, ordering, dict.fromkeys(cache.features, 1), answer)
        return Closest(fewest.found.witness, len(fewest.found.features), max(fewest.bound, 1))

    def reach(self, moves: Moves, witness: Refuted, distance: Fraction) -> Reached:
        """Return an input with so many changes; its numbers have few digits."""
        return moves.reach(witness)

    def distance(self, parts: Sequence[Fraction]) -> Fraction:
        """Return how many parts there are."""
        return Fraction(len(parts))

    def below(self, distance: Fraction, n_features: int) -> str:
        """Return which inputs change fewer features, in words."""
        return f"that changes fewer than {distance} of {n_features} features"

    def reached(self, distance: Fraction) -> str:
        """Return how many features an input changes, in words."""
        return f"changes {distance}"

    @property
    def remark(self) -> str:
        """Nothing: the statement itself says what is counted."""
        return ""


NORMS: Mapping[NormName, Norm] = {"linf": _Largest(), "l1": _Sum(), "l0": _Count()}
