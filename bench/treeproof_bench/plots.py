"""The pictures of the report. Readable in grey: what differs has another mark or line, not only another colour.

Needs matplotlib, the extra ``plot``. The same records give the same files.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from treeproof_bench import growth, summary
from treeproof_bench.results import Results

Record = dict[str, Any]
# Black and two colours that differ in brightness too, for all kinds of colour vision.
INK, BLUE, ORANGE, GREY = "black", "#2166ac", "#d6810f", "0.55"
STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text: half the size
    "svg.hashsalt": "treeproof",
    "path.simplify": True,
}
# One look for each of the tools, in all pictures: mark, colour, line.
LOOKS: dict[str, tuple[str, str, str]] = {
    "native": ("o", INK, "-"),
    "default": (".", INK, ":"),
    "sat": ("s", BLUE, "--"),
    "smt": ("D", GREY, "-."),
    "anchor": ("^", ORANGE, "-."),
    "sufficient": ("x", BLUE, ":"),
    "majoritary": ("+", GREY, "-"),
}
OTHER_LOOK = ("v", GREY, ":")


def look(name: str) -> tuple[str, str, str]:
    """Return mark, colour and line of an oracle or a method."""
    return LOOKS.get(name, OTHER_LOOK)


def draw(results: Results) -> dict[str, bytes]:
    """Return all pictures that the records allow, as SVG, by name."""
    records = list(results.datasets.values())
    makers: dict[str, Callable[[], Figure | None]] = {
        "scatter": lambda: scatter(records),
        "cactus": lambda: cactus(records),
        "times": lambda: times(records),
        "lengths": lambda: lengths(records),
        "growth": lambda: growth_curves(results.growth),
    }
    pictures = {}
    with mpl.rc_context(STYLE):
        for name, make in makers.items():
            figure = make()
            if figure is not None:
                file = io.BytesIO()
                figure.savefig(file, format="svg", metadata={"Date": None}, dpi=200, bbox_inches="tight")
                # A hundredth of a point is fine enough, and a third smaller.
                pictures[name] = re.sub(rb"(\d\.\d\d)\d+", rb"\1", file.getvalue())
    return pictures


def scatter(records: Sequence[Record]) -> Figure | None:
    """Draw a point for each instance: treeproof's time across, the other's up; one panel for each other."""
    first = _first_oracle(records)
    panels: list[tuple[str, str, list[tuple[float, float, bool]]]] = []
    for oracle in _oracles(records)[1:]:
        points = [
            (ours, theirs, True)
            for record in records
            if {first, oracle} <= set(record["oracles"])
            for ours, theirs in zip(record["oracles"][first]["ms"], record["oracles"][oracle]["ms"], strict=False)
        ]
        panels.append((f"treeproof {oracle}", oracle, points))
    for method in summary.methods(records):
        points = [
            (ours, answer["ms"], answer.get("verdict") == "forces")
            for record in records
            for ours, answer in zip(record["oracles"][first]["ms"], summary.answers(record, method), strict=False)
            if "error" not in answer
        ]
        panels.append((summary.label(method), method[1], points))
    panels = [panel for panel in panels if panel[2]]
    if not panels:
        return None
    everything = np.array([point[:2] for _, _, points in panels for point in points])
    left, right = everything[:, 0].min() / 1.5, everything[:, 0].max() * 1.5
    low, high = min(left, everything[:, 1].min() / 1.5), everything[:, 1].max() * 1.5
    width, height = 4.6 * np.log(right / left) / np.log(high / low), 4.6
    figure = Figure(figsize=(0.9 + len(panels) * (width + 0.3), height + 1.2), layout="constrained")
    places = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (title, name, points) in zip(places, panels, strict=True):
        for slower in (1, 10, 100, 1000, 10_000, 100_000):
            ends = np.array([left, right])
            axes.plot(ends, ends * slower, color="0.8", linewidth=0.7, zorder=0)
            if low < right * slower < high:
                axes.annotate(f"{slower:,}×", (right, right * slower), ha="right", va="bottom", color="0.4", fontsize=7)
        _, colour, _ = look(name)
        counts = []
        for good, face in ((True, colour), (False, "none")):
            these = np.array([point[:2] for point in points if point[2] == good]).reshape(-1, 2)
            counts.append(f"{'●' if good else '○'} {len(these)}")
            if len(these):
                many = len(these) > 200  # as a bitmap, not a megabyte of circles
                axes.scatter(
                    these[:, 0], these[:, 1], s=12, facecolors=face, edgecolors=colour, linewidths=0.7, rasterized=many
                )
        axes.set(xscale="log", yscale="log", xlim=(left, right), ylim=(low, high), aspect="equal")
        axes.set_xlabel(f"treeproof {first}, ms")
        axes.set_title(f"{title}\n{'   '.join(counts)}")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:g}")
        axes.minorticks_off()
    places[0].set_ylabel("the other, ms")
    return figure


def cactus(records: Sequence[Record]) -> Figure | None:
    """Draw how many instances are explained within a time each; on the instances that all were asked about."""
    series: dict[str, tuple[str, list[float]]] = {}
    for record in records:
        for name, (text, finished) in _finished(record).items():
            series.setdefault(name, (text, []))[1].extend(finished)
    if not any(finished for _, finished in series.values()):
        return None
    asked = sum(_common(record) for record in records)
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.subplots()
    for name, (text, finished) in series.items():
        mark, colour, line = look(name)
        ordered = np.sort(finished)
        counts = np.arange(1, len(ordered) + 1)
        kept = np.unique(np.linspace(0, len(ordered) - 1, 300).astype(int))  # no more can be seen
        axes.plot(
            *(counts[kept], ordered[kept]),
            line,
            color=colour,
            marker=mark,
            markersize=4,
            markevery=max(1, len(kept) // 8),
            linewidth=1.2,
            label=f"{text} ({len(ordered)})",
        )
    axes.set(yscale="log", ylabel="CPU time of each, ms", xlabel=f"instances explained, of {asked}, fastest first")
    axes.set_xlim(left=0)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), title="explained in time", alignment="left")
    return figure


def _finished(record: Record) -> dict[str, tuple[str, list[float]]]:
    """Return the times of what came to an end, of every tool, among the instances that all were asked about."""
    n = _common(record)
    found: dict[str, tuple[str, list[float]]] = {}
    for oracle, each in record["oracles"].items():
        over = set(each["over_limit"])
        found[oracle] = (f"treeproof {oracle}", [ms for i, ms in enumerate(each["ms"][:n]) if i not in over])
    for method in summary.methods([record]):
        answers = summary.answers(record, method)[:n]
        found[method[1]] = (summary.label(method), [each["ms"] for each in answers if "verdict" in each])
    return found


def _common(record: Record) -> int:
    """Return how many instances all tools were asked about."""
    asked = [len(each["ms"]) for each in record["oracles"].values()]
    asked += [len(summary.answers(record, method)) for method in summary.methods([record])]
    return min(asked)


def times(records: Sequence[Record]) -> Figure | None:
    """Draw the mean time of each tool on each dataset, and those that the paper prints."""
    rows: dict[str, dict[str, float]] = {}
    for record in records:
        means = {f"treeproof {oracle}": fmean(each["ms"]) for oracle, each in record["oracles"].items()}
        for method in summary.methods([record]):
            mean = summary.validity([record], method).mean_ms
            if mean is not None:
                means[summary.label(method)] = mean
        for text, key in {"paper: RFxpl": "axp_avg_s", "paper: Anchor": "anchor_avg_s"}.items():
            if record["printed"].get(key):
                means[text] = 1000 * record["printed"][key]
        rows[record["dataset"]] = means
    looks = {f"treeproof {oracle}": (*look(oracle)[:2], True) for oracle in _oracles(records)}
    looks |= {summary.label(method): (*look(method[1])[:2], True) for method in summary.methods(records)}
    looks |= {"paper: RFxpl": ("s", BLUE, False), "paper: Anchor": ("^", ORANGE, False)}
    figure, axes = _dots(rows, looks)
    axes.set(xscale="log", xlabel="mean CPU time of an explanation, ms (the paper's on its own machine)")
    axes.xaxis.set_major_formatter("{x:g}")
    return figure


def lengths(records: Sequence[Record]) -> Figure | None:
    """Draw the mean length of explanations on each dataset, as a share of the features."""
    rows: dict[str, dict[str, float]] = {}
    looks: dict[str, tuple[str, str, bool]] = {
        "treeproof, by index": ("o", INK, True),
        "treeproof, default order": ("o", INK, False),
        "paper (#S), by index": ("|", INK, True),
    }
    for record in records:
        n = record["features"]
        shares = {"treeproof, by index": 100 * fmean(map(len, record["explanations"])) / n}
        if "default_order" in record:
            shares["treeproof, default order"] = 100 * fmean(record["default_order"]["lengths"]) / n
        if record["printed"].get("sat_calls") is not None:
            shares["paper (#S), by index"] = 100 * record["printed"]["sat_calls"] / n
        for method in summary.methods([record]):
            mean = summary.validity([record], method).mean_length
            if mean is not None:
                text = summary.label(method)
                shares[text] = 100 * mean / n
                looks[text] = (*look(method[1])[:2], True)
        rows[f"{record['dataset']} ({n})"] = shares
    figure, axes = _dots(rows, looks)
    axes.set(xlim=(0, 102), xlabel="mean length of an explanation, % of the features (their number in brackets)")
    return figure


def _dots(rows: Mapping[str, Mapping[str, float]], looks: Mapping[str, tuple[str, str, bool]]) -> tuple[Figure, Axes]:
    """Draw a line for each dataset, with a mark for each tool."""
    figure = Figure(figsize=(7.2, 1.3 + 0.2 * len(rows)), layout="constrained")
    axes = figure.subplots()
    places = {name: -i for i, name in enumerate(rows)}
    axes.hlines(list(places.values()), 0, 1, transform=axes.get_yaxis_transform(), color="0.9", linewidth=0.6, zorder=0)
    for tool, (mark, colour, filled) in looks.items():
        points = [(values[tool], places[name]) for name, values in rows.items() if tool in values]
        if not points:
            continue
        colours: dict[str, Any] = {"color": colour}
        if mark not in "x+|":
            colours = {"edgecolors": colour, "facecolors": colour if filled else "none"}
        across, up = zip(*points, strict=True)
        axes.scatter(across, up, s=22, marker=mark, linewidths=1, label=tool, **colours)
    axes.set_yticks(list(places.values()), list(places))
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-len(rows) + 0.4, 0.6)
    axes.spines["left"].set_visible(False)
    figure.legend(loc="outside upper center", ncols=4, fontsize=8, handletextpad=0.1, columnspacing=1)
    return figure, axes


def growth_curves(records: Mapping[tuple[str, int | None], Record]) -> Figure | None:
    """Draw explanation and one-row ``predict`` along each curve."""
    curves = {
        curve: (text, [records[curve, at] for at in along if (curve, at) in records])
        for curve, (text, along) in growth.CURVES.items()
    }
    curves = {curve: (text, rows) for curve, (text, rows) in curves.items() if rows}
    if not curves:
        return None
    figure = Figure(figsize=(7.6, 2.9 * -(-len(curves) // 2)), layout="constrained")
    panels = figure.subplots(-(-len(curves) // 2), min(2, len(curves)), sharey=True, squeeze=False)
    for axes, (text, rows) in zip(panels.flat, curves.values(), strict=False):
        _draw_curve(axes, rows)
        axes.set_xlabel(text)
    for column in panels[:, 0]:
        column.set_ylabel("CPU time, ms")
    panels[0, 0].legend(loc="upper left", fontsize=8)
    for axes in list(panels.flat)[len(curves) :]:
        axes.remove()
    return figure


def _draw_curve(axes: Axes, rows: Sequence[Record]) -> None:
    # "No limit" has no place on the axis: it gets one behind the largest limit, and no line to it.
    limits = [row["at"] for row in rows if row["at"] is not None]
    places = [row["at"] or 1.6 * max(limits, default=1) for row in rows]
    n = len(limits)
    mean, worst, predict = (
        [measure(row[key]) for row in rows]
        for measure, key in ((fmean, "explain_ms"), (max, "explain_ms"), (fmean, "predict_ms"))
    )
    axes.vlines(places, mean, worst, color=GREY, linewidth=0.8)
    axes.plot(places[:n], mean[:n], "-o", color=INK, markersize=4, label="explanation, mean")
    axes.plot(places[n:], mean[n:], "o", color=INK, markersize=4)
    axes.plot(places, worst, "_", color="0.3", markersize=8, label=f"worst of {len(rows[0]['explain_ms'])}")
    axes.plot(
        places[:n], predict[:n], "--s", color=BLUE, markersize=3.5, markerfacecolor="none", label="one-row predict"
    )
    axes.plot(places[n:], predict[n:], "s", color=BLUE, markersize=3.5, markerfacecolor="none")
    axes.set(xscale="log", yscale="log", xlim=(places[0] / 1.3, places[-1] * 1.3))
    axes.set_xticks(places, [str(row["at"] or "none") for row in rows])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter("{x:g}")


def _oracles(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(oracle for record in records for oracle in record["oracles"]))


def _first_oracle(records: Sequence[Record]) -> str:
    return _oracles(records)[0]
