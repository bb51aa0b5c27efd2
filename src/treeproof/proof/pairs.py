"""Certificates about pairs of inputs that differ in some features alone.

The checker makes a model of the pair from the trees of the model (`checker.Pair`), so that the claim is one about a
label. Here that model is only asked for a proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from treeproof import checker
from treeproof.errors import UnsupportedQueryError
from treeproof.model.files import forest_from_json, forest_to_json
from treeproof.model.floats import rounded_down
from treeproof.model.forest import Forest
from treeproof.oracles.native import NativeOracle
from treeproof.proof.certificate import Certificate, certify
from treeproof.query.cells import discretise
from treeproof.query.context import Context
from treeproof.query.oracle import Claim, Never, Stays
from treeproof.query.scores import rounding_error
from treeproof.query.units import Units
from treeproof.space.declare import recut
from treeproof.space.features import Feature, NumericFeature
from treeproof.space.space import Space


def certify_pair(
    context: Context,
    features: Sequence[int],
    k: int,
    direction: int | None,
    most: Fraction,
    row: np.ndarray,
    deadline: float | None,
) -> Certificate:
    """Return a certificate that a change of the features alone changes sum k by no more than about `most`.

    With a direction, it is about changes against it, when the only feature grows. What is certified is larger than
    `most` by as much as rounding needs.
    """
    _require_plain(context)
    model, columns = checker.Model(forest_to_json(context.forest)), _columns(context, features)
    pair = {"columns": columns, "class": k, "direction": direction, "cut": (0.0).hex()}
    room = 2 * rounding_error(forest_from_json(_score_pair(model, pair).document()))
    pair["cut"] = float(np.nextafter(-rounded_down(-(most + room)), np.inf)).hex()
    made = forest_from_json(_score_pair(model, pair).document())
    found = _certify(context, features, made, Stays(0), row, deadline)
    return Certificate({**found.document, "model": model.fingerprint, "pair": pair}, context.forest)


def certify_independent(
    context: Context, features: Sequence[int], row: np.ndarray, deadline: float | None
) -> Certificate:
    """Return a certificate that the label depends on none of the features: a proof for every two labels."""
    _require_plain(context)
    model, columns = checker.Model(forest_to_json(context.forest)), _columns(context, features)
    pairs = []
    for a, b in combinations(range(context.forest.n_classes), 2):
        pair: dict[str, object] = {"columns": columns, "labels": [a, b], "room": (0.0).hex()}
        made = forest_from_json(_label_pair(model, pair).document())
        sizes = np.maximum.reduceat(np.abs(made.values).max(axis=1), made.roots)
        room = Fraction(float(sizes.sum())) / 2**50
        for _ in range(2):  # sums that were exact without any room are not with it
            pair["room"] = (-rounded_down(-room)).hex()
            made = forest_from_json(_label_pair(model, pair).document())
            room += 2 * rounding_error(made)
        found = _certify(context, features, made, Never(0), row, deadline)
        pairs.append({**found.document, "pair": pair})
    kept = {key: pairs[0][key] for key in ("format", "version")}
    document = {**kept, "model": model.fingerprint, "claim": "independent", "pairs": pairs}
    return Certificate(document, context.forest)


def _require_plain(context: Context) -> None:
    if context.cells.clauses:
        raise UnsupportedQueryError("There is no certificate about pairs of inputs under constraints.")
    if context.forest.decision.members:
        raise UnsupportedQueryError("There is no certificate about pairs where members of a model are rounded.")


def _columns(context: Context, features: Sequence[int]) -> list[int]:
    return [column for f in features for column in context.space.features[f].columns]


def _certify(
    context: Context, features: Sequence[int], made: Forest, claim: Claim, row: np.ndarray, deadline: float | None
) -> Certificate:
    """Return a certificate of a label of the pair's model, in the space of both inputs."""
    columns = _columns(context, features)
    kept = [recut(feature, made) for feature in context.space.features]
    copies = [_copy(context.space.features[f], columns, context.forest.n_columns) for f in features]
    space = Space(made, (*kept, *(recut(feature, made) for feature in copies)))
    cells = discretise(space)
    other = replace(
        context,
        forest=made,
        space=space,
        cells=cells,
        oracle=NativeOracle(cells),
        labels=made.classes.tolist(),
        units=Units(space.n_features, {}),
    )
    instance = other.locate(np.append(row, row[columns]).astype(made.floats.dtype))
    return certify(other, instance, claim, {}, minimal=False, deadline=deadline)


def _score_pair(model: checker.Model, pair: dict[str, object]) -> checker.ScorePair:
    return checker.ScorePair({"pair": pair, "model": model.fingerprint}, model, checker.Budget(float("inf")))


def _label_pair(model: checker.Model, pair: dict[str, object]) -> checker.LabelPair:
    return checker.LabelPair({"pair": pair, "model": model.fingerprint}, model, checker.Budget(float("inf")))


def _copy(feature: Feature, columns: Sequence[int], n_columns: int) -> Feature:
    """Return a feature of the second input: the same, of other columns."""
    name = f"{feature.name} changed"
    if isinstance(feature, NumericFeature):
        return replace(feature, name=name, column=n_columns + columns.index(feature.column))
    moved = tuple(n_columns + columns.index(column) for column in feature.columns)
    return replace(feature, name=name, columns=moved)  # type: ignore[type-var]
