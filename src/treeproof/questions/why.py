"""Why this prediction: features whose values alone force it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from treeproof.certificate import Certificate, Cheapest, certify
from treeproof.errors import InputError
from treeproof.explanation import Abductive, Scales, Statistics
from treeproof.oracles.native import Cancel
from treeproof.query import Refuted, Stays, fix
from treeproof.questions.costs import Costs, make_costs
from treeproof.search.inflation import Widened, widen
from treeproof.search.minimal import Sufficient, shortest_abductive, shuffled
from treeproof.search.minimum import minimum_abductive
from treeproof.setting import Instance, Order, Setting, deadline_after


@dataclass(frozen=True, slots=True)
class Plan:
    """Which explanation is wanted: the shortest that deletion in these orders finds, or, with `costs`, the cheapest.

    With `inflate` the values of its features are then widened, in the first order, to intervals and sets that still
    force the prediction.
    """

    orders: tuple[list[int], ...]
    costs: Costs | None = None
    inflate: bool = False


def make_plan(
    setting: Setting,
    *,
    order: Order,
    prefer: Iterable[str | int],
    tries: int,
    minimum: bool,
    cost: Mapping[str | int, Any] | None,
    inflate: bool,
) -> Plan:
    """Return what a person asks for, as a plan; InputError if its parts do not go together."""
    if isinstance(tries, bool) or not isinstance(tries, int | np.integer) or tries < 1:
        raise InputError(f"The 'tries' parameter must be a whole number of at least 1. Got {tries!r} instead.")
    preferred = setting.features(prefer)
    costs = make_costs(setting, minimum, cost, preferred)
    if minimum and tries > 1:
        raise InputError("With minimum=True no set is shorter, however many orders are tried. Leave out 'tries'.")
    first = setting.order(order, preferred)
    n_others = len(first) - len(set(preferred))
    perturbed = (shuffled(first[:n_others], seed) + first[n_others:] for seed in range(1, tries))
    return Plan((first, *perturbed), costs, inflate)


def explain(
    setting: Setting, instance: Instance, plan: Plan, timeout: float | None, cancel: Cancel | None = None
) -> Abductive:
    """Return features that force the prediction, as planned."""
    start = time.perf_counter()
    memory = setting.memory(instance, Stays(instance.label), timeout, cancel)
    proved = None
    if plan.costs is None:
        found = shortest_abductive(memory, plan.orders)
    else:
        minimum = minimum_abductive(memory, plan.orders[0], plan.costs.units)
        found, proved = minimum.found, Cheapest(plan.costs.stated_units, tuple(c.witness for c in minimum.others))
    widened = None
    if plan.inflate:
        widened = widen(memory, fix(setting.cells, instance.point, found.features), plan.orders[0])
    result = make_abductive(setting, instance, None, found, setting.statistics(memory, start), widened, proved)
    if plan.costs is None:
        return result
    return replace(result, cost=plan.costs.total(result.features), lower_bound=minimum.bound * plan.costs.unit)


def make_abductive(
    setting: Setting,
    instance: Instance,
    target: Any,
    found: Sufficient,
    stats: Statistics,
    widened: Widened | None = None,
    cheapest: Cheapest[Refuted] | None = None,
) -> Abductive:
    """Return what was found as a result, with the features' cells, or what these were widened to, as its rule."""
    space, features, clauses = setting.space, tuple(sorted(found.features)), found.clauses
    if widened is None:
        rule = tuple(space.condition_at(f, instance.point[f]) for f in features)
    else:
        domains, clauses = widened.domains, clauses | widened.clauses
        # A feature that takes all cells could have been dropped, so this is for sets that are not minimal.
        features = tuple(f for f in features if len(domains[f]) < space.features[f].n_cells)
        rule = tuple(space.features[f].condition(domains[f]) for f in features)
    return Abductive(
        features=features,
        feature_names=setting.names(features),
        label=setting.labels[instance.label],
        rule=rule,
        target=setting.label_of(target),
        instance=setting.present(instance.row),
        status=found.status,
        n_features=space.n_features,
        stats=stats,
        constraints=setting.constraints(clauses),
        inflated=widened is not None,
        widest=widened is not None and widened.widest,
        _certify=partial(_certify, setting, instance, target, features, found.status, widened, cheapest),
        _scales=Scales(tuple(map(space.features.__getitem__, features)), setting.forest.columns, setting.forest.floats),
    )


def _certify(
    setting: Setting,
    instance: Instance,
    target: Any,
    features: tuple[int, ...],
    status: str,
    widened: Widened | None,
    cheapest: Cheapest[Refuted] | None,
    timeout: float | None,
) -> Certificate:
    """Return the certificate of an explanation: that its rule suffices, and all that its status says beyond."""
    domains = fix(setting.cells, instance.point, features) if widened is None else widened.domains
    return certify(
        setting,
        instance,
        setting.claim(instance, target),
        {f: domains[f] for f in features},
        minimal=status != "sound",
        widest=widened is not None and widened.widest,
        cheapest=cheapest if status == "minimum" else None,
        deadline=deadline_after(timeout),
    )
