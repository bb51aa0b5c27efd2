"""What differs between two rows, in words, and what results that show such a change have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from treeproof.model.columns import Label, Rows, Value
from treeproof.questions.result import Line, Result, Scales, lines_of
from treeproof.space.space import Space


@dataclass(frozen=True, slots=True)
class Changed:
    """One feature's value before and after, as text.

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

    def __str__(self) -> str:
        return f"{self.name}: {self.before} -> {self.after}"


class ChangeResult(Result):
    """A result that shows an input with another label, if there is one: what changes, and what is proved about it."""

    __slots__ = ()

    label: Label
    witness: tuple[Value, ...] | None
    witness_label: Label | None
    changes: tuple[Changed, ...]
    target: Label | None
    instance: tuple[Value, ...]
    _scales: Scales | None

    @property
    def title(self) -> str:
        """The label that the change gives, or that there is no such change."""
        if self.witness is None:
            return f"{self.label}, and not {'anything else' if self.target is None else self.target}"
        return f"{self.witness_label} instead of {self.label}, if"

    @property
    def lines(self) -> list[Line]:
        """The changes, and what is proved about them."""
        return [*lines_of("change", self.changes), Line("proved" if self.decided else "open", self._claim())]

    @abstractmethod
    def _claim(self) -> str:
        """Return what is proved, in sentences."""

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
) -> dict[int, Changed]:
    """Return what differs between two rows, by feature.

    `written` has numbers, by column of a numeric feature, as users write them and the model reads as those of `after`.
    Where the shortest such number is not the one that is written, that one is shown and, with `readings`, how the model
    reads it.
    """
    found = {}
    for f, feature in enumerate(space.features):
        columns = list(feature.columns)
        if np.array_equal(before[columns], after[columns], equal_nan=True):
            continue
        shown = feature.show(after)
        number = (written or {}).get(columns[0])
        if number is not None and number != float(space.forest.floats.shortest(number)):
            shown = f"{number!r}, which the model reads as {shown}" if readings else repr(number)
        found[f] = Changed(feature.name, feature.show(before), shown)
    return found
