"""treeproof's own encoding: fewer variables and clauses than the paper's, and stronger propagation.

* Ordered features have order variables only; a value is two assumptions.
* A tree is a circuit, not a list of paths: a variable for each split says that the subtree votes as wanted, and three
  short clauses say what that asks of its branches. Unit propagation then sees at once that a tree can no longer vote as
  wanted, which a solver finds out from paths only by trying. Subtrees that vote alike need no variable, and equal
  circuits are shared, also between trees.
* Implications go one way: from "the tree votes as wanted" to the features, and from the trees to their sum. Votes that
  may be denied need no definition, since the formula only asks for enough of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from treeproof.cells import CellForest, theta
from treeproof.encodings.cardinality import above, exactly_one, totalizer
from treeproof.encodings.cnf import TRUE, Formula
from treeproof.encodings.encoding import Encoding
from treeproof.encodings.features import FeatureVariables, OrderVariables, ValueVariables
from treeproof.encodings.trees import Outline, outlines
from treeproof.query import Claim, Stays


class CompactEncoder:
    """Encodes claims about a forest under majority vote; formulas are several times easier than the paper's.

    Parameters
    ----------
    forest
        The forest over cells.
    """

    def __init__(self, forest: CellForest) -> None:
        self._forest = forest
        # Trees with the same split at the root decide together; side by side, they meet early in the totalizer.
        # Measured against the order of training, this saves about a fifth of the time.
        self._outlines = sorted(outlines(forest), key=_first_split)

    def encode(self, claim: Claim) -> Encoding:
        """Return the encoding of the claim's violation; its cases are the rivals, where there are several."""
        writer = _Writer(self._forest, self._outlines)
        label = claim.label
        rivals = [k for k in range(self._forest.n_classes) if k != label]
        cases: tuple[int, ...] = ()
        if isinstance(claim, Stays):
            if not rivals:
                writer.formula.contradict()
            elif len(rivals) == 1:
                writer.beats(rivals[0], label)
            else:
                cases = writer.one_beats(rivals, label)
        elif len(rivals) == 1:
            writer.beats(label, rivals[0])
        else:
            writer.beats_all(label, rivals)
        return Encoding(writer.formula, writer.features, cases)


class _Writer:
    """Writes one formula."""

    def __init__(self, forest: CellForest, trees: Sequence[Outline]) -> None:
        self.formula = Formula()
        self.features: tuple[FeatureVariables, ...] = tuple(
            OrderVariables(self.formula, n_cells)
            if ordered
            else ValueVariables(self.formula, n_cells, forest.left_sets, "seqcounter")
            for n_cells, ordered in zip(forest.n_cells, forest.ordered, strict=True)
        )
        self._names = [str(label) for label in forest.source.classes.tolist()]
        self._trees = trees
        self._circuits: dict[tuple[int, int, int], int] = {}

    def beats(self, winner: int, loser: int) -> None:
        """State, for two classes, that `winner` beats `loser`: at least half of the trees vote for it."""
        allowed = len(self._trees) - (len(self._trees) + theta(winner, loser) + 1) // 2
        leaf = [TRUE if k == winner else -TRUE for k in range(len(self._names))]
        misses = [[-self._circuit(tree, leaf)] for tree in self._trees]
        self._at_most(misses, {TRUE: allowed})

    def one_beats(self, rivals: Sequence[int], loser: int) -> tuple[int, ...]:
        """State that one of the rivals beats the loser; return a literal for each rival of which exactly one holds.

        With z_t: "tree t votes for the chosen rival" and b_t: "tree t does not vote for the loser", the rival wins iff
        sum z + sum b >= M + theta, that is, iff at most M - theta of them fail. A tree's failures are a unary number of
        0, 1 or 2, for z_t implies b_t; the rival's literal is the leaf of its class in the circuit of z_t.
        """
        chosen = {k: self.formula.variable(f"{self._names[k]} beats {self._names[loser]}") for k in rivals}
        exactly_one(self.formula, list(chosen.values()), "seqcounter")
        votes_rival = [chosen.get(k, -TRUE) for k in range(len(self._names))]
        not_loser = [TRUE if k in chosen else -TRUE for k in range(len(self._names))]
        failures = []
        for tree in self._trees:
            z, b = self._circuit(tree, votes_rival), self._circuit(tree, not_loser)
            self.formula.add(-z, b)
            failures.append([-z, -b])
        self._at_most(failures, {chosen[k]: len(self._trees) - theta(k, loser) for k in rivals})
        return tuple(chosen.values())

    def beats_all(self, winner: int, losers: Sequence[int]) -> None:
        """State that `winner` beats each of the losers.

        The trees that do not vote for the winner and those that vote for a loser are at most M - theta together. The
        winner's sum is the same in all comparisons, so that each of them needs one more sum and M clauses.
        """
        n_trees = len(self._trees)
        missing = self._count([TRUE if k == winner else -TRUE for k in range(len(self._names))])
        for loser in losers:
            votes = self._count([-TRUE if k == loser else TRUE for k in range(len(self._names))])
            too_many = n_trees - theta(winner, loser) + 1
            for i in range(too_many + 1):
                self.formula.add(-above(missing, i - 1), -above(votes, too_many - i - 1))

    def _count(self, leaf: Sequence[int]) -> list[int]:
        """Return a totalizer's outputs for the number of trees whose leaf is not allowed."""
        numbers = [[-self._circuit(tree, leaf)] for tree in self._trees]
        certain = [TRUE for [literal] in numbers if literal == TRUE]
        open_ = [[literal] for [literal] in numbers if abs(literal) != TRUE]
        return certain + totalizer(self.formula, open_, len(self._trees))

    def _at_most(self, numbers: Sequence[Sequence[int]], allowed: dict[int, int]) -> None:
        """State that the sum of unary numbers is at most the bound whose condition holds."""
        certain = sum(literal == TRUE for number in numbers for literal in number)
        open_ = [kept for number in numbers if (kept := [literal for literal in number if abs(literal) != TRUE])]
        outputs = totalizer(self.formula, open_, max(allowed.values()) - certain)
        for condition, bound in allowed.items():
            self.formula.add(-condition, -above(outputs, bound - certain))

    def _circuit(self, tree: Outline, leaf: Sequence[int]) -> int:
        """Return a literal that implies ``leaf[k]``, where k is the class that the tree votes for.

        Conversely, where ``leaf[k]`` holds the literal may hold too. For a split x with branches p and q the variable r
        of the node has the clauses r and x imply p, r and not x imply q, and, for propagation, r implies p or q.
        """
        value = {node: leaf[label] for node, label in tree.votes.items()}
        for split in reversed(tree.splits):
            left, right = value[split.left], value[split.right]
            value[split.node] = left if left == right else self._choice(split.feature, split.cut, left, right)
        return value[tree.root]

    def _choice(self, feature: int, cut: int, left: int, right: int) -> int:
        goes_left = self.features[feature].left(cut)
        if left == -right and abs(left) == TRUE:
            return goes_left if left == TRUE else -goes_left
        key = (goes_left, left, right)
        if key not in self._circuits:
            node = self._circuits[key] = self.formula.variable()
            self.formula.add(-node, -goes_left, left)
            self.formula.add(-node, goes_left, right)
            self.formula.add(-node, left, right)
        return self._circuits[key]


def _first_split(tree: Outline) -> tuple[int, int]:
    return (tree.splits[0].feature, tree.splits[0].cut) if tree.splits else (-1, -1)
