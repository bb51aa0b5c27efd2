"""Two versions of a model on the command line."""

from __future__ import annotations

import csv
import io
import json

import pytest

import treeproof as tp
from treeproof.cli import main

ROWS = [[1, 0, 1, 70], [0, 1, 1, 80], [0, 0, 1, 60]]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    forest, _ = tp.examples.heart_disease()
    tp.save_forest(forest, "old.json")
    columns = forest.column_names
    simple = tp.build_forest([tp.split("chest-pain", 0.5, "No", "Yes")], columns=columns, classes=["No", "Yes"])
    tp.save_forest(simple, "new.json")
    text = [",".join(columns), *(",".join(map(str, row)) for row in ROWS)]
    (tmp_path / "d.csv").write_text("\n".join(text) + "\n")
    return tmp_path


def run(capsys, *words: str) -> tuple[int, str, str]:
    code = main(["compare", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_it_says_what_the_library_says(folder, capsys):
    code, out, _ = run(capsys, "old.json", "new.json", "d.csv")
    assert code == 0
    expected = tp.compare(tp.load_forest("old.json"), tp.load_forest("new.json"), ROWS)
    assert out == f"{expected}\n\n"
    assert "1 with another reason" in out


def test_rows_are_chosen_and_keep_their_numbers(folder, capsys):
    code, out, _ = run(capsys, "old.json", "new.json", "d.csv", "--where", "weight > 70", "--json")
    assert code == 0
    (row,) = map(json.loads, out.splitlines())
    assert (row["row"], row["difference"], row["still_forced"]) == (1, "label", False)
    assert (row["old"]["label"], row["new"]["label"]) == ("No", "Yes")
    assert "  1    label" in run(capsys, "old.json", "new.json", "d.csv", "--row", "1")[1]


def test_results_in_files(folder, capsys):
    code, out, _ = run(capsys, "old.json", "new.json", "d.csv", "--out", "c.csv", "--jobs", "2")
    assert code == 0
    assert out.splitlines()[0].startswith("3 rows: 2 with another label")
    assert out.splitlines()[1] == "3 rows compared, saved to c.csv"
    rows = list(csv.DictReader(io.StringIO((folder / "c.csv").read_text())))
    assert [row["difference"] for row in rows] == ["reason", "label", "label"]
    assert (rows[0]["old_features"], rows[0]["new_features"]) == ("blocked-arteries; chest-pain", "chest-pain")
    code, out, _ = run(capsys, "old.json", "new.json", "d.csv", "--out", "c.json", "--json")
    assert json.loads(out) == {"out": "c.json", "rows": 3, "relabelled": 2, "reason_changed": 1, "unknown": 0}
    assert [row["row"] for row in json.loads((folder / "c.json").read_text())] == [0, 1, 2]


def test_results_in_a_parquet_file(folder, capsys):
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    assert run(capsys, "old.json", "new.json", "d.csv", "--out", "c.parquet")[0] == 0
    assert pd.read_parquet("c.parquet")["difference"].tolist() == ["reason", "label", "label"]


def test_a_deadline_is_an_exit_code(folder, capsys):
    code, out, _ = run(capsys, "old.json", "old.json", "d.csv", "--timeout", "0")
    assert code == 1
    assert "3 not decided in time" in out


def test_versions_may_have_other_columns(folder, capsys):
    tree = tp.split("colour", 0.5, "No", "Yes")
    tp.save_forest(tp.build_forest([tree], columns=["colour"], classes=["No", "Yes"]), "other.json")
    text = (folder / "d.csv").read_text().splitlines()
    (folder / "e.csv").write_text("\n".join([f"colour,{text[0]}", *(f"1,{line}" for line in text[1:])]))
    code, out, _ = run(capsys, "old.json", "other.json", "e.csv")
    assert code == 0
    assert "Yes: colour" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["old.json", "new.json"], "required"),
        (["old.json", "d.csv", "new.json"], "d.csv looks like data and new.json like a model; swap them"),
        (["old.json", "none.json", "d.csv"], "none.json: No such file"),
        (["old.json", "new.json", "d.csv", "--row", "3"], "has 3 rows"),
        (["old.json", "new.json", "d.csv", "--preset", "paper"], "--preset requires --oracle sat"),
        (["old.json", "new.json", "d.csv", "--within", "1"], "no such option: --within"),
    ],
)
def test_bad_input(folder, capsys, words, message):
    try:
        code = main(["compare", *words])
    except SystemExit as stop:
        code = stop.code
    assert code == 2
    assert message in capsys.readouterr().err


def test_an_error_names_the_row_of_the_file(folder, capsys):
    (folder / "rules.txt").write_text("weight <= 75\n")
    code, _, err = run(capsys, "old.json", "new.json", "d.csv", "--rows", "1:", "--constraints", "rules.txt")
    assert code == 2
    assert "Row 1: " in err
