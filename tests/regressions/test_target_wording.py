"""An explanation of why not a class proves that this class is ruled out, and must not claim more."""

from __future__ import annotations

import treeproof as tp


def three_ways() -> tp.Explainer:
    """The label is y or z by b; a <= 0 alone rules out x."""
    trees = [tp.split("a", 0, tp.split("b", 0, "y", "z"), "x")]
    return tp.Explainer(tp.build_forest(trees, columns=["a", "b"], classes=["x", "y", "z"]))


def test_ruling_out_a_class_is_not_called_forcing_the_prediction():
    explainer = three_ways()
    (why_not,) = explainer.enumerate([-1, -1], target="x")
    assert why_not.feature_names == ("a",)
    assert not explainer.holds([-1, -1], ["a"])  # the label may still become z
    for text in (str(why_not), why_not._repr_html_()):
        assert "force" not in text
        assert "not x" in text
        assert "rules out the label x" in text
    assert why_not.target == "x" == why_not.to_dict()["target"]


def test_without_a_target_the_prediction_is_forced():
    why = three_ways().abductive([-1, -1])
    assert why.target is None
    assert "force the prediction" in str(why)


def test_a_class_that_no_input_gets_is_ruled_out_by_nothing():
    forest = tp.build_forest([tp.split("a", 0, "x", "y")], columns=["a"], classes=["x", "y", "z"])
    (why_not,) = tp.Explainer(forest).enumerate([0], target="z")
    assert why_not.features == ()
    assert "every input this label" not in str(why_not)
    assert "no input of the space gives the label z" in str(why_not)
