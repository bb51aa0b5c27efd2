"""One question about every row of a table, in threads: the results, in order, as one."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, overload

from treeproof.errors import InputError, InternalError, TreeproofError
from treeproof.model.frames import pandas, plain_name, row_labels
from treeproof.model.labels import Named, plain_label
from treeproof.model.rows import as_rows, one_by_one
from treeproof.query.context import Context, Instance, check_timeout
from treeproof.query.oracle import Cancel
from treeproof.questions.abductive import Abductive
from treeproof.questions.contrastive import Contrastive
from treeproof.questions.parallel import run_parallel
from treeproof.questions.result import Line, Result, aligned, lines_of, things
from treeproof.space.wording import show_class

_log = logging.getLogger(__name__)

BatchKind = Literal["abductive", "contrastive"]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Batch(Result, Sequence[Any]):
    """The explanations of many rows, in the order of the rows: a sequence, equal to a list of the same results.

    `index` has the rows' labels, if they came in a pandas frame. In the place of a row that could not be explained is
    its error, if errors were to be returned.

    Examples
    --------
    >>> import treeproof as tp
    >>> forest, patient = tp.examples.heart_disease()
    >>> found = tp.Explainer(forest).batch([patient, [0, 1, 0, 80]])
    >>> print(found)
    2 explanations of 1 to 2 features
      Yes   1 row   2 features on average
      No    1 row   1 feature on average
    >>> found.to_frame()[["label", "size", "features"]]
      label  size                        features
    0   Yes     2  (blocked-arteries, chest-pain)
    1    No     1                   (chest-pain,)
    """

    results: tuple[Any, ...]
    kind: BatchKind = "abductive"
    index: Any = field(default=None)

    def __len__(self) -> int:
        return len(self.results)

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> Batch: ...
    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return Batch(self.results[place], self.kind, None if self.index is None else self.index[place])
        return self.results[place]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.results)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Batch | list | tuple):
            return NotImplemented
        return list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def labels(self) -> list[Any]:
        """The rows' labels, or else their numbers."""
        return list(range(len(self))) if self.index is None else [plain_name(label) for label in self.index]

    @property
    def explained(self) -> list[Any]:
        """The results that are explanations: no errors, and no rows for which there is no change."""
        return [r for r in self.results if isinstance(r, Abductive) or (isinstance(r, Contrastive) and r.changes)]

    @property
    def _grouped(self) -> bool:
        return any(result.groups for result in self.explained)

    @property
    def decided(self) -> bool:
        """Whether every row was explained, as far as was asked for."""
        return all(isinstance(result, Result) and result.decided for result in self.results)

    @property
    def title(self) -> str:
        """How many explanations there are, and of how many features."""
        what = "explanation" if self.kind == "abductive" else "change"
        found = self.explained
        sizes = [result.size for result in found]
        least, most = min(sizes, default=0), max(sizes, default=0)
        spread = f"{least} to {most}" if least < most else str(most)
        of = f" of {spread} {things(most, self._grouped)}" if found else ""
        return f"{len(found)} {what}{'' if len(found) == 1 else 's'}{of}"

    @property
    def lines(self) -> list[Line]:
        """How many rows have each label, and what is open."""
        sizes: dict[str, list[int]] = {}
        for result in self.explained:
            made = show_class(result.label) + (
                f" to {show_class(result.witness_label)}" if self.kind == "contrastive" else ""
            )
            sizes.setdefault(made, []).append(result.size)
        table = [
            (label, f"{len(each)} row{'' if len(each) == 1 else 's'}", _average(each, self._grouped))
            for label, each in sizes.items()
        ]
        statuses = Counter(getattr(result, "status", "error") for result in self.results)
        notes = [
            Line("open", f"{statuses['sound']} timed out; may not be minimal.") if statuses["sound"] else None,
            Line("proved", f"Proved for {n_firm} row{'' if n_firm == 1 else 's'}: no change does.")
            if (n_firm := statuses["impossible"])
            else None,
            Line("open", f"{statuses['unknown']} not decided: timed out.") if statuses["unknown"] else None,
            Line("open", f"{statuses['error']} not explained, because of errors.") if statuses["error"] else None,
        ]
        return [*lines_of("row", aligned(table, "<><") if table else ()), *(line for line in notes if line)]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.title}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the results as plain data, ready for JSON."""
        rows = [
            {**({"error": str(one)} if isinstance(one, Exception) else one.to_dict()), "row": _plain(label)}
            for label, one in zip(self.labels, self.results, strict=True)
        ]
        return {"kind": "batch", "of": self.kind, "rows": rows}

    def to_frame(self) -> Any:
        """Return one line for each row as a pandas frame, with the index of the rows' own frame.

        ``label`` is the model's own, ``name`` what it is called, if it has a name; ``size`` counts the ``features``;
        ``explanation`` has the conditions, or the change, in words. Changes also have the ``new_label`` and the
        ``distance``. ``error`` is there if a row has one. The rows that changes lead to are
        ``pandas.concat([change.to_frame() for change in batch])``.
        """
        pd = pandas()
        index = pd.RangeIndex(len(self)) if self.index is None else self.index
        why = self.kind == "abductive"

        def column(read: Callable[[Any], Any]) -> Any:
            return [None if isinstance(result, Exception) else read(result) for result in self.results]

        label = column(lambda result: result.label)
        parts = column(lambda result: result.conditions if why else result.changes)
        columns = {
            "label": _own(pd, label, index),
            **_names(pd, "name", label, index),
            "status": pd.Series(column(lambda result: result.status), index, dtype=object),
            "size": pd.Series(column(lambda result: result.size), index, dtype="Int64"),
            "features": pd.Series(column(lambda result: result.feature_names), index, dtype=object),
            "explanation": pd.Series(
                [None if part is None else (" and " if why else ", ").join(map(str, part)) for part in parts],
                index,
                dtype=object,
            ),
        }
        if not any(isinstance(result, Exception) for result in self.results):
            columns["size"] = columns["size"].astype("int64")
        if not why:
            new = column(lambda result: result.witness_label)
            columns |= {"new_label": _own(pd, new, index), **_names(pd, "new_name", new, index)}
            columns["distance"] = pd.Series(column(lambda result: result.distance), index, dtype="float64")
        if any(isinstance(result, Exception) for result in self.results):
            errors = [str(result) if isinstance(result, Exception) else None for result in self.results]
            columns["error"] = pd.Series(errors, index, dtype=object)
        return pd.concat(columns, axis=1) if len(self) else pd.DataFrame(columns, index=index)

    def plot(self, ax: Any = None, *, values: bool = False) -> Any:
        """Draw how many explanations contain each feature, and how long they are; return the axes.

        With `values`, draw for which of its values each feature is needed. See `treeproof.plots.overview` and
        `treeproof.plots.swarm`.
        """
        from treeproof.show import plots

        return plots.swarm(self, ax) if values else plots.overview(self, ax)


def _average(sizes: Sequence[int], grouped: bool) -> str:
    mean = f"{sum(sizes) / len(sizes):.3g}"
    return f"{mean} {things(1 if mean == '1' else 2, grouped)} on average"


def _plain(label: Any) -> Any:
    return label if isinstance(label, str | int | float) else str(label)


def _own(pd: Any, labels: Sequence[Any], index: Any) -> Any:
    """Return labels as the model has them."""
    found = [plain_label(label) for label in labels]
    same = len({type(label) for label in found}) == 1 and found and not isinstance(found[0], str)
    return pd.Series(found, index, dtype=None if same else object)


def _names(pd: Any, title: str, labels: Sequence[Any], index: Any) -> dict[str, Any]:
    """Return a column of names, if any label has one."""
    if not any(isinstance(label, Named) for label in labels):
        return {}
    return {title: pd.Series([None if label is None else str(label) for label in labels], index, dtype=object)}


def explain_rows(
    context: Context,
    X: Any,
    explain: Callable[[Instance, Cancel], Any],
    *,
    kind: BatchKind,
    n_jobs: int | None,
    progress: bool,
    timeout: float | None,
    on_error: Literal["raise", "return"],
) -> Batch:
    """Return what `explain` returns for every row, in the order of the rows, or the error in its place."""
    if on_error not in ("raise", "return"):
        raise InputError(f"The 'on_error' parameter must be 'raise' or 'return'. Got {on_error!r} instead.")
    rows, origins = _read(context, X, on_error), context.origins(X)
    check_timeout(timeout)
    cancel = Cancel()

    def one(i: int) -> Any:
        try:
            try:
                row = rows[i]
                if isinstance(row, InputError):
                    raise row
                return explain(context.locate(row, origins[i]), cancel)
            except InputError as error:
                error.row = i if origins[i].name is None else origins[i].name
                raise
        except TreeproofError as error:
            if on_error == "raise":
                raise
            return error

    start = time.perf_counter()
    results = run_parallel(
        one, range(len(rows)), n_jobs=n_jobs, progress="explaining" if progress else None, cancel=cancel.set
    )
    failed = sum(isinstance(result, TreeproofError) for result in results)
    _log.info("%d rows explained in %.3g s, %d failed", len(results), time.perf_counter() - start, failed)
    return Batch(tuple(results), kind, row_labels(X))


def _read(context: Context, X: Any, on_error: Literal["raise", "return"]) -> Sequence[Any]:
    """Return the rows as numbers; an error in the place of one that cannot be read, unless it is raised."""
    columns, floats = context.forest.columns, context.forest.floats
    try:
        return list(as_rows(X, columns, floats))
    except InputError:
        rows = one_by_one(X, columns, floats)
        failure = next(((i, row) for i, row in enumerate(rows) if isinstance(row, InputError)), None)
        if on_error == "raise":
            if failure is None:
                raise InternalError("A table was refused, but none of its rows.") from None
            i, error = failure
            labels = row_labels(X)
            error.row = i if labels is None else plain_name(labels[i])
            raise error from None
        return rows
