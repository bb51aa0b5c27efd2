"""Every row of a table into a folder: the same as the library gives, whatever happens on the way."""

from __future__ import annotations

import errno
import fcntl
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import treeproof as tp
from generators import hard_forest
from treeproof.cli import main, parts, scale

pq = pytest.importorskip("pyarrow.parquet")

N, PARTS = 90, 3


@pytest.fixture(scope="module")
def rows():
    found = pd.DataFrame(np.random.default_rng(0).integers(0, 8, (N, 4)) / 2, columns=list("abcd"))
    return found.assign(id=[f"k{i}" for i in range(N)])


@pytest.fixture(scope="module")
def explainer(rows):
    X = rows[list("abcd")]
    return tp.Explainer(RandomForestClassifier(9, max_depth=3, random_state=0).fit(X, X.a + X.b * X.c > 4))


@pytest.fixture
def files(rows, explainer, tmp_path, monkeypatch):
    """A model, a folder of Parquet files of several row groups, and the same rows as CSV."""
    monkeypatch.chdir(tmp_path)
    tp.save_forest(explainer.forest, "m.json")
    Path("in").mkdir()
    for k in range(PARTS):
        part(rows, k).to_parquet(f"in/p{k}.parquet", row_group_size=7)
    rows.to_csv("d.csv", index=False)


def part(rows, k):
    return rows[k * N // PARTS : (k + 1) * N // PARTS]


def run(capsys, *words: str) -> tuple[int, str, str]:
    code = main(["explain", "m.json", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def lines(folder="out", drop=("seconds",)):
    """All results, in the order of files and rows."""
    found = [line for path in sorted(Path(folder).glob("*.parquet")) for line in pq.read_table(path).to_pylist()]
    return [{name: value for name, value in line.items() if name not in drop} for line in found]


def expected(explainer, rows, **options):
    found = explainer.batch(rows, **options).to_arrow().drop_columns(["row", "seconds"]).to_pylist()
    return [{"file": f"p{i * PARTS // N}.parquet", "row": i % (N // PARTS), **line} for i, line in enumerate(found)]


def manifest(folder="out"):
    return json.loads((Path(folder) / scale.MANIFEST).read_text())


@pytest.mark.usefixtures("files")
class TestResults:
    def test_are_those_of_the_library_in_one_file_for_each_part(self, rows, explainer, capsys):
        code, out, err = run(capsys, "in", "--all", "--out", "out", "--inflate", "--jobs", "2")
        assert (code, out, err) == (0, f"{N} rows explained, saved to out\n", "")
        assert sorted(path.name for path in Path("out").glob("*.parquet")) == [f"p{k}.parquet" for k in range(PARTS)]
        assert lines() == expected(explainer, rows, inflate=True)
        assert manifest()["complete"]
        assert manifest()["rows"] == N
        assert manifest()["identity"]["settings"]["inflate"] is True

    def test_of_a_csv_file_are_the_same_also_zipped_and_in_parts(self, rows, explainer, capsys):
        assert run(capsys, "d.csv", "--all", "--out", "out", "--part-rows", "40", "--key", "id")[0] == 0
        assert len(list(Path("out").glob("d-0000*.parquet"))) == 3
        found = lines(drop=("seconds", "file"))
        assert [line.pop("id") for line in found] == rows.id.tolist()
        assert [line.pop("row") for line in found] == list(range(N))
        wanted = expected(explainer, rows)
        assert found == [{name: line[name] for name in line if name not in ("file", "row")} for line in wanted]
        Path("d.csv.gz").write_bytes(gzip.compress(Path("d.csv").read_bytes()))
        assert run(capsys, "d.csv.gz", "--all", "--out", "zipped", "--part-rows", "40", "--key", "id")[0] == 0
        assert lines("zipped", ("seconds", "file")) == lines("out", ("seconds", "file"))

    def test_of_a_file_of_many_rows_are_in_parts_that_need_not_be_row_groups(self, rows, explainer, capsys):
        assert run(capsys, "in/p0.parquet", "--all", "--out", "out", "--part-rows", "11")[0] == 0
        assert len(list(Path("out").glob("p0-0000*.parquet"))) == 3
        assert lines() == expected(explainer, rows)[: N // PARTS]

    @pytest.mark.parametrize("jobs", ["1", "2"])
    def test_are_the_same_however_much_is_read_at_a_time(self, rows, explainer, capsys, monkeypatch, jobs):
        monkeypatch.setattr(parts, "BLOCK", 4)
        monkeypatch.setattr(scale, "BLOCK", 9)
        bad = part(rows, 1).assign(a=[*part(rows, 1).a[:-1], np.inf])  # rows of its block are lists, not a table
        bad.to_parquet("in/p1.parquet", row_group_size=7)
        for source in ("in", "d.csv"):
            assert run(capsys, source, "--all", "--out", f"{source}.out", "--key", "id", "--jobs", jobs)[0] == (
                source == "in"
            )
        found, wanted = lines("in.out"), expected(explainer, rows)
        assert [line.pop("id") for line in found] == rows.id.tolist()
        last = 2 * N // PARTS - 1
        assert found[last]["status"] == "error"
        assert found[:last] + found[last + 1 :] == wanted[:last] + wanted[last + 1 :]
        assert [line["features"] for line in lines("d.csv.out")] == [line["features"] for line in wanted]
        assert pq.ParquetFile("in.out/p0.parquet").metadata.num_row_groups > 1

    def test_of_changes_and_near_a_row(self, rows, explainer, capsys):
        assert run(capsys, "in", "--all", "--out", "out", "--kind", "contrastive", "--fixed", "a")[0] == 0
        assert lines() == expected(explainer, rows, kind="contrastive", fixed=["a"])
        scales = {"a": 1, "b": 1, "c": 1, "d": 1}
        words = [f"{name}={scale}" for name, scale in scales.items()]
        assert run(capsys, "in", "--all", "--out", "near", "--radius", "0.5", "--scale", *words)[0] == 0
        assert lines("near") == expected(explainer, rows, within=0.5, scale=scales)
        assert {line["radius"] for line in lines("near")} == {0.5}

    def test_can_be_read_by_other_tools(self, capsys):
        pl, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
        run(capsys, "in", "--all", "--out", "out", "--key", "id")
        labels = [line["label"] for line in lines()]
        assert pd.read_parquet("out").label.tolist() == labels
        frame = pl.read_parquet("out/*.parquet")
        assert frame["label"].to_list() == labels
        assert frame["conditions"][0].to_list() == lines()[0]["conditions"]
        found = duckdb.sql("select id, features, conditions[1].feature from 'out/*.parquet' order by file, row")
        assert [row[1] for row in found.fetchall()] == [line["features"] for line in lines()]

    def test_have_certificates_in_one_file_for_each_part(self, capsys):
        run(capsys, "in", "--all", "--out", "out", "--certificate", "proofs")
        (forest,) = Path("proofs").glob("forest-*.json")
        for path in sorted(Path("proofs").glob("*.jsonl.gz")):
            assert main(["check", str(path), str(forest)]) == 0
            assert capsys.readouterr().out == f"Checked: {N // PARTS} rows\n"
        changed = gzip.decompress(path.read_bytes()).replace(b'"minimal"', b'"minimum"', 1)
        Path("bad.jsonl").write_bytes(changed)
        assert main(["check", "bad.jsonl", str(forest)]) == 3
        assert "row 0: rejected: " in capsys.readouterr().err

    def test_have_an_error_in_the_place_of_a_bad_row(self, rows, capsys):
        Path("d.csv").write_text("a,b,c,d\n1,1,1,1\n1,x,1,1\n1,1,1\n2,2,,2\n3,3,3,3\n")
        code, out, _ = run(capsys, "d.csv", "--all", "--out", "out")
        assert (code, out) == (1, "5 rows explained, saved to out; 3 not explained, because of errors\n")
        found = lines()
        assert [line["status"] for line in found] == ["minimal", "error", "error", "error", "minimal"]
        assert "'b' must be a number in d.csv, row 1. Got 'x'" in found[1]["error"]
        assert "must have 4 cells" in found[2]["error"]
        # In the next part, too, a row has the number that it has in the file.
        assert run(capsys, "d.csv", "--all", "--out", "parts", "--part-rows", "2")[0] == 1
        assert [line["error"] for line in lines("parts")] == [line["error"] for line in found]
        assert found[2]["error"].startswith("Row 2: ")
        Path("none.csv").write_text("a,b,c,d\n1,x,1,1\n2,x,2,2\n")
        code, _, err = run(capsys, "none.csv", "--all", "--out", "none")
        assert code == 2
        assert "No row of none.csv can be read, of the first 2. Column 'b' must be a number in none.csv, row 0." in err
        bad = part(rows, 1).assign(a=[*part(rows, 1).a[:-1], np.inf])
        bad.to_parquet("in/p1.parquet")
        assert run(capsys, "in", "--all", "--out", "other")[0] == 1
        assert [line["row"] for line in lines("other") if line["error"]] == [N // PARTS - 1]

    @pytest.mark.slow
    @pytest.mark.parametrize("backend", ["loky", "dask"])
    def test_are_the_same_from_other_processes(self, rows, explainer, capsys, backend):
        pytest.importorskip("distributed" if backend == "dask" else "joblib")
        words = ["in", "--all", "--out", "out", "--backend", backend, "--jobs", "2", "--certificate", "proofs"]
        assert run(capsys, *words)[0] == 0
        assert lines() == expected(explainer, rows)
        assert len(gzip.decompress(Path("proofs/p0.jsonl.gz").read_bytes()).splitlines()) == N // PARTS

    @pytest.mark.slow
    def test_are_not_kept_by_the_client_of_a_cluster(self, rows, explainer, capsys, monkeypatch):
        distributed = pytest.importorskip("distributed", reason="Dask is not installed: what it keeps is NOT tested")
        kept = []

        class Client(distributed.Client):
            def __enter__(self):
                kept.append(self.scheduler_comm.recent_message_log.maxlen)
                return super().__enter__()

        monkeypatch.setattr(distributed, "Client", Client)
        with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster:
            words = ["--backend", "dask", "--scheduler", cluster.scheduler_address, "--jobs", "1"]
            assert run(capsys, "in", "--all", "--out", "out", *words)[0] == 0
        assert lines() == expected(explainer, rows)
        assert kept == [10]  # messages, each with the rows of a chunk


@pytest.mark.usefixtures("files")
class TestFaults:
    def test_after_ctrl_c_the_same_command_goes_on(self, rows, explainer, capsys, monkeypatch):
        put, calls = scale._put, []

        def interrupted(*args, **kwargs):
            calls.append(1)
            if len(calls) == 2:
                raise KeyboardInterrupt
            return put(*args, **kwargs)

        monkeypatch.setattr(scale, "_put", interrupted)
        code, _, err = run(capsys, "in", "--all", "--out", "out", "--jobs", "2")
        assert code == 130
        assert "1 of 3 parts are complete in out; the same command goes on with the others." in err
        assert not list(Path("out").glob(".*"))
        assert list(manifest()["done"]) == ["p0"]
        before = Path("out/p0.parquet").stat().st_mtime_ns
        code, out, err = run(capsys, "in", "--all", "--out", "out")
        assert (code, out, err) == (0, f"{N} rows explained, saved to out\n", "treeproof: 1 of 3 parts done already.\n")
        assert Path("out/p0.parquet").stat().st_mtime_ns == before
        assert lines() == expected(explainer, rows)

    @pytest.mark.slow
    def test_after_a_signal_the_same_command_goes_on(self, tmp_path):
        forest, X = hard_forest()
        tp.save_forest(tp.Explainer(forest).forest, "hard.json")
        pd.DataFrame(X[:6], columns=[f"v{j}" for j in range(X.shape[1])]).to_csv("hard.csv", index=False)
        words = ["hard.json", "hard.csv", "--all", "--out", "out", "--part-rows", "1", "--timeout", "0.2", "--quiet"]
        words += ["--jobs", "2"]
        command = [sys.executable, "-m", "treeproof", "explain", *words]
        for number, part in ((signal.SIGINT, "out/hard-00000.parquet"), (signal.SIGKILL, "out/hard-00002.parquet")):
            with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
                while not Path(part).exists():
                    time.sleep(0.02)
                    assert process.poll() is None
                process.send_signal(number)
                _, err = process.communicate()
            if number == signal.SIGINT:  # threads are in the core then: Python has to wait for them
                assert process.returncode == 130
                assert err.startswith("treeproof: ")
                assert err.endswith("the same command goes on with the others.\ntreeproof: interrupted\n")
        assert len(list(Path("out").glob("*.parquet"))) < 6
        Path("out/.hard-00005.parquet.part").write_bytes(b"left over")
        assert main(["explain", *words]) == 1  # timed out
        assert [line["row"] for line in lines()] == list(range(6))
        assert not list(Path("out").glob(".*"))
        assert manifest()["complete"]

    @pytest.mark.parametrize("number", [errno.ENOSPC, errno.EFBIG])
    def test_without_room_on_the_disk_what_is_complete_stays(self, rows, explainer, capsys, monkeypatch, number):
        write, calls = pq.ParquetWriter.write_table, []

        def full(self, *args, **kwargs):
            calls.append(1)
            if len(calls) == 2:
                raise OSError(number, os.strerror(number))
            return write(self, *args, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(pq.ParquetWriter, "write_table", full)
            code, _, err = run(capsys, "in", "--all", "--out", "out")
        assert code == 2
        assert f"out: {os.strerror(number)}. 1 of 3 parts are complete in out; the same command goes on" in err
        assert not list(Path("out").glob(".*"))
        assert run(capsys, "in", "--all", "--out", "out")[0] == 0
        assert lines() == expected(explainer, rows)

    @pytest.mark.parametrize("damage", ["end", "middle"])
    def test_a_damaged_part_is_named_and_the_others_are_explained(self, rows, explainer, capsys, damage):
        whole = Path("in/p1.parquet").read_bytes()
        broken = whole[:-50] if damage == "end" else whole[:4] + bytes(b ^ 255 for b in whole[4:400]) + whole[400:]
        Path("in/p1.parquet").write_bytes(broken)
        code, _, err = run(capsys, "in", "--all", "--out", "out")
        assert code == 2
        assert "p1: " in err
        assert "in/p1.parquet cannot be read: " in err
        assert "1 part could not be read; repair them and run the same command again." in err
        assert list(manifest()["failed"]) == ["p1"]
        assert not manifest()["complete"]
        assert {line["file"] for line in lines()} == {"p0.parquet", "p2.parquet"}
        Path("in/p1.parquet").write_bytes(whole)
        assert run(capsys, "in", "--all", "--out", "out")[0] == 0
        assert lines() == expected(explainer, rows)
        assert manifest()["complete"]

    def test_a_second_run_is_refused_while_the_first_one_lasts(self, capsys):
        Path("out").mkdir()
        with open(f"out/{scale.LOCK}", "a+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            lock.write("process 123 on host")
            lock.flush()
            code, _, err = run(capsys, "in", "--all", "--out", "out")
        assert code == 2
        assert "Only one run at a time can write to out. process 123 on host is doing so" in err
        assert run(capsys, "in", "--all", "--out", "out")[0] == 0

    def test_other_settings_another_model_or_table_are_refused(self, rows, explainer, capsys):
        run(capsys, "in", "--all", "--out", "out", "--jobs", "2")
        before = lines()
        code, _, err = run(capsys, "in", "--all", "--out", "out", "--inflate")
        assert code == 2
        assert "another setting: inflate was False, and is True now" in err
        tp.save_forest(explainer.forest, "same.json")
        assert main(["explain", "same.json", "in", "--all", "--out", "out"]) == 0
        X = rows[list("abcd")]
        other = RandomForestClassifier(3, max_depth=2, random_state=1).fit(X, X.a > 1)
        tp.save_forest(tp.Explainer(other).forest, "m.json")
        code, _, err = run(capsys, "in", "--all", "--out", "out")
        assert code == 2
        assert "out holds results for another model." in err
        tp.save_forest(explainer.forest, "m.json")
        part(rows, 0)[:5].to_parquet("in/p0.parquet")
        code, _, err = run(capsys, "in", "--all", "--out", "out")
        assert code == 2
        assert "another table: its part 'p0' is not there any more, or has changed" in err
        assert lines() == before

    def test_a_folder_with_other_files_is_left_alone(self, capsys):
        Path("out").mkdir()
        Path("out/mine.txt").write_text("mine")
        code, _, err = run(capsys, "in", "--all", "--out", "out")
        assert code == 2
        assert "must be empty, or hold the results of an earlier run. It holds 'mine.txt'" in err


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["in", "--row", "1"], "A folder, or a Parquet table, is explained as a whole"),
        (["in", "--out", "out"], "--out must end in .csv, .json or .parquet, or, with --all, be a folder"),
        (["d.csv", "--row", "1", "--jobs", "2"], "--jobs requires --all --out DIR"),
        (["d.csv", "--all", "--out", "out", "--observed"], "--observed cannot be used with a whole table"),
        (["d.csv", "--all", "--out", "out", "--scheduler", "tcp://x"], "--scheduler requires --backend dask"),
        (["d.csv", "--all", "--out", "out", "--key", "nobody"], "It has no 'nobody'"),
        (["-", "--all", "--out", "out"], "needs a file, which can be read again"),
        (["missing.parquet", "--all", "--out", "out"], "There is no missing.parquet"),
        (["d.csv", "--all", "--out", "out", "--part-rows", "0"], "--part-rows must be at least 1"),
    ],
)
def test_options_that_do_not_fit_are_refused(words, message, capsys):
    code, _, err = run(capsys, *words)
    assert code == 2
    assert message in err


def test_progress_has_the_rate_the_time_left_and_failures(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(scale.time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    progress = scale.Progress(1000, quiet=False, stream=stream)
    now[0] += 60  # until the workers have started
    progress.add(50, 0)
    now[0] += 10
    progress.add(200, 3)
    first, then = stream.getvalue().splitlines()
    assert first == "treeproof: 50 of 1,000 rows, 0 failed"
    assert then == "treeproof: 250 of 1,000 rows, 20/s, 0:38 left, 3 failed"
