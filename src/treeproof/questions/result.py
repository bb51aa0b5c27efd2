"""The contract of results: frozen, printable, serialisable. What they say is never more than what was proved.

Text, notebook card, terminal, exit code and report come from the fields of `Result`; nothing reads a text back.
"""

from __future__ import annotations

import datetime
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from treeproof.checker import CheckError
from treeproof.errors import UnsupportedQueryError
from treeproof.model.columns import Column, Value
from treeproof.model.floats import Floats
from treeproof.model.frames import Origin, pandas
from treeproof.model.labels import Named
from treeproof.query.tally import Statistics
from treeproof.query.units import Group
from treeproof.space.conditions import Condition, remarks
from treeproof.space.features import Feature, NumericFeature
from treeproof.space.wording import one_line

if TYPE_CHECKING:
    from treeproof.questions.abductive import Abductive
    from treeproof.questions.contrastive import Contrastive

Role = Literal["title", "condition", "change", "row", "more", "note", "proved", "refuted", "open"]
"""The role of a line: a title, an item of a list (`ITEMS`), a remark, or a statement (`STATEMENTS`).

A statement is proved, refuted, or open (timed out before all of it was decided).
"""

ITEMS: frozenset[Role] = frozenset({"condition", "change", "row", "more"})
STATEMENTS: frozenset[Role] = frozenset({"proved", "refuted", "open"})


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a result and its role; `hint` says how to see what a line with the role ``"more"`` leaves out."""

    role: Role
    text: str
    hint: str = ""

    @property
    def is_item(self) -> bool:
        """Whether the line is one of a list."""
        return self.role in ITEMS

    @property
    def is_statement(self) -> bool:
        """Whether the line says what is proved, refuted or open."""
        return self.role in STATEMENTS

    def __str__(self) -> str:
        return f"{self.text}; {self.hint}" if self.hint else self.text


def lines_of(role: Role, items: Iterable[Any]) -> list[Line]:
    """Return a line of this role for each item."""
    return [Line(role, str(item)) for item in items]


def aligned(rows: Sequence[Sequence[str]], sides: str, gap: int = 3) -> list[str]:
    """Return each row of a table as a line; `sides` has a ``<`` or ``>`` for each column.

    >>> aligned([("a", "10"), ("bcd", "9")], "<>")
    ['a     10', 'bcd    9']
    """
    widths = [max(len(row[column]) for row in rows) for column in range(len(sides))]
    return [
        (" " * gap).join(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)).rstrip()
        for row in rows
    ]


class Result(ABC):
    """What every result says: a title, lines, whether all that was asked for is decided, and its data.

    Text, card and terminal show `parts`, if a result is made of others, then `title` and `lines`. A command exits with
    0 only if its results are `decided`.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> why = tp.Explainer(forest).abductive(patient)
    >>> why.title, why.decided, [line.role for line in why.lines]
    ('Yes, because', True, ['condition', 'condition', 'proved'])
    >>> why.claim
    'Proved: these 2 of 4 features force the prediction; none of them can be dropped.'
    """

    __slots__ = ()

    indent: ClassVar[str] = "  "
    """The prefix of an item's text."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What the result is about, on one line."""

    @property
    def title_role(self) -> Role:
        """The role of the title: a statement's, if the title is one."""
        return "title"

    @property
    def lines(self) -> Sequence[Line]:
        """The lines below the title."""
        return ()

    @property
    def parts(self) -> Sequence[Result]:
        """The results that this one is made of and shows, numbered, before its own title."""
        return ()

    @property
    def claim(self) -> str:
        """The sentences that say what is proved or refuted, and what a deadline left open."""
        return "\n".join(line.text for line in [Line(self.title_role, self.title), *self.lines] if line.is_statement)

    @property
    def row(self) -> Any:
        """The label that the row has in its frame (``Series.name``, or the index); None if it has none."""
        origin: Origin | None = getattr(self, "_origin", None)
        return None if origin is None else origin.name

    @property
    @abstractmethod
    def decided(self) -> bool:
        """Whether everything that was asked for is decided; otherwise a deadline, or an error, left something open."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""

    def written(self) -> Iterator[tuple[Line, str]]:
        """Yield every line, and its prefix in plain text."""
        for i, part in enumerate(self.parts, start=1):
            (title, _), *others = part.written()
            yield replace(title, text=f"{i}. {title.text}"), ""
            yield from others
        yield Line(self.title_role, self.title), ""
        for line in self.lines:
            yield line, self.indent if line.is_item else ""

    def __str__(self) -> str:
        return "\n".join(f"{before}{one_line(str(line))}" for line, before in self.written())

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {' | '.join(one_line(str(line)).strip() for line, _ in self.written())}>"

    def _repr_html_(self) -> str:
        from treeproof.show.card import notebook_card

        return notebook_card(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle everything except the links to the explainer, which hold all of it.

        Early versions of Python 3.11 have a ``__getstate__`` of their own for such classes, whatever is defined here.
        """
        kept = {f.name: getattr(self, f.name) for f in fields(cast("Any", self))}
        kept |= dict.fromkeys({"_certify", "_shown", "_widen"} & kept.keys())
        if kept.get("_scales") is not None:
            kept["_scales"] = kept["_scales"].light()
        return _restored, (type(self), tuple(kept.values()))


class WitnessResult(Result):
    """A result that shows an input with another label, if there is one."""

    __slots__ = ()

    _origin: Origin | None

    @property
    @abstractmethod
    def shown_input(self) -> tuple[Value, ...] | None:
        """The input with another label, as people write it."""

    def to_frame(self) -> Any:
        """Return the input with another label as a pandas frame of one row, without rows if there is none.

        Its columns have the names and types of the row's own frame, or else of the explainer's `data`, so that
        ``model.predict(result.to_frame())`` gives the label that the result states. Where a value does not fit, a type
        is widened: a gap or a fraction makes whole numbers floats. The frame is pandas' also for a row of polars.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, patient = tp.examples.heart_disease()
        >>> print(tp.Explainer(forest).contrastive(patient).to_frame().to_string())
           blocked-arteries  good-blood-circulation  chest-pain  weight
        0               1.0                     0.0         0.5    70.0
        """
        if self._origin is None:
            raise UnsupportedQueryError("A frame needs the result of an explainer. This one was made by hand.")
        found = self.shown_input
        return self._origin.form.frame([] if found is None else [found], [] if found is None else [self._origin.name])


class Presented:
    """A row as people write it: written when somebody asks for it, which few do who explain many rows."""

    __slots__ = ("_values", "_write")

    def __init__(self, write: Callable[[], tuple[Value, ...]]) -> None:
        self._write: Callable[[], tuple[Value, ...]] | None = write
        self._values: tuple[Value, ...] = ()

    @property
    def values(self) -> tuple[Value, ...]:
        """The values of all columns."""
        write = self._write
        if write is not None:
            self._values = write()
            self._write = None
        return self._values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Presented) and self.values == other.values

    def __hash__(self) -> int:
        return hash(self.values)

    def __reduce__(self) -> tuple[Any, ...]:
        return Presented.known, (self.values,)

    @staticmethod
    def known(values: tuple[Value, ...]) -> Presented:
        """Return a row that is written already."""
        return Presented(lambda: values)


@dataclass(frozen=True, slots=True)
class Scales:
    """What a plot of a result needs from the space: the result's features, in its order, and the model's columns."""

    features: tuple[Feature, ...]
    columns: tuple[Column, ...]
    floats: Floats

    def light(self) -> Scales:
        """Return a copy without the cells between a feature's ends; there may be thousands of these."""
        features = tuple(
            replace(feature, lows=feature.lows[:1], highs=feature.highs[-1:])
            if isinstance(feature, NumericFeature)
            else feature
            for feature in self.features
        )
        return replace(self, features=features)


def counted(n: int, grouped: Any) -> str:
    """Return a number of features in words; where there are groups, each counts as one.

    >>> counted(1, ()), counted(2, ()), counted(2, [Group("address", ("street", "city"))])
    ('1 feature', '2 features', '2 features or groups')
    """
    return f"{n} {things(n, grouped)}"


def things(n: int, grouped: Any) -> str:
    """Return what features are called, where there are groups as well."""
    return f"feature{'s' * (n != 1)} or group{'s' * (n != 1)}" if grouped else f"feature{'s' * (n != 1)}"


def these_of_all(result: Abductive | Contrastive) -> str:
    """Return how many of all features, or of features and groups, a set has, in words."""
    grouped = sum(len(group.members) - 1 for group in result.groups)
    chosen = "this 1" if result.size == 1 else f"these {result.size}"
    n_units = result.n_features - grouped
    return f"{chosen} of {n_units} {'features or groups' if result.groups else 'features'}"


def beside_groups(items: Sequence[Any], names: Sequence[str], groups: Sequence[Group]) -> list[str]:
    """Return items, each about the feature of this name, as text, with the name of the feature's group.

    >>> beside_groups(["street = 1", "age <= 30"], ["street", "age"], [Group("address", ("street", "city"))])
    ['street = 1 (address)', 'age <= 30']
    """
    group_of = {member: group.name for group in groups for member in group.members}
    return [
        f"{item} ({group_of[name]})" if name in group_of else str(item) for item, name in zip(items, names, strict=True)
    ]


def is_least(result: Abductive | Contrastive) -> bool:
    """Return whether a set is as small as was asked for: minimal, or minimum if the smallest set was asked for."""
    return result.status == "minimum" or (result.status == "minimal" and result.lower_bound is None)


def certified(certify: Callable[[float | None], Any] | None, timeout: float | None) -> Any:
    """Return a result's certificate; UnsupportedQueryError if it has none."""
    if certify is None:
        raise UnsupportedQueryError(
            "A certificate needs a result that is proved, and the explainer's own, not a copy. There is none for this "
            "result."
        )
    try:
        return certify(timeout)
    except CheckError as error:  # a model whose sums the checker cannot bound
        raise UnsupportedQueryError(f"There is no certificate for this result. {error}") from error


def _restored(kind: type, values: tuple[Any, ...]) -> Any:
    """Return a result that was pickled."""
    result: Any = object.__new__(kind)
    for f, value in zip(fields(kind), values, strict=True):
        object.__setattr__(result, f.name, value)
    return result


def under(constraints: Sequence[str]) -> str:
    """Return the sentence that names the constraints of a proof, if it uses any."""
    return f" The proof uses: {'; '.join(constraints)}." if constraints else ""


def as_plain(result: Any) -> Any:
    """Return a result as plain data for JSON, without private fields. JSON has no NaN: a missing value is None.

    A label is the model's own; its name, if it has one, is beside it: ``label`` and ``label_name``.
    """
    if is_dataclass(result):
        found = {f.name: getattr(result, f.name) for f in fields(result) if not f.name.startswith("_")}
        named = {f"{key}_name": label.name for key, label in found.items() if isinstance(label, Named)}
        if isinstance(result, Result) and result.row is not None:
            found = {"row": result.row if isinstance(result.row, str | int | float) else str(result.row), **found}
        return {**{key: as_plain(item) for key, item in found.items()}, **named}
    if isinstance(result, Named):
        return result.label
    if isinstance(result, dict):
        return {key: as_plain(item) for key, item in result.items()}
    if isinstance(result, list | tuple):
        return type(result)(as_plain(item) for item in result)
    return None if isinstance(result, float) and math.isnan(result) else result


def rule_frame(rule: Sequence[Condition], texts: Sequence[str]) -> Any:
    """Return one line for each condition, with its text, as a pandas frame."""
    pd = pandas()

    def end(number: float | None, condition: Condition) -> Any:
        if number is None or not condition.date:
            return number
        return datetime.date.fromordinal(int(number))

    dated = any(condition.date for condition in rule)
    ends = object if dated else "float64"
    columns: dict[str, tuple[list[Any], Any]] = {
        "feature": ([condition.name for condition in rule], None),
        "low": ([end(condition.low, condition) for condition in rule], ends),
        "high": ([end(condition.high, condition) for condition in rule], ends),
        "ranges": ([condition.ranges or None for condition in rule], object),
        "values": ([condition.values for condition in rule], object),
        "missing": ([condition.missing for condition in rule], "boolean"),
        "text": (list(texts), None),
    }
    return pd.DataFrame({name: pd.Series(values, dtype=dtype) for name, (values, dtype) in columns.items()})


def plain(number: Fraction | None) -> int | float | None:
    """Return a number for JSON: whole, or else the nearest float.

    >>> plain(Fraction(4)), plain(Fraction(1, 10))
    (4, 0.1)
    """
    if number is None or number.denominator == 1:
        return None if number is None else number.numerator
    return float(number)


def exactly(number: Fraction) -> str:
    """Return a number as text that loses nothing: a decimal if there is a finite one, else a fraction.

    >>> exactly(Fraction(1, 4)), exactly(Fraction(3)), exactly(Fraction(1, 3))
    ('0.25', '3', '1/3')
    """
    rest = number.denominator
    for factor in (2, 5):
        while rest % factor == 0:
            rest //= factor
    if rest > 1:
        return str(number)
    places = max(number.denominator.bit_length(), 1)  # as many as needed: 2 or 5 to this power exceeds the denominator
    digits = f"{number.numerator * 10**places // number.denominator:0{places + 1}d}"
    return f"{digits[:-places]}.{digits[-places:]}".rstrip("0").rstrip(".")


def within_words(radius: Fraction) -> str:
    """Return how far something is from a row, in words.

    >>> within_words(Fraction(1, 4))
    'within 0.25 of its scale'
    """
    return f"within {exactly(radius)} of its scale"


def whatever(within: Fraction | None) -> str:
    """Return which inputs an explanation without features is about, in words."""
    return "whatever the input" if within is None else "whatever the input nearby"


def unless_moved(radius: Fraction | None, open_end: bool = False, who: str = "no other feature") -> str:
    """Return what the other features must keep to, in words, if a statement is about the inputs near a row.

    With an open end, the radius itself is out of bounds.

    >>> unless_moved(Fraction(1, 3), open_end=True)
    ' as long as no other feature moves by 0.333333 of its scale or more'
    """
    if radius is None:
        return ""
    if open_end:
        return f" as long as {who} moves by {digits(radius, ROUND_FLOOR)} of its scale or more"
    return f" as long as {who} moves by more than {exactly(radius)} of its scale"


def digits(value: Fraction, rounding: str, most: int = 6) -> str:
    """Return a number with six digits, or as many, rounded in the given direction."""
    rounded = Context(prec=most, rounding=rounding).divide(Decimal(value.numerator), Decimal(value.denominator))
    return f"{rounded.normalize():f}" if -6 < rounded.adjusted() < 12 else str(rounded)


def plain_within(radius: Fraction | None) -> dict[str, Any]:
    """Return how far other features may move, for JSON."""
    return {"within": plain(radius), "within_exact": None if radius is None else str(radius)}


def plain_costs(result: Abductive | Contrastive) -> dict[str, int | float | None]:
    """Return the cost of a set and its lower bound, for JSON."""
    return {"cost": plain(result.cost), "lower_bound": plain(result.lower_bound)}


def at_cost(cost: Fraction | None) -> str:
    """Return what a set costs, in words, if costs were stated."""
    return "" if cost is None else f", at a cost of {plain(cost)},"


def no_less(result: Abductive | Contrastive) -> str | None:
    """Return that no smaller or cheaper set does, if that is proved."""
    if result.status != "minimum":
        return None
    return f"no {'smaller' if result.cost is None else 'cheaper'} set does"


def perhaps_less(result: Abductive | Contrastive) -> str:
    """Return what is known about smaller or cheaper sets, if the search for them timed out."""
    if result.status == "minimum" or result.lower_bound is None:
        return ""
    sized = result.cost is None
    known = f"none {'has fewer than' if sized else 'costs less than'} {plain(result.lower_bound)}"
    bound = f"; {known}" if result.lower_bound > 0 else ""
    return f" Timed out; a {'smaller' if sized else 'cheaper'} set may exist{bound}."


def not_widened(rule: Sequence[Condition]) -> str:
    """Return that no condition can be widened, with caveats: rounded in the text, or only next values were tried."""
    rounded = "up to rounding " if any(condition.is_rounded for condition in rule) else ""
    gone = any(condition.values == (None,) and not condition.others for condition in rule)  # of numbers: missing only
    untried = ["missing values"] * any(condition.missing is False for condition in rule) + ["numbers"] * gone
    lost = f", but perhaps by {' or '.join(untried)}" if untried else ""
    words = "its condition cannot be widened" if len(rule) == 1 else "no condition can be widened"
    return f", and {rounded}{words}{lost}"


def remark_lines(rule: Iterable[Condition]) -> list[Line]:
    """Return what must be said about numbers for the texts of the conditions to be true of all inputs."""
    return lines_of("note", remarks(rule))


def near_ties(stats: Statistics) -> str:
    """Return how sums closer than rounding were decided, if a proof could not do without."""
    if not stats.near_ties:
        return ""
    return " (Sums came closer than rounding; this holds as the model adds in one job, tree by tree.)"
