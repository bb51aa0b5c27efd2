"""What goes wrong around a program: a poisoned row, a full disk, no permission, forks, threads, a kill."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import treeproof as tp
from treeproof.errors import InputError

pytestmark = pytest.mark.slow

X, Y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def explainer():
    return tp.Explainer(RandomForestClassifier(15, max_depth=3, random_state=0, criterion="gini").fit(X, Y))


class TestPoisonedRow:
    def test_fails_alone_in_a_batch_of_ten_thousand(self, explainer):
        rows = np.tile(X, (67, 1))[:10_000].copy()
        rows[7_777, 2] = np.inf
        results = explainer.batch(rows, n_jobs=2, on_error="return")
        assert len(results) == 10_000
        bad = [i for i, result in enumerate(results) if isinstance(result, Exception)]
        assert bad == [7_777]
        assert isinstance(results[7_777], InputError)
        assert "Row 7777" in str(results[7_777])
        assert "infinite" in str(results[7_777])
        assert results[7_778].features == explainer.abductive(rows[7_778]).features

    def test_raises_by_default_before_anything_is_explained(self, explainer):
        with pytest.raises(InputError, match=r"^Row 1: .*infinite or too large value\.$"):
            explainer.batch([X[0], [np.inf, 1, 1, 1]])

    def test_outside_the_declared_space_fails_alone_too(self):
        model = RandomForestClassifier(5, max_depth=2, random_state=0).fit(X, Y)
        bounded = tp.Explainer(model, bounds={"x0": (4, 7)})
        results = bounded.batch([X[0], [9, 3, 1, 1], X[1]], on_error="return")
        assert [type(result).__name__ for result in results] == ["Abductive", "InputError", "Abductive"]
        assert str(results[1]).startswith("Row 1: Feature 'x0' must lie within its bounds")
        with pytest.raises(InputError, match=r"^Row 1: Feature 'x0' must lie within its bounds"):
            bounded.batch([X[0], [9, 3, 1, 1], X[1]])

    def test_does_not_hide_a_table_of_the_wrong_width(self, explainer):
        with pytest.raises(InputError, match="must have 4 values"):
            explainer.batch([[1, 2, 3]], on_error="return")
        with pytest.raises(InputError, match="on_error"):
            explainer.batch(X, on_error="ignore")


class TestFiles:
    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
    def test_a_full_disk_is_an_error_of_the_system(self, explainer):
        script = (
            "import sys, treeproof as tp\n"
            "forest, patient = tp.examples.heart_disease()\n"
            "print(tp.Explainer(forest).abductive(patient))\n"
            "sys.stdout.flush()\n"
        )
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [sys.executable, "-c", script], stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert done.returncode != 0
        assert "No space left" in done.stderr

    def test_a_folder_that_is_not_there_or_not_writable_is_named(self, explainer, tmp_path):
        certificate = explainer.abductive(X[0]).certificate()
        with pytest.raises(OSError, match="missing"):
            certificate.save(tmp_path / "missing" / "certificate.json")
        if os.geteuid() != 0:
            tmp_path.chmod(0o500)
            with pytest.raises(PermissionError):
                certificate.save(tmp_path / "certificate.json")

    def test_a_kill_while_writing_leaves_the_old_file_or_the_new_one(self, tmp_path):
        path = tmp_path / "forest.json"
        tp.save_forest(tp.examples.heart_disease()[0], path)
        script = (
            "import sys, treeproof as tp\n"
            "from sklearn.datasets import load_iris\n"
            "from sklearn.ensemble import RandomForestClassifier\n"
            "forest = tp.import_model(RandomForestClassifier(60, random_state=0).fit(*load_iris(return_X_y=True)))\n"
            "print('ready', flush=True)\n"
            "while True: tp.save_forest(forest, sys.argv[1])\n"
        )
        with subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
            time.sleep(0.3)
            writer.send_signal(signal.SIGKILL)
        assert tp.load_forest(path).n_trees in (3, 60)


class TestProcessesAndThreads:
    def test_a_forked_child_answers_as_its_parent_does(self, explainer):
        explainer.batch(X[:20], n_jobs=2)
        expected = explainer.abductive(X[0]).features
        context = multiprocessing.get_context("fork")
        with context.Pool(1) as pool:
            assert pool.apply(_features_in_a_child) == expected

    def test_many_threads_share_one_explainer(self, explainer):
        expected = [why.features for why in explainer.batch(X[:40])]
        found: dict[int, tuple[int, ...]] = {}

        def work(start: int) -> None:
            for i in range(start, 40, 8):
                found[i] = explainer.abductive(X[i]).features
                explainer.contrastive(X[i])

        threads = [threading.Thread(target=work, args=(start,)) for start in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [found[i] for i in range(40)] == expected

    def test_a_jump_of_the_wall_clock_moves_no_deadline(self, explainer, monkeypatch):
        monkeypatch.setattr(time, "time", lambda: 0.0)
        assert explainer.abductive(X[0], timeout=5).status == "minimal"
        assert list(explainer.enumerate(X[0], timeout=5))


class TestMemory:
    def test_too_little_is_a_memory_error_and_no_crash(self):
        resource = pytest.importorskip("resource")
        script = (
            "import resource, numpy as np, treeproof as tp\n"
            "from treeproof.model.build import build_forest, leaf, split\n"
            "def tree(level, j):\n"
            "    if level == 0: return leaf(j % 2)\n"
            "    return split(f'c{level}', j / 997, tree(level - 1, 2 * j), tree(level - 1, 2 * j + 1))\n"
            "names = [f'c{i}' for i in range(1, 13)]\n"
            "forest = build_forest([tree(12, t) for t in range(4)], columns=names, classes=[0, 1])\n"
            "tp.Explainer(tp.examples.heart_disease()[0])\n"
            "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
            "resource.setrlimit(resource.RLIMIT_AS, (used + 2**22, used + 2**22))\n"
            "try:\n"
            "    held = []\n"
            "    while True: held.append(tp.Explainer(forest))\n"
            "except MemoryError:\n"
            "    print('MemoryError')\n"
        )
        if not Path("/proc/self/statm").exists() or not hasattr(resource, "RLIMIT_AS"):
            pytest.skip("needs Linux")
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert done.stdout.strip() == "MemoryError", done.stderr


def _features_in_a_child() -> tuple[int, ...]:
    model = RandomForestClassifier(15, max_depth=3, random_state=0, criterion="gini").fit(X, Y)
    return tp.Explainer(model).abductive(X[0]).features
