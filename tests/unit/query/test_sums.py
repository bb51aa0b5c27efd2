from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from treeproof.query.sums import as_integers


@pytest.mark.parametrize("at", [0, 9_999, 10_000, 25_000])  # numbers are looked at in parts of ten thousand
def test_the_finest_of_many_numbers_decides_the_unit_wherever_it_is(at):
    values = np.ones(25_001)
    values[at] = 2.0**-20
    numbers, unit = as_integers(values, np.array([0], dtype=np.int32))
    assert unit == Fraction(1, 2**20)
    assert numbers[at] == 1
    assert numbers.sum() == 25_000 * 2**20 + 1
