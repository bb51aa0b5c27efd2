"""The code in the README runs, and the README shows what it prints."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"


def test_the_readme_runs_and_prints_what_it_shows():
    blocks = re.findall(r"```(python|text)\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert [kind for kind, _ in blocks] == ["python", "text", "python"]
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(blocks[0][1], names)
    assert printed.getvalue() == blocks[1][1]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(blocks[2][1], names)
    assert "Proved" in printed.getvalue()
    assert str(names["text"]).count("\n") > 1000
    assert not names["verdict"]
