"""What of an answer about a whole model is proved and has a certificate, by the name of its file."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from treeproof.questions.differ import Difference
from treeproof.questions.effect import Effect, Independence
from treeproof.questions.extremes import Extremes
from treeproof.questions.monotone import Monotone, Monotonicity
from treeproof.questions.prove import Statement
from treeproof.questions.rules import Rules

Certify = Callable[[float | None], Any]


def certificates_of(result: Any) -> dict[str, Certify]:
    """Return, by the names of files, functions that return certificates, given a timeout; none if nothing is proved.

    >>> import treeproof as tp
    >>> explainer = tp.Explainer(tp.examples.heart_disease()[0])
    >>> list(certificates_of(explainer.monotone(of="Yes")))[0]
    'monotone-blocked-arteries-never-falls.json'
    """
    if isinstance(result, Extremes):
        return {f"extremes-{side}.json": partial(result.certificate, side=side) for side in ("lowest", "highest")}
    if isinstance(result, Effect):
        return {"effect.json": result.certificate, **certificates_of(result.labels)}
    if isinstance(result, Independence):
        return {"independent.json": result.certificate} if result.holds else {}
    if isinstance(result, Statement):
        return {"prove.json": result.certificate} if result.holds else {}  # otherwise counterexamples show it
    if isinstance(result, Monotonicity):
        each = (certificates_of(one) for pair in zip(result.rising, result.falling, strict=True) for one in pair)
        return {name: certify for found in each for name, certify in found.items()}
    if isinstance(result, Monotone):
        feature = re.sub(r"[^\w.-]+", "_", result.feature)
        way = "never-falls" if result.increasing else "never-rises"
        return {f"monotone-{feature}-{way}.json": result.certificate} if result.holds else {}
    if isinstance(result, Difference):
        label = result.same and (result.of == "label" or result.identical)
        found: dict[str, Certify] = {"differ-label.json": result.certificate} if label else {}
        scores: Certify = partial(result.certificate, of="score")
        return {**found, "differ-score.json": scores} if result.gap is not None else found
    assert isinstance(result, Rules)
    return {f"rule-{i}.json": rule.certificate for i, rule in enumerate(result.rules, start=1)}
