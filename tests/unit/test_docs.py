"""The code in the documentation runs, and the pages show what it prints."""

from __future__ import annotations

import importlib.util
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
    assert "```python" in text
    assert refresh().refreshed(text) == text, "run: python docs/refresh.py"
