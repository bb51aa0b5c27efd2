from __future__ import annotations

import numpy as np
import pytest

from treeproof.model.floats import FLOAT64
from treeproof.model.importers.invert import invert, numbers_at, places_of

LARGEST = FLOAT64.largest
RISING = {
    "same": lambda x: x,
    "scaled": lambda x: (x - 0.3) / 7.1,
    "up to infinity": lambda x: x * 1e9,
    "cut off": lambda x: np.clip(x, -1.0, 2.5),
    "in steps": np.floor,
    "root": np.sqrt,  # NaN counts as below all
    "constant": np.zeros_like,
    "same in the middle": lambda x: np.where(np.abs(x) < 3, x, x * 2),
}
ENDS = np.array([-np.inf, -LARGEST, -3.0, -1.0, -5e-324, 0.0, 0.1, 1.0, 2.5, 3.0, 1e300, LARGEST, np.inf])


@pytest.mark.parametrize("name", RISING)
def test_the_last_number_that_is_not_made_larger(name):
    with np.errstate(all="ignore"):
        function = RISING[name]
        found = invert(lambda asked: {o: function(numbers) for o, numbers in asked.items()}, {0: ENDS})[0]
        for end, number in zip(ENDS, found, strict=True):
            if number == -np.inf:
                assert function(np.array(-LARGEST)) > end
                continue
            assert not function(np.array(number)) > end
            assert number == LARGEST or function(np.nextafter(number, np.inf)) > end


def test_several_functions_are_asked_at_once():
    asked = []

    def made(numbers):
        asked.append(set(numbers))
        return {0: numbers.get(0, ENDS), 7: numbers[7] / 2}

    found = invert(made, {0: np.array([0.5, 1.0]), 7: np.array([1.0])})
    assert (found[0].tolist(), found[7].tolist()) == ([0.5, 1.0], [2.0])
    assert asked[0] == {0, 7}
    assert all(later == {7} for later in asked[1:])  # numbers that stay as they are need no search


def test_places_are_the_order_of_all_numbers():
    numbers = np.array([-LARGEST, -1.0, -5e-324, 0.0, 5e-324, 1.0, np.nextafter(1.0, 2.0), LARGEST])
    places = places_of(numbers)
    assert numbers_at(places).tolist() == numbers.tolist()
    assert (np.diff(places) > 0).all()
    assert places[2:5].tolist() == [-1, 0, 1]
    assert places[6] - places[5] == 1
