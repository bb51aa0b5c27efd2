"""An interrupt that comes while PySAT frees memory: it was freed a second time, which ended the process."""

from __future__ import annotations

import contextlib
import gc
from collections import Counter
from typing import Any

import pysolvers
import pytest
from pysat import card

from treeproof.oracles.encodings.cnf import Formula
from treeproof.oracles.encodings.solving import IncrementalSolver
from treeproof.search.hitting import HittingSets
from treeproof.search.map_solver import Chart


def with_chart() -> None:
    with Chart(range(3)) as chart:
        chart.meet({0, 1})


def with_forgotten_chart() -> None:
    Chart(range(3)).meet({0, 1})


def with_oracle() -> None:
    formula = Formula()
    formula.add(formula.variable(), formula.variable())
    assert IncrementalSolver("minisat22", formula).solve([])


def with_hitting_sets() -> None:
    with HittingSets(dict.fromkeys(range(6), 1)) as sets:
        for f in range(5):
            sets.add({f, f + 1})
        assert sets.cheapest() is not None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("work", [with_chart, with_forgotten_chart, with_oracle, with_hitting_sets])
def test_memory_is_freed_once(monkeypatch, work):
    freed: list[Any] = []  # what is listed stays, so that no other has its address

    def interrupted(what: Any) -> None:
        freed.append(what)
        raise KeyboardInterrupt

    monkeypatch.setattr(pysolvers, "minisat22_del", interrupted)
    monkeypatch.setattr(pysolvers, "glucose41_del", interrupted)
    monkeypatch.setattr(card.pycard, "itot_del", interrupted)
    with contextlib.suppress(KeyboardInterrupt):
        work()
    gc.collect()
    assert freed
    assert max(Counter(map(id, freed)).values()) == 1
