"""Every question about forests with sums, missing values, float64 inputs and categories, against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import treeproof as tp
from enumerated import SCALES, World, random_world, readable
from treeproof.model.rows import as_row, as_rows
from treeproof.query.cells import discretise

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=30, deadline=None)


def row_of(world: World) -> list:
    return world.row(world.x.tolist())


@given(seeds)
@few
def test_abductive_explanations(seed):
    world = random_world(seed)
    row, (axps, _) = row_of(world), world.families()
    for options in ({}, {"tries": 3}, {"minimum": True}, {"inflate": True}, {"order": "index"}, {"prefer": ["c2"]}):
        why = world.explainer.abductive(row, **options)
        readable(why)
        assert why.label == world.forest.classes[world.label] == world.forest.predict([row])[0]
        assert frozenset(why.features) in axps
        world.check_rule(why.rule, widest="inflate" in options)
        assert [c.name for c in why.rule] == list(why.feature_names)
        if "minimum" in options:
            assert why.status == "minimum"
            assert len(why.features) == min(map(len, axps)) == why.lower_bound
    assert world.explainer.batch([row, row], inflate=True) == [world.explainer.abductive(row, inflate=True)] * 2


@given(seeds)
@few
def test_contrastive_explanations_and_the_closest_witness(seed):
    world = random_world(seed)
    rng = np.random.default_rng(seed)
    row = row_of(world)
    scale = {f"c{j}": SCALES[rng.integers(len(SCALES))] for j in range(3) if rng.random() < 0.4}
    others = [k for k in range(world.forest.n_classes) if k != world.label]
    for target in (None, int(rng.choice(others))):
        _, cxps = world.families(target)
        named = None if target is None else world.forest.classes.tolist()[target]
        for minimum in (False, True):
            change = world.explainer.contrastive(row, target=named, scale=scale, minimum=minimum)
            readable(change)
            if not cxps:
                assert change.status == "impossible"
                continue
            assert frozenset(change.features) in cxps
            assert change.closest
            world.check_witness(change.witness, change.witness_label, change.features)
            assert named is None or change.witness_label == named
            if minimum:
                assert len(change.features) == min(map(len, cxps))
            flips = np.flatnonzero(world.wrong(target) & (~world.same == _flags(change.features)).all(axis=1))
            assert change.distance == float(world.nearest(flips, np.sum, scale))
        several = world.explainer.contrastives(row, 10, target=named)
        readable(several)
        assert {frozenset(one.features) for one in several} == cxps
        assert several.status == "all"


def _flags(features):
    return np.isin(np.arange(3), features)


@given(seeds)
@few
def test_changes_within_limits(seed):
    rng = np.random.default_rng(seed)
    plain = random_world(seed, plain=True)
    row, forest = row_of(plain), plain.forest
    fixed, directions, limits, ends = [], {}, {}, {}
    for column in forest.columns:
        draw = rng.random()
        if draw < 0.15:
            fixed.append(column.name)
        elif column.categories is not None:
            limits[column.name] = ["red", "blue"]
        elif draw < 0.4:
            directions[column.name] = str(rng.choice(["up", "down"]))
        elif draw < 0.8:
            low, high = sorted(rng.choice([-9.0, -2.0, 0.0, 0.1, 0.25, 0.3, 1.0, 2.0], 2).tolist())
            limits[column.name] = ends[column.name] = (low, high)
    world = World(plain.explainer, row, ends=ends)
    allowed = np.ones(len(world.grid), dtype=bool)
    for j, column in enumerate(forest.columns):
        values, old = world.grid[:, j], world.x[j]
        if column.name in fixed:
            allowed &= world.same[:, j]
        if column.name in directions:
            beyond = values > old if directions[column.name] == "up" else values < old
            allowed &= world.same[:, j] | beyond
        if column.name in limits:
            low, high = limits[column.name]
            inside = (
                np.isin(values, [0, 2])
                if column.categories
                else ((values >= forest.floats.round(low)) & (values <= forest.floats.round(high)))
            )
            allowed &= world.same[:, j] | inside
    # Inputs of the row's own cells are no changes.
    flips = np.flatnonzero(allowed & world.wrong()).tolist()
    sets = {frozenset(np.flatnonzero(~world.same[i]).tolist()) for i in flips}
    cxps = {s for s in sets if not any(other < s for other in sets)}
    change = world.explainer.contrastive(row, fixed=fixed, directions=directions, limits=limits)
    readable(change)
    assert (change.status == "impossible") == (not cxps)
    if cxps:
        assert frozenset(change.features) in cxps
        read = world.check_witness(change.witness, change.witness_label, change.features)
        for name, ways in directions.items():
            j = forest.column_names.index(name)
            if j in change.features:
                assert read[j] > world.x[j] if ways == "up" else read[j] < world.x[j]
        for name in ends:
            j = forest.column_names.index(name)
            if j in change.features:
                assert limits[name][0] <= change.witness[j] <= limits[name][1]
        same = [i for i in flips if set(np.flatnonzero(~world.same[i])) == set(change.features)]
        assert change.distance == float(world.nearest(same, np.sum, {}))


@pytest.mark.parametrize("norm", ["linf", "l1", "l0"])
@given(seeds)
@few
def test_robustness(norm, seed):
    world = random_world(seed)
    rng = np.random.default_rng(seed)
    scale = {f"c{j}": SCALES[rng.integers(len(SCALES))] for j in range(3) if rng.random() < 0.4}
    result = world.explainer.robustness(row_of(world), norm, scale=None if norm == "l0" else scale)
    readable(result)
    flips = np.flatnonzero(world.wrong()).tolist()
    if not flips:
        assert result.status == "constant"
        return
    assert result.status == "exact"
    if norm == "l0":
        least = (~world.same[flips]).sum(axis=1).min()
    else:
        least = world.nearest(flips, np.max if norm == "linf" else np.sum, scale)
    assert result.proved_exact == result.nearest_exact == least
    names = [change.name for change in result.changes]
    world.check_witness(result.witness, result.witness_label, [world.forest.column_names.index(n) for n in names])


@given(seeds)
@few
def test_enumeration_relevance_and_attribution(seed):
    world = random_world(seed)
    row, (axps, cxps) = row_of(world), world.families()
    found = list(world.explainer.enumerate(row, kind="both"))
    for one in found:
        readable(one)
    assert sorted(sorted(e.features) for e in found if isinstance(e, tp.Abductive)) == sorted(map(sorted, axps))
    assert sorted(sorted(e.features) for e in found if isinstance(e, tp.Contrastive)) == sorted(map(sorted, cxps))
    for one in found:
        if isinstance(one, tp.Contrastive):
            world.check_witness(one.witness, one.witness_label, one.features)
    graded = world.explainer.relevance(row)
    readable(graded)
    assert set(graded.necessary) == {f"c{j}" for j in range(3) if all(j in a for a in axps)}
    assert set(graded.irrelevant) == {f"c{j}" for j in range(3) if not any(j in a for a in axps)}
    shares = world.explainer.attribution(row)
    readable(shares)
    assert list(shares.counts) == [sum(j in a for a in axps) for j in range(3)]


@given(seeds)
@few
def test_verdicts_and_audits(seed):
    world = random_world(seed)
    row = row_of(world)
    for features in itertools.chain.from_iterable(itertools.combinations(range(3), n) for n in range(4)):
        verdict = world.explainer.holds(row, features)
        readable(verdict)
        assert verdict.holds == world.sufficient(features)
        if not verdict.holds:
            read = as_row(verdict.witness, world.forest.columns, world.floats)
            assert world.forest.predict([list(verdict.witness)])[0] == verdict.witness_label != verdict.label
            assert all(read[f] == world.x[f] or np.isnan([read[f], world.x[f]]).all() for f in features)
    audit = world.explainer.audit([row], protected=["c0", "c2"])
    readable(audit)
    assert audit.table()
    (audited,) = audit.rows
    assert audited.flips == (not world.sufficient([1]))
    if audited.flips:
        changed = [world.forest.column_names.index(change.name) for change in audited.changes]
        world.check_witness(audited.witness, audited.witness_label, changed)
    assert set(audited.necessary) == {f"c{j}" for j in (0, 2) if not world.sufficient(set(range(3)) - {j})}
    assert len(audit.to_frame()) == 1


@given(seeds)
@few
def test_rules_are_reviewed_and_covered_as_they_are_stated(seed):
    world = random_world(seed)
    rng = np.random.default_rng(seed)
    row = row_of(world)
    why = world.explainer.abductive(row, inflate=True)
    right = world.explainer.review(row, why)
    readable(right)
    assert right.holds
    assert right.applies
    assert right.minimal
    # The rule of another row, or a part of a rule, may or may not hold here.
    other = world.grid[rng.integers(len(world.grid))]
    its = world.explainer.abductive(world.row(other.tolist()), inflate=bool(rng.random() < 0.5))
    rule = its.rule[: int(rng.integers(0, 4))]
    review = world.explainer.review(row, rule)
    readable(review)
    inside = world.inside(rule)
    assert review.holds == (not world.wrong()[inside].any())
    assert review.applies == bool(inside[world.same.all(axis=1)].all())
    if not review.holds:
        read = as_row(review.counterexample, world.forest.columns, world.floats)
        label = world.forest.predict([list(review.counterexample)])[0]
        assert label == review.counterexample_label != review.label
        for condition in rule:
            j = world.forest.column_names.index(condition.name)
            assert world.satisfied(condition, j, read[[j]].astype(float)).all()
    again = world.explainer.review(claim=its, label=None)
    assert again.holds
    readable(again)
    chosen = rng.integers(0, len(world.grid), 20)
    rows = [world.row(values) for values in world.grid[chosen].tolist()]
    coverage = world.explainer.coverage(its, rows)
    readable(coverage)
    assert coverage.covered == int(world.inside(its.rule)[chosen].sum())


@given(seeds)
@example(93488)  # the row has a gap: the numbers below a counterexample are not behind it
@settings(max_examples=40, deadline=None)
def test_the_most_general_rule(seed):
    world = random_world(seed, n_trees=3, depth=2)
    if np.prod([float(2**f.n_cells if not f.ordered else f.n_cells**2) for f in world.explainer.space.features]) > 1e6:
        return
    rng = np.random.default_rng(seed)
    row = row_of(world)
    chosen = rng.integers(0, len(world.grid), 15)
    rows = [world.row(values) for values in world.grid[chosen].tolist()]
    found = world.explainer.most_general(row, rows)
    readable(found)
    assert found.status == "optimal"
    assert found.coverage.covered == int(world.inside(found.rule)[chosen].sum()) == _best(world, rows)
    assert found.coverage == world.explainer.coverage(found, rows)
    world.check_rule(found.rule, widest=True)


def _best(world: World, rows: list) -> int:
    """The most rows that domains around the row cover without an input of another label."""
    forest, space = discretise(world.explainer.space), world.explainer.space
    home = space.cells(world.x)
    read = as_rows(rows, world.forest.columns, world.floats)
    points = [space.cells(one) for one in read]
    bad = np.zeros(forest.n_cells, dtype=bool)
    for point in itertools.product(*map(range, forest.n_cells)):
        bad[point] = forest.allows(point) and forest.label(point) != world.label

    def sides(f):
        cells = {point[f] for point in points} | {home[f]}
        if forest.ordered[f]:
            return [range(a, b + 1) for a in cells if a <= home[f] for b in cells if b >= home[f]]
        if forest.gapped[f]:  # a range of numbers, around home unless that is missing, with or without missing values
            gap = forest.n_cells[f] - 1
            numbers = cells - {gap}
            ranges = [range(a, b + 1) for a in numbers for b in numbers if home[f] == gap or a <= home[f] <= b]
            found = [[*some, gap] for some in [*ranges, range(0)]] + list(ranges)
            return [side for side in found if home[f] in side and (gap in cells or gap not in side)]
        others = sorted(cells - {home[f]})
        return [sorted({home[f], *some}) for n in range(len(others) + 1) for some in itertools.combinations(others, n)]

    best = 0
    for box in itertools.product(*(sides(f) for f in range(3))):
        covered = sum(all(cell in side for cell, side in zip(point, box, strict=True)) for point in points)
        if covered > best and not bad[np.ix_(*box)].any():
            best = covered
    return best
