"""How local a question is: within which part of their scales features may move, as users say it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from treeproof.errors import InputError
from treeproof.query.ball import Ball
from treeproof.query.context import Context
from treeproof.questions.costs import exact_number
from treeproof.questions.moves import given_scales, spans
from treeproof.space.features import NumericFeature
from treeproof.space.space import Space

SPREAD = "half the distance between the 16th and the 84th percentile of the data"
SPAN = "the span of the forest's cuts"


def make_ball(
    context: Context, within: Any, scale: Mapping[str | int, Any] | None, spreads: tuple[Fraction, ...] | None
) -> Ball | None:
    """Return how far features may move, by `within` times their scale; None if `within` is."""
    return None if within is None else replace(make_scales(context, scale, spreads), radius=_radius(within))


def make_scales(context: Context, scale: Mapping[str | int, Any] | None, spreads: tuple[Fraction, ...] | None) -> Ball:
    """Return the features' scales as those of a ball of radius 0.

    A scale is the user's, or else the `spreads`, those of data, or else the span of the forest's cuts.
    """
    given = given_scales(context, scale)
    features = range(context.space.n_features)
    usual = spans(context) if spreads is None else spreads
    measure = SPAN if spreads is None else SPREAD
    if given:
        names = ", ".join(context.names(sorted(given)))
        measure = f"as given for {names}" + ("" if len(given) == len(features) else f", otherwise {measure}")
    if any(not isinstance(f, NumericFeature) or f.missing_cell is not None for f in context.space.features):
        measure += "; named and missing values are 1 apart"
    return Ball(Fraction(0), tuple(given.get(f, usual[f]) for f in features), measure)


def _radius(within: Any) -> Fraction:
    known = isinstance(within, int | float | Fraction | Decimal | np.integer | np.floating)
    if not known or isinstance(within, bool) or not 0 <= within < math.inf:
        raise InputError(f"The 'within' parameter must be a number of at least 0, as in 0.25. Got {within!r} instead.")
    return exact_number(within)


def spreads_of(space: Space, rows: npt.NDArray[np.floating[Any]]) -> tuple[Fraction, ...]:
    """Return the scale of each feature in these rows: half the distance between the 16th and the 84th percentile.

    That is the standard deviation of a normal column, and heavy tails do not matter for it. Where it is 0, the scale is
    the mean distance from the median; where that is 0 too, and for named and binary values, it is 1.
    """
    return tuple(
        _spread(rows[:, feature.column].astype(np.float64))
        if isinstance(feature, NumericFeature) and feature.kind != "binary"
        else Fraction(1)
        for feature in space.features
    )


def _spread(column: npt.NDArray[np.float64]) -> Fraction:
    known = column[np.isfinite(column)]
    if len(known) == 0:
        return Fraction(1)
    # Percentiles that occur, so that the scale of whole numbers is simple.
    low, middle, high = np.quantile(known, (0.16, 0.5, 0.84), method="inverted_cdf").tolist()
    half = (Fraction(high) - Fraction(low)) / 2
    if half:
        return half
    mean = float(np.mean(np.abs(known - middle)))
    return exact_number(mean) if 0 < mean < math.inf else Fraction(1)
