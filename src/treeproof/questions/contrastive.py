"""What would change the prediction: features whose change alone can do it, with the closest input that shows it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal, overload

import numpy as np

from treeproof.errors import InputError, InternalError, require_one_of
from treeproof.model.columns import Label, Value
from treeproof.model.floats import as_float
from treeproof.model.frames import Origin
from treeproof.proof.certificate import Certificate, Cheapest, certify, certify_change
from treeproof.query.cache import Cache
from treeproof.query.context import Context, Instance, deadline_after
from treeproof.query.oracle import Cancel, Entailed, Refuted
from treeproof.query.tally import Statistics
from treeproof.query.units import Group
from treeproof.questions.changes import Changed, ChangeResult
from treeproof.questions.costs import FeatureCosts, exact_sum
from treeproof.questions.moves import Moves, make_moves
from treeproof.questions.result import (
    Result,
    Role,
    Scales,
    as_plain,
    at_cost,
    certified,
    is_least,
    near_ties,
    no_less,
    perhaps_less,
    plain_costs,
    these_of_all,
)
from treeproof.search.closest import closest
from treeproof.search.diverse import different_changes
from treeproof.search.minimal import Change, contrastive
from treeproof.search.minimum import minimum_contrastive
from treeproof.space.wording import show_class

Distance = Literal["l1"]


@dataclass(frozen=True, slots=True, repr=False)
class Contrastive(ChangeResult):
    """Features whose change alone can give another prediction, with an input that shows it.

    `status` is ``"minimum"`` (no other set is smaller, or cheaper if costs were stated), ``"minimal"`` (no proper
    subset can change the prediction in the way asked for), ``"sound"`` (timed out: the witness is right, but the set
    may not be minimal), ``"impossible"`` (proved: no input at all, within the `limits`, gives the
    asked-for label) or ``"unknown"`` (timed out before any witness). `cost` and `lower_bound` are as in
    `Abductive`.

    `distance` is how far the witness is from the instance, rounded to a float; None unless requested. `closest` says
    that it is proved: no other values of the same features, within the limits, give the asked-for label at a smaller
    distance. `scale` says what the features' scales are, if limits are measured by them.

    `groups` are those of the explainer, if it has any: their features may change together and count as one. Then
    `feature_names` has the name of a group, and `features` and `changes` are those of it that the witness changes.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> change = tp.Explainer(forest, kinds=dict.fromkeys(forest.column_names[:3], "binary")).contrastive(patient)
    >>> print(change)
    No instead of Yes, if
      chest-pain: 1 -> 0
    Proved: changing this 1 of 4 features suffices; it cannot be left out, and no closer value does.
    """

    features: tuple[int, ...]
    feature_names: tuple[str, ...]
    label: Label
    witness: tuple[Value, ...] | None
    witness_label: Label | None
    changes: tuple[Changed, ...]
    target: Label | None
    instance: tuple[Value, ...]
    status: Literal["minimum", "minimal", "sound", "impossible", "unknown"]
    n_features: int
    stats: Statistics = field(compare=False)
    distance: float | None = None
    closest: bool = False
    limits: tuple[str, ...] = ()
    scale: str | None = None
    cost: Fraction | None = None
    lower_bound: Fraction | None = None
    groups: tuple[Group, ...] = ()
    _certify: Callable[[float | None], Any] | None = field(default=None, repr=False, compare=False)
    _scales: Scales | None = field(default=None, repr=False, compare=False)
    _origin: Origin | None = field(default=None, repr=False, compare=False)

    def certificate(self, timeout: float | None = None) -> Any:
        """Return a `Certificate`: this change with a proof that others can check, as for `Abductive`.

        It proves that the witness has another label, that none of the features can be left out and, if the `status` is
        ``"minimum"``, that no smaller or cheaper set does; not that no closer values do. If the `status` is
        ``"impossible"``, it proves that no input within the limits has another label (the target).
        """
        return certified(self._certify, timeout)

    @property
    def size(self) -> int:
        """How many features there are; a group counts as one."""
        return len(self.feature_names)

    @property
    def decided(self) -> bool:
        """Whether the features are as few, and their values as close, as was asked for, or none exists."""
        return self.status == "impossible" or (is_least(self) and (self.closest or self.distance is None))

    def _claim(self) -> str:
        other = "another label" if self.target is None else f"the label {show_class(self.target)}"
        limits = f", with {', '.join(self.limits)}" if self.limits else ""
        if self.status == "impossible":
            return f"Proved: no input of the space gives {other}{limits}."
        if self.status == "unknown":
            return f"Not decided: timed out before finding whether any input gives {other}{limits}."
        one = self.size == 1
        are = f"changing {these_of_all(self)}{at_cost(self.cost)} suffices"
        within = f" Limits: {', '.join(self.limits)}." if self.limits else ""
        if self.status == "sound":
            return f"Proved: {are}. Timed out; may not be minimal.{within}"
        end = f"{within}{near_ties(self.stats)}"
        minimal = no_less(self) or f"{'it cannot' if one else 'none of them can'} be left out"
        end = perhaps_less(self) + end
        if self.closest:
            closer = f"no closer {'value does' if len(self.features) == 1 else 'values do'}"
            return f"Proved: {are}; {minimal}, and{self._up_to_rounding} {closer}.{end}"
        late = "" if self.distance is None else " Timed out; closer values may exist."
        return f"Proved: {are}; {minimal}.{late}{end}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""
        return {"kind": "contrastive", **as_plain(self), **plain_costs(self)}


def find_change(
    context: Context,
    moves: Moves,
    target: Any,
    ordering: list[int],
    distance: Distance | None,
    timeout: float | None,
    costs: FeatureCosts | None = None,
    cancel: Cancel | None = None,
) -> Contrastive:
    """Return a subset-minimal set of features whose change reaches the target, by deletion in the given order.

    With `costs` it is the cheapest set. Its witness is the closest one, unless `distance` is None.
    """
    _check_distance(distance)
    start = time.perf_counter()
    cache = _cache(context, moves, target, timeout, cancel)
    answer = cache.ask(frozenset())
    if not isinstance(answer, Refuted):
        status: Literal["impossible", "unknown"] = "impossible" if isinstance(answer, Entailed) else "unknown"
        return make_contrastive(context, moves.instance, target, status, context.statistics(cache, start), moves)
    if costs is None:
        found = contrastive(cache, ordering, answer)
        return _finish(context, moves, target, cache, found, distance, start)
    minimum = minimum_contrastive(cache, ordering, costs.units, answer)
    cheapest = Cheapest(
        costs.by_feature(context.units), tuple(context.units.features(reason.features) for reason in minimum.others)
    )
    result = _finish(context, moves, target, cache, minimum.found, distance, start, cheapest)
    cost = costs.total(context.units.touched(result.features))
    return replace(result, cost=cost, lower_bound=minimum.bound * costs.unit)


def find_changes(
    context: Context,
    moves: Moves,
    target: Any,
    n: int,
    ordering: list[int],
    distance: Distance | None,
    timeout: float | None,
) -> Contrastives:
    """Return up to `n` minimal changes, each as different as possible from those before; fewer if there are no more."""
    _check_distance(distance)
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise InputError(f"The 'n' parameter must be a whole number of at least 1. Got {n!r} instead.")
    start = time.perf_counter()
    cache = _cache(context, moves, target, timeout)
    found: list[Contrastive] = []
    status: Literal["found", "all", "sound"] = "all"
    try:
        for change in different_changes(cache, ordering):
            found.append(_finish(context, moves, target, cache, change, distance, start))
            if len(found) == n:
                status = "found"
                break
    except TimeoutError:
        status = "sound"
    return Contrastives(
        changes=tuple(found),
        n=int(n),
        status=status,
        label=context.labels[moves.instance.label],
        target=context.label_of(target),
        limits=moves.words,
        stats=context.statistics(cache, start),
        _origin=moves.instance.origin,
    )


def make_contrastive(
    context: Context,
    instance: Instance,
    target: Any,
    found: Change | Literal["impossible", "unknown"],
    stats: Statistics,
    moves: Moves | None = None,
    distance: Fraction | None = None,
    is_closest: bool = False,
    cheapest: Cheapest[frozenset[int]] | None = None,
) -> Contrastive:
    """Return what was found as a result; `distance` is that of the witness, if it was asked for."""
    moves = moves or make_moves(context, instance)
    units = sorted(found.features) if isinstance(found, Change) else []
    reached = moves.reach(found.witness) if isinstance(found, Change) else None
    if isinstance(found, Change) and distance is not None and exact_sum(moves.distances(found.witness)) != distance:
        raise InternalError(f"The witness {found.witness} is not at the distance {distance}; please report this.")
    features = context.units.sorted(reached.changes) if reached else ()
    if context.units.touched(features) != frozenset(units):
        raise InternalError(f"The witness of a change of {units} changes {features}; please report this.")
    return Contrastive(
        features=features,
        feature_names=context.unit_names(units),
        label=context.labels[instance.label],
        witness=reached.values if reached else None,
        witness_label=reached.label if reached else None,
        changes=tuple(reached.changes[f] for f in features) if reached else (),
        target=context.label_of(target),
        instance=context.present(instance.row),
        status=found.status if isinstance(found, Change) else found,
        n_features=context.space.n_features,
        stats=stats,
        distance=None if distance is None else as_float(distance),
        closest=is_closest,
        limits=moves.words,
        scale=None if instance.ball is None else instance.ball.measure,
        groups=context.groups,
        _certify=partial(_certify, moves, found, target, cheapest)
        if found == "impossible" or (isinstance(found, Change) and found.status in ("minimal", "minimum"))
        else None,
        _scales=Scales(
            tuple(context.space.features[f] for f in features), context.forest.columns, context.forest.floats
        ),
        _origin=instance.origin,
    )


def _certify(
    moves: Moves,
    found: Change | Literal["impossible", "unknown"],
    target: Any,
    cheapest: Cheapest[frozenset[int]] | None,
    timeout: float | None,
) -> Certificate:
    """Return the certificate of a change, or that there is none; within limits, of the cells that these leave."""
    context, instance, deadline = moves.context, moves.instance, deadline_after(timeout)
    if moves.has_limits:
        instance = replace(instance, free=moves.free)
    claim = context.claim(instance, target)
    if not isinstance(found, Change):
        return certify(context, instance, claim, {}, minimal=False, deadline=deadline)
    witness, _ = moves.row(found.witness.witness)
    return certify_change(
        context,
        instance,
        claim,
        context.units.features(found.features),
        witness,
        cheapest=cheapest if found.status == "minimum" else None,
        deadline=deadline,
    )


def _check_distance(distance: Any) -> None:
    require_one_of("distance", distance, ("l1", None))


def _cache(context: Context, moves: Moves, target: Any, timeout: float | None, cancel: Cancel | None = None) -> Cache:
    return context.cache(moves.instance, context.claim(moves.instance, target), timeout, cancel, moves.free)


def _finish(
    context: Context,
    moves: Moves,
    target: Any,
    cache: Cache,
    found: Change,
    distance: Distance | None,
    start: float,
    cheapest: Cheapest[frozenset[int]] | None = None,
) -> Contrastive:
    """Return a change as a result, with the closest witness if a distance is asked for."""
    if distance is None:
        stats = context.statistics(cache, start)
        return make_contrastive(context, moves.instance, target, found, stats, moves, cheapest=cheapest)
    # A witness of a minimal change leaves no feature of it as it was, though perhaps some of a group.
    changed, grouped = context.units.features(found.features), bool(context.units.groups)
    is_closest = False
    try:
        costs, unit = moves.costs(changed, stay=grouped, deadline=cache.deadline)
    except TimeoutError:
        far = exact_sum(moves.distances(found.witness))
    else:
        nearest = closest(cache, costs, found.witness)
        # A set that is not minimal may lose a group that the closest witness leaves as it was.
        found = replace(found, witness=nearest.witness, features=cache.differences(nearest.witness))
        far = nearest.cost * unit
        is_closest = nearest.proved and found.status != "sound"
    stats = context.statistics(cache, start)
    return make_contrastive(context, moves.instance, target, found, stats, moves, far, is_closest, cheapest)


@dataclass(frozen=True, slots=True, repr=False)
class Contrastives(Result, Sequence[Contrastive]):
    """Several minimal changes that share few features, in the order in which they were found.

    `status` is ``"found"`` (as many as asked for), ``"all"`` (proved: there are no more) or ``"sound"`` (timed
    out: there may be more). Each change says what is proved about it.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> print(tp.Explainer(forest).contrastives(patient, n=3))
    1. No instead of Yes, if
      chest-pain: 1 -> 0.5
    Proved: changing this 1 of 4 features suffices; it cannot be left out, and no closer value does.
    2. No instead of Yes, if
      blocked-arteries: 1 -> 0.5
    Proved: changing this 1 of 4 features suffices; it cannot be left out, and no closer value does.
    2 minimal changes of 3 asked for. Proved: there are no others.
    """

    changes: tuple[Contrastive, ...]
    n: int
    status: Literal["found", "all", "sound"]
    label: Label
    target: Label | None
    limits: tuple[str, ...]
    stats: Statistics = field(compare=False)
    _origin: Origin | None = field(default=None, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.changes)

    @overload
    def __getitem__(self, index: int) -> Contrastive: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Contrastive, ...]: ...
    def __getitem__(self, index: int | slice) -> Contrastive | tuple[Contrastive, ...]:
        return self.changes[index]

    def __iter__(self) -> Iterator[Contrastive]:
        return iter(self.changes)

    @property
    def parts(self) -> tuple[Contrastive, ...]:
        """The changes."""
        return self.changes

    @property
    def title_role(self) -> Role:
        """The role of the title: proved if there are no other changes, open if timed out, otherwise only a title."""
        roles: dict[str, Role] = {"found": "title", "all": "proved"}
        return roles.get(self.status, "open")

    @property
    def decided(self) -> bool:
        """Whether there are as many changes as asked for, or as there are, and all of each is decided."""
        return self.status in ("found", "all") and all(change.decided for change in self.changes)

    @property
    def title(self) -> str:
        """How many changes there are, and whether there are others."""
        n, wanted = len(self.changes), f"{self.n} asked for"
        if self.status == "found":
            return f"{n} minimal changes, as asked for."
        what = f"{n} minimal change{'' if n == 1 else 's'} of {wanted}"
        limits = f" with {', '.join(self.limits)}" if self.limits else ""
        if self.status == "all":
            return f"{what}. Proved: there are no others{limits}."
        return f"{what}. Timed out; there may be more."

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""
        plain = {**as_plain(self), "changes": [change.to_dict() for change in self.changes]}
        return {"kind": "contrastives", **plain}

    def plot(self, ax: Any = None) -> Any:
        """Draw which features are in which change, as a matrix; return the axes. See `treeproof.plots.matrix`."""
        from treeproof.show import plots

        return plots.matrix(self.changes, ax, complete=True if self.status == "all" and not self.limits else None)
