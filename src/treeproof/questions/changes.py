"""What differs between two rows, in words, and what results that show such a change have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from treeproof.model.columns import Label, Rows, Value
from treeproof.query.ball import Ball
from treeproof.query.units import Group
from treeproof.questions.result import Line, Scales, WitnessResult, beside_groups, lines_of
from treeproof.space.space import Space
from treeproof.space.wording import show_class, show_name


@dataclass(frozen=True, slots=True)
class Changed:
    """One feature's value before and after, as text.

    A new value that would take many digits is written with fewer: one beside it, which the forest does not distinguish
    from it. Then it is `rounded`.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> change = tp.Explainer(forest).contrastive(patient).changes[0]
    >>> change.name, change.before, change.after
    ('chest-pain', '1', '0.5')
    """

    name: str
    before: str
    after: str
    rounded: bool = False

    def __str__(self) -> str:
        return f"{show_name(self.name)}: {self.before} -> {self.after}"


class ChangeResult(WitnessResult):
    """A result that shows an input with another label, if there is one: what changes, and what is proved about it."""

    __slots__ = ()

    label: Label
    witness: tuple[Value, ...] | None
    witness_label: Label | None
    changes: tuple[Changed, ...]
    target: Label | None
    instance: tuple[Value, ...]
    scale: str | None
    groups: tuple[Group, ...]
    _scales: Scales | None

    @property
    def shown_input(self) -> tuple[Value, ...] | None:
        """The witness."""
        return self.witness

    @property
    def title(self) -> str:
        """The label that the change gives, or that there is no such change."""
        if self.witness is None:
            other = "anything else" if self.target is None else show_class(self.target)
            return f"{show_class(self.label)}, and not {other}"
        return f"{show_class(self.witness_label)} instead of {show_class(self.label)}, if"

    @property
    def lines(self) -> list[Line]:
        """The changes, and what is proved about them."""
        changes = beside_groups(self.changes, [change.name for change in self.changes], self.groups)
        scale = [] if self.scale is None else [Line("note", f"Scale: {self.scale}.")]
        return [*lines_of("change", changes), Line("proved" if self.decided else "open", self._claim()), *scale]

    @abstractmethod
    def _claim(self) -> str:
        """Return what is proved, in sentences."""

    @property
    def _up_to_rounding(self) -> str:
        """What must be said about distances, if a value is shown with fewer digits."""
        return " up to rounding" if any(change.rounded for change in self.changes) else ""

    def plot(self, data: Any = None, ax: Any = None) -> Any:
        """Draw each change as an arrow on the scale of its feature; return the axes. See `treeproof.plots.changes`."""
        from treeproof.show import plots

        return plots.changes(self, data, ax)


def changes_between(
    space: Space,
    before: Rows,
    after: Rows,
    written: Mapping[int, float] | None = None,
    *,
    readings: bool = False,
    ball: Ball | None = None,
    digits: int = 3,
) -> dict[int, Changed]:
    """Return what differs between two rows, by feature.

    `written` has numbers, by column of a numeric feature, as users write them and the model reads as those of `after`.
    Where the shortest such number is not the one that is written, that one is shown and, with `readings`, how the model
    reads it. Other numbers are rounded within their cell where they would take many digits, to the decimals of `before`
    and so many `digits` at least, unless that leaves the `ball`.
    """
    found, same = {}, (before == after) | (np.isnan(before) & np.isnan(after))
    for f in sorted({space.feature_of[column] for column in np.flatnonzero(~same).tolist()}):
        feature = space.features[f]
        number = (written or {}).get(feature.columns[0])
        value = feature.show(after)
        shown = value if number is not None else _brief(space, f, before, after, value, ball, digits)
        if number is not None and number != float(space.forest.floats.shortest(number)):
            shown = f"{number!r}, which the model reads as {shown}" if readings else repr(number)
        found[f] = Changed(feature.name, feature.show(before), shown, number is None and shown != value)
    return found


def _brief(space: Space, f: int, before: Rows, after: Rows, value: str, ball: Ball | None, digits: int) -> str:
    """Return a feature's value after a change with as few digits as keep it in its cell and in the ball."""
    feature = space.features[f]
    for n in range(digits, 8):
        shown = feature.show_briefly(after, before, n)
        if shown == value or ball is None:
            return shown
        read = space.forest.floats.round(float(shown))  # only numbers are rounded
        if ball.reaches(f, float(before[feature.columns[0]]), read):
            return shown
    return value
