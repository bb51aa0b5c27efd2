from __future__ import annotations

import errno
import json
import os
import pickle
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import treeproof as tp
from generators import random_forest
from treeproof.errors import ForestFormatError, InputError, UnsafeFileError
from treeproof.model import files
from treeproof.model.build import build_forest, isin, leaf, split
from treeproof.model.columns import Column
from treeproof.model.files import forest_from_json, forest_to_json, load_forest, load_model, save_forest, save_model
from treeproof.model.forest import Forest
from treeproof.model.importers import import_model
from treeproof.model.majority import MajorityForestClassifier


def example() -> Forest:
    return build_forest(
        [split("a", 0.5, isin("c", ["r"], [0.1, 0.9], [1, 0]), [0, 1]), leaf([1 / 3, 2 / 3])],
        columns=["a", Column("c", ("r", "g"))],
        classes=["no", "yes"],
        vote="mean",
    )


def document(**changes: Any) -> str:
    return json.dumps({**json.loads(forest_to_json(example())), **changes})


def changed(key: str, index: int, value: Any) -> str:
    """The example's JSON with one entry of one list replaced."""
    content = json.loads(forest_to_json(example()))
    content[key][index] = value
    return json.dumps(content)


class TestRoundTrip:
    @pytest.mark.parametrize("vote", ["majority", "mean"])
    @pytest.mark.parametrize("categorical", [False, True])
    def test_keeps_every_bit_of_random_forests(self, vote, categorical):
        for seed in range(10):
            rng = np.random.default_rng(seed)
            forest = random_forest(rng, vote=vote, categorical=categorical, n_classes=int(rng.integers(1, 5)))
            back = forest_from_json(forest_to_json(forest))
            assert back == forest
            for name in ("threshold", "values", "importances"):
                assert getattr(back, name).tobytes() == getattr(forest, name).tobytes()

    @pytest.mark.parametrize("threshold", [-np.inf, np.inf, -0.0, 1e-45, -1e-45, 1e39, 0.1])
    @pytest.mark.parametrize("values", [[5e-324, 1e-310], [1e300, -1e300], [-0.0, 1 / 3]])
    def test_keeps_extreme_numbers(self, threshold, values):
        forest = build_forest([split("a", threshold, values, values[::-1])], columns=["a"], classes=[0, 1], vote="mean")
        back = forest_from_json(forest_to_json(forest))
        assert back.threshold.tobytes() == forest.threshold.tobytes()
        assert back.values.tobytes() == forest.values.tobytes()

    @pytest.mark.parametrize(
        "labels",
        [
            np.array(["no", 'ja ✓ "quoted" \n']),
            np.array(["a", "b"], dtype="<U21"),
            np.array(["a", "b"], dtype=object),
            np.array([False, True]),
            np.array([-5, 2**62]),
            np.array([0, 255], dtype=np.uint8),
            np.array([2**63, 2**64 - 1], dtype=np.uint64),
            np.array([0.1, 1e-310]),
            np.array([0.1, 0.2], dtype=np.float32),
            np.array([1, "mixed"], dtype=object),
            np.array([3, 1], dtype=">i4"),
        ],
        ids=lambda labels: labels.dtype.str,
    )
    def test_keeps_labels_and_their_type(self, labels):
        forest = replace(example(), classes=labels)
        back = forest_from_json(forest_to_json(forest))
        assert back == forest
        assert back.classes.dtype == labels.dtype
        assert [type(label) for label in back.classes.tolist()] == [type(label) for label in labels.tolist()]

    @pytest.mark.parametrize("categories", [("r", "g"), (1, 2), (0.1, 0.2), (True, False), ("1", 1)])
    def test_keeps_categories_and_their_type(self, categories):
        forest = replace(example(), columns=(Column("a"), Column("c", categories)))
        back = forest_from_json(forest_to_json(forest)).columns[1].categories
        assert back == categories
        assert [type(c) for c in back] == [type(c) for c in categories]

    def test_goes_through_a_file(self, tmp_path):
        save_forest(example(), tmp_path / "forest.json")
        assert load_forest(str(tmp_path / "forest.json")) == example()
        assert load_model(tmp_path / "forest.json") == example()

    def test_of_labels_that_json_cannot_hold_is_refused(self):
        forest = replace(example(), classes=np.array([b"no", b"yes"]))
        with pytest.raises(InputError, match=r"A label must be a string"):
            forest_to_json(forest)


DAMAGED = {
    "nothing": "",
    "no json": "treeproof",
    "half": document()[: len(document()) // 2],
    "two documents": document() * 2,
    "a list": "[]",
    "null": "null",
    "a number": "7",
    "byte order mark": "\ufeff" + document(),
    "deep lists": "[" * 1_000_000,
    "deep objects": '{"a":' * 1_000_000,
    "a huge integer": document(roots=[0]).replace('"roots": [0]', '"roots": [' + "9" * 10_000 + "]"),
    "another format": document(format="onnx"),
    "version of the future": document(version=3),
    "version as text": document(version="1"),
    "no version": document(version=None),
    "unknown key": document(extra=1),
    "missing key": json.dumps({k: v for k, v in json.loads(document()).items() if k != "left"}),
    "cycle": changed("left", 1, 0),
    "self loop": changed("left", 1, 1),
    "child out of range": changed("left", 1, 99),
    "child far out of range": changed("left", 1, 10**30),
    "negative child": changed("left", 1, -7),
    "child in another tree": changed("left", 1, 5),
    "two parents": changed("left", 1, 3),
    "child as text": changed("left", 1, "2"),
    "child as float": changed("left", 1, 2.0),
    "child as boolean": changed("left", 0, True),
    "child null": changed("left", 1, None),
    "children as text": document(left="123456"),
    "children nested": document(left=[[1, 2, -1, -1, -1, -1]]),
    "negative root": changed("roots", 1, -1),
    "root out of range": changed("roots", 1, 10**9),
    "no roots": document(roots=[]),
    "roots an object": document(roots={"0": 5}),
    "feature out of range": changed("feature", 0, 2),
    "feature missing": document(feature=[0]),
    "leaf with children": changed("left", 2, 3),
    "threshold null at a split": changed("threshold", 0, None),
    "threshold nan at a split": changed("threshold", 0, "nan"),
    "threshold a number": changed("threshold", 0, 0.5),
    "threshold garbage": changed("threshold", 0, "0xzz"),
    "threshold too large": changed("threshold", 0, "0x1p99999999"),
    "threshold a list": changed("threshold", 0, ["0x1p0"]),
    "thresholds null": document(threshold=None),
    "numeric split by subset": changed("feature", 0, 1),
    "unknown subset": changed("subset", 1, 1),
    "unknown category": document(subsets=[[2]]),
    "negative category": document(subsets=[[-1]]),
    "huge category": document(subsets=[[10**30]]),
    "subsets of text": document(subsets=["r"]),
    "subsets null": document(subsets=None),
    "values null": changed("values", 2, [None, None]),
    "values infinite": changed("values", 2, ["inf", "0x0p+0"]),
    "values of other length": changed("values", 2, ["0x0p+0"]),
    "values too few": document(values=[]),
    "values flat": document(values=["0x0p+0"] * 12),
    "importances too few": document(importances=["0x1p0"]),
    "importances infinite": document(importances=["inf", "0x0p+0"]),
    "vote unknown": document(vote="plurality"),
    "vote a list": document(vote=["mean"]),
    "classes a list": document(classes=["no", "yes"]),
    "labels missing": document(classes={"dtype": "<U3"}),
    "labels text": document(classes={"dtype": "<U3", "labels": "ny"}),
    "labels too few": document(classes={"dtype": "<U3", "labels": ["no"]}),
    "labels twice": document(classes={"dtype": "<U3", "labels": ["no", "no"]}),
    "labels null": document(classes={"dtype": "|O", "labels": ["no", None]}),
    "labels nested": document(classes={"dtype": "|O", "labels": [["no"], ["yes"]]}),
    "labels empty": document(classes={"dtype": "<U3", "labels": []}),
    "labels too large": document(classes={"dtype": "|i1", "labels": [1, 300]}),
    "type unknown": document(classes={"dtype": "os.system", "labels": ["no", "yes"]}),
    "type of text for numbers": document(classes={"dtype": "<i8", "labels": ["no", "yes"]}),
    "columns text": document(columns=["a", "c"]),
    "columns an object": document(columns={"a": None, "c": None}),
    "columns too few": document(columns=[{"name": "a", "categories": None}]),
    "column twice": document(columns=[{"name": "a", "categories": None}, {"name": "a", "categories": ["r", "g"]}]),
    "column without a name": changed("columns", 0, {"categories": None}),
    "column with a number as name": changed("columns", 0, {"name": 1, "categories": None}),
    "column without categories": changed("columns", 0, {"name": "a"}),
    "categories text": changed("columns", 1, {"name": "c", "categories": "rg"}),
    "categories empty": changed("columns", 1, {"name": "c", "categories": []}),
    "categories twice": changed("columns", 1, {"name": "c", "categories": ["r", "r"]}),
    "categories nested": changed("columns", 1, {"name": "c", "categories": [["r"], ["g"]]}),
}


class TestDamage:
    @pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
    def test_is_reported_as_such(self, text):
        with pytest.raises(ForestFormatError):
            forest_from_json(text)

    def test_by_truncation_anywhere_is_reported(self):
        text = forest_to_json(example())
        for end in range(len(text)):
            with pytest.raises(ForestFormatError):
                forest_from_json(text[:end])

    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    def test_by_random_characters_is_reported_or_gives_a_whole_forest(self):
        text = forest_to_json(example())
        rng = np.random.default_rng(0)
        for _ in range(1500):
            at = int(rng.integers(len(text)))
            damaged = text[:at] + chr(rng.integers(32, 127)) + text[at + 1 :]
            try:
                forest = forest_from_json(damaged)
            except ForestFormatError:
                continue
            assert len(forest.predict([[0, forest.columns[1].categories[0]]])) == 1

    def test_says_what_is_wrong(self):
        with pytest.raises(ForestFormatError, match=r"version must be 1 or 2. Got 3; update treeproof"):
            forest_from_json(document(version=3))
        with pytest.raises(ForestFormatError, match=r"Missing: \[\]; unknown: \['extra'\]"):
            forest_from_json(document(extra=1))
        with pytest.raises(ForestFormatError, match=r'"format"'):
            forest_from_json("{}")

    @pytest.mark.parametrize("read", [load_forest, load_model])
    def test_of_a_file_that_was_cut_off_names_the_file(self, tmp_path, read):
        path = tmp_path / "cut.json"
        path.write_text(forest_to_json(build_forest(["a"], columns=["x"], classes=["a", "b"]))[:100])
        with pytest.raises(ForestFormatError, match=r"cut\.json cannot be read\. The text must be JSON"):
            read(path)

    def test_of_a_binary_file_names_the_file(self, tmp_path):
        (tmp_path / "forest.json").write_bytes(b"\xff\xfe\x00binary")
        with pytest.raises(ForestFormatError, match=r"forest\.json must be a text file"):
            load_forest(tmp_path / "forest.json")


class TestWriting:
    @pytest.mark.parametrize("function", ["replace", "fsync", "chmod"])
    @pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
    def test_that_fails_leaves_the_old_file_and_nothing_else(self, tmp_path, monkeypatch, function, error):
        path = tmp_path / "forest.json"
        save_forest(example().with_vote("majority"), path)

        def fail(*_: Any, **__: Any) -> None:
            raise error

        monkeypatch.setattr(files.os, function, fail)
        with pytest.raises(type(error)):
            save_forest(example(), path)
        monkeypatch.undo()
        assert load_forest(path) == example().with_vote("majority")
        assert os.listdir(tmp_path) == ["forest.json"]

    def test_that_fails_at_first_leaves_nothing(self, tmp_path, monkeypatch):
        monkeypatch.setattr(files.os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
        with pytest.raises(OSError, match="full"):
            save_forest(example(), tmp_path / "forest.json")
        assert os.listdir(tmp_path) == []

    def test_replaces_an_older_file(self, tmp_path):
        path = tmp_path / "forest.json"
        path.write_text("old" * 10_000)
        save_forest(example(), path)
        assert load_forest(path) == example()
        assert os.listdir(tmp_path) == ["forest.json"]

    def test_makes_files_as_readable_as_any_other(self, tmp_path):
        save_forest(example(), tmp_path / "forest.json")
        (tmp_path / "other").write_text("")
        modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("forest.json", "other")}
        assert len(modes) == 1

    def test_into_a_folder_that_is_not_there_says_so(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            save_forest(example(), tmp_path / "missing" / "forest.json")

    def test_takes_a_bare_file_name(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        save_forest(example(), "forest.json")
        assert load_forest("forest.json") == example()


IRIS = load_iris(return_X_y=True)


def fitted(kind: type = RandomForestClassifier, **parameters: Any) -> Any:
    parameters = {"random_state": 0, "max_depth": 3, **parameters}
    if kind is not DecisionTreeClassifier:
        parameters.setdefault("n_estimators", 5)
    return kind(**parameters).fit(*IRIS)


class Custom:
    """A class that no trusted file contains."""

    def __init__(self) -> None:
        self.x = 1


class TestModels:
    @pytest.mark.parametrize(
        "kind",
        [RandomForestClassifier, ExtraTreesClassifier, DecisionTreeClassifier, MajorityForestClassifier],
    )
    def test_go_through_skops_and_predict_the_same(self, kind, tmp_path):
        model = fitted(kind)
        save_model(model, tmp_path / "model.skops")
        back = load_model(tmp_path / "model.skops")
        assert type(back) is kind
        np.testing.assert_array_equal(back.predict(IRIS[0]), model.predict(IRIS[0]))
        assert import_model(back) == import_model(model)

    def test_with_names_labels_and_weights_go_through_skops(self, tmp_path):
        X = pd.DataFrame(IRIS[0], columns=list("abcd"))
        y = np.array(["x", "y", "z"], dtype=object)[IRIS[1]]
        model = RandomForestClassifier(3, class_weight={"x": 1.0, "y": 2.0, "z": 0.1}, random_state=0).fit(X, y)
        save_model(model, tmp_path / "model.skops")
        assert import_model(load_model(tmp_path / "model.skops")) == import_model(model)

    @pytest.mark.parametrize("kind", [RandomForestClassifier, MajorityForestClassifier])
    def test_saved_as_json_become_forests(self, kind, tmp_path):
        model = fitted(kind)
        save_model(model, tmp_path / "model.json")
        back = load_model(tmp_path / "model.json")
        assert isinstance(back, Forest)
        np.testing.assert_array_equal(back.predict(IRIS[0]), model.predict(IRIS[0]))

    @pytest.mark.parametrize("suffix", [".pkl", ".pickle", ".joblib", ".PKL"])
    def test_in_pickles_are_read_with_consent_only(self, suffix, tmp_path):
        path = tmp_path / f"model{suffix}"
        path.write_bytes(pickle.dumps(fitted()))
        with pytest.raises(UnsafeFileError, match=r"is a pickle, and reading it can execute code.*trust=True"):
            load_model(path)
        np.testing.assert_array_equal(load_model(path, trust=True).predict(IRIS[0]), fitted().predict(IRIS[0]))

    def test_in_joblib_files_are_read_with_consent(self, tmp_path):
        joblib.dump(fitted(), tmp_path / "model.joblib", compress=3)
        assert load_model(tmp_path / "model.joblib", trust=True).n_estimators == 5

    def test_pickles_are_not_even_opened_without_consent(self, tmp_path):
        class Bomb:
            def __reduce__(self) -> Any:
                return Path.touch, (tmp_path / "exploded",)

        (tmp_path / "model.pkl").write_bytes(pickle.dumps(Bomb()))
        with pytest.raises(UnsafeFileError):
            load_model(tmp_path / "model.pkl")
        assert not (tmp_path / "exploded").exists()

    def test_of_unknown_types_in_skops_files_are_read_with_consent_only(self, tmp_path):
        save_model(Custom(), tmp_path / "model.skops")
        with pytest.raises(UnsafeFileError, match=r"not known to be safe.*Custom.*trust=True \(--trust"):
            load_model(tmp_path / "model.skops")
        assert load_model(tmp_path / "model.skops", trust=True).x == 1

    def test_of_every_kind_go_through_skops_without_consent(self, tmp_path):
        X, y = IRIS
        frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=np.where(X[:, 0] > 5.5, "big", "small"))
        names = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
        columns = make_column_transformer((StandardScaler(), list("abcd")), (names, ["kind"]))
        models = [
            GradientBoostingClassifier(n_estimators=2).fit(X, y),
            HistGradientBoostingClassifier(max_iter=2).fit(X, y),
            AdaBoostClassifier(n_estimators=2).fit(X, y),
            BaggingClassifier(n_estimators=2).fit(X, y),
            IsolationForest(n_estimators=3).fit(X),
            CalibratedClassifierCV(fitted(), cv=2, ensemble=False).fit(X, y > 1),
            CalibratedClassifierCV(fitted(), method="isotonic", cv=2, ensemble=False).fit(X, y > 1),
            make_pipeline(columns, fitted()).fit(frame, y),
        ]
        for model in models:
            save_model(model, tmp_path / "model.skops")
            assert import_model(load_model(tmp_path / "model.skops")) == import_model(model)

    @pytest.mark.parametrize("name", ["model.csv", "model", "model.json.gz", "model.pt"])
    def test_with_another_ending_are_refused(self, name, tmp_path):
        (tmp_path / name).write_text("x")
        with pytest.raises(InputError, match=r"must end in \.json, \.ubj, .*\.skops"):
            load_model(tmp_path / name)
        with pytest.raises(InputError, match=r"can be saved as \.json"):
            save_model(fitted(), tmp_path / name)

    def test_forests_are_not_saved_as_skops_nor_models_as_pickle(self, tmp_path):
        with pytest.raises(InputError, match=r"\.skops if it is a scikit-learn estimator"):
            save_model(example(), tmp_path / "model.skops")
        with pytest.raises(InputError, match=r"can be saved as \.json"):
            save_model(fitted(), tmp_path / "model.pkl")
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize("name", ["model.json", "model.skops", "model.pkl"])
    def test_that_are_not_there_are_a_plain_file_not_found(self, name, tmp_path):
        with pytest.raises(FileNotFoundError):
            load_model(tmp_path / name, trust=True)


def test_importing_and_saving_does_not_change_the_model(tmp_path):
    model = fitted(n_jobs=2, verbose=0)
    before = pickle.dumps(model)
    save_model(model, tmp_path / "model.json")
    assert pickle.dumps(model) == before


def test_dates_are_kept_and_are_not_part_of_what_identifies_a_model(tmp_path):
    forest = tp.build_forest([tp.split("signup", 738945, 0, 1)], columns=["signup"], classes=[0, 1])
    explainer = tp.Explainer(forest, kinds={"signup": "date"})
    assert explainer.forest.columns[0].date
    tp.save_forest(explainer.forest, tmp_path / "dated.json")
    assert tp.load_forest(tmp_path / "dated.json") == explainer.forest != forest
    proof = explainer.abductive(["2024-03-01"]).certificate()
    for model in (forest, explainer.forest, tmp_path / "dated.json"):
        assert tp.check(proof, model)
    with pytest.raises(tp.CheckError, match="model"):
        tp.check(proof, tp.build_forest([tp.split("signup", 738946, 0, 1)], columns=["signup"], classes=[0, 1]))
