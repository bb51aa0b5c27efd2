"""The benchmarks are a package of their own, on top of treeproof's public face."""

from __future__ import annotations

import ast
import sys
import tomllib
from pathlib import Path

import pytest

import treeproof as tp
import treeproof_bench
from treeproof.cli import main
from treeproof_bench.__main__ import main as bench

PACKAGE = Path(treeproof_bench.__file__).parent


def used(path: Path) -> set[str]:
    """Return the modules of treeproof that a file imports, and the names it takes from treeproof itself."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "tp":
            found.add(f"treeproof.{node.attr}")
    return {name for name in found if name.split(".")[0] == "treeproof"}


def test_the_public_face_is_used_only():
    """Files import treeproof itself, like any user; one makes a command, one times the checker."""
    public = {"treeproof", *(f"treeproof.{name}" for name in tp.__all__)}
    beyond = {path.name: used(path) - public for path in PACKAGE.rglob("*.py") if used(path) - public}
    assert beyond == {
        "__main__.py": {"treeproof.cli"},
        "certificates.py": {"treeproof.checker"},
        "workbench.py": {"treeproof.workbench.session"},  # what the page talks to: it has no other face
    }


def test_it_has_the_version_of_treeproof():
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["project"]
    assert project["version"] == tp.__version__


def test_its_own_command_is_the_same(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["treeproof-bench", "table1", "--data", "nowhere"])
    assert bench() == 2
    own = capsys.readouterr().err
    assert main(["bench", "table1", "--data", "nowhere"]) == 2
    assert own == capsys.readouterr().err != ""


@pytest.mark.parametrize("words", [[], ["table1", "--data", "nowhere", "--quick"], ["report", "file", "folder"]])
def test_without_it_the_command_says_how_to_get_it(monkeypatch, capsys, words):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["bench", *words]) == 2
    assert "pip install ./bench" in capsys.readouterr().err
