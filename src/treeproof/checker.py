"""An independent checker of treeproof's certificates: this one file, Python's standard library, nothing else.

It trusts neither the solver nor the C++ core nor the rest of the package, and imports none of it. It reads the model
(the JSON of a treeproof Forest) and the certificate, evaluates the model where the certificate names inputs, and
recomputes every bound. What it relies on is stated below, in the order in which it is used. Run it alone:

    python checker.py certificate.json forest.json

The claim. With some features kept in some of their cells, whatever the others are, the model's label stays (or never
becomes a `target`). A cell is a set of values that no split of the model tells apart; `Feature.left_cells` checks that
it is. Or: a change of some features, with all others as they are, gives another label (the target), and a change of
fewer of them does not. "Whatever" means every input of the space that the certificate declares; if it states cells
`around` the instance, features that are not kept stay in these. `Checked` says in words what was proved: the
conditions, what the others stay in, and how the space is narrower than what the model takes.

The proof. For each other class k, a split tree of the box shows that no point of it has the label k. A split cuts the
box in two by one feature. A leaf is closed by one of four reasons:

  prices      Every split n of the model has two prices, alpha_n, beta_n >= 0. A tree pays alpha_n where it goes left at
              n and beta_n where it goes right; a cell of a feature earns what all splits of that feature pay for it. At
              any point, what a tree pays on its path is earned by the cells, and splits off the paths only earn. So
                  sum over trees of max over leaves (value - payments) + sum over features of max over cells (earnings)
              is at least the value at every point. If that is too little for k to win, k does not win.
  evaluated   Every tree has one value left in the box; the model's own arithmetic on these values gives another label.
  broken      A declared constraint between features is violated in the whole box.
  listed      The box has few points; each is evaluated.

The witnesses. For each kept feature an input that agrees with the conditions on all other kept features and has another
label: none of the features can be dropped. If that input lies in the cell next to the condition, it cannot be widened.

The smallest. An input with another label differs from the instance in some features; every set of features that forces
the label has one of these. So it costs at least as much as the cheapest features that meet all such sets (`is_met`).
Likewise every change has a feature of each set of features that is proved to force the label.

Exactness. Leaf values are floats, which are fractions of integers; sums and bounds are computed as such. The model adds
in float32 or float64, which rounds: its sums keep the order of exact sums that differ by more than `Model.error`, a
bound of that rounding (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 4.2). Where all leaves in
play are multiples of one power of two that float sums hold exactly, no rounding takes place.
"""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import math
import struct
import sys
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, Literal

RIVAL, ORDERED, SET, PRICES, EVALUATED, BROKEN, LISTED = range(1, 8)
LENGTHS = {PRICES: 3, EVALUATED: 0, BROKEN: 1, LISTED: 0}  # of the steps that close a box: how many numbers follow
PURE, EXACT, ROUNDED = range(3)  # leaves: a vote for one class; other values that add up exactly; all others
UNIT = {"float32": 24, "float64": 53}  # a sum is rounded by at most 2**-this of its size
SMALLEST = {"float32": 149, "float64": 1074}  # every number is a multiple of 2**-this
LARGEST = {"float32": (2 - 2**-23) * 2.0**127, "float64": sys.float_info.max}
MOST_BYTES = 2**30  # of an unpacked certificate
MOST_POINTS = 2**16  # of a box that is listed
MOST_STEPS = 10**6  # of a search for features that meet all sets

CERTIFICATE_KEYS = {"format", "version", "model", "features", "clauses", "instance", "label", "claim"}
CERTIFICATE_KEYS |= {"target", "minimum"}
REASON_KEYS = CERTIFICATE_KEYS | {"box", "witnesses", "wider", "proof"}
CHANGE_KEYS = CERTIFICATE_KEYS | {"changed", "witness", "proofs"}
COLUMN_KEYS = {"name", "categories", "missing", "date", "gap", "other", "other_expected", "low", "high"}
MODEL_KEYS = {"format", "version", "vote", "classes", "columns", "importances", "subsets", "roots", "feature"}
MODEL_KEYS |= {"subset", "left", "right", "threshold", "values"}
NEW_MODEL_KEYS = {"missing_left", "numbers", "sums"}  # since version 2


class CheckError(Exception):
    """The certificate does not prove its claim; the message says why."""


DAMAGED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, MemoryError)


def require(condition: Any, message: str) -> None:
    """Raise CheckError unless the condition is true."""
    if not condition:
        raise CheckError(message)


@dataclass
class Checked:
    """What a certificate proves, once it has been checked; it prints as that.

    `text` says it in words and `conditions` has the conditions, in the checker's own reading of certificate and model.
    `leaves` is the number of boxes that the proofs close. `space` has what is declared of inputs beyond what the model
    takes; if it is empty, the claim is about all of them.
    """

    text: str
    leaves: int
    conditions: list[str]  # that force the label; or the changes that give another one
    space: list[str]  # what is declared of inputs beyond what the model takes; empty: the claim is about all of them
    around: list[str] = field(default_factory=list)  # what features without a condition stay in; empty: whatever

    @property
    def lines(self) -> list[tuple[Literal["proved", "condition", "note"], str]]:
        """What it says, line by line, each with its role."""
        boxes = "1 closed box" if self.leaves == 1 else f"{self.leaves} closed boxes"
        lines: list[tuple[Literal["proved", "condition", "note"], str]] = [
            ("proved", f"Checked: {self.text} ({boxes})."),
            *(("condition", line) for line in self.conditions),
        ]
        if self.around:
            lines.append(("note", "A feature without a condition, or with its condition dropped, stays in this range:"))
            lines += [("condition", line) for line in self.around]
        if self.space:
            lines.append(("note", "Only inputs of the declared space are meant:"))
            lines += [("condition", line) for line in self.space]
        return lines

    def __str__(self) -> str:
        return "\n".join(f"  {text}" if role == "condition" else text for role, text in self.lines)


def check(certificate: Any, model: str | Model) -> Checked:
    """Check a certificate, as JSON text or parsed, against a model; CheckError says why it fails.

    The model is the JSON text of a Forest or, to read it only once for many certificates, ``Model(text)``.
    """
    try:
        document = parse(certificate) if isinstance(certificate, str) else certificate
        return _check(document, Model(model) if isinstance(model, str) else model)
    except DAMAGED as error:
        raise CheckError(f"The certificate or the model is damaged: {type(error).__name__}: {error}.") from error


def _check(certificate: Any, model: Model) -> Checked:
    require(certificate["format"] == "treeproof-certificate", "This is not a treeproof certificate.")
    version, claim = certificate["version"], certificate["claim"]
    require(type(version) is int and version == 1, f"The version must be 1, not {version!r}.")
    require(claim in ("minimal", "sufficient", "change"), f"Unknown claim {claim!r}.")
    keys = CHANGE_KEYS if claim == "change" else REASON_KEYS
    keys = keys | ({"around"} & set(certificate) if claim != "change" else set())  # only a reason may be local
    require(set(certificate) == keys, f"Unknown or missing fields: {sorted(set(certificate) ^ keys)}.")
    same = certificate["model"] == model.fingerprint
    require(same, "The certificate is about another model: the fingerprints differ.")
    space = Space(model, certificate["features"], certificate["clauses"])
    row, at = space.point(certificate["instance"], "The instance")
    label, given = model.label(row), certificate["label"]
    require(type(given) is int and given == label, f"The model gives the instance the label {label}, not {given!r}.")
    target = certificate["target"]
    known = target is None or (type(target) is int and 0 <= target < model.n_classes and target != label)
    require(known, f"The target must be the index of another class, or null, not {target!r}.")
    excluded = set(range(model.n_classes)) - {label} if target is None else {target}
    if claim == "change":
        return _check_change(certificate, space, row, at, excluded)
    return _check_reason(certificate, space, at, label, excluded)


def _check_reason(certificate: Any, space: Space, instance: list[int], label: int, excluded: set[int]) -> Checked:
    """Features whose conditions exclude labels; if they are said to be minimal, none can be dropped."""
    minimal, model = certificate["claim"] == "minimal", space.model
    kept = {f: space.mask(f, cells) for f, cells in space.by_feature(certificate["box"]).items()}
    inside = all(mask >> instance[f] & 1 for f, mask in kept.items())
    require(inside, "The instance lies outside the claimed conditions.")
    near = _read_around(certificate, space, instance)
    around = [near.get(f, feature.all) for f, feature in enumerate(space.features)]
    box = [kept.get(f, mask) for f, mask in enumerate(around)]
    leaves = Proof(space, certificate["proof"]).check(box, excluded)

    def cell_of_witness(f: int, given: Any, cells: int) -> int:
        """Return the cell that a witness has for a feature, one of these; it must break the condition on it alone."""
        row, at = space.point(given, f"The witness of feature {f}")
        require(cells >> at[f] & 1, f"The witness of feature {f} leaves the range around the instance.")
        for other, mask in enumerate(box):
            allowed = other == f or mask >> at[other] & 1
            what = "condition on" if other in kept else "range of"
            require(allowed, f"The witness of feature {f} leaves the {what} {other} too.")
        got = model.label(row)
        require(got in excluded, f"The witness of feature {f} shows nothing: it has the label {got}.")
        return at[f]

    witnesses, wider = space.by_feature(certificate["witnesses"]), certificate["wider"]
    expected = set(kept) if minimal else set()
    require(set(witnesses) == expected, "There must be a witness for each feature of a minimal set, and for no other.")
    for f, given in witnesses.items():
        cell_of_witness(f, given, around[f])
    if wider is not None:
        by_feature = space.by_feature(wider)
        require(set(by_feature) == set(kept), "There must be witnesses beside each condition, and beside no other.")
        for f, rows in by_feature.items():
            beside = space.features[f].beside(kept[f]) - {
                cell_of_witness(f, row, space.features[f].all) for row in rows
            }
            require(not beside, f"The condition on feature {f} may be widened to the cells {sorted(beside)}.")
    names = ", ".join(space.features[f].name for f in sorted(kept)) or "no feature at all"
    one = len(kept) < 2
    text = f"{names} force{'s' * one} the label {model.names[label]}"
    if certificate["target"] is not None:
        text = f"{names} rule{'s' * one} out the label {model.names[certificate['target']]}"
    if near:
        text += f" as long as {'all others' if kept else 'all features'} stay in the ranges around the instance"
    if minimal and kept:
        text += "; it cannot be dropped" if one else "; none of them can be dropped"
    if wider is not None and kept:
        text += "; its condition cannot be widened" if one else "; no condition can be widened"
        text += ", but perhaps by missing values" if any(space.features[f].lacks_missing(kept[f]) for f in kept) else ""
    if certificate["minimum"] is not None:
        costs, changes = _read_minimum(certificate["minimum"], "changes", space)
        sets = []
        for given in changes:
            row, at = space.point(given, "A change")
            require(model.label(row) in excluded, "A change does not have another label.")
            inside = all(mask >> cell & 1 for mask, cell in zip(around, at, strict=True))
            require(inside, "A change leaves the ranges around the instance.")
            sets.append(sum(1 << f for f, cell in enumerate(at) if cell != instance[f]))
        text += _no_cheaper(sets, costs, set(kept), space)
    conditions, ranges = ([space.features[f].text(cells[f]) for f in sorted(cells)] for cells in (kept, near))
    return Checked(text, leaves, conditions, space.declared(), ranges)


def _read_around(certificate: Any, space: Space, instance: list[int]) -> dict[int, int]:
    """Return the cells that features without a condition stay in, by feature; one that is not named takes any."""
    around = {f: space.mask(f, cells) for f, cells in space.by_feature(certificate.get("around", {})).items()}
    inside = all(mask >> instance[f] & 1 for f, mask in around.items())
    require(inside, "The instance lies outside the ranges around it.")
    return around


def _check_change(certificate: Any, space: Space, old: list[float], instance: list[int], excluded: set[int]) -> Checked:
    """Features whose change, with all others as they are, gives an excluded label; that of fewer of them does not."""
    target, model = certificate["target"], space.model
    changed = {space.index(f) for f in certificate["changed"]}
    require(len(changed) == len(certificate["changed"]), "A feature is changed twice.")
    new, _ = space.point(certificate["witness"], "The witness")
    others = [c for f, feature in enumerate(space.features) if f not in changed for c in feature.columns]
    kept = all(new[c] == old[c] or (math.isnan(new[c]) and math.isnan(old[c])) for c in others)
    require(kept, "The witness changes other features.")
    got = model.label(new)
    require(got in excluded, f"The witness has the label {got}.")
    proofs = space.by_feature(certificate["proofs"])
    require(set(proofs) == changed, "There must be a proof for each changed feature, and for no other.")

    def check_with_free(free: set[int], proof: Any) -> int:
        box = [feature.all if f in free else 1 << instance[f] for f, feature in enumerate(space.features)]
        return Proof(space, proof).check(box, excluded)

    leaves = sum(check_with_free(changed - {f}, proof) for f, proof in proofs.items())
    features = [space.features[f] for f in sorted(changed)]
    text = f"a change of {', '.join(f.name for f in features)} alone gives the label {model.names[got]}"
    if len(changed) > 1:
        text += f"; a change of fewer of them alone does not give {'another' if target is None else 'that'} label"
    if certificate["minimum"] is not None:
        costs, reasons = _read_minimum(certificate["minimum"], "reasons", space)
        sets = []
        for reason in reasons:
            require(set(reason) == {"features", "proof"}, "A reason has features and a proof.")
            forcing = {space.index(f) for f in reason["features"]}
            leaves += check_with_free(set(range(len(space.features))) - forcing, reason["proof"])
            sets.append(sum(1 << f for f in forcing))
        text += _no_cheaper(sets, costs, changed, space)
    return Checked(text, leaves, [f"{f.name}: {f.show(old)} -> {f.show(new)}" for f in features], space.declared())


def _read_minimum(given: Any, what: str, space: Space) -> tuple[list[int], Any]:
    """Return the costs of the features, and the list of what every set that does must meet."""
    require(set(given) == {"costs", what}, f"A minimum has costs and {what}.")
    if given["costs"] is None:
        return [1] * len(space.features), given[what]
    costs = _ints(given["costs"], 1, 2**4096, "Costs")
    require(len(costs) == len(space.features), "There must be a cost for each feature.")
    return costs, given[what]


def _no_cheaper(sets: list[int], costs: list[int], chosen: set[int], space: Space) -> str:
    """Return in words that whatever meets all sets costs at least as much as the chosen features; CheckError if not."""
    total = sum(costs[f] for f in chosen)
    require(not is_met(sets, costs, total - 1), "The certificate does not exclude a smaller or cheaper set.")
    if set(costs) == {1}:
        return "; no smaller set does"
    named = ", ".join(f"{feature.name} {cost}" for feature, cost in zip(space.features, costs, strict=True))
    return f"; no set that costs less than {total} does (costs: {named})"


def is_met(sets: list[int], costs: list[int], budget: int) -> bool:
    """Return whether features that cost at most so much meet all sets, each given as bits of features."""
    todo = [(sets, budget)]
    for _ in range(MOST_STEPS):
        if not todo:
            return False
        sets, budget = todo.pop()
        sets = sorted(sets, key=int.bit_count)
        seen = bound = 0
        for one in sets:  # sets that share no feature are met one by one
            if not one & seen:
                seen |= one
                bound += min((costs[f] for f in _bits(one)), default=0)  # nothing meets an empty set
        if bound > budget:
            continue
        if not sets:
            return True
        without = 0
        for f in _bits(sets[0]):  # one of the smallest set's features is there: this one, and none before it
            if costs[f] <= budget:
                todo.append(([one & ~without for one in sets if not one >> f & 1], budget - costs[f]))
            without |= 1 << f
    raise CheckError("Deciding whether a smaller or cheaper set is excluded takes too long.")


class Space:
    """The features, their cells, and the constraints between them, as the certificate declares them for a model."""

    def __init__(self, model: Model, features: Any, clauses: Any) -> None:
        self.model = model
        self.features = _read_features(features, model)
        self.clauses = [[(self.index(f), self.mask(self.index(f), cells)) for f, cells in clause] for clause in clauses]
        owner = {column: f for f, feature in enumerate(self.features) for column in feature.columns}
        self.owner = [owner[column] if column >= 0 else -1 for column in model.feature]
        self.left_cells = [
            0 if f < 0 else self.features[f].left_cells(model, node) for node, f in enumerate(self.owner)
        ]

    def index(self, given: Any) -> int:
        """Return the index of a feature."""
        known = type(given) is int and 0 <= given < len(self.features)
        require(known, f"There is no feature {given!r}.")
        return int(given)

    def by_feature(self, given: Any) -> dict[int, Any]:
        """Return a JSON object whose keys are indices of features."""
        require(all(str(int(key)) == key for key in given), f"Keys must be indices of features, not {sorted(given)}.")
        return {self.index(int(key)): value for key, value in given.items()}

    def mask(self, f: int, given: Any) -> int:
        """Return cells of a feature as bits."""
        cells = _ints(given, 0, self.features[f].n_cells, f"Cells of feature {f}")
        require(cells and all(a < b for a, b in itertools.pairwise(cells)), f"Cells of feature {f} must ascend.")
        return sum(1 << c for c in cells)

    def point(self, given: Any, what: str) -> tuple[list[float], list[int]]:
        """Return a row, and its cells; it must lie in the space."""
        right = type(given) is list and len(given) == len(self.model.columns)
        require(right, f"{what} must have one value for each column.")
        row = [self.model.value(column, value) for column, value in enumerate(given)]
        at = [feature.cell(row) for feature in self.features]
        kept = all(any(cells >> at[f] & 1 for f, cells in clause) for clause in self.clauses)
        require(kept, f"{what} violates a constraint between features.")
        return row, at

    def declared(self) -> list[str]:
        """Return in words how the space is restricted, compared with what the model takes."""
        alike: dict[str, list[str]] = {}
        for feature in self.features:
            for words in feature.declared(self.model):
                alike.setdefault(words, []).append(feature.name)
        every = len(self.features) if len(self.features) > 1 else 0
        limits = [
            f"{'every feature' if len(names) == every else ', '.join(names)}: {words}" for words, names in alike.items()
        ]
        constraints = (" or ".join(self.features[f].text(cells) for f, cells in clause) for clause in self.clauses)
        return limits + [f"always {constraint}" for constraint in constraints]


def fingerprint(text: str) -> str:
    """Return what identifies a model: the SHA-256 of its JSON without the marks of date columns.

    A mark says how rows are written, not what the model does. No text inside the JSON can hold its quotes.
    """
    return hashlib.sha256(text.replace(',"date":true', "").encode()).hexdigest()


class Model:
    """A forest as its JSON has it, with its own arithmetic."""

    def __init__(self, text: str) -> None:
        self.fingerprint = fingerprint(text)
        document = parse(text)
        require(document["format"] == "treeproof-forest", "The model must be the JSON of a treeproof Forest.")
        version = document["version"]
        require(type(version) is int and version in (1, 2), f"The model's version must be 1 or 2, not {version!r}.")
        keys = MODEL_KEYS if version == 1 else MODEL_KEYS | NEW_MODEL_KEYS
        require(set(document) == keys, f"The model has unknown or missing fields: {sorted(set(document) ^ keys)}.")
        self.vote: str = document["vote"]
        require(set(document["classes"]) == {"dtype", "labels"}, "Classes have a dtype and labels.")
        self.classes: list[Any] = document["classes"]["labels"]
        self.columns: list[Any] = document["columns"]
        self.numbers: str = document.get("numbers", "float32")
        n = len(document["feature"])
        self.n_classes = len(self.classes)
        self.names = [_printable(label) for label in self.classes]
        require(len(set(self.names)) == self.n_classes > 0, "Class labels must differ.")
        for column in self.columns:
            known = column.get("missing", "never") in ("never", "possible", "expected")
            known = known and set(column) <= COLUMN_KEYS
            require(known and type(column["name"]) is str, f"Column {column['name']!r} must have a name and be known.")
            values = column["categories"]
            require(values is None or len(set(values)) == len(values) > 0, "Categories must differ.")
        names = {column["name"] for column in self.columns}
        require(len(names) == len(self.columns) > 0, "Column names must differ.")
        self._read_sums(document.get("sums"), len(document["roots"]))
        self.values = [[_number(v) for v in values] for values in document["values"]]
        n_sums = self.n_classes if self.cuts is None else 1
        for values in [self.start, *self.values]:
            finite = all(math.isfinite(v) and self.rounded(v) == v for v in values)
            require(
                finite and len(values) == n_sums, "Values must be finite, of the model's numbers, one for each sum."
            )
        self.roots = _ints(document["roots"], 0, n, "Roots")
        self.feature = _ints(document["feature"], -1, len(self.columns), "Columns of splits")
        self.left, self.right = (_ints(document[side], -1, n, "Children") for side in ("left", "right"))
        self.subset = _ints(document["subset"], -1, len(document["subsets"]), "Subsets")
        self.subsets = [frozenset(_ints(subset, 0, 2**31, "Categories")) for subset in document["subsets"]]
        self.threshold = [_number(t) for t in document["threshold"]]
        missing = set(_ints(document.get("missing_left", []), 0, n, "Nodes"))
        self.missing_left = [node in missing for node in range(n)]
        self._check_trees()
        if self.vote == "majority":  # a vote for the first maximum
            self.values = [[float(k == v.index(max(v))) for k in range(n_sums)] for v in self.values]
        self._bound_rounding()
        self.reach = [self._least_sum(cut) for cut in self.cuts or ()]
        parts = {value: value.as_integer_ratio() for values in [*self.values, self.start] for value in values}
        self.finest = max(below for _, below in parts.values())  # all values are whole multiples of 1 / finest
        whole = {value: above * (self.finest // below) for value, (above, below) in parts.items()}
        self.whole = [[whole[value] for value in values] for values in self.values]

    def _read_sums(self, sums: Any, n_trees: int) -> None:
        """Read how leaf values become a label."""
        require(self.vote in ("majority", "mean", "sum"), f"Unknown vote {self.vote!r}.")
        require((self.vote == "sum") == (sums is not None), "The vote 'sum', and no other, has sums.")
        if sums is None:
            divisor = float(n_trees if self.vote == "mean" else 1).hex()
            sums = {"start": ["0x0p+0"] * self.n_classes, "numbers": "float64", "divisor": divisor}
            sums |= {"cuts": None, "softmax": False}
        require(set(sums) == {"start", "numbers", "divisor", "cuts", "softmax"}, "The sums have unknown fields.")
        self.adds: str = sums["numbers"]
        require(self.adds in UNIT and self.numbers in UNIT, "Numbers must be float32 or float64.")
        self.start, self.softmax = [_number(v) for v in sums["start"]], sums["softmax"]
        self.cuts = None if sums["cuts"] is None else [_number(cut) for cut in sums["cuts"]]
        self.divides, self.divisor = _number(sums["divisor"]) != 1, self.rounded(_number(sums["divisor"]))
        require(0 < self.divisor < math.inf and type(self.softmax) is bool, "Sums must be divided by a number.")
        if self.cuts is not None:
            ascend = all(a < b for a, b in itertools.pairwise([-math.inf, *self.cuts, math.inf]))
            require(ascend and len(self.cuts) == self.n_classes - 1 and not self.softmax, "Cuts must split classes.")

    def _check_trees(self) -> None:
        n = len(self.feature)
        lists: list[list[Any]] = [self.left, self.right, self.subset, self.threshold, self.values]
        require(n > 0 and all(len(entries) == n for entries in lists), "Every node must have an entry in every list.")
        ends = [*self.roots[1:], n]
        ascend = self.roots[0] == 0 and all(a < b for a, b in zip(self.roots, ends, strict=True))
        require(ascend, "The roots must ascend.")
        parents = [0] * n
        for root, end in zip(self.roots, ends, strict=True):
            for node in range(root, end):
                column, threshold = self.feature[node], self.threshold[node]
                if column < 0:
                    bare = self.left[node] == self.right[node] == self.subset[node] == -1
                    require(bare, "A leaf must have no children and no subset.")
                    continue
                for child in (self.left[node], self.right[node]):
                    require(node < child < end, "A child must come after its parent, in the same tree.")
                    parents[child] += 1
                values = self.columns[column]["categories"]
                require((values is not None) == (self.subset[node] >= 0), "Sets are for categorical columns only.")
                if values is not None:
                    fits = all(code < len(values) for code in self.subsets[self.subset[node]])
                else:
                    fits = self.rounded(threshold, self.numbers) == threshold
                require(fits, "A split must be by values of its column.")
        roots = set(self.roots)
        require(all(parents[node] == (node not in roots) for node in range(n)), "Every node needs exactly one parent.")

    def _bound_rounding(self) -> None:
        """Set `error`: exact sums that differ by more keep their order (None: not even so); and the `kind` of leaves.

        Leaves that are EXACT, or PURE and so a vote for one class, add up without rounding, in multiples of `step`.
        """
        n, pure = len(self.feature), [sorted(v)[-1] == 1 and sum(map(bool, v)) == 1 for v in self.values]
        self.error: Fraction | None = Fraction(0)
        self.step, self.kind = Fraction(1), [PURE] * n
        if self.vote == "majority":
            return
        largest, most_terms = Fraction(0), 0  # of a sum: its size at most, and how many numbers but 0 are added
        for k, start in enumerate(self.start):
            ends = zip(self.roots, [*self.roots[1:], n], strict=True)
            terms = [max(abs(values[k]) for values in self.values[root:end]) for root, end in ends]
            largest = max(largest, sum((Fraction(term) for term in terms if term), Fraction(abs(start))))
            most_terms = max(most_terms, sum(map(bool, terms)))
        bits, most = UNIT[self.adds], max(Fraction(1), Fraction(self.divisor))
        least = min(Fraction(1), Fraction(self.divisor))
        if 2 * largest > Fraction(LARGEST[self.adds]) * least or 8 * len(self.roots) > 2**bits:
            self.error = None  # sums may overflow: none is trusted
        else:
            # n additions move a sum by at most about n u M, a division by u more; 4 (n + 1) u M covers two sums. After
            # a division, a softmax needs the room that `decide` explains.
            self.error = 4 * (most_terms + 1) * largest / 2**bits + 4 * most / 2 ** SMALLEST[self.adds]
            self.error += most * 16 / 2**bits if self.softmax else 0
        # Multiples of 2**-places, with all sums below 2**(bits - 3) of it, are added without any rounding, and no
        # division makes two different sums equal.
        exact, places = [False] * n, 0
        if largest <= 2 ** (bits - 3) * least and self.divisor <= 2**32 and not self.softmax:
            while largest * 2 ** (places + 1) <= 2 ** (bits - 3) and places < (100 if self.adds == "float32" else 900):
                places += 1
            if all(math.ldexp(value, places).is_integer() for value in self.start):
                exact = [all(math.ldexp(value, places).is_integer() for value in values) for values in self.values]
        votes = self.vote == "mean"
        self.kind = [ROUNDED if not e else PURE if p and votes else EXACT for e, p in zip(exact, pure, strict=True)]
        kept = [self.start, *(values for values, e in zip(self.values, exact, strict=True) if e)]
        self.step = Fraction(1, max(value.as_integer_ratio()[1] for values in kept for value in values))

    def _least_sum(self, cut: float) -> Fraction:
        """Return the smallest sum that reaches a cut after its division, found among the model's own numbers."""
        if not self.divides:
            return Fraction(cut)
        high = LARGEST[self.adds]
        if self.rounded(high / self.divisor) < cut:
            return Fraction(high) * 4
        if self.rounded(-high / self.divisor) >= cut:
            return Fraction(-high) * 4
        first, last = _place(-high), _place(high)
        while last - first > 1:
            middle = (first + last) // 2
            if self.rounded(self.rounded(_at(middle)) / self.divisor) >= cut:
                last = middle
            else:
                first = middle
        return Fraction(self.rounded(_at(last)))

    def rounded(self, value: float, numbers: str | None = None) -> float:
        """Return the nearest of the numbers in which the model adds, or of these."""
        return _single(value) if (numbers or self.adds) == "float32" else value

    def taken(self, column: int) -> tuple[float, float]:
        """Return from where to where the model takes numbers of a column."""
        about = self.columns[column]
        return _number(about.get("low", "-inf")), _number(about.get("high", "inf"))

    def value(self, column: int, given: Any) -> float:
        """Return an input of a column, which must be one that the model takes."""
        number, about = _number(given), self.columns[column]
        if about["categories"] is not None:
            known = number in range(len(about["categories"]))
            require(known, f"{about['name']} has the value {number}, but it must be the index of a category.")
        elif math.isnan(number):
            require(about.get("missing", "never") != "never", f"{about['name']} cannot be missing.")
        else:
            fits = math.isfinite(number) and self.rounded(number, self.numbers) == number
            require(fits, f"{about['name']} has the value {number}, which is not a finite {self.numbers}.")
            low, high = self.taken(column)
            require(low <= number <= high, f"{about['name']} has the value {number}, which the model does not take.")
        return number

    def goes_left(self, node: int, value: float) -> bool:
        """Return whether a value of the node's column goes left."""
        if self.subset[node] >= 0:
            return int(value) in self.subsets[self.subset[node]]
        return self.missing_left[node] if math.isnan(value) else value <= self.threshold[node]

    def label(self, row: list[float]) -> int:
        """Return the index of the label that the model gives a row of its own numbers."""
        leaves = []
        for node in self.roots:
            while self.feature[node] >= 0:
                node = self.left[node] if self.goes_left(node, row[self.feature[node]]) else self.right[node]
            leaves.append(self.values[node])
        return self.decide(leaves)

    def decide(self, leaves: list[list[float]]) -> int:
        """Return the index of the label for the values that the trees give, in tree order, added as the model does."""
        totals = list(self.start)
        for values in leaves:
            totals = [self.rounded(total + value) for total, value in zip(totals, values, strict=True)]
        if self.divides:
            totals = [self.rounded(total / self.divisor) for total in totals]
        overflow = any(map(math.isnan, totals)) or (self.softmax and max(totals) == math.inf)
        require(not overflow, "The model's sums overflow.")
        if self.cuts is not None:
            return sum(totals[0] >= cut for cut in self.cuts)
        first, bits = totals.index(max(totals)), UNIT[self.adds]
        # With m the largest sum and u = 2**-bits, exp(s - m) <= 1 - 8 u for s <= m - 16 u, which no divisor makes equal
        # to exp(0) = 1. So only a class before the first largest that is closer can win by the rounding of a softmax.
        if not self.softmax or all(totals[first] - total >= 16 * 2.0**-bits for total in totals[:first]):
            return first
        exponentials = [self._exp(self.rounded(total - totals[first])) for total in totals]
        whole = 0.0
        for exponential in exponentials:  # not sum(), which rounds only once in recent versions of Python
            whole += exponential
        shares = [self.rounded(exponential / self.rounded(whole)) for exponential in exponentials]
        return shares.index(max(shares))

    def _exp(self, value: float) -> float:
        """Return the exponential as C libraries give it; that of float32 is off by at most 0.505 of the last place."""
        exact = math.exp(value)
        if self.adds == "float64":
            return exact
        low, high = _single(exact * (1 - 2.0**-30)), _single(exact * (1 + 2.0**-30))
        require(low == high, "Sums too close for a softmax: only the library's own exponential can decide.")
        return low


@dataclass
class Feature:
    """A feature of the space: the column or columns it fills, and its cells."""

    name: str
    columns: list[int]
    n_cells: int
    uppers: list[float]  # of a numeric feature: the largest number of each cell of numbers
    lowest: float
    most: float  # the largest number that the model takes
    whole: bool
    missing: int | None  # the cell of missing values
    points: list[list[float]]  # of a feature of values: what each cell puts into the columns
    labels: list[str]  # what people call these values

    @property
    def all(self) -> int:
        """All cells, as bits."""
        return (1 << self.n_cells) - 1

    def cell(self, row: list[float]) -> int:
        """Return the cell that a row lies in."""
        if self.points:
            given = [row[column] for column in self.columns]
            require(given in self.points, f"{self.name} has the value {given}, which is not in the space.")
            return self.points.index(given)
        value = row[self.columns[0]]
        if math.isnan(value):
            require(self.missing is not None, f"{self.name} is missing, which is not in the space.")
            assert self.missing is not None
            return self.missing
        inside = self.lowest <= value <= self.uppers[-1] and (not self.whole or value == math.floor(value))
        require(inside, f"{self.name} has the value {value}, which is not in the space.")
        place = bisect_left(self.uppers, value)
        return place + (self.missing is not None and place >= self.missing)

    def left_cells(self, model: Model, node: int) -> int:
        """Return the cells that go left at a node, as bits; CheckError if a cell would go both ways."""
        if self.points:
            place = self.columns.index(model.feature[node])
            return sum(1 << c for c, point in enumerate(self.points) if model.goes_left(node, point[place]))
        threshold = model.threshold[node]
        threshold = math.floor(threshold) if self.whole and math.isfinite(threshold) else threshold
        count = bisect_right(self.uppers, threshold)  # cells that end at the threshold or before it
        inside = self.lowest <= threshold < self.uppers[-1]
        cut = not inside or (count > 0 and self.uppers[count - 1] == threshold)
        require(cut, f"A cell of {self.name} goes both ways at node {node}.")
        missing = self.missing is not None and model.missing_left[node]
        return self.around_missing((1 << count) - 1) | missing << self.gap

    @property
    def gap(self) -> int:
        """Where the cell of missing values stands, among or behind the cells of numbers, if there is one."""
        return len(self.uppers) if self.missing is None else self.missing

    def numbers(self, cells: int) -> int:
        """Return the cells of numbers among these, as if there were no others."""
        return cells & ((1 << self.gap) - 1) | cells >> self.gap + 1 << self.gap

    def around_missing(self, numbers: int) -> int:
        """Return cells of numbers as cells: the inverse of `numbers`."""
        return numbers & ((1 << self.gap) - 1) | numbers >> self.gap << self.gap + 1

    def beside(self, cells: int) -> set[int]:
        """Return the cells by which a condition may be widened: of numbers the next ones, of values all others."""
        others = {c for c in range(self.n_cells) if not cells >> c & 1}
        if self.points:
            return others
        numbers = self.numbers(cells)  # the next number is next though missing values may stand between
        near = self.around_missing(numbers << 1 | numbers >> 1)
        # A cell of numbers is next to missing values only if there are no numbers yet: these may stand apart.
        missing = -1 if self.missing is None or not numbers else 1 << self.missing
        near |= (cells << 1 | cells >> 1) & missing
        return {c for c in others if near >> c & 1}

    def lacks_missing(self, cells: int) -> bool:
        """Return whether a condition excludes missing values, and `beside` does not ask whether it must."""
        return self.missing is not None and not cells >> self.missing & 1 and self.missing not in self.beside(cells)

    def text(self, cells: int) -> str:
        """Return in words that the cell is among these."""
        if self.points:
            return f"{self.name} is {' or '.join(label for c, label in enumerate(self.labels) if cells >> c & 1)}"
        parts, numbers, first = [], self.numbers(cells), 0
        for i, upper in enumerate(self.uppers):
            if not numbers >> i & 1:
                first = i + 1
            elif i + 1 == len(self.uppers) or not numbers >> i + 1 & 1:  # the last of the cells from `first` on
                low, sign = (self.uppers[first - 1], "<") if first else (self.lowest, "<=")
                least = "" if first == 0 and low == -self.most else f"{low:.17g} {sign} "
                most = "" if i + 1 == len(self.uppers) and upper == self.most else f" <= {upper:.17g}"
                parts.append(f"{least}{self.name}{most}" if least or most else f"{self.name} is any number")
        missing = self.missing is not None and cells >> self.missing & 1
        return " or ".join([*parts, f"{self.name} is missing"] if missing else parts)

    def declared(self, model: Model) -> list[str]:
        """Return in words how the values are restricted, compared with what the model takes."""
        about, words = model.columns[self.columns[0]], []
        if self.points:
            every = about["categories"] is not None and len(self.points) == len(about["categories"])
            if about["categories"] is not None and len(self.points) == len(about["categories"]) - 1:
                left_out = set(range(len(about["categories"]))).difference(int(point) for (point,) in self.points)
                if [about["categories"][i] for i in left_out] == [about.get("other")]:
                    return [f"not {_printable(about['other'])}"]
            return [] if every else [f"only {' or '.join(self.labels)}"]
        if self.whole:
            words.append("only whole numbers")
        low, high = model.taken(self.columns[0])
        if self.lowest > max(-self.most, low) or self.uppers[-1] < min(self.most, high):
            words.append(f"only from {self.lowest:.17g} to {self.uppers[-1]:.17g}")
        if self.missing is None and about.get("missing", "never") != "never":
            words.append("not missing")
        return words

    def show(self, row: list[float]) -> str:
        """Return the value in a row."""
        value = row[self.columns[0]]
        return self.labels[self.cell(row)] if self.points else "missing" if math.isnan(value) else f"{value:.17g}"


def _read_features(given: Any, model: Model) -> list[Feature]:
    features = []
    for entry in given:
        columns = _ints(entry["columns"], 0, len(model.columns), "Columns")
        about = [model.columns[c] for c in columns]
        name = "/".join(_printable(column["name"]) for column in about)  # not as the certificate calls it
        numeric = all(column["categories"] is None for column in about)
        if "points" in entry:  # one categorical column, or some numeric ones that change together
            require(
                set(entry) == {"name", "columns", "points"} and columns and entry["points"], "Values must be given."
            )
            require(numeric or len(columns) == 1, "A categorical column must be a feature of its own.")
            require(all(len(point) == len(columns) for point in entry["points"]), "Values must fill all columns.")
            points = [[model.value(c, v) for c, v in zip(columns, p, strict=True)] for p in entry["points"]]
            require(not any(math.isnan(v) for p in points for v in p), "Values must not be missing.")
            require(len({tuple(point) for point in points}) == len(points), "Values must differ.")
            if numeric:
                names = [_printable(column["name"]) for column in about]
                shown = [" and ".join(f"{n} = {v:.17g}" for n, v in zip(names, p, strict=True)) for p in points]
            else:
                shown = [_printable(about[0]["categories"][int(point[0])]) for point in points]
            features.append(Feature(name, columns, len(points), [], 0.0, 0.0, False, None, points, shown))
        else:
            require(set(entry) == {"name", "columns", "lowest", "uppers", "whole", "missing"}, "Unknown fields.")
            require(len(columns) == 1 and numeric, "A numeric feature must fill one column, of numbers.")
            uppers, missing = [model.value(columns[0], value) for value in entry["uppers"]], entry["missing"]
            lowest = model.value(columns[0], entry["lowest"])
            ascend = lowest <= uppers[0] and all(a < b for a, b in itertools.pairwise(uppers))
            require(ascend and type(entry["whole"]) is bool, "Cells must ascend.")
            among = missing is None or (type(missing) is int and 0 <= missing <= len(uppers))
            require(among, "The cell of missing values must be one of the cells.")
            require(missing is None or about[0].get("missing", "never") != "never", f"{name} cannot be missing.")
            n_cells = len(uppers) + (missing is not None)
            most = LARGEST[model.numbers]
            features.append(Feature(name, columns, n_cells, uppers, lowest, most, entry["whole"], missing, [], []))
        grouped = "points" in entry and numeric
        named = isinstance(entry["name"], str) if grouped else entry["name"] == about[0]["name"]
        require(named, f"The feature {entry['name']!r} must have the name of its column.")
    filled = sorted(column for feature in features for column in feature.columns)
    require(filled == list(range(len(model.columns))), "Every column must belong to exactly one feature.")
    return features


class Proof:
    """The split trees, and the bounds at their leaves."""

    def __init__(self, space: Space, given: Any) -> None:
        self.model, self.features, self.clauses = space.model, space.features, space.clauses
        self.owner, self.left_cells = space.owner, space.left_cells
        model, unit = space.model, given["unit"]
        require(set(given) == {"unit", "steps", "tables"}, "A proof has a unit, steps and tables.")
        require(type(unit) is int and -2200 <= unit <= 2200, "The unit of prices must be a power of two.")
        self.steps = _ints(given["steps"], -(2**31), 2**31, "Steps")
        self.at, self.leaves = 0, 0
        self.tables = []
        for entries in given["tables"]:
            _ints(entries, 0, 2**63, "Prices and their nodes")
            table = {n: (a, b) for n, a, b in zip(entries[::3], entries[1::3], entries[2::3], strict=True)}
            splits = all(n < len(self.owner) and self.owner[n] >= 0 for n in table)
            require(splits and 3 * len(table) == len(entries), "Prices must be those of splits, one pair for each.")
            self.tables.append(table)
        # All values and prices as whole multiples of one small fraction, 1 / scale.
        self.scale = max(model.finest, 2 ** max(0, -unit))
        self.price = self.scale * 2**unit if unit >= 0 else self.scale // 2**-unit
        self._leads: dict[tuple[int, int], list[int]] = {}
        self._listed: dict[tuple[int, ...], set[int]] = {}

    def check(self, box: list[int], excluded: set[int]) -> int:
        """Check that no point of the box has one of these labels; return the number of leaves."""
        proved = set()
        while self.at < len(self.steps):
            step, rival = self._take(2)
            require(
                step == RIVAL and 0 <= rival < self.model.n_classes, "A proof must name the class that it excludes."
            )
            self._close(box, rival)
            proved.add(rival)
        require(excluded <= proved, f"No proof excludes the classes {sorted(excluded - proved)}.")
        return self.leaves

    def _take(self, n: int) -> list[int]:
        taken = self.steps[self.at : self.at + n]
        require(len(taken) == n, "The proof ends too early.")
        self.at += n
        return taken

    def _close(self, whole: list[int], rival: int) -> None:
        """Check that no point of the box has the label `rival`."""
        parts: list[list[int] | None] = [list(whole)]  # still to be closed, the next one last; None has no points
        while parts:
            box = parts.pop()
            (step,) = self._take(1)
            if step in (ORDERED, SET):
                f, first = self.read_split(step)
                parts += [within(box, f, ~first), within(box, f, first)]
                continue
            require(step in LENGTHS, f"Unknown step {step}.")
            numbers = self._take(LENGTHS[step])
            if box is None:
                continue
            self.leaves += 1
            if step == PRICES:
                winner, loser, table = numbers
                known = 0 <= loser < self.model.n_classes and 0 <= table < len(self.tables)
                require(winner == rival != loser and known, f"A bound must compare {rival} with another class.")
                require(self._loses(box, winner, loser, self.tables[table]), f"A bound does not exclude class {rival}.")
            elif step == EVALUATED:
                require(self._only_label(box) != rival, f"The values left in a box give the label {rival}.")
            elif step == LISTED:
                require(rival not in self._labels(box), f"A point of a listed box has the label {rival}.")
            else:
                require(0 <= numbers[0] < len(self.clauses), "A leaf names a constraint that does not exist.")
                broken = all(not box[f] & cells for f, cells in self.clauses[numbers[0]])
                require(broken, "A constraint is not violated in a whole box.")

    def read_split(self, step: int) -> tuple[int, int]:
        """Return the feature of a split, and the cells of its first part as bits."""
        (f,) = self._take(1)
        require(0 <= f < len(self.features), "A split must be on one of the features.")
        if step == ORDERED:
            low, high = self._take(2)
            require(0 <= low <= high < self.features[f].n_cells, "A split must be at one of the cells.")
            return f, (1 << high + 1) - (1 << low)
        words = self._take(2 * -(-self.features[f].n_cells // 64))
        return f, sum((word & 0xFFFFFFFF) << 32 * i for i, word in enumerate(words))

    def _reached(self, box: list[int], root: int, prices: dict[int, tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """Yield the leaves of a tree that points of the box may reach, each with what is paid on the way to it."""
        todo = [(root, 0, 0, box[0])]  # a node, paid so far, and a feature with its cells there; -1: back above a split
        while todo:
            node, paid, f, cells = todo.pop()
            box[f] = cells
            f = self.owner[node] if node >= 0 else -1
            if f >= 0:
                cells, left, (alpha, beta) = box[f], self.left_cells[node], prices.get(node, (0, 0))
                todo.append((-1, 0, f, cells))
                if cells & ~left:
                    todo.append((self.model.right[node], paid + beta, f, cells & ~left))
                if cells & left:
                    todo.append((self.model.left[node], paid + alpha, f, cells & left))
            elif node >= 0:
                yield node, paid

    def _only_label(self, box: list[int]) -> int:
        """Return the label of a box in which every tree has one value left."""
        values = self.model.values
        found = [[values[node] for node, _ in self._reached(box, root, {})] for root in self.model.roots]
        alone = all(value == of_tree[0] for of_tree in found for value in of_tree)
        require(alone, "A box must leave every tree one value, but one has several.")
        return self.model.decide([of_tree[0] for of_tree in found])

    def _labels(self, box: list[int]) -> set[int]:
        """Return the labels of all points of a box that satisfy the constraints."""
        key = tuple(box)
        if key not in self._listed:
            require(math.prod(map(int.bit_count, box)) <= MOST_POINTS, "A box has too many points to be listed.")
            points = itertools.product(*map(_bits, box))
            clauses = self.clauses
            allowed = (at for at in points if all(any(cells >> at[f] & 1 for f, cells in one) for one in clauses))
            self._listed[key] = {
                self.model.decide([self._leaf(root, at) for root in self.model.roots]) for at in allowed
            }
        return self._listed[key]

    def _leaf(self, node: int, at: tuple[int, ...]) -> list[float]:
        """Return the value that a tree gives a point."""
        while (f := self.owner[node]) >= 0:
            node = self.model.left[node] if self.left_cells[node] >> at[f] & 1 else self.model.right[node]
        return self.model.values[node]

    def _loses(self, box: list[int], winner: int, loser: int, prices: dict[int, tuple[int, int]]) -> bool:
        """Return whether the bound shows that `winner` does not have the label anywhere in the box."""
        leads, kinds = self._lead(winner, loser), self.model.kind
        best: list[list[int | None]] = []  # per tree and kind of leaf: the best value, payments deducted
        for root in self.model.roots:
            of_tree: list[int | None] = [None, None, None]
            for node, paid in self._reached(box, root, prices):
                value, known = leads[node] - paid * self.price, of_tree[kinds[node]]
                if known is None or value > known:
                    of_tree[kinds[node]] = value
            best.append(of_tree)
        earning: list[dict[int, list[int]]] = [{} for _ in self.features]  # per feature and split: what sides earn
        for node, (alpha, beta) in prices.items():
            sides = earning[self.owner[node]].setdefault(self.left_cells[node], [0, 0])
            sides[0] += alpha
            sides[1] += beta
        earned = sum(most_earned(box[f], splits) for f, splits in enumerate(earning)) * self.price
        # Sums over pure leaves alone are numbers of votes, also where other leaves are rounded.
        votes = self.model.vote != "sum" and self.falls_short(best, EXACT, earned, winner, loser)
        return votes or self.falls_short(best, ROUNDED, earned, winner, loser)

    def falls_short(self, best: list[list[int | None]], inexact: int, earned: int, winner: int, loser: int) -> bool:
        """Return whether the lead is too small where all leaves are below the kind `inexact`, and surely elsewhere."""
        plainly, exactly = self.needed(winner, loser, votes=inexact == EXACT)
        exact, rounded = [_most(kinds[:inexact]) for kinds in best], [_most(kinds[inexact:]) for kinds in best]
        all_exact = [value for value in exact if value is not None]
        if len(all_exact) == len(best) and sum(all_exact) + earned >= exactly:
            return False
        # Where some leaf may be rounded, the lead must fall short by more than the rounding error.
        if self.model.error is None:
            return all(value is None for value in rounded)
        times = abs(winner - loser) if self.model.cuts is not None else 1
        surely = plainly - times * self.model.error * self.scale
        either = [_most(kinds) or 0 for kinds in best]  # every tree has some leaf
        total = sum(either) + earned
        return all(total - e + r < surely for e, r in zip(either, rounded, strict=True) if r is not None)

    def _lead(self, winner: int, loser: int) -> list[int]:
        """Return, for every node, what it adds to the winner's lead; with cuts, class k has k times the score."""
        if (winner, loser) not in self._leads:
            times = self.scale // self.model.finest
            if self.model.cuts is not None:
                self._leads[winner, loser] = [(winner - loser) * times * score for (score,) in self.model.whole]
            else:
                self._leads[winner, loser] = [times * (v[winner] - v[loser]) for v in self.model.whole]
        return self._leads[winner, loser]

    def needed(self, winner: int, loser: int, votes: bool) -> tuple[Fraction, Fraction]:
        """Return a lead below which the winner does not win, and one that holds for exact sums; both scaled.

        An equal lead wins if the winner comes first; otherwise it takes one step more. Exact sums move in steps: votes,
        which for two classes have the parity of the number of trees, or multiples of a power of two. With cuts, the
        winner has reached the one below it if it is the upper class, and not the one above it if it is the lower.
        """
        model, scale = self.model, self.scale
        if votes:
            lead = 0 if winner < loser else 1
            lead += (lead - len(model.roots)) % 2 if model.n_classes == 2 else 0
            return Fraction(0), Fraction(lead) * scale
        if model.cuts is None:
            plainly = Fraction(model.start[loser]) - Fraction(model.start[winner])
            return plainly * scale, (plainly + (0 if winner < loser else model.step)) * scale
        up, times = winner > loser, abs(winner - loser)
        reach = model.reach[winner - 1 if up else winner] - Fraction(model.start[0])
        stepped = math.ceil(reach / model.step) * model.step  # exact sums reach it or fall short by a step
        plainly, exactly = (reach, stepped) if up else (-reach, model.step - stepped)
        return times * plainly * scale, times * exactly * scale


def within(box: list[int] | None, f: int, cells: int) -> list[int] | None:
    """Return the part of a box where a feature is in these cells; None if it has no points."""
    if box is None or not box[f] & cells:
        return None
    return [*box[:f], box[f] & cells, *box[f + 1 :]]


def _most(values: list[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


def most_earned(cells: int, splits: dict[int, list[int]]) -> int:
    """Return the most that one of the cells earns; a split pays one sum if the cell goes left, else another."""
    if not splits:
        return 0
    gains: dict[int, int] = {}  # per cell: what it earns more than the cell before it
    base, others = 0, []
    for left, (alpha, beta) in splits.items():
        if left & (left + 1):
            others.append((left, alpha, beta))
        else:  # the first cells go left
            base += alpha
            behind = left.bit_length()
            gains[behind] = gains.get(behind, 0) + beta - alpha
    most, earned = -1, base
    for c in range(cells.bit_length()):
        earned += gains.get(c, 0)
        if cells >> c & 1:
            most = max(most, earned + sum(alpha if left >> c & 1 else beta for left, alpha, beta in others))
    return most


def _printable(label: Any) -> str:
    """Return a name or a label as one line of text."""
    return "".join(letter if letter.isprintable() else "?" for letter in str(label))


def _bits(bits: int) -> list[int]:
    """Return the places of the bits that are set."""
    return [i for i in range(bits.bit_length()) if bits >> i & 1]


def _ints(given: Any, least: int, below: int, what: str) -> list[int]:
    right = type(given) is list and all(type(value) is int and least <= value < below for value in given)
    require(right, f"{what} must be whole numbers from {least} to {below - 1}.")
    return list(given)


def _number(given: Any) -> float:
    """Return a number from its hexadecimal text; null is a missing one."""
    if given is None:
        return math.nan
    number = float.fromhex(given)
    require(not math.isnan(number), "A missing value must be null.")
    return number


def _single(value: float) -> float:
    """Return the nearest float32. (Rounding a float64 sum or quotient of two float32 once more is innocuous.)"""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _place(value: float) -> int:
    """Return the place of a number in the order of all numbers; zero is at 0."""
    (bits,) = struct.unpack("<q", struct.pack("<d", value))
    return int(bits if bits >= 0 else -(bits & 0x7FFFFFFFFFFFFFFF))


def _at(place: int) -> float:
    (magnitude,) = struct.unpack("<d", struct.pack("<q", abs(place)))
    return math.copysign(float(magnitude), place)


def parse(text: str | bytes) -> Any:
    """Return the JSON in a text, in which no key may occur twice."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        require(len(dict(pairs)) == len(pairs), "A key occurs twice.")
        return dict(pairs)

    def refuse(name: str) -> None:
        raise CheckError(f"{name} is not JSON.")

    return json.loads(text, object_pairs_hook=unique, parse_constant=refuse)


def read(path: str | PathLike[str]) -> Any:
    """Return the JSON in a file, which may be compressed by gzip."""
    content = Path(path).read_bytes()
    try:
        if content[:2] == b"\x1f\x8b":
            with gzip.open(path) as file:
                content = file.read(MOST_BYTES + 1)
        require(len(content) <= MOST_BYTES, "The file is too large.")
        return parse(content)
    except (*DAMAGED, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CheckError(f"The file is damaged: {type(error).__name__}: {error}.") from error


if __name__ == "__main__":
    try:
        print(check(read(sys.argv[1]), Path(sys.argv[2]).read_text(encoding="utf-8")))  # noqa: T201
    except CheckError as problem:
        sys.exit(f"Rejected: {problem}")
