"""Every model and pipeline that people bring, fitted: what is taken, and what is refused and why.

Each entry goes through the same checks in `tests/unit/model/importers/test_catalogue.py`. `table.py` writes the tables
of `docs/models.md` from a run. One file here for each kind of model, with a list `ENTRIES`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import pandas as pd

import treeproof as tp
from importing import agrees, as_array, as_categories, as_frame, proofs_hold
from treeproof.errors import UnsupportedModelError

FILES = ("sklearn_models", "boosters", "catboost_models", "onnx_models", "pipelines")


@dataclass(frozen=True)
class Entry:
    """A model in the catalogue.

    Parameters
    ----------
    family
        Heading in the table: the library, or the kind of step.
    name
        What stands in the table, in Markdown: the class with what is special about it.
    make
        Fits the model, and returns it with rows as its user has them.
    refused
        A part of the sentence with which it is refused; empty if it is taken.
    options
        For `Explainer`, where the model needs a choice (``cuts=`` for a regressor).
    """

    family: str
    name: str
    make: Callable[[], tuple[Any, Any]]
    refused: str = ""
    options: dict[str, Any] = field(default_factory=dict)


def entries() -> list[Entry]:
    """Return the whole catalogue."""
    return [entry for name in FILES for entry in import_module(f"catalogue.{name}").ENTRIES]


def outcome(entry: Entry) -> str:
    """Fit the model and try to explain it; return "taken", or the sentence that refuses it."""
    model, X = entry.make()
    try:
        tp.Explainer(model, **entry.options).abductive(_row(X))
    except UnsupportedModelError as error:
        return str(error)
    return "taken"


def verify(entry: Entry) -> None:
    """Assert that the import predicts as the model on boundary rows, and that a proof holds for the model itself."""
    model, X = entry.make()
    rows_as = _rows_as(X)
    output = entry.options.get("output")
    forest = agrees(model, rows_as, n=1000, data=entry.options.get("data"), output=output)
    explainer = tp.Explainer(model, **entry.options) if entry.options else tp.Explainer(forest)
    proofs_hold(model, explainer, _row(X), rows_as, output=output)


def _row(X: Any) -> Any:
    return X.iloc[0] if isinstance(X, pd.DataFrame) else X[0]


def _rows_as(X: Any) -> Any:
    if not isinstance(X, pd.DataFrame):
        return as_array
    return as_categories if any(dtype == "category" for dtype in X.dtypes) else as_frame
