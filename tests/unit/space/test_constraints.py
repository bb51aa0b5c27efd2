"""Constraints between features: how they are read, and what they do to the space."""

from __future__ import annotations

import numpy as np
import pytest

import treeproof as tp
from treeproof.model.build import build_forest, isin, split
from treeproof.model.columns import Column
from treeproof.query.cells import discretise
from treeproof.space.constraints import complement, intervals, parse_constraint, read_declarations
from treeproof.space.declare import declare
from treeproof.space.grammar import parse_condition

NAMES = ["A", "B", "colour", "then or"]


def space(constraints=(), **declared):
    trees = [
        split("a", 0.5, 0, split("b", 2.0, 0, 1)),
        isin("colour", ["red"], split("a", 3.5, 1, 0), 1),
    ]
    columns = ["a", "b", Column("colour", ("red", "green", "blue"))]
    return declare(build_forest(trees, columns=columns, classes=[0, 1]), constraints=constraints, **declared)


@pytest.mark.parametrize(
    ("text", "n_unless", "n_conditions"),
    [
        ("A <= 3", 0, 1),
        ("A <= 3 or B > 2", 0, 2),
        ("if A = 1 then B <= 3", 1, 1),
        ("IF A = 1 AND B != 2 THEN colour in {red, blue} OR A > 5", 2, 2),
        ("if then or = 1 then A < 2", 1, 1),
        ("then or <= 3 or A = 1", 0, 2),
    ],
)
def test_a_rule_is_read(text, n_unless, n_conditions):
    constraint = parse_constraint(text, NAMES)
    assert (len(constraint.unless), len(constraint.conditions)) == (n_unless, n_conditions)
    assert constraint.text == text


@pytest.mark.parametrize("text", ["", "if A = 1", "if A = 1 then", "A", "C <= 3", 3])
def test_a_rule_that_cannot_be_read_is_refused(text):
    with pytest.raises(tp.InputError):
        parse_constraint(text, NAMES)


def test_numbers_are_compared_as_float32():
    (low, high), *_ = intervals(parse_condition("A <= 0.1", NAMES))
    assert (low, high) == (-np.inf, float(np.float32(0.1)))
    below = float(np.nextafter(np.float32(0.1), np.float32(-1)))
    assert intervals(parse_condition("A < 0.1", NAMES)) == [(-np.inf, below)]
    assert intervals(parse_condition("A != 0.1", NAMES))[0] == (-np.inf, below)
    assert complement(intervals(parse_condition("A < 0.1", NAMES))) == intervals(parse_condition("A >= 0.1", NAMES))


def test_a_rule_cuts_the_cells_where_it_changes():
    plain, cut = space(), space(["a <= 1.25 or b = 7"])
    assert plain.features[0].n_cells == 3
    assert cut.features[0].highs.tolist()[:2] == [0.5, 1.25]
    assert cut.features[1].n_cells == 4  # ..2, ..below 7, 7, ..
    cells = discretise(cut)
    for a in (-1.0, 0.5, 1.25, np.nextafter(np.float32(1.25), np.float32(2)), 4.0):
        for b in (0.0, 2.0, 6.5, 7.0, np.nextafter(np.float32(7), np.float32(8)), 9.0):
            point = cut.cells(np.array([a, b, 0], dtype=np.float32))
            assert cells.allows(point) == (a <= 1.25 or b == 7)


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("if colour = red then a > 3.5", lambda a, b, c: c != 0 or a > 3.5),
        ("colour not in {red, blue} or 0 <= b <= 2", lambda a, b, c: c == 1 or 0 <= b <= 2),
        ("if a != 2 and b >= 1 then colour = blue", lambda a, b, c: not (a != 2 and b >= 1) or c == 2),
        ("if 1 < a <= 4 then 0 <= b <= 2 or b = 5", lambda a, b, c: not 1 < a <= 4 or 0 <= b <= 2 or b == 5),
        ("a in {1, 2, 4}", lambda a, b, c: a in (1, 2, 4)),
    ],
)
def test_clauses_mean_what_the_rule_says(text, allowed):
    where = space([text])
    cells = discretise(where)
    values = np.array([-1, 0, 0.5, 1, 1.5, 2, 2.5, 3.5, 4, 4.5, 5, 7], dtype=np.float32)
    seen = set()
    for a in values.tolist():
        for b in values.tolist():
            for c in range(3):
                expected = allowed(a, b, c)
                seen.add(expected)
                assert cells.allows(where.cells(np.array([a, b, c], dtype=np.float32))) == expected
    assert seen == {True, False}


def test_a_constraint_that_all_inputs_satisfy_is_no_clause_and_one_that_none_does_is_refused():
    assert discretise(space(["a <= 3 or a > 2"])).clauses == ()
    with pytest.raises(tp.InputError, match="no input satisfies"):
        discretise(space(["a <= 3"], bounds={"a": (4, 5)}))
    with pytest.raises(tp.InputError, match="choose among its values"):
        discretise(space(["colour <= 3"]))
    with pytest.raises(tp.InputError, match="Got '1 or b = 2'"):
        space(["if a = 1 or b = 2 then a < 1"])
    with pytest.raises(tp.InputError, match=r"Got 'a <= 3 and b = 2'\. Write the parts joined"):
        space(["a <= 3 and b = 2"])
    with pytest.raises(tp.InputError, match="list of strings"):
        space("a <= 3")


def test_bounds_shrink_the_domain():
    bounded = space(bounds={"a": (1, 4), "b": (None, 2), "colour": ["red", "blue"]})
    assert bounded.features[0].lows.tolist() == [1, float(np.nextafter(np.float32(3.5), np.float32(4)))]
    assert bounded.features[0].highs.tolist() == [3.5, 4]
    assert bounded.features[1].n_cells == 1
    assert bounded.features[2].labels == ("red", "blue")
    with pytest.raises(tp.InputError, match="must lie within its bounds"):
        bounded.cells(np.array([0, 0, 0], dtype=np.float32))
    with pytest.raises(tp.InputError, match="must be one of its 2 values"):
        bounded.cells(np.array([1, 0, 1], dtype=np.float32))
    with pytest.raises(tp.InputError, match=r"must lie within its bounds: b <= 2\. Got 3"):
        bounded.cells(np.array([1, 3, 0], dtype=np.float32))  # an open end is none, not the largest number


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"a": (4, 1)}, "in order"),
        ({"a": 3}, "two numbers"),
        ({"a": ("x", 2)}, "two numbers"),
        ({"a": (float("nan"), 2)}, "in order"),
        ({"q": (1, 2)}, "must be one of"),
        ({"colour": ["pink"]}, "list of some of"),
        ({"colour": []}, "list of some of"),
        ({"colour": "red"}, "list of some of"),
    ],
)
def test_bad_bounds_are_named(bounds, message):
    with pytest.raises(tp.InputError, match=message):
        space(bounds=bounds)


def test_bounds_of_whole_numbers_leave_one_or_are_refused():
    assert space(kinds={"a": "ordinal"}, bounds={"a": (0.5, 2.5)}).features[0].lows.tolist() == [1]
    with pytest.raises(tp.InputError, match="must contain some integer value"):
        space(kinds={"a": "ordinal"}, bounds={"a": (0.2, 0.8)})


def test_a_file_holds_kinds_and_rules(tmp_path):
    path = tmp_path / "constraints.txt"
    path.write_text("# about patients\nweight is integer\n\nchest-pain is binary\nif weight > 90 then chest-pain = 1\n")
    declared = read_declarations(path)
    assert declared.kinds == {"weight": "integer", "chest-pain": "binary"}
    assert declared.constraints == ("if weight > 90 then chest-pain = 1",)
    forest, _ = tp.examples.heart_disease()
    explainer = tp.Explainer(forest, constraints=path)
    assert [feature.kind for feature in explainer.space.features] == ["real", "real", "binary", "integer"]
    with pytest.raises(tp.InputError, match="violates the constraint 'if weight > 90 then chest-pain = 1'"):
        explainer.abductive([1, 0, 0, 95])
    path.write_text("a is real\na is binary\n")
    with pytest.raises(tp.InputError, match="one kind"):
        read_declarations(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(tp.InputError, match="text file"):
        read_declarations(path)


def test_the_observed_domain_is_that_of_the_data():
    forest, patient = tp.examples.heart_disease()
    explainer = tp.Explainer(forest, data=[patient, [0, 0, 1, 80]], domain="observed")
    assert explainer.abductive(patient).feature_names == ("blocked-arteries",)
    with pytest.raises(tp.InputError, match="'chest-pain' must lie within its bounds"):
        explainer.abductive([1, 0, 0, 70])
    with pytest.raises(tp.InputError, match="data=X"):
        tp.Explainer(forest, domain="observed")
    with pytest.raises(tp.InputError, match="'domain' parameter"):
        tp.Explainer(forest, domain="some")
