"""Enumeration of all minimal explanations, both kinds, by MARCO (Liffiton et al., Constraints 21, 2016).

A map formula over one variable per feature describes the sets not yet known to entail or refute the claim. Each of its
models, a seed, is a set of fixed features: if it entails the claim it is shrunk to an abductive explanation, all of
whose supersets leave the map; otherwise its complement is shrunk to a contrastive one, and every set that misses it
leaves the map. When the map is empty both families are complete, and each is the other's minimal hitting sets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from treeproof.query.cache import Cache
from treeproof.query.oracle import Entailed, Unknown, expired
from treeproof.search.map_solver import Chart
from treeproof.search.minimal import Change, Sufficient, abductive, contrastive


def enumerate_minimal(
    cache: Cache, order: Sequence[int], first: Literal["abductive", "contrastive"]
) -> Iterator[Sufficient | Change]:
    """Yield every minimal explanation once, of both kinds; raise TimeoutError when the deadline comes first.

    `first` biases which kind comes early. The sequence is the same on every oracle. The caller may change `order`, that
    of deletion, between two results.
    """
    members, n_cells = cache.units.members, cache.forest.n_cells
    features = [unit for unit in sorted(cache.features) if any(n_cells[f] > 1 for f in members[unit])]
    with Chart(features, deadline=cache.deadline) as chart:
        # Large seeds tend to entail the claim and give abductive explanations, small ones the other kind.
        chart.favour(f + 1 if first == "abductive" else -(f + 1) for f in features)
        while chart.solve():
            seed = chart.features()
            answer = cache.ask(seed)
            if isinstance(answer, Unknown) or expired(cache.deadline):
                raise TimeoutError
            found: Sufficient | Change
            if isinstance(answer, Entailed):
                found = abductive(cache, order, start=seed)
                chart.avoid(found.features)
            else:
                found = contrastive(cache, order, answer, start=cache.features - seed)
                chart.meet(found.features)
            if found.status == "sound":
                raise TimeoutError
            yield found
