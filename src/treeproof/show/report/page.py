"""The page of a report as HTML, without scripts and without anything that is loaded from elsewhere.

The text is in the templates next to this file. What they need besides the rows is prepared here.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treeproof.model.columns import LEAF
from treeproof.model.files import is_pickle
from treeproof.model.floats import FLOATS
from treeproof.model.forest import Forest
from treeproof.questions.abductive import Abductive
from treeproof.questions.contrastive import Contrastive
from treeproof.show import templates
from treeproof.show.card import card
from treeproof.show.report.about import AboutModel
from treeproof.show.report.pictures import MOST_LINES, Picture, Pictures
from treeproof.show.report.rows import Filed, ReportedRow
from treeproof.space.features import NumericFeature, ValueFeature
from treeproof.space.space import Space
from treeproof.space.wording import show_class, show_label

MOST_VALUES = 40  # maximum number of named values listed for a feature


@dataclass(frozen=True, slots=True)
class Facts:
    """What a page says besides its rows: where things come from, and which files are next to it."""

    title: str
    date: str
    source: str
    forest: Forest
    fingerprint: str
    space: Space | None
    versions: Mapping[str, str]
    inputs: Sequence[tuple[str, str, str]]  # what it is, name, SHA-256
    n_rows: int
    behind: Sequence[Any]  # rows whose distribution is drawn
    folder: str | None  # where the certificates are, relative to the page
    files: Sequence[tuple[str, int, str]]  # name, bytes, SHA-256
    command: str | None
    model: str | None  # a model file that a certificate can be checked against, relative to the page
    widens: bool  # whether conditions were to be widened


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer as the page shows it; if it has no picture, whether that is because it is too long."""

    title: str
    anchor: str
    filed: Filed
    picture: Picture | None
    is_too_long: bool


def render(facts: Facts, rows: Sequence[ReportedRow], about: Sequence[AboutModel] = ()) -> str:
    """Return the page."""
    pictures = Pictures(facts.behind)
    answers = [*(filed for row in rows for filed in row.answers), *(one for answer in about for one in answer.proofs)]
    proofs = [filed for filed in answers if filed.certificate is not None]
    results = [result for row in rows for result in row.results]
    whys = [result for result in results if isinstance(result, Abductive)]
    changes = [result for result in results if isinstance(result, Contrastive)]
    return templates.render(
        "report/page.html.j2",
        facts=facts,
        card=card,
        count=_count,
        label=show_class,
        row_names=_row_names,
        why_asked=any(row.why for row in rows),
        change_asked=any(row.change for row in rows),
        why_minimum=any(why.status == "minimum" for why in whys),
        change_minimum=any(change.status == "minimum" for change in changes),
        widest=any(why.widest for why in whys),
        target=next((change.target for change in changes), None),
        proofs=proofs,
        accepted=sum(filed.accepted is True for filed in proofs),
        about=[(answer, pictures.rules(answer.answer)) for answer in about],
        late=[row.row for row in rows if any(filed.late for filed in row.answers)],
        failed=[row.row for row in rows if row.failed],
        is_imported=not facts.source.startswith("Forest"),
        depth=_depth(facts.forest),
        features=[] if facts.space is None else [(*_kind_and_domain(f), f) for f in facts.space.features],
        overviews=[
            pictures.overview(
                shared, f"How many of {len(shared)} {what} contain each feature, and how many features they have"
            )
            for shared, what in ((whys, "explanations"), (changes, "changes"))
            if len(shared) > 1 and any(result.features for result in shared)
        ],
        rows=[(row, _answers(row, pictures), _values(facts.forest, row)) for row in rows],
        pictures=pictures,
        most_lines=MOST_LINES,
        commands=_commands(facts, proofs),
    )


def _answers(row: ReportedRow, pictures: Pictures) -> list[_Answer]:
    shown = []
    for filed, title, kind in ((row.why, "Why", "why"), (row.change, "What would change it", "change")):
        if filed is None:
            continue
        picture, is_too_long = None, False
        if filed.answer is not None:
            picture = pictures.result(filed.answer, f"{title}, row {row.row}, as a picture. {filed.answer}")
            is_too_long = pictures.is_too_long(filed.answer)
        shown.append(_Answer(title, f"row-{row.row}-{kind}", filed, picture, is_too_long))
    return shown


def _kind_and_domain(feature: Any) -> tuple[str, str]:
    kind = "one-hot" if len(feature.columns) > 1 else feature.kind
    if isinstance(feature, ValueFeature):
        shown = [show_label(label) for label in feature.labels]
        more = f" and {len(shown) - MOST_VALUES} more" if len(shown) > MOST_VALUES else ""
        return kind, ", ".join(shown[:MOST_VALUES]) + more
    assert isinstance(feature, NumericFeature)
    low, high = float(feature.lows[0]), float(feature.highs[-1])
    largest = min(feature.floats.largest, FLOATS["float32"].largest)  # beyond, nobody means an end
    what = {"binary": "0 or 1", "integer": "whole numbers", "date": "days"}.get(feature.kind, "finite numbers")
    if feature.kind == "binary":
        what = what if low != high else feature.floats.shortest(low)
    else:
        what += f" from {feature.text(low)}" if low > -largest else ""
        what += f" to {feature.text(high)}" if high < largest else ""
    return kind, what + (", or missing" if feature.missing_cell is not None else "")


def _values(forest: Forest, row: ReportedRow) -> list[tuple[str, str]]:
    """Return the names of the columns with the values of a row, if it can be read."""
    if not row.results:
        return []
    values = zip(forest.columns, row.results[0].instance, strict=True)
    return [(column.name, _value(value, column.categories is not None)) for column, value in values]


def _value(value: Any, named: bool) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "missing"
    if named:
        return show_label(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def _commands(facts: Facts, proofs: Iterable[Filed]) -> dict[str, list[str]]:
    """Return the commands that check the certificates, and the fingerprints of all files."""
    if facts.folder is None:
        return {}

    def beside(name: str) -> str:
        return shlex.quote(f"{facts.folder}/{name}")

    files = [(beside(filed.name), beside(filed.forest)) for filed in proofs]
    commands = {
        "alone": [f"python3 -I {beside('checker.py')} {certificate} {forest}" for certificate, forest in files],
        "installed": [f"treeproof check {certificate} {forest}" for certificate, forest in files],
        "fingerprints": [f"sha256sum {' '.join(beside(name) for name, _, _ in facts.files)}"],
    }
    if facts.model is not None:
        model = shlex.quote(facts.model) + (" --trust" if is_pickle(facts.model) else "")
        commands["against_model"] = [f"treeproof check {certificate} {model}" for certificate, _ in files]
    return commands


def _depth(forest: Forest) -> int:
    """Return the number of splits on the longest path."""
    level, depth = forest.roots, -1
    while len(level):
        depth += 1
        inner = level[forest.feature[level] != LEAF]
        level = np.concatenate([forest.left[inner], forest.right[inner]])
    return depth


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _row_names(rows: Sequence[int]) -> str:
    return f"row{'' if len(rows) == 1 else 's'} {', '.join(map(str, rows))}"
