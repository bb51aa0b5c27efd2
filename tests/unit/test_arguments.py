"""Arguments of a wrong type are refused by what must be passed, not by where they failed."""

from __future__ import annotations

import pytest

import treeproof as tp

forest, patient = tp.examples.heart_disease()
explainer = tp.Explainer(forest)


@pytest.mark.parametrize("option", ["kinds", "one_hot", "bounds", "constraints", "missing", "other"])
@pytest.mark.parametrize("given", [5, 1.5, object()])
def test_options_of_the_explainer(option, given):
    with pytest.raises(tp.InputError, match=rf"The '{option}' parameter must be a (mapping|list) of .* Got .* instead"):
        tp.Explainer(forest, **{option: given})


@pytest.mark.parametrize("option", ["kinds", "one_hot", "bounds"])
def test_a_text_is_no_mapping(option):
    with pytest.raises(tp.InputError, match=f"The '{option}' parameter must be a mapping"):
        tp.Explainer(forest, **{option: "binary"})


@pytest.mark.parametrize(
    "ask",
    [
        lambda given: explainer.abductive(patient, prefer=given),
        lambda given: explainer.contrastive(patient, fixed=given),
        lambda given: explainer.holds(patient, given),
        lambda given: explainer.robustness(patient, keep=given),
        lambda given: explainer.audit([patient], protected=given),
    ],
)
@pytest.mark.parametrize("given", [5, "chest-pain", object()])
def test_features_are_a_list(ask, given):
    with pytest.raises(tp.InputError, match="Features must be a list of names or indices"):
        ask(given)


def test_what_is_saved_and_built():
    with pytest.raises(tp.InputError, match="A Forest must be saved"):
        tp.save_forest(5, "forest.json")
    for given in ({"trees": 5, "columns": ["a"]}, {"trees": [tp.leaf("x")], "columns": 5}):
        with pytest.raises(tp.InputError, match="must be a list of"):
            tp.build_forest(**given, classes=["x"])
