"""The questions beyond why, on the command line."""

from __future__ import annotations

import json

import pytest

import treeproof as tp
from treeproof.cli import main


@pytest.fixture
def files(tmp_path):
    forest, patient = tp.examples.heart_disease()
    model, data = tmp_path / "heart.json", tmp_path / "heart.csv"
    tp.save_forest(forest, model)
    rows = [patient, [0, 1, 1, 80], [0, 0, 1, 60]]
    data.write_text("\n".join([",".join(forest.column_names), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return [str(model), str(data)]


@pytest.mark.parametrize(
    ("question", "options", "expected"),
    [
        ("relevance", [], "necessary: blocked-arteries"),
        ("attribution", [], "100 %"),
        ("robustness", ["--norm", "l0"], "fewer than 1 of 4 features"),
        ("robustness", ["--target", "No"], "at a distance below"),
        ("robustness", ["--keep", "chest-pain"], "with chest-pain kept keeps the label"),
        ("profile", [], "any value"),
        ("profile", ["--at-most", "1", "--scale", "chest-pain=2"], "otherwise"),
        ("changes", ["-n", "2", "--fixed", "weight"], "2 minimal changes"),
        ("general", [], "covers"),
        ("review", ["--claim", "chest-pain > 0.5"], "Wrong"),
        ("review", ["--claim", "chest-pain, blocked-arteries"], "Right"),
        ("review", ["--claim", "chest-pain", "--radius", "0.1"], "as long as no other feature moves"),
        ("audit", ["--protected", "chest-pain"], "3 rows"),
        ("audit", ["--protected", "chest-pain", "--row", "0", "1", "--jobs", "2"], "2 rows"),
    ],
)
def test_a_question_is_answered(files, capsys, question, options, expected):
    assert main(["ask", question, *files, *options]) == 0
    assert expected in capsys.readouterr().out
    assert main(["ask", question, *files, *options, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["stats" if question != "audit" else "rows"]


def test_one_explanation_is_spoken_of_as_one(files, capsys, tmp_path):
    assert main(["ask", "attribution", *files]) == 0
    claim = "Proved: this is the only abductive explanation; there are 2 contrastive ones.\n"
    assert claim in capsys.readouterr().out
    data = tmp_path / "one.csv"
    data.write_text("a\n1\n")
    for tree, contrastive in ((tp.split("a", 0.5, "no", "yes"), "is 1 contrastive one"), (tp.leaf("yes"), "is no")):
        tp.save_forest(tp.build_forest([tree], columns=["a"], classes=["no", "yes"]), tmp_path / "one.json")
        assert main(["ask", "attribution", str(tmp_path / "one.json"), str(data)]) == 0
        assert f"the only abductive explanation; there {contrastive}" in capsys.readouterr().out


def test_ask_alone_helps(capsys):
    assert main(["ask"]) == 0
    assert "robustness" in capsys.readouterr().out


def test_a_deadline_is_an_exit_code(files, capsys):
    assert main(["ask", "relevance", *files, "--timeout", "0"]) == 1
    assert main(["ask", "audit", *files, "--protected", "weight", "--timeout", "0"]) == 1
    assert "timed out" in capsys.readouterr().out.lower()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--fixed", "weight"], "--fixed requires --kind contrastive"),
        (["--kind", "contrastive", "--inflate"], "--inflate requires --kind abductive"),
        (["--kind", "contrastive", "--up", "weight", "--down", "weight"], "not be in both"),
        (["--minimum", "--cost", "weight"], "FEATURE=NUMBER"),
        (["--tries", "0"], "'tries' parameter"),
        (["--constraints", "nowhere.txt"], "nowhere.txt"),
    ],
)
def test_bad_options_of_explain_are_named(files, capsys, options, message):
    assert main(["explain", *files, *options]) == 2
    assert message in capsys.readouterr().err


def test_options_of_explain(files, capsys, tmp_path):
    assert main(["explain", *files, "--minimum", "--cost", "weight=0.5"]) == 0
    assert "no cheaper set" in capsys.readouterr().out
    assert main(["explain", *files, "--inflate", "--tries", "3"]) == 0
    assert "can be widened" in capsys.readouterr().out
    assert main(["explain", *files, "--kind", "contrastive", "--up", "weight", "--fixed", "chest-pain"]) == 0
    assert "weight only up" in capsys.readouterr().out
    rules = tmp_path / "rules.txt"
    rules.write_text("blocked-arteries is binary\nchest-pain is binary\nif blocked-arteries = 1 then chest-pain = 1\n")
    assert main(["explain", *files, "--constraints", str(rules)]) == 0
    assert "The proof uses: if blocked-arteries = 1 then chest-pain = 1." in capsys.readouterr().out
    assert main(["explain", *files, "--observed"]) == 0
    assert "Proved" in capsys.readouterr().out
