"""Wrappers around one model: their label changes exactly where their own code says, and scores are theirs."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PowerTransformer, QuantileTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

import treeproof as tp
from importing import agrees, as_array, proofs_hold, refused, source_predict
from treeproof.errors import InputError, NotFittedError, UnsupportedModelError
from treeproof.model.importers import import_model, probability_of
from treeproof.model.importers.selfcheck import boundary_rows

X, Y = load_breast_cancer(return_X_y=True)
X = X[:200, :6]
Y = np.array(["bad", "good"])[Y[:200]]
D, SCORE = load_diabetes(return_X_y=True, scaled=False)
D, SCORE = D[:200], SCORE[:200]

CLASSIFIERS = {
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "forest": RandomForestClassifier(7, max_depth=4, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=8, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=6, min_samples_leaf=5),
    "AdaBoost": AdaBoostClassifier(n_estimators=8),
}
BOOSTERS = {
    "XGBoost": XGBClassifier(n_estimators=5, max_depth=3),
    "LightGBM": LGBMClassifier(n_estimators=5, min_child_samples=5, verbose=-1),
}


METHODS = sorted(CalibratedClassifierCV._parameter_constraints["method"][0].options)  # later versions have more


CALIBRATED = [("forest", method) for method in METHODS] + [("boosting", method) for method in METHODS]


@pytest.mark.parametrize(
    ("inside", "method"), [*CALIBRATED, ("tree", "isotonic"), ("histogram", "sigmoid"), ("AdaBoost", "isotonic")]
)
def test_calibration(inside, method):
    model = CalibratedClassifierCV(CLASSIFIERS[inside], method=method, cv=3, ensemble=False).fit(X, Y)
    forest = agrees(model, as_array)
    assert forest.predict(X[:160:20]).tolist() == [model.predict(row[None])[0] for row in X[:160:20]]
    proofs_hold(model, tp.Explainer(forest), X[0], as_array)


@pytest.mark.parametrize("inside", BOOSTERS.values(), ids=BOOSTERS)
def test_calibration_of_other_libraries(inside):
    y = (Y == "good").astype(int)
    model = CalibratedClassifierCV(inside, method="isotonic", cv=3, ensemble=False).fit(X, y)
    proofs_hold(model, tp.Explainer(agrees(model, as_array)), X[0], as_array)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_a_calibrated_probability(method):
    model = CalibratedClassifierCV(CLASSIFIERS["forest"], method=method, cv=3, ensemble=False).fit(X, Y)
    rows = boundary_rows(import_model(model), 500).astype(float)
    shares = model.predict_proba(rows)
    for p in (0.3, 0.8, float(np.median(shares[:, 1]))):
        stated = tp.Explainer(model, threshold=p).forest
        assert stated.predict(rows).tolist() == np.where(shares[:, 1] >= p, "good", "bad").tolist()
    sure = tp.Explainer(model, confidence=0.8).forest.predict(rows).tolist()
    expected = np.select([shares[:, 1] >= 0.8, shares[:, 0] >= 0.8], ["good", "bad"], "uncertain")
    assert sure == expected.tolist()


def test_a_calibration_that_turns_the_score_round():
    """A model worse than chance: the higher its score, the less likely the class."""
    model = CalibratedClassifierCV(FrozenEstimator(CLASSIFIERS["forest"].fit(X, Y)), method="sigmoid")
    model.fit(X, np.where(Y == "bad", "good", "bad"))
    (calibrated,) = model.calibrated_classifiers_
    assert calibrated.calibrators[0].a_ > 0
    agrees(model, as_array)
    rows = boundary_rows(import_model(model), 500).astype(float)
    stated = tp.Explainer(model, threshold=0.2).forest
    assert stated.predict(rows).tolist() == np.where(model.predict_proba(rows)[:, 1] >= 0.2, "good", "bad").tolist()
    proofs_hold(model, tp.Explainer(model), X[0], as_array)


def test_scores_on_the_very_edge_of_a_calibration():
    model = CalibratedClassifierCV(CLASSIFIERS["forest"], method="sigmoid", cv=3, ensemble=False).fit(X, Y)
    (calibrated,) = model.calibrated_classifiers_
    rows = boundary_rows(import_model(model), 300).astype(float)
    for share in np.unique(calibrated.estimator.predict_proba(rows)[:, 1])[:6]:
        for b in (-share, np.nextafter(-share, 1), np.nextafter(-share, -1)):
            calibrated.calibrators[0].a_, calibrated.calibrators[0].b_ = -1.0, -b
            assert import_model(model).predict(rows).tolist() == source_predict(model, rows)


@pytest.mark.parametrize("inside", CLASSIFIERS.values(), ids=CLASSIFIERS)
@pytest.mark.parametrize(
    ("method", "threshold", "positive"),
    [("auto", 0.3, "good"), ("auto", "auto", "bad"), ("decision_function", -0.2, "bad")],
)
def test_a_threshold(inside, positive, method, threshold):
    if method == "decision_function" and not hasattr(inside, method):
        method = "predict_proba"
    if isinstance(inside, AdaBoostClassifier):
        method = "decision_function"
    model = FixedThresholdClassifier(inside, threshold=threshold, pos_label=positive, response_method=method).fit(X, Y)
    rows = boundary_rows(import_model(model), 1000).astype(float)
    assert import_model(model).predict(rows).tolist() == source_predict(model, rows)
    proofs_hold(model, tp.Explainer(model), X[0], as_array)


def test_a_threshold_on_a_share_that_rows_have():
    inside = CLASSIFIERS["forest"].fit(X, Y)
    for positive, k in (("good", 1), ("bad", 0)):
        for share in np.unique(inside.predict_proba(X)[:, k])[1:6]:
            for threshold in (share, np.nextafter(share, 0), np.nextafter(share, 1)):
                model = FixedThresholdClassifier(FrozenEstimator(inside), threshold=threshold, pos_label=positive)
                agrees(model.fit(X, Y), as_array, n=200)


def test_a_tuned_threshold():
    model = TunedThresholdClassifierCV(CLASSIFIERS["forest"], cv=3).fit(X, Y)
    agrees(model, as_array)
    proofs_hold(model, tp.Explainer(model), X[0], as_array)


def test_wrappers_in_pipelines_and_pipelines_in_wrappers():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    inner = make_pipeline(StandardScaler(), RandomForestClassifier(5, max_depth=3, random_state=0))
    for model in (
        CalibratedClassifierCV(inner, cv=3, ensemble=False),
        CalibratedClassifierCV(make_pipeline(StandardScaler(), CLASSIFIERS["boosting"]), cv=3, ensemble=False),
        FixedThresholdClassifier(inner, threshold=0.4),
        make_pipeline(StandardScaler(), CalibratedClassifierCV(CLASSIFIERS["forest"], cv=3, ensemble=False)),
    ):
        model.fit(frame, Y)
        forest = import_model(model)
        assert forest.column_names == tuple("abcdef")
        assert forest.predict(frame).tolist() == model.predict(frame).tolist()
        explainer = tp.Explainer(model, data=frame, domain="observed")
        why = explainer.abductive(frame.iloc[0])
        rows = frame.sample(300, replace=True, random_state=0).reset_index(drop=True)
        rows[list(why.feature_names)] = frame.iloc[0][list(why.feature_names)].to_numpy()
        assert set(model.predict(rows)) == {why.label}


TARGETS = {
    "log": {"func": np.log, "inverse_func": np.exp},
    "log1p": {"func": np.log1p, "inverse_func": np.expm1},
    "root": {"func": np.sqrt, "inverse_func": np.square},
    "scaled": {"transformer": StandardScaler()},
    "power": {"transformer": PowerTransformer()},
    "quantiles": {"transformer": QuantileTransformer(n_quantiles=20)},
    "nothing": {},
}


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize(
    "inside",
    [RandomForestRegressor(5, max_depth=4, random_state=0), GradientBoostingRegressor(n_estimators=9, random_state=0)],
    ids=["forest", "boosting"],
)
def test_transformed_targets(target, inside):
    model = TransformedTargetRegressor(inside, **target).fit(D, SCORE)
    agrees(model, as_array)
    rows = boundary_rows(import_model(model), 1000).astype(float)
    predicted = model.predict(rows)
    cuts = sorted({100.0, 160.0, *np.quantile(predicted, [0.3, 0.6], method="nearest").tolist()})
    stated = tp.Explainer(model, cuts=cuts)
    places = np.searchsorted(cuts, predicted, side="right")
    labels = [f"< {cuts[0]:.17g}", *cuts[1:]]
    assert len(labels) == len(cuts)
    got = stated.forest.decide(stated.forest.route(rows.astype(np.float32)))
    assert got.tolist() == places.tolist()
    x = D[0]
    near = pickle.loads(pickle.dumps(tp.Explainer(model))).around(x, 20)
    own = model.predict(x[None])[0]
    inside_range = np.abs(predicted - own) <= 20
    assert (near.forest.predict(rows) == near.abductive(x).label).tolist() == inside_range.tolist()


def test_cuts_between_which_no_score_lies():
    model = TransformedTargetRegressor(
        RandomForestRegressor(3, max_depth=3, random_state=0), func=np.log, inverse_func=np.exp
    )
    model.fit(D, SCORE)
    explainer = tp.Explainer(model, cuts=[-7, -5, 100, 1e9, 2e9])
    assert explainer.forest.classes.tolist() == ["< -7", ">= -5 and < 100", ">= 100 and < 1000000000", ">= 2000000000"]
    expected = np.where(model.predict(D) >= 100, ">= 100 and < 1000000000", ">= -5 and < 100")
    assert explainer.forest.predict(D).tolist() == expected.tolist()


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_regressors_whose_prediction_is_an_exponential(loss):
    model = HistGradientBoostingRegressor(loss=loss, max_iter=8, min_samples_leaf=5).fit(D, SCORE)
    agrees(model, as_array)
    rows = boundary_rows(import_model(model), 1000)
    predicted = model.predict(rows)
    cut = float(np.median(predicted))
    stated = tp.Explainer(model, cuts=[cut]).forest
    assert stated.decide(stated.route(rows)).tolist() == (predicted >= cut).astype(int).tolist()
    piped = make_pipeline(StandardScaler(), model).fit(D, SCORE)
    got = tp.Explainer(piped, cuts=[cut]).forest.predict_index(D)
    assert got.tolist() == (piped.predict(D) >= cut).astype(int).tolist()


def test_a_frozen_model_is_the_model():
    model = CLASSIFIERS["forest"].fit(X, Y)
    assert import_model(FrozenEstimator(model)) == import_model(model)
    assert probability_of(FrozenEstimator(CLASSIFIERS["boosting"].fit(X, Y))) is not None


def backwards(values):
    return -values


def with_a_bump(values):
    return np.where((values > 5.12) & (values < 5.1201), 999.0, np.exp(values))


def test_refusals():
    iris = load_iris(return_X_y=True)
    forest = RandomForestClassifier(3, max_depth=3, random_state=0)
    refused(CalibratedClassifierCV(forest, cv=3).fit(X, Y), UnsupportedModelError, "mean of 3 .* ensemble=False")
    for ensemble in (True, False):  # nobody is sent to ensemble=False to be refused there
        calibrated = CalibratedClassifierCV(forest, cv=3, ensemble=ensemble).fit(*iris)
        refused(calibrated, UnsupportedModelError, "Got 3 classes")
    linear = LogisticRegression(max_iter=9999)
    refused(CalibratedClassifierCV(linear, cv=3, ensemble=False).fit(X, Y), UnsupportedModelError, "LogisticRegression")
    refused(CalibratedClassifierCV(forest), NotFittedError, "call its fit")
    refused(FixedThresholdClassifier(forest).fit(X, Y), InputError, "leave it out", vote="majority")
    fixed = FixedThresholdClassifier(AdaBoostClassifier(n_estimators=3), response_method="predict_proba").fit(X, Y)
    refused(fixed, UnsupportedModelError, "predict_proba of AdaBoostClassifier cannot be followed exactly")
    turned = TransformedTargetRegressor(
        RandomForestRegressor(3, max_depth=3), func=backwards, inverse_func=backwards
    ).fit(D, SCORE)
    with pytest.raises(UnsupportedModelError, match="must be monotone"):
        tp.Explainer(turned, cuts=[100])
    # Between the numbers that are asked it may do anything: a function of one's own is not known to rise.
    bumpy = TransformedTargetRegressor(
        RandomForestRegressor(3, max_depth=3), func=np.log, inverse_func=with_a_bump, check_inverse=False
    ).fit(D, SCORE)
    refused(bumpy, UnsupportedModelError, "must be monotone, and known to be so.* Got with_a_bump")
    negative = TransformedTargetRegressor(
        RandomForestRegressor(3, max_depth=3), func=np.negative, inverse_func=np.square, check_inverse=False
    ).fit(D, SCORE)
    refused(negative, UnsupportedModelError, "must be monotone, and known to be so.* Got square")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both = TransformedTargetRegressor(RandomForestRegressor(2, max_depth=2), transformer=FunctionTransformer())
        refused(both.fit(D, np.column_stack([SCORE, SCORE])), (UnsupportedModelError, InputError), "output|one number")
