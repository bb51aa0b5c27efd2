"""Constraints between features, as users write them, and the text file that declares them.

::

    # one declaration per line
    age is integer
    18 <= age <= 100
    if smoker = 0 then packs = 0
    age >= 65 or pension = 0
    if region in {north, east} and age < 30 then income <= 90000

A number in a constraint is rounded as the model rounds its inputs, and then compared.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from treeproof.errors import InputError, require_path
from treeproof.model.floats import FLOAT32, Floats
from treeproof.space.grammar import Bounds, Choice, Either, ParsedCondition, parse_conditions

if TYPE_CHECKING:
    from treeproof.space.features import NumericKind

Interval = tuple[float, float]

_KIND = re.compile(r"(.+?)\s+is\s+(binary|ordinal|integer|real|date)", re.IGNORECASE)
_THEN = re.compile(r"\s+then\s+", re.IGNORECASE)
_IF = re.compile(r"if\s+", re.IGNORECASE)
_AND = re.compile(r"\s+and\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint on every input of the space: at least one of `conditions` is true, or one of `unless` is false.

    Examples
    --------
    >>> constraint = parse_constraint("if A = 1 then B <= 3 or C = 0", ["A", "B", "C"])
    >>> len(constraint.unless), len(constraint.conditions)
    (1, 2)
    """

    text: str
    unless: tuple[ParsedCondition, ...]
    conditions: tuple[ParsedCondition, ...]


@dataclass(frozen=True, slots=True)
class Declarations:
    """What a file says about the space: kinds of columns, and constraints as text."""

    kinds: Mapping[str | int, NumericKind]
    constraints: tuple[str, ...]


def parse_constraint(text: str, names: Sequence[str]) -> Constraint:
    """Return the constraint ``[if CONDITION and ... then] CONDITION or ...`` on the named features."""
    if not isinstance(text, str):
        raise InputError(f"A constraint must be text such as 'if A = 1 then B <= 3'. Got {text!r}.")
    stripped = text.strip()
    start = _IF.match(stripped)
    if not start:
        try:
            return Constraint(stripped, (), _conditions(stripped, names, "or"))
        except InputError as error:
            hint = " Write the parts joined by 'and' as separate constraints." if _AND.search(stripped) else ""
            raise InputError(f"{error}{hint}") from None
    joints = list(_THEN.finditer(stripped, start.end()))
    if not joints:
        raise InputError(f"A constraint that starts with 'if' must have a 'then'. Got {text!r}.")
    problem: InputError | None = None
    for joint in joints:  # a name may contain the word
        try:
            before = _conditions(stripped[start.end() : joint.start()], names, "and")
            return Constraint(stripped, before, _conditions(stripped[joint.end() :], names, "or"))
        except InputError as error:
            problem = problem or error
    assert problem is not None
    raise problem


def _conditions(text: str, names: Sequence[str], joint: Literal["and", "or"]) -> tuple[ParsedCondition, ...]:
    return tuple(condition for _, condition in parse_conditions(text, names, joint))


def read_declarations(path: str | Path) -> Declarations:
    """Read a file of declarations, one per line; ``#`` starts a comment line."""
    require_path("constraints", path)
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} must be a text file with one declaration per line. Got: {error}.") from error
    kinds: dict[str | int, NumericKind] = {}
    constraints: list[str] = []
    for line in (line.strip() for line in lines):
        if not line or line.startswith("#"):
            continue
        declared = _KIND.fullmatch(line)
        if not declared:
            constraints.append(line)
            continue
        name, kind = declared[1].strip("`"), declared[2].lower()
        if name in kinds:
            raise InputError(f"{path} must give {name!r} one kind. Got two.")
        kinds[name] = cast("NumericKind", "integer" if kind == "ordinal" else kind)
    return Declarations(kinds, tuple(constraints))


def intervals(condition: ParsedCondition, floats: Floats = FLOAT32) -> list[Interval]:
    """Return the model's numbers that satisfy a condition on a number, as closed intervals."""
    if isinstance(condition, Bounds):
        low = -math.inf if condition.low is None else floats.round(condition.low)
        high = math.inf if condition.high is None else floats.round(condition.high)
        low = floats.next(low, math.inf) if condition.low_strict else low
        high = floats.next(high, -math.inf) if condition.high_strict else high
        return [(low, high)] if low <= high else []
    if isinstance(condition, Either):
        return sorted(one for part in condition.parts for one in intervals(part, floats))
    chosen = sorted({floats.round(low) for low, _ in Choice(condition.feature, condition.values).intervals()})
    if condition.negated:
        return complement(((value, value) for value in chosen), floats)
    return [(value, value) for value in chosen]


def complement(closed: Iterable[Interval], floats: Floats = FLOAT32) -> list[Interval]:
    """Return the model's numbers, infinities included, that lie in none of the intervals.

    >>> complement([(-math.inf, 0.0)])
    [(1.401298464324817e-45, inf)]
    """
    gaps, start = [], -math.inf
    for low, high in sorted(closed):
        if start < low:
            gaps.append((start, floats.next(low, -math.inf)))
        if high == math.inf:
            return gaps
        start = max(start, floats.next(high, math.inf))
    return [*gaps, (start, math.inf)]
