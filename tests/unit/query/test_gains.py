"""What each feature, changed alone, brings a rival forward, against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import treeproof as tp
from generators import cell_forests
from treeproof.query.gains import largest_gains


@pytest.mark.parametrize("vote", ["majority", "mean", "sum"])
def test_gains_are_those_of_every_single_change(vote):
    signs = set()
    for seed, forest in enumerate(cell_forests(100, seed=5, vote=vote, n_columns=4)):
        rng = np.random.default_rng(seed)
        point = tuple(rng.integers(forest.n_cells).tolist())
        label = forest.label(point)

        def ahead(cells: list[int], forest=forest, label=label) -> np.ndarray:
            sums = forest.scores[forest.leaves(cells)].sum(axis=0)
            return np.delete(sums - sums[label], label)

        gains = largest_gains(forest, point, label)
        for f, n in enumerate(forest.n_cells):
            changed = [[*point[:f], cell, *point[f + 1 :]] for cell in range(n) if cell != point[f]]
            steps = [int(step) for each in changed for step in ahead(each) - ahead(list(point))]
            most = max(steps, default=-(2**63))  # no other cell, or no other class
            assert gains[f] == most
            signs.add((not forest.ordered[f], forest.gapped[f], np.sign(most)))
    assert {(named, gapped) for named, gapped, _ in signs} >= {(False, False), (True, False)}
    assert (vote == "sum") == any(gapped for _, gapped, _ in signs)
    assert {sign for *_, sign in signs} == {-1, 0, 1}


def test_the_order_made_for_the_row_is_the_same_on_every_oracle():
    forest, patient = tp.examples.heart_disease()
    explainer = tp.Explainer(forest)
    why = explainer.abductive(patient, order="row")
    assert why.status == "minimal"
    assert explainer.holds(patient, why.features)
    for oracle in ("brute", "sat", "smt"):
        assert tp.Explainer(forest, oracle=oracle).abductive(patient, order="row").features == why.features
    assert explainer.batch([patient, patient], order="row")[1].features == why.features
    assert explainer.contrastive(patient, order="row").status == "minimal"
    assert len(explainer.contrastives(patient, order="row")) == 2
    assert len(list(explainer.enumerate(patient, order="row"))) == len(list(explainer.enumerate(patient)))


def test_an_order_for_each_row_tries_first_what_brings_a_rival_least_forward():
    X = np.random.default_rng(0).normal(size=(200, 6))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * X[:, 3] > 0).astype(int)
    explainer = tp.Explainer(RandomForestClassifier(15, max_depth=4, random_state=0).fit(X, y))
    context = explainer._context
    orders = set()
    for x in X[:10]:
        instance = context.instance(x)
        order = context.order("row", [0], instance)
        gains = largest_gains(context.cells, instance.point, instance.label)
        assert order[-1] == 0
        assert sorted(order) == list(range(6))
        assert [gains[f] for f in order[:-1]] == sorted(gains[f] for f in order[:-1])
        orders.add(tuple(order))
    assert len(orders) > 1
    with pytest.raises(tp.InputError, match="'importance', 'row' or 'index'"):
        explainer.abductive(X[0], order="best")
