"""Rows that were read wrongly, or refused with the wrong error."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from treeproof.errors import InputError
from treeproof.model.columns import Column
from treeproof.model.importers import import_model
from treeproof.model.rows import as_row, as_rows


def test_a_missing_value_in_a_list_is_not_called_infinite():
    with pytest.raises(InputError, match="must not be missing"):
        as_rows([[float("nan")]], [Column("a")])


def test_a_value_just_beyond_float32_is_refused_without_a_numpy_warning():
    with pytest.raises(InputError, match="finite float32"):
        as_rows([[3.45e38]], [Column("a")])


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_a_frame_whose_names_are_numbered_in_another_order_is_not_silently_reordered():
    # The model was trained on an array: scikit-learn reads any frame by position.
    model = DecisionTreeClassifier().fit([[0.0, 0.0], [1.0, 0.0]], [0, 1])
    frame = pd.DataFrame({"x1": [1.0], "x0": [0.0]})
    assert model.predict(frame).tolist() == [1]
    try:
        assert import_model(model).predict(frame).tolist() == [1]
    except InputError as refusal:
        assert "x1" in str(refusal)  # noqa: PT017


def test_a_frame_without_a_column_of_a_model_whose_names_look_numbered_is_refused():
    columns = [Column("x1"), Column("x2")]
    with pytest.raises(InputError, match="x2"):
        as_rows(pd.DataFrame({"x1": [1], "y": [2]}), columns)


def test_a_series_with_other_names_is_refused_as_a_frame_is():
    with pytest.raises(InputError, match=r"Missing: \['age', 'height'\]"):
        as_row(pd.Series({"weight": 80, "colour": 3}), [Column("age"), Column("height")])


def test_a_frame_with_numbers_as_names_is_matched_by_them():
    assert as_rows(pd.DataFrame([[1, 2]]), [Column("1"), Column("0")]).tolist() == [[2, 1]]


def test_numpy_booleans_are_categories_like_pythons():
    assert as_rows([[np.False_]], [Column("c", (True, False))]).tolist() == [[1]]
    assert as_row(pd.Series({"c": False}), [Column("c", (True, False))]).tolist() == [1]
    with pytest.raises(InputError, match="must be one of"):
        as_rows([[np.True_]], [Column("c", (1, 2))])


def test_whole_numbers_in_a_frame_are_rounded_once_as_scikit_learn_does():
    number = 2**60 + 2**36 + 1  # rounded to float64 first, it would be a tie, and then round down
    frame = pd.DataFrame({"a": [number], "b": [1]})
    expected = frame.to_numpy(dtype=np.float32)
    assert as_rows(frame, [Column("a"), Column("b")]).tolist() == expected.tolist()


def test_an_array_as_a_category_is_refused_and_not_compared_element_by_element():
    with pytest.raises(InputError, match="'c' must be one of"):
        as_row([np.array([1, 2]), 1], [Column("c", ("r", "g")), Column("a")])


def test_a_row_with_two_values_of_one_name_is_refused():
    row = pd.Series([1.0, 2.0, 3.0], index=["a", "b", "a"])
    with pytest.raises(InputError, match="several that are called 'a'"):
        as_row(row, [Column("a"), Column("b")])


@pytest.mark.parametrize("dtype", [float, np.float32, int])
def test_masked_values_are_missing(dtype):
    masked = np.ma.masked_array(np.array([[1, 2]], dtype=dtype), mask=[[True, False]])
    read = as_rows(masked, [Column("a", missing="accepted"), Column("b")])
    np.testing.assert_array_equal(read, [[np.nan, 2]])
    with pytest.raises(InputError, match="must not be missing"):
        as_row(masked[0], [Column("a"), Column("b")])
