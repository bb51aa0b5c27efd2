"""The forests of the paper's Table 1: the same nodes, the same accuracy, and explained by the SAT oracle."""

from __future__ import annotations

import numpy as np
import pytest

import treeproof as tp
from paper.table1 import DATA, TABLE, rows_of, trained
from treeproof_bench import recipe

pytestmark = pytest.mark.skipif(not TABLE, reason=f"the paper's datasets are not in {DATA}")
datasets = pytest.mark.parametrize("name", TABLE or ["none"])


@datasets
def test_the_recipe_gives_the_printed_nodes_and_accuracy(name):
    model, accuracy = trained(name)
    assert recipe.n_nodes(model) == TABLE[name]["nodes"]
    assert int(100 * accuracy) == TABLE[name]["accuracy"]


@datasets
def test_as_many_instances_are_drawn_as_printed(name):
    assert len(recipe.sample(DATA, name)[0]) == TABLE[name]["instances"]


@datasets
def test_sat_and_native_agree_on_every_forest_and_each_kept_feature_has_a_witness(name):
    model, _ = trained(name)
    X, _ = rows_of(name)
    explainer, native = tp.Explainer(model, oracle="sat"), tp.Explainer(model)
    for x in X[np.random.default_rng(1).choice(len(X), 2, replace=False)]:
        why = explainer.abductive(x, order="index")
        assert why.status == "minimal"
        assert why.label == model.predict([x])[0]
        assert why.features == native.abductive(x, order="index").features
        assert explainer.abductive(x).features == native.abductive(x).features
        assert explainer.holds(x, why.features)
        verdicts = [explainer.holds(x, set(why.features) - {feature}) for feature in why.features]
        assert not any(verdicts)
        labels = [verdict.witness_label for verdict in verdicts]
        assert why.label not in labels
        assert model.predict([verdict.witness for verdict in verdicts]).tolist() == labels
