from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    ExtraTreesClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from treeproof.errors import ImportMismatchError, NotFittedError, UnsupportedModelError
from treeproof.model.forest import Forest
from treeproof.model.importers import import_model, tree_nodes
from treeproof.model.importers import sklearn as importer
from treeproof.model.majority import MajorityForestClassifier

X, Y = make_classification(150, 6, n_informative=4, n_classes=3, flip_y=0.3, class_sep=0.6, random_state=0)


def trees_of(model: Any) -> list[Any]:
    return list(getattr(model, "estimators_", [model]))


def probes(model: Any, n_rows: int = 150) -> np.ndarray:
    """Float64 rows on thresholds, one float64 or float32 beside them, where rounding switches, anywhere."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n_rows, model.n_features_in_)) * 2
    for j in range(model.n_features_in_):
        thresholds = np.concatenate(
            [t.tree_.threshold[(t.tree_.children_left >= 0) & (t.tree_.feature == j)] for t in trees_of(model)]
        )
        thresholds = thresholds[np.abs(thresholds) < 1e38]
        if len(thresholds) == 0:
            continue
        at = rng.choice(thresholds, n_rows)
        near = at.astype(np.float32)
        steps = [np.nextafter(near, np.float32(d)).astype(float) for d in (-9e37, 9e37)]
        candidates = [at, np.nextafter(at, -np.inf), np.nextafter(at, np.inf), near.astype(float), *steps]
        candidates += [at / 2 + step / 2 for step in steps]
        choice = rng.integers(-2, len(candidates), n_rows)
        rows[:, j] = np.where(choice < 0, rows[:, j], np.choose(np.maximum(choice, 0), candidates))
    return rows


def assert_same(forest: Forest, model: Any, rows: Any) -> None:
    expected = model.predict(rows)
    got = forest.predict(rows)
    assert got.dtype == expected.dtype
    assert got.tolist() == expected.tolist()


MODELS = {
    "forest": RandomForestClassifier(12, random_state=0),
    "shallow forest": RandomForestClassifier(12, max_depth=2, random_state=0),
    "stumps": RandomForestClassifier(30, max_depth=1, random_state=0),
    "best-first forest": RandomForestClassifier(12, max_leaf_nodes=9, random_state=0),
    "forest without bootstrap": RandomForestClassifier(5, bootstrap=False, max_features=2, random_state=0),
    "balanced forest": RandomForestClassifier(12, class_weight="balanced_subsample", max_depth=4, random_state=0),
    "weighted forest": RandomForestClassifier(12, class_weight={0: 0.1, 1: 7, 2: 1}, max_depth=4, random_state=0),
    "entropy forest": RandomForestClassifier(12, criterion="entropy", min_samples_leaf=7, random_state=0),
    "pruned forest": RandomForestClassifier(12, ccp_alpha=0.01, random_state=0),
    "one tree forest": RandomForestClassifier(1, max_depth=3, random_state=0),
    "extra trees": ExtraTreesClassifier(12, random_state=0),
    "shallow extra trees": ExtraTreesClassifier(12, max_depth=3, bootstrap=True, random_state=0),
    "tree": DecisionTreeClassifier(random_state=0),
    "shallow tree": DecisionTreeClassifier(max_depth=2, random_state=0),
    "best-first tree": DecisionTreeClassifier(max_leaf_nodes=6, random_state=0),
    "pruned tree": DecisionTreeClassifier(ccp_alpha=0.01, random_state=0),
    "random tree": DecisionTreeClassifier(splitter="random", class_weight="balanced", max_depth=5, random_state=0),
    "extra tree": ExtraTreeClassifier(max_depth=5, random_state=0),
    "majority forest": MajorityForestClassifier(12, max_depth=4, random_state=0),
    "forest of many jobs": RandomForestClassifier(12, n_jobs=2, max_depth=3, random_state=0),
}


class TestSamePrediction:
    @pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
    def test_on_and_beside_thresholds(self, model):
        model.fit(X, Y)
        model = pickle.loads(pickle.dumps(model))
        forest = import_model(model)
        if getattr(model, "n_jobs", None):
            assert model.n_jobs == 2
            model.n_jobs = None
        assert_same(forest, model, probes(model))
        assert_same(forest, model, X)
        assert_same(forest, model, X.astype(np.float32))
        assert forest.n_nodes == sum(t.tree_.node_count for t in trees_of(model))

    def test_reaches_the_same_leaves(self):
        model = RandomForestClassifier(8, max_leaf_nodes=20, random_state=0).fit(X, Y)
        rows = probes(model)
        forest = import_model(model)
        np.testing.assert_array_equal(forest.apply(rows) - forest.roots, model.apply(rows))

    @pytest.mark.parametrize(
        "labels",
        [
            np.array(["zebra", "ant", "moose"]),
            np.array(["zebra", "ant", "moose"], dtype=object),
            np.array(["zebra", "ant", "moose"], dtype="<U40"),
            np.array([-7, 3, 0]),
            np.array([0.0, -1.0, 7.0]),
            np.array([1.0, 2.0, 3.0], dtype=np.float32),
            np.array([200, 100, 0], dtype=np.uint8),
            np.array([True, False, True]),
            np.array([5, 5, 5]),
        ],
        ids=lambda labels: f"{labels.dtype}{labels.tolist()}",
    )
    @pytest.mark.parametrize("kind", [RandomForestClassifier, DecisionTreeClassifier])
    def test_with_labels_of_any_type(self, kind, labels):
        model = kind(max_depth=3, random_state=0).fit(X[:, :3], labels[Y])
        assert_same(import_model(model), model, probes(model, 60))
        assert import_model(model).classes.tolist() == model.classes_.tolist()

    def test_with_pandas_text_labels(self):
        model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, pd.Series(["n", "y", "z"])[Y])
        assert import_model(model).predict(X).tolist() == model.predict(X).tolist()

    def test_with_sample_weights_zero_weights_and_large_ones(self):
        weights = np.random.default_rng(0).choice([0, 1e-9, 1, 1e12], len(Y))
        for kind in (RandomForestClassifier, ExtraTreesClassifier):
            model = kind(10, max_depth=4, random_state=0).fit(X, Y, sample_weight=weights)
            assert_same(import_model(model), model, probes(model))

    def test_with_features_that_no_tree_uses_and_trees_of_one_leaf(self):
        constant = np.column_stack([np.zeros(len(Y)), X[:, 0], np.ones(len(Y))])
        model = RandomForestClassifier(6, min_samples_leaf=60, random_state=0).fit(constant, Y)
        forest = import_model(model)
        assert_same(forest, model, probes(model))
        assert forest.importances[0] == 0
        stump = RandomForestClassifier(4, random_state=0).fit(np.zeros((len(Y), 2)), Y)
        assert import_model(stump).n_nodes == 4
        assert_same(import_model(stump), stump, np.ones((1, 2)))

    def test_with_monotonic_constraints(self):
        for kind in (RandomForestClassifier, ExtraTreesClassifier):
            model = kind(10, max_depth=5, monotonic_cst=[1, -1, 0, 1, 0, 0], random_state=0).fit(X, Y > 0)
            assert_same(import_model(model), model, probes(model))

    def test_on_finite_rows_if_trained_with_missing_values(self):
        holes = X.copy()
        rng = np.random.default_rng(0)
        holes[rng.random(X.shape) < 0.3] = np.nan
        holes[Y == 0, 0] = np.nan  # so that some split is "missing or not": its threshold is infinite
        for model in (RandomForestClassifier(10, random_state=0), DecisionTreeClassifier(random_state=0)):
            model.fit(holes, Y)
            assert any(np.isinf(t.tree_.threshold).any() for t in trees_of(model))
            assert_same(import_model(model), model, probes(model))

    def test_with_values_at_the_ends_of_float32(self):
        ends = np.float32([[-3.4e38], [-1e-45], [0.0], [1e-45], [1e-38], [3.4028235e38]])
        model = DecisionTreeClassifier(random_state=0).fit(ends, range(6))
        rows = np.concatenate([ends, np.nextafter(ends, np.float32(0)), [[-3.4028235e38]], -ends[:-1], [[-0.0]]])
        forest = import_model(model)
        with np.errstate(over="ignore", invalid="ignore"):  # scikit-learn adds up all rows
            assert_same(forest, model, rows)

    def test_from_data_frames_by_name(self):
        frame = pd.DataFrame(X, columns=["a", "b", "c d", "é", "x0", "5"])
        model = RandomForestClassifier(8, max_depth=4, random_state=0).fit(frame, Y)
        forest = import_model(model)
        assert forest.column_names == ("a", "b", "c d", "é", "x0", "5")
        assert_same(forest, model, pd.DataFrame(probes(model), columns=frame.columns))
        shuffled = frame[frame.columns[::-1]].assign(extra="text")
        assert forest.predict(shuffled).tolist() == model.predict(frame).tolist()

    def test_without_names_columns_are_numbered(self):
        model = DecisionTreeClassifier(max_depth=2).fit(X, Y)
        assert import_model(model).column_names == ("x0", "x1", "x2", "x3", "x4", "x5")

    def test_importances_are_those_of_the_model(self):
        model = RandomForestClassifier(8, max_depth=4, random_state=0).fit(X, Y)
        np.testing.assert_array_equal(import_model(model).importances, model.feature_importances_)

    def test_after_trees_were_added_or_parameters_changed(self):
        model = RandomForestClassifier(4, warm_start=True, max_depth=3, random_state=0).fit(X, Y)
        model.set_params(n_estimators=9).fit(X, Y)
        assert import_model(model).n_trees == 9
        model.set_params(n_estimators=50)  # without effect until the next fit
        assert_same(import_model(model), model, probes(model))


class TestNearTies:
    @pytest.mark.parametrize("values", [[0.1, 0.3, 0.2], [1 / 3, 1 / 3, 1 / 3], [0.7, 0.1, 0.2], [0.6, 0.3, 0.1]])
    def test_are_decided_as_the_model_does_where_exact_sums_are_not(self, values):
        rng = np.random.default_rng(0)
        model = RandomForestClassifier(30, max_depth=2, bootstrap=False, random_state=0).fit(X, Y)
        for tree in model.estimators_:
            tree.tree_.value[:, 0, :] = [rng.permutation(values) for _ in range(tree.tree_.node_count)]
        forest = import_model(model)
        rows = probes(model, 400)
        assert_same(forest, model, rows)
        if len(set(values)) > 1:
            exact = [
                [sum(map(Fraction, column)) for column in forest.values[leaves].T.tolist()]
                for leaves in forest.apply(rows)
            ]
            assert any(sums.index(max(sums)) != label for sums, label in zip(exact, model.predict(rows), strict=True))

    def test_of_bootstrapped_thirds_are_decided_as_the_model_does(self):
        for seed in range(10):
            x = np.random.default_rng(seed).integers(0, 2, (9, 1)).astype(float)
            model = RandomForestClassifier(60, random_state=seed).fit(x, np.arange(9) % 3)
            assert_same(import_model(model), model, [[0.0], [1.0]])


class TestMajorityOfAnyForest:
    @pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier, MajorityForestClassifier])
    @pytest.mark.parametrize("n_trees", [2, 7, 12])
    def test_equals_a_naive_vote_with_ties_to_the_smallest_class(self, kind, n_trees):
        labels = np.array(["c", "a", "b"])[Y]
        model = kind(n_trees, max_depth=3, random_state=1).fit(X, labels)
        rows = probes(model)
        votes = np.array([tree.predict(np.float32(rows)).astype(int) for tree in model.estimators_]).T
        expected, tied = [], 0
        for row in votes.tolist():
            counts = {name: row.count(k) for k, name in enumerate(model.classes_)}
            most = max(counts.values())
            winners = sorted(name for name, count in counts.items() if count == most)
            tied += len(winners) > 1
            expected.append(winners[0])
        assert tied > 0
        assert import_model(model, vote="majority").predict(rows).tolist() == expected

    def test_of_one_tree_is_the_tree(self):
        model = DecisionTreeClassifier(max_depth=3).fit(X, Y)
        for vote in (None, "majority", "mean"):
            assert_same(import_model(model, vote=vote), model, probes(model))

    def test_mean_of_a_majority_forest_is_what_scikit_learn_would_predict(self):
        parameters = {"n_estimators": 7, "max_depth": 3, "random_state": 0}
        majority = MajorityForestClassifier(**parameters).fit(X, Y)
        averaged = RandomForestClassifier(**parameters).fit(X, Y)
        assert_same(import_model(majority, vote="mean"), averaged, probes(averaged))
        assert import_model(majority).vote == "majority"
        assert import_model(averaged).vote == "mean"

    def test_a_forest_is_taken_as_it_is_or_under_another_vote(self):
        forest = import_model(RandomForestClassifier(3, random_state=0).fit(X, Y))
        assert import_model(forest) is forest
        assert import_model(forest, vote="majority").vote == "majority"


class Plain(RandomForestClassifier):
    """Adds a method, and changes how it is trained."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y, sample_weight)

    def report(self):
        return "fine"


class OwnPredict(RandomForestClassifier):
    def predict(self, X):
        return super().predict(X)


class OwnProba(RandomForestClassifier):
    def predict_proba(self, X):
        return super().predict_proba(X)


class OwnCheck(RandomForestClassifier):
    def _validate_X_predict(self, X):
        return super()._validate_X_predict(X)


class OwnMajority(MajorityForestClassifier):
    def predict_proba(self, X):
        return super().predict_proba(X)


class TreeOwnPredict(DecisionTreeClassifier):
    def predict(self, X, check_input=True):
        return super().predict(X, check_input)


class TreeOwnProba(DecisionTreeClassifier):
    def predict_proba(self, X, check_input=True):
        return super().predict_proba(X, check_input)


class TreeOwnCheck(DecisionTreeClassifier):
    def _validate_X_predict(self, X, check_input):
        return super()._validate_X_predict(X, check_input)


class ForestOf(RandomForestClassifier):
    """A forest of other trees."""

    def __init__(self, tree=None, n_estimators=3, max_depth=2):
        super().__init__(n_estimators=n_estimators, max_depth=max_depth)
        self.tree = tree
        self.estimator = tree


def fit(model: Any) -> Any:
    return model.fit(X, Y)


class TestSubclasses:
    @pytest.mark.parametrize("kind", [Plain, type("Nested", (Plain,), {}), type("M", (MajorityForestClassifier,), {})])
    def test_that_predict_as_their_base_are_taken(self, kind):
        model = fit(kind(n_estimators=5, max_depth=3))
        assert_same(import_model(model), model, probes(model))

    @pytest.mark.parametrize(
        ("kind", "method"),
        [
            (OwnPredict, "predict"),
            (OwnProba, "predict_proba"),
            (OwnCheck, "_validate_X_predict"),
            (OwnMajority, "predict_proba"),
            (TreeOwnPredict, "predict"),
            (TreeOwnCheck, "_validate_X_predict"),
            (type("Child", (OwnPredict,), {}), "predict"),
        ],
    )
    def test_that_predict_in_their_own_way_are_refused_by_name(self, kind, method):
        with pytest.raises(UnsupportedModelError, match=f"{kind.__name__} has its own '{method}'"):
            import_model(fit(kind(max_depth=2)))

    @pytest.mark.parametrize("tree", [TreeOwnProba, TreeOwnCheck])
    def test_of_trees_inside_a_forest_are_refused_by_name(self, tree):
        model = fit(ForestOf(tree()))
        assert type(model.estimators_[0]) is tree
        for vote in (None, "majority"):
            with pytest.raises(UnsupportedModelError, match=f"{tree.__name__} has its own"):
                import_model(model, vote=vote)

    @pytest.mark.parametrize("method", ["predict", "predict_proba"])
    def test_methods_put_on_an_instance_are_noticed(self, method):
        model = fit(RandomForestClassifier(3, max_depth=2))
        setattr(model, method, getattr(model, method))
        with pytest.raises(UnsupportedModelError, match=f"has its own '{method}'"):
            import_model(model)

    def test_methods_put_on_one_tree_are_noticed(self):
        model = fit(RandomForestClassifier(3, max_depth=2))
        model.estimators_[2].predict_proba = model.estimators_[2].predict_proba
        with pytest.raises(UnsupportedModelError, match="has its own 'predict_proba'"):
            import_model(model)

    def test_may_vote_by_majority_whatever_their_predict(self):
        for kind in (OwnPredict, OwnProba):
            model = fit(kind(n_estimators=4, max_depth=3, random_state=0))
            same = fit(MajorityForestClassifier(n_estimators=4, max_depth=3, random_state=0))
            assert_same(import_model(model, vote="majority"), same, probes(same))


REFUSED = {
    "calibrated": (fit(CalibratedClassifierCV(DecisionTreeClassifier(), cv=2)), "must have two classes"),
    "linear model": (LogisticRegression(), "Got LogisticRegression instead. That is a linear model, not a tree ens"),
    "class": (
        RandomForestClassifier,
        "Got the class RandomForestClassifier instead. Pass a fitted instance, not the class",
    ),
    "none": (None, "Got NoneType"),
    "text": ("model.json", "Got str instead. Read the file first"),
    "list of trees": ([DecisionTreeClassifier()], "Got list"),
}


class TestRefusals:
    @pytest.mark.parametrize(("model", "message"), REFUSED.values(), ids=REFUSED)
    def test_of_models_that_are_not_followed_name_them(self, model, message):
        with pytest.raises(UnsupportedModelError, match=message):
            import_model(model)

    @pytest.mark.parametrize(
        "kind",
        [RandomForestClassifier, ExtraTreesClassifier, DecisionTreeClassifier, MajorityForestClassifier],
    )
    def test_of_unfitted_models_say_what_to_do(self, kind):
        with pytest.raises(NotFittedError, match=rf"unfitted {kind.__name__}; call its fit\(X, y\) first"):
            import_model(kind())

    def test_of_node_fields_that_are_not_known(self, monkeypatch):
        monkeypatch.setattr(tree_nodes, "_NODE_FIELDS", tree_nodes._NODE_FIELDS - {"missing_go_to_left"})
        with pytest.raises(UnsupportedModelError, match=r"stores \['missing_go_to_left'\] with each node"):
            import_model(fit(DecisionTreeClassifier()))

    def test_of_trees_that_are_not_scikit_learns(self):
        class Tree:
            pass

        model = fit(RandomForestClassifier(2))
        model.estimators_[1].tree_ = Tree()
        with pytest.raises(UnsupportedModelError, match=r"scikit-learn's own Tree\. Got Tree"):
            import_model(model)

    def test_of_trees_that_know_other_classes(self):
        model = fit(RandomForestClassifier(2))
        model.estimators_[1] = DecisionTreeClassifier().fit(X, Y > 0)
        with pytest.raises(UnsupportedModelError, match="know all 3 classes"):
            import_model(model)

    def test_of_leaf_values_that_are_not_numbers(self):
        model = fit(DecisionTreeClassifier(max_depth=2))
        model.tree_.value[-1] = np.nan
        with pytest.raises(UnsupportedModelError, match="finite"):
            import_model(model)

    def test_of_a_source_that_predicts_otherwise_name_the_row(self, monkeypatch):
        model = fit(RandomForestClassifier(3, max_depth=2, random_state=0))

        def lies(*_: Any) -> Any:
            return lambda rows: np.where(np.arange(len(rows)) == 5, 99, model.predict(rows))

        monkeypatch.setattr(importer, "_source_predict", lies)
        with pytest.raises(ImportMismatchError, match=r"For the row \[.*\] the source gives 99 and the import [012]"):
            import_model(model)


def test_a_search_is_explained_by_its_best_estimator_and_an_unfitted_one_is_refused():
    search = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 3]}, cv=2)
    with pytest.raises(NotFittedError, match="unfitted GridSearchCV"):
        import_model(search)
    search.fit(X, Y)
    assert import_model(search) == import_model(search.best_estimator_)
