"""Models with several outputs: one of them is explained, as a model of its own.

`select` chooses it. Of scikit-learn's MultiOutputClassifier and MultiOutputRegressor it is the estimator for that
output. Of trees and forests with several outputs, and of a OneVsRestClassifier for several labels, it is an `Output`.
"""

from __future__ import annotations

import copy
import inspect
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble._forest import ForestClassifier, ForestRegressor
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, MultiOutputRegressor, RegressorChain
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from treeproof.errors import InputError, UnsupportedModelError, did_you_mean
from treeproof.model.decision import Vote
from treeproof.model.forest import Forest
from treeproof.model.importers import one_vs_rest, sklearn, unwrapped
from treeproof.model.importers.sklearn import require_fitted
from treeproof.model.importers.tree_nodes import require_known

TAKES = (
    "one output of MultiOutputClassifier and MultiOutputRegressor, and of trees, forests and labels of several outputs"
)

_TREES = (DecisionTreeClassifier, DecisionTreeRegressor, ForestClassifier, ForestRegressor)
_MULTIPLE = (MultiOutputClassifier, MultiOutputRegressor)


class Output(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """One output of a fitted model with several, as a model."""

    def __init__(self, model: Any, index: int) -> None:
        self.model = model
        self.index = index

    def fit(self, X: Any, y: Any) -> Output:
        """Return the output as it is: its model is fitted."""
        return self

    def predict(self, X: Any) -> Any:
        """Return what the model predicts for this output."""
        return np.asarray(self.model.predict(X))[:, self.index]

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        if name in ("n_features_in_", "feature_names_in_"):
            return getattr(self.model, name)
        raise AttributeError(name)


def takes(model: Any) -> bool:
    """Return whether the model has several outputs, or is one of them."""
    chain = ClassifierChain | RegressorChain
    return isinstance(model, Output | MultiOutputClassifier | MultiOutputRegressor | chain) or _names(model) is not None


def load(model: Any, vote: Vote | None) -> Forest:
    """Return the forest of one output; refuse a model with several."""
    require_fitted(model)
    if not isinstance(model, Output):
        select(model, None)
    if isinstance(model.model, OneVsRestClassifier):
        return one_vs_rest.load(model.model, vote, model.index)
    return sklearn.load(model.model, vote, model.index)


def select(model: Any, output: str | int | None) -> Any:
    """Return the model that predicts one output of a model with several: by its number or, if it has one, its name."""
    model = unwrapped(model)
    final = unwrapped(model.steps[-1][1]) if isinstance(model, Pipeline) else model
    if isinstance(final, ClassifierChain | RegressorChain):
        raise UnsupportedModelError(
            f"{type(final).__name__} gives what it predicts for one output to the models of the next ones, which are "
            "no sums of leaf values then. Train a MultiOutputClassifier or MultiOutputRegressor, or one model each."
        )
    names = _names(final)
    if names is None:
        if output is not None:
            raise InputError(f"The model has one output. Got output={output!r}; leave it out.")
        return model
    index = _index(names, output)
    if isinstance(final, _MULTIPLE):
        require_known(final, "predict", [inspect.getattr_static(MultiOutputClassifier, "predict")])
        chosen = final.estimators_[index]
    else:
        chosen = Output(final, index)
    if final is model:
        return chosen
    other = copy.copy(model)
    other.steps = [*model.steps[:-1], (model.steps[-1][0], chosen)]
    return other


def _names(model: Any) -> list[Any] | None:
    """Return the names of a model's outputs, or their numbers; None if it has one output, or is not fitted."""
    if isinstance(model, _MULTIPLE) and hasattr(model, "estimators_"):
        return list(range(len(model.estimators_)))
    if isinstance(model, _TREES) and getattr(model, "n_outputs_", 1) != 1:
        return list(range(int(model.n_outputs_)))
    if isinstance(model, OneVsRestClassifier) and getattr(model, "multilabel_", False):
        return np.asarray(model.classes_).tolist()
    return None


def _index(names: list[Any], output: str | int | None) -> int:
    for wanted in (output, str(output)):  # on the command line all names are text
        for index, name in enumerate(names):
            if output is not None and not isinstance(output, bool) and (name == wanted or str(name) == wanted):
                return index
    listed = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
    got = "" if output is None else f" Got {output!r}.{did_you_mean(str(output), map(str, names))}"
    raise InputError(
        f"The model has {len(names)} outputs: {listed}. Say which one to explain: output={names[0]!r} (--output "
        f"{names[0]} on the command line).{got}"
    )
