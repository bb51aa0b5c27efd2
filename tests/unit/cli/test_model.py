"""Questions about a whole model, on the command line: without a row, and mostly without a table."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import treeproof as tp
from treeproof import checker
from treeproof.cli import main


@pytest.fixture
def files(tmp_path):
    forest, patient = tp.examples.heart_disease()
    model, data, other = tmp_path / "heart.json", tmp_path / "heart.csv", tmp_path / "other.json"
    tp.save_forest(forest, model)
    tree = tp.split("chest-pain", 0.5, "No", "Yes")
    tp.save_forest(tp.build_forest([tree], columns=forest.column_names, classes=["No", "Yes"]), other)
    rows = [patient, [0, 1, 1, 80], [0, 0, 1, 60]]
    data.write_text("\n".join([",".join(forest.column_names), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return {"MODEL": str(model), "DATA": str(data), "OTHER": str(other)}


QUESTIONS = [
    ("extremes MODEL", "extremes", "from 0 to 1"),
    ("extremes MODEL DATA --of Yes --observed", "extremes", "votes for Yes"),
    ("extremes MODEL --of No --where weight<50 --where chest-pain<0.5", "extremes", "where weight<50"),
    ("monotone MODEL", "monotonicity", "weight                   never falls"),
    ("monotone MODEL --feature weight --decreasing", "monotone", "rises somewhere"),
    ("effect MODEL --features weight", "effect", "by up to 0.333333"),
    ("independent MODEL --features weight", "independence", "depends on weight"),
    ("differ MODEL MODEL", "difference", "same trees"),
    ("differ MODEL OTHER DATA", "difference", "The models differ"),
    ("rules MODEL DATA", "rules", "3 of 3 rows"),
    ("rules MODEL DATA --row 1 --at-most 1 --at-most-conditions 2", "rules", "1 of 1 rows"),
]


@pytest.mark.parametrize(("line", "kind", "expected"), QUESTIONS, ids=[line for line, *_ in QUESTIONS])
def test_a_question_is_answered(files, capsys, line, kind, expected):
    words = [files.get(word, word) for word in line.split()]
    assert main(["ask", *words]) == 0
    assert expected in capsys.readouterr().out
    assert main(["ask", *words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == kind


def test_a_statement_is_proved_or_refuted(files, capsys):
    claim = "if chest-pain <= 0.5 and blocked-arteries <= 0.5 then No"
    assert main(["ask", "prove", files["MODEL"], "--claim", claim, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["holds"] is True
    claim = "if weight > 80 then Yes"
    assert main(["ask", "prove", files["MODEL"], files["DATA"], "--claim", claim, "--examples", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["holds"], len(found["counterexamples"])) == (False, 2)


def test_certificates_are_written_and_check(files, capsys, tmp_path):
    folder = tmp_path / "certificates"
    assert main(["ask", "extremes", files["MODEL"], "--certificate", str(folder)]) == 0
    assert main(["ask", "rules", files["MODEL"], files["DATA"], "--certificate", str(folder)]) == 0
    claim = "if chest-pain <= 0.5 and blocked-arteries <= 0.5 then No"
    assert main(["ask", "prove", files["MODEL"], "--claim", claim, "--certificate", str(folder)]) == 0
    names = sorted(path.name for path in folder.glob("*.json") if not path.name.startswith("forest"))
    assert names == [
        "extremes-highest.json",
        "extremes-lowest.json",
        "prove.json",
        "rule-1.json",
        "rule-2.json",
        "rule-3.json",
    ]
    forests = {path.name.split("-")[1].split(".")[0]: path for path in folder.glob("forest-*")}
    for name in names:
        document = json.loads((folder / name).read_text())
        assert main(["check", str(folder / name), str(forests[document["model"][:12]])]) == 0
    assert capsys.readouterr().out.count("Checked") == len(names)


def test_certificates_of_pairs_and_of_two_models_are_written_and_check(files, capsys, tmp_path):
    folder = tmp_path / "certificates"
    asked = [
        "monotone MODEL",
        "effect MODEL --features weight --where chest-pain>1",
        "independent MODEL --features weight --where chest-pain<0.5 --where blocked-arteries<0.5",
        "differ MODEL OTHER --where chest-pain>1 --where blocked-arteries>1",
    ]
    for line in asked:
        assert main(["ask", *(files.get(word, word) for word in line.split()), "--certificate", str(folder)]) == 0
    names = sorted(path.name for path in folder.glob("*.json") if not path.name.startswith("forest"))
    assert names == [
        "differ-label.json",
        "differ-score.json",
        "effect.json",
        "independent.json",
        "monotone-blocked-arteries-never-falls.json",
        "monotone-chest-pain-never-falls.json",
        "monotone-weight-never-falls.json",
    ]
    capsys.readouterr()
    for name in names:
        models = ["MODEL", "OTHER"] if name.startswith("differ") else ["MODEL"]
        assert main(["check", str(folder / name), *(files[model] for model in models)]) == 0
        assert "Checked: " in capsys.readouterr().out
    alone = [sys.executable, checker.__file__, str(folder / "differ-label.json"), files["MODEL"], files["OTHER"]]
    done = subprocess.run(alone, check=True, capture_output=True, text=True)
    assert "the same label to every input, under these" in done.stdout
    for words, message in (
        (["differ-label.json", "MODEL"], "only one is given"),
        (["differ-label.json", "OTHER", "MODEL"], "another model"),
        (["effect.json", "MODEL", "OTHER"], "about one model"),
    ):
        assert main(["check", str(folder / words[0]), *(files[word] for word in words[1:])]) == 3
        assert message in capsys.readouterr().err
    assert main(["check", str(folder / "effect.json"), files["MODEL"], files["DATA"]]) == 2
    assert "--row N" in capsys.readouterr().err


def test_what_is_not_proved_has_no_certificate(files, capsys, tmp_path):
    words = ["ask", "independent", files["MODEL"], "--features", "weight", "--certificate", str(tmp_path / "none")]
    assert main(words) == 0
    assert "no certificate was written" in capsys.readouterr().err


def test_rows_in_no_rule_have_their_numbers_in_the_file(files, capsys):
    words = ["ask", "rules", files["MODEL"], files["DATA"], "--rows", "1:3", "--at-most", "1", "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["uncovered"] == [2]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("extremes MODEL --observed", "needs rows to look at"),
        ("extremes MODEL --of Maybe", "Got 'Maybe'"),
        ("monotone MODEL --decreasing", "--decreasing requires --feature"),
        ("effect MODEL --features waist", "waist"),
        ("differ DATA MODEL", "heart.csv"),
        ("extremes MODEL --where waist>3", "waist"),
    ],
)
def test_what_cannot_be_answered_is_said(files, capsys, line, message):
    assert main(["ask", *(files.get(word, word) for word in line.split())]) == 2
    assert message in capsys.readouterr().err


def test_a_deadline_is_an_exit_code(files, capsys):
    assert main(["ask", "rules", files["MODEL"], files["DATA"], "--timeout", "0"]) == 1
    assert "Timed out" in capsys.readouterr().out
