"""The cells near a row: those that floats tell for certain are those of exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import treeproof as tp
from generators import random_forest, random_row
from treeproof.query.ball import Ball
from treeproof.space.declare import declare

SCALES = [Fraction(1), Fraction(1, 3), Fraction(1, 10), Fraction(7), Fraction(1, 10**320), Fraction(10**300)]
RADII = [Fraction(0), Fraction(1, 4), Fraction(1), Fraction(3, 2), Fraction(1, 10**310), Fraction(10**310)]


@pytest.mark.parametrize("seed", range(60))
def test_at_once_as_one_by_one(seed):
    rng = np.random.default_rng(seed)
    shape = {"categorical": seed % 3 == 0, "missing": seed % 2 == 0, "dtype": ("float32", "float64")[seed % 5 == 0]}
    forest = random_forest(rng, n_columns=int(rng.integers(2, 6)), **shape)
    context = tp.Explainer(forest)._context
    space, row = context.space, context.instance(random_row(rng, forest)).row
    point = space.cells(row)
    for radius in RADII:
        for is_open in (False, True):
            scales = tuple(SCALES[i] for i in rng.integers(0, len(SCALES), space.n_features))
            ball = Ball(radius, scales, "", is_open)
            one_by_one = tuple(
                ball._domain(feature, radius * scale, row, own)
                for feature, scale, own in zip(space.features, scales, point, strict=True)
            )
            assert ball.domains(space, row, point) == one_by_one


def test_an_end_of_the_ball_on_an_end_of_a_cell_is_told_exactly():
    forest = tp.build_forest([tp.split("a", cut, 0, 1) for cut in (1.0, 1.25, 1.5)], columns=["a"], classes=[0, 1])
    space = declare(forest)
    row = np.array([1.5], dtype=np.float32)
    above = Fraction(math.nextafter(0.25, 1.0))
    for radius, is_open, first in [(Fraction(1, 4), False, 1), (Fraction(1, 4), True, 2), (above, True, 1)]:
        (domain,) = Ball(radius, (Fraction(1),), "", is_open).domains(space, row, space.cells(row))
        assert domain[0] == first
