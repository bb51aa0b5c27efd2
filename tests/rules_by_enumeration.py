"""What a rule claims, by enumeration of inputs: numbers on and beside every threshold, all values, all groups.

Independent of cells and conditions' own code.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from changing import Case
from generators import THRESHOLDS
from treeproof.space.conditions import Condition

LARGEST = float(np.finfo(np.float32).max)


def numbers(kind: str) -> list[float]:
    """The least and the largest number of every cell that thresholds can make."""
    if kind == "binary":
        return [0.0, 1.0]
    if kind == "integer":
        return [float(n) for n in range(-4, 4)]
    ends = {-LARGEST, LARGEST}
    for threshold in THRESHOLDS:
        last = np.float32(threshold)
        if float(last) > threshold:
            last = np.nextafter(last, np.float32(-9))
        ends |= {float(last), float(np.nextafter(last, np.float32(9)))}
    return sorted(ends)


def inputs(case: Case) -> np.ndarray:
    """A grid of inputs that stand for all inputs of the space, as rows of features: numbers, or indices of values."""
    features = case.explainer.space.features
    axes = [list(range(f.n_cells)) if f.kind == "categorical" else numbers(f.kind) for f in features]
    grid = np.array(list(itertools.product(*axes)), dtype=np.float64)
    return grid[[case.allows(row) for row in grid.tolist()]] if case.rule else grid


def columns(case: Case, grid: np.ndarray) -> list[list[Any]]:
    """The grid as rows that people pass."""
    features = case.explainer.space.features
    rows: list[list[Any]] = [[None] * case.explainer.forest.n_columns for _ in grid]
    for f, feature in enumerate(features):
        for row, value in zip(rows, grid[:, f].tolist(), strict=True):
            if len(feature.columns) > 1:
                for place, column in enumerate(feature.columns):
                    row[column] = float(place == int(value))
            else:
                row[feature.columns[0]] = feature.labels[int(value)] if feature.kind == "categorical" else value
    return rows


def satisfied(case: Case, condition: Condition, values: np.ndarray) -> np.ndarray:
    """Which values of the condition's feature satisfy it."""
    feature = next(f for f in case.explainer.space.features if f.name == condition.name)
    if condition.values is not None:
        return np.isin(values, [feature.labels.index(value) for value in condition.values])
    low = -np.inf if condition.low is None else condition.low
    high = np.inf if condition.high is None else condition.high
    return (low <= values) & (values <= high)


class World:
    """All inputs of a case and their labels."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.grid = inputs(case)
        self.labels = case.explainer.forest.predict(columns(case, self.grid))

    def inside(self, rule: Sequence[Condition], but: int | None = None) -> np.ndarray:
        """Which inputs satisfy all conditions, `but` one feature's."""
        names = self.case.explainer.space.names
        mask = np.ones(len(self.grid), dtype=bool)
        for condition in rule:
            f = names.index(condition.name)
            if f != but:
                mask &= satisfied(self.case, condition, self.grid[:, f])
        return mask

    def rows(self, chosen: np.ndarray) -> list[list[Any]]:
        """Some of the inputs as rows that people pass."""
        return columns(self.case, self.grid[chosen])

    def forces(self, rule: Sequence[Condition], label: Any) -> bool:
        return bool((self.labels[self.inside(rule)] == label).all())

    def widenings(self, rule: Sequence[Condition], label: Any) -> Iterator[str]:
        """What could be added to a rule that forces the label, so that it still does."""
        features = self.case.explainer.space.features
        for condition in rule:
            f = next(i for i, feature in enumerate(features) if feature.name == condition.name)
            others = self.inside(rule, but=f)
            values = np.unique(self.grid[:, f])
            taken = satisfied(self.case, condition, values)
            if condition.values is not None:
                beside = values[~taken].tolist()
            else:
                beside = [*values[values > values[taken].max()][:1], *values[values < values[taken].min()][-1:]]
            for value in beside:
                if (self.labels[others & (self.grid[:, f] == value)] == label).all():
                    yield f"{condition}: also {value}"
