"""What a result prints, read back, is what was proved: exactly, or less where it says that it is rounded."""

from __future__ import annotations

import math
from itertools import chain, combinations

import numpy as np
import pytest

import treeproof as tp
from treeproof.model.build import build_forest, isin, split
from treeproof.model.columns import Column
from treeproof.model.floats import FLOAT32, FLOAT64, Floats
from treeproof.space import wording
from treeproof.space.conditions import Condition, remarks
from treeproof.space.constraints import intervals
from treeproof.space.declare import declare
from treeproof.space.features import NumericFeature
from treeproof.space.grammar import parse_condition, parse_conditions
from treeproof.space.wording import ABOVE_ZERO, AS_FLOAT32, rounded_inside

ZERO = 1.0000000180025095e-35  # where LightGBM cuts in place of 0
AWKWARD = [-2.0, -1e-45, 0.0, 0.1, 0.3, 1 + 1e-12, 16777217.0, 1e10, 1e-30, 3e38, -3e38, 0.6, 4.75, ZERO, -ZERO]
NAMES = ["a", "a or missing", "a\t", "b < 3"]


def feature_of(cuts: list[float], floats: Floats, missing: bool = False, name: str = "a") -> NumericFeature:
    forest = build_forest(
        [split(name, cut, 0, 1, missing=("yes", "no")[i % 2] if missing else "no") for i, cut in enumerate(cuts)],
        columns=[Column(name, missing="possible" if missing else "never")],
        classes=[0, 1],
        dtype=floats.name,
    )
    (feature,) = declare(forest, missing="all" if missing else None).features
    assert isinstance(feature, NumericFeature)
    return feature


def random_cuts(rng: np.random.Generator, floats: Floats) -> list[float]:
    """Middles of round numbers, as trees have them; their images under a scaler; awkward ones."""
    middles = (rng.integers(-40, 400, 4) / 10 + 0.05).tolist()
    scaled = ((rng.integers(20, 70, 3) + 0.5) * 1.3000000001 / 1.3).tolist()
    return [*middles, *scaled, *rng.choice(AWKWARD, 3).tolist(), float(floats.round(rng.normal()))]


def inputs_beside(bounds: list[float], floats: Floats, rng: np.random.Generator) -> list[float]:
    """Float64 numbers on and next to bounds, where rounding switches, and between."""
    found = set()
    for bound in bounds:
        for other in (floats.next(bound, -math.inf), floats.next(bound, math.inf)):
            if math.isfinite(other):
                middle = bound / 2 + other / 2
                found |= {bound, other, middle, bound + (other - bound) * rng.random()}
                found |= {math.nextafter(middle, math.inf), math.nextafter(middle, -math.inf)}
    return [x for x in found if abs(floats.round(x)) <= floats.largest]


@pytest.mark.parametrize("floats", [FLOAT32, FLOAT64], ids=["float32", "float64"])
@pytest.mark.parametrize("seed", range(6))
def test_bounds_read_back_as_what_was_proved(floats, seed):
    rng = np.random.default_rng(seed)
    name = NAMES[seed % len(NAMES)]
    feature = feature_of(random_cuts(rng, floats), floats, missing=seed % 2 == 1, name=name)
    cells = [c for c in range(feature.n_cells) if c != feature.missing_cell]
    for _ in range(40):
        first, last = sorted(rng.integers(len(cells), size=2).tolist())
        own = rng.integers(first, last + 1)
        near = feature.lows[own] / 2 + feature.highs[own] / 2
        chosen = frozenset(cells[first : last + 1])
        if feature.missing_cell is not None and rng.random() < 0.5:
            chosen |= {feature.missing_cell}
        row = np.array([near], dtype=floats.dtype) if rng.random() < 0.8 else None
        condition = feature.condition(chosen, row)
        check(feature, condition, chosen, row, inputs_beside([*feature.lows, *feature.highs], floats, rng))


@pytest.mark.parametrize("floats", [FLOAT32, FLOAT64])
def test_a_rounded_value_stays_in_its_cell_and_takes_no_more_digits(floats, monkeypatch):
    """Floats find the same number as fractions do, which are asked wherever floats might be wrong."""
    rng = np.random.default_rng(8)
    for _ in range(2000):
        low = floats.round(float(rng.normal() * 10.0 ** rng.integers(-6, 7)))
        high = low
        for _ in range(int(rng.integers(0, 4))):
            high = floats.next(high, math.inf)
        if rng.random() < 0.7:
            high = floats.round(low + abs(float(rng.normal())) * 10.0 ** rng.integers(-4, 3))
        like = round(float(rng.normal() * 100), int(rng.integers(0, 3)))
        value = low if rng.random() < 0.5 else high
        digits = int(rng.choice([3, 9]))
        shown = rounded_inside(value, low, high, floats, like, digits)
        assert low <= floats.round(float(shown)) <= high
        assert len(shown) <= len(floats.shortest(value))
        with monkeypatch.context() as exactly:
            exactly.setattr(wording, "round", lambda v, *n: math.nan if n else round(v), raising=False)
            assert rounded_inside(value, low, high, floats, like, digits) == shown


def test_several_ranges_read_back():
    feature = feature_of([0.6, 1.5, 2.5, 34.50000043792192], FLOAT64, missing=True)
    for chosen in chain.from_iterable(combinations(range(feature.n_cells), n) for n in range(1, feature.n_cells)):
        condition = feature.condition(frozenset(chosen))
        check(feature, condition, frozenset(chosen), None, [0.6, 1.5, 2.0, 2.5, 34.5, 34.51])


@pytest.mark.parametrize("kind", ["integer", "date", "binary"])
def test_whole_numbers_read_back_as_the_cells_that_were_proved(kind):
    middle = 738000 if kind == "date" else 0
    cuts = [middle + cut for cut in ((-3.5, -3, 0.3, 0.6, 4.99999, 7) if kind != "binary" else (0.5,))]
    forest = build_forest([split("n", cut, 0, 1) for cut in cuts], columns=["n"], classes=[0, 1], dtype="float64")
    (feature,) = declare(forest, kinds={"n": kind}).features
    assert isinstance(feature, NumericFeature)
    numbers = (0, 1) if kind == "binary" else range(middle - 6, middle + 10)
    for chosen in chain.from_iterable(combinations(range(feature.n_cells), n + 1) for n in range(feature.n_cells)):
        condition = feature.condition(frozenset(chosen))
        assert not condition.is_rounded
        parsed = parse_condition(str(condition), ["n"])
        assert feature.satisfying(parsed) == frozenset(chosen)
        for number in numbers:
            true = any(low <= number <= high for low, high in intervals(parsed, FLOAT64))
            assert true == (feature.cell([float(number)]) in chosen), (str(condition), number)


def check(feature, condition, chosen, row, inputs) -> None:
    """The text, as the model reads numbers, holds in the chosen cells; of float64 inputs too, unless it says more."""
    floats, text, said = feature.floats, str(condition), remarks([condition])
    parsed = parse_condition(text, NAMES if feature.name in NAMES else [feature.name])
    assert parsed.missing == (feature.missing_cell in chosen or len(chosen) == feature.n_cells), text
    read = intervals(parsed, floats)
    for x in inputs:
        if ABOVE_ZERO in said and 0 < abs(x) < 1e-30:
            continue
        inside = feature.cell([floats.round(x)]) in chosen
        true = any(low <= floats.round(x) <= high for low, high in read)
        assert true == inside or (condition.is_rounded and inside), (text, x)
        if AS_FLOAT32 not in said and any(low <= x <= high for low, high in parsed.intervals()):
            assert inside, (text, x)
    if row is not None:
        assert any(low <= row[0] <= high for low, high in read), (text, row)
    assert len(text) < 60 + 3 * len(feature.name), text


def test_values_read_back_as_what_was_proved():
    labels = (
        "red",
        "<0",
        "1",
        1,
        "None",
        None,
        "missing",
        "a\t",
        "a\n",
        "a, b",
        'say "no"',
        "it's",
        "C:\\new",
        "",
        "x or y",
    )
    forest = build_forest([split("other", 0.5, 0, 1)], columns=[Column("a", labels), "other"], classes=[0, 1])
    feature = declare(forest, missing=None).features[0]
    subsets = [*combinations(range(len(labels)), 1), *combinations(range(len(labels)), 2)]
    texts = set()
    for chosen in (*map(frozenset, subsets), *(frozenset(range(len(labels))) - frozenset(s) for s in subsets)):
        text = str(feature.condition(chosen))
        assert text.isprintable()
        assert feature.satisfying(parse_condition(text, ["a", "other"])) == chosen, text
        ((alone, _), (other, _)) = parse_conditions(f"{text} and other <= 3", ["a", "other"])
        assert (alone, other) == (text, "other <= 3")
        texts.add(text)
    assert len(texts) == 2 * len(subsets)  # no two that look alike


def test_names_that_look_alike_are_told_apart():
    texts = [str(Condition(name, high=3)) for name in ("a", "a\t", "a\n", "a\u200b")]
    assert texts == ["a <= 3", "`a\\t` <= 3", "`a\\n` <= 3", "`a\\u{200b}` <= 3"]


ODD = ("<0", "1", "None", "a, b", "x or y", 'say "no"', "red", None)


def random_explainer(rng: np.random.Generator, floats: Floats) -> tp.Explainer:
    """Return an explainer of stumps on numbers with awkward cuts, whole numbers, days, and oddly named values."""
    columns = [
        Column("a or missing", missing="possible"),
        Column("n", integer=True),
        Column("day", date=True),
        Column("kind", ODD),
    ]
    trees = [split("a or missing", cut, *rng.permutation(2).tolist()) for cut in random_cuts(rng, floats)]
    trees += [split("n", cut + 0.5, *rng.permutation(2).tolist()) for cut in rng.integers(-3, 9, 3).tolist()]
    trees += [split("day", cut + 0.5, *rng.permutation(2).tolist()) for cut in rng.integers(738000, 739000, 2).tolist()]
    for _ in range(3):
        chosen = [ODD[k] for k in rng.choice(len(ODD), 3, replace=False)]
        trees.append(isin("kind", chosen, *rng.permutation(2).tolist()))
    return tp.Explainer(build_forest(trees, columns=columns, classes=[0, 1], dtype=floats.name), missing="all")


@pytest.mark.parametrize("floats", [FLOAT32, FLOAT64], ids=["float32", "float64"])
@pytest.mark.parametrize("seed", [0, 1, 112])  # 112: below zero, by less than 1e-30
def test_what_is_printed_can_be_reviewed(floats, seed):
    """Pasted back, a reason is right, or wrong only by a rounding that both the result and the review speak of."""
    rng = np.random.default_rng(seed)
    explainer = random_explainer(rng, floats)
    for _ in range(8):
        number = rng.choice([*AWKWARD, rng.normal(), rng.uniform(-4, 40), math.nan])
        row = [number, int(rng.integers(-5, 12)), int(rng.integers(737900, 739100)), ODD[rng.integers(len(ODD))]]
        why = explainer.abductive(row)
        wide = why.widened()
        assert (wide.conditions, wide.values) == (explainer.abductive(row, inflate=True).conditions, why.conditions)
        assert explainer.review(row, list(why.conditions)).holds
        found = explainer.review(row, " and ".join(wide.conditions) or [])
        assert found.applies
        assert found.holds or (found.only_if and remarks(wide.rule)), (str(wide), str(found))
