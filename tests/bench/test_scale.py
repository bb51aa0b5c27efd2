"""The bench of whole tables: it measures what is chosen, keeps each line, and does not measure one again."""

from __future__ import annotations

import json
import sys

import pytest

from treeproof_bench import scale

pytest.importorskip("pyarrow")


@pytest.fixture
def small(monkeypatch, tmp_path):
    monkeypatch.setattr(scale, "TRAINED", 300)
    monkeypatch.setattr(scale, "MOST", 60)
    monkeypatch.setattr(scale, "FILES", 2)
    scale.draw.cache_clear()
    yield tmp_path
    scale.draw.cache_clear()


def run(monkeypatch, *words: str) -> None:
    monkeypatch.setattr(sys, "argv", ["scale", *words])
    scale.main()


@pytest.mark.slow
def test_a_line_is_kept_and_not_measured_again(small, monkeypatch, capsys):
    kept = small / "kept.jsonl"
    words = ["--folder", str(small), "--rows", "40", "--model", "forest", "--backend", "threads", "--json", str(kept)]
    run(monkeypatch, *words, "--workers", "2")
    start, first = [json.loads(line) for line in kept.read_text().splitlines()]
    assert start["rows"] == scale.FILES  # one row in each file: what a run takes beside its explanations
    assert (first["model"], first["rows"], first["backend"], first["workers"]) == ("forest", 40, "threads", 2)
    assert first["seconds"] > 0
    assert first["peak_mb"] >= first["early_mb"] > 0
    *_, efficiency, later, own = capsys.readouterr().out.split()
    assert (efficiency, later) == ("-", "-")  # nothing to compare it with yet
    assert float(own) == pytest.approx(first["explaining"] / first["seconds"] / 2, abs=0.006)
    run(monkeypatch, *words, "--workers", "1,2")
    assert len(kept.read_text().splitlines()) == 4
    assert "-" not in capsys.readouterr().out.split()[-3:]
    with pytest.raises(SystemExit):
        run(monkeypatch, "--model", "no-such-model")


def test_a_table_begins_as_a_larger_one(small):
    import pandas as pd

    first, last = (pd.read_parquet(scale.prepare(small, rows, "forest")[0]) for rows in (20, 60))
    assert first.equals(last[:20])
