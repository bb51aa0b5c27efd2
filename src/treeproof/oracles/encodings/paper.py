"""The paper's encoding: a literal for each tree and class, and cardinality constraints that compare votes.

Izza and Marques-Silva, "On Explaining Random Forests with SAT" (IJCAI 2021), section "AXps for Random
Forests", paragraph "SAT Encoding".
"""

from __future__ import annotations

from typing import Literal, get_args

from treeproof.oracles.encodings.cardinality import Cardinality, at_least, exactly_one
from treeproof.oracles.encodings.cnf import Formula
from treeproof.oracles.encodings.encoding import Encoding
from treeproof.oracles.encodings.features import (
    FeatureVariables,
    IntervalVariables,
    OrderVariables,
    ValueVariables,
    left_sets,
)
from treeproof.oracles.encodings.trees import Outline, outlines
from treeproof.query.cells import CellForest
from treeproof.query.oracle import Claim, Stays
from treeproof.query.scores import theta

Votes = Literal["selected", "pairwise"]
"""How the votes of many rivals are compared with those of the predicted class."""

VOTES: tuple[str, ...] = get_args(Votes)


class PaperEncoder:
    """Encodes claims about a forest under majority vote as the paper does.

    The trees are encoded once, their votes compared for each claim. With two classes one constraint is
    enough, as the paper remarks, and `votes` has no effect; nor has it for the claim that a class never wins,
    which the paper does not treat: there all of the K-1 comparisons must hold.

    Parameters
    ----------
    forest
        The forest over cells.
    votes
        ``"pairwise"``: K-1 cardinality constraints, one for each rival, of which one must hold.
        ``"selected"``: the paper's reduction to two constraints over the votes of a selected rival.
    cardinality
        How cardinality constraints become clauses.
    """

    def __init__(
        self, forest: CellForest, *, votes: Votes = "selected", cardinality: Cardinality = "cardnetwrk"
    ) -> None:
        self._names = [str(label) for label in forest.source.classes.tolist()]
        self._n_trees = forest.n_trees
        self._n_classes = forest.n_classes
        self._comparison = votes
        self._cardinality = cardinality
        self._trees = Formula()
        self._features = tuple(self._variables(forest, f) for f in range(forest.n_features))
        self._votes = [
            [self._trees.variable(f"tree {tree + 1} votes {name}") for name in self._names]
            for tree in range(self._n_trees)
        ]
        for outline, votes_of_tree in zip(outlines(forest), self._votes, strict=True):
            self._add_paths(outline, votes_of_tree)
            exactly_one(self._trees, votes_of_tree, cardinality)

    def encode(self, claim: Claim) -> Encoding:
        """Return the encoding of the claim's violation."""
        formula = self._trees.copy()
        rivals = [k for k in range(self._n_classes) if k != claim.label]
        if not isinstance(claim, Stays):
            for rival in rivals:
                self._beats(formula, claim.label, rival)
        elif not rivals:
            formula.contradict()
        elif len(rivals) == 1:
            self._beats(formula, rivals[0], claim.label)
        elif self._comparison == "pairwise":
            self._one_beats(formula, rivals, claim.label)
        else:
            self._selected_beats(formula, claim.label)
        return Encoding(formula, self._features)

    def _variables(self, forest: CellForest, feature: int) -> FeatureVariables:
        n_cells = forest.n_cells[feature]
        if not forest.ordered[feature]:
            return ValueVariables(self._trees, n_cells, left_sets(forest, feature), self._cardinality)
        if n_cells <= 2:
            return OrderVariables(self._trees, n_cells)
        return IntervalVariables(self._trees, n_cells, self._cardinality)

    def _add_paths(self, outline: Outline, votes: list[int]) -> None:
        """Add equation (1): the literals of a path imply the vote at its end."""
        negated_path: dict[int, tuple[int, ...]] = {outline.root: ()}
        for split in outline.splits:
            left = self._features[split.feature].left(split.cut)
            so_far = negated_path[split.node]
            negated_path[split.left] = (*so_far, -left)
            negated_path[split.right] = (*so_far, left)
        for node, label in outline.votes.items():
            self._trees.add(*negated_path[node], votes[label])

    def _sum_of(self, winner: int, loser: int) -> tuple[list[int], int]:
        """Return literals and how many of them must hold for `winner` to beat `loser`: equations (3) and (4).

        The sum of the l_ik and the negated l_ij is at least M, or M+1 if the loser precedes. (The paper
        prints a strict comparison in (3) too; a tie goes to the first class, so that >= and its right-hand
        side M are meant.)
        """
        if self._n_classes == 2:
            return [votes[winner] for votes in self._votes], (self._n_trees + theta(winner, loser) + 1) // 2
        literals = [votes[winner] for votes in self._votes] + [-votes[loser] for votes in self._votes]
        return literals, self._n_trees + theta(winner, loser)

    def _beats(self, formula: Formula, winner: int, loser: int) -> None:
        literals, bound = self._sum_of(winner, loser)
        at_least(formula, literals, bound, self._cardinality)

    def _one_beats(self, formula: Formula, rivals: list[int], loser: int) -> None:
        """State that a rival beats the loser, by K-1 constraints, each with a variable as its switch."""
        switches = []
        for rival in rivals:
            switch = formula.variable(f"{self._names[rival]} beats {self._names[loser]}")
            before = len(formula.clauses)
            self._beats(formula, rival, loser)
            formula.clauses[before:] = [[-switch, *clause] for clause in formula.clauses[before:]]
            switches.append(switch)
        formula.add(*switches)

    def _selected_beats(self, formula: Formula, loser: int) -> None:
        """State that a rival beats the loser, by two constraints: for rivals before and after it.

        Each constraint counts variables z in place of a rival's votes. On each side exactly one selector p
        holds and says whose votes they are: those of a rival, or of a guaranteed winner, whom all trees vote
        for (the paper's p_0 and p_j). A guaranteed winner is allowed on one side only, so that the other
        side's rival really wins.
        """
        guaranteed = []
        for side, rivals in (("before", range(loser)), ("after", range(loser + 1, self._n_classes))):
            stand_ins = [
                formula.variable(f"tree {tree + 1} votes for the class selected {side} {self._names[loser]}")
                for tree in range(self._n_trees)
            ]
            bound = self._n_trees + (side == "after")
            negated = [-votes[loser] for votes in self._votes]
            at_least(formula, stand_ins + negated, bound, self._cardinality)
            nobody = formula.variable(f"no class {side} {self._names[loser]} is selected")
            for stand_in in stand_ins:
                formula.add(-nobody, stand_in)
            selectors = [nobody]
            for rival in rivals:
                selector = formula.variable(f"{self._names[rival]} is selected")
                for stand_in, votes in zip(stand_ins, self._votes, strict=True):
                    formula.add(-selector, -stand_in, votes[rival])
                    formula.add(-selector, stand_in, -votes[rival])
                selectors.append(selector)
            exactly_one(formula, selectors, self._cardinality)
            guaranteed.append(nobody)
        formula.add(*(-nobody for nobody in guaranteed))
