"""The worker keeps its protocol whatever a peer does; the peers here are made up, since the real ones are large."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import treeproof as tp
from treeproof_bench.peers import anchor, worker

# Does what the first value of the row says.
ANCHOR = """
import os, signal, subprocess, sys, time
import numpy as np

class Found:
    exp_map = {"prediction": np.int64(1)}
    def features(self):
        return [np.int64(3), 1, 3]

class AnchorTabularExplainer:
    def __init__(self, class_names, feature_names, train_data):
        print("noise", class_names)
        assert sys.argv[1:] == []

    def explain_instance(self, row, predict):
        os.system("echo noise of a child")
        if row[0] == 1:
            raise ValueError("two\\nlines")
        if row[0] == 2:
            sys.exit(1)
        if row[0] == 3:
            os.kill(os.getpid(), signal.SIGSEGV)
        if row[0] == 4:  # an alarm cannot reach this
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            subprocess.run([sys.executable, "-c", "import time; time.sleep(1000)"])
        if row[0] == 5:
            while time.process_time() < 0.5:
                pass
        return Found()
"""
SETTINGS = {"n_estimators": 7, "max_depth": 3, "random_state": 5}


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """A job, and an installed package anchor-exp."""
    tmp_path = tmp_path_factory.mktemp("job")
    (tmp_path / "anchor").mkdir()
    (tmp_path / "anchor" / "__init__.py").touch()
    (tmp_path / "anchor" / "anchor_tabular.py").write_text(ANCHOR)
    for package in ("anchor_exp", "lime"):
        info = tmp_path / f"{package}-0.9.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 0.9\n")
    X = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    y = np.where(X[:, 1] > 0, 2, 7)
    np.savez(tmp_path / "job.npz", X_train=X, y_train=y, instances=X, seed=1, settings=json.dumps(SETTINGS))
    return tmp_path / "job.npz"


def run(job, values=(), *options, peer="anchor", path=None):
    """Run the worker on rows that start with `values`; return its lines."""
    arrays = dict(np.load(job))
    arrays["instances"] = arrays["instances"][: len(values)]
    arrays["instances"][:, 0] = values
    np.savez(job, **arrays)
    done = subprocess.run(
        [sys.executable, worker.__file__, peer, job, *options],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(path or job.parent)},
    )
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def ran(job):
    """One run in which everything happens; its exit code, its first line and the others."""
    code, (first, *lines) = run(job, [0, 1, 2, 3, 4, 5, 0], "--limit", "3")
    return code, first, lines


def test_the_first_line_tells_which_forest_was_explained(job, ran):
    _, line, _ = ran
    arrays = np.load(job)
    forest = RandomForestClassifier(**SETTINGS).fit(arrays["X_train"], arrays["y_train"])
    assert (line["peer"], line["version"]) == ("anchor", "0.9")
    assert {"python", "numpy", "scikit-learn", "anchor-exp", "lime"} == set(line["versions"])
    assert line["nodes"] == sum(tree.tree_.node_count for tree in forest.estimators_)
    assert line["digest"] == worker.digest(forest)
    other = RandomForestClassifier(**{**SETTINGS, "random_state": 6}).fit(arrays["X_train"], arrays["y_train"])
    assert line["digest"] != worker.digest(other)


def test_features_are_distinct_and_sorted_and_noise_is_kept_out(ran):
    _, _, lines = ran
    assert [(line["instance"], line["method"]) for line in lines] == [(i, "anchor") for i in range(7)]
    assert all((lines[i]["features"], lines[i]["label"]) == ([1, 3], 1) for i in (0, 5, 6))


def test_failures_and_time_limits_cost_one_line_each(ran):
    code, _, lines = ran
    assert code == 0
    errors = [None, "ValueError: two lines", "SystemExit: 1", "the process ended with status -11", None, None, None]
    assert [line.get("error") for line in lines] == errors
    assert [line.get("timeout", False) for line in lines] == [i == 4 for i in range(7)]
    assert 3 <= lines[4]["wall"] < 60


def test_seconds_are_those_of_one_explanation(ran):
    _, _, (*_, slow, quick) = ran
    assert slow["seconds"] >= 0.3
    assert quick["seconds"] < 0.3


def test_a_peer_that_is_not_installed_is_an_error(job, tmp_path):
    code, lines = run(job, [0], path=tmp_path / "nothing")
    assert code == 1
    assert [line["peer"] for line in lines] == ["anchor"]
    assert "anchor-exp" in lines[0]["error"]


def test_every_peer_has_pinned_requirements():
    folder = Path(worker.__file__).parent
    peers = {path.stem for path in folder.glob("[!_]*.py")} - {"worker"}
    requirements = Path(__file__).resolve().parents[2] / "bench" / "peers"
    apart = {"veritas"}  # no explainer: a script of its own, for the part about the whole model
    assert (folder / "_veritas.py").exists()
    assert {path.stem for path in requirements.glob("*.txt")} == peers | apart


def test_anchor_is_given_the_majority_vote():
    X = np.random.default_rng(1).integers(0, 5, size=(200, 3)).astype(np.float32)
    y = np.random.default_rng(2).choice(["a", "b", "c"], size=200)
    # Six trees and random classes: ties are frequent.
    forest = RandomForestClassifier(6, max_depth=2, random_state=0).fit(X, y)
    voting = tp.Explainer(forest, vote="majority").forest
    assert np.array_equal(anchor.majority_vote(forest)(X), voting.predict(X))
