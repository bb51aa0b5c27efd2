"""Groups as people declare and read them."""

from __future__ import annotations

import json
import pickle
import re

import pytest

import treeproof as tp
from treeproof.cli import main

HEART = {"heart": ["blocked-arteries", "good-blood-circulation"]}


@pytest.fixture
def case():
    forest, patient = tp.examples.heart_disease()
    return tp.Explainer(forest, groups=HEART), patient


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["heart"], "must be a mapping of names to features"),
        ({"heart": []}, "at least one feature. Got none for 'heart'"),
        ({"heart": "weight"}, "must be a list of features of the group 'heart'"),
        ({"heart": ["weigth"]}, "Did you mean 'weight'?"),
        ({"heart": ["weight", 3]}, "Got 'weight' in 'heart' twice"),
        ({"heart": ["weight"], "body": ["weight"]}, "Got 'weight' in 'heart' and 'body'"),
        ({"weight": ["chest-pain"]}, "named differently from all features. Got 'weight'"),
        ({"w\u0435ight": ["chest-pain"]}, "features and groups, also to the eye. Got 'w\u0435ight'"),
        ({"heart": ["chest-pain"], "\uff48eart": ["weight"]}, "also to the eye. Got '\uff48eart'"),
        ({3: ["chest-pain"]}, "must have a name"),
    ],
)
def test_groups_that_make_no_sense_are_refused(groups, message):
    forest, _ = tp.examples.heart_disease()
    with pytest.raises(tp.InputError, match=re.escape(message)):
        tp.Explainer(forest, groups=groups)


def test_a_group_is_shown_with_its_features_and_counts_as_one(case):
    explainer, patient = case
    why = explainer.abductive(patient)
    assert (why.size, why.feature_names, why.features) == (2, ("heart", "chest-pain"), (0, 1, 2))
    assert [line.text for line in why.lines] == [
        "blocked-arteries = 1 (heart)",
        "good-blood-circulation = 0 (heart)",
        "chest-pain = 1",
        "Proved: these 2 of 3 features or groups force the prediction; none of them can be dropped.",
    ]
    change = explainer.contrastive(patient)
    assert change.feature_names == ("heart",)
    assert str(change).splitlines()[1:] == [
        "  blocked-arteries: 1 -> 0.5 (heart)",
        "Proved: changing this 1 of 3 features or groups suffices; it cannot be left out, and no closer value does.",
    ]
    assert explainer.batch([patient]).title == "1 explanation of 2 features or groups"
    assert [step.size for step in explainer.profile(patient).steps] == [0, 2]
    assert why.to_dict()["groups"] == ({"name": "heart", "members": tuple(HEART["heart"])},)
    assert pickle.loads(pickle.dumps(why)) == why
    assert pickle.loads(pickle.dumps(explainer)).abductive(patient) == why


def test_a_groups_name_will_do_for_its_features(case):
    explainer, patient = case
    assert explainer.holds(patient, ["heart", "chest-pain"]).features == (0, 1, 2)
    assert explainer.robustness(patient, keep=["heart"]).kept == tuple(HEART["heart"])
    assert explainer.contrastive(patient, fixed=["heart"]).feature_names == ("chest-pain",)
    assert explainer.abductive(patient, prefer=["heart"]).feature_names == ("heart", "chest-pain")
    assert explainer.review(patient, ["heart", "chest-pain"]).holds
    assert explainer.audit([patient], protected=["heart"]).necessary == {"heart": 1}
    assert "heart" in explainer.relevance(patient).certificate("heart").check().text
    with pytest.raises(tp.InputError, match="Did you mean 'heart'"):
        explainer.holds(patient, ["hearth"])


@pytest.mark.parametrize(
    "ask",
    [
        lambda explainer, x: explainer.abductive(x, minimum=True, cost={"blocked-arteries": 2}),
        lambda explainer, x: explainer.audit([x], protected=["blocked-arteries"]),
        lambda explainer, x: explainer.relevance(x).certificate("good-blood-circulation"),
    ],
)
def test_a_part_of_a_group_cannot_stand_for_it(case, ask):
    with pytest.raises(tp.InputError, match="which is in 'heart'"):
        ask(*case)


def test_versions_are_compared_with_the_same_groups_only(case):
    explainer, patient = case
    assert tp.compare(explainer, explainer, [patient]).rows[0].difference == "same"
    with pytest.raises(tp.InputError, match="the same groups"):
        tp.compare(explainer, explainer.forest, [patient])


def test_out_of_time_whole_groups_are_kept(case):
    explainer, patient = case
    why = explainer.abductive(patient, timeout=0)
    assert why.status == "sound"
    assert why.feature_names == ("heart", "chest-pain", "weight")
    assert explainer.contrastive(patient, timeout=0).status in ("unknown", "sound")


def test_pictures_name_groups(case):
    explainer, patient = case
    batch = explainer.batch([patient])
    names = [label.get_text() for label in batch.plot()[0].get_yticklabels()]
    assert names == ["heart", "chest-pain"]
    marked = [label.get_text() for label in batch.plot(values=True).get_yticklabels()]
    assert "blocked-arteries (1)" in marked, "a dot is at a feature's value"
    both = list(explainer.enumerate(patient, kind="both"))
    assert "heart" in [label.get_text() for label in tp.plots.matrix(both).get_yticklabels()]
    assert len(batch[0].plot().get_yticklabels()) == 3


def test_groups_on_the_command_line(tmp_path, capsys):
    forest, patient = tp.examples.heart_disease()
    model, data = tmp_path / "heart.json", tmp_path / "heart.csv"
    tp.save_forest(forest, model)
    data.write_text(",".join(forest.column_names) + "\n" + ",".join(map(str, patient)) + "\n")
    group = ["--group", "heart=" + ",".join(HEART["heart"])]
    assert main(["explain", str(model), str(data), "--row", "0", "--plain", *group]) == 0
    assert "these 2 of 3 features or groups" in " ".join(capsys.readouterr().out.split())
    assert main(["ask", "relevance", str(model), str(data), "--json", *group]) == 0
    assert [entry["name"] for entry in json.loads(capsys.readouterr().out)["grades"]] == [
        "heart",
        "chest-pain",
        "weight",
    ]
    for wrong, message in ((["--group", "heart"], "NAME=FEATURE"), ([*group, *group], "each name once")):
        assert main(["explain", str(model), str(data), *wrong]) != 0
        assert message in capsys.readouterr().err
