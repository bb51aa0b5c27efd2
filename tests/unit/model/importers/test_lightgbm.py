"""LightGBM: float64 sums, categories, missing values, the softmax and sigmoids, all bit for bit."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

import treeproof as tp
from importing import agrees, as_array, as_categories, mixed_data, proofs_hold, refused, sums_agree
from treeproof import _core
from treeproof.cli.table import read_table
from treeproof.errors import InputError, NotFittedError, UnsupportedModelError
from treeproof.model.files import load_model
from treeproof.model.importers import import_model
from treeproof.model.importers.lightgbm import from_text
from treeproof.model.importers.selfcheck import boundary_rows, decoded

lgb = pytest.importorskip("lightgbm")

CANCER = load_breast_cancer(return_X_y=True)
IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
SMALL = {"n_estimators": 10, "num_leaves": 6, "verbose": -1, "n_jobs": 1, "random_state": 0, "min_child_samples": 5}
FRAME, TARGET = mixed_data()
FRAME = FRAME.astype({"sex": "category", "weight": "category"})


def holed(X, seed=0, share=0.1):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def raw(model, forest, named=False):
    return lambda rows: model.predict(decoded(forest, rows, named), raw_score=True)


def labels(n_classes):
    return np.array(["low", "middle", "top"])[
        np.digitize(TARGET, np.quantile(TARGET, [0.5] if n_classes == 2 else [0.3, 0.7]))
    ]


@pytest.mark.parametrize("data", [CANCER, IRIS], ids=["cancer", "iris"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"learning_rate": 1.0},
        {"boosting_type": "dart"},
        {"data_sample_strategy": "goss"},
        {"boost_from_average": False},
        {"extra_trees": True, "subsample": 0.5, "subsample_freq": 1},
    ],
    ids=str,
)
def test_classifiers(data, missing, options):
    X, y = data
    X = holed(X) if missing else X
    model = lgb.LGBMClassifier(**{**SMALL, **options}).fit(X, np.array(["x", "y", "z"])[y])
    forest = agrees(model, as_array)
    sums_agree(forest, raw(model, forest))
    assert {column.missing for column in forest.columns} <= ({"expected", "possible"} if missing else {"possible"})
    # A row of the training data, which may also miss what no tree looks at.
    proofs_hold(model, tp.Explainer(model), X[70], as_array, n=500)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("missing", [False, True])
def test_categories_of_pandas(n_classes, missing):
    frame = FRAME.copy()
    if missing:
        frame.loc[::4, "weight"] = np.nan
    model = lgb.LGBMClassifier(**SMALL, cat_smooth=1).fit(frame, labels(n_classes))
    forest = agrees(model, as_categories)
    assert forest.columns[6].categories == ("fit", "high", "low", "top", None)
    sums_agree(forest, raw(model, forest, named=True))
    explainer = tp.Explainer(model)
    for i in (0, 4):
        proofs_hold(model, explainer, frame.iloc[i], as_categories, n=500)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("onehot", [1, 10])
def test_categories_that_are_whole_numbers(missing, onehot):
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(0, 40, 400), rng.normal(size=400), rng.integers(3, 7, 400)]).astype(float)
    y = ((X[:, 0] % 3 == 0) ^ (X[:, 2] == 4) ^ (X[:, 1] > 1)).astype(int)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    model = lgb.LGBMClassifier(**{**SMALL, "min_data_per_group": 5, "cat_smooth": 1, "max_cat_to_onehot": onehot})
    model.fit(X, y, categorical_feature=[0, 2])
    forest = agrees(model, as_array)
    assert forest.columns[1].categories is None
    assert forest.columns[2].categories == (3, 4, 5, 6, "other", None)
    sums_agree(forest, raw(model, forest))
    for i in (0, 4):
        proofs_hold(model, tp.Explainer(model), X[i], as_array, n=500)


def test_a_missing_value_counts_as_zero_where_training_had_none():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 3)).round(1)
    model = lgb.LGBMClassifier(**SMALL).fit(X, (X.sum(axis=1) > 0.3).astype(int))
    forest = import_model(model)
    rows = np.where(rng.random((2000, 3)) < 0.3, np.nan, boundary_rows(forest, 2000))
    assert np.array_equal(forest.add(forest.route(rows))[:, 0], model.predict(rows, raw_score=True))
    assert np.array_equal(forest.predict(rows), model.predict(rows))
    explainer = tp.Explainer(model, missing="all")
    proofs_hold(model, explainer, [np.nan, 0.5, 0.1], as_array, n=500)


def test_missing_values_in_the_second_training_only():
    """Trees of one model then send missing values in different ways."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    y = (X.sum(axis=1) > 0.3).astype(int)
    first = lgb.train({"objective": "binary", "verbose": -1, "num_threads": 1}, lgb.Dataset(X, y), 5)
    options = {"objective": "binary", "verbose": -1, "num_threads": 1}
    model = lgb.train(options, lgb.Dataset(holed(X, share=0.3), y), 5, init_model=first)
    forest = import_model(model)
    assert {column.missing for column in forest.columns} == {"expected"}
    sums_agree(forest, lambda rows: model.predict(rows, raw_score=True))


def test_numbers_that_count_as_zero():
    tiny = float(np.float32(1e-35))
    values = [
        0.0,
        -0.0,
        5e-324,
        -5e-324,
        1e-36,
        -1e-36,
        tiny,
        -tiny,
        np.nextafter(tiny, 1),
        np.nextafter(-tiny, -1),
        1e-34,
        -1e-34,
    ]
    X = np.array(values * 10)[:, None]
    for cut in (-1e-34, -2e-35, 0.0, 2e-35):
        model = lgb.LGBMClassifier(**{**SMALL, "min_child_samples": 1, "min_data_in_bin": 1}).fit(
            X, (X[:, 0] > cut).astype(int)
        )
        forest = import_model(model)
        assert np.array_equal(forest.add(forest.route(X))[:, 0], model.predict(X, raw_score=True))


@pytest.mark.parametrize("objective", ["regression", "regression_l1", "huber", "fair", "quantile", "mape"])
def test_regressors(objective):
    model = lgb.LGBMRegressor(**SMALL, objective=objective).fit(FRAME, TARGET)
    forest = agrees(model, as_categories)
    assert forest.score(FRAME).tolist() == model.predict(FRAME).tolist()
    explainer = tp.Explainer(model, cuts=[float(np.median(model.predict(FRAME)))])
    proofs_hold(model, explainer, FRAME.iloc[0], as_categories, n=500)


@pytest.mark.parametrize("data", [CANCER, IRIS, DIABETES], ids=["cancer", "iris", "diabetes"])
def test_random_forests(data, tmp_path):
    X, y = data
    kind = lgb.LGBMRegressor if data is DIABETES else lgb.LGBMClassifier
    model = kind(**{**SMALL, "n_estimators": 7}, boosting_type="rf", subsample=0.5, subsample_freq=1).fit(holed(X), y)
    forest = agrees(model, as_array)
    assert forest.sums.divisor == 7
    sums_agree(forest, lambda rows: model.predict(rows, raw_score=True) / 7)
    model.booster_.save_model(tmp_path / "model.txt")
    assert load_model(tmp_path / "model.txt") == import_model(model.booster_)
    explainer = tp.Explainer(model, **({"cuts": [150.0]} if data is DIABETES else {}))
    for row in X[:120:40]:
        why = proofs_hold(model, explainer, row, as_array, n=500)
    assert tp.check(why.certificate(), explainer.forest)


def test_zeros_that_mean_missing():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 3)).round(1)
    X[rng.random(X.shape) < 0.3] = 0
    y = ((X[:, 0] == 0) ^ (X[:, 1] > 0.2) ^ (X.sum(axis=1) > 0.5)).astype(int)
    model = lgb.LGBMClassifier(**SMALL, zero_as_missing=True).fit(X, y)
    forest = agrees(model, as_array)
    tiny = float(np.float32(1e-35))
    special = [0.0, -0.0, tiny, -tiny, np.nextafter(tiny, 1), np.nextafter(-tiny, -1), 5e-324, np.nan, 0.1]
    rows = np.where(rng.random((3000, 3)) < 0.5, rng.choice(special, (3000, 3)), boundary_rows(forest, 3000))
    assert np.array_equal(forest.add(forest.route(rows))[:, 0], model.predict(rows, raw_score=True))
    for row in (X[0], [0.0, 0.5, np.nan], [np.nan] * 3):
        proofs_hold(model, tp.Explainer(model), row, as_array, n=500)


def test_rankers():
    X, y = DIABETES
    for objective in ("lambdarank", "rank_xendcg"):
        model = lgb.LGBMRanker(**SMALL, objective=objective).fit(X[:440], (y[:440] // 100).astype(int), group=[22] * 20)
        forest = agrees(model, as_array)
        assert forest.score(X).tolist() == model.predict(X).tolist()
        explainer = tp.Explainer(model, cuts=[float(model.predict(X[:1])[0])])
        proofs_hold(model, explainer, X[0], as_array, n=500)


def test_cross_entropy_of_a_classifier():
    X, y = CANCER
    model = lgb.LGBMClassifier(**SMALL, objective="cross_entropy").fit(X, y)
    forest = agrees(model, as_array)
    sums_agree(forest, raw(model, forest))
    proofs_hold(model, tp.Explainer(model), X[0], as_array, n=500)
    probabilities = model.predict_proba(X)[:, 1]
    explainer = tp.Explainer(model, threshold=0.7)
    assert explainer.forest.predict(X).tolist() == (probabilities >= 0.7).astype(int).tolist()


@pytest.mark.parametrize(
    "options",
    [
        {"objective": "poisson"},
        {"objective": "gamma", "boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1},
        {"objective": "tweedie"},
        {"objective": "cross_entropy"},
        {"objective": "cross_entropy_lambda"},
        {"reg_sqrt": True},
    ],
    ids=str,
)
def test_predictions_that_are_functions_of_sums(options):
    X, y = DIABETES
    model = lgb.LGBMRegressor(**SMALL, **options).fit(X, y / 400)
    agrees(model, as_array)
    predicted = model.predict(X)
    for cut in (predicted[0], np.nextafter(predicted[0], 1), predicted.mean()):
        explainer = tp.Explainer(model, cuts=[cut])
        assert (explainer.forest.predict(X) == explainer.forest.classes[1]).tolist() == (predicted >= cut).tolist()
    proofs_hold(model, explainer, X[0], as_array, n=500)
    assert tp.Explainer(model).around(X[0], 0.1).abductive(X[0]).label.startswith("within 0.1 of ")
    with pytest.raises(UnsupportedModelError, match="predicts a function of them; load the model with LightGBM"):
        from_text(model.booster_.model_to_string())
    assert pickle.loads(pickle.dumps(explainer)).abductive(X[0]).label == explainer.abductive(X[0]).label


def test_early_stopping_predicts_with_the_best_rounds():
    X, y = CANCER
    X = X[:, :4]
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    model = lgb.LGBMClassifier(**{**SMALL, "n_estimators": 30}, learning_rate=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer versions have another name for eval_set
        model.fit(X[:100], y[:100], eval_set=[(X[100:], y[100:])], callbacks=[lgb.early_stopping(3, verbose=False)])
    assert 0 < model.best_iteration_ < 30
    for source in (model, model.booster_):
        forest = import_model(source)
        assert forest.n_trees == model.best_iteration_
        assert forest.predict(X).tolist() == model.predict(X).tolist()
    sums_agree(agrees(model, as_array), lambda rows: model.predict(rows, raw_score=True))


def test_boosters_and_their_files(tmp_path):
    X, y = IRIS
    for objective, target in (("binary", y > 0), ("multiclass", y), ("regression", y)):
        options = {"objective": objective, "verbose": -1, "num_threads": 1}
        options |= {"num_class": 3} if objective == "multiclass" else {}
        booster = lgb.train(options, lgb.Dataset(X, target), 5)
        forest = import_model(booster)
        for name in ("model.txt", "model.lgb"):
            booster.save_model(tmp_path / name)
            assert import_model(lgb.Booster(model_file=tmp_path / name)) == forest == load_model(tmp_path / name)
        predicted = booster.predict(X)
        if objective == "regression":
            assert forest.score(X).tolist() == predicted.tolist()
        else:
            expected = np.argmax(predicted, axis=1) if predicted.ndim == 2 else (predicted > 1 - predicted).astype(int)
            assert forest.predict(X).tolist() == expected.tolist()
            assert tp.Explainer(booster).abductive(X[0]).label == expected[0]


def test_a_file_with_categories(tmp_path):
    model = lgb.LGBMClassifier(**SMALL).fit(FRAME, TARGET > 150)
    model.booster_.save_model(tmp_path / "model.txt")
    forest = load_model(tmp_path / "model.txt")
    assert forest.columns == import_model(model).columns
    assert forest.predict(FRAME).tolist() == model.predict(FRAME).astype(int).tolist()


def test_names():
    X, y = IRIS
    assert import_model(lgb.LGBMClassifier(**SMALL).fit(X, y)).column_names == ("x0", "x1", "x2", "x3")
    frame = pd.DataFrame(X, columns=["a", "b c", "d", "e"])
    assert import_model(lgb.LGBMClassifier(**SMALL).fit(frame, y)).column_names == ("a", "b_c", "d", "e")


def test_rows_with_the_names_of_training_where_lightgbm_writes_them_differently(tmp_path):
    """It turns blanks into underscores, and tells nobody what they were."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = lgb.LGBMClassifier(**SMALL).fit(X, y)
    explainer = tp.Explainer(model)
    assert explainer.forest.predict(X).tolist() == model.predict(X).tolist()
    expected = explainer.abductive(X.to_numpy()[0])
    shuffled = X[X.columns[::-1]]
    for row in (X.iloc[0], X.iloc[[0]], dict(X.iloc[0]), shuffled.iloc[0], shuffled.iloc[[0]]):
        assert explainer.abductive(row).rule == expected.rule
    model.booster_.save_model(tmp_path / "model.txt")
    shuffled.to_csv(tmp_path / "rows.csv", index=False)
    table = read_table(str(tmp_path / "rows.csv"))
    assert table.row(0, load_model(tmp_path / "model.txt").columns) == X.iloc[0].tolist()
    named = tp.Explainer(model, data=X)  # which shows what the names were
    assert named.forest.column_names == tuple(X.columns)
    assert set(named.abductive(X.iloc[0]).feature_names) <= set(X.columns)
    with pytest.raises(InputError, match="Several columns are called 'petal_width_"):
        explainer.abductive(pd.concat([X, X[["petal width (cm)"]]], axis=1).iloc[[0]])


def test_categories_that_were_rare_or_never_seen(tmp_path):
    rng = np.random.default_rng(0)
    rare = [40, 41, 77]
    X = pd.DataFrame({"code": rng.choice(5, 1000), "size": rng.normal(size=1000)})
    X.loc[:2, "code"] = rare
    y = (X["code"].isin([0, 2, *rare]) ^ (X["size"] > 1)).to_numpy()
    model = lgb.LGBMClassifier(**SMALL, cat_smooth=1, min_data_per_group=5)
    model.fit(X, y, categorical_feature=["code"])
    forest = agrees(model, as_array)
    assert forest.columns[0].categories == (0, 1, 2, 3, 4, "other", None)
    assert forest.predict(X).tolist() == model.predict(X).tolist()
    rows = np.array([[code, 0.0] for code in (*rare, -1, 5, 2**31 - 1, np.nan)])
    assert forest.score(rows).tolist() == model.booster_.predict(rows, raw_score=True).tolist()
    explainer = tp.Explainer(model)
    why = proofs_hold(model, explainer, X.iloc[0], as_array, n=500)
    assert "code not in {1, 3, 4}" in str(why)  # so "other" is among what it allows
    for row in X.to_numpy()[:6]:
        change = explainer.contrastive(row)
        witness = pd.DataFrame([change.witness], columns=X.columns)
        assert model.predict(witness)[0] == change.witness_label
    for wrong in (2.5, "other things", 2.0**31, np.inf):
        with pytest.raises(InputError, match="Column 'code' must be one of"):
            explainer.abductive([wrong, 0.0])
    tp.save_forest(forest, tmp_path / "forest.json")
    assert tp.load_forest(tmp_path / "forest.json") == forest
    X.to_csv(tmp_path / "rows.csv", index=False)
    assert read_table(str(tmp_path / "rows.csv")).row(0, forest.columns) == X.iloc[0].tolist()
    assert tp.check(why.certificate(), model)


def altered(model, values):
    """Return a booster with other leaf values, one after the other."""
    values = iter(values)
    lines = []
    for line in model.booster_.model_to_string().split("\n"):
        key, _, old = line.partition("=")
        lines.append(
            f"{key}={' '.join(repr(float(next(values))) for _ in old.split())}" if key == "leaf_value" else line
        )
    text = "\n".join(line for line in lines if not line.startswith("tree_sizes"))
    model._Booster = lgb.Booster(model_str=text)
    return model


@pytest.mark.parametrize("seed", range(3))
def test_sums_that_straddle_the_cut_off(seed):
    X, y = CANCER
    rng = np.random.default_rng(seed)
    model = lgb.LGBMClassifier(**{**SMALL, "num_leaves": 4, "n_estimators": 7}).fit(X, y)
    altered(model, rng.choice([0.1, -0.1, 0.2, -0.2, 0.3, -0.3, 1e-16, 3e-16, -1e-16], 1000))
    forest = agrees(model, as_array, n=5000)
    sums = forest.add(forest.route(X))[:, 0]
    near = np.argsort(np.abs(sums))[:4]
    assert abs(sums[near[0]]) < 1e-15
    for row in X[near]:
        proofs_hold(model, tp.Explainer(model), row, as_array, n=500)


@pytest.mark.parametrize("seed", range(3))
def test_several_classes_that_tie_in_their_softmax(seed):
    X, y = IRIS
    rng = np.random.default_rng(seed)
    model = lgb.LGBMClassifier(**{**SMALL, "num_leaves": 3, "n_estimators": 4}).fit(X, y)
    altered(model, rng.choice([0.25, 0.5, 0.5 + 2**-53, 0.5 - 2**-54, 0.1, 0.1 + 2e-17, 1e-17, 0.3], 1000))
    forest = agrees(model, as_array, n=5000)
    for row in X[::30]:
        proofs_hold(model, tp.Explainer(model), row, as_array, n=500)
    assert forest.sums.softmax


RF = {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1}


@pytest.mark.parametrize("options", [{}, {"sigmoid": 0.7}, RF], ids=str)
def test_one_class_against_the_others(options, tmp_path):
    X, y = IRIS
    model = lgb.LGBMClassifier(**SMALL, objective="multiclassova", num_class=3, **options)
    model.fit(holed(X), np.array(["x", "y", "z"])[y])
    forest = agrees(model, as_array)
    assert forest.sums.sigmoid == options.get("sigmoid", 1)
    divisor = forest.sums.divisor
    sums_agree(forest, lambda rows: raw(model, forest)(rows) / divisor)
    proofs_hold(model, tp.Explainer(model), X[70], as_array, n=500)
    model.booster_.save_model(tmp_path / "model.txt")
    for other in (load_model(tmp_path / "model.txt"), import_model(model.booster_)):
        assert np.array_equal(other.predict_index(X), forest.predict_index(X))


def test_two_classes_one_against_the_other():
    X, y = CANCER
    model = lgb.LGBMClassifier(**SMALL, objective="multiclassova", num_class=2).fit(X, y)
    agrees(model, as_array)
    proofs_hold(model, tp.Explainer(model), X[0], as_array, n=500)


@pytest.mark.parametrize("steepness", [1, 0.7, 3])
def test_several_classes_that_tie_in_their_sigmoids(steepness):
    """Where it is almost flat, sums far from each other have the same sigmoid."""
    X, y = IRIS
    rng = np.random.default_rng(0)
    options = {**SMALL, "num_leaves": 3, "n_estimators": 3, "objective": "multiclassova", "num_class": 3}
    model = lgb.LGBMClassifier(**options, sigmoid=steepness).fit(X, y)
    altered(model, rng.choice([10, 10.00001, 9.99999, 10.0003, 9.9997, 10.01], 1000) / steepness)
    forest = agrees(model, as_array, n=5000)
    rows = boundary_rows(forest, n_rows=3000)
    rows = rows[~np.isnan(rows).any(axis=1)]
    sums = forest.add(forest.route(rows))
    unlike = forest.predict_index(rows) != np.argmax(sums, axis=1)
    assert unlike.any(), "sigmoids must tie where sums do not"
    for row in [*rows[unlike][:3], *X[::50]]:
        proofs_hold(model, tp.Explainer(model), row, as_array, n=500)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("objective", ["multiclass", "multiclassova"])
def test_margins_that_differ_by_the_last_bits(n_classes, objective):
    """One tree for each class, whose leaves are the margins of so many rows."""
    n = 600
    rng = np.random.default_rng(n_classes)
    table = np.repeat(
        rng.choice([0.0, 1e-3, 0.3, 1.0, 7.5, -3.0, 700.0, 1e9, 30.0, -1100.0], (n, 1)), n_classes, axis=1
    )
    for _ in range(6):
        table = np.where(rng.random(table.shape) < 0.4, np.nextafter(table, np.inf), table)
    table += rng.choice([0, 0, 0, 1e-17, 1.1e-16, 2.2e-16, -0.5], table.shape)
    X = np.arange(n, dtype=float)[:, None]
    y = np.arange(n) % n_classes
    options = {
        "n_estimators": 1,
        "num_leaves": n,
        "min_child_samples": 1,
        "min_sum_hessian_in_leaf": 0,
        "max_bin": n + 9,
    }
    options |= {"min_data_in_bin": 1, "verbose": -1, "n_jobs": 1, "objective": objective, "num_class": n_classes}
    model = lgb.LGBMClassifier(**options, sigmoid=0.7).fit(X, y)
    # Which row is at which leaf, class by class.
    leaves = model.booster_.predict(X, pred_leaf=True).astype(int).reshape(n, -1)
    lines, tree = [], -1
    for line in model.booster_.model_to_string().split("\n"):
        if line.startswith("Tree="):
            tree += 1
        if line.startswith("leaf_value="):
            values = np.zeros(leaves[:, tree].max() + 1)
            values[leaves[:, tree]] = table[:, tree]
            line = "leaf_value=" + " ".join(map(repr, values.tolist()))
        if not line.startswith("tree_sizes"):
            lines.append(line)
    booster = lgb.Booster(model_str="\n".join(lines))
    margins = booster.predict(X, raw_score=True)
    expected = np.argmax(booster.predict(X), axis=1)
    margins = np.ascontiguousarray(margins)
    softmax = objective == "multiclass"
    found = _core.softmax_labels(margins, False) if softmax else _core.sigmoid_labels(margins, 0.7)
    assert np.array_equal(found, expected)
    assert (expected != np.argmax(margins, axis=1)).any(), "classes must tie where margins do not"


def test_a_threshold_of_probability():
    X, y = CANCER
    model = lgb.LGBMClassifier(**SMALL).fit(X, y)
    probabilities = model.predict_proba(X)[:, 1]
    for p in (0.2, 0.7, float(probabilities[0])):
        assert tp.Explainer(model, threshold=p).forest.predict(X).tolist() == (probabilities >= p).astype(int).tolist()


class OwnPredict(lgb.LGBMClassifier):
    def predict(self, X, **options):
        return super().predict(X, **options)[::-1]


def squared(y, p):
    return p - y, np.ones_like(p)


def test_refusals():
    X, y = CANCER
    few = {**SMALL, "n_estimators": 2}
    model = lgb.LGBMClassifier(**few, linear_tree=True).fit(X, y)
    refused(model, UnsupportedModelError, "linear_tree=True")
    first = lgb.train({"objective": "binary", "verbose": -1, "num_threads": 1}, lgb.Dataset(X, y), 2)
    options = {"objective": "binary", "verbose": -1, "num_threads": 1, "zero_as_missing": True}
    both = lgb.train(options, lgb.Dataset(np.where(X < 1, 0, X), y), 2, init_model=first)
    refused(both, UnsupportedModelError, "zero_as_missing was changed between trainings")
    steep = {**few, "objective": "multiclassova", "num_class": 3, "learning_rate": 50}
    refused(lgb.LGBMClassifier(**steep).fit(*IRIS), UnsupportedModelError, "must add up to 32 at most")
    ova = {**few, "objective": "multiclassova", "num_class": 3, "sigmoid": 0.123456789}
    refused(lgb.LGBMClassifier(**ova).fit(*IRIS), UnsupportedModelError, "'sigmoid'")
    model = lgb.LGBMRegressor(**few, objective="multiclassova", num_class=3).fit(*IRIS)
    refused(model, UnsupportedModelError, "must fit the model")
    refused(lgb.LGBMClassifier(**few, objective=squared).fit(X, y), UnsupportedModelError, "Got a custom one")
    refused(lgb.LGBMRegressor(**few, objective="binary").fit(X, y), UnsupportedModelError, "must fit the model")
    refused(lgb.LGBMClassifier(**few, pred_early_stop=True).fit(X, y), UnsupportedModelError, "pred_early_stop")
    refused(lgb.LGBMClassifier(**few, sigmoid=0.123456789).fit(X, y), UnsupportedModelError, "'sigmoid'")
    refused(OwnPredict(**few).fit(X, y), UnsupportedModelError, "OwnPredict has its own 'predict'")
    refused(lgb.LGBMClassifier(), NotFittedError, "call its fit")
    model = lgb.LGBMClassifier(**few).fit(X, y)
    refused(model, InputError, "Boosted trees take no vote. Got vote='mean'", vote="mean")
    model.predict = lambda X: X
    refused(model, UnsupportedModelError, "own 'predict'")


@pytest.mark.parametrize("steepness", [0.5, 2, 0.12])
def test_another_steepness_of_the_sigmoid(steepness):
    X, y = CANCER
    model = lgb.LGBMClassifier(**SMALL, sigmoid=steepness).fit(X, y)
    agrees(model, as_array)


@pytest.mark.parametrize("steepness", ["1e-20", "1e-09", "0.3", "1", "1e+20"])
def test_a_sum_on_and_beside_the_cut_off(steepness):
    """Whatever LightGBM's own sigmoid says there."""
    X, y = CANCER
    model = lgb.LGBMClassifier(**{**SMALL, "n_estimators": 1, "num_leaves": 2}).fit(X, y)
    text = model.booster_.model_to_string().replace("sigmoid:1", f"sigmoid:{steepness}")
    text = text.replace("[sigmoid: 1]", f"[sigmoid: {steepness}]")
    cut = from_text(text).sums.cuts[0]
    model._Booster = lgb.Booster(model_str=text)
    assert import_model(model).sums.cuts == (cut,)
    for total in (cut, np.nextafter(cut, -1), np.nextafter(cut, np.inf), 0.0, -cut):
        altered(model, [total, total])
        assert model.predict(X[:1], raw_score=True)[0] == total
        assert model.predict(X[:1]).tolist() == import_model(model).predict(X[:1]).tolist() == [int(total >= cut)]


def test_categories_that_cannot_be_told_apart_are_refused():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"a": rng.normal(size=300), "i": rng.integers(0, 3, 300)})
    frame["c"] = pd.Categorical(rng.choice(list("pqr"), 300))
    frame["o"] = pd.Categorical(rng.choice(list("xyz"), 300), ordered=True)
    y = ((frame.a > 0) ^ (frame.c == "p") ^ (frame.o == "x") ^ (frame.i == 1)).astype(int)
    refused(lgb.LGBMClassifier(**SMALL).fit(frame, y), UnsupportedModelError, "must be unordered")
    numbers = frame.drop(columns="c")
    numbers["o"] = pd.Categorical(rng.choice([1, 2, 3], 300), ordered=True)
    model = lgb.LGBMClassifier(**SMALL, cat_smooth=1).fit(numbers, y, categorical_feature=["i"])
    refused(model, UnsupportedModelError, "name categories by texts")


def test_a_category_that_training_had_once_only_in_name():
    """A category column with one value is not used, and is found nevertheless."""
    frame = FRAME.assign(same=pd.Categorical(["always"] * len(FRAME)))
    model = lgb.LGBMClassifier(**SMALL).fit(frame, labels(2))
    forest = agrees(model, as_categories)
    assert forest.columns[-1].categories == ("always", None)
