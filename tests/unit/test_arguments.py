"""Arguments of a wrong type are refused by what must be passed, not by where they failed."""

from __future__ import annotations

import datetime
import math

import numpy as np
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
@pytest.mark.parametrize("given", [5, "chest-pain", object(), np.array("chest-pain")])
def test_features_are_a_list(ask, given):
    with pytest.raises(tp.InputError, match="Features must be a list of names or indices"):
        ask(given)


def test_what_is_saved_and_built():
    with pytest.raises(tp.InputError, match="A Forest must be saved"):
        tp.save_forest(5, "forest.json")
    for given in ({"trees": 5, "columns": ["a"]}, {"trees": [tp.leaf("x")], "columns": 5}):
        with pytest.raises(tp.InputError, match="must be a list of"):
            tp.build_forest(**given, classes=["x"])


MANY = np.zeros(2)


@pytest.mark.parametrize(
    ("parameter", "ask"),
    [
        ("order", lambda: explainer.abductive(patient, order=MANY)),
        ("norm", lambda: explainer.robustness(patient, norm=MANY)),
        ("distance", lambda: explainer.contrastive(patient, distance=MANY)),
        ("kind", lambda: explainer.batch([patient], kind=MANY)),
        ("format", lambda: explainer.encode(patient, format=MANY)),
        ("domain", lambda: tp.Explainer(forest, domain=MANY)),
        ("oracle", lambda: tp.Explainer(forest, oracle={})),
        ("vote", lambda: tp.Explainer(forest, vote=MANY)),
        ("names", lambda: tp.Explainer(forest, names=MANY)),
        ("sums", lambda: tp.build_forest(["x"], columns=["a"], classes=["x"], sums=5)),
        ("classes", lambda: tp.build_forest(["x"], columns=["a"], classes=5)),
        ("trees", lambda: tp.build_forest(np.array("x"), columns=["a"], classes=["x"])),
        ("path", lambda: tp.load_forest(5)),
        ("path", lambda: tp.load_model("\0.json")),
        ("path", lambda: tp.save_forest(forest, None)),
        ("out", lambda: tp.report(explainer, [patient], 5)),
        ("certificates", lambda: tp.report(explainer, [patient], "page.html", certificates=5)),
        ("rows", lambda: tp.report(explainer, [patient], "page.html", rows=5)),
        ("force", lambda: tp.report(explainer, [patient], "page.html", force=MANY)),
        ("title", lambda: tp.report(explainer, [patient], "page.html", title=MANY)),
        ("inputs", lambda: tp.report(explainer, [patient], "page.html", inputs="model.json")),
        ("kind", lambda: explainer.enumerate(patient, kind=MANY)),
        ("minimum", lambda: explainer.abductive(patient, minimum=MANY)),
        ("date", lambda: tp.Condition("age", date=MANY)),
        ("constraints", lambda: tp.Explainer(forest, constraints="\0")),
        ("n_jobs", lambda: explainer.batch([patient], n_jobs=10**30)),
    ],
)
def test_what_is_none_of_the_choices_is_named(parameter, ask):
    with pytest.raises(tp.InputError, match=rf"The '{parameter}' parameter must (be|map) .* Got"):
        ask()


def test_tables_and_conditions():
    for given in (np.array(1), {"a": 1}, {1, 2}):
        with pytest.raises(tp.InputError, match="Rows must form a table"):
            explainer.coverage(explainer.abductive(patient), given)
    with pytest.raises(tp.InputError, match="A condition must have a name"):
        tp.Condition(5)
    with pytest.raises(tp.InputError, match="A condition must have a name"):
        tp.Condition("a", low="1")
    with pytest.raises(tp.InputError, match="must be a tuple"):
        tp.Condition("a", values="red")
    for ranges in (datetime.date(2024, 2, 29), [(1, 2)], (1, 2), ((1, 2, 3),)):
        with pytest.raises(tp.InputError, match=r"The ranges of a condition must be a tuple of \(low, high\)"):
            tp.Condition("a", ranges=ranges)
    for low in (-1, 0, 1e9, math.inf):
        with pytest.raises(tp.InputError, match="A condition on dates must have days as ends"):
            tp.Condition("a", low=low, date=True)
    assert str(tp.Condition("a", low=1, high=3652059, date=True)) == "0001-01-01 <= a <= 9999-12-31"
    for ask in (
        lambda progress: explainer.audit([patient], protected=[0], progress=progress),
        lambda progress: explainer.batch([patient], progress=progress),
        lambda progress: explainer.profile(patient, progress=progress),
        lambda progress: tp.compare(explainer, explainer, [patient], progress=progress),
    ):
        with pytest.raises(tp.InputError, match="The 'progress' parameter must be True or False"):
            ask(np.array([None, {}], dtype=object))
    with pytest.raises(tp.InputError, match="The 'explainer' parameter must be an Explainer"):
        tp.report(5, [patient], "r.html")
    with pytest.raises(tp.InputError, match="The 'other' parameter must be an Explainer"):
        explainer.workbench([patient], other=object())
    with pytest.raises(tp.InputError, match="Classes must be texts or numbers"):
        tp.build_forest(["x"], columns=["a"], classes=["x", {}])


def test_values_that_have_no_truth_or_hash_are_refused_as_others_are(tmp_path):
    with pytest.raises(tp.InputError, match="The class must be one of"):
        explainer.extremes(of=np.array([1, 2]))
    with pytest.raises(tp.ForestFormatError, match="'dtype' must be one of"):
        tp.build_forest(["a"], columns=["x"], classes=["a", "b"], dtype=np.array("x"))
    explainer.abductive(patient).certificate().save(tmp_path / "c.json")
    with pytest.raises(tp.CheckError, match="The budget must be a number of steps"):
        tp.check(tmp_path / "c.json", forest, budget="all")
