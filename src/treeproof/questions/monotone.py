"""Whether the score is monotone in a feature, whatever the others are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, Literal

from treeproof.errors import InputError
from treeproof.model.columns import Label
from treeproof.proof.certificate import Certificate
from treeproof.proof.pairs import certify_pair
from treeproof.query.context import Context, deadline_after
from treeproof.query.sums import Score
from treeproof.questions.everywhere import (
    Everywhere,
    Input,
    at_most,
    downward,
    everywhere,
    float_above,
    named,
    score_for,
    upward,
)
from treeproof.questions.result import Line, Result, Role, aligned, as_plain, certified, under
from treeproof.search.monotone import falls
from treeproof.space.features import NumericFeature
from treeproof.space.wording import show_name


@dataclass(frozen=True, slots=True, repr=False)
class Monotone(Result):
    """Whether the score never falls (`increasing`), or never rises, as a feature grows and nothing else changes.

    `holds` is True (proved for all inputs), False (`before` and `after` show it: two inputs that differ in the feature
    alone, by one step between neighbouring values) or None (timed out). `violation` is the size of the largest such
    step against the direction that was found, and `bound` a number that none exceeds; `largest` says that it is proved
    to be the largest there is, but for rounding.

    What is proved is about the exact sums of the model's leaves. Adding them in floats may turn a step the other way by
    no more than `rounding`; that is 0 if no single tree ever does, for then floats do not either. (Of trees in parts
    that are weighted it is not: their leaves are compared after the weight, which is rounded.)

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, _ = tp.examples.heart_disease()
    >>> explainer = tp.Explainer(forest)
    >>> print(explainer.monotone("chest-pain", of="Yes"))
    chest-pain: the share of the votes for Yes never falls as it grows
    Proved for every input.
    >>> explainer.monotone("chest-pain", of="Yes", increasing=False).holds
    False
    """

    feature: str
    increasing: bool
    score: str
    label: Label | None
    holds: bool | None
    before: Input | None
    after: Input | None
    violation: float
    bound: float
    rounding: float
    where: tuple[str, ...]
    constraints: tuple[str, ...] = ()
    largest: bool = False
    _certify: Callable[[float | None], Any] | None = field(default=None, repr=False, compare=False)

    def certificate(self, timeout: float | None = None) -> Any:
        """Return a `Certificate` that the score never turns against the direction, but for rounding."""
        return certified(self._certify, timeout)

    def __bool__(self) -> bool:
        if self.holds is None:
            raise ValueError("Whether the score is monotone was not decided in time; see .holds.")
        return self.holds

    @property
    def title(self) -> str:
        """What was asked."""
        verb = "falls" if self.increasing else "rises"
        name = show_name(self.feature)
        where = f", where {' and '.join(self.where)}" if self.where else ""
        if self.holds is False:
            return f"{name}: the {self.score} {verb} somewhere as it grows{where}"
        asked = f"{name}: the {self.score} never {verb} as it grows{where}"
        return asked if self.holds else f"{name}: not decided whether the {self.score} ever {verb} as it grows{where}"

    @property
    def title_role(self) -> Role:
        """Whether it is decided."""
        return "open" if self.holds is None else "refuted" if self.holds is False else "title"

    @property
    def lines(self) -> list[Line]:
        """What is proved, or the pair of inputs."""
        if self.holds:
            rounding = f", but for rounding (at most {upward(self.rounding)})" if self.rounding else ""
            return [Line("proved", f"Proved for every input{rounding}.{under(self.constraints)}")]
        if self.holds is None:
            most = upward(self.bound)
            return [Line("open", f"Timed out. Proved: in one step by at most {most}.{under(self.constraints)}")]
        assert self.before is not None
        assert self.after is not None
        shown = [
            Line("row", f"{self.before.score:g} with {self.before}"),
            Line("row", f"{self.after.score:g} with {self.after.text[0]} instead"),
        ]
        most = at_most(self.bound, self.violation, self.largest)
        size = f"One step changes it the other way by {self.violation:g}; proved: none by more than {most}."
        return [*shown, Line("proved", size + under(self.constraints))]

    @property
    def size(self) -> str:
        """How large steps against the direction are, in words."""
        return f"by up to {self.violation:g}" if self.largest else f"by {downward(self.violation)} or more"

    @property
    def decided(self) -> bool:
        """Whether the direction is proved or refuted."""
        return self.holds is not None

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""
        return {"kind": "monotone", **as_plain(self)}


@dataclass(frozen=True, slots=True, repr=False)
class Monotonicity(Result):
    """For each feature the direction in which the score is proved to be monotone, as a table.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, _ = tp.examples.heart_disease()
    >>> print(tp.Explainer(forest).monotone(of="Yes"))
    share of the votes for Yes, feature by feature
      blocked-arteries         never falls
      good-blood-circulation   falls by up to 0.666667 and rises by up to 0.333333 in one step
      chest-pain               never falls
      weight                   never falls
    Proved for every input.
    """

    score: str
    label: Label | None
    rising: tuple[Monotone, ...]
    falling: tuple[Monotone, ...]
    where: tuple[str, ...]

    @property
    def title(self) -> str:
        """The score."""
        where = f", where {' and '.join(self.where)}" if self.where else ""
        return f"{self.score}, feature by feature{where}"

    def direction(self, rising: Monotone, falling: Monotone) -> str:
        """Return what is known about a feature, in words."""
        if rising.holds and falling.holds:
            return "does not matter"
        if rising.holds:
            return "never falls"
        if falling.holds:
            return "never rises"
        known = [f"{verb} {one.size}" for one, verb in ((rising, "falls"), (falling, "rises")) if one.holds is False]
        if len(known) < 2:
            known.append(
                "not decided"
                if not known
                else f"whether it ever {'rises' if falling.holds is None else 'falls'} is not decided"
            )
            return "; ".join(known)
        return f"{' and '.join(known)} in one step"

    @property
    def lines(self) -> list[Line]:
        """A line for each feature."""
        pairs = list(zip(self.rising, self.falling, strict=True))
        table = aligned([(show_name(up.feature), self.direction(up, down)) for up, down in pairs], "<<")
        rounding = max(one.rounding for pair in pairs for one in pair) if pairs else 0.0
        but = f", but for rounding (at most {upward(rounding)})" if rounding else ""
        rows = [Line("row", text) for text in table]
        if self.decided:
            sizes = all(one.largest for pair in pairs for one in pair if one.holds is False)
            late = "" if sizes else " Timed out; where it says 'or more', steps may be larger."
            return [*rows, Line("proved", f"Proved for every input{but}.{late}")]
        late = "Timed out; not every feature was decided."
        if any(one.decided for pair in pairs for one in pair):
            late += f" What is said of the others is proved{but}."
        return [*rows, Line("open", late)]

    @property
    def decided(self) -> bool:
        """Whether every direction is proved or refuted."""
        return all(one.decided for one in (*self.rising, *self.falling))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""
        return {"kind": "monotonicity", **as_plain(self)}

    def to_frame(self) -> Any:
        """Return one line for each feature as a pandas frame."""
        from treeproof.model.frames import pandas

        pairs = zip(self.rising, self.falling, strict=True)
        return pandas().DataFrame(
            [
                {
                    "feature": up.feature,
                    "never_falls": up.holds,
                    "never_rises": down.holds,
                    "largest_fall": up.violation,
                    "largest_rise": down.violation,
                }
                for up, down in pairs
            ]
        )


def is_monotone(
    context: Context, feature: str | int, increasing: bool, of: Any, where: Any, timeout: float | None
) -> Monotone:
    """Decide whether the score never falls, or never rises, as a feature grows."""
    part, score = everywhere(context, where, timeout), score_for(context, of)
    (f,) = context.plain.features([feature])
    return _decide(part, score, f, increasing)


def all_monotone(
    context: Context, of: Any, where: Any, timeout: float | None, features: Iterable[int] | None = None
) -> Monotonicity:
    """Decide both directions of every ordered feature that the model tests."""
    part, score = everywhere(context, where, timeout), score_for(context, of)
    tested = context.cells.tested
    chosen = [f for f in tested if _is_ordered(context, f)]
    asked = [(f, increasing) for f in chosen for increasing in (True, False)]
    found = {one: _decide(part, score, *one, largest=False) for one in asked}
    for one in asked:  # the largest steps when it is known of all features whether there are any
        if not found[one].holds:
            better = _decide(part, score, *one)
            found[one] = better if better.violation >= found[one].violation else found[one]
    rising, falling = ([found[f, increasing] for f in chosen] for increasing in (True, False))
    return Monotonicity(named(score), score.label, tuple(rising), tuple(falling), part.conditions)


def _is_ordered(context: Context, f: int) -> bool:
    return isinstance(context.space.features[f], NumericFeature)


def _decide(part: Everywhere, score: Score, f: int, increasing: bool, *, largest: bool = True) -> Monotone:
    context = part.context
    if not _is_ordered(context, f):
        raise InputError(f"A monotone feature must have an order. Got {context.space.names[f]!r}, which has names.")
    sign = 1 if increasing else -1
    feature = context.space.features[f]
    assert isinstance(feature, NumericFeature)
    numbers = sign * score.numbers
    found = falls(
        context.cells, numbers, f, feature.missing_cell, part.domains, part.near, part.deadline, largest=largest
    )
    # What the leaves of members add is rounded, so that two of them may look equal and are not.
    by_tree = found.by_tree and score.slack == 0 and not context.forest.decision.members
    exact = score.keeps_order or by_tree
    rounding = Fraction(0) if exact else 2 * score.error + score.slack / score.divisor
    before = after = None
    violation = 0.0
    if found.fall is not None:
        features = [f, *(g for g in sorted(set(context.cells.feature.tolist()) - {-1, f}))]
        before, after = (part.shown(point, score, features) for point in (found.fall.before, found.fall.after))
        assert before.score is not None
        assert after.score is not None
        violation = sign * (before.score - after.score)
    holds: Literal[True, False] | None = None
    if found.fall is not None and violation > 0:
        holds = False
    elif found.most == 0:
        holds = True
    bound = found.most * score.unit / score.divisor + (rounding if found.most else 0)
    return Monotone(
        context.space.names[f],
        increasing,
        named(score),
        score.label,
        holds,
        before,
        after,
        violation,
        float_above(Fraction(bound)),
        float_above(rounding),
        part.conditions,
        context.constraints(found.clauses),
        largest=found.fall is not None and found.most == found.fall.size,
        _certify=partial(_certify, part, score, f, sign) if holds else None,
    )


def _certify(part: Everywhere, score: Score, f: int, sign: int, timeout: float | None) -> Certificate:
    return certify_pair(part.meant([f], growing=True), score.index, sign, score.slack, deadline_after(timeout))
