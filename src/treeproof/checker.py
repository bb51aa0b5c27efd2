"""An independent checker of treeproof's certificates: this one file, Python's standard library, nothing else.

It trusts neither the solver nor the C++ core nor the rest of the package, and imports none of it. It reads the model
(the JSON of a treeproof Forest) and the certificate, evaluates the model where the certificate names inputs, and
recomputes every bound. What it relies on is stated below, in the order in which it is used. Run it alone:

    python checker.py certificate.json forest.json [--row JSON] [--budget STEPS]

It needs Python 3.10 or newer. Exit codes: 0 accepted, 2 bad usage or a file that cannot be read, 3 rejected.

The claim. With some features kept in some of their cells, whatever the others are, the model's label stays (or never
becomes a `target`). A cell is a set of values that no split of the model tells apart; `Feature.left_cells` checks that
it is. Or: a change of some features, with all others as they are, gives another label (the target), and a change of
fewer of them does not. "Whatever" means every input of the space that the certificate declares; if it states cells
`around` the instance, features that are not kept stay in these, and changes keep to them. `Checked` says in words what
was proved: the conditions, what the others stay in, and how the space is narrower than what the model takes.

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

The witnesses. For each kept feature an input with another label that has the instance's cells of all other kept ones:
none of the features can be dropped, neither from the conditions nor from the instance's own cells. Inputs that keep the
other conditions and lie in the cells next to a range, or have the other values of a set: it cannot be widened.

The smallest. An input with another label differs from the instance in some features; every set of features that forces
the label has one of these. So it costs at least as much as the cheapest features that meet all such sets (`is_met`).
Likewise every change has a feature of each set of features that is proved to force the label.

The groups. If the certificate declares groups of features, each counts as one and is kept, dropped or changed as a
whole: a witness may differ in all features of one group, and whatever has to have one of some features has to have the
group that it is in. A group goes by its first feature.

Exactness. Leaf values are floats, which are fractions of integers; sums and bounds are computed as such. The model adds
in float32 or float64, which rounds: its sums keep the order of exact sums that differ by more than `Model.error`, a
bound of that rounding (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 4.2). Where all leaves in
play are multiples of one power of two that float sums hold exactly, no rounding takes place.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import itertools
import json
import math
import struct
import sys
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, Literal

if sys.version_info < (3, 10):  # noqa: UP036 - a copy runs anywhere
    sys.exit("The checker needs Python 3.10 or newer.")

RIVAL, ORDERED, SET, PRICES, EVALUATED, BROKEN, LISTED = range(1, 8)
LENGTHS = {PRICES: 3, EVALUATED: 0, BROKEN: 1, LISTED: 0}  # of the steps that close a box: how many numbers follow
PURE, EXACT, ROUNDED = range(3)  # leaves: a vote for one class; other values that add up exactly; all others
UNIT = {"float32": 24, "float64": 53}  # a sum is rounded by at most 2**-this of its size
SMALLEST = {"float32": 149, "float64": 1074}  # every number is a multiple of 2**-this
LARGEST = {"float32": (2 - 2**-23) * 2.0**127, "float64": sys.float_info.max}
BUDGET = 3 * 10**8  # steps of a check: about a minute
BYTE_STEPS = 4  # that a byte of a certificate costs: parsed, it takes many times its size
MOST_POINTS = 2**16  # of a box that is listed
MOST_VALUES = 20  # of a row that are printed

CERTIFICATE_KEYS = {"format", "version", "model", "features", "clauses", "instance", "label", "claim"}
CERTIFICATE_KEYS |= {"target", "minimum"}
REASON_KEYS = CERTIFICATE_KEYS | {"box", "witnesses", "wider", "proof"}
CHANGE_KEYS = CERTIFICATE_KEYS | {"changed", "witness", "proofs"}
COLUMN_KEYS = {"name", "categories", "missing", "date", "integer", "gap", "other", "other_expected", "low", "high"}
MODEL_KEYS = {"format", "version", "vote", "classes", "columns", "importances", "subsets", "roots", "feature"}
MODEL_KEYS |= {"subset", "left", "right", "threshold", "values"}
NEW_MODEL_KEYS = {"missing_left", "numbers", "sums"}  # since version 2


class CheckError(Exception):
    """The certificate does not prove its claim; the message says why."""


DAMAGED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, MemoryError)


class Budget:
    """How much work is left: about a step for each node, cell or number that is looked at."""

    def __init__(self, steps: float) -> None:
        self.steps = self.left = steps

    def spend(self, steps: float) -> None:
        """Raise CheckError if that is more than is left."""
        self.left -= steps
        if self.left < 0:
            raise CheckError(
                f"The check takes more than {self.steps:,} steps, so nothing is decided. Allow more: budget=, --budget."
            )


def require(condition: Any, message: str) -> None:
    """Raise CheckError unless the condition is true."""
    if not condition:
        raise CheckError(message)


@dataclass
class Checked:
    """What a certificate proves, once it has been checked; it prints as that.

    `text` says it in words and `conditions` has the conditions, in the checker's own reading of certificate and model.
    `leaves` is the number of boxes that the proofs close. `space` has what is declared of inputs beyond what the model
    takes; if it is empty, the claim is about all of them. `row` has the instance's values; conditions are about its
    cells, so that the claim may be false of another row for which they read the same. A label is what the model
    `decides` from its trees, which need not be what a library's predict does.
    """

    text: str
    leaves: int
    conditions: list[str]  # that force the label; or the changes that give another one
    space: list[str]  # what is declared of inputs beyond what the model takes; empty: the claim is about all of them
    around: list[str] = field(default_factory=list)  # what features stay in, see `around_means`; empty: whatever
    around_means: str = "A feature without a condition, or with its condition dropped, stays in this range:"
    row: list[str] = field(default_factory=list)  # the instance that the claim is about, value by value
    model: str = ""  # the fingerprint of the model
    decides: str = ""  # how the model's trees make a label
    groups: list[str] = field(default_factory=list)  # features that count as one

    @property
    def lines(self) -> list[tuple[Literal["proved", "condition", "note"], str]]:
        """What it says, line by line, each with its role."""
        boxes = "1 closed box" if self.leaves == 1 else f"{self.leaves} closed boxes"
        lines: list[tuple[Literal["proved", "condition", "note"], str]] = [
            ("proved", f"Checked: {self.text} ({boxes})."),
            *(("condition", line) for line in self.conditions),
        ]
        if self.groups:
            lines.append(("note", "The features of a group count as one, and are kept, dropped or changed together:"))
            lines += [("condition", line) for line in self.groups]
        if self.around:
            lines.append(("note", self.around_means))
            lines += [("condition", line) for line in self.around]
        if self.space:
            lines.append(("note", "Only inputs of the declared space are meant:"))
            lines += [("condition", line) for line in self.space]
        shown = self.row
        if len(shown) > MOST_VALUES:  # the rest by what identifies the whole row
            whole = hashlib.sha256("\n".join(self.row).encode(errors="backslashreplace")).hexdigest()[:12]
            shown = [*shown[:MOST_VALUES], f"{len(shown) - MOST_VALUES} more (all: {whole})"]
        lines.append(("note", f"Row: {', '.join(shown)}"))
        lines.append(("note", f"Model: {self.model[:12]}, {self.decides}"))
        return lines

    def __str__(self) -> str:
        return "\n".join(f"  {text}" if role == "condition" else text for role, text in self.lines)


def check(certificate: Any, model: str | Model, row: Any = None, budget: float = BUDGET) -> Checked:
    """Check a certificate, as JSON text or parsed, against a model; CheckError says why it fails.

    The model is the JSON text of a Forest or, to read it only once for many certificates, ``Model(text)``. With a
    `row`, a list of values or a dict by column, the certificate must be about that row. A check that takes more than
    `budget` steps is given up, with a CheckError.
    """
    work = Budget(budget)
    read_model = Model(model, work) if isinstance(model, str) else model
    try:
        if isinstance(certificate, str):
            work.spend(BYTE_STEPS * len(certificate))
            certificate = parse(certificate)
        return _check(certificate, read_model, row, work)
    except DAMAGED as error:
        raise _unreadable("certificate", error) from error


def _unreadable(what: str, error: BaseException) -> CheckError:
    """Return why something was not understood; whose fault that is, an exception of Python's own does not tell."""
    if isinstance(error, MemoryError | RecursionError):
        return CheckError(f"The {what} is too large or too deeply nested for this machine, or damaged.")
    name = f"{type(error).__name__}: {error}"
    return CheckError(f"The {what} cannot be read: it is damaged, or the checker has a fault ({name}).")


def _check(certificate: Any, model: Model, given_row: Any, budget: Budget) -> Checked:
    known = isinstance(certificate, dict) and certificate.get("format") == "treeproof-certificate"
    require(known, "This is not a treeproof certificate.")
    version, claim = certificate["version"], certificate["claim"]
    require(type(version) is int and version == 1, f"The version must be 1, not {version!r}.")
    require(claim in ("minimal", "sufficient", "change"), f"Unknown claim {claim!r}.")
    keys = CHANGE_KEYS if claim == "change" else REASON_KEYS
    keys = keys | ({"around", "groups"} & set(certificate))
    require(set(certificate) == keys, f"Unknown or missing fields: {sorted(set(certificate) ^ keys)}.")
    same = certificate["model"] == model.fingerprint
    require(same, "The certificate is about another model: the fingerprints differ.")
    space = Space(model, certificate["features"], certificate["clauses"], budget)
    row, at = space.point(certificate["instance"], "The instance")
    if given_row is not None:
        pairs = zip(model.columns, row, model.read_row(given_row), strict=True)
        others = [_name(about["name"]) for about, a, b in pairs if a != b and not (math.isnan(a) and math.isnan(b))]
        require(not others, f"The certificate is about another row: {', '.join(others[:MOST_VALUES])} differ.")
    label, given = model.label(row), certificate["label"]
    require(type(given) is int and given == label, f"The model gives the instance the label {label}, not {given!r}.")
    target = certificate["target"]
    known = target is None or (type(target) is int and 0 <= target < model.n_classes and target != label)
    require(known, f"The target must be the index of another class, or null, not {target!r}.")
    excluded = set(range(model.n_classes)) - {label} if target is None else {target}
    if claim == "change":
        checked = _check_change(certificate, space, row, at, excluded)
    else:
        checked = _check_reason(certificate, space, at, label, excluded)
    checked.row = [feature.value_text(row) for feature in space.features]
    checked.model, checked.decides = model.fingerprint, model.rule
    return checked


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
    groups = Groups(certificate, space)
    chosen = groups.having(kept)

    def check_witness(f: int, given: Any, freed: dict[int, int], others: list[int]) -> list[int]:
        """Return the cells of a witness: freed features are in one of these cells, all others in theirs."""
        row, at = space.point(given, f"The witness of feature {f}")
        for other, mask in enumerate(others):
            if other in freed:
                inside = freed[other] >> at[other] & 1
                require(inside, f"The witness of feature {f} leaves the range around the instance.")
                continue
            what = "condition on" if other in kept else "range of"
            require(mask >> at[other] & 1, f"The witness of feature {f} leaves the {what} {other} too.")
        got = model.label(row)
        require(got in excluded, f"The witness of feature {f} shows nothing: it has the label {got}.")
        return at

    witnesses, wider = space.by_feature(certificate["witnesses"]), certificate["wider"]
    expected = chosen if minimal else set()
    require(set(witnesses) == expected, "There must be a witness for each feature of a minimal set, and for no other.")
    # Also where conditions are wide, each feature is needed for the instance's own cells: it is a reason of the row.
    own = [1 << instance[f] if f in kept else mask for f, mask in enumerate(box)]
    for f, given in witnesses.items():
        check_witness(f, given, {member: around[member] for member in groups.members[f]}, own)
    if wider is not None:
        by_feature = space.by_feature(wider)
        require(set(by_feature) == set(kept), "There must be witnesses beside each condition, and beside no other.")
        for f, rows in by_feature.items():
            feature = space.features[f]
            beside = feature.beside(kept[f]) - {check_witness(f, row, {f: feature.all}, box)[f] for row in rows}
            require(not beside, f"The condition on feature {f} may be widened to the cells {sorted(beside)}.")
    names, one = ", ".join(map(groups.name, sorted(chosen))) or "no feature at all", len(chosen) < 2
    text = f"{names} force{'s' * one} the label {model.names[label]}"
    if certificate["target"] is not None:
        text = f"{names} rule{'s' * one} out the label {model.names[certificate['target']]}"
    if near:
        text += f" as long as {'all others' if kept else 'all features'} stay in the ranges around the instance"
    if minimal and kept:
        text += "; it cannot be dropped" if one else "; none of them can be dropped"
    if wider is not None and kept:
        text += "; its condition cannot be widened" if len(kept) == 1 else "; no condition can be widened"
        untried = sorted({what for f in kept for what in space.features[f].untried(kept[f])})
        text += f", but perhaps by {' or '.join(untried)}" * bool(untried)
    if certificate["minimum"] is not None:
        costs, changes = _read_minimum(certificate["minimum"], "changes", space)
        sets = [groups.bits(_check_flip(space, given, instance, around, excluded)) for given in changes]
        text += _no_cheaper(sets, costs, chosen, groups, space.budget)
    conditions, ranges = ([space.features[f].text(cells[f]) for f in sorted(cells)] for cells in (kept, near))
    return Checked(text, leaves, conditions, space.declared(), ranges, groups=groups.texts)


def _check_flip(space: Space, given: Any, instance: list[int], around: list[int], excluded: set[int]) -> list[int]:
    """Return the features in which an input with an excluded label differs from the instance."""
    row, at = space.point(given, "A change")
    require(space.model.label(row) in excluded, "A change does not have another label.")
    inside = all(mask >> cell & 1 for mask, cell in zip(around, at, strict=True))
    require(inside, "A change leaves the ranges around the instance.")
    return [f for f, cell in enumerate(at) if cell != instance[f]]


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
    near = _read_around(certificate, space, instance)
    new, reached = space.point(certificate["witness"], "The witness")
    require(
        all(mask >> reached[f] & 1 for f, mask in near.items()), "The witness leaves the ranges around the instance."
    )
    others = [c for f, feature in enumerate(space.features) if f not in changed for c in feature.columns]
    kept = all(new[c] == old[c] or (math.isnan(new[c]) and math.isnan(old[c])) for c in others)
    require(kept, "The witness changes other features.")
    got = model.label(new)
    require(got in excluded, f"The witness has the label {got}.")
    groups = Groups(certificate, space)
    units = groups.having(changed)
    require(
        changed == {f for unit in units for f in groups.members[unit]}, "The features of a group must change together."
    )
    proofs = space.by_feature(certificate["proofs"])
    require(set(proofs) == units, "There must be a proof for each changed feature, and for no other.")

    def check_with_free(free: set[int], proof: Any) -> int:
        box = [near.get(f, feature.all) if f in free else 1 << instance[f] for f, feature in enumerate(space.features)]
        return Proof(space, proof).check(box, excluded)

    leaves = sum(check_with_free(changed.difference(groups.members[f]), proof) for f, proof in proofs.items())
    features = [space.features[f] for f in sorted(changed)]
    text = f"a change of {', '.join(map(groups.name, sorted(units)))} alone gives the label {model.names[got]}"
    if len(units) > 1:
        text += f"; a change of fewer of them alone does not give {'another' if target is None else 'that'} label"
        text += " within the ranges around the instance" if near else ""
    if certificate["minimum"] is not None:
        costs, reasons = _read_minimum(certificate["minimum"], "reasons", space)
        sets = []
        for reason in reasons:
            require(set(reason) == {"features", "proof"}, "A reason has features and a proof.")
            forcing = {space.index(f) for f in reason["features"]}
            leaves += check_with_free(set(range(len(space.features))) - forcing, reason["proof"])
            sets.append(groups.bits(forcing))
        text += _no_cheaper(sets, costs, units, groups, space.budget) + (
            " within the ranges around the instance" if near else ""
        )
    if groups.texts:  # some features of a group may stay as they are
        features = [space.features[f] for f in sorted(changed) if reached[f] != instance[f]]
    changes = [f"{f.name}: {f.show(old)} -> {f.show(new)}" for f in features]
    ranges = [space.features[f].text(near[f]) for f in sorted(near)]
    meant = "Only changes within these ranges are meant:"
    return Checked(text, leaves, changes, space.declared(), ranges, meant, groups.texts)


class Groups:
    """What counts as one: groups of features, each by its first feature, and features that are in none."""

    def __init__(self, certificate: Any, space: Space) -> None:
        self.of = list(range(len(space.features)))  # the group of a feature, or else itself
        self.members: dict[int, list[int]] = {}
        names: dict[int, str] = {}
        for given in certificate.get("groups", []):
            require(set(given) == {"name", "features"}, "A group has a name and features.")
            those = sorted(space.index(f) for f in given["features"])
            once = len(set(those)) == len(those) and not any(self.of[f] in self.members for f in those)
            require(those and once, "A group must have features, and each feature be in one group, once.")
            require(type(given["name"]) is str, "The name of a group must be text.")
            names[those[0]] = _printable(given["name"])
            self.members[those[0]] = those
            for f in those:
                self.of[f] = those[0]
        for f, group in enumerate(self.of):
            if f == group:
                self.members.setdefault(f, [f])
        known = [feature.name for feature in space.features]
        right = len({*names.values(), *known}) == len(names) + len(set(known))
        require(right, "The names of groups must differ from each other and from those of features.")
        of_group = {first: ", ".join(known[f] for f in self.members[first]) for first in names}
        self._names = {**dict(enumerate(known)), **names}
        self.texts = [f"{names[first]}: {of_group[first]}" for first in sorted(names)]

    def having(self, features: Iterable[int]) -> set[int]:
        """Return the groups, and features in none, that have one of these features."""
        return {self.of[f] for f in features}

    def bits(self, features: Iterable[int]) -> int:
        """Return the groups that have one of these features, as bits."""
        return sum(1 << group for group in self.having(features))

    def name(self, group: int) -> str:
        """Return the name of a group, or of a feature in none."""
        return self._names[group]

    def shared(self, costs: list[int]) -> dict[int, int]:
        """Return the cost of each group, which all its features state."""
        for group, those in self.members.items():
            require(len({costs[f] for f in those}) == 1, f"The features of {self.name(group)} must state one cost.")
        return {group: costs[group] for group in sorted(self.members)}


def _read_minimum(given: Any, what: str, space: Space) -> tuple[list[int], Any]:
    """Return the costs of the features, and the list of what every set that does must meet."""
    require(set(given) == {"costs", what}, f"A minimum has costs and {what}.")
    if given["costs"] is None:
        return [1] * len(space.features), given[what]
    costs = _ints(given["costs"], 1, 2**4096, "Costs")
    require(len(costs) == len(space.features), "There must be a cost for each feature.")
    return costs, given[what]


def _no_cheaper(sets: list[int], costs: list[int], chosen: set[int], groups: Groups, budget: Budget) -> str:
    """Return in words that whatever meets all sets costs at least as much as the chosen ones; CheckError if not."""
    stated = groups.shared(costs)
    total = sum(stated[group] for group in chosen)
    require(not is_met(sets, costs, total - 1, budget), "The certificate does not exclude a smaller or cheaper set.")
    if set(costs) == {1}:
        return "; no smaller set does"
    named = ", ".join(f"{groups.name(group)} {cost}" for group, cost in stated.items())
    return f"; no set that costs less than {total} does (costs: {named})"


def is_met(sets: list[int], costs: list[int], most: int, budget: Budget) -> bool:
    """Return whether features that cost at most so much meet all sets, each given as bits of features."""
    todo = [(sets, most)]
    while todo:
        sets, most = todo.pop()
        budget.spend(1 + len(sets) * (1 + len(costs) // 8))
        sets = sorted(sets, key=int.bit_count)
        seen = bound = 0
        for one in sets:  # sets that share no feature are met one by one
            if not one & seen:
                seen |= one
                bound += min((costs[f] for f in _bits(one)), default=0)  # nothing meets an empty set
        if bound > most:
            continue
        if not sets:
            return True
        without = 0
        for f in _bits(sets[0]):  # one of the smallest set's features is there: this one, and none before it
            if costs[f] <= most:
                todo.append(([one & ~without for one in sets if not one >> f & 1], most - costs[f]))
            without |= 1 << f
    return False


class Space:
    """The features, their cells, and the constraints between them, as the certificate declares them for a model."""

    def __init__(self, model: Model, features: Any, clauses: Any, budget: Budget | None = None) -> None:
        self.model, self.budget = model, budget or Budget(math.inf)
        self.features = _read_features(features, model)
        self.words = [1 + feature.n_cells // 64 for feature in self.features]  # that cells take as bits
        self.values = sum(len(feature.points) + 1 for feature in self.features)
        self.clauses = [[(self.index(f), self.mask(self.index(f), cells)) for f, cells in clause] for clause in clauses]
        owner = {column: f for f, feature in enumerate(self.features) for column in feature.columns}
        self.owner = [owner[column] if column >= 0 else -1 for column in model.feature]
        self.budget.spend(sum(len(self.features[f].points) + self.words[f] for f in self.owner if f >= 0))
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
        self.budget.spend(len(cells) * self.words[f])
        require(cells and all(a < b for a, b in itertools.pairwise(cells)), f"Cells of feature {f} must ascend.")
        return sum(1 << c for c in cells)

    def point(self, given: Any, what: str) -> tuple[list[float], list[int]]:
        """Return a row, and its cells; it must lie in the space."""
        clauses = sum(map(len, self.clauses))
        self.budget.spend(len(self.model.columns) + self.values + self.model.path + clauses)
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
    """Return what identifies a model: the SHA-256 of its JSON without the marks of columns of dates and whole numbers.

    A mark says how rows are written, not what the model does. No text inside the JSON can hold its quotes.
    """
    return hashlib.sha256(text.replace(',"date":true', "").replace(',"integer":true', "").encode()).hexdigest()


class Member:
    """Trees that are added on their own, from `first` up to `last`; then divided, multiplied, and rounded each time."""

    def __init__(self, given: Any) -> None:
        known = {"trees", "start", "divisor", "weight", "numbers"}
        require(set(given) == known and given["numbers"] in UNIT, "A member has unknown fields.")
        self.first, self.last = _ints(given["trees"], 0, 2**31, "Trees")
        self.start = [_number(v) for v in given["start"]]
        self.divisor, self.weight, self.numbers = _number(given["divisor"]), _number(given["weight"]), given["numbers"]


class Model:
    """A forest as its JSON has it, with its own arithmetic."""

    def __init__(self, text: str, budget: Budget | None = None) -> None:
        self.budget = budget or Budget(math.inf)
        self.budget.spend(len(text))
        try:
            self.fingerprint = fingerprint(text)
            self._read(parse(text))
        except DAMAGED as error:
            raise _unreadable("model", error) from error

    def _read(self, document: Any) -> None:
        forest = isinstance(document, dict) and document.get("format") == "treeproof-forest"
        require(forest, "The model must be the JSON of a treeproof Forest.")
        version = document.get("version")
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
        self._check_members(len(document["roots"]), n_sums)
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
        self._make_whole()

    def _make_whole(self) -> None:
        """Set `whole`: what each node adds, in whole multiples of 1 / `finest`."""
        factors = self._factors()
        exact: dict[Fraction, dict[float, Fraction]] = {factor: {} for factor in factors}  # values times a factor
        spans = list(zip(factors, itertools.pairwise([*self.roots, len(self.feature)]), strict=True))
        for factor, (root, end) in spans:
            new = {v for values in self.values[root:end] for v in values if v not in exact[factor]}
            exact[factor] |= {v: Fraction(v) * factor for v in new}
        self.finest = math.lcm(*{part.denominator for parts in exact.values() for part in parts.values()})
        self.budget.spend(len(self.values) * len(self.start) * (self.finest.bit_length() // 64))
        self.whole: list[list[int]] = []
        whole = {factor: {v: int(part * self.finest) for v, part in parts.items()} for factor, parts in exact.items()}
        for factor, (root, end) in spans:
            self.whole += [[whole[factor][value] for value in values] for values in self.values[root:end]]

    def _read_sums(self, sums: Any, n_trees: int) -> None:
        """Read how leaf values become a label."""
        require(self.vote in ("majority", "mean", "sum"), f"Unknown vote {self.vote!r}.")
        require((self.vote == "sum") == (sums is not None), "The vote 'sum', and no other, has sums.")
        if sums is None:
            divisor = float(n_trees if self.vote == "mean" else 1).hex()
            sums = {"start": ["0x0p+0"] * self.n_classes, "numbers": "float64", "divisor": divisor}
            sums |= {"cuts": None, "softmax": False}
        known = {"start", "numbers", "divisor", "cuts", "softmax"}
        require(set(sums) - {"members", "sigmoid"} == known, "The sums have unknown fields.")
        self.members = [Member(given) for given in sums.get("members", [])]
        self.opened: dict[int, list[Member]] = {}  # by tree: the members that begin with it, the outer ones first
        self.closed: dict[int, list[Member]] = {}  # and those that end with it, the inner ones first
        for member in self.members:
            self.opened.setdefault(member.first, []).insert(0, member)
            self.closed.setdefault(member.last - 1, []).append(member)
        self.adds: str = sums["numbers"]
        require(self.adds in UNIT and self.numbers in UNIT, "Numbers must be float32 or float64.")
        self.start, self.softmax = [_number(v) for v in sums["start"]], sums["softmax"]
        self.cuts = None if sums["cuts"] is None else [_number(cut) for cut in sums["cuts"]]
        self.divides, self.divisor = _number(sums["divisor"]) != 1, self.rounded(_number(sums["divisor"]))
        require(0 < self.divisor < math.inf and type(self.softmax) is bool, "Sums must be divided by a number.")
        self.sigmoid = _number(sums["sigmoid"]) if "sigmoid" in sums else None
        if self.sigmoid is not None:
            alone = self.cuts is None and not self.softmax and not self.members and self.adds == "float64"
            require(alone and 0 < self.sigmoid < math.inf, "A sigmoid must be of float64 sums, and alone.")
        if self.cuts is not None:
            ascend = all(a < b for a, b in itertools.pairwise([-math.inf, *self.cuts, math.inf]))
            require(ascend and len(self.cuts) == self.n_classes - 1 and not self.softmax, "Cuts must split classes.")

    def _check_members(self, n_trees: int, n_sums: int) -> None:
        """Check that members are nested, that each has numbers of its own, and none finer than those it is part of."""
        require(not (self.members and self.softmax), "Members must not be combined with a softmax.")
        self.budget.spend(100 * len(self.members) * n_trees)  # fractions
        whole: list[Member] = []  # that are part of no other so far
        for member in self.members:
            nested = 0 <= member.first < member.last <= n_trees
            while whole and whole[-1].first >= member.first:
                part = whole.pop()
                nested = nested and part.last <= member.last and UNIT[part.numbers] <= UNIT[member.numbers]
            nested = nested and (not whole or whole[-1].last <= member.first)
            require(
                nested and UNIT[member.numbers] <= UNIT[self.adds], "Members must be parts of each other, or apart."
            )
            whole.append(member)
            numbers = [*member.start, member.divisor, member.weight]
            own = all(math.isfinite(v) and self.rounded(v, member.numbers) == v for v in numbers)
            require(own and member.divisor > 0 <= member.weight, "A member must have finite numbers of its own.")
            require(len(member.start) == n_sums, "A member must start from one number for each sum.")

    def _factors(self) -> list[Fraction]:
        """Return what the values of each tree are multiplied by, and add what members start from to `exact_start`."""
        factors = [Fraction(1)] * len(self.roots)
        self.exact_start = [Fraction(value) for value in self.start]
        for member in reversed(self.members):  # the outer ones first
            factor = factors[member.first] * Fraction(member.weight) / Fraction(member.divisor)
            factors[member.first : member.last] = [factor] * (member.last - member.first)
            self.exact_start = [a + Fraction(b) * factor for a, b in zip(self.exact_start, member.start, strict=True)]
        return factors

    def _check_trees(self) -> None:
        n = len(self.feature)
        lists: list[list[Any]] = [self.left, self.right, self.subset, self.threshold, self.values]
        require(n > 0 and all(len(entries) == n for entries in lists), "Every node must have an entry in every list.")
        ends = [*self.roots[1:], n]
        ascend = self.roots[0] == 0 and all(a < b for a, b in zip(self.roots, ends, strict=True))
        require(ascend, "The roots must ascend.")
        parents, depth, deepest = [0] * n, [0] * n, dict.fromkeys(self.roots, 0)
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
                    depth[child] = depth[node] + 1
                    deepest[root] = max(deepest[root], depth[child])
                values = self.columns[column]["categories"]
                require((values is not None) == (self.subset[node] >= 0), "Sets are for categorical columns only.")
                if values is not None:
                    self.budget.spend(len(self.subsets[self.subset[node]]))
                    fits = all(code < len(values) for code in self.subsets[self.subset[node]])
                else:
                    fits = self.rounded(threshold, self.numbers) == threshold
                require(fits, "A split must be by values of its column.")
        self.path = len(self.roots) + sum(deepest.values())  # nodes that an input visits, at most
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
        if self.members:
            return self._bound_members()
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
            if self.sigmoid is not None:
                self._add_sigmoid(largest)
        # Multiples of 2**-places, with all sums below 2**(bits - 3) of it, are added without any rounding, and no
        # division makes two different sums equal.
        exact, places = [False] * n, 0
        if largest <= 2 ** (bits - 3) * least and self.divisor <= 2**32 and not self.softmax and not self.sigmoid:
            while largest * 2 ** (places + 1) <= 2 ** (bits - 3) and places < (100 if self.adds == "float32" else 900):
                places += 1
            if all(math.ldexp(value, places).is_integer() for value in self.start):
                exact = [all(math.ldexp(value, places).is_integer() for value in values) for values in self.values]
        votes = self.vote == "mean"
        self.kind = [ROUNDED if not e else PURE if p and votes else EXACT for e, p in zip(exact, pure, strict=True)]
        kept = [self.start, *(values for values, e in zip(self.values, exact, strict=True) if e)]
        self.step = Fraction(1, max(value.as_integer_ratio()[1] for values in kept for value in values))

    def _add_sigmoid(self, largest: Fraction) -> None:
        """Add to `error` what sigmoids need, or set it to None.

        With u = 2**-53, t a sum after its division times s, and T the largest t: product and exponential move t by at
        most u |t| + 5u, if the exponential is off by less than two units in its last place; addition and division
        move the logarithm of the sigmoid, whose derivative is 1 / (1 + exp(t)) or more, by 2.01u. So t that differ by
        u (5 (1 + exp(T)) + 2 |t| + 10) keep their order. T must stay below 36, where all sigmoids are 1.
        """
        assert self.error is not None
        times = Fraction(self.sigmoid or 1.0) / Fraction(self.divisor)
        ends = list(zip(self.roots, [*self.roots[1:], len(self.feature)], strict=True))
        high = -largest
        for k, start in enumerate(self.start):
            tops = [max(self.values[i][k] for i in range(*end) if self.feature[i] < 0) for end in ends]
            high = max(high, sum((Fraction(top) for top in tops if top), Fraction(start)))
        high, size = (high + self.error) * times, (largest + self.error) * times
        if high > 33 or size > 701:
            self.error = None
        else:
            exponential = 2 ** max(0, math.ceil(high * 13 / 9))  # exp(t) < 2**(13 t / 9)
            self.error += (5 * (1 + exponential) + 2 * size + 10) / 2**53 / times

    def _bound_members(self) -> None:
        """Set `error` where members are rounded on their own, from the inside out; no leaf is exact.

        An exact number of absolute value s at most, which the model has with an error of e, becomes one with an error
        of e + u (s + e) when it is rounded once more, and of the smallest number more if it may be subnormal. A sum of
        n numbers is rounded by at most nu / (1 - nu) <= 2 nu of that s + e, for nu <= 1/8.
        """
        self.kind = [ROUNDED] * len(self.feature)
        ends = [*self.roots[1:], len(self.feature)]
        worst = worst_size = Fraction(0)

        def finished(sizes: list[Fraction], errors: list[Fraction], numbers: str, d: float, w: float) -> list[Fraction]:
            u, tiny = Fraction(1, 2 ** UNIT[numbers]), Fraction(1, 2 ** SMALLEST[numbers])
            n = sum(size > 0 for size in sizes[1:])  # what the sum starts from is not added
            size, error = sum(sizes, Fraction(0)), sum(errors, Fraction(0))
            error += 2 * n * u * (size + error)
            largest = size + error
            for factor in (1 / Fraction(d), Fraction(w)):
                if factor != 1:
                    size, error = size * factor, (error + u * (size + error)) * factor + tiny
                    largest = max(largest, size + error)
            require(2 * largest <= LARGEST[numbers] and 8 * n * u <= 1, "The sums of members may overflow.")
            return [size, error]

        for k, start in enumerate(self.start):
            opened = [([abs(Fraction(start))], [Fraction(0)])]
            for tree, (root, end) in enumerate(zip(self.roots, ends, strict=True)):
                opened += [([abs(Fraction(m.start[k]))], [Fraction(0)]) for m in self.opened.get(tree, ())]
                opened[-1][0].append(Fraction(max(abs(values[k]) for values in self.values[root:end])))
                opened[-1][1].append(Fraction(0))
                for member in self.closed.get(tree, ()):
                    inner = finished(*opened.pop(), member.numbers, member.divisor, member.weight)
                    for numbers, number in zip(opened[-1], inner, strict=True):
                        numbers.append(number)
            size, error = finished(*opened[0], self.adds, 1.0, 1.0)
            worst_size, worst = max(worst_size, size), max(worst, error)
        # Two sums, and the division of all.
        least, most = min(Fraction(1), Fraction(self.divisor)), max(Fraction(1), Fraction(self.divisor))
        self.error = None
        if 2 * (worst_size + worst) <= Fraction(LARGEST[self.adds]) * least:
            self.error = 2 * worst + 2 * (worst_size + worst) / 2 ** UNIT[self.adds]
            self.error += 4 * most / 2 ** SMALLEST[self.adds]

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
            known = number.is_integer() and 0 <= number < len(about["categories"])
            require(known, f"{about['name']} has the value {number}, but it must be the index of a category.")
        elif math.isnan(number):
            require(about.get("missing", "never") != "never", f"{about['name']} cannot be missing.")
        else:
            fits = math.isfinite(number) and self.rounded(number, self.numbers) == number
            require(fits, f"{about['name']} has the value {number}, which is not a finite {self.numbers}.")
            low, high = self.taken(column)
            require(low <= number <= high, f"{about['name']} has the value {number}, which the model does not take.")
        return number

    def read_row(self, given: Any) -> list[float]:
        """Return a row that people give, a list or a dict by column, in the model's numbers; categories by name."""
        names = [about["name"] for about in self.columns]
        if isinstance(given, dict):
            require(set(given) == set(names), f"The row must have the model's columns: {', '.join(map(_name, names))}.")
            given = [given[name] for name in names]
        right = isinstance(given, list | tuple) and len(given) == len(names)
        require(right, f"The row must have a value for each of the {len(names)} columns of the model.")
        row = []
        for about, value in zip(self.columns, given, strict=True):
            categories = about["categories"]
            if categories is not None:
                alike = [
                    i for i, k in enumerate(categories) if k == value and isinstance(k, bool) == isinstance(value, bool)
                ]
                require(alike, f"The row has {value!r} for {_name(about['name'])}, which is none of its categories.")
                row.append(float(alike[0]))
                continue
            number = value is None or (isinstance(value, int | float) and not isinstance(value, bool))
            require(number, f"The row has {value!r} for {_name(about['name'])}, which must be a number, or None.")
            row.append(math.nan if value is None else self.rounded(float(value), self.numbers))
        return row

    @property
    def rule(self) -> str:
        """In words, how the trees' values become a label."""
        trees = f"{len(self.roots)} tree{'s' * (len(self.roots) != 1)}"
        if self.vote != "sum":
            return (
                f"the most votes of {trees}" if self.vote == "majority" else f"the largest mean probability of {trees}"
            )
        if self.cuts is None:
            return f"the largest sum of {trees}" + ", after a softmax" * self.softmax
        cuts = [f"{self.names[k + 1]} from {cut!r}" for k, cut in enumerate(self.cuts[:MOST_VALUES])]
        more = [f"{len(self.cuts) - MOST_VALUES} more cuts"] * (len(self.cuts) > MOST_VALUES)
        divided = f" divided by {self.divisor!r}" * self.divides
        return f"the sum of {trees}{divided}: " + "; ".join([self.names[0], *cuts, *more])

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
        totals = self._add(leaves)
        if self.divides:
            totals = [self.rounded(total / self.divisor) for total in totals]
        overflow = any(map(math.isnan, totals)) or (self.softmax and max(totals) == math.inf)
        require(not overflow, "The model's sums overflow.")
        if self.cuts is not None:
            return sum(totals[0] >= cut for cut in self.cuts)
        if self.sigmoid is not None:
            shares = [1.0 / (1.0 + _power(-self.sigmoid * total)) for total in totals]
            return shares.index(max(shares))
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

    def _add(self, leaves: list[list[float]]) -> list[float]:
        """Return the sums of the values that the trees give, each member's rounded on its own."""
        opened = [(list(self.start), self.adds)]

        def add(values: list[float]) -> None:
            totals, numbers = opened[-1]
            totals[:] = [self.rounded(total + value, numbers) for total, value in zip(totals, values, strict=True)]

        for tree, values in enumerate(leaves):
            opened += [(list(m.start), m.numbers) for m in self.opened.get(tree, ())]
            add(values)
            for m in self.closed.get(tree, ()):
                totals, numbers = opened.pop()
                shares = [self.rounded(total / m.divisor, numbers) for total in totals]
                add([self.rounded(share * m.weight, numbers) for share in shares])
        return opened[0][0]

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

    def untried(self, cells: int) -> list[str]:
        """Return what a condition excludes, and `beside` does not ask whether it must: what stands apart from it."""
        if self.missing is None:
            return []
        if not self.numbers(cells):
            return ["numbers"] if len(self.beside(cells)) < len(self.uppers) else []
        apart = not cells >> self.missing & 1 and self.missing not in self.beside(cells)
        return ["missing values"] if apart else []

    def text(self, cells: int) -> str:
        """Return in words that the cell is among these."""
        if self.points:
            return f"{self.name} is {' or '.join(label for c, label in enumerate(self.labels) if cells >> c & 1)}"
        parts, numbers, first = [], self.numbers(cells), 0
        for i, upper in enumerate(self.uppers):
            if not numbers >> i & 1:
                first = i + 1
            elif i + 1 == len(self.uppers) or not numbers >> i + 1 & 1:  # the last of the cells from `first` on
                # Closed, in the model's numbers: x > 0.5 would be false of 0.5000000001, which float32 reads as 0.5.
                low = self._after(self.uppers[first - 1]) if first else self.lowest
                ends = [low > -self.most or first > 0, upper < self.most or i + 1 < len(self.uppers)]
                words = {
                    (False, False): f"{self.name} is any number",
                    (True, False): f"{self.name} >= {self.number(low)}",
                }
                least = f"{self.number(low)} <= " if ends[0] else ""
                parts.append(words.get((ends[0], ends[1]), f"{least}{self.name} <= {self.number(upper)}"))
        missing = self.missing is not None and cells >> self.missing & 1
        return " or ".join([*parts, f"{self.name} is missing"] if missing else parts)

    def _after(self, upper: float) -> float:
        """Return the first number of the cell after the one that ends at `upper`."""
        floats, integers = ("<f", "<i") if self.most == LARGEST["float32"] else ("<d", "<q")
        (bits,) = struct.unpack(integers, struct.pack(floats, upper + 0.0))
        (following,) = struct.unpack(floats, struct.pack(integers, bits + 1 if bits >= 0 else bits - 1))
        return max(upper + 1, following) if self.whole else float(following)

    def number(self, value: float) -> str:
        """Return the shortest decimal that the model reads as this number."""
        rounded = _single if self.most == LARGEST["float32"] else float
        shown = (float(f"{value:.{digits}g}") for digits in range(1, 18))
        return repr(next(short for short in shown if rounded(short) == value) + 0.0).removesuffix(".0")

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
            words.append(f"only from {self.number(self.lowest)} to {self.number(self.uppers[-1])}")
        if self.missing is None and about.get("missing", "never") != "never":
            words.append("not missing")
        return words

    def value_text(self, row: list[float]) -> str:
        """Return in words the value in a row, with its name."""
        return self.show(row) if self.points and len(self.columns) > 1 else f"{self.name} = {self.show(row)}"

    def show(self, row: list[float]) -> str:
        """Return the value in a row."""
        value = row[self.columns[0]]
        return self.labels[self.cell(row)] if self.points else "missing" if math.isnan(value) else self.number(value)


def _read_features(given: Any, model: Model) -> list[Feature]:
    features = []
    for entry in given:
        columns = _ints(entry["columns"], 0, len(model.columns), "Columns")
        about = [model.columns[c] for c in columns]
        name = "/".join(_name(column["name"]) for column in about)  # not as the certificate calls it
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
                names = [_name(column["name"]) for column in about]
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
        self.budget, self.words = space.budget, space.words
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
        self.scale = math.lcm(model.finest, 2 ** max(0, -unit))
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
                self.budget.spend(2 * (len(whole) + self.words[f]))
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
        visited = 1
        todo = [(root, 0, 0, box[0])]  # a node, paid so far, and a feature with its cells there; -1: back above a split
        while todo:
            node, paid, f, cells = todo.pop()
            box[f] = cells
            f = self.owner[node] if node >= 0 else -1
            if f >= 0:
                cells, left, (alpha, beta) = box[f], self.left_cells[node], prices.get(node, (0, 0))
                visited += self.words[f]
                todo.append((-1, 0, f, cells))
                if cells & ~left:
                    todo.append((self.model.right[node], paid + beta, f, cells & ~left))
                if cells & left:
                    todo.append((self.model.left[node], paid + alpha, f, cells & left))
            elif node >= 0:
                yield node, paid
        self.budget.spend(visited)

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
            clauses = self.clauses
            self.budget.spend(math.prod(map(int.bit_count, box)) * (self.model.path + sum(map(len, clauses))))
            points = itertools.product(*map(_bits, box))
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
        self.budget.spend(len(prices) + len(box))
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
        earned = sum(most_earned(box[f], splits, self.budget) for f, splits in enumerate(earning)) * self.price
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
            self.budget.spend(len(self.owner))
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
            plainly = model.exact_start[loser] - model.exact_start[winner]
            return plainly * scale, (plainly + (0 if winner < loser else model.step)) * scale
        up, times = winner > loser, abs(winner - loser)
        reach = model.reach[winner - 1 if up else winner] - model.exact_start[0]
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


def most_earned(cells: int, splits: dict[int, list[int]], budget: Budget) -> int:
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
    budget.spend(cells.bit_length() * (1 + len(others)))
    most, earned = -1, base
    for c in range(cells.bit_length()):
        earned += gains.get(c, 0)
        if cells >> c & 1:
            most = max(most, earned + sum(alpha if left >> c & 1 else beta for left, alpha, beta in others))
    return most


def _name(name: str) -> str:
    """Return a name as one line of text, such that no two names look alike."""
    return name if name.isprintable() else json.dumps(name)


def _printable(label: Any) -> str:
    """Return a label as one line of text, such that no two look alike: text is in quotes unless it is plain words."""
    if not isinstance(label, str):
        return "missing" if label is None else str(label)
    words = label.replace("_", " ").replace("-", " ").split(" ")
    plain = all(word.isalnum() for word in words) and label[0].isalpha() and "or" not in words
    known = label.lower() in ("missing", "none", "nan", "true", "false")
    return label if plain and not known else json.dumps(label, ensure_ascii=not label.isprintable())


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


def _power(value: float) -> float:
    """Return the exponential in float64, infinite where it overflows."""
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


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


def read(path: str | PathLike[str], budget: float = BUDGET) -> Any:
    """Return the JSON in a file, which may be compressed by gzip; CheckError if it is too large for the budget."""
    most, content = budget / BYTE_STEPS, bytearray()
    try:
        with Path(path).open("rb") as plain:
            zipped = plain.read(2) == b"\x1f\x8b"
            plain.seek(0)
            file = gzip.GzipFile(fileobj=plain) if zipped else plain
            while len(content) <= most and (piece := file.read(2**20)):  # a small file may unpack to a huge one
                content += piece
        require(
            len(content) <= most, f"The file is too large: over {most:,.0f} bytes. Allow more: budget=, or --budget."
        )
        return parse(bytes(content))
    except (*DAMAGED, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CheckError(f"The file is damaged: {type(error).__name__}: {error}.") from error


def main() -> int:
    """Check the files that the command line names; return the exit code, the same as that of ``treeproof check``."""
    parser = argparse.ArgumentParser(description="Check a certificate of treeproof.")
    parser.add_argument("certificate")
    parser.add_argument("model", help="the JSON of save_forest")
    parser.add_argument(
        "--row", help="the row that it must be about: a list of values, or an object by column, as JSON"
    )
    parser.add_argument("--budget", type=float, default=BUDGET, help="steps that it may take (default: %(default)s)")
    args = parser.parse_args()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name that the terminal cannot print is escaped
            stream.reconfigure(errors="backslashreplace")
    try:
        row = None if args.row is None else json.loads(args.row)
        model = Path(args.model).read_text(encoding="utf-8")
        certificate = read(args.certificate, args.budget)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"Cannot be read: {error}\n")
        return 2
    except CheckError as problem:
        sys.stderr.write(f"Rejected: {problem}\n")
        return 3
    try:
        sys.stdout.write(f"{check(certificate, model, row, args.budget)}\n")
    except CheckError as problem:
        sys.stderr.write(f"Rejected: {problem}\n")
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
