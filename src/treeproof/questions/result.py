"""Results: frozen, printable, serialisable. What they say is never more than what was proved."""

from __future__ import annotations

import html
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

from treeproof.errors import UnsupportedQueryError
from treeproof.model.columns import Column
from treeproof.model.floats import Floats
from treeproof.query.tally import Statistics
from treeproof.space.conditions import Condition
from treeproof.space.features import Feature, NumericFeature

if TYPE_CHECKING:
    from treeproof.questions.abductive import Abductive
    from treeproof.questions.contrastive import Contrastive


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


def is_open(result: Abductive | Contrastive) -> bool:
    """Return whether the result says that the time was up: something that was asked for is not decided."""
    if result.status in ("sound", "unknown"):
        return True
    if result.status == "minimal" and result.lower_bound is not None:
        return True  # a minimum was looked for
    from treeproof.questions.abductive import Abductive

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
