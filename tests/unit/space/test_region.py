"""Regions of a space: the cells that conditions meet, and inputs inside them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import treeproof as tp
from treeproof.query.cells import discretise
from treeproof.space.declare import declare
from treeproof.space.region import Region, in_own_cell, read_conditions
from treeproof.space.space import Space


@pytest.fixture
def space() -> Space:
    trees = [tp.split("x", 0.5, 0, tp.split("x", 2, 1, tp.split("n", 3, 0, 1))), tp.isin("c", ["red"], 0, 1)]
    columns = ["x", "n", tp.Column("c", ("red", "green", "blue"))]
    return declare(tp.build_forest(trees, columns=columns, classes=[0, 1]), kinds={"n": "ordinal"})


def region(space: Space, *conditions) -> Region:
    return Region(space, read_conditions(space, list(conditions), np.float32([1, 4, 2])))


def domains(space: Space, *conditions):
    return region(space, *conditions).domains(discretise(space).full)


def test_domains_are_the_cells_that_conditions_meet(space):
    assert domains(space) == (range(3), range(2), frozenset({0, 1, 2}))
    assert domains(space, "x <= 0.5", "n > 3", "c != red") == (range(1), range(1, 2), frozenset({1, 2}))
    assert domains(space, "x > 0.5")[0] == range(3)  # 0.5000000000000001 is read as 0.5
    assert domains(space, "x >= 0.50000006")[0] == range(1, 3)
    assert domains(space, "0.7 < x < 0.8")[0] == range(1, 2)
    assert domains(space, "x in {0, 3}")[0] == frozenset({0, 2})
    assert domains(space, "x", "c") == (range(1, 2), range(2), frozenset({2}))
    assert region(space, "x > 1", "x < 1").empty == 0
    assert region(space, "3 < n < 4").empty == 1
    assert region(space, "x > 1").empty is None


def test_rows_satisfy_the_conditions_as_they_are_written(space):
    near = np.float32([1, 4, 2])
    row, written = region(space, "x < 0.3").row((0, 1, 0), near)
    assert written == {0: math.nextafter(0.3, 0)}
    assert row.tolist() == np.float32([0.3, 4, 0]).tolist()
    row, written = region(space, "0.6 <= x <= 0.7 and 10 < n").row((1, 1, 2), near)
    assert written == {0: 0.7, 1: 11.0}
    row, written = region(space, "x in {0.6, 1.5, 1.9}").row((1, 0, 2), near)
    assert written == {0: 0.6}
    assert row.tolist() == np.float32([0.6, 3, 2]).tolist()


def test_a_row_is_inside_if_the_model_sees_it_inside(space):
    row = np.float32([0.3, 4, 2])
    point = space.cells(row)
    assert region(space, "x < 0.3").holds(row, point)  # some number below 0.3 is read as the same
    assert not region(space, "x < 0.29").holds(row, point)
    assert not region(space, "n < 4").holds(row, point)  # but whole numbers are what they are
    assert region(space, "x < 0.29 and n = 4").holds(row, point, [1])


@pytest.mark.parametrize("value", [0.3, 2, 2.4, 16777217, 0.1])
@pytest.mark.parametrize("sign", ["<", "<=", ">", ">=", "=", "!="])
@pytest.mark.parametrize("bound", [0.3, 2, 2.4, 2.0000000001, 16777216, 16777217, 0.1])
def test_a_row_counts_as_it_keeps_a_constraint(value, sign, bound):
    forest = tp.build_forest([tp.split("x", 1, 0, 1)], columns=["x"], classes=[0, 1])
    text = f"x {sign} {bound}"
    try:
        tp.Explainer(forest, constraints=[text]).abductive([value])
    except tp.InputError:
        kept = False
    else:
        kept = True
    assert tp.Explainer(forest).coverage(text, [[value]]).covered == kept


def test_a_feature_in_its_own_cell_keeps_its_whole_cell_and_names_its_value(space):
    own = in_own_cell(space, 0, np.float32([1.5, 0, 0]), (1, 0, 0))
    assert (own.text, own.cells) == ("x = 1.5", frozenset({1}))
