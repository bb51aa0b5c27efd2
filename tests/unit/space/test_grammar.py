"""Conditions as people write them: every form, awkward names, exact bounds, clear refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treeproof as tp
from treeproof.space.grammar import Bounds, Choice, Quoted, intersect, parse_condition, parse_conditions, rounded

NAMES = ["age", "petal length (cm)", "petal length", "a <= b", "a", "x in {1}", "food and drink", "colour"]


@pytest.mark.parametrize(
    ("text", "name", "bounds"),
    [
        ("age <= 30", "age", (None, False, 30.0, False)),
        ("age<30", "age", (None, False, 30.0, True)),
        ("  age >= -1.5e3 ", "age", (-1500.0, False, None, False)),
        ("1 < age <= 30", "age", (1.0, True, 30.0, False)),
        ("30 > age >= 1", "age", (1.0, False, 30.0, True)),
        ("0.5 >= age", "age", (None, False, 0.5, False)),
        ("age ≤ .5", "age", (None, False, 0.5, False)),
        ("petal length (cm) <= 2.4", "petal length (cm)", (None, False, 2.4, False)),
        ("petal length <= 2.4", "petal length", (None, False, 2.4, False)),
        ("a <= b <= 3", "a <= b", (None, False, 3.0, False)),
        ("a <= 3", "a", (None, False, 3.0, False)),
        ("2 < x in {1} <= 3", "x in {1}", (2.0, True, 3.0, False)),
        ("`a` > 3", "a", (3.0, True, None, False)),
        ("food and drink > 3", "food and drink", (3.0, True, None, False)),
        ("age < inf", "age", (None, False, math.inf, True)),
        ("age is any value", "age", (None, False, None, False)),
    ],
)
def test_bounds(text, name, bounds):
    assert parse_condition(text, NAMES) == Bounds(NAMES.index(name), *bounds)


@pytest.mark.parametrize(
    ("text", "values", "negated"),
    [
        ("colour = red", ("red",), False),
        ("colour == dark red", ("dark red",), False),
        ("colour != red", ("red",), True),
        ("colour ≠ red", ("red",), True),
        ("colour in {red, blue}", ("red", "blue"), False),
        ("colour NOT IN {red,blue}", ("red", "blue"), True),
        ("colour ∈ {red}", ("red",), False),
        ("colour ∉ {red}", ("red",), True),
        ("colour in {'a, b', \"c and d\", Xi'an}", ("a, b", "c and d", "Xi'an"), False),
        ("colour = 'red'", ("red",), False),
        ("colour = a, b", ("a, b",), False),
        ("colour = Xi'an", ("Xi'an",), False),
        ("colour = ''", ("",), False),
        ("colour = <5", ("<5",), False),
        ("colour = age", ("age",), False),
    ],
)
def test_choices(text, values, negated):
    assert parse_condition(text, NAMES) == Choice(NAMES.index("colour"), values, negated)


@pytest.mark.parametrize(
    "text",
    [
        *("", "age", "age <=", "<= 3", "3 < age > 1", "age in {}", "age in {1,}", "age in 1", "age <= red"),
        *("agein {1}", "size <= 3", "age <= 1_0", "age <= nan", "age =", "1 < age = 3", "x age <= 3"),
    ],
)
def test_what_is_no_condition_is_refused_with_an_example(text):
    with pytest.raises(tp.InputError, match="A condition must"):
        parse_condition(text, NAMES)


def test_ambiguous_text_is_refused_and_backticks_resolve_it():
    names = ["1", "22"]
    with pytest.raises(tp.InputError, match="not be ambiguous"):
        parse_condition("1 < 22", names)
    with pytest.raises(tp.InputError, match="not be ambiguous"):
        parse_condition("1 < 1", names)
    assert parse_condition("`1` < 22", names) == Bounds(0, high=22.0, high_strict=True)
    assert parse_condition("1 < `22`", names) == Bounds(1, low=1.0, low_strict=True)
    assert parse_condition("1 < 3", names) == Bounds(0, high=3.0, high_strict=True)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("age <= 3", ["age <= 3"]),
        ("1 < age <= 30 and colour = red AND a > 2", ["1 < age <= 30", "colour = red", "a > 2"]),
        ("food and drink > 3 and age > 1", ["food and drink > 3", "age > 1"]),
        ("colour = rock and roll and age > 1", ["colour = rock and roll", "age > 1"]),
        ("colour in {rock and roll, pop} and age > 1", ["colour in {rock and roll, pop}", "age > 1"]),
        ("age > 1\nand\nage <= 3", ["age > 1", "age <= 3"]),
    ],
)
def test_rules_are_split_at_the_right_and(text, parts):
    assert [part for part, _ in parse_conditions(text, NAMES)] == parts


def test_long_rules():
    names = [f"f{i}" for i in range(300)]
    conditions = parse_conditions(" and ".join(f"{name} <= {i}" for i, name in enumerate(names)), names)
    assert [parsed.feature for _, parsed in conditions] == list(range(300))


def test_the_wrong_part_of_a_rule_is_named():
    with pytest.raises(tp.InputError, match="Got 'size > 1'"):
        parse_conditions("age <= 3 and size > 1 and colour = red", NAMES)
    with pytest.raises(tp.InputError, match="Got '<= 30'"):
        parse_conditions("age > 3 and <= 30", NAMES)


def test_values_are_found_by_their_text_or_their_number():
    assert Choice(0, ("red",)).places(["red", "blue"]) == {0}
    assert Choice(0, ("red",), negated=True).places(["red", "blue", "grey"]) == {1, 2}
    assert Choice(0, ("1", "2.50")).places([1, 2.5, 3]) == {0, 1}
    assert Choice(0, ("1.0",)).places([1, "1.0"]) == {1}
    with pytest.raises(tp.InputError, match=r"must be one of \{red, blue\}. Got 'Red'"):
        Choice(0, ("Red",)).places(["red", "blue"])
    assert Choice(0, ("1",)).places([1, "1"]) == {0}
    assert Choice(0, (Quoted("1"),)).places([1, "1"]) == {1}
    assert Choice(0, ("missing",)).places(["missing", None]) == {1}
    assert Choice(0, (Quoted("missing"),)).places(["missing", None]) == {0}
    with pytest.raises(tp.InputError, match="must be a number"):
        Choice(0, ("red",)).intervals()


def test_whole_numbers():
    assert Bounds(0, 4.0, True, 6.5).intervals(whole=True) == [(5, 6)]
    assert Bounds(0, 4.2, False, 4.8).intervals(whole=True) == []
    assert Bounds(0, 2.0**60, True).intervals(whole=True)[0][0] == 2.0**60 + 256
    assert Choice(0, ("3",), negated=True).intervals(whole=True)[0][1] == 2
    assert Choice(0, ("3", "4"), negated=True).intervals(whole=True)[1][0] == 5
    assert Choice(0, ("3.5",)).intervals(whole=True) == []


def test_infinite_and_huge_bounds():
    largest = float(np.finfo(np.float32).max)
    assert rounded(Bounds(0, high=math.inf, high_strict=True).intervals()) == [(-largest, largest)]
    assert rounded(Bounds(0, low=math.inf).intervals()) == []
    assert Bounds(0, low=math.inf, low_strict=True).intervals() == []
    assert rounded(Bounds(0, low=1e39).intervals()) == []
    assert rounded(Bounds(0, low=1e39).intervals(whole=True)) == []
    assert rounded(Bounds(0, high=-1e39).intervals()) == []
    assert rounded(Bounds(0, low=-1e39, high=1e39).intervals()) == [(-largest, largest)]
    with pytest.raises(tp.InputError, match="must be a number"):
        Choice(0, ("inf",)).intervals()


EDGES = [0.0, 0.1, float(np.float32(0.1)), 2.4, 1.0, -2.0, 16777216.0, 1e-45, 3.0]


@given(st.data())
@settings(max_examples=500, deadline=None)
def test_intervals_hold_exactly_the_numbers_that_satisfy_the_condition(data):
    """Membership of float64 numbers beside the bounds, and of the float32 numbers they round to."""
    low, high = data.draw(st.sampled_from(EDGES)), data.draw(st.sampled_from(EDGES))
    bounds = Bounds(0, low, data.draw(st.booleans()), high, data.draw(st.booleans()))
    choice = Choice(0, (repr(low), repr(high)), data.draw(st.booleans()))
    whole = data.draw(st.booleans())
    numbers = set()
    for edge in EDGES:
        for number in (edge, math.floor(edge), math.ceil(edge) + 1.0, edge / 3):
            numbers |= {float(number), math.nextafter(number, math.inf), math.nextafter(number, -math.inf)}
            numbers |= {float(np.nextafter(np.float32(number), np.float32(side))) for side in (-9e9, 9e9)}
    numbers = {number for number in numbers if not whole or number.is_integer()}

    def satisfies(condition, x):
        if isinstance(condition, Choice):
            return (x in (low, high)) != condition.negated
        above = x > low if condition.low_strict else x >= low
        return above and (x < high if condition.high_strict else x <= high)

    for condition in (bounds, choice):
        intervals = condition.intervals(whole)
        seen = rounded(intervals)
        for number in numbers:
            assert satisfies(condition, number) == any(a <= number <= b for a, b in intervals)
            if satisfies(condition, number):
                assert any(a <= float(np.float32(number)) <= b for a, b in seen)
        for a, b in intervals:
            assert satisfies(condition, a)
            assert satisfies(condition, b)
        # Every end of what the model sees is the image of a number that satisfies the condition.
        ends = {float(np.float32(end)) for interval in intervals for end in interval if abs(end) < 1e38}
        assert {end for interval in seen for end in interval if abs(end) < 1e38} == ends
    both = intersect(bounds.intervals(whole), choice.intervals(whole))
    for number in numbers:
        assert (satisfies(bounds, number) and satisfies(choice, number)) == any(a <= number <= b for a, b in both)


@pytest.mark.parametrize(
    ("text", "names", "advice"),
    [
        (
            "ages > 30",
            ["age", "income"],
            "must name one of the features 'age', 'income'. Got 'ages > 30'. Did you mean",
        ),
        ("30 < ages", ["age", "income"], "Did you mean 'age'?"),
        ("2 <= ages < 30.5", ["age", "income"], "Did you mean 'age'?"),
        ("chest-pain > 1", ["pain", "chestpain"], "Did you mean 'chestpain'?"),
        ("age_1 > 1", ["age", "age_2"], "Did you mean 'age_2'"),
        ("age >", ["age", "income"], "must look like 'age <= 2.4'"),
        ("`age` ~ 3", ["age", "income"], "must look like 'age <= 2.4'"),
        ("3<age~4", ["age", "income"], "must look like 'age <= 2.4'"),
        ("a (cm) ~ 3", ["a", "a (cm)"], "must look like 'a (cm) <= 2.4'"),
    ],
)
def test_a_name_is_known_only_as_a_whole(text, names, advice):
    """A part of a longer word once counted as the name."""
    with pytest.raises(tp.InputError) as told:
        parse_condition(text, names)
    assert advice in str(told.value)
