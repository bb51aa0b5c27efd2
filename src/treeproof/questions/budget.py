"""How local a reason is: the features that let all others move furthest, for a number of features or for each."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import ROUND_FLOOR
from fractions import Fraction
from typing import Any

import numpy as np

from treeproof.errors import InputError
from treeproof.model.columns import Label, Value
from treeproof.model.floats import rounded_down
from treeproof.model.frames import Origin, pandas
from treeproof.proof.verified import VerifiedOracle
from treeproof.query.ball import Ball
from treeproof.query.context import Context, Instance, Order
from treeproof.query.oracle import Cancel, Stays
from treeproof.query.tally import Statistics
from treeproof.questions.abductive import Abductive, checked, make_abductive
from treeproof.questions.moves import Moves
from treeproof.questions.parallel import bar, track
from treeproof.questions.result import Line, Result, aligned, as_plain, digits, lines_of, near_ties, under
from treeproof.questions.robustness import make_robustness
from treeproof.search.inflation import widen_values
from treeproof.search.minimal import Sufficient, abductive
from treeproof.search.reach import Reach, Reaches, furthest, grow
from treeproof.space.wording import show_class


@dataclass(frozen=True, slots=True)
class Budget:
    """At most so many features; `scales` has how far is far, and `prove` asks for a proof that no others do better."""

    most: int
    scales: Ball
    prove: bool = False


def make_budget(at_most: Any, scales: Ball, prove: bool) -> Budget:
    """Return a user's budget; InputError unless it is a whole number."""
    if isinstance(at_most, bool) or not isinstance(at_most, int | np.integer) or at_most < 0:
        raise InputError(f"The 'at_most' parameter must be a whole number of at least 0. Got {at_most!r} instead.")
    return Budget(int(at_most), scales, prove)


class _Search:
    """A search for features that let the others move far, and what it finds as results."""

    def __init__(
        self, context: Context, instance: Instance, scales: Ball, timeout: float | None, cancel: Cancel | None = None
    ) -> None:
        self.context, self.instance, self.scales = context, instance, scales
        self.start = time.perf_counter()
        self.cache = context.cache(instance, Stays(instance.label), timeout, cancel)
        self.moves = Moves(context, instance, context.cells.full, {}, (), dict(enumerate(scales.scales)))
        self.nearest = self.moves.nearest

    def grow(self, ordering: list[int], most: int) -> Iterator[Reach]:
        """Yield ever larger reaches, at least that of no feature; TimeoutError when the deadline comes first."""
        every = range(self.context.space.n_features)
        try:
            costs, self.unit = self.moves.costs(every, stay=True, deadline=self.cache.deadline)
        except TimeoutError:  # before all distances were known: within the row's own cells, nothing changes
            self.unit = self.nearest or Fraction(1)
            yield Reach(frozenset(), None if self.nearest is None else 1)
            raise
        self.reaches = Reaches(self.cache, costs)
        yield from grow(self.reaches, ordering, most)

    def result(self, reach: Reach, order: list[int] | None = None) -> Abductive:
        """Return what a set reaches as an explanation; with an order of features, its conditions are widened."""
        context, radius = self.context, self._distance(reach.bound)
        near = None if radius is None else replace(self.scales, radius=radius, open=True)
        instance = context.near(self.instance, near)
        widened = None
        if order is not None:
            cache = context.cache(instance, self.cache.claim, None, self.cache.cancel)
            cache.deadline, cache.tally = self.cache.deadline, self.cache.tally
            widened = widen_values(cache, reach.features, order)
        stats = context.statistics(self.cache, self.start)
        found = Sufficient(reach.features, "minimal" if reach.minimal else "sound", reach.clauses)
        why = make_abductive(context, instance, None, found, stats, widened)
        if radius is None:
            return why
        moves = replace(self.moves, kept=context.units.features(reach.features))
        far = self._distance(reach.cost)
        beyond = make_robustness(context, moves, "linf", None, reach.witness, radius, far, stats)
        return replace(why, beyond=beyond)

    def _distance(self, cost: int | None) -> Fraction | None:
        return None if cost is None else cost * self.unit


def refuse(**options: Any) -> None:
    """Raise InputError for options that have no meaning with a budget of features."""
    for name, value in options.items():
        if value is not None:
            raise InputError(
                f"'{name}' must not be combined with 'at_most', which looks for the features that let the others move "
                "furthest. Leave one out."
            )


def reach_far(
    context: Context,
    budget: Budget,
    order: Order,
    inflate: bool,
    instance: Instance,
    timeout: float | None,
    cancel: Cancel | None = None,
) -> Abductive:
    """Return the features, at most so many, that let the others move furthest: the best found, or proved to be.

    With a verified oracle, the certificate is checked; a proof that no others do better has none, and so is checked
    answer by answer.
    """
    oracle = context.oracle
    if not isinstance(oracle, VerifiedOracle):
        return _reach_far(context, budget, order, inflate, instance, timeout, cancel)
    asked = context if budget.prove else oracle.unchecked
    return checked(oracle, _reach_far(asked, budget, order, inflate, instance, timeout, cancel))


def _reach_far(
    context: Context,
    budget: Budget,
    order: Order,
    inflate: bool,
    instance: Instance,
    timeout: float | None,
    cancel: Cancel | None,
) -> Abductive:
    search = _Search(context, instance, budget.scales, timeout, cancel)
    ordering = context.order(order, (), instance, search.cache.deadline)
    best: list[Reach] = []
    proved: bool | None = None
    try:
        for reach in search.grow(ordering, budget.most):
            best.append(reach)  # one by one: the deadline may come first
        proved = best[-1].bound is None or budget.most == 0  # there is one set of no features
        if budget.prove:
            last, is_best = furthest(search.reaches, ordering, budget.most, best[-1])
            best.append(last)
            proved = is_best or None
    except TimeoutError:
        pass

    def result(inflate: bool) -> Abductive:
        found = search.result(best[-1], ordering if inflate else None)
        return replace(found, at_most=budget.most, furthest=proved, _widen=None if inflate else widen)

    def widen(timeout: float | None) -> Abductive:
        search.cache.deadline = context.deadline(timeout)
        return result(inflate=True)

    return result(inflate)


def make_profile(
    context: Context,
    instance: Instance,
    budget: Budget,
    order: Order,
    progress: bool,
    timeout: float | None,
) -> Profile:
    """Return for each number of features the radius that is proved, up to the budget or the whole reason."""
    search = _Search(context, instance, budget.scales, timeout)
    ordering = context.order(order, (), instance, search.cache.deadline)
    best: list[Reach] = []  # of ever larger reach, with ever more features
    complete = True

    def found() -> Iterator[Reach]:
        """Yield reaches: those of few features first, and at last that of the reason that deletion finds at once."""
        yield from search.grow(ordering, budget.most)
        if best[-1].bound is None:
            whole = abductive(search.cache, ordering)
            yield Reach(whole.features, None, clauses=whole.clauses, minimal=whole.status == "minimal")

    try:
        for reach in track(found(), None, bar(progress, "features")):
            if not best or reach.exceeds(best[-1]) or len(reach.features) < len(best[-1].features):
                best = [other for other in best if len(other.features) < len(reach.features)] + [reach]
    except TimeoutError:
        complete = False
    return Profile(
        label=context.labels[instance.label],
        steps=tuple(search.result(reach) for reach in best),
        complete=complete,
        instance=context.present(instance.row),
        n_features=context.space.n_features,
        _origin=instance.origin,
        scale=budget.scales.measure,
        stats=context.statistics(search.cache, search.start),
    )


@dataclass(frozen=True, slots=True, repr=False)
class Profile(Result):
    """How far all other features may move, for ever more features that are kept.

    Each of the `steps` is an explanation with its radius, `within` (None if the others may take any value), with what
    stops it, `beyond`, and with a certificate. They have ever more features and ever larger radii: the first has none,
    so that its radius is the `robustness` of the prediction. Each radius is exact for its features; perhaps others, as
    many, have a larger one (``abductive(x, at_most=k, minimum=True)`` decides that). `complete` says that the last
    step has as many features as were asked for, or forces the prediction whatever the others are; otherwise the
    deadline came first.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> print(tp.Explainer(forest).profile(patient))
    Yes, as long as all others move by less than this part of their scale
      kept   less than   features
         0   0.5
         2   any value   + blocked-arteries, chest-pain
    Proved; at each radius there is an input with another label. Perhaps other features, as many, reach further.
    Scale: the span of the forest's cuts.
    """

    label: Label
    steps: tuple[Abductive, ...]
    complete: bool
    instance: tuple[Value, ...]
    n_features: int
    scale: str
    stats: Statistics = field(compare=False)
    _origin: Origin | None = field(default=None, repr=False, compare=False)

    @property
    def radii(self) -> tuple[tuple[int, Fraction | None], ...]:
        """The number of features of each step, and its radius; None if the others may take any value."""
        return tuple((step.size, step.within) for step in self.steps)

    @property
    def joining(self) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
        """For each step the names of the features that join, and of those of the step before that leave."""
        names = [(), *(step.feature_names for step in self.steps)]
        return tuple(
            (tuple(n for n in now if n not in before), tuple(n for n in before if n not in now))
            for before, now in itertools.pairwise(names)
        )

    @property
    def title(self) -> str:
        """The label, and what the lines are about."""
        return f"{show_class(self.label)}, as long as all others move by less than this part of their scale"

    @property
    def lines(self) -> list[Line]:
        """How far the others may move, the features that join, and what is proved of that."""
        table = [("kept", "less than", "features"), *map(self._row, range(len(self.steps)))]
        claim = Line("proved" if self.decided else "open", self._claim())
        return [*lines_of("row", aligned(table, "><<")), claim, Line("note", f"Scale: {self.scale}.")]

    def _row(self, i: int) -> tuple[str, str, str]:
        step = self.steps[i]
        radius = "any value" if step.within is None else digits(step.within, ROUND_FLOOR)
        return str(step.size), radius, self.comings(i)

    def comings(self, i: int) -> str:
        """Return which features join at a step, and which leave, in words."""
        signed = zip("+-", self.joining[i], strict=True)
        return " ".join(f"{sign} {', '.join(names)}" for sign, names in signed if names)

    def _claim(self) -> str:
        constraints = tuple(dict.fromkeys(text for step in self.steps for text in step.constraints))
        end = under(constraints) + near_ties(self.stats)
        late = "" if self.complete else " Timed out; with more features the others may move further."
        beyond = "; at each radius there is an input with another label" if len(self.steps) > 1 else ""
        others = " Perhaps other features, as many, reach further." if len(self.steps) > 1 else ""
        return f"Proved{beyond}.{others}{late}{end}"

    @property
    def decided(self) -> bool:
        """Whether the profile is complete."""
        return self.complete

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""
        return {"kind": "profile", **as_plain(self), "steps": [step.to_dict() for step in self.steps]}

    def to_frame(self) -> Any:
        """Return one line per step as a pandas DataFrame."""
        pd = pandas()
        return pd.DataFrame(
            {
                "features": [step.feature_names for step in self.steps],
                "joined": [joined for joined, _ in self.joining],
                "left": [left for _, left in self.joining],
                "radius": [math.inf if step.within is None else rounded_down(step.within) for step in self.steps],
                "flips_to": pd.Series([step.beyond and step.beyond.witness_label for step in self.steps], dtype=object),
            },
            index=pd.Index([step.size for step in self.steps], name="n_features"),
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw how far the others may move as a staircase; return the axes. See `treeproof.plots.profile`."""
        from treeproof.show import plots

        return plots.profile(self, ax)
