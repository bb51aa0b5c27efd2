"""What the checker says about models and certificates whose names and values were chosen to mislead."""

from __future__ import annotations

import json

import pytest

import treeproof as tp
from treeproof import checker
from treeproof.model.decision import Sums
from treeproof.model.files import forest_to_json


def named(*names: str) -> tp.Forest:
    """The label depends on the first column alone."""
    return tp.build_forest([tp.split(names[0], 0.5, "no", "yes")], columns=list(names), classes=["no", "yes"])


def test_a_name_is_not_taken_for_no_feature_or_for_every_feature():
    explainer = tp.Explainer(named("no feature at all", "every feature"), kinds={"every feature": "integer"})
    listing = explainer.enumerate([0.0, 1.0], kind="both")
    assert len(list(listing)) == 2
    checked = listing.certificate().check()
    assert checked.conditions[:2] == ['reason: "no feature at all"', 'change: "no feature at all"']
    assert checked.space == ['"every feature": only whole numbers']


def test_a_name_or_a_label_is_not_taken_for_a_part_of_a_claim():
    name, label = "every input has the label yes", "no as long as all others stay in the ranges around the instance"
    forest = tp.build_forest([tp.split(name, 0.5, label, "yes")], columns=[name], classes=[label, "yes"])
    checked = tp.Explainer(forest).abductive([0.0]).certificate().check()
    assert checked.text == f'"{name}" forces the label "{label}"; it cannot be dropped'


def test_a_space_without_missing_categories_is_said():
    column = tp.Column("c", ("red", "green", None))
    forest = tp.build_forest([tp.isin("c", ["red"], "no", "yes")], columns=[column, "y"], classes=["no", "yes"])
    explainer = tp.Explainer(forest, bounds={"c": ["red", "green"]})
    assert explainer.abductive(["red", 1.0]).certificate().check().space == ["c: only red or green"]


@pytest.mark.parametrize("key", ["label", "claim", "target", "version", "space", "around", "x" * 10**5])
def test_a_rejection_is_short_whatever_the_certificate_has(key):
    forest = named("a", "b")
    document = json.loads(tp.Explainer(forest).abductive([0.0, 1.0]).certificate().text)
    for value in ("x" * 10**5, {"x" * 10**5: 1}, {"9" * 4000: [0, 0]}):
        with pytest.raises(checker.CheckError) as caught:
            checker.check({**document, key: value}, forest_to_json(forest))
        assert 0 < len(str(caught.value)) < 2100


@pytest.mark.parametrize("value", [None, "inf", "0x1.8000000000001p+0"])
def test_a_rejection_shows_no_control_characters_of_names(value):
    forest = named("a\x1b[2Jb", "c")
    document = json.loads(tp.Explainer(forest).abductive([0.0, 1.0]).certificate().text)
    with pytest.raises(checker.CheckError, match=r"a\\u001b\[2Jb") as caught:
        checker.check({**document, "instance": [value, "0x0p+0"]}, forest_to_json(forest))
    assert str(caught.value).isprintable()


def test_a_category_is_not_taken_for_the_absence_of_another():
    column = tp.Column("c", ("green", "not green", "red"))
    forest = tp.build_forest([tp.isin("c", ["not green"], "no", "yes")], columns=[column], classes=["no", "yes"])
    checked = tp.Explainer(forest).abductive(["not green"]).certificate().check()
    assert checked.conditions == ['c is "not green"']  # of red the claim is false


def test_another_row_is_called_so_however_large_its_numbers_are():
    forest = named("a", "b")
    certificate = tp.Explainer(forest).abductive([0.0, 1.0]).certificate().text
    for value in (10**400, -(10**400), 10**5000, 10**39, 1e300, float("inf"), -0.25):
        with pytest.raises(checker.CheckError, match=r"^The certificate is about another row: a differ\.$"):
            checker.check(certificate, forest_to_json(forest), row=[value, 1])


def test_members_inside_members_count_as_work():
    """Each multiplies what is inside it, so that exact numbers get longer and longer."""
    sums = Sums((0.0,), "float64", 1.0, (0.0,), softmax=False)
    tree = tp.split("a", 0.5, tp.leaf([0.3]), tp.leaf([-0.7]))
    forest = tp.build_forest([tree], columns=["a"], classes=["no", "yes"], vote="sum", sums=sums)
    member = {"trees": [0, 1], "start": [(0.1).hex()], "divisor": (1.1).hex(), "weight": (0.77).hex()}
    document = json.loads(forest_to_json(forest))
    document["sums"]["members"] = [{**member, "numbers": "float64"}] * 3
    assert checker.Model(json.dumps(document), checker.Budget(10**5)).n_members == 3
    document["sums"]["members"] = [{**member, "numbers": "float64"}] * 150
    with pytest.raises(checker.CheckError, match="takes more than"):
        checker.Model(json.dumps(document), checker.Budget(10**6))
