"""Relevance and attribution on random forests, against the families of all explanations."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from families import families, random_case
from treeproof.search import relevance

seeds = st.integers(0, 2**32 - 1)
votes = st.sampled_from(["majority", "mean"])


def check(explainer, row, result) -> None:
    """What is said of each feature is true, and what is given with it shows it."""
    axps, cxps = families(explainer, row)
    every, some = frozenset.intersection(*axps), frozenset().union(*axps)
    assert some == frozenset().union(*cxps)
    for entry in result.grades:
        f = entry.feature
        if entry.grade == "necessary":
            assert f in every
            assert explainer.forest.predict([entry.witness])[0] == entry.witness_label != result.label
            columns = explainer.space.features[f].columns
            assert all(
                old == new or i in columns
                for i, (old, new) in enumerate(zip(result.instance, entry.witness, strict=True))
            )
            assert str(entry.change).startswith(f"{entry.name}: ")
        elif entry.grade == "relevant":
            assert f in some - every
            assert f in entry.explanation
            assert frozenset(entry.explanation) in axps
        elif entry.grade == "irrelevant":
            assert f not in some
        else:
            assert result.status == "incomplete"


@given(seeds, votes)
@settings(max_examples=75, deadline=None)
def test_features_are_necessary_relevant_or_irrelevant(seed, vote):
    explainer, row = random_case(seed, vote)
    result = explainer.relevance(row)
    assert result.status == "complete"
    assert result.unknown == ()
    check(explainer, row, result)


def test_at_a_deadline_what_is_said_is_true():
    statuses = set()
    for seed in range(60):
        explainer, row = random_case(seed, "majority", tabulate=False)
        for timeout in (0, 1e-4, 5e-4, 60):
            result = explainer.relevance(row, timeout=timeout)
            statuses.add(result.status)
            check(explainer, row, result)
    assert statuses == {"complete", "incomplete"}


@given(seeds, votes)
@settings(max_examples=50, deadline=None)
def test_attribution_counts_every_explanation(seed, vote):
    explainer, row = random_case(seed, vote)
    axps, cxps = families(explainer, row)
    result = explainer.attribution(row)
    assert result.status == "complete"
    assert (result.n_abductive, result.n_contrastive) == (len(axps), len(cxps))
    for f in range(explainer.space.n_features):
        assert result.counts[f] == sum(f in axp for axp in axps)
        assert result.shares[f] == Fraction(sum(f in axp for axp in axps), len(axps))
    for limit in (0, 1, 2, len(axps) + 1):
        part = explainer.attribution(row, limit=limit)
        assert part.n_abductive == min(limit, len(axps))
        assert part.complete == (limit > len(axps))
        first = [axp.features for axp in explainer.enumerate(row, limit=limit)]
        assert part.counts == tuple(sum(f in axp for axp in first) for f in range(explainer.space.n_features))


@pytest.mark.parametrize("vote", ["majority", "mean"])
def test_every_oracle_says_the_same(vote):
    for seed in range(8):
        found = []
        for oracle in ("native", "brute", "smt", *(["sat"] if vote == "majority" else [])):
            explainer, row = random_case(seed, vote, oracle=oracle)
            relevance, attribution = explainer.relevance(row), explainer.attribution(row)
            sequence = [(type(e).__name__, e.features) for e in explainer.enumerate(row, kind="both")]
            grades = [(entry.grade, entry.explanation) for entry in relevance.grades]
            found.append((grades, attribution.counts, sequence))
        assert all(other == found[0] for other in found)


@pytest.mark.parametrize(("oracle", "effort"), [("native", 100), ("native", 1), ("brute", 1)])
def test_single_features_are_decided_where_they_can_help_a_rival(oracle, effort, monkeypatch):
    monkeypatch.setattr(relevance, "_PATIENCE", 0)  # after the first explanation, for all features that are unknown
    monkeypatch.setattr(relevance, "_EFFORT", effort)  # so few sets that a box is looked at more than once
    looked_at = []
    search = relevance._with_target
    monkeypatch.setattr(relevance, "_with_target", lambda *args: looked_at.append(search(*args)) or looked_at[-1])
    for seed in range(40):
        explainer, row = random_case(seed, "majority", oracle=oracle)
        result = explainer.relevance(row)
        assert result.status == "complete"
        check(explainer, row, result)
    assert any(found is None for found in looked_at)
    assert any(found is not None for found in looked_at)
