"""What is installed: version, types, extras, and how long an import takes."""

from __future__ import annotations

import importlib.metadata
import json
import os
import pickle
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import treeproof as tp

ROOT = Path(__file__).parents[2]
PACKAGE = Path(tp.__file__).parent


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def python(code: str) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    ).stdout.strip()


def test_the_version_comes_from_one_place(project):
    version = project["project"]["version"]
    assert tp.__version__ == importlib.metadata.version("treeproof") == version
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text()
    for path in PACKAGE.rglob("*.py"):
        assert f'"{version}"' not in path.read_text(), path


def test_types_are_part_of_the_package():
    assert (PACKAGE / "py.typed").exists()
    assert (PACKAGE / "_core.pyi").exists()


def test_the_stubs_name_everything_in_the_core():
    from treeproof import _core

    public = {name for name in dir(_core) if not name.startswith("_")}
    stubbed = set(re.findall(r"^(?:def |class )?(\w+)(?=[:(])", (PACKAGE / "_core.pyi").read_text(), re.MULTILINE))
    assert public <= stubbed


def test_metadata_has_no_placeholders(project):
    found = project["project"]
    text = json.dumps(found)
    for word in ("example.", "TODO", "FIXME", "your-", "localhost"):
        assert word not in text
    assert all(url.startswith("https://") for url in found["urls"].values())
    needed = found["dependencies"]
    assert [re.match(r"[\w-]+", name)[0] for name in needed] == ["numpy", "scikit-learn", "python-sat", "jinja2"]


def test_every_extra_that_an_error_names_exists(project):
    extras = set(project["project"]["optional-dependencies"])
    named = set()
    for path in PACKAGE.rglob("*.py"):
        for group in re.findall(r"treeproof\[([\w,]+)\]", path.read_text()):
            named |= set(group.split(","))
    assert named
    assert named <= extras


def test_an_import_waits_for_no_other_library():
    """scikit-learn alone takes a second here; only who has a model of it should wait for it."""
    code = """
import sys, treeproof as tp
heavy = ["sklearn", "scipy", "pandas", "xgboost", "lightgbm", "matplotlib", "rich", "z3", "joblib", "jinja2"]
print([name for name in heavy if name in sys.modules])
forest, patient = tp.examples.heart_disease()
tp.Explainer(forest).abductive(patient).certificate().check()
print([name for name in heavy if name in sys.modules])
import treeproof.cli
print([name for name in heavy if name in sys.modules])
"""
    assert python(code).splitlines() == ["[]", "[]", "[]"]


def test_what_is_imported_late_is_there():
    code = """
import treeproof as tp
assert {"MajorityForestClassifier", "NotFittedError", "compare"} <= set(dir(tp))
import sklearn.exceptions
assert issubclass(tp.NotFittedError, sklearn.exceptions.NotFittedError)
assert issubclass(tp.NotFittedError, tp.TreeproofError)
from treeproof.errors import NotFittedError
assert NotFittedError is tp.NotFittedError
from sklearn.ensemble import RandomForestClassifier
assert issubclass(tp.MajorityForestClassifier, RandomForestClassifier)
try:
    tp.Explainer(RandomForestClassifier())
except tp.NotFittedError as error:
    print(error)
"""
    assert "call its fit" in python(code)
    assert isinstance(pickle.loads(pickle.dumps(tp.NotFittedError("x"))), tp.NotFittedError)
    with pytest.raises(AttributeError, match="nothing"):
        _ = tp.nothing
    with pytest.raises(AttributeError, match="nothing"):
        _ = tp.errors.nothing


def test_workflows_are_for_the_versions_that_are_declared(project):
    yaml = pytest.importorskip("yaml")
    folder = ROOT / ".github" / "workflows"
    tests, wheels = (yaml.safe_load((folder / name).read_text()) for name in ("tests.yml", "wheels.yml"))
    classifiers = project["project"]["classifiers"]
    declared = [c.rpartition(" ")[2] for c in classifiers if re.search(r":: 3\.\d+$", c)]
    assert tests["jobs"]["test"]["strategy"]["matrix"]["python"] == declared
    built = project["tool"]["cibuildwheel"]["build"].split()
    assert built == [f"cp{version.replace('.', '')}-*" for version in declared]
    assert set(wheels["jobs"]) == {"wheels", "sdist", "publish"}
