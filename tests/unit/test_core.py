"""Every layer of the C++ core by itself against enumeration.

`make sanitize` and `make fuzz` run the same program: with the sanitizers, and for as long as one likes. The program is
compiled again only after a change, of the sources or of what compiles them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CORE = ROOT / "core"
N_CASES = 500


def compiler() -> str | None:
    found = (shutil.which(name) for name in (os.environ.get("CXX", "c++"), "c++", "g++", "clang++"))
    return next((path for path in found if path), None)


def built(folder: Path) -> Path:
    """Return the program; it stays beside other builds under a name that tells what it was made of."""
    sources = [path for path in sorted(CORE.rglob("*.cpp")) if path.name != "binding.cpp"]
    everything = folder / "everything.cpp"  # in one piece they compile in a third of the time
    everything.write_text("".join(f'#include "{path}"\n' for path in sources))
    command = [compiler(), "-std=c++20", "-O1", "-ffp-contract=off"]
    version = subprocess.run([compiler(), "--version"], capture_output=True, check=True).stdout
    parts = [version, repr(command).encode()]
    parts += [part for path in sorted(CORE.rglob("*.?pp")) for part in (str(path).encode(), path.read_bytes())]
    digest = hashlib.sha256(b"\0".join(parts)).hexdigest()
    program = ROOT / "build" / "test_core" / digest
    if program.exists():
        return program
    made = subprocess.run([*command, everything, "-o", folder / "program"], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    shutil.rmtree(program.parent, ignore_errors=True)  # of sources as they were
    program.parent.mkdir(parents=True)
    shutil.copy(folder / "program", program.with_suffix(".new"))
    program.with_suffix(".new").rename(program)  # written atomically
    return program


@pytest.mark.skipif(compiler() is None, reason="needs a C++ compiler")
def test_every_layer_agrees_with_enumeration(tmp_path):
    done = subprocess.run([built(tmp_path), "--cases", str(N_CASES)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    counts = {name: int(count) for name, count in (line.split(": ") for line in done.stdout.splitlines())}
    assert counts["cases"] == N_CASES + 1  # one seed is always run
    assert min(counts.values()) > 0, counts
    assert counts["queries"] >= 4 * N_CASES
