"""Questions about the whole model: extremes of the score beside Veritas, monotone features, independence, equality.

``python -m treeproof_bench.whole [--data DIR] [--dataset iris wdbc] [--veritas veritas-env/bin/python] [--limit 10]
[--kept whole.jsonl]``

``forests`` are those of the paper's Table 1 (with ``--data``; the score is the mean probability of the second class),
``boosted`` XGBoost models of ``--trees`` trees on a made-up population (`population.draw`); for each the lowest and the
highest score over all inputs and over random boxes, beside Veritas on the same models and boxes, in an environment of
its own (``peers/veritas.txt``). Times are CPU seconds of both ends; the limit is wall-clock time for each end.
``monotone`` asks every feature of XGBoost models with and without constraints, ``independent`` a model without a column
and one with it, ``differ`` a model against its own JSON file, and against itself with one leaf changed. ``rules``
counts how many rules that a learner (te2rules) reads off a forest are true of it, beside `Explainer.rules`.

With ``--kept``, what was measured of a model is kept in that file, so that an interrupted run goes on from there.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import pickle
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import treeproof as tp
from treeproof_bench.harness import Row, Table, figure, run
from treeproof_bench.population import draw
from treeproof_bench.recipe import read, read_table, train

Box = dict[int, tuple[float, float]]
WORKER = Path(__file__).parent / "peers" / "_veritas.py"
STAGES = 2  # of te2rules: so many trees at most make a rule together; its default, all of them, may take hours
TOLERANCE = 1e-3  # of Veritas' sums, which are floats, beside the model's own


def xgboost_model(trees: int, depth: int = 6, **options: Any) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=trees, max_depth=depth, n_jobs=1, random_state=0, **options)


def boxes(X: Any, n: int, seed: int = 0) -> list[Box]:
    """Return the whole space, and random boxes around rows: half of the features between two quantiles."""
    rng = np.random.default_rng(seed)
    found: list[Box] = [{}]
    for _ in range(n):
        row = X[rng.integers(len(X))]
        box: Box = {}
        for f in rng.permutation(X.shape[1])[: X.shape[1] // 2].tolist():
            place = float(np.mean(X[:, f] <= row[f]))
            low, high = np.quantile(X[:, f], [max(place - 0.25, 0), min(place + 0.25, 1)]).astype(np.float32).tolist()
            if low < high:
                box[f] = low, high
        found.append(box)
    return found


def where(explainer: tp.Explainer, box: Box) -> str | None:
    """Return a box as conditions, its high ends excluded."""
    names = explainer.forest.column_names
    return " and ".join(f"{names[f]} >= {low!r} and {names[f]} < {high!r}" for f, (low, high) in box.items()) or None


def veritas(args: argparse.Namespace, model: Any, chosen: Sequence[Box]) -> list[Row] | None:
    """Return what Veritas says about each box; None if it was not asked."""
    if args.veritas is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        kind = "json" if hasattr(model, "get_booster") else "pkl"
        path, file = Path(folder, f"model.{kind}"), Path(folder, "boxes.json")
        if kind == "json":
            model.get_booster().save_model(path)
        else:
            path.write_bytes(pickle.dumps(model))
        file.write_text(json.dumps(chosen))
        command = [args.veritas, str(WORKER), str(path), str(file), "--limit", str(args.limit)]
        made = subprocess.run(command, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in made.stdout.splitlines()[1:]]


def kept(args: argparse.Namespace, key: str, measure: Callable[[], list[Row]]) -> list[Row]:
    """Return the lines of a model: those of an earlier run with the same options, or measured now, and then kept."""
    key = f"{key}, limit {args.limit:g}, {args.boxes} boxes, {args.rows} rows, veritas {args.veritas is not None}"
    if args.kept is not None and args.kept.exists():
        # Half a line at the end is from an interruption.
        whole, _, _ = args.kept.read_text().rpartition("\n")
        args.kept.write_text(whole + "\n" * bool(whole))
        for line in map(json.loads, whole.splitlines()):
            if line["key"] == key:
                return list(line["rows"])
    rows = measure()
    if args.kept is not None:
        with args.kept.open("a") as file:
            file.write(json.dumps({"key": key, "rows": rows}) + "\n")
    return rows


def ends_of(args: argparse.Namespace, name: str, make: Callable[[], tuple[Any, Any]]) -> list[Row]:
    """Return a line for each box of a model."""
    rows: list[Row] = []
    model, X = make()
    explainer = tp.Explainer(model, missing=[])
    chosen = boxes(X, args.boxes)
    beside = veritas(args, model, chosen)
    for i, box in enumerate(chosen):
        began = time.process_time()
        found = explainer.extremes(of=None, where=where(explainer, box), timeout=2 * args.limit)
        seconds = time.process_time() - began
        ends = found.lowest, found.highest
        row: Row = {"model": name, "nodes": explainer.forest.n_nodes, "box": i, "seconds": seconds}
        row |= {"lowest": ends[0].value, "highest": ends[1].value, "gap": max(end.gap for end in ends)}
        row["at_most"] = found.highest.bound
        row |= {"closed": f"{sum(end.exact for end in ends)} of 2"}
        row |= {
            "veritas_highest": None,
            "veritas_at_most": None,
            "veritas_gap": None,
            "veritas_s": None,
            "veritas_closed": None,
            "n_closed": sum(e.exact for e in ends),
        }
        if beside is not None:
            theirs = [beside[i]["lowest"], beside[i]["highest"]]
            known = [(value, bound) for value, bound, _ in theirs if value is not None and bound is not None]
            gaps = [abs(bound - value) for value, bound in known]
            row["veritas_highest"], row["veritas_at_most"], _ = theirs[1]
            row["veritas_gap"] = max(gaps) if len(gaps) == 2 else None
            row["veritas_s"] = beside[i]["seconds"]
            row["n_veritas"] = sum(closed for *_, closed in theirs)
            row["veritas_closed"] = f"{row['n_veritas']} of 2"
            for mine, (value, _, closed) in zip(ends, theirs, strict=True):
                if mine.exact and closed and abs(mine.value - value) > TOLERANCE:
                    print(f"DISAGREE {name} box {i}: {mine.value} and {value}", flush=True)
        rows.append(row)
    return rows


def extremes(
    args: argparse.Namespace, title: str, models: Iterator[tuple[str, Callable[[], tuple[Any, Any]]]]
) -> tuple[list[Row], list[Row]]:
    table = Table(
        f"{title}: lowest and highest score, limit {args.limit:g} s for each end",
        "model:18 nodes:8 box:5 lowest:10.4f highest:10.4f at_most:10.4f gap:9.2g seconds:9.3f closed:8 "
        "veritas_highest:17.4f veritas_at_most:17.4f veritas_gap:13.2g veritas_s:11.3f veritas_closed:16",
    )
    for name, make in models:
        for row in kept(args, f"{title} {name}", partial(ends_of, args, name, make)):
            table.add(row)
    rows = table.rows
    n_ends = 2 * len(rows)
    figures = [figure(f"{title}: closed", f"{sum(row['n_closed'] for row in rows)} of {n_ends}", "all")]
    figures.append(figure(f"{title}: seconds, median", float(np.median([row["seconds"] for row in rows]))))
    if args.veritas is not None:
        theirs = [row["veritas_s"] for row in rows]
        figures.append(figure(f"{title}: Veritas, closed", f"{sum(row['n_veritas'] for row in rows)} of {n_ends}"))
        figures.append(figure(f"{title}: Veritas, seconds, median", float(np.median(theirs))))
        slower = [
            f"{row['model']} box {row['box']}"
            for row in rows
            if row["n_veritas"] > row["n_closed"] or (row["n_veritas"] == 2 and row["seconds"] > row["veritas_s"])
        ]
        figures.append(
            figure(f"{title}: boxes on which Veritas is faster, or closes more", len(slower), "0", not slower)
        )
        print("Veritas is faster on:", ", ".join(slower) or "none", flush=True)
    return rows, figures


def of_forests(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    if args.data is None:
        print("forests: left out, they need --data")
        return [], []

    def models() -> Iterator[tuple[str, Callable[[], tuple[Any, Any]]]]:
        lines = read_table(args.data)
        for name in args.dataset or lines:
            if lines[name]["classes"] in (2, None) and len(set(read(args.data, name)[1])) == 2:
                yield name, partial(made, name, lines[name]["depth"])

    def made(name: str, depth: int) -> tuple[Any, Any]:
        X, y = read(args.data, name)
        return train(X, y, depth), X

    return extremes(args, "forests", models())


def of_boosted(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    population = draw(args.rows)

    def models() -> Iterator[tuple[str, Callable[[], tuple[Any, Any]]]]:
        for trees in args.trees:
            for depth in args.depth:
                yield f"xgboost {trees} x {depth}", partial(made, trees, depth)

    def made(trees: int, depth: int) -> tuple[Any, Any]:
        return xgboost_model(trees, depth).fit(population.X, population.y), population.X

    return extremes(args, "boosted", models())


def monotone(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    population = draw(args.rows)
    table = Table(
        f"monotone: both directions of 40 features, limit {args.limit:g} s",
        "model:34 trees:7 proved:8 refuted:9 open:6 seconds:10.2f",
    )
    constrained = [0, 4, 6]  # normal, heavy-tailed, a count
    right = True
    for trees in args.trees[:2]:
        kinds: dict[str, dict[str, Any]] = {
            "without constraints": {},
            "x0 up, x4 down, x6 up": {"monotone_constraints": tuple({0: 1, 4: -1, 6: 1}.get(f, 0) for f in range(40))},
        }
        for name, options in kinds.items():
            explainer = tp.Explainer(xgboost_model(trees, **options).fit(population.X, population.y), missing=[])
            began = time.process_time()
            found = explainer.monotone(timeout=args.limit)
            assert isinstance(found, tp.Monotonicity)
            seconds = time.process_time() - began
            up = {one.feature: one.holds for one in found.rising}
            down = {one.feature: one.holds for one in found.falling}
            row: Row = {"model": name, "trees": trees, "seconds": seconds}
            answers = [*up.values(), *down.values()]
            row |= {"proved": answers.count(True), "refuted": answers.count(False), "open": answers.count(None)}
            table.add(row)
            if options:
                right = right and [up["x0"], down["x4"], up["x6"]] == [True, True, True]
            else:
                right = right and not any(up[f"x{f}"] and down[f"x{f}"] for f in constrained)
    return table.rows, [figure("constraints of XGBoost proved, and found missing without them", right, "True", right)]


def independent(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    population = draw(args.rows)
    table = Table(f"independent of x3, limit {args.limit:g} s", "model:24 trees:7 answer:10 seconds:10.3f")
    right = True
    for trees in args.trees:
        for name, weights in (("with the column", None), ("without it", [float(f != 3) for f in range(40)])):
            X = population.X.copy()
            if weights is not None:
                X[:, 3] = 0.0
            explainer = tp.Explainer(xgboost_model(trees).fit(X, population.y), missing=[])
            began = time.process_time()
            found = explainer.independent(["x3"], timeout=args.limit)
            table.add(
                {"model": name, "trees": trees, "answer": str(found.holds), "seconds": time.process_time() - began}
            )
            right = right and found.holds is (weights is not None)
    return table.rows, [figure("independent: proved without the column, refuted with it", right, "True", right)]


def differ(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    population = draw(args.rows)
    table = Table(f"differ, limit {args.limit:g} s", "pair:34 trees:7 same:8 status:9 seconds:10.3f")
    right = True
    for trees in args.trees:
        model = xgboost_model(trees).fit(population.X, population.y)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.json")
            model.get_booster().save_model(path)
            again = tp.load_model(path)
            document = json.loads(path.read_text())
            first = document["learner"]["gradient_booster"]["model"]["trees"][0]
            leaf = first["left_children"].index(-1)
            first["split_conditions"][leaf] += 2.0  # of a leaf, its value
            other = Path(folder, "other.json")
            other.write_text(json.dumps(document))
            changed = tp.load_model(other)
            for name, new, same in (("its own JSON file", again, True), ("one leaf changed", changed, False)):
                began = time.process_time()
                found = tp.differ(tp.Explainer(model, missing=[]), tp.Explainer(new, missing=[]), timeout=args.limit)
                row: Row = {"pair": name, "trees": trees, "same": str(found.same), "status": found.status}
                table.add(row | {"seconds": time.process_time() - began})
                right = right and found.same is same
    return table.rows, [figure("differ: equal to its file, and a changed leaf found", right, "True", right)]


def rules(args: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    """Set proved rules beside those that a learner reads off the same forests, each put to the forest."""
    from sklearn.datasets import load_breast_cancer, load_iris, load_wine
    from sklearn.ensemble import RandomForestClassifier

    table = Table(
        "rules of forests of 30 trees, depth 4, for the rows they were trained on",
        "data:16 learner:16 rules:7 true:6 covered:9.3f seconds:9.2f",
    )
    false = asked = 0
    for load in (load_iris, load_wine, load_breast_cancer):
        data = load()
        X, y = data.data.astype(np.float32), (data.target == 0).astype(int)
        names = [f"x{i}" for i in range(X.shape[1])]
        model = RandomForestClassifier(30, max_depth=4, random_state=0).fit(X, y)
        explainer = tp.Explainer(model)
        began = time.process_time()
        found = explainer.rules(X)
        row: Row = {"data": load.__name__[5:], "learner": "treeproof", "rules": len(found.rules)}
        right = sum(explainer.review(claim=list(rule.rule), label=rule.label).holds is True for rule in found.rules)
        assert right == len(found.rules)
        table.add(row | {"true": right, "covered": found.coverage.share, "seconds": time.process_time() - began})
        for precision in (0.95, 1.0) if importlib.util.find_spec("te2rules") else ():
            from te2rules.explainer import ModelExplainer

            began = time.process_time()
            learned = ModelExplainer(model=model, feature_names=names).explain(
                X=X.tolist(), y=model.predict(X).tolist(), num_stages=STAGES, min_precision=precision
            )
            seconds = time.process_time() - began
            held = [explainer.review(claim=readable(rule), label=1, timeout=args.limit).holds for rule in learned]
            covered = np.logical_or.reduce([np.zeros(len(X), bool), *(satisfied(rule, X) for rule in learned)])
            row = {"data": load.__name__[5:], "learner": f"te2rules {precision:g}", "rules": len(learned)}
            row |= {"true": sum(h is True for h in held), "covered": float(covered[model.predict(X) == 1].mean())}
            table.add(row | {"seconds": seconds})
            false += sum(h is False for h in held)
            asked += len(held)
    figures = [figure("rules of te2rules that are false of the forest", f"{false} of {asked}")] if asked else []
    return table.rows, figures


def readable(rule: str) -> str:
    """Return a rule of te2rules as conditions that `review` reads."""
    return " and ".join(part.strip().strip("()") for part in rule.split("&"))


def satisfied(rule: str, X: Any) -> Any:
    """Return which rows satisfy a rule of te2rules."""
    inside = np.ones(len(X), dtype=bool)
    for part in rule.split("&"):
        name, sign, number = part.strip().strip("()").split()
        column = X[:, int(name[1:])]
        inside &= column <= float(number) if sign == "<=" else column > float(number)
    return inside


PARTS = {
    "forests": of_forests,
    "boosted": of_boosted,
    "monotone": monotone,
    "independent": independent,
    "differ": differ,
    "rules": rules,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, help="folder with the datasets and table1.csv, for the forests")
    parser.add_argument("--dataset", nargs="+", help="datasets, by default all of two classes")
    parser.add_argument("--veritas", metavar="PYTHON", help="interpreter of an environment with Veritas")
    parser.add_argument("--limit", type=float, default=10.0, help="seconds for each end, or each answer")
    parser.add_argument("--boxes", type=int, default=1, help="random boxes beside the whole space")
    parser.add_argument("--kept", type=Path, help="file for the lines of extremes, so that a run can go on later")
    parser.add_argument("--rows", type=int, default=20_000, help="rows to train boosted models on")
    parser.add_argument("--trees", type=int, nargs="+", default=[100, 300, 1000], help="trees of boosted models")
    parser.add_argument("--depth", type=int, nargs="+", default=[6], help="depth of boosted models")


def main(argv: Sequence[str] | None = None) -> None:
    run(PARTS, __doc__, add_arguments, argv, needs_data=False)


if __name__ == "__main__":
    main()
