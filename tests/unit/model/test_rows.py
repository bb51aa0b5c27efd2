from __future__ import annotations

import datetime
import math
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array, csr_matrix

from treeproof.errors import InputError
from treeproof.model.columns import Column
from treeproof.model.floats import FLOAT32, FLOAT64
from treeproof.model.rows import _number, _numbers, as_row, as_rows

NUMERIC = [Column("age"), Column("height")]
MIXED = [Column("age"), Column("colour", ("red", "green", "blue"))]
UNNAMED = [Column("x0"), Column("x1")]
LARGEST = float(np.finfo(np.float32).max)


class TestTables:
    @pytest.mark.parametrize(
        "table",
        [
            [[1, 2.5], [3, 4]],
            ((1, 2.5), (3, 4)),
            np.array([[1, 2.5], [3, 4]]),
            np.array([[1, 2.5], [3, 4]], dtype=np.float32),
            np.array([[1, 2.5], [3, 4]], dtype=np.float16),
            np.array([[1, 2.5], [3, 4]], dtype=">f8"),
            np.array([[1, 2.5], [3, 4]], dtype=object),
            np.asfortranarray([[1, 2.5], [3, 4]]),
            [np.array([1, 2.5]), np.array([3, 4])],
            [[Decimal(1), Fraction(5, 2)], [np.int8(3), np.float64(4)]],
            pd.DataFrame({"age": [1, 3], "height": [2.5, 4]}),
            csr_matrix([[1, 2.5], [3, 4]]),
            csr_array([[1, 2.5], [3, 4]]),
        ],
    )
    def test_of_numbers_become_float32(self, table):
        rows = as_rows(table, NUMERIC)
        assert rows.dtype == np.float32
        assert rows.tolist() == [[1, 2.5], [3, 4]]

    def test_of_booleans_are_zeros_and_ones(self):
        assert as_rows([[True, False]], NUMERIC).tolist() == [[1, 0]]
        assert as_rows(np.array([[True, False]]), NUMERIC).tolist() == [[1, 0]]

    @pytest.mark.parametrize("wrap", [lambda x: [[x, 0]], lambda x: np.array([[x, 0]])])
    def test_values_are_rounded_to_the_nearest_float32(self, wrap):
        # 1 + 2**-24 is a tie, to even; what is above it rounds up.
        for value, expected in [(1 + 2.0**-24, 1), (1 + 2.0**-24 + 2.0**-50, 1 + 2.0**-23), (1e-50, 0)]:
            assert as_rows(wrap(value), NUMERIC)[0, 0] == expected

    @pytest.mark.parametrize("wrap", [lambda x: [[x, 0]], lambda x: np.array([[x, 0]])])
    def test_values_that_round_to_the_largest_float32_are_taken(self, wrap):
        assert as_rows(wrap(LARGEST * (1 + 1e-9)), NUMERIC)[0, 0] == np.float32(LARGEST)

    def test_may_have_no_rows(self):
        assert as_rows(np.empty((0, 2)), NUMERIC).shape == (0, 2)

    @pytest.mark.parametrize(
        ("table", "message"),
        [
            ([[1]], r"must have 2 values, one for each of \['age', 'height'\]. Got 1"),
            (np.zeros((3, 5)), "Got 5"),
            (np.zeros((3, 5), dtype=np.float32), "Got 5"),
            (np.zeros((3, 0)), "Got 0"),
            ([1, 2], r"table of shape \(n_rows, 2\).* wrap a single row in a list"),
            (np.float32([1, 2]), "wrap a single row"),
            (np.zeros((1, 2, 2)), r"3 dimension"),
            ([], "table"),
            (None, "table"),
            (5, "table"),
            ("rows", "table"),
            ([[1, 2], [3]], "Rows must all have 2 values. Got rows of 1 and 2"),
            ([[1, [2]], [3, 4]], r"'height' must be a number. Got \[2\]"),
            ([[1, 2], [3, "x"]], "'height' must be a number. Got 'x'"),
            ([["1", 2]], "'age' must be a number. Got '1'"),
            (np.array([["1", "2"]]), "'age' must be a number. Got '1'"),
            ([[b"1", 2]], "'age' must be a number"),
            ([[1j, 2]], "'age' must be a number"),
            ([[1, 10**400]], "'height' must be a number"),
            ([[{}, 2]], "'age' must be a number"),
        ],
    )
    def test_that_do_not_fit_are_refused(self, table, message):
        with pytest.raises(InputError, match=message):
            as_rows(table, NUMERIC)

    @pytest.mark.parametrize("bad", [float("nan"), None, np.float32("nan"), np.nan])
    @pytest.mark.parametrize("wrap", [list, lambda t: np.array(t, dtype=object), lambda t: np.array(t, dtype=float)])
    def test_with_missing_values_are_refused_by_column_and_row(self, wrap, bad):
        with pytest.raises(InputError, match=r"'height' must not be missing: .* Got NaN in row 1; impute"):
            as_rows(wrap([[1, 2], [3, bad]]), NUMERIC)

    @pytest.mark.parametrize("bad", [np.inf, -np.inf, 1e39, -1e39, 3.45e38, LARGEST * (1 + 1e-7), 10**39])
    @pytest.mark.parametrize("wrap", [list, lambda t: np.array(t, dtype=object), lambda t: np.array(t, dtype=float)])
    def test_beyond_float32_are_refused_by_column_and_row(self, wrap, bad):
        with pytest.raises(InputError, match=r"'age' must be a finite float32. Got .* in row 1"):
            as_rows(wrap([[1, 2], [bad, 3]]), NUMERIC)

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_of_float32_are_not_exempt(self, bad):
        with pytest.raises(InputError, match="'age'"):
            as_rows(np.array([[bad, 3]], dtype=np.float32), NUMERIC)

    def test_only_the_first_names_of_many_columns_are_listed(self):
        with pytest.raises(InputError, match=r"'c7', … 92 more\]. Got 3"):
            as_rows(np.zeros((1, 3)), [Column(f"c{j}") for j in range(100)])


class TestFrames:
    def test_are_matched_by_name(self):
        frame = pd.DataFrame({"name": ["Eve"], "height": [2], "age": [1]})
        assert as_rows(frame, NUMERIC).tolist() == [[1, 2]]

    def test_without_a_column_are_refused_by_its_name(self):
        with pytest.raises(InputError, match=r"Missing: \['height'\]"):
            as_rows(pd.DataFrame({"age": [1], "Height": [2]}), NUMERIC)
        with pytest.raises(InputError, match=r"Missing: \['age', 'height'\]"):
            as_rows(pd.DataFrame([[1, 2]]), NUMERIC)

    def test_are_read_in_order_if_the_model_never_saw_names(self):
        assert as_rows(pd.DataFrame({"b": [1], "a": [2]}), UNNAMED).tolist() == [[1, 2]]
        assert as_rows(pd.DataFrame([[1, 2]]), UNNAMED).tolist() == [[1, 2]]
        with pytest.raises(InputError, match="Got 3"):
            as_rows(pd.DataFrame([[1, 2, 3]]), UNNAMED)

    def test_of_any_column_type_are_read(self):
        frame = pd.DataFrame(
            {"age": pd.array([1, 2], dtype="Int64"), "colour": pd.Categorical(["blue", "red"])}, index=[7, 9]
        )
        assert as_rows(frame, MIXED).tolist() == [[1, 2], [2, 0]]

    @pytest.mark.parametrize("dtype", ["Int64", "Float64", "float64", object])
    def test_with_missing_values_are_refused(self, dtype):
        frame = pd.DataFrame({"age": pd.array([None], dtype=dtype), "height": [2]})
        with pytest.raises(InputError, match="'age'"):
            as_rows(frame, NUMERIC)

    def test_round_like_plain_numbers(self):
        values = np.random.default_rng(0).normal(size=(50, 2))
        frame = pd.DataFrame(values, columns=["age", "height"])
        np.testing.assert_array_equal(as_rows(frame, NUMERIC), values.astype(np.float32))


class TestCategories:
    def test_are_given_by_label(self):
        assert as_rows([[1, "blue"], [2, "red"]], MIXED).tolist() == [[1, 2], [2, 0]]
        assert as_rows(np.array([[1, "blue"]], dtype=object), MIXED).tolist() == [[1, 2]]

    @pytest.mark.parametrize("value", ["pink", "Red", "", 0, 1.0, None, float("nan"), True, ("red",)])
    def test_that_are_unknown_are_refused_by_name(self, value):
        with pytest.raises(InputError, match=r"'colour' must be one of \['red', 'green', 'blue'\]. Got"):
            as_rows([[1, value]], MIXED)

    def test_are_never_read_as_their_index(self):
        levels = [Column("level", (3, 1, 2))]
        assert as_rows([[1], [2], [3]], levels).tolist() == [[1], [2], [0]]
        assert as_rows(np.array([[1.0], [2.0]]), levels).tolist() == [[1], [2]]
        assert as_rows(np.float32([[1.0], [2.0]]), levels).tolist() == [[1], [2]]
        with pytest.raises(InputError, match="Got 0"):
            as_rows([[0]], levels)

    @pytest.mark.parametrize(
        ("categories", "value"), [((1, 2), True), ((0, 1), False), ((True, False), 1), ((True, False), 0.0)]
    )
    def test_tell_booleans_from_numbers(self, categories, value):
        with pytest.raises(InputError, match="must be one of"):
            as_rows([[value]], [Column("c", categories)])
        assert as_rows([[categories[1]]], [Column("c", categories)]).tolist() == [[1]]

    def test_tell_text_from_numbers(self):
        with pytest.raises(InputError, match="Got 1"):
            as_rows([[1]], [Column("c", ("1", "2"))])
        with pytest.raises(InputError, match="Got '1'"):
            as_rows([["1"]], [Column("c", (1, 2))])


class TestOneRow:
    @pytest.mark.parametrize(
        "row",
        [
            [1, 2],
            (1, 2),
            np.array([1, 2]),
            np.float32([1, 2]),
            np.array([[1, 2]]),
            [[1, 2]],
            {"height": 2, "age": 1, "name": "Eve"},
            pd.Series({"height": 2, "age": 1}),
            pd.Series([1, 2]),
            pd.DataFrame({"height": [2], "age": [1]}),
            pd.DataFrame({"height": [2, 9], "age": [1, 9]}).iloc[0],
            pd.DataFrame({"height": [2, 9], "age": [1, 9]}).iloc[:1],
        ],
    )
    def test_can_be_given_in_many_ways(self, row):
        got = as_row(row, NUMERIC)
        assert got.dtype == np.float32
        assert got.tolist() == [1, 2]

    def test_takes_categories_by_label(self):
        for row in (["7", "green"], {"colour": "green", "age": "7"}):
            with pytest.raises(InputError, match="'age' must be a number"):
                as_row(row, MIXED)
        assert as_row({"colour": "green", "age": 7}, MIXED).tolist() == [7, 1]
        assert as_row(pd.Series({"colour": "green", "age": 7}), MIXED).tolist() == [7, 1]
        assert as_row([7, "green"], MIXED).tolist() == [7, 1]

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ([1], "must have 2 values.* Got 1"),
            ([1, 2, 3], "Got 3"),
            ([], "Got 0"),
            (5, "table"),
            (None, "table"),
            ("ab", "table"),
            ([[1, 2], [3, 4]], "Exactly one row must be given. Got 2 rows"),
            (np.empty((0, 2)), "Got 0 rows"),
            (np.zeros((1, 1, 2)), "dimension"),
            ({"age": 1}, r"Missing: \['height'\]"),
            ({}, r"Missing: \['age', 'height'\]"),
            (pd.Series({"age": 1, "weight": 2}), r"Missing: \['height'\]"),
            (pd.DataFrame({"age": [1, 2], "height": [1, 2]}), "Got 2 rows"),
            ([1, None], "'height' must not be missing"),
            ({"age": 1, "height": float("nan")}, "'height' must not be missing"),
            ([np.inf, 1], "'age' must be a finite float32"),
        ],
    )
    def test_that_cannot_be_used_is_refused(self, row, message):
        with pytest.raises(InputError, match=message):
            as_row(row, NUMERIC)


def test_refusals_are_errors_and_never_numpy_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for bad in (3.45e38, 1e39, np.float64(1e300), np.longdouble(1e300)):
            with pytest.raises(InputError, match="finite float32"):
                as_rows([[bad, 0]], NUMERIC)


MISSING = [Column("age", missing="expected"), Column("colour", ("red", "green", None))]
DAYS = [Column("age"), Column("signup", missing="possible", date=True)]
DAY = datetime.date(2024, 2, 29)


class TestMissingValues:
    @pytest.mark.parametrize("gone", [None, math.nan, np.float32("nan"), np.datetime64("NaT"), pd.NA, pd.NaT])
    def test_are_taken_where_the_model_has_a_place_for_them(self, gone):
        rows = as_rows([[gone, gone], [1, "red"]], MISSING)
        assert math.isnan(rows[0, 0])
        assert rows[:, 1].tolist() == [2, 0]
        assert as_row({"colour": gone, "age": 1}, MISSING).tolist() == [1, 2]

    @pytest.mark.parametrize("dtype", ["Int64", "Float64", "float64", object])
    def test_are_taken_from_frames_of_any_type(self, dtype):
        frame = pd.DataFrame({"colour": ["green", None], "age": pd.array([None, 3], dtype=dtype)})
        for table in (frame, frame.astype({"colour": "category"}), frame.astype({"colour": "string"})):
            rows = as_rows(table, MISSING)
            assert math.isnan(rows[0, 0])
            assert rows[1].tolist() == [3, 2]

    def test_are_not_what_a_sparse_matrix_does_not_hold(self):
        with pytest.raises(InputError, match=r"must not be sparse: .* pass X.toarray\(\)"):
            as_rows(csr_matrix([[1.0, 0.0]]), [Column("a", missing="expected"), Column("b", missing="expected")])
        assert as_rows(csr_matrix([[1.0, 0.0]]), [Column("a", missing="possible"), Column("b")]).tolist() == [[1, 0]]

    def test_infinity_is_none(self):
        with pytest.raises(InputError, match="'age' must be a finite float32"):
            as_rows([[math.inf, "red"]], MISSING)


class TestPolars:
    @pytest.mark.parametrize(
        "frame",
        [
            pl.DataFrame({"height": [2.5, 4], "age": [1, 3]}),
            pl.DataFrame({"name": ["Eve", "Ada"], "age": [1, 3], "height": [2.5, 4.0]}),
            pl.DataFrame({"age": pl.Series([1, 3], dtype=pl.UInt8), "height": pl.Series([2.5, 4], dtype=pl.Float32)}),
        ],
    )
    def test_frames_are_matched_by_name(self, frame):
        assert as_rows(frame, NUMERIC).tolist() == [[1, 2.5], [3, 4]]
        assert as_row(frame[0], NUMERIC).tolist() == [1, 2.5]
        assert as_row(frame.row(0, named=True), NUMERIC).tolist() == [1, 2.5]
        with pytest.raises(InputError, match=r"Missing: \['weight'\]"):
            as_rows(frame, [Column("weight")])

    @pytest.mark.parametrize("dtype", [pl.String, pl.Categorical, pl.Enum(["blue", "red", "green"])])
    def test_categories_are_given_by_label(self, dtype):
        frame = pl.DataFrame({"colour": pl.Series(["blue", "red"], dtype=dtype), "age": [1, 2]})
        assert as_rows(frame, MIXED).tolist() == [[1, 2], [2, 0]]

    def test_missing_values_and_booleans_are_read(self):
        frame = pl.DataFrame({"age": [None, 3], "colour": ["red", None]})
        rows = as_rows(frame, MISSING)
        assert math.isnan(rows[0, 0])
        assert rows[1].tolist() == [3, 2]
        assert as_rows(pl.DataFrame({"age": [True, False], "height": [1, 2]}), NUMERIC).tolist() == [[1, 1], [0, 2]]
        with pytest.raises(InputError, match="'age' must not be missing"):
            as_rows(pl.DataFrame({"age": [None, 3], "height": [1, 2]}), NUMERIC)

    @pytest.mark.parametrize("unit", ["ms", "us", "ns"])
    def test_dates_are_never_read_as_numbers(self, unit):
        # polars itself turns a date beside whole numbers into days since 1970.
        for column in ([DAY], pl.Series([datetime.datetime(2024, 2, 29)], dtype=pl.Datetime(unit))):
            frame = pl.DataFrame({"signup": column, "age": [3]})
            assert as_rows(frame, DAYS).tolist() == [[3, DAY.toordinal()]]
            with pytest.raises(InputError, match=r"'signup' must be a number, as in training. Got the date"):
                as_rows(frame, [Column("age"), Column("signup")])


class TestDates:
    @pytest.mark.parametrize(
        "day",
        [
            DAY,
            datetime.datetime(2024, 2, 29),
            pd.Timestamp("2024-02-29"),
            np.datetime64("2024-02-29"),
            np.datetime64("2024-02-29T00:00:00.000000000"),
            "2024-02-29",
            DAY.toordinal(),
            float(DAY.toordinal()),
        ],
        ids=repr,
    )
    def test_are_taken_where_they_are_declared(self, day):
        named = {"signup": day, "age": 3}
        for row in ([3, day], named, pd.Series(named), np.array([3, day], object)):
            assert as_row(row, DAYS).tolist() == [3, DAY.toordinal()]
        assert as_rows(pd.DataFrame({"signup": [day, day], "age": 3}), DAYS).tolist() == 2 * [[3, DAY.toordinal()]]

    def test_may_fill_a_whole_table(self):
        both = [Column("a", date=True), Column("b", date=True)]
        for table in (
            pd.DataFrame({"a": [pd.Timestamp(DAY)], "b": [pd.Timestamp(DAY)]}),
            np.array([[DAY, DAY]], dtype="datetime64[ns]"),
            [[DAY, DAY]],
        ):
            assert as_rows(table, both).tolist() == [[DAY.toordinal()] * 2]
        assert as_row(pd.Series({"a": pd.Timestamp(DAY), "b": pd.Timestamp(DAY)}), both).tolist()[0] == DAY.toordinal()

    def test_may_be_missing(self):
        for gone in (pd.NaT, None, np.datetime64("NaT")):
            assert math.isnan(as_row([3, gone], DAYS)[1])

    @pytest.mark.parametrize(
        "bad",
        [
            datetime.datetime(2024, 2, 29, 1),
            pd.Timestamp("2024-02-29", tz="UTC"),
            datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC),
            np.datetime64("2024-02-29T00:00:01"),
            np.datetime64("20000-01-01"),
            "2024-02-30",
            "29.2.2024",
            "yesterday",
        ],
        ids=repr,
    )
    def test_must_be_days(self, bad):
        with pytest.raises(InputError, match=r"must be a day, at midnight and without a time zone. Got"):
            as_row([3, bad], DAYS)

    @pytest.mark.parametrize("table", [[[1, DAY]], pd.DataFrame({"age": [1], "height": [pd.Timestamp(DAY)]})])
    def test_elsewhere_are_refused_with_a_remedy(self, table):
        with pytest.raises(InputError, match=r"'height' must be a number.* Got the date .*kinds={'height': 'date'}"):
            as_rows(table, NUMERIC)
        with pytest.raises(InputError, match="'height' must be a number"):
            as_rows([[1, datetime.timedelta(3)]], NUMERIC)


def test_a_column_must_not_occur_twice():
    with pytest.raises(InputError, match=r"Several columns are called 'age'"):
        as_rows(pd.DataFrame([[1, 2, 3]], columns=["age", "height", "age"]), NUMERIC)


@pytest.mark.parametrize("floats", [FLOAT32, FLOAT64], ids=["float32", "float64"])
def test_numbers_of_a_column_are_read_at_once_as_one_by_one(floats):
    edge = float(floats.largest)
    numbers = [0.1, -0.0, 1 / 3, 16777217.0, 5e-324, 1e-46, edge, -edge, 3.4028235677973366e38, math.nan, None]
    column = Column("a", missing="possible")
    assert np.array_equal(
        _numbers(numbers, column, floats),
        [_number(value, column, floats) for value in numbers],
        equal_nan=True,
    )
    for value in (1e39 if floats is FLOAT32 else math.inf, -math.inf):
        for table in ([[0.5], [value]], [[1], [value]]):  # the second one is not of floats alone
            with pytest.raises(InputError, match="'a' must"):
                as_rows(np.array(table, dtype=object), [column], floats)


def test_texts_of_a_column_are_read_once_each():
    column = Column("a", ("x", "y", None))
    assert as_rows(np.array([["x"], [None], ["y"], ["x"]], dtype=object), [column]).ravel().tolist() == [0, 2, 1, 0]
    with pytest.raises(InputError, match=r"'a' must be one of .* Got 'z'"):
        as_rows(np.array([["x"], ["z"]], dtype=object), [column])
