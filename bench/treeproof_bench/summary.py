"""Figures derived from records. Nothing is measured here, and nothing is drawn or written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, geometric_mean
from typing import Any

Record = dict[str, Any]
ANCHOR = ("anchor", "anchor")

# The columns of Table 1 that an oracle has, and their names in table1.csv.
PRINTED = {
    "MxS": "max_sat_s",
    "MxU": "max_unsat_s",
    "#S": "sat_calls",
    "#U": "unsat_calls",
    "kept": "sat_calls",  # the published tool asks once for each feature: each one that it keeps is one such call
    "Mx": "axp_max_s",
    "m": "axp_min_s",
    "avg": "axp_avg_s",
    "%w": "axp_won_pct",
}


@dataclass(frozen=True)
class Race:
    """How often one was faster than another on the same instance."""

    won: int
    of: int

    @property
    def percent(self) -> float | None:
        """The share, or None of no race."""
        return 100 * self.won / self.of if self.of else None

    def __add__(self, other: Race) -> Race:
        return Race(self.won + other.won, self.of + other.of)


def methods(records: Iterable[Record]) -> list[tuple[str, str]]:
    """Return the peers' methods that answered at least once, as (peer, method)."""
    found = {
        (peer, method): None
        for record in records
        for peer, report in record["peers"].items()
        for method in report.get("answers", ())
    }
    return list(found)


def label(method: tuple[str, str]) -> str:
    """Return a method as people call it."""
    names = {"anchor": "Anchor", "pyxai": "PyXAI"}
    peer, kind = method
    name = names.get(peer, peer)
    return name if kind == peer else f"{name} {kind}"


def answers(record: Record, method: tuple[str, str]) -> list[Record]:
    """Return a method's answers on a dataset, none if it failed there."""
    peer, kind = method
    found: list[Record] = record["peers"].get(peer, {}).get("answers", {}).get(kind, [])
    return found


def race(record: Record, oracle: str, method: tuple[str, str]) -> Race:
    """Return on how many instances the oracle was faster; where the peer failed, or both gave up, there is no race."""
    ours = record["oracles"][oracle]
    over = set(ours["over_limit"])
    won = of = 0
    for i, (ms, answer) in enumerate(zip(ours["ms"], answers(record, method), strict=False)):
        late = answer.get("over_limit", False)
        if "error" in answer or (late and i in over):
            continue
        of += 1
        won += late or (i not in over and ms < answer["ms"])
    return Race(won, of)


def oracle_columns(record: Record, oracle: str) -> dict[str, float | None]:
    """Return the columns of Table 1 that depend on the oracle; times in seconds."""
    found = record["oracles"][oracle]
    seconds = [ms / 1000 for ms in found["ms"]]
    return {
        "MxS": found["longest_refuted_ms"] / 1000,
        "MxU": found["longest_entailed_ms"] / 1000,
        "#S": fmean(found["refuted"]),
        "#U": fmean(found["entailed"]),
        "kept": fmean(len(each) for each in record["explanations"][: len(seconds)]),
        "Mx": max(seconds),
        "m": min(seconds),
        "avg": fmean(seconds),
        "%w": race(record, oracle, ANCHOR).percent,
    }


def forest_as_printed(record: Record) -> tuple[bool | None, bool | None]:
    """Return whether nodes and accuracy (cut to a whole percent) are those of the table; None if it does not say."""
    printed = record["printed"]
    nodes, accuracy = printed.get("nodes"), printed.get("accuracy")
    return (
        None if nodes is None else record["nodes"] == nodes,
        None if accuracy is None else int(record["accuracy"]) == accuracy,
    )


def length_as_printed(record: Record) -> bool | None:
    """Return whether the mean length by index is the printed #S; None unless all of the paper's instances are there."""
    printed = record["printed"]
    if printed.get("sat_calls") is None or len(record["explanations"]) != printed.get("instances"):
        return None
    return bool(_mean_length(record) == printed["sat_calls"])


def _mean_length(record: Record) -> int:
    return math.floor(fmean(map(len, record["explanations"])) + 0.5)


@dataclass(frozen=True)
class Ratios:
    """Explanations in the default order beside one-row ``predict``, on one dataset or on one place of a curve."""

    explain_ms: float
    predict_ms: float
    worst: float

    @property
    def ratio(self) -> float:
        """Mean explanation to mean predict."""
        return self.explain_ms / self.predict_ms


def ratios(explain_ms: Sequence[float], predict_ms: Sequence[float]) -> Ratios:
    """Return means and the worst instance."""
    worst = max(explain / predict for explain, predict in zip(explain_ms, predict_ms, strict=True))
    return Ratios(fmean(explain_ms), fmean(predict_ms), worst)


def default_order(record: Record) -> Ratios | None:
    """Return `ratios` of a dataset, None if the native oracle was not asked."""
    if "default_order" not in record:
        return None
    return ratios(record["default_order"]["ms"], record["predict_ms"])


def speed_up(record: Record, slow: str, fast: str = "native") -> float | None:
    """Return how many times faster one oracle was than another on the instances that both explained."""
    if not {slow, fast} <= set(record["oracles"]):
        return None
    n = min(len(record["oracles"][oracle]["ms"]) for oracle in (slow, fast))
    return sum(record["oracles"][slow]["ms"][:n]) / sum(record["oracles"][fast]["ms"][:n])


@dataclass(frozen=True)
class Validity:
    """What a method's answers are worth, counted."""

    asked: int
    answered: int
    over_limit: int
    failed: int
    refuted: int
    other_label: int
    undecided: int
    forces: int
    not_minimal: int
    mean_ms: float | None
    mean_length: float | None
    our_length: float | None


def validity(records: Iterable[Record], method: tuple[str, str]) -> Validity:
    """Count over datasets. Times: what ran into the limit counts with the time it took until then."""
    pairs = [
        (answer, ours)
        for record in records
        for answer, ours in zip(answers(record, method), record["explanations"], strict=False)
    ]
    every = [answer for answer, _ in pairs]
    verdicts = [answer.get("verdict") for answer in every]
    timed = [answer["ms"] for answer in every if "error" not in answer]
    answered = [(answer, ours) for answer, ours in pairs if "verdict" in answer]
    return Validity(
        asked=len(every),
        answered=len(answered),
        over_limit=sum("over_limit" in answer for answer in every),
        failed=sum("error" in answer for answer in every),
        refuted=verdicts.count("refuted"),
        other_label=verdicts.count("other label"),
        undecided=verdicts.count("undecided"),
        forces=verdicts.count("forces"),
        not_minimal=sum(len(answer["enough"]) < len(answer["features"]) for answer in every if "enough" in answer),
        mean_ms=fmean(timed) if timed else None,
        mean_length=fmean(len(answer["features"]) for answer, _ in answered) if answered else None,
        our_length=fmean(len(ours) for _, ours in answered) if answered else None,
    )


@dataclass(frozen=True)
class Worse:
    """A figure that is worse than the printed one, or another where it should be the same."""

    figure: str
    dataset: str
    here: float
    printed: float


def worse(record: Record, complete: bool) -> list[Worse]:
    """Return what is worse than in the paper on a dataset, each figure rounded as it is printed there.

    `complete` tells that all of the paper's instances were asked for.
    """
    printed, name = record["printed"], record["dataset"]
    found = []

    def compare(figure: str, here: float | None, key: str, bad: bool | None = None) -> None:
        there = printed.get(key)
        if here is not None and there is not None and (here > there if bad is None else bad):
            found.append(Worse(figure, name, here, there))

    for figure, key in {"#F": "features", "#C": "classes", "#N": "nodes"}.items():
        compare(figure, record[key], key, record[key] != printed.get(key))
    if complete:
        compare("#I", record["instances"], "instances", record["instances"] != printed.get("instances"))
    compare("%A", int(record["accuracy"]), "accuracy", int(record["accuracy"]) != printed.get("accuracy"))
    compare("#var", record["vars"], "vars")
    compare("#cl", record["clauses"], "clauses")
    for oracle in record["oracles"]:
        columns = oracle_columns(record, oracle)
        for column in ("MxS", "MxU", "Mx", "m", "avg"):
            compare(f"{column}, {oracle}", round(columns[column] or 0.0, 2), PRINTED[column])
        won = columns["%w"]
        if won is not None:
            compare(f"%w, {oracle}", round(won), PRINTED["%w"], round(won) < (printed.get(PRINTED["%w"]) or 0))
    if length_as_printed(record) is not None:
        compare("kept", _mean_length(record), PRINTED["kept"])
    return found


def geometric(values: Iterable[float | None]) -> float | None:
    """Return the geometric mean of what there is."""
    there = [value for value in values if value]
    return geometric_mean(there) if there else None
