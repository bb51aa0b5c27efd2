from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest, VarianceThreshold
from sklearn.impute import IterativeImputer, KNNImputer, MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier, XGBRegressor

import treeproof as tp
from catalogue.pipelines import QUANTILES, people
from importing import agrees, as_array, as_categories, as_frame, mixed_data, proofs_hold, source_predict
from treeproof.checker import CheckError, Model, Space
from treeproof.errors import InputError, NotFittedError, UnsupportedModelError
from treeproof.model.files import forest_from_json, forest_to_json
from treeproof.model.floats import FLOAT32, rounded_up_to
from treeproof.model.importers import carry_back, import_model
from treeproof.model.importers.pieces import Pieces
from treeproof.model.importers.selfcheck import boundary_rows
from treeproof.model.rows import is_missing

pytestmark = pytest.mark.slow

NUMERIC = ["age", "bmi", "bp", "s5", "s6"]
NAMED = ["sex", "weight"]
FRAME, SCORES = mixed_data(n=160)
FULL = FRAME[NUMERIC].fillna(1.0)  # without missing values
LABELS, LABELS3 = (
    np.array(["a", "b", "c"])[np.searchsorted(np.quantile(SCORES, cuts), SCORES)] for cuts in ([0.5], [0.3, 0.7])
)


def forest(**options):
    return RandomForestClassifier(8, max_depth=5, random_state=0, **options)


def mixed(numeric=None, named=None, **options):
    """A pipeline's usual first step."""
    numeric = make_pipeline(SimpleImputer(), StandardScaler()) if numeric is None else numeric
    named = OneHotEncoder() if named is None else named
    return ColumnTransformer([("number", numeric, NUMERIC), ("name", named, NAMED)], **options)


def explained(model, row, rows_as=as_frame, *, n=1000):
    """The import agrees with the pipeline, and what is proved of it holds there; return both."""
    imported = agrees(model, rows_as, n=n)
    return imported, proofs_hold(model, tp.Explainer(imported), row, rows_as, n=n)


FINALS = {
    "tree": DecisionTreeClassifier(max_depth=6, random_state=0),
    "forest": forest(),
    "extra": ExtraTreesClassifier(8, max_depth=5, random_state=0),
    "majority": tp.MajorityForestClassifier(8, max_depth=5, random_state=0),
    "boosted": GradientBoostingClassifier(n_estimators=8, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5, random_state=0),
    "xgboost": XGBClassifier(n_estimators=8, max_depth=4, n_jobs=1),
    "lightgbm": LGBMClassifier(n_estimators=8, num_leaves=8, min_child_samples=5, n_jobs=1, verbose=-1),
}


def fitted(steps, final, X, labels=LABELS):
    final = clone(FINALS[final]) if isinstance(final, str) else final
    known = np.unique(labels, return_inverse=True)[1] if isinstance(final, XGBClassifier) else labels
    return make_pipeline(*(clone(step) for step in steps), final).fit(X, known)


class TestFinalEstimators:
    @pytest.mark.parametrize("name", FINALS)
    def test_are_followed_to_the_input(self, name):
        labels = LABELS if name in ("forest", "majority") else LABELS3
        model = fitted([mixed()], name, FRAME, labels)
        imported, _ = explained(model, FRAME.iloc[1], n=3000)
        assert imported.column_names == tuple(FRAME.columns)
        assert imported.columns[-1].categories == ("fit", "high", "low", "top")

    @pytest.mark.parametrize("name", ["boosted", "histogram", "xgboost", "lightgbm"])
    def test_of_two_classes_are_too(self, name):
        explained(fitted([mixed(named=OrdinalEncoder())], name, FRAME), FRAME.iloc[2])

    @pytest.mark.parametrize(
        "final",
        [
            RandomForestRegressor(8, max_depth=5, random_state=0),
            GradientBoostingRegressor(n_estimators=8, random_state=0),
            HistGradientBoostingRegressor(max_iter=8, min_samples_leaf=5, random_state=0),
            XGBRegressor(n_estimators=8, max_depth=4, n_jobs=1),
            LGBMRegressor(n_estimators=8, num_leaves=8, n_jobs=1, verbose=-1),
        ],
        ids=lambda final: type(final).__name__,
    )
    def test_may_be_regressors(self, final):
        model = make_pipeline(mixed(), clone(final)).fit(FRAME, SCORES)
        imported = agrees(model, as_frame)
        row = FRAME.iloc[[4]]
        why = tp.Explainer(imported).around(row, 30).abductive(row)
        assert why.label.startswith("within 30")
        assert imported.score(row)[0] == model.predict(row)[0]
        # Whatever the others are, the score stays where it was proved to.
        rows = as_frame(imported, boundary_rows(imported, 1000))
        for name in why.feature_names:
            rows[name] = row[name].iloc[0]
        assert (np.abs(model.predict(rows) - model.predict(row)) <= 30 + 1e-4).all()

    def test_may_vote_by_majority(self):
        model = fitted([mixed()], "forest", FRAME, LABELS3)
        imported = import_model(model, vote="majority")
        votes = np.array([tree.predict(model[:-1].transform(FRAME)).astype(int) for tree in model[-1].estimators_])
        counts = [np.bincount(column, minlength=3) for column in votes.T]
        assert imported.predict(FRAME).tolist() == model.classes_[np.argmax(counts, axis=1)].tolist()

    def test_may_have_a_threshold_and_a_confidence(self):
        model = fitted([mixed()], "boosted", FRAME)
        second = model.predict_proba(FRAME)[:, 1]
        strict = tp.Explainer(model, threshold=0.7).forest
        assert strict.predict(FRAME).tolist() == np.where(second >= 0.7, "b", "a").tolist()
        sure = tp.Explainer(model, confidence=0.6).forest.predict(FRAME)
        assert sure.tolist() == np.where(second >= 0.6, "b", np.where(1 - second >= 0.6, "a", "uncertain")).tolist()

    def test_with_several_jobs_are_taken(self):
        agrees(fitted([mixed()], forest(n_jobs=2), FRAME), as_frame, n=200)

    def test_may_be_in_a_search_or_a_pipeline_of_its_own(self):
        search = GridSearchCV(make_pipeline(mixed(), forest()), {"randomforestclassifier__max_depth": [2, 4]}, cv=2)
        agrees(search.fit(FRAME, LABELS), as_frame, n=500)
        inside = GridSearchCV(make_pipeline(SelectKBest(k=6), MinMaxScaler(), forest()), {"minmaxscaler__clip": [True]})
        explained(fitted([mixed()], inside.set_params(cv=2), FRAME), FRAME.iloc[5])

    def test_alone_are_taken_as_they_are(self):
        model = Pipeline([("nothing", "passthrough"), ("none", None), ("forest", forest())]).fit(FULL, LABELS)
        assert import_model(model) == import_model(model[-1])

    @pytest.mark.parametrize("final", [LogisticRegression(), RFE(forest()), "passthrough"])
    def test_of_other_kinds_are_refused(self, final):
        model = Pipeline([("scale", StandardScaler()), ("final", final)]).fit(FULL, LABELS)
        with pytest.raises(UnsupportedModelError, match="must be a fitted tree ensemble"):
            import_model(model)

    def test_must_be_fitted(self):
        with pytest.raises(NotFittedError, match="Pipeline"):
            import_model(make_pipeline(StandardScaler(), forest()))


SCALERS = {
    "standard": StandardScaler(),
    "no mean": StandardScaler(with_mean=False),
    "no deviation": StandardScaler(with_std=False, copy=False),
    "range": MinMaxScaler(),
    "clipped": MinMaxScaler(feature_range=(-3, 1), clip=True),
    "largest": MaxAbsScaler(),
    "robust": RobustScaler(),
    "robust, normal": RobustScaler(unit_variance=True, quantile_range=(5, 95), with_centering=False),
    "binary": make_pipeline(MinMaxScaler(), Binarizer(threshold=0.4)),
    "bins": KBinsDiscretizer(4, encode="ordinal", **QUANTILES),
    "one column per bin": KBinsDiscretizer(4, **QUANTILES),
    "dense bins": KBinsDiscretizer(5, encode="onehot-dense", strategy="uniform"),
    "floor": FunctionTransformer(np.floor),
    "rint": FunctionTransformer(np.rint, validate=True),
    "float32": FunctionTransformer(np.float32),
    "nothing": FunctionTransformer(),
    "chain": make_pipeline(StandardScaler(), MinMaxScaler((2, 9)), RobustScaler(), MaxAbsScaler()),
    "binned, scaled": make_pipeline(
        StandardScaler(), KBinsDiscretizer(3, encode="onehot-dense", strategy="uniform"), StandardScaler()
    ),
}


class TestScalers:
    # The others are in the catalogue just so.
    @pytest.mark.parametrize(
        "name", [name for name in SCALERS if name not in ("standard", "largest", "robust", "bins", "floor", "nothing")]
    )
    def test_are_followed_to_the_last_float(self, name):
        imported, _ = explained(fitted([SCALERS[name]], "forest", FULL), FULL.iloc[7])
        assert imported.dtype == "float64"

    @pytest.mark.parametrize("final", ["boosted", "histogram", "xgboost", "lightgbm"])
    @pytest.mark.parametrize("name", ["chain", "binned, scaled"])
    def test_are_followed_in_boosted_models_too(self, name, final):
        explained(fitted([SCALERS[name]], final, FULL), FULL.iloc[7])

    @pytest.mark.parametrize("name", ["standard", "bins", "chain"])
    def test_take_arrays_by_position(self, name):
        imported, _ = explained(fitted([SCALERS[name]], "forest", FULL.to_numpy()), FULL.to_numpy()[7], as_array)
        assert imported.column_names == ("x0", "x1", "x2", "x3", "x4")

    @pytest.mark.parametrize("width", [1e-12, 1e-3, 1e12, 1e30])
    @pytest.mark.parametrize("centre", [0.0, 1.0, -1e6, 1e20])
    def test_may_lose_many_numbers_to_rounding(self, centre, width):
        rng = np.random.default_rng(1)
        X = centre + width * rng.normal(size=(120, 2))
        y = (X[:, 0] > np.median(X[:, 0])) ^ (X[:, 1] > np.median(X[:, 1]))
        for scaler in (StandardScaler(), MinMaxScaler(), RobustScaler()):
            model = fitted([scaler], "tree", X, y)
            imported = import_model(model)
            rows = boundary_rows(imported, 2000, seed=1)
            assert imported.predict(rows).tolist() == model.predict(rows).tolist()

    @pytest.mark.parametrize("final", ["forest", "histogram", "lightgbm"])
    def test_of_constant_columns_are_followed(self, final):
        X = FULL.assign(same=3.0, zero=0.0)
        imported, why = explained(fitted([StandardScaler(), MinMaxScaler()], final, X), X.iloc[3])
        assert imported.column_names == tuple(X.columns)
        assert not {"same", "zero"} & set(why.feature_names)

    def test_may_overflow_on_the_way(self):
        X = pd.DataFrame({"tiny": np.linspace(0, 1e-12, 60), "plain": np.tile([1.0, 2.0, 3.0], 20)})
        model = fitted([MinMaxScaler(), FunctionTransformer(np.float32)], "histogram", X, np.arange(60) > 30)
        imported = agrees(model, as_frame)
        far = pd.DataFrame({"tiny": [1e300, -1e300, 1e307], "plain": [2.0, 3.0, 1e308]})
        with np.errstate(over="ignore"):
            assert imported.predict(far).tolist() == source_predict(model, far)

    def test_send_what_overflows_where_a_split_of_missing_values_sends_all_numbers(self):
        X = pd.DataFrame({"x": np.where(np.arange(80) % 2, np.nan, 1e-12)})
        model = fitted([MaxAbsScaler()], "histogram", X, np.arange(80) % 2)
        assert np.isinf(model[-1]._predictors[0][0].nodes["num_threshold"][0])
        far = pd.DataFrame({"x": [1e300, -1e300, 0.0, math.nan]})
        with np.errstate(over="ignore"):
            assert import_model(model).predict(far).tolist() == model.predict(far).tolist() == [0, 0, 0, 1]

    def test_bins_are_one_range_each(self):
        X = pd.DataFrame({"x": np.arange(100.0), "z": np.tile([0.0, 1.0], 50)})
        model = fitted([KBinsDiscretizer(5, strategy="uniform")], "tree", X, (X["x"] // 20) % 2 == 1)
        _, why = explained(model, [45.0, 1.0])
        assert [str(condition) for condition in why.rule] == ["39.6 <= x <= 59.4"]

    @pytest.mark.parametrize("final", ["forest", "boosted", "xgboost"])
    def test_bins_have_a_place_for_what_is_imputed(self, final):
        steps = [SimpleImputer(add_indicator=final != "xgboost"), KBinsDiscretizer(4, strategy="uniform")]
        imported, _ = explained(fitted(steps, final, FRAME[NUMERIC]), FRAME[NUMERIC].iloc[7], n=3000)
        assert {column.missing for column in imported.columns} == {"expected"}

    def test_bins_may_lose_some_of_their_columns(self):
        steps = [SCALERS["dense bins"], VarianceThreshold(0.15), StandardScaler()]
        explained(fitted(steps, "forest", FULL), FULL.iloc[7])

    def test_bins_that_make_huge_trees_are_refused(self, monkeypatch):
        monkeypatch.setattr("treeproof.model.importers.pieces._NODES_ANYWAY", 0)
        monkeypatch.setattr("treeproof.model.importers.pieces._LARGEST_GROWTH", 1)
        model = fitted([SCALERS["dense bins"]], RandomForestClassifier(5, random_state=0), FULL)
        with pytest.raises(UnsupportedModelError, match=r"KBinsDiscretizer.* too large.* encode='ordinal'"):
            import_model(model)

    @pytest.mark.parametrize("final", ["forest", "histogram", "xgboost"])
    def test_a_root_makes_negative_numbers_missing(self, final):
        X = FULL - FULL.median()
        with np.errstate(invalid="ignore"):
            model = fitted([FunctionTransformer(np.sqrt)], final, X)
        imported = import_model(model)
        rng = np.random.default_rng(0)
        rows = boundary_rows(imported, 2000)
        rows[rng.random(rows.shape) < 0.2] *= -1
        rows[rng.random(rows.shape) < 0.1] = 0.0
        rows[rng.random(rows.shape) < 0.1] = -5e-324
        with np.errstate(invalid="ignore"):
            expected = source_predict(model, pd.DataFrame(rows, columns=X.columns))
        assert imported.predict(rows).tolist() == expected
        with pytest.raises(UnsupportedModelError, match="before sqrt, which makes missing values"):
            import_model(fitted([FunctionTransformer(np.sqrt), SimpleImputer()], "forest", FULL.abs()))


class TestImputers:
    @pytest.mark.parametrize("where", [NUMERIC, NAMED], ids=["numbers", "names"])
    def test_whose_indicators_are_encoded_add_no_categories(self, where):
        X = FRAME.mask(np.random.default_rng(1).random(FRAME.shape) < 0.1)
        encoder = OneHotEncoder(handle_unknown="ignore")
        gaps = make_pipeline(MissingIndicator(), encoder)
        filled = make_pipeline(SimpleImputer(strategy="most_frequent", add_indicator=where == NAMED), encoder)
        values = SimpleImputer() if where == NUMERIC else filled
        model = fitted([ColumnTransformer([("gap", gaps, where), ("value", values, where)])], "forest", X)
        imported, _ = explained(model, X.iloc[1])
        labels = [column.categories for column in imported.columns]
        assert labels == 5 * [None] if where == NUMERIC else [c[-2:] for c in labels] == 2 * [("other", None)]

    @pytest.mark.parametrize(
        "imputer",
        [
            SimpleImputer(),
            SimpleImputer(strategy="median"),
            SimpleImputer(strategy="most_frequent"),
            SimpleImputer(strategy="constant", fill_value=-7),
            SimpleImputer(add_indicator=True),
        ],
        ids=repr,
    )
    def test_say_where_missing_numbers_go(self, imputer):
        final = "boosted" if imputer.strategy == "median" or imputer.add_indicator else "forest"
        row = FRAME[NUMERIC].iloc[8].copy()
        row["bmi"] = math.nan
        imported, why = explained(fitted([imputer, StandardScaler()], final, FRAME[NUMERIC]), row)
        assert {column.missing for column in imported.columns} == {"expected"}
        assert math.isnan(why.instance[1])

    @pytest.mark.parametrize("named", [True, False])
    def test_leave_cuts_where_they_are(self, named):
        rng = np.random.default_rng(0)
        X = np.round(rng.normal(size=(200, 3)), 2)
        X[rng.random(X.shape) < 0.1] = np.nan
        y = np.nansum(X, axis=1) > 0
        table = pd.DataFrame(X, columns=list("abc")) if named else X
        pipeline = make_pipeline(SimpleImputer(), RandomForestClassifier(20, random_state=0)).fit(table, y)
        inner, forest = import_model(pipeline[-1]), import_model(pipeline)
        assert forest.feature.tolist() == inner.feature.tolist()
        splits = inner.feature >= 0
        assert forest.threshold[splits].tolist() == rounded_up_to(inner.threshold[splits], FLOAT32).tolist()

    @pytest.mark.filterwarnings("ignore:Skipping features without any observed")
    @pytest.mark.parametrize("keep", [False, True])
    def test_may_drop_empty_columns(self, keep):
        imputer = SimpleImputer(add_indicator=True, keep_empty_features=keep)
        imported = agrees(fitted([imputer], "forest", FRAME[NUMERIC].assign(bp=math.nan)), as_frame, n=500)
        assert imported.column_names == tuple(NUMERIC)

    @pytest.mark.parametrize(
        "imputer",
        [
            SimpleImputer(strategy="most_frequent"),
            SimpleImputer(strategy="constant", fill_value="missing"),
            SimpleImputer(strategy="constant", fill_value="other"),
        ],
        ids=repr,
    )
    def test_say_where_missing_names_go(self, imputer):
        X = FRAME.astype(dict.fromkeys(NAMED, object))
        X.loc[::7, "weight"] = math.nan
        model = fitted([mixed(named=make_pipeline(imputer, OneHotEncoder()))], "forest", X)
        imported, why = explained(model, X.iloc[7])
        assert None in imported.columns[-1].categories
        assert is_missing(why.instance[-1])
        for gone in (math.nan, pd.NA):
            assert imported.predict([[*X.iloc[7, :-1], gone]]) == model.predict(X.iloc[[7]])
        with pytest.raises(tp.InputError, match="Column 'weight' must hold NaN where a value is missing"):
            imported.predict([[*X.iloc[7, :-1], None]])

    def test_tell_none_if_told_to(self):
        names = pd.Series([None if i % 7 == 0 else v for i, v in enumerate(FRAME["weight"])], dtype=object)
        X = pd.DataFrame({"weight": names, "sex": FRAME["sex"].astype(object)})
        steps = [SimpleImputer(missing_values=None, strategy="most_frequent"), OneHotEncoder()]
        model = fitted(steps, "forest", X)
        imported = import_model(model)
        assert imported.predict(X).tolist() == model.predict(X).tolist()

    @pytest.mark.parametrize(
        ("final", "indicator"),
        [("forest", True), ("forest", False), ("boosted", True), ("histogram", False), ("lightgbm", True)],
    )
    def test_may_take_a_number_for_missing(self, final, indicator):
        X = FRAME[NUMERIC].fillna(-1)
        steps = [SimpleImputer(missing_values=-1, add_indicator=indicator), StandardScaler()]
        model = fitted(steps, final, X)
        imported, _ = explained(model, X.iloc[3])
        assert {column.missing for column in imported.columns} == {"never"}
        rows = boundary_rows(imported, 500)
        rng = np.random.default_rng(0)
        for value in (-1.0, np.nextafter(-1, 0), np.nextafter(-1, -2)):
            rows[rng.random(rows.shape) < 0.2] = value
        assert imported.predict(rows).tolist() == source_predict(model, pd.DataFrame(rows, columns=X.columns))

    def test_may_take_a_name_for_missing(self):
        X = FRAME[NAMED].copy()
        X.loc[::7, "weight"] = "?"
        model = fitted([SimpleImputer(missing_values="?", strategy="most_frequent"), OneHotEncoder()], "forest", X)
        imported = import_model(model)
        assert imported.columns[1].categories == ("fit", "high", "low", "top", "?")
        assert imported.predict(X).tolist() == model.predict(X).tolist()

    def test_that_take_a_number_for_missing_come_first(self):
        steps = [StandardScaler(), SimpleImputer(missing_values=-1)]
        with pytest.raises(UnsupportedModelError, match=r"missing_values=-1 must come before.* after StandardScaler"):
            import_model(fitted(steps, "forest", FULL))

    def test_are_not_needed_where_the_model_has_a_place_for_missing_values(self):
        model = fitted([StandardScaler()], "forest", FRAME[NUMERIC])
        imported, _ = explained(model, FULL.iloc[1])
        assert {column.missing for column in imported.columns} == {"possible"}
        expected = fitted([StandardScaler()], "histogram", FRAME[NUMERIC])
        assert {column.missing for column in import_model(expected).columns} == {"expected"}

    def test_are_needed_elsewhere(self):
        imported = agrees(fitted([StandardScaler()], "boosted", FULL), as_frame, n=300)
        assert {column.missing for column in imported.columns} == {"never"}
        binned = agrees(fitted([SCALERS["bins"]], "histogram", FULL), as_frame, n=300)
        assert {column.missing for column in binned.columns} == {"never"}
        with pytest.raises(InputError, match="'age' must not be missing"):
            tp.Explainer(binned).abductive([math.nan, 1, 2, 3, 4])


ENCODERS = {  # beside those of the catalogue
    "dense": OneHotEncoder(sparse_output=False, dtype=np.float32),
    "infrequent": OneHotEncoder(min_frequency=30, handle_unknown="infrequent_if_exist"),
    "listed": OneHotEncoder(categories=[["two", "one", "none"], ["low", "fit", "high", "top", "never"]]),
    "ordinal, unknown": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, dtype=np.float32),
    "scaled": make_pipeline(OneHotEncoder(sparse_output=False), StandardScaler()),
    "sparse, scaled": make_pipeline(OneHotEncoder(), StandardScaler(with_mean=False), MaxAbsScaler()),
    "ordinal, one-hot": make_pipeline(OrdinalEncoder(), OneHotEncoder()),
    "ordinal, bins": make_pipeline(OrdinalEncoder(), KBinsDiscretizer(2, strategy="uniform")),
}


class TestEncoders:
    @pytest.mark.parametrize("name", ENCODERS)
    def test_are_followed_by_label(self, name):
        imported, why = explained(fitted([mixed(named=ENCODERS[name])], "forest", FRAME), FRAME.iloc[11])
        assert set(imported.columns[-1].categories) >= {"fit", "high", "low", "top"}
        assert why.instance[-2:] == tuple(FRAME[NAMED].iloc[11])

    @pytest.mark.parametrize(
        ("encoder", "final"),
        [
            *((OneHotEncoder(sparse_output=False), final) for final in ("forest", "boosted", "xgboost")),
            # Missing values reach the model, which boosted trees of scikit-learn do not take.
            *((OrdinalEncoder(), final) for final in ("forest", "histogram", "xgboost", "lightgbm")),
            *((OrdinalEncoder(encoded_missing_value=-1), final) for final in ("boosted", "lightgbm")),
            *((OneHotEncoder(sparse_output=False, min_frequency=40), final) for final in ("forest", "histogram")),
        ],
        ids=str,
    )
    def test_may_have_seen_missing_values(self, encoder, final):
        X = FRAME[NAMED].assign(bmi=FULL["bmi"]).astype(dict.fromkeys(NAMED, object))
        X.loc[::5, "weight"] = math.nan
        steps = ColumnTransformer([("name", encoder, NAMED)], remainder="passthrough")
        imported, _ = explained(fitted([steps], final, X), X.iloc[5])
        assert imported.columns[1].categories == ("fit", "high", "low", "top", None)

    def test_are_followed_by_boosted_models_that_know_categories(self):
        for final in (
            HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5, categorical_features=[0, 1]),
            LGBMClassifier(n_estimators=8, min_child_samples=5, verbose=-1, n_jobs=1),
        ):
            steps = ColumnTransformer([("name", OrdinalEncoder(), NAMED)], remainder="passthrough")
            fit = {} if "Hist" in type(final).__name__ else {"lgbmclassifier__categorical_feature": [0, 1]}
            model = make_pipeline(steps, final).fit(FRAME, LABELS, **fit)
            imported, _ = explained(model, FRAME.iloc[5])
            assert imported.columns[-1].categories == ("fit", "high", "low", "top")

    @pytest.mark.parametrize("values", [[1, 2, 3], [0.5, 1.5, math.nan], [True, False, True], ["x", "1", "y"]], ids=str)
    @pytest.mark.parametrize("named", [True, False])
    def test_take_values_of_any_type(self, values, named):
        X = pd.DataFrame({"c": [values[i % 3] for i in range(90)], "x": np.arange(90.0)})
        X = X if named else X.to_numpy(dtype=object if isinstance(values[0], str) else float)
        y = np.arange(90) % 3 == 0
        steps = ColumnTransformer([("c", OneHotEncoder(), [0]), ("x", "passthrough", [1])])
        model = fitted([steps], "tree", X, y)
        imported = agrees(model, as_frame if named else as_array)
        assert imported.predict(X).tolist() == model.predict(X).tolist()

    def test_make_one_feature_of_a_column_that_is_scaled_too(self):
        X = FRAME.assign(children=np.arange(160) % 4)
        steps = ColumnTransformer(
            [("code", OneHotEncoder(), ["children", "sex"]), ("scale", StandardScaler(), ["children", "bp"])]
        )
        model = fitted([steps, StandardScaler(with_mean=False)], "forest", X.fillna({"bp": 80.0}))
        imported, _ = explained(model, X.fillna({"bp": 80.0}).iloc[3])
        assert imported.column_names == ("bp", "sex", "children")
        assert imported.columns[2].categories == (0, 1, 2, 3)

    @pytest.mark.parametrize("labels", [LABELS, LABELS3], ids=["two classes", "three"])
    def test_of_targets_make_numbers_of_categories(self, labels):
        X = FRAME.astype(dict.fromkeys(NAMED, object))
        X.loc[::9, "weight"] = math.nan
        model = fitted([mixed(named=TargetEncoder())], "forest", X, labels)
        imported, _ = explained(model, X.iloc[9])
        assert imported.columns[-1].categories == ("fit", "high", "low", "top", "other", None)

    def test_may_know_different_categories_of_one_column(self):
        steps = ColumnTransformer(
            [
                ("some", OneHotEncoder(categories=[["low", "fit", "high", "top"]]), ["weight"]),
                ("more", OrdinalEncoder(categories=[["top", "high", "fit", "low", "other"]]), ["weight"]),
            ]
        )
        assert import_model(fitted([steps], "forest", FRAME)).columns[0].categories == ("low", "fit", "high", "top")

    def test_of_changed_numbers_are_refused(self):
        steps = [KBinsDiscretizer(3, encode="ordinal", strategy="uniform"), OneHotEncoder()]
        with pytest.raises(UnsupportedModelError, match=r"OneHotEncoder must encode values of the input.* KBins"):
            import_model(fitted(steps, "forest", FULL))

    @pytest.mark.parametrize("encoder", [OneHotEncoder(), OneHotEncoder(handle_unknown="ignore"), OrdinalEncoder()])
    @pytest.mark.parametrize("gaps", [(None, math.nan), (None, "d"), (math.nan, "d")])
    def test_that_tell_none_from_nan_refuse_the_rows_with_the_odd_one(self, encoder, gaps):
        X = pd.DataFrame({"c": pd.Series(["a", "b", *gaps] * 20, dtype=object)})
        model = fitted([encoder], "tree", X, np.arange(80) % 4)
        imported = import_model(model)
        missing, odd = (None, math.nan) if gaps == (None, "d") else (math.nan, None)
        taken = pd.DataFrame({"c": pd.Series(["a", "b", missing], dtype=object)})
        assert imported.predict(taken).tolist() == model.predict(taken).tolist()
        with pytest.raises(
            tp.InputError, match=rf"Column 'c' must hold {imported.columns[0].gap} where a value is missing"
        ):
            imported.predict(pd.DataFrame({"c": pd.Series([odd], dtype=object)}))
        again = forest_from_json(forest_to_json(imported))
        assert again == imported
        change = tp.Explainer(model).contrastive(taken.iloc[0], target=imported.predict(taken)[2])
        shown = pd.DataFrame({"c": pd.Series(list(change.witness), dtype=object)})
        assert model.predict(shown)[0] == change.witness_label


ROUGH_STEPS = {
    **{name: FunctionTransformer(getattr(np, name)) for name in ("log", "log1p", "log10", "cbrt", "arcsinh")},
    "exp": make_pipeline(MinMaxScaler(), FunctionTransformer(np.exp)),
    "yeo-johnson": PowerTransformer(),
    "box-cox": PowerTransformer(method="box-cox", standardize=False),
    "uniform": QuantileTransformer(n_quantiles=30),
    "normal": QuantileTransformer(n_quantiles=30, output_distribution="normal"),
    "several": make_pipeline(FunctionTransformer(np.log1p), PowerTransformer()),
}


class TestRoughSteps:
    """Steps that rise, but for their rounding errors."""

    @pytest.mark.parametrize(("name", "final"), list(zip(ROUGH_STEPS, 6 * ["forest", "lightgbm"], strict=False)))
    def test_are_followed_to_the_last_float(self, name, final):
        X = FULL.abs() * (1 if final == "forest" else 100)
        model = fitted([ROUGH_STEPS[name]], final, X)
        imported, _ = explained(model, X.iloc[3])
        rng = np.random.default_rng(0)
        rows = X.to_numpy()[rng.integers(len(X), size=3000)]
        for j, column in enumerate(imported.columns):
            cuts = np.unique(imported.threshold[imported.feature == j])
            near = rng.choice(cuts[np.abs(cuts) < 1e300], 3000).view(np.int64) + rng.integers(-40, 40, 3000)
            rows[:, j] = np.clip(near.view(np.float64), column.low, column.high)
        frame = pd.DataFrame(rows, columns=X.columns)
        assert imported.predict(rows).tolist() == source_predict(model, frame)
        assert imported.predict(rows[:6]).tolist() == [source_predict(model, frame[i : i + 1])[0] for i in range(6)]

    def test_are_cut_in_several_places_where_they_fall(self):
        X = np.linspace(60, 62, 400)[:, None]
        model = fitted([FunctionTransformer(np.cbrt)], DecisionTreeClassifier(), X, np.arange(400) % 2)
        places = np.float64(61).view(np.int64) + np.arange(2000)
        if (np.diff(np.cbrt(places.view(np.float64))) >= 0).all():
            assert import_model(model).n_nodes == model[-1].tree_.node_count  # this machine's cube root never falls
        else:
            assert import_model(model).n_nodes > model[-1].tree_.node_count

    @pytest.mark.parametrize("name", ["log", "box-cox"])
    def test_take_numbers_that_have_a_value(self, name):
        imported = import_model(fitted([ROUGH_STEPS[name]], "forest", FULL.abs()))
        assert {column.low for column in imported.columns} == {5e-324}
        with pytest.raises(InputError, match=r"'age' must be at least 5e-324.* Got 0"):
            imported.predict([[0.0, 1, 2, 3, 4]])

    def test_before_very_many_splits_are_refused(self, monkeypatch):
        monkeypatch.setattr(carry_back, "_MOST_TRIED", 1000)
        with pytest.raises(
            UnsupportedModelError, match=r"must not split column 'age' at so many places, \d+, behind Fun"
        ):
            import_model(fitted([ROUGH_STEPS["log1p"]], "forest", FULL.abs()))

    def test_that_are_almost_flat_are_refused(self):
        X = FULL * 50_000
        with pytest.raises(
            UnsupportedModelError, match=r"FunctionTransformer must not be almost flat .* 'age', around"
        ):
            import_model(fitted([FunctionTransformer(np.arctan)], "forest", X))

    def test_that_do_not_rise_are_refused(self, monkeypatch):
        model = fitted([FunctionTransformer(np.log1p)], "forest", FULL.abs())
        monkeypatch.setattr("treeproof.model.importers.rough._UNITS", -1e6)  # as if a step were that far off
        with pytest.raises(UnsupportedModelError, match="FunctionTransformer must rise, but for a few units"):
            import_model(model)

    def test_before_a_column_for_each_bin_are_refused(self):
        steps = [FunctionTransformer(np.log1p), KBinsDiscretizer(3, strategy="uniform")]
        with pytest.raises(
            UnsupportedModelError, match=r"must not come after FunctionTransformer. Use encode='ordinal'"
        ):
            import_model(fitted(steps, "forest", FULL.abs()))

    def test_may_come_before_ordinal_bins(self):
        steps = [FunctionTransformer(np.log1p), KBinsDiscretizer(9, strategy="uniform", encode="ordinal")]
        explained(fitted(steps, "forest", FULL.abs()), FULL.abs().iloc[3])


class TestRanges:
    """Final estimators refuse numbers that are too large for them, so proofs and rows are about the others."""

    @pytest.mark.parametrize("final", ["forest", "boosted"])
    def test_end_with_the_last_number_that_predict_takes(self, final):
        model = fitted([MinMaxScaler()], final, FULL)
        imported = import_model(model)
        for j, column in enumerate(imported.columns):
            for end, beyond in ((column.low, -math.inf), (column.high, math.inf)):
                row = FULL.iloc[:1].copy()
                row.iloc[0, j] = end
                assert imported.predict(row).tolist() == model.predict(row).tolist()
                row.iloc[0, j] = np.nextafter(end, beyond)
                with np.errstate(over="ignore"), pytest.raises(ValueError, match="too large"):
                    model.predict(row)
                with pytest.raises(InputError, match=rf"Column '{column.name}' must be at least .* and at most .* Got"):
                    imported.predict(row)
        again = forest_from_json(forest_to_json(imported))
        assert again == imported
        assert tp.Explainer(again).space.features[0].lows[0] == imported.columns[0].low

    def test_hold_for_certificates(self):
        imported = import_model(fitted([MinMaxScaler()], "forest", FULL))
        made = tp.Explainer(imported).abductive(FULL.iloc[2]).certificate()
        document = json.loads(forest_to_json(imported))
        assert "only from" not in str(tp.check(made, imported))
        document["columns"][0]["high"] = (1e30).hex()
        narrower = Model(forest_to_json(forest_from_json(json.dumps(document))))
        wide, narrow = (Space(model, made.document["space"]) for model in (Model(forest_to_json(imported)), narrower))
        assert narrow.features[0].uppers[-1] == 1e30 < wide.features[0].uppers[-1]
        ends = [end.hex() for end in (wide.features[0].lowest, wide.features[0].uppers[-1])]
        with pytest.raises(CheckError, match="which the model does not take"):
            Space(narrower, {"bounds": {"0": ends}})

    def test_do_not_end_where_all_numbers_are_taken(self):
        imported = import_model(fitted([StandardScaler()], "histogram", FULL))
        assert {(column.low, column.high) for column in imported.columns} == {(-math.inf, math.inf)}

    def test_end_where_a_step_in_between_refuses_numbers(self):
        X = FULL.assign(age=FULL["age"] * 1e-12)
        steps = [MinMaxScaler(), KBinsDiscretizer(4, encode="ordinal", strategy="uniform")]
        model = fitted(steps, "forest", X)
        column = import_model(model).columns[0]
        row = X.iloc[:1].assign(age=column.high)
        model.predict(row)
        with pytest.raises(ValueError, match="infinity"), np.errstate(over="ignore"):
            model.predict(row.assign(age=np.nextafter(column.high, math.inf)))


class TestUnions:
    @pytest.mark.parametrize("weights", [None, {"a": 2.5, "b": 0.5}, {"b": 0}])
    def test_are_followed_part_by_part(self, weights):
        parts = [("a", StandardScaler()), ("b", SCALERS["dense bins"]), ("no", "drop"), ("as it is", "passthrough")]
        explained(fitted([FeatureUnion(parts, transformer_weights=weights)], "forest", FULL), FULL.iloc[3])

    def test_may_be_of_bins_after_weights(self):
        union = FeatureUnion([("a", StandardScaler())], transformer_weights={"a": 0.3})
        explained(fitted([union, SCALERS["dense bins"]], "forest", FULL), FULL.iloc[3])

    def test_with_negative_weights_are_refused(self):
        union = FeatureUnion([("a", StandardScaler())], transformer_weights={"a": -1})
        with pytest.raises(UnsupportedModelError, match=r"must not be negative. Got -1 for 'a'; leave it out"):
            import_model(fitted([union], "forest", FULL))


class TestMatrix:
    """Options that are chosen at random, together."""

    @pytest.mark.parametrize("seed", range(10))
    def test_of_options_is_followed(self, seed):
        rng = np.random.default_rng(seed)

        def one_of(*options):
            return options[rng.integers(len(options))]

        X, y = people(120, seed=seed)
        X["age"] = X["age"].astype(one_of("float64", "float32", "Int64", "Float64"))
        names = one_of(object, "str", "category")
        X = X.astype({"city": names, "job": one_of(object, "str", "category"), "owner": one_of(bool, "boolean", int)})
        statistic = one_of("mean", "median", "most_frequent", "constant")
        fill = SimpleImputer(strategy=statistic, add_indicator=one_of(True, False))
        scale = one_of(StandardScaler(), MinMaxScaler(), RobustScaler(), MaxAbsScaler(), "passthrough")
        scale = one_of(scale, scale, KBinsDiscretizer(3, encode=one_of("ordinal", "onehot-dense"), strategy="uniform"))
        parts = [("numbers", Pipeline([("fill", fill), ("scale", scale)]), one_of(["age", "income"], slice(0, 3)))]
        fill = one_of(SimpleImputer(strategy="most_frequent"), SimpleImputer(strategy="constant"), "passthrough")
        limit = one_of({}, {"min_frequency": 15}, {"max_categories": 3})
        unknown = one_of("error", "ignore", "infrequent_if_exist")
        encoder = one_of(
            OneHotEncoder(
                drop=one_of(None, "first", "if_binary"),
                handle_unknown=unknown,
                sparse_output=one_of(True, False),
                **limit,
            ),
            OrdinalEncoder(encoded_missing_value=-2, handle_unknown="use_encoded_value", unknown_value=-1, **limit),
        )
        parts.append(("names", Pipeline([("fill", fill), ("encode", encoder)]), one_of(["city"], ["job", "city"])))
        steps = [
            ColumnTransformer(parts, remainder=one_of("drop", make_pipeline(SimpleImputer(strategy="most_frequent"))))
        ]
        if steps[0].remainder != "drop":
            X = X.drop(columns=[name for name in ("balance", "city", "job") if not _used(name, parts)])
        steps.append(one_of("passthrough", VarianceThreshold(), SelectKBest(k=4), StandardScaler(with_mean=False)))
        final = one_of("tree", "forest", "boosted", "histogram", "lightgbm")
        model = Pipeline([*((str(i), step) for i, step in enumerate(steps)), ("final", clone(FINALS[final]))])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        imported, _ = explained(model, X.iloc[0], as_categories if names == "category" else as_frame, n=500)
        assert imported.predict(X).tolist() == source_predict(model, X)


def _used(name, parts):
    return any(name in which for _, _, which in parts if isinstance(which, list)) or (
        name == "balance" and isinstance(parts[0][2], slice)
    )


class TestSparseMatrices:
    """XGBoost takes what a sparse matrix does not hold for missing; the others take it for 0."""

    @pytest.mark.parametrize("final", ["forest", "boosted", "xgboost", "lightgbm"])
    def test_are_followed_as_the_model_takes_them(self, final):
        steps = mixed(numeric=make_pipeline(SimpleImputer(), MinMaxScaler()), sparse_threshold=1.0)
        model = fitted([steps], final, FRAME)
        assert hasattr(model[:-1].transform(FRAME), "toarray")
        explained(model, FRAME.iloc[2], n=2000)
        imported = import_model(model)
        # What is seen as exactly 0: the smallest number of each column.
        zeros = FRAME.copy()
        zeros[NUMERIC] = np.where(np.random.default_rng(0).random((160, 5)) < 0.5, FRAME[NUMERIC].min(), FRAME[NUMERIC])
        assert imported.predict(zeros).tolist() == source_predict(model, zeros)

    def test_of_bins_are_too(self):
        for final in ("boosted", "xgboost", "lightgbm"):
            explained(fitted([SCALERS["one column per bin"]], final, FULL), FULL.iloc[7])

    def test_hold_no_missing_values_for_forests(self):
        steps = ColumnTransformer([("name", OneHotEncoder(), NAMED)], remainder="passthrough", sparse_threshold=1.0)
        X = FULL.join(FRAME[NAMED])
        dense = ColumnTransformer([("name", OneHotEncoder(), NAMED)], remainder="passthrough", sparse_threshold=0)
        assert import_model(fitted([steps], "forest", X)).columns[0].missing == "never"
        assert import_model(fitted([dense], "forest", X)).columns[0].missing == "possible"


COLUMNS = {
    "names": NUMERIC,
    "one name": "bmi",
    "places": [0, 2, -3],
    "slice": slice(0, 5),
    "slice of names": slice("bmi", "s6"),
    "mask": [True, False, True, True, False, False, False],
    "selector": make_column_selector(dtype_include=float),
    "function": lambda frame: [name for name in frame.columns if name.startswith("b")],
}


class TestColumns:
    @pytest.mark.parametrize(("name", "remainder"), list(zip(COLUMNS, 4 * ["drop", "passthrough"], strict=True)))
    def test_may_be_chosen_in_all_ways(self, name, remainder):
        scale = StandardScaler()
        if name == "one name":  # a vector, which few transformers take
            scale, name = FunctionTransformer(), "names"
        X = FULL.join(FRAME[NAMED] if remainder == "drop" else (FRAME[NAMED] == "two").astype(float))
        steps = ColumnTransformer([("scale", scale, COLUMNS[name])], remainder=remainder)
        imported, _ = explained(fitted([steps], "forest", X), X.iloc[9])
        if remainder == "passthrough":
            assert imported.column_names == tuple(X.columns)
        else:
            assert set(imported.column_names) <= set(NUMERIC)

    @pytest.mark.parametrize("kind", ["pandas", "polars"])
    @pytest.mark.parametrize("long_names", [True, False])
    def test_may_be_frames_in_between(self, kind, long_names):
        steps = mixed(named=OneHotEncoder(sparse_output=False), verbose_feature_names_out=long_names)
        model = make_pipeline(steps, VarianceThreshold(0.01), MinMaxScaler(), forest())
        model.set_output(transform=kind).fit(FRAME, LABELS)
        explained(model, FRAME.iloc[6])

    def test_of_type_category_may_reach_the_model(self):
        X = FRAME.astype(dict.fromkeys(NAMED, "category"))
        steps = ColumnTransformer([("scale", StandardScaler(), NUMERIC)], remainder="passthrough")
        for final in ("histogram", "lightgbm"):
            model = make_pipeline(clone(steps).set_output(transform="pandas"), clone(FINALS[final])).fit(X, LABELS)
            imported = import_model(model)
            assert imported.columns[-1].categories == ("fit", "high", "low", "top", None)
            rows = boundary_rows(imported, 2000)
            frame = as_frame(imported, rows)
            for name in NAMED:
                frame[name] = pd.Categorical(frame[name], categories=X[name].cat.categories)
            assert imported.classes[imported.decide(imported.route(rows))].tolist() == source_predict(model, frame)

    def test_may_be_nested_twice_repeated_and_in_any_order(self):
        inner = ColumnTransformer([("last", MinMaxScaler(), [2, 0])], remainder=RobustScaler())
        steps = ColumnTransformer(
            [
                ("three", make_pipeline(SimpleImputer(), inner), ["s6", "age", "bp"]),
                ("again", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), ["bp", "bmi"]),
                ("name", Pipeline([("no", "passthrough"), ("code", OneHotEncoder())]), ["weight"]),
                ("none", StandardScaler(), []),
                ("gone", "drop", ["sex"]),
            ]
        )
        imported, _ = explained(fitted([steps, StandardScaler(with_mean=False)], "forest", FRAME), FRAME.iloc[3])
        assert imported.column_names == ("age", "bmi", "bp", "s6", "weight")

    @pytest.mark.parametrize(
        "selector",
        [SelectKBest(k=4), VarianceThreshold(0.2), SelectFromModel(forest(), max_features=5), RFE(forest(), step=3)],
        ids=lambda selector: type(selector).__name__,
    )
    def test_may_be_selected_by_any_selector(self, selector):
        imported, _ = explained(fitted([mixed(), selector], "forest", FRAME), FRAME.iloc[3])
        assert imported.column_names == tuple(FRAME.columns)  # all must be there, though not all are used

    def test_that_are_dropped_need_not_be_given_and_may_hold_anything(self):
        X = FRAME.assign(note="text", when=pd.Timestamp("2020-01-01"))[["note", *FRAME.columns[::-1], "when"]]
        model = fitted([mixed()], "forest", X)
        explainer = tp.Explainer(model)
        assert set(explainer.forest.column_names) == set(FRAME.columns)
        why = explainer.abductive(X.iloc[3])
        assert why == explainer.abductive(FRAME.iloc[3]) == explainer.abductive(FRAME.iloc[3].to_dict())

    @pytest.mark.parametrize(
        "cast",
        [
            lambda X: X.convert_dtypes(),
            lambda X: X.astype({"age": "Int64", "bmi": "Float64", "sex": "category", "weight": "string"}),
            lambda X: X.astype({"sex": "category", "weight": object}),
            lambda X: X[X.columns[::-1]],
        ],
    )
    def test_may_be_of_any_type_and_order(self, cast):
        X = FRAME.copy()
        X["age"] = X["age"].round()
        model = fitted([mixed()], "forest", X)
        other = cast(X)
        assert import_model(model).predict(other).tolist() == model.predict(X).tolist()
        assert import_model(fitted([mixed()], "forest", other)).predict(X).tolist() == model.predict(X).tolist()

    def test_of_whole_numbers_and_booleans_are_numbers(self):
        X = pd.DataFrame({"n": np.arange(80), "flag": np.arange(80) % 3 == 0, "x": np.linspace(0, 1, 80)})
        steps = ColumnTransformer([("n", StandardScaler(), ["n"])], remainder="passthrough")
        model = fitted([steps], "forest", X, (X["n"] > 40) ^ X["flag"])
        imported = import_model(model)
        assert imported.predict(X).tolist() == model.predict(X).tolist()
        assert tp.Explainer(imported, kinds={"flag": "binary", "n": "ordinal"}).abductive(X.iloc[1]).label is not None


class Doubling(BaseEstimator, TransformerMixin):
    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return X * 2


class Falling(StandardScaler):
    def transform(self, X, copy=None):
        return -super().transform(X, copy)


def double(X):
    return X * 2


class TestRefusals:
    @pytest.mark.parametrize(
        ("step", "name"),
        [
            (PCA(2), "PCA"),
            (PolynomialFeatures(), "PolynomialFeatures"),
            (SplineTransformer(), "SplineTransformer"),
            (Normalizer(), "Normalizer"),
            (IterativeImputer(), "IterativeImputer"),
            (KNNImputer(), "KNNImputer"),
            (Doubling(), "Doubling"),
            (Falling(), "Falling"),
            (FunctionTransformer(double), "FunctionTransformer of double"),
            (FunctionTransformer(np.square), "FunctionTransformer of square"),
            (FunctionTransformer(np.clip, kw_args={"a_min": [0] * 5, "a_max": 9}), "FunctionTransformer of clip"),
            (FunctionTransformer(np.floor, kw_args={"where": True}), "FunctionTransformer of floor"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_name_the_step_and_a_remedy(self, step, name):
        for steps in ([step], [ColumnTransformer([("part", step, NUMERIC)])], [make_pipeline(StandardScaler(), step)]):
            with np.errstate(invalid="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = fitted(steps, "tree", FULL)
            with pytest.raises(UnsupportedModelError, match=rf"Got {name}; explain the final estimator.*transform"):
                import_model(model)

    def test_are_right_that_the_remedy_works(self):
        model = fitted([PCA(2)], "forest", FULL)
        explainer = tp.Explainer(model[-1])
        rows = model[:-1].transform(FULL)
        assert explainer.abductive(rows[0]).label == model.predict(FULL.iloc[[0]])[0]

    def test_see_methods_that_were_replaced(self):
        model = fitted([StandardScaler()], "forest", FULL)
        model[0].transform = np.zeros_like
        with pytest.raises(UnsupportedModelError, match="Got StandardScaler"):
            import_model(model)

        class Odd(Pipeline):
            def predict(self, X):
                return super().predict(-X)

        with pytest.raises(UnsupportedModelError, match="Odd has its own 'predict'"):
            import_model(Odd(fitted([StandardScaler()], "forest", FULL).steps))


class TestPieces:
    def test_have_no_empty_and_no_equal_neighbours(self):
        inf = math.inf
        assert Pieces.of([-inf, 3.0], [True, False, True]) == Pieces((3.0,), (False, True))
        assert Pieces.of([-inf, inf], [True, False, True]) == Pieces((), (False,))
        assert Pieces.of([1.0, 1.0], [True, False, True]) == Pieces((), (True,))
        assert Pieces.of([1.0, 2.0], [True, True, False]) == Pieces((2.0,), (True, False))


def test_float32_data_before_a_scaler_are_warned_about(recwarn):
    X = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(c=np.where(X[:, 0] > 0.5, "x", "y"))
    scaled = make_column_transformer((StandardScaler(), ["a", "b"]), (OneHotEncoder(), ["c"]))
    passed = make_column_transformer(("passthrough", ["a", "b"]), (OneHotEncoder(), ["c"]))
    for steps in (scaled, passed):
        model = make_pipeline(steps, RandomForestClassifier(3, random_state=0)).fit(frame, X[:, 0] > X[:, 1])
        warnings.simplefilter("default")
        explainer = tp.Explainer(model)
        explainer.abductive(frame.iloc[[0]].astype({"a": float, "b": float}))
        assert not recwarn.list  # numbers are float64, or no step computes with them
        if steps is scaled:
            explainer.abductive(frame.iloc[[0]])
            explainer.batch(frame[:3])
            assert {str(warning.message)[:21] for warning in recwarn.list} == {"The data are float32,"}
            recwarn.clear()
        else:
            explainer.batch(frame[:3])
    members = [(name, make_pipeline(StandardScaler(), RandomForestRegressor(2, random_state=0))) for name in "ab"]
    voting = VotingRegressor(members).fit(X, X[:, 0])
    with pytest.warns(UserWarning, match=r"Pass X.astype\(float\) to both"):
        tp.Explainer(voting, cuts=[0.0], data=X)
