"""The widget: the same messages without a server, and one module without a build step."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from typing import Any

import pytest

from treeproof.errors import InternalError
from treeproof.workbench import bundle
from treeproof.workbench.widget import Workbench


@pytest.fixture
def widget(explainers, flowers, monkeypatch):
    told: list[dict[str, Any]] = []
    made = explainers[0].workbench(flowers[0], other=explainers[1], title="Iris")
    monkeypatch.setattr(made, "send", lambda content, buffers=None: told.append(json.loads(json.dumps(content))))
    yield made, told
    made.close()


def wait_for(told: list[dict[str, Any]], n: int) -> None:
    end = time.monotonic() + 20
    while len(told) < n:
        assert time.monotonic() < end
        time.sleep(0.005)


def test_it_answers_messages_and_says_whom(widget, iris):
    made, told = widget
    assert isinstance(made, Workbench)
    for client in ("a", "b"):
        made._handle_custom_msg({"client": client, "id": 1, "ask": "rows", "args": {"limit": 2}}, [])
    wait_for(told, 2)
    assert {event["client"] for event in told} == {"a", "b"}
    assert all(event["answer"] == iris.ask("rows", {"limit": 2}) for event in told)


def test_a_message_that_is_no_request_is_told_so(widget):
    made, told = widget
    made._handle_custom_msg({"client": "a", "id": 5, "args": {}}, [])
    wait_for(told, 1)
    assert (told[0]["event"], told[0]["id"]) == ("error", 5)


def test_views_that_were_closed_are_forgotten(widget):
    made, _ = widget
    for k in range(40):
        made._handle_custom_msg({"client": f"view-{k}", "id": 1, "ask": "predict", "args": {}}, [])
    assert made._desk.clients == [f"view-{k}" for k in range(24, 40)]


def test_the_saved_page_has_the_last_state(widget, tmp_path):
    made, _ = widget
    made.state = {"row": 17, "name": "</script>"}
    made.save(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    state = re.search(r'<script type="application/json" id="state">(.*?)</script>', text)
    assert state is not None
    assert json.loads(state[1]) == made.state
    assert len(re.findall("</script>", text)) == 2


def test_the_modules_are_joined_to_one_that_a_javascript_engine_reads(tmp_path):
    text = bundle.widget_module()
    assert "import " not in re.sub(r"/\*.*?\*/|//.*|`[^`]*`|\"[^\"]*\"", "", text, flags=re.DOTALL)
    assert text.count("export default") == 1
    node = shutil.which("node")
    if node is None:
        return  # the tests in a browser load it
    script = tmp_path / "widget.mjs"
    script.write_text(text)
    subprocess.run([node, "--check", str(script)], check=True)


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"a.js": 'import x from "./b.js";', "b.js": ""}, "must import and export as"),
        ({"a.js": "export default 5;"}, "must import and export as"),
        ({"a.js": 'import { b } from "./b.js";', "b.js": 'import { a } from "./a.js";'}, "in a circle"),
    ],
)
def test_a_module_that_cannot_be_joined_is_refused(tmp_path, monkeypatch, files, sentence):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(bundle, "PAGE", tmp_path)
    with pytest.raises(InternalError, match=sentence):
        bundle.bundle.__wrapped__("a.js")


def test_names_are_kept_apart(tmp_path, monkeypatch):
    (tmp_path / "a.js").write_text(
        'import { one as two, make } from "./lib/b.js";\nexport const three = two + make();\n'
    )
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "b.js").write_text("const x = 1;function y(){return 2}export{x as one,y as make};")
    monkeypatch.setattr(bundle, "PAGE", tmp_path)
    text = bundle.bundle.__wrapped__("a.js")
    assert "const { one: two, make: make } = module0;" in text
    assert "return { one: x, make: y };" in text
    assert text.endswith("const { three } = module1;")
