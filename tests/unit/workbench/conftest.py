"""Small models for the workbench: numbers and named values, markup in every name, two models to compare."""

from __future__ import annotations

import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import treeproof as tp
from treeproof.workbench.session import Session

NAMES = {0: "setosa", 1: "<b>versicolor</b>", 2: "virginica"}


@pytest.fixture(scope="session")
def flowers():
    return load_iris(return_X_y=True, as_frame=True)


@pytest.fixture(scope="session")
def explainers(flowers):
    X, y = flowers
    forests = [RandomForestClassifier(n, max_depth=3, random_state=n).fit(X, y) for n in (12, 9)]
    return [tp.Explainer(forest, data=X, names=NAMES) for forest in forests]


@pytest.fixture(scope="session")
def iris(flowers, explainers):
    return Session(explainers, flowers[0], title="Iris <script>")


@pytest.fixture(scope="session")
def mixed():
    """A hand-written forest: a category, a whole number that may be missing, a one-hot group, a constraint."""
    forest = tp.build_forest(
        [
            tp.isin("colour<i>", ["red", "blue"], tp.split("age", 30, "yes", "no"), "no"),
            tp.split("age", 50, "yes", tp.split("is_b", 0.5, "no", "yes")),
            tp.split("is_a", 0.5, "no", "yes"),
        ],
        columns=[
            tp.Column("colour<i>", ("red", "green", "blue")),
            tp.Column("age", missing="possible"),
            "is_a",
            "is_b",
        ],
        classes=["no", "yes"],
    )
    explainer = tp.Explainer(
        forest,
        kinds={"age": "integer"},
        one_hot={"group": ["is_a", "is_b"]},
        bounds={"age": (0, 120)},
        missing=["age"],
        constraints=["if colour<i> = green then age >= 18"],
    )
    rows = [["red", 20, 1, 0], ["green", 40, 0, 1], ["blue", None, 1, 0], ["green", 10, 1, 0], ["red", 500, 1, 0]]
    return explainer, Session([explainer], rows, title="Mixed")
