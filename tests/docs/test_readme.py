"""The code in the README runs, and the README shows what it prints."""

from __future__ import annotations

import contextlib
import importlib
import io
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"


def test_the_readme_runs_and_prints_what_it_shows():
    blocks = re.findall(r"```(python|text)\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert [kind for kind, _ in blocks] == ["python", "text", "python"]
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(blocks[0][1], names)
    assert printed.getvalue() == blocks[1][1]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(blocks[2][1], names)
    assert "Proved" in printed.getvalue()
    assert str(names["text"]).count("\n") > 1000
    assert not names["verdict"]


@pytest.mark.skipif(not (ROOT / "bench/results/table1.jsonl").exists(), reason="no results of a full run are stored")
def test_the_figures_are_those_of_the_stored_results(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    quote = importlib.import_module("quote")
    try:
        text = README.read_text()
        assert text.count(quote.BEGIN) == text.count(quote.END) == 1
        assert text == quote.quoted(text, quote.figures()), "run: make quote"
    finally:
        del sys.modules["quote"]
