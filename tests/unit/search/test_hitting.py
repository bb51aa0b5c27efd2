"""Cheapest hitting sets against enumeration, at a deadline, and when interrupted."""

from __future__ import annotations

import itertools
import os
import random
import signal
import threading
import time
from typing import Any

import pytest

from treeproof.search import hitting as module
from treeproof.search.hitting import HittingSets, SmallestHittingSets


def least(costs, sets) -> int:
    subsets = (s for n in range(len(costs) + 1) for s in itertools.combinations(costs, n))
    return min(sum(costs[f] for f in s) for s in subsets if all(set(s) & other for other in sets))


@pytest.mark.parametrize("prices", [(1, 1), (1, 9), (10**12, 10**13)])
def test_sets_are_cheapest_and_bounds_hold_as_sets_are_added(prices):
    for seed in range(120):
        rng = random.Random(seed)
        costs = {f: rng.randint(*prices) for f in range(rng.randint(1, 8))}
        sets: list[set[int]] = []
        with HittingSets(costs) as hitting:
            assert hitting.cheapest() == frozenset()
            for _ in range(rng.randint(1, 12)):
                sets.append(set(rng.sample(range(len(costs)), rng.randint(1, len(costs)))))
                hitting.add(sets[-1])
                best = least(costs, sets)
                below = rng.choice([None, rng.randint(0, 2 * best)])
                found = hitting.cheapest(below)
                assert hitting.bound <= best
                assert (found is None) == (below is not None and best >= below)
                if found is not None:
                    assert all(found & other for other in sets)
                    assert sum(costs[f] for f in found) == best == hitting.bound


@pytest.mark.parametrize("price", [1, 3, 10**20])
def test_smallest_sets_are_found_and_bounds_hold_as_sets_are_added(price):
    found_some = 0
    for seed in range(120):
        rng = random.Random(seed)
        n = rng.randint(1, 8)
        costs = dict.fromkeys(range(n), price)
        sets: list[set[int]] = []
        hitting = SmallestHittingSets(n, price)
        for _ in range(rng.randint(1, 12)):
            sets.append(set(rng.sample(range(n), rng.randint(1, n))))
            hitting.add(sets[-1])
            best = least(costs, sets)
            below = rng.randint(0, 2 * best)
            found = hitting.cheapest(below)
            assert hitting.bound <= best
            assert (found is None) == (best >= below)
            if found is not None:
                found_some += 1
                assert all(found & other for other in sets)
                assert len(found) * price == best == hitting.bound
                assert not found & set(hitting.excluded)
                assert len(set(hitting.excluded)) == len(hitting.excluded)
    assert found_some > 100


Either = type[HittingSets] | type[SmallestHittingSets]
either = pytest.mark.parametrize("kind", [HittingSets, SmallestHittingSets])


def hard(kind: Either, deadline: float | None = None) -> HittingSets | SmallestHittingSets:
    """Far too hard: random sets of seven features, without structure."""
    rng = random.Random(0)
    features: Any = dict.fromkeys(range(150), 1) if kind is HittingSets else 150
    hitting = kind(features, deadline=deadline)
    for _ in range(1500):
        hitting.add(rng.sample(range(150), 7))
    return hitting


@either
def test_a_deadline_ends_the_search_with_a_bound(kind):
    start = time.monotonic()
    with hard(kind, deadline=start + 0.2) as hitting:
        with pytest.raises(TimeoutError):
            hitting.cheapest(below=150)
        assert time.monotonic() - start < 5
        assert hitting.bound > 5


@either
def test_ctrl_c_is_seen_in_the_middle_of_a_search(kind):
    with hard(kind) as hitting:
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            hitting.cheapest(below=150)
    assert time.monotonic() - start < 5


def test_literals_may_be_required_and_what_costs_nothing_is_free():
    """Features 3 and 4 cost nothing; 3 stands for "neither 0 nor 1", and 4 for the opposite of 2."""
    with HittingSets({0: 2, 1: 3, 2: 4, 3: 0, 4: 0}) as hitting:
        for clause in ([-4, -1], [-4, -2], [-5, -3], [5, 3]):
            hitting.require(clause)
        assert hitting.cheapest() == {4}
        hitting.require([4, 3])  # neither 0 nor 1, or 2
        assert hitting.cheapest() == {3, 4}
        hitting.add({0, 1})
        found = hitting.cheapest()
        assert (found, hitting.bound) == (frozenset({0, 2}), 6)


class Lazy:
    """A map whose cores are not small: all that was assumed of the sets that cannot be hit then."""

    def __init__(self, sets: list[set[int]]) -> None:
        self._sets, self.asked = sets, list[tuple[int, ...]]()

    def _missed(self) -> list[set[int]]:
        return [each for each in self._sets if each <= {-literal - 1 for literal in self.asked[-1]}]

    def refutes(self, assumptions: list[int], conflicts: int) -> bool:
        self.asked.append(tuple(assumptions))
        return bool(self._missed())

    def core(self) -> list[int]:
        return [-(f + 1) for f in sorted(set().union(*self._missed()))]

    def delete(self) -> None: ...


def test_cores_are_made_so_small_that_they_need_every_wish(monkeypatch):
    for seed in range(60):
        rng = random.Random(seed)
        sets = [set(rng.sample(range(8), rng.randint(1, 4))) for _ in range(3)]
        whole = [-(f + 1) for f in sorted(set().union(*sets))]
        monkeypatch.setattr(module, "_LARGEST", len(whole))
        with HittingSets(dict.fromkeys(range(8), 1)) as hitting:
            hitting._chart.delete()
            hitting._chart = Lazy(sets)
            core = hitting._smaller([*whole, -100])
            assert len(set(hitting._chart.asked)) == len(hitting._chart.asked)  # nothing twice
            assert hitting._chart.refutes(core, 1)
            assert not any(hitting._chart.refutes([w for w in core if w != each], 1) for each in core)
            monkeypatch.setattr(module, "_LARGEST", len(whole) - 1)
            assert hitting._smaller(whole) == whole  # too many to try each
