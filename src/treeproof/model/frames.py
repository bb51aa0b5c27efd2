"""Rows as pandas frames: where a row came from, what its frame looked like, and other rows written in the same way."""

from __future__ import annotations

import datetime
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treeproof.errors import InternalError, MissingExtraError
from treeproof.model.columns import Column, Value
from treeproof.model.floats import Floats
from treeproof.model.rows import as_row, as_wanted, day_number, has_float32, is_missing

NARROW = (
    "The data are float32, and steps of the pipeline compute in float32 if all their input is. What is explained is "
    "what they compute in float64: close to a bound, predict may give another label. Pass X.astype(float) to both."
)


def pandas() -> Any:
    """Return pandas; MissingExtraError says how to get it."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("A frame needs pandas: pip install pandas.") from error
    return pd


@dataclass(frozen=True, slots=True)
class Form:
    """How people write rows of a model: the names of the columns and, as far as known, their types in pandas.

    A name is None where the model's own will do; a type is None where it is not known. `whole` tells which columns are
    declared to hold whole numbers. `narrows` says that the model computes in float32 on float32 data, and what is
    explained is what it computes in float64.
    """

    columns: tuple[Column, ...]
    floats: Floats
    whole: tuple[bool, ...]
    names: tuple[Any, ...] | None = None
    types: tuple[Any, ...] | None = None
    narrows: bool = False

    def of(self, x: Any) -> Form:
        """Return the form of rows that are written as `x` is: a pandas frame, or one row with names."""
        if self.narrows and has_float32(x):
            warnings.warn(NARROW, stacklevel=1)  # of this line: once, however many rows there are
        names, types = _written(x)
        if names is None:
            return self
        wanted = [column.name for column in self.columns]
        texts = as_wanted([str(name) for name in names], wanted)
        known = len(set(texts)) == len(texts) and set(wanted) <= set(texts)
        if not known and len(names) != len(wanted):
            return self
        places = [texts.index(name) for name in wanted] if known else range(len(wanted))  # else read by position
        ours = self.types or (None,) * len(wanted)
        return Form(
            self.columns,
            self.floats,
            self.whole,
            tuple(names[place] for place in places),
            tuple(ours[j] if types[place] is None else types[place] for j, place in enumerate(places)),
            self.narrows,
        )

    def frame(self, rows: Sequence[Sequence[Value]], labels: Sequence[Any]) -> Any:
        """Return rows as a frame that the model's own ``predict`` reads as these values; `labels` name them.

        A type is widened where a value does not fit: a fraction into whole numbers, a gap into them, or a float64 into
        float32. Categories without a known type become pandas' type category, which every library takes.
        """
        pd = pandas()
        wanted = [column.name for column in self.columns]
        unnamed = self.names is None and wanted == [f"x{j}" for j in range(len(wanted))]
        found = {j: self._column(pd, j, [row[j] for row in rows]) for j in range(len(wanted))}
        index = pd.Index(list(labels)) if all(label is not None for label in labels) else pd.RangeIndex(len(rows))
        frame = pd.DataFrame(found, index=index)
        frame.columns = pd.RangeIndex(len(wanted)) if unnamed else pd.Index(self.names or wanted)
        for i, row in enumerate(rows):
            read = as_row(frame.iloc[[i]], self.columns, self.floats)
            if not np.array_equal(read, as_row(list(row), self.columns, self.floats), equal_nan=True):
                raise InternalError(f"The row {row} is not read as it should be from a frame; please report this.")
        return frame

    def _column(self, pd: Any, j: int, values: list[Value]) -> Any:
        """Return the values of one column as an array of pandas."""
        column, dtype = self.columns[j], None if self.types is None else self.types[j]
        if column.categories is not None:
            return _named(pd, column, dtype, values)
        if column.date:
            if dtype is not None and (dtype.kind in "OM"):
                return pd.array(values, dtype="datetime64[ns]" if dtype.kind == "O" else dtype)
            values = [math.nan if is_missing(value) or value == "missing" else day_number(value) for value in values]
        numbers = [math.nan if is_missing(value) else float(value) for value in values]  # type: ignore[arg-type]
        whole = all(number.is_integer() for number in numbers)
        if dtype is None:
            dtype = np.dtype(np.int64 if whole and (self.whole[j] or column.date) else np.float64)
        gaps = any(map(math.isnan, numbers))
        if dtype.kind in "iu" and all(math.isnan(number) or number.is_integer() for number in numbers):
            if not gaps:
                return pd.array([int(number) for number in numbers], dtype=dtype)
            if not isinstance(dtype, np.dtype):  # one of pandas' own, with a place for missing values
                return pd.array([pd.NA if math.isnan(number) else int(number) for number in numbers], dtype=dtype)
        if dtype.kind == "b" and set(numbers) <= {0.0, 1.0}:
            return pd.array([bool(number) for number in numbers], dtype=dtype)
        if dtype.kind == "f" and dtype.itemsize >= np.dtype(self.floats.dtype).itemsize:
            return pd.array(numbers, dtype=dtype)
        return np.array(numbers)


def _named(pd: Any, column: Column, dtype: Any, values: list[Value]) -> Any:
    """Return named values as an array of pandas."""
    gaps = any(is_missing(value) for value in values)
    if dtype is None and column.whole and column.other is not None and column.other_expected and not gaps:
        return np.array(values, dtype=np.int64)  # the model numbers its categories, and takes no others
    if dtype is None and column.gap != "None":
        dtype = pd.CategoricalDtype(column.listed)
    if isinstance(dtype, pd.CategoricalDtype):
        new = [value for value in dict.fromkeys(values) if not is_missing(value) and value not in dtype.categories]
        if new:
            dtype = pd.CategoricalDtype([*dtype.categories, *new], ordered=dtype.ordered)
        return pd.Categorical(values, dtype=dtype)
    if dtype is not None and not gaps:
        try:
            return pd.array(values, dtype=dtype)
        except (TypeError, ValueError, OverflowError):
            pass  # a value without a category of its own may not fit
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a row came from: its label in a frame, None without one, and how rows are written there."""

    name: Any
    form: Form


def from_arrow(X: Any) -> Any:
    """Return a table or a record batch of Arrow as the frame of pandas that it becomes there; anything else as it is.

    >>> from_arrow([[1, 2]])
    [[1, 2]]
    """
    if type(X).__module__.partition(".")[0] != "pyarrow" or not hasattr(X, "to_pandas"):
        return X
    pandas()  # says how to get it
    return X.to_pandas()


def row_labels(X: Any) -> Any:
    """Return the labels of a table's rows, a pandas index; None if it has none.

    >>> row_labels([[1, 2]]) is None
    True
    """
    return X.index if hasattr(X, "iloc") and hasattr(X, "columns") else None


def row_label(x: Any) -> Any:
    """Return the label of one row, a Series or a frame of one row; None if it has none."""
    labels = row_labels(x)
    if labels is not None:
        return plain_name(labels[0]) if len(labels) == 1 else None
    return plain_name(x.name) if hasattr(x, "iloc") and hasattr(x, "name") else None


def plain_name(label: Any) -> Any:
    """Return a row's label without numpy's types."""
    return label.item() if isinstance(label, np.generic) else label


def _written(x: Any) -> tuple[list[Any] | None, list[Any]]:
    """Return the names of columns and what is known of their types."""
    if type(x) is np.ndarray:
        return None, []
    if hasattr(x, "iloc") and hasattr(x, "columns"):
        return list(x.columns), list(x.dtypes)
    if hasattr(x, "iloc") and hasattr(x, "index"):  # a Series has one type for all values
        return list(x.index), [_type_of(value) for value in x.to_list()]
    if isinstance(x, Mapping):
        return list(x), [_type_of(value) for value in x.values()]
    if hasattr(x, "columns"):  # polars
        return list(x.columns), [None] * len(x.columns)
    return None, []


def _type_of(value: Any) -> Any:
    """Return the type of a column that holds a value, as far as the value tells."""
    if isinstance(value, bool | np.bool_):
        return np.dtype(np.bool_)
    if isinstance(value, int | np.integer):
        return np.dtype(np.int64)
    if isinstance(value, datetime.date | np.datetime64) and not is_missing(value):
        return np.dtype("datetime64[ns]")
    return None
