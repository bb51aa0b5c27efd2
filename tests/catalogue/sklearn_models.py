"""Models of scikit-learn."""

from __future__ import annotations

from typing import Any

from sklearn.datasets import load_iris
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from catalogue import Entry


def _iris(model: Any) -> Any:
    def make() -> tuple[Any, Any]:
        X, y = load_iris(return_X_y=True)
        return model.fit(X, y), X

    return make


ENTRIES = [
    Entry("scikit-learn", "`DecisionTreeClassifier`", _iris(DecisionTreeClassifier(random_state=0))),
    Entry("scikit-learn", "`RandomForestClassifier`", _iris(RandomForestClassifier(15, random_state=0))),
    Entry("scikit-learn", "`ExtraTreesClassifier`", _iris(ExtraTreesClassifier(15, random_state=0))),
    Entry("scikit-learn", "`LogisticRegression`", _iris(LogisticRegression(max_iter=500)), "tree ensemble"),
]
