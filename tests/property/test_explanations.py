"""Explanations of random forests: sufficient, minimal, dual, and true of the source model's own predict."""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import treeproof as tp
from generators import holds, random_forest, random_row
from treeproof.model.floats import FLOAT32
from treeproof.model.rows import as_row
from treeproof.query.cells import CellForest, discretise
from treeproof.query.oracle import Query, Stays, fix

seeds = st.integers(0, 2**32 - 1)
votes = st.sampled_from(["majority", "mean"])


@lru_cache(maxsize=1)
def cells_of(explainer: tp.Explainer) -> CellForest:
    return discretise(explainer.space)


def sufficient(explainer: tp.Explainer, row, features) -> bool:
    """Do these features force the label? By enumeration of all cells."""
    cells = cells_of(explainer)
    point = explainer.space.cells(as_row(row, explainer.forest.columns))
    return holds(cells, Query(fix(cells, point, features), Stays(cells.label(point))))


def random_case(seed: int, vote: str) -> tuple[tp.Explainer, list]:
    rng = np.random.default_rng(seed)
    forest = random_forest(
        rng,
        vote=vote,
        n_classes=int(rng.integers(2, 6)),
        n_trees=int(rng.integers(1, 8)),
        categorical=bool(rng.random() < 0.3),
    )
    return tp.Explainer(forest, tabulate=bool(rng.random() < 0.2)), random_row(rng, forest)


@given(seeds, votes)
@settings(max_examples=150, deadline=None)
def test_an_abductive_explanation_is_sufficient_and_no_feature_can_be_dropped(seed, vote):
    explainer, row = random_case(seed, vote)
    why = explainer.abductive(row)
    assert why.status == "minimal"
    assert why.label == explainer.forest.predict([row])[0]
    assert sufficient(explainer, row, why.features)
    for feature in why.features:
        assert not sufficient(explainer, row, set(why.features) - {feature})


@given(seeds, votes)
@settings(max_examples=100, deadline=None)
def test_a_contrastive_explanation_has_a_witness_and_no_feature_can_be_left_out(seed, vote):
    explainer, row = random_case(seed, vote)
    change = explainer.contrastive(row)
    everything = set(range(explainer.space.n_features))
    if change.status == "impossible":
        assert sufficient(explainer, row, set())
        return
    assert change.status == "minimal"
    assert explainer.forest.predict([change.witness])[0] == change.witness_label != change.label
    changed = {i for i, (old, new) in enumerate(zip(change.instance, change.witness, strict=True)) if old != new}
    assert changed == set(change.features)
    for feature in change.features:
        assert sufficient(explainer, row, everything - set(change.features) | {feature})


@given(seeds, votes)
@settings(max_examples=75, deadline=None)
def test_a_target_is_reached_by_a_minimal_change_or_proved_unreachable(seed, vote):
    explainer, row = random_case(seed, vote)
    cells = discretise(explainer.space)
    point = explainer.space.cells(as_row(row, explainer.forest.columns))
    label = explainer.forest.predict([row])[0]
    for target in set(explainer.forest.classes.tolist()) - {label}:
        change = explainer.contrastive(row, target=target)

        def reachable(freed, target=target):
            domains = fix(cells, point, set(range(cells.n_features)) - set(freed))
            return any(cells.label(p) == target for p in itertools.product(*domains))

        if change.status == "impossible":
            assert not reachable(range(cells.n_features))
            continue
        assert change.witness_label == target == explainer.forest.predict([change.witness])[0]
        assert all(not reachable(set(change.features) - {f}) for f in change.features)


@given(seeds, votes)
@settings(max_examples=75, deadline=None)
def test_enumeration_is_complete_without_repeats_and_the_two_kinds_are_dual(seed, vote):
    explainer, row = random_case(seed, vote)
    n = explainer.space.n_features
    subsets = [frozenset(s) for r in range(n + 1) for s in itertools.combinations(range(n), r)]
    weak = {s for s in subsets if sufficient(explainer, row, s)}
    minimal = {s for s in weak if not any(s - {f} in weak for f in s)}
    breaking = {s for s in subsets if frozenset(range(n)) - s not in weak}
    minimal_changes = {s for s in breaking if not any(s - {f} in breaking for f in s)}
    results = explainer.enumerate(row, kind="both")
    found = list(results)
    assert results.complete is True
    axps = [frozenset(e.features) for e in found if isinstance(e, tp.Abductive)]
    cxps = [frozenset(e.features) for e in found if isinstance(e, tp.Contrastive)]
    assert sorted(map(sorted, axps)) == sorted(map(sorted, minimal))
    assert sorted(map(sorted, cxps)) == sorted(map(sorted, minimal_changes))
    hitting = {s for s in subsets if all(s & c for c in cxps)}
    assert set(axps) == {s for s in hitting if not any(s - {f} in hitting for f in s)}
    for kind, expected in (("abductive", axps), ("contrastive", cxps)):
        assert {frozenset(e.features) for e in explainer.enumerate(row, kind=kind)} == set(expected)


MODELS = [
    RandomForestClassifier(7, max_depth=3, random_state=0),
    RandomForestClassifier(6, random_state=1, class_weight="balanced"),
    ExtraTreesClassifier(5, max_depth=4, random_state=2),
    DecisionTreeClassifier(max_depth=4, random_state=3),
    tp.MajorityForestClassifier(6, max_depth=3, random_state=4),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_what_is_claimed_holds_for_the_source_models_own_predict(model):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (120, 4)).astype(float) / 3
    y = np.array(["low", "mid", "high"])[(X @ [1, 2, 0.5, 0]).astype(int) % 3]
    model.fit(X, y)
    explainer = tp.Explainer(model)
    for x in X[:12]:
        why = explainer.abductive(x)
        assert why.label == model.predict([x])[0]
        others = np.tile(x, (2000, 1))
        free = [f for f in range(4) if f not in why.features]
        others[:, free] = rng.uniform(-1, 3, (2000, len(free)))
        assert set(model.predict(others)) == {why.label}
        for feature in why.features:
            verdict = explainer.holds(x, [f for f in why.features if f != feature])
            assert not verdict
            assert model.predict([verdict.witness])[0] == verdict.witness_label != why.label
        change = explainer.contrastive(x)
        assert model.predict([change.witness])[0] == change.witness_label != why.label


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_numbers_within_the_printed_rule_keep_the_prediction(seed):
    explainer, row = random_case(seed, "majority")
    why = explainer.abductive(row)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        other = random_row(rng, explainer.forest)
        for feature, condition in zip(why.features, why.rule, strict=True):
            if condition.values is not None:
                other[feature] = rng.choice(condition.values)
                continue
            # Bounds as they are printed, read back as float64: exactly on the edge.
            edges = [row[feature]]
            for bound in (condition.low, condition.high):
                if bound is not None:
                    edges.append(float(FLOAT32.shortest(bound)))
            other[feature] = edges[rng.integers(len(edges))]
        assert explainer.forest.predict([other])[0] == why.label
