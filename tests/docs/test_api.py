"""The page about the API has every public name once, and every public name says what it is, with an example."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from pathlib import Path

import pytest

import treeproof as tp

PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"
CLASSES = [name for name in tp.__all__ if inspect.isclass(getattr(tp, name))]
ERRORS = [name for name in CLASSES if issubclass(getattr(tp, name), Exception)]
# Checked is of the checker, which does not import treeproof; what a report has is shown by the example of `report`.
WITHOUT = {"Checked", "Report", "ReportedRow"}


def test_the_page_has_every_public_name_once():
    shown = re.findall(r"^\.\. auto(\w+):: treeproof\.(?:\w+\.)*(\w+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert Counter(name for _, name in shown) == Counter(tp.__all__)
    for directive, name in shown:
        found = getattr(tp, name)
        kind = (
            "exception"
            if name in ERRORS
            else "class"
            if inspect.isclass(found)
            else "module"
            if inspect.ismodule(found)
            else "function"
        )
        assert directive == kind, name


def test_the_modules_on_the_page_show_all_their_functions():
    text = PAGE.read_text(encoding="utf-8")
    listed = re.search(r"treeproof\.show\.plots\n   :members: (.*)\n", text)
    assert listed is not None
    own = {
        name
        for name, found in vars(tp.plots).items()
        if inspect.isfunction(found) and found.__module__ == tp.plots.__name__ and not name.startswith("_")
    }
    assert own <= set(tp.plots.__all__)
    assert set(listed[1].split(", ")) == set(tp.plots.__all__)


@pytest.mark.parametrize("name", [name for name in tp.__all__ if name not in ERRORS and name not in WITHOUT])
def test_a_public_name_has_an_example(name):
    found = getattr(tp, name)
    public = [found]
    if inspect.ismodule(found):
        own = (each for each in vars(found).values() if inspect.isfunction(each) and each.__module__ == found.__name__)
        public = [each for each in own if not each.__name__.startswith("_")]
    assert public
    for each in public:
        assert ">>>" in (inspect.getdoc(each) or ""), each


@pytest.mark.parametrize("name", CLASSES)
def test_public_members_say_what_they_do(name):
    for member, found in vars(getattr(tp, name)).items():
        described = callable(found) or isinstance(found, property | classmethod | staticmethod)
        if not member.startswith("_") and described:
            assert inspect.getdoc(found), f"{name}.{member}"


def test_every_question_has_its_parameters_described_and_an_example():
    for name, method in vars(tp.Explainer).items():
        if name.startswith("_") or not inspect.isfunction(method):
            continue
        doc = inspect.getdoc(method) or ""
        assert ">>>" in doc, name
        if name == "around":  # in one sentence
            continue
        described = doc.partition("Parameters\n")[2]
        for parameter in list(inspect.signature(method).parameters)[1:]:
            assert re.search(rf"^(.*, )?\*{{0,2}}{parameter}(,.*)?$", described, re.MULTILINE), f"{name}({parameter})"
