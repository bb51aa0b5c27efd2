"""Two versions of a model compared: which rows got another label, and which got another reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from treeproof.errors import InputError, TreeproofError
from treeproof.model.frames import row_label
from treeproof.model.rows import by_number
from treeproof.query.context import check_timeout
from treeproof.questions.abductive import Abductive
from treeproof.questions.parallel import bar, run_parallel
from treeproof.questions.result import Line, Result, aligned, lines_of
from treeproof.space.wording import show_class

Difference = Literal["label", "reason", "same", "unknown"]

SHOWN = 20


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One row under both versions; `row` is its label in the frame of rows, or else its number.

    `difference` is ``"label"`` (another prediction), ``"reason"`` (the same prediction, but the features of the old
    explanation are not a minimal one in the new version), ``"same"``, or ``"unknown"`` (the same prediction, and
    timed out before its reasons were decided).

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> tree = tp.split("chest-pain", 0.5, "No", "Yes")
    >>> simple = tp.build_forest([tree], columns=forest.column_names, classes=["No", "Yes"])
    >>> row = tp.compare(forest, simple, [patient]).rows[0]
    >>> row.difference, row.new.feature_names, row.still_forced
    ('reason', ('chest-pain',), True)
    """

    row: Any
    difference: Difference
    old: Abductive
    new: Abductive

    @property
    def still_forced(self) -> bool | None:
        """Whether the old reason forces the same prediction in the new version too; None if that is not known."""
        if self.difference == "label":
            return False
        if set(self.new.feature_names) <= set(self.old.feature_names):
            return True
        return None if self.difference == "unknown" else False


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Result):
    """Two versions of a model over the same rows; it prints as a short table.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> print(tp.compare(forest, forest, [patient, [0, 1, 0, 80]]))
    2 rows: 0 with another label, 0 with another reason, 2 as before.
    """

    rows: tuple[ComparedRow, ...]

    @property
    def relabelled(self) -> tuple[ComparedRow, ...]:
        """The rows with another label."""
        return self._with("label")

    @property
    def reason_changed(self) -> tuple[ComparedRow, ...]:
        """The rows with the same label for another reason."""
        return self._with("reason")

    @property
    def unknown(self) -> tuple[ComparedRow, ...]:
        """The rows with the same label whose reasons were not decided in time."""
        return self._with("unknown")

    def _with(self, difference: Difference) -> tuple[ComparedRow, ...]:
        return tuple(row for row in self.rows if row.difference == difference)

    @property
    def decided(self) -> bool:
        """Whether both explanations of every row are fully decided."""
        return all(row.old.decided and row.new.decided for row in self.rows)

    @property
    def title(self) -> str:
        """How many rows have another label, another reason, or the same."""
        labels, reasons, same = len(self.relabelled), len(self.reason_changed), len(self._with("same"))
        late = f", {len(self.unknown)} not decided in time" if self.unknown else ""
        total = "1 row" if len(self.rows) == 1 else f"{len(self.rows)} rows"
        return f"{total}: {labels} with another label, {reasons} with another reason{late}, {same} as before."

    @property
    def changed(self) -> tuple[ComparedRow, ...]:
        """The rows that are not known to be as before: first those with another label, then with another reason."""
        return (*self.relabelled, *self.reason_changed, *self.unknown)

    @property
    def lines(self) -> list[Line]:
        """The first rows that are not known to be as before."""
        changed = self.changed
        if not changed:
            return []
        table = [("row", "differs in", "before", "now"), *map(_cells, changed[:SHOWN])]
        more = [Line("more", f"... and {len(changed) - SHOWN} more")] if len(changed) > SHOWN else []
        return [*lines_of("row", aligned(table, "<<<<", gap=2)), *more]

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""
        return {
            "kind": "comparison",
            "n_rows": len(self.rows),
            "relabelled": [row.row for row in self.relabelled],
            "reason_changed": [row.row for row in self.reason_changed],
            "unknown": [row.row for row in self.unknown],
            "rows": [
                {
                    "row": row.row,
                    "difference": row.difference,
                    "still_forced": row.still_forced,
                    "old": row.old.to_dict(),
                    "new": row.new.to_dict(),
                }
                for row in self.rows
            ],
        }


def compare(
    old: Any,
    new: Any,
    X: Any,
    *,
    n_jobs: int | None = None,
    progress: bool = False,
    timeout: float | None = None,
) -> Comparison:
    """Return, for every row, whether the new version of a model gives another label, or the same for another reason.

    A prediction has many minimal explanations, and two versions may merely list different ones. So the new version is
    asked for the one that keeps the features of the old: a reason differs only if it is proved that these features are
    no longer a minimal explanation, because they do not force the label, or because fewer of them do.

    Parameters
    ----------
    old, new
        Models, as `Explainer` takes them, or explainers with their own settings. Features are compared by name.
    X
        Rows that both versions accept. If their columns differ, pass a frame.
    n_jobs, progress
        As in `Explainer.batch`.
    timeout
        Seconds for each explanation.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> tree = tp.split("chest-pain", 0.5, "No", "Yes")
    >>> simple = tp.build_forest([tree], columns=forest.column_names, classes=["No", "Yes"])
    >>> print(tp.compare(forest, simple, [patient, [0, 1, 1, 80]]))
    2 rows: 1 with another label, 1 with another reason, 0 as before.
      row  differs in  before                                           now
      1    label       No: blocked-arteries and good-blood-circulation  Yes: chest-pain
      0    reason      Yes: blocked-arteries and chest-pain             Yes: chest-pain
    """
    check_timeout(timeout)
    from treeproof.explainer import Explainer  # it answers by all questions, and so comes after them

    before, now = (model if isinstance(model, Explainer) else Explainer(model) for model in (old, new))
    names = set(now.space.names)
    if set(before.groups) != set(now.groups):
        raise InputError(
            "Both explainers must have the same groups, or their explanations cannot be compared. Got "
            f"{', '.join(map(str, before.groups)) or 'none'}, and {', '.join(map(str, now.groups)) or 'none'}."
        )
    names |= {group.name for group in now.groups}

    def one(task: tuple[int, Any]) -> ComparedRow:
        i, x = task
        name = row_label(x)
        row = i if name is None else name
        try:
            first = before.abductive(x, timeout=timeout)
            kept = [name for name in first.feature_names if name in names]
            second = now.abductive(x, prefer=kept, timeout=timeout)
        except InputError as error:
            error.row = row
            raise
        except TreeproofError as error:
            error.add_note(f"in row {row}")
            raise
        return ComparedRow(row, _difference(first, second), first, second)

    return Comparison(
        tuple(run_parallel(one, list(enumerate(_rows(X))), n_jobs=n_jobs, progress=bar(progress, "comparing")))
    )


def _difference(old: Abductive, new: Abductive) -> Difference:
    if old.label != new.label:
        return "label"
    if "sound" in (old.status, new.status):
        return "unknown"
    return "same" if set(old.feature_names) == set(new.feature_names) else "reason"


def _cells(row: ComparedRow) -> tuple[str, str, str, str]:
    return str(row.row), row.difference, _brief(row.old), _brief(row.new)


def _brief(why: Abductive) -> str:
    return f"{show_class(why.label)}: {' and '.join(why.feature_names) or 'whatever the input'}"


def _rows(X: Any) -> Iterator[Any]:
    """Yield the rows as both versions can read them: with the names of their columns, if they have any."""
    n_rows, part = by_number(X)
    return map(part, range(n_rows))
