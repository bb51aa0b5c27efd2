"""Lists of rules, against all inputs of small random forests."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import treeproof as tp
from changing import random_case
from generators import hard_forest
from rules_by_enumeration import World

seeds = st.integers(0, 2**32 - 1)


def drawn_rows(world: World, seed: int) -> np.ndarray:
    """Some inputs, by number; a number may occur twice."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, len(world.grid), int(rng.integers(1, 40)))


@given(seeds, st.sampled_from(["majority", "mean"]), st.integers(1, 3), st.sampled_from([None, 1, 2]))
@settings(max_examples=30, deadline=None)
def test_every_rule_holds_for_all_inputs_and_counts_are_right(seed, vote, at_most, conditions):
    world = World(random_case(seed, vote, limited=False))
    chosen = drawn_rows(world, seed)
    explainer, rows = world.case.explainer, world.rows(chosen)
    found = explainer.rules(rows, at_most=at_most, at_most_conditions=conditions)
    labels = world.labels[chosen]
    inside = [world.inside(rule.rule)[chosen] for rule in found.rules]
    covered = np.logical_or.reduce([np.zeros(len(chosen), dtype=bool), *inside])
    seen = np.zeros(len(chosen), dtype=bool)
    for rule, mine in zip(found.rules, inside, strict=True):
        assert world.forces(rule.rule, rule.label)
        assert rule.widest
        assert list(world.widenings(rule.rule, rule.label)) == []
        assert conditions is None or len(rule.rule) <= conditions
        assert rule.coverage == tp.Coverage(int(mine.sum()), len(chosen)) == explainer.coverage(rule, rows)
        assert rule.new == int((mine & ~seen).sum())
        seen |= mine
    for i, mine in enumerate(inside):
        others = np.logical_or.reduce([np.zeros(len(chosen), dtype=bool), *inside[:i], *inside[i + 1 :]])
        assert (mine & ~others).any(), "no rule is redundant"
    assert found.coverage == tp.Coverage(int(covered.sum()), len(chosen))
    assert found.uncovered == tuple(np.flatnonzero(~covered).tolist())
    assert {label: (each.covered, each.total) for label, each in found.by_label} == {
        label: (int(covered[labels == label].sum()), int((labels == label).sum())) for label in set(labels.tolist())
    }
    assert found.decided
    assert (found.status == "complete") == (not found.uncovered)
    for label in set(labels[~covered].tolist()):
        n_rules = sum(rule.label == label for rule in found.rules)
        assert n_rules == at_most or conditions is not None, "rules are found as long as there may be more"


def test_certificates_check_and_results_serialise():
    X, y = load_iris(return_X_y=True, as_frame=True)
    explainer = tp.Explainer(RandomForestClassifier(10, max_depth=4, random_state=0).fit(X, y), names={0: "setosa"})
    found = explainer.rules(X, at_most=3)
    assert found.coverage == tp.Coverage(found.coverage.covered, 150)
    assert found.coverage.share > 0.9
    for rule in found.rules:
        assert rule.certificate().check().text.endswith(("can be extended", "can be widened"))
        assert explainer.review(claim=list(rule.rule), label=rule.label).holds
    plain = found.to_dict()
    assert plain["kind"] == "rules"
    assert [rule["label"] for rule in plain["rules"]] == [rule.label for rule in found.rules]
    assert plain["by_label"][0]["name"] == "setosa"
    frame = found.to_frame()
    assert frame["covered"].tolist() == [rule.coverage.covered for rule in found.rules]
    assert frame["new"].sum() == found.coverage.covered
    assert "then setosa: 50 rows" in str(found)
    assert "<li" in found._repr_html_()
    ax = found.plot()
    assert len(ax.get_yticklabels()) == len(found) + sum(each.covered < each.total for _, each in found.by_label)


def test_a_deadline_leaves_proved_rules():
    forest, X = hard_forest()
    explainer = tp.Explainer(forest)
    found = explainer.rules(X, timeout=0)
    assert (found.status, found.rules, len(found.uncovered)) == ("sound", (), len(X))
    assert "Timed out" in str(found)
    assert not found.decided
    some = explainer.rules(X, timeout=0.5)
    assert all(explainer.coverage(rule, X) == rule.coverage for rule in some.rules)


def test_one_label_needs_one_rule_without_conditions():
    forest = tp.build_forest([tp.split("a", 0, 1, 1)], columns=["a"], classes=[0, 1])
    found = tp.Explainer(forest).rules([[1], [2]])
    assert [rule.text for rule in found.rules] == ["always 1"]
    assert found.rules[0].certificate().check()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at_most": 0}, "'at_most' parameter must be a whole number"),
        ({"at_most_conditions": 1.5}, "'at_most_conditions' parameter must be a whole number"),
        ({"timeout": -1}, "'timeout' parameter"),
    ],
)
def test_options_are_checked(options, message):
    forest, patient = tp.examples.heart_disease()
    with pytest.raises(tp.InputError, match=message):
        tp.Explainer(forest).rules([patient], **options)
    with pytest.raises(tp.InputError, match="at least one row"):
        tp.Explainer(forest).rules(np.empty((0, 4)))
