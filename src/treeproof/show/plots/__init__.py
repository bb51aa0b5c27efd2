"""Pictures of results, with matplotlib (the extra ``plot``), which is imported only when something is drawn.

Every function takes ``ax=`` and returns the axes it drew on, as scikit-learn's displays do. Results call them by their
``plot`` methods. Each feature has its own scale, so lengths are comparable within a line, not between lines.
Pictures use the text colour of the current style and one other colour, and shapes make every distinction as well, so
they can be printed in grey. The statement below a picture, the one that the result prints, says what it cannot show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import ROUND_FLOOR
from typing import TYPE_CHECKING, Any

import numpy as np

from treeproof.errors import InputError
from treeproof.model.columns import Rows
from treeproof.model.rows import as_row
from treeproof.questions.abductive import Abductive
from treeproof.questions.attribution import Attribution
from treeproof.questions.budget import Profile
from treeproof.questions.changes import ChangeResult
from treeproof.questions.contrastive import Contrastive
from treeproof.questions.most_general import MostGeneral
from treeproof.questions.result import Scales, digits, unless_moved, whatever
from treeproof.questions.rules import Rule, Rules
from treeproof.show.plots.axes import (
    SMALL,
    add_key,
    add_title,
    apart,
    draw_bars,
    ink,
    name_lines,
    new_axes,
    say,
    say_nothing,
    short,
    strip,
    two_axes,
)
from treeproof.show.plots.lines import (
    NOTHING,
    PROVED,
    Lines,
    NamedLine,
    NumberLine,
    is_named,
)
from treeproof.show.plots.verdicts import audit, relevance, review, swarm
from treeproof.space.conditions import Condition
from treeproof.space.features import ValueFeature
from treeproof.space.wording import show_class

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "attribution",
    "audit",
    "changes",
    "explanation",
    "matrix",
    "overview",
    "profile",
    "relevance",
    "review",
    "rules",
    "swarm",
]

MOST_EXPLANATIONS = 60  # columns of a matrix
MOST_FEATURES = 30  # lines of a matrix, of bars
MOST_CHARACTERS = 60  # of a rule beside its bar


def explanation(result: Abductive | MostGeneral, data: Any = None, ax: Axes | None = None) -> Axes:
    """Draw each condition of an explanation on the scale of its feature: the row's own value, and what is proved.

    Parameters
    ----------
    result
        An explanation with a rule.
    data
        Rows, as the model takes them; their distribution is drawn behind each line.
    ax
        Where to draw; by default a new figure.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> ax = tp.Explainer(forest).abductive(patient).plot()
    >>> [" ".join(label.get_text().split()) for label in ax.get_yticklabels()]
    ['blocked-arteries = 1', 'chest-pain = 1']
    """
    within = getattr(result, "within", None)
    near = ""
    if isinstance(result, Abductive) and result.rule:
        near = unless_moved(within, result.open)
    picture = Lines.of(result, len(result.rule), data, ax, why=f"{result.title} ...{near}" if near else result.title)
    if not result.rule:
        return picture.nothing(whatever(within))
    start = _read(result, result.instance)
    for i, condition in enumerate(result.rule):
        feature = result._scales.features[i] if result._scales else None
        value = _value(feature, start, result, i)
        line: NumberLine | NamedLine
        if isinstance(feature, ValueFeature) or (feature is None and is_named(condition)):
            allowed = (feature.labels if feature else ()) if condition.values is None else condition.values
            line = NamedLine.of(feature, allowed, value)
        else:
            line = NumberLine.of(feature, condition, value, picture.rows)
        own = "" if feature is None or start is None or isinstance(line, NamedLine) else feature.show(start)
        picture.axis(i, condition.name, line, feature, own)
        line.prove(picture, i, condition)
        if value is not NOTHING:
            picture.mark(i, line.at(value), "" if own or isinstance(line, NamedLine) else line.show(value))
    return picture.finish(["proved", "this row"])


def changes(result: ChangeResult, data: Any = None, ax: Axes | None = None) -> Axes:
    """Draw each change that gives another prediction as an arrow on the scale of its feature.

    Parameters are as in `explanation`.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> ax = tp.Explainer(forest).contrastive(patient).plot()
    >>> ax.get_title(loc="left")
    'No instead of Yes, if'
    """
    picture = Lines.of(result, len(result.changes), data, ax, why=result.title)
    if not result.changes or result.witness is None:
        return picture.nothing("no change does" if result.witness is None else "no change is needed")
    before, after = _read(result, result.instance), _read(result, result.witness)
    for i, change in enumerate(result.changes):
        feature = result._scales.features[i] if result._scales else None
        start, end = _value(feature, before, result, i), _value(feature, after, result, i, result.witness)
        line: NumberLine | NamedLine
        if start is NOTHING or isinstance(feature, ValueFeature) or isinstance(start, str) or isinstance(end, str):
            if start is NOTHING:  # a result made by hand: only its text is known
                start, end = change.before, change.after
            line = NamedLine.of(feature, (end,), start)
            texts = "", ""
        else:
            line = NumberLine.of(feature, Condition(change.name, end, end), start, picture.rows)
            texts = change.before, change.after
        picture.axis(i, change.name, line, feature)
        picture.arrow(i, line.at(start), line.at(end), *texts)
    return picture.finish([f"this row: {show_class(result.label)}", f"changed: {show_class(result.witness_label)}"])


def matrix(results: Iterable[Any], ax: Axes | None = None, *, complete: bool | None = None) -> Axes:
    """Draw which features are in which explanations: a line for each feature, a column for each explanation.

    Parameters
    ----------
    results
        Abductive and contrastive explanations, of one row. Columns keep their order, the abductive ones first.
    ax
        Where to draw; by default a new figure.
    complete
        Whether these are all explanations, if that is known; the text below the picture says so.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> ax = tp.plots.matrix(list(tp.Explainer(forest).enumerate(patient, kind="both")))
    >>> print(ax.get_xlabel())
    1 abductive and 2 contrastive explanations. Each is proved.
    """
    found = _listed(results)
    abductive = [result for result in found if isinstance(result, Abductive)]
    contrastive = [result for result in found if isinstance(result, Contrastive) and result.witness is not None]
    if len({(repr(result.instance), result.target) for result in found if not isinstance(result, Exception)}) > 1:
        raise InputError(
            "Explanations in one matrix must be of one row and one target. Got several; use plots.overview for rows."
        )
    if not abductive and not contrastive:
        return say_nothing(new_axes(ax, 1), "no explanations")
    # Each kind gets half of the space, and what one does not need goes to the other.
    room = max(MOST_EXPLANATIONS // 2, MOST_EXPLANATIONS - len(contrastive))
    shown: list[Any] = [*abductive[:room]]
    n_abductive = len(shown)
    shown += contrastive[: MOST_EXPLANATIONS - n_abductive]
    counts = Counter(name for result in shown for name in result.feature_names)
    places = _places(shown)
    names = sorted(counts, key=lambda name: (-counts[name], places[name]))[:MOST_FEATURES]
    longest = min(max(map(len, names), default=0), 30)
    width = max(5.5, 4.3 + 0.08 * longest, 2.5 + 0.18 * len(shown))  # inches, with room for the legend
    ax = new_axes(ax, max(len(names), 1), each=0.28, width=width)
    colour = ink(ax)
    size = min(7.0, 0.7 * 72 * ax.get_window_extent().width / ax.figure.dpi / len(shown))
    for i in range(0, len(names), 2):
        ax.axhspan(i - 0.5, i + 0.5, color=colour, alpha=0.06, linewidth=0)
    for kind, first, part in (("abductive", 0, shown[:n_abductive]), ("contrastive", n_abductive, shown[n_abductive:])):
        if not part:
            continue
        spots = [(first + k, names.index(n)) for k, r in enumerate(part) for n in r.feature_names if n in names]
        xs, ys = [x for x, _ in spots], [y for _, y in spots]
        filled = kind == "abductive"
        ax.plot(
            xs,
            ys,
            linestyle="none",
            marker="s" if filled else "o",
            markersize=size,
            color=PROVED if filled else colour,
            markerfacecolor=PROVED if filled else "none",
            label=_meaning(kind, shown[0].target),
        )
    if 0 < n_abductive < len(shown):
        ax.axvline(n_abductive - 0.5, color=colour, linewidth=0.8)
    ax.set_xlim(-0.5, max(len(shown), 8) - 0.5)
    ax.set_ylim(max(len(names), 1) - 0.5, -0.5)
    name_lines(ax, names)
    step = 1 if len(shown) <= 25 else 5
    columns = [*range(0, n_abductive, step), *range(n_abductive, len(shown), step)]
    ax.set_xticks(columns, [str(k + 1 if k < n_abductive else k - n_abductive + 1) for k in columns], fontsize=SMALL)
    strip(ax)
    add_key(ax, 1)
    parts = [f"{len(part)} {kind}" for kind, part in (("abductive", abductive), ("contrastive", contrastive)) if part]
    said = f"{' and '.join(parts)} explanation{'s' * (len(abductive) + len(contrastive) != 1)}. "
    kinds = "of this kind" if len(parts) == 1 else "of these kinds"
    said += {
        None: "Each is proved.",
        True: f"Proved: there are no others {kinds}.",
        False: "Each is proved; there may be more.",
    }[complete]
    cut = []
    if len(shown) < len(abductive) + len(contrastive):
        cut.append(f"the first {n_abductive} and {len(shown) - n_abductive} of them")
    if len(names) < len(counts):
        cut.append(f"the {len(names)} features of {len(counts)} that are in most")
    say(ax, said + (f" Drawn: {', '.join(cut)}." if cut else ""))
    return ax


def attribution(result: Attribution, ax: Axes | None = None) -> Axes:
    """Draw the share of the abductive explanations that contain each feature, as bars.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> ax = tp.Explainer(forest).attribution([0, 1, 0, 80]).plot()
    >>> [round(bar.get_width()) for bar in ax.patches]
    [50, 50, 50, 0]
    """
    ranked = sorted(zip(result.counts, result.feature_names, strict=True), key=lambda entry: -entry[0])
    kept = ranked[:MOST_FEATURES]
    ax = new_axes(ax, max(len(kept), 1), each=0.23)
    shares = [100 * count / max(result.n_abductive, 1) for count, _ in kept]
    draw_bars(ax, [name for _, name in kept], shares, [f"{share:.3g} %" for share in shares], 100)
    ax.set_xticks([])
    these = f"{'' if result.complete else 'first '}{result.n_abductive} " if result.n_abductive != 1 else ""
    add_title(ax, f"{show_class(result.label)}: the share of its {these}explanations with each feature")
    left = len(ranked) - len(kept)
    say(ax, result.claim + (f" {left} more features, in at most {ranked[len(kept)][0]}." if left else ""))
    return ax


def rules(result: Rules, ax: Axes | None = None) -> Axes:
    """Draw how many rows each rule covers, as bars; the hatched part are rows that a rule above it covers as well.

    The last bar of each label, without a filling, has the rows of that label that no rule covers.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> ax = tp.Explainer(forest).rules([patient, [1, 1, 1, 80]]).plot()
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['Yes: blocked-arteries > 0.5 and chest-pain > 0.5']
    """
    bars: list[tuple[str, Rule | None, int]] = []
    for label, each in result.by_label:
        those = [rule for rule in result.rules if rule.label == label]
        bars += [(f"{show_class(label)}: {_briefly(rule)}", rule, 0) for rule in those]
        if each.covered < each.total:
            bars.append((f"{show_class(label)}: no rule", None, each.total - each.covered))
    left = len(bars) - MOST_FEATURES
    bars = bars[:MOST_FEATURES]
    ax = new_axes(ax, max(len(bars), 1), each=0.25, width=9.0)
    drawn = [rule for _, rule, _ in bars if rule is not None]
    lengths = [left_out if rule is None else rule.coverage.covered for _, rule, left_out in bars]
    full = max(*lengths, 1)
    for i, (_, rule, left_out) in enumerate(bars):
        if rule is None:
            ax.barh(i, left_out, height=0.7, facecolor="none", edgecolor=ink(ax), linestyle=":")
            continue
        ax.barh(i, rule.new, height=0.7, color=PROVED, linewidth=0)
        again = rule.coverage.covered - rule.new
        ax.barh(i, again, left=rule.new, height=0.7, facecolor="none", edgecolor=PROVED, hatch="////", linewidth=0)
    for i, length in enumerate(lengths):
        ax.text(length + 0.01 * full, i, str(length), va="center", fontsize=SMALL)
    ax.set_xlim(0, 1.12 * full)
    ax.set_ylim(max(len(bars), 1) - 0.5, -0.5)
    ax.set_yticks(range(len(bars)), [name for name, _, _ in bars], fontsize=9)
    for written in ax.get_yticklabels():
        written.set_parse_math(False)
    strip(ax)
    ax.set_xticks([])
    add_title(ax, result.title)
    hatched = (
        " Hatched: covered by a rule above as well." if any(rule.new < rule.coverage.covered for rule in drawn) else ""
    )
    say(ax, result.claim + hatched + (f" {left} more lines." if left > 0 else ""))
    return ax


def _briefly(rule: Rule) -> str:
    """Return a rule in so few characters that they fit beside a bar: its first conditions, and how many follow."""
    text = " and ".join(map(str, rule.rule)) or "whatever the input"
    if len(text) <= MOST_CHARACTERS:
        return text
    for shown in range(len(rule.rule) - 1, 0, -1):
        text = f"{' and '.join(map(str, rule.rule[:shown]))} and {len(rule.rule) - shown} more"
        if len(text) <= MOST_CHARACTERS:
            return text
    return short(text, MOST_CHARACTERS)


def profile(result: Profile, ax: Axes | None = None) -> Axes:
    """Draw how far the others may move, for ever more features that are kept, as a staircase.

    Beside each stair is the feature that joins; the last one, which lets the others take any value, has no end.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> ax = tp.Explainer(forest).profile(patient).plot()
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['no feature kept', '+ blocked-arteries, chest-pain']
    """
    steps = result.steps[:MOST_FEATURES]
    ax = new_axes(ax, max(len(steps), 2), each=0.25)
    # Radii up to any value have to fit: r is drawn at r / (1 + r).
    edges = [1.0 if step.within is None else float(step.within / (1 + step.within)) for step in steps]
    ax.barh(range(len(steps)), edges, height=1.0, color=PROVED, alpha=0.35, linewidth=0)
    ax.stairs(edges, [i - 0.5 for i in range(len(edges) + 1)], orientation="horizontal", color=PROVED, baseline=None)
    for i, (step, edge) in enumerate(zip(steps, edges, strict=True)):
        text = "any value" if step.within is None else digits(step.within, ROUND_FLOOR, 3)
        ax.text(edge + (0.025 if step.within is None else 0.01), i, text, va="center", fontsize=SMALL)
        if step.within is None:
            ax.plot(edge, i, ">", color=PROVED, markersize=6, clip_on=False)
    ax.set_xlim(0, 1.12)
    ax.set_ylim(max(len(steps), 2) - 0.5, -0.5)
    comings = [result.comings(i).removeprefix("+ ") for i in range(len(steps))]
    name_lines(ax, [f"+ {text}" if text else "no feature kept" for text in apart(comings, 28)], size=9)
    strip(ax)
    marks = [0, 0.1, 0.25, 0.5, 1, 2, 5]
    ax.set_xticks([mark / (1 + mark) for mark in marks], [f"{mark:g}" for mark in marks], fontsize=SMALL)
    add_title(ax, result.title)
    more = len(result.steps) - len(steps)
    say(ax, (f"{more} more steps are not drawn. " if more else "") + f"{result.claim} Scale: {result.scale}.")
    return ax


def overview(results: Iterable[Any], ax: Any = None) -> np.ndarray[Any, np.dtype[Any]]:
    """Draw what explanations of many rows have in common: how many contain each feature, and how long they are.

    Parameters
    ----------
    results
        What `Explainer.batch` returns, or other explanations, all of them abductive or all of them contrastive. Errors
        among them are counted below the picture.
    ax
        Two axes, or one that is divided into two; by default a new figure.

    Returns
    -------
    array of two axes
        The features, and the lengths.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> features, lengths = tp.plots.overview(tp.Explainer(forest).batch([patient, [0, 1, 0, 80]]))
    >>> [label.get_text() for label in lengths.get_yticklabels()]
    ['1', '2']
    """
    given = _listed(results, mixed=False)
    failed = sum(isinstance(result, Exception) for result in given)
    found = [result for result in given if not isinstance(result, Exception)]
    none = sum(isinstance(result, Contrastive) and result.witness is None for result in found)
    counted = [result for result in found if not (isinstance(result, Contrastive) and result.witness is None)]
    counts = Counter(name for result in counted for name in result.feature_names)
    places = _places(counted)
    ranked = sorted(counts, key=lambda name: (-counts[name], places[name]))
    names = ranked[:MOST_FEATURES]
    features, lengths = two_axes(ax, max(len(names), 1))
    if not counted:
        say_nothing(features, "no explanations")
    else:
        shares = [100 * counts[name] / len(counted) for name in names]
        scales = counted[0]._scales
        among = () if scales is None else [column.name for column in scales.columns]
        draw_bars(features, names, shares, [str(counts[name]) for name in names], 100, among)
        features.set_xticks([0, 50, 100], ["0", "50 %", "100 %"], fontsize=SMALL)
    what = "changes" if any(isinstance(result, Contrastive) for result in found) else "explanations"
    add_title(features, f"{len(counted)} {what}: how many contain each feature")
    sizes = Counter(result.size for result in counted)
    if sizes:
        every = range(min(sizes), max(sizes) + 1)
        draw_bars(lengths, [str(n) for n in every], [sizes[n] for n in every], [str(sizes[n]) for n in every])
        lengths.set_ylim(max(len(every), len(names)) - 0.5, -0.5)
        lengths.set_xticks([])
    else:
        say_nothing(lengths, "")
    add_title(lengths, "how many have this length")
    lengths.set_ylabel("features", fontsize=SMALL, loc="top")
    late = sum(result.status == "sound" for result in counted)
    notes = [
        f"{len(ranked) - len(names)} more features, in at most {counts[ranked[len(names)]]} each."
        if len(ranked) > len(names)
        else "",
        f"{late} timed out; may not be minimal." if late else "",
        f"No change, or none in time: {none} of the rows." if none else "",
        f"Not explained, because of errors: {failed} of the rows." if failed else "",
    ]
    say(features, " ".join(filter(None, ["Each is proved." if counted else "", *notes])))
    return np.array([features, lengths])


def _places(results: Sequence[Abductive | Contrastive]) -> dict[str, int]:
    """Return where each name stands among all features; a group stands with its features."""
    places: dict[str, int] = {}
    for result in results:
        names: Sequence[str] = result.feature_names
        if result.groups:
            group_of = {member: group.name for group in result.groups for member in group.members}
            parts = result.rule if isinstance(result, Abductive) else result.changes
            names = [group_of.get(part.name, part.name) for part in parts]
        places.update(zip(names, result.features, strict=True))
    return places


def _meaning(kind: str, target: Any) -> str:
    if kind == "abductive":
        return (
            f"abductive: together they {'force the prediction' if target is None else f'rule out {show_class(target)}'}"
        )
    return f"contrastive: changing them together can {'change it' if target is None else f'give {show_class(target)}'}"


def _read(result: Any, values: Sequence[Any]) -> Rows | None:
    """Return a row of a result as the model reads it."""
    scales: Scales | None = result._scales
    return None if scales is None else as_row(list(values), scales.columns, scales.floats)


def _value(feature: Any, row: Rows | None, result: Any, i: int, values: Sequence[Any] | None = None) -> Any:
    """Return the value of the result's i-th feature: a number or a name."""
    if isinstance(feature, ValueFeature) and row is not None:
        return feature.labels[feature.cell(row.tolist())]
    if feature is not None and row is not None:
        return float(row[feature.column])
    given = result.instance if values is None else values
    if not hasattr(result, "features") or len(given) != result.n_features:
        return NOTHING  # some feature has several columns, and it is not known which
    return given[result.features[i]]


def _listed(results: Iterable[Any], *, mixed: bool = True) -> list[Any]:
    found = list(results)
    for result in found:
        if not isinstance(result, Abductive | Contrastive | Exception):
            raise InputError(
                f"Results must be abductive or contrastive explanations. Got {type(result).__name__} among them."
            )
    if not mixed and len({type(r) for r in found if not isinstance(r, Exception)}) > 1:
        raise InputError("Results must be all abductive or all contrastive. Got both; draw one kind at a time.")
    return found
