"""Anchor (Ribeiro, Singh and Guestrin, AAAI 2018), as published: the package anchor-exp with its defaults.

The paper names no settings. The defaults are precision 0.95 and quartiles; ``explain_instance`` has a parameter
``beam_size=4`` that it does not pass on, so the beam is 1. Every explanation sets aside a million rows of samples, with
an integer for each condition: with 64 features the process grows to 2.3 gigabytes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

PACKAGES = ("anchor-exp", "lime")
MODULES = ("anchor.anchor_tabular",)


def majority_vote(forest: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Return the majority vote of the forest's trees, ties to the first class, as a fast function of rows.

    A hundred rows, Anchor's batch, take about a tenth of the time of the forest's own ``predict``.
    """
    trees = [estimator.tree_ for estimator in forest.estimators_]
    n_classes = len(forest.classes_)
    first_node = np.cumsum([0] + [tree.node_count for tree in trees[:-1]])
    class_of_node = np.concatenate([tree.value[:, 0].argmax(axis=1) for tree in trees])

    def predict(X: np.ndarray) -> np.ndarray:
        X = np.ascontiguousarray(X, dtype=np.float32)
        leaves = np.array([tree.apply(X) for tree in trees]).T + first_node
        votes = class_of_node[leaves] + n_classes * np.arange(len(X))[:, None]
        counts = np.bincount(votes.ravel(), minlength=n_classes * len(X)).reshape(-1, n_classes)
        return np.asarray(forest.classes_[counts.argmax(axis=1)])

    return predict


def prepare(forest: Any, X_train: np.ndarray, seed: int) -> dict[str, Callable[[np.ndarray], tuple[list[int], Any]]]:
    """Return Anchor for this forest; it draws from numpy's global generator, so `seed` is the worker's affair."""
    tabular = importlib.import_module(MODULES[0])
    names = [f"x{i}" for i in range(X_train.shape[1])]
    explainer = tabular.AnchorTabularExplainer([str(label) for label in forest.classes_], names, X_train)
    predict = majority_vote(forest)

    def explain(row: np.ndarray) -> tuple[list[int], Any]:
        found = explainer.explain_instance(row, predict)
        return found.features(), found.exp_map["prediction"]

    return {"anchor": explain}
