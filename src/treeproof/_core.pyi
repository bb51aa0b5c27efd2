from typing import Any

import numpy as np
import numpy.typing as npt

class Cancel:
    def __init__(self) -> None: ...
    def set(self) -> None: ...

class Forest:
    @property
    def n_features(self) -> int: ...
    def label(self, point: list[int]) -> int: ...
    def decide(
        self,
        low: npt.NDArray[np.int32],
        high: npt.NDArray[np.int32],
        sets: npt.NDArray[np.uint64],
        stays: bool,
        label: int,
        home: list[int] | None,
        seconds: float,
        plain: bool,
    ) -> tuple[str, list[int], list[int], list[int], int, bool, int]: ...
    @property
    def price_shift(self) -> int: ...
    def prove(
        self,
        low: npt.NDArray[np.int32],
        high: npt.NDArray[np.int32],
        sets: npt.NDArray[np.uint64],
        stays: bool,
        label: int,
        home: list[int],
        seconds: float,
        cancel: Cancel | None,
    ) -> tuple[bool, list[int], list[list[int]]]: ...
    def witnesses(
        self,
        low: npt.NDArray[np.int32],
        high: npt.NDArray[np.int32],
        sets: npt.NDArray[np.uint64],
        label: int,
        home: list[int],
        features: list[int],
        seconds: float,
        cancel: Cancel | None,
    ) -> list[list[int]]: ...
    def explain(
        self, point: list[int], label: int, order: list[int], start: list[int], seconds: float, cancel: Cancel | None
    ) -> tuple[list[int], list[int], bool, int, int, int, int, int, float, float]: ...
    def inflate(
        self,
        low: npt.NDArray[np.int32],
        high: npt.NDArray[np.int32],
        sets: npt.NDArray[np.uint64],
        point: list[int],
        label: int,
        order: list[int],
        seconds: float,
        cancel: Cancel | None,
    ) -> tuple[list[int], list[int], list[int], list[int], bool, int, int, int, int, int, float, float]: ...

def make_forest(**fields: Any) -> Forest: ...
def softmax_labels(sums: npt.NDArray[np.float64], single: bool) -> list[int]: ...
