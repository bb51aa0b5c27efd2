from __future__ import annotations

import pytest
from pysat.solvers import Solver

from treeproof.model.build import build_forest, leaf, split
from treeproof.model.examples import heart_disease
from treeproof.oracles.encodings.cardinality import at_least
from treeproof.oracles.encodings.cnf import Formula
from treeproof.oracles.encodings.paper import PaperEncoder
from treeproof.query.cells import CellForest, discretise
from treeproof.query.oracle import Never, Stays
from treeproof.space.declare import declare


def constant_votes(*votes: int, n_classes: int) -> CellForest:
    """A forest of leaves: every point has these votes."""
    forest = build_forest([leaf(vote) for vote in votes], columns=["x"], classes=list(range(n_classes)))
    return discretise(declare(forest))


def satisfiable(formula: Formula) -> bool:
    with Solver("glucose3", bootstrap_with=formula.clauses) as solver:
        return solver.solve()


def test_the_running_example_has_the_papers_clauses():
    forest = discretise(declare(heart_disease()[0]))
    encoding = PaperEncoder(forest).encode(Stays(1))
    # x1, x2, x3 and w hold for the second cell of their feature; our variables for the first.
    x1, x2, x3, w = (-variables.left(0) for variables in encoding.features)
    variable = {note: variable for variable, note in encoding.formula.notes.items()}
    no = {tree: variable[f"tree {tree} votes No"] for tree in (1, 2, 3)}
    yes = {tree: variable[f"tree {tree} votes Yes"] for tree in (1, 2, 3)}
    paths = [
        [-x1, -x3, yes[1]],
        [-x1, x3, no[1]],
        [x1, no[1]],
        [-x2, no[2]],
        [x2, -w, yes[2]],
        [x2, w, no[2]],
        [-x2, -x1, yes[3]],
        [-x2, x1, no[3]],
        [x2, -x3, yes[3]],
        [x2, x3, no[3]],
    ]
    one_class = [clause for tree in (1, 2, 3) for clause in ([no[tree], yes[tree]], [-no[tree], -yes[tree]])]
    two_of_three = Formula()
    two_of_three.n_variables = yes[3]
    at_least(two_of_three, list(no.values()), 2, "cardnetwrk")
    expected = [*paths, *one_class, *two_of_three.clauses]
    assert sorted(map(sorted, encoding.formula.clauses)) == sorted(map(sorted, expected))
    assert encoding.formula.n_variables == two_of_three.n_variables


@pytest.mark.parametrize("votes", ["selected", "pairwise"])
@pytest.mark.parametrize(
    ("given", "label"),
    [
        ([0, 1, 2], 0),
        ([2, 1, 2, 1], 1),
        ([2, 2, 1, 1, 0], 1),
        ([3, 3, 3, 0, 0, 0], 0),
        ([3, 3, 3, 3, 0, 0, 0], 3),
        ([2], 2),
    ],
)
def test_ties_go_to_the_first_class(votes, given, label):
    encoder = PaperEncoder(constant_votes(*given, n_classes=4), votes=votes)
    for k in range(4):
        assert satisfiable(encoder.encode(Stays(k)).formula) == (k != label)
        assert satisfiable(encoder.encode(Never(k)).formula) == (k == label)


def test_two_classes_need_one_constraint():
    encoder = PaperEncoder(constant_votes(0, 0, 1, 1, n_classes=2))
    assert not satisfiable(encoder.encode(Stays(0)).formula)
    assert satisfiable(encoder.encode(Stays(1)).formula)
    sizes = [encoder.encode(claim).formula.n_variables for claim in (Stays(0), Stays(1))]
    pairwise = PaperEncoder(constant_votes(0, 0, 1, 1, n_classes=2), votes="pairwise")
    assert [pairwise.encode(claim).formula.n_variables for claim in (Stays(0), Stays(1))] == sizes


def test_selecting_a_rival_needs_two_constraints_however_many_rivals_there_are():
    few, many = (constant_votes(*[0] * 30, n_classes=n) for n in (4, 12))
    growth = {
        votes: [len(PaperEncoder(forest, votes=votes).encode(Stays(1)).formula.clauses) for forest in (few, many)]
        for votes in ("selected", "pairwise")
    }
    assert growth["selected"][1] < 2 * growth["selected"][0]
    assert growth["pairwise"][1] > 3 * growth["pairwise"][0]


def test_one_class_cannot_change():
    encoder = PaperEncoder(constant_votes(0, 0, n_classes=1))
    assert not satisfiable(encoder.encode(Stays(0)).formula)
    assert satisfiable(encoder.encode(Never(0)).formula)


def test_encoding_one_claim_leaves_the_others_alone():
    forest = discretise(
        declare(build_forest([split("x", 0, 0, 1), split("x", 1, 1, 2)], columns=["x"], classes=[0, 1, 2]))
    )
    encoder = PaperEncoder(forest)
    first = encoder.encode(Stays(0)).formula
    encoder.encode(Never(2))
    encoder.encode(Stays(1))
    again = encoder.encode(Stays(0)).formula
    assert (again.clauses, again.n_variables, again.notes) == (first.clauses, first.n_variables, first.notes)


def test_thresholds_and_intervals_have_variables_of_their_own():
    forest = discretise(
        declare(build_forest([split("x", 0, 0, split("x", 1, 1, 0))], columns=["x", "unused"], classes=[0, 1]))
    )
    encoding = PaperEncoder(forest).encode(Stays(0))
    meanings = [cells for _, cells in encoding.features[0].meanings()]
    assert meanings == [range(1), range(2), range(1), range(1, 2), range(2, 3)]
    assert list(encoding.features[1].meanings()) == []
