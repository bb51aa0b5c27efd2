"""Deletion with rules between features, what it takes from the cache, and what it says it rests on."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from generators import cell_forests, random_clauses
from treeproof.errors import InternalError
from treeproof.model.build import build_forest, leaf, split
from treeproof.oracles.brute import BruteOracle
from treeproof.oracles.native import NativeOracle
from treeproof.query.cache import Cache
from treeproof.query.cells import CellForest, discretise
from treeproof.query.oracle import Never, Query, Refuted, Stays, Unknown, violates
from treeproof.search.minimal import _put_back, abductive, change_beside, check_all, checked, contrastive
from treeproof.space.declare import declare
from treeproof.space.domains import as_domain


class Silent:
    """An oracle that never answers."""

    name = "silent"

    def decide(self, query: Query) -> Unknown:
        return Unknown("silent")


def sum_of(*names: str, clauses=()) -> CellForest:
    """Class 1 iff most of these columns are above 0; each has two cells."""
    forest = build_forest([split(name, 0, 0, 1) for name in names], columns=sorted(set(names)), classes=[0, 1])
    return replace(discretise(declare(forest)), clauses=clauses)


@pytest.mark.parametrize("native", [True, False])
def test_an_explanation_names_the_rules_that_its_proof_used(native):
    # a alone forces class 1, since one of b and c is always above 0; d decides nothing.
    rule = ((1, range(1, 2)), (2, range(1, 2)))
    other = ((3, range(1, 2)), (0, range(1, 2)))
    forest = sum_of("a", "b", "c", clauses=(other, rule))
    more = {"n_cells": (*forest.n_cells, 2), "ordered": (*forest.ordered, True), "gapped": (*forest.gapped, False)}
    forest = replace(forest, **more)
    point, claim = (1, 1, 1, 1), Stays(1)
    oracle = NativeOracle(forest, tabulate=False) if native else BruteOracle(forest)
    found = abductive(Cache(forest, oracle, point, claim), [3, 2, 1, 0])
    assert (found.features, found.status) == ({0}, "minimal")
    assert 1 in found.clauses
    late = abductive(Cache(forest, Silent(), point, claim), [3, 2, 1, 0])
    assert (late.features, late.status, late.clauses) == ({0, 1, 2, 3}, "sound", frozenset())


def test_changes_are_minimal_and_keep_the_rules():
    ruled = 0
    for i, forest in enumerate(cell_forests(80, seed=41, n_columns=3)):
        rng = np.random.default_rng(i)
        forest = replace(forest, clauses=random_clauses(rng, forest))
        points = list(itertools.product(*map(range, forest.n_cells)))
        allowed = [p for p in points if forest.allows(p)]
        if not allowed:
            continue
        point = allowed[rng.integers(len(allowed))]
        claim = Stays(forest.label(point))
        flips = [p for p in allowed if violates(claim, forest.label(p))]
        ways = {frozenset(f for f in range(forest.n_features) if p[f] != point[f]) for p in flips}
        if not ways:
            continue
        start = flips[rng.integers(len(flips))]
        order = rng.permutation(forest.n_features).tolist()
        cache = Cache(forest, BruteOracle(forest), point, claim)
        found = contrastive(cache, order, Refuted(start, forest.label(start)))
        assert found.features in ways
        assert not any(way < found.features for way in ways)
        assert forest.allows(found.witness.witness)
        ruled += len(allowed) < len(points)
    assert ruled > 30


@pytest.mark.parametrize("native", [True, False])
def test_a_feature_is_put_back_without_a_question_where_that_is_sure(native):
    forest = sum_of("a", "b", "c")
    cache = Cache(forest, NativeOracle(forest) if native else BruteOracle(forest), (1, 1, 1), Stays(1))
    witness = Refuted((0, 0, 0), 0)
    assert _put_back(cache, witness, 1) == Refuted((0, 1, 0), 0)
    assert cache.tally.remembered == 1
    assert _put_back(cache, Refuted((0, 1, 0), 0), 1) == Refuted((0, 1, 0), 0)
    assert cache.tally.remembered == 2
    assert _put_back(cache, Refuted((0, 1, 0), 0), 0) is None
    assert cache.tally.remembered == 2
    target = Cache(forest, BruteOracle(forest), (1, 1, 1), Never(0))
    assert _put_back(target, witness, 1) == Refuted((0, 1, 0), 0)
    ruled = sum_of("a", "b", "c", clauses=(((0, range(1, 2)), (1, range(1))),))  # a above 0, or b not
    assert _put_back(Cache(ruled, BruteOracle(ruled), (1, 1, 1), Stays(1)), witness, 1) is None


def test_sums_that_may_be_rounded_are_left_to_the_oracle():
    trees = [split(name, 0, leaf([0.7, 0.3]), leaf([0.3, 0.7])) for name in "abc"]
    forest = discretise(declare(build_forest(trees, columns=list("abc"), classes=[0, 1], vote="mean")))
    assert forest.band > 0
    cache = Cache(forest, BruteOracle(forest), (1, 1, 1), Stays(1))
    assert _put_back(cache, Refuted((0, 0, 0), 0), 1) is None
    assert _put_back(cache, Refuted((0, 1, 0), 0), 1) is not None  # nothing to put back


@pytest.mark.parametrize("make", [BruteOracle, lambda forest: NativeOracle(forest, tabulate=False)])
def test_a_change_beside_kept_features_is_found_unless_they_suffice(make):
    seen: Counter[str] = Counter()
    for i, forest in enumerate(cell_forests(60, seed=43, n_columns=4)):
        rng = np.random.default_rng(i)
        points = list(itertools.product(*map(range, forest.n_cells)))
        point = points[rng.integers(len(points))]
        claim = Stays(forest.label(point))
        holes = [{point[f], *rng.integers(n, size=n).tolist()} for f, n in enumerate(forest.n_cells)]
        free = [as_domain(frozenset(cells), forest.ordered[f]) for f, cells in enumerate(holes)] if i % 2 else None
        cache = Cache(forest, make(forest), point, claim, free=free)
        inside = [p for p in points if all(cell in domain for cell, domain in zip(p, cache.free, strict=True))]
        breaking = [p for p in inside if violates(claim, forest.label(p))]
        kept, unasked = (frozenset(np.flatnonzero(rng.random(forest.n_features) < 0.3).tolist()) for _ in range(2))
        order = rng.permutation(forest.n_features).tolist()
        change = change_beside(cache, order, kept, unasked)
        suffices = all(any(p[f] != point[f] for f in kept) for p in breaking)
        assert (change is None) == suffices
        seen["suffices" if change is None else "holes" if cache.has_holes else "limits" if free else "any"] += 1
        if change is None:
            continue
        assert change.status == "sound"
        assert checked(cache, change) is change
        assert change.witness.witness in breaking
        assert change.features == cache.differences(change.witness)
        assert not change.features & kept
        check_all(cache, [change, change])
        wrong = replace(change, witness=Refuted(change.witness.witness, claim.label))
        for check in (checked, lambda cache, change: check_all(cache, [change])):
            with pytest.raises(InternalError, match="another label"):
                check(cache, wrong)
        with pytest.raises(TimeoutError):
            change_beside(Cache(forest, make(forest), point, claim, time.monotonic() - 1, free=free), order, kept, kept)
    assert min(seen[kind] for kind in ("suffices", "holes", "any")) > 3
