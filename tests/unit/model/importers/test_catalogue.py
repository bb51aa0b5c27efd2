"""Each model of the catalogue predicts here as at home and is explained with proofs, or is refused by name."""

import pytest

from catalogue import entries, outcome, verify

ENTRIES = entries()


@pytest.mark.parametrize("entry", [e for e in ENTRIES if not e.refused], ids=lambda e: e.name)
def test_taken(entry):
    verify(entry)


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.refused], ids=lambda e: e.name)
def test_refused(entry):
    assert entry.refused in outcome(entry)
