"""How the leaves that a row reaches become a label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from treeproof.errors import InputError
from treeproof.model.floats import FLOATS, Floats, Numbers

Vote = Literal["majority", "mean", "sum"]


@dataclass(frozen=True, slots=True)
class Sums:
    """How sums of leaf values become a label: what boosted models, scores and cut-offs need beyond a mean.

    Parameters
    ----------
    start
        What each sum starts from, before the first tree.
    numbers
        In which numbers the model adds.
    divisor
        What sums are divided by in the end.
    cuts
        None: the first of the largest sums wins. Otherwise there is one sum, the score, and the label's index is the
        number of cuts, in ascending order, that it reaches.
    softmax
        Whether the largest of the softmax of the sums wins, which has ties where the sums themselves have none.
    """

    start: tuple[float, ...]
    numbers: Numbers = "float64"
    divisor: float = 1.0
    cuts: tuple[float, ...] | None = None
    softmax: bool = False

    @property
    def floats(self) -> Floats:
        """The numbers in which the model adds."""
        return FLOATS[self.numbers]


def check_vote(vote: Any) -> None:
    """Raise InputError unless this is a vote that trees can take."""
    if vote not in ("majority", "mean"):
        raise InputError(f"The 'vote' parameter must be 'majority' or 'mean'. Got {vote!r} instead.")
