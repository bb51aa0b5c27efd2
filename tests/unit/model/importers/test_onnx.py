"""ONNX: ensembles as converters write them, followed as onnxruntime computes them, bit for bit."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import treeproof as tp
from importing import agrees, as_array, proofs_hold, refused, sums_agree
from treeproof.errors import ForestFormatError, InputError, MissingExtraError, UnsupportedModelError
from treeproof.model.files import load_model
from treeproof.model.importers import import_model
from treeproof.model.importers.selfcheck import boundary_rows

onnx = pytest.importorskip("onnx", reason="ONNX models are read by the package onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="the importer of ONNX models is tested against onnxruntime")
skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx writes the models that are tested")

from onnx_sessions import Model, converted, ensemble_of, tree_model  # noqa: E402  # needs the packages above

CANCER = load_breast_cancer(return_X_y=True)
IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)


def holed(X, seed=0, share=0.1):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def two(y):
    return np.minimum(y, 1)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(max_depth=4, random_state=0),
        RandomForestClassifier(20, max_depth=5, random_state=0),
        ExtraTreesClassifier(90, max_depth=4, random_state=0),
        GradientBoostingClassifier(n_estimators=20, max_depth=3, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_classifiers_of_scikit_learn(model, classes):
    X, y = IRIS
    labels = np.array(["x", "y", "z"])[y if classes == 3 else two(y)]
    for target in (labels, y if classes == 3 else two(y) + 4):
        source = converted(model.fit(X[:, :3], target), 3)
        forest = agrees(source, as_array)
        assert forest.classes.tolist() == np.unique(target).tolist()
        sums_agree(forest, source.sums)
        proofs_hold(source, tp.Explainer(source), X[70, :3], as_array, n=500)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(max_depth=5, random_state=0),
        RandomForestRegressor(15, max_depth=5, random_state=0),
        ExtraTreesRegressor(15, max_depth=5, random_state=0),
        GradientBoostingRegressor(n_estimators=20, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_regressors_of_scikit_learn(model):
    X, y = DIABETES
    source = converted(model.fit(X, y), 10)
    agrees(source, as_array)
    proofs_hold(source, tp.Explainer(source, cuts=[140]), X[3], as_array, n=300)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kind", ["two", "three", "score"])
@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_boosters(library, kind, missing):
    module = pytest.importorskip(library, reason="its models are converted to ONNX")
    onnxmltools = pytest.importorskip("onnxmltools", reason="it converts boosted models to ONNX")
    X, y = CANCER if kind == "two" else IRIS
    X = holed(X) if missing else X
    prefix, options = ("LGBM", {"verbose": -1}) if library == "lightgbm" else ("XGB", {})
    model = getattr(module, prefix + ("Regressor" if kind == "score" else "Classifier"))
    model = model(n_estimators=12, max_depth=4, n_jobs=1, **options).fit(X, y)
    types = [("X", onnxmltools.convert.common.data_types.FloatTensorType([None, X.shape[1]]))]
    source = Model(getattr(onnxmltools, f"convert_{library}")(model, initial_types=types))
    forest = agrees(source, as_array)
    if missing:
        assert {column.missing for column in forest.columns} == {"expected"}
    if kind == "score":
        proofs_hold(source, tp.Explainer(source, cuts=[1]), X[3], as_array, n=300)
    else:
        sums_agree(forest, source.sums)
        proofs_hold(source, tp.Explainer(source), X[70], as_array, n=300)


def test_catboost():
    catboost = pytest.importorskip("catboost", reason="it writes ONNX itself")
    import tempfile

    for target in (IRIS[1], two(IRIS[1])):
        model = catboost.CatBoostClassifier(
            iterations=10, depth=3, verbose=0, allow_writing_files=False, thread_count=1
        )
        with tempfile.TemporaryDirectory() as folder:
            model.fit(IRIS[0], target).save_model(f"{folder}/model.onnx", format="onnx")
            proto = onnx.load(f"{folder}/model.onnx")
        agrees(Model(proto), as_array)  # of two classes it writes the weights of both


@pytest.mark.parametrize(
    "steps",
    [
        (StandardScaler(),),
        (SimpleImputer(), StandardScaler()),
        (SimpleImputer(strategy="median"), MinMaxScaler()),
        (RobustScaler(), SelectKBest(k=2), StandardScaler()),
    ],
    ids=lambda steps: "-".join(type(step).__name__ for step in steps),
)
def test_steps_before_the_trees(steps):
    X, y = IRIS
    X = holed(X) if isinstance(steps[0], SimpleImputer) else X
    pipeline = make_pipeline(*steps, RandomForestClassifier(15, max_depth=4, random_state=0)).fit(X, y)
    source = converted(pipeline, 4)
    forest = agrees(source, as_array)
    assert forest.n_columns == 4
    proofs_hold(source, tp.Explainer(source), X[70], as_array, n=500)


def test_an_input_for_each_column():
    X = pd.DataFrame(IRIS[0], columns=["a", "b", "c", "d"]).astype(np.float32)
    columns = ColumnTransformer([("scaled", StandardScaler(), ["c", "a"])], remainder="passthrough")
    pipeline = make_pipeline(columns, RandomForestClassifier(15, max_depth=4, random_state=0)).fit(X, IRIS[1])
    source = Model(skl2onnx.to_onnx(pipeline, X[:1], options={"zipmap": False}))
    forest = agrees(source, as_array)
    assert forest.column_names == ("a", "b", "c", "d")
    proofs_hold(source, tp.Explainer(source), X.iloc[70], as_array, n=500)


def test_float64_inputs():
    X, y = IRIS
    model = RandomForestClassifier(20, max_depth=4, random_state=0).fit(X, y)
    source = Model(skl2onnx.to_onnx(model, X[:1], options={"zipmap": False}))
    forest = agrees(source, as_array)
    assert forest.dtype == "float64"
    rows = boundary_rows(forest, 500)
    # The scores that onnxruntime shows are rounded to float32; its labels come from float64.
    assert np.array_equal(forest.add(forest.route(rows)).astype(np.float32), source.sums(rows))
    regressor = RandomForestRegressor(5, max_depth=3, random_state=0).fit(X, y)
    refused(skl2onnx.to_onnx(regressor, X[:1]), UnsupportedModelError, "float32 inputs")


@pytest.mark.parametrize("mode", ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"])
@pytest.mark.parametrize("tracks", [None, 0, 1])
def test_modes_and_missing_values(mode, tracks):
    values = [
        -1.0,
        np.nextafter(np.float32(0.5), np.float32(0)),
        0.5,
        np.nextafter(np.float32(0.5), np.float32(1)),
        2.0,
    ]
    rows = np.array([[x, z] for x in (*values, math.nan) for z in (0, 9, math.nan)], dtype=np.float32)
    source = Model(tree_model(modes=[mode, mode, "LEAF", "LEAF", "LEAF"], tracks=tracks))
    assert import_model(source).score(rows).tolist() == source.predict(rows).tolist()
    mixed = Model(tree_model(modes=[mode, "BRANCH_LEQ", "LEAF", "LEAF", "LEAF"], tracks=tracks))
    assert import_model(mixed).score(rows).tolist() == mixed.predict(rows).tolist()


def test_nodes_in_any_order():
    plain = import_model(tree_model())
    source = Model(tree_model(order=[0, 4, 2, 3, 1]))
    rows = boundary_rows(plain, 200)
    assert import_model(source).score(rows).tolist() == plain.score(rows).tolist() == source.predict(rows).tolist()


@pytest.mark.parametrize("ids", [[0], [1], [0, 1]], ids=str)
@pytest.mark.parametrize("labels", [[0, 1], [4, 7], ["no", "yes"]], ids=str)
@pytest.mark.parametrize("weights", [[0.9, 0.1, 0.2, 0.8], [0.9, -0.1, -0.2, 0.3]], ids=str)
def test_two_classes(ids, labels, weights):
    """With the weights of both, onnxruntime gives the second class if its sum is positive, however large the other."""
    rows = np.array([[-1, 0], [1, 0]], dtype=np.float32)
    leaves = [[weights[2 * leaf + k] for k in ids] for leaf in (0, 1)]
    source = Model(ensemble_of(leaves, ids=ids, labels=labels))
    assert import_model(source).predict(rows).tolist() == source.predict(rows).tolist()
    if ids == [0] and weights[1] > 0:
        biased = Model(ensemble_of(leaves, ids=ids, labels=labels, base_values=[-0.5]))
        assert import_model(biased).predict(rows).tolist() == biased.predict(rows).tolist()


def test_averages_and_base_values():
    rows = boundary_rows(import_model(tree_model()), 200)
    for options in ({"aggregate_function": "AVERAGE"}, {"base_values": [0.1]}, {"base_values": []}):
        source = Model(tree_model(**options, copies=3))
        assert import_model(source).score(rows).tolist() == source.predict(rows).tolist()
    refused(tree_model(aggregate_function="AVERAGE", base_values=[0.1]), UnsupportedModelError, "no base value")


def test_what_sessions_and_bytes_give():
    X, y = IRIS
    source = converted(RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y), 4)
    content = source.proto.SerializeToString()
    forest = import_model(source.proto)
    assert import_model(content) == forest
    assert import_model(onnxruntime.InferenceSession(content)) == forest


def test_files(tmp_path):
    X, y = IRIS
    source = converted(RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y), 4)
    onnx.save(source.proto, tmp_path / "model.onnx")
    assert load_model(tmp_path / "model.onnx") == import_model(source)
    assert import_model(onnxruntime.InferenceSession(tmp_path / "model.onnx")) == import_model(source)
    (tmp_path / "broken.onnx").write_bytes(b"no model at all")
    with pytest.raises(ForestFormatError, match=r"broken\.onnx cannot be read. The content must be an ONNX model"):
        load_model(tmp_path / "broken.onnx")


def test_without_the_packages(monkeypatch):
    source = converted(RandomForestClassifier(5, max_depth=3, random_state=0).fit(*IRIS), 4)
    forest = import_model(source.proto)
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    assert import_model(source.proto) == forest
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    refused(source.proto, MissingExtraError, r"treeproof\[onnx\]")


def test_probabilities():
    X, y = CANCER
    for model in (
        RandomForestClassifier(10, max_depth=4, random_state=0),
        GradientBoostingClassifier(n_estimators=10, random_state=0),
    ):
        source = converted(model.fit(X, y), 30)
        rows = boundary_rows(import_model(source), 200)
        shown = source.run(["probabilities"], source.fed(rows))[0][:, 1].astype(float)
        for p in (0.3, float(shown[3]), float(shown[8])):
            explained = tp.Explainer(source, threshold=p).forest
            assert explained.predict(rows).tolist() == (shown >= p).astype(int).tolist()
    several = converted(GradientBoostingClassifier(n_estimators=3).fit(*IRIS), 4)
    with pytest.raises(InputError, match="two classes"):
        tp.Explainer(several, threshold=0.5)


class TestRefusals:
    def test_name_what_is_not_understood(self):
        X, y = IRIS
        bagged = BaggingClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3).fit(X, y)
        refused(converted(bagged, 4), UnsupportedModelError, "first output must be the label .* explain the model that")
        linear = LogisticRegression(max_iter=500).fit(X, y)
        refused(converted(linear, 4), UnsupportedModelError, "first output must be")
        encoded = make_pipeline(OneHotEncoder(), RandomForestClassifier(3, max_depth=2)).fit(X[:, :1].astype(int), y)
        whole = skl2onnx.to_onnx(encoded, X[:1, :1].astype(np.int64))
        refused(whole, UnsupportedModelError, "float32 or float64")
        refused(Model(tree_model()), InputError, "no vote", vote="mean")

    @pytest.mark.parametrize(
        ("change", "match"),
        [
            ({"modes": ["BRANCH_EQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF"]}, "BRANCH_EQ"),
            ({"post_transform": "PROBIT"}, "PROBIT"),
            ({"aggregate_function": "MAX"}, "MAX"),
            ({"n_targets": 2}, "2 targets"),
            ({"target_ids": [0, 0], "target_nodeids": [2, 3], "target_treeids": [0, 0]}, "one weight in each leaf"),
        ],
        ids=str,
    )
    def test_of_settings(self, change, match):
        refused(tree_model(**change), UnsupportedModelError, match)

    def test_of_base_values_that_onnxruntime_does_not_add(self):
        changed = ensemble_of([[0.9, 0.1], [0.2, 0.8]], base_values=[0.1, 0.2])
        refused(changed, UnsupportedModelError, "base values only with weights of the first")
        second = ensemble_of([[0.1], [0.8]], ids=[1], base_values=[0.1])
        refused(second, UnsupportedModelError, "base values only with weights of the first")

    @pytest.mark.parametrize(
        "change",
        [
            {"nodes_truenodeids": [1, 2, 0, 0]},
            {"nodes_truenodeids": [1, 9, 0, 0, 0]},
            {"nodes_truenodeids": [1, 1, 0, 0, 0]},
            {"nodes_truenodeids": [1, 3, 0, 0, 0]},
            {"nodes_nodeids": [0, 1, 2, 2, 4]},
            {"nodes_treeids": [0, 1, 0, 0, 0]},
            {"nodes_featureids": [0, 5, 0, 0, 0]},
            {"nodes_values": [math.nan, 1.0, 0, 0, 0]},
            {"target_nodeids": [2, 3, 7]},
            {"target_ids": [0, 0, 1]},
            {"target_weights": [0.0, 1.0]},
        ],
        ids=str,
    )
    def test_of_damage(self, change):
        with pytest.raises(ForestFormatError):
            import_model(tree_model(**change))

    def test_of_a_cast_to_nothing(self):
        proto = tree_model()
        proto.graph.node.append(onnx.helper.make_node("Cast", ["Y"], ["Z"]))
        proto.graph.output[0].name = "Z"
        refused(proto, ForestFormatError, "damaged")
