"""Compare the two presets of the SAT oracle on the forests of the paper's Table 1.

``python -m treeproof_bench.sat_presets --data DIR [--instances 5] [--dataset NAME ...]``

DIR holds the datasets as CSV files and ``table1.csv``. For each forest, trained by the paper's recipe, one
line:

* ``#var`` and ``#cl`` of the preset ``paper`` beside the printed ones;
* for each preset the CPU milliseconds to encode one class and load the solver, and to find one abductive explanation by
  index;
* the mean length of the explanations beside the printed mean number of satisfiable calls, which is the same
  thing for the published tool (each feature kept is one such call), on other instances;
* the ratio of the times per explanation, paper to compact, and of the times with encoding.

Both presets explain the same instances, the first of the paper's. A class that occurs
among them is encoded once, its time counted apart; the ratio with encoding spreads it over the instances.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, geometric_mean

import treeproof as tp
from treeproof_bench.harness import recipe
from treeproof_bench.table1 import formula_size
from treeproof_bench.timing import encode_and_explain, medians, ms

PRESETS = ("paper", "compact")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the datasets and table1.csv")
    parser.add_argument("--instances", type=int, default=5, help="instances for each dataset")
    parser.add_argument("--dataset", nargs="+", help="datasets, by default all of Table 1")
    args = parser.parse_args(argv)
    print(
        f"{'':14}{'#var':>7}{'printed':>8}{'#cl':>7}{'printed':>8} | {'encode ms':>11} | {'AXp ms':>17} |"
        f"{'length':>7}{'#S':>4} |{'ratio':>6}{'(with encoding)':>16}"
    )
    print(f"{'':44} | {'paper':>5}{'comp.':>6} | {'paper':>9}{'compact':>8} |")
    ratios, with_encoding = [], []
    for name, line, model, rows in recipe(args):
        explain, encode, found = {}, {}, {}
        for preset in PRESETS:
            explainer = tp.Explainer(model, vote="majority", oracle="sat", preset=preset)
            encoding, explaining = encode_and_explain(explainer, rows)
            explain[preset], encode[preset] = ms(explaining), float(medians(encoding).sum())
            found[preset] = [why.features for why in explaining.results]
        if found["paper"] != found["compact"]:
            raise SystemExit(f"{name}: the presets disagree: {found['paper']} and {found['compact']}")
        n_classes = len({why.label for why in explaining.results})
        ratios.append(explain["paper"] / explain["compact"])
        with_encoding.append(
            (explain["paper"] + encode["paper"] / len(rows)) / (explain["compact"] + encode["compact"] / len(rows))
        )
        n_variables, n_clauses = formula_size(explainer, rows[0])
        print(
            f"{name:14}{n_variables:7}{line.get('vars') or '-':>8}{n_clauses:7}{line.get('clauses') or '-':>8} |"
            f" {encode['paper'] / n_classes:5.0f}{encode['compact'] / n_classes:6.0f} |"
            f" {explain['paper']:9.1f}{explain['compact']:8.1f} |"
            f"{fmean(map(len, found['paper'])):7.1f}{line['sat_calls']:>4} |"
            f"{ratios[-1]:6.1f}{with_encoding[-1]:16.1f}",
            flush=True,
        )
    print(
        f"geometric mean of the ratios over {len(ratios)} forests, {args.instances} instances each: "
        f"{geometric_mean(ratios):.2f}; with encoding {geometric_mean(with_encoding):.2f}"
    )


if __name__ == "__main__":
    main()
