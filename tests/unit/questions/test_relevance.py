"""Relevance and attribution: what they print and hand over, what they refuse, and what a deadline leaves."""

from __future__ import annotations

import json

import pytest

import treeproof as tp
from generators import hard_forest


@pytest.fixture
def explainer():
    """a is in every explanation of all ones, b or c is in each, d in none, and e is not used."""
    trees = ["no", "no", tp.split("a", 0, "no", "yes"), tp.split("a", 0, "no", "yes")]
    trees += [tp.split("b", 0, "no", "yes"), tp.split("c", 0, "no", "yes"), tp.split("d", 0, "yes", "yes")]
    return tp.Explainer(tp.build_forest(trees, columns=list("abcde"), classes=["no", "yes"]), tabulate=False)


def test_each_feature_is_graded_with_what_shows_it(explainer):
    result = explainer.relevance([1] * 5)
    assert (result.necessary, result.relevant, result.irrelevant) == (("a",), ("b", "c"), ("d", "e"))
    assert result.status == "complete"
    by_name = {entry.name: entry for entry in result.grades}
    assert by_name["a"].witness_label == "no"
    assert by_name["b"].explanation == (0, 1)
    assert str(result) == (
        "yes, for which\n"
        "  necessary: a (1 -> 0 gives no)\n"
        "  relevant: b, c\n"
        "  irrelevant: d, e\n"
        "Proved: in every explanation 1 of 5 features, in some 2, in none 2."
    )
    assert "necessary: a" in result._repr_html_()
    plain = json.loads(json.dumps(result.to_dict()))
    assert plain["kind"] == "relevance"
    assert plain["grades"][1]["explanation"] == [0, 1]


def test_shares_are_exact_and_ranked(explainer):
    result = explainer.attribution([1] * 5)
    assert result.complete
    assert (result.n_abductive, result.n_contrastive) == (2, 2)
    assert result.counts == (2, 1, 1, 0, 0)
    assert result.shares == (1, 0.5, 0.5, 0, 0)
    assert "100 %  2  a" in str(result)
    assert "all 2 abductive explanations" in result._repr_html_()
    plain = json.loads(json.dumps(result.to_dict()))
    assert plain["shares"] == [1, 0.5, 0.5, 0, 0]
    first = explainer.attribution([1] * 5, limit=1)
    assert first.status == "limited"
    assert "of whose first 1 explanation\n" in str(first)
    assert "as many as asked for" in str(first)


def test_a_forest_of_one_label_rests_on_nothing():
    explainer = tp.Explainer(tp.build_forest([1], columns=["a"], classes=[0, 1]))
    assert explainer.relevance([3]).irrelevant == ("a",)
    result = explainer.attribution([3])
    assert (result.n_abductive, result.n_contrastive, result.counts) == (1, 0, (0,))
    assert result.complete


def test_bad_arguments_are_refused(explainer):
    for limit in (-1, 1.5, True, "2"):
        with pytest.raises(tp.InputError, match="'limit' parameter"):
            explainer.attribution([1] * 5, limit=limit)
    for ask in (explainer.attribution, explainer.relevance):
        with pytest.raises(tp.InputError, match="'timeout' parameter"):
            ask([1] * 5, timeout=-1)


def test_a_deadline_leaves_what_was_proved():
    forest, X = hard_forest()
    explainer = tp.Explainer(forest)
    result = explainer.relevance(X[0], timeout=0.2)
    assert result.status == "incomplete"
    assert f"before {len(result.unknown)} of them were decided" in str(result)
    shares = explainer.attribution(X[0], timeout=0.2)
    assert shares.status == "incomplete"
    assert "timed out" in str(shares).lower()
