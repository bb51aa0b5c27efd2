"""Reviews of what other tools say: shap's explanations, arrays of attributions, LIME's pairs."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import treeproof as tp


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = RandomForestClassifier(10, max_depth=3, random_state=0).fit(X, y)
    return model, X, tp.Explainer(model), X.iloc[70]


class Shap:
    """What a review reads of a shap.Explanation."""

    def __init__(self, values, feature_names=None):
        self.values, self.feature_names, self.base_values = np.asarray(values), feature_names, 0.0


class Lime:
    """What a review reads of an explanation of LIME."""

    def __init__(self, **local_exp):
        self.local_exp = {int(label[1:]): pairs for label, pairs in local_exp.items()}

    def as_list(self, label=1):
        return self.local_exp[label]


WEIGHTS = [0.1, 0.0, -0.4, 0.3]


def test_attributions_claim_the_features_with_the_largest(iris):
    _, X, explainer, x = iris
    two = explainer.review(x, ["petal length (cm)", "petal width (cm)"])
    label = explainer.forest.class_index(two.label)
    by_class = np.zeros((4, 3))
    by_class[:, label] = WEIGHTS
    for claim in (
        WEIGHTS,
        np.array(WEIGHTS),
        dict(zip(X, WEIGHTS, strict=True)),
        pd.Series(WEIGHTS[::-1], X.columns[::-1]),
        Shap(WEIGHTS, list(X)),
        Shap([WEIGHTS]),
        Shap(by_class, list(X)),
        Shap(by_class[None]),
        by_class,
        [1, 0, -4, 3],
    ):
        assert explainer.review(x, claim, top=2) == two
    three = explainer.review(x, ["petal length (cm)", "petal width (cm)", "sepal length (cm)"])
    assert explainer.review(x, WEIGHTS) == three == explainer.review(x, WEIGHTS, top=9)
    assert explainer.review(x, [2, 3]) == two  # whole numbers alone are features
    assert explainer.review(x, np.array([2, 3])) == two


def test_the_pairs_of_lime_are_conditions(iris):
    *_, explainer, x = iris
    pairs = [("petal width (cm)", 0.1), ("4.35 < petal length (cm) <= 5.10", -0.2)]
    both = explainer.review(x, ["4.35 < petal length (cm) <= 5.10", "petal width (cm)"])
    label = explainer.forest.class_index(both.label)
    other = [("sepal length (cm)", 1.0)]
    assert explainer.review(x, pairs) == both == explainer.review(x, Lime(**{f"c{label}": pairs, "c9": other}))
    assert explainer.review(x, Lime(c9=pairs)) == both
    assert explainer.review(x, pairs, top=1) == explainer.review(x, "4.35 < petal length (cm) <= 5.10")


@pytest.mark.parametrize(
    ("claim", "top", "message"),
    [
        ([0.1, 0.2], 1, "one number for each of the 4 columns. Got 2"),
        (np.zeros((2, 4)), 1, r"of one row. Got an array of shape \(2, 4\)"),
        (Shap(WEIGHTS, ["a", "b", "c", "d"]), 1, "of the model's columns, .* Got one of 'a'"),
        (WEIGHTS, 0, "'top' parameter must be a whole number"),
        ("petal width (cm) > 1", 2, "'top' requires attributions"),
        ([np.nan, 0.0, 0.0, 1.0], 2, "must be finite"),
    ],
)
def test_what_cannot_be_read_is_refused(iris, claim, top, message):
    *_, explainer, x = iris
    with pytest.raises(tp.InputError, match=message):
        explainer.review(x, claim, top=top)
