"""Write the figures of the stored results into the two READMEs, between their markers.

``python -m treeproof_bench.quote`` (``make quote``), in a clone of the repository.

Nothing is measured: the figures come from ``table1.jsonl``, ``native.json``, ``certificates.json`` and
``sat_presets.txt`` in the folder ``bench/results``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from treeproof_bench import report, summary
from treeproof_bench.report import sig
from treeproof_bench.results import load

BENCH = Path(__file__).resolve().parents[1]
RESULTS = BENCH / "results"
BEGIN, END = "<!-- figures: written by make quote -->", "<!-- end of figures -->"

Row = dict[str, Any]


def headline(results: Path = RESULTS) -> str:
    """Return the most important figures as one sentence, for the README of the repository."""
    records = list(load(results / "table1.jsonl").datasets.values())
    ratios = (found.ratio for record in records if (found := summary.default_order(record)))
    anchor = summary.validity(records, summary.ANCHOR)
    return (
        f"On the {len(records)} forests of the paper's Table 1, a proved minimal explanation takes "
        f"{sig(summary.geometric(ratios))} times one-row `predict` of the same forest, and is "
        f"{sig(summary.geometric(summary.speed_up(record, 'sat') for record in records))} times as fast as with the "
        f"paper's encoding, the time to encode not counted (geometric means); {anchor.refuted} of {anchor.answered} "
        "answers of Anchor do not force the prediction."
    )


def figures(results: Path = RESULTS) -> str:
    """Return all figures, for the README of the benchmarks."""
    table1 = load(results / "table1.jsonl")
    records = list(table1.datasets.values())
    native = {part: found["rows"] for part, found in json.loads((results / "native.json").read_text())["parts"].items()}
    certified = json.loads((results / "certificates.json").read_text())["parts"]
    header = table1.header
    predict = [found.predict_ms for record in records if (found := summary.default_order(record))]
    n_instances = sum(record["instances"] for record in records)
    lines = [
        f"On the {len(records)} forests of the paper's Table 1 (100 trees, depth 3 to 8, reproduced node for node) "
        f"and {n_instances:,} instances, those of the paper (the first 20 of each forest in the last six rows, the "
        f"first 10 beside other tools and the paper's encoding); one thread, CPU time, {header['machine']['cpu']}, "
        f"{header['machine']['cores']} cores, {header['date'][:10]}. [The report](results/table1/report.md) has "
        "every forest and every column of the table beside the printed one. One-row "
        f"`predict` of the same forest is the yardstick; it takes {sig(min(predict))} to {sig(max(predict))} ms there.",
        "",
        "| | typical | worst |",
        "|---|---|---|",
        *(
            f"| {' | '.join(row)} |"
            for row in [*table1_rows(records), *native_rows(native), *certificate_rows(certified)]
        ),
        "",
        *(f"* {report.peer_finding(records, method)}" for method in summary.methods(records)),
        "",
        encoding(records, native, (results / "sat_presets.txt").read_text()),
    ]
    return "\n".join(lines)


def table1_rows(records: list[Row]) -> list[tuple[str, str, str]]:
    """Return what Table 1 says about treeproof."""
    beside = {record["dataset"]: found for record in records if (found := summary.default_order(record))}
    ratios = {name: found.ratio for name, found in beside.items()}
    forest, instance = max(ratios, key=ratios.__getitem__), max(beside, key=lambda name: beside[name].worst)
    rows = [
        (
            "one proved minimal explanation / `predict`",
            f"{sig(geometric_mean(ratios.values()))} (geometric mean); at most 0.2 on "
            f"{sum(ratio <= 0.2 for ratio in ratios.values())} forests",
            f"{sig(ratios[forest])} of a forest ({forest}), {sig(beside[instance].worst)} of an instance ({instance})",
        )
    ]
    faster = {record["dataset"]: times for record in records if (times := summary.speed_up(record, "sat"))}
    if faster:
        least = min(faster, key=faster.__getitem__)
        rows.append(
            (
                "speed-up over the paper's encoding with Glucose 3, encoding not counted",
                f"{sig(geometric_mean(faster.values()))} (geometric mean)",
                f"{sig(faster[least])} ({least})",
            )
        )
    races = [summary.race(record, "native", summary.ANCHOR) for record in records]
    race = sum(races, summary.Race(0, 0))
    if race.of:
        lost = [record["dataset"] for record, each in zip(records, races, strict=True) if each.won < each.of]
        rows.append(
            (
                "faster than Anchor (the paper: on 96 % of the instances)",
                f"on {race.won:,} of {race.of:,} instances",
                f"lost some on {', '.join(lost)}" if lost else "",
            )
        )
    return rows


def native_rows(parts: dict[str, list[Row]]) -> list[tuple[str, str, str]]:
    """Return what ``native.json`` says beyond Table 1."""
    mean = {row["dataset"]: row["ratio"] for row in parts["mean"]}
    slowest = max(mean, key=mean.__getitem__)
    deep = parts["deep"]
    nodes = max(row["nodes"] for row in deep)
    minimal, asked = (sum(row[key] for row in deep) for key in ("minimal", "instances"))
    letter = [row["median"] for row in deep if row["dataset"] == "letter"]
    others = [row["median"] for row in deep if row["dataset"] != "letter"]
    imports = parts["import"]
    sizes = " and ".join(f"{row['nodes']:,}" for row in imports)
    return [
        (
            "mean vote / majority vote",
            f"{sig(geometric_mean(mean.values()))} (geometric mean)",
            f"{sig(mean[slowest])} ({slowest})",
        ),
        (
            f"forests without depth limit, up to {nodes:,} nodes: median / `predict`",
            f"{sig(min(others))} to {sig(max(others))}; letter, 26 classes, {sig(max(letter))}",
            f"{'all' if minimal == asked else f'{minimal} of'} {asked} proved minimal",
        ),
        (
            f"`Explainer(model)`, {sizes} nodes",
            ", ".join(f"{row['import_ms']:.0f} ms" for row in imports),
            "",
        ),
        (
            "two threads instead of one, `batch`",
            ", ".join(f"{row['speed_up']:.2f} ({row['dataset']})" for row in parts["batch"]),
            "",
        ),
    ]


def certificate_rows(parts: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return what ``certificates.json`` says."""
    rows, verified = parts["why"]["rows"], parts["verify"]["rows"]
    slowest = max(rows, key=lambda row: row["ratio"])
    sizes, times = ([value for row in rows for value in row[key]] for key in ("sizes", "times"))
    failed, made = sum(row["failed"] for row in rows), sum(row["instances"] for row in rows)
    slow = max(verified, key=lambda row: row["verified_ms"])
    return [
        (
            f"a certificate / its explanation; the checker rejects {failed} of {made}",
            f"{sig(median(row['ratio'] for row in rows))} (median), {median(sizes) / 1000:.0f} KB, "
            f"{sig(median(times))} ms to check",
            f"{sig(slowest['ratio'])} ({slowest['dataset']}), {max(sizes) / 1000:.0f} KB, {sig(max(times))} ms",
        ),
        (
            "an explanation with `verify=True`",
            f"{sig(median(row['verified_ms'] for row in verified))} ms (median)",
            f"{sig(slow['verified_ms'])} ms ({slow['dataset']})",
        ),
    ]


def encoding(records: list[Row], parts: dict[str, list[Row]], presets: str) -> str:
    """Return how the paper's encoding fares here."""
    published = [row["predicts"] / row["RFxpl"] for row in parts["sat"] if row["RFxpl"]]
    compact = re.search(r"instances each: ([\d.]+); with encoding ([\d.]+)", presets)
    assert compact is not None

    def range_of(key: str) -> str:
        more = [100 * (record[key] / record["printed"][key] - 1) for record in records]
        ends = (f"{abs(each):.2g} % {'more' if each > 0 else 'fewer'}" for each in (min(more), max(more)))
        return "between {} and {}".format(*ends)

    return (
        f"The paper's encoding itself, as preset `paper`, takes {sig(geometric_mean(published))} times what the "
        f"published tool was measured to take, relative to `predict`; preset `compact` is {float(compact[1]):.1f} "
        f"times faster than it (geometric mean, {float(compact[2]):.1f} with encoding; "
        f"`results/sat_presets.txt`). Its formulas have {range_of('vars')} variables than the table prints, and "
        f"{range_of('clauses')} clauses: the published ones also have a selector for each feature with a clause for "
        "each interval, interval variables for two-valued features, and thresholds that differ only beyond float32, "
        "and they lack the clause "
        '"at least one class" of a tree.'
    )


PAGES = {BENCH.parent / "README.md": headline, BENCH / "README.md": figures}


def quoted(text: str, inside: str) -> str:
    """Return a text with the part between the markers replaced."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{inside}\n{END}{after}"


if __name__ == "__main__":
    for page, written in PAGES.items():
        page.write_text(quoted(page.read_text(), written()))
