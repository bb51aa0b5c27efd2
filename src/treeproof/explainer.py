"""The public face: one object that holds a forest, its space and an oracle, and answers questions about rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from treeproof.constraints import read_declarations
from treeproof.errors import InputError
from treeproof.explanation import Abductive, Contrastive, Verdict
from treeproof.forest import Forest, Vote
from treeproof.importers import import_model
from treeproof.oracles import make_oracle
from treeproof.oracles.native import Cancel
from treeproof.oracles.sat import SatOracle, to_dimacs
from treeproof.oracles.smt import SmtOracle, to_smtlib
from treeproof.parallel import run_parallel
from treeproof.query import Query, fix
from treeproof.questions import change, listing, review, verdict, why
from treeproof.questions.listing import Enumeration, Kind
from treeproof.questions.review import Review
from treeproof.rows import as_rows
from treeproof.setting import Order, Setting, check_timeout
from treeproof.space import NumericKind, Space


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
    bounds
        Feature to ``(low, high)``, between which its values lie (None for an open end), or, for a feature of named
        values, to the values that occur.
    constraints
        Rules between features that every input keeps, such as ``"if smoker = 0 then packs = 0"`` or
        ``"age >= 65 or pension = 0"``, or the path of a file with one rule on each line (it may also declare kinds:
        ``age is ordinal``). Results name the rules that their proof used.
    data
        Rows as the model takes them; needed for ``domain="observed"``.
    domain
        ``"all"`` (default) or ``"observed"``: features keep to the ranges, and named values to those, of `data`.
    oracle
        ``"native"`` (default), ``"sat"`` (majority vote only), ``"smt"`` (needs z3) or ``"brute"`` (tiny forests).
    **options
        Options of the oracle, such as ``preset="paper"`` and ``solver="glucose4"`` for ``"sat"``.

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
        bounds: Mapping[str | int, Sequence[Any]] | None = None,
        constraints: Sequence[str] | str | Path = (),
        data: Any = None,
        domain: Literal["all", "observed"] = "all",
        oracle: str = "native",
        **options: Any,
    ) -> None:
        forest = import_model(model, vote=vote)
        if isinstance(constraints, str | Path):
            declared = read_declarations(constraints)
            kinds, constraints = {**declared.kinds, **(kinds or {})}, declared.constraints
        if domain not in ("all", "observed"):
            raise InputError(f"The 'domain' parameter must be 'all' or 'observed'. Got {domain!r} instead.")
        if domain == "observed":
            if data is None:
                raise InputError("domain='observed' needs rows to look at. Pass them as data=X.")
            observed = Space.of(forest, one_hot=one_hot).observed(as_rows(data, forest.columns))
            bounds = {**observed, **(bounds or {})}
        space = Space.of(forest, kinds=kinds, one_hot=one_hot, bounds=bounds, constraints=constraints)
        cells = space.discretise()
        self._setting = Setting(forest, space, cells, make_oracle(oracle, cells, **options))

    @property
    def forest(self) -> Forest:
        """The imported forest."""
        return self._setting.forest

    @property
    def space(self) -> Space:
        """Its features and their cells."""
        return self._setting.space

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
        setting = self._setting
        return why.explain(setting, setting.instance(x), setting.order(order, prefer), timeout)

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
        setting = self._setting
        rows = as_rows(X, self.forest.columns)
        ordering = setting.order(order, prefer)
        check_timeout(timeout)
        cancel = Cancel()
        return run_parallel(
            lambda row: why.explain(setting, setting.locate(row), ordering, timeout, cancel),
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
        setting = self._setting
        return change.find_change(setting, setting.instance(x), target, setting.order(order, prefer), timeout)

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
        setting = self._setting
        ordering = setting.order(order, ())
        return listing.enumerate_all(setting, setting.instance(x), kind, target, limit, timeout, ordering)

    def holds(self, x: Any, features: Iterable[str | int], *, timeout: float | None = None) -> Verdict:
        """Decide whether the values of these features in `x` alone force the prediction.

        The result is true or false in a condition, and carries a witness if it is false.
        """
        return verdict.judge(self._setting, self._setting.instance(x), features, timeout)

    def review(
        self,
        x: Any = None,
        claim: Any = None,
        *,
        label: Any = None,
        timeout: float | None = None,
    ) -> Review:
        """Decide whether somebody else's explanation forces the prediction; if not, show an input and repair it.

        Conditions are read as they are written: ``x <= 2.4`` is about the float64 number 2.4, and a counterexample
        satisfies it exactly. The model rounds inputs to float32, so ``x > 2`` includes numbers that it sees as 2.

        Parameters
        ----------
        x
            One row, as the model takes it. Without it, `label` must be given, and what does not hold is not repaired.
        claim
            Features by name or index (they keep their values in `x`), conditions such as ``"age <= 30"``,
            ``"1 < width <= 3.5"``, ``"colour in {red, blue}"`` as a list or joined by "and", `Condition` objects, or an
            `Abductive` explanation, be it of another row or of another model with the same features. The columns of a
            one-hot group may be named as well.
        label
            Instead of a row: the label that the conditions should force.
        timeout
            Seconds. When they are over, what is not decided is None.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, patient = tp.examples.heart_disease()
        >>> review = tp.Explainer(forest).review(patient, ["chest-pain", "weight"])
        >>> review.holds, review.repair.feature_names
        (False, ('blocked-arteries', 'chest-pain'))
        >>> tp.Explainer(forest).review(claim="weight <= 50 and chest-pain <= 0.5", label="No").holds
        True
        """
        return review.review(self._setting, x, claim, label, timeout)

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
        setting = self._setting
        instance = setting.instance(x)
        fixed = range(self.space.n_features) if features is None else setting.features(features)
        query = Query(fix(setting.cells, instance.point, fixed), setting.claim(instance, target))
        describe: Callable[..., str] = lambda f, domain: str(self.space.features[f].condition(domain))  # noqa: E731
        if format == "dimacs":
            sat = make_oracle("sat", setting.cells, **options)
            assert isinstance(sat, SatOracle)
            return to_dimacs(sat, query, self.space.names, describe)
        if format == "smtlib":
            smt = make_oracle("smt", setting.cells, **options)
            assert isinstance(smt, SmtOracle)
            return to_smtlib(smt, query, self.space.names, describe)
        raise InputError(f"The 'format' parameter must be 'dimacs' or 'smtlib'. Got {format!r} instead.")

    def __repr__(self) -> str:
        return f"Explainer({self.forest!r}, oracle={self._setting.oracle.name!r})"
