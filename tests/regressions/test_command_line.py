"""Hostile or unlucky files, names and numbers on the command line: a sentence, and nothing is lost."""

from __future__ import annotations

import csv
import dataclasses
import gzip
import io
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import treeproof as tp
from treeproof.cli import main
from treeproof.cli.table import read_table

NAMES = ["blocked-arteries", "good-blood-circulation", "chest-pain", "weight"]
TABLE = ",".join(NAMES) + "\n1,0,1,70\n0,1,0,80\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    forest, patient = tp.examples.heart_disease()
    tp.save_forest(forest, "m.json")
    tp.Explainer(forest).abductive(patient).certificate().save("c.json")
    Path("d.csv").write_text(TABLE)


def refused(capsys, *words: str) -> str:
    """Return the message of a command that refuses: exit code 2, and one sentence without a traceback."""
    try:
        code = main(list(words))
    except SystemExit as stop:
        code = stop.code
    captured = capsys.readouterr()
    assert (code, captured.out) == (2, "")
    assert "Traceback" not in captured.err
    return captured.err


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["explain", "m.json", "d.csv", "--out", "d.csv"], "d.csv"),
        (["explain", "m.json", "d.csv", "--out", "./m.json"], "m.json"),
        (["explain", "m.json", "d.csv", "--out", "link.csv"], "d.csv"),
        (["explain", "m.json", "d.csv", "--constraints", "r.csv", "--out", "r.csv"], "r.csv"),
        (["compare", "m.json", "m.json", "d.csv", "--out", "m.json"], "m.json"),
        (["ask", "audit", "m.json", "d.csv", "--protected", "weight", "--out", "d.csv"], "d.csv"),
        (["encode", "m.json", "d.csv", "--out", "d.csv"], "d.csv"),
        (["encode", "m.json", "d.csv", "--out", "q", "--proof", "q"], "d.csv"),
        (["check", "c.json", "m.json", "--copy", "c.json"], "c.json"),
        (["train", "t.json", "--out", "t.json"], "t.json"),
    ],
)
def test_an_output_is_neither_an_input_nor_another_output(capsys, words, kept):
    Path("link.csv").symlink_to("d.csv")
    Path("r.csv").write_text("if chest-pain = 1 then weight > 50\n")
    Path("t.json").write_text(TABLE)
    before = Path(kept).read_bytes()
    assert "must be another file than" in refused(capsys, *words)
    assert Path(kept).read_bytes() == before
    assert not Path("q").exists()


def test_a_table_with_flipped_bits_is_refused():
    good = gzip.compress(TABLE.encode() * 50)
    n_refused = 0
    for place in range(0, len(good), 5):
        Path("d.csv.gz").write_bytes(good[:place] + bytes([good[place] ^ 16]) + good[place + 1 :])
        try:
            read_table("d.csv.gz")  # not all of its header is checked
        except tp.InputError:
            n_refused += 1
    assert n_refused > 5


@pytest.mark.parametrize(
    "words", [["--seed", "-1"], ["--seed", str(2**32)], ["--depth", str(10**19)], ["--trees", "0"]]
)
def test_numbers_that_a_forest_cannot_be_trained_with(capsys, words):
    assert "must be between" in refused(capsys, "train", "d.csv", *words)


def test_what_is_decompressed_is_limited(capsys):
    with gzip.open("bomb.csv.gz", "wb") as file:
        file.write(TABLE.encode() + bytes(3_000_000))
    assert "--max-mb" in refused(capsys, "explain", "m.json", "bomb.csv.gz", "--max-mb", "2")
    with zipfile.ZipFile("bomb.skops", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", bytes(3_000_000))
    assert "--max-mb" in refused(capsys, "explain", "bomb.skops", "d.csv", "--max-mb", "2")


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {}])
def test_names_do_not_control_a_terminal(capsys, monkeypatch, environment):
    name = "a\x1b[2J\x9b1m\u202e"
    forest = tp.build_forest(
        [tp.split(name, 0.5, "no", "yes\x1b]0;x\x07")], columns=[name], classes=["no", "yes\x1b]0;x\x07"]
    )
    tp.save_forest(forest, "evil.json")
    Path("evil.csv").write_text(f"{name}\n1\n", encoding="utf-8")
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: bool(environment))
    for words in (["explain"], ["explain", "--kind", "contrastive"], ["enumerate"], ["ask", "relevance"]):
        assert main([*words, "evil.json", "evil.csv"]) == 0
    assert main(["explain", "evil.json", "evil.csv", "--where", f"{name}b > 1"]) == 2
    shown = "".join(capsys.readouterr())
    assert not any(letter in shown for letter in "\x1b\x07\x9b\u202e")


def test_cells_are_not_formulas():
    names = ["=1+1", "@SUM(A1)", "-2+3", "+x"]
    tree = tp.split(names[0], 0.5, "=no()", tp.split(names[1], 0.5, "=no()", "@yes"))
    tp.save_forest(tp.build_forest([tree], columns=names, classes=["=no()", "@yes"]), "f.json")
    Path("f.csv").write_text(",".join(names) + "\n1,1,0,0\n0,0,0,0\n")
    assert main(["explain", "f.json", "f.csv", "--all", "--out", "r.csv"]) == 0
    cells = [cell for row in csv.reader(io.StringIO(Path("r.csv").read_text())) for cell in row]
    assert "'@yes" in cells
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)


def test_python_numbers_are_no_numbers_in_a_table(capsys):
    Path("u.csv").write_text(TABLE.replace("70", "7_0"))
    assert "Got '7_0'. Write digits without underscores." in refused(capsys, "explain", "m.json", "u.csv")
    Path("u.csv").write_text(TABLE.replace("70", "٧٠"), encoding="utf-8")
    assert "must be a number" in refused(capsys, "explain", "m.json", "u.csv")


def test_messages_are_bounded(capsys):
    name = "n" * 100_000
    Path("long.csv").write_text(f"{name}\n1\n")
    assert len(refused(capsys, "explain", "m.json", "long.csv")) < 5000
    assert len(refused(capsys, "explain", "m.json", "d.csv", "--prefer", name)) < 5000
    with pytest.raises(tp.InputError) as error:
        tp.Explainer(tp.load_forest("m.json")).abductive([0, 0, 0, 0], prefer=[name])
    assert len(str(error.value)) < 5000


def test_a_damaged_label_is_refused():
    labels = np.array(["no", "yes"])
    labels.view(np.uint32)[0] = 0x200000
    with pytest.raises(tp.ForestFormatError, match="characters that do not exist"):
        dataclasses.replace(tp.load_forest("m.json"), classes=labels)


def test_a_million_tries_stop_at_the_deadline():
    forest, patient = tp.examples.heart_disease()
    found = tp.Explainer(forest).abductive(patient, tries=10**12, timeout=0.05)
    assert found.status == "minimal"


def test_labels_do_not_control_a_terminal_that_prints_a_result():
    forest = tp.build_forest(
        [tp.split("a", 0.5, "no", "y\x1b]0;x\x07\u202e\nz")], columns=["a"], classes=["no", "y\x1b]0;x\x07\u202e\nz"]
    )
    explainer = tp.Explainer(forest)
    for result in (explainer.abductive([1]), explainer.contrastive([0]), explainer.audit([[1]], ["a"])):
        for text in (str(result), repr(result)):
            assert text.replace("\n", "").isprintable()
            assert "y\\u{1b}]0;x" in text or "audit" in type(result).__name__.lower()
