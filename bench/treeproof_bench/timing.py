"""Timing actions side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

import treeproof as tp

LONG_MS = 10_000.0  # What takes longer is not repeated: it is far above the noise.

Action = Callable[[Any], Any]
# Is told what begins and of how many steps it consists, and returns a function that is called after each.
Stage = Callable[[str, int], Callable[[], None]]


def silent(text: str, steps: int) -> Callable[[], None]:
    """Tell nobody: a `Stage`."""
    return lambda: None


@dataclass
class Timed:
    """The milliseconds of one action on each row, all repeats, and what it returned the first time."""

    raw: list[list[float]] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)


def take_turns(
    actions: Mapping[Any, Action],
    rows: Iterable[Any],
    repeats: int,
    *,
    warm_up: bool = True,
    clock: Callable[[], float] = time.process_time,
    tick: Callable[[], None] = lambda: None,
) -> dict[Any, Timed]:
    """Time the actions on the same rows: one action on all rows, then the next action, the whole `repeats` times over.

    Not row by row: an action of a tenth of a millisecond would then mostly be timed refilling the caches that the other
    action emptied, which nobody who explains one row after the other waits for. `tick` is called after each, untimed.
    """
    rows = list(rows)
    timed = {name: Timed(raw=[[] for _ in rows]) for name in actions}
    for action in actions.values() if warm_up else ():
        action(rows[0])
    for repeat in range(repeats):
        for name, action in actions.items():
            for i, row in enumerate(rows):
                if repeat and timed[name].raw[i][0] > LONG_MS:
                    continue
                start = clock()
                result = action(row)
                timed[name].raw[i].append(round(1000 * (clock() - start), 4))
                if repeat == 0:
                    timed[name].results.append(result)
                tick()
    return timed


def encode_and_explain(
    explainer: tp.Explainer, rows: Iterable[Any], timeout: float | None = None, stage: Stage = silent
) -> tuple[Timed, Timed]:
    """Time an oracle that encodes on the rows, by index: the encoding of their classes, and the explanations.

    Once, since what its solver has learnt would help it the second time.
    """
    rows = list(rows)
    # With all features fixed the question is trivial, but makes the oracle encode the class of the instance and load
    # its solver. Explaining the instance instead would let the solver learn what it is then asked.
    every = range(explainer.space.n_features)
    actions: dict[str, Action] = {
        "encoding": partial(explainer.holds, features=every),
        "explaining": partial(explainer.abductive, order="index", timeout=timeout),
    }
    encoding, explaining = (
        take_turns({name: action}, rows, 1, warm_up=False, tick=stage(name, len(rows)))[name]
        for name, action in actions.items()
    )
    return encoding, explaining


def medians(timed: Timed) -> npt.NDArray[np.float64]:
    """Return the milliseconds of each row: the median of its repeats."""
    return np.array([np.median(repeats) for repeats in timed.raw])


def ms(timed: Timed) -> float:
    """Return the mean over the rows of `medians`."""
    return float(np.mean(medians(timed)))


def predicts(model: Any) -> Callable[[npt.NDArray[np.float32]], Any]:
    """Return the yardstick: the model's own ``predict`` on one row."""
    return lambda row: model.predict(row[None, :])[0]
