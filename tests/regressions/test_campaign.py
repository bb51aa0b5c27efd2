"""What the campaign has found, run again, and a short campaign of its own."""

from __future__ import annotations

import json
from collections import Counter

from campaign import FOUND, run_case


def test_stored_disagreements_are_gone():
    for path in sorted(FOUND.glob("case-*.json")):
        stored = json.loads(path.read_text())
        counts: Counter[str] = Counter()
        run_case(stored["seed"], stored["case"], 60, counts)
        assert counts["queries"], path.name


def test_a_short_campaign_finds_no_disagreement():
    counts: Counter[str] = Counter()
    for case in range(120):
        run_case(0, case, 20, counts)
    assert counts["queries"] > 1500
    assert counts["certificates"] > 150
    assert counts["fitted models"] >= 5
