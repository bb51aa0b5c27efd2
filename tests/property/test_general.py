"""The rules that cover the most rows, against all boxes around a row of small random forests."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import treeproof as tp
from changing import random_case
from generators import hard_forest
from rules_by_enumeration import World
from treeproof.model.rows import as_row
from treeproof.oracles.brute import BruteOracle
from treeproof.query.cache import Cache
from treeproof.query.cells import discretise
from treeproof.query.oracle import Stays
from treeproof.search.most_general import most_general

seeds = st.integers(0, 2**32 - 1)
votes = st.sampled_from(["majority", "mean"])


def best_coverage(explainer: tp.Explainer, point: tuple[int, ...], rows: list[tuple[int, ...]]) -> int:
    """The most rows, given as cells, that a box around the point covers without a point of another label."""
    forest = discretise(explainer.space)
    label = forest.label(point)
    bad = np.zeros(forest.n_cells, dtype=bool)
    weight = np.zeros(forest.n_cells, dtype=int)
    for other in itertools.product(*map(range, forest.n_cells)):
        bad[other] = forest.allows(other) and forest.label(other) != label
    for row, n in Counter(rows).items():
        weight[row] = n

    def sides(f: int) -> list[list[int]]:
        cells, home = range(forest.n_cells[f]), point[f]
        if forest.ordered[f]:
            return [list(range(a, b + 1)) for a in cells if a <= home for b in cells if b >= home]
        others = [cell for cell in cells if cell != home]
        subsets = itertools.chain.from_iterable(itertools.combinations(others, n) for n in range(len(others) + 1))
        return [[home, *subset] for subset in subsets]

    boxes = (np.ix_(*box) for box in itertools.product(*(sides(f) for f in range(forest.n_features))))
    return max(int(weight[box].sum()) for box in boxes if not bad[box].any())


def small_case(seed: int, vote: str, **options) -> tuple[World, list, list]:
    """A case of few boxes, and rows to cover."""
    while True:
        case = random_case(seed, vote, limited=False, **options)
        if np.prod([n * (n + 1) // 2 for n in discretise(case.explainer.space).n_cells]) < 6000:
            break
        seed += 1
    world = World(case)
    rng = np.random.default_rng(seed)
    rows = world.rows(rng.integers(0, len(world.grid), int(rng.integers(1, 40))))
    return world, case.row, rows + [case.row] * int(rng.integers(0, 2))


def cells(explainer: tp.Explainer, row: list) -> tuple[int, ...]:
    return explainer.space.cells(as_row(row, explainer.forest.columns))


@given(seeds, votes)
@settings(max_examples=60, deadline=None)
def test_no_box_around_the_row_covers_more_and_nothing_can_be_added(seed, vote):
    world, row, rows = small_case(seed, vote)
    explainer = world.case.explainer
    found = explainer.most_general(row, rows)
    best = best_coverage(explainer, cells(explainer, row), [cells(explainer, other) for other in rows])
    assert found.status == "optimal"
    assert found.coverage.covered == best == found.bound
    assert found.coverage == explainer.coverage(found, rows)
    assert found.coverage.total == len(rows)
    assert found.label == explainer.forest.predict([row])[0]
    assert explainer.coverage(found, [row]).covered == 1
    assert world.forces(found.rule, found.label)
    assert found.widest
    assert list(world.widenings(found.rule, found.label)) == []


@pytest.mark.parametrize("oracle", ["native", "sat", "smt", "brute"])
def test_every_oracle_covers_as_many_rows(oracle):
    for seed in range(12):
        options = {} if oracle == "native" else {"oracle": oracle}
        world, row, rows = small_case(seed, "majority", **options)
        explainer = world.case.explainer
        found = explainer.most_general(row, rows)
        assert found.status == "optimal"
        assert found.coverage.covered == best_coverage(
            explainer, cells(explainer, row), [cells(explainer, other) for other in rows]
        )
        assert world.forces(found.rule, found.label)


class Tiring:
    """An oracle that the deadline overtakes after some answers."""

    name = "tiring"

    def __init__(self, forest, answers: int) -> None:
        self._brute = BruteOracle(forest)
        self.answers = answers
        self.cache: Cache | None = None

    def decide(self, query):
        self.answers -= 1
        if self.answers < 0 and self.cache is not None:
            self.cache.deadline = time.monotonic() - 1
            return self._brute.decide(type(query)(query.domains, query.claim, self.cache.deadline))
        return self._brute.decide(query)


@given(seeds)
@settings(max_examples=35, deadline=None)
def test_at_a_deadline_the_rule_is_right_and_the_bound_holds(seed):
    world, row, rows = small_case(seed, "majority")
    explainer = world.case.explainer
    forest, point = discretise(explainer.space), cells(explainer, row)
    oracle = Tiring(forest, answers=int(np.random.default_rng(seed).integers(0, 12)))
    cache = Cache(forest, oracle, point, Stays(forest.label(point)))
    oracle.cache = cache
    located = [cells(explainer, other) for other in rows]
    same = Counter(other for other in located if forest.label(other) == forest.label(point))
    found = most_general(cache, same, [other for other in located if other not in same])
    best = best_coverage(explainer, point, located)
    assert found.covered <= best <= found.bound
    inside = [p for p in itertools.product(*found.domains) if forest.allows(p)]
    assert {forest.label(p) for p in inside} <= {forest.label(point)}
    assert all(cell in domain for cell, domain in zip(point, found.domains, strict=True))
    assert found.covered == sum(n for p, n in same.items() if p in inside)


def test_at_any_deadline_the_rule_covers_no_less_than_the_widened_explanation(monkeypatch):
    X, y = load_iris(return_X_y=True, as_frame=True)
    explainer = tp.Explainer(RandomForestClassifier(20, max_depth=3, random_state=0).fit(X, y))
    monkeypatch.setattr("treeproof.questions.most_general._SEARCHING", 0)  # the deadline comes before the search
    for i in range(0, 150, 10):
        wide = explainer.abductive(X.iloc[i], inflate=True)
        found = explainer.most_general(X.iloc[i], X, timeout=60)
        assert found.coverage == explainer.coverage(wide, X)
        assert (found.rule, found.widest) == (wide.rule, True)
        assert found.status == ("optimal" if found.coverage.covered == found.bound else "sound")


def test_a_deadline_gives_a_rule_and_a_bound_on_a_hard_forest():
    forest, X = hard_forest()
    explainer = tp.Explainer(forest)
    start = time.monotonic()
    found = explainer.most_general(X[0], X, timeout=0.3)
    assert time.monotonic() - start < 5
    assert found.status == "sound" or found.coverage.covered == found.bound
    assert 1 <= found.coverage.covered <= found.bound <= len(X)
    assert not found.widest
    assert "Timed out." in str(found)
    now = explainer.most_general(X[0], X, timeout=0)
    assert (now.status, now.coverage.covered) == ("sound", 1)


def test_ctrl_c_is_raised_soon_and_leaves_the_explainer_usable():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 20))
    x = X[np.argmax(X[:, :6].sum(axis=1))]  # far from the other class: many rows can be covered, so it takes minutes
    explainer = tp.Explainer(RandomForestClassifier(30, max_depth=4, random_state=0).fit(X, X[:, :6].sum(axis=1) > 0))
    threading.Timer(0.8, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        explainer.most_general(x, X)
    assert time.monotonic() - start < 6
    assert explainer.most_general(x, X, timeout=0.2).coverage.covered >= 1


def test_results_print_and_serialise():
    X, y = load_iris(return_X_y=True, as_frame=True)
    explainer = tp.Explainer(RandomForestClassifier(20, max_depth=3, random_state=0).fit(X, y))
    found = explainer.most_general(X.iloc[0], X)
    assert found.coverage.covered >= explainer.coverage(explainer.abductive(X.iloc[0], inflate=True), X).covered
    assert str(found).startswith("0, whenever\n  petal")
    assert f"It covers {found.coverage}; no rule around this row" in str(found)
    assert found.to_dict()["coverage"]["covered"] == found.coverage.covered
    assert found.to_dict()["kind"] == "most general"
    assert "<li>" in found._repr_html_()
    assert found == explainer.most_general(X.iloc[0], X)


def test_a_forest_with_one_label_needs_no_condition():
    forest = tp.build_forest([tp.split("a", 0, 1, 1)], columns=["a"], classes=[0, 1])
    found = tp.Explainer(forest).most_general([0], [[1], [2]])
    assert found.rule == ()
    assert found.coverage.covered == 2
    assert str(found).startswith("1, whatever the input\nProved: the forest gives every input this label.")


def test_rows_outside_the_space_are_named():
    forest = tp.build_forest([tp.split("a", 0, 0, 1)], columns=["a"], classes=[0, 1])
    explainer = tp.Explainer(forest, kinds={"a": "binary"})
    with pytest.raises(tp.InputError, match=r"Row 1: .*binary"):
        explainer.most_general([0], [[0], [0.5]])
    with pytest.raises(tp.InputError, match="'timeout' parameter"):
        explainer.most_general([0], [[0]], timeout=-1)
