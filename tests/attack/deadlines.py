"""How long after its deadline each question answers, on models that are far too large for it.

``PYTHONPATH=tests python -m attack.deadlines`` prints a table, for models of many nodes and of many columns: the CPU
time that the process takes after the deadline, in which other processes do not count. A second process reads it
when the deadline comes. The first repeat of a question, which imports what is needed, stands apart.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import time
from collections.abc import Callable
from functools import partial
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
    "extremes": lambda e, x, X, t: e.extremes(timeout=t),
    "prove": lambda e, x, X, t: e.prove("if x0 > 0 then 1", timeout=t),
    "monotone": lambda e, x, X, t: e.monotone(0, timeout=t),
    "effect": lambda e, x, X, t: e.effect(0, timeout=t),
    "independent": lambda e, x, X, t: e.independent([0], timeout=t),
    "rules": lambda e, x, X, t: e.rules(X, timeout=t),
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


class Watch:
    """A process that says how much CPU time this one has used at a moment to come."""

    def __init__(self) -> None:
        here, there = os.pipe(), os.pipe()
        of_parent = ~os.getpid() << 3 | 2  # Linux: the CPU clock of all threads of a process
        if os.fork() == 0:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, range(os.cpu_count() or 1))
                os.nice(-10)
            os.close(here[1])
            while wanted := os.read(here[0], 64):
                time.sleep(max(0.0, float(wanted) - time.monotonic()))
                os.write(there[1], repr(time.clock_gettime(of_parent)).encode())
            os._exit(0)
        self._ask, self._answer = here[1], there[0]

    def beyond(self, seconds: float, call: Callable[[], object]) -> float:
        """Return the CPU time that a call takes after so many seconds."""
        os.write(self._ask, repr(time.monotonic() + seconds).encode())
        call()
        end = time.process_time()
        return end - float(os.read(self._answer, 64))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m attack.deadlines", description=__doc__)
    parser.add_argument("--timeout", type=float, default=0.05, help="seconds (default: 0.05)")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--model", choices=list(MODELS), nargs="+", default=list(MODELS))
    parser.add_argument("--question", nargs="+", default=list(QUESTIONS))
    args = parser.parse_args()
    for name in args.model:
        n_trees, depth, n_columns = MODELS[name]
        forest = large_forest(n_trees, depth, n_columns)
        print(f"{forest.n_nodes:,} nodes, {n_columns:,} columns; CPU ms beyond {args.timeout * 1000:g}: most, first")
        rows = np.random.default_rng(1).normal(size=(200, n_columns)).astype(np.float32)
        explainer, watch = tp.Explainer(forest), Watch()
        for question in args.question:
            over, said = [], [""]
            for row in rows[: args.repeats + 1]:
                call = partial(_asked, QUESTIONS[question], explainer, row, rows, args.timeout, said)
                over.append(1000 * watch.beyond(args.timeout, call))
            print(f"  {question:20} {max(over[1:]):7.0f} {over[0]:7.0f}  {said[-1]}".rstrip(), flush=True)


def _asked(ask: Ask, explainer: tp.Explainer, x: Any, X: Any, timeout: float, said: list[str]) -> None:
    try:
        ask(explainer, x, X, timeout)
    except tp.TreeproofError as error:
        said.append(f"{type(error).__name__}: {error}"[:60])


if __name__ == "__main__":
    main()
