"""Forests and models in files: an exact JSON format, the formats of other libraries, pickles only with consent."""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import os
import re
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from treeproof.errors import (
    ForestFormatError,
    InputError,
    MissingExtraError,
    TreeproofError,
    UnsafeFileError,
    require_path,
)
from treeproof.model.columns import Column, Gap, Missing
from treeproof.model.decision import Member, Sums
from treeproof.model.forest import Forest

FORMAT = "treeproof-forest"
VERSION = 2

PICKLES = (".pkl", ".pickle", ".joblib")
MODELS = (
    ".json",
    ".ubj",
    ".txt",
    ".lgb",
    ".cbm",
    ".onnx",
    ".skops",
    *PICKLES,
)  # endings of the files that `load_model` reads

MAX_MB = 500.0  # of what a compressed file may hold, unless more is allowed

_PIECE = 4096  # numbers that are turned into text at once
_INTEGERS = ("roots", "feature", "subset", "left", "right")
_KEYS = {
    "format",
    "version",
    "vote",
    "classes",
    "columns",
    "subsets",
    "threshold",
    "values",
    "importances",
    "missing_left",
    "numbers",
    "sums",
    *_INTEGERS,
}
_NEW = {"missing_left", "numbers", "sums"}  # keys that are not in a version 1 file


def forest_to_json(forest: Forest) -> str:
    """Return the forest as JSON text that `forest_from_json` turns into an equal forest, to the last bit.

    Floats are written in hexadecimal, so no reader needs to round.

    >>> from treeproof.model.examples import heart_disease
    >>> forest, _ = heart_disease()
    >>> forest_from_json(forest_to_json(forest)) == forest
    True
    """
    return "".join(json_pieces(forest))


def json_pieces(forest: Forest) -> Iterator[str]:
    """Yield the text of `forest_to_json` piece by piece: some thousand numbers take a few milliseconds."""
    head = {
        "format": FORMAT,
        "version": VERSION,
        "vote": forest.vote,
        "classes": {"dtype": forest.classes.dtype.str, "labels": _plain(forest.classes.tolist())},
        "columns": [
            {
                "name": column.name,
                "categories": None if column.categories is None else _plain(column.categories),
                "missing": column.missing,
                **({"date": True} if column.date else {}),
                **({"integer": True} if column.integer else {}),
                **({"gap": column.gap} if column.gap != "either" else {}),
                **({"other": column.other} if column.other is not None else {}),
                **({"other_expected": False} if not column.other_expected else {}),
                **({"low": column.low.hex()} if column.low > -math.inf else {}),
                **({"high": column.high.hex()} if column.high < math.inf else {}),
            }
            for column in forest.columns
        ],
        "importances": _hex(forest.importances),
        "subsets": [sorted(subset) for subset in forest.subsets],
    }
    tail = {
        "missing_left": np.flatnonzero(forest.missing_left).tolist(),
        "numbers": forest.dtype,
        "sums": None
        if forest.sums is None
        else {
            "start": _hex(np.array(forest.sums.start)),
            "numbers": forest.sums.dtype,
            "divisor": forest.sums.divisor.hex(),
            "cuts": None if forest.sums.cuts is None else _hex(np.array(forest.sums.cuts)),
            "softmax": forest.sums.softmax,
            **({"members": [_member(member) for member in forest.sums.members]} if forest.sums.members else {}),
            **({} if forest.sums.sigmoid is None else {"sigmoid": forest.sums.sigmoid.hex()}),
        },
    }

    def dumped(value: Any) -> str:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)

    yield dumped(head)[:-1]
    for name in (*_INTEGERS, "threshold", "values"):
        numbers = getattr(forest, name)
        yield f',"{name}":['
        n = max(1, _PIECE * len(numbers) // max(1, numbers.size))  # rows that have so many numbers
        for start in range(0, len(numbers), n):
            piece = numbers[start : start + n]
            plain = piece.tolist() if name in _INTEGERS else _hex(piece)
            yield "," * (start > 0) + dumped(plain)[1:-1]
        yield "]"
    yield f",{dumped(tail)[1:]}"


def forest_from_json(text: str) -> Forest:
    """Return the forest that `forest_to_json` wrote; ForestFormatError says what is wrong with any other text."""
    return _forest(_json(text))


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ForestFormatError(f"The text must be JSON. Got: {error}.") from error


def _forest(document: Any) -> Forest:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ForestFormatError(f'The JSON must be an object with "format": "{FORMAT}", as save_forest writes it.')
    if type(document.get("version")) is not int or document["version"] not in (1, VERSION):
        raise ForestFormatError(
            f"The forest's format version must be 1 or {VERSION}. Got {document.get('version')!r}; update treeproof."
        )
    keys = _KEYS - _NEW if document["version"] == 1 else _KEYS
    missing, unknown = keys - document.keys(), document.keys() - keys
    if missing or unknown:
        raise ForestFormatError(
            f"The forest must have the keys {sorted(keys)}. Missing: {sorted(missing)}; unknown: {sorted(unknown)}."
        )
    try:
        return Forest(
            vote=document["vote"],
            classes=_classes(document["classes"]["labels"], document["classes"]["dtype"]),
            columns=tuple(
                Column(
                    _text(c["name"]),
                    None if c["categories"] is None else tuple(_labels(c["categories"], missing=True)),
                    _one_of(get_args(Missing), c.get("missing", "never"), "missing"),
                    _one_of((False, True), c.get("date", False), "date"),
                    _one_of(get_args(Gap), c.get("gap", "either"), "gap"),
                    None if c.get("other") is None else _text(c["other"]),
                    _end(c.get("low"), -math.inf),
                    _end(c.get("high"), math.inf),
                    _one_of((False, True), c.get("other_expected", True), "other_expected"),
                    _one_of((False, True), c.get("integer", False), "integer"),
                )
                for c in document["columns"]
            ),
            importances=np.array(_unhex(document["importances"])),
            subsets=tuple(frozenset(_integers(subset)) for subset in document["subsets"]),
            threshold=np.array(_unhex(document["threshold"])),
            values=np.array([_unhex(values) for values in document["values"]]),
            missing_left=_places(document.get("missing_left", []), len(document["feature"])),
            dtype=document.get("numbers", "float32"),
            sums=_sums(document.get("sums")),
            **{name: np.array(_integers(document[name])) for name in _INTEGERS},
        )
    except ForestFormatError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError, IndexError) as error:
        raise ForestFormatError(f"The forest's JSON is damaged: {type(error).__name__}: {error}.") from error


def save_forest(forest: Forest, path: str | os.PathLike[str]) -> None:
    """Write the forest as JSON, atomically.

    >>> import tempfile, os
    >>> from treeproof.model.examples import heart_disease
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_forest(heart_disease()[0], os.path.join(folder, "heart.json"))
    ...     load_forest(os.path.join(folder, "heart.json"))
    Forest(3 trees, 17 nodes, 4 columns, 2 classes, majority vote)
    """
    if not isinstance(forest, Forest):
        raise InputError(f"A Forest must be saved: that of an explainer is explainer.forest. Got {forest!r} instead.")
    write_whole(path, forest_to_json(forest).encode())


def load_forest(path: str | os.PathLike[str]) -> Forest:
    """Return the forest in a file written by `save_forest`, equal to the saved one to the last bit.

    `ForestFormatError` says what is wrong with a file that is damaged or not a forest. Reading executes no code of it.

    Examples
    --------
    >>> import tempfile, os
    >>> from treeproof.model.examples import heart_disease
    >>> forest, _ = heart_disease()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "heart.json")
    ...     save_forest(forest, path)
    ...     load_forest(path) == forest
    True
    """
    require_path("path", path)
    text = _read_text(path)
    with _naming_file(path):
        return forest_from_json(text)


@contextlib.contextmanager
def _naming_file(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file in an error about its content."""
    try:
        yield
    except ForestFormatError as error:
        raise ForestFormatError(f"{path} cannot be read. {error}") from error


def _read_text(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ForestFormatError(f"{path} must be a text file with a model. Got: {error}.") from error


def load_model(path: str | os.PathLike[str], *, trust: bool = False, max_mb: float = MAX_MB) -> Any:
    """Return the model in a file: a forest (.json), a scikit-learn model (.skops), or, trusted, a pickle.

    Models saved by XGBoost (.json or .ubj) or LightGBM (.txt or .lgb) are returned as a `Forest`, with classes
    0, 1, ..., and those that CatBoost saved as .json with their labels; no library is needed. CatBoost's .cbm is read
    by CatBoost, and .onnx by the package onnx. A pickle (also .joblib) can execute any code when it is read, so it is
    read only with ``trust=True``; a .skops file only if it has types that are not known to be safe.

    Parameters
    ----------
    path
        The file; its extension says what it is.
    trust
        Whether the file may execute code: a pickle, or unknown types of a .skops file.
    max_mb
        How many million bytes a compressed file, .skops, may hold when it is decompressed.

    Examples
    --------
    >>> import tempfile, treeproof as tp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tp.save_forest(tp.examples.heart_disease()[0], f"{folder}/heart.json")
    ...     tp.load_model(f"{folder}/heart.json")
    Forest(3 trees, 17 nodes, 4 columns, 2 classes, majority vote)
    """
    require_path("path", path)
    suffix = Path(path).suffix.lower()
    if suffix == ".json":
        text = _read_text(path)
        with _naming_file(path):
            document = _json(text)
            if isinstance(document, dict) and "learner" in document:
                return _importer("xgboost").from_json(document)
            if isinstance(document, dict) and "features_info" in document:
                return _importer("catboost").from_json(document)
            return _forest(document)
    if suffix == ".ubj":
        content = Path(path).read_bytes()
        with _naming_file(path):
            return _importer("xgboost").from_json(_importer("ubjson").parse(content))
    if suffix in (".txt", ".lgb"):
        text = _read_text(path)
        with _naming_file(path):
            return _importer("lightgbm").from_text(text)
    if suffix == ".cbm":
        with _naming_file(path):
            return _importer("catboost").from_binary(Path(path))
    if suffix == ".onnx":
        content = Path(path).read_bytes()
        with _naming_file(path):
            return _importer("onnx").load(content, None)
    if suffix == ".skops":
        return _load_skops(path, trust, max_mb)
    if is_pickle(path):
        if not trust:
            raise UnsafeFileError(
                f"{path} is a pickle, and reading it can execute code. If you trust its origin, pass trust=True "
                "(--trust on the command line); or save the model with skops or as JSON."
            )
        return _load_pickle(path)
    raise InputError(f"A model file must end in {', '.join(MODELS[:-1])} or {MODELS[-1]}. Got {path}.")


def _importer(name: str) -> Any:
    """Return the importer of a library. Imported when it is needed: importers build on this file, and add up."""
    return importlib.import_module(f"treeproof.model.importers.{name}")


def is_pickle(path: str | os.PathLike[str]) -> bool:
    """Return whether a file has the extension of a pickle, which can execute code when it is read."""
    return Path(path).suffix.lower() in PICKLES


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model: a `Forest` as .json, a scikit-learn estimator as .skops or, imported, as .json."""
    from treeproof.model.importers import import_model, link_of

    suffix = Path(path).suffix.lower()
    if suffix == ".json":
        if link_of(model) is not None:
            raise InputError(
                f"A forest in JSON predicts sums of leaf values. {type(model).__name__} predicts a function of them: "
                "save what is explained about it, treeproof.Explainer(model, cuts=[...]).forest, with save_forest."
            )
        save_forest(import_model(model), path)
    elif suffix == ".skops" and not isinstance(model, Forest):
        write_whole(path, _skops().dumps(model))
    else:
        raise InputError(f"A model can be saved as .json, or as .skops if it is a scikit-learn estimator. Got {path}.")


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file atomically: it appears complete or not at all, even when interrupted or out of space."""
    require_path("path", path)
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _load_pickle(path: str | os.PathLike[str]) -> Any:
    import joblib

    try:
        return joblib.load(path)
    except (OSError, TreeproofError):
        raise
    except Exception as error:  # a damaged file, or a library that is not installed here
        what = f"{type(error).__name__}: {error}"
        raise ForestFormatError(f"{path} must be a pickle that can be read here. Got: {what}.") from error


# Types that a file may have besides those that skops knows. They hold data: making one executes no code of the file.
# What importers read of them is checked before anything of scikit-learn runs on it.
_KNOWN_TYPES = frozenset(
    {
        "numpy.dtype",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.calibration._TemperatureScaling",
        "sklearn.compose._column_transformer._RemainderColsList",  # a list of columns, of scikit-learn 1.6
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.tree._tree.Tree",
        "treeproof.model.majority.MajorityForestClassifier",
    }
)


def _load_skops(path: str | os.PathLike[str], trust: bool, max_mb: float) -> Any:
    skops = _skops()
    try:
        with zipfile.ZipFile(path) as archive:  # reads no more of a part than its declared size
            size = sum(part.file_size for part in archive.infolist())
        if size > max_mb * 1e6:
            raise UnsafeFileError(
                f"{path} must not hold more than {max_mb:g} MB when it is decompressed. Got {size / 1e6:.0f} MB. "
                f"If you trust its origin, pass max_mb={math.ceil(size / 1e6)} (--max-mb on the command line)."
            )
        found = set(skops.get_untrusted_types(file=path))
        unknown = sorted(found - _KNOWN_TYPES)
        if unknown and not trust:
            raise UnsafeFileError(
                f"{path} has types that are not known to be safe, and reading them can execute code: "
                f"{', '.join(unknown)}. If you trust its origin, pass trust=True (--trust on the command line)."
            )
        return skops.load(path, trusted=sorted(found))
    except (OSError, UnsafeFileError):
        raise
    except Exception as error:  # what skops raises for a damaged file depends on the damage
        what = f"{type(error).__name__}: {error}"
        raise ForestFormatError(f"{path} must be a model saved by skops. Got: {what}.") from error


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise MissingExtraError("Files in skops format need skops: pip install 'treeproof[cli]'.") from error
    return skops.io


def _hex(values: Any) -> list[Any]:
    """Return floats as texts, each different one turned into text once, and NaN as None; an array stays nested."""
    floats = np.ascontiguousarray(values, dtype=np.float64)
    bits, at = np.unique(floats.view(np.int64), return_inverse=True)  # 0 and -0 are two
    texts = [None if math.isnan(value) else value.hex() for value in bits.view(np.float64).tolist()]
    found: list[Any] = np.array(texts, dtype=object)[at].reshape(floats.shape).tolist()
    return found


def _unhex(values: Any) -> list[float]:
    if not isinstance(values, list):
        raise ForestFormatError("Numbers must be a list of hexadecimal strings.")
    return [float("nan") if value is None else float.fromhex(value) for value in values]


def _plain(labels: Any) -> list[Any]:
    for label in labels:
        if label is None:  # a missing value among categories; a class is never None
            continue
        if not isinstance(label, str | int | float) or (isinstance(label, float) and not math.isfinite(label)):
            raise InputError(f"A label must be a string, a finite number or a boolean to be saved. Got {label!r}.")
    return list(labels)


def _labels(labels: Any, missing: bool = False) -> list[Any]:
    known = str | int | float | None if missing else str | int | float
    if not isinstance(labels, list) or not all(isinstance(label, known) for label in labels):
        raise ForestFormatError("Labels must be a list of strings, numbers or booleans.")
    return labels


def _one_of(known: Sequence[Any], value: Any, name: str) -> Any:
    if not any(type(value) is type(each) and value == each for each in known):
        raise ForestFormatError(f"A column's '{name}' must be one of {list(known)}. Got {value!r}.")
    return value


def _end(value: Any, otherwise: float) -> float:
    if value is None:
        return otherwise
    end = float.fromhex(value)
    if not math.isfinite(end):
        raise ForestFormatError(f"An end of a column's numbers must be finite. Got {value!r}.")
    return end


def _places(places: Any, n: int) -> npt.NDArray[np.bool_]:
    flags = np.zeros(n, dtype=np.bool_)
    for place in _integers(places):
        if not 0 <= place < n:
            raise ForestFormatError(f"'missing_left' must hold nodes below {n}. Got {place}.")
        flags[place] = True
    return flags


def _sums(given: Any) -> Sums | None:
    if given is None:
        return None
    if set(given) - {"members", "sigmoid"} != {"start", "numbers", "divisor", "cuts", "softmax"}:
        raise ForestFormatError(f"'sums' must have start, numbers, divisor, cuts and softmax. Got {sorted(given)}.")
    (divisor,) = _unhex([given["divisor"]])
    if type(given["softmax"]) is not bool:
        raise ForestFormatError(f"'softmax' must be true or false. Got {given['softmax']!r}.")
    cuts = None if given["cuts"] is None else tuple(_unhex(given["cuts"]))
    members = tuple(map(_read_member, given.get("members", [])))
    sigmoid = _unhex([given["sigmoid"]])[0] if "sigmoid" in given else None
    return Sums(tuple(_unhex(given["start"])), given["numbers"], divisor, cuts, given["softmax"], members, sigmoid)


def _member(member: Member) -> dict[str, Any]:
    return {
        "trees": [member.first, member.last],
        "start": _hex(np.array(member.start)),
        "divisor": member.divisor.hex(),
        "weight": member.weight.hex(),
        "numbers": member.dtype,
    }


def _read_member(given: Any) -> Member:
    if set(given) != {"trees", "start", "divisor", "weight", "numbers"}:
        raise ForestFormatError(f"A member must have trees, start, divisor, weight and numbers. Got {sorted(given)}.")
    first, last = _integers(given["trees"])
    divisor, weight = _unhex([given["divisor"], given["weight"]])
    return Member(first, last, tuple(_unhex(given["start"])), divisor, weight, given["numbers"])


def _classes(labels: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """Return the labels as an array whose type keeps each of them unchanged."""
    if not isinstance(dtype, str) or not re.fullmatch(r"[<>|](b1|[iu][1248]|f[248]|O|U\d{1,9})", dtype):
        raise ForestFormatError(f"The type of the labels must be strings, numbers or booleans. Got {dtype!r}.")
    if np.dtype(dtype).itemsize * len(_labels(labels)) > 2**28:
        raise ForestFormatError(f"The type of the labels is too large. Got {dtype!r}.")
    with np.errstate(over="ignore"):
        classes = np.array(labels, dtype=dtype)
    if [(type(label), label) for label in classes.tolist()] != [(type(label), label) for label in labels]:
        raise ForestFormatError(f"Labels of type {dtype!r} cannot be {labels}.")
    return classes


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ForestFormatError(f"A column's name must be a string. Got {value!r}.")
    return value


def _integers(values: Any) -> list[int]:
    if not isinstance(values, list) or not all(type(value) is int for value in values):
        raise ForestFormatError("Indices must be a list of whole numbers.")
    return values
