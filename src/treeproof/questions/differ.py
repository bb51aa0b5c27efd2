"""Whether two models give the same label to every input."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np

from treeproof.errors import InputError
from treeproof.model.columns import Label, Rows
from treeproof.model.forest import Forest
from treeproof.model.join import columns_of, join
from treeproof.model.rows import as_rows
from treeproof.proof.certificate import Certificate
from treeproof.proof.pairs import certify_gap, certify_identical, certify_same
from treeproof.query.cells import CellForest, discretise
from treeproof.query.context import Context, deadline_after, sooner
from treeproof.query.sums import LARGEST, Integers, Score, SumForest, score_of
from treeproof.query.twins import Trees, tree_nodes
from treeproof.questions.everywhere import Everywhere, Input, at_most, downward, everywhere, float_above, own_score
from treeproof.questions.result import Line, Result, Role, as_plain, certified, under
from treeproof.search.extremes import largest
from treeproof.search.labels import Disagreement, Status, models_differ
from treeproof.space.declare import refined
from treeproof.space.domains import Cells
from treeproof.space.wording import show_class


@dataclass(frozen=True, slots=True)
class Gap:
    """The largest difference between the scores of two models: that at an input, and a bound that none exceeds.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, _ = tp.examples.heart_disease()
    >>> tree = tp.split("chest-pain", 0.5, "No", "Yes")
    >>> simple = tp.build_forest([tree], columns=forest.column_names, classes=["No", "Yes"])
    >>> gap = tp.differ(forest, simple).gap
    >>> gap.value <= gap.bound, gap.exact
    (True, True)
    """

    score: str
    value: float
    bound: float
    old: float
    new: float
    input: tuple[str, ...]
    exact: bool


@dataclass(frozen=True, slots=True, repr=False)
class Difference(Result):
    """Whether two models give the same label to every input of the space, or, regressors, the same score.

    `same` is True (proved), False (`input` shows it, with the labels or scores `old` and `new`) or None. Then `status`
    is ``"ties"`` (proved except for inputs at which the sums of two classes are as close as rounding may turn; of
    scores, but for `gap`) or ``"unknown"`` (timed out); otherwise ``"proved"``. `gap` has the largest difference of
    the scores, if both add up the same kind of score. `share` is the share of the rows of `X`, of those that satisfy
    `where`, for which they differ.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, _ = tp.examples.heart_disease()
    >>> print(tp.differ(forest, forest))
    Both models give the same label to every input
    Proved: they have the same trees, and add them up in the same way.
    """

    same: bool | None
    input: Input | None
    old: Label | float | None
    new: Label | float | None
    status: Literal["proved", "ties", "unknown"]
    identical: bool
    gap: Gap | None
    share: float | None
    n_rows: int
    where: tuple[str, ...]
    constraints: tuple[str, ...] = ()
    of: Literal["label", "score"] = "label"
    _certify: Callable[[float | None], Any] | None = field(default=None, repr=False, compare=False)
    _certify_gap: Callable[[float | None], Any] | None = field(default=None, repr=False, compare=False)

    def certificate(self, timeout: float | None = None, *, of: Literal["label", "score"] = "label") -> Any:
        """Return a `Certificate` that both give the same label to every input, or of the largest difference of scores.

        The checker needs both models: ``tp.check(certificate, old, new)``. What it proves of scores is larger than
        ``gap.bound`` by as much as rounding needs.
        """
        if of not in ("label", "score"):
            raise InputError(f"A certificate must be of 'label' or 'score'. Got {of!r}.")
        return certified(self._certify if of == "label" else self._certify_gap, timeout)

    def __bool__(self) -> bool:
        """Whether they differ."""
        if self.same is None:
            raise ValueError("Whether the models differ was not decided; see .same.")
        return not self.same

    @property
    def title(self) -> str:
        """Whether they differ."""
        where = f", where {' and '.join(self.where)}" if self.where else ""
        if self.same is None:
            return f"Not decided: whether the models give the same {self.of} to every input{where}"
        same = f"Both models give the same {self.of} to every input"
        return f"{same if self.same else 'The models differ'}{where}"

    @property
    def title_role(self) -> Role:
        """Whether it is decided."""
        return "open" if self.same is None else "title" if self.same else "refuted"

    @property
    def lines(self) -> list[Line]:
        """An input at which they differ, or what is proved; the scores; the rows."""
        lines = []
        if self.input is not None:
            old, new = map(show_class if self.of == "label" else "{:g}".format, (self.old, self.new))
            lines.append(Line("row", f"{old} by the old model, {new} by the new one, with {self.input}"))
        elif self.identical:
            lines.append(Line("proved", "Proved: they have the same trees, and add them up in the same way."))
        elif self.same:
            lines.append(Line("proved", f"Proved for every input.{under(self.constraints)}"))
        elif self.status == "ties" and self.of == "score":
            lines.append(Line("open", "No input was found at which they differ by more than rounding."))
        elif self.status == "ties":
            close = "except where two classes are as close as rounding may turn"
            lines.append(Line("open", f"Proved: the same, {close}.{under(self.constraints)}"))
        else:
            lines.append(Line("open", "Timed out."))
        if self.gap is not None:
            gap = self.gap
            bound = f"proved: nowhere by more than {at_most(gap.bound, gap.value, gap.exact)}"
            late = "" if gap.exact else " Timed out; the largest difference lies between the two."
            size = f"by up to {gap.value:g}" if gap.exact else f"by {downward(gap.value)} or more"
            text = f"The {gap.score} differs {size} ({gap.old:g}, {gap.new:g}); {bound}.{late}"
            lines.append(Line("proved" if gap.exact else "open", text))
        if self.share is not None:
            such = " that satisfy this" if self.where else ""
            lines.append(Line("note", f"Of {self.n_rows} rows{such}, {self.share:.2%} get another {self.of}."))
        return lines

    @property
    def decided(self) -> bool:
        """Whether it is known that they differ, or that they do not."""
        return self.status == "proved"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""
        return {"kind": "difference", **as_plain(self)}


def differ(old: Any, new: Any, X: Any = None, *, where: Any = None, timeout: float | None = None) -> Difference:
    """Decide whether two models give the same label to every input: proved, or an input to which they do not.

    Parameters
    ----------
    old, new
        Models, as `Explainer` takes them, or explainers. The inputs are those of the old one's space: its kinds,
        bounds and constraints. Columns are matched by name, labels by what they are.
    X
        Rows; the share of them that get another label is counted.
    where
        Conditions that inputs satisfy, as in `Explainer.extremes`.
    timeout
        Seconds. When they are over, the answer may be None.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> tree = tp.split("chest-pain", 0.5, "No", "Yes")
    >>> simple = tp.build_forest([tree], columns=forest.column_names, classes=["No", "Yes"])
    >>> found = tp.differ(forest, simple, [patient])
    >>> found.same, found.old, found.new, found.share
    (False, 'No', 'Yes', 0.0)
    """
    from treeproof.explainer import Explainer  # it answers by all questions, and so comes after them

    before, now = (model if isinstance(model, Explainer) else Explainer(model) for model in (old, new))
    plain = [explainer.forest.decision.cuts == () for explainer in (before, now)]  # regressors, without any label
    if plain[0] != plain[1]:
        raise InputError("Both models must have labels, or neither. Got a regressor and a classifier; give it cuts=.")
    return _Both(before.scored_context, now.scored_context, "score" if plain[0] else "label", where, timeout).result(X)


_STATUS: dict[str, Literal["proved", "ties", "unknown"]] = {"ties": "ties", "unknown": "unknown"}


class _Both:
    """Two models over the cells of both."""

    def __init__(
        self, old: Context, new: Context, of: Literal["label", "score"], where: Any, timeout: float | None
    ) -> None:
        self.of = of
        self.deadline = deadline_after(timeout)
        self.contexts = old, new
        joint = join(old.forest, new.forest)
        space = refined(old.space, joint)
        cells = self.joint = discretise(space)
        n = old.forest.n_nodes
        self.old = _part(cells, old.cells, slice(0, n))
        self.new = _part(cells, new.cells, slice(n, None))
        # Inputs are read by the old model's rules, in the numbers of both.
        stated = replace(old, space=space, cells=cells, forest=joint)
        self.part: Everywhere = everywhere(stated, where, timeout)
        new_labels = new.labels
        self.same = {a: new_labels.index(label) for a, label in enumerate(old.labels) if label in new_labels}
        self.shared = _shared(self.old, self.new)

    @property
    def identical(self) -> bool:
        """Whether both have the same trees, and add them up in the same way."""
        old, new = (context.forest for context in self.contexts)
        return (
            len(self.shared) == old.n_trees == new.n_trees
            and (old.vote, old.decision, old.classes.tolist()) == (new.vote, new.decision, new.classes.tolist())
            and np.array_equal(self.old.source.values, self.new.source.values)
        )

    def result(self, X: Any) -> Difference:
        old, new = self.contexts
        rows = _Rows(self, X)
        about: dict[str, Any] = {
            "where": self.part.conditions,
            "share": rows.share,
            "n_rows": len(rows.differ),
            "of": self.of,
        }
        if self.identical:
            certify = partial(_certify_identical, old.forest, new.forest)
            return Difference(True, None, None, None, "proved", True, None, **about, _certify=certify)
        # Half of the time for labels, and half for scores, unless rows have settled one.
        found = rows.found
        if found is None and self.of == "label":
            part, limit = self.part, sooner(self.deadline)
            found = models_differ(
                self.joint, self.old, self.new, self.same, self.shared, part.domains, part.near, limit
            )
        gap = self._gap()
        if found is None:  # of scores only
            differ = gap is not None and gap.found.value > 0
            status: Status = "differ" if differ else "unknown" if gap is None or not gap.found.exact else "ties"
            found = Disagreement(status, gap.point if differ and gap else None)
        clauses = found.clauses | (gap.clauses if gap else frozenset())
        return Difference(
            {"same": True, "differ": False}.get(found.status),
            *self._at(found.point, rows),
            _STATUS.get(found.status, "proved"),
            False,
            gap.found if gap else None,
            **about,
            constraints=old.constraints(clauses),
            _certify=partial(_certify_labels, self.part, old.forest, new.forest) if found.status == "same" else None,
            _certify_gap=gap.certify if gap else None,
        )

    def _at(self, point: Cells | None, rows: _Rows) -> tuple[Input | None, Any, Any]:
        """Return the input at a point, or the row that is there, and what both models give it."""
        if point is None:
            return None, None, None
        row = self.part.row(point) if rows.row is None else rows.row
        first, second = self.both(row[None, :])
        old, new = self.contexts
        if self.of == "score":
            given: tuple[Any, Any] = float(old.forest.add(first)[0, 0]), float(new.forest.add(second)[0, 0])
        else:
            a, b = int(old.forest.decide(first)[0]), int(new.forest.decide(second)[0])
            assert self.same.get(a) != b, "both models' own predict label it differently"
            given = old.labels[a], new.labels[b]
        return self.part.written(row, given[0], own=rows.row is not None), *given

    def both(self, rows: Rows) -> tuple[Any, Any]:
        """Return the leaves that rows, as the old model's space has them, reach in both models."""
        old, new = (context.forest for context in self.contexts)
        first = old.route(rows.astype(old.floats.dtype))
        return first, new.route(np.ascontiguousarray(rows[:, columns_of(new, old)].astype(new.floats.dtype)))

    def _gap(self) -> _Found | None:
        """Return the largest difference of the scores, if both add up the same kind of score."""
        old, new = self.contexts
        scores = _comparable(old.forest, new.forest)
        if scores is None:
            return None
        one, two = scores
        unit = _unit_of(self.contexts, scores)
        numbers, slacks = zip(*(_in_units(score, unit) for score in scores), strict=True)
        best: Gap | None = None
        slack = old.forest.n_trees * slacks[0] + new.forest.n_trees * slacks[1]
        slack += one.slack / one.divisor + two.slack / two.divisor
        most: list[Fraction] = []  # in each direction, without the rounding of the models
        exact, at, clauses = True, self.part.near, frozenset[int]()
        for sign in (1, -1):
            forest = self._difference([sign * n for n in numbers])
            limit = self.deadline if sign < 0 else sooner(self.deadline)  # half of the time for each direction
            found = largest(forest, self.part.domains, self.part.near, limit)
            if found.point is None or found.bound is None:
                return None
            exact, clauses = exact and found.exact, clauses | found.clauses
            start = sign * (two.start / two.divisor - one.start / one.divisor)
            most.append(found.bound * unit + start + slack)
            values = [
                self._own(context, score, found.point) for context, score in zip(self.contexts, scores, strict=True)
            ]
            if best is None or abs(values[1] - values[0]) > best.value:
                at = found.point
                best = Gap(one.name, abs(values[1] - values[0]), 0.0, values[0], values[1], self._text(at), False)
        assert best is not None
        bound = max(Fraction(0), *most)
        models, indices = (old.forest, new.forest), (one.index, two.index)
        certify = partial(_certify_gap, self.part, models, indices, bound)
        best = replace(best, bound=float_above(bound + one.error + two.error), exact=exact)
        return _Found(best, at, clauses, certify)

    def _difference(self, numbers: Sequence[Integers]) -> SumForest:
        """Return trees whose sum is the new model's less the old one's: of two with the same number one, if small."""
        one, two = numbers
        trees, n = Trees(self.old, 1), self.old.n_trees
        both = range(min(n, self.new.n_trees))
        overlaid = {t for t in both if trees.add_overlay(self.joint, t, n + t, 0, np.append(one, two))}
        trees.add((t for t in range(n) if t not in overlaid), {0: -one})
        trees.add((t for t in range(self.new.n_trees) if t not in overlaid), {0: two}, cells=self.new)
        return trees.forest()

    def _own(self, context: Context, score: Score, point: Cells) -> float:
        cells = self.old if context is self.contexts[0] else self.new
        return own_score(context, score, np.array([cells.leaves(point)], dtype=np.int32))

    def _text(self, point: Cells) -> tuple[str, ...]:
        return self.part.written(self.part.row(point), self.contexts[0].labels[self.old.label(point)]).text


class _Rows:
    """Rows of the user's, which of them both models treat differently, and the first such row of the inputs meant."""

    def __init__(self, models: _Both, X: Any) -> None:
        self.differ: list[bool] = []
        self.row: Rows | None = None
        self.found: Disagreement | None = None
        if X is None:
            return
        part, (old, new) = models.part, models.contexts
        joint = part.context.forest
        rows = as_rows(X, joint.columns, joint.floats)
        if len(rows) == 0:
            raise InputError("There must be at least one row. Got none.")
        first, second = models.both(rows)
        if models.of == "score":
            differ = (old.forest.add(first)[:, 0] != new.forest.add(second)[:, 0]).tolist()
        else:
            pairs = zip(old.forest.decide(first).tolist(), new.forest.decide(second).tolist(), strict=True)
            differ = [models.same.get(a) != b for a, b in pairs]
        for row, differs in zip(rows, differ, strict=True):
            try:
                point: Cells | None = part.context.space.cells(row)
            except InputError:
                point = None  # outside the declared space
            if part.conditions and (point is None or not part.region.counts(row, point)):
                continue
            self.differ.append(differs)
            if differs and self.row is None and point is not None and part.allowed(point):
                self.row, self.found = row, Disagreement("differ", point)

    @property
    def share(self) -> float | None:
        """The share of the rows that are treated differently; None if there are none."""
        return float(np.mean(self.differ)) if self.differ else None


@dataclass(frozen=True, eq=False, slots=True)
class _Found:
    """The largest difference of the scores, where it is, the constraints that its proof used, and its certificate."""

    found: Gap
    point: Cells
    clauses: frozenset[int]
    certify: Callable[[float | None], Any]


def _certify_identical(old: Forest, new: Forest, timeout: float | None) -> Certificate:
    return certify_identical(old, new)


def _certify_labels(part: Everywhere, old: Forest, new: Forest, timeout: float | None) -> Certificate:
    return certify_same(part.meant(), old, new, deadline_after(timeout))


def _certify_gap(
    part: Everywhere,
    models: tuple[Forest, Forest],
    classes: tuple[int, int],
    most: Fraction,
    timeout: float | None,
) -> Certificate:
    return certify_gap(part.meant(), *models, classes, most, deadline_after(timeout))


def _part(joint: CellForest, own: CellForest, nodes: slice) -> CellForest:
    """Return one of the two models over the cells of both."""
    return replace(
        own,
        n_cells=joint.n_cells,
        ordered=joint.ordered,
        gapped=joint.gapped,
        feature=joint.feature[nodes],
        cut=joint.cut[nodes],
        left_sets=joint.left_sets,
        clauses=joint.clauses,
    )


def _shared(old: CellForest, new: CellForest) -> list[int]:
    """Return the trees that are the same in both models, by their number in both."""
    return [t for t in range(min(old.n_trees, new.n_trees)) if _tree(old, t) == _tree(new, t)]


def _tree(cells: CellForest, t: int) -> tuple[bytes, ...]:
    source, nodes = cells.source, tree_nodes(cells, t)
    children = (np.where(side[nodes] >= 0, side[nodes] - nodes.start, -1) for side in (source.left, source.right))
    return tuple(
        np.ascontiguousarray(part).tobytes()
        for part in (cells.feature[nodes], cells.cut[nodes], *children, source.values[nodes])
    )


def _comparable(old: Forest, new: Forest) -> tuple[Score, Score] | None:
    """Return the scores of both models, if they are of the same kind: of the second of two classes, or the only sum."""
    kinds = [(f.vote, f.decision.cuts is not None, f.n_classes if f.decision.cuts is None else 0) for f in (old, new)]
    if kinds[0] != kinds[1] or (not kinds[0][1] and kinds[0][2] != 2):
        return None
    k = None if kinds[0][1] else 1
    return score_of(old, k), score_of(new, k)


def _unit_of(models: Sequence[Context], scores: Sequence[Score]) -> Fraction:
    """Return a unit for the numbers of both scores: one that makes them exact, if sums in it are small enough."""
    a, b = (score.unit / score.divisor for score in scores)
    exact = Fraction(math.gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator)
    largest = Fraction(0)
    for model, score in zip(models, scores, strict=True):
        sizes = np.maximum.reduceat(np.abs(score.numbers), model.forest.roots)
        largest += sum(sizes.tolist()) * score.unit / score.divisor
    return max(exact, largest / 2 ** (LARGEST - 1))


def _in_units(score: Score, unit: Fraction) -> tuple[Integers, Fraction]:
    """Return a score's numbers, each divided by its divisor, in a unit, rounded down, and by how much they may be."""
    factor = score.unit / score.divisor / unit
    numbers = [n * factor.numerator // factor.denominator for n in score.numbers.tolist()]
    return np.array(numbers, dtype=np.int64), unit if factor.denominator > 1 else Fraction(0)
