"""Models of XGBoost and LightGBM in files, and forests with sums in ours: read exactly, or refused, however damaged."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import random
import time
import tracemalloc

import numpy as np
import pytest
from sklearn.datasets import load_iris

from generators import random_forest
from importing import mixed_data
from treeproof.errors import ForestFormatError, InputError, UnsupportedModelError
from treeproof.model.files import forest_from_json, forest_to_json, load_forest, load_model, save_forest, save_model
from treeproof.model.forest import Forest
from treeproof.model.importers import import_model, ubjson
from treeproof.model.importers.lightgbm import from_text
from treeproof.model.importers.selfcheck import boundary_rows
from treeproof.model.importers.xgboost import from_json

REFUSALS = (ForestFormatError, UnsupportedModelError)


@pytest.fixture(scope="module")
def xgboost_files(tmp_path_factory):
    """A folder with one model in both formats, and the model."""
    xgb = pytest.importorskip("xgboost")
    folder = tmp_path_factory.mktemp("xgboost")
    model = xgb.XGBClassifier(n_estimators=3, max_depth=3, n_jobs=1).fit(*load_iris(return_X_y=True))
    for name in ("model.json", "model.ubj"):
        model.save_model(folder / name)
    return folder, model


@pytest.fixture(scope="module")
def document(xgboost_files):
    return json.loads((xgboost_files[0] / "model.json").read_text())


@pytest.fixture(scope="module")
def text():
    lgb = pytest.importorskip("lightgbm")
    frame, y = mixed_data()
    frame = frame.astype({"sex": "category", "weight": "category"})
    options = {"n_estimators": 3, "num_leaves": 8, "verbose": -1, "n_jobs": 1, "min_child_samples": 5}
    return lgb.LGBMClassifier(**options, cat_smooth=1).fit(frame, y > 140).booster_.model_to_string()


def outcome(read, given):
    """Return the forest that is read, or None; what is read predicts, and anything but our refusals is a bug."""
    started = time.perf_counter()
    try:
        forest = read(given)
    except REFUSALS:
        return None
    finally:
        assert time.perf_counter() - started < 2
    assert isinstance(forest, Forest)
    forest.decide(forest.route(boundary_rows(forest, 8)))
    return forest


def test_files_of_xgboost_and_lightgbm(xgboost_files, text, tmp_path):
    folder, model = xgboost_files
    forest = import_model(model)
    assert load_model(folder / "model.json") == load_model(folder / "model.ubj") == forest
    (tmp_path / "model.txt").write_text(text)
    (tmp_path / "model.lgb").write_text(text)
    assert load_model(tmp_path / "model.txt") == load_model(tmp_path / "model.lgb") == from_text(text)
    save_model(model, tmp_path / "ours.json")
    assert load_model(tmp_path / "ours.json") == load_forest(tmp_path / "ours.json") == forest


def test_line_ends_of_other_systems(text):
    assert from_text(text.replace("\n", "\r\n")) == from_text(text)


def test_wrong_endings_and_contents(tmp_path):
    for name, content in {
        "a.json": b"\xff\xfe",
        "b.json": b"[]",
        "c.json": b"{",
        "d.json": b"[" * 100_000,
        "e.json": b'{"learner": ' + b'{"a":' * 50_000,
        "f.json": b'{"learner": null}',
        "g.json": b'{"learner": []}',
        "h.ubj": b"",
        "i.ubj": b"[" * 100_000,
        "j.ubj": b"{}",
        "k.txt": b"",
        "l.txt": b"\x80\x81",
        "m.lgb": b"tree\n",
        "n.lgb": b"not a model\n",
        "o.txt": b"tree\nend of trees\n",
        "p.txt": b"tree\nend of trees\npandas_categorical:" + b"[" * 100_000,
    }.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(REFUSALS):
            load_model(tmp_path / name)
    with pytest.raises(InputError, match=r"\.ubj, \.txt, \.lgb"):
        load_model(tmp_path / "model.pt")
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "nowhere.ubj")


def changed(document, path, value):
    """Return a copy of the document with another value at a path, or without it."""
    copied = copy.deepcopy(document)
    at = copied
    for key in path[:-1]:
        at = at[key]
    if value is KeyError:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return copied


PARAMETERS = ("learner", "learner_model_param")
MODEL = ("learner", "gradient_booster", "model")
TREE = (*MODEL, "trees", 0)

DAMAGE = [
    (("learner", "objective", "name"), "binary:custom", "objective must be one of"),
    (("learner", "objective"), None, "damaged"),
    (("learner", "gradient_booster", "name"), "dart", "damaged"),
    (("learner", "gradient_booster", "name"), "gblinear", "must be gbtree or dart. Got 'gblinear'"),
    (("learner", "feature_types"), ["c"], "4 columns, 0 names and 1 types"),
    ((*MODEL, "cats"), {"enc": [{}]}, "must have its categories, or none"),
    ((*MODEL, "cats"), {"enc": 5}, "damaged"),
    (("learner", "feature_names"), ["a"], "4 columns, 1 names"),
    (("learner", "feature_names"), ["a", "b", "c", 3], "must be text"),
    (("learner", "feature_names"), ["a", "a", "b", "c"], "must differ"),
    ((*PARAMETERS, "num_feature"), "2147483647", "Each column must have a name"),
    ((*PARAMETERS, "num_feature"), "1000000", "at most 100000 of them. Got 1000000"),
    ((*PARAMETERS, "num_feature"), "0", "Each column must have a name"),
    ((*PARAMETERS, "num_feature"), "-4", "Each column must have a name"),
    ((*PARAMETERS, "num_feature"), "1e9", "damaged"),
    ((*PARAMETERS, "num_feature"), 4.5, "whole number"),
    ((*PARAMETERS, "num_feature"), "2", "must be on one of 2 columns"),
    ((*PARAMETERS, "num_feature"), "9" * 5000, "damaged"),
    ((*PARAMETERS, "num_class"), "100000000", "number of classes. Got 100000000"),
    ((*PARAMETERS, "num_class"), "-1", "number of classes"),
    ((*PARAMETERS, "num_class"), "2", "one of 2 classes. Got .*2"),
    ((*PARAMETERS, "num_class"), "4", "Each of 4 classes must have trees. Only 3 have some"),
    ((*PARAMETERS, "num_target"), "3", "one output"),
    ((*PARAMETERS, "base_score"), "nan", "one finite number"),
    ((*PARAMETERS, "base_score"), "[inf,inf,inf]", "finite"),
    ((*PARAMETERS, "base_score"), "[0,0]", "one for each class"),
    ((*PARAMETERS, "base_score"), "[[0]]", "damaged"),
    ((*PARAMETERS, "base_score"), {"a": 1}, "damaged"),
    ((*MODEL, "trees"), [], "its class"),
    ((*MODEL, "trees"), {"0": 1}, "must be a list"),
    ((*MODEL, "tree_info"), [0, 1], "its class"),
    ((*MODEL, "tree_info", 0), 77, "one of 3 classes. Got .*77"),
    ((*MODEL, "tree_info", 0), -1, "one of 3 classes. Got .*-1"),
    ((*TREE, "left_children", 0), 0, "reached twice"),
    ((*TREE, "left_children", 0), 999, "leads to node 999"),
    ((*TREE, "left_children", 0), -1, "has one branch"),
    ((*TREE, "left_children", 0), 1.5, "whole number"),
    ((*TREE, "left_children", 0), None, "whole number"),
    ((*TREE, "left_children", 0), 10**30, "whole numbers below"),
    ((*TREE, "left_children"), [], "as many left as right"),
    ((*TREE, "left_children"), "00", "must be a list"),
    ((*TREE, "right_children"), [1], "as many left as right"),
    ((*TREE, "split_indices"), [], "as many 'split_indices'"),
    ((*TREE, "split_indices", 0), 10**9, "must be on one of 4 columns"),
    ((*TREE, "split_indices", 0), -2, "must be on one of 4 columns"),
    ((*TREE, "split_conditions", 0), math.nan, "NaN"),
    ((*TREE, "split_conditions", 0), "0.5", "must be a number"),
    ((*TREE, "split_conditions", 0), None, "must be a number"),
    ((*TREE, "split_conditions", 0), True, "must be a number"),
    ((*TREE, "split_conditions", 0), [1.0], "must be a number"),
    ((*TREE, "split_conditions", 0), 10**400, "damaged"),
    ((*TREE, "default_left"), 7, "must be a list"),
    ((*TREE, "default_left", 0), "x", "whole numbers"),
    ((*TREE, "split_type"), [1], "must have its categories"),
    ((*TREE, "split_type", 0), 1, "must have its categories"),
    ((*TREE, "split_type"), 5, "must be a list"),
    ((*TREE, "tree_param", "size_leaf_vector"), "3", "several outputs"),
    ((*TREE, "tree_param"), [], "damaged"),
]


@pytest.mark.parametrize(("path", "value", "match"), DAMAGE)
def test_damaged_models_of_xgboost(document, path, value, match):
    with pytest.raises(REFUSALS, match=match):
        from_json(changed(document, path, value))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e39])
def test_leaf_values_that_are_not_finite(document, value):
    leaf = document["learner"]["gradient_booster"]["model"]["trees"][0]["left_children"].index(-1)
    with pytest.raises(REFUSALS, match="must be finite"):
        from_json(changed(document, (*TREE, "split_conditions", leaf), value))


@pytest.mark.parametrize("value", [math.inf, -math.inf, 3.4028234663852886e38, -3.4028234663852886e38])
def test_thresholds_at_the_ends_are_read(document, value):
    """x < threshold is then true of all numbers, or of none."""
    forest = outcome(from_json, changed(document, (*TREE, "split_conditions", 0), value))
    largest = np.float32(3.4028234663852886e38)
    rows = np.array([[-largest] * 4, [0] * 4, [largest] * 4], dtype=np.float32)
    node = forest.feature[0]
    goes_left = rows[:, node] < np.float32(value)
    assert (rows[:, node] <= forest.threshold[0]).tolist() == goes_left.tolist()


def paths(value, prefix=()):
    if prefix:
        yield prefix
    items = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths(inner, (*prefix, key))


ODD = [None, True, 0, -1, 7, 1e300, math.nan, "", "x", "-5", "99999999999", [], [[]], {}, [0] * 5, KeyError]


@pytest.mark.slow
def test_every_field_with_every_odd_value(document):
    """Nothing but a refusal or a forest comes out, wherever what is put."""
    tried = valid = 0
    for path in paths(document):
        for value in random.Random(repr(path)).sample(ODD, 3):
            tried += 1
            valid += outcome(from_json, changed(document, path, value)) is not None
    assert tried > 200
    assert 0 < valid < tried


@pytest.mark.slow
def test_bytes_changed_at_random(xgboost_files, text, tmp_path):
    """A file of each kind, with a few bytes changed, cut off or doubled."""
    rng = random.Random(0)
    (tmp_path / "model.txt").write_text(text)
    save_forest(import_model(xgboost_files[1]), tmp_path / "ours.json")
    for path in (
        *(xgboost_files[0] / n for n in ("model.json", "model.ubj")),
        tmp_path / "model.txt",
        tmp_path / "ours.json",
    ):
        data = path.read_bytes()
        broken = tmp_path / f"broken{path.suffix}"
        for _ in range(60):
            wrong = bytearray(data)
            for _ in range(rng.randint(1, 4)):
                at = rng.randrange(len(wrong))
                kind = rng.random()
                if kind < 0.5:
                    wrong[at] = rng.choice(b'0123456789-.eE[]{},:" =\n\x00\xffLlDdSi#$')
                elif kind < 0.7:
                    del wrong[at : at + rng.randint(1, 60)]
                elif kind < 0.85:
                    wrong[at:at] = wrong[at : at + rng.randint(1, 60)]
                else:
                    wrong[at:at] = bytes(rng.choice([b"9999999999", b"-", b"nan", b"inf", b"1e400", b"[[[[", b" "]))
            broken.write_bytes(wrong)
            outcome(load_model, broken)
        for end in sorted(rng.sample(range(len(data)), 25)):
            broken.write_bytes(data[:end])
            outcome(load_model, broken)


LINES = [
    ("num_tree_per_iteration=1", "num_tree_per_iteration=1000000000", "1 to 10000"),
    ("num_tree_per_iteration=1", "num_tree_per_iteration=0", "1 to 10000"),
    ("num_tree_per_iteration=1", "num_tree_per_iteration=3", "Got 3 for 2"),
    ("num_tree_per_iteration=1", "num_tree_per_iteration=x", "damaged"),
    ("objective=binary sigmoid:1", "objective=multiclassova num_class:3 sigmoid:1", "one for each of several"),
    ("objective=binary sigmoid:1", "objective=binary sigmoid:-1", "sigmoid"),
    ("objective=binary sigmoid:1", "objective=binary sigmoid:nan", "sigmoid"),
    ("objective=binary sigmoid:1", "objective=binary sigmoid:0", "sigmoid"),
    ("objective=binary sigmoid:1", "objective=", "damaged|custom"),
    ("objective=binary sigmoid:1", "objective=regression sqrt", "predicts a function of them"),
    ("feature_names=age bmi", "feature_names=bmi", "name and an info"),
    ("feature_names=age bmi", "feature_names=age age", "must differ"),
    ("feature_infos=[", "feature_infos=none [", "name and an info"),
    ("split_feature=3 ", "split_feature=9 ", "must be on one of 7 columns"),
    ("split_feature=", "split_feature=9 ", "must have its 'decision_type'"),
    ("split_feature=", "split_feature=-1 ", "damaged|one leaf more"),
    ("split_feature=3 ", "split_feature=9999999999999999999 ", "whole numbers of 32 bits"),
    ("split_feature=3 ", "split_feature=4294967299 ", "whole numbers of 32 bits"),
    ("split_feature=3 ", "split_feature=99 ", "must be on one of 7 columns"),
    ("split_feature=3 ", "split_feature=3.5 ", "damaged"),
    ("split_feature=3 ", "split_feature=3  ", "one blank between them"),
    ("leaf_value=", "leaf_value=1 ", "one leaf more"),
    ("leaf_value=", "leaf_value=nan\nx=", "one leaf more"),
    ("threshold=", "threshold=1 ", "one leaf more"),
    ("left_child=", "left_child=0 ", "two children|damaged|left as right"),
    ("decision_type=", "decision_type=8 ", "must have its 'decision_type'"),
    ("is_linear=0", "is_linear=1", "linear_tree"),
    ("Tree=", "Trees=", "at least one tree"),
    ("end of trees", "end of tree", "cut off"),
    ('pandas_categorical:[["one", "two"]', 'pandas_categorical:[[["one"], "two"]', "must be texts"),
    ('pandas_categorical:[["one", "two"]', 'pandas_categorical:[[NaN, "two"]', "must be texts"),
    ('pandas_categorical:[["one", "two"]', 'pandas_categorical:[["two", "two"]', "no duplicates"),
    ('pandas_categorical:[["one", "two"]', "pandas_categorical:[[]", "told from others"),
    ('pandas_categorical:[["one", "two"]', "pandas_categorical:[5", "damaged"),
    ("[categorical_feature: 5,6]", "[categorical_feature: 5,99]", "told from others"),
    ("[categorical_feature: 5,6]", "[categorical_feature: 1,2]", "damaged|told from others"),
]


@pytest.mark.parametrize(("old", "new", "match"), LINES)
def test_damaged_models_of_lightgbm(text, old, new, match):
    assert old in text
    with pytest.raises(REFUSALS, match=match):
        from_text(text.replace(old, new))


ODD_WORDS = ["nan", "inf", "-inf", "-1", "0", "7", "1e300", "99999999999999999999", "x", "", "2147483648"]


@pytest.mark.slow
def test_every_line_with_odd_values(text):
    rng = random.Random(1)
    lines = text.split("\n")
    last = lines.index("end of trees")
    tried = valid = 0
    for number in range(last):
        key, mark, value = lines[number].partition("=")
        parts = value.split(" ")
        for odd in rng.sample(ODD_WORDS, 5):
            place = rng.randrange(len(parts))
            wrong = [*lines]
            wrong[number] = key + mark + " ".join([*parts[:place], odd, *parts[place + 1 :]])
            tried += 1
            valid += outcome(from_text, "\n".join(wrong)) is not None
        valid += outcome(from_text, "\n".join([*lines[:number], *lines[number + 1 :]])) is not None
    assert 0 < valid < tried


def test_small_files_do_not_take_much_memory(document, text):
    wide = changed(document, (*PARAMETERS, "num_class"), "10000")
    trees = wide["learner"]["gradient_booster"]["model"]["trees"] * 200
    wide["learner"]["gradient_booster"]["model"]["trees"] = trees
    wide["learner"]["gradient_booster"]["model"]["tree_info"] = [0] * len(trees)
    tall = text.replace("num_tree_per_iteration=1", "num_tree_per_iteration=10000").replace(
        "objective=binary", "objective=multiclass"
    )
    repeated = tall[: tall.index("end of trees")] + tall[tall.index("Tree=0") : tall.index("end of trees")] * 300
    repeated += tall[tall.index("end of trees") :]
    bomb = b"{i" + bytes([1]) + b"a[$Z#L" + (10**15).to_bytes(8, "big") + b"}"
    tracemalloc.start()
    try:
        for read, given in ((from_json, wide), (from_text, repeated), (ubjson.parse, bomb)):
            with pytest.raises(REFUSALS):
                read(given)
        assert tracemalloc.get_traced_memory()[1] < 200e6
    finally:
        tracemalloc.stop()


def test_ubjson_by_hand():
    number = b"i" + bytes([3])
    assert ubjson.parse(b"[" + number + b"TFZ" + b"Si\x01a" + b"]") == [3, True, False, None, "a"]
    assert ubjson.parse(b"[#i\x02U\xffI\xff\xff") == [255, -1]
    assert ubjson.parse(b"d\x3f\x80\x00\x00") == 1.0
    # Objects in a row mostly have the same keys, with numbers of the same type.
    byte, short = (
        b"{i\x01a[$i#L" + bytes([*[0] * 7, 2, 7, 8]) + b"}",
        b"{i\x01a[$I#L" + bytes([*[0] * 7, 1, 1, 0]) + b"}",
    )
    found = [numbers["a"].tolist() for numbers in ubjson.parse(b"[" + byte + byte + short + byte + b"]")]
    assert found == [[7, 8], [7, 8], [256], [7, 8]]
    for wrong in (
        b"",
        b"[",
        b"{",
        b"[$i\x02",
        b"[#i\xff",
        b"[#",
        b"S",
        b"Si\xff",
        b"Si\x01\xff",
        b"x",
        number + b"Z",
        b"{Z",
        b"[#Z",
    ):
        with pytest.raises(ForestFormatError, match=r"universal binary JSON|end with its value"):
            ubjson.parse(wrong)


@pytest.mark.parametrize("seed", range(24))
def test_forests_with_sums_and_missing_values_round_trip(seed):
    rng = np.random.default_rng(seed)
    forest = random_forest(
        rng,
        vote="sum",
        n_classes=int(rng.integers(1, 5)),
        categorical=bool(seed % 2),
        missing=bool(seed % 3),
        dtype="float64" if seed % 4 < 2 else "float32",
    )
    again = forest_from_json(forest_to_json(forest))
    assert again == forest
    assert again.sums == forest.sums
    assert (again.dtype, again.columns) == (forest.dtype, forest.columns)
    assert forest_to_json(again) == forest_to_json(forest)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("numbers", "float16"),
        ("numbers", None),
        ("numbers", ["float32"]),
        ("missing_left", None),
        ("missing_left", [-1]),
        ("missing_left", [10**12]),
        ("missing_left", [True]),
        ("missing_left", "0"),
        ("sums", {}),
        ("sums", None),
        ("sums", []),
        ("sums", "start"),
        ("sums", 5),
        ("vote", "mean"),
        ("version", 1),
        ("version", 3),
        ("version", True),
        ("start", []),
        ("start", ["0x1p0", "0x1p0"]),
        ("start", [None]),
        ("start", ["inf"]),
        ("start", "0x1p0"),
        ("start", ["0x1.0000000000001p0"]),
        ("divisor", None),
        ("divisor", "0x0p0"),
        ("divisor", "-0x1p0"),
        ("divisor", "inf"),
        ("divisor", 1.0),
        ("cuts", [None, "0x1p0"]),
        ("cuts", ["0x1p0", "0x1p0"]),
        ("cuts", ["0x1p1", "0x1p0"]),
        ("cuts", ["0x1p0"]),
        ("cuts", 1),
        ("softmax", 1),
        ("softmax", True),
        ("sigmoid", "0x1p0"),
        ("numbers of sums", "float8"),
        ("missing of a column", "sometimes"),
        ("missing of a column", None),
        ("missing of a column", []),
    ],
)
def test_damaged_forests_with_sums(key, value):
    from treeproof.model.build import build_forest, leaf, split
    from treeproof.model.columns import Column
    from treeproof.model.decision import Sums

    forest = build_forest(
        [split("a", 0, leaf([1.5]), leaf([2.5]), missing="yes")],
        columns=[Column("a", missing="expected")],
        classes=["low", "middle", "high"],
        vote="sum",
        sums=Sums((0.5,), "float32", cuts=(1.0, 2.0)),
    )
    whole = json.loads(forest_to_json(forest))
    if key == "missing of a column":
        whole["columns"][0]["missing"] = value
    elif key in whole:
        whole[key] = value
    else:
        whole["sums"][key.removesuffix(" of sums")] = value
    with pytest.raises(ForestFormatError):
        forest_from_json(json.dumps(whole))


def test_every_field_of_our_own_format_with_odd_values(document):
    whole = json.loads(forest_to_json(from_json(document)))
    for path in paths(whole):
        for value in random.Random(repr(path)).sample(ODD, 4):
            outcome(forest_from_json, json.dumps(changed(whole, path, value)))


def test_a_file_of_version_1_is_still_read():
    forest = random_forest(np.random.default_rng(0), vote="mean")
    whole = json.loads(forest_to_json(forest))
    whole["version"] = 1
    for key in ("missing_left", "numbers", "sums"):
        del whole[key]
    for column in whole["columns"]:
        del column["missing"]
    assert forest_from_json(json.dumps(whole)) == dataclasses.replace(forest, missing_left=None)


def test_a_regressor_that_predicts_a_function_of_its_sums_is_not_saved_as_json(tmp_path):
    from sklearn.ensemble import HistGradientBoostingRegressor

    X = np.arange(40.0).reshape(-1, 1)
    model = HistGradientBoostingRegressor(loss="poisson", max_iter=2, min_samples_leaf=5).fit(X, X[:, 0])
    with pytest.raises(InputError, match=r"predicts a function of them: .*Explainer\(model, cuts="):
        save_model(model, tmp_path / "model.json")
    assert not (tmp_path / "model.json").exists()
