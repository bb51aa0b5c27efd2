"""Deadlines, Ctrl-C and threads on a forest that is far too hard to explain in the time given."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import treeproof as tp
from generators import hard_forest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def hard():
    return hard_forest()


@pytest.fixture(scope="module")
def explainer(hard):
    return tp.Explainer(hard[0])


def sufficient_on_samples(forest, x, why) -> bool:
    rows = np.random.default_rng(1).integers(0, 2, (2000, len(x)))
    rows[:, list(why.features)] = x[list(why.features)]
    return set(forest.predict(rows)) == {why.label}


def test_a_deadline_ends_a_hard_explanation_with_a_sound_one(hard, explainer):
    forest, X = hard
    start = time.monotonic()
    why = explainer.abductive(X[0], timeout=0.2)
    assert time.monotonic() - start < 5  # generous: it is about the deadline being seen at all
    assert why.status == "sound"
    assert sufficient_on_samples(forest, X[0], why)


def test_a_batch_gives_every_row_its_own_deadline(hard, explainer):
    forest, X = hard
    results = explainer.batch(X[:4], n_jobs=2, timeout=0.1)
    assert [why.status for why in results] == ["sound"] * 4
    for x, why in zip(X, results, strict=False):
        assert why.label == forest.predict([x])[0]
        assert sufficient_on_samples(forest, x, why)


def interrupt_soon() -> None:
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()


@pytest.mark.parametrize(
    "ask",
    [
        lambda e, X: e.abductive(X[0]),
        lambda e, X: e.batch(X[:8], n_jobs=1),
        lambda e, X: e.batch(X[:8], n_jobs=2),
        lambda e, X: list(e.enumerate(X[0], kind="both")),
        lambda e, X: e.abductive(X[0], minimum=True),
        lambda e, X: e.contrastive(X[0], minimum=True),
        lambda e, X: e.relevance(X[0]),
        lambda e, X: e.attribution(X[0]),
    ],
    ids=[
        "abductive",
        "batch",
        "batch-threads",
        "enumerate",
        "minimum",
        "minimum-contrastive",
        "relevance",
        "attribution",
    ],
)
def test_ctrl_c_is_raised_soon_and_leaves_the_explainer_usable(hard, explainer, ask):
    _, X = hard
    interrupt_soon()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        ask(explainer, X)
    assert time.monotonic() - start < 5
    assert explainer.abductive(X[0], timeout=0.1).status == "sound"


def test_ctrl_c_is_not_forgotten_when_the_core_asks_again(hard, explainer):
    """Python tells of a signal once; whoever is still busy a while later must not take that for none."""
    context, row = explainer._context, hard[1][0]
    point = context.instance(row).point
    box = tuple(context.cells.only(f, (cell,)) if f < 4 else context.cells.full[f] for f, cell in enumerate(point))
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        context.oracle.witnesses(box, context.instance(row).label, point, [0] * 200_000, time.monotonic() + 20)


@pytest.fixture(scope="module")
def chunk():
    """An oracle, and many points that take it a long time together, but a moment each."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 8))
    model = RandomForestClassifier(60, max_depth=6, random_state=0, n_jobs=1).fit(X, X[:, 0] + X[:, 1] * X[:, 2] > 0)
    context = tp.Explainer(model)._context
    points = np.tile(context.space.table_of(X.astype(np.float32)), (500, 1))
    return context.oracle, points, context.order("importance", ())


def test_ctrl_c_ends_a_chunk_of_many_rows(chunk):
    oracle, points, order = chunk
    interrupt_soon()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        oracle.delete_many(points, order, None)
    assert time.monotonic() - start < 5


def test_another_thread_ends_a_chunk_of_many_rows(chunk):
    oracle, points, order = chunk
    cancel = tp.Cancel()
    threading.Timer(0.3, cancel.set).start()
    start = time.monotonic()
    found = oracle.delete_many(points, order, None, cancel)  # as after a deadline: sound, not minimal
    assert time.monotonic() - start < 60
    assert found.minimal[0] == 1
    assert found.minimal[-1] == 0
    assert found.kept[-1].all()
    ambient = tp.Cancel()
    threading.Timer(0.3, ambient.set).start()
    start = time.monotonic()
    with pytest.raises(tp.Cancelled), tp.cancelling(ambient):
        oracle.delete_many(points, order, None)
    assert time.monotonic() - start < 5


def test_every_row_of_a_chunk_has_its_own_deadline(hard, explainer):
    _, X = hard
    context = explainer._context
    points = context.space.table_of(X[:6].astype(np.float32))
    start = time.monotonic()
    found = context.oracle.delete_many(points, context.order("importance", ()), 0.1)
    assert time.monotonic() - start < 5  # generous, as above
    assert found.minimal.tolist() == [0] * 6
    assert min(found.seconds[:, 0]) >= 0.1


def test_ctrl_c_ends_threads_after_z3_was_used_too(hard, explainer):
    pytest.importorskip("z3")
    forest, patient = tp.examples.heart_disease()
    tp.Explainer(forest, oracle="smt").abductive(patient)
    interrupt_soon()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        explainer.batch(hard[1][:8], n_jobs=2, timeout=20)
    assert time.monotonic() - start < 5


def test_the_number_of_threads_does_not_change_the_results():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6))
    model = RandomForestClassifier(20, max_depth=4, random_state=0).fit(X, X[:, 0] + X[:, 1] > 0)
    explainer = tp.Explainer(model)
    one = explainer.batch(X)
    assert one == explainer.batch(X, n_jobs=2) == explainer.batch(X, n_jobs=-1) == [explainer.abductive(x) for x in X]


def test_explainers_may_be_shared_between_threads():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    model = RandomForestClassifier(10, max_depth=3, random_state=0).fit(X, X[:, 0] > 0)
    for oracle in ("native", "sat", "smt"):
        explainer = tp.Explainer(model, vote="majority", oracle=oracle)
        expected = [explainer.abductive(x).features for x in X]
        got: dict[int, tuple[int, ...]] = {}

        def work(part, explainer=explainer, got=got):
            for i in part:
                got[i] = explainer.abductive(X[i]).features

        threads = [threading.Thread(target=work, args=(range(k, 40, 4),)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [got[i] for i in range(40)] == expected


def test_a_bad_row_in_a_batch_is_named_before_anything_runs(explainer, hard):
    rows = np.array(hard[1][:3], dtype=float)
    rows[1, 2] = np.nan
    with pytest.raises(tp.InputError, match="Row 1:"):
        explainer.batch(rows)
    with pytest.raises(tp.InputError, match="'n_jobs' parameter"):
        explainer.batch(hard[1][:2], n_jobs=0)


def test_progress_is_shown_on_standard_error(capsys):
    forest, patient = tp.examples.heart_disease()
    explainer = tp.Explainer(forest)
    assert len(explainer.batch([patient] * 3, progress=True)) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "explaining" in captured.err
