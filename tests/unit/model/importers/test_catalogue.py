"""Each model of the catalogue predicts here as at home and is explained with proofs, or is refused by name."""

import pytest

from catalogue import entries, outcome, verify
from catalogue.table import PAGE, line

ENTRIES = entries()


def is_documented(entry, found):
    return line(entry, found) in PAGE.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("entry", [e for e in ENTRIES if not e.refused], ids=lambda e: e.name)
def test_taken(entry):
    verify(entry)
    assert is_documented(entry, "taken"), "run python tests/catalogue/table.py"


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.refused], ids=lambda e: e.name)
def test_refused(entry):
    found = outcome(entry)
    assert entry.refused in found
    assert is_documented(entry, found), "run python tests/catalogue/table.py"


def test_names_are_unique_and_the_page_has_no_others():
    names = [(entry.family, entry.name) for entry in ENTRIES]
    assert len(set(names)) == len(names)
    page = PAGE.read_text(encoding="utf-8")
    listed = page.partition("<!-- catalogue")[2].partition("<!-- end of catalogue")[0]
    rows = [text for text in listed.splitlines() if text.startswith("| ") and text != "| | |"]
    assert len(rows) == len(ENTRIES)
