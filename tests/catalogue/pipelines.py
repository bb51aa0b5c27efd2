"""Pipelines: steps in front of a model."""

from __future__ import annotations

from catalogue import Entry

ENTRIES: list[Entry] = []
