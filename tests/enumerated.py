"""Everything that can be asked about a small forest, answered by enumeration of inputs.

Independent of cells: a number is tried on, and beside, every threshold and every other end that matters; a missing
value is tried where the space has one. Inputs that no split tells apart have the same label, so these stand for all.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

import treeproof as tp
from families import Family, smallest
from generators import random_forest, random_row
from treeproof.model.rows import as_row
from treeproof.space.conditions import Condition

SCALES = [0.1, 0.3, 1, 2.5, 7, Fraction(1, 3)]


class World:
    """All inputs of an explainer's space, with their labels by the forest's own arithmetic; a feature is a column."""

    def __init__(
        self,
        explainer: tp.Explainer,
        row: Sequence[Any],
        *,
        bounds: Mapping[str, tuple[float, float]] | None = None,
        kinds: Mapping[str, str] | None = None,
        ends: Mapping[str, Iterable[float]] | None = None,
        rule: Any = None,
    ) -> None:
        self.explainer, self.forest = explainer, explainer.forest
        self.floats = self.forest.floats
        self.x = as_row(row, self.forest.columns, self.floats).astype(float)
        self.kinds, self.bounds = kinds or {}, bounds or {}
        self.axes = [self._axis(j, (ends or {}).get(c.name, ())) for j, c in enumerate(self.forest.columns)]
        grid = np.array(list(itertools.product(*self.axes)))
        if rule is not None:
            grid = grid[[bool(rule(*values)) for values in grid.tolist()]]
        self.grid = grid
        self.labels = self.forest.decide(self.forest.route(grid.astype(self.floats.dtype)))
        self.label = int(self.forest.decide(self.forest.route(self.x.astype(self.floats.dtype)[None, :]))[0])
        self.same = np.where(np.isnan(self.x), np.isnan(grid), grid == self.x)
        self._distances: dict[tuple[int, str, Any], Fraction] = {}  # of the same few values again and again

    def _axis(self, j: int, ends: Iterable[float]) -> list[float]:
        column, node = self.forest.columns[j], self.forest.feature == j
        if column.categories is not None:
            return [float(code) for code in range(len(column.categories))]
        floats, kind = self.floats, self.kinds.get(column.name, "real")
        low, high = self.bounds.get(column.name, (-floats.largest, floats.largest))
        if kind == "binary":
            tried = {0.0, 1.0}
        elif kind == "ordinal":
            tried = {float(n) for n in range(-4, 5)} | {low, high}
        else:
            cuts = {*self.forest.threshold[node].tolist(), *(floats.round(end) for end in ends)}
            beside = {floats.next(cut, end) for cut in cuts for end in (-math.inf, math.inf)}
            tried = cuts | beside | {low, high, -floats.largest, floats.largest}
        own = set() if math.isnan(self.x[j]) else {float(self.x[j])}
        numbers = sorted({value + 0.0 for value in tried | own if low <= value <= high})
        feature = self.explainer.space.features[j]
        assert len(feature.columns) == 1
        missing = getattr(feature, "missing_cell", None) is not None
        return [*numbers, *([math.nan] if missing else [])]

    @property
    def n_features(self) -> int:
        return self.forest.n_columns

    def place(self, j: int) -> float | None:
        """The number behind which a missing value of a column stands in the order; None if it stands apart."""
        nodes = self.forest.feature == j
        left, cuts = self.forest.missing_left[nodes], self.forest.threshold[nodes]
        if not left.any():
            return math.inf
        behind = max(cuts[~left], default=-math.inf)
        return behind if left.all() or behind < min(cuts[left]) else None

    def wrong(self, target: int | None = None) -> np.ndarray:
        """Which inputs have another label, or that of the target."""
        return self.labels != self.label if target is None else self.labels == target

    def sufficient(self, features: Iterable[int]) -> bool:
        kept = self.same[:, list(features)].all(axis=1)
        return not self.wrong()[kept].any()

    def families(self, target: int | None = None) -> tuple[Family, Family]:
        """All abductive and all contrastive explanations."""
        n = self.n_features
        masks = np.unique(~self.same[self.wrong(target)] @ (1 << np.arange(n))).tolist()
        changes = smallest(frozenset(f for f in range(n) if mask >> f & 1) for mask in masks)
        subsets = [frozenset(s) for size in range(n + 1) for s in itertools.combinations(range(n), size)]
        return smallest(s for s in subsets if all(s & c for c in changes)), changes

    def satisfied(self, condition: Condition, j: int, values: np.ndarray) -> np.ndarray:
        """Which values of a column satisfy a condition, by what its fields say."""
        categories = self.forest.columns[j].categories
        if condition.values is not None and categories is not None:
            return np.isin(values, [categories.index(value) for value in condition.values])
        if condition.values is not None:
            assert condition.values == (None,)
            return np.isnan(values)
        if not condition.ranges and condition.low is None and condition.high is None and condition.missing is None:
            return np.ones(len(values), dtype=bool)
        inside = np.isnan(values) & bool(condition.missing)
        for low, high in condition.ranges or ((condition.low, condition.high),):
            inside |= (values >= (-math.inf if low is None else low)) & (values <= (math.inf if high is None else high))
        return inside

    def inside(self, rule: Sequence[Condition], but: int | None = None) -> np.ndarray:
        mask = np.ones(len(self.grid), dtype=bool)
        for condition in rule:
            j = self.forest.column_names.index(condition.name)
            if j != but:
                mask &= self.satisfied(condition, j, self.grid[:, j])
        return mask

    def check_rule(self, rule: Sequence[Condition], *, widest: bool) -> None:
        """Assert that a rule is about the row, forces its label, and, if it should be, cannot be widened."""
        mask = self.inside(rule)
        assert not self.wrong()[mask].any()
        assert mask[self.same.all(axis=1)].all()
        if not widest:
            return
        for condition in rule:
            j = self.forest.column_names.index(condition.name)
            others = self.inside(rule, but=j)
            values = self.grid[:, j]
            for value in self._beside(condition, j):
                joins = np.isnan(values) if math.isnan(value) else values == value
                assert self.wrong()[others & joins].any(), f"{condition}: also {value}"

    def _beside(self, condition: Condition, j: int) -> list[float]:
        axis = np.array(self.axes[j])
        place = None
        if self.forest.columns[j].categories is None and math.isnan(axis[-1]):
            place = self.place(j)
            numbers = axis[:-1]
            if place is not None:
                axis = np.concatenate([numbers[numbers <= place], axis[-1:], numbers[numbers > place]])
        taken = np.flatnonzero(self.satisfied(condition, j, axis))
        if self.forest.columns[j].categories is not None:
            return np.delete(axis, taken).tolist()
        others = []
        if np.isnan(axis[-1]) and place is None:  # missing values are beside the order, in the condition or not
            gap = len(axis) - 1
            others = [] if gap in taken else [axis[gap]]
            taken, axis = taken[taken != gap], axis[:-1]
            if len(taken) == 0:
                return axis.tolist()
        assert taken.tolist() == list(range(taken[0], taken[-1] + 1))
        return others + [axis[i] for i in (taken[0] - 1, taken[-1] + 1) if 0 <= i < len(axis)]

    def span(self, j: int) -> Fraction:
        if self.forest.columns[j].categories is not None:
            return Fraction(1)
        cuts = self.forest.threshold[self.forest.feature == j].tolist()
        if self.kinds.get(self.forest.columns[j].name, "real") != "real":
            cuts = [math.floor(cut) for cut in cuts]
        return Fraction(max(cuts, default=0)) - Fraction(min(cuts, default=0)) or Fraction(1)

    def nearest(self, inputs: Any, measure: Any, scale: Mapping[str, Any]) -> Fraction:
        """The least distance of some inputs, by a numpy function of the distances of their values."""
        columns = [np.unique(column, return_inverse=True) for column in self.grid[inputs].T]
        units = [scale.get(column.name) for column in self.forest.columns]
        apart = [
            [self.distance(j, value, units[j]) if str(value) != str(self.x[j]) else Fraction(0) for value in values]
            for j, values in enumerate(values.tolist() for values, _ in columns)
        ]
        parts = math.lcm(*(distance.denominator for found in apart for distance in found))
        whole = [np.array([int(distance * parts) for distance in found], dtype=object) for found in apart]
        rows = np.column_stack([found[which] for found, (_, which) in zip(whole, columns, strict=True)])
        return Fraction(min(measure(rows, axis=1)), parts)

    def distance(self, j: int, new: float, unit: Any) -> Fraction:
        """How far a value is from the row's own, in units of the feature's span unless another unit is given."""
        key = j, str(new), unit
        if key not in self._distances:
            old = float(self.x[j])
            scale = self.span(j) if unit is None else Fraction(str(unit))
            if self.forest.columns[j].categories is not None:
                self._distances[key] = 1 / scale
            elif math.isnan(old) or math.isnan(new):
                self._distances[key] = Fraction(int(not (math.isnan(old) and math.isnan(new))))
            else:
                self._distances[key] = abs(Fraction(new) - Fraction(old)) / scale
        return self._distances[key]

    def row(self, values: Sequence[float]) -> list[Any]:
        """An input as people pass it."""
        return [
            value if column.categories is None else column.category(int(value))
            for value, column in zip(values, self.forest.columns, strict=True)
        ]

    def check_witness(self, witness: Sequence[Any], label: Any, features: Iterable[int]) -> np.ndarray:
        """Assert that an input has another label and differs in these features only; return it as numbers."""
        read = as_row(witness, self.forest.columns, self.floats)
        assert self.forest.predict([list(witness)])[0] == label != self.forest.classes[self.label]
        same = (read == self.x) | (np.isnan(read) & np.isnan(self.x))
        assert np.flatnonzero(~same).tolist() == sorted(features)
        return read.astype(float)


def readable(result: Any) -> None:
    """Assert that a result prints, and is plain data for JSON."""
    assert str(result)
    text = json.dumps(result.to_dict(), allow_nan=False)
    assert json.loads(text)["kind"]
    if hasattr(result, "_repr_html_"):
        assert result._repr_html_()


def random_world(
    seed: int, *, plain: bool = False, groups: Mapping[str, Sequence[str]] | None = None, **shape: Any
) -> World:
    """A forest of three columns with sums, missing values, float64 inputs or categories, and a row of it."""
    rng = np.random.default_rng(seed)
    options: dict[str, Any] = {
        "vote": "sum",
        "n_columns": 3,
        "n_classes": int(rng.integers(2, 5)),
        "n_trees": int(rng.integers(1, 8)),
        "categorical": bool(rng.random() < 0.3),
        "missing": bool(rng.random() < 0.7),
        "dtype": "float64" if rng.random() < 0.5 else "float32",
        **shape,
    }
    forest = random_forest(rng, **options)
    row = random_row(rng, forest)
    kinds, bounds, rule, constraints = {}, {}, None, []
    if not plain and rng.random() < 0.3:
        kinds["c1"] = str(rng.choice(["ordinal", "binary"]))
        if not math.isnan(row[1]):
            row[1] = float(rng.integers(0, 2) if kinds["c1"] == "binary" else rng.integers(-3, 3))
    elif not plain and rng.random() < 0.3:
        bounds["c1"] = (min(row[1], -1.0), max(row[1], 0.5)) if not math.isnan(row[1]) else (-1.0, 0.5)
        bounds["c1"] = tuple(forest.floats.round(end) for end in bounds["c1"])
    if not plain and rng.random() < 0.3:
        first, second = rng.choice([-2.0, 0.0, 0.25, 0.5, 1.0], 2).tolist()

        def rule(_: float, c1: float, c2: float) -> bool:
            return not c1 <= first or c2 >= second

        constraints = [f"if c1 <= {first} then c2 >= {second}"]
        if row[1] <= first and not row[2] >= second:
            row[2] = second
    if not plain and rng.random() < 0.2 and not math.isnan(row[1]):  # a value far from all cuts
        far = -1000.0 if rng.random() < 0.5 else 1000.0
        if "c1" not in bounds and kinds.get("c1") != "binary" and (rule is None or rule(0, far, row[2])):
            row[1] = far
    ends = {"c1": [first], "c2": [second, forest.floats.next(second, -9)]} if constraints else {}
    explainer = tp.Explainer(
        forest, kinds=kinds, bounds=bounds, constraints=constraints, groups=groups, tabulate=bool(rng.random() < 0.15)
    )
    return World(explainer, row, kinds=kinds, bounds=bounds, ends=ends, rule=rule)
