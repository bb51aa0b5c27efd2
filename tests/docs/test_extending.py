"""The table of what to touch for what names files and folders that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_path_in_the_table_of_additions_exists():
    table = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8").partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")][1:]
    added = [line.split("|")[1].strip(" []").partition("]")[0] for line in lines]
    kinds = ("question", "norm", "plot", "importer", "step of a pipeline", "oracle", "command")
    assert [kind for kind in kinds if not any(f" {kind}" in what for what in added)] == []
    for line in lines:
        paths = re.findall(r"`([\w./]+/[\w./]*)`", line)
        assert len(paths) >= 2, line
        assert [path for path in paths if not (ROOT / path).exists()] == [], line
