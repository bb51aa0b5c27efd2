"""minimum=, cost= and tries=: what they print, what they refuse, and what a deadline leaves."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

import treeproof as tp
from generators import hard_forest
from treeproof.questions.result import Presented


@pytest.fixture
def copies():
    """Any two of five copies of a column force the label 1."""
    trees = [tp.split(name, 0, 0, 1) for name in "abcde"]
    return tp.Explainer(tp.build_forest([*trees, 1, 1], columns=list("abcde"), classes=[0, 1]))


@pytest.fixture(scope="module")
def hard():
    forest, X = hard_forest()
    return tp.Explainer(forest), X[0]


def test_a_minimum_says_so(copies):
    why = copies.abductive([1] * 5, minimum=True)
    assert "Proved: these 2 of 5 features force the prediction; no smaller set does." in str(why)
    change = copies.contrastive([1] * 5, minimum=True, distance=None)
    assert "Proved: changing these 4 of 5 features suffices; no smaller set does." in str(change)
    assert "no smaller set does" in why._repr_html_()
    assert json.loads(json.dumps(why.to_dict()))["lower_bound"] == 2
    assert json.loads(json.dumps(change.to_dict()))["cost"] is None


def test_costs_choose_the_features_and_are_exact(copies):
    costs = {"a": 0.3, "b": 0.1, 2: 0.2, "d": 5}
    why = copies.abductive([1] * 5, minimum=True, cost=costs)
    assert why.feature_names == ("b", "c")
    assert why.cost == why.lower_bound == Fraction(3, 10)
    assert "these 2 of 5 features, at a cost of 0.3, force the prediction; no cheaper set does." in str(why)
    assert why.to_dict()["cost"] == 0.3
    change = copies.contrastive([1] * 5, minimum=True, cost=costs, distance=None)
    assert change.feature_names == ("a", "b", "c", "e")
    assert change.cost == Fraction(16, 10)
    assert "these 4 of 5 features, at a cost of 1.6, suffices; no cheaper set does." in str(change)
    assert copies.abductive([1] * 5, minimum=True, cost={}).cost == 2


def test_a_forest_of_one_label_has_the_empty_minimum():
    explainer = tp.Explainer(tp.build_forest([1], columns=["a"], classes=[0, 1]))
    why = explainer.abductive([3], minimum=True)
    assert (why.status, why.features, why.lower_bound) == ("minimum", (), 0)
    assert explainer.contrastive([3], minimum=True).status == "impossible"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cost": {"a": 2}}, "minimum=True"),
        ({"minimum": True, "cost": {"a": 0}}, "positive number"),
        ({"minimum": True, "cost": {"a": -1.5}}, "positive number"),
        ({"minimum": True, "cost": {"a": np.inf}}, "positive number"),
        ({"minimum": True, "cost": {"a": np.nan}}, "positive number"),
        ({"minimum": True, "cost": {"a": True}}, "positive number"),
        ({"minimum": True, "cost": {"a": "2"}}, "positive number"),
        ({"minimum": True, "cost": {"z": 2}}, "must be one of"),
        ({"minimum": True, "cost": {"a": 2, 0: 3}}, "each feature once"),
        ({"minimum": True, "cost": [1, 2]}, "map features to numbers"),
        ({"minimum": True, "prefer": ["a"]}, "cost="),
    ],
)
def test_what_does_not_go_together_is_refused(copies, arguments, message):
    for ask in (copies.abductive, copies.contrastive):
        with pytest.raises(tp.InputError, match=message):
            ask([1] * 5, **arguments)


@pytest.mark.parametrize("tries", [0, -1, 1.5, True, "3"])
def test_tries_must_be_a_count(copies, tries):
    with pytest.raises(tp.InputError, match="'tries' parameter"):
        copies.abductive([1] * 5, tries=tries)
    with pytest.raises(tp.InputError, match="'tries' parameter"):
        copies.batch([[1] * 5], tries=tries)


def test_tries_and_minimum_exclude_each_other(copies):
    with pytest.raises(tp.InputError, match="must not be combined with minimum=True"):
        copies.abductive([1] * 5, tries=3, minimum=True)


def test_a_deadline_leaves_what_was_proved(hard):
    explainer, x = hard
    why = explainer.abductive(x, minimum=True, timeout=0.2)
    assert why.status == "sound"
    assert why.lower_bound == 0
    assert "may not be minimal" in str(why)
    assert explainer.abductive(x, tries=5, timeout=0.2).status == "sound"


def test_a_bound_short_of_the_best_set_is_told():
    late = tp.Abductive(
        features=(0, 1),
        feature_names=("a", "b"),
        label=1,
        rule=(),
        target=None,
        _instance=Presented.known(()),
        status="minimal",
        n_features=5,
        stats=tp.Statistics("native", 0.0, 0, 0, 0, 0, 0, 0, 0.0, 0.0),
        lower_bound=Fraction(1),
    )
    assert str(late).endswith("none of them can be dropped. Timed out; a smaller set may exist; none has fewer than 1.")
