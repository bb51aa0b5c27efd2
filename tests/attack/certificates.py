"""Certificates that were altered, or put together from others; what is accepted is judged by enumeration.

`attack.judge` reads what the checker prints, and asks the model's own predict about every combination of values on and
beside thresholds.
"""

from __future__ import annotations

import contextlib
import gc
import gzip
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import treeproof as tp
from attack.judge import Judge, Predict
from attack.judge_pairs import ModelsJudge, PairJudge
from attack.mutate import copied, damaged_bytes, damaged_json, same_place, twice
from attack.rounds import Round
from treeproof import checker
from treeproof.model.decision import Member, Sums
from treeproof.model.files import forest_to_json
from treeproof.model.floats import FLOATS

VALUES = {
    "near ties": [0.0, 0.1, 0.2, 0.3, -0.1, -0.3, 0.5, 1e-9, 0.1 + 1e-9, 0.7],
    "cancelling": [1e16, -1e16, 1.0, -1.0, 3.0, 0.5, 1e8, -1e8, 0.0, 2.0**-30],
    "subnormal": [5e-324, -5e-324, 1e-310, -1e-310, 1e-45, -1e-45, 3e-39, 0.0, 2.5e-323, 1.4e-45],
    "overflowing": [1e308, -1e308, 1.7e308, 3e38, -3e38, 1.0, 0.0, -1.7e308, 1e300, 1.2e38],
    "votes": [0.0, 1.0],
}
CUTS = [0.0, 0.5, float(np.float32(0.1)), 2.0]
LABELS = ["no", "yes", "perhaps"]
COLOURS = ("red", "green", "None")
ASKED: list[Callable[[tp.Explainer, list[Any], Any], Any]] = [  # results with certificates, about a row
    lambda explainer, x, other: explainer.abductive(x),
    lambda explainer, x, other: explainer.abductive(x, inflate=True),
    lambda explainer, x, other: explainer.abductive(x, minimum=True, cost={1: 2}),
    lambda explainer, x, other: explainer.contrastive(x),
    lambda explainer, x, other: explainer.contrastive(x, minimum=True),
    lambda explainer, x, other: explainer.abductive(x, within=0.5),
    lambda explainer, x, other: next(iter(explainer.enumerate(x, kind="abductive", target=other, limit=1))),
    lambda explainer, x, other: explainer.robustness(x),
    lambda explainer, x, other: explainer.robustness(x, "l0", target=other),
    lambda explainer, x, other: explainer.contrastive(x, target=other, fixed=[0]),
    lambda explainer, x, other: whole(explainer.enumerate(x, kind="both")),
    lambda explainer, x, other: whole(explainer.enumerate(x, kind="both", target=other)),
    lambda explainer, x, other: whole(explainer.enumerate(x, kind="both", within=0.5)),
    lambda explainer, x, other: explainer.audit([x], protected=[1]),
    lambda explainer, x, other: explainer.effect(1),
    lambda explainer, x, other: explainer.effect([1, 2], of=other),
    lambda explainer, x, other: explainer.monotone(1),
    lambda explainer, x, other: explainer.independent([0]),
]


def whole(listing: Any) -> Any:
    """Return a list of explanations after its end."""
    for _ in listing:
        pass
    return listing


@dataclass
class World:
    """A model, another one, their own predict, and certificates about them, all of them right."""

    forest: tp.Forest
    predict: Predict
    other: tp.Forest
    honest: list[Any]
    forged: list[Any]  # certificates about almost the same model, that name this one


def prepare() -> None:
    """Import what takes seconds."""
    import sklearn.ensemble  # noqa: F401

    import treeproof.cli  # noqa: F401


def attack(round: Round) -> None:
    """Alter certificates of one model; judge what is accepted."""
    gc.set_threshold(10**6)  # nothing that is tried has cycles
    world = make_world(round)
    if not world.honest:
        round.counts["models without certificates"] += 1
        return
    models = [checker.Model(forest_to_json(forest)) for forest in (world.forest, world.other)]
    judges = [Judge(world.forest, world.predict), PairJudge(world.forest, world.predict)]
    judges.append(ModelsJudge(world.forest, world.predict, world.other, predict_of(world.other)))
    every = world.honest + world.forged
    for document in every:
        _try(round, judges, models, document, "honest" if document in world.honest else "of another model")
    for _ in range(100 * round.n_cases):
        start = every[round.rng.integers(len(every))]
        if round.rng.random() < 0.15:
            document, how = put_together(round.rng, every), "put together"
        else:
            document, how = damaged_json(round.rng, start, every), "altered"
        _try(round, judges, models, document, how)
    for _ in range(3):
        _try_file(round, world, every[round.rng.integers(len(every))])


def _try(round: Round, judges: list[Judge], models: list[Any], document: Any, how: str) -> None:
    keys = set(document) if isinstance(document, dict) else set()
    claim = document["claim"] if "claim" in keys else None
    claim = claim if claim in (*checker.CLAIM_KEYS, "independent", "same", "identical") else "no claim"
    about = 2 if "other" in keys else 1 if keys & {"pair", "pairs"} else 0
    claim += ["", " of pairs", " of two models"][about]
    judge = judges[about]
    round.counts[how] += 1
    round.counts[f"tried: {claim}"] += 1
    checked = None
    with round.case(f"{how} certificate"):
        checked = checker.check(document, models[0], budget=10**7, other=models[1] if about == 2 else None)
    if checked is None:
        if how == "honest" and not judge.excused:
            round.fail(f"an honest certificate is rejected: {json.dumps(document)}")
        return
    round.counts["accepted"] += 1
    round.counts[f"accepted: {claim}"] += 1
    problems = judge.verdict(checked)
    round.counts["judged"] += 1
    for problem in problems[:1]:
        text = forest_to_json(judge.forest)
        path = f"/tmp/attack-{round.seed}-{round.number}-{round.counts['false']}.json"
        Path(path).write_text(json.dumps([document, text]))
        round.counts["false"] += 1
        round.fail(f"{how}: {problem}\n{checked}\nmodel and certificate in {path}")


def _try_file(round: Round, world: World, document: Any) -> None:
    """A certificate in a file: damaged bytes, packed, or a bomb."""
    rng, path, model = round.rng, round.folder / "certificate.json", round.folder / "model.json"
    tp.save_forest(world.forest, model)
    content = json.dumps(document).encode()
    match int(rng.integers(5)):
        case 0:
            content = damaged_bytes(rng, content)
        case 1:
            content = damaged_bytes(rng, gzip.compress(content))
        case 2:
            content = gzip.compress(
                content[:-1] + b" " * int(rng.choice([0, 10**6, 3 * 10**8], p=[0.5, 0.45, 0.05])) + b"}", 1
            )
        case 3:
            content = twice(rng, document).encode()
        case 4:
            content = content.replace(b"[", b"[" * int(rng.choice([1, 900, 100_000])), 1)
    path.write_bytes(content)
    with round.case("certificate file"):
        tp.check(path, model)
    printed = round.command("check", ["check", str(path), str(model)], codes=(0, 2, 3))
    round.require(not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", printed), f"control characters: {printed!r}")


def put_together(rng: np.random.Generator, documents: list[Any]) -> Any:
    """Return a certificate whose parts come from several."""
    document = copied(documents[rng.integers(len(documents))])
    for _ in range(int(rng.integers(2, 8))):
        place = same_place(documents, document, rng)
        if place is not None:
            place[0][place[1]] = copied(place[2])
    return document


def make_world(round: Round) -> World:
    """Return a random model with certificates of every kind."""
    rng = round.rng
    if rng.random() < 0.25:
        forest, predict = _fitted(rng)
    else:
        forest = None
        while forest is None:
            with contextlib.suppress(tp.TreeproofError):  # members whose sums may overflow
                forest = hostile_forest(rng)
        predict = predict_of(forest)
    other = forest
    with contextlib.suppress(tp.ForestFormatError):
        other = _neighbour(rng, forest) if rng.random() < 0.8 else replace(forest, importances=forest.importances / 2)
    honest = _certificates(round, forest) + _of_two(round, forest, other)
    forged = []
    if honest:
        names = _fingerprint(forest), _fingerprint(other)
        for _ in range(2):
            with contextlib.suppress(tp.ForestFormatError):
                near, further = _neighbour(rng, forest), _neighbour(rng, forest)
                found = _certificates(round, near) + _of_two(round, near, further)
                for document in found:
                    text = json.dumps(document).replace(_fingerprint(near), names[0])
                    forged.append(json.loads(text.replace(_fingerprint(further), names[1])))
    return World(forest, predict, other, honest, forged)


def _of_two(round: Round, old: tp.Forest, new: tp.Forest) -> list[Any]:
    """Return certificates about two models."""
    found = []
    for of in ("label", "score"):
        try:
            certificate = tp.differ(tp.Explainer(old, tabulate=False), tp.Explainer(new, tabulate=False)).certificate(
                of=of
            )
            found.append(json.loads(certificate.text))
        except (tp.UnsupportedQueryError, tp.InputError):
            round.counts["without certificate"] += 1
    return found


def predict_of(forest: tp.Forest) -> Predict:
    """Return a forest's own predict, of rows that have categories by number."""
    if all(column.categories is None for column in forest.columns):
        return forest.predict

    def predict(rows: Any) -> Any:
        with np.errstate(over="ignore"):
            return forest.classes[forest.decide(forest.route(rows.astype(forest.floats.dtype)))]

    return predict


def _fingerprint(forest: tp.Forest) -> str:
    return checker.fingerprint(forest_to_json(forest))


def hostile_forest(rng: np.random.Generator) -> tp.Forest:
    """Return a few small trees over three columns whose sums are hard for floats."""
    pool = VALUES[str(rng.choice(list(VALUES)))]
    vote = str(rng.choice(["majority", "mean", "sum", "sum", "sum"]))
    n_classes, n_trees = int(rng.integers(2, 4)), int(rng.integers(1, 7))
    columns: list[Any] = [tp.Column(f"c{j}", missing="expected" if rng.random() < 0.3 else "never") for j in range(3)]
    if rng.random() < 0.3:
        columns[0] = tp.Column("c0", COLOURS)
    numeric = [column.name for column in columns if column.categories is None]
    numbers = str(rng.choice(["float32", "float64"]))
    floats, sums, n_sums = FLOATS[numbers], None, n_classes
    if vote == "sum":
        n_sums = 1 if rng.random() < 0.5 else n_classes
        start = tuple(map(_finite(floats), rng.choice(pool, n_sums)))
        divisor = floats.round(float(rng.choice([1, 1, 3, 0.7, 2.0**-20])))
        cuts = tuple(sorted({_finite(floats)(v) for v in rng.choice(pool, n_classes - 1)})) if n_sums == 1 else None
        softmax = bool(cuts is None and divisor == 1 and rng.random() < 0.4)
        n_classes = n_classes if cuts is None else len(cuts) + 1
        sums = Sums(start, numbers, divisor, cuts, softmax)
        if not softmax and rng.random() < 0.2:
            first, last = sorted(rng.choice(n_trees + 1, 2, replace=False).tolist())
            weight = floats.round(float(rng.choice([1.0, 0.1, 3.0])))
            member = Member(
                first, last, tuple(map(_finite(floats), rng.choice(pool, n_sums))), divisor, weight, numbers
            )
            sums = replace(sums, members=(member,))
        elif cuts is None and numbers == "float64" and not softmax and rng.random() < 0.3:
            sums = replace(sums, sigmoid=float(rng.choice([1.0, 0.3])))

    def tree(depth: int) -> Any:
        if depth == 0 or rng.random() < 0.1:
            if vote == "majority":
                return int(rng.integers(n_classes))
            if vote == "mean":
                values = rng.integers(0, 4, n_classes) + 1e-3
                return tp.leaf(list(values / values.sum()))
            return tp.leaf([_finite(floats)(v) for v in rng.choice(pool, n_sums)])
        parts = tree(depth - 1), tree(depth - 1)
        if columns[0].categories and rng.random() < 0.3:
            return tp.isin("c0", [c for c in COLOURS if rng.random() < 0.5], *parts)
        side = str(rng.choice(["yes", "no"]))
        return tp.split(str(rng.choice(numeric)), float(rng.choice(CUTS)), *parts, missing=side)

    return tp.build_forest(
        [tree(2) for _ in range(n_trees)],
        columns=columns,
        classes=LABELS[:n_classes] if vote != "majority" else list(range(n_classes)),
        vote=vote,
        dtype=str(rng.choice(["float32", "float64"])),
        sums=sums,
    )


def _finite(floats: Any) -> Callable[[float], float]:
    """Return a function that gives the nearest finite number."""

    def nearest(value: float) -> float:
        with np.errstate(over="ignore"):
            rounded = floats.round(float(value))
        return float(rounded) if np.isfinite(rounded) else float(np.copysign(floats.largest, value))

    return nearest


def _fitted(rng: np.random.Generator) -> tuple[tp.Forest, Predict]:
    """Return a model of scikit-learn, imported, and its own predict."""
    from sklearn import ensemble, tree

    X = rng.choice([0.0, 0.1, 0.25, 0.5, 1.0], (40, 3))
    y = np.array(LABELS)[rng.integers(0, int(rng.integers(2, 4)), 40)]
    seed = int(rng.integers(2**31))
    models = [
        tree.DecisionTreeClassifier(max_depth=3, random_state=seed),
        ensemble.RandomForestClassifier(4, max_depth=2, random_state=seed),
        ensemble.GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=seed),
        ensemble.AdaBoostClassifier(n_estimators=3, random_state=seed),
    ]
    model = models[rng.integers(len(models))].fit(X, y)
    return tp.import_model(model), model.predict


def _neighbour(rng: np.random.Generator, forest: tp.Forest) -> tp.Forest:
    """Return a forest with one value, threshold or start moved, often by the least that is possible."""
    floats = forest.floats if forest.sums is None else forest.sums.floats
    values, threshold = forest.values.copy(), forest.threshold.copy()
    leaf = int(rng.choice(np.flatnonzero(forest.feature < 0)))
    way = float(rng.choice([-1, 1])) * floats.largest
    if rng.random() < 0.3 and (forest.feature >= 0).any():
        split = int(rng.choice(np.flatnonzero(forest.feature >= 0)))
        threshold[split] = forest.floats.round(float(rng.choice(CUTS))) if np.isfinite(threshold[split]) else np.nan
    elif forest.vote == "sum":
        moved = floats.dtype(values[leaf, 0])
        values[leaf, 0] = np.nextafter(moved, floats.dtype(way)) if rng.random() < 0.6 else rng.choice(values[:, 0])
    else:
        values[leaf] = np.roll(values[leaf], 1)
    return replace(forest, values=values, threshold=threshold)


def _certificates(round: Round, forest: tp.Forest) -> list[Any]:
    """Return certificates of all kinds of results about two rows, in two spaces."""
    found = []
    for _ in range(2):
        rows = [[_any_value(round.rng, column) for column in forest.columns] for _ in range(3)]
        options = _declared(round.rng, forest, rows)
        try:
            explainer = tp.Explainer(forest, tabulate=False, **options)
            label = explainer.abductive(rows[0]).label
        except tp.InputError:
            round.counts["without certificate"] += 1
            continue
        other = [k for k in forest.classes.tolist() if k != label][-1]
        audit = partial(explainer.audit, rows, [0, 1])
        for ask in [*(partial(ask, explainer, rows[0], other) for ask in ASKED), audit]:
            try:
                found.append(json.loads(ask().certificate().text))
            except (tp.UnsupportedQueryError, tp.InputError, StopIteration):
                round.counts["without certificate"] += 1
    return found


def _declared(rng: np.random.Generator, forest: tp.Forest, rows: list[list[Any]]) -> dict[str, Any]:
    """Return options that declare a space; the rows are made to fit, where that is simple."""
    options: dict[str, Any] = {}
    row, names = rows[0], [column.name for column in forest.columns]
    numeric = [j for j, column in enumerate(forest.columns) if column.categories is None and row[j] is not None]
    if len(numeric) > 1 and rng.random() < 0.2:
        options["one_hot"] = {"/".join(names[j] for j in numeric[:2]): [names[j] for j in numeric[:2]]}
        for one in rows:
            one[numeric[0]] = float(rng.random() < 0.5)
            one[numeric[1]] = 1.0 - one[numeric[0]]
        numeric = numeric[2:]
    elif rng.random() < 0.2:
        options["groups"] = {"g": [names[0], names[2]]}
    if numeric and rng.random() < 0.4:
        value = row[numeric[0]]
        options["bounds"] = {names[numeric[0]]: (min(value, -1), max(value, 1))}
    if numeric and rng.random() < 0.3 and float(row[numeric[-1]]).is_integer():
        options["kinds"] = {names[numeric[-1]]: "integer"}
    if len(numeric) > 1 and rng.random() < 0.25:
        options["constraints"] = [
            f"{names[numeric[0]]} <= {rng.choice(CUTS)} or {names[numeric[1]]} > {row[numeric[1]]}"
        ]
    return options


def _any_value(rng: np.random.Generator, column: tp.Column) -> Any:
    if column.categories is not None:
        return column.categories[rng.integers(len(column.categories))]
    if column.missing == "expected" and rng.random() < 0.2:
        return None
    base = float(rng.choice([*CUTS, 1.0, -3.0]))
    return float(rng.choice([base, np.nextafter(np.float32(base), np.float32(9)), base]))
