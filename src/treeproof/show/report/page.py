"""The page of a report as HTML: one text without scripts, and without anything that is loaded from elsewhere.

What people wrote (names, labels, titles, files) goes through `_text`, and pictures have no text in them but outlines of
letters, so nothing that a model or a table contains becomes markup.
"""

from __future__ import annotations

import hashlib
import html
import io
import math
import re
import shlex
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from treeproof.errors import MissingExtraError, TreeproofError
from treeproof.model.columns import LEAF
from treeproof.model.forest import Forest
from treeproof.questions.abductive import Abductive
from treeproof.questions.contrastive import Contrastive
from treeproof.questions.result import is_open
from treeproof.show import plots
from treeproof.space.conditions import show_label
from treeproof.space.features import NumericFeature, ValueFeature
from treeproof.space.space import Space

MOST_LINES = 24  # of a picture
MOST_VALUES = 40  # named values of a feature that are listed

_STATUS = {
    "minimum": "proved, smallest",
    "minimal": "proved, minimal",
    "sound": "proved, but the time was up: perhaps fewer would do",
    "impossible": "proved: no change does",
    "unknown": "not decided: the time was up",
}
_VOTES = {
    "majority": "Each tree has one vote, and most votes win. A tie goes to the label that is listed first.",
    "mean": "The trees' probabilities are averaged; the highest wins. A tie goes to the label that is listed first.",
    "sum": "The trees' values are added, and the highest sum wins. A tie goes to the label that is listed first.",
}
_FINGERPRINT = '<span class="quiet">The SHA-256 of its trees and its decision rule, as a canonical forest.</span>'
_WHY = (
    "<b>Why.</b> The conditions that are listed for a row force its label: every input of the declared space that "
    "satisfies them gets the same label from the model, whatever its other values are. None of them can be dropped, "
    "unless it is remarked that the time was up: for each there is an input that satisfies all others and gets "
    "another label."
)
_WIDEST = (
    " Where it says so, no condition can be widened while the others stay: an input that it then lets in gets another "
    "label."
)
_FEWEST = " Where it says so, no smaller set of features forces the label."
_CHANGE = (
    "<b>What would change it.</b> With the changes that are listed for a row, the model gives it {other}. "
    "None of them can be left out, unless it is remarked that the time was up. Where it says so, no closer values "
    "of the same features give {other}."
)
_FEWEST_CHANGES = " Where it says so, no smaller set of changes gives {other}."
_MODEL = (
    "<b>The model</b> is the forest with the fingerprint above, with the decision rule that is stated below. That "
    "is what the model’s own <code>predict</code> computes, unless another vote, a threshold, a confidence or "
    "cuts were asked for."
)
_NOT = (
    "That a prediction is right, fair or wise. This page is about the model, not about the world.",
    "Anything about inputs outside the declared space, which is stated below. A missing value is an input only where "
    "it says so.",
    "That an explanation is the only one or, where it does not say so, the shortest. A prediction can have several.",
    "Anything about rows that are not on this page.",
)
_NOT_CERTIFIED = (
    "That the certificates prove everything. That no closer values do, where it is said, rests on the solver alone."
)
_NOT_IMPORTED = (
    "That the forest and the source model agree everywhere. They were compared when the model was imported, on "
    "inputs on and beside its thresholds; that is a test, not a proof."
)
_NOT_IDENTIFIED = "That this forest is the one in use. Compare its fingerprint."
_NOT_PARALLEL = (
    "Anything about sums closer than rounding, if the model predicts with several jobs and so adds in any order. "
    "Proved is the order of the trees."
)


@dataclass(frozen=True, slots=True)
class Filed:
    """An answer about a row, or the error in its place, and what became of its certificate.

    `certificate` is the content of the file `name`, which is about the model in the file `forest`. `accepted` is what
    the independent checker decided, and `remark` what it said; with no certificate, None, and why there is none.
    """

    result: Abductive | Contrastive | TreeproofError
    name: str = ""
    forest: str = ""
    certificate: bytes | None = None
    accepted: bool | None = None
    remark: str = ""

    @property
    def sha256(self) -> str:
        """The fingerprint of the certificate's file."""
        return hashlib.sha256(self.certificate or b"").hexdigest()

    @property
    def late(self) -> bool:
        """Whether a deadline came before the answer, or its certificate, was complete."""
        if isinstance(self.result, TreeproofError):
            return False
        return is_open(self.result) or (self.certificate is None and self.result.status in ("minimal", "minimum"))


@dataclass(frozen=True, slots=True)
class ReportedRow:
    """One row of a report: why it gets its label, what would change that, or why that cannot be said.

    `why` and `change` are None if they were not asked for, or if the row itself cannot be read: `error` tells.
    """

    row: int
    why: Filed | None = None
    change: Filed | None = None
    error: TreeproofError | None = None

    @property
    def answers(self) -> list[Filed]:
        """What was asked about the row, with its certificates."""
        return [filed for filed in (self.why, self.change) if filed is not None]

    @property
    def failed(self) -> bool:
        """Whether something about the row could not be said."""
        return self.error is not None or any(isinstance(filed.result, TreeproofError) for filed in self.answers)


@dataclass(frozen=True, slots=True)
class Facts:
    """What a page says beside its rows: where things come from, and which files lie beside it."""

    title: str
    date: str
    source: str
    forest: Forest
    fingerprint: str
    space: Space | None
    versions: Mapping[str, str]
    inputs: Sequence[tuple[str, str, str]]  # what it is, name, SHA-256
    n_rows: int
    behind: Any  # rows whose distribution is drawn
    folder: str | None  # where the certificates are, seen from the page
    files: Sequence[tuple[str, int, str]]  # name, bytes, SHA-256
    command: str | None
    model: str | None  # a file of the model that a certificate can be checked against, seen from the page


def render(facts: Facts, rows: Sequence[ReportedRow]) -> str:
    """Return the page."""
    pictures = _Pictures(facts.behind)
    overview = _overview(rows, pictures)
    sections = [_row(row, facts, pictures) for row in rows]
    body = [
        _header(facts),
        _guarantee(facts, rows),
        _card(facts),
        f"<section><h2>The rows of this page</h2><p>{len(rows):,} of {_count(facts.n_rows, 'row')} of the data, "
        f"counted from 0.</p>{overview}{pictures.note()}</section>",
        *sections,
        _again(facts, rows),
    ]
    return _PAGE.format(title=_text(facts.title), style=_STYLE, body="\n".join(body))


def _header(facts: Facts) -> str:
    lines = [("Made", _text(facts.date)), ("Model", f"{_code(facts.fingerprint)}<br>{_FINGERPRINT}")]
    lines += [(what, f"{_text(name)}<br>{_code(sha)}") for what, name, sha in facts.inputs]
    return f"<header><h1>{_text(facts.title)}</h1>{_pairs(lines)}</header>"


def _guarantee(facts: Facts, rows: Sequence[ReportedRow]) -> str:
    proofs = [filed for row in rows for filed in row.answers if filed.certificate is not None]
    whys = [row.why.result for row in rows if row.why]
    changes = [row.change.result for row in rows if row.change]
    target = next((change.target for change in changes if isinstance(change, Contrastive)), None)
    other = "another label" if target is None else f"the label {_text(show_label(target))}"
    widest = any(isinstance(why, Abductive) and why.widest for why in whys)
    said = [
        _WHY + (_FEWEST if _is_any_minimum(whys) else "") + (_WIDEST if widest else "") if whys else "",
        (_CHANGE + (_FEWEST_CHANGES if _is_any_minimum(changes) else "")).format(other=other) if changes else "",
        _MODEL,
        _checked(proofs),
    ]
    late = [row.row for row in rows if any(filed.late for filed in row.answers)]
    failed = [row.row for row in rows if row.failed]
    exceptions = [
        f"<b>Time.</b> In {_rows_text(late)} the time was up before everything was proved. It says so there."
        if late
        else "",
        f"<b>Errors.</b> Something in {_rows_text(failed)} could not be explained. It says why there."
        if failed
        else "",
    ]
    nots = [
        *_NOT,
        _NOT_CERTIFIED if proofs else "",
        _NOT_IDENTIFIED if facts.source.startswith("Forest") else _NOT_IMPORTED,
        _NOT_PARALLEL if facts.forest.vote != "majority" else "",
    ]
    return (
        f"<section><h2>What this page says</h2>{_list(said)}{_list(exceptions, 'warn')}"
        f"<h3>What is not claimed</h3>{_list(nots)}</section>"
    )


def _is_any_minimum(results: Iterable[Abductive | Contrastive | TreeproofError]) -> bool:
    return any(not isinstance(result, TreeproofError) and result.status == "minimum" for result in results)


def _checked(proofs: Sequence[Filed]) -> str:
    if not proofs:
        return "<b>Not checked.</b> No certificate could be made for this page."
    accepted = sum(filed.accepted is True for filed in proofs)
    verdict = f"accepted {'all' if accepted > 1 else 'it'}"
    if accepted < len(proofs):
        verdict = f'accepted {accepted} <b class="bad">and rejected {len(proofs) - accepted}</b>'
    return (
        f"<b>Checked.</b> These are proofs, not samples. {_count(len(proofs), 'certificate')} "
        f"{'was' if len(proofs) == 1 else 'were'} made for this page, and the independent checker, which shares no "
        f"code with the solver, {verdict}."
    )


def _card(facts: Facts) -> str:
    forest, space = facts.forest, facts.space
    labels = [show_label(label) for label in forest.classes.tolist()]
    rule = _VOTES[forest.vote]
    if forest.sums is not None and forest.sums.cuts is not None:
        cuts = ", ".join(map(repr, forest.sums.cuts))
        rule = "The trees' values are added. The label is the range in which the sum lies" + (
            f", parted at {cuts}." if cuts else ", parted for each row around its own score."
        )
    lines = [
        ("Source", _text(facts.source)),
        ("Trees", f"{forest.n_trees:,}"),
        ("Nodes", f"{forest.n_nodes:,}"),
        ("Depth", f"{_depth(forest):,}"),
        (
            "Labels",
            _text(", ".join(labels)) if len(forest.classes) > 1 or not forest.sums else "of each row, see there",
        ),
        ("Decision", _text(rule)),
        ("Numbers", f"Inputs are rounded to {_text(forest.numbers)} before they are compared."),
    ]
    if space is not None:
        lines.append(("Rules between features", _list([_text(rule.text) for rule in space.constraints]) or "none"))
    lines.append(("Made with", _text(", ".join(f"{name} {version}" for name, version in facts.versions.items()))))
    table = "" if space is None else _space(space)
    return f"<section><h2>The model</h2>{_pairs(lines)}{table}</section>"


def _space(space: Space) -> str:
    lines = []
    for feature in space.features:
        kind = "one-hot" if len(feature.columns) > 1 else feature.kind
        lines.append([_text(feature.name), kind, _text(_domain(feature)), f"{feature.n_cells:,}"])
    note = (
        "The declared space: what counts as an input. The model cuts each feature into parts between which it sees no "
        "difference."
    )
    return _table(["Feature", "Kind", "Values", "Parts"], lines, note, numbers={3})


def _domain(feature: Any) -> str:
    if isinstance(feature, ValueFeature):
        shown = [show_label(label) for label in feature.labels]
        more = f" and {len(shown) - MOST_VALUES} more" if len(shown) > MOST_VALUES else ""
        return ", ".join(shown[:MOST_VALUES]) + more
    assert isinstance(feature, NumericFeature)
    low, high = float(feature.lows[0]), float(feature.highs[-1])
    largest = feature.floats.largest
    what = {"binary": "0 or 1", "ordinal": "whole numbers", "date": "days"}.get(feature.kind, "finite numbers")
    if feature.kind == "binary":
        what = what if low != high else feature.floats.shortest(low)
    else:
        what += f" from {feature._text(low)}" if low != -largest else ""
        what += f" to {feature._text(high)}" if high != largest else ""
    return what + (", or missing" if feature.missing_cell is not None else "")


def _overview(rows: Sequence[ReportedRow], pictures: _Pictures) -> str:
    lines = []
    for row in rows:
        stamps = [_stamp(row, filed) for filed in row.answers if filed.certificate is not None]
        line = [f'<a href="#row-{row.row}">{row.row}</a>', _text(_label(row))]
        line += [_in_short(filed, row) for filed in (row.why, row.change)]
        lines.append([*line, "<br>".join(stamps)])
    table = _table(["Row", "Prediction", "Why", "What would change it", "Certificates"], lines)
    figures = []
    for kind, what in ((Abductive, "explanations"), (Contrastive, "changes")):
        results = [filed.result for row in rows for filed in row.answers if isinstance(filed.result, kind)]
        if len(results) > 1:
            alt = f"How many of {len(results)} {what} contain each feature, and how many features they have"
            figures.append(pictures.overview(results, alt))
    return table + "".join(figures)


def _in_short(filed: Filed | None, row: ReportedRow) -> str:
    if filed is None:
        return '<b class="bad">not explained</b>' if row.error is not None else "not asked"
    result = filed.result
    if isinstance(result, TreeproofError):
        return '<b class="bad">not explained</b>'
    if isinstance(result, Abductive):
        return f"{len(result.features)} of {_count(result.n_features, 'feature')}<br>{_status(result)}"
    if result.witness is None:
        return _status(result)
    return f"{_text(result.witness_label)}, by {_count(len(result.features), 'feature')}<br>{_status(result)}"


def _status(result: Abductive | Contrastive) -> str:
    late = is_open(result) and result.status in ("minimal", "minimum")
    return _STATUS[result.status] + (", but the time was up" if late else "")


def _stamp(row: ReportedRow, filed: Filed) -> str:
    link = f'<a href="#{_anchor(row, filed)}"><code>{filed.sha256[:12]}</code></a>'
    return f'<span class="stamp">{link} {_verdict(filed)}</span>'


def _verdict(filed: Filed) -> str:
    return "accepted" if filed.accepted else '<b class="bad">rejected</b>'


def _anchor(row: ReportedRow, filed: Filed) -> str:
    return f"row-{row.row}-{'why' if filed is row.why else 'change'}"


def _label(row: ReportedRow) -> str:
    for filed in row.answers:
        if not isinstance(filed.result, TreeproofError):
            return show_label(filed.result.label)
    return ""


def _row(row: ReportedRow, facts: Facts, pictures: _Pictures) -> str:
    label = _label(row)
    parts = [f'<section class="row" id="row-{row.row}"><h2>Row {row.row}{": " + _text(label) if label else ""}</h2>']
    if row.error is not None:
        parts.append(_warning(f"Not explained: {row.error}"))
    for filed, title in ((row.why, "Why"), (row.change, "What would change it")):
        if filed is None:
            continue
        parts.append(f'<h3 id="{_anchor(row, filed)}">{title}</h3>')
        if isinstance(filed.result, TreeproofError):
            parts.append(_warning(f"Not explained: {filed.result}"))
            continue
        if is_open(filed.result):
            parts.append(_warning("The time was up before this was complete."))
        parts.append(filed.result._repr_html_())
        parts.append(pictures.result(filed.result, f"{title}, row {row.row}, as a picture. {filed.result}"))
        parts.append(_certificate(filed))
    result = next((filed.result for filed in row.answers if not isinstance(filed.result, TreeproofError)), None)
    if result is not None:
        parts.append(f"<h3>All values</h3>{_values(facts.forest, result.instance)}")
    return "\n".join([*parts, "</section>"])


def _certificate(filed: Filed) -> str:
    if filed.certificate is None:
        return f'<p class="quiet">No certificate: {_text(filed.remark)}</p>'
    lines = [
        ("Certificate", f"{_code(filed.name)}, {len(filed.certificate):,} bytes"),
        ("SHA-256", _code(filed.sha256)),
        ("About", _code(filed.forest)),
        ("Checker", f"{_verdict(filed)}. {_text(filed.remark)}"),
    ]
    return _pairs(lines)


def _values(forest: Forest, instance: Iterable[Any]) -> str:
    items = [
        f"<li>{_text(column.name)} = <b>{_text(_value(value))}</b></li>"
        for column, value in zip(forest.columns, instance, strict=True)
    ]
    return f'<ul class="values">{"".join(items)}</ul>'


def _value(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "missing"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def _again(facts: Facts, rows: Sequence[ReportedRow]) -> str:
    parts = ["<section><h2>How to check this again</h2>"]
    proofs = [filed for row in rows for filed in row.answers if filed.certificate is not None]
    if facts.folder is None:
        parts.append("<p>No certificates were kept beside this page.</p>")
    else:
        path = partial(_path, facts.folder)
        parts += [
            f"<p>The folder {_code(facts.folder)} belongs to this page: keep them together. Run the commands where the "
            "page is. Each prints what is proved, or says that the certificate is rejected.</p>"
            "<h3>Without treeproof</h3><p>The checker is one file of Python that needs nothing but the standard "
            "library. A copy is in the folder.</p>",
            _command(f"python3 -I {path('checker.py')} {path(p.name)} {path(p.forest)}" for p in proofs),
            "<h3>With treeproof</h3>",
            _command(f"treeproof check {path(p.name)} {path(p.forest)}" for p in proofs),
        ]
        if facts.model is not None:
            trust = " --trust" if facts.model.endswith((".pkl", ".pickle", ".joblib")) else ""
            parts += [
                "<p>The same against the model’s own file, from which the canonical forest is made once more:</p>",
                _command(f"treeproof check {path(p.name)} {shlex.quote(facts.model)}{trust}" for p in proofs),
            ]
        parts += [
            "<h3>Fingerprints</h3><p>The files must be these. On a Mac, the command is <code>shasum -a 256</code>.</p>",
            _command([f"sha256sum {' '.join(path(name) for name, _, _ in facts.files)}"]),
            _table(
                ["File", "Bytes", "SHA-256"],
                [[_code(name), f"{size:,}", _code(sha)] for name, size, sha in facts.files],
                numbers={1},
            ),
        ]
    if facts.command is not None:
        parts += ["<h3>The whole page</h3><p>It was made by this command:</p>", _command([facts.command])]
    return "\n".join([*parts, "</section>"])


def _path(folder: str, name: str) -> str:
    return shlex.quote(f"{folder}/{name}")


class _Pictures:
    """Draws results as SVG in the colours of the page; without matplotlib, nothing."""

    def __init__(self, behind: Any) -> None:
        self.behind = behind
        self._n = 0
        self._lacking: str | None = None
        try:
            plots.axes.pyplot()
        except MissingExtraError as error:
            self._lacking = str(error)

    def note(self) -> str:
        """Return what is to be said about the pictures."""
        if self._lacking is not None:
            return f'<p class="quiet">This page has no pictures. {_text(self._lacking)}</p>'
        n = len(self.behind)
        behind = f" Behind each line is the distribution of {_count(n, 'row')} of the data." if n else ""
        return (
            '<p class="quiet">In the pictures below, each feature has a scale of its own. Lengths can be compared '
            f"within a line, not between lines.{behind}</p>"
        )

    def result(self, result: Abductive | Contrastive, alt: str) -> str:
        """Return an explanation as a figure."""
        n_lines = len(result.rule if isinstance(result, Abductive) else result.changes)
        if self._lacking is not None or n_lines == 0:
            return ""
        if n_lines > MOST_LINES:
            return f'<p class="quiet">No picture: there are more than {MOST_LINES} lines to draw.</p>'
        data = self.behind if len(self.behind) else None

        def draw(figure: Any) -> None:
            ax = result.plot(data, ax=figure.add_subplot())
            ax.set_title("", loc="left")  # the card has it, and the statement below
            ax.set_xlabel("")

        return self._figure(7, 0.6 + 0.85 * n_lines, draw, alt)

    def overview(self, results: Sequence[Any], alt: str) -> str:
        """Return what results have in common as a figure."""
        if self._lacking is not None:
            return ""
        n_lines = min(len({name for result in results for name in result.feature_names}), plots.MOST_FEATURES)
        return self._figure(
            9,
            0.9 + 0.23 * max(n_lines, 2),
            lambda figure: plots.overview(results, figure.subplots(1, 2, width_ratios=[3, 2])),
            alt,
        )

    def _figure(self, width: float, height: float, draw: Callable[[Any], object], alt: str) -> str:
        import matplotlib as mpl
        from matplotlib.figure import Figure

        self._n += 1
        style: Any = {
            **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), _INK),
            "axes.facecolor": _GROUND,
            "figure.facecolor": "none",
            "savefig.facecolor": "none",
            "svg.fonttype": "path",
            "svg.hashsalt": "treeproof",
        }
        text = io.StringIO()
        # Letters that no font has are drawn as boxes; the words beside the picture have them.
        with mpl.rc_context(), warnings.catch_warnings():
            mpl.rcdefaults()
            mpl.rcParams.update(style)
            warnings.filterwarnings("ignore", message="(?s).*[Gg]lyph.*missing")
            warnings.filterwarnings("ignore", message="constrained_layout not applied")
            figure = Figure(figsize=(width, height), layout="constrained")
            draw(figure)
            figure.savefig(text, format="svg", metadata={"Date": None})
        return f"<figure>{_inline(text.getvalue(), f'p{self._n}-', alt)}</figure>"


_INK, _GROUND = "#010203", "#fdfcfb"  # stand for the colours of the page
_COLOURS = {_INK: "currentColor", _GROUND: "var(--ground)", plots.lines.PROVED: "var(--proved)"}


def _inline(svg: str, prefix: str, alt: str) -> str:
    """Return an SVG file of matplotlib as a part of a page, with names and colours of its own."""
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<defs>\s*<style.*?</style>\s*</defs>", "", svg, flags=re.DOTALL)
    start = svg.index("<svg")
    size = re.search(r'viewBox="[^"]*"', svg)
    assert size is not None
    inside = svg[svg.index(">", start) + 1 :].strip()
    inside = inside.replace("xlink:href", "href")
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', inside))
    inside = re.sub(r' id="([^"]*)"', lambda m: f' id="{prefix}{m[1]}"' if m[1] in used else "", inside)
    inside = re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}", inside)
    for colour, name in _COLOURS.items():
        inside = inside.replace(colour, name)
    inside = re.sub(r"\s+", " ", inside).replace("> <", "><")
    return f'<svg role="img" aria-label="{_text(alt)}" {size[0]}>{inside}'


def _depth(forest: Forest) -> int:
    """Return the number of splits on the longest path."""
    level, depth = forest.roots, -1
    while len(level):
        depth += 1
        inner = level[forest.feature[level] != LEAF]
        level = np.concatenate([forest.left[inner], forest.right[inner]])
    return depth


def _text(text: Any) -> str:
    """Return text for HTML; what does not print is left out: some of it turns the order of what follows."""
    printed = "".join(letter if letter.isprintable() else " " for letter in str(text))
    return html.escape(printed, quote=True)


def _code(text: str) -> str:
    return f"<code>{_text(text)}</code>"


def _command(lines: Iterable[str]) -> str:
    text = "\n".join(map(_text, lines))
    return f'<pre class="command"><code>{text}</code></pre>'


def _warning(text: str) -> str:
    return f'<p class="warn">{_text(text)}</p>'


def _list(items: Iterable[str], style: str = "") -> str:
    shown = "".join(f"<li>{item}</li>" for item in items if item)
    opening = f'<ul class="{style}">' if style else "<ul>"
    return f"{opening}{shown}</ul>" if shown else ""


def _pairs(lines: Iterable[tuple[str, str]]) -> str:
    return f"<dl>{''.join(f'<dt>{_text(name)}</dt><dd>{value}</dd>' for name, value in lines)}</dl>"


def _table(heads: Sequence[str], lines: Iterable[Sequence[str]], caption: str = "", numbers: Iterable[int] = ()) -> str:
    styles = [' class="n"' if i in set(numbers) else "" for i in range(len(heads))]
    head = "".join(f'<th scope="col"{style}>{_text(name)}</th>' for name, style in zip(heads, styles, strict=True))
    cells = ("".join(f"<td{s}>{value}</td>" for value, s in zip(line, styles, strict=True)) for line in lines)
    body = "".join(f"<tr>{line}</tr>" for line in cells)
    said = f"<caption>{_text(caption)}</caption>" if caption else ""
    return f'<div class="wide"><table>{said}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _rows_text(rows: Sequence[int]) -> str:
    return f"row{'' if len(rows) == 1 else 's'} {', '.join(map(str, rows))}"


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""

_LIGHT = "--ground:#fff;--ink:#1d2024;--quiet:#5b626b;--line:#d5d9de;--soft:#f5f6f8;--proved:#3b75af;--bad:#a8201a"
_DARK = "--ground:#17191c;--ink:#e3e5e8;--quiet:#a5abb3;--line:#3b4047;--soft:#202327;--proved:#82b6ea;--bad:#ff9d94"
_STYLE = f"""
:root{{color-scheme:light dark;{_LIGHT}}}
@media (prefers-color-scheme:dark){{:root{{{_DARK}}}}}
body{{margin:0;background:var(--ground);color:var(--ink)}}
body{{font:1rem/1.55 system-ui,"Segoe UI",Helvetica,Arial,sans-serif}}
main{{max-width:52rem;margin:0 auto;padding:2.5rem 1.25rem 4rem;overflow-wrap:break-word}}
h1{{font-size:1.9rem;line-height:1.2;margin:0 0 1rem}}
h2{{font-size:1.35rem;line-height:1.3;margin:3rem 0 .8rem;padding-top:.8rem;border-top:1px solid var(--line)}}
h3{{font-size:1.05rem;margin:1.8rem 0 .5rem}}
p,ul,dl{{margin:.6rem 0}}
ul{{padding-left:1.3rem}}
li{{margin:.3rem 0}}
a{{color:var(--proved)}}
code{{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.86em}}
code{{overflow-wrap:anywhere}}
dl{{display:grid;grid-template-columns:minmax(6.5rem,max-content) 1fr;gap:.25rem 1.2rem}}
dt{{color:var(--quiet)}}
dd{{margin:0;min-width:0}}
dd ul{{margin:0}}
.wide{{overflow-x:auto;margin:1rem 0}}
table{{border-collapse:collapse;width:100%;font-size:.92rem}}
caption{{text-align:left;color:var(--quiet);padding-bottom:.4rem}}
th,td{{text-align:left;vertical-align:top;padding:.35rem .8rem .35rem 0;border-bottom:1px solid var(--line)}}
th{{color:var(--quiet);font-weight:600}}
.n{{text-align:right;font-variant-numeric:tabular-nums}}
.quiet{{color:var(--quiet);font-size:.92rem}}
.warn{{border-left:4px solid var(--bad);padding:.3rem 0 .3rem .9rem}}
ul.warn{{list-style:none}}
.bad{{color:var(--bad)}}
figure{{margin:1rem 0}}
svg{{display:block;width:100%;height:auto;stroke-linejoin:round;stroke-linecap:butt}}
.stamp,.stamp code{{white-space:nowrap}}
@media (max-width:600px){{.stamp{{white-space:normal}}}}
.treeproof{{display:block!important;max-width:none!important}}
.values{{display:grid;grid-template-columns:repeat(auto-fill,minmax(15rem,1fr));gap:.1rem 1.5rem}}
.values{{list-style:none;padding:0;font-size:.92rem}}
.values li{{margin:0;overflow-wrap:anywhere}}
pre{{background:var(--soft);border:1px solid var(--line);border-radius:6px;padding:.7rem .9rem;overflow-x:auto}}
@media print{{
:root{{color-scheme:light;font-size:9.5pt;{_LIGHT}}}
@page{{margin:16mm}}
main{{max-width:none;padding:0}}
h2,h3{{break-after:avoid}}
figure,tr,dl,pre,.treeproof{{break-inside:avoid}}
section.row{{break-before:page;break-inside:avoid}}
section.row+section{{break-before:page}}
section.row h2{{border-top:0;margin-top:0}}
svg{{max-height:10cm}}
.values{{font-size:.85rem}}
pre{{white-space:pre-wrap;overflow-wrap:anywhere}}
a{{color:inherit}}
}}
"""
