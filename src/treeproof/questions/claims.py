"""Other tools' explanations as conditions: attributions of features, from shap or anywhere else, and LIME's pairs.

Neither library is imported: what is passed is known by what it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from treeproof.errors import InputError
from treeproof.query.context import Context, Instance


def read_claim(context: Context, instance: Instance | None, claim: Any, top: Any) -> Any:
    """Return what another tool claims as conditions or features, those that it finds most important first.

    Anything else is returned as it is. `top` keeps the first so many.
    """
    if top is not None and (isinstance(top, bool) or not isinstance(top, int | np.integer) or top < 1):
        raise InputError(f"The 'top' parameter must be a whole number of at least 1. Got {top!r} instead.")
    if callable(getattr(claim, "as_list", None)):
        claim = _lime(instance, claim)
    if _is_pairs(claim):
        return [text for text, _ in sorted(claim, key=lambda pair: -abs(pair[1]))][:top]
    numbers = _attributions(context, instance, claim, ranked=top is not None)
    if numbers is None:
        if top is not None:
            raise InputError(f"'top' requires attributions, one number for each feature. Got {claim!r}.")
        return claim
    ranked = sorted(numbers, key=lambda pair: -abs(pair[1]))
    return [name for name, number in ranked if number != 0][:top]


def _lime(instance: Instance | None, claim: Any) -> Any:
    """Return LIME's pairs for the class that the model predicts, if it has them."""
    explained = list(getattr(claim, "local_exp", None) or ())
    if instance is not None and instance.label in explained:
        return claim.as_list(label=instance.label)
    return claim.as_list(label=explained[0]) if len(explained) == 1 else claim.as_list()


def _is_pairs(claim: Any) -> bool:
    """Return whether these are a condition, or a feature, and its weight each, as ``as_list()`` of LIME returns."""
    return (
        isinstance(claim, list | tuple)
        and len(claim) > 0
        and all(isinstance(pair, tuple) and len(pair) == 2 for pair in claim)
        and all(isinstance(text, str) and _is_number(weight) for text, weight in claim)
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _attributions(
    context: Context, instance: Instance | None, claim: Any, *, ranked: bool
) -> Sequence[tuple[str | int, float]] | None:
    """Return a number for each feature or column; None if the claim is no attribution.

    Whole numbers in a list are features by index, unless `ranked` says otherwise.
    """
    names: list[Any] | None = None
    if hasattr(claim, "values") and hasattr(claim, "base_values"):  # shap.Explanation
        given = getattr(claim, "feature_names", None)
        names = None if given is None or isinstance(given, str) else list(given)
        values = np.asarray(claim.values)
    elif isinstance(claim, Mapping) or (hasattr(claim, "index") and hasattr(claim, "to_dict")):  # or a pandas Series
        named = dict(claim.items())
        names, values = list(named), np.asarray(list(named.values()))
    elif isinstance(claim, np.ndarray) or (
        isinstance(claim, Iterable) and not isinstance(claim, str | bytes) and _are_numbers(claim, ranked)
    ):
        values = np.asarray(claim)
    else:
        return None
    if values.dtype.kind not in "iuf" or (names is None and values.dtype.kind != "f" and not ranked):
        return None
    numbers = _of_the_row(context, instance, values)
    columns = context.forest.column_names
    if names is None:
        if len(numbers) not in (len(columns), context.space.n_features):
            raise InputError(
                f"Attributions must be one number for each of the {len(columns)} columns. Got {len(numbers)}."
            )
        names = list(columns if len(numbers) == len(columns) else context.space.names)
    names = [str(name) for name in names]
    known = {*columns, *context.space.names}
    unknown = [name for name in names if name not in known]
    if unknown and set(columns) == {f"x{j}" for j in range(len(columns))} and len(names) == len(columns):
        names = list(columns)  # the model was trained without names, and reads by position
    elif unknown:
        raise InputError(
            f"Attributions must be of the model's columns, {list(columns)}. Got one of {unknown[0]!r}; those of what "
            "the steps of a pipeline make of them must be added up first."
        )
    return list(zip(names, numbers.tolist(), strict=True))


def _are_numbers(claim: Any, ranked: bool) -> bool:
    items = list(claim) if isinstance(claim, list | tuple) else []
    return bool(items) and all(map(_is_number, items)) and (ranked or any(isinstance(item, float) for item in items))


def _of_the_row(context: Context, instance: Instance | None, values: Any) -> Any:
    """Return the attributions of one row, for the class that the model predicts, if there are several classes."""
    n_classes = context.forest.n_classes
    if values.ndim == 3 and len(values) == 1:
        values = values[0]
    if values.ndim == 2 and values.shape[1] == n_classes and values.shape[0] == context.forest.n_columns:
        if instance is None:
            raise InputError("Attributions for several classes need a row, whose class they are for. Give the row.")
        values = values[:, instance.label]
    elif values.ndim == 2 and len(values) == 1:
        values = values[0]
    if values.ndim != 1:
        raise InputError(
            f"Attributions must be of one row. Got an array of shape {values.shape}; choose a row: explanation[i]."
        )
    if not np.isfinite(values).all():
        raise InputError("Attributions must be finite numbers. Got others among them.")
    return values.astype(float)
