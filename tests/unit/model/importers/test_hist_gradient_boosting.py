"""Histogram gradient boosting: categories, missing values and sums are the model's, bit for bit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import treeproof as tp
from importing import agrees, as_array, as_categories, mixed_data, proofs_hold, refused, sums_agree
from treeproof.errors import InputError, NotFittedError, UnsupportedModelError
from treeproof.model.importers import import_model
from treeproof.model.importers.selfcheck import boundary_rows, decoded

pytestmark = pytest.mark.slow

FRAME, TARGET = mixed_data()
FRAME = FRAME.astype({"sex": "category", "weight": "category"})
SMALL = {"max_iter": 10, "max_leaf_nodes": 8, "random_state": 0, "min_samples_leaf": 5}


def labels(n_classes):
    return np.array(["low", "middle", "top"])[
        np.digitize(TARGET, np.quantile(TARGET, [0.5] if n_classes == 2 else [0.3, 0.7]))
    ]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"learning_rate": 1.0},
        {"early_stopping": True, "n_iter_no_change": 2, "max_iter": 25},
        {"max_depth": 1},
        {"interaction_cst": "no_interactions"},
    ],
    ids=str,
)
def test_frames_with_categories_and_missing_values(n_classes, options):
    model = HistGradientBoostingClassifier(**{**SMALL, **options}).fit(FRAME, labels(n_classes))
    forest = agrees(model, as_categories)
    sums_agree(forest, lambda rows: model._raw_predict(decoded(forest, rows, named=True)))
    assert forest.columns[5].categories == ("one", "two", None)
    explainer = tp.Explainer(model)
    for i in (0, 9):
        proofs_hold(model, explainer, FRAME.iloc[i], as_categories, n=500)


def test_a_missing_category_and_a_missing_number_are_explained():
    frame = FRAME.copy()
    frame.loc[::4, "weight"] = np.nan
    model = HistGradientBoostingClassifier(**SMALL).fit(frame, labels(2))
    explainer = tp.Explainer(model)
    agrees(model, as_categories)
    row = frame.iloc[0].copy()
    row["bmi"] = np.nan
    proofs_hold(model, explainer, row, as_categories, n=500)


def test_a_category_that_only_the_stopping_rows_had():
    """The encoder knows it, the trees never saw it."""
    rng = np.random.default_rng(0)
    colour = rng.integers(0, 6, 300).astype(float)
    X = np.column_stack([colour, rng.normal(size=300)])
    y = ((colour % 2 == 0) ^ (X[:, 1] > 0)).astype(int)
    for place in range(4):  # one in ten rows is for stopping
        rare = X.copy()
        rare[place, 0] = 77.0
        model = HistGradientBoostingClassifier(**SMALL, categorical_features=[0], early_stopping=True).fit(rare, y)
        forest = agrees(model, as_array, n=500)
        assert forest.columns[0].categories == (0, 1, 2, 3, 4, 5, 77, None)
        sums_agree(
            forest, lambda rows, model=model, forest=forest: model._raw_predict(decoded(forest, rows, named=False))
        )


@pytest.mark.parametrize("places", [[0, 2], [2], [1]])
def test_arrays_with_categories_by_place(places):
    rng = np.random.default_rng(1)
    X = np.column_stack(
        [rng.integers(0, 5, 300), rng.integers(10, 40, 300), rng.integers(-3, 3, 300), rng.normal(size=300)]
    )
    X = X.astype(float)
    y = ((X[:, 0] == 2) | (X[:, 2] == -1) | (X[:, 3] > 1)).astype(int)
    X[rng.random(X.shape) < 0.05] = np.nan
    model = HistGradientBoostingClassifier(**SMALL, categorical_features=places).fit(X, y)
    forest = agrees(model, as_array)
    assert [column.categories is not None for column in forest.columns] == [j in places for j in range(4)]
    sums_agree(forest, lambda rows: model._raw_predict(decoded(forest, rows, named=False)))
    for i in (0, 1, 2):
        proofs_hold(model, tp.Explainer(model), X[i], as_array)


def test_categories_by_name_that_are_numbers_and_truth_values():
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"n": rng.normal(size=200), "c": rng.choice([3, 5, 9], 200), "t": rng.random(200) < 0.5})
    y = ((X.c == 5) ^ X.t).astype(int)
    model = HistGradientBoostingClassifier(**SMALL, categorical_features=["c", "t"]).fit(X, y)
    forest = import_model(model)
    assert forest.columns[1].categories == (3, 5, 9, None)
    assert forest.predict(X).tolist() == model.predict(X).tolist()
    explainer = tp.Explainer(model)
    for i in range(5):
        why = explainer.abductive(X.iloc[i])
        assert why.label == model.predict(X.iloc[[i]])[0]
        assert set(why.feature_names) <= {"c", "t", "n"}


def test_numbers_are_float64():
    """Two inputs that are one float32 are told apart, as the model does."""
    X = np.array([[1.0], [np.nextafter(1.0, 2)]] * 20)
    model = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=1).fit(X, [0, 1] * 20)
    assert import_model(model).predict(X).tolist() == model.predict(X).tolist() == [0, 1] * 20


def test_a_split_that_parts_missing_values_from_all_others():
    X = np.array([[np.nan], [0.0], [1e300], [-1e300], [1e306]] * 20)
    y = [1, 0, 0, 0, 0] * 20
    model = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=1, learning_rate=1).fit(X, y)
    forest = agrees(model, as_array)
    assert forest.predict(X).tolist() == model.predict(X).tolist()
    why = tp.Explainer(model).abductive([np.nan])
    assert (why.label, why.features) == (1, (0,))


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "quantile"])
def test_regressors(loss):
    options = {"quantile": 0.8} if loss == "quantile" else {}
    model = HistGradientBoostingRegressor(**SMALL, loss=loss, **options).fit(FRAME, TARGET)
    forest = agrees(model, as_categories)
    assert forest.score(FRAME).tolist() == model.predict(FRAME).tolist()
    explainer = tp.Explainer(model, cuts=[float(np.median(model.predict(FRAME)))])
    proofs_hold(model, explainer, FRAME.iloc[0], as_categories, n=500)


def altered(model, rng, values):
    for stage in model._predictors:
        for predictor in stage:
            predictor.nodes["value"] = rng.choice(values, len(predictor.nodes))
    model._baseline_prediction[:] = 0
    return model


def test_sums_that_straddle_the_cut_off_by_the_last_bit():
    """Here a sum of exactly 0 is the first class."""
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(3)
    model = HistGradientBoostingClassifier(**{**SMALL, "max_iter": 7, "max_leaf_nodes": 4}).fit(X, y)
    altered(model, rng, [0.1, -0.1, 0.2, -0.2, 0.3, -0.3])
    forest = agrees(model, as_array, n=5000)
    rows = boundary_rows(forest, 5000)
    rows = rows[~np.isnan(rows).any(axis=1)]
    sums = forest.add(forest.route(rows))[:, 0]
    near = np.flatnonzero((sums != 0) & (np.abs(sums) < 1e-15))
    assert len(near) > 3
    explainer = tp.Explainer(model)
    for row in [*rows[near[:4]], *rows[sums == 0][:4]]:
        proofs_hold(model, explainer, row, as_array)


def test_several_classes_that_tie():
    X, y = load_iris(return_X_y=True)
    model = HistGradientBoostingClassifier(**{**SMALL, "max_iter": 5, "max_leaf_nodes": 4}).fit(X, y)
    altered(model, np.random.default_rng(4), [0.1, 0.2, 0.3])
    forest = agrees(model, as_array, n=5000)
    explainer = tp.Explainer(model)
    for row in X[::30]:
        proofs_hold(model, explainer, row, as_array)
    assert forest.sums is not None
    assert not forest.sums.softmax


class OwnPredict(HistGradientBoostingClassifier):
    def predict(self, X):
        return super().predict(X)


def test_refusals():
    X, y = load_iris(return_X_y=True)
    refused(HistGradientBoostingClassifier(), NotFittedError, "call its fit")
    refused(OwnPredict(max_iter=2).fit(X, y), UnsupportedModelError, "own 'predict'")
    refused(HistGradientBoostingClassifier(max_iter=2).fit(X, y), InputError, "leave it out", vote="majority")
    model = HistGradientBoostingClassifier(**SMALL).fit(FRAME, labels(2))
    with pytest.raises(InputError, match="must be one of"):
        tp.Explainer(model).abductive({**FRAME.iloc[0].to_dict(), "sex": "three"})
