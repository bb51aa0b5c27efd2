"""What every question needs: a forest, its space, an oracle, and the ways from a person's words to cells and back."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from treeproof.errors import InputError, InternalError, is_list, require_one_of
from treeproof.model.columns import Label, Rows, Value
from treeproof.model.forest import Forest
from treeproof.model.frames import Form, Origin, plain_name, row_label, row_labels
from treeproof.model.labels import find_label
from treeproof.model.rows import as_row, by_number
from treeproof.query.ball import Ball
from treeproof.query.cache import Cache
from treeproof.query.cells import CellForest
from treeproof.query.gains import largest_gains
from treeproof.query.nearer import put_back
from treeproof.query.oracle import Cancel, Claim, Labels, Never, Oracle, Refuted, Stays
from treeproof.query.tally import Statistics
from treeproof.query.units import Group, Units
from treeproof.space.domains import Cells, Domain
from treeproof.space.features import NumericFeature
from treeproof.space.space import Space, feature_index
from treeproof.space.wording import show_day

Order = Literal["importance", "row", "index"]

# What an answer takes after its search, measured with thousands of features and millions of nodes.
_FEATURE_SECONDS, _NODE_SECONDS = 1e-5, 1e-8
_VALUE_SECONDS = 1e-7  # to read one of a row


@dataclass(frozen=True, eq=False, slots=True)
class Instance:
    """One row, its cells, and the index of the class that the model predicts for it.

    With a `ball`, questions are about the inputs near the row alone: features that are not kept take the cells `free`.
    """

    row: Rows
    point: Cells
    label: int
    ball: Ball | None = None
    free: tuple[Domain, ...] | None = None
    origin: Origin | None = None


@dataclass(frozen=True, eq=False)
class Context:
    """A forest, its space, the forest over the cells of that space, and an oracle for it."""

    forest: Forest
    space: Space
    cells: CellForest
    oracle: Oracle
    labels: list[Label]
    """The class labels, with their names if they have any."""
    form: Form
    """How people write rows, as far as the explainer's data tell."""
    units: Units
    """What is kept or freed as one: features, or groups of them."""

    def class_index(self, label: Any) -> int:
        """Return the index of a class given by its label or its name."""
        return find_label(self.labels, label)

    def instance(self, x: Any, ball: Ball | None = None) -> Instance:
        """Return a row as people pass it, located in the space; with a ball, for questions about the inputs near it."""
        origin = Origin(row_label(x), self.form.of(x))
        return self.near(self.locate(as_row(x, self.forest.columns, self.forest.floats), origin), ball)

    def origins(self, X: Any) -> list[Origin]:
        """Return where each row of a table came from."""
        form, labels = self.form.of(X), row_labels(X)
        names = [None] * by_number(X)[0] if labels is None else map(plain_name, labels)
        return [Origin(name, form) for name in names]

    def near(self, instance: Instance, ball: Ball | None) -> Instance:
        """Return an instance for questions about the inputs near it; without a ball, about all."""
        if ball is None:
            return instance
        return replace(instance, ball=ball, free=ball.domains(self.space, instance.row, instance.point))

    def locate(self, row: Rows, origin: Origin | None = None) -> Instance:
        """Return a row of the forest's own numbers, located in the space."""
        return self.labelled(row, self.space.cells(row), origin)

    def labelled(self, row: Rows, point: Cells, origin: Origin | None = None) -> Instance:
        """Return a row whose cells are known, with its label; InputError if it violates a constraint."""
        if not self.cells.allows(point):
            broken = next(c for c in range(len(self.cells.clauses)) if not self.cells.allows(point, (c,)))
            raise InputError(
                f"The row violates the constraint {self.constraint(broken)!r}; correct the row or the constraint."
            )
        return Instance(row, point, self._label(point), origin=origin)

    @cached_property
    def _label(self) -> Callable[[Cells], int]:
        """What finds the label of a point soonest."""
        return self.oracle.label if isinstance(self.oracle, Labels) else self.cells.label

    def claim(self, instance: Instance, target: Any = None) -> Claim:
        """Return the claim that the prediction stays, or that it never becomes `target`."""
        if target is None:
            return Stays(instance.label)
        wanted = self.class_index(target)
        if wanted == instance.label:
            raise InputError(f"The target must differ from the prediction. The prediction is {target!r} already.")
        return Never(wanted)

    def label_of(self, target: Any) -> Label | None:
        """Return the target as the forest's own label."""
        return None if target is None else self.labels[self.class_index(target)]

    def cache(
        self,
        instance: Instance,
        claim: Claim,
        timeout: float | None,
        cancel: Cancel | None = None,
        free: Sequence[Domain] | None = None,
    ) -> Cache:
        """Return an empty cache of answers about the instance, with a deadline `timeout` seconds from now.

        Features that are not fixed take the cells `free`, by default those of the instance's ball, or else all.
        """
        free = instance.free if free is None else free
        return Cache(self.cells, self.oracle, instance.point, claim, self.deadline(timeout), cancel, free, self.units)

    def deadline(self, timeout: float | None, n_rows: int = 0) -> float | None:
        """Return when a search must end so that its answer is there `timeout` seconds from now.

        The more features there are, the longer it takes to write an answer; in the largest models a search has not
        ended at once; and rows that are read between take their time. All that never is more than half of the time.
        """
        check_timeout(timeout)
        if timeout is None:
            return None
        after = (
            _NODE_SECONDS * self.forest.n_nodes + (_FEATURE_SECONDS + _VALUE_SECONDS * n_rows) * self.space.n_features
        )
        return deadline_after(timeout - min(after, timeout / 2))

    def features(self, features: Iterable[str | int]) -> list[int]:
        """Return the indices of features given by name or index; a group's name stands for its features."""
        if isinstance(features, tuple | list) and not features:
            return []
        if not is_list(features):
            got = f"the string {features!r}" if isinstance(features, str) else repr(features)
            raise InputError(f"Features must be a list of names or indices. Got {got}.")
        groups = self.units.groups
        found = (groups[f] if isinstance(f, str) and f in groups else (self._index(f),) for f in features)
        return [f for those in found for f in those]

    def _index(self, feature: Any) -> int:
        """Return the index of a feature; an error also lists the groups that could have been named."""
        if not self.units.groups or not isinstance(feature, str):
            return self.space.index(feature)
        return feature_index(feature, (*self.space.names, *self.units.groups))

    def unit(self, feature: str | int) -> int:
        """Return a group given by name, or a feature that is in none; InputError for a feature of a group."""
        first, *_ = self.features([feature])
        if self.units.members.get(first) == (first,) or feature in self.units.groups:
            return self.units.of[first]
        group = next(group for group in self.groups if self.space.names[first] in group.members)
        raise InputError(
            f"A feature of a group counts with its group only. Got {feature!r}, which is in {group.name!r}; name that "
            "instead."
        )

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The groups, with the names of their features."""
        return tuple(Group(name, self.names(those)) for name, those in self.units.groups.items())

    @cached_property
    def plain(self) -> Context:
        """The same without groups: for questions about given features or conditions, which a group only names."""
        return replace(self, units=Units(self.space.n_features, {})) if self.units.groups else self

    def constraint(self, clause: int) -> str:
        """Return the constraint, as it was declared, that a clause of the forest over cells comes from."""
        return self.space.constraints[self.space.clauses[clause][0]].text

    def constraints(self, clauses: Collection[int]) -> tuple[str, ...]:
        """Return the constraints that clauses come from, each once, in the order of their declaration."""
        if not clauses:
            return ()
        used = {self.space.clauses[clause][0] for clause in clauses}
        return tuple(self.space.constraints[i].text for i in sorted(used))

    def names(self, features: Iterable[int]) -> tuple[str, ...]:
        """Return the names of features given by index."""
        return tuple(map(self.space.names.__getitem__, features))

    def unit_names(self, units: Iterable[int]) -> tuple[str, ...]:
        """Return the names of units: of groups, and of features in none."""
        if not self.units.groups:
            return self.names(units)
        named = {those[0]: name for name, those in self.units.groups.items()}
        return tuple(named.get(unit, self.space.names[unit]) for unit in units)

    def order(
        self,
        order: Order,
        prefer: Iterable[str | int],
        instance: Instance | None = None,
        deadline: float | None = None,
    ) -> list[int]:
        """Return the features, or units, in the order in which they are tried for removal: preferred ones last.

        A group is as important as its features together. The order ``"row"`` needs the instance; if the deadline comes
        before it is known, it is by importance.
        """
        require_one_of("order", order, ("importance", "row", "index"))
        if order == "importance":
            ordering = self._by_importance
        elif order == "row":
            assert instance is not None, "this order depends on the row"
            ordering = self._by_gain(instance, deadline)
        else:
            ordering = sorted(self.units.everything)
        last = list(dict.fromkeys([self.units.of[f] for f in self.features(prefer)]))
        if not last:
            return ordering
        return [f for f in ordering if f not in last] + last[::-1]

    @cached_property
    def _by_importance(self) -> list[int]:
        if not self.units.groups:
            return np.argsort(self.space.importances, kind="stable").tolist()
        members, importances = self.units.members, self.space.importances.tolist()
        return sorted(members, key=lambda unit: math.fsum(importances[f] for f in members[unit]))

    def _by_gain(self, instance: Instance, deadline: float | None) -> list[int]:
        try:
            gains = largest_gains(self.cells, instance.point, instance.label, deadline)
        except TimeoutError:
            return self._by_importance
        members = self.units.members
        return sorted(self._by_importance, key=lambda unit: max(gains[f] for f in members[unit]))

    def statistics(self, cache: Cache, start: float) -> Statistics:
        """Return what was asked since `start`, a time of ``time.perf_counter()``."""
        return Statistics.of(cache.tally, self.oracle.name, time.perf_counter() - start)

    def witness(self, row: Rows, answer: Refuted) -> tuple[tuple[Value, ...], Label]:
        """Return the witness as a concrete row near `row`, evaluated once more by the forest's own predict."""
        return self.evaluated(self.space.row(answer.witness, near=row), answer.label)

    def nearer(
        self,
        instance: Instance,
        answer: Refuted,
        deadline: float | None,
        domains: Sequence[Domain] | None = None,
    ) -> tuple[Cells, int]:
        """Return the witness, with each feature that need not have changed back in the instance's cell, and its label.

        It stays within the domains, if they are given, and has another label than the instance, as before.
        """
        point, label, own = answer.witness, answer.label, instance.point
        changed = [f for f, cell in enumerate(point) if cell != own[f] and (domains is None or own[f] in domains[f])]

        def other(cells: Cells) -> int | None:
            found = self._label(cells) if self.cells.allows(cells) else instance.label
            return None if found == instance.label else found

        return put_back(point, label, own, changed, other, deadline)

    def evaluated(self, row: Rows, label: int) -> tuple[tuple[Value, ...], Label]:
        """Return a concrete row as people write it, and its label, which the forest's own predict must give it."""
        predicted = int(self.forest.decide(self.forest.route(row[None, :]))[0])
        if predicted != label:
            raise InternalError(
                f"The witness {row.tolist()} should be {self.labels[label]!r}, but the forest predicts "
                f"{self.labels[predicted]!r}; please report this."
            )
        return self.present(row), self.labels[predicted]

    @cached_property
    def _named(self) -> list[int]:
        """The columns whose values are not written as numbers."""
        return [j for j, column in enumerate(self.forest.columns) if column.categories is not None or column.date]

    def present(self, row: Rows) -> tuple[Value, ...]:
        """Return a row as people write it: short numbers that the model reads as the same, named values."""
        shown: list[Value] = [*self.forest.floats.all_short(row)]
        for j in self._named:
            column, value = self.forest.columns[j], float(row[j])
            shown[j] = show_day(value) if column.categories is None else column.category(int(value))
        return tuple(shown)


def form_of(space: Space, data: Any = None, narrows: bool = False) -> Form:
    """Return how people write rows of this space: as their `data`, if there are any. See `Form` for `narrows`."""
    whole = [False] * space.forest.n_columns
    for feature in space.features:
        if isinstance(feature, NumericFeature):
            whole[feature.column] = feature.kind != "real"
    return Form(space.forest.columns, space.forest.floats, tuple(whole), narrows=narrows).of(data)


def check_timeout(timeout: Any) -> None:
    """Raise InputError unless `timeout` is None or a number of seconds."""
    if timeout is None:
        return
    if isinstance(timeout, bool) or not isinstance(timeout, int | float | np.number) or not timeout >= 0:
        raise InputError(f"The 'timeout' parameter must be a number of seconds, at least 0. Got {timeout!r} instead.")


def seconds_after(timeout: float | None, start: float) -> float | None:
    """Return what is left of a timeout that began at a time of ``time.monotonic()``."""
    check_timeout(timeout)
    return None if timeout is None else max(0.0, timeout - (time.monotonic() - start))


def deadline_after(timeout: float | None) -> float | None:
    """Return the time of ``time.monotonic()`` that many seconds from now."""
    check_timeout(timeout)
    return None if timeout is None else time.monotonic() + timeout


def sooner(deadline: float | None) -> float | None:
    """Return the time half-way to the deadline, so that what comes next has as long."""
    return None if deadline is None else (deadline + time.monotonic()) / 2
