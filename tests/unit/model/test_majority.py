from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from treeproof.errors import InputError
from treeproof.model.majority import MajorityForestClassifier

pytestmark = pytest.mark.slow


def noisy(n_classes: int = 3, *, seed: int = 0, n_rows: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Data with many close votes."""
    return make_classification(
        n_rows, 8, n_informative=5, n_classes=n_classes, flip_y=0.3, class_sep=0.5, random_state=seed
    )


def naive_counts(model: RandomForestClassifier, X: np.ndarray) -> np.ndarray:
    """Each tree's own prediction, one row and one tree at a time."""
    counts = np.zeros((len(X), len(model.classes_)), dtype=int)
    for tree in model.estimators_:
        for i, vote in enumerate(tree.predict(np.asarray(X, dtype=np.float32))):
            counts[i, int(vote)] += 1
    return counts


def same_trees(a: RandomForestClassifier, b: RandomForestClassifier) -> bool:
    return len(a.estimators_) == len(b.estimators_) and all(
        np.array_equal(s.tree_.value, t.tree_.value)
        and np.array_equal(s.tree_.threshold, t.tree_.threshold)
        and np.array_equal(s.tree_.feature, t.tree_.feature)
        and np.array_equal(s.tree_.children_left, t.tree_.children_left)
        for s, t in zip(a.estimators_, b.estimators_, strict=True)
    )


# scikit-learn expects the same of RandomForestClassifier: a bootstrap drawn by weight repeats no rows.
INHERITED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": "weights change which rows the bootstrap draws",
    "check_sample_weight_equivalence_on_sparse_data": "weights change which rows the bootstrap draws",
}


@parametrize_with_checks(
    [MajorityForestClassifier(n_estimators=5)], expected_failed_checks=lambda estimator: INHERITED_FAILURES
)
def test_scikit_learns_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"max_depth": 3, "n_estimators": 8},
        {"bootstrap": False, "max_features": 2},
        {"class_weight": "balanced", "criterion": "entropy"},
        {"class_weight": {0: 5, 1: 1, 2: 1}},
        {"max_samples": 0.3, "min_samples_leaf": 5},
    ],
)
def test_trees_are_those_of_random_forest_classifier_and_votes_those_of_a_loop(parameters):
    X, y = noisy()
    parameters = {"n_estimators": 15, "random_state": 3, **parameters}
    model = MajorityForestClassifier(**parameters).fit(X[:200], y[:200])
    averaged = RandomForestClassifier(**parameters).fit(X[:200], y[:200])
    assert same_trees(model, averaged)
    counts = naive_counts(averaged, X)
    np.testing.assert_array_equal(model.predict(X), model.classes_[np.argmax(counts, axis=1)])
    np.testing.assert_array_equal(model.predict_proba(X), counts / len(model.estimators_))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, rtol=0, atol=1e-12)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_one_row_and_many_rows_agree(load):
    X, y = load(return_X_y=True)
    model = MajorityForestClassifier(n_estimators=10, max_depth=2, random_state=0).fit(X, y)
    together = model.predict_proba(X)  # more rows than a tree has nodes
    np.testing.assert_array_equal(together, np.concatenate([model.predict_proba(x[None]) for x in X]))
    np.testing.assert_array_equal(together, naive_counts(model, X) / 10)


def test_majority_and_mean_are_different_votes():
    X, y = noisy()
    parameters = {"n_estimators": 10, "max_depth": 3, "random_state": 0}
    majority = MajorityForestClassifier(**parameters).fit(X, y).predict(X)
    assert (majority != RandomForestClassifier(**parameters).fit(X, y).predict(X)).any()


def test_a_tie_goes_to_the_smallest_class():
    X, y = noisy(n_classes=2)
    model = MajorityForestClassifier(n_estimators=2, random_state=0).fit(X, y)
    votes = np.array([tree.predict(np.float32(X)) for tree in model.estimators_])
    tied = votes[0] != votes[1]
    assert tied.any()
    assert (model.predict(X[tied]) == 0).all()
    np.testing.assert_array_equal(model.predict_proba(X[tied]), 0.5)


def test_a_tie_inside_a_leaf_goes_to_the_smallest_class():
    X, y = np.zeros((4, 1)), np.array(["c", "a", "a", "c"])
    model = MajorityForestClassifier(n_estimators=3, bootstrap=False).fit(X, y)
    np.testing.assert_array_equal(model.estimators_[0].tree_.value[0, 0], [0.5, 0.5])
    assert model.predict([[0]]).tolist() == ["a"]
    assert model.predict_proba([[0]]).tolist() == [[1, 0]]


def test_three_way_ties_follow_the_order_of_classes():
    X, y = noisy(n_classes=4, n_rows=400)
    model = MajorityForestClassifier(n_estimators=4, max_depth=4, random_state=1).fit(X, y)
    shares = model.predict_proba(X)
    tied = (shares == shares.max(axis=1, keepdims=True)).sum(axis=1) > 1
    assert tied.sum() > 20
    first = [next(k for k in range(4) if row[k] == row.max()) for row in shares]
    np.testing.assert_array_equal(model.predict(X), first)


def test_labels_keep_their_type_and_order():
    X, y = noisy()
    names = np.array(["zebra", "ant", "moose"])[y]
    model = MajorityForestClassifier(n_estimators=9, random_state=0).fit(X, names)
    assert model.classes_.tolist() == ["ant", "moose", "zebra"]
    np.testing.assert_array_equal(model.predict(X), model.classes_[np.argmax(naive_counts(model, X), axis=1)])


def test_one_class():
    model = MajorityForestClassifier(n_estimators=3).fit([[0.0], [1.0]], ["only", "only"])
    assert model.predict([[5.0]]).tolist() == ["only"]
    assert model.predict_proba([[5.0]]).tolist() == [[1.0]]


def test_sample_weights_reach_the_trees():
    X, y = noisy()
    weights = np.random.default_rng(0).random(len(y))
    parameters = {"n_estimators": 7, "random_state": 0}
    model = MajorityForestClassifier(**parameters).fit(X, y, sample_weight=weights)
    assert same_trees(model, RandomForestClassifier(**parameters).fit(X, y, sample_weight=weights))
    assert not same_trees(model, MajorityForestClassifier(**parameters).fit(X, y))
    np.testing.assert_array_equal(model.predict_proba(X), naive_counts(model, X) / 7)


def test_data_frames_and_their_names():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = MajorityForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    assert model.feature_names_in_.tolist() == X.columns.tolist()
    np.testing.assert_array_equal(model.predict_proba(X), naive_counts(model, X.to_numpy()) / 5)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X.rename(columns={X.columns[0]: "other"}))


def test_sparse_rows_and_missing_values():
    X, y = noisy()
    X[X < 0] = 0
    model = MajorityForestClassifier(n_estimators=6, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(csr_matrix(X)), model.predict_proba(X))
    X[::7, 2] = np.nan
    model.fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), naive_counts(model, X) / 6)


@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1, 50])
def test_the_number_of_jobs_changes_nothing(n_jobs):
    X, y = noisy()
    model = MajorityForestClassifier(n_estimators=11, random_state=0).fit(X, y)
    expected = model.predict_proba(X)
    np.testing.assert_array_equal(model.set_params(n_jobs=n_jobs).predict_proba(X), expected)


def test_out_of_bag_rows_are_scored_by_votes():
    X, y = noisy()
    model = MajorityForestClassifier(n_estimators=30, random_state=0, oob_score=True).fit(X, y)
    counts = np.zeros((len(X), 3))
    for tree, drawn in zip(model.estimators_, model.estimators_samples_, strict=True):
        outside = np.setdiff1d(np.arange(len(X)), drawn)
        votes = tree.predict(np.float32(X[outside])).astype(int)
        counts[outside, votes] += 1
    np.testing.assert_array_equal(model.oob_decision_function_, counts / counts.sum(axis=1, keepdims=True))
    assert model.oob_score_ == np.mean(np.argmax(counts, axis=1) == y)


def test_warm_start_adds_voters():
    X, y = noisy()
    model = MajorityForestClassifier(n_estimators=4, warm_start=True, random_state=0).fit(X, y)
    model.set_params(n_estimators=9).fit(X, y)
    assert same_trees(model, MajorityForestClassifier(n_estimators=9, random_state=0).fit(X, y))
    np.testing.assert_array_equal(model.predict_proba(X), naive_counts(model, X) / 9)


def test_clones_and_pickles_predict_the_same():
    X, y = noisy()
    model = MajorityForestClassifier(n_estimators=5, max_depth=4, random_state=0)
    assert model.get_params() == RandomForestClassifier(n_estimators=5, max_depth=4, random_state=0).get_params()
    assert type(clone(model)) is MajorityForestClassifier
    expected = model.fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(clone(model).fit(X, y).predict_proba(X), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), expected)


@pytest.mark.parametrize("wrap", [np.asarray, pd.DataFrame, np.ndarray.tolist])
def test_several_outputs_are_refused(wrap):
    X, y = noisy()
    with pytest.raises(InputError, match=r"one class for each row.*\(300, 2\)"):
        MajorityForestClassifier().fit(X, wrap(np.column_stack([y, y])))


def test_prediction_before_fit_is_refused():
    with pytest.raises(NotFittedError, match="not fitted"):
        MajorityForestClassifier().predict([[0.0]])
