"""Which features matter for the prediction: those in every, in some or in no abductive explanation."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from treeproof.errors import UnsupportedQueryError
from treeproof.model.columns import Label, Value
from treeproof.model.frames import Origin
from treeproof.proof.certificate import Certificate, certify, certify_change
from treeproof.query.context import Context, Instance, deadline_after
from treeproof.query.oracle import Refuted, Stays, fix
from treeproof.query.tally import Statistics
from treeproof.query.units import Group
from treeproof.questions.changes import Changed, changes_between
from treeproof.questions.enumerate import certify_all
from treeproof.questions.result import Line, Result, as_plain, lines_of, near_ties, under
from treeproof.search.relevance import Relevances, find_relevances
from treeproof.space.wording import show_class

Grade = Literal["necessary", "relevant", "irrelevant", "unknown"]


@dataclass(frozen=True, slots=True)
class FeatureRelevance:
    """How much one feature matters, and what shows it.

    `grade` is ``"necessary"`` (in every abductive explanation: the `witness` has another label and differs from the
    instance in this feature alone, by `change`), ``"relevant"`` (in some but not in every one: the features of one are
    the `explanation`), ``"irrelevant"`` (in none) or ``"unknown"`` (timed out). If it is a group of features, `feature`
    is the first of them, and `change` has those that change.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> first = tp.Explainer(forest).relevance(patient).grades[0]
    >>> print(first.grade, first.change, first.witness_label)
    necessary blocked-arteries: 1 -> 0.5 No
    """

    feature: int
    name: str
    grade: Grade
    explanation: tuple[int, ...] | None = None
    witness: tuple[Value, ...] | None = None
    witness_label: Label | None = None
    change: Changed | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Relevance(Result):
    """Which features are in every, in some or in no abductive explanation of a prediction; `grades` has what shows it.

    Keeping an irrelevant feature at its value never helps to force the prediction, whatever else is kept.
    `status` is ``"complete"`` or ``"incomplete"`` (timed out: nothing is said about the `unknown` ones).

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> explainer = tp.Explainer(forest, kinds=dict.fromkeys(forest.column_names[:3], "binary"))
    >>> print(explainer.relevance(patient))
    Yes, for which
      necessary: blocked-arteries (1 -> 0 gives No), chest-pain (1 -> 0 gives No)
      irrelevant: good-blood-circulation, weight
    Proved: in every explanation 2 of 4 features, in some 0, in none 2.
    """

    label: Label
    grades: tuple[FeatureRelevance, ...]
    instance: tuple[Value, ...]
    status: Literal["complete", "incomplete"]
    n_features: int
    stats: Statistics = field(compare=False)
    constraints: tuple[str, ...] = ()
    groups: tuple[Group, ...] = ()
    _certify: Callable[[str | int, float | None], Any] | None = field(default=None, repr=False, compare=False)
    _origin: Origin | None = field(default=None, repr=False, compare=False)

    def certificate(self, feature: str | int, timeout: float | None = None) -> Any:
        """Return a `Certificate` that a feature matters, or that it does not.

        A necessary feature has a change of it alone that gives another label; a relevant one an explanation from which
        it cannot be dropped. For an irrelevant one, all explanations are listed, and that these are all is proved.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, patient = tp.examples.heart_disease()
        >>> print(tp.Explainer(forest).relevance(patient).certificate("chest-pain").check())
        Checked: a change of chest-pain alone gives the label No (1 closed box).
          chest-pain: 1 -> 0.5
        Row: blocked-arteries = 1, good-blood-circulation = 0, chest-pain = 1, weight = 70
        Model: ..., the most votes of 3 trees
        """
        if self._certify is None:
            raise UnsupportedQueryError("A certificate needs the explainer's own result, not a copy. Ask for it there.")
        return self._certify(feature, timeout)

    @property
    def necessary(self) -> tuple[str, ...]:
        """Names of the features in every explanation."""
        return self._graded("necessary")

    @property
    def relevant(self) -> tuple[str, ...]:
        """Names of the features in some but not in every explanation."""
        return self._graded("relevant")

    @property
    def irrelevant(self) -> tuple[str, ...]:
        """Names of the features in no explanation."""
        return self._graded("irrelevant")

    @property
    def unknown(self) -> tuple[str, ...]:
        """Names of the features that were not decided in time."""
        return self._graded("unknown")

    def _graded(self, grade: Grade) -> tuple[str, ...]:
        return tuple(entry.name for entry in self.grades if entry.grade == grade)

    @property
    def title(self) -> str:
        """The label."""
        return f"{show_class(self.label)}, for which"

    @property
    def decided(self) -> bool:
        """Whether every feature has its grade."""
        return self.status == "complete"

    @property
    def lines(self) -> list[Line]:
        """The features of each grade, and how many there are."""
        shown = [
            f"{entry.name} ({entry.change.before} -> {entry.change.after} gives {show_class(entry.witness_label)})"
            for entry in self.grades
            if entry.change is not None
        ]
        groups = {"necessary": shown, "relevant": self.relevant, "irrelevant": self.irrelevant}
        groups["not decided"] = self.unknown
        graded = [f"{title}: {', '.join(names)}" for title, names in groups.items() if names]
        return [*lines_of("row", graded), Line("proved" if self.decided else "open", self._claim())]

    def _claim(self) -> str:
        every, some, none = len(self.necessary), len(self.relevant), len(self.irrelevant)
        all_of = f"{len(self.grades)} {'features or groups' if self.groups else 'features'}"
        known = f"in every explanation {every} of {all_of}, in some {some}, in none {none}"
        late = f" Timed out before {len(self.unknown)} of them were decided." if self.unknown else ""
        return f"Proved: {known}.{late}{under(self.constraints)}{near_ties(self.stats)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""
        return {"kind": "relevance", **as_plain(self)}

    def plot(self, ax: Any = None) -> Any:
        """Draw which features matter, and what shows it; return the axes. See `treeproof.plots.relevance`."""
        from treeproof.show import plots

        return plots.relevance(self, ax)


def grade(context: Context, instance: Instance, timeout: float | None) -> Relevance:
    """Return for every feature whether it is in every, in some or in no abductive explanation."""
    start = time.perf_counter()
    cache = context.cache(instance, Stays(instance.label), timeout)
    found = find_relevances(cache, context.order("importance", ()))
    units = sorted(cache.features)
    named = zip(units, context.unit_names(units), strict=True)
    grades = tuple(_grade(context, instance, found, f, name) for f, name in named)
    return Relevance(
        label=context.labels[instance.label],
        grades=grades,
        instance=context.present(instance.row),
        status="incomplete" if any(entry.grade == "unknown" for entry in grades) else "complete",
        n_features=context.space.n_features,
        stats=context.statistics(cache, start),
        constraints=context.constraints(range(len(context.cells.clauses))),
        groups=context.groups,
        _certify=partial(_certify, context, instance, found),
        _origin=instance.origin,
    )


def _certify(
    context: Context, instance: Instance, found: Relevances, feature: str | int, timeout: float | None
) -> Certificate:
    f, claim, deadline = context.unit(feature), Stays(instance.label), deadline_after(timeout)
    if f in found.necessary:
        witness = context.space.row(found.necessary[f].witness, near=instance.row)
        return certify_change(context, instance, claim, context.units.members[f], witness, deadline=deadline)
    if f in found.relevant:
        features = context.units.features(found.relevant[f])
        domains = fix(context.cells, instance.point, features)
        kept = {g: domains[g] for g in features}
        return certify(context, instance, claim, kept, minimal=True, deadline=deadline)
    if f in found.irrelevant:
        return certify_all(context, instance, claim, timeout)
    (name,) = context.unit_names([f])
    raise UnsupportedQueryError(f"Whether {name} matters is not known, so there is no certificate; allow more time.")


def _grade(context: Context, instance: Instance, found: Relevances, f: int, name: str) -> FeatureRelevance:
    if f in found.necessary:
        return _necessary(context, instance, found.necessary[f], f, name)
    if f in found.relevant:
        return FeatureRelevance(
            f, name, "relevant", explanation=tuple(sorted(context.units.features(found.relevant[f])))
        )
    return FeatureRelevance(f, name, "irrelevant" if f in found.irrelevant else "unknown")


def _necessary(context: Context, instance: Instance, answer: Refuted, f: int, name: str) -> FeatureRelevance:
    space = context.space
    witness, label = context.witness(instance.row, answer)
    changes = changes_between(space, instance.row, space.row(answer.witness, near=instance.row))
    if name == space.names[f]:
        return FeatureRelevance(f, name, "necessary", None, witness, label, changes[f])
    before, after = (
        ", ".join(f"{change.name} {getattr(change, which)}" for change in changes.values())
        for which in ("before", "after")
    )
    return FeatureRelevance(f, name, "necessary", None, witness, label, Changed(name, before, after))
