"""Every layer of the C++ core by itself against enumeration.

`make sanitize` and `make fuzz` run the same program: with the sanitizers, and for as long as one likes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

CORE = Path(__file__).parents[2] / "core"
N_CASES = 2_000


def compiler() -> str | None:
    found = (shutil.which(name) for name in (os.environ.get("CXX", "c++"), "c++", "g++", "clang++"))
    return next((path for path in found if path), None)


@pytest.mark.skipif(compiler() is None, reason="needs a C++ compiler")
def test_every_layer_agrees_with_enumeration(tmp_path):
    program = tmp_path / "test_core"
    sources = [path for path in sorted(CORE.rglob("*.cpp")) if path.name != "binding.cpp"]
    everything = tmp_path / "everything.cpp"  # in one piece they compile in a third of the time
    everything.write_text("".join(f'#include "{path}"\n' for path in sources))
    command = [compiler(), "-std=c++20", "-O1", "-ffp-contract=off", everything, "-o", program]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    done = subprocess.run([program, "--cases", str(N_CASES)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    counts = {name: int(count) for name, count in (line.split(": ") for line in done.stdout.splitlines())}
    assert counts["cases"] == N_CASES + 1  # one seed is always run
    assert min(counts.values()) > 0, counts
    assert counts["queries"] >= 4 * N_CASES
