"""The public face: options, statuses, errors, and how results print and serialise."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import treeproof as tp


@pytest.fixture(scope="module")
def iris():
    return load_iris(as_frame=True)


@pytest.fixture(scope="module")
def model(iris):
    return RandomForestClassifier(25, max_depth=4, random_state=0).fit(iris.data, iris.target_names[iris.target])


@pytest.fixture(scope="module")
def explainer(model):
    return tp.Explainer(model)


@pytest.fixture
def heart():
    forest, patient = tp.examples.heart_disease()
    return tp.Explainer(forest), patient


def test_rows_are_taken_as_series_list_array_frame_and_mapping(explainer, iris):
    row = iris.data.iloc[70]
    expected = explainer.abductive(row)
    for same in (row.tolist(), row.to_numpy(), iris.data.iloc[[70]], dict(row), row[::-1], [row.tolist()]):
        assert explainer.abductive(same) == expected


def test_results_do_not_depend_on_what_was_explained_before(model, iris):
    used = tp.Explainer(model)
    forwards = [used.abductive(x) for x in iris.data.to_numpy()[::15]]
    for x, why in zip(iris.data.to_numpy()[::15][::-1], forwards[::-1], strict=True):
        assert used.abductive(x) == why == tp.Explainer(model).abductive(x)


def test_order_and_preference_choose_among_minimal_explanations():
    # Any one of three copies of a column forces the label.
    trees = [tp.split("a", 0, 0, 1), tp.split("b", 0, 0, 1), tp.split("c", 0, 0, 1), 1, 1]
    forest = tp.build_forest(trees, columns=["a", "b", "c"], classes=[0, 1], importances=[3, 1, 2])
    explainer = tp.Explainer(forest)
    assert explainer.abductive([1, 1, 1]).feature_names == ("a",)
    assert explainer.abductive([1, 1, 1], order="index").feature_names == ("c",)
    assert explainer.abductive([1, 1, 1], prefer=["b"]).feature_names == ("b",)
    assert explainer.abductive([1, 1, 1], prefer=[2, "b"]).feature_names == ("c",)


def test_prefer_changes_which_features_a_contrastive_explanation_touches(heart):
    explainer, patient = heart
    assert explainer.contrastive(patient, prefer=["blocked-arteries"]).feature_names == ("blocked-arteries",)
    assert explainer.contrastive(patient, prefer=["chest-pain"]).feature_names == ("chest-pain",)


def test_majority_vote_of_a_scikit_learn_forest_is_another_function(iris):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 4)), rng.integers(0, 2, 200)
    forest = RandomForestClassifier(20, max_depth=3, random_state=0).fit(X, y)
    mean, majority = tp.Explainer(forest), tp.Explainer(forest, vote="majority")
    labels = {(mean.abductive(x).label, majority.abductive(x).label) for x in X}
    assert {a != b for a, b in labels} == {True, False}
    for x in X[:20]:
        votes = [tree.predict([x])[0] for tree in forest.estimators_]
        assert majority.abductive(x).label == int(sum(votes) > 10)


def test_a_forest_of_one_label_needs_no_feature_and_cannot_be_changed():
    explainer = tp.Explainer(RandomForestClassifier(3, random_state=0).fit([[0], [1]], ["only", "only"]))
    why = explainer.abductive([0])
    assert (why.features, why.status) == ((), "minimal")
    assert "whatever the input" in str(why)
    change = explainer.contrastive([0])
    assert (change.status, change.witness, change.features) == ("impossible", None, ())
    assert "no input" in str(change)
    assert [e.features for e in explainer.enumerate([0], kind="both")] == [()]


def test_a_one_hot_group_counts_as_one_feature():
    rng = np.random.default_rng(0)
    colour = rng.integers(0, 3, 300)
    X = pd.DataFrame(np.eye(3)[colour], columns=["red", "green", "blue"]).assign(size=rng.normal(size=300))
    y = np.where(colour == 1, "go", np.where(X["size"] > 0, "wait", "stop"))
    model = RandomForestClassifier(20, max_depth=4, random_state=0).fit(X, y)
    explainer = tp.Explainer(model, one_hot={"colour": ["red", "green", "blue"]})
    assert explainer.space.names == ("colour", "size")
    row = X[y == "go"].iloc[0]
    why = explainer.abductive(row)
    assert [str(c) for c in why.rule] == ["colour = green"]
    change = explainer.contrastive(row)
    assert change.feature_names == ("colour",)
    assert sum(change.witness[:3]) == 1
    assert model.predict(pd.DataFrame([change.witness], columns=X.columns))[0] == change.witness_label
    with pytest.raises(tp.InputError, match="exactly one of its columns is 1"):
        explainer.abductive([1, 1, 0, 0.3])


def test_kinds_shrink_the_domain_and_so_the_explanation():
    # Without a value between 0 and 1 the two thresholds are one.
    trees = [tp.split("a", 0.3, 0, 1), tp.split("a", 0.6, 1, 0), tp.split("b", 0, 0, 1)]
    forest = tp.build_forest(trees, columns=["a", "b"], classes=[0, 1])
    real, binary = tp.Explainer(forest), tp.Explainer(forest, kinds={"a": "binary"})
    assert real.space.features[0].n_cells == 3
    assert binary.space.features[0].n_cells == 2
    # For real a in (0.3, 0.6] both trees on a say 1; binary a never does that, so b alone decides.
    assert binary.abductive([0, 0]).feature_names == ("b",)
    assert real.abductive([0, 0]).feature_names == ("a", "b")


def test_holds_is_a_truth_value_with_a_witness(heart):
    explainer, patient = heart
    assert explainer.holds(patient, ["blocked-arteries", "chest-pain"])
    verdict = explainer.holds(patient, ["weight", 1, 2])
    assert not verdict
    assert verdict.witness_label == "No" == explainer.forest.predict([verdict.witness])[0]
    assert verdict.witness[1:] == tuple(patient[1:])


def test_limit_ends_an_enumeration_early(explainer, iris):
    everything = list(explainer.enumerate(iris.data.iloc[70], kind="both"))
    assert len(everything) > 2
    some = explainer.enumerate(iris.data.iloc[70], kind="both", limit=2)
    assert list(some) == everything[:2]
    assert some.complete is False
    none = explainer.enumerate(iris.data.iloc[70], limit=0)
    assert list(none) == []
    assert none.complete is False


def test_no_time_gives_a_sound_answer_labelled_as_such(explainer, iris):
    row = iris.data.iloc[70]
    why = explainer.abductive(row, timeout=0)
    assert why.status == "sound"
    assert why.features == (0, 1, 2, 3)
    assert "may not be minimal" in str(why)
    change = explainer.contrastive(row, timeout=0)
    assert (change.status, change.witness) == ("unknown", None)
    results = explainer.enumerate(row, timeout=0)
    assert list(results) == []
    assert results.complete is False
    verdict = explainer.holds(row, [0], timeout=0)
    assert verdict.holds is None
    with pytest.raises(ValueError, match="not decided"):
        bool(verdict)


def test_statistics_count_the_oracles_answers(heart):
    explainer, patient = heart
    stats = explainer.abductive(patient).stats
    assert stats.oracle == "native"
    assert (stats.refuted, stats.entailed + stats.remembered, stats.unknown) == (2, 2, 0)
    assert stats.seconds > 0


def test_results_serialise_to_json(explainer, iris):
    for result in (
        explainer.abductive(iris.data.iloc[70]),
        explainer.contrastive(iris.data.iloc[70]),
        explainer.holds(iris.data.iloc[70], [0]),
    ):
        data = json.loads(json.dumps(result.to_dict()))
        assert data["label"] == "virginica"
        assert data["stats"]["oracle"] == "native"


def test_html_is_escaped():
    forest = tp.build_forest([tp.split("<b>", 0, "<i>", "ok")], columns=["<b>"], classes=["<i>", "ok"])
    explainer = tp.Explainer(forest)
    for result in (explainer.abductive([0]), explainer.contrastive([0])):
        page = result._repr_html_()
        assert "<i>" not in page
        assert "&lt;i&gt;" in page


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.abductive([1, 2, 3]), "must have 4 values"),
        (lambda e: e.abductive([1, 2, 3, np.nan]), "must not be missing"),
        (lambda e: e.abductive([1, 2, 3, np.inf]), "finite float32"),
        (lambda e: e.abductive([1, 2, 3, "x"]), "must be a number"),
        (lambda e: e.abductive([]), "must have 4 values"),
        (lambda e: e.abductive(np.zeros((2, 4))), "one row must be given"),
        (lambda e: e.abductive([1, 2, 3, 4], order="random"), "'order' parameter"),
        (lambda e: e.abductive([1, 2, 3, 4], prefer=["petal"]), "must be one of"),
        (lambda e: e.abductive([1, 2, 3, 4], prefer="petal"), "list of names"),
        (lambda e: e.abductive([1, 2, 3, 4], prefer=[4]), "between 0 and 3"),
        (lambda e: e.abductive([1, 2, 3, 4], timeout=-1), "'timeout' parameter"),
        (lambda e: e.abductive([1, 2, 3, 4], timeout="soon"), "'timeout' parameter"),
        (lambda e: e.abductive([1, 2, 3, 4], timeout=float("nan")), "'timeout' parameter"),
        (lambda e: e.contrastive([1, 2, 3, 4], target="rose"), "class must be one of"),
        (lambda e: e.contrastive([6, 3, 1, 0.2], target="setosa"), "is 'setosa' already"),
        (lambda e: e.enumerate([1, 2, 3, 4], kind="all"), "'kind' parameter"),
        (lambda e: e.enumerate([1, 2, 3, 4], limit=-1), "'limit' parameter"),
        (lambda e: e.enumerate([1, 2, 3, 4], limit=1.5), "'limit' parameter"),
        (lambda e: e.enumerate([1, 2, 3]), "must have 4 values"),
        (lambda e: e.holds([1, 2, 3, 4], [True]), "name or index"),
        (lambda e: e.encode([1, 2, 3, 4], format="lp"), "'format' parameter"),
        (lambda e: tp.Explainer(e.forest, oracle="magic"), "'oracle' parameter"),
        (lambda e: tp.Explainer(e.forest, preset="paper"), r"takes the options \['tabulate'\]"),
        (lambda e: tp.Explainer(e.forest, oracle="brute", preset="paper"), "takes no options"),
        (lambda e: tp.Explainer(e.forest, preset="paper"), "It is an option of oracle='sat'"),
        (lambda e: tp.Explainer(e.forest, treshold=0.5), "Got 'treshold'. Did you mean 'threshold'?"),
        (lambda e: e.abductive([1, 2, 3, float("nan")]), r"impute it, or declare it: Explainer\(model, missing="),
        (lambda e: tp.Explainer(e.forest, vote="plurality"), "'vote' parameter"),
        (lambda e: tp.Explainer(e.forest, kinds={"petal": "real"}), "must be one of"),
    ],
)
def test_bad_input_is_named(explainer, call, message):
    with pytest.raises(tp.InputError, match=message):
        call(explainer)


def test_the_sat_oracle_says_that_it_does_not_take_the_mean_vote(model):
    with pytest.raises(tp.UnsupportedQueryError, match="majority"):
        tp.Explainer(model, oracle="sat")


def test_the_exported_names_are_these():
    assert sorted(tp.__all__) == tp.__all__
    assert all(hasattr(tp, name) for name in tp.__all__)
    assert len(tp.__all__) == len(set(tp.__all__))


def test_at_a_prompt_results_show_what_they_print():
    forest, patient = tp.examples.heart_disease()
    explainer = tp.Explainer(forest)
    why = explainer.abductive(patient)
    assert repr(why) == (
        "<Abductive: Yes, because | blocked-arteries = 1 | chest-pain = 1 | "
        "Proved: these 2 of 4 features force the prediction; none of them can be dropped.>"
    )
    assert repr(why.rule[0]) == "<Condition: blocked-arteries > 0.5>"
    assert repr(explainer.space) == f"<Space: 4 features of {forest!r}>"
    listing = explainer.enumerate(patient)
    assert repr(listing) == "<Enumeration: 0 explanations so far | More may come: iterate over it.>"
    assert len(list(listing)) == 1
    assert repr(listing) == (
        "<Enumeration: 1 explanation | abductive: blocked-arteries, chest-pain | "
        "Proved: there are no others of the kind asked for.>"
    )
    for result in (explainer.contrastive(patient), explainer.relevance(patient), explainer.holds(patient, [0])):
        assert repr(result) == f"<{type(result).__name__}: {' | '.join(map(str.strip, str(result).splitlines()))}>"
