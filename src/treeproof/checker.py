"""An independent checker of treeproof's certificates: this one file, Python's standard library, nothing else.

It trusts neither the solver nor the C++ core nor the rest of the package, and imports none of it. It reads the model
(the JSON of a treeproof Forest) and the certificate, evaluates the model where the certificate names inputs, and
recomputes every bound. What it relies on is stated below, in the order in which it is used. Run it alone:

    python checker.py certificate.json forest.json [second.json] [--row JSON] [--budget STEPS]

It needs Python 3.10 or newer. Exit codes: 0 accepted, 2 bad usage or a file that cannot be read, 3 rejected.

The model. A row goes down every tree; the leaves' values are added as the source library does, and give a label
(`Model.decide`). Leaf values are floats, which are fractions of integers; bounds are computed as such. The library
adds in float32 or float64, which rounds: its sums keep the order of exact sums that differ by more than `Model.error`,
a bound of that rounding (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 4.2). Where all leaves
are multiples of one power of two that float sums hold exactly, there is no rounding, and ties count as ties.

The space. Which inputs are meant: what the model takes, less what the certificate declares (bounds, whole numbers, one
of some columns, constraints). The thresholds of the model cut the numbers of a column into cells, counted from the
lowest; a category is a cell, and so are missing values (`Feature`). No split tells two values of a cell apart.

The claims. An input is *excluded* if it has another label than the instance; with a `target`, if it has that label.
  sufficient  With some features kept in some of their cells, whatever the others are, no input is excluded. If cells
              `around` the instance are stated, the others stay in these.
  minimal     Besides, for each kept feature an excluded input has the instance's cells of all other kept ones: none of
              the features can be dropped, neither from the conditions nor from the instance's own cells.
  change      An excluded input differs from the instance in some features only; of fewer of them none does.
  complete    These are all minimal sets of features that force the label (reasons), and all whose change can give
              another (changes): every set of features either has all of a reason, so that keeping it forces the label,
              or nothing of a change, so that keeping it does not (`is_possible`).
  audit       For each of some rows: a change of some features alone gives another label, or none does.
Besides, `wider`: inputs beside each condition show that it cannot be extended. `minimum`: whatever forces the label has
a feature in which an excluded input differs, and a change has one of each reason, so none costs less than the cheapest
features that meet all these (`is_possible`). If `groups` of features are declared, each counts as one.

The proof. For each label to exclude, a split tree of the box shows that no point of it has that label, say k. A split
cuts the box in two by one feature. A leaf is closed by one of four reasons:
  prices      Every split n of the model has two prices, alpha_n, beta_n >= 0. A leaf pays alpha_n for each split n of
              its tree at which all cells that reach the leaf go left, and beta_n where all go right, whether n is on
              its path or not; a cell of a feature earns alpha_n or beta_n at every split n of that feature. At any
              point, what the leaves pay is earned by the cells, and splits at which nothing is paid only earn. So
                  sum over trees of max over leaves (value - payments) + sum over features of max over cells (earnings)
              is at least the value at every point. If that is too little for k to win, k does not win.
  evaluated   Every tree has one value left in the box; the model's own arithmetic on these values gives another label.
  broken      A declared constraint between features is violated in the whole box.
  listed      The box has few points; each is evaluated.

`Checked` says in words what was proved, all of it from the model and the checker's own reading of the certificate.
"""

from __future__ import annotations

import argparse
import decimal
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
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple

if sys.version_info < (3, 10):  # noqa: UP036 - a copy runs anywhere
    sys.exit("The checker needs Python 3.10 or newer.")

RIVAL, ORDERED, SET, PRICES, EVALUATED, BROKEN, LISTED = range(1, 8)
LENGTHS = {PRICES: 3, EVALUATED: 0, BROKEN: 1, LISTED: 0}  # of the steps that close a box: how many numbers follow
UNIT = {"float32": 24, "float64": 53}  # a sum is rounded by at most 2**-this of its size
SMALLEST = {"float32": 149, "float64": 1074}  # every number is a multiple of 2**-this
LARGEST = {"float32": (2 - 2**-23) * 2.0**127, "float64": sys.float_info.max}
BUDGET = 3 * 10**8  # steps of a check: about a minute
BYTE_STEPS = 4  # that a byte of a certificate costs: parsed, it takes many times its size
MOST_POINTS = 2**16  # of a box that is listed
MOST_VALUES = 20  # of a row that are printed

VERSION = 2
KEYS = {"format", "version", "model", "space", "instance", "label", "target", "claim"}
REASON_KEYS = {"box", "witnesses", "wider", "minimum", "proof"}
CLAIM_KEYS = {
    "sufficient": REASON_KEYS,
    "minimal": REASON_KEYS,
    "change": {"changed", "witness", "minimum", "proofs"},
    "complete": {"reasons", "changes"},
    "audit": {"free", "rows"},
}
SPACE_KEYS = {"one_hot", "whole", "bounds", "values", "missing", "cuts", "clauses"}
COLUMN_KEYS = {"name", "categories", "missing", "date", "integer", "gap", "other", "other_expected", "low", "high"}
MODEL_KEYS = {"format", "version", "vote", "classes", "columns", "importances", "subsets", "roots", "feature"}
MODEL_KEYS |= {"subset", "left", "right", "threshold", "values"}
NEW_MODEL_KEYS = {"missing_left", "numbers", "sums"}  # since version 2
DAMAGED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, MemoryError)


class CheckError(Exception):
    """The certificate does not prove its claim; the message says why."""


class ModelError(CheckError):
    """The model cannot be read; the message says why."""


def require(condition: Any, message: str) -> None:
    """Raise CheckError unless the condition is true."""
    if not condition:
        raise CheckError(message)


class Budget:
    """How much work is left: about a step for each node, cell or number that is looked at."""

    def __init__(self, steps: float) -> None:
        require(isinstance(steps, int | float), f"The budget must be a number of steps, not {steps!r}.")
        self.steps = self.left = steps

    def spend(self, steps: float) -> None:
        """Raise CheckError if that is more than is left."""
        self.left -= steps
        if not self.left >= 0:
            raise CheckError(
                f"The check takes more than {self.steps:,} steps, so nothing is decided. Allow more: budget=, --budget."
            )


# ---------------------------------------------------------------------------------------------------------- the model


def _ints(given: Any, least: int, below: int, what: str) -> list[int]:
    right = type(given) is list and all(type(value) is int and least <= value < below for value in given)
    require(right, f"{what} must be whole numbers from {least} to {below - 1}.")
    return list(given)


def _index(given: Any, below: int, what: str) -> int:
    require(type(given) is int and 0 <= given < below, f"There is no {what} {given!r}.")
    return int(given)


def _keyed(given: Any, below: int, what: str) -> dict[int, Any]:
    """Return a JSON object whose keys are indices, in digits."""
    require(all(str(int(key)) == key for key in given), f"Keys must be indices of {what}s, not {sorted(given)}.")
    return {_index(int(key), below, what): value for key, value in given.items()}


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


def fingerprint(text: str) -> str:
    """Return what identifies a model: the SHA-256 of its JSON, `unmarked`."""
    return hashlib.sha256(unmarked(text).encode()).hexdigest()


def unmarked(text: str) -> str:
    """Return JSON without the marks of columns of dates and whole numbers: how rows are written, not what is done.

    No text inside the JSON can hold their quotes.
    """
    return text.replace(',"date":true', "").replace(',"integer":true', "")


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
        try:
            self.budget.spend(len(text))
            self.fingerprint = fingerprint(text)
            self._read(parse(text))
        except DAMAGED as error:
            raise ModelError(_unreadable("model", error)) from error
        except CheckError as problem:
            raise problem if self.budget.left < 0 else ModelError(str(problem)) from None

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
        self.n_classes, self.names = len(self.classes), [_printable(label) for label in self.classes]
        require(len(set(self.names)) == self.n_classes > 0, "Class labels must differ.")
        self.columns: list[Any] = document["columns"]
        for column in self.columns:
            known = column.get("missing", "never") in ("never", "possible", "expected") and set(column) <= COLUMN_KEYS
            require(known and type(column["name"]) is str, f"Column {column['name']!r} must have a name and be known.")
            values = column["categories"]
            require(values is None or len(set(values)) == len(values) > 0, "Categories must differ.")
        self.column_names = [_name(column["name"]) for column in self.columns]
        require(len(set(self.column_names)) == len(self.columns) > 0, "Column names must differ.")
        self.numbers: str = document.get("numbers", "float32")
        self._read_sums(document.get("sums"), len(document["roots"]))
        self.values = [[_number(v) for v in values] for values in document["values"]]
        n_sums = self.n_classes if self.cuts is None else 1
        for values in [self.start, *self.values]:
            finite = len(values) == n_sums and all(math.isfinite(v) and self.rounded(v) == v for v in values)
            require(finite, "Values must be finite, of the model's numbers, one for each sum.")
        self._check_members(len(document["roots"]), n_sums)
        n = len(document["feature"])
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
            nested = 0 <= member.first < member.last <= n_trees and UNIT[member.numbers] <= UNIT[self.adds]
            while whole and whole[-1].first >= member.first:
                part = whole.pop()
                nested = nested and part.last <= member.last and UNIT[part.numbers] <= UNIT[member.numbers]
            nested = nested and (not whole or whole[-1].last <= member.first)
            require(nested, "Members must be parts of each other, or apart.")
            whole.append(member)
            numbers = [*member.start, member.divisor, member.weight]
            own = all(math.isfinite(v) and self.rounded(v, member.numbers) == v for v in numbers)
            require(own and member.divisor > 0 <= member.weight, "A member must have finite numbers of its own.")
            require(len(member.start) == n_sums, "A member must start from one number for each sum.")

    def _check_trees(self) -> None:
        """Check that nodes make trees; collect the `thresholds` of each column, and the longest `path` of an input."""
        n = len(self.feature)
        lists: list[list[Any]] = [self.left, self.right, self.subset, self.threshold, self.values]
        require(n > 0 and all(len(entries) == n for entries in lists), "Every node must have an entry in every list.")
        self.trees = list(itertools.pairwise([*self.roots, n]))  # from where to where their nodes are
        require(self.roots[0] == 0 and all(a < b for a, b in self.trees), "The roots must ascend.")
        self.thresholds: list[set[float]] = [set() for _ in self.columns]
        parents, depth, self.path = [0] * n, [0] * n, len(self.roots)
        for root, end in self.trees:
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
                values = self.columns[column]["categories"]
                require((values is not None) == (self.subset[node] >= 0), "Sets are for categorical columns only.")
                if values is not None:
                    self.budget.spend(len(self.subsets[self.subset[node]]))
                    fits = all(code < len(values) for code in self.subsets[self.subset[node]])
                else:
                    fits = self.rounded(threshold, self.numbers) == threshold
                    self.thresholds[column].add(threshold)
                require(fits, "A split must be by values of its column.")
            self.path += max(depth[root:end])
        roots = set(self.roots)
        require(all(parents[node] == (node not in roots) for node in range(n)), "Every node needs exactly one parent.")

    def _bound_rounding(self) -> None:
        """Set `error`: exact sums that differ by more keep their order (None: not even so).

        If it is 0, sums are exact: votes, if they are all `pure`, or else in multiples of `step`.
        """
        leaves = [values for values, column in zip(self.values, self.feature, strict=True) if column < 0]
        pure = all(max(values) == 1 and sum(map(bool, values)) == 1 for values in leaves)
        self.pure = self.vote != "sum" and pure
        self.error: Fraction | None = Fraction(0)
        self.step = Fraction(1)
        if self.vote == "majority":
            return
        bits = UNIT[self.adds]
        least, most = min(Fraction(1), Fraction(self.divisor)), max(Fraction(1), Fraction(self.divisor))
        bounds = [self._bound_sum(k) for k in range(len(self.start))]
        largest = max(size for size, _ in bounds)
        # Multiples of 2**-places, with all sums below 2**(bits - 3) of it, are added without any rounding, and no
        # division makes two different sums equal.
        plain = not self.softmax and not self.sigmoid and not self.members
        if plain and largest <= 2 ** (bits - 3) * least and self.divisor <= 2**32:
            finest = max(value.as_integer_ratio()[1] for values in [self.start, *leaves] for value in values)
            places = finest.bit_length() - 1
            if largest * finest <= 2 ** (bits - 3) and places <= (100 if self.adds == "float32" else 900):
                self.step = Fraction(1, finest)
                return
        self.pure, self.error = False, None
        if any(error is None for _, error in bounds):
            return require(not self.members, "The sums of members may overflow.")
        worst = max(error or Fraction(0) for _, error in bounds)
        if 2 * (largest + worst) <= Fraction(LARGEST[self.adds]) * least:
            # Two sums, and the division of all; after that, a softmax needs the room that `decide` explains.
            self.error = 2 * worst + 2 * (largest + worst) / 2**bits + 4 * most / 2 ** SMALLEST[self.adds]
            self.error += most * 16 / 2**bits if self.softmax else 0
            if self.sigmoid is not None:
                self._add_sigmoid(largest)

    def _add_sigmoid(self, largest: Fraction) -> None:
        """Add to `error` what sigmoids need, or set it to None.

        With u = 2**-53, t a sum after its division times s, and T the largest t: product and exponential move t by at
        most u |t| + 5u, if the exponential is off by less than two units in its last place; addition and division
        move the logarithm of the sigmoid, whose derivative is 1 / (1 + exp(t)) or more, by 2.01u. So t that differ by
        u (5 (1 + exp(T)) + 2 |t| + 10) keep their order. T must stay below 36, where all sigmoids are 1.
        """
        assert self.error is not None
        times = Fraction(self.sigmoid or 1.0) / Fraction(self.divisor)
        high = -largest
        for k, start in enumerate(self.start):
            tops = [max(self.values[i][k] for i in range(*tree) if self.feature[i] < 0) for tree in self.trees]
            high = max(high, sum((Fraction(top) for top in tops if top), Fraction(start)))
        high, size = (high + self.error) * times, (largest + self.error) * times
        if high > 33 or size > 701:
            self.error = None
        else:
            exponential = 2 ** max(0, math.ceil(high * 13 / 9))  # exp(t) < 2**(13 t / 9)
            self.error += (5 * (1 + exponential) + 2 * size + 10) / 2**53 / times

    def _bound_sum(self, k: int) -> tuple[Fraction, Fraction | None]:
        """Return how large a sum can be, and how far from exact; None if it may overflow, or has too many parts.

        From the inside out. An exact number of absolute value s at most, which the model has with an error of e,
        becomes one with an error of e + u (s + e) when it is rounded once more, and of the smallest number more if it
        may be subnormal. A sum of n numbers is rounded by at most nu / (1 - nu) <= 2 nu of that s + e, for nu <= 1/8
        (Higham, section 4.2); what it starts from is not added, nor does a 0 round.
        """
        fits = True

        def finished(
            parts: list[tuple[Fraction, Fraction]], numbers: str, d: float, w: float
        ) -> tuple[Fraction, Fraction]:
            nonlocal fits
            u, tiny = Fraction(1, 2 ** UNIT[numbers]), Fraction(1, 2 ** SMALLEST[numbers])
            n = sum(size > 0 for size, _ in parts[1:])
            size, error = (sum(some, Fraction(0)) for some in zip(*parts, strict=True))
            error += 2 * n * u * (size + error)
            largest = size + error
            for factor in (1 / Fraction(d), Fraction(w)):
                if factor != 1:
                    size, error = size * factor, (error + u * (size + error)) * factor + tiny
                    largest = max(largest, size + error)
            fits = fits and 2 * largest <= LARGEST[numbers] and 8 * n * u <= 1
            return size, error

        opened = [[(abs(Fraction(self.start[k])), Fraction(0))]]
        for tree, (root, end) in enumerate(self.trees):
            opened += [[(abs(Fraction(m.start[k])), Fraction(0))] for m in self.opened.get(tree, ())]
            opened[-1].append((Fraction(max(abs(values[k]) for values in self.values[root:end])), Fraction(0)))
            for m in self.closed.get(tree, ()):
                inner = finished(opened.pop(), m.numbers, m.divisor, m.weight)
                opened[-1].append(inner)
        size, error = finished(opened[0], self.adds, 1.0, 1.0)
        return size, error if fits else None

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

    def _make_whole(self) -> None:
        """Set `whole`: what each node adds, in multiples of 1 / `finest`; and `exact_start`, what that is added to."""
        factors = [Fraction(1)] * len(self.roots)  # what the values of each tree are multiplied by
        self.exact_start = [Fraction(value) for value in self.start]
        for member in reversed(self.members):  # the outer ones first
            factor = factors[member.first] * Fraction(member.weight) / Fraction(member.divisor)
            factors[member.first : member.last] = [factor] * (member.last - member.first)
            self.exact_start = [a + Fraction(b) * factor for a, b in zip(self.exact_start, member.start, strict=True)]
        exact: dict[Fraction, dict[float, Fraction]] = {factor: {} for factor in factors}  # values times a factor
        for factor, (root, end) in zip(factors, self.trees, strict=True):
            new = {v for values in self.values[root:end] for v in values if v not in exact[factor]}
            exact[factor] |= {v: Fraction(v) * factor for v in new}
        self.finest = math.lcm(*{part.denominator for parts in exact.values() for part in parts.values()})
        self.budget.spend(len(self.values) * len(self.start) * (self.finest.bit_length() // 64))
        whole = {factor: {v: int(part * self.finest) for v, part in parts.items()} for factor, parts in exact.items()}
        self.whole: list[list[int]] = []
        for factor, (root, end) in zip(factors, self.trees, strict=True):
            self.whole += [[whole[factor][value] for value in values] for values in self.values[root:end]]

    def least_lead(self, winner: int, loser: int) -> Fraction | None:
        """Return a difference of exact sums below which `winner` does not have the label; None if there is none.

        An equal lead wins if the winner comes first, otherwise it takes a step more; votes for two classes have the
        parity of the number of trees. Where sums are rounded, the lead must be smaller by their error. With cuts, the
        difference is that of k times the sum for class k: the winner has reached the cut below it if it is the upper
        class, and not the one above it if it is the lower.
        """
        if self.error is None:
            return None
        step = Fraction(0) if self.error else self.step
        if self.cuts is None:
            lead = self.exact_start[loser] - self.exact_start[winner] + (0 if winner < loser else step) - self.error
            return lead + (lead - len(self.roots)) % 2 if self.pure and self.n_classes == 2 else lead
        up, times = winner > loser, abs(winner - loser)
        reach = self.reach[winner - 1 if up else winner] - self.exact_start[0]
        if not self.error:
            reach = math.ceil(reach / step) * step  # exact sums reach it or fall short by a step
        return times * ((reach if up else step - reach) - self.error)

    def score(self, k: int) -> tuple[str, Fraction]:
        """Return what the sum for a class is called once it is divided, and by what it is."""
        if self.vote == "majority":
            return f"the share of the votes for {self.names[k]}", Fraction(len(self.roots))
        return "the score" if self.cuts is not None else f"the score of {self.names[k]}", Fraction(self.divisor)

    @property
    def adding(self) -> list[Any]:
        """How leaf values become a label."""
        members = [vars(member) for member in self.members]
        sums = [self.start, self.adds, self.divides, self.divisor, self.cuts, self.softmax, self.sigmoid, members]
        return [self.vote == "majority", self.classes, *sums]

    def rounded(self, value: float, numbers: str | None = None) -> float:
        """Return the nearest of the numbers in which the model adds, or of these."""
        return _single(value) if (numbers or self.adds) == "float32" else value

    def taken(self, column: int) -> tuple[float, float]:
        """Return from where to where the model takes numbers of a column."""
        about, most = self.columns[column], LARGEST[self.numbers]
        return max(_number(about.get("low", "-inf")), -most), min(_number(about.get("high", "inf")), most)

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


# ---------------------------------------------------------------------------------------------------------- the space


@dataclass
class Feature:
    """A feature: the column or columns that it fills, and the cells into which the model cuts its values.

    The cells of numbers end at `uppers`. That of missing values, if they can occur, has the number `missing`; the cells
    of numbers from there on have one more. Any number does, but proofs count on one.
    """

    name: str
    columns: list[int]
    uppers: list[float] = field(default_factory=list)  # of a numeric feature: the largest number of each cell
    lowest: float = 0.0
    whole: bool = False
    missing: int | None = None
    points: list[list[float]] = field(default_factory=list)  # of one of values: what each puts into the columns
    labels: list[str] = field(default_factory=list)  # what people call these values
    numbers: str = "float64"  # what the model reads

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        return len(self.points) or len(self.uppers) + (self.missing is not None)

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
        """Return the cells that go left at a node, as bits. All thresholds are ends of cells: none goes both ways."""
        if self.points:
            place = self.columns.index(model.feature[node])
            return sum(1 << c for c, point in enumerate(self.points) if model.goes_left(node, point[place]))
        numbers = (1 << bisect_right(self.uppers, model.threshold[node])) - 1
        missing = self.missing is not None and model.missing_left[node]
        return self.around_missing(numbers) | missing << self.gap

    @property
    def gap(self) -> int:
        """Where the cell of missing values stands, among or behind the cells of numbers, if there is one."""
        return len(self.uppers) if self.missing is None else self.missing

    def without_missing(self, cells: int) -> int:
        """Return the cells of numbers among these, as if there were no others."""
        return cells & ((1 << self.gap) - 1) | cells >> self.gap + 1 << self.gap

    def around_missing(self, numbers: int) -> int:
        """Return cells of numbers as cells: the inverse of `without_missing`."""
        return numbers & ((1 << self.gap) - 1) | numbers >> self.gap << self.gap + 1

    def beside(self, cells: int) -> int:
        """Return the cells by which a condition may be extended: of numbers the next ones, of values all others."""
        if self.points:
            return self.all & ~cells
        numbers = self.without_missing(cells)  # the next number is next though missing values may stand between
        near = self.around_missing(numbers << 1 | numbers >> 1)
        # A cell of numbers is next to missing values only if there are no numbers yet: these may stand apart.
        missing = -1 if self.missing is None or not numbers else 1 << self.missing
        return (near | (cells << 1 | cells >> 1) & missing) & self.all & ~cells


class Space:
    """The inputs that are meant: the features and their cells, and the constraints between them."""

    def __init__(self, model: Model, declared: Any, budget: Budget | None = None) -> None:
        self.model, self.budget = model, budget or Budget(math.inf)
        require(set(declared) <= SPACE_KEYS, f"The space has unknown fields: {sorted(set(declared) - SPACE_KEYS)}.")
        self.features = self._features(declared)
        self.words = [1 + feature.n_cells // 64 for feature in self.features]  # that cells take as bits
        self.values = sum(len(feature.points) + 1 for feature in self.features)
        owner = {column: f for f, feature in enumerate(self.features) for column in feature.columns}
        self.owner = [owner[column] if column >= 0 else -1 for column in model.feature]
        self.budget.spend(sum(len(self.features[f].points) + self.words[f] for f in self.owner if f >= 0))
        self.left_cells = [
            0 if f < 0 else self.features[f].left_cells(model, node) for node, f in enumerate(self.owner)
        ]
        self.clauses = [
            [(self.index(f), self.mask(self.index(f), cells)) for f, cells in clause]
            for clause in declared.get("clauses", [])
        ]

    def _features(self, declared: Any) -> list[Feature]:
        """Return the features in the order of their first columns: columns of which one is 1, and all others alone."""
        model, parts = self.model, {column: [column] for column in range(len(self.model.columns))}
        for given in declared.get("one_hot", []):
            columns = _ints(given, 0, len(model.columns), "Columns")
            ascend = columns and all(a < b for a, b in itertools.pairwise(columns))
            alone = all(parts.get(c) == [c] and model.columns[c]["categories"] is None for c in columns)
            require(ascend and alone, "Columns of which one is 1 must ascend, be of numbers, and belong together once.")
            for column in columns[1:]:
                del parts[column]
            parts[columns[0]] = columns
        grouped, n = {given[0] for given in declared.get("one_hot", [])}, len(parts)
        bounds, values, missing, cuts = (
            _keyed(declared.get(key, {}), n, "feature") for key in ("bounds", "values", "missing", "cuts")
        )
        whole = {_index(f, n, "feature") for f in declared.get("whole", [])}
        features = []
        for f, columns in enumerate(parts.values()):
            name, column = "/".join(model.column_names[c] for c in columns), columns[0]
            categories = model.columns[column]["categories"]
            if categories is None and column not in grouped:
                require(f not in values, f"{name} has numbers, not values.")
                ends = [model.value(column, end) for end in bounds.get(f, ())] or list(model.taken(column))
                require(len(ends) == 2, f"{name} must have a lowest and a highest number.")
                low, high = map(float, (math.ceil(ends[0]), math.floor(ends[1])) if f in whole else ends)
                require(low <= high, f"{name} must have a lowest and a highest number.")
                at = model.thresholds[column] | {model.value(column, cut) for cut in cuts.get(f, ())}
                at = {float(math.floor(cut)) if f in whole and math.isfinite(cut) else cut for cut in at}
                uppers = [*sorted(cut for cut in at if low <= cut < high), high]
                if f in missing:
                    model.value(column, None)
                    require(
                        type(missing[f]) is int and 0 <= missing[f] <= len(uppers), "A cell must be the missing one."
                    )
                features.append(Feature(name, columns, uppers, low, f in whole, missing.get(f), numbers=model.numbers))
                continue
            require(not any(f in keyed for keyed in (bounds, missing, cuts, whole)), f"{name} has values, not numbers.")
            width = len(columns) if categories is None else len(categories)
            chosen = _runs(values[f], width, f"Values of {name}") if f in values else (1 << width) - 1
            self.budget.spend(width * len(columns))
            if categories is None:
                points = [[float(c == column) for c in columns] for column in columns]
                labels = [f"{model.column_names[column]} = 1" for column in columns] if len(columns) > 1 else ["1"]
            else:
                points, labels = [[float(code)] for code in range(width)], [_printable(label) for label in categories]
            points, labels = [points[i] for i in _bits(chosen)], [labels[i] for i in _bits(chosen)]
            features.append(Feature(name, columns, points=points, labels=labels, numbers=model.numbers))
        return features

    def index(self, given: Any) -> int:
        """Return the index of a feature."""
        return _index(given, len(self.features), "feature")

    def by_feature(self, given: Any) -> dict[int, Any]:
        """Return a JSON object whose keys are indices of features."""
        return _keyed(given, len(self.features), "feature")

    def mask(self, f: int, given: Any) -> int:
        """Return cells of a feature as bits."""
        self.budget.spend(len(given) * self.words[f] + 4 * self.features[f].n_cells)  # also to be printed
        return _runs(given, self.features[f].n_cells, f"Cells of feature {f}")

    def row(self, given: Any, what: str, like: list[float] | None = None) -> tuple[list[float], list[int]]:
        """Return a row of the space, and its cells; it is given whole, or by the columns not `like` another row."""
        clauses, n = sum(map(len, self.clauses)), len(self.model.columns)
        self.budget.spend(n + self.values + self.model.path + clauses)
        if like is None:
            require(type(given) is list and len(given) == n, f"{what} must have one value for each column.")
            row = [self.model.value(column, value) for column, value in enumerate(given)]
        else:
            row = list(like)
            for column, value in _keyed(given, n, "column").items():
                row[column] = self.model.value(column, value)
        at = [feature.cell(row) for feature in self.features]
        kept = all(any(cells >> at[f] & 1 for f, cells in clause) for clause in self.clauses)
        require(kept, f"{what} violates a constraint between features.")
        return row, at


def _runs(given: Any, below: int, what: str) -> int:
    """Return a set of whole numbers as bits: it is given as the first and the last of each run of them, ascending."""
    ends = _ints(given, 0, below, what)
    firsts, lasts = ends[::2], ends[1::2]
    ascend = all(first <= last for first, last in zip(firsts, lasts, strict=False))
    ascend = ascend and all(last < first for last, first in zip(lasts, firsts[1:], strict=False))
    require(len(firsts) == len(lasts) > 0 and ascend, f"{what} must ascend, with the first and the last of each run.")
    return sum((1 << last + 1) - (1 << first) for first, last in zip(firsts, lasts, strict=True))


def _bits(bits: int) -> list[int]:
    """Return the places of the bits that are set."""
    return [i for i in range(bits.bit_length()) if bits >> i & 1]


# ---------------------------------------------------------------------------------------------------------- the claim


def check(
    certificate: Any,
    model: str | Model,
    row: Any = None,
    budget: float = BUDGET,
    other: str | Model | None = None,
) -> Checked:
    """Check a certificate, as JSON text or parsed, against a model; CheckError says why it fails.

    The model is the JSON text of a Forest or, to read it only once for many certificates, ``Model(text)``. With a
    `row`, a list of values or a dict by column, the certificate must be about that row. A check that takes more than
    `budget` steps is given up, with a CheckError. If it is about two models, `other` is the second.
    """
    work = Budget(budget)
    read_model = Model(model, work) if isinstance(model, str) else model
    second = Model(other, work) if isinstance(other, str) else other
    try:
        if isinstance(certificate, str):
            work.spend(BYTE_STEPS * len(certificate))
            certificate = parse(certificate)
        about_all = isinstance(certificate, dict) and bool({"pair", "pairs", "other"} & set(certificate))
        require(row is None or not about_all, "The certificate is about all inputs, not about a row.")
        if about_all and "other" in certificate:
            return check_two(certificate, read_model, second, work)
        require(second is None, "The certificate is about one model, but two are given.")
        if about_all and "pairs" in certificate:
            return check_pairs(certificate, read_model, None, work)
        if about_all:
            return ScorePair(certificate, read_model, work).check()
        return Claim(certificate, read_model, work).check(row)
    except DAMAGED as error:
        raise CheckError(_unreadable("certificate", error)) from error


def _require_version(certificate: dict[str, Any]) -> None:
    known = certificate.get("format") == "treeproof-certificate"
    require(known, "This is not a treeproof certificate.")
    version = certificate["version"]
    right = type(version) is int and version == VERSION
    require(right, f"The version must be {VERSION}, not {version!r}. Make the certificate again.")


class Claim:
    """What every certificate claims something about: a model, a space, and an instance with its label."""

    def __init__(self, certificate: Any, model: Model, budget: Budget) -> None:
        require(isinstance(certificate, dict), "This is not a treeproof certificate.")
        _require_version(certificate)
        claim = certificate["claim"]
        require(type(claim) is str and claim in CLAIM_KEYS, f"Unknown claim {claim!r}.")
        keys = KEYS | CLAIM_KEYS[claim] | ({"around", "groups"} & set(certificate))
        require(set(certificate) == keys, f"Unknown or missing fields: {sorted(set(certificate) ^ keys)}.")
        same = certificate["model"] == model.fingerprint
        require(same, "The certificate is about another model: the fingerprints differ.")
        self.given, self.model, self.budget, self.leaves = certificate, model, budget, 0
        self.space = Space(model, certificate["space"], budget)
        self.features = self.space.features
        self.row, self.at = self.space.row(certificate["instance"], "The instance")
        label, given = model.label(self.row), certificate["label"]
        right = type(given) is int and given == label
        require(right, f"The model gives the instance the label {label}, not {given!r}.")
        self.label, self.target = label, certificate["target"]
        known = type(self.target) is int and 0 <= self.target < model.n_classes and self.target != label
        require(self.target is None or known, f"The target must be another class, or null, not {self.target!r}.")
        self.excluded = set(range(model.n_classes)) - {label} if self.target is None else {self.target}
        near = self.space.by_feature(certificate.get("around", {}))
        self.near = {f: self.space.mask(f, cells) for f, cells in near.items()}  # what features stay in
        self.around = [self.near.get(f, feature.all) for f, feature in enumerate(self.features)]
        self.require_inside(self.at, self.around, "The instance")
        self.groups = Groups(certificate.get("groups", []), self.space)

    def check(self, row: Any) -> Checked:
        """Check the claim; if a row is given, it must be about that."""
        claim = self.given["claim"]
        rows = [self.row] if claim != "audit" else [self.changed(one["row"], "A row")[0] for one in self.given["rows"]]
        if row is not None:
            self._check_row(rows, _read_row(self.model, row))
        checks = {"change": self._check_change, "complete": self._check_complete, "audit": self._check_audit}
        text, lines = checks.get(claim, self._check_reason)()
        return Checked(
            text=text,
            leaves=self.leaves,
            conditions=lines,
            space=declared(self.space),
            around=[condition(self.features[f], self.near[f]) for f in sorted(self.near)],
            row=[] if claim == "audit" else values(self.space, self.row),
            model=self.model.fingerprint,
            decides=rule(self.model),
            groups=self.groups.texts,
        )

    def _check_row(self, rows: list[list[float]], wanted: list[float]) -> None:
        names = self.model.column_names
        differ = [[name for name, a, b in zip(names, row, wanted, strict=True) if not _same(a, b)] for row in rows]
        others = min(differ, key=len, default=["all"])
        require(not others, f"The certificate is about another row: {', '.join(others[:MOST_VALUES])} differ.")

    def require_inside(self, at: list[int], box: list[int], what: str) -> None:
        """Require that cells are among those of a box."""
        astray = [f for f, (cell, cells) in enumerate(zip(at, box, strict=True)) if not cells >> cell & 1]
        require(not astray, f"{what} leaves the range of features {astray}.")

    def witness(
        self, given: Any, what: str, box: list[int], excluded: set[int] | None = None
    ) -> tuple[list[float], list[int], int]:
        """Return an input of the box with an excluded label: its values, its cells, and that label."""
        row, at = self.changed(given, what)
        self.require_inside(at, box, what)
        got = self.model.label(row)
        right = got in (self.excluded if excluded is None else excluded)
        require(right, f"{what} shows nothing: it has the label {got}.")
        return row, at, got

    def require_same(self, new: list[float], old: list[float], free: set[int], what: str) -> None:
        """Require that two rows have the same values of all but the free features."""
        others = [c for f, feature in enumerate(self.features) if f not in free for c in feature.columns]
        require(all(_same(new[c], old[c]) for c in others), f"{what} changes other features.")

    def changed(self, given: Any, what: str) -> tuple[list[float], list[int]]:
        """Return a row that is given by what it changes of the instance, and its cells."""
        return self.space.row(given, what, self.row)

    def kept(self, features: Iterable[int], at: list[int] | None = None) -> list[int]:
        """Return the box with these features in the instance's cells (or those of `at`), and all others free."""
        box = list(self.around)
        for f in features:
            box[f] = 1 << (at or self.at)[f]
        return box

    def prove(self, box: list[int], proof: Any, excluded: set[int] | None = None) -> None:
        """Check that no input of the box is excluded."""
        self.leaves += Proof(self.space, proof).check(box, self.excluded if excluded is None else excluded)

    def differing(self, given: Any) -> int:
        """Return the groups in which an excluded input near the instance differs from it, as bits."""
        _, at, _ = self.witness(given, "A change", self.around)
        return self.groups.bits(f for f, cell in enumerate(at) if cell != self.at[f])

    def forcing(self, reason: Any) -> int:
        """Return the groups of features that are proved to force the label, as bits."""
        require(set(reason) == {"features", "proof"}, "A reason has features and a proof.")
        features = {self.space.index(f) for f in reason["features"]}
        self.prove(self.kept(features), reason["proof"])
        return self.groups.bits(features)

    def _check_reason(self) -> tuple[str, list[str]]:
        """Features whose conditions exclude labels; if they are said to be minimal, none can be dropped."""
        minimal, space = self.given["claim"] == "minimal", self.space
        kept = {f: space.mask(f, cells) for f, cells in space.by_feature(self.given["box"]).items()}
        box = [kept.get(f, mask) for f, mask in enumerate(self.around)]
        self.require_inside(self.at, box, "The instance")
        self.prove(box, self.given["proof"])
        chosen = self.groups.having(kept)

        witnesses, wider = space.by_feature(self.given["witnesses"]), self.given["wider"]
        expected = chosen if minimal else set()
        require(set(witnesses) == expected, "A minimal set, and no other, must have a witness for each feature.")
        for f, given in witnesses.items():
            # Also where conditions are wide, each feature is needed for the instance's own cells.
            others = self.kept(g for g in kept if self.groups.of[g] != f)
            self.witness(given, f"The witness of feature {f}", others)
        if wider is not None:
            by_feature = space.by_feature(wider)
            require(set(by_feature) == set(kept), "There must be witnesses beside each condition, and beside no other.")
            for f, rows in by_feature.items():
                beyond = [*box[:f], self.features[f].all, *box[f + 1 :]]
                shown = {self.witness(row, f"The witness of feature {f}", beyond)[1][f] for row in rows}
                beside = set(_bits(self.features[f].beside(kept[f]))) - shown
                require(not beside, f"The condition on feature {f} may be widened to the cells {sorted(beside)}.")
        text = self._says(chosen)
        if minimal and kept:
            text += "; it cannot be dropped" if len(chosen) == 1 else "; none of them can be dropped"
        if wider is not None and kept:
            text += not_extended(space, kept)
        if self.given["minimum"] is not None:
            costs, changes = self._minimum("changes")
            text += self._no_cheaper([self.differing(change) for change in changes], costs, chosen)
        return text, [condition(self.features[f], kept[f]) for f in sorted(kept)]

    def _says(self, chosen: set[int]) -> str:
        """Return in words that conditions on these groups exclude labels."""
        stays, out = (self.model.names[self.label if self.target is None else self.target], self.target is not None)
        if not chosen:
            where = " in the ranges around the instance" if self.near else ""
            return f"{'no' if out else 'every'} input{where} has the label {stays}"
        does = ("rule" if out else "force") + "s" * (len(chosen) == 1) + " out" * out
        where = " as long as all others stay in the ranges around the instance" if self.near else ""
        return f"{self.groups.named(chosen)} {does} the label {stays}{where}"

    def _check_change(self) -> tuple[str, list[str]]:
        """Features whose change, with all others as they are, gives an excluded label; that of fewer does not."""
        changed = {self.space.index(f) for f in self.given["changed"]}
        require(len(changed) == len(self.given["changed"]), "A feature is changed twice.")
        new, reached, got = self.witness(self.given["witness"], "The witness", self.around)
        self.require_same(new, self.row, changed, "The witness")
        units = self.groups.having(changed)
        whole = {f for unit in units for f in self.groups.members[unit]}
        require(changed == whole, "The features of a group must change together.")
        proofs = self.space.by_feature(self.given["proofs"])
        require(set(proofs) == units, "There must be a proof for each changed feature, and for no other.")
        for unit, proof in proofs.items():
            free = changed.difference(self.groups.members[unit])
            self.prove(self.kept(set(range(len(self.features))) - free), proof)
        near = " within the ranges around the instance" if self.near else ""
        text = f"a change of {self.groups.named(units)} alone gives the label {self.model.names[got]}"
        other = "another label" if self.target is None else "that label"
        if len(units) > 1:
            text += f"; a change of fewer of them alone does not give {other}{near}"
        if self.given["minimum"] is not None:
            costs, reasons = self._minimum("reasons")
            sets = [self.forcing(reason) for reason in reasons]
            text += self._no_cheaper(sets, costs, units, f"gives {other}") + near
        # Some features of a group may stay as they are.
        moved = [f for f in sorted(changed) if not self.groups.texts or reached[f] != self.at[f]]
        return text, [
            f"{self.features[f].name}: {show(self.features[f], self.row)} -> {show(self.features[f], new)}"
            for f in moved
        ]

    def _check_complete(self) -> tuple[str, list[str]]:
        """All minimal sets of features that force the label, and all whose change can give another."""
        reasons = [self.forcing(reason) for reason in self.given["reasons"]]
        changes = [self.differing(change) for change in self.given["changes"]]
        # A set that has all of a reason forces the label, one that has nothing of a change does not.
        left_open = is_possible(changes, reasons, [1] * len(self.features), math.inf, self.budget)
        require(not left_open, "The lists leave open whether some features force the label.")
        lists = [
            [one for one in sorted(set(those)) if all(one == other or one & other != other for other in those)]
            for those in (reasons, changes)
        ]
        self.budget.spend(len(reasons) ** 2 + len(changes) ** 2)
        used = {group for those in lists for one in those for group in _bits(one)}
        none = sorted(set(self.groups.members) - used)
        words = [[self.groups.named(set(_bits(one))) or "no feature at all" for one in those] for those in lists]
        lines = [f"{what}: {text}" for what, texts in zip(("reason", "change"), words, strict=True) for text in texts]
        lines += [f"in none of them: {self.groups.named(set(none))}"] if none else []
        does, other = f"force the label {self.model.names[self.label]}", "another label"
        if self.target is not None:
            other = f"the label {self.model.names[self.target]}"
            does = f"rule out {other}"
        text = f"these are all minimal sets of features whose values in the row {does} (reasons), and "
        text += f"all minimal sets whose change alone can give {other} (changes)"
        return text + (" within the ranges around the instance" if self.near else ""), lines

    def _check_audit(self) -> tuple[str, list[str]]:
        """Rows in which a change of the free features alone gives another label, and rows in which none does."""
        require(self.target is None and not self.near, "An audit is about all changes to any other label.")
        free = {self.space.index(f) for f in self.given["free"]}
        require(free and self.given["rows"], "An audit must have features and rows.")
        lines, flips = [], 0
        for one in self.given["rows"]:
            row, at = self.changed(one["row"], "A row")
            label, box = self.model.label(row), self.kept(set(range(len(self.features))) - free, at)
            others = set(range(self.model.n_classes)) - {label}
            shown = f"{self.model.names[label]}: {row_text(values(self.space, row))}"
            require(set(one) in ({"row", "witness"}, {"row", "proof"}), "A row has a witness or a proof.")
            if "proof" in one:
                self.prove(box, one["proof"], others)
                lines.append(f"no other label than {shown}")
                continue
            new, reached, got = self.witness(one["witness"], "A witness", box, others)
            self.require_same(new, row, free, "A witness")
            moved = [self.features[f] for f in sorted(free) if reached[f] != at[f]]
            to = ", ".join(f"{feature.name}: {show(feature, row)} -> {show(feature, new)}" for feature in moved)
            lines.append(f"{self.model.names[got]} if {to}, instead of {shown}")
            flips += 1
        units = self.groups.having(free)
        require(
            free == {f for g in units for f in self.groups.members[g]}, "The features of a group are free together."
        )
        n, what = len(lines), f"a change of {self.groups.named(units)} alone"
        return f"of {n} row{'s' * (n != 1)}, {what} gives another label in {flips}; in {n - flips} none does", lines

    def _minimum(self, what: str) -> tuple[list[int], Any]:
        """Return the costs of the features, and the list of what every set that does must meet."""
        given = self.given["minimum"]
        require(set(given) == {"costs", what}, f"A minimum has costs and {what}.")
        if given["costs"] is None:
            return [1] * len(self.features), given[what]
        costs = _ints(given["costs"], 1, 2**4096, "Costs")
        require(len(costs) == len(self.features), "There must be a cost for each feature.")
        return costs, given[what]

    def _no_cheaper(self, sets: list[int], costs: list[int], chosen: set[int], does: str = "does") -> str:
        """Return in words that whatever meets all sets costs at least as much as the chosen ones; CheckError if not."""
        for group, those in self.groups.members.items():
            one = len({costs[f] for f in those}) == 1
            require(one, f"The features of {self.groups.named({group})} must state one cost.")
        total = sum(costs[group] for group in chosen)
        cheaper = is_possible(sets, [], costs, total - 1, self.budget)
        require(not cheaper, "The certificate does not exclude a smaller or cheaper set.")
        if set(costs) == {1}:
            return f"; no smaller set {does}"
        named = ", ".join(f"{self.groups.named({group})} {costs[group]}" for group in sorted(self.groups.members))
        return f"; no set that costs less than {total} {does} (costs: {named})"


class Groups:
    """What counts as one: groups of features, each by its first feature, and features that are in none."""

    def __init__(self, given: Any, space: Space) -> None:
        known = [feature.name for feature in space.features]
        self.of = list(range(len(known)))  # the group of a feature, or else itself
        self.members = {f: [f] for f in self.of}
        self._names, self.texts = dict(enumerate(known)), []
        grouped, called = set[int](), set(known)
        for group in given:
            require(set(group) == {"name", "features"}, "A group has a name and features.")
            require(type(group["name"]) is str, "The name of a group must be text.")
            those, name = sorted(space.index(f) for f in group["features"]), _name(group["name"])
            once = len(set(those)) == len(those) and not grouped.intersection(those)
            require(those and once, "A group must have features, and each feature be in one group, once.")
            require(name not in called, "Groups must not be called as another group or a feature is.")
            grouped.update(those)
            called.add(name)
            self.texts.append(f"{name}: {', '.join(known[f] for f in those)}")
            for f in those:
                self.of[f] = those[0]
                del self.members[f]
            self.members[those[0]], self._names[those[0]] = those, name

    def having(self, features: Iterable[int]) -> set[int]:
        """Return the groups, and features in none, that have one of these features."""
        return {self.of[f] for f in features}

    def bits(self, features: Iterable[int]) -> int:
        """Return the groups that have one of these features, as bits."""
        return sum(1 << group for group in self.having(features))

    def named(self, groups: set[int]) -> str:
        """Return the names of groups, and of features in none."""
        return ", ".join(self._names[group] for group in sorted(groups))


# Pairs: two inputs that differ in some columns alone, or one input of two models. What the second scores less the first
# is a model of its own, made here from the trees of both: the claim about pairs is one about a label of that model.


class Joined:
    """The trees of two models, those of the second behind those of the first, over the columns of the first.

    If one model reads float32 and the other does not, a threshold of the first is the largest float64 that it rounds to
    its left side.
    """

    def __init__(self, one: Model, two: Model) -> None:
        names, others = ([column["name"] for column in model.columns] for model in (one, two))
        plain = [f"x{c}" for c in range(len(names))]  # the columns of a model that was trained without names
        self.by_position = sorted(names) != sorted(others)
        fits = not self.by_position or (len(names) == len(others) and plain in (names, others))
        require(fits, "Both models must have the same columns.")
        place = list(range(len(names))) if self.by_position else [names.index(name) for name in others]
        alike = all(one.columns[at]["categories"] == two.columns[c]["categories"] for c, at in enumerate(place))
        require(alike, "Both models must know the same categories.")
        self.numbers = one.numbers if one.numbers == two.numbers else "float64"
        self.columns, self.subsets, n = one.columns, one.subsets + two.subsets, len(one.feature)
        self.trees = [*one.trees, *((root + n, end + n) for root, end in two.trees)]
        self.feature = one.feature + [place[c] if c >= 0 else -1 for c in two.feature]
        self.subset = one.subset + [s + len(one.subsets) if s >= 0 else -1 for s in two.subset]
        self.left, self.right = (
            [*a, *(i + n if i >= 0 else -1 for i in b)] for a, b in ((one.left, two.left), (one.right, two.right))
        )
        self.missing_left = one.missing_left + two.missing_left
        self.threshold = [*self._thresholds(one), *self._thresholds(two)]

    def same(self, one: tuple[int, int], two: tuple[int, int]) -> bool:
        """Return whether two trees, each from a node up to another, have the same splits in the same places."""

        def split(node: int, root: int) -> tuple[Any, ...]:
            if self.feature[node] < 0:
                return ()
            by = self.subsets[self.subset[node]] if self.subset[node] >= 0 else self.threshold[node]
            return self.feature[node], by, self.missing_left[node], self.left[node] - root, self.right[node] - root

        n, root, other = one[1] - one[0], one[0], two[0]
        return n == two[1] - other and all(split(root + i, root) == split(other + i, other) for i in range(n))

    def _thresholds(self, model: Model) -> list[float]:
        if model.numbers == self.numbers:
            return model.threshold
        splits = zip(model.threshold, model.feature, model.subset, strict=True)
        return [_widest(at) if column >= 0 and subset < 0 else at for at, column, subset in splits]


def _widest(at: float) -> float:
    """Return the largest float64 that rounds to a float32 of at most `at`, which is one."""
    (bits,) = struct.unpack("<i", struct.pack("<f", at or 0.0))
    (above,) = struct.unpack("<f", struct.pack("<i", bits + 1 if bits >= 0 else bits - 1))
    found = at / 2 + above / 2
    found = found if _single(found) <= at else math.nextafter(found, -math.inf)
    require(_single(found) <= at < _single(math.nextafter(found, math.inf)), "A threshold is too large for a float32.")
    return found


class Pair:
    """Two inputs of a model that differ in some columns alone, or one input of two models.

    A claim about them is one about a label of a model of its own. Nodes of its trees are [column, node, left, right,
    values]: a split is that of a node of the model, tested for the first input, or, in a column of its own behind the
    others, for the second. Leaves have a value for each sum. Of two models all columns are shared.
    """

    def __init__(
        self, certificate: dict[str, Any], keys: set[str], model: Model, other: Model | None, budget: Budget
    ) -> None:
        self.given = {key: value for key, value in certificate.items() if key not in ("pair", "other")}
        self.pair = certificate["pair"]
        require(set(self.pair) == (keys if other else keys | {"columns"}), "A pair has unknown or missing fields.")
        require(certificate["model"] == model.fingerprint, "The certificate is about another model.")
        same = certificate.get("other") == (other and other.fingerprint)
        require(same, "The certificate is about two models, and the second is another one.")
        self.model, self.other, self.budget = model, other or model, budget
        require(None not in (self.model.error, self.other.error), "The model's sums must not overflow.")
        self.two = other is not None
        self.forest: Model | Joined = Joined(model, other) if other else model  # whose trees are walked
        self.second = len(model.feature) if other else 0  # where the nodes of the second begin
        self.columns = [] if other else _ints(self.pair["columns"], 0, len(model.columns), "Columns of a pair")
        require(self.two or len(set(self.columns)) == len(self.columns) > 0, "Columns of a pair must differ.")
        self.names = ", ".join(_name(model.columns[c]["name"]) for c in self.columns)
        self.direction: int | None = None
        self.trees: list[list[list[Any]]] = []
        self.none: list[float] = [0.0]  # of inner nodes: nothing for each sum

    def checked(self, label: int | None, target: int | None) -> tuple[Checked, Fraction]:
        """Return what is proved of the label of the pair's model, and how far its sums may be from the exact ones.

        The values of its leaves, and what its sums start from, were rounded once; then its sums are.
        """
        made = Model(self.document(), self.budget)
        made.fingerprint = self.model.fingerprint
        right = self.given["claim"] == "sufficient" and self.given["target"] == target
        require(right and (label is None or self.given["label"] == label), "A pair must claim its own label.")
        require(not {"around", "groups"} & set(self.given), "A pair has neither ranges around it nor groups.")
        require(made.error is not None, "The sums of a pair must not overflow.")
        claim = Claim(self.given, made, self.budget)
        if not self.two and self.direction is None:
            self._require_alike(claim)
        done = claim.check(None)
        done.row, done.decides = [], rule(self.model)
        if self.two:
            done.decides += f"; the second model: {self.other.fingerprint[:12]}, {rule(self.other)}"
        sizes = [max(abs(value) for node in nodes for value in node[4]) for nodes in self.trees]
        rounded = sum(map(Fraction, sizes), Fraction(max(map(abs, made.start)))) / 2**52
        return done, (made.error or Fraction(0)) + rounded

    def _require_alike(self, claim: Claim) -> None:
        """Require that the two inputs may change places: otherwise a proof would be about one order of them only."""
        n = len(self.model.columns)
        copies = {c: n + i for i, c in enumerate(self.columns)}
        swapped = copies | {copy: c for c, copy in copies.items()}
        known = {tuple(feature.columns): f for f, feature in enumerate(claim.features)}
        other = [known.get(tuple(swapped.get(c, c) for c in feature.columns), -1) for feature in claim.features]
        box = claim.space.by_feature(self.given["box"])
        masks = [claim.space.mask(f, box[f]) if f in box else one.all for f, one in enumerate(claim.features)]
        clauses = [[(f, meant(claim.features[f], cells)) for f, cells in clause] for clause in claim.space.clauses]
        mirrored = [sorted((other[f], values) for f, values in clause) for clause in clauses]
        alike = sorted(mirrored) == sorted(map(sorted, clauses))
        for f, feature in enumerate(claim.features):
            there = claim.features[other[f]]
            alike = alike and other[f] >= 0 and feature.whole == there.whole
            alike = alike and meant(feature, feature.all) == meant(there, there.all)
            alike = alike and meant(feature, masks[f]) == meant(there, masks[other[f]])
        require(alike, "The same must be declared of both inputs of a pair.")

    def value(self, second: bool, node: int, k: int) -> Fraction:
        """Return what a leaf adds to sum k of the first or the second, without any rounding."""
        model = self.other if second else self.model
        return Fraction(model.whole[node - self.second if second else node][k], model.finest)

    @property
    def sums(self) -> tuple[list[str], list[float], list[float] | None]:
        """The labels of the pair's model, what its sums start from, and its cuts."""
        raise NotImplementedError

    def document(self) -> str:
        """Return the model of the pair as JSON; its last columns are those of the second input."""
        model, columns = self.forest, list(self.forest.columns)
        names = {column["name"] for column in columns}
        for c in self.columns:
            name = model.columns[c]["name"] + " changed"
            while name in names:
                name += "'"
            names.add(name)
            columns.append({**model.columns[c], "name": name})
        labels, start, cuts = self.sums
        nodes: list[list[Any]] = []
        roots: list[int] = []
        for tree in self.trees or [[[-1, 0, 0, 0, [0.0] * len(start)]]]:
            roots.append(len(nodes))
            nodes += [[c, at, left + roots[-1], right + roots[-1], values] for c, at, left, right, values in tree]
        splits = [node[0] >= 0 for node in nodes]
        subset = [model.subset[node[1]] if split else -1 for node, split in zip(nodes, splits, strict=True)]
        numeric = [split and at < 0 for split, at in zip(splits, subset, strict=True)]
        found = {
            "format": "treeproof-forest",
            "version": 2,
            "vote": "sum",
            "classes": {"dtype": "<U8", "labels": labels},
            "columns": columns,
            "importances": ["0x0.0p+0"] * len(columns),
            "subsets": [sorted(codes) for codes in model.subsets],
            "roots": roots,
            "feature": [node[0] for node in nodes],
            "subset": subset,
            "left": [node[2] if split else -1 for node, split in zip(nodes, splits, strict=True)],
            "right": [node[3] if split else -1 for node, split in zip(nodes, splits, strict=True)],
            "threshold": [model.threshold[n[1]].hex() if cut else None for n, cut in zip(nodes, numeric, strict=True)],
            "values": [[float(value).hex() for value in node[4]] for node in nodes],
            "missing_left": [n for n, node in enumerate(nodes) if numeric[n] and model.missing_left[node[1]]],
            "numbers": model.numbers,
            "sums": {
                "start": [value.hex() for value in start],
                "numbers": "float64",
                "divisor": "0x1.0000000000000p+0",
                "cuts": None if cuts is None else [cut.hex() for cut in cuts],
                "softmax": False,
            },
        }
        return json.dumps(found, separators=(",", ":"))

    def both(self) -> Iterator[tuple[tuple[int, int] | None, tuple[int, int] | None]]:
        """Yield the trees, from where to where their nodes are, for the first and the second; None if one has fewer."""
        if not self.two:
            return ((tree, tree) for tree in self.model.trees)
        n = len(self.model.trees)
        return itertools.zip_longest(self.forest.trees[:n], self.forest.trees[n:])

    def is_shared(self, one: tuple[int, int], two: tuple[int, int]) -> bool:
        """Return whether the first and the second always reach the same place of two trees."""
        self.budget.spend(one[1] - one[0])
        if isinstance(self.forest, Joined):
            return self.forest.same(one, two)
        return not any(self.forest.feature[node] in self.columns for node in range(*one))

    def copied(self, tree: tuple[int, int], second: bool, leaf: Callable[[int], list[float]]) -> list[list[Any]]:
        """Return a tree as the first or the second meets it, with other values at its leaves."""
        model, (root, end) = self.forest, tree
        return [
            [self._column(n, second), n, model.left[n] - root, model.right[n] - root, self.none]
            if model.feature[n] >= 0
            else [-1, 0, 0, 0, leaf(n)]
            for n in range(root, end)
        ]

    def overlay(
        self, one: tuple[int, int], two: tuple[int, int], leaf: Callable[[int, int], list[float]]
    ) -> list[list[Any]] | None:
        """Return two trees as one, with the values of the leaves that the first and the second reach.

        A leaf that both reach must have zeros. It is one leaf if none of the columns is tested. Of two models, None if
        it would have more nodes than both trees together.
        """
        model = self.forest
        tests: dict[int, bool] = {}
        for node in range(one[1] - 1, one[0] - 1, -1):
            c = model.feature[node]
            tests[node] = c in self.columns or (c >= 0 and (tests[model.left[node]] or tests[model.right[node]]))
        nodes: list[list[Any]] = []
        most = one[1] - one[0] + two[1] - two[0] if self.two else math.inf
        self._grow(one[0], two[0], tests, nodes, {}, leaf, most)
        return nodes if len(nodes) <= most else None

    def _grow(
        self,
        one: int,
        two: int,
        tests: dict[int, bool],
        nodes: list[list[Any]],
        inside: dict[int, Any],
        leaf: Callable[[int, int], list[float]],
        most: float,
    ) -> int:
        """Append the overlay of two subtrees, one for each input; return its place.

        Both are walked at once; `inside` is what the path has left of each column. Where neither input can go two ways,
        both are at a leaf. At the same node, with none of the columns that differ tested below, both reach the same.
        With a direction, the second input has the larger number. With more nodes than `most` it is given up.
        """
        self.budget.spend(10)
        model, here = self.forest, len(nodes)
        one, two = self._descend(one, False, inside), self._descend(two, True, inside)
        same = one == two and not tests[one]
        second = model.feature[one] < 0
        at = two if second else one
        if same or model.feature[at] < 0 or here > most:
            nodes.append([-1, 0, 0, 0, leaf(one, two) if model.feature[at] < 0 else self.none])
            return here
        nodes.append([])
        column, before = self._column(at, second), inside.get(self._column(at, second))
        ends = []
        for side in self._sides(at, column, inside):
            inside[column] = side
            ends.append(self._grow(one, two, tests, nodes, inside, leaf, most))
        inside.pop(column)
        if before is not None:
            inside[column] = before
        first, last = (nodes[end] for end in ends)
        if first[0] == last[0] == -1 and first[4] == last[4]:
            nodes[here:] = [first]
        else:
            nodes[here] = [column, at, *ends, self.none]
        return here

    def _column(self, node: int, second: bool) -> int:
        """Return the column of the pair's model that a node tests for the first or the second input."""
        c = self.forest.feature[node]
        return len(self.model.columns) + self.columns.index(c) if second and c in self.columns else c

    def _descend(self, node: int, second: bool, inside: dict[int, Any]) -> int:
        """Return the first node from here on at which an input can go two ways, or its leaf."""
        model = self.forest
        while model.feature[node] >= 0:
            left, right = self._sides(node, self._column(node, second), inside)
            if left is not None and right is not None:
                break
            node = model.left[node] if left is not None else model.right[node]
        return node

    def _sides(self, node: int, column: int, inside: dict[int, Any]) -> list[Any]:
        """Return what is left of a column on each side of a node, None if nothing: categories, or a range.

        A range is (above, up to, whether missing values are in it).
        """
        model = self.forest
        about, c = model.columns[model.feature[node]], model.feature[node]
        if model.subset[node] >= 0:
            values = inside.get(column, frozenset(range(len(about["categories"]))))
            among = values & model.subsets[model.subset[node]]
            return [among or None, values - among or None]
        directed = self.direction is not None and c in self.columns
        missing = about.get("missing", "never") != "never" and not directed
        whole = (-math.inf, math.inf, missing)
        low, high, missing = inside.get(column, whole)
        at, goes = model.threshold[node], model.missing_left[node]
        sides = [(low, min(high, at), missing and goes), (max(low, at), high, missing and not goes)]
        if directed and column == c:  # the first input has the smaller number
            highest = inside.get(len(model.columns), whole)[1]
            return [side if side[0] < min(side[1], highest) else None for side in sides]
        if directed:
            lowest = inside.get(c, whole)[0]
            return [side if max(side[0], lowest) < side[1] else None for side in sides]
        return [side if side[0] < side[1] or side[2] else None for side in sides]


class ScorePair(Pair):
    """The claim that the score of two such inputs changes by less than a number.

    The score is what the model adds up for one class, in exact arithmetic, and divides. With a `direction`, 1 or -1,
    only pairs in which the column grows are meant, and only changes against that direction count.
    """

    def __init__(self, certificate: dict[str, Any], model: Model, budget: Budget) -> None:
        super().__init__(certificate, {"class", "direction", "cut"}, model, None, budget)
        self.k = _index(self.pair["class"], len(model.start), "The class of a score")
        self.direction = self.pair["direction"]
        known = self.direction is None or (type(self.direction) is int and self.direction in (1, -1))
        require(known and (self.direction is None or len(self.columns) == 1), "A direction is 1 or -1, of one column.")
        numeric = all(model.columns[c]["categories"] is None for c in self.columns)
        require(self.direction is None or numeric, "Only numbers have a direction.")
        self.cut = _number(self.pair["cut"])
        require(math.isfinite(self.cut), "The bound of a pair must be finite.")
        sign = -(self.direction or -1)

        def change(one: int, two: int) -> list[float]:
            return [float(sign * (self.value(True, two, self.k) - self.value(False, one, self.k)))]

        trees = [self.overlay(tree, tree, change) or [] for tree in model.trees]
        self.trees = [nodes for nodes in trees if len(nodes) > 1 or nodes[0][4] != [0.0]]

    @property
    def sums(self) -> tuple[list[str], list[float], list[float] | None]:
        """One sum, and a cut that it stays below."""
        return ["below", "reached"], [0.0], [self.cut]

    def check(self) -> Checked:
        """Check that no pair of inputs reaches the cut."""
        model = self.model
        done, rounding = self.checked(0, None)
        # Trees none of which turns against the direction are added without turning against it in floats, too.
        sure = self.direction is not None and all(node[4][0] <= 0 for nodes in self.trees for node in nodes)
        what, divisor = model.score(self.k)
        most = (Fraction(self.cut) + rounding + (model.error or 0)) / divisor
        by = "at all" if sure else f"by {_upward(most)} or more"
        if self.direction is None:
            done.text = f"no two inputs that differ in {self.names} alone differ in {what} {by}"
        else:
            turns = "falls" if self.direction > 0 else "rises"
            done.text = f"{what} never {turns} {by} when {self.names} grows and nothing else changes"
        done.text += ", under these conditions" if done.conditions else ""
        return done


class ScoreGap(Pair):
    """The claim that the scores that two models give an input differ by less than a number.

    The score is what a model adds up for one class, in exact arithmetic, and divides. Each is multiplied by the divisor
    of the other, unless these are equal.
    """

    def __init__(self, certificate: dict[str, Any], model: Model, other: Model, budget: Budget) -> None:
        super().__init__(certificate, {"classes", "cuts"}, model, other, budget)
        self.k = _ints(self.pair["classes"], 0, 2**31, "The classes of scores")
        require(len(self.k) == 2, "Two models have two classes.")
        one, two = (
            _index(k, len(m.start), "The class of a score") for k, m in zip(self.k, (model, other), strict=True)
        )
        right = (model.cuts is None, model.vote == "majority") == (other.cuts is None, other.vote == "majority")
        require(right and (model.cuts is not None or model.classes[one] == other.classes[two]), "Scores must be alike.")
        self.cuts = [_number(cut) for cut in self.pair["cuts"]]
        require(len(self.cuts) == 2 and all(map(math.isfinite, self.cuts)), "A gap must have two finite bounds.")
        divisors = model.score(one)[1], other.score(two)[1]
        self.times = (Fraction(1), Fraction(1)) if divisors[0] == divisors[1] else (divisors[1], divisors[0])
        self.divisor = divisors[0] * self.times[0]

        def gap(first: int | None, second: int | None) -> list[float]:
            found = Fraction(0) if second is None else self.value(True, second, two) * self.times[1]
            return [float(found if first is None else found - self.value(False, first, one) * self.times[0])]

        self.start = other.exact_start[two] * self.times[1] - model.exact_start[one] * self.times[0]
        for old, new in self.both():
            overlaid = None if old is None or new is None else self.overlay(old, new, gap)
            if overlaid is not None:
                self.trees.append(overlaid)
                continue
            if old is not None:
                self.trees.append(self.copied(old, False, lambda node: gap(node, None)))
            if new is not None:
                self.trees.append(self.copied(new, True, lambda node: gap(None, node)))
        self.trees = [nodes for nodes in self.trees if len(nodes) > 1 or nodes[0][4] != [0.0]]

    @property
    def sums(self) -> tuple[list[str], list[float], list[float] | None]:
        """One sum, and two cuts between which it stays."""
        return ["less", "between", "more"], [float(self.start)], self.cuts

    def check(self) -> Checked:
        """Check that no input reaches one of the cuts."""
        done, rounding = self.checked(1, None)
        own = (self.model.error or 0) * self.times[0] + (self.other.error or 0) * self.times[1]
        most = (Fraction(max(map(abs, self.cuts))) + rounding + own) / self.divisor
        what, _ = self.model.score(self.k[0])
        done.text = f"{what} differs by less than {_upward(most)} between the two models, for every input"
        done.text += ", under these conditions" if done.conditions else ""
        return done


class LabelPair(Pair):
    """The claim that no two such inputs have two different labels, the first one a and the second b.

    The label 0 of the pair's model is that both lead all their rivals by enough, and so that their leads over each
    other together are enough, a condition in which whatever is the same for both cancels out. Each condition is
    the label 0 against another one. `room` makes them weaker by as much as the sums of the pair's model are rounded.
    Of two models, the first gives the input the label a, and the second the label b.
    """

    def __init__(self, certificate: dict[str, Any], model: Model, other: Model | None, budget: Budget) -> None:
        super().__init__(certificate, {"labels", "room"}, model, other, budget)
        given = self.pair["labels"]
        require(type(given) is list and len(given) == 2, "A pair has two labels.")
        self.a, self.b = (_index(k, m.n_classes, "label") for k, m in zip(given, (model, self.other), strict=True))
        self.room = _number(self.pair["room"])
        require(0 <= self.room < math.inf, "The room of a pair must be a number.")
        a, b = model.classes[self.a], self.other.classes[self.b]
        require(a != b, "The labels of a pair must differ.")
        self.first, self.last = (
            [(k, j) for j in self._rivals(m, k)] for m, k in ((model, self.a), (self.other, self.b))
        )
        self.together = None  # the leads of a and b over each other, if both models know both labels
        if b in model.classes and a in self.other.classes:
            self.together = (self.a, model.classes.index(b)), (self.b, self.other.classes.index(a))
        self.none = [0.0] * (1 + len(self.first) + len(self.last) + (self.together is not None))
        for one, two in self.both():
            self.trees += self._trees(one, two)

    def _trees(self, one: tuple[int, int] | None, two: tuple[int, int] | None) -> Iterator[list[list[Any]]]:
        """Yield what two trees add to the conditions: in one tree where both reach the same place."""
        if one is not None and two is not None and self.is_shared(one, two):
            moved = two[0] - one[0]
            yield self.copied(one, False, lambda node: self._leads(node, node + moved))
            return
        overlaid = None
        if one is not None and two is not None and self.together is not None:
            overlaid = self.overlay(one, two, lambda first, second: self._leads(first, second, alone=False))
        if overlaid is not None:
            yield overlaid
        also = self.together is not None and overlaid is None
        if one is not None:
            yield self.copied(one, False, lambda node: self._leads(node, None, together=also))
        if two is not None:
            yield self.copied(two, True, lambda node: self._leads(None, node, together=also))

    def _leads(self, one: int | None, two: int | None, *, alone: bool = True, together: bool = True) -> list[float]:
        """Return what two leaves take from the leads: those over rivals, `alone`, and those over each other."""
        found = [Fraction(0)] * len(self.none)
        for second, node, leads, start in ((False, one, self.first, 1), (True, two, self.last, 1 + len(self.first))):
            if node is None:
                continue
            for k, lead in enumerate(leads if alone else (), start=start):
                found[k] -= self._lead(second, node, *lead)
            if together and self.together is not None:
                found[-1] -= self._lead(second, node, *self.together[second])
        return list(map(float, found))

    def _rivals(self, model: Model, label: int) -> list[int]:
        """Return the classes that a label must lead: where a score is cut, its neighbours."""
        return [k for k in range(model.n_classes) if k != label and (model.cuts is None or abs(k - label) == 1)]

    def _lead(self, second: bool, node: int, winner: int, loser: int) -> Fraction:
        """Return by how much a leaf lets one class lead another, as `Model.least_lead` counts it."""
        if (self.other if second else self.model).cuts is not None:
            return (winner - loser) * self.value(second, node, 0)
        return self.value(second, node, winner) - self.value(second, node, loser)

    @property
    def sums(self) -> tuple[list[str], list[float], list[float] | None]:
        """Sums that must not exceed 0, each from what it takes to lead."""
        first = [self.model.least_lead(*lead) for lead in self.first]
        second = [self.other.least_lead(*lead) for lead in self.last]
        starts = [lead for lead in (*first, *second) if lead is not None]
        if self.together is not None:
            one, two = self.model.least_lead(*self.together[0]), self.other.least_lead(*self.together[1])
            assert one is not None
            assert two is not None
            starts.append(one + two)
        labels = ["both", *(f"not {k}" for k in range(len(starts)))]
        # Rounded down, so that conditions get weaker.
        return labels, [0.0, *(_downward(start - Fraction(self.room)) for start in starts)], None

    def check(self) -> Checked:
        """Check that no pair of inputs meets all conditions."""
        done, rounding = self.checked(None, 0)
        require(Fraction(self.room) >= rounding, "The room of a pair is too small for its rounding.")
        a, b = _printable(self.model.classes[self.a]), _printable(self.other.classes[self.b])
        done.text = f"no two inputs that differ in {self.names} alone have the labels {a} and {b}"
        if self.two:
            done.text = f"no input has the label {a} in the first model and {b} in the second"
        done.text += ", under these conditions" if done.conditions else ""
        return done


def check_pairs(certificate: dict[str, Any], model: Model, other: Model | None, budget: Budget) -> Checked:
    """Check that no label depends on some columns, or that two models give the same: a proof for every two labels."""
    keys = {"format", "version", "model", "claim", "pairs"}
    _require_version(certificate)
    require(set(certificate) == (keys if other is None else keys | {"other"}), "Unknown or missing fields.")
    claims = certificate["claim"] == ("independent" if other is None else "same")
    require(claims and len(certificate["pairs"]) > 0, "Unknown claim about pairs.")
    about: dict[str, Any] = {key: certificate[key] for key in ("model", "other") if key in certificate}
    pairs = [LabelPair({**one, **about}, model, other, budget) for one in certificate["pairs"]]
    found = {(pair.a, pair.b) for pair in pairs}
    if other is None:
        found |= {(b, a) for a, b in found}  # the inputs may change places
    names = model.classes, (other or model).classes
    every = {(a, b) for a, one in enumerate(names[0]) for b, two in enumerate(names[1]) if one != two}
    require(found >= every, "There must be a proof for every two labels.")
    require(all(pair.columns == pairs[0].columns for pair in pairs), "All pairs must differ in the same columns.")
    checks = [pair.check() for pair in pairs]
    alike = all((one.space, one.conditions) == (checks[0].space, checks[0].conditions) for one in checks)
    require(alike, "All pairs must be about the same inputs.")
    text = f"no two inputs that differ in {pairs[0].names} alone have different labels"
    if other is not None:
        text = "both models give the same label to every input"
    text += ", under these conditions" if checks[0].conditions else ""
    return replace(checks[0], text=text, leaves=sum(one.leaves for one in checks))


def check_two(certificate: dict[str, Any], model: Model, other: Model | None, budget: Budget) -> Checked:
    """Check a certificate about two models: that they are identical, give the same labels, or scores close together."""
    require(other is not None, "The certificate is about two models, but only one is given.")
    assert other is not None
    _require_version(certificate)
    if "pairs" in certificate:
        return check_pairs(certificate, model, other, budget)
    if "pair" in certificate:
        return ScoreGap(certificate, model, other, budget).check()
    known = set(certificate) == {"format", "version", "model", "other", "claim"} and certificate["claim"] == "identical"
    require(known, "Unknown claim about two models.")
    right = (certificate["model"], certificate["other"]) == (model.fingerprint, other.fingerprint)
    require(right, "The certificate is about other models.")
    joined, n = Joined(model, other), len(model.trees)
    alike = len(other.trees) == n and all(map(joined.same, joined.trees[:n], joined.trees[n:]))
    require(alike, "The models have different trees.")
    leaves = [i for i, column in enumerate(model.feature) if column < 0]
    values = all(model.values[i] == other.values[i] for i in leaves)
    require(values and model.adding == other.adding, "The models add up different numbers, or in different ways.")
    decides = f"{rule(model)}; the second model: {other.fingerprint[:12]}"
    text = "both models have the same trees, add them up in the same way, and so give the same label to every input"
    return Checked(text, leaves=0, conditions=[], space=[], model=model.fingerprint, decides=decides)


def meant(feature: Feature, cells: int) -> Any:
    """Return which values cells stand for, however these are cut: values, or ranges and whether missing ones are in."""
    if feature.points:
        return [feature.points[c] for c in _bits(cells)]
    numbers, ends = feature.without_missing(cells), [feature.lowest, *feature.uppers]
    runs: list[list[float]] = []
    for i in _bits(numbers):
        if runs and runs[-1][1] == ends[i]:
            runs[-1][1] = ends[i + 1]
        else:
            runs.append([ends[i], ends[i + 1]])
    return runs, feature.missing is not None and bool(cells >> feature.missing & 1)


def is_possible(there: list[int], lacking: list[int], costs: list[int], most: float, budget: Budget) -> bool:
    """Return whether features that cost at most so much have one of each of some sets, and lack one of each of others.

    All sets are bits of features.
    """
    todo = [(there, lacking, most)]
    while todo:
        there, lacking, most = todo.pop()
        budget.spend(1 + (len(there) + len(lacking)) * (1 + len(costs) // 8))
        there = sorted(there, key=int.bit_count)
        seen = bound = 0
        for one in there:  # sets that share no feature are met one by one
            if not one & seen:
                seen |= one
                bound += min((costs[f] for f in _bits(one)), default=0)
        if bound > most or 0 in there or 0 in lacking:  # nothing meets an empty set
            continue
        if not there:
            return True
        # Of the smallest set it has one feature, or lacks one: this, and none before it.
        smallest, before = min([there[0], *lacking], key=int.bit_count), 0
        for f in _bits(smallest):
            inside, outside = (1 << f, before) if smallest == there[0] else (before, 1 << f)
            there_left = [one & ~outside for one in there if not one & inside]
            lacking_left = [one & ~inside for one in lacking if not one & outside]
            todo.append((there_left, lacking_left, most - sum(costs[g] for g in _bits(inside))))
            before |= 1 << f
    return False


# ---------------------------------------------------------------------------------------------------------- the proof


class Priced(NamedTuple):
    """A split with its prices."""

    left: int  # the cells that go left, as bits
    alpha: int
    beta: int


Table = dict[int, dict[int, list[Priced]]]  # prices, per tree, by its root, and per feature


def due(splits: list[Priced], cells: int) -> int:
    """Return what is paid, where only these cells are left, for the sides of splits that all of them take."""
    return sum(alpha if not cells & ~left else beta if not cells & left else 0 for left, alpha, beta in splits)


class Proof:
    """The split trees, and the bounds at their leaves."""

    def __init__(self, space: Space, given: Any) -> None:
        self.space, self.model, self.budget = space, space.model, space.budget
        require(set(given) == {"unit", "steps", "tables"}, "A proof has a unit, steps and tables.")
        unit = given["unit"]
        require(type(unit) is int and -2200 <= unit <= 2200, "The unit of prices must be a power of two.")
        self.steps = _ints(given["steps"], -(2**31), 2**31, "Steps")
        self.at, self.leaves = 0, 0
        self.tables = []
        for entries in given["tables"]:
            _ints(entries, 0, 2**63, "Prices and their nodes")
            triples = list(zip(entries[::3], entries[1::3], entries[2::3], strict=True))
            splits = all(n < len(space.owner) and space.owner[n] >= 0 for n, _, _ in triples)
            once = len({n for n, _, _ in triples}) == len(triples)
            require(splits and once, "Prices must be those of splits, one pair for each.")
            table: Table = {}
            for n, alpha, beta in triples:
                root = self.model.roots[bisect_right(self.model.roots, n) - 1]
                priced = Priced(space.left_cells[n], alpha, beta)
                table.setdefault(root, {}).setdefault(space.owner[n], []).append(priced)
            self.tables.append(table)
        # All values and prices as whole multiples of one small fraction, 1 / scale.
        self.scale = math.lcm(self.model.finest, 2 ** max(0, -unit))
        self.price = self.scale * 2**unit if unit >= 0 else self.scale // 2**-unit
        self._leads: dict[tuple[int, int], list[int]] = {}
        self._listed: dict[tuple[int, ...], set[int]] = {}

    def check(self, box: list[int], excluded: set[int]) -> int:
        """Check that no point of the box has one of these labels; return the number of leaves."""
        proved = set()
        while self.at < len(self.steps):
            step, rival = self._take(2)
            named = step == RIVAL and 0 <= rival < self.model.n_classes
            require(named, "A proof must name the class that it excludes.")
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
                self.budget.spend(2 * (len(whole) + self.space.words[f]))
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
                known = 0 <= numbers[0] < len(self.space.clauses)
                require(known, "A leaf names a constraint that does not exist.")
                broken = all(not box[f] & cells for f, cells in self.space.clauses[numbers[0]])
                require(broken, "A constraint is not violated in a whole box.")

    def read_split(self, step: int) -> tuple[int, int]:
        """Return the feature of a split, and the cells of its first part as bits."""
        (f,) = self._take(1)
        require(0 <= f < len(self.space.features), "A split must be on one of the features.")
        n_cells = self.space.features[f].n_cells
        if step == ORDERED:
            low, high = self._take(2)
            require(0 <= low <= high < n_cells, "A split must be at one of the cells.")
            return f, (1 << high + 1) - (1 << low)
        words = self._take(2 * -(-n_cells // 64))
        return f, sum((word & 0xFFFFFFFF) << 32 * i for i, word in enumerate(words))

    def _loses(self, box: list[int], winner: int, loser: int, prices: Table) -> bool:
        """Return whether the bound shows that `winner` does not have the label anywhere in the box."""
        least = self.model.least_lead(winner, loser)
        if least is None:
            return False
        self.budget.spend(len(box))
        leads, bound = self._lead(winner, loser), 0
        for root in self.model.roots:
            reached = self._reached(box, root, prices.get(root, {}))
            bound += max(leads[node] - paid * self.price for node, paid in reached)
        earning: list[dict[int, list[int]]] = [{} for _ in box]  # per feature and split: what sides earn
        for f, splits in itertools.chain.from_iterable(map(dict.items, prices.values())):
            self.budget.spend(len(splits))
            for split in splits:
                sides = earning[f].setdefault(split.left, [0, 0])
                sides[0] += split.alpha
                sides[1] += split.beta
        bound += sum(most_earned(box[f], splits, self.budget) for f, splits in enumerate(earning)) * self.price
        return bound < least * self.scale

    def _reached(self, box: list[int], root: int, prices: dict[int, list[Priced]]) -> Iterator[tuple[int, int]]:
        """Yield the leaves of a tree that points of the box may reach, each with what it pays."""
        owner, left_cells = self.space.owner, self.space.left_cells
        paid = sum(due(splits, box[f]) for f, splits in prices.items())
        visited = 1 + sum(map(len, prices.values()))
        todo = [(root, paid, 0, box[0])]  # a node, what is due, a feature and its cells there; -1: back above a split
        while todo:
            node, paid, f, cells = todo.pop()
            box[f] = cells
            f = owner[node] if node >= 0 else -1
            if f >= 0:
                cells, left, splits = box[f], left_cells[node], prices.get(f, [])
                visited += self.space.words[f] * (1 + len(splits))
                paid -= due(splits, cells)
                todo.append((-1, 0, f, cells))
                for child, part in ((self.model.right[node], cells & ~left), (self.model.left[node], cells & left)):
                    if part:
                        todo.append((child, paid + due(splits, part), f, part))
            elif node >= 0:
                yield node, paid
        self.budget.spend(visited)

    def _lead(self, winner: int, loser: int) -> list[int]:
        """Return, for every node, what it adds to the winner's lead; with cuts, class k has k times the score."""
        if (winner, loser) not in self._leads:
            self.budget.spend(len(self.space.owner))
            times = self.scale // self.model.finest
            if self.model.cuts is not None:
                self._leads[winner, loser] = [(winner - loser) * times * score for (score,) in self.model.whole]
            else:
                self._leads[winner, loser] = [times * (v[winner] - v[loser]) for v in self.model.whole]
        return self._leads[winner, loser]

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
            n, clauses = math.prod(map(int.bit_count, box)), self.space.clauses
            require(n <= MOST_POINTS, "A box has too many points to be listed.")
            self.budget.spend(n * (self.model.path + sum(map(len, clauses))))
            points = itertools.product(*map(_bits, box))
            allowed = (at for at in points if all(any(cells >> at[f] & 1 for f, cells in one) for one in clauses))
            self._listed[key] = {
                self.model.decide([self._leaf(root, at) for root in self.model.roots]) for at in allowed
            }
        return self._listed[key]

    def _leaf(self, node: int, at: tuple[int, ...]) -> list[float]:
        """Return the value that a tree gives a point."""
        while (f := self.space.owner[node]) >= 0:
            left = self.space.left_cells[node] >> at[f] & 1
            node = self.model.left[node] if left else self.model.right[node]
        return self.model.values[node]


def within(box: list[int] | None, f: int, cells: int) -> list[int] | None:
    """Return the part of a box where a feature is in these cells; None if it has no points."""
    if box is None or not box[f] & cells:
        return None
    return [*box[:f], box[f] & cells, *box[f + 1 :]]


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


# ------------------------------------------------------------------------------------------------------- the printing


@dataclass
class Checked:
    """What a certificate proves, once it has been checked; it prints as that.

    `text` says it in words, `conditions` line by line what it is about. `leaves` is the number of boxes that the proofs
    close. `space` has what is declared of inputs beyond what the model takes; if it is empty, the claim is about all of
    them. `around` has the ranges that features stay in which have no condition, or whose condition is dropped, or which
    change. `row` has the instance's values; conditions are about its cells, so that the claim may be false of another
    row for which they read the same. A label is what the model `decides` from its trees, which need not be what a
    library's predict does.
    """

    text: str
    leaves: int
    conditions: list[str]  # that force the label; changes that give another one; reasons and changes; rows
    space: list[str]
    around: list[str] = field(default_factory=list)
    row: list[str] = field(default_factory=list)
    model: str = ""  # the fingerprint of the model
    decides: str = ""
    groups: list[str] = field(default_factory=list)  # features that count as one

    @property
    def lines(self) -> list[tuple[Literal["proved", "condition", "note"], str]]:
        """What it says, line by line, each with its role."""
        boxes = "1 closed box" if self.leaves == 1 else f"{self.leaves} closed boxes"
        lines: list[tuple[Literal["proved", "condition", "note"], str]] = [
            ("proved", f"Checked: {self.text} ({boxes})."),
            *(("condition", line) for line in self.conditions),
        ]
        for title, more in (
            ("The features of a group count as one, and are kept, dropped or changed together:", self.groups),
            (
                "The ranges around the instance; what has no condition, loses it, or changes stays in these:",
                self.around,
            ),
            ("Only inputs of the declared space are meant:", self.space),
        ):
            if more:
                lines += [("note", title), *(("condition", line) for line in more)]
        if self.row:
            lines.append(("note", f"Row: {row_text(self.row)}"))
        lines.append(("note", f"Model: {self.model[:12]}, {self.decides}"))
        return lines

    def __str__(self) -> str:
        return "\n".join(f"  {text}" if role == "condition" else text for role, text in self.lines)


def _name(name: str) -> str:
    """Return a name as one line of text, such that no two look alike, nor like something else that is printed."""
    words = name.split(" ")
    plain = name.isprintable() and all(words) and not set('",;:=<>/').intersection(name)
    return name if plain and not {"or", "and", "is", "if"}.intersection(words) else _quoted(name)


def _printable(label: Any) -> str:
    """Return a label as one line of text, such that no two look alike: text is in quotes unless it is plain words."""
    if not isinstance(label, str):
        return "missing" if label is None else str(label)
    words = label.replace("_", " ").replace("-", " ").split(" ")
    plain = all(word.isalnum() for word in words) and label[0].isalpha() and "or" not in words
    known = label.lower() in ("missing", "none", "nan", "true", "false")
    return label if plain and not known else _quoted(label)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=not text.isprintable())


def rule(model: Model) -> str:
    """Return in words how the trees' values become a label."""
    trees = f"{len(model.roots)} tree{'s' * (len(model.roots) != 1)}"
    if model.vote != "sum":
        return f"the most votes of {trees}" if model.vote == "majority" else f"the largest mean probability of {trees}"
    divided = f" divided by {model.divisor!r}" * model.divides
    parts = f" in {len(model.members)} parts that are weighted" * bool(model.members)
    if model.sigmoid is not None:
        return f"the largest 1 / (1 + exp(-{model.sigmoid!r} s)) for the sums s of {trees}{divided}"
    if model.cuts is None:
        return f"the largest sum of {trees}{parts}{divided}" + ", after a softmax" * model.softmax
    cuts = [f"{model.names[k + 1]} from {cut!r}" for k, cut in enumerate(model.cuts[:MOST_VALUES])]
    more = [f"{len(model.cuts) - MOST_VALUES} more cuts"] * (len(model.cuts) > MOST_VALUES)
    return f"the sum of {trees}{parts}{divided}: " + "; ".join([model.names[0], *cuts, *more])


def _upward(value: Fraction) -> str:
    """Return a number that is not smaller, with six digits."""
    digits = decimal.Context(prec=6, rounding=decimal.ROUND_CEILING)
    return str(digits.divide(decimal.Decimal(value.numerator), decimal.Decimal(value.denominator)))


def _downward(value: Fraction) -> float:
    """Return the largest number that is not larger, or one below that."""
    near = float(value)
    return near if near <= value else math.nextafter(near, -math.inf)


def row_text(row: list[str]) -> str:
    """Return the values of a row; if there are many, the rest by what identifies the whole row."""
    if len(row) <= MOST_VALUES:
        return ", ".join(row)
    whole = hashlib.sha256("\n".join(row).encode(errors="backslashreplace")).hexdigest()[:12]
    return ", ".join([*row[:MOST_VALUES], f"{len(row) - MOST_VALUES} more (all: {whole})"])


def values(space: Space, row: list[float]) -> list[str]:
    """Return the features' values in a row, with their names."""
    single = [len(feature.columns) == 1 for feature in space.features]
    return [
        f"{f.name} = {show(f, row)}" if one else show(f, row) for f, one in zip(space.features, single, strict=True)
    ]


def show(feature: Feature, row: list[float]) -> str:
    """Return the feature's value in a row."""
    if feature.points:
        return feature.labels[feature.cell(row)]
    value = row[feature.columns[0]]
    return "missing" if math.isnan(value) else number(feature, value)


def number(feature: Feature, value: float) -> str:
    """Return the shortest decimal that the model reads as this number."""
    rounded = _single if feature.numbers == "float32" else float
    shown = (float(f"{value:.{digits}g}") for digits in range(1, 18))
    return repr(next((short for short in shown if rounded(short) == value), value) + 0.0).removesuffix(".0")


def condition(feature: Feature, cells: int) -> str:
    """Return in words that the feature's cell is among these."""
    if feature.points:
        chosen = " or ".join(label for c, label in enumerate(feature.labels) if cells >> c & 1)
        return chosen if len(feature.columns) > 1 else f"{feature.name} is {chosen}"
    parts, numbers, first, most = [], feature.without_missing(cells), 0, LARGEST[feature.numbers]
    for i, upper in enumerate(feature.uppers):
        if not numbers >> i & 1:
            first = i + 1
        elif i + 1 == len(feature.uppers) or not numbers >> i + 1 & 1:  # the last of the cells from `first` on
            # Closed, in the model's numbers: x > 0.5 would be false of 0.5000000001, which float32 reads as 0.5.
            low = _after(feature, feature.uppers[first - 1]) if first else feature.lowest
            ends = [low > -most or first > 0, upper < most or i + 1 < len(feature.uppers)]
            words = {
                (False, False): f"{feature.name} is any number",
                (True, False): f"{feature.name} >= {number(feature, low)}",
            }
            least = f"{number(feature, low)} <= " if ends[0] else ""
            parts.append(words.get((ends[0], ends[1]), f"{least}{feature.name} <= {number(feature, upper)}"))
    missing = feature.missing is not None and cells >> feature.missing & 1
    return " or ".join([*parts, f"{feature.name} is missing"] if missing else parts)


def _after(feature: Feature, upper: float) -> float:
    """Return the first number of the cell after the one that ends at `upper`."""
    floats, integers = ("<f", "<i") if feature.numbers == "float32" else ("<d", "<q")
    (bits,) = struct.unpack(integers, struct.pack(floats, upper + 0.0))
    (following,) = struct.unpack(floats, struct.pack(integers, bits + 1 if bits >= 0 else bits - 1))
    return max(upper + 1, following) if feature.whole else float(following)


def not_extended(space: Space, kept: dict[int, int]) -> str:
    """Return in words that no condition can be extended; a range not by what is next to it, a set by no value."""
    named = {bool(space.features[f].points) for f in kept}
    text = ["no range can be extended"] * (False in named) + ["no value can be added"] * (True in named)
    perhaps = set()
    for f, cells in kept.items():  # what a condition excludes, and nothing shows that it must
        feature = space.features[f]
        if feature.missing is not None and not feature.points:
            untried = feature.all & ~cells & ~feature.beside(cells)
            perhaps |= {"missing values"} if untried >> feature.missing & 1 else set()
            perhaps |= {"numbers"} if not feature.without_missing(cells) and feature.without_missing(untried) else set()
    return f"; {' and '.join(text)}" + f", but perhaps by {' or '.join(sorted(perhaps))}" * bool(perhaps)


def declared(space: Space) -> list[str]:
    """Return in words how the space is restricted, compared with what the model takes."""
    alike: dict[str, list[str]] = {}
    for feature in space.features:
        about, words = space.model.columns[feature.columns[0]], []
        if len(feature.columns) > 1:
            words.append(f"exactly one is 1, the others are 0: {' or '.join(feature.labels)}")
        elif feature.points and about["categories"] is None:
            words.append("only 1")
        elif feature.points:
            chosen = {int(point) for (point,) in feature.points}
            left_out = [label for code, label in enumerate(about["categories"]) if code not in chosen]
            if left_out and left_out == [about.get("other")]:
                words.append(f"not {_printable(about['other'])}")
            elif left_out:
                words.append(f"only {' or '.join(feature.labels)}")
        else:
            low, high = space.model.taken(feature.columns[0])
            words += ["only whole numbers"] * feature.whole
            if feature.lowest > low or feature.uppers[-1] < high:
                words.append(f"only from {number(feature, feature.lowest)} to {number(feature, feature.uppers[-1])}")
            if feature.missing is None and about.get("missing", "never") != "never":
                words.append("not missing")
        for text in words:
            alike.setdefault(text, []).append(feature.name)
    every = len(space.features) if len(space.features) > 1 else 0
    limits = [
        f"{'every feature' if len(names) == every else ', '.join(names)}: {text}" for text, names in alike.items()
    ]
    constraints = (" or ".join(condition(space.features[f], cells) for f, cells in clause) for clause in space.clauses)
    return limits + [f"always {constraint}" for constraint in constraints]


# -------------------------------------------------------------------------------------------------------- the command


def _same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


def _read_row(model: Model, given: Any) -> list[float]:
    """Return a row that people give, a list or a dict by column, in the model's numbers; categories by name."""
    names = [about["name"] for about in model.columns]
    if isinstance(given, dict):
        right = set(given) == set(names)
        require(right, f"The row must have the model's columns: {', '.join(model.column_names)}.")
        given = [given[name] for name in names]
    right = isinstance(given, list | tuple) and len(given) == len(names)
    require(right, f"The row must have a value for each of the {len(names)} columns of the model.")
    row = []
    for name, about, value in zip(model.column_names, model.columns, given, strict=True):
        if about["categories"] is not None:
            same = [k == value and isinstance(k, bool) == isinstance(value, bool) for k in about["categories"]]
            require(any(same), f"The row has {value!r} for {name}, which is none of its categories.")
            row.append(float(same.index(True)))
            continue
        numeric = value is None or (isinstance(value, int | float) and not isinstance(value, bool))
        require(numeric, f"The row has {value!r} for {name}, which must be a number, or None.")
        row.append(math.nan if value is None else model.rounded(float(value), model.numbers))
    return row


def _unreadable(what: str, error: BaseException) -> str:
    """Return why something was not understood; whose fault that is, an exception of Python's own does not tell."""
    if isinstance(error, MemoryError | RecursionError):
        return f"The {what} is too large or too deeply nested for this machine, or damaged."
    name = f"{type(error).__name__}: {error}"
    return f"The {what} cannot be read: it is damaged, or the checker has a fault ({name})."


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
    parser.add_argument("other", nargs="?", help="of a certificate about two models: the second one")
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
        other = None if args.other is None else Path(args.other).read_text(encoding="utf-8")
        sys.stdout.write(f"{check(read(args.certificate, args.budget), model, row, args.budget, other)}\n")
    except (OSError, ValueError, ModelError) as error:
        sys.stderr.write(f"Cannot be read: {error}\n")
        return 2
    except CheckError as problem:
        sys.stderr.write(f"Rejected: {problem}\n")
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
