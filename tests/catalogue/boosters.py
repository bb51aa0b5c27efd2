"""Models of XGBoost and LightGBM."""

from __future__ import annotations

from catalogue import Entry

ENTRIES: list[Entry] = []
