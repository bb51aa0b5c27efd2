"""What every importer must get right, checked against the source model's own predict alone."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd

import treeproof as tp
from treeproof.model.columns import Rows
from treeproof.model.forest import Forest
from treeproof.model.importers import import_model, link_of, selected
from treeproof.model.importers.selfcheck import boundary_rows, decoded
from treeproof.model.rows import as_rows
from treeproof.space.features import NumericFeature, ValueFeature


def mixed_data(seed: int = 0, n: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    """Real numbers of scikit-learn's diabetes data, with a category made of each of two, and missing values."""
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(X))[:n]
    X, y = X.iloc[chosen].reset_index(drop=True), y.iloc[chosen].to_numpy()
    frame = X[["age", "bmi", "bp", "s5", "s6"]].astype(float)
    frame = frame.mask(rng.random(frame.shape) < 0.05)
    frame["sex"] = np.where(X["sex"] == 1, "one", "two").astype(object)
    frame["weight"] = pd.cut(X["bmi"], [0, 22, 25, 30, 99], labels=["low", "fit", "high", "top"]).astype(object)
    return frame, y


def source_predict(model: Any, frame: Any, output: int | None = None) -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predicted = np.asarray(model.predict(frame))
        if output is not None:
            predicted = predicted[:, output]
        return predicted.reshape(len(predicted)).tolist()  # some models give a table of one column


def agrees(
    model: Any, rows_as: Any, *, n: int = 2000, seed: int = 7, data: Any = None, output: int | None = None
) -> Forest:
    """Assert that the import predicts as the model does on `n` rows on and beside thresholds; return the import."""
    forest = import_model(model, data=data, output=output)
    rows = boundary_rows(forest, n, seed=seed)
    expected = source_predict(model, rows_as(forest, rows), output)
    if forest.sums is not None and forest.sums.cuts == ():
        got = forest.add(forest.route(rows))[:, 0]
        link = link_of(selected(model, output))
        got = got if link is None else link(got)
        assert got.tolist() == np.asarray(expected, dtype=got.dtype).tolist()
    else:
        got = forest.classes[forest.decide(forest.route(rows))]
        assert got.tolist() == expected
        assert len(set(expected)) > 1, "rows must reach several labels"
    return forest


def as_array(forest: Forest, rows: Rows) -> Any:
    return decoded(forest, rows, named=False)


def as_frame(forest: Forest, rows: Rows) -> Any:
    return decoded(forest, rows, named=True, category=False)


def as_categories(forest: Forest, rows: Rows) -> Any:
    return decoded(forest, rows, named=True)


def _classifies(model: Any) -> bool:
    return len(getattr(model, "classes_", ())) > 0  # some regressors have an empty list


def proofs_hold(
    model: Any,
    explainer: tp.Explainer,
    row: Any,
    rows_as: Any,
    *,
    n: int = 1000,
    seed: int = 3,
    output: int | None = None,
) -> Any:
    """Assert that an explanation holds for the model's own predict, on `n` random completions; return it.

    Kept features take values anywhere in the proved conditions, the others anywhere. And that a change does change.
    """
    forest, space = explainer.forest, explainer.space
    why = explainer.abductive(row, inflate=True)
    rng = np.random.default_rng(seed)
    rows = boundary_rows(forest, n, seed=seed).astype(forest.floats.dtype)
    for feature in space.features:
        if isinstance(feature, NumericFeature) and feature.missing_cell is None:
            at = rows[:, feature.column]
            at[np.isnan(at)] = float(np.clip(0, feature.lows[0], feature.highs[-1]))
        if isinstance(feature, ValueFeature) and feature.undeclared is not None:
            column = feature.columns[0]
            unseen = rows[:, column] == feature.undeclared
            rows[unseen, column] = rng.choice(feature.points[:, 0], unseen.sum())
    for condition, f in zip(why.rule, why.features, strict=True):
        feature = space.features[f]
        if isinstance(feature, ValueFeature):
            cells = [c for c, label in enumerate(feature.labels) if label in (condition.values or ())]
            picked = feature.points[rng.choice(cells, n)]
            rows[:, list(feature.columns)] = picked
            continue
        assert isinstance(feature, NumericFeature)
        ranges = () if condition.values == (None,) else condition.ranges or ((condition.low, condition.high),)
        ends = [
            (feature.lows[0] if low is None else low, feature.highs[-1] if high is None else high)
            for low, high in ranges
        ]
        options = [end for pair in ends for end in pair] + ([math.nan] if condition.missing or not ends else [])
        rows[:, feature.column] = rng.choice(options, n)
    if isinstance(getattr(forest.sums, "cuts", None), tuple) and not _classifies(model):
        labels = forest.classes[forest.decide(forest.route(rows))].tolist()
    else:
        labels = source_predict(model, rows_as(forest, rows), output)
    assert set(labels) == {why.label}
    change = explainer.contrastive(row, timeout=0.5)  # the closest change can take long to prove
    if change.witness is not None and _classifies(model):
        witness = as_rows([list(change.witness)], forest.columns, forest.floats)
        assert source_predict(model, rows_as(forest, witness), output) == [change.witness_label]
        assert change.witness_label != change.label
    return why


def sums_agree(forest: Forest, scores: Any, *, n: int = 2000, seed: int = 11) -> None:
    """Assert that the import adds up as the model does, bit for bit, on rows on and beside thresholds."""
    rows = boundary_rows(forest, n, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = np.asarray(scores(rows))
    got = forest.add(forest.route(rows))
    assert expected.dtype == got.dtype
    assert np.array_equal(expected.reshape(got.shape), got)


def refused(model: Any, error: type[Exception], match: str, **options: Any) -> None:
    """Assert that the import refuses a model, and by what name."""
    import pytest

    with pytest.raises(error, match=match):
        import_model(model, **options)
