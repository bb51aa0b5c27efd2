"""Nodes that did not come from training: a file may hold anything, and scikit-learn's C code believes all of it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree._tree import Tree

from treeproof.errors import ForestFormatError
from treeproof.model.importers import import_model

X, Y = make_classification(120, 4, random_state=0)

MODELS = {
    "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
    "regressor": DecisionTreeRegressor(max_depth=3, random_state=0),
    "forest": RandomForestClassifier(3, max_depth=3, random_state=0),
    "forest of regressors": RandomForestRegressor(3, max_depth=3, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=3, random_state=0),
    "AdaBoost": AdaBoostClassifier(DecisionTreeClassifier(max_depth=3, random_state=0), n_estimators=3),
    "bagging": BaggingClassifier(DecisionTreeClassifier(max_depth=3), 3, random_state=0),
    "voting": VotingClassifier([("a", DecisionTreeClassifier(max_depth=3, random_state=0))]),
}

DAMAGES = {
    "a split without a column": ("feature", -1),
    "a column that is not there": ("feature", 4),
    "a column far away": ("feature", 10**9),
    "a child far away": ("left_child", 10**9),
    "a right child far away": ("right_child", 10**9),
    "a child before the tree": ("left_child", -7),
    "only a right child": ("left_child", -1),
    "only a left child": ("right_child", -1),
    "its own child": ("left_child", 0),
    "its own right child": ("right_child", 0),
    "a column that wraps around": ("feature", 2**32),
}


def one_tree(model: Any) -> Any:
    tree = model
    while hasattr(tree, "estimators_"):
        tree = np.ravel(tree.estimators_)[-1]
    return tree


def damage(tree: Any, change: Any, **state: Any) -> None:
    """Give a tree nodes as a file would: through the state that is saved."""
    old = tree.tree_
    saved = {**old.__getstate__(), **state}
    saved["nodes"], saved["values"] = saved["nodes"].copy(), saved["values"].copy()
    change(saved["nodes"])
    n_classes = np.array([old.max_n_classes] * old.n_outputs, dtype=np.intp)
    tree.tree_ = Tree(old.n_features, n_classes, old.n_outputs)
    tree.tree_.__setstate__(saved)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize(("field", "value"), DAMAGES.values(), ids=DAMAGES)
def test_damaged_nodes_are_refused(model, field, value):
    model.fit(X, Y)

    def change(nodes: Any) -> None:
        nodes[field][0] = value

    damage(one_tree(model), change)
    with pytest.raises(ForestFormatError, match="must be a leaf without children, or split one of"):
        import_model(model)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("count", [0, -1])
def test_a_number_of_nodes_that_is_not_theirs_is_refused(model, count):
    model.fit(X, Y)
    damage(one_tree(model), lambda nodes: None, node_count=count)
    with pytest.raises(ForestFormatError, match="must have at least one node, and no more than it holds"):
        import_model(model)


def test_a_tree_of_fewer_columns_is_refused():
    model = MODELS["forest"].fit(X, Y)
    model.estimators_[1].tree_ = DecisionTreeClassifier(max_depth=3).fit(X[:, :2], Y).tree_
    with pytest.raises(ForestFormatError, match=r"must be made for 4 columns\. Got one for 2"):
        import_model(model)


def test_a_leaf_may_name_any_column():
    model = MODELS["tree"].fit(X, Y)
    expected = import_model(model)

    def change(nodes: Any) -> None:
        leaf = nodes["left_child"] == -1
        nodes["feature"][leaf], nodes["threshold"][leaf] = 10**9, np.nan

    damage(model, change)
    assert import_model(model) == expected


HISTOGRAM_DAMAGES = {
    "a column that is not there": ("feature_idx", 4),
    "a column far away": ("feature_idx", 10**9),
    "a child far away": ("left", 10**9),
    "its own child": ("left", 0),
    "its own right child": ("right", 0),
    "categories of a number": ("is_categorical", 1),
}


@pytest.mark.parametrize(("field", "value"), HISTOGRAM_DAMAGES.values(), ids=HISTOGRAM_DAMAGES)
def test_damaged_nodes_of_histogram_boosting_are_refused(field, value):
    model = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5).fit(X, Y)
    model._predictors[1][0].nodes[field][0] = value
    with pytest.raises(ForestFormatError, match="must be a leaf, or split one of"):
        import_model(model)


def test_a_set_of_categories_that_is_not_there_is_refused():
    codes = np.column_stack([X[:, 0], np.arange(len(X)) % 7])
    labels = (codes[:, 1] % 2).astype(int)
    model = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5, categorical_features=[1]).fit(codes, labels)
    nodes = model._predictors[1][0].nodes
    assert nodes["is_categorical"][0]
    nodes["bitset_idx"][0] = 10**6
    with pytest.raises(ForestFormatError, match="must be a leaf, or split one of"):
        import_model(model)


def test_no_code_of_scikit_learn_runs_on_damaged_nodes():
    """Its feature_importances_ and apply read memory that is not theirs: seen in a process of its own."""
    code = """
        import numpy as np
        from sklearn.datasets import make_classification
        from sklearn.ensemble import RandomForestClassifier
        import treeproof as tp
        X, y = make_classification(100, 4, random_state=0)
        for field in ("feature", "left_child"):
            model = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, y)
            model.estimators_[2].tree_.__getstate__()["nodes"][field][0] = 10**9
            try:
                tp.Explainer(model)
            except tp.ForestFormatError:
                print("refused")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "refused\n" * 2), done.stderr
