"""An oracle that trusts nobody: every answer of the native one is checked by the independent checker before it is used.

An entailed answer must come with a proof that the checker accepts, of the features in its core alone; a refuted one
with an input to which the checker's own reading of the model gives the label. What fails is a bug, and raises.
"""

from __future__ import annotations

import numpy as np

from treeproof.checker import CheckError, Model, Proof
from treeproof.checker import Space as CheckedSpace
from treeproof.errors import InternalError
from treeproof.model.files import forest_to_json
from treeproof.oracles.native import NativeOracle
from treeproof.proof.certificate import describe, proof_of
from treeproof.query.cells import CellForest
from treeproof.query.oracle import Answer, Entailed, Query, Refuted, Stays, Unknown, violates
from treeproof.space.space import Space


class VerifiedOracle:
    """Answers as the native oracle does, and checks each answer."""

    name = "verified"

    def __init__(self, space: Space, cells: CellForest, native: NativeOracle) -> None:
        self._space, self._cells, self._native = space, cells, native
        self.model = Model(forest_to_json(space.forest))
        self._checked = CheckedSpace(self.model, *describe(space, cells))

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

    def _check_witness(self, query: Query, answer: Refuted) -> None:
        row = self._space.row(answer.witness, near=np.zeros(self._space.forest.n_columns))
        label = self.model.label(row.tolist())
        inside = all(cell in domain for cell, domain in zip(answer.witness, query.domains, strict=True))
        if label != answer.label or not violates(query.claim, label) or not inside:
            raise CheckError(f"The witness {row.tolist()} has the label {label}, or lies outside.")
        if [feature.cell(row.tolist()) for feature in self._checked.features] != list(answer.witness):
            raise CheckError(f"The witness {row.tolist()} lies in other cells.")

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
        Proof(self._checked, proof_of(self._native, self._cells, proof)).check(box, excluded)
        return True
