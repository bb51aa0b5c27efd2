"""Reads what the checker prints about pairs of inputs, and asks the model about every such pair."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import treeproof as tp
from attack.judge import Judge, NotUnderstoodError, Predict

_CONDITIONS = r"(, under these conditions)?"
_BY = r"(?:at all|by (\S+) or more)"
_DIFFER = rf"no two inputs that differ in (.*) alone differ in (.+?) {_BY}{_CONDITIONS}"
_TURN = rf"(.*) never (falls|rises) {_BY} when (\S+) grows and nothing else changes{_CONDITIONS}"
_LABELS = r"no two inputs that differ in (.*) alone have different labels"


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
        if not found or (not labels and bool(found.groups()[-1]) != bool(checked.conditions)):
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
        self.features = self._features(checked)
        texts = [*checked.conditions, *checked.around, *checked.space]
        extra = [float(n) for text in texts for n in re.findall(r"-?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf)", text)]
        axes = [self._axis(j, None, extra) for j in range(len(self.own_names))]
        axes += [axes[j] for j in self.columns]
        self.grid = [part.ravel() for part in np.meshgrid(*axes, indexing="ij")]
        first, second = list(self.grid[: len(self.own_names)]), list(self.grid[: len(self.own_names)])
        for j, other in zip(self.columns, self.grid[len(self.own_names) :], strict=True):
            second[j] = other
        rows = [np.column_stack(of_input) for of_input in (first, second)]
        self.two_labels = np.array([self.predict(of_input).astype(str) for of_input in rows])
        self.scores = [self._score(of_input) for of_input in rows]
        inside = np.ones(len(self.grid[0]), dtype=bool)
        for line in checked.space:
            inside &= self._declared(line)
        for line in [*checked.conditions, *checked.around]:
            inside &= self._condition(line)
        return inside

    def _column(self, j: int) -> tp.Column:
        n = len(self.own_names)
        return self.forest.columns[j if j < n else self.columns[j - n]]

    def _score(self, rows: Any) -> Any:
        """Return the model's own sums."""
        leaves = self.forest.route(rows.astype(self.forest.floats.dtype))
        if self.forest.vote == "majority":
            return np.stack(
                [(self.forest.leaf_class[leaves] == k).sum(axis=1) for k in range(self.forest.n_classes)], 1
            )
        return self.forest.add(leaves).astype(np.float64)

    def _sum(self, words: str) -> int:
        """Return which of the sums a score is."""
        labels = [str(label) for label in self.forest.classes.tolist()]
        of = words.removeprefix("the score of ")
        if (words != "the score" or self.forest.decision.cuts is None) and of not in labels:
            raise NotUnderstoodError(words)
        return 0 if words == "the score" else labels.index(of)

    def _shown(self, where: Any) -> str:
        i = int(np.flatnonzero(where)[0])
        return f"{dict(zip(self.names, (float(column[i]) for column in self.grid), strict=True))}"
