"""The code in the documentation runs, and the pages show what it prints."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


def refresh():
    spec = importlib.util.spec_from_file_location("refresh", DOCS / "refresh.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda path: path.stem)
def test_a_page_shows_what_its_code_prints(page):
    text = page.read_text(encoding="utf-8")
    assert "```python" in text or page.stem == "mutants"  # a list, without code
    assert refresh().refreshed(text) == text, "run: python docs/refresh.py"


def test_a_block_that_needs_a_library_that_is_missing_is_left_alone(monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    page = "```python\nimport xgboost\nprint(1)\n```\n\n```text\n2\n```\n\n```python\nprint(3)\n```\n"
    assert refresh().refreshed(page) == page + "\n```text\n3\n```\n"
    with pytest.raises(ModuleNotFoundError):
        refresh().refreshed("```python\nimport no_such_library\n```\n")
