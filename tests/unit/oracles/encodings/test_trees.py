from __future__ import annotations

import itertools

from generators import cell_forests
from treeproof.model.build import build_forest, leaf, split
from treeproof.oracles.encodings.trees import Outline, outlines
from treeproof.query.cells import CellForest, discretise
from treeproof.space.declare import declare


def walk(forest: CellForest, outline: Outline, point: tuple[int, ...]) -> tuple[int, list[int]]:
    splits = {split.node: split for split in outline.splits}
    node, met = outline.root, []
    while node in splits:
        met.append(node)
        at = splits[node]
        node = at.left if forest.goes_left(node, point[at.feature]) else at.right
    return outline.votes[node], met


def test_outlines_vote_like_the_trees_and_have_only_splits_that_divide():
    dropped = 0
    for forest in cell_forests(150, seed=3, n_columns=3):
        found = outlines(forest)
        assert len(found) == forest.n_trees
        ways: set[tuple[int, bool]] = set()
        for point in itertools.product(*map(range, forest.n_cells)):
            leaves = forest.leaves(point)
            for outline, reached in zip(found, leaves, strict=True):
                vote, met = walk(forest, outline, point)
                assert vote == forest.source.leaf_class[reached]
                ways |= {(node, forest.goes_left(node, point[forest.feature[node]])) for node in met}
        splits = [split.node for outline in found for split in outline.splits]
        assert ways == {(node, way) for node in splits for way in (True, False)}
        dropped += int((forest.feature >= 0).sum()) - len(splits)
    assert dropped > 0


def test_parents_come_before_children():
    for forest in cell_forests(20, seed=4):
        for outline in outlines(forest):
            seen = {outline.root}
            for split_ in outline.splits:
                assert split_.node in seen
                seen |= {split_.left, split_.right}
            assert seen == {split_.node for split_ in outline.splits} | set(outline.votes)


def test_a_tree_may_be_deeper_than_python_recurses():
    # Built from the arrays of a chain, because building it from nested calls would recurse.
    depth = 3000
    shallow = build_forest([split("x", 0, 0, 1)], columns=["x"], classes=[0, 1])
    chain = type(shallow)(
        roots=[0],
        feature=[0, -1] * depth + [-1],
        threshold=[value for i in range(depth) for value in (float(i), float("nan"))] + [float("nan")],
        subset=[-1] * (2 * depth + 1),
        left=[child for i in range(depth) for child in (2 * i + 1, -1)] + [-1],
        right=[child for i in range(depth) for child in (2 * i + 2, -1)] + [-1],
        values=[row for i in range(depth) for row in ([0, 0], [1, 0] if i % 2 else [0, 1])] + [[1, 0]],
        subsets=(),
        classes=shallow.classes,
        columns=shallow.columns,
        importances=shallow.importances,
        vote="majority",
    )
    (outline,) = outlines(discretise(declare(chain)))
    assert len(outline.splits) == depth


def test_a_single_leaf_is_its_own_root():
    forest = discretise(declare(build_forest([leaf(1)], columns=["x"], classes=[0, 1])))
    assert outlines(forest) == (Outline(0, (), {0: 1}),)
