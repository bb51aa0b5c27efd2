"""Trees carried back through the steps of a pipeline: each split becomes one of a column of the input."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import config_context
from sklearn.pipeline import Pipeline

from treeproof.errors import UnsupportedModelError
from treeproof.model.columns import LEAF, Column, Missing
from treeproof.model.floats import FINITE_AS_FLOAT32, FLOAT32, FLOAT64, rounded_up_to
from treeproof.model.forest import Forest
from treeproof.model.importers.invert import invert, numbers_at, places_of
from treeproof.model.importers.pieces import Pieces, unfold
from treeproof.model.importers.rough import only_for, shifted, tried, twin
from treeproof.model.importers.route import Route, frame
from treeproof.model.importers.steps import Stage

# Numbers that are tried, of steps that rise but for rounding errors: at once, around one split, and in all of a column.
_MOST_AT_ONCE, _MOST_BETWEEN, _MOST_TRIED = 200_000, 1_000_000, 100_000_000


def carry_back(route: Route) -> Forest:
    """Return the forest over the input's columns that predicts what the inner one does after the transforms."""
    inner = route.inner
    used = [j for j in range(len(route.inputs)) if j in route.used or not route.named]
    place = {j: i for i, j in enumerate(used)}
    cuts = _Cuts(route, [j for j in used if route.inputs[j].labels is None])
    columns = _columns(route, used, cuts.ranges())
    threshold, missing_left = inner.threshold.copy(), inner.missing_left.copy()
    feature, subset = inner.feature.copy(), np.full(inner.n_nodes, LEAF, dtype=np.int32)
    subsets: dict[frozenset[int], int] = {}
    tests: dict[int, Pieces] = {}
    importances = np.zeros(len(used))
    names = {j: columns[j].categories or () for j in used if columns[j].categories is not None}
    numeric = [j for j in used if columns[j].categories is None]
    named = route.seen(names) if names else np.empty((0, inner.n_columns))
    missing = route.seen({j: [math.nan] for j in numeric if columns[j].missing != "never"})
    for o, source in enumerate(route.sources):
        column = columns[source.column]
        importances[place[source.column]] += inner.importances[o]
        nodes = inner.splits_of(o)
        feature[nodes] = place[source.column]
        if len(nodes) == 0:
            continue
        if column.categories is not None:
            sides = route.goes_left(o, nodes, named[: len(column.categories), o])
            chosen, which = np.unique(sides, axis=1, return_inverse=True)
            known = [subsets.setdefault(frozenset(np.flatnonzero(flags).tolist()), len(subsets)) for flags in chosen.T]
            subset[nodes] = np.array(known, dtype=np.int32)[which.ravel()]
            threshold[nodes], missing_left[nodes] = np.nan, False
            continue
        missing_left[nodes] = column.missing != "never" and route.goes_left(o, nodes, missing[:1, o])[0]
        threshold[nodes], in_pieces = cuts.tests(o)
        tests.update(in_pieces)
    forest = dataclasses.replace(
        inner,
        feature=feature,
        threshold=threshold,
        subset=subset,
        subsets=tuple(subsets),
        columns=tuple(columns[j] for j in used),
        importances=importances,
        missing_left=missing_left,
        dtype="float64",
    )
    too_large = (
        "The columns of KBinsDiscretizer, one for each bin, make trees too large here. "
        "Use encode='ordinal', which gives the trees the same choices."
    )
    return unfold(forest, tests, too_large) if tests else forest


def _columns(route: Route, used: list[int], ranges: Mapping[int, tuple[float, float]]) -> dict[int, Column]:
    taken = _missing_taken(route)
    columns = {}
    for j in used:
        seen, outputs = route.inputs[j], route.outputs(j)
        made_for = any(route.sources[o].imputed or route.inner.columns[o].missing == "expected" for o in outputs)
        missing: Missing = "never" if j not in taken else "expected" if made_for or not outputs else "possible"
        low, high = ranges.get(j, (-math.inf, math.inf))
        columns[j] = seen.column(missing, low, high)
    return columns


class _Cuts:
    """Where numbers of the input's columns begin to go right, for all splits of the inner forest at once."""

    def __init__(self, route: Route, numeric: list[int]) -> None:
        self.route, self.numeric, inner = route, numeric, route.inner
        columns = [o for j in numeric for o in route.outputs(j) if route.sources[o].bin is None]
        self.ends, self.which = {}, {}  # distinct thresholds, and which one each split of the column has
        for o in columns:
            self.ends[o], self.which[o] = np.unique(inner.threshold[inner.splits_of(o)], return_inverse=True)
        limit = FINITE_AS_FLOAT32 if inner.floats is FLOAT32 else FLOAT64.largest
        with np.errstate(over="ignore"):
            below = [-np.inf, np.nextafter(-limit, -np.inf)]
        # The first two and the last one are for what is not a finite number of the final estimator.
        rounded = rounded_up_to(np.concatenate([np.empty(0), *self.ends.values()]), inner.floats)
        parts = np.split(rounded, np.cumsum([len(values) for values in self.ends.values()])[:-1])
        ends = {o: np.concatenate([below, part, [limit]]) for o, part in zip(self.ends, parts, strict=False)}
        self.cuts = self._cuts(ends)
        self.flips = self._flips({o: values for o, values in ends.items() if route.sources[o].rough})
        # Numbers that are not where they should be in the order: parts of the line above the first end, up to the
        # second, and what the final estimator sees there, NaN if it takes that for missing.
        self.apart: dict[int, list[tuple[float, float, float]]] = {o: [] for o in self.ends}
        zeros = {}
        if route.absent_is_missing and np.isnan(route.made({})).any():
            zeros = self._cuts({o: np.array([-5e-324, 0.0]) for o in self.ends})
        for o, (low, high) in zeros.items():
            if low < high and np.isnan(route.made({route.sources[o].column: [high]})[0, o]):
                self.apart[o].append((float(low), float(high), math.nan))
        for o in self.ends:
            source, lost = route.sources[o], float(self.cuts[o][0])
            if self._taken_for_missing(o, lost):
                self.apart[o].append((-math.inf, lost, math.nan))
            for mark in source.marks:
                seen = float(route.seen({source.column: [mark]})[0, o])
                self.apart[o].append((float(np.nextafter(float(mark), -np.inf)), float(mark), seen))

    def ranges(self) -> dict[int, tuple[float, float]]:
        """Return from where to where the pipeline takes numbers of a column, of those where that is not everywhere.

        Final estimators refuse what is not finite: logarithms of 0, or numbers that overflow on the way.
        """
        ends = (-FLOAT64.largest, FLOAT64.largest)
        losing = any(source.losing for source in self.route.sources)
        if not losing and self.route.predicts(dict.fromkeys(self.numeric, ends)):
            return {}
        found = {}
        for j in self.numeric:
            low, high = ends
            for o in self.route.outputs(j):
                if o in self.cuts:
                    first, last = self.cuts[o][1], self.cuts[o][-1]
                    if not self._taken_for_missing(o, first):
                        low = max(low, float(np.nextafter(first, np.inf)))
                    high = min(high, float(last))
            found[j] = (low, high)
        if not self.route.predicts(found):
            for j, (low, high) in found.items():
                found[j] = (_last_taken(self.route, j, low), _last_taken(self.route, j, high))
        return {j: pair for j, pair in found.items() if pair != ends}

    def _taken_for_missing(self, o: int, number: float) -> bool:
        """Return whether numbers up to this one become missing values that the final estimator takes."""
        source = self.route.sources[o]
        if not source.losing or self.route.inner.columns[o].missing == "never" or number == -math.inf:
            return False
        return bool(np.isnan(self.route.made({source.column: [number]})[0, o]))

    def _flips(self, ends: Mapping[int, npt.NDArray[Any]]) -> dict[int, dict[int, list[float]]]:
        """Return, per column with a rough step and end, the last number of each piece, if there are more than two.

        The first piece is not made larger than the end, the second one is, and so on. Where there are two, `cuts` says
        where the first one ends, exactly from now on.
        """
        if not ends:
            return {}
        up, down = (self._cuts(ends, twin(self.route.steps, partial(shifted, way=way))) for way in (1, -1))
        careful: Pipeline = twin(self.route.steps, tried)
        found: dict[int, dict[int, list[float]]] = {}
        for o, values in ends.items():
            source, found[o] = self.route.sources[o], {}
            steps = only_for(careful, [source.column])
            first, last = places_of(up[o]), places_of(down[o])
            widths = last - first
            widths[[0, 1, -1]] = 0
            if (widths < 0).any():  # some number is below an end and above it: the error is larger than it can be
                raise UnsupportedModelError(
                    f"{source.changed_by} must rise, but for a few units in the last place. It does not on this "
                    "machine; leave that step out and train again, which gives the trees the same choices."
                )
            self.cuts[o][[1, -1]] = down[o][1], up[o][-1]  # what may be too large is left out
            name = self.route.inputs[source.column].name
            instead = (
                "Leave that step out and train again, which gives the trees the same choices; or explain the final "
                "estimator, on data as it sees it."
            )
            if widths.max() > _MOST_BETWEEN:
                raise UnsupportedModelError(
                    f"{source.changed_by} must not be almost flat where the model splits column {name!r}, around "
                    f"{numbers_at(first)[np.argmax(widths)]}: too many numbers would have to be tried there. {instead}"
                )
            if widths.sum() > _MOST_TRIED:
                raise UnsupportedModelError(
                    f"The model must not split column {name!r} at so many places, {np.count_nonzero(widths):,}, behind "
                    f"{source.changed_by}: around each, some hundred numbers have to be tried. {instead}"
                )
            at = np.flatnonzero(widths)
            for some in np.split(at, 1 + np.flatnonzero(np.diff(np.cumsum(widths[at]) // _MOST_AT_ONCE))):
                counts = widths[some]
                starts = np.cumsum(counts) - counts
                places = np.repeat(first[some] - starts, counts) + np.arange(counts.sum()) + 1
                made = self.route.made({source.column: numbers_at(places)}, absent=False, steps=steps)[:, o]
                above = made > np.repeat(values[some], counts)
                for i, start, width in zip(some.tolist(), starts.tolist(), counts.tolist(), strict=True):
                    sides = np.concatenate([[False], above[start : start + width], [True]])
                    flips = numbers_at(first[i] + np.flatnonzero(sides[1:] != sides[:-1])).tolist()
                    self.cuts[o][i] = flips[0]
                    if len(flips) > 1:
                        found[o][i] = flips
        return found

    def _cuts(self, ends: Mapping[int, npt.NDArray[Any]], steps: Any = None) -> dict[int, npt.NDArray[np.float64]]:
        """Return, per column of the inner forest and end, the largest number of which nothing above it is made."""
        steps = only_for(steps or self.route.steps, [self.route.sources[o].column for o in ends])

        def made(numbers: Mapping[int, npt.NDArray[Any]]) -> dict[int, npt.NDArray[np.float64]]:
            given: dict[int, list[npt.NDArray[Any]]] = {}
            places = {}
            for o, values in numbers.items():  # what is made of one column of the input is asked in different rows
                source, asked = self.route.sources[o], values
                for mark in source.marks:  # it has no place in the order, so its neighbour answers for it
                    asked = np.where(asked == mark, np.nextafter(float(mark), -np.inf), asked)
                before = given.setdefault(source.column, [])
                start = sum(len(part) for part in before)
                places[o] = slice(start, start + len(values))
                before.append(asked)
            rows = self.route.made({j: np.concatenate(parts) for j, parts in given.items()}, absent=False, steps=steps)
            return {o: rows[places[o], o] for o in numbers}

        return invert(made, ends)

    def tests(self, o: int) -> tuple[npt.NDArray[np.float64], dict[int, Pieces]]:
        """Return thresholds of the nodes that split the inner forest's column o, and what takes more than a threshold.

        Those are tests of several pieces of the input's numbers.
        """
        nodes = self.route.inner.splits_of(o)
        if self.route.sources[o].bin is not None:
            found = dict(zip(nodes.tolist(), self._of_bin(o, nodes), strict=True))
        else:
            which = self.which[o]
            cuts, flips = self.cuts[o][2:-1][which], self.flips.get(o, {})
            apart = sorted(self.apart[o])
            if not apart and not flips:
                return cuts, {}
            sides = self.route.goes_left(o, nodes, [seen for *_, seen in apart] or [0.0])
            found = {}
            for node, i, cut, flags in zip(
                nodes.tolist(), which.tolist(), cuts.tolist(), sides.T.tolist(), strict=True
            ):
                ways = flips.get(i + 2, [cut])
                ends = sorted({*ways, *(end for low, high, _ in apart for end in (low, high))})
                left = [
                    next(
                        (flag for (low, high, _), flag in zip(apart, flags, strict=False) if low < x <= high),
                        sum(end < x for end in ways) % 2 == 0,
                    )
                    for x in [*ends, math.inf]
                ]
                found[node] = Pieces.of(ends, left)
        thresholds, in_pieces = [], {}
        for node, test in found.items():
            if len(test.cuts) == 0:
                thresholds.append(FLOAT64.largest if test.left[0] else -math.inf)
                continue
            thresholds.append(test.cuts[0])
            if test.left != (True, False):
                in_pieces[node] = test
        return np.array(thresholds), in_pieces

    def _of_bin(self, o: int, nodes: Any) -> list[Pieces]:
        """Return the tests of a column that tells whether a number is in a certain bin."""
        found = self.route.sources[o].bin
        assert found is not None
        stages, k = found
        *before, (step, place, _) = stages
        edges = step.bin_edges_[place][1:-1]

        def bins(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
            reached = _replay(before, numbers.ravel()).reshape(numbers.shape)
            return np.searchsorted(edges, np.where(np.isnan(reached), -np.inf, reached), side="right")

        key = (id(step), place)
        if key not in self._edges:
            last = np.arange(len(edges), dtype=np.float64)
            self._edges[key] = invert(lambda asked: {0: bins(asked[0]).astype(np.float64)}, {0: last})[0]
        edges_seen = np.where(self._edges[key] < FLOAT64.largest, self._edges[key], np.inf)  # some bins have no number
        cuts = np.concatenate([[-np.inf], edges_seen, [np.inf]])
        points = np.unique(np.concatenate([[0.0], cuts[1:-1], np.nextafter(cuts[1:-1], np.inf)]))
        points = points[np.abs(points) < FLOAT64.largest]
        inside = bins(points) == k
        seen = self.route.seen({self.route.sources[o].column: points.tolist()})[:, o]
        sides = {}
        for side in (True, False):
            values = np.unique(seen[inside == side])
            if len(values) > 1:
                raise UnsupportedModelError("KBinsDiscretizer must give each bin its own column. It does not.")
            left = self.route.goes_left(o, nodes, values if len(values) else [0.0])[0]
            sides[side] = left.tolist()
        low, high = cuts[k], cuts[k + 1]
        return [
            Pieces.of([low, high], [outside, within, outside])
            for within, outside in zip(sides[True], sides[False], strict=True)
        ]

    @cached_property
    def _edges(self) -> dict[tuple[int, int], npt.NDArray[Any]]:
        return {}


def _replay(stages: Sequence[Stage], numbers: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return what becomes of numbers of one column in these steps, asked of the steps themselves."""
    for step, before, after in stages:
        matrix = np.zeros((len(numbers), step.n_features_in_))
        matrix[:, before] = numbers
        names = getattr(step, "feature_names_in_", None)
        table = matrix if names is None else frame(dict(zip(names, matrix.T, strict=True)))
        with warnings.catch_warnings(), np.errstate(all="ignore"), config_context(assume_finite=True):
            warnings.simplefilter("ignore")
            found = step.transform(table)
        found = found.toarray() if hasattr(found, "toarray") else found
        numbers = np.asarray(found)[:, after].astype(np.float64)
    return numbers


def _missing_taken(route: Route) -> set[int]:
    """Return the numeric columns that may be missing: the pipeline predicts then, in a way that is known."""
    numeric = [j for j, seen in enumerate(route.inputs) if seen.labels is None]
    if not numeric:
        return set()
    alone = {
        j: [math.nan if i == k else route.inputs[j].number for k in range(len(numeric))] for i, j in enumerate(numeric)
    }
    try:
        rows = route.seen(alone)
    except (ValueError, TypeError):  # some step cannot even compute with a missing value
        one = {j: [math.nan] for j in numeric}
        return {j for j in numeric if route.predicts({j: one[j]}) and not route.lost(j, route.seen({j: one[j]})[0])}
    found = [j for j, row in zip(numeric, rows, strict=True) if not route.lost(j, row)]
    if found and not route.predicts({j: [math.nan] for j in found}):
        found = [j for j in found if route.predicts({j: [math.nan]})]
    return set(found)


def _last_taken(route: Route, j: int, end: float) -> float:
    """Return the last number, on the way to an end, that the whole pipeline takes; most often the end itself.

    A step may refuse what a later one would repair.
    """
    if route.predicts({j: [end]}):
        return end
    first, last = places_of(np.array([route.inputs[j].number, end])).tolist()
    while abs(last - first) > 1:
        middle = (first + last) // 2
        taken = route.predicts({j: numbers_at(np.array([middle]))})
        first, last = (middle, last) if taken else (first, middle)
    return float(numbers_at(np.array([first]))[0])
