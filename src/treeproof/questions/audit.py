"""Whether predictions depend on protected features, row by row.

With all other features kept, a change of the protected ones either can give another prediction, or cannot. It cannot
iff the other features alone force the prediction, which is so iff some abductive explanation does without protected
features: every such explanation is a part of the other features, and deletion leaves one of them. A protected feature
is in every explanation iff its change alone can give another prediction.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from treeproof.errors import InputError, UnsupportedQueryError, is_list
from treeproof.model.columns import Label, Value
from treeproof.model.frames import Origin, pandas
from treeproof.proof.certificate import Certificate, certify_audit
from treeproof.query.context import Context, Instance, check_timeout, deadline_after
from treeproof.query.oracle import Cancel, Refuted, Stays, Unknown
from treeproof.query.tally import Statistics
from treeproof.questions.abductive import Abductive, make_abductive, widening
from treeproof.questions.changes import Changed, changes_between
from treeproof.questions.coverage import locate_rows
from treeproof.questions.parallel import bar, run_parallel
from treeproof.questions.result import Line, Result, Role, WitnessResult, aligned, as_plain, certified, lines_of
from treeproof.search.minimal import abductive, contrastive
from treeproof.space.domains import Cells
from treeproof.space.wording import show_class

_SHOWN = 10


@dataclass(frozen=True, slots=True, repr=False)
class AuditedRow(WitnessResult):
    """What was proved about one row; `row` is its label in the frame of rows, or else its number.

    `flips` tells whether a change of protected features alone can give another prediction: True (with a witness, in
    which no change can be left out), False (then `why` is an explanation without protected features) or None (timed
    out). `necessary` are the protected features that are in every explanation, `undecided` those for which that is
    not known. `status` is ``"proved"`` (everything was decided), ``"sound"`` (timed out: what is said is
    proved, but fewer features may suffice, or more may be necessary) or ``"unknown"`` (not even whether it flips).

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> row = tp.Explainer(forest).audit([patient], protected=["chest-pain"]).rows[0]
    >>> row.flips, row.witness_label, row.necessary
    (True, 'No', ('chest-pain',))
    """

    row: Any = field()  # not the default of the results that have no number
    label: Label
    flips: bool | None
    witness: tuple[Value, ...] | None
    witness_label: Label | None
    changes: tuple[Changed, ...]
    necessary: tuple[str, ...]
    undecided: tuple[str, ...]
    why: Abductive | None
    status: Literal["proved", "sound", "unknown"]
    stats: Statistics = field(compare=False)
    _origin: Origin | None = field(default=None, repr=False, compare=False)
    _shown: tuple[Instance, Cells | None] | None = field(default=None, repr=False, compare=False)

    @property
    def shown_input(self) -> tuple[Value, ...] | None:
        """The witness."""
        return self.witness

    @property
    def title(self) -> str:
        """The row, its label, and what was found."""
        return f"row {self.row}: {show_class(self.label)}, {self.finding()}"

    @property
    def title_role(self) -> Role:
        """Whether anything is known."""
        return "open" if self.flips is None else "title"

    @property
    def decided(self) -> bool:
        """Whether it is known if the row flips, and which features are necessary."""
        return self.status == "proved"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""
        return {"kind": "audited row", **as_plain(self)}

    def finding(self) -> str:
        """Return what was found, in words."""
        if self.flips is None:
            return "not decided: timed out"
        if self.flips:
            return f"but {show_class(self.witness_label)} if {', '.join(str(change) for change in self.changes)}"
        assert self.why is not None
        return f"forced by {', '.join(self.why.feature_names)}" if self.why.features else "whatever the input"


@dataclass(frozen=True, slots=True, repr=False)
class Audit(Result):
    """How many predictions depend on protected features, and which.

    `n_flips` counts the rows in which a change of protected features alone gives another prediction, `n_free` those
    in which it cannot: these have an explanation without them. `n_unknown` counts the rest, not decided in time. So
    the share of rows that flip is between ``n_flips / n_rows`` and ``(n_flips + n_unknown) / n_rows``.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> explainer = tp.Explainer(forest, kinds=dict.fromkeys(forest.column_names[:3], "binary"))
    >>> print(explainer.audit([patient, [0, 1, 0, 60]], protected=["chest-pain", "weight"]))
    2 rows; protected: chest-pain, weight
    another prediction if only these change   1   50.0 %
    forced without them                       1   50.0 %
    in every explanation: chest-pain          1   50.0 %
    in every explanation: weight              0    0.0 %
    row 0: Yes, but No if chest-pain: 1 -> 0
    """

    indent = ""

    protected: tuple[str, ...]
    rows: tuple[AuditedRow, ...]
    _certify: Callable[[Sequence[AuditedRow], float | None], Any] | None = field(
        default=None, repr=False, compare=False
    )

    def certificate(self, timeout: float | None = None) -> Any:
        """Return a `Certificate` of which rows flip, and that no other does; about the rows that are decided.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, patient = tp.examples.heart_disease()
        >>> audit = tp.Explainer(forest).audit([patient], protected=["weight"])
        >>> audit.certificate().check().text
        'of 1 row, a change of weight alone gives another label in 0; in 1 none does'
        """
        return certified(self._certify and partial(self._certify, self.rows), timeout)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def n_flips(self) -> int:
        """Number of rows in which a change of protected features alone gives another prediction."""
        return sum(row.flips is True for row in self.rows)

    @property
    def n_free(self) -> int:
        """Number of rows in which no such change does; they have an explanation without protected features."""
        return sum(row.flips is False for row in self.rows)

    @property
    def n_unknown(self) -> int:
        """Number of rows that were not decided in time."""
        return sum(row.flips is None for row in self.rows)

    @property
    def necessary(self) -> dict[str, int]:
        """For each protected feature, the number of rows in which it is known to be in every explanation."""
        return {name: sum(name in row.necessary for row in self.rows) for name in self.protected}

    @property
    def by_label(self) -> dict[Label, dict[str, int]]:
        """For each predicted label, the number of rows, and how many of them flip, are free, or are unknown."""
        parts: dict[Label, list[AuditedRow]] = {}
        for row in self.rows:
            parts.setdefault(row.label, []).append(row)
        return {
            label: {"rows": part.n_rows, "flips": part.n_flips, "free": part.n_free, "unknown": part.n_unknown}
            for label, part in ((label, Audit(self.protected, tuple(rows))) for label, rows in parts.items())
        }

    @property
    def counts(self) -> list[tuple[str, str, str]]:
        """How many rows there are of each kind, and their share: in words, for a table."""
        counts = [
            ("another prediction if only these change", self.n_flips),
            ("forced without them", self.n_free),
            *([("not decided in time", self.n_unknown)] if self.n_unknown else []),
            *((f"in every explanation: {name}", count) for name, count in self.necessary.items()),
        ]
        return [(text, str(n), f"{100 * n / self.n_rows:.1f} %" if self.n_rows else "-") for text, n in counts]

    def summary(self) -> str:
        """Return counts and shares as a small table."""
        return "\n".join([self.title, *aligned(self.counts, "<>>")])

    def table(self) -> str:
        """Return one record per row: its label, whether it flips, what is necessary, and what was found."""
        said = {True: "yes", False: "no", None: "unknown"}
        lines = [
            (str(row.row), show_class(row.label), said[row.flips], ", ".join(row.necessary) or "-", row.finding())
            for row in self.rows
        ]
        return "\n".join(aligned([("row", "label", "flips", "necessary", "finding"), *lines], "><<<<"))

    @property
    def title(self) -> str:
        """How many rows there are, and what is protected."""
        return f"{self.n_rows} row{'s' * (self.n_rows != 1)}; protected: {', '.join(self.protected)}"

    @property
    def lines(self) -> list[Line]:
        """Counts and shares, and the first rows that flip."""
        flips = [row.title for row in self.rows if row.flips]
        more = [Line("more", f"... and {len(flips) - _SHOWN} more", "see .table()")] if len(flips) > _SHOWN else []
        return [*lines_of("row", [*aligned(self.counts, "<>>"), *flips[:_SHOWN]]), *more]

    @property
    def decided(self) -> bool:
        """Whether everything about every row is known."""
        return all(row.decided for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""
        counts = {"n_rows": self.n_rows, "n_flips": self.n_flips, "n_free": self.n_free, "n_unknown": self.n_unknown}
        labels = [{"label": label, **counts_} for label, counts_ in self.by_label.items()]
        return {"kind": "audit", **counts, "necessary": self.necessary, "by_label": labels, **as_plain(self)}

    def to_frame(self) -> Any:
        """Return one line per row as a pandas DataFrame."""
        pd = pandas()
        return pd.DataFrame(
            {
                "label": [row.label for row in self.rows],
                "flips": pd.array([row.flips for row in self.rows], dtype="boolean"),
                "witness_label": pd.Series([row.witness_label for row in self.rows], dtype=object),
                "changes": [", ".join(str(change) for change in row.changes) for row in self.rows],
                "necessary": [row.necessary for row in self.rows],
                "explanation": pd.Series([row.why and row.why.feature_names for row in self.rows], dtype=object),
                "status": [row.status for row in self.rows],
            },
            index=pd.Index([row.row for row in self.rows], name="row"),
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw how many rows of each label flip; return the axes. See `treeproof.plots.audit`."""
        from treeproof.show import plots

        return plots.audit(self, ax)


def audit(
    context: Context,
    X: Any,
    protected: Iterable[str | int],
    n_jobs: int | None,
    progress: bool,
    timeout: float | None,
) -> Audit:
    """Audit every row, in threads, in the order of the rows."""
    protected = list(protected) if is_list(protected) else protected
    context.features(protected)
    features = list(dict.fromkeys(context.unit(feature) for feature in protected))
    if not features:
        raise InputError("At least one protected feature must be given. Got none.")
    check_timeout(timeout)
    instances = locate_rows(context, X)  # a row outside the space is named before anything runs
    cancel = Cancel()
    rows = run_parallel(
        lambda task: _audit_row(context, *task, features, timeout, cancel),
        list(enumerate(instances)),
        n_jobs=n_jobs,
        progress=bar(progress, "auditing"),
        cancel=cancel.set,
    )
    return Audit(context.unit_names(features), tuple(rows), partial(_certify, context, frozenset(features)))


def _certify(
    context: Context, protected: frozenset[int], rows: Sequence[AuditedRow], timeout: float | None
) -> Certificate:
    shown = [row._shown for row in rows if row.flips is not None and row._shown is not None]
    if not shown:
        raise UnsupportedQueryError("A certificate of an audit needs rows that are decided. There are none.")
    return certify_audit(context, context.units.features(protected), shown, deadline=deadline_after(timeout))


def _audit_row(
    context: Context, i: int, instance: Instance, protected: list[int], timeout: float | None, cancel: Cancel
) -> AuditedRow:
    start = time.perf_counter()
    cache = context.cache(instance, Stays(instance.label), timeout, cancel)
    everything, others = cache.features, cache.features - set(protected)
    answer = cache.ask(others)
    why, change = None, None
    necessary: list[int] = []
    undecided: list[int] = list(protected) if isinstance(answer, Unknown) else []
    witness: tuple[tuple[Value, ...] | None, Label | None] = (None, None)
    changes: tuple[Changed, ...] = ()
    if isinstance(answer, Refuted):
        change = contrastive(cache, protected, answer, start=frozenset(protected))
        for f in protected:
            alone = cache.ask(everything - {f})
            if isinstance(alone, Unknown):
                undecided.append(f)
            elif isinstance(alone, Refuted):
                necessary.append(f)
        witness = context.witness(instance.row, change.witness)
        after = context.space.row(change.witness.witness, near=instance.row)
        changes = tuple(changes_between(context.space, instance.row, after).values())
    elif not isinstance(answer, Unknown):
        order = context.order("importance", ())
        found = abductive(cache, order, start=others)
        widen = widening(context, instance, None, found, order)
        why = make_abductive(context, instance, None, found, context.statistics(cache, start), widen=widen)
    done = not undecided and (change is None or change.status == "minimal") and (why is None or why.status == "minimal")
    return AuditedRow(
        row=i if instance.origin is None or instance.origin.name is None else instance.origin.name,
        label=context.labels[instance.label],
        flips=None if isinstance(answer, Unknown) else isinstance(answer, Refuted),
        witness=witness[0],
        witness_label=witness[1],
        changes=changes,
        necessary=context.unit_names(necessary),
        undecided=context.unit_names(undecided),
        why=why,
        status="unknown" if isinstance(answer, Unknown) else "proved" if done else "sound",
        stats=context.statistics(cache, start),
        _origin=instance.origin,
        _shown=(instance, None if change is None else change.witness.witness),
    )
