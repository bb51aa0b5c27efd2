"""Proofs of the SAT solver, checked by a small program of our own, and by drat-trim where it is installed."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest

import treeproof as tp
from generators import random_forest, random_row
from rup import clauses_of, is_refutation
from treeproof.errors import InputError
from treeproof.oracles.sat import to_drat


def refutations(preset: str, n: int):
    for seed in range(n):
        rng = np.random.default_rng(seed)
        forest = random_forest(rng, n_classes=int(rng.integers(2, 5)), n_trees=int(rng.integers(3, 9)))
        row = random_row(rng, forest)
        explainer = tp.Explainer(forest)
        why = explainer.abductive(row)
        yield explainer, row, why, explainer.encode(row, features=why.features, preset=preset)


@pytest.mark.parametrize("preset", ["paper", "compact"])
@pytest.mark.parametrize("solver", ["glucose3", "glucose4", "cadical153"])
def test_a_proof_of_sufficiency_is_accepted(preset, solver):
    for _, _, _, formula in refutations(preset, 12):
        assert is_refutation(formula, to_drat(formula, solver))


def test_a_satisfiable_formula_has_no_proof_and_a_proof_with_a_gap_is_rejected():
    checked = 0
    for explainer, row, why, formula in refutations("paper", 12):
        for dropped in why.features:
            kept = [f for f in why.features if f != dropped]
            with pytest.raises(InputError, match="satisfiable"):
                to_drat(explainer.encode(row, features=kept, preset="paper"))
        if not why.features:
            continue
        # The proof of the whole set does not refute the formula without one of its unit clauses.
        weaker = explainer.encode(row, features=[], preset="paper")
        assert not is_refutation(weaker, to_drat(formula))
        checked += 1
    assert checked > 5
    assert not is_refutation("p cnf 2 1\n1 2 0\n", "0\n")
    assert clauses_of("c text\np cnf 2 1\n1 -2 0\n") == [[1, -2]]


@pytest.mark.skipif(shutil.which("drat-trim") is None, reason="drat-trim is not installed")
def test_drat_trim_accepts_the_proofs(tmp_path):
    for i, (_, _, _, formula) in enumerate(refutations("paper", 5)):
        (tmp_path / f"{i}.cnf").write_text(formula)
        (tmp_path / f"{i}.drat").write_text(to_drat(formula))
        done = subprocess.run(
            ["drat-trim", f"{i}.cnf", f"{i}.drat"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert "s VERIFIED" in done.stdout
