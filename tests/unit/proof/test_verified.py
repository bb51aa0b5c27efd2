"""verify=True: the same answers, and an error instead of a wrong one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

import treeproof as tp
from generators import random_forest, random_row
from treeproof import _core
from treeproof.errors import InputError, InternalError
from treeproof.oracles.native import NativeOracle
from treeproof.proof import certificate
from treeproof.proof.verified import VerifiedOracle
from treeproof.query.oracle import Entailed, Proof, Query, Refuted, Stays, fix

X, Y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def model():
    return RandomForestClassifier(15, max_depth=3, random_state=0).fit(X, Y)


def questions(explainer: tp.Explainer, row) -> list[str]:
    """What an explainer says to every kind of question."""
    return [
        str(explainer.abductive(row)),
        str(explainer.abductive(row, minimum=True)),
        str(explainer.abductive(row, inflate=True)),
        str(explainer.contrastive(row)),
        str([(type(e).__name__, e.features) for e in explainer.enumerate(row, kind="both")]),
        str(explainer.relevance(row)),
        str(explainer.robustness(row)),
        str(explainer.holds(row, [2])),
    ]


@pytest.mark.parametrize("kind", [RandomForestClassifier, GradientBoostingClassifier])
def test_checked_answers_are_the_same(kind):
    fitted = kind(n_estimators=8, max_depth=3, random_state=0).fit(X, Y)
    for row in X[[0, 70, 140]]:
        assert questions(tp.Explainer(fitted, verify=True), row) == questions(tp.Explainer(fitted), row)


def test_checked_answers_of_random_forests_are_the_same():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        vote = ("majority", "mean", "sum")[seed % 3]
        forest = random_forest(rng, vote=vote, n_classes=3, missing=vote == "sum")
        row = random_row(rng, forest)
        checked, plain = (tp.Explainer(forest, verify=verify, tabulate=False) for verify in (True, False))
        assert checked.contrastive(row).features == plain.contrastive(row).features
        assert str(checked.relevance(row)) == str(plain.relevance(row))


def test_a_bound_at_the_deadline_rests_on_checked_answers_too(model):
    late = tp.Explainer(model, verify=True).abductive(X[70], minimum=True, timeout=0)
    assert (late.stats.oracle, late.status) == ("verified", "sound")
    proved = tp.Explainer(model, verify=True).abductive(X[70], minimum=True)
    assert (proved.stats.oracle, proved.status) == ("verified", "minimum")


def test_only_the_native_oracle_can_be_verified(model):
    with pytest.raises(InputError, match="Only the native oracle"):
        tp.Explainer(model, vote="majority", oracle="sat", verify=True)


def test_the_core_reads_the_forest_once(model, monkeypatch):
    made = []
    make = _core.make_forest
    monkeypatch.setattr(_core, "make_forest", lambda **fields: made.append(1) or make(**fields))
    explainer = tp.Explainer(model, verify=True)
    explainer.abductive(X[70])
    for result in (explainer.abductive(X[70], minimum=True), explainer.contrastive(X[70])):
        assert tp.check(result.certificate(), explainer.forest)
    assert len(made) == 1


class TestALyingCore:
    """What the native oracle says is changed on its way to the checker."""

    @pytest.mark.parametrize("kept", [range(0), range(4)], ids=["too few", "too many"])
    def test_that_keeps_other_features_is_caught(self, model, monkeypatch, kept):
        explainer = tp.Explainer(model, verify=True)
        delete = NativeOracle.delete
        monkeypatch.setattr(
            NativeOracle,
            "delete",
            lambda *args, **kwargs: replace(delete(*args, **kwargs), features=frozenset(kept)),
        )
        with pytest.raises(InternalError, match="report this"):
            explainer.abductive(X[70])

    def test_that_gives_a_proof_without_a_rival_is_caught(self, model, monkeypatch):
        explainer = tp.Explainer(model, verify=True)
        monkeypatch.setattr(NativeOracle, "prove", lambda *_, **__: Proof([], [[]]))
        monkeypatch.setattr(certificate, "LIST_UP_TO", 0)
        with pytest.raises(InternalError, match="No proof excludes"):
            explainer.abductive(X[70])
        with pytest.raises(InternalError, match="No proof excludes"):
            explainer.holds(X[70], range(4))

    def test_that_gives_a_wrong_label_is_caught(self, model, monkeypatch):
        explainer = tp.Explainer(model, verify=True)
        label = NativeOracle.label
        monkeypatch.setattr(NativeOracle, "label", lambda *args: 2 - label(*args))
        with pytest.raises(InternalError, match="does not accept a label"):
            explainer.abductive(X[0])
        with pytest.raises(InternalError, match="does not accept a label"):
            explainer.contrastive(X[0])

    @pytest.fixture
    def lying(self, model, monkeypatch):
        """A verified oracle, a query that is entailed and one that is refuted, and a way to lie about both."""
        context = tp.Explainer(model)._context
        oracle = VerifiedOracle(context)
        point = context.instance(X[70]).point
        label = context.cells.label(point)
        entailed = Query(fix(context.cells, point, range(4)), Stays(label))
        refuted = Query(context.cells.full, Stays(label))
        assert isinstance(oracle.decide(entailed), Entailed)
        assert isinstance(oracle.decide(refuted), Refuted)
        return oracle, entailed, refuted, lambda answer: monkeypatch.setattr(NativeOracle, "decide", lambda *_: answer)

    def test_that_says_entailed_of_what_is_refuted_is_caught(self, lying):
        oracle, _, refuted, say = lying
        say(Entailed(frozenset()))
        with pytest.raises(InternalError, match="no proof"):
            oracle.decide(refuted)

    def test_that_gives_too_small_a_core_is_caught(self, lying):
        oracle, entailed, _, say = lying
        say(Entailed(frozenset()))
        with pytest.raises(InternalError, match="no proof"):
            oracle.decide(entailed)

    def test_that_gives_a_wrong_witness_is_caught(self, lying):
        oracle, entailed, refuted, say = lying
        answer = oracle.decide(refuted)
        assert isinstance(answer, Refuted)
        say(replace(answer, label=3 - answer.label - entailed.claim.label))  # the third class
        with pytest.raises(InternalError, match="has the label"):
            oracle.decide(refuted)
        say(answer)  # right, but outside the domains of this query
        with pytest.raises(InternalError, match="lies outside"):
            oracle.decide(entailed)
