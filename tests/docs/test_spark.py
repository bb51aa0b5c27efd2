"""The function for Spark that the page about many rows shows, run as it is there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scale.md"


@pytest.mark.slow
def test_spark_explains_every_row(tmp_path):
    pytest.importorskip("pyspark", reason="pyspark is not installed: the function for Spark is NOT tested")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed: the function for Spark is NOT tested")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (spark,) = [block for block in blocks if "pyspark" in block]
    code = f"{blocks[0]}\nrows = X.drop(columns='customer')\n{spark}\nprint(explained.first().asDict())\nspark.stop()\n"
    (tmp_path / "page.py").write_text(code)
    env = os.environ | {"PYSPARK_PYTHON": sys.executable}  # what workers run
    done = subprocess.run(
        [sys.executable, "page.py"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    count, first = done.stdout.splitlines()
    assert count == "600"
    assert "'status': 'minimal'" in first
