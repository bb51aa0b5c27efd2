"""ONNX models for tests: sessions with the `predict` that is explained, conversions, and ensembles written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import skl2onnx
from onnx import helper

FLOAT = onnx.TensorProto.FLOAT


def _options() -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return options


class Model(onnxruntime.InferenceSession):
    """A session with one thread; its `predict` is the first output."""

    def __init__(self, proto: Any) -> None:
        super().__init__(proto.SerializeToString(), _options(), providers=["CPUExecutionProvider"])
        self.proto = proto
        self.classes_ = [0, 1] if any(node.op_type == "TreeEnsembleClassifier" for node in proto.graph.node) else []

    def fed(self, rows: Any) -> dict[str, Any]:
        """Rows as the session takes them."""
        inputs = self.get_inputs()
        kind = np.float64 if inputs[0].type == "tensor(double)" else np.float32
        table = np.asarray(rows, dtype=kind)
        if len(inputs) == 1:
            return {inputs[0].name: table}
        return {value.name: np.ascontiguousarray(table[:, j : j + 1]) for j, value in enumerate(inputs)}

    def predict(self, rows: Any) -> Any:
        return np.ravel(self.run([self.get_outputs()[0].name], self.fed(rows))[0])

    def sums(self, rows: Any) -> Any:
        """Return the sums of a classifier: its scores, without what is made of them."""
        proto = onnx.ModelProto()
        proto.CopyFrom(self.proto)
        (node,) = (n for n in proto.graph.node if n.op_type == "TreeEnsembleClassifier")
        for attribute in node.attribute:
            if attribute.name == "post_transform":
                attribute.s = b"NONE"
        del proto.graph.output[1:]
        proto.graph.output.append(helper.make_tensor_value_info(node.output[1], FLOAT, None))
        scores = Model(proto).run([node.output[1]], self.fed(rows))[0]
        return scores if scores.shape[1] > 2 else scores[:, 1:]


def converted(model: Any, n_columns: int) -> Model:
    """Return a model of scikit-learn as ONNX, with one float32 input."""
    final = model.steps[-1][1] if hasattr(model, "steps") else model
    options = {id(final): {"zipmap": False}} if hasattr(final, "classes_") else None
    proto = skl2onnx.to_onnx(model, np.zeros((1, n_columns), dtype=np.float32), options=options)
    return Model(proto)


def tree_model(
    *, modes: Any = ("BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF"), tracks: Any = None, copies: int = 1,
    order: Any = (0, 1, 2, 3, 4), **changes: Any,
) -> Any:  # fmt: skip
    """Return a regressor: a tree of two splits, column 0 at 0.5 and column 1 at 1, in as many copies."""
    n = range(copies)
    attributes: dict[str, Any] = {
        "nodes_treeids": [t for t in n for _ in range(5)],
        "nodes_nodeids": [order[i] for _ in n for i in range(5)],
        "nodes_featureids": [[0, 1, 0, 0, 0][order[i]] for _ in n for i in range(5)],
        "nodes_values": [[0.5, 1.0, 0.0, 0.0, 0.0][order[i]] for _ in n for i in range(5)],
        "nodes_modes": [modes[order[i]] for _ in n for i in range(5)],
        "nodes_truenodeids": [[1, 2, 0, 0, 0][order[i]] for _ in n for i in range(5)],
        "nodes_falsenodeids": [[4, 3, 0, 0, 0][order[i]] for _ in n for i in range(5)],
        "target_treeids": [t for t in n for _ in range(3)],
        "target_nodeids": [2, 3, 4] * copies,
        "target_ids": [0, 0, 0] * copies,
        "target_weights": [0.1, 1.7, -2.3] * copies,
        "n_targets": 1,
        **changes,
    }
    if "target_ids" in changes and len(changes["target_ids"]) < 3:
        attributes["target_weights"] = attributes["target_weights"][: len(changes["target_ids"])]
    if tracks is not None:
        attributes["nodes_missing_value_tracks_true"] = [tracks, 1 - tracks, 0, 0, 0] * copies
    return _model("TreeEnsembleRegressor", ["Y"], attributes)


def ensemble_of(leaves: list[list[float]], *, ids: Any = (0, 1), labels: Any = (0, 1), **changes: Any) -> Any:
    """Return a classifier of two classes: one split, and in each leaf the weights of these classes."""
    named = {"classlabels_strings": labels} if isinstance(labels[0], str) else {"classlabels_int64s": labels}
    attributes = {
        "nodes_treeids": [0, 0, 0],
        "nodes_nodeids": [0, 1, 2],
        "nodes_featureids": [0, 0, 0],
        "nodes_values": [0.5, 0.0, 0.0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        "class_treeids": [0] * 2 * len(ids),
        "class_nodeids": [node for node in (1, 2) for _ in ids],
        "class_ids": [*ids, *ids],
        "class_weights": [weight for leaf in leaves for weight in leaf],
        **named,
        **changes,
    }
    return _model("TreeEnsembleClassifier", ["Y", "Z"], attributes)


def _model(kind: str, outputs: list[str], attributes: dict[str, Any]) -> Any:
    node = helper.make_node(
        kind, ["X"], outputs, domain="ai.onnx.ml", **{k: v for k, v in attributes.items() if v != []}
    )
    named = onnx.TensorProto.STRING if "classlabels_strings" in attributes else onnx.TensorProto.INT64
    label = named if kind == "TreeEnsembleClassifier" else FLOAT
    graph = helper.make_graph(
        [node],
        "trees",
        [helper.make_tensor_value_info("X", FLOAT, [None, 2])],
        [helper.make_tensor_value_info("Y", label, None)],
    )
    versions = [helper.make_opsetid("ai.onnx.ml", 1), helper.make_opsetid("", 9)]
    return helper.make_model(graph, opset_imports=versions, ir_version=8)
