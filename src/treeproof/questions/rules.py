"""A short list of rules, each proved, that cover many of given rows."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from treeproof.errors import InputError
from treeproof.model.columns import Label, Value
from treeproof.model.frames import Origin, pandas
from treeproof.model.labels import plain_label
from treeproof.proof.certificate import Certificate, certify
from treeproof.query.context import Context, Instance, deadline_after
from treeproof.query.oracle import Stays, expired
from treeproof.questions.coverage import Coverage, locate_rows
from treeproof.questions.result import (
    Line,
    Result,
    Scales,
    as_plain,
    certified,
    lines_of,
    not_widened,
    remark_lines,
    rule_frame,
    under,
)
from treeproof.search.rules import Box, cover
from treeproof.space.conditions import Condition
from treeproof.space.wording import show_class

_NAMED = 10  # uncovered rows that a text names


@dataclass(frozen=True, slots=True, repr=False)
class Rule(Result):
    """Conditions that force a label: whatever satisfies all of them has it, proved.

    `coverage` counts the rows that satisfy them, `new` those of them that no rule before it in the list covers.
    `widest` says that, given the others, no condition can be widened (perhaps missing values can); otherwise the
    deadline came first. `instance` is the row that the rule was found around.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> print(tp.Explainer(forest).rules([patient, [1, 1, 1, 80]])[0])
    Yes, whenever
      blocked-arteries > 0.5
      chest-pain > 0.5
    Proved: whatever satisfies this gets the label Yes, and no condition can be widened. It covers 2 of 2 rows (100.0%).
    Numbers are compared as the model reads them: as float32.
    """

    label: Label
    rule: tuple[Condition, ...]
    features: tuple[int, ...]
    feature_names: tuple[str, ...]
    coverage: Coverage
    new: int
    widest: bool
    instance: tuple[Value, ...]
    constraints: tuple[str, ...] = ()
    _certify: Callable[[float | None], Any] | None = field(default=None, repr=False, compare=False)
    _scales: Scales | None = field(default=None, repr=False, compare=False)
    _origin: Origin | None = field(default=None, repr=False, compare=False)

    @property
    def title(self) -> str:
        """The label, and whether any condition is needed for it."""
        return f"{show_class(self.label)}, {'whenever' if self.rule else 'whatever the input'}"

    @property
    def text(self) -> str:
        """The rule on one line."""
        conditions = " and ".join(map(str, self.rule))
        return f"if {conditions} then {show_class(self.label)}" if self.rule else f"always {show_class(self.label)}"

    @property
    def lines(self) -> list[Line]:
        """The conditions, and what is proved about them."""
        proved = f"Proved: whatever satisfies this gets the label {show_class(self.label)}"
        if not self.rule:
            proved = "Proved: the forest gives every input this label"
        elif self.widest:
            proved += not_widened(self.rule)
        late = "" if self.decided else " Timed out; a condition may still be widened."
        claim = f"{proved}. It covers {self.coverage}.{late}{under(self.constraints)}"
        shown = lines_of("condition", self.rule)
        return [*shown, Line("proved" if self.decided else "open", claim), *remark_lines(self.rule)]

    @property
    def decided(self) -> bool:
        """Whether no condition can be widened."""
        return self.widest or not self.rule

    def certificate(self, timeout: float | None = None) -> Any:
        """Return a `Certificate` that the conditions force the label and, if `widest`, that none can be widened."""
        return certified(self._certify, timeout)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""
        return {"kind": "rule", "text": self.text, **as_plain(self), "coverage": self.coverage.to_dict()}

    def to_frame(self) -> Any:
        """Return one line for each condition as a pandas frame, as `Abductive.to_frame` does."""
        return rule_frame(self.rule, list(map(str, self.rule)))


@dataclass(frozen=True, slots=True, repr=False)
class Rules(Result):
    """Rules, each proved for every input, that together cover many rows; found greedily, so fewer may do.

    `rules` has those of each label, the ones that cover the most rows first. `coverage` counts the rows that some rule
    covers, `by_label` those of each label that the model predicts for the rows. `uncovered` are the rows that satisfy
    no rule, by their label in their frame, or else by number. `status` is ``"complete"`` (every row is covered),
    ``"limited"`` (no further rule may be added, or has few enough conditions) or ``"sound"`` (timed out: each rule
    is proved, but further ones may be found).

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> explainer = tp.Explainer(forest, kinds=dict.fromkeys(forest.column_names[:3], "binary"))
    >>> print(explainer.rules([patient, [1, 1, 1, 80], [1, 0, 0, 80], [0, 0, 0, 60]]))
    2 rules cover 4 of 4 rows (100.0%)
      if chest-pain = 0 then No: 2 rows
      if blocked-arteries = 1 and chest-pain = 1 then Yes: 2 rows
    Covered by label: No 2 of 2, Yes 2 of 2.
    Proved: every input that satisfies one of them has its label.
    """

    rules: tuple[Rule, ...]
    coverage: Coverage
    by_label: tuple[tuple[Label, Coverage], ...]
    uncovered: tuple[Any, ...]
    status: Literal["complete", "limited", "sound"]
    seconds: float = field(compare=False)
    constraints: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rules)

    def __getitem__(self, place: int) -> Rule:
        return self.rules[place]

    def numbered(self, rows: Sequence[Any]) -> Rules:
        """Return the same with these names for the rows, which had numbers."""
        return replace(self, uncovered=tuple(rows[i] for i in self.uncovered))

    @property
    def title(self) -> str:
        """How many rules there are, and how many rows they cover."""
        n = len(self.rules)
        return f"{n} rule{'' if n == 1 else 's'} cover{'s' * (n == 1)} {self.coverage}"

    @property
    def lines(self) -> list[Line]:
        """The rules, what is proved of them, and the rows that they do not cover."""
        shown = [
            Line("row", f"{rule.text}: {rule.coverage.covered} row{'' if rule.coverage.covered == 1 else 's'}")
            for rule in self.rules
        ]
        labels = ", ".join(f"{show_class(label)} {each.covered} of {each.total}" for label, each in self.by_label)
        lines = [*shown, Line("note", f"Covered by label: {labels}.")]
        if self.rules:
            each = "satisfies it has its" if len(self.rules) == 1 else "satisfies one of them has its"
            lines.append(Line("proved", f"Proved: every input that {each} label.{under(self.constraints)}"))
        if self.uncovered:
            names = ", ".join(map(str, self.uncovered[:_NAMED]))
            more = len(self.uncovered) - _NAMED
            lines.append(Line("note", f"In no rule: {names}{f' and {more} more' if more > 0 else ''}."))
        if not self.decided:
            lines.append(Line("open", "Timed out; further rules may cover more."))
        return [*lines, *remark_lines(condition for rule in self.rules for condition in rule.rule)]

    @property
    def decided(self) -> bool:
        """Whether the search came to its end before the deadline."""
        return self.status in ("complete", "limited")

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""
        return {
            "kind": "rules",
            **as_plain(self),
            "rules": [rule.to_dict() for rule in self.rules],
            "coverage": self.coverage.to_dict(),
            "by_label": [
                {"label": plain_label(label), "name": str(label), **each.to_dict()} for label, each in self.by_label
            ],
        }

    def to_frame(self) -> Any:
        """Return one line for each rule as a pandas frame.

        ``covered`` and ``new`` count rows, ``share`` is the share of the rows with this label that it covers, ``text``
        has the conditions.
        """
        totals = [(plain_label(label), each.total) for label, each in self.by_label]
        columns = ["label", "rule", "conditions", "covered", "new", "share"]
        lines = [
            {
                "label": plain_label(rule.label),
                "rule": " and ".join(map(str, rule.rule)),
                "conditions": len(rule.rule),
                "covered": rule.coverage.covered,
                "new": rule.new,
                "share": rule.coverage.covered
                / next(total for label, total in totals if label == plain_label(rule.label)),
            }
            for rule in self.rules
        ]
        return pandas().DataFrame(lines, columns=columns)

    def plot(self, ax: Any = None) -> Any:
        """Draw how many rows each rule covers; return the axes. See `treeproof.plots.rules`."""
        from treeproof.show import plots

        return plots.rules(self, ax)


def find_rules(context: Context, X: Any, at_most: int, at_most_conditions: int | None, timeout: float | None) -> Rules:
    """Return proved rules that cover many rows of X, at most so many for each label."""
    for name, number in (("at_most", at_most), ("at_most_conditions", at_most_conditions)):
        if number is not None and (isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1):
            raise InputError(f"The '{name}' parameter must be a whole number of at least 1. Got {number!r} instead.")
    start, deadline = time.perf_counter(), context.deadline(timeout)
    rows = locate_rows(context, X)
    if not rows:
        raise InputError("There must be at least one row. Got none.")
    order = context.order("importance", ())
    instances = {row.point: row for row in reversed(rows)}  # of equal points the first
    labels = sorted({row.label for row in rows})
    found: dict[int, tuple[Box, ...]] = {}
    finished = True
    for place, label in enumerate(labels):
        if expired(deadline):
            found[label], finished = (), False
            continue
        same = Counter(row.point for row in rows if row.label == label)
        others = Counter(row.point for row in rows if row.label != label)
        limit = None if deadline is None else _share(deadline, len(labels) - place)
        boxes = cover(
            partial(_cache, context, instances, limit),
            same,
            others,
            order,
            at_most=at_most,
            at_most_conditions=at_most_conditions,
            deadline=limit,
        )
        found[label], finished = boxes.chosen, finished and boxes.finished
    return _result(context, rows, instances, found, finished, start)


def _share(deadline: float, n: int) -> float:
    """Return the deadline of the first of `n` parts, each of which may take as long."""
    now = time.monotonic()
    return now + (deadline - now) / n


def _cache(context: Context, instances: dict[Any, Instance], deadline: float | None, point: Any) -> Any:
    instance = instances[point]
    cache = context.cache(instance, Stays(instance.label), None)
    cache.deadline = deadline
    return cache


def _result(
    context: Context,
    rows: Sequence[Instance],
    instances: dict[Any, Instance],
    found: dict[int, tuple[Box, ...]],
    finished: bool,
    start: float,
) -> Rules:
    rules: list[Rule] = []
    covered: set[int] = set()
    for boxes in found.values():
        inside = {
            id(box): {
                i for i, row in enumerate(rows) if all(c in d for c, d in zip(row.point, box.domains, strict=True))
            }
            for box in boxes
        }
        for box in sorted(boxes, key=lambda box: (-len(inside[id(box)]), box.size)):
            those = inside[id(box)]
            rules.append(
                _rule(context, instances[box.home], box, Coverage(len(those), len(rows)), len(those - covered))
            )
            covered |= those
    by_label = tuple(
        (
            context.labels[label],
            Coverage(
                sum(row.label == label and i in covered for i, row in enumerate(rows)),
                sum(row.label == label for row in rows),
            ),
        )
        for label in found
    )
    uncovered = tuple(
        i if row.origin is None or row.origin.name is None else row.origin.name
        for i, row in enumerate(rows)
        if i not in covered
    )
    clauses = frozenset[int]().union(*(box.clauses for boxes in found.values() for box in boxes))
    return Rules(
        tuple(rules),
        Coverage(len(covered), len(rows)),
        by_label,
        uncovered,
        "complete" if not uncovered else "limited" if finished else "sound",
        time.perf_counter() - start,
        context.constraints(clauses),
    )


def _rule(context: Context, instance: Instance, box: Box, coverage: Coverage, new: int) -> Rule:
    space = context.space
    features = tuple(f for f, n in enumerate(context.cells.n_cells) if len(box.domains[f]) < n)
    return Rule(
        label=context.labels[instance.label],
        rule=tuple(space.features[f].condition(box.domains[f], instance.row) for f in features),
        features=features,
        feature_names=context.names(features),
        coverage=coverage,
        new=new,
        widest=box.widest,
        instance=context.present(instance.row),
        constraints=context.constraints(box.clauses),
        _certify=partial(_certify, context, instance, {f: box.domains[f] for f in features}, box.widest),
        _scales=Scales(tuple(space.features[f] for f in features), context.forest.columns, context.forest.floats),
        _origin=instance.origin,
    )


def _certify(
    context: Context, instance: Instance, domains: dict[int, Any], widest: bool, timeout: float | None
) -> Certificate:
    return certify(
        context,
        instance,
        Stays(instance.label),
        domains,
        minimal=False,
        widest=widest,
        deadline=deadline_after(timeout),
    )
