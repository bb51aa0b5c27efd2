"""The space of inputs as people see it: features, their domains, and the cells into which the forest cuts them.

A cell is a set of values that no split of the forest tells apart; the paper calls it an interval. The space turns a row
into cells, cells back into a concrete row, and a forest into a `CellForest`.
"""

from __future__ import annotations

import datetime
import itertools
import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from treeproof.cells import CellForest, Clause, integer_scores
from treeproof.conditions import Condition
from treeproof.constraints import Constraint, intervals, parse_constraint
from treeproof.errors import InputError, did_you_mean
from treeproof.features import Feature, NumericFeature, NumericKind, ValueFeature
from treeproof.floats import Floats
from treeproof.forest import LEAF, FloatArray, Forest, Rows
from treeproof.query import Cells, Domain
from treeproof.rows import FIRST_DAY, LAST_DAY, day_number


@dataclass(frozen=True, eq=False)
class Space:
    """The features of a forest and the cells into which the forest cuts them.

    Built by `Space.of`. Without declarations a numeric column is ``real`` (any finite number of those that the model
    reads) and a categorical column of the forest is ``categorical``.

    Examples
    --------
    >>> from treeproof.examples import heart_disease
    >>> forest, patient = heart_disease()
    >>> space = Space.of(forest)
    >>> [(f.name, f.n_cells) for f in space.features]
    [('blocked-arteries', 2), ('good-blood-circulation', 2), ('chest-pain', 2), ('weight', 2)]
    """

    forest: Forest
    features: tuple[Feature, ...]
    constraints: tuple[Constraint, ...] = ()

    @classmethod
    def of(
        cls,
        forest: Forest,
        *,
        kinds: Mapping[str | int, NumericKind] | None = None,
        one_hot: Mapping[str, Sequence[str | int]] | None = None,
        bounds: Mapping[str | int, Sequence[Any]] | None = None,
        constraints: Sequence[str] = (),
        missing: Iterable[str | int] | Literal["all"] | None = None,
    ) -> Space:
        """Build the space of a forest.

        Parameters
        ----------
        forest
            The forest.
        kinds
            Column (name or index) to ``"binary"`` (0 or 1), ``"ordinal"`` (whole numbers), ``"date"`` (whole numbers
            that count days, as ``datetime.date.toordinal`` does) or ``"real"``, the default.
        one_hot
            Feature name to the columns of which exactly one is 1 and the others are 0; they become one feature.
        bounds
            Feature to ``(low, high)``, between which its values lie (None for an open end), or, for a feature of
            named values, to the values that occur.
        constraints
            Rules between features, such as ``"if A = 1 then B <= 3"``; see `treeproof.constraints`.
        missing
            Numeric columns that may be missing, or ``"all"``. By default those of models made for missing values.
        """
        declared: dict[int, NumericKind] = {}
        for given, kind in (kinds or {}).items():
            column = _column(forest, given)
            if kind not in get_args(NumericKind):
                raise InputError(f"A kind must be one of {get_args(NumericKind)}. Got {kind!r}.")
            if forest.columns[column].categories is not None:
                raise InputError(f"Column {forest.columns[column].name!r} is categorical in the model already.")
            if column in declared:
                raise InputError(f"Column {forest.columns[column].name!r} must have one kind. Got two.")
            declared[column] = kind
        groups = _groups(forest, one_hot or {}, declared)
        parts = _parts(forest, groups)
        names = [name for name, _ in parts]
        if isinstance(constraints, str):
            raise InputError(f"Constraints must be a list of rules. Got the string {constraints!r}.")
        rules = tuple(parse_constraint(text, names) for text in constraints)
        allowed = {_named(given, names): limits for given, limits in (bounds or {}).items()}
        may_be_missing = _missing(forest, missing, groups)
        thresholds = _thresholds(forest)
        features: list[Feature] = []
        for f, (name, columns) in enumerate(parts):
            j = columns[0]
            categories = forest.columns[j].categories
            if j not in groups and categories is None:
                kind = declared.get(j, "date" if forest.columns[j].date else "real")
                cuts = np.concatenate([thresholds[j], _cuts(rules, f, forest.floats)])
                limits = _limits(name, allowed.get(f, (None, None)), forest.floats)
                numeric = _numeric(name, kind, j, cuts, limits, forest.floats)
                where = _missing_cell(forest, j) if j in may_be_missing else None
                features.append(replace(numeric, missing=where))
                continue
            if j in groups:
                values = ValueFeature(
                    name, columns, tuple(forest.columns[c].name for c in columns), np.eye(len(columns))
                )
            else:
                assert categories is not None
                values = ValueFeature(name, columns, categories, np.arange(len(categories), dtype=np.float64)[:, None])
            features.append(_chosen(values, allowed.get(f, values.labels)))
        return cls(forest, tuple(features), rules)

    @staticmethod
    def dated(forest: Forest, kinds: Mapping[str | int, NumericKind] | None) -> Forest:
        """Return the forest whose columns of kind ``"date"`` take dates in rows."""
        days = {_column(forest, given) for given, kind in (kinds or {}).items() if kind == "date"}
        if not days:
            return forest
        columns = tuple(replace(column, date=True) if j in days else column for j, column in enumerate(forest.columns))
        return replace(forest, columns=columns)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.features)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(feature.name for feature in self.features)

    @cached_property
    def importances(self) -> FloatArray:
        """Importance of each feature, the sum over its columns."""
        return np.array([self.forest.importances[list(feature.columns)].sum() for feature in self.features])

    def condition_at(self, f: int, cell: int) -> Condition:
        """Return the condition that a feature's value is in one cell."""
        known = self._conditions.get((f, cell))
        if known is None:
            known = self._conditions[f, cell] = self.features[f].condition(range(cell, cell + 1))
        return known

    @cached_property
    def _conditions(self) -> dict[tuple[int, int], Condition]:
        return {}

    def index(self, feature: Any) -> int:
        """Return the index of a feature given by name or index."""
        return _named(feature, self.names)

    def cells(self, row: Rows) -> Cells:
        """Return the cell of each feature that a row lies in."""
        values = np.asarray(row).tolist()  # Python's own floats: indexing an array costs more than the search
        if self._whole is not None and not math.isnan(sum(values)):
            return tuple(map(bisect_left, self._whole, values))
        return tuple(feature.cell(values) for feature in self.features)

    @cached_property
    def _whole(self) -> list[list[float]] | None:
        """The upper ends of all cells, if every feature is one column and takes every finite number."""
        ends = []
        for j, feature in enumerate(self.features):
            if not isinstance(feature, NumericFeature) or feature.column != j or feature.kind != "real":
                return None
            limit = feature.floats.largest
            if feature.lows[0] != -limit or feature.highs[-1] != limit or feature.missing == "first":
                return None
            ends.append(feature.highs.tolist())
        return ends if len(ends) == self.forest.n_columns else None

    def __repr__(self) -> str:
        return f"<Space: {self.n_features} features of {self.forest!r}>"

    def row(self, cells: Cells, near: Rows) -> Rows:
        """Return a row in the given cells; where a cell is that of `near`, the row keeps its value."""
        start: list[float] = np.asarray(near).tolist()  # Python's own floats, as in `cells`
        row = list(start)
        for feature, cell in zip(self.features, cells, strict=True):
            for column, value in zip(feature.columns, feature.values(cell, start), strict=True):
                row[column] = value
        return np.array(row, dtype=self.forest.floats.dtype)

    def observed(self, rows: Rows) -> dict[str | int, Sequence[Any]]:
        """Return bounds, as `Space.of` takes them, that just hold the rows."""
        if len(rows) == 0:
            raise InputError("The observed rows must be at least one. Got none.")
        bounds: dict[str | int, Sequence[Any]] = {}
        for feature in self.features:
            values = rows[:, list(feature.columns)]
            if isinstance(feature, ValueFeature):
                cells = {feature.cell(row.tolist()) for row in np.unique(rows, axis=0)}
                bounds[feature.name] = [feature.labels[cell] for cell in sorted(cells)]
            elif not np.isnan(values).all():
                bounds[feature.name] = (float(np.nanmin(values)), float(np.nanmax(values)))
        return bounds

    def discretise(self) -> CellForest:
        """Return the forest over the cells of this space; ``discretise().label(cells(x)) == predict_index([x])``."""
        forest = self.forest
        of_column = {column: f for f, feature in enumerate(self.features) for column in feature.columns}
        feature = np.full(forest.n_nodes, LEAF, dtype=np.int32)
        cut = np.full(forest.n_nodes, LEAF, dtype=np.int32)
        left_sets: dict[frozenset[int], int] = {}
        for column, f in of_column.items():
            nodes = np.flatnonzero(forest.feature == column)
            feature[nodes] = f
            seen = self.features[f]
            if isinstance(seen, NumericFeature):
                # The last cell that goes left: cells are intervals that no threshold cuts.
                last = np.searchsorted(seen.highs, forest.threshold[nodes], side="right") - 1 + seen.first
                if seen.ordered:
                    cut[nodes] = last
                    continue
                for node, numbers, missing in zip(
                    nodes.tolist(), last.tolist(), forest.missing_left[nodes].tolist(), strict=True
                ):
                    cells_left = frozenset(range(numbers + 1)) | ({len(seen.lows)} if missing else frozenset())
                    cut[node] = left_sets.setdefault(cells_left, len(left_sets))
                continue
            assert isinstance(seen, ValueFeature)
            place = seen.columns.index(column)
            for node in nodes.tolist():
                goes_left = frozenset(
                    cell for cell in range(seen.n_cells) if _goes_left(forest, node, float(seen.points[cell, place]))
                )
                cut[node] = left_sets.setdefault(goes_left, len(left_sets))
        integers = integer_scores(forest)
        cells = CellForest(
            source=forest,
            n_cells=tuple(f.n_cells for f in self.features),
            ordered=tuple(f.ordered for f in self.features),
            feature=feature,
            cut=cut,
            left_sets=tuple(left_sets),
            scores=integers.scores,
            theta=integers.theta,
            band=integers.band,
            exponent=integers.exponent,
        )
        return replace(cells, clauses=tuple(clause for _, clause in self.clauses)) if self.constraints else cells

    @cached_property
    def clauses(self) -> tuple[tuple[int, Clause], ...]:
        """The constraints as clauses over cells, each with the index of its constraint."""
        return tuple((i, clause) for i, rule in enumerate(self.constraints) for clause in self._clauses_of(rule))

    def _clauses_of(self, rule: Constraint) -> Iterator[Clause]:
        """Yield clauses that together say that at least one condition is true or one of `unless` false."""
        true_in: dict[int, frozenset[int]] = {}
        for condition, negated in [(c, True) for c in rule.unless] + [(c, False) for c in rule.conditions]:
            feature = self.features[condition.feature]
            cells = feature.satisfying(condition)
            if negated:
                cells = frozenset(range(feature.n_cells)) - cells
            true_in[condition.feature] = true_in.get(condition.feature, frozenset()) | cells
        if any(len(cells) == self.features[f].n_cells for f, cells in true_in.items()):
            return  # nothing breaks it
        # An ordered feature must avoid each gap between its cells: one clause for each choice of gaps.
        choices = [[(f, literals) for literals in self._literals(f, cells)] for f, cells in sorted(true_in.items())]
        for chosen in itertools.product(*choices):
            clause = tuple((f, domain) for f, literals in chosen for domain in literals)
            if not clause:
                raise InputError(f"A constraint must be kept by some input. Got {rule.text!r}, which none can keep.")
            yield clause

    def _literals(self, f: int, cells: frozenset[int]) -> list[list[Domain]]:
        """Return lists of domains: the cell is among `cells` iff each list has a domain that it lies in."""
        n = self.features[f].n_cells
        if not self.features[f].ordered:
            return [[cells] if cells else []]
        others = set(range(n)) - cells
        starts = sorted(cell for cell in others if cell - 1 not in others)
        ends = sorted(cell for cell in others if cell + 1 not in others)
        return [
            [domain for domain in (range(start), range(end + 1, n)) if len(domain) > 0]
            for start, end in zip(starts, ends, strict=True)
        ]


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
            f"The bounds of {name!r} must leave some {kind} value. Got {floats.shortest(low)} to "
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
    if given == "all":
        return frozenset(j for j in numeric if forest.columns[j].missing != "never")
    if isinstance(given, str):
        raise InputError(f"The 'missing' parameter must be a list of columns, or 'all'. Got {given!r}.")
    chosen = [_column(forest, column) for column in given]
    for j in chosen:
        if j not in numeric:
            raise InputError(f"Only a numeric column can be declared missing. Got {forest.columns[j].name!r}.")
        if forest.columns[j].missing == "never":
            raise InputError(f"The model takes no missing values. Got {forest.columns[j].name!r} as one that has some.")
    return frozenset(chosen)


def _missing_cell(forest: Forest, column: int) -> Literal["first", "last", "apart"]:
    goes_left = forest.missing_left[forest.feature == column]
    return "last" if not goes_left.any() else "first" if goes_left.all() else "apart"


def _cuts(rules: Sequence[Constraint], feature: int, floats: Floats) -> list[float]:
    """Return values of an ordered feature behind which a condition of some rule becomes true or false."""
    ends = [
        end
        for rule in rules
        for condition in (*rule.unless, *rule.conditions)
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
    """Return a feature of named values with these values only."""
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


def _named(feature: Any, names: Sequence[str]) -> int:
    """Return the index of a feature given by name or index."""
    if isinstance(feature, str):
        if feature in names:
            return names.index(feature)
        raise InputError(f"A feature must be one of {list(names)}. Got {feature!r}.{did_you_mean(feature, names)}")
    if isinstance(feature, int | np.integer) and not isinstance(feature, bool):
        if 0 <= feature < len(names):
            return int(feature)
        raise InputError(f"A feature index must be between 0 and {len(names) - 1}. Got {feature}.")
    raise InputError(f"A feature must be given by name or index. Got {feature!r}.")


def _thresholds(forest: Forest) -> list[FloatArray]:
    """Return the different thresholds of each column."""
    numeric = (forest.feature != LEAF) & (forest.subset < 0)
    return [np.unique(forest.threshold[numeric & (forest.feature == j)]) for j in range(forest.n_columns)]


def _goes_left(forest: Forest, node: int, value: float) -> bool:
    if forest.subset[node] >= 0:
        return int(value) in forest.subsets[forest.subset[node]]
    return bool(value <= forest.threshold[node])


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
        if isinstance(members, str):
            raise InputError(f"The columns of group {name!r} must be a list. Got the string {members!r}.")
        columns = tuple(sorted(_column(forest, member) for member in members))
        if not columns:
            raise InputError(f"The one-hot group {name!r} must have at least one column.")
        for column in columns:
            if column in groups or columns.count(column) > 1:
                raise InputError(f"Column {forest.columns[column].name!r} is in two one-hot groups.")
            if column in declared:
                raise InputError(f"Column {forest.columns[column].name!r} is in a one-hot group and has a kind too.")
            if forest.columns[column].categories is not None:
                raise InputError(f"Column {forest.columns[column].name!r} is categorical in the model already.")
        groups.update(dict.fromkeys(columns, (name, columns)))
    return groups
