"""From what people pass as rows to the float32 matrix that a forest routes, or a clear error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from treeproof.errors import InputError
from treeproof.forest import Column, Rows


def as_rows(X: Any, columns: Sequence[Column]) -> Rows:
    """Return `X` as a float32 matrix that the model would accept, with categories replaced by their index.

    Accepts what scikit-learn accepts for dense data (nested sequences, arrays, frames). Frames are matched by column
    name. Missing and infinite values, and values beyond float32, are refused, as are categories that are not declared.
    """
    if isinstance(X, np.ndarray) and X.dtype == np.float32 and _is_clean(X, columns):
        return X
    matrix = _as_matrix(X, columns)
    if matrix.ndim != 2:
        raise InputError(
            f"Rows must form a table of shape (n_rows, {len(columns)}). Got an array of {matrix.ndim} dimension(s); "
            "wrap a single row in a list."
        )
    if matrix.shape[1] != len(columns):
        raise InputError(
            f"Each row must have {len(columns)} values, one for each of {_few([c.name for c in columns])}. "
            f"Got {matrix.shape[1]}."
        )
    if matrix.dtype.kind in "fiub" and all(column.categories is None for column in columns):
        with np.errstate(over="ignore"):
            rows = matrix.astype(np.float32)
    else:
        rows = np.empty(matrix.shape, dtype=np.float32)
        for j, column in enumerate(columns):
            rows[:, j] = [_number(value, column) for value in matrix[:, j].tolist()]
    _refuse_non_finite(rows, columns)
    return rows


def as_row(x: Any, columns: Sequence[Column]) -> Rows:
    """Return one row, a sequence, a one-row table, a Series, or a mapping by name, as a float32 vector of its own.

    It is never a view of what was passed: explanations are listed lazily, and the caller may change it meanwhile.
    """
    return _as_row(x, columns).copy()


def _as_row(x: Any, columns: Sequence[Column]) -> Rows:
    if isinstance(x, np.ndarray) and x.ndim == 1:
        return as_rows(x[None, :], columns)[0]
    if isinstance(x, Mapping):
        return as_rows([_by_name(x, columns)], columns)[0]
    if hasattr(x, "index") and hasattr(x, "to_numpy") and not hasattr(x, "columns"):  # a pandas Series
        names = [str(name) for name in x.index]
        wanted = [column.name for column in columns]
        unnamed = names == [str(j) for j in range(len(names))] and not set(names) & set(wanted)
        if not unnamed and not _in_order(names, wanted):
            return as_rows([_by_name(dict(zip(names, x.to_numpy(), strict=True)), columns)], columns)[0]
        x = x.to_numpy()
    if hasattr(x, "columns") or np.ndim(_plain(x)) == 2:
        rows = as_rows(x, columns)
        if len(rows) != 1:
            raise InputError(f"One row must be given at a time. Got {len(rows)} rows.")
        return rows[0]
    return as_rows([x], columns)[0]


def _is_clean(X: Rows, columns: Sequence[Column]) -> bool:
    return (
        X.ndim == 2
        and X.shape[1] == len(columns)
        and all(column.categories is None for column in columns)
        and bool(np.isfinite(X).all())
    )


def _plain(x: Any) -> Any:
    """Return `x`, with ragged or exotic input turned into an InputError instead of numpy's own."""
    if hasattr(x, "toarray"):
        raise InputError("Rows must be dense. Got a sparse matrix; pass X.toarray().")
    try:
        return x if isinstance(x, np.ndarray) else np.array(x, dtype=object)
    except ValueError as error:
        raise InputError(f"Rows must all have the same length. Got: {error}.") from error


def _as_matrix(X: Any, columns: Sequence[Column]) -> np.ndarray[Any, Any]:
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):  # a pandas or polars frame
        names = [str(name) for name in X.columns]
        wanted = [column.name for column in columns]
        if _in_order(names, wanted):
            return np.asarray(X.to_numpy())
        missing = [name for name in wanted if name not in names]
        if missing:
            raise InputError(f"The table must have the columns {_few(wanted)}. Missing: {_few(missing)}.")
        chosen = [X.columns[names.index(name)] for name in wanted]
        if all(column.categories is None for column in columns):
            return np.asarray(X[chosen])  # as scikit-learn does it: whole numbers are rounded to float32 once
        return np.column_stack([np.asarray(X[name], dtype=object) for name in chosen])
    matrix: np.ndarray[Any, Any] = _plain(X)
    return matrix


def _in_order(names: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether to read values by position, as scikit-learn does if the model never saw names.

    Its columns are numbered x0, x1, ... then. Such names in another order could mean either: InputError.
    """
    if list(wanted) != [f"x{j}" for j in range(len(wanted))]:
        return False
    if set(names).isdisjoint(wanted):
        return True
    if len(names) != len(wanted):
        return False
    if any(name in wanted and name != wanted[j] for j, name in enumerate(names)):
        raise InputError(
            f"Columns must be in the model's order, {_few(wanted)}. Got {_few(names)}; reorder them, or pass an array."
        )
    return True


def _by_name(row: Mapping[Any, Any], columns: Sequence[Column]) -> list[Any]:
    missing = [column.name for column in columns if column.name not in row]
    if missing:
        raise InputError(f"The row must have a value for every column. Missing: {_few(missing)}.")
    return [row[column.name] for column in columns]


def _number(value: Any, column: Column) -> float:
    if column.categories is not None:
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, str | int | float):
            for code, category in enumerate(column.categories):
                if plain == category and isinstance(plain, bool) == isinstance(category, bool):
                    return float(code)
        raise InputError(f"Column {column.name!r} must be one of {_few(column.categories)}. Got {value!r}.")
    if isinstance(value, str | bytes):
        raise InputError(f"Column {column.name!r} must be a number. Got {value!r}.")
    if value is None:
        return float("nan")
    try:
        with np.errstate(over="ignore"):
            return float("inf") if abs(float(value)) >= 3.5e38 else float(np.float32(value))  # NaN stays NaN
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"Column {column.name!r} must be a number. Got {value!r}.") from error


def _refuse_non_finite(rows: Rows, columns: Sequence[Column]) -> None:
    bad = ~np.isfinite(rows)
    if not bad.any():
        return
    row, j = np.argwhere(bad)[0]
    if np.isnan(rows[row, j]):
        raise InputError(
            f"Column {columns[j].name!r} must not be missing. Got NaN in row {row}; impute it first: "
            "proofs range over finite values only."
        )
    raise InputError(
        f"Column {columns[j].name!r} must be a finite float32. Got an infinite or too large value in row {row}."
    )


def _few(names: Sequence[Any], limit: int = 8) -> str:
    shown = ", ".join(repr(name) for name in names[:limit])
    return f"[{shown}]" if len(names) <= limit else f"[{shown}, … {len(names) - limit} more]"
