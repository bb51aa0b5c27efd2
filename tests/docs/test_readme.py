"""The code in the README runs, and the README shows what it prints."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

import treeproof as tp
from treeproof.cli.main import make_parser

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
QUESTION = re.compile(r"^\| \[.*?\]\(.*?\) \| `(.*?)` \| `treeproof (.*?)` \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def names():
    """The names that the example defines, and what it prints."""
    code = re.search(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert code is not None
    found: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code[1], found)
    return {**found, "printed": printed.getvalue()}


def test_the_readme_prints_what_it_shows(names):
    shown = re.findall(r"```text\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert shown == [names["printed"]]


def test_every_question_is_answered_in_python(names, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = names["X"].iloc[70]
    other = tp.Explainer(names["explainer"].forest, vote="majority")
    names = {
        **names,
        "x": x,
        "other": other,
        "why": names["explainer"].abductive(x),
        "model": names["explainer"].forest,
    }
    questions = QUESTION.findall(README.read_text())
    assert len(questions) > 10
    for code, _ in questions:
        assert str(eval(code, names)), code


def test_every_question_is_a_command():
    parser = make_parser()
    for _, command in QUESTION.findall(README.read_text()):
        args, others = parser.parse_known_args(shlex.split(command))
        assert callable(args.run), command
        assert others == [], command


def test_every_path_in_the_table_of_places_exists():
    places = README.read_text().partition("## Where things are")[2]
    package, _, beside = places.partition("| beside it |")
    for folder, table in ((Path(tp.__file__).parent, package), (ROOT, beside)):
        paths = re.findall(r"^\| `(.*?)` \|", table, re.MULTILINE)
        assert paths
        assert [path for path in paths if not (folder / path).exists()] == []
