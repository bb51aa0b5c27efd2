"""Mistakes that people make: what they are told, and which of them are none."""

from __future__ import annotations

from pathlib import Path

import pytest

import treeproof as tp
from treeproof.cli import main
from treeproof.cli.table import read_table

ROWS = [[1, 0, 1, 70], [0, 1, 0, 80]]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    forest, patient = tp.examples.heart_disease()
    tp.save_forest(forest, "m.json")
    tp.Explainer(forest).abductive(patient).certificate().save("c.json")
    Path("d.csv").write_text(table(forest.column_names))
    return tmp_path


def table(names, separator: str = ",", end: str = "\n") -> str:
    return end.join(separator.join(map(str, row)) for row in [names, *ROWS]) + end


def told(capsys, *words: str) -> str:
    """Return the message of a command that fails."""
    try:
        code = main(list(words))
    except SystemExit as stop:
        code = stop.code
    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    return captured.err


@pytest.mark.parametrize(
    "text",
    [
        table(["blocked-arteries", "good-blood-circulation", "chest-pain", "weight"], ";"),
        table(["blocked-arteries", "good-blood-circulation", "chest-pain", "weight"], "\t"),
        table(["blocked-arteries", "good-blood-circulation", "chest-pain", "weight"], end="\r\n"),
        "\ufeff" + table(["blocked-arteries", "good-blood-circulation", "chest-pain", "weight"]),
        "\ufeff" + table(["blocked-arteries", "good-blood-circulation", "chest-pain", "weight"], ";", "\r\n"),
        table(['"blocked-arteries"', ' "good-blood-circulation"'.strip(), '"chest-pain"', '"weight"']),
        table(["note", "blocked-arteries", "good-blood-circulation", "chest-pain", "weight"][1:]) + "\n\n",
        '"a, b; c",weight,chest-pain,good-blood-circulation,blocked-arteries\n"x; ""y"",\nz",70,1,0,1\n',
        '"a, b";weight;chest-pain;good-blood-circulation;blocked-arteries\n"x; y";70;1;0;1\n',
    ],
)
def test_tables_as_programs_write_them(text, capsys):
    Path("t.csv").write_bytes(text.encode())
    assert main(["explain", "m.json", "t.csv", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert main(["explain", "m.json", "d.csv", "--quiet"]) == 0
    assert out == capsys.readouterr().out


def test_a_table_of_one_column_is_one():
    Path("t.csv").write_text("a\n1\n2\n")
    assert read_table("t.csv").rows == [["1"], ["2"]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["explain", "d.csv", "m.json"], "d.csv looks like data and m.json like a model; swap them"),
        (["ask", "relevance", "d.csv", "m.json"], "swap them"),
        (["check", "m.json", "c.json"], "m.json is a model and c.json is a certificate; swap them"),
        (["explain", "m.json", "m.json"], "m.json must be a CSV file with a header. Got JSON; is it a model?"),
        (["explain", "m.json", "."], "A folder, or a Parquet table, is explained as a whole"),
        (["explain", "folder.json", "d.csv"], "folder.json: Is a directory"),
        (["explain", "none.json", "d.csv"], "none.json: No such file"),
        (["train", "empty.csv"], "Got an empty file"),
        (["explain", "m.json", "empty.csv"], "Got an empty file"),
        (["explain", "m.json", "header.csv"], "at least one row below its header"),
        (["explain", "m.json", "comma.csv"], "Write a decimal point, not a comma"),
        (["explain", "m.json", "d.csv", "--row", "999"], "d.csv has 2 rows, counted from 0. Got 999"),
        (["explain", "m.json", "d.csv", "--where", "wieght > 3"], "Did you mean 'weight'?"),
        (["explain", "m.json", "d.csv", "--where", "Chest-Pain is missing"], "Did you mean 'chest-pain'?"),
        (["explain", "m.json", "d.csv", "--where", "weights > 3"], "Did you mean 'weight'?"),
        (["explain", "m.json", "d.csv", "--where", "3 < weights <= 4"], "Did you mean 'weight'?"),
        (["ask", "review", "m.json", "d.csv", "--claim", "weights > 3"], "Did you mean 'weight'?"),
        (["explain", "m.json", "d.csv", "--prefer", "wieght"], "Did you mean 'weight'?"),
        (["explain", "m.json", "d.csv", "--binary", "chest pain"], "Did you mean 'chest-pain'?"),
        (["encode", "m.json", "d.csv", "--keep", "chestpain"], "Did you mean 'chest-pain'?"),
        (["ask", "audit", "m.json", "d.csv", "--protected", "weigth"], "Did you mean 'weight'?"),
        (["explain", "m.json", "near.csv"], "Missing: ['weight']"),
        (["explain", "m.json", "near.csv"], "Did you mean 'weigth'?"),
        (["train", "d.csv", "--class", "Weight"], "Did you mean 'weight'?"),
        (
            ["explain", "m.json", "d.csv", "--kind", "contrastive", "--target", "yes"],
            "--target must be one of ['No', 'Yes'], the classes of m.json. Got 'yes'. Did you mean 'Yes'?",
        ),
        (["explain", "m.json", "d.csv", "--preset", "paper"], "--preset requires --oracle sat"),
        (["encode", "m.json", "d.csv", "--format", "smtlib", "--solver", "glucose3"], "--format dimacs"),
        (["encode", "m.json", "d.csv", "--format", "smtlib", "--proof", "p"], "--proof requires --format dimacs"),
        (["encode", "m.json", "d.csv", "--all"], "Exactly one row must be chosen. Got 2"),
        (["ask", "audit", "m.json", "d.csv", "--protected", "weight", "--within", "1"], "no such option: --within."),
        (["--lood"], "treeproof: no such option: --lood. See treeproof --help.\n"),
        (["ask", "--lood"], "treeproof ask: no such option: --lood. See treeproof ask --help.\n"),
        (
            ["report", "m.json", "d.csv", "--tilte", "a"],
            "treeproof report: no such option: --tilte. Did you mean '--title",
        ),
        (["bench", "table1", "--data", ".", "--quik"], "treeproof bench table1: no such option: --quik. Did you mean"),
        (
            ["explain", "m.json", "d.csv", "e.csv"],
            "treeproof explain: not understood: e.csv. See treeproof explain --help",
        ),
        (["explain", "m.json", "d.csv", "--cost", "weight=2"], "--cost requires --minimum"),
        (["explain", "m.json", "d.csv", "--minimum", "--tries", "3"], "--tries must not be combined with --minimum"),
        (["explain", "--row", "1", "m.json", "d.csv"], "put the files before the options"),
        (["exlpain"], "choose from"),
        (["ask", "relevant"], "choose from"),
    ],
)
def test_a_mistake_is_named(words, message, capsys):
    Path("folder.json").mkdir()
    Path("empty.csv").write_text("")
    names = "blocked-arteries,good-blood-circulation,chest-pain"
    Path("header.csv").write_text(f"{names},weight\n")
    Path("comma.csv").write_text(f"{names},weight\n".replace(",", ";") + "1;0;1;70,5\n")
    Path("near.csv").write_text(f"{names},weigth\n1,0,1,70\n")
    assert message in told(capsys, *words)


def test_a_formula_is_about_the_row_that_is_left(capsys):
    assert main(["encode", "m.json", "d.csv", "--where", "weight > 75", "--json"]) == 0
    assert '"row": 1' in capsys.readouterr().out


def test_usage_is_short_and_names_what_is_needed(capsys):
    assert "usage: treeproof explain MODEL DATA [options]\n" in told(capsys, "explain", "m.json")
    usage = "usage: treeproof ask audit MODEL DATA --protected FEATURE ... [options]\n"
    assert usage in told(capsys, "ask", "audit", "m.json", "d.csv")


def test_training_names_the_row_of_the_file(capsys):
    """Repeated rows are dropped first; the number of the bad row was once counted without them."""
    Path("t.csv").write_text("a,class\n" + "1,x\n" * 3 + "2,y\nmuch,x\n" + "".join(f"{i},y\n" for i in range(3, 12)))
    assert "'much' in row 4" in told(capsys, "train", "t.csv")


def test_the_help_of_all_commands_begins_with_a_demo(capsys):
    assert main([]) == 0
    out = capsys.readouterr().out
    assert "treeproof demo " in out
    assert "enumerate   list all" in out
