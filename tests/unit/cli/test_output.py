"""What commands write: files whole or not at all, JSON on request, results only if quiet."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys

import pytest

import treeproof as tp
from treeproof.cli import main, output
from treeproof.questions.parallel import track


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    forest, patient = tp.examples.heart_disease()
    tp.save_forest(forest, "m.json")
    rows = [patient, [0, 1, 0, 80], [0, 0, 1, 60]]
    lines = [",".join(forest.column_names), *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    return ["m.json", "d.csv"]


def run(capsys, *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_results_in_a_json_file_are_those_of_the_library(files, capsys, tmp_path):
    code, out, _ = run(capsys, "explain", *files, "--all", "--out", "r.json")
    assert (code, out) == (0, "3 rows explained, saved to r.json\n")
    results = json.loads((tmp_path / "r.json").read_text())
    forest, patient = tp.examples.heart_disease()
    assert [r["row"] for r in results] == [0, 1, 2]
    assert results[0]["feature_names"] == list(tp.Explainer(forest).abductive(patient).feature_names)


def test_results_in_a_csv_file(files, capsys, tmp_path):
    assert run(capsys, "explain", *files, "--all", "--out", "r.csv", "--quiet") == (0, "", "")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "r.csv").read_text())))
    assert [row["row"] for row in rows] == ["0", "1", "2"]
    assert rows[0]["features"] == "blocked-arteries; chest-pain"
    assert (rows[0]["label"], rows[0]["status"], rows[0]["size"]) == ("Yes", "minimal", "2")
    code, out, _ = run(capsys, "explain", *files, "--kind", "contrastive", "--out", "c.csv", "--json")
    assert (code, json.loads(out)) == (0, {"out": "c.csv", "rows": 1, "late": 0})
    (row,) = csv.DictReader(io.StringIO((tmp_path / "c.csv").read_text()))
    assert (row["label"], row["new_label"]) == ("Yes", "No")
    assert "->" in row["explanation"]


def test_results_in_a_parquet_file(files, capsys):
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    assert run(capsys, "explain", *files, "--all", "--out", "r.parquet")[0] == 0
    frame = pd.read_parquet("r.parquet")
    assert frame["row"].tolist() == [0, 1, 2]
    assert list(frame["features"][0]) == ["blocked-arteries", "chest-pain"]


def test_labels_that_are_whole_numbers_stay_so_in_a_parquet_file(files, capsys):
    """Beside a row without a new label, pandas made floats of them."""
    parquet = pytest.importorskip("pyarrow.parquet")
    tree = tp.split("weight", 75, tp.split("chest-pain", 0.5, 0, 1), 1)
    tp.save_forest(tp.build_forest([tree], columns=["chest-pain", "weight"], classes=[0, 1]), "w.json")
    words = ["ask", "audit", "w.json", files[1], "--protected", "chest-pain", "--out", "a.parquet"]
    assert run(capsys, *words)[0] == 0
    assert parquet.read_table("a.parquet")["new_label"].to_pylist() == [0, None, 0]
    assert str(parquet.read_schema("a.parquet").field("new_label").type) == "int64"


def test_without_pyarrow_a_parquet_file_is_refused_before_the_work(files, capsys, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, out, err = run(capsys, "explain", "absent.json", files[1], "--out", "r.parquet")
    assert (code, out) == (2, "")
    assert "pip install 'treeproof[parquet]'" in err
    assert not (tmp_path / "r.parquet").exists()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("r.txt", "must end in .csv"),
        ("r", "must end in"),
        ("no/r.csv", "folder of --out"),
        ("folder.csv", "'folder.csv' is a folder"),
    ],
)
def test_a_bad_file_name_is_refused_before_the_work(files, capsys, tmp_path, path, message):
    (tmp_path / "folder.csv").mkdir()
    for command in (["explain"], ["compare", "absent.json"], ["ask", "audit", "--protected", "weight"]):
        code, _, err = (
            run(capsys, *command, "absent.json", files[1], "--out", path)
            if command[0] != "ask"
            else run(capsys, "ask", "audit", "absent.json", files[1], "--protected", "weight", "--out", path)
        )
        assert code == 2
        assert message in err


@pytest.mark.parametrize(
    "words",
    [
        ["explain", "absent.json", "d.csv", "--out", "{}/r.csv"],
        ["explain", "absent.json", "d.csv", "--certificate", "{}"],
        ["encode", "absent.json", "d.csv", "--out", "{}/q.cnf"],
        ["encode", "absent.json", "d.csv", "--proof", "{}/q.drat"],
        ["train", "absent.csv", "--out", "{}/m.json"],
        ["check", "--copy", "{}/checker.py"],
    ],
)
def test_a_folder_without_the_right_to_write_is_named_before_the_work(files, capsys, monkeypatch, tmp_path, words):
    (tmp_path / "closed").mkdir()

    def closed(*args, **options):
        raise PermissionError(13, "Permission denied", "somewhere")

    monkeypatch.setattr(output.tempfile, "mkstemp", closed)  # whoever is root may write everywhere
    code, out, err = run(capsys, *(word.format("closed") for word in words))
    assert (code, out) == (2, "")
    assert "must be in a writable folder. Got 'closed" in err


def test_an_error_in_the_middle_leaves_the_old_file(files, capsys, tmp_path):
    (tmp_path / "r.csv").write_text("old")
    (tmp_path / "d.csv").write_text((tmp_path / "d.csv").read_text() + "0,much,0,0\n")
    assert run(capsys, "explain", *files, "--all", "--out", "r.csv")[0] == 2
    assert (tmp_path / "r.csv").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["d.csv", "m.json", "r.csv"]


def test_a_deadline_is_told_beside_the_file(files, capsys):
    code, out, _ = run(capsys, "explain", *files, "--all", "--out", "r.csv", "--timeout", "0")
    assert code == 1
    assert "3 timed out, not fully proved" in out


def test_labels_of_several_types_share_a_column(monkeypatch, tmp_path):
    """With --confidence labels are the model's own numbers, and the text 'uncertain'."""
    frames = []

    class Pandas:
        @staticmethod
        def DataFrame(records, dtype):
            frames.append(records)
            return Pandas

        @staticmethod
        def to_parquet(buffer, **options):
            buffer.write(b"PAR1")

    monkeypatch.setattr(output, "_pandas", lambda: Pandas)
    model = tp.build_forest([tp.split("a", 0.5, 0, 1)], columns=["a"], classes=[0, 1])
    why = tp.Explainer(model).abductive([0])
    other = tp.Explainer(
        tp.build_forest([tp.split("a", 0.5, "uncertain", "b")], columns=["a"], classes=["b", "uncertain"])
    ).abductive([0])
    output.write_results(str(tmp_path / "r.parquet"), [output.explained(0, why), output.explained(1, other)])
    assert [record["label"] for record in frames[0]] == ["0", "uncertain"]


def test_every_command_speaks_json(files, capsys, tmp_path):
    (tmp_path / "t.csv").write_text("a,b,class\n" + "".join(f"{i},{i % 7},{int(i > 20)}\n" for i in range(40)))
    code, out, _ = run(capsys, "train", "t.csv", "--trees", "3", "--json")
    assert code == 0
    assert json.loads(out)["out"] == "t.json"
    code, out, _ = run(capsys, "demo", "--json")
    assert code == 0
    assert [json.loads(line)["kind"] for line in out.splitlines()] == ["abductive", "contrastive"] * 2 + ["contrastive"]
    lines = run(capsys, "compare", "m.json", *files, "--json")[1].splitlines()
    assert [json.loads(line)["difference"] for line in lines] == ["same"] * 3
    assert json.loads(run(capsys, "check", "--copy", "alone.py", "--json")[1]) == {"copy": "alone.py"}
    code, out, _ = run(capsys, "encode", *files, "--json")
    assert code == 0
    assert "p cnf" in json.loads(out)["text"]
    code, out, _ = run(capsys, "encode", *files, "--json", "--out", "q.cnf")
    assert json.loads(out) == {"row": 0, "format": "dimacs", "out": "q.cnf", "proof": None, "text": None}
    assert run(capsys, "explain", *files, "--certificate", "certificates")[0] == 0
    code, out, _ = run(capsys, "check", "certificates/row-0-why.json", "m.json", "--json")
    assert code == 0
    assert json.loads(out)["accepted"] is True
    assert run(capsys, "check", "certificates/row-0-why.json", "m.json", files[1], "--row", "0")[0] == 0
    code, _, err = run(capsys, "check", "certificates/row-0-why.json", "m.json", files[1], "--row", "1")
    assert (code, "about another row" in err) == (3, True)
    code, _, err = run(capsys, "check", "certificates/row-0-why.json", "m.json", "--row", "1")
    assert (code, "needs a table and its number" in err) == (2, True)
    (tmp_path / "other.json").write_text((tmp_path / "t.json").read_text())
    code, out, err = run(capsys, "check", "certificates/row-0-why.json", "other.json", "--json")
    assert code == 3
    assert json.loads(out)["accepted"] is False
    assert "rejected" in err


def test_certificates_of_both_kinds_stay_beside_each_other(files, capsys, tmp_path):
    """The second used to replace the first."""
    for kind in ("abductive", "contrastive"):
        assert run(capsys, "explain", *files, "--certificate", "c", "--kind", kind)[0] == 0
    names = sorted(path.name for path in (tmp_path / "c").iterdir())
    assert names[1:] == ["row-0-change.json", "row-0-why.json"]
    for name in names[1:]:
        assert run(capsys, "check", f"c/{name}", f"c/{names[0]}", "--quiet") == (0, "", "")


@pytest.mark.parametrize(
    ("command", "name", "says"),
    [
        (["enumerate"], "row-0-all.json", "these are all minimal sets"),
        (["ask", "robustness"], "row-0-robustness.json", "every input in the ranges around the instance has the label"),
        (["ask", "robustness", "--norm", "l0"], "row-0-robustness.json", "no smaller set gives another label"),
        (
            ["ask", "audit", "--protected", "weight"],
            "audit.json",
            "of 3 rows, a change of weight alone gives another label in 1; in 2 none does",
        ),
    ],
)
def test_certificates_of_other_answers(files, capsys, tmp_path, command, name, says):
    words = len(command) if command[-1].startswith("-") or len(command) < 2 else 2
    code, _, _ = run(capsys, *command[:words], *files, *command[words:], "--certificate", "c", "--quiet")
    assert code == 0
    forest = next(path.name for path in (tmp_path / "c").iterdir() if path.name.startswith("forest-"))
    code, out, _ = run(capsys, "check", f"c/{name}", f"c/{forest}")
    assert code == 0
    assert says in out
    text = (tmp_path / "c" / name).read_text()
    (tmp_path / "c" / name).write_text(text.replace('"label":1', '"label":0').replace('"label": 1', '"label": 0'))
    assert run(capsys, "check", f"c/{name}", f"c/{forest}", "--quiet")[0] == 3


def test_check_copies_the_checker_which_runs_alone(files, capsys, tmp_path):
    assert run(capsys, "explain", *files, "--certificate", "c", "--quiet")[0] == 0
    code, out, _ = run(capsys, "check", "--copy", "alone.py")
    assert code == 0
    assert "python alone.py" in out
    alone = [sys.executable, "-I", "alone.py", "c/row-0-why.json", "m.json"]
    ran = subprocess.run(alone, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout == run(capsys, "check", "c/row-0-why.json", "m.json", "--copy", "again.py")[1]
    assert (tmp_path / "again.py").read_bytes() == (tmp_path / "alone.py").read_bytes()
    code, _, err = run(capsys, "check", "c/row-0-why.json")
    assert code == 2
    assert "check needs a certificate and the model" in err


def test_an_audit_in_a_file(files, capsys, tmp_path):
    words = ["ask", "audit", *files, "--protected", "chest-pain", "--row", "2", "0"]
    code, out, _ = run(capsys, *words, "--out", "a.csv")
    assert code == 0
    assert "2 rows audited, saved to a.csv" in out
    rows = list(csv.DictReader(io.StringIO((tmp_path / "a.csv").read_text())))
    assert [(row["row"], row["flips"]) for row in rows] == [("2", "False"), ("0", "True")]
    assert (rows[1]["label"], rows[1]["new_label"], rows[1]["necessary"]) == ("Yes", "No", "chest-pain")
    code, out, _ = run(capsys, *words, "--out", "a.json", "--json")
    assert json.loads(out) == {"out": "a.json", "rows": 2, "flips": 1, "free": 1, "unknown": 0}
    assert [row["row"] for row in json.loads((tmp_path / "a.json").read_text())] == [2, 0]


def test_an_audit_names_rows_by_their_number_in_the_file(files, capsys):
    """It used to count the chosen rows from 0."""
    out = run(
        capsys, "ask", "audit", *files, "--protected", "blocked-arteries", "chest-pain", "--where", "weight < 80"
    )[1]
    assert "row 0: Yes" in out
    words = ["ask", "audit", *files, "--protected", "weight", "chest-pain", "good-blood-circulation", "--row", "1"]
    assert [row["row"] for row in json.loads(run(capsys, *words, "--json")[1])["rows"]] == [1]


def test_a_model_replaces_only_models_unless_it_is_told_to(files, capsys, tmp_path):
    (tmp_path / "t.csv").write_text("a,b,class\n" + "".join(f"{i},{i % 7},{int(i > 20)}\n" for i in range(40)))
    (tmp_path / "t.json").write_text('{"rows": "somebody\'s own data"}')
    code, _, err = run(capsys, "train", "t.csv", "--trees", "3")
    assert code == 2
    assert "t.json exists and is not a model, so it was not overwritten" in err
    assert "somebody" in (tmp_path / "t.json").read_text()
    assert run(capsys, "train", "t.csv", "--trees", "3", "--out", "t.json")[0] == 0
    assert run(capsys, "train", "t.csv", "--trees", "4")[0] == 0


def test_quiet_commands_give_results_only(files, capsys, tmp_path):
    (tmp_path / "t.csv").write_text("a,b,class\n" + "".join(f"{i},{i % 7},{int(i > 20)}\n" for i in range(40)))
    assert run(capsys, "train", "t.csv", "--trees", "3", "--quiet") == (0, "", "")
    assert run(capsys, "explain", *files, "--certificate", "c", "--quiet")[1].startswith("row 0: Yes, because")
    assert run(capsys, "check", "c/row-0-why.json", "m.json", "--quiet") == (0, "", "")
    assert run(capsys, "check", "--copy", "alone.py", "--quiet") == (0, "", "")
    assert run(capsys, "encode", *files, "--out", "q.cnf", "--quiet") == (0, "", "")
    assert run(capsys, "compare", "m.json", *files, "--out", "r.csv", "--quiet") == (0, "", "")
    assert run(capsys, "ask", "audit", *files, "--protected", "weight", "--out", "r.csv", "--quiet") == (0, "", "")
    code, out, _ = run(capsys, "enumerate", *files, "--quiet")
    assert code == 0
    assert "complete" not in out
    assert out.count("{") == 3
    out = run(capsys, "demo", "--quiet")[1]
    assert out.startswith("Why?\nYes, because")
    assert "running example" not in out


def test_progress_has_a_rate_with_and_without_rich(capsys, monkeypatch):
    assert list(track([1, 2], 2, "counting")) == [1, 2]
    assert "/s" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert list(track([1, 2], 2, "counting")) == [1, 2]
    err = capsys.readouterr().err
    assert "\rcounting 2/2, " in err
    assert err.endswith("/s   \n")
    assert list(track(iter([1]), None, "counting")) == [1]
    assert "\rcounting 1, " in capsys.readouterr().err
