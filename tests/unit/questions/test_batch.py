"""Many rows at once: what rows share, and that every backend of joblib gives the same, whatever dies."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import treeproof as tp
from generators import hard_forest
from treeproof.oracles.native import NativeOracle
from treeproof.questions import abductive, parallel
from treeproof.questions.memory import Memory
from treeproof.questions.parallel import run_chunks


@pytest.fixture(scope="module")
def rows():
    return pd.DataFrame(
        np.random.default_rng(0).integers(0, 8, (60, 5)) / 2, columns=list("abcde"), index=range(100, 160)
    )


@pytest.fixture(scope="module")
def explainer(rows):
    model = RandomForestClassifier(12, max_depth=4, random_state=0).fit(rows, rows.a + rows.b * rows.c > 4)
    return tp.Explainer(model, data=rows)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"inflate": True},
        {"inflate": "unions", "order": "row"},
        {"within": 0.5},
        {"minimum": True, "cost": {"a": 2}},
        {"at_most": 2},
        {"kind": "contrastive"},
        {"kind": "contrastive", "directions": {"a": "up"}, "within": 2},
    ],
    ids=str,
)
def test_rows_that_share_an_answer_get_what_each_gets_alone(explainer, rows, options):
    near = rows + np.random.default_rng(1).uniform(0, 0.2, rows.shape)  # mostly in the same cells
    table = pd.concat([rows[:15], near[:15], rows[:15]])
    alone = {name: value for name, value in options.items() if name != "kind"}
    ask = explainer.contrastive if "kind" in options else explainer.abductive
    found = explainer.batch(table, **options)
    for i, one in enumerate(found):
        expected = ask(table.iloc[i], **alone)
        assert one == expected
        assert str(one) == str(expected)
        assert one.row == table.index[i]
    if "kind" not in options:
        assert found[3].certificate().check()
        assert found[-1].certificate().check()


@pytest.fixture
def searched(monkeypatch):
    """The points that are searched for, together or one by one."""
    points = []
    search, together = abductive._search, NativeOracle.delete_many

    def one(*args):
        points.append(args[1].point)
        return search(*args)

    def many(self, some, *args):
        points.extend(map(tuple, some.tolist()))
        return together(self, some, *args)

    monkeypatch.setattr(abductive, "_search", one)
    monkeypatch.setattr(NativeOracle, "delete_many", many)
    return points


@pytest.mark.parametrize("options", [{}, {"order": "row"}], ids=["together", "one by one"])
def test_rows_in_the_same_cells_are_searched_once(explainer, rows, searched, options):
    explainer.batch(pd.concat([rows, rows + 1e-3]), **options)
    cells = {explainer._context.instance(row).point for _, row in pd.concat([rows, rows + 1e-3]).iterrows()}
    assert len(searched) == len(cells) == len(set(searched)) < 2 * len(rows)


@pytest.mark.parametrize("options", [{}, {"order": "row"}], ids=["together", "one by one"])
def test_what_a_deadline_cut_short_is_not_shared(searched, options):
    forest, X = hard_forest()
    found = tp.Explainer(forest).batch([X[0]] * 4, timeout=0.05, **options)
    assert [why.status for why in found] == ["sound"] * 4
    assert len(searched) == 4


def test_an_explanation_is_made_when_it_is_looked_at(explainer, rows, monkeypatch):
    made = []
    make = abductive._made
    monkeypatch.setattr(abductive, "_made", lambda *args: made.append(args[1].origin.name) or make(*args))
    found = explainer.batch(rows)
    found.to_arrow()
    assert made == []
    assert found[3] is found[3]
    assert found[-1].row == 159
    assert made == [103, 159]
    assert list(pickle.loads(pickle.dumps(found))) == list(found)
    assert len(made) == len(rows)


def test_widening_a_shared_explanation_leaves_the_others_as_they_are(explainer, rows):
    first, second = explainer.batch(pd.concat([rows[:1], rows[:1]]))
    before = second.stats
    assert first.widened() == first.widened() == explainer.abductive(rows.iloc[0], inflate=True)
    assert second.stats == before
    assert second.widened().stats.entailed == first.widened().stats.entailed


def test_a_memory_forgets_what_was_not_asked_for_longest():
    memory = Memory[int](most=2)
    memory.put("a", 1)
    memory.put("b", 2)
    assert memory.get("a") == 1
    memory.put("c", 3)
    assert [memory.get(key) for key in "abc"] == [1, None, 3]


def test_threads_are_the_default_and_a_backend_can_be_chosen(explainer, rows):
    expected = explainer.batch(rows)
    assert expected == explainer.batch(rows, n_jobs=2)
    for backend in ("threading", "loky"):
        with joblib.parallel_config(backend=backend, n_jobs=2):
            found = explainer.batch(rows)
            assert found == expected
            assert found.to_arrow().drop_columns("seconds") == expected.to_arrow().drop_columns("seconds")
            assert found[3].certificate().check()  # what comes back is ours: results are made here
            assert explainer.audit(rows[:4], ["a"]).n_rows == 4  # always in threads
    with joblib.parallel_config(backend="loky", n_jobs=2), pytest.raises(tp.InputError, match=r"Row 103: .*'c'"):
        explainer.batch(rows[:9].assign(c=[0, 1, 2, np.nan, 4, 5, 6, 7, 8]))
    with joblib.parallel_config(backend="loky", n_jobs=2):
        some = explainer.batch(rows[:9].assign(c=[0, 1, 2, np.nan, 4, 5, 6, 7, 8]), on_error="return")
    assert [isinstance(one, tp.InputError) for one in some] == [i == 3 for i in range(9)]
    assert some[3].row == 103


def loky_workers() -> list[int]:
    """Return the processes that joblib has started, by what they run."""
    tasks = Path("/proc/self/task").glob("*/children")
    children = [int(pid) for task in tasks for pid in task.read_text().split()]
    return [pid for pid in children if b"popen_loky" in Path(f"/proc/{pid}/cmdline").read_bytes()]


@pytest.mark.slow
def test_a_batch_survives_a_worker_that_is_killed():
    forest, X = hard_forest()
    X = np.tile(X, (3, 1))
    explainer = tp.Explainer(forest)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        explainer.batch(X[:2], timeout=0.01)  # so that workers are there
        victim = loky_workers()[0]
        threading.Timer(0.3, lambda: os.kill(victim, signal.SIGKILL)).start()
        found = explainer.batch(X[:20], timeout=0.1)
    assert victim not in loky_workers()
    assert [why.instance for why in found] == [explainer.abductive(x, timeout=0).instance for x in X[:20]]
    assert [why.label for why in found] == forest.predict(X[:20]).tolist()


@pytest.mark.slow
def test_what_a_process_sends_back_is_one_write_however_long(monkeypatch):
    read, names = parallel._from_file, []

    def remembered(name):
        names.append(name)
        return read(name)

    # A process that is killed between two writes would leave all others waiting for it.
    monkeypatch.setattr(parallel, "_from_file", remembered)
    with joblib.parallel_config(backend="loky"):
        # Not by name: in a process, `tests` may be a package that somebody else has installed.
        work = lambda begin, end: bytes((end - begin) << 20)  # noqa: E731
        found = list(run_chunks(work, lambda *ends: ends, 3, n_jobs=2, shared=False))
    assert b"".join(found) == bytes(3 << 20)
    assert names
    assert all(len(name.encode()) < 512 for name in names)  # what POSIX promises to write at once
    assert not any(Path(name).parent.exists() for name in names)


@pytest.mark.slow
def test_a_row_that_kills_its_worker_twice_is_named():
    def work(begin, end):
        for i in range(begin, end):
            if i == 7:
                os.kill(os.getpid(), signal.SIGKILL)
        return [begin, end]

    done = []
    with joblib.parallel_config(backend="loky"):
        chunks = run_chunks(work, lambda *ends: ends, 20, n_jobs=2, shared=False)
        with pytest.raises(
            tp.LostWorkerError, match=r"Row [0-7]: A worker process was killed while it explained this row, "
        ) as error:
            done.extend(chunks)
    assert [begin for begin, _ in done] == [0, *(end for _, end in done)][: len(done)]
    assert error.value.row == (done[-1][1] if done else 0)


def test_chunks_are_as_long_as_their_time_allows():
    def work(begin, end):
        # Not at once: workers that need no time are handed chunks before anything is learnt of the last ones.
        time.sleep(0.02 * (end - begin) if begin < 40 else 0.003)
        return end - begin

    found = list(run_chunks(work, lambda *ends: ends, 2000, n_jobs=2, shared=True))
    assert sum(found) == 2000
    assert max(found[:4]) < max(found)
    assert len(found) < 200


def test_a_stream_of_tables_is_explained_as_it_comes(explainer, rows):
    taken = []

    def stream():
        for begin in range(0, 60, 20):
            taken.append(begin)
            yield rows[begin : begin + 20]

    found = explainer.batch(stream(), inflate=True)
    assert taken == []
    first = next(found)
    assert taken == [0]
    assert [*first, *next(found), *next(found)] == list(explainer.batch(rows, inflate=True))


def test_tables_of_every_kind_are_the_same_rows(explainer, rows):
    pa = pytest.importorskip("pyarrow")
    pl = pytest.importorskip("polars")
    expected = list(explainer.batch(rows))
    table = pa.Table.from_pandas(rows.reset_index(drop=True))
    assert list(explainer.batch(pl.from_arrow(table))) == expected
    assert list(explainer.batch(table)) == expected
    assert [one for part in explainer.batch(iter(table.to_batches(max_chunksize=25))) for one in part] == expected
    assert explainer.batch(table).to_arrow()["row"].to_pylist() == list(range(60))
    assert explainer.batch(rows.set_axis([f"r{i}" for i in range(60)]))[:2].to_arrow()["row"].to_pylist() == [
        "r0",
        "r1",
    ]


def test_an_arrow_table_has_what_the_results_say(explainer, rows):
    pytest.importorskip("pyarrow")
    names = {False: "low", True: "high"}
    named = tp.Explainer(explainer.forest, names=names)
    found = named.batch(rows.assign(a=[*rows.a[:-1], np.nan]), inflate=True, on_error="return")
    lines = found.to_arrow().to_pylist()
    for why, line in zip(list(found)[:-1], lines, strict=False):
        assert line["row"] == why.row
        assert (line["label"], line["name"], line["status"]) == (why.label, names[why.label], why.status)
        assert line["features"] == list(why.feature_names)
        assert [part["text"] for part in line["conditions"]] == list(why.conditions)
        assert [(part["low"], part["high"]) for part in line["conditions"]] == [(c.low, c.high) for c in why.rule]
        proba = explainer.forest.add(explainer.forest.apply([why.instance]))[0]
        assert line["score"] == max(proba)
        assert line["error"] is None
    assert lines[-1]["status"] == "error"
    assert "missing" in lines[-1]["error"]
    assert lines[-1]["label"] is None
    changes = named.batch(rows[:5], kind="contrastive").to_arrow().to_pylist()
    for change, line in zip(named.batch(rows[:5], kind="contrastive"), changes, strict=True):
        assert line["new_label"] == change.witness_label
        assert line["distance"] == change.distance
        assert line["change"][0]["after"] == change.changes[0].after
    assert found[:0].to_arrow().schema == found.to_arrow().schema


def test_a_radius_in_a_table_is_proved(explainer, rows):
    """A float may be larger than the exact radius, and an open ball does not have its own radius."""
    pytest.importorskip("pyarrow")
    found = explainer.batch(rows[:12], at_most=1)
    radii = found.to_arrow()["radius"].to_pylist()
    assert any(radius is not None for radius in radii)
    for (_, row), why, radius in zip(rows[:12].iterrows(), found, radii, strict=True):
        assert (radius is None) == (why.within is None)
        if radius is not None and radius > 0:
            assert explainer.holds(row, why.feature_names, within=radius)


def _ends(common, begin, end):
    assert common == "same"
    return begin, end


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: the backend dask is NOT tested")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.slow
class TestDask:
    def test_gives_the_same(self, client, explainer, rows):
        with joblib.parallel_config(backend="dask"):
            assert explainer.batch(rows) == explainer.batch(rows, n_jobs=1)

    def test_a_row_that_cannot_be_explained_is_named(self, client, explainer, rows):
        bad = rows.copy()
        bad.iloc[7, 0] = np.nan
        with joblib.parallel_config(backend="dask"):
            with pytest.raises(tp.InputError) as error:
                explainer.batch(bad)
            assert error.value.row == rows.index[7]
            found = explainer.batch(bad, on_error="return")
        assert isinstance(found[7], tp.InputError)
        assert found[:7] == explainer.batch(rows[:7])

    def test_what_cannot_be_handed_out_is_an_error_after_all_that_could(self, client):
        def part(begin, end):
            if end > 30:
                raise ValueError("a damaged page")
            return begin, end

        done = []
        with joblib.parallel_config(backend="dask"), pytest.raises(ValueError, match="a damaged page"):
            done.extend(run_chunks(_ends, part, 1000, n_jobs=2, shared=False, common=("same",)))
        assert [begin for begin, _ in done] == [0, *(end for _, end in done)][: len(done)]
        assert done

    def test_survives_a_worker_that_is_killed(self, client):
        forest, X = hard_forest()
        X = np.tile(X, (3, 1))
        explainer = tp.Explainer(forest)
        pid = next(iter(client.run(os.getpid).values()))
        killed = threading.Timer(0.5, lambda: os.kill(pid, signal.SIGKILL))
        killed.start()
        with joblib.parallel_config(backend="dask"):
            found = explainer.batch(X[:20], timeout=0.1)
        assert [why.label for why in found] == forest.predict(X[:20]).tolist()
        killed.join()

    def test_explains_a_frame_of_dask_where_its_parts_are(self, client, explainer, rows, tmp_path):
        dd = pytest.importorskip("dask.dataframe")
        pq = pytest.importorskip("pyarrow.parquet")
        found = explainer.batch(dd.from_pandas(rows, npartitions=3), kind="contrastive")
        expected = explainer.batch(rows, kind="contrastive").to_arrow().drop_columns(["row", "seconds"]).to_pylist()
        assert found.npartitions == 3
        computed = found.compute()
        assert computed.index.equals(rows.index)
        assert computed["new_label"].tolist() == [line["new_label"] for line in expected]
        found.to_parquet(tmp_path / "out")
        written = pq.read_table(tmp_path / "out")  # pandas cannot read its own note about the types of lists
        assert written["new_label"].to_pylist() == [line["new_label"] for line in expected]
        assert written["change"].to_pylist() == [line["change"] for line in expected]


@pytest.mark.slow
def test_ray_gives_the_same(explainer, rows):
    ray = pytest.importorskip("ray", reason="ray is not installed: the backend ray is NOT tested")
    from ray.util.joblib import register_ray

    register_ray()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        with joblib.parallel_config(backend="ray", n_jobs=2):
            assert explainer.batch(rows) == explainer.batch(rows, n_jobs=1)
    finally:
        ray.shutdown()
