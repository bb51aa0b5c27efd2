"""The scripts of ``treeproof_bench`` run, on a made-up dataset, and say what they measured."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchdata import write_datasets
from treeproof_bench import boosted, certificates, harness, native, questions, sat_presets


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_datasets(tmp_path_factory.mktemp("data"))


@pytest.fixture
def run(data, capsys):
    """Run a script on the data; return what it prints."""

    def run(script, *words):
        script.main(["--data", str(data), *map(str, words)])
        return capsys.readouterr().out

    return run


def test_a_table_prints_its_columns_and_keeps_everything(capsys):
    table = harness.Table("title", "name:6 speed_up:10.2f")
    table.add({"name": "iris", "speed_up": 1.234, "raw": [1, 2]})
    table.add({"name": "wine", "speed_up": None})
    assert capsys.readouterr().out == "\ntitle\n  name  speed up\n  iris      1.23\n  wine         -\n"
    assert table.rows[0]["raw"] == [1, 2]


def test_questions_end_to_end(run, tmp_path):
    report = tmp_path / "questions.json"
    options = ["--instances", "2", "--repeats", "1", "--limit", "5", "--dataset", "sums", "--json", report]
    run(questions, *options)
    parts = json.loads(report.read_text())["parts"]
    assert set(parts) == {"length", "minimum", "inflate", "list", "change", "relevance", "linf", "l0"}
    assert all(part["rows"] and part["figures"] for part in parts.values())
    assert parts["minimum"]["rows"][0]["length"] <= parts["length"]["rows"][0]["tries"]


def test_native_end_to_end(run, data, tmp_path):
    report = tmp_path / "results" / "native.json"
    options = ("--instances", 3, "--repeats", 2, "--sat-instances", 2, "--batch-rows", 5, "--json", report)
    out = run(native, "--part", "paper,sat,mean,batch", "--dataset", "sums", *options)
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
            assert each["figure"] in out
    paper = found["parts"]["paper"]["rows"][0]
    assert np.shape(paper["explain_raw"]) == np.shape(paper["predict_raw"]) == (3, 2)
    assert paper["ratio"] == pytest.approx(paper["explain_ms"] / paper["predict_ms"])
    assert paper["minimal"] == paper["instances"] == 3
    assert 1 <= paper["length"] <= 4
    sat = found["parts"]["sat"]["rows"][0]
    assert np.shape(sat["sat_raw"]) == (2, 1)  # once: the solver learns
    assert found["parts"]["batch"]["rows"][0]["rows"] == 5


def test_certificates_end_to_end(run, tmp_path):
    options = ("--instances", 2, "--repeats", 1, "--dataset", "sums", "--json", tmp_path / "found.json")
    run(certificates, *options)
    parts = json.loads((tmp_path / "found.json").read_text())["parts"]
    assert set(parts) == {"why", "wide", "small", "change", "verify"}
    for name in ("why", "wide", "small", "change"):
        row = parts[name]["rows"][0]
        assert (row["instances"], row["failed"]) == (2, 0)
        assert len(row["sizes"]) == len(row["times"]) == 2
    assert parts["verify"]["rows"][0]["ratio"] > 0


def test_boosted_end_to_end(run, tmp_path):
    few = ("--trees", 3, "--depth", 2, "--instances", 2, "--repeats", 1, "--dataset", "steps")
    run(boosted, *few, "--json", tmp_path / "found.json")
    parts = json.loads((tmp_path / "found.json").read_text())["parts"]
    assert set(parts) == {"sklearn", "hist", "xgboost", "lgbm"}
    assert all(part["rows"][0]["minimal"] == part["rows"][0]["instances"] == 2 for part in parts.values())


def test_presets_end_to_end(run):
    out = run(sat_presets, "--instances", 2)
    assert [line.split()[0] for line in out.splitlines()[2:4]] == ["sums", "steps"]
    assert "geometric mean of the ratios over 2 forests, 2 instances each: " in out


@pytest.mark.parametrize(("option", "value"), [("--part", "paper,nonsense"), ("--dataset", "nonsense")])
def test_an_unknown_name_is_refused(run, capsys, option, value):
    with pytest.raises(SystemExit) as refused:
        run(native, option, value)
    assert refused.value.code == 2
    err = capsys.readouterr().err
    assert f"{option} must name" in err
    assert "nonsense" in err
