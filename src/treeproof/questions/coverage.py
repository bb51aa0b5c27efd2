"""How many rows satisfy a rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from treeproof.errors import InputError, is_list
from treeproof.model.rows import as_rows
from treeproof.query.context import Context, Instance
from treeproof.questions.result import Result
from treeproof.space.domains import Cells
from treeproof.space.region import Region, read_conditions


@dataclass(frozen=True, slots=True, repr=False)
class Coverage(Result):
    """How many of `total` rows satisfy a rule, as the model reads them.

    Numbers are compared as in a constraint: those of the rule are rounded as the model rounds the row's.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> coverage = tp.Explainer(forest).coverage("weight > 75", [patient, [0, 1, 0, 80]])
    >>> print(coverage)
    1 of 2 rows (50.0%)
    >>> coverage.covered, coverage.share
    (1, 0.5)
    """

    covered: int
    total: int

    @property
    def share(self) -> float:
        """The share of the rows that satisfy the rule; 0 if there are no rows."""
        return self.covered / self.total if self.total else 0.0

    @property
    def title(self) -> str:
        """How many rows satisfy the rule."""
        return f"{self.covered} of {self.total} rows ({self.share:.1%})"

    @property
    def decided(self) -> bool:
        """Always True: counting needs no deadline."""
        return True

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""
        return {"kind": "coverage", "covered": self.covered, "total": self.total, "share": self.share}


def count_covered(context: Context, rule: Any, X: Any) -> Coverage:
    """Count the rows that satisfy a rule: a result that has one, or conditions, as text or as `Condition`."""
    conditions = getattr(rule, "rule", rule)
    if is_list(conditions):
        conditions = list(conditions)
    region = Region(context.space, read_conditions(context.space, conditions, None))
    instances = locate_rows(context, X)
    return Coverage(sum(region.counts(one.row, one.point) for one in instances), len(instances))


def locate_rows(context: Context, X: Any) -> list[Instance]:
    """Return the cells of the user's rows; InputError if one is outside the space."""
    found = []
    known: dict[Cells, Instance] = {}  # many data sets have rows that no model distinguishes
    origins = context.origins(X)
    rows = as_rows(X, context.forest.columns, context.forest.floats)
    points = iter(context.space.cells_of(rows))
    for i, row in enumerate(rows):
        try:
            point = next(points)
            one = known.get(point)  # looked up once: a point of many features takes a while to hash
            if one is None:
                one = known[point] = context.labelled(row, point)
        except InputError as error:
            error.row = i if origins[i].name is None else origins[i].name
            raise
        found.append(Instance(row, one.point, one.label, origin=origins[i]))
    return found
