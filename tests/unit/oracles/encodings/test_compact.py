from __future__ import annotations

import itertools

import numpy as np
import pytest
from pysat.solvers import Solver
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

from generators import cell_forests, random_query
from treeproof.model.build import build_forest, leaf, split
from treeproof.model.importers import import_model
from treeproof.oracles.encodings.compact import CompactEncoder
from treeproof.oracles.encodings.encoding import Encoding
from treeproof.oracles.encodings.paper import PaperEncoder
from treeproof.query.cells import CellForest, discretise
from treeproof.query.oracle import Never, Stays, restricted
from treeproof.query.scores import theta
from treeproof.space.declare import declare
from treeproof.space.domains import Domain


def cells_of(forest) -> CellForest:
    return discretise(declare(forest))


def assume(encoding: Encoding, forest: CellForest, domains: tuple[Domain, ...]) -> list[int]:
    return [
        literal
        for feature in restricted(forest, domains)
        for literal in encoding.features[feature].within(domains[feature])
    ]


def reachable_votes(forest: CellForest, domains: tuple[Domain, ...]) -> list[set[int]]:
    """The classes that each tree can vote for, on its own, somewhere in the domains."""
    votes: list[set[int]] = [set() for _ in range(forest.n_trees)]
    for point in itertools.product(*domains):
        for seen, reached in zip(votes, forest.leaves(point), strict=True):
            seen.add(int(forest.source.leaf_class[reached]))
    return votes


def test_propagation_alone_proves_what_counting_reachable_votes_proves():
    """The point of circuits: path clauses do not have this property."""
    proved = 0
    for i, forest in enumerate(cell_forests(250, seed=7)):
        if not all(forest.ordered) or forest.n_classes < 2:
            continue
        rng = np.random.default_rng(i)
        for _ in range(4):
            domains, label = random_query(rng, forest).domains, int(rng.integers(forest.n_classes))
            encoding = CompactEncoder(forest).encode(Stays(label))
            votes = reachable_votes(forest, domains)
            assumptions = assume(encoding, forest, domains)
            rivals = [k for k in range(forest.n_classes) if k != label]
            with Solver("minisat22", bootstrap_with=encoding.formula.clauses) as solver:
                for rival, case in zip(rivals, encoding.cases or [None], strict=True):
                    best = sum((rival in seen) - (seen == {label}) for seen in votes)
                    if best < theta(rival, label):
                        proved += 1
                        consistent, _ = solver.propagate(assumptions + ([] if case is None else [case]))
                        assert not consistent
    assert proved > 200


@pytest.mark.parametrize("n_classes", [1, 2, 3, 4])
def test_ties_go_to_the_first_class(n_classes):
    for given in itertools.product(range(n_classes), repeat=4):
        forest = cells_of(build_forest([leaf(v) for v in given], columns=["x"], classes=list(range(n_classes))))
        encoder = CompactEncoder(forest)
        for k in range(n_classes):
            for claim, expected in ((Stays(k), forest.label((0,)) != k), (Never(k), forest.label((0,)) == k)):
                with Solver("minisat22", bootstrap_with=encoder.encode(claim).formula.clauses) as solver:
                    assert solver.solve() == expected


def test_exactly_one_case_holds_in_every_model():
    forest = cells_of(
        build_forest(
            [split("x", t, a, split("y", t, b, c)) for t, a, b, c in [(0, 0, 1, 2), (1, 3, 2, 1), (2, 2, 3, 0)]],
            columns=["x", "y"],
            classes=[0, 1, 2, 3],
        )
    )
    encoding = CompactEncoder(forest).encode(Stays(0))
    assert len(encoding.cases) == 3
    reached = set()
    with Solver("minisat22", bootstrap_with=encoding.formula.clauses) as solver:
        for case, point in itertools.product(encoding.cases, itertools.product(*map(range, forest.n_cells))):
            at = tuple(forest.only(f, [cell]) for f, cell in enumerate(point))
            if solver.solve(assumptions=[case, *assume(encoding, forest, at)]):
                model = solver.get_model()
                assert [other for other in encoding.cases if model[other - 1] > 0] == [case]
                reached.add(case)
    assert len(reached) > 1


def test_two_classes_and_never_have_no_cases():
    two = cells_of(build_forest([split("x", 0, 0, 1)], columns=["x"], classes=[0, 1]))
    three = cells_of(build_forest([split("x", 0, 0, 1)], columns=["x"], classes=[0, 1, 2]))
    assert CompactEncoder(two).encode(Stays(0)).cases == ()
    assert CompactEncoder(three).encode(Never(0)).cases == ()


def test_equal_trees_share_their_circuit():
    tree = split("x", 0, 0, split("y", 0, split("z", 0, 0, 1), 1))
    sizes = [
        CompactEncoder(cells_of(build_forest([tree] * n, columns=["x", "y", "z"], classes=[0, 1])))
        .encode(Stays(0))
        .formula.n_variables
        for n in (1, 2)
    ]
    # Two equal trees: the same circuit, and the two outputs of a totalizer for their sum at most.
    assert sizes[1] - sizes[0] <= 2


def test_subtrees_of_one_class_need_no_variable():
    one = split("x", 0, split("y", 0, split("y", 1, 0, 0), split("x", 3, 0, 0)), 1)
    forest = cells_of(build_forest([one], columns=["x", "y"], classes=[0, 1]))
    encoding = CompactEncoder(forest).encode(Stays(0))
    features = {variable for variables in encoding.features for variable, _ in variables.meanings()}
    assert encoding.formula.n_variables == len(features)


@pytest.mark.parametrize("claim", [Stays(0), Stays(2), Never(1)])
def test_formulas_are_smaller_than_the_papers(claim):
    model = RandomForestClassifier(100, max_depth=6, random_state=0).fit(*load_iris(return_X_y=True))
    forest = cells_of(import_model(model, vote="majority"))
    compact, paper = (encoder(forest).encode(claim).formula for encoder in (CompactEncoder, PaperEncoder))
    assert compact.n_variables < paper.n_variables / 2
    assert len(compact.clauses) < len(paper.clauses)
