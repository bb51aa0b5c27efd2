"""The space of a forest, as users declare it: kinds, groups, bounds, constraints, missing values."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from treeproof.errors import InputError, did_you_mean, is_list, require_list, require_mapping
from treeproof.model.columns import FloatArray
from treeproof.model.floats import Floats
from treeproof.model.forest import Forest
from treeproof.model.rows import FIRST_DAY, LAST_DAY, day_number
from treeproof.space.constraints import Constraint, intervals, parse_constraint
from treeproof.space.features import Feature, NumericFeature, NumericKind, ValueFeature
from treeproof.space.space import Space, feature_index


def declare(
    forest: Forest,
    *,
    kinds: Mapping[str | int, NumericKind | Literal["ordinal"]] | None = None,
    usual: Mapping[int, NumericKind] | None = None,
    one_hot: Mapping[str, Sequence[str | int]] | None = None,
    bounds: Mapping[str | int, Sequence[Any]] | None = None,
    constraints: Sequence[str] = (),
    missing: Iterable[str | int] | Literal["all"] | None = None,
    other: Iterable[str | int] | Literal["all"] = (),
) -> Space:
    """Build the space of a forest.

    Parameters
    ----------
    forest
        The forest.
    kinds
        Column (name or index) to ``"binary"`` (0 or 1), ``"integer"`` (whole numbers; also ``"ordinal"``), ``"date"``
        (whole numbers that count days, as ``datetime.date.toordinal`` does) or ``"real"``, the default.
    usual
        Column to its kind where none is declared, as its data type says; by default as the forest's columns say.
    one_hot
        Feature name to its columns, of which exactly one is 1 and the others are 0; they become one feature.
    bounds
        Feature to ``(low, high)``, between which its values lie (None for an open end), or, for a feature with
        named values, to the values that occur.
    constraints
        Constraints between features, such as ``"if A = 1 then B <= 3"``; see `treeproof.space.constraints`.
    missing
        Numeric columns that may be missing, or ``"all"``. By default those of models made for missing values.
    other
        Columns of categories whose values may be without a category of their own, or ``"all"`` where the model has a
        place for such; those of models made for them may in any case.
    """
    require_mapping("kinds", kinds, "columns to kinds, as in {'age': 'integer'}")
    require_mapping("one_hot", one_hot, "names to columns, as in {'colour': ['red', 'green']}")
    require_mapping("bounds", bounds, "features to limits, as in {'age': (18, 99)}")
    declared: dict[int, NumericKind] = {}
    for given, kind in (kinds or {}).items():
        column = _column(forest, given)
        if kind not in (*get_args(NumericKind), "ordinal"):
            raise InputError(f"A kind must be one of {get_args(NumericKind)}. Got {kind!r}.")
        if forest.columns[column].categories is not None:
            raise InputError(f"Column {forest.columns[column].name!r} is already categorical in the model.")
        if column in declared:
            raise InputError(f"Column {forest.columns[column].name!r} must have one kind. Got two.")
        declared[column] = "integer" if kind == "ordinal" else kind
    usual = recorded(forest) if usual is None else usual
    groups = _groups(forest, one_hot or {}, declared)
    parts = _parts(forest, groups)
    names = [name for name, _ in parts]
    require_list("constraints", constraints, "strings, one for each constraint")
    parsed = tuple(parse_constraint(text, names) for text in constraints)
    allowed = {feature_index(given, names): limits for given, limits in (bounds or {}).items()}
    may_be_missing = _missing(forest, missing, groups)
    may_be_other = _other(forest, other)
    features: list[Feature] = []
    for f, (name, columns) in enumerate(parts):
        j = columns[0]
        categories = forest.columns[j].categories
        if j not in groups and categories is None:
            kind = declared.get(j, "date" if forest.columns[j].date else usual.get(j, "real"))
            cuts = np.concatenate([forest.thresholds_of(j), _cuts(parsed, f, forest.floats)])
            limits = _limits(name, allowed.get(f, (None, None)), forest.floats)
            limits = max(limits[0], forest.columns[j].low), min(limits[1], forest.columns[j].high)
            numeric = _numeric(name, kind, j, cuts, limits, forest.floats)
            features.append(_with_missing(forest, numeric) if j in may_be_missing else numeric)
            continue
        if j in groups:
            values = ValueFeature(name, columns, tuple(forest.columns[c].name for c in columns), np.eye(len(columns)))
        else:
            assert categories is not None
            codes = np.arange(len(categories), dtype=np.float64)[:, None]
            values = ValueFeature(name, columns, categories, codes)
            other_code = forest.columns[j].other_code
            if other_code is not None and j not in may_be_other:
                known = [label for code, label in enumerate(categories) if code != other_code]
                values = replace(_chosen(values, known), undeclared=other_code)
        features.append(_chosen(values, allowed.get(f, values.labels)))
    return Space(forest, tuple(features), parsed)


def recut(feature: Feature, forest: Forest, cuts: FloatArray | None = None) -> Feature:
    """Return the same feature cut at the thresholds of another forest, and at `cuts`."""
    if not isinstance(feature, NumericFeature):
        return feature
    own = forest.thresholds_of(feature.column)
    limits = float(feature.lows[0]), float(feature.highs[-1])
    places = own if cuts is None else np.concatenate([own, cuts])
    found = _numeric(feature.name, feature.kind, feature.column, places, limits, forest.floats)
    return found if feature.missing_cell is None else _with_missing(forest, found)


def refined(space: Space, forest: Forest) -> Space:
    """Return the same inputs for another forest over the same columns, cut at its thresholds as well."""
    finer = (
        recut(feature, forest, feature.highs[:-1] if isinstance(feature, NumericFeature) else None)
        for feature in space.features
    )
    return Space(forest, tuple(finer), space.constraints)


def recorded(forest: Forest) -> dict[int, NumericKind]:
    """Return the kinds of the columns that the forest itself knows to hold whole numbers."""
    return {j: "integer" for j, column in enumerate(forest.columns) if column.integer}


def dated(forest: Forest, kinds: Mapping[str | int, Any] | None) -> Forest:
    """Return the forest whose columns of kind ``"date"`` take dates in rows."""
    if not isinstance(kinds, Mapping):  # `declare` says so
        return forest
    days = {_column(forest, given) for given, kind in kinds.items() if kind == "date"}
    if not days:
        return forest
    columns = tuple(replace(column, date=True) if j in days else column for j, column in enumerate(forest.columns))
    return replace(forest, columns=columns)


def _numeric(
    name: str, kind: NumericKind, column: int, thresholds: FloatArray, limits: tuple[float, float], floats: Floats
) -> NumericFeature:
    """Cut the domain of a numeric column at the thresholds that have values on both sides."""
    ends = {"binary": (0.0, 1.0), "date": (float(FIRST_DAY), float(LAST_DAY))}
    low, high = ends.get(kind, (-floats.largest, floats.largest))
    whole = kind != "real"
    low = max(low, math.ceil(limits[0]) if whole and math.isfinite(limits[0]) else limits[0])
    high = min(high, math.floor(limits[1]) if whole and math.isfinite(limits[1]) else limits[1])
    if low > high:
        raise InputError(
            f"The bounds of {name!r} must contain some {kind} value. Got {floats.shortest(low)} to "
            f"{floats.shortest(high)}."
        )
    cuts = np.unique(np.floor(thresholds) if whole else thresholds)
    cuts = cuts[(cuts >= low) & (cuts < high)]
    after = floats.after(cuts)
    return NumericFeature(
        name,
        kind,
        column,
        lows=np.append(low, np.ceil(after) if whole else after),
        highs=np.append(cuts, high),
        floats=floats,
    )


def _missing(
    forest: Forest, given: Iterable[str | int] | Literal["all"] | None, groups: Mapping[int, Any]
) -> frozenset[int]:
    """Return the numeric columns that may be missing in this space."""
    numeric = [j for j, column in enumerate(forest.columns) if column.categories is None and j not in groups]
    if given is None:
        return frozenset(j for j in numeric if forest.columns[j].missing == "expected")
    if isinstance(given, str) and given == "all":
        return frozenset(j for j in numeric if forest.columns[j].missing != "never")
    require_list("missing", given, "columns, or 'all'")
    chosen = [_column(forest, column) for column in given]
    for j in chosen:
        if j not in numeric:
            raise InputError(
                f"Only a numeric column can be declared as possibly missing. Got {forest.columns[j].name!r}."
            )
        if forest.columns[j].missing == "never":
            raise InputError(
                f"The model does not accept missing values, so {forest.columns[j].name!r} cannot be declared missing."
            )
    return frozenset(chosen)


def _other(forest: Forest, given: Iterable[str | int] | Literal["all"]) -> frozenset[int]:
    """Return the columns of categories that may hold other values in this space."""
    having = [j for j, column in enumerate(forest.columns) if column.other is not None]
    if isinstance(given, str) and given == "all":
        return frozenset(having)
    require_list("other", given, "columns, or 'all'")
    chosen = {_column(forest, column) for column in given}
    for j in sorted(chosen.difference(having)):
        places = [forest.columns[i].name for i in having]
        raise InputError(
            f"Only a column of categories in which the model takes values that it does not know can be declared to "
            f"hold other values: {f'one of {places}' if places else 'this model has none'}. "
            f"Got {forest.columns[j].name!r}."
        )
    return frozenset(chosen.union(j for j in having if forest.columns[j].other_expected))


def _with_missing(forest: Forest, feature: NumericFeature) -> NumericFeature:
    """Return a feature that may be missing, with the cell of missing values in its place.

    They go right where t <= r and left where t >= l, for some thresholds r < l, iff they go as a number between r and l
    does. Then the cell's place is behind all numbers up to r, and no split parts it from the numbers before l.
    """
    nodes = forest.splits_of(feature.column)
    left, threshold = forest.missing_left[nodes], forest.threshold[nodes]
    if not left.any():
        return replace(feature, missing_cell=len(feature.lows))
    right_up_to = np.max(threshold[~left], initial=-math.inf)
    if right_up_to < np.min(threshold[left]) or left.all():
        return replace(feature, missing_cell=int(np.searchsorted(feature.highs, right_up_to, side="right")))
    return replace(feature, missing_cell=len(feature.lows), apart=True)


def _cuts(constraints: Sequence[Constraint], feature: int, floats: Floats) -> list[float]:
    """Return the values of an ordered feature after which a condition of some constraint becomes true or false."""
    ends = [
        end
        for constraint in constraints
        for condition in (*constraint.unless, *constraint.conditions)
        if condition.feature == feature
        for low, high in intervals(condition, floats)
        for end in (floats.next(low, -math.inf), high)
    ]
    return [end for end in ends if math.isfinite(end)]


def _limits(name: str, given: Sequence[Any], floats: Floats) -> tuple[float, float]:
    """Return bounds as the model reads them; None is an open end."""
    try:
        low, high = given
        ends = (
            -math.inf if low is None else floats.round(_end(low)),
            math.inf if high is None else floats.round(_end(high)),
        )
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"The bounds of {name!r} must be two numbers (low, high), or None for an open end. Got {given!r}."
        ) from None
    if not ends[0] <= ends[1]:
        raise InputError(f"The bounds of {name!r} must be in order. Got {given!r}.")
    return ends


def _end(given: Any) -> Any:
    return day_number(given) if isinstance(given, datetime.date | np.datetime64) else given


def _chosen(feature: ValueFeature, given: Sequence[Any]) -> ValueFeature:
    """Return the feature restricted to these named values."""
    if given is feature.labels:
        return feature
    unknown = [value for value in given if value not in feature.labels]
    if isinstance(given, str) or unknown or not len(given):
        raise InputError(
            f"The bounds of {feature.name!r} must be a list of some of {list(feature.labels)}. Got {given!r}."
        )
    places = [i for i, label in enumerate(feature.labels) if label in given]
    return replace(feature, labels=tuple(feature.labels[i] for i in places), points=feature.points[places])


def _parts(forest: Forest, groups: Mapping[int, tuple[str, tuple[int, ...]]]) -> list[tuple[str, tuple[int, ...]]]:
    """Return name and columns of each feature, in the order of their first columns."""
    parts: list[tuple[str, tuple[int, ...]]] = []
    for j, column in enumerate(forest.columns):
        if j not in groups:
            parts.append((column.name, (j,)))
        elif j == groups[j][1][0]:
            parts.append(groups[j])
    names = [name for name, _ in parts]
    if len(set(names)) < len(names):
        raise InputError(f"Feature names must differ. Got {names}.")
    return parts


def _column(forest: Forest, column: Any) -> int:
    if isinstance(column, str):
        if column in forest.column_names:
            return forest.column_names.index(column)
        near = did_you_mean(column, forest.column_names)
        raise InputError(f"A column must be one of {list(forest.column_names)}. Got {column!r}.{near}")
    if isinstance(column, int | np.integer) and 0 <= column < forest.n_columns:
        return int(column)
    raise InputError(f"A column must be a name or an index below {forest.n_columns}. Got {column!r}.")


def _groups(
    forest: Forest, one_hot: Mapping[str, Sequence[str | int]], declared: Mapping[int, str]
) -> dict[int, tuple[str, tuple[int, ...]]]:
    """Return, for each column of a one-hot group, the group's name and columns."""
    groups: dict[int, tuple[str, tuple[int, ...]]] = {}
    for name, members in one_hot.items():
        if not is_list(members):
            kind = "the string " if isinstance(members, str) else ""
            raise InputError(f"The columns of group {name!r} must be a list. Got {kind}{members!r}.")
        columns = tuple(sorted(_column(forest, member) for member in members))
        if not columns:
            raise InputError(f"The one-hot group {name!r} must have at least one column.")
        for column in columns:
            if column in groups or columns.count(column) > 1:
                raise InputError(f"Column {forest.columns[column].name!r} is in two one-hot groups.")
            if column in declared:
                raise InputError(
                    f"Column {forest.columns[column].name!r} is in a one-hot group, so it must not have a kind."
                )
            if forest.columns[column].categories is not None:
                raise InputError(f"Column {forest.columns[column].name!r} is already categorical in the model.")
        groups.update(dict.fromkeys(columns, (name, columns)))
    return groups
