"""Certificates that were altered, or put together from others; what is accepted is judged by enumeration.

The judge reads what the checker prints, as a person would, and asks the model's own predict about every combination of
values on and beside thresholds. It knows neither the format of certificates nor the checker's code; a sentence that it
does not understand is a failure, so that it cannot fall behind.
"""

from __future__ import annotations

import gzip
import itertools
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import treeproof as tp
from attack.mutate import copied, damaged_bytes, damaged_json, same_place, twice
from attack.rounds import Round
from treeproof import checker
from treeproof.model.decision import Sums
from treeproof.model.files import forest_to_json
from treeproof.model.floats import FLOATS

VALUES = {
    "near ties": [0.0, 0.1, 0.2, 0.3, -0.1, -0.3, 0.5, 1e-9, 0.1 + 1e-9, 0.7],
    "cancelling": [1e16, -1e16, 1.0, -1.0, 3.0, 0.5, 1e8, -1e8, 0.0, 2.0**-30],
    "subnormal": [5e-324, -5e-324, 1e-310, -1e-310, 1e-45, -1e-45, 3e-39, 0.0, 2.5e-323, 1.4e-45],
    "overflowing": [1e308, -1e308, 1.7e308, 3e38, -3e38, 1.0, 0.0, -1.7e308, 1e300, 1.2e38],
    "votes": [0.0, 1.0],
}
CUTS = [0.0, 0.5, float(np.float32(0.1)), 2.0]
LABELS = ["no", "yes", "perhaps"]
COLOURS = ("red", "green", "None")
Predict = Callable[[list[list[Any]]], list[Any]]
ASKED: list[Callable[[tp.Explainer, list[Any], Any], Any]] = [  # results with certificates, about a row
    lambda explainer, x, other: explainer.abductive(x),
    lambda explainer, x, other: explainer.abductive(x, inflate=True),
    lambda explainer, x, other: explainer.abductive(x, minimum=True, cost={1: 2}),
    lambda explainer, x, other: explainer.contrastive(x),
    lambda explainer, x, other: explainer.contrastive(x, minimum=True),
    lambda explainer, x, other: explainer.abductive(x, within=0.5),
    lambda explainer, x, other: next(iter(explainer.enumerate(x, kind="abductive", target=other, limit=1))),
]


@dataclass
class World:
    """A model, its own predict, and certificates about it, all of them right."""

    forest: tp.Forest
    predict: Predict
    honest: list[Any]
    forged: list[Any]  # certificates about almost the same model, that name this one


def attack(round: Round) -> None:
    """Alter certificates of one model; judge what is accepted."""
    world = make_world(round)
    if not world.honest:
        round.counts["models without certificates"] += 1
        return
    model = checker.Model(forest_to_json(world.forest))
    judge = Judge(world.forest, world.predict)
    every = world.honest + world.forged
    for document in every:
        _try(round, judge, model, document, "honest" if document in world.honest else "of another model")
    for _ in range(50 * round.n_cases):
        start = every[round.rng.integers(len(every))]
        if round.rng.random() < 0.15:
            document, how = put_together(round.rng, every), "put together"
        else:
            document, how = damaged_json(round.rng, start, every), "altered"
        _try(round, judge, model, document, how)
    for _ in range(3):
        _try_file(round, world, every[round.rng.integers(len(every))])


def _try(round: Round, judge: Judge, model: Any, document: Any, how: str) -> None:
    round.counts[how] += 1
    checked = None
    with round.case(f"{how} certificate"):
        checked = checker.check(document, model, budget=10**7)
    if checked is None:
        if how == "honest" and not judge.excused:
            round.fail(f"an honest certificate is rejected: {json.dumps(document)}")
        return
    round.counts["accepted"] += 1
    for problem in judge.verdict(checked)[:1]:
        text = forest_to_json(judge.forest)
        path = f"/tmp/attack-{round.seed}-{round.number}-{round.counts['false']}.json"
        Path(path).write_text(json.dumps([document, text]))
        round.counts["false"] += 1
        round.fail(f"{how}: {problem}\n{checked}\nmodel and certificate in {path}")


def _try_file(round: Round, world: World, document: Any) -> None:
    """A certificate in a file: damaged bytes, packed, or a bomb."""
    rng, path, model = round.rng, round.folder / "certificate.json", round.folder / "model.json"
    tp.save_forest(world.forest, model)
    content = json.dumps(document).encode()
    match int(rng.integers(5)):
        case 0:
            content = damaged_bytes(rng, content)
        case 1:
            content = damaged_bytes(rng, gzip.compress(content))
        case 2:
            content = gzip.compress(content[:-1] + b" " * int(rng.choice([0, 10**6, 3 * 10**8])) + b"}", 1)
        case 3:
            content = twice(rng, document).encode()
        case 4:
            content = content.replace(b"[", b"[" * int(rng.choice([1, 900, 100_000])), 1)
    path.write_bytes(content)
    with round.case("certificate file"):
        tp.check(path, model)
    printed = round.command("check", ["check", str(path), str(model)], codes=(0, 2, 3))
    round.require(not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", printed), f"control characters: {printed!r}")


def put_together(rng: np.random.Generator, documents: list[Any]) -> Any:
    """Return a certificate whose parts come from several."""
    document = copied(documents[rng.integers(len(documents))])
    for _ in range(int(rng.integers(2, 8))):
        place = same_place(documents, document, rng)
        if place is not None:
            place[0][place[1]] = copied(place[2])
    return document


def make_world(round: Round) -> World:
    """Return a random model with certificates of every kind."""
    rng = round.rng
    if rng.random() < 0.25:
        forest, predict = _fitted(rng)
    else:
        forest = hostile_forest(rng)
        predict = lambda rows: forest.predict(rows).tolist()  # noqa: E731
    honest = _certificates(round, forest)
    forged = []
    if honest:
        name = _fingerprint(honest[0])
        for _ in range(2):
            for document in _certificates(round, _neighbour(rng, forest)):
                text = json.dumps(document).replace(_fingerprint(document), name)
                forged.append(json.loads(text))
    return World(forest, predict, honest, forged)


def _fingerprint(document: Any) -> str:
    return re.findall(r'"([0-9a-f]{64})"', json.dumps(document))[0]


def hostile_forest(rng: np.random.Generator) -> tp.Forest:
    """Return a few small trees over three columns whose sums are hard for floats."""
    pool = VALUES[str(rng.choice(list(VALUES)))]
    vote = str(rng.choice(["majority", "mean", "sum", "sum", "sum"]))
    n_classes, n_trees = int(rng.integers(2, 4)), int(rng.integers(1, 7))
    columns: list[Any] = [tp.Column(f"c{j}", missing="expected" if rng.random() < 0.3 else "never") for j in range(3)]
    if rng.random() < 0.3:
        columns[0] = tp.Column("c0", COLOURS)
    numeric = [column.name for column in columns if column.categories is None]
    numbers = str(rng.choice(["float32", "float64"]))
    floats, sums, n_sums = FLOATS[numbers], None, n_classes
    if vote == "sum":
        n_sums = 1 if rng.random() < 0.5 else n_classes
        start = tuple(map(_finite(floats), rng.choice(pool, n_sums)))
        divisor = floats.round(float(rng.choice([1, 1, 3, 0.7, 2.0**-20])))
        cuts = tuple(sorted({_finite(floats)(v) for v in rng.choice(pool, n_classes - 1)})) if n_sums == 1 else None
        softmax = bool(cuts is None and divisor == 1 and rng.random() < 0.4)
        n_classes = n_classes if cuts is None else len(cuts) + 1
        sums = Sums(start, numbers, divisor, cuts, softmax)

    def tree(depth: int) -> Any:
        if depth == 0 or rng.random() < 0.1:
            if vote == "majority":
                return int(rng.integers(n_classes))
            if vote == "mean":
                values = rng.integers(0, 4, n_classes) + 1e-3
                return tp.leaf(list(values / values.sum()))
            return tp.leaf([_finite(floats)(v) for v in rng.choice(pool, n_sums)])
        parts = tree(depth - 1), tree(depth - 1)
        if columns[0].categories and rng.random() < 0.3:
            return tp.isin("c0", [c for c in COLOURS if rng.random() < 0.5], *parts)
        side = str(rng.choice(["yes", "no"]))
        return tp.split(str(rng.choice(numeric)), float(rng.choice(CUTS)), *parts, missing=side)

    return tp.build_forest(
        [tree(2) for _ in range(n_trees)],
        columns=columns,
        classes=LABELS[:n_classes] if vote != "majority" else list(range(n_classes)),
        vote=vote,
        dtype=str(rng.choice(["float32", "float64"])),
        sums=sums,
    )


def _finite(floats: Any) -> Callable[[float], float]:
    """Return a function that gives the nearest finite number."""

    def nearest(value: float) -> float:
        with np.errstate(over="ignore"):
            rounded = floats.round(float(value))
        return float(rounded) if np.isfinite(rounded) else float(np.copysign(floats.largest, value))

    return nearest


def _fitted(rng: np.random.Generator) -> tuple[tp.Forest, Predict]:
    """Return a model of scikit-learn, imported, and its own predict."""
    from sklearn import ensemble, tree

    X = rng.choice([0.0, 0.1, 0.25, 0.5, 1.0], (40, 3))
    y = np.array(LABELS)[rng.integers(0, int(rng.integers(2, 4)), 40)]
    seed = int(rng.integers(2**31))
    models = [
        tree.DecisionTreeClassifier(max_depth=3, random_state=seed),
        ensemble.RandomForestClassifier(4, max_depth=2, random_state=seed),
        ensemble.GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=seed),
        ensemble.AdaBoostClassifier(n_estimators=3, random_state=seed),
    ]
    model = models[rng.integers(len(models))].fit(X, y)
    return tp.import_model(model), lambda rows: model.predict(np.array(rows, dtype=float)).tolist()


def _neighbour(rng: np.random.Generator, forest: tp.Forest) -> tp.Forest:
    """Return a forest with one value, threshold or start moved, often by the least that is possible."""
    floats = forest.floats if forest.sums is None else forest.sums.floats
    values, threshold = forest.values.copy(), forest.threshold.copy()
    leaf = int(rng.choice(np.flatnonzero(forest.feature < 0)))
    way = float(rng.choice([-1, 1])) * floats.largest
    if rng.random() < 0.3 and (forest.feature >= 0).any():
        split = int(rng.choice(np.flatnonzero(forest.feature >= 0)))
        threshold[split] = forest.floats.round(float(rng.choice(CUTS))) if np.isfinite(threshold[split]) else np.nan
    elif forest.vote == "sum":
        moved = floats.dtype(values[leaf, 0])
        values[leaf, 0] = np.nextafter(moved, floats.dtype(way)) if rng.random() < 0.6 else rng.choice(values[:, 0])
    else:
        values[leaf] = np.roll(values[leaf], 1)
    return replace(forest, values=values, threshold=threshold)


def _certificates(round: Round, forest: tp.Forest) -> list[Any]:
    """Return certificates of all kinds of results about two rows, in two spaces."""
    rng, found = round.rng, []
    for _ in range(2):
        row = [_any_value(rng, column) for column in forest.columns]
        options: dict[str, Any] = {}
        numeric = [j for j, column in enumerate(forest.columns) if column.categories is None and row[j] is not None]
        if numeric and rng.random() < 0.4:
            name = forest.columns[numeric[0]].name
            value = row[numeric[0]]
            options["bounds"] = {name: (min(value, -1), max(value, 1))}
        if numeric and rng.random() < 0.3 and float(row[numeric[-1]]).is_integer():
            options["kinds"] = {forest.columns[numeric[-1]].name: "integer"}
        if rng.random() < 0.2:
            options["groups"] = {"g": ["c0", "c2"]} if forest.columns[0].name == "c0" else {"g": ["x0", "x2"]}
        try:
            explainer = tp.Explainer(forest, tabulate=False, **options)
            label = explainer.abductive(row).label
            other = [k for k in forest.classes.tolist() if k != label][-1]
            for ask in ASKED:
                try:
                    found.append(json.loads(ask(explainer, row, other).certificate().text))
                except (tp.UnsupportedQueryError, StopIteration):
                    round.counts["without certificate"] += 1
        except tp.InputError:
            round.counts["without certificate"] += 1
    return found


def _any_value(rng: np.random.Generator, column: tp.Column) -> Any:
    if column.categories is not None:
        return column.categories[rng.integers(len(column.categories))]
    if column.missing == "expected" and rng.random() < 0.2:
        return None
    base = float(rng.choice([*CUTS, 1.0, -3.0]))
    return float(rng.choice([base, np.nextafter(np.float32(base), np.float32(9)), base]))


class NotUnderstoodError(Exception):
    """The judge cannot read what was printed."""


class Judge:
    """Reads a printed claim and looks at all inputs whether it is true."""

    def __init__(self, forest: tp.Forest, predict: Predict) -> None:
        self.forest, self.predict = forest, predict
        self.names = [column.name for column in forest.columns]
        self.excused = forest.sums is not None and forest.sums.softmax  # near ties of a softmax cannot all be proved
        self._labels: dict[Any, tuple[list[Any], Any]] = {}
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
        row = self._read_row(checked.row)
        self.row = row
        self.units = {name: [name] for name in self._features(checked)}
        for line in checked.groups:
            name, _, members = line.partition(": ")
            for member in members.split(", "):
                self.units.pop(member)
            self.units[name] = members.split(", ")
        texts = [*checked.conditions, *checked.around, *checked.space]
        self._look(row, [float(n) for text in texts for n in re.findall(_NUMBER, text)])
        self.space = np.ones(len(self.labels), dtype=bool)
        for line in checked.space:
            self.space &= self._declared(line)
        self.own = str(self.predict([row])[0])
        self.around = {self._subject(line): self._condition(line) for line in checked.around}
        if checked.text.startswith("a change of "):
            return self._change(checked)
        return self._reason(checked)

    def _features(self, checked: Any) -> list[str]:
        """Return the features, each with its columns joined by a slash."""
        found = []
        for text in checked.row:
            columns = [part.rpartition(" = ")[0] for part in text.split(" and ")]
            found.append("/".join(columns))
        return found

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
            ok = np.array([self._is_own(v) for v in column])
            numbers = np.unique(column[self.space & ok & np.isfinite(column)])
            taken = np.unique(column[conditions[f] & self.space & ok & np.isfinite(column)])
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
        new = list(self.row)
        for line in checked.conditions:
            name, _, values = line.partition(": ")
            for column, value in self._assigned(name, values.partition(" -> ")[2]):
                new[column] = value
            if not any(name in self.units[unit] for unit in chosen):
                problems.append(f"{name} is changed too")
        if str(self.predict([new])[0]) != label:
            problems.append(f"the change gives the label {self.predict([new])[0]}")
        if label == self.own:
            problems.append("the change gives the label of the row")
        self._look(self.row, [v for v in new if isinstance(v, float)])
        space = np.ones(len(self.labels), dtype=bool)
        for line in checked.space:
            space &= self._declared(line)
        self.space = space
        self.around = {self._subject(line): self._condition(line) for line in checked.around}
        at = self._place(new)
        if not self.space[at] or any(not mask[at] for mask in self.around.values()):
            problems.append("the change leaves the space or the ranges")
        that = "does not give that label" in checked.text
        target = label if that else None
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
            elif target is None and len(chosen) == 1 and self._has_target(part):
                continue  # which label is meant is not said
            else:
                problems += self._cheaper(part.removesuffix(" within the ranges around the instance"), chosen, gives)
        return problems

    def _has_target(self, part: str) -> bool:
        return part == "no smaller set does"  # than one feature: none at all, which changes nothing

    def _cheaper(self, part: str, chosen: list[str], does: Callable[[Any], bool]) -> list[str]:
        costs = dict.fromkeys(self.units, 1)
        if part != "no smaller set does":
            match = re.fullmatch(r"no set that costs less than (\d+) does \(costs: (.*)\)", part)
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
        features = [f for unit in self.units.values() for f in unit]
        return [(f, [self.names.index(name) for name in f.split("/")]) for f in features]

    def _look(self, row: list[Any], extra: list[float]) -> None:
        """Ask the model about every combination of values on and beside thresholds, of the row, and of these."""
        key = (tuple(map(str, row)), tuple(sorted(set(extra))))
        if key not in self._labels:
            axes = [self._axis(j, row[j], extra) for j in range(len(row))]
            rows = [list(values) for values in itertools.product(*axes)]
            self._labels = {key: (rows, np.array([str(label) for label in self.predict(rows)]))}
        self.rows, self.labels = self._labels[key]
        self.grid = []
        for j, column in enumerate(self.forest.columns):
            values = [row[j] for row in self.rows]
            if column.categories is None:
                self.grid.append(np.array([np.nan if v is None else v for v in values], dtype=float))
            else:
                self.grid.append(np.array([column.categories.index(v) for v in values], dtype=float))

    def _axis(self, j: int, own: Any, extra: list[float]) -> list[Any]:
        column = self.forest.columns[j]
        if column.categories is not None:
            return list(column.categories)
        dtype = self.forest.floats.dtype
        found = {0.0, 1.0, -1e30, 1e30, *(v for v in extra if abs(v) <= self.forest.floats.largest)}
        for cut in np.unique(self.forest.threshold[self.forest.feature == j]):
            found |= {float(np.nextafter(dtype(cut), dtype(9e30))), float(np.nextafter(cut, 9e30)), float(cut)}
        if own is not None:
            found.add(float(own))
        gap = [None] if column.missing != "never" else []
        return [*sorted(v for v in found if column.low <= v <= column.high), *gap]

    def _read(self, text: str) -> float:
        """Return a printed number as the model reads it."""
        with np.errstate(over="ignore"):
            return float(self.forest.floats.dtype(float(text)))

    def _is_own(self, value: float) -> bool:
        """Return whether a number is one of the model's."""
        return self._read(repr(float(value))) == value

    def _at(self, i: int, columns: list[int]) -> tuple[float, ...]:
        return tuple(float(self.grid[c][i]) for c in columns)

    def _equals(self, columns: list[int], values: Any) -> Any:
        return np.all([self.grid[c] == v for c, v in zip(columns, values, strict=True)], axis=0)

    def _same(self, columns: list[int]) -> Any:
        """Return where these columns have the row's values."""
        return np.all([self._is(c, self.row[c]) for c in columns], axis=0)

    def _is(self, column: int, value: Any) -> Any:
        if value is None:
            return np.isnan(self.grid[column])
        categories = self.forest.columns[column].categories
        return self.grid[column] == (value if categories is None else categories.index(value))

    def _place(self, row: list[Any]) -> int:
        return int(np.flatnonzero(np.all([self._is(c, v) for c, v in enumerate(row)], axis=0))[0])

    def _of_row(self, mask: Any, columns: list[int]) -> bool:
        return bool(mask[self._same(columns)].all())

    def _show(self, where: Any) -> str:
        i = int(np.flatnonzero(where)[0])
        return f"{self.rows[i]}, which has the label {self.labels[i]}"

    def _subject(self, line: str) -> str:
        """Return the feature that a condition is about."""
        words = line.split(" or ", maxsplit=1)[0]
        match = re.fullmatch(rf"(?:{_NUMBER} <= )?(\S+) (?:<= {_NUMBER}|>= {_NUMBER}|is .*)", words)
        if not match:
            raise NotUnderstoodError(line)
        return match[1]

    def _condition(self, line: str, as_written: bool = False) -> Any:
        """Return where a printed condition holds, with its numbers as the model reads them or as they are written."""
        read = float if as_written else self._read
        inside, subject = np.zeros(len(self.labels), dtype=bool), self._subject(line)
        for part in line.split(" or "):
            words = part.removeprefix(f"{subject} is ")
            match = re.fullmatch(rf"(?:({_NUMBER}) <= )?\S+ <= ({_NUMBER})", part)
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
        """Return the columns of a feature, each with the value that the words say: ``a = 1 and b = 0``, or one."""
        if " = " in words:
            pairs = [part.split(" = ") for part in words.split(" and ")]
            return [(self.names.index(name), self._read(value)) for name, value in pairs]
        column = self.names.index(feature)
        return [(column, self._value(column, words))]

    def _value(self, column: int, text: str) -> Any:
        categories = self.forest.columns[column].categories
        if categories is None:
            return None if text == "missing" else self._read(text)
        (found,) = [c for c in categories if text in (c, json.dumps(c)) and (text != c or c != "None")]
        return found

    def _declared(self, line: str) -> Any:
        """Return where what is declared of inputs holds."""
        if line.startswith("always "):
            parts = re.split(r" or (?=[^ ]+ (?:<=|>=|is)|\S+ <= \S+ <=)", line.removeprefix("always "))
            return np.any([self._condition(part) for part in parts], axis=0)
        names, _, words = line.partition(": ")
        subjects = [f for f, _ in self._each()] if names == "every feature" else names.split(", ")
        inside = np.ones(len(self.labels), dtype=bool)
        for subject in subjects:
            column = self.grid[self.names.index(subject.split("/")[0])]
            if words == "only whole numbers":
                inside &= np.isnan(column) | (column == np.floor(column))
            elif words == "not missing":
                inside &= ~np.isnan(column)
            elif match := re.fullmatch(rf"only from ({_NUMBER}) to ({_NUMBER})", words):
                inside &= np.isnan(column) | ((column >= self._read(match[1])) & (column <= self._read(match[2])))
            elif words.startswith("only "):
                inside &= self._condition(f"{subject} is {words.removeprefix('only ')}")
            else:
                raise NotUnderstoodError(line)
        return inside

    def _read_row(self, texts: list[str]) -> list[Any]:
        row: list[Any] = [None] * len(self.names)
        for text in texts:
            name, _, words = text.partition(" = ")
            if " and " in text:
                for column, value in self._assigned("", text):
                    row[column] = value
            else:
                column = self.names.index(name)
                row[column] = self._assigned(name, words)[0][1]
        return row


_NUMBER = r"-?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf)"
