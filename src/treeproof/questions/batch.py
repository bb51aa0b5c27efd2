"""One question about every row of a table, by many workers: the results, in order, as one."""

from __future__ import annotations

import atexit
import hashlib
import logging
import pickle
import threading
import time
from bisect import bisect_right
from collections import Counter, OrderedDict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, chain, pairwise
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from treeproof.errors import InputError, InternalError, TreeproofError
from treeproof.model.columns import Label
from treeproof.model.frames import Origin, from_arrow, pandas, plain_name, row_labels
from treeproof.model.labels import Named, plain_label
from treeproof.model.rows import as_rows, one_by_one
from treeproof.query.context import Context
from treeproof.query.oracle import Cancel
from treeproof.questions import together
from treeproof.questions.abductive import Abductive, Why
from treeproof.questions.arrow import as_table, pyarrow, schema
from treeproof.questions.contrastive import Contrastive
from treeproof.questions.memory import MOST, Memory
from treeproof.questions.parallel import Speed, bar, run_chunks, shares_memory, track
from treeproof.questions.result import Line, Result, aligned, lines_of, things
from treeproof.questions.together import Found
from treeproof.space.wording import show_class

_log = logging.getLogger(__name__)

_MOST_CELLS = 5_000_000  # that a memory holds

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

    results: Sequence[Any]
    kind: BatchKind = "abductive"
    index: Any = field(default=None)
    _scores: tuple[float | None, ...] = field(default=(), repr=False)
    _labels: tuple[Label, ...] = field(default=(), repr=False)

    def __len__(self) -> int:
        return len(self.results)

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> Batch: ...
    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            index = None if self.index is None else self.index[place]
            return replace(self, results=self.results[place], index=index, _scores=self._scores[place])
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

    def to_arrow(self) -> Any:
        """Return one line for each row as a table of Arrow, whose columns are the same for all rows of a model.

        ``row`` is the row's label, or else its number; ``docs/scale.md`` has the other columns. It can be written as
        Parquet, and read by pandas, Polars, DuckDB and Spark.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, patient = tp.examples.heart_disease()
        >>> found = tp.Explainer(forest).batch([patient, [0, 1, 0, 80]]).to_arrow()
        >>> found.select(["row", "label", "score", "features"]).to_pylist()[1]
        {'row': 1, 'label': 'No', 'score': 3.0, 'features': ['chest-pain']}
        """
        scores = self._scores or (None,) * len(self)
        labels = self._labels or tuple({result.label: None for result in self.explained})
        parts = self.results.parts if isinstance(self.results, Chained) else [self.results]
        ends = [0, *accumulate(map(len, parts))]
        pa = pyarrow()
        tables = [as_table(part, scores[a:b], labels) for part, (a, b) in zip(parts, pairwise(ends), strict=True)]
        table = pa.concat_tables([schema(labels).empty_table(), *tables]).combine_chunks()  # not all tools take several
        rows = self.labels
        whole = all(type(row) is int for row in rows)
        named = pa.array(rows if whole else map(str, rows), pa.int64() if whole else pa.string())
        return table.add_column(0, "row", named)

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


class Question:
    """One question, about any number of rows: all that a worker needs, in this process or, as a pickle, in another.

    Rows that cannot be told apart share a search, see `Memory`.
    """

    def __init__(self, explainer: Any, kind: BatchKind, timeout: float | None, options: dict[str, Any]) -> None:
        self._asked = explainer, kind, timeout, options
        self.kind = kind
        self.context: Context = explainer._context
        self._explain: Callable[..., Any] = explainer._asked(kind, timeout, options)
        self.speed = Speed()
        # An entry has the cells of a row, and a flag for each.
        self._memory = Memory[Any](min(MOST, _MOST_CELLS // self.context.space.n_features + 1))

    def __reduce__(self) -> tuple[Any, ...]:
        return Question, self._asked

    @cached_property
    def packed(self) -> tuple[str, npt.NDArray[np.uint8]]:
        """The question as bytes, and their fingerprint. An array: joblib's backends hand it to each worker once."""
        content = pickle.dumps(self, protocol=pickle.HIGHEST_PROTOCOL)
        return hashlib.blake2b(content, digest_size=16).hexdigest(), np.frombuffer(content, dtype=np.uint8)

    def own(self, results: Sequence[Any]) -> Sequence[Any]:
        """Return results that came from another process, from which explanations can be made here."""
        if isinstance(results, Found) and isinstance(self._explain, Why):
            results.why = self._explain
        return results

    def answer(self, first: int, rows: Sequence[Any], origins: Sequence[Origin], cancel: Cancel, raises: bool) -> Chunk:
        """Return what is found for each row, or its error in its place, and the rows' scores.

        `first` is the number of the first row. Rows are asked about together where the question and the oracle allow
        it, which gives the same, and otherwise one by one.
        """
        why = self._explain
        oracle = why.oracle_of_many if isinstance(why, Why) else None
        if oracle is None or not isinstance(why, Why):
            return self._answer_one_by_one(first, rows, origins, cancel, raises)
        found = together.find(why, oracle, rows, origins, cancel, self._memory)
        for i, error in sorted(found.errors.items()):
            if isinstance(error, InputError):
                error.row = first + i if origins[i].name is None else origins[i].name
            if raises:
                raise error
        return found, found.scores

    def _answer_one_by_one(
        self, first: int, rows: Sequence[Any], origins: Sequence[Origin], cancel: Cancel, raises: bool
    ) -> Chunk:
        results: list[Any] = []
        context, explain, memory = self.context, self._explain, self._memory
        for i, (row, origin) in enumerate(zip(rows, origins, strict=True), start=first):
            try:
                if isinstance(row, InputError):
                    raise row
                results.append(explain(context.locate(row, origin), cancel, memory))
            except TreeproofError as error:
                if isinstance(error, InputError):
                    error.row = i if origin.name is None else origin.name
                if raises:
                    raise
                results.append(error)
        return results, self._scores(rows, results)

    def _scores(self, rows: Sequence[Any], results: Sequence[Any]) -> list[float | None]:
        """Return the sum, in the model's own arithmetic, of the label of each row that was explained."""
        places = [i for i, result in enumerate(results) if isinstance(result, Result)]
        scores: list[float | None] = [None] * len(results)
        if places:
            forest, number = self.context.forest, {id(label): k for k, label in enumerate(self.context.labels)}
            leaves = forest.route(np.array([rows[i] for i in places]))
            own = np.array([number[id(results[i].label)] for i in places])
            if forest.vote == "majority":
                found = np.sum(forest.leaf_class[leaves] == own[:, None], axis=1).astype(np.float64)
            else:
                sums = forest.add(leaves)
                found = sums[:, 0] if sums.shape[1] == 1 else sums[np.arange(len(places)), own]
            for i, score in zip(places, found.tolist(), strict=True):
                scores[i] = score
        return scores


Chunk = tuple[Sequence[Any], list[float | None]]
Finish = Callable[[Question, Sequence[Any], list[float | None]], Any]


def _as_it_is(question: Question, results: Sequence[Any], scores: list[float | None]) -> Chunk:
    return results, scores


class Chained(Sequence[Any]):
    """The items of several sequences, one after the other; they are made, if they are, when they are looked at."""

    def __init__(self, parts: Iterable[Sequence[Any]]) -> None:
        self.parts = [part for part in parts if len(part)]
        self._ends = list(accumulate(map(len, self.parts)))

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (list(self),)

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Any, ...]: ...
    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return tuple(self[i] for i in range(len(self))[place])
        i = range(len(self))[place]
        k = bisect_right(self._ends, i)
        return self.parts[k][i - self._ends[k] + len(self.parts[k])]

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self.parts)


_questions: OrderedDict[str, Question] = OrderedDict()  # of a worker process, those asked last
_MOST_QUESTIONS = 2
_reading = threading.Lock()  # a worker of Dask has several threads
atexit.register(_questions.clear)  # while the core can still free its memory


def _answer_elsewhere(
    name: str, content: Any, first: int, rows: Any, origins: Sequence[Origin], raises: bool, finish: Finish
) -> Any:
    question = _unpacked(name, content)
    return finish(question, *question.answer(first, rows, origins, Cancel(), raises))


def _unpacked(name: str, content: Any) -> Question:
    """Return a question that came as bytes, which are read once in each process."""
    with _reading:
        question = _questions.pop(name, None) or pickle.loads(content)
        _questions[name] = question
        if len(_questions) > _MOST_QUESTIONS:
            _questions.popitem(last=False)
    return question


def explain(
    question: Question, X: Any, *, n_jobs: int | None, progress: bool, on_error: Literal["raise", "return"]
) -> Any:
    """Return the answers for the rows of a table; of an iterator of tables, one after the other; of Dask, as Dask."""
    if isinstance(X, Iterator):
        return (explain_rows(question, part, n_jobs=n_jobs, progress=progress, on_error=on_error) for part in X)
    if hasattr(X, "map_partitions") and hasattr(X, "npartitions"):
        return _explain_partitions(question, X, on_error)
    return explain_rows(question, X, n_jobs=n_jobs, progress=progress, on_error=on_error)


def _explain_partitions(question: Question, X: Any, on_error: Literal["raise", "return"]) -> Any:
    """Return a frame of Dask with the columns of `Batch.to_arrow` and the index of `X`, made where its parts are."""
    from dask import dataframe, delayed

    name, content = question.packed
    meta = _as_partition(schema(question.context.labels).empty_table(), X._meta.index)
    # Delayed, so that it is one node of the graph, and not a part of every task; Dask 2024.8 maps with none.
    sent, ask = delayed(content, name=f"treeproof-{name}", pure=True), delayed(_explain_partition, pure=True)
    parts = [ask(part, name, sent, on_error) for part in X.to_delayed()]
    return dataframe.from_delayed(parts, meta=meta, divisions=X.divisions, verify_meta=False)


def _explain_partition(part: Any, name: str, content: Any, on_error: Literal["raise", "return"]) -> Any:
    found = explain_rows(_unpacked(name, content), part, n_jobs=1, progress=False, on_error=on_error)
    return _as_partition(found.to_arrow().drop_columns("row"), part.index)


def _as_partition(table: Any, index: Any) -> Any:
    """Return a table of Arrow as a frame of pandas with Arrow's types, so that empty parts have the same ones."""
    frame = table.to_pandas(types_mapper=pandas().ArrowDtype)
    frame.index = index
    return frame


def explain_rows(
    question: Question, X: Any, *, n_jobs: int | None, progress: bool, on_error: Literal["raise", "return"]
) -> Batch:
    """Return the answer for every row, in the order of the rows, or the error in its place."""
    context, X = question.context, from_arrow(X)
    rows, origins = _read(context, X, on_error), context.origins(X)
    start = time.perf_counter()
    chunks = answers(question, len(rows), lambda a, b: (a, rows[a:b], origins[a:b]), n_jobs=n_jobs, on_error=on_error)
    found = list(track(chunks, len(rows), bar(progress, "explaining"), weigh=lambda chunk: len(chunk[1])))
    results = Chained(question.own(some) for some, _ in found)
    failed = sum(count_open(part)[0] for part in results.parts)
    _log.info("%d rows explained in %.3g s, %d failed", len(results), time.perf_counter() - start, failed)
    scores = tuple(chain.from_iterable(some for _, some in found))
    return Batch(results, question.kind, row_labels(X), scores, tuple(context.labels))


def count_open(results: Sequence[Any]) -> tuple[int, int]:
    """Return how many rows have an error in their place, and of how many others a deadline left something open."""
    if isinstance(results, Found):
        return len(results.errors), int((results.deletions.minimal == 0).sum())
    errors = [isinstance(result, TreeproofError) for result in results]
    return sum(errors), sum(not failed and not result.decided for failed, result in zip(errors, results, strict=True))


def answers(
    question: Question,
    n_rows: int,
    some: Callable[[int, int], tuple[int, Any, Sequence[Origin]]],
    *,
    n_jobs: int | None,
    on_error: Literal["raise", "return"],
    finish: Finish = _as_it_is,
    borders: Sequence[int] = (),
) -> Generator[Any, None, None]:
    """Yield the answers for chunks of rows, in order, from threads or from wherever joblib's backend has workers.

    `some` returns the rows from one number up to another, what number errors should give the first, and their origins;
    it is asked for what comes next while workers work. `finish` makes what is yielded of a chunk's results and scores,
    where they were found; by default, both of them. No chunk goes beyond a border.
    """
    cancel, raises, shared = Cancel(), on_error == "raise", shares_memory()

    def here(first: int, rows: Sequence[Any], origins: Sequence[Origin]) -> Any:
        return finish(question, *question.answer(first, rows, origins, cancel, raises))

    def part(begin: int, end: int) -> tuple[Any, ...]:
        given = some(begin, end)
        return given if shared else (*given, raises, finish)

    return run_chunks(
        here if shared else _answer_elsewhere,
        part,
        n_rows,
        n_jobs=n_jobs,
        shared=shared,
        cancel=cancel.set,
        speed=question.speed,
        borders=borders,
        common=() if shared else question.packed,
    )


def _read(context: Context, X: Any, on_error: Literal["raise", "return"]) -> Any:
    """Return the rows as numbers; an error in the place of one that cannot be read, unless it is raised."""
    columns, floats = context.forest.columns, context.forest.floats
    try:
        return as_rows(X, columns, floats)
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
