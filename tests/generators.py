"""Random small forests, rows on and beside their thresholds, and brute-force answers about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

import numpy as np

from treeproof.model.build import build_forest, isin, leaf, split
from treeproof.model.columns import Column
from treeproof.model.decision import Member, Sums, Vote
from treeproof.model.floats import FLOATS, FloatName
from treeproof.model.forest import Forest
from treeproof.query.cells import CellForest, discretise
from treeproof.query.oracle import Answer, Claim, Entailed, Never, Query, Refuted, Stays, restricted, violates
from treeproof.space.declare import declare
from treeproof.space.domains import Clause, Domain

NEAR_TIES = [0.0, 0.1, 0.2, 0.3, -0.1, -0.3, 0.5, 1.0, 1e-9, 0.1 + 1e-9, 0.7, -1.1]
THRESHOLDS = [0.0, 0.25, 0.5, 1.0, 1.0 + 1e-12, float(np.float32(0.1)), 0.1, -2.0]


def pick(rng: np.random.Generator, options: Sequence[Any]) -> Any:
    """The option that `rng.choice` would draw, which makes an array of all of them first."""
    return options[int(rng.integers(len(options)))]


def random_forest(
    rng: np.random.Generator,
    *,
    vote: Vote = "majority",
    n_columns: int = 4,
    n_classes: int = 3,
    n_trees: int = 5,
    depth: int = 3,
    categorical: bool = False,
    missing: bool = False,
    dtype: FloatName = "float32",
) -> Forest:
    """A forest with few different thresholds (so that they repeat), ties, single-leaf trees and near-tied values."""
    columns = [Column(f"c{j}", missing="expected" if missing else "never") for j in range(n_columns)]
    if categorical:
        columns[0] = Column("c0", ("red", "green", "blue", "grey"))
    numeric = [c.name for c in columns if c.categories is None]
    sides = {name: pick(rng, ["yes", "no", "either"]) for name in numeric}
    sums = random_sums(rng, n_classes) if vote == "sum" else None
    if sums is not None and not sums.softmax and sums.sigmoid is None:
        apart = rng.spawn(1)[0]  # draws of its own
        sums = replace(sums, members=random_members(apart, n_trees, sums) if apart.random() < 0.4 else ())

    def values() -> Any:
        if sums is not None:
            chosen = rng.choice(NEAR_TIES, n_classes if sums.cuts is None else 1)
            return [(FLOATS["float32"] if sums.members else sums.floats).round(value) for value in chosen]
        if vote == "majority" or rng.random() < 0.3:
            return int(rng.integers(n_classes))
        counts = rng.integers(0, 4, n_classes) + (rng.random(n_classes) < 0.1)
        return list(counts / counts.sum()) if counts.sum() else [1.0 / n_classes] * n_classes

    def node(level: int) -> Any:
        if level == 0 or rng.random() < 0.15:
            return leaf(values())
        if categorical and rng.random() < 0.4:
            chosen = [c for c in ("red", "green", "blue", "grey") if rng.random() < 0.5]
            return isin("c0", chosen, node(level - 1), node(level - 1))
        name = pick(rng, numeric)
        side = sides[name] if sides[name] != "either" else pick(rng, ["yes", "no"])
        return split(name, pick(rng, THRESHOLDS), node(level - 1), node(level - 1), missing=side)

    trees = [node(depth) for _ in range(n_trees)]
    return build_forest(trees, columns=columns, classes=list(range(n_classes)), vote=vote, dtype=dtype, sums=sums)


def random_sums(rng: np.random.Generator, n_classes: int) -> Sums:
    """Sums that start from near-tied values, cut where sums often lie, or taken through a softmax or a sigmoid."""
    numbers: FloatName = "float32" if rng.random() < 0.5 else "float64"
    cut = rng.random() < 0.5
    start = tuple(FLOATS[numbers].round(v) for v in rng.choice(NEAR_TIES, 1 if cut else n_classes))
    if not cut:
        divisor = float(rng.choice([1, 1, 3, 7, 0.7]))
        softmax = bool(divisor == 1 and rng.random() < 0.5)
        apart = rng.spawn(1)[0]  # draws of its own
        if softmax and numbers == "float64" and apart.random() < 0.6:
            return Sums(start, divisor=float(apart.choice([1, 3])), sigmoid=float(apart.choice([1, 0.7, 3, 6])))
        return Sums(start, numbers, divisor=divisor, softmax=softmax)
    places = np.arange(-40, 60) / 10
    cuts = sorted(rng.choice(places, n_classes - 1, replace=False).tolist())
    beside = [float(np.nextafter(c, rng.choice([-9.0, c, 9.0]))) for c in cuts]
    return Sums(start, numbers, divisor=float(rng.choice([1, 1, 3, 0.7])), cuts=tuple(beside))


def random_members(rng: np.random.Generator, n_trees: int, sums: Sums) -> tuple[Member, ...]:
    """Members, some of which are parts of others, with weights and divisors that make sums round."""

    def within(first: int, last: int, numbers: FloatName, depth: int) -> Iterator[Member]:
        while first < last:
            end = int(rng.integers(first, last)) + 1
            if rng.random() < 0.8:
                own: FloatName = "float32" if rng.random() < 0.3 else numbers
                floats = FLOATS[own]
                if depth:
                    yield from within(first, end, own, depth - 1)
                start = rng.choice(NEAR_TIES, len(sums.start)) if rng.random() < 0.4 else np.zeros(len(sums.start))
                divisor = floats.round(float(rng.choice([1, end - first, 3, 7, 0.7])))
                weight = floats.round(float(rng.choice([1, 1, 0.1, 0.2, 0.3, 2, 0.0])))
                yield Member(first, end, tuple(floats.round(v) for v in start), divisor, weight, own)
            first = end

    return tuple(within(0, n_trees, sums.dtype, 1))


def random_row(rng: np.random.Generator, forest: Forest) -> list[Any]:
    """A row whose numbers lie on a threshold or one number beside it, or are missing."""
    dtype = forest.floats.dtype
    row: list[Any] = []
    for column in forest.columns:
        if column.categories is not None:
            row.append(column.categories[rng.integers(len(column.categories))])
            continue
        if column.missing == "expected" and rng.random() < 0.2:
            row.append(float("nan"))
            continue
        base = dtype(pick(rng, THRESHOLDS))
        row.append(float(pick(rng, [np.nextafter(base, dtype(-9)), base, np.nextafter(base, dtype(9))])))
    return row


def random_query(rng: np.random.Generator, forest: CellForest) -> Query:
    """A query with some features fixed, some narrowed and some free."""
    domains = []
    for f, n in enumerate(forest.n_cells):
        first, last = sorted(rng.integers(0, n, 2).tolist())
        choice = rng.random()
        if choice < 0.4:
            domains.append(forest.only(f, [first]))
        elif choice < 0.6:
            some = range(first, last + 1) if forest.ordered[f] or forest.gapped[f] else {first, last}
            if forest.gapped[f] and rng.random() < 0.5:
                some = {*some, n - 1}
            domains.append(forest.only(f, some))
        else:
            domains.append(forest.full[f])
    label = int(rng.integers(forest.n_classes))
    claim: Claim = Stays(label) if rng.random() < 0.6 else Never(label)
    return Query(tuple(domains), claim)


class Labels:
    """The label of every point of a space, by the forest's own predict; answers queries by looking."""

    def __init__(self, cells: CellForest) -> None:
        self.cells = cells
        axes = np.meshgrid(*(np.arange(n) for n in cells.n_cells), indexing="ij")
        points = np.stack([axis.ravel() for axis in axes], axis=1)
        leaves = np.column_stack([self._leaves(root, points) for root in cells.source.roots.tolist()])
        labels = cells.source.decide(leaves.astype(np.int32))
        for clause in cells.clauses:
            labels[~np.any([np.isin(points[:, f], list(domain)) for f, domain in clause], axis=0)] = -1
        self.labels = labels.reshape(cells.n_cells)

    def _leaves(self, root: int, points: Any) -> Any:
        cells, at = self.cells, np.full(len(points), root)
        here = [(root, np.arange(len(points)))]  # nodes, each with the points that reach it
        while here:
            node, reached = here.pop()
            at[reached] = node
            if (f := int(cells.feature[node])) >= 0 and len(reached):
                goes = np.array([cells.goes_left(node, cell) for cell in range(cells.n_cells[f])])
                left = goes[points[reached, f]]
                here.append((int(cells.source.left[node]), reached[left]))
                here.append((int(cells.source.right[node]), reached[~left]))
        return at

    def holds(self, query: Query) -> bool:
        inside = self.labels[np.ix_(*(list(domain) for domain in query.domains))]
        wrong = inside != query.claim.label if isinstance(query.claim, Stays) else inside == query.claim.label
        return not (wrong & (inside >= 0)).any()


_labels = lru_cache(maxsize=1000)(Labels)  # tests of several oracles ask about the same forests


def holds(forest: CellForest, query: Query) -> bool:
    """The query's answer, by enumeration."""
    return _labels(forest).holds(query)


def check_answer(forest: CellForest, query: Query, answer: Answer) -> type:
    """Assert that the answer is that of enumeration, and its core or witness right; return its type."""
    if isinstance(answer, Entailed):
        assert answer.core <= restricted(forest, query.domains)
        relaxed = tuple(d if f in answer.core else forest.full[f] for f, d in enumerate(query.domains))
        used = forest
        if forest.clauses:
            used = replace(forest, clauses=tuple(forest.clauses[c] for c in sorted(answer.clauses)))
        assert holds(used, Query(relaxed, query.claim))
    else:
        assert isinstance(answer, Refuted)
        assert forest.allows(answer.witness)
        assert all(cell in domain for cell, domain in zip(answer.witness, query.domains, strict=True))
        assert forest.label(answer.witness) == answer.label
        assert violates(query.claim, answer.label)
    return type(answer)


def random_clauses(rng: np.random.Generator, forest: CellForest) -> tuple[Clause, ...]:
    """One to four constraints between features, of one to three literals each; perhaps no point satisfies them all."""

    def literal() -> tuple[int, Domain]:
        f = pick(rng, [f for f, n in enumerate(forest.n_cells) if n > 1])
        n = forest.n_cells[f]
        at = int(rng.integers(1, n))
        if forest.ordered[f]:
            return f, range(at) if rng.random() < 0.5 else range(at, n)
        if forest.gapped[f]:  # numbers from an end, and missing values or not, but neither nothing nor all
            numbers = range(at) if rng.random() < 0.5 else range(at, n - 1)
            return f, frozenset({*numbers, n - 1} if rng.random() < 0.5 and at < n - 1 else numbers or {n - 1})
        return f, frozenset(rng.permutation(n)[:at].tolist())

    if all(n == 1 for n in forest.n_cells):
        return ()
    return tuple(tuple(literal() for _ in range(rng.integers(1, 4))) for _ in range(rng.integers(1, 5)))


def cell_forests(n: int, *, seed: int, vote: Vote = "majority", **shape: Any) -> Iterator[CellForest]:
    """`n` random forests over cells, of 1 to 5 classes; the same ones for the same seed, vote and shape."""
    for i in range(n):
        yield _cell_forest(seed, i, vote, **shape)


@cache  # to make a forest takes longer than most oracles take to answer about it
def _cell_forest(seed: int, i: int, vote: Vote, **shape: Any) -> CellForest:
    rng = np.random.default_rng([seed, i])
    forest = random_forest(
        rng,
        vote=vote,
        n_classes=int(rng.integers(1, 6)),
        n_trees=int(rng.integers(1, 8)),
        categorical=bool(rng.random() < 0.3),
        missing=vote == "sum" and bool(rng.random() < 0.5),
        dtype="float64" if vote == "sum" and rng.random() < 0.5 else "float32",
        **shape,
    )
    return discretise(declare(forest))


def hard_forest(n_variables: int = 200, seed: int = 0) -> tuple[Forest, np.ndarray]:
    """A forest for a random DNF near the threshold of 3-SAT, and rows for it: out of reach of any oracle."""
    rng = np.random.default_rng(seed)
    trees: list[Any] = []
    for _ in range(int(4.3 * n_variables)):
        tree: Any = 1
        for variable in rng.choice(n_variables, 3, replace=False):
            branches = (0, tree) if rng.random() < 0.5 else (tree, 0)
            tree = split(f"v{variable}", 0.5, *branches)
        trees.append(tree)
    trees += [1] * (len(trees) - 1)
    forest = build_forest(trees, columns=[f"v{i}" for i in range(n_variables)], classes=[0, 1])
    return forest, rng.integers(0, 2, (8, n_variables))
