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


def in_pandas(batches):
    for batch in batches:
        found = sent.value.batch(batch, on_error="return").to_arrow()
        yield found.select(names).to_pandas()


again = spark.createDataFrame(rows).mapInPandas(in_pandas, explained.schema)
print("by mapInPandas:", [line.asDict() for line in again.collect()] == expected)

from pathlib import Path

from treeproof.cli import main

Path("table").mkdir()
for path in Path().glob("day-*.parquet"):
    path.rename(Path("table") / path)
main(["explain", "model.json", "table", "--all", "--out", "results", "--key", "customer", "--quiet"])
read = spark.read.parquet("results").orderBy("file", "row").select(names)
print("read by Spark:", [line.asDict() for line in read.collect()] == expected)
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
    count, *same, last = done.stdout.splitlines()
    assert count == "600"
    assert same == ["as without Spark: True", "by mapInPandas: True", "read by Spark: True"]
    if last == "no joblibspark":
        pytest.skip("joblibspark is not installed: joblib's backend spark is NOT tested")
    assert last == "by joblib's backend: True"
