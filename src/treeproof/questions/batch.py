"""The abductive explanation of every row of a table, in threads."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from treeproof.errors import InputError, InternalError, TreeproofError
from treeproof.model.rows import as_rows, one_by_one
from treeproof.query.ball import Ball
from treeproof.query.context import Context, Order, check_timeout
from treeproof.query.oracle import Cancel
from treeproof.questions import abductive
from treeproof.questions.parallel import run_parallel

_log = logging.getLogger(__name__)


def explain_rows(
    context: Context,
    X: Any,
    *,
    ball: Ball | None,
    order: Order,
    prefer: Iterable[str | int],
    tries: int,
    inflate: bool,
    n_jobs: int | None,
    progress: bool,
    timeout: float | None,
    on_error: Literal["raise", "return"],
) -> list[Any]:
    """Return the explanation of every row, in the order of the rows, or the error in its place."""
    if on_error not in ("raise", "return"):
        raise InputError(f"The 'on_error' parameter must be 'raise' or 'return'. Got {on_error!r} instead.")
    rows = _read(context, X, on_error)
    plan = abductive.make_plan(
        context, order=order, prefer=prefer, tries=tries, minimum=False, cost=None, inflate=inflate
    )
    check_timeout(timeout)
    cancel = Cancel()

    def explain(i: int) -> Any:
        try:
            row = rows[i]
            if isinstance(row, InputError):
                raise row
            try:
                instance = context.locate(row, ball)
            except InputError as error:
                error.row = i
                raise
            return abductive.explain(context, instance, plan, timeout, cancel)
        except TreeproofError as error:
            if on_error == "raise":
                raise
            return error

    start = time.perf_counter()
    results = run_parallel(
        explain, range(len(rows)), n_jobs=n_jobs, progress="explaining" if progress else None, cancel=cancel.set
    )
    failed = sum(isinstance(result, TreeproofError) for result in results)
    _log.info("%d rows explained in %.3g s, %d failed", len(results), time.perf_counter() - start, failed)
    return results


def _read(context: Context, X: Any, on_error: Literal["raise", "return"]) -> Sequence[Any]:
    """Return the rows as numbers; an error in the place of one that cannot be read, unless it is raised."""
    columns, floats = context.forest.columns, context.forest.floats
    try:
        return list(as_rows(X, columns, floats))
    except InputError:
        rows = one_by_one(X, columns, floats)
        failure = next((row for row in rows if isinstance(row, InputError)), None)
        if on_error == "raise":
            raise failure or InternalError("A table was refused, but none of its rows.") from None
        return rows
