"""Questions of every kind about small models, each with an answer that can be compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import treeproof as tp
from families import random_case

Question = Callable[[tp.Explainer, list[Any]], Any]

QUESTIONS: dict[str, Question] = {
    "abductive": lambda e, x: e.abductive(x),
    "inflate": lambda e, x: e.abductive(x, inflate=True),
    "minimum": lambda e, x: e.abductive(x, minimum=True),
    "within": lambda e, x: e.abductive(x, within=0.5),
    "contrastive": lambda e, x: e.contrastive(x),
    "enumerate": lambda e, x: list(e.enumerate(x, kind="both")),
    "relevance": lambda e, x: e.relevance(x),
    "attribution": lambda e, x: e.attribution(x),
    "robustness": lambda e, x: e.robustness(x),
    "holds": lambda e, x: e.holds(x, [0, 1]),
    "review": lambda e, x: e.review(x, [0, 2]),
    "audit": lambda e, x: e.audit([x, x], [0]),
    "batch": lambda e, x: e.batch([x] * 4, n_jobs=2),
    "certificate": lambda e, x: e.abductive(x).certificate().text,
    "coverage": lambda e, x: e.coverage(e.abductive(x), [x]),
}


def small_case(rng: np.random.Generator) -> tuple[tp.Explainer, list[Any]]:
    """Return an explainer of a random forest, and a row."""
    return random_case(int(rng.integers(2**31)), str(rng.choice(["majority", "mean", "sum"])), tabulate=False)


def answer(name: str, explainer: tp.Explainer, row: list[Any]) -> str:
    """Return the answer to a question as text, without what differs from run to run; a refusal is one, too."""
    try:
        found = QUESTIONS[name](explainer, row)
    except tp.TreeproofError as error:
        return f"{type(error).__name__}: {error}"
    return "\n".join(map(str, found)) if isinstance(found, list) else str(found)
