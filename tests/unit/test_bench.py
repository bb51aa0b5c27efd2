"""The benchmarks run, on a dataset made up here, and say what they measured."""

from __future__ import annotations

import csv
import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture
def timing(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    yield importlib.import_module("timing")
    del sys.modules["timing"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder as the benchmarks expect it: one dataset, some of its rows twice, and the table."""
    folder = tmp_path_factory.mktemp("data")
    X = np.random.default_rng(0).integers(0, 8, size=(80, 4))
    rows = [[*row, int(row[0] + row[1] > 7)] for row in X.tolist()]
    with (folder / "sums.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["a", "b", "c", "d", "class"], *rows, *rows[:10]])
    with (folder / "table1.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["dataset", "depth", "nodes", "sat_calls"], ["sums", 3, 1000, 2]])
    return folder


def run(script, *arguments):
    command = [sys.executable, str(BENCH / script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Clock:
    """Advances only when told to."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def action(self, *seconds):
        left = list(seconds)

        def act(row):
            self.now += left.pop(0)
            return row, len(left)

        return act


def test_each_action_is_timed_on_each_row_in_turn(timing):
    calls = []
    actions = {name: lambda row, name=name: calls.append((name, row)) for name in "ab"}
    timed = timing.take_turns(actions, [1, 2], 2)
    once = [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
    assert calls == [("a", 1), ("b", 1), *once, *once]  # warm-up first
    assert [len(repeats) for repeats in timed["a"].raw] == [2, 2]


def test_an_instance_counts_with_the_median_of_its_repeats(timing):
    clock = Clock()
    # Two rows, three times: 1, 2 and 9 ms on the first row, 4, 6 and 5 on the second.
    action = clock.action(0.001, 0.004, 0.002, 0.006, 0.009, 0.005)
    timed = timing.take_turns({"a": action}, ["x", "y"], 3, warm_up=False, clock=clock)["a"]
    assert timed.raw == [[1, 2, 9], [4, 6, 5]]
    assert timing.medians(timed).tolist() == [2, 5]
    assert timing.ms(timed) == 3.5
    assert timed.results == [("x", 5), ("y", 4)]  # those of the first time


def test_what_takes_long_is_not_repeated(timing):
    clock = Clock()
    timed = timing.take_turns({"a": clock.action(60, 0.001, 0.003)}, "xy", 2, warm_up=False, clock=clock)["a"]
    assert timed.raw == [[60_000], [1, 3]]


def test_a_table_prints_its_columns_and_keeps_everything(timing, capsys):
    table = timing.Table("title", "name:6 speed_up:10.2f")
    table.add({"name": "iris", "speed_up": 1.234, "raw": [1, 2]})
    table.add({"name": "wine", "speed_up": None})
    assert capsys.readouterr().out == "\ntitle\n  name  speed up\n  iris      1.23\n  wine         -\n"
    assert table.rows[0]["raw"] == [1, 2]


def test_native_end_to_end(data, tmp_path):
    report = tmp_path / "results" / "native.json"
    options = ("--instances", 3, "--repeats", 2, "--sat-instances", 2, "--batch-rows", 5, "--json", report)
    done = run("native.py", "--data", data, "--part", "paper,sat,mean,batch", "--dataset", "sums", *options)
    assert done.returncode == 0, done.stderr
    found = json.loads(report.read_text())
    assert {"cpu", "cores"} <= set(found["machine"])
    assert {"python", "numpy", "scikit-learn", "treeproof"} <= set(found["versions"])
    assert found["date"]
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


def test_datasets_are_read_by_the_recipe(data, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    datasets = importlib.import_module("datasets")
    try:
        X, y = datasets.read(data, "sums")
        assert X.dtype == np.float32
        assert len(np.unique(np.column_stack([X, y]), axis=0)) == len(X) == len(y)
        model = datasets.train(X, y, 3)
        assert (model.n_estimators, model.max_depth, model.criterion) == (100, 3, "entropy")
        assert np.array_equal(datasets.choose(X, 5), datasets.choose(X, 5))
        assert len(datasets.choose(X, 1000)) == len(X)
    finally:
        del sys.modules["datasets"]
