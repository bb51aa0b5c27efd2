"""The box around a point that entails the claim and covers the most of given points (Most General Explanations of Tree
Ensembles, IJCAI 2025, with an implementation of our own).

A box may be taken as the hull of the home point and the points it covers. It entails the claim iff it holds no
counterexample, and it holds one iff in every feature some covered point goes as far from home as the counterexample
does. So the points that are lost are a cheapest choice with, for each counterexample known so far, a feature in which
all points that go so far are lost: a question for `HittingSets`, whose bound holds for every box. If the hull of what
is left holds further counterexamples, points are given up until it holds none, which makes a candidate, and the
counterexamples are learned. That is repeated until the bound says that no box covers more than the best candidate.

A counterexample is moved towards home as far as it stays one: the nearer it is, the more boxes it rules out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from treeproof.query.cache import Cache
from treeproof.query.cells import CellForest
from treeproof.query.oracle import Entailed, Labels, Refuted, Unknown, expired, violates
from treeproof.search.hitting import HittingSets
from treeproof.search.inflation import Widened
from treeproof.space.domains import Cells, Domain

Integers = npt.NDArray[np.integer[Any]]

_SCREENED = 50  # points in a row that could be covered alone: then the others are not tried one by one


@dataclass(frozen=True, slots=True)
class Covering:
    """Domains around the home point that entail the claim and cover so many points; no others cover more than `bound`.

    The best there are if `covered` is `bound`, which is so unless the deadline came first. `clauses` are the
    constraints between features that the proof used.
    """

    domains: tuple[Domain, ...]
    covered: int
    bound: int
    clauses: frozenset[int] = frozenset()


def most_general(
    cache: Cache, points: Mapping[Cells, int], others: Iterable[Cells], known: Widened | None = None
) -> Covering:
    """Return domains around the cache's point that entail its claim and cover as many points as any.

    `points` satisfy the claim; each counts as often as it is mapped to. `others` violate it. The `known` domains around
    the point entail the claim; they are returned if none are found that cover more.
    """
    return Search(cache, points, others, known).run()


_UP, _DOWN, _ALONE = 1, -1, 0  # the ways in which the hull extends


class Search:
    """The search of `most_general`: so many points are `covered` by the hull of `best`, or by the known domains."""

    def __init__(
        self, cache: Cache, points: Mapping[Cells, int], others: Iterable[Cells], known: Widened | None = None
    ) -> None:
        n = cache.forest.n_features
        self._cache = cache
        self._home = np.array(cache.point, dtype=int)
        self._missing = _missing_cells(cache.forest)
        self._ordered = np.array(cache.forest.ordered) | np.array(cache.forest.gapped)
        self._points = np.array(list(points), dtype=int).reshape(-1, n)
        self._weights = np.array(list(points.values()), dtype=int)
        self._others = np.array(list(others), dtype=int).reshape(-1, n)
        self.counterexamples: list[Integers] = []
        self._proof = Entailed(frozenset())  # the last one
        # Points, by index, whose hull entails the claim, what they weigh, and the constraints that the proof used.
        self.best = np.array([], dtype=int)
        self._known = Widened(self.hull(self.best), False) if known is None else known
        self._clauses = self._known.clauses
        self.covered = int(self._weights[within(self._points, self._known.domains)].sum())
        self._bound = int(self._weights.sum())

    def run(self) -> Covering:
        """Return the best box, or at the deadline the best so far."""
        try:
            self._search()
            self._bound = self.covered
        except TimeoutError:
            pass
        return self._found()

    def approach(self) -> Covering:
        """Return a good box, by giving points up greedily, without a proof that it is the best."""
        with suppress(TimeoutError):
            self._approach()
        return self._found()

    def _found(self) -> Covering:
        domains = self.hull(self.best) if len(self.best) else self._known.domains
        return Covering(domains, self.covered, self._bound, self._clauses)

    def _approach(self) -> Integers:
        """Find a good hull; return the points that some box may cover; TimeoutError when the deadline comes first."""
        alive = self.screen()
        self._bound = int(self._weights[alive].sum())
        kept = alive
        for counterexample in self.counterexamples:
            kept = self.give_up(kept, counterexample)
        self.improve(kept)
        return alive

    def _search(self) -> None:
        """Find the best hull and prove that there is no better one; TimeoutError when the deadline comes first."""
        alive = self._approach()
        with Choice(self._cache, self._points[alive], self._weights[alive]) as choice:
            try:
                for counterexample in self.counterexamples:
                    choice.avoid(counterexample)
                while (chosen := choice.heaviest(above=self.covered)) is not None:
                    for counterexample in self.improve(alive[chosen]):
                        choice.avoid(counterexample)
            finally:
                self._bound = choice.bound

    def screen(self) -> Integers:
        """Return the points without those that no box covers: a counterexample lies between them and home.

        Most of these are found, not all. The farthest points are tried first, since they tell about those between.
        """
        hopeless = np.zeros(len(self._points), dtype=bool)
        coverable = np.zeros(len(self._points), dtype=bool)
        in_a_row = 0
        for i in np.argsort(-np.abs(self._points - self._home).sum(axis=1), kind="stable").tolist():
            if hopeless[i] or coverable[i]:
                continue
            counterexample = self.refute(np.array([i]))
            if counterexample is not None:
                hopeless |= self.behind(counterexample)
                in_a_row = 0
                continue
            coverable |= self.inside(self._points, np.array([i]))
            in_a_row += 1
            if in_a_row == _SCREENED:
                break
        return np.flatnonzero(~hopeless)

    def improve(self, kept: Integers) -> list[Integers]:
        """Give points up until the hull of the others entails the claim, and return the counterexamples on the way."""
        met = []
        while (counterexample := self.refute(kept)) is not None:
            met.append(counterexample)
            kept = self.give_up(kept, counterexample)
        value = self.value(kept)
        if value > self.covered:
            self.best, self.covered, self._clauses = kept, value, self._proof.clauses
        return met

    def give_up(self, kept: Integers, counterexample: Integers) -> Integers:
        """Return the points without those that go as far as the counterexample in the feature where that costs least.

        All of them, if their hull does not hold it.
        """
        reach = self.reach(counterexample, kept)
        if not reach.any(axis=0).all():
            return kept
        away = np.flatnonzero(counterexample != self._home)
        cheapest = away[np.argmin(self._weights[kept] @ reach[:, away])]
        return kept[~reach[:, cheapest]]

    def refute(self, kept: Integers) -> Integers | None:
        """Return a counterexample in the hull of these points, or None if there is none; or TimeoutError."""
        if expired(self._cache.deadline):
            raise TimeoutError
        inside = self._others[self.inside(self._others, kept)]
        if len(inside):
            return self.learn(inside[np.argmin((inside != self._home).sum(axis=1))])
        answer = self._cache.decide(self.hull(kept))
        if isinstance(answer, Unknown):
            raise TimeoutError
        if isinstance(answer, Refuted):
            return self.learn(np.array(answer.witness))
        self._proof = answer
        return None

    def learn(self, point: Integers) -> Integers:
        """Return the counterexample moved towards home, one feature after the other; by halving, not step by step."""
        near = point.tolist()
        for f in np.argsort(-np.abs(point - self._home), kind="stable").tolist():
            good, bad = near[f], self._cache.point[f]
            if good == bad:
                continue
            near[f] = bad
            if self._violates(near):
                continue
            while self._ordered[f] and self._missing[f] not in (good, bad) and abs(good - bad) > 1:
                near[f] = (good + bad) // 2
                if self._violates(near):
                    good = near[f]
                else:
                    bad = near[f]
            near[f] = good
        self.counterexamples.append(np.array(near))
        return self.counterexamples[-1]

    def _violates(self, point: list[int]) -> bool:
        cache = self._cache
        label = cache.oracle.label if isinstance(cache.oracle, Labels) else cache.forest.label
        return cache.forest.allows(point) and violates(cache.claim, label(point))

    def reach(self, target: Integers, kept: Integers) -> npt.NDArray[np.bool_]:
        """Return per point and feature whether the point goes as far from home as the target, on its side."""
        points = self._points[kept]
        beyond = np.where(target > self._home, points >= target, points <= target)
        beyond &= (points != self._missing) | (target == self._missing)
        return (target == self._home) | np.where(self._ordered, beyond, points == target)

    def behind(self, target: Integers) -> npt.NDArray[np.bool_]:
        """Return which points have the target between them and home: every box that holds them holds it."""
        between = self.reach(target, np.arange(len(self._points)))
        # No numbers lie between a missing value and a number.
        apart = (self._home == self._missing) & (target != self._home)
        return (between & (~apart | (self._points == target))).all(axis=1)

    def hull(self, kept: Integers) -> tuple[Domain, ...]:
        """Return the smallest domains that hold home and these points."""
        points = np.vstack([self._points[kept], self._home])
        return tuple(self._extended(f, points[:, f]) for f in range(points.shape[1]))

    def _extended(self, f: int, cells: Integers) -> Domain:
        """Return the smallest domain of a feature that holds these cells."""
        if not self._ordered[f]:
            return frozenset(np.unique(cells).tolist())
        numbers = cells[cells != self._missing[f]]
        spanned = range(int(numbers.min()), int(numbers.max()) + 1) if len(numbers) else range(0)
        if self._cache.forest.ordered[f]:
            return spanned
        return frozenset({*spanned, *np.unique(cells[cells == self._missing[f]]).tolist()})

    def inside(self, points: Integers, kept: Integers) -> npt.NDArray[np.bool_]:
        """Return which of some points lie in the hull of home and points."""
        return within(points, self.hull(kept))

    def value(self, kept: Integers) -> int:
        """Return what the hull of home and points covers."""
        return int(self._weights[self.inside(self._points, kept)].sum())


class Choice:
    """The heaviest choice of points whose hull avoids counterexamples; `bound` is proved at any time.

    What the hitting sets choose is a point that is lost, or, at no cost, an extent that the hull has: that it goes up,
    or down, to a certain cell or further, or that it has a value. From home it goes either way. Where home is missing,
    there is nothing to go from: a number is in the hull if that goes down to it and up to it.
    """

    def __init__(self, cache: Cache, points: Integers, weights: Integers) -> None:
        self._home = cache.point
        self._missing = _missing_cells(cache.forest).tolist()
        self._total = int(weights.sum())
        self._n_points = len(points)
        costs = dict(enumerate(weights.tolist()))

        def extents(cells: Iterable[int]) -> dict[int, int]:
            made = {cell: len(costs) + i for i, cell in enumerate(cells)}
            costs.update(dict.fromkeys(made.values(), 0))
            return made

        # Per feature: cells of points to what stands for an extent, along the way that the extent goes.
        self._ways: list[dict[int, dict[int, int]]] = []
        for f, home in enumerate(self._home):
            cells = [cell for cell in np.unique(points[:, f]).tolist() if cell != home]
            in_order = cache.forest.ordered[f] or cache.forest.gapped[f]
            numbers = [cell for cell in cells if in_order and cell != self._missing[f]]
            apart = home == self._missing[f]
            self._ways.append(
                {
                    _UP: extents(cell for cell in numbers if apart or cell > home),
                    _DOWN: extents(cell for cell in reversed(numbers) if apart or cell < home),
                    _ALONE: extents(cell for cell in cells if cell not in numbers),
                }
            )
        self._sets = HittingSets(costs, deadline=cache.deadline)
        for f, ways in enumerate(self._ways):
            for i, cell in enumerate(points[:, f].tolist()):
                for extent in self._extents(f, cell) or ():
                    self._sets.require([i + 1, extent + 1])
            for near, far in [*pairwise(ways[_UP].values()), *pairwise(ways[_DOWN].values())]:
                self._sets.require([near + 1, -(far + 1)])

    def __enter__(self) -> Choice:
        return self

    def __exit__(self, *_: object) -> None:
        self._sets.__exit__()

    @property
    def bound(self) -> int:
        """No choice is heavier."""
        return self._total - self._sets.bound

    def avoid(self, counterexample: Integers) -> None:
        """Ask that in some feature the hull does not extend as far as the counterexample."""
        needed = [self._extents(f, cell) for f, cell in enumerate(counterexample.tolist())]
        if None not in needed:
            self._sets.require([-(extent + 1) for extents in needed for extent in extents or ()])

    def heaviest(self, above: int) -> Integers | None:
        """Return a choice of points as heavy as any, or None if none is heavier than `above`; or TimeoutError."""
        chosen = self._sets.cheapest(below=self._total - above)
        return None if chosen is None else np.array([i for i in range(self._n_points) if i not in chosen], dtype=int)

    def _extents(self, f: int, cell: int) -> list[int] | None:
        """Return the least extents with which the hull has this cell; None if no points go so far."""
        home, missing, ways = self._home[f], self._missing[f], self._ways[f]
        if cell == home:
            return []
        if cell in ways[_ALONE]:
            return [ways[_ALONE][cell]]
        found = []
        for way in (_UP, _DOWN):
            if cell == missing or (home != missing and (cell - home) * way < 0):
                continue
            extent = next((extent for far, extent in ways[way].items() if (far - cell) * way >= 0), None)
            if extent is None:
                return None
            found.append(extent)
        return found or None


def within(points: Integers, domains: Iterable[Domain]) -> npt.NDArray[np.bool_]:
    """Return which of some points lie in these domains."""
    inside = np.ones(len(points), dtype=bool)
    for f, domain in enumerate(domains):
        if isinstance(domain, range):
            inside &= (domain[0] <= points[:, f]) & (points[:, f] <= domain[-1])
        else:
            inside &= np.isin(points[:, f], list(domain))
    return inside


def _missing_cells(forest: CellForest) -> Integers:
    """Return per gapped feature the cell of missing values, and -1 for the others."""
    return np.array([n - 1 if gapped else -1 for n, gapped in zip(forest.n_cells, forest.gapped, strict=True)])
