"""An oracle that trusts nobody: every answer of the native one is checked by the independent checker before it is used.

An entailed answer must come with a proof that the checker accepts, of the features in its core alone; a refuted one
with an input to which the checker's own reading of the model gives the label. What fails is a bug, and raises.

Proofs and witnesses for a certificate are passed on as they are: the checker sees them there. Whole searches are not
offered, as no single answer inside them could be checked; they are run here question by question.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treeproof import checker
from treeproof.checker import CheckError, Model
from treeproof.errors import InternalError
from treeproof.model.files import forest_to_json
from treeproof.oracles.native import NativeOracle
from treeproof.proof.certificate import Certificate, describe, proof_of
from treeproof.query.context import Context
from treeproof.query.oracle import (
    Answer,
    Cancel,
    Entailed,
    Labels,
    Proof,
    Proves,
    Query,
    Refuted,
    Stays,
    Unknown,
    violates,
)
from treeproof.space.domains import Cells, Domain


class VerifiedOracle(Labels, Proves):
    """Answers as the oracle of `unchecked`, a native one, does, and checks each answer."""

    name = "verified"

    def __init__(self, unchecked: Context) -> None:
        assert isinstance(unchecked.oracle, NativeOracle)
        self.unchecked = unchecked
        self._native, self._space, self._cells = unchecked.oracle, unchecked.space, unchecked.cells
        self._model = Model(forest_to_json(unchecked.forest))
        self._checked = checker.Space(self._model, describe(self._space, self._cells))

    def decide(self, query: Query) -> Answer:
        """Answer the query; InternalError if the checker does not accept the answer."""
        answer = self._native.decide(query)
        try:
            if isinstance(answer, Refuted):
                self._check_witness(query, answer)
            elif isinstance(answer, Entailed) and not self._is_proved(query, answer):
                return Unknown("deadline")
        except CheckError as error:
            raise InternalError(f"The checker does not accept an answer; please report this. {error}") from error
        return answer

    def label(self, point: Sequence[int]) -> int:
        """Return the class index at `point`; InternalError if the checker reads another one from the model."""
        label = self._native.label(point)
        try:
            self._check_label(point, label)
        except CheckError as error:
            raise InternalError(f"The checker does not accept a label; please report this. {error}") from error
        return label

    @property
    def price_shift(self) -> int:
        """Prices in a proof are in units of 2 to the power of this, in scores."""
        return self._native.price_shift

    def prove(self, query: Query, cancel: Cancel | None = None) -> Proof | None:
        """Return the proof of an entailed query, not checked yet; None if there is none, or the deadline came first."""
        return self._native.prove(query, cancel)

    def witnesses(
        self, domains: Sequence[Domain], label: int, near: Cells, features: Sequence[int], deadline: float | None
    ) -> list[Cells]:
        """Return, for each feature, a point with it freed that has another label, not checked yet; empty if none."""
        return self._native.witnesses(domains, label, near, features, deadline)

    def check(self, certificate: Certificate) -> None:
        """Raise InternalError if the checker does not accept the certificate."""
        try:
            checker.check(certificate.text, self._model)
        except CheckError as error:
            raise InternalError(f"The checker does not accept an explanation; please report this. {error}") from error

    def _check_witness(self, query: Query, answer: Refuted) -> None:
        self._check_label(answer.witness, answer.label)
        inside = all(cell in domain for cell, domain in zip(answer.witness, query.domains, strict=True))
        if not violates(query.claim, answer.label) or not inside:
            raise CheckError(f"The witness {answer.witness} has the label {answer.label}, or lies outside.")

    def _check_label(self, point: Sequence[int], label: int) -> None:
        """Check that a row in these cells, as the checker locates it, has this label, as the checker evaluates it."""
        row = self._space.row(tuple(point), near=np.zeros(self._space.forest.n_columns)).tolist()
        if [feature.cell(row) for feature in self._checked.features] != list(point):
            raise CheckError(f"The row {row} lies in other cells.")
        if (read := self._model.label(row)) != label:
            raise CheckError(f"The row {row} has the label {read} and not {label}.")

    def _is_proved(self, query: Query, answer: Entailed) -> bool:
        """Check the proof with the core's restrictions alone; False if the deadline came before it was there."""
        domains = tuple(
            domain if f in answer.core else full
            for f, (domain, full) in enumerate(zip(query.domains, self._cells.full, strict=True))
        )
        relaxed = Query(domains, query.claim, query.deadline, query.near)
        proof = self._native.prove(relaxed)
        if proof is None:
            if query.deadline is not None:
                return False
            raise CheckError("There is no proof of it.")
        others = set(range(self._cells.n_classes)) - {query.claim.label}
        excluded = others if isinstance(query.claim, Stays) else {query.claim.label}
        box = [sum(1 << cell for cell in domain) for domain in domains]
        checker.Proof(self._checked, proof_of(self._native, self._cells, proof)).check(box, excluded)
        return True
