"""Two versions of a model: what changed is found, what did not is not blamed."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import treeproof as tp
from generators import hard_forest


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def versions(iris):
    X, y = iris
    old = RandomForestClassifier(15, max_depth=3, random_state=0).fit(X, y)
    return old, RandomForestClassifier(15, max_depth=2, max_features=1, random_state=5).fit(X[::2], y[::2])


def test_a_version_is_the_same_as_itself(iris, versions):
    found = tp.compare(versions[0], versions[0], iris[0][:30])
    assert {row.difference for row in found.rows} == {"same"}
    assert all(row.still_forced for row in found.rows)


def test_another_order_of_importances_is_no_difference():
    """The order of removal goes by importance; a reason that is merely listed differently is not another reason."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1)) + rng.normal(scale=0.5, size=(60, 6))
    old = tp.import_model(RandomForestClassifier(15, max_depth=3, random_state=0).fit(X, X.sum(axis=1) > 0))
    other = tp.Forest(**{**old.__getstate__(), "importances": old.importances[::-1]})
    assert [e.features for e in tp.Explainer(old).batch(X)] != [e.features for e in tp.Explainer(other).batch(X)]
    assert {row.difference for row in tp.compare(old, other, X).rows} == {"same"}


def test_every_statement_is_true(iris, versions):
    X, _ = iris
    old, new = (tp.Explainer(model) for model in versions)
    found = tp.compare(old, new, X, n_jobs=2)
    assert {"label", "reason"} <= {row.difference for row in found.rows}
    labels = [model.predict(X).tolist() for model in versions]
    for row in found.rows:
        x = X.iloc[row.row]
        assert (row.old.label, row.new.label) == (labels[0][row.row], labels[1][row.row])
        assert (row.difference == "label") == (labels[0][row.row] != labels[1][row.row])
        if row.difference == "label":
            continue
        forced = bool(new.holds(x, row.old.features))
        assert row.still_forced == forced
        minimal = forced and not any(new.holds(x, set(row.old.features) - {f}) for f in row.old.features)
        assert (row.difference == "same") == minimal


def test_versions_with_other_columns_are_compared_by_name(iris):
    X, y = iris
    old = RandomForestClassifier(5, max_depth=2, random_state=0).fit(X, y)
    new = RandomForestClassifier(5, max_depth=2, random_state=0).fit(X.iloc[:, [3, 2]], y)
    found = tp.compare(old, new, X.iloc[::10])
    assert [row.new.label for row in found.rows] == new.predict(X.iloc[::10, [3, 2]]).tolist()


def test_arrays_lists_sparse_and_polars_rows(iris):
    pl = pytest.importorskip("polars")
    sparse = pytest.importorskip("scipy.sparse")
    X, y = iris
    model = RandomForestClassifier(5, max_depth=2, random_state=0).fit(X.to_numpy(), y)
    few = X.to_numpy()[:3]
    for rows in (few, few.tolist(), sparse.coo_matrix(few), pl.DataFrame(few, schema=["x0", "x1", "x2", "x3"])):
        assert len(tp.compare(model, model, rows).rows) == 3


def test_it_prints_a_short_table_and_becomes_json(iris, versions):
    found = tp.compare(*versions, iris[0])
    text = str(found)
    assert text.startswith(f"150 rows: {len(found.relabelled)} with another label, {len(found.reason_changed)} with")
    assert len(text.splitlines()) <= 23
    assert "more" in text
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["relabelled"] == [row.row for row in found.relabelled]
    assert plain["rows"][0]["old"]["kind"] == "abductive"


def test_a_deadline_leaves_reasons_unknown():
    forest, X = hard_forest()
    found = tp.compare(forest, forest, X[:1], timeout=0.05)
    assert found.rows[0].difference == "unknown"
    assert "1 not decided in time" in str(found)


def test_a_bad_row_is_named():
    forest, patient = tp.examples.heart_disease()
    with pytest.raises(tp.InputError, match="Row 1: "):
        tp.compare(forest, forest, [patient, [0, 1, np.inf, 80]])
    with pytest.raises(tp.InputError, match="table"):
        tp.compare(forest, forest, "rows")
    with pytest.raises(tp.InputError, match="'timeout'"):
        tp.compare(forest, forest, [patient], timeout=-1)
