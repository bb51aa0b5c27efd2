"""An explainer logged by MLflow, as the page about services shows it, and loaded again in another process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "serving.md"
LOG = """
mlflow.set_tracking_uri("file:runs")
with mlflow.start_run():
    print(LOGGED.model_uri)
"""
LOAD = """
import json
import sys

import mlflow.pyfunc
from sklearn.datasets import load_iris

mlflow.set_tracking_uri("file:runs")
X, _ = load_iris(return_X_y=True, as_frame=True)
print(json.dumps(mlflow.pyfunc.load_model(sys.argv[1]).predict(X[60:62]).explanation.tolist()))
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mlflow") is None, reason="MLflow is not installed: log_model is NOT tested")
def test_a_logged_explainer_explains_where_it_is_loaded(tmp_path):
    text = PAGE.read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (explaining,) = [block.partition("mlflow.pyfunc.save_model")[0] for block in blocks if "save_model" in block]
    (call,) = re.findall(r"`(mlflow\.pyfunc\.log_model\(.*?\))`", text)
    # mlflow-skinny has no store but files, which need this permission since version 3; a database is one of all MLflow.
    env = os.environ | {"MLFLOW_ALLOW_FILE_STORE": "true"}

    def run(name: str, code: str, *words: str) -> str:
        (tmp_path / name).write_text(code)
        done = subprocess.run(
            [sys.executable, name, *words], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()[-1]

    uri = run("log.py", f"import mlflow\n{blocks[0]}\n{explaining}\n{LOG.replace('LOGGED', call)}")
    found = run("load.py", LOAD, uri)
    assert (
        found
        == '["petal length (cm) = 3.5 and petal width (cm) = 1", "petal length (cm) = 4.2 and petal width (cm) = 1.5"]'
    )
