"""Parts of a space: points, the allowed cells of features, and clauses over them."""

from __future__ import annotations

Cells = tuple[int, ...]
"""A point of the space: one cell for each feature."""

Domain = range | frozenset[int]
"""Allowed cells of one feature: a range for an ordered feature, a set for a feature of named values; never empty."""

Clause = tuple[tuple[int, Domain], ...]
"""At least one of these features has its cell in the domain beside it."""
