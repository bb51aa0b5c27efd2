"""Questions about a whole model: what is said, and of which inputs."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier

import treeproof as tp
from treeproof.oracles import sums
from treeproof.query import twins

CUT = float(np.float32(26.1))  # which is above 26.1


def cut_at(threshold: float) -> tp.Forest:
    return tp.build_forest([tp.split("income", threshold, "low", "high")], columns=["income"], classes=["low", "high"])


def test_a_statement_that_is_false_by_rounding_alone_says_so():
    below = float(np.nextafter(np.float32(CUT), np.float32(0)))
    explainer = tp.Explainer(cut_at(below))
    found = explainer.prove("if income < 26.1 then low")
    assert found.holds is False
    assert "False, but only by rounding" in str(found)
    assert "as the model reads them" in str(found)
    (shown,) = found.counterexamples
    assert shown.values[0] < 26.1, "it satisfies the condition as it is written"
    assert explainer.forest.predict([list(shown.values)])[0] == "high"
    assert not explainer.prove("if income < 27 then low").only_if


def test_the_share_of_votes_is_never_said_to_exceed_1():
    found = tp.Explainer(tp.examples.heart_disease()[0]).extremes()
    assert (found.lowest.bound, found.highest.bound) == (0.0, 1.0)
    assert "between 0 and 1 for every input" in str(found)


def test_probabilities_are_never_said_to_exceed_1():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    forest = RandomForestClassifier(7, random_state=0).fit(X, (X[:, 0] > 0).astype(int))
    found = tp.Explainer(forest).extremes()
    assert found.highest.bound <= 1.0
    assert found.lowest.bound >= 0.0


def test_rows_that_two_models_treat_differently_show_that_they_differ():
    old, new = cut_at(10.0), cut_at(20.0)
    found = tp.differ(old, new, [[5], [15], [16]], timeout=0)
    assert found.same is False
    assert (found.old, found.new) == ("high", "low")
    assert found.input.values == (15.0,)
    assert found.share == pytest.approx(2 / 3)
    inside = tp.differ(old, new, [[5], [15], [16]], where="income < 8")
    assert (inside.same, inside.share, inside.n_rows) == (True, 0.0, 1)
    outside = tp.differ(tp.Explainer(old, bounds={"income": (0, 9)}), new, [[15]])
    assert outside.same is True, "the row is not an input of the space"


def test_regressors_are_compared_by_their_scores():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    model = GradientBoostingRegressor(n_estimators=5, max_depth=2, random_state=0).fit(X, X[:, 0] - 5)
    forest = tp.import_model(model)
    assert str(tp.differ(model, model)).startswith("Both models give the same score to every input")
    leaf = int(np.flatnonzero(forest.feature < 0)[0])
    values = forest.values.copy()
    values[leaf] += 0.25
    found = tp.differ(forest, dataclasses.replace(forest, values=values), X)
    assert found.same is False
    assert found.gap.value == pytest.approx(0.25)
    assert found.gap.bound == pytest.approx(0.25)
    assert found.new - found.old == pytest.approx(0.25)
    assert "label" not in str(found)
    assert found.certificate(of="score").check().text.startswith("the score differs by less than 0.25")


def test_a_regressor_and_a_classifier_are_not_compared():
    with pytest.raises(tp.InputError, match="Both models must have labels"):
        tp.differ(cut_at(10.0), GradientBoostingRegressor(n_estimators=1).fit([[0.0], [1.0]], [0.0, 1.0]))


class Clock:
    """A deadline that has passed after so many looks."""

    def __init__(self, looks: int) -> None:
        self.left = looks

    def __call__(self, deadline: float | None) -> bool:
        self.left -= 1
        return self.left < 0


@pytest.mark.parametrize("looks", [0, 1, 3, 10**9])
def test_what_is_said_of_a_model_that_is_too_large_for_the_time_is_true(monkeypatch, looks):
    """The clock stops the comparison of trees after so many looks, or else the core would take too long."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = GradientBoostingRegressor(n_estimators=4, max_depth=2, random_state=0).fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    explainer = tp.Explainer(model, cuts=[0.0])
    ends, effects, alike = explainer.extremes(), explainer.effect(0), explainer.independent([0])
    assert ends.decided
    assert effects.decided
    assert alike.holds is False
    monkeypatch.setattr(twins, "expired", Clock(looks))
    monkeypatch.setattr(sums, "_NODES_PER_SECOND", 1e-9)
    late = explainer.extremes(timeout=60)
    assert late.status == "bounds"
    assert late.lowest.bound <= ends.lowest.value <= late.lowest.value
    assert late.highest.value <= ends.highest.value <= late.highest.bound
    effect = explainer.effect(0, timeout=60)
    assert (effect.status, effect.changes_label, effect.decided) == ("bounds", None, False)
    assert effect.value <= effects.value <= effect.bound
    assert "Timed out" in str(effect)
    undecided = explainer.independent([0], timeout=60)
    assert (undecided.holds, undecided.status) == (None, "unknown")
