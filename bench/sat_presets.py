"""Compare the two presets of the SAT oracle on the forests of the paper's Table 1.

``python bench/sat_presets.py --data DIR [--instances 5] [--dataset NAME ...]``

DIR holds the datasets as CSV files and ``table1.csv``. For each forest, trained by the paper's recipe, one
line:

* ``#var`` and ``#cl`` of the preset ``paper`` beside the printed ones;
* for each preset the CPU milliseconds to encode one claim and load the solver, and to find one abductive
  explanation: canonical deletion in the order of the features, with the memory of cores and witnesses that
  `Explainer` uses;
* the mean length of the explanations beside the printed mean number of satisfiable calls, which is the same
  thing for the published tool (each feature kept is one such call), on other instances;
* the ratio of the times per explanation, paper to compact, and of the times with encoding.

Both presets explain the same instances, the first of the paper's. A class that occurs
among them is encoded once, its time counted apart; the ratio with encoding spreads it over the instances.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import numpy as np

from treeproof.bench.recipe import read, read_table, sample, train
from treeproof.model.importers import import_model
from treeproof.oracles.sat import Preset, SatOracle
from treeproof.query.cache import Memory
from treeproof.query.cells import CellForest, discretise
from treeproof.query.oracle import Query, Stays
from treeproof.search.minimal import abductive
from treeproof.space.declare import declare
from treeproof.space.domains import Cells

PRESETS: tuple[Preset, Preset] = ("paper", "compact")

Explanations = list[frozenset[int]]


def measure(cells: CellForest, points: list[Cells], preset: Preset) -> tuple[Explanations, float, float]:
    """Return the explanations, and the mean CPU seconds for encoding a claim and for one explanation."""
    start = time.process_time()
    oracle = SatOracle(cells, preset=preset)
    labels = [cells.label(point) for point in points]
    for label in set(labels):
        # A query with all features fixed is decided at once, and makes the oracle encode the claim.
        at = points[labels.index(label)]
        oracle.decide(Query(tuple(cells.only(f, [cell]) for f, cell in enumerate(at)), Stays(label)))
    encoding = (time.process_time() - start) / len(set(labels))
    start = time.process_time()
    found = [
        abductive(Memory(cells, oracle, point, Stays(label)), range(cells.n_features)).features
        for point, label in zip(points, labels, strict=True)
    ]
    return found, encoding, (time.process_time() - start) / len(points)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the datasets and table1.csv")
    parser.add_argument("--instances", type=int, default=5, help="instances for each dataset")
    parser.add_argument("--dataset", nargs="+", help="datasets, by default all of Table 1")
    args = parser.parse_args()
    table = read_table(args.data)
    print(
        f"{'':14}{'#var':>7}{'printed':>8}{'#cl':>7}{'printed':>8} | {'encode ms':>11} | {'AXp ms':>17} |"
        f"{'length':>7}{'#S':>4} |{'ratio':>6}{'(with encoding)':>16}"
    )
    print(f"{'':44} | {'paper':>5}{'comp.':>6} | {'paper':>9}{'compact':>8} |")
    ratios, with_encoding = [], []
    for name in args.dataset or table:
        line = table[name]
        space = declare(import_model(train(*read(args.data, name), line["depth"]), vote="majority"))
        cells = discretise(space)
        points = [space.cells(row) for row in sample(args.data, name, args.instances)[1]]
        result = {preset: measure(cells, points, preset) for preset in PRESETS}
        if result["paper"][0] != result["compact"][0]:
            raise SystemExit(f"{name}: the presets disagree: {result['paper'][0]} and {result['compact'][0]}")
        explanations, paper_encoding, paper = result["paper"]
        _, compact_encoding, compact = result["compact"]
        n_claims = len({cells.label(point) for point in points}) / len(points)
        ratios.append(paper / compact)
        with_encoding.append((paper + paper_encoding * n_claims) / (compact + compact_encoding * n_claims))
        n_variables, n_clauses = SatOracle(cells, preset="paper").size(Stays(cells.label(points[0])))
        print(
            f"{name:14}{n_variables:7}{line['vars']:>8}{n_clauses:7}{line['clauses']:>8} |"
            f" {1000 * paper_encoding:5.0f}{1000 * compact_encoding:6.0f} |"
            f" {1000 * paper:9.1f}{1000 * compact:8.1f} |"
            f"{np.mean([len(found) for found in explanations]):7.1f}{line['sat_calls']:>4} |"
            f"{ratios[-1]:6.1f}{with_encoding[-1]:16.1f}",
            flush=True,
        )
    mean, mean_with_encoding = (math.exp(np.mean(np.log(each))) for each in (ratios, with_encoding))
    print(
        f"geometric mean of the ratios over {len(ratios)} forests, {args.instances} instances each: "
        f"{mean:.2f}; with encoding {mean_with_encoding:.2f}"
    )


if __name__ == "__main__":
    main()
