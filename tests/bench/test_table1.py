"""``treeproof bench table1``, end to end, on made-up datasets and with a made-up peer."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET

import pytest

import treeproof as tp
from benchdata import write_datasets
from treeproof.cli import main
from treeproof_bench import growth, recipe, report, table1
from treeproof_bench.peers.worker import digest


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_datasets(tmp_path_factory.mktemp("data"))


@pytest.fixture(autouse=True)
def quick_parts(monkeypatch):
    """Memory has a test of its own; the curves get one short place each."""
    monkeypatch.setattr(table1, "in_a_fresh_process", lambda *_: (1.0, 2.0))
    monkeypatch.setattr(growth, "INSTANCES", 2)
    curves = {"trees": ("trees", (2, 4)), "depth": ("limit of depth", (2, None))}
    monkeypatch.setattr(growth, "CURVES", {**curves, "features": ("features", (4,)), "classes": ("classes", (2,))})


@pytest.fixture
def bench(data, capsys):
    def bench(*words):
        try:
            code = main(["bench", "table1", "--data", str(data), *map(str, words)])
        except SystemExit as exit_:  # argparse
            code = exit_.code
        out = capsys.readouterr()
        return code, out.out, out.err

    return bench


@pytest.fixture(scope="module")
def anchor(data, tmp_path_factory):
    """An interpreter with an Anchor that lies about the first instance of sums, then tells all, fails, and hangs."""
    folder = tmp_path_factory.mktemp("anchor")
    forest = recipe.train(*recipe.read(data, "sums"), 3)
    labels = recipe.voting(forest).predict(recipe.sample(data, "sums", 4)[1]).tolist()
    about = {"peer": "anchor", "version": "9.9", "versions": {"scikit-learn": "1"}, "digest": digest(forest)}
    lines = [
        {**about, "setup_seconds": 0.1},
        {"instance": 0, "method": "anchor", "seconds": 0.5, "features": [], "label": labels[0]},
        {"instance": 1, "method": "anchor", "seconds": 0.5, "features": [0, 1, 2, 3], "label": labels[1]},
        {"instance": 2, "method": "anchor", "seconds": 0.5, "error": "ValueError: no"},
        {"instance": 3, "method": "anchor", "seconds": 5.0, "timeout": True},
    ]
    (folder / "lines").write_text("".join(json.dumps(line) + "\n" for line in lines))
    script = folder / "python"
    script.write_text(f'#!/bin/sh\nif [ "$1" = -c ]; then echo 9.9; else cat {folder}/lines; fi\n')
    script.chmod(0o755)
    return script


def test_the_table_has_all_columns_beside_the_printed_ones(bench, data, tmp_path):
    code, out, err = bench("--oracle", "native,sat:3", "--repeats", 1, "--json", tmp_path / "r.jsonl")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert "sums: 968 nodes as printed; accuracy 68.75 % as printed; 42 instances" in lines[0]
    assert "steps: 692 nodes NOT as printed; accuracy 100 % NOT as printed; 32 instances" in lines[1]
    heading = next(line for line in lines if line.startswith("dataset"))
    expected = "dataset #F #C #I D #N %A #var #cl MxS MxU #S #U kept Mx m avg %w Anchor avg"
    assert " ".join(heading.split()) == expected
    at = lines.index(heading)
    assert [line[:15].split() for line in lines[at + 1 : at + 4]] == [["sums", "paper"], ["native"], ["sat"]]
    assert "#N (nodes): 1 of 2 datasets. Here and, in brackets, printed: steps 692 (1)." in out
    assert "2 forests: the printed number of nodes on 1, the printed accuracy on 1." in out

    header, *records = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert header["settings"]["oracles"] == {"native": None, "sat": 3}
    assert {"cpu", "cores"} <= set(header["machine"])
    assert {"python", "numpy", "scikit-learn", "treeproof"} <= set(header["versions"])
    assert str(data) not in (tmp_path / "r.jsonl").read_text()  # results are published: no paths of a machine
    record = records[0]
    assert len(record["rows"]) == len(record["explanations"]) == len(record["oracles"]["native"]["ms"]) == 42
    assert len(record["oracles"]["sat"]["ms"]) == 3
    assert record["oracles"]["sat"]["encode_ms"] > 0
    assert record["memory_mb"] == 2
    # What is stored is what the library says.
    explainer = tp.Explainer(recipe.train(*recipe.read(data, "sums"), 3), vote="majority")
    rows = recipe.sample(data, "sums")[1]
    assert record["explanations"] == [list(explainer.abductive(x, order="index").features) for x in rows]
    assert record["default_order"]["lengths"] == [len(explainer.abductive(x).features) for x in rows]
    assert f"p cnf {record['vars']} {record['clauses']}\n" in explainer.encode(rows[0], features=(), preset="paper")


def test_quick_is_native_on_five_instances(bench):
    code, out, _ = bench("--quick")
    assert code == 0
    assert "10 instances." in out
    assert "native: 10 of 10 explanations proved minimal" in out


def test_a_lying_peer_is_counted_with_a_counterexample(bench, data, anchor, tmp_path):
    code, out, err = bench(
        *("--dataset", "sums", "--instances", 4, "--peers", f"anchor={anchor}", "--json", tmp_path / "r.jsonl")
    )
    assert (code, err) == (0, "")
    assert "native is faster than Anchor on 3 of 3 instances, 100 %" in out  # the failed one is no race
    assert "Anchor: 2 answers to 4 instances (1 over the limit, 1 failed)" in out
    assert "1 do not force the prediction, 50 %; of the 1 that do, 1 are not minimal." in out
    results = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert results[0]["versions"]["anchor-exp"] == "9.9"
    lie = results[1]["peers"]["anchor"]["answers"]["anchor"][0]
    assert lie["verdict"] == "refuted"
    # From the file alone: the instance is a row of the dataset, the counterexample says what to change in it.
    lines = (data / "sums.csv").read_text().splitlines()
    row = [float(value) for value in lines[1 + results[1]["rows"][0]].split(",")[:-1]]
    changed = [lie["counterexample"].get(str(i), value) for i, value in enumerate(row)]
    model = recipe.voting(recipe.train(*recipe.read(data, "sums"), 3))
    assert model.predict([changed])[0] == lie["label"] != model.predict([row])[0]


def test_a_peer_that_fails_on_a_dataset_is_reported_and_the_run_goes_on(bench, anchor):
    code, out, _ = bench("--instances", 4, "--peers", f"anchor={anchor}")  # its lines are about another forest
    assert code == 0
    assert "steps: 692" in out
    assert "anchor FAILED: its scikit-learn 1 trains another forest" in out
    assert "Anchor failed on steps: its scikit-learn 1 trains another forest." in out


def test_a_run_goes_on_where_it_was_interrupted(bench, tmp_path, monkeypatch):
    options = ("--instances", 2, "--repeats", 1, "--json", tmp_path / "r.jsonl")
    measure = table1.measure

    def interrupted(data, name, *others):
        if name == "steps":
            raise KeyboardInterrupt
        return measure(data, name, *others)

    with monkeypatch.context() as patch:
        patch.setattr(table1, "measure", interrupted)
        assert bench(*options)[0] == 130
    before = (tmp_path / "r.jsonl").read_bytes()
    assert before.count(b"\n") == 2
    code, out, _ = bench(*options)
    assert code == 0
    assert "has 1 of 2 datasets already" in out
    assert "\nsums: " not in out
    assert (tmp_path / "r.jsonl").read_bytes().startswith(before)

    monkeypatch.setattr(table1, "measure", None)  # nothing is left to do
    code, out, _ = bench(*options)
    assert code == 0
    assert "has 2 of 2 datasets already" in out
    code, _, err = bench("--instances", 3, "--json", tmp_path / "r.jsonl")
    assert code == 2
    assert "was begun with other settings" in err
    assert "instances 2, not 3" in err


def test_explanations_over_the_limit_are_counted(bench):
    code, out, _ = bench("--dataset", "sums", "--instances", 3, "--limit", "1e-9")
    assert code == 1
    assert "native 0." in out
    assert "3 over the limit" in out
    assert "0 of 3 explanations proved minimal in time" in out


def test_the_report_is_whole(bench, anchor, tmp_path, capsys):
    folder = tmp_path / "a" / "report"
    options = ("--dataset", "sums", "--instances", 4, "--oracle", "native,sat", "--peers", f"anchor={anchor}")
    code, out, _ = bench(*options, "--growth", "--json", tmp_path / "r.jsonl", "--report", folder)
    assert code == 0
    assert "report.html" in out
    pictures = {"scatter", "cactus", "times", "lengths", "growth"}
    assert {path.name for path in folder.iterdir()} == {f"{name}.svg" for name in pictures} | {
        "report.md",
        "report.html",
    }
    for name in pictures:
        ET.parse(folder / f"{name}.svg")
    markdown, page = ((folder / f"report.{kind}").read_text() for kind in ("md", "html"))
    assert set(re.findall(r"\]\((\w+)\.svg\)", markdown)) == pictures
    assert page.count("<svg") == 5
    assert not re.search(r'(src|href)="(?!#)', page)  # nothing is loaded
    names = re.findall(r'id="([^"]+)"', page)
    assert len(names) == len(set(names))
    assert set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', page)) <= {(name, "") for name in names} | {
        ("", name) for name in names
    }
    for text in (markdown, page):
        assert "do not force the prediction" in text
        assert "Worse than the paper" in text
        assert str(tmp_path) not in text
    # The same report comes from the file alone.
    assert main(["bench", "report", str(tmp_path / "r.jsonl"), str(tmp_path / "again")]) == 0
    for path in folder.iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_a_report_can_be_drawn_from_native_alone(bench, tmp_path):
    code, _, _ = bench("--quick", "--report", tmp_path)
    assert code == 0
    assert {path.stem for path in tmp_path.glob("*.svg")} == {"cactus", "times", "lengths"}
    assert "None were asked." in (tmp_path / "report.md").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--data", "nowhere"], "must hold table1.csv. Got nowhere"),
        (["--dataset", "nonsense"], "--dataset must name datasets"),
        (["--oracle", "nonsense"], "--oracle must name some of native, sat, smt"),
        (["--oracle", "sat:0"], "must be a whole number above 0"),
        (["--peers", "nonsense"], "--peers must name some of anchor, pyxai"),
        (["--peers", "anchor=/no/such/python"], "must be a Python"),
        (["--peers", "anchor"], "pip install -r bench/peers/anchor.txt"),
        (["--instances", "many"], "--instances must be a whole number above 0 or paper"),
        (["--limit", "0"], "--limit must be"),
        (["--repeats", "0"], "--repeats must be"),
        (["--seed", "-1"], "--seed must be"),
        (["--quick", "--peers", "anchor"], "--quick goes without"),
        (["--report", "/dev/null/report"], "/dev/null"),
    ],
)
def test_bad_options_are_refused_before_anything_is_measured(bench, monkeypatch, words, message):
    monkeypatch.setattr(table1, "measure", None)
    code, out, err = bench(*words)
    assert (code, out) == (2, "")
    assert message in err


def test_a_dataset_that_is_missing_or_damaged_is_named(bench, tmp_path, data):
    for path in data.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "steps.csv").unlink()
    code, out, err = bench("--data", tmp_path)
    assert (code, out) == (2, "")
    assert "The dataset steps must be in the folder" in err
    (tmp_path / "steps.csv.gz").write_bytes(b"no gzip")
    code, _, err = bench("--data", tmp_path, "--dataset", "steps")
    assert code == 2
    assert "must be a CSV file" in err
    (tmp_path / "steps.csv").write_text("a,class\n1,0\nx,1\n")
    code, _, err = bench("--data", tmp_path, "--dataset", "steps")
    assert code == 2
    assert "steps.csv must hold numbers" in err


def test_numbers_are_written_plainly():
    assert [report.sig(value) for value in (0.00001234, 0.5, 99.96, 123.4, 7, None)] == [
        *("0.0000123", "0.5", "100", "123", "7", "–")
    ]


def test_help_names_the_benchmarks(capsys):
    with pytest.raises(SystemExit):
        main(["bench", "--help"])
    assert "table1" in capsys.readouterr().out
