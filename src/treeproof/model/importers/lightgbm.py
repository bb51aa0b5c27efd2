"""LightGBM: LGBMClassifier, LGBMRegressor, Booster, and their text files, with categories and missing values.

All of them are read from LightGBM's own text, which holds numbers to the last bit. Inputs are compared as float64,
numbers closer to 0 than 1e-35 as 0. Leaf values are added in float64. The second of two classes wins iff its
probability is more than that of the first; of several, the first with the largest softmax.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from treeproof import errors
from treeproof.errors import ForestFormatError, UnsupportedModelError
from treeproof.model.columns import LEAF, Column, Label, Missing
from treeproof.model.decision import Sums, Vote
from treeproof.model.floats import FLOAT64, smallest_reaching
from treeproof.model.forest import Forest
from treeproof.model.importers import Function
from treeproof.model.importers.assemble import (
    Tree,
    assemble,
    in_order,
    refuse_any_vote,
    require_columns,
    require_methods,
    split_counts,
)
from treeproof.model.importers.selfcheck import check_against, check_scores, decoded

TAKES = "LightGBM's LGBMClassifier, LGBMRegressor and Booster"

_SCORES = {"regression", "regression_l1", "huber", "fair", "quantile", "mape"}
_ZERO = float(np.float32(1e-35))  # LightGBM takes what is not larger for 0
_UNLISTED = -1  # a category that is in no split
_CATEGORICAL, _DEFAULT_LEFT = 1, 2
_ZERO_MISSING, _NAN_MISSING = 1, 2
_CHANGES_PREDICTIONS = ("pred_early_stop", "predict_raw_score", "predict_leaf_index", "predict_contrib")


def takes(model: Any) -> bool:
    """Return whether the model is one of LightGBM's, without importing LightGBM."""
    return any(
        base.__module__.startswith("lightgbm.") and base.__name__ in ("LGBMModel", "Booster")
        for base in type(model).__mro__
    )


def load(model: Any, vote: Vote | None) -> Forest:
    """Return the forest of a fitted model; its sums and labels are checked against the model's."""
    import lightgbm

    refuse_any_vote(vote)
    booster = _booster(model)
    parsed = _parse(booster.model_to_string())
    name, options = _objective(parsed.header)
    steepness = booster.params.get("sigmoid", 1)
    if name == "binary" and booster.params and float(steepness) != float(options["sigmoid"]):
        raise UnsupportedModelError(f"The 'sigmoid' parameter must have at most 6 digits. Got {steepness!r}.")
    classes = None
    if isinstance(model, lightgbm.LGBMModel):
        classifier = isinstance(model, lightgbm.LGBMClassifier)
        require_methods(model, lightgbm.LGBMClassifier if classifier else lightgbm.LGBMModel, ("predict",))
        if classifier:
            require_methods(model, lightgbm.LGBMClassifier, ("predict_proba",))
            classes = np.asarray(model.classes_)
        changes = [key for key in _CHANGES_PREDICTIONS if model.get_params().get(key)]
        if changes:
            raise UnsupportedModelError(f"Predictions must be of all trees, and labels or scores. Got {changes}.")
        if name in (_SCORES if classifier else ("binary", "multiclass")):
            raise UnsupportedModelError(f"The objective must fit the model. Got {name!r} for a {type(model).__name__}.")
    forest = _forest(parsed, classes)

    def source(rows: Any) -> Any:
        return decoded(forest, rows, named=bool(parsed.pandas_categories))

    # The model itself is asked, not its booster, where its own options may change what it adds.
    check_scores(forest, lambda rows: model.predict(source(rows), raw_score=True))
    if classes is not None:
        check_against(forest, lambda rows: model.predict(source(rows)))
    elif forest.decision.cuts != ():
        check_against(forest, lambda rows: _labels_of(booster.predict(source(rows)), forest))
    return forest


def from_text(text: str) -> Forest:
    """Return the forest of a model that LightGBM saved as text; its classes are 0, 1, ... .

    LightGBM is not needed. ForestFormatError or UnsupportedModelError names what is wrong with any other text.
    """
    try:
        return _forest(_parse(text), None)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError) as error:
        if isinstance(error, ForestFormatError | UnsupportedModelError):
            raise
        raise ForestFormatError(f"The LightGBM model is damaged: {type(error).__name__}: {error}.") from error


def probability(model: Any) -> Callable[[float], float] | None:
    """Return the function from the sum to the probability of the second class."""
    name, options = _objective(_parse(_booster(model).model_to_string()).header)
    return _link(options) if name == "binary" else None


def decision(model: Any) -> Function | None:
    """Return the function from sums to the decision function: the sums themselves."""
    name, _ = _objective(_parse(_booster(model).model_to_string()).header)
    return (lambda sums: sums) if name == "binary" else None


def _booster(model: Any) -> Any:
    import lightgbm
    from sklearn.exceptions import NotFittedError

    if isinstance(model, lightgbm.Booster):
        return model
    try:
        return model.booster_
    except NotFittedError as error:
        raise errors.NotFittedError(
            f"The model must be fitted before it can be explained. Got an unfitted {type(model).__name__}; "
            "call its fit(X, y) first."
        ) from error


@dataclass(frozen=True, slots=True, eq=False)
class _Model:
    """The sections of a model's text, each a map from key to the text of its value."""

    header: dict[str, str]
    trees: list[dict[str, str]]
    parameters: dict[str, str]
    pandas_categories: list[list[Any]]


def _parse(text: str) -> _Model:
    lines = text.split("\n")
    if lines[0].strip() != "tree":
        raise ForestFormatError("A LightGBM model must be a text that starts with the line 'tree'.")
    sections: list[dict[str, str]] = [{}]
    for line in map(str.strip, lines[1:]):
        if line.startswith("Tree="):
            sections.append({})
        elif line == "end of trees":
            break
        elif line:
            key, _, value = line.partition("=")
            sections[-1][key] = value
    else:
        raise ForestFormatError("The LightGBM model must have a line 'end of trees'. The file is cut off.")
    parameters = dict(re.findall(r"^\[(\w+): (.*)\]\s*$", text, re.MULTILINE))
    last = next((line for line in reversed(lines) if line.startswith("pandas_categorical:")), "")
    categories = json.loads(last.removeprefix("pandas_categorical:") or "null") or []
    for label in [label for labels in categories for label in labels]:
        if not isinstance(label, str | int | float) or (isinstance(label, float) and not math.isfinite(label)):
            raise ForestFormatError(f"Categories must be texts, finite numbers or truth values. Got {label!r}.")
    return _Model(sections[0], sections[1:], parameters, categories)


def _objective(header: dict[str, str]) -> tuple[str, dict[str, str]]:
    name, *options = header.get("objective", "none").split()
    return name, {key: value for key, _, value in (option.partition(":") for option in options)}


def _forest(model: _Model, classes: Any) -> Forest:
    header = model.header
    name, options = _objective(header)
    if "average_output" in header:
        raise UnsupportedModelError("The boosting type must be gbdt, goss or dart. Got rf, which averages.")
    n_sums = int(header["num_tree_per_iteration"])
    if not 1 <= n_sums <= 10_000:
        raise ForestFormatError(f"The model must have 1 to 10000 trees per iteration. Got {n_sums}.")
    start = (0.0,) * n_sums
    if name in _SCORES and "sqrt" not in options:
        labels: Any = np.array(["any score"])
        sums = Sums(start, cuts=())
    elif name == "binary":
        labels = np.arange(2) if classes is None else classes
        link, largest = _link(options), FLOAT64.largest
        sums = Sums(start, cuts=(smallest_reaching(lambda s: 1 - link(s) < link(s), -largest, largest, FLOAT64),))
    elif name == "multiclass":
        labels = np.arange(n_sums) if classes is None else classes
        sums = Sums(start, softmax=True)
    else:
        known = [*sorted(_SCORES), "binary", "multiclass"]
        got = header.get("objective", "a custom one, whose predictions are no probabilities")
        raise UnsupportedModelError(f"The objective must be one of {known}, without sqrt. Got {got}.")
    if n_sums != (len(labels) if name == "multiclass" else 1) or (name == "binary" and len(labels) != 2):
        raise UnsupportedModelError(
            f"There must be one sum for two classes, or one for each of several. Got {n_sums} for {len(labels)} "
            f"classes, objective {name}."
        )
    names = header["feature_names"].split(" ")
    if names == [f"Column_{j}" for j in range(len(names))]:
        names = [f"x{j}" for j in range(len(names))]  # it never saw names
    columns, codes = _columns(model, names)
    trees = [_tree(tree, i % n_sums, codes, len(columns), i) for i, tree in enumerate(model.trees)]
    return assemble(
        trees,
        classes=labels,
        columns=columns,
        importances=split_counts(trees, len(names)),
        vote="sum",
        dtype="float64",
        sums=sums,
    )


def _columns(model: _Model, names: list[str]) -> tuple[list[Column], dict[int, list[int]]]:
    """Return the columns, and of categorical ones the whole number that LightGBM compares for each category."""
    infos = model.header["feature_infos"].split(" ")
    if len(infos) != len(names):
        raise ForestFormatError(f"Each column must have a name and an info. Got {len(names)} and {len(infos)}.")
    kinds: list[set[int]] = [set() for _ in names]
    categorical = set()
    for number, tree in enumerate(model.trees):
        features, types = _integers(tree, "split_feature"), _integers(tree, "decision_type")
        require_columns(features, len(names), f"Tree {number}")
        for feature, kind in zip(features, types, strict=True):
            kinds[feature].add(kind >> 2 & 3)
            if kind & _CATEGORICAL:
                categorical.add(feature)
    labels = _pandas_labels(model, infos)
    unused: Missing = "expected" if any(_NAN_MISSING in kind for kind in kinds) else "possible"
    columns, codes = [], {}
    for j, name in enumerate(names):
        if _ZERO_MISSING in kinds[j]:
            raise UnsupportedModelError(
                f"Zeros must not stand for missing values. Column {name!r} has zero_as_missing."
            )
        if j in labels:
            codes[j] = list(range(len(labels[j])))
            columns.append(Column(name, (*labels[j], None)))
        elif j in categorical:
            # Those that were rare in training are not listed. They go right at every split, as all unknown ones do.
            listed = sorted({code for code in map(int, infos[j].split(":")) if code >= 0})
            codes[j] = [*listed, _UNLISTED]
            columns.append(Column(name, (*listed, "other", None), other="other"))
        else:
            missing: Missing = "expected" if _NAN_MISSING in kinds[j] else "possible"
            columns.append(Column(name, missing=missing if kinds[j] else unused))
    return columns, codes


def _pandas_labels(model: _Model, infos: list[str]) -> dict[int, list[Any]]:
    """Return the labels of the columns that were of pandas' type category in training.

    The text has their labels, but not which columns they belong to: it is those given as categorical, in order, if
    the numbers agree. An ordered category is a number to LightGBM and its column cannot be found.
    """
    if not model.pandas_categories:
        return {}
    listed = [int(part) for part in model.parameters.get("categorical_feature", "").split(",") if part]
    fits = len(listed) == len(model.pandas_categories) and all(0 <= j < len(infos) for j in listed)
    labels = dict(zip(listed, model.pandas_categories, strict=True)) if fits else {}
    for j, names in labels.items():
        seen = [] if infos[j] == "none" else [int(code) for code in infos[j].split(":")]
        fits = fits and all(-1 <= code < len(names) for code in seen)
        # A number in another column might be a category's code, and the labels here that one's.
        fits = fits and (
            all(isinstance(name, str) for name in names)
            or names == list(range(len(names)))
            or f"[0:{len(names) - 1}]" not in infos
        )
    if not fits:
        raise UnsupportedModelError(
            "Columns of pandas' type category must be told from others: they must be unordered, and "
            "categorical_feature must name no other columns. If that is so, name categories by texts."
        )
    return labels


def _tree(tree: dict[str, str], k: int, codes: dict[int, list[int]], n_columns: int, number: int) -> Tree:
    if tree.get("is_linear", "0") != "0":
        raise UnsupportedModelError("Leaves must be constant. Got linear ones (linear_tree=True).")
    leaf_values = _floats(tree, "leaf_value")
    feature, kinds = _integers(tree, "split_feature"), _integers(tree, "decision_type")
    threshold = _floats(tree, "threshold")
    n = len(feature)
    if not len(leaf_values) - 1 == len(threshold) == len(kinds) == n:
        raise ForestFormatError(f"Tree {number} must have one leaf more than splits. Got {len(leaf_values)} and {n}.")
    # Splits come first, then leaves: a child below 0 is the complement of a leaf.
    left, right = (
        [n + ~c if c < 0 else c for c in _integers(tree, key)] + [LEAF] * (n + 1)
        for key in ("left_child", "right_child")
    )
    if len(left) != 2 * n + 1:
        raise ForestFormatError(f"Tree {number} must have two children for each of {n} splits.")
    order = in_order(left, right, f"Tree {number}")
    place = {node: i for i, node in enumerate(order)}
    left_categories, missing_left = {}, []
    for i, node in enumerate(order):
        kind = 0 if node >= n else kinds[node]
        # Where training had no missing values, one counts as 0.
        as_zero = kind >> 2 & 3 != _NAN_MISSING
        missing_left.append(node < n and (threshold[node] >= 0 if as_zero else bool(kind & _DEFAULT_LEFT)))
        if kind & _CATEGORICAL:
            chosen = _bits(tree, threshold[node])
            # A missing value, the last category, goes right, also where training had none.
            compared = [*codes[feature[node]], _UNLISTED]
            left_categories[i] = frozenset(c for c, code in enumerate(compared) if code in chosen)
        elif node < n and feature[node] in codes:
            raise ForestFormatError(f"Tree {number} must split a categorical column by categories.")
    return Tree(
        feature=[LEAF if node >= n else feature[node] for node in order],
        threshold=[math.nan if node >= n else _around_zero(threshold[node]) for node in order],
        left=[place.get(left[node], LEAF) for node in order],
        right=[place.get(right[node], LEAF) for node in order],
        values=[0.0 if node < n else leaf_values[node - n] for node in order],
        missing_left=missing_left,
        left_categories=left_categories,
        adds_to=k,
    )


def _bits(tree: dict[str, str], place: float) -> set[int]:
    """Return the categories that go left at the split whose threshold is `place`."""
    bounds, words = _integers(tree, "cat_boundaries"), _integers(tree, "cat_threshold")
    at = int(place)
    if not 0 <= at < len(bounds) - 1 or not 0 <= bounds[at] <= bounds[at + 1] <= len(words):
        raise ForestFormatError(f"A categorical split must have its categories. Got place {place}.")
    chosen = words[bounds[at] : bounds[at + 1]]
    return {32 * w + bit for w, word in enumerate(chosen) for bit in range(32) if word >> bit & 1}


def _around_zero(threshold: float) -> float:
    """Return the largest number that goes left, when numbers closer to 0 than _ZERO are taken for 0."""
    if -_ZERO <= threshold < 0:
        return FLOAT64.next(-_ZERO, -math.inf)
    return _ZERO if 0 <= threshold < _ZERO else threshold


def _link(options: dict[str, str]) -> Callable[[float], float]:
    steepness = float(options["sigmoid"])
    if not 1e-300 < steepness < math.inf:
        raise ForestFormatError(f"The objective's sigmoid must be a positive number. Got {steepness}.")

    def link(total: float) -> float:
        try:
            return 1.0 / (1.0 + math.exp(-steepness * total))
        except OverflowError:
            return 0.0

    return link


def _integers(section: dict[str, str], key: str) -> list[int]:
    return [int(part) for part in section.get(key, "").split()]


def _floats(section: dict[str, str], key: str) -> list[float]:
    return [float(part) for part in section.get(key, "").split()]


def _labels_of(probabilities: Any, forest: Forest) -> list[Label]:
    table = np.column_stack([1 - probabilities, probabilities]) if probabilities.ndim == 1 else probabilities
    labels: list[Label] = forest.classes[np.argmax(table, axis=1)].tolist()
    return labels
