"""Two labels at once: inputs of two copies of a model, or of two models, to which these give different labels.

That one class wins in the first and another in the second is a list of conditions on sums, all at once. Their sum is
one more, which follows from them: in it, whatever both copies have in common cancels out, so that it is far easier to
exclude than any of the others alone.

Sums of scores decide a label up to the rounding band. No point within the band is left out of a proof that labels are
the same; if only such points are left, and none of those that were tried is one, that is not decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from treeproof.errors import InternalError
from treeproof.model.columns import LEAF
from treeproof.oracles.sums import SumOracle
from treeproof.query.cells import CellForest
from treeproof.query.oracle import Answer, Refuted, Unknown, expired
from treeproof.query.sums import LARGEST, Integers, SumForest
from treeproof.query.twins import Trees, Twins, tree_nodes
from treeproof.space.domains import Cells, Domain

Status = Literal["same", "differ", "ties", "unknown"]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """What is known about two labels: a `point` at which they differ, or that there is none.

    `status` is ``"same"`` (proved: there is none), ``"differ"``, ``"ties"`` (proved, except for points at which the
    sums of two classes differ by no more than rounding may turn) or ``"unknown"`` (timed out).
    """

    status: Status
    point: Cells | None = None
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
    differ: Callable[[int, int], bool],
) -> Disagreement:
    """Return whether some point reaches the conditions of a duel; `labels_at` evaluates both models there.

    A duel that raises TimeoutError is not settled, nor is any after it.
    """
    ties = late = False
    clauses: set[int] = set()
    try:
        for duel in duels:
            oracle = SumOracle(duel.forest, deadline)
            for sign in (-1, 1):  # first whatever rounding might let through, then what it cannot undo
                least = [n + sign * b for n, b in zip(duel.least, duel.band, strict=True)]
                answer: Answer = oracle.reach(least, domains, deadline, near)
                if isinstance(answer, Refuted):
                    found = labels_at(answer.witness)
                    if differ(*found):
                        return Disagreement("differ", answer.witness, found)
                    if sign > 0 or not any(duel.band):
                        raise InternalError(f"Sums beyond all rounding must decide. Got {found}; please report this.")
                    continue
                if isinstance(answer, Unknown):
                    late = True
                else:
                    clauses |= answer.clauses
                    ties = ties or sign > 0
                break
    except TimeoutError:
        late = True
    status: Status = "unknown" if late else "ties" if ties else "same"
    return Disagreement(status, clauses=frozenset(clauses))


def copies_differ(
    cells: CellForest, doubled: Sequence[int], domains: Sequence[Domain], near: Cells, deadline: float | None
) -> Disagreement:
    """Return whether a change of the doubled features alone can change the label, whatever the others are."""
    twins = Twins(cells, tuple(doubled))
    touched = twins.touched.tolist()
    if not touched:
        return Disagreement("same")
    if expired(deadline):
        return Disagreement("unknown")

    def labels_at(point: Cells) -> tuple[int, int]:
        first, second = twins.pair(point)
        return cells.label(first), cells.label(second)

    shift = _shift(cells)
    others = sorted(set(range(cells.n_trees)) - set(touched))
    duels = (
        _duel_of_copies(twins, a, b, touched, others, shift, deadline)
        for a, b in combinations(range(cells.n_classes), 2)  # the copies may change places
    )
    return settle(
        duels, twins.domains(domains), twins.joint(near), deadline, labels_at, lambda one, other: one != other
    )


def _duel_of_copies(
    twins: Twins, a: int, b: int, touched: list[int], others: list[int], shift: int, deadline: float | None
) -> Duel:
    """Return the conditions that class a wins in the first copy and class b in the second."""
    cells = twins.cells
    if expired(deadline):
        raise TimeoutError
    one, two = _Side(cells, a, shift), _Side(cells, b, shift)
    n = len(one.rivals) + len(two.rivals)
    trees = Trees(cells, n + 1, twins, deadline)
    trees.add(others, one.leads(0) | two.leads(len(one.rivals)))
    trees.add(touched, one.leads(0))
    trees.add(touched, two.leads(len(one.rivals)), second=True)
    trees.add_difference(touched, n, lead(cells, b, a, shift))
    both = [limit(cells, a, b, shift), limit(cells, b, a, shift)]
    return _duel((a, b), trees.forest(), [*one.limits(), *two.limits(), _sum(both)])


def models_differ(
    joint: CellForest,
    old: CellForest,
    new: CellForest,
    same: Mapping[int, int],
    shared: Sequence[int],
    domains: Sequence[Domain],
    near: Cells,
    deadline: float | None,
) -> Disagreement:
    """Return whether two models over the same cells give different labels to some point.

    `same` has the class of the new model that is the same label as one of the old. The trees `shared`, by number, are
    the same in both models; of others with the same number the difference is taken tree by tree, if that is one small
    tree. `joint` has the trees of both.
    """
    # The sum of both conditions needs one unit for both models.
    unit = min(cells.exponent - _shift(cells) for cells in (old, new))
    alike = (old.source.vote == "majority") == (new.source.vote == "majority")
    shifts = [cells.exponent - unit if alike else _shift(cells) for cells in (old, new)]
    only_old, only_new = (sorted(set(range(cells.n_trees)) - set(shared)) for cells in (old, new))
    back = {b: a for a, b in same.items()}

    def duel(a: int, b: int) -> Duel:
        one, two = _Side(old, a, shifts[0]), _Side(new, b, shifts[1])
        first, second = one.leads(0), two.leads(len(one.rivals))
        limits = [*one.limits(), *two.limits()]
        n = len(limits)
        both = np.zeros(0, dtype=np.int64)
        if alike and a in same and b in back:
            first[n], second[n] = lead(old, a, back[b], shifts[0]), lead(new, b, same[a], shifts[1])
            both = np.append(-first[n], second[n])
            limits.append(_sum([limit(old, a, back[b], shifts[0]), limit(new, b, same[a], shifts[1])]))
        trees = Trees(old, len(limits), deadline=deadline)
        there = {k: _carried(numbers, new, old, shared) for k, numbers in second.items()}
        none = np.zeros(len(old.feature), dtype=np.int64)
        trees.add(shared, {k: first.get(k, none) + there.get(k, none) for k in {*first, *there}})
        overlaid = {
            t for t in only_old if t in only_new and len(both) and trees.add_overlay(joint, t, old.n_trees + t, n, both)
        }
        for t in only_old:
            trees.add([t], {k: those for k, those in first.items() if k < n or t not in overlaid})
        for t in only_new:
            trees.add([t], {k: those for k, those in second.items() if k < n or t not in overlaid}, cells=new)
        return _duel((a, b), trees.forest(), limits)

    duels = (duel(a, b) for a in range(old.n_classes) for b in range(new.n_classes) if same.get(a) != b)

    def labels_at(point: Cells) -> tuple[int, int]:
        return old.label(point), new.label(point)

    return settle(duels, domains, near, deadline, labels_at, lambda a, b: same.get(a) != b)


def _carried(numbers: Integers, new: CellForest, old: CellForest, shared: Sequence[int]) -> Integers:
    """Return numbers at the leaves of trees that two models share, moved to where they are in the old one."""
    found = np.zeros(len(old.feature), dtype=np.int64)
    for tree in shared:
        found[tree_nodes(old, tree)] = numbers[tree_nodes(new, tree)]
    return found


def _duel(labels: tuple[int, int], forest: SumForest, limits: Sequence[tuple[int, int]]) -> Duel:
    return Duel(labels, forest, tuple(least for least, _ in limits), tuple(band for _, band in limits))


def _sum(limits: Sequence[tuple[int, int]]) -> tuple[int, int]:
    return sum(least for least, _ in limits), sum(band for _, band in limits)


class _Side:
    """One of two models, and the class that is to win there."""

    def __init__(self, cells: CellForest, label: int, shift: int) -> None:
        self.cells, self.label, self.shift, self.rivals = cells, label, shift, rivals(cells, label)

    def leads(self, first: int) -> dict[int, Integers]:
        """Return per node the lead over each rival, as sums from number `first` on."""
        return {first + k: lead(self.cells, self.label, j, self.shift) for k, j in enumerate(self.rivals)}

    def limits(self) -> list[tuple[int, int]]:
        """Return what each of these sums must reach, and the band beside it."""
        return [limit(self.cells, self.label, j, self.shift) for j in self.rivals]


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
    sizes = np.maximum.reduceat(np.abs(cells.scores), cells.source.roots, axis=0).max(axis=1, initial=0)
    largest = 2 * int(sizes.astype(object).sum())
    return max(0, largest.bit_length() - LARGEST)
