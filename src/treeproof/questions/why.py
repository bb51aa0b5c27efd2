"""Why this prediction: features whose values alone force it."""

from __future__ import annotations

import time
from typing import Any

from treeproof.explanation import Abductive, Statistics
from treeproof.oracles.native import Cancel
from treeproof.query import Stays
from treeproof.search.minimal import Sufficient, abductive
from treeproof.setting import Instance, Setting


def explain(
    setting: Setting, instance: Instance, ordering: list[int], timeout: float | None, cancel: Cancel | None = None
) -> Abductive:
    """Return a subset-minimal set of features that forces the prediction, by deletion in the given order."""
    start = time.perf_counter()
    memory = setting.memory(instance, Stays(instance.label), timeout, cancel)
    found = abductive(memory, ordering)
    return make_abductive(setting, instance, None, found, setting.statistics(memory, start))


def make_abductive(
    setting: Setting, instance: Instance, target: Any, found: Sufficient, stats: Statistics
) -> Abductive:
    """Return what was found as a result."""
    features, space, point = tuple(sorted(found.features)), setting.space, instance.point
    return Abductive(
        features=features,
        feature_names=setting.names(features),
        label=setting.labels[instance.label],
        rule=tuple(space.features[f].condition(range(point[f], point[f] + 1)) for f in features),
        target=setting.label_of(target),
        instance=setting.present(instance.row),
        status=found.status,
        n_features=space.n_features,
        stats=stats,
        constraints=setting.constraints(found.clauses),
    )
