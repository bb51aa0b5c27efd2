"""The rows of a report: their answers, with certificates and what the independent checker said about them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from treeproof.errors import TreeproofError
from treeproof.questions.abductive import Abductive
from treeproof.questions.contrastive import Contrastive
from treeproof.questions.result import Result


@dataclass(frozen=True, slots=True)
class Filed:
    """An answer, or the error in its place, and the state of its certificate.

    `certificate` is the content of the file `name`, which is about the model in the file `forest`. `accepted` is what
    the independent checker decided, and `remark` what it said; without a certificate, None, and why there is none.
    """

    result: Result | TreeproofError
    name: str = ""
    forest: str = ""
    certificate: bytes | None = None
    accepted: bool | None = None
    remark: str = ""

    @property
    def sha256(self) -> str:
        """The fingerprint of the certificate's file."""
        return hashlib.sha256(self.certificate or b"").hexdigest()

    @property
    def answer(self) -> Any:
        """The result, unless there is an error in its place."""
        return None if isinstance(self.result, TreeproofError) else self.result

    @property
    def is_open(self) -> bool:
        """Whether a deadline came before the answer was complete."""
        return self.answer is not None and not self.answer.decided

    @property
    def late(self) -> bool:
        """Whether a deadline came before the answer, or its certificate, was complete."""
        answer = self.answer
        if answer is None:
            return False
        return not answer.decided or (self.certificate is None and answer.status in ("minimal", "minimum"))


@dataclass(frozen=True, slots=True)
class ReportedRow:
    """One row of a report: why it gets its label, what would change that, or why there is no answer.

    `why` and `change` are None unless requested; if the row itself cannot be read, both are None and `error` says why.
    """

    row: int
    why: Filed | None = None
    change: Filed | None = None
    error: TreeproofError | None = None

    @property
    def answers(self) -> list[Filed]:
        """What was asked about the row, with its certificates."""
        return [filed for filed in (self.why, self.change) if filed is not None]

    @property
    def results(self) -> list[Abductive | Contrastive]:
        """What was answered about the row, without errors."""
        return [filed.answer for filed in self.answers if filed.answer is not None]

    @property
    def failed(self) -> bool:
        """Whether something about the row could not be answered."""
        return self.error is not None or any(filed.answer is None for filed in self.answers)
