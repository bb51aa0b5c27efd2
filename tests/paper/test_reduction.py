"""The reduction in the proof of the paper's theorem: a DNF becomes a forest with the same prime implicants."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import treeproof as tp

Term = dict[int, bool]


def forest_of(terms: list[Term], n_variables: int) -> tp.Forest:
    """One tree for each term, and one constant tree less than terms."""

    def chain(literals: list[tuple[int, bool]]):
        if not literals:
            return 1
        (variable, positive), rest = literals[0], chain(literals[1:])
        return tp.split(f"v{variable}", 0.5, *((0, rest) if positive else (rest, 0)))

    trees = [chain(sorted(term.items())) for term in terms] + [1] * (len(terms) - 1)
    return tp.build_forest(trees, columns=[f"v{i}" for i in range(n_variables)], classes=[0, 1])


def prime_implicants(terms: list[Term], n_variables: int) -> set[frozenset[tuple[int, bool]]]:
    """Quine and McCluskey: merge implicants that differ in one literal; what never merges is prime."""
    ones = [
        bits
        for bits in itertools.product([False, True], repeat=n_variables)
        if any(all(bits[v] == sign for v, sign in term.items()) for term in terms)
    ]
    level = {frozenset(enumerate(bits)) for bits in ones}
    primes: set[frozenset[tuple[int, bool]]] = set()
    while level:
        merged, used = set(), set()
        for implicant in level:
            for variable, sign in implicant:
                partner = implicant - {(variable, sign)} | {(variable, not sign)}
                if partner in level:
                    merged.add(implicant - {(variable, sign)})
                    used |= {implicant, partner}
        primes |= level - used
        level = merged
    return primes


@pytest.mark.parametrize("seed", range(40))
def test_the_abductive_explanations_are_the_prime_implicants(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    terms = []
    for _ in range(rng.integers(1, 6)):
        variables = rng.choice(n, size=rng.integers(1, n + 1), replace=False)
        terms.append({int(v): bool(rng.integers(2)) for v in variables})
    forest = forest_of(terms, n)
    primes = prime_implicants(terms, n)
    explainer = tp.Explainer(forest, kinds=dict.fromkeys(range(n), "binary"), oracle=["native", "sat"][seed % 2])
    models = 0
    for bits in itertools.product([False, True], repeat=n):
        satisfied = any(all(bits[v] == sign for v, sign in term.items()) for term in terms)
        assert forest.predict([bits])[0] == int(satisfied)
        if satisfied and models < 4:
            models += 1
            expected = {frozenset(v for v, _ in p) for p in primes if all(bits[v] == sign for v, sign in p)}
            found = [frozenset(e.features) for e in explainer.enumerate(list(bits))]
            assert len(found) == len(set(found))
            assert set(found) == expected
    assert models
