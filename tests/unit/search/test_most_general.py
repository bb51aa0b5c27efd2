"""The parts of the search for the box that covers most points, by enumeration of points and boxes."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest

from generators import cell_forests, random_clauses
from oracles_for_tests import Giving
from treeproof.oracles.native import NativeOracle
from treeproof.query.cache import Cache
from treeproof.query.cells import CellForest
from treeproof.query.oracle import Stays
from treeproof.search import most_general as general
from treeproof.search.most_general import Choice, Search, most_general
from treeproof.space.domains import Cells


@dataclass
class Case:
    """A forest, a home point, points of its label with weights, and points of other labels."""

    forest: CellForest
    home: Cells
    points: dict[Cells, int]
    others: list[Cells]

    def cache(self, answers: float = float("inf"), native: bool = False) -> Cache:
        oracle = NativeOracle(self.forest) if native else Giving(self.forest, answers)
        return Cache(self.forest, oracle, self.home, Stays(self.forest.label(self.home)))

    def violates(self, point: Cells) -> bool:
        return self.forest.allows(point) and self.forest.label(point) != self.forest.label(self.home)

    def boxes(self) -> Iterator[tuple[list[int], ...]]:
        """All boxes around home."""

        def sides(f: int) -> list[list[int]]:
            cells, home = range(self.forest.n_cells[f]), self.home[f]
            if self.forest.ordered[f]:
                return [list(range(a, b + 1)) for a in cells if a <= home for b in cells if b >= home]
            others = [cell for cell in cells if cell != home]
            chosen = itertools.chain.from_iterable(itertools.combinations(others, n) for n in range(len(others) + 1))
            return [[home, *some] for some in chosen]

        return itertools.product(*map(sides, range(self.forest.n_features)))

    def best(self) -> int:
        """How much the best box covers."""
        bad, weight = np.zeros(self.forest.n_cells, dtype=bool), np.zeros(self.forest.n_cells, dtype=int)
        for point in itertools.product(*map(range, self.forest.n_cells)):
            bad[point] = self.violates(point)
            weight[point] = self.points.get(point, 0)
        grids = (np.ix_(*box) for box in self.boxes())
        return max(int(weight[grid].sum()) for grid in grids if not bad[grid].any())


def cases(n: int) -> Iterator[Case]:
    found = 0
    for i, forest in enumerate(cell_forests(400, seed=81, n_columns=3)):
        rng = np.random.default_rng([i, 9])
        if not 12 <= np.prod(forest.n_cells) <= 60:
            continue
        if rng.random() < 0.4:
            forest = replace(forest, clauses=random_clauses(rng, forest))
        points = [p for p in itertools.product(*map(range, forest.n_cells)) if forest.allows(p)]
        if len({forest.label(p) for p in points}) < 2:
            continue
        home = points[rng.integers(len(points))]
        drawn = Counter(points[j] for j in rng.integers(0, len(points), int(rng.integers(1, 25))))
        same = {p: n for p, n in drawn.items() if forest.label(p) == forest.label(home)}
        yield Case(forest, home, same, [p for p in drawn if p not in same])
        found += 1
        if found == n:
            return


@pytest.mark.parametrize("native", [False, True])
def test_no_box_covers_more(native):
    partly = 0
    for case in cases(30):
        found = most_general(case.cache(native=native), case.points, case.others)
        best = case.best()
        assert (found.covered, found.bound) == (best, best)
        inside = list(itertools.product(*found.domains))
        assert not any(map(case.violates, inside))
        assert sum(n for p, n in case.points.items() if p in inside) == best
        partly += 0 < best < sum(case.points.values())
    assert partly > 5


def test_a_box_at_the_deadline_is_right_and_its_bound_holds(monkeypatch):
    late = 0
    for case in cases(25):
        cache = case.cache()
        best = most_general(cache, case.points, case.others).covered
        for answers in range(cache.tally.entailed + cache.tally.refuted):
            found = most_general(case.cache(answers), case.points, case.others)
            assert found.covered <= best <= found.bound
            assert not any(map(case.violates, itertools.product(*found.domains)))
            late += found.covered < found.bound
        for looks in range(12):
            ticks = iter(range(1000))
            monkeypatch.setattr(general, "expired", lambda deadline, t=ticks, n=looks: next(t) >= n)
            found = most_general(case.cache(), case.points, case.others)
            assert found.covered <= best <= found.bound
        monkeypatch.undo()
    assert late > 20


def test_counterexamples_are_moved_towards_home():
    moved = 0
    for case in cases(25):
        search = Search(case.cache(), case.points, case.others)
        for point in itertools.product(*map(range, case.forest.n_cells)):
            if not case.violates(point):
                continue
            near = search.learn(np.array(point)).tolist()
            assert case.violates(tuple(near))
            for f, (a, b, home) in enumerate(zip(near, point, case.home, strict=True)):
                assert a in (b, home) or (case.forest.ordered[f] and min(b, home) < a < max(b, home))
            moved += near != list(point)
            assert search.counterexamples[-1].tolist() == near
    assert moved > 100


def test_hulls_and_what_reaches_a_target():
    for case in cases(25):
        if not case.points:
            continue
        search = Search(case.cache(), case.points, case.others)
        every = np.array(list(itertools.product(*map(range, case.forest.n_cells))))
        points, rng = list(case.points), np.random.default_rng(0)
        for _ in range(4):
            kept = np.flatnonzero(rng.random(len(points)) < 0.6)
            hull = search.hull(kept)
            for f, domain in enumerate(hull):
                cells = {case.home[f], *(points[i][f] for i in kept)}
                if case.forest.ordered[f]:
                    assert domain == range(min(cells), max(cells) + 1)
                else:
                    assert domain == frozenset(cells)
            inside = [all(c in d for c, d in zip(p, hull, strict=True)) for p in every.tolist()]
            assert search.inside(every, kept).tolist() == inside
            assert search.value(kept) == sum(
                n for p, n in case.points.items() if all(c in d for c, d in zip(p, hull, strict=True))
            )
            target = every[rng.integers(len(every))]
            for i, row in zip(kept, search.reach(target, kept).tolist(), strict=True):
                for f, reaches in enumerate(row):
                    own, goal, home = points[i][f], int(target[f]), case.home[f]
                    if not case.forest.ordered[f]:
                        expected = goal in (own, home)
                    else:
                        expected = own >= goal if goal > home else own <= goal if goal < home else True
                    assert reaches == expected


def test_points_are_given_up_where_that_costs_least():
    given_up = 0
    for case in cases(30):
        search = Search(case.cache(), case.points, case.others)
        everything = np.arange(len(case.points))
        for point in itertools.product(*map(range, case.forest.n_cells)):
            if not case.violates(point):
                continue
            target = np.array(point)
            kept = search.give_up(everything, target)
            if not search.inside(target[None, :], everything)[0]:
                assert kept.tolist() == everything.tolist()
                continue
            reach = search.reach(target, everything)
            weights = np.array(list(case.points.values()))
            away = [f for f in range(len(point)) if point[f] != case.home[f]]
            assert not search.inside(target[None, :], kept)[0]
            lost = weights.sum() - weights[kept].sum()
            assert lost == min(weights[reach[:, f]].sum() for f in away)
            given_up += 1
    assert given_up > 30


def test_points_that_no_box_covers_are_left_out():
    fewer = 0
    for case in cases(25):
        search = Search(case.cache(), case.points, case.others)
        alive = set(search.screen().tolist())
        for i, point in enumerate(case.points):
            corners = (
                range(min(a, b), max(a, b) + 1) if ordered else {a, b}
                for a, b, ordered in zip(point, case.home, case.forest.ordered, strict=True)
            )
            hopeless = any(map(case.violates, itertools.product(*corners)))
            assert (i in alive) != hopeless  # few points: all are tried
            fewer += hopeless
    assert fewer > 10


def test_screening_asks_about_what_is_open_and_ends_when_many_in_a_row_could_be_covered(monkeypatch):
    monkeypatch.setattr(general, "_SCREENED", 2)
    early = 0
    for case in cases(40):
        search = Search(case.cache(), case.points, case.others)
        points, fine, settled = np.array(list(case.points), dtype=int), [], set()

        def refute(kept, real=search.refute, search=search, points=points, fine=fine, settled=settled):
            assert int(kept[0]) not in settled
            counterexample = real(kept)
            fine.append(counterexample is None)
            if counterexample is None:
                settled.update(np.flatnonzero(search.inside(points, kept)).tolist())
            else:
                reach = search.reach(counterexample, np.arange(len(points)))
                settled.update(np.flatnonzero(reach.all(axis=1)).tolist())
            return counterexample

        monkeypatch.setattr(search, "refute", refute)
        search.screen()
        pairs = [i for i in range(len(fine) - 1) if fine[i] and fine[i + 1]]
        assert pairs == [len(fine) - 2] or (not pairs and len(settled) == len(points))
        early += len(settled) < len(points)
    assert early > 0


@pytest.mark.parametrize("weights", [1, 3])
def test_a_choice_avoids_counterexamples_and_loses_as_little_as_possible(weights):
    lost = 0
    for case in cases(30):
        points = np.array(list(case.points), dtype=int).reshape(-1, case.forest.n_features)
        rng = np.random.default_rng(0)
        weight = rng.integers(1, weights + 1, len(points))
        bad = [p for p in itertools.product(*map(range, case.forest.n_cells)) if case.violates(p)]
        chosen = [bad[i] for i in rng.integers(0, len(bad), 3)] if bad else []
        search = Search(case.cache(), case.points, case.others)
        if not 0 < len(points) <= 8:
            continue
        best = max(
            int(weight[list(kept)].sum())
            for n in range(len(points) + 1)
            for kept in itertools.combinations(range(len(points)), n)
            if not any(search.inside(np.array([p]), np.array(kept, dtype=int))[0] for p in chosen)
        )
        with Choice(case.cache(), points, weight) as choice:
            assert choice.bound == weight.sum()
            for point in chosen:
                choice.avoid(np.array(point))
            found = choice.heaviest(above=best - 1)
            assert weight[found].sum() == best == choice.bound
            assert not any(search.inside(np.array([p]), found)[0] for p in chosen)
            assert choice.heaviest(above=best) is None
        lost += best < weight.sum()
    assert lost > 3


def test_of_equally_good_boxes_the_first_is_kept():
    compared = 0
    for case in cases(40):
        search = Search(case.cache(), case.points, case.others)
        alone = [i for i in search.screen().tolist() if search.value(np.array([i])) > search.covered]
        for i, j in itertools.combinations(alone, 2):
            if search.value(np.array([i])) == search.value(np.array([j])):
                search = Search(case.cache(), case.points, case.others)
                assert search.improve(np.array([i])) == search.improve(np.array([j])) == []
                assert search.best.tolist() == [i]
                compared += 1
    assert compared > 10


def test_a_known_counterexample_that_changes_least_is_learned_first(monkeypatch):
    learned = []
    for case in cases(60):
        search = Search(case.cache(), case.points, case.others)
        monkeypatch.setattr(search, "learn", lambda point: learned.append(point.tolist()) or point)
        everything = np.arange(len(case.points))
        inside = [p for p in case.others if search.inside(np.array([p]), everything)[0]]
        if not inside:
            continue
        search.refute(everything)
        changes = [sum(a != b for a, b in zip(p, case.home, strict=True)) for p in (learned[-1], *inside)]
        assert changes[0] == min(changes)
    assert len(learned) > 10
