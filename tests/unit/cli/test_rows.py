"""Which rows a command is about: --row, --rows, --all, --where, the same everywhere."""

from __future__ import annotations

import json
import re

import pytest

import treeproof as tp
from treeproof.cli import main
from treeproof.cli.rows import parse_range

ROWS = ["1,0,1,70,red,2024-02-29", "0,1,0,80,blue,2023-01-01", "0,0,1,60,red,2024-01-01", "1,1,1,90,,2025-01-01"]


@pytest.fixture
def files(tmp_path):
    forest, _ = tp.examples.heart_disease()
    model, data = tmp_path / "heart.json", tmp_path / "heart.csv"
    tp.save_forest(forest, model)
    data.write_text("\n".join([",".join([*forest.column_names, "colour", "first day"]), *ROWS]) + "\n")
    return [str(model), str(data)]


def chosen(capsys, words: list[str]) -> list[int]:
    assert main([*words, "--json"]) == 0
    return [json.loads(line)["row"] for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ([], [0]),
        (["--row", "2", "1"], [2, 1]),
        (["--row", "2", "2"], [2]),
        (["--rows", "1:3"], [1, 2]),
        (["--rows", "2:"], [2, 3]),
        (["--rows", ":2"], [0, 1]),
        (["--rows", "3,0"], [3, 0]),
        (["--rows", "0:99"], [0, 1, 2, 3]),
        (["--all"], [0, 1, 2, 3]),
        (["--where", "weight > 60"], [0, 1, 3]),
        (["--where", "60 < weight <= 80"], [0, 1]),
        (["--where", "weight = 60.0"], [2]),
        (["--where", "weight in {60, 7e1}"], [0, 2]),
        (["--where", "weight != 60"], [0, 1, 3]),
        (["--where", "colour = red"], [0, 2]),
        (["--where", "colour is missing"], [3]),
        (["--where", "colour is not missing and weight >= 70"], [0, 1]),
        (["--where", "colour not in {red}"], [1, 3]),
        (["--where", "first day >= 2024-02-29"], [0, 3]),
        (["--where", "colour = red", "--where", "weight < 70"], [2]),
        (["--where", "colour = red", "--rows", "1:"], [2]),
    ],
)
def test_rows_are_chosen(files, capsys, options, rows):
    assert chosen(capsys, ["explain", *files, *options]) == rows
    assert chosen(capsys, ["ask", "relevance", *files, *options]) == rows
    assert list(dict.fromkeys(chosen(capsys, ["enumerate", *files, *options]))) == rows


def test_an_audit_is_about_all_rows_by_default(files, capsys):
    assert main(["ask", "audit", *files, "--protected", "weight"]) == 0
    assert "4 rows" in capsys.readouterr().out
    assert main(["ask", "audit", *files, "--protected", "weight", "--where", "colour = red"]) == 0
    assert "2 rows" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--row", "0", "4"], "between 0 and 3"),
        (["--row", "-1"], "between 0 and 3"),
        (["--rows", "3,9"], "between 0 and 3"),
        (["--rows", "2:1"], "chooses none"),
        (["--rows", "7:"], "chooses none"),
        (["--rows", "some"], "--rows must look like"),
        (["--rows", ""], "--rows must look like"),
        (["--where", "weight > 900"], "None does"),
        (["--where", "age > 3"], "must name one of the features"),
        (["--where", "colour > 3"], "must be a number"),
        (["--where", "weight >"], "A condition must look like"),
    ],
)
def test_bad_choices_are_named_before_anything_is_printed(files, capsys, options, message):
    assert main(["explain", *files, *options]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


def test_two_choices_at_once_are_refused(files, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["explain", *files, "--row", "1", "--all"])
    assert stop.value.code == 2


def test_a_list_of_several_rows_names_each(files, capsys):
    assert main(["enumerate", *files, "--rows", "0:2"]) == 0
    out = capsys.readouterr().out
    assert re.match(r"row 0: (Yes|No); its minimal explanations:\n   1  ", out)
    assert re.search(r"\nrow 1: (Yes|No); its minimal explanations:\n   1  ", out)


def test_ranges_may_be_huge_without_being_made():
    assert parse_range("0:999999999999", 3) == [0, 1, 2]
