"""Let Veritas find the lowest and the highest score of one model over some boxes, and write lines of JSON.

``python _veritas.py MODEL BOXES --limit SECONDS`` is run by the interpreter of its own environment, so that nothing
here imports treeproof. MODEL is an XGBoost ``.json`` or a pickled random forest, which its own converters read; BOXES a
JSON file with a list of mappings, feature number to ``[low, high]``, the high end excluded. A random forest's score is
the mean probability of its second class.

First line: ``{"version": "0.3.1", "setup_seconds": 0.1}``. Then one for each box::

    {"box": 0, "seconds": 1.2, "lowest": [value, bound, closed], "highest": [value, bound, closed]}

`seconds` is CPU time of both searches; the limit, for each of them, wall-clock time. Bounds are Veritas' own; its sums
are floats.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import pickle
import sys
import time
from pathlib import Path
from typing import Any

MEMORY = 3 * 1024**3  # bytes for one search


def read(path: Path) -> tuple[Any, float, float]:
    """Return the model as Veritas has it, and the divisor and the summand that make its sums the model's score."""
    import veritas

    if path.suffix == ".json":
        import xgboost

        booster = xgboost.Booster()
        booster.load_model(path)
        return veritas.get_addtree(booster, silent=True), 1.0, 0.0
    with path.open("rb") as file:
        found = veritas.get_addtree(pickle.load(file), silent=True)
    # Of two classes it adds up the probabilities of the second less one half.
    return found, float(len(found)), 0.5


def search(model: tuple[Any, float, float], box: dict[int, Any], highest: bool, limit: float) -> list[Any]:
    """Return the best value, the bound, and whether they meet."""
    import veritas

    trees, divisor, summand = model
    kind = veritas.HeuristicType.MAX_OUTPUT if highest else veritas.HeuristicType.MIN_OUTPUT
    config = veritas.Config(kind)
    config.stop_when_optimal = True
    config.max_memory = MEMORY
    found = config.get_search(trees, box)
    began = time.monotonic()
    stop = veritas.StopReason.NONE
    while stop == veritas.StopReason.NONE and time.monotonic() - began < limit:
        stop = found.step_for(max(limit - (time.monotonic() - began), 0.01), 50)
    closed = stop in (veritas.StopReason.OPTIMAL, veritas.StopReason.NO_MORE_OPEN)
    value = float(found.get_solution(0).output) if found.num_solutions() else None
    bound = value if closed else float(found.current_bounds().top_of_open)
    value, bound = (
        None if sum_ is None or not math.isfinite(sum_) else sum_ / divisor + summand for sum_ in (value, bound)
    )
    return [value, bound, closed]


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Let Veritas find extremes; see the file's docstring.")
    parser.add_argument("model", type=Path)
    parser.add_argument("boxes", type=Path)
    parser.add_argument("--limit", type=float, default=60.0)
    options = parser.parse_args()
    # This folder comes first when the file is run as a script.
    here = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != here]
    import veritas

    began = time.process_time()
    model = read(options.model)
    first = {"version": importlib.metadata.version("dtai-veritas"), "setup_seconds": time.process_time() - began}
    print(json.dumps(first), flush=True)
    for i, box in enumerate(json.loads(options.boxes.read_text())):
        limits = {int(f): veritas.Interval(*ends) for f, ends in box.items()}
        began = time.process_time()
        found = {side: search(model, limits, side == "highest", options.limit) for side in ("lowest", "highest")}
        print(json.dumps({"box": i, "seconds": time.process_time() - began, **found}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
