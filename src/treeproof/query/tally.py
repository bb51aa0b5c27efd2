"""How an answer was found: counts of questions and answers."""

from __future__ import annotations

from dataclasses import dataclass, fields
from operator import attrgetter

from treeproof._core import Tally

__all__ = ["Statistics", "Tally"]


@dataclass(frozen=True, slots=True)
class Statistics:
    """How a result was found.

    `entailed`, `refuted` and `unknown` count the oracle's answers, `remembered` the questions that earlier answers had
    settled; `longest_entailed` and `longest_refuted` are the seconds of the oracle's longest answers. `near_ties`
    counts answers that rest on float sums closer than rounding; they hold for trees added in their own order, as
    scikit-learn does unless it predicts with several jobs. `work` is the effort of the native oracle, in nodes that its
    bounds passed over: it is the same on every machine.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> stats = tp.Explainer(forest, oracle="brute").abductive(patient).stats
    >>> stats.oracle, stats.entailed, stats.refuted, stats.unknown
    ('brute', 2, 2, 0)
    """

    oracle: str
    seconds: float
    entailed: int
    refuted: int
    unknown: int
    remembered: int
    near_ties: int
    work: int
    longest_entailed: float
    longest_refuted: float

    @staticmethod
    def of(tally: Tally, oracle: str, seconds: float) -> Statistics:
        """Return the statistics of a search that asked so much."""
        return Statistics(oracle, seconds, *_counts_of(tally))

    def tally(self) -> Tally:
        """Return a tally that goes on counting from here."""
        tally = Tally()
        for field in fields(self)[2:]:
            setattr(tally, field.name, getattr(self, field.name))
        return tally


_counts_of = attrgetter(*(field.name for field in fields(Statistics)[2:]))  # what a Tally has under the same names
