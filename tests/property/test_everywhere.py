"""Questions about all inputs, against enumeration of all inputs of small spaces."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import os
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import treeproof as tp
from enumerated import World, random_world, readable
from generators import random_forest
from treeproof.model.floats import FLOATS
from treeproof.model.rows import as_row
from treeproof.questions.everywhere import score_for

N = int(os.environ.get("TREEPROOF_WORLDS", "8"))  # of each test; more of them when looking for trouble


def worlds(first: int, **shape: Any) -> list[World]:
    votes = ["majority", "mean", "sum", "sum"]
    return [random_world(first + i, vote=votes[i % 4], **shape) for i in range(N)]


def scored(world: World) -> tuple[Any, np.ndarray, np.ndarray]:
    """A score of the world's model, its integers and the model's own number for every input."""
    context = world.explainer.scored_context
    one = world.forest.decision.cuts is not None
    score = score_for(context, None if one else int(world.forest.classes[-1]))
    leaves = world.forest.route(world.grid.astype(world.floats.dtype))
    totals = score.numbers[leaves].sum(axis=1)
    if world.forest.vote == "majority":
        own = (world.forest.leaf_class[leaves] == score.index).mean(axis=1)
    else:
        own = world.forest.add(leaves)[:, score.index].astype(float)
    return score, totals, own


def of(world: World) -> Any:
    return None if world.forest.decision.cuts is not None else int(world.forest.classes[-1])


def row_of(world: World, values: tuple[Any, ...]) -> int:
    """The number of an input that is in the same cells."""
    space = world.explainer.space
    point = space.cells(as_row(list(values), world.forest.columns, world.floats))
    there = np.ones(len(world.grid), dtype=bool)
    for j, (feature, axis) in enumerate(zip(space.features, world.axes, strict=True)):
        rows = np.tile(world.grid[0], (len(axis), 1))
        rows[:, j] = axis
        same = rows[[feature.cell(row) == point[j] for row in rows.astype(world.floats.dtype)], j]
        there &= np.isin(np.nan_to_num(world.grid[:, j], nan=1e30), np.nan_to_num(same, nan=1e30))
    return int(np.flatnonzero(there)[0])


def test_scores_in_floats_are_where_their_integers_say():
    for world in worlds(100):
        score, totals, own = scored(world)
        for total, value in set(zip(totals.tolist(), own.tolist(), strict=True)):
            assert score.at_least(total) <= value <= score.at_most(total)
            assert score.floor <= value <= score.ceiling


def test_extremes_are_those_of_all_inputs():
    for world in worlds(200):
        _, totals, own = scored(world)
        found = world.explainer.extremes(of=of(world))
        readable(found)
        assert found.status == "exact"
        assert found.lowest.bound <= own.min() <= own.max() <= found.highest.bound
        for end, best in ((found.lowest, totals.min()), (found.highest, totals.max())):
            at = row_of(world, end.input.values)
            assert totals[at] == best
            assert own[at] == end.value


def test_extremes_under_conditions_are_those_of_the_inputs_that_satisfy_them():
    for world in worlds(300, missing=False):
        for text, holds in (("c1 >= 0.25", world.grid[:, 1] >= 0.25), ("c2 <= 0.5", world.grid[:, 2] <= 0.5)):
            _, totals, own = scored(world)
            if not holds.any():
                continue
            try:
                found = world.explainer.extremes(of=of(world), where=text)
            except tp.InputError:
                continue  # whole numbers, where the condition is written otherwise
            assert found.lowest.bound <= own[holds].min()
            assert own[holds].max() <= found.highest.bound
            assert totals[row_of(world, found.highest.input.values)] == totals[holds].max()


def neighbours(world: World, features: list[int]) -> list[np.ndarray]:
    """Inputs that have the same values in all other columns, together."""
    others = np.delete(np.nan_to_num(world.grid, nan=1e30), features, axis=1)
    which = np.unique(others, axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(which, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(which[order])) + 1)


def test_monotone_is_what_all_pairs_of_inputs_say():
    for world in worlds(400):
        _, totals, own = scored(world)
        for f, increasing in itertools.product((1, 2), (True, False)):
            found = world.explainer.monotone(f, increasing=increasing, of=of(world))
            readable(found)
            sign = 1 if increasing else -1
            falls = 0
            column = world.grid[:, f]
            for group in neighbours(world, [f]):
                numbers = group[~np.isnan(column[group])]
                along = sign * totals[numbers[np.argsort(column[numbers])]]
                falls = max(falls, int((np.maximum.accumulate(along) - along).max(initial=0)))
            if found.holds:
                assert falls == 0
            elif found.holds is False:
                before, after = (row_of(world, each.values) for each in (found.before, found.after))
                assert sign * (own[before] - own[after]) == found.violation > 0
                assert column[before] < column[after] or world.explainer.space.features[f].kind != "real"
            else:
                assert found.violation <= 0, "a fall of exact sums that floats do not show"
                assert falls > 0


def test_the_table_of_all_features_says_what_single_questions_do():
    for world in worlds(420):
        names = world.explainer.space.names
        table = world.explainer.monotone(of=of(world))
        readable(table)
        for increasing, found in ((True, table.rising), (False, table.falling)):
            for one in found:
                alone = world.explainer.monotone(names.index(one.feature), increasing=increasing, of=of(world))
                assert (one.holds, one.violation, one.bound) == (alone.holds, alone.violation, alone.bound)
                assert one.largest == (one.holds is not True)
        late = world.explainer.monotone(of=of(world), timeout=0)
        assert all(one.holds is None or alone.holds for one, alone in zip(late.rising, table.rising, strict=True))


def test_the_effect_is_the_largest_difference_of_two_inputs():
    for world in worlds(500):
        _, totals, own = scored(world)
        for features in ([0], [1], [1, 2]):
            found = world.explainer.effect(features, of=of(world))
            readable(found)
            groups = neighbours(world, features)
            largest = max(int(totals[group].max() - totals[group].min()) for group in groups)
            before, after = (row_of(world, each.values) for each in (found.before, found.after))
            assert int(totals[after] - totals[before]) == largest
            assert found.value == own[after] - own[before] <= found.bound
            for group in groups:
                assert own[group].max() - own[group].min() <= found.bound


def test_independence_is_what_all_pairs_of_inputs_say():
    outcomes = set()
    for world in worlds(600):
        band = world.explainer.scored_context.cells.band
        for features in ([0], [1], [1, 2]):
            found = world.explainer.independent(features)
            readable(found)
            depends = any(len(set(world.labels[group])) > 1 for group in neighbours(world, features))
            outcomes.add(found.status if found.holds is None else found.holds)
            if found.holds is None:
                assert found.status == "ties"
                assert band > 0
                continue
            assert found.holds == (not depends)
            if depends:
                before, after = (row_of(world, each.values) for each in (found.before, found.after))
                assert world.labels[before] != world.labels[after]
                same = [j for j in range(3) if j not in features]
                assert np.array_equal(world.grid[before][same], world.grid[after][same], equal_nan=True)
    assert {True, False} <= outcomes


@pytest.mark.parametrize("vote", ["majority", "mean", "sum"])
def test_two_models_differ_where_their_labels_do(vote):
    outcomes = set()
    for seed in range(N):
        rng = np.random.default_rng(seed)
        shape = {"vote": vote, "n_columns": 3, "n_classes": 2 + seed % 2, "depth": 2, "categorical": seed % 3 == 0}
        dtypes = rng.choice(["float32", "float64"], 2)
        old = random_forest(rng, n_trees=3, dtype=str(dtypes[0]), **shape)
        new = random_forest(rng, n_trees=3, dtype=str(dtypes[1]), **shape) if seed % 4 else old
        found = tp.differ(old, new)
        readable(found)
        axes = []
        for j in range(3):
            if old.columns[j].categories is not None:
                axes.append([float(code) for code in range(4)])
                continue
            cuts = {*old.thresholds_of(j).tolist(), *new.thresholds_of(j).tolist()}
            around = {0.0, -5.0, 5.0, *cuts}
            for cut in cuts:
                for name in ("float32", "float64"):
                    around |= {FLOATS[name].next(cut, -9.0), FLOATS[name].next(cut, 9.0)}
                above = FLOATS["float32"].next(cut, 9.0)
                middle = (FLOATS["float32"].round(cut) + above) / 2
                around |= {middle, float(np.nextafter(middle, 9.0)), float(np.nextafter(middle, -9.0))}
            axes.append(sorted(around))
        grid = np.array(list(itertools.product(*axes)))
        first, second = (m.decide(m.route(grid.astype(m.floats.dtype))) for m in (old, new))
        differs = bool((first != second).any())
        outcomes.add(found.same)
        if found.same is None:
            assert found.status == "ties"
            continue
        assert found.same == (not differs)
        if differs:
            row = [list(found.input.values)]
            assert old.predict(row)[0] == found.old != found.new == new.predict(row)[0]
    assert {True, False} <= outcomes


def test_a_statement_is_true_iff_all_inputs_say_so():
    outcomes = set()
    for world in worlds(700, missing=False):
        for text, holds in (("c1 >= 0.25", world.grid[:, 1] >= 0.25), ("c2 <= 0.5", world.grid[:, 2] <= 0.5)):
            if not holds.any():
                continue
            reached = set(world.labels[holds].tolist())
            for k in range(world.forest.n_classes):
                label = world.forest.classes[k].item()
                always = world.explainer.prove(f"if {text} then {label}", examples=3)
                never = world.explainer.prove(f"if {text} then not {label}")
                for found in (always, never):
                    readable(found)
                    for shown in found.counterexamples:
                        value = shown.values[int(text[1])]
                        assert value >= 0.25 if text.startswith("c1") else value <= 0.5
                        assert (world.labels[row_of(world, shown.values)] == k) == found.negated
                    if found:
                        found.certificate().check()
                assert always.holds == (reached == {k})
                assert never.holds == (k not in reached)
                outcomes |= {always.holds, never.holds}
    assert outcomes == {True, False}


def changes(world: World, f: int) -> tuple[Any, float, dict[int, float]]:
    """The score's divisor, its largest change by a feature, and by direction the largest change against that."""
    score, _, _ = scored(world)
    factors = [Fraction(1)] * world.forest.n_trees
    for member in world.forest.decision.members:
        for tree in range(member.first, member.last):
            factors[tree] *= Fraction(member.weight) / Fraction(member.divisor)

    def added(leaves: np.ndarray) -> Fraction:
        if world.forest.vote == "majority":
            return Fraction(int((world.forest.leaf_class[leaves] == score.index).sum()))
        values = map(Fraction, world.forest.values[leaves, score.index].tolist())
        return sum((value * factor for value, factor in zip(values, factors, strict=True)), Fraction(0))

    leaves = world.forest.route(world.grid.astype(world.floats.dtype))
    distinct, which = np.unique(leaves, axis=0, return_inverse=True)
    sums = [added(row) for row in distinct]
    unit = math.lcm(*(value.denominator for value in sums))  # whole numbers are compared in less time
    whole = np.array([int(value * unit) for value in sums], dtype=object)[which.ravel()]
    most, against = 0, {1: 0, -1: 0}
    for group in neighbours(world, [f]):
        most = max(most, max(whole[group]) - min(whole[group]))
        numbers = group[~np.isnan(world.grid[group, f])]
        along = whole[numbers[np.argsort(world.grid[numbers, f])]].tolist()
        for way, most_yet in against.items():
            highest = itertools.accumulate((way * value for value in along), max)
            falls = (before - way * value for before, value in zip(highest, along, strict=True))
            against[way] = max(most_yet, *falls)
    return score.divisor, Fraction(most, unit), {way: Fraction(fall, unit) for way, fall in against.items()}


def test_certificates_of_pairs_prove_what_all_pairs_say_and_altered_ones_are_refused():
    refused = directed = constrained = 0
    for world in worlds(800):
        constrained += bool(world.explainer.scored_context.cells.clauses)
        divisor, most, against = changes(world, 1)
        effect = world.explainer.effect(1, of=of(world)).certificate()
        text = effect.check().text
        bound = Fraction(text.split(" by ")[1].split()[0]) if " by " in text else Fraction(0)
        assert most / divisor <= bound
        if most:
            near = most / divisor * Fraction(101, 100) + Fraction(1, 10**4)  # some models add in float32
            assert near > bound, "it is close to what is true"
            lower = {**effect.document["pair"], "cut": float(most * Fraction(99, 100)).hex()}
            with pytest.raises(tp.CheckError):
                tp.check({**effect.document, "pair": lower}, effect.forest)
            refused += 1
        for increasing, way in ((True, 1), (False, -1)):
            found = world.explainer.monotone(1, increasing=increasing, of=of(world))
            if not found.holds:
                continue
            directed += 1
            assert against[way] == 0
            made = found.certificate()
            made.check()
            if against[-way]:
                with pytest.raises(tp.CheckError):
                    tp.check({**made.document, "pair": {**made.document["pair"], "direction": -way}}, made.forest)
                refused += 1
    assert refused >= N // 2
    assert directed
    assert constrained


def test_certificates_of_independence_are_checked_and_not_believed_beyond_their_space():
    proved = refused = 0
    for world in worlds(900, plain=True, missing=False, categorical=False):
        depends = any(len(set(world.labels[group])) > 1 for group in neighbours(world, [1]))
        for value in (-5.0, 0.25, 5.0):
            held = {"c0": (value, value), "c2": (value, value)}
            found = tp.Explainer(world.forest, bounds=held).independent(["c1"])
            if not found.holds:
                continue
            made = found.certificate()
            assert made.check().text == "no two inputs that differ in c1 alone have different labels"
            proved += 1
            if not depends:
                continue
            wider = json.loads(made.text)
            for pair in wider["pairs"]:
                del pair["space"]["bounds"]  # now it is about all inputs
            with pytest.raises(tp.CheckError):
                tp.check(wider, world.forest)
            refused += 1
    assert proved
    assert refused


def test_certificates_of_pairs_under_conditions_are_about_these_inputs():
    refused = 0
    for world in worlds(1000, missing=False):
        numbers = sorted(set(world.grid[:, 2].tolist()))
        low = numbers[len(numbers) // 2]
        try:
            found = world.explainer.effect(1, of=of(world), where=f"c2 >= {low!r}")
        except tp.InputError:
            continue  # no number of the bounds satisfies it
        made = found.certificate()
        text = made.check().text
        inside = World.__new__(World)
        inside.__dict__ = {**world.__dict__, "grid": world.grid[world.grid[:, 2] >= low]}
        divisor, most, _ = changes(inside, 1)
        bound = Fraction(text.split(" by ")[1].split()[0].rstrip(",")) if " by " in text else Fraction(0)
        assert most / divisor <= bound <= most / divisor * Fraction(101, 100) + Fraction(1, 10**4)
        if changes(world, 1)[1] > most:
            with pytest.raises(tp.CheckError):  # now it is about all inputs
                tp.check({**made.document, "box": {}}, made.forest)
            refused += 1
    assert refused


def changed(rng: np.random.Generator, forest: tp.Forest, how: int) -> tp.Forest:
    """A model like another: with another leaf, with a split at another of its thresholds, or with two equal leaves."""
    values, threshold = forest.values.copy(), forest.threshold.copy()
    leaves, numeric = np.flatnonzero(forest.feature < 0), np.flatnonzero(~np.isnan(forest.threshold))
    if how == 0:
        node = rng.choice(leaves)
        values[node] = (values[node] * rng.choice([0.5, 1.0 - 2.0**-20])).astype(np.float32)
    elif how == 1 and len(numeric):
        node = rng.choice(numeric)
        threshold[node] = rng.choice(forest.threshold[numeric[forest.feature[numeric] == forest.feature[node]]])
    else:
        values[rng.choice(leaves)] = values[rng.choice(leaves)]
    return dataclasses.replace(forest, values=values, threshold=threshold)


def test_certificates_of_two_models_prove_what_all_inputs_say_and_altered_ones_are_refused():
    proved = refused = 0
    for i, world in enumerate(worlds(1100, n_classes=2)):
        rng = np.random.default_rng(i)
        old, new = world.forest, changed(rng, world.forest, i % 3)
        first, second = (m.route(world.grid.astype(m.floats.dtype)) for m in (old, new))
        same = bool((old.decide(first) == new.decide(second)).all())
        found = tp.differ(world.explainer, new)
        readable(found)
        assert found.same in (same, None)
        if found.same:
            made = found.certificate()
            assert "the same label to every input" in made.check().text
            proved += 1
        if found.gap is None:
            continue
        one, two = (score_for(tp.Explainer(m).scored_context, of(world)).index for m in (old, new))
        gaps = np.abs(own_of(old, first, one) - own_of(new, second, two))
        assert gaps.max() <= found.gap.bound
        made = found.certificate(of="score")
        bound = float(made.check().text.split(" less than ")[1].split()[0])
        assert gaps.max() <= bound <= gaps.max() * 1.01 + 1e-4
        if gaps.max() > 1e-3:
            pair = made.document["pair"]
            cuts = [(float.fromhex(cut) * 0.95).hex() for cut in pair["cuts"]]
            with pytest.raises(tp.CheckError):
                tp.check({**made.document, "pair": {**pair, "cuts": cuts}}, old, new)
            refused += 1
        with pytest.raises(tp.CheckError):
            tp.check(made, new, old)
        with pytest.raises(tp.CheckError):
            tp.check(made, old)
    assert proved
    assert refused


def own_of(forest: tp.Forest, leaves: np.ndarray, k: int) -> np.ndarray:
    if forest.vote == "majority":
        return (forest.leaf_class[leaves] == k).mean(axis=1)
    return forest.add(leaves)[:, k].astype(float)
