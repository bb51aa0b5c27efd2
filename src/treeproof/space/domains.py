"""Parts of a space: points, the allowed cells of features, and clauses over them."""

from __future__ import annotations

Cells = tuple[int, ...]
"""A point of the space: one cell for each feature."""

Domain = range | frozenset[int]
"""Allowed cells of one feature, never empty: a range for an ordered feature, else a set.

The numbers in the set of a gapped feature, whose missing values are beside the order, have no holes in a query.
"""

Clause = tuple[tuple[int, Domain], ...]
"""At least one of these features has its cell in the domain beside it."""


def as_domain(cells: frozenset[int], ordered: bool) -> Domain:
    """Return the cells of a feature as a range, if the feature is ordered and the cells are contiguous.

    >>> as_domain(frozenset({2, 3, 4}), ordered=True), as_domain(frozenset({2, 4}), ordered=True)
    (range(2, 5), frozenset({2, 4}))
    """
    if not ordered or not cells:
        return cells
    filled = range(min(cells), max(cells) + 1)
    return filled if len(filled) == len(cells) else cells
