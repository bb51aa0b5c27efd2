"""Members: sums that are rounded on their own. What is refused, kept in files, and proved by certificates."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import treeproof as tp
from treeproof.model.build import leaf, split
from treeproof.model.decision import Member, Sums
from treeproof.model.files import forest_from_json, forest_to_json
from treeproof.model.linear import linear

TENTHS = (0.1, 0.2, 0.7)


def voting(*members, values=TENTHS, n_trees=4, start=(0.0, 0.0), **options):
    """Trees of one split each, of columns of their own."""
    trees = [
        split(f"c{t}", 0, leaf([values[t % 3], values[1]]), leaf([values[2], values[(t + 1) % 3]]))
        for t in range(n_trees)
    ]
    sums = Sums(start, members=members, **options)
    names = [f"c{t}" for t in range(n_trees)]
    return tp.build_forest(trees, columns=names, classes=["a", "b"], vote="sum", sums=sums)


def member(first, last, divisor=3.0, weight=0.3, start=(0.0, 0.0), dtype="float64"):
    return Member(first, last, start, divisor, weight, dtype)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([member(0, 5)], "must have trees from 0 to 4"),
        ([member(2, 2)], "must have trees from 0 to 4"),
        ([member(0, 3), member(2, 4)], "in the order of their trees"),
        ([member(2, 4), member(0, 2)], "in the order of their trees"),
        ([member(0, 4), member(1, 2)], "in the order of their trees"),
        ([member(0, 2, divisor=0.0)], "'divisor' of a member"),
        ([member(0, 2, weight=-1.0)], "'weight' of a member"),
        ([member(0, 2, weight=float("inf"))], "'weight' of a member"),
        ([member(0, 2, start=(0.0,))], "'start' of a member"),
        ([member(0, 2, start=(0.1, 0.0), weight=1.0, dtype="float32")], "exact float32"),
        ([member(0, 2, weight=1.0, dtype="float32")], "exact float32"),
        ([member(0, 2, dtype="float16")], "'dtype' of a member"),
        ([member(0, 2, weight=1e300, divisor=1e-300)], "extreme"),
        ([member(0, 2, divisor=1.0, weight=1.0, start=(1e308, 0.0))], "may overflow"),
    ],
)
def test_what_members_must_be(members, message):
    with pytest.raises(tp.ForestFormatError, match=message):
        voting(*members)


def test_members_of_float32_take_no_finer_parts():
    inner, outer = member(0, 1, 1.0, 1.0), member(0, 2, 1.0, 1.0, dtype="float32")
    with pytest.raises(tp.ForestFormatError, match="must not have members that add in float64"):
        voting(inner, outer, values=(0.5, 0.25, 0.75))
    with pytest.raises(tp.ForestFormatError, match="must not be combined with 'softmax'"):
        voting(member(0, 2), softmax=True)


def test_exact_sums_and_how_far_the_models_own_are_from_them():
    forest = voting(member(0, 1, 1.0, 0.1), member(0, 3, start=(0.1, 0.0)), start=(0.0, 0.2), divisor=1.7)
    exact = linear(forest)
    factor = Fraction(0.3) / 3
    assert exact.start == (Fraction(0.1) * factor, Fraction(0.2))
    leaves = forest.apply(np.zeros((1, 4)))[0]
    factors = [Fraction(0.1) * factor, factor, factor, Fraction(1)]
    values = forest.values[leaves].tolist()
    true = [exact.start[k] + sum(f * Fraction(v[k]) for f, v in zip(factors, values, strict=True)) for k in (0, 1)]
    used = [exact.start[k] + sum(Fraction(v) for v in exact.values[leaves, k].tolist()) for k in (0, 1)]
    own = replace(forest, sums=replace(forest.sums, divisor=1.0)).add(leaves[None])[0].tolist()
    for k in (0, 1):
        assert abs(Fraction(own[k]) - used[k]) <= exact.error
        assert abs(true[k] - used[k]) <= exact.error
        assert abs(used[k]) <= exact.largest
    assert 0 < exact.error < Fraction(1, 2**44)


def test_a_file_keeps_members_and_refuses_damaged_ones():
    forest = voting(member(0, 2), member(2, 3, dtype="float64"), member(2, 4, 1.0, 0.7, start=(0.1, 0.0)))
    text = forest_to_json(forest)
    assert forest_from_json(text) == forest
    assert forest != voting(member(0, 2))
    for key, wrong in (("trees", [0]), ("trees", [0, "2"]), ("weight", 0.3), ("start", None), ("more", 1)):
        document = json.loads(text)
        document["sums"]["members"][0][key] = wrong
        with pytest.raises(tp.ForestFormatError):
            forest_from_json(json.dumps(document))


def test_certificates_of_members_are_checked_with_their_rounding():
    forest = voting(member(0, 1, 1.0, 0.1), member(0, 2), member(2, 4, 2.0, 0.7, start=(0.1, 0.0)), divisor=1.7)
    explainer = tp.Explainer(forest)
    text = forest_to_json(forest)
    for row in np.ndindex(2, 2, 2, 2):
        why = explainer.abductive(list(row), inflate=True)
        certificate = why.certificate()
        assert tp.check(certificate, forest)
        if len(why.features) > 1:
            weaker = json.loads(certificate.to_json())
            dropped = next(iter(weaker["box"]))
            weaker["box"].pop(dropped)
            weaker["witnesses"].pop(dropped)
            weaker["wider"] = None
            with pytest.raises(tp.CheckError):
                tp.check(weaker, forest)
    for key, wrong in (
        ("weight", (-1.0).hex()),
        ("weight", "inf"),
        ("divisor", (0.0).hex()),
        ("divisor", (5e-324).hex()),
        ("trees", [0, 3]),
        ("trees", [0, 0]),
        ("trees", [1, 1]),
        ("trees", [0, 5]),
        ("numbers", "float16"),
        ("start", []),
        ("more", 1),
    ):
        document = json.loads(text)
        document["sums"]["members"][1][key] = wrong
        altered = json.dumps(document, separators=(",", ":"))
        with pytest.raises(tp.CheckError, match=r"[Mm]ember|overflow|damaged"):
            tp.checker.Model(altered)


def test_how_far_the_checker_takes_sums_of_parts_to_be_off():
    """By the formula of its comment: two parts of a tree each, one of them divided and multiplied, then added."""
    model = tp.checker.Model(forest_to_json(voting(member(0, 1, 1.0, 1.0), member(1, 2, 3.0, 0.3), n_trees=2)))
    u, tiny, size, factor = Fraction(1, 2**53), Fraction(1, 2**1074), Fraction(0.7), Fraction(0.3)
    divided = (2 * u * size + u * (size + 2 * u * size)) / 3 + tiny
    weighted = (divided + u * (size / 3 + divided)) * factor + tiny
    whole, off = size + size / 3 * factor, 2 * u * size + weighted
    assert model._bound_sum(0, model.whole_sum) == (whole, off + 2 * 2 * u * (whole + off), True)


@pytest.mark.parametrize(
    ("key", "wrong"), [("divisor", 0.0), ("divisor", -1.0), ("weight", -1.0), ("weight", math.inf)]
)
def test_the_checker_names_a_factor_that_is_none(key, wrong):
    document = json.loads(forest_to_json(voting(member(0, 2, 1.0, 0.5))))
    document["sums"]["members"][0][key] = wrong.hex()
    with pytest.raises(tp.CheckError, match="A member must have finite numbers of its own"):
        tp.checker.Model(json.dumps(document))
    document["sums"]["members"][0] |= {"divisor": "0x1p+0", "weight": (0.1).hex(), "numbers": "float32"}
    with pytest.raises(tp.CheckError, match="A member must have finite numbers of its own"):
        tp.checker.Model(json.dumps(document))
    document["sums"]["members"][0] |= {"divisor": "0x1p+0", "weight": "0x0p+0"}
    assert tp.checker.Model(json.dumps(document)).label([0.0] * 4) in (0, 1)


@pytest.mark.parametrize(
    ("value", "divisor", "weight"),
    [
        (1e308, 1.0, 2.0**-600),  # the sum of the part overflows, though what it adds is small
        (1e200, 2.0**-600, 2.0**-600),  # its division does
        (1e200, 2.0**-300, 2.0**400),  # its multiplication
    ],
)
def test_the_checker_refuses_parts_that_may_overflow(value, divisor, weight):
    document = json.loads(forest_to_json(voting(member(0, 2, 1.0, 0.5))))
    (part,) = document["sums"]["members"]
    part |= {"divisor": divisor.hex(), "weight": weight.hex()}
    assert tp.checker.Model(json.dumps(document)).error > 0
    document["values"] = [[value.hex()] * 2 for _ in document["values"]]
    with pytest.raises(tp.CheckError, match="The sums of members may overflow"):
        tp.checker.Model(json.dumps(document))


@pytest.mark.parametrize(
    ("parts", "refused"),
    [
        ([(0, 1, "float32"), (1, 2, "float64"), (0, 3, "float64")], False),
        ([(0, 1, "float32"), (2, 3, "float32"), (2, 4, "float32")], False),
        ([(0, 1, "float32"), (1, 3, "float32"), (0, 3, "float32")], False),  # both ends are those of the whole
        ([(0, 1, "float64"), (1, 2, "float32"), (0, 3, "float32")], True),  # the first part is finer than the whole
        ([(0, 1, "float32"), (1, 2, "float64"), (0, 3, "float32")], True),
        ([(0, 1, "float32"), (1, 4, "float32"), (0, 3, "float64")], True),  # it reaches beyond
        ([(0, 2, "float32"), (1, 4, "float32")], True),
        ([(2, 3, "float32"), (1, 1, "float32")], True),
        ([(0, 1, "float32"), (1, 3, "float32"), (2, 4, "float32")], True),
    ],
)
def test_the_checker_takes_nested_parts_only(parts, refused):
    document = json.loads(forest_to_json(voting(member(0, 1, 2.0, 0.5))))
    (given,) = document["sums"]["members"]
    document["sums"]["members"] = [{**given, "trees": [a, b], "numbers": numbers} for a, b, numbers in parts]
    text = json.dumps(document, separators=(",", ":"))
    if refused:
        with pytest.raises(tp.CheckError, match="Members must be parts of each other, or apart"):
            tp.checker.Model(text)
    else:
        assert tp.checker.Model(text).label([0.0] * 4) in (0, 1)


def test_a_part_that_adds_nothing_is_not_rounded():
    document = json.loads(forest_to_json(voting(member(0, 2, 1.0, 1.0))))
    end = document["roots"][2]  # of the trees of the part
    document["values"] = [[(0.0).hex()] * 2] * end + document["values"][end:]
    part = tp.checker.Model(json.dumps(document)).error
    document["sums"]["members"] = []
    assert part == tp.checker.Model(json.dumps(document)).error > 0
