"""Whether a given explanation is right: a rule, or a list of features, that is claimed to force a label."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from treeproof.errors import InputError, InternalError
from treeproof.model.columns import Label, Value
from treeproof.model.floats import FLOAT32
from treeproof.model.frames import Origin
from treeproof.model.rows import as_row
from treeproof.query.ball import Ball
from treeproof.query.context import Context, Instance, seconds_after
from treeproof.query.oracle import Entailed, Never, Refuted, Stays, Unknown
from treeproof.query.tally import Statistics
from treeproof.questions.abductive import Abductive
from treeproof.questions.changes import Changed, changes_between
from treeproof.questions.claims import read_claim
from treeproof.questions.moves import as_written
from treeproof.questions.result import (
    Line,
    Role,
    Scales,
    WitnessResult,
    as_plain,
    exactly,
    lines_of,
    near_ties,
    plain_within,
    under,
    unless_moved,
    whatever,
)
from treeproof.search.loosen import Chosen, Conditions
from treeproof.space.domains import Domain
from treeproof.space.region import Region, Restriction, as_results_mean, read_conditions
from treeproof.space.wording import ABOVE_ZERO, AS_FLOAT32, equals, show_class


@dataclass(frozen=True, slots=True)
class Repair:
    """Conditions that force the label, as close to the given ones as deletion leaves them; each is proved.

    `rule` has them in words. `dropped` and `tightened` are conditions as they were given, `added` names of features
    that were not mentioned. `status` is ``"minimal"`` (no condition can be dropped, and no tightened one can have its
    old width) or ``"sound"`` (timed out: fewer or wider conditions may do). `nearby` says how far other features may
    move, if the review is about the inputs near a row.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> repair = tp.Explainer(forest).review(patient, "chest-pain >= 1 and weight >= 70").repair
    >>> print(repair)
    chest-pain >= 1 and blocked-arteries = 1
    >>> repair.dropped, repair.added
    (('weight >= 70',), ('blocked-arteries',))
    """

    rule: tuple[str, ...]
    features: tuple[int, ...]
    feature_names: tuple[str, ...]
    dropped: tuple[str, ...]
    tightened: tuple[str, ...]
    added: tuple[str, ...]
    status: Literal["minimal", "sound"]
    constraints: tuple[str, ...] = ()
    nearby: str = ""

    def __str__(self) -> str:
        return " and ".join(self.rule) or f"whatever the input{' nearby' * bool(self.nearby)}"

    def claim(self, label: Label) -> str:
        """Return what was proved, in words."""
        several = len(self.rule) > 1
        proved = f"Proved: {'these force' if several else 'this forces'} {show_class(label)}{self.nearby}"
        if self.status == "sound":
            proved += ". Timed out; fewer or wider conditions may do"
        elif self.rule:
            proved += f"; {'none of them' if several else 'it'} {'can' if several else 'cannot'} be dropped"
        return f"{proved}.{under(self.constraints)}"


@dataclass(frozen=True, slots=True, repr=False)
class Review(WitnessResult):
    """Whether conditions force a label: `holds` is True, False (with a counterexample) or None (timed out).

    `applies` says whether the row itself satisfies the conditions; if not, they are not about it. If they hold,
    `minimal` says whether none of them can be dropped, and `redundant` has those of which any one can. A repair is what
    remains of conditions that hold after dropping what they do not need; if they do not hold, it is conditions that do.
    It is always about the row. `changes` is how the counterexample differs from the row, `example` how its values are
    called if there is none, as text. With `within`, all of that is about the inputs whose features without a condition
    move by no more than this part of their scale (by less, if `open`); `scale` says what that is.

    Conditions are taken as they are written: the model may read 0.5999999999, which is below 0.6, as 0.6. If they hold
    only as results mean them, `only_if` has the remarks with which they do; then `holds` is False all the same.

    `status` is ``"proved"`` (everything was decided), ``"sound"`` (timed out: what is
    said is proved, but not all was decided) or ``"unknown"`` (not even whether they hold).

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> explainer = tp.Explainer(forest, kinds=dict.fromkeys(forest.column_names[:3], "binary"))
    >>> print(explainer.review(patient, "chest-pain > 0 and weight >= 70"))
    Wrong: these conditions do not force Yes
      chest-pain > 0
      weight >= 70
    Counterexample: No, with blocked-arteries: 1 -> 0.
    Repaired:
      chest-pain > 0
      blocked-arteries = 1
    Proved: these force Yes; none of them can be dropped.
    """

    holds: bool | None
    applies: bool | None
    label: Label
    conditions: tuple[str, ...]
    minimal: bool | None
    redundant: tuple[str, ...]
    counterexample: tuple[Value, ...] | None
    counterexample_label: Label | None
    changes: tuple[Changed, ...]
    repair: Repair | None
    instance: tuple[Value, ...] | None
    status: Literal["proved", "sound", "unknown"]
    n_features: int
    stats: Statistics = field(compare=False)
    constraints: tuple[str, ...] = ()
    example: tuple[str, ...] = ()
    within: Fraction | None = None
    open: bool = False
    scale: str | None = None
    only_if: tuple[str, ...] = ()
    _scales: Scales | None = field(default=None, repr=False, compare=False)
    _origin: Origin | None = field(default=None, repr=False, compare=False)

    @property
    def shown_input(self) -> tuple[Value, ...] | None:
        """The counterexample."""
        return self.counterexample

    def __bool__(self) -> bool:
        if self.holds is None:
            raise ValueError("Whether the conditions force the label was not decided in time; see .holds.")
        return self.holds

    @property
    def title(self) -> str:
        """Whether the conditions force the label."""
        if self.holds is None:
            return f"Not decided, timed out: whether these conditions force {show_class(self.label)}{self._nearby}"
        wrong = f"Wrong{', but only by rounding' if self.only_if else ''}: these conditions do not force"
        return f"{'Right: these conditions force' if self.holds else wrong} {show_class(self.label)}{self._nearby}"

    @property
    def _nearby(self) -> str:
        return unless_moved(self.within, self.open, "no other feature" if self.conditions else "no feature")

    @property
    def title_role(self) -> Role:
        """Whether the conditions are right, wrong or not decided."""
        return "open" if self.holds is None else "proved" if self.holds else "refuted"

    @property
    def decided(self) -> bool:
        """Whether it is known if the conditions force the label, which of them are needed, and what would."""
        return self.status == "proved"

    @property
    def lines(self) -> list[Line]:
        """The conditions, what is proved about them, a counterexample, and conditions that are right."""
        lines = lines_of("condition", self.conditions or ["none at all"])
        if self.applies is False:
            lines.append(Line("note", "The row does not satisfy them: they are not about it."))
        if self.holds:
            lines.append(Line("open" if self.minimal is None else "proved", self._needed()))
        if self.counterexample is not None:
            values = ", ".join([*map(str, self.changes), *self.example])
            lines.append(Line("note", f"Counterexample: {show_class(self.counterexample_label)}, with {values}."))
        if self.only_if:
            lines += [Line("proved", "Proved: as results mean numbers, they do."), *lines_of("note", self.only_if)]
        if self.repair is not None and (self.repair.dropped or self.repair.tightened or self.repair.added):
            lines += [
                Line("note", "Enough:" if self.holds and self.applies is not False else "Repaired:"),
                *lines_of("condition", self.repair.rule or [whatever(self.within)]),
                Line(
                    "proved" if self.repair.status == "minimal" else "open",
                    self.repair.claim(self.label) + near_ties(self.stats),
                ),
            ]
        elif self.status == "sound":
            lines.append(Line("open", "Timed out; not everything was decided."))
        return lines if self.scale is None else [*lines, Line("note", f"Scale: {self.scale}.")]

    def _needed(self) -> str:
        needed = " None of them can be dropped." if self.conditions else ""
        if self.minimal is None:
            needed = " Timed out; some may be redundant."
        elif self.redundant:
            each = "This one" if len(self.redundant) == 1 else "Any one of these"
            needed = f" {each} can be dropped: {', '.join(self.redundant)}."
        return f"Proved.{under(self.constraints)}{needed}{near_ties(self.stats)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""
        return {"kind": "review", **as_plain(self), **plain_within(self.within)}

    def plot(self, ax: Any = None) -> Any:
        """Draw the counterexample as changes of the row; return the axes. See `treeproof.plots.review`."""
        from treeproof.show import plots

        return plots.review(self, ax)


def review(
    context: Context,
    x: Any,
    claim: Any,
    label: Any,
    timeout: float | None,
    top: int | None = None,
    ball: Ball | None = None,
) -> Review:
    """Decide whether the conditions of a claim force the label of `x`, or the given one; and what would.

    With a ball, features without a condition stay in it. A local explanation brings its own.
    """
    start, began = time.perf_counter(), time.monotonic()
    if isinstance(claim, Abductive):
        if claim.target is not None:
            raise InputError(
                f"The claim must be that a label is forced. Got an explanation of why not {claim.target!r}; pass its "
                "rule to see whether it also forces the label."
            )
        if claim.within is not None and ball is None:
            ball = _own_ball(context, claim)
        label = claim.label if x is None and label is None else label
        claim = claim.rule
    if (x is None) == (label is None):
        raise InputError(f"Either a row or a label must be given. Got {'neither' if x is None else 'both'}.")
    if x is None and ball is not None:
        raise InputError("A claim about the inputs near a row needs the row. Pass it, or leave out 'within'.")
    instance = None if x is None else context.instance(x, ball)
    wanted = context.class_index(label) if instance is None else instance.label
    claim = read_claim(context, instance, _members(context, claim), top)
    given = read_conditions(context.space, claim, None if instance is None else instance.row)
    return _Case(context.plain, instance, wanted, given, seconds_after(timeout, began)).result(start)


def _own_ball(context: Context, claim: Abductive) -> Ball:
    """Return the inputs near a row that a local explanation is about."""
    nearby = claim.nearby
    if nearby is None or nearby.names != context.space.names:
        raise InputError(
            f"The claim is about inputs near a row, within {exactly(claim.within or Fraction(0))} of each feature's "
            "scale, but does not say what the scales are here. Pass within=, and scale= if they are not the usual ones."
        )
    return nearby.ball


def _members(context: Context, claim: Any) -> Any:
    """Return a claim in which the names of groups stand for their features."""
    groups = context.units.groups
    if not groups or not isinstance(claim, list | tuple):
        return claim
    return [
        name
        for item in claim
        for name in (context.names(groups[item]) if isinstance(item, str) and item in groups else (item,))
    ]


class _Case:
    """One claim under review.

    Conditions are numbered: first the given ones, then, of each feature, that it keeps the row's value (its cell).
    """

    def __init__(
        self, context: Context, instance: Instance | None, label: int, given: list[Restriction], timeout: float | None
    ) -> None:
        space = context.space
        self.full = context.cells.full if instance is None or instance.free is None else instance.free
        self.context, self.instance, self.label, self.given = context, instance, label, given
        self.claimed: Chosen = frozenset(range(len(given)))
        self.ball = None if instance is None else instance.ball
        self.region = Region(space, given)
        if self.region.empty is not None:
            raise _unsatisfiable(f"the conditions on {space.names[self.region.empty]!r}")
        self.domains = self.region.domains(self.full)
        # Without a row, any point and any numbers will do as those that a counterexample should be near.
        self.point = tuple(min(domain) for domain in self.domains) if instance is None else instance.point
        self.row = np.zeros(context.forest.n_columns, context.forest.floats.dtype) if instance is None else instance.row
        self.applies = None if instance is None else self.region.holds(self.row, self.point)
        self.features = [condition.feature for condition in given]  # of each condition
        self.features += range(0 if instance is None else space.n_features)
        self.cache = context.cache(Instance(self.row, self.point, label), Stays(label), timeout)
        self.search = Conditions(
            self.cache,
            self.features,
            self._domains,
            local=self.ball is not None,
        )

    def _domains(self, chosen: Chosen) -> tuple[Domain, ...]:
        """Return the cells that some of the conditions leave."""
        first, cells = len(self.given), self.context.cells
        region = Region(self.context.space, [self.given[i] for i in sorted(chosen) if i < first])
        domains = list(region.domains(self.full))
        for f in (i - first for i in chosen if i >= first):
            domains[f] = cells.at(f, self.point[f]) if self.point[f] in domains[f] else frozenset()
        return tuple(domains)

    def _text(self, i: int) -> str:
        """Return a condition in words: of a feature that keeps its cell, that it keeps its value."""
        if i < len(self.given):
            return self.given[i].text
        feature = self.context.space.features[self.features[i]]
        return equals(feature.name, feature.show(self.row))

    def result(self, start: float) -> Review:
        """Return everything that can be found before the deadline."""
        context = self.context
        answer = self.search.ask(self.claimed)
        if isinstance(answer, Entailed) and not self.applies and self._is_vacuous():
            near = "" if self.ball is None else ", with other features near the row"
            raise _unsatisfiable(f"the conditions together with the constraints{near}")
        minimal, redundant, done = self._needs() if isinstance(answer, Entailed) else (None, (), True)
        example = self._counterexample(answer) if isinstance(answer, Refuted) else (None, None, {}, ())
        only_if = self._only_if() if isinstance(answer, Refuted) else ()
        repair = None
        if isinstance(answer, Entailed) and self.applies is not False:
            repair = self._repair(*self.search.drop(self.claimed, sorted(self.claimed, reverse=True)))
        elif not isinstance(answer, Unknown) and self.instance is not None:
            repair = self._mended()
            done = done and repair is not None
        done = done and (repair is None or repair.status == "minimal")
        return Review(
            holds=None if isinstance(answer, Unknown) else isinstance(answer, Entailed),
            applies=self.applies,
            label=context.labels[self.label],
            conditions=tuple(condition.text for condition in self.given),
            minimal=minimal,
            redundant=redundant,
            counterexample=example[0],
            counterexample_label=example[1],
            changes=tuple(example[2].values()),
            example=example[3],
            repair=repair,
            instance=None if self.instance is None else context.present(self.row),
            status="unknown" if isinstance(answer, Unknown) else "proved" if done else "sound",
            n_features=context.space.n_features,
            stats=context.statistics(self.cache, start),
            constraints=self._constraints(self.claimed) if isinstance(answer, Entailed) else (),
            within=None if self.ball is None else self.ball.radius,
            open=self.ball is not None and self.ball.open,
            scale=None if self.ball is None else self.ball.measure,
            only_if=only_if,
            _scales=Scales(
                tuple(context.space.features[f] for f in example[2]),
                context.forest.columns,
                context.forest.floats,
            ),
            _origin=Origin(None, context.form) if self.instance is None else self.instance.origin,
        )

    def _only_if(self) -> tuple[str, ...]:
        """Return the remarks with which conditions that do not hold literally do hold, as results mean them."""
        space = self.context.space
        as_read = (AS_FLOAT32,) if space.forest.floats is FLOAT32 else ()
        for above_zero, remarks in ((False, as_read), (True, (*as_read, ABOVE_ZERO))):
            region = Region(space, [as_results_mean(space, restriction, above_zero) for restriction in self.given])
            domains = region.domains(self.full)
            # It must be about the row: of no input at all, anything holds.
            about_it = self.instance is not None and region.holds(self.row, self.point)
            if about_it and domains != self.domains and isinstance(self.cache.decide(domains), Entailed):
                return remarks
        return ()

    def _is_vacuous(self) -> bool:
        """Return whether the constraints exclude every input that satisfies the conditions."""
        if not self.context.cells.clauses:
            return False
        instance = Instance(self.row, self.point, self.label)
        never = self.context.cache(instance, Never(self.label), None)
        never.deadline = self.cache.deadline
        return isinstance(never.decide(self.domains), Entailed)

    def _needs(self) -> tuple[bool | None, tuple[str, ...], bool]:
        """Return whether no condition can be dropped, those that can, and whether all were decided."""
        redundant: list[str] = []
        for i in sorted(self.claimed):
            answer = self.search.ask(self.claimed - {i})
            if isinstance(answer, Unknown):
                return False if redundant else None, tuple(redundant), False
            if isinstance(answer, Entailed):
                redundant.append(self.given[i].text)
        return not redundant, tuple(redundant), True

    def _mended(self) -> Repair | None:
        """Return conditions about the row that hold; None if timed out before there were any."""
        space, first = self.context.space, len(self.given)
        mentioned = list(dict.fromkeys(condition.feature for condition in self.given))
        others = [first + f for f in self.context.order("importance", ()) if f not in mentioned]
        # The first one mentioned matters most, so it is tried last.
        order = [*others, *sorted(self.claimed, reverse=True)]
        if self.applies:
            answer = self.search.ask(self.claimed.union(others))
            if isinstance(answer, Unknown):
                return None
            if isinstance(answer, Entailed):
                return self._repair(*self.search.drop(self.claimed.union(others), order))
        # Some condition is too wide: all start at the row's values, and are widened again where possible.
        everything = frozenset(range(first, first + space.n_features))
        kept, done = self.search.drop(everything, [*others, *(first + f for f in reversed(mentioned))])
        if done:
            looser = {
                first + f: frozenset(i for i in self.claimed if self.given[i].feature == f)
                for f in mentioned
                if self.region.holds(self.row, self.point, [f])
            }
            before = None
            while done and kept != before:
                before = kept
                kept, done = self.search.exchange(kept, looser)
                if done:  # of several conditions on one feature, one may be enough
                    kept, done = self.search.drop(kept, order)
                if self.ball is None:  # otherwise, without a wide condition another one may be wide again
                    break
        return self._repair(kept, done)

    def _repair(self, kept: Chosen, done: bool) -> Repair:
        """Return conditions that were proved to hold as a result."""
        first = len(self.given)
        in_own_cells = {i - first for i in kept if i >= first}
        mentioned = {condition.feature for condition in self.given}
        features = tuple(sorted({self.features[i] for i in kept}))
        gone = sorted(self.claimed - kept)
        return Repair(
            rule=tuple(map(self._text, sorted(kept))),
            features=features,
            feature_names=self.context.names(features),
            dropped=tuple(self.given[i].text for i in gone if self.given[i].feature not in in_own_cells),
            tightened=tuple(
                self.given[i].text for i in gone if self.given[i].feature in in_own_cells and not self._is_own_cell(i)
            ),
            added=self.context.names(f for f in features if f not in mentioned),
            status="minimal" if done else "sound",
            constraints=self._constraints(kept),
            nearby=""
            if self.ball is None
            else unless_moved(self.ball.radius, self.ball.open, "no other feature" if kept else "no feature"),
        )

    def _constraints(self, proved: Chosen) -> tuple[str, ...]:
        """Return the constraints that the proof of these conditions used."""
        answer = self.search.ask(proved) if self.context.cells.clauses else Entailed(frozenset())
        every = range(len(self.context.cells.clauses))
        return self.context.constraints(answer.clauses if isinstance(answer, Entailed) else every)

    def _is_own_cell(self, i: int) -> bool:
        """Return whether a given condition says no more than that a feature stays in the row's cell."""
        return self.instance is not None and self.given[i].cells == frozenset((self.point[self.given[i].feature],))

    def _counterexample(self, answer: Refuted) -> tuple[tuple[Value, ...], Label, dict[int, Changed], tuple[str, ...]]:
        """Return an input that satisfies the conditions as they are written, its label, and how it differs, or is."""
        context = self.context
        point, label = answer.witness, answer.label
        if self.instance is not None:
            point, label = context.nearer(self.instance, answer, self.cache.deadline, self.domains)
        row, written = self.region.row(point, self.row, brief=True)
        shown, named = context.evaluated(row, label)
        values = as_written(shown, written)
        if not np.array_equal(as_row(values, context.forest.columns, context.forest.floats), row, equal_nan=True):
            raise InternalError(f"The counterexample {values} is not read as it should be; please report this.")
        if self.instance is None:
            features = context.space.features
            return values, named, {}, tuple(equals(feature.name, feature.show(row)) for feature in features)
        changes = changes_between(context.space, self.row, row, written, readings=True)
        return values, named, changes, ()


def _unsatisfiable(what: str) -> InputError:
    return InputError(f"The conditions must be satisfiable. No input of the space satisfies {what}.")
