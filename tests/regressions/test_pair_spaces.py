"""The two inputs of a pair are of the same space, so that a proof for one order of them is one for both."""

from __future__ import annotations

import json

import pytest

import treeproof as tp


@pytest.mark.parametrize(
    ("labels", "first", "second"),
    [([1, 0], (-1.0, 0.0), (0.5, 1.0)), ([0, 1], (0.5, 1.0), (-1.0, 0.0))],
)
def test_what_is_declared_of_one_input_of_a_pair_is_declared_of_the_other(labels, first, second):
    # The label is b above 0. One input is at most 0 and the other above, so their labels always differ; but never in
    # this order, which was all that the checker asked for.
    forest = tp.build_forest([tp.split("c", 0.0, "a", "b")], columns=["c"], classes=["a", "b"])
    made = tp.Explainer(forest, bounds={"c": (-1, 0)}).independent(["c"]).certificate()
    made.check()
    document = json.loads(made.text)
    (pair,) = document["pairs"]
    bounds = {"0": [end.hex() for end in first], "1": [end.hex() for end in second]}
    apart = {**pair, "space": {"bounds": bounds}, "instance": [first[0].hex(), second[0].hex()], "label": 3}
    apart["pair"] = {**pair["pair"], "labels": labels}
    apart["proof"] = {"unit": 0, "steps": [1, 0, 7], "tables": []}
    with pytest.raises(tp.CheckError, match="The same must be declared of both inputs of a pair"):
        tp.check({**document, "pairs": [apart]}, forest)


def test_both_inputs_of_a_pair_have_missing_values_at_the_same_place():
    # The pair's model tests b with missing values on one side, and the changed b with them on the other. They stood
    # at different ends of their orders, where the constraint became one clause of b, and two of the changed b.
    tree = tp.split("b", 2.0, 1, tp.split("b", 0.0, 2, 2, missing="yes"), missing="no")
    columns = [tp.Column("a"), tp.Column("b", missing="expected")]
    forest = tp.build_forest([tree], columns=columns, classes=[1, 2])
    found = tp.Explainer(forest, constraints=["a <= 0.5 or b > 0"]).effect("b")
    assert "no two inputs that differ in b alone" in str(found.certificate().check())


def test_all_pairs_of_labels_are_about_the_same_inputs():
    # At a = 0.5 the label is 1 or 2, as b says. The lowest number of a is also where its first cell ends, so that the
    # condition with and without that number looked alike, and the labels 1 and 2 were compared without it.
    tree = tp.split("a", 0.5, tp.split("b", 0, 1, 2), 0)
    forest = tp.build_forest([tree], columns=["a", "b"], classes=[0, 1, 2])
    assert forest.predict([[0.5, 0.0], [0.5, 1.0]]).tolist() == [1, 2]
    explainer = tp.Explainer(forest, bounds={"a": (0.5, 2)})
    document = json.loads(explainer.independent(["b"], where="a >= 0.50000006").certificate().text)
    tp.check(document, forest)
    proof = {"unit": 0, "steps": [1, 0, 7], "tables": []}
    pairs = [{**pair, "proof": proof} for pair in document["pairs"]]
    wider = [pair if pair["pair"]["labels"] == [1, 2] else {**pair, "box": {"0": [0, 1]}} for pair in pairs]
    with pytest.raises(tp.CheckError, match="All pairs must be about the same inputs"):
        tp.check({**document, "pairs": wider}, forest)
