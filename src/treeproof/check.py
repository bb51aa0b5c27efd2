"""An independent checker of treeproof's certificates: this one file, Python's standard library, nothing else.

It trusts neither the solver nor the C++ core nor the rest of the package, and imports none of it. It reads the model
(the JSON of a treeproof Forest) and the certificate, evaluates the model where the certificate names inputs, and
recomputes every bound. What it relies on is stated below, in the order in which it is used. Run it alone:

    python check.py certificate.json forest.json

The claim. With some features kept in some of their cells, whatever the others are, the model's label stays. A cell is a
set of values that no split of the model tells apart; `Feature.left_cells` checks that it is. Or: a change of some
features alone gives another label, and with any one of them kept as it is, none does.

The proof. For each other class k, a split tree of the box shows that no point of it has the label k. A split cuts the
box in two by one feature. A leaf is closed by one of three reasons:

  prices      Every split n of the model has two prices, alpha_n, beta_n >= 0. A tree pays alpha_n where it goes left at
              n and beta_n where it goes right; a cell of a feature earns what all splits of that feature pay for it. At
              any point, what a tree pays on its path is earned by the cells, and splits off the paths only earn. So
                  sum over trees of max over leaves (value - payments) + sum over features of max over cells (earnings)
              is at least the value at every point. If that is too little for k to win, k does not win.
  evaluated   Every tree has one value left in the box; the model's own arithmetic on these values gives another label.
  broken      A rule between features, declared by the person who asked, is broken in the whole box.

The witnesses. For each kept feature an input that agrees with the instance on all other kept features and has another
label: none of the features can be dropped.

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
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

RIVAL, ORDERED, SET, PRICES, EVALUATED, BROKEN = range(1, 7)
UNIT = {"float32": 24, "float64": 53}  # a sum is rounded by at most 2**-this of its size
SMALLEST = {"float32": 149, "float64": 1074}  # every number is a multiple of 2**-this
LARGEST = {"float32": (2 - 2**-23) * 2.0**127, "float64": sys.float_info.max}


class CheckError(Exception):
    """The certificate does not prove its claim; the message says why."""


def require(condition: Any, message: str) -> None:
    """Raise CheckError unless the condition is true."""
    if not condition:
        raise CheckError(message)


@dataclass
class Checked:
    """What a certificate proves, once it has been checked."""

    text: str
    leaves: int

    def __str__(self) -> str:
        boxes = "1 closed box" if self.leaves == 1 else f"{self.leaves} closed boxes"
        return f"Checked: {self.text} ({boxes})."


def check(certificate: Any, model: str | Model) -> Checked:
    """Check a certificate (a parsed JSON object) against a model; CheckError says why it fails.

    The model is the JSON text of a Forest or, to read it only once for many certificates, ``Model(text)``.
    """
    try:
        return _check(certificate, Model(model) if isinstance(model, str) else model)
    except CheckError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise CheckError(f"The certificate or the model is damaged: {type(error).__name__}: {error}.") from error


def _check(certificate: Any, model: Model) -> Checked:
    require(certificate["format"] == "treeproof-certificate", "This is no treeproof certificate.")
    require(certificate["version"] == 1, f"The version must be 1, not {certificate['version']!r}.")
    require(
        certificate["model"] == model.fingerprint, "The certificate is about another model: the fingerprints differ."
    )
    space = Space(model, certificate["features"], certificate["clauses"])
    instance = space.point(certificate["instance"], "The instance")
    label = model.label(_row(certificate["instance"]))
    require(
        label == certificate["label"], f"The model gives the instance the label {label}, not {certificate['label']}."
    )
    if certificate["claim"] == "change":
        return _check_change(certificate, space, instance, label)
    return _check_reason(certificate, space, instance, label)


def _check_reason(certificate: Any, space: Space, instance: list[int], label: int) -> Checked:
    """Features whose conditions force the label; if they are said to be minimal, none can be dropped."""
    minimal = certificate["claim"] == "minimal"
    require(minimal or certificate["claim"] == "sufficient", f"Unknown claim {certificate['claim']!r}.")
    kept = {space.index(f): space.mask(space.index(f), cells) for f, cells in certificate["box"].items()}
    require(
        all(mask >> instance[f] & 1 for f, mask in kept.items()), "The instance lies outside the claimed conditions."
    )
    box = [kept.get(f, feature.all) for f, feature in enumerate(space.features)]
    others = set(range(space.model.n_classes)) - {label}
    leaves = Proof(space, certificate["proof"]).check(box, others)
    witnesses = {space.index(f): row for f, row in certificate["witnesses"].items()}
    require(
        not minimal or set(witnesses) == set(kept), "There must be a witness for each kept feature, and for no other."
    )
    for f, row in witnesses.items():
        at = space.point(row, f"The witness of feature {f}")
        for other, mask in kept.items():
            require(
                other == f or mask >> at[other] & 1, f"The witness of feature {f} leaves the condition on {other} too."
            )
        require(
            space.model.label(_row(row)) != label, f"The witness of feature {f} has the same label as the instance."
        )
    names = ", ".join(space.features[f].name for f in sorted(kept)) or "no feature at all"
    text = f"{names} force{'s' * (len(kept) < 2)} the label {space.model.classes[label]}"
    if minimal and kept:
        text += "; it cannot be dropped" if len(kept) == 1 else "; none of them can be dropped"
    return Checked(text, leaves)


def _check_change(certificate: Any, space: Space, instance: list[int], label: int) -> Checked:
    """Features whose change alone gives another label, or the target; with any of them kept, that is impossible."""
    target = certificate["target"]
    changed = [space.index(f) for f in certificate["changed"]]
    require(len(set(changed)) == len(changed), "A feature is changed twice.")
    at, other = space.point(certificate["witness"], "The witness"), space.model.label(_row(certificate["witness"]))
    require(
        all(at[f] == instance[f] for f in range(len(at)) if f not in changed), "The witness changes other features."
    )
    require(other != label and target in (None, other), f"The witness has the label {other}.")
    require({space.index(f) for f in certificate["proofs"]} == set(changed), "There must be a proof for each feature.")
    excluded = set(range(space.model.n_classes)) - {label} if target is None else {target}
    leaves = 0
    for f, proof in certificate["proofs"].items():
        free = set(changed) - {space.index(f)}
        box = [feature.all if g in free else 1 << instance[g] for g, feature in enumerate(space.features)]
        leaves += Proof(space, proof).check(box, excluded)
    names = ", ".join(space.features[f].name for f in changed)
    text = f"a change of {names} gives the label {space.model.classes[other]}; "
    return Checked(text + ("it" if len(changed) == 1 else "none of them") + " cannot be left out", leaves)


class Space:
    """The features, their cells, and the rules between them, as the certificate declares them for a model."""

    def __init__(self, model: Model, features: Any, clauses: Any) -> None:
        self.model = model
        self.features = _read_features(features, model)
        self.clauses = [[(f, self.mask(f, cells)) for f, cells in clause] for clause in clauses]
        owner = {column: f for f, feature in enumerate(self.features) for column in feature.columns}
        self.owner = [owner[column] if column >= 0 else -1 for column in model.feature]
        self.left_cells = [
            0 if f < 0 else self.features[f].left_cells(model, node) for node, f in enumerate(self.owner)
        ]

    def index(self, given: Any) -> int:
        """Return the index of a feature."""
        f = int(given)
        require(0 <= f < len(self.features), f"There is no feature {f}.")
        return f

    def mask(self, f: int, cells: Any) -> int:
        """Return cells of a feature as bits."""
        n = self.features[f].n_cells
        require(cells and all(type(c) is int and 0 <= c < n for c in cells), f"Cells of feature {f} must exist.")
        return sum(1 << c for c in set(cells))

    def point(self, given: Any, what: str) -> list[int]:
        """Return the cells of a row, which must lie in the space."""
        row = _row(given)
        require(len(row) == len(self.model.columns), f"{what} must have one value for each column.")
        at = [feature.cell(row) for feature in self.features]
        kept = all(any(cells >> at[f] & 1 for f, cells in clause) for clause in self.clauses)
        require(kept, f"{what} breaks a rule between features.")
        return at


class Model:
    """A forest as its JSON has it, with its own arithmetic."""

    def __init__(self, text: str) -> None:
        self.fingerprint = hashlib.sha256(text.encode()).hexdigest()
        document = json.loads(text)
        require(document["format"] == "treeproof-forest", "The model must be the JSON of a treeproof Forest.")
        require(document["version"] in (1, 2), f"The model's version must be 1 or 2, not {document['version']!r}.")
        self.vote: str = document["vote"]
        self.classes: list[Any] = document["classes"]["labels"]
        self.columns: list[Any] = document["columns"]
        self.roots: list[int] = document["roots"]
        self.feature: list[int] = document["feature"]
        self.left: list[int] = document["left"]
        self.right: list[int] = document["right"]
        self.subset: list[int] = document["subset"]
        self.subsets = [frozenset(subset) for subset in document["subsets"]]
        self.threshold = [math.nan if t is None else float.fromhex(t) for t in document["threshold"]]
        self.values = [[float.fromhex(v) for v in values] for values in document["values"]]
        missing = set(document.get("missing_left", []))
        self.missing_left = [node in missing for node in range(len(self.feature))]
        self.numbers: str = document.get("numbers", "float32")
        sums = document.get("sums") or {}
        self.n_classes = len(self.classes)
        self.cuts = None if sums.get("cuts") is None else [float.fromhex(cut) for cut in sums["cuts"]]
        n_sums = self.n_classes if self.cuts is None else 1
        self.start = [float.fromhex(v) for v in sums["start"]] if sums else [0.0] * n_sums
        self.adds: str = sums.get("numbers", "float64")
        own = float(len(self.roots)) if self.vote == "mean" else 1.0
        self.divisor = float.fromhex(sums["divisor"]) if sums else own
        self.softmax = bool(sums.get("softmax", False))
        require(self.vote in ("majority", "mean", "sum"), f"Unknown vote {self.vote!r}.")
        require((self.vote == "sum") == bool(sums), "The vote 'sum', and no other, says how sums become a label.")
        require(len(self.start) == n_sums, "There must be one start for each sum.")
        require(self.divisor > 0 and all(map(math.isfinite, [self.divisor, *self.start])), "Sums must be finite.")
        require(
            all(len(v) == n_sums and all(map(math.isfinite, v)) for v in self.values), "Leaf values must be finite."
        )
        self._check_trees()
        if self.vote == "majority":  # a vote for the first maximum
            self.values = [[float(k == v.index(max(v))) for k in range(n_sums)] for v in self.values]
        self._bound_rounding()
        parts = {Fraction(value).denominator for values in [*self.values, self.start] for value in values}
        self.finest = math.lcm(*parts)  # all values are whole multiples of 1 / finest
        self.whole = [[int(Fraction(value) * self.finest) for value in values] for values in self.values]

    def _check_trees(self) -> None:
        n = len(self.feature)
        lists: list[list[Any]] = [self.left, self.right, self.subset, self.threshold, self.values]
        require(n > 0 and all(len(entries) == n for entries in lists), "Every node must have an entry in every list.")
        ends = [*self.roots[1:], n]
        require(
            self.roots[0] == 0 and all(a < b for a, b in zip(self.roots, ends, strict=True)), "The roots must ascend."
        )
        parents = [0] * n
        for root, end in zip(self.roots, ends, strict=True):
            for node in range(root, end):
                if self.feature[node] < 0:
                    continue
                require(self.feature[node] < len(self.columns), "A split must be on one of the columns.")
                for child in (self.left[node], self.right[node]):
                    require(node < child < end, "A child must lie behind its parent, in the same tree.")
                    parents[child] += 1
        roots = set(self.roots)
        require(all(parents[node] == (node not in roots) for node in range(n)), "Every node needs exactly one parent.")
        self.depth = [0] * n
        for node in range(n):
            if self.feature[node] >= 0:
                self.depth[self.left[node]] = self.depth[self.right[node]] = self.depth[node] + 1

    def _bound_rounding(self) -> None:
        """Set `error`: exact sums that differ by more keep their order; and `exact`: leaves that need no such care."""
        n = len(self.feature)
        self.exact = [self.vote == "majority"] * n
        self.error, self.step = Fraction(0), Fraction(1)
        # Leaves that are a vote for one class: sums over such leaves alone are numbers of votes.
        counts = self.vote != "sum"
        self.pure = [counts and sorted(v)[-1:] == [1.0] and sum(map(bool, v)) == 1 for v in self.values]
        if self.vote == "majority":
            return
        largest = max(Fraction(abs(value)) for value in self.start)
        for root, end in zip(self.roots, [*self.roots[1:], n], strict=True):
            leaves = (node for node in range(root, end) if self.feature[node] < 0)
            largest += max(Fraction(max(map(abs, self.values[node]))) for node in leaves)
        bits, small = UNIT[self.adds], min(Fraction(1), Fraction(self.divisor))
        if 2 * largest > Fraction(LARGEST[self.adds]) * small or 8 * len(self.roots) > 2**bits:
            self.error = 2 * largest + 1  # sums may overflow: none is trusted
        else:
            # n additions move a sum by at most about n u M, a division by u more; 4 (n + 1) u M covers two sums.
            self.error = 4 * (len(self.roots) + 1) * largest / 2**bits
            self.error += 4 * max(Fraction(1), Fraction(self.divisor)) / 2 ** SMALLEST[self.adds]
            self.error += Fraction(16, 2**bits) if self.softmax else 0
        # Multiples of one power of two, with all sums below 2**(bits - 3) of it, are added without any rounding.
        fits = largest <= 2 ** (bits - 3) * small and self.divisor <= 2**32 and not self.softmax
        grain, finest = Fraction(1), Fraction(1, 2 ** (100 if self.adds == "float32" else 900))
        while fits and largest / (grain / 2) <= 2 ** (bits - 3) and grain > finest:
            grain /= 2
        if fits and all(Fraction(value) % grain == 0 for value in self.start):
            self.exact = [all(Fraction(value) % grain == 0 for value in values) for values in self.values]
        kept = [values for node, values in enumerate(self.values) if self.feature[node] < 0 and self.exact[node]]
        coarsest = math.lcm(1, *(Fraction(v).denominator for values in [*kept, self.start] for v in values))
        self.step = Fraction(1, coarsest)  # sums of exact leaves are multiples of this

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
        rounded = _single if self.adds == "float32" else float
        totals = list(self.start)
        for values in leaves:
            totals = [rounded(total + value) for total, value in zip(totals, values, strict=True)]
        if self.divisor != 1 and self.vote != "majority":
            totals = [rounded(total / rounded(self.divisor)) for total in totals]
        if self.cuts is not None:
            return sum(totals[0] >= cut for cut in self.cuts)
        if self.softmax:  # the largest sum is subtracted, exponentials are added in float64, then divided
            exponentials = [self._exp(rounded(total - max(totals))) for total in totals]
            whole = rounded(sum(exponentials))
            totals = [rounded(exponential / whole) for exponential in exponentials]
        return totals.index(max(totals))

    def _exp(self, value: float) -> float:
        """Return the exponential as C libraries give it; that of float32 is off by at most 0.51 of the last place."""
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
    uppers: list[float] | None  # of a numeric feature: the largest number of each cell of numbers
    lowest: float
    whole: bool
    missing: int | None  # the cell of missing values
    points: list[list[float]] | None  # of a feature of values: what each cell puts into the columns
    n_cells: int

    @property
    def all(self) -> int:
        """All cells, as bits."""
        return (1 << self.n_cells) - 1

    def cell(self, row: list[float]) -> int:
        """Return the cell that a row lies in."""
        if self.points is not None:
            given = [row[column] for column in self.columns]
            require(given in self.points, f"{self.name} has the value {given}, which is not in the space.")
            return self.points.index(given)
        value, uppers = row[self.columns[0]], self.uppers or []
        if math.isnan(value):
            require(self.missing is not None, f"{self.name} is missing, which is not in the space.")
            assert self.missing is not None
            return self.missing
        require(self.lowest <= value <= uppers[-1], f"{self.name} has the value {value}, which is not in the space.")
        require(not self.whole or value == math.floor(value), f"{self.name} must be a whole number, not {value}.")
        place = sum(upper < value for upper in uppers)
        return place + (1 if self.missing == 0 else 0)

    def left_cells(self, model: Model, node: int) -> int:
        """Return the cells that go left at a node, as bits; CheckError if a cell would go both ways."""
        if self.points is not None:
            place = self.columns.index(model.feature[node])
            return sum(1 << c for c, point in enumerate(self.points) if model.goes_left(node, point[place]))
        threshold, uppers = model.threshold[node], self.uppers or []
        threshold = math.floor(threshold) if self.whole and math.isfinite(threshold) else threshold
        first = 1 if self.missing == 0 else 0
        count = sum(upper <= threshold for upper in uppers)
        inside = self.lowest <= threshold < uppers[-1]
        require(not inside or threshold in uppers, f"A cell of {self.name} goes both ways at node {node}.")
        mask = ((1 << count) - 1) << first
        return mask | (1 << self.missing if self.missing is not None and model.missing_left[node] else 0)


def _read_features(given: Any, model: Model) -> list[Feature]:
    features = []
    for entry in given:
        columns = [int(column) for column in entry["columns"]]
        if "points" in entry:
            points = [[_number(value) for value in point] for point in entry["points"]]
            distinct = len({tuple(point) for point in points}) == len(points)
            require(points and distinct and all(len(p) == len(columns) for p in points), "Values must differ.")
            features.append(Feature(entry["name"], columns, None, 0.0, False, None, points, len(points)))
            continue
        require(len(columns) == 1, "A numeric feature must fill one column.")
        require(model.columns[columns[0]].get("categories") is None, "A categorical column has no numbers.")
        uppers = [_number(value) for value in entry["uppers"]]
        lowest, missing = _number(entry["lowest"]), entry["missing"]
        require(lowest <= uppers[0] and all(a < b for a, b in itertools.pairwise(uppers)), "Cells must ascend.")
        require(missing in (None, 0, len(uppers)), "The cell of missing values must be the first or the last.")
        n_cells = len(uppers) + (missing is not None)
        features.append(Feature(entry["name"], columns, uppers, lowest, bool(entry["whole"]), missing, None, n_cells))
    filled = sorted(column for feature in features for column in feature.columns)
    require(filled == list(range(len(model.columns))), "Every column must belong to exactly one feature.")
    return features


class Proof:
    """The split trees, and the bounds at their leaves."""

    def __init__(self, space: Space, given: Any) -> None:
        self.model, self.features, self.clauses = space.model, space.features, space.clauses
        self.owner, self.left_cells = space.owner, space.left_cells
        model = space.model
        self.steps: list[int] = given["steps"]
        self.unit = Fraction(given["unit"])
        require(self.unit > 0, "Prices must have a positive unit.")
        self.tables = []
        for entries in given["tables"]:
            table = {n: (a, b) for n, a, b in zip(entries[::3], entries[1::3], entries[2::3], strict=True)}
            require(all(a >= 0 and b >= 0 for a, b in table.values()), "Prices must not be negative.")
            require(
                all(0 <= n < len(self.owner) and self.owner[n] >= 0 for n in table), "Prices must be those of splits."
            )
            require(3 * len(table) == len(entries), "A split must have one pair of prices.")
            self.tables.append(table)
        self.at, self.leaves = 0, 0
        # All values and prices as whole multiples of one small fraction.
        self.scale = math.lcm(model.finest, self.unit.denominator)
        self.times = self.scale // model.finest
        self.price = int(self.unit * self.scale)

    def check(self, box: list[int], excluded: set[int]) -> int:
        """Check that no point of the box has one of these labels; return the number of leaves."""
        proved = set()
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, 10 * max(self.model.depth) + len(self.steps) + 1000))
        try:
            while self.at < len(self.steps):
                step, rival = self._take(2)
                require(step == RIVAL, "A proof must name the class that it excludes.")
                self._close(list(box), rival)
                proved.add(rival)
        finally:
            sys.setrecursionlimit(limit)
        require(excluded <= proved, f"No proof excludes the classes {sorted(excluded - proved)}.")
        return self.leaves

    def _take(self, n: int) -> list[int]:
        taken = self.steps[self.at : self.at + n]
        require(len(taken) == n and all(type(step) is int for step in taken), "The proof ends too early.")
        self.at += n
        return taken

    def _close(self, box: list[int], rival: int) -> None:
        """Check that no point of the box has the label `rival`."""
        while True:  # the second part of a split is the next round
            (step,) = self._take(1)
            if step in (ORDERED, SET):
                f, part = self._read_part(step)
                first, rest = box[f] & part, box[f] & ~part
                if first:
                    self._close([first if g == f else cells for g, cells in enumerate(box)], rival)
                else:
                    self._skip()
                if not rest:
                    self._skip()
                    return
                box[f] = rest
                continue
            self.leaves += 1
            if step == PRICES:
                winner, loser, table = self._take(3)
                require(winner == rival and loser != rival, f"A bound must be on the class {rival} to be excluded.")
                require(0 <= table < len(self.tables), "A bound must name a table of prices.")
                require(self._loses(box, winner, loser, self.tables[table]), f"A bound does not exclude class {rival}.")
            elif step == EVALUATED:
                require(self._only_label(box) != rival, f"The values left in a box give the label {rival}.")
            elif step == BROKEN:
                (c,) = self._take(1)
                require(0 <= c < len(self.clauses), "A leaf names a rule that there is not.")
                require(all(not box[f] & cells for f, cells in self.clauses[c]), "A rule is not broken in a whole box.")
            else:
                raise CheckError(f"Unknown step {step}.")
            return

    def _skip(self) -> None:
        """Read over the proof of an empty part."""
        open_parts = 1
        while open_parts:
            (step,) = self._take(1)
            if step in (ORDERED, SET):
                self._read_part(step)
                open_parts += 1
            else:
                require(step in (PRICES, EVALUATED, BROKEN), f"Unknown step {step}.")
                self._take({PRICES: 3, EVALUATED: 0, BROKEN: 1}[step])
                open_parts -= 1

    def _read_part(self, step: int) -> tuple[int, int]:
        """Return the feature of a split, and the cells of its first part as bits."""
        (f,) = self._take(1)
        require(0 <= f < len(self.features), "A split must be on one of the features.")
        if step == ORDERED:
            low, high = self._take(2)
            require(0 <= low <= high < self.features[f].n_cells, "A split must be at one of the cells.")
            return f, ((1 << high + 1) - 1) & ~((1 << low) - 1)
        words = self._take(2 * -(-self.features[f].n_cells // 64))
        return f, sum((word & 0xFFFFFFFF) << 32 * i for i, word in enumerate(words))

    def _worth(self, node: int, winner: int, loser: int) -> int:
        """Return the value of a leaf for a pair of classes: what it adds to the winner's lead."""
        values = self.model.whole[node]
        lead = (winner - loser) * values[0] if self.model.cuts is not None else values[winner] - values[loser]
        return lead * self.times

    def _loses(self, box: list[int], winner: int, loser: int, prices: dict[int, tuple[int, int]]) -> bool:
        """Return whether the bound shows that `winner` does not have the label anywhere in the box."""
        plainly, exactly = self._needed(winner, loser, votes=self.model.vote == "majority")
        if self._falls_short(box, winner, loser, prices, self.model.exact, plainly, exactly):
            return True
        if self.model.vote != "mean":
            return False
        # Pure leaves, where others are rounded: sums over them alone are numbers of votes.
        plainly, exactly = self._needed(winner, loser, votes=True)
        pure = [a and b for a, b in zip(self.model.exact, self.model.pure, strict=True)]
        return self._falls_short(box, winner, loser, prices, pure, plainly, exactly)

    def _falls_short(
        self,
        box: list[int],
        winner: int,
        loser: int,
        prices: dict[int, tuple[int, int]],
        is_exact: list[bool],
        plainly: Fraction,
        exactly: Fraction,
    ) -> bool:
        """Return whether the lead is less than `exactly` at exact leaves, and surely less than `plainly` elsewhere."""
        model = self.model
        priced: list[dict[int, list[int]]] = [{} for _ in self.features]  # per feature and split: what sides earn
        for node, (alpha, beta) in prices.items():
            earning = priced[self.owner[node]].setdefault(self.left_cells[node], [0, 0])
            earning[0] += alpha
            earning[1] += beta
        exact, rounded = [], []  # per tree: the best value, payments deducted, of exact leaves and of others

        def best(node: int) -> tuple[float, float]:
            f = self.owner[node]
            if f < 0:
                worth = self._worth(node, winner, loser)
                return (worth, -math.inf) if is_exact[node] else (-math.inf, worth)
            cells, left = box[f], self.left_cells[node]
            sides = []
            for part, child, price in zip(
                (cells & left, cells & ~left),
                (model.left[node], model.right[node]),
                prices.get(node, (0, 0)),
                strict=True,
            ):
                if part:
                    box[f] = part
                    by_exact, by_rounded = best(child)
                    sides.append((by_exact - price * self.price, by_rounded - price * self.price))
            box[f] = cells
            return sides[0] if len(sides) == 1 else (max(sides[0][0], sides[1][0]), max(sides[0][1], sides[1][1]))

        for root in model.roots:
            by_exact, by_rounded = best(root)
            exact.append(by_exact)
            rounded.append(by_rounded)
        earned = sum(_most_earned(box[f], splits) for f, splits in enumerate(priced)) * self.price
        if -math.inf not in exact and sum(exact) + earned >= exactly:
            return False
        # Where some leaf may be rounded, the lead must fall short by more than the rounding error.
        times = abs(winner - loser) if model.cuts is not None else 1
        surely = plainly - times * model.error * self.scale
        either = [max(pair) for pair in zip(exact, rounded, strict=True)]
        total = sum(either) + earned
        return all(total - e + r < surely for e, r in zip(either, rounded, strict=True) if r > -math.inf)

    def _needed(self, winner: int, loser: int, votes: bool) -> tuple[Fraction, Fraction]:
        """Return a lead below which the winner does not win, and one that holds for exact sums; both scaled.

        An equal lead wins if the winner comes first; otherwise it takes one step more. Exact sums move in steps: votes,
        which for two classes have the parity of the number of trees, or multiples of a power of two.
        """
        model, scale = self.model, self.scale
        if model.cuts is not None:
            low, high = min(winner, loser), max(winner, loser)
            reach = [self._reach(cut) - Fraction(model.start[0]) for cut in model.cuts[low:high]]
            stepped = [math.ceil(r / model.step) * model.step for r in reach]
            if winner > loser:
                return sum(reach, Fraction(0)) * scale, sum(stepped, Fraction(0)) * scale
            return -sum(reach, Fraction(0)) * scale, (model.step - sum(stepped, Fraction(0))) * scale
        plainly = Fraction(model.start[loser]) - Fraction(model.start[winner])
        if not votes:
            return plainly * scale, (plainly + (0 if winner < loser else model.step)) * scale
        lead = 0 if winner < loser else 1
        if model.n_classes == 2:
            lead += (lead - len(model.roots)) % 2
        return plainly * scale, Fraction(lead) * scale

    def _reach(self, cut: float) -> Fraction:
        """Return the smallest sum that reaches a cut after its division, found among the model's own numbers."""
        model = self.model
        if model.divisor == 1:
            return Fraction(cut)
        rounded = _single if model.adds == "float32" else float
        divisor = rounded(model.divisor)
        low, high = -LARGEST[model.adds], LARGEST[model.adds]
        if rounded(high / divisor) < cut:
            return Fraction(high) * 4
        if rounded(low / divisor) >= cut:
            return Fraction(low) * 4
        first, last = _place(low), _place(high)
        while last - first > 1:
            middle = (first + last) // 2
            number = rounded(_at(middle))
            if rounded(number / divisor) >= cut:
                last = middle
            else:
                first = middle
        return Fraction(rounded(_at(last)))

    def _only_label(self, box: list[int]) -> int:
        """Return the label of a box in which every tree has one value left."""
        model, leaves = self.model, []

        def reached(node: int, found: list[list[float]]) -> None:
            f = self.owner[node]
            if f < 0:
                if model.values[node] not in found:
                    found.append(model.values[node])
                return
            cells, left = box[f], self.left_cells[node]
            for side, child in ((cells & left, model.left[node]), (cells & ~left, model.right[node])):
                if side:
                    box[f] = side
                    reached(child, found)
            box[f] = cells

        for root in model.roots:
            found: list[list[float]] = []
            reached(root, found)
            require(len(found) == 1, "A box is said to leave every tree one value, but one has several.")
            leaves.append(found[0])
        return model.decide(leaves)


def _most_earned(cells: int, splits: dict[int, list[int]]) -> int:
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


def _row(values: Any) -> list[float]:
    return [_number(value) for value in values]


def _number(value: Any) -> float:
    return math.nan if value is None else float.fromhex(value)


def _single(value: float) -> float:
    """Return the nearest float32. (Rounding a float64 sum or quotient of two float32 once more is innocuous.)"""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _place(value: float) -> int:
    (bits,) = struct.unpack("<q", struct.pack("<d", value))
    return int(bits if bits >= 0 else -(bits & 0x7FFFFFFFFFFFFFFF))


def _at(place: int) -> float:
    (magnitude,) = struct.unpack("<d", struct.pack("<q", abs(place)))
    return math.copysign(float(magnitude), place)


def read(path: str) -> Any:
    """Return the JSON in a file, which may be compressed by gzip."""
    content = Path(path).read_bytes()
    return json.loads(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)


if __name__ == "__main__":
    try:
        print(check(read(sys.argv[1]), Path(sys.argv[2]).read_text(encoding="utf-8")))  # noqa: T201
    except CheckError as problem:
        sys.exit(f"Rejected: {problem}")
