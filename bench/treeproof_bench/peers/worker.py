"""Let one peer explain rows of one forest, and write what it says as lines of JSON.

``python worker.py PEER JOB --limit SECONDS`` is run by the interpreter of the peer's own virtual environment, so that
nothing here imports treeproof. A peer is a file beside this one, with

* ``PACKAGES``: names of installed packages, the peer's own first; their versions are reported;
* ``MODULES``: what to import before any time is taken;
* ``prepare(forest, X_train, seed)``: what is done once for a forest. Returns a function for each method, which takes a
  row and returns the features of an explanation and the label it explains.

JOB is an ``.npz`` file: ``X_train`` and ``instances`` (float32), ``y_train``, ``seed``, and ``settings``, the arguments
of RandomForestClassifier as JSON. The forest is trained here rather than read from a pickle, because a peer may need
another scikit-learn; `nodes` and `digest` of the first line tell whether it is the forest that was meant.

First line::

    {"peer": "anchor", "version": "0.0.2.0", "versions": {...}, "nodes": 1446, "digest": "47609dedbb3c0332",
     "setup_seconds": 0.1}

or ``{"peer": "anchor", "error": "..."}`` and exit code 1. Then a line for each instance and method::

    {"instance": 0, "method": "anchor", "seconds": 0.31, "wall": 0.32, "features": [2, 3], "label": 1}

with ``"timeout": true`` or ``"error": "..."`` in place of features and label. `seconds` is CPU time, that of programs
which the peer starts included; the limit is wall-clock time. End a worker with SIGTERM: it then ends what it started.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import random
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import numpy as np

HERE = Path(__file__).resolve().parent


def digest(forest: Any) -> str:
    """Return a hash of everything a majority vote depends on: equal digests, equal votes."""
    found = hashlib.sha256()
    for estimator in forest.estimators_:
        tree = estimator.tree_
        for array in (tree.children_left, tree.children_right, tree.feature, tree.threshold):
            found.update(np.ascontiguousarray(array).tobytes())
        found.update(tree.value[:, 0].argmax(axis=1).astype(np.int64).tobytes())
    found.update(str(forest.classes_.tolist()).encode())
    return found.hexdigest()[:16]


def load(peer: str) -> Any:
    """Return the peer's module, under a name that does not hide the package which it wraps."""
    spec = importlib.util.spec_from_file_location(f"treeproof_peer_{peer}", HERE / f"{peer}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cpu_seconds() -> float:
    """Return the CPU time of this process and of the children it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def describe(error: BaseException) -> str:
    """Return type and message of an error, on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def attempt(explain: Callable[[np.ndarray], tuple[Any, Any]], row: np.ndarray) -> dict[str, Any]:
    """Explain a row in this process, and return what is to be reported."""
    found: dict[str, Any]
    cpu, wall = cpu_seconds(), time.perf_counter()
    try:
        features, label = explain(row)
    except (Exception, SystemExit) as error:  # PyXAI calls exit
        found = {"error": describe(error)}
        traceback.print_exc()
    else:
        found = {"features": sorted({int(feature) for feature in features}), "label": np.asarray(label).item()}
    return {"seconds": cpu_seconds() - cpu, "wall": time.perf_counter() - wall, **found}


def attempt_apart(
    explain: Callable[[np.ndarray], tuple[Any, Any]], row: np.ndarray, limit: float | None
) -> dict[str, Any]:
    """Explain a row in a forked child, which is killed with all it has started when the time is up.

    An alarm would not do: Python hands signals over only when compiled code returns. A crash costs one answer only, and
    no explanation can profit from, or suffer by, those before it.
    """
    reader, writer = os.pipe()
    cpu, wall = cpu_seconds(), time.perf_counter()
    pid = os.fork()
    if pid == 0:
        try:
            os.setpgid(0, 0)
            os.write(writer, json.dumps(attempt(explain, row)).encode())
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(0)
    os.close(writer)
    try:
        with open(reader, "rb") as pipe:
            in_time = bool(select.select([pipe], [], [], limit)[0])
            answer = pipe.read() if in_time else b""
    finally:  # also when this process is asked to end
        for kill in (os.killpg, os.kill):  # the group may not be made yet
            with contextlib.suppress(ProcessLookupError):
                kill(pid, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if answer:
        return dict(json.loads(answer))
    spent = {"seconds": cpu_seconds() - cpu, "wall": time.perf_counter() - wall}
    return {**spent, "error": f"the process ended with status {status}"} if in_time else {**spent, "timeout": True}


def run(peer: str, job: Path, limit: float | None, write: Callable[[dict[str, Any]], None]) -> None:
    """Do a job, and hand each line to `write`."""
    with np.load(job) as arrays:
        X_train, y_train, instances = arrays["X_train"], arrays["y_train"], arrays["instances"]
        seed, settings = int(arrays["seed"]), json.loads(str(arrays["settings"]))
    module = load(peer)
    versions = {name: importlib.metadata.version(name) for name in (*module.PACKAGES, "numpy", "scikit-learn")}

    from sklearn.ensemble import RandomForestClassifier

    for name in module.MODULES:
        importlib.import_module(name)
    forest = RandomForestClassifier(**settings).fit(X_train, y_train)
    began = cpu_seconds()
    methods = module.prepare(forest, X_train, seed)
    write(
        {
            "peer": peer,
            "version": versions[module.PACKAGES[0]],
            "versions": {"python": platform.python_version(), **versions},
            "nodes": sum(estimator.tree_.node_count for estimator in forest.estimators_),
            "digest": digest(forest),
            "setup_seconds": cpu_seconds() - began,
        }
    )
    for i, row in enumerate(instances):
        for method, explain in methods.items():
            # Global generators: the answer must not depend on the rows before.
            random.seed(seed + i)
            np.random.seed((seed + i) % 2**32)
            write({"instance": i, "method": method, **attempt_apart(explain, row, limit)})


def claim_output() -> TextIO:
    """Return a file on the real standard output, and from now on send what is printed to standard error."""
    sys.stdout.flush()
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return output


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Let a peer explain rows of a forest; see the file's docstring.")
    parser.add_argument("peer", choices=sorted(path.stem for path in HERE.glob("[!_]*.py") if path.stem != "worker"))
    parser.add_argument("job", type=Path)
    parser.add_argument("--limit", type=float, help="seconds for each explanation, wall-clock time")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.argv[1:] = []  # PyXAI reads the command line when it is imported
    # This folder comes first when the file is run as a script, and has files of the packages' names.
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != HERE]
    with claim_output() as output:

        def write(line: dict[str, Any]) -> None:
            output.write(json.dumps(line) + "\n")
            output.flush()

        try:
            run(options.peer, options.job, options.limit, write)
        except Exception as error:
            traceback.print_exc()
            write({"peer": options.peer, "error": describe(error)})
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
