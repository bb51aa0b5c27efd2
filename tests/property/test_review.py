"""Reviews of rules against enumeration of float64 inputs that satisfy them as they are written."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treeproof as tp
from generators import THRESHOLDS, hard_forest, random_forest, random_row
from treeproof.space.features import NumericFeature
from treeproof.space.grammar import Bounds, parse_condition

seeds = st.integers(0, 2**32 - 1)
COLOURS = ("red", "green", "blue", "grey")


class Case:
    """A random forest with declared kinds, a row, and random conditions as text."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.categorical = bool(rng.random() < 0.4)
        forest = random_forest(
            rng,
            vote=str(rng.choice(["majority", "mean"])),
            n_classes=int(rng.integers(2, 4)),
            n_trees=int(rng.integers(1, 7)),
            n_columns=5,
            categorical=self.categorical,
        )
        self.row = random_row(rng, forest)
        self.one_hot = {"group": ["c3", "c4"]} if rng.random() < 0.4 else {}
        free = [f"c{j}" for j in range(self.categorical, 3 if self.one_hot else 5)]
        self.kinds = {name: str(rng.choice(["binary", "ordinal"])) for name in free if rng.random() < 0.3}
        for name, kind in self.kinds.items():
            self.row[int(name[1])] = float(rng.integers(0, 2) if kind == "binary" else rng.integers(-3, 3))
        if self.one_hot:
            self.row[3:] = [1.0, 0.0] if rng.random() < 0.5 else [0.0, 1.0]
        self.constraints = ["if c1 <= 0.5 then c2 > 0.25"] if rng.random() < 0.3 else []
        if not self.allows(self.row):
            self.row[2] = 1.0
        self.space = {"kinds": self.kinds, "one_hot": self.one_hot, "constraints": self.constraints}
        self.explainer = tp.Explainer(forest, **self.space, tabulate=bool(rng.random() < 0.1))
        self.forest, self.names = forest, self.explainer.space.names
        self.known = [*self.names, "c3", "c4"] if self.one_hot else [*self.names]
        self.label = forest.predict([self.row])[0]

    def allows(self, row) -> bool:
        return not self.constraints or not np.float32(row[1]) <= 0.5 or np.float32(row[2]) > 0.25

    def condition(self) -> str:
        """A condition, on or beside a threshold, true of the row more often than not."""
        rng = self.rng
        name = str(rng.choice(self.names))
        if name == "group" or (name == "c0" and self.categorical):
            values = COLOURS if name == "c0" else ("c3", "c4")
            some = [v for v in values if rng.random() < 0.5] or [values[0]]
            own = self.row[0] if name == "c0" else "c3" if self.row[3] == 1 else "c4"
            if rng.random() < 0.7:
                some = sorted({*some, own})
            if rng.random() < 0.3 and name == "group":
                return str(rng.choice([f"c3 = {self.row[3]}", f"c4 <= {self.row[4]}", "c3 > 0.5", "c4 < 0.5"]))
            if rng.random() < 0.3:
                return f"{name} not in {{{', '.join(some)}}}"
            return f"{name} = {some[0]}" if len(some) == 1 else f"{name} in {{{', '.join(some)}}}"
        own = self.row[self.forest.column_names.index(name)]
        low, high = sorted(self.number(own) for _ in range(2))
        kind = rng.random()
        if kind < 0.3:
            return f"{low!r} {rng.choice(['<', '<='])} {name} {rng.choice(['<', '<='])} {high!r}"
        if kind < 0.6:
            return f"{name} {rng.choice(['<', '<='])} {high!r}"
        if kind < 0.8:
            return f"{name} {rng.choice(['>', '>='])} {low!r}"
        if kind < 0.85:
            return f"{name} in {{{low!r}, {high!r}, {own!r}}}"
        return f"{name} {rng.choice(['=', '!='])} {rng.choice([own, low])!r}".replace("np.float64(", "").replace(
            ")", ""
        )

    def number(self, own: float) -> float:
        base = float(self.rng.choice([own, *THRESHOLDS]))
        beside = float(np.nextafter(np.float32(base), np.float32(9)))
        return float(
            self.rng.choice([base, math.nextafter(base, 9), math.nextafter(base, -9), beside, base + 1, base - 1])
        )

    def rule(self) -> list[str]:
        """A few conditions that some input satisfies."""
        while True:
            rule = [self.condition() for _ in range(self.rng.integers(0, 4))]
            if self.inputs(rule):
                return rule

    def candidates(self, rule: list[str]) -> list[list[tuple[float | str, ...]]]:
        """Per feature one input of each cell that satisfies the rule as it is written, in float64."""
        parsed = [(text, parse_condition(text, self.known)) for text in rule]
        result = []
        for f, feature in enumerate(self.explainer.space.features):
            own = [p for _, p in parsed if p.feature == f]
            if isinstance(feature, NumericFeature):
                numbers = {float(end) for end in (*feature.lows, *feature.highs)}
                for p in own:
                    bounds = (p.low, p.high) if isinstance(p, Bounds) else map(float, p.values)
                    for b in bounds:
                        if b is not None:
                            numbers |= {b, math.nextafter(b, 99), math.nextafter(b, -99)}
                            numbers |= {math.floor(b), math.ceil(b), math.floor(b) - 1, math.ceil(b) + 1}
                if feature.kind != "real":
                    numbers = {
                        n for n in numbers if float(n).is_integer() and (feature.kind == "integer" or n in (0, 1))
                    }
                chosen = {}
                for number in sorted(numbers):
                    if all(satisfies(p, float(number)) for p in own):
                        chosen[np.searchsorted(feature.highs, np.float32(number))] = (float(number),)
                result.append(list(chosen.values()))
                continue
            values = COLOURS if feature.name == "c0" else ("c3", "c4")
            inputs = []
            for value in values:
                columns = (value,) if feature.name == "c0" else (float(value == "c3"), float(value == "c4"))
                on_columns = [
                    satisfies(p, columns[p.feature - len(self.names)])
                    for _, p in parsed
                    if p.feature >= len(self.names) and feature.name == "group"
                ]
                if all(on_columns) and all((value in p.values) != p.negated for p in own):
                    inputs.append(columns)
            result.append(inputs)
        return result

    def forces(self, rule: list[str], label=None) -> bool:
        """Does every input that satisfies the rule get the label? By enumeration."""
        return set(self.forest.predict(self.inputs(rule)).tolist()) == {self.label if label is None else label}

    def inputs(self, rule: list[str]) -> list[tuple]:
        """Inputs that satisfy the rule and keep the constraints, one in each point of the space that has some."""
        inputs = [sum(parts, ()) for parts in itertools.product(*self.candidates(rule))]
        return [row for row in inputs if self.allows(row)]

    def satisfied_by(self, row, rule: list[str], rounding: bool = False) -> bool:
        """Does a row satisfy the rule as it is written; or, `rounding`, a row that the model sees as this one?"""
        names = self.known
        by_name: dict[str, list] = {}
        for text in rule:
            parsed = parse_condition(text, names)
            by_name.setdefault(names[parsed.feature], []).append(parsed)
        for name, conditions in by_name.items():
            value = ("c3" if row[3] == 1 else "c4") if name == "group" else row[self.forest.column_names.index(name)]
            if isinstance(value, str):
                if not all((value in p.values) != p.negated for p in conditions):
                    return False
                continue
            options = {float(value)}
            if rounding and self.kinds.get(name) is None and name in self.names:
                for p in conditions:
                    for b in (p.low, p.high) if isinstance(p, Bounds) else map(float, p.values):
                        if b is not None:
                            options |= {b, math.nextafter(b, 99), math.nextafter(b, -99)}
                options = {n for n in options if np.float32(n) == np.float32(value)}
                options |= {math.nextafter(float(value), 99), math.nextafter(float(value), -99)}
            if not any(all(satisfies(p, n) for p in conditions) for n in options):
                return False
        return True

    def at_home(self, name: str) -> str:
        if name == "group":
            return f"group = {'c3' if self.row[3] == 1 else 'c4'}"
        value = self.row[self.forest.column_names.index(name)]
        if isinstance(value, str):
            return f"{name} = {value}"
        feature = self.explainer.space.features[self.names.index(name)]
        cell = np.searchsorted(feature.highs, np.float32(value))
        return f"{float(feature.lows[cell])!r} <= {name} <= {float(feature.highs[cell])!r}"

    def about(self, text: str) -> str:
        """The feature that a condition is on."""
        f = parse_condition(text, self.known).feature
        return self.names[f] if f < len(self.names) else "group"


def satisfies(condition, x: float) -> bool:
    if isinstance(condition, Bounds):
        low, high = condition.low, condition.high
        above = low is None or (x > low if condition.low_strict else x >= low)
        return above and (high is None or (x < high if condition.high_strict else x <= high))
    return (x in map(float, condition.values)) != condition.negated


def opinion(review: tp.Review):
    """What is decided; which counterexample shows it, and which constraints prove it, is up to the oracle."""
    repair = None if review.repair is None else dataclasses.replace(review.repair, constraints=())
    return review.holds, review.applies, review.minimal, review.redundant, repair


@given(seeds)
@settings(max_examples=100, deadline=None)
def test_a_rule_is_right_or_has_a_counterexample_and_its_redundant_conditions_are_known(seed):
    case = Case(seed)
    rule = case.rule()
    result = case.explainer.review(case.row, rule)
    assert result.status == "proved"
    assert result.label == case.label
    assert result.holds == case.forces(rule)
    assert result.applies == case.satisfied_by(case.row, rule, rounding=True)
    if result.holds:
        without = [[*rule[:i], *rule[i + 1 :]] for i in range(len(rule))]
        assert result.redundant == tuple(c for c, rest in zip(rule, without, strict=True) if case.forces(rest))
        assert result.minimal == (not result.redundant)
        assert result.counterexample is None
    else:
        assert result.minimal is None
        assert result.redundant == ()
        assert case.satisfied_by(result.counterexample, rule)
        assert case.forest.predict([result.counterexample])[0] == result.counterexample_label != case.label
        case.explainer.holds(result.counterexample, [])  # it lies in the space
    assert str(result)
    json.dumps(result.to_dict())
    # Whether it holds is all that `holds` says, of conditions that the row satisfies.
    if rule and result.applies:
        verdict = case.explainer.holds(case.row, rule)
        assert verdict.holds == result.holds
        assert verdict.conditions == result.conditions
        if not verdict.holds:
            assert case.satisfied_by(verdict.witness, rule)
            assert case.forest.predict([verdict.witness])[0] == verdict.witness_label != case.label
        assert str(verdict)
        json.dumps(verdict.to_dict())
    elif rule:
        with pytest.raises(tp.InputError, match="must satisfy the conditions"):
            case.explainer.holds(case.row, rule)
    # Joined by "and", or without the row, it is the same question.
    if rule:
        joined = case.explainer.review(case.row, " and ".join(rule))
        assert (joined.conditions, opinion(joined)) == (result.conditions, opinion(result))
    other = case.explainer.review(claim=rule, label=case.label)
    assert (other.holds, other.minimal, other.redundant, other.applies) == (
        result.holds,
        result.minimal,
        result.redundant,
        None,
    )
    assert other.holds or case.satisfied_by(other.counterexample, rule)


@given(seeds)
@settings(max_examples=100, deadline=None)
def test_a_repair_holds_is_about_the_row_and_is_minimal(seed):
    case = Case(seed)
    rule = case.rule()
    result = case.explainer.review(case.row, rule)
    repair = result.repair
    assert repair.status == "minimal"
    repaired = list(repair.rule)
    assert case.forces(repaired)
    assert case.satisfied_by(case.row, repaired, rounding=True)
    for i in range(len(repaired)):
        assert not case.forces([*repaired[:i], *repaired[i + 1 :]])
    assert repair.feature_names == tuple(n for n in case.names if n in {case.about(text) for text in repaired})
    mentioned = {case.about(text) for text in rule}
    assert set(repair.added) == set(repair.feature_names) - mentioned
    if result.holds and result.applies:
        assert set(repaired) <= set(rule)
        assert repair.tightened == repair.added == ()
        return
    others = [case.at_home(name) for name in case.names if name not in mentioned]
    if result.applies and case.forces([*rule, *others]):
        assert repair.tightened == ()  # the rule keeps its width
        return
    # What was tightened could not keep its width beside the rest, or left the row out.
    for name in {case.about(text) for text in repair.tightened}:
        own = [text for text in rule if case.about(text) == name]
        if case.satisfied_by(case.row, own, rounding=True):
            assert not case.forces([t for t in repaired if case.about(t) != name] + own)


@given(seeds)
@settings(max_examples=50, deadline=None)
def test_a_list_of_features_is_judged_as_by_holds_and_repaired_by_an_explanation(seed):
    case = Case(seed)
    features = [name for name in case.names if case.rng.random() < 0.5]
    result = case.explainer.review(case.row, features)
    verdict = case.explainer.holds(case.row, features)
    assert result.holds == verdict.holds
    assert result.applies is True
    assert result.repair.tightened == ()
    kept = result.repair.feature_names
    assert case.explainer.holds(case.row, kept)
    assert not any(case.explainer.holds(case.row, [n for n in kept if n != name]) for name in kept)
    # Deletion with the given ones tried last, from the last one on.
    assert result.repair.feature_names == case.explainer.abductive(case.row, prefer=features).feature_names
    if not result.holds:
        columns = [c for n in features for c in case.explainer.space.features[case.names.index(n)].columns]
        as_seen = np.float32([v for c, v in enumerate(case.row) if c in columns and not isinstance(v, str)])
        shown = np.float32([v for c, v in enumerate(result.counterexample) if c in columns and not isinstance(v, str)])
        assert as_seen.tolist() == shown.tolist()
    # An explanation of this row is right, and needs all it says.
    why = case.explainer.abductive(case.row)
    again = case.explainer.review(case.row, why)
    assert again.holds
    assert again.minimal
    assert again.applies
    assert case.explainer.review(claim=why).holds


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_every_oracle_has_the_same_opinion(seed):
    case = Case(seed)
    rule = case.rule()
    explainers = [
        tp.Explainer(case.forest, **case.space, oracle=name)
        for name in (["native", "brute", "sat"] if case.forest.vote == "majority" else ["native", "brute"])
    ]
    results = [explainer.review(case.row, rule) for explainer in (case.explainer, *explainers)]
    assert len({opinion(result) for result in results}) == 1


def one_split(threshold: float, **options) -> tp.Explainer:
    forest = tp.build_forest([tp.split("x", threshold, "no", "yes")], columns=["x", "y"], classes=["no", "yes"])
    return tp.Explainer(forest, **options)


def test_a_strict_bound_includes_numbers_that_the_model_reads_as_the_bound():
    explainer = one_split(0.5)
    review = explainer.review([1, 0], "x > 0.5")
    assert not review
    assert review.counterexample[0] == math.nextafter(0.5, 1)
    assert explainer.forest.predict([review.counterexample])[0] == "no"
    assert "0.5000000000000001, which the model reads as 0.5" in str(review)
    assert explainer.review([1, 0], "x >= 0.50000006")
    assert explainer.review([0, 0], "x <= 0.5")
    assert explainer.review([0, 0], "x <= 0.5000000000000001")
    assert one_split(0.5, kinds={"x": "ordinal"}).review([1, 0], "x > 0")


def test_a_bound_is_the_number_that_is_written():
    # As a float32, 2.4 is a little more than 2.4.
    explainer = one_split(2.4)
    assert explainer.review([2.3, 0], "x < 2.4").holds is False
    just_below = float(np.nextafter(np.float32(2.4), np.float32(0)))
    assert explainer.review([2.3, 0], f"x <= {just_below!r}")
    review = explainer.review([2.3, 0], "x < 2.4")
    assert review.counterexample[0] == math.nextafter(2.4, 0)


def test_conditions_inside_one_cell_are_told_apart():
    explainer = one_split(0.5)
    with pytest.raises(tp.InputError, match="No input of the space satisfies the conditions on 'x'"):
        explainer.review([1, 0], "x > 2 and x < 2")
    with pytest.raises(tp.InputError, match="must be satisfiable"):
        one_split(0.5, kinds={"x": "ordinal"}).review([1, 0], "0.2 < x < 0.8")
    review = explainer.review([1, 0], "x >= 2")
    assert review.holds is True
    assert review.applies is False
    assert review.repair.rule == ("x = 1",)
    assert "not about it" in str(review)


def test_what_rests_on_constraints_says_so():
    tree = tp.split("x", 0.5, tp.split("y", 0.5, "no", "yes"), "yes")
    forest = tp.build_forest([tree], columns=["x", "y"], classes=["no", "yes"])
    explainer = tp.Explainer(forest, constraints=["if x <= 0.5 then y > 0.7"])
    review = explainer.review([0, 1], [])
    assert review.holds
    assert review.constraints == ("if x <= 0.5 then y > 0.7",)
    assert "The proof uses: if x <= 0.5 then y > 0.7." in str(review)
    with pytest.raises(tp.InputError, match="No input of the space satisfies the conditions together with"):
        explainer.review(claim="x <= 0 and y <= 0.5", label="no")


def test_columns_of_a_group_and_other_ways_to_say_it():
    forest = tp.build_forest(
        [tp.split("red", 0.5, tp.split("age", 30, "no", "yes"), "yes")],
        columns=["red", "blue", "age"],
        classes=["no", "yes"],
    )
    explainer = tp.Explainer(forest, one_hot={"colour": ["red", "blue"]})
    x = [1, 0, 20]
    for claim in ("red = 1", "red >= 0.5", "blue < 0.5", "colour = red", "colour != blue", ["red"], ["colour"], [0]):
        assert explainer.review(x, claim), claim
    assert explainer.review(x, tp.Condition("colour", values=("red",)))
    assert explainer.review(x, [tp.Condition("red", low=1.0)])
    assert explainer.review(x, tp.Condition("age", low=30.5)).applies is False
    assert explainer.review(x, "blue = 0 and age > 10").redundant == ("age > 10",)
    assert explainer.review(x, "age > 10").repair.rule == ("colour = red",)
    assert explainer.review([0, 1, 40], "age > 31 and colour is any value").repair.rule == ("age > 31",)


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ("size <= 3", "must name one of the features"),
        (["x", "z"], "must name one of the features"),
        ("x <= red", "must look like"),
        ("x = red", "In the condition 'x = red': The value of a numeric feature must be a number"),
        (7, "must be text such as"),
        ([9], "index must be between"),
        ([2.5], "one number for each of the 2 columns"),
        (tp.Condition("z", low=1.0), "must be one of"),
        (tp.Condition("x", values=("red",)), "must be a number"),
    ],
)
def test_bad_claims_are_refused(claim, message):
    with pytest.raises(tp.InputError, match=message):
        one_split(0.5).review([1, 0], claim)


def test_bad_calls_are_refused():
    explainer = one_split(0.5)
    with pytest.raises(tp.InputError, match="Either a row or a label must be given"):
        explainer.review([1, 0], "x > 1", label="yes")
    with pytest.raises(tp.InputError, match="Got neither"):
        explainer.review(claim="x > 1")
    with pytest.raises(tp.InputError, match="needs a row"):
        explainer.review(claim=["x"], label="yes")
    with pytest.raises(tp.InputError, match="The class must be one of"):
        explainer.review(claim="x > 1", label="maybe")
    with pytest.raises(tp.InputError, match="'timeout' parameter"):
        explainer.review([1, 0], "x > 1", timeout=-1)
    colours = tp.build_forest([tp.isin("c", ["red"], 0, 1)], columns=[tp.Column("c", ("red", "blue"))], classes=[0, 1])
    with pytest.raises(tp.InputError, match="named values"):
        tp.Explainer(colours).review(["red"], "c <= 3")
    with pytest.raises(tp.InputError, match=r"must be one of \{red, blue\}"):
        tp.Explainer(colours).review(["red"], "c = green")
    with pytest.raises(tp.InputError, match="must be one of"):
        tp.Explainer(colours).review(["red"], tp.Condition("c", values=("green",)))


def test_an_explanation_of_why_not_is_no_claim_about_the_label():
    forest, patient = tp.examples.heart_disease()
    explainer = tp.Explainer(forest)
    why_not = next(e for e in explainer.enumerate(patient, target="No"))
    with pytest.raises(tp.InputError, match="why not 'No'"):
        explainer.review(patient, why_not)
    assert explainer.review(patient, why_not.rule)


def test_the_deadline_leaves_what_is_proved():
    forest, X = hard_forest()
    explainer = tp.Explainer(forest)
    review = explainer.review(X[0], list(range(0, 200, 2)), timeout=0.2)
    assert review.status in ("unknown", "sound")
    assert "timed out" in str(review).lower()
    if review.status == "unknown":
        assert review.holds is review.repair is None
        with pytest.raises(ValueError, match="not decided in time"):
            bool(review)
    right = explainer.review(X[0], list(range(200)), timeout=1)
    assert right.holds is True
    assert right.status == "sound"
    assert right.repair is None or explainer.holds(X[0], right.repair.features, timeout=5).holds is not False
