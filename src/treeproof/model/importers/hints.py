"""Why a model is refused that no importer takes, and what can be done about it."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any

# By module, of scikit-learn and others: what its models are.
_KINDS = {
    "sklearn.linear_model": "a linear model",
    "sklearn.svm": "a support vector machine",
    "sklearn.neural_network": "a neural network",
    "sklearn.neighbors": "a model of nearest neighbours",
    "sklearn.naive_bayes": "a naive Bayes model",
    "sklearn.discriminant_analysis": "a discriminant analysis",
    "sklearn.gaussian_process": "a Gaussian process",
    "sklearn.kernel_ridge": "a kernel method",
    "sklearn.cross_decomposition": "a linear model",
    "sklearn.mixture": "a mixture of distributions",
    "sklearn.cluster": "a clustering",
    "sklearn.dummy": "a constant or random guess",
    "sklearn.covariance": "an estimate of a covariance",
    "statsmodels": "a statistical model",
    "torch": "a neural network",
    "keras": "a neural network",
    "tensorflow": "a neural network",
}

_STACKED = (
    "What its members predict is the input of another model, so it is no sum of leaf values. Explain a member that is "
    "a tree ensemble alone, one of model.estimators_."
)
_ONE_MODEL = "Train a forest or a boosted model for all classes: none of them needs to be wrapped."
_REASONS = {
    "RandomTreesEmbedding": "It has no predict: it makes columns of leaves for another model, so there is nothing to "
    "explain.",
    "StackingClassifier": _STACKED,
    "StackingRegressor": _STACKED,
    "OneVsOneClassifier": f"It counts the votes of a model for each pair of classes. {_ONE_MODEL}",
    "OutputCodeClassifier": f"It compares the answers of its models with a code. {_ONE_MODEL}",
}


def hint(model: Any, is_taken: Callable[[Any], bool]) -> str:
    """Return sentences that begin with a blank, or nothing; `is_taken` says whether some importer takes a model."""
    if isinstance(model, type):
        return " Pass a fitted instance, not the class."
    if isinstance(model, str | PathLike):
        return " Read the file first: treeproof.load_model(path)."
    for kind in type(model).__mro__:
        if kind.__name__ in _REASONS and kind.__module__.startswith("sklearn."):
            return f" {_REASONS[kind.__name__]}"
        for module, what in _KINDS.items():
            if kind.__module__ == module or kind.__module__.startswith(f"{module}."):
                return f" That is {what}, not a tree ensemble."
    inside = getattr(model, "estimator_", None)
    fitted = any(name.endswith("_") for name in getattr(inside, "__dict__", ()))
    if fitted and is_taken(inside):
        return " Explain the model that it wraps alone: model.estimator_."
    return ""
