"""Rows that are asked about together get, to the letter, what each gets alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treeproof as tp
from generators import THRESHOLDS, random_forest, random_row
from treeproof.questions.arrow import as_table
from treeproof.questions.together import Found

OPTIONS: list[dict[str, Any]] = [
    {},
    {"order": "index"},
    {"prefer": ["c1"]},
    {"order": "row"},
    {"tries": 3},
    {"inflate": True},
    {"inflate": "unions"},
    {"minimum": True},
    {"minimum": True, "cost": {"c2": 3}},
    {"within": 0.25},
    {"at_most": 1},
    {"kind": "contrastive"},
    {"kind": "contrastive", "fixed": ["c1"]},
    {"kind": "contrastive", "minimum": True},
]
TOGETHER = 3  # the first ones


def random_explainer(rng: np.random.Generator) -> tp.Explainer:
    forest = random_forest(
        rng,
        vote=str(rng.choice(["majority", "mean", "sum"])),
        n_classes=int(rng.integers(2, 5)),
        categorical=bool(rng.random() < 0.4),
        missing=bool(rng.random() < 0.4),
        dtype=str(rng.choice(["float32", "float64"])),
    )
    declared: dict[str, Any] = {"tabulate": bool(rng.random() < 0.2)}
    if rng.random() < 0.3:
        declared["bounds"] = {"c2": (-2.0, 0.5)}  # some rows are outside
    if rng.random() < 0.3:
        declared["constraints"] = [f"c1 <= {float(rng.choice(THRESHOLDS))!r} or c2 <= 0.5"]  # some rows break it
    if rng.random() < 0.2:
        declared["names"] = {0: "none", 1: "one"}
    if rng.random() < 0.2:
        declared["groups"] = {"both": ["c1", "c3"]}
    return tp.Explainer(forest, **declared)


def random_rows(rng: np.random.Generator, explainer: tp.Explainer) -> list[Any]:
    rows = [random_row(rng, explainer.forest) for _ in range(rng.integers(1, 8))]
    rows += [rows[i] for i in rng.integers(0, len(rows), 3)]
    if rng.random() < 0.3:
        rows[0] = [*rows[0][:-1], "no number"]
    return rows


def alone(explainer: tp.Explainer, row: Any, i: int, options: dict[str, Any]) -> Any:
    rest = {name: value for name, value in options.items() if name != "kind"}
    try:
        return explainer.contrastive(row, **rest) if "kind" in options else explainer.abductive(row, **rest)
    except tp.InputError as error:
        error.row = i
        return error


def said(result: Any) -> Any:
    """All that can be noticed of a result, but for the way to it."""
    if isinstance(result, Exception):
        return type(result), str(result), result.row
    return result, str(result), result.stats.oracle, result.stats.unknown


@given(st.integers(0, 2**32 - 1), st.integers(0, len(OPTIONS) - 1))
@settings(max_examples=125, deadline=None)
def test_a_batch_gives_what_each_row_gets_alone(seed, which):
    rng = np.random.default_rng(seed)
    explainer, options = random_explainer(rng), OPTIONS[which]
    rows = random_rows(rng, explainer)
    found = explainer.batch(rows, on_error="return", **options)
    expected = [alone(explainer, row, i, options) for i, row in enumerate(rows)]
    assert [said(result) for result in found] == [said(result) for result in expected]
    grouped = bool(explainer._context.groups)
    together = [part for part in getattr(found.results, "parts", []) if isinstance(part, Found)]
    assert bool(together) == (which < TOGETHER and not grouped)
    pytest.importorskip("pyarrow")
    table = found.to_arrow()
    one_by_one = as_table(list(found), found._scores, explainer._context.labels)
    assert table.drop_columns("row").equals(one_by_one)
    assert table.schema.remove(0) == one_by_one.schema


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_a_score_is_the_sum_that_decided(seed):
    rng = np.random.default_rng(seed)
    explainer = random_explainer(rng)
    rows = [row for row in random_rows(rng, explainer) if "no number" not in row]
    forest = explainer.forest
    if forest.vote == "mean" and rng.random() < 0.5:  # each tree votes for the class of its largest value
        forest = forest.with_vote("majority")
        explainer = tp.Explainer(forest)
    for options in ({}, {"order": "row"}):  # together, and one by one
        batch = explainer.batch(rows, on_error="return", **options)
        for row, why, score in zip(rows, batch, batch._scores, strict=True):
            if isinstance(why, Exception):
                assert score is None
                continue
            leaves = forest.apply([row])
            k = explainer._context.class_index(why.label)
            if forest.vote == "majority":
                assert score == (forest.leaf_class[leaves[0]] == k).sum()
            else:
                sums = forest.add(leaves)[0]
                np.testing.assert_array_equal(score, sums[0] if len(sums) == 1 else sums[k])
