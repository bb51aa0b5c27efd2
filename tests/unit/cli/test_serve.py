"""``treeproof serve`` and ``treeproof demo --serve``: an address, answers, and a clean end."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

import treeproof as tp
from treeproof.cli import main
from treeproof.cli.serve import _line

LONG = 60


@pytest.fixture
def files(tmp_path):
    forest, _ = tp.examples.heart_disease()
    tp.save_forest(forest, tmp_path / "model.json")
    (tmp_path / "data.csv").write_text(
        "blocked-arteries,good-blood-circulation,chest-pain,weight,class\n1,0,1,70,Yes\n0,1,0,80,No\n"
    )
    return tmp_path


def test_serve_prints_its_address_and_ends_at_ctrl_c(files):
    command = [sys.executable, "-m", "treeproof", "serve", "model.json", "data.csv", "--compare", "model.json"]
    process = subprocess.Popen(
        [*command, "--no-browser", "--json", "--binary", "chest-pain"],
        cwd=files,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": ""},
    )
    try:
        url = urlsplit(json.loads(process.stdout.readline())["url"])
        assert url.hostname == "127.0.0.1"
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=LONG)
        connection.request("GET", f"{url.path}api/events?client=a")  # a page that is still open
        answer = connection.getresponse()
        assert (answer.status, answer.readline()) == (200, b": open\n")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LONG)
        connection.close()
    finally:
        process.kill()
    assert process.returncode == 0
    assert out == ""
    assert "Traceback" not in err


def test_a_port_in_use_is_a_sentence(files, monkeypatch, capsys):
    import socket

    monkeypatch.chdir(files)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert main(["serve", "model.json", "data.csv", "--port", port, "--no-browser", "--quiet"]) == 2
    assert f"Port {port} must be free" in capsys.readouterr().err


def test_without_the_extra_it_says_what_to_install(files, monkeypatch, capsys):
    monkeypatch.chdir(files)
    for name in [name for name in sys.modules if name.startswith("treeproof.workbench.server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve", "model.json", "data.csv", "--no-browser", "--quiet"]) == 2
    assert "pip install 'treeproof[web]'" in capsys.readouterr().err


def test_a_regressor_needs_cuts(tmp_path, monkeypatch, capsys):
    from sklearn.ensemble import RandomForestRegressor

    model = RandomForestRegressor(3, max_depth=2, random_state=0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    tp.save_forest(tp.import_model(model), tmp_path / "model.json")
    (tmp_path / "data.csv").write_text("x0\n0.5\n")
    monkeypatch.chdir(tmp_path)
    assert main(["serve", "model.json", "data.csv", "--no-browser"]) == 2
    assert "--cut SCORE" in capsys.readouterr().err


def test_the_line_that_makes_the_explainer_makes_the_same_one(files):
    options = {"vote": None, "kinds": {"weight": "integer"}, "one_hot": {}, "oracle": "native", "data": [[1, 0, 1, 70]]}
    line = _line("explainer", str(files / "model.json"), False, options)
    found: dict[str, object] = {"tp": tp, "X": options["data"]}
    exec(line, found)
    explainer = found["explainer"]
    assert isinstance(explainer, tp.Explainer)
    assert explainer.space.features[3].kind == "integer"
    assert "data=X" in line
