"""Whether given features force the prediction."""

from __future__ import annotations

import time
from collections.abc import Iterable

from treeproof.explanation import Verdict
from treeproof.query import Entailed, Refuted, Stays
from treeproof.setting import Instance, Setting


def judge(setting: Setting, instance: Instance, features: Iterable[str | int], timeout: float | None) -> Verdict:
    """Decide whether the values of these features alone force the prediction."""
    start = time.perf_counter()
    fixed = frozenset(setting.features(features))
    memory = setting.memory(instance, Stays(instance.label), timeout)
    answer = memory.ask(fixed)
    witness, other = setting.witness(instance.row, answer) if isinstance(answer, Refuted) else (None, None)
    return Verdict(
        holds=None if not isinstance(answer, Entailed | Refuted) else isinstance(answer, Entailed),
        features=tuple(sorted(fixed)),
        label=setting.labels[instance.label],
        enough=tuple(sorted(answer.core)) if isinstance(answer, Entailed) else None,
        witness=witness,
        witness_label=other,
        stats=setting.statistics(memory, start),
        constraints=setting.constraints(answer.clauses) if isinstance(answer, Entailed) else (),
    )
