"""Integer scores of forests with sums: what they promise, at every point, against the model's own arithmetic.

    sum_k - sum_c >= theta(k, c) + band   =>   class k beats class c at this point
    sum_k - sum_c <  theta(k, c) - band   =>   class k does not beat class c at this point

Class k beats c if the label is k whenever it is one of the two; the band is 0 where every tree reaches an exact leaf.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re

import numpy as np
import pytest

import treeproof as tp
from generators import random_members
from treeproof.model.build import leaf, split
from treeproof.model.decision import Sums
from treeproof.model.floats import FLOATS
from treeproof.oracles.native import NativeOracle
from treeproof.query.cells import discretise
from treeproof.query.oracle import Entailed, Query, Stays
from treeproof.query.scores import exact_leaves, integer_scores, rounding_error
from treeproof.space.declare import declare

POOLS = {
    "near ties": [0.1, 0.2, 0.3, -0.1, 0.7, 1 / 3, 0.5, 0.0],
    "one bit apart": [1.0, math.nextafter(1, 2), float(np.nextafter(np.float32(1), np.float32(2))), -1.0, 0.5],
    "cancelling": [1e16, -1e16, 1.0, -1.0, 0.25, 1e-3, 0.0],
    "exact": [0.0, 0.25, 0.5, 1.0, -0.75, 2.0],
    "whole": [0.0, 1.0, -1.0, 2.0**30, -(2.0**30), 3.0],
    "overflowing": [3e38, -3e38, 2e38, 1.0, -1e38],
    "overflowing doubles": [1.5e308, -1.5e308, 1e308, 1.0],
    "subnormal": [5e-324, 1e-45, 3e-45, -1e-45, 0.0, 1e-310],
    "tiny and huge": [1e-45, 1e30, -1e30, 1e-20, 0.0],
}


def random_case(rng: np.random.Generator, pool: list[float]) -> tp.Forest:
    """A tree for each column, one split each: every combination of leaves can be reached."""
    numbers = "float32" if rng.random() < 0.5 else "float64"
    number = FLOATS[numbers].dtype
    largest = FLOATS[numbers].largest
    n_trees, n = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    cut = rng.random() < 0.5
    n = int(rng.choice([n, n, 8])) if cut else n

    def values(size: int) -> list[float]:
        with np.errstate(over="ignore"):
            drawn = (
                rng.choice(pool, size).astype(number).astype(np.float64)
            )  # numpy 1 makes number(array of one) a scalar
            return np.clip(drawn, -largest, largest).tolist()

    size = 1 if cut else n
    start = tuple(values(size)) if rng.random() < 0.6 else (0.0,) * size
    if rng.random() < 0.2:
        start = tuple(float(number(s * 1e6)) if abs(s) < 1e30 else s for s in start)  # far beyond the trees
    divisor = float(number(rng.choice([1, 1, 1, 3, 7, 0.7, 1e-3, 1e9, 2.0**40, n_trees])))
    softmax = not cut and rng.random() < 0.4
    trees = [split(f"c{t}", 0, leaf(values(size)), leaf(values(size))) for t in range(n_trees)]
    options = {"columns": [f"c{t}" for t in range(n_trees)], "vote": "sum"}
    sums = Sums(start, numbers, divisor=1.0 if softmax else divisor, cuts=() if cut else None, softmax=softmax)
    apart = rng.spawn(1)[0]  # draws of its own
    if softmax and numbers == "float64" and apart.random() < 0.6:
        steepness = float(apart.choice([1.0, 0.7, 5.0, 20.0, 1e-3, 1e-8]))
        sums = Sums(start, divisor=divisor, sigmoid=steepness)
    forest = tp.build_forest(trees, classes=list(range(1 if cut else n)), sums=sums, **options)
    if not softmax and rng.random() < 0.5:
        try:
            members = random_members(rng, n_trees, sums)
            forest = dataclasses.replace(forest, sums=dataclasses.replace(sums, members=members))
        except tp.ForestFormatError as error:  # values that members cannot add
            if not re.search("may overflow|exact float32", str(error)):
                raise
    if not cut:
        return forest
    # Cuts on and beside what the sums reach, between numbers, far away, and anywhere.
    reached = sorted({float(v) for v in forest.add(all_leaves(forest))[:, 0].tolist() if math.isfinite(v)} | {0.0})
    cuts: set[float] = set()
    while len(cuts) < n - 1:
        at = float(rng.choice(reached)) + 0.0
        beside = float(rng.choice([at, np.nextafter(at, 1e308), np.nextafter(at, -1e308), at + rng.normal(), -at]))
        beside = float(rng.choice([beside, number(np.clip(beside, -largest, largest)), 1e300, -1e300, 1e39, 5e-324]))
        cuts.add(beside + 0.0)
    return forest.with_cuts(sorted(cuts), list(range(n)))


def all_leaves(forest: tp.Forest) -> np.ndarray:
    """The leaves of every point, one row each."""
    pairs = [(forest.left[root], forest.right[root]) for root in forest.roots]
    return np.array(list(itertools.product(*pairs)), dtype=np.int32)


def added(members: tuple, first: int, last: int, start: tuple, number: type, values: np.ndarray) -> list:
    """The sums of some trees, of which `members` are the parts: the outer parts are those that no later one holds."""
    totals, tree = [number(value) for value in start], first
    while tree < last:
        outer = [i for i, m in enumerate(members) if m.first == tree]
        if outer:
            member = members[outer[-1]]
            own = member.floats.dtype
            terms = added(members[: outer[-1]], tree, member.last, member.start, own, values)
            terms = [term / own(member.divisor) * own(member.weight) for term in terms]
            assert all(type(term) is own for term in terms)
            tree = member.last
        else:
            terms = values[tree].tolist()
            tree += 1
        totals = [total + number(term) for total, term in zip(totals, terms, strict=True)]
    return totals


def power(value: float) -> float:
    """The exponential of the C library: numpy has its own."""
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def emulated(forest: tp.Forest, leaves: np.ndarray) -> int:
    """The label of a point, with numpy's scalars, one operation after the other."""
    sums, number = forest.sums, forest.sums.floats.dtype
    with np.errstate(all="ignore"):
        totals = added(sums.members, 0, len(leaves), sums.start, number, forest.values[leaves])
        if sums.divisor != 1:
            totals = [total / number(sums.divisor) for total in totals]
        assert all(type(total) is number for total in totals)
        if sums.cuts is not None:
            return sum(float(totals[0]) >= cut for cut in sums.cuts)
        if sums.sigmoid is not None:
            totals = [1.0 / (1.0 + power(-sums.sigmoid * float(total))) for total in totals]
        if sums.softmax:
            highest = max(totals)
            totals = [number(np.exp(total - highest)) for total in totals]
            whole = number(sum(float(total) for total in totals))
            totals = [total / whole for total in totals]
        return max(range(len(totals)), key=lambda k: (totals[k], -k))


@pytest.mark.parametrize("pool", POOLS)
def test_scores_keep_their_promise_at_every_point(pool):
    exact_points = 0
    for seed in range(120):
        forest = random_case(np.random.default_rng([seed, *map(ord, pool)]), POOLS[pool])
        integers, exact = integer_scores(forest), exact_leaves(forest)
        if rounding_error(forest) == 0:
            assert integers.band == 0
        leaves = all_leaves(forest)
        with np.errstate(over="ignore"):
            labels = forest.decide(leaves)
        largest = np.abs(integers.scores).max(axis=1)
        room = sum(
            int(max(largest[a], largest[b]))
            for a, b in zip(forest.left[forest.roots], forest.right[forest.roots], strict=True)
        )
        assert 2 * room + int(np.abs(integers.theta).max()) + integers.band < 2**63
        for at, label in zip(leaves, labels.tolist(), strict=True):
            if not (forest.sums.softmax and "overflowing" in pool):  # not a number there, in the libraries as well
                assert label == emulated(forest, at)
            totals = [sum(int(s) for s in integers.scores[at, k]) for k in range(forest.n_classes)]
            band = 0 if exact[at].all() else integers.band
            exact_points += band == 0
            for k, c in itertools.permutations(range(forest.n_classes), 2):
                lead = totals[k] - totals[c] - int(integers.theta[k, c])
                assert lead < band or label != c, "a class that is beaten is not the label"
                assert lead >= -band or label != k, "the label is not beaten"
    assert exact_points > 0 or pool not in ("exact", "whole", "near ties")


@pytest.mark.parametrize("pool", POOLS)
def test_the_core_agrees_at_every_point_and_proves_what_holds(pool):
    for seed in range(25):
        rng = np.random.default_rng([seed, 7, *map(ord, pool)])
        forest = random_case(rng, POOLS[pool])
        cells = discretise(declare(forest))
        oracle = NativeOracle(cells, tabulate=bool(seed % 2))
        points = list(itertools.product(range(2), repeat=forest.n_trees))
        with np.errstate(over="ignore"):
            labels = [cells.label(point) for point in points]
        assert [oracle.label(point) for point in points] == labels
        for k in range(forest.n_classes):
            answer = oracle.decide(Query(cells.full, Stays(k)))
            assert isinstance(answer, Entailed) == (set(labels) == {k})
