"""Values that a pipeline's encoders do not know: a part of the space by the name "other", once they are declared."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder
from xgboost import XGBClassifier

import treeproof as tp
from importing import agrees, as_frame, proofs_hold, source_predict
from treeproof.errors import InputError
from treeproof.model.rows import as_rows

ENCODERS = {
    "ignore": OneHotEncoder(handle_unknown="ignore"),
    "ignore, drop": OneHotEncoder(handle_unknown="ignore", drop="first", sparse_output=False),
    "infrequent": OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=25),
    "warn": OneHotEncoder(handle_unknown="warn", max_categories=3),
    "ordinal": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    "ordinal, infrequent": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=9, min_frequency=25),
    "target": TargetEncoder(),
}
FINALS = {
    "forest": RandomForestClassifier(8, max_depth=5, random_state=0),
    "boosted": GradientBoostingClassifier(n_estimators=8, random_state=0),
    "xgboost": XGBClassifier(n_estimators=8, max_depth=4, n_jobs=1),
}
UNSEEN = {
    "city": ["Rome", "", "bern", "Bern ", "other", "a name longer than all that are known", "\u00e9"],
    "code": [0, 6, -1, 7.0, 2**31 - 1, np.int8(100)],
    "size": [-0.25, 2.0, 7, 1e300, 0.5000000000000001, np.float32(0.1)],
}


def people(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "city": pd.Series(rng.choice(["Bern", "Graz", "Lyon", "Oslo"], n, p=[0.4, 0.3, 0.2, 0.1]), dtype=object),
            "code": rng.choice([2, 3, 5], n),
            "size": rng.choice([0.5, 1.0, 1.5], n),
        }
    )
    y = X["age"] / 20 + 2 * (X["city"] == "Bern") - (X["code"] == 3) + X["size"] + rng.normal(size=n)
    return X, (y > y.median()).astype(int).to_numpy()


X, Y = people()


def fitted(encoder, final="forest", data=X, y=Y):
    final = FINALS[final] if isinstance(final, str) else final
    names = [name for name in data.columns if name != "age"]
    steps = ColumnTransformer([("number", StandardScaler(), ["age"]), ("name", encoder, names)])
    return make_pipeline(steps, final).fit(data, y)


def rows_of_unseen(n=600, seed=1):
    """Rows of which many hold values that no encoder knows, several at once."""
    rng = np.random.default_rng(seed)
    columns = {"age": rng.choice(X["age"], n)}
    for name, values in UNSEEN.items():
        choices = [*X[name].unique().tolist(), *values]
        picked = [choices[i] for i in rng.integers(len(choices), size=n)]
        columns[name] = pd.Series(picked, dtype=object if name == "city" else float)
    return pd.DataFrame(columns)


@pytest.mark.parametrize(
    ("name", "final"),
    [*((name, "forest") for name in ENCODERS), ("ignore", "boosted"), ("ignore", "xgboost"), ("target", "xgboost")],
)
def test_are_all_treated_alike(name, final):
    model = fitted(ENCODERS[name], final)
    forest = agrees(model, as_frame, n=500)
    assert [column.other for column in forest.columns] == [None, "other", "other", "other"]
    assert [column.categories for column in forest.columns[1:]] == [
        ("Bern", "Graz", "Lyon", "Oslo", "other"),
        (2, 3, 5, "other"),
        (0.5, 1.0, 1.5, "other"),
    ]
    rows = rows_of_unseen()
    assert forest.predict(rows).tolist() == source_predict(model, rows)
    for column, values in UNSEEN.items():
        one = pd.concat([X.iloc[[0]]] * len(values)).astype({"code": float}).assign(**{column: values})
        assert len(set(source_predict(model, one))) == 1
        assert len(np.unique(as_rows(one, forest.columns, forest.floats), axis=0)) == 1


@pytest.mark.parametrize("name", ENCODERS)
def test_explanations_hold_for_them(name):
    model = fitted(ENCODERS[name])
    explainer = tp.Explainer(model, other="all")
    rows = rows_of_unseen()
    proofs_hold(model, explainer, rows.iloc[0], as_frame, n=500)
    for i in (1, 2):
        x = rows.iloc[i]
        why = explainer.abductive(x)
        attacked = rows.assign(**{feature: [x[feature]] * len(rows) for feature in why.feature_names})
        assert set(source_predict(model, attacked)) == {why.label} == set(source_predict(model, rows.iloc[[i]]))
        assert tp.check(why.certificate(), model)
        for change in explainer.contrastives(x, 2):
            witness = pd.DataFrame([change.witness], columns=X.columns)
            assert source_predict(model, witness) == [change.witness_label] != [change.label]


def test_witnesses_hold_concrete_values():
    model = fitted(ENCODERS["ordinal"])
    explainer = tp.Explainer(model, other="all", bounds={name: ["other"] for name in UNSEEN})
    change = explainer.contrastive(pd.Series({"age": 20.0, "city": "Rome", "code": 7, "size": 9.0}))
    assert change.witness[1:] == ("other", 6, 2.0)
    assert [type(value) for value in change.witness[1:]] == [str, int, float]
    witness = pd.DataFrame([change.witness], columns=X.columns)
    assert source_predict(model, witness) == [change.witness_label]


def test_are_no_part_of_the_space_unless_declared():
    model = fitted(ENCODERS["ignore"])
    plain, known = tp.Explainer(model), tp.Explainer(fitted(OneHotEncoder()))
    assert [f.n_cells for f in plain.space.features] == [f.n_cells for f in known.space.features]
    for i in range(3):
        why = plain.abductive(X.iloc[i], inflate=True)
        assert str(why) == str(known.abductive(X.iloc[i], inflate=True))
        checked = tp.check(why.certificate(), model)
        assert "not other" in str(checked)
    for column, value in (("city", "Rome"), ("code", 7), ("size", 9.5)):
        x = X.iloc[0].to_dict() | {column: value}
        advice = rf"Feature '{column}' must be one of the . values .* Explainer\(model, other=\['{column}'\]\)"
        with pytest.raises(InputError, match=advice):
            plain.abductive(x)
        declared = tp.Explainer(plain.forest, other=[column])
        assert declared.abductive(x).label == source_predict(model, pd.DataFrame([x]))[0]
        with pytest.raises(InputError, match="other="):
            declared.abductive(x | {"city": "Rome", "code": 7})


def test_are_declared_by_data_that_hold_them():
    model = fitted(ENCODERS["target"])
    data = X.copy()
    data.loc[3, "city"] = "Rome"
    explainer = tp.Explainer(model, data=data)
    assert [feature.n_cells for feature in explainer.space.features[1:]] == [5, 3, 3]
    explainer = tp.Explainer(model, data=data[data["city"].isin(["Rome", "Bern"])], domain="observed")
    assert explainer.space.features[1].labels == ("Bern", "other")
    with pytest.raises(InputError, match="other="):
        tp.Explainer(model, data=data, other=[], domain="observed")


def test_can_be_declared_only_where_there_is_a_place():
    steps = ColumnTransformer(
        [
            ("place", OneHotEncoder(handle_unknown="ignore"), ["city"]),
            ("none", OneHotEncoder(), ["code"]),
            ("number", StandardScaler(), ["age"]),
            ("both", FeatureUnion([("code", ENCODERS["ordinal"]), ("number", "passthrough")]), ["size"]),
            ("flag", OneHotEncoder(handle_unknown="ignore"), ["flag"]),
        ]
    )
    model = make_pipeline(steps, FINALS["forest"]).fit(X.assign(flag=X["age"] > 50), Y)
    forest = tp.Explainer(model).forest
    assert [column.name for column in forest.columns if column.other is not None] == ["city"]
    for name in ("code", "age", "size", "flag"):
        with pytest.raises(InputError, match=rf"hold other values: one of \['city'\]. Got '{name}'"):
            tp.Explainer(forest, other=[name])
    with pytest.raises(InputError, match="Did you mean 'city'"):
        tp.Explainer(forest, other=["citi"])
    with pytest.raises(InputError, match=r"a list of columns, or 'all'\. Got 'city'"):
        tp.Explainer(forest, other="city")
    with pytest.raises(InputError, match="this model has none"):
        tp.Explainer(FINALS["forest"].fit(X[["age"]], Y), other=["age"])


def test_have_no_place_where_the_model_takes_no_gaps():
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=math.nan)
    refusing = GradientBoostingClassifier(n_estimators=3, random_state=0)
    assert all(column.other is None for column in tp.Explainer(fitted(encoder, refusing)).forest.columns)
    taking = HistGradientBoostingClassifier(max_iter=5, random_state=0)
    model = fitted(encoder, taking)
    assert tp.Explainer(model).forest.columns[1].other == "other"
    proofs_hold(model, tp.Explainer(model, other="all"), rows_of_unseen().iloc[0], as_frame, n=500)


@pytest.mark.parametrize(("unknown", "place"), [(-1, False), (math.nan, True)])
def test_of_categories_of_the_final_estimator(unknown, place):
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=unknown)
    final = HistGradientBoostingClassifier(max_iter=5, categorical_features=[1, 2], random_state=0)
    data = X.assign(city=X["city"].where(X["age"] < 70, math.nan))
    model = fitted(encoder, final, data=data)
    explainer = tp.Explainer(model, other="all")
    assert (explainer.forest.columns[1].other == "other") == place
    proofs_hold(model, explainer, data.iloc[0], as_frame, n=500)


def test_are_not_missing_values():
    data = X.assign(city=X["city"].where(X["age"] < 70, math.nan))
    model = fitted(make_pipeline(SimpleImputer(strategy="most_frequent"), ENCODERS["ignore"]), data=data)
    explainer = tp.Explainer(model, other="all")
    assert explainer.forest.columns[1].categories == ("Bern", "Graz", "Lyon", "Oslo", "other", None)
    proofs_hold(model, explainer, data.iloc[0], as_frame, n=500)
    strict = tp.Explainer(fitted(ENCODERS["ignore"]), other="all")
    for value in (None, math.nan, 3, True, "Bern\0"):
        with pytest.raises(InputError, match=r"'city' must be one of .*, where 'other' is any other text"):
            strict.abductive(X.iloc[0].to_dict() | {"city": value})
    for value in (math.nan, 7.5, 2.0**31, True, "7"):
        with pytest.raises(InputError, match=r"'code' must be one of .*, where 'other' is any other whole number"):
            strict.abductive(X.iloc[0].to_dict() | {"code": value})
    for value in (math.nan, math.inf, 2**53 + 1, 10**400, False):
        with pytest.raises(InputError, match=r"'size' must be one of .*, where 'other' is any other finite number"):
            strict.abductive(X.iloc[0].to_dict() | {"size": value})


def test_have_another_name_where_a_category_is_called_other():
    data = X.assign(city=X["city"].replace({"Oslo": "other"}), code=X["code"].astype(str).replace({"2": "other"}))
    data["code"] = data["code"].replace({"3": "another value"})
    model = fitted(ENCODERS["ordinal"], data=data)
    explainer = tp.Explainer(model, other="all")
    assert [column.other for column in explainer.forest.columns[1:3]] == ["another value", "another value?"]
    x = data.iloc[0].to_dict() | {"city": "Rome"}
    assert "city = another value" in str(explainer.abductive(x)) + str(explainer.space.features[1].condition({4}))
    proofs_hold(model, explainer, x, as_frame, n=500)


def test_of_arrays_of_text():
    table = X[["city"]].to_numpy(dtype=str)
    table = np.column_stack([table, X["code"].to_numpy().astype(str)])
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), FINALS["forest"]).fit(table, Y)
    explainer = tp.Explainer(model, other="all")
    rows = np.array([[city, code] for city in ("Bern", "Rome", "a much longer name") for code in ("2", "9", "")])
    assert explainer.forest.predict(rows).tolist() == model.predict(rows).tolist()
    assert explainer.forest.predict(rows.tolist()).tolist() == model.predict(rows.tolist()).tolist()


def test_of_narrow_and_large_numbers():
    data = pd.DataFrame({"age": X["age"], "small": X["code"].to_numpy(np.uint8) + np.uint8(250)})
    data["large"] = np.where(X["code"] == 2, 2**60, 2**60 + 1)
    data["real"] = X["size"].to_numpy(np.float32)
    model = fitted(ENCODERS["ordinal"], data=data)
    forest = agrees(model, as_frame, n=500)
    assert [column.unlisted() for column in forest.columns[1:]] == [256, 0, 2.0]
    rows = pd.DataFrame({"age": 50.0, "small": [252, 256, 3, 0], "large": [2**60 + 1, 0, 2**60, 4], "real": 7.5})
    assert forest.predict(rows).tolist() == source_predict(model, rows)


def test_in_files(tmp_path):
    model = fitted(ENCODERS["infrequent"])
    forest = tp.Explainer(model).forest
    tp.save_forest(forest, tmp_path / "forest.json")
    loaded = tp.load_forest(tmp_path / "forest.json")
    assert loaded == forest
    assert loaded.columns[1].other_expected is False
    explainer, again = tp.Explainer(model, other=["city"]), tp.Explainer(loaded, other=["city"])
    x = X.iloc[0].to_dict() | {"city": "Rome"}
    assert str(again.abductive(x)) == str(explainer.abductive(x))
    checked = tp.check(explainer.abductive(x).certificate(), tmp_path / "forest.json")
    assert "code, size: not other" in str(checked)
    assert "city is other" in str(checked)
    with pytest.raises(InputError, match="other="):
        tp.Explainer(loaded).abductive(x)
