"""Results as frames: a change goes back into the model's own predict, and rows keep the labels of their frame."""

import json
import pickle
import sys

import numpy as np
import pandas as pd
import polars
import pytest
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from xgboost import Booster, XGBClassifier

import treeproof as tp

WORDS = ["sex", "job"]


def table(n=160):
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "sex": rng.choice(["female", "male"], n),
            "credit amount": np.where(rng.random(n) < 0.1, np.nan, rng.normal(3000, 900, n).round(1)),
            "job": rng.choice(["skilled", "unskilled", "none"], n),
            "owner": rng.random(n) < 0.5,
        },
        index=[f"client {i}" for i in range(n)],
    )


def as_categories(frame):
    return frame.astype(dict.fromkeys(WORDS, "category"))


def pipeline(encoder, model):
    return make_pipeline(
        make_column_transformer(
            (encoder, WORDS), (SimpleImputer(), ["age", "credit amount", "owner"]), verbose_feature_names_out=False
        ),
        model,
    )


MODELS = {
    "forest": (pipeline(OneHotEncoder(sparse_output=False), RandomForestClassifier(5, max_depth=4)), None),
    "ordinal": (pipeline(OrdinalEncoder(), RandomForestClassifier(5, max_depth=4)), None),
    "histogram": (HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5), as_categories),
    "xgboost": (XGBClassifier(n_estimators=4, max_depth=3, enable_categorical=True), as_categories),
    "lightgbm": (LGBMClassifier(n_estimators=4, min_child_samples=4, verbose=-1), as_categories),
    "catboost": (
        CatBoostClassifier(
            4, depth=3, cat_features=WORDS, verbose=False, allow_writing_files=False, one_hot_max_size=9
        ),
        None,
    ),
}


def fitted(name):
    model, change = MODELS[name]
    frame = table() if change is None else change(table())
    y = ((frame["age"] > 40) ^ (frame["sex"] == "male") ^ (frame["credit amount"] > 3100)).astype(int)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    return model.fit(frame, y), frame


@pytest.mark.parametrize("name", MODELS)
def test_a_change_goes_back_into_predict(name):
    model, frame = fitted(name)
    if name == "xgboost" and not hasattr(Booster, "get_categories"):  # before 3.1 it keeps no labels of categories
        with pytest.raises(tp.InputError, match="it does not know which labels they stand for"):
            tp.Explainer(model, data=frame)
        return
    told = tp.Explainer(model, data=frame)
    untold = told if name == "catboost" else tp.Explainer(model)
    for i in range(0, 40, 5):
        for x, explainer in ((frame.iloc[[i]], untold), (frame.iloc[i], told), (frame.iloc[i], untold)):
            change = explainer.contrastive(x)
            again = change.to_frame()
            assert change.row == frame.index[i]
            assert model.predict(again).item() == change.witness_label
            assert list(again.columns) == list(frame.columns)
            assert list(again.index) == [frame.index[i]]
            kept = [c for c in frame if not isinstance(frame[c].dtype, pd.CategoricalDtype) and c not in WORDS]
            if explainer is told:
                assert all(again[c].dtype == frame[c].dtype or again[c].dtype == np.float64 for c in kept)
                assert all(again[c].dtype == frame[c].dtype for c in WORDS)
            else:
                assert again["sex"].dtype == frame["sex"].dtype or again["sex"].dtype == "category"
    flip = told.robustness(frame.iloc[[3]])
    assert model.predict(flip.to_frame()).item() == flip.witness_label
    wrong = told.review(frame.iloc[[3]], ["owner"])
    assert model.predict(wrong.to_frame()).item() == wrong.counterexample_label
    verdict = told.holds(frame.iloc[[3]], ["owner"])
    assert model.predict(verdict.to_frame()).item() == verdict.witness_label


def test_a_model_of_an_array_takes_the_frame_without_a_warning():
    X = np.random.default_rng(0).normal(size=(50, 3))
    for model in (RandomForestClassifier(3, random_state=0), XGBClassifier(n_estimators=3), LGBMClassifier(verbose=-1)):
        model.fit(X, (X[:, 0] > 0).astype(int))
        change = tp.Explainer(model).contrastive(X[0])
        assert model.predict(change.to_frame()).item() == change.witness_label


@pytest.fixture(scope="module")
def forest():
    model, frame = fitted("forest")
    return tp.Explainer(model, names={0: "good", 1: "bad"}), frame


def test_a_batch_is_a_sequence_of_results_named_by_the_index(forest):
    explainer, frame = forest
    found = explainer.batch(frame[:6], inflate=True)
    assert (
        found
        == [explainer.abductive(frame.iloc[i], inflate=True) for i in range(6)]
        == pickle.loads(pickle.dumps(found))
    )
    assert [why.row for why in found] == list(frame.index[:6]) == found[::-1].labels[::-1]
    assert isinstance(found[1:3], tp.Batch)
    assert len(repr(found)) < 100
    lines = found.to_frame()
    assert list(lines.index) == list(frame.index[:6])
    assert lines["label"].dtype == np.int64
    assert lines["name"].tolist() == [str(why.label) for why in found]
    assert lines["explanation"].iloc[0] == " and ".join(map(str, found[0].rule))
    assert json.loads(json.dumps(found.to_dict()))["rows"][2]["row"] == "client 2"


def test_a_batch_of_changes(forest):
    explainer, frame = forest
    found = explainer.batch(frame[:5], kind="contrastive", fixed=["age"], n_jobs=2)
    assert found == [explainer.contrastive(frame.iloc[i], fixed=["age"]) for i in range(5)]
    lines = found.to_frame()
    assert lines["new_label"].tolist() == [change.witness_label for change in found]
    assert lines["new_name"].tolist() == [str(change.witness_label) for change in found]
    assert "to" in str(found)
    with pytest.raises(tp.InputError, match=r"must be one of contrastive's. Got 'target_'. Did you mean 'target'"):
        explainer.batch(frame[:2], kind="contrastive", target_="bad")
    with pytest.raises(tp.InputError, match=r"must be one of abductive's. Got 'target'"):
        explainer.batch(frame[:2], target="bad")
    with pytest.raises(tp.InputError, match="'kind' parameter"):
        explainer.batch(frame[:2], kind="both")


def test_rows_are_named_by_their_label_in_errors_audits_and_comparisons(forest):
    explainer, frame = forest
    strange = frame[:3].copy()
    strange.loc["client 1", "sex"] = "unheard of"
    with pytest.raises(tp.InputError, match=r"^Row client 1: "):
        explainer.batch(strange)
    found = explainer.batch(strange, on_error="return")
    assert found.to_frame()["error"].notna().tolist() == [False, True, False]
    assert "1 not explained" in str(found)
    audit = explainer.audit(frame[:4], protected=["sex"])
    assert list(audit.to_frame().index) == list(frame.index[:4])
    assert [row.row for row in audit.rows] == list(frame.index[:4])
    assert [row.row for row in tp.compare(explainer, explainer, frame[:2]).rows] == ["client 0", "client 1"]


def test_conditions_as_a_frame(forest):
    explainer, frame = forest
    why = explainer.abductive(frame.iloc[0], inflate=True)
    lines = why.to_frame()
    assert lines["feature"].tolist() == list(why.feature_names)
    assert lines["text"].tolist() == [str(condition) for condition in why.rule]
    assert list(lines) == ["feature", "low", "high", "ranges", "values", "missing", "text"]


def test_types_are_widened_only_where_a_value_does_not_fit():
    forest = tp.build_forest(
        [tp.split("n", 1.5, tp.split("day", 10.5, "a", "b"), "a")], columns=["n", "day"], classes=["a", "b"]
    )
    frame = pd.DataFrame({"day": np.array(["0001-01-20"], dtype="datetime64[s]"), "n": np.array([2], dtype=np.int8)})
    whole = tp.Explainer(forest, kinds={"n": "ordinal", "day": "date"}).contrastive(frame).to_frame()
    assert whole.dtypes.to_dict() == {"n": np.dtype(np.int8), "day": np.dtype("datetime64[s]")}
    number = tp.Explainer(forest, kinds={"n": "ordinal", "day": "date"}).contrastive([2, 20]).to_frame()
    assert number.dtypes.tolist() == [np.int64, np.int64]
    real = tp.Explainer(forest).contrastive(pd.DataFrame({"n": [2], "day": [20]})).to_frame()
    assert real.dtypes.tolist() == [np.float64, np.int64]
    assert tp.Explainer(forest).contrastive(polars.DataFrame({"n": [2], "day": [20]})).to_frame().shape == (1, 2)


def test_no_change_is_a_frame_without_rows_and_pandas_is_asked_for(monkeypatch):
    forest = tp.build_forest([tp.leaf("a")], columns=["n"], classes=["a", "b"])
    change = tp.Explainer(forest).contrastive({"n": 1})
    assert change.to_frame().shape == (0, 1)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(tp.MissingExtraError, match="pip install pandas"):
        change.to_frame()
