"""What once was done in full before anybody looked at the deadline."""

from __future__ import annotations

import time

import numpy as np
import pytest

import treeproof as tp
from treeproof.model.decision import Sums
from treeproof.query.cache import Cache
from treeproof.query.gains import largest_gains
from treeproof.query.oracle import Alteration, Refuted
from treeproof.query.tally import Tally
from treeproof.questions import most_general as most_general_module
from treeproof.questions import moves as moves_module
from treeproof.questions import rules as rules_module
from treeproof.questions.moves import Moves

COLUMNS = ["a", "b"]


@pytest.fixture
def explainer():
    trees = [tp.split(name, float(i), "no", "yes") for i in range(40) for name in COLUMNS]
    return tp.Explainer(tp.build_forest(trees, columns=COLUMNS, classes=["no", "yes"]), tabulate=False)


@pytest.fixture
def late(monkeypatch):
    """Let every deadline pass when the first distance of a cell is asked for, after the questions before it."""

    def raises(self, features, *, stay, deadline=None):
        if deadline is not None:
            raise TimeoutError
        return known(self, features, stay=stay)

    known = Moves.costs
    monkeypatch.setattr(Moves, "costs", raises)


@pytest.mark.parametrize("norm", ["linf", "l1"])
def test_robustness_without_all_distances_has_true_bounds(explainer, late, monkeypatch, norm):
    row = [3.5, 3.5]
    found = explainer.robustness(row, norm=norm, timeout=60)
    assert found.status == "bounds"
    assert explainer.forest.predict([found.witness])[0] == found.witness_label != found.label
    monkeypatch.undo()
    exact = explainer.robustness(row, norm=norm)
    assert exact.status == "exact"
    assert 0 < found.proved_exact <= exact.nearest_exact <= found.nearest_exact


def test_a_change_without_all_distances_is_not_called_closest(explainer, late, monkeypatch):
    found = explainer.contrastive([3.5, 3.5], timeout=60)
    assert not found.closest
    monkeypatch.undo()
    assert explainer.contrastive([3.5, 3.5]).distance <= found.distance


def test_distances_are_not_computed_after_the_deadline(explainer, monkeypatch):
    asked = []
    known = Moves._units
    monkeypatch.setattr(Moves, "_units", lambda self, f: asked.append(f) or known(self, f))
    made = moves_module.make_moves(explainer._context, explainer._context.instance([3.5, 3.5]))
    with pytest.raises(TimeoutError):
        made.costs(range(2), stay=True, deadline=0.0)
    assert asked == []


@pytest.mark.parametrize("row", [[3.5, 3.5], [-1.0, 50.0], [39.5, 0.5]])
@pytest.mark.parametrize("norm", ["linf", "l1", "l0"])
def test_the_cells_beside_the_row_have_the_least_distance(explainer, row, norm):
    late = explainer.robustness(row, norm=norm, timeout=0)
    exact = explainer.robustness(row, norm=norm)
    assert 0 < late.proved_exact <= exact.nearest_exact


def test_the_most_general_rule_is_no_worse_than_the_widened_reason_however_long_rows_take(explainer, monkeypatch):
    def slow(context, X):
        time.sleep(0.6)
        return located(context, X)

    located = most_general_module.locate_rows
    monkeypatch.setattr(most_general_module, "locate_rows", slow)
    rows = [[i, i] for i in range(40)]
    wide = explainer.coverage(explainer.abductive([30, 30], inflate=True), rows)
    assert explainer.most_general([30, 30], rows, timeout=0.5).coverage.covered >= wide.covered > 1


def test_few_features_without_all_distances_reach_what_is_beside_the_row(explainer, late, monkeypatch):
    row = [3.5, 3.5]
    found = explainer.abductive(row, at_most=1, timeout=60)
    (step,) = explainer.profile(row, timeout=60).steps
    monkeypatch.undo()
    assert found.furthest is None
    assert found.features == step.features == ()
    assert 0 < found.within == step.within <= explainer.robustness(row).proved_exact
    assert found.certificate().check().around


def test_after_the_deadline_no_rows_are_searched(explainer, monkeypatch):
    monkeypatch.setattr(most_general_module, "most_general", lambda *_: pytest.fail("searched"))
    rows = [[float(i), float(i)] for i in range(40)]
    found = explainer.most_general([30, 30], rows, timeout=0)
    assert found.status == "sound"
    assert found.coverage.covered <= found.bound == sum(explainer.forest.predict(rows) == found.label)


@pytest.mark.parametrize("format", ["dimacs", "smtlib"])
def test_a_formula_is_whole_or_not_there(explainer, format):
    with pytest.raises(tp.UnsupportedQueryError, match="Timed out before the formula was complete"):
        explainer.encode([3.5, 3.5], format=format, timeout=0)
    assert explainer.encode([3.5, 3.5], format=format, timeout=60) == explainer.encode([3.5, 3.5], format=format)


def test_the_formula_of_the_first_question_is_not_finished_after_the_deadline(explainer):
    late = tp.Explainer(explainer.forest, oracle="sat").abductive([3.5, 3.5], timeout=0)
    assert late.status == "sound"
    assert late.features == (0, 1)


@pytest.mark.parametrize("deadline", [None, 0.0])
def test_of_a_witness_that_differs_in_many_features_most_are_put_back_even_after_the_deadline(deadline):
    # To show thousands of changed values took longer than to find out that they need not change.
    columns = [f"x{j}" for j in range(300)]
    weights = {"x7": 1.0, "x250": 1.0, "x251": 1.0}  # two of these decide
    trees = [tp.split(name, 0.5, tp.leaf([0.0]), tp.leaf([weights.get(name, 0.0)])) for name in columns]
    sums = Sums((0.0,), cuts=(1.5,))
    forest = tp.build_forest(trees, columns=columns, classes=["no", "yes"], vote="sum", sums=sums)
    context = tp.Explainer(forest, tabulate=False)._context
    instance = context.locate(np.zeros(300, dtype=np.float32))
    far = tuple(feature.n_cells - 1 for feature in context.space.features)
    point, label = context.nearer(instance, Refuted(far, 1), deadline)
    assert [f for f, cell in enumerate(point) if cell != instance.point[f]] == [250, 251]
    assert label == context.cells.label(point) == 1


@pytest.mark.parametrize("target", [None, "yes"])
def test_of_a_change_that_the_deadline_cut_short_few_features_are_left(monkeypatch, target):
    # The witness had moved nearly all of them: the change was useless, and took long to show.
    columns = [f"x{j}" for j in range(300)]
    weights = {"x7": 1.0, "x250": 1.0, "x251": 1.0}  # two of these decide
    trees = [tp.split(name, 0.5, tp.leaf([0.0]), tp.leaf([weights.get(name, 0.0)])) for name in columns]
    sums = Sums((0.0,), cuts=(1.5,))
    forest = tp.build_forest(trees, columns=columns, classes=["no", "yes"], vote="sum", sums=sums)
    explainer = tp.Explainer(forest, tabulate=False)
    context = explainer._context
    far = Refuted(tuple(feature.n_cells - 1 for feature in context.space.features), 1)
    monkeypatch.setattr(Cache, "ask", lambda self, fixed: far)
    monkeypatch.setattr(context.oracle, "alter", lambda *args: Alteration(frozenset(range(300)), far, False, Tally()))
    found = explainer.contrastive([0.0] * 300, target=target, distance=None, timeout=0)
    assert found.status == "sound"
    assert found.features == (250, 251)
    assert forest.predict([found.witness])[0] == found.witness_label == "yes"


def test_an_order_for_the_row_that_the_deadline_cut_short_is_by_importance(explainer):
    # All nodes were looked at, however late it was.
    context, row = explainer._context, [3.5, 3.5]
    instance = context.instance(row)
    with pytest.raises(TimeoutError):
        largest_gains(context.cells, instance.point, instance.label, deadline=0.0)
    assert context.order("row", [], instance, deadline=0.0) == context.order("importance", [])
    assert context.order("row", ["a"], instance, deadline=0.0) == context.order("importance", ["a"])
    late = explainer.abductive(row, order="row", timeout=0)
    assert late.status == "sound"
    assert explainer.holds(row, late.features)
    assert explainer.contrastives(row, order="row", timeout=0).status == "sound"
    assert explainer.abductive(row, order="row", at_most=1, timeout=0).certificate().check().around


def test_after_the_deadline_no_rules_are_searched(explainer, monkeypatch):
    monkeypatch.setattr(rules_module, "cover", lambda *_, **__: pytest.fail("searched"))
    found = explainer.rules([[30.5, 30.5], [3.5, 3.5]], timeout=0)
    assert found.status == "sound"
    assert found.rules == ()
    assert found.uncovered == (0, 1)
    assert [(label, each.covered, each.total) for label, each in found.by_label] == [("no", 0, 1), ("yes", 0, 1)]
    assert "Timed out" in str(found)


def test_the_rule_of_most_rows_leaves_time_to_read_the_rows(explainer, monkeypatch):
    # It was widened until the deadline, so that rows were always read after it.
    deadlines = []
    known = most_general_module.widen_values
    monkeypatch.setattr(
        most_general_module,
        "widen_values",
        lambda cache, *rest: deadlines.append(cache.deadline) or known(cache, *rest),
    )
    start = time.monotonic()
    found = explainer.most_general([30, 30], [[i, i] for i in range(40)], timeout=60)
    assert found.status == "optimal"
    assert start + 25 < deadlines[0] < start + 35


@pytest.mark.parametrize("timeout", [0, None])
def test_what_is_not_widened_in_time_stays_as_it_is(explainer, timeout):
    found = explainer.abductive([30, 30], inflate=True, timeout=timeout)
    assert found.widest is (timeout is None)
    assert ("no range can be extended" in found.certificate().check().text) is found.widest


@pytest.mark.parametrize(("value", "certain"), [(2.0, True), (1.0, False)])
def test_a_point_that_rounding_may_have_decided_is_told(value, certain):
    trees = [tp.split("a", 0.5, tp.leaf([0.1]), tp.leaf([value])), tp.split("b", 0.5, tp.leaf([0.1]), tp.leaf([0.3]))]
    sums = Sums((0.0,), cuts=(1.3,))
    forest = tp.build_forest(trees, columns=COLUMNS, classes=["no", "yes"], vote="sum", sums=sums)
    context = tp.Explainer(forest)._context
    point = context.space.cells(np.array([1.0, 1.0], dtype=np.float32))
    assert context.cells.band > 0
    assert context.cells.may_tie(point, context.cells.label(point)) is not certain


def test_a_search_ends_before_the_deadline_by_what_its_answer_takes(explainer):
    context = explainer._context
    assert context.deadline(None) is None
    now = time.monotonic()
    few, many = (context.deadline(10, n_rows) - now for n_rows in (0, 10**6))
    assert 9.9 < few < 10.1
    assert many == pytest.approx(few - 10**6 * context.space.n_features * 1e-7, abs=0.05)
    assert context.deadline(10, 10**12) - now == pytest.approx(5, abs=0.05)  # half of the time is for the search
    with pytest.raises(tp.InputError, match="timeout"):
        context.deadline(-1)
