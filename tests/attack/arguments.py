"""Every public function and method, with arguments of every wrong type: an error of ours, or an answer."""

from __future__ import annotations

import datetime
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import treeproof as tp
from attack.rounds import Round

WRONG: list[Callable[[], Any]] = [  # made anew each time: some can be used up
    lambda: 5,
    lambda: -1,
    lambda: 10**30,
    lambda: 1.5,
    lambda: float("nan"),
    lambda: float("inf"),
    lambda: True,
    lambda: "text",
    lambda: "",
    lambda: "\x00",
    lambda: "\ud800",
    lambda: b"bytes",
    object,
    list,
    lambda: [[]],
    lambda: [None],
    lambda: [5, "chest-pain"],
    lambda: ["chest-pain", "chest-pain"],
    lambda: {"chest-pain": "binary"},
    lambda: {"chest-pain": None},
    lambda: {None: 1},
    lambda: {5.5: (1, 0)},
    lambda: {"chest-pain": (3, 1)},
    lambda: {"a": ["chest-pain", 99]},
    set,
    lambda: lambda: 0,
    lambda: iter([1, 2]),
    lambda: range(3),
    lambda: 1j,
    lambda: np.array([1, 2]),
    lambda: np.array("x"),
    lambda: np.zeros((2, 2, 2)),
    lambda: np.array([None, {}], dtype=object),
    lambda: datetime.date(2024, 2, 29),
    lambda: np.datetime64("NaT"),
    lambda: ...,
    lambda: int,
    lambda: tp,
    lambda: ValueError("x"),
    lambda: (i for i in ("chest-pain", 3)),
]
WORK = {"timeout": 2.0, "limit": 20}  # what bounds the work, where it can be given
OTHERS = {"plot", "to_frame", "count", "index"}  # of matplotlib, pandas and Python's sequences
INNER = {"route", "add", "decide", "splits_of", "thresholds_of"}  # of a forest, for the code of the package


def attack(round: Round) -> None:
    """Call everything, each time with one wrong argument, sometimes two."""
    forest, patient = tp.examples.heart_disease()
    rows = [patient, [0, 1, 0, 80]]
    explainer = tp.Explainer(forest)
    why, change = explainer.abductive(patient), explainer.contrastive(patient)
    right: dict[str, Any] = {
        "x": patient,
        "X": rows,
        "model": forest,
        "features": ["chest-pain"],
        "protected": ["weight"],
        "claim": ["chest-pain", "weight"],
        "rule": why,
        "within": 0.5,
        "trees": [tp.split("a", 0.5, "no", "yes")],
        "columns": ["a"],
        "classes": ["no", "yes"],
        "old": explainer,
        "new": explainer,
        "explainer": explainer,
        "path": str(round.folder / "file.json"),
        "out": str(round.folder / "page.html"),
        "certificate": why.certificate().text,
        "forest": forest,
        "column": "a",
        "threshold": 0.5,
        "values": ["x"],
        "yes": "no",
        "no": "yes",
        "value": "no",
        "name": "a",
        "feature": "chest-pain",
        "names": ["blocked-arteries"],
        "text": "chest-pain <= 1",
        "row": patient,
    }
    calls: list[tuple[str, Any]] = [
        (f"Explainer.{name}", getattr(explainer, name))
        for name, function in inspect.getmembers(tp.Explainer, inspect.isfunction)
        if not name.startswith("_")
    ]
    functions = (tp.Explainer, tp.build_forest, tp.check, tp.compare, tp.import_model, tp.isin, tp.leaf, tp.split)
    functions += (tp.load_forest, tp.load_model, tp.save_forest, tp.report, tp.Column, tp.Condition)
    calls += [(function.__name__, function) for function in functions]
    for result in (
        why,
        change,
        explainer.relevance(patient),
        explainer.enumerate(patient),
        forest,
        explainer.batch(rows),
    ):
        calls += [
            (f"{type(result).__name__}.{name}", getattr(result, name))
            for name, _ in inspect.getmembers(type(result), inspect.isfunction)
            if not name.startswith("_") and name not in OTHERS | INNER
        ]
    calls = [(name, function) for name, function in calls if _parameters(function)]
    for _ in range(round.n_cases * 8):
        name, function = calls[round.rng.integers(len(calls))]
        _call(round, name, function, right)


def _parameters(function: Any) -> list[Any]:
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    try:
        return [p for p in inspect.signature(function).parameters.values() if p.kind not in kinds]
    except (ValueError, TypeError):
        return []


def _call(round: Round, name: str, function: Any, right: dict[str, Any]) -> None:
    rng, parameters = round.rng, _parameters(function)
    given = {p.name: right.get(p.name) for p in parameters if p.default is p.empty}
    given |= {p.name: WORK[p.name] for p in parameters if p.name in WORK}
    for _ in range(int(rng.choice([1, 1, 1, 2]))):
        given[parameters[rng.integers(len(parameters))].name] = WRONG[rng.integers(len(WRONG))]()
    shown = ", ".join(f"{key}={value!r:.60}" for key, value in given.items() if value is not right.get(key, ...))
    with round.case(f"{name}({shown})"):
        result = function(**given)
        if inspect.isgenerator(result) or isinstance(result, tp.Enumeration):
            result = list(result)
        str(result)
        round.counts["answered"] += 1
