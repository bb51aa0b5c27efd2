"""CatBoost: CatBoostClassifier, CatBoostRegressor, CatBoostRanker, CatBoost, and their JSON files.

All of them are read from CatBoost's own JSON, which holds numbers to the last bit. Inputs are rounded to float32, and a
number above a border goes right. Leaf values are added in float64 in the order of the trees, the bias last. The
second of two classes wins iff the sum is above 0 (or what its probability threshold says); of several, the first of the
largest sums. A category is compared by its hash, so its name must come from data, or from the file.
"""

from __future__ import annotations

import json
import math
import re
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from treeproof import errors
from treeproof.errors import ForestFormatError, InputError, UnsupportedModelError
from treeproof.model.columns import LEAF, Column, Label, Rows
from treeproof.model.decision import Sums, Vote
from treeproof.model.floats import FLOAT64, smallest_reaching_at_once
from treeproof.model.forest import Forest
from treeproof.model.importers import Function
from treeproof.model.importers.assemble import Tree, assemble, refuse_any_vote, require_methods, split_counts
from treeproof.model.importers.selfcheck import check_against, check_scores
from treeproof.model.rows import as_matrix

TAKES = "CatBoost's CatBoostClassifier, CatBoostRegressor, CatBoostRanker and CatBoost"
_TWO_CLASSES = ("Logloss", "CrossEntropy", "Focal")
_CLASSES = ("MultiClass", "MultiClassOneVsAll")
_EXPONENTS = ("Poisson", "Tweedie")
_PARTS = {"features_info", "model_info", "oblivious_trees", "trees", "scale_and_bias", "ctr_data"}
_LABELS: dict[str, type] = {"Integer": int, "Float": float, "String": str, "Boolean": bool}
_SMALLEST = float(np.nextafter(0.0, 1.0))
_MOST_COLUMNS, _DEEPEST = 1_000_000, 16

Names = dict[int, tuple[Label, ...]]
"""The categories of each categorical column, as they are written in rows."""
Hashes = Mapping[str, int]


def takes(model: Any) -> bool:
    """Return whether the model is one of CatBoost's, without importing CatBoost."""
    return any(base.__module__ == "catboost.core" and base.__name__ == "CatBoost" for base in type(model).__mro__)


def load(model: Any, vote: Vote | None, data: Any = None) -> Forest:
    """Return the forest of a fitted model; its sums and labels are checked against the model's.

    `data` are rows as the model takes them. They are needed for models with categories, and say how these are called.
    """
    import catboost

    refuse_any_vote(vote)
    parsed = _parse(_document(model))
    classifier = isinstance(model, catboost.CatBoostClassifier)
    base = next(
        (
            c
            for c in (catboost.CatBoostClassifier, catboost.CatBoostRegressor, catboost.CatBoostRanker)
            if isinstance(model, c)
        ),
        catboost.CatBoost,
    )
    require_methods(model, base, ("predict", "_predict", "_base_predict", "_process_predict_input_data"))
    if isinstance(model, catboost.CatBoostRegressor):
        kind = model._get_default_prediction_type()
        if kind not in ("RawFormulaVal", "Exponent"):
            raise UnsupportedModelError(f"A prediction must be one number. Got predictions of the kind {kind}.")
    names, hashes = _names_in(data, parsed, model)
    cut = _SMALLEST
    if classifier and parsed.n_sums == 1 and parsed.threshold is not None:
        label = _Made.by(model, "Class")
        second = parsed.labels[1]
        largest = FLOAT64.largest
        cut = smallest_reaching_at_once(lambda s: np.ravel(label(s)) == second, -largest, largest, FLOAT64)
    forest = _forest(parsed, classifier, names, hashes, cut)
    # What the core class predicts, for all of them.
    check_scores(forest, lambda rows: catboost.CatBoost.predict(model, as_source(forest, rows)))
    if classifier:
        check_against(forest, lambda rows: model.predict(as_source(forest, rows)))
    return forest


def needs_data(model: Any) -> tuple[str, ...]:
    """Return the names of all columns if the model has categories, whose names must come from data; else nothing."""
    fitted = model.is_fitted() and model.get_cat_feature_indices()
    return tuple(_parse(_document(model)).columns) if fitted else ()


def from_json(document: Any) -> Forest:
    """Return the forest of a model that CatBoost saved as JSON.

    CatBoost is not needed. It is the model that was saved, to the last bit; CatBoost itself may read some leaf values
    one bit off. If the model has categories, the file must have been saved with ``pool=``, which writes their names.
    ForestFormatError or UnsupportedModelError names what is wrong with any other document.
    """
    try:
        parsed = _parse(document)
        classifier = parsed.loss in (*_TWO_CLASSES, *_CLASSES)
        if parsed.threshold is not None:
            raise UnsupportedModelError(
                f"The probability threshold of a file must be CatBoost's own, 0.5. Got {parsed.threshold!r}; load the "
                "model with CatBoost, and pass it."
            )
        if parsed.loss in _EXPONENTS:
            raise UnsupportedModelError(
                f"The prediction of a file must be the sum of the leaves. Got the loss {parsed.loss}, where it is a "
                "function of the sum; load the model with CatBoost, and pass it."
            )
        names, hashes = _names_of_file(parsed)
        return _forest(parsed, classifier, names, hashes, _SMALLEST)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        if isinstance(error, ForestFormatError | UnsupportedModelError):
            raise
        raise ForestFormatError(f"The CatBoost model is damaged: {type(error).__name__}: {error}.") from error


def from_binary(path: Path) -> Any:
    """Return the model in a .cbm file, as CatBoost reads it: a classifier if it predicts classes, else a regressor."""
    try:
        import catboost
    except ImportError as error:
        raise errors.MissingExtraError(
            "Files in CatBoost's binary format need CatBoost: pip install 'treeproof[catboost]'. Its JSON files do not."
        ) from error
    _try_to_read(path)
    try:
        model = catboost.CatBoost().load_model(str(path))
        loss = model._object._get_loss_function_name()
    except catboost.CatBoostError as error:
        raise ForestFormatError(f"The file must be a model saved by CatBoost. Got: {error}.") from error
    return catboost.to_classifier(model) if loss in (*_TWO_CLASSES, *_CLASSES) else catboost.to_regressor(model)


def _try_to_read(path: Path) -> None:
    """Refuse a file at which CatBoost crashes, as it does at some damaged ones; a process of its own finds out."""
    words = "import sys, catboost; catboost.CatBoost().load_model(sys.argv[1])"
    tried = subprocess.run([sys.executable, "-c", words, str(path)], capture_output=True, check=False)
    if tried.returncode < 0:  # ended by a signal; an error is raised again, with its message, by the next try
        how = signal.Signals(-tried.returncode).name
        raise ForestFormatError(f"The file must be a model saved by CatBoost. It is damaged: CatBoost crashes ({how}).")


def probability(model: Any) -> Callable[[float], float] | None:
    """Return the function from the sum to the probability of the second class: CatBoost's own."""
    import catboost

    parsed = _parse(_document(model))
    if not isinstance(model, catboost.CatBoostClassifier) or parsed.loss not in _TWO_CLASSES:
        return None
    blank, row = _Made.by(model, "Probability").blank(), np.zeros((1, _BITS))

    def second(total: float) -> float:
        blank.set_scale_and_bias(1.0, float(total))
        return float(blank.predict(row, prediction_type="Probability", thread_count=1)[0, 1])

    return second


def link(model: Any) -> Function | None:
    """Return the function from sums to what a regressor predicts: CatBoost's own, for the losses of counts."""
    import catboost

    regressor = isinstance(model, catboost.CatBoostRegressor)
    exponent = regressor and model._get_default_prediction_type() == "Exponent"
    return _Made.by(model, "Exponent") if exponent else None


def as_source(forest: Forest, rows: Rows) -> Any:
    """Return rows as CatBoost takes them: categories by name, and never as floats."""
    if all(column.categories is None for column in forest.columns):
        return rows
    table = rows.astype(object)
    for j, column in enumerate(forest.columns):
        if column.categories is not None:
            table[:, j] = [column.categories[int(code)] for code in rows[:, j]]
    return table


@dataclass(frozen=True, slots=True, eq=False)
class _Parsed:
    """What a model's JSON says, as far as predictions depend on it."""

    columns: list[str]
    floats: list[int]  # the column of each numeric feature
    categories: list[int]  # the column of each categorical feature
    treatments: list[tuple[bool, str]]  # per numeric feature: missing in training, and where it goes
    file_hashes: dict[str, int]
    oblivious: bool
    trees: list[Any]
    bias: list[float]
    loss: str
    labels: list[Any]
    label_type: str
    n_declared: int  # classes, if the parameter classes_count says how many
    threshold: Any

    @property
    def n_sums(self) -> int:
        return len(self.bias)


def _document(model: Any) -> Any:
    """Return a fitted model's JSON."""
    if not model.is_fitted():
        raise errors.NotFittedError(
            f"The model must be fitted before it can be explained. Got an unfitted {type(model).__name__}; "
            "call its fit(X, y) first."
        )
    for kind, found in (
        ("text", model._get_text_feature_indices()),
        ("embedding", model._get_embedding_feature_indices()),
    ):
        if found:
            raise _texts(kind, [model.feature_names_[j] for j in found])
    return _saved(model)


def _saved(model: Any, **options: Any) -> Any:
    """Return the JSON that CatBoost saves, read without ever holding all of it as Python's numbers."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json", **options)
        # CatBoost writes an emoji among its parameters, for which Python would take four bytes for every character.
        text = re.sub(rb"[\x80-\xff]+", lambda found: json.dumps(found[0].decode())[1:-1].encode(), path.read_bytes())
        return json.loads(text.decode("ascii"), object_hook=_slim)


def _slim(part: dict[str, Any]) -> dict[str, Any]:
    """Return a part of the JSON without what nobody reads, and with leaf values in an array: most of it are these."""
    if "leaf_values" in part:
        part.pop("leaf_weights", None)
        part["leaf_values"] = _numbers(part["leaf_values"])
    return part


def _texts(kind: str, names: Sequence[str]) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"Columns must be numbers, or categories that are split one by one. Got {kind} features: {list(names)}; train "
        "without them, or on numbers made of them beforehand."
    )


def _parse(document: Any) -> _Parsed:
    unknown = sorted(set(document) - _PARTS)
    if unknown:
        raise UnsupportedModelError(f"The parts of a CatBoost model must be among {sorted(_PARTS)}. Got {unknown}.")
    features, info = document["features_info"], document["model_info"]
    for kind in ("text", "embedding"):
        if features.get(f"{kind}_features"):
            raise _texts(kind, [str(f.get("feature_id")) for f in features[f"{kind}_features"]])
    if features.get("ctrs"):
        raise UnsupportedModelError(
            "Categories must be split one by one. Got statistics of the target for categories (CTR features), which "
            "CatBoost makes of columns with many categories. Train with one_hot_max_size of at least the largest "
            "number of categories in a column (255 at most)."
        )
    numeric, categorical = features.get("float_features") or [], features.get("categorical_features") or []
    n_columns = len(numeric) + len(categorical)
    names: list[str] = [""] * n_columns
    places: dict[bool, list[int]] = {True: [LEAF] * len(numeric), False: [LEAF] * len(categorical)}
    taken = set()
    for is_numeric, group in ((True, numeric), (False, categorical)):
        for feature in group:
            column, index = _whole(feature["flat_feature_index"]), _whole(feature["feature_index"])
            if not (0 <= column < n_columns and 0 <= index < len(group)) or column in taken:
                raise ForestFormatError(f"Columns must be numbered from 0 to {n_columns - 1}, each once. Got {column}.")
            taken.add(column)
            places[is_numeric][index] = column
            names[column] = str(feature.get("feature_id") or f"x{column}")
    if LEAF in (*places[True], *places[False]):
        raise ForestFormatError("Features of a kind must be numbered from 0, each once.")
    treatments = [(False, "AsIs")] * len(numeric)
    for feature in numeric:
        treatments[feature["feature_index"]] = (feature["has_nans"] is True, feature["nan_value_treatment"])
    scale, bias = document["scale_and_bias"]
    if scale != 1:
        raise UnsupportedModelError(
            f"The scale must be 1. Got {scale!r}; call set_scale_and_bias(1, bias) if labels or order are all you need."
        )
    parameters = info.get("params", {})
    parameters = json.loads(parameters) if isinstance(parameters, str) else parameters
    classes = info.get("class_params") or {}
    classes = json.loads(classes) if isinstance(classes, str) else classes
    oblivious = "oblivious_trees" in document
    return _Parsed(
        columns=names,
        floats=places[True],
        categories=places[False],
        treatments=treatments,
        file_hashes={str(e["value"]): _whole32(e["hash"]) for e in features.get("cat_features_hash") or []},
        oblivious=oblivious,
        trees=_list(document["oblivious_trees" if oblivious else "trees"]),
        bias=_numbers(bias if isinstance(bias, list) else [bias]).tolist(),
        loss=str(parameters.get("loss_function", {}).get("type", "unknown")),
        labels=_list(classes.get("class_names") or classes.get("class_to_label") or []),
        label_type=str(classes.get("class_label_type", "Integer")),
        n_declared=_whole(classes.get("classes_count", 0)),
        threshold=info.get("binclass_probability_threshold"),
    )


def _names_in(data: Any, parsed: _Parsed, model: Any) -> tuple[Names, Hashes]:
    """Return how categories are called in `data`, and the hash by which CatBoost knows each."""
    if not parsed.categories:
        return {}, {}
    called = [parsed.columns[j] for j in parsed.categories]
    if data is None:
        raise UnsupportedModelError(
            f"The categories of the columns {called} must be known; a CatBoost model has only hashes of them. "
            "Pass rows that have all of them, such as the training data: Explainer(model, data=X). A file that knows "
            "them is saved by model.save_model(file, format='json', pool=pool)."
        )
    matrix = as_matrix(data, [Column(name) for name in parsed.columns])
    if matrix.ndim != 2 or matrix.shape[1] != len(parsed.columns) or len(matrix) == 0:
        raise InputError(f"'data' must be rows of {len(parsed.columns)} values. Got shape {matrix.shape}.")
    names: Names = {}
    for j in parsed.categories:
        # A table of numbers only has whole ones as floats.
        found = {
            int(value) if isinstance(value, float) and value.is_integer() else value for value in matrix[:, j].tolist()
        }
        odd = [value for value in found if not isinstance(value, str | int)]
        if odd:
            raise InputError(
                f"Categories must be texts or whole numbers, as CatBoost takes them. Column {parsed.columns[j]!r} of "
                f"'data' has {odd[0]!r}."
            )
        names[j] = tuple(sorted(found, key=lambda value: (isinstance(value, str), value)))
    return names, _hashed(names, parsed, model)


def _hashed(names: Names, parsed: _Parsed, model: Any) -> Hashes:
    """Return the hash of each name, as CatBoost itself writes it."""
    import catboost

    table = np.zeros((max(map(len, names.values())), len(parsed.columns)), dtype=object)
    for j, known in names.items():
        table[:, j] = [_text_of(known[min(i, len(known) - 1)]) for i in range(len(table))]
    pool = catboost.Pool(table, cat_features=list(names), feature_names=model.feature_names_)
    return _parse(_saved(model, pool=pool)).file_hashes


def _names_of_file(parsed: _Parsed) -> tuple[Names, Hashes]:
    """Return how a file calls categories: it has one list for all columns, so each has all of them."""
    if not parsed.categories:
        return {}, {}
    known: list[Label] = sorted(parsed.file_hashes)
    if not known:
        raise UnsupportedModelError(
            f"The categories of the columns {[parsed.columns[j] for j in parsed.categories]} must be known; the file "
            "has only hashes of them. Save it with the training data, model.save_model(file, format='json', "
            "pool=pool), or pass the model and rows: Explainer(model, data=X)."
        )
    if all(name == str(int(name)) for name in parsed.file_hashes if name.lstrip("-").isdigit()) and all(
        name.lstrip("-").isdigit() for name in parsed.file_hashes
    ):
        known = sorted(map(int, parsed.file_hashes))
    return {j: tuple(known) for j in parsed.categories}, parsed.file_hashes


def _text_of(name: Label) -> str:
    """Return a category as CatBoost reads it: a truth value counts as 0 or 1."""
    return name if isinstance(name, str) else str(int(name))


def _forest(parsed: _Parsed, classifier: bool, names: Names, hashes: Hashes, cut: float) -> Forest:
    n_sums = parsed.n_sums
    start = (0.0,) * n_sums
    if classifier:
        if parsed.loss not in (*_TWO_CLASSES, *_CLASSES):
            known = [*_TWO_CLASSES, *_CLASSES]
            raise UnsupportedModelError(f"The loss of a classifier must be one of {known}. Got {parsed.loss}.")
        if parsed.n_declared not in (0, len(parsed.labels)):
            raise UnsupportedModelError(
                f"Every class must occur in the training data. Got classes_count={parsed.n_declared}, and "
                f"{len(parsed.labels)} labels."
            )
        label_type = _LABELS.get(parsed.label_type)
        if label_type is None or len(parsed.labels) != (2 if n_sums == 1 else n_sums):
            raise ForestFormatError(
                f"There must be one sum for two classes, or one for each of several. Got {n_sums} for "
                f"{len(parsed.labels)} labels of type {parsed.label_type}."
            )
        labels: Any = np.array([label_type(label) for label in parsed.labels])
        sums = Sums(start, cuts=(cut,)) if n_sums == 1 else Sums(start)
    else:
        if n_sums != 1:
            raise UnsupportedModelError(
                f"A prediction must be one number. Got {n_sums} (loss {parsed.loss}); a classifier must be a "
                "CatBoostClassifier: catboost.to_classifier(model)."
            )
        labels, sums = np.array(["any score"]), Sums(start, cuts=())
    if not parsed.trees:
        raise UnsupportedModelError("The model must have at least one tree. Got none.")
    columns = [Column(name) for name in parsed.columns]
    for column, (missing, _) in zip(parsed.floats, parsed.treatments, strict=True):
        # Where training had no missing value, CatBoost takes one for smaller than every number.
        columns[column] = Column(parsed.columns[column], missing="expected" if missing else "possible")
    for column, known_names in names.items():
        columns[column] = Column(parsed.columns[column], known_names)
    splits = _Splits(parsed, names, hashes)
    trees = [_oblivious(parsed, splits)] if parsed.oblivious else [_tree(t, splits, n_sums) for t in parsed.trees]
    importances = split_counts(trees, len(columns))
    if any(parsed.bias):
        trees.append(Tree([LEAF], [math.nan], [LEAF], [LEAF], np.array([parsed.bias])))
    return assemble(trees, classes=labels, columns=columns, importances=importances, vote="sum", sums=sums)


class _Splits:
    """Reads splits: the column, and the border or the number of the category that goes right."""

    def __init__(self, parsed: _Parsed, names: Names, hashes: Hashes) -> None:
        self._parsed = parsed
        self.categorical = frozenset(parsed.categories)
        self.missing_left = np.zeros(len(parsed.columns), dtype=bool)
        for column, (missing, treatment) in zip(parsed.floats, parsed.treatments, strict=True):
            if treatment not in ("AsIs", "AsFalse", "AsTrue"):
                raise ForestFormatError(f"Missing values must be AsIs, AsFalse or AsTrue. Got {treatment!r}.")
            self.missing_left[column] = not (missing and treatment == "AsTrue")
        self._codes = {j: [hashes[_text_of(name)] for name in known] for j, known in names.items()}
        self._left: dict[tuple[int, int], frozenset[int]] = {}

    def read(self, split: Any) -> tuple[int, float]:
        """Return a split's column, and its border or the hash of its category."""
        kind = split["split_type"]
        if kind == "FloatFeature":
            index, places, cut = split["float_feature_index"], self._parsed.floats, split["border"]
            if type(cut) not in (int, float) or float(np.float32(cut)) != cut:
                raise ForestFormatError(f"A border must be a float32 number. Got {cut!r}.")
        elif kind == "OneHotFeature":
            index, places, cut = split["cat_feature_index"], self._parsed.categories, _whole32(split["value"])
        else:
            raise UnsupportedModelError(f"A split must be of a number, or of one category. Got {kind}.")
        if not 0 <= _whole(index) < len(places):
            raise ForestFormatError(f"A split must be of one of {len(places)} features. Got {index}.")
        return places[index], float(cut)

    def left_categories(self, column: int, cut: float) -> frozenset[int]:
        """Return the categories of a column that go left: all but the one whose hash this is."""
        key = (column, int(cut))
        if key not in self._left:
            self._left[key] = frozenset(c for c, code in enumerate(self._codes[column]) if code != key[1])
        return self._left[key]


def _oblivious(parsed: _Parsed, splits: _Splits) -> Tree:
    """Return symmetric trees, all of one depth at once, without branches that no input takes."""
    by_depth: dict[int, list[int]] = defaultdict(list)
    read: list[list[tuple[int, float]]] = []
    for number, tree in enumerate(parsed.trees):
        read.append([splits.read(split) for split in _list(tree["splits"] or [])])
        by_depth[len(read[-1])].append(number)
    if max(by_depth) > _DEEPEST:
        raise ForestFormatError(f"Trees must have a depth of at most {_DEEPEST}. Got {max(by_depth)}.")
    tables = {
        depth: np.array([read[number] for number in numbers]).reshape(len(numbers), depth, 2)
        for depth, numbers in by_depth.items()
    }
    del read
    shapes = {depth: _shape(table, splits) for depth, table in tables.items()}
    sizes = np.empty(len(parsed.trees), dtype=np.int32)
    for depth, numbers in by_depth.items():
        sizes[numbers] = np.count_nonzero(shapes[depth].kept, axis=1)
    roots = (np.cumsum(sizes) - sizes).astype(np.int32)
    n_nodes = int(sizes.sum())
    feature, left, right = (np.full(n_nodes, LEAF, dtype=np.int32) for _ in range(3))
    threshold, values = np.full(n_nodes, np.nan), np.zeros((n_nodes, parsed.n_sums))
    for depth, numbers in by_depth.items():
        shape, first = shapes.pop(depth), 2**depth - 1
        leaves = np.stack([_numbers(parsed.trees[number]["leaf_values"]) for number in numbers])
        leaves = leaves.reshape(len(numbers), 2**depth, parsed.n_sums)[:, _leaf_numbers(depth)]
        place = roots[numbers][:, None] + shape.place
        kept = shape.kept[:, first:]
        values[place[:, first:][kept]] = leaves[kept]
        for k in range(depth):  # the nodes of level k have split k
            at = np.arange(2**k - 1, 2 ** (k + 1) - 1)
            kept = shape.kept[:, at]
            here, of_tree = place[:, at][kept], np.nonzero(kept)[0]
            feature[here] = tables[depth][of_tree, k, 0]
            threshold[here] = tables[depth][of_tree, k, 1]
            for side, below in ((left, 2 * at + 1), (right, 2 * at + 2)):
                side[here] = np.take_along_axis(place, shape.stands[:, below], axis=1)[kept]
    return Tree(
        feature=feature,
        threshold=threshold,
        left=left,
        right=right,
        values=values,
        missing_left=splits.missing_left[feature] & (feature != LEAF),
        left_categories=_categories(feature.tolist(), threshold.tolist(), splits) if splits.categorical else None,
        roots=roots,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Shape:
    """Which nodes of symmetric trees of one depth are left: a row for each tree, with the nodes as in a heap.

    Those of level k have split k, and the children of node n are 2 n + 1 and 2 n + 2. `place` is that of each node
    among those of its tree that are `kept`; `stands` is the kept node in the place of each, where a child is never
    reached.
    """

    kept: npt.NDArray[np.bool_]
    place: npt.NDArray[np.int32]
    stands: npt.NDArray[np.int32]


def _shape(table: npt.NDArray[Any], splits: _Splits) -> _Shape:
    """Return which nodes are left of trees of one depth, from their splits (column and cut)."""
    n_trees, depth, _ = table.shape
    first_leaf = 2**depth - 1
    nodes = np.arange(2 * first_leaf + 1, dtype=np.int32)
    reached = np.ones((n_trees, len(nodes)), dtype=bool)
    reached[:, first_leaf:] = _possible(table[:, :, 0].astype(int), table[:, :, 1], splits)[:, _leaf_numbers(depth)]
    stands = np.tile(nodes, (n_trees, 1))
    kept = reached.copy()
    for k in reversed(range(depth)):
        at = np.arange(2**k - 1, 2 ** (k + 1) - 1)
        left, right = reached[:, 2 * at + 1], reached[:, 2 * at + 2]
        reached[:, at] = left | right
        kept[:, at] = left & right
        one = np.where(left, stands[:, 2 * at + 1], stands[:, 2 * at + 2])
        stands[:, at] = np.where(left & right, nodes[at], one)
    return _Shape(kept, np.cumsum(kept, axis=1, dtype=np.int32) - np.int32(1), stands)


def _leaf_numbers(depth: int) -> npt.NDArray[np.int64]:
    """Return CatBoost's number of each leaf in the order of a heap: bit k says whether split k is true.

    In the heap, the first split is the highest bit of a leaf's place.

    >>> _leaf_numbers(2).tolist()
    [0, 2, 1, 3]
    """
    place, number = np.arange(2**depth), np.zeros(2**depth, dtype=np.int64)
    for k in range(depth):
        number |= ((place >> (depth - 1 - k)) & 1) << k
    return number


def _possible(columns: npt.NDArray[Any], cuts: npt.NDArray[Any], splits: _Splits) -> npt.NDArray[np.bool_]:
    """Return which leaves of each tree some input reaches: splits of one column can contradict each other."""
    n_trees, depth = columns.shape
    leaf = np.arange(2**depth)
    possible = np.ones((n_trees, 2**depth), dtype=bool)
    categorical = np.isin(columns, list(splits.categorical))
    for i in range(depth):
        for j in range(i + 1, depth):
            same = columns[:, i] == columns[:, j]
            numeric, named = same & ~categorical[:, i], same & categorical[:, i]
            low, high, equal = cuts[:, i] <= cuts[:, j], cuts[:, i] >= cuts[:, j], cuts[:, i] == cuts[:, j]
            true_i, true_j = (leaf >> i & 1).astype(bool), (leaf >> j & 1).astype(bool)
            only_j, only_i = (numeric & low) | (named & equal), (numeric & high) | (named & equal)
            possible &= ~(only_j[:, None] & (~true_i & true_j))
            possible &= ~(only_i[:, None] & (true_i & ~true_j))
            possible &= ~((named & ~equal)[:, None] & (true_i & true_j))
    return possible


def _categories(columns: list[int], cuts: list[float], splits: _Splits) -> dict[int, frozenset[int]]:
    return {
        node: splits.left_categories(column, cut)
        for node, (column, cut) in enumerate(zip(columns, cuts, strict=True))
        if column in splits.categorical
    }


def _tree(root: Any, splits: _Splits, n_sums: int) -> Tree:
    """Return one tree that is not symmetric (grow_policy Depthwise or Lossguide)."""
    columns: list[int] = []
    cuts: list[float] = []
    links: tuple[list[int], list[int]] = ([], [])
    values: list[Any] = []
    none = [0.0] * n_sums
    pending = [(root, LEAF, 0)]
    while pending:
        node, parent, side = pending.pop()
        place = len(columns)
        if parent != LEAF:
            links[side][parent] = place
        links[0].append(LEAF)
        links[1].append(LEAF)
        if "split" in node:
            column, cut = splits.read(node["split"])
            values.append(none)
            pending += [(node["right"], place, 1), (node["left"], place, 0)]
        else:
            column, cut, value = LEAF, math.nan, node["value"]
            values.append(value if isinstance(value, list) else [value])
        columns.append(column)
        cuts.append(cut)
    flat = _numbers([number for leaf in values for number in leaf])
    own = np.array(columns)
    return Tree(
        feature=own,
        threshold=cuts,
        left=links[0],
        right=links[1],
        values=flat.reshape(len(columns), n_sums),
        missing_left=splits.missing_left[own] & (own != LEAF),
        left_categories=_categories(columns, cuts, splits) if splits.categorical else None,
    )


_BITS = 8


@dataclass(frozen=True, slots=True, eq=False)
class _Made:
    """What CatBoost itself makes of sums: a model of one tree is asked, whose leaves they are."""

    text: str  # the model's JSON, with leaves worth 0
    kind: str

    @classmethod
    def by(cls, model: Any, kind: str) -> _Made:
        """Return what a model makes, by the name of CatBoost's prediction type."""
        plain = {"borders": [0.5], "feature_id": "", "has_nans": False, "nan_value_treatment": "AsIs"}
        numbers = [{**plain, "feature_index": j, "flat_feature_index": j} for j in range(_BITS)]
        splits = [
            {"border": 0.5, "float_feature_index": j, "split_index": j, "split_type": "FloatFeature"}
            for j in range(_BITS)
        ]
        document = {
            "features_info": {"float_features": numbers},
            "model_info": _document(model)["model_info"],
            "oblivious_trees": [{"leaf_values": [0] * 2**_BITS, "leaf_weights": [1] * 2**_BITS, "splits": splits}],
            "scale_and_bias": [1, [0]],
        }
        return cls(json.dumps(document), kind)

    def blank(self) -> Any:
        """Return the model, with leaves worth 0."""
        import catboost

        model = catboost.CatBoost()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            path.write_text(self.text, encoding="utf-8")
            return model.load_model(str(path), format="json")

    def __call__(self, totals: Any) -> npt.NDArray[Any]:
        given = np.ravel(totals).astype(float)
        return np.concatenate([self._of(given[i : i + 2**_BITS]) for i in range(0, len(given), 2**_BITS)])

    def _of(self, totals: npt.NDArray[Any]) -> npt.NDArray[Any]:
        model = self.blank()
        leaves = np.zeros(2**_BITS)
        leaves[: len(totals)] = totals
        # Not by JSON, which CatBoost writes to the last bit, but does not read so; and once, since a model that has
        # predicted goes on with its old leaves.
        model.set_leaf_values(leaves)
        rows = np.arange(len(totals))[:, None] >> np.arange(_BITS) & 1
        return np.asarray(model.predict(rows, prediction_type=self.kind, thread_count=1))


def _whole(value: Any) -> int:
    if type(value) is not int or abs(value) >= 2**31:
        raise ForestFormatError(f"An index must be a whole number below 2**31. Got {value!r}.")
    return value


def _whole32(value: Any) -> int:
    """Return the hash of a category, which is written with a sign or without."""
    if type(value) is not int or not -(2**31) <= value < 2**32:
        raise ForestFormatError(f"The hash of a category must be a whole number of 32 bits. Got {value!r}.")
    return value & 0xFFFFFFFF


def _numbers(values: Any) -> npt.NDArray[np.float64]:
    if isinstance(values, np.ndarray):
        return values
    if not set(map(type, _list(values))) <= {int, float}:
        raise ForestFormatError("Leaf values and biases must be numbers.")
    return np.array(values, dtype=np.float64)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ForestFormatError("Trees, splits, leaf values and labels must be lists.")
    return value
