"""The contract with the page says what the session answers: the same keys in every example."""

from __future__ import annotations

import json
import re
from importlib.resources import files

import pytest

TEXT = (files("treeproof.workbench") / "protocol.md").read_text(encoding="utf-8")
EXAMPLES = {
    name: json.loads(example)
    for name, example in re.findall(r"^### (\w+)\n.*?```json\n(.*?)```", TEXT, re.DOTALL | re.MULTILINE)
}
VALUES = [5.0, 2.0, 3.5, 1.0]
ARGS = {
    "start": {},
    "rows": {},
    "compare": {"values": VALUES, "others": [6.0, 3.0, 5.5, 2.0]},
    "hold": {"values": VALUES, "held": [3]},
}
ASKS = ["start", "rows", "predict", "why", "hold", "sizes", "changes", "reasons", "relevance", "attribution"]


def shape(found):
    """Return the keys of an answer, at all levels; of a list, those of its first item."""
    if isinstance(found, dict):
        return {key: shape(value) for key, value in found.items()}
    return [shape(found[0])] if isinstance(found, list) and found and isinstance(found[0], dict) else None


def agree(example, answer) -> bool:
    if isinstance(example, dict) and isinstance(answer, dict):
        return example.keys() == answer.keys() and all(agree(example[key], answer[key]) for key in example)
    if isinstance(example, list) and isinstance(answer, list):
        return agree(example[0], answer[0])
    return True  # a list that is empty here or there


@pytest.mark.parametrize("ask", [*ASKS, "robustness", "compare"])
def test_every_answer_has_the_keys_of_its_example(iris, ask):
    found = shape(iris.ask(ask, ARGS.get(ask, {"values": VALUES})))
    assert agree(shape(EXAMPLES[ask]), found), (shape(EXAMPLES[ask]), found)


def test_every_question_is_described(iris):
    assert set(re.findall(r"^### (\w+)$", TEXT, re.MULTILINE)) == set(iris._asks)
