"""Cut-offs of scores and probabilities, against what the model's own predict and predict_proba say."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import treeproof as tp
from treeproof.explainer import state
from treeproof.model import scores as statements
from treeproof.model.build import build_forest, leaf, split
from treeproof.model.decision import Sums
from treeproof.model.floats import FLOAT64
from treeproof.model.forest import Forest
from treeproof.model.importers import import_model
from treeproof.model.importers.selfcheck import boundary_rows

rng = np.random.default_rng(0)
X = rng.integers(0, 6, (150, 4)).astype(float) / 3
TWO = np.array(["no", "yes"])[(X @ [1, 2, 0.5, 0] + rng.normal(size=150) > 3).astype(int)]
THREE = (X @ [1, 2, 0.5, 0] + rng.normal(size=150)).astype(int) % 3
SCORES = X @ [1, 2, 0.5, 0] + rng.normal(size=150)

TREES = [
    RandomForestClassifier(7, max_depth=3, random_state=0),
    RandomForestClassifier(1, max_depth=3, random_state=0),
    ExtraTreesClassifier(10, max_depth=4, random_state=1),
    DecisionTreeClassifier(max_depth=4, random_state=2),
    tp.MajorityForestClassifier(6, max_depth=3, random_state=3),
    tp.MajorityForestClassifier(1, max_depth=3, random_state=3),
]
BOOSTED = [
    GradientBoostingClassifier(n_estimators=8, max_depth=2, random_state=0),
    HistGradientBoostingClassifier(max_iter=8, max_leaf_nodes=5, min_samples_leaf=5),
]
REGRESSORS = [
    RandomForestRegressor(7, max_depth=3, random_state=0),
    DecisionTreeRegressor(max_depth=4, random_state=0),
    GradientBoostingRegressor(n_estimators=8, max_depth=2, random_state=0),
    HistGradientBoostingRegressor(max_iter=8, max_leaf_nodes=5, min_samples_leaf=5),
]


def by_name(model) -> str:
    return f"{type(model).__name__}-{getattr(model, 'n_estimators', '')}"


def on_boundaries(forest: Forest, n: int = 400) -> np.ndarray:
    """Rows on and beside thresholds, without missing values."""
    rows = boundary_rows(forest, n, seed=1).astype(float)
    return np.where(np.isnan(rows), 0.0, rows)


def labels(forest: Forest, rows: np.ndarray) -> list:
    return forest.predict(rows).tolist()


def attained(values: np.ndarray) -> list[float]:
    """Some of the values, and the numbers beside them."""
    some = np.unique(values)[:: max(1, len(np.unique(values)) // 5)].tolist()
    return [float(near) for v in some for near in (v, math.nextafter(v, math.inf), math.nextafter(v, -math.inf))]


@pytest.mark.parametrize("model", [*TREES, *BOOSTED], ids=by_name)
def test_a_threshold_cuts_the_models_own_probability(model):
    model.fit(X, TWO)
    rows = on_boundaries(import_model(model))
    probabilities = model.predict_proba(rows)[:, 1]
    for p in {0.3, 0.5, 0.7, 1.0, 1e-300, *attained(probabilities)}:
        if 0 < p <= 1:
            expected = np.where(probabilities >= p, "yes", "no").tolist()
            assert labels(state(model, threshold=p), rows) == expected, p


@pytest.mark.parametrize("model", TREES, ids=by_name)
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_a_confidence_asks_for_the_label_and_its_probability(model, y):
    model.fit(X, y)
    rows = on_boundaries(import_model(model))
    probabilities = model.predict_proba(rows)
    predicted = model.predict(rows).tolist()
    for p in {0.2, 1 / 3, 0.5, 0.9, 1.0, *attained(probabilities.max(axis=1))}:
        if 0 < p <= 1:
            sure = (probabilities.max(axis=1) >= p).tolist()
            expected = [label if s else "uncertain" for label, s in zip(predicted, sure, strict=True)]
            assert labels(state(model, confidence=p), rows) == expected, p


@pytest.mark.parametrize("model", BOOSTED, ids=by_name)
def test_a_confidence_of_a_boosted_model(model):
    model.fit(X, TWO)
    rows = on_boundaries(import_model(model))
    probabilities = model.predict_proba(rows)
    for p in {0.6, 0.9, 1.0, *attained(probabilities.max(axis=1))}:
        if 0.5 < p <= 1:
            expected = np.where(
                probabilities[:, 1] >= p, "yes", np.where(probabilities[:, 0] >= p, "no", "uncertain")
            ).tolist()
            assert labels(state(model, confidence=p), rows) == expected, p


@pytest.mark.parametrize("model", REGRESSORS, ids=by_name)
def test_cuts_and_distances_are_of_the_models_own_score(model):
    model.fit(X, SCORES)
    forest = import_model(model)
    rows = on_boundaries(forest)
    scores = model.predict(rows)
    assert forest.score(rows).tolist() == scores.tolist()
    for cut in attained(scores):
        assert labels(statements.cut_score(forest, [cut]), rows) == [
            ">= " + FLOAT64.shortest(cut) if s >= cut else "< " + FLOAT64.shortest(cut) for s in scores
        ]
    several = sorted(set(attained(scores)))
    names = statements.cut_score(forest, several)
    assert names.predict_index(rows).tolist() == [sum(s >= cut for cut in several) for s in scores]
    gap = float(abs(scores[0] - scores[1]))
    for within in (0, 0.5, gap, math.nextafter(gap, 9), math.nextafter(gap, 0)):
        cut = statements.around(forest, float(scores[0]), within)
        moved = [Fraction(s) - Fraction(scores[0]) for s in scores.tolist()]
        expected = [0 if m < -Fraction(within) else 1 if m <= Fraction(within) else 2 for m in moved]
        assert cut.predict_index(rows).tolist() == expected


def test_what_is_explained_about_a_score_holds():
    model = GradientBoostingRegressor(n_estimators=20, max_depth=2, random_state=0).fit(X, SCORES)
    explainer = tp.Explainer(model)
    assert repr(explainer).startswith("Explainer(Forest(20 trees")
    with pytest.raises(tp.InputError, match=r"cuts=\[0.7\]"):
        explainer.abductive(X[0])
    near = explainer.around(X[0], 1.0)
    why = near.abductive(X[0])
    assert why.label.startswith("within 1 of ")
    others = rng.uniform(-1, 3, (2000, 4))
    others[:, list(why.features)] = X[0][list(why.features)]
    assert (np.abs(model.predict(others) - model.predict(X[:1])) <= 1.0).all()
    change = near.contrastive(X[0])
    assert abs(model.predict([change.witness])[0] - model.predict(X[:1])[0]) > 1.0
    assert change.witness_label in ("above", "below")
    with pytest.raises(tp.InputError, match="without cuts"):
        near.around(X[1], 0.25)


def test_float32_scores_are_cut_where_float64_says():
    forest = build_forest(
        [split("a", 0, leaf([float(np.float32(0.7))]), leaf([1.0]))],
        columns=["a"],
        classes=["any score"],
        vote="sum",
        sums=Sums((0.0,), "float32", cuts=()),
    )
    assert labels(statements.cut_score(forest, [0.7]), np.array([[0.0], [1.0]])) == [
        "< 0.7",
        ">= 0.7",
    ]  # 0.7 rounds down
    for divisor in (1.0, 3.0):
        divided = build_forest(
            [split("a", 0, leaf([float(np.float32(0.7))]), leaf([1.0]))],
            columns=["a"],
            classes=["any score"],
            vote="sum",
            sums=Sums((0.0,), "float32", divisor=divisor, cuts=()),
        )
        value = float(divided.score([[0.0]])[0])
        for cut in (value, math.nextafter(value, 9), math.nextafter(value, -9)):
            explainer = tp.Explainer(divided, cuts=[cut])
            assert explainer.abductive([0]).label == explainer.forest.predict([[0]])[0]
            assert explainer.forest.predict([[0]])[0].startswith(">=") == (value >= cut)
            change = explainer.contrastive([0])
            assert (change.witness is None) == (value >= cut)


@pytest.mark.parametrize(
    "bad", [[], [1, 1], [2, 1], [math.nan], [math.inf], "0.7", ["a"], 0.7, None, [None], [10**400]]
)
def test_bad_cuts_are_refused(bad):
    model = DecisionTreeRegressor(max_depth=2).fit(X, SCORES)
    with pytest.raises(tp.InputError, match="'cuts' parameter must be"):
        statements.cut_score(import_model(model), bad)


def test_bad_statements_are_refused_by_name():
    model = DecisionTreeRegressor(max_depth=2).fit(X, SCORES)
    two = DecisionTreeClassifier(max_depth=2).fit(X, TWO)
    three = DecisionTreeClassifier(max_depth=3).fit(X, THREE)
    for within in (-1, math.nan, math.inf, "1", None, True):
        with pytest.raises(tp.InputError, match="distance must be a finite number"):
            tp.Explainer(model).around(X[0], within)
    with pytest.raises(tp.InputError, match="too far"):
        statements.around(import_model(model), 1e308, 1.7e308)
    with pytest.raises(tp.InputError, match="need a regressor"):
        tp.Explainer(two, cuts=[0.5])
    with pytest.raises(tp.InputError, match="need a regressor"):
        tp.Explainer(two).around(X[0], 1)
    with pytest.raises(tp.InputError, match="two classes"):
        tp.Explainer(three, threshold=0.5)
    for p in (0, -1, 1.5, math.nan, "0.5", True):
        with pytest.raises(tp.InputError, match="'threshold' parameter must be a probability"):
            tp.Explainer(two, threshold=p)
        with pytest.raises(tp.InputError, match="'confidence' parameter must be a probability"):
            tp.Explainer(two, confidence=p)
    with pytest.raises(tp.InputError, match="Only one of"):
        tp.Explainer(two, threshold=0.5, confidence=0.9)
    with pytest.raises(tp.InputError, match=r"more than 0.5"):
        tp.Explainer(BOOSTED[0].fit(X, TWO), confidence=0.5)
    with pytest.raises(tp.UnsupportedModelError, match="several boosted classes"):
        tp.Explainer(BOOSTED[0].fit(X, THREE), confidence=0.9)
    named = DecisionTreeClassifier(max_depth=2).fit(X, np.where(TWO == "yes", "uncertain", "sure"))
    with pytest.raises(tp.InputError, match="no class may be called 'uncertain'"):
        tp.Explainer(named, confidence=0.9)
    with pytest.raises(tp.InputError, match="needs a classifier with two classes"):
        tp.Explainer(model, threshold=0.5)


def boosted(n_classes: int, *, cuts: bool) -> Forest:
    """A boosted model of one tree, cut into classes or with a sum for each of them."""
    sums = Sums((0.0,), cuts=tuple(range(n_classes - 1))) if cuts else Sums((0.0,) * n_classes)
    values = [leaf([float(i)] * len(sums.start)) for i in range(2)]
    classes = list(range(n_classes))
    return build_forest([split("a", 0, *values)], columns=["a"], classes=classes, vote="sum", sums=sums)


def sigmoid(total: float) -> float:
    return 1 / (1 + math.exp(-total)) if abs(total) < 700 else float(total > 0)


def test_probabilities_that_cannot_be_followed_are_refused():
    assert statements.cut_probability(boosted(2, cuts=True), 0.6, sigmoid).classes.tolist() == [0, 1]
    assert statements.with_confidence(boosted(2, cuts=True), 0.6, sigmoid).classes.tolist() == [0, "uncertain", 1]
    for forest, probability in [(boosted(2, cuts=True), None), (boosted(2, cuts=False), sigmoid)]:
        with pytest.raises(tp.UnsupportedModelError, match="can be reproduced exactly"):
            statements.cut_probability(forest, 0.6, probability)
        with pytest.raises(tp.UnsupportedModelError, match="several boosted classes"):
            statements.with_confidence(forest, 0.6, probability)
    with pytest.raises(tp.UnsupportedModelError, match="several boosted classes"):
        statements.with_confidence(boosted(3, cuts=True), 0.6, sigmoid)
    with pytest.raises(tp.InputError, match=r"never reach a probability of 0\.9"):
        statements.cut_probability(boosted(2, cuts=True), 0.9, lambda s: min(sigmoid(s), 0.8))


@pytest.mark.parametrize("beside", [-3, 3])
def test_probabilities_that_waver_at_the_threshold_are_refused(beside):
    """A sum just below the margin must not reach the threshold, and one just above must not fall short of it."""

    def cut(odd: float | None) -> Forest:
        def probability(total: float) -> float:
            return 0.75 if (total >= 1.0) != (total == odd) else 0.25

        return statements.cut_probability(boosted(2, cuts=True), 0.5, probability)

    assert cut(None).decision.cuts == (1.0,)
    with pytest.raises(tp.UnsupportedModelError, match=r"not monotone near a probability of 0\.5"):
        cut(1.0 + beside * (2.0**-52 if beside > 0 else 2.0**-53))


def test_the_ends_of_statements():
    forest = import_model(DecisionTreeRegressor(max_depth=2).fit(X, SCORES))
    for wrong in ([1, math.inf], [-math.inf, 1], [1, 3, 2], [1, 2, 2]):
        with pytest.raises(tp.InputError, match="'cuts' parameter must be"):
            statements.cut_score(forest, wrong)
    assert statements.cut_score(forest, [1, 2, 3]).classes.tolist() == [
        "< 1",
        ">= 1 and < 2",
        ">= 2 and < 3",
        ">= 3",
    ]
    for fits in (0, 0.25, np.float32(0.5), np.int64(1)):
        assert statements.around(forest, 1.0, fits).n_classes == 3
    for wrong in (np.inf, -0.5, False, "0", 1j):
        with pytest.raises(tp.InputError, match="distance must be a finite number"):
            statements.around(forest, 1.0, wrong)
    for score in (0.1, 0.3, 1.0, -2.5):
        for within in (0.0, 2.0**-80, 0.1):
            low, above = statements.around(forest, score, within).decision.cuts
            least, most = Fraction(score) - Fraction(within), Fraction(score) + Fraction(within)
            assert Fraction(low) >= least > Fraction(math.nextafter(low, -math.inf))
            assert Fraction(above) > most >= Fraction(math.nextafter(above, -math.inf))
