"""treeproof's own encoding: fewer variables and clauses than the paper's, and stronger propagation.

* Ordered features have order variables only; a value is two assumptions.
* A tree is a circuit, not a list of paths: a variable for each split says that the subtree votes as wanted,
  and three short clauses say what that asks of its branches. Unit propagation then sees at once that a tree
  can no longer vote as wanted; from paths a solver finds that out by trying. Subtrees that vote alike need no
  variable, and equal circuits are shared, also between trees.
* Implications go one way: from "the tree votes as wanted" to the features, and from the trees to their sum.
  The formula only asks for enough votes, so a vote that could be counted need not be.
"""

from __future__ import annotations

from collections.abc import Sequence

from treeproof.oracles.encodings.cardinality import above, exactly_one, totalizer
from treeproof.oracles.encodings.cnf import TRUE, Formula
from treeproof.oracles.encodings.encoding import Encoding
from treeproof.oracles.encodings.features import FeatureVariables, OrderVariables, ValueVariables, left_sets
from treeproof.oracles.encodings.trees import Outline, outlines
from treeproof.query.cells import CellForest
from treeproof.query.oracle import Claim, Stays
from treeproof.query.scores import theta


class CompactEncoder:
    """Encodes claims about a majority vote in formulas that are several times easier than the paper's.

    Parameters
    ----------
    forest
        The forest over cells.
    """

    def __init__(self, forest: CellForest) -> None:
        self._forest = forest
        # Trees with the same split at the root decide together; side by side, they meet early in the
        # totalizer. Against the order of training this saves up to a third of the time, on hard forests most.
        self._trees = sorted(enumerate(outlines(forest)), key=_first_split)

    def encode(self, claim: Claim) -> Encoding:
        """Return the encoding of the claim's violation; its cases are the rivals, where there are several."""
        writer = _Writer(self._forest, self._trees)
        rivals = [k for k in range(self._forest.n_classes) if k != claim.label]
        cases: tuple[int, ...] = ()
        if isinstance(claim, Stays):
            if not rivals:
                writer.formula.contradict()
            elif len(rivals) == 1:
                writer.beats(rivals[0], claim.label)
            else:
                cases = writer.one_beats(rivals, claim.label)
        elif len(rivals) == 1:
            writer.beats(claim.label, rivals[0])
        else:
            writer.beats_all(claim.label, rivals)
        return Encoding(writer.formula, writer.features, cases)


class _Writer:
    """Writes one formula."""

    def __init__(self, forest: CellForest, trees: Sequence[tuple[int, Outline]]) -> None:
        self.formula = Formula()
        self.features: tuple[FeatureVariables, ...] = tuple(
            OrderVariables(self.formula, n_cells)
            if ordered
            else ValueVariables(self.formula, n_cells, left_sets(forest, feature), "seqcounter")
            for feature, (n_cells, ordered) in enumerate(zip(forest.n_cells, forest.ordered, strict=True))
        )
        self._n_feature_variables = self.formula.n_variables
        self._names = [str(label) for label in forest.source.classes.tolist()]
        self._trees = trees
        self._circuits: dict[tuple[int, int, int], int] = {}

    def beats(self, winner: int, loser: int) -> None:
        """State, for two classes, that `winner` beats `loser`: enough trees vote for it."""
        needed = (len(self._trees) + theta(winner, loser) + 1) // 2
        missing = [[-vote] for vote in self._votes(self._only(winner), f"votes {self._names[winner]}")]
        self._at_most(missing, {TRUE: len(self._trees) - needed})

    def one_beats(self, rivals: Sequence[int], loser: int) -> tuple[int, ...]:
        """State that a rival beats the loser; return a literal for each rival, of which exactly one holds.

        With z_t: "tree t votes for the chosen rival" and b_t: "tree t does not vote for the loser", the rival
        wins iff sum z + sum b >= M + theta, that is, iff at most M - theta of them fail. A tree's failures
        are a unary number of 0, 1 or 2, as z_t implies b_t. In the circuit of z_t a leaf is the literal of
        its class: one circuit serves all rivals.
        """
        chosen = {k: self.formula.variable(f"{self._names[k]} beats {self._names[loser]}") for k in rivals}
        exactly_one(self.formula, list(chosen.values()), "seqcounter")
        leaves = [chosen.get(k, -TRUE) for k in range(len(self._names))]
        for_rival = self._votes(leaves, f"votes for the class that beats {self._names[loser]}")
        not_for_loser = self._votes(self._all_but(loser), f"does not vote {self._names[loser]}")
        failures = []
        for z, b in zip(for_rival, not_for_loser, strict=True):
            self.formula.add(-z, b)
            failures.append([-z, -b])
        self._at_most(failures, {chosen[k]: len(self._trees) - theta(k, loser) for k in rivals})
        return tuple(chosen.values())

    def beats_all(self, winner: int, losers: Sequence[int]) -> None:
        """State that `winner` beats each of the losers.

        The trees that do not vote for the winner and those that vote for a loser are at most M - theta
        together. The first sum is the same in all comparisons, so that each of them needs one more sum and M
        clauses.
        """
        missing = self._count(self._votes(self._only(winner), f"votes {self._names[winner]}"))
        for loser in losers:
            votes = self._count(self._votes(self._all_but(loser), f"does not vote {self._names[loser]}"))
            too_many = len(self._trees) - theta(winner, loser) + 1
            for i in range(too_many + 1):
                self.formula.add(-above(missing, i - 1), -above(votes, too_many - i - 1))

    def _only(self, label: int) -> list[int]:
        return [TRUE if k == label else -TRUE for k in range(len(self._names))]

    def _all_but(self, label: int) -> list[int]:
        return [-TRUE if k == label else TRUE for k in range(len(self._names))]

    def _count(self, votes: Sequence[int]) -> list[int]:
        """Return a totalizer's outputs for the number of votes that do not hold."""
        certain = [TRUE for vote in votes if vote == -TRUE]
        open_ = [[-vote] for vote in votes if abs(vote) != TRUE]
        return certain + totalizer(self.formula, open_, len(votes))

    def _at_most(self, numbers: Sequence[Sequence[int]], bounds: dict[int, int]) -> None:
        """State for each condition that, if it holds, the sum of the unary numbers is at most its bound."""
        certain = sum(literal == TRUE for number in numbers for literal in number)
        open_ = [[literal for literal in number if abs(literal) != TRUE] for number in numbers]
        outputs = totalizer(self.formula, [n for n in open_ if n], max(bounds.values()) - certain)
        for condition, bound in bounds.items():
            self.formula.add(-condition, -above(outputs, bound - certain))

    def _votes(self, leaves: Sequence[int], note: str) -> list[int]:
        """Return for each tree a literal that implies ``leaves[k]`` if the tree votes for class k."""
        votes = []
        for index, tree in self._trees:
            vote = self._circuit(tree, leaves)
            votes.append(vote)
            if self._n_feature_variables < vote < TRUE:
                known = self.formula.notes.get(vote)
                start = f"{known} and" if known else "only if"
                self.formula.notes[vote] = f"{start} tree {index + 1} {note}"
        return votes

    def _circuit(self, tree: Outline, leaves: Sequence[int]) -> int:
        value = {node: leaves[label] for node, label in tree.votes.items()}
        for split in reversed(tree.splits):
            left, right = value[split.left], value[split.right]
            value[split.node] = left if left == right else self._choice(split.feature, split.cut, left, right)
        return value[tree.root]

    def _choice(self, feature: int, cut: int, left: int, right: int) -> int:
        """Return a literal that implies `left` if the feature goes left at the cut, and `right` if not."""
        goes_left = self.features[feature].left(cut)
        if left == -right and abs(left) == TRUE:
            return goes_left if left == TRUE else -goes_left
        key = (goes_left, left, right)
        if key not in self._circuits:
            node = self._circuits[key] = self.formula.variable()
            self.formula.add(-node, -goes_left, left)
            self.formula.add(-node, goes_left, right)
            self.formula.add(-node, left, right)  # implied by the two, but propagation does not see that
        return self._circuits[key]


def _first_split(tree: tuple[int, Outline]) -> tuple[int, int, int]:
    index, outline = tree
    return (outline.splits[0].feature, outline.splits[0].cut, index) if outline.splits else (-1, -1, index)
