"""The rows behind a workbench: read once, predicted once, then sorted, searched and filtered column by column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from treeproof.errors import InputError
from treeproof.explainer import Explainer
from treeproof.model.columns import FloatArray, Rows
from treeproof.model.forest import Forest
from treeproof.model.frames import row_labels
from treeproof.model.rows import as_rows, by_number, one_by_one
from treeproof.space.features import Feature, NumericFeature, ValueFeature
from treeproof.space.grammar import Choice, Either, ParsedCondition, parse_conditions

_AT_ONCE = 4096  # rows that are sent through all trees together
_BINS = 40
_MOST_CUTS = 200
KINDS = {"real": "number", "integer": "integer", "binary": "binary", "date": "date", "categorical": "category"}

Json = dict[str, Any]


class Table:
    """Rows as a model takes them, with the label and the scores that it gives them.

    A row that the model does not take has no label; `refusals` says why.
    """

    def __init__(self, explainer: Explainer, X: Any) -> None:
        self.forest, self.features = explainer.forest, explainer.space.features
        self.classes = [str(label) for label in explainer._context.labels]
        self.names = _names(X)
        self.rows, self.refusals = _read(self.forest, X)
        self.labels, self.scores = predict(self.forest, self.rows)
        for i in self.refusals:
            self.labels[i], self.scores[i] = -1, np.nan
        own = np.maximum(self.labels, 0) if self.scores.shape[1] > 1 else np.zeros(len(self.labels), np.intp)
        self.score = np.take_along_axis(self.scores, own[:, None], axis=1)[:, 0]
        self.column = lru_cache(maxsize=64)(self._column)

    def __len__(self) -> int:
        return len(self.rows)

    def values(self, index: int) -> list[float | int | None]:
        """Return a row as the page has it: a number or the place of a named value for each feature."""
        return values_of(self.features, self.rows[index])

    def _column(self, f: int) -> FloatArray:
        """Return a feature's values in all rows, as people write them; NaN is missing, or no value of the space."""
        feature = self.features[f]
        if isinstance(feature, NumericFeature):
            distinct, places = np.unique(self.rows[:, feature.column], return_inverse=True)
            written = [math.nan if np.isnan(v) else float(feature.floats.shortest(float(v))) for v in distinct]
            return np.array(written)[places]
        assert isinstance(feature, ValueFeature)
        matches = (self.rows[:, list(feature.columns)][:, None, :] == feature.points).all(axis=2)
        return np.where(matches.any(axis=1), matches.argmax(axis=1).astype(float), np.nan)

    def find(self, *, search: str, where: str, sort: Any, descending: bool) -> npt.NDArray[np.intp]:
        """Return the rows that a search and a condition leave, in the order that is asked for."""
        chosen = np.ones(len(self), bool)
        if search.strip():
            chosen &= self._matching(search.strip().lower())
        if where.strip():
            known = [feature.name for feature in self.features]
            known += [name for name in ("label", "score") if name not in known]
            for _, condition in parse_conditions(where, known):
                chosen &= self._satisfying(condition, known[condition.feature])
        found = np.flatnonzero(chosen)
        if sort in (None, "index"):
            return found[::-1] if descending else found
        keys = self._keys(sort)[found]
        order = np.argsort(-keys if descending else keys, kind="stable")  # missing ones last in any case
        return found[order]

    def _keys(self, sort: Any) -> FloatArray:
        if sort == "label":
            return self.labels.astype(float)
        if sort == "score":
            return self.score.astype(float)
        if isinstance(sort, int) and not isinstance(sort, bool) and 0 <= sort < len(self.features):
            return self.column(sort)
        raise InputError(f"Rows are sorted by a feature's index, 'label', 'score' or 'index'. Got {sort!r}.")

    def _matching(self, text: str) -> npt.NDArray[np.bool_]:
        """Return which rows have a text in their label, their number or name, or a named value."""
        classes = [k for k, name in enumerate(self.classes) if text in name.lower()]
        found = np.isin(self.labels, classes)
        names = map(str, range(len(self))) if self.names is None else self.names
        found |= np.fromiter((text in name.lower() for name in names), bool, len(self))
        for f, feature in enumerate(self.features):
            if isinstance(feature, ValueFeature):
                cells = [c for c, label in enumerate(texts_of(feature)) if text in label.lower()]
                if cells:
                    found |= np.isin(self.column(f), cells)
        return found

    def _satisfying(self, condition: ParsedCondition, name: str) -> npt.NDArray[np.bool_]:
        if isinstance(condition, Either):
            return np.any([self._satisfying(part, name) for part in condition.parts], axis=0)
        feature = self.features[condition.feature] if condition.feature < len(self.features) else None
        labels: Sequence[object] | None = self.classes if feature is None and name == "label" else None
        if isinstance(feature, ValueFeature):
            labels = feature.labels
        if labels is not None:
            if not isinstance(condition, Choice):
                raise InputError(f"{name!r} has named values: write {name} = {labels[0]}, or {name} in {{...}}.")
            column = self.labels.astype(float) if feature is None else self.column(condition.feature)
            return np.isin(column, list(condition.places(labels)))
        column = self.score if feature is None else self.column(condition.feature)
        inside = [(column >= low) & (column <= high) for low, high in condition.intervals()]
        return np.any([np.isnan(column) & condition.missing, *inside], axis=0)

    def describe(self, f: int, scale: float) -> Json:
        """Return a feature as the page draws it: its kind, the ends of its scale, and how the data are distributed."""
        feature = self.features[f]
        known: Json = {"index": f, "name": feature.name, "kind": KINDS[feature.kind], "scale": scale}
        if isinstance(feature, ValueFeature):
            column = self.column(f)
            counts = np.bincount(column[~np.isnan(column)].astype(int), minlength=feature.n_cells)
            nothing = dict.fromkeys(("min", "max", "low", "high", "step"))
            histogram = {"edges": None, "counts": counts.tolist()}
            more = {"values": texts_of(feature), "missing": False, "cuts": [], "histogram": histogram}
            return {**known, **nothing, **more}
        assert isinstance(feature, NumericFeature)
        column = self.rows[:, feature.column].astype(float)
        column = column[np.isfinite(column)]
        cuts = [
            float(feature.floats.shortest(float(cut))) for cut in _spread(self.forest.thresholds_of(feature.column))
        ]
        limit, whole = feature.floats.largest, feature.kind != "real"
        ends = [*cuts[:1], *cuts[-1:], *([column.min(), column.max()] if len(column) else [])] or [0.0, 1.0]
        first, last = (feature.floats.shortest(float(end)) for end in (min(ends), max(ends)))
        low, high = float(first), float(last)
        if whole:
            low, high = math.floor(low), math.ceil(high)
        if low == high:
            low, high = low - 1, high + 1
        starts, stops = float(feature.lows[0]), float(feature.highs[-1])
        return {
            **known,
            "values": None,
            "min": low,
            "max": high,
            "low": None if starts == -limit else number(feature.floats.shortest(starts)),
            "high": None if stops == limit else number(feature.floats.shortest(stops)),
            "step": 1 if whole else 10.0 ** math.floor(math.log10((high - low) / 50)),
            "missing": feature.missing_cell is not None,
            "cuts": cuts,
            "histogram": _histogram(column, low, high, whole),
        }


def predict(forest: Forest, rows: Rows) -> tuple[npt.NDArray[np.intp], FloatArray]:
    """Return the class index of each row, and its scores: one for each class, or the one that the model adds up."""
    labels, scores = [], []
    for first in range(0, max(len(rows), 1), _AT_ONCE):
        leaves = forest.route(rows[first : first + _AT_ONCE])
        labels.append(forest.decide(leaves))
        if forest.vote == "majority":
            votes = forest.leaf_class[leaves]
            scores.append(np.stack([(votes == k).mean(axis=1) for k in range(forest.n_classes)], axis=1))
        else:
            scores.append(forest.add(leaves).astype(float))
    return np.concatenate(labels), np.concatenate(scores)


def score_name(forest: Forest) -> str:
    """Return what the scores of a forest are."""
    return {"majority": "share of the votes", "mean": "probability"}.get(forest.vote, "score")


def texts_of(feature: ValueFeature) -> list[str]:
    """Return the named values of a feature as text."""
    return ["missing" if label is None else str(label) for label in feature.labels]


def values_of(features: Sequence[Feature], row: Rows) -> list[float | int | None]:
    """Return a row of the forest's own numbers as the page has it."""
    found: list[float | int | None] = []
    for feature in features:
        if isinstance(feature, NumericFeature):
            found.append(number(feature.floats.shortest(float(row[feature.column]))))
            continue
        assert isinstance(feature, ValueFeature)
        places = np.flatnonzero((feature.points == row[list(feature.columns)]).all(axis=1))
        found.append(int(places[0]) if len(places) else None)
    return found


def number(given: Any) -> float | None:
    """Return a number for JSON: None if it is missing or infinite.

    >>> number("2.5"), number(float("nan")), number(None)
    (2.5, None, None)
    """
    found = math.nan if given in (None, "missing") else float(given)
    return found if math.isfinite(found) else None


def _read(forest: Forest, X: Any) -> tuple[Rows, dict[int, str]]:
    """Return the rows as the forest's own numbers, and why those cannot be read that cannot."""
    try:
        return as_rows(X, forest.columns, forest.floats), {}
    except InputError:
        n = by_number(X)[0]
        rows = np.full((n, forest.n_columns), np.nan, dtype=forest.floats.dtype)
        refusals = {}
        for i, row in enumerate(one_by_one(X, forest.columns, forest.floats)):
            if isinstance(row, InputError):
                refusals[i] = str(row)
            else:
                rows[i] = row
        if len(refusals) == n:  # the table as a whole is wrong
            raise
        return rows, refusals


def _names(X: Any) -> list[str] | None:
    """Return the rows' names, if they have others than their numbers."""
    labels = row_labels(X)
    names = None if labels is None else [str(label) for label in labels]
    return None if names == [str(i) for i in range(len(names or ()))] else names


def _spread(numbers: FloatArray) -> FloatArray:
    """Return at most so many of them, the first and the last among them."""
    if len(numbers) <= _MOST_CUTS:
        return numbers
    return numbers[np.linspace(0, len(numbers) - 1, _MOST_CUTS).round().astype(int)]


def _histogram(column: FloatArray, low: float, high: float, whole: bool) -> Json:
    one_each = whole and high - low <= 2 * _BINS
    edges = np.arange(low, high + 2) - 0.5 if one_each else np.linspace(low, high, _BINS + 1)
    counts, _ = np.histogram(np.clip(column, low, high), edges)  # the ends are rounded
    return {"edges": [float(f"{edge:.12g}") for edge in edges], "counts": counts.tolist()}
