"""XGBoost's tree boosters: XGBClassifier, XGBRFClassifier, XGBRegressor, XGBRFRegressor, Booster, and their JSON files.

Inputs are rounded to float32 and go left iff x < threshold; a missing one goes the way each split has for it. Leaf values
are added in float32 to the intercept. The second of two classes wins iff the float32 probability of the sum is > 0.5; of
several, the first with the largest softmax. Intercept and cut-off are asked of XGBoost itself, where it is at hand.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from treeproof.errors import ForestFormatError, InputError, NotFittedError, UnsupportedModelError
from treeproof.floats import FLOAT32, smallest_reaching
from treeproof.forest import LEAF, Column, Forest, Label, Sums, Vote
from treeproof.importers.assemble import Tree, assemble, in_order, split_counts
from treeproof.importers.selfcheck import check_against, check_scores

TAKES = "XGBoost's XGBClassifier, XGBRegressor, their random forests, and Booster"

_TWO_CLASSES = {"binary:logistic"}
_CLASSES = {"multi:softprob"}
_SCORES = {"reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror"}


def takes(model: Any) -> bool:
    """Return whether the model is one of XGBoost's, without importing XGBoost."""
    return any(
        base.__module__.startswith("xgboost.") and base.__name__ in ("XGBModel", "Booster")
        for base in type(model).__mro__
    )


def load(model: Any, vote: Vote | None) -> Forest:
    """Return the forest of a fitted model; its sums and labels are checked against the model's."""
    import xgboost

    if vote is not None:
        raise InputError(f"Boosted trees take no vote. Got vote={vote!r}; leave it out to explain the model's predict.")
    booster = _booster(model)
    document = json.loads(booster.save_raw("json"))
    classes = None
    if isinstance(model, xgboost.XGBClassifier):
        classes = np.asarray(model.classes_)
        for method in ("predict", "predict_proba"):
            if getattr(type(model), method) is not getattr(xgboost.XGBClassifier, method):
                raise UnsupportedModelError(f"{type(model).__name__} has its own '{method}', which treeproof does not know.")
    missing = getattr(model, "missing", math.nan)
    if isinstance(model, xgboost.XGBModel) and not (missing is None or math.isnan(missing)):
        raise UnsupportedModelError(f"Missing values must be NaN. Got missing={missing!r}.")
    forest = _read(document, classes, _start(document))
    check_scores(forest, lambda rows: booster.predict(_matrix(rows, booster), output_margin=True))
    if classes is not None:
        check_against(forest, lambda rows: model.predict(rows))
    elif forest.sums is not None and forest.sums.cuts != ():
        check_against(forest, lambda rows: _labels_of(booster.predict(_matrix(rows, booster)), forest))
    return forest


def from_json(document: Any) -> Forest:
    """Return the forest of a model that XGBoost saved as JSON; its classes are 0, 1, ... ."""
    try:
        return _read(document, None, _start(document))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise ForestFormatError(f"The XGBoost model is damaged: {type(error).__name__}: {error}.") from error


def probability(model: Any) -> Callable[[float], float] | None:
    """Return the function from the sum to the probability of the second class."""
    document = json.loads(_booster(model).save_raw("json"))
    return _link(document) if document["learner"]["objective"]["name"] in _TWO_CLASSES else None


def _booster(model: Any) -> Any:
    """Return the booster of the trees that the model predicts with."""
    if not hasattr(model, "get_booster"):
        return model
    try:
        booster = model.get_booster()
    except Exception as error:  # XGBoost's own NotFittedError is scikit-learn's or its own, by version
        raise NotFittedError(
            f"The model must be fitted before it can be explained. Got an unfitted {type(model).__name__}; "
            "call its fit(X, y) first."
        ) from error
    try:
        last = model.best_iteration  # set by early stopping
    except AttributeError:
        return booster
    return booster[: last + 1]


def _read(document: Any, classes: Any, start: tuple[float, ...]) -> Forest:
    learner = document["learner"]
    objective, trees = learner["objective"]["name"], _trees(learner)
    n_columns = int(learner["learner_model_param"]["num_feature"])
    names = learner.get("feature_names") or [f"x{j}" for j in range(n_columns)]
    n_classes = max(2, int(learner["learner_model_param"]["num_class"]))
    if not 0 < n_columns < 2**31 or n_classes > 10_000:
        raise ForestFormatError(f"The model must have some columns and classes. Got {n_columns} and {n_classes}.")
    if objective in _SCORES:
        labels: Any = np.array(["any score"])
        sums = Sums(start, "float32", cuts=())
    elif objective in _TWO_CLASSES:
        labels = np.arange(2) if classes is None else classes
        sums = Sums(start, "float32", cuts=(_cut(document),))
    elif objective in _CLASSES:
        labels = np.arange(n_classes) if classes is None else classes
        sums = Sums(start, "float32", softmax=True)
    else:
        known = sorted(_TWO_CLASSES | _CLASSES | _SCORES)
        raise UnsupportedModelError(f"The objective must be one of {known}. Got {objective!r}.")
    return assemble(
        trees,
        classes=labels,
        columns=[Column(str(name), missing="expected") for name in names],
        importances=split_counts(trees, n_columns),
        vote="sum",
        sums=sums,
    )


def _trees(learner: Any) -> list[Tree]:
    booster = learner["gradient_booster"]
    if booster["name"] != "gbtree":
        raise UnsupportedModelError(f"The booster must be gbtree. Got {booster['name']!r}.")
    model = booster["model"]
    n_sums = max(1, int(learner["learner_model_param"]["num_class"]))
    return [_tree(tree, int(k), n_sums, i) for i, (tree, k) in enumerate(zip(model["trees"], model["tree_info"], strict=True))]


def _tree(tree: Any, k: int, n_sums: int, number: int) -> Tree:
    if int(tree["tree_param"].get("size_leaf_vector", 1)) > 1:
        raise UnsupportedModelError("Trees must have one output each. Got multi_strategy='multi_output_tree'.")
    if any(tree.get("split_type", [])):
        raise UnsupportedModelError(
            "Splits must be on numbers. Got categorical ones (enable_categorical=True); encode categories before training, "
            "or use LightGBM or HistGradientBoosting."
        )
    if not 0 <= k < n_sums:
        raise ForestFormatError(f"A tree must be of one of the {n_sums} classes. Got {k}.")
    left, right = [int(c) for c in tree["left_children"]], [int(c) for c in tree["right_children"]]
    order = in_order(left, right, f"Tree {number}")
    place = {node: i for i, node in enumerate(order)}
    leaf = np.array([left[node] < 0 for node in order])
    condition = np.array([tree["split_conditions"][node] for node in order], dtype=np.float32)
    values = np.zeros((len(order), n_sums))
    values[:, k] = condition
    return Tree(
        feature=np.where(leaf, LEAF, [int(tree["split_indices"][node]) for node in order]),
        threshold=np.nextafter(condition, np.float32(-np.inf)),  # x < threshold goes left
        left=[place.get(left[node], LEAF) for node in order],
        right=[place.get(right[node], LEAF) for node in order],
        values=values,
        missing_left=[bool(tree["default_left"][node]) for node in order],
    )


def _blank(document: Any) -> Any:
    """Return a booster that differs from the model in its leaves only: they are worth 0."""
    import xgboost

    blank = json.loads(json.dumps(document))
    model = blank["learner"]["gradient_booster"]["model"]
    n_sums = max(1, int(blank["learner"]["learner_model_param"]["num_class"]))
    zeros = {"base_weights": [0.0], "split_conditions": [0.0], "loss_changes": [0.0], "sum_hessian": [0.0]}
    ends = {"left_children": [-1], "right_children": [-1], "split_indices": [0], "default_left": [0], "split_type": [0]}
    stump = {**model["trees"][0], **zeros, **ends, "parents": [2147483647], "id": 0}
    stump["tree_param"] = {**stump["tree_param"], "num_nodes": "1"}
    model["trees"] = [{**stump, "id": i} for i in range(n_sums)]
    model["tree_info"] = list(range(n_sums))
    model["iteration_indptr"] = [0, n_sums]
    model["gbtree_model_param"] = {**model["gbtree_model_param"], "num_trees": str(n_sums)}
    blank["learner"]["attributes"] = {}
    return xgboost.Booster(model_file=bytearray(json.dumps(blank).encode()))


def _start(document: Any) -> tuple[float, ...]:
    """Return the intercept of each sum, as XGBoost computes it, or else as its sources say it does."""
    learner = document["learner"]
    n_sums = max(1, int(learner["learner_model_param"]["num_class"]))
    try:
        blank = _blank(document)
    except ImportError:
        text = str(learner["learner_model_param"]["base_score"]).strip("[]")
        given = [np.float32(float(part)) for part in text.split(",")]
        if learner["objective"]["name"] in _TWO_CLASSES:
            one = np.float32(1)
            given = [-np.log(one / score - one) for score in given]
        given = given * n_sums if len(given) == 1 else given
        return tuple(float(score) for score in given)
    n_columns = int(learner["learner_model_param"]["num_feature"])
    row = np.zeros((1, n_columns), dtype=np.float32)
    return tuple(np.ravel(blank.predict(_matrix(row, blank), output_margin=True)).astype(float).tolist())


def _link(document: Any) -> Callable[[float], float]:
    """Return XGBoost's own function from a sum to a probability, or else the same arithmetic."""
    n_columns = int(document["learner"]["learner_model_param"]["num_feature"])
    try:
        blank = _blank(document)
    except ImportError:
        return _sigmoid

    def link(total: float) -> float:
        matrix = _matrix(np.zeros((1, n_columns), dtype=np.float32), blank)
        matrix.set_base_margin(np.array([total], dtype=np.float32))
        return float(blank.predict(matrix)[0])

    return link


def _sigmoid(total: float) -> float:
    with np.errstate(over="ignore"):
        one = np.float32(1)
        return float(one / (np.exp(-np.float32(total)) + one + np.float32(1e-16)))


def _cut(document: Any) -> float:
    """Return the smallest sum whose probability is more than 0.5."""
    link = _link(document)
    return smallest_reaching(lambda total: link(total) > 0.5, -1.0, 1.0, FLOAT32)


def _matrix(rows: Any, booster: Any) -> Any:
    import xgboost

    return xgboost.DMatrix(rows, feature_names=booster.feature_names, feature_types=booster.feature_types)


def _labels_of(probabilities: Any, forest: Forest) -> list[Label]:
    if probabilities.ndim == 1:
        places = (probabilities > 0.5).astype(int)
    else:
        places = np.argmax(probabilities, axis=1)
    labels: list[Label] = forest.classes[places].tolist()
    return labels
