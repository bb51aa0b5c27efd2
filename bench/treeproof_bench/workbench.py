"""Time what a person waits for in the workbench: locking, freeing and dragging a feature, and the first paint.

``python -m treeproof_bench.workbench --data DIR [--instances 5] [--gestures 30] [--dataset NAME ...] [--part boosted]``

DIR holds the datasets as CSV files and ``table1.csv``. The part ``paper`` has the forests of Table 1, ``boosted``
models of 300 trees, ``table`` a table of 10,000 rows. A gesture locks or frees a feature (``hold``), drags the value
of one (``predict`` and ``hold``) or the end of its range (``hold`` with an interval), beginning with the features of
the row's reason. Times are CPU times of the session's answers; nothing is asked twice, so nothing is remembered.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier

import treeproof as tp
from treeproof.workbench.session import Session
from treeproof_bench.harness import Row, Table, figure, recipe, run
from treeproof_bench.recipe import read, sample

DATASETS = ("wdbc", "sonar", "spambase", "vowel")
SOON = 100.0  # milliseconds
COLUMNS = (
    "dataset:24 trees:7 features:10 gestures:10 hold_median:13.2f hold_worst:12.2f late:6 open:6 why_median:12.2f "
    "why_worst:11.2f wide_median:13.2f wide_worst:12.2f"
)


def timed(session: Session, ask: str, args: Row) -> tuple[float, Row]:
    start = time.process_time()
    found = session.ask(ask, args)
    return 1000 * (time.process_time() - start), found


class Person:
    """Somebody who begins with the reason of a row, and locks, frees and drags."""

    def __init__(self, session: Session, values: list[Any], seed: int) -> None:
        self.session, self.values, self.random = session, values, random.Random(seed)
        self.plain, why = timed(session, "why", {"values": values, "widened": False})
        self.wide, wide = timed(session, "why", {"values": values, "widened": True})
        self.held = set(why["features"])
        self.ranges = {c["feature"]: {"low": c["low"], "high": c["high"]} for c in wide["conditions"]}
        self.features = session.ask("start", {})["features"]

    def gesture(self) -> tuple[float, bool | None]:
        """Return the milliseconds until the answer was there, and the answer."""
        f = self.random.choice(sorted(self.held) or [0])
        kind = self.random.choice(["lock", "free", "drag", "end"])
        intervals = {}
        spent = 0.0
        if kind == "lock":
            self.held.add(self.random.randrange(len(self.values)))
        elif kind == "free":
            self.held.discard(f)
        elif kind == "drag":
            low, high = self.features[f]["min"], self.features[f]["max"]
            self.values = [*self.values]
            self.values[f] = round(self.random.uniform(low, high), 3)
            spent, _ = timed(self.session, "predict", {"values": self.values})
        elif f in self.ranges:
            ends = dict(self.ranges[f])
            side = self.random.choice(["low", "high"])
            ends[side] = self.random.uniform(self.features[f]["min"], self.features[f]["max"])
            if (ends["low"] is None or ends["low"] <= self.values[f]) and (
                ends["high"] is None or self.values[f] <= ends["high"]
            ):
                intervals = {str(f): ends}
        args = {"values": self.values, "held": sorted(self.held), "intervals": intervals}
        more, found = timed(self.session, "hold", args)
        return spent + more, found["forced"]


def measure(table: Table, name: str, model: Any, X: Any, rows: Iterable[Any], args: argparse.Namespace) -> None:
    explainer = tp.Explainer(model, data=X)
    session = Session([explainer], np.asarray(list(rows)))
    people = [
        Person(session, row["values"], row["index"]) for row in session.ask("rows", {"limit": args.instances})["rows"]
    ]
    answers = [person.gesture() for person in people for _ in range(args.gestures)]
    holds, whys, wides = [spent for spent, _ in answers], [p.plain for p in people], [p.wide for p in people]
    row = {"dataset": name, "trees": explainer.forest.n_trees, "features": len(people[0].values)}
    row |= {"gestures": len(holds), "late": sum(spent > SOON for spent in holds)}
    row |= {"open": sum(forced is None for _, forced in answers)}
    for what, times in (("hold", holds), ("why", whys), ("wide", wides)):
        row |= {f"{what}_median": float(np.median(times)), f"{what}_worst": max(times)}
    table.add(row | {"hold_raw": holds, "why_raw": whys, "wide_raw": wides})


def figures(rows: Sequence[Row]) -> list[Row]:
    times = [spent for row in rows for spent in row["hold_raw"]]
    late = sum(spent > SOON for spent in times)
    worst = max(rows, key=lambda row: row["hold_worst"])
    return [
        figure("median of lock, free, drag in ms", float(np.median(times)), f"below {SOON:g}", np.median(times) < SOON),
        figure(f"worst in ms ({worst['dataset']})", worst["hold_worst"], f"below {SOON:g}", worst["hold_worst"] < SOON),
        figure("answered later than that", f"{late} of {len(times)}", "none", late == 0),
    ]


def run_paper(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    table = Table("paper: the forests of Table 1, milliseconds of CPU", COLUMNS)
    for name, _, model, rows in recipe(args):
        measure(table, name, model, read(args.data, name)[0], rows, args)
    return table.rows, figures(table.rows)


def run_boosted(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    table = Table("boosted: gradient boosting of 300 trees, milliseconds of CPU", COLUMNS)
    for name in args.dataset or DATASETS:
        X, y = read(args.data, name)
        model = GradientBoostingClassifier(n_estimators=300, max_depth=3, random_state=0).fit(X, y)
        measure(table, name, model, X, sample(args.data, name, args.instances)[1], args)
    return table.rows, figures(table.rows)


def run_table(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    table = Table(
        "table: 10,000 rows, milliseconds of CPU", "dataset:24 rows:7 session:9.1f start:8.1f rows_ms:9.1f sorted:8.1f"
    )
    for name in args.dataset or ("spambase",):
        X, y = read(args.data, name)
        model = GradientBoostingClassifier(n_estimators=300, max_depth=3, random_state=0).fit(X, y)
        many = X[np.random.default_rng(0).integers(0, len(X), 10_000)]
        explainer = tp.Explainer(model, data=X)
        begin = time.process_time()
        session = Session([explainer], many)
        made = 1000 * (time.process_time() - begin)
        row: Row = {"dataset": name, "rows": len(many), "session": made}
        row["start"], _ = timed(session, "start", {})
        row["rows_ms"], _ = timed(session, "rows", {"limit": 100})
        row["sorted"], _ = timed(session, "rows", {"limit": 100, "sort": 3, "where": f"{explainer.space.names[0]} > 0"})
        table.add(row)
    first = max(row["start"] + row["rows_ms"] for row in table.rows)
    return table.rows, [figure("answers for the first paint in ms", first, "below 1000", first < 1000)]


PARTS = {"paper": run_paper, "boosted": run_boosted, "table": run_table}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--gestures", type=int, default=30, help="locks, frees and drags for each instance")


def main(argv: Sequence[str] | None = None) -> None:
    run(PARTS, __doc__, add_arguments, argv)


if __name__ == "__main__":
    main()
