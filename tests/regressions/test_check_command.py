"""Files that `treeproof check` and the checker alone are given: damaged, or without end."""

from __future__ import annotations

import gzip
import json
import math
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import treeproof as tp
from treeproof import checker
from treeproof.cli import main

MEMORY = 3 * 2**30


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A certificate, its model, and a file that is longer than the memory that `limited` gives."""
    forest = tp.build_forest([tp.split("a", 0.5, "no", "yes")], columns=["a"], classes=["no", "yes"])
    certificate = tp.Explainer(forest).abductive([0.0]).certificate()
    certificate.save(tmp_path / "certificate.json")
    tp.save_forest(forest, tmp_path / "model.json")
    line = json.dumps({"row": 0, "certificate": certificate.document}) + "\n"
    (tmp_path / "lines.jsonl").write_text(line)
    for name in ("endless.json", "endless.jsonl"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(2 * MEMORY)  # takes no space
    monkeypatch.chdir(tmp_path)
    return tmp_path


def limited(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command within limits of memory."""
    return subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "words",
    [
        ["certificate.json", "endless.json"],
        ["endless.json", "model.json"],
        ["certificate.json", "model.json", "endless.json"],
        ["endless.jsonl", "model.json"],
        ["lines.jsonl", "endless.json"],
    ],
)
def test_a_file_without_end_is_refused_in_a_sentence(words):
    commands = [["-m", "treeproof", "check", *words], [checker.__file__, *words]]
    for command in commands if words[0].endswith(".json") else commands[:1]:
        done = limited(*command, "--budget", "1e7")
        assert (done.returncode, done.stdout) == (3, "")
        assert "Traceback" not in done.stderr
        assert "Allow more: budget=" in done.stderr


@pytest.mark.usefixtures("folder")
def test_too_little_memory_is_no_bug():
    done = limited("-m", "treeproof", "explain", "endless.json", "lines.jsonl")
    assert done.returncode == 2
    assert done.stderr == "treeproof: there is not enough memory for this: a file is too large, or damaged\n"


@pytest.mark.parametrize("damage", ["not UTF-8", "cut off", "not packed as it says", "no row", "no object"])
def test_damaged_lines_of_certificates_are_rejected(folder, capsys, damage):
    line = Path("lines.jsonl").read_bytes()
    packed = gzip.compress(line * 100)
    content = {
        "not UTF-8": gzip.compress(line + b"\xff\xfe\n"),
        "cut off": packed[:-20],
        "not packed as it says": packed[:40] + b"\x00\x01\x02" + packed[43:],
        "no row": gzip.compress(line + b'{"certificate": null}\n'),
        "no object": gzip.compress(line + b"[]\n"),
    }
    (folder / "damaged.jsonl.gz").write_bytes(content[damage])
    assert main(["check", "damaged.jsonl.gz", "model.json"]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("treeproof: row ?: rejected: The line is damaged: ")
    assert said.err.count("\n") == 1


@pytest.mark.usefixtures("folder")
def test_a_damaged_model_of_lines_of_certificates_is_bad_input(capsys):
    Path("model.json").write_text(Path("model.json").read_text().replace('"a"', "3", 1))
    assert main(["check", "lines.jsonl", "model.json"]) == 2
    assert capsys.readouterr().err.startswith("treeproof: model.json cannot be read. ")


@pytest.mark.usefixtures("folder")
def test_a_model_is_read_in_pieces_however_much_is_allowed():
    """A terabyte at once is more than there is."""
    text = Path("model.json").read_text(encoding="utf-8")
    for budget in (math.inf, 2**50, len(text)):
        assert checker.read_model("model.json", budget) == text
    with pytest.raises(checker.CheckError, match="Allow more"):
        checker.read_model("model.json", len(text) - 1)
