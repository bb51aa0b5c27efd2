"""Explanations of many rows as a table of Arrow, whose columns do not depend on the rows: see ``docs/scale.md``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

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
    context = found.why.context
    space, cells = context.space, found.points[each, features]
    # Many rows have the same conditions; only the texts have the rows' own values.
    codes, at = np.unique(features * np.int64(2**32) + cells, return_inverse=True)
    known = [space.condition_at(code >> 32, code & (2**32 - 1)) for code in codes.tolist()]
    texts = np.array([str(condition) if condition.values is not None else None for condition in known], dtype=object)[
        at
    ]
    for f in np.unique(features).tolist():
        feature = space.features[f]
        if isinstance(feature, NumericFeature):
            mine = np.flatnonzero((features == f) & (texts == None))  # noqa: E711
            values, where = np.unique(found.rows[each[mine], feature.column], return_inverse=True)
            shown = [equals(feature.name, feature.text(value)) for value in values.tolist()]
            texts[mine] = np.array(shown, dtype=object)[where]
    struct = columns.field("conditions").type.value_type
    records = [_condition(condition, "") for condition in known]
    filled = {
        field.name: pa.array([record[field.name] for record in records], field.type).take(pa.array(at))
        for field in struct
        if field.name != "text"
    }
    return pa.StructArray.from_arrays(
        [filled[field.name] if field.name != "text" else pa.array(texts, pa.string()) for field in struct],
        fields=list(struct),
    )


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
    several = [{"low": low, "high": high} for low, high in condition.ranges]
    values = condition.values
    return {
        "feature": condition.name,
        "low": condition.low,
        "high": condition.high,
        "ranges": several or None,
        "values": None if values is None else [None if value is None else str(value) for value in values],
        "missing": condition.missing,
        "text": text,
    }
