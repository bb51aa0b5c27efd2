"""The function for Spark that the page about many rows shows, run as it is there, and joblib's backend for Spark."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scale.md"


COMPARED = """
names = ["label", "status", "features"]
expected = explainer.batch(rows).to_arrow().select(names).to_pylist()
print("as without Spark:", [line.asDict() for line in explained.collect()] == expected)
"""
ACTIVE = """
try:
    from joblibspark import register_spark
except ImportError:
    print("no joblibspark")
else:
    import joblib

    register_spark()
    with joblib.parallel_config(backend="spark", n_jobs=2):
        found = explainer.batch(rows[:40]), explainer.batch(rows[:10], kind="contrastive")
    print("by joblib's backend:", found == (explainer.batch(rows[:40]), explainer.batch(rows[:10], kind="contrastive")))
"""


@pytest.mark.slow
def test_spark_explains_every_row(tmp_path):
    pytest.importorskip("pyspark", reason="pyspark is not installed: the function for Spark is NOT tested")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed: the function for Spark is NOT tested")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (spark,) = [block for block in blocks if "pyspark" in block]
    shown = f"{blocks[0]}\nrows = X.drop(columns='customer')\n{spark}"
    (tmp_path / "page.py").write_text(f"{shown}\n{COMPARED}\n{ACTIVE}\nspark.stop()\n")
    env = os.environ | {"PYSPARK_PYTHON": sys.executable}  # what workers run
    done = subprocess.run(
        [sys.executable, "page.py"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    count, *same = done.stdout.splitlines()
    assert count == "600"
    assert same[0] == "as without Spark: True"
    if same[1] == "no joblibspark":
        pytest.skip("joblibspark is not installed: joblib's backend spark is NOT tested")
    assert same[1:] == ["by joblib's backend: True"]
