"""XGBoost's tree boosters: XGBClassifier, XGBRegressor, XGBRanker, random forests, Booster, and their files.

Inputs are rounded to float32 and go left iff x < threshold. A category goes left unless the split lists it. A missing
value goes the way each split has for it. Leaf values, times the weight of their tree in a DART model, are added in
float32 to the intercept. The second of two classes wins iff the float32 probability of the sum is > 0.5; of several,
the first with the largest softmax, or, with the objective multi:softmax, the first with the largest sum. For a model at
hand, intercept and cut-off are asked of XGBoost itself; for a file, they are computed as it does.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from treeproof import errors
from treeproof.errors import ForestFormatError, InputError, UnsupportedModelError
from treeproof.model.columns import LEAF, Column
from treeproof.model.decision import Sums, Vote
from treeproof.model.floats import FLOAT32, smallest_reaching_at_once
from treeproof.model.forest import Forest
from treeproof.model.importers import Function, ubjson
from treeproof.model.importers.assemble import Tree, assemble, refuse_any_vote, require_methods, split_counts
from treeproof.model.importers.boosted import read_trees, require_trees
from treeproof.model.importers.pieces import count_as_missing
from treeproof.model.importers.selfcheck import check_against, check_scores, decoded
from treeproof.model.rows import categories_in

TAKES = "XGBoost's XGBClassifier, XGBRegressor, XGBRanker, their random forests, and Booster"

_TWO_CLASSES = "binary:logistic"
_RAW, _HINGE = "binary:logitraw", "binary:hinge"
_CLASSES = ("multi:softprob", "multi:softmax")
_SCORES = (
    "reg:squarederror",
    "reg:squaredlogerror",
    "reg:absoluteerror",
    "reg:pseudohubererror",
    "reg:quantileerror",
    "rank:pairwise",
    "rank:ndcg",
    "rank:map",
)
_OF_SUMS = ("count:poisson", "reg:gamma", "reg:tweedie", "reg:logistic", "survival:aft", "survival:cox")
"""Objectives whose predictions are scores too, but a function of sums: e to their power, or a probability."""
_REGRESSION = (*_SCORES, *_OF_SUMS)
_KNOWN = [_TWO_CLASSES, _RAW, _HINGE, *_CLASSES, *_REGRESSION]

_LARGEST_POWER = float(np.float32(88.7))  # of e, that XGBoost takes

_WHOLE: dict[str, Literal["integer", "binary"]] = {"int": "integer", "i": "binary"}  # types of columns, of all

_UNREAD = ("base_weights", "loss_changes", "parents", "sum_hessian")  # of trees; predictions do not depend on them

MOST_COLUMNS, MOST_CLASSES, MOST_CATEGORIES = 1_000_000, 10_000, 2**24
MOST_UNNAMED = 100_000  # columns: each costs time and memory, and a few bytes may declare any number of them


def takes(model: Any) -> bool:
    """Return whether the model is one of XGBoost's, or what its file says, without importing XGBoost."""
    return isinstance(model, Learner) or any(
        base.__module__.startswith("xgboost.") and base.__name__ in ("XGBModel", "Booster")
        for base in type(model).__mro__
    )


def load(model: Any, vote: Vote | None, data: Any = None) -> Forest:
    """Return the forest of a fitted model; its sums and labels are checked against the model's.

    `data` are rows as the model takes them. Where the model does not know how categories are called, they do.
    """
    refuse_any_vote(vote)
    if isinstance(model, Learner):
        return _of_file(model, data)
    import xgboost

    learner = _named(_fitted(model), data)
    blank = _blank(learner)
    start, link = _intercept(blank, learner), _Transform(blank, learner.n_columns)
    if isinstance(model, xgboost.Booster):
        forest = _forest(learner, start, link)

        def source(rows: Any) -> Any:
            given = decoded(forest, rows, named=learner.labelled)
            kinds = None if learner.labelled else model.feature_types
            return xgboost.DMatrix(
                given, feature_names=model.feature_names, feature_types=kinds, enable_categorical=True
            )

        check_scores(forest, lambda rows: model.predict(source(rows), output_margin=True))
        if forest.decision.cuts != ():
            check_against(forest, lambda rows: _labels_of(model.predict(source(rows)), learner))
        elif learner.objective in _OF_SUMS:
            check_scores(forest, lambda rows: model.predict(source(rows)), function=link)
        return forest
    # An estimator predicts without a DMatrix: for DART, that removes the intercept from what it had been added to.
    forest = _forest(learner, start, link, isinstance(model, xgboost.XGBClassifier), rebase=True)
    forest = _with_missing(forest, model.missing)
    check_scores(forest, lambda rows: model.predict(decoded(forest, rows, learner.labelled), output_margin=True))
    if forest.decision.cuts != ():
        check_against(forest, lambda rows: model.predict(decoded(forest, rows, learner.labelled)))
    elif learner.objective in _OF_SUMS:
        check_scores(forest, lambda rows: model.predict(decoded(forest, rows, learner.labelled)), function=link)
    return forest


def needs_data(model: Any) -> tuple[str, ...]:
    """Return the names of all columns if names of categories must come from data, see `_named`; else nothing."""
    if isinstance(model, Learner):
        return tuple(model.names)
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    if "c" not in (booster.feature_types or ()):  # the usual case, without a look at the trees
        return ()
    learner = _fitted(model)
    return tuple(learner.names) if learner.cut else ()


def from_json(document: Any) -> Forest | Learner:
    """Return the forest of a model that XGBoost saved as JSON; its classes are 0, 1, ... .

    Where names of categories must come from data, it is what `load` takes with them. XGBoost is not needed.
    ForestFormatError or UnsupportedModelError names what is wrong with any other document.
    """
    try:
        learner = _read(document)
        if learner.objective in _OF_SUMS:
            raise UnsupportedModelError(
                "A file's objective must predict sums of leaf values, or classes. Got "
                f"{learner.objective!r}, which predicts a function of them; load the model with XGBoost, and pass it."
            )
        return learner if learner.cut else _of_file(learner, None)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        if isinstance(error, ForestFormatError | UnsupportedModelError):
            raise
        raise ForestFormatError(f"The XGBoost model is damaged: {type(error).__name__}: {error}.") from error


def _of_file(learner: Learner, data: Any) -> Forest:
    learner = replace(_named(learner, data), trees=[{**tree} for tree in learner.trees])  # the document stays as it is
    return _forest(learner, _start(learner), _sigmoid)


def kinds(model: Any) -> dict[int, Literal["integer", "binary"]]:
    """Return the columns that were whole numbers, or truth values, in the training frame."""
    if isinstance(model, Learner):
        return {}  # its columns have them
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    return {j: _WHOLE[kind] for j, kind in enumerate(booster.feature_types or ()) if kind in _WHOLE}


def probability(model: Any) -> Callable[[float], float] | None:
    """Return the function from the sum to the probability of the second class."""
    if isinstance(model, Learner):
        return None
    learner = _fitted(model)
    if learner.objective != _TWO_CLASSES:
        return None
    transform = _Transform(_blank(learner), learner.n_columns)
    return lambda total: float(transform(np.array([total]))[0])


def link(model: Any) -> Function | None:
    """Return the function from sums to what a regressor predicts; None if that is the sum."""
    if isinstance(model, Learner):
        return None
    import xgboost

    booster = model if isinstance(model, xgboost.Booster) else model.get_booster()
    if json.loads(booster.save_config())["learner"]["objective"]["name"] not in _OF_SUMS:
        return None
    learner = _fitted(model)
    return _Transform(_blank(learner), learner.n_columns)


@dataclass(frozen=True, slots=True, eq=False)
class Learner:
    """What a saved model says about itself, as far as predictions depend on it."""

    document: Any
    objective: str
    n_columns: int
    n_sums: int
    names: list[str]
    categorical: frozenset[int]
    whole: frozenset[int]
    """Columns that held whole numbers, or truth values, in the training frame."""
    labels: dict[int, list[Any]]
    """Of columns whose categories are in the model: their labels, in the order of XGBoost's codes."""
    cut: dict[int, tuple[list[int], bytes]]
    """Of columns whose labels may be cut off: what the model has of them, where each ends and all in one."""
    base_score: str
    trees: Sequence[Any]
    tree_info: npt.NDArray[Any]
    weights: npt.NDArray[Any] | None

    @property
    def labelled(self) -> bool:
        """Whether rows hold the labels of categories, in a frame, and not codes."""
        return bool(self.labels)


def _fitted(model: Any) -> Learner:
    """Return what a fitted model says about itself, with the trees that it predicts with."""
    import xgboost

    try:
        booster = model if isinstance(model, xgboost.Booster) else model.get_booster()
        learner = _read(ubjson.parse(booster.save_raw("ubj"), _UNREAD))
    except (ValueError, xgboost.core.XGBoostError) as error:  # scikit-learn's NotFittedError is a ValueError
        if isinstance(error, ForestFormatError | UnsupportedModelError):
            raise
        raise errors.NotFittedError(
            f"The model must be fitted before it can be explained. Got an unfitted {type(model).__name__}; "
            "call its fit(X, y) first."
        ) from error
    if isinstance(model, xgboost.Booster):
        return learner
    classifier = isinstance(model, xgboost.XGBClassifier)
    if classifier == (learner.objective in _REGRESSION) or callable(model.objective):
        raise UnsupportedModelError(
            f"The objective must fit the model. Got a {type(model).__name__} with objective "
            f"{getattr(model.objective, '__name__', model.objective)!r}, saved as {learner.objective!r}."
        )
    known = (xgboost.XGBClassifier, xgboost.XGBRanker)
    base = next((kind for kind in known if isinstance(model, kind)), xgboost.XGBModel)
    require_methods(model, base, ("predict", "get_booster", "_get_iteration_range"))
    if classifier and learner.n_sums != (1 if model.n_classes_ == 2 else model.n_classes_):
        raise UnsupportedModelError(
            f"There must be one sum for two classes, or one for each of several. Got {learner.n_sums} for "
            f"{model.n_classes_} classes: XGBClassifier takes it for several labels at once."
        )
    try:
        n_rounds = model.best_iteration + 1  # set by early stopping
    except AttributeError:
        return learner
    n_trees = int(_model(learner.document)["iteration_indptr"][n_rounds])
    return replace(learner, trees=learner.trees[:n_trees], tree_info=learner.tree_info[:n_trees])


def _model(document: Any) -> Any:
    """Return the part of a document that has the trees."""
    booster = document["learner"]["gradient_booster"]
    return (booster["gbtree"] if booster["name"] == "dart" else booster)["model"]


def _read(document: Any) -> Learner:
    """Return what a document says; refuse what cannot be followed."""
    learner = document["learner"]
    booster, objective, parameters = (
        learner["gradient_booster"],
        learner["objective"]["name"],
        learner["learner_model_param"],
    )
    if booster["name"] not in ("gbtree", "dart"):
        raise UnsupportedModelError(f"The booster must be gbtree or dart. Got {booster['name']!r}.")
    if objective not in _KNOWN:
        raise UnsupportedModelError(f"The objective must be one of {_KNOWN}. Got {objective!r}.")
    n_columns, n_classes = _whole(parameters["num_feature"]), _whole(parameters["num_class"])
    if _whole(parameters.get("num_target", 1)) > 1:
        raise UnsupportedModelError(
            f"The model must have one output. Got {parameters['num_target']} targets, or labels at once."
        )
    names, types = (list(learner.get(key) or []) for key in ("feature_names", "feature_types"))
    if not 0 < n_columns <= MOST_COLUMNS or any(given and len(given) != n_columns for given in (names, types)):
        raise ForestFormatError(
            f"Each column must have a name and a type, or none. Got {n_columns} columns, {len(names)} names and "
            f"{len(types)} types."
        )
    if not names and n_columns > MOST_UNNAMED:
        raise UnsupportedModelError(
            f"A model without names of columns must have at most {MOST_UNNAMED} of them. Got {n_columns}; train on the "
            "columns that matter, or give them names."
        )
    if (objective in _CLASSES and not 2 <= n_classes <= MOST_CLASSES) or (objective not in _CLASSES and n_classes > 1):
        raise ForestFormatError(f"The objective {objective} must have its number of classes. Got {n_classes}.")
    model = _model(document)
    trees = model["trees"]
    if not isinstance(trees, list):
        raise ForestFormatError("Trees must be a list.")
    # Before anything is built of them: XGBoost itself aborts on such trees with other nodes.
    if any(_whole(tree["tree_param"].get("size_leaf_vector", 1)) > 1 for tree in trees):
        raise UnsupportedModelError(
            "Each tree must add to one sum. Got trees with several outputs (multi_strategy='multi_output_tree'); train "
            "with multi_strategy='one_output_per_tree', the default."
        )
    weights = _numbers(booster["weight_drop"], "weight_drop") if booster["name"] == "dart" else None
    tree_info = _integers(model["tree_info"], "tree_info")
    if len(tree_info) != len(trees) or (weights is not None and len(weights) != len(trees)):
        raise ForestFormatError(f"Each of {len(trees)} trees must have its class and, with DART, its weight.")
    n_sums, of_classes = max(1, n_classes), set(tree_info.tolist())
    if any(not 0 <= k < n_sums for k in of_classes):
        raise ForestFormatError(f"Each tree must be of one of {n_sums} classes. Got {sorted(of_classes)}.")
    if trees and len(of_classes) < n_sums:  # XGBoost makes a tree for each in every round
        raise ForestFormatError(f"Each of {n_sums} classes must have trees. Only {len(of_classes)} have some.")
    categorical = frozenset(j for j, kind in enumerate(types) if kind == "c")
    labels, cut = _labels(model.get("cats") or {}, categorical, n_columns)
    return Learner(
        document,
        objective,
        n_columns,
        n_sums,
        [_text(name) for name in names] or [f"x{j}" for j in range(n_columns)],
        categorical,
        frozenset(j for j, kind in enumerate(types) if kind in _WHOLE),
        labels,
        cut,
        str(parameters["base_score"]),
        trees,
        tree_info,
        weights,
    )


def _labels(
    cats: Any, categorical: frozenset[int], n_columns: int
) -> tuple[dict[int, list[Any]], dict[int, tuple[list[int], bytes]]]:
    """Return the labels of the categories of each column, where the model has them, and which may be cut off."""
    encoded = cats.get("enc") or []
    if encoded and len(encoded) != n_columns:
        raise ForestFormatError(f"Each of {n_columns} columns must have its categories, or none. Got {len(encoded)}.")
    found: dict[int, list[Any]] = {}
    cut: dict[int, tuple[list[int], bytes]] = {}
    for j, part in enumerate(encoded):
        if "offsets" in part:
            text, ends = _integers(part["values"], "values"), _integers(part["offsets"], "offsets").tolist()
            joined = text.astype(np.uint8).tobytes()
            labels: list[Any] = [joined[low:high].decode(errors="replace") for low, high in itertools.pairwise(ends)]
            if labels and j in categorical and not joined.isascii():
                cut[j] = ends, joined
        else:
            labels = _numbers(part["values"], "values").tolist()
        if labels and j in categorical:
            found[j] = labels
    if found and len(found) != len(categorical):
        raise UnsupportedModelError(
            "The model must have the categories of all its categorical columns, or of none. It has those of "
            f"{len(found)} of {len(categorical)}."
        )
    return found, cut


def _named(learner: Learner, data: Any) -> Learner:
    """Return a learner whose labels are whole, by `data` if necessary.

    The texts of a column are stored as one, with the places where they end. For frames of pandas, XGBoost 3 counts
    these in characters and stores as many bytes: beyond ASCII, texts are shifted, and the last ones cut off. Whether it
    did so cannot be told from what is stored. The right texts are those that give it, counted in either way.
    """
    if not learner.cut:
        return learner
    called = [learner.names[j] for j in learner.cut]
    if data is None:
        raise UnsupportedModelError(
            f"The categories of the columns {called} must be known; XGBoost cuts off texts with letters beyond ASCII, "
            f"as in {learner.labels[next(iter(learner.cut))][-1]!r}. Pass rows as it was trained on: "
            "Explainer(model, data=X), or a table on the command line."
        )
    columns = [Column(name) for name in learner.names]
    labels = dict(learner.labels)
    for j, stored in learner.cut.items():
        texts = categories_in(data, columns, j)
        if stored not in (_stored(texts, len), _stored(texts, lambda text: len(text.encode()))):
            raise InputError(
                f"Column {learner.names[j]!r} of 'data' must have the categories of the training data, in the same "
                f"order: XGBoost has stored them as {learner.labels[j]}, cut off. Got {texts}."
            )
        labels[j] = texts
    return replace(learner, labels=labels, cut={})


def _stored(texts: Sequence[str], length: Callable[[str], int]) -> tuple[list[int], bytes]:
    """Return what XGBoost stores of texts whose length it counts in this way."""
    ends = [0, *itertools.accumulate(map(length, texts))]
    return ends, "".join(texts).encode()[: ends[-1]]


def _forest(
    learner: Learner, start: tuple[float, ...], link: Function, classifier: bool = False, *, rebase: bool = False
) -> Forest:
    tree, columns = _trees(learner, start if rebase else None)
    if learner.objective in _REGRESSION or (learner.objective == _RAW and not classifier):
        labels: Any = np.array(["any score"])
        sums = Sums(start, "float32", cuts=())
    elif learner.objective in _CLASSES:
        labels = np.arange(learner.n_sums)
        sums = Sums(start, "float32", softmax=learner.objective == "multi:softprob")
    else:
        labels = np.arange(2)
        if learner.objective == _TWO_CLASSES:
            cut = smallest_reaching_at_once(lambda totals: link(totals) > 0.5, -1.0, 1.0, FLOAT32)
        else:  # XGBClassifier takes a raw sum for a probability, and calls what is above 0.5 the second class
            cut = FLOAT32.next(0.0 if learner.objective == _HINGE else 0.5, math.inf)
        sums = Sums(start, "float32", cuts=(cut,))
    importances = split_counts([tree], learner.n_columns)
    return assemble([tree], classes=labels, columns=columns, importances=importances, vote="sum", sums=sums)


def _trees(learner: Learner, start: tuple[float, ...] | None) -> tuple[Tree, list[Column]]:
    """Return all trees, and the columns that they read; with `start`, trees of DART as estimators weigh them."""
    trees = learner.trees
    require_trees(trees)
    sizes = np.array([len(tree["left_children"]) for tree in trees])

    def joined(key: str, read: Callable[[Any, str], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        # They are read once, and forgotten: a large model is not held twice.
        parts = [read(tree.pop(key), key) for tree in trees]
        if [len(part) for part in parts] != sizes.tolist():
            raise ForestFormatError(f"Trees must have as many left as right children, and as many {key!r}.")
        return np.concatenate(parts)

    left, right = joined("left_children", _integers), joined("right_children", _integers)
    feature, missing_left = joined("split_indices", _integers), joined("default_left", _integers) == 1
    with np.errstate(over="ignore"):
        condition = joined("split_conditions", _numbers).astype(np.float32)
        below = np.nextafter(condition, np.float32(-np.inf))  # x < threshold goes left
    values = condition
    if learner.weights is not None:
        weight = learner.weights[: len(trees)].astype(np.float32)
        if start is not None:
            base = np.repeat(np.array(start, dtype=np.float32)[learner.tree_info], sizes)
            values = (values + base) - base
        values = values * np.repeat(weight, sizes)
    columns, left_categories = _categories(learner, sizes, left >= 0, feature, missing_left)
    tree = read_trees(
        sizes,
        left,
        right,
        feature=feature,
        threshold=below,
        values=values,
        missing_left=missing_left,
        left_categories=left_categories,
        adds_to=learner.tree_info,
        n_columns=learner.n_columns,
    )
    return tree, columns


def _categories(
    learner: Learner,
    sizes: npt.NDArray[Any],
    inner: npt.NDArray[Any],
    feature: npt.NDArray[Any],
    missing_left: npt.NDArray[Any],
) -> tuple[list[Column], dict[int, frozenset[int]]]:
    """Return the columns, and of each split by categories those that go left, as places among the column's."""
    kinds = [_integers(tree.pop("split_type", []), "split_type") for tree in learner.trees]
    by_category = np.concatenate(kinds) == 1
    del kinds
    if not learner.categorical and not by_category.any():
        return [_numeric(learner, j) for j in range(learner.n_columns)], {}
    right_of: dict[int, frozenset[int]] = {}
    for tree, first, size in zip(learner.trees, (np.cumsum(sizes) - sizes).tolist(), sizes.tolist(), strict=True):
        keys = ("categories", "categories_nodes", "categories_segments", "categories_sizes")
        codes, nodes, starts, counts = (_integers(tree.get(key, []), key).tolist() for key in keys)
        for node, start, count in zip(nodes, starts, counts, strict=True):
            if not (0 <= node < size and 0 <= start <= start + count <= len(codes)):
                raise ForestFormatError(
                    f"Node {node} of a tree of {size} must have its categories, {count} from {start}."
                )
            right_of[first + node] = frozenset(codes[start : start + count])
    right_of = {node: codes for node, codes in right_of.items() if inner[node]}
    if len(by_category) != len(inner) or np.flatnonzero(inner & by_category).tolist() != sorted(right_of):
        raise ForestFormatError("Each split by categories must have its categories, and no other split.")
    listed: dict[int, set[int]] = {}
    for node, codes in right_of.items():
        listed.setdefault(int(feature[node]), set()).update(codes)
    columns, known = [], {}
    for j, name in enumerate(learner.names):
        codes = listed.get(j, set())
        if any(not 0 <= code < MOST_CATEGORIES for code in codes):
            raise ForestFormatError(f"Categories must be numbered from 0. Column {name!r} has {sorted(codes)}.")
        if j in learner.labels:
            known[j] = list(range(len(learner.labels[j])))
            columns.append(Column(name, (*learner.labels[j], None)))
            if not codes <= set(known[j]):
                raise ForestFormatError(f"Column {name!r} is split by categories that it does not have.")
        elif codes:  # what no split lists goes left at each of them, whatever it is
            known[j] = [*sorted(codes), LEAF]
            columns.append(Column(name, (*sorted(codes), "other", None), other="other"))
        else:
            columns.append(_numeric(learner, j))
    by_number = np.isin(feature, list(known)) & inner
    by_number[list(right_of)] = False
    if by_number.any():
        raise ForestFormatError("A column with categories must be split by these, and not by a number.")
    made: dict[tuple[int, frozenset[int], bool], frozenset[int]] = {}
    found = {}
    for node, codes in right_of.items():
        j, missing = int(feature[node]), bool(missing_left[node])
        if (j, codes, missing) not in made:
            goes_left = {place for place, code in enumerate(known[j]) if code not in codes}
            made[j, codes, missing] = frozenset(goes_left | {len(known[j])} if missing else goes_left)
        found[node] = made[j, codes, missing]
    return columns, found


def _numeric(learner: Learner, j: int) -> Column:
    return Column(learner.names[j], missing="expected", integer=j in learner.whole)


def _with_missing(forest: Forest, missing: Any) -> Forest:
    """Return the forest to which this number means a missing value, as to an estimator with ``missing=``."""
    if isinstance(missing, bool) or not isinstance(missing, int | float | np.number):
        raise UnsupportedModelError(f"Missing values must be NaN or a number. Got missing={missing!r}.")
    value = FLOAT32.round(float(missing))
    if not math.isfinite(value):  # rows hold no infinite numbers
        return forest
    if any(column.categories is not None for column in forest.columns):
        raise UnsupportedModelError(
            f"With categories, missing values must be NaN. Got missing={missing!r}, which may be the code of one."
        )
    return count_as_missing(
        forest,
        range(forest.n_columns),
        (value, value),
        f"The number {missing!r}, which means a missing value, makes trees too large here. Train with missing=nan.",
    )


def _integers(values: Any, key: str) -> npt.NDArray[Any]:
    """Return whole numbers below 2**31; a truth value is 0 or 1."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        return values
    if not isinstance(values, list):
        raise ForestFormatError(f"{key!r} must be a list.")
    if set(map(type, values)) <= {int, bool} and all(abs(value) < 2**31 for value in values):
        return np.array(values, dtype=np.int64)
    raise ForestFormatError(f"{key!r} must hold whole numbers below 2**31. Got {_odd(values, (int, bool))!r}.")


def _numbers(values: Any, key: str) -> npt.NDArray[Any]:
    """Return numbers: whole ones as such if all of them are."""
    if isinstance(values, np.ndarray):
        return values
    if not isinstance(values, list):
        raise ForestFormatError(f"{key!r} must be a list.")
    if set(map(type, values)) <= {int, float}:
        return np.array(values, dtype=np.int64 if set(map(type, values)) == {int} else np.float64)
    raise ForestFormatError(f"Each of {key!r} must be a number. Got {_odd(values, (int, float))!r}.")


def _odd(values: list[Any], kinds: tuple[type, ...]) -> Any:
    """Return the first value of another kind, or else the largest."""
    others = [value for value in values if type(value) not in kinds]
    return others[0] if others else max(values, key=abs)


def _whole(value: Any) -> int:
    """Return a whole number, which XGBoost writes as such or as text, as it likes."""
    number = int(value) if isinstance(value, str | int) else None
    if number is None or abs(number) >= 2**31:
        raise ForestFormatError(f"A count must be a whole number below 2**31. Got {value!r}.")
    return number


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ForestFormatError(f"A column's name must be text. Got {value!r}.")
    return value


def _blank(learner: Learner) -> Any:
    """Return a booster that differs from the model in its trees only: each is one leaf, worth 0."""
    import xgboost

    require_trees(learner.trees)
    n = learner.n_sums
    ends = {"left_children": [-1], "right_children": [-1], "parents": [2147483647], "split_indices": [0]}
    zeros = {"base_weights": [0.0], "split_conditions": [0.0], "loss_changes": [0.0], "sum_hessian": [0.0]}
    stump = {**learner.trees[0], **ends, **zeros, "default_left": [0], "split_type": [0]}
    stump |= {key: [] for key in stump if key.startswith("categories")}
    stump["tree_param"] = {**stump["tree_param"], "num_nodes": "1", "num_deleted": "0"}
    original, model = learner.document["learner"], _model(learner.document)
    model = {
        **model,
        "gbtree_model_param": {**model["gbtree_model_param"], "num_trees": str(n), "num_parallel_tree": "1"},
        "iteration_indptr": [0, n],
        "tree_info": list(range(n)),
        "trees": [{**stump, "id": k} for k in range(n)],
    }
    blank = {**original, "gradient_booster": {"name": "gbtree", "model": model}, "attributes": {}}
    text = json.dumps({**learner.document, "learner": blank}, default=lambda array: array.tolist())
    return xgboost.Booster({"nthread": 1}, model_file=bytearray(text.encode()))


def _intercept(blank: Any, learner: Learner) -> tuple[float, ...]:
    """Return what each sum starts from, as XGBoost itself computes it."""
    row = _anything(blank, 1, learner.n_columns)
    return tuple(np.ravel(blank.predict(row, output_margin=True)).astype(float).tolist())


@dataclass(frozen=True, slots=True, eq=False)
class _Transform:
    """XGBoost's own function from sums to what it predicts: it is given the sums as what to start from."""

    blank: Any
    n_columns: int

    def __call__(self, totals: npt.NDArray[Any]) -> npt.NDArray[Any]:
        matrix = _anything(self.blank, len(totals), self.n_columns)
        matrix.set_base_margin(np.asarray(totals, dtype=np.float32))
        return np.asarray(self.blank.predict(matrix))


def _anything(blank: Any, n_rows: int, n_columns: int) -> Any:
    """Return so many rows, whatever they hold: a blank model does not look at them."""
    import xgboost
    from scipy.sparse import csr_matrix

    empty = csr_matrix((n_rows, n_columns), dtype=np.float32)
    return xgboost.DMatrix(empty, feature_names=blank.feature_names, feature_types=blank.feature_types, nthread=1)


def _start(learner: Learner) -> tuple[float, ...]:
    """Return what each sum starts from, in the same arithmetic: a probability is turned into a sum."""
    with np.errstate(over="ignore"):
        given = [np.float32(float(part)) for part in learner.base_score.removeprefix("[").removesuffix("]").split(",")]
    if len(given) not in (1, learner.n_sums) or not np.isfinite(given).all():
        raise ForestFormatError(
            f"The base score must be one finite number, or one for each class. Got {learner.base_score!r}."
        )
    if learner.objective == _RAW:
        raise UnsupportedModelError(
            "A file must not have the objective binary:logitraw: what its base score means depends on the version of "
            "XGBoost. Load the model with XGBoost, and pass it."
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


def _sigmoid(totals: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the probabilities of sums in the same arithmetic as XGBoost."""
    one = np.float32(1)
    powers = [math.exp(min(-total, _LARGEST_POWER)) for total in np.asarray(totals, dtype=float).tolist()]
    return one / (np.array(powers, dtype=np.float32) + one)


def _labels_of(predicted: Any, learner: Learner) -> Any:
    """Return the labels that a Booster's predictions stand for: labels as numbers, or probabilities."""
    if learner.objective == "multi:softmax":
        return predicted.astype(int)
    return np.argmax(predicted, axis=1) if learner.objective in _CLASSES else (predicted > 0.5).astype(int)
