"""Local explanations against enumeration: all is as if no input existed beyond the ball around the row."""

from __future__ import annotations

import copy
import itertools
from bisect import bisect_left
from collections.abc import Iterable
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import numpy as np
import pytest

import treeproof as tp
from enumerated import SCALES, random_world, readable
from families import random_case, smallest
from treeproof.checker import CheckError, Model, check
from treeproof.model.files import forest_to_json
from treeproof.model.rows import as_row

HAIR = Fraction(1, 10**30)
HOLED = [5003, 5009, 5029, 5165, 5428, 5621, 7210]  # a missing value inside the order leaves a hole in the ball
SEEDS = [*range(40), *HOLED]


class Local:
    """A world, a scale, a radius that is often the distance of some input or just beside it, and what lies within."""

    def __init__(self, seed: int, groups: dict[str, list[str]] | None = None) -> None:
        rng = np.random.default_rng([seed, 71])
        self.world = world = random_world(seed, groups=groups, vote=["sum", "majority", "mean"][seed % 3])
        self.row = world.row(world.x.tolist())
        self.scale = {f"c{j}": SCALES[rng.integers(len(SCALES))] for j in range(3) if rng.random() < 0.3}
        near, some = [], set()
        for j, axis in enumerate(world.axes):
            near.append([self.apart(j, value) for value in axis])
            some.update(distance for distance in near[j] if distance <= 3)
        edge = sorted(some)[rng.integers(len(some))]
        self.radius = max([edge, edge - HAIR, edge + HAIR, Fraction(1, 4)][rng.integers(4)], Fraction(0))
        reached = [
            [v for v, far in zip(*pair, strict=True) if far <= self.radius]
            for pair in zip(world.axes, near, strict=True)
        ]
        self.near = np.array(
            [
                np.isin(world.grid[:, j], values) | (np.isnan(world.grid[:, j]) & np.isnan(values).any())
                for j, values in enumerate(reached)
            ]
        ).T
        self.ball = copy.copy(world)
        inside = self.near.all(axis=1)
        self.ball.grid, self.ball.labels, self.ball.same = world.grid[inside], world.labels[inside], world.same[inside]

    def apart(self, j: int, value: float) -> Fraction:
        """How far a value is from the row's own."""
        same = value == self.world.x[j] or (np.isnan(value) and np.isnan(self.world.x[j]))
        return Fraction(0) if same else self.world.distance(j, value, self.scale.get(f"c{j}"))

    @cached_property
    def steps(self) -> tuple[list[Fraction], np.ndarray]:
        """All distances that occur, in ascending order, and which of them each value of each input is away."""
        columns = [np.unique(column, return_inverse=True) for column in self.world.grid.T]
        apart = [[self.apart(j, value) for value in values.tolist()] for j, (values, _) in enumerate(columns)]
        ladder = sorted({distance for found in apart for distance in found})
        steps = [np.array([ladder.index(distance) for distance in found]) for found in apart]
        return ladder, np.column_stack([step[which] for step, (_, which) in zip(steps, columns, strict=True)])

    @property
    def explainer(self) -> tp.Explainer:
        return self.world.explainer

    @property
    def options(self) -> dict[str, Any]:
        return {"within": self.radius, "scale": self.scale}

    def forces(self, rule: Iterable[Any], kept: Iterable[int], wide: Iterable[int] = ()) -> bool:
        """Whether conditions force the label where all other features, but for wide ones, are in the ball."""
        others = [j for j in range(3) if j not in {*kept, *wide}]
        return not self.world.wrong()[self.world.inside(list(rule)) & self.near[:, others].all(axis=1)].any()


@cache
def local(seed: int) -> Local:
    """A case; the tests share them."""
    return Local(seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_explanations_of_both_kinds_are_those_of_the_ball(seed):
    case = local(seed)
    abductive, contrastive = case.ball.families()
    why = case.explainer.abductive(case.row, **case.options)
    assert frozenset(why.features) in abductive
    assert why.within == case.radius
    readable(why)
    smallest = case.explainer.abductive(case.row, minimum=True, **case.options)
    assert len(smallest.features) == min(map(len, abductive))
    found = list(case.explainer.enumerate(case.row, kind="both", **case.options))
    assert {frozenset(one.features) for one in found if isinstance(one, tp.Abductive)} == abductive
    assert {frozenset(one.features) for one in found if isinstance(one, tp.Contrastive)} == contrastive
    for change in [one for one in found if isinstance(one, tp.Contrastive)]:
        case.world.check_witness(change.witness, change.witness_label, change.features)
    (batch,) = case.explainer.batch([case.row], **case.options)
    assert batch == why
    for features in (why.features, why.features[1:], (0,), ()):
        verdict = case.explainer.holds(case.row, features, **case.options)
        assert verdict.holds == case.ball.sufficient(features)
        readable(verdict)


@pytest.mark.parametrize("seed", SEEDS[::3])
def test_groups_near_the_row(seed):
    members = [[0, 1], [0, 2], [1, 2]][seed % 3]
    case = Local(seed, {"both": [f"c{j}" for j in members]})
    unit = ["both" if j in members else f"c{j}" for j in range(3)]
    _, changes = case.ball.families()
    contrastive = smallest(frozenset(unit[j] for j in change) for change in changes)
    some = [frozenset(s) for n in range(3) for s in itertools.combinations(sorted(set(unit)), n)]
    abductive = smallest(s for s in some if all(s & one for one in contrastive))
    found = list(case.explainer.enumerate(case.row, kind="both", **case.options))
    assert {frozenset(one.feature_names) for one in found if isinstance(one, tp.Abductive)} == abductive
    assert {frozenset(one.feature_names) for one in found if isinstance(one, tp.Contrastive)} == contrastive
    for options in ({}, {"minimum": True}, {"inflate": True}):
        why = case.explainer.abductive(case.row, **options, **case.options)
        assert frozenset(why.feature_names) in abductive
        assert case.forces(why.rule, why.features)
        readable(why)
        check_certificate(case, why)
    change = case.explainer.contrastive(case.row, **case.options)
    assert frozenset(change.feature_names) in contrastive or not contrastive
    # With one feature or group kept, or none, how far may the others move? As far as no others let them, if proved.
    far = case.explainer.abductive(case.row, at_most=1, minimum=True, scale=case.scale)
    assert far.size <= 1
    check_certificate(case, far)
    radii = [
        case.explainer.robustness(case.row, keep=kept, scale=case.scale) for kept in ([], *([u] for u in set(unit)))
    ]
    assert (None if far.within is None else far.within) == (
        None if any(r.proved_exact is None for r in radii) else max(r.proved_exact for r in radii)
    )
    steps = case.explainer.profile(case.row, scale=case.scale).steps
    assert [step.size for step in steps] == sorted({step.size for step in steps})
    assert steps[-1].within is None
    for step in steps:
        kept = [j for j in range(3) if unit[j] in step.feature_names]
        assert case.explainer.robustness(case.row, keep=kept, scale=case.scale).proved_exact == step.within


@pytest.mark.parametrize("seed", SEEDS)
def test_claims_are_judged_near_the_row(seed):
    case, rng = local(seed), np.random.default_rng([seed, 72])
    rule = [c for c in case.explainer.abductive(case.row, inflate=True, tries=2).rule if rng.random() < 0.7]
    given = [case.world.forest.column_names.index(condition.name) for condition in rule]
    review = case.explainer.review(case.row, rule, **case.options)
    readable(review)
    assert review.holds == case.forces(rule, given)
    assert "as long as no " in review.title
    if review.holds:
        without = [case.forces(rule[:i] + rule[i + 1 :], given[:i] + given[i + 1 :]) for i in range(len(rule))]
        assert review.minimal == (not any(without))
        assert len(review.redundant) == sum(without)
    else:
        read = as_row(review.counterexample, case.world.forest.columns, case.world.floats).astype(float)
        assert case.world.forest.predict([list(review.counterexample)])[0] == review.counterexample_label
        assert review.counterexample_label != review.label
        assert all(case.apart(j, float(read[j])) <= case.radius for j in range(3) if j not in given)
        for condition, j in zip(rule, given, strict=True):
            assert case.world.satisfied(condition, j, read[j : j + 1]).all()
    old = {condition.name: condition for condition in rule if str(condition) in review.repair.rule}
    repaired = [old.get(name, name) for name in review.repair.feature_names]  # exact, where texts are rounded
    again = case.explainer.review(case.row, repaired, **case.options)
    assert again.holds
    assert again.minimal


@pytest.mark.parametrize("seed", SEEDS[::3])
def test_a_local_explanation_is_judged_within_its_own_radius(seed):
    case = local(seed)
    for options in ({}, {"inflate": True}):
        why = case.explainer.abductive(case.row, **options, **case.options)
        review = case.explainer.review(case.row, why)
        assert review.holds
        assert review.within == case.radius
    far = case.explainer.abductive(case.row, at_most=1, scale=case.scale)
    assert case.explainer.review(case.row, far).holds
    if far.within is not None and far.beyond.status == "exact":
        beyond = case.explainer.review(case.row, far.rule, within=far.within, scale=case.scale)
        assert beyond.holds is False, "at that very distance there is an input with another label"


def check_certificate(case: Local, result: Any) -> None:
    try:
        check(result.certificate().document, forest_to_json(case.explainer.forest))
    except CheckError as error:
        if "softmax" not in str(error):  # a near-tie that only the library's own exponential can tell
            raise


@pytest.mark.parametrize("seed", SEEDS)
def test_widened_conditions_go_anywhere_while_the_others_stay(seed):
    case = local(seed)
    why = case.explainer.abductive(case.row, inflate=True, **case.options)
    assert case.forces(why.rule, why.features)
    assert case.forces([*why.rule, *why.others], range(3)), "the ranges of the others say how far they may go"
    for i, f in enumerate(why.features):
        assert not case.forces(why.rule[:i] + why.rule[i + 1 :], set(why.features) - {f})
    assert why.widest or not why.features


@pytest.mark.parametrize("seed", SEEDS)
def test_the_nearest_change_in_the_ball(seed):
    case = local(seed)
    change = case.explainer.contrastive(case.row, **case.options)
    _, contrastive = case.ball.families()
    if not contrastive:
        assert change.status == "impossible"
        assert "every feature within" in change.claim
        return
    assert frozenset(change.features) in contrastive
    read = case.world.check_witness(change.witness, change.witness_label, change.features)
    parts = [case.apart(j, float(read[j])) for j in range(3)]
    assert max(parts) <= case.radius
    only = case.ball.same[:, [j for j in range(3) if j not in change.features]].all(axis=1) & case.ball.wrong()
    distances = [sum(case.apart(j, float(point[j])) for j in range(3)) for point in case.ball.grid[only]]
    assert sum(parts) == min(distances)


@pytest.mark.parametrize("seed", SEEDS)
def test_certificates_say_what_the_others_keep_to(seed):
    case = local(seed)
    model = Model(forest_to_json(case.explainer.forest))
    for options in ({}, {"inflate": True}, {"minimum": True}):
        why = case.explainer.abductive(case.row, **options, **case.options)
        document = why.certificate().document
        try:
            checked = check(document, model)
        except CheckError as error:
            if "softmax" not in str(error):  # a near-tie that only the library's own exponential can tell
                raise
            continue
        assert ("ranges around the instance" in checked.text) == bool(document["around"]) == bool(checked.around)
        for key in document["around"]:  # said to hold on more inputs, which is false for some of them
            f = int(key)
            altered = {**document, "around": {k: v for k, v in document["around"].items() if k != key}}
            if f not in why.features and not case.forces(why.rule, why.features, wide=[f]):
                with pytest.raises(CheckError):
                    check(altered, model)
        for key, row in document["witnesses"].items():  # a witness beyond the ball shows nothing
            own = case.explainer._context.space.features[int(key)].cell(case.world.x.tolist())
            with pytest.raises(CheckError, match="leaves the range"):
                check({**document, "around": {**document["around"], key: [own, own]}}, model)
            assert row is not None


@pytest.mark.parametrize("seed", SEEDS[::2])
def test_certificates_of_changes_say_what_these_keep_to(seed):
    case = local(seed)
    model = Model(forest_to_json(case.explainer.forest))
    for minimum in (False, True):
        change = case.explainer.contrastive(case.row, minimum=minimum, **case.options)
        if change.witness is None:
            continue
        document = change.certificate().document
        try:
            checked = check(document, model)
        except CheckError as error:
            if "softmax" not in str(error):
                raise
            continue
        assert bool(checked.around) == bool(document["around"])
        for f in change.features:  # a witness must not leave the ranges
            own = case.explainer._context.space.features[f].cell(case.world.x.tolist())
            with pytest.raises(CheckError, match="leaves the range of features"):
                check({**document, "around": {**document["around"], str(f): [own, own]}}, model)
        for f in map(str, change.features):  # without its range, one of the changes may do alone
            altered = {**document, "around": {k: v for k, v in document["around"].items() if k != f}}
            free = {int(f)} | {j for j in range(3) if str(j) not in document["around"]}
            near = case.near[:, [j for j in change.features if j not in free]].all(axis=1)
            others = [j for j in range(3) if j not in change.features]
            fewer = [case.world.same[:, [*others, j]].all(axis=1) & near & case.world.wrong() for j in change.features]
            if any(one.any() for one in fewer):
                with pytest.raises(CheckError):
                    check(altered, model)


@pytest.mark.parametrize("seed", SEEDS[::2])
def test_how_far_the_others_may_move(seed):
    case = local(seed)
    for keep in ((), (1,), (0, 2)):
        result = case.explainer.robustness(case.row, keep=keep, scale=case.scale)
        readable(result)
        far = reach(case, keep)
        assert result.proved_exact == far
        assert result.kept == tuple(f"c{j}" for j in keep)
        if far is not None:
            assert case.explainer.holds(case.row, keep, within=far, scale=case.scale).holds is False
            just_below = max(far - HAIR, Fraction(0))
            assert case.explainer.holds(case.row, keep, within=just_below, scale=case.scale).holds


def reach(case: Local, kept: Iterable[int]) -> Fraction | None:
    """The distance of the nearest flip that leaves these features as they are; None if there is none."""
    ladder, steps = case.steps
    flips = steps[case.world.wrong() & case.world.same[:, list(kept)].all(axis=1)]
    return ladder[flips.max(axis=1).min()] if len(flips) else None


def is_further(one: Fraction | None, other: Fraction | None) -> bool:
    return other is not None and (one is None or one > other)


@pytest.mark.parametrize("seed", SEEDS[::4])
def test_a_budget_of_features_reaches_as_far_as_they_can(seed):
    case = local(seed)
    subsets = [kept for n in range(4) for kept in itertools.combinations(range(3), n)]
    for most in range(4):
        best: Fraction | None = Fraction(0)
        for kept in subsets:
            if len(kept) <= most and is_further(reach(case, kept), best):
                best = reach(case, kept)
        for minimum in (False, True):
            why = case.explainer.abductive(case.row, at_most=most, scale=case.scale, minimum=minimum)
            readable(why)
            assert len(why.features) <= most
            assert why.within == reach(case, why.features)
            assert not is_further(why.within, best)
            assert why.furthest is True or not minimum
            assert why.within == best or not why.furthest
            for f in why.features:
                assert is_further(why.within, reach(case, set(why.features) - {f}))
            if why.beyond is None:
                assert why.within is None
                continue
            assert (why.beyond.proved_exact, why.beyond.nearest_exact) == (why.within, why.within)
            changed = {int(change.name[1:]) for change in why.beyond.changes}
            assert not changed & {*why.features}
            read = case.world.check_witness(why.beyond.witness, why.beyond.witness_label, changed)
            assert max(case.apart(j, float(read[j])) for j in range(3)) == why.within
        wide = case.explainer.abductive(case.row, at_most=most, scale=case.scale, inflate=True)
        ladder, steps = case.steps
        others = [j for j in range(3) if j not in wide.features]
        end = len(ladder) if wide.within is None else bisect_left(ladder, wide.within)
        near = (steps[:, others] < end).all(axis=1)
        assert not case.world.wrong()[case.world.inside(list(wide.rule)) & near].any()


@pytest.mark.parametrize("seed", SEEDS[::3])
def test_a_profile_climbs_from_robustness_to_a_whole_reason(seed):
    case = local(seed)
    profile = case.explainer.profile(case.row, scale=case.scale)
    readable(profile)
    assert profile.complete
    first, *_, last = [*profile.steps, profile.steps[-1]]
    assert first.features == ()
    assert first.within == case.explainer.robustness(case.row, scale=case.scale).proved_exact
    assert last.within is None
    assert frozenset(last.features) in case.world.families()[0]
    for before, step in itertools.pairwise(profile.steps):
        assert len(step.features) > len(before.features)
        assert is_further(step.within, before.within)
    model = Model(forest_to_json(case.explainer.forest))
    for step in profile.steps:
        assert step.within == reach(case, step.features)
        document = step.certificate().document
        try:
            check(document, model)
        except CheckError as error:
            if "softmax" not in str(error):
                raise
            continue
        if step.within is not None:  # at the radius itself it does not hold
            point = case.explainer._context.space.cells(case.explainer._context.instance(step.beyond.witness).row)
            around = {}
            for f, runs in document["around"].items():
                inside = {c for a, b in zip(runs[::2], runs[1::2], strict=True) for c in range(a, b + 1)}
                around[f] = [cell for cell in sorted({*inside, point[int(f)]}) for _ in range(2)]
            with pytest.raises(CheckError):
                check({**document, "around": around}, model)


def test_domains_with_holes_were_met():
    holes = 0
    for seed in HOLED:
        case = local(seed)
        context = case.explainer._context
        instance = context.instance(case.row, case.explainer._ball(case.radius, case.scale))
        holes += context.cache(instance, context.claim(instance), None).has_holes
    assert holes == len(HOLED)


@pytest.mark.parametrize("oracle", ["brute", "sat", "smt"])
def test_every_oracle_finds_the_same(oracle):
    if oracle == "smt":
        pytest.importorskip("z3")
    for seed in range(600, 612):
        within = [0.1, 0.25, 0.5, 1][seed % 4]
        native, row = random_case(seed, "majority")
        other, _ = random_case(seed, "majority", oracle)
        for inflate in (False, True):
            one, same = (e.abductive(row, within=within, inflate=inflate) for e in (native, other))
            assert (one.features, one.rule, one.others) == (same.features, same.rule, same.others)
        assert native.contrastive(row, within=within).features == other.contrastive(row, within=within).features


def test_the_checker_accepts_what_a_verifying_explainer_returns():
    for seed in range(640, 646):
        plain, row = random_case(seed, "mean")
        verifying, _ = random_case(seed, "mean", verify=True)
        assert verifying.abductive(row, within=0.5).features == plain.abductive(row, within=0.5).features
        assert verifying.holds(row, [0], within=0.5).holds == plain.holds(row, [0], within=0.5).holds
