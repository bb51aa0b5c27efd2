"""Time the native oracle beside the model's own ``predict`` and beside the paper's SAT encoding.

``python -m treeproof_bench.native --data DIR [--instances 20] [--repeats 3] [--dataset NAME ...] [--part paper,sat]``

DIR holds the datasets as CSV files and ``table1.csv``. The parts, each with a table and with figures at the end:

* ``paper``: one explanation beside one-row ``predict`` on the 32 forests of Table 1, its length beside the table's;
* ``sat``: one explanation by the native oracle beside one by the paper's encoding and solver;
* ``deep``: 100 trees with scikit-learn's defaults, no limit of depth, both votes;
* ``import``: the time to build an `Explainer`, and the memory it takes;
* ``mean``: scikit-learn's mean of probabilities beside majority vote;
* ``batch``: two threads beside one.

Times are CPU times, those of ``batch`` wall-clock times. What is compared is timed in turns on the same instances, the
first of the paper's; each instance counts with the median of its repeats. A ratio of a forest is the ratio of the means
over its instances. Table 1 itself, and the peers, are ``treeproof bench table1``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import partial
from statistics import geometric_mean

import numpy as np

import treeproof as tp
from treeproof_bench.harness import Row, Table, but, figure, recipe, run
from treeproof_bench.memory import TIMEOUT, in_a_fresh_process, resident_peaks, traced_peaks
from treeproof_bench.recipe import draw, n_nodes, read, read_table, sample, train
from treeproof_bench.timing import Action, Timed, encode_and_explain, medians, ms, predicts, take_turns

DEEP = ("wdbc", "heart-c", "vowel", "spambase", "twonorm", "pendigits", "phoneme", "magic", "letter")

# The published tool RFxpl (Glucose 3): CPU ms to extract one explanation, its encoding not counted, and to predict one
# row on the machine where that was measured, the middle of the range given. Mean of 20 instances; from the table
# "Measured" of oracle.md, a document of this project that lies outside this repository.
PUBLISHED = {
    "iris": (145, 11.5),
    "wdbc": (112, 10.5),
    "ionosphere": (52, 9),
    "spectf": (117, 10.5),
    "sonar": (139, 10),
    "ring": (333, 9),
    "biodegradation": (613, 8),
    "wpbc": (776, 11),
    "vowel": (1889, 11),
    "pendigits": (1068, 9),
    "texture": (1620, 8),
    "karhunen": (3630, 9),
    "letter": (1660, 9),
}


def length(timed: Timed) -> float:
    return float(np.mean([len(why.features) for why in timed.results]))


def compared(explain: Timed, predict: Timed) -> Row:
    ratios = medians(explain) / medians(predict)
    return {
        "explain_ms": ms(explain),
        "predict_ms": ms(predict),
        "ratio": ms(explain) / ms(predict),
        "median": float(np.median(ratios)),
        "worst": float(np.max(ratios)),
        "minimal": sum(why.status == "minimal" for why in explain.results),
        "instances": len(ratios),
        "length": length(explain),
        "explain_raw": explain.raw,
        "predict_raw": predict.raw,
    }


def run_paper(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    table = Table(
        "paper: one explanation beside one-row predict, majority vote; lengths by importance and by index",
        "dataset:15 nodes:8 explain_ms:12.3f predict_ms:12.3f ratio:8.3f worst:8.2f minimal:9 length:8.1f "
        "by_index:10.1f printed:9 close:7",
    )
    for name, line, model, rows in recipe(args):
        explainer = tp.Explainer(model, vote="majority")
        timed = take_turns({"explain": explainer.abductive, "predict": predicts(model)}, rows, args.repeats)
        by_index = float(np.mean([len(explainer.abductive(row, order="index").features) for row in rows]))
        printed = line["sat_calls"]
        close = abs(by_index - printed) <= max(1, 0.15 * printed)
        row = {"dataset": name, "nodes": n_nodes(model), "nodes_printed": line["nodes"]}
        row |= {"by_index": by_index, "printed": printed, "close": "yes" if close else "no"}
        table.add(row | compared(**timed))
    rows, n = table.rows, len(table.rows)
    ratios = [row["ratio"] for row in rows]
    largest, worst = max(rows, key=lambda row: row["ratio"]), max(rows, key=lambda row: row["worst"])
    within, fast = sum(ratio <= 1 for ratio in ratios), sum(ratio <= 0.2 for ratio in ratios)
    far = [row["dataset"] for row in rows if row["close"] == "no"]
    other = [row["dataset"] for row in rows if row["nodes"] != row["nodes_printed"]]
    return rows, [
        figure("forests explained within one predict", f"{within} of {n}", "all", within == n),
        figure("forests explained within a fifth", f"{fast} of {n}", ">= 20", None if args.dataset else fast >= 20),
        figure(f"largest ratio of a forest ({largest['dataset']})", max(ratios), "<= 1", max(ratios) <= 1),
        figure(f"worst ratio of an instance ({worst['dataset']})", worst["worst"], "<= 10", worst["worst"] <= 10),
        figure("geometric mean of the ratios", geometric_mean(ratios)),
        figure(f"length within 15 % or 1 of Table 1{but(far)}", f"{n - len(far)} of {n}", "all", not far),
        figure(f"as many nodes as in Table 1{but(other)}", f"{n - len(other)} of {n}", "all", not other),
    ]


def run_sat(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    table = Table(
        "sat: native beside oracle='sat', preset='paper', by index, encoding apart; 'paper' and RFxpl in predicts",
        "dataset:15 native_ms:11.3f sat_ms:10.1f encode_ms:11.1f speed_up:10.1f least:8.1f predicts:10.1f RFxpl:8.1f",
    )
    for name, _, model, rows in recipe(args):
        rows = rows[: args.sat_instances]
        native = tp.Explainer(model, vote="majority")
        sat = tp.Explainer(model, vote="majority", oracle="sat", preset="paper")
        encoding, by_sat = encode_and_explain(sat, rows)
        actions: dict[str, Action] = {"native": partial(native.abductive, order="index"), "predict": predicts(model)}
        by_native, predict = take_turns(actions, rows, args.repeats).values()
        if [why.features for why in by_sat.results] != [why.features for why in by_native.results]:
            raise SystemExit(f"{name}: the oracles disagree")
        row = {
            "dataset": name,
            "native_ms": ms(by_native),
            "sat_ms": ms(by_sat),
            "encode_ms": float(np.sum(medians(encoding))),
        }
        row |= {"speed_up": ms(by_sat) / ms(by_native), "least": float(np.min(medians(by_sat) / medians(by_native)))}
        row |= {"predicts": ms(by_sat) / ms(predict), "RFxpl": None}
        if name in PUBLISHED:
            row["RFxpl"] = PUBLISHED[name][0] / PUBLISHED[name][1]
        table.add(row | {"native_raw": by_native.raw, "sat_raw": by_sat.raw, "predict_raw": predict.raw})
    speed_ups = [row["speed_up"] for row in table.rows]
    average, least = geometric_mean(speed_ups), min(table.rows, key=lambda row: row["speed_up"])
    both = [row["predicts"] / row["RFxpl"] for row in table.rows if row["RFxpl"]]
    return table.rows, [
        figure("geometric mean of the speed-ups", average, ">= 100", average >= 100),
        figure(f"least speed-up of a forest ({least['dataset']})", min(speed_ups), ">= 20", min(speed_ups) >= 20),
        figure("'paper' / RFxpl, each in predicts, geometric mean", geometric_mean(both) if both else None),
    ]


def run_deep(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    table = Table(
        f"deep: 100 trees, scikit-learn's defaults, no limit of depth, {TIMEOUT:.0f} s for an instance",
        "dataset:15 vote:10 nodes:9 explain_ms:12.2f predict_ms:12.2f median:9.2f worst:9.2f minimal:9 instances:11 "
        "length:8.1f",
    )
    votes = ("mean", "majority")
    for name in args.dataset or DEEP:
        model = train(*read(args.data, name), None, criterion="gini")
        explainers = {"mean": tp.Explainer(model), "majority": tp.Explainer(model, vote="majority")}
        actions = {vote: partial(explainers[vote].abductive, timeout=TIMEOUT) for vote in votes}
        timed = take_turns(
            actions | {"predict": predicts(model)}, sample(args.data, name, args.instances)[1], args.repeats
        )
        if [why.label for why in timed["mean"].results] != timed["predict"].results:
            raise SystemExit(f"{name}: what is explained is not what the model predicts")
        for vote in votes:
            row = {"dataset": name, "vote": vote, "nodes": n_nodes(model)}
            table.add(row | compared(timed[vote], timed["predict"]))
    figures = []
    for vote in votes:
        rows = [row for row in table.rows if row["vote"] == vote]
        for row in rows:
            limit = 30 if row["dataset"] == "letter" else 5
            text = f"median ratio, {vote} vote, {row['dataset']}"
            figures.append(figure(text, row["median"], f"<= {limit}", row["median"] <= limit))
        minimal, n = sum(row["minimal"] for row in rows), sum(row["instances"] for row in rows)
        figures.append(figure(f"minimal in time, {vote} vote", f"{minimal} of {n}", "all", minimal == n))
    return table.rows, figures


def run_import(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    table = Table(
        "import: building an Explainer; MB of the arrays of the model and of its Forest; peaks above the model's own",
        "dataset:15 depth:7 nodes:9 import_ms:11.1f model:8.1f forest:8.1f building:10.1f explaining:12.1f "
        "python:8.1f by_model:10.1f by_forest:11.1f",
    )
    for name, depth in [(n, d) for n in args.dataset or () for d in (8, None)] or [("letter", 8), ("magic", None)]:
        model = train(*read(args.data, name), depth, criterion="entropy" if depth else "gini")
        rows = sample(args.data, name, args.instances)[1]
        timed = take_turns({"import": tp.Explainer}, [model], args.repeats)["import"]
        states = [tree.tree_.__getstate__() for tree in model.estimators_]
        of_model = sum(state["nodes"].nbytes + state["values"].nbytes for state in states) / 1e6
        forest = timed.results[0].forest
        arrays = (forest.feature, forest.threshold, forest.subset, forest.left, forest.right, forest.values)
        of_forest = sum(array.nbytes for array in arrays) / 1e6
        building, explaining = in_a_fresh_process(resident_peaks, model, rows)
        peak = None if building is None or explaining is None else max(building, explaining)
        row = {
            "dataset": name,
            "depth": depth,
            "nodes": n_nodes(model),
            "import_ms": ms(timed),
            "import_raw": timed.raw,
        }
        row |= {"model": of_model, "forest": of_forest, "building": building, "explaining": explaining}
        row |= {"python": max(in_a_fresh_process(traced_peaks, model, rows))}
        table.add(row | {"by_model": peak and peak / of_model, "by_forest": peak and peak / of_forest})
    figures = []
    for row in table.rows:
        of, limit = f"{row['dataset']}, {row['nodes']} nodes", 100 if row["depth"] else 1000
        figures.append(figure(f"ms to import {of}", row["import_ms"], f"<= {limit}", row["import_ms"] <= limit))
        if row["depth"] is None and row["by_model"]:
            figures.append(figure(f"memory / model's arrays, {of}", row["by_model"], "<= 10", row["by_model"] <= 10))
            figures.append(figure(f"memory / Forest's arrays, {of}", row["by_forest"], "<= 10", row["by_forest"] <= 10))
    return table.rows, figures


def run_mean(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    table = Table(
        "mean: mean of probabilities beside majority vote",
        "dataset:15 mean_ms:10.3f majority_ms:13.3f ratio:8.2f mean_length:13.1f majority_length:17.1f",
    )
    for name, _, model, rows in recipe(args):
        actions = {vote: tp.Explainer(model, vote=vote).abductive for vote in ("mean", "majority")}
        by_mean, majority = take_turns(actions, rows, args.repeats).values()
        row = {"dataset": name, "ratio": ms(by_mean) / ms(majority)}
        row |= {"mean_ms": ms(by_mean), "mean_length": length(by_mean), "mean_raw": by_mean.raw}
        row |= {"majority_ms": ms(majority), "majority_length": length(majority), "majority_raw": majority.raw}
        table.add(row)
    ratios = [row["ratio"] for row in table.rows]
    return table.rows, [
        figure("geometric mean of mean / majority", geometric_mean(ratios), "<= 3", geometric_mean(ratios) <= 3),
        figure("largest mean / majority of a forest", max(ratios)),
    ]


def run_batch(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    table = Table(
        "batch: wall-clock time of many rows, one thread and two",
        "dataset:15 rows:6 one_ms:11.1f two_ms:11.1f speed_up:10.2f",
    )
    lines = read_table(args.data)
    for name in args.dataset or ("sonar", "letter"):
        X, y = read(args.data, name)
        explainer = tp.Explainer(train(X, y, lines[name]["depth"]))
        X = draw(X, args.batch_rows)
        actions = {n_jobs: partial(explainer.batch, n_jobs=n_jobs) for n_jobs in (1, 2)}
        one, two = take_turns(actions, [X], args.repeats, clock=time.perf_counter).values()
        if [why.features for why in one.results[0]] != [why.features for why in two.results[0]]:
            raise SystemExit(f"{name}: two threads find other explanations than one")
        row = {"dataset": name, "rows": len(X), "one_ms": ms(one), "two_ms": ms(two), "speed_up": ms(one) / ms(two)}
        table.add(row | {"one_raw": one.raw, "two_raw": two.raw})
    return table.rows, [
        figure(f"speed-up by a second thread, {row['dataset']}", row["speed_up"], ">= 1.7", row["speed_up"] >= 1.7)
        for row in table.rows
    ]


PARTS = {
    "paper": run_paper,
    "sat": run_sat,
    "deep": run_deep,
    "import": run_import,
    "mean": run_mean,
    "batch": run_batch,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sat-instances", type=int, default=10, help="of the instances, how many in the part sat")
    parser.add_argument("--batch-rows", type=int, default=300, help="rows in the part batch")


def main(argv: Sequence[str] | None = None) -> None:
    run(PARTS, __doc__, add_arguments, argv)


if __name__ == "__main__":
    main()
