"""Whether given features force the prediction."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from treeproof.model.columns import Label, Value
from treeproof.model.frames import Origin
from treeproof.query.context import Context, Instance
from treeproof.query.oracle import Entailed, Refuted, Stays
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
from treeproof.space.wording import show_class


@dataclass(frozen=True, slots=True, repr=False)
class Verdict(WitnessResult):
    """Whether a set of features forces the prediction: `holds` is True, False (with a witness) or None (timed out).

    `changes` is how the witness differs from the row, as text.

    With `within`, that is about the inputs whose other features move by no more than this part of their scale; `scale`
    says what that is.

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
            proved = f"Proved: {are} the prediction {show_class(self.label)}{unless_moved(self.within)}."
            return proved + under(self.constraints)
        kept = (
            "with this 1 feature kept" if len(self.features) == 1 else f"with these {len(self.features)} features kept"
        )
        if self.within is not None:
            kept += f" and the others {within_words(self.within).replace('its scale', 'their scale')}"
        return f"Refuted: {kept}, the prediction becomes {show_class(self.witness_label)}, if"

    @property
    def lines(self) -> list[Line]:
        """How the witness differs, and what the scale is, if the verdict is about the inputs near a row."""
        scale = [] if self.scale is None else [Line("note", f"Scale: {self.scale}.")]
        return [*lines_of("change", self.changes), *scale]

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


def judge(context: Context, instance: Instance, features: Iterable[str | int], timeout: float | None) -> Verdict:
    """Decide whether the values of these features alone force the prediction."""
    start = time.perf_counter()
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
    return Verdict(
        holds=None if not isinstance(answer, Entailed | Refuted) else isinstance(answer, Entailed),
        features=tuple(sorted(fixed)),
        label=context.labels[instance.label],
        enough=tuple(sorted(answer.core)) if isinstance(answer, Entailed) else None,
        witness=witness,
        witness_label=other,
        stats=context.statistics(cache, start),
        constraints=context.constraints(answer.clauses) if isinstance(answer, Entailed) else (),
        within=None if instance.ball is None else instance.ball.radius,
        scale=None if instance.ball is None else instance.ball.measure,
        changes=changes,
        _origin=instance.origin,
    )
