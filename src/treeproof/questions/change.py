"""What would change the prediction: features whose change alone can do it, with an input that shows it."""

from __future__ import annotations

import time
from typing import Any, Literal

from treeproof.explanation import Changed, Contrastive, Statistics
from treeproof.query import Entailed, Refuted
from treeproof.search.minimal import Change, contrastive
from treeproof.setting import Instance, Setting


def find_change(
    setting: Setting, instance: Instance, target: Any, ordering: list[int], timeout: float | None
) -> Contrastive:
    """Return a subset-minimal set of features whose change reaches the target, by deletion in the given order."""
    start = time.perf_counter()
    memory = setting.memory(instance, setting.claim(instance, target), timeout)
    answer = memory.ask(frozenset())
    found = contrastive(memory, ordering, answer) if isinstance(answer, Refuted) else None
    status: Literal["impossible", "unknown"] = "impossible" if isinstance(answer, Entailed) else "unknown"
    return make_contrastive(setting, instance, target, found or status, setting.statistics(memory, start))


def make_contrastive(
    setting: Setting,
    instance: Instance,
    target: Any,
    found: Change | Literal["impossible", "unknown"],
    stats: Statistics,
) -> Contrastive:
    """Return what was found as a result."""
    features: tuple[int, ...] = ()
    witness, witness_label = None, None
    changes: tuple[Changed, ...] = ()
    if isinstance(found, Change):
        features, seen = tuple(sorted(found.features)), setting.space.features
        witness, witness_label = setting.witness(instance.row, found.witness)
        after = setting.space.row(found.witness.witness, near=instance.row)
        changes = tuple(Changed(seen[f].name, seen[f].show(instance.row), seen[f].show(after)) for f in features)
    return Contrastive(
        features=features,
        feature_names=setting.names(features),
        label=setting.labels[instance.label],
        witness=witness,
        witness_label=witness_label,
        changes=changes,
        target=setting.label_of(target),
        instance=setting.present(instance.row),
        status=found.status if isinstance(found, Change) else found,
        n_features=setting.space.n_features,
        stats=stats,
    )
