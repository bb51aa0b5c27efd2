"""Statements about scores and probabilities, as forests whose label says whether the statement is true.

A regressor's score, or a classifier's probability, is cut at some values; the label is the range that it lies in. So
every question that can be asked about a label can be asked about "the score stays at least 0.7", "the price stays
within 10 of the prediction" or "the class stays, and its probability stays at least 0.9".
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from treeproof.errors import InputError, UnsupportedModelError
from treeproof.model.columns import LEAF, Label
from treeproof.model.decision import Sums
from treeproof.model.floats import FLOAT64, Floats, smallest_reaching
from treeproof.model.forest import Forest
from treeproof.model.monotone import find_cut

Probability = Callable[[float], float]
"""Maps a sum of leaf values to the probability of the second class, in the model's own arithmetic."""

Link = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
"""Maps sums to what a regressor predicts, in the model's own arithmetic; never decreases."""

UNCERTAIN = "uncertain"
_NEARBY = 64


def cut_score(forest: Forest, cuts: Iterable[Any], link: Link | None = None) -> Forest:
    """Return the forest that predicts which of the ranges between `cuts` the score of a regressor lies in.

    The score is the forest's sum, or `link` of it.

    >>> from treeproof.model.build import build_forest, leaf, split
    >>> sums, trees = Sums((0.0,), cuts=()), [split("a", 0, leaf([1.0]), leaf([2.5]))]
    >>> forest = build_forest(trees, columns=["a"], classes=["any score"], vote="sum", sums=sums)
    >>> cut_score(forest, [2]).predict([[0], [1]]).tolist()
    ['< 2', '>= 2']
    """
    _require_score(forest)
    try:
        given = [float(cut) for cut in cuts]
    except (TypeError, ValueError, OverflowError):
        given = []
    if not given or not all(math.isfinite(cut) for cut in given) or given != sorted(set(given)):
        raise InputError(f"The 'cuts' parameter must be a list of finite numbers in ascending order. Got {cuts!r}.")
    shown = [FLOAT64.shortest(cut) for cut in given]
    labels = [f"< {shown[0]}", *(f">= {low} and < {high}" for low, high in pairwise(shown)), f">= {shown[-1]}"]
    if link is not None:
        given = [_sum_reaching(forest, cut, link) for cut in given]
        possible = [low < high for low, high in pairwise([-math.inf, *given, math.inf])]  # no score in other ranges
        labels = [label for label, some in zip(labels, possible, strict=True) if some]
        given = sorted(set(given))
    return forest.with_cuts(given, labels)


def around(forest: Forest, total: float, within: Any, link: Link | None = None) -> Forest:
    """Return the forest that predicts whether a score stays within a distance of that of this sum.

    The score is the sum itself, or `link` of it.

    >>> from treeproof.model.build import build_forest, leaf, split
    >>> sums, trees = Sums((0.0,), cuts=()), [split("a", 0, leaf([1.0]), leaf([2.5]))]
    >>> forest = build_forest(trees, columns=["a"], classes=["any score"], vote="sum", sums=sums)
    >>> around(forest, 1.0, 0.5).predict([[0], [1]]).tolist()
    ['within 0.5 of 1', 'above']
    """
    _require_score(forest)
    if isinstance(within, bool) or not isinstance(within, int | float | np.number) or not 0 <= within < math.inf:
        raise InputError(f"The distance must be a finite number, at least 0. Got {within!r}.")
    numbers = forest.decision.floats
    score = total if link is None else float(link(np.array([total], dtype=numbers.dtype))[0])
    if not math.isfinite(score):
        raise InputError(f"The score of the row must be a finite number. Got {score}.")
    try:
        low = _float_at_least(Fraction(score) - Fraction(float(within)))
        above = FLOAT64.next(-_float_at_least(-(Fraction(score) + Fraction(float(within)))), math.inf)
    except OverflowError:
        low = above = math.inf
    if not math.isfinite(above):
        raise InputError(
            f"The distance must stay within the float range. Got {within!r}, which is too far from {score!r}."
        )
    middle = f"within {FLOAT64.shortest(float(within))} of {(numbers if link is None else FLOAT64).shortest(score)}"
    if link is not None:
        low, above = _sum_reaching(forest, low, link), _sum_reaching(forest, above, link)
    return forest.with_cuts([low, above], ["below", middle, "above"])


def cut_probability(forest: Forest, threshold: Any, probability: Probability | None) -> Forest:
    """Return the forest that predicts the second of two classes iff its probability is at least `threshold`."""
    p = _probability("threshold", threshold)
    if forest.n_classes != 2:
        raise InputError(f"A threshold needs a classifier with two classes. Got {forest.n_classes} classes.")
    labels = forest.classes.tolist()
    if forest.sums is None:
        return share_of(forest, 1).with_cuts([p], labels)
    if probability is None or forest.sums.cuts is None:
        raise UnsupportedModelError(f"A threshold needs probabilities that can be reproduced exactly. Got {forest!r}.")
    margin = _margin(lambda s: float(probability(s)) >= p, forest.sums.floats, f"a probability of {p}")
    return forest.with_cuts([margin], labels)


def with_confidence(forest: Forest, confidence: Any, probability: Probability | None) -> Forest:
    """Return the forest that predicts a class iff the model does with at least this probability, else "uncertain"."""
    p = _probability("confidence", confidence)
    labels: list[Label] = forest.classes.tolist()
    if UNCERTAIN in labels:
        raise InputError(f"With a confidence, no class may be called {UNCERTAIN!r}.")
    if forest.sums is None:
        means = as_means(forest)
        # A class that equals the constant wins, since it comes first: its share is at least p.
        divide, divisor = np.float64, np.float64(means.decision.divisor)
        needed = smallest_reaching(lambda s: bool(divide(s) / divisor >= p), 0.0, 2.0 * means.decision.divisor, FLOAT64)
        return dataclasses.replace(
            means,
            values=np.column_stack([means.values, np.zeros(forest.n_nodes)]),
            classes=np.array([*labels, UNCERTAIN], dtype=object),
            sums=dataclasses.replace(means.decision, start=(*means.decision.start, needed)),
        )
    if probability is None or forest.sums.cuts is None or forest.n_classes != 2:
        raise UnsupportedModelError(
            "A confidence needs probabilities that are means of leaf values, or a boosted model with two classes: the "
            f"probabilities of several boosted classes depend on all sums together. Got {forest!r}."
        )
    if p <= 0.5:
        raise InputError(f"With two classes the confidence must be more than 0.5. Got {confidence!r}.")
    numbers = forest.sums.floats
    first = numbers.dtype(1)
    low = _margin(lambda s: not float(first - numbers.dtype(probability(s))) >= p, numbers, f"a probability of {p}")
    high = _margin(lambda s: float(probability(s)) >= p, numbers, f"a probability of {p}")
    return dataclasses.replace(
        forest,
        sums=dataclasses.replace(forest.sums, cuts=(low, high)),
        classes=np.array([labels[0], UNCERTAIN, labels[1]], dtype=object),
    )


def _sum_reaching(forest: Forest, cut: float, link: Link) -> float:
    """Return the smallest sum whose score reaches the cut, of those that the forest can have."""
    return find_cut(forest, lambda sums: link(sums) >= cut, "The function that makes a prediction of the sum")


def _require_score(forest: Forest) -> None:
    if forest.decision.cuts != ():
        raise InputError(
            f"Scores need a regressor, explained without cuts. Got {forest!r}; for a classifier use threshold= or "
            "confidence=."
        )


def _probability(name: str, given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float | np.number) or not 0 < given <= 1:
        raise InputError(f"The '{name}' parameter must be a probability above 0 and at most 1. Got {given!r}.")
    return float(given)


def _margin(reaches: Callable[[float], bool], numbers: Floats, what: str) -> float:
    if not reaches(numbers.largest):
        raise InputError(f"The model's probabilities never reach {what}, so there is nothing to explain.")
    found = smallest_reaching(reaches, -numbers.largest, numbers.largest, numbers)
    # Bisection is right if probabilities never decrease as sums grow. Their last bit might, so nearby ones are checked.
    below = above = found
    for _ in range(_NEARBY):
        below, above = numbers.next(below, -math.inf), numbers.next(above, math.inf)
        if reaches(below) or not reaches(above):
            raise UnsupportedModelError(
                f"The model's probabilities are not monotone near {what}; choose a slightly different one."
            )
    return found


def as_means(forest: Forest) -> Forest:
    """Return the forest whose sums are the model's class probabilities; the first largest wins."""
    single = forest.n_trees == 1
    values = forest.values
    if forest.vote == "majority" and not single:  # shares of the votes
        leaf = forest.feature == LEAF
        values = np.where(leaf[:, None], np.eye(forest.n_classes)[forest.leaf_class], 0.0)
    sums = Sums((0.0,) * forest.n_classes, divisor=1.0 if single else float(forest.n_trees))
    return dataclasses.replace(forest, vote="sum", values=values, sums=sums)


def share_of(forest: Forest, k: int) -> Forest:
    """Return the forest as a score: the probability of the class at index k, which is a mean of leaf values."""
    means = as_means(forest)
    return dataclasses.replace(
        means,
        values=means.values[:, k : k + 1],
        classes=np.array(["any score"]),
        sums=Sums((0.0,), divisor=means.decision.divisor, cuts=()),
    )


def single_score(forest: Forest, k: int) -> Forest:
    """Return the forest as a score: what the model adds up for the class at index k, or its only sum."""
    if forest.sums is None:
        return share_of(forest, k)
    if forest.sums.cuts is not None:
        return dataclasses.replace(
            forest, classes=np.array(["any score"]), sums=dataclasses.replace(forest.sums, cuts=())
        )
    members = tuple(dataclasses.replace(member, start=member.start[k : k + 1]) for member in forest.sums.members)
    sums = dataclasses.replace(
        forest.sums, start=forest.sums.start[k : k + 1], cuts=(), softmax=False, sigmoid=None, members=members
    )
    return dataclasses.replace(forest, values=forest.values[:, k : k + 1], classes=np.array(["any score"]), sums=sums)


def _float_at_least(value: Fraction) -> float:
    """Return the smallest float64 that is at least the value."""
    near = float(value)
    return near if Fraction(near) >= value else FLOAT64.next(near, math.inf)
