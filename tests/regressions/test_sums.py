"""Failures that forests with sums and missing values have had."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

import treeproof as tp
from treeproof.model.build import build_forest, leaf, split
from treeproof.model.columns import Column
from treeproof.model.decision import Member, Sums
from treeproof.model.importers.assemble import Tree, assemble, split_counts
from treeproof.query.scores import integer_scores, rounding_error


def far_from_its_cuts(missing: str) -> tp.Explainer:
    trees = [split("a", 0, 1, split("a", 1, 1, 0, missing=missing), missing=missing), split("b", 0, 0, 0)]
    columns = [Column("a", missing="expected"), "b"]
    return tp.Explainer(build_forest([*trees, 1], columns=columns, classes=[0, 1]))


@pytest.mark.parametrize("norm", ["linf", "l1", "l0"])
def test_a_missing_value_may_be_closer_than_any_other_number(norm):
    # In the order of cells, missing stands behind numbers that are farther away: the search never ended.
    explainer = far_from_its_cuts("yes")
    assert explainer.forest.predict([[1000, 0], [math.nan, 0], [1, 0]]).tolist() == [0, 1, 1]
    result = explainer.robustness([1000, 0], norm)
    assert (result.status, result.nearest_exact) == ("exact", 1)
    if norm != "l0":
        assert math.isnan(result.witness[0])
    change = explainer.contrastive([1000, 0])
    assert (change.distance, change.closest, str(change.changes[0])) == (1.0, True, "a: 1000 -> missing")


def test_a_rule_that_allows_missing_values_can_be_reviewed_and_counted():
    explainer = far_from_its_cuts("yes")
    why = explainer.abductive([math.nan, 0], inflate=True)
    assert [str(condition) for condition in why.rule] == ["a <= 1 or missing"]
    assert explainer.review([0, 0], why).holds
    assert explainer.coverage(why, [[0, 0], [math.nan, 0], [2, 0]]).covered == 2
    assert explainer.most_general([0, 0], [[0, 0], [math.nan, 0], [2, 0]]).coverage.covered == 2


def test_a_missing_value_is_none_in_json():
    why = far_from_its_cuts("yes").abductive([math.nan, 0])
    assert json.loads(json.dumps(why.to_dict(), allow_nan=False))["instance"] == [None, 0.0]


@pytest.mark.parametrize(("start", "divisor", "softmax"), [(0.0, 1.0, True), (0.0, 2.0**40, False)])
def test_tiny_values_leave_a_band_that_fits_its_type(start, divisor, softmax):
    tiny = float(np.float32(1e-45))
    forest = build_forest(
        [split("a", 0, leaf([tiny, 0.0]), leaf([0.0, tiny]))],
        columns=["a"],
        classes=[0, 1],
        vote="sum",
        sums=Sums((start, start), "float32", divisor=divisor, softmax=softmax),
    )
    assert integer_scores(forest).band < 2**63
    assert tp.Explainer(forest).abductive([1]).label == forest.predict([[1]])[0]


def test_a_cut_between_two_float32_numbers_is_not_rounded():
    value = np.float32(0.7) / np.float32(3)
    for cut in (math.nextafter(float(value), 1), float(value), math.nextafter(float(value), 0)):
        forest = build_forest(
            [split("a", 0, leaf([float(np.float32(0.7))]), leaf([5.0]))],
            columns=["a"],
            classes=["below", "reached"],
            vote="sum",
            sums=Sums((0.0,), "float32", divisor=3.0, cuts=(cut,)),
        )
        assert forest.predict([[0]])[0] == ("reached" if float(value) >= cut else "below")
        change = tp.Explainer(forest).contrastive([0])
        assert (change.witness is None) == (float(value) >= cut)


def test_sums_beyond_the_largest_number_are_infinite_without_a_warning():
    forest = build_forest(
        [split("a", 0, leaf([1.7e308, 0.0]), leaf([0.0, 1.0]))] * 2,
        columns=["a"],
        classes=[0, 1],
        vote="sum",
        sums=Sums((0.0, 0.0)),
    )
    assert forest.predict([[0], [1]]).tolist() == [0, 1]
    assert tp.Explainer(forest).abductive([0]).features == (0,)


@pytest.mark.parametrize("divisor", [0.0, 1e-60, 1e60, math.nan, -1.0])
def test_a_divisor_that_is_no_number_of_the_sums_is_refused(divisor):
    with pytest.raises(tp.ForestFormatError, match="'divisor' must be a positive float32 number"):
        build_forest(
            [leaf([1.0, 0.0])],
            columns=["a"],
            classes=[0, 1],
            vote="sum",
            sums=Sums((0.0, 0.0), "float32", divisor=divisor),
        )


def test_bounds_beyond_all_numbers_are_refused():
    forest = build_forest([split("a", 0, 0, 1)], columns=["a"], classes=[0, 1])
    with pytest.raises(tp.InputError, match="bounds of 'a' must be two numbers"):
        tp.Explainer(forest, bounds={"a": (0, 10**400)})


def test_a_softmax_of_divided_sums_has_ties_far_from_each_other():
    # The rounding of the softmax was reckoned before the division: label 1 was proved for every input.
    forest = build_forest(
        [split("a", 0, leaf([0.0, 4.0]), leaf([0.0, 0.125]))],
        columns=["a"],
        classes=[0, 1],
        vote="sum",
        sums=Sums((0.0, 0.0), "float32", divisor=1e7, softmax=True),
    )
    assert forest.predict([[0], [1]]).tolist() == [1, 0]
    for tabulate in (False, True):
        assert tp.Explainer(forest, tabulate=tabulate).abductive([0]).features == (0,)


def test_a_sum_that_overflows_reaches_any_cut():
    # Exact sums are negative, but float32 is infinite after two terms and stays so: "low" was proved for every input.
    big = float(np.float32(3e38))
    terms = [leaf([big]), split("a", 0, leaf([big]), leaf([0.0])), leaf([-big]), leaf([-big]), leaf([-big])]
    sums = Sums((0.0,), "float32", cuts=(1e40,))
    forest = build_forest(terms, columns=["a"], classes=["low", "high"], vote="sum", sums=sums)
    assert forest.predict([[0], [1]]).tolist() == ["high", "low"]
    for tabulate in (False, True):
        assert tp.Explainer(forest, tabulate=tabulate).abductive([1]).features == (0,)


def test_trees_of_one_class_each_round_no_more_than_their_own_number_allows():
    """In boosting a tree adds to one sum; zeros are added without rounding, and the band counts on that."""
    met = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n_classes, rounds = 4, 25
        values = np.float32(rng.choice([0.1, 0.3, 0.7, -0.2, 1e-7], (rounds, n_classes)) * rng.random(n_classes))
        values[:, 1] = rng.permutation(values[:, 0])  # the same numbers in another order: sums that differ by rounding
        trees = [leaf((np.eye(n_classes)[k] * float(values[i, k])).tolist()) for i in range(rounds) for k in range(4)]
        sums = Sums((0.0,) * n_classes, "float32")
        forest = build_forest(trees, columns=["a"], classes=list(range(n_classes)), vote="sum", sums=sums)
        found = integer_scores(forest)
        totals, exact = found.scores.sum(axis=0), [sum(map(Fraction, values[:, k].tolist())) for k in range(n_classes)]
        label = int(forest.predict_index([[0.0]])[0])
        size = max(sum(Fraction(float(abs(value))) for value in values[:, k]) for k in range(n_classes))
        assert rounding_error(forest) == 4 * (rounds + 1) * size / 2**24 + Fraction(4, 2**149)
        for k in range(n_classes):
            for c in range(n_classes):
                lead = int(totals[k] - totals[c])
                if k != c and lead >= found.theta[k, c] + found.band:
                    assert label != c
                    assert exact[k] > exact[c]
        met += int(abs(int(totals[0] - totals[1])) < found.band)
        explainer = tp.Explainer(forest, tabulate=False)
        assert explainer.abductive([0.0]).features == ()
        assert explainer.abductive([0.0]).label == label
    assert met == 40, "equal numbers in another order must lie inside the band"


@pytest.mark.parametrize("oracle", ["native", "smt"])
def test_a_near_tie_of_the_row_itself_is_counted_where_no_feature_can_be_dropped(oracle):
    if oracle == "smt":
        pytest.importorskip("z3")
    trees = [leaf([0.1, 0.3]), leaf([0.2, 0]), split("x", 1, [0.5, 0.5], [0.4, 0.6])]
    forest = build_forest(trees, columns=["x"], classes=["a", "b"], vote="mean")
    why = tp.Explainer(forest, oracle=oracle).abductive([0])
    assert why.features == (0,)
    assert why.stats.near_ties == 1


def test_each_feature_is_asked_about_once():
    trees = [leaf([0.1, 0.3]), leaf([0.2, 0]), split("x", 1, split("y", 0, [0.5, 0.5], [0.4, 0.6]), [0.4, 0.6])]
    forest = build_forest(
        [*trees, split("z", 0, [0.5, 0.5], [0.3, 0.2])], columns=list("xyz"), classes=["a", "b"], vote="mean"
    )
    why = tp.Explainer(forest, tabulate=False).abductive([0, 0, 0])
    assert len(why.features) < 3
    assert why.stats.entailed + why.stats.refuted + why.stats.remembered == 3


def test_the_effect_where_sums_of_the_least_leaves_overflow():
    # The floor of the score is then minus infinity, of which there is no fraction, though its ceiling is finite.
    trees = [split(name, 0.5, leaf([-1.7e308]), leaf([1.0])) for name in ("a", "b")]
    sums = Sums((0.0,), "float64", cuts=())
    forest = build_forest(trees, columns=["a", "b"], classes=["any"], vote="sum", sums=sums)
    found = tp.Explainer(forest).effect(["a"])
    assert found.value <= found.bound
    assert found.bound >= 1.7e308
    assert "Proved: by no more than" in str(found)


@pytest.mark.parametrize(
    ("weight", "start", "high", "low"), [(0.67, 0.25, 1.5 + 2.0**-52, 1.5), (2.0**-10, 2.0**-1065, 2.0**-1074, 0.0)]
)
def test_leaves_that_a_weight_makes_equal_may_still_fall(weight, start, high, low):
    # What a leaf adds is its value times the weight of its member. Two values whose products are rounded to one number
    # were taken for equal, so that the score never falls at all; but the member's own sum is rounded after the product.
    sums = Sums((0.0,), members=(Member(0, 1, (start,), weight=weight),), cuts=(1.0,))
    tree = split("a", 0, leaf([high]), leaf([low]))
    forest = build_forest([tree], columns=["a"], classes=["low", "high"], vote="sum", sums=sums)
    falls = (start + high) * weight - (start + low) * weight
    assert high * weight == low * weight
    assert falls > 0
    result = tp.Explainer(forest).monotone("a")
    assert result.holds
    assert result.rounding >= falls
    if low == 0:  # the checker would make them equal, too
        with pytest.raises(tp.UnsupportedQueryError, match="too small to be rounded"):
            result.certificate()
    else:
        assert "never falls by" in str(result.certificate().check())


@pytest.mark.parametrize("outlier", [4.5e14, 1e17, -1e15])
def test_a_huge_leaf_does_not_hide_what_all_others_are_worth(outlier):
    """Beside it, scores of 64 bits left a few bits for usual leaves, and no bound came below the rounding of these.

    Models of gradient boosting have such leaves. Of a thousand trees with one, no explanation was minimal in time. Work
    is counted, so that this depends on no clock.
    """
    rng = np.random.default_rng(0)
    trees = []
    for _ in range(300):
        features, cuts, values = rng.integers(10, size=3), rng.random(3), rng.normal(0, 0.1, 4)
        trees.append(
            Tree(
                feature=[*features, -1, -1, -1, -1],
                threshold=[*cuts, *[np.nan] * 4],
                left=[1, 3, 5, -1, -1, -1, -1],
                right=[2, 4, 6, -1, -1, -1, -1],
                values=[0.0, 0.0, 0.0, *values],
                adds_to=0,
            )
        )
    trees.append(Tree([0, -1, -1], [1e-6, np.nan, np.nan], [1, -1, -1], [2, -1, -1], [0.0, outlier, 0.05], adds_to=0))
    forest = assemble(
        trees,
        classes=["no", "yes"],
        columns=[Column(f"f{i}") for i in range(10)],
        importances=split_counts(trees, 10),
        vote="sum",
        dtype="float64",
        sums=Sums((0.0,), cuts=(0.0,)),
    )
    explainer = tp.Explainer(forest)
    for row in np.random.default_rng(1).random((6, 10)):
        why = explainer.abductive(row)
        assert why.status == "minimal"
        assert why.stats.work < 1_000_000, "it was 19 million for one of the rows"
        others = rng.random((400, 10))
        others[:100, 0] = 0  # the side of the huge leaf
        kept = list(why.features)
        others[:, kept] = row[kept]
        assert set(forest.predict(others)) == set(forest.predict([row]))


@pytest.mark.parametrize("start", [3e14, -3e14, 4e15])
def test_a_huge_start_does_not_hide_what_it_must_reach(start):
    """What sums start from and what they must reach were cut off one by one, so that their difference was lost."""
    trees = [
        Tree([k, -1, -1], [0.5, np.nan, np.nan], [1, -1, -1], [2, -1, -1], [0.0, -2.0, 2.0], adds_to=0)
        for k in range(4)
    ]
    forest = assemble(
        trees,
        classes=["low", "high"],
        columns=[Column(f"f{k}") for k in range(4)],
        importances=split_counts(trees, 4),
        vote="sum",
        dtype="float64",
        sums=Sums((start,), cuts=(start + 5,)),
    )
    explainer, slow = tp.Explainer(forest, oracle="native", tabulate=False), tp.Explainer(forest, oracle="brute")
    for row in [[1, 1, 1, 1], [0, 0, 0, 0], [1, 1, 1, 0], [1, 0, 1, 0]]:
        assert explainer.abductive(row).features == slow.abductive(row).features
