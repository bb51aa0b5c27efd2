"""IsolationForest: depths add up as in its score, and the label changes exactly where its own does."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import IsolationForest

import treeproof as tp
from importing import agrees, as_array, as_frame, proofs_hold, refused, source_predict
from treeproof.errors import ForestFormatError, InputError, NotFittedError, UnsupportedModelError
from treeproof.model.importers import import_model
from treeproof.model.importers.selfcheck import boundary_rows

X = load_breast_cancer().data[:200, :6]


def isolate(rows=X, **options):
    return IsolationForest(**{"n_estimators": 12, "max_samples": 64, "random_state": 0, **options}).fit(rows)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"contamination": 0.1},
        {"max_features": 0.5},
        {"max_features": 2, "bootstrap": True, "contamination": 0.2},
        {"max_samples": 5},
        {"n_estimators": 1, "contamination": 0.2},
    ],
    ids=str,
)
def test_labels(options):
    model = isolate(**options)
    forest = agrees(model, as_array)
    assert forest.classes.tolist() == [-1, 1]
    assert forest.predict(X[:160:20]).tolist() == [model.predict(row[None])[0] for row in X[:160:20]]
    explainer = tp.Explainer(forest)
    for label in (-1, 1):
        found = np.flatnonzero(model.predict(X) == label)
        if len(found):
            assert proofs_hold(model, explainer, X[found[0]], as_array).label == label


@pytest.mark.parametrize("seed", range(2))
def test_scores_on_the_very_edge(seed):
    """The offset is put on a score that rows have: they are inliers, and with the next offset outliers."""
    model = isolate(np.round(X), random_state=seed)
    rows = boundary_rows(import_model(model), 500, seed=seed)
    scores = model.score_samples(rows)
    for score in np.unique(scores)[:: len(np.unique(scores)) // 5]:
        for offset in (score, np.nextafter(score, 0), np.nextafter(score, -1)):
            model.offset_ = offset
            expected = source_predict(model, rows)
            assert import_model(model).predict(rows).tolist() == expected
            assert len(set(expected)) == 2 or score == scores.max() or score == scores.min()


def test_offsets_that_leave_one_label():
    model = isolate()
    for offset, label in ((-2.0, 1), (1.0, -1)):
        model.offset_ = offset
        assert set(import_model(model).predict(X).tolist()) == {label}
        assert tp.Explainer(model).abductive(X[0]).features == ()


def test_one_training_row_per_tree():
    model = isolate(max_samples=1)
    assert import_model(model).predict(X[:9]).tolist() == model.predict(X[:9]).tolist()


def test_missing_values_go_where_each_tree_sends_them():
    rows = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    model = isolate(rows, contamination=0.2)
    agrees(model, as_array)
    proofs_hold(model, tp.Explainer(model, missing="all"), rows[0], as_array)


def test_frames():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = isolate(frame, contamination=0.2)
    assert agrees(model, as_frame).column_names == tuple("abcdef")
    proofs_hold(model, tp.Explainer(model), frame.iloc[0], as_frame)


class OwnScore(IsolationForest):
    def score_samples(self, X):
        return super().score_samples(X) / 2


def test_refusals():
    refused(IsolationForest(), NotFittedError, "call its fit")
    refused(isolate(), InputError, "leave it out", vote="majority")
    refused(OwnScore(n_estimators=2).fit(X), UnsupportedModelError, "own 'score_samples'")
    model = isolate(n_estimators=3)
    model._decision_path_lengths = [depths[:-1] for depths in model._decision_path_lengths]
    model._average_path_length_per_tree = [rest[:-1] for rest in model._average_path_length_per_tree]
    refused(model, ForestFormatError, "depth of each node")
