"""Why this prediction: features whose values alone force it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np

from treeproof.errors import InputError, UnsupportedQueryError, require_one_of
from treeproof.model.columns import Label, Value
from treeproof.model.frames import Origin
from treeproof.proof.certificate import Certificate, Cheapest, certify
from treeproof.proof.verified import VerifiedOracle
from treeproof.query.ball import Ball
from treeproof.query.context import Context, Instance, Order, deadline_after, seconds_after
from treeproof.query.oracle import Cancel, DeletesMany, Refuted, Stays, fix
from treeproof.query.tally import Statistics
from treeproof.query.units import Group
from treeproof.questions.costs import FeatureCosts, make_costs
from treeproof.questions.memory import Memory
from treeproof.questions.result import (
    Line,
    Presented,
    Result,
    Scales,
    as_plain,
    at_cost,
    beside_groups,
    certified,
    counted,
    is_least,
    lines_of,
    near_ties,
    no_less,
    not_widened,
    perhaps_less,
    plain_costs,
    plain_within,
    remark_lines,
    rule_frame,
    these_of_all,
    under,
    unless_moved,
    whatever,
)
from treeproof.questions.robustness import Robustness
from treeproof.search.inflation import Widened, unite, widen_values, work_limit
from treeproof.search.minimal import Sufficient, shortest_abductive, shuffled
from treeproof.search.minimum import minimum_abductive
from treeproof.space.conditions import Condition
from treeproof.space.wording import equals, show_class


@dataclass(frozen=True, slots=True)
class Nearby:
    """The inputs that a local explanation is about, and the names of the features, in whose order the scales are."""

    ball: Ball
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Abductive(Result):
    """Features whose values alone force the prediction; with a `target`, features that alone rule that class out.

    `status` is ``"minimum"`` (no other set is smaller, or cheaper if costs were stated), ``"minimal"`` (no feature can
    be dropped) or ``"sound"`` (timed out: the features suffice, but may not be minimal). With no
    features at all, the forest gives every input this label, or none the target.

    `cost` is what the features cost together, if costs were stated. `lower_bound` is given if the smallest set was
    asked for: it is proved that no set has fewer features, or costs less.

    `rule` has the values of the features for which that is proved: those that the forest does not distinguish from the
    instance's own (`conditions`, the text, has its own) or, if `inflated`, wider ranges and sets of values. `widest`
    says that it is proved that no range can be widened and no value added, given the others (perhaps missing values
    can); otherwise the search for that was not finished: `timed_out` if the deadline came first.

    `within` is given if the explanation is local: all of that is about the inputs whose other features move by no more
    than this part of their scale; `scale` says what that is. `others` has the ranges of the other features for which it
    is proved (those that may take any value are left out). With no features at all, every such input has this label.

    `at_most` is given if that is all the features that there may be. Then `within` is the largest radius for these
    features: `open` says that it is proved for all smaller ones, and `beyond` shows an input at that very distance
    with another label (if `beyond` is not exact, the deadline came first, and the radius may be larger). Both are None
    if the features force the prediction whatever the others are. `furthest` is True if it is proved that no other
    features, at most so many, have a larger radius, False if that is not known, and None if the deadline came first.

    `groups` are those of the explainer, if it has any: their features are kept or dropped together and count as one.
    Then `features` and `rule` have all features of a kept group, and `feature_names` has the group's name for them.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> why = tp.Explainer(forest, kinds=dict.fromkeys(forest.column_names[:3], "binary")).abductive(patient)
    >>> print(why)
    Yes, because
      blocked-arteries = 1
      chest-pain = 1
    Proved: these 2 of 4 features force the prediction; none of them can be dropped.
    """

    features: tuple[int, ...]
    feature_names: tuple[str, ...]
    label: Label
    rule: tuple[Condition, ...]
    target: Label | None
    _instance: Presented
    status: Literal["minimum", "minimal", "sound"]
    n_features: int
    stats: Statistics = field(compare=False)
    constraints: tuple[str, ...] = ()
    inflated: bool = False
    widest: bool = False
    timed_out: bool = False
    cost: Fraction | None = None
    lower_bound: Fraction | None = None
    within: Fraction | None = None
    scale: str | None = None
    others: tuple[Condition, ...] = ()
    open: bool = False
    beyond: Robustness | None = None
    at_most: int | None = None
    furthest: bool | None = None
    groups: tuple[Group, ...] = ()
    _certify: Callable[[float | None], Any] | None = field(default=None, repr=False, compare=False)
    _widen: Callable[[float | None], Abductive] | None = field(default=None, repr=False, compare=False)
    _scales: Scales | None = field(default=None, repr=False, compare=False)
    _origin: Origin | None = field(default=None, repr=False, compare=False)
    _nearby: Nearby | None = field(default=None, repr=False, compare=False)

    @property
    def instance(self) -> tuple[Value, ...]:
        """The row, as people write it."""
        return self._instance.values

    @property
    def nearby(self) -> Nearby | None:
        """The scales of all features, by which `within` is measured; None unless an explainer made this."""
        return self._nearby

    def certificate(self, timeout: float | None = None) -> Any:
        """Return a `Certificate`: this explanation with a proof that others can check, see ``docs/certificates.md``.

        It is made on request, with the explainer that made this explanation; a copy from a file or another process has
        none. It proves all that the result says: that the conditions of `rule` force the prediction (or rule the
        `target` out) and, unless the deadline came first, that no feature can be dropped; if the `status` is
        ``"minimum"``, that no smaller or cheaper set does; if `widest`, that no condition can be widened.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, patient = tp.examples.heart_disease()
        >>> print(tp.Explainer(forest).abductive(patient).certificate().check())
        Checked: blocked-arteries, chest-pain force the label Yes; none of them can be dropped (1 closed box).
          blocked-arteries >= 0.50000006
          chest-pain >= 0.50000006
        Row: blocked-arteries = 1, good-blood-circulation = 0, chest-pain = 1, weight = 70
        Model: ..., the most votes of 3 trees
        """
        return certified(self._certify, timeout)

    def widened(self, timeout: float | None = None) -> Abductive:
        """Return this explanation with its values widened to ranges and sets, as with ``inflate=True``.

        Notebook, command line and report show that form. Like a certificate, it needs the explainer's own result.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, patient = tp.examples.heart_disease()
        >>> tp.Explainer(forest).abductive(patient).widened().conditions
        ('blocked-arteries > 0.5', 'chest-pain > 0.5')
        """
        if self.inflated:
            return self
        if self._widen is None:
            raise UnsupportedQueryError(
                "Only an explainer's own explanation can be widened, not a copy of one from a file or another process."
            )
        return self._widen(timeout)

    @property
    def can_widen(self) -> bool:
        """Whether `widened` can be asked for."""
        return self.inflated or self._widen is not None

    @property
    def title(self) -> str:
        """The label, and whether any condition is needed for it."""
        label = (
            f"{show_class(self.label)}"
            if self.target is None
            else f"{show_class(self.label)}, not {show_class(self.target)}"
        )
        return f"{label}, {'because' if self.features else whatever(self.within)}"

    @property
    def size(self) -> int:
        """How many features there are; a group counts as one."""
        return len(self.feature_names)

    @property
    def lines(self) -> list[Line]:
        """The conditions, and what is proved about them."""
        claim = Line("proved" if self.decided else "open", self._proved() + under(self.constraints))
        far = self.beyond.shown() if self.beyond is not None else ""
        beyond = [Line("note", far)] if far else []
        scale = [] if self.scale is None else [Line("note", f"Scale: {self.scale}.")]
        shown = beside_groups(self.conditions, [condition.name for condition in self.rule], self.groups)
        return [
            *lines_of("condition", shown),
            claim,
            *remark_lines(self.rule if self.inflated else ()),
            *beyond,
            *scale,
        ]

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions in words: the row's values or, if they were widened, the ranges and sets of `rule`.

        >>> import treeproof as tp
        >>> forest, patient = tp.examples.heart_disease()
        >>> tp.Explainer(forest).abductive(patient).conditions
        ('blocked-arteries = 1', 'chest-pain = 1')
        """
        return tuple(map(str, self.rule)) if self.inflated else self.values

    @property
    def values(self) -> tuple[str, ...]:
        """The row's values of the features, in words, also if the conditions were widened.

        >>> import treeproof as tp
        >>> forest, patient = tp.examples.heart_disease()
        >>> why = tp.Explainer(forest).abductive(patient, inflate=True)
        >>> why.conditions, why.values
        (('blocked-arteries > 0.5', 'chest-pain > 0.5'), ('blocked-arteries = 1', 'chest-pain = 1'))
        """
        if self._scales is None:
            return tuple(map(str, self.rule))
        return tuple(
            str(condition)
            if condition.values is not None and len(condition.values) == 1
            else equals(feature.name, feature.show_presented(self.instance))
            for feature, condition in zip(self._scales.features, self.rule, strict=True)
        )

    @property
    def decided(self) -> bool:
        """Whether the features are as few, and their conditions as wide, as was asked for."""
        searched = self.at_most is None or self.furthest is not None
        return is_least(self) and searched and not self.timed_out

    def _proved(self) -> str:
        if not self.features and self.within is not None:
            other = "has another label" if self.target is None else f"has the label {show_class(self.target)}"
            moved = unless_moved(self.within, self.open, "no feature")
            return f"Proved: no input {other}{moved}.{self._furthest()}{near_ties(self.stats)}"
        if not self.features:
            every = "the forest gives every input this label"
            none = f"no input of the space gives the label {show_class(self.target)}"
            return f"Proved: {every if self.target is None else none}."
        one = self.size == 1
        if self.target is None:
            does = "forces the prediction" if one else "force the prediction"
        else:
            does = f"{'rules' if one else 'rule'} out the label {show_class(self.target)}"
        are = f"{these_of_all(self)}{at_cost(self.cost)} {does}{unless_moved(self.within, self.open)}"
        if self.status == "sound":
            return f"Proved: {are}. Timed out; may not be minimal.{self._furthest()}"
        dropped = no_less(self) or ("it cannot be dropped" if one else "none of them can be dropped")
        if self.widest:
            dropped += not_widened(self.rule)
        late = perhaps_less(self) + self._perhaps_wider() + self._furthest()
        return f"Proved: {are}; {dropped}.{late}{near_ties(self.stats)}"

    def _perhaps_wider(self) -> str:
        if not self.inflated or self.widest:
            return ""
        return (
            " Timed out; a condition may still be widened." if self.timed_out else " A condition may still be widened."
        )

    def _furthest(self) -> str:
        """Return whether other features reach further, if there was a budget of features."""
        if not self.at_most or self.within is None:  # there is one set of no features
            return ""
        if self.furthest is None:
            return " Timed out; a larger radius may be possible."
        most = f"set of at most {counted(self.at_most, self.groups)} reaches further"
        return f" No other {most}." if self.furthest else f" Whether another {most} is not known."

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""
        beyond = None if self.beyond is None else self.beyond.to_dict()
        plain = {**as_plain(self), **plain_costs(self), **plain_within(self.within), "beyond": beyond}
        return {"kind": "abductive", **plain, "instance": as_plain(self.instance)}

    def to_frame(self) -> Any:
        """Return one line for each condition as a pandas frame.

        ``low`` and ``high`` are the closed bounds, missing where there is none; ``ranges`` has several of them,
        ``values`` named ones. ``missing`` says whether a missing value satisfies the condition, ``text`` is the line
        that is printed.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, patient = tp.examples.heart_disease()
        >>> why = tp.Explainer(forest, kinds=dict.fromkeys(forest.column_names[:3], "binary")).abductive(patient)
        >>> why.to_frame()[["feature", "low", "high", "text"]]
                    feature  low  high                  text
        0  blocked-arteries  1.0   1.0  blocked-arteries = 1
        1        chest-pain  1.0   1.0        chest-pain = 1
        """
        return rule_frame(self.rule, self.conditions)

    def plot(self, data: Any = None, ax: Any = None) -> Any:
        """Draw each condition on the scale of its feature, over the distribution of the rows `data`; return the axes.

        See `treeproof.plots.explanation`.
        """
        from treeproof.show import plots

        return plots.explanation(self, data, ax)


SECONDS = 5.0
"""How long people wait for ranges where plain values would do."""
Orders = Iterator[list[int]]
"""Orders of deletion, the first one first; each is made when it is needed."""


Inflate = bool | Literal["quick", "widest", "unions"]


@dataclass(frozen=True, slots=True)
class Plan:
    """Which explanation is wanted: the shortest that deletion in these orders finds, or, with `costs`, the cheapest.

    With `inflate` the values of its features are then widened, in the first order, to intervals and sets that still
    force the prediction, as far as a tenth of a second or so allows, or less if ``"quick"``; with ``"widest"`` as far
    as possible; with ``"unions"``, too, to several intervals each. `order` is the only one, if it is that of all
    rows.
    """

    orders: Callable[[Instance, float | None], Orders]
    costs: FeatureCosts | None = None
    inflate: Inflate = False
    order: list[int] | None = None


def make_plan(
    context: Context,
    *,
    order: Order,
    prefer: Iterable[str | int],
    tries: int,
    minimum: bool,
    cost: Mapping[str | int, Any] | None,
    inflate: Inflate,
) -> Plan:
    """Return the user's options as a plan; InputError if they cannot be combined."""
    inflate = bool(inflate) if isinstance(inflate, bool | np.bool_) else inflate
    if not isinstance(inflate, bool):
        require_one_of("inflate", inflate, ("quick", "widest", "unions"))  # or True or False
    if isinstance(tries, bool) or not isinstance(tries, int | np.integer) or tries < 1:
        raise InputError(f"The 'tries' parameter must be a whole number of at least 1. Got {tries!r} instead.")
    preferred = context.features(prefer)
    costs = make_costs(context, minimum, cost, preferred)
    if minimum and tries > 1:
        raise InputError(
            "'tries' must not be combined with minimum=True, which looks for the smallest set. Leave one out."
        )

    of_all = None if isinstance(order, str) and order == "row" else context.order(order, preferred, None)

    def orders(instance: Instance, deadline: float | None) -> Orders:
        first = of_all or context.order(order, preferred, instance, deadline)
        yield first
        if tries == 1:
            return
        n_others = len(first) - len(context.units.touched(preferred))
        yield from (shuffled(first[:n_others], seed) + first[n_others:] for seed in range(1, tries))

    return Plan(orders, costs, inflate, of_all if tries == 1 else None)


@dataclass(frozen=True, slots=True)
class Why:
    """The question why, as planned, about one row after the other; `oracle_of_many` if they can be asked together."""

    context: Context
    plan: Plan
    ball: Ball | None
    timeout: float | None

    def __call__(
        self, instance: Instance, cancel: Cancel | None = None, memory: Memory[Search] | None = None
    ) -> Abductive:
        """Return the explanation of one row; see `explain`."""
        if self.ball is None:
            return explain(self.context, instance, self.plan, self.timeout, cancel, memory)
        start = time.monotonic()
        nearby = self.context.near(instance, self.ball)
        return explain(self.context, nearby, self.plan, seconds_after(self.timeout, start), cancel, memory)

    @property
    def oracle_of_many(self) -> DeletesMany | None:
        """The oracle, if all that is asked of it is one deletion for each row, which it does for many at once."""
        plain = self.plan.costs is None and not self.plan.inflate and self.ball is None
        whole = self.plan.order is not None and not self.context.units.groups
        oracle = self.context.oracle
        return oracle if plain and whole and isinstance(oracle, DeletesMany) else None

    def made(self, instance: Instance, found: Sufficient, stats: Statistics) -> Abductive:
        """Return what such a deletion found for a row."""
        assert self.plan.order is not None
        return _made(
            self.context, instance, self.plan, Search(found, self.plan.order, stats, None, None, None, late=False)
        )


def explain(
    context: Context,
    instance: Instance,
    plan: Plan,
    timeout: float | None,
    cancel: Cancel | None = None,
    memory: Memory[Search] | None = None,
) -> Abductive:
    """Return features that force the prediction, as planned; with a verified oracle, once their certificate is checked.

    Then the single answers behind them need not be checked, except for a minimum: a bound at the deadline has no
    certificate. With a `memory`, of the same context and plan, rows in the same cells share a search.
    """
    oracle = context.oracle
    if not isinstance(oracle, VerifiedOracle):
        return _explain(context, instance, plan, timeout, cancel, memory)
    return checked(
        oracle, _explain(oracle.unchecked if plan.costs is None else context, instance, plan, timeout, cancel, memory)
    )


def checked(oracle: VerifiedOracle, found: Abductive) -> Abductive:
    """Return an explanation once its certificate is checked; it is checked again when it is widened."""
    oracle.check(found.certificate())
    widen = found._widen
    return found if widen is None else replace(found, _widen=lambda timeout: checked(oracle, widen(timeout)))


def in_ranges(found: Abductive, timeout: float | None = None) -> Abductive:
    """Return an explanation widened as with ``inflate=True``; if that takes more than some seconds, as it is.

    People read ranges more easily, but do not wait for them: not all oracles have a limit of work.
    """
    if not found.can_widen or not found.decided:
        return found
    wide = found.widened(SECONDS if timeout is None else min(SECONDS, timeout))
    return wide if wide.decided else found


@dataclass(frozen=True, slots=True)
class Search:
    """What a search found. It saw the cells of a row, and those that free features may take, not the row's values."""

    found: Sufficient
    order: list[int]
    stats: Statistics
    widened: Widened | None
    cheapest: Cheapest[Refuted] | None
    bound: Fraction | None
    late: bool

    @property
    def decided(self) -> bool:
        """Whether no deadline cut it short, so that another one would find the same."""
        cheapest = self.bound is None or self.found.status == "minimum"
        stopped = self.widened is not None and self.widened.stopped
        return not self.late and self.found.status != "sound" and cheapest and not stopped


def _explain(
    context: Context,
    instance: Instance,
    plan: Plan,
    timeout: float | None,
    cancel: Cancel | None,
    memory: Memory[Search] | None,
) -> Abductive:
    start = time.perf_counter()
    key = instance.point, instance.free
    search = None if memory is None else memory.get(key)
    if search is None:
        search = _search(context, instance, plan, timeout, cancel)
        if memory is not None and search.decided:
            memory.put(key, search)
    else:
        search = replace(search, stats=replace(search.stats, seconds=time.perf_counter() - start))
    return _made(context, instance, plan, search)


def _search(context: Context, instance: Instance, plan: Plan, timeout: float | None, cancel: Cancel | None) -> Search:
    start = time.perf_counter()
    cache = context.cache(instance, Stays(instance.label), timeout, cancel)
    cheapest = bound = None
    orders = plan.orders(instance, cache.deadline)
    first = next(orders)
    if plan.costs is None:
        found = shortest_abductive(cache, first, orders)
    else:
        minimum = minimum_abductive(cache, first, plan.costs.units)
        found, bound = minimum.found, minimum.bound * plan.costs.unit
        cheapest = Cheapest(plan.costs.by_feature(context.units), tuple(c.witness for c in minimum.others))
    widened = None
    if plan.inflate:
        widened = widen_values(cache, found.features, first, work_limit(cache, plan.inflate))
    if plan.inflate == "unions" and widened is not None:
        widened = unite(cache, widened, [unit for unit in first if unit in found.features])
    late = cache.deadline is not None and time.monotonic() >= cache.deadline
    return Search(found, first, context.statistics(cache, start), widened, cheapest, bound, late)


def _made(context: Context, instance: Instance, plan: Plan, search: Search) -> Abductive:
    """Return what a search found, for a row with the cells that it saw."""
    later = partial(_widen, context, instance, plan, search) if search.widened is None else None
    result = make_abductive(context, instance, None, search.found, search.stats, search.widened, search.cheapest, later)
    if plan.costs is None:
        return result
    cost = plan.costs.total(context.units.touched(result.features))
    return replace(result, cost=cost, lower_bound=search.bound)


def _widen(context: Context, instance: Instance, plan: Plan, search: Search, timeout: float | None) -> Abductive:
    """Return what a search found, with its values widened now."""
    start = time.perf_counter() - search.stats.seconds
    cache = context.cache(instance, Stays(instance.label), timeout)
    cache.tally = search.stats.tally()
    widened = widen_values(cache, search.found.features, search.order, work_limit(cache, inflate=True))
    return _made(context, instance, plan, replace(search, widened=widened, stats=context.statistics(cache, start)))


def make_abductive(
    context: Context,
    instance: Instance,
    target: Any,
    found: Sufficient,
    stats: Statistics,
    widened: Widened | None = None,
    cheapest: Cheapest[Refuted] | None = None,
    widen: Callable[[float | None], Abductive] | None = None,
) -> Abductive:
    """Return what was found as a result, with the features' cells, or what these were widened to, as its rule."""
    space, clauses, n_cells = context.space, found.clauses, context.cells.n_cells
    units = context.units
    features = units.sorted(units.features(found.features))
    if units.groups:  # a feature that has one value says nothing; without groups it would not be there
        features = tuple(f for f in features if n_cells[f] > 1)
    if widened is None:
        rule = space.conditions_at(features, instance.point)
    else:
        domains, clauses = widened.domains, clauses | widened.clauses
        # A feature that takes all cells could have been dropped, so this is for groups and sets that are not minimal.
        features = tuple(f for f in features if len(domains[f]) < n_cells[f])
        rule = tuple(space.features[f].condition(domains[f], instance.row) for f in features)
    ball, free, kept = instance.ball, instance.free or (), set(features)
    others = [f for f, domain in enumerate(free) if f not in kept and len(domain) < n_cells[f]]
    return Abductive(
        features=features,
        feature_names=context.unit_names(sorted(units.touched(features)) if units.groups else features),
        label=context.labels[instance.label],
        rule=rule,
        target=context.label_of(target),
        _instance=Presented(partial(context.present, instance.row)),
        status=found.status,
        n_features=space.n_features,
        stats=stats,
        constraints=context.constraints(clauses),
        inflated=widened is not None,
        widest=widened is not None and widened.widest,
        timed_out=widened is not None and widened.stopped,
        within=None if ball is None else ball.radius,
        open=ball is not None and ball.open,
        scale=None if ball is None else ball.measure,
        others=tuple(space.condition_in(f, free[f]) for f in others),
        groups=context.groups,
        _nearby=None if ball is None else Nearby(ball, space.names),
        _certify=partial(_certify, context, instance, target, features, found.status, widened, cheapest),
        _widen=widen,
        _scales=Scales(tuple(map(space.features.__getitem__, features)), context.forest.columns, context.forest.floats),
        _origin=instance.origin,
    )


def widening(
    context: Context, instance: Instance, target: Any, found: Sufficient, order: list[int]
) -> Callable[[float | None], Abductive]:
    """Return the function that widens a set which another search found; its time is added to none."""

    def widen(timeout: float | None) -> Abductive:
        start = time.perf_counter()
        cache = context.cache(instance, context.claim(instance, target), timeout)
        widened = widen_values(cache, found.features, order)
        return make_abductive(context, instance, target, found, context.statistics(cache, start), widened)

    return widen


def _certify(
    context: Context,
    instance: Instance,
    target: Any,
    features: tuple[int, ...],
    status: str,
    widened: Widened | None,
    cheapest: Cheapest[Refuted] | None,
    timeout: float | None,
) -> Certificate:
    """Return the certificate of an explanation: that its rule suffices, and what else its status says."""
    domains = fix(context.cells, instance.point, features) if widened is None else widened.domains
    return certify(
        context,
        instance,
        context.claim(instance, target),
        {f: domains[f] for f in features},
        minimal=status != "sound",
        widest=widened is not None and widened.widest,
        cheapest=cheapest if status == "minimum" else None,
        deadline=deadline_after(timeout),
    )
