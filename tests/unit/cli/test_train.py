"""``treeproof train`` on tables as pandas writes them: text, whole numbers, dates and gaps."""

from __future__ import annotations

import datetime
import io
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import treeproof as tp
from treeproof.cli import main

N = 90


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    start = datetime.date(2020, 1, 1)
    frame = pd.DataFrame(
        {
            "id": range(1, N + 1),
            "income": rng.lognormal(10, 0.6, N).round(2),
            "age": rng.integers(18, 80, N),
            "job": rng.choice(["clerk", "none", "<0"], N),
            "opened": [str(start + datetime.timedelta(int(day))) for day in rng.integers(0, 900, N)],
            "name": [f"person {i}" for i in range(N)],
            "country": "CH",
            "notes": None,
        }
    )
    frame["label"] = np.where((frame["age"] > 45) == (frame["job"] == "none"), "refuse", "approve")
    frame.loc[::7, "income"] = np.nan
    frame.loc[::11, "job"] = None
    frame.loc[::13, "opened"] = None
    frame.loc[5, "label"] = None
    return frame


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)


def run(capsys, *words: str, code: int = 0) -> str:
    assert main(list(words)) == code
    captured = capsys.readouterr()
    return captured.out if code != 2 else captured.err


def test_text_dates_and_gaps_are_read_and_explained(capsys):
    said = run(capsys, "train", "people.csv", "--trees", "7")
    assert "1 without a class left out" in said
    assert "  numbers: income (13 missing)\n  whole numbers: age\n" in said
    assert "  dates: opened (7 missing)\n  categories: job (3 values, 9 missing)\n" in said
    assert (
        "  dropped: id (row numbers), name (89 different texts in 89 rows), country (always 'CH'), notes (empty)"
        in said
    )
    lines = run(capsys, "explain", "people.json", "people.csv", "--all", "--json").splitlines()
    forest = tp.load_forest("people.json")
    assert {c.name: (c.integer, c.date) for c in forest.columns if c.categories is None} == {
        "income": (False, False),
        "age": (True, False),
        "opened": (False, True),
    }
    assert len(lines) == N
    explainer = tp.Explainer(forest)
    for line in map(json.loads, lines[:15]):
        row = people().drop(columns=["label"]).astype(object).where(people().notna(), None).iloc[line["row"]]
        assert line["label"] == explainer.abductive({c.name: row[c.name] for c in forest.columns}).label


def test_the_forest_is_the_pipelines_own_predict(capsys):
    pytest.importorskip("skops")
    run(capsys, "train", "people.csv", "--trees", "7", "--vote", "mean")
    said = run(capsys, "train", "people.csv", "--trees", "7", "--vote", "mean", "--out", "people.skops")
    assert "--date opened --integer age --missing income opened" in said
    options = ["--date", "opened", "--integer", "age", "--missing", "income", "opened"]
    saved = run(capsys, "explain", "people.skops", "people.csv", "--all", *options)
    assert saved == run(capsys, "explain", "people.json", "people.csv", "--all")


def test_standard_input(capsys, monkeypatch):
    content = Path("people.csv").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert "saved to forest.json" in run(capsys, "train", "-", "--trees", "3")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert run(capsys, "explain", "forest.json", "-") == run(capsys, "explain", "forest.json", "people.csv")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("lable", "Did you mean 'label'?"),
        ("income", "must have few different values"),
        ("name", "must have few different values"),
    ],
)
def test_a_target_that_cannot_be_learnt(capsys, target, message):
    assert message in run(capsys, "train", "people.csv", "--target", target, code=2)


def test_a_category_that_reads_like_a_gap_is_not_one(capsys):
    run(capsys, "train", "people.csv", "--trees", "7")
    lines = run(capsys, "explain", "people.json", "people.csv", "--where", "job = none", "--json").splitlines()
    assert lines
    assert all("none" in json.loads(line)["instance"] for line in lines)


def test_a_gap_in_training_is_a_gap_to_be_explained(capsys):
    """Whatever pandas reads as missing: once, ``n/a`` was a gap for training, and an unknown category afterwards."""
    people().fillna({"job": "n/a"}).to_csv("people.csv", index=False)
    assert "job (3 values, 9 missing)" in run(capsys, "train", "people.csv", "--trees", "7")
    (line,) = run(capsys, "explain", "people.json", "people.csv", "--row", "11", "--json").splitlines()
    assert json.loads(line)["instance"][2] is None
    forest = run(capsys, "train", "people.csv", "--trees", "3", "--out", "people.skops")
    assert "--date opened" in forest
    assert "say so: --date opened." in run(capsys, "explain", "people.skops", "people.csv", "--row", "1", code=2)
