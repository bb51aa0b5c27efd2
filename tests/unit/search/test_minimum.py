"""Cheapest sets of random families of sets; of equally cheap ones, the one that was known first."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np

from treeproof.query.oracle import Refuted
from treeproof.search.minimal import Change, Sufficient
from treeproof.search.minimum import _minimum

N = 6


def test_a_cheapest_set_is_found_and_one_that_was_known_is_kept_if_none_is_cheaper():
    """A set does if it contains one of a family; the other kind are the sets that meet all of the family."""
    kept = cheaper = ties = 0
    for seed in range(250):
        rng = np.random.default_rng(seed)
        family = [frozenset(rng.choice(N, rng.integers(2, 4), replace=False).tolist()) for _ in range(5)]
        costs = dict(enumerate(rng.integers(1, 3, N).tolist()))
        tried: list[frozenset[int]] = []

        def does(features: frozenset[int], family=family) -> bool:
            return any(each <= features for each in family)

        def shrink(features: frozenset[int], does=does, tried=tried) -> Sufficient:
            for f in sorted(features):
                if does(features - {f}):
                    features -= {f}
            tried.append(features)
            return Sufficient(features, "minimal")

        def missed(features: frozenset[int], order: Any, unproved: Any, does=does) -> Change | None:
            if does(features):
                return None
            freed = frozenset(range(N)) - features
            for f in order:
                if f in freed and not does(frozenset(range(N)) - freed | {f}):
                    freed -= {f}
            return Change(freed, Refuted((), 0), "minimal")

        def cost(features: frozenset[int], costs=costs) -> int:
            return sum(costs[f] for f in features)

        cache: Any = SimpleNamespace(deadline=None, features=frozenset(range(N)))
        first = shrink(frozenset(range(N)))
        minimum = _minimum(cache, range(N), costs, first, shrink, missed)
        found, bound = minimum.found, minimum.bound
        assert all(found.features & other.features for other in minimum.others)
        subsets = (frozenset(s) for n in range(N + 1) for s in itertools.combinations(range(N), n))
        least = min(cost(s) for s in subsets if does(s))
        assert (found.status, cost(found.features), bound) == ("minimum", least, least)
        assert found.features == next(each for each in tried if cost(each) == least)
        kept += found.features == first.features
        cheaper += cost(first.features) > least
        ties += len({each for each in tried if cost(each) == least}) > 1
    assert min(kept, cheaper, ties) > 10
