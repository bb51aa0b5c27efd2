"""Whether given features, or conditions on them, force the prediction."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from treeproof.errors import InputError, is_list
from treeproof.model.columns import Label, Value
from treeproof.model.frames import Origin
from treeproof.query.context import Context, Instance
from treeproof.query.oracle import Answer, Entailed, Refuted, Stays
from treeproof.query.tally import Statistics
from treeproof.questions.changes import Changed, changes_between
from treeproof.questions.result import (
    Line,
    Role,
    WitnessResult,
    as_plain,
    lines_of,
    plain_within,
    under,
    unless_moved,
    within_words,
)
from treeproof.space.conditions import Condition, remarks
from treeproof.space.region import Region, read_conditions
from treeproof.space.wording import show_class


@dataclass(frozen=True, slots=True, repr=False)
class Verdict(WitnessResult):
    """Whether a set of features forces the prediction: `holds` is True, False (with a witness) or None (timed out).

    `changes` is how the witness differs from the row, as text.

    With `within`, that is about the inputs whose other features move by no more than this part of their scale; `scale`
    says what that is.

    If conditions were given, `conditions` are all of them as text, those among them that features keep their values;
    `notes` say how their numbers are meant.

    `enough` is, when it holds, the features among them that the proof used. A verdict is true or false in an ``if``; if
    timed out, that raises ValueError.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> verdict = tp.Explainer(forest).holds(patient, ["chest-pain"])
    >>> verdict.holds, verdict.witness, verdict.witness_label
    (False, (0.5, 0.0, 1.0, 70.0), 'No')
    >>> print(verdict)
    Refuted: with this 1 feature kept, the prediction becomes No, if
      blocked-arteries: 1 -> 0.5
    """

    holds: bool | None
    features: tuple[int, ...]
    label: Label
    enough: tuple[int, ...] | None
    witness: tuple[Value, ...] | None
    witness_label: Label | None
    stats: Statistics = field(compare=False)
    constraints: tuple[str, ...] = ()
    within: Fraction | None = None
    scale: str | None = None
    changes: tuple[Changed, ...] = ()
    conditions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    _origin: Origin | None = field(default=None, repr=False, compare=False)

    @property
    def shown_input(self) -> tuple[Value, ...] | None:
        """The witness."""
        return self.witness

    def __bool__(self) -> bool:
        if self.holds is None:
            raise ValueError("Whether the features force the prediction was not decided in time; see .holds.")
        return self.holds

    @property
    def title(self) -> str:
        """The answer, with what shows it."""
        if self.holds is None:
            return "Not decided: timed out."
        if self.holds:
            are = "this 1 feature forces" if len(self.features) == 1 else f"these {len(self.features)} features force"
            if self.conditions:
                are = f"{' and '.join(self.conditions)} {'forces' if len(self.conditions) == 1 else 'force'}"
            proved = f"Proved: {are} the prediction {show_class(self.label)}{unless_moved(self.within)}."
            return proved + under(self.constraints)
        kept = (
            "with this 1 feature kept" if len(self.features) == 1 else f"with these {len(self.features)} features kept"
        )
        if self.conditions:
            kept = f"with {' and '.join(self.conditions)}"
        if self.within is not None:
            kept += f" and the others {within_words(self.within).replace('its scale', 'their scale')}"
        return f"Refuted: {kept}, the prediction becomes {show_class(self.witness_label)}, if"

    @property
    def lines(self) -> list[Line]:
        """How the witness differs, and what the scale is, if the verdict is about the inputs near a row."""
        scale = [] if self.scale is None else [Line("note", f"Scale: {self.scale}.")]
        return [*lines_of("change", self.changes), *lines_of("note", self.notes), *scale]

    @property
    def title_role(self) -> Role:
        """Whether the statement is proved, refuted or open."""
        return "open" if self.holds is None else "proved" if self.holds else "refuted"

    @property
    def decided(self) -> bool:
        """Whether it is known if the features force the prediction."""
        return self.holds is not None

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""
        return {"kind": "verdict", **as_plain(self), **plain_within(self.within)}


def judge(context: Context, instance: Instance, features: Iterable[Any], timeout: float | None) -> Verdict:
    """Decide whether the values of these features alone, or conditions on them, force the prediction."""
    start = time.perf_counter()
    if is_list(features):
        features = list(features)
        if any(_is_condition(context, item) for item in features):
            return _judge_conditions(context, instance, features, timeout, start)
    fixed = frozenset(context.features(features))
    cache = context.plain.cache(instance, Stays(instance.label), timeout)
    answer = cache.ask(fixed)
    witness, other = None, None
    changes: tuple[Changed, ...] = ()
    if isinstance(answer, Refuted):
        point, label = context.nearer(instance, answer, cache.deadline)
        row = context.space.row(point, near=instance.row)
        witness, other = context.evaluated(row, label)
        between = changes_between(context.space, instance.row, row, ball=instance.ball)
        changes = tuple(between.values())
    return _verdict(context, instance, fixed, answer, witness, other, changes, context.statistics(cache, start))


_COMPARES = ("<", ">", "=", "≤", "≥", "≠", "{", " is ")


def _is_condition(context: Context, item: object) -> bool:
    """Return whether an item is a condition; any other text names a feature, perhaps wrongly."""
    if not isinstance(item, str):
        return isinstance(item, Condition)
    known = item in context.space.names or item in context.units.groups
    return not known and any(sign in item for sign in _COMPARES)


def _judge_conditions(
    context: Context, instance: Instance, items: Sequence[Any], timeout: float | None, start: float
) -> Verdict:
    """Decide what `judge` does where some features keep to a range or to some values, and not to one value."""
    space = context.space
    claim: list[Any] = []
    for item in items:
        claim += [item] if _is_condition(context, item) else context.features([item])
    given = read_conditions(space, claim, instance.row)
    region = Region(space, given)
    if region.empty is not None or not region.holds(instance.row, instance.point):
        alone = [r.text for r in given if not Region(space, [r]).holds(instance.row, instance.point)]
        broken = alone[0] if alone else " and ".join(restriction.text for restriction in given)
        raise InputError(f"The row must satisfy the conditions. It does not satisfy {broken!r}.")
    cache = context.plain.cache(instance, Stays(instance.label), timeout)
    domains = region.domains(cache.free)
    answer = cache.decide(domains)
    witness, other = None, None
    changes: tuple[Changed, ...] = ()
    if isinstance(answer, Refuted):
        point, label = context.nearer(instance, answer, cache.deadline, domains)
        row, written = region.row(point, instance.row)
        shown, other = context.evaluated(row, label)
        witness = tuple(v if isinstance(v, str) else written.get(column, v) for column, v in enumerate(shown))
        between = changes_between(space, instance.row, row, written, readings=True, ball=instance.ball)
        changes = tuple(between.values())
    return _verdict(
        context,
        instance,
        frozenset(restriction.feature for restriction in given),
        answer,
        witness,
        other,
        changes,
        context.statistics(cache, start),
        conditions=tuple(restriction.text for restriction in given),
        notes=tuple(remarks(item for item in claim if isinstance(item, Condition))),
    )


def _verdict(
    context: Context,
    instance: Instance,
    fixed: frozenset[int],
    answer: Answer,
    witness: tuple[Value, ...] | None,
    other: Label | None,
    changes: tuple[Changed, ...],
    stats: Statistics,
    **more: Any,
) -> Verdict:
    return Verdict(
        holds=None if not isinstance(answer, Entailed | Refuted) else isinstance(answer, Entailed),
        features=tuple(sorted(fixed)),
        label=context.labels[instance.label],
        enough=tuple(sorted(answer.core & fixed)) if isinstance(answer, Entailed) else None,
        witness=witness,
        witness_label=other,
        stats=stats,
        constraints=context.constraints(answer.clauses) if isinstance(answer, Entailed) else (),
        within=None if instance.ball is None else instance.ball.radius,
        scale=None if instance.ball is None else instance.ball.measure,
        changes=changes,
        **more,
        _origin=instance.origin,
    )
