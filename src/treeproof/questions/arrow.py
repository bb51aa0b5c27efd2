"""Explanations of many rows as a table of Arrow, whose columns do not depend on the rows: see ``docs/scale.md``."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from treeproof.errors import MissingExtraError
from treeproof.model.columns import Label
from treeproof.model.floats import rounded_down
from treeproof.model.labels import Named, plain_label
from treeproof.questions.abductive import Abductive
from treeproof.questions.contrastive import Contrastive
from treeproof.questions.costs import exact_number
from treeproof.questions.together import Found
from treeproof.space.conditions import Condition
from treeproof.space.features import NumericFeature
from treeproof.space.space import Space
from treeproof.space.wording import equals

Record = dict[str, Any]


def pyarrow() -> Any:
    """Return pyarrow; MissingExtraError says how to get it."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtraError("A table of Arrow, or of Parquet, needs pyarrow: pip install pyarrow.") from error
    return pa


def schema(labels: Sequence[Label]) -> Any:
    """Return the columns of explanations of a model with these labels, without those that name a row."""
    pa = pyarrow()
    text, number = pa.string(), pa.float64()
    ends = [pa.field("low", number), pa.field("high", number)]
    condition = pa.struct(
        [
            pa.field("feature", text),
            *ends,
            pa.field("ranges", pa.list_(pa.struct(ends))),
            pa.field("values", pa.list_(text)),
            pa.field("missing", pa.bool_()),
            pa.field("text", text),
        ]
    )
    change = pa.struct([pa.field(name, text) for name in ("feature", "before", "after")])
    label = _label_type(labels)
    return pa.schema(
        [
            ("label", label),
            ("name", text),
            ("score", number),
            ("status", text),
            ("features", pa.list_(text)),
            ("conditions", pa.list_(condition)),
            ("constraints", pa.list_(text)),
            ("radius", number),
            ("change", pa.list_(change)),
            ("new_label", label),
            ("distance", number),
            ("seconds", number),
            ("error", text),
        ]
    )


def _label_type(labels: Sequence[Label]) -> Any:
    pa = pyarrow()
    types: dict[type, Any] = {bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    found = {type(plain_label(label)) for label in labels}
    return types.get(found.pop(), pa.string()) if len(found) == 1 else pa.string()


def as_table(results: Sequence[Any], scores: Sequence[float | None], labels: Sequence[Label]) -> Any:
    """Return explanations, and the errors among them, as a table of Arrow with the columns of `schema`."""
    if isinstance(results, Found):
        return _table_of(results, labels)
    pa = pyarrow()
    columns = schema(labels)
    whole = columns.field("label").type != pa.string()
    records = [_record(result, score, whole) for result, score in zip(results, scores, strict=True)]
    return pa.Table.from_pylist(records, schema=columns)


def _record(result: Any, score: float | None, whole: bool) -> Record:
    if isinstance(result, Exception):
        return {"status": "error", "error": str(result)}

    def own(label: Label | None) -> Any:
        plain = plain_label(label)
        return plain if whole or label is None else str(plain)

    record: Record = {
        "label": own(result.label),
        "name": result.label.name if isinstance(result.label, Named) else None,
        "score": None if score is None or math.isnan(score) else score,
        "status": result.status,
        "features": result.feature_names,
        "seconds": result.stats.seconds,
    }
    if isinstance(result, Abductive):
        record["conditions"] = [
            _condition(condition, text) for condition, text in zip(result.rule, result.conditions, strict=True)
        ]
        record["constraints"] = result.constraints
        if result.within is not None:
            record["radius"] = _radius(result)
    elif isinstance(result, Contrastive):
        record["change"] = [
            {"feature": changed.name, "before": changed.before, "after": changed.after} for changed in result.changes
        ]
        record["new_label"], record["distance"] = own(result.witness_label), result.distance
    return record


def _table_of(found: Found, labels: Sequence[Label]) -> Any:
    """Return what `as_table` does, column by column: it takes a tenth of the time, and makes no results."""
    pa = pyarrow()
    assert found.why is not None
    context, lines, columns = found.why.context, found.deletions, schema(labels)
    n = len(found.places)
    plain = [plain_label(label) for label in context.labels]
    kind = columns.field("label").type
    own = pa.array(plain if kind != pa.string() else map(str, plain), kind)
    names = pa.array([label.name if isinstance(label, Named) else None for label in context.labels], pa.string())
    which = pa.array(lines.labels)
    each, features = np.nonzero(lines.kept)  # row by row, features in their order
    begins = _begins(lines.kept)
    used = (
        [context.constraints(np.flatnonzero(flags).tolist()) for flags in lines.clauses]
        if context.cells.clauses
        else None
    )
    filled = {
        "label": own.take(which),
        "name": names.take(which),
        "score": pa.array(lines.scores, mask=np.isnan(lines.scores)),
        "status": pa.array(["sound", "minimal"]).take(pa.array(lines.minimal)),
        "features": pa.ListArray.from_arrays(
            begins, pa.array(context.space.names, pa.string()).take(pa.array(features))
        ),
        "conditions": pa.ListArray.from_arrays(begins, _conditions(found, each, features, columns)),
        "constraints": pa.array([()] * n if used is None else used, columns.field("constraints").type),
        "seconds": pa.array(lines.seconds[:, 0]),
    }
    table = pa.Table.from_arrays(
        [filled[field.name] if field.name in filled else pa.nulls(n, field.type) for field in columns], schema=columns
    )
    if not found.errors:
        return table
    errors = pa.Table.from_pylist([_record(error, None, whole=True) for error in found.errors.values()], schema=columns)
    order = np.argsort([*found.places.tolist(), *found.errors], kind="stable")
    return pa.concat_tables([table, errors]).take(pa.array(order))


def _begins(flags: Any) -> Any:
    """Return where the list of each line's flags begins, if they are listed line by line, and where the last ends."""
    return pyarrow().array(np.concatenate([[0], np.cumsum(flags.sum(axis=1, dtype=np.int64))]).astype(np.int32))


def _conditions(found: Found, each: Any, features: Any, columns: Any) -> Any:
    """Return the conditions of features, each of one of the lines, as an array of structs."""
    pa = pyarrow()
    assert found.why is not None
    space = found.why.context.space
    struct = columns.field("conditions").type.value_type
    known = _cells_of.setdefault(space, _CellConditions())
    filled, words = known.at(space, features, found.points[each, features], struct)
    column = np.array([feature.columns[0] for feature in space.features])[features]
    names = np.array([equals(feature.name, "") for feature in space.features], dtype=object)[features]
    numbers = found.rows[each, column]
    texts = [
        word or name + text
        for word, name, text in zip(words, names.tolist(), space.forest.floats.texts(numbers), strict=True)
    ]
    odd = np.isnan(numbers) | np.array([feature.kind == "date" for feature in space.features])[features]
    for i in np.flatnonzero(odd).tolist():
        feature = space.features[features[i]]
        if isinstance(feature, NumericFeature):
            texts[i] = equals(feature.name, feature.text(float(numbers[i])))
    filled["text"] = pa.array(texts, pa.string())
    return pa.StructArray.from_arrays([filled[field.name] for field in struct], fields=list(struct))


class _CellConditions:
    """The conditions that features are in single cells, as columns of Arrow: those that rows had so far, many do."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # workers may be threads
        self._forget()

    def _forget(self) -> None:
        self._place: dict[int, int] = {}
        self._parts: dict[str, Any] = {}
        self._words: list[str | None] = []

    def at(self, space: Space, features: Any, cells: Any, struct: Any) -> tuple[dict[str, Any], list[str | None]]:
        """Return the parts of the conditions that features are in cells, and their text if it has only named values."""
        pa = pyarrow()
        codes, where = np.unique(features * np.int64(2**32) + cells, return_inverse=True)
        with self._lock:
            if len(self._place) > _MOST_CELLS:
                self._forget()
            new = [code for code in codes.tolist() if code not in self._place]
            if new or not self._parts:
                conditions = [
                    space.features[code >> 32].condition(range(c := code & (2**32 - 1), c + 1)) for code in new
                ]
                self._place |= zip(new, itertools.count(len(self._place)), strict=False)
                self._words = [*self._words, *(None if c.values is None else str(c) for c in conditions)]
                for name, part in _PARTS.items():
                    kind = struct.field(name).type
                    more = pa.array([part(condition) for condition in conditions], kind)
                    self._parts[name] = pa.concat_arrays([self._parts.get(name, more[:0]), more])
            places = np.array([self._place[code] for code in codes.tolist()], dtype=np.intp)[where]
            parts, words = dict(self._parts), self._words
        at = pa.array(places)
        return {name: part.take(at) for name, part in parts.items()}, [words[place] for place in places.tolist()]


_MOST_CELLS = 2**16  # that are kept: some megabytes
_cells_of: WeakKeyDictionary[Space, _CellConditions] = WeakKeyDictionary()


def _radius(result: Abductive) -> float:
    """Return a radius, itself included, for which all is proved; the exact one may be no float, or excluded.

    That is so of the float's own value and of the decimal that it is written as, which is a little more or less.
    """
    within = result.within
    assert within is not None
    radius = rounded_down(within)
    while (written := max(Fraction(radius), exact_number(radius))) > within or (result.open and written == within):
        radius = math.nextafter(radius, -math.inf)
    return max(0.0, radius)  # the row itself has its label


def _condition(condition: Condition, text: str) -> Record:
    return {**{name: part(condition) for name, part in _PARTS.items()}, "text": text}


def _values(condition: Condition) -> list[str | None] | None:
    values = condition.values
    return None if values is None else [None if value is None else str(value) for value in values]


_PARTS: dict[str, Callable[[Condition], Any]] = {
    "feature": lambda condition: condition.name,
    "low": lambda condition: condition.low,
    "high": lambda condition: condition.high,
    "ranges": lambda condition: [{"low": low, "high": high} for low, high in condition.ranges] or None,
    "values": _values,
    "missing": lambda condition: condition.missing,
}
