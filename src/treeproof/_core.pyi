from contextvars import ContextVar
from typing import Any

import numpy as np
import numpy.typing as npt

_Box = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.uint8], npt.NDArray[np.uint64]]

class Cancel:
    def __init__(self) -> None: ...
    def set(self) -> None: ...
    @property
    def is_set(self) -> bool: ...

current_cancel: ContextVar[Cancel | None]

class TooDeepError(ValueError): ...

class Tally:
    entailed: int
    refuted: int
    unknown: int
    remembered: int
    near_ties: int
    work: int
    longest_entailed: float
    longest_refuted: float
    def __init__(self) -> None: ...
    def add(self, other: Tally) -> None: ...

class Outcome:
    entailed: bool
    refuted: bool
    core: list[int]
    clauses: list[int]
    witness: list[int]
    label: int
    near_tie: bool

class Proof:
    steps: list[int]
    tables: list[list[int]]

class Deletion:
    features: list[int]
    clauses: list[int]
    minimal: bool
    tally: Tally

class Change:
    features: list[int]
    witness: list[int]
    label: int
    finished: bool
    tally: Tally

class Inflation:
    low: list[int]
    high: list[int]
    missing: list[int]
    sets: list[int]
    clauses: list[int]
    widest: bool
    stopped: bool
    tally: Tally

class HittingSets:
    chosen: list[int]
    excluded: list[int]
    def __init__(self, n_features: int) -> None: ...
    def add(self, features: list[int]) -> None: ...
    def next(self, most: int, seconds: float) -> bool | None: ...

class Forest:
    def label(self, point: list[int]) -> int: ...
    def totals(self, point: list[int]) -> list[int]: ...
    def require(self, theta: list[int]) -> None: ...
    def decide(
        self,
        box: _Box,
        stays: bool,
        label: int,
        home: list[int] | None,
        seconds: float,
        plain: bool,
    ) -> Outcome: ...
    @property
    def price_shift(self) -> int: ...
    def prove(
        self,
        box: _Box,
        stays: bool,
        label: int,
        home: list[int],
        seconds: float,
        cancel: Cancel | None,
        most: int,
    ) -> Proof | None: ...
    def witnesses(
        self,
        box: _Box,
        label: int,
        home: list[int],
        features: list[int],
        seconds: float,
        cancel: Cancel | None,
    ) -> list[list[int]]: ...
    def delete_features(
        self,
        point: list[int],
        label: int,
        order: list[int],
        start: list[int],
        seconds: float,
        cancel: Cancel | None,
        free: _Box | None = None,
    ) -> Deletion: ...
    def delete_features_of_many(
        self, points: npt.NDArray[np.int32], order: list[int], seconds: float, cancel: Cancel | None
    ) -> tuple[npt.NDArray[Any], ...]: ...
    def change_features(
        self,
        point: list[int],
        stays: bool,
        label: int,
        order: list[int],
        start: list[int],
        witness: list[int],
        unasked: list[int],
        effort: int,
        hint: list[int],
        seconds: float,
        cancel: Cancel | None,
        free: _Box | None = None,
    ) -> Change: ...
    def inflate(
        self,
        box: _Box,
        point: list[int],
        label: int,
        order: list[int],
        seconds: float,
        cancel: Cancel | None,
        most_work: int | None,
    ) -> Inflation: ...

def make_forest(**fields: Any) -> Forest: ...
def softmax_labels(sums: npt.NDArray[np.float64], single: bool) -> list[int]: ...
def sigmoid_labels(sums: npt.NDArray[np.float64], steepness: float) -> list[int]: ...
