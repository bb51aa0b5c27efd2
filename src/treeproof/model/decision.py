"""How the leaves that a row reaches become a label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from treeproof.errors import InputError
from treeproof.model.floats import FLOATS, FloatName, Floats

Vote = Literal["majority", "mean", "sum"]


@dataclass(frozen=True, slots=True)
class Sums:
    """How sums of leaf values become a label: what boosted models, scores and cut-offs need beyond a mean.

    Parameters
    ----------
    start
        The initial value of each sum, before the first tree.
    dtype
        The float type in which the model adds.
    divisor
        What the final sums are divided by.
    cuts
        None: the first of the largest sums wins. Otherwise there is one sum, the score, and the label's index is the
        number of cuts, in ascending order, that it reaches.
    softmax
        Whether the largest softmax of the sums wins; it can have ties where the sums have none.
    """

    start: tuple[float, ...]
    dtype: FloatName = "float64"
    divisor: float = 1.0
    cuts: tuple[float, ...] | None = None
    softmax: bool = False

    @property
    def floats(self) -> Floats:
        """The float type in which the model adds."""
        return FLOATS[self.dtype]


def check_vote(vote: Any) -> None:
    """Raise InputError unless this is a vote of classification trees."""
    if vote not in ("majority", "mean"):
        raise InputError(f"The 'vote' parameter must be 'majority' or 'mean'. Got {vote!r} instead.")
