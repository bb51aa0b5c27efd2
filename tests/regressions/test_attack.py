"""A short attack of every kind, and whether the judge of certificates sees what is false."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest

import treeproof as tp
from attack.judge import Judge
from attack.judge_pairs import ModelsJudge, PairJudge
from treeproof.model.decision import Sums

TESTS = Path(__file__).parents[1]


@pytest.mark.slow
def test_a_short_attack_finds_nothing():
    kinds = ["certificates", "arguments", "tables", "threads", "interrupts"]
    words = ["--kind", *kinds, "--rounds", "1", "--cases", "2", "--seed", "3"]
    done = subprocess.run(
        [sys.executable, "-m", "attack", *words],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(f"{kind}: 1 rounds" in done.stdout for kind in kinds)


def loan() -> tuple[tp.Forest, list[float]]:
    trees = [tp.split("age", 25, "no", "yes"), tp.split("income", 20, "no", "yes"), tp.split("debt", 5, "yes", "no")]
    return tp.build_forest(trees, columns=["age", "income", "debt"], classes=["no", "yes"]), [30.0, 30.0, 9.0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"conditions": []}, "not so at"),
        ({"conditions": ["age >= 24", "income >= 20.000002"]}, "not so at"),
        ({"conditions": ["age >= 27", "income >= 20.000002"]}, "may be widened"),
        ({"row": ["age = 24", "income = 30", "debt = 4"]}, "does not satisfy"),
        ({"text": "age, income force the label no"}, "not so at"),
        ({"text": "age, income force the label yes; nothing else matters"}, "does not understand"),
    ],
)
def test_the_judge_sees_what_is_false(change, said):
    forest, row = loan()
    checked = tp.Explainer(forest).abductive(row, inflate=True).certificate().check()
    judge = Judge(forest, forest.predict)
    assert judge.verdict(checked) == []
    assert any(said in problem for problem in judge.verdict(dataclasses.replace(checked, **change)))


def test_the_judge_sees_a_change_that_changes_nothing():
    forest, row = loan()
    checked = tp.Explainer(forest).contrastive(row).certificate().check()
    judge = Judge(forest, forest.predict)
    assert judge.verdict(checked) == []
    same = dataclasses.replace(
        checked, conditions=[line.partition(" -> ")[0] + " -> 30" for line in checked.conditions]
    )
    assert any("gives the label yes" in problem for problem in judge.verdict(same))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"conditions": ["reason: age, income", "change: age", "in none of them: debt"]},
            "the minimal sets are changes",
        ),
        ({"conditions": ["reason: age", "change: age", "change: income"]}, "the minimal sets are reasons"),
        ({"conditions": ["reason: age, income", "change: age", "change: income"]}, "in none of them are"),
        ({"row": ["age = 30", "income = 30", "debt = 4"]}, "the minimal sets are"),
        ({"row": ["age = 20", "income = 20", "debt = 9"]}, "the row has the label no"),
        ({"space": ["age: only from 26 to 40"]}, "the minimal sets are"),
        ({"space": ["age: only from 40 to 50"]}, "the row is not in the space"),
        ({"text": "these are all reasons"}, "does not understand"),
    ],
)
def test_the_judge_sees_a_list_that_is_not_complete(change, said):
    forest, row = loan()
    listing = tp.Explainer(forest).enumerate(row, kind="both")
    assert len(list(listing)) == 3
    checked = listing.certificate().check()
    judge = Judge(forest, forest.predict)
    assert judge.verdict(checked) == []
    assert any(said in problem for problem in judge.verdict(dataclasses.replace(checked, **change)))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("a change of age alone", "a change of debt alone", "age is changed too"),
        ("a change of age alone", "a change of age, income alone", "not so at"),
        ("in 1; in 1 none", "in 2; in 0 none", "counted wrongly"),
        (
            "no other label than yes: age = 30, income = 30",
            "no other label than yes: age = 3, income = 3",
            "with the label",
        ),
        ("age: 30 -> 25", "age: 30 -> 26", "has the label yes"),
        ("age: 30 -> 25", "age: 29 -> 25", "age is not 29 in the row"),
        ("no if age", "yes if age", "has the label no"),
        ("no if age", "who knows: age", "does not understand"),
    ],
)
def test_the_judge_sees_a_false_audit(before, after, said):
    forest, row = loan()
    checked = tp.Explainer(forest).audit([row, [30.0, 30.0, 4.0]], protected=["age"]).certificate().check()
    judge = Judge(forest, forest.predict)
    assert judge.verdict(checked) == []
    assert any(before in line for line in [checked.text, *checked.conditions])
    false = dataclasses.replace(
        checked,
        text=checked.text.replace(before, after),
        conditions=[line.replace(before, after) for line in checked.conditions],
    )
    assert any(said in problem for problem in judge.verdict(false))


@pytest.mark.parametrize(
    ("ask", "before", "after", "said"),
    [
        ("effect", "by 0.333334", "by 0.3", "by 0.33"),
        ("effect", "in age alone", "in age, income alone", "by 0.66"),
        ("effect", "no two inputs that", "all inputs that", "does not understand"),
        ("monotone", "falls", "rises", "by 0.33"),
        ("monotone", "age", "debt", "by 0.33"),
        ("independent", "age", "income", "not so at"),
    ],
)
def test_the_judge_sees_a_false_claim_about_pairs(ask, before, after, said):
    forest, _ = loan()
    explainer = tp.Explainer(forest, bounds={"income": (0, 10), "debt": (6, 9)} if ask == "independent" else None)
    questions = {"effect": explainer.effect, "monotone": explainer.monotone, "independent": explainer.independent}
    checked = questions[ask]("age").certificate().check()
    judge = PairJudge(forest, forest.predict)
    assert judge.verdict(checked) == []
    changed = {"space": [], "text": checked.text.replace(before, after)}
    assert changed["text"] != checked.text
    assert any(said in problem for problem in judge.verdict(dataclasses.replace(checked, **changed)))


def test_the_judge_sees_a_false_claim_about_two_models():
    forest, _ = loan()
    same = dataclasses.replace(forest, importances=forest.importances / 2)
    other = dataclasses.replace(forest, threshold=forest.threshold + 1)
    labels = tp.differ(forest, same).certificate().check()
    far = "the share of the votes for yes differs by less than 0.3 between the two models, for every input"
    for checked, said in ((labels, "not so at"), (dataclasses.replace(labels, text=far), "by 0.6666")):
        assert ModelsJudge(forest, forest.predict, same, same.predict).verdict(checked) == []
        (problem,) = ModelsJudge(forest, forest.predict, other, other.predict).verdict(checked)
        assert said in problem


def test_no_certificate_about_pairs_where_sums_may_overflow_is_said_by_an_error_of_ours():
    trees = [tp.split("x", 0.5, tp.leaf([1e308]), tp.leaf([-1e308])) for _ in range(3)]
    forest = tp.build_forest(trees, columns=["x"], classes=["no", "yes"], vote="sum", sums=Sums((0.0,), cuts=(0.0,)))
    with pytest.raises(tp.UnsupportedQueryError, match="There is no certificate for this result"):
        tp.Explainer(forest).effect("x").certificate()
