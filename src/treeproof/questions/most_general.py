"""The rule around a row that covers the most of given rows."""

from __future__ import annotations

import operator
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from treeproof.model.columns import Label, Value
from treeproof.model.frames import Origin
from treeproof.model.rows import by_number
from treeproof.query.context import Context, Instance, sooner
from treeproof.query.oracle import Stays, expired
from treeproof.query.tally import Statistics
from treeproof.questions.coverage import Coverage, locate_rows
from treeproof.questions.result import (
    Line,
    Result,
    Scales,
    as_plain,
    lines_of,
    near_ties,
    not_widened,
    remark_lines,
    rule_frame,
    under,
)
from treeproof.search.inflation import widen, widen_values
from treeproof.search.minimal import abductive
from treeproof.search.most_general import Covering, most_general
from treeproof.space.conditions import Condition
from treeproof.space.wording import show_class

_SEARCHING = 0.9  # share of the time; the rest is for widening, which makes a rule far shorter


@dataclass(frozen=True, slots=True, repr=False)
class MostGeneral(Result):
    """A rule that the instance satisfies and that forces its label, with as many rows as any such rule covers.

    A rule has a range or a set of values for each of its `features`. `status` is ``"optimal"`` (no rule around the
    instance that forces the label covers more rows) or ``"sound"`` (timed out: the rule forces the label,
    and no such rule covers more than `bound` rows). `widest` says that, given the others, no range can be widened and
    no value added, even where that would cover no more rows.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> print(tp.Explainer(forest).most_general(patient, [patient, [1, 1, 1, 80], [1, 0, 0, 80]]))
    Yes, whenever
      blocked-arteries > 0.5
      chest-pain > 0.5
    Proved: whatever satisfies this gets the label Yes. It covers 2 of 3 rows (66.7%); no rule around this row that
    forces the label covers more, and no condition can be widened.
    Numbers are compared as the model reads them: as float32.
    """

    features: tuple[int, ...]
    feature_names: tuple[str, ...]
    label: Label
    rule: tuple[Condition, ...]
    coverage: Coverage
    bound: int
    instance: tuple[Value, ...]
    status: Literal["optimal", "sound"]
    widest: bool
    n_features: int
    stats: Statistics = field(compare=False)
    constraints: tuple[str, ...] = ()
    _scales: Scales | None = field(default=None, repr=False, compare=False)
    _origin: Origin | None = field(default=None, repr=False, compare=False)

    @property
    def title(self) -> str:
        """The label, and whether any condition is needed for it."""
        return f"{show_class(self.label)}, {'whenever' if self.rule else 'whatever the input'}"

    @property
    def lines(self) -> list[Line]:
        """The conditions, and what is proved about them."""
        claim = Line("proved" if self.decided else "open", self._claim())
        return [*lines_of("condition", self.rule), claim, *remark_lines(self.rule)]

    @property
    def decided(self) -> bool:
        """Whether no rule covers more rows, and no condition can be widened."""
        return self.status == "optimal" and (self.widest or not self.rule)

    def _claim(self) -> str:
        if not self.rule:
            return f"Proved: the forest gives every input this label.{under(self.constraints)}"
        proved = f"Proved: whatever satisfies this gets the label {show_class(self.label)}. It covers {self.coverage}; "
        proved += "no rule around this row that forces the label covers more"
        if self.status == "sound":
            proved += f" than {self.bound}"
        proved += f"{not_widened(self.rule)}." if self.widest else "."
        if self.status == "sound" or not self.widest:
            proved += " Timed out."
        return f"{proved}{near_ties(self.stats)}{under(self.constraints)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""
        return {"kind": "most general", **as_plain(self), "coverage": self.coverage.to_dict()}

    def to_frame(self) -> Any:
        """Return one line for each condition as a pandas frame, as `Abductive.to_frame` does."""
        return rule_frame(self.rule, list(map(str, self.rule)))

    def plot(self, data: Any = None, ax: Any = None) -> Any:
        """Draw each condition on the scale of its feature, over the distribution of the rows `data`; return the axes.

        See `treeproof.plots.explanation`.
        """
        from treeproof.show import plots

        return plots.explanation(self, data, ax)


def generalise(context: Context, instance: Instance, X: Any, ordering: list[int], timeout: float | None) -> MostGeneral:
    """Return the rule around the instance that covers the most rows, widened in the given order.

    The search begins with the widened explanation that half of the time gives, so that no deadline makes the rule cover
    less than that does, however long the rows take to read.
    """
    start, n_rows = time.perf_counter(), by_number(X)[0]
    deadline = context.deadline(timeout, n_rows)
    searching = context.deadline(None if timeout is None else _SEARCHING * timeout, n_rows)
    cache = context.cache(instance, Stays(instance.label), None)
    cache.deadline = sooner(deadline)
    why = abductive(cache, ordering)
    known = widen_values(cache, why.features, ordering)
    rows = locate_rows(context, X)
    known = replace(known, clauses=known.clauses | why.clauses)
    same = Counter(row.point for row in rows if row.label == instance.label)
    others = Counter(row.point for row in rows if row.label != instance.label)
    cache.deadline = searching
    if expired(deadline):
        found = Covering(known.domains, 0, sum(same.values()), known.clauses)
    else:
        found = most_general(cache, same, others, known)
    cache.deadline = deadline
    is_known = found.domains == known.domains
    as_known = is_known and (known.widest or expired(deadline))
    widened = known if as_known else widen(cache, found.domains, ordering)
    domains, space = widened.domains, context.space
    features = tuple(f for f, n in enumerate(context.cells.n_cells) if len(domains[f]) < n)
    covered = sum(n for point, n in same.items() if all(map(operator.contains, domains, point)))
    return MostGeneral(
        features=features,
        feature_names=context.names(features),
        label=context.labels[instance.label],
        rule=tuple(space.features[f].condition(domains[f], instance.row) for f in features),
        coverage=Coverage(covered, len(rows)),
        bound=found.bound,
        instance=context.present(instance.row),
        status="optimal" if covered == found.bound else "sound",
        widest=widened.widest,
        n_features=space.n_features,
        stats=context.statistics(cache, start),
        constraints=context.constraints(found.clauses | widened.clauses),
        _scales=Scales(tuple(space.features[f] for f in features), context.forest.columns, context.forest.floats),
        _origin=instance.origin,
    )
