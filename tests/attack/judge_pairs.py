"""Reads what the checker prints about pairs of inputs, or of models, and asks the models about every such pair."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import numpy as np

import treeproof as tp
from attack.judge import NUMBER, Judge, NotUnderstoodError, Predict

_CONDITIONS = r"(, under these conditions)?"
_BY = r"(?:at all|by (\S+) or more)"
_DIFFER = rf"no two inputs that differ in (.*) alone differ in (.+?) {_BY}{_CONDITIONS}"
_TURN = rf"(.*) never (falls|rises) {_BY} when (\S+) grows and nothing else changes{_CONDITIONS}"
_LABELS = rf"no two inputs that differ in (.*) alone have different labels{_CONDITIONS}"
_SAME = (
    "both models (?:have the same trees, add them up in the same way, and so )?give the same label to every input"
    + _CONDITIONS
)
_GAP = rf"(.+) differs by less than (\S+) between the two models, for every input{_CONDITIONS}"


class PairJudge(Judge):
    """Looks at all pairs of inputs: the columns that differ are there twice, the second time as ``... changed``."""

    def __init__(self, forest: tp.Forest, predict: Predict) -> None:
        super().__init__(forest, predict)
        self.own_names = self.names

    def problems(self, checked: Any) -> list[str]:
        """Return in words what is false in what was printed about pairs; an empty list if nothing is."""
        if checked.row or checked.groups:
            raise NotUnderstoodError("pairs with a row or groups")
        differ, turn, labels = (re.fullmatch(words, checked.text) for words in (_DIFFER, _TURN, _LABELS))
        found = differ or turn or labels
        if not found or bool(found.groups()[-1]) != bool(checked.conditions):
            raise NotUnderstoodError(checked.text)
        names = found[4] if turn else found[1]
        inside = self._pairs(checked, names.split(", "))
        if labels:
            different = inside & (self.two_labels[0] != self.two_labels[1])
            return [f"not so at {self._shown(different)}"] if different.any() else []
        most = float(found[3] or 0)
        one, two = (scores[:, self._sum(found[1] if turn else found[2])] for scores in self.scores)
        with np.errstate(invalid="ignore"):
            moved = two - one
        if turn:
            grown = self.grid[len(self.own_names)] > self.grid[self.own_names.index(names)]
            inside = inside & grown
            moved = -moved if turn[2] == "falls" else moved
        bad = inside & ((moved >= most) & (moved > 0))
        return [f"by {moved[bad].max()} at {self._shown(bad)}"] if bad.any() else []

    def _pairs(self, checked: Any, names: list[str]) -> Any:
        """Look at all pairs that differ in these columns alone; return which of them are meant."""
        if unknown := set(names) - set(self.own_names):
            raise NotUnderstoodError(f"which columns {sorted(unknown)} are")
        self.columns = [self.own_names.index(name) for name in names]
        self.names = [*self.own_names, *(f"{name} changed" for name in names)]
        inside = self._inside(checked)
        first, second = list(self.grid[: len(self.own_names)]), list(self.grid[: len(self.own_names)])
        for j, other in zip(self.columns, self.grid[len(self.own_names) :], strict=True):
            second[j] = other
        rows = [np.column_stack(of_input) for of_input in (first, second)]
        self.two_labels = [self.predict(of_input).astype(str) for of_input in rows]
        self.scores = [_scores(self.forest, of_input) for of_input in rows]
        return inside

    def _inside(self, checked: Any) -> Any:
        """Make the grid of all combinations of values that matter; return which of them are meant."""
        self.features = self._features(checked)
        texts = [*checked.conditions, *checked.around, *checked.space]
        extra = [float(n) for text in texts for n in re.findall(NUMBER, text)]
        axes = [self._axis(j, None, extra) for j in range(len(self.own_names))]
        axes += [axes[j] for j in self.columns]
        self.grid = [part.ravel() for part in np.meshgrid(*axes, indexing="ij")]
        inside = np.ones(len(self.grid[0]), dtype=bool)
        for line in checked.space:
            inside &= self._declared(line)
        for line in [*checked.conditions, *checked.around]:
            inside &= self._condition(line)
        return inside

    def _column(self, j: int) -> tp.Column:
        n = len(self.own_names)
        return self.forest.columns[j if j < n else self.columns[j - n]]

    def _sum(self, words: str, forest: tp.Forest | None = None) -> int:
        """Return which of the sums a score is."""
        forest = forest or self.forest
        labels = [str(label) for label in forest.classes.tolist()]
        called = "the share of the votes for " if forest.vote == "majority" else "the score of "
        if words == "the score" and forest.decision.cuts is not None:
            return 0
        if not words.startswith(called) or words.removeprefix(called) not in labels:
            raise NotUnderstoodError(words)
        return labels.index(words.removeprefix(called))

    def _shown(self, where: Any) -> str:
        i = int(np.flatnonzero(where)[0])
        return f"{dict(zip(self.names, (float(column[i]) for column in self.grid), strict=True))}"


class ModelsJudge(PairJudge):
    """Looks at all inputs of two models with the same columns."""

    def __init__(self, forest: tp.Forest, predict: Predict, other: tp.Forest, other_predict: Predict) -> None:
        super().__init__(forest, predict)
        self.other, self.other_predict = other, other_predict
        self.columns: list[int] = []

    def problems(self, checked: Any) -> list[str]:
        """Return in words what is false in what was printed about two models; an empty list if nothing is."""
        same, gap = (re.fullmatch(words, checked.text) for words in (_SAME, _GAP))
        found = same or gap
        if not found or bool(found.groups()[-1]) != bool(checked.conditions) or checked.row or checked.groups:
            raise NotUnderstoodError(checked.text)
        inside, rows = self._inside(checked), np.column_stack(self.grid)
        if same:
            bad = inside & (self.predict(rows).astype(str) != self.other_predict(rows).astype(str))
            return [f"not so at {self._shown(bad)}"] if bad.any() else []
        one, two = (_scores(forest, rows)[:, self._sum(found[1], forest)] for forest in (self.forest, self.other))
        with np.errstate(invalid="ignore"):
            most = float(found[2]) or 5e-324 * bool(Decimal(found[2]))  # a float may be too coarse for it
            bad = inside & (np.abs(two - one) >= most)
        return [f"by {np.abs(two - one)[bad].max()} at {self._shown(bad)}"] if bad.any() else []

    def _axis(self, j: int, own: Any, extra: list[float]) -> Any:
        one = super()._axis(j, own, extra)
        two = Judge(self.other, self.other_predict)._axis(j, own, extra)
        return np.unique(np.concatenate([one, two]))  # also of nan one is left


def _scores(forest: tp.Forest, rows: Any) -> Any:
    """Return the model's own scores: sums, once they are divided."""
    leaves = forest.route(rows.astype(forest.floats.dtype))
    if forest.vote == "majority":
        return np.stack([(forest.leaf_class[leaves] == k).mean(axis=1) for k in range(forest.n_classes)], 1)
    return forest.add(leaves).astype(np.float64)
