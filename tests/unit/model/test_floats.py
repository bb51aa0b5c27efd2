"""The two kinds of numbers, on and beside their edges."""

from __future__ import annotations

import math

import numpy as np
import pytest

from treeproof.model.floats import FLOAT32, FLOAT64, FLOATS, smallest_reaching

EDGES = [
    0.0,
    5e-324,
    1e-45,
    1e-38,
    0.1,
    1.0,
    1.0 + 1e-12,
    3.4028234663852886e38,
    3.41e38,
    1e300,
    1.7976931348623157e308,
]


@pytest.mark.parametrize("floats", [FLOAT32, FLOAT64], ids=lambda f: f.name)
def test_neighbours_at_the_edges(floats):
    for value in [sign * edge for edge in EDGES for sign in (1, -1)]:
        own = float(floats.at_most(np.array([value]))[0])
        assert own <= value
        assert own == -math.inf or own == floats.largest or floats.next(own, math.inf) > value
        rounded = floats.round(value)
        assert floats.round(rounded) == rounded
        if math.isfinite(rounded):
            up, down = floats.next(rounded, math.inf), floats.next(rounded, -math.inf)
            assert down < rounded < up
            assert float(floats.after(np.array([rounded]))[0]) == up
            assert floats.dtype(float(floats.shortest(rounded))) == floats.dtype(rounded)
    assert floats.next(floats.largest, math.inf) == math.inf
    assert floats.shortest(math.nan) == "missing"
    assert floats.shortest(-0.0) == "0"


@pytest.mark.parametrize("floats", FLOATS.values(), ids=lambda f: f.name)
def test_the_smallest_number_that_reaches_is_exact(floats):
    rng = np.random.default_rng(0)
    places = [0.0, -0.0, 1.0, -1.0, floats.largest, -floats.largest, 1.0 / floats.unit, -floats.next(0.0, 1.0)]
    places += rng.normal(size=20).tolist() + (10.0 ** rng.uniform(-40, 37, 20)).tolist()
    for place in map(floats.round, places):
        found = smallest_reaching(lambda s, place=place: s >= place, -floats.largest, floats.largest, floats)
        assert found == place
        strict = smallest_reaching(lambda s, place=place: s > place, -floats.largest, math.inf, floats)
        assert strict == floats.next(place, math.inf)


def test_every_number_is_a_whole_multiple_of_the_finest():
    for floats in FLOATS.values():
        for value in (floats.next(0.0, 1.0), 0.1, 1.0, 1e-30, floats.largest):
            numerator, denominator = floats.round(value).as_integer_ratio()
            assert (numerator * floats.fine) % denominator == 0


@pytest.mark.parametrize("floats", [FLOAT32, FLOAT64], ids=lambda f: f.name)
def test_many_numbers_at_once_are_as_short_as_one_by_one(floats):
    rng, bits = np.random.default_rng(0), np.uint32 if floats is FLOAT32 else np.uint64
    any_bits = rng.integers(0, np.iinfo(bits).max, 5000, dtype=bits).view(floats.dtype)
    usual = (rng.normal(size=5000) * 10.0 ** rng.integers(-6, 9, 5000)).astype(floats.dtype)
    powers = 2.0 ** np.arange(-149, 128).astype(floats.dtype)
    values = np.concatenate([any_bits[np.isfinite(any_bits)], usual, powers, -powers, [0, np.nan]]).astype(floats.dtype)
    assert floats.texts(values) == [floats.shortest(value) for value in values.tolist()]
    for value, short in zip(values.tolist(), floats.all_short(values), strict=True):
        if math.isnan(value):
            assert id(short) == id(math.nan)  # so that tuples with it are equal
            continue
        seven = float(f"{value:.7g}")
        assert floats.round(short) == value
        assert short == (seven if floats.round(seven) == value else float(floats.shortest(value)))
