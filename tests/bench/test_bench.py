"""The scripts in ``bench`` run, on a made-up dataset, and say what they measured."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchdata import write_datasets

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture
def harness(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    yield importlib.import_module("harness")
    del sys.modules["harness"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_datasets(tmp_path_factory.mktemp("data"))


def run(script, *arguments):
    command = [sys.executable, str(BENCH / script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_table_prints_its_columns_and_keeps_everything(harness, capsys):
    table = harness.Table("title", "name:6 speed_up:10.2f")
    table.add({"name": "iris", "speed_up": 1.234, "raw": [1, 2]})
    table.add({"name": "wine", "speed_up": None})
    assert capsys.readouterr().out == "\ntitle\n  name  speed up\n  iris      1.23\n  wine         -\n"
    assert table.rows[0]["raw"] == [1, 2]


def test_questions_end_to_end(data, tmp_path):
    report = tmp_path / "questions.json"
    options = ["--instances", "2", "--repeats", "1", "--limit", "5", "--dataset", "sums", "--json", report]
    done = run("questions.py", "--data", data, *options)
    assert done.returncode == 0, done.stderr
    parts = json.loads(report.read_text())["parts"]
    assert set(parts) == {"length", "minimum", "inflate", "list", "change", "relevance", "linf", "l0"}
    assert all(part["rows"] and part["figures"] for part in parts.values())
    assert parts["minimum"]["rows"][0]["length"] <= parts["length"]["rows"][0]["tries"]


def test_native_end_to_end(data, tmp_path):
    report = tmp_path / "results" / "native.json"
    options = ("--instances", 3, "--repeats", 2, "--sat-instances", 2, "--batch-rows", 5, "--json", report)
    done = run("native.py", "--data", data, "--part", "paper,sat,mean,batch", "--dataset", "sums", *options)
    assert done.returncode == 0, done.stderr
    found = json.loads(report.read_text())
    assert {"cpu", "cores"} <= set(found["machine"])
    assert {"python", "numpy", "scikit-learn", "treeproof"} <= set(found["versions"])
    assert found["date"]
    assert str(data) not in report.read_text()  # results are published: no paths of a machine
    assert list(found["parts"]) == ["paper", "sat", "mean", "batch"]
    for part in found["parts"].values():
        assert [row["dataset"] for row in part["rows"]] == ["sums"]
        assert all(set(each) == {"figure", "value", "target", "met"} for each in part["figures"])
        for each in part["figures"]:
            assert each["figure"] in done.stdout
    paper = found["parts"]["paper"]["rows"][0]
    assert np.shape(paper["explain_raw"]) == np.shape(paper["predict_raw"]) == (3, 2)
    assert paper["ratio"] == pytest.approx(paper["explain_ms"] / paper["predict_ms"])
    assert paper["minimal"] == paper["instances"] == 3
    assert 1 <= paper["length"] <= 4
    sat = found["parts"]["sat"]["rows"][0]
    assert np.shape(sat["sat_raw"]) == (2, 1)  # once: the solver learns
    assert found["parts"]["batch"]["rows"][0]["rows"] == 5


@pytest.mark.parametrize(("option", "value"), [("--part", "paper,nonsense"), ("--dataset", "nonsense")])
def test_an_unknown_name_is_refused(data, option, value):
    done = run("native.py", "--data", data, option, value)
    assert done.returncode == 2
    assert f"{option} must name" in done.stderr
    assert "nonsense" in done.stderr
