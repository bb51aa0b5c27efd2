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
import unicodedata
import zlib
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
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
LONGEST = 2000  # letters of a message, which may repeat what it is about
LABEL_WORDS = {"or", "if", "the", "from", "than", "not", "any"}  # of sentences; a label that has one is quoted
NAME_WORDS = LABEL_WORDS | {"and", "is", "no", "every", "always", "alone", "changed"}  # the same of names
CYRILLIC = "\u0410\u0412\u0415\u0406\u0408\u041a\u041c\u041d\u041e\u0420\u0421\u0405\u0422\u0425\u04c0"
CYRILLIC += "\u0430\u0435\u0456\u0458\u043e\u0440\u0441\u0455\u0443\u0445\u04bb\u0501\u051b\u051d\u04cf"
GREEK = "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf\u03bd"
SIGNS = (
    "\u2010\u2012\u2013\u2014\u2212\u2018\u2019\u201c\u201d\u201e\u201a\u2044\u2215\u2236\u2264\u2265\u2a7d\u2a7e\u2800"
)
UNSEEN = (0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10))
LOOKS: dict[int, int | None] = {  # letters of other alphabets, and signs, with what they look like
    **str.maketrans(CYRILLIC, "ABEIJKMHOPCSTXIaeijopcsyxhdqwl"),
    **str.maketrans(GREEK, "ABEZHIKMNOPTYXov"),
    **str.maketrans(SIGNS, '-----\'\'""",//:<><> '),
    **dict.fromkeys([*UNSEEN, *range(0xE0100, 0xE01F0)]),
}

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

    def __init__(self, message: str) -> None:
        super().__init__(message if len(message) <= LONGEST else f"{message[:LONGEST]} ...")


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


def _following(value: float, numbers: str) -> float:
    """Return the next larger float32 or float64."""
    if numbers == "float64":
        return math.nextafter(value, math.inf)
    (bits,) = struct.unpack("<i", struct.pack("<f", value + 0.0))
    (following,) = struct.unpack("<f", struct.pack("<i", bits + 1 if bits >= 0 else bits - 1))
    return float(following)


def _nearest(value: Fraction) -> float:
    """Return the nearest number, which is off by at most 2**-53 of its size; where it may be by more, refuse it."""
    near = float(value)
    require(near == value or abs(near) >= sys.float_info.min, "A sum of a pair is too small to be rounded.")
    return near


def _downward(value: Fraction) -> float:
    """Return the largest number that is not larger, or one below that."""
    near = float(value)
    return near if near <= value else math.nextafter(near, -math.inf)


def fingerprint(text: str) -> str:
    """Return what identifies a model: the SHA-256 of its JSON, `unmarked`."""
    return hashlib.sha256(unmarked(text).encode()).hexdigest()


def unmarked(text: str) -> str:
    """Return JSON without the marks of columns of dates and whole numbers: how rows are written, not what is done.

    No text inside the JSON can hold their quotes.
    """
    return text.replace(',"date":true', "").replace(',"integer":true', "")


@dataclass
class Part:
    """Trees, from `first` up to `last`, that are added on their own; some of them may be in parts in turn.

    The sum is divided and multiplied, and rounded each time.
    """

    first: int
    last: int
    start: list[float]
    numbers: str
    divisor: float
    weight: float
    inside: list[int | Part]  # what is added: trees, by number, and parts


def _filled(first: int, last: int, parts: list[Part]) -> list[int | Part]:
    """Return the parts, and the trees from `first` up to `last` that are in none of them, in order."""
    alone = set(range(first, last)).difference(*(range(part.first, part.last) for part in parts))
    return sorted([*alone, *parts], key=lambda inner: inner.first if isinstance(inner, Part) else inner)


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
        self.n_classes, self.names = len(self.classes), told_apart(self.classes, _printable)
        differ = len(set(self.names)) == len(set(self.classes)) == self.n_classes > 0  # 1 and true are equal
        require(differ, "Class labels must differ.")
        self.columns: list[Any] = document["columns"]
        for column in self.columns:
            known = column.get("missing", "never") in ("never", "possible", "expected") and set(column) <= COLUMN_KEYS
            require(known and type(column["name"]) is str, f"Column {column['name']!r} must have a name and be known.")
            values = column["categories"]
            require(values is None or len(set(values)) == len(values) > 0, "Categories must differ.")
        self.column_names = told_apart([column["name"] for column in self.columns], _name)
        require(len(set(self.column_names)) == len(self.columns) > 0, "Column names must differ.")
        self.category_names = [told_apart(column["categories"] or [], _printable) for column in self.columns]
        self.numbers: str = document.get("numbers", "float32")
        self._read_sums(document.get("sums"), len(document["roots"]))
        self.values = [[_number(v) for v in values] for values in document["values"]]
        n_sums = self.n_classes if self.cuts is None else 1
        for values in [self.start, *self.values]:
            finite = len(values) == n_sums and all(math.isfinite(v) and self.rounded(v) == v for v in values)
            require(finite, "Values must be finite, of the model's numbers, one for each sum.")
        self._read_members((document.get("sums") or {}).get("members", []), len(document["roots"]))
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
        self.n_members = len(sums.get("members", []))
        self.adds: str = sums["numbers"]
        require(self.adds in UNIT and self.numbers in UNIT, "Numbers must be float32 or float64.")
        self.start, self.softmax = [_number(v) for v in sums["start"]], sums["softmax"]
        self.cuts = None if sums["cuts"] is None else [_number(cut) for cut in sums["cuts"]]
        self.divides, self.divisor = _number(sums["divisor"]) != 1, self.rounded(_number(sums["divisor"]))
        require(0 < self.divisor < math.inf and type(self.softmax) is bool, "Sums must be divided by a number.")
        self.sigmoid = _number(sums["sigmoid"]) if "sigmoid" in sums else None
        if self.sigmoid is not None:
            alone = self.cuts is None and not self.softmax and not self.n_members and self.adds == "float64"
            require(alone and 0 < self.sigmoid < math.inf, "A sigmoid must be of float64 sums, and alone.")
        if self.cuts is not None:
            ascend = all(a < b for a, b in itertools.pairwise([-math.inf, *self.cuts, math.inf]))
            require(ascend and len(self.cuts) == self.n_classes - 1 and not self.softmax, "Cuts must split classes.")

    def _read_members(self, members: list[Any], n_trees: int) -> None:
        """Read which trees are added on their own: parts that are nested, none of finer numbers than what it is in."""
        require(not (members and self.softmax), "Members must not be combined with a softmax.")
        self.budget.spend(100 * len(members) * n_trees)  # fractions
        outer: list[Part] = []  # that are in no other so far
        for given in members:
            known = {"trees", "start", "divisor", "weight", "numbers"}
            require(set(given) == known and given["numbers"] in UNIT, "A member has unknown fields.")
            (first, last), numbers = _ints(given["trees"], 0, 2**31, "Trees"), given["numbers"]
            start, divisor = [_number(v) for v in given["start"]], _number(given["divisor"])
            weight = _number(given["weight"])
            nested = first < last <= n_trees and UNIT[numbers] <= UNIT[self.adds]
            inner: list[Part] = []
            while outer and outer[-1].first >= first:
                part = outer.pop()
                inner.append(part)
                nested = nested and part.last <= last and UNIT[part.numbers] <= UNIT[numbers]
            nested = nested and (not outer or outer[-1].last <= first)
            require(nested, "Members must be parts of each other, or apart.")
            own = all(math.isfinite(v) and self.rounded(v, numbers) == v for v in (*start, divisor, weight))
            require(own and divisor > 0 <= weight, "A member must have finite numbers of its own.")
            require(len(start) == len(self.start), "A member must start from one number for each sum.")
            outer.append(Part(first, last, start, numbers, divisor, weight, _filled(first, last, inner)))
        self.whole_sum = Part(0, n_trees, self.start, self.adds, 1.0, 1.0, _filled(0, n_trees, outer))

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
        votes = self.vote != "sum" and all(max(values) == 1 and sum(map(bool, values)) == 1 for values in leaves)
        self.error: Fraction | None = Fraction(0)
        self.step, self.pure = Fraction(1), votes
        if self.vote == "majority":
            return
        bounds = [self._bound_sum(k, self.whole_sum) for k in range(len(self.start))]
        largest = max(size for size, _, _ in bounds)
        step = self._exact_step(leaves, largest)
        if step is not None:
            self.step = step
            return
        self.pure, self.error = False, None
        fits = all(fits for _, _, fits in bounds)
        require(fits or not self.n_members, "The sums of members may overflow.")
        if fits:
            self.error = self._decided_rounding(largest, max(error for _, error, _ in bounds))

    def _exact_step(self, leaves: list[list[float]], largest: Fraction) -> Fraction | None:
        """Return of what all sums are multiples, if they are exact and at most so large; None if they may be rounded.

        Multiples of 2**-places, with all sums below 2**(bits - 3) of it, are added without any rounding, and no
        division makes two different sums equal.
        """
        room = 2 ** (UNIT[self.adds] - 3)
        if self.softmax or self.sigmoid or self.n_members or self.divisor > 2**32:
            return None
        finest = max(value.as_integer_ratio()[1] for values in [self.start, *leaves] for value in values)
        exact = largest * finest <= room and finest <= 2 ** (100 if self.adds == "float32" else 900)
        return Fraction(1, finest) if exact and largest <= room * min(Fraction(1), Fraction(self.divisor)) else None

    def _decided_rounding(self, largest: Fraction, worst: Fraction) -> Fraction | None:
        """Return a difference of exact sums above which the larger wins, if each is off by `worst` at most."""
        divisor, bits = Fraction(self.divisor), UNIT[self.adds]
        least, most = min(Fraction(1), divisor), max(Fraction(1), divisor)
        if 2 * (largest + worst) > Fraction(LARGEST[self.adds]) * least:
            return None
        # Two sums, and the division of all; after that, a softmax needs the room that `decide` explains.
        error = 2 * worst + 2 * (largest + worst) / 2**bits + 4 * most / 2 ** SMALLEST[self.adds]
        if self.softmax:
            return error + 16 * most / 2**bits
        return error if self.sigmoid is None else self._sigmoid_rounding(largest, error)

    def _sigmoid_rounding(self, largest: Fraction, error: Fraction) -> Fraction | None:
        """Return the same with sigmoids of sums.

        With u = 2**-53, t a sum after its division times s, and T the largest t: product and exponential move t by at
        most u |t| + 5u, if the exponential is off by less than two units in its last place; addition and division
        move the logarithm of the sigmoid, whose derivative is 1 / (1 + exp(t)) or more, by 2.01u. So t that differ by
        u (5 (1 + exp(T)) + 2 |t| + 10) keep their order. T must stay below 36, where all sigmoids are 1.
        """
        times, high = Fraction(self.sigmoid or 1.0) / Fraction(self.divisor), -largest
        for k, start in enumerate(self.start):
            tops = [max(self.values[i][k] for i in range(*tree) if self.feature[i] < 0) for tree in self.trees]
            high = max(high, sum(map(Fraction, tops), Fraction(start)))
        high, size = (high + error) * times, (largest + error) * times
        if high > 33 or size > 701:
            return None
        exponential = 2 ** max(0, math.ceil(high * 13 / 9))  # exp(t) < 2**(13 t / 9)
        return error + (5 * (1 + exponential) + 2 * size + 10) / 2**53 / times

    def _bound_sum(self, k: int, part: Part) -> tuple[Fraction, Fraction, bool]:
        """Return how large sum k of a part can be, how far from exact, and whether that holds: it must not overflow.

        An exact number of absolute value s at most, which the model has with an error of e, becomes one with an error
        of e + u (s + e) when it is rounded once more, and of the smallest number more if it may be subnormal. A sum of
        n numbers is rounded by at most nu / (1 - nu) <= 2 nu of that s + e, for nu <= 1/8 (Higham, section 4.2); what
        it starts from is not added, nor does a 0 round.
        """
        size, error, fits, n = abs(Fraction(part.start[k])), Fraction(0), True, 0
        for inner in part.inside:
            if isinstance(inner, Part):
                more, off, fit = self._bound_sum(k, inner)
                size, error, fits, n = size + more, error + off, fits and fit, n + (more > 0)
            else:
                largest = max(abs(values[k]) for values in self.values[slice(*self.trees[inner])])
                size, n = size + Fraction(largest), n + (largest > 0)
        u, tiny = Fraction(1, 2 ** UNIT[part.numbers]), Fraction(1, 2 ** SMALLEST[part.numbers])
        error += 2 * n * u * (size + error)
        most = size + error
        self.budget.spend((most.denominator.bit_length() // 64) ** 2)  # they get longer with each part inside another
        for factor in (1 / Fraction(part.divisor), Fraction(part.weight)):
            if factor != 1:
                size, error = size * factor, (error + u * (size + error)) * factor + tiny
                most = max(most, size + error)
        return size, error, fits and 2 * most <= LARGEST[part.numbers] and 8 * n * u <= 1

    def _least_sum(self, cut: float) -> Fraction:
        """Return the exact sum from which on a cut is reached after the division, but for `error`.

        That has room for the division where sums are rounded. Exact ones are multiples of `step` that no division makes
        equal: of those below the cut, the last alone can be rounded up to it.
        """
        reach = Fraction(cut) * Fraction(self.divisor)
        if self.error != 0:
            return reach
        least = math.ceil(reach / self.step) * self.step
        before = least - self.step
        near = abs(before) <= 2 ** UNIT[self.adds] * self.step  # no sum is farther away
        return before if near and self.rounded(float(before) / self.divisor) >= cut else least

    def _make_whole(self) -> None:
        """Set `whole`: what each node adds, in multiples of 1 / `finest`; and `exact_start`, what that is added to."""
        factors = [Fraction(1)] * len(self.roots)  # what the values of each tree are multiplied by
        self.exact_start = [Fraction(0)] * len(self.start)

        def multiply(part: Part, outside: Fraction) -> None:
            factor = outside * Fraction(part.weight) / Fraction(part.divisor)
            self.exact_start = [a + Fraction(b) * factor for a, b in zip(self.exact_start, part.start, strict=True)]
            for inner in part.inside:
                if isinstance(inner, Part):
                    multiply(inner, factor)
                else:
                    factors[inner] = factor

        multiply(self.whole_sum, Fraction(1))
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
        return times * ((reach if up else step - reach) - self.error)

    def lead(self, winner: int, loser: int) -> dict[int, int]:
        """Return how often each sum counts in the lead of one class over another; with cuts, class k has k times it."""
        return {winner: 1, loser: -1} if self.cuts is None else {0: winner - loser}

    def rivals(self, label: int) -> list[int]:
        """Return the classes that a label must lead: where a score is cut, its neighbours."""
        return [k for k in range(self.n_classes) if k != label and (self.cuts is None or abs(k - label) == 1)]

    @property
    def score_divisor(self) -> Fraction:
        """By what a sum is divided to be a score: a mean, or a share of the votes."""
        return Fraction(len(self.roots) if self.vote == "majority" else self.divisor)

    @property
    def adding(self) -> list[Any]:
        """How leaf values become a label."""
        after = [self.divides, self.divisor, self.cuts, self.softmax, self.sigmoid]
        return [self.vote == "majority", self.classes, self.whole_sum, *after]

    def rounded(self, value: float, numbers: str | None = None) -> float:
        """Return the nearest of the numbers in which the model adds, or of these."""
        return _single(value) if (numbers or self.adds) == "float32" else value

    def taken(self, column: int) -> tuple[float, float]:
        """Return from where to where the model takes numbers of a column."""
        about, most = self.columns[column], LARGEST[self.numbers]
        return max(_number(about.get("low", "-inf")), -most), min(_number(about.get("high", "inf")), most)

    def value(self, column: int, given: Any) -> float:
        """Return an input of a column, which must be one that the model takes."""
        number, about, name = _number(given), self.columns[column], self.column_names[column]
        if about["categories"] is not None:
            known = number.is_integer() and 0 <= number < len(about["categories"])
            require(known, f"{name} has the value {number}, but it must be the index of a category.")
        elif math.isnan(number):
            require(about.get("missing", "never") != "never", f"{name} cannot be missing.")
        else:
            fits = math.isfinite(number) and self.rounded(number, self.numbers) == number
            require(fits, f"{name} has the value {number}, which is not a finite {self.numbers}.")
            low, high = self.taken(column)
            require(low <= number <= high, f"{name} has the value {number}, which the model does not take.")
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
        totals = self._add(self.whole_sum, leaves)
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

    def _add(self, part: Part, leaves: list[list[float]]) -> list[float]:
        """Return the sums of the values that the trees of a part give, each inner part's rounded on its own."""
        totals = part.start
        for inner in part.inside:
            values = leaves[inner] if isinstance(inner, int) else self._share(inner, leaves)
            totals = [self.rounded(total + value, part.numbers) for total, value in zip(totals, values, strict=True)]
        return totals

    def _share(self, part: Part, leaves: list[list[float]]) -> list[float]:
        """Return the sums of a part, divided and multiplied."""
        shares = [self.rounded(total / part.divisor, part.numbers) for total in self._add(part, leaves)]
        return [self.rounded(share * part.weight, part.numbers) for share in shares]

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
            return self.gap
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

    def ranges(self, cells: int) -> list[tuple[float, float]]:
        """Return the least and the largest number of each run of cells of numbers.

        Both are in it: x > 0.5 would be false of 0.5000000001, which float32 reads as 0.5.
        """
        numbers = self.without_missing(cells)
        firsts, lasts = _bits(numbers & ~(numbers << 1)), _bits(numbers & ~(numbers >> 1))
        return [(self._least(first), self.uppers[last]) for first, last in zip(firsts, lasts, strict=True)]

    def _least(self, place: int) -> float:
        """Return the least number of a cell of numbers, counted without that of missing values."""
        if place == 0:
            return self.lowest
        upper = self.uppers[place - 1]
        following = _following(upper, self.numbers)
        return max(upper + 1, following) if self.whole else following

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
                    known = type(missing[f]) is int and 0 <= missing[f] <= len(uppers)
                    require(known, "A cell must be the missing one.")
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
                points, labels = [[float(code)] for code in range(width)], model.category_names[column]
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
        require(self.allows(at), f"{what} violates a constraint between features.")
        return row, at

    def allows(self, at: Sequence[int]) -> bool:
        """Return whether a point satisfies the constraints between features."""
        return all(any(cells >> at[f] & 1 for f, cells in clause) for clause in self.clauses)


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
    places = []
    while bits:
        places.append((bits & -bits).bit_length() - 1)
        bits &= bits - 1
    return places


# ---------------------------------------------------------------------------------------------------------- the claim

# What can be proved, without words. Features, cells and labels are counted from 0. `kept` has the cells, as bits, in
# which features are kept; `units` are what counts as one, groups or features (`Groups`).


@dataclass(frozen=True)
class Minimum:
    """No set that costs less than the total does the same; each unit costs so much, or 1 if there are no costs."""

    total: int
    costs: dict[int, int] | None


@dataclass(frozen=True)
class Reason:
    """With features kept in these cells, no input is excluded; perhaps, none can be dropped, or no cell be added."""

    kept: dict[int, int]
    units: set[int]
    minimal: bool
    wider: bool
    minimum: Minimum | None


@dataclass(frozen=True)
class Change:
    """The input `new` changes these units alone and has an excluded label; perhaps, none that changes fewer has."""

    units: set[int]
    moved: list[int]  # the features whose change is shown
    new: list[float]
    label: int
    minimal: bool = False
    minimum: Minimum | None = None


@dataclass(frozen=True)
class Complete:
    """All minimal sets of units, as bits, that exclude labels while kept, and all whose change can give one of them."""

    reasons: list[int]
    changes: list[int]


@dataclass(frozen=True)
class Audit:
    """Rows with their labels, and a change of the free units alone that gives another; None if there is none."""

    units: set[int]
    rows: list[tuple[list[float], int, Change | None]]


@dataclass(frozen=True)
class OfPairs:
    """Two inputs that differ in some columns alone have the same label; or, without columns, two models give it.

    If it is about score k, they differ in it by less than `below`. With a direction, the column grows, and the score
    never turns against it by so much; None: not at all.
    """

    kept: dict[int, int]
    columns: list[int]
    k: int | None = None
    direction: int | None = None
    below: Fraction | None = None


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
    first = Model(model, work) if isinstance(model, str) else model
    second = Model(other, work) if isinstance(other, str) else other
    try:
        if isinstance(certificate, str):
            work.spend(BYTE_STEPS * len(certificate))
            certificate = parse(certificate)
        require_known(certificate)
        about = {"pair", "pairs", "other"} & set(certificate)
        require(row is None or not about, "The certificate is about all inputs, not about a row.")
        if "other" in about:
            require(second is not None, "The certificate is about two models, but only one is given.")
        else:
            require(second is None, "The certificate is about one model, but two are given.")
        right = (certificate.get("model"), certificate.get("other")) == (
            first.fingerprint,
            second and second.fingerprint,
        )
        require(right, "The certificate is about another model: the fingerprints differ.")
        if not about:
            claim = Claim(certificate, first, work)
            return say(claim, claim.check(row))
        if "pairs" in about:
            return say_of_pairs(*check_labels(certificate, first, second, work), first, second)
        if second is None:
            return say_of_pairs(*ScorePair(certificate, first, None, work).check(), first, None)
        if "pair" in about:
            return say_of_pairs(*ScoreGap(certificate, first, second, work).check(), first, second)
        check_identical(certificate, first, second)
        return say_identical(first, second)
    except DAMAGED as error:
        raise CheckError(_unreadable("certificate", error)) from error


def require_known(certificate: Any) -> None:
    """Require the format that this checker knows."""
    known = isinstance(certificate, dict) and certificate.get("format") == "treeproof-certificate"
    require(known, "This is not a treeproof certificate.")
    version = certificate["version"]
    right = type(version) is int and version == VERSION
    require(right, f"The version must be {VERSION}, not {version!r}. Make the certificate again.")


class Claim:
    """What every certificate claims something about: a model, a space, and an instance with its label."""

    def __init__(self, certificate: dict[str, Any], model: Model, budget: Budget) -> None:
        claim = certificate["claim"]
        require(type(claim) is str and claim in CLAIM_KEYS, f"Unknown claim {claim!r}.")
        keys = KEYS | CLAIM_KEYS[claim] | ({"around", "groups"} & set(certificate))
        require(set(certificate) == keys, f"Unknown or missing fields: {sorted(set(certificate) ^ keys)}.")
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

    def check(self, row: Any) -> Reason | Change | Complete | Audit:
        """Check the claim and return what it proves; if a row is given, it must be about that."""
        claim = self.given["claim"]
        rows = [self.row] if claim != "audit" else [self.changed(one["row"], "A row")[0] for one in self.given["rows"]]
        if row is not None:
            self._check_row(rows, _read_row(self.model, row))
        if claim == "change":
            return self._check_change()
        if claim == "complete":
            return self._check_complete()
        return self._check_audit() if claim == "audit" else self._check_reason()

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

    def conditions(self) -> dict[int, int]:
        """Return the cells in which a reason keeps features."""
        return {f: self.space.mask(f, cells) for f, cells in self.space.by_feature(self.given["box"]).items()}

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

    def _check_reason(self) -> Reason:
        """Features whose conditions exclude labels; if they are said to be minimal, none can be dropped."""
        minimal, space, kept = self.given["claim"] == "minimal", self.space, self.conditions()
        box = [kept.get(f, mask) for f, mask in enumerate(self.around)]
        self.require_inside(self.at, box, "The instance")
        self.prove(box, self.given["proof"])
        units = self.groups.having(kept)

        witnesses, wider = space.by_feature(self.given["witnesses"]), self.given["wider"]
        expected = units if minimal else set()
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
        return Reason(kept, units, minimal, wider is not None, self._minimum("changes", self.differing, units))

    def _check_change(self) -> Change:
        """Features whose change, with all others as they are, gives an excluded label; that of fewer does not."""
        changed = {self.space.index(f) for f in self.given["changed"]}
        require(len(changed) == len(self.given["changed"]), "A feature is changed twice.")
        new, reached, got = self.witness(self.given["witness"], "The witness", self.around)
        self.require_same(new, self.row, changed, "The witness")
        units = self.groups.having(changed)
        require(changed == self.groups.features(units), "The features of a group must change together.")
        proofs = self.space.by_feature(self.given["proofs"])
        require(set(proofs) == units, "There must be a proof for each changed feature, and for no other.")
        for unit, proof in proofs.items():
            free = changed.difference(self.groups.members[unit])
            self.prove(self.kept(set(range(len(self.features))) - free), proof)
        # Some features of a group may stay as they are.
        moved = [f for f in sorted(changed) if not self.groups.declared or reached[f] != self.at[f]]
        minimum = self._minimum("reasons", self.forcing, units)
        return Change(units, moved, new, got, minimal=True, minimum=minimum)

    def _check_complete(self) -> Complete:
        """All minimal sets of features that force the label, and all whose change can give another."""
        reasons = [self.forcing(reason) for reason in self.given["reasons"]]
        changes = [self.differing(change) for change in self.given["changes"]]
        # A set that has all of a reason forces the label, one that has nothing of a change does not.
        left_open = is_possible(changes, reasons, [1] * len(self.features), math.inf, self.budget)
        require(not left_open, "The lists leave open whether some features force the label.")
        self.budget.spend(len(reasons) ** 2 + len(changes) ** 2)
        return Complete(minimal_sets(reasons), minimal_sets(changes))

    def _check_audit(self) -> Audit:
        """Rows in which a change of the free features alone gives another label, and rows in which none does."""
        require(self.target is None and not self.near, "An audit is about all changes to any other label.")
        free = {self.space.index(f) for f in self.given["free"]}
        require(free and self.given["rows"], "An audit must have features and rows.")
        units, rows = self.groups.having(free), list[tuple[list[float], int, Change | None]]()
        for one in self.given["rows"]:
            row, at = self.changed(one["row"], "A row")
            label, box = self.model.label(row), self.kept(set(range(len(self.features))) - free, at)
            others = set(range(self.model.n_classes)) - {label}
            require(set(one) in ({"row", "witness"}, {"row", "proof"}), "A row has a witness or a proof.")
            if "proof" in one:
                self.prove(box, one["proof"], others)
                rows.append((row, label, None))
                continue
            new, reached, got = self.witness(one["witness"], "A witness", box, others)
            self.require_same(new, row, free, "A witness")
            moved = [f for f in sorted(free) if reached[f] != at[f]]
            rows.append((row, label, Change(units, moved, new, got)))
        require(free == self.groups.features(units), "The features of a group are free together.")
        return Audit(units, rows)

    def _minimum(self, what: str, met: Callable[[Any], int], units: set[int]) -> Minimum | None:
        """Check that whatever meets all of some sets costs at least as much as these units; None if it is not claimed.

        The sets are given as `what`, and read by `met`.
        """
        given = self.given["minimum"]
        if given is None:
            return None
        require(set(given) == {"costs", what}, f"A minimum has costs and {what}.")
        costs = [1] * len(self.features)
        if given["costs"] is not None:
            costs = _ints(given["costs"], 1, 2**4096, "Costs")
            require(len(costs) == len(self.features), "There must be a cost for each feature.")
        sets = [met(one) for one in given[what]]
        for group, those in self.groups.members.items():
            one_cost = len({costs[f] for f in those}) == 1
            require(one_cost, f"The features of {self.groups.named({group})} must state one cost.")
        total = sum(costs[group] for group in units)
        cheaper = is_possible(sets, [], costs, total - 1, self.budget)
        require(not cheaper, "The certificate does not exclude a smaller or cheaper set.")
        return Minimum(total, None if set(costs) == {1} else {group: costs[group] for group in self.groups.members})


class Groups:
    """What counts as one: groups of features, each by its first feature, and features that are in none."""

    def __init__(self, given: Any, space: Space) -> None:
        known = [feature.name for feature in space.features]
        self.of = list(range(len(known)))  # the group of a feature, or else itself
        self.members = {f: [f] for f in self.of}
        self.names, self.declared = dict(enumerate(known)), []  # those that are declared, in their order
        grouped, called = set[int](), set(map(looks, known))
        for group in given:
            require(set(group) == {"name", "features"}, "A group has a name and features.")
            require(type(group["name"]) is str, "The name of a group must be text.")
            those, name = sorted(space.index(f) for f in group["features"]), _name(group["name"])
            once = len(set(those)) == len(those) and not grouped.intersection(those)
            require(those and once, "A group must have features, and each feature be in one group, once.")
            require(looks(name) not in called, "Groups must not be called as another group or a feature is.")
            grouped.update(those)
            called.add(looks(name))
            for f in those:
                self.of[f] = those[0]
                del self.members[f]
            self.members[those[0]], self.names[those[0]] = those, name
            self.declared.append(those[0])

    def having(self, features: Iterable[int]) -> set[int]:
        """Return the groups, and features in none, that have one of these features."""
        return {self.of[f] for f in features}

    def features(self, groups: Iterable[int]) -> set[int]:
        """Return the features of groups."""
        return {f for group in groups for f in self.members[group]}

    def bits(self, features: Iterable[int]) -> int:
        """Return the groups that have one of these features, as bits."""
        return sum(1 << group for group in self.having(features))

    def named(self, groups: set[int]) -> str:
        """Return the names of groups, and of features in none."""
        return ", ".join(self.names[group] for group in sorted(groups))


def minimal_sets(sets: list[int]) -> list[int]:
    """Return the sets, as bits, that have no other of them inside."""
    return [one for one in sorted(set(sets)) if all(one == other or one & other != other for other in sets)]


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


# ---------------------------------------------------------------------------------------------------------- the pairs

# A claim about two inputs of a model that differ in some columns alone, or about one input of two models, is one about
# a label of the pair's model. That is made here from the trees of both, and checked as any other. Its columns are those
# of the (first) model and, behind them, the columns that differ once more, for the second input. Each of its sums is
# some of what the first gets and some of what the second gets.


class Split(NamedTuple):
    """What a node tests: whether a column has one of some categories, or else a number up to a threshold."""

    column: int  # of the pair's model
    among: frozenset[int] | None
    threshold: float
    missing_left: bool


class Node(NamedTuple):
    """A node of the pair's model: a leaf, with a value for each sum, or a split with the places of its children."""

    values: list[float]
    split: Split | None = None
    left: int = -1
    right: int = -1


class Sum(NamedTuple):
    """A sum of the pair's model: how often each sum of the first, and of the second, counts in it."""

    first: dict[int, Fraction]
    second: dict[int, Fraction]


class Side:
    """The first or the second of a pair: a model, with its splits in the columns and the numbers of the pair's model.

    If those are float64 and it reads float32, a threshold is the largest float64 that it rounds to its left side.
    """

    def __init__(self, model: Model, place: Sequence[int], numbers: str) -> None:
        self.model, self.numbers = model, numbers
        self.splits: list[Split | None] = []  # None at a leaf
        fields = zip(model.feature, model.subset, model.threshold, model.missing_left, strict=True)
        for column, subset, threshold, missing_left in fields:
            if column < 0:
                self.splits.append(None)
            elif subset >= 0:
                self.splits.append(Split(place[column], model.subsets[subset], 0.0, missing_left))
            else:
                at = threshold if model.numbers == numbers else _widest(threshold)
                self.splits.append(Split(place[column], None, at, missing_left))

    def shape(self, tree: tuple[int, int]) -> list[Any]:
        """Return the splits of a tree with their places: where these are the same, inputs reach the same place."""
        left, right, root = self.model.left, self.model.right, tree[0]
        return [self.splits[n] and (self.splits[n], left[n] - root, right[n] - root) for n in range(*tree)]


def sides_of(model: Model, other: Model | None, columns: list[int]) -> tuple[Side, Side]:
    """Return two inputs of a model, which differ in these columns, or one input of two models."""
    n, numbers = len(model.columns), model.numbers
    if other is None:
        place = [n + columns.index(c) if c in columns else c for c in range(n)]
        return Side(model, range(n), numbers), Side(model, place, numbers)
    names, others = ([column["name"] for column in one.columns] for one in (model, other))
    plain = [f"x{c}" for c in range(n)]  # the columns of a model that was trained without names
    by_name = sorted(names) == sorted(others)
    require(by_name or (len(others) == n and plain in (names, others)), "Both models must have the same columns.")
    place = [names.index(name) for name in others] if by_name else list(range(n))
    alike = all(model.columns[at]["categories"] == other.columns[c]["categories"] for c, at in enumerate(place))
    require(alike, "Both models must know the same categories.")
    numbers = numbers if numbers == other.numbers else "float64"
    return Side(model, range(n), numbers), Side(other, place, numbers)


def _widest(at: float) -> float:
    """Return the largest float64 that rounds to a float32 of at most `at`, which is one."""
    found = at / 2 + _following(at, "float32") / 2
    found = found if _single(found) <= at else math.nextafter(found, -math.inf)
    require(_single(found) <= at < _single(math.nextafter(found, math.inf)), "A threshold is too large for a float32.")
    return found


class Pair:
    """Two inputs of a model that differ in some columns alone, or one input of two models; and a claim about them."""

    keys: frozenset[str]  # the fields of a pair

    def __init__(self, certificate: dict[str, Any], model: Model, other: Model | None, budget: Budget) -> None:
        self.given = {key: value for key, value in certificate.items() if key not in ("pair", "other")}
        self.pair = certificate["pair"]
        keys = self.keys if other else self.keys | {"columns"}
        require(set(self.pair) == keys, "A pair has unknown or missing fields.")
        self.model, self.other, self.two, self.budget = model, other or model, other is not None, budget
        require(None not in (self.model.error, self.other.error), "The model's sums must not overflow.")
        self.differ = [] if other else _ints(self.pair["columns"], 0, len(model.columns), "Columns of a pair")
        require(self.two or len(set(self.differ)) == len(self.differ) > 0, "Columns of a pair must differ.")
        self.sides = sides_of(model, other, self.differ)
        self.columns = self._all_columns()
        self.direction: int | None = None  # 1 or -1: the only column grows from the first input to the second
        self.labels: list[str] = []  # of the pair's model
        self.cuts: list[float] | None = None
        self.start: list[float] = []  # of its sums
        self.sums: list[Sum] = []
        self.read()
        self.none = [0.0] * len(self.sums)
        self.trees = [nodes for nodes in self._trees() if nodes != [Node(self.none)]]  # without those that add nothing

    def read(self) -> None:
        """Read what is claimed: the labels, the cuts and the sums of the pair's model."""
        raise NotImplementedError

    def _all_columns(self) -> list[Any]:
        columns, names = list(self.model.columns), {column["name"] for column in self.model.columns}
        for c in self.differ:
            name = self.model.columns[c]["name"] + " changed"
            while name in names:
                name += "'"
            names.add(name)
            columns.append({**self.model.columns[c], "name": name})
        return columns

    def _trees(self) -> Iterator[list[Node]]:
        """Yield the trees of the pair's model.

        What is the same for the first and the second should cancel out. So what two trees add to a sum of both is one
        tree, the overlay, unless that is too large. Sums of one side alone have the trees of that side. If both always
        reach the same place, one tree does for all sums.
        """
        every = range(len(self.sums))
        mixed = [i for i in every if self.sums[i].first and self.sums[i].second]
        alone = [i for i in every if bool(self.sums[i].first) != bool(self.sums[i].second)]
        for one, two in itertools.zip_longest(*(side.model.trees for side in self.sides)):
            if alone and one and two and self.sides[0].shape(one) == self.sides[1].shape(two):
                yield self._copied(0, one, every, two[0] - one[0])
                continue
            overlaid = self._overlay(one, two, mixed) if mixed and one and two else None
            if overlaid is not None:
                yield overlaid
            left = every if overlaid is None else alone
            yield from (self._copied(second, tree, left) for second, tree in enumerate((one, two)) if left and tree)

    def _copied(self, second: int, tree: tuple[int, int], sums: Sequence[int], moved: int | None = None) -> list[Node]:
        """Return a tree of one side with what its leaves add to sums, and those of the other side so many nodes on."""
        nodes = []
        for n, inner in enumerate(self.sides[second].shape(tree), tree[0]):
            other = None if moved is None else n + moved
            one, two = (other, n) if second else (n, other)
            nodes.append(Node(self.none, *inner) if inner else Node(self._values(one, two, sums)))
        return nodes

    def _values(self, one: int | None, two: int | None, sums: Sequence[int]) -> list[float]:
        """Return what the leaves that the first and the second reach add to some of the sums, rounded once."""
        found = [Fraction(0)] * len(self.sums)
        for i in sums:
            for side, node, counts in zip(self.sides, (one, two), self.sums[i], strict=True):
                if node is not None:
                    adds = sum(times * side.model.whole[node][k] for k, times in counts.items())
                    found[i] += Fraction(adds, side.model.finest)
        return [_nearest(value) for value in found]

    def _overlay(self, one: tuple[int, int], two: tuple[int, int], sums: Sequence[int]) -> list[Node] | None:
        """Return two trees as one, with what the leaves that the first and the second reach add to the sums.

        Both are walked at once; `inside` is what the path has left of each column. Of two models, None if it would have
        more nodes than both trees together.
        """
        (first, second), nodes = self.sides, list[Node]()
        inside: dict[int, Any] = {}
        most = sum(end - start for start, end in (one, two)) if self.two else math.inf
        shared = set() if self.two else self._reached_by_both(one)

        def grow(at: int, behind: int) -> int:
            """Append the overlay of two subtrees, one of each side; return its place."""
            self.budget.spend(10)
            here = len(nodes)
            at, behind = self._descend(first, at, inside), self._descend(second, behind, inside)
            split = first.splits[at] or second.splits[behind]
            same = at == behind and at in shared  # nothing is left of a sum of both
            if split is None or same or here > most:
                nodes.append(Node(self.none if split else self._values(at, behind, sums)))
                return here
            nodes.append(Node(self.none))
            before, ends = inside.get(split.column), []
            for part in self._parts(split, inside):
                inside[split.column] = part
                ends.append(grow(at, behind))
            inside.pop(split.column)
            if before is not None:
                inside[split.column] = before
            left, right = (nodes[end] for end in ends)
            if left.split is right.split is None and left.values == right.values:
                nodes[here:] = [left]
            else:
                nodes[here] = Node(self.none, split, *ends)
            return here

        grow(one[0], two[0])
        return nodes if len(nodes) <= most else None

    def _reached_by_both(self, tree: tuple[int, int]) -> set[int]:
        """Return the nodes of a tree from which two inputs reach the same leaf: no column that differs is tested."""
        model, found = self.model, set[int]()
        for n in reversed(range(*tree)):
            split = self.sides[0].splits[n]
            if split is None or (split == self.sides[1].splits[n] and {model.left[n], model.right[n]} <= found):
                found.add(n)
        return found

    def _descend(self, side: Side, node: int, inside: dict[int, Any]) -> int:
        """Return the first node from here on at which an input can go two ways, or its leaf."""
        while (split := side.splits[node]) is not None:
            left, right = self._parts(split, inside)
            if left is not None and right is not None:
                break
            node = side.model.left[node] if left is not None else side.model.right[node]
        return node

    def _parts(self, split: Split, inside: dict[int, Any]) -> list[Any]:
        """Return what is left of a column on each side of a split, None if nothing: categories, or a range.

        A range is (above, up to, whether missing values are in it). With a direction, the first input has the smaller
        number, and none is missing.
        """
        column, about = split.column, self.columns[split.column]
        if split.among is not None:
            values = inside.get(column, frozenset(range(len(about["categories"]))))
            return [values & split.among or None, values - split.among or None]
        grown = (self.differ[0], len(self.model.columns)) if self.direction is not None else ()
        missing = about.get("missing", "never") != "never" and column not in grown
        low, high, missing = inside.get(column, (-math.inf, math.inf, missing))
        at, goes = split.threshold, split.missing_left
        parts = [(low, min(high, at), missing and goes), (max(low, at), high, missing and not goes)]
        found = []
        for part in parts:
            possible = part[0] < part[1] or part[2]
            if column in grown:
                smaller, larger = (part if c == column else inside.get(c, (-math.inf, math.inf)) for c in grown)
                possible = possible and smaller[0] < larger[1]
            found.append(part if possible else None)
        return found

    def document(self) -> str:
        """Return the pair's model as JSON."""
        nodes, roots = list[Node](), []
        for tree in self.trees or [[Node(self.none)]]:
            roots.append(len(nodes))
            nodes += [n._replace(left=n.left + roots[-1], right=n.right + roots[-1]) if n.split else n for n in tree]
        splits = [node.split for node in nodes]
        subsets = sorted({split.among for split in splits if split and split.among is not None}, key=sorted)
        place = {subset: i for i, subset in enumerate(subsets)}
        found = {
            "format": "treeproof-forest",
            "version": 2,
            "vote": "sum",
            "classes": {"dtype": "<U8", "labels": self.labels},
            "columns": self.columns,
            "importances": ["0x0.0p+0"] * len(self.columns),
            "subsets": [sorted(codes) for codes in subsets],
            "roots": roots,
            "feature": [split.column if split else -1 for split in splits],
            "subset": [place[split.among] if split and split.among is not None else -1 for split in splits],
            "left": [node.left for node in nodes],
            "right": [node.right for node in nodes],
            "threshold": [split.threshold.hex() if split and split.among is None else None for split in splits],
            "values": [[value.hex() for value in node.values] for node in nodes],
            "missing_left": [n for n, s in enumerate(splits) if s and s.among is None and s.missing_left],
            "numbers": self.sides[0].numbers,
            "sums": {
                "start": [value.hex() for value in self.start],
                "numbers": "float64",
                "divisor": "0x1.0000000000000p+0",
                "cuts": None if self.cuts is None else [cut.hex() for cut in self.cuts],
                "softmax": False,
            },
        }
        return json.dumps(found, separators=(",", ":"))

    def proved(self, label: int | None, target: int | None) -> tuple[Claim, Reason, Fraction]:
        """Return what is proved of the label of the pair's model, and how far its sums may be from the exact ones.

        The values of its leaves, and what its sums start from, were rounded once; then its sums are.
        """
        made, names = Model(self.document(), self.budget), self.model.column_names
        made.column_names = [*names, *(f"{names[c]} changed" for c in self.differ)]  # as no column is called
        right = self.given["claim"] == "sufficient" and self.given["target"] == target
        require(right and (label is None or self.given["label"] == label), "A pair must claim its own label.")
        require(not {"around", "groups"} & set(self.given), "A pair has neither ranges around it nor groups.")
        require(made.error is not None, "The sums of a pair must not overflow.")
        claim = Claim(self.given, made, self.budget)
        if not self.two and self.direction is None:
            self._require_alike(claim)
        reason = claim.check(None)
        assert isinstance(reason, Reason)
        sizes = [max(abs(value) for node in nodes for value in node.values) for nodes in self.trees]
        rounded = sum(map(Fraction, sizes), Fraction(max(map(abs, made.start)))) / 2**52
        return claim, reason, (made.error or Fraction(0)) + rounded

    def _require_alike(self, claim: Claim) -> None:
        """Require that the two inputs may change places: otherwise a proof would be about one order of them only."""
        kept = claim.conditions()
        copies = {c: len(self.model.columns) + i for i, c in enumerate(self.differ)}
        features, clauses = inputs(claim.space, kept)
        mirrored, again = inputs(claim.space, kept, copies | {copy: c for c, copy in copies.items()})
        alike = features == mirrored and sorted(map(sorted, clauses)) == sorted(map(sorted, again))
        require(alike, "The same must be declared of both inputs of a pair.")


class ScorePair(Pair):
    """The claim that the score of two such inputs changes by less than a number.

    The score is what the model adds up for one class, in exact arithmetic, and divides. With a `direction`, 1 or -1,
    only pairs in which the column grows are meant, and only changes against that direction count.
    """

    keys = frozenset({"class", "direction", "cut"})
    label = 0  # of the pair's model, if no cut is reached

    def read(self) -> None:
        """Read the class, the direction and the cut below which the only sum stays: at `most` that is the change."""
        self.k = _index(self.pair["class"], len(self.model.start), "The class of a score")
        self.direction = self.pair["direction"]
        known = self.direction is None or (type(self.direction) is int and self.direction in (1, -1))
        require(known and (self.direction is None or len(self.differ) == 1), "A direction is 1 or -1, of one column.")
        numeric = all(self.model.columns[c]["categories"] is None for c in self.differ)
        require(self.direction is None or numeric, "Only numbers have a direction.")
        cut, sign = _number(self.pair["cut"]), Fraction(-(self.direction or -1))
        require(math.isfinite(cut), "The bound of a pair must be finite.")
        self.labels, self.cuts, self.start = ["below", "reached"], [cut], [0.0]
        self.sums = [Sum({self.k: -sign}, {self.k: sign})]
        self.most, self.divisor = Fraction(cut) + (self.model.error or 0), self.model.score_divisor

    def check(self) -> tuple[Claim, OfPairs]:
        """Check that no pair of inputs, or no input of two models, reaches a cut."""
        claim, reason, rounding = self.proved(self.label, None)
        # Trees none of which turns against the direction are added without turning against it in floats, too.
        never = self.direction is not None and all(node.values[0] <= 0 for nodes in self.trees for node in nodes)
        below = None if never else (self.most + rounding) / self.divisor
        return claim, OfPairs(reason.kept, self.differ, self.k, self.direction, below)


class ScoreGap(ScorePair):
    """The claim that the scores that two models give an input differ by less than a number.

    The score is what a model adds up for one class, in exact arithmetic, and divides. Each is multiplied by the divisor
    of the other, unless these are equal.
    """

    keys = frozenset({"classes", "cuts"})
    label = 1

    def read(self) -> None:
        """Read the classes, and the two cuts between which the only sum stays."""
        model, other = self.model, self.other
        classes = _ints(self.pair["classes"], 0, 2**31, "The classes of scores")
        require(len(classes) == 2, "Two models have two classes.")
        one, two = (
            _index(k, len(m.start), "The class of a score") for k, m in zip(classes, (model, other), strict=True)
        )
        right = (model.cuts is None, model.vote == "majority") == (other.cuts is None, other.vote == "majority")
        require(right and (model.cuts is not None or model.classes[one] == other.classes[two]), "Scores must be alike.")
        self.cuts = [_number(cut) for cut in self.pair["cuts"]]
        require(len(self.cuts) == 2 and all(map(math.isfinite, self.cuts)), "A gap must have two finite bounds.")
        divisors = model.score_divisor, other.score_divisor
        self.times = (Fraction(1), Fraction(1)) if divisors[0] == divisors[1] else (divisors[1], divisors[0])
        self.divisor, self.k = divisors[0] * self.times[0], one
        self.labels, self.sums = ["less", "between", "more"], [Sum({one: -self.times[0]}, {two: self.times[1]})]
        self.start = [_nearest(other.exact_start[two] * self.times[1] - model.exact_start[one] * self.times[0])]
        own = (model.error or 0) * self.times[0] + (other.error or 0) * self.times[1]
        self.most = Fraction(max(map(abs, self.cuts))) + own


class LabelPair(Pair):
    """The claim that no two such inputs have two different labels, the first one a and the second b.

    The label 0 of the pair's model is that both lead all their rivals by enough, and so that their leads over each
    other together are enough, a condition in which whatever is the same for both cancels out. Each condition is
    the label 0 against another one. `room` makes them weaker by as much as the sums of the pair's model are rounded.
    Of two models, the first gives the input the label a, and the second the label b.
    """

    keys = frozenset({"labels", "room"})

    def read(self) -> None:
        """Read the labels and the room; the sums, which must not exceed 0, begin with what it takes to lead."""
        given, models = self.pair["labels"], (self.model, self.other)
        require(type(given) is list and len(given) == 2, "A pair has two labels.")
        self.a, self.b = (_index(k, m.n_classes, "label") for k, m in zip(given, models, strict=True))
        room = _number(self.pair["room"])
        require(0 <= room < math.inf, "The room of a pair must be a number.")
        self.room = Fraction(room)
        a, b = self.model.classes[self.a], self.other.classes[self.b]
        require(a != b, "The labels of a pair must differ.")
        # Each condition is a lead of the first, of the second, or one of each together.
        conditions: list[tuple[Any, Any]] = [((self.a, j), None) for j in self.model.rivals(self.a)]
        conditions += [(None, (self.b, j)) for j in self.other.rivals(self.b)]
        if b in self.model.classes and a in self.other.classes:  # over each other
            conditions.append(((self.a, self.model.classes.index(b)), (self.b, self.other.classes.index(a))))
        self.labels = ["both", *(f"not {k}" for k in range(len(conditions)))]
        self.sums, self.start = [Sum({}, {})], [0.0]
        for leads in conditions:
            counts: list[dict[int, Fraction]] = [{}, {}]
            least = -self.room
            for second, (model, lead) in enumerate(zip(models, leads, strict=True)):
                if lead is not None:
                    counts[second] = {k: Fraction(-times) for k, times in model.lead(*lead).items()}
                    needed = model.least_lead(*lead)
                    assert needed is not None  # no sum overflows
                    least += needed
            self.sums.append(Sum(*counts))
            self.start.append(_downward(least))  # so that conditions get weaker

    def check(self) -> tuple[Claim, Reason]:
        """Check that no pair of inputs meets all conditions."""
        claim, reason, rounding = self.proved(None, 0)
        require(self.room >= rounding, "The room of a pair is too small for its rounding.")
        return claim, reason


def check_labels(
    certificate: dict[str, Any], model: Model, other: Model | None, budget: Budget
) -> tuple[Claim, OfPairs]:
    """Check that no label depends on some columns, or that two models give the same: a proof for every two labels."""
    keys = {"format", "version", "model", "claim", "pairs"}
    require(set(certificate) == (keys if other is None else keys | {"other"}), "Unknown or missing fields.")
    claims = certificate["claim"] == ("independent" if other is None else "same")
    require(claims and len(certificate["pairs"]) > 0, "Unknown claim about pairs.")
    for one in certificate["pairs"]:
        require_known(one)
    pairs = [LabelPair({**one, "model": model.fingerprint}, model, other, budget) for one in certificate["pairs"]]
    found = {(pair.a, pair.b) for pair in pairs}
    if other is None:
        found |= {(b, a) for a, b in found}  # the inputs may change places
    second = (other or model).classes
    every = {(a, b) for a, one in enumerate(model.classes) for b, two in enumerate(second) if one != two}
    require(found >= every, "There must be a proof for every two labels.")
    require(all(pair.differ == pairs[0].differ for pair in pairs), "All pairs must differ in the same columns.")
    checks = [pair.check() for pair in pairs]
    meant = [(inputs(claim.space, reason.kept), set(reason.kept)) for claim, reason in checks]
    require(all(one == meant[0] for one in meant), "All pairs must be about the same inputs.")
    claim, reason = checks[0]
    claim.leaves = sum(claim.leaves for claim, _ in checks)
    return claim, OfPairs(reason.kept, pairs[0].differ)


def check_identical(certificate: dict[str, Any], model: Model, other: Model) -> None:
    """Check that two models have the same trees, and add them up in the same way."""
    known = set(certificate) == {"format", "version", "model", "other", "claim"} and certificate["claim"] == "identical"
    require(known, "Unknown claim about two models.")
    one, two = sides_of(model, other, [])
    same = len(model.trees) == len(other.trees)
    same = same and all(one.shape(a) == two.shape(b) for a, b in zip(model.trees, other.trees, strict=True))
    require(same, "The models have different trees.")
    leaves = [i for i, column in enumerate(model.feature) if column < 0]
    values = all(model.values[i] == other.values[i] for i in leaves)
    require(values and model.adding == other.adding, "The models add up different numbers, or in different ways.")


def inputs(space: Space, kept: dict[int, int], moved: dict[int, int] | None = None) -> tuple[dict[Any, Any], list[Any]]:
    """Return which inputs a space and conditions have, however cells are cut: features by their columns, and clauses.

    With `moved`, columns take the place of others.
    """
    names = [tuple((moved or {}).get(c, c) for c in feature.columns) for feature in space.features]
    features = {
        name: (feature.whole, meant(feature, feature.all), meant(feature, kept.get(f, feature.all)))
        for f, (name, feature) in enumerate(zip(names, space.features, strict=True))
    }
    clauses = [[(names[f], meant(space.features[f], cells)) for f, cells in clause] for clause in space.clauses]
    return features, clauses


def meant(feature: Feature, cells: int) -> Any:
    """Return which values cells stand for, however these are cut: values, or ranges and whether missing ones are in."""
    if feature.points:
        return [feature.points[c] for c in _bits(cells)]
    return feature.ranges(cells), feature.missing is not None and cells >> feature.missing & 1


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
        earning: dict[int, list[Priced]] = {}  # by feature
        for f, splits in itertools.chain.from_iterable(map(dict.items, prices.values())):
            earning.setdefault(f, []).extend(splits)
        bound += sum(most_earned(box[f], splits, self.budget) for f, splits in earning.items()) * self.price
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
        """Return, for every node, what it adds to the winner's lead."""
        if (winner, loser) not in self._leads:
            self.budget.spend(len(self.space.owner))
            times = self.scale // self.model.finest
            counts = [(k, times * n) for k, n in self.model.lead(winner, loser).items()]
            self._leads[winner, loser] = [sum(n * values[k] for k, n in counts) for values in self.model.whole]
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
            n = math.prod(map(int.bit_count, box))
            require(n <= MOST_POINTS, "A box has too many points to be listed.")
            self.budget.spend(n * (self.model.path + sum(map(len, self.space.clauses))))
            points = filter(self.space.allows, itertools.product(*map(_bits, box)))
            leaves = ([self._leaf(root, at) for root in self.model.roots] for at in points)
            self._listed[key] = set(map(self.model.decide, leaves))
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


def most_earned(cells: int, splits: list[Priced], budget: Budget) -> int:
    """Return the most that one of the cells earns, alpha of each split where it goes left, else beta."""
    gains = [0] * cells.bit_length()  # per cell: what it earns more than the cell before it
    budget.spend(len(gains))
    for left, alpha, beta in splits:
        gains[0] += beta
        for edge in _bits((left ^ left << 1) & ((1 << len(gains)) - 1)):  # from here on cells go to the other side
            budget.spend(1 + len(gains) // 64)
            gains[edge] += alpha - beta if left >> edge & 1 else beta - alpha
    return max(earned for c, earned in enumerate(itertools.accumulate(gains)) if cells >> c & 1)


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


def say(claim: Claim, fact: Reason | Change | Complete | Audit) -> Checked:
    """Return in words what is proved about an instance, or about rows."""
    text, lines = SAY[type(fact)](claim, fact)
    return Checked(
        text=text,
        leaves=claim.leaves,
        conditions=lines,
        space=declared(claim.space),
        around=[condition(claim.features[f], claim.near[f]) for f in sorted(claim.near)],
        row=[] if isinstance(fact, Audit) else values(claim.space, claim.row),
        model=claim.model.fingerprint,
        decides=rule(claim.model),
        groups=[
            f"{claim.groups.names[group]}: {', '.join(claim.features[f].name for f in claim.groups.members[group])}"
            for group in claim.groups.declared
        ],
    )


def say_reason(claim: Claim, fact: Reason) -> tuple[str, list[str]]:
    """Conditions, which force or rule out a label."""
    out, one = claim.target is not None, len(fact.units) == 1
    label = f"the label {claim.model.names[claim.label if claim.target is None else claim.target]}"
    if fact.units:
        where = " as long as all others stay in the ranges around the instance" if claim.near else ""
        does = ("rule" if out else "force") + "s" * one + " out" * out
        text = f"{claim.groups.named(fact.units)} {does} {label}{where}"
    else:
        where = " in the ranges around the instance" if claim.near else ""
        text = f"{'no' if out else 'every'} input{where} has {label}"
    if fact.minimal and fact.kept:
        text += "; it cannot be dropped" if one else "; none of them can be dropped"
    if fact.wider and fact.kept:
        text += not_extended(claim.space, fact.kept)
    text += say_minimum(claim, fact.minimum, "does")
    return text, [condition(claim.features[f], fact.kept[f]) for f in sorted(fact.kept)]


def say_change(claim: Claim, fact: Change) -> tuple[str, list[str]]:
    """A change, which gives another label."""
    near = " within the ranges around the instance" if claim.near else ""
    other = "another label" if claim.target is None else "that label"
    text = f"a change of {claim.groups.named(fact.units)} alone gives the label {claim.model.names[fact.label]}"
    if fact.minimal and len(fact.units) > 1:
        text += f"; a change of fewer of them alone does not give {other}{near}"
    if fact.minimum is not None:
        text += say_minimum(claim, fact.minimum, f"gives {other}") + near
    return text, say_moves(claim, fact, claim.row)


def say_moves(claim: Claim, change: Change, row: list[float]) -> list[str]:
    """From what to what features of a row change."""
    moved = [claim.features[f] for f in change.moved]
    return [f"{feature.name}: {show(feature, row)} -> {show(feature, change.new)}" for feature in moved]


def say_minimum(claim: Claim, minimum: Minimum | None, does: str) -> str:
    """That no smaller or cheaper set does."""
    if minimum is None:
        return ""
    if minimum.costs is None:
        return f"; no smaller set {does}"
    named = ", ".join(f"{claim.groups.named({group})} {cost}" for group, cost in sorted(minimum.costs.items()))
    return f"; no set that costs less than {minimum.total} {does} (costs: {named})"


def say_complete(claim: Claim, fact: Complete) -> tuple[str, list[str]]:
    """All reasons and changes, and what is in none of them."""
    lines, used = [], set[int]()
    for what, sets in (("reason", fact.reasons), ("change", fact.changes)):
        lines += [f"{what}: {claim.groups.named(set(_bits(one))) or 'no feature at all'}" for one in sets]
        used.update(group for one in sets for group in _bits(one))
    none = set(claim.groups.members) - used
    lines += [f"in none of them: {claim.groups.named(none)}"] if none else []
    does, other = f"force the label {claim.model.names[claim.label]}", "another label"
    if claim.target is not None:
        other = f"the label {claim.model.names[claim.target]}"
        does = f"rule out {other}"
    text = f"these are all minimal sets of features whose values in the row {does} (reasons), and "
    text += f"all minimal sets whose change alone can give {other} (changes)"
    return text + (" within the ranges around the instance" if claim.near else ""), lines


def say_audit(claim: Claim, fact: Audit) -> tuple[str, list[str]]:
    """Rows in which a change of some features gives another label, and those in which none does."""
    lines, names = [], claim.model.names
    for row, label, change in fact.rows:
        shown = f"{names[label]}: {row_text(values(claim.space, row))}"
        if change is None:
            lines.append(f"no other label than {shown}")
        else:
            to = ", ".join(say_moves(claim, change, row))
            lines.append(f"{names[change.label]} if {to}, instead of {shown}")
    n, flips = len(fact.rows), sum(change is not None for _, _, change in fact.rows)
    what = f"a change of {claim.groups.named(fact.units)} alone"
    return f"of {n} row{'s' * (n != 1)}, {what} gives another label in {flips}; in {n - flips} none does", lines


SAY: dict[type, Callable[[Claim, Any], tuple[str, list[str]]]] = {
    Reason: say_reason,
    Change: say_change,
    Complete: say_complete,
    Audit: say_audit,
}


def say_of_pairs(claim: Claim, fact: OfPairs, model: Model, other: Model | None) -> Checked:
    """Return in words what is proved of all pairs of inputs, or of two models; the claim is one of the pair's model."""
    names = ", ".join(model.column_names[c] for c in fact.columns)
    two, what = f"no two inputs that differ in {names} alone", "" if fact.k is None else score(model, fact.k)
    most = "" if fact.below is None else _upward(fact.below)
    by = f"by {most} or more" if most else "at all"
    if fact.k is None:
        text = f"{two} have different labels" if names else "both models give the same label to every input"
    elif not names:
        text = f"{what} differs by less than {most} between the two models, for every input"
    elif fact.direction is None:
        text = f"{two} differ in {what} {by}"
    else:
        turns = {1: "falls", -1: "rises"}[fact.direction]
        text = f"{what} never {turns} {by} when {names} grows and nothing else changes"
    return Checked(
        text=text + ", under these conditions" * bool(fact.kept),
        leaves=claim.leaves,
        conditions=[condition(claim.features[f], fact.kept[f]) for f in sorted(fact.kept)],
        space=declared(claim.space),
        model=model.fingerprint,
        decides=rule(model) + (f"; the second model: {other.fingerprint[:12]}, {rule(other)}" if other else ""),
    )


def say_identical(model: Model, other: Model) -> Checked:
    """Return in words that two models are the same."""
    text = "both models have the same trees, add them up in the same way, and so give the same label to every input"
    decides = f"{rule(model)}; the second model: {other.fingerprint[:12]}"
    return Checked(text, leaves=0, conditions=[], space=[], model=model.fingerprint, decides=decides)


def score(model: Model, k: int) -> str:
    """Return what the sum for a class is called once it is divided."""
    if model.vote == "majority":
        return f"the share of the votes for {model.names[k]}"
    return "the score" if model.cuts is not None else f"the score of {model.names[k]}"


def looks(text: str) -> str:
    """Return what a text looks like: the same for texts that only Unicode tells apart, or an alphabet."""
    return unicodedata.normalize("NFKD", text).translate(LOOKS)


def told_apart(given: list[Any], shown: Callable[[Any], str]) -> list[str]:
    """Return labels or names as they are shown; those that look like another one with all but ASCII escaped."""
    often = Counter(looks(text) for text in given if isinstance(text, str))
    alike = {text for text in given if isinstance(text, str) and not text.isascii() and often[looks(text)] > 1}
    return [json.dumps(text) if text in alike else shown(text) for text in given]


def _name(name: str) -> str:
    """Return a name as one line of text, such that it does not look like something else that is printed."""
    words = looks(name).split(" ")
    plain = name.isprintable() and all(words) and not set('",;:=<>/').intersection(looks(name))
    return name if plain and not NAME_WORDS.intersection(words) else _quoted(name)


def _printable(label: Any) -> str:
    """Return a label as one line of text, such that no two look alike: text is in quotes unless it is plain words.

    A label that could be read as a part of the sentence is not plain: a column that "is not green" may be red.
    """
    if not isinstance(label, str):
        return "missing" if label is None else str(label)
    words, seen = (text.replace("_", " ").replace("-", " ").split(" ") for text in (label, looks(label)))
    plain = all(word.isalnum() for word in words) and label[0].isalpha() and not LABEL_WORDS.intersection(seen)
    known = looks(label).lower() in ("missing", "none", "nan", "true", "false")
    return label if plain and not known else _quoted(label)


def _quoted(text: str) -> str:
    seen = text.isprintable() and looks(text).count('"') == text.count('"')  # what looks like a quote is escaped
    return json.dumps(text, ensure_ascii=not seen)


def rule(model: Model) -> str:
    """Return in words how the trees' values become a label."""
    trees = f"{len(model.roots)} tree{'s' * (len(model.roots) != 1)}"
    if model.vote != "sum":
        return f"the most votes of {trees}" if model.vote == "majority" else f"the largest mean probability of {trees}"
    divided = f" divided by {model.divisor!r}" * model.divides
    parts = f" in {model.n_members} parts that are weighted" * bool(model.n_members)
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


def row_text(row: list[str]) -> str:
    """Return the values of a row; if there are many, the rest by what identifies the whole row."""
    if len(row) <= MOST_VALUES:
        return ", ".join(row)
    whole = hashlib.sha256("\n".join(row).encode(errors="backslashreplace")).hexdigest()[:12]
    return ", ".join([*row[:MOST_VALUES], f"{len(row) - MOST_VALUES} more (all: {whole})"])


def values(space: Space, row: list[float]) -> list[str]:
    """Return the features' values in a row, with their names."""
    return [f"{f.name} = " * (len(f.columns) == 1) + show(f, row) for f in space.features]


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
    parts, most = [], LARGEST[feature.numbers]
    for low, high in feature.ranges(cells):
        least = f"{number(feature, low)} <= " * (low > -most)
        if high < most:
            parts.append(f"{least}{feature.name} <= {number(feature, high)}")
        else:
            parts.append(f"{feature.name} >= {number(feature, low)}" if least else f"{feature.name} is any number")
    missing = feature.missing is not None and cells >> feature.missing & 1
    return " or ".join([*parts, f"{feature.name} is missing"] if missing else parts)


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
            left_out = [code for code in range(len(about["categories"])) if code not in chosen]
            if "other" in about and [about["categories"][code] for code in left_out] == [about["other"]]:
                words.append(f"not {space.model.category_names[feature.columns[0]][left_out[0]]}")
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
        if not numeric:  # only then, as Python does not show every int
            raise CheckError(f"The row has {value!r} for {name}, which must be a number, or None.")
        try:
            row.append(math.nan if value is None else model.rounded(float(value), model.numbers))
        except OverflowError:
            row.append(math.inf)
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
    most, content = Budget(budget).left / BYTE_STEPS, bytearray()
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


def read_model(path: str | PathLike[str], budget: float = BUDGET) -> str:
    """Return the text of a model's file; CheckError if it is too large for the budget."""
    work, pieces = Budget(budget), list[str]()
    with Path(path).open(encoding="utf-8") as file:
        while piece := file.read(2**20):
            work.spend(len(piece))
            pieces.append(piece)
    return "".join(pieces)


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
        certificate, model = read(args.certificate, args.budget), read_model(args.model, args.budget)
        other = None if args.other is None else read_model(args.other, args.budget)
        sys.stdout.write(f"{check(certificate, model, row, args.budget, other)}\n")
    except (OSError, ValueError, ModelError) as error:
        sys.stderr.write(f"Cannot be read: {error}\n")
        return 2
    except CheckError as problem:
        sys.stderr.write(f"Rejected: {problem}\n")
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
