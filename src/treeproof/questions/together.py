"""Rows that are asked about together: what is found is kept in tables, and a result is made when it is looked at."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from treeproof.errors import InternalError, TreeproofError
from treeproof.model.columns import Rows
from treeproof.model.frames import Origin
from treeproof.query.context import Instance
from treeproof.query.oracle import Cancel, DeletesMany, Deletions
from treeproof.query.tally import Statistics
from treeproof.questions.abductive import Abductive, Why
from treeproof.questions.memory import Memory
from treeproof.search.minimal import Sufficient

Points = npt.NDArray[np.int32]


@dataclass(eq=False)
class Found(Sequence[Any]):
    """What was found for some rows, in their order: for each an explanation, or an error in its place.

    `places` are the numbers of the rows that have an explanation, to which the lines of `rows`, `points` and
    `deletions` belong. Without a `why`, as a copy from another process has it, no explanation can be made.
    """

    why: Why | None
    places: npt.NDArray[np.intp]
    rows: Rows
    points: Points
    deletions: Deletions
    origins: Sequence[Origin]
    errors: Mapping[int, TreeproofError]
    _made: dict[int, Abductive] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "why": None, "_made": {}}

    def __len__(self) -> int:
        return len(self.origins)

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> list[Any]: ...
    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return [self[i] for i in range(len(self))[place]]
        i = range(len(self))[place]
        if i in self.errors:
            return self.errors[i]
        return self._made.get(i) or self._made.setdefault(i, self._make(i))

    @property
    def scores(self) -> list[float | None]:
        """The sum, in the model's own arithmetic, of the label of each row that has one."""
        scores: list[float | None] = [None] * len(self)
        for i, score in zip(self.places.tolist(), self.deletions.scores.tolist(), strict=True):
            scores[i] = score
        return scores

    def _make(self, i: int) -> Abductive:
        assert self.why is not None, "it is the owner's to make results"
        line, found = int(np.searchsorted(self.places, i)), self.deletions
        point = tuple(self.points[line].tolist())
        instance = Instance(self.rows[line], point, int(found.labels[line]), origin=self.origins[i])
        kept, clauses = (frozenset(np.flatnonzero(flags[line]).tolist()) for flags in (found.kept, found.clauses))
        seconds, *longest = found.seconds[line].tolist()
        stats = Statistics(self.why.context.oracle.name, seconds, *found.counts[line].tolist(), *longest)
        return self.why.made(instance, Sufficient(kept, "minimal" if found.minimal[line] else "sound", clauses), stats)


def find(
    why: Why,
    oracle: DeletesMany,
    rows: Sequence[Any],
    origins: Sequence[Origin],
    cancel: Cancel,
    memory: Memory[bytes],
) -> Found:
    """Return what is found for rows of the forest's own numbers; in the place of one there may be its error."""
    errors: dict[int, TreeproofError] = {i: row for i, row in enumerate(rows) if isinstance(row, TreeproofError)}
    context = why.context
    places = np.array([i for i in range(len(rows)) if i not in errors], dtype=np.intp)
    fine = np.array([rows[i] for i in places.tolist()], dtype=context.forest.floats.dtype) if errors else rows
    fine = np.asarray(fine).reshape(len(places), context.forest.n_columns)
    points = context.space.table_of(fine)
    outside = np.any(points < 0, axis=1)
    if context.cells.clauses:
        outside |= np.array([not context.cells.allows(point) for point in points.tolist()], dtype=bool)
    for line in np.flatnonzero(outside).tolist():
        try:
            context.locate(fine[line])
        except TreeproofError as error:
            errors[int(places[line])] = error
        else:
            raise InternalError("A row is in no cell, but was not refused; please report this.")
    if outside.any():
        places, fine, points = places[~outside], fine[~outside], points[~outside]
    assert why.plan.order is not None
    found = _search(oracle, points, why.plan.order, why.timeout, cancel, memory)
    return Found(why, places, fine, points, found, origins, errors)


def _search(
    oracle: DeletesMany,
    points: Points,
    order: Sequence[int],
    timeout: float | None,
    cancel: Cancel,
    memory: Memory[bytes],
) -> Deletions:
    """Return what is found at each point, with one search for equal ones, unless a deadline cut it short."""
    start = time.perf_counter()
    width, content = points.itemsize * points.shape[1], np.ascontiguousarray(points).tobytes()
    keys = [content[i * width : (i + 1) * width] for i in range(len(points))]
    first: dict[bytes, int] = {}  # of each key, the first point
    for i, key in enumerate(keys):
        first.setdefault(key, i)
    known = {key: line for key in first if (line := memory.get(key)) is not None}
    fresh = [i for key, i in first.items() if key not in known]
    shared = (time.perf_counter() - start) / max(1, len(points))
    found = oracle.delete_many(points[fresh], order, timeout, cancel)
    packed = found.packed()
    memory.put_all((keys[fresh[line]], packed[line]) for line in np.flatnonzero(found.minimal).tolist())
    if len(fresh) == len(points):
        return found
    line_of = {keys[i]: line for line, i in enumerate(fresh)}
    line_of |= {key: len(fresh) + k for k, key in enumerate(known)}
    lines = np.array([line_of[key] for key in keys], dtype=np.intp)
    every = found.joined(list(known.values())).lines(lines)
    again = np.ones(len(points), dtype=bool)
    again[fresh] = False
    every.seconds[again, 0] = shared
    late = np.flatnonzero(again & (every.minimal == 0))
    if len(late):
        for table, new in zip(every, oracle.delete_many(points[late], order, timeout, cancel), strict=True):
            table[late] = new
    return every
