"""Which columns a command takes for whole numbers: it looks at the table and at the model, and says so."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

import treeproof as tp
from treeproof.cli import main
from treeproof.cli.table import Table
from treeproof.model.columns import Column
from treeproof.model.files import save_model


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys, *words):
    code = main([str(word) for word in words])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return captured.out, captured.err


def credit(n=200):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"credits": rng.integers(0, 6, n), "rate": rng.random(n), "owner": rng.random(n) < 0.5})
    return frame, ((frame.credits > 2) ^ (frame.rate > 0.7) ^ frame.owner).astype(int)


def test_an_xgboost_file_keeps_the_kinds_of_the_training_frame(folder, capsys):
    frame, label = credit()
    model = XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1).fit(frame, label)
    frame.to_csv("data.csv", index=False)
    for name in ("model.json", "model.ubj"):
        model.save_model(name)
        loaded = tp.load_model(name)
        assert [column.integer for column in loaded.columns] == [True, False, True]
        assert [f.kind for f in tp.Explainer(loaded).space.features] == ["integer", "real", "integer"]
        change = tp.Explainer(loaded).contrastive(frame.iloc[0], fixed=["rate", "owner"])
        assert float(change.witness[0]).is_integer()
        out, err = said(capsys, "explain", name, "data.csv", "--kind", "contrastive", "--fixed", "rate", "owner")
        assert re.search(r"\n  credits: \d+ -> \d+\n", out)
        assert err.startswith("treeproof: counted as whole numbers: credits; as 0 or 1: owner. If other")
    assert [f.kind for f in tp.Explainer(model).space.features] == ["integer", "real", "binary"]
    # Fractions in the data take it back, in Python and here.
    halves = frame.assign(credits=frame.credits + 0.5)
    assert [f.kind for f in tp.Explainer(loaded, data=halves).space.features] == ["real", "real", "binary"]
    halves.to_csv("data.csv", index=False)
    assert "whole" not in said(capsys, "explain", "model.ubj", "data.csv")[1]


def test_whole_numbers_of_the_table_count_if_the_model_cuts_between_such(folder, capsys):
    frame, label = credit()
    forest = RandomForestClassifier(3, max_depth=3, random_state=0)
    save_model(make_pipeline(StandardScaler(), forest).fit(frame[["credits", "rate"]], label), "scaled.json")
    frame[["credits", "rate"]].to_csv("data.csv", index=False)
    out, err = said(capsys, "explain", "scaled.json", "data.csv", "--row", "0")
    assert "credits" in err
    assert "rate" not in err
    # That a single row's numbers happen to be whole says nothing about a model of fractions.
    (folder / "row.csv").write_text("credits,rate\n3,1\n")
    assert said(capsys, "explain", "scaled.json", "row.csv")[1] == err
    assert said(capsys, "explain", "scaled.json", "data.csv", "--real", "credits")[1] == ""
    exact = said(capsys, "explain", "scaled.json", "data.csv", "--integer", "credits")
    assert exact == (out, "")  # who declares it knows it
    (folder / "declared.txt").write_text("credits is real\n")
    assert said(capsys, "explain", "scaled.json", "data.csv", "--constraints", "declared.txt")[1] == ""
    assert main(["explain", "scaled.json", "data.csv", "--integer", "credits", "--real", "credits"]) != 0
    assert "both integer and real" in capsys.readouterr().err


def test_distances_are_measured_by_the_data_and_nothing_else_changes(folder, capsys):
    frame, label = credit()
    XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1).fit(frame, label).save_model("model.json")
    frame.to_csv("data.csv", index=False)
    files = ["model.json", "data.csv", "--quiet"]
    out, _ = said(capsys, "ask", "robustness", *files)
    radius = tp.Explainer(tp.load_model("model.json"), data=frame, missing="all").robustness(frame.iloc[0])
    assert out == f"row 0: {radius}\n\n"
    assert "\nScale: half the distance between the 16th and the 84th percentile of the data; named and" in out
    given, _ = said(capsys, "ask", "robustness", *files, "--scale", "rate=1000", "credits=1000", "owner=1000")
    assert "Scale: as given for credits, rate, owner; named" in given
    nothing, _ = said(capsys, "explain", *files, "--at-most", "0")
    assert f"moves by {radius.proved:.6g}" in nothing
    assert "at most 0" not in nothing
    change, _ = said(capsys, "explain", *files, "--kind", "contrastive", "--radius", "1")
    assert change.count("\nScale: half the") == 1
    # All columns may still be missing, at a distance of 1.
    plain, _ = said(capsys, "explain", *files)
    near, _ = said(capsys, "explain", *files, "--radius", "100000")
    assert near.splitlines()[:3] == plain.splitlines()[:3]


def test_it_is_said_once_if_models_are_compared(folder, capsys):
    forest, patient = tp.examples.heart_disease()
    tp.save_forest(forest, "heart.json")
    (folder / "data.csv").write_text(f"{','.join(forest.column_names)}\n{','.join(map(str, patient))}\n")
    assert said(capsys, "compare", "heart.json", "heart.json", "data.csv")[1].count("counted as") == 1
    assert said(capsys, "explain", "heart.json", "data.csv", "--one-hot", "pain=chest-pain,good-blood-circulation")[
        1
    ].startswith("treeproof: counted as whole numbers: blocked-arteries, weight. If")


def test_what_the_cells_tell():
    names = ["whole", "gaps", "point", "fraction", "truth", "empty", "name", "day"]
    rows = [["1", "1.0", "1.0", "1", "True", "", "1", "2"], ["-2", "", "2.0", "1.5", "false", "", "2", "3"]]
    columns = [Column(name, missing="possible") for name in names[:6]] + [Column("name", ("1", "2"))]
    table = Table("data.csv", names, rows)
    columns.append(Column("day", date=True))
    assert table.kinds(tuple(columns)) == {"whole": "integer", "gaps": "integer", "fraction": "real", "truth": "binary"}
    assert table.row(0, tuple(columns[:5]))[4] == 1.0
    assert table.row(1, tuple(columns[:5]))[4] == 0.0
