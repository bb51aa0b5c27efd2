"""Where functions that never fall pass given values: found by asking them, to the last float."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from treeproof.model.floats import FLOAT64

_ROWS_AT_ONCE = 10_000

Made = Callable[[Mapping[int, npt.NDArray[Any]]], Mapping[int, npt.NDArray[Any]]]
"""What several functions, by number, make of arrays of numbers."""


def invert(made: Made, ends: Mapping[int, npt.NDArray[Any]]) -> dict[int, npt.NDArray[np.float64]]:
    """Return, for each of several functions that never fall, and each end, the largest float64 that is not made larger.

    That is -inf if all are, and the largest number if none is; NaN counts as below all ends. Of a function that falls
    here and there, it is a number that is not made larger than the end, while the next one is.

    All functions are asked at once, each for many numbers, as steps cost more than rows do. First the ends themselves
    are tried: where numbers stay as they are, as in an imputer, nothing more has to be asked.
    """
    found = _ends_that_stay(made, ends)
    open_ = {o: np.flatnonzero(np.isnan(numbers)) for o, numbers in found.items()}
    rest = {o: ends[o][at] for o, at in open_.items() if len(at)}
    for o, numbers in (_searched(made, rest) if rest else {}).items():
        found[o][open_[o]] = numbers
    return found


def _ends_that_stay(made: Made, ends: Mapping[int, npt.NDArray[Any]]) -> dict[int, npt.NDArray[np.float64]]:
    """Return what `invert` does, where that is the end itself or, beyond all that is made, an end of the line.

    It is NaN elsewhere.
    """
    goals = np.concatenate([np.empty(0), *ends.values()])
    low = np.clip(goals, -FLOAT64.largest, FLOAT64.largest)
    high = np.nextafter(low, FLOAT64.largest)
    stops = np.cumsum([len(values) for values in ends.values()]).tolist()
    parts = {o: slice(stop - len(values), stop) for (o, values), stop in zip(ends.items(), stops, strict=True)}
    answers = made({o: np.concatenate([low[part], high[part]]) for o, part in parts.items()})
    made_low = np.concatenate([np.empty(0), *(answers[o][: len(values)] for o, values in ends.items())])
    made_high = np.concatenate([np.empty(0), *(answers[o][len(values) :] for o, values in ends.items())])
    found = np.where((made_low <= goals) & (goals < made_high), low, np.nan)
    found[(made_low > goals) & (low == -FLOAT64.largest)] = -np.inf
    found[(made_high <= goals) & (high == FLOAT64.largest)] = FLOAT64.largest
    return {o: found[part] for o, part in parts.items()}


def _searched(made: Made, ends: Mapping[int, npt.NDArray[Any]]) -> dict[int, npt.NDArray[np.float64]]:
    """Return what `invert` does.

    A number is looked for where the straight line between its neighbours would have it, and evenly between them in the
    order of all floats.
    """
    grid = np.concatenate([[-FLOAT64.largest], numbers_at(_GRID), [FLOAT64.largest]])
    first = made(dict.fromkeys(ends, grid))
    low, high, made_low, made_high, found = {}, {}, {}, {}, {}
    for o, goals in ends.items():
        values = np.fmax.accumulate(np.where(np.isnan(first[o]), -np.inf, first[o]))
        after = np.searchsorted(values, goals, side="right")
        found[o] = np.where(after == 0, -np.inf, FLOAT64.largest)
        inside = (after > 0) & (after < len(grid))
        before = np.where(inside, after - 1, 0)
        low[o] = np.where(inside, places_of(grid[before]), 0)
        high[o] = np.where(inside, places_of(grid[before + 1]), 0)
        made_low[o], made_high[o] = values[before], values[before + 1]
    while True:
        open_ = {o: np.flatnonzero(high[o] - low[o] > 1) for o in ends}
        ways = min(255, 1 + _ROWS_AT_ONCE // max(1, sum(len(at) for at in open_.values())))
        asked = {}
        for o, at in open_.items():
            if len(at) > 0:
                bracket = (low[o][at], high[o][at], made_low[o][at], made_high[o][at])
                asked[o] = _candidates(*bracket, ends[o][at], n=ways)
        if not asked:
            break
        answers = made({o: numbers_at(places).ravel() for o, places in asked.items()})
        for o, places in asked.items():
            at = open_[o]
            values = np.where(np.isnan(answers[o]), -np.inf, answers[o]).reshape(places.shape)
            values = np.hstack([made_low[o][at, None], values, made_high[o][at, None]])
            places = np.hstack([low[o][at, None], places, high[o][at, None]])
            past = np.argmax(values > ends[o][at, None], axis=1)[:, None]  # the first one is not, the last one is
            for place, value, step in ((low, made_low, past - 1), (high, made_high, past)):
                place[o][at] = np.take_along_axis(places, step, axis=1)[:, 0]
                value[o][at] = np.take_along_axis(values, step, axis=1)[:, 0]
    return {o: np.where(low[o] == high[o], found[o], numbers_at(low[o])) for o in ends}


def _candidates(
    low: npt.NDArray[np.int64],
    high: npt.NDArray[np.int64],
    made_low: npt.NDArray[Any],
    made_high: npt.NDArray[Any],
    goal: npt.NDArray[Any],
    n: int,
) -> npt.NDArray[np.int64]:
    """Return places between two, in ascending order: some close to where a goal may be reached, and n even ones."""
    with np.errstate(all="ignore"):
        start, end = numbers_at(low), numbers_at(high)
        guess = start + (goal - made_low) / (made_high - made_low) * (end - start)
        guess = np.where((guess >= start) & (guess <= end), guess, start)
    even = low[:, None] + np.maximum(1, (high - low) // (n + 1))[:, None] * np.arange(1, n + 1)
    places = np.hstack([even, places_of(guess)[:, None] + _AROUND])
    return np.sort(np.clip(places, low[:, None] + 1, high[:, None] - 1), axis=1)


def places_of(values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the place of each float64 in the order of all of them; zero is at 0."""
    sizes = np.abs(np.asarray(values, dtype=np.float64)).view(np.int64)
    return np.where(np.signbit(values), -sizes, sizes)


def numbers_at(places: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the float64 at each place."""
    sizes = np.abs(places).view(np.float64)
    return np.where(places < 0, -sizes, sizes)


_GRID = np.arange(-512, 513) * (places_of(np.array(FLOAT64.largest)) // 512)
_AROUND = np.array([s * 2**k for k in (0, 5, 12, 24) for s in (1, -1)] + [0])
