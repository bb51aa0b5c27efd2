"""Results of many rows in one file, written atomically: JSON and CSV with the standard library, Parquet with pandas."""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from treeproof.cli.table import STANDARD_INPUT
from treeproof.errors import InputError, MissingExtraError
from treeproof.model.files import save_forest, write_whole
from treeproof.proof.certificate import Certificate
from treeproof.questions.abductive import Abductive
from treeproof.questions.audit import AuditedRow
from treeproof.questions.compare import ComparedRow
from treeproof.questions.result import as_plain, exactly

FORMATS = (".csv", ".json", ".parquet")
OUT_HELP = "write the results to FILE (.csv, .json or .parquet), atomically, instead of printing them"

Record = dict[str, Any]


def check_out(path: str) -> None:
    """Raise InputError if the results file cannot be written: before the work is done, not after it."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise InputError(f"--out must end in .csv, .json or .parquet. Got {path!r}.")
    check_writable(path)
    if suffix == ".parquet":
        _pandas()


def check_writable(path: str, option: str = "--out") -> None:
    """Raise InputError if a file cannot be written: before the work is done, not after it."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise InputError(f"The folder of {option} must exist. Got {path!r}.")
    if Path(path).is_dir():
        raise InputError(f"{option} must be a file. {path!r} is a folder.")
    try:
        handle, probe = tempfile.mkstemp(dir=folder, prefix=".treeproof.")
    except OSError as error:
        raise InputError(f"{option} must be in a writable folder. Got {path!r}.") from error
    os.close(handle)
    Path(probe).unlink()


def make_folder(path: str | None) -> None:
    """Make the folder of --certificate, if it is given; InputError if it cannot be written to."""
    if path is not None:
        Path(path).mkdir(parents=True, exist_ok=True)
        check_writable(str(Path(path) / "row.json"), "--certificate")


def write_certificate(folder: str, name: str, result: Any) -> None:
    """Write the certificate of a result, and the forest or forests that it is about, which the checker needs."""
    save_certificate(folder, name, result.certificate())


def save_certificate(folder: str, name: str, certificate: Certificate) -> None:
    """Write a certificate, and the forest or forests that it is about."""
    certificate.save(Path(folder) / name)
    for key, forest in (("model", certificate.forest), ("other", certificate.other)):
        if forest is not None:
            path = Path(folder) / f"forest-{certificate.document[key][:12]}.json"
            if not path.exists():
                save_forest(forest, path)


INPUTS = ("model", "old", "new", "data", "constraints")
OUTPUTS = ("out", "proof", "copy")


def check_apart(args: argparse.Namespace) -> None:
    """Raise InputError if a command would write over one of its inputs, or two results to the same file."""
    is_check = hasattr(args, "copy")
    inputs = [getattr(args, name, None) for name in (*INPUTS, *(["certificate"] if is_check else []))]
    outputs = [(f"--{name}", getattr(args, name, None)) for name in OUTPUTS]
    taken = [(path, f"{path}, which is read") for path in inputs if path and path != STANDARD_INPUT]
    if len([path for path in inputs if path == STANDARD_INPUT]) > 1:
        raise InputError("Only one input can be standard input (-). Got two.")
    for option, path in outputs:
        if not path:
            continue
        for other, what in taken:
            if _is_same(path, other):
                raise InputError(f"{option} must be another file than {what}. Got {path!r}.")
        taken.append((path, f"that of {option}"))


def _is_same(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:  # one of them does not exist yet
        return os.path.realpath(path) == os.path.realpath(other)


def write_results(path: str, results: Sequence[tuple[Record, Record]]) -> None:
    """Write results, each with its complete data for JSON and its main columns for other formats."""
    suffix = Path(path).suffix.lower()
    if suffix == ".json":
        lines = ",\n".join(json.dumps(data) for data, _ in results)
        content = f"[\n{lines}\n]\n".encode()
    elif suffix == ".csv":
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(results[0][1])
        for _, record in results:
            writer.writerow(map(_cell, record.values()))
        content = text.getvalue().encode()
    else:
        records = [record for _, record in results]
        for name in records[0]:
            if len({type(record[name]) for record in records if record[name] is not None}) > 1:
                for record in records:  # a column has one type
                    record[name] = None if record[name] is None else str(record[name])
        buffer = io.BytesIO()
        frame = _pandas().DataFrame(records, dtype=object)  # otherwise whole numbers next to a None would become floats
        frame.to_parquet(buffer, engine="pyarrow", index=False)
        content = buffer.getvalue()
    write_whole(path, content)


def _cell(value: Any) -> Any:
    """Return a value for CSV; a text that a spreadsheet would take for a formula gets an apostrophe in front."""
    text = "; ".join(value) if isinstance(value, list) else value
    return f"'{text}" if isinstance(text, str) and text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def explained(row: int, result: Any) -> tuple[Record, Record]:
    """Return an explanation of a row for a file."""
    why = isinstance(result, Abductive)
    record = {
        "row": row,
        "kind": "abductive" if why else "contrastive",
        "label": result.label,
        "target": result.target,
        "new_label": None if why else result.witness_label,
        "status": result.status,
        "size": result.size,
        "features": list(result.feature_names),
        "explanation": [str(part) for part in (result.conditions if why else result.changes)],
        "seconds": result.stats.seconds,
    }
    if why and result.within is not None:
        record["within"] = exactly(result.within)
    return {**result.to_dict(), "row": row}, as_plain(record)


def compared(row: ComparedRow) -> tuple[Record, Record]:
    """Return a row under two versions of a model for a file."""
    head: Record = {"row": row.row, "difference": row.difference, "still_forced": row.still_forced}
    record = {
        **head,
        "old_label": row.old.label,
        "new_label": row.new.label,
        "old_features": list(row.old.feature_names),
        "new_features": list(row.new.feature_names),
        "old_status": row.old.status,
        "new_status": row.new.status,
    }
    return {**head, "old": row.old.to_dict(), "new": row.new.to_dict()}, as_plain(record)


def audited(row: AuditedRow) -> tuple[Record, Record]:
    """Return an audited row for a file."""
    record = {
        "row": row.row,
        "label": row.label,
        "flips": row.flips,
        "new_label": row.witness_label,
        "changes": [str(change) for change in row.changes],
        "necessary": list(row.necessary),
        "undecided": list(row.undecided),
        "forced_by": [] if row.why is None else list(row.why.feature_names),
        "status": row.status,
        "seconds": row.stats.seconds,
    }
    return as_plain(row), as_plain(record)


def _pandas() -> Any:
    try:
        import pandas as pd
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtraError(
            f"A .parquet file needs pandas and pyarrow: pip install 'treeproof[parquet]'. Not installed: {error.name}; "
            "a .csv or .json file needs neither."
        ) from error
    del pa
    return pd
