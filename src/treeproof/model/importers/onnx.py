"""ONNX: tree ensembles as skl2onnx and onnxmltools write them, followed as onnxruntime computes them.

``predict`` is the graph's first output. Inputs and thresholds are float32 (or float64, if the graph says so), leaf
values are added in the same type in the order of the trees, the base value last. onnxruntime does so with one thread
(``intra_op_num_threads=1``); with more, it may add in another order. The second of two classes wins iff its sum is
above 0, or above 0.5 if no weight is negative; of several, the first of the largest sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from treeproof.errors import ForestFormatError, MissingExtraError, UnsupportedModelError
from treeproof.model.columns import LEAF, Column
from treeproof.model.decision import Sums, Vote
from treeproof.model.floats import FLOAT32, FLOAT64, FloatName, Floats
from treeproof.model.forest import Forest
from treeproof.model.importers.assemble import Tree, assemble, refuse_any_vote, split_counts
from treeproof.model.importers.selfcheck import check_against, check_scores

TAKES = "ONNX models of a tree ensemble (onnx.ModelProto, its bytes, or onnxruntime's InferenceSession)"

_DOMAIN = "ai.onnx.ml"
_ENSEMBLES = ("TreeEnsembleClassifier", "TreeEnsembleRegressor")
_FLOAT, _INT64, _STRING, _DOUBLE = 1, 7, 8, 11  # onnx.TensorProto
_TYPES: dict[int, Floats] = {_FLOAT: FLOAT32, _DOUBLE: FLOAT64}
_MODES = ("LEAF", "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT")
_STEPS = ("Identity", "Cast", "Concat", "ArrayFeatureExtractor", "Scaler", "Imputer", "Add", "Sub", "Mul", "Div")
_MOST_COLUMNS, _MOST_VALUES = 1_000_000, 2**27

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.divide,
}

Array = npt.NDArray[Any]


def takes(model: Any) -> bool:
    """Return whether the model is of ONNX, without importing its packages."""
    return isinstance(model, bytes) or any(
        (base.__name__ == "ModelProto" and base.__module__.startswith("onnx"))
        or (base.__name__ == "InferenceSession" and base.__module__.startswith("onnxruntime"))
        for base in type(model).__mro__
    )


def load(model: Any, vote: Vote | None) -> Forest:
    """Return the forest of a model; what it predicts is checked against onnxruntime, if that is installed."""
    refuse_any_vote(vote)
    try:
        graph = _graph(model)
        forest = _forest(graph)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        if isinstance(error, ForestFormatError | UnsupportedModelError):
            raise
        raise ForestFormatError(f"The ONNX model is damaged: {type(error).__name__}: {error}.") from error
    session = _session(graph.content)
    if session is not None:

        def predicted(rows: Any) -> Any:
            return np.ravel(session.run([graph.output], fed(graph, rows))[0])

        if forest.decision.cuts == ():
            check_scores(forest, predicted)
        else:
            check_against(forest, predicted)
    return forest


def probability(model: Any) -> Callable[[float], float] | None:
    """Return the function from the sum to the probability of the second class, where the model has one."""
    graph = _graph(model)
    ensemble = _ensemble(graph.ensemble, _chain(graph)[0])
    if ensemble.labels is None or len(ensemble.labels) != 2 or len(np.unique(ensemble.weight_class)) != 1:
        return None
    if ensemble.all_positive:
        return float  # the sum itself, whatever the transformation
    return _logistic if ensemble.transformation == "LOGISTIC" and _session(_one_split(0.0)) is not None else None


def _logistic(total: float) -> float:
    """Return the probability of a sum: onnxruntime's own, since its exp is not that of other libraries."""
    session = _session(_one_split(total))
    return float(session.run(["Z"], {"X": np.full((1, 1), -1, dtype=np.float32)})[0][0, 1])


def _one_split(total: float) -> bytes:
    """Return a classifier whose sum is `total` for x <= 0, and negative above, so that its weights are not positive."""
    import onnx

    node = onnx.helper.make_node(
        "TreeEnsembleClassifier",
        ["X"],
        ["Y", "Z"],
        domain=_DOMAIN,
        nodes_treeids=[0, 0, 0],
        nodes_nodeids=[0, 1, 2],
        nodes_featureids=[0, 0, 0],
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
        nodes_values=[0.0, 0.0, 0.0],
        nodes_truenodeids=[1, 0, 0],
        nodes_falsenodeids=[2, 0, 0],
        class_treeids=[0, 0],
        class_nodeids=[1, 2],
        class_ids=[0, 0],
        class_weights=[total, -1.0],
        classlabels_int64s=[0, 1],
        post_transform="LOGISTIC",
    )
    graph = onnx.helper.make_graph(
        [node],
        "one split",
        [onnx.helper.make_tensor_value_info("X", _FLOAT, [None, 1])],
        [onnx.helper.make_tensor_value_info("Z", _FLOAT, [None, 2])],
    )
    versions = [onnx.helper.make_opsetid(_DOMAIN, 1), onnx.helper.make_opsetid("", 9)]
    return bytes(onnx.helper.make_model(graph, opset_imports=versions, ir_version=8).SerializeToString())


@dataclass(frozen=True, slots=True, eq=False)
class _Graph:
    """A model's graph: the nodes that lead from its inputs through one tree ensemble to its first output."""

    content: bytes
    inputs: list[tuple[str, int, int]]  # name, element type, number of columns (0: not said)
    producers: dict[str, Any]  # the node that makes each value
    constants: dict[str, Array]
    ensemble: Any
    output: str
    output_types: list[int]  # what labels are cast to, on the way


@dataclass(frozen=True, slots=True)
class _Feature:
    """What the ensemble sees of an input column: the column, and the steps in between, each for one number."""

    column: int
    steps: tuple[tuple[str, float], ...] = ()


def _graph(model: Any) -> _Graph:
    try:
        import onnx
        from google.protobuf.message import DecodeError
    except ImportError as error:
        raise MissingExtraError("ONNX models need the package onnx: pip install 'treeproof[onnx]'.") from error
    if isinstance(model, bytes):
        content = model
    elif hasattr(model, "SerializeToString"):
        content = model.SerializeToString()
    else:
        content = _content_of(model)
    try:
        proto = onnx.load_model_from_string(content)
    except DecodeError as error:
        raise ForestFormatError(f"The content must be an ONNX model. Got: {error}.") from error
    graph = proto.graph
    constants = {constant.name: onnx.numpy_helper.to_array(constant) for constant in graph.initializer}
    inputs = []
    for value in graph.input:
        if value.name not in constants:
            tensor = value.type.tensor_type
            width = tensor.shape.dim[1].dim_value if len(tensor.shape.dim) == 2 else 0
            inputs.append((value.name, tensor.elem_type, width))
    producers = {name: node for node in graph.node for name in node.output}
    if not graph.output:
        raise ForestFormatError("An ONNX model must have an output. Got none.")
    output = graph.output[0].name
    ensemble, casts = _behind(output, producers)
    return _Graph(content, inputs, producers, constants, ensemble, output, casts)


def _content_of(session: Any) -> bytes:
    """Return the model that a session of onnxruntime was made of."""
    content = getattr(session, "_model_bytes", None)
    path = getattr(session, "_model_path", None)
    if content:
        return bytes(content)
    if not path:
        raise UnsupportedModelError("The model of the session cannot be had. Pass the model: its file, bytes or proto.")
    with open(path, "rb") as file:
        return file.read()


def _behind(output: str, producers: dict[str, Any]) -> tuple[Any, list[int]]:
    """Return the ensemble whose first output is the graph's, and the types to which that is cast."""
    casts = []
    value = output
    while True:
        node = producers.get(value)
        if node is not None and node.domain in ("", "ai.onnx") and node.op_type in ("Identity", "Cast"):
            if node.op_type == "Cast":
                casts.append(_attributes(node)["to"].i)
            value = node.input[0]
        elif node is not None and node.domain == _DOMAIN and node.op_type in _ENSEMBLES and node.output[0] == value:
            return node, casts
        else:
            got = "an input" if node is None else f"what {node.op_type} makes"
            raise UnsupportedModelError(
                f"The first output must be the label of one TreeEnsembleClassifier, or the score of one "
                f"TreeEnsembleRegressor. Got {got}; explain the model that was converted."
            )


def _session(content: bytes) -> Any:
    """Return a session of onnxruntime that adds in the order of the trees; None if it is not installed."""
    try:
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has many kinds, which share no base
        raise UnsupportedModelError(f"onnxruntime must be able to read the model. Got: {error}.") from error


def fed(graph: _Graph, rows: Any) -> dict[str, Array]:
    """Return rows as a session takes them: one array for each input."""
    found, start = {}, 0
    for name, kind, width in graph.inputs:
        stop = start + (width or rows.shape[1] - start)
        found[name] = np.ascontiguousarray(rows[:, start:stop], dtype=_TYPES[kind].dtype)
        start = stop
    return found


def _chain(graph: _Graph) -> tuple[Floats, list[_Feature] | None, FloatName]:
    """Return the float type of the ensemble, what its features are, and the type to which inputs are rounded.

    Features are None if the only input does not say how many columns it has.
    """
    known = {}
    start = 0
    for name, kind, width in graph.inputs:
        if kind not in _TYPES:
            raise UnsupportedModelError(
                f"Inputs must be tensors of float32 or float64. Input {name!r} is of another type; explain the model "
                "that was converted, or convert it for numbers."
            )
        if not 0 < width <= _MOST_COLUMNS and len(graph.inputs) > 1:
            raise UnsupportedModelError(f"An input must be a table with a number of columns. Input {name!r} is not.")
        features = [_Feature(start + i) for i in range(width)] if width else None
        known[name] = (_TYPES[kind], features, _TYPES[kind])
        start += width

    def follow(value: str) -> tuple[Floats, list[_Feature] | None, Floats]:
        if value in known:
            return known[value]
        node = graph.producers.get(value)
        kind = None if node is None else node.op_type
        if node is None or kind not in _STEPS:
            raise UnsupportedModelError(
                f"Steps before the trees must be among {list(_STEPS)}. Got {kind or 'a constant'}; explain the model "
                "that was converted, or its trees alone."
            )
        attributes = _attributes(node)
        floats, features, rounded = follow(node.input[0])
        if kind == "Cast":
            to = _TYPES.get(attributes["to"].i)
            if to is floats:
                return floats, features, rounded
            if to is None or any(feature.steps for feature in features or ()):
                raise UnsupportedModelError("A Cast before the trees must be of inputs to float32 or float64.")
            return to, features, FLOAT32 if FLOAT32 in (to, rounded) else FLOAT64
        if kind == "Identity":
            return floats, features, rounded
        if features is None:
            raise UnsupportedModelError(f"A {kind} needs inputs with a known number of columns.")
        if kind == "Concat":
            parts = [follow(name) for name in node.input]
            if attributes["axis"].i not in (1, -1) or any(part[::2] != (floats, rounded) for part in parts):
                raise UnsupportedModelError("A Concat before the trees must put columns of one type side by side.")
            return floats, [feature for part in parts for feature in part[1] or ()], rounded
        if kind == "ArrayFeatureExtractor":
            places = np.ravel(graph.constants[node.input[1]])
            return floats, [features[int(j)] for j in places], rounded
        if floats is not FLOAT32:
            raise UnsupportedModelError(f"A {kind} before the trees must be of float32 numbers.")
        steps = _steps(kind, attributes, [graph.constants.get(name) for name in node.input[1:]], len(features))
        added = zip(features, steps, strict=True)
        return floats, [replace(feature, steps=(*feature.steps, *more)) for feature, more in added], rounded

    floats, features, rounded = follow(graph.ensemble.input[0])
    return floats, features, rounded.name


def _steps(kind: str, attributes: dict[str, Any], constants: list[Any], n: int) -> list[list[tuple[str, float]]]:
    """Return what a node does to the number of each column, one float32 operation after the other."""
    if kind == "Imputer":
        parts = [("impute", np.array(attributes["imputed_value_floats"].floats, dtype=np.float32))]
        if not math.isnan(attributes["replaced_value_float"].f):
            raise UnsupportedModelError("An Imputer before the trees must replace NaN.")
    elif kind == "Scaler":
        offset, scale = (np.array(attributes[key].floats, dtype=np.float32) for key in ("offset", "scale"))
        parts = [("Sub", offset), ("Mul", scale)]
    else:
        parts = [(kind, constants[0])]
    found: list[list[tuple[str, float]]] = [[] for _ in range(n)]
    for name, constant in parts:
        if constant is None or constant.dtype != np.float32 or constant.size not in (1, n):
            raise UnsupportedModelError(f"A {kind} before the trees must have one float32 number for each column.")
        if not np.isfinite(constant).all() or (name in ("Mul", "Div") and (constant <= 0).any()):
            raise UnsupportedModelError(f"A {kind} before the trees must not turn the order of numbers around.")
        for steps, number in zip(found, np.resize(constant, n).tolist(), strict=True):
            steps.append((name, number))
    return found


def _attributes(node: Any) -> dict[str, Any]:
    return {attribute.name: attribute for attribute in node.attribute}


@dataclass(frozen=True, slots=True, eq=False)
class _Ensemble:
    """The attributes of a tree ensemble, with nodes and weights as arrays."""

    labels: Array | None  # None: a regressor
    transformation: str
    average: bool
    base: Array
    tree: Array  # the run of nodes, of one tree, that each node is in
    mode: Array
    feature: Array
    threshold: Array
    true: Array  # the place of each child among all nodes
    false: Array
    missing_true: Array
    weighted: Array  # the node of each weight
    weight_class: Array
    weight: Array

    @property
    def all_positive(self) -> bool:
        return not (self.weight < 0).any()


class _Reader:
    """Reads the attributes of an ensemble, each with as many entries as it must have."""

    def __init__(self, node: Any, floats: Floats) -> None:
        self.classifier = node.op_type == "TreeEnsembleClassifier"
        self.kind = "class" if self.classifier else "target"
        self._given, self._floats = _attributes(node), floats
        known = {*_ATTRIBUTES, *(f"{self.kind}_{name}" for name in ("ids", "nodeids", "treeids", "weights"))}
        unknown = sorted(name for name in self._given if name.removesuffix("_as_tensor") not in known)
        if unknown:
            raise UnsupportedModelError(
                f"The attributes of a {node.op_type} must be those of {_DOMAIN} 1 to 3. Got {unknown}."
            )

    def text(self, name: str, default: str) -> str:
        return str(self._given[name].s.decode()) if name in self._given else default

    def texts(self, name: str) -> list[bytes]:
        return list(self._given[name].strings) if name in self._given else []

    def number(self, name: str) -> int:
        return int(self._given[name].i)

    def whole(self, name: str, *lengths: int) -> Array:
        """Return whole numbers; an attribute that is not there is empty."""
        return self._sized(name, np.array(self._given[name].ints if name in self._given else [], np.int64), lengths)

    def numbers(self, name: str, *lengths: int) -> Array:
        """Return numbers of the ensemble's type, from a list of float32 or a tensor."""
        if f"{name}_as_tensor" not in self._given:
            found = np.array(self._given[name].floats if name in self._given else [], np.float32)
        else:
            import onnx

            found = onnx.numpy_helper.to_array(self._given[f"{name}_as_tensor"].t)
            if found.dtype != self._floats.dtype:
                raise ForestFormatError(f"'{name}_as_tensor' must be of {self._floats.name}. Got {found.dtype}.")
        return self._sized(name, found.astype(np.float64), lengths)

    def _sized(self, name: str, found: Array, lengths: tuple[int, ...]) -> Array:
        if lengths and len(found) not in lengths:
            raise ForestFormatError(f"'{name}' must have {lengths[0]} entries. Got {len(found)}.")
        return found


_ATTRIBUTES = (
    "post_transform", "aggregate_function", "n_targets", "classlabels_int64s", "classlabels_strings", "base_values",
    "nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_values", "nodes_hitrates", "nodes_modes",
    "nodes_truenodeids", "nodes_falsenodeids", "nodes_missing_value_tracks_true",
)  # fmt: skip


def _ensemble(node: Any, floats: Floats) -> _Ensemble:
    """Return what a node says; ForestFormatError if its arrays do not fit together."""
    given = _Reader(node, floats)
    tree_ids = given.whole("nodes_treeids")
    n = len(tree_ids)
    if n == 0:
        raise UnsupportedModelError("The model must have at least one tree. Got none.")
    modes = np.array(given.texts("nodes_modes"))
    mode = np.full(n, -1)
    if len(modes) == n:
        for i, name in enumerate(_MODES):
            mode[modes == name.encode()] = i
    if (mode < 0).any():
        odd = sorted({text.decode() for text in modes.tolist()} - set(_MODES))
        raise UnsupportedModelError(f"Nodes must be of the modes {list(_MODES)}. Got {odd}.")
    tree = np.cumsum(np.append(True, tree_ids[1:] != tree_ids[:-1])) - 1
    if len(np.unique(tree_ids)) != tree[-1] + 1:
        raise ForestFormatError("The nodes of a tree must follow each other.")
    find = _finder(tree_ids, given.whole("nodes_nodeids", n))
    inner = mode != 0
    children = np.full((2, n), LEAF)
    for side, name in enumerate(("nodes_truenodeids", "nodes_falsenodeids")):
        children[side, inner] = find(tree_ids[inner], given.whole(name, n)[inner])
    missing = given.whole("nodes_missing_value_tracks_true", n, 0) == 1
    ids = given.whole(f"{given.kind}_ids")
    places = find(given.whole(f"{given.kind}_treeids", len(ids)), given.whole(f"{given.kind}_nodeids", len(ids)))
    labels: Array | None = None
    if given.classifier:
        texts = [label.decode() for label in given.texts("classlabels_strings")]
        labels = np.array(texts) if texts else given.whole("classlabels_int64s")
    elif given.number("n_targets") != 1:
        raise UnsupportedModelError(f"The model must have one output. Got {given.number('n_targets')} targets.")
    aggregate = given.text("aggregate_function", "SUM")
    if aggregate != "SUM" and (given.classifier or aggregate != "AVERAGE"):
        raise UnsupportedModelError(f"Trees must be added up, or averaged by a regressor. Got {aggregate}.")
    return _Ensemble(
        labels=labels,
        transformation=given.text("post_transform", "NONE"),
        average=aggregate == "AVERAGE",
        base=given.numbers("base_values"),
        tree=tree,
        mode=mode,
        feature=given.whole("nodes_featureids", n),
        threshold=given.numbers("nodes_values", n),
        true=children[0],
        false=children[1],
        missing_true=missing if len(missing) else np.zeros(n, dtype=bool),
        weighted=places,
        weight_class=ids,
        weight=given.numbers(f"{given.kind}_weights", len(ids)),
    )


def _finder(tree_ids: Array, node_ids: Array) -> Callable[[Array, Array], Array]:
    """Return the function from the numbers of trees and nodes to places among all nodes."""
    for ids in (tree_ids, node_ids):
        if (ids < 0).any() or (ids >= 2**31).any():
            raise ForestFormatError("Trees and nodes must be numbered from 0, below 2**31.")
    keys = tree_ids * 2**31 + node_ids
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    if (ordered[1:] == ordered[:-1]).any():
        raise ForestFormatError("Each node of a tree must have its own number.")

    def find(trees: Array, nodes: Array) -> Array:
        wanted = trees * 2**31 + nodes
        at = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
        if (ordered[at] != wanted).any() or (nodes < 0).any():
            raise ForestFormatError("A child or a weight must be of a node that there is.")
        return np.asarray(order[at])

    return find


def _forest(graph: _Graph) -> Forest:
    floats, features, rounded = _chain(graph)
    ensemble = _ensemble(graph.ensemble, floats)
    inner = ensemble.mode != 0
    if features is None:
        features = [_Feature(j) for j in range(int(ensemble.feature[inner].max(initial=0)) + 1)]
    if (ensemble.feature[inner] < 0).any() or (ensemble.feature[inner] >= len(features)).any():
        raise ForestFormatError(f"A split must be of one of {len(features)} columns.")
    left, right, threshold, missing_left = _sides(ensemble, floats)
    order = _in_order(left, right, ensemble.tree)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    inner, split = inner[order], ensemble.feature[order]
    threshold, missing_left = threshold[order], missing_left[order]
    for j, feature in enumerate(features):
        at = np.flatnonzero(inner & (split == j))
        if feature.steps and len(at):
            threshold[at], missing_left[at] = _before(feature, threshold[at], missing_left[at])
    values, sums, classes, base = _decision(ensemble, floats, graph)
    trees = [
        Tree(
            feature=np.where(inner, np.array([f.column for f in features])[np.where(inner, split, 0)], LEAF),
            threshold=threshold,
            left=np.where(inner, place[left[order]], LEAF),
            right=np.where(inner, place[right[order]], LEAF),
            values=values[order],
            missing_left=missing_left,
            roots=np.flatnonzero(np.diff(ensemble.tree[order], prepend=-1)),
        )
    ]
    columns = _columns(graph, features, tracks=bool(ensemble.missing_true.any()))
    importances = split_counts(trees, len(columns))
    if base is not None and base.any():
        trees.append(Tree([LEAF], [math.nan], [LEAF], [LEAF], base[None, :]))
    return assemble(
        trees, classes=classes, columns=columns, importances=importances, vote="sum", dtype=rounded, sums=sums
    )


def _sides(ensemble: _Ensemble, floats: Floats) -> tuple[Array, Array, Array, Array]:
    """Return children, thresholds and ways of missing values, for nodes that send x left iff x <= threshold."""
    leq, lt, gte, gt = (ensemble.mode == _MODES.index(f"BRANCH_{name}") for name in ("LEQ", "LT", "GTE", "GT"))
    swapped = gte | gt  # x below the threshold goes to the child for "false"
    with np.errstate(over="ignore"):
        below = np.nextafter(ensemble.threshold.astype(floats.dtype), floats.dtype(-np.inf)).astype(np.float64)
    threshold = np.where(lt | gte, below, ensemble.threshold)
    left = np.where(swapped, ensemble.false, ensemble.true)
    right = np.where(swapped, ensemble.true, ensemble.false)
    inner = leq | lt | swapped
    if np.isnan(ensemble.threshold[inner]).any():
        raise ForestFormatError("The threshold of a split must be a number. Got NaN.")
    return left, right, threshold, inner & (ensemble.missing_true != swapped)


def _in_order(left: Array, right: Array, tree: Array) -> Array:
    """Return all nodes tree by tree, every child behind its parent; what is no tree is refused."""
    inner = left != LEAF
    level = np.flatnonzero(np.diff(tree, prepend=-1))  # the first node of a tree is its root
    n_parents = np.bincount(np.concatenate([left[inner], right[inner], level]), minlength=len(left))
    depth, d = np.full(len(left), -1), 0
    while len(level) and n_parents.max() == 1:  # so no node is met again
        depth[level] = d
        splits = level[inner[level]]
        level, d = np.concatenate([left[splits], right[splits]]), d + 1
    if (depth < 0).any():
        raise ForestFormatError("Each node must be reached once, from the first node of its tree.")
    return np.lexsort((depth, tree))


def _before(feature: _Feature, threshold: Array, missing_left: Array) -> tuple[Array, Array]:
    """Return thresholds and ways of missing values before the steps: the largest float32 that they send left.

    Each step rounds a function that never decreases, so the numbers that go left are those up to some number.
    """

    def stepped(x: Array) -> Array:
        with np.errstate(over="ignore"):
            for kind, number in feature.steps:
                constant = np.float32(number)
                x = np.where(np.isnan(x), constant, x) if kind == "impute" else _ARITHMETIC[kind](x, constant)
        return x

    after = threshold.astype(np.float32)
    low, high = np.full(len(after), _rank(-FLOAT32.largest) - 1), np.full(len(after), _rank(FLOAT32.largest))
    while (low < high).any():  # low goes left, or stands before all numbers; above high nothing does
        middle = low + (high - low + 1) // 2
        goes_left = stepped(_ranked(middle)) <= after
        low, high = np.where(goes_left, middle, low), np.where(goes_left, high, middle - 1)
    found = np.where(low < _rank(-FLOAT32.largest), -np.inf, _ranked(low))
    gap = stepped(np.full(len(after), np.nan, dtype=np.float32))
    return found.astype(np.float64), np.where(np.isnan(gap), missing_left, gap <= after)


def _rank(value: float) -> int:
    bits = int(np.float32(value).view(np.int32))
    return bits if bits >= 0 else -(bits & 0x7FFFFFFF)


def _ranked(rank: Array) -> Array:
    """Return the float32 numbers at these places of their order; zero is at 0."""
    magnitude = np.abs(rank).astype(np.int32).view(np.float32)
    return np.where(rank < 0, -magnitude, magnitude)


def _decision(ensemble: _Ensemble, floats: Floats, graph: _Graph) -> tuple[Array, Sums, Any, Array | None]:
    """Return the values of all nodes, how their sums become a label, the labels, and what is added last."""
    labels, n_nodes = ensemble.labels, len(ensemble.mode)
    leaf = ensemble.mode == 0
    used = leaf[ensemble.weighted]  # onnxruntime ignores weights of other nodes
    nodes, ids, weights = ensemble.weighted[used], ensemble.weight_class[used], ensemble.weight[used]
    n_sums = 1 if labels is None else len(labels)
    if n_sums == 1 and labels is not None:
        raise UnsupportedModelError("A classifier must have two classes at least. Got one.")
    if (ids < 0).any() or (ids >= n_sums).any() or len(np.unique(nodes * n_sums + ids)) != len(nodes):
        raise ForestFormatError("A leaf must have at most one weight for each class or target.")
    if n_nodes * n_sums > _MOST_VALUES:
        raise UnsupportedModelError(f"The model must have at most {_MOST_VALUES} leaf values.")
    values, given = np.zeros((n_nodes, n_sums)), np.zeros((n_nodes, n_sums), dtype=bool)
    values[nodes, ids], given[nodes, ids] = weights, True
    base = ensemble.base
    if labels is None:
        return _score(ensemble, floats, values, bool(given[leaf].all()))
    for kind in graph.output_types:
        if kind != (_STRING if labels.dtype.kind == "U" else _INT64):
            raise UnsupportedModelError("Labels must be kept as they are. Got a Cast to another type.")
    if n_sums == 2:
        only = np.unique(ensemble.weight_class).tolist()
        if only not in ([0], [1], [0, 1]) or (only != [0] and len(base)):
            raise UnsupportedModelError(
                "A classifier of two classes must have base values only with weights of the first class, as converters "
                "write it: onnxruntime does not add them to others."
            )
        # With the weights of both, the second class wins iff its own sum is positive, and labels are 0 and 1.
        values, given = values[:, only[-1:]], given[:, only[-1:]]
        labels = np.arange(2) if len(only) == 2 and labels.dtype.kind != "U" else labels
        cut = floats.next(0.5 if ensemble.all_positive and len(only) == 1 else 0.0, math.inf)
        sums = Sums((0.0,), floats.name, cuts=(cut,))
    else:
        if len(base) not in (0, n_sums):
            raise UnsupportedModelError(f"There must be a base value for each class, or none. Got {len(base)}.")
        sums = Sums((0.0,) * n_sums, floats.name)
    # A class without any weight on a row's way is never chosen by onnxruntime.
    full = np.ones((ensemble.tree[-1] + 1, values.shape[1]), dtype=bool)
    np.logical_and.at(full, ensemble.tree[leaf], given[leaf])
    if not full.any(axis=0).all() and (n_sums == 2 or len(base) == 0):
        raise UnsupportedModelError("Every class must have weights in all leaves of a tree.")
    base = base[:1] if n_sums == 2 else base
    return values, sums, labels, base if len(base) else None


def _score(ensemble: _Ensemble, floats: Floats, values: Array, full: bool) -> tuple[Array, Sums, Any, Array | None]:
    if floats is not FLOAT32:
        raise UnsupportedModelError(
            "A regressor must have float32 inputs: onnxruntime rounds its float64 sums at the end."
        )
    if ensemble.transformation != "NONE":
        raise UnsupportedModelError(f"A score must be the sum of the leaves. Got {ensemble.transformation} of it.")
    if not full or len(ensemble.base) > 1:
        raise UnsupportedModelError("A regressor must have one weight in each leaf, and at most one base value.")
    divisor = 1.0
    if ensemble.average:
        divisor = float(ensemble.tree[-1] + 1)
        if ensemble.base.any():
            raise UnsupportedModelError("Averages must have no base value, which would be added after the division.")
    sums = Sums((0.0,), "float32", divisor=divisor, cuts=())
    return values, sums, np.array(["any score"]), ensemble.base if len(ensemble.base) else None


def _columns(graph: _Graph, features: Sequence[_Feature], tracks: bool) -> list[Column]:
    """Return the columns of all inputs: one for each input that is one column, else numbered."""
    n = max((f.column for f in features), default=0) + 1
    missing: Any = "expected" if tracks or any(s[0] == "impute" for f in features for s in f.steps) else "possible"
    if len(graph.inputs) == 1:
        return [Column(f"x{j}", missing=missing) for j in range(max(graph.inputs[0][2], n))]
    names = [name if width == 1 else f"{name}_{i}" for name, _, width in graph.inputs for i in range(width)]
    return [Column(name, missing=missing) for name in names]
