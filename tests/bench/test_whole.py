"""The part about the whole model, as far as it runs without other tools."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import treeproof as tp
from treeproof_bench.whole import boxes, readable, satisfied, where


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
