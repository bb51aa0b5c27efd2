"""Whether two models give the same label to every input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from treeproof.errors import InputError
from treeproof.model.columns import Label
from treeproof.model.forest import Forest
from treeproof.model.join import columns_of, join
from treeproof.oracles.sums import SumOracle
from treeproof.query.cells import CellForest, discretise
from treeproof.query.context import Context, deadline_after, sooner
from treeproof.query.sums import Integers, Score, SumForest, score_of
from treeproof.query.twins import Trees, tree_nodes
from treeproof.questions.everywhere import Everywhere, Input, everywhere, float_above, own_score, upward
from treeproof.questions.result import Line, Result, Role, as_plain, under
from treeproof.search.extremes import largest
from treeproof.search.labels import models_differ
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
    """Whether two models give the same label to every input of the space.

    `same` is True (proved), False (`input` shows it, with the labels `old` and `new`) or None. Then `status` is
    ``"ties"`` (proved except for inputs at which the sums of two classes are as close as rounding may turn) or
    ``"unknown"`` (timed out); otherwise ``"proved"``. `gap` has the largest difference of the scores, if both add up
    the same kind of score. `share` is the share of the rows of `X` whose labels differ.

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
    old: Label | None
    new: Label | None
    status: Literal["proved", "ties", "unknown"]
    identical: bool
    gap: Gap | None
    share: float | None
    n_rows: int
    where: tuple[str, ...]
    constraints: tuple[str, ...] = ()

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
            return f"Not decided: whether the models give the same label to every input{where}"
        return f"{'Both models give the same label to every input' if self.same else 'The models differ'}{where}"

    @property
    def title_role(self) -> Role:
        """Whether it is decided."""
        return "open" if self.same is None else "title" if self.same else "refuted"

    @property
    def lines(self) -> list[Line]:
        """An input at which they differ, or what is proved; the scores; the rows."""
        lines = []
        if self.input is not None:
            labels = f"{show_class(self.old)} by the old model, {show_class(self.new)} by the new one"
            lines.append(Line("row", f"{labels}, with {self.input}"))
        elif self.identical:
            lines.append(Line("proved", "Proved: they have the same trees, and add them up in the same way."))
        elif self.same:
            lines.append(Line("proved", f"Proved for every input.{under(self.constraints)}"))
        elif self.status == "ties":
            close = "except where two classes are as close as rounding may turn"
            lines.append(Line("open", f"Proved: the same, {close}.{under(self.constraints)}"))
        else:
            lines.append(Line("open", "Timed out."))
        if self.gap is not None:
            gap = self.gap
            bound = f"proved: nowhere by more than {upward(Fraction(gap.bound))}"
            lines.append(
                Line("proved", f"The {gap.score} differs by up to {gap.value:g} ({gap.old:g}, {gap.new:g}); {bound}.")
            )
        if self.share is not None:
            lines.append(Line("note", f"Of {self.n_rows} rows, {self.share:.2%} get another label."))
        return lines

    @property
    def decided(self) -> bool:
        """Whether it is known that they differ, or that they do not."""
        return self.same is not None

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
    context = before.scored_context
    return _Both(context, now.scored_context, where, timeout).result(X)


class _Both:
    """Two models over the cells of both."""

    def __init__(self, old: Context, new: Context, where: Any, timeout: float | None) -> None:
        self.deadline = deadline_after(timeout)
        self.contexts = old, new
        joint = join(old.forest, new.forest)
        space = refined(old.space, joint)
        cells = discretise(space)
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
        share, n_rows = self._share(X) if X is not None else (None, 0)
        if self.identical:
            return Difference(True, None, None, None, "proved", True, None, share, n_rows, self.part.conditions)
        part = self.part
        found = models_differ(
            self.old, self.new, self.same, self.shared, part.domains, part.near, sooner(self.deadline)
        )
        shown: Input | None = None
        labels: tuple[Label | None, Label | None] = (None, None)
        if found.point is not None:
            shown = self._shown(found.point)
            labels = old.labels[self.old.label(found.point)], new.labels[self.new.label(found.point)]
        statuses: dict[str, Literal["proved", "ties", "unknown"]] = {"ties": "ties", "unknown": "unknown"}
        return Difference(
            {"same": True, "differ": False}.get(found.status),
            shown,
            *labels,
            statuses.get(found.status, "proved"),
            False,
            self._gap(),
            share,
            n_rows,
            part.conditions,
            old.constraints(found.clauses),
        )

    def _share(self, X: Any) -> tuple[float, int]:
        old, new = self.contexts
        first, second = old.forest.predict(X), new.forest.predict(X)
        if len(first) == 0:
            raise InputError("There must be at least one row. Got none.")
        return float(np.mean([a != b for a, b in zip(first.tolist(), second.tolist(), strict=True)])), len(first)

    def _shown(self, point: Cells) -> Input:
        """Return the input at a point, which both models' own predict must label differently."""
        part, (old, new) = self.part, self.contexts
        row = part.row(point)
        order = columns_of(new.forest, old.forest)
        first = old.forest.route(row[None, :].astype(old.forest.floats.dtype))
        second = new.forest.route(row[None, order].astype(new.forest.floats.dtype))
        assert int(old.forest.decide(first)[0]) == self.old.label(point), "cells are those of the old model"
        assert int(new.forest.decide(second)[0]) == self.new.label(point), "cells are those of the new model"
        return part.written(row, old.labels[self.old.label(point)])

    def _gap(self) -> Gap | None:
        """Return the largest difference of the scores, if both add up the same kind of score."""
        old, new = self.contexts
        scores = _comparable(old.forest, new.forest)
        if scores is None:
            return None
        one, two = scores
        unit = max(one.unit / one.divisor, two.unit / two.divisor)
        numbers = [_in_units(score, unit) for score in scores]
        best: Gap | None = None
        bound = Fraction(0)
        exact = True
        for sign in (1, -1):
            forest = self._difference([sign * n for n in numbers])
            limit = self.deadline if sign < 0 else sooner(self.deadline)  # half of the time for each direction
            found = largest(SumOracle(forest), self.part.domains, self.part.near, limit)
            if found.point is None or found.bound is None:
                return None
            exact = exact and found.exact
            start = sign * (two.start / two.divisor - one.start / one.divisor)
            # Each tree's number was rounded by less than a unit, and each model rounds its sums.
            slack = (old.forest.n_trees + new.forest.n_trees) * unit + one.error + two.error
            bound = max(bound, found.bound * unit + start + slack)
            values = [
                self._own(context, score, found.point) for context, score in zip(self.contexts, scores, strict=True)
            ]
            if best is None or abs(values[1] - values[0]) > best.value:
                shown = self._shown_text(found.point)
                best = Gap(one.name, abs(values[1] - values[0]), 0.0, values[0], values[1], shown, False)
        assert best is not None
        return replace(best, bound=float_above(bound), exact=exact)

    def _difference(self, numbers: Sequence[Integers]) -> SumForest:
        """Return the trees whose sum is the new model's less the old one's; those that cancel out are left out."""
        one, two = numbers
        same = {t for t in self.shared if np.array_equal(one[tree_nodes(self.old, t)], two[tree_nodes(self.new, t)])}
        trees = Trees(self.old, 1)
        trees.add((t for t in range(self.old.n_trees) if t not in same), {0: -one})
        trees.add((t for t in range(self.new.n_trees) if t not in same), {0: two}, cells=self.new)
        return trees.forest()

    def _own(self, context: Context, score: Score, point: Cells) -> float:
        cells = self.old if context is self.contexts[0] else self.new
        return own_score(context, score, np.array([cells.leaves(point)], dtype=np.int32))

    def _shown_text(self, point: Cells) -> tuple[str, ...]:
        return self.part.written(self.part.row(point), self.contexts[0].labels[self.old.label(point)]).text


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


def _in_units(score: Score, unit: Fraction) -> Integers:
    """Return a score's numbers, each divided by its divisor, in a coarser unit, rounded down."""
    factor = score.unit / score.divisor / unit
    if factor == 1:
        return score.numbers
    return np.array([n * factor.numerator // factor.denominator for n in score.numbers.tolist()], dtype=np.int64)
