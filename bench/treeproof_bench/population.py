"""A made-up population, like the tables that production models are trained on.

Columns that depend on each other through a few hidden causes, heavy tails, whole numbers, categories, and a label that
no model predicts without errors. The same seed gives the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Population:
    """Rows, one class for each, and the columns that hold the codes of categories."""

    X: Floats
    y: npt.NDArray[np.int64]
    categories: tuple[int, ...]


def draw(n_rows: int, n_features: int = 40, *, n_classes: int = 2, seed: int = 0, gaps: float = 0.0) -> Population:
    """Return a population; with `gaps`, that share of the numbers is missing.

    Of every ten columns, four are normal, two have heavy tails (log-normal), two are counts, one is a share between 0
    and 1 rounded to two digits, and one is a category of 2 to 12 codes.
    """
    rng = np.random.default_rng(seed)
    n_causes = max(3, n_features // 5)
    causes = rng.normal(size=(n_rows, n_causes))
    loadings = rng.normal(size=(n_causes, n_features)) * (rng.random((n_causes, n_features)) < 0.3)
    raw = causes @ loadings + rng.normal(size=(n_rows, n_features))
    raw /= raw.std(axis=0)
    X = raw.copy()
    categories = []
    for j in range(n_features):
        kind = j % 10
        if kind in (4, 5):
            X[:, j] = np.round(np.exp(1.5 * raw[:, j] + 3), 2)
        elif kind in (6, 7):
            X[:, j] = rng.poisson(np.exp(0.5 * raw[:, j] + 1))
        elif kind == 8:
            X[:, j] = np.round(1 / (1 + np.exp(-raw[:, j])), 2)
        elif kind == 9:
            n_codes = int(rng.integers(2, 13))
            edges = np.quantile(raw[:, j], np.sort(rng.random(n_codes - 1)))
            X[:, j] = rng.permutation(n_codes)[np.searchsorted(edges, raw[:, j])]
            categories.append(j)
    scores = []
    for _ in range(n_classes - 1 if n_classes == 2 else n_classes):
        weights = rng.normal(size=n_features) * (rng.random(n_features) < 0.5)
        first, second = rng.permutation(n_features)[: 2 * (n_features // 4)].reshape(2, -1)
        scores.append(raw @ weights + 1.5 * (raw[:, first] * raw[:, second]) @ rng.normal(size=len(first)))
    table = np.column_stack(scores)
    table += 0.7 * table.std(axis=0) * rng.normal(size=table.shape)
    y = (table[:, 0] > np.quantile(table[:, 0], 0.7)).astype(int) if n_classes == 2 else table.argmax(axis=1)
    if gaps:
        numbers = [j for j in range(n_features) if j not in categories]
        holes = rng.random((n_rows, n_features)) < gaps
        holes[:, categories] = False
        X[holes] = np.nan
        assert np.isnan(X[:, numbers]).any()
    return Population(X, y, tuple(categories))


def draw_counts(n_rows: int, n_features: int, *, seed: int = 0) -> Population:
    """Return a population of sparse counts, as of words or visits: about 4 % of the numbers are not 0; two classes.

    Each row mixes a few of 20 topics, some columns are far more frequent than others, and the label depends on a third
    of the columns and on the topics.
    """
    rng = np.random.default_rng(seed)
    topics = rng.gamma(0.3, size=(20, n_features))
    mix = rng.dirichlet(np.full(20, 0.3), size=n_rows)
    rate = mix @ topics * (rng.pareto(1.2, size=n_features) + 0.05)
    rate *= 0.05 * n_features / rate.sum(axis=1, keepdims=True) * rng.lognormal(0, 0.5, size=(n_rows, 1))
    X = rng.poisson(rate).astype(np.float64)
    weights = rng.normal(size=n_features) * (rng.random(n_features) < 0.3)
    score = np.log1p(X) @ weights + 4 * mix @ rng.normal(size=20)
    score += 0.5 * score.std() * rng.normal(size=n_rows)
    return Population(X, (score > np.quantile(score, 0.6)).astype(np.int64), ())
