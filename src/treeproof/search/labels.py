"""Two labels at once: inputs of two copies of a model, or of two models, to which these give different labels.

That one class wins in the first and another in the second is a list of conditions on sums, all at once. Their sum is
one more, which follows from them: in it, whatever both copies have in common cancels out, so that it is far easier to
exclude than any of the others alone.

Sums of scores decide a label up to the rounding band. No point within the band is left out of a proof that labels are
the same; if only such points are left, and none of those that were tried is one, that is not decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from treeproof.model.columns import LEAF
from treeproof.oracles.sums import SumOracle
from treeproof.query.cells import CellForest
from treeproof.query.oracle import Answer, Entailed, Refuted, Unknown
from treeproof.query.sums import LARGEST, Integers, SumForest
from treeproof.query.twins import Trees, Twins
from treeproof.space.domains import Cells, Domain


@dataclass(frozen=True, slots=True)
class Disagreement:
    """What is known about two labels: a `pair` of points at which they differ, or that there is none.

    `status` is ``"same"`` (proved: there is none), ``"differ"``, ``"ties"`` (proved, except for points at which the
    sums of two classes differ by no more than rounding may turn) or ``"unknown"`` (timed out).
    """

    status: str
    pair: tuple[Cells, Cells] | None = None
    labels: tuple[int, int] | None = None
    clauses: frozenset[int] = frozenset()


@dataclass(frozen=True, eq=False)
class Duel:
    """A class of the first model and another of the second: conditions with which both have the label.

    `least` has what each sum must reach, and `band` by how much rounding may turn it.
    """

    labels: tuple[int, int]
    forest: SumForest
    least: tuple[int, ...]
    band: tuple[int, ...]


def settle(
    duels: Iterable[Duel],
    domains: Sequence[Domain],
    near: Cells,
    deadline: float | None,
    labels_at: Callable[[Cells], tuple[int, int]],
    pair: Callable[[Cells], tuple[Cells, Cells]],
) -> Disagreement:
    """Return whether some point reaches the conditions of a duel; `labels_at` evaluates both models there."""
    ties = late = False
    clauses: set[int] = set()
    for duel in duels:
        oracle = SumOracle(duel.forest)
        for sign in (-1, 1):  # first whatever rounding might let through, then what it cannot undo
            least = [n + sign * b for n, b in zip(duel.least, duel.band, strict=True)]
            answer: Answer = oracle.reach(least, domains, deadline, near)
            if isinstance(answer, Refuted):
                found = labels_at(answer.witness)
                if found[0] != found[1]:
                    return Disagreement("differ", pair(answer.witness), found)
                if not any(duel.band):
                    raise AssertionError("sums that need no band decide labels")
                continue
            if isinstance(answer, Unknown):
                late = True
            else:
                clauses |= answer.clauses
                ties = ties or sign > 0
            break
    status = "unknown" if late else "ties" if ties else "same"
    return Disagreement(status, clauses=frozenset(clauses))


def copies_differ(
    cells: CellForest, doubled: Sequence[int], domains: Sequence[Domain], near: Cells, deadline: float | None
) -> Disagreement:
    """Return whether a change of the doubled features alone can change the label, whatever the others are."""
    twins = Twins(cells, tuple(doubled))
    touched = twins.touched.tolist()
    if not touched:
        return Disagreement("same")

    def labels_at(point: Cells) -> tuple[int, int]:
        first, second = twins.pair(point)
        return cells.label(first), cells.label(second)

    shift = _shift(cells)
    others = sorted(set(range(cells.n_trees)) - set(touched))
    duels = (
        _duel_of_copies(twins, a, b, touched, others, shift)
        for a, b in permutations(range(cells.n_classes), 2)
        if a < b  # the copies may change places
    )
    return settle(duels, twins.domains(domains), twins.joint(near), deadline, labels_at, twins.pair)


def _duel_of_copies(twins: Twins, a: int, b: int, touched: list[int], others: list[int], shift: int) -> Duel:
    cells = twins.cells
    first, second = rivals(cells, a), rivals(cells, b)
    trees = Trees(twins, len(first) + len(second) + 1)
    leads = {k: lead(cells, a, j, shift) for k, j in enumerate(first)}
    later = {len(first) + k: lead(cells, b, j, shift) for k, j in enumerate(second)}
    trees.add(others, {**leads, **later})
    trees.add(touched, leads)
    trees.add(touched, later, second=True)
    trees.add_difference(touched, len(first) + len(second), lead(cells, b, a, shift))
    limits = [limit(cells, a, j, shift) for j in first] + [limit(cells, b, j, shift) for j in second]
    both = [limit(cells, a, b, shift), limit(cells, b, a, shift)]
    least = (*(n for n, _ in limits), sum(n for n, _ in both))
    band = (*(n for _, n in limits), sum(n for _, n in both))
    return Duel((a, b), trees.forest(), least, band)


def rivals(cells: CellForest, label: int) -> list[int]:
    """Return the classes that the label must beat: where a score is cut, its neighbours."""
    cut = cells.source.decision.cuts is not None and cells.source.vote != "majority"
    return [k for k in range(cells.n_classes) if k != label and (not cut or abs(k - label) == 1)]


def lead(cells: CellForest, winner: int, loser: int, shift: int) -> Integers:
    """Return per node by how much a leaf lets one class lead another."""
    found: Integers = np.where(cells.feature == LEAF, cells.scores[:, winner] - cells.scores[:, loser], 0)
    return found >> shift


def limit(cells: CellForest, winner: int, loser: int, shift: int) -> tuple[int, int]:
    """Return the lead that it takes to win, and the band beside it in which rounding decides."""
    least = int(cells.theta[winner, loser])
    if shift == 0:
        return least, cells.band
    # Each tree's lead was rounded down by less than 1, so what it takes is less by up to one for each.
    return least >> shift, (cells.band >> shift) + cells.n_trees + 2


def _shift(cells: CellForest) -> int:
    """Return by how many bits leads must be shortened so that sums of two stay within what the engine takes."""
    sizes = np.abs(cells.scores).max(axis=1, initial=0)
    largest = 2 * int(np.maximum.reduceat(sizes, cells.source.roots).astype(object).sum())
    return max(0, largest.bit_length() - LARGEST)
