"""Looks for a wrong answer, for as long as you like: ``make campaign SECONDS=600 SEED=1``.

Random small forests of every vote, with missing values, categories, float32 and float64 inputs and rules between
features, and fitted models of every family that is installed. Each query is answered by the native oracle (searching
and looking up), by the plain engine, and by a table of the labels of all points that the forest's own ``predict``
gives; now and then by z3 and by the SAT solver. Explanations are compared with what the table says, and their
certificates are checked by the independent checker. A disagreement is written to a file that
``regressions/test_campaign.py`` replays.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import treeproof as tp
from generators import Labels, random_clauses, random_forest, random_query, random_row
from treeproof.checker import CheckError
from treeproof.model.files import forest_to_json
from treeproof.oracles.native import NativeOracle, PlainOracle
from treeproof.oracles.sat import SatOracle
from treeproof.proof import certificate
from treeproof.query.oracle import Entailed, Query, Refuted, Stays, Unknown, fix, violates

FOUND = Path(__file__).parent / "regressions" / "found"
MOST_POINTS = 20_000
MOST_STORED = 10


class DisagreementError(Exception):
    """Two answers to the same question differ."""


def check_answer(labels: Labels, query: Query, answer: Any, who: str) -> None:
    """Raise DisagreementError unless the answer is right, its core and its witness included."""
    if isinstance(answer, Unknown):
        raise DisagreementError(f"{who} does not know")
    if isinstance(answer, Entailed) != labels.holds(query):
        raise DisagreementError(f"{who} says {type(answer).__name__}")
    if isinstance(answer, Refuted):
        inside = all(cell in domain for cell, domain in zip(answer.witness, query.domains, strict=True))
        label = labels.labels[answer.witness]
        if not inside or label != answer.label or not violates(query.claim, int(label)):
            raise DisagreementError(f"{who} gives a wrong witness {answer.witness}")
    elif isinstance(answer, Entailed):
        full = labels.cells.full
        relaxed = tuple(d if f in answer.core else full[f] for f, d in enumerate(query.domains))
        if not labels.holds(Query(relaxed, query.claim)):
            raise DisagreementError(f"{who} gives a wrong core {sorted(answer.core)}")


def check_explanation(labels: Labels, explainer: tp.Explainer, row: Any, kind: int, counts: Counter[str]) -> None:
    """Compare an explanation with the table, and let the independent checker check its certificate.

    Another result is checked beside it; `kind` says which.
    """
    why = explainer.abductive(row)
    point = explainer._context.instance(row).point
    cells = labels.cells

    def suffices(features: Any) -> bool:
        return labels.holds(Query(fix(cells, point, features), Stays(int(labels.labels[point]))))

    if not suffices(why.features) or any(suffices(set(why.features) - {f}) for f in why.features):
        raise DisagreementError(f"the explanation {why.features} is not minimal or not sufficient")
    counts["explanations"] += 1
    other: Any = [
        lambda: explainer.abductive(row, inflate=True),
        lambda: explainer.abductive(row, minimum=True),
        lambda: explainer.contrastive(row),
        lambda: explainer.contrastive(row, minimum=True),
    ][kind % 4]()
    if other.status == "minimum" and isinstance(other, tp.Abductive):
        fewer = itertools.combinations(range(cells.n_features), max(len(other.features) - 1, 0))
        if other.features and any(suffices(features) for features in fewer):
            raise DisagreementError(f"a set smaller than {other.features} suffices")
    for result in (why, other):
        if result.status not in ("minimal", "minimum"):
            continue
        try:
            # Small boxes would only be listed; most are to be split and bounded.
            with mock.patch.object(certificate, "LIST_UP_TO", certificate.LIST_UP_TO if kind % 3 == 0 else 0):
                made = result.certificate()
            made.check()
            counts["certificates"] += 1
        except CheckError as error:
            if "exponential" not in str(error):  # the one thing that the checker cannot know, and says so
                raise DisagreementError(f"the checker rejects a certificate: {error}") from error
            counts["undecidable certificates"] += 1


def random_case(rng: np.random.Generator) -> tuple[tp.Explainer, list[Any]]:
    vote = str(rng.choice(["majority", "mean", "sum"]))
    forest = random_forest(
        rng,
        vote=vote,  # type: ignore[arg-type]
        n_classes=int(rng.integers(2 if vote == "sum" else 1, 6)),
        n_trees=int(rng.integers(1, 13)),
        n_columns=int(rng.integers(2, 6)),
        depth=int(rng.integers(1, 5)),
        categorical=bool(rng.random() < 0.3),
        missing=bool(rng.random() < 0.3),
        dtype="float64" if rng.random() < 0.4 else "float32",
    )
    return tp.Explainer(forest, tabulate=False), [random_row(rng, forest) for _ in range(2)]


def fitted_case(rng: np.random.Generator) -> tuple[tp.Explainer, list[Any]]:
    """A small model of a random family, fitted to random data with few different values, so that spaces stay small."""
    from sklearn import ensemble, tree

    n_columns, n_classes = int(rng.integers(1, 4)), int(rng.integers(2, 4))
    X = rng.integers(0, 5, (60, n_columns)).astype(float)
    y = rng.integers(0, n_classes, 60)
    y[:n_classes] = np.arange(n_classes)
    n = int(rng.integers(1, 12))
    families: list[Any] = [
        tree.DecisionTreeClassifier(max_depth=3),
        ensemble.RandomForestClassifier(n, max_depth=3),
        ensemble.ExtraTreesClassifier(n, max_depth=3),
        ensemble.GradientBoostingClassifier(n_estimators=n, max_depth=2),
        ensemble.HistGradientBoostingClassifier(max_iter=n, min_samples_leaf=2),
        ensemble.AdaBoostClassifier(n_estimators=n),
        ensemble.BaggingClassifier(tree.DecisionTreeClassifier(max_depth=3), n_estimators=n),
        tp.MajorityForestClassifier(n, max_depth=3),
    ]
    try:
        import xgboost

        families.append(xgboost.XGBClassifier(n_estimators=n, max_depth=2, n_jobs=1))
    except ImportError:
        pass
    try:
        import lightgbm

        families.append(lightgbm.LGBMClassifier(n_estimators=n, max_depth=2, min_child_samples=2, n_jobs=1, verbose=-1))
    except ImportError:
        pass
    model = families[int(rng.integers(len(families)))]
    if "random_state" in model.get_params():
        model.set_params(random_state=int(rng.integers(2**31)))
    return tp.Explainer(model.fit(X, y), tabulate=False), [list(row) for row in X[:2]]


def run_case(seed: int, case: int, n_queries: int, counts: Counter[str]) -> None:
    """Run one case; an exception's notes tell how to do it again."""
    rng = np.random.default_rng([seed, case])
    fitted = case % 20 == 0
    explainer, rows = fitted_case(rng) if fitted else random_case(rng)
    cells = explainer._context.cells
    if np.prod([float(n) for n in cells.n_cells]) > MOST_POINTS:
        return
    counts["fitted models" if fitted else "random forests"] += 1
    labels = Labels(cells)
    for row in rows:
        check_explanation(labels, explainer, row, case, counts)
    if rng.random() < 0.3:
        cells = replace(cells, clauses=random_clauses(rng, cells))
        labels = Labels(cells)
    oracles: dict[str, Any] = {
        "native": NativeOracle(cells, tabulate=False),
        "native-table": NativeOracle(cells),
        "plain": PlainOracle(cells),
    }
    if case % 50 == 1 and cells.source.vote == "majority":
        oracles |= {preset: SatOracle(cells, preset=preset) for preset in ("paper", "compact")}
    if case % 200 == 2:
        from treeproof.oracles.smt import SmtOracle

        oracles["smt"] = SmtOracle(cells)
    for _ in range(n_queries):
        query = random_query(rng, cells)
        for who, oracle in oracles.items():
            check_answer(labels, query, oracle.decide(query), who)
            counts[f"queries to {who}"] += 1
        counts["queries"] += 1


def store(seed: int, case: int, forest: str | None, problem: str) -> Path:
    FOUND.mkdir(exist_ok=True)
    path = FOUND / f"case-{seed}-{case}.json"
    path.write_text(json.dumps({"seed": seed, "case": case, "problem": problem, "forest": forest}))
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="how long (default: 60)")
    parser.add_argument(
        "--seed", type=int, default=int(time.time()), help="start of the random numbers (default: the time)"
    )
    parser.add_argument("--queries", type=int, default=60, help="queries for each forest")
    parser.add_argument("--first", type=int, default=0, help="first case; with --step, for several processes")
    parser.add_argument("--step", type=int, default=1)
    args = parser.parse_args()
    counts: Counter[str] = Counter()
    print(f"seed {args.seed}", flush=True)
    end, case = time.monotonic() + args.seconds, args.first
    while time.monotonic() < end and counts["disagreements"] < MOST_STORED:
        try:
            run_case(args.seed, case, args.queries, counts)
        except Exception as error:
            counts["disagreements"] += 1
            try:
                rng = np.random.default_rng([args.seed, case])
                explainer, _ = fitted_case(rng) if case % 20 == 0 else random_case(rng)
                forest = forest_to_json(explainer.forest)
            except Exception:
                forest = None
            path = store(args.seed, case, forest, f"{type(error).__name__}: {error}")
            print(f"case {case}: {type(error).__name__}: {error}; stored in {path.name}", flush=True)
        case += args.step
    counts["disagreements"] += 0
    for what, n in sorted(counts.items()):
        print(f"{n:>12,}  {what}")
    return 1 if counts["disagreements"] else 0


if __name__ == "__main__":
    sys.exit(main())
