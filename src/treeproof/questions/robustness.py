"""How far the prediction is from another one: the radius within which it is proved constant, and the nearest flip."""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any, Literal, get_args

from treeproof.errors import InputError, InternalError
from treeproof.model.columns import Label, Value
from treeproof.query.cache import Memory
from treeproof.query.context import Setting
from treeproof.query.oracle import Entailed, Refuted
from treeproof.query.tally import Statistics
from treeproof.questions.moves import Moves, as_float, joined
from treeproof.questions.result import Changed, Result, Scales, _card, _near_ties, as_plain
from treeproof.search.closest import Closest, Costs, closest, closest_maximum
from treeproof.search.minimal import contrastive
from treeproof.search.minimum import minimum_contrastive

Norm = Literal["linf", "l1", "l0"]


def measure(
    setting: Setting, moves: Moves, norm: Norm, target: Any, ordering: list[int], timeout: float | None
) -> Robustness:
    """Return the distance of the nearest input with another label, or bounds of it at the deadline."""
    if norm not in get_args(Norm):
        raise InputError(f"The 'norm' parameter must be one of {get_args(Norm)}. Got {norm!r} instead.")
    if norm == "l0" and moves.scales:
        raise InputError("A scale has no meaning for norm='l0', which counts changed features. Leave it out.")
    start = time.perf_counter()
    memory = setting.memory(moves.instance, setting.claim(moves.instance, target), timeout)
    costs, unit = _costs(moves, norm)
    answer = memory.ask(frozenset())
    found = _search(memory, norm, costs, ordering, answer) if isinstance(answer, Refuted) else None
    if found is not None:
        bound: int | None = found.bound
    else:
        bound = None if isinstance(answer, Entailed) else _nearest_cell(memory, costs)
    proved = None if bound is None else bound * unit
    nearest = None if found is None else found.cost * unit
    return _result(setting, moves, norm, target, found, proved, nearest, setting.statistics(memory, start))


def _costs(moves: Moves, norm: Norm) -> tuple[Costs, Fraction]:
    """Return the distances of all cells, in whole units, and the unit."""
    features = range(len(moves.free))
    if norm != "l0":
        return moves.costs(features, stay=True)
    home = moves.instance.point
    return {f: {cell: int(cell != home[f]) for cell in moves.free[f]} for f in features}, Fraction(1)


def _nearest_cell(memory: Memory, costs: Costs) -> int | None:
    """Return the least distance at which anything leaves the instance's own cells: closer, nothing can change."""
    others = (cost for f, cells in costs.items() for cell, cost in cells.items() if cell != memory.point[f])
    return min(others, default=None)


def _search(memory: Memory, norm: Norm, costs: Costs, ordering: list[int], answer: Refuted) -> Closest:
    if norm == "linf":
        return _with_few_changes(memory, costs, ordering, closest_maximum(memory, costs, answer))
    if norm == "l0":
        fewest = minimum_contrastive(memory, ordering, dict.fromkeys(memory.features, 1), answer)
        return Closest(fewest.found.witness, len(fewest.found.features), max(fewest.bound, 1))
    # The closest witness of a minimal change is soon found and good to begin with.
    change = contrastive(memory, ordering, answer)
    inside = {f: {cell: costs[f][cell] for cell in costs[f] if cell != memory.point[f]} for f in change.features}
    return closest(memory, costs, closest(memory, inside, change.witness).witness)


def _with_few_changes(memory: Memory, costs: Costs, ordering: list[int], found: Closest) -> Closest:
    """Return a witness that is as close in the largest change, and of which no change can be left out."""
    near = [frozenset(c for c, cost in costs[f].items() if cost <= found.cost) for f in sorted(costs)]
    free = [joined(cells, memory.forest.ordered[f]) for f, cells in enumerate(near)]
    inside = Memory(memory.forest, memory.oracle, memory.point, memory.claim, memory.deadline, free=free)
    inside.tally = memory.tally
    witness = contrastive(inside, ordering, found.witness).witness
    cost = max(costs[f][witness.witness[f]] for f in costs)
    return Closest(witness, cost, found.bound)


def _result(
    setting: Setting,
    moves: Moves,
    norm: Norm,
    target: Any,
    found: Closest | None,
    proved: Fraction | None,
    nearest: Fraction | None,
    stats: Statistics,
) -> Robustness:
    reached = moves.reach(found.witness) if found else None
    if found:
        parts = moves.distances(found.witness)
        if {"linf": max(parts), "l1": sum(parts), "l0": len(parts)}[norm] != nearest:
            raise InternalError(f"The witness {found.witness} is not at the distance {nearest}; please report this.")
    return Robustness(
        label=setting.labels[moves.instance.label],
        norm=norm,
        proved_exact=proved,
        nearest_exact=nearest,
        witness=reached.values if reached else None,
        witness_label=reached.label if reached else None,
        changes=tuple(reached.changes.values()) if reached else (),
        target=setting.label_of(target),
        instance=setting.present(moves.instance.row),
        status="constant" if proved is None else "exact" if proved == nearest else "bounds",
        n_features=setting.space.n_features,
        stats=stats,
        _scales=Scales(
            tuple(setting.space.features[f] for f in reached.changes) if reached else (),
            setting.forest.columns,
            setting.forest.floats,
        ),
    )


@dataclass(frozen=True, slots=True, repr=False)
class Robustness(Result):
    """The distance within which the prediction is proved constant, and the nearest input found at which it is not.

    Every input of the space at a distance below `proved` has the same label (with a `target`: not that label); the
    `witness`, at the distance `nearest`, has another one (the target). `proved` is rounded down and `nearest` up, so
    that both remain true as floats; `proved_exact` and `nearest_exact` are not rounded. Inputs are read as the model
    reads them, in float32.

    `status` is ``"exact"`` (both are the same distance), ``"constant"`` (proved: no input of the space has another
    label, however far; `proved` is infinite and there is no witness) or ``"bounds"`` (the time was up: the nearest flip
    is not closer than `proved`, and not farther than `nearest`, if that is known).

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> print(tp.Explainer(forest).robustness(patient))
    No instead of Yes, if
      chest-pain: 1 -> 0.5
    Proved: every input at a distance below 0.5 keeps the label; this one is within 0.5.
    Distance: the largest scaled change of a feature.
    """

    label: Label
    norm: Norm
    proved_exact: Fraction | None
    nearest_exact: Fraction | None
    witness: tuple[Value, ...] | None
    witness_label: Label | None
    changes: tuple[Changed, ...]
    target: Label | None
    instance: tuple[Value, ...]
    status: Literal["exact", "constant", "bounds"]
    n_features: int
    stats: Statistics = field(compare=False)
    _scales: Scales | None = field(default=None, repr=False, compare=False)

    @property
    def proved(self) -> float:
        """The radius within which the label is proved constant, rounded down; infinite if nothing changes it."""
        return math.inf if self.proved_exact is None else _down(self.proved_exact)

    @property
    def nearest(self) -> float:
        """The distance of the nearest flip found, rounded up; infinite if there is none."""
        return math.inf if self.nearest_exact is None else -_down(-self.nearest_exact)

    def __str__(self) -> str:
        return "\n".join([self._title(), *(f"  {change}" for change in self.changes), self._claim()])

    def _title(self) -> str:
        if self.witness is None:
            return f"{self.label}, and not {'anything else' if self.target is None else self.target}"
        return f"{self.witness_label} instead of {self.label}, if"

    def _claim(self) -> str:
        if self.proved_exact is None:
            every = "every input of the space keeps the label"
            return f"Proved: {every if self.target is None else f'no input of the space gets the label {self.target}'}."
        if self.norm == "l0":
            where = f"that changes fewer than {self.proved_exact} of {self.n_features} features"
            this = f"this one changes {self.nearest_exact}"
        else:
            where = f"at a distance below {_text(self.proved_exact, ROUND_FLOOR)}"
            this = f"this one is within {_text(self.nearest_exact or Fraction(0), ROUND_CEILING)}"
        stays = f"every input {where} keeps the label"
        proved = f"Proved: {stays if self.target is None else f'no input {where} gets the label {self.target}'}"
        unit = "" if self.norm == "l0" else f" Distance: {_MEANING[self.norm]}."
        if self.nearest_exact is None:
            return f"{proved}. The time was up before one was found that does not.{unit}{_near_ties(self.stats)}"
        late = "" if self.status == "exact" else " Perhaps there is a nearer one, the time was up."
        return f"{proved}; {this}.{late}{unit}{_near_ties(self.stats)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON: exact distances as text, and None for infinite ones."""
        plain = as_plain(self)
        for name in ("proved", "nearest"):
            exact = getattr(self, f"{name}_exact")
            plain[name] = None if exact is None else getattr(self, name)
            plain[f"{name}_exact"] = None if exact is None else str(exact)
        return {"kind": "robustness", **plain}

    def plot(self, data: Any = None, ax: Any = None) -> Any:
        """Draw each change as an arrow on the scale of its feature; return the axes. See `treeproof.plots.changes`."""
        from treeproof.show import plots

        return plots.changes(self, data, ax)

    def _repr_html_(self) -> str:
        return _card(self._title(), [str(change) for change in self.changes], self._claim())


_MEANING = {"linf": "the largest scaled change of a feature", "l1": "the sum of the scaled changes"}


def _down(value: Fraction) -> float:
    """Return the largest float that is not above the value."""
    nearest = as_float(value)
    if nearest == math.inf:
        return sys.float_info.max
    return nearest if nearest == -math.inf or Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)


def _text(value: Fraction, rounding: str) -> str:
    """Return the value in six digits, rounded as told."""
    digits = Context(prec=6, rounding=rounding).divide(Decimal(value.numerator), Decimal(value.denominator))
    return f"{digits.normalize():f}" if -6 < digits.adjusted() < 12 else str(digits)
