"""A witness brought nearer to a point: features that need not have changed go back, many at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from treeproof.query.oracle import expired
from treeproof.space.domains import Cells

FEW = 64  # features that differ, which are looked at one by one


def put_back(
    point: Cells,
    label: int,
    own: Cells,
    changed: Sequence[int],
    other: Callable[[Cells], int | None],
    deadline: float | None,
) -> tuple[Cells, int]:
    """Return the point, and its label, with each changed feature that need not have changed back in its own cell.

    `other` returns the label of a point that still shows what this one, whose label is given, does; otherwise None.
    """
    # One by one, the last of the list first. Of many, most need not have changed: these are tried by halves, some
    # also after the deadline, since to show them would take longer.
    todo = [[f] for f in reversed(changed)] if len(changed) <= FEW else [changed[FEW:], changed[:FEW]]
    n_tried = 0
    while todo and (n_tried < FEW < len(changed) or not expired(deadline)):
        part = todo.pop()
        cells = list(point)  # a copy takes far less than a walk over all features
        for f in part:
            cells[f] = own[f]
        n_tried += 1
        tried = tuple(cells)
        found = other(tried)
        if found is not None:
            point, label = tried, found
        elif len(part) > 1:
            todo += [part[len(part) // 2 :], part[: len(part) // 2]]
    return point, label
