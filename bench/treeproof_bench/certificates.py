"""Make and check certificates for the forests of the paper's Table 1.

``python -m treeproof_bench.certificates --data DIR [--instances 20] [--repeats 3] [--dataset NAME ...] [--part why]``

DIR holds the datasets as CSV files and ``table1.csv``. The parts, each with a table and with figures at the end:

* ``why``: certificates of one minimal explanation of each instance, majority vote;
* ``wide``: the same for explanations whose conditions were widened, mean of probabilities;
* ``small``: the same for explanations of the smallest size, majority vote, where one was found in 2 seconds;
* ``change``: certificates of a change of each instance, majority vote, where one was found in 2 seconds;
* ``verify``: what ``Explainer(verify=True)`` costs: one minimal explanation, majority vote, with and without it.

Of each forest: bytes of a certificate, also compressed; the time of the plain explanation, of making its certificate
(timed together with another explanation, which is deducted), of reading the model once, and of the check by
``treeproof/checker.py``; the boxes that a proof closes, median; how often the checker rejects one. Times
are CPU times. What is compared is timed in turns on the same instances, the first of the paper's; each instance counts
with the median of its repeats. A ratio of a forest is the ratio of the means over its instances.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import numpy as np

import treeproof as tp
from treeproof.checker import Model, check
from treeproof_bench.harness import Part, Row, Table, figure, recipe, run
from treeproof_bench.timing import Action, ms, predicts, take_turns

LIMIT = 3
CHANGE_SECONDS = 2.0


def run_part(
    args: argparse.Namespace, *, title: str, vote: Any, ask: str, **options: Any
) -> tuple[list[Row], list[Row]]:
    table = Table(
        title,
        "dataset:15 nodes:8 explain_ms:12.3f make_ms:10.3f ratio:8.2f bytes:10 worst_bytes:13 zipped:9 read_ms:10.1f "
        "check_ms:10.1f worst_ms:10.1f boxes:8 failed:8 instances:11",
    )
    for name, _, model, rows in recipe(args):
        explainer = tp.Explainer(model, vote=vote)
        explain: Action = partial(getattr(explainer, ask), **options)
        wanted = ("minimum",) if options.get("minimum") else ("minimal", "minimum")
        rows = [row for row in rows if explain(row).status in wanted]
        if not rows:
            continue

        def certify(row: Any, explain: Action = explain) -> str:
            text: str = explain(row).certificate().text
            return text

        actions: dict[str, Action] = {"explain": explain, "certify": certify}
        plain, made = take_turns(actions, rows, args.repeats).values()
        texts = made.results
        text = stored(explainer.forest)
        start = time.process_time()
        reader = Model(text)
        read_ms = 1000 * (time.process_time() - start)
        times, boxes, failed = [], [], 0
        for text in texts:
            start = time.process_time()
            try:
                boxes.append(check(text, reader).leaves)
            except tp.CheckError:
                failed += 1
            times.append(1000 * (time.process_time() - start))
        sizes = [len(text.encode()) for text in texts]
        zipped = [len(gzip.compress(text.encode(), mtime=0)) for text in texts]
        row = {"dataset": name, "nodes": explainer.forest.n_nodes, "instances": len(texts), "failed": failed}
        row |= {"explain_ms": ms(plain), "make_ms": ms(made) - ms(plain), "ratio": ms(made) / ms(plain) - 1}
        row |= {"bytes": round(median(sizes)), "worst_bytes": max(sizes), "zipped": round(median(zipped))}
        row |= {"read_ms": read_ms, "check_ms": float(np.mean(times)), "worst_ms": max(times)}
        row |= {
            "boxes": round(median(boxes)) if boxes else None,
            "sizes": sizes,
            "zipped_sizes": zipped,
            "times": times,
        }
        table.add(row | {"explain_raw": plain.raw, "certify_raw": made.raw})
    return table.rows, figures(table.rows)


def stored(forest: tp.Forest) -> str:
    """Return the text of the file that the checker reads."""
    with tempfile.TemporaryDirectory() as folder:
        tp.save_forest(forest, path := Path(folder) / "forest.json")
        return path.read_text()


def run_verify(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    table = Table(
        "verify: one minimal explanation, checked before it is returned, majority vote",
        "dataset:15 nodes:8 explain_ms:12.3f verified_ms:12.3f ratio:8.1f predict_ms:12.2f instances:11",
    )
    for name, _, model, rows in recipe(args):
        plain = tp.Explainer(model, vote="majority")
        verified = tp.Explainer(model, vote="majority", verify=True)
        verified.abductive(rows[0])  # reads the model, once
        actions: dict[str, Action] = {
            "plain": plain.abductive,
            "verified": verified.abductive,
            "predict": predicts(model),
        }
        explained, checked, predicted = take_turns(actions, rows, args.repeats).values()
        row = {"dataset": name, "nodes": plain.forest.n_nodes, "instances": len(rows), "predict_ms": ms(predicted)}
        row |= {"explain_ms": ms(explained), "verified_ms": ms(checked), "ratio": ms(checked) / ms(explained)}
        table.add(row)
    return table.rows, [
        figure("verified / plain explanation, geometric mean", geometric_mean(row["ratio"] for row in table.rows)),
        figure("the same, worst forest", max(row["ratio"] for row in table.rows)),
        figure("ms of a verified explanation, median of the forests", median(row["verified_ms"] for row in table.rows)),
        figure("ms of a verified explanation, worst forest", max(row["verified_ms"] for row in table.rows)),
    ]


def figures(rows: list[Row]) -> list[Row]:
    if not rows:
        return []
    sizes, zipped, times = ([v for row in rows for v in row[key]] for key in ("sizes", "zipped_sizes", "times"))
    ratios = [row["ratio"] for row in rows]
    slowest = max(rows, key=lambda row: row["ratio"])
    failed, n = sum(row["failed"] for row in rows), sum(row["instances"] for row in rows)
    average = median(ratios)
    return [
        figure("certificates that the checker rejects", f"{failed} of {n}", "none", failed == 0),
        figure("bytes, median", median(sizes)),
        figure("bytes, worst", max(sizes)),
        figure("bytes compressed, median", median(zipped)),
        figure("bytes compressed, worst", max(zipped)),
        figure("certificate / plain explanation, median of the forests", average, f"<= {LIMIT}", average <= LIMIT),
        figure(f"the same, worst forest ({slowest['dataset']})", max(ratios), f"<= {LIMIT}", max(ratios) <= LIMIT),
        figure("ms to check, median", median(times)),
        figure("ms to check, worst", max(times)),
    ]


PARTS: dict[str, Part] = {
    "why": partial(run_part, title="why: one minimal explanation, majority vote", vote="majority", ask="abductive"),
    "wide": partial(run_part, title="wide: conditions widened, mean vote", vote="mean", ask="abductive", inflate=True),
    "small": partial(
        run_part,
        title="small: of the smallest size, majority vote",
        vote="majority",
        ask="abductive",
        minimum=True,
        timeout=CHANGE_SECONDS,
    ),
    "change": partial(
        run_part,
        title="change: a change, majority vote",
        vote="majority",
        ask="contrastive",
        distance=None,
        timeout=CHANGE_SECONDS,
    ),
    "verify": run_verify,
}


def main(argv: Sequence[str] | None = None) -> None:
    run(PARTS, __doc__, argv=argv)


if __name__ == "__main__":
    main()
