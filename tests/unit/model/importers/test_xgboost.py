"""XGBoost: sums in float32, its own intercept and cut-off, and its softmax, all bit for bit."""

from __future__ import annotations

import copy
import json
import math
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

import treeproof as tp
from importing import agrees, as_array, as_categories, as_frame, proofs_hold, refused, sums_agree
from treeproof import _core
from treeproof.cli import main
from treeproof.errors import InputError, NotFittedError, UnsupportedModelError
from treeproof.model.files import load_model
from treeproof.model.floats import FLOAT32
from treeproof.model.importers import import_model, needs_data
from treeproof.model.importers import xgboost as importer
from treeproof.model.importers.selfcheck import boundary_rows, decoded

xgb = pytest.importorskip("xgboost")

CANCER = load_breast_cancer(return_X_y=True)
IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
SMALL = {"n_estimators": 10, "max_depth": 3, "random_state": 0, "n_jobs": 1}


def holed(X, seed=0, share=0.1):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def margins(model):
    return lambda rows: model.predict(rows, output_margin=True)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"base_score": 0.3},
        {"base_score": 0.8},
        {"learning_rate": 1.0, "reg_lambda": 0.0},
        {"tree_method": "exact"},
        {"grow_policy": "lossguide", "max_leaves": 6},
        {"scale_pos_weight": 3.0, "subsample": 0.5},
        {"num_parallel_tree": 3, "n_estimators": 4},
    ],
    ids=str,
)
@pytest.mark.parametrize("missing", [False, True])
def test_two_classes(options, missing):
    X, y = CANCER
    X = holed(X) if missing else X
    model = xgb.XGBClassifier(**{**SMALL, **options}).fit(X, y)
    forest = agrees(model, as_array)
    sums_agree(forest, margins(model))
    assert importer.from_json(json.loads(model.get_booster().save_raw("json"))) == forest
    proofs_hold(model, tp.Explainer(model), X[0], as_array, n=500)


@pytest.mark.parametrize("options", [{}, {"base_score": 0.3}, {"objective": "multi:softmax"}], ids=str)
@pytest.mark.parametrize("missing", [False, True])
def test_several_classes(options, missing):
    X, y = IRIS
    X = holed(X) if missing else X
    model = xgb.XGBClassifier(**{**SMALL, **options}).fit(X, y)
    assert model.get_params()["objective"] in (options.get("objective"), "multi:softprob", "binary:logistic", None)
    forest = agrees(model, as_array)
    document = json.loads(model.get_booster().save_raw("json"))
    assert document["learner"]["objective"]["name"] == options.get("objective", "multi:softprob")
    sums_agree(forest, margins(model))
    assert importer.from_json(document) == forest
    for row in X[::50]:
        proofs_hold(model, tp.Explainer(model), row, as_array, n=500)


@pytest.mark.parametrize("data", [CANCER, IRIS], ids=["cancer", "iris"])
def test_random_forests(data):
    X, y = data
    model = xgb.XGBRFClassifier(n_estimators=20, max_depth=3, random_state=0, n_jobs=1).fit(X, y)
    forest = agrees(model, as_array)
    sums_agree(forest, margins(model))
    assert forest.n_trees == 20 * (1 if data is CANCER else 3)
    proofs_hold(model, tp.Explainer(model), X[0], as_array, n=500)


@pytest.mark.parametrize("objective", ["reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror"])
@pytest.mark.parametrize("kind", ["XGBRegressor", "XGBRFRegressor"])
def test_regressors(objective, kind):
    X, y = DIABETES
    model = getattr(xgb, kind)(**SMALL, objective=objective).fit(holed(X), y)
    forest = agrees(model, as_array)
    sums_agree(forest, model.predict)
    assert importer.from_json(json.loads(model.get_booster().save_raw("json"))) == forest
    explainer = tp.Explainer(model, cuts=[float(model.predict(X[:1])[0])])
    proofs_hold(model, explainer, X[0], as_array, n=500)


@pytest.mark.parametrize("data", [CANCER, IRIS], ids=["cancer", "iris"])
def test_early_stopping_predicts_with_the_best_rounds(data):
    X, y = data
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    model = xgb.XGBClassifier(**{**SMALL, "n_estimators": 30}, learning_rate=1.0, early_stopping_rounds=4)
    model.fit(X[:100], y[:100], eval_set=[(X[100:], y[100:])], verbose=False)
    rounds = model.get_booster().num_boosted_rounds()
    assert model.best_iteration + 1 < rounds
    forest = agrees(model, as_array)
    sums_agree(forest, margins(model))
    n_sums = 1 if data is CANCER else 3
    assert forest.n_trees == (model.best_iteration + 1) * n_sums
    assert import_model(model.get_booster()).n_trees == rounds * n_sums, "a Booster predicts with all"


def test_boosters():
    X, y = IRIS
    for objective, labels in (
        ("binary:logistic", y > 0),
        ("multi:softprob", y),
        ("multi:softmax", y),
        ("reg:squarederror", y),
    ):
        options = {"objective": objective, "max_depth": 2, "nthread": 1}
        options |= {"num_class": 3} if objective.startswith("multi") else {}
        booster = xgb.train(options, xgb.DMatrix(X, labels), 6)
        forest = import_model(booster)
        predicted = booster.predict(xgb.DMatrix(X))
        if objective == "reg:squarederror":
            assert forest.score(X).tolist() == predicted.tolist()
            continue
        expected = predicted > 0.5 if predicted.ndim == 1 and "softmax" not in objective else predicted
        expected = np.argmax(expected, axis=1) if expected.ndim == 2 else expected.astype(int)
        assert forest.predict(X).tolist() == expected.tolist()
        assert tp.Explainer(booster).abductive(X[0]).label == expected[0]


def test_names_come_from_the_frame():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = xgb.XGBClassifier(**SMALL).fit(X, y)
    assert agrees(model, as_frame).column_names == tuple(X.columns)
    proofs_hold(model, tp.Explainer(model), X.iloc[0], as_frame, n=500)


def test_a_model_read_from_its_file(tmp_path):
    X, y = IRIS
    model = xgb.XGBClassifier(**SMALL).fit(X, y)
    forest = import_model(model)
    for name in ("model.json", "model.ubj"):
        model.save_model(tmp_path / name)
        again = xgb.XGBClassifier()
        again.load_model(tmp_path / name)
        assert import_model(again) == forest == load_model(tmp_path / name)


def altered(booster, values):
    """Return the booster with other leaf values, one after the other."""
    document = json.loads(booster.save_raw("json"))
    values = iter(values)
    for tree in document["learner"]["gradient_booster"]["model"]["trees"]:
        for node, child in enumerate(tree["left_children"]):
            if child < 0:
                tree["split_conditions"][node] = tree["base_weights"][node] = float(np.float32(next(values)))
    return xgb.Booster({"nthread": 1}, model_file=bytearray(json.dumps(document).encode()))


def test_a_margin_on_and_beside_the_cut_off():
    X, y = CANCER
    stump = xgb.train({"objective": "binary:logistic", "max_depth": 1, "base_score": 0.5}, xgb.DMatrix(X, y), 1)
    cut = import_model(stump).sums.cuts[0]
    assert 0 < cut < 1e-6
    for value in (cut, FLOAT32.next(cut, -1), FLOAT32.next(cut, 1), 0.0, -cut):
        model = altered(stump, [value, -1.0])
        row = X[[np.argmin(X[:, import_model(model).feature[0]])]]
        assert model.predict(xgb.DMatrix(row), output_margin=True)[0] == np.float32(value)
        expected = int(model.predict(xgb.DMatrix(row))[0] > 0.5)
        assert import_model(model).predict(row)[0] == expected == (value >= cut)


@pytest.mark.parametrize("seed", range(3))
def test_sums_that_straddle_the_cut_off(seed):
    X, y = CANCER
    rng = np.random.default_rng(seed)
    model = xgb.XGBClassifier(**{**SMALL, "max_depth": 2}, base_score=0.5).fit(X, y)
    values = rng.choice([0.1, -0.1, 0.2, -0.2, 0.3, -0.3, 1e-8, 3e-8, -3e-8], 1000)
    model._Booster = altered(model.get_booster(), values)
    forest = agrees(model, as_array, n=5000)
    rows = boundary_rows(forest, 5000)
    sums = forest.add(forest.route(rows))[:, 0]
    near = np.argsort(np.abs(sums))[:4]
    assert abs(sums[near[0]]) < 1e-6
    for row in rows[near]:
        proofs_hold(model, tp.Explainer(model), row, as_array, n=500)


@pytest.mark.parametrize("seed", range(3))
def test_several_classes_that_tie_in_their_softmax(seed):
    X, y = IRIS
    rng = np.random.default_rng(seed)
    model = xgb.XGBClassifier(**{**SMALL, "n_estimators": 4, "max_depth": 2}, base_score=0.5).fit(X, y)
    values = rng.choice([0.25, 0.5, 0.5 + 2**-24, 0.5 - 2**-25, 0.1, 0.1 + 1e-8, 3e-8], 1000)
    model._Booster = altered(model.get_booster(), values)
    forest = agrees(model, as_array, n=5000)
    rows = boundary_rows(forest, 5000)
    ordered = np.sort(forest.add(forest.route(rows)), axis=1)
    gap = ordered[:, -1] - ordered[:, -2]
    assert (gap < 1e-6).any()
    for row in rows[np.argsort(gap)[:4]]:
        proofs_hold(model, tp.Explainer(model), row, as_array, n=500)


@pytest.mark.parametrize("n_classes", [2, 3, 5, 17])
def test_softmax_of_margins_that_differ_by_the_last_bits(n_classes):
    """The margins are fed to a booster whose trees are worth nothing."""
    X = np.random.default_rng(0).normal(size=(50, 1))
    parameters = {"objective": "multi:softprob", "num_class": n_classes, "nthread": 1, "base_score": 0.0}
    blank = xgb.train(parameters, xgb.DMatrix(X, np.arange(50) % n_classes), 0)
    rng = np.random.default_rng(n_classes)
    n = 20_000
    level = rng.choice([0.0, 1e-3, 0.3, 1.0, 7.5, 40.0, -3.0, -1e4, 1e30], (n, 1)).astype(np.float32)
    table = np.repeat(level, n_classes, axis=1)
    for _ in range(6):
        up = rng.random(table.shape) < 0.4
        table = np.where(up, np.nextafter(table, np.float32(np.inf)), table)
    table += rng.choice([0, 0, 0, 1e-8, 6e-8, 1.2e-7, -0.5], table.shape).astype(np.float32)
    matrix = xgb.DMatrix(np.zeros((n, 1)), base_margin=table)
    assert np.array_equal(blank.predict(matrix, output_margin=True), table)
    expected = np.argmax(blank.predict(matrix), axis=1)
    assert np.array_equal(_core.softmax_labels(table.astype(np.float64), True), expected)
    assert (expected != np.argmax(table, axis=1)).any(), "the softmax must tie where margins do not"


def test_intercept_and_cut_off_without_xgboost_are_the_same():
    X, y = CANCER
    booster = xgb.train({"objective": "binary:logistic", "max_depth": 1}, xgb.DMatrix(X, y), 1)
    document = json.loads(booster.save_raw("json"))
    rng = np.random.default_rng(0)
    scores = [*rng.random(40), *10.0 ** rng.uniform(-6, -1, 20), 0.5, 0.5 + 2**-24, 0.5 - 2**-25, 1 - 2**-19]
    learner = importer._read(document)
    link = importer._Transform(importer._blank(learner), learner.n_columns)
    for score in scores:
        document["learner"]["learner_model_param"]["base_score"] = f"[{np.float32(score)!s}]"
        learner = importer._read(document)
        assert importer._start(learner) == importer._intercept(importer._blank(learner), learner)
    document["learner"]["learner_model_param"]["base_score"] = "[1E-7]"  # some versions take it for 1e-6
    with pytest.raises(UnsupportedModelError, match=r"between 1e-06 and 0\.999999"):
        importer.from_json(document)
    totals = np.concatenate(
        [rng.normal(size=200) * 10, rng.normal(size=200) * 1e-7, [0, 89, -89, 300, -300, 1e30, -1e30]]
    )
    assert importer._sigmoid(totals.astype(np.float32)).tolist() == link(totals.astype(np.float32)).tolist()


def test_a_threshold_of_probability():
    X, y = CANCER
    model = xgb.XGBClassifier(**SMALL).fit(X, y)
    probabilities = model.predict_proba(X)[:, 1]
    for p in (0.2, 0.7, float(probabilities[0])):
        explainer = tp.Explainer(model, threshold=p)
        expected = (probabilities.astype(float) >= p).astype(int)
        assert explainer.forest.predict(X).tolist() == expected.tolist()


def test_values_at_the_ends_of_float32():
    X = np.array([[-3.4e38], [3.4e38], [0.0], [-0.0], [1e-45], [-1e-45], [np.nan]] * 20)
    for low in (-1.0, 0.0, 1e-44):
        model = xgb.XGBClassifier(n_estimators=2, max_depth=2, min_child_weight=0, n_jobs=1, tree_method="exact")
        model.fit(X, (X[:, 0] > low).astype(int))
        forest = import_model(model)
        assert forest.predict(X).tolist() == model.predict(X).tolist()


class OwnPredict(xgb.XGBClassifier):
    def predict(self, X, **options):
        return 1 - super().predict(X, **options)


def squared(y, p):
    return p - y, np.ones_like(p)


def test_refusals():
    X, y = CANCER
    few = {"n_estimators": 2, "max_depth": 2, "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        linear = xgb.XGBClassifier(n_estimators=2, booster="gblinear").fit(X, y)
    refused(linear, UnsupportedModelError, "Got 'gblinear'")
    two = np.column_stack([y, 1 - y])
    refused(xgb.XGBClassifier(**few).fit(X, two), UnsupportedModelError, "one output. Got 2 targets")
    refused(xgb.XGBRegressor(**few).fit(X, two), UnsupportedModelError, "one output. Got 2 targets")
    model = xgb.XGBRegressor(**few, multi_strategy="multi_output_tree", tree_method="hist").fit(X, two)
    refused(model, UnsupportedModelError, "one output")
    frame = pd.DataFrame({"c": pd.Categorical(np.where(y, "a", "b")), "x": X[:, 0]})
    model = xgb.XGBClassifier(**few, enable_categorical=True, missing=0).fit(frame, y)
    refused(model, UnsupportedModelError, "With categories, missing values must be NaN. Got missing=0")
    refused(xgb.XGBRegressor(**few, objective="binary:logistic").fit(X, y), UnsupportedModelError, "must fit the model")
    refused(xgb.XGBClassifier(**few, objective=squared).fit(X, y), UnsupportedModelError, "must fit the model")
    refused(OwnPredict(**few).fit(X, y), UnsupportedModelError, "OwnPredict has its own 'predict'")
    refused(xgb.XGBClassifier(**few).fit(X, y).set_params(missing=None), UnsupportedModelError, "Got missing=None")
    refused(xgb.XGBClassifier(), NotFittedError, "call its fit")
    refused(xgb.Booster(), NotFittedError, "unfitted Booster")
    model = xgb.XGBClassifier(**few).fit(X, y)
    refused(model, InputError, "Boosted trees take no vote. Got vote='majority'", vote="majority")
    model.predict = lambda X: X
    refused(model, UnsupportedModelError, "own 'predict'")
    refused(xgb.XGBClassifier(n_estimators=0).fit(X, y), UnsupportedModelError, "at least one tree")


def test_trees_with_several_outputs_are_refused_before_xgboost_sees_them_changed(tmp_path):
    """In a process of its own: XGBoost aborts the interpreter where it meets such a tree that is not its own."""
    script = tmp_path / "refuse.py"
    script.write_text(
        """
import sys
import numpy as np, xgboost as xgb
from treeproof.errors import UnsupportedModelError
from treeproof.model.importers import import_model
X = np.random.default_rng(0).normal(size=(60, 3))
options = dict(n_estimators=2, max_depth=2, n_jobs=1, tree_method="hist", multi_strategy="multi_output_tree")
model = xgb.XGBClassifier(**options).fit(X, np.arange(60) % 3)
for source in (model, model.get_booster()):
    try:
        import_model(source)
    except UnsupportedModelError as error:
        print(error)
"""
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout.count("multi_strategy='one_output_per_tree'")) == (0, 2), done.stderr


def test_importing_leaves_the_model_as_it_was():
    X, y = IRIS
    model = xgb.XGBClassifier(**SMALL).fit(X, y)
    before = bytes(model.get_booster().save_raw("json"))
    state = copy.deepcopy(model.get_params())
    import_model(model)
    assert bytes(model.get_booster().save_raw("json")) == before
    assert {k: v for k, v in model.get_params().items() if not (isinstance(v, float) and math.isnan(v))} == {
        k: v for k, v in state.items() if not (isinstance(v, float) and math.isnan(v))
    }


def categories(seed=0, n=300):
    """A frame with texts, whole numbers and one-hot candidates as categories, some missing, and a label of each."""
    rng = np.random.default_rng(seed)
    text, number, size = rng.choice(list("abcdefgh"), n), rng.choice([10, 20, 35], n), rng.normal(size=n)
    y = (np.isin(text, list("ace")) ^ (number == 20) ^ (size > 0)).astype(int)
    frame = pd.DataFrame({"text": pd.Categorical(text), "number": pd.Categorical(number), "size": size})
    return frame.mask(rng.random(frame.shape) < 0.08), y


@pytest.mark.parametrize("options", [{}, {"max_cat_to_onehot": 20}, {"max_cat_to_onehot": 1}], ids=str)
@pytest.mark.parametrize("several", [False, True])
def test_categories(options, several, tmp_path):
    X, y = categories()
    y = y + 2 * (X["size"] > 1).to_numpy() if several else y
    y = np.unique(y, return_inverse=True)[1]
    model = xgb.XGBClassifier(**SMALL, enable_categorical=True, **options).fit(X, y)
    forest = agrees(model, as_categories)
    assert forest.columns[0].categories == (*"abcdefgh", None)
    assert forest.columns[1].categories == (10, 20, 35, None)
    sums_agree(forest, lambda rows: model.predict(decoded(forest, rows, named=True), output_margin=True))
    assert forest.predict(X).tolist() == model.predict(X).tolist()
    for i in range(0, 60, 20):
        proofs_hold(model, tp.Explainer(model), X.iloc[i], as_categories, n=500)
    for name in ("model.json", "model.ubj"):
        model.save_model(tmp_path / name)
        assert load_model(tmp_path / name) == forest
    assert import_model(model.get_booster()) == forest
    # XGBoost refuses a category that it has not seen, and so does the forest.
    odd = X.iloc[[0]].assign(text=pd.Categorical(["z"]))
    with pytest.raises(xgb.core.XGBoostError, match="not in the training set"):
        model.predict(odd)
    with pytest.raises(InputError, match="Column 'text' must be one of"):
        forest.predict(odd)


@pytest.mark.parametrize("onehot", [1, 20])
def test_categories_whose_labels_the_model_does_not_have(onehot, tmp_path):
    """Rows then hold numbers; those that no split lists, whatever they are, go left."""
    X, y = categories()
    codes = np.column_stack([X["text"].cat.codes, X["number"].cat.codes, X["size"]]).astype(float)
    codes[codes == -1] = np.nan
    kinds = ["c", "c", "q"]
    model = xgb.XGBClassifier(**SMALL, enable_categorical=True, feature_types=kinds, max_cat_to_onehot=onehot)
    model.fit(codes, y)
    forest = agrees(model, as_array)
    assert forest.columns[1].categories[-2:] == ("other", None)
    sums_agree(forest, lambda rows: model.predict(decoded(forest, rows, named=False), output_margin=True))
    strange = np.repeat(codes[:1], 6, axis=0)
    strange[:, 0] = [-1, 8, 31, 32, 1000, 2**25]
    assert forest.predict(strange).tolist() == model.predict(strange).tolist()
    explainer = tp.Explainer(model)
    for row in codes[:60:20]:
        proofs_hold(model, explainer, row, as_array, n=500)
        change = explainer.contrastive(row)
        assert model.predict([change.witness])[0] == change.witness_label
    for name in ("model.json", "model.ubj"):
        model.save_model(tmp_path / name)
        assert load_model(tmp_path / name) == forest
    assert import_model(model.get_booster()) == forest
    frame = X.set_axis(["x0", "x1", "x2"], axis=1)
    with pytest.raises(InputError, match=r"'x0' must hold whole numbers.* Got pandas' type category"):
        forest.predict(frame)


def test_dart():
    X, y = IRIS
    options = {**SMALL, "booster": "dart", "rate_drop": 0.5, "base_score": 0.3}
    for model in (
        xgb.XGBClassifier(**options).fit(X, y),
        xgb.XGBClassifier(**options).fit(X, y == 1),
        xgb.XGBRegressor(**{**options, "base_score": None}).fit(X, 100 * y),
        xgb.XGBClassifier(**options, num_parallel_tree=2).fit(holed(X), y),
    ):
        sums_agree(import_model(model), margins(model))
        booster = model.get_booster()
        forest = import_model(booster)  # which predicts with the same weights, and rounds differently
        sums_agree(forest, lambda rows, b=booster: b.predict(xgb.DMatrix(rows), output_margin=True))
        assert importer.from_json(json.loads(booster.save_raw("json"))) == forest
    proofs_hold(model, tp.Explainer(model), X[70], as_array, n=500)
    model.get_booster().best_iteration = 3  # as early stopping leaves it
    forest = agrees(model, as_array)
    assert forest.n_trees == 3 * 2 * 4
    sums_agree(forest, margins(model))


@pytest.mark.parametrize("objective", ["rank:ndcg", "rank:pairwise", "rank:map"])
def test_rankers(objective):
    X, y = DIABETES
    model = xgb.XGBRanker(**SMALL, objective=objective)
    model.fit(holed(X[:440]), (y[:440] > 150).astype(int), qid=np.repeat(np.arange(20), 22))
    forest = agrees(model, as_array)
    assert importer.from_json(json.loads(model.get_booster().save_raw("json"))) == forest
    explainer = tp.Explainer(model, cuts=[float(model.predict(X[:1])[0])])
    proofs_hold(model, explainer, X[0], as_array, n=500)


@pytest.mark.parametrize("missing", [-1.0, 0.0, 14.5, 0.1, math.inf, math.nan])
def test_a_number_that_means_missing(missing):
    X, y = CANCER
    X = X[:, :3].round(1)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.2, missing if math.isfinite(missing) else np.nan, X)
    model = xgb.XGBClassifier(**SMALL, missing=missing).fit(X, y)
    forest = agrees(model, as_array)
    rows = boundary_rows(forest, 3000)
    rows[np.random.default_rng(1).random(rows.shape) < 0.3] = missing if math.isfinite(missing) else np.nan
    assert np.array_equal(forest.add(forest.route(rows))[:, 0], model.predict(rows, output_margin=True))
    for row in X[:60:30]:
        proofs_hold(model, tp.Explainer(model), row, as_array, n=500)


def test_raw_sums_and_hinges():
    X, y = CANCER
    for objective, smallest in (
        ("binary:logitraw", np.nextafter(np.float32(0.5), np.float32(1))),
        ("binary:hinge", 1e-45),
    ):
        model = xgb.XGBClassifier(**SMALL, objective=objective).fit(X, y)
        forest = agrees(model, as_array)
        sums_agree(forest, margins(model))
        assert np.float32(forest.sums.cuts[0]) == np.float32(smallest)
        booster = model.get_booster()
        again, document = import_model(booster), json.loads(booster.save_raw("json"))
        if objective == "binary:hinge":
            assert importer.from_json(document) == again == forest
        else:
            assert again.score(X).tolist() == booster.predict(xgb.DMatrix(X)).tolist()
            with pytest.raises(UnsupportedModelError, match="depends on the version"):
                importer.from_json(document)


@pytest.mark.parametrize("objective", ["count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "reg:logistic"])
def test_predictions_that_are_functions_of_sums(objective):
    X, y = DIABETES
    model = xgb.XGBRegressor(**SMALL, objective=objective).fit(holed(X), y / 400)
    forest = agrees(model, as_array)
    sums_agree(forest, margins(model))
    predicted = model.predict(X)
    for cut in (predicted[0], np.nextafter(predicted[0], np.float32(9)), predicted.mean()):
        explainer = tp.Explainer(model, cuts=[float(cut)])
        assert (explainer.forest.predict(X) == explainer.forest.classes[1]).tolist() == (predicted >= cut).tolist()
    proofs_hold(model, explainer, X[0], as_array, n=500)
    assert tp.Explainer(model).around(X[0], 0.1).abductive(X[0]).label.startswith("within 0.1 of ")
    assert import_model(model.get_booster()) == forest
    with pytest.raises(UnsupportedModelError, match="predicts a function of them; load the model with XGBoost"):
        importer.from_json(json.loads(model.get_booster().save_raw("json")))
    assert pickle.loads(pickle.dumps(explainer)).abductive(X[0]).label == explainer.abductive(X[0]).label


def test_survival_times():
    X, y = DIABETES
    matrix = xgb.DMatrix(X)
    matrix.set_float_info("label_lower_bound", y)
    matrix.set_float_info("label_upper_bound", np.where(y > 200, np.inf, y))
    booster = xgb.train({"objective": "survival:aft", "max_depth": 3, "nthread": 1}, matrix, 8)
    predicted = booster.predict(xgb.DMatrix(X))
    explainer = tp.Explainer(booster, cuts=[float(predicted[0])])
    assert (explainer.forest.predict(X) == explainer.forest.classes[1]).tolist() == (predicted >= predicted[0]).tolist()


@pytest.mark.parametrize(
    "names", [["Zürich", "Genève", "Bern"], ["é1", "é2", "é3"], ["東京", "大阪", "京都"], ["a", "b", "São Paulo"]]
)
def test_categories_beyond_ascii_are_called_as_in_the_data(names, tmp_path):
    """XGBoost stores them shifted and cut off: they were printed as 'hGenè' and 'veBe', or the model was 'unfitted'."""
    rng = np.random.default_rng(0)
    place = pd.Categorical.from_codes(rng.integers(0, 3, 400), names)
    X = pd.DataFrame({"place": place, "a": rng.random(400)})
    y = (place.codes == 2) ^ (X["a"] > 0.5)
    model = xgb.XGBClassifier(**SMALL, enable_categorical=True).fit(X, y)
    refused(model, UnsupportedModelError, r"The categories of the columns \['place'\] must be known; XGBoost cuts off")
    assert needs_data(model) == ("place", "a")
    explainer = tp.Explainer(model, data=X)
    assert explainer.forest.columns[0].categories == (*names, None)
    assert explainer.forest.predict(X).tolist() == model.predict(X).tolist()
    row = X.iloc[int(np.flatnonzero(place.codes == 2)[0])]
    why = explainer.abductive(row)
    assert f"place = {names[2]}" in str(why).replace('"', "")
    proofs_hold(model, explainer, row, as_categories, n=200)
    # A plain table has no order of categories: the sorted one may not be that of the training data.
    texts = X.astype({"place": object})
    if names == sorted(names):
        assert tp.Explainer(model, data=texts).forest == explainer.forest
    else:
        with pytest.raises(InputError, match="must have the categories of the training data, in the same order"):
            tp.Explainer(model, data=texts)
    for file in (tmp_path / "model.json", tmp_path / "model.ubj"):
        model.save_model(file)
        saved = tp.load_model(file)
        refused(saved, UnsupportedModelError, "XGBoost cuts off texts .* a table on the command line")
        with pytest.raises(InputError, match="must have the categories of the training data"):
            tp.Explainer(saved, data=X.assign(place=pd.Categorical.from_codes(place.codes, names[::-1])))
        assert tp.Explainer(saved, data=X).abductive(row).conditions == why.conditions


def test_the_command_line_reads_names_beyond_ascii_from_the_table(tmp_path, capsys):
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"place": rng.choice(["Bern", "Genève", "Zürich"], 300), "a": rng.random(300)})
    named = X.astype({"place": "category"})
    model = xgb.XGBClassifier(**SMALL, enable_categorical=True).fit(named, (X["place"] == "Zürich") ^ (X["a"] > 0.5))
    path, table = str(tmp_path / "model.json"), tmp_path / "data.csv"
    model.save_model(path)
    X.to_csv(table, index=False)
    assert main(["explain", path, str(table), "--row", "4", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    why = tp.Explainer(model, data=named).abductive(named.iloc[4])
    assert (found["label"], found["features"]) == (why.label, list(why.features))
    assert main(["report", path, str(table), "--row", "4", "--out", str(tmp_path / "report.html"), "--quiet"]) == 0
    assert "Zürich" in (tmp_path / "report.html").read_text(encoding="utf-8")
    X[X["place"] != "Bern"].to_csv(table, index=False)
    assert main(["explain", path, str(table), "--row", "4"]) == 2
    assert "must have the categories of the training data" in capsys.readouterr().err
    assert main(["ask", "extremes", path]) == 2
    assert "Pass a CSV file after the model" in capsys.readouterr().err
