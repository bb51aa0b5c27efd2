"""Models whose import failed, or warned, or failed with the wrong error."""

from __future__ import annotations

import subprocess
import warnings

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from treeproof.errors import ForestFormatError, InputError, UnsupportedModelError
from treeproof.model.files import load_model
from treeproof.model.importers import import_model


def test_a_model_trained_with_missing_values_is_imported_without_a_numpy_warning():
    X = np.arange(40.0)[:, None]
    X[::2] = np.nan
    model = RandomForestClassifier(5, random_state=0).fit(X, np.arange(40) % 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert import_model(model).n_trees == 5


def test_a_model_with_huge_thresholds_is_imported_without_a_numpy_warning():
    model = DecisionTreeClassifier().fit(np.float32([[-3.4e38], [-1e38], [1e38], [3.4e38]]), range(4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert import_model(model).n_trees == 1


@pytest.mark.parametrize("vote", ["sum", "Mean", ""])
def test_an_unknown_vote_is_an_input_error_for_models_as_for_forests(vote):
    model = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    for source in (model, import_model(model)):
        with pytest.raises(InputError, match="'vote'"):
            import_model(source, vote=vote)


def test_a_forest_without_trees_is_refused_by_name():
    model = RandomForestClassifier(2).fit([[0.0], [1.0]], [0, 1])
    model.estimators_ = []
    with pytest.raises(UnsupportedModelError, match="at least one tree"):
        import_model(model)


def test_a_model_that_lacks_an_attribute_is_refused_with_a_sentence():
    model = RandomForestClassifier(2).fit([[0.0], [1.0]], [0, 1])
    del model.estimators_[0].n_outputs_, model.n_outputs_
    with pytest.raises(UnsupportedModelError, match="RandomForestClassifier is not as its library makes it: Attr"):
        import_model(model)


def test_a_file_at_which_catboost_crashes_is_refused(tmp_path, monkeypatch):
    pytest.importorskip("catboost")
    crashed = subprocess.CompletedProcess([], -11)
    monkeypatch.setattr("treeproof.model.importers.catboost.subprocess.run", lambda *_, **__: crashed)
    (tmp_path / "model.cbm").write_bytes(b"CBM1")
    with pytest.raises(ForestFormatError, match=r"model\.cbm cannot be read.*CatBoost crashes \(SIGSEGV\)"):
        load_model(tmp_path / "model.cbm")
