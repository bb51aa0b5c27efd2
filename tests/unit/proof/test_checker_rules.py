"""Each rule of the checker alone: something that only this rule rejects, or the number that must come out."""

from __future__ import annotations

import copy
import gzip
import hashlib
import itertools
import json
import math
import runpy
import sys
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest

import treeproof as tp
from treeproof import checker
from treeproof.checker import (
    BROKEN,
    EVALUATED,
    LARGEST,
    ORDERED,
    PRICES,
    RIVAL,
    SET,
    CheckError,
    Feature,
    Model,
    Priced,
    Proof,
    Space,
    check,
    read,
)
from treeproof.model.build import build_forest, isin, leaf, split
from treeproof.model.columns import Column
from treeproof.model.decision import Sums
from treeproof.model.files import forest_to_json
from treeproof.model.forest import Forest

Document = dict[str, Any]
MOST = LARGEST["float32"]
REGRESSION: Document = {"vote": "sum", "sums": Sums((0.0,), cuts=(1.0,))}


def with_value(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy of a document with this value at this place."""
    if not path:
        return value
    altered = copy.copy(document)
    altered[path[0]] = with_value(document[path[0]], path[1:], value) if path[1:] else value
    return altered


def source(forest: Forest) -> Document:
    return json.loads(forest_to_json(forest))


def refused(about: Document, match: str, *changes: tuple[tuple[Any, ...], Any]) -> None:
    """The checker must refuse a model with these changes, for this reason."""
    for path, value in changes:
        about = with_value(about, path, value)
    with pytest.raises(CheckError, match=match):
        Model(json.dumps(about))


def certificate(forest: Forest, row: list[Any], kind: str = "abductive", **options: Any) -> tuple[Document, Model]:
    """The certificate of a result, with its proof split and bounded even where the box is small."""
    with mock.patch("treeproof.proof.certificate.LIST_UP_TO", 0):
        made = getattr(tp.Explainer(forest, tabulate=False, **options), kind)(row).certificate()
    return made.document, Model(forest_to_json(made.forest))


def rejected(document: Document, model: Model, match: str, *changes: tuple[tuple[Any, ...], Any]) -> None:
    """The checker must reject a certificate with these changes, for this reason."""
    for path, value in changes:
        document = with_value(document, path, value)
    with pytest.raises(CheckError, match=match):
        check(document, model)


def steps(*given: int, tables: Any = ((),)) -> tuple[tuple[Any, ...], Any]:
    return ("proof",), {"unit": 0, "steps": list(given), "tables": [list(table) for table in tables]}


@pytest.fixture
def stump():
    """``a <= 0.5`` is class 0, whatever b; and its certificate for a = 0."""
    forest = build_forest([split("a", 0.5, 0, 1)], columns=["a", "b"], classes=[0, 1])
    return certificate(forest, [0, 0])


@pytest.fixture
def both():
    """Class 1 iff a and b are above 0; and its certificate for a = b = 1, which rests on both."""
    forest = build_forest([split("a", 0, 0, split("b", 0, 0, 1))], columns=["a", "b"], classes=[0, 1])
    return certificate(forest, [1, 1])


class TestModels:
    def test_have_a_version_and_its_fields(self):
        stump = source(build_forest([split("a", 0.5, 0, 1)], columns=["a"], classes=[0, 1]))
        for version in (True, 0, 3, "2", 2.0):
            refused(stump, "version must be 1 or 2", (("version",), version))
        refused(stump, "unknown or missing fields", (("version",), 1))
        refused(stump, "unknown or missing fields", (("more",), 1))
        refused(stump, "JSON of a treeproof Forest", (("format",), "forest"))
        old = {key: value for key, value in stump.items() if key not in checker.NEW_MODEL_KEYS}
        assert Model(json.dumps({**old, "version": 1})).label([0.0]) == 0
        refused(old, "unknown or missing fields")

    def test_have_classes_and_columns_that_differ(self):
        forest = source(build_forest([isin("c", ["x"], 0, 1)], columns=[Column("c", ("x", "y")), "a"], classes=[0, 1]))
        refused(forest, "Class labels must differ", (("classes", "labels"), [1, 1]))
        refused(forest, "Class labels must differ", (("classes", "labels"), []))
        refused(forest, "Class labels must differ", (("classes", "labels"), [1, True]))
        refused(forest, "must have a name and be known", (("columns", 1, "missing"), "sometimes"))
        refused(forest, "must have a name and be known", (("columns", 1, "name"), 5))
        refused(forest, "Categories must differ", (("columns", 0, "categories"), ["x", "x"]))
        refused(forest, "Categories must differ", (("columns", 0, "categories"), []))
        refused(forest, "Column names must differ", (("columns", 1, "name"), "c"))
        refused(forest, "Column names must differ", (("columns",), []))
        every = {"missing": "never", "date": True, "integer": True, "gap": 0, "other": "y", "other_expected": True}
        forest["columns"][0] |= every | {"low": "-inf", "high": "inf"}
        assert set(forest["columns"][0]) == checker.COLUMN_KEYS
        assert Model(json.dumps(forest)).category_names == [["x", "y"], []]
        one = source(build_forest([isin("c", ["x"], 0, 0)], columns=[Column("c", ("x",))], classes=[0]))
        assert Model(json.dumps(one)).label([0.0]) == 0

    def test_have_finite_values_of_their_own_numbers(self):
        sums = Sums((0.0, 0.0), "float32")
        forest = source(build_forest([leaf([1.0, 2.0])], columns=["a"], classes=[0, 1], vote="sum", sums=sums))
        for values in (["0x1p+0", "inf"], ["0x1p+0", (0.1).hex()], ["0x1p+0"], ["0x1p+0"] * 3, [None, None]):
            refused(forest, "Values must be finite, of the model's numbers", (("values", 0), values))
            refused(forest, "Values must be finite, of the model's numbers", (("sums", "start"), values))
        refused(forest, "Numbers must be float32 or float64", (("numbers",), "float16"))
        refused(forest, "Numbers must be float32 or float64", (("sums", "numbers"), "float16"))
        refused(forest, "Unknown vote", (("vote",), "median"))
        refused(forest, "and no other, has sums", (("vote",), "mean"))
        refused(forest, "and no other, has sums", (("sums",), None))
        refused(forest, "The sums have unknown fields", (("sums", "more"), 0))
        for divisor in ("0x0p+0", "-0x1p+0", "inf"):
            refused(forest, "Sums must be divided by a number", (("sums", "divisor"), divisor))
        refused(forest, "Sums must be divided by a number", (("sums", "softmax"), 0))
        refused(forest, "A sigmoid must be of float64 sums", (("sums", "sigmoid"), "0x1p+0"))
        forest["sums"] |= {"numbers": "float64", "sigmoid": "0x1p+0"}
        assert Model(json.dumps(forest)).label([0.0]) == 1
        for sigmoid in ("0x0p+0", "-0x1p+0", "inf", None):
            refused(forest, "A sigmoid must be of float64 sums", (("sums", "sigmoid"), sigmoid))
        refused(forest, "A sigmoid must be of float64 sums", (("sums", "softmax"), True))

    def test_have_cuts_that_part_the_classes(self):
        sums = Sums((0.0,), "float64", cuts=(1.0, 2.0))
        forest = source(build_forest([leaf([1.0])], columns=["a"], classes=[0, 1, 2], vote="sum", sums=sums))
        for cuts in ([2.0, 1.0], [1.0, 1.0], [1.0, math.inf], [-math.inf, 1.0], [1.0], [1.0, 2.0, 3.0], []):
            refused(forest, "Cuts must split classes", (("sums", "cuts"), [cut.hex() for cut in cuts]))
        refused(forest, "Cuts must split classes", (("sums", "softmax"), True))

    def test_have_trees(self):
        trees = [split("a", 0, 0, 1), split("c", 0, 0, 1), isin("d", ["x"], 0, 1)]
        columns = ["a", "c", Column("d", ("x", "y"))]
        forest = source(build_forest(trees, columns=columns, classes=[0, 1]))
        assert forest["roots"] == [0, 3, 6]
        for key in ("left", "right", "subset", "threshold", "values"):
            refused(forest, "Every node must have an entry in every list", ((key,), forest[key][:-1]))
        lists = ("feature", "left", "right", "subset", "threshold", "values", "roots")
        refused(forest, "Every node must have an entry in every list", *(((key,), []) for key in lists))
        for roots in ([0, 6, 3], [0, 3, 3], [1, 3, 6], [0, 0, 6]):
            refused(forest, "The roots must ascend", (("roots",), roots))
        for child in (0, 3, -1):
            refused(forest, "A child must come after its parent", (("left", 0), child))
        refused(forest, "A leaf must have no children", (("left", 1), 2))
        refused(forest, "A leaf must have no children", (("subset", 1), 0))
        refused(forest, "A leaf must have no children", *(((key, 1), 0) for key in ("left", "right", "subset")))
        refused(forest, "exactly one parent", (("left", 0), 2))
        refused(forest, "exactly one parent", (("roots",), [0, 3, 6, 8]), (("right", 6), 7))
        refused(forest, "Sets are for categorical columns", (("subset", 0), 0))
        refused(forest, "Sets are for categorical columns", (("subset", 6), -1))
        refused(forest, "by values of its column", (("subsets",), [[2]]))
        refused(forest, "by values of its column", (("subsets",), [[0, 2]]))
        refused(forest, "by values of its column", (("threshold", 0), (0.1).hex()))
        refused(forest, "Categories must be whole numbers", (("subsets",), [[-1]]))
        refused(forest, "Nodes must be whole numbers", (("missing_left",), [-1]))
        assert Model(json.dumps({**forest, "missing_left": [0, 3]})).missing_left[:4] == [True, False, False, True]
        single = source(build_forest([leaf([0.0, 1.0])], columns=["a"], classes=[0, 1]))
        assert Model(json.dumps(single)).label([0.0]) == 1


def summed(values: list[list[list[float]]], start: tuple[float, ...], **options: Any) -> Model:
    """A model of trees of one split with these leaves."""
    sums = Sums(start, **{"dtype": "float64", **options})
    classes = list(range(len(start) if sums.cuts is None else len(sums.cuts) + 1))
    trees = [split("a", float(i), leaf(low), leaf(high)) for i, (low, high) in enumerate(values)]
    return Model(forest_to_json(build_forest(trees, columns=["a"], classes=classes, vote="sum", sums=sums)))


class TestRounding:
    """How far sums may be off, and which leaves add up exactly, by the formulas in the comments of the checker."""

    TREES = [[[0.1, 0.0], [-0.3, 0.0]], [[0.0, 0.7], [0.2, 0.0]], [[0.0, 0.0], [0.0, -0.1]]]

    @staticmethod
    def error_of(n: int, largest: Fraction, divisor: float, bits: int = 53, finest: int = 1074) -> Fraction:
        """Two sums of n additions, and their division."""
        sum_off = 2 * n * largest / 2**bits
        off = 2 * sum_off + 2 * (largest + sum_off) / 2**bits
        return off + 4 * max(Fraction(1), Fraction(divisor)) / 2**finest

    @pytest.mark.parametrize("divisor", [1.0, 0.5, 3.0])
    @pytest.mark.parametrize("softmax", [False, True])
    @pytest.mark.parametrize(("numbers", "bits", "finest"), [("float64", 53, 1074), ("float32", 24, 149)])
    def test_error(self, divisor, softmax, numbers, bits, finest):
        read = np.dtype(numbers).type
        trees = [[[float(read(v)) for v in values] for values in tree] for tree in self.TREES]
        start = (float(read(-0.01)), float(read(0.01)))
        model = summed(trees, start, dtype=numbers, divisor=divisor, softmax=softmax)
        largest = max(
            Fraction(abs(start[0])) + Fraction(-trees[0][1][0]) + Fraction(trees[1][1][0]),
            Fraction(start[1]) + Fraction(trees[1][0][1]) + Fraction(-trees[2][1][1]),
        )
        expected = self.error_of(2, largest, divisor, bits, finest)
        expected += 16 * max(Fraction(1), Fraction(divisor)) / 2**bits if softmax else 0
        assert model.error == expected
        nothing = summed([[[0.0, 0.0], [0.0, 0.0]]], (0.5, 0.0), softmax=True)
        assert nothing.error == self.error_of(0, Fraction(1, 2), 1.0) + Fraction(16, 2**53)

    @pytest.mark.parametrize(("divisor", "sigmoid"), [(1.0, 1.0), (3.0, 0.7), (0.5, 9.0)])
    def test_error_of_sigmoids(self, divisor, sigmoid):
        trees, start = [[[4.0, -1.0], [2.0, -2.0]], [[-3.0, 0.5], [-1.0, 0.0]]], (0.25, -0.5)
        times = Fraction(sigmoid) / Fraction(divisor)
        expected = self.error_of(2, Fraction(7.25), divisor)
        high, size = (Fraction(3.25) + expected) * times, (Fraction(7.25) + expected) * times
        model = summed(trees, start, divisor=divisor, sigmoid=sigmoid)
        if sigmoid == 9:
            assert high > 33
            assert model.error is None
            return
        exponential = 2 ** math.ceil(high * 13 / 9)
        assert exponential > math.exp(high)
        assert model.error == expected + (5 * (1 + exponential) + 2 * size + 10) / 2**53 / times
        # Far below 0 exponentials overflow; what is a little below costs nothing.
        low = [[[-600.0, 0.0], [0.0, -1.0]]]
        assert summed(low, (0.0, 0.0), sigmoid=1.0).error < Fraction(1, 10**11)
        assert summed(low, (0.0, 0.0), sigmoid=1.2).error is None

    def test_sigmoids_up_to_where_they_are_told_apart(self):
        """The largest sum times the factor may reach 33, and no sum times it may be beyond 701."""
        model = summed([[[30.0, 0.0], [0.0, -1.0]]], (2.0, 0.0), sigmoid=1.0)
        off = Fraction(1, 1000)
        assert model._sigmoid_rounding(Fraction(700), Fraction(1)) is not None
        assert model._sigmoid_rounding(Fraction(700), 1 + off) is None
        low = summed([[[0.0, 0.0], [0.0, -1.0]]], (0.0, 0.0), sigmoid=1.0)
        assert low._sigmoid_rounding(Fraction(700), Fraction(1)) is not None
        assert low._sigmoid_rounding(700 + off, Fraction(1)) is None
        assert low._sigmoid_rounding(Fraction(8), Fraction(0)) == Fraction(5 * (1 + 1) + 2 * 8 + 10, 2**53)

    def test_overflow(self, monkeypatch):
        half = LARGEST["float64"] / 2 * (1 - 2.0**-51)  # sums may be larger by what they are off
        assert summed([[[half, 0.0], [0.0, 0.0]]], (0.0, 0.0)).error is not None
        assert summed([[[half, 0.0], [0.0, 0.0]]], (half * 2.0**-50, 0.0)).error is None
        assert summed([[[half, 0.0], [0.0, 0.0]]], (0.0, 0.0), divisor=0.5).error is None
        assert summed([[[half / 2, 0.0], [0.0, 0.0]]], (0.0, 0.0), divisor=0.5).error is not None
        zeros = [[[0.0, 0.0], [0.0, 0.0]]]
        assert summed(zeros, (LARGEST["float64"] / 2, 0.0)).error is not None
        assert summed(zeros, (math.nextafter(LARGEST["float64"] / 2, math.inf), 0.0)).error is None
        monkeypatch.setitem(checker.UNIT, "float64", 5)
        tree = [[0.1, 0.0], [0.0, 0.1]]
        assert summed([tree] * 4, (0.0, 0.0)).error is not None
        assert summed([tree] * 5, (0.0, 0.0)).error is None
        assert summed([[[0.1, 0.0], [0.0, 0.0]]] * 5, (0.0, 0.0)).error is None  # also if it is one sum alone

    def test_of_a_majority_there_is_none(self):
        model = Model(forest_to_json(build_forest([split("a", 0, [0.1, 0.9], 0)], columns=["a"], classes=[0, 1])))
        assert (model.error, model.step, model.pure) == (0, 1, True)

    @pytest.mark.parametrize(
        ("numbers", "largest", "exact", "rounded"),
        [
            ("float64", 1.0, 2.0**-50, 2.0**-51),
            ("float64", 2.0**50, 1.0, 0.5),
            ("float64", 2.0**-890, 2.0**-900, 2.0**-901),
            ("float32", 1.0, 2.0**-21, 2.0**-22),
            ("float32", 2.0**21, 1.0, 0.5),
            ("float32", 2.0**-90, 2.0**-100, 2.0**-101),
        ],
    )
    def test_of_leaves_that_add_up_exactly_there_is_none(self, numbers, largest, exact, rounded):
        def step(finest: float, start: float = 0.0, most: float = largest, **options: Any) -> Fraction | None:
            """The step of sums, if they are exact."""
            trees = [[[most, 0.0], [0.0, exact]], [[0.0, 0.0], [0.0, finest]]]
            model = summed(trees, (0.0, start), dtype=numbers, **options)
            return None if model.error else model.step

        assert step(exact) == step(exact, divisor=2.0**32) == min(1, Fraction(exact))
        assert (
            step(rounded) is step(exact, rounded) is step(exact, softmax=True) is step(exact, divisor=2.0**33) is None
        )
        if largest > 1:
            assert step(exact, divisor=0.5) is step(exact, most=largest + 1) is None
            assert step(rounded, most=largest / 2, divisor=0.5) == rounded

    def test_a_vote_of_pure_leaves(self):
        """Probabilities of 0 and 1 are votes; sums of others are exact or not, all of them or none."""

        def read(*leaves: Any, vote: str = "mean") -> tuple[bool, bool, Fraction]:
            trees = [split("a", 0, one, 0) for one in leaves]
            model = Model(forest_to_json(build_forest(trees, columns=["a"], classes=[0, 1, 2], vote=vote)))
            return model.pure, model.error == 0, model.step

        assert read(leaf([1, 0, 0]), leaf([0, 0, 1])) == (True, True, 1)
        for other, step in (
            ([0.25, 0.5, 0.25], Fraction(1, 4)),
            ([1, 1, 0], 1),
            ([2, 0, 0], 1),
            ([0.5, 0, 0], Fraction(1, 2)),
        ):
            assert read(leaf([1, 0, 0]), leaf(other)) == (False, True, step)
        assert read(leaf([1, 0, 0]), leaf([0, 0.1, 0.9])) == (False, False, 1)
        assert read(leaf([1, 0, 0]), leaf([0, 0.1, 0.9]), vote="majority") == (True, True, 1)


class TestSums:
    def test_of_cuts_only_neighbours_are_rivals(self):
        cut = summed([[[0.125], [1.0]]], (0.0,), cuts=(0.0, 1.0, 2.0))
        assert [cut.rivals(label) for label in range(4)] == [[1], [0, 2], [1, 3], [2]]
        assert summed([[[0.0] * 3, [1.0] * 3]], (0.0,) * 3).rivals(1) == [0, 2]

    @pytest.mark.parametrize("numbers", ["float32", "float64"])
    @pytest.mark.parametrize("divisor", [1.0, 2.0, 3.0, 0.7])
    def test_that_reach_a_cut_are_the_least_that_do(self, numbers, divisor):
        """Of exact sums, which are multiples of 1/8, the least; rounded ones are as near as their error."""
        dtype = np.dtype(numbers).type
        most, divided = float(np.finfo(dtype).max), dtype(divisor)
        multiples = [Fraction(i, 8) for i in range(-40, 41)]
        quotients = {float(dtype(float(multiple)) / divided) for multiple in multiples}
        around = {float(np.nextafter(dtype(q), dtype(side))) for q in quotients for side in (-np.inf, np.inf)}
        cuts = (-most / 2, *sorted(quotients | around), most / 2)
        model = summed([[[0.125], [1.0]]], (0.0,), dtype=numbers, divisor=divisor, cuts=cuts)
        assert model.error == 0
        for cut, reach in zip(cuts, model.reach, strict=True):
            does = [multiple for multiple in multiples if float(dtype(float(multiple)) / divided) >= cut]
            assert [multiple for multiple in multiples if multiple >= reach] == does
            assert (reach / Fraction(1, 8)).denominator == 1
        third = float(dtype(1 / 3))
        rounding = summed(
            [[[third], [1.0]], [[third], [most / 2**20]]], (0.0,), dtype=numbers, divisor=divisor, cuts=cuts
        )
        assert rounding.error > 0
        for cut, reach in zip(cuts, rounding.reach, strict=True):
            assert reach == Fraction(cut) * Fraction(float(divided))
        for multiple in multiples:
            assert all(
                abs(Fraction(float(multiple)) - reach) < rounding.error
                for cut, reach in zip(cuts, rounding.reach, strict=True)
                if (float(dtype(float(multiple)) / divided) >= cut) != (multiple >= reach)
            )

    @pytest.mark.parametrize("numbers", ["float32", "float64"])
    def test_close_to_each_other_go_through_a_softmax(self, numbers):
        """A class before the largest wins where its share is rounded to the same."""
        unit = 2.0 ** (-24 if numbers == "float32" else -53)
        followed = by_rounding = 0
        for closeness, far in itertools.product((0, 1 / 4, 1 / 2, 1, 2, 4, 8, 16, 17, 2**20), (-5.0, 0.0, -unit / 2)):
            for totals in ([-closeness * unit, far, 0.0], [far, -closeness * unit, 0.0], [0.0, far, closeness * unit]):
                sums = Sums((0.0, 0.0, 0.0), numbers, softmax=True)
                forest = build_forest([leaf(totals)], columns=["a"], classes=[0, 1, 2], vote="sum", sums=sums)
                try:
                    label = Model(forest_to_json(forest)).label([0.0])
                except CheckError:
                    assert numbers == "float32"
                    continue
                assert label == forest.predict_index([[0.0]])[0]
                followed += 1
                by_rounding += label != totals.index(max(totals))
        assert followed > 50
        assert by_rounding > 2

    def test_go_through_sigmoids(self):
        """A class before the largest wins where its sigmoid is rounded to the same, also far from 0."""
        by_rounding = 0
        for top, closeness in itertools.product((0.0, 1.0, 20.0, 31.0, 40.0, 800.0, -800.0), (1e-16, 1e-9, 0.01, 1.0)):
            for totals in ([top - closeness, -5.0, top], [-5.0, top, top + closeness]):
                sums = Sums((0.0, 0.0, 0.0), sigmoid=0.9)
                forest = build_forest([leaf(totals)], columns=["a"], classes=[0, 1, 2], vote="sum", sums=sums)
                label = Model(forest_to_json(forest)).label([0.0])
                assert label == forest.predict_index([[0.0]])[0]
                by_rounding += label != totals.index(max(totals))
        assert by_rounding > 5

    def test_reach_the_cuts_that_they_equal(self):
        model = summed([[[0.0], [1.0]]], (0.5,), cuts=(1.0, 2.0), divisor=0.5)
        assert [model.decide([[value]]) for value in (-0.5, 0.0, 0.25, 0.5, 1.0)] == [0, 1, 1, 2, 2]

    def test_are_compared_as_they_are_without_a_softmax(self):
        model = summed([[[0.0, 0.0], [1.0, 1.0]]], (0.0, 0.0))
        assert model.decide([[0.0, 2.0**-54]]) == 1
        assert model.decide([[2.0**-54, 2.0**-54]]) == 0


def numeric(uppers: list[float], *, lowest: float = -MOST, whole: bool = False, missing: int | None = None) -> Feature:
    return Feature("a", [0], uppers, lowest, whole, missing, numbers="float32")


class TestFeatures:
    def test_go_left_cell_by_cell(self):
        """All values of a cell go as the cell does, whatever is declared."""
        values = [-MOST, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, MOST]
        tried = 0
        for (first, second), goes_missing in itertools.product(itertools.combinations(values, 2), ("yes", "no")):
            tree = split("a", first, split("a", second, 0, 1), 1, missing=goes_missing)
            forest = build_forest([tree], columns=[Column("a", missing="expected")], classes=[0, 1])
            model = Model(forest_to_json(forest))
            for low, high in itertools.combinations_with_replacement(values[::2], 2):
                for whole, missing, cut in itertools.product(([], [0]), (None, 0, 1), ([], ["0x1.8p-1"])):
                    declared = {"bounds": {"0": [low.hex(), high.hex()]}, "whole": whole, "cuts": {"0": cut}}
                    space = Space(model, declared | ({} if missing is None else {"missing": {"0": missing}}))
                    (feature,) = space.features
                    inside = [v for v in [*values, 0.75, 0.8] if low <= v <= high and (not whole or v == math.floor(v))]
                    for value in [*inside, *([] if missing is None else [math.nan])]:
                        cell = feature.cell([value])
                        assert 0 <= cell < feature.n_cells
                        for node in (0, 1):
                            assert model.goes_left(node, value) == space.left_cells[node] >> cell & 1
                            tried += 1
                    assert len({feature.cell([v]) for v in inside}) <= len(feature.uppers)
        assert tried > 10_000

    def test_have_no_values_outside_the_space(self):
        feature = numeric([1.0, 5.0], lowest=-2.0, whole=True)
        assert [feature.cell([value]) for value in (-2.0, 1.0, 2.0, 5.0)] == [0, 0, 1, 1]
        for value in (-3.0, 6.0, 0.5, math.nan):
            with pytest.raises(CheckError, match="which is not in the space"):
                feature.cell([value])
        assert numeric([1.0]).cell([0.5]) == 0
        assert (numeric([1.0]).all, numeric([1.0, 5.0], missing=2).all) == (0b1, 0b111)

    @pytest.mark.parametrize(
        ("feature", "cells", "text"),
        [
            (numeric([1.0, 2.0, MOST]), 0b001, "a <= 1"),
            (numeric([1.0, 2.0, MOST]), 0b010, "1.0000001 <= a <= 2"),
            (numeric([1.0, 2.0, MOST]), 0b011, "a <= 2"),
            (numeric([1.0, 2.0, MOST]), 0b100, "a >= 2.0000002"),
            (numeric([1.0, 2.0, MOST]), 0b110, "a >= 1.0000001"),
            (numeric([1.0, 2.0, MOST]), 0b101, "a <= 1 or a >= 2.0000002"),
            (numeric([1.0, 2.0, MOST]), 0b111, "a is any number"),
            (numeric([1.0, 2.0, 3.0, 4.0], lowest=0.0), 0b1101, "0 <= a <= 1 or 2.0000002 <= a <= 4"),
            (numeric([1.0, MOST], missing=2), 0b101, "a <= 1 or a is missing"),
            (numeric([1.0, MOST], missing=2), 0b011, "a is any number"),
            (numeric([1.0, MOST], missing=2), 0b111, "a is any number or a is missing"),
            (numeric([1.0, MOST], missing=2), 0b110, "a >= 1.0000001 or a is missing"),
            (numeric([1.0, MOST], missing=0), 0b011, "a <= 1 or a is missing"),
            (numeric([1.0, MOST], missing=0), 0b100, "a >= 1.0000001"),
            (numeric([1.0, MOST], missing=0), 0b001, "a is missing"),
            (numeric([MOST], missing=1), 0b01, "a is any number"),
            (
                Feature("c", [0], points=[[0.0], [1.0], [2.0]], labels=["x", "y", "z"]),
                0b101,
                "c is x or z",
            ),
        ],
    )
    def test_say_which_cells_are_meant(self, feature, cells, text):
        assert checker.condition(feature, cells) == text

    @pytest.mark.parametrize(
        ("declared", "words"),
        [
            ({"missing": {"0": 1}}, []),
            ({}, ["a: not missing"]),
            ({"missing": {"0": 1}, "bounds": {"0": ["0x0p+0", MOST.hex()]}}, ["a: only from 0 to 3.4028235e+38"]),
            ({"missing": {"0": 1}, "bounds": {"0": [(-MOST).hex(), "0x1p+1"]}}, ["a: only from -3.4028235e+38 to 2"]),
            ({"missing": {"0": 1}, "whole": [0]}, ["a: only whole numbers"]),
            ({"missing": {"0": 1}, "values": {"1": [1, 1]}}, ["c: only y"]),
            ({"missing": {"0": 0}, "values": {"1": [0, 1]}}, []),
            ({"missing": {"0": 0}, "values": {"2": [0, 1]}}, ["e: not rest"]),
            ({"missing": {"0": 0}, "values": {"2": [0, 0]}}, ["e: only p"]),
            ({"missing": {"0": 0}, "values": {"2": [1, 2]}}, ["e: only q or rest"]),
        ],
    )
    def test_say_how_they_are_narrower_than_the_model(self, declared, words):
        columns = [
            Column("a", missing="possible"),
            Column("c", ("x", "y")),
            Column("e", ("p", "q", "rest"), other="rest"),
        ]
        model = Model(forest_to_json(build_forest([0], columns=columns, classes=[0, 1])))
        assert checker.declared(Space(model, declared)) == words

    def test_begin_with_the_next_whole_number_that_the_model_reads(self):
        assert numeric([1.0, 3.0], lowest=0.0, whole=True).ranges(0b10) == [(2.0, 3.0)]
        assert numeric([2.0**25, MOST], whole=True).ranges(0b10) == [(2.0**25 + 4, MOST)]

    def test_all_can_be_declared_at_once(self):
        columns = [Column("a", missing="possible"), "b", "c", Column("d", ("x", "y"))]
        model = Model(forest_to_json(build_forest([split("a", 0, 0, 1)], columns=columns, classes=[0, 1])))
        declared = {"one_hot": [[1, 2]], "whole": [0], "bounds": {"0": ["-0x1p+1", "0x1p+1"]}, "values": {"2": [1, 1]}}
        declared |= {"missing": {"0": 3}, "cuts": {"0": ["0x1p+0"]}, "clauses": [[[0, [0, 1]], [1, [0, 0]]]]}
        assert set(declared) == checker.SPACE_KEYS
        a, one, d = Space(model, declared).features
        assert (a.uppers, a.lowest, a.whole, a.missing) == ([0.0, 1.0, 2.0], -2.0, True, 3)
        assert (one.points, d.labels) == ([[1.0, 0.0], [0.0, 1.0]], ["y"])

    def test_columns_of_which_one_is_1_come_once_each(self):
        columns = ["a", "b", "d", Column("c", ("x", "y"))]
        model = Model(forest_to_json(build_forest([split("a", 0, 0, 1)], columns=columns, classes=[0, 1])))
        assert [feature.name for feature in Space(model, {"one_hot": [[0, 2]]}).features] == ["a/d", "b", "c"]
        for groups in ([[0, 0]], [[1, 0]], [[]], [[0, 1], [1, 2]], [[0, 1], [0, 1]], [[2, 3]], [[0, 1, 1]]):
            with pytest.raises(CheckError, match="must ascend, be of numbers, and belong together once"):
                Space(model, {"one_hot": groups})

    def test_the_place_of_missing_values_is_one_of_the_cells(self):
        columns = [Column("a", missing="possible"), "b", Column("c", ("x", "y"))]
        forest = build_forest([split("b", 0, 0, isin("c", ["x"], 0, 1))], columns=columns, classes=[0, 1])
        document, model = certificate(forest, [0, 1, "y"], missing="all")
        assert document["space"] == {"missing": {"0": 1}}
        check(document, model)
        check(with_value(document, ("space", "missing", "0"), 0), model)
        for place in (True, 2, -1, 0.0, None):
            rejected(document, model, "must be the missing one", (("space", "missing", "0"), place))
        rejected(document, model, "b cannot be missing", (("space", "missing"), {"1": 0}))
        rejected(document, model, "c has values, not numbers", (("space", "missing"), {"2": 0}))


class TestCertificates:
    def test_every_value_at_every_split_counts_as_work(self):
        values = [f"v{i}" for i in range(1000)]
        for first in (["c", "b"], ["b", "c"]):
            columns = [Column("c", tuple(values)) if name == "c" else name for name in first]
            trees = [isin("c", [value], 0, 1) for value in values[:10]]
            model = Model(forest_to_json(build_forest(trees, columns=columns, classes=[0, 1])))
            work = checker.Budget(10**6)
            space = Space(model, {}, work)
            assert 10_000 < 10**6 - work.left < 20_000
            assert space.values == 1001 + 1  # that the cells of a row are looked up among

    def test_the_longest_path_of_an_input_is_what_a_row_costs(self):
        trees = [split("a", 0, 0, split("b", 0, split("a", 1, 0, 1), 1)), leaf([0.0, 1.0]), split("b", 1, 0, 1)]
        model = Model(forest_to_json(build_forest(trees, columns=["a", "b"], classes=[0, 1])))
        assert model.path == 3 + (3 + 0 + 1)

    def test_long_messages_are_cut_short(self):
        assert str(CheckError("x" * checker.LONGEST)) == "x" * checker.LONGEST
        assert str(CheckError("x" * checker.LONGEST + "y")) == "x" * checker.LONGEST + " ..."

    def test_a_model_that_takes_all_the_budget_is_still_said_to_be_wrong(self):
        with pytest.raises(checker.ModelError, match="must be the JSON of a treeproof Forest"):
            Model("{}", checker.Budget(2))
        with pytest.raises(CheckError, match="takes more than 1 steps") as problem:
            Model("{}", checker.Budget(1))
        assert not isinstance(problem.value, checker.ModelError)

    def test_of_a_group_those_that_move_are_shown(self):
        forest = build_forest([split("a", 0, 0, split("b", 0, 0, 1))], columns=["a", "b", "c"], classes=[0, 1])
        checked = tp.Explainer(forest, groups={"g": ["b", "c"]}).contrastive([1, 1, 0]).certificate().check()
        assert checked.text.startswith("a change of g alone gives the label 0")
        assert checked.conditions == ["b: 1 -> 0"]

    def test_cells_are_named_once_each(self, stump):
        document, model = stump
        for cells in ([0, 0, 0, 0], [1, 0], [], [0, 1, 1, 1], [0], [0, 0, 1]):
            rejected(document, model, "Cells of feature 0 must ascend", (("box", "0"), cells))
        for cells in ([-1, 0], [0, 2], [True, True], (0, 0), [0.0, 0.0]):
            rejected(document, model, "Cells of feature 0 must be whole numbers from 0 to 1", (("box", "0"), cells))
        three = with_value(document, ("space", "cuts"), {"1": ["0x0p+0", "0x1p+0"]})
        rejected(three, model, "Cells of feature 1 must ascend", (("box", "1"), [0, 0, 2, 1]))
        assert "b <= 0 or b >= 1.0000001" in checker.condition(Space(model, three["space"]).features[1], 0b101)

    def test_features_are_named_by_whole_numbers(self, stump):
        document, model = stump
        for f in (True, 2, -1, 0.0):
            rejected(document, model, f"There is no feature {f}", (("space", "clauses"), [[[f, [0, 0]]]]))
        rejected(document, model, "Keys must be indices of features", (("box",), {"0": [0, 0], "01": [0, 0]}))
        rejected(document, model, "There is no feature 2", (("box",), {"2": [0, 0]}))

    def test_the_instance_keeps_every_condition(self, both):
        document, model = both
        assert document["box"] == {"0": [1, 1], "1": [1, 1]}
        rejected(document, model, "The instance leaves the range of features", (("box", "1"), [0, 0]))
        rejected(document, model, "The instance leaves the range of features", (("box", "0"), [0, 0]))

    def test_every_rule_is_kept_by_every_input(self, both):
        document, model = both
        kept = [[[0, [1, 1]], [1, [1, 1]]], [[0, [1, 1]]]]
        rejected(document, model, "The witness of feature 0 violates a constraint", (("space", "clauses"), kept))
        broken = [[[0, [1, 1]]], [[1, [0, 0]], [0, [0, 0]]]]
        rejected(document, model, "The instance violates a constraint", (("space", "clauses"), broken))
        weaker = {**document, "claim": "sufficient", "witnesses": {}}
        assert check({**weaker, "space": {"clauses": [[[0, [0, 0]], [1, [1, 1]]]]}}, model).space == [
            "always a <= 0 or b >= 1e-45"
        ]

    def test_rules_close_boxes_in_which_no_part_of_them_holds(self, stump):
        document, model = stump
        ruled = [(("space", "clauses"), [[[0, [0, 0]], [1, [0, 0]]]]), (("box",), {}), (("witnesses",), {})]
        for closed in ((BROKEN, 0), (ORDERED, 0, 0, 0, EVALUATED, BROKEN, 0)):
            rejected(document, model, "not violated in a whole box", *ruled, steps(RIVAL, 1, *closed))
        for rule in (-1, 1):
            rejected(document, model, "a constraint that does not exist", *ruled, steps(RIVAL, 1, BROKEN, rule))

    def test_only_what_is_minimal_is_said_to_be(self, stump, both):
        document, model = stump
        assert check(document, model).text == "a forces the label 0; it cannot be dropped"
        weaker = {**document, "claim": "sufficient", "witnesses": {}}
        assert str(check(weaker, model)).startswith(
            "Checked: a forces the label 0 (1 closed box).\n  a <= 0.5\nRow: a = "
        )
        document, model = both
        assert str(check(document, model)).startswith("Checked: a, b force the label 1; none of them can be dropped (")
        forest = build_forest([0], columns=["a", "b"], classes=[0, 1])
        document, model = certificate(forest, [0, 0], bounds={"a": (0, 1), "b": (0, 1)})
        found = check(document, model)
        assert found.text == "every input has the label 0"
        assert found.space == ["every feature: only from 0 to 1"]
        document, model = certificate(forest, [0, 0], bounds={"b": (0, 1)})
        assert check(document, model).space == ["b: only from 0 to 1"]
        document, model = certificate(build_forest([0], columns=["a"], classes=[0]), [0], bounds={"a": (0, 1)})
        assert check(document, model).space == ["a: only from 0 to 1"]

    def test_a_change_keeps_the_other_columns_also_where_they_are_missing(self):
        columns = [Column("a", missing="possible"), Column("b", missing="possible")]
        forest = build_forest([split("a", 0, 0, 1)], columns=columns, classes=[0, 1])
        document, model = certificate(forest, [0, math.nan], "contrastive", missing="all")
        assert document["changed"] == [0]
        assert set(document["witness"]) == {"0"}
        assert "a: 0 -> " in str(check(document, model))
        rejected(document, model, "changes other features", (("witness", "1"), "0x0p+0"))
        document, model = certificate(forest, [0, 0], "contrastive", missing="all")
        rejected(document, model, "changes other features", (("witness", "1"), None))
        rejected(document, model, "changes other features", (("witness", "1"), "0x1p+0"))

    def test_a_change_of_more_than_it_takes_is_none(self):
        forest = build_forest([split("a", 0.5, 0, 1)], columns=["a", "b"], classes=[0, 1])
        document, model = certificate(forest, [0, 0], "contrastive")
        found = check(document, model)
        assert (found.leaves, found.text) == (
            1,
            "a change of a alone gives the label 1",
        )
        more = {"0": document["proofs"]["0"], "1": steps(RIVAL, 1, EVALUATED)[1]}
        for changed in ([0, 1], [1, 0]):
            rejected(document, model, "leave every tree one value", (("changed",), changed), (("proofs",), more))

    def test_a_change_is_proved_with_the_values_that_are_kept(self):
        """Each of a and b alone would do, so a change of both is not minimal; c decides first, and is kept."""
        tree = split("c", 0, 0, split("a", 0, 0, split("b", 0, 0, 1)))
        forest = build_forest([tree], columns=["a", "b", "c"], classes=[0, 1])
        document, model = certificate(forest, [1, 1, 1], "contrastive")
        _, proof = steps(RIVAL, 0, PRICES, 0, 1, 0)
        both = [(("changed",), [0, 1]), (("witness",), {"0": "0x0p+0", "1": "0x0p+0"})]
        both += [(("proofs",), {"0": proof, "1": proof})]
        rejected(document, model, "A bound does not exclude class 0", *both)

    def test_a_change_of_several_says_so(self):
        forest = build_forest([split("a", 0, 0, split("b", 0, 0, 1))], columns=["a", "b"], classes=[0, 1])
        document, model = certificate(forest, [0, 0], "contrastive")
        assert check(document, model).text == (
            "a change of a, b alone gives the label 1; a change of fewer of them alone does not give another label"
        )
        for_that_label = check(with_value(document, ("target",), 1), model)
        assert for_that_label.text.endswith("; a change of fewer of them alone does not give that label")
        for target in ("1", 0, 2, -1, True):
            rejected(document, model, "must be another class, or null", (("target",), target))

    def test_inputs_are_finite_numbers_of_the_model(self, stump):
        document, model = stump
        for value, match in [("inf", "not a finite float32"), ((0.1).hex(), "not a finite float32"), (None, "missing")]:
            rejected(document, model, match, (("instance", 0), value))
            rejected(document, model, match, (("witnesses", "0", "0"), value))


class TestProofs:
    def test_have_known_parts(self, stump):
        document, model = stump
        rejected(document, model, "a unit, steps and tables", (("proof", "more"), 0))
        for unit in (-2200, 2200):
            check(with_value(document, ("proof", "unit"), unit), model)
        for unit in (-2201, 2201, True, 0.0):
            rejected(document, model, "The unit of prices", (("proof", "unit"), unit))

    def test_have_prices_of_splits(self, stump):
        document, model = stump
        for table in ([1, 1, 1], [3, 1, 1], [0, 1, 1, 0, 1, 1], [0, 1, 1, 2, 1, 1]):
            rejected(document, model, "must be those of splits", steps(RIVAL, 1, PRICES, 1, 0, 0, tables=[table]))
        rejected(document, model, "is damaged", steps(RIVAL, 1, EVALUATED, tables=[[0, 1]]))
        rejected(document, model, "Prices and their nodes must be", steps(RIVAL, 1, EVALUATED, tables=[[0, 1, 2**63]]))
        check(with_value(document, *steps(RIVAL, 1, PRICES, 1, 0, 0, tables=[[0, 0, 2**63 - 1]])), model)

    def test_have_steps_that_say_what_they_are_about(self, stump):
        document, model = stump
        for given, match in [
            ((EVALUATED, 1, EVALUATED), "must name the class"),
            ((RIVAL, -1, EVALUATED), "must name the class"),
            ((RIVAL, 2, EVALUATED), "must name the class"),
            ((RIVAL, 1, PRICES, 1, 0, -1), "must compare"),
            ((RIVAL, 1, PRICES, 1, 0, 1), "must compare"),
            ((RIVAL, 1, PRICES, 1, -1, 0), "must compare"),
            ((RIVAL, 1, PRICES, 1, 2, 0), "must compare"),
            ((RIVAL, 1, PRICES, 0, 1, 0), "must compare"),
            ((RIVAL, 1, PRICES, 1, 1, 0), "must compare"),
            ((RIVAL, 1, ORDERED, -1, 0, 0, EVALUATED, EVALUATED), "on one of the features"),
            ((RIVAL, 1, ORDERED, 2, 0, 0, EVALUATED, EVALUATED), "on one of the features"),
            ((RIVAL, 1, ORDERED, 0, -1, 0, EVALUATED, EVALUATED), "at one of the cells"),
            ((RIVAL, 1, ORDERED, 0, 0, 2, EVALUATED, EVALUATED), "at one of the cells"),
            ((RIVAL, 1, ORDERED, 0, 1, 0, EVALUATED, EVALUATED), "at one of the cells"),
            ((RIVAL, 1, RIVAL), "Unknown step"),
        ]:
            rejected(document, model, match, steps(*given))
        check(with_value(document, *steps(RIVAL, 1, EVALUATED)), model)
        empty = [(("box",), {}), (("witnesses",), {})]
        rejected(document, model, "leave every tree one value", *empty, steps(RIVAL, 1, EVALUATED))
        both = steps(RIVAL, 1, ORDERED, 0, 0, 0, EVALUATED, EVALUATED)
        rejected(document, model, "values left in a box give the label 1", *empty, both)

    def test_list_no_more_points_than_they_may(self, both, monkeypatch):
        document, model = both
        listed = with_value(document, *steps(RIVAL, 0, checker.LISTED))
        monkeypatch.setattr(checker, "MOST_POINTS", 1)
        assert check(listed, model).leaves == 1
        monkeypatch.setattr(checker, "MOST_POINTS", 0)
        rejected(listed, model, "A box has too many points to be listed")

    def test_split_at_the_cells_they_name(self):
        colours = tuple(f"c{i:02}" for i in range(70))
        columns = ["a", Column("c", colours)]
        trees = [split("a", i, 0, 1) for i in range(4)]
        trees += [isin("c", [colours[1], colours[40], colours[69]], 0, 1)]
        forest = build_forest(trees, columns=columns, classes=[0, 1])
        document, model = certificate(forest, [0, "c00"])
        space = Space(model, document["space"])
        assert [feature.n_cells for feature in space.features] == [5, 70]
        assert [mask for mask in space.left_cells if mask] == [1, 3, 7, 15, 1 << 1 | 1 << 40 | 1 << 69]

        def read_split(*given: int) -> tuple[int, int]:
            return Proof(space, steps(*given)[1]).read_split(SET if len(given) > 3 else ORDERED)

        for low, high in itertools.combinations_with_replacement(range(5), 2):
            assert read_split(0, low, high) == (0, sum(1 << c for c in range(low, high + 1)))
        assert read_split(1, 2, 1 << 8, 1 << 5, 0) == (1, 1 << 1 | 1 << 40 | 1 << 69)
        assert read_split(1, -(2**31), -1, 0, 0) == (1, 1 << 31 | (2**32 - 1) << 32)
        with pytest.raises(CheckError, match="ends too early"):
            read_split(1, 2, 1, 0)

    def test_least_leads(self):
        """An equal lead is enough for the first class only; a step more is needed by the others."""

        def least(forest: Forest, winner: int, loser: int) -> Fraction | None:
            return Model(forest_to_json(forest)).least_lead(winner, loser)

        for n_classes, n_trees, vote in itertools.product((2, 3), (3, 4), ("majority", "mean")):
            trees = [split("a", 0, 0, 1)] * n_trees
            forest = build_forest(trees, columns=["a"], classes=list(range(n_classes)), vote=vote)
            even = n_classes == 2  # then the lead has the parity of the number of trees
            for winner, loser in itertools.permutations(range(n_classes), 2):
                lead = 0 if winner < loser else 1
                expected = next(lead for lead in (lead, lead + 1) if not even or lead % 2 == n_trees % 2)
                assert least(forest, winner, loser) == expected
        for wide in (0.75, 0.7):
            trees = [split("a", 0, leaf([0.25, 0.5, 0.0]), leaf([wide, 0.0, 1.0]))]
            sums = Sums((0.5, 2.0, -1.0), "float64")
            forest = build_forest(trees, columns=["a"], classes=[0, 1, 2], vote="sum", sums=sums)
            error = Model(forest_to_json(forest)).error
            assert (error == 0) == (wide == 0.75)
            for winner, loser in itertools.permutations(range(3), 2):
                lead = Fraction(sums.start[loser]) - Fraction(sums.start[winner])
                expected = lead - error if error else lead if winner < loser else lead + Fraction(1, 4)
                assert least(forest, winner, loser) == expected
            cuts = (-0.3, 0.5, 1.1)
            sums = Sums((0.25,), "float64", cuts=cuts)
            trees = [split("a", 0, leaf([0.25]), leaf([wide]))]
            forest = build_forest(trees, columns=["a"], classes=[0, 1, 2, 3], vote="sum", sums=sums)
            error = Model(forest_to_json(forest)).error
            for winner, loser in itertools.permutations(range(4), 2):
                up, times = winner > loser, abs(winner - loser)
                cut = Fraction(cuts[min(winner, winner - up)]) - Fraction(1, 4)
                stepped = Fraction(math.ceil(cut * 4), 4)
                exactly = stepped if up else Fraction(1, 4) - stepped
                rounded = (cut if up else -cut) - error
                assert least(forest, winner, loser) == times * (rounded if error else exactly)
        big = LARGEST["float64"]
        trees = [split("a", 0, leaf([big, 0.0]), leaf([0.0, big]))] * 2
        forest = build_forest(trees, columns=["a"], classes=[0, 1], vote="sum", sums=Sums((0.0, 0.0)))
        assert least(forest, 0, 1) is None

    def test_the_most_that_a_cell_earns(self):
        rng = np.random.default_rng(0)
        for _ in range(300):
            n = int(rng.integers(1, 7))
            splits = []
            for _ in range(rng.integers(0, 5)):
                left = (1 << int(rng.integers(0, n + 1))) - 1 if rng.random() < 0.6 else int(rng.integers(0, 1 << n))
                splits.append(Priced(left, *rng.integers(0, 9, 2).tolist()))
            cells = int(rng.integers(1, 1 << n))
            expected = max(
                sum(alpha if left >> c & 1 else beta for left, alpha, beta in splits)
                for c in range(n)
                if cells >> c & 1
            )
            budget = checker.Budget(1000)
            assert checker.most_earned(cells, splits, budget) == expected
            changes = [(left ^ left << 1) >> c & 1 for left, _, _ in splits for c in range(cells.bit_length())]
            assert 1000 - budget.left == cells.bit_length() + sum(changes)

    def test_a_bound_is_what_it_says(self):
        """The bound of a box, by its formula, is compared with what is needed: just so much, and just too little."""
        rng = np.random.default_rng(1)
        results = set()
        for seed in range(150):
            n_classes = int(rng.integers(2, 4))
            values = [-1.0, -0.5, 0.0, 0.25, 0.5, 1.0]
            if seed % 3 == 0:
                values += [0.1, 0.3]
            sums = Sums(tuple(rng.choice(values, n_classes).tolist()), "float64")

            def node(depth: int, values=values, n_classes=n_classes) -> Any:
                if depth == 0 or rng.random() < 0.2:
                    return leaf(rng.choice(values, n_classes).tolist())
                below = node(depth - 1), node(depth - 1)
                return split(str(rng.choice(["a", "b", "c"])), float(rng.integers(3)), *below)

            trees = [node(2) for _ in range(3)]
            forest = build_forest(trees, columns=["a", "b", "c"], classes=list(range(n_classes)), vote="sum", sums=sums)
            document, model = certificate(forest, [0, 0, 0])
            space = Space(model, document["space"])
            splits = [n for n, f in enumerate(space.owner) if f >= 0 and rng.random() < 0.8]
            prices = {n: rng.integers(0, 3, 2).tolist() for n in splits}
            table = [number for n, pair in prices.items() for number in (n, *pair)]
            unit = int(rng.integers(-3, 1))
            box = [int(rng.integers(1, 1 << feature.n_cells)) for feature in space.features]
            winner, loser = rng.permutation(n_classes)[:2].tolist()
            given = {"unit": unit, "steps": [RIVAL, winner, PRICES, winner, loser, 0], "tables": [table]}
            try:
                accepted = bool(Proof(space, given).check(list(box), {winner}))
            except CheckError:
                accepted = False
            assert accepted == falls_short(space, box, winner, loser, prices, Fraction(2) ** unit)
            results.add((accepted, model.error == 0))
        assert len(results) == 4


def falls_short(space: Space, box: list[int], winner: int, loser: int, prices: Any, unit: Fraction) -> bool:
    """Whether the bound of `checker.py` is too little: with every choice of leaves."""
    model = space.model

    def leaves(node: int, box: list[int], tree: range) -> Any:
        f = space.owner[node]
        if f < 0:
            paid = 0  # for every split of the tree at which all points of the box take one side
            for n in prices.keys() & set(tree):
                sides = {space.left_cells[n] >> c & 1 for c in range(64) if box[space.owner[n]] >> c & 1}
                paid += {(1,): prices[n][0], (0,): prices[n][1]}.get(tuple(sides), 0)
            yield Fraction(model.values[node][winner]) - Fraction(model.values[node][loser]) - paid * unit
            return
        left = space.left_cells[node]
        for child, cells in ((model.left[node], left), (model.right[node], ~left)):
            if box[f] & cells:
                yield from leaves(child, [*box[:f], box[f] & cells, *box[f + 1 :]], tree)

    earned = sum(
        max(
            sum(pair[0 if space.left_cells[n] >> c & 1 else 1] for n, pair in prices.items() if space.owner[n] == f)
            for c in range(feature.n_cells)
            if box[f] >> c & 1
        )
        for f, feature in enumerate(space.features)
    )
    start = Fraction(model.start[winner]) - Fraction(model.start[loser])
    assert model.error is not None
    least = -model.error if model.error else 0 if winner < loser else model.step
    chosen = itertools.product(*(set(leaves(root, box, range(root, end))) for root, end in model.trees))
    return all(start + sum(values) + earned * unit < least for values in chosen)


class TestFiles:
    def test_whole_numbers(self):
        assert checker._ints([0, 1], 0, 2, "Cells") == [0, 1]
        for given in ([2], [-1], [True], [0.0], (0,), [0, 2], [None], "0", {}):
            with pytest.raises(CheckError, match="Cells must be whole numbers from 0 to 1"):
                checker._ints(given, 0, 2, "Cells")

    def test_of_the_largest_size_are_read_and_longer_ones_are_not(self, tmp_path):
        path = tmp_path / "file.json"
        for compress in (bytes, gzip.compress):
            path.write_bytes(compress(b"[1, 22]"))
            assert read(path, 7 * checker.BYTE_STEPS) == [1, 22]
            assert read(path, math.inf) == [1, 22]
            path.write_bytes(compress(b"[1, 22] "))
            with pytest.raises(CheckError, match="too large"):
                read(path, 7 * checker.BYTE_STEPS)

    def test_of_which_a_part_is_as_large_as_may_be_are_not_read_in_part(self, tmp_path):
        path = tmp_path / "certificate.json"
        path.write_bytes(b"{}".ljust(2**20) + b"more")
        with pytest.raises(CheckError, match="The file is too large"):
            read(path, budget=checker.BYTE_STEPS * 2**20)

    @pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
    def test_are_arguments_of_the_program(self, stump, tmp_path, monkeypatch, capsys):
        forest = build_forest([split("a", 0.5, 0, 1)], columns=["a", "b"], classes=[0, 1])
        text = forest_to_json(forest)
        assert hashlib.sha256(text.encode()).hexdigest() == stump[0]["model"]
        (tmp_path / "model.json").write_text(text, encoding="utf-8")
        (tmp_path / "certificate.json").write_text(json.dumps(stump[0]), encoding="utf-8")
        monkeypatch.setattr(sys, "argv", ["check", str(tmp_path / "certificate.json"), str(tmp_path / "model.json")])
        with pytest.raises(SystemExit, match="0"):
            runpy.run_module("treeproof.checker", run_name="__main__")
        assert capsys.readouterr().out.startswith("Checked: a forces the label 0")


def test_rows_that_people_give():
    columns = ["a", Column("d", (1, "x"))]
    model = Model(forest_to_json(build_forest([split("a", 0, 0, 1)], columns=columns, classes=[0, 1])))
    assert checker._read_row(model, {"d": "x", "a": 0.1}) == [float(np.float32(0.1)), 1.0]
    assert checker._read_row(model, (2, 1)) == [2.0, 0.0]
    missing, _ = checker._read_row(model, [None, 1])
    assert math.isnan(missing)
    for row, reason in (
        *(({"a": 0}, "must have the model's columns"), ({"a": 0, "d": 1, "e": 2}, "must have the model's columns")),
        *(([0], "a value for each of the 2 columns"), ("ab", "a value for each of the 2 columns")),
        *(([0, "y"], "none of its categories"), ([0, True], "none of its categories")),
        *(([True, "x"], "must be a number"), (["1", "x"], "must be a number")),
    ):
        with pytest.raises(CheckError, match=reason):
            checker._read_row(model, row)


def test_what_a_pair_rounds_is_off_by_little():
    least = Fraction(2) ** -1022
    for value in (Fraction(0), Fraction(1, 3), -least, least * (1 - Fraction(1, 2**60)), Fraction(3, 2**1074)):
        assert abs(Fraction(checker._nearest(value)) - value) <= abs(value) / 2**53
    for value in (least / 3, Fraction(1, 2**1076), -Fraction(5, 2**1076)):
        with pytest.raises(CheckError, match="too small to be rounded"):
            checker._nearest(value)


class TestSets:
    def test_features_that_meet_some_sets_and_lack_a_part_of_others(self):
        rng = np.random.default_rng(0)
        found = set()
        for _ in range(400):
            n = int(rng.integers(1, 6))
            there, lacking = (rng.integers(rng.random() < 0.9, 1 << n, rng.integers(0, 5)).tolist() for _ in range(2))
            costs = rng.integers(1, 4, n).tolist()
            most = float(rng.integers(0, sum(costs) + 1)) if rng.random() < 0.7 else math.inf

            def cost(chosen: int, costs=costs) -> int:
                return sum(cost for f, cost in enumerate(costs) if chosen >> f & 1)

            expected = any(
                all(chosen & one for one in there) and all(one & ~chosen for one in lacking) and cost(chosen) <= most
                for chosen in range(1 << n)
            )
            assert checker.is_possible(there, lacking, costs, most, checker.Budget(10**5)) == expected
            found.add(expected)
        assert found == {True, False}

    def test_sets_without_any_smaller_one_inside(self):
        assert checker.minimal_sets([0b110, 0b010, 0b101, 0b010, 0b111]) == [0b010, 0b101]
        assert checker.minimal_sets([0b11, 0]) == [0]
        assert checker.minimal_sets([]) == []

    def test_work_is_counted(self):
        budget = checker.Budget(100)
        assert not checker.is_possible([0b1, 0b10], [0b100], [1] * 16, 1, budget)
        assert budget.left == 100 - (1 + 3 * 3)
        budget.spend(90)
        with pytest.raises(CheckError, match="takes more than 100 steps"):
            budget.spend(0.5)


def test_parts_of_a_box():
    box = [0b11, 0b101, 0b1]
    assert checker.within(box, 1, 0b100) == [0b11, 0b100, 0b1]
    assert checker.within(box, 1, ~0b100) == [0b11, 0b1, 0b1]
    assert checker.within(box, 1, 0b010) is None
    assert checker.within(None, 1, 0b111) is None


class TestTwoModels:
    def test_scores_with_other_divisors_and_starts_are_compared_once_divided(self):
        """The bound is that of the largest difference of means, and no smaller one is accepted."""

        def mean(start: float, divisor: float, *trees: tuple[float, float, float]) -> Forest:
            sums = Sums((start,), "float64", cuts=(0.5,), divisor=divisor)
            grown = [split("a", at, leaf([low]), leaf([high])) for at, low, high in trees]
            return build_forest(grown, columns=["a"], classes=[0, 1], vote="sum", sums=sums)

        old = mean(0.5, 2.0, (0, 0.0, 1.0), (1, 0.25, 0.5))
        new = mean(-0.25, 3.0, (0, 1.0, 0.5), (1, 0.0, 2.0), (2, 0.5, 0.0))
        scores = {-1: (0.75 / 2, 1.25 / 3), 1: (1.75 / 2, 0.75 / 3), 2: (2.0 / 2, 2.75 / 3), 3: (2.0 / 2, 2.25 / 3)}
        largest = max(abs(two - one) for one, two in scores.values())
        made = tp.differ(tp.Explainer(old), tp.Explainer(new)).certificate(of="score")
        models = [Model(forest_to_json(forest)) for forest in (old, new)]
        text = check(made.document, models[0], other=models[1]).text
        said = float(text.removeprefix("the score differs by less than ").partition(" ")[0])
        assert text == f"the score differs by less than {said} between the two models, for every input"
        assert largest < said < largest + 2e-6
        cut = float.fromhex(made.document["pair"]["cuts"][1]) * (1 - 1e-6)
        with pytest.raises(CheckError):
            check(with_value(made.document, ("pair", "cuts"), [(-cut).hex(), cut.hex()]), models[0], other=models[1])

    def test_of_which_one_rounds_inputs_to_float32_split_the_same_float64(self):
        thresholds = [0.0, 0.1, -0.1, 1.0, -1.0, 3e-39, -1e-45, 1e38, -MOST]
        for at in map(float, np.array(thresholds, dtype=np.float32)):
            widest = checker._widest(at)
            assert np.float32(widest) <= at < np.float32(np.nextafter(widest, math.inf))
        with pytest.raises(CheckError, match="A threshold is too large for a float32"):
            checker._widest(MOST)
        narrow = build_forest([split("a", 0.5, 0, 1)], columns=["a"], classes=[0, 1])
        single, double = (
            Model(json.dumps(with_value(source(narrow), ("numbers",), numbers))) for numbers in ("float32", "float64")
        )
        for models in ((single, double), (double, single)):
            sides = checker.sides_of(*models, [])
            assert [side.numbers for side in sides] == ["float64"] * 2
            assert [side.splits[0].threshold for side in sides] == [
                checker._widest(0.5) if model is single else 0.5 for model in models
            ]
        for model in (single, double):
            sides = checker.sides_of(model, model, [])
            assert {(side.numbers, side.splits[0].threshold) for side in sides} == {(model.numbers, 0.5)}

    def test_have_the_same_columns_and_categories(self):
        def made(*columns: Any) -> Model:
            return Model(forest_to_json(build_forest([split(columns[0], 0, 0, 1)], columns=columns, classes=[0, 1])))

        kinds = Column("b", ("x", "y")), Column("b", ("x", "z")), Column("c", ("x", "y"))
        model = made("a", kinds[0], kinds[2])
        about = {"format": "treeproof-certificate", "version": 2, "claim": "identical", "model": model.fingerprint}
        for other, reason in (
            (made("a", kinds[2], kinds[0]), None),
            (made("a", kinds[1], kinds[2]), "Both models must know the same categories"),
            (made("a", kinds[0]), "Both models must have the same columns"),
            (made("z", kinds[0], kinds[2]), "Both models must have the same columns"),
            (made("x0", Column("x1", ("x", "y")), Column("x2", ("x", "y"))), None),  # trained without names
            (made("x0", Column("x1", ("x", "y"))), "Both models must have the same columns"),
        ):
            document = {**about, "other": other.fingerprint}
            if reason is None:
                assert "both models have the same trees" in check(document, model, other=other).text
            else:
                with pytest.raises(CheckError, match=reason):
                    check(document, model, other=other)

    def test_that_know_other_labels_give_the_same_if_those_never_win(self):
        old = build_forest([split("a", 0, "no", "yes")], columns=["a"], classes=["no", "yes"])
        more = build_forest([split("a", 0, "no", "yes")], columns=["a"], classes=["no", "perhaps", "yes"])
        for one, two in ((old, more), (more, old)):
            made = tp.differ(tp.Explainer(one), tp.Explainer(two)).certificate()
            models = [Model(forest_to_json(forest)) for forest in (one, two)]
            said = check(made.document, models[0], other=models[1]).text
            assert said == "both models give the same label to every input"
        # Trees that are the same lie at different places of the two models.
        longer = build_forest(
            [split("a", 0, "no", split("b", 5, "yes", "yes")), split("a", 0, "no", "yes"), split("b", 1, "no", "yes")],
            columns=["a", "b"],
            classes=["no", "yes"],
        )
        shorter = build_forest(
            [split("a", 0, "no", "yes"), split("a", 0, "no", "yes"), split("b", 1, "no", "yes")],
            columns=["a", "b"],
            classes=["no", "yes"],
        )
        made = tp.differ(tp.Explainer(longer), tp.Explainer(shorter)).certificate()
        models = [Model(forest_to_json(forest)) for forest in (longer, shorter)]
        assert check(made.document, models[0], other=models[1]).leaves > 0
        for room in ("inf", "-0x1p+0", None):
            with pytest.raises(CheckError, match="The room of a pair must be a number"):
                check(with_value(made.document, ("pairs", 0, "pair", "room"), room), models[0], other=models[1])
        wins = build_forest([split("a", 0, "no", "perhaps")], columns=["a"], classes=["no", "perhaps", "yes"])
        model, other = (Model(forest_to_json(forest)) for forest in (old, wins))
        made = tp.differ(tp.Explainer(old), tp.Explainer(more)).certificate()
        about = {**made.document, "other": other.fingerprint}
        with pytest.raises(CheckError):
            check(about, model, other=other)


class TestModelsOfPairs:
    """At every pair of inputs, the sums of the pair's model are made of those of the model, or of both."""

    GRID = (-1.0, 0.5, 1.5, math.nan)

    def forest(self, seed: int, n_trees: int, divisor: float = 1.0, first: bool = False) -> Forest:
        rng = np.random.default_rng(seed)

        def grown(depth: int) -> Any:
            if depth == 0 or rng.random() < 0.2:
                return leaf([float(value) for value in rng.integers(-9, 9, 3)])
            column, at = ["a", "b", "d"][rng.integers(3)], float(rng.integers(2))
            if column == "d":
                return isin("d", ["x"], grown(depth - 1), grown(depth - 1))
            return split(column, at, grown(depth - 1), grown(depth - 1), missing=["yes", "no"][rng.integers(2)])

        columns = [Column("a", missing="possible"), Column("b"), Column("d", ("x", "y"))]
        sums = Sums((1.0, 0.0, -2.0), "float64", divisor=divisor)
        trees = [grown(3) for _ in range(n_trees)]
        if first:  # so that the same trees lie at other places
            trees[0] = leaf([5.0, 0.0, 1.0])
        return build_forest(trees, columns=columns, classes=[0, 1, 2], vote="sum", sums=sums)

    @staticmethod
    def sums(model: Model, row: tuple[float, ...]) -> list[Fraction]:
        found = [Fraction(value) for value in model.start]
        for node in model.roots:
            while model.feature[node] >= 0:
                left = model.goes_left(node, row[model.feature[node]])
                node = model.left[node] if left else model.right[node]
            found = [a + Fraction(b) for a, b in zip(found, model.values[node], strict=True)]
        return found

    def inputs(self, n: int) -> Any:
        """The columns a, b and d, and a once more for the second input of a pair."""
        grid = self.GRID
        return itertools.product(grid, grid[:3], (0.0, 1.0), *[grid] * (n - 3))

    def made(self, kind: Any, about: Document, model: Model, other: Model | None = None) -> tuple[Any, Model]:
        given = {"model": model.fingerprint, "pair": about} | ({"other": other.fingerprint} if other else {})
        pair = kind(given, model, other, checker.Budget(math.inf))
        return pair, Model(pair.document())

    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize("two", [False, True])
    def test_of_labels(self, seed, two):
        model = Model(forest_to_json(self.forest(seed, 4)))
        other = (
            Model(forest_to_json(self.forest(seed + 50 * (seed % 2), 3 + seed % 3, first=seed == 2))) if two else None
        )
        about = {"labels": [0, 2], "room": (0.5).hex()} | ({} if two else {"columns": [0]})
        _, made = self.made(checker.LabelPair, about, model, other)
        for row in self.inputs(3 if two else 4):
            one = self.sums(model, row[:3])
            second = self.sums(other, row) if other else self.sums(model, (row[3], *row[1:3]))
            leads = [one[0] - one[1], one[0] - one[2], second[2] - second[0], second[2] - second[1]]
            leads.append(one[0] - one[2] + second[2] - second[0])
            # Equal sums are enough for the class that comes first; otherwise it takes a step more.
            needed = [0, 0, 1, 1, 1]
            assert self.sums(made, row) == [
                0,
                *(n - Fraction(1, 2) - lead for n, lead in zip(needed, leads, strict=True)),
            ]

    def test_room_that_is_as_large_as_the_rounding_is_enough(self):
        about = {"labels": [0, 2], "room": (0.5).hex(), "columns": [0]}
        pair, _ = self.made(checker.LabelPair, about, Model(forest_to_json(self.forest(0, 4))))
        for rounding, enough in ((Fraction(1, 2), True), (Fraction(1, 2) + Fraction(1, 2**1100), False)):
            with mock.patch.object(pair, "proved", return_value=("claim", "reason", rounding)):
                if enough:
                    assert pair.check() == ("claim", "reason")
                else:
                    with pytest.raises(CheckError, match="The room of a pair is too small for its rounding"):
                        pair.check()

    def test_columns_differ_and_are_named_once(self):
        model = Model(forest_to_json(self.forest(0, 1)))
        for columns in ([], [0, 0], [3], [-1]):
            with pytest.raises(CheckError, match="Columns of a pair"):
                self.made(checker.LabelPair, {"labels": [0, 2], "room": "0x0p+0", "columns": columns}, model)

    def test_where_a_column_grows_leave_out_what_cannot_be(self):
        rising = build_forest(
            [split("a", 0, leaf([0.0]), leaf([1.0]))],
            columns=["a"],
            classes=[0, 1],
            vote="sum",
            sums=Sums((0.0,), cuts=(1,)),
        )
        for direction, expected in ((1, {-1.0, 0.0}), (-1, {0.0, 1.0}), (None, {-1.0, 0.0, 1.0})):
            about = {"columns": [0], "class": 0, "direction": direction, "cut": "0x1p+9"}
            pair, _ = self.made(checker.ScorePair, about, Model(forest_to_json(rising)))
            assert {node.values[0] for nodes in pair.trees for node in nodes} == expected

    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize("direction", [None, 1, -1])
    def test_of_a_score(self, seed, direction):
        model = Model(forest_to_json(self.forest(seed, 4)))
        about = {"columns": [0], "class": 1, "direction": direction, "cut": "0x1p+9"}
        _, made = self.made(checker.ScorePair, about, model)
        for row in self.inputs(4):
            if direction is None or row[0] < row[3]:
                change = self.sums(model, (row[3], *row[1:3]))[1] - self.sums(model, row[:3])[1]
                assert self.sums(made, row) == [change if direction is None else -direction * change]

    @pytest.mark.parametrize("seed", range(4))
    def test_of_the_scores_of_two_models(self, seed):
        model, other = (Model(forest_to_json(self.forest(seed + i, 3 + i, 2.0 + i))) for i in (0, seed % 2))
        about = {"classes": [1, 1], "cuts": ["-0x1p+9", "0x1p+9"]}
        pair, made = self.made(checker.ScoreGap, about, model, other)
        for row in self.inputs(3):
            one, two = (
                self.sums(model, row)[1] / Fraction(model.divisor),
                self.sums(other, row)[1] / Fraction(other.divisor),
            )
            assert self.sums(made, row) == [(two - one) * pair.divisor]


class TestWords:
    @pytest.mark.parametrize("name", ["age", "petal length (cm)", "x-1", "2nd", "orange", "a_b"])
    def test_names_that_are_plain_stay_as_they_are(self, name):
        assert checker._name(name) == name

    @pytest.mark.parametrize(
        "name",
        [
            "",
            " a",
            "a  b",
            "a\n",
            "a,b",
            "a;",
            'a"',
            "a: b",
            "a=b",
            "a<",
            ">",
            "a/b",
            "x or y",
            "and",
            "a is b",
            "if",
            "no x",
            "every",
            "always a",
            "a alone",
            "a changed",
            "the",
            "from",
            "not",
            "any number",
        ],
    )
    def test_names_that_could_be_something_else_are_quoted(self, name):
        assert checker._name(name) == json.dumps(name)

    def test_labels_that_could_be_something_else_are_quoted(self):
        for label in ("yes", "very good", "a-b", "a_1", "ja"):
            assert checker._printable(label) == label
        for label in (
            "1a",
            "a !",
            "a  b",
            "",
            "None",
            "true",
            "missing",
            "NaN",
            "x or y",
            "a,b",
            "-a",
            "a\n",
            "not-a",
            "a if b",
            "the",
            "any number",
            "from a",
            "no other than b",
        ):
            assert checker._printable(label) == json.dumps(label)
        assert [checker._printable(label) for label in (None, True, 1, 1.0)] == ["missing", "True", "1", "1.0"]

    @pytest.mark.parametrize(
        "pair",
        [
            ("\xe9", "e\u0301"),  # composed and decomposed
            ("ab", "\uff41b"),  # full-width
            ("file", "\ufb01le"),  # a ligature
            ("age", "\u0430ge"),  # Cyrillic
            ("o", "\u03bf"),  # Greek
            ("\u0410", "\u0391"),  # Cyrillic and Greek
            ("\u043e\u0301", "\xf3"),  # Cyrillic and decomposed
            ("a", "a\ufe0f"),  # with a letter that is not seen
            ("a", "a\u3164"),
            ("x-y", "x\u2013y"),
        ],
    )
    def test_names_that_look_alike_are_escaped(self, pair):
        expected = [name if name.isascii() else json.dumps(name) for name in pair]
        columns = [*pair, Column("c", (*pair, "other"))]
        forest = build_forest([isin("c", [pair[0]], pair[0], pair[1])], columns=columns, classes=list(pair))
        model = Model(forest_to_json(forest))
        assert model.names == expected
        assert model.column_names == [*expected, "c"]
        assert model.category_names == [[], [], [*expected, "other"]]
        why, without = (
            tp.Explainer(forest, **options).abductive([0, 0, pair[1]]).certificate().check()
            for options in ({}, {"bounds": {"c": pair}})
        )
        assert why.row == [f"{expected[0]} = 0", f"{expected[1]} = 0", f"c = {expected[1]}"]
        assert f"c forces the label {expected[1]}; it cannot be dropped (" in str(why)
        assert without.space == [f"c: only {' or '.join(expected)}"]

    def test_names_that_look_like_no_other_stay_as_they_are(self):
        names = ["e", "\xe9", "\u0432\u043e\u0437\u0440\u0430\u0441\u0442", "\u540d\u524d", "x\u2013y"]
        forest = build_forest([split("e", 0, 0, 1)], columns=names, classes=[0, 1])
        assert Model(forest_to_json(forest)).column_names == names
        assert [checker._printable(name) for name in names[:4]] == names[:4]

    def test_an_other_category_that_looks_like_a_known_one_is_escaped(self):
        column = Column("c", ("a", "\u0430"), other="\u0430")
        forest = build_forest([isin("c", ["a"], 0, 1)], columns=[column, "b"], classes=[0, 1])
        space = Space(Model(forest_to_json(forest)), {"values": {"0": [0, 0]}})
        assert checker.declared(space) == ['c: not "\\u0430"']

    def test_words_and_signs_in_other_letters_are_quoted(self):
        for name in ("a \u0430nd b", "x \uff1d y", "a \u2264 5", "\u3164", "a\u201a b"):
            assert checker._name(name) == f'"{name}"'
        for name in ("b\u201d is 1", "a\u2028"):
            assert checker._name(name) == json.dumps(name)
        for label in ("m\u0456ssing", "\uff54rue", "a \u043er b"):
            assert checker._printable(label) == f'"{label}"'

    def test_a_group_must_not_look_like_another_or_a_feature(self, both):
        document, model = both
        for names in (("\u0430", "g"), ("g", "\uff47")):
            groups = [{"name": name, "features": [f]} for f, name in enumerate(names)]
            rejected(document, model, "called as another group or a feature is", (("groups",), groups))

    def test_the_second_input_of_a_pair_is_told_from_a_column_that_is_called_so(self):
        columns = ["x", "x changed", "x changed'"]
        trees = [split("x", 0.5, 0, 1), split("x changed", 0.5, 0, 1)]
        forest = build_forest(trees, columns=columns, classes=[0, 1], vote="mean")
        bounds = {"x": (0, 1), "x changed": (0, 2), "x changed'": (0, 3)}
        checked = tp.Explainer(forest, bounds=bounds).effect(["x", "x changed"]).certificate().check()
        assert checked.space == [
            "x, x changed: only from 0 to 1",
            '"x changed", "x changed" changed: only from 0 to 2',
            "x changed': only from 0 to 3",
        ]

    def test_long_rows_and_many_cuts_are_cut_short(self):
        values = [f"x{i} = 0" for i in range(21)]
        assert checker.row_text(values[:20]) == ", ".join(values[:20])
        shown, _, rest = checker.row_text(values).rpartition(", ")
        whole = hashlib.sha256("\n".join(values).encode()).hexdigest()[:12]
        assert (shown, rest) == (", ".join(values[:20]), f"1 more (all: {whole})")
        for n, ends in ((20, "; 20 from 19.0"), (21, "; 20 from 19.0; 1 more cuts")):
            sums = Sums((0.0,), cuts=tuple(map(float, range(n))))
            forest = build_forest([leaf([0.0])], columns=["a"], classes=list(range(n + 1)), vote="sum", sums=sums)
            assert checker.rule(Model(forest_to_json(forest))).endswith(ends)

    def test_a_score_is_that_of_its_class(self):
        forest = build_forest([split("a", 0, "no", "yes")], columns=["a"], classes=["no", "yes"], vote="mean")
        for label in ("no", "yes"):
            said = str(tp.Explainer(forest).effect("a", of=label).certificate().check())
            assert f"no two inputs that differ in a alone differ in the score of {label} by" in said


class TestClaimsOfPairs:
    """Certificates by hand, the proof of which lists all points."""

    def model(self, divisor: float = 1.0, more: float = 0.0, low: float = 0.1, high: float = 0.3) -> Model:
        trees = [
            split("a", 0, leaf([0.5]), leaf([more])),
            split("b", 0, leaf([low]), leaf([high])),
            isin("d", ["x"], leaf([0.0]), leaf([0.25])),
        ]
        columns = ["a", "b", Column("d", ("x", "y"))]
        sums = Sums((0.0,), cuts=(1.0,), divisor=divisor)
        return Model(forest_to_json(build_forest(trees, columns=columns, classes=[0, 1], vote="sum", sums=sums)))

    def document(self, model: Model, pair: Document, rival: tuple[int, ...] = (1,), **more: Any) -> Document:
        n = len(model.columns) + len(pair.get("columns", ()))
        steps = [step for k in rival for step in (RIVAL, k, checker.LISTED)]
        return {
            **{"format": "treeproof-certificate", "version": 2, "model": model.fingerprint, "claim": "sufficient"},
            **{"space": {}, "instance": ["0x0p+0"] * n, "label": 0, "target": None, "pair": pair, "box": {}},
            **{"witnesses": {}, "wider": None, "minimum": None},
            "proof": {"unit": 0, "steps": steps, "tables": []},
            **more,
        }

    def score(self, columns: list[int], direction: Any = None, cut: float = 1.0) -> Document:
        return {"columns": columns, "class": 0, "direction": direction, "cut": cut.hex()}

    def test_say_what_the_rounding_leaves(self):
        model = self.model(3.0)
        for columns in ([0], [1], [0, 1]):
            document = self.document(model, self.score(columns))
            pair = checker.ScorePair(document, model, None, checker.Budget(math.inf))
            made = Model(pair.document())
            _, fact = pair.check()
            assert (made.error > 0) == (1 in columns)
            sizes = [{0: Fraction(1, 2), 1: Fraction(float(Fraction(0.3) - Fraction(0.1)))}[c] for c in columns]
            assert fact.below == (1 + model.error + made.error + sum(sizes) / 2**52) / 3
            assert "in the score by 0.333334 or more" in check(document, model).text
        exact = self.model(low=0.25, high=0.75)
        pair = checker.ScorePair(self.document(exact, self.score([0])), exact, None, checker.Budget(math.inf))
        assert exact.error == 0
        assert pair.check()[1].below == 1 + Fraction(1, 2**53)

    def test_of_two_models_say_what_the_rounding_leaves(self):
        one, exact = self.model(3.0), self.model(3.0, low=0.25, high=0.75)
        for models in ((one, self.model(2.0, 0.7)), (one, self.model(3.0, 0.7)), (one, exact), (exact, one)):
            pair = {"classes": [0, 0], "cuts": [(-9.0).hex(), (8.0).hex()]}
            document = {**self.document(models[0], pair, (0, 2), label=1), "other": models[1].fingerprint}
            gap = checker.ScoreGap(document, *models, checker.Budget(math.inf))
            made = Model(gap.document())
            _, fact = gap.check()
            times = (1, 1) if models[1].divisor == 3 else (2, 3)
            errors = [model.error * n for model, n in zip(models, times, strict=True)]
            sizes = sum(max(abs(Fraction(node.values[0])) for node in nodes) for nodes in gap.trees)
            assert fact.below == (9 + sum(errors) + made.error + sizes / 2**52) / (3 * times[0])
            for cuts in (["-inf", "0x1p+9"], ["0x1p+9"]):
                with pytest.raises(CheckError, match="A gap must have two finite bounds"):
                    check(with_value(document, ("pair", "cuts"), cuts), models[0], other=models[1])
            with pytest.raises(CheckError, match="Two models have two classes"):
                check(with_value(document, ("pair", "classes"), [0]), models[0], other=models[1])

    def test_never_at_all_is_said_only_if_no_tree_turns(self):
        model = self.model()
        falling = check(self.document(model, self.score([0], 1)), model).text
        assert falling == "the score never falls by 1.00001 or more when a grows and nothing else changes"
        rising = check(self.document(model, self.score([0], -1)), model).text
        assert rising == "the score never rises at all when a grows and nothing else changes"
        assert "never falls at all" in check(self.document(model, self.score([1], 1)), model).text

    def test_have_a_known_direction(self):
        model = self.model()
        for direction in (2, 0, True, 1.0, "1"):
            rejected(self.document(model, self.score([0], direction)), model, "A direction is 1 or -1")
        rejected(self.document(model, self.score([0, 1], 1)), model, "of one column")
        rejected(self.document(model, self.score([2], 1)), model, "Only numbers have a direction")
        for columns in ([0, 1], [2]):
            assert "differ in the score by" in check(self.document(model, self.score(columns)), model).text
        rejected(self.document(model, self.score([0], cut=math.inf)), model, "The bound of a pair must be finite")
        rejected(self.document(model, self.score([0], cut=0.25)), model, "A point of a listed box")

    def test_claim_their_own_label_of_both_inputs_alone(self):
        model = self.model()
        document = self.document(model, self.score([1]))
        for change in ((("claim",), "minimal"), (("target",), 1), (("label",), 1)):
            rejected(document, model, "A pair must claim its own label", change)
        for key in ("around", "groups"):
            rejected({**document, key: {}}, model, "neither ranges around it nor groups")
        # What is declared of b, the feature 1, and not of b changed, the feature 3, or of both in another way.
        for space in ({"clauses": [[[1, [0, 0]]]]}, {"whole": [1]}, {"bounds": {"1": ["-0x1p+0", "0x1p+0"]}}):
            rejected(document, model, "The same must be declared of both inputs", (("space",), space))
            grows = {**document, "pair": self.score([1], 1), "space": space}  # in one order only
            assert "when b grows" in check(grows, model).text
        rejected(document, model, "The same must be declared of both inputs", (("box",), {"1": [0, 0]}))
        gaps = {"columns": [Column("a", missing="possible")], "classes": [0, 1], **REGRESSION}
        gappy = Model(forest_to_json(build_forest([split("a", 0, leaf([0.1]), leaf([0.2]))], **gaps)))
        of_a = self.document(gappy, self.score([0]))
        for missing, alike in (({"0": 2}, False), ({"0": 2, "1": 0}, True), ({}, True)):
            if alike:
                assert check(with_value(of_a, ("space",), {"missing": missing}), gappy).leaves == 1
            else:
                match = "The same must be declared of both inputs"
                rejected(of_a, gappy, match, (("space",), {"missing": missing}))
        both = {"clauses": [[[1, [0, 0]]], [[3, [0, 0]]]]}
        assert check(with_value(document, ("space",), both), model).leaves == 1

    def test_of_scores_that_are_alike(self):
        def made(*classes: Any, vote: str = "mean") -> Model:
            trees = [split("a", 0, classes[0], classes[1])]
            return Model(forest_to_json(build_forest(trees, columns=["a"], classes=classes, vote=vote)))

        one, two, votes = made(0, 1), made(0, 2), made(0, 1, vote="majority")
        cut = build_forest([split("a", 0, leaf([0.0]), leaf([1.0]))], columns=["a"], classes=[0, 1], **REGRESSION)
        for other, classes, alike in (
            *((one, [0, 0], True), (one, [0, 1], False), (two, [0, 0], True), (two, [1, 1], False)),
            *((votes, [0, 0], False), (Model(forest_to_json(cut)), [0, 0], False)),
        ):
            pair = {"classes": classes, "cuts": ["-0x1p+1", "0x1p+1"]}
            document = {**self.document(one, pair, (0, 2), label=1), "other": other.fingerprint}
            if alike:
                assert "differs by less than" in check(document, one, other=other).text
            else:
                with pytest.raises(CheckError, match="Scores must be alike"):
                    check(document, one, other=other)

    def test_of_labels_have_a_proof_for_every_two(self):
        trees = [split("a", 0, split("b", 0, 0, 1), 2)]
        forest = build_forest(trees, columns=["a", "b", "c"], classes=[0, 1, 2])
        made = tp.Explainer(forest).independent(["c"]).certificate()
        document, model = made.document, Model(forest_to_json(forest))
        assert "no two inputs that differ in c alone have different labels" in check(document, model).text
        pairs = document["pairs"]
        for left_out in range(3):
            some = [pair for i, pair in enumerate(pairs) if i != left_out]
            rejected(document, model, "There must be a proof for every two labels", (("pairs",), some))
        rejected(document, model, "Unknown or missing fields", (("more",), 1))
        rejected(document, model, "Unknown claim about pairs", (("claim",), "same"))
        rejected(document, model, "Unknown claim about pairs", (("pairs",), []))
        rejected(document, model, "All pairs must differ in the same columns", (("pairs", 1, "pair", "columns"), [0]))
        pair = checker.LabelPair({**pairs[0], "model": model.fingerprint}, model, None, checker.Budget(math.inf))
        sizes = [max(abs(value) for node in nodes for value in node.values) for nodes in pair.trees]
        rounded = Fraction(sum(sizes) + max(map(abs, pair.start))) / 2**52
        assert pair.proved(None, 0)[2] == (Model(pair.document()).error or 0) + rounded > min(map(abs, pair.start))
        for labels in ([0, 1, 2], "01", [0]):
            rejected(document, model, "A pair has two labels", (("pairs", 0, "pair", "labels"), labels))
        nothing = (("pairs", 0, "pair", "room"), "0x0p+0")
        rejected(document, model, "The room of a pair is too small for its rounding", nothing)
        rejected(document, model, "The labels of a pair must differ", (("pairs", 0, "pair", "labels"), [1, 1]))
        rejected(document, model, "The version must be 2", (("pairs", 2, "version"), 3))
        two = build_forest([split("a", 0, 0, 1)], columns=["a", "b"], classes=[0, 1])
        made = tp.Explainer(two).independent(["b"]).certificate()
        assert len(made.document["pairs"]) == 1
        assert "no two inputs" in str(made.check())

    def test_of_labels_of_two_models_have_a_proof_for_every_two_in_both_orders(self):
        old = build_forest([split("a", 0, "no", "yes")], columns=["a"], classes=["no", "yes"])
        more = build_forest([split("a", 0, "no", "yes")] * 3 + ["no"], columns=["a"], classes=["no", "yes", "perhaps"])
        made = tp.differ(tp.Explainer(old), tp.Explainer(more)).certificate()
        models = [Model(forest_to_json(forest)) for forest in (old, more)]
        assert "both models give the same label" in check(made.document, models[0], other=models[1]).text
        pairs = made.document["pairs"]
        assert [pair["pair"]["labels"] for pair in pairs] == [[0, 1], [0, 2], [1, 0], [1, 2]]
        for left_out in range(4):
            some = [pair for i, pair in enumerate(pairs) if i != left_out]
            with pytest.raises(CheckError, match="There must be a proof for every two labels"):
                check({**made.document, "pairs": some}, models[0], other=models[1])

    def test_of_models_that_are_identical(self):
        trees = [split("a", 0, leaf([0.1]), leaf([0.2])), split("b", 0, leaf([0.1]), leaf([0.3]))]
        plain = source(build_forest(trees, columns=["a", "b"], classes=[0, 1], **REGRESSION))
        model = Model(json.dumps(plain))
        about = {"format": "treeproof-certificate", "version": 2, "claim": "identical", "model": model.fingerprint}

        def compared(*change: Any, **more: Any) -> Any:
            other = Model(json.dumps(with_value(plain, *change) if change else plain))
            return check({**about, "other": other.fingerprint, **more}, model, other=other)

        assert "both models have the same trees" in compared().text
        assert "both models have the same trees" in compared(("values", 0), ["0x1p+0"]).text  # of a split
        trees = "The models have different trees"
        for reason, *change in (
            *((trees, ("threshold", 0), "0x1p+0"), (trees, ("threshold", 3), "0x1p+0"), (trees, ("feature", 3), 0)),
            *(("add up different numbers", ("values", node), ["0x1p+0"]) for node in (1, 5)),
            ("or in different ways", ("sums", "divisor"), "0x1p+1"),
            ("or in different ways", ("sums", "cuts"), ["0x1p+1"]),
        ):
            with pytest.raises(CheckError, match=reason):
                compared(*change)
        for more in ({"more": 1}, {"claim": "same"}):
            with pytest.raises(CheckError, match="Unknown claim about two models"):
                compared(**more)
        fewer = build_forest(
            [split("a", 0, leaf([0.1]), leaf([0.2]))], columns=["a", "b"], classes=[0, 1], **REGRESSION
        )
        other = Model(forest_to_json(fewer))
        with pytest.raises(CheckError, match="The models have different trees"):
            check({**about, "other": other.fingerprint}, model, other=other)
