"""Random limits and scales for changes of a row, and by enumeration what changes there are and how far they are.

Independent of cells: a number is tried on, and beside, every threshold and every limit, where nearest values can lie.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

import treeproof as tp
from generators import THRESHOLDS, random_forest, random_row
from treeproof.model.forest import Forest
from treeproof.model.rows import as_row

CUTS = sorted({float(np.float32(t)) for t in THRESHOLDS} | {float(np.nextafter(np.float32(0.1), np.float32(0)))})
BESIDE = [float(np.nextafter(np.float32(t), np.float32(end))) for t in CUTS for end in (-9, 9)]
# Ends of limits: on and beside thresholds, also by less than a float32 tells apart, and where written numbers round.
ENDS = [-9.0, -2.0, -1.5, 0.0, 1e-9, 0.1, 0.1 + 1e-12, 0.2500000001, 0.25, 0.4999999999, 0.7, 1.0, 1.0 + 1e-12, 2.0]
SCALES = [0.1, 0.3, 1, 2.5, 7, Fraction(1, 3)]


@dataclass
class Case:
    """An explainer, a row, and what a change of it may do."""

    explainer: tp.Explainer
    row: list[Any]
    fixed: list[str] = field(default_factory=list)
    directions: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)
    scale: dict[str, Any] = field(default_factory=dict)
    rule: tuple[float, float] | None = None

    def allows(self, row: list[float]) -> bool:
        """Whether a row keeps the rule "if c1 <= first then c2 >= second"."""
        return self.rule is None or row[1] > self.rule[0] or row[2] >= self.rule[1]

    @property
    def options(self) -> dict[str, Any]:
        return {"fixed": self.fixed, "directions": self.directions, "limits": self.limits, "scale": self.scale}


def random_case(seed: int, vote: str, *, limited: bool, oracle: str = "native") -> Case:
    """A tiny forest of three features, at times with a categorical, ordinal or binary one, a one-hot group, a rule."""
    rng = np.random.default_rng(seed)
    grouped = bool(rng.random() < 0.4)
    forest = random_forest(
        rng,
        vote=vote,
        n_columns=4 if grouped else 3,
        n_classes=int(rng.integers(2, 5)),
        n_trees=int(rng.integers(1, 8)),
        categorical=bool(rng.random() < 0.4),
    )
    row = random_row(rng, forest)
    kinds: dict[str, Any] = {}
    one_hot = {}
    if rng.random() < 0.5:
        kinds["c1"] = str(rng.choice(["ordinal", "binary"]))
        row[1] = float(rng.integers(0, 2) if kinds["c1"] == "binary" else rng.integers(-3, 3))
    if grouped:
        one_hot["group"] = ["c2", "c3"]
        row[2:] = [0.0, 1.0] if rng.random() < 0.5 else [1.0, 0.0]
    tabulate = bool(rng.random() < 0.15)
    options = {"tabulate": tabulate} if oracle == "native" else {}
    rule, constraints = None, []
    if not grouped and rng.random() < 0.3:
        rule = tuple(rng.choice([-2.0, 0.0, 0.25, 0.5, 1.0], 2).tolist())
        constraints = [f"if c1 <= {rule[0]} then c2 >= {rule[1]}"]
        if row[1] <= rule[0]:
            row[2] = max(row[2], rule[1])
    explainer = tp.Explainer(forest, kinds=kinds, one_hot=one_hot, constraints=constraints, oracle=oracle, **options)
    case = Case(explainer, row, rule=rule)
    for feature in case.explainer.space.features:
        if rng.random() < 0.4:
            case.scale[feature.name] = SCALES[rng.integers(len(SCALES))]
        if limited:
            _limit(rng, case, feature)
    return case


def _limit(rng: np.random.Generator, case: Case, feature: Any) -> None:
    if rng.random() < 0.15:
        case.fixed.append(feature.name)
    if feature.kind == "categorical":
        if rng.random() < 0.5:
            n = int(rng.integers(1, feature.n_cells + 1))
            case.limits[feature.name] = [feature.labels[i] for i in rng.permutation(feature.n_cells)[:n]]
        return
    if rng.random() < 0.25:
        case.directions[feature.name] = str(rng.choice(["up", "down"]))
    if rng.random() < 0.5:
        low, high = sorted(rng.choice(ENDS, 2).tolist())
        if feature.kind == "binary":
            low, high = min(low, 1.0), max(high, 0.0)
        if feature.kind != "real" and math.ceil(low) > math.floor(high):
            high = math.ceil(low)
        case.limits[feature.name] = (None if rng.random() < 0.2 else low, None if rng.random() < 0.2 else high)


@dataclass
class Flip:
    """An input with another label: its columns, as the model reads them, and how far each changed feature is."""

    row: tuple[float, ...]
    label: Any
    distances: dict[int, Fraction]

    @property
    def features(self) -> frozenset[int]:
        return frozenset(self.distances)


def flips(case: Case, target: Any = None) -> list[Flip]:
    """All ways to another label (to `target`), one for each combination of nearest values: there are no nearer ones."""
    explainer, forest = case.explainer, case.explainer.forest
    start = as_row(case.row, forest.columns).tolist()
    choices = [_choices(case, f, feature, start) for f, feature in enumerate(explainer.space.features)]
    rows, moved = [], []
    for chosen in itertools.product(*choices):
        row, distances = list(start), {}
        for f, (values, distance) in enumerate(chosen):
            for column, value in zip(explainer.space.features[f].columns, values, strict=True):
                row[column] = value
            if distance:
                distances[f] = distance
        if case.allows(row):
            rows.append(row)
            moved.append(distances)
    labels = forest.classes[forest.decide(forest.route(np.array(rows, dtype=np.float32)))].tolist()
    own = forest.classes[forest.decide(forest.route(np.array([start], dtype=np.float32)))].tolist()[0]
    return [
        Flip(tuple(row), label, distances)
        for row, label, distances in zip(rows, labels, moved, strict=True)
        if (label != own if target is None else label == target)
    ]


def _choices(case: Case, f: int, feature: Any, start: list[float]) -> list[tuple[list[float], Fraction]]:
    """What a feature may become, with distances: itself and, of values that no split tells apart, the nearest."""
    here = [start[column] for column in feature.columns]
    scale = Fraction(str(case.scale.get(feature.name, default_scale(case.explainer.forest, feature))))
    stay = [(here, Fraction(0))]
    if feature.name in case.fixed:
        return stay
    if feature.kind == "categorical":
        allowed = case.limits.get(feature.name, feature.labels)
        points = zip(feature.labels, feature.points.tolist(), strict=True)
        return stay + [(point, 1 / scale) for label, point in points if point != here and label in allowed]
    value = here[0]
    low, high = case.limits.get(feature.name, (None, None))
    whole = feature.kind != "real"
    first = -math.inf if low is None else float(np.float32(math.ceil(low) if whole else low))
    last = math.inf if high is None else float(np.float32(math.floor(high) if whole else high))
    tried = {"binary": [0.0, 1.0], "integer": [float(i) for i in range(-12, 12)], "real": [*CUTS, *BESIDE, first, last]}
    way = case.directions.get(feature.name)
    cuts = CUTS if case.rule is None else [*CUTS, float(np.nextafter(np.float32(case.rule[1]), np.float32(-9)))]
    nearest: dict[tuple[bool, ...], float] = {}
    for new in tried[feature.kind]:
        same = tuple(new <= cut for cut in cuts)
        if not first <= new <= last or not math.isfinite(new) or same == tuple(value <= cut for cut in cuts):
            continue
        if (way == "up" and new < value) or (way == "down" and new > value):
            continue
        if same not in nearest or abs(new - value) < abs(nearest[same] - value):
            nearest[same] = new
    return stay + [([new], abs(Fraction(new) - Fraction(value)) / scale) for new in nearest.values()]


def default_scale(forest: Forest, feature: Any) -> Fraction:
    """The span between the first and the last cut of a feature."""
    if feature.kind == "categorical":
        return Fraction(1)
    cuts = forest.threshold[forest.feature == feature.columns[0]].tolist()
    if feature.kind != "real":
        cuts = [math.floor(cut) for cut in cuts]
    return Fraction(max(cuts, default=0)) - Fraction(min(cuts, default=0)) or Fraction(1)


def minimal(sets: list[frozenset[int]]) -> set[frozenset[int]]:
    """The sets of which no other one is a proper subset."""
    return {s for s in sets if not any(other < s for other in sets)}
