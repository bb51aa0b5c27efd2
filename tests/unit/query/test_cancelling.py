"""Every question ends soon after another thread has cancelled it, and leaves the explainer as good as before."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import treeproof as tp

SOON = 1.0  # seconds; 50 ms on an idle machine (see bench/treeproof_bench/workbench.py), tests share theirs


@pytest.fixture(scope="module")
def hard() -> tuple[tp.Explainer, Any]:
    X, y = make_classification(400, 200, n_informative=30, n_redundant=0, random_state=0)
    return tp.Explainer(RandomForestClassifier(60, random_state=0, max_depth=8).fit(X, y), data=X), X


@pytest.fixture(scope="module")
def boosted() -> tuple[tp.Explainer, Any]:
    """The range of its score takes long; that of a vote does not."""
    X, y = make_classification(1000, 20, n_informative=15, n_redundant=0, random_state=0)
    return tp.Explainer(HistGradientBoostingClassifier(max_iter=100, random_state=0).fit(X, y), data=X), X


QUESTIONS: dict[str, Callable[[tp.Explainer, Any], Any]] = {
    "abductive": lambda explainer, X: explainer.abductive(X[0], minimum=True),
    "profile": lambda explainer, X: explainer.profile(X[0]),
    "contrastives": lambda explainer, X: explainer.contrastives(X[0], 30),
    "robustness": lambda explainer, X: explainer.robustness(X[0], "l1"),
    "enumerate": lambda explainer, X: list(explainer.enumerate(X[0], kind="both")),
    "relevance": lambda explainer, X: explainer.relevance(X[0]),
    "attribution": lambda explainer, X: explainer.attribution(X[0]),
    "most_general": lambda explainer, X: explainer.most_general(X[0], X),
    "extremes": lambda explainer, X: explainer.extremes(),
    "batch": lambda explainer, X: explainer.batch(X, n_jobs=2, on_error="return", minimum=True),
    "rules": lambda explainer, X: explainer.rules(X),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_cancelled_question_ends(hard: tuple[tp.Explainer, Any], boosted: tuple[tp.Explainer, Any], name: str):
    explainer, X = boosted if name == "extremes" else hard
    cancel = tp.Cancel()
    ended: list[float] = []

    def stop() -> None:
        ended.append(time.monotonic())
        cancel.set()

    timer = threading.Timer(0.02, stop)
    timer.start()
    with pytest.raises(tp.Cancelled), tp.cancelling(cancel):
        QUESTIONS[name](explainer, X)
    assert time.monotonic() - ended[0] < SOON
    timer.join()


def test_an_answer_after_a_cancelled_question_is_the_same(hard: tuple[tp.Explainer, Any]):
    explainer, X = hard
    before = explainer.abductive(X[1])
    cancel = tp.Cancel()
    cancel.set()
    with pytest.raises(tp.Cancelled), tp.cancelling(cancel):
        explainer.abductive(X[1])
    assert explainer.abductive(X[1]) == before


def test_only_the_thread_that_asked_is_cancelled():
    forest, patient = tp.examples.heart_disease()
    explainer = tp.Explainer(forest)
    cancel = tp.Cancel()
    answers: list[Any] = []
    with tp.cancelling(cancel):
        cancel.set()
        thread = threading.Thread(target=lambda: answers.append(explainer.abductive(patient)))
        thread.start()
        thread.join()
        with pytest.raises(tp.Cancelled):
            explainer.abductive(np.array(patient))
    assert answers == [explainer.abductive(patient)]
