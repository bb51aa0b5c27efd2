"""Enumeration of all minimal explanations, both kinds, by MARCO (Liffiton et al., Constraints 21, 2016).

A map formula over one variable per feature describes the sets not yet known to entail or refute the claim. Each of its
models, a seed, is a set of fixed features: if it entails the claim it is shrunk to an abductive explanation, all of
whose supersets leave the map; otherwise its complement is shrunk to a contrastive one, and every set that misses it
leaves the map. When the map is empty both families are complete, and each is the other's minimal hitting sets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from pysat.solvers import Solver

from treeproof.query import Entailed, Unknown, expired
from treeproof.search.memory import Memory
from treeproof.search.minimal import Change, Sufficient, abductive, contrastive

_MAP_SOLVER = "minisat22"


def enumerate_minimal(
    memory: Memory, order: Sequence[int], first: Literal["abductive", "contrastive"]
) -> Iterator[Sufficient | Change]:
    """Yield every minimal explanation once, of both kinds; raise TimeoutError when the deadline comes first.

    `first` biases which kind comes early. The sequence is the same on every oracle.
    """
    features = [f for f in sorted(memory.features) if memory.forest.n_cells[f] > 1]
    everything = frozenset(features)
    with Solver(name=_MAP_SOLVER) as chart:
        for f in features:
            chart.add_clause([f + 1, -(f + 1)])
        # Large seeds tend to entail the claim and give abductive explanations, small ones the other kind.
        chart.set_phases([f + 1 if first == "abductive" else -(f + 1) for f in features])
        while chart.solve():
            model = chart.get_model()
            seed = frozenset(literal - 1 for literal in model if literal > 0) & everything
            answer = memory.ask(seed)
            if isinstance(answer, Unknown) or expired(memory.deadline):
                raise TimeoutError
            found: Sufficient | Change
            if isinstance(answer, Entailed):
                found = abductive(memory, order, start=seed)
                chart.add_clause([-(f + 1) for f in found.features])
            else:
                found = contrastive(memory, order, answer, start=memory.features - seed)
                chart.add_clause([f + 1 for f in found.features])
            if found.status != "minimal":
                raise TimeoutError
            yield found
