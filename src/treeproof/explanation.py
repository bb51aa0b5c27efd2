"""Results: frozen, printable, serialisable. What they say is never more than what was proved."""

from __future__ import annotations

import html
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, Literal, cast

from treeproof.conditions import Condition
from treeproof.errors import UnsupportedQueryError
from treeproof.features import Feature, NumericFeature
from treeproof.floats import Floats
from treeproof.forest import Column, Label

Value = float | Label | None


class Result:
    """What results have in common: in a list or at a prompt they show what they print, on one line."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {' | '.join(line.strip() for line in str(self).splitlines())}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep everything in a file or another process but the way to the proof, which holds the whole explainer.

        Early versions of Python 3.11 have a ``__getstate__`` of their own for such classes, whatever is defined here.
        """
        kept = {f.name: getattr(self, f.name) for f in fields(cast("Any", self))}
        if "_certify" in kept:
            kept["_certify"] = None
        if kept.get("_scales") is not None:
            kept["_scales"] = kept["_scales"].light()
        return _restored, (type(self), tuple(kept.values()))


@dataclass(frozen=True, slots=True)
class Statistics:
    """How a result was found.

    `entailed`, `refuted` and `unknown` count the oracle's answers, `remembered` the questions that earlier answers had
    settled; `longest_entailed` and `longest_refuted` are the seconds of the oracle's longest answers. `near_ties`
    counts answers that rest on float sums closer than rounding; they hold for trees added in their own order, as
    scikit-learn does unless it predicts with several jobs.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> stats = tp.Explainer(forest, oracle="brute").abductive(patient).stats
    >>> stats.oracle, stats.entailed, stats.refuted, stats.unknown
    ('brute', 2, 2, 0)
    """

    oracle: str
    seconds: float
    entailed: int
    refuted: int
    unknown: int
    remembered: int
    near_ties: int
    longest_entailed: float
    longest_refuted: float


@dataclass(frozen=True, slots=True)
class Scales:
    """What a picture of a result needs of the space: the result's features, in its order, and the model's columns."""

    features: tuple[Feature, ...]
    columns: tuple[Column, ...]
    floats: Floats

    def light(self) -> Scales:
        """Return the same without the cells between a feature's ends, of which there may be thousands."""
        features = tuple(
            replace(feature, lows=feature.lows[:1], highs=feature.highs[-1:])
            if isinstance(feature, NumericFeature)
            else feature
            for feature in self.features
        )
        return replace(self, features=features)


@dataclass(frozen=True, slots=True, repr=False)
class Abductive(Result):
    """Features whose values alone force the prediction; with a `target`, features that alone rule that class out.

    `status` is ``"minimum"`` (no other set is smaller, or cheaper if costs were stated), ``"minimal"`` (no feature can
    be dropped) or ``"sound"`` (the deadline came first: the features suffice, but perhaps fewer would). With no
    features at all, the forest gives every input this label, or none the target.

    `cost` is what the features cost together, if costs were stated. `lower_bound` is given if the smallest set was
    asked for: it is proved that none has fewer features, or costs less.

    `rule` has the values of the features for which that is proved: those that the forest does not tell from the
    instance's own or, if `inflated`, wider ranges and sets of values. `widest` says that it is proved that no range can
    be widened and no value added, given the others (perhaps missing values can); otherwise the deadline came first.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> why = tp.Explainer(forest, kinds=dict.fromkeys(forest.column_names[:3], "binary")).abductive(patient)
    >>> print(why)
    Yes, because
      blocked-arteries = 1
      chest-pain = 1
    Proved: these 2 of 4 features force the prediction; none of them can be dropped.
    """

    features: tuple[int, ...]
    feature_names: tuple[str, ...]
    label: Label
    rule: tuple[Condition, ...]
    target: Label | None
    instance: tuple[Value, ...]
    status: Literal["minimum", "minimal", "sound"]
    n_features: int
    stats: Statistics = field(compare=False)
    constraints: tuple[str, ...] = ()
    inflated: bool = False
    widest: bool = False
    cost: Fraction | None = None
    lower_bound: Fraction | None = None
    _certify: Callable[[float | None], Any] | None = field(default=None, repr=False, compare=False)
    _scales: Scales | None = field(default=None, repr=False, compare=False)

    def certificate(self, timeout: float | None = None) -> Any:
        """Return a `Certificate`: this explanation with a proof that others can check, see ``docs/certificates.md``.

        It is made on request, with the explainer that made this explanation; a copy from a file or another process has
        none. It proves all that the result says: that the conditions of `rule` force the prediction (or rule the
        `target` out) and, unless the deadline came first, that no feature can be dropped; if the `status` is
        ``"minimum"``, that no smaller or cheaper set does; if `widest`, that no condition can be widened.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, patient = tp.examples.heart_disease()
        >>> print(tp.Explainer(forest).abductive(patient).certificate().check())
        Checked: blocked-arteries, chest-pain force the label Yes; none of them can be dropped (1 closed box).
          0.5 < blocked-arteries
          0.5 < chest-pain
        """
        return _certified(self._certify, timeout)

    def __str__(self) -> str:
        if not self.features:
            return f"{self._title()}, whatever the input\n{self._claim()}"
        return "\n".join([f"{self._title()}, because", *(f"  {condition}" for condition in self.rule), self._claim()])

    def _title(self) -> str:
        return str(self.label) if self.target is None else f"{self.label}, not {self.target}"

    def _claim(self) -> str:
        return self._proved() + _under(self.constraints)

    def _proved(self) -> str:
        if not self.features:
            every = "the forest gives every input this label"
            return (
                f"Proved: {every if self.target is None else f'no input of the space gives the label {self.target}'}."
            )
        one = len(self.features) == 1
        if self.target is None:
            does = "forces the prediction" if one else "force the prediction"
        else:
            does = f"{'rules' if one else 'rule'} out the label {self.target}"
        are = (
            f"{'this 1' if one else f'these {len(self.features)}'} of {self.n_features} features{_at(self.cost)} {does}"
        )
        if self.status == "sound":
            return f"Proved: {are}. Not yet minimal, the time was up: perhaps fewer would do."
        dropped = _no_less(self) or ("it cannot be dropped" if one else "none of them can be dropped")
        if self.widest:
            dropped += ", and its condition cannot be widened" if one else ", and no condition can be widened"
            dropped += but_missing(self.rule)
        late = " Perhaps conditions can be widened, the time was up." if self.inflated and not self.widest else ""
        late = _perhaps_less(self) + late
        return f"Proved: {are}; {dropped}.{late}{_near_ties(self.stats)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""
        return {"kind": "abductive", **as_plain(self), **_plain_costs(self)}

    def plot(self, data: Any = None, ax: Any = None) -> Any:
        """Draw each condition on the scale of its feature, before the distribution of the rows `data`; return the axes.

        See `treeproof.plots.explanation`.
        """
        from treeproof import plots

        return plots.explanation(self, data, ax)

    def _repr_html_(self) -> str:
        because = "because" if self.features else "whatever the input"
        return _card(f"{self._title()}, {because}", [str(condition) for condition in self.rule], self._claim())


@dataclass(frozen=True, slots=True)
class Changed:
    """One feature's value before and after, as text.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> change = tp.Explainer(forest).contrastive(patient).changes[0]
    >>> change.name, change.before, change.after
    ('chest-pain', '1', '0.5')
    """

    name: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.name}: {self.before} -> {self.after}"


@dataclass(frozen=True, slots=True, repr=False)
class Contrastive(Result):
    """Features whose change alone can give another prediction, with an input that shows it.

    `status` is ``"minimum"`` (no other set is smaller, or cheaper if costs were stated), ``"minimal"`` (no proper
    subset can change the prediction in the way asked for), ``"sound"`` (the deadline came first: the witness is right,
    but perhaps fewer features would do), ``"impossible"`` (proved: no input at all, within the `limits`, gives the
    asked-for label) or ``"unknown"`` (the deadline came before any witness). `cost` and `lower_bound` are as in
    `Abductive`.

    `distance` is how far the witness is from the instance, rounded to a float; None if nobody asked. `closest` says
    that it is proved: no other values of the same features, within the limits, give the asked-for label at a smaller
    distance.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> change = tp.Explainer(forest, kinds=dict.fromkeys(forest.column_names[:3], "binary")).contrastive(patient)
    >>> print(change)
    No instead of Yes, if
      chest-pain: 1 -> 0
    Proved: changing this 1 of 4 features suffices; it cannot be left out, and no closer value does.
    """

    features: tuple[int, ...]
    feature_names: tuple[str, ...]
    label: Label
    witness: tuple[Value, ...] | None
    witness_label: Label | None
    changes: tuple[Changed, ...]
    target: Label | None
    instance: tuple[Value, ...]
    status: Literal["minimum", "minimal", "sound", "impossible", "unknown"]
    n_features: int
    stats: Statistics = field(compare=False)
    distance: float | None = None
    closest: bool = False
    limits: tuple[str, ...] = ()
    cost: Fraction | None = None
    lower_bound: Fraction | None = None
    _certify: Callable[[float | None], Any] | None = field(default=None, repr=False, compare=False)
    _scales: Scales | None = field(default=None, repr=False, compare=False)

    def certificate(self, timeout: float | None = None) -> Any:
        """Return a `Certificate`: this change with a proof that others can check, as for `Abductive`.

        It proves that the witness has another label, that none of the features can be left out and, if the `status` is
        ``"minimum"``, that no smaller or cheaper set does; not that no closer values do.
        """
        return _certified(self._certify, timeout)

    def __str__(self) -> str:
        return "\n".join([self._title(), *(f"  {change}" for change in self.changes), self._claim()])

    def _title(self) -> str:
        if self.witness is None:
            return f"{self.label}, and not {'anything else' if self.target is None else self.target}"
        return f"{self.witness_label} instead of {self.label}, if"

    def _claim(self) -> str:
        other = "another label" if self.target is None else f"the label {self.target}"
        limits = f", with {', '.join(self.limits)}" if self.limits else ""
        if self.status == "impossible":
            return f"Proved: no input of the space gives {other}{limits}."
        if self.status == "unknown":
            return f"Not decided: the time was up before it was clear whether any input gives {other}{limits}."
        one = len(self.features) == 1
        these = f"{'this 1' if one else f'these {len(self.features)}'} of {self.n_features} features"
        are = f"changing {these}{_at(self.cost)} suffices"
        within = f" Limits: {', '.join(self.limits)}." if self.limits else ""
        if self.status == "sound":
            return f"Proved: {are}. Not yet minimal, the time was up: perhaps fewer would do.{within}"
        end = f"{within}{_near_ties(self.stats)}"
        minimal = _no_less(self) or f"{'it cannot' if one else 'none of them can'} be left out"
        end = _perhaps_less(self) + end
        if self.closest:
            return f"Proved: {are}; {minimal}, and no closer {'value does' if one else 'values do'}.{end}"
        late = "" if self.distance is None else " Perhaps closer values do, the time was up."
        return f"Proved: {are}; {minimal}.{late}{end}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""
        return {"kind": "contrastive", **as_plain(self), **_plain_costs(self)}

    def plot(self, data: Any = None, ax: Any = None) -> Any:
        """Draw each change as an arrow on the scale of its feature; return the axes. See `treeproof.plots.changes`."""
        from treeproof import plots

        return plots.changes(self, data, ax)

    def _repr_html_(self) -> str:
        return _card(self._title(), [str(change) for change in self.changes], self._claim())


@dataclass(frozen=True, slots=True, repr=False)
class Verdict(Result):
    """Whether a set of features forces the prediction: `holds` is True, False (with a witness) or None (time was up).

    `enough` is, when it holds, the features among them that the proof used. A verdict is true or false in an ``if``; if
    time was up, that raises ValueError.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> verdict = tp.Explainer(forest).holds(patient, ["chest-pain"])
    >>> verdict.holds, verdict.witness, verdict.witness_label
    (False, (0.5, 0.0, 1.0, 70.0), 'No')
    """

    holds: bool | None
    features: tuple[int, ...]
    label: Label
    enough: tuple[int, ...] | None
    witness: tuple[Value, ...] | None
    witness_label: Label | None
    stats: Statistics = field(compare=False)
    constraints: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        if self.holds is None:
            raise ValueError("Whether the features force the prediction was not decided in time; see .holds.")
        return self.holds

    def __str__(self) -> str:
        if self.holds is None:
            return "Not decided: the time was up."
        if self.holds:
            are = "this 1 feature forces" if len(self.features) == 1 else f"these {len(self.features)} features force"
            proved = f"Proved: {are} the prediction {self.label}."
            return proved + _under(self.constraints)
        kept = (
            "with this 1 feature kept" if len(self.features) == 1 else f"with these {len(self.features)} features kept"
        )
        return f"Refuted: {kept}, {list(self.witness or ())} is {self.witness_label}."

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""
        return {"kind": "verdict", **as_plain(self)}

    def _repr_html_(self) -> str:
        given = {None: "Not decided", True: f"{self.label}, forced", False: f"{self.label}, not forced"}[self.holds]
        return _card(given, [], str(self))


def is_open(result: Abductive | Contrastive) -> bool:
    """Return whether the result says that the time was up: something that was asked for is not decided."""
    if result.status in ("sound", "unknown"):
        return True
    if result.status == "minimal" and result.lower_bound is not None:
        return True  # a minimum was looked for
    if isinstance(result, Abductive):
        return result.inflated and not result.widest
    return result.distance is not None and not result.closest


def _certified(certify: Callable[[float | None], Any] | None, timeout: float | None) -> Any:
    if certify is None:
        raise UnsupportedQueryError(
            "There is a certificate for a reason, and for a minimal change that was found without limits, of the "
            "explainer's own result; a copy has none. There is none for this one."
        )
    return certify(timeout)


def _restored(kind: type, values: tuple[Any, ...]) -> Any:
    """Return a result that was pickled."""
    result: Any = object.__new__(kind)
    for f, value in zip(fields(kind), values, strict=True):
        object.__setattr__(result, f.name, value)
    return result


def _under(constraints: Sequence[str]) -> str:
    return f" The proof uses: {'; '.join(constraints)}." if constraints else ""


def as_plain(result: Any) -> Any:
    """Return a result as plain data for JSON, without private fields. JSON has no NaN: a missing value is None."""
    if is_dataclass(result):
        return {f.name: as_plain(getattr(result, f.name)) for f in fields(result) if not f.name.startswith("_")}
    if isinstance(result, dict):
        return {key: as_plain(item) for key, item in result.items()}
    if isinstance(result, list | tuple):
        return type(result)(as_plain(item) for item in result)
    return None if isinstance(result, float) and math.isnan(result) else result


def plain(number: Fraction | None) -> int | float | None:
    """Return a number for JSON: whole, or else the nearest float.

    >>> plain(Fraction(4)), plain(Fraction(1, 10))
    (4, 0.1)
    """
    if number is None or number.denominator == 1:
        return None if number is None else number.numerator
    return float(number)


def _plain_costs(result: Abductive | Contrastive) -> dict[str, int | float | None]:
    return {"cost": plain(result.cost), "lower_bound": plain(result.lower_bound)}


def _at(cost: Fraction | None) -> str:
    return "" if cost is None else f", at a cost of {plain(cost)},"


def _no_less(result: Abductive | Contrastive) -> str | None:
    if result.status != "minimum":
        return None
    return f"no {'smaller' if result.cost is None else 'cheaper'} set does"


def _perhaps_less(result: Abductive | Contrastive) -> str:
    """Return what is known of smaller or cheaper sets, if these were looked for until the deadline."""
    if result.status == "minimum" or result.lower_bound is None:
        return ""
    sized = result.cost is None
    known = f"none {'has fewer than' if sized else 'costs less than'} {plain(result.lower_bound)}"
    bound = f"; {known}" if result.lower_bound > 0 else ""
    return f" Perhaps a {'smaller' if sized else 'cheaper'} set does, the time was up{bound}."


def but_missing(rule: Sequence[Condition]) -> str:
    """Return what remains to be said of conditions that cannot be widened: only the next values were tried."""
    return ", but perhaps by missing values" if any(condition.missing is False for condition in rule) else ""


def _near_ties(stats: Statistics) -> str:
    if not stats.near_ties:
        return ""
    return " (Sums closer than rounding were met; they were decided as scikit-learn does with n_jobs=None.)"


# Colours are those of the page, so that a card stands on light and dark ones.
_CARD = (
    "border:1px solid currentColor;border-left-width:4px;border-radius:6px;padding:.6em 1em;margin:.3em 0;"
    "display:inline-block;max-width:60em;box-sizing:border-box;overflow-wrap:anywhere;text-align:left;"
    "background:transparent;color:inherit"
)
_CODE = "font-family:monospace;white-space:pre-wrap;background:transparent;color:inherit;padding:0;border:0"


def _card(title: str, lines: Sequence[str], foot: str) -> str:
    """Return a result as HTML: its title, a list, and what is proved; indented lines of `foot` are a list, too."""
    parts = [f"<b>{html.escape(_visible(title))}</b>", _items(lines)]
    said = foot.splitlines()
    for indented, group in itertools.groupby(said, key=lambda line: line.startswith("  ")):
        texts = [line.strip() for line in group]
        if indented:
            parts.append(_items(texts))
        else:
            parts += [f'<p style="margin:.3em 0 0;font-size:.9em">{html.escape(_visible(text))}</p>' for text in texts]
    name = html.escape(_visible(title), quote=True)
    return f'<div class="treeproof" role="group" aria-label="{name}" style="{_CARD}">{"".join(parts)}</div>'


def _items(lines: Sequence[str]) -> str:
    if not lines:
        return ""
    items = (f'<li><code style="{_CODE}">{html.escape(_visible(line))}</code></li>' for line in lines)
    return f'<ul style="margin:.4em 0;padding-left:1.4em">{"".join(items)}</ul>'


def _visible(text: str) -> str:
    """Return text without characters that do not print: some of them turn the order of what follows."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
