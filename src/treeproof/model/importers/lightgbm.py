"""LightGBM: LGBMClassifier, LGBMRegressor, LGBMRanker, Booster, and their text files, with categories and gaps.

All of them are read from LightGBM's own text, which holds numbers to the last bit. Inputs are compared as float64,
numbers closer to 0 than 1e-35 as 0. Leaf values are added in float64; a random forest divides the sums by the number of
trees. The second of two classes wins iff its probability is more than that of the first; of several, the first with the
largest softmax, or, with the objective multiclassova, the largest sigmoid of its own sum.
"""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from treeproof import errors
from treeproof.errors import ForestFormatError, UnsupportedModelError
from treeproof.model.columns import LEAF, Column, Label, Missing
from treeproof.model.decision import Sums, Vote
from treeproof.model.floats import FLOAT64, smallest_reaching
from treeproof.model.forest import Forest
from treeproof.model.importers import Function
from treeproof.model.importers.assemble import Tree, assemble, refuse_any_vote, require_methods, split_counts
from treeproof.model.importers.boosted import read_trees, require_trees
from treeproof.model.importers.pieces import count_as_missing
from treeproof.model.importers.selfcheck import check_against, check_scores, decoded
from treeproof.model.sigmoid import HIGHEST, sigmoid_gap, sigmoid_range

TAKES = "LightGBM's LGBMClassifier, LGBMRegressor, LGBMRanker and Booster"

_SCORES = {"regression", "regression_l1", "huber", "fair", "quantile", "mape", "lambdarank", "rank_xendcg"}
_TWO_CLASSES = ("binary", "cross_entropy")
_COUNTS = ("poisson", "gamma", "tweedie")
_SEVERAL_CLASSES = ("multiclass", "multiclassova")
_INTENSITY = "cross_entropy_lambda"
_ZERO = float(np.float32(1e-35))  # LightGBM takes what is not larger for 0
_LARGEST_PART = 700_000
_UNLISTED = -1  # a category that is in no split
_CATEGORICAL, _DEFAULT_LEFT = 1, 2
_ZERO_MISSING, _NAN_MISSING = 1, 2
_UNREAD = {"split_gain", "leaf_weight", "leaf_count", "internal_value", "internal_weight", "internal_count"}
_CHANGES_PREDICTIONS = ("pred_early_stop", "predict_raw_score", "predict_leaf_index", "predict_contrib")


def takes(model: Any) -> bool:
    """Return whether the model is one of LightGBM's, without importing LightGBM."""
    return any(
        base.__module__.startswith("lightgbm.") and base.__name__ in ("LGBMModel", "Booster")
        for base in type(model).__mro__
    )


def needs_data(model: Any) -> tuple[str, ...]:
    """Return the columns for which data must be given: none. Where it is, it shows how names are written."""
    return ()


def load(model: Any, vote: Vote | None, data: Any = None) -> Forest:
    """Return the forest of a fitted model; its sums and labels are checked against the model's.

    LightGBM turns blanks in names of columns into underscores. If `data` has names that become the model's, they are
    taken.
    """
    import lightgbm

    refuse_any_vote(vote)
    booster = _booster(model)
    parsed = _read(booster)
    name, options = _objective(parsed.header)
    steepness = booster.params.get("sigmoid", 1)
    if name in ("binary", "multiclassova") and booster.params and float(steepness) != float(options["sigmoid"]):
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
        if name in (_SCORES if classifier else ("binary", *_SEVERAL_CLASSES)):
            raise UnsupportedModelError(f"The objective must fit the model. Got {name!r} for a {type(model).__name__}.")
    given = [str(name) for name in getattr(data, "columns", ())]
    if " ".join(name.replace(" ", "_") for name in given) == parsed.header.get("feature_names"):
        parsed = replace(parsed, names=given)
    forest = _forest(parsed, classes)

    def source(rows: Any) -> Any:
        return decoded(forest, rows, named=bool(parsed.pandas_categories))

    # The model itself is asked, not its booster, where its own options may change what it adds. It gives sums as they
    # are, and divides them where they become predictions.
    divisor = forest.decision.divisor
    check_scores(forest, lambda rows: model.predict(source(rows), raw_score=True) / divisor)
    if classes is not None:
        check_against(forest, lambda rows: model.predict(source(rows)))
    elif forest.decision.cuts != ():
        check_against(forest, lambda rows: _labels_of(booster.predict(source(rows)), forest))
    else:
        check_scores(forest, lambda rows: model.predict(source(rows)), function=link(model))
    return forest


def from_text(text: str) -> Forest:
    """Return the forest of a model that LightGBM saved as text; its classes are 0, 1, ... .

    LightGBM is not needed. ForestFormatError or UnsupportedModelError names what is wrong with any other text.
    """
    try:
        parsed = _parse(text)
        if _score_of(*_objective(parsed.header)) is not None:
            raise UnsupportedModelError(
                "A file's objective must predict sums of leaf values, or classes. Got "
                f"{parsed.header['objective']!r}, which predicts a function of them; load the model with LightGBM, and "
                "pass it."
            )
        return _forest(parsed, None)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError, Warning) as error:
        if isinstance(error, ForestFormatError | UnsupportedModelError):
            raise
        raise ForestFormatError(f"The LightGBM model is damaged: {type(error).__name__}: {error}.") from error


def probability(model: Any) -> Callable[[float], float] | None:
    """Return the function from the sum to the probability of the second class."""
    name, options = _objective(_parse(_booster(model).model_to_string(num_iteration=1)).header)
    return _link(options) if name in _TWO_CLASSES else None


def link(model: Any) -> Function | None:
    """Return the function from sums to what a regressor predicts; None if that is the sum."""
    import lightgbm

    if isinstance(model, lightgbm.LGBMClassifier):
        return None
    return _score_of(*_objective(_parse(_booster(model).model_to_string(num_iteration=1)).header))


def decision(model: Any) -> Function | None:
    """Return the function from sums to the decision function: the sums themselves."""
    name, _ = _objective(_parse(_booster(model).model_to_string(num_iteration=1)).header)
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
    names: list[str]


def _read(booster: Any) -> _Model:
    """Return what a booster's text says about the trees that it predicts with."""
    # In parts: LightGBM writes a text of more than a megabyte twice, the first time only to see how long it is.
    n_rounds = booster.best_iteration if booster.best_iteration > 0 else booster.current_iteration()
    first = booster.model_to_string(num_iteration=1)
    parsed = _parse(first)
    step = max(1, _LARGEST_PART // len(first))
    for start in range(1, n_rounds, step):
        text = booster.model_to_string(start_iteration=start, num_iteration=min(step, n_rounds - start))
        parsed.trees.extend(_parse(text).trees)
    return parsed


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
            if key not in _UNREAD:
                sections[-1][key] = value
    else:
        raise ForestFormatError("The LightGBM model must have a line 'end of trees'. The file is cut off.")
    parameters = dict(re.findall(r"^\[(\w+): (.*)\]\s*$", text[text.index("end of trees") :], re.MULTILINE))
    last = next((line for line in reversed(lines) if line.startswith("pandas_categorical:")), "")
    categories = json.loads(last.removeprefix("pandas_categorical:") or "null") or []
    for label in [label for labels in categories for label in labels]:
        if not isinstance(label, str | int | float) or (isinstance(label, float) and not math.isfinite(label)):
            raise ForestFormatError(f"Categories must be texts, finite numbers or truth values. Got {label!r}.")
    names = sections[0].get("feature_names", "").split(" ")
    if names == [f"Column_{j}" for j in range(len(names))]:
        names = [f"x{j}" for j in range(len(names))]  # it never saw names
    return _Model(sections[0], sections[1:], parameters, categories, names)


def _objective(header: dict[str, str]) -> tuple[str, dict[str, str]]:
    name, *options = header.get("objective", "none").split()
    return name, {key: value for key, _, value in (option.partition(":") for option in options)}


def _forest(model: _Model, classes: Any) -> Forest:
    header = model.header
    name, options = _objective(header)
    n_sums = int(header["num_tree_per_iteration"])
    if not 1 <= n_sums <= 10_000:
        raise ForestFormatError(f"The model must have 1 to 10000 trees per iteration. Got {n_sums}.")
    start = (0.0,) * n_sums
    divisor = max(1.0, len(model.trees) / n_sums) if "average_output" in header else 1.0
    if name in _SCORES or (classes is None and _score_of(name, options) is not None):
        labels: Any = np.array(["any score"])
        sums = Sums(start, divisor=divisor, cuts=())
    elif name in _TWO_CLASSES:
        labels = np.arange(2) if classes is None else classes
        link, largest = _link(options), FLOAT64.largest
        cut = smallest_reaching(lambda s: 1 - link(s) < link(s), -largest, largest, FLOAT64)
        sums = Sums(start, divisor=divisor, cuts=(cut,))
    elif name in _SEVERAL_CLASSES:
        labels = np.arange(n_sums) if classes is None else classes
        sigmoid = None if name == "multiclass" else _steepness(options)
        sums = Sums(start, divisor=divisor, softmax=sigmoid is None, sigmoid=sigmoid)
    else:
        known = sorted([*_SCORES, *_TWO_CLASSES, *_SEVERAL_CLASSES, *_COUNTS, _INTENSITY])
        got = header.get("objective", "a custom one, whose predictions are no probabilities")
        raise UnsupportedModelError(f"The objective must be one of {known}. Got {got}.")
    expected = int(options.get("num_class", len(labels))) if name in _SEVERAL_CLASSES else 1
    if n_sums != expected or (name in _SEVERAL_CLASSES and n_sums != len(labels)) or (sums.cuts and len(labels) != 2):
        raise UnsupportedModelError(
            f"There must be one sum for two classes, or one for each of several. Got {n_sums} for {len(labels)} "
            f"classes, objective {header['objective']}."
        )
    splits = _splits(model)
    columns, codes, zeros = _columns(model, splits)
    tree = _trees(model, splits, n_sums, codes, len(columns))
    forest = assemble(
        [tree],
        classes=labels,
        columns=columns,
        importances=split_counts([tree], len(columns)),
        vote="sum",
        dtype="float64",
        sums=sums,
    )
    if sums.sigmoid is not None and sigmoid_gap(forest) is None:
        high, size = sigmoid_range(forest)
        raise UnsupportedModelError(
            "With the objective multiclassova, the largest leaves of all trees, times sigmoid, must add up to 32 at "
            "most, or to 700 below 0: beyond that, the probabilities of very different sums are equal in float64. Got "
            f"{high if high > HIGHEST else -size:.3g}. Train fewer rounds, with a smaller learning rate or larger "
            "leaves (min_child_samples, reg_lambda), or use the objective multiclass."
        )
    return count_as_missing(
        forest,
        zeros,
        (-_ZERO, _ZERO),
        "Zeros that mean missing values (zero_as_missing) make trees too large here. Train with NaN in their place.",
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Splits:
    """The splits of all trees, tree by tree: how many each has, and the numbers that the text has of each split."""

    counts: npt.NDArray[np.int64]
    feature: npt.NDArray[np.int32]
    kind: npt.NDArray[np.int32]
    threshold: npt.NDArray[np.float64]

    @property
    def missing_kind(self) -> npt.NDArray[np.int32]:
        """What each split takes for missing: nothing, zeros or NaN."""
        return self.kind >> 2 & 3

    @property
    def categorical(self) -> npt.NDArray[np.bool_]:
        """Whether each split is by categories."""
        return (self.kind & _CATEGORICAL) > 0


def _splits(model: _Model) -> _Splits:
    require_trees(model.trees)
    if any(tree.get("is_linear", "0") != "0" for tree in model.trees):
        raise UnsupportedModelError("Leaves must be constant. Got linear ones (linear_tree=True).")
    counts, feature = _joined(model, "split_feature", int)
    parts = {key: _joined(model, key, kind) for key, kind in (("decision_type", int), ("threshold", float))}
    for key, (found, _) in parts.items():
        if not np.array_equal(found, counts):
            raise ForestFormatError(f"Each split of a tree must have its {key!r}, and each tree one leaf more.")
    return _Splits(counts, feature, parts["decision_type"][1], parts["threshold"][1])


def _columns(model: _Model, splits: _Splits) -> tuple[list[Column], dict[int, list[int]], frozenset[int]]:
    """Return the columns; the number that LightGBM compares for each category; and where zeros mean missing values."""
    names, infos = model.names, model.header["feature_infos"].split(" ")
    if len(infos) != len(names):
        raise ForestFormatError(f"Each column must have a name and an info. Got {len(names)} and {len(infos)}.")
    if ((splits.feature < 0) | (splits.feature >= len(names))).any():
        got = [int(j) for j in (splits.feature.min(), splits.feature.max())]
        raise ForestFormatError(
            f"Each split must be on one of {len(names)} columns. Got columns from {got[0]} to {got[1]}."
        )
    kinds: dict[int, set[int]] = {}
    for pair in np.unique(splits.feature.astype(np.int64) * 4 + splits.missing_kind).tolist():
        kinds.setdefault(pair // 4, set()).add(pair % 4)
    categorical = set(np.unique(splits.feature[splits.categorical]).tolist())
    if np.isin(splits.feature[~splits.categorical], list(categorical)).any():
        raise ForestFormatError("A categorical column must be split by categories, and not by a number.")
    labels = _pandas_labels(model, infos)
    unused: Missing = "expected" if any(_NAN_MISSING in kind for kind in kinds.values()) else "possible"
    columns, codes, zeros = [], {}, set()
    for j, name in enumerate(names):
        kind = kinds.get(j, set())
        if j in labels:
            codes[j] = list(range(len(labels[j])))
            columns.append(Column(name, (*labels[j], None)))
        elif j in categorical:
            # Those that were rare in training are not listed. They go right at every split, as all unknown ones do.
            listed = sorted({code for code in map(int, infos[j].split(":")) if code >= 0})
            codes[j] = [*listed, _UNLISTED]
            columns.append(Column(name, (*listed, "other", None), other="other"))
        else:
            if _ZERO_MISSING in kind:
                zeros.add(j)
                if kind != {_ZERO_MISSING}:
                    raise UnsupportedModelError(
                        f"Zeros must stand for missing values at all splits of a column, or at none. In {name!r} they "
                        "do at some: zero_as_missing was changed between trainings."
                    )
            missing: Missing = "expected" if kind & {_ZERO_MISSING, _NAN_MISSING} else "possible"
            columns.append(Column(name, missing=missing if kind else unused))
    if set(labels) & set(splits.feature[~splits.categorical].tolist()):
        raise ForestFormatError("A categorical column must be split by categories, and not by a number.")
    return columns, codes, frozenset(zeros)


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


def _trees(model: _Model, splits: _Splits, n_sums: int, codes: dict[int, list[int]], n_columns: int) -> Tree:
    """Return all trees. In each, splits come first, then leaves: a child below 0 is the complement of a leaf."""
    counts = splits.counts
    n_leaves, leaf_values = _joined(model, "leaf_value", float)
    if not np.array_equal(n_leaves, counts + 1):
        wrong = int(np.argmax(n_leaves != counts + 1))
        raise ForestFormatError(
            f"Tree {wrong} must have one leaf more than splits. Got {n_leaves[wrong]} and {counts[wrong]}."
        )
    sizes = counts + n_leaves
    is_split = np.repeat(np.tile([True, False], len(counts)), np.column_stack([counts, n_leaves]).ravel())
    at_split, n_nodes = np.flatnonzero(is_split).astype(np.int32), len(is_split)

    def spread(values: npt.NDArray[Any], places: npt.NDArray[Any], empty: Any) -> npt.NDArray[Any]:
        array = np.full(n_nodes, empty, dtype=values.dtype)
        array[places] = values
        return array

    children = []
    for key in ("left_child", "right_child"):
        found, child = _joined(model, key, int)
        if not np.array_equal(found, counts):
            raise ForestFormatError("Trees must have two children for each split.")
        to_leaf = child < 0
        child[to_leaf] = np.repeat(counts, counts)[to_leaf] + ~child[to_leaf]
        children.append(spread(child, at_split, LEAF))
    threshold = splits.threshold
    # Where training had no missing values, one counts as 0.
    default_left = (splits.kind & _DEFAULT_LEFT) > 0
    missing_left = np.where(np.isin(splits.missing_kind, (_ZERO_MISSING, _NAN_MISSING)), default_left, threshold >= 0)
    # The largest number that goes left, when numbers closer to 0 than _ZERO are taken for 0.
    below_zero = (threshold >= -_ZERO) & (threshold < 0)
    largest_left = np.where((threshold >= 0) & (threshold < _ZERO), _ZERO, threshold)
    largest_left = np.where(below_zero, FLOAT64.next(-_ZERO, -math.inf), largest_left)
    return read_trees(
        sizes,
        *children,
        feature=spread(splits.feature, at_split, LEAF),
        threshold=spread(largest_left, at_split, math.nan),
        values=spread(leaf_values, ~is_split, 0.0),
        missing_left=spread(missing_left, at_split, False),
        left_categories=_left_categories(model, splits, at_split, codes),
        adds_to=np.arange(len(sizes)) % n_sums,
        n_columns=n_columns,
    )


def _left_categories(
    model: _Model, splits: _Splits, at_split: npt.NDArray[Any], codes: dict[int, list[int]]
) -> dict[int, frozenset[int]]:
    """Return, of each split by categories, those that go left, as places among the column's."""
    number = np.repeat(np.arange(len(splits.counts)), splits.counts)
    made: dict[tuple[int, frozenset[int]], frozenset[int]] = {}
    found = {}
    for i in np.flatnonzero(splits.categorical).tolist():
        j, chosen = int(splits.feature[i]), frozenset(_bits(model.trees[number[i]], splits.threshold[i]))
        if (j, chosen) not in made:
            # A missing value, the last category, goes right, also where training had none.
            compared = [*codes[j], _UNLISTED]
            made[j, chosen] = frozenset(place for place, code in enumerate(compared) if code in chosen)
        found[int(at_split[i])] = made[j, chosen]
    return found


def _bits(tree: dict[str, str], place: float) -> set[int]:
    """Return the categories that go left at the split whose threshold is `place`."""
    bounds, words = _integers(tree, "cat_boundaries"), _integers(tree, "cat_threshold")
    at = int(place)
    if not 0 <= at < len(bounds) - 1 or not 0 <= bounds[at] <= bounds[at + 1] <= len(words):
        raise ForestFormatError(f"A categorical split must have its categories. Got place {place}.")
    chosen = words[bounds[at] : bounds[at + 1]]
    return {32 * w + bit for w, word in enumerate(chosen) for bit in range(32) if word >> bit & 1}


def _score_of(name: str, options: dict[str, str]) -> Function | None:
    """Return the function from sums to scores of an objective; None if scores are sums, or there are none."""
    if name in _COUNTS:
        return _exponential
    if name == "cross_entropy":
        return _logistic
    if name == _INTENSITY:
        return _softplus
    return _signed_square if name == "regression" and "sqrt" in options else None


def _exponential(totals: npt.NDArray[Any]) -> npt.NDArray[Any]:
    # By the C library, number by number, as LightGBM does it; numpy has its own way.
    return np.array([_power(total) for total in totals.tolist()])


def _logistic(totals: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.array([1.0 / (1.0 + _power(-total)) for total in totals.tolist()])


def _softplus(totals: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.array([math.log1p(_power(total)) for total in totals.tolist()])


def _signed_square(totals: npt.NDArray[Any]) -> npt.NDArray[Any]:
    with np.errstate(over="ignore"):
        return np.asarray(np.abs(totals) * totals)


def _power(total: float) -> float:
    try:
        return math.exp(total)
    except OverflowError:
        return math.inf


def _steepness(options: dict[str, str]) -> float:
    steepness = float(options.get("sigmoid", 1))
    if not 1e-300 < steepness < math.inf:
        raise ForestFormatError(f"The objective's sigmoid must be a positive number. Got {steepness}.")
    return steepness


def _link(options: dict[str, str]) -> Callable[[float], float]:
    steepness = _steepness(options)
    return lambda total: 1.0 / (1.0 + _power(-steepness * total))


def _joined(model: _Model, key: str, kind: type) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    """Return how many numbers each tree has under a key, and the numbers of all trees, one after the other.

    They are read once, and their texts forgotten: these take more memory than the numbers.
    """
    texts = [tree.pop(key, "") for tree in model.trees]
    counts = np.array([text.count(" ") + 1 if text else 0 for text in texts], dtype=np.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # which is how numpy says that there is no number
        numbers: npt.NDArray[Any] = np.fromstring(" ".join(filter(None, texts)), dtype=kind, sep=" ")
    if len(numbers) != counts.sum():
        raise ForestFormatError(f"{key!r} of trees must be numbers with one blank between them.")
    if kind is not int:
        return counts, numbers
    if len(numbers) and not -(2**31) <= numbers.min() <= numbers.max() < 2**31:
        raise ForestFormatError(f"{key!r} of trees must be whole numbers of 32 bits. Got larger ones.")
    return counts, numbers.astype(np.int32)


def _integers(section: dict[str, str], key: str) -> list[int]:
    return [int(part) for part in section.get(key, "").split()]


def _labels_of(probabilities: Any, forest: Forest) -> list[Label]:
    table = np.column_stack([1 - probabilities, probabilities]) if probabilities.ndim == 1 else probabilities
    labels: list[Label] = forest.classes[np.argmax(table, axis=1)].tolist()
    return labels
