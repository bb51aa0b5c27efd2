from __future__ import annotations

import datetime

import numpy as np
import pytest

from generators import random_forest, random_row
from treeproof.errors import InputError
from treeproof.explainer import Explainer
from treeproof.model.build import build_forest, isin, leaf, split
from treeproof.model.columns import Column
from treeproof.model.floats import FLOAT32
from treeproof.model.forest import Forest
from treeproof.model.rows import as_row
from treeproof.space.conditions import Condition
from treeproof.space.declare import dated, declare
from treeproof.space.features import NumericFeature
from treeproof.space.space import Space

LARGEST = np.finfo(np.float32).max

TOP = float(LARGEST)
TINY = 2.0**-149


def next32(value: float, direction: float = np.inf) -> float:
    return float(np.nextafter(np.float32(value), np.float32(direction)))


def cuts(*thresholds: float, name: str = "a") -> Forest:
    return build_forest([split(name, t, 0, 1) for t in thresholds], columns=[name], classes=[0, 1])


def only_feature(forest: Forest, kind: str = "real") -> NumericFeature:
    (feature,) = declare(forest, kinds={0: kind}).features
    assert isinstance(feature, NumericFeature)
    return feature


def intervals(forest: Forest, kind: str = "real") -> list[tuple[float, float]]:
    feature = only_feature(forest, kind)
    return list(zip(feature.lows.tolist(), feature.highs.tolist(), strict=True))


def onehot_forest() -> Forest:
    return build_forest(
        [
            split("red", 0.5, split("age", 30, 0, 1), 1),
            split("blue", 0.5, split("green", 0.5, 0, 1), 2),
            isin("size", ["S", "L"], 0, 2),
        ],
        columns=["red", "age", "green", "blue", Column("size", ("S", "M", "L"))],
        classes=[0, 1, 2],
    )


COLOURS = {"colour": ["red", "green", "blue"]}


class TestCells:
    @pytest.mark.parametrize(
        ("thresholds", "expected"),
        [
            ((), [(-TOP, TOP)]),
            ((2.0,), [(-TOP, 2), (next32(2), TOP)]),
            ((2.0, 2.0), [(-TOP, 2), (next32(2), TOP)]),
            ((1.0, 1 + 1e-12), [(-TOP, 1), (next32(1), TOP)]),
            ((1.0, 1 - 1e-12), [(-TOP, next32(1, 0)), (1, 1), (next32(1), TOP)]),
            ((0.0, -0.0), [(-TOP, 0), (TINY, TOP)]),
            ((TINY, -TINY), [(-TOP, -TINY), (0, TINY), (2 * TINY, TOP)]),
            ((TOP,), [(-TOP, TOP)]),
            ((1e39,), [(-TOP, TOP)]),
            ((np.inf,), [(-TOP, TOP)]),
            ((-1e39,), [(-TOP, TOP)]),
            ((-TOP,), [(-TOP, -TOP), (next32(-TOP), TOP)]),
            ((next32(TOP, 0),), [(-TOP, next32(TOP, 0)), (TOP, TOP)]),
        ],
    )
    def test_of_a_real_feature_are_closed_float32_intervals(self, thresholds, expected):
        forest = cuts(*thresholds) if thresholds else build_forest([leaf(0)], columns=["a"], classes=[0, 1])
        got = intervals(forest)
        assert [(low + 0, high + 0) for low, high in got] == expected

    @pytest.mark.parametrize(
        ("thresholds", "expected"),
        [
            ((2.5,), [(-TOP, 2), (3, TOP)]),
            ((2.5, 2.0, 2.75), [(-TOP, 2), (3, TOP)]),
            ((2.0, 3.0), [(-TOP, 2), (3, 3), (4, TOP)]),
            ((-0.5,), [(-TOP, -1), (0, TOP)]),
            ((2.0**24,), [(-TOP, 2.0**24), (2.0**24 + 2, TOP)]),
            ((1e39, -1e39), [(-TOP, TOP)]),
        ],
    )
    def test_of_an_ordinal_feature_begin_and_end_at_whole_numbers(self, thresholds, expected):
        assert intervals(cuts(*thresholds), "ordinal") == expected

    @pytest.mark.parametrize(
        ("thresholds", "expected"),
        [
            ((0.5,), [(0, 0), (1, 1)]),
            ((0.2, 0.7, 0.0), [(0, 0), (1, 1)]),
            ((-0.5, 1.0, 7.0), [(0, 1)]),
        ],
    )
    def test_of_a_binary_feature_are_zero_and_one(self, thresholds, expected):
        assert intervals(cuts(*thresholds), "binary") == expected

    def test_cover_every_float32_once(self):
        for seed in range(20):
            forest = random_forest(np.random.default_rng(seed))
            for feature in declare(forest).features:
                assert feature.lows[0] == -TOP
                assert feature.highs[-1] == TOP
                assert [next32(high) for high in feature.highs[:-1]] == feature.lows[1:].tolist()

    @pytest.mark.parametrize("kind", ["real", "ordinal"])
    def test_hold_their_own_ends(self, kind):
        feature = only_feature(cuts(-3.0, 0.0, 2.0, 5.5, next32(TOP, 0)), kind)
        for cell in range(feature.n_cells):
            for value in (feature.lows[cell], feature.highs[cell]):
                assert feature.cell(np.float32([value])) == cell

    def test_of_rows_at_a_threshold_and_beside_it_differ_as_the_split_does(self):
        forest = cuts(0.1)  # float32(0.1) is above it
        space = declare(forest)
        assert space.cells(np.float32([0.1])) == (1,)
        assert space.cells(np.float32([next32(0.1, 0)])) == (0,)

    def test_of_features_that_no_tree_uses_are_one(self):
        forest = build_forest([split("a", 0, 0, 1)], columns=["a", "unused"], classes=[0, 1])
        assert [f.n_cells for f in declare(forest).features] == [2, 1]


class TestKinds:
    def test_are_declared_by_name_or_index(self):
        forest = build_forest([leaf(0)], columns=["a", "b", "c"], classes=[0, 1])
        space = declare(forest, kinds={"a": "binary", np.int64(2): "ordinal"})
        assert [f.kind for f in space.features] == ["binary", "real", "integer"]

    @pytest.mark.parametrize("value", [0.5, 2, -1, next32(1)])
    def test_binary_takes_zero_and_one_only(self, value):
        space = declare(cuts(0.5), kinds={"a": "binary"})
        with pytest.raises(InputError, match=r"'a' is of kind binary: it must be 0 or 1\. Got"):
            space.cells(np.float32([value]))
        assert [space.cells(np.float32([v])) for v in (0, -0.0, 1)] == [(0,), (0,), (1,)]

    @pytest.mark.parametrize("value", [0.5, next32(3), -1.5])
    def test_ordinal_takes_whole_numbers_only(self, value):
        space = declare(cuts(2.5), kinds={"a": "ordinal"})
        with pytest.raises(InputError, match=r"'a' is of kind integer: it must be a whole number\. Got"):
            space.cells(np.float32([value]))
        assert [space.cells(np.float32([v])) for v in (-7, 2, 3, 1e30)] == [(0,), (0,), (1,), (1,)]

    @pytest.mark.parametrize(
        ("kinds", "message"),
        [
            ({"weight": "real"}, r"one of \['a', 'colour'\]. Got 'weight'"),
            ({2: "real"}, "index below 2. Got 2"),
            ({-1: "real"}, "Got -1"),
            ({0.5: "real"}, "Got 0.5"),
            ({"a": "whole"}, r"kind must be one of \('binary', 'integer', 'real', 'date'\). Got 'whole'"),
            ({"a": "categorical"}, "Got 'categorical'"),
            ({"a": None}, "Got None"),
            ({"colour": "ordinal"}, "'colour' is already categorical"),
        ],
    )
    def test_that_make_no_sense_are_refused(self, kinds, message):
        forest = build_forest([leaf(0)], columns=["a", Column("colour", ("red",))], classes=[0, 1])
        with pytest.raises(InputError, match=message):
            declare(forest, kinds=kinds)


class TestGroups:
    def test_become_one_feature_in_the_place_of_their_first_column(self):
        space = declare(onehot_forest(), one_hot={"colour": ["blue", 0, "green"]})
        assert space.names == ("colour", "age", "size")
        assert [f.n_cells for f in space.features] == [3, 2, 3]
        assert [f.kind for f in space.features] == ["categorical", "real", "categorical"]
        assert space.features[0].columns == (0, 2, 3)

    def test_read_the_column_that_is_one(self):
        space = declare(onehot_forest(), one_hot=COLOURS)
        for cell, hot in enumerate([[1, 0, 0], [0, 1, 0], [0, 0, 1]]):
            row = np.float32([hot[0], 30, hot[1], hot[2], 1])
            assert space.cells(row) == (cell, 0, 1)
            assert space.features[0].show(row) == ["red", "green", "blue"][cell]

    @pytest.mark.parametrize("hot", [[0, 0, 0], [1, 1, 0], [0.5, 0.5, 0], [2, 0, 0], [1, -1, 1], [next32(1), 0, 0]])
    def test_refuse_rows_that_are_not_one_hot(self, hot):
        space = declare(onehot_forest(), one_hot=COLOURS)
        with pytest.raises(InputError, match=r"'colour' .*exactly one of its columns is 1.* Got \["):
            space.cells(np.float32([hot[0], 30, hot[1], hot[2], 1]))

    def test_importance_is_the_sum_over_the_columns(self):
        space = declare(onehot_forest(), one_hot=COLOURS)
        np.testing.assert_allclose(space.importances, [0.6, 0.2, 0.2])

    @pytest.mark.parametrize(
        ("one_hot", "kinds", "message"),
        [
            ({"c": ["red", "pink"]}, {}, "Got 'pink'"),
            ({"c": ["red", 9]}, {}, "Got 9"),
            ({"c": "red"}, {}, "'c' must be a list. Got the string 'red'"),
            ({"c": []}, {}, "'c' must have at least one column"),
            ({"c": ["red", "red"]}, {}, "'red'"),
            ({"c": ["red", "green"], "d": ["green", "blue"]}, {}, "'green' is in two one-hot groups"),
            ({"c": ["red", "green"]}, {"red": "binary"}, "'red' is in a one-hot group"),
            ({"c": ["red", "size"]}, {}, "'size' is already categorical"),
            ({"age": ["red", "green"]}, {}, r"names must differ. Got \['age', 'age'"),
        ],
    )
    def test_that_make_no_sense_are_refused(self, one_hot, kinds, message):
        with pytest.raises(InputError, match=message):
            declare(onehot_forest(), one_hot=one_hot, kinds=kinds)

    def test_may_take_the_name_of_one_of_their_own_columns(self):
        assert declare(onehot_forest(), one_hot={"red": ["red", "green", "blue"]}).names[0] == "red"


class TestIndex:
    @pytest.mark.parametrize(("feature", "index"), [("colour", 0), ("size", 2), (1, 1), (np.int64(2), 2)])
    def test_finds_features(self, feature, index):
        assert declare(onehot_forest(), one_hot=COLOURS).index(feature) == index

    @pytest.mark.parametrize("feature", ["red", "", 3, -1, True, 1.0, None, ["size"]])
    def test_refuses_anything_else(self, feature):
        with pytest.raises(InputError, match="feature"):
            declare(onehot_forest(), one_hot=COLOURS).index(feature)


class TestRow:
    def test_lies_in_the_wanted_cells_and_keeps_what_it_can(self):
        for seed in range(30):
            rng = np.random.default_rng(seed)
            forest = random_forest(rng, categorical=seed % 2 == 0)
            space = declare(forest)
            near = as_row(random_row(rng, forest), forest.columns)
            here = space.cells(near)
            np.testing.assert_array_equal(space.row(here, near), near)
            wanted = tuple(int(rng.integers(f.n_cells)) for f in space.features)
            row = space.row(wanted, near)
            assert row.dtype == np.float32
            assert space.cells(row) == wanted
            for f in range(space.n_features):
                if wanted[f] == here[f]:
                    assert row[f] == near[f]

    def test_is_the_closest_in_its_cell(self):
        space = declare(cuts(-1.0, 0.1, 2.0))
        near = np.float32([0.5])
        assert [space.row((cell,), near)[0] for cell in range(4)] == np.float32(
            [-1, next32(0.1, 0), 0.5, next32(2)]
        ).tolist()

    def test_of_ordinals_and_groups_stays_in_their_domain(self):
        space = declare(onehot_forest(), one_hot=COLOURS, kinds={"age": "ordinal"})
        near = np.float32([1, 28, 0, 0, 0])
        assert space.row((2, 1, 1), near).tolist() == [0, 31, 0, 1, 1]
        assert space.row((0, 0, 0), near).tolist() == near.tolist()

    def test_leaves_the_given_row_alone(self):
        near = np.float32([0.5])
        declare(cuts(2.0)).row((1,), near)
        assert near.tolist() == [0.5]


class TestConditions:
    @pytest.mark.parametrize(
        ("domain", "text"),
        [
            (range(4), "a is any value"),
            (range(1), "a <= -1"),
            (range(2), "a < 0.1"),
            (range(1, 2), "-1 < a < 0.1"),
            (range(1, 4), "a > -1"),
            (range(2, 4), "a >= 0.1"),
        ],
    )
    def test_on_a_real_feature_have_the_shortest_bounds_and_keep_the_exact_ones(self, domain, text):
        condition = only_feature(cuts(-1.0, 0.1, 2.0)).condition(domain)
        assert str(condition) == text
        for bound in (condition.low, condition.high):
            assert bound is None or float(np.float32(bound)) == bound

    def test_on_one_value_are_equations(self):
        assert str(only_feature(cuts(0.5), "binary").condition(range(1))) == "a = 0"
        assert str(only_feature(cuts(2.0, 3.0), "ordinal").condition(range(1, 2))) == "a = 3"
        assert str(only_feature(cuts(next32(TOP, 0))).condition(range(1, 2))) == "a = 3.4028235e+38"
        assert str(only_feature(cuts(-TOP)).condition(range(1))) == "a = -3.4028235e+38"

    def test_on_ordinals_have_whole_bounds(self):
        assert str(only_feature(cuts(2.5, 7.0), "ordinal").condition(range(1, 2))) == "3 <= a <= 7"

    def test_on_named_values_list_them(self):
        colour = declare(onehot_forest(), one_hot=COLOURS).features[0]
        assert str(colour.condition(frozenset({2}))) == "colour = blue"
        assert str(colour.condition(frozenset({2, 0}))) == "colour != green"
        assert str(Condition("colour", values=("red", "blue"))) == "colour in {red, blue}"
        assert str(colour.condition(frozenset(range(3)))) == "colour is any value"

    def test_without_bounds_or_values_allow_anything(self):
        assert str(Condition("a")) == "a is any value"


class TestShortest:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (70.0, "70"),
            (-0.0, "0"),
            (0.1, "0.1"),
            (float(np.float32(0.1)), "0.1"),
            (next32(0.1, 0), "0.099999994"),
            (123456.0, "123456"),
            (1e-45, "1e-45"),
            (TOP, "3.4028235e+38"),
            (-2.5, "-2.5"),
        ],
    )
    def test_is_short(self, value, text):
        assert FLOAT32.shortest(value) == text

    def test_reads_back_as_the_same_float32_through_float64(self):
        rng = np.random.default_rng(1)
        values = rng.integers(0, 2**32, 20_000, dtype=np.uint64).astype(np.uint32).view(np.float32)
        values = values[np.isfinite(values)]
        back = np.array([float(FLOAT32.shortest(v)) for v in values]).astype(np.float32)
        np.testing.assert_array_equal(back, values)


class TestDates:
    DAY = 738945  # 2024-02-29

    def space(self, **options) -> Space:
        forest = cuts(self.DAY + 0.5, self.DAY + 100.25, name="signup")
        return declare(dated(forest, {"signup": "date"}), kinds={"signup": "date"}, **options)

    def test_are_whole_days_of_the_calendar(self):
        (feature,) = self.space().features
        assert feature.kind == "date"
        assert (feature.lows[0], feature.highs[-1]) == (1, 3652059)
        assert feature.highs[:2].tolist() == [self.DAY, self.DAY + 100]

    def test_are_shown_as_dates(self):
        (feature,) = self.space().features
        shown = [str(feature.condition(range(cell, cell + 1))) for cell in range(3)]
        assert shown == ["signup <= 2024-02-29", "2024-03-01 <= signup <= 2024-06-08", "signup >= 2024-06-09"]
        assert feature.show(np.float32([self.DAY])) == "2024-02-29"
        with pytest.raises(InputError, match=r"of kind date: it must be a whole number. Got 3.5"):
            feature.cell([3.5])
        with pytest.raises(InputError, match=r"0001-01-01 <= signup <= 9999-12-31. Got 1e\+20"):
            feature.cell([1e20])

    def test_may_be_bounds_and_stand_in_rules(self):
        space = self.space(
            bounds={"signup": (datetime.date(2024, 1, 1), np.datetime64("2024-12-31"))},
            constraints=["signup != 2024-06-09", "signup >= 2024-01-05"],
        )
        (feature,) = space.features
        assert str(feature.condition(range(0, 1))) == "signup <= 2024-01-04"
        assert len(space.clauses) == 2
        with pytest.raises(InputError, match="must exist in the calendar"):
            self.space(constraints=["signup <= 2024-02-30"])

    def test_are_explained_as_dates(self):
        forest = cuts(self.DAY + 0.5, self.DAY + 100.25, self.DAY + 200.25, name="signup")
        explainer = Explainer(forest, kinds={"signup": "date"})
        for row in ([datetime.date(2024, 1, 1)], ["2024-01-01"], [self.DAY - 59]):
            why = explainer.abductive(row, inflate=True)
            assert [str(condition) for condition in why.rule] == ["signup <= 2024-06-08"]
            assert why.instance == ("2024-01-01",)
            assert explainer.review(row, str(why.rule[0])).holds
        change = explainer.contrastive([datetime.date(2024, 1, 1)])
        assert change.witness == ("2024-06-09",)
        assert "signup: 2024-01-01 -> 2024-06-09" in str(change)
        assert explainer.forest.predict([change.witness]).tolist() == [change.witness_label]
        wrong = explainer.review([datetime.date(2024, 1, 1)], "signup <= 2024-07-01")
        assert wrong.holds is False
        assert "2024-06-09" in str(wrong)

    def test_a_label_called_missing_is_no_missing_value(self):
        assert str(Condition("colour", values=("missing",))) == 'colour = "missing"'
        assert str(Condition("colour", values=(None,))) == "colour is missing"
        assert str(Condition("colour", values=("red", "missing", None))) == 'colour in {red, "missing", missing}'


@pytest.mark.parametrize("missing", [False, True])
def test_many_rows_have_the_cells_of_each(missing):
    rng = np.random.default_rng(4)
    cut = [0.0, 0.5, float(np.float32(0.1)), 1e30]
    column = Column("b", missing="expected" if missing else "never")
    forest = build_forest(
        [split(name, t, 0, 1) for t in cut for name in ("a", "b")], columns=["a", column], classes=[0, 1]
    )
    space = declare(forest)
    values = [v for t in cut for v in (t, next32(t), next32(t, -np.inf))] + [-TOP, TOP]
    rows = np.array(rng.choice(values, (50, 2)), dtype=np.float32)
    if missing:
        rows[7, 1] = np.nan
    assert list(space.cells_of(rows)) == [space.cells(row) for row in rows]
    assert list(space.cells_of(rows[:0])) == []


@pytest.mark.parametrize("seed", range(20))
def test_one_table_of_all_cells_says_what_features_do(seed):
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, n_columns=5)
    space = declare(forest)
    assert space.cuts is not None
    ends = [*space.cuts.lows.tolist(), *space.cuts.highs.tolist(), 0.0, -0.0, 0.3]
    for _ in range(20):
        low, high = np.sort(rng.choice(ends, (2, 5)), axis=0)
        first, last = space.cuts.between(low, high)
        for f, feature in enumerate(space.features):
            assert range(first[f], last[f] + 1) == feature.between(low[f], high[f])
        near = rng.choice(ends, 5).astype(forest.floats.dtype)
        cells = tuple(int(rng.integers(feature.n_cells)) for feature in space.features)
        one_by_one = [
            feature.values(cell, near.tolist())[0] for feature, cell in zip(space.features, cells, strict=True)
        ]
        assert space.row(cells, near).tolist() == one_by_one
        assert space.cells(space.row(cells, near)) == cells


def test_there_is_no_such_table_where_values_may_be_missing():
    forest = random_forest(np.random.default_rng(0), missing=True)
    assert declare(forest).cuts is None
    assert declare(forest, missing=[]).cuts is not None
