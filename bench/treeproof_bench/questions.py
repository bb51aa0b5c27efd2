"""Time the questions beyond "why" on the forests of the paper's Table 1, native oracle, majority vote.

``python -m treeproof_bench.questions --data DIR [--instances 20] [--dataset NAME ...] [--part length,minimum]``

* ``length``: explanations by importance (the default), by index, the best of ten orders, and the table's;
* ``minimum``: smallest explanations within ten seconds, and how far from proved the others are;
* ``inflate``: widening all bounds, beside the plain explanation: time, and rows of the dataset that the rules cover;
* ``list``: the first hundred abductive explanations, or all if there are fewer;
* ``change``: the closest contrastive explanation;
* ``relevance``: which features matter at all;
* ``linf``, ``l0``: the largest proved distance, the fewest features that flip the prediction.

Times are CPU times. Instances are the first of the paper's.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import treeproof as tp
from treeproof_bench.harness import Part, Row, Table, figure, recipe, run
from treeproof_bench.recipe import read
from treeproof_bench.timing import medians, ms, take_turns

FEW_FEATURES = 20
ENOUGH = 0.9  # of the limit, if the time was up: the clock started earlier


def explainers(args: argparse.Namespace) -> Any:
    for name, line, model, rows in recipe(args):
        yield name, line, tp.Explainer(model, vote="majority"), rows


def once(action: Callable[[Any], Any], rows: Any) -> tuple[np.ndarray, list[Any]]:
    """Return the CPU milliseconds of the action on each row, and its results."""
    timed = take_turns({"": action}, rows, 1, warm_up=False)[""]
    return medians(timed), timed.results


def within(
    ask: Callable[..., Any], decided: Callable[[Any], bool], limit: float, rows: Any
) -> tuple[np.ndarray, list[Any], list[bool]]:
    """Return the CPU milliseconds of a question about each row, its results, and which are decided within the limit.

    The limit is in seconds of CPU time, a timeout in seconds by the clock. So where others kept the processor busy, and
    the time was up before the limit was used, the row is asked about again, with more time.
    """

    def answer(row: Any) -> tuple[float, Any]:
        seconds = limit
        while True:
            start = time.monotonic()
            (ms_used,), (result,) = once(partial(ask, timeout=seconds), [row])
            late = time.monotonic() - start >= seconds
            if not late or ms_used >= ENOUGH * 1000 * limit or decided(result):
                return float(ms_used), result
            seconds *= 2

    answers = [answer(row) for row in rows]
    done = [decided(result) and ms_used <= 1000 * limit for ms_used, result in answers]
    return np.array([ms_used for ms_used, _ in answers]), [result for _, result in answers], done


def run_length(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    table = Table(
        "length: mean number of features; ms by the default order and for ten orders",
        "dataset:15 features:9 importance:11.2f index:8.2f tries:8.2f printed:9 ms:9.3f tries_ms:10.3f",
    )
    for name, line, explainer, rows in explainers(args):
        ways = {
            "importance": explainer.abductive,
            "index": partial(explainer.abductive, order="index"),
            "tries": partial(explainer.abductive, tries=10),
        }
        timed = take_turns(ways, rows, args.repeats)
        mean = {way: float(np.mean([len(why.features) for why in timed[way].results])) for way in ways}
        row = {"dataset": name, "features": explainer.space.n_features, "printed": line.get("sat_calls"), **mean}
        table.add(row | {"ms": ms(timed["importance"]), "tries_ms": ms(timed["tries"])})
    totals = {way: sum(row[way] for row in table.rows) for way in ("importance", "index", "tries")}
    return table.rows, [
        figure("length by importance / by index, sums of the means", totals["importance"] / totals["index"]),
        figure("length, best of ten orders / by importance", totals["tries"] / totals["importance"]),
    ]


def run_minimum(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    table = Table(
        f"minimum: smallest abductive explanations within {args.limit:g} s",
        "dataset:15 features:9 instances:10 solved:8 length:8.2f plain:8.2f gap:7.2f median_ms:11.1f worst_ms:11.1f",
    )
    for name, _, explainer, rows in explainers(args):
        plain = [len(explainer.abductive(row).features) for row in rows]
        times, results, solved = within(
            partial(explainer.abductive, minimum=True), lambda why: why.status == "minimum", args.limit, rows
        )
        gaps = [len(why.features) - why.lower_bound for why, done in zip(results, solved, strict=True) if not done]
        table.add(
            {
                "dataset": name,
                "features": explainer.space.n_features,
                "instances": len(rows),
                "solved": sum(solved),
                "length": float(np.mean([len(why.features) for why in results])),
                "plain": float(np.mean(plain)),
                "gap": float(np.mean(gaps)) if gaps else None,
                "median_ms": float(np.median(times)),
                "worst_ms": float(np.max(times)),
            }
        )
    few = [row for row in table.rows if row["features"] <= FEW_FEATURES]
    many = [row for row in table.rows if row["features"] > FEW_FEATURES]
    figures = []
    for rows, text, target in ((few, f"<= {FEW_FEATURES} features", "all"), (many, "more features", "")):
        done, asked = sum(row["solved"] for row in rows), sum(row["instances"] for row in rows)
        met = done == asked if target else None
        figures.append(figure(f"smallest proved, sets with {text}", f"{done} of {asked}", target, met))
    return table.rows, figures


def run_inflate(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    table = Table(
        "inflate: bounds widened quickly, and as wide as they go, beside the plain explanation",
        "dataset:15 plain_ms:10.3f inflated_ms:13.3f ratio:8.2f worst:8.2f proved_widest:15 instances:11 "
        "widest_ms:11.3f widest_ratio:14.2f plain_%:9.2f inflated_%:12.2f widest_%:10.2f",
    )
    for name, _, explainer, rows in explainers(args):
        ways = {
            "plain": explainer.abductive,
            "inflated": partial(explainer.abductive, inflate="quick"),
            "widest": partial(explainer.abductive, inflate="widest"),
        }
        timed = take_turns(ways, rows, args.repeats)
        plain, inflated, widest = timed["plain"], timed["inflated"], timed["widest"]
        row = {"dataset": name, "plain_ms": ms(plain), "inflated_ms": ms(inflated), "ratio": ms(inflated) / ms(plain)}
        row |= {"worst": float(np.max(medians(inflated) / medians(plain))), "instances": len(rows)}
        row |= {"widest_ms": ms(widest), "widest_ratio": ms(widest) / ms(plain)}
        X, _ = read(args.data, name)[:2]
        for way, done in timed.items():
            row[f"{way}_%"] = 100 * float(np.mean([explainer.coverage(why, X).share for why in done.results]))
        table.add(row | {"proved_widest": sum(why.widest for why in inflated.results)})
    worst = max(table.rows, key=lambda row: row["ratio"])
    within = sum(row["ratio"] <= 5 for row in table.rows)
    return table.rows, [
        figure(
            "sets inflated within 5 plain explanations", f"{within} of {len(table.rows)}", "all", worst["ratio"] <= 5
        ),
        figure(f"largest ratio of a set ({worst['dataset']})", worst["ratio"], "<= 5", worst["ratio"] <= 5),
        figure("% of the rows that a widened rule covers, mean", float(np.mean([r["inflated_%"] for r in table.rows]))),
        figure("% of the rows that a widest rule covers, mean", float(np.mean([r["widest_%"] for r in table.rows]))),
        figure("% of the rows that a plain rule covers, mean", float(np.mean([r["plain_%"] for r in table.rows]))),
    ]


def run_list(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    table = Table(
        "list: the first 100 abductive explanations, or all",
        "dataset:15 found:9.1f complete:9 instances:11 median_ms:11.1f worst_ms:11.1f",
    )

    def first(explainer: tp.Explainer, row: Any) -> tuple[int, bool]:
        listing = explainer.enumerate(row, kind="abductive", limit=100, timeout=60)
        return sum(1 for _ in listing), bool(listing.complete)

    for name, _, explainer, rows in explainers(args):
        times, results = once(partial(first, explainer), rows)
        table.add(
            {
                "dataset": name,
                "found": float(np.mean([n for n, _ in results])),
                "complete": sum(complete for _, complete in results),
                "instances": len(rows),
                "median_ms": float(np.median(times)),
                "worst_ms": float(np.max(times)),
            }
        )
    median = float(np.median([row["median_ms"] for row in table.rows]))
    return table.rows, [figure("ms on the median set", median, "< 1000", median < 1000)]


def run_simple(
    title: str, ask: Callable[..., Any], decided: Callable[[Any], bool], args: argparse.Namespace
) -> tuple[list[Row], list[Row]]:
    """Measure a question that has one answer for each row."""
    table = Table(
        f"{title}, within {args.limit:g} s",
        "dataset:15 instances:10 decided:9 median_ms:11.2f mean_ms:10.2f worst_ms:11.2f",
    )
    for name, _, explainer, rows in explainers(args):
        times, _, done = within(partial(ask, explainer), decided, args.limit, rows)
        row = {"dataset": name, "instances": len(rows), "decided": sum(done)}
        row |= {"median_ms": float(np.median(times)), "mean_ms": float(np.mean(times))}
        table.add(row | {"worst_ms": float(np.max(times))})
    n_done, asked = sum(row["decided"] for row in table.rows), sum(row["instances"] for row in table.rows)
    median = float(np.median([row["median_ms"] for row in table.rows]))
    return table.rows, [figure("decided", f"{n_done} of {asked}"), figure("ms on the median set", median)]


PARTS: dict[str, Part] = {
    "length": run_length,
    "minimum": run_minimum,
    "inflate": run_inflate,
    "list": run_list,
    "change": partial(
        run_simple,
        "change: the closest contrastive explanation",
        tp.Explainer.contrastive,
        lambda change: change.closest,
    ),
    "relevance": partial(
        run_simple,
        "relevance: necessary, relevant or irrelevant, all features",
        tp.Explainer.relevance,
        lambda found: found.status == "complete",
    ),
    "linf": partial(
        run_simple,
        "linf: the largest proved distance, every feature in its own scale",
        partial(tp.Explainer.robustness, norm="linf"),
        lambda found: found.status == "exact",
    ),
    "l0": partial(
        run_simple,
        "l0: the fewest features whose change flips the prediction",
        partial(tp.Explainer.robustness, norm="l0"),
        lambda found: found.status == "exact",
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=float, default=10, help="seconds of CPU time for one answer")


def main(argv: Sequence[str] | None = None) -> None:
    run(PARTS, __doc__, add_arguments, argv)


if __name__ == "__main__":
    main()
