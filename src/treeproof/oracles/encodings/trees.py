"""The parts of each tree that an encoding needs: splits that really divide the points that reach them."""

from __future__ import annotations

from dataclasses import dataclass

from treeproof.model.columns import LEAF
from treeproof.oracles.building import be_on_time
from treeproof.query.cells import CellForest
from treeproof.space.domains import Domain


@dataclass(frozen=True, slots=True)
class Split:
    """An inner node that some points leave to the left and some to the right; `cut` as in `CellForest`."""

    node: int
    feature: int
    cut: int
    left: int
    right: int


@dataclass(frozen=True, slots=True)
class Outline:
    """A tree without the nodes and branches that no point reaches, and without splits that divide nothing.

    `splits` has parents before children; a child is the node of a split or a key of `votes`, the class of
    each leaf.
    """

    root: int
    splits: tuple[Split, ...]
    votes: dict[int, int]


def outlines(forest: CellForest) -> tuple[Outline, ...]:
    """Return the outline of each tree, in order; it has the votes of the tree at every point.

    Both passes rely on children lying behind their parents, so that trees of any depth need no recursion.

    >>> from treeproof.model.examples import heart_disease
    >>> from treeproof.query.cells import discretise
    >>> from treeproof.space.declare import declare
    >>> first, *_ = outlines(discretise(declare(heart_disease()[0])))
    >>> [(split.feature, split.cut) for split in first.splits], first.votes
    ([(0, 0), (2, 0)], {1: 0, 3: 0, 4: 1})
    """
    feature, cut = forest.feature.tolist(), forest.cut.tolist()
    left, right = forest.source.left.tolist(), forest.source.right.tolist()
    label = forest.source.leaf_class.tolist()
    roots = forest.source.roots.tolist()
    found = []
    for root, end in zip(roots, [*roots[1:], len(feature)], strict=True):
        be_on_time()
        boxes: dict[int, dict[int, Domain]] = {root: {}}
        divided: list[int] = []
        votes: dict[int, int] = {}
        same: dict[int, int] = {}
        for node in range(root, end):
            box = boxes.pop(node, None)
            if box is None:
                continue
            f = feature[node]
            if f == LEAF:
                votes[node] = label[node]
                continue
            yes, no = _divide(forest, f, cut[node], box.get(f, forest.full[f]))
            if yes and no:
                divided.append(node)
                boxes[left[node]] = {**box, f: yes}
                boxes[right[node]] = {**box, f: no}
            else:
                same[node] = left[node] if yes else right[node]
                boxes[same[node]] = box
        for node in reversed(same):
            same[node] = same.get(same[node], same[node])
        found.append(
            Outline(
                same.get(root, root),
                tuple(
                    Split(
                        node,
                        feature[node],
                        cut[node],
                        same.get(left[node], left[node]),
                        same.get(right[node], right[node]),
                    )
                    for node in divided
                ),
                votes,
            )
        )
    return tuple(found)


def _divide(forest: CellForest, feature: int, cut: int, domain: Domain) -> tuple[Domain, Domain]:
    """Return the cells of the domain that go left and those that go right."""
    if isinstance(domain, range):
        middle = min(max(cut + 1, domain.start), domain.stop)
        return range(domain.start, middle), range(middle, domain.stop)
    left = forest.left_cells(feature, cut)
    return domain & left, domain - left
