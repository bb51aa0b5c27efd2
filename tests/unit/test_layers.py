"""Imports point one way along the data flow: a room may import only from rooms before its own."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import treeproof

SOURCE = Path(treeproof.__file__).parent

# From the first room to the last; those on one line do not import each other.
ROOMS = [
    {"errors", "checker"},
    {"model"},
    {"space"},
    {"query"},
    {"oracles"},
    {"search"},
    {"proof"},
    {"questions"},
    {"explainer"},
    {"show"},
    {"workbench"},
    {"cli"},
]
PLACE = {room: i for i, rooms in enumerate(ROOMS) for room in rooms}
# Imports that point backwards, each inside the function that needs it, with its reason.
EXCEPTIONS = {
    ("questions", "show"),  # a result draws itself
    ("questions", "explainer"),  # two models are compared by their explainers, and may be given as models
    ("explainer", "workbench"),  # an explainer opens its workbench
}


@cache
def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "treeproof":
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("treeproof.")}
    return found - {"_core"}


def modules() -> list[tuple[str, Path]]:
    return [
        (path.relative_to(SOURCE).parts[0].removesuffix(".py"), path)
        for path in sorted(SOURCE.rglob("*.py"))
        if path.parent != SOURCE or not path.name.startswith("__")
    ]


def test_every_module_is_in_a_room():
    assert {name for name, _ in modules()} == set(PLACE)


def test_imports_point_backwards_along_the_data_flow_only():
    wrong = [
        f"{path.relative_to(SOURCE)} imports {target}"
        for name, path in modules()
        for target in imports(path)
        if target != name and (name, target) not in EXCEPTIONS and PLACE[target] >= PLACE[name]
    ]
    assert wrong == []


def test_the_exceptions_are_still_needed():
    pairs = {(name, target) for name, path in modules() for target in imports(path)}
    assert pairs >= EXCEPTIONS
