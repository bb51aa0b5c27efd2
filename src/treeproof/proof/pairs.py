"""Certificates about pairs: two inputs that differ in some features alone, or one input of two models.

The checker makes a model of the pair from the trees of the model, or of both (`checker.Pair`), so that the claim is one
about a label. Here that model is only asked for a proof.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from treeproof import checker
from treeproof.errors import InternalError, UnsupportedQueryError
from treeproof.model.columns import Rows
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
from treeproof.space.constraints import Constraint
from treeproof.space.declare import recut
from treeproof.space.domains import Domain, as_domain
from treeproof.space.features import Feature, NumericFeature
from treeproof.space.space import Space


@dataclass(frozen=True, eq=False)
class Meant:
    """The inputs that a certificate is about: those of a context in these domains, `row` being one of them.

    They are pairs of inputs that differ in the `features` alone, or, if there are none, single ones.
    """

    context: Context
    domains: Sequence[Domain]
    row: Rows
    features: Sequence[int] = ()
    growing: bool = False  # whether the features grow: then they are not missing

    @property
    def columns(self) -> list[int]:
        """The columns of the features."""
        return [column for f in self.features for column in self.context.space.features[f].columns]

    def certify(self, made: Forest, claim: Claim, deadline: float | None) -> Mapping[str, Any]:
        """Return a certificate of a label of the pair's model, in the space of both inputs."""
        space, columns, n = self.context.space, self.columns, self.context.forest.n_columns
        # Where constraints or conditions cut cells, the pair's model has all cells of the space, in the same order.
        kept = {f: domain for f, domain in enumerate(self.domains) if len(domain) < space.features[f].n_cells}
        finer = bool(kept or space.constraints)
        of = [*range(space.n_features), *self.features]
        whole = [*space.features, *(_copy(space.features[f], columns, n) for f in self.features)]
        if self.growing:
            whole = [_number(feature) if f in self.features else feature for f, feature in zip(of, whole, strict=True)]
        features = tuple(whole if finer else (recut(feature, made) for feature in whole))
        copies = {f: space.n_features + i for i, f in enumerate(self.features)}
        both = Space(made, features, (*space.constraints, *_again(space.constraints, copies)))
        cells = discretise(both)
        context = replace(
            self.context,
            forest=made,
            space=both,
            cells=cells,
            oracle=NativeOracle(cells),
            labels=made.classes.tolist(),
            units=Units(both.n_features, {}),
        )
        box = {i: kept[f] for i, f in enumerate(of) if f in kept}
        if self.growing:
            box |= {i: _numbers(box[i], space.features[f]) for i, f in enumerate(of) if f in self.features and i in box}
        instance = context.locate(np.append(self.row, self.row[columns]).astype(made.floats.dtype))
        try:
            return certify(context, instance, claim, box, minimal=False, deadline=deadline).document
        except InternalError as error:  # the pair's model rounds more than the model itself
            raise UnsupportedQueryError(
                "There is no certificate: the result could not be proved again in the model of pairs that the checker "
                "makes. Its sums are rounded once more, so what holds by no more than rounding may have no proof there."
            ) from error


def certify_pair(meant: Meant, k: int, direction: int | None, most: Fraction, deadline: float | None) -> Certificate:
    """Return a certificate that a change of the features alone changes sum k by no more than about `most`.

    With a direction, it is about changes against it, when the only feature grows. What is certified is larger than
    `most` by as much as rounding needs.
    """
    forest = meant.context.forest
    model = checker.Model(forest_to_json(forest))
    pair = {"columns": meant.columns, "class": k, "direction": direction, "cut": (0.0).hex()}

    def made(room: Fraction) -> Forest:
        pair["cut"] = _above(most + room + _of_members(forest)).hex()
        return forest_from_json(checker.ScorePair({"pair": pair}, model, None, _UNLIMITED).document())

    found = meant.certify(_with_room(made), Stays(0), deadline)
    return Certificate({**found, "model": model.fingerprint, "pair": pair}, forest)


def certify_independent(meant: Meant, deadline: float | None) -> Certificate:
    """Return a certificate that the label depends on none of the features: a proof for every two labels."""
    forest = meant.context.forest
    model = checker.Model(forest_to_json(forest))
    labels = list(combinations(range(forest.n_classes), 2))
    return Certificate(_all_labels(meant, model, None, labels, deadline), forest)


def certify_same(meant: Meant, old: Forest, new: Forest, deadline: float | None) -> Certificate:
    """Return a certificate that two models give the same label to every input: a proof for every two labels."""
    model, other = (checker.Model(forest_to_json(forest)) for forest in (old, new))
    names = model.classes, other.classes
    labels = [(a, b) for a, one in enumerate(names[0]) for b, two in enumerate(names[1]) if one != two]
    return Certificate(_all_labels(meant, model, other, labels, deadline), old, new)


def certify_identical(old: Forest, new: Forest) -> Certificate:
    """Return a certificate that two models have the same trees, and add them up in the same way."""
    model, other = (checker.Model(forest_to_json(forest)) for forest in (old, new))
    return Certificate({**_head(model, other), "claim": "identical"}, old, new)


def certify_gap(
    meant: Meant,
    old: Forest,
    new: Forest,
    classes: tuple[int, int],
    most: Fraction,
    deadline: float | None,
) -> Certificate:
    """Return a certificate that the scores of two models differ by no more than about `most`.

    What is certified is larger than that by as much as rounding needs.
    """
    model, other = (checker.Model(forest_to_json(forest)) for forest in (old, new))
    pair: dict[str, Any] = {"classes": list(classes), "cuts": [(-1.0).hex(), (1.0).hex()]}
    about = {**_head(model, other), "pair": pair}
    gap = checker.ScoreGap(about, model, other, _UNLIMITED)
    members = sum(_of_members(one) * times for one, times in zip((old, new), gap.times, strict=True))

    def made(room: Fraction) -> Forest:
        cut = _above(most * gap.divisor + room + members)
        pair["cuts"] = [(-cut).hex(), cut.hex()]
        return forest_from_json(checker.ScoreGap(about, model, other, _UNLIMITED).document())

    found = meant.certify(_with_room(made), Stays(1), deadline)
    return Certificate({**found, **about}, old, new)


_UNLIMITED = checker.Budget(float("inf"))


def _head(model: checker.Model, other: checker.Model | None) -> dict[str, Any]:
    head = {"format": "treeproof-certificate", "version": checker.VERSION, "model": model.fingerprint}
    return head if other is None else {**head, "other": other.fingerprint}


def _all_labels(
    meant: Meant,
    model: checker.Model,
    other: checker.Model | None,
    labels: Sequence[tuple[int, int]],
    deadline: float | None,
) -> dict[str, Any]:
    """Return a certificate with a proof for each two labels that are not both given."""
    head, columns = _head(model, other), {} if other else {"columns": meant.columns}
    pairs = []
    for a, b in labels:
        pair: dict[str, Any] = {**columns, "labels": [a, b], "room": (0.0).hex()}

        def made(room: Fraction, pair: dict[str, Any] = pair) -> Forest:
            pair["room"] = (-rounded_down(-room)).hex()
            return forest_from_json(checker.LabelPair({"pair": pair}, model, other, _UNLIMITED).document())

        found = meant.certify(_with_room(made), Never(0), deadline)
        pairs.append({**{key: value for key, value in found.items() if key not in head}, "pair": pair})
    kept = {key: head[key] for key in ("format", "version")}
    claim = "independent" if other is None else "same"
    return {**head, "claim": claim, "pairs": [{**kept, **pair} for pair in pairs]}


def _with_room(made: Callable[[Fraction], Forest]) -> Forest:
    """Return the pair's model with as much room beside what is claimed as the rounding of its values and sums needs."""
    forest = made(Fraction(0))
    sizes = np.maximum.reduceat(np.abs(forest.values).max(axis=1), forest.roots)
    room = Fraction(float(sizes.sum()) + max(map(abs, forest.decision.start))) / 2**50
    for _ in range(2):  # sums that were exact without any room are not with it
        forest = made(room)
        room += 2 * rounding_error(forest)
    return made(room)


def _of_members(forest: Forest) -> Fraction:
    """Return by how much differences of the sums of members, which were rounded to floats, may be off."""
    return 2 * rounding_error(forest) if forest.decision.members else Fraction(0)


def _above(value: Fraction) -> float:
    """Return a number that is larger, but hardly."""
    return float(np.nextafter(-rounded_down(-value), np.inf))


def _number(feature: Feature) -> Feature:
    """Return a feature of numbers without missing values."""
    assert isinstance(feature, NumericFeature)
    return replace(feature, missing_cell=None, apart=False)


def _numbers(domain: Domain, feature: Feature) -> Domain:
    """Return the cells of a domain in the same feature without missing values."""
    assert isinstance(feature, NumericFeature)
    return as_domain(frozenset(feature.place(cell) for cell in domain if cell != feature.missing_cell), ordered=True)


def _again(constraints: Sequence[Constraint], copies: Mapping[int, int]) -> list[Constraint]:
    """Return those constraints that mention a copied feature, once more for the copies."""

    def moved(conditions: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(replace(one, feature=copies.get(one.feature, one.feature)) for one in conditions)

    return [
        Constraint(f"{one.text} (changed)", moved(one.unless), moved(one.conditions))
        for one in constraints
        if any(part.feature in copies for part in (*one.unless, *one.conditions))
    ]


def _copy(feature: Feature, columns: Sequence[int], n_columns: int) -> Feature:
    """Return a feature of the second input: the same, of other columns."""
    name = f"{feature.name} changed"
    if isinstance(feature, NumericFeature):
        return replace(feature, name=name, column=n_columns + columns.index(feature.column))
    moved = tuple(n_columns + columns.index(column) for column in feature.columns)
    return replace(feature, name=name, columns=moved)  # type: ignore[type-var]
