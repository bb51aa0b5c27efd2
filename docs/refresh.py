"""Run the code of the documentation, and write what it prints below it; doctest compares, but does not write.

``python docs/refresh.py [--check] [PAGE ...]``: in every page, or those named, blocks run in order, in a temporary
folder of that page:

* a python block runs in one namespace with the others of its page;
* an sh block whose first line starts with ``$ `` runs in a shell: each of its lines is ``$ `` and a command, which must
  succeed. ``treeproof`` and ``python`` are those of the interpreter that runs this file. An sh block without ``$ `` is
  for reading, such as one that installs something, and does not run.

A text block that follows a block that ran is what that block prints (of a shell block, without empty lines at its end).
A python block that needs a library of `OPTIONAL` which is not installed is left as it is, and so is one that imports a
library of `ELSEWHERE`: a test of its own runs it. With ``--check`` nothing is
written, and pages that would change are an error.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

PAGES = Path(__file__).parent
TESTS = [str(PAGES.parent / "tests"), str(PAGES.parent / "tests" / "oracle")]
sys.path += [folder for folder in TESTS if folder not in sys.path]  # a page runs the checks of the tests
OPTIONAL = (
    *("xgboost", "lightgbm", "catboost", "polars"),
    *("dask", "duckdb", "fastapi", "httpx2", "mlflow"),
)
ELSEWHERE = ("pyspark",)
BLOCK = re.compile(
    r"```(?:python\n(?P<code>.*?)|sh\n(?P<shell>\$ .*?))```\n(?:\n```text\n(?P<text>.*?)```\n)?", re.DOTALL
)


def refreshed(page: str) -> str:
    """Return the text of a page with every output as the code prints it now."""
    return _run(page)[0]


def names_of(page: str) -> dict[str, object]:
    """Return the names that the python blocks of a page define; shell blocks do not run."""
    return _run(page, shell=False)[1]


def _run(page: str, shell: bool = True) -> tuple[str, dict[str, object]]:
    names: dict[str, object] = {"__name__": "__docs__"}

    def run(block: re.Match[str]) -> str:
        if block["shell"] is not None:
            return block[0] if not shell else _shown("sh", block["shell"], _run_shell(block["shell"]))
        if any(f"from {library}" in block["code"] for library in ELSEWHERE):
            return block[0]
        try:
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(block["code"], "page", "exec", dont_inherit=True), names)
        except ModuleNotFoundError as error:
            if error.name not in OPTIONAL:
                raise
            return block[0]
        return _shown("python", block["code"], printed.getvalue())

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return BLOCK.sub(run, page), names


def _shown(language: str, code: str, output: str) -> str:
    return f"```{language}\n{code}```\n" + (f"\n```text\n{output}```\n" if output else "")


def _run_shell(block: str) -> str:
    """Run the commands of a block in the current folder; return what they print, errors included."""
    commands = []
    for line in block.splitlines():
        if not line.startswith("$ "):
            raise ValueError(f"Every line of a shell block that runs must start with '$ '. Got {line!r}.")
        commands.append(line.removeprefix("$ "))
    path = [sysconfig.get_path("scripts"), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    environment = {**os.environ, "PATH": os.pathsep.join(path), "TERM": "dumb", "COLUMNS": "100"}
    done = subprocess.run(
        ["sh", "-e", "-c", "\n".join(commands)],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"A command of this block failed:\n{block}{done.stdout}")
    return done.stdout.rstrip("\n") + "\n" if done.stdout else ""


def main(arguments: list[str]) -> int:
    """Refresh all pages, or check them; return the exit code."""
    check = "--check" in arguments
    chosen = [Path(name) for name in arguments if name != "--check"]
    stale = []
    for path in chosen or sorted(PAGES.glob("*.md")):
        before = path.read_text(encoding="utf-8")
        after = refreshed(before)
        if after != before:
            stale.append(path.name)
            if not check:
                path.write_text(after, encoding="utf-8")
    sys.stdout.write("".join(f"{name}\n" for name in stale))
    return int(bool(stale) and check)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
