"""What an encoding is: a formula for one claim, and the variables of each feature in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from treeproof.oracles.encodings.cnf import Formula, dimacs
from treeproof.oracles.encodings.features import FeatureVariables
from treeproof.query.oracle import Claim
from treeproof.space.domains import Clause, Domain


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
    clauses
        A literal for each constraint between features; the constraint is in force where the literal is assumed.
    """

    formula: Formula
    features: tuple[FeatureVariables, ...]
    cases: tuple[int, ...] = ()
    clauses: tuple[int, ...] = ()

    def dimacs(self, assumptions: Sequence[int], describe: Callable[[int, Domain], str]) -> str:
        """Return the formula and the assumptions as DIMACS text; comments say what variables mean."""
        meanings = {
            variable: describe(feature, domain)
            for feature, variables in enumerate(self.features)
            for variable, domain in variables.meanings()
        }
        return dimacs(self.formula, assumptions, meanings)


def with_clauses(encoding: Encoding, clauses: Sequence[Clause]) -> Encoding:
    """Return the encoding with constraints between features added to its formula, each with a switch."""
    switches = []
    for number, clause in enumerate(clauses):
        switch = encoding.formula.variable(f"rule {number + 1} is in force")
        literals = [literal for feature, domain in clause for literal in encoding.features[feature].any_of(domain)]
        encoding.formula.add(-switch, *literals)
        switches.append(switch)
    return replace(encoding, clauses=tuple(switches))


class Encoder(Protocol):
    """Encodes claims about one forest."""

    def encode(self, claim: Claim) -> Encoding:
        """Return the encoding of the claim's violation; the same one for the same claim."""
