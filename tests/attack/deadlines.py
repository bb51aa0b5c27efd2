"""How long after its deadline each question answers, on models that are far too large for it.

``PYTHONPATH=tests python -m attack.deadlines`` prints a table, for models of many nodes and of many columns: the CPU
time beyond the deadline (other processes do not count) and the time on the clock, each the best of some repeats.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import treeproof as tp
from treeproof.model.decision import Sums

Ask = Callable[[tp.Explainer, Any, Any, float], Any]
QUESTIONS: dict[str, Ask] = {
    "abductive": lambda e, x, X, t: e.abductive(x, timeout=t),
    "inflate": lambda e, x, X, t: e.abductive(x, inflate=True, timeout=t),
    "minimum": lambda e, x, X, t: e.abductive(x, minimum=True, timeout=t),
    "tries": lambda e, x, X, t: e.abductive(x, tries=10**6, timeout=t),
    "order='row'": lambda e, x, X, t: e.abductive(x, order="row", timeout=t),
    "within": lambda e, x, X, t: e.abductive(x, within=0.25, timeout=t),
    "within, inflate": lambda e, x, X, t: e.abductive(x, within=0.25, inflate=True, timeout=t),
    "at_most": lambda e, x, X, t: e.abductive(x, at_most=5, timeout=t),
    "profile": lambda e, x, X, t: e.profile(x, timeout=t),
    "contrastive": lambda e, x, X, t: e.contrastive(x, timeout=t),
    "contrastive l0": lambda e, x, X, t: e.contrastive(x, minimum=True, timeout=t),
    "contrastive within": lambda e, x, X, t: e.contrastive(x, within=0.5, timeout=t),
    "contrastives": lambda e, x, X, t: e.contrastives(x, timeout=t),
    "robustness linf": lambda e, x, X, t: e.robustness(x, timeout=t),
    "robustness l1": lambda e, x, X, t: e.robustness(x, "l1", timeout=t),
    "robustness l0": lambda e, x, X, t: e.robustness(x, "l0", timeout=t),
    "enumerate": lambda e, x, X, t: list(e.enumerate(x, kind="both", timeout=t)),
    "relevance": lambda e, x, X, t: e.relevance(x, timeout=t),
    "attribution": lambda e, x, X, t: e.attribution(x, timeout=t),
    "most_general": lambda e, x, X, t: e.most_general(x, X, timeout=t),
    "holds": lambda e, x, X, t: e.holds(x, [0, 1], timeout=t),
    "review features": lambda e, x, X, t: e.review(x, [0, 2], timeout=t),
    "review rule": lambda e, x, X, t: e.review(x, "x0 > -9", timeout=t),
    "review scores": lambda e, x, X, t: e.review(x, {"x0": 1.0, "x1": 0.5}, timeout=t),
    "audit": lambda e, x, X, t: e.audit([x], [0, 1], timeout=t),
    "certificate": lambda e, x, X, t: e.abductive(x, timeout=t / 2).certificate(timeout=t / 2),
    "encode": lambda e, x, X, t: e.encode(x, format="smtlib", timeout=t),
}
MODELS = {"nodes": (100, 13, 40), "columns": (300, 6, 2000)}  # trees, their depth, columns


def large_forest(n_trees: int, depth: int, n_columns: int, n_classes: int = 2, seed: int = 0) -> tp.Forest:
    """Return a boosted model of full trees."""
    rng = np.random.default_rng(seed)
    inner, n = 2**depth - 1, 2 ** (depth + 1) - 1
    at, split = np.arange(n), np.arange(n) < inner
    offsets = np.repeat(np.arange(n_trees) * n, n)
    feature = np.where(split, rng.integers(0, n_columns, (n_trees, n)), -1).ravel()
    threshold = np.where(feature >= 0, rng.normal(size=n_trees * n), np.nan)
    left, right = (np.where(split, 2 * at + side, -1) for side in (1, 2))
    children = [np.where(feature >= 0, np.tile(side, n_trees) + offsets, -1) for side in (left, right)]
    return tp.Forest(
        roots=np.arange(n_trees) * n,
        feature=feature,
        threshold=threshold,
        subset=np.full(n_trees * n, -1),
        left=children[0],
        right=children[1],
        values=np.where(feature >= 0, 0.0, rng.normal(size=n_trees * n))[:, None],
        subsets=(),
        classes=np.arange(n_classes),
        columns=tuple(tp.Column(f"x{j}") for j in range(n_columns)),
        importances=rng.random(n_columns),
        vote="sum",
        sums=Sums((0.0,), cuts=(0.0,)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m attack.deadlines", description=__doc__)
    parser.add_argument("--timeout", type=float, default=0.05, help="seconds (default: 0.05)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--model", choices=list(MODELS), nargs="+", default=list(MODELS))
    parser.add_argument("--question", nargs="+", default=list(QUESTIONS))
    args = parser.parse_args()
    for name in args.model:
        n_trees, depth, n_columns = MODELS[name]
        forest = large_forest(n_trees, depth, n_columns)
        print(f"{forest.n_nodes:,} nodes, {n_columns:,} columns; ms beyond {args.timeout * 1000:g}: CPU, clock")
        rows = np.random.default_rng(1).normal(size=(200, n_columns)).astype(np.float32)
        explainer = tp.Explainer(forest)
        for question in args.question:
            over = []
            for repeat in range(args.repeats + 1):  # the first imports what is needed
                cpu, clock = time.process_time(), time.monotonic()
                try:
                    QUESTIONS[question](explainer, rows[repeat], rows, args.timeout)
                    said = ""
                except tp.TreeproofError as error:
                    said = f"{type(error).__name__}: {error}"
                over.append((time.process_time() - cpu - args.timeout, time.monotonic() - clock - args.timeout))
            best = [1000 * min(one[k] for one in over[1:]) for k in range(2)]
            print(
                f"  {question:20} {best[0]:8.0f} {best[1]:8.0f}  first {1000 * over[0][0]:.0f}  {said[:90]}", flush=True
            )


if __name__ == "__main__":
    main()
