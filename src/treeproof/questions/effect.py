"""What a change of some features alone can do, over all inputs: to the score, and to the label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np

from treeproof.errors import InputError, UnsupportedQueryError, is_list
from treeproof.model.columns import Label
from treeproof.proof.certificate import Certificate
from treeproof.proof.pairs import certify_independent, certify_pair
from treeproof.query.context import Context, deadline_after, sooner
from treeproof.query.sums import Score
from treeproof.query.twins import Trees, Twins, spread
from treeproof.questions.everywhere import (
    Everywhere,
    Input,
    at_most,
    downward,
    everywhere,
    float_above,
    named,
    score_for,
)
from treeproof.questions.result import Line, Result, Role, as_plain, certified, under
from treeproof.search.extremes import Extreme, largest
from treeproof.search.labels import Disagreement, copies_differ
from treeproof.space.domains import Cells
from treeproof.space.wording import show_class, show_name


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(show_name, names))


def pair_lines(before: Input, after: Input, n_changed: int) -> list[Line]:
    """Return two inputs that differ in their first features, as lines."""

    def seen(one: Input) -> str:
        return show_class(one.label) if one.score is None else f"{one.score:g} ({show_class(one.label)})"

    changed = ", ".join(after.text[:n_changed])
    return [Line("row", f"{seen(before)} with {before}"), Line("row", f"{seen(after)} with {changed} instead")]


@dataclass(frozen=True, slots=True, repr=False)
class Effect(Result):
    """The largest change of the score when these features alone change, over all inputs; proved.

    `before` and `after` are two inputs that differ in these features alone; `value` is the change of the model's own
    score between them, and no such pair has a larger one than `bound`. `changes_label` says whether some such pair has
    different labels: see `Independence`. `status` is ``"exact"`` (but for rounding) or ``"bounds"`` (timed out).

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, _ = tp.examples.heart_disease()
    >>> print(tp.Explainer(forest).effect("weight"))
    weight alone changes the share of the votes for Yes by up to 0.333333
      0 (No) with weight = 0, blocked-arteries = 0, good-blood-circulation = 0, chest-pain = 0
      0.333333 (No) with weight = 75.1 instead
    Proved: by no more than 0.333333, up to rounding, whatever the other features are.
    It can change the label: No with weight = 0; Yes with weight = 75.1.
    """

    features: tuple[str, ...]
    score: str
    label: Label | None
    before: Input
    after: Input
    value: float
    bound: float
    status: Literal["exact", "bounds"]
    labels: Independence
    where: tuple[str, ...]
    constraints: tuple[str, ...] = ()
    _certify: Callable[[float | None], Any] | None = field(default=None, repr=False, compare=False)

    def certificate(self, timeout: float | None = None) -> Any:
        """Return a `Certificate` that no two inputs that differ in these features alone differ by more than `bound`.

        What it proves is larger than that by as much as rounding needs.
        """
        return certified(self._certify, timeout)

    @property
    def changes_label(self) -> bool | None:
        """Whether these features alone can change the label; None if that is not decided."""
        return None if self.labels.holds is None else not self.labels.holds

    @property
    def title(self) -> str:
        """The features, and what they do."""
        where = f", where {' and '.join(self.where)}" if self.where else ""
        if self.value == 0 and self.status == "exact":
            return f"{_listed(self.features)} alone: no effect on the {self.score}{where}"
        size = f"by up to {self.value:g}" if self.status == "exact" else f"by {downward(self.value)} or more"
        return f"{_listed(self.features)} alone changes the {self.score} {size}{where}"

    @property
    def lines(self) -> list[Line]:
        """The pair of inputs, what is proved, and what it does to the label."""
        shown = pair_lines(self.before, self.after, len(self.features)) if self.value else []
        most = at_most(self.bound, self.value, self.status == "exact")
        proved = f"Proved: by no more than {most}, whatever the other features are."
        proved += under(self.constraints)
        late = " Timed out; the largest change lies between the two."
        lines = [*shown, Line("proved", proved) if self.status == "exact" else Line("open", proved + late)]
        return [*lines, *self.labels.statement()]

    @property
    def decided(self) -> bool:
        """Whether the largest change is known, and whether the label can change."""
        return self.status == "exact" and self.labels.decided

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""
        return {"kind": "effect", **as_plain(self)}


@dataclass(frozen=True, slots=True, repr=False)
class Independence(Result):
    """Whether no label ever depends on these features: no two inputs that differ in them alone have different labels.

    `holds` is True (proved for all inputs), False (`before` and `after` show it) or None. Then `status` is ``"ties"``
    (proved except for inputs at which the sums of two classes are as close as rounding may turn) or ``"unknown"``
    (timed out); otherwise ``"proved"``.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, _ = tp.examples.heart_disease()
    >>> print(tp.Explainer(forest).independent(["weight"]))
    The label depends on weight
      No with weight = 0, blocked-arteries = 0, good-blood-circulation = 0, chest-pain = 0.501
      Yes with weight = 75.1 instead
    """

    features: tuple[str, ...]
    holds: bool | None
    before: Input | None
    after: Input | None
    status: Literal["proved", "ties", "unknown"]
    where: tuple[str, ...]
    constraints: tuple[str, ...] = ()
    _certify: Callable[[float | None], Any] | None = field(default=None, repr=False, compare=False)

    def certificate(self, timeout: float | None = None) -> Any:
        """Return a `Certificate` that no two inputs that differ in these features alone have different labels."""
        return certified(self._certify, timeout)

    def __bool__(self) -> bool:
        if self.holds is None:
            raise ValueError("Whether the label depends on these features was not decided; see .holds.")
        return self.holds

    @property
    def title(self) -> str:
        """Whether the label depends on them."""
        where = f", where {' and '.join(self.where)}" if self.where else ""
        if self.holds is None:
            return f"Not decided: whether the label depends on {_listed(self.features)}{where}"
        return f"The label {'never depends' if self.holds else 'depends'} on {_listed(self.features)}{where}"

    @property
    def title_role(self) -> Role:
        """Whether it is decided."""
        return "open" if self.holds is None else "title" if self.holds else "refuted"

    @property
    def lines(self) -> list[Line]:
        """The pair of inputs, or what is proved."""
        if self.before is not None and self.after is not None:
            return pair_lines(self.before, self.after, len(self.features))
        if self.holds:
            return [Line("proved", f"Proved for every input.{under(self.constraints)}")]
        if self.status == "ties":
            close = "except where two classes are as close as rounding may turn"
            return [Line("open", f"Proved: it does not, {close}.{under(self.constraints)}")]
        return [Line("open", "Timed out.")]

    def statement(self) -> list[Line]:
        """Return what it says about the label as one line."""
        if self.before is not None and self.after is not None:
            n = len(self.features)
            one, other = (f"{show_class(i.label)} with {', '.join(i.text[:n])}" for i in (self.before, self.after))
            return [Line("note", f"It can change the label: {one}; {other}.")]
        if self.holds:
            return [Line("proved", f"Proved: it never changes the label.{under(self.constraints)}")]
        return self.lines

    @property
    def decided(self) -> bool:
        """Whether it is proved or refuted."""
        return self.status == "proved"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""
        return {"kind": "independence", **as_plain(self)}


def find_effect(context: Context, features: Any, of: Any, where: Any, timeout: float | None) -> Effect:
    """Return the largest change of the score when these features alone change."""
    part, score = everywhere(context, where, timeout), score_for(context, of)
    chosen = _chosen(context, features)
    twins = Twins(context.cells, tuple(chosen))
    found = _largest_change(part, twins, score)
    if found.bound is None:
        raise InputError(f"No input satisfies the conditions{part.under} together with the constraints.")
    if found.point is None:
        raise UnsupportedQueryError("Timed out before a pair of inputs was found; allow more time.")
    before, after = _shown(part, twins.pair(found.point), chosen, score)
    assert before.score is not None
    assert after.score is not None
    rounding = 2 * score.error + (len(twins.touched) * score.unit / score.divisor if score.slack else 0)
    bound = Fraction(0) if not len(twins.touched) else found.bound * score.unit / score.divisor + rounding
    if np.isfinite([score.floor, score.ceiling]).all():
        bound = min(bound, Fraction(score.ceiling) - Fraction(score.floor))
    own = frozenset(c for c in found.clauses if c < len(context.cells.clauses))
    return Effect(
        context.names(chosen),
        named(score),
        score.label,
        before,
        after,
        after.score - before.score,
        float_above(bound),
        "exact" if found.exact else "bounds",
        _independence(part, chosen),
        part.conditions,
        context.constraints(own),
        _certify=partial(_certify, part, score, chosen, found.bound),
    )


def _largest_change(part: Everywhere, twins: Twins, score: Score) -> Extreme:
    """Return the largest change of the sum; without time to compare trees, what their leaves differ by at most."""
    touched, limit = twins.touched, sooner(part.deadline)
    trees = Trees(twins.cells, 1, twins, limit)
    try:
        trees.add_difference(touched.tolist(), 0, score.numbers)
    except TimeoutError:
        bound = spread(twins.cells, score.numbers, touched)
        return Extreme(twins.joint(part.near), 0, bound) if part.allowed(part.near) else Extreme(None, None, bound)
    return largest(trees.forest(), twins.domains(part.domains), twins.joint(part.near), limit)


def _certify(part: Everywhere, score: Score, chosen: list[int], bound: int, timeout: float | None) -> Certificate:
    most = bound * score.unit + score.slack
    return certify_pair(part.meant(chosen), score.index, None, most, deadline_after(timeout))


def is_independent(context: Context, features: Any, where: Any, timeout: float | None) -> Independence:
    """Decide whether the label ever depends on these features."""
    return _independence(everywhere(context, where, timeout), _chosen(context, features))


def _independence(part: Everywhere, chosen: list[int]) -> Independence:
    context = part.context
    found: Disagreement = copies_differ(context.cells, chosen, part.domains, part.near, part.deadline)
    before = after = None
    if found.point is not None:
        pair = Twins(context.cells, tuple(chosen)).pair(found.point)
        before, after = _shown(part, _closer(part, pair), chosen, None)
    own = frozenset(c for c in found.clauses if c < len(context.cells.clauses))
    statuses: dict[str, Literal["proved", "ties", "unknown"]] = {"ties": "ties", "unknown": "unknown"}
    return Independence(
        context.names(chosen),
        {"same": True, "differ": False}.get(found.status),
        before,
        after,
        statuses.get(found.status, "proved"),
        part.conditions,
        context.constraints(own),
        _certify=partial(_certify_labels, part, chosen) if found.status == "same" else None,
    )


def _certify_labels(part: Everywhere, chosen: list[int], timeout: float | None) -> Certificate:
    return certify_independent(part.meant(chosen), deadline_after(timeout))


def _closer(part: Everywhere, pair: tuple[Cells, Cells]) -> tuple[Cells, Cells]:
    """Return a pair of which fewer doubled features differ, as far as single ones can be put back."""
    before, after = pair
    cells = part.context.cells
    for f, own in enumerate(before):
        if after[f] != own:
            tried = (*after[:f], own, *after[f + 1 :])
            if part.allowed(tried) and cells.label(tried) != cells.label(before):
                after = tried
    return before, after


def _shown(part: Everywhere, pair: tuple[Cells, Cells], chosen: list[int], score: Any) -> tuple[Input, Input]:
    features = [*chosen, *(f for f in part.context.cells.tested if f not in chosen)]
    before, after = (part.shown(point, score, features) for point in pair)
    return before, after


def _chosen(context: Context, features: Any) -> list[int]:
    if not is_list(features):
        features = [features]
    chosen = list(dict.fromkeys(context.features(list(features))))
    if not chosen:
        raise InputError("At least one feature must be named. Got none.")
    return chosen
