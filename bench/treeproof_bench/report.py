"""The report: one list of blocks, written as Markdown, as one HTML page, or as text on a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from treeproof_bench import summary
from treeproof_bench.results import COMMAND, Results

Record = dict[str, Any]


@dataclass(frozen=True)
class Heading:
    """A heading."""

    text: str


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Points:
    """A list of sentences."""

    lines: Sequence[str]


@dataclass(frozen=True)
class Table:
    """A table; cells are text, the first `n_names` columns are names, the others numbers."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    n_names: int = 1


@dataclass(frozen=True)
class Picture:
    """A picture, by the name that `plots.draw` gives it."""

    name: str
    caption: str


Block = Heading | Text | Points | Table | Picture

CAPTIONS = {
    "scatter": "Time of one explanation, a point for each instance. Above the diagonal treeproof is faster, by the "
    "factor at the lines. Filled: the features force the prediction. Open: they do not, or no answer came in time. "
    "The numbers of both are above each panel.",
    "cactus": "How many instances each tool explains when it may take the time on the vertical axis for each of them; "
    "on the instances that all tools were asked about. Further right and lower is better.",
    "times": "Mean time of an explanation on each dataset, each tool on the instances it was asked about. Open marks: "
    "as printed in the paper, measured on the authors' machine.",
    "lengths": "Mean length of the explanations on each dataset, each tool on the instances it was asked about. That a "
    "set is short says little if it does not force the prediction: see the tables of the peers.",
    "growth": "What larger forests cost: the native oracle in its default order beside one-row predict of the same "
    "forest. A bar reaches from the mean to the worst instance. A limit of depth of none is scikit-learn's default.",
}
FIGURES = {
    "#F": "features",
    "#C": "classes",
    "#I": "instances",
    "#N": "nodes",
    "%A": "accuracy in %",
    "#var": "variables",
    "#cl": "clauses",
    "MxS": "longest question with a counterexample, s",
    "MxU": "longest question with a proof, s",
    "Mx": "longest explanation, s",
    "m": "shortest explanation, s",
    "avg": "mean explanation, s",
    "%w": "races won against Anchor in %",
    "kept": "mean length (the paper's #S)",
}
REASONS = {
    "#F": "the file of the dataset is another one",
    "#C": "the file of the dataset is another one",
    "#I": "the file of the dataset, or the seed, is another one",
    "#N": "the file of the dataset, or the version of scikit-learn, is another one",
    "%A": "the file of the dataset, or the version of scikit-learn, is another one",
    "#var": "the encoding differs in details from the published one",
    "#cl": "the encoding has the clause “at least one class” of each tree, which the published one lacks, while the "
    "published one has a selector for each feature with a clause for each interval",
    "kept": "the order of the features in the authors' file may be another one; every length here is proved minimal",
    "%w": "Anchor is several times as fast here as in the paper, also because it is given a fast predict",
}
TIME_REASONS = {
    "native": "no solver is involved, so what is left is the machine",
    "sat": "another machine than the paper's; a solver that is kept for each class, and grows with what it has learnt; "
    "and a shortest explanation is the shortest of those explained, which may be fewer than the paper's",
    "smt": "z3 is slower than a SAT solver on these forests",
}


def compose(results: Results, pictures: Iterable[str]) -> list[Block]:
    """Return the report."""
    records = list(results.datasets.values())
    header = results.header
    blocks: list[Block] = [
        Heading("Table 1 of “On Explaining Random Forests with SAT”, side by side"),
        Text(_about(header)),
        Heading("In short"),
        Points(findings(results)),
        Heading("Table 1"),
        Text(
            "The line “paper” is the table as printed (Izza and Marques-Silva, IJCAI 2021; its times in seconds on a "
            "MacBook Pro with a Dual-Core Intel Core i5 at 2.3 GHz). The lines below it were measured here, in CPU "
            "seconds, by index order as the published tool does. #S and #U count the questions that reached the "
            "oracle; those that earlier answers had settled are not asked again. kept is the mean length, which is "
            "what the paper's #S counts: its tool asks once for each feature, and a feature that is kept is one such "
            "call. %w and the last column are about Anchor on the same instances."
        ),
        table1(records),
        Heading("The default order, and one-row predict"),
        Text(
            "treeproof tries the least important features first unless told otherwise. The yardstick is "
            "RandomForestClassifier.predict of the same forest on one row. Milliseconds of CPU time; memory is the "
            "peak in MB above a process that has loaded the model, while an Explainer is built and explains."
        ),
        default_order(records),
        Heading("Peers"),
        Text(
            "Whether the features of an answer force the prediction is decided by proof; where they do not, the file "
            "of results has a counterexample: an input that agrees with the instance on all of them and that the "
            "forest's own predict gives another label. “Not minimal” counts answers that force the prediction with "
            "features that are not all needed. Anchor claims neither. PyXAI's reasons are minimal in conditions, not "
            "in features; all features are declared numerical to it, which is not its default, for only then it knows "
            "that one condition on a feature may imply another. The peers' conditions are about intervals around the "
            "values; here the values themselves are kept, which favours the peers. Times "
            "are CPU times of the tool and of the programs it starts, without setting up for a forest, on either side."
        ),
        *peers(records),
    ]
    drawn = [Picture(name, CAPTIONS[name]) for name in pictures]
    if drawn:
        blocks += [Heading("Pictures"), *drawn]
    blocks += [
        Heading("Worse than the paper, or different"),
        Points(worse_lines(results) or ["Nothing: every figure is at least as good as the printed one."]),
        Heading("How it was measured"),
        Points(_method(header)),
    ]
    return blocks


def findings(results: Results) -> list[str]:
    """Return the main figures as sentences."""
    records = list(results.datasets.values())
    n = len(records)
    checks = [summary.forest_as_printed(record) for record in records]
    n_instances = sum(record["instances"] for record in records)
    as_many = sum(record["instances"] == record["printed"].get("instances") for record in records)
    lines = [
        f"{n} {_plural('forest', n)}: the printed number of nodes on {sum(nodes is True for nodes, _ in checks)}, the "
        f"printed accuracy on {sum(accuracy is True for _, accuracy in checks)}.",
        f"{n_instances:,} instances" + (f", as many as printed on {as_many} of {n} datasets." if as_many else "."),
    ]
    lengths = [length for record in records if (length := summary.length_as_printed(record)) is not None]
    if lengths:
        lines.append(
            f"Mean length by index, rounded: the printed #S on {sum(lengths)} of the {len(lengths)} datasets of which "
            "all instances were explained."
        )
    for oracle in _oracles(records):
        lines.append(oracle_finding(records, oracle))
    of_predict = {
        record["dataset"]: found for record in records if (found := summary.default_order(record)) is not None
    }
    if of_predict:
        largest = max(of_predict, key=lambda name: of_predict[name].ratio)
        worst = max(of_predict, key=lambda name: of_predict[name].worst)
        fast = sum(each.ratio <= 0.2 for each in of_predict.values())
        lines.append(
            f"native in its default order takes {sig(summary.geometric(each.ratio for each in of_predict.values()))} "
            f"times one-row predict (geometric mean; at most 0.2 on {fast} of {len(of_predict)} forests); at most "
            f"{sig(of_predict[largest].ratio)} on a forest ({largest}) and {sig(of_predict[worst].worst)} on an "
            f"instance ({worst})."
        )
        memory = [(record["memory_mb"], record["dataset"]) for record in records if record.get("memory_mb")]
        if memory:
            lines.append(f"Peak memory: at most {sig(max(memory)[0])} MB above the model ({max(memory)[1]}).")
    for oracle in _oracles(records):
        race = sum((summary.race(record, oracle, summary.ANCHOR) for record in records), summary.Race(0, 0))
        if race.of:
            lines.append(
                f"{oracle} is faster than Anchor on {race.won:,} of {race.of:,} instances, {_percent(race)} (the "
                "paper: 8,438 of 8,746, 96 %)."
            )
    for method in summary.methods(records):
        lines.append(peer_finding(records, method))
    for record in records:
        for peer, report in record["peers"].items():
            if "error" in report:
                lines.append(f"{summary.label((peer, peer))} failed on {record['dataset']}: {report['error']}.")
    return lines


def oracle_finding(records: Sequence[Record], oracle: str) -> str:
    """Return how long an oracle took, as a sentence."""
    asked = [record["oracles"][oracle] for record in records]
    every = [ms for each in asked for ms in each["ms"]]
    over = sum(len(each["over_limit"]) for each in asked)
    text = (
        f"{oracle}: {len(every) - over:,} of {len(every):,} explanations proved minimal in time, {sig(fmean(every))} "
        "ms on average (CPU, index order"
    )
    text += ", encoding not counted)" if oracle != "native" else ")"
    faster = summary.geometric(
        record["printed"]["axp_avg_s"] / seconds
        for record in records
        if record["printed"].get("axp_avg_s") and (seconds := summary.oracle_columns(record, oracle)["avg"])
    )
    if faster:
        text += f", {sig(faster)} times as fast as the paper prints for its machine (geometric mean of the datasets)"
    beside = summary.geometric(summary.speed_up(record, oracle) for record in records)
    if oracle != "native" and beside:
        text += f"; native is {sig(beside)} times as fast on the same instances"
    return text + "."


def peer_finding(records: Sequence[Record], method: tuple[str, str]) -> str:
    """Return what a peer's answers are worth, as a sentence."""
    found = summary.validity(records, method)
    text = (
        f"{summary.label(method)}: {found.answered:,} answers to {found.asked:,} instances ({found.over_limit} over "
        f"the limit, {found.failed} failed), {sig(found.mean_ms)} ms on average."
    )
    if not found.answered:
        return text
    text += f" {found.refuted:,} do not force the prediction, {100 * found.refuted / found.answered:.0f} %"
    if found.other_label:
        text += f"; {found.other_label} explain a label that the forest does not predict"
    if found.undecided:
        text += f"; {found.undecided} undecided"
    text += f"; of the {found.forces:,} that do, {found.not_minimal:,} are not minimal."
    text += f" Features: {sig(found.mean_length)} on average, treeproof by index {sig(found.our_length)}."
    return text


def table1(records: Sequence[Record]) -> Table:
    """Return every column of Table 1, as printed and as measured."""
    columns = ["dataset", "", "#F", "#C", "#I", "D", "#N", "%A", "#var", "#cl", *summary.PRINTED, "Anchor avg"]
    keys = ("features", "classes", "instances", "depth", "nodes", "accuracy", "vars", "clauses")
    rows = []
    for record in records:
        printed = record["printed"]
        there = [sig(printed.get(key)) for key in (*keys, *summary.PRINTED.values(), "anchor_avg_s")]
        rows.append([record["dataset"], "paper", *there])
        forest = [sig(int(record[key])) for key in keys]  # accuracy is cut, as in the paper
        anchor = summary.validity([record], summary.ANCHOR).mean_ms
        for oracle in record["oracles"]:
            measured = summary.oracle_columns(record, oracle)
            cells = [sig(measured[column]) for column in summary.PRINTED]
            forest[2] = sig(len(record["oracles"][oracle]["ms"]))
            over = len(record["oracles"][oracle]["over_limit"])
            name = oracle + (f" ({over} over the limit)" if over else "")
            rows.append(["", name, *forest, *cells, "" if anchor is None else sig(anchor / 1000)])
            forest, anchor = [""] * len(keys), None
    return Table(columns, rows, 2)


def default_order(records: Sequence[Record]) -> Table:
    """Return what the native oracle does when it is asked without options."""
    columns = [
        *("dataset", "ms", "predict, ms", "ratio", "worst ratio", "ms by index", "length", "length by index"),
        *("memory, MB", "over limit"),
    ]
    rows = []
    for record in records:
        found = summary.default_order(record)
        if found is None:
            continue
        rows.append(
            [
                record["dataset"],
                *map(sig, (found.explain_ms, found.predict_ms, found.ratio, found.worst)),
                sig(fmean(record["oracles"]["native"]["ms"])),
                sig(fmean(record["default_order"]["lengths"])),
                sig(fmean(map(len, record["explanations"]))),
                sig(record["memory_mb"]),
                str(len(record["default_order"]["over_limit"])),
            ]
        )
    return Table(columns, rows)


def peers(records: Sequence[Record]) -> list[Block]:
    """Return a table for each method of a peer, or a word that there is none."""
    blocks: list[Block] = []
    for method in summary.methods(records):
        columns = [
            *(summary.label(method), "asked", "ms", "treeproof, ms", "features", "treeproof", "do not force"),
            *("not minimal", "other label", "undecided", "over limit", "failed"),
        ]
        rows = [_peer_row(record["dataset"], [record], method) for record in records]
        blocks.append(Table(columns, [*rows, _peer_row("all", records, method)]))
    return blocks or [Text("None were asked.")]


def _peer_row(name: str, records: Sequence[Record], method: tuple[str, str]) -> list[str]:
    found = summary.validity(records, method)
    if not found.asked:
        peer = method[0]
        return [name, records[0]["peers"].get(peer, {}).get("error", "not asked"), *[""] * 10]
    ours = [
        ms for record in records for ms, _ in zip(_first(record)["ms"], summary.answers(record, method), strict=False)
    ]
    return [
        name,
        str(found.asked),
        *map(sig, (found.mean_ms, fmean(ours), found.mean_length, found.our_length)),
        f"{found.refuted} of {found.answered}",
        f"{found.not_minimal} of {found.forces}",
        *map(str, (found.other_label, found.undecided, found.over_limit, found.failed)),
    ]


def worse_lines(results: Results) -> list[str]:
    """Return, for each figure that is worse than in the paper on some dataset, those datasets and why."""
    complete = results.header["settings"]["instances"] is None
    found: dict[str, list[str]] = {}
    for record in results.datasets.values():
        for each in summary.worse(record, complete):
            found.setdefault(each.figure, []).append(f"{each.dataset} {sig(each.here)} ({sig(each.printed)})")
    lines = []
    for figure, datasets in found.items():
        column, _, oracle = figure.partition(", ")
        reason = REASONS.get(column) or TIME_REASONS.get(oracle, "")
        by = f", {oracle}" if oracle else ""
        what = f"{column}{by} ({FIGURES[column]})"
        lines.append(
            f"{what}: {len(datasets)} of {len(results.datasets)} datasets. Here and, in brackets, printed: "
            f"{', '.join(datasets)}. Why: {reason}."
        )
    return lines


def _about(header: Record) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in header["versions"].items())
    return (
        f"Written by `{COMMAND}`, begun {header['date'][:10]} on {header['machine']['cpu']}, "
        f"{header['machine']['cores']} cores. Versions: {versions}."
    )


def _method(header: Record) -> list[str]:
    settings = header["settings"]
    most = (
        "all of the paper's instances"
        if settings["instances"] is None
        else f"at most {settings['instances']} instances"
    )
    asked = [
        f"{name} {'on all of them' if limit is None else f'on the first {limit}'}"
        for name, limit in {**settings["oracles"], **settings["peers"]}.items()
    ]
    return [
        "Forests: the paper's recipe. Repeated rows dropped, float32, 80 % for training, 100 trees, entropy, depth of "
        "the table, the published seeds, majority vote.",
        f"Instances: {most} for each dataset (40, 20, 10 or 2 % of the rows by size, repeats counted once), drawn "
        f"with seed {settings['seed']}; {'; '.join(asked)}. Seed 7 draws the iris instances that the published tool "
        "comes with, and as many instances as the table prints for all 32 datasets: they are the paper's.",
        f"Times: CPU time of the process, one thread. native and predict: median of {settings['repeats']} on an "
        "instance, in turns. sat and smt: once, after a question that makes them encode the instance's class, which "
        "is not counted; sat is the paper's encoding with Glucose 3. The published tool's times leave encoding out "
        "too, but have a new solver load the formula for each instance, where sat keeps one for each class with what "
        "it has learnt.",
        f"Limit: {settings['limit']:g} s for an explanation, wall-clock time. What is over it has lost its race.",
        "MxS and MxU are wall-clock times inside the oracle, so a busy machine shows in them.",
        "All oracles must find the same features on every instance that they share, or the command stops; they did.",
    ]


def sig(value: float | int | None) -> str:
    """Return a number with three significant digits, whole numbers whole.

    >>> sig(0.0012345), sig(12345.6), sig(44304), sig(None)
    ('0.00123', '12346', '44304', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, int) or abs(value) >= 100:
        return f"{value:.0f}"
    return str(np.format_float_positional(float(f"{value:.3g}"), trim="-"))


def as_markdown(blocks: Sequence[Block]) -> str:
    """Return the report as Markdown; pictures are files beside it."""
    parts = []
    for i, block in enumerate(blocks):
        match block:
            case Heading(text):
                parts.append(f"{'#' if i == 0 else '##'} {text}")
            case Text(text):
                parts.append(text)
            case Points(lines):
                parts.append("\n".join(f"* {line}" for line in lines))
            case Table(columns, rows, n_names):
                rule = [":--" if j < n_names else "--:" for j in range(len(columns))]
                parts.append("\n".join("| " + " | ".join(line) + " |" for line in (columns, rule, *rows)))
            case Picture(name, caption):
                parts.append(f"![{caption}]({name}.svg)\n\n*{caption}*")
    return "\n\n".join(parts) + "\n"


def as_html(blocks: Sequence[Block], pictures: Mapping[str, bytes]) -> str:
    """Return the report as one page that needs no other file; its first block is the title."""
    environment = Environment(
        loader=PackageLoader("treeproof_bench", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    title, *others = blocks
    return environment.get_template("report.html.j2").render(
        title=title.text if isinstance(title, Heading) else "",
        blocks=[(type(block).__name__, block) for block in others],
        pictures={name: Markup(_inline(name, content.decode())) for name, content in pictures.items()},
    )


def _inline(name: str, svg: str) -> str:
    """Return a picture as part of a page, with names of its own: those of several pictures would clash.

    A name is also what href and url() refer to.
    """
    return re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{name}-", svg[svg.index("<svg") :])


def as_text(table: Table) -> str:
    """Return a table for a terminal."""
    lines = [table.columns, *table.rows]
    widths = [max(len(line[j]) for line in lines) for j in range(len(table.columns))]
    return "\n".join(
        "  ".join(
            f"{cell:<{width}}" if j < table.n_names else f"{cell:>{width}}"
            for j, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def write(results: Results, folder: Path) -> None:
    """Write ``report.md`` with its pictures, and ``report.html``, into a folder."""
    from treeproof_bench import plots

    pictures = plots.draw(results)
    blocks = compose(results, pictures)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in pictures.items():
        (folder / f"{name}.svg").write_bytes(content)
    (folder / "report.md").write_text(as_markdown(blocks), encoding="utf-8")
    (folder / "report.html").write_text(as_html(blocks, pictures), encoding="utf-8")


def _first(record: Record) -> Record:
    first: Record = next(iter(record["oracles"].values()))
    return first


def _oracles(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(oracle for record in records for oracle in record["oracles"]))


def _percent(race: summary.Race) -> str:
    percent = race.percent or 0.0
    # 99.96 is not 100.
    return "100 %" if race.won == race.of else f"{min(percent, 99.9):.1f} %"


def _plural(word: str, n: int) -> str:
    return word if n == 1 else f"{word}s"
