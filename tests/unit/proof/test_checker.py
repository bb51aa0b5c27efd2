"""The checker accepts what is proved and nothing else: made by hand, altered in every way, judged by enumeration."""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
import gzip
import hashlib
import itertools
import json
import math
import pickle
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import treeproof as tp
from generators import random_forest, random_row
from treeproof import checker as check_module
from treeproof.checker import BROKEN, EVALUATED, LARGEST, LISTED, ORDERED, PRICES, RIVAL, CheckError, Model, check, read
from treeproof.model.build import build_forest, leaf, split
from treeproof.model.columns import Column
from treeproof.model.decision import Sums
from treeproof.model.files import forest_from_json, forest_to_json
from treeproof.model.floats import FLOAT32, FLOATS
from treeproof.model.forest import Forest
from treeproof.oracles import native
from treeproof.proof import certificate as certificate_module

pytestmark = pytest.mark.slow

CHECKER = Path(check_module.__file__)
Document = dict[str, Any]


def cells_of(runs: list[int]) -> list[int]:
    """Cells that are given as the first and the last of each run."""
    return [cell for first, last in zip(runs[::2], runs[1::2], strict=True) for cell in range(first, last + 1)]


def claim_is_true(document: Document, model: str) -> bool:
    """Whether what a certificate claims is true, by the forest's own predict on every kind of input of its space.

    Each column takes the ends of the declared cells, every threshold, and the numbers next to all of these.
    """
    forest = forest_from_json(model)
    rows, cells = every_input(document, forest)
    for clause in document["space"].get("clauses", []):
        kept = np.any([np.isin(cells[:, f], cells_of(among)) for f, among in clause], axis=0)
        rows, cells = rows[kept], cells[kept]
    labels = forest.decide(forest.route(rows))
    instance, n_features = numbers(document["instance"]), cells.shape[1]

    def place(row: list[float]) -> int:
        return int(np.flatnonzero(np.all((rows == row) | (np.isnan(rows) & np.isnan(row)), axis=1))[0])

    def row_of(changed: Document) -> list[float]:
        row = list(instance)
        for column, value in changed.items():
            row[int(column)] = numbers([value])[0]
        return row

    at, label = place(instance), document["label"]
    if labels[at] != label:
        return False
    groups = [group["features"] for group in document.get("groups", [])]
    units = groups + [[f] for f in range(n_features) if not any(f in group for group in groups)]
    if document["claim"] == "audit":
        free = document["free"]
        for entry in document["rows"]:
            here = place(row_of(entry["row"]))
            others = [f for f in range(n_features) if f not in free]
            flips = np.any((labels != labels[here]) & np.all(cells[:, others] == cells[here, others], axis=1))
            if flips != ("witness" in entry):
                return False
        return True
    near = np.all(
        [np.ones(len(rows), dtype=bool)]
        + [np.isin(cells[:, int(f)], cells_of(among)) for f, among in document.get("around", {}).items()],
        axis=0,
    )
    wanted = near & (labels != label if document["target"] is None else labels == document["target"])
    if not near[at]:
        return False
    moved = np.array([(cells[:, unit] != cells[at, unit]).any(axis=1) for unit in units]).T
    everything = frozenset(range(len(units)))
    subsets = [frozenset(c) for n in range(len(units) + 1) for c in itertools.combinations(range(len(units)), n)]

    def forced_by_the_row(kept: Iterable[int]) -> bool:
        """Whether units, kept in the instance's cells, force the label."""
        return not np.any(wanted & ~moved[:, sorted(kept)].any(axis=1))

    if document["claim"] == "complete":
        listed = [
            frozenset(u for u, unit in enumerate(units) if set(unit) & set(reason["features"]))
            for reason in document["reasons"]
        ]
        changes = [
            frozenset(np.flatnonzero(moved[place_in_cells(rows, row_of(c), cells, document, forest)]).tolist())
            for c in document["changes"]
        ]
        forcing = [one for one in subsets if forced_by_the_row(one)]
        reasons = {one for one in forcing if not any(other < one for other in forcing)}
        breaking = [one for one in subsets if not forced_by_the_row(everything - one)]
        minimal = {one for one in breaking if not any(other < one for other in breaking)}
        smallest = [{one for one in those if not any(other < one for other in those)} for those in (listed, changes)]
        return smallest == [reasons, minimal]
    chosen = {
        u
        for u, unit in enumerate(units)
        if any(f in set(map(int, document.get("box", document.get("changed", ())))) for f in unit)
    }

    def cost(those: Iterable[int]) -> int:
        costs = document["minimum"]["costs"] or [1] * n_features
        return sum(costs[units[u][0]] for u in those)

    def cheapest(does: Callable[[frozenset[int]], bool]) -> int | None:
        """Return what the cheapest set of units that does so costs."""
        return min((cost(subset) for subset in subsets if does(subset)), default=None)

    if document["claim"] == "change":

        def possible(free: Iterable[int]) -> bool:
            return not forced_by_the_row(everything - set(free))

        if document["minimum"] is not None and cheapest(possible) != cost(chosen):
            return False
        return possible(chosen) and not any(possible(chosen - {u}) for u in chosen)
    inside = {int(f): np.isin(cells[:, int(f)], cells_of(among)) for f, among in document["box"].items()}

    def forced(features: set[int]) -> bool:
        held = np.all([np.ones(len(rows), dtype=bool), *(inside[f] for f in features)], axis=0)
        outside = [f for f in range(n_features) if f not in features]
        ranges = document.get("around", {})
        for f in outside:
            held &= np.isin(cells[:, f], cells_of(ranges[str(f)])) if str(f) in ranges else True
        bad = labels != label if document["target"] is None else labels == document["target"]
        return bool(held[at] and not np.any(bad[held]))

    def can_be_widened(f: int) -> bool:
        """Whether the claim holds with one more cell: of numbers the next one, of values any."""
        among, rest = cells_of(document["box"][str(f)]), [inside[g] for g in inside if g != f]
        feature = features_of(document, forest)[f]
        named, order = "points" in feature, list(range(cells[:, f].max() + 1))
        others = [g for g in range(n_features) if g not in inside]
        rest += [
            np.isin(cells[:, g], cells_of(document["around"][str(g)]))
            for g in others
            if str(g) in document.get("around", {})
        ]
        plain = [cell for cell in order if named or cell != feature["missing"]]
        bad = labels != label if document["target"] is None else labels == document["target"]
        for cell in set(order) - set(among):
            held = np.all([cells[:, f] == cell, *rest], axis=0)
            pairs = (pair for line in (order, plain) for pair in itertools.pairwise(line))
            close = any(cell in pair and set(pair) & set(among) for pair in pairs)
            if (named or close) and not np.any(bad[held]):
                return True
        return False

    if document["wider"] is not None and any(can_be_widened(f) for f in inside):
        return False
    if document["minimum"] is not None and cheapest(forced_by_the_row) != cost(chosen):
        return False
    if not forced(set(inside)) or document["claim"] == "sufficient":
        return forced(set(inside))
    rests = [chosen - {u} for u in chosen]
    return not any(
        forced({f for u in rest for f in units[u] if f in inside})
        or forced_by_kept(rest, inside, units, wanted, cells, at)
        for rest in rests
    )


def forced_by_kept(rest: set[int], inside: Any, units: Any, wanted: np.ndarray, cells: np.ndarray, at: int) -> bool:
    """Whether the conditions' features of these units, in the instance's own cells, force the label."""
    kept = [f for u in rest for f in units[u] if f in inside]
    return not np.any(wanted & np.all(cells[:, kept] == cells[at, kept], axis=1))


def place_in_cells(rows: np.ndarray, row: list[float], cells: np.ndarray, document: Document, forest: Forest) -> int:
    """The place of an input in the same cells as a row."""
    at = []
    for feature in features_of(document, forest):
        given = [row[column] for column in feature["columns"]]
        if "points" in feature:
            at.append(feature["points"].index(given))
            continue
        gap = len(feature["uppers"]) if feature["missing"] is None else feature["missing"]
        lower = sum(upper < given[0] for upper in feature["uppers"])
        at.append(gap if math.isnan(given[0]) else lower + (lower >= gap))
    return int(np.flatnonzero(np.all(cells == at, axis=1))[0])


def features_of(document: Document, forest: Forest) -> list[Document]:
    """The features of a declared space: their columns, and the ends of their cells or their points."""
    space, found = document["space"], []
    groups = {columns[0]: columns for columns in space.get("one_hot", [])}
    inner = {column for columns in groups.values() for column in columns[1:]}
    for column, about in enumerate(forest.columns):
        f = str(len(found))
        if column in inner:
            continue
        if column in groups or about.categories is not None:
            columns = groups.get(column, [column])
            points = np.eye(len(columns)) if column in groups else np.arange(len(about.categories or ()))[:, None]
            kept = cells_of(space.get("values", {}).get(f, [0, len(points) - 1]))
            found.append({"columns": columns, "points": [[float(v) for v in points[i]] for i in kept]})
            continue
        most, whole = forest.floats.largest, int(f) in space.get("whole", [])
        low, high = numbers(space.get("bounds", {}).get(f, [])) or (max(-most, about.low), min(most, about.high))
        nodes = (forest.feature == column) & (forest.subset < 0)
        cuts = {*forest.threshold[nodes].tolist(), *numbers(space.get("cuts", {}).get(f, []))}
        if whole:
            low, high, cuts = math.ceil(low), math.floor(high), {math.floor(c) if math.isfinite(c) else c for c in cuts}
        uppers = [float(cut) for cut in sorted(cuts) if low <= cut < high] + [float(high)]
        ends = {"uppers": uppers, "lowest": float(low), "whole": whole}
        found.append({"columns": [column], **ends, "missing": space.get("missing", {}).get(f)})
    return found


def every_input(document: Document, forest: Forest) -> tuple[np.ndarray, np.ndarray]:
    """Rows that stand for all inputs of the declared space, and their cells."""
    parts = []
    instance = numbers(document["instance"])
    known = [instance]
    for row in document.get("rows", []) if isinstance(document.get("rows", []), list) else []:
        changed = list(instance)
        for column, value in row["row"].items():
            changed[int(column)] = numbers([value])[0]
        known.append(changed)
    for feature in features_of(document, forest):
        columns = feature["columns"]
        if "points" in feature:
            parts.append([(c, columns, point) for c, point in enumerate(feature["points"])])
            continue
        uppers, lowest = feature["uppers"], feature["lowest"]
        nodes = (forest.feature == columns[0]) & (forest.subset < 0)
        ends = {*uppers, lowest, *forest.threshold[nodes].tolist()}
        ends |= {forest.floats.next(end, towards) for end in ends for towards in (-math.inf, math.inf)}
        ends |= {row[columns[0]] for row in known}
        if feature["whole"]:
            ends = {float(f(end)) for end in ends if math.isfinite(end) for f in (np.floor, np.ceil)}
        inside = sorted(end for end in ends if lowest <= end <= uppers[-1])
        gap = len(uppers) if feature["missing"] is None else feature["missing"]
        places = [sum(upper < value for upper in uppers) for value in inside]
        values = [(place + (place >= gap), columns, [value]) for place, value in zip(places, inside, strict=True)]
        if feature["missing"] is not None:
            values.append((gap, columns, [math.nan]))
        parts.append(values)
    chosen = np.indices([len(part) for part in parts]).reshape(len(parts), -1)
    rows = np.zeros((chosen.shape[1], forest.n_columns), dtype=forest.floats.dtype)
    cells = np.zeros((chosen.shape[1], len(parts)), dtype=int)
    for f, part in enumerate(parts):
        columns = part[0][1]
        rows[:, columns] = np.array([values for _, _, values in part], dtype=rows.dtype)[chosen[f]]
        cells[:, f] = np.array([cell for cell, _, _ in part])[chosen[f]]
    return rows, cells


def numbers(texts: list[str | None]) -> list[float]:
    return [math.nan if text is None else float.fromhex(text) for text in texts]


def certified(
    forest: Forest, row: list[Any], *, listed: bool = False, more: bool = False, **options: Any
) -> list[tuple[Document, str]]:
    """The certificates of explanations and changes of all kinds, each with its model; small boxes `listed` or not."""
    explainer = tp.Explainer(forest, tabulate=False, **options)
    costs = {feature.name: 1 + i % 3 for i, feature in enumerate(explainer.space.features)}
    results: list[Any] = [
        explainer.abductive(row),
        explainer.abductive(row, inflate=True),
        explainer.abductive(row, minimum=True),
        explainer.abductive(row, minimum=True, cost=costs, inflate=True),
        explainer.contrastive(row),
        explainer.contrastive(row, minimum=True),
        explainer.contrastive(row, minimum=True, cost=costs),
    ]
    target = next((k for k in forest.classes.tolist() if k != results[0].label), None)
    if target is not None:
        results += explainer.enumerate(row, kind="abductive", target=target, limit=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certificate_module, "LIST_UP_TO", 10**4 if listed else 0)
        made = [r.certificate() for r in results if r.status in ("minimal", "minimum")]
        made += others(explainer, row, target) if more else []
    return [(json.loads(certificate.text), forest_to_json(certificate.forest)) for certificate in made]


def others(explainer: tp.Explainer, row: list[Any], target: Any) -> list[tp.Certificate]:
    """Certificates of robustness, lists of all explanations, impossible changes, audits, and of groups."""
    names = explainer.space.names
    listings = [explainer.enumerate(row), *([] if target is None else [explainer.enumerate(row, target=target)])]
    for listing in listings:
        assert len(list(listing)) == listing.n_found
    made = [listing.certificate() for listing in listings]
    made += [explainer.robustness(row, norm).certificate() for norm in ("linf", "l0")]
    made += [
        explainer.robustness(row, keep=names[:1]).certificate(),
        explainer.abductive(row, within=0.3).certificate(),
    ]
    fixed = (explainer.contrastive(row, fixed=[name]) for name in names)
    made += [change.certificate() for change in fixed if change.status in ("minimal", "impossible")]
    made += [explainer.audit([row, row], protected=[name]).certificate() for name in names[:2]]
    if len(names) > 2:
        grouped = tp.Explainer(
            explainer.forest, tabulate=False, groups={"both": names[1:3]}, missing=missing_of(explainer)
        )
        with contextlib.suppress(tp.InputError):  # a row outside the space as it is declared here
            made += [grouped.abductive(row, minimum=True).certificate()]
            listing = grouped.enumerate(row)
            assert list(listing)
            made += [listing.certificate(), grouped.audit([row], protected=["both"]).certificate()]
    return made


def missing_of(explainer: tp.Explainer) -> list[str]:
    return [f.name for f in explainer.space.features if getattr(f, "missing_cell", None) is not None]


def shapes() -> dict[str, Any]:
    """Small forests of all kinds, with the options of their spaces."""
    tree: dict[str, Any] = {"n_columns": 3, "n_trees": 4}
    return {
        "majority": ({"vote": "majority", "n_classes": 2, **tree}, {}),
        "majority of three": ({"vote": "majority", "n_classes": 3, **tree}, {"constraints": ["c0 <= 0 or c1 <= 0.5"]}),
        "mean": ({"vote": "mean", "n_classes": 2, **tree}, {}),
        "mean of three": ({"vote": "mean", "n_classes": 3, "dtype": "float64", **tree}, {"kinds": {"c1": "ordinal"}}),
        "sum": ({"vote": "sum", "n_classes": 3, "missing": True, **tree}, {}),
        "sum of two": ({"vote": "sum", "n_classes": 2, **tree}, {"bounds": {"c2": (-1, 1)}}),
        "categories": ({"vote": "mean", "n_classes": 2, "categorical": True, **tree}, {}),
        "one-hot": ({"vote": "majority", "n_classes": 2, **tree}, {"one_hot": {"group": ["c1", "c2"]}}),
    }


@functools.cache
def cases(shape: str, n: int) -> list[tuple[Document, str]]:
    """Valid certificates of one kind, those with the longest proofs of the first few forests."""
    made: list[tuple[Document, str]] = []
    forest_options, options = shapes()[shape]
    for seed in range(12):
        rng = np.random.default_rng([seed, len(shape)])
        forest = random_forest(rng, depth=2, **forest_options)
        row = random_row(rng, forest)
        if "kinds" in options:
            row[1] = float(rng.integers(-1, 2))
        if "one_hot" in options:
            row[1:] = [0.0, 1.0]
        try:
            made += certified(forest, row, listed=seed % 4 == 0, more=seed % 3 == 0, **options)
        except tp.InputError:
            continue  # the row breaks the rule, or leaves the bounds
    made.sort(key=lambda case: -len(json.dumps(case[0])))
    kinds = defaultdict(list)
    for case in made:
        document = case[0]
        parts = (document.get("minimum"), document.get("wider"), document["target"])
        kinds[document["claim"], *(part is not None for part in parts), *({"around", "groups"} & set(document))].append(
            case
        )
        if LISTED in document.get("proof", {}).get("steps", [])[2:3]:
            kinds["listed"].append(case)
    return [case for some in kinds.values() for case in some[:n]]


def places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to everything in a JSON document."""
    yield path
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        yield from places(value, (*path, key))


def instead(value: Any) -> list[Any]:
    """What may stand in place of a value, or change it."""
    if isinstance(value, bool):
        return [not value, int(value), None]
    if isinstance(value, float):
        return [0, 1]
    if isinstance(value, int):
        near = [value + 1, value - 1, -value, -1, 0, 1, 2]
        floats = [float(value)] if abs(value) < 2**64 else []
        return [*floats, *(v for v in near if v != value), 2**31, 2**64, 10**999, True, 0.5, None, str(value)]
    if isinstance(value, str):
        others: list[Any] = [None, "", value + "0", 0, "inf", "-inf", "nan", "0x1p+2000", "0x1.8p-30"]
        try:
            number = float.fromhex(value)
        except (ValueError, OverflowError):
            return others
        near = [0.0, -number, 2 * number, number + 1, number - 1, math.nextafter(number, 9e9)]
        singles = [FLOAT32.next(FLOAT32.round(number), end) for end in (-math.inf, math.inf)]
        return others + [v.hex() for v in (*near, *singles) if v != number]
    if value is None:
        return [0, 1, "0x0.0p+0", "nan", []]
    if isinstance(value, list):
        new: list[Any] = [[], None, {}, [value], value[::-1]]
        for i in range(len(value)):
            new += [
                value[:i] + value[i + 1 :],
                value[: i + 1] + value[i:],
                value[:i] + value[i + 1 : i + 2] + value[i:],
            ]
        return new
    assert isinstance(value, dict)
    new = [{}, [], {**value, "more": 1}, {**value, "0": [0]}, {**value, "1": [0]}, {**value, "00": [0]}]
    for key in value:
        new.append({k: v for k, v in value.items() if k != key})
        new += [{**value, key: value[other]} for other in value if other != key]
    return new


def replaced(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    key, *rest = path
    altered = copy.copy(document)  # what is not changed is shared
    altered[key] = replaced(document[key], tuple(rest), value)
    return altered


def alterations(document: Document, rng: np.random.Generator, n: int) -> list[Document]:
    """The document with one thing changed, `n` of all ways to do so; and with two or three things changed."""
    ways = [(path, v) for path in places(document) for v in instead(at_path(document, path))]
    chosen = [ways[i] for i in rng.permutation(len(ways))[:n]]
    altered = [replaced(document, path, value) for path, value in chosen]
    for _ in range(n // 3):
        several = document
        for _ in range(int(rng.integers(2, 4))):
            paths = list(places(several))
            path = paths[rng.integers(1, len(paths))] if len(paths) > 1 else ()
            options = instead(at_path(several, path))
            several = replaced(several, path, options[rng.integers(len(options))]) if options else several
            if not isinstance(several, dict):
                break
        altered.append(several)
    return altered


def at_path(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


def judge(document: Any, model: Any, text: str) -> bool:
    """Return whether the checker accepts; what it accepts must be true, and it must not fail but by its own error."""
    try:
        check(document, model)
    except CheckError:
        return False
    assert claim_is_true(document, text), document
    return True


@pytest.mark.parametrize("shape", shapes())
def test_altered_certificates_are_rejected_or_still_true(shape):
    rng = np.random.default_rng(7)
    rejected = 0
    for document, text in cases(shape, 1):
        model = Model(text)
        assert judge(document, model, text)
        accepted = [judge(altered, model, text) for altered in alterations(document, rng, 50)]
        rejected += accepted.count(False)
    assert rejected > 300


@pytest.mark.parametrize("shape", shapes())
def test_certificates_of_altered_models_are_rejected_or_still_true(shape):
    """The fingerprint is made right again, so that it is the proof that must notice."""
    rng = np.random.default_rng(8)
    rejected = 0
    for document, text in cases(shape, 1):
        source = json.loads(text)
        known = {key: source.pop(key) for key in ("importances", "classes")}
        for altered in alterations(source, rng, 18):
            if not isinstance(altered, dict):
                continue
            try:
                new = json.dumps({**known, **altered})
            except (TypeError, ValueError):
                continue
            moved = {**document, "model": hashlib.sha256(new.encode()).hexdigest()}
            rejected += not judge(moved, new, new)
    assert rejected > 100


def stump() -> tuple[Document, str]:
    """Two columns, of which one decides: ``a <= 0.5`` is class 0, whatever b. Written by hand."""
    model = {
        "format": "treeproof-forest",
        "version": 2,
        "vote": "majority",
        "classes": {"dtype": "<i8", "labels": [0, 1]},
        "columns": [{"name": name, "categories": None, "missing": "never"} for name in ("a", "b")],
        "importances": ["0x0p+0", "0x0p+0"],
        "subsets": [],
        "roots": [0],
        "feature": [0, -1, -1],
        "subset": [-1, -1, -1],
        "left": [1, -1, -1],
        "right": [2, -1, -1],
        "threshold": ["0x1p-1", None, None],
        "values": [["0x0p+0", "0x0p+0"], ["0x1p+0", "0x0p+0"], ["0x0p+0", "0x1p+0"]],
        "missing_left": [],
        "numbers": "float32",
        "sums": None,
    }
    text = json.dumps(model)
    document = {
        "format": "treeproof-certificate",
        "version": 2,
        "model": hashlib.sha256(text.encode()).hexdigest(),
        "space": {},
        "instance": ["0x0p+0", "0x1p+0"],
        "label": 0,
        "claim": "minimal",
        "box": {"0": [0, 0]},
        "target": None,
        "witnesses": {"0": {"0": "0x1p+0"}},
        "wider": None,
        "minimum": None,
        "proof": {"unit": 0, "steps": [RIVAL, 1, PRICES, 1, 0, 0], "tables": [[]]},
    }
    return document, text


def with_steps(document: Document, *steps: int, tables: Any = ([],), unit: Any = 0) -> Document:
    return {**document, "proof": {"unit": unit, "steps": list(steps), "tables": list(tables)}}


def rejected(document: Any, model: Any, match: str | None = None) -> None:
    with pytest.raises(CheckError, match=match):
        check(document, model)


def test_a_certificate_made_by_hand():
    document, model = stump()
    forest_from_json(model)  # a model that the package reads, too
    assert claim_is_true(document, model)
    found = check(document, model)
    assert str(found).splitlines() == [
        "Checked: a forces the label 0; it cannot be dropped (1 closed box).",
        "  a <= 0.5",
        "Row: a = 0, b = 1",
        f"Model: {document['model'][:12]}, the most votes of 1 tree",
    ]
    assert found == check(json.dumps(document), Model(model))
    check(with_steps(document, RIVAL, 1, EVALUATED), model)
    check(with_steps(document, RIVAL, 1, ORDERED, 1, 0, 0, EVALUATED, EVALUATED), model)
    check({**document, "claim": "sufficient", "witnesses": {}}, model)


def test_a_change_made_by_hand():
    document, model = stump()
    for key in ("box", "witnesses", "wider", "proof"):
        del document[key]
    proof = {"unit": -3, "steps": [RIVAL, 1, EVALUATED], "tables": []}
    document |= {"claim": "change", "changed": [0], "target": None, "witness": {"0": "0x1p+0"}}
    document |= {"proofs": {"0": proof}}
    assert str(check(document, model)).startswith(
        "Checked: a change of a alone gives the label 1 (1 closed box).\n  a: 0 -> 1\nRow: a = 0, b = 1\n"
    )
    assert "alone gives the label 1 (1 closed" in str(check({**document, "target": 1}, model))
    rejected({**document, "target": 0}, model, "another class, or null, not 0")
    rejected({**document, "target": True}, model, "another class, or null, not True")
    rejected({**document, "witness": {"0": "0x1p+0", "1": "0x1p+1"}}, model, "changes other features")
    rejected({**document, "witness": {}}, model, "has the label 0")
    rejected({**document, "changed": [0, 1]}, model, "proof for each changed feature")
    rejected({**document, "changed": [0, 1], "proofs": {"0": proof, "1": proof}}, model, "give the label 1|has several")
    rejected({**document, "changed": [0, 0]}, model, "twice")


def test_a_proof_that_is_too_large_is_no_certificate(monkeypatch):
    forest = build_forest([split("a", i, 0, 1) for i in range(9)], columns=["a", "b"], classes=[0, 1])
    monkeypatch.setattr(certificate_module, "LIST_UP_TO", 0)
    why = tp.Explainer(forest, tabulate=False).abductive([0, 0])
    n = sum(map(len, [why.certificate().document["proof"]["steps"], *why.certificate().document["proof"]["tables"]]))
    monkeypatch.setattr(native, "MOST_NUMBERS", n)
    assert why.certificate().check()
    monkeypatch.setattr(native, "MOST_NUMBERS", n - 1)
    with pytest.raises(
        tp.UnsupportedQueryError, match=f"takes more than {n - 1:,} numbers, too many for a certificate"
    ):
        why.certificate()


def test_small_boxes_are_listed(monkeypatch):
    document, model = stump()
    both = {"unit": 0, "steps": [RIVAL, 1, LISTED], "tables": []}
    assert check({**document, "proof": both}, model) == check(document, model)
    rejected({**document, "box": {}, "witnesses": {}, "proof": both}, model, "point of a listed box has the label 1")
    rule = {**document, "space": {"clauses": [[[0, [0, 0]]]]}, "box": {}, "witnesses": {}, "proof": both}
    assert "every input has the label 0" in str(check(rule, model))
    monkeypatch.setattr(check_module, "MOST_POINTS", 1)
    check({**document, "proof": both}, model)
    rejected({**document, "box": {}, "witnesses": {}, "proof": both}, model, "too many points")


def test_conditions_that_cannot_be_widened():
    document, model = stump()
    widest = {**document, "wider": {"0": [{"0": "0x1p+0"}]}}
    assert "it cannot be dropped; no range can be extended (1" in str(check(widest, model))
    rejected({**document, "wider": {}}, model, "witnesses beside each condition")
    rejected({**document, "wider": {"0": []}}, model, r"feature 0 may be widened to the cells \[1\]")
    rejected({**document, "wider": {"0": [{}]}}, model, "shows nothing")


def test_beside_a_condition():
    numeric = check_module.Feature("a", [0], [0.0, 1.0, 2.0, 3.0, 4.0], -1.0, missing=0)
    assert [numeric.beside(cells) for cells in (0b001100, 0b000001, 0b110011, 0b111111)] == [0b010010, 0b10, 0b1100, 0]
    named = check_module.Feature("c", [0], points=[[0.0], [1.0], [2.0], [3.0]], labels=list("wxyz"))
    assert named.beside(0b0001) == 0b1110

    def perhaps(feature: check_module.Feature, *conditions: int) -> list[str]:
        space = SimpleNamespace(features=[feature])
        return [check_module.not_extended(space, {0: cells}).partition(", but perhaps by ")[2] for cells in conditions]

    # Missing values are cell 0: apart from a condition, next to it, or in it.
    assert perhaps(numeric, 0b001100, 0b000010, 0b000101, 0b000001) == ["missing values", "", "", "numbers"]
    assert perhaps(check_module.Feature("a", [0], [9.0], -1.0, missing=0), 0b01) == [""]
    assert perhaps(named, 0b0010) == [""]
    both = SimpleNamespace(features=[numeric, named])
    assert check_module.not_extended(both, {1: 1}) == "; no value can be added"
    assert check_module.not_extended(both, {0: 0b11, 1: 1}) == "; no range can be extended and no value can be added"


def test_the_smallest_set():
    document, model = stump()
    other = {"0": "0x1p+0"}
    smallest = {**document, "minimum": {"costs": None, "changes": [other]}}
    assert str(check(smallest, model)).startswith(
        "Checked: a forces the label 0; it cannot be dropped; no smaller set do"
    )
    cheapest = {**document, "minimum": {"costs": [3, 1], "changes": [other]}}
    assert "no set that costs less than 3 does (costs: a 3, b 1) (1 closed" in str(check(cheapest, model))
    far = {"0": "0x1p+0", "1": "0x1p+1"}  # differs in b's value, but not in its cell
    check({**document, "minimum": {"costs": [3, 1], "changes": [far]}}, model)
    for changes, costs, match in (
        ([], None, "does not exclude a smaller"),
        ([{}], None, "A change shows nothing: it has the label"),
        ([other], [3], "a cost for each feature"),
        ([other], [3, 0], "Costs must be whole numbers"),
    ):
        rejected({**document, "minimum": {"costs": costs, "changes": changes}}, model, match)
    rejected({**document, "minimum": {"changes": [other]}}, model, "A minimum has costs and changes")


def test_the_smallest_change():
    document, model = stump()
    for key in ("box", "witnesses", "wider", "proof"):
        del document[key]
    proof = {"unit": 0, "steps": [RIVAL, 1, EVALUATED], "tables": []}
    document |= {"claim": "change", "changed": [0], "witness": {"0": "0x1p+0"}, "proofs": {"0": proof}}

    def minimum(*reasons: Any, costs: Any = None) -> Document:
        return {**document, "minimum": {"costs": costs, "reasons": list(reasons)}}

    reason = {"features": [0], "proof": proof}
    assert "alone gives the label 1; no smaller set gives another label (2 closed" in str(check(minimum(reason), model))
    assert "costs less than 5 gives another label (costs: a 5, b 1)" in str(check(minimum(reason, costs=[5, 1]), model))
    rejected(minimum(), model, "does not exclude a smaller")
    rejected(minimum({"features": [1], "proof": proof}), model, "has several")
    rejected(
        minimum({"features": [0, 1], "proof": proof}, costs=[5, 1]), model, "does not exclude a smaller or cheaper"
    )
    rejected(minimum({**reason, "more": 1}), model, "A reason has features and a proof")


def test_which_label_a_cheaper_change_does_not_give_is_said():
    """A change of b costs less, and gives yes: that none gives perhaps is proved, and no more must be said."""
    tree = split("a", 0, split("b", 0, "no", "yes"), "perhaps")
    explainer = tp.Explainer(build_forest([tree], columns=["a", "b"], classes=["no", "yes", "perhaps"]))
    for target, name, said in (
        ("perhaps", "a", "less than 2 gives that label"),
        (None, "b", "less than 1 gives another"),
    ):
        change = explainer.contrastive([0, 0], target=target, minimum=True, cost={"a": 2, "b": 1})
        assert change.feature_names == (name,)
        assert said in change.certificate().check().text


def test_sets_are_met_by_as_much_as_enumeration_says():
    rng = np.random.default_rng(5)
    for _ in range(300):
        n = int(rng.integers(1, 7))
        costs = rng.integers(1, 4, n).tolist()
        sets = [int(rng.integers(0 if rng.random() < 0.05 else 1, 2**n)) for _ in range(rng.integers(0, 9))]
        meets = [c for c in range(2**n) if all(c & one for one in sets)]
        least = min((sum(costs[f] for f in range(n) if c >> f & 1) for c in meets), default=None)
        for budget in range(-1, sum(costs) + 1):
            assert check_module.is_possible(sets, [], costs, budget, check_module.Budget(10**6)) == (
                least is not None and least <= budget
            )
    sets = [0b11, 0b101, 0b110, 0b11000, 0b101000, 0b110000]
    with pytest.raises(CheckError, match="takes more than 9 steps, so nothing is decided"):
        check_module.is_possible(sets, [], [1] * 6, 3, check_module.Budget(9))


def test_reasons_are_named():
    document, model = stump()
    rejected({**document, "label": 1}, model, "gives the instance the label 0, not 1")
    rejected({**document, "label": False}, model, "the label 0, not False")
    rejected({**document, "claim": "minimum"}, model, "Unknown claim 'minimum'")
    rejected({**document, "version": 1}, model, "version must be 2, not 1. Make the certificate again")
    rejected({**document, "version": True}, model, "version must be 2, not True")
    rejected({**document, "format": "other"}, model, "not a treeproof certificate")
    rejected({**document, "more": True}, model, r"Unknown or missing fields: \['more'\]")
    rejected({**document, "model": "0" * 64}, model, "another model")
    rejected({**document, "box": {}, "witnesses": {}}, model, "A bound does not exclude class 1")
    rejected({**document, "box": {"0": [0, 1]}}, model, "A bound does not exclude class 1")
    rejected({**document, "box": {"0": [1, 1]}}, model, "The instance leaves the range of features")
    rejected({**document, "box": {"0": []}}, model, "must ascend")
    rejected({**document, "box": {"00": [0, 0]}}, model, "Keys must be indices of features")
    rejected({**document, "box": {"2": [0, 0]}}, model, "no feature 2")
    rejected({**document, "box": {"0": [0, 0], "1": [0, 0]}}, model, "a witness for each feature")
    rejected({**document, "witnesses": {}}, model, "a witness for each feature")
    rejected({**document, "witnesses": {"0": {}}}, model, "shows nothing: it has the label 0")
    rejected({**document, "witnesses": {"0": {"2": "0x1p+0"}}}, model, "no column 2")
    rejected({**document, "instance": ["0x0p+0"]}, model, "one value for each column")
    rejected(with_steps(document), model, r"No proof excludes the classes \[1\]")
    rejected(with_steps(document, RIVAL, 1), model, "ends too early")
    rejected(with_steps(document, EVALUATED), model, "ends too early|must name the class")
    rejected(with_steps(document, RIVAL, 1, EVALUATED, EVALUATED), model, "ends too early|must name the class")
    rejected(with_steps(document, RIVAL, 1, 9), model, "Unknown step 9")
    rejected(with_steps(document, RIVAL, 1, BROKEN, 0), model, "a constraint that does not exist")
    rejected(with_steps(document, RIVAL, 1, ORDERED, 0, 1, 0, EVALUATED, EVALUATED), model, "at one of the cells")
    rejected(with_steps(document, RIVAL, 1, ORDERED, 0, 0, 0, EVALUATED), model, "ends too early")
    rejected(with_steps(document, RIVAL, 1, PRICES, 1, 0, 1), model, "must compare")
    rejected(with_steps(document, RIVAL, 1, PRICES, 1, 1, 0), model, "must compare")
    rejected(with_steps(document, RIVAL, 1, PRICES, 0, 1, 0), model, "must compare")


def test_a_class_counted_from_the_end_is_no_class():
    """Class -1 is the last one to Python, but comes before all others in a tie, which would then count as lost."""
    forest = build_forest([split("a", 0, 1, 0), 1], columns=["a", "b"], classes=[0, 1])
    assert forest.predict([[0, 0], [1, 0]]).tolist() == [1, 0]
    (document, model), *_ = certified(forest, [0, 0])
    lie = {**document, "box": {}, "witnesses": {}}
    assert not claim_is_true(lie, model)
    rejected(with_steps(lie, RIVAL, 0, PRICES, 0, 1, 0), model, "does not exclude class 0")
    for steps in ((RIVAL, 0, PRICES, 0, -1, 0), (RIVAL, 0, PRICES, 0, 2, 0), (RIVAL, -1, PRICES, -1, 1, 0)):
        rejected(with_steps(lie, *steps), model, "must compare|must name the class")


@pytest.mark.parametrize("price", [1e300, -1, 0.5, math.nan, True, None, "1", 2**63, 10**400])
def test_prices_are_whole_numbers(price):
    """A float as large as this would swallow the values, and earn back only itself."""
    document, model = stump()
    document = {**document, "box": {}, "witnesses": {}}
    rejected(
        with_steps(document, RIVAL, 1, PRICES, 1, 0, 0, tables=[[0, price, price]]), model, "Prices and their nodes"
    )


@pytest.mark.parametrize("table", [[1, 1, 1], [0, 1], [0, 1, 1, 0, 1, 1], [3, 1, 1], [-1, 1, 1], None, [[0, 1, 1]]])
def test_prices_are_those_of_splits(table):
    document, model = stump()
    rejected(with_steps(document, RIVAL, 1, PRICES, 1, 0, 0, tables=[table]), model, "Prices|damaged|must be whole")


@pytest.mark.parametrize("unit", ["1e999999999", 10**9, -(10**9), 0.5, None, "1/0", True, math.inf])
def test_the_unit_of_prices_is_a_small_power_of_two(unit):
    document, model = stump()
    rejected(with_steps(document, RIVAL, 1, PRICES, 1, 0, 0, unit=unit), model, "power of two")


@pytest.mark.parametrize(
    ("value", "match"),
    [
        ((0.5 + 2**-40).hex(), "not a finite float32"),  # which the model reads as 0.5
        ("inf", "not a finite float32"),
        ("nan", "must be null"),
        (None, "cannot be missing"),
        ((1e300).hex(), "not a finite float32"),
        (1.0, "damaged"),
        ("0x1p5000", "damaged"),
    ],
)
def test_inputs_are_those_that_the_model_takes(value, match):
    document, model = stump()
    rejected({**document, "witnesses": {"0": {"0": value}}}, model, match)
    rejected({**document, "instance": [value, "0x0p+0"]}, model, match)


def test_categories_are_those_of_the_model():
    tree = tp.isin("colour", ["red"], 0, 1)
    forest = build_forest([tree], columns=[Column("colour", ("red", "green")), "b"], classes=[0, 1])
    (document, text), *_ = certified(forest, ["red", 0])
    assert "colour is red" in str(check(document, text))
    for code in (2.0, 0.5, -1.0):
        rejected({**document, "witnesses": {"0": {"0": code.hex()}}}, text, "index of a category")
    rejected({**document, "space": {"values": {"0": [0, 2]}}}, text, "Values of colour must be whole numbers from 0")


def test_cells_follow_from_the_model_and_the_declared_space():
    """A certificate cannot name cells of its own: those of a column are cut at every threshold of the model."""
    forest = build_forest(
        [split("a", 0.5, split("a", -1, 0, 1), split("b", 2.5, 0, 1))], columns=["a", "b", "c"], classes=[0, 1]
    )
    model = Model(forest_to_json(forest))

    def uppers(**declared: Any) -> list[list[float]]:
        return [feature.uppers for feature in check_module.Space(model, declared).features]

    most = LARGEST["float32"]
    assert uppers() == [[-1.0, 0.5, most], [2.5, most], [most]]
    assert uppers(whole=[0, 1]) == [[-1.0, 0.0, most], [2.0, most], [most]]
    assert uppers(bounds={"0": ["-0x1p+0", "0x1p-1"]}) == [[-1.0, 0.5], [2.5, most], [most]]
    assert uppers(bounds={"1": ["0x1p+2", "0x1p+3"]}, cuts={"1": ["0x1.4p+2"]}) == [
        [-1.0, 0.5, most],
        [5.0, 8.0],
        [most],
    ]
    assert uppers(one_hot=[[0, 2]]) == [[], [2.5, most]]
    for declared, match in [
        ({"uppers": {}}, "unknown fields"),
        ({"bounds": {"0": ["0x1p+1", "0x1p+0"]}}, "a lowest and a highest"),
        ({"bounds": {"0": ["0x1p+0"]}}, "a lowest and a highest"),
        ({"bounds": {"0": ["0x1p+0", "0x1p+1", "0x1p+2"]}}, "a lowest and a highest"),
        ({"bounds": {"0": ["0x1.8p+0", "0x1.9p+0"]}, "whole": [0]}, "a lowest and a highest"),
        ({"bounds": {"3": ["0x1p+0", "0x1p+1"]}}, "no feature 3"),
        ({"bounds": {"0": ["0x1p+0", "inf"]}}, "not a finite float32"),
        ({"cuts": {"0": [(0.1).hex()]}}, "not a finite float32"),
        ({"whole": [3]}, "no feature 3"),
        ({"missing": {"0": 0}}, "a cannot be missing"),
        ({"values": {"0": [0, 0]}}, "has numbers, not values"),
        ({"one_hot": [[0, 2]], "whole": [0]}, "has values, not numbers"),
        ({"one_hot": [[0, 2], [1, 2]]}, "belong together once"),
        ({"one_hot": [[2, 0]]}, "must ascend"),
        ({"one_hot": [[]]}, "must ascend"),
        ({"one_hot": [[0, 3]]}, "Columns must be whole numbers"),
    ]:
        with pytest.raises(CheckError, match=match):
            check_module.Space(model, declared)


def test_a_narrower_space_is_named():
    """A claim that is easy because of what was declared must not look like one about all inputs."""
    document, model = stump()
    for declared, line in [
        ({"bounds": {"1": ["0x1p+0", LARGEST["float32"].hex()]}}, "  b: only from 1 to 3.4028235e+38"),
        ({"whole": [1]}, "  b: only whole numbers"),
        ({"clauses": [[[1, [0, 0]], [0, [0, 0]]]]}, "  always b is any number or a <= 0.5"),
    ]:
        lines = str(check({**document, "space": declared}, model)).splitlines()
        assert lines[-4:-2] == ["Only inputs of the declared space are meant:", line]
    only = {**document, "space": {"one_hot": [[0, 1]], "values": {"0": [1, 1]}}, "box": {}, "witnesses": {}}
    assert str(check(only, model)).splitlines()[-3:-1] == [
        "  a/b: exactly one is 1, the others are 0: b = 1",
        "Row: b = 1",
    ]


def test_one_of_a_single_column_reads_like_any_other_value():
    document, model = stump()
    alone = {**document, "space": {"one_hot": [[1]]}, "claim": "sufficient", "witnesses": {}}
    checked = check({**alone, "box": {"0": [0, 0], "1": [0, 0]}}, model)
    assert (checked.row, checked.space) == (["a = 0", "b = 1"], ["b: only 1"])
    assert checked.conditions == ["a <= 0.5", "b is 1"]


def test_what_may_be_missing_is_named_where_it_is_left_out():
    columns = [Column("a", missing="possible"), Column("b", missing="expected")]
    forest = build_forest([split("a", 0, 0, 1, missing="yes"), split("b", 0, 0, 1), 0], columns=columns, classes=[0, 1])
    (document, text), *_ = certified(forest, [0, math.nan])
    assert "  a: not missing" in str(check(document, text)).splitlines()
    (document, text), *_ = certified(forest, [math.nan, 0], missing="all")
    assert len(check(document, text).space) == 0


def test_a_rule_closes_only_boxes_that_break_it():
    document, model = stump()
    document = {**document, "space": {"clauses": [[[0, [0, 0]]]]}, "box": {}, "witnesses": {}}
    ruled = with_steps(document, RIVAL, 1, ORDERED, 0, 0, 0, EVALUATED, BROKEN, 0)
    assert "always a <= 0.5" in str(check(ruled, model))
    rejected(with_steps(document, RIVAL, 1, BROKEN, 0), model, "not violated in a whole box")
    rejected({**ruled, "instance": ["0x1p+0", "0x0p+0"]}, model, "violates a constraint")
    rejected({**ruled, "space": {"clauses": [[]]}}, model, "violates a constraint")
    rejected({**ruled, "space": {"clauses": [[["0", [0, 0]]]]}}, model, "no feature '0'")
    rejected({**ruled, "space": {"clauses": [[[-1, [0, 0]]]]}}, model, "no feature -1")


def test_long_proofs_and_deep_models_are_no_trouble():
    document, model = stump()
    nested = [RIVAL, 1, *([ORDERED, 0, 0, 0] * 50_000), *([EVALUATED] * 50_001)]
    assert check(with_steps(document, *nested), model).leaves == 1
    rejected(with_steps(document, *nested[:-1]), model, "ends too early")
    tree: Any = 0
    for i in range(5000):
        tree = split("a", float(-i), tree, i % 2)
    source = json.loads(forest_to_json(build_forest([tree], columns=["a", "b"], classes=[0, 1])))
    for row in ([0.25, 0], [-4999.0, 0]):
        for made, text in certified(forest_from_json(json.dumps(source, separators=(",", ":"))), row)[:2]:
            check(made, text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "1",
        '"x"',
        "[" * 100_000,
        '{"a":' * 100_000,
        "NaN",
        '{"format": NaN}',
        "\ud800",
        "9" * 5000,
    ],
)
def test_what_is_no_certificate_or_no_model_is_rejected(text):
    document, model = stump()
    rejected(text, model)
    rejected(document, text)


def test_a_key_that_comes_twice_is_rejected():
    document, model = stump()
    text = json.dumps(document)
    rejected(text.replace('"label": 0', '"label": 1, "label": 0'), model, "twice")
    twice = model.replace('"vote"', '"vote": "mean", "vote"')
    rejected({**document, "model": hashlib.sha256(twice.encode()).hexdigest()}, twice, "twice")


def test_damaged_files_are_rejected(tmp_path):
    document, model = stump()
    content = gzip.compress(json.dumps(document).encode())
    path = tmp_path / "certificate"
    path.write_bytes(content)
    assert check(read(str(path)), model)
    for damaged in (content[:-9], content[:40] + b"x" + content[41:], b"\x1f\x8b", b"\xff\xfe", b"["):
        path.write_bytes(damaged)
        with pytest.raises(CheckError):
            check(read(str(path)), model)
    path.write_bytes(gzip.compress(b"[" + b" " * 2**24))
    with pytest.raises(CheckError, match="too large: over 1,048,576 bytes"):
        read(str(path), 2**22)


def test_work_is_limited():
    """A proof that splits for ever, and one that lists the same box in many parts, end with the budget."""
    document, model = stump()
    check(document, model, budget=10**5)
    splits = [RIVAL, 1, *([ORDERED, 1, 0, 0] * 2000), *([EVALUATED] * 2001)]
    check(with_steps(document, *splits), model, budget=10**6)
    for budget in (100, 10**4):
        with pytest.raises(CheckError, match=f"takes more than {budget:,} steps, so nothing is decided"):
            check(with_steps(document, *splits), Model(model), budget=budget)
    rivals = [RIVAL, 1, EVALUATED] * 10**4
    with pytest.raises(CheckError, match="nothing is decided"):
        check(with_steps(document, *rivals), Model(model), budget=10**4)


def test_what_is_printed_counts_as_work():
    """A constraint over many cells takes few bytes, and long to print: 400 kB took ten minutes."""
    document, model = stump()
    cuts = [float(np.float32(i / 1000)).hex() for i in range(5000)]
    space = {"cuts": {"1": cuts}, "clauses": [[[1, [0, 4999]]]] * 2000}
    with pytest.raises(CheckError, match="nothing is decided"):
        check({**document, "space": space}, Model(model), budget=3 * 10**7)
    with pytest.raises(CheckError, match="nothing is decided"):
        check(document, Model(model), budget=math.nan)


def everything(document: Document) -> Document:
    """The certificate that lists all minimal explanations of the stump, made by hand."""
    for key in ("box", "witnesses", "wider", "minimum", "proof"):
        document.pop(key)
    proof = {"unit": 0, "steps": [RIVAL, 1, EVALUATED], "tables": []}
    reasons = [{"features": [0], "proof": proof}]
    return document | {"claim": "complete", "reasons": reasons, "changes": [{"0": "0x1p+0"}]}


@pytest.mark.parametrize(
    ("groups", "match"),
    [
        ([("g", [0]), ("h", [0])], "each feature be in one group"),  # also where the first has no other feature
        ([("g", [0, 0])], "each feature be in one group"),
        ([("g", [])], "A group must have features"),
        ([("g", [0]), ("a", [1])], "called as another group or a feature is"),  # a is now in g, and still a feature
        ([("g", [0]), ("g", [1])], "called as another group or a feature is"),
    ],
)
def test_groups_share_neither_features_nor_names(groups, match):
    document, model = stump()
    given = [{"name": name, "features": features} for name, features in groups]
    assert check({**document, "groups": [{"name": "g", "features": [0]}]}, model).groups == ["g: a"]
    rejected({**document, "groups": given}, model, match)


def test_a_list_of_all_explanations_made_by_hand():
    document, model = stump()
    document = everything(document)
    assert str(check(document, model)).splitlines()[:4] == [
        "Checked: these are all minimal sets of features whose values in the row force the label 0 (reasons), and all "
        "minimal sets whose change alone can give another label (changes) (1 closed box).",
        "  reason: a",
        "  change: a",
        "  in none of them: b",
    ]
    ruled = check({**document, "target": 1}, model).text
    assert "rule out the label 1 (reasons), and all minimal sets whose change alone can give the label 1 (cha" in ruled
    rejected({**document, "changes": []}, model, "leave open whether some features force the label")
    rejected({**document, "reasons": []}, model, "leave open whether some features force the label")
    rejected({**document, "changes": [{}]}, model, "A change shows nothing: it has the label")
    both = {**document["reasons"][0], "features": [0, 1]}
    rejected({**document, "reasons": [both]}, model, "leave open")
    again = check({**document, "reasons": [both, *document["reasons"]]}, model)  # of which one is not minimal
    assert again.conditions == check(document, model).conditions
    rejected({**document, "reasons": [{**both, "features": [1]}]}, model, "has several")
    far = {**document, "changes": [{"0": "0x1p+0"}], "around": {"0": [0, 0]}}
    rejected(far, model, "A change leaves the range of features")


def test_sets_are_left_open_as_enumeration_says():
    rng = np.random.default_rng(6)
    answers = set()
    for _ in range(400):
        n = int(rng.integers(1, 6))
        reasons, changes = (
            rng.integers(0 if rng.random() < 0.1 else 1, 2**n, rng.integers(0, 7)).tolist() for _ in "ab"
        )
        expected = any(
            all(reason & ~kept for reason in reasons) and all(change & kept for change in changes)
            for kept in range(2**n)
        )
        costs = rng.integers(1, 4, n).tolist()
        least = min(
            (
                sum(costs[f] for f in range(n) if kept >> f & 1)
                for kept in range(2**n)
                if all(reason & ~kept for reason in reasons) and all(change & kept for change in changes)
            ),
            default=math.inf,
        )
        for most in (least - 1, least, math.inf):
            found = check_module.is_possible(changes, reasons, costs, most, check_module.Budget(10**6))
            assert found == (least <= most < math.inf or (most == math.inf and expected))
        answers.add(expected)
    assert answers == {True, False}
    with pytest.raises(CheckError, match="nothing is decided"):
        check_module.is_possible([0b11, 0b110], [0b11, 0b101], [1] * 3, math.inf, check_module.Budget(5))


def test_an_audit_made_by_hand():
    document, model = stump()
    for key in ("box", "witnesses", "wider", "minimum", "proof"):
        document.pop(key)
    proof = {"unit": 0, "steps": [RIVAL, 1, EVALUATED], "tables": []}
    rows = [{"row": {}, "proof": proof}, {"row": {"0": "0x1p+1"}, "proof": {**proof, "steps": [RIVAL, 0, EVALUATED]}}]
    document |= {"claim": "audit", "free": [1], "rows": rows}
    assert str(check(document, model)).splitlines()[:3] == [
        "Checked: of 2 rows, a change of b alone gives another label in 0; in 2 none does (2 closed boxes).",
        "  no other label than 0: a = 0, b = 1",
        "  no other label than 1: a = 2, b = 1",
    ]
    assert check(document, model, [0, 1]) == check(document, model, [2, 1]) == check(document, model)
    with pytest.raises(CheckError, match="about another row: b differ"):
        check(document, model, [2, 0])
    flip = {**document, "free": [0], "rows": [{"row": {"0": "0x1p+1"}, "witness": {"0": "0x0p+0"}}]}
    assert check(flip, model).conditions == ["0 if a: 2 -> 0, instead of 1: a = 2, b = 1"]
    assert check(flip, model, [2, 1])
    with pytest.raises(CheckError, match="about another row: a differ"):
        check(flip, model, [0, 1])
    rejected({**document, "free": [0]}, model, "has several")
    rejected({**document, "free": []}, model, "must have features and rows")
    rejected({**document, "rows": []}, model, "must have features and rows")
    rejected({**document, "target": 1}, model, "all changes to any other label")
    rejected({**document, "around": {"1": [0, 0]}}, model, "all changes to any other label")
    other = {**document, "rows": [{"row": {}, "proof": rows[1]["proof"]}]}
    rejected(other, model, "left in a box give the label 0")
    rejected({**document, "rows": [{"row": {}, "proof": {**proof, "steps": []}}]}, model, r"the classes \[1\]")
    rejected({**document, "rows": [{"row": {}}]}, model, "a witness or a proof")
    rejected({**flip, "rows": [{"row": {}, "witness": {}}]}, model, "A witness shows nothing: it has the label")
    rejected(
        {**flip, "rows": [{"row": {}, "witness": {"0": "0x1p+0", "1": "0x0p+0"}}]}, model, "changes other features"
    )
    groups = [{"name": "both", "features": [0, 1]}]
    rejected({**document, "groups": groups}, model, "of a group are free together")


def test_a_model_that_is_none_raises_the_checker_s_own_error():
    for text in ("", "[]", "null", "[" * 100_000, '{"format": 1}', '{"format": "treeproof-forest"}', "\ud800"):
        with pytest.raises(check_module.ModelError):
            Model(text)
    for other in (None, 5, b"{}"):
        with pytest.raises(check_module.ModelError):
            Model(other)  # type: ignore[arg-type]
    with pytest.raises(CheckError, match="takes more than 5 steps") as stopped:
        Model("[]    ", check_module.Budget(5))
    assert not isinstance(stopped.value, check_module.ModelError)  # a model that may be right
    with pytest.raises(CheckError, match="The budget must be a number of steps, not 'all'"):
        check({}, stump()[1], budget="all")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("numbers", "values", "expected"),
    [("float64", (1.0, 2.0**-53), 0), ("float64", (0.0, 2.0**-40), 1), ("float32", (0.0, 2.0**-20), 1)],
)
def test_a_softmax_is_followed_where_sums_are_close(numbers, values, expected):
    start = (values[0], values[0])
    sums = Sums(start, numbers, softmax=True)
    forest = build_forest(
        [split("a", 0, leaf([0.0, values[1]]), leaf([1.0, 0.0]))], columns=["a"], classes=[0, 1], vote="sum", sums=sums
    )
    assert Model(forest_to_json(forest)).label([0.0]) == forest.predict_index([[0]])[0] == expected


def test_sums_that_the_library_s_exponential_decides_are_rejected():
    """Where float32 sums are this close, the last bit of an exponential picks the class: no proof to recompute."""
    model = Model(
        forest_to_json(
            build_forest(
                [leaf([0.0] * 3)],
                columns=["a"],
                classes=[0, 1, 2],
                vote="sum",
                sums=Sums((0.0, 0.0, 0.0), "float32", softmax=True),
            )
        )
    )
    doubtful = 0
    for i in range(1, 400):
        with contextlib.suppress(CheckError):
            model.decide([[0.0, float(np.float32(i * 2.0**-33)), -1.0]])
            continue
        doubtful += 1
    assert 0 < doubtful < 40


def test_a_witness_keeps_all_other_conditions():
    forest = build_forest([split("a", 0, split("b", 0, 0, 1), 1)], columns=["a", "b"], classes=[0, 1])
    (document, model), *_ = certified(forest, [0, 0])
    assert set(document["box"]) == {"0", "1"}
    both = {"0": "0x1p+0", "1": "0x1p+0"}
    rejected(
        {**document, "witnesses": {**document["witnesses"], "0": both}}, model, r"leaves the range of features \[1\]"
    )


def test_a_minimal_set_is_a_reason_of_the_row_itself():
    """Widened conditions need both features; the row's own cell of b forces the label alone."""
    tree = split("b", 0, 0, split("b", 1, split("a", 0, 0, 1), 1))
    forest = build_forest([tree], columns=["a", "b"], classes=[0, 1])
    document = json.loads(tp.Explainer(forest).abductive([0, 0]).certificate().text)
    assert document["box"] == {"1": [0, 0]}
    both = {**document, "box": {"0": [0, 0], "1": [0, 1]}}
    both["proof"] = {"unit": 0, "steps": [RIVAL, 1, LISTED], "tables": []}
    check({**both, "claim": "sufficient", "witnesses": {}}, forest_to_json(forest))
    both["witnesses"] = {"0": {"0": "0x1p+0", "1": "0x1p+0"}, "1": {"1": "0x1p+1"}}
    rejected(both, forest_to_json(forest), r"witness of feature 0 leaves the range of features \[1\]")


def test_a_certificate_is_about_one_row():
    document, model = stump()
    for row in ([0, 1], (0.0, 1.0), {"b": 1, "a": 0}, [1e-60, 1]):  # float32 reads 1e-60 as 0
        assert check(document, model, row).row == ["a = 0", "b = 1"]
    for row, match in (
        ([0, 2], "about another row: b differ"),
        ([0, None], "about another row: b differ"),
        ([0], "a value for each of the 2 columns"),
        ({"a": 0}, "must have the model's columns: a, b"),
        (["0", 1], "has '0' for a, which must be a number"),
        ([True, 1], "has True for a, which must be a number"),
        ("01", "a value for each"),
    ):
        with pytest.raises(CheckError, match=match):
            check(document, model, row)
    columns = [Column("c", ("1", "x", None)), Column("d", missing="expected")]
    forest = build_forest([split("d", 0, 0, 1)], columns=columns, classes=[0, 1])
    certificate = tp.Explainer(forest).abductive([None, math.nan]).certificate()
    assert tp.check(certificate, forest, row={"c": None, "d": math.nan}).row == ["c = missing", "d = missing"]
    with pytest.raises(CheckError, match="about another row: c, d"):
        tp.check(certificate, forest, row=["1", 0])
    with pytest.raises(CheckError, match="has 1 for c, which is none of its categories"):
        tp.check(certificate, Model(forest_to_json(forest)), row=[1, 0])


def test_a_long_row_is_shown_by_what_identifies_it():
    names = [f"c{i}" for i in range(30)]
    forest = build_forest([split("c0", 0, 0, 1)], columns=names, classes=[0, 1])
    first, second = (tp.Explainer(forest).abductive([0] * 29 + [x]).certificate().check().lines[-2] for x in (0, 1))
    assert first[1].startswith("Row: c0 = 0, c1 = 0, ")
    assert "c19 = 0, 10 more (all: " in first[1]
    assert first != second


@pytest.mark.parametrize(
    ("options", "explainer", "decides"),
    [
        ({"vote": "majority"}, {}, "the most votes of 1 tree"),
        ({"vote": "mean"}, {}, "the largest mean probability of 1 tree"),
        ({"vote": "sum", "sums": Sums((0.0, 0.0))}, {}, "the largest sum of 1 tree"),
        ({"vote": "sum", "sums": Sums((0.0, 0.0), softmax=True)}, {}, "the largest sum of 1 tree, after a softmax"),
        (
            {"vote": "sum", "sums": Sums((0.0, 0.0), sigmoid=0.5)},
            {},
            "the largest 1 / (1 + exp(-0.5 s)) for the sums s of 1 tree",
        ),
        ({"vote": "mean"}, {"threshold": 0.25}, "the sum of 1 tree: 0; 1 from 0.25"),
    ],
)
def test_how_the_model_decides_is_said(options, explainer, decides):
    forest = build_forest([split("a", 0, leaf([1.0, 0.0]), leaf([0.0, 1.0]))], columns=["a"], classes=[0, 1], **options)
    checked = tp.Explainer(forest, **explainer).abductive([0]).certificate().check()
    assert checked.decides == decides
    assert str(checked).endswith(f", {decides}")


def near_tied(rng: np.random.Generator, kind: str) -> Forest:
    """A forest of one column, whose sums often tie, nearly tie, lie at a cut, or overflow."""
    n_classes, n_trees, numbers = int(rng.integers(2, 4)), int(rng.integers(2, 12)), "float64"
    sums, choices = None, [0.1, 0.2, 0.3, 0.7, 0.6, 0.15]
    if kind != "mean" and kind != "majority":
        numbers = str(rng.choice(["float32", "float64"]))
        largest = LARGEST[numbers]
        choices = {
            "big": [largest, -largest, 0.0, largest / 2],
            "steps": [0.5, -0.5, 0.25, 1.0, 0.0, -0.75],
            "fine": [1.0, 1 + 2.0**-23, 2.0**-23, 2.0**-24, 3 * 2.0**-25, -1.0],
        }.get(kind, [0.1, -0.1, 0.3, 0.2, 0.7, 0.5, 1.0, -1.1])
        choices = [FLOATS[numbers].round(v) for v in choices]
        divisor = float(rng.choice([1, 3, 7, 0.7]))
        n_sums = 1 if kind in ("cuts", "steps", "big") else n_classes
        start = tuple(rng.choice(choices, n_sums).tolist())
        cuts = tuple(sorted(rng.choice(np.arange(-20, 21), n_classes - 1, replace=False) / 10)) if n_sums == 1 else None
        if kind == "steps":
            divisor = float(rng.choice([1, 2, 4]))
            cuts = tuple(sorted(rng.choice(np.arange(-8, 9), n_classes - 1, replace=False) / 8))
        if kind == "big":
            cuts = tuple(sorted(rng.choice([1e39, -1e39, 1e300, 1e37, 0.0], n_classes - 1, replace=False).tolist()))
        sums = Sums(start, numbers, divisor, cuts, bool(n_sums > 1 and rng.random() < 0.3))

    def value() -> Any:
        if sums is not None:
            return leaf(rng.choice(choices, len(sums.start)).tolist())
        if kind == "majority" or rng.random() < 0.3:
            return int(rng.integers(n_classes))
        return leaf(rng.choice(choices, n_classes).tolist())

    trees = [split("a", float(rng.integers(0, 8)), value(), value()) for _ in range(n_trees)]
    labels = list(range(n_classes))
    return build_forest(trees, columns=["a"], classes=labels, vote="sum" if sums else kind, sums=sums)


@pytest.mark.parametrize("kind", ["majority", "mean", "sum", "fine", "cuts", "steps", "big"])
def test_no_bound_excludes_the_label_itself(kind):
    """In a box of one cell the bound is the lead itself, so nothing hides what it is compared with."""
    excluded = kept = 0
    for seed in range(60):
        forest = near_tied(np.random.default_rng([seed, len(kind)]), kind)
        with contextlib.suppress(CheckError):  # sums that are no number
            certificate = tp.Explainer(forest, tabulate=False).abductive([0.0]).certificate()
            model = Model(forest_to_json(certificate.forest))
            space = check_module.Space(model, certificate.document["space"])
            uppers = space.features[0].uppers
            for cell, upper in enumerate(uppers):
                label = forest.predict_index([[upper]])[0]
                for winner, loser in itertools.permutations(range(model.n_classes), 2):
                    steps = [RIVAL, winner, PRICES, winner, loser, 0]
                    proof = check_module.Proof(space, {"unit": 0, "steps": steps, "tables": [[]]})
                    try:
                        proof.check([1 << cell], {winner})
                    except CheckError:
                        kept += 1
                        continue
                    assert label != winner, (forest, forest.sums, upper)
                    excluded += 1
    assert kept > 50
    assert excluded > 50 or kind == "big"


def test_the_checker_is_one_file_that_needs_nothing_of_the_package(tmp_path):
    names = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(CHECKER.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or "."] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names])
    }
    assert names <= sys.stdlib_module_names
    document, model = stump()
    shutil.copy(CHECKER, tmp_path / "checker.py")
    (tmp_path / "model.json").write_text(model, encoding="utf-8")
    (tmp_path / "right.json").write_text(json.dumps(document), encoding="utf-8")
    (tmp_path / "wrong.json.gz").write_bytes(gzip.compress(json.dumps({**document, "label": 1}).encode()))

    def run(certificate: str, *options: str, model: str = "model.json") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", "checker.py", certificate, model, *options]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)

    right, wrong = run("right.json"), run("wrong.json.gz")
    assert (right.returncode, right.stderr) == (0, "")
    assert right.stdout.startswith("Checked: a forces the label 0; it cannot be dropped (1 closed box).")
    assert (wrong.returncode, wrong.stdout) == (3, "")
    assert wrong.stderr == "Rejected: The model gives the instance the label 0, not 1.\n"
    assert run("right.json", "--row", "[0, 1]").returncode == 0
    assert "another row" in run("right.json", "--row", "[0, 2]").stderr
    assert "too large: over 25 bytes" in run("right.json", "--budget", "100").stderr
    (tmp_path / "latin.json").write_bytes(b"\xe9")
    for arguments in (["none.json"], ["right.json", "--row", "["], ["right.json", "more", "arguments"]):
        assert run(*arguments).returncode == 2
    unread = run("right.json", model="latin.json")
    assert (unread.returncode, unread.stderr.startswith("Cannot be read: 'utf-8' codec")) == (2, True)
    unread = run("right.json", model="right.json")
    assert (unread.returncode, unread.stderr.startswith("Cannot be read: The model must be")) == (2, True)


def test_the_copy_says_which_python_it_needs():
    code = CHECKER.read_text(encoding="utf-8")
    ast.parse(code, feature_version=(3, 8))  # an older Python reads it, and so comes to the sentence
    older = "import sys; sys.version_info = (3, 9); exec(compile(sys.stdin.read(), 'checker.py', 'exec'))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", older], input=code, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (1, "The checker needs Python 3.10 or newer.\n")


def test_the_copy_prints_what_the_terminal_has_no_letters_for(tmp_path):
    document, model = stump()
    named = model.replace('"name": "a"', '"name": "\\u00e4"')
    (tmp_path / "model.json").write_text(named, encoding="utf-8")
    right = json.dumps({**document, "model": hashlib.sha256(named.encode()).hexdigest()})
    (tmp_path / "right.json").write_text(right, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(CHECKER), "right.json", "model.json"],
        cwd=tmp_path,
        env={"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Checked: \\xe4 forces the label 0;")


def test_a_fault_of_the_checker_is_not_called_damage_alone(monkeypatch):
    document, model = stump()

    def faulty(*_: object) -> None:
        raise TypeError("a slip")

    monkeypatch.setattr(check_module.Claim, "_check_reason", faulty)
    rejected(document, model, r"it is damaged, or the checker has a fault \(TypeError: a slip\)")


def test_check_takes_a_certificate_or_its_file_and_the_model_in_any_form(tmp_path):
    X, y = load_iris(return_X_y=True)
    fitted = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    explainer = tp.Explainer(fitted)
    certificate = explainer.abductive(X[0]).certificate()
    certificate.save(tmp_path / "certificate.json.gz")
    tp.save_forest(explainer.forest, tmp_path / "forest.json")
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(fitted))
    expected = certificate.check()
    for form in (certificate, certificate.document, tmp_path / "certificate.json.gz"):
        for model in (fitted, explainer.forest, tmp_path / "forest.json", str(tmp_path / "forest.json")):
            assert tp.check(form, model) == expected
    assert tp.check(certificate, Model(forest_to_json(explainer.forest))) == expected
    assert tp.check(certificate, tmp_path / "model.pkl", trust=True) == expected
    with pytest.raises(tp.UnsafeFileError):
        tp.check(certificate, tmp_path / "model.pkl")
    other = RandomForestClassifier(5, max_depth=3, random_state=1).fit(X, y)
    with pytest.raises(tp.CheckError, match="about another model"):
        tp.check(certificate, other)
    with pytest.raises(FileNotFoundError):
        tp.check(tmp_path / "none.json", fitted)


def test_a_softmax_of_sums_that_overflow_has_no_label():
    large = LARGEST["float32"]
    trees = [split("a", 0, leaf([0.0, 1.0]), leaf([0.0, large])) for _ in range(2)]
    sums = Sums((0.0, 0.0), "float32", softmax=True)
    with np.errstate(all="ignore"):
        forest = build_forest(trees, columns=["a"], classes=[0, 1], vote="sum", sums=sums)
        assert forest.predict([[0], [1]]).tolist() == [1, 0]
        document = json.loads(tp.Explainer(forest, tabulate=False).abductive([0]).certificate().text)
    false = {**document, "box": {}, "witnesses": {}, "proof": {"unit": 0, "steps": [RIVAL, 0, LISTED], "tables": []}}
    rejected(false, forest_to_json(forest), "overflow")


@pytest.mark.parametrize(
    ("threshold", "classes", "numbers", "row", "condition"),
    [
        (LARGEST["float32"], [0, 1], "float64", 0, "a <= 3.4028234663852886e+38"),
        (-LARGEST["float32"], [1, 0], "float32", 0, "a >= -3.4028233e+38"),
    ],
)
def test_a_bound_at_the_end_of_other_numbers_is_said(threshold, classes, numbers, row, condition):
    forest = build_forest(
        [split("a", threshold, classes[0], classes[1])], columns=["a", "b"], classes=[0, 1], dtype=numbers
    )
    assert tp.Explainer(forest).abductive([row, 0]).certificate().check().conditions == [condition]


def test_names_that_could_be_taken_for_something_else_are_quoted():
    names = ["a", "b\nChecked: x", "a, b", "c ", "a <= 0.5 or d", "a/b", '"e"', "petal length (cm)"]
    shown = ["a", '"b\\nChecked: x"', '"a, b"', '"c "', '"a <= 0.5 or d"', '"a/b"', '"\\"e\\""', "petal length (cm)"]
    forest = build_forest([split("a", 0.5, 0, 1)], columns=names, classes=[0, 1])
    checked = tp.Explainer(forest).abductive([0] * 8).certificate().check()
    assert [value.rpartition(" = ")[0] for value in checked.row] == shown
    alike = build_forest([split("a", 0.5, 0, 1)], columns=["a", "b\n", '"b\\n"'], classes=[0, 1])
    assert len(set(Model(forest_to_json(alike)).column_names)) == 3


def test_missing_values_that_stand_apart_may_widen_a_condition():
    columns = [Column("a", missing="expected")]
    forest = build_forest([split("a", 0.5, 0, split("a", 1, 1, 0))], columns=columns, classes=[0, 1])
    why = tp.Explainer(forest).abductive([0], inflate=True)
    assert forest.predict([[math.nan]]).tolist() == [0]
    assert str(why).endswith("its condition cannot be widened, but perhaps by missing values.")
    assert "; no range can be extended, but perhaps by missing values (" in str(why.certificate().check())
    tree = split("b", 0, 1, split("a", 0.5, 0, split("a", 1, 1, 0)))
    both = build_forest([tree], columns=[*columns, "b"], classes=[0, 1])
    text = str(tp.Explainer(both).abductive([0, 1], inflate=True).certificate().check())
    assert "; no range can be extended, but perhaps by missing values (" in text
    plain = str(tp.Explainer(both, missing=[]).abductive([0, 1], inflate=True).certificate().check())
    assert "; no range can be extended (" in plain


def test_numbers_that_were_not_tried_may_widen_a_condition_of_missing_values():
    """Missing values go left in one tree and right in the other, as no number does."""
    trees = [
        split("a", 0, leaf([0.9, 0.1]), leaf([0.3, 0.7]), missing="yes"),
        split("a", 1, leaf([0.0, 1.0]), leaf([0.6, 0.4]), missing="no"),
    ]
    columns = [Column("a", missing="expected"), "b"]
    forest = build_forest(trees, columns=columns, classes=[0, 1], vote="mean")
    assert forest.predict([[math.nan, 0], [0, 0], [1, 0], [2, 0]]).tolist() == [0, 1, 1, 1]
    why = tp.Explainer(forest).abductive([math.nan, 0], inflate=True)
    assert "its condition cannot be widened, but perhaps by numbers." in str(why)
    assert "; no range can be extended, but perhaps by numbers (" in str(why.certificate().check())


def test_labels_that_look_alike_are_told_apart():
    forest = build_forest([split("a", 0.5, 0, 1)], columns=["a"], classes=[0, 1])
    model = json.loads(forest_to_json(forest))
    model["classes"]["labels"] = [1, "1"]
    assert Model(json.dumps(model)).names == ["1", '"1"']
    document, text = stump()
    rejected({**document, "instance": "00"}, text, "one value for each column")
    for path in (("columns", 0), ("classes",)):
        model = json.loads(text)
        at_path(model, path)["more"] = 1
        with pytest.raises(CheckError, match=r"be known|a dtype and labels"):
            Model(json.dumps(model))


def test_cuts_beyond_all_scores_are_no_trouble():
    names = list("abcdefghi")
    trees = [split(name, 0.5, leaf([-0.05]), leaf([0.05])) for name in names]
    forest = build_forest(trees, columns=names, classes=["any"], vote="sum", sums=Sums((0.0,), cuts=()))
    explainer = tp.Explainer(forest, cuts=[-100, 2, 50])
    for target in explainer.forest.classes.tolist():
        if target != explainer.abductive([0] * 9).label:
            for why in explainer.enumerate([0] * 9, target=target):
                text = why.certificate().check().text
                assert (
                    ("rule" in text and " out the label" in text) if why.features else "no input has the label" in text
                )
    assert tp.Explainer(forest, cuts=[-100, 2, 50], verify=True).contrastive([0] * 9, target=target)


def test_costs_may_be_far_apart():
    forest = build_forest([split("a", 0, 0, split("b", 0, 0, 1))], columns=["a", "b"], classes=[0, 1])
    why = tp.Explainer(forest).abductive([1, 1], minimum=True, cost={"a": 1e-20, "b": 3})
    assert "no set that costs less" in why.certificate().check().text
