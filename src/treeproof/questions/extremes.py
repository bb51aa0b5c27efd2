"""The lowest and the highest score that any input has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from treeproof.errors import InputError, UnsupportedQueryError
from treeproof.model.columns import Label
from treeproof.model.floats import rounded_down
from treeproof.model.scores import Link, single_score
from treeproof.oracles.native import NativeOracle
from treeproof.proof.certificate import Certificate, certify
from treeproof.query.cells import discretise
from treeproof.query.context import Context, deadline_after, sooner
from treeproof.query.oracle import Stays
from treeproof.query.sums import Score, sum_forest
from treeproof.questions.everywhere import (
    Everywhere,
    Input,
    downward,
    everywhere,
    float_above,
    named,
    score_for,
    upward,
)
from treeproof.questions.result import Line, Result, as_plain, certified
from treeproof.search.extremes import Extreme, largest
from treeproof.space.wording import show_class

Side = Literal["lowest", "highest"]


@dataclass(frozen=True, slots=True)
class End:
    """The lowest or the highest score: that of an `input`, and a `bound` that no input's score is beyond.

    `exact` says that no input is beyond this one but for the model's own rounding; otherwise timed out. Both numbers
    are the model's own score; `bound` is rounded away from the scores.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, _ = tp.examples.heart_disease()
    >>> lowest = tp.Explainer(forest).extremes().lowest
    >>> lowest.value, lowest.exact
    (0.0, True)
    """

    input: Input
    value: float
    bound: float
    exact: bool

    @property
    def gap(self) -> float:
        """How far the bound is from the score of the input."""
        return abs(self.bound - self.value)


@dataclass(frozen=True, slots=True, repr=False)
class Extremes(Result):
    """The lowest and the highest score over all inputs, or over those of `where`; proved.

    `score` says what the score is, `label` of which class. `status` is ``"exact"`` or ``"bounds"`` (timed out: the
    ends lie between ``value`` and ``bound``).

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, _ = tp.examples.heart_disease()
    >>> print(tp.Explainer(forest).extremes(where="weight <= 60"))
    share of the votes for Yes, where weight <= 60: from 0 to 0.666667
      lowest 0 (No), with blocked-arteries = 0, good-blood-circulation = 0, chest-pain = 0, weight = 0
      highest 0.666667 (Yes), with blocked-arteries = 0.501, good-blood-circulation = 0, chest-pain = 0.501, weight = 0
    Proved: between 0 and 0.666667 for every such input; these two reach that, up to rounding.
    """

    score: str
    label: Label | None
    lowest: End
    highest: End
    where: tuple[str, ...]
    status: Literal["exact", "bounds"]
    constraints: tuple[str, ...] = ()
    _certify: Callable[..., Any] | None = field(default=None, repr=False, compare=False)

    @property
    def title(self) -> str:
        """The score, and its ends."""
        where = f", where {' and '.join(self.where)}" if self.where else ""
        return f"{self.score}{where}: from {self.lowest.value:g} to {self.highest.value:g}"

    @property
    def lines(self) -> list[Line]:
        """The inputs, and what is proved."""
        ends = [
            Line("row", f"{side} {end.value:g} ({show_class(end.input.label)}), with {end.input}")
            for side, end in (("lowest", self.lowest), ("highest", self.highest))
        ]
        low, high = downward(self.lowest.bound), upward(self.highest.bound)
        proved = f"Proved: between {low} and {high} for every {'such ' * bool(self.where)}input"
        if self.constraints:
            proved += f" that satisfies: {'; '.join(self.constraints)}"
        if self.status == "exact":
            return [*ends, Line("proved", f"{proved}; these two reach that, up to rounding.")]
        return [*ends, Line("open", f"{proved}. Timed out; the ends may be closer to those of the inputs.")]

    @property
    def decided(self) -> bool:
        """Whether both ends are known."""
        return self.status == "exact"

    def certificate(self, timeout: float | None = None, *, side: Side = "highest") -> Any:
        """Return a `Certificate` that no input's score is beyond the bound.

        Its model is the score with a cut there: ``certificate.forest``.
        """
        if side not in ("lowest", "highest"):
            raise InputError(f"A side must be 'lowest' or 'highest'. Got {side!r}.")
        return certified(None if self._certify is None else partial(self._certify, side=side), timeout)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""
        return {"kind": "extremes", **as_plain(self)}


def find_extremes(context: Context, of: Any, where: Any, link: Link | None, timeout: float | None) -> Extremes:
    """Return the ends of the score over the inputs of `where`."""
    part = everywhere(context, where, timeout)
    score = score_for(context, of)
    found, ends = {}, {}
    for side, sign in (("highest", 1), ("lowest", -1)):
        forest = sum_forest(context.cells, sign * score.numbers[:, None])
        # The first side may not use up the time of the second.
        limit = part.deadline if side == "lowest" else sooner(part.deadline)
        end = found[side] = largest(forest, part.domains, part.near, limit)
        if end.bound is None:
            raise InputError(f"No input satisfies the conditions{part.under} together with the constraints.")
        if end.point is None:
            raise UnsupportedQueryError("Timed out before an input was found; allow more time.")
        ends[side] = _end(part, score, end, sign, link)
    exact = all(end.exact for end in found.values())
    clauses = frozenset().union(*(end.clauses for end in found.values()))
    name = named(score) if link is None else "prediction"
    return Extremes(
        name,
        score.label,
        ends["lowest"],
        ends["highest"],
        part.conditions,
        "exact" if exact else "bounds",
        context.constraints(clauses),
        _certify=partial(_certify, part, score, found),
    )


def _end(part: Everywhere, score: Score, found: Extreme, sign: int, link: Link | None) -> End:
    assert found.point is not None
    assert found.bound is not None
    seen = part.shown(found.point, score)
    assert seen.score is not None
    bound = float_above(score.at_most(found.bound)) if sign > 0 else rounded_down(score.at_least(-found.bound))
    if link is None:
        return End(seen, seen.score, bound, found.exact)
    numbers = part.context.forest.decision.floats

    def linked(total: float) -> float:
        return float(link(np.array([total], dtype=numbers.dtype))[0])

    outer = numbers.round(bound)
    if (outer - bound) * sign < 0:
        outer = numbers.next(outer, sign * np.inf)
    value = linked(seen.score)
    return End(replace(seen, score=value), value, linked(outer), found.exact)


def _certify(
    part: Everywhere, score: Score, found: dict[str, Extreme], timeout: float | None, side: Side = "highest"
) -> Certificate:
    """Return the certificate that the score stays on its side of a cut at the bound."""
    context, end = part.context, found[side]
    assert end.point is not None
    assert end.bound is not None
    forest = single_score(context.forest, score.index)
    numbers = forest.decision.floats
    if side == "highest":
        cut = numbers.next(numbers.round(float_above(score.at_most(end.bound))), np.inf)
        label = 0
    else:
        cut = numbers.next(numbers.round(rounded_down(score.at_least(-end.bound))), -np.inf)
        label = 1
    stated = forest.with_cuts([cut], [f"< {cut!r}", f">= {cut!r}"])
    space = replace(context.space, forest=stated)
    cells = discretise(space)
    other = replace(
        context, forest=stated, space=space, cells=cells, oracle=NativeOracle(cells), labels=stated.classes.tolist()
    )
    instance = other.locate(part.row(end.point))
    kept = {f: domain for f, domain in enumerate(part.domains) if len(domain) < cells.n_cells[f]}
    return certify(other, instance, Stays(label), kept, minimal=False, deadline=deadline_after(timeout))
