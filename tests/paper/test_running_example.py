"""The running example of the paper, on every oracle."""

from __future__ import annotations

import pytest

import treeproof as tp

KINDS = {
    "blocked-arteries": "binary",
    "good-blood-circulation": "binary",
    "chest-pain": "binary",
    "weight": "ordinal",
}


@pytest.mark.parametrize("oracle", ["native", "sat", "smt", "brute"])
@pytest.mark.parametrize("kinds", [None, KINDS])
def test_the_explanations_are_those_of_the_paper(oracle, kinds):
    forest, patient = tp.examples.heart_disease()
    explainer = tp.Explainer(forest, kinds=kinds, oracle=oracle)
    found = list(explainer.enumerate(patient, kind="both"))
    axps = {e.feature_names for e in found if isinstance(e, tp.Abductive)}
    cxps = {e.feature_names for e in found if isinstance(e, tp.Contrastive)}
    assert axps == {("blocked-arteries", "chest-pain")}
    assert cxps == {("blocked-arteries",), ("chest-pain",)}
    assert len(found) == 3


def test_the_trees_vote_as_the_paper_says():
    forest, patient = tp.examples.heart_disease()
    votes = forest.classes[forest.leaf_class[forest.apply([patient])[0]]]
    assert votes.tolist() == ["Yes", "No", "Yes"]
    assert forest.predict([[0, 0, 1, 70]])[0] == "No"
