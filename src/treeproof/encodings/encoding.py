"""What an encoding is: a formula for one claim, and the variables of each feature in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from treeproof.encodings.cnf import Formula, dimacs
from treeproof.encodings.features import FeatureVariables
from treeproof.query import Claim, Domain


@dataclass(frozen=True, slots=True)
class Encoding:
    """A formula whose models are, through the feature variables, exactly the points that violate one claim.

    Parameters
    ----------
    formula
        The formula; it knows nothing of any instance.
    features
        The variables of each feature, in order.
    cases
        Literals of which at least one holds in every model. They split the question into easier ones, which
        may be asked one after the other; empty if there is nothing to split.
    """

    formula: Formula
    features: tuple[FeatureVariables, ...]
    cases: tuple[int, ...] = ()

    def dimacs(self, assumptions: Sequence[int], describe: Callable[[int, Domain], str]) -> str:
        """Return the formula and the assumptions as DIMACS text; comments say what variables mean."""
        meanings = {
            variable: describe(feature, domain)
            for feature, variables in enumerate(self.features)
            for variable, domain in variables.meanings()
        }
        return dimacs(self.formula, assumptions, meanings)


class Encoder(Protocol):
    """Encodes claims about one forest."""

    def encode(self, claim: Claim) -> Encoding:
        """Return the encoding of the claim's violation; the same one for the same claim."""
