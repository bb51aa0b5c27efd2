"""Reads what the checker prints, as a person would, and asks the model's own predict whether it is true.

It knows neither the format of certificates nor the checker's code; a sentence that it does not understand is a failure,
so that it cannot fall behind.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np

import treeproof as tp

Predict = Callable[[Any], Any]  # from an array of rows, with categories by number, to an array of labels
_KEPT = 200  # results about all inputs that are remembered


class NotUnderstoodError(Exception):
    """The judge cannot read what was printed."""


class Judge:
    """Reads a printed claim and looks at all inputs whether it is true."""

    def __init__(self, forest: tp.Forest, predict: Predict) -> None:
        self.forest, self.predict = forest, predict
        self.names = [column.name for column in forest.columns]
        self.excused = forest.sums is not None and forest.sums.softmax  # near ties of a softmax cannot all be proved
        self._labels: dict[Any, tuple[list[Any], Any]] = {}  # what the model says about all inputs
        self._verdicts: dict[str, list[str]] = {}

    def verdict(self, checked: Any) -> list[str]:
        """Return what `problems` does; the same words are judged once."""
        words = f"{checked}\n{checked.row}"
        if words not in self._verdicts:
            try:
                self._verdicts[words] = self.problems(checked)
            except NotUnderstoodError as error:
                self._verdicts[words] = [f"the judge does not understand: {error}"]
        return self._verdicts[words]

    def problems(self, checked: Any) -> list[str]:
        """Return in words what is false in what was printed; an empty list if nothing is."""
        self.features = self._features(checked)
        self.units = {name: [name] for name in self.features}
        for line in checked.groups:
            name, _, members = line.partition(": ")
            for member in members.split(", "):
                self.units.pop(member)
            self.units[name] = members.split(", ")
        if match := re.fullmatch(_AUDIT, checked.text):
            return self._audit(checked, *match.groups())
        self._start(checked, checked.row)
        if not self.space[self._place(self.row)]:
            return ["the row is not in the space"]
        if checked.text.startswith("a change of "):
            return self._change(checked)
        if match := re.fullmatch(_COMPLETE, checked.text):
            return self._complete(checked, *match.groups())
        return self._reason(checked)

    def _start(self, checked: Any, row: list[str], extra: list[float] | None = None) -> None:
        """Read a row; look at all inputs, and which of them are meant."""
        self.row = self._read_row(row)
        self.own = self._label(self.row)
        texts = [*checked.conditions, *checked.around, *checked.space]
        self._look(self.row, [float(n) for text in texts for n in re.findall(NUMBER, text)] + (extra or []))
        self.space = np.ones(len(self.grid[0]), dtype=bool)
        for line in checked.space:
            self.space &= self._declared(line)
        self.around = {self._subject(line): self._condition(line) for line in checked.around}

    def _features(self, checked: Any) -> dict[str, list[int]]:
        """Return the features, each with its columns: those of which exactly one is 1 make one."""
        joined = [line.partition(": ")[0] for line in checked.space if _ONE_OF in line]
        alone = [name for name in self.names if not any(name in text.split("/") for text in joined)]
        found = {text: [self.names.index(name) for name in text.split("/")] for text in [*joined, *alone]}
        return dict(sorted(found.items(), key=lambda item: item[1]))

    def _complete(self, checked: Any, does: str, label: str, other: str, within: str | None) -> list[str]:
        """Judge lists of all minimal sets of units that force a label, or rule it out, and of all changes."""
        forces = does == "force"
        right = other == ("another label" if forces else f"the label {label}") and bool(within) == bool(checked.around)
        if not right:
            raise NotUnderstoodError(checked.text)
        if forces != (label == self.own):
            return [f"the row has the label {self.own}"]
        wrong = self.labels != label if forces else self.labels == label
        subsets = [frozenset(c) for n in range(len(self.units) + 1) for c in itertools.combinations(self.units, n)]
        forcing = {one for one in subsets if not (self._kept(one) & wrong).any()}
        giving = {one for one in subsets if (self._kept(set(self.units) - one) & wrong).any()}
        found = {
            what: {one for one in those if not any(other < one for other in those)}
            for what, those in (("reason", forcing), ("change", giving))
        }
        listed: dict[str, list[Any]] = {"reason": [], "change": [], "in none of them": []}
        for line in checked.conditions:
            what, _, names = line.partition(": ")
            if what not in listed:
                raise NotUnderstoodError(line)
            listed[what].append(frozenset(self._named(names)))
        problems = []
        for what, sets in found.items():
            if set(listed[what]) != sets or len(listed[what]) != len(sets):
                problems.append(f"the minimal sets are {what}s {sorted(map(sorted, sets))}")
        unused = set(self.units).difference(*found["reason"], *found["change"])
        if set().union(*listed["in none of them"]) != unused:
            problems.append(f"in none of them are {sorted(unused)}")
        return problems

    def _audit(self, checked: Any, n: str, names: str, flips: str, none: str) -> list[str]:
        """Judge what a change of some units alone does in each of some rows."""
        free = {f for unit in self._named(names) for f in self.units[unit]}
        stays = [line.startswith("no other label than ") for line in checked.conditions]
        if [len(stays), len(stays) - sum(stays), sum(stays)] != [int(n), int(flips), int(none)]:
            return ["the rows are counted wrongly"]
        if checked.row or checked.around:
            raise NotUnderstoodError("an audit with a row or ranges of its own")
        problems = []
        for line, stay in zip(checked.conditions, stays, strict=True):
            match = re.fullmatch(r"no other label than (.*?): (.*)|(.*?) if (.*), instead of (.*?): (.*)", line)
            if not match:
                raise NotUnderstoodError(line)
            label, row = (match[1], match[2]) if stay else (match[5], match[6])
            self._start(checked, row.split(", "))
            if not self.space[self._place(self.row)] or label != self.own:
                problems.append(f"not an input, or with the label {self.own}: {row}")
                continue
            if stay:
                others = self._kept_features(set(self.features) - free)
                if (others & (self.labels != label)).any():
                    problems.append(f"not so at {self._show(others & (self.labels != label))}")
                continue
            new = self._changed(match[4].split(", "), free, problems)
            self._start(checked, row.split(", "), [v for v in new if isinstance(v, float)])
            got = self._label(new)
            if got != match[3] or got == label or not self.space[self._place(new)]:
                problems.append(f"{new} has the label {got}, or is not an input")
        return problems

    def _changed(self, lines: list[str], free: set[str], problems: list[str]) -> list[Any]:
        """Return the row with what the lines change; each must name a free feature, and its value in the row."""
        new = list(self.row)
        for line in lines:
            name, _, values = line.partition(": ")
            before, _, after = values.partition(" -> ")
            if name not in free:
                problems.append(f"{name} is changed too")
            if any(
                not self._is(column, value)[self._place(self.row)] for column, value in self._assigned(name, before)
            ):
                problems.append(f"{name} is not {before} in the row")
            for column, value in self._assigned(name, after):
                new[column] = value
        return new

    def _reason(self, checked: Any) -> list[str]:
        claim = checked.text.split("; ")[0]
        if (" the ranges around the instance" in claim) != bool(checked.around):
            raise NotUnderstoodError(checked.text)
        claim = claim.replace(" in the ranges around the instance has ", " has ").partition(" as long as ")[0]
        claim = re.sub("^every input has the", "no feature at all forces the", claim)
        claim = re.sub("^no input has the", "no feature at all rules out the", claim)
        match = re.fullmatch(r"(.*?) (forces?|rules? out) the label (.*)", claim)
        if not match:
            raise NotUnderstoodError(checked.text)
        label = match[3]
        conditions = {self._subject(line): self._condition(line) for line in checked.conditions}
        as_written = {self._subject(line): self._condition(line, as_written=True) for line in checked.conditions}
        chosen = self._named(match[1])
        if {f for unit in chosen for f in self.units[unit]} < set(conditions):
            return ["conditions that are not named"]
        wrong = self.labels != label if match[2].startswith("force") else self.labels == label
        problems = []
        if match[2].startswith("force") and label != self.own:
            problems.append(f"the row has the label {self.own}")
        if match[2].startswith("rule") and label == self.own:
            problems.append("the row has the label that is ruled out")
        inside = self.space.copy()
        for f, columns in self._each():
            inside &= conditions[f] | as_written[f] if f in conditions else self.around.get(f, True)
            if f in conditions and not self._of_row(conditions[f], columns):
                problems.append(f"the row does not satisfy the condition on {f}")
        if (inside & wrong).any():
            problems.append(f"not so at {self._show(inside & wrong)}")
        for part in checked.text.split("; ")[1:]:
            if part in ("it cannot be dropped", "none of them can be dropped"):
                problems += [f"{u} can be dropped" for u in chosen if not self._needed(u, conditions, wrong)]
            elif part.startswith(("no range can be extended", "no value can be added")):
                problems += self._widened(conditions, wrong, part)
            else:
                problems += self._cheaper(part, chosen, lambda units: not (self._kept(units) & wrong).any())
        return problems

    def _named(self, names: str) -> list[str]:
        """Return the features and groups that a claim names; what a group consists of must be said."""
        chosen = [] if names == "no feature at all" else names.split(", ")
        if unknown := set(chosen) - set(self.units):
            raise NotUnderstoodError(f"which features {sorted(unknown)} are")
        return chosen

    def _needed(self, unit: str, conditions: dict[str, Any], wrong: Any) -> bool:
        """Return whether another label is possible without a unit, with the row's values of all others."""
        others = {f for other in self.units if other != unit for f in self.units[other] if f in conditions}
        return bool((self._kept_features(others) & wrong).any())

    def _kept(self, units: Any) -> Any:
        """Return where these units have the row's values, and the others stay around it."""
        return self._kept_features({f for unit in units for f in self.units[unit]})

    def _kept_features(self, features: set[str]) -> Any:
        inside = self.space.copy()
        for f, columns in self._each():
            inside &= self._same(columns) if f in features else self.around.get(f, True)
        return inside

    def _widened(self, conditions: dict[str, Any], wrong: Any, part: str) -> list[str]:
        """Return the conditions that hold with the next number, or another value, too."""
        problems = []
        for f, columns in self._each():
            if f not in conditions:
                continue
            others = self.space & wrong
            for other, _ in self._each():
                if other != f:
                    others = others & (conditions[other] if other in conditions else self.around.get(other, True))
            if len(columns) > 1 or self.forest.columns[columns[0]].categories is not None:
                beyond = [
                    np.array(v) for v in {self._at(i, columns) for i in np.flatnonzero(self.space & ~conditions[f])}
                ]
                for value in beyond:
                    if not (others & self._equals(columns, value)).any():
                        problems.append(f"the condition on {f} may be widened by {value}")
                continue
            column = self.grid[columns[0]]
            if " = " in f or not np.isfinite(column[conditions[f] & self.space]).any():
                continue
            own = self.space & (column.astype(self.forest.floats.dtype) == column)  # not numbers between the model's
            numbers, taken = np.unique(column[own]), np.unique(column[own & conditions[f]])
            for below, above in itertools.pairwise(numbers):
                for inner, outer in ((below, above), (above, below)):
                    if inner in taken and outer not in taken and not (others & (column == outer)).any():
                        problems.append(f"the condition on {f} may be widened by {outer}")
            gap = np.isnan(column) & self.space
            excluded = "missing values" not in part and gap.any() and not (conditions[f] & gap).any()
            if excluded and not (others & gap).any():
                problems.append(f"the condition on {f} may be widened by missing values")
        return problems

    def _change(self, checked: Any) -> list[str]:
        match = re.fullmatch(r"a change of (.*) alone gives the label (.*)", checked.text.split("; ")[0])
        if not match:
            raise NotUnderstoodError(checked.text)
        chosen, label, problems = self._named(match[1]), match[2], []
        new = self._changed(checked.conditions, {f for unit in chosen for f in self.units[unit]}, problems)
        if self._label(new) != label:
            problems.append(f"the change gives the label {self._label(new)}")
        if label == self.own:
            problems.append("the change gives the label of the row")
        self._start(checked, checked.row, [v for v in new if isinstance(v, float)])
        at = self._place(new)
        if not self.space[at] or any(not mask[at] for mask in self.around.values()):
            problems.append("the change leaves the space or the ranges")
        that = "that label" in checked.text
        wrong = self.labels == label if that else self.labels != self.own

        def gives(units: Any) -> bool:
            """Whether a change of these units alone gives such a label."""
            inside = self._kept(set(self.units) - set(units))
            for f, _ in self._each():
                inside &= self.around.get(f, True)
            return bool((inside & wrong).any())

        for part in checked.text.split("; ")[1:]:
            if part.startswith("a change of fewer of them alone does not give "):
                for unit in chosen:
                    if gives(set(chosen) - {unit}):
                        problems.append(f"without {unit}, the label changes too")
            else:
                part = part.removesuffix(" within the ranges around the instance")
                problems += self._cheaper(part, chosen, gives, f"gives {'that' if that else 'another'} label")
        return problems

    def _cheaper(self, part: str, chosen: list[str], does: Callable[[Any], bool], words: str = "does") -> list[str]:
        costs = dict.fromkeys(self.units, 1)
        if part != f"no smaller set {words}":
            match = re.fullmatch(rf"no set that costs less than (\d+) {words} \(costs: (.*)\)", part)
            if not match:
                raise NotUnderstoodError(part)
            costs = {name: int(cost) for name, _, cost in (text.rpartition(" ") for text in match[2].split(", "))}
            if int(match[1]) != sum(costs[unit] for unit in chosen):
                return [f"the chosen ones do not cost {match[1]}"]
        most = sum(costs[unit] for unit in chosen)
        for n in range(len(self.units)):
            for units in itertools.combinations(self.units, n):
                if sum(costs[unit] for unit in units) < most and does(units):
                    return [f"{units} would do"]
        return []

    def _each(self) -> list[tuple[str, list[int]]]:
        """Return every feature with its columns."""
        return list(self.features.items())

    def _look(self, row: list[Any], extra: list[float]) -> None:
        """Ask the model about every combination of values on and beside thresholds, of the row, and of these."""
        axes = [self._axis(j, row[j], extra) for j in range(len(row))]
        key = tuple(axis.tobytes() for axis in axes)
        if key not in self._labels:
            if len(self._labels) >= _KEPT:
                self._labels.clear()
            grid = [part.ravel() for part in np.meshgrid(*axes, indexing="ij")]
            self._labels[key] = grid, np.array(list(map(str, self.predict(np.column_stack(grid)).tolist())))
        self.grid, self.labels = self._labels[key]

    def _label(self, row: list[Any]) -> str:
        """Return the label that the model gives a row."""
        return str(self.predict(np.array([[self._code(j, value) for j, value in enumerate(row)]]))[0])

    def _code(self, column: int, value: Any) -> float:
        """Return a value as a number: a category by its index, a missing value as nan."""
        categories = self._column(column).categories
        return float("nan") if value is None else float(value if categories is None else categories.index(value))

    def _column(self, j: int) -> tp.Column:
        return self.forest.columns[j]

    def _axis(self, j: int, own: Any, extra: list[float]) -> Any:
        """Return the values of a column that matter."""
        column = self._column(j)
        if column.categories is not None:
            return np.arange(float(len(column.categories)))
        dtype = self.forest.floats.dtype
        found = {0.0, 1.0, -1e30, 1e30, *(v for v in extra if abs(v) <= self.forest.floats.largest)}
        for cut in np.unique(self.forest.threshold[self.forest.feature == j]):
            found |= {float(np.nextafter(dtype(cut), dtype(9e30))), float(np.nextafter(cut, 9e30)), float(cut)}
        if own is not None:
            found.add(float(own))
        gap = [np.nan] if column.missing != "never" else []
        return np.array([*sorted(v for v in found if column.low <= v <= column.high), *gap])

    def _read(self, text: str) -> float:
        """Return a printed number as the model reads it."""
        with np.errstate(over="ignore"):
            return float(self.forest.floats.dtype(float(text)))

    def _at(self, i: int, columns: list[int]) -> tuple[float, ...]:
        return tuple(float(self.grid[c][i]) for c in columns)

    def _equals(self, columns: list[int], values: Any) -> Any:
        return np.all([self.grid[c] == v for c, v in zip(columns, values, strict=True)], axis=0)

    def _same(self, columns: list[int]) -> Any:
        """Return where these columns have the row's values."""
        return np.all([self._is(c, self.row[c]) for c in columns], axis=0)

    def _is(self, column: int, value: Any) -> Any:
        return np.isnan(self.grid[column]) if value is None else self.grid[column] == self._code(column, value)

    def _place(self, row: list[Any]) -> int:
        return int(np.flatnonzero(np.all([self._is(c, v) for c, v in enumerate(row)], axis=0))[0])

    def _of_row(self, mask: Any, columns: list[int]) -> bool:
        return bool(mask[self._same(columns)].all())

    def _show(self, where: Any) -> str:
        i = int(np.flatnonzero(where)[0])
        return f"{[float(column[i]) for column in self.grid]}, which has the label {self.labels[i]}"

    def _subject(self, line: str) -> str:
        """Return the feature that a condition is about."""
        words = line.split(" or ", maxsplit=1)[0]
        for feature, columns in self._each():
            if len(columns) > 1 and words.removesuffix(" = 1") in feature.split("/"):
                return feature
        match = re.fullmatch(rf"(?:{NUMBER} <= )?(.+?) (?:<= {NUMBER}|>= {NUMBER}|is .*)", words)
        if not match:
            raise NotUnderstoodError(line)
        return match[1]

    def _condition(self, line: str, as_written: bool = False) -> Any:
        """Return where a printed condition holds, with its numbers as the model reads them or as they are written."""
        read = float if as_written else self._read
        inside, subject = np.zeros(len(self.grid[0]), dtype=bool), self._subject(line)
        for part in line.split(" or "):
            words = part.removeprefix(f"{subject} is ")
            match = re.fullmatch(rf"(?:({NUMBER}) <= )?.+? <= ({NUMBER})", part)
            if match or " >= " in part:
                low, high = match.groups() if match else (part.rpartition(" ")[2], None)
                column = self.grid[self.names.index(subject)]
                inside |= (column >= read(low or "-inf")) & (column <= read(high or "inf"))
            elif words == "any number":
                inside |= ~np.isnan(self.grid[self.names.index(subject)])
            else:
                inside |= np.all([self._is(c, v) for c, v in self._assigned(subject, words)], axis=0)
        return inside

    def _assigned(self, feature: str, words: str) -> list[tuple[int, Any]]:
        """Return the columns of a feature, each with the value that the words say; ``a = 1`` if one of some is 1."""
        columns = self.features[feature]
        if len(columns) > 1:
            one = self.names.index(words.removesuffix(" = 1"))
            return [(column, float(column == one)) for column in columns]
        (column,) = columns
        return [(column, self._value(column, words))]

    def _value(self, column: int, text: str) -> Any:
        categories = self._column(column).categories
        if categories is None:
            return None if text == "missing" else self._read(text)
        (found,) = [c for c in categories if text in (c, json.dumps(c)) and (text != c or c != "None")]
        return found

    def _declared(self, line: str) -> Any:
        """Return where what is declared of inputs holds."""
        if line.startswith("always "):
            parts = re.split(
                r" or (?=[^ ]+(?: changed)? (?:<=|>=|is)|\S+ <= [^ ]+(?: changed)? <=)", line.removeprefix("always ")
            )
            return np.any([self._condition(part) for part in parts], axis=0)
        names, _, words = line.partition(": ")
        if _ONE_OF in line:
            return self._condition(line.partition(_ONE_OF)[2])
        subjects = [f for f, _ in self._each()] if names == "every feature" else names.split(", ")
        inside = np.ones(len(self.grid[0]), dtype=bool)
        for subject in subjects:
            column = self.grid[self.names.index(subject.split("/")[0])]
            if words == "only whole numbers":
                inside &= np.isnan(column) | (column == np.floor(column))
            elif words == "not missing":
                inside &= ~np.isnan(column)
            elif match := re.fullmatch(rf"only from ({NUMBER}) to ({NUMBER})", words):
                inside &= np.isnan(column) | ((column >= self._read(match[1])) & (column <= self._read(match[2])))
            elif words.startswith("only "):  # values
                inside &= self._condition(f"{subject} is {words.removeprefix('only ')}")
            else:
                raise NotUnderstoodError(line)
        return inside

    def _read_row(self, texts: list[str]) -> list[Any]:
        row: list[Any] = [None] * len(self.names)
        for text in texts:
            name, _, words = text.partition(" = ")
            joined = name not in self.features
            feature = self._subject(text) if joined else name
            for column, value in self._assigned(feature, text if joined else words):
                row[column] = value
        return row


_ONE_OF = ": exactly one is 1, the others are 0: "
_COMPLETE = (
    r"these are all minimal sets of features whose values in the row (force|rule out) the label (.+?) \(reasons\), and "
    r"all minimal sets whose change alone can give (.+?) \(changes\)( within the ranges around the instance)?"
)
_AUDIT = r"of (\d+) rows?, a change of (.*) alone gives another label in (\d+); in (\d+) none does"
NUMBER = r"-?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf)"
