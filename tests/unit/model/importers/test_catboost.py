"""CatBoost: borders, missing values, categories by hash, float64 sums with the bias last, all bit for bit."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import treeproof as tp
from importing import agrees, as_array, as_frame, mixed_data, proofs_hold, refused, sums_agree
from treeproof.cli import main
from treeproof.errors import ForestFormatError, InputError, NotFittedError, UnsupportedModelError
from treeproof.model.files import load_model
from treeproof.model.importers import import_model
from treeproof.model.importers.catboost import as_source, from_json
from treeproof.model.importers.selfcheck import boundary_rows

catboost = pytest.importorskip("catboost", reason="the importer of CatBoost's models is tested against CatBoost")

CANCER = load_breast_cancer(return_X_y=True)
IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
SMALL = {"iterations": 15, "depth": 4, "verbose": 0, "thread_count": 1, "allow_writing_files": False, "random_seed": 0}
FRAME, TARGET = mixed_data()
NAMES = ["sex", "weight"]
FOCAL = "Focal:focal_alpha=0.5;focal_gamma=2"


def holed(X, seed=0, share=0.1):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def raw(model, forest):
    return lambda rows: catboost.CatBoost.predict(model, as_source(forest, rows))


def classifier(X, y, **options):
    return catboost.CatBoostClassifier(**{**SMALL, **options}).fit(X, y)


def test_names_in_other_scripts():
    frame = FRAME[["bmi", "sex"]].rename(columns={"bmi": "größe 📏", "sex": "пол"}).fillna(25)
    frame["пол"] = frame["пол"].map({"one": "жен", "two": 'мужской \\ "м"'})
    model = classifier(frame, TARGET > 140, cat_features=["пол"], one_hot_max_size=9)
    forest = agrees(model, as_frame, data=frame)
    assert forest.column_names == ("größe 📏", "пол")
    assert tp.Explainer(model, data=frame).abductive(frame.iloc[0]).label == model.predict(frame.iloc[:1])[0]


def document_of(model, tmp_path, **options):
    model.save_model(str(tmp_path / "model.json"), format="json", **options)
    return json.loads((tmp_path / "model.json").read_text())


@pytest.mark.parametrize("data", [CANCER, IRIS], ids=["cancer", "iris"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"depth": 9, "iterations": 4},
        {"nan_mode": "Max"},
        {"grow_policy": "Depthwise"},
        {"grow_policy": "Lossguide", "max_leaves": 9},
        {"border_count": 3, "learning_rate": 1.0},
    ],
    ids=str,
)
def test_classifiers(data, missing, options):
    X, y = data
    X = holed(X) if missing else X
    model = classifier(X, np.array(["x", "y", "z"])[y], **options)
    forest = agrees(model, as_array)
    sums_agree(forest, raw(model, forest))
    if missing:
        assert "expected" in {column.missing for column in forest.columns}
    else:
        assert {column.missing for column in forest.columns} == {"possible"}
    proofs_hold(model, tp.Explainer(model), X[70], as_array, n=500)


@pytest.mark.parametrize("loss", ["MultiClass", "MultiClassOneVsAll", "Logloss", "CrossEntropy", FOCAL])
def test_losses_of_classifiers(loss):
    X, y = IRIS
    model = classifier(X, y if loss.startswith("Multi") else np.minimum(y, 1), loss_function=loss)
    forest = agrees(model, as_array)
    sums_agree(forest, raw(model, forest))


@pytest.mark.parametrize(
    "labels", [[False, True], [1.5, 2.5], [3, 7], ["no", "yes"], [1.5, 2.5, 9.0], [4, 5, 9]], ids=str
)
def test_labels_are_those_of_predict(labels):
    X, y = IRIS
    y = np.array(labels)[np.minimum(y, len(labels) - 1)]
    model = classifier(X, y)
    forest = agrees(model, as_array)
    assert forest.classes.tolist() == labels
    assert [type(label) for label in forest.classes.tolist()] == [type(label) for label in labels]


@pytest.mark.parametrize("loss", ["RMSE", "MAE", "Quantile:alpha=0.3", "Huber:delta=2", "LogCosh", "MAPE"])
def test_regressors(loss):
    X, y = DIABETES
    model = catboost.CatBoostRegressor(**SMALL, loss_function=loss).fit(holed(X), y)
    forest = agrees(model, as_array)
    cut = float(np.median(model.predict(X)))
    proofs_hold(model, tp.Explainer(model, cuts=[cut]), X[3], as_array, n=300)
    assert forest.score(X[:5]).tolist() == model.predict(X[:5]).tolist()


def test_rankers_and_the_core_class_give_sums():
    X, y = DIABETES
    ranker = catboost.CatBoostRanker(**SMALL).fit(X, y, group_id=np.arange(len(X)) // 10)
    agrees(ranker, as_array)
    core = catboost.CatBoost({**SMALL, "loss_function": "Logloss"}).fit(X, y > 140)
    agrees(core, as_array)
    several = catboost.CatBoost({**SMALL, "loss_function": "MultiClass"}).fit(*IRIS)
    refused(several, UnsupportedModelError, r"catboost\.to_classifier\(model\)")
    agrees(catboost.to_classifier(several), as_array)


def test_a_bias_is_added_last():
    X, y = DIABETES
    model = catboost.CatBoostRegressor(**SMALL).fit(X, y)
    model.set_scale_and_bias(1, 0.1)
    agrees(model, as_array)
    several = classifier(*IRIS)
    several.set_scale_and_bias(1, [0.1, -0.7, 0.3])
    forest = agrees(several, as_array)
    sums_agree(forest, raw(several, forest))
    model.set_scale_and_bias(0.1, 0.0)
    refused(model, UnsupportedModelError, "scale must be 1")


@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.7])
def test_a_probability_threshold_of_the_model(threshold):
    model = classifier(*CANCER)
    model.set_probability_threshold(threshold)
    agrees(model, as_array)


def test_thresholds_and_confidences_are_of_predict_proba():
    X, y = CANCER
    model = classifier(X, y)
    forest = import_model(model)
    rows = boundary_rows(forest, 300)
    probability = model.predict_proba(rows)[:, 1]
    for p in (0.2, float(probability[5]), float(probability[9])):
        explained = tp.Explainer(model, threshold=p).forest
        assert explained.predict(rows).tolist() == (probability >= p).astype(int).tolist()
    assert tp.Explainer(model, confidence=0.9).abductive(X[0]).label in (0, 1, "uncertain")


@pytest.mark.parametrize("options", [{}, {"grow_policy": "Lossguide"}], ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_categories(options, n_classes):
    y = np.digitize(TARGET, np.quantile(TARGET, [0.5] if n_classes == 2 else [0.3, 0.7]))
    X = FRAME.assign(bin=pd.cut(FRAME["s5"].fillna(4), 5, labels=False), odd=(TARGET % 2 == 1))
    model = classifier(X, y, cat_features=[*NAMES, "bin", "odd"], one_hot_max_size=10, depth=6, **options)
    forest = agrees(model, as_frame, data=X)
    assert forest.columns[5].categories == ("one", "two")
    assert forest.columns[6].categories == ("fit", "high", "low", "top")
    assert forest.columns[7].categories == (0, 1, 2, 3, 4)
    assert forest.columns[8].categories == (False, True)
    assert len(forest.subsets) > 3
    sums_agree(forest, raw(model, forest))
    for i in (0, 4):
        proofs_hold(model, tp.Explainer(model, data=X), X.iloc[i], as_frame, n=500)
    # Rows of any kind that CatBoost takes name the same categories.
    assert import_model(model, data=X.astype({"weight": "category"})) == forest
    assert import_model(model, data=X.to_numpy(dtype=object)) == forest


def test_categories_in_a_table_of_whole_numbers():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(0, 6, 300), rng.integers(-2, 3, 300), rng.integers(0, 50, 300)])
    model = classifier(X, (X[:, 0] % 3 == 0) ^ (X[:, 2] > 20), cat_features=[0, 1], one_hot_max_size=10)
    forest = agrees(model, as_source, data=X)
    assert forest.columns[1].categories == (-2, -1, 0, 1, 2)
    proofs_hold(model, tp.Explainer(model, data=pd.DataFrame(X).astype({2: float})), X[0], as_source, n=300)


def test_categories_must_be_known():
    y = TARGET > 140
    model = classifier(FRAME, y, cat_features=NAMES, one_hot_max_size=10)
    refused(model, UnsupportedModelError, r"'sex', 'weight'.*only hashes.*Explainer\(model, data=X\)")
    with pytest.raises(InputError, match=r"texts or whole numbers.*'weight'.*nan"):
        import_model(model, data=FRAME.assign(weight=np.nan))
    with pytest.raises(InputError, match="7 values"):
        import_model(model, data=[[1, 2]])
    explainer = tp.Explainer(model, data=FRAME)
    with pytest.raises(InputError, match="'weight' must be one of"):
        explainer.abductive({**FRAME.iloc[0].to_dict(), "weight": "new"})


def test_branches_that_no_input_takes_are_left_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 1))
    model = catboost.CatBoostRegressor(**{**SMALL, "iterations": 5, "depth": 6}).fit(X, np.sin(3 * X[:, 0]))
    forest = agrees(model, as_array)
    # Six borders of one column make seven pieces, not 64.
    assert forest.n_nodes <= 5 * 13 + 1


def test_columns_that_are_not_used_and_numbers_beside_zero():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(300, 3.0), np.sign(rng.normal(size=300)), rng.normal(size=300)])
    model = classifier(X, X[:, 1] + X[:, 2] > 0, ignored_features=[2])
    forest = import_model(model)
    assert forest.n_columns == 3
    tiny = float(np.float32(1e-45))
    rows = [[0, value, 0] for value in (0.0, -0.0, tiny, -tiny, 1e-300)]
    assert forest.predict(rows).tolist() == model.predict(rows).tolist()


def test_names_of_columns():
    X, y = FRAME.drop(columns=NAMES), TARGET > 140
    model = classifier(X, y)
    assert import_model(model).column_names == tuple(X.columns)
    assert import_model(classifier(X.to_numpy(), y)).column_names == ("x0", "x1", "x2", "x3", "x4")


def test_in_a_pipeline():
    X, y = IRIS
    for target in (np.minimum(y, 1), y):
        model = make_pipeline(StandardScaler(), catboost.CatBoostClassifier(**SMALL)).fit(X, target)
        agrees(model, as_array)


class Stubborn(catboost.CatBoostClassifier):
    def predict(self, data, **options):
        return np.zeros(len(data))


def test_what_is_refused():
    X, y = DIABETES
    refused(catboost.CatBoostClassifier(), NotFittedError, "unfitted CatBoostClassifier")
    refused(Stubborn(**SMALL).fit(*IRIS), UnsupportedModelError, "its own 'predict'")
    refused(classifier(*IRIS), InputError, "no vote", vote="majority")
    spread = catboost.CatBoostRegressor(**SMALL, loss_function="RMSEWithUncertainty").fit(X, y)
    refused(spread, UnsupportedModelError, "of the kind RMSEWithUncertainty")
    targets = catboost.CatBoostRegressor(**SMALL, loss_function="MultiRMSE").fit(X, np.column_stack([y, -y]))
    refused(targets, UnsupportedModelError, r"one number. Got 2 \(loss MultiRMSE\)")
    labels = catboost.CatBoostClassifier(**SMALL, loss_function="MultiLogloss").fit(
        X, np.column_stack([y > 99, y < 200])
    )
    refused(labels, UnsupportedModelError, "loss of a classifier .* Got MultiLogloss")
    declared = classifier(*IRIS, classes_count=4)
    refused(declared, UnsupportedModelError, "classes_count=4, and 3 labels")
    counted = classifier(FRAME, TARGET > 140, cat_features=NAMES)
    refused(counted, UnsupportedModelError, "CTR features.*one_hot_max_size", data=FRAME)
    notes = FRAME[["age"]].assign(note=FRAME["sex"] + " " + FRAME["weight"])
    refused(
        classifier(notes, TARGET > 140, text_features=["note"]), UnsupportedModelError, r"text features: \['note'\]"
    )


@pytest.mark.parametrize("loss", ["Poisson", "Tweedie:variance_power=1.5"])
def test_predictions_that_are_exponents(loss):
    X, y = DIABETES
    model = catboost.CatBoostRegressor(**SMALL, loss_function=loss).fit(X, y)
    forest = agrees(model, as_array, n=300)
    explainer = tp.Explainer(model, cuts=[140])
    rows = boundary_rows(forest, 300)
    assert explainer.forest.predict(rows).tolist() == [">= 140" if p >= 140 else "< 140" for p in model.predict(rows)]
    around = pickle.loads(pickle.dumps(tp.Explainer(model))).around(X[3], 20)
    assert around.abductive(X[3]).label == f"within 20 of {float(model.predict(X[3]))!r}"


def test_the_command_line_reads_the_names_of_categories_from_the_table(tmp_path, capsys):
    codes = FRAME.assign(code=np.arange(len(FRAME)) % 3)
    model = classifier(codes, TARGET > 140, cat_features=[*NAMES, "code"], one_hot_max_size=10)
    model.save_model(str(tmp_path / "model.cbm"))
    codes.to_csv(tmp_path / "data.csv", index=False)
    assert main(["explain", str(tmp_path / "model.cbm"), str(tmp_path / "data.csv"), "--row", "4", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    why = tp.Explainer(model, data=codes).abductive(codes.iloc[4])
    assert (found["label"], found["features"]) == (why.label, list(why.features))
    page = str(tmp_path / "report.html")
    assert main(["report", str(tmp_path / "model.cbm"), str(tmp_path / "data.csv"), "--row", "4", "--out", page]) == 0


class TestFiles:
    def test_json_needs_no_library(self, tmp_path):
        for data in (CANCER, IRIS):
            model = classifier(*data)
            model.save_model(str(tmp_path / "model.json"), format="json")
            assert load_model(tmp_path / "model.json") == import_model(model)
        code = (
            "import sys; sys.modules['catboost'] = None; import treeproof as tp; "
            f"print(tp.load_model({str(tmp_path / 'model.json')!r}))"
        )
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        assert found.strip() == repr(import_model(model))

    def test_of_a_regressor(self, tmp_path):
        model = catboost.CatBoostRegressor(**SMALL).fit(*DIABETES)
        model.save_model(str(tmp_path / "model.json"), format="json")
        assert load_model(tmp_path / "model.json") == import_model(model)

    def test_binary_ones_are_read_by_catboost(self, tmp_path):
        for model in (classifier(*CANCER), catboost.CatBoostRegressor(**SMALL).fit(*DIABETES)):
            model.save_model(str(tmp_path / "model.cbm"))
            assert import_model(load_model(tmp_path / "model.cbm")) == import_model(model)
        (tmp_path / "broken.cbm").write_bytes(b"CBM1 and nothing else")
        with pytest.raises(ForestFormatError, match=r"broken\.cbm cannot be read\. The file must be a model saved by"):
            load_model(tmp_path / "broken.cbm")

    def test_with_categories(self, tmp_path):
        y = TARGET > 140
        model = classifier(FRAME, y, cat_features=NAMES, one_hot_max_size=10)
        with pytest.raises(UnsupportedModelError, match="pool=pool"):
            from_json(document_of(model, tmp_path))
        pool = catboost.Pool(FRAME, y, cat_features=NAMES)
        forest = from_json(document_of(model, tmp_path, pool=pool))
        # The file has one list of names for all columns.
        assert forest.columns[5].categories == ("fit", "high", "low", "one", "top", "two")
        assert forest.predict(FRAME).tolist() == [value == "True" for value in map(str, model.predict(FRAME))]

    def test_with_whole_numbers_as_categories(self, tmp_path):
        rng = np.random.default_rng(1)
        X = rng.integers(-3, 4, size=(200, 2))
        model = classifier(X, X[:, 0] % 3 == 0, cat_features=[0, 1], one_hot_max_size=10)
        forest = from_json(document_of(model, tmp_path, pool=catboost.Pool(X, cat_features=[0, 1])))
        assert forest.columns[0].categories == (-3, -2, -1, 0, 1, 2, 3)
        assert forest.predict(X).tolist() == [value == "True" for value in map(str, model.predict(X))]

    def test_with_settings_that_only_catboost_follows(self, tmp_path):
        model = classifier(*CANCER)
        model.set_probability_threshold(0.7)
        with pytest.raises(UnsupportedModelError, match="load the model with CatBoost"):
            from_json(document_of(model, tmp_path))
        poisson = catboost.CatBoostRegressor(**SMALL, loss_function="Poisson").fit(*DIABETES)
        with pytest.raises(UnsupportedModelError, match="Poisson"):
            from_json(document_of(poisson, tmp_path))

    def test_damage_is_named(self, tmp_path):
        document = document_of(classifier(holed(CANCER[0]), CANCER[1]), tmp_path)
        tree = ("oblivious_trees", 0)
        feature = ("features_info", "float_features", 0)
        for path, value in (
            (("features_info",), {}),
            ((*feature, "flat_feature_index"), 7),
            ((*feature, "feature_index"), -1),
            ((*feature, "nan_value_treatment"), "AsYouLike"),
            ((*tree, "leaf_values", 0), "0.5"),
            ((*tree, "leaf_values"), [0.5]),
            ((*tree, "splits"), "none"),
            ((*tree, "splits", 0, "border"), 0.1),
            ((*tree, "splits", 0, "border"), None),
            ((*tree, "splits", 0, "float_feature_index"), 30),
            ((*tree, "splits"), [document["oblivious_trees"][0]["splits"][0]] * 17),
            (("scale_and_bias",), [1]),
            (("scale_and_bias", 1), [0, 0]),
            (("oblivious_trees",), {}),
            (("model_info", "class_params", "class_names"), [1, 2, 3]),
            (("model_info",), None),
        ):
            damaged = copy.deepcopy(document)
            place = damaged
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = value
            with pytest.raises(ForestFormatError):
                from_json(damaged)
        unknown = {**document, "surprise": 1}
        with pytest.raises(UnsupportedModelError, match="surprise"):
            from_json(unknown)
        document["oblivious_trees"][0]["splits"][0]["split_type"] = "EstimatedFeature"
        with pytest.raises(UnsupportedModelError, match="EstimatedFeature"):
            from_json(document)

    def test_a_damaged_tree_that_is_not_symmetric(self, tmp_path):
        document = document_of(classifier(*CANCER, grow_policy="Depthwise"), tmp_path)
        document["trees"][0]["left"] = {}
        with pytest.raises(ForestFormatError, match="damaged"):
            from_json(document)
