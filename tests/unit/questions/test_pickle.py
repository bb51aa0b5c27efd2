"""Explainers in other processes and in several threads: the same answers, to the last feature."""

from __future__ import annotations

import copy
import logging
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import treeproof as tp

X, Y = load_iris(return_X_y=True)


def make(oracle: str = "native", **options) -> tp.Explainer:
    model = RandomForestClassifier(8, max_depth=3, random_state=0).fit(X, Y)
    return tp.Explainer(model, vote="majority", oracle=oracle, **options)


def again(explainer: tp.Explainer) -> tp.Explainer:
    return pickle.loads(pickle.dumps(explainer))


def explain(explainer: tp.Explainer, i: int) -> tuple[int, ...]:
    return explainer.abductive(X[i]).features


@pytest.mark.parametrize(
    ("oracle", "options"),
    [
        ("native", {}),
        ("native", {"verify": True}),
        ("sat", {"preset": "paper"}),
        ("smt", {}),
        ("native", {"kinds": {0: "ordinal"}, "bounds": {1: (0, 10)}, "constraints": ["if x2 > 3 then x3 > 0.1"]}),
    ],
)
def test_an_explainer_survives_a_pickle(oracle, options):
    explainer = make(oracle, **options)
    row = np.round(X[70])
    before = explainer.abductive(row)  # an oracle in use, with solvers and locks
    explainer.contrastive(row)
    other = again(explainer)
    assert other.abductive(row) == before
    assert other.contrastive(row) == explainer.contrastive(row)
    assert other.space.names == explainer.space.names
    assert repr(other) == repr(explainer)
    assert again(other).abductive(row) == before


def test_its_forest_stays_immutable():
    forest = again(make()).forest
    assert forest == make().forest
    for array in (forest.threshold, forest.values, forest.classes, forest.left):
        assert not array.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        forest.threshold[0] = 0


def test_a_result_of_a_pickled_explainer_has_a_certificate():
    assert "Checked" in str(again(make()).abductive(X[70]).certificate().check())


def test_statements_about_regressors_survive_too():
    data, y = load_diabetes(return_X_y=True)
    model = RandomForestRegressor(5, max_depth=3, random_state=0).fit(data, y)
    explainer = again(tp.Explainer(model))
    with pytest.raises(tp.InputError, match="regressor"):
        explainer.abductive(data[0])
    near = explainer.around(data[0], 50)
    assert again(near).abductive(data[0]) == near.abductive(data[0])
    cut = tp.Explainer(model, cuts=[100, 200])
    assert again(cut).abductive(data[3]) == cut.abductive(data[3])


def test_a_pipeline_and_named_values_survive():
    model = make_pipeline(StandardScaler(), RandomForestClassifier(5, max_depth=3, random_state=0)).fit(X, Y)
    explainer = tp.Explainer(model, data=X, domain="observed")
    assert again(explainer).abductive(X[60]) == explainer.abductive(X[60])


def test_a_copy_shares_the_core_and_a_deep_copy_works():
    explainer = make()
    assert copy.copy(explainer)._context is explainer._context
    assert explain(copy.deepcopy(explainer), 70) == explain(explainer, 70)


def test_in_another_process():
    explainer = make()
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("forkserver")) as pool:
        assert pool.submit(explainer.abductive, X[70]).result(timeout=60) == explainer.abductive(X[70])


@pytest.mark.parametrize("options", [{}, {"verify": True}])
def test_all_questions_may_come_from_several_threads(options):
    explainer = make(**options)
    questions = [
        lambda e, x: e.abductive(x),
        lambda e, x: e.contrastive(x),
        lambda e, x: e.relevance(x).necessary,
        lambda e, x: [found.features for found in e.enumerate(x, kind="both")],
        lambda e, x: e.holds(x, [2, 3]).holds,
        lambda e, x: e.robustness(x).proved,
    ]
    tasks = [(question, X[i]) for i in (0, 60, 70, 120) for question in questions]
    expected = [question(make(**options), x) for question, x in tasks]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda task: task[0](explainer, task[1]), tasks)) == expected


def test_the_library_logs_to_its_own_logger_and_prints_nothing(capsys):
    assert any(isinstance(handler, logging.NullHandler) for handler in logging.getLogger("treeproof").handlers)
    make().batch(X[:3])
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_what_is_logged(caplog):
    with caplog.at_level(logging.DEBUG, logger="treeproof"):
        make().batch(X[:3])
    assert {record.name.partition(".")[0] for record in caplog.records} == {"treeproof"}
    assert [record.levelname for record in caplog.records] == ["DEBUG", "INFO"]
    assert "native oracle" in caplog.text
    assert "3 rows explained in" in caplog.text
