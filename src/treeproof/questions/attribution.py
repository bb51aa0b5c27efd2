"""How much each feature counts: the share of abductive explanations that contain it.

That is formal feature attribution (Yu, Farr, Ignatiev and Stuckey, *Anytime Approximate Formal Feature Attribution*,
2024): a score with a definition, exact once all explanations are enumerated.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from treeproof.model.columns import Label, Value
from treeproof.model.frames import Origin
from treeproof.query.context import Context, Instance
from treeproof.query.oracle import Stays
from treeproof.query.tally import Statistics
from treeproof.questions.enumerate import check_limit
from treeproof.questions.result import Line, Result, aligned, as_plain, lines_of, near_ties, under
from treeproof.search.marco import enumerate_minimal
from treeproof.search.minimal import Sufficient
from treeproof.space.wording import show_class


@dataclass(frozen=True, slots=True, repr=False)
class Attribution(Result):
    """How many abductive explanations contain each feature.

    `counts` has the number for each feature, of `n_abductive` explanations in all. `n_contrastive` is the number of
    contrastive ones found as well. `status` is ``"complete"`` (these are all, so the shares are exact), ``"limited"``
    (as many as asked for) or ``"incomplete"`` (timed out): then they are shares of those found first, and say
    nothing certain about the others, except that a count above 0 proves a feature relevant.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> print(tp.Explainer(forest).attribution([0, 1, 0, 80]))
    No, of whose 2 explanations
        50 %  1  blocked-arteries
        50 %  1  good-blood-circulation
        50 %  1  chest-pain
         0 %  0  weight
    Proved: these are all 2 abductive explanations; there are 2 contrastive ones.
    """

    label: Label
    feature_names: tuple[str, ...]
    counts: tuple[int, ...]
    n_abductive: int
    n_contrastive: int
    instance: tuple[Value, ...]
    status: Literal["complete", "limited", "incomplete"]
    stats: Statistics = field(compare=False)
    constraints: tuple[str, ...] = ()
    _origin: Origin | None = field(default=None, repr=False, compare=False)

    @property
    def complete(self) -> bool:
        """Whether all explanations were found, so that the shares are exact."""
        return self.status == "complete"

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """For each feature the share of the abductive explanations found that contain it, exactly."""
        return tuple(Fraction(count, max(self.n_abductive, 1)) for count in self.counts)

    @property
    def decided(self) -> bool:
        """Whether all explanations were found, or as many as asked for."""
        return self.status in ("complete", "limited")

    @property
    def title(self) -> str:
        """The label, and how many explanations the shares refer to."""
        first = "" if self.complete else "first "
        return f"{show_class(self.label)}, of whose {first}{self.n_abductive} explanation{'s'[: self.n_abductive != 1]}"

    @property
    def lines(self) -> list[Line]:
        """The share and the count of each feature, and whether these are exact."""
        width = len(str(self.n_abductive))
        table = [(f"{percent(share):>4} %", f"{count:>{width}}", name) for name, count, share in self.ranked]
        claim = Line("proved" if self.decided else "open", self._claim())
        return [*lines_of("row", aligned(table, ">><", gap=2)), claim]

    @property
    def ranked(self) -> list[tuple[str, int, Fraction]]:
        """Name, count and share of each feature, sorted by count, largest first."""
        return sorted(zip(self.feature_names, self.counts, self.shares, strict=True), key=lambda entry: -entry[1])

    def _claim(self) -> str:
        if self.complete:
            n, m = self.n_abductive, self.n_contrastive
            found = "this is the only abductive explanation" if n == 1 else f"these are all {n} abductive explanations"
            ones = f"are {m} contrastive ones" if m > 1 else f"is {m or 'no'} contrastive one"
            return f"Proved: {found}; there {ones}.{under(self.constraints)}{near_ties(self.stats)}"
        why = "as many as asked for" if self.status == "limited" else "timed out"
        return (
            f"Each of the {self.n_abductive} is proved; there may be more: {why}. "
            f"Shares are of these.{under(self.constraints)}{near_ties(self.stats)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON; shares as floats beside the exact counts."""
        return {"kind": "attribution", **as_plain(self), "shares": [float(share) for share in self.shares]}

    def plot(self, ax: Any = None) -> Any:
        """Draw the shares as bars; return the axes. See `treeproof.plots.attribution`."""
        from treeproof.show import plots

        return plots.attribution(self, ax)


def attribute(context: Context, instance: Instance, limit: int | None, timeout: float | None) -> Attribution:
    """Return how many abductive explanations contain each feature, of all or of the first `limit`."""
    check_limit(limit)
    start = time.perf_counter()
    cache = context.cache(instance, Stays(instance.label), timeout)
    counts: Counter[int] = Counter()
    n_abductive = n_contrastive = 0
    status: Literal["complete", "limited", "incomplete"] = "limited"
    explanations = enumerate_minimal(cache, context.order("importance", ()), "abductive")
    try:
        while n_abductive != limit:
            found = next(explanations)
            if isinstance(found, Sufficient):
                n_abductive += 1
                counts.update(found.features)
            else:
                n_contrastive += 1
    except StopIteration:
        status = "complete"
    except TimeoutError:
        status = "incomplete"
    return Attribution(
        label=context.labels[instance.label],
        feature_names=context.unit_names(sorted(cache.features)),
        counts=tuple(counts[f] for f in sorted(cache.features)),
        n_abductive=n_abductive,
        n_contrastive=n_contrastive,
        instance=context.present(instance.row),
        status=status,
        stats=context.statistics(cache, start),
        constraints=context.constraints(range(len(context.cells.clauses))),
        _origin=instance.origin,
    )


def percent(share: Fraction) -> str:
    """Return a share as a percentage with three digits."""
    return f"{float(100 * share):.3g}"
