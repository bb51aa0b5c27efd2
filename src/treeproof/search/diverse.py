"""Several minimal changes that share little, by deletion among those not found yet.

Features are fixed as in `treeproof.search.minimal.contrastive`, one after the other, those in use by earlier changes
first: a feature is fixed iff some minimal change that was not found yet is left. What comes out is one, and which one
does not depend on the oracle. It shares with the earlier ones as little as possible: no other new one has for its
shared features a proper subset of these.

Whether one is left is decided with a map, as in `treeproof.search.marco`: the sets of fixed features that keep
something fixed of every change found and are not known to entail the claim.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from treeproof.query.cache import Cache
from treeproof.query.oracle import Entailed, Refuted, expired
from treeproof.search.map_solver import Chart
from treeproof.search.minimal import Change


def different_changes(cache: Cache, order: Sequence[int]) -> Iterator[Change]:
    """Yield all minimal changes, each once, the next always as different as possible from those before.

    `order` is that of deletion where nothing else matters: the first change is the one that `contrastive` finds. Raises
    TimeoutError when the deadline comes first.
    """
    used: Counter[int] = Counter()
    with Chart(cache.features, deadline=cache.deadline) as chart:
        chart.favour(-(f + 1) for f in cache.features)  # small sets are refuted soonest
        while (witness := _left(cache, chart, ())) is not None:
            fixed: set[int] = set()
            for f in sorted(order, key=lambda f: -used[f]):
                other = _left(cache, chart, {*fixed, f})
                if other is not None:
                    witness = other
                    fixed.add(f)
            found = Change(cache.features - fixed, witness, "minimal")
            chart.meet(found.features)
            used.update(found.features)
            yield found


def _left(cache: Cache, chart: Chart, fixed: Iterable[int]) -> Refuted | None:
    """Return a witness of a change not found yet that leaves these features as they are, or None if there is none."""
    while chart.solve([f + 1 for f in fixed]):
        answer = cache.ask(chart.features())
        if isinstance(answer, Refuted):
            return answer
        if not isinstance(answer, Entailed) or expired(cache.deadline):
            raise TimeoutError
        chart.avoid(answer.core)
    return None
