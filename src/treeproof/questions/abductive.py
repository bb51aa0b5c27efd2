"""Why this prediction: features whose values alone force it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np

from treeproof.errors import InputError
from treeproof.model.columns import Label, Value
from treeproof.proof.certificate import Certificate, Cheapest, certify
from treeproof.proof.verified import VerifiedOracle
from treeproof.query.context import Context, Instance, Order, deadline_after
from treeproof.query.oracle import Cancel, Refuted, Stays, fix
from treeproof.query.tally import Statistics
from treeproof.questions.costs import FeatureCosts, make_costs
from treeproof.questions.result import (
    Line,
    Result,
    Scales,
    as_plain,
    at_cost,
    but_missing,
    certified,
    exactly,
    is_least,
    lines_of,
    near_ties,
    no_less,
    perhaps_less,
    plain_costs,
    plain_within,
    under,
    unless_moved,
    whatever,
)
from treeproof.search.inflation import Widened, widen
from treeproof.search.minimal import Sufficient, shortest_abductive, shuffled
from treeproof.search.minimum import minimum_abductive
from treeproof.space.conditions import Condition


@dataclass(frozen=True, slots=True, repr=False)
class Abductive(Result):
    """Features whose values alone force the prediction; with a `target`, features that alone rule that class out.

    `status` is ``"minimum"`` (no other set is smaller, or cheaper if costs were stated), ``"minimal"`` (no feature can
    be dropped) or ``"sound"`` (timed out: the features suffice, but may not be minimal). With no
    features at all, the forest gives every input this label, or none the target.

    `cost` is what the features cost together, if costs were stated. `lower_bound` is given if the smallest set was
    asked for: it is proved that no set has fewer features, or costs less.

    `rule` has the values of the features for which that is proved: those that the forest does not distinguish from the
    instance's own or, if `inflated`, wider ranges and sets of values. `widest` says that it is proved that no range can
    be widened and no value added, given the others (perhaps missing values can); otherwise the deadline came first.

    `within` is given if the explanation is local: all of that is about the inputs whose other features move by no more
    than this part of their scale; `scale` says what that is. `others` has the ranges of the other features for which it
    is proved (those that may take any value are left out). With no features at all, every such input has this label.

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
    instance: tuple[Value, ...]
    status: Literal["minimum", "minimal", "sound"]
    n_features: int
    stats: Statistics = field(compare=False)
    constraints: tuple[str, ...] = ()
    inflated: bool = False
    widest: bool = False
    cost: Fraction | None = None
    lower_bound: Fraction | None = None
    within: Fraction | None = None
    scale: str | None = None
    others: tuple[Condition, ...] = ()
    _certify: Callable[[float | None], Any] | None = field(default=None, repr=False, compare=False)
    _scales: Scales | None = field(default=None, repr=False, compare=False)

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
          0.5 < blocked-arteries
          0.5 < chest-pain
        """
        return certified(self._certify, timeout)

    @property
    def title(self) -> str:
        """The label, and whether any condition is needed for it."""
        label = f"{self.label}" if self.target is None else f"{self.label}, not {self.target}"
        return f"{label}, {'because' if self.features else whatever(self.within)}"

    @property
    def lines(self) -> list[Line]:
        """The conditions, and what is proved about them."""
        claim = self._proved() + under(self.constraints)
        lines = [*lines_of("condition", self.rule), Line("proved" if self.decided else "open", claim)]
        return lines if self.scale is None else [*lines, Line("note", f"Scale: {self.scale}.")]

    @property
    def decided(self) -> bool:
        """Whether the features are as few, and their conditions as wide, as was asked for."""
        return is_least(self) and (self.widest or not self.inflated)

    def _proved(self) -> str:
        if not self.features and self.within is not None:
            other = "has another label" if self.target is None else f"has the label {self.target}"
            moved = f"no feature moves by more than {exactly(self.within)} of its scale"
            return f"Proved: no input {other} as long as {moved}.{near_ties(self.stats)}"
        if not self.features:
            every = "the forest gives every input this label"
            return (
                f"Proved: {every if self.target is None else f'no input of the space gives the label {self.target}'}."
            )
        one = len(self.features) == 1
        if self.target is None:
            does = "forces the prediction" if one else "force the prediction"
        else:
            does = f"{'rules' if one else 'rule'} out the label {self.target}"
        these = f"{'this 1' if one else f'these {len(self.features)}'} of {self.n_features} features"
        are = f"{these}{at_cost(self.cost)} {does}{unless_moved(self.within)}"
        if self.status == "sound":
            return f"Proved: {are}. Timed out; may not be minimal."
        dropped = no_less(self) or ("it cannot be dropped" if one else "none of them can be dropped")
        if self.widest:
            dropped += ", and its condition cannot be widened" if one else ", and no condition can be widened"
            dropped += but_missing(self.rule)
        late = " Timed out; a condition may still be widened." if self.inflated and not self.widest else ""
        late = perhaps_less(self) + late
        return f"Proved: {are}; {dropped}.{late}{near_ties(self.stats)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""
        return {"kind": "abductive", **as_plain(self), **plain_costs(self), **plain_within(self.within)}

    def plot(self, data: Any = None, ax: Any = None) -> Any:
        """Draw each condition on the scale of its feature, over the distribution of the rows `data`; return the axes.

        See `treeproof.plots.explanation`.
        """
        from treeproof.show import plots

        return plots.explanation(self, data, ax)


Orders = tuple[list[int], ...]
"""Orders of deletion, the first one first."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Which explanation is wanted: the shortest that deletion in these orders finds, or, with `costs`, the cheapest.

    With `inflate` the values of its features are then widened, in the first order, to intervals and sets that still
    force the prediction.
    """

    orders: Callable[[Instance], Orders]
    costs: FeatureCosts | None = None
    inflate: bool = False


def make_plan(
    context: Context,
    *,
    order: Order,
    prefer: Iterable[str | int],
    tries: int,
    minimum: bool,
    cost: Mapping[str | int, Any] | None,
    inflate: bool,
) -> Plan:
    """Return the user's options as a plan; InputError if they cannot be combined."""
    if isinstance(tries, bool) or not isinstance(tries, int | np.integer) or tries < 1:
        raise InputError(f"The 'tries' parameter must be a whole number of at least 1. Got {tries!r} instead.")
    preferred = context.features(prefer)
    costs = make_costs(context, minimum, cost, preferred)
    if minimum and tries > 1:
        raise InputError(
            "'tries' must not be combined with minimum=True, which looks for the smallest set. Leave one out."
        )

    def orders(instance: Instance | None) -> Orders:
        first = context.order(order, preferred, instance)
        n_others = len(first) - len(set(preferred))
        return first, *(shuffled(first[:n_others], seed) + first[n_others:] for seed in range(1, tries))

    of_all = () if order == "row" else orders(None)
    return Plan(lambda instance: of_all or orders(instance), costs, inflate)


def explain(
    context: Context, instance: Instance, plan: Plan, timeout: float | None, cancel: Cancel | None = None
) -> Abductive:
    """Return features that force the prediction, as planned; with a verified oracle, once their certificate is checked.

    Then the single answers behind them need not be checked, except for a minimum: a bound at the deadline has no
    certificate.
    """
    oracle = context.oracle
    if not isinstance(oracle, VerifiedOracle):
        return _explain(context, instance, plan, timeout, cancel)
    found = _explain(oracle.unchecked if plan.costs is None else context, instance, plan, timeout, cancel)
    oracle.check(found.certificate())
    return found


def _explain(
    context: Context, instance: Instance, plan: Plan, timeout: float | None, cancel: Cancel | None
) -> Abductive:
    start = time.perf_counter()
    cache = context.cache(instance, Stays(instance.label), timeout, cancel)
    proved = None
    orders = plan.orders(instance)
    if plan.costs is None:
        found = shortest_abductive(cache, orders)
    else:
        minimum = minimum_abductive(cache, orders[0], plan.costs.units)
        found, proved = minimum.found, Cheapest(plan.costs.stated_units, tuple(c.witness for c in minimum.others))
    widened = None
    if plan.inflate:
        order = [f for f in orders[0] if f in found.features]
        widened = widen(
            cache, [own if f in found.features else cache.free[f] for f, own in enumerate(cache.own)], order
        )
    result = make_abductive(context, instance, None, found, context.statistics(cache, start), widened, proved)
    if plan.costs is None:
        return result
    return replace(result, cost=plan.costs.total(result.features), lower_bound=minimum.bound * plan.costs.unit)


def make_abductive(
    context: Context,
    instance: Instance,
    target: Any,
    found: Sufficient,
    stats: Statistics,
    widened: Widened | None = None,
    cheapest: Cheapest[Refuted] | None = None,
) -> Abductive:
    """Return what was found as a result, with the features' cells, or what these were widened to, as its rule."""
    space, features, clauses = context.space, tuple(sorted(found.features)), found.clauses
    if widened is None:
        rule = tuple(space.condition_at(f, instance.point[f]) for f in features)
    else:
        domains, clauses = widened.domains, clauses | widened.clauses
        # A feature that takes all cells could have been dropped, so this is for sets that are not minimal.
        features = tuple(f for f in features if len(domains[f]) < space.features[f].n_cells)
        rule = tuple(space.features[f].condition(domains[f]) for f in features)
    ball, free = instance.ball, instance.free or ()
    others = [f for f, domain in enumerate(free) if f not in features and len(domain) < space.features[f].n_cells]
    return Abductive(
        features=features,
        feature_names=context.names(features),
        label=context.labels[instance.label],
        rule=rule,
        target=context.label_of(target),
        instance=context.present(instance.row),
        status=found.status,
        n_features=space.n_features,
        stats=stats,
        constraints=context.constraints(clauses),
        inflated=widened is not None,
        widest=widened is not None and widened.widest,
        within=None if ball is None else ball.radius,
        scale=None if ball is None else ball.measure,
        others=tuple(space.features[f].condition(free[f]) for f in others),
        _certify=partial(_certify, context, instance, target, features, found.status, widened, cheapest),
        _scales=Scales(tuple(map(space.features.__getitem__, features)), context.forest.columns, context.forest.floats),
    )


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
