"""Certificates: explanations that travel with their proof, for people who trust neither the solver nor the C++ core.

A certificate is a JSON document (docs/certificates.md describes it); `treeproof.checker` is the checker, one file that
imports nothing of this package. Making one asks the native oracle once more for the proof, and for witnesses.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from treeproof import checker
from treeproof.checker import LENGTHS, LISTED, ORDERED, PRICES, RIVAL, SET, VERSION, Checked, Model
from treeproof.errors import InputError, InternalError, TreeproofError, UnsupportedQueryError
from treeproof.model.columns import Column, Rows
from treeproof.model.files import FORMAT, forest_from_json, forest_to_json, json_pieces, load_model, write_whole
from treeproof.model.forest import Forest
from treeproof.model.importers import import_model
from treeproof.model.rows import as_row
from treeproof.oracles.native import NativeOracle
from treeproof.query.cache import Cache
from treeproof.query.cells import CellForest
from treeproof.query.context import Context, Instance
from treeproof.query.oracle import (
    Claim,
    Entailed,
    Never,
    Proof,
    Proves,
    Query,
    Refuted,
    Stays,
    expired,
    fix,
    restricted,
    violates,
)
from treeproof.space.domains import Cells, Domain, as_domain
from treeproof.space.features import Feature, NumericFeature, ValueFeature
from treeproof.space.space import Space

COMPRESS_FROM = 2**16  # bytes
LIST_UP_TO = 256  # points: these take the checker some hundredths of a second


@dataclass(frozen=True, eq=False)
class Certificate:
    """A proved claim as a JSON document, beside the model that it is about.

    ``why.certificate()`` makes it. `document` is the JSON as plain data and `text` as text, in the format of
    ``docs/certificates.md``; `forest` is the model, which a checker needs as well, and `other` the second model, if it
    is about two. `check` lets the independent checker read all of them, and `save` writes the document.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> certificate = tp.Explainer(forest).abductive(patient).certificate()
    >>> certificate
    Certificate(minimal, ... bytes)
    >>> certificate.document["claim"], certificate.check().leaves
    ('minimal', 1)
    """

    document: Mapping[str, Any]
    forest: Forest
    other: Forest | None = None

    @cached_property
    def text(self) -> str:
        """The document as JSON."""
        return json.dumps(self.document, separators=(",", ":"), allow_nan=False)

    def check(self) -> Checked:
        """Check the certificate with the independent checker; CheckError if it fails."""
        other = None if self.other is None else forest_to_json(self.other)
        return checker.check(self.text, forest_to_json(self.forest), other=other)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the document, compressed if the file ends in .gz or the document is large; whole or not at all."""
        write_whole(path, self.content(zipped=str(path).endswith(".gz")))

    def content(self, *, zipped: bool = False) -> bytes:
        """Return what `save` writes: the text, compressed if it is large or `zipped`."""
        content = self.text.encode()
        return gzip.compress(content, mtime=0) if zipped or len(content) > COMPRESS_FROM else content

    def __repr__(self) -> str:
        return f"Certificate({self.document['claim']}, {len(self.text):,} bytes)"


def check(
    certificate: Any,
    model: Any,
    other: Any = None,
    *,
    row: Any = None,
    budget: float = checker.BUDGET,
    trust: bool = False,
) -> Checked:
    """Check a certificate against a model with the independent checker; `CheckError` says why it is rejected.

    Parameters
    ----------
    certificate : Certificate, dict, str, or path
        What ``why.certificate()`` returned, its document, its text, or the file that it was saved to.
    model : fitted model, Forest, path, or treeproof.checker.Model
        The model it must be about. The checker reads it in the form of `save_forest`; a model in another form is
        imported first, by the package. ``Model(text)`` is read only once for many certificates. If the explainer had
        a vote, threshold, confidence or cuts of its own, that is part of its model: pass ``explainer.forest``.
    other : the same, optional
        The second model, if it is about two.
    row : row, optional
        The row that it must be about: a list, an array, a dict or a Series, in the model's columns.
    budget : number
        How many steps the check may take, and a quarter as many bytes the unpacked file: about a minute by default.
    trust : bool
        Whether a model may be read from a pickle, which can execute code.

    Returns
    -------
    Checked
        In words, what is proved.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> print(tp.check(tp.Explainer(forest).abductive(patient).certificate(), forest))
    Checked: blocked-arteries, chest-pain force the label Yes; none of them can be dropped (1 closed box).
      blocked-arteries >= 0.50000006
      chest-pain >= 0.50000006
    Row: blocked-arteries = 1, good-blood-circulation = 0, chest-pain = 1, weight = 70
    Model: ..., the most votes of 3 trees
    """
    if isinstance(certificate, Certificate):
        certificate = certificate.document
    elif isinstance(certificate, str) and certificate.lstrip().startswith("{"):
        certificate = _parsed(certificate, budget)
    elif isinstance(certificate, str | os.PathLike):
        certificate = checker.read(certificate, budget)
    second = other if other is None or isinstance(other, Model) else model_text(other, trust, budget)
    if isinstance(model, Model):
        return checker.check(certificate, model, row, budget, second)
    text = model_text(model, trust, budget)
    if row is not None:
        forest = forest_from_json(text)
        numbers = as_row(row, forest.columns, forest.floats).tolist()
        row = [_value(number, column) for number, column in zip(numbers, forest.columns, strict=True)]
    return checker.check(certificate, text, row, budget, second)


def _parsed(text: str, budget: float) -> Any:
    """Return the document in the text of a certificate; CheckError if it is too large for the budget."""
    checker.Budget(budget).spend(checker.BYTE_STEPS * len(text))
    try:
        return checker.parse(text)
    except checker.DAMAGED as error:
        raise checker.CheckError(f"The certificate is damaged: {type(error).__name__}: {error}.") from error


def _value(number: float, column: Column) -> Any:
    """Return a value of a row as the checker takes it: a category as such, None if it is missing."""
    if column.categories is not None:
        return column.categories[int(number)]
    return None if math.isnan(number) else number


def model_text(model: Any, trust: bool, budget: float = math.inf) -> str:
    """Return the model as the checker reads it: a file in that form as it is, without being interpreted.

    CheckError if it is too large for the budget of a check.
    """
    if isinstance(model, str | os.PathLike):
        path = Path(model)
        try:
            text = checker.read_model(path, budget) if path.suffix == ".json" else ""
        except UnicodeDecodeError as error:
            raise InputError(f"A model in JSON must be UTF-8. Got {str(path)!r}: {error}.") from error
        if f'"{FORMAT}"' in text[:200]:
            return text
        model = load_model(path, trust=trust)
    return forest_to_json(model if isinstance(model, Forest) else import_model(model))


_FINGERPRINTS: WeakKeyDictionary[Forest, str] = WeakKeyDictionary()


def fingerprint(forest: Forest, deadline: float | None = None) -> str:
    """Return what identifies a forest: the SHA-256 of its JSON, as the checker computes it, once for each forest."""
    if forest not in _FINGERPRINTS:
        digest = hashlib.sha256()
        for piece in json_pieces(forest):
            if expired(deadline):
                raise _unproved(deadline)
            digest.update(checker.unmarked(piece).encode())
        _FINGERPRINTS[forest] = digest.hexdigest()
    return _FINGERPRINTS[forest]


Other = TypeVar("Other", Refuted, frozenset[int])


@dataclass(frozen=True, slots=True)
class Cheapest(Generic[Other]):
    """Why no set costs less: the features' costs in whole units (None: each costs 1), and what every set must meet.

    A set of features that forces the claim meets what differs from the instance in each of these witnesses; a change
    meets each of these sets, which force the claim.
    """

    costs: list[int] | None
    others: tuple[Other, ...]


def certify(
    context: Context,
    instance: Instance,
    claim: Claim,
    domains: Mapping[int, Domain],
    *,
    minimal: bool,
    widest: bool = False,
    cheapest: Cheapest[Refuted] | None = None,
    deadline: float | None = None,
) -> Certificate:
    """Return a certificate that `domains`, kept features and their cells, force the claim.

    With `minimal`, also witnesses that no feature can be dropped; with `widest`, that no condition can be widened;
    with `cheapest`, that no other features cost less. With a ball, features that are not kept stay there. With groups,
    `minimal` and `cheapest` are about these: a group is dropped as a whole and counts as one.
    """
    cells, oracle = context.cells, _prover(context)
    free = instance.free or cells.full
    box = tuple(domains.get(f, domain) for f, domain in enumerate(free))
    cache = Cache(cells, oracle, instance.point, claim, deadline)
    proof = _prove(oracle, cells, Query(box, claim, deadline, instance.point))
    units = context.units
    dropped = sorted(units.touched(domains)) if minimal else []

    # None can be dropped from the instance's own cells either, which are those of the plain explanation.
    own = tuple(cells.only(f, (instance.point[f],)) if f in domains else domain for f, domain in enumerate(free))

    def refuted(instead: Mapping[int, Domain], others: Sequence[Domain] = box) -> Cells:
        """Return a point of the box, but for these features, that breaks the claim."""
        answer = cache.decide(tuple(instead.get(f, domain) for f, domain in enumerate(others)))
        return answer.witness if isinstance(answer, Refuted) else ()

    def row(point: Cells) -> dict[str, Any]:
        if not point:
            raise _unproved(deadline)
        return _row(context.space, point, instance)

    if isinstance(claim, Stays) and instance.free is None and not units.groups:
        found = oracle.witnesses(own, claim.label, instance.point, dropped, deadline)
    else:
        found = [refuted({f: free[f] for f in units.members[unit]}, own) for unit in dropped]

    def beside(f: int) -> list[Any]:
        """Return a row in each cell by which the condition on a feature may be widened."""
        return [row(refuted({f: cells.only(f, (cell,))})) for cell in _beside(context.space.features[f], domains[f])]

    document = {
        **_common(context, instance, claim, deadline),
        "claim": "minimal" if minimal else "sufficient",
        "box": {str(f): _runs(domain) for f, domain in sorted(domains.items())},
        "witnesses": {str(f): row(point) for f, point in zip(dropped, found, strict=True)},
        "wider": {str(f): beside(f) for f in sorted(domains)} if widest else None,
        "minimum": cheapest and {"costs": cheapest.costs, "changes": [row(other.witness) for other in cheapest.others]},
        "proof": proof,
        **_around(context, instance),
        **_groups(context),
    }
    return Certificate(document, context.forest)


def certify_change(
    context: Context,
    instance: Instance,
    claim: Claim,
    features: Iterable[int],
    witness: Rows,
    *,
    cheapest: Cheapest[frozenset[int]] | None = None,
    deadline: float | None = None,
) -> Certificate:
    """Return a certificate that a change of the features violates the claim, and with any of them kept none does.

    With `cheapest`, also that no change costs less. With a ball, all of that is about changes that stay there. With
    groups, the features must be all those of some units, of which each is kept as a whole, and counts as one.
    """
    cells, changed = context.cells, frozenset(features)
    everything, oracle, members = frozenset(range(cells.n_features)), _prover(context), context.units.members

    def proof(kept: frozenset[int]) -> dict[str, Any]:
        return _prove(oracle, cells, _kept(context, instance, claim, kept, deadline))

    minimum = cheapest and {
        "costs": cheapest.costs,
        "reasons": [{"features": sorted(reason), "proof": proof(reason)} for reason in cheapest.others],
    }
    document = {
        **_common(context, instance, claim, deadline),
        "claim": "change",
        "changed": sorted(changed),
        "witness": _differences(instance.row, witness),
        "minimum": minimum,
        "proofs": {
            str(unit): proof(everything - changed.difference(members[unit]))
            for unit in sorted(context.units.touched(changed))
        },
        **_around(context, instance),
        **_groups(context),
    }
    return Certificate(document, context.forest)


def certify_complete(
    context: Context,
    instance: Instance,
    claim: Claim,
    reasons: Iterable[frozenset[int]],
    changes: Iterable[Refuted],
    *,
    deadline: float | None = None,
) -> Certificate:
    """Return a certificate that these are all sets of units that force the claim, and all whose change violates it.

    So a unit that is in none of them is irrelevant.
    """
    oracle, units = _prover(context), context.units
    document = {
        **_common(context, instance, claim, deadline),
        "claim": "complete",
        "reasons": [
            {
                "features": sorted(those),
                "proof": _prove(oracle, context.cells, _kept(context, instance, claim, those, deadline)),
            }
            for those in map(units.features, reasons)
        ],
        "changes": [_row(context.space, change.witness, instance) for change in changes],
        **_around(context, instance),
        **_groups(context),
    }
    return Certificate(document, context.forest)


def certify_audit(
    context: Context,
    features: Iterable[int],
    rows: Sequence[tuple[Instance, Cells | None]],
    *,
    deadline: float | None = None,
) -> Certificate:
    """Return a certificate of what a change of the features alone does in each row: the cells it leads to, or None."""
    free = frozenset(features)
    others, oracle = frozenset(range(context.cells.n_features)) - free, _prover(context)
    first = rows[0][0]

    def audited(instance: Instance, flip: Cells | None) -> dict[str, Any]:
        row = {"row": _differences(first.row, instance.row)}
        if flip is not None:
            return {**row, "witness": _differences(first.row, context.space.row(flip, near=instance.row))}
        query = _kept(context, instance, Stays(instance.label), others, deadline)
        return {**row, "proof": _prove(oracle, context.cells, query)}

    document = {
        **_common(context, first, Stays(first.label), deadline),
        "claim": "audit",
        "free": sorted(free),
        "rows": [audited(*row) for row in rows],
        **_groups(context),
    }
    return Certificate(document, context.forest)


def _kept(context: Context, instance: Instance, claim: Claim, kept: frozenset[int], deadline: float | None) -> Query:
    """Return the question whether these features, kept in the instance's cells, force the claim."""
    own = fix(context.cells, instance.point, kept)
    box = own if instance.free is None else tuple(own[f] if f in kept else d for f, d in enumerate(instance.free))
    return Query(box, claim, deadline, instance.point)


def _around(context: Context, instance: Instance) -> dict[str, Any]:
    """Return the cells that features stay in, if the claim is about the inputs near the instance."""
    if instance.free is None:
        return {}
    return {"around": {str(f): _runs(instance.free[f]) for f in sorted(restricted(context.cells, instance.free))}}


def _groups(context: Context) -> dict[str, Any]:
    """Return the features that are kept or freed together, and count as one, if there are such."""
    groups = context.units.groups
    return {"groups": [{"name": name, "features": list(those)} for name, those in groups.items()]} if groups else {}


_PROVERS: WeakKeyDictionary[Context, Proves] = WeakKeyDictionary()  # of contexts whose oracle gives no proofs


def _prover(context: Context) -> Proves:
    if isinstance(context.oracle, Proves):
        return context.oracle
    if context not in _PROVERS:
        _PROVERS[context] = NativeOracle(context.cells)
    return _PROVERS[context]


_SAME: WeakKeyDictionary[Context, dict[str, Any]] = WeakKeyDictionary()  # what all certificates of a context say


def _common(context: Context, instance: Instance, claim: Claim, deadline: float | None) -> dict[str, Any]:
    """Return what every certificate says: which model, which space, which instance, what is claimed of it."""
    if context not in _SAME:
        same = {"format": "treeproof-certificate", "version": VERSION, "model": fingerprint(context.forest, deadline)}
        _SAME[context] = {**same, "space": describe(context.space, context.cells)}
    return {
        **_SAME[context],
        "instance": [_hex(value) for value in instance.row.tolist()],
        "label": instance.label,
        "target": claim.label if isinstance(claim, Never) else None,
    }


def _prove(oracle: Proves, cells: CellForest, query: Query) -> dict[str, Any]:
    """Return the proof of a query that holds: a box of few points is listed, a larger one split and bounded.

    Where ordered domains have holes, that of the box with filled holes, if that holds; else it is split at a hole.
    """
    filled = tuple(
        domain if isinstance(domain, range) or not ordered else range(min(domain), max(domain) + 1)
        for domain, ordered in zip(query.domains, cells.ordered, strict=True)
    )
    if filled != query.domains:
        answer = oracle.decide(replace(query, domains=filled))
        astray = None
        if isinstance(answer, Refuted):
            astray = next((f for f, cell in enumerate(answer.witness) if cell not in query.domains[f]), None)
        if astray is not None:
            assert isinstance(answer, Refuted)
            return _prove_sides(oracle, cells, query, astray, answer.witness[astray])
        query = replace(query, domains=filled)
    if math.prod(map(len, query.domains)) <= LIST_UP_TO and isinstance(oracle.decide(query), Entailed):
        return listed(cells, query.claim)
    proof = oracle.prove(query)
    if proof is None:
        raise _unproved(query.deadline)
    return proof_of(oracle, cells, proof)


def _prove_sides(oracle: Proves, cells: CellForest, query: Query, f: int, hole: int) -> dict[str, Any]:
    """Return the proof that splits the box at a hole of a feature's domain, and proves both sides."""
    below = frozenset(cell for cell in query.domains[f] if cell < hole)
    sides = [
        _prove(
            oracle, cells, replace(query, domains=(*query.domains[:f], as_domain(side, True), *query.domains[f + 1 :]))
        )
        for side in (below, frozenset(query.domains[f]) - below)
    ]
    first, second = _trees(cells, sides[0]["steps"], 0), _trees(cells, sides[1]["steps"], len(sides[0]["tables"]))
    steps = [n for k in first for n in (RIVAL, k, ORDERED, f, 0, hole, *first[k], *second[k])]
    unit = next((side["unit"] for side in sides if side["tables"]), 0)
    return {"unit": unit, "steps": steps, "tables": [table for side in sides for table in side["tables"]]}


def _trees(cells: CellForest, steps: Sequence[int], offset: int) -> dict[int, list[int]]:
    """Return the split tree of each class that a proof excludes, with the numbers of its tables moved by an offset."""
    trees: dict[int, list[int]] = {}
    at = 0
    while at < len(steps):
        rival, still_open = steps[at + 1], 1
        tree: list[int] = []
        at += 2
        while still_open:
            step = steps[at]
            split = step in (ORDERED, SET)
            n = (
                3
                if step == ORDERED
                else 1 + 2 * -(-cells.n_cells[steps[at + 1]] // 64)
                if step == SET
                else LENGTHS[step]
            )
            tree += steps[at : at + 1 + n]
            if step == PRICES:
                tree[-1] += offset
            still_open += 1 if split else -1
            at += 1 + n
        trees[rival] = tree
    return trees


def listed(cells: CellForest, claim: Claim) -> dict[str, Any]:
    """Return the proof that asks the checker to evaluate every point."""
    excluded = [k for k in range(cells.n_classes) if violates(claim, k)]
    return {"unit": 0, "steps": [number for k in excluded for number in (RIVAL, k, LISTED)], "tables": []}


def _beside(feature: Feature, domain: Domain) -> list[int]:
    """Return the cells by which a condition may be widened: of numbers the next ones, of values all others."""
    others = [cell for cell in range(feature.n_cells) if cell not in domain]
    if not isinstance(feature, NumericFeature):
        return others
    places = {feature.place(cell) for cell in domain if cell != feature.missing_cell}
    near = {feature.cell_of(place + step) for place in places for step in (-1, 1)}
    # A cell of numbers is next to missing values only if there are no numbers yet: these may stand apart.
    joins = [cell for cell in others if not places or cell == feature.missing_cell]
    return [c for c in others if c in near or (c in joins and (c - 1 in domain or c + 1 in domain))]


def describe(space: Space, cells: CellForest) -> dict[str, Any]:
    """Return what is declared of a space beyond what the model takes, as a certificate has it.

    The cells follow from that: numbers are cut at the model's thresholds, and where constraints need it, at `cuts`.
    """
    forest, whole, one_hot = space.forest, [], []
    found: dict[str, dict[str, Any]] = {key: {} for key in ("bounds", "values", "missing", "cuts")}
    for f, feature in enumerate(space.features):
        if isinstance(feature, ValueFeature):
            categories = forest.columns[feature.columns[0]].categories
            if categories is None:
                one_hot.append(list(feature.columns))
            codes = np.argmax(feature.points, axis=1) if categories is None else feature.points[:, 0].astype(np.int64)
            if feature.n_cells < len(categories or feature.columns):
                found["values"][str(f)] = _runs(codes.tolist())
            continue
        assert isinstance(feature, NumericFeature)
        column, largest = forest.columns[feature.column], feature.floats.largest
        ends, cuts = (float(feature.lows[0]), float(feature.highs[-1])), forest.thresholds_of(feature.column)
        if ends != (max(column.low, -largest), min(column.high, largest)):
            found["bounds"][str(f)] = [_hex(end) for end in ends]
        if feature.kind != "real":
            whole.append(f)
            cuts = np.floor(cuts)
        if feature.missing_cell is not None:
            found["missing"][str(f)] = feature.missing_cell
        if further := np.setdiff1d(feature.highs[:-1], cuts).tolist():
            found["cuts"][str(f)] = [_hex(cut) for cut in further]
    clauses = [[[f, _runs(domain)] for f, domain in clause] for clause in cells.clauses]
    declared = {"one_hot": one_hot, "whole": whole, **found, "clauses": clauses}
    return {key: value for key, value in declared.items() if value}


def _runs(cells: Iterable[int]) -> list[int]:
    """Return numbers as the first and the last of each run of them.

    >>> _runs({1, 2, 3, 7})
    [1, 3, 7, 7]
    """
    if isinstance(cells, range):
        return [cells[0], cells[-1]]
    chosen = set(cells)
    return sorted([c for c in chosen if c - 1 not in chosen] + [c for c in chosen if c + 1 not in chosen])


def proof_of(oracle: Proves, cells: CellForest, proof: Proof) -> dict[str, Any]:
    """Return an oracle's proof as a certificate has it."""
    return {"unit": oracle.price_shift - cells.exponent, "steps": proof.steps, "tables": proof.tables}


def _unproved(deadline: float | None) -> TreeproofError:
    if deadline is not None:
        return UnsupportedQueryError("Timed out before the proof was complete; allow more time.")
    return InternalError("A claim that was proved could not be proved again; please report this.")


def _row(space: Space, witness: Cells, instance: Instance) -> dict[str, Any]:
    """Return the row of a witness by what it changes of the instance."""
    return _differences(instance.row, space.row(witness, near=instance.row))


def _differences(old: Rows, new: Rows) -> dict[str, Any]:
    """Return the values of one row, by column, that are not those of the other."""
    pairs = enumerate(zip(old.tolist(), new.tolist(), strict=True))
    return {str(column): _hex(b) for column, (a, b) in pairs if a != b and not (math.isnan(a) and math.isnan(b))}


def _hex(value: float) -> str | None:
    return None if math.isnan(value) else float(value).hex()
