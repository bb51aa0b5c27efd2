"""How the leaves that a row reaches become a label."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from treeproof.errors import require_one_of
from treeproof.model.floats import FLOATS, FloatName, Floats

Vote = Literal["majority", "mean", "sum"]


@dataclass(frozen=True, slots=True)
class Member:
    """Trees that are added on their own: their sum is rounded before it is added to what the others give.

    Parameters
    ----------
    first, last
        The trees, by number: from `first` up to, but not including, `last`.
    start
        The initial value of each of the member's sums.
    divisor
        What these sums are divided by.
    weight
        What the quotients are then multiplied by; not negative.
    dtype
        The float type in which the member adds, divides and multiplies.
    """

    first: int
    last: int
    start: tuple[float, ...]
    divisor: float = 1.0
    weight: float = 1.0
    dtype: FloatName = "float64"

    @property
    def floats(self) -> Floats:
        """The float type in which the member adds."""
        return FLOATS[self.dtype]

    def moved(self, n_trees: int) -> Member:
        """Return the member as it is behind so many other trees."""
        return replace(self, first=self.first + n_trees, last=self.last + n_trees)


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
    members
        Models that the model combines, in the order of their trees; one that is part of another comes before it. Trees
        of no member are added as they are.
    sigmoid
        If not None, the largest 1 / (1 + exp(-sigmoid * sum)) wins, in float64; it can have such ties, too.
    """

    start: tuple[float, ...]
    dtype: FloatName = "float64"
    divisor: float = 1.0
    cuts: tuple[float, ...] | None = None
    softmax: bool = False
    members: tuple[Member, ...] = ()
    sigmoid: float | None = None

    @property
    def floats(self) -> Floats:
        """The float type in which the model adds."""
        return FLOATS[self.dtype]

    @property
    def negated(self) -> Sums:
        """The same of leaves with negative values, but for cuts: rounding treats both signs alike."""
        members = tuple(replace(member, start=_negative(member.start)) for member in self.members)
        return replace(self, start=_negative(self.start), members=members)

    @property
    def opened(self) -> dict[int, list[Member]]:
        """By number of a tree: the members whose first one it is, the outer ones first."""
        found: dict[int, list[Member]] = {}
        for member in reversed(self.members):
            found.setdefault(member.first, []).append(member)
        return found

    @property
    def closed(self) -> dict[int, list[Member]]:
        """By number of a tree: the members whose last one it is, the inner ones first."""
        found: dict[int, list[Member]] = {}
        for member in self.members:
            found.setdefault(member.last - 1, []).append(member)
        return found


def _negative(numbers: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(0.0 - number for number in numbers)


def check_vote(vote: Any) -> None:
    """Raise InputError unless this is a vote of classification trees."""
    require_one_of("vote", vote, ("majority", "mean"))
