"""Results of many rows in one file: JSON, CSV or Parquet, there whole or not at all."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from treeproof.errors import InputError, MissingExtraError
from treeproof.explanation import Abductive
from treeproof.files import write_whole

FORMATS = (".csv", ".json", ".parquet")


def check_out(path: str) -> None:
    """Fail before the work is done, not after it, if the file cannot be written."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise InputError(f"--out must end in .csv, .json or .parquet. Got {path!r}.")
    if not Path(path).parent.is_dir():
        raise InputError(f"The folder of --out must exist. Got {path!r}.")
    if suffix == ".parquet":
        _pandas()


def write_results(path: str, results: Sequence[tuple[int, Any]]) -> None:
    """Write explanations, each with its row: complete ones as JSON, the main columns otherwise."""
    suffix = Path(path).suffix.lower()
    if suffix == ".json":
        lines = ",\n".join(json.dumps({"row": row, **result.to_dict()}) for row, result in results)
        content = f"[\n{lines}\n]\n".encode()
    elif suffix == ".csv":
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        records = [_record(row, result) for row, result in results]
        writer.writerow(records[0])
        for record in records:
            writer.writerow("; ".join(value) if isinstance(value, list) else value for value in record.values())
        content = text.getvalue().encode()
    else:
        records = [_record(row, result) for row, result in results]
        for name in ("label", "target", "new_label"):
            if len({type(record[name]) for record in records if record[name] is not None}) > 1:
                for record in records:  # a column has one type
                    record[name] = None if record[name] is None else str(record[name])
        buffer = io.BytesIO()
        _pandas().DataFrame(records).to_parquet(buffer, engine="pyarrow", index=False)
        content = buffer.getvalue()
    write_whole(path, content)


def _record(row: int, result: Any) -> dict[str, Any]:
    why = isinstance(result, Abductive)
    return {
        "row": row,
        "kind": "abductive" if why else "contrastive",
        "label": result.label,
        "target": result.target,
        "new_label": None if why else result.witness_label,
        "status": result.status,
        "size": len(result.features),
        "features": list(result.feature_names),
        "explanation": [str(part) for part in (result.rule if why else result.changes)],
        "seconds": result.stats.seconds,
    }


def _pandas() -> Any:
    try:
        import pandas as pd
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtraError(
            f"A .parquet file needs pandas and pyarrow: pip install 'treeproof[parquet]'. There is no {error.name}; "
            "a .csv or .json file needs nothing."
        ) from error
    del pa
    return pd
