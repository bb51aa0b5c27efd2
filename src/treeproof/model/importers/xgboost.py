"""XGBoost's tree boosters: XGBClassifier, XGBRFClassifier, XGBRegressor, XGBRFRegressor, Booster, and their files.

Inputs are rounded to float32 and go left iff x < threshold; a missing one goes the way each split has for it. Leaf
values are added in float32 to the intercept. The second of two classes wins iff the float32 probability of the sum is
> 0.5; of several, the first with the largest softmax, or, with the objective multi:softmax, the first with the largest
sum. For a model at hand, intercept and cut-off are asked of XGBoost itself; for a file, they are computed as it does.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treeproof import errors
from treeproof.errors import ForestFormatError, UnsupportedModelError
from treeproof.model.columns import LEAF, Column
from treeproof.model.decision import Sums, Vote
from treeproof.model.floats import FLOAT32, smallest_reaching
from treeproof.model.forest import Forest
from treeproof.model.importers.assemble import (
    Tree,
    assemble,
    in_order,
    refuse_any_vote,
    require_columns,
    require_methods,
    split_counts,
)
from treeproof.model.importers.selfcheck import check_against, check_scores

TAKES = "XGBoost's XGBClassifier, XGBRegressor, their random forests, and Booster"

_TWO_CLASSES = "binary:logistic"
_CLASSES = ("multi:softprob", "multi:softmax")
_SCORES = ("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror")

_LARGEST_POWER = float(np.float32(88.7))  # of e, that XGBoost takes

MOST_COLUMNS, MOST_CLASSES = 1_000_000, 10_000

Link = Callable[[float], float]


def takes(model: Any) -> bool:
    """Return whether the model is one of XGBoost's, without importing XGBoost."""
    return any(
        base.__module__.startswith("xgboost.") and base.__name__ in ("XGBModel", "Booster")
        for base in type(model).__mro__
    )


def load(model: Any, vote: Vote | None) -> Forest:
    """Return the forest of a fitted model; its sums and labels are checked against the model's."""
    import xgboost

    refuse_any_vote(vote)
    booster, learner = _fitted(model)
    blank = _blank(learner)
    forest = _forest(learner, _intercept(blank, learner), _link(blank, learner))
    if isinstance(model, xgboost.Booster):
        check_scores(forest, lambda rows: booster.predict(_matrix(rows, booster), output_margin=True))
        if learner.objective not in _SCORES:
            check_against(forest, lambda rows: _labels_of(booster.predict(_matrix(rows, booster)), learner))
    else:
        check_scores(forest, lambda rows: model.predict(rows, output_margin=True))
        if learner.objective not in _SCORES:
            check_against(forest, model.predict)
    return forest


def from_json(document: Any) -> Forest:
    """Return the forest of a model that XGBoost saved as JSON; its classes are 0, 1, ... .

    XGBoost is not needed. ForestFormatError or UnsupportedModelError names what is wrong with any other document.
    """
    try:
        learner = _read(document)
        return _forest(learner, _start(learner), _sigmoid)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        if isinstance(error, ForestFormatError | UnsupportedModelError):
            raise
        raise ForestFormatError(f"The XGBoost model is damaged: {type(error).__name__}: {error}.") from error


def probability(model: Any) -> Link | None:
    """Return the function from the sum to the probability of the second class."""
    _, learner = _fitted(model)
    return _link(_blank(learner), learner) if learner.objective == _TWO_CLASSES else None


@dataclass(frozen=True, slots=True, eq=False)
class _Learner:
    """What a saved model says about itself, as far as predictions depend on it."""

    document: Any
    objective: str
    n_columns: int
    n_sums: int
    names: list[str]
    base_score: str
    trees: Sequence[Any]
    tree_info: Sequence[Any]


def _fitted(model: Any) -> tuple[Any, _Learner]:
    """Return a fitted model's booster, of the trees that it predicts with, and what it says about itself."""
    import xgboost

    try:
        booster = model if isinstance(model, xgboost.Booster) else model.get_booster()
        learner = _read(json.loads(booster.save_raw("json")))
    except (ValueError, xgboost.core.XGBoostError) as error:  # scikit-learn's NotFittedError is a ValueError
        if isinstance(error, ForestFormatError | UnsupportedModelError):
            raise
        raise errors.NotFittedError(
            f"The model must be fitted before it can be explained. Got an unfitted {type(model).__name__}; "
            "call its fit(X, y) first."
        ) from error
    if isinstance(model, xgboost.Booster):
        return booster, learner
    classifier = isinstance(model, xgboost.XGBClassifier)
    if classifier == (learner.objective in _SCORES) or callable(model.objective):
        raise UnsupportedModelError(
            f"The objective must fit the model. Got a {type(model).__name__} with objective {model.objective!r}, "
            f"saved as {learner.objective!r}."
        )
    base = xgboost.XGBClassifier if classifier else xgboost.XGBModel
    require_methods(model, base, ("predict", "get_booster", "_get_iteration_range"))
    missing = model.missing
    if not (missing is None or (isinstance(missing, float) and math.isnan(missing))):
        raise UnsupportedModelError(f"Missing values must be NaN. Got missing={missing!r}.")
    if classifier and learner.n_sums != (1 if model.n_classes_ == 2 else model.n_classes_):
        raise UnsupportedModelError(
            f"There must be one sum for two classes, or one for each of several. Got {learner.n_sums} for "
            f"{model.n_classes_} classes: XGBClassifier takes it for several labels at once."
        )
    try:
        n_rounds = model.best_iteration + 1  # set by early stopping
    except AttributeError:
        return booster, learner
    if n_rounds < booster.num_boosted_rounds():
        booster = booster[:n_rounds]
        learner = _read(json.loads(booster.save_raw("json")))
    return booster, learner


def _read(document: Any) -> _Learner:
    """Return what a document says; refuse what cannot be followed."""
    learner = document["learner"]
    booster, objective, parameters = (
        learner["gradient_booster"],
        learner["objective"]["name"],
        learner["learner_model_param"],
    )
    if booster["name"] != "gbtree":
        raise UnsupportedModelError(f"The booster must be gbtree. Got {booster['name']!r}.")
    known = [_TWO_CLASSES, *_CLASSES, *_SCORES]
    if objective not in known:
        raise UnsupportedModelError(f"The objective must be one of {known}. Got {objective!r}.")
    n_columns, n_classes = _whole(parameters["num_feature"]), _whole(parameters["num_class"])
    if _whole(parameters.get("num_target", 1)) > 1:
        raise UnsupportedModelError(
            f"The model must have one output. Got {parameters['num_target']} targets, or labels at once."
        )
    names = learner.get("feature_names") or []
    if not 0 < n_columns <= MOST_COLUMNS or (names and len(names) != n_columns):
        raise ForestFormatError(
            f"Each column must have a name, or none. Got {n_columns} columns and {len(names)} names."
        )
    if (objective in _CLASSES and not 2 <= n_classes <= MOST_CLASSES) or (objective not in _CLASSES and n_classes > 1):
        raise ForestFormatError(f"The objective {objective} must have its number of classes. Got {n_classes}.")
    if "c" in (learner.get("feature_types") or []):
        raise _categorical()
    model = booster["model"]
    if not isinstance(model["trees"], list) or not isinstance(model["tree_info"], list):
        raise ForestFormatError("Trees must be a list.")
    # Before anything is built of them: XGBoost itself aborts on such trees with other nodes.
    if any(_whole(tree["tree_param"].get("size_leaf_vector", 1)) > 1 for tree in model["trees"]):
        raise UnsupportedModelError(
            "Each tree must add to one sum. Got trees with several outputs (multi_strategy='multi_output_tree'); train "
            "with multi_strategy='one_output_per_tree', the default."
        )
    return _Learner(
        document,
        objective,
        n_columns,
        max(1, n_classes),
        [_text(name) for name in names] or [f"x{j}" for j in range(n_columns)],
        str(parameters["base_score"]),
        model["trees"],
        model["tree_info"],
    )


def _forest(learner: _Learner, start: tuple[float, ...], link: Link) -> Forest:
    trees = [
        _tree(tree, _whole(k), learner, number)
        for number, (tree, k) in enumerate(zip(learner.trees, learner.tree_info, strict=True))
    ]
    if learner.objective in _SCORES:
        labels: Any = np.array(["any score"])
        sums = Sums(start, "float32", cuts=())
    elif learner.objective == _TWO_CLASSES:
        labels = np.arange(2)
        cut = smallest_reaching(lambda total: link(total) > 0.5, -1.0, 1.0, FLOAT32)
        sums = Sums(start, "float32", cuts=(cut,))
    else:
        labels = np.arange(learner.n_sums)
        sums = Sums(start, "float32", softmax=learner.objective == "multi:softprob")
    return assemble(
        trees,
        classes=labels,
        columns=[Column(name, missing="expected") for name in learner.names],
        importances=split_counts(trees, learner.n_columns),
        vote="sum",
        sums=sums,
    )


def _tree(tree: Any, k: int, learner: _Learner, number: int) -> Tree:
    if any(tree.get("split_type", [])):
        raise _categorical()
    if not 0 <= k < learner.n_sums:
        raise ForestFormatError(f"Tree {number} must be of one of {learner.n_sums} classes. Got {k}.")
    left, right = ([_whole(c) for c in _list(tree, key)] for key in ("left_children", "right_children"))
    order = in_order(left, right, f"Tree {number}")
    place = {node: i for i, node in enumerate(order)}
    conditions, features, default = (_list(tree, key) for key in ("split_conditions", "split_indices", "default_left"))
    feature = [LEAF if left[node] < 0 else _whole(features[node]) for node in order]
    require_columns(feature, learner.n_columns, f"Tree {number}")
    with np.errstate(over="ignore"):
        condition = np.array([_number(conditions[node]) for node in order], dtype=np.float32)
        below = np.nextafter(condition, np.float32(-np.inf))  # x < threshold goes left
    return Tree(
        feature=feature,
        threshold=below,
        left=[place.get(left[node], LEAF) for node in order],
        right=[place.get(right[node], LEAF) for node in order],
        values=condition,
        missing_left=[_whole(default[node]) == 1 for node in order],
        adds_to=k,
    )


def _categorical() -> UnsupportedModelError:
    return UnsupportedModelError(
        "Splits must be on numbers. Got categorical ones (enable_categorical=True); encode categories before training, "
        "or use LightGBM or HistGradientBoosting."
    )


def _whole(value: Any) -> int:
    """Return a whole number, which XGBoost writes as such or as text, as it likes; a truth value is 0 or 1."""
    number = int(value) if isinstance(value, str | int) else None
    if number is None or abs(number) >= 2**31:
        raise ForestFormatError(f"A count or an index must be a whole number below 2**31. Got {value!r}.")
    return number


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ForestFormatError(f"A threshold or leaf value must be a number. Got {value!r}.")
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ForestFormatError(f"A column's name must be text. Got {value!r}.")
    return value


def _list(tree: Any, key: str) -> list[Any]:
    if not isinstance(tree[key], list):
        raise ForestFormatError(f"'{key}' of a tree must be a list.")
    return tree[key]


def _blank(learner: _Learner) -> Any:
    """Return a booster that differs from the model in its trees only: each is one leaf, worth 0."""
    import xgboost

    if not learner.trees:
        raise UnsupportedModelError("The model must have at least one tree. Got none.")
    ends = {"left_children": [-1], "right_children": [-1], "parents": [2147483647], "split_indices": [0]}
    zeros = {"base_weights": [0.0], "split_conditions": [0.0], "loss_changes": [0.0], "sum_hessian": [0.0]}
    stump = {**learner.trees[0], **ends, **zeros, "default_left": [0], "split_type": [0]}
    stump["tree_param"] = {**stump["tree_param"], "num_nodes": "1", "num_deleted": "0"}
    n = learner.n_sums
    original = learner.document["learner"]
    booster = original["gradient_booster"]
    parameters = {**booster["model"]["gbtree_model_param"], "num_trees": str(n), "num_parallel_tree": "1"}
    model = {
        **booster["model"],
        "gbtree_model_param": parameters,
        "iteration_indptr": [0, n],
        "tree_info": list(range(n)),
    }
    model["trees"] = [{**stump, "id": k} for k in range(n)]
    blank = {**original, "gradient_booster": {**booster, "model": model}, "attributes": {}}
    text = json.dumps({**learner.document, "learner": blank})
    return xgboost.Booster(model_file=bytearray(text.encode()))


def _intercept(blank: Any, learner: _Learner) -> tuple[float, ...]:
    """Return what each sum starts from, as XGBoost itself computes it."""
    row = np.zeros((1, learner.n_columns), dtype=np.float32)
    return tuple(np.ravel(blank.predict(_matrix(row, blank), output_margin=True)).astype(float).tolist())


def _link(blank: Any, learner: _Learner) -> Link:
    """Return XGBoost's own function from a sum to a probability."""

    def link(total: float) -> float:
        matrix = _matrix(np.zeros((1, learner.n_columns), dtype=np.float32), blank)
        matrix.set_base_margin(np.array([total], dtype=np.float32))
        return float(blank.predict(matrix)[0])

    return link


def _start(learner: _Learner) -> tuple[float, ...]:
    """Return what each sum starts from, in the same arithmetic: a probability is turned into a sum."""
    with np.errstate(over="ignore"):
        given = [np.float32(float(part)) for part in learner.base_score.removeprefix("[").removesuffix("]").split(",")]
    if len(given) not in (1, learner.n_sums) or not np.isfinite(given).all():
        raise ForestFormatError(
            f"The base score must be one finite number, or one for each class. Got {learner.base_score!r}."
        )
    if learner.objective == _TWO_CLASSES:
        if not all(1e-6 <= score <= 1 - 1e-6 for score in given):  # some versions move others there, some do not
            raise UnsupportedModelError(
                f"The base score of a file must be between {1e-6} and {1 - 1e-6}. Got {learner.base_score}; load the "
                "model with XGBoost, and pass it."
            )
        one = np.float32(1)
        # Rounded once, as logf of the C library is.
        given = [-np.float32(math.log(one / score - one)) for score in given]
    given = given * learner.n_sums if len(given) == 1 else given
    return tuple(float(score) for score in given)


def _sigmoid(total: float) -> float:
    """Return the probability of a sum in the same arithmetic as XGBoost."""
    one = np.float32(1)
    return float(one / (np.float32(math.exp(min(-total, _LARGEST_POWER))) + one))


def _matrix(rows: Any, booster: Any) -> Any:
    import xgboost

    return xgboost.DMatrix(rows, feature_names=booster.feature_names, feature_types=booster.feature_types)


def _labels_of(predicted: Any, learner: _Learner) -> Any:
    """Return the labels that a Booster's predictions stand for: labels as numbers, or probabilities."""
    if learner.objective == "multi:softmax":
        return predicted.astype(int)
    return np.argmax(predicted, axis=1) if learner.objective in _CLASSES else (predicted > 0.5).astype(int)
