"""Widened explanations of random forests: they force the label, nothing can be added, and every oracle agrees."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

import treeproof as tp
from changing import random_case
from generators import Labels, cell_forests, hard_forest, holds, random_clauses
from rules_by_enumeration import World, satisfied
from treeproof.model.build import build_forest, split
from treeproof.model.columns import Column
from treeproof.model.rows import as_row
from treeproof.oracles.brute import BruteOracle
from treeproof.oracles.native import NativeOracle, PlainOracle
from treeproof.oracles.sat import SatOracle
from treeproof.oracles.smt import SmtOracle
from treeproof.query.cache import Cache
from treeproof.query.cells import CellForest
from treeproof.query.oracle import Never, Query, Stays, fix
from treeproof.search.inflation import unite, widen, widen_values
from treeproof.search.minimal import abductive
from treeproof.space.domains import Domain

seeds = st.integers(0, 2**32 - 1)
votes = st.sampled_from(["majority", "mean"])


@given(seeds, votes)
@settings(max_examples=75, deadline=None)
def test_a_widened_rule_forces_the_label_and_nothing_can_be_added(seed, vote):
    case = random_case(seed, vote, limited=False)
    why = case.explainer.abductive(case.row, inflate=True)
    world = World(case)
    assert why.status == "minimal"
    assert why.inflated
    assert why.widest
    assert why.features == case.explainer.abductive(case.row).features
    assert [condition.name for condition in why.rule] == list(why.feature_names)
    assert world.forces(why.rule, why.label)
    assert list(world.widenings(why.rule, why.label)) == []
    for f, condition in zip(why.features, why.rule, strict=True):  # it is about this row
        feature = case.explainer.space.features[f]
        cell = feature.cell(as_row(case.row, case.explainer.forest.columns).tolist())
        value = cell if feature.kind == "categorical" else np.float32(case.row[feature.columns[0]])
        assert satisfied(case, condition, np.array([value])).all()


def balanced(forest: CellForest, claim, domains, order) -> list[Domain]:
    """Widen all ranges by the largest share, in 64ths, for which the claim holds: no search, all shares are tried."""
    best = list(domains)
    for share in range(1, 64):
        wider = list(domains)
        for f in order:
            n_numbers = forest.n_cells[f] - forest.gapped[f]
            numbers = [cell for cell in domains[f] if cell < n_numbers]
            if numbers and (forest.ordered[f] or forest.gapped[f]):
                down, up = min(numbers) * share // 64, (n_numbers - 1 - max(numbers)) * share // 64
                wider[f] = forest.only(f, {*domains[f], *range(min(numbers) - down, max(numbers) + up + 1)})
        if not holds(forest, Query(tuple(wider), claim)):
            break
        best = wider
    return best


def naively(forest: CellForest, claim, domains, order) -> tuple[Domain, ...]:
    """Widen all ranges together, then cell by cell."""
    wider = balanced(forest, claim, domains, order)
    for f in order:

        def may_join(cell, f=f):
            return holds(forest, Query((*wider[:f], forest.only(f, [cell]), *wider[f + 1 :]), claim))

        inside = set(wider[f])
        if forest.ordered[f] or forest.gapped[f]:
            n_numbers = forest.n_cells[f] - forest.gapped[f]
            if inside == {n_numbers}:  # missing: from the lowest number that may join
                inside |= set([cell for cell in range(n_numbers) if may_join(cell)][:1])
            numbers = inside - {n_numbers} or {n_numbers}
            for start, step in ((max(numbers) + 1, 1), (min(numbers) - 1, -1)):
                cell = start
                while numbers != {n_numbers} and 0 <= cell < n_numbers and may_join(cell):
                    inside.add(cell)
                    cell += step
            if forest.gapped[f] and may_join(n_numbers):
                inside.add(n_numbers)
        else:
            inside |= {cell for cell in range(forest.n_cells[f]) if cell not in wider[f] and may_join(cell)}
        wider[f] = forest.only(f, inside)
    return tuple(wider)


ORACLES = {
    "native": lambda forest: NativeOracle(forest, tabulate=False),
    "native-table": NativeOracle,
    "plain": PlainOracle,
    "brute": BruteOracle,
    "sat": SatOracle,
    "smt": SmtOracle,
}


@pytest.mark.parametrize("vote", ["majority", "mean", "sum"])
@pytest.mark.parametrize(
    ("names", "n_forests"),
    [(["native"], 150), (["native", "native-table", "plain", "brute", "sat", "smt"], 15)],
    ids=["native", "all"],
)
def test_every_oracle_widens_to_the_same_domains(vote, names, n_forests):
    widened = 0
    for i, forest in enumerate(cell_forests(n_forests, seed=21, vote=vote, n_columns=3)):
        rng = np.random.default_rng(i)
        if i % 3 == 0:
            forest = type(forest)(**{**vars(forest), "clauses": random_clauses(rng, forest)})
        point = tuple(int(rng.integers(n)) for n in forest.n_cells)
        if not forest.allows(point):
            continue
        label = forest.label(point)
        claim = Stays(label) if i % 4 else Never((label + 1) % max(2, forest.n_classes))
        if isinstance(claim, Never) and forest.n_classes == 1:
            continue
        order = rng.permutation(forest.n_features).tolist()
        kept = abductive(Cache(forest, BruteOracle(forest), point, claim), order).features
        start = fix(forest, point, kept if i % 2 else range(forest.n_features))
        expected = naively(forest, claim, start, order)
        widened += expected != start
        for name in names:
            if name == "sat" and vote != "majority":
                continue
            found = widen(Cache(forest, ORACLES[name](forest), point, claim), start, order)
            assert found.domains == expected, name
            assert found.widest
    assert widened > n_forests // 3


def test_a_deadline_leaves_what_was_proved():
    forest, X = hard_forest()
    explainer = tp.Explainer(forest)
    why = explainer.abductive(X[0], inflate=True, timeout=0.2)
    assert why.inflated
    assert not why.widest
    assert "no condition can be widened" not in str(why)
    context = explainer._context
    instance = context.instance(X[0])
    start = time.monotonic()
    cache = context.cache(instance, Stays(instance.label), 0.2)
    found = widen(cache, fix(context.cells, instance.point, range(200)), range(200))
    assert time.monotonic() - start < 5
    assert not found.widest
    assert any(len(domain) > 1 for domain in found.domains)  # what was widened is kept
    rows = np.random.default_rng(1).integers(0, 2, (2000, 200))
    for f, domain in enumerate(found.domains):
        if len(domain) == 1:
            rows[:, f] = X[0][f]
    assert set(forest.predict(rows)) == {context.labels[instance.label]}


def test_a_late_answer_is_not_asked_for():
    forest, patient = tp.examples.heart_disease()
    for oracle in ("native", "sat", "brute"):
        why = tp.Explainer(forest, oracle=oracle).abductive(patient, inflate=True, timeout=0)
        assert (why.status, why.inflated, why.widest) == ("sound", True, False)
        assert why.label == "Yes"


def test_ctrl_c_is_seen_while_widening():
    forest, X = hard_forest()
    explainer = tp.Explainer(forest)
    context = explainer._context
    instance = context.instance(X[0])
    cache = context.cache(instance, Stays(instance.label), None)
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        widen(cache, fix(context.cells, instance.point, range(200)), range(200))
    assert time.monotonic() - start < 5
    assert explainer.abductive(X[0], timeout=0.1).status == "sound"


def test_batches_widen_too_and_the_number_of_threads_does_not_matter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    model = RandomForestClassifier(20, max_depth=4, random_state=0).fit(X, X[:, 0] + X[:, 1] > 0)
    explainer = tp.Explainer(model)
    one = explainer.batch(X, inflate=True)
    assert one == explainer.batch(X, inflate=True, n_jobs=2) == [explainer.abductive(x, inflate=True) for x in X]
    for x, why in zip(X, one, strict=True):
        others = rng.normal(size=(500, 6)) * 3
        for f, condition in zip(why.features, why.rule, strict=True):
            low = -5 if condition.low is None else condition.low
            high = 5 if condition.high is None else condition.high
            others[:, f] = np.clip(others[:, f], low, high)
        assert set(model.predict(others)) == {why.label} == {model.predict([x])[0]}


def test_the_order_decides_and_preferred_features_come_last():
    stump = tp.split("a", 1, tp.split("b", 1, 0, 0), tp.split("b", 1, 0, 1))
    forest = tp.build_forest([stump], columns=["a", "b"], classes=[0, 1])
    explainer = tp.Explainer(forest)
    # Either of the two may be freed: the preferred one is tried last, and its condition is what is left.
    assert [str(c) for c in explainer.abductive([0, 0], prefer=["a"], inflate=True).rule] == ["a <= 1"]
    assert [str(c) for c in explainer.abductive([0, 0], prefer=["b"], inflate=True).rule] == ["b <= 1"]


def test_results_say_what_was_proved_and_serialise():
    forest = tp.build_forest(
        [tp.isin("colour", ["red", "green"], tp.split("age", 30, 0, 1), 1)],
        columns=[tp.Column("colour", ("red", "green", "blue")), "age"],
        classes=[0, 1],
    )
    explainer = tp.Explainer(forest, kinds={"age": "ordinal"})
    why = explainer.abductive(["red", 20], inflate=True)
    assert [str(condition) for condition in why.rule] == ["colour != blue", "age <= 30"]
    assert str(why).endswith("none of them can be dropped, and no condition can be widened.")
    assert why.to_dict()["rule"][0]["values"] == ("red", "green")
    assert why.to_dict()["widest"] is True
    assert "no condition can be widened" in why._repr_html_()
    assert "widened" not in str(explainer.abductive(["red", 20]))


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_coverage_counts_the_rows_that_satisfy_the_rule(seed):
    case = random_case(seed, "majority", limited=False)
    world = World(case)
    rng = np.random.default_rng(seed)
    why = case.explainer.abductive(case.row, inflate=bool(rng.random() < 0.5))
    chosen = rng.integers(0, len(world.grid), 30)
    coverage = case.explainer.coverage(why, world.rows(chosen))
    assert coverage.covered == int(world.inside(why.rule)[chosen].sum())
    assert coverage.total == 30
    assert coverage.share == coverage.covered / 30
    assert coverage == case.explainer.coverage(why.rule, world.rows(chosen))


def test_coverage_takes_text_and_sees_rows_as_the_model_does():
    forest = tp.build_forest([tp.split("a", 0.1, 0, 1)], columns=["a", "b"], classes=[0, 1])
    explainer = tp.Explainer(forest, kinds={"b": "binary"})
    why = explainer.abductive([0, 0], inflate=True)
    limit = float(np.nextafter(np.float32(0.1), np.float32(0)))  # the largest float32 that goes left
    beyond = np.nextafter(limit, 1)  # a float64 beyond it that rounds to it
    assert forest.predict([[beyond, 0]])[0] == 0
    assert explainer.coverage(why, [[beyond, 0], [0.1, 0], [-5, 1]]).covered == 2
    assert str(explainer.coverage("a <= 0.05 and b = 1", [[0, 0], [0, 1], [1, 1]])) == "1 of 3 rows (33.3%)"
    assert explainer.coverage(explainer.abductive([0, 0]), [[0, 0]]).to_dict()["share"] == 1
    with pytest.raises(tp.InputError, match=r"Row 1: .*binary"):
        explainer.coverage(why, [[0, 0], [0, 0.5]])
    with pytest.raises(tp.InputError, match="must name one of the features"):
        explainer.coverage(["c <= 1"], [[0, 0]])
    with pytest.raises(tp.InputError, match="needs a row"):
        explainer.coverage(["a"], [[0, 0]])


@pytest.mark.parametrize("vote", ["majority", "sum"])
def test_unions_force_the_label_and_no_cell_can_be_added_anywhere(vote):
    holes = 0
    for i, forest in enumerate(cell_forests(25, seed=33, vote=vote, n_columns=3)):
        rng = np.random.default_rng(i)
        if i % 3 == 0:
            forest = replace(forest, clauses=random_clauses(rng, forest))
        point = tuple(int(rng.integers(n)) for n in forest.n_cells)
        if not forest.allows(point):
            continue
        labels = Labels(forest).labels  # -1: outside the space
        label = forest.label(point)
        cache = Cache(forest, NativeOracle(forest), point, Stays(label))
        order = list(range(forest.n_features))
        kept = abductive(cache, order).features
        united = unite(cache, widen_values(cache, kept, order), [f for f in order if f in kept])
        assert united.widest

        def keeps(domains, labels=labels, label=label):
            inside = labels[np.ix_(*(sorted(domain) for domain in domains))]
            return np.isin(inside, (label, -1)).all()

        assert keeps(united.domains)
        for f in kept:
            holes += forest.ordered[f] and not isinstance(united.domains[f], range)
            for cell in set(range(forest.n_cells[f])) - set(united.domains[f]):
                assert not keeps([{cell} if g == f else domain for g, domain in enumerate(united.domains)])
    assert holes


def test_unions_are_shown_certified_and_refused_where_they_have_no_meaning():
    forest = tp.build_forest(
        [tp.split("a", 1, "yes", tp.split("a", 2, "no", "yes"))], columns=["a"], classes=["no", "yes"]
    )
    explainer = tp.Explainer(forest)
    why = explainer.abductive([0], inflate="unions")
    assert why.conditions == ("a <= 1 or a > 2",)
    assert why.widest
    why.certificate().check()
    assert explainer.abductive([0], inflate=True).conditions == ("a <= 1",)
    with pytest.raises(tp.InputError, match="inflate"):
        explainer.abductive([0], inflate="union")
    with pytest.raises(tp.InputError, match="at_most"):
        explainer.abductive([0], inflate="unions", at_most=1)


def test_limited_work_widens_most_of_it_always_alike_and_says_what_is_open():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 12)).round(2)
    y = (X[:, :6].sum(axis=1) + rng.normal(size=300) > 0).astype(int)
    model = RandomForestClassifier(20, max_depth=5, random_state=0).fit(X, y)
    explainer = tp.Explainer(model)
    wide = [explainer.abductive(row, inflate="quick") for row in X[:6]]
    for row, why in zip(X[:6], wide, strict=True):
        plain, widest = explainer.abductive(row), explainer.abductive(row, inflate="widest")
        assert why.features == plain.features == widest.features
        assert widest.widest
        assert not widest.timed_out
        assert not why.timed_out
        assert why.decided
        assert why.widest == ("no condition can be widened" in str(why))
        assert why.widest != str(why.claim).endswith("A condition may still be widened.")
        assert why.rule != plain.rule  # ranges, not the row's own cells
        assert explainer.abductive(row, inflate="quick").rule == why.rule  # what was asked before does not matter
        assert plain.widened().rule == explainer.abductive(row, inflate=True).rule
        assert ("no range can be extended" in str(why.certificate().check())) == why.widest
    assert {why.widest for why in wide} == {True, False}
    assert [why.rule for why in tp.Explainer(model).batch(X[:6], inflate="quick")] == [why.rule for why in wide]
    hurried = explainer.abductive(X[0], inflate="widest", timeout=1e-9)
    assert hurried.timed_out
    assert not hurried.decided


@pytest.mark.parametrize(("value", "rule"), [(3, "c >= 1"), (-3, "c <= 0")])
@pytest.mark.parametrize("inflate", [True, "widest"])
def test_a_range_that_ends_at_missing_values_is_not_the_widest_if_numbers_behind_them_could_join(inflate, value, rule):
    # Whole numbers are 0 or less, or 1 or more; missing values go where a half would.
    tree = split("c", 0.2, 0, split("c", 0.7, 1, 0, missing="yes"), missing="no")
    forest = build_forest([tree], columns=[Column("c", missing="expected")], classes=[0, 1])
    explainer = tp.Explainer(forest, kinds={"c": "integer"}, tabulate=False)
    found = explainer.abductive([value], inflate=inflate)
    assert [str(condition) for condition in found.rule] == [rule]
    assert not found.widest
    assert "cannot be widened" not in str(found)
    assert "extended" not in found.certificate().check().text
    united = explainer.abductive([value], inflate="unions")
    assert united.widest
    assert "extended" in united.certificate().check().text


def test_a_range_that_ends_at_missing_values_is_the_widest_if_numbers_behind_them_could_not_join():
    tree = split("c", 0.2, 1, split("c", 0.7, 1, 0, missing="yes"), missing="no")
    forest = build_forest([tree], columns=[Column("c", missing="expected")], classes=[0, 1])
    found = tp.Explainer(forest, kinds={"c": "integer"}, tabulate=False).abductive([3], inflate=True)
    assert found.widest
    assert "extended" in found.certificate().check().text
