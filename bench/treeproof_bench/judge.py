"""Let a peer explain instances in an interpreter of its own, and decide by proof whether its answers are right."""

from __future__ import annotations

import contextlib
import importlib
import json
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

import treeproof as tp
from treeproof_bench import peers
from treeproof_bench.peers.worker import digest
from treeproof_bench.recipe import Floats, Integers

FOLDER = Path(peers.__file__).parent
PEERS = tuple(sorted(path.stem for path in FOLDER.glob("[!_]*.py") if path.stem != "worker"))
# A peer that says nothing for so long, beyond the limit of an explanation, is taken for dead.
PATIENCE = 600.0

Record = dict[str, Any]


@dataclass(frozen=True)
class Training:
    """What a peer trains its forest from, and the forest that must come out."""

    X: Floats
    y: Integers
    settings: dict[str, Any]
    forest: Any


def package(peer: str) -> str:
    """Return the name under which a peer's package is installed."""
    name: str = importlib.import_module(f"treeproof_bench.peers.{peer}").PACKAGES[0]
    return name


def installed(peer: str, python: str) -> str:
    """Return the version of a peer that an interpreter has, or say how to get it."""
    name = package(peer)
    ask = f"import importlib.metadata as m; print(m.version({name!r}))"
    try:
        done = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise tp.InputError(f"The interpreter of {peer} must be a Python. Got {python}: {error}.") from error
    if done.returncode != 0:
        here = " " if python == sys.executable else f" of {python} "
        raise tp.InputError(
            f"{name} is not installed in the environment{here}(it is best kept apart). To make one:\n"
            f"  python3.11 -m venv {peer}-env && {peer}-env/bin/pip install -r bench/peers/{peer}.txt\n"
            f"and then: --peers {peer}={peer}-env/bin/python"
        )
    return done.stdout.strip()


def run(
    peer: str,
    python: str,
    training: Training,
    rows: Floats,
    seed: int,
    limit: float,
    tick: Callable[[], None] = lambda: None,
) -> Record:
    """Return what the peer's worker reports: about itself, and ``answers`` by method; or an ``error``.

    `tick` is called when an instance is done.
    """
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder) / "job.npz"
        settings = json.dumps(training.settings)
        np.savez(job, X_train=training.X, y_train=training.y, instances=rows, seed=seed, settings=settings)
        command = [python, str(FOLDER / "worker.py"), peer, str(job), "--limit", str(limit)]
        with (Path(folder) / "stderr").open("w+b") as noise:
            lines = _lines(command, noise, limit + PATIENCE)
            try:
                with contextlib.closing(lines):
                    return _collect(lines, training.forest, len(rows), tick)
            except _Failed as error:
                noise.seek(0)
                last = noise.read().decode(errors="replace").strip().splitlines()[-1:]
                return {"error": _without_paths(" ".join([str(error), *last] if error.silent else [str(error)]))}


class _Failed(Exception):  # noqa: N818 -- a result, not an error of ours
    """The peer did not do its job; `silent` if it did not say why."""

    def __init__(self, text: str, silent: bool = False) -> None:
        super().__init__(text)
        self.silent = silent


def _lines(command: list[str], noise: IO[bytes], patience: float) -> Generator[Record]:
    """Yield the worker's lines; it ends with this generator, however that ends."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=noise, text=True)
    assert process.stdout is not None
    try:
        while True:
            watch = threading.Timer(patience, process.terminate)
            watch.start()
            try:
                text = process.stdout.readline()
            finally:
                watch.cancel()
            if not text:
                break
            try:
                line = json.loads(text)
            except json.JSONDecodeError:
                raise _Failed(f"its worker wrote {text[:80]!r}") from None
            yield line
    finally:
        # Gently: the worker stops what it has started.
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def _collect(lines: Iterator[Record], forest: Any, n_rows: int, tick: Callable[[], None]) -> Record:
    about = next(lines, None)
    if about is None:
        raise _Failed("its worker ended without a word.", silent=True)
    if "error" in about:
        raise _Failed(about["error"])
    if about["digest"] != digest(forest):
        raise _Failed(f"its scikit-learn {about['versions']['scikit-learn']} trains another forest")
    answers: dict[str, list[Record]] = {}
    seen = -1
    for line in lines:
        if "error" in line and "instance" not in line:
            raise _Failed(line["error"])
        i = line.pop("instance")
        answers.setdefault(line.pop("method"), []).append(line)
        if i != seen:
            seen = i
            tick()
    if not answers or any(len(of_method) != n_rows for of_method in answers.values()):
        raise _Failed(f"its worker ended after {seen + 1} of {n_rows} instances.", silent=True)
    return {"version": about["version"], "setup_seconds": round(about["setup_seconds"], 3), "answers": answers}


def judge(report: Record, explainer: tp.Explainer, model: Any, rows: Floats, limit: float) -> Record:
    """Return the report with a verdict on every answer.

    ``verdict`` is ``"forces"`` (proved: the features force the prediction), ``"refuted"`` (with a ``counterexample``),
    ``"other label"`` (the peer explains another prediction than the model makes) or ``"undecided"``. Features that
    force it come with those that are ``enough``, a minimal subset.
    """
    if "error" in report:
        return report
    labels = model.predict(rows).tolist()
    judged = {
        method: [
            _judged(answer, explainer, model, row, label, limit)
            for answer, row, label in zip(answers, rows, labels, strict=True)
        ]
        for method, answers in report["answers"].items()
    }
    return {**report, "answers": judged}


def _judged(answer: Record, explainer: tp.Explainer, model: Any, row: Floats, label: Any, limit: float) -> Record:
    kept = {"ms": round(1000 * answer["seconds"], 2)}
    if "error" in answer:
        return {**kept, "error": _without_paths(answer["error"])}
    if "timeout" in answer:
        return {**kept, "over_limit": True}
    features = answer["features"]
    kept["features"] = features
    if answer["label"] != label:
        return {**kept, "verdict": "other label"}
    verdict = explainer.holds(row, features, timeout=limit)
    if verdict.holds is None:
        return {**kept, "verdict": "undecided"}
    if not verdict:
        return {**kept, "verdict": "refuted", **counterexample(verdict, model, row, label)}
    enough = list(features)
    for feature in features:
        fewer = [other for other in enough if other != feature]
        if explainer.holds(row, fewer, timeout=limit).holds:
            enough = fewer
    return {**kept, "verdict": "forces", "enough": enough}


def counterexample(verdict: tp.Verdict, model: Any, row: Floats, label: Any) -> Record:
    """Return an input that refutes, as the features in which it differs from the row, with its label.

    It is checked here by the model's own ``predict``: it agrees with the row on the features, and has another label.
    """
    assert verdict.witness is not None
    witness = np.array(verdict.witness, dtype=np.float32)
    found = model.predict(witness[None, :]).tolist()[0]
    if found == label or found != verdict.witness_label or any(witness[f] != row[f] for f in verdict.features):
        raise tp.InternalError(f"The witness {witness.tolist()} does not refute; please report this.")
    changed = {str(f): verdict.witness[f] for f in np.flatnonzero(witness != row).tolist()}
    return {"counterexample": changed, "label": found}


def _without_paths(message: str) -> str:
    """Return a message without the folders in it: they say nothing on another machine."""
    return re.sub(r"(?<![\w.])/(?:[^\s/'\"]+/)+", "", message)[:300]
