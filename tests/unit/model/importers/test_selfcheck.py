from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from generators import random_forest
from treeproof.errors import ImportMismatchError
from treeproof.model.build import build_forest, isin, leaf, split
from treeproof.model.columns import Column
from treeproof.model.importers.selfcheck import boundary_rows, check_against

LARGEST = np.finfo(np.float32).max


def two_labels():
    return build_forest([split("a", 0.5, "no", "yes")], columns=["a"], classes=["no", "yes"])


def test_a_source_that_agrees_passes():
    for seed in range(10):
        forest = random_forest(np.random.default_rng(seed), vote="mean")
        check_against(forest, forest.predict)


def test_a_mismatch_names_the_row_and_both_labels():
    forest = two_labels()
    with pytest.raises(ImportMismatchError, match=r"row \[0.5\] the source gives 'yes' and the import 'no'"):
        check_against(forest, lambda X: np.where(X[:, 0] < 0.5, "no", "yes"))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda X: np.where(X[:, 0] <= np.nextafter(np.float32(0.5), np.float32(0)), "no", "yes"),
        lambda X: np.where(X[:, 0] <= np.nextafter(np.float32(0.5), np.float32(1)), "no", "yes"),
        lambda X: np.full(len(X), "no"),
    ],
)
def test_a_threshold_that_is_one_float32_off_is_noticed(wrong):
    with pytest.raises(ImportMismatchError):
        check_against(two_labels(), wrong)


def test_a_wrong_order_of_columns_is_noticed():
    forest = build_forest(
        [split("a", 0.5, split("b", 3, 0, 1), split("b", 2, 1, 0))], columns=["a", "b"], classes=[0, 1]
    )
    with pytest.raises(ImportMismatchError):
        check_against(forest, lambda X: forest.predict(X[:, ::-1]))


def test_rows_lie_on_below_and_above_every_threshold():
    thresholds = [-1.0, 0.0, 0.1, 7.5]
    trees = [split("a", t, 0, 1) for t in thresholds]
    rows = set(boundary_rows(build_forest(trees, columns=["a"], classes=[0, 1]), 300)[:, 0].tolist())
    for threshold in build_forest(trees, columns=["a"], classes=[0, 1]).threshold.astype(np.float32):
        if not np.isnan(threshold):
            for towards in (-np.inf, threshold, np.inf):
                assert float(np.nextafter(threshold, np.float32(towards))) in rows


@pytest.mark.parametrize("threshold", [np.inf, -np.inf, 1e39, float(LARGEST), -float(LARGEST), 1e-45])
def test_rows_stay_finite_and_silent_at_the_ends_of_float32(threshold):
    forest = build_forest([split("a", threshold, 0, 1)], columns=["a", "unused"], classes=[0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = boundary_rows(forest, 100)
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()


def test_rows_of_categories_are_indices_of_all_of_them():
    forest = build_forest([isin("c", ["r"], 0, 1)], columns=[Column("c", ("r", "g", "b"))], classes=[0, 1])
    assert set(boundary_rows(forest, 100)[:, 0].tolist()) == {0, 1, 2}


def test_rows_are_the_same_every_time():
    forest = random_forest(np.random.default_rng(0))
    np.testing.assert_array_equal(boundary_rows(forest, 50), boundary_rows(forest, 50))


def test_a_source_with_feature_names_is_asked_without_a_warning():
    model = DecisionTreeClassifier().fit(pd.DataFrame({"a": [0.0, 1.0]}), ["no", "yes"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_against(two_labels(), model.predict)


def test_a_forest_of_single_leaves_is_checked_too():
    forest = build_forest([leaf([0, 1])], columns=["a", "b"], classes=[0, 1])
    check_against(forest, lambda X: np.ones(len(X), dtype=int))
    with pytest.raises(ImportMismatchError):
        check_against(forest, lambda X: np.zeros(len(X), dtype=int))
