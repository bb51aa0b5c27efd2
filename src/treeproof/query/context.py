"""What every question needs: a forest, its space, an oracle, and the ways from a person's words to cells and back."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from treeproof.errors import InputError, InternalError
from treeproof.model.columns import Label, Rows, Value
from treeproof.model.forest import Forest
from treeproof.model.rows import as_row
from treeproof.query.ball import Ball
from treeproof.query.cache import Cache
from treeproof.query.cells import CellForest
from treeproof.query.gains import largest_gains
from treeproof.query.oracle import Cancel, Claim, Labels, Never, Oracle, Refuted, Stays
from treeproof.query.tally import Statistics
from treeproof.space.conditions import show_day
from treeproof.space.domains import Cells, Domain
from treeproof.space.space import Space

Order = Literal["importance", "row", "index"]


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


@dataclass(frozen=True, eq=False)
class Context:
    """A forest, its space, the forest over the cells of that space, and an oracle for it."""

    forest: Forest
    space: Space
    cells: CellForest
    oracle: Oracle

    @cached_property
    def labels(self) -> list[Label]:
        """The class labels."""
        return self.forest.classes.tolist()

    def instance(self, x: Any, ball: Ball | None = None) -> Instance:
        """Return a row as people pass it, located in the space; with a ball, for questions about the inputs near it."""
        return self.locate(as_row(x, self.forest.columns, self.forest.floats), ball)

    def locate(self, row: Rows, ball: Ball | None = None) -> Instance:
        """Return a row of the forest's own numbers, located in the space."""
        point = self.space.cells(row)
        if not self.cells.allows(point):
            broken = next(c for c in range(len(self.cells.clauses)) if not self.cells.allows(point, (c,)))
            raise InputError(
                f"The row violates the constraint {self.constraint(broken)!r}; correct the row or the constraint."
            )
        label = self.oracle.label if isinstance(self.oracle, Labels) else self.cells.label
        free = None if ball is None else ball.domains(self.space, row, point)
        return Instance(row, point, label(point), ball, free)

    def claim(self, instance: Instance, target: Any = None) -> Claim:
        """Return the claim that the prediction stays, or that it never becomes `target`."""
        if target is None:
            return Stays(instance.label)
        wanted = self.forest.class_index(target)
        if wanted == instance.label:
            raise InputError(f"The target must differ from the prediction. The prediction is {target!r} already.")
        return Never(wanted)

    def label_of(self, target: Any) -> Label | None:
        """Return the target as the forest's own label."""
        return None if target is None else self.labels[self.forest.class_index(target)]

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
        return Cache(self.cells, self.oracle, instance.point, claim, deadline_after(timeout), cancel, free)

    def features(self, features: Iterable[str | int]) -> list[int]:
        """Return the indices of features given by name or index."""
        if isinstance(features, str):
            raise InputError(f"Features must be a list of names or indices. Got the string {features!r}.")
        return [self.space.index(feature) for feature in features]

    def constraint(self, clause: int) -> str:
        """Return the constraint, as it was declared, that a clause of the forest over cells comes from."""
        return self.space.constraints[self.space.clauses[clause][0]].text

    def constraints(self, clauses: Iterable[int]) -> tuple[str, ...]:
        """Return the constraints that clauses come from, each once, in the order of their declaration."""
        used = {self.space.clauses[clause][0] for clause in clauses}
        return tuple(self.space.constraints[i].text for i in sorted(used))

    def names(self, features: Iterable[int]) -> tuple[str, ...]:
        """Return the names of features given by index."""
        return tuple(self.space.names[f] for f in features)

    def order(self, order: Order, prefer: Iterable[str | int], instance: Instance | None = None) -> list[int]:
        """Return the features in the order in which they are tried for removal: preferred ones last.

        The order ``"row"`` needs the instance.
        """
        if order == "importance":
            ordering = self._by_importance
        elif order == "row":
            assert instance is not None, "this order depends on the row"
            gains = largest_gains(self.cells, instance.point, instance.label)
            ordering = sorted(self._by_importance, key=gains.__getitem__)
        elif order == "index":
            ordering = list(range(self.space.n_features))
        else:
            raise InputError(f"The 'order' parameter must be 'importance', 'row' or 'index'. Got {order!r} instead.")
        last = list(dict.fromkeys(self.features(prefer)))
        if not last:
            return ordering
        return [f for f in ordering if f not in last] + last[::-1]

    @cached_property
    def _by_importance(self) -> list[int]:
        return np.argsort(self.space.importances, kind="stable").tolist()

    def statistics(self, cache: Cache, start: float) -> Statistics:
        """Return what was asked since `start`, a time of ``time.perf_counter()``."""
        return Statistics.of(cache.tally, self.oracle.name, time.perf_counter() - start)

    def witness(self, row: Rows, answer: Refuted) -> tuple[tuple[Value, ...], Label]:
        """Return the witness as a concrete row near `row`, evaluated once more by the forest's own predict."""
        return self.evaluated(self.space.row(answer.witness, near=row), answer.label)

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
    def _seven_digits(self) -> str:
        return "%.7g " * self.forest.n_columns

    @cached_property
    def _all_numeric(self) -> bool:
        return all(column.categories is None and not column.date for column in self.forest.columns)

    def present(self, row: Rows) -> tuple[Value, ...]:
        """Return a row as people write it: the shortest numbers that the model reads as the same, named values."""
        # Seven digits are often enough, and ten times faster to find out than the shortest ones.
        short = list(map(float, (self._seven_digits % tuple(row.tolist())).split()))
        same = (np.array(short, dtype=row.dtype) == row).tolist()
        if self._all_numeric and all(same):
            return tuple(short)
        return tuple(
            column.category(int(value))
            if column.categories is not None
            else show_day(value)
            if column.date
            else brief
            if enough
            else math.nan
            if math.isnan(value)
            else float(self.forest.floats.shortest(value))
            for value, brief, enough, column in zip(row.tolist(), short, same, self.forest.columns, strict=True)
        )


def check_timeout(timeout: Any) -> None:
    """Raise InputError unless `timeout` is None or a number of seconds."""
    if timeout is None:
        return
    if isinstance(timeout, bool) or not isinstance(timeout, int | float | np.number) or not timeout >= 0:
        raise InputError(f"The 'timeout' parameter must be a number of seconds, at least 0. Got {timeout!r} instead.")


def deadline_after(timeout: float | None) -> float | None:
    """Return the time of ``time.monotonic()`` that many seconds from now."""
    check_timeout(timeout)
    return None if timeout is None else time.monotonic() + timeout
