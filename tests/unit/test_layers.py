"""Imports point one way along the data flow: a module may import only from stages before its own."""

from __future__ import annotations

import ast
from pathlib import Path

import treeproof

SOURCE = Path(treeproof.__file__).parent

# From the first stage to the last. Modules on one line may not import each other, except inside one folder.
STAGES = [
    {"errors", "checker"},
    {"floats"},
    {"forest"},
    {"rows", "build", "majority", "parallel", "rules", "statements"},
    {"constraints"},
    {"examples", "query"},
    {"cells", "conditions"},
    {"features"},
    {"space", "importers"},
    {"encodings", "region"},
    {"oracles", "files"},
    {"search", "explanation"},
    {"setting"},
    {"certificate"},
    {"verified"},
    {"questions"},
    {"plots"},
    {"explainer"},
    {"compare", "report_page"},
    {"reporting"},
    {"cli"},
    {"bench"},
]
STAGE = {module: i for i, stage in enumerate(STAGES) for module in stage}
# Imports that point backwards, each with its reason.
EXCEPTIONS = {
    (
        "forest",
        "rows",
    ),  # predict takes what people pass; rows needs the Column type. Imported inside the method.
    ("query", "cells"),  # a type, under TYPE_CHECKING
    ("explanation", "plots"),  # a result draws itself; imported only then
    ("questions", "plots"),  # the same
    ("cli", "bench"),  # run by the command line, and imported only then
}


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("treeproof"):
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


def test_every_module_has_a_stage():
    assert {name for name, _ in modules()} == set(STAGE)


def test_imports_point_backwards_along_the_data_flow_only():
    wrong = [
        f"{path.relative_to(SOURCE)} imports {target}"
        for name, path in modules()
        for target in imports(path)
        if target != name and (name, target) not in EXCEPTIONS and STAGE[target] >= STAGE[name]
    ]
    assert wrong == []


def test_the_exceptions_are_still_needed():
    pairs = {(name, target) for name, path in modules() for target in imports(path)}
    assert pairs >= EXCEPTIONS


def test_benchmarks_use_the_public_face_only():
    """They import treeproof itself, and each other, like any user; nothing but the command line imports them."""
    reached = {target for name, path in modules() if name == "bench" for target in imports(path)}
    assert reached == {"bench"}
    assert [(name, target) for name, path in modules() for target in imports(path) if target == "bench" != name] == [
        ("cli", "bench")
    ]
