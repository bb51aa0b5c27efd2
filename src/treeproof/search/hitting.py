"""Cheapest hitting sets, found again and again as sets to hit are added.

The search is core-guided (OLL; Morgado, Dodaro and Marques-Silva, CP 2014). Wanted: no feature at all. Each set of
wishes that cannot all come true (a core) raises the proved bound by the smallest weight in it, and is replaced by the
wishes that at most one of them fails, at most two, ...; what is satisfiable in the end costs just the bound. Cores are
made small first: a small one says more, and costs less to count.

Who wants any set that is cheap enough need not wait for the cheapest: if all features cost the same, a counter of the
chosen ones keeps sets small. Once the cheapest is no longer easy to find, it is tried only now and then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pysat.card import ITotalizer

from treeproof.query.oracle import expired
from treeproof.search.map_solver import Chart

_SOLVER = "glucose4"
_EFFORT = 20  # conflicts to find out whether a core does without one of its wishes
_LARGEST = 1000  # wishes of a core that are tried one by one
_EASY = 300  # conflicts to find the cheapest set, where any that is cheap enough will do


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

    def __init__(self, costs: Mapping[int, int], *, deadline: float | None = None) -> None:
        self.bound = 0
        self._deadline = deadline
        self._chart = Chart(costs, deadline=deadline, solver=_SOLVER)
        self._soft = {-(f + 1): cost for f, cost in costs.items() if cost}
        self._chart.favour(self._soft)
        self._counters: dict[int, tuple[ITotalizer, int]] = {}  # of soft literals that are outputs, with their place
        self._top = max(costs, default=0) + 1
        self._features, self._prices = frozenset(costs), set(costs.values())
        self._chosen: ITotalizer | None = None  # counts the features of the set
        self._added, self._try_at = 0, 0  # sets to hit; how many there must be for the cheapest to be tried again

    def __enter__(self) -> HittingSets:
        return self

    def __exit__(self, *_: object) -> None:
        self._chart.delete()
        for counter, _place in self._counters.values():
            counter.delete()
        if self._chosen is not None:
            self._chosen.delete()

    def add(self, features: Iterable[int]) -> None:
        """Ask that these features be hit too; at least one."""
        self._chart.meet(features)
        self._added += 1

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

    def cheaper(self, than: int) -> frozenset[int] | None:
        """Return a hitting set that costs less, or None if there is none; TimeoutError at the deadline.

        Unless all features cost the same it is the cheapest one.
        """
        if len(self._prices) != 1:
            return self.cheapest(below=than)
        if self._added >= self._try_at and (easy := self._easily_cheapest(than)) is not None:
            return easy
        (price,) = self._prices
        most = (than - 1) // price  # features
        if self.bound >= than or most < 0:
            return None
        found = self._chart.solve([-literal for literal in self._more_than(most)])
        return self._chart.features() if found else None

    def _easily_cheapest(self, below: int) -> frozenset[int] | None:
        """Return the cheapest hitting set if it costs less than `below` and is easy to find; else raise the bound."""
        while self.bound < below:
            status = self._chart.attempt(list(self._soft), _EASY)
            if status:
                return self._chart.features()
            if status is None:
                self._try_at = 2 * self._added
                return None
            self._give_in(self._smaller(self._chart.core()))
            if expired(self._deadline):
                raise TimeoutError
        return None

    def _more_than(self, most: int) -> list[int]:
        """Return the literal that is true if more features are chosen; none if there are no more."""
        features = sorted(self._features)
        if most >= len(features):
            return []
        if self._chosen is None:
            self._chosen = ITotalizer([f + 1 for f in features], ubound=most, top_id=self._top)
            self._top = max(self._top, self._chosen.top_id)
            for clause in self._chosen.cnf.clauses:
                self._chart.add(clause)
        elif most > self._chosen.ubound:
            self._chosen.increase(ubound=most, top_id=self._top)
            self._top = max(self._top, self._chosen.top_id)
            for clause in self._chosen.cnf.clauses[-self._chosen.nof_new :]:
                self._chart.add(clause)
        return [self._chosen.rhs[most]]

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
            counter = ITotalizer([-literal for literal in core], ubound=1, top_id=self._top)
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
