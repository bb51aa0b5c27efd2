"""What questions about all inputs have in common: the part of the space that they are about, and inputs that are shown.

There is no row. Inputs that show something have the cells that matter, and otherwise values near 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from decimal import Context as Digits
from fractions import Fraction
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from treeproof.errors import InputError
from treeproof.model.columns import Label, Rows, Value
from treeproof.model.floats import FLOAT64, rounded_down
from treeproof.oracles.sums import NOTHING, SumOracle
from treeproof.proof.pairs import Meant
from treeproof.query.context import Context, Instance
from treeproof.query.oracle import Refuted
from treeproof.query.sums import Score, keeps, score_of
from treeproof.query.twins import Trees
from treeproof.space.domains import Cells, Domain, as_domain
from treeproof.space.features import Feature, NumericFeature
from treeproof.space.region import Region, read_conditions
from treeproof.space.space import Space
from treeproof.space.wording import equals, is_range, show_class

_SHOWN = 8  # features of an input, at most
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Input:
    """An input that shows something, as people write it, its label and its score in the model's own arithmetic.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, _ = tp.examples.heart_disease()
    >>> found = tp.Explainer(forest).extremes().highest.input
    >>> found.label, found.score
    ('Yes', 1.0)
    """

    values: tuple[Value, ...]
    label: Label
    score: float | None
    text: tuple[str, ...]

    def __str__(self) -> str:
        more = len(self.text) - _SHOWN
        shown = ", ".join(self.text[:_SHOWN]) or "any values"
        return f"{shown}, and {more} more" if more > 0 else shown


@dataclass(frozen=True, eq=False)
class Everywhere:
    """All inputs of a space that satisfy some conditions."""

    context: Context
    region: Region
    conditions: tuple[str, ...]
    deadline: float | None

    @cached_property
    def domains(self) -> tuple[Domain, ...]:
        """The cells that they reach."""
        return self.region.domains(self.context.cells.full)

    @cached_property
    def near(self) -> Cells:
        """A point of the domains, near 0."""
        return tuple(map(_cell_near, _zeros(self.context.space).cells, self.domains))

    def _inside(self, domains: Sequence[Domain]) -> Cells:
        """Return a point of domains, near 0, that satisfies the constraints; InputError if there is none."""
        if self.allowed(self.near) and all(c in domain for c, domain in zip(self.near, domains, strict=True)):
            return self.near
        answer = SumOracle(Trees(self.context.cells, 1).forest()).reach([NOTHING], domains, None, self.near)
        if not isinstance(answer, Refuted):
            raise InputError(f"No input satisfies the conditions{self.under} together with the constraints.")
        return answer.witness

    def meant(self, features: Iterable[int] = (), *, growing: bool = False) -> Meant:
        """Return these inputs, or pairs of them that differ in some features alone, for a certificate.

        If the features are `growing`, they are not missing.
        """
        chosen, domains = tuple(features), list(self.domains)
        for f in chosen if growing else ():
            feature = self.context.space.features[f]
            assert isinstance(feature, NumericFeature)
            gap = feature.missing_cell
            if gap is not None and self.context.cells.ordered[f]:  # a domain of ordered cells has no holes
                below = frozenset(c for c in domains[f] if c < gap)
                above = frozenset(domains[f]) - below - {gap}
                domains[f] = as_domain(max(below, above, key=len), True)
            elif gap is not None:
                domains[f] = frozenset(domains[f]) - {gap}
        return Meant(self.context, self.domains, self.row(self._inside(domains)), chosen, growing)

    @cached_property
    def _zero(self) -> Rows:
        return np.zeros(self.context.forest.n_columns, self.context.forest.floats.dtype)

    def row(self, point: Cells) -> Rows:
        """Return an input in these cells that satisfies the conditions."""
        return self.region.row(point, self._zero, brief=True)[0]

    def shown(self, point: Cells, score: Score | None = None, features: Iterable[int] | None = None) -> Input:
        """Return that input with its label and score, evaluated by the forest; its text has these features."""
        context = self.context
        row, exactly = self.region.row(point, self._zero, brief=True)
        assert context.space.cells(row) == tuple(point), "the input is in these cells"
        leaves = context.forest.route(row[None, :])
        label = context.labels[int(context.forest.decide(leaves)[0])]
        own = None if score is None else own_score(context, score, leaves)
        return self.written(row, label, own, features, exactly=exactly)

    def written(
        self,
        row: Rows,
        label: Label,
        score: float | None = None,
        features: Iterable[int] | None = None,
        *,
        own: bool = False,
        exactly: Mapping[int, float] | None = None,
    ) -> Input:
        """Return an input as people write it; its text has these features, or those that the model tests.

        A row of the user's has its `own` numbers there, and others numbers of the same cells with few digits. Numbers
        that conditions are about are given `exactly`, by column: what the model reads need not satisfy them.
        """
        space, floats = self.context.space, self.context.forest.floats
        tested = self.context.cells.tested if features is None else list(features)
        like = row if own else self._zero
        # Only where the model reads a number that is written otherwise.
        given = {c: v for c, v in (exactly or {}).items() if float(floats.shortest(float(row[c]))) != v}
        text, zeros, is_zero = [], _zeros(space), (row == 0).tolist()
        for f in tested:
            column = zeros.columns[f]
            known = zeros.texts[f] if is_zero[column] and column not in given else None
            if known is None:
                feature = space.features[f]
                shown = FLOAT64.shortest(given[column]) if column in given else feature.show_briefly(row, like)
                known = equals(space.names[f], shown)
            text.append(known)
        values = list(self.context.present(row))
        for column, number in given.items():
            values[column] = number
        return Input(tuple(values), label, score, tuple(text))

    def instance(self, point: Cells) -> Instance:
        """Return that input as an instance, for a certificate."""
        return self.context.locate(self.row(point))

    @property
    def under(self) -> str:
        """The conditions as part of a sentence."""
        return f" where {' and '.join(self.conditions)}" if self.conditions else ""

    def allowed(self, point: Cells) -> bool:
        """Return whether a point satisfies the constraints of the space."""
        return keeps(self.context.cells.clauses, point)


def everywhere(context: Context, where: Any, timeout: float | None) -> Everywhere:
    """Return the part of the space that `where` describes: all of it if None."""
    given = [] if where is None else read_conditions(context.space, where, None)
    region = Region(context.space, given)
    if region.empty is not None:
        raise InputError(
            f"The conditions must be satisfiable. Got {where!r}: no value of {context.space.names[region.empty]!r} is."
        )
    found = Everywhere(
        replace(context, units=context.plain.units), region, tuple(r.text for r in given), context.deadline(timeout)
    )
    for f, domain in enumerate(found.domains):
        if context.cells.ordered[f] and not isinstance(domain, range):
            raise InputError(
                f"The conditions on a number must leave one range. Got several for {context.space.names[f]!r}; ask "
                "about each of them."
            )
    return found


def score_for(context: Context, of: Any) -> Score:
    """Return the score of a class given by its label or its name; without one, that of the second of two classes."""
    if context.forest.decision.cuts is not None:
        if of is not None and context.class_index(of) != context.forest.n_classes - 1:
            raise InputError(
                f"This model adds up one score, that of {context.labels[-1]!r}. Got of={of!r}; the lowest score is the "
                "highest of the other class."
            )
        ranges = context.forest.n_classes != 2 or is_range(context.labels[-1])  # a regressor's
        return replace(score_of(context.forest), label=None if ranges else context.labels[-1])
    if of is None and context.forest.n_classes != 2:
        raise InputError(f"Say which class the score is of: of= one of {context.labels}.")
    k = 1 if of is None else context.class_index(of)
    return replace(score_of(context.forest, k), label=context.labels[k])


def named(score: Score) -> str:
    """Return what a score is called.

    >>> from treeproof.model.examples import heart_disease
    >>> named(score_of(heart_disease()[0], 1))
    'share of the votes for Yes'
    """
    if score.label is None:
        return score.name
    return f"{score.name} {'for' if score.name.startswith('share') else 'of'} {show_class(score.label)}"


def own_score(context: Context, score: Score, leaves: Any) -> float:
    """Return the score of the row that reaches these leaves, in the model's own arithmetic."""
    forest = context.forest
    if forest.vote == "majority":
        return float(np.mean(forest.leaf_class[leaves[0]] == score.index))
    return float(forest.add(leaves)[0, score.index])


def upward(value: Fraction | float) -> str:
    """Return a number that is not smaller, with few digits; of sums that may overflow, infinity.

    >>> upward(Fraction(1, 3)), downward(Fraction(1, 3)), upward(0.25), upward(math.inf)
    ('0.333334', '0.333333', '0.25', 'infinity')
    """
    return _rounded(value, ROUND_CEILING)


def downward(value: Fraction | float) -> str:
    """Return a number that is not larger, with few digits."""
    return _rounded(value, ROUND_FLOOR)


def _rounded(value: Fraction | float, way: str) -> str:
    if value in (math.inf, -math.inf):
        return "infinity" if value > 0 else "minus infinity"
    value = Fraction(value)
    short = Digits(prec=_DIGITS, rounding=way).divide(Decimal(value.numerator), Decimal(value.denominator))
    return f"{short.normalize():f}" if -8 < short.adjusted() < 15 or short == 0 else str(short.normalize()).lower()


def at_most(bound: Fraction | float, value: float, reached: bool) -> str:
    """Return a bound with few digits; of a value that reaches it but for rounding, the digits of the value.

    >>> at_most(0.8 - 0.18, 0.62, True), at_most(0.8 - 0.18, 0.6, False), at_most(0.25, 0.25, True)
    ('0.62, up to rounding', '0.620001', '0.25')
    """
    shown = upward(bound)
    return f"{value:g}, up to rounding" if reached and shown != f"{value:g}" else shown


def float_above(value: Fraction) -> float:
    """Return a float that is not smaller."""
    return 0.0 - rounded_down(-value)  # no negative zero


@dataclass(frozen=True, slots=True)
class _Zeros:
    """Of each feature: the cell of 0, and that it is 0 as text; None where 0 cannot occur, or is not written so.

    Of each feature, too: its first column.
    """

    cells: list[int | None]
    texts: list[str | None]
    columns: list[int]


_ZEROS: WeakKeyDictionary[Space, _Zeros] = WeakKeyDictionary()  # most features of most inputs that are shown are 0


def _zeros(space: Space) -> _Zeros:
    if space not in _ZEROS:
        texts = [equals(feature.name, "0") if feature.kind == "real" else None for feature in space.features]
        columns = [feature.columns[0] for feature in space.features]
        row = [0.0] * space.forest.n_columns
        _ZEROS[space] = _Zeros([_cell_in(feature, row) for feature in space.features], texts, columns)
    return _ZEROS[space]


def _cell_in(feature: Feature, row: Sequence[float]) -> int | None:
    try:
        return feature.cell(row)
    except InputError:
        return None


def _cell_near(own: int | None, domain: Domain) -> int:
    if own is None:
        return min(domain)
    return own if own in domain else min(domain, key=lambda cell: abs(cell - own))
