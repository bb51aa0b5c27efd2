"""Explanations under rules between features, against enumeration of the inputs that keep them."""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treeproof as tp
from generators import THRESHOLDS, holds, random_forest, random_row
from treeproof.model.rows import as_row
from treeproof.query.cells import CellForest, discretise
from treeproof.query.oracle import Query, Stays, fix


def random_rule(rng: np.random.Generator, forest: tp.Forest) -> str:
    def condition() -> str:
        column = forest.columns[rng.integers(len(forest.columns))]
        if column.categories is not None:
            return f"{column.name} {'=' if rng.random() < 0.5 else '!='} {rng.choice(column.categories)}"
        sign = str(rng.choice(["<=", "<", ">", ">=", "=", "!="]))
        return f"{column.name} {sign} {float(rng.choice([*THRESHOLDS, 0.3]))!r}"

    if rng.random() < 0.6:
        return f"if {condition()} then {condition()} or {condition()}"
    return " or ".join(condition() for _ in range(rng.integers(1, 4)))


def random_case(seed: int, vote: str, **options) -> tuple[tp.Explainer, list]:
    rng = np.random.default_rng(seed)
    for _ in range(50):
        forest = random_forest(rng, vote=vote, n_classes=int(rng.integers(2, 5)), categorical=bool(rng.random() < 0.4))
        rules = [random_rule(rng, forest) for _ in range(rng.integers(1, 4))]
        try:
            explainer = tp.Explainer(forest, constraints=rules, **options)
            row = random_row(rng, forest)
            explainer.holds(row, [])
        except tp.InputError:
            continue  # a rule that nothing keeps, or a row that breaks one
        return explainer, row
    raise AssertionError("no case found")


@lru_cache(maxsize=1)
def cells_of(explainer: tp.Explainer) -> CellForest:
    return discretise(explainer.space)


def sufficient(explainer: tp.Explainer, row, features, rules=None) -> bool:
    space = explainer.space
    cells = cells_of(explainer)
    if rules is not None:
        kept = [clause for i, clause in space.clauses if space.constraints[i].text in rules]
        cells = type(cells)(**{**vars(cells), "clauses": tuple(kept)})
    point = space.cells(as_row(row, explainer.forest.columns))
    return holds(cells, Query(fix(cells, point, features), Stays(cells.label(point))))


@given(st.integers(0, 2**32 - 1), st.sampled_from(["majority", "mean"]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_explanations_are_about_the_inputs_that_keep_the_rules(seed, vote, tabulate):
    explainer, row = random_case(seed, vote, tabulate=tabulate)
    why = explainer.abductive(row)
    assert sufficient(explainer, row, why.features, why.constraints)
    assert not any(sufficient(explainer, row, set(why.features) - {f}) for f in why.features)
    change = explainer.contrastive(row)
    if change.status == "impossible":
        assert sufficient(explainer, row, [])
        return
    assert explainer.forest.predict([list(change.witness)])[0] == change.witness_label != change.label
    explainer.holds(change.witness, [])  # it keeps the rules, or this would be an InputError
    everything = set(range(explainer.space.n_features))
    assert all(sufficient(explainer, row, everything - set(change.features) | {f}) for f in change.features)


@pytest.mark.parametrize("seed", range(40))
def test_all_explanations_are_the_same_on_every_oracle(seed):
    listed = []
    first, row = random_case(seed, "majority")
    rules = [constraint.text for constraint in first.space.constraints]
    for oracle in ("native", "sat", "smt", "brute"):
        explainer = tp.Explainer(first.forest, constraints=rules, oracle=oracle)
        results = list(explainer.enumerate(row, kind="both"))
        listed.append({(type(result).__name__, result.features) for result in results})
        for why in results:
            if isinstance(why, tp.Abductive):
                assert sufficient(explainer, row, why.features, why.constraints)
    assert all(found == listed[0] for found in listed)
    sets = {kind: [set(f) for k, f in listed[0] if k == kind] for kind in ("Abductive", "Contrastive")}
    assert all(a & c for a, c in itertools.product(sets["Abductive"], sets["Contrastive"]))
