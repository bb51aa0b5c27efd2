"""The measurement of one dataset of Table 1: what goes in is a line of the table, what comes out a record for JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import treeproof as tp
from treeproof_bench import judge, recipe
from treeproof_bench.machine import now
from treeproof_bench.memory import in_a_fresh_process, resident_peaks
from treeproof_bench.recipe import Floats
from treeproof_bench.timing import Stage, Timed, encode_and_explain, medians, predicts, silent, take_turns

# As published: Glucose 3 is the solver of the preset.
ORACLES: dict[str, dict[str, Any]] = {"native": {}, "sat": {"preset": "paper"}, "smt": {}}
ROWS_FOR_MEMORY = 20

Record = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """What is measured. Oracles and peers come with the number of instances they are limited to, or None.

    Attributes
    ----------
    instances : int, optional
        At most so many of the paper's instances for each dataset; None is all of them.
    seed : int
        Of the sample, and of the peers' own.
    limit : float
        Seconds for one explanation.
    repeats : int
        How often the native oracle and ``predict`` are timed on an instance; the median counts.
    """

    instances: int | None
    oracles: Mapping[str, int | None]
    peers: Mapping[str, int | None]
    seed: int
    limit: float
    repeats: int


def measure(
    data: Path,
    name: str,
    printed: recipe.Line,
    settings: Settings,
    pythons: Mapping[str, str],
    stage: Stage = silent,
) -> Record:
    """Return the record of a dataset.

    `pythons` has the interpreter of each peer. `stage` is told of the progress.
    """
    tick = stage("training", 1)
    X, y = recipe.read(data, name)
    X_train, X_test, y_train, y_test = recipe.split(X, y)
    forest = recipe.train(X, y, printed["depth"])
    voting = recipe.voting(forest)
    places, rows = recipe.sample(data, name, settings.instances, settings.seed)
    native = tp.Explainer(voting)
    tick()
    n_variables, n_clauses = formula_size(native, rows[0])
    record: Record = {
        "dataset": name,
        "date": now(),
        "printed": printed,
        "features": X.shape[1],
        "classes": len(forest.classes_),
        "instances": len(rows),
        "depth": max(tree.get_depth() for tree in forest.estimators_),
        "nodes": recipe.n_nodes(forest),
        "accuracy": round(100 * float(np.mean(voting.predict(X_test) == y_test)), 2),
        "vars": n_variables,
        "clauses": n_clauses,
        "rows": places,
        "oracles": {},
        "peers": {},
    }
    for oracle, most in settings.oracles.items():
        if oracle == "native":
            record["oracles"][oracle] = _native(record, native, forest, rows[:most], settings, stage)
        else:
            record["oracles"][oracle] = _other(oracle, voting, rows[:most], settings, stage)
    record["explanations"] = _agreed(name, record["oracles"])
    for peer, most in settings.peers.items():
        training = judge.Training(X_train, y_train, recipe.settings(printed["depth"]), forest)
        tick = stage(peer, len(rows[:most]))
        report = judge.run(peer, pythons[peer], training, rows[:most], settings.seed, settings.limit, tick)
        record["peers"][peer] = judge.judge(report, native, voting, rows[:most], settings.limit)
    return record


def formula_size(explainer: tp.Explainer, row: Floats) -> tuple[int, int]:
    """Return the numbers of variables and of clauses of the paper's formula for the class of a row.

    With no feature fixed there are no clauses but those of the forest and the class.
    """
    formula = explainer.encode(row, features=(), preset="paper")
    size = re.search(r"^p cnf (\d+) (\d+)$", formula, flags=re.MULTILINE)
    assert size is not None
    return int(size[1]), int(size[2])


def _native(
    record: Record, explainer: tp.Explainer, forest: Any, rows: Floats, settings: Settings, stage: Stage
) -> Record:
    """Time the native oracle in both orders beside ``predict``; the default order and ``predict`` go into `record`."""
    explain = partial(explainer.abductive, timeout=settings.limit)
    actions: dict[str, Callable[[Any], Any]] = {
        "index": partial(explain, order="index"),
        "default": explain,
        "predict": predicts(forest),
    }
    tick = stage("native", len(actions) * settings.repeats * len(rows))
    timed = take_turns(actions, rows, settings.repeats, tick=tick)
    results = timed["default"].results
    record["default_order"] = {
        "ms": _short(medians(timed["default"])),
        "lengths": [len(why.features) for why in results],
        "over_limit": [i for i, why in enumerate(results) if why.status != "minimal"],
    }
    record["predict_ms"] = _short(medians(timed["predict"]))
    tick = stage("memory", 1)
    peaks = in_a_fresh_process(resident_peaks, recipe.voting(forest), rows[:ROWS_FOR_MEMORY])
    record["memory_mb"] = None if peaks[0] is None else round(max(peaks), 2)
    tick()
    return _described(timed["index"])


def _other(oracle: str, voting: Any, rows: Floats, settings: Settings, stage: Stage) -> Record:
    explainer = tp.Explainer(voting, oracle=oracle, **ORACLES[oracle])
    encoding, timed = encode_and_explain(
        explainer, rows, settings.limit, lambda text, total: stage(f"{oracle}, {text}", total)
    )
    return {**_described(timed), "encode_ms": round(float(np.sum(medians(encoding))), 1)}


def _described(timed: Timed) -> Record:
    stats = [why.stats for why in timed.results]
    return {
        "ms": _short(medians(timed)),
        "features": [list(why.features) for why in timed.results],
        "minimal": [why.status == "minimal" for why in timed.results],
        "refuted": [each.refuted for each in stats],
        "entailed": [each.entailed for each in stats],
        "remembered": [each.remembered for each in stats],
        "longest_refuted_ms": round(1000 * max(each.longest_refuted for each in stats), 4),
        "longest_entailed_ms": round(1000 * max(each.longest_entailed for each in stats), 4),
    }


def _agreed(name: str, oracles: Mapping[str, Record]) -> list[list[int]]:
    """Take the explanations out of the oracles' records, which must agree wherever both came to an end."""
    found: list[list[int]] = []
    proved: list[bool] = []
    for oracle, record in oracles.items():
        features, minimal = record.pop("features"), record.pop("minimal")
        record["over_limit"] = [i for i, done in enumerate(minimal) if not done]
        for i, (mine, done) in enumerate(zip(features, minimal, strict=True)):
            if i == len(found):
                found.append(mine)
                proved.append(done)
            elif done and proved[i] and mine != found[i]:
                raise tp.InternalError(
                    f"{name}, instance {i}: the oracle {oracle} found {mine}, the one before it {found[i]}; "
                    "please report this."
                )
            elif done:
                found[i], proved[i] = mine, True
    return found


def _short(milliseconds: Any) -> list[float]:
    return [round(float(each), 3) for each in milliseconds]
