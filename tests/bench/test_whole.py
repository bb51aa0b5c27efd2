"""The part about the whole model, as far as it runs without other tools."""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import treeproof as tp
from treeproof_bench.whole import boxes, kept, readable, satisfied, where


def test_a_box_is_the_same_as_conditions_and_as_intervals():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    explainer = tp.Explainer(RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, X[:, 0] > 0))
    whole, *others = boxes(X, 3)
    assert whole == {}
    assert where(explainer, whole) is None
    for box in others:
        inside = np.all([(low <= X[:, f]) & (X[:, f] < high) for f, (low, high) in box.items()], axis=0)
        assert 0 < inside.sum() < 300
        assert explainer.coverage(where(explainer, box), X).covered == inside.sum()


def test_rules_of_te2rules_are_read():
    rule = "x0 <= 1.5 & x2 > 3"
    assert readable(rule) == "x0 <= 1.5 and x2 > 3"
    assert satisfied(rule, np.array([[1, 0, 4], [1, 0, 3], [2, 0, 4]])).tolist() == [True, False, False]


def test_what_was_measured_is_not_measured_again(tmp_path):
    args = argparse.Namespace(kept=tmp_path / "kept.jsonl", limit=1.0, boxes=0, rows=10, veritas=None)
    asked: list[int] = []

    def measure() -> list[dict[str, int]]:
        asked.append(1)
        return [{"box": 0}]

    assert kept(args, "a", measure) == kept(args, "a", measure) == [{"box": 0}]
    assert len(asked) == 1
    with args.kept.open("a") as file:
        file.write('{"key": "b", "ro')  # interrupted
    kept(args, "a", measure)
    assert len(asked) == 1
    assert kept(args, "b", measure) == kept(args, "b", measure)
    assert len(asked) == 2
    kept(argparse.Namespace(**{**vars(args), "limit": 2.0}), "a", measure)
    assert len(asked) == 3
