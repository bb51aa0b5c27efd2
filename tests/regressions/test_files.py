"""Damaged files that were taken, or refused with the wrong error."""

from __future__ import annotations

import json
import time
import zipfile
from typing import Any

import numpy as np
import pytest

from treeproof.errors import ForestFormatError, InputError
from treeproof.model.build import build_forest, isin, leaf, split
from treeproof.model.columns import Column
from treeproof.model.files import forest_from_json, forest_to_json, load_model
from treeproof.model.forest import Forest


def example() -> Forest:
    return build_forest([split("a", 0.5, "no", "yes"), leaf("no")], columns=["a"], classes=["no", "yes"])


def damaged(**changes: Any) -> str:
    return json.dumps({**json.loads(forest_to_json(example())), **changes})


@pytest.mark.parametrize("key", ["left", "roots"])
def test_an_index_beyond_int32_does_not_wrap_around(key):
    content = json.loads(forest_to_json(example()))
    content[key][0] += 2**32
    with pytest.raises(ForestFormatError):
        forest_from_json(json.dumps(content))


@pytest.mark.parametrize(
    "classes",
    [
        {"dtype": "<U1", "labels": ["nope", "yes"]},
        {"dtype": "<i8", "labels": [0.5, 1.5]},
        {"dtype": "|b1", "labels": [0, 5]},
        {"dtype": None, "labels": [0, 1]},
        {"dtype": "<M8[ns]", "labels": [0, 1]},
        {"dtype": "<c16", "labels": [0, 1]},
        {"dtype": "f8,f8", "labels": [0, 1]},
        {"dtype": "S3", "labels": ["no", "yes"]},
        {"dtype": "a3", "labels": ["no", "yes"]},
        {"dtype": "<f2", "labels": [1e10, 2]},
        {"dtype": "<f8", "labels": [float("nan"), float("nan")]},
        {"dtype": "<U50000000", "labels": ["no", "yes"]},
    ],
    ids=lambda classes: str(classes["dtype"]),
)
def test_a_type_that_would_change_the_labels_is_damage(classes):
    with pytest.raises(ForestFormatError):
        forest_from_json(damaged(classes=classes))


@pytest.mark.parametrize(
    "changes", [{"threshold": "0000"}, {"importances": "0"}, {"importances": {"0": 1}}, {"version": True}]
)
def test_what_only_looks_like_a_list_of_numbers_is_damage(changes):
    with pytest.raises(ForestFormatError):
        forest_from_json(damaged(**changes))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("schema", [None, b"", b"{", b"{}", b"[]"])
def test_a_damaged_skops_file_is_reported_as_one(schema, tmp_path):
    path = tmp_path / "model.skops"
    if schema is None:
        path.write_bytes(b"not a zip file")
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("schema.json", schema)
    with pytest.raises(ForestFormatError, match=r"model\.skops"):
        load_model(path)


def test_an_infinite_label_cannot_be_saved_and_says_so():
    forest = build_forest([leaf([1, 0])], columns=["a"], classes=[np.inf, 1.0])
    with pytest.raises(InputError, match="inf"):
        forest_to_json(forest)


def test_categories_given_as_a_list_come_back_equal():
    forest = build_forest([isin("c", ["r"], 0, 1)], columns=[Column("c", ["r", "g"])], classes=[0, 1])
    assert forest_from_json(forest_to_json(forest)) == forest


def test_many_splits_on_one_large_subset_are_checked_in_bounded_time():
    n = 6000
    names = tuple(map(str, range(n)))
    forest = build_forest([isin("c", names[1:], 0, 1)], columns=[Column("c", names)], classes=[0, 1])
    content = json.loads(forest_to_json(forest))
    for key, nodes in {"feature": [0, -1, -1], "subset": [0, -1, -1], "threshold": [None] * 3}.items():
        content[key] = nodes * n
    content["roots"] = [3 * i for i in range(n)]
    content["left"] = [v for i in range(n) for v in (3 * i + 1, -1, -1)]
    content["right"] = [v for i in range(n) for v in (3 * i + 2, -1, -1)]
    content["values"] *= n
    start = time.process_time()
    assert forest_from_json(json.dumps(content)).n_trees == n
    assert time.process_time() - start < 1
