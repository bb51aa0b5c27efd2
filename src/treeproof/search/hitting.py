"""Hitting sets, found again and again as sets to hit are added: small ones, and cheapest ones.

Where all features cost the same, the core searches by branch and bound (core/hitting.hpp). Otherwise the search is
core-guided (OLL; Morgado, Dodaro and Marques-Silva, CP 2014). Wanted: no feature at all. Each set of wishes that cannot
all come true (a core) raises the proved bound by the smallest weight in it, and is replaced by the wishes that at most
one of them fails, at most two, ...; what is satisfiable in the end costs just the bound. Cores are made small first: a
small one says more, and costs less to count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from treeproof import _core
from treeproof.query.native import free, without_destructor
from treeproof.query.oracle import expired, seconds_left
from treeproof.search.map_solver import Chart

if TYPE_CHECKING:
    from pysat.card import ITotalizer

_SOLVER = "glucose4"
_EFFORT = 20  # conflicts to find out whether a core does without one of its wishes
_LARGEST = 1000  # wishes of a core that are tried one by one


class SmallestHittingSets:
    """Finds the smallest set of the features 0 .. `n_features` - 1 that meets every set added so far.

    Each feature costs `price`. `bound` is proved at any time: no such set costs less.

    Examples
    --------
    >>> with SmallestHittingSets(3) as sets:
    ...     sets.add({0, 1})
    ...     sets.add({0, 2})
    ...     sorted(sets.cheapest(below=3)), sets.bound
    ([0], 1)
    """

    def __init__(self, n_features: int, price: int = 1, *, deadline: float | None = None) -> None:
        self._size = 0  # no set is smaller
        self._price = price
        self._deadline = deadline
        self._search = _core.HittingSets(n_features)

    def __enter__(self) -> SmallestHittingSets:
        return self

    def __exit__(self, *_: object) -> None: ...

    @property
    def bound(self) -> int:
        """What every set costs at least."""
        return self._size * self._price

    @property
    def excluded(self) -> list[int]:
        """The features that were tried before those of the set just found, in turn.

        Further sets of these alone tell most, the more the earlier they were tried.
        """
        return self._search.excluded

    def add(self, features: Iterable[int]) -> None:
        """Ask that these features be hit too; at least one."""
        self._search.add(sorted(features))

    def cheapest(self, below: int) -> frozenset[int] | None:
        """Return the smallest hitting set, or None if each costs `below` or more; TimeoutError at the deadline."""
        while self.bound < below:
            found = self._search.next(self._size, seconds_left(self._deadline))
            if found is None:
                raise TimeoutError
            if found:
                return frozenset(self._search.chosen)
            self._size += 1
        return None


class HittingSets:
    """Finds the cheapest set of features that meets every set added so far.

    `bound` is proved at any time: no such set costs less. A feature may cost 0; with `require` it can stand for
    anything.

    Examples
    --------
    >>> with HittingSets({0: 1, 1: 3, 2: 1}) as sets:
    ...     sets.add({0, 1})
    ...     sets.add({1, 2})
    ...     sorted(sets.cheapest()), sets.bound
    ([0, 2], 2)
    """

    excluded: Sequence[int] = ()  # as in `SmallestHittingSets`; this search tries no feature after the other

    def __init__(self, costs: Mapping[int, int], *, deadline: float | None = None) -> None:
        self.bound = 0
        self._deadline = deadline
        self._owned: list[ITotalizer] = []
        self._chart = Chart(costs, deadline=deadline, solver=_SOLVER)
        self._soft = {-(f + 1): cost for f, cost in costs.items() if cost}
        self._chart.favour(self._soft)
        self._counters: dict[int, tuple[ITotalizer, int]] = {}  # of soft literals that are outputs, with their place
        self._top = max(costs, default=0) + 1

    def __enter__(self) -> HittingSets:
        return self

    def __exit__(self, *_: object) -> None:
        self._chart.delete()
        free(self._owned)

    def add(self, features: Iterable[int]) -> None:
        """Ask that these features be hit too; at least one."""
        self._chart.meet(features)

    def require(self, clause: Iterable[int]) -> None:
        """Ask that one of these literals hold: ``f + 1`` for a feature f in the set, ``-(f + 1)`` for one outside."""
        self._chart.add(clause)

    def cheapest(self, below: int | None = None) -> frozenset[int] | None:
        """Return the cheapest hitting set, or None if each costs `below` or more; TimeoutError at the deadline."""
        while below is None or self.bound < below:
            if self._chart.solve(list(self._soft)):
                return self._chart.features()
            self._give_in(self._smaller(self._chart.core()))
            if expired(self._deadline):
                raise TimeoutError
        return None

    def _smaller(self, core: list[int]) -> list[int]:
        """Return a core inside a core, with little effort."""
        while self._chart.refutes(core, _EFFORT) and len(self._chart.core()) < len(core):
            core = self._chart.core()
        if len(core) > _LARGEST:
            return core
        for literal in sorted(core, key=lambda literal: self._soft[literal]):
            rest = [other for other in core if other != literal]
            if len(rest) < len(core) and self._chart.refutes(rest, _EFFORT):
                core = self._chart.core()
        return core

    def _give_in(self, core: list[int]) -> None:
        """Replace soft literals that cannot all hold by those of which more can."""
        weight = min(self._soft[literal] for literal in core)
        self.bound += weight
        for literal in core:
            self._soft[literal] -= weight
            if not self._soft[literal]:
                del self._soft[literal]
            if literal in self._counters:
                counter, place = self._counters[literal]
                self._add_soft(counter, place + 1, weight)
        if len(core) > 1:
            counter = _totalizer([-literal for literal in core], ubound=1, top_id=self._top)
            self._owned.append(counter)
            self._top = counter.top_id
            for clause in counter.cnf.clauses:
                self._chart.add(clause)
            self._add_soft(counter, 1, weight)

    def _add_soft(self, counter: ITotalizer, place: int, weight: int) -> None:
        """Prefer that no more than `place` of the counter's literals hold, if they are more."""
        if place == len(counter.lits):
            return
        if place > counter.ubound:
            counter.increase(ubound=place, top_id=self._top)
            self._top = max(self._top, counter.top_id)
            for clause in counter.cnf.clauses[-counter.nof_new :]:
                self._chart.add(clause)
        literal = -counter.rhs[place]
        self._soft[literal] = self._soft.get(literal, 0) + weight
        self._counters[literal] = counter, place


def _totalizer(literals: list[int], **options: Any) -> ITotalizer:
    from pysat.card import ITotalizer  # imported late: only cheapest sets need it, and it is slow

    counter: ITotalizer = without_destructor(ITotalizer(literals, **options))
    return counter
