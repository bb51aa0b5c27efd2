"""Everything that treeproof writes, each in two versions, for those who disturb the writing."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import treeproof as tp
from treeproof.cli import main


def writers(folder: Path, version: int) -> dict[str, Callable[[], Any]]:
    """Return functions that write one file each into the folder, by the file's name. Versions differ in content."""
    forest, patient = tp.examples.heart_disease()
    row = patient if version == 0 else [0, 1, 0, 80]
    explainer = tp.Explainer(forest, names={"Yes": f"v{version}"})
    why = explainer.abductive(row)
    model, table = folder / "model.json", folder / "data.csv"
    names = ",".join(column.name for column in forest.columns)
    if not model.exists():
        tp.save_forest(forest, model)
        table.write_text(f"{names}\n1,0,1,70\n0,1,0,80\n")
    other = tp.build_forest([tp.split("a", 0.5 + version, "no", "yes")] * 50, columns=["a"], classes=["no", "yes"])

    def command(*words: str) -> Callable[[], Any]:
        return lambda: quiet([*words[:1], str(model), str(table), "--row", str(version), *words[1:]])

    return {
        "forest.json": lambda: tp.save_forest(other, folder / "forest.json"),
        "certificate.json": lambda: why.certificate().save(folder / "certificate.json"),
        "certificate.json.gz": lambda: why.certificate().save(folder / "certificate.json.gz"),
        "results.csv": command("explain", "--out", str(folder / "results.csv")),
        "results.json": command("explain", "--out", str(folder / "results.json")),
        "query.cnf": command("encode", "--out", str(folder / "query.cnf")),
        "report.html": command("report", "--out", str(folder / "report.html"), "--no-certificates", "--force"),
        "checker.py": lambda: quiet(["check", "--copy", str(folder / "checker.py")]),
    }


def quiet(words: list[str]) -> str:
    """Run a command; return what it wrote to standard error. OSError is raised where it met one."""
    err = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
        code = main(words)
    if code not in (0, 1):
        raise OSError(err.getvalue())
    return err.getvalue()


def content(path: Path) -> str:
    """Return what a file says, without what differs from run to run; ValueError if it is not whole."""
    import gzip

    data = path.read_bytes()
    try:
        text = (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).decode()
    except (EOFError, OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path.name} is damaged") from error
    if ".json" in path.name:
        json.loads(text)
    if path.suffix == ".html" and not text.rstrip().endswith("</html>"):
        raise ValueError(f"{path.name} is damaged")
    return (
        re.sub(r"\d+(\.\d+)?(e-?\d+)?", "", text)
        if path.suffix in (".html", ".csv") or "results" in path.name
        else text
    )
