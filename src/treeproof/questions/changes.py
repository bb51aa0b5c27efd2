"""What differs between two rows, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from treeproof.model.columns import Rows
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
