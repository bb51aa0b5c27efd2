"""LightGBM: LGBMClassifier, LGBMRegressor, Booster, and their text files, categorical splits and missing values included.

All of them are read from LightGBM's own text, which holds numbers to the last bit. Inputs are compared as float64, numbers
closer to 0 than 1e-35 as 0. Leaf values are added in float64. The second of two classes wins iff its probability is more
than that of the first; of several, the first with the largest softmax.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from treeproof.errors import ForestFormatError, InputError, NotFittedError, UnsupportedModelError
from treeproof.floats import FLOAT64, smallest_reaching
from treeproof.forest import LEAF, Column, Forest, Label, Missing, Sums, Vote
from treeproof.importers.assemble import Tree, assemble, in_order, split_counts
from treeproof.importers.selfcheck import check_against, check_scores, decoded

TAKES = "LightGBM's LGBMClassifier, LGBMRegressor and Booster"

_SCORES = {"regression", "regression_l1", "huber", "fair", "quantile", "mape"}
_ZERO = float(np.float32(1e-35))  # LightGBM takes what is not larger for 0
_CATEGORICAL, _DEFAULT_LEFT = 1, 2
_NO_MISSING, _ZERO_MISSING, _NAN_MISSING = 0, 1, 2


def takes(model: Any) -> bool:
    """Return whether the model is one of LightGBM's, without importing LightGBM."""
    return any(
        base.__module__.startswith("lightgbm.") and base.__name__ in ("LGBMModel", "Booster")
        for base in type(model).__mro__
    )


def load(model: Any, vote: Vote | None) -> Forest:
    """Return the forest of a fitted model; its sums and labels are checked against the model's."""
    import lightgbm

    if vote is not None:
        raise InputError(f"Boosted trees take no vote. Got vote={vote!r}; leave it out to explain the model's predict.")
    booster, classes = model, None
    if isinstance(model, lightgbm.LGBMModel):
        try:
            booster = model.booster_
        except lightgbm.sklearn.LGBMNotFittedError as error:
            raise NotFittedError(
                f"The model must be fitted before it can be explained. Got an unfitted {type(model).__name__}; "
                "call its fit(X, y) first."
            ) from error
        if isinstance(model, lightgbm.LGBMClassifier):
            classes = np.asarray(model.classes_)
            for method in ("predict", "predict_proba"):
                if getattr(type(model), method) is not getattr(lightgbm.LGBMClassifier, method):
                    raise UnsupportedModelError(f"{type(model).__name__} has its own '{method}', which treeproof does not know.")
    parsed = _parse(booster.model_to_string())
    forest = _forest(parsed, classes)

    def source(rows: Any) -> Any:
        return decoded(forest, rows, named=parsed.pandas_categories is not None)

    check_scores(forest, lambda rows: booster.predict(source(rows), raw_score=True))
    if classes is not None:
        check_against(forest, lambda rows: model.predict(source(rows)))
    elif forest.sums is not None and forest.sums.cuts != ():
        check_against(forest, lambda rows: _labels_of(booster.predict(source(rows)), forest))
    return forest


def from_text(text: str) -> Forest:
    """Return the forest of a model that LightGBM saved as text; its classes are 0, 1, ... ."""
    try:
        return _forest(_parse(text), None)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise ForestFormatError(f"The LightGBM model is damaged: {type(error).__name__}: {error}.") from error


def probability(model: Any) -> Callable[[float], float] | None:
    """Return the function from the sum to the probability of the second class."""
    booster = getattr(model, "booster_", model)
    name, options = _objective(_parse(booster.model_to_string()).header)
    return _link(options) if name == "binary" else None


@dataclass(frozen=True, slots=True, eq=False)
class _Model:
    header: dict[str, str]
    trees: list[dict[str, str]]
    pandas_categories: list[list[Any]] | None


def _parse(text: str) -> _Model:
    """Return the sections of a model's text, each a map from key to the text of its value."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != "tree":
        raise ForestFormatError("A LightGBM model must be a text that starts with the line 'tree'.")
    sections: list[dict[str, str]] = [{}]
    for line in lines[1:]:
        if line.startswith("Tree="):
            sections.append({})
        elif line.strip() == "end of trees":
            break
        elif "=" in line:
            key, value = line.split("=", 1)
            sections[-1][key] = value
        elif line.strip():
            sections[-1][line.strip()] = ""
    else:
        raise ForestFormatError("The LightGBM model must have a line 'end of trees'. The file is cut off.")
    last = next((line for line in reversed(lines) if line.startswith("pandas_categorical:")), "")
    categories = json.loads(last.removeprefix("pandas_categorical:") or "null")
    return _Model(sections[0], sections[1:], categories)


def _objective(header: dict[str, str]) -> tuple[str, dict[str, str]]:
    name, *options = header.get("objective", "none").split()
    return name, dict(option.split(":", 1) if ":" in option else (option, "") for option in options)


def _forest(model: _Model, classes: Any) -> Forest:
    header = model.header
    name, options = _objective(header)
    n_sums = int(header["num_tree_per_iteration"])
    if "average_output" in header:
        raise UnsupportedModelError("The boosting type must be gbdt. Got rf, which averages.")
    if not 1 <= n_sums <= 10_000:
        raise ForestFormatError(f"The model must have 1 to 10000 trees per iteration. Got {n_sums}.")
    start = (0.0,) * n_sums
    if name in _SCORES and "sqrt" not in options:
        labels: Any = np.array(["any score"])
        sums = Sums(start, cuts=())
    elif name == "binary":
        labels = np.arange(2) if classes is None else classes
        link = _link(options)
        sums = Sums(start, cuts=(smallest_reaching(lambda s: 1 - link(s) < link(s), -1.0, 1.0, FLOAT64),))
    elif name == "multiclass":
        labels = np.arange(n_sums) if classes is None else classes
        sums = Sums(start, softmax=True)
    else:
        known = [*sorted(_SCORES), "binary", "multiclass"]
        got = header.get("objective", "none")
        raise UnsupportedModelError(f"The objective must be one of {known}, without sqrt. Got {got!r}.")
    names = header["feature_names"].split()
    columns, codes = _columns(model, names)
    trees = [_tree(tree, i % n_sums, n_sums, codes, i) for i, tree in enumerate(model.trees)]
    return assemble(
        trees,
        classes=labels,
        columns=columns,
        importances=split_counts(trees, len(names)),
        vote="sum",
        numbers="float64",
        sums=sums,
    )


def _columns(model: _Model, names: list[str]) -> tuple[list[Column], dict[int, list[int]]]:
    """Return the columns, and of categorical ones the whole number that LightGBM compares for each category."""
    infos = model.header["feature_infos"].split()
    kinds: dict[int, set[int]] = {j: set() for j in range(len(names))}
    categorical = set()
    for tree in model.trees:
        features, types = _integers(tree, "split_feature"), _integers(tree, "decision_type")
        for feature, kind in zip(features, types, strict=True):
            kinds[feature].add(kind >> 2 & 3)
            if kind & _CATEGORICAL:
                categorical.add(feature)
    labels: dict[int, list[Any]] = {}
    if model.pandas_categories is not None:
        # pandas columns of type category, in their order; those that no tree splits on look like all others here.
        listed = [j for j, info in enumerate(infos) if ":" in info and not info.startswith("[")]
        if len(model.pandas_categories) == len(listed):
            labels = dict(zip(listed, model.pandas_categories, strict=True))
        elif categorical:
            raise UnsupportedModelError(
                "Columns of type category must each have several values in training, so that they can be told from others."
            )
    columns, codes = [], {}
    for j, name in enumerate(names):
        if _ZERO_MISSING in kinds[j]:
            raise UnsupportedModelError(f"Zeros must not stand for missing values. Column {name!r} has zero_as_missing.")
        missing: Missing = "expected" if _NAN_MISSING in kinds[j] else "never"
        if j in labels:
            codes[j] = list(range(len(labels[j])))
            columns.append(Column(name, (*labels[j], None)))
        elif j in categorical:
            codes[j] = sorted(code for code in map(int, infos[j].split(":")) if code >= 0)
            columns.append(Column(name, (*codes[j], None)))
        else:
            columns.append(Column(name, missing=missing))
    return columns, codes


def _tree(tree: dict[str, str], k: int, n_sums: int, codes: dict[int, list[int]], number: int) -> Tree:
    if tree.get("is_linear", "0") != "0":
        raise UnsupportedModelError("Leaves must be constant. Got linear ones (linear_tree=True).")
    leaf_values = _floats(tree, "leaf_value")
    feature, kinds = _integers(tree, "split_feature"), _integers(tree, "decision_type")
    threshold = _floats(tree, "threshold")
    n = len(feature)
    if len(leaf_values) != n + 1 or len(threshold) != n or len(kinds) != n:
        raise ForestFormatError(f"Tree {number} must have one leaf more than splits. Got {len(leaf_values)} and {n}.")
    # Splits come first, then leaves: a child below 0 is the complement of a leaf.
    children = [[n + ~c if c < 0 else c for c in _integers(tree, key)] for key in ("left_child", "right_child")]
    left, right = [c + [LEAF] * (n + 1) for c in children]
    order = in_order(left, right, f"Tree {number}") if n else [0]
    if n == 0:
        left, right = [LEAF], [LEAF]
    place = {node: i for i, node in enumerate(order)}
    bounds = _integers(tree, "cat_boundaries") if "cat_boundaries" in tree else []
    words = _integers(tree, "cat_threshold") if "cat_threshold" in tree else []
    values = np.zeros((len(order), n_sums))
    left_categories, missing_left = {}, []
    for i, node in enumerate(order):
        is_leaf = node >= n
        values[i, k] = leaf_values[node - n] if is_leaf else 0.0
        missing_left.append(not is_leaf and bool(kinds[node] & _DEFAULT_LEFT))
        if is_leaf or not kinds[node] & _CATEGORICAL:
            continue
        first, last = bounds[int(threshold[node])], bounds[int(threshold[node]) + 1]
        chosen = {32 * w + bit for w, word in enumerate(words[first:last]) for bit in range(32) if word >> bit & 1}
        # A missing value, the last category, goes right, or counts as 0 if training had none.
        missing = -1 if kinds[node] >> 2 & 3 == _NAN_MISSING else 0
        compared = [*codes[feature[node]], missing]
        left_categories[i] = frozenset(c for c, code in enumerate(compared) if code in chosen)
    return Tree(
        feature=[LEAF if node >= n else feature[node] for node in order],
        threshold=[math.nan if node >= n else _around_zero(threshold[node]) for node in order],
        left=[place.get(left[node], LEAF) for node in order],
        right=[place.get(right[node], LEAF) for node in order],
        values=values,
        missing_left=missing_left,
        left_categories=left_categories,
    )


def _around_zero(threshold: float) -> float:
    """Return the largest number that goes left, when numbers closer to 0 than _ZERO are taken for 0."""
    if -_ZERO <= threshold < 0:
        return FLOAT64.next(-_ZERO, -math.inf)
    return _ZERO if 0 <= threshold < _ZERO else threshold


def _link(options: dict[str, str]) -> Callable[[float], float]:
    steepness = float(options.get("sigmoid", "1"))

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
