"""The code in the documentation runs, and the pages show what it prints."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

import treeproof as tp

DOCS = Path(__file__).resolve().parents[2] / "docs"
WITHOUT_CODE = {"glossary"}


def refresh():
    spec = importlib.util.spec_from_file_location("refresh", DOCS / "refresh.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda path: path.stem)
def test_a_page_shows_what_its_code_prints(page):
    text = page.read_text(encoding="utf-8")
    assert "```python" in text or "```sh\n$ " in text or page.stem in WITHOUT_CODE
    assert refresh().refreshed(text) == text, "run: python docs/refresh.py"


def test_a_block_that_needs_a_library_that_is_missing_is_left_alone(monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    page = "```python\nimport xgboost\nprint(1)\n```\n\n```text\n2\n```\n\n```python\nprint(3)\n```\n"
    assert refresh().refreshed(page) == page + "\n```text\n3\n```\n"
    with pytest.raises(ModuleNotFoundError):
        refresh().refreshed("```python\nimport no_such_library\n```\n")


def test_shell_blocks_run_where_the_python_blocks_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write = "from pathlib import Path\nPath('a.txt').write_text('hello')\n"
    page = f"```python\n{write}```\n\n```sh\n$ cat a.txt\n$ echo; echo; echo\n```\n"
    assert refresh().refreshed(page) == page + "\n```text\nhello\n```\n"
    assert list(tmp_path.iterdir()) == []
    assert Path.cwd() == tmp_path


def test_the_shell_has_the_commands_of_this_interpreter():
    page = "```sh\n$ treeproof --version\n$ python -c 'import sys; print(sys.prefix)'\n```\n"
    assert refresh().refreshed(page) == page + f"\n```text\ntreeproof {tp.__version__}\n{sys.prefix}\n```\n"


def test_a_shell_block_without_prompt_is_for_reading():
    page = "```sh\npip install no-such-package\n```\n\n```text\nwhatever\n```\n"
    assert refresh().refreshed(page) == page


def test_a_shell_block_must_succeed_and_have_commands_only():
    with pytest.raises(RuntimeError, match=r"failed(.|\n)*no-such-file"):
        refresh().refreshed("```sh\n$ cat no-such-file\n$ echo fine\n```\n")
    with pytest.raises(ValueError, match="must start with"):
        refresh().refreshed("```sh\n$ echo 1\n1\n```\n")


def test_names_of_a_page_come_without_its_commands():
    assert refresh().names_of("```python\nn = 3\n```\n\n```sh\n$ false\n```\n")["n"] == 3


def test_pages_can_be_chosen(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1)\n```\n")
    assert refresh().main([str(page), "--check"]) == 1
    assert page.read_text().endswith("print(1)\n```\n")
    assert refresh().main([str(page)]) == 0
    assert page.read_text().endswith("```text\n1\n```\n")
    assert refresh().main([str(page), "--check"]) == 0
    assert capsys.readouterr().out == "page.md\npage.md\n"
