"""Turns what users pass as rows into the matrix of numbers that a forest routes, or raises a clear error."""

from __future__ import annotations

import contextlib
import datetime
import math
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, Literal

import numpy as np

from treeproof.errors import InputError
from treeproof.model.columns import Column, Columns, Rows
from treeproof.model.floats import FLOAT32, Floats


def as_rows(X: Any, columns: Sequence[Column], floats: Floats = FLOAT32) -> Rows:
    """Return `X` as a new matrix of numbers that the model would accept, with categories replaced by their index.

    It is never a view of what was passed, which the caller, or another thread, may change meanwhile.
    Accepts what scikit-learn accepts (nested sequences, arrays, frames, sparse matrices). Frames are matched by column
    name. Infinite values, values beyond the model's numbers, missing values where the model refuses them, and
    categories that are not declared are refused. Dates are accepted in columns declared as dates.
    """
    if isinstance(X, np.ndarray) and hasattr(X, "mask"):  # numpy.ma takes a while to import
        X = np.where(X.mask, np.array(None), X.data)
    if isinstance(X, np.ndarray) and (clean := _clean(X, columns, floats)) is not None:
        return clean
    matrix = as_matrix(X, columns)
    if matrix.ndim == 1 and any(isinstance(row, list | tuple | np.ndarray) for row in matrix):
        lengths = sorted({np.size(row) for row in matrix})
        raise InputError(f"Rows must all have {len(columns)} values. Got rows of {' and '.join(map(str, lengths))}.")
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
    numeric = all(column.categories is None for column in columns)
    if numeric and matrix.dtype.kind == "O" and set(map(type, matrix.flat)) == {float}:
        matrix = matrix.astype(np.float64)  # a list of numbers: one by one takes long where there are many columns
    if matrix.dtype.kind in "fiub" and numeric:
        with np.errstate(over="ignore"):
            rows = matrix.astype(floats.dtype)
    else:
        rows = np.empty(matrix.shape, dtype=floats.dtype)
        for j, column in enumerate(columns):
            # An array of dates must not become a list, which would contain nanoseconds.
            values = matrix[:, j] if matrix.dtype.kind in "mM" else matrix[:, j].tolist()
            rows[:, j] = _numbers(values, column, floats)
    _refuse_non_finite(rows, columns, floats)
    _refuse_outside(rows, columns, floats)
    return rows


def one_by_one(X: Any, columns: Sequence[Column], floats: Floats = FLOAT32) -> list[Rows | InputError]:
    """Return what `as_rows` does, row by row, with a row's error in its place; anything but a table still raises."""
    matrix = as_matrix(X, columns)
    if matrix.ndim != 2 or matrix.shape[1] != len(columns):
        as_rows(X, columns, floats)  # this error says why
    found: list[Rows | InputError] = []
    for i in range(len(matrix)):
        try:
            found.append(as_rows(matrix[i : i + 1], columns, floats)[0])
        except InputError as error:
            found.append(InputError(str(error), row=i))
    return found


def by_number(X: Any) -> tuple[int, Callable[[int], Any]]:
    """Return the number of rows of a table, and a function that returns one row, with column names if there are any.

    >>> n_rows, part = by_number([[1, 2], [3, 4]])
    >>> n_rows, part(1)
    (2, [3, 4])
    """
    if hasattr(X, "toarray"):  # a sparse matrix
        X = X.toarray()
    if isinstance(X, str | bytes | Mapping | Set) or not hasattr(X, "__len__") or getattr(X, "shape", None) == ():
        raise InputError(f"Rows must form a table. Got {type(X).__name__}.")
    if hasattr(X, "iloc"):
        return len(X), lambda i: X.iloc[[i]]
    if hasattr(X, "columns"):  # polars
        return len(X), lambda i: X[i : i + 1]
    return len(X), lambda i: X[i]


def as_row(x: Any, columns: Sequence[Column], floats: Floats = FLOAT32) -> Rows:
    """Return one row (a sequence, a one-row table, a Series, or a mapping by name) as a new vector."""
    if isinstance(x, np.ndarray) and x.ndim == 1:
        return as_rows(x[None, :], columns, floats)[0]
    if isinstance(x, Mapping):
        return as_rows([_by_name(x, columns)], columns, floats)[0]
    if hasattr(x, "index") and hasattr(x, "to_numpy") and not hasattr(x, "columns"):  # a pandas Series
        names = [str(name) for name in x.index]
        wanted = [column.name for column in columns]
        if len(set(names)) < len(names) and (twice := [name for name in wanted if names.count(name) > 1]):
            raise InputError(f"Each feature must have one value. The row has several that are called {twice[0]!r}.")
        unnamed = names == [str(j) for j in range(len(names))] and not set(names) & set(wanted)
        if not unnamed and not _in_order(names, wanted):
            return as_rows([_by_name(dict(zip(names, x.to_list(), strict=True)), columns)], columns, floats)[0]
        x = x.to_list()
    if hasattr(x, "columns") or np.ndim(_plain(x)) == 2:
        rows = as_rows(x, columns, floats)
        if len(rows) != 1:
            raise InputError(f"Exactly one row must be given. Got {len(rows)} rows; for several, use batch.")
        return rows[0]
    return as_rows([x], columns, floats)[0]


def _clean(X: Rows, columns: Sequence[Column], floats: Floats) -> Rows | None:
    """Return a table of finite floats as the model's, where that is all there is to it; None elsewhere."""
    if X.dtype.kind != "f" or X.ndim != 2 or X.shape[1] != len(columns):
        return None
    if not (columns if isinstance(columns, Columns) else Columns(columns)).take_all:
        return None
    with contextlib.nullcontext() if X.dtype == floats.dtype else np.errstate(over="ignore"):
        rows = X.astype(floats.dtype)
    return rows if np.isfinite(rows).all() else None


def _plain(x: Any) -> Any:
    """Return `x` as an array; for ragged or exotic input raise InputError instead of numpy's error."""
    if hasattr(x, "toarray"):  # a sparse matrix
        return x.toarray()
    try:
        return x if isinstance(x, np.ndarray) else np.array(x, dtype=object)
    except ValueError as error:
        raise InputError(f"Rows must all have the same length. Got: {error}.") from error


def as_matrix(X: Any, columns: Sequence[Column]) -> np.ndarray[Any, Any]:
    """Return the values of a table as they are, its columns in this order; whether they can be used is not checked."""
    if hasattr(X, "toarray") and any(column.missing == "expected" for column in columns):
        raise InputError(
            "Rows must not be sparse: this model accepts missing values, and some models treat entries that a sparse "
            "matrix does not store as missing. Got a sparse matrix; pass X.toarray() if these entries are zeros."
        )
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        _refuse_unknown_codes(X, columns)
        return _from_frame(X, [column.name for column in columns])
    matrix: np.ndarray[Any, Any] = _plain(X)
    return matrix


def categories_in(X: Any, columns: Sequence[Column], j: int) -> list[str]:
    """Return the texts of a column, in the order of a frame that has one for it, and otherwise sorted.

    >>> categories_in([["b", 1], ["a", 2], [None, 3]], [Column("letter"), Column("number")], 0)
    ['a', 'b']
    """
    try:
        declared = X[columns[j].name].dtype.categories
    except (TypeError, AttributeError, KeyError, IndexError, ValueError):
        declared = sorted({value for value in as_matrix(X, columns)[:, j].tolist() if isinstance(value, str)})
    return [str(text) for text in declared]


def kinds_of(X: Any, columns: Sequence[Column]) -> dict[int, Literal["integer", "binary"]]:
    """Return the numeric columns that hold whole numbers, or truth values, by the data types of a table.

    >>> kinds_of(np.array([[1, 2], [3, 4]]), [Column("a"), Column("b", ("x", "y"))])
    {0: 'integer'}
    """
    names = [column.name for column in columns]
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        given = [str(name) for name in X.columns]
        given = names if _in_order(given, names) else as_wanted(given, names)
        types = dict(zip(given, X.dtypes, strict=False))
    else:
        types = dict.fromkeys(names, getattr(X, "dtype", None))
    found = {j: _kind_of(types.get(column.name)) for j, column in enumerate(columns) if column.categories is None}
    return {j: kind for j, kind in found.items() if kind is not None}


def _kind_of(dtype: Any) -> Literal["integer", "binary"] | None:
    """Return what numpy's, pandas' or polars' data type says about its values."""
    letter = getattr(dtype, "kind", None)
    if letter in ("i", "u") or (hasattr(dtype, "is_integer") and dtype.is_integer()):
        return "integer"
    return "binary" if letter == "b" or str(dtype) == "Boolean" else None


def has_float32(X: Any) -> bool:
    """Return whether a table, or a row, has numbers of type float32, or narrower ones.

    >>> has_float32(np.zeros((1, 2), dtype=np.float32)), has_float32([[0.5, 1.5]])
    (True, False)
    """
    types = X.dtypes if hasattr(X, "columns") and hasattr(X, "dtypes") else [getattr(X, "dtype", None)]
    return any(str(dtype).lower() in ("float16", "float32") for dtype in types)


def _refuse_unknown_codes(X: Any, columns: Sequence[Column]) -> None:
    """Refuse a column of pandas' type category where the model has numbers for categories, and not their labels."""
    coded = {c.name for c in columns if c.other is not None and c.other_expected and c.whole}
    for name, dtype in zip(X.columns, X.dtypes, strict=True) if coded else ():
        if str(name) in coded and str(dtype) == "category":
            raise InputError(
                f"Column {str(name)!r} must hold whole numbers, as the model compares them: it does not know which "
                "labels they stand for. Got pandas' type category."
            )


def _from_frame(X: Any, wanted: list[str]) -> np.ndarray[Any, Any]:
    """Return the wanted columns of a pandas or polars frame."""
    names = [str(name) for name in X.columns]
    if not _in_order(names, wanted):
        names = as_wanted(names, wanted)
        missing = [name for name in wanted if name not in names]
        if missing:
            raise InputError(f"The table must have the columns {_few(wanted)}. Missing: {_few(missing)}.")
        twice = [name for name in wanted if names.count(name) > 1]
        if twice:
            raise InputError(f"Column names must be unique. Several columns are called {twice[0]!r}.")
        places = [names.index(name) for name in wanted]
        X = X.iloc[:, places] if hasattr(X, "iloc") else X[:, places]
    # polars turns dates into numbers if all other columns contain whole numbers.
    if hasattr(X, "iloc") or all(dtype.is_numeric() for dtype in X.dtypes):
        matrix = np.asarray(X.to_numpy())
        if matrix.dtype.kind in "fiub":
            return matrix  # whole numbers are then rounded to float32 once, as scikit-learn does it
    table = np.empty(X.shape, dtype=object)
    for j in range(X.shape[1]):
        table[:, j] = X.iloc[:, j].to_list() if hasattr(X, "iloc") else X[:, j].to_list()
    return table


def _in_order(names: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether to read values by position, as scikit-learn does if the model was trained without column names.

    Then its columns are called x0, x1, .... Such names in another order are ambiguous: InputError.
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


def as_wanted(names: Sequence[Any], wanted: Sequence[str]) -> list[Any]:
    """Return a table's names, those with blanks as LightGBM writes them where the model has only that: "a b" as "a_b".

    >>> as_wanted(["a b", "c d", "e_f", "e f"], ["a_b", "c d", "e_f"])
    ['a_b', 'c d', 'e_f', 'e f']
    """
    missing = set(wanted).difference(names)
    written = [name.replace(" ", "_") if isinstance(name, str) else name for name in names]
    return [other if other in missing else name for name, other in zip(names, written, strict=True)]


def _by_name(row: Mapping[Any, Any], columns: Sequence[Column]) -> list[Any]:
    if any(column.name not in row for column in columns):
        names = as_wanted(list(row), [column.name for column in columns])
        if len(set(names)) == len(names):
            row = dict(zip(names, row.values(), strict=True))
    missing = [column.name for column in columns if column.name not in row]
    if missing:
        raise InputError(f"The row must have a value for every column. Missing: {_few(missing)}.")
    return [row[column.name] for column in columns]


def _numbers(values: Any, column: Column, floats: Floats) -> Any:
    """Return what `_number` does for each value; faster where all are floats or gaps, or texts, which repeat."""
    types = set(map(type, values))
    if column.categories is None and types <= {float, type(None)}:
        with np.errstate(over="ignore"):
            return np.array(values, dtype=np.float64).astype(floats.dtype)  # None becomes NaN
    if types <= {str, type(None)}:
        known = {value: _number(value, column, floats) for value in dict.fromkeys(values)}
        return [known[value] for value in values]
    return [_number(value, column, floats) for value in values]


def _number(value: Any, column: Column, floats: Floats) -> float:
    if column.categories is not None:
        plain = value.item() if isinstance(value, np.generic) else value
        if None in column.categories and is_missing(plain):
            if column.gap == ("NaN" if plain is None else "None"):
                raise InputError(
                    f"Column {column.name!r} must hold {column.gap} where a value is missing; to the model, None and "
                    f"NaN are not the same there. Got {value!r}; replace it by {column.gap}."
                )
            return float(column.categories.index(None))
        if isinstance(plain, str | int | float):
            for code, category in enumerate(column.categories):
                if plain == category and isinstance(plain, bool) == isinstance(category, bool):
                    return float(code)
        if column.other_code is not None and column.stands_for(plain):
            return float(column.other_code)
        raise InputError(
            f"Column {column.name!r} must be one of {_few(column.categories)}{_others(column)}. Got {value!r}."
        )
    if column.date and isinstance(value, str):
        return float(day_number(value))
    if isinstance(value, str | bytes):
        raise InputError(f"Column {column.name!r} must be a number. Got {value!r}.")
    if is_missing(value):
        return float("nan")
    if isinstance(value, datetime.date | np.datetime64):
        if column.date:
            return float(day_number(value))
        raise InputError(
            f"Column {column.name!r} must be a number, as in training. Got the date {value!s}; convert it as for "
            f"training. If that was with toordinal(), declare it: kinds={{{column.name!r}: 'date'}}."
        )
    try:
        return float("inf") if abs(float(value)) > 1.1 * floats.largest else floats.round(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"Column {column.name!r} must be a number. Got {value!r}.") from error


def _others(column: Column) -> str:
    """Return in words what a column's category `other` stands for, if it has one."""
    if column.other is None:
        return ""
    kind = f"whole number below {2**31}" if column.whole else "finite number" if column.numbers else "text"
    return f", where {column.other!r} is any other {kind}"


def day_number(value: Any) -> int:
    """Return a date, which may be text, as the day number of `datetime.date.toordinal`: day 1 is 0001-01-01.

    >>> day_number(datetime.date(2024, 2, 29)), day_number(np.datetime64("2024-02-29T00:00")), day_number("2024-02-29")
    (738945, 738945, 738945)
    """
    if isinstance(value, np.datetime64):
        day = value.astype("datetime64[D]")
        number = int(day.astype(np.int64)) + datetime.date(1970, 1, 1).toordinal()
        if day == value and FIRST_DAY <= number <= LAST_DAY:
            return number
    elif isinstance(value, datetime.date):  # a datetime, or pandas' Timestamp, too
        if not isinstance(value, datetime.datetime) or value == type(value)(value.year, value.month, value.day):
            return datetime.date(value.year, value.month, value.day).toordinal()
    elif isinstance(value, str) and len(value) == len("2024-02-29"):
        with contextlib.suppress(ValueError):
            return datetime.date.fromisoformat(value).toordinal()
    raise InputError(f"A date must be a day, at midnight and without a time zone. Got {value!s}.")


FIRST_DAY, LAST_DAY = datetime.date.min.toordinal(), datetime.date.max.toordinal()


def is_missing(value: Any) -> bool:
    """Return whether a value means missing: None, NaN, NaT, or pandas.NA."""
    if isinstance(value, np.datetime64):
        return bool(np.isnat(value))
    gone = isinstance(value, float | np.floating) and math.isnan(value)
    return value is None or gone or type(value).__name__ in ("NAType", "NaTType")


def _refuse_outside(rows: Rows, columns: Sequence[Column], floats: Floats) -> None:
    for j, column in enumerate(columns):
        if (column.low, column.high) == (-math.inf, math.inf):
            continue
        values = rows[:, j]
        outside = (values < column.low) | (values > column.high)
        if not outside.any():
            continue
        row = int(np.argmax(outside))
        where = f" in row {row}" if len(rows) > 1 else ""
        ends = [f"at least {floats.shortest(column.low)}"] if column.low > -math.inf else []
        ends += [f"at most {floats.shortest(column.high)}"] if column.high < math.inf else []
        raise InputError(
            f"Column {column.name!r} must be {' and '.join(ends)}: the model's own predict refuses what its steps make "
            f"of other numbers. Got {floats.shortest(float(values[row]))}{where}."
        )


def _refuse_non_finite(rows: Rows, columns: Sequence[Column], floats: Floats) -> None:
    bad = ~np.isfinite(rows)
    if not bad.any():
        return
    bad &= ~(np.isnan(rows) & [column.missing != "never" for column in columns])
    if not bad.any():
        return
    row, j = np.argwhere(bad)[0]
    where = f" in row {row}" if len(rows) > 1 else ""
    if np.isnan(rows[row, j]):
        raise InputError(
            f"Column {columns[j].name!r} must not be missing: the model does not accept missing values. Got NaN{where};"
            " impute it first."
        )
    raise InputError(
        f"Column {columns[j].name!r} must be a finite {floats.name}. Got an infinite or too large value{where}."
    )


def _few(names: Sequence[Any], limit: int = 8) -> str:
    shown = ", ".join(repr(name) for name in names[:limit])
    return f"[{shown}]" if len(names) <= limit else f"[{shown}, … {len(names) - limit} more]"
