"""Timing actions side by side, and tables that print as they grow."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Row = dict[str, Any]
LONG_MS = 10_000.0  # What takes longer is not repeated: it is far above the noise.


class Table:
    """Prints lines under a heading as they come, and keeps them, with what they hold beyond the printed columns."""

    def __init__(self, title: str, columns: str) -> None:
        self.rows: list[Row] = []
        self._formats = dict(column.split(":") for column in columns.split())
        self._widths = {name: int(spec.partition(".")[0]) for name, spec in self._formats.items()}
        heading = "".join(f"{name.replace('_', ' '):>{width}}" for name, width in self._widths.items())
        print(f"\n{title}\n{heading}", flush=True)

    def add(self, row: Row) -> None:
        """Print one line and keep it; None is shown as a dash."""
        self.rows.append(row)
        shown = (
            f"{'-':>{self._widths[name]}}" if row[name] is None else f"{row[name]:>{spec}}"
            for name, spec in self._formats.items()
        )
        print("".join(shown), flush=True)


@dataclass
class Timed:
    """The milliseconds of one action on each row, all repeats, and what it returned the first time."""

    raw: list[list[float]] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)


def take_turns(
    actions: Mapping[Any, Callable[[Any], Any]],
    rows: Iterable[Any],
    repeats: int,
    *,
    warm_up: bool = True,
    clock: Callable[[], float] = time.process_time,
) -> dict[Any, Timed]:
    """Time the actions on the same rows: one action on all rows, then the next action, the whole `repeats` times over.

    Not row by row: an action of a tenth of a millisecond would then mostly be timed refilling the caches that the other
    action emptied, which nobody who explains one row after the other waits for.
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
    return timed


def medians(timed: Timed) -> np.ndarray:
    return np.array([np.median(repeats) for repeats in timed.raw])


def ms(timed: Timed) -> float:
    return float(np.mean(medians(timed)))
