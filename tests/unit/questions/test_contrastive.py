"""Changes worth acting on, and robustness: limits and distances as people see them, deadlines, errors, texts."""

from __future__ import annotations

import json
import math
import os
import signal
import threading
import time
from fractions import Fraction

import numpy as np
import pytest

import treeproof as tp
from generators import hard_forest
from treeproof.questions import moves

COLOURS = tp.Column("colour", ("red", "green", "blue"))


@pytest.fixture
def loan():
    """Granted ("yes") with two of: income above 50, age from 30 on, a colour other than red."""
    trees = [
        tp.split("income", 50, "no", "yes"),
        tp.split("age", 29, "no", "yes"),
        tp.isin("colour", ["red"], "no", "yes"),
    ]
    forest = tp.build_forest(trees, columns=["income", "age", COLOURS], classes=["no", "yes"])
    return tp.Explainer(forest, kinds={"age": "ordinal"})


@pytest.fixture(scope="module")
def hard():
    forest, X = hard_forest()
    return tp.Explainer(forest), X


ROW = [40.0, 20, "red"]


def test_fixed_features_do_not_change(loan):
    assert loan.contrastive(ROW).feature_names == ("age", "colour")
    change = loan.contrastive(ROW, fixed=["age"])
    assert change.feature_names == ("income", "colour")
    assert change.witness[1] == 20
    assert "Limits: age fixed." in str(change)


def test_directions_and_limits_that_leave_no_way_are_proved_and_named(loan):
    change = loan.contrastive(ROW, directions={"income": "down"}, limits={"colour": ["red"], "age": (18, 60)})
    assert (change.status, change.witness) == ("impossible", None)
    text = "no input of the space gives another label, with income only down, 18 <= age <= 60, colour = red."
    assert text in str(change)
    assert change.limits == ("income only down", "18 <= age <= 60", "colour = red")


def test_a_limit_is_about_the_new_value_and_not_about_one_that_stays(loan):
    # 20 is outside 30 to 60, and may stay; but if age changes, then to 35 at least.
    change = loan.contrastive(ROW, limits={"age": (35, 60)}, prefer=["age"])
    assert [str(c) for c in change.changes] == ["age: 20 -> 35", "colour: red -> green"]
    assert "35 <= age <= 60 if changed" in str(change)
    other = loan.contrastive(ROW, limits={"age": (35, 60)}, fixed=["colour"], directions={"age": "down"})
    assert other.status == "impossible"


@pytest.mark.parametrize(
    ("limit", "nearest"), [((0.1, 0.3), 0.1), ((0.1000000001, 0.3), 0.1), ((None, 0.3), 0.05), ((0.2, None), 0.2)]
)
def test_the_witness_keeps_its_limits_digit_by_digit(limit, nearest):
    # The model reads 0.1 and 0.1000000001 as the same float32, which is neither.
    forest = tp.build_forest([tp.split("a", 0.05, 0, 1)], columns=["a"], classes=[0, 1])
    change = tp.Explainer(forest).contrastive([0], limits={"a": limit})
    value = change.witness[0]
    assert math.isclose(value, nearest, rel_tol=1e-6)
    for number in (value, float(change.changes[0].after)):
        assert limit[0] is None or limit[0] <= number
        assert limit[1] is None or number <= limit[1]
    assert forest.predict([[value]])[0] == 1


def test_the_closest_witness_is_one_and_the_distance_says_how_far(loan):
    change = loan.contrastive(ROW, fixed=["colour"])
    assert [str(c) for c in change.changes] == ["income: 40 -> 50.1", "age: 20 -> 30"]
    assert change.closest
    assert change.distance == float(Fraction(float(np.nextafter(np.float32(50), np.float32(99)))) - 40 + 10)
    scaled = loan.contrastive(ROW, fixed=["income"], scale={"age": 20, "colour": 4})
    assert scaled.distance == 0.75
    anything = loan.contrastive(ROW, fixed=["colour"], distance=None)
    assert (anything.distance, anything.closest, anything.status) == (None, False, "minimal")
    assert "closer" not in str(anything)


def test_several_changes_say_when_there_are_no_more(loan):
    result = loan.contrastives(ROW, n=5)
    assert [set(change.feature_names) for change in result] == [
        {"age", "colour"},
        {"income", "colour"},
        {"income", "age"},
    ]
    assert (result.status, len(result), result[0].closest) == ("all", 3, True)
    assert "3 minimal changes of 5 asked for. Proved: there are no others." in str(result)
    assert len(loan.contrastives(ROW, n=2)) == len(loan.contrastives(ROW, n=5)[:2]) == 2
    assert json.loads(json.dumps(result.to_dict()))["changes"][0]["label"] == "no"
    assert result._repr_html_().count("<ul") == 3
    none = loan.contrastives(ROW, fixed=["income", "age"])
    assert (len(none), none.status) == (0, "all")
    assert "no others with income fixed, age fixed" in str(none)


def test_robustness_tells_the_radius_and_the_nearest_flip(loan):
    linf = loan.robustness(ROW, scale={"income": 100, "age": 100})
    assert linf.nearest_exact == linf.proved_exact == (Fraction(float(np.float32(50.000004))) - 40) / 100
    assert Fraction(linf.proved) <= linf.proved_exact <= Fraction(linf.nearest)
    assert [c.name for c in linf.changes] == ["income", "age"]
    assert "every input at a distance below 0.1 keeps the label; this one is within 0.100001." in str(linf)
    l0 = loan.robustness(ROW, "l0")
    assert (l0.proved, l0.nearest, len(l0.changes)) == (2, 2, 2)
    assert "every input that changes fewer than 2 of 3 features keeps the label; this one changes 2." in str(l0)
    l1 = loan.robustness(ROW, "l1", scale={"age": 5})
    assert l1.proved_exact == 3
    assert [c.name for c in l1.changes] == ["age", "colour"]
    aimed = loan.robustness(ROW, target="yes")
    assert "no input at a distance below" in str(aimed)
    for result in (linf, l0, l1):
        data = json.loads(json.dumps(result.to_dict()))
        assert data["proved"] == result.proved
        assert Fraction(data["proved_exact"]) == result.proved_exact
        assert result.label in result._repr_html_()


def test_a_prediction_that_nothing_flips_has_an_infinite_radius():
    forest = tp.build_forest([tp.split("a", 0, "x", "x")], columns=["a"], classes=["x", "y"])
    for norm in ("linf", "l1", "l0"):
        result = tp.Explainer(forest).robustness([0], norm)
        assert (result.status, result.proved, result.nearest, result.witness) == ("constant", math.inf, math.inf, None)
        assert "every input of the space keeps the label" in str(result)
        assert json.loads(json.dumps(result.to_dict()))["proved"] is None
    assert "no input of the space gets the label y" in str(tp.Explainer(forest).robustness([0], target="y"))


def test_distances_beyond_floats_are_rounded_the_safe_way():
    forest = tp.build_forest([tp.split("a", 1e30, 0, 1)], columns=["a"], classes=[0, 1])
    result = tp.Explainer(forest).robustness([0], scale={"a": 1e-300})
    assert Fraction(result.proved) <= result.proved_exact
    assert result.nearest == math.inf
    assert result.status == "exact"
    assert tp.Explainer(forest).contrastive([0], scale={"a": 1e-300}).distance == math.inf


def test_no_time_gives_sound_bounds(loan):
    change = loan.contrastive(ROW, timeout=0)
    assert (change.status, change.closest) == ("unknown", False)
    several = loan.contrastives(ROW, timeout=0)
    assert (len(several), several.status) == (0, "sound")
    assert "timed out" in str(several).lower()
    for norm, least in (("linf", 1), ("l1", 1), ("l0", 1)):
        result = loan.robustness(ROW, norm, timeout=0)
        assert (result.status, result.witness, result.nearest) == ("bounds", None, math.inf)
        assert result.proved == least  # closer than that there is nothing in another cell
        assert "timed out" in str(result).lower()


@pytest.mark.parametrize("norm", ["linf", "l1", "l0"])
def test_a_deadline_leaves_bounds_of_the_radius(hard, norm):
    explainer, X = hard
    start = time.monotonic()
    result = explainer.robustness(X[0], norm, timeout=0.3)
    assert time.monotonic() - start < 5
    assert result.status in ("bounds", "exact")
    assert 0 < result.proved <= result.nearest
    if result.witness is not None:
        assert explainer.forest.predict([result.witness])[0] == result.witness_label != result.label


@pytest.mark.parametrize("norm", ["linf", "l1"])
@pytest.mark.parametrize("target", [None, "yes"])
def test_a_witness_without_time_for_distances_changes_only_what_it_needs(loan, norm, target, monkeypatch):
    exact = loan.robustness(ROW, norm, target=target)
    with monkeypatch.context() as late:
        late.setattr(moves, "expired", lambda deadline: True)
        result = loan.robustness(ROW, norm, target=target)
    assert result.status == "bounds"
    assert result.proved_exact <= exact.nearest_exact <= result.nearest_exact
    assert loan.forest.predict([result.witness])[0] == result.witness_label == "yes"
    assert target or sum(a != b for a, b in zip(result.witness, ROW, strict=True)) == 2


def test_a_deadline_leaves_a_witness_labelled_as_perhaps_not_the_closest(hard):
    explainer, X = hard
    change = explainer.contrastive(X[0], timeout=0.3)
    assert change.status in ("minimal", "sound", "unknown")
    if change.status == "sound":
        assert not change.closest
        assert explainer.forest.predict([change.witness])[0] == change.witness_label != change.label


@pytest.mark.parametrize(
    "ask",
    [
        lambda e, x: e.contrastives(x, 1000),
        lambda e, x: e.robustness(x, "l1"),
        lambda e, x: e.robustness(x, "l0"),
    ],
    ids=["contrastives", "l1", "l0"],
)
def test_ctrl_c_leaves_the_explainer_usable(hard, ask):
    explainer, X = hard
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        ask(explainer, X[0])
    assert explainer.abductive(X[0], timeout=0.1).status == "sound"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.contrastive(ROW, fixed=["size"]), "must be one of"),
        (lambda e: e.contrastive(ROW, fixed="age"), "list of names"),
        (lambda e: e.contrastive(ROW, directions=["age"]), "'directions' parameter must map"),
        (lambda e: e.contrastive(ROW, directions={"age": "left"}), "'up' or 'down'"),
        (lambda e: e.contrastive(ROW, directions={"colour": "up"}), "named values"),
        (lambda e: e.contrastive(ROW, directions={"age": "up", 1: "down"}), "each feature once"),
        (lambda e: e.contrastive(ROW, limits={"age": 30}), r"two numbers \(low, high\)"),
        (lambda e: e.contrastive(ROW, limits={"age": (30, 20)}), "low <= high"),
        (lambda e: e.contrastive(ROW, limits={"age": (30, math.nan)}), "two numbers"),
        (lambda e: e.contrastive(ROW, limits={"age": ("30", "40")}), "two numbers"),
        (lambda e: e.contrastive(ROW, limits={"age": (10**400, None)}), "two numbers"),
        (lambda e: e.contrastive(ROW, limits={"age": (30.2, 30.8)}), "contain some integer value"),
        (lambda e: e.contrastive(ROW, limits={"income": (1e39, None)}), "contain some real value"),
        (lambda e: e.contrastive(ROW, limits={"colour": "red"}), "list of its values"),
        (lambda e: e.contrastive(ROW, limits={"colour": ["pink"]}), "must be among"),
        (lambda e: e.contrastive(ROW, limits={"colour": []}), "list of its values"),
        (lambda e: e.contrastive(ROW, scale={"age": 0}), "positive number"),
        (lambda e: e.contrastive(ROW, scale={"age": math.inf}), "positive number"),
        (lambda e: e.contrastive(ROW, scale={"age": "wide"}), "positive number"),
        (lambda e: e.contrastive(ROW, distance="l2"), "'distance' parameter"),
        (lambda e: e.contrastives(ROW, n=0), "'n' parameter"),
        (lambda e: e.contrastives(ROW, n=True), "'n' parameter"),
        (lambda e: e.robustness(ROW, "l2"), "'norm' parameter"),
        (lambda e: e.robustness(ROW, "l0", scale={"age": 2}), "no meaning for norm='l0'"),
        (lambda e: e.robustness(ROW, target="no"), "is 'no' already"),
    ],
)
def test_bad_input_is_named(loan, call, message):
    with pytest.raises(tp.InputError, match=message):
        call(loan)
