"""The file of results: lines of JSON that grow while the command runs, so that an interrupted run can go on.

The first line says what was measured, where and with what: ``command``, ``settings``, ``machine``, ``versions``,
``date``. Each line after it is a record, of a dataset (`treeproof_bench.table1.measure`) or of a place on a growth
curve (`treeproof_bench.growth.measure`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import treeproof as tp

Record = dict[str, Any]
COMMAND = "treeproof bench table1"
MUST_AGREE = ("settings", "versions", "machine")


@dataclass
class Results:
    """The header and the records so far, in memory and, with a path, on disk."""

    header: Record
    path: Path | None = None
    datasets: dict[str, Record] = field(default_factory=dict)
    growth: dict[tuple[str, int | None], Record] = field(default_factory=dict)

    def add(self, record: Record) -> None:
        """Take in a record; it is on disk when this returns."""
        self._keep(record)
        if self.path is not None:
            _append(self.path, record)

    def _keep(self, record: Record) -> None:
        if "dataset" in record:
            self.datasets[record["dataset"]] = record
        else:
            self.growth[record["curve"], record["at"]] = record


def load(path: Path) -> Results:
    """Read a file of results; half a line at its end, from an interruption, is passed over."""
    whole, _, _ = path.read_bytes().rpartition(b"\n")
    try:
        lines = [json.loads(line) for line in whole.splitlines()]
        header = lines[0]
        if header["command"] != COMMAND:
            raise ValueError(header["command"])
        found = Results(header)
        for record in lines[1:]:
            found._keep(record)
    except (ValueError, LookupError, TypeError) as error:
        raise tp.InputError(
            f"{path} must be a file of results of {COMMAND!r}, or not exist yet. Got something else, or damaged "
            f"({type(error).__name__}: {error})."
        ) from error
    return found


def start(path: Path | None, header: Mapping[str, Any]) -> Results:
    """Return the results that a file has so far, if it was begun under the same header; else begin one."""
    if path is None:
        return Results(dict(header))
    if not path.exists() or path.stat().st_size == 0:
        results = Results(dict(header), path)
        path.parent.mkdir(parents=True, exist_ok=True)
        _append(path, results.header)
        return results
    results = load(path)
    here = json.loads(json.dumps(header))  # as it looks when it has been in a file
    for key in MUST_AGREE:
        if results.header.get(key) != here[key]:
            raise tp.InputError(
                f"{path} was begun with other {key}; name another file, or remove this one. "
                f"It has {_difference(results.header.get(key), here[key])}."
            )
    results.path = path
    text = path.read_bytes()
    if not text.endswith(b"\n"):
        os.truncate(path, len(text.rpartition(b"\n")[0]) + 1)
    return results


def _append(path: Path, record: Mapping[str, Any]) -> None:
    with path.open("ab") as file:
        file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def _difference(there: Any, here: Mapping[str, Any]) -> str:
    if not isinstance(there, dict):
        return f"{there!r}"
    keys = [key for key in {**there, **here} if there.get(key) != here.get(key)]
    return ", ".join(f"{key} {json.dumps(there.get(key))}, not {json.dumps(here.get(key))}" for key in keys)
