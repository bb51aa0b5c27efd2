"""Spaces with missing values and float64 numbers: cells, conditions, rules and bounds, against the values."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treeproof as tp
from enumerated import World, random_world
from generators import random_forest, random_row
from treeproof.model.build import build_forest, leaf, split
from treeproof.model.columns import Column
from treeproof.model.decision import Sums
from treeproof.model.rows import as_row
from treeproof.query.cells import discretise
from treeproof.space.declare import declare
from treeproof.space.features import NumericFeature

seeds = st.integers(0, 2**32 - 1)


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_cells_tell_everything_that_the_forest_sees(seed):
    rng = np.random.default_rng(seed)
    forest = random_forest(
        rng,
        vote=str(rng.choice(["majority", "mean", "sum"])),
        categorical=bool(rng.random() < 0.3),
        missing=True,
        dtype=str(rng.choice(["float32", "float64"])),
    )
    space = declare(forest)
    cells = discretise(space)
    for _ in range(15):
        row = as_row(random_row(rng, forest), forest.columns, forest.floats)
        point = space.cells(row)
        assert cells.label(point) == forest.predict_index([forest_row(forest, row)])[0]
        np.testing.assert_array_equal(space.row(point, near=row), row)
        other = as_row(random_row(rng, forest), forest.columns, forest.floats)
        near = space.row(point, near=other)
        assert space.cells(near) == point
        for f, feature in enumerate(space.features):
            if isinstance(feature, NumericFeature):
                assert (point[f] == feature.missing_cell) == math.isnan(row[feature.column])


def forest_row(forest: tp.Forest, row: np.ndarray) -> list:
    return [
        v if c.categories is None else c.categories[int(v)] for v, c in zip(row.tolist(), forest.columns, strict=True)
    ]


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_conditions_are_true_of_exactly_the_values_of_their_cells(seed):
    world = random_world(seed)
    rng = np.random.default_rng(seed)
    for j, feature in enumerate(world.explainer.space.features):
        axis = np.array(world.axes[j])
        values = np.tile(world.x, (len(axis), 1))
        values[:, j] = axis
        cells = [feature.cell(row) for row in values.tolist()]
        for _ in range(4):
            if feature.ordered:
                first, last = sorted(rng.integers(0, feature.n_cells, 2).tolist())
                domain = range(first, last + 1)
            else:
                domain = frozenset(rng.permutation(feature.n_cells)[: rng.integers(1, feature.n_cells + 1)].tolist())
            condition = feature.condition(domain)
            assert world.satisfied(condition, j, axis).tolist() == [cell in domain for cell in cells]
            # And it is read back so, by what covers rows.
            allowed = [
                i
                for i, row in enumerate(values)
                if world.explainer._context.cells.allows(world.explainer.space.cells(row))
            ]
            rows = [world.row(values[i].tolist()) for i in allowed]
            assert world.explainer.coverage([condition], rows).covered == sum(cells[i] in domain for i in allowed)


def three_ways(**options) -> tp.Explainer:
    """Missing values of a go left, of b right, of c either way."""
    trees = [
        split("a", 0, split("a", 1, leaf([1.0]), leaf([0.0]), missing="yes"), leaf([-1.0]), missing="yes"),
        split("b", 0, leaf([1.0]), leaf([-1.0]), missing="no"),
        split("c", 0, leaf([1.0]), leaf([0.0]), missing="yes"),
        split("c", 2, leaf([0.5]), leaf([-1.0]), missing="no"),
    ]
    forest = build_forest(
        trees,
        columns=[Column(name, missing="possible") for name in "abc"],
        classes=["low", "high"],
        vote="sum",
        sums=Sums((0.0,), cuts=(0.75,)),
        dtype="float64",
    )
    return tp.Explainer(forest, **options)


def test_missing_values_must_be_declared_unless_the_model_expects_them():
    nan = math.nan
    with pytest.raises(tp.InputError, match=r"'c' must not be missing.*missing=\['c'\]"):
        three_ways(missing=["a"]).abductive([nan, 0, nan])
    assert three_ways(missing=["a", 2]).abductive([nan, 0, nan]).label == "high"
    assert discretise(three_ways(missing="all").space).ordered == (True, True, False)
    data = [[nan, 0, 1], [1, 2, 3]]
    assert [f.missing_cell for f in three_ways(data=data).space.features] == [0, None, None]
    for bad in ("a", ["d"], [3], [None]):
        with pytest.raises(tp.InputError):
            three_ways(missing=bad)
    never = build_forest([split("a", 0, 0, 1)], columns=["a"], classes=[0, 1])
    with pytest.raises(tp.InputError, match="not accept missing values"):
        tp.Explainer(never, missing=["a"])
    with pytest.raises(tp.InputError, match="must not be missing"):
        tp.Explainer(never).abductive([nan])


@pytest.mark.parametrize(
    ("ways", "place"),
    [
        ({-1.0: "no", 0.0: "no", 2.0: "yes", 3.0: "yes"}, 2),  # as 1 goes
        ({-1.0: "yes", 0.0: "yes", 2.0: "yes", 3.0: "yes"}, 0),
        ({-1.0: "no", 0.0: "no", 2.0: "no", 3.0: "no"}, 5),
        ({-1.0: "no", 0.0: "yes", 2.0: "no", 3.0: "yes"}, None),  # as no number goes
    ],
)
def test_a_missing_value_that_goes_as_a_number_does_leaves_the_feature_ordered(ways, place):
    trees = [split("a", cut, leaf([cut]), leaf([0.5 - cut]), missing=way) for cut, way in ways.items()]
    forest = build_forest(
        [*trees, split("b", 0, leaf([0.25]), leaf([-1.0]))],
        columns=[Column("a", missing="possible"), "b"],
        classes=["low", "high"],
        vote="sum",
        sums=Sums((0.0,), cuts=(-0.5,)),
        dtype="float64",
    )
    for declared in (
        {},
        {"bounds": {"a": (-0.5, 2.5)}},
        {"constraints": ["a <= 1 or b <= 0"]},
        {"kinds": {"a": "ordinal"}},
    ):
        explainer = tp.Explainer(forest, missing=["a"], **declared)
        (a, _), cells = explainer.space.features, discretise(explainer.space)
        assert a.ordered == (place is not None)
        if not declared:
            assert a.missing_cell == (5 if place is None else place)
        for value in (math.nan, 0.0, 1.0, 2.0):
            for b in (-1.0, 1.0):
                row = [value, b]
                point = explainer.space.cells(np.array(row))
                if not cells.allows(point):
                    continue
                assert cells.label(point) == forest.predict_index([row])[0]
                assert np.array_equal(explainer.space.row(point, np.array(row)), row, equal_nan=True)
                why = explainer.abductive(row, inflate=True)
                assert tp.check(why.certificate(), forest)
                kept = (lambda a, b: not a > 1 or b <= 0) if "constraints" in declared else None
                given = {name: declared[name] for name in ("bounds", "kinds") if name in declared}
                World(explainer, row, ends={"a": [1.0]}, rule=kept, **given).check_rule(why.rule, widest=why.widest)


def test_the_observed_domain_has_the_values_that_occur():
    nan = math.nan
    explainer = three_ways(data=[[nan, -1, 1], [0.5, 2, nan], [-3, nan, 4]], domain="observed")
    features = explainer.space.features
    assert [(f.lows[0], f.highs[-1], f.missing_cell, f.apart) for f in features] == [
        (-3, 0.5, 0, False),
        (-1, 2, 2, False),
        (1, 4, 2, True),
    ]
    with pytest.raises(tp.InputError, match="within its bounds"):
        explainer.abductive([1, 0, 1])
    # A column that is always missing has no range to keep.
    assert three_ways(data=[[nan, 0, 0]], domain="observed").abductive([nan, 0, 0]).label == "high"


def test_missing_values_print_as_words_and_are_none_in_json():
    nan = math.nan
    explainer = three_ways(missing="all")
    for row in ([nan, nan, nan], [nan, 0, nan], [0, 0, 0], [5, nan, 5]):
        results = [
            explainer.abductive(row),
            explainer.abductive(row, inflate=True),
            explainer.contrastive(row),
            explainer.robustness(row),
            explainer.review(row, ["a", "b"]),
            explainer.most_general(row, [row, [0, 0, 0]]),
            explainer.audit([row], protected=["a"]),
            explainer.holds(row, ["c"]),
            explainer.contrastives(row),
        ]
        for result in results:
            text = json.dumps(result.to_dict(), allow_nan=False)
            assert "nan" not in str(result).replace("'nan'", "").split()
            assert "NaN" not in text
    assert str(explainer.abductive([nan, nan, nan]).rule[0]).endswith(" is missing")
    assert explainer.abductive([nan, 0, nan]).to_dict()["instance"] == (None, 0.0, None)
    conditions = {str(c.condition(d)) for c in explainer.space.features for d in domains(c)}
    assert {
        "c <= 0 or c > 2",
        "c <= 0 or c > 2 or missing",
        "c is not missing",
        "c is missing",
    } <= conditions
    assert {"a <= 0 or missing", "a is not missing", "b is missing", "b is any value"} <= conditions


def domains(feature):
    if feature.ordered:
        return [range(a, b) for a in range(feature.n_cells) for b in range(a + 1, feature.n_cells + 1)]
    return [
        frozenset(s) for n in range(1, feature.n_cells + 1) for s in itertools.combinations(range(feature.n_cells), n)
    ]


def test_conditions_and_rules_can_speak_of_missing_values():
    nan = math.nan
    explainer = three_ways(missing="all")
    rows = [[nan, 0, 0], [1, 0, 0], [0, nan, 0], [2, 0, nan]]
    for text, covered in [
        ("a is missing", 1),
        ("a is not missing", 3),
        ("a = missing", 1),
        ("a in {1, missing}", 2),
        ("a not in {1, missing}", 2),
        ("a != 1", 3),  # a missing value is not 1
        ("a <= 1", 2),
        ("a is any value", 4),
        ("a is missing and b <= 0", 1),
    ]:
        assert explainer.coverage(text, rows).covered == covered, text
    review = explainer.review([nan, 0, nan], "a is missing and c != 0")
    assert review.applies
    assert not review.holds
    assert explainer.forest.predict([review.counterexample])[0] == "low"
    assert math.isnan(review.counterexample[0])
    assert explainer.review(claim="a is missing and b <= 0 and c is missing", label="high").holds
    ruled = three_ways(missing="all", constraints=["if a is missing then b <= 0", "c is not missing or a <= 0"])
    with pytest.raises(tp.InputError, match="violates the constraint 'if a is missing then b <= 0'"):
        ruled.abductive([nan, 1, 0])
    with pytest.raises(tp.InputError, match="violates the constraint 'c is not missing or a <= 0'"):
        ruled.abductive([nan, 0, nan])
    assert ruled.abductive([0, 1, nan]).label in ("low", "high")
    world = World(
        ruled, [nan, 0, 0], rule=lambda a, b, c: (not math.isnan(a) or b <= 0) and (not math.isnan(c) or a <= 0)
    )
    assert frozenset(ruled.abductive([nan, 0, 0]).features) in world.families()[0]
    with pytest.raises(tp.InputError, match="satisfiable"):
        three_ways().review(claim="a is missing", label="high")
