"""A forest is compared with its source on import: a misread model must not be explained.

This is a test, not a proof: what an importer accepts is decided by knowing the model's code (see the importers).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from treeproof.errors import ImportMismatchError
from treeproof.model.columns import Rows
from treeproof.model.forest import Forest

_LARGEST_CHECK = 2**13
"""Rows times trees, at most, unless that leaves too few rows: a large model must not take long to check."""
_MOST, _FEWEST = 128, 16
_SHARE_MISSING = 0.1


def check_against(forest: Forest, predict: Callable[[Any], Any], rows: Rows | None = None) -> None:
    """Raise ImportMismatchError unless `predict` gives the forest's labels on rows on and beside its thresholds."""
    rows = boundary_rows(forest) if rows is None else rows
    # scikit-learn adds up all values to see whether they are finite, which may overflow.
    with warnings.catch_warnings(), np.errstate(over="ignore", invalid="ignore"):
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        expected = np.asarray(predict(rows))
    if expected.ndim == 2 and expected.shape[1] == 1:  # as CatBoost gives the labels of several classes
        expected = expected[:, 0]
    got = forest.classes[forest.decide(forest.route(rows))]
    for row, want, have in zip(rows, expected.tolist(), got.tolist(), strict=True):
        if want != have:
            raise ImportMismatchError(
                f"The imported forest must predict as its source does. For the row {row.tolist()} the source gives "
                f"{want!r} and the import {have!r}; please report this model."
            )


def check_scores(
    forest: Forest,
    scores: Callable[[Any], Any],
    rows: Rows | None = None,
    function: Callable[[Any], Any] | None = None,
) -> None:
    """Raise ImportMismatchError unless `scores` gives the forest's sums, bit for bit, on rows as above.

    With a `function` of one sum, that of the forest's sums.
    """
    rows = boundary_rows(forest, seed=1) if rows is None else rows
    with warnings.catch_warnings(), np.errstate(over="ignore", invalid="ignore"):
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        expected = np.asarray(scores(rows))
    got = forest.add(forest.route(rows))
    got = got if function is None else np.asarray(function(got[:, 0])).reshape(len(rows), 1)
    for row, want, have in zip(rows, expected.reshape(got.shape), got, strict=True):
        if not np.array_equal(want, have):
            raise ImportMismatchError(
                f"The imported forest must add up as its source does. For the row {row.tolist()} the source gives "
                f"{want.tolist()} and the import {have.tolist()}; please report this model."
            )


def decoded(forest: Forest, rows: Rows, named: bool, category: bool = True) -> Any:
    """Return rows as the source model takes them: categories by label, in a pandas frame if it knows names.

    `category` says whether the frame has categories as pandas' type of that name, or as objects.
    """
    columns: dict[str, Any] = {}
    for j, column in enumerate(forest.columns):
        values: Any = rows[:, j]
        if column.categories is not None:
            labels = [column.category(int(code)) for code in values]
            gap = None if column.gap == "None" else math.nan
            values = np.array([gap if label is None else label for label in labels], dtype=object)
        columns[column.name] = values
    if not named:
        table = np.column_stack(list(columns.values()))
        strings = table.dtype == object and any(isinstance(value, str) for value in table.ravel().tolist())
        return table if strings else table.astype(float)
    import pandas as pd

    frame = pd.DataFrame({name: pd.Series(values, dtype=values.dtype) for name, values in columns.items()})
    for column in forest.columns:
        if category and column.categories is not None:
            known = [column.category(code) for code, label in enumerate(column.categories) if label is not None]
            frame[column.name] = pd.Categorical(frame[column.name], categories=known)
    return frame


def boundary_rows(forest: Forest, n_rows: int | None = None, seed: int = 0) -> Rows:
    """Return rows whose values lie on a threshold, on the next number to either side, or between thresholds.

    By default, as many as a model is compared on when it is imported.
    """
    n_rows = max(_FEWEST, min(_MOST, _LARGEST_CHECK // forest.n_trees)) if n_rows is None else n_rows
    rng = np.random.default_rng(seed)
    floats = forest.floats
    # All columns at once: a model with many of them is not checked for longer than its trees take.
    on, other = _some_thresholds(forest, n_rows, rng), _some_thresholds(forest, n_rows, rng)
    direction = rng.choice(np.array([-np.inf, np.inf], dtype=floats.dtype), size=on.shape)
    with np.errstate(over="ignore"):  # beyond the largest number there is infinity, which is clipped
        beside = np.nextafter(on, direction)
    choice = rng.integers(3, size=on.shape)
    rows: Rows = np.where(choice == 0, on, np.where(choice == 1, beside, on / 2 + other / 2))
    low = np.array([max(-floats.largest, column.low) for column in forest.columns])
    high = np.array([min(floats.largest, column.high) for column in forest.columns])
    rows = np.clip(rows, low, high).astype(floats.dtype)
    may_miss = np.array([column.missing != "never" for column in forest.columns])
    rows[may_miss & (rng.random(rows.shape) < _SHARE_MISSING)] = np.nan
    for j, column in enumerate(forest.columns):
        if column.categories is not None:
            rows[:, j] = rng.integers(len(column.categories), size=n_rows)
    return rows


def _some_thresholds(forest: Forest, n_rows: int, rng: np.random.Generator) -> Rows:
    """Return, for each row and column, the threshold of one of the column's splits; 0 where it has none."""
    splits, begin = forest.splits_by_column
    place = begin[:-1] + (rng.random((n_rows, forest.n_columns)) * np.diff(begin)).astype(np.int64)
    found = np.append(forest.threshold[splits], 0.0)[place].astype(forest.floats.dtype)
    # At or beyond the largest, no number is parted from another.
    return np.where((np.diff(begin) > 0) & (np.abs(found) < forest.floats.largest), found, found.dtype.type(0))
