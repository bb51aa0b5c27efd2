"""Arguments that ended in an exception of Python's or numpy's own."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import treeproof as tp


def explainer(**options: Any) -> tp.Explainer:
    forest = tp.build_forest([tp.split("a", 0.5, "no", "yes")], columns=["a", "b"], classes=["no", "yes"])
    return tp.Explainer(forest, **options)


@pytest.mark.parametrize("dtype", ["\ud800", "float16", None, ["float32"]])
def test_a_condition_of_numbers_that_no_model_reads_is_refused(dtype):
    with pytest.raises(tp.InputError, match="must be 'float32' or 'float64'"):
        tp.Condition("a", high=1e30, dtype=dtype)


@pytest.mark.parametrize("missing", [np.array([1, 2]), ["yes"], None])
def test_a_split_takes_one_side_for_missing_values(missing):
    with pytest.raises(tp.InputError, match="Missing values go to 'yes' or 'no'"):
        tp.split("a", 0.5, "no", "yes", missing=missing)


@pytest.mark.parametrize(
    "options", [{"one_hot": {"g": 1}}, {"one_hot": {None: 1}}, {"missing": np.zeros((2, 2, 2))}, {"missing": 5}]
)
def test_what_is_no_list_of_columns_is_refused(options):
    with pytest.raises(tp.InputError):
        explainer(**options)


@pytest.mark.parametrize("path", [None, ["a", 99], 3])
def test_inputs_of_a_report_are_paths(tmp_path, path):
    with pytest.raises(tp.InputError, match="inputs"):
        tp.report(explainer(), [[0.0, 1.0]], tmp_path / "r.html", inputs={"data": path})


ARRAY = np.zeros((2, 2, 2))


@pytest.mark.parametrize(
    "options", [{"other": ARRAY}, {"names": (name for name in "ab")}, {"verify": np.array([None, {}], dtype=object)}]
)
def test_an_array_in_place_of_one_value_is_refused(options):
    with pytest.raises(tp.InputError, match=r"must (be|map)"):
        explainer(**options)


@pytest.mark.parametrize("options", [{"kind": ARRAY}, {"about_model": ARRAY}, {"command": ARRAY}])
def test_a_report_refuses_an_array_in_place_of_one_value(tmp_path, options):
    with pytest.raises(tp.InputError, match=next(iter(options))):
        tp.report(explainer(), [[0.0, 1.0]], tmp_path / "r.html", **options)


def test_an_array_of_no_dimension_is_no_list_of_categories():
    with pytest.raises(tp.InputError, match="must be a list"):
        tp.isin("c", np.array("x"), 0, 1)


def test_the_text_of_a_certificate_is_taken_for_one():
    one = explainer()
    text = one.abductive([0.0, 1.0]).certificate().text
    assert tp.check(text, one.forest) == tp.check(json.loads(text), one.forest)
    with pytest.raises(tp.CheckError, match="damaged"):
        tp.check(text[:-2], one.forest)
    with pytest.raises(tp.CheckError, match="budget"):
        tp.check(text + " " * 10**6, one.forest, budget=10**5)
