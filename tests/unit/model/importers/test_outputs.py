"""Models with several outputs: the chosen one is followed as the model predicts it; OneVsRestClassifier."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, MultiOutputRegressor, RegressorChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import treeproof as tp
from importing import agrees, as_array, proofs_hold, refused
from treeproof.errors import InputError, NotFittedError, UnsupportedModelError
from treeproof.model.importers import import_model
from treeproof.model.importers.selfcheck import boundary_rows

X, IRIS = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])
SHIFTED = np.roll(IRIS, 20)
BOTH = np.column_stack([NAMES[IRIS], np.array(["no", "yes"])[(X[:, 0] > 5.8).astype(int)]])
D, SCORE = load_diabetes(return_X_y=True)
SCORES = np.column_stack([SCORE, D[:, 2] * 100])
FOREST = RandomForestClassifier(7, max_depth=3, random_state=0)


def explained(model, output, row, n=1000):
    """The explainer of one output, compared with the model's predict on boundary rows, and its explanation attacked."""
    explainer = tp.Explainer(model, output=output)
    forest = explainer.forest
    rows = boundary_rows(forest, n)
    k = output if isinstance(output, int) else [str(name) for name in model.classes_].index(output)
    expected = model.predict(rows.astype(float))[:, k].tolist()
    assert forest.classes[forest.decide(forest.route(rows))].tolist() == expected
    assert len(set(expected)) > 1
    why = explainer.abductive(row)
    rows[:, list(why.features)] = np.asarray(row, dtype=forest.floats.dtype)[list(why.features)]
    assert set(model.predict(rows.astype(float))[:, k].tolist()) == {why.label}
    return explainer


@pytest.mark.parametrize("output", [0, 1])
@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(max_depth=4, random_state=0),
        FOREST,
        ExtraTreesClassifier(5, max_depth=4, random_state=0),
        MultiOutputClassifier(FOREST),
        MultiOutputClassifier(GradientBoostingClassifier(n_estimators=4, random_state=0)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_classifiers(model, output):
    explainer = explained(model.fit(X, BOTH), output, X[60])
    assert explainer.forest.n_classes == (3, 2)[output]


@pytest.mark.parametrize("output", [0, 1])
@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(max_depth=4, random_state=0),
        RandomForestRegressor(7, max_depth=3, random_state=0),
        MultiOutputRegressor(GradientBoostingRegressor(n_estimators=4, random_state=0)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_regressors(model, output):
    model.fit(D, SCORES)
    forest = import_model(model, output=output)
    rows = boundary_rows(forest, 1000)
    assert forest.add(forest.route(rows))[:, 0].tolist() == model.predict(rows.astype(float))[:, output].tolist()
    cut = float(np.median(SCORES[:, output]))
    why = tp.Explainer(model, output=output, cuts=[cut]).abductive(D[0])
    assert why.label.startswith(">=" if model.predict(D[:1])[0, output] >= cut else "<")


def test_a_vote_of_one_output():
    model = FOREST.fit(X, BOTH)
    votes = [tree.predict(X)[:, 0] for tree in model.estimators_]
    counts = np.array([np.bincount(row.astype(int), minlength=3) for row in np.transpose(votes)])
    assert import_model(model, output=0, vote="majority").predict(X).tolist() == NAMES[counts.argmax(axis=1)].tolist()


def test_in_a_pipeline():
    for final in (FOREST, MultiOutputClassifier(FOREST)):
        model = make_pipeline(StandardScaler(), final).fit(X, BOTH)
        for k in (0, 1):
            explainer = tp.Explainer(model, output=k)
            assert explainer.forest.predict(X).tolist() == model.predict(X)[:, k].tolist()
        with pytest.raises(InputError, match=r"The model has 2 outputs: 0, 1\. Say which one"):
            tp.Explainer(model)


LABELS = MultiLabelBinarizer().fit([[0, 1, 2]])
SETS = np.column_stack([X[:, 0] > 5.8, X[:, 1] > 3, X[:, 2] > 4.5]).astype(int)
MEMBERS = {
    "forest": FOREST,
    "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=4, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5),
}


@pytest.mark.parametrize("inside", MEMBERS.values(), ids=MEMBERS)
def test_one_versus_the_rest(inside):
    model = OneVsRestClassifier(inside).fit(X, NAMES[IRIS])
    agrees(model, as_array)
    proofs_hold(model, tp.Explainer(model), X[60], as_array)


@pytest.mark.parametrize("inside", MEMBERS.values(), ids=MEMBERS)
def test_one_versus_the_rest_of_two_classes(inside):
    model = OneVsRestClassifier(inside).fit(X, NAMES[(X[:, 0] > 5.8).astype(int)])
    agrees(model, as_array)
    proofs_hold(model, tp.Explainer(model), X[60], as_array)


@pytest.mark.parametrize("inside", MEMBERS.values(), ids=MEMBERS)
def test_several_labels(inside):
    model = OneVsRestClassifier(inside).fit(X, SETS)
    for k in range(3):
        explained(model, k, X[60])


def test_ties_of_one_versus_the_rest_go_as_the_model_lets_them():
    rows = np.repeat([[0.0], [1.0]], 30, axis=0)
    labels = np.append(np.arange(30) % 3, np.arange(30) % 2 + 1)
    model = OneVsRestClassifier(DecisionTreeClassifier(max_depth=1, random_state=0)).fit(rows, labels)
    shares = np.array([member.predict_proba(rows)[:, 1] for member in model.estimators_])
    assert any(np.sum(column == column.max()) > 1 for column in shares.T), "rows must tie"
    assert import_model(model).predict(rows).tolist() == model.predict(rows).tolist()


def test_the_chosen_output_is_named():
    model = FOREST.fit(X, BOTH)
    for wrong in (2, -1, "first", True):
        with pytest.raises(InputError, match=r"has 2 outputs: 0, 1\. Say which one to explain: output=0 .* Got"):
            tp.Explainer(model, output=wrong)
    with pytest.raises(InputError, match=r"The model has 2 outputs: 0, 1\. Say which one to explain: output=0"):
        tp.Explainer(model)
    assert import_model(model, output="1") == import_model(model, output=1)
    single = FOREST.fit(X, IRIS)
    for one in (single, import_model(single), make_pipeline(StandardScaler(), single)):
        with pytest.raises(InputError, match=r"one output\. Got output=0; leave it out"):
            tp.Explainer(one, output=0)


class OwnPredict(MultiOutputClassifier):
    def predict(self, X):
        return super().predict(X)[:, ::-1]


def test_refusals():
    for chain in (ClassifierChain(FOREST), RegressorChain(RandomForestRegressor(2, max_depth=2))):
        refused(chain.fit(X, SETS), UnsupportedModelError, "to the models of the next ones")
    with pytest.raises(UnsupportedModelError, match="own 'predict'"):
        tp.Explainer(OwnPredict(FOREST).fit(X, BOTH), output=0)
    refused(
        OneVsRestClassifier(AdaBoostClassifier(n_estimators=3)).fit(X, IRIS), UnsupportedModelError, "must give sums"
    )
    refused(OneVsRestClassifier(FOREST), NotFittedError, "call its fit")
    refused(MultiOutputClassifier(FOREST), NotFittedError, "call its fit")
    with pytest.warns(UserWarning, match="not 1|present in all"):
        model = OneVsRestClassifier(FOREST).fit(X, np.column_stack([SETS[:, 0], np.ones(len(X), dtype=int)]))
    with pytest.raises(UnsupportedModelError, match="a label that all rows"):
        tp.Explainer(model, output=1)
