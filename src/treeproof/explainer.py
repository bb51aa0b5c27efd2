"""The public face: one object that holds a forest, its space and an oracle, and answers questions about rows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from treeproof.errors import InputError, InternalError
from treeproof.explanation import Abductive, Changed, Contrastive, Statistics, Value, Verdict
from treeproof.forest import Label, Rows, Vote
from treeproof.importers import import_model
from treeproof.oracles import make_oracle
from treeproof.oracles.native import Cancel, NativeOracle
from treeproof.oracles.sat import SatOracle, to_dimacs
from treeproof.oracles.smt import SmtOracle, to_smtlib
from treeproof.parallel import run_parallel
from treeproof.query import Cells, Claim, Entailed, Never, Query, Refuted, Stays, fix
from treeproof.rows import as_row, as_rows
from treeproof.search.marco import enumerate_minimal
from treeproof.search.memory import Memory
from treeproof.search.minimal import Change, Sufficient, abductive, contrastive
from treeproof.space import NumericKind, Space, shortest

Order = Literal["importance", "index"]
Kind = Literal["abductive", "contrastive", "both"]


class Explainer:
    """Explains the predictions of a tree ensemble, each statement proved for the model's own ``predict``.

    Parameters
    ----------
    model
        A fitted scikit-learn tree, forest or extra trees classifier, a `MajorityForestClassifier`, or a `Forest`.
    vote
        ``None`` explains ``model.predict``; ``"majority"`` explains the majority vote of the model's trees instead
        (which is not what scikit-learn's forests predict), ``"mean"`` their mean probability.
    kinds
        Column to ``"binary"`` (0 or 1), ``"ordinal"`` (whole numbers) or ``"real"`` (any finite number, the default).
        A smaller domain leaves fewer inputs to be proved right, so explanations get shorter.
    one_hot
        Feature name to the columns of which exactly one is 1; they count as one feature.
    oracle
        ``"native"`` (default), ``"sat"`` (majority vote only), ``"smt"`` (needs z3) or ``"brute"`` (tiny forests).
    **options
        Options of the oracle, such as ``preset="paper"`` and ``solver="glucose4"`` for ``"sat"``.

    Attributes
    ----------
    forest : Forest
        The imported forest.
    space : Space
        Its features and their cells.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> explainer = Explainer(RandomForestClassifier(20, max_depth=3, random_state=0).fit(X, y))
    >>> explainer.abductive(X.iloc[0]).feature_names
    ('petal width (cm)',)
    """

    def __init__(
        self,
        model: Any,
        *,
        vote: Vote | None = None,
        kinds: Mapping[str | int, NumericKind] | None = None,
        one_hot: Mapping[str, Sequence[str | int]] | None = None,
        oracle: str = "native",
        **options: Any,
    ) -> None:
        self.forest = import_model(model, vote=vote)
        self.space = Space.of(self.forest, kinds=kinds, one_hot=one_hot)
        self._cells = self.space.discretise()
        self._oracle = make_oracle(oracle, self._cells, **options)
        self._labels: list[Label] = self.forest.classes.tolist()
        self._by_importance: list[int] = np.argsort(self.space.importances, kind="stable").tolist()

    def abductive(
        self,
        x: Any,
        *,
        order: Order = "importance",
        prefer: Iterable[str | int] = (),
        timeout: float | None = None,
    ) -> Abductive:
        """Return a subset-minimal set of features whose values in `x` alone force the prediction (an AXp).

        Parameters
        ----------
        x
            One row, as the model takes it.
        order
            In which order features are tried for removal: ``"importance"`` tries the least important first, which
            gives short explanations; ``"index"`` goes by column, as the published tool does.
        prefer
            Features to keep rather than others, the most wanted first; they are tried last.
        timeout
            Seconds. When they are over, the best sufficient set so far is returned with status ``"sound"``.
        """
        return self._explain(as_row(x, self.forest.columns), self._order(order, prefer), timeout)

    def _explain(
        self, row: Rows, ordering: list[int], timeout: float | None, cancel: Cancel | None = None
    ) -> Abductive:
        start = time.perf_counter()
        point, label = self._locate(row)
        memory = self._memory(point, Stays(label), timeout, cancel)
        found = abductive(memory, ordering)
        return self._abductive(row, point, label, None, found, self._stats(memory, start))

    def batch(
        self,
        X: Any,
        *,
        n_jobs: int | None = None,
        progress: bool = False,
        order: Order = "importance",
        prefer: Iterable[str | int] = (),
        timeout: float | None = None,
    ) -> list[Abductive]:
        """Return the abductive explanation of every row, in the order of the rows; the same for any number of jobs.

        Parameters
        ----------
        X
            Rows, as the model takes them.
        n_jobs
            Number of threads, as in scikit-learn: ``None`` is one, ``-1`` one for each core. The native oracle works
            outside Python's lock; the others gain nothing from threads.
        progress
            Whether to show a progress bar on standard error.
        order, prefer
            As in `abductive`.
        timeout
            Seconds for each row.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, patient = tp.examples.heart_disease()
        >>> [len(why.features) for why in tp.Explainer(forest).batch([patient, [0, 1, 0, 80]], n_jobs=2)]
        [2, 1]
        """
        rows = as_rows(X, self.forest.columns)
        ordering = self._order(order, prefer)
        _check_timeout(timeout)
        cancel = Cancel()
        return run_parallel(
            lambda row: self._explain(row, ordering, timeout, cancel),
            list(rows),
            n_jobs=n_jobs,
            progress="explaining" if progress else None,
            cancel=cancel.set,
        )

    def contrastive(
        self,
        x: Any,
        *,
        target: Any = None,
        order: Order = "importance",
        prefer: Iterable[str | int] = (),
        timeout: float | None = None,
    ) -> Contrastive:
        """Return a subset-minimal set of features whose change alone gives another prediction (a CXp), with a witness.

        Parameters
        ----------
        x
            One row, as the model takes it.
        target
            The class to reach; by default any other class will do.
        order
            In which order features are tried for keeping: ``"importance"`` tries the least important first.
        prefer
            Features to change rather than others, the most wanted first; they are tried last.
        timeout
            Seconds. When they are over, the best witness so far is returned with status ``"sound"``, or none with
            status ``"unknown"``.
        """
        start = time.perf_counter()
        row, point, label = self._instance(x)
        memory = self._memory(point, self._claim(label, target), timeout)
        ordering = self._order(order, prefer)
        answer = memory.ask(frozenset())
        found = contrastive(memory, ordering, answer) if isinstance(answer, Refuted) else None
        status: Literal["impossible", "unknown"] = "impossible" if isinstance(answer, Entailed) else "unknown"
        return self._contrastive(row, label, target, found or status, self._stats(memory, start))

    def enumerate(
        self,
        x: Any,
        *,
        kind: Kind = "abductive",
        target: Any = None,
        limit: int | None = None,
        timeout: float | None = None,
        order: Order = "importance",
    ) -> Enumeration:
        """Return an iterator over all minimal explanations of a kind; each comes once, as soon as it is found.

        When the iterator ends, its attribute ``complete`` says whether these were all.

        Parameters
        ----------
        x
            One row, as the model takes it.
        kind
            ``"abductive"``, ``"contrastive"`` or ``"both"``.
        target
            With it, contrastive explanations are those that reach this class, and abductive ones those that forbid it.
        limit
            Stop after so many.
        timeout
            Seconds from the first request.
        order
            As in `abductive`.
        """
        if kind not in ("abductive", "contrastive", "both"):
            raise InputError(
                f"The 'kind' parameter must be 'abductive', 'contrastive' or 'both'. Got {kind!r} instead."
            )
        if limit is not None and (not isinstance(limit, int | np.integer) or isinstance(limit, bool) or limit < 0):
            raise InputError(f"The 'limit' parameter must be a whole number of at least 0. Got {limit!r} instead.")
        _check_timeout(timeout)
        row, point, label = self._instance(x)
        claim = self._claim(label, target)
        ordering = self._order(order, ())

        def results() -> Iterator[Abductive | Contrastive]:
            start = time.perf_counter()
            memory = self._memory(point, claim, timeout)
            first: Literal["abductive", "contrastive"] = "contrastive" if kind == "contrastive" else "abductive"
            for found in enumerate_minimal(memory, ordering, first):
                stats = self._stats(memory, start)
                if isinstance(found, Sufficient):
                    if kind != "contrastive":
                        yield self._abductive(row, point, label, target, found, stats)
                elif kind != "abductive":
                    yield self._contrastive(row, label, target, found, stats)

        return Enumeration(results, limit)

    def holds(self, x: Any, features: Iterable[str | int], *, timeout: float | None = None) -> Verdict:
        """Decide whether the values of these features in `x` alone force the prediction.

        The result is true or false in a condition, and carries a witness if it is false.
        """
        start = time.perf_counter()
        row, point, label = self._instance(x)
        fixed = frozenset(self._features(features))
        memory = self._memory(point, Stays(label), timeout)
        answer = memory.ask(fixed)
        witness, other = self._witness(row, answer) if isinstance(answer, Refuted) else (None, None)
        return Verdict(
            holds=None if not isinstance(answer, Entailed | Refuted) else isinstance(answer, Entailed),
            features=tuple(sorted(fixed)),
            label=self._labels[label],
            enough=tuple(sorted(answer.core)) if isinstance(answer, Entailed) else None,
            witness=witness,
            witness_label=other,
            stats=self._stats(memory, start),
        )

    def encode(
        self,
        x: Any,
        *,
        features: Iterable[str | int] | None = None,
        target: Any = None,
        format: Literal["dimacs", "smtlib"] = "dimacs",
        **options: Any,
    ) -> str:
        """Return the query "can the label change while these features keep their values?" as text for a solver.

        The formula is satisfiable iff it can.

        Parameters
        ----------
        x
            One row, as the model takes it.
        features
            The features that keep their values; by default all.
        target
            The class to reach; by default any other.
        format
            ``"dimacs"`` (a CNF with a map of its variables; majority vote only) or ``"smtlib"``.
        **options
            Options of the ``"sat"`` oracle, such as ``preset="paper"``.
        """
        _, point, label = self._instance(x)
        fixed = range(self.space.n_features) if features is None else self._features(features)
        query = Query(fix(self._cells, point, fixed), self._claim(label, target))
        describe: Callable[..., str] = lambda f, domain: str(self.space.features[f].condition(domain))  # noqa: E731
        if format == "dimacs":
            sat = make_oracle("sat", self._cells, **options)
            assert isinstance(sat, SatOracle)
            return to_dimacs(sat, query, self.space.names, describe)
        if format == "smtlib":
            smt = make_oracle("smt", self._cells, **options)
            assert isinstance(smt, SmtOracle)
            return to_smtlib(smt, query, self.space.names, describe)
        raise InputError(f"The 'format' parameter must be 'dimacs' or 'smtlib'. Got {format!r} instead.")

    def __repr__(self) -> str:
        return f"Explainer({self.forest!r}, oracle={self._oracle.name!r})"

    def _instance(self, x: Any) -> tuple[Rows, Cells, int]:
        row = as_row(x, self.forest.columns)
        return row, *self._locate(row)

    def _locate(self, row: Rows) -> tuple[Cells, int]:
        """Return the cells of a row, and its label."""
        point = self.space.cells(row)
        label = self._oracle.label if isinstance(self._oracle, NativeOracle) else self._cells.label
        return point, label(point)

    def _claim(self, label: int, target: Any) -> Claim:
        if target is None:
            return Stays(label)
        wanted = self.forest.class_index(target)
        if wanted == label:
            raise InputError(f"The target must differ from the prediction. The prediction is {target!r} already.")
        return Never(wanted)

    def _memory(self, point: Cells, claim: Claim, timeout: float | None, cancel: Cancel | None = None) -> Memory:
        _check_timeout(timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        return Memory(self._cells, self._oracle, point, claim, deadline, cancel)

    def _features(self, features: Iterable[str | int]) -> list[int]:
        if isinstance(features, str):
            raise InputError(f"Features must be a list of names or indices. Got the string {features!r}.")
        return [self.space.index(feature) for feature in features]

    def _order(self, order: Order, prefer: Iterable[str | int]) -> list[int]:
        if order == "importance":
            ordering = self._by_importance
        elif order == "index":
            ordering = list(range(self.space.n_features))
        else:
            raise InputError(f"The 'order' parameter must be 'importance' or 'index'. Got {order!r} instead.")
        last = list(dict.fromkeys(self._features(prefer)))
        if not last:
            return ordering
        return [f for f in ordering if f not in last] + last[::-1]

    def _stats(self, memory: Memory, start: float) -> Statistics:
        counts = {field: getattr(memory.counts, field) for field in memory.counts.__slots__}
        return Statistics(self._oracle.name, time.perf_counter() - start, **counts)

    def _abductive(
        self, row: Rows, point: Cells, label: int, target: Any, found: Sufficient, stats: Statistics
    ) -> Abductive:
        features = tuple(sorted(found.features))
        return Abductive(
            features=features,
            feature_names=tuple(self.space.names[f] for f in features),
            label=self._labels[label],
            rule=tuple(self.space.features[f].condition(range(point[f], point[f] + 1)) for f in features),
            target=self._label_of(target),
            instance=self._present(row),
            status=found.status,
            n_features=self.space.n_features,
            stats=stats,
        )

    def _label_of(self, target: Any) -> Label | None:
        """Return the target as the forest's own label."""
        return None if target is None else self._labels[self.forest.class_index(target)]

    def _contrastive(
        self,
        row: Rows,
        label: int,
        target: Any,
        found: Change | Literal["impossible", "unknown"],
        stats: Statistics,
    ) -> Contrastive:
        features: tuple[int, ...] = ()
        witness, witness_label = None, None
        changes: tuple[Changed, ...] = ()
        if isinstance(found, Change):
            features = tuple(sorted(found.features))
            witness, witness_label = self._witness(row, found.witness)
            after = self.space.row(found.witness.witness, near=row)
            changes = tuple(
                Changed(self.space.names[f], self.space.features[f].show(row), self.space.features[f].show(after))
                for f in features
            )
        return Contrastive(
            features=features,
            feature_names=tuple(self.space.names[f] for f in features),
            label=self._labels[label],
            witness=witness,
            witness_label=witness_label,
            changes=changes,
            target=self._label_of(target),
            instance=self._present(row),
            status=found.status if isinstance(found, Change) else found,
            n_features=self.space.n_features,
            stats=stats,
        )

    def _witness(self, row: Rows, answer: Refuted) -> tuple[tuple[Value, ...], Label]:
        """Return the witness as a concrete row, evaluated once more by the forest's own predict on its floats."""
        concrete = self.space.row(answer.witness, near=row)
        label = int(self.forest.decide(self.forest.route(concrete[None, :]))[0])
        if label != answer.label:
            raise InternalError(
                f"The witness {concrete.tolist()} should be {self._labels[answer.label]!r}, but the forest predicts "
                f"{self._labels[label]!r}; please report this."
            )
        return self._present(concrete), self._labels[label]

    def _present(self, row: Rows) -> tuple[Value, ...]:
        """Return a row as people write it: the shortest numbers that round to the same float32, categories by label."""
        # Seven digits are often enough, and ten times faster to find out than the shortest ones.
        short = [float(f"{value:.7g}") for value in row.tolist()]
        same = (np.array(short, dtype=np.float32) == row).tolist()
        return tuple(
            column.categories[int(value)]
            if column.categories is not None
            else brief
            if enough
            else float(shortest(value))
            for value, brief, enough, column in zip(row.tolist(), short, same, self.forest.columns, strict=True)
        )


class Enumeration(Iterator[Abductive | Contrastive]):
    """Yields explanations as they are found; afterwards `complete` says whether these were all.

    `complete` is None while the iteration runs, True when it ended because everything was found, and False when the
    limit or the deadline came first.
    """

    def __init__(self, results: Callable[[], Iterator[Abductive | Contrastive]], limit: int | None) -> None:
        self.complete: bool | None = None
        self._results = results()
        self._left = math.inf if limit is None else limit

    def __iter__(self) -> Enumeration:
        return self

    def __next__(self) -> Abductive | Contrastive:
        if self.complete is not None:
            raise StopIteration
        try:
            if self._left > 0:
                self._left -= 1
                return next(self._results)
            self.complete = False
        except StopIteration:
            self.complete = True
        except TimeoutError:
            self.complete = False
        raise StopIteration


def _check_timeout(timeout: Any) -> None:
    if timeout is None:
        return
    if isinstance(timeout, bool) or not isinstance(timeout, int | float | np.number) or not timeout >= 0:
        raise InputError(f"The 'timeout' parameter must be a number of seconds, at least 0. Got {timeout!r} instead.")
