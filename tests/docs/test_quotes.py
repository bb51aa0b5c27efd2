"""What the READMEs and the pages quote from stored results is what these say."""

from __future__ import annotations

from pathlib import Path

import pytest

from treeproof_bench import quote

ROOT = Path(__file__).resolve().parents[2]
REPORT = ROOT / "bench" / "results" / "table1" / "report.md"


@pytest.mark.parametrize("page", ["paper", "coming-from"])
def test_quoted_lines_are_in_the_report(page):
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    quoted = [line.removeprefix("> ") for line in text.splitlines() if line.startswith("> ")]
    assert quoted
    stored = REPORT.read_text(encoding="utf-8").splitlines()
    assert [line for line in quoted if line not in stored] == [], "copy the lines again"


@pytest.mark.parametrize("page", list(quote.PAGES), ids=lambda path: path.parent.name)
def test_the_figures_are_those_of_the_stored_results(page):
    text = page.read_text()
    assert text.count(quote.BEGIN) == text.count(quote.END) == 1
    assert text == quote.quoted(text, quote.PAGES[page]()), "run: make quote"
