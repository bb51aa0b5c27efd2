"""Model files of every format that is read, damaged at random or crafted: a sentence, or a model that is followed."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

import treeproof as tp
from attack.mutate import copied, damaged_bytes, damaged_json, damaged_text, places, twice
from attack.rounds import Round
from attack.sources import model_files, prepare  # noqa: F401

INDICES = [-2, -1, 0, 1, 2, 5, 10**9, 2**31 - 1, -(2**31)]
CHAIN = 100_000  # nodes


def attack(round: Round) -> None:
    """Damage files, and read and explain what is in them."""
    files, rng = model_files(), round.rng
    for _ in range(round.n_cases):
        name = sorted(files)[rng.integers(len(files))]
        content, how = damaged(rng, name, files[name])
        _read(round, name, content, how)
    name, content = CRAFTED[round.number % len(CRAFTED)](rng, files)
    _read(round, name, content, "crafted")


def damaged(rng: np.random.Generator, name: str, content: bytes) -> tuple[bytes, str]:
    """Return a damaged file, and how it was damaged."""
    ending = name.rpartition(".")[2]
    if rng.random() < 0.3:
        return damaged_bytes(rng, content), "bytes"
    if ending == "json":
        document = json.loads(content)
        if rng.random() < 0.1:
            return twice(rng, document).encode(errors="surrogatepass"), "a key twice"
        if rng.random() < 0.3:
            return _with_indices(rng, document), "indices"
        return json.dumps(damaged_json(rng, document)).encode(), "JSON"
    if ending == "txt":
        return damaged_text(rng, content.decode()).encode(), "text"
    if ending == "skops":
        return _damaged_skops(rng, content), "part"
    if ending == "onnx":
        return _damaged_onnx(rng, content), "attributes"
    return damaged_bytes(rng, content), "bytes"


def _with_indices(rng: np.random.Generator, document: Any) -> bytes:
    """Return JSON with some whole numbers of a list replaced by others: cycles, and children that are not there."""
    document = copied(document)
    lists = [v for holder, key in places(document) if isinstance(v := holder[key], list) and v and type(v[0]) is int]
    if lists:
        chosen = lists[rng.integers(len(lists))]
        for _ in range(int(rng.integers(1, 4))):
            chosen[rng.integers(len(chosen))] = int(rng.choice([*INDICES[:-2], len(chosen) - 1, len(chosen)]))
    return json.dumps(document).encode()


def _damaged_skops(rng: np.random.Generator, content: bytes) -> bytes:
    """Return a zip file with a damaged part: the schema, or an array."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {part: archive.read(part) for part in archive.namelist()}
    name = "schema.json" if rng.random() < 0.3 else sorted(parts)[rng.integers(len(parts))]
    if name == "schema.json":
        parts[name] = json.dumps(damaged_json(rng, json.loads(parts[name]))).encode()
    else:
        parts[name] = _damaged_array(rng, parts[name])
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for part, data in parts.items():
            archive.writestr(part, data)
    return packed.getvalue()


def _damaged_array(rng: np.random.Generator, content: bytes) -> bytes:
    """Return an array with other values, of another shape or of another type."""
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
    except (ValueError, OSError, EOFError):
        return damaged_bytes(rng, content)
    choice = rng.random()
    if choice < 0.6 and array.dtype.names and array.size:
        array = array.copy()
        field = str(rng.choice(array.dtype.names))
        array[field][rng.integers(len(array))] = rng.choice(INDICES) if rng.random() < 0.8 else 0
    elif choice < 0.75 and array.size:
        array = array.copy()
        if array.dtype.kind in "iuf":
            array.flat[rng.integers(array.size)] = 0 if array.dtype.kind == "u" else -1
    elif choice < 0.85:
        array = array[: len(array) // 2] if array.ndim else array
    elif array.dtype.kind in "iuf":
        array = array.astype(str(rng.choice(["<f4", ">i8", "<u1"])))
    else:
        return damaged_bytes(rng, content)
    saved = io.BytesIO()
    np.save(saved, array)
    return saved.getvalue()


def _damaged_onnx(rng: np.random.Generator, content: bytes) -> bytes:
    """Return a model with some numbers of its attributes replaced."""
    import onnx

    model = onnx.load_from_string(content)
    attributes = [a for node in model.graph.node for a in node.attribute if a.ints or a.floats or a.strings]
    chosen = attributes[rng.integers(len(attributes))]
    for values in (chosen.ints, chosen.floats, chosen.strings):
        if values:
            place = int(rng.integers(len(values)))
            if rng.random() < 0.2:
                del values[place]
            elif values is chosen.strings:
                values[place] = bytes(rng.choice([b"BRANCH_GT", b"LEAF", b"", b"\xff"]))
            else:
                values[place] = type(values[place])(rng.choice(INDICES))
    return model.SerializeToString()


def _read(round: Round, name: str, content: bytes, how: str) -> None:
    """Read a file, and explain a row, which must be right for the model's own predict."""
    path = round.folder / name
    path.write_bytes(content)
    round.counts[name.rpartition(".")[2]] += 1
    with round.case(f"{name} ({how})"):
        model = tp.load_model(path, trust=name.endswith(".joblib"), max_mb=50)
        explainer = tp.Explainer(model)
        if explainer.forest.decision.cuts == ():
            return
        _judge(round, f"{name} ({how})", model, explainer)


def _judge(round: Round, what: str, model: Any, explainer: tp.Explainer) -> None:
    forest, rng = explainer.forest, round.rng
    if len(forest.columns) > 1000:
        return
    row = [_value(rng, forest, j) for j in range(len(forest.columns))]
    why = explainer.abductive(row, timeout=2)
    rows = [[v if j in why.features else _value(rng, forest, j) for j, v in enumerate(row)] for _ in range(100)]
    asked = forest if isinstance(model, tp.Forest) else model
    labels = {str(label) for label in asked.predict(rows if asked is forest else np.array(rows, dtype=float))}
    round.require(labels == {str(why.label)}, f"{what}: proved {why.label}, but predict gives {labels}")
    round.counts["explained"] += 1


def _value(rng: np.random.Generator, forest: tp.Forest, j: int) -> Any:
    column = forest.columns[j]
    if column.categories is not None:
        return next(c for c in rng.permutation(np.array(column.categories, dtype=object)) if c is not None)
    cuts = forest.threshold[(forest.feature == j) & np.isfinite(forest.threshold)]
    value = float(rng.choice(cuts)) + float(rng.choice([0, 0, 1, -1, 1e-3])) if len(cuts) else 0.5
    return float(np.clip(value, max(column.low, -3e38), min(column.high, 3e38)))


def _chain(files: dict[str, bytes], back: bool = False) -> bytes:
    """A tree of our own that is one long chain; or one whose last split goes back to its root."""
    document = json.loads(files["forest.json"])
    n = CHAIN // 2 + 1
    values = document["values"][0]
    inner = [i % 2 == 0 and i < 2 * n - 2 for i in range(2 * n - 1)]
    document |= {
        "roots": [0],
        "feature": [i % 3 if split else -1 for i, split in enumerate(inner)],
        "subset": [-1] * len(inner),
        "left": [i + 1 if split else -1 for i, split in enumerate(inner)],
        "right": [i + 2 if split else -1 for i, split in enumerate(inner)],
        "threshold": [float(i).hex() if split else None for i, split in enumerate(inner)],
        "values": [values] * len(inner),
        "missing_left": [],
        "subsets": [],
    }
    if back:
        document["right"][2 * n - 4] = 0
    return json.dumps(document).encode()


def _xgboost_with(files: dict[str, bytes], **changes: Any) -> bytes:
    """A file of XGBoost that declares other sizes."""
    document = json.loads(files["xgb.json"])
    for holder, key in places(document):
        if key in changes:
            holder[key] = changes[key]
    return json.dumps(document).encode()


def _xgboost_chain(files: dict[str, bytes], back: bool) -> bytes:
    document = json.loads(files["xgb.json"])
    tree = document["learner"]["gradient_booster"]["model"]["trees"][0]
    n = CHAIN // 2
    tree["left_children"] = [i + 1 if i % 2 == 0 else -1 for i in range(2 * n)] + [-1]
    tree["right_children"] = [i + 2 if i % 2 == 0 else -1 for i in range(2 * n)] + [-1]
    if back:
        tree["right_children"][2 * n - 2] = 0
    m = 2 * n + 1
    for key, value in tree.items():
        if isinstance(value, list) and len(value) not in (0, m):
            tree[key] = [value[0]] * m
    tree["tree_param"]["num_nodes"] = str(m)
    return json.dumps(document).encode()


def _lightgbm_with(files: dict[str, bytes], key: str, value: Any) -> bytes:
    lines = files["lgb.txt"].decode().split("\n")
    return "\n".join(f"{key}={value}" if line.startswith(f"{key}=") else line for line in lines).encode()


def _skops_with(rng: np.random.Generator, files: dict[str, bytes], **fields: int) -> bytes:
    """A file of skops whose first tree has these values in its first node."""
    with zipfile.ZipFile(io.BytesIO(files["forest.skops"])) as archive:
        parts = {part: archive.read(part) for part in archive.namelist()}
    for name, content in parts.items():
        if name.endswith(".npy"):
            array = np.load(io.BytesIO(content))
            if array.dtype.names and "left_child" in array.dtype.names:
                for field, value in fields.items():
                    array[field][0] = value
                saved = io.BytesIO()
                np.save(saved, array)
                parts[name] = saved.getvalue()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for part, data in parts.items():
            archive.writestr(part, data)
    return packed.getvalue()


def _bomb() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("schema.json", bytes(3 * 10**8))
    return packed.getvalue()


Crafted = Callable[[np.random.Generator, dict[str, bytes]], tuple[str, bytes]]
CRAFTED: list[Crafted] = [
    lambda rng, files: ("chain.json", _chain(files)),
    lambda rng, files: ("cycle.json", _chain(files, back=True)),
    lambda rng, files: ("deep.json", b"[" * 10**6),
    lambda rng, files: ("xgb.json", _xgboost_with(files, num_feature="1000000000")),
    lambda rng, files: ("xgb.json", _xgboost_with(files, num_class="1000000000")),
    lambda rng, files: ("xgb.json", _xgboost_with(files, num_nodes="1000000000", num_trees="1000000000")),
    lambda rng, files: ("xgb.json", _xgboost_chain(files, back=False)),
    lambda rng, files: ("xgb.json", _xgboost_chain(files, back=True)),
    lambda rng, files: ("bomb.ubj", b"{L" + (10**9).to_bytes(8, "big") + b"x"),
    lambda rng, files: ("array.ubj", b"{L" + (1).to_bytes(8, "big") + b"a[$l#l" + (10**9).to_bytes(4, "big")),
    lambda rng, files: ("nothing.ubj", b"{i\x01a[$Z#l" + (10**9).to_bytes(4, "big") + b"}"),
    lambda rng, files: ("lgb.txt", _lightgbm_with(files, "max_feature_idx", 10**9)),
    lambda rng, files: ("lgb.txt", _lightgbm_with(files, "num_class", 10**9)),
    lambda rng, files: ("lgb.txt", _lightgbm_with(files, "num_leaves", 10**9)),
    lambda rng, files: ("lgb.txt", _lightgbm_with(files, "left_child", " ".join(["0"] * 3))),
    lambda rng, files: ("forest.skops", _skops_with(rng, files, feature=-1)),
    lambda rng, files: ("forest.skops", _skops_with(rng, files, feature=10**9)),
    lambda rng, files: ("forest.skops", _skops_with(rng, files, feature=-1, left_child=0, right_child=0)),
    lambda rng, files: ("forest.skops", _skops_with(rng, files, left_child=10**9)),
    lambda rng, files: ("forest.skops", _skops_with(rng, files, right_child=-5)),
    lambda rng, files: ("bomb.skops", _bomb()),
]
