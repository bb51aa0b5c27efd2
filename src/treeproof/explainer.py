"""The public face: one object that holds a forest, its space and an oracle, and answers questions about rows."""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from treeproof.errors import InputError, did_you_mean, require_bool, require_one_of
from treeproof.model import scores as statements
from treeproof.model.decision import Vote
from treeproof.model.forest import Forest
from treeproof.model.frames import Form
from treeproof.model.importers import import_model, link_of, narrows, probability_of, recorded_kinds, selected
from treeproof.model.labels import name_labels
from treeproof.model.rows import as_row, as_rows, kinds_of
from treeproof.oracles import make_oracle, options_of
from treeproof.proof.verified import VerifiedOracle
from treeproof.query.ball import Ball
from treeproof.query.cells import discretise
from treeproof.query.context import Context, Instance, Order, check_timeout, deadline_after, form_of, seconds_after
from treeproof.query.oracle import Cancel
from treeproof.query.units import Group, Units, read_groups
from treeproof.questions import (
    abductive,
    attribution,
    audit,
    batch,
    budget,
    contrastive,
    coverage,
    effect,
    encode,
    extremes,
    holds,
    monotone,
    most_general,
    prove,
    relevance,
    review,
    robustness,
    rules,
)
from treeproof.questions.abductive import Abductive, Inflate
from treeproof.questions.attribution import Attribution
from treeproof.questions.audit import Audit
from treeproof.questions.batch import BatchKind, Question
from treeproof.questions.budget import Budget, Profile
from treeproof.questions.contrastive import Contrastive, Contrastives, Distance
from treeproof.questions.costs import make_costs
from treeproof.questions.coverage import Coverage
from treeproof.questions.effect import Effect, Independence
from treeproof.questions.enumerate import Enumeration, ExplanationKind, enumerate_all
from treeproof.questions.extremes import Extremes
from treeproof.questions.holds import Verdict
from treeproof.questions.memory import Memory, once
from treeproof.questions.monotone import Monotone, Monotonicity
from treeproof.questions.most_general import MostGeneral
from treeproof.questions.moves import make_moves
from treeproof.questions.nearby import make_ball, make_scales, spreads_of
from treeproof.questions.norms import NormName
from treeproof.questions.prove import Statement
from treeproof.questions.relevance import Relevance
from treeproof.questions.result import Result
from treeproof.questions.review import Review
from treeproof.questions.robustness import Robustness
from treeproof.questions.rules import Rules
from treeproof.questions.waiting import counted
from treeproof.space.conditions import Condition
from treeproof.space.constraints import read_declarations
from treeproof.space.declare import dated, declare, recorded
from treeproof.space.features import NumericKind
from treeproof.space.space import Space

_log = logging.getLogger(__name__)


class Explainer:
    """Explains the predictions of a tree ensemble, each statement proved for the model's own ``predict``.

    Parameters
    ----------
    model
        A fitted tree ensemble (see ``docs/models.md``), a scikit-learn Pipeline that ends in one, or a `Forest`.
    vote
        ``None`` explains ``model.predict``; ``"majority"`` explains the majority vote of the model's trees instead
        (which is not what scikit-learn's forests predict), ``"mean"`` their mean probability.
    output
        Of a model with several outputs, the one to explain: its number from 0, or its name if it has one.
    kinds
        Column to ``"binary"`` (0 or 1), ``"integer"`` (whole numbers), ``"date"`` (whole numbers that count days, as
        ``datetime.date.toordinal`` does; rows may hold dates then) or ``"real"`` (any finite number). By default
        columns whose data type is one of whole numbers, in `data` or in the model's own record (XGBoost keeps one), are
        integer, those of truth values binary, and the others real. A smaller domain leaves fewer inputs to be proved
        right, so explanations get shorter.
    one_hot
        Feature name to the columns of which exactly one is 1; they count as one feature.
    groups
        Name to features, such as ``{"address": ["street", "city"]}``, that are kept or freed together and count as one
        wherever a set of features is sought: no group can be dropped from a minimal explanation as a whole. A
        group's name will do wherever a list of features is asked for.
    bounds
        Feature to ``(low, high)``, between which its values lie (None for an open end), or, for a feature of named
        values, to the values that occur.
    constraints
        Constraints between features that every input satisfies, such as ``"if smoker = 0 then packs = 0"`` or
        ``"age >= 65 or pension = 0"``, or the path of a file with one constraint per line (it may also declare kinds:
        ``age is integer``). Results name the constraints that their proof used.
    missing
        Numeric columns that may be missing, or ``"all"``. By default those of models that are made for missing values;
        with `data`, those that are missing there.
    other
        Columns of categories that may hold other values than those that the model knows, or ``"all"`` that have a place
        for such; then ``other`` is one more category. It needs a model that takes such values, as a pipeline does with
        ``OneHotEncoder(handle_unknown="ignore")``. By default columns that hold such values in `data`.
    threshold
        For a classifier of two classes: explain the second class if its probability is at least this.
    confidence
        For a classifier: explain its class if that has at least this probability, else the label ``"uncertain"``.
    cuts
        For a regressor: explain in which of the ranges, separated by these values, its score lies. See also `around`.
    names
        Label to what people call it, such as ``{0: "good", 1: "bad"}``. Whatever shows a label shows its name, and a
        name will do wherever a label is asked for. A result's ``label`` stays the model's own: it equals 1 and prints
        as "bad"; ``label.name`` is the name.
    data
        Rows as the model takes them; needed for ``domain="observed"``, and for models that do not know how their
        categories are called: those of CatBoost, and of XGBoost where names have letters beyond ASCII. They also give
        the features' scales, by which distances are measured.
    domain
        ``"all"`` (default) or ``"observed"``: features keep to the ranges, and named values to those, of `data`.
    verify
        Whether the independent checker of ``treeproof.checker`` must accept every answer before it is returned: the
        certificate of an abductive explanation, and every answer of the oracle behind any other question. Slow.
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

    @counted("reading the model")
    def __init__(
        self,
        model: Any,
        *,
        vote: Vote | None = None,
        output: str | int | None = None,
        kinds: Mapping[str | int, NumericKind | Literal["ordinal"]] | None = None,
        one_hot: Mapping[str, Sequence[str | int]] | None = None,
        groups: Mapping[str, Sequence[str | int]] | None = None,
        bounds: Mapping[str | int, Sequence[Any]] | None = None,
        constraints: Sequence[str] | str | Path = (),
        missing: Iterable[str | int] | Literal["all"] | None = None,
        other: Iterable[str | int] | Literal["all"] | None = None,
        threshold: float | None = None,
        confidence: float | None = None,
        cuts: Iterable[float] | None = None,
        names: Mapping[Any, str] | None = None,
        data: Any = None,
        domain: Literal["all", "observed"] = "all",
        verify: bool = False,
        oracle: str = "native",
        **options: Any,
    ) -> None:
        _refuse_misspelt(options, oracle)
        chosen = selected(model, output)
        forest = state(chosen, vote=vote, threshold=threshold, confidence=confidence, cuts=cuts, data=data)
        if isinstance(constraints, str | Path):
            written = read_declarations(constraints)
            kinds, constraints = {**written.kinds, **(kinds or {})}, written.constraints
        forest = dated(forest, kinds)
        require_one_of("domain", domain, ("all", "observed"))
        require_bool("verify", verify)
        if domain == "observed" and data is None:
            raise InputError("domain='observed' needs rows to look at. Pass them as data=X.")
        if data is not None:
            rows = as_rows(data, forest.columns, forest.floats)
            if missing is None:
                missing = np.flatnonzero(np.isnan(rows).any(axis=0)).tolist()
            if other is None:
                other = [j for j, column in enumerate(forest.columns) if column.other_code in rows[:, j]]
        usual = {**recorded(forest), **recorded_kinds(chosen)}
        if data is not None:
            whole = (np.isnan(rows) | (rows == np.floor(rows))).all(axis=0).tolist()
            usual = {j: kind for j, kind in usual.items() if whole[j]} | kinds_of(data, forest.columns)
        declared = partial(
            declare, forest, usual=usual, one_hot=one_hot, missing=missing, other=() if other is None else other
        )
        if domain == "observed":
            bounds = {**declared().observed(rows), **(bounds or {})}
        space = declared(kinds=kinds, bounds=bounds, constraints=constraints)
        if verify and oracle != "native":
            raise InputError(f"Only the native oracle gives proofs to check. Got verify=True with oracle={oracle!r}.")
        self._source = _source(model)
        self._spreads = None if data is None else spreads_of(space, rows)
        self._link = link_of(chosen)
        self._make: Callable[[Forest, Mapping[Any, str] | None], Context | None] = partial(
            _make_context,
            space,
            read_groups(space, groups),
            oracle,
            options,
            verify,
            form_of(space, data, narrows(chosen)),
        )
        self._names = copy(names) if isinstance(names, Mapping) else names  # anything else is refused below
        self._forest = forest
        self._made = self._make(forest, self._names)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the oracle, which holds memory of the C++ core, of a solver, or locks."""
        return {**self.__dict__, "_made": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._made = self._make(self._forest, self._names)

    def __copy__(self) -> Explainer:
        """An explainer never changes what it answers, so a copy shares the oracle."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    @property
    def _context(self) -> Context:
        if self._made is None:
            raise InputError(
                "Say what is to be explained about a regressor's score: Explainer(model, cuts=[0.7]) for the ranges "
                "that it lies in, or Explainer(model).around(x, 0.5) for how far it may move."
            )
        return self._made

    def _ball(self, within: float | None, scale: Mapping[str | int, float] | None) -> Ball | None:
        if within is None and scale is not None:
            raise InputError(
                "'scale' requires 'within' or 'at_most', whose distances it measures. Pass one too, or leave it out."
            )
        return make_ball(self._context, within, scale, self._spreads)

    def _budget(self, at_most: int, scale: Mapping[str | int, float] | None, prove: bool = False) -> Budget:
        return budget.make_budget(at_most, make_scales(self._context, scale, self._spreads), prove)

    @property
    def forest(self) -> Forest:
        """The imported forest."""
        return self._forest

    def around(self, x: Any, within: float) -> Explainer:
        """Return an explainer of the statement that a regressor's score stays within a distance of that of `x`.

        Its labels are ``"below"``, ``"within ... of ..."`` and ``"above"``; it answers all questions about `x`, and
        about other rows too.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.ensemble import RandomForestRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> explainer = Explainer(RandomForestRegressor(10, max_depth=3, random_state=0).fit(X, y))
        >>> explainer.around(X.iloc[0], 50).abductive(X.iloc[0]).label
        'within 50 of ...'
        """
        row = as_row(x, self.forest.columns, self.forest.floats)
        total = float(self.forest.add(self.forest.route(row[None, :]))[0, 0])
        cut = statements.around(self.forest, total, within, self._link)
        other = copy(self)
        other._forest, other._names = cut, None  # other labels, without names
        other._made = self._make(cut, None)
        return other

    @property
    def space(self) -> Space:
        """Its features and their cells."""
        return self._context.space

    @property
    def groups(self) -> tuple[Group, ...]:
        """Features that are kept or freed together."""
        return self._context.groups

    @counted("explaining")
    def abductive(
        self,
        x: Any,
        *,
        minimum: bool = False,
        cost: Mapping[str | int, Any] | None = None,
        tries: int = 1,
        inflate: Inflate = False,
        within: float | None = None,
        at_most: int | None = None,
        scale: Mapping[str | int, float] | None = None,
        order: Order = "importance",
        prefer: Iterable[str | int] = (),
        timeout: float | None = None,
    ) -> Abductive:
        """Return a subset-minimal set of features whose values in `x` alone force the prediction (an AXp).

        Parameters
        ----------
        x
            One row, as the model takes it.
        minimum
            Whether to look for a set of the smallest number of features, or of the smallest cost, and to prove that.
        cost
            With `minimum`: feature to what it costs, a positive number; the others cost 1. A float counts as the
            decimal that it is written as; sums are exact.
        tries
            How many orders of removal to try, the first as described below and the others at random but always the
            same; the shortest set is returned. Much faster than `minimum`, without its proof.
        inflate
            Whether to widen the values of these features to ranges and sets of values that still force the
            prediction: first all of them alike, then one after the other in the same order, until it is proved that
            no range can be widened and no value added, given the others. On a large model that could take minutes; it
            ends after some tenths of a second, or some times what the plain explanation took, and `widest` tells. The
            limit is one of work, not of time, so that the same comes out everywhere. ``"quick"`` stops much earlier,
            for many rows; ``"widest"`` never. ``"unions"`` does not stop either, and numbers may be in several ranges
            each, as in ``age < 30 or age > 60``: then nothing can be added anywhere, but it is hard to say aloud.
        within
            For a local explanation, which is much shorter: the features force the prediction on every input whose
            other features move by no more than this part of their scale, such as 0.25. Distances are exact; a float
            counts as the decimal that it is written as. Named values are at a distance of 1 from each other, and so
            are missing values from numbers.
        at_most
            At most so many features, and the largest radius within which they force the prediction: a local
            explanation as with `within`, whose radius is found. It is exact for these features, and the result shows
            what stops it. Features are chosen one by one so that the radius grows most, which is good but perhaps not
            best; with `minimum`, it is proved that no other features, at most so many, have a larger radius.
        scale
            With `within` or `at_most`: feature to its scale, a positive number. By default that is half the distance
            between the 16th and the 84th percentile of the explainer's `data` (of a normal column the standard
            deviation; where it is 0, the mean distance from the median), or without data the span between the
            forest's first and last cut of the feature, and 1 where there are less than two.
        order
            In which order features are tried for removal: ``"importance"`` tries the least important first, which
            gives short explanations; ``"row"`` those first that, changed alone, bring another label least forward,
            which gives shorter ones and takes longer; ``"index"`` goes by column, as the published tool does.
        prefer
            Features to keep rather than others, the most wanted first; they are tried last.
        timeout
            Seconds. When they are over, the best sufficient set so far is returned, with status ``"sound"`` if not
            even removal was finished; with `minimum`, ``lower_bound`` is what was proved; what was widened so far
            has ``widest`` false and ``timed_out`` true.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.ensemble import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> explainer = Explainer(RandomForestClassifier(20, max_depth=3, random_state=0).fit(X, y))
        >>> print(explainer.abductive(X.iloc[60], inflate=True))
        1, because
          petal length (cm) <= 4.95
          0.8 < petal width (cm) <= 1.6
        Proved: these 2 of 4 features force the prediction; none of them can be dropped, and no condition can be
        widened.
        Numbers are compared as the model reads them: as float32.
        >>> print(explainer.abductive(X.iloc[60], within=0.5, scale={"petal width (cm)": 0.4}).claim)
        Proved: this 1 of 4 features forces the prediction as long as no other feature moves by more than 0.5 of its
        scale; it cannot be dropped.
        """
        explain = self._why(
            minimum=minimum,
            cost=cost,
            tries=tries,
            inflate=inflate,
            within=within,
            at_most=at_most,
            scale=scale,
            order=order,
            prefer=prefer,
            timeout=timeout,
        )
        return explain(self._context.instance(x))

    def _why(
        self,
        *,
        minimum: bool = False,
        cost: Mapping[str | int, Any] | None = None,
        tries: int = 1,
        inflate: Inflate = False,
        within: float | None = None,
        at_most: int | None = None,
        scale: Mapping[str | int, float] | None = None,
        order: Order = "importance",
        prefer: Iterable[str | int] = (),
        timeout: float | None = None,
    ) -> Callable[..., Abductive]:
        """Return the function that answers `abductive`, for one row or many; InputError if options do not fit."""
        context = self._context
        if at_most is not None:
            wanted = self._budget(at_most, scale, minimum)
            budget.refuse(
                within=within,
                cost=cost,
                tries=None if tries == 1 else tries,
                prefer=prefer or None,
                inflate=None if isinstance(inflate, bool) else inflate,
            )

            def reach(instance: Instance, cancel: Cancel | None = None, memory: Memory[Any] | None = None) -> Abductive:
                return once(
                    memory,
                    instance,
                    lambda: budget.reach_far(context, wanted, order, bool(inflate), instance, timeout, cancel),
                )

            return reach
        plan = abductive.make_plan(
            context, order=order, prefer=prefer, tries=tries, minimum=minimum, cost=cost, inflate=inflate
        )
        return abductive.Why(context, plan, self._ball(within, scale), timeout)

    @counted("explaining")
    def profile(
        self,
        x: Any,
        *,
        at_most: int | None = None,
        scale: Mapping[str | int, float] | None = None,
        order: Order = "importance",
        progress: bool = False,
        timeout: float | None = None,
    ) -> Profile:
        """Return how far all other features may move, proved, for 0, 1, 2, ... features that are kept.

        From the robustness of the prediction (no feature kept) to a set that forces it whatever the others are.

        Parameters
        ----------
        x
            One row, as the model takes it.
        at_most
            Stop at so many features.
        scale, order
            As in `abductive` with `at_most`.
        progress
            Whether to show on standard error how many steps were found.
        timeout
            Seconds. When they are over, the steps found so far are returned; ``complete`` is false then.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.ensemble import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> model = RandomForestClassifier(20, max_depth=3, random_state=0).fit(X, y)
        >>> [step.feature_names for step in Explainer(model, data=X).profile(X.iloc[60]).steps]
        [(), ('petal width (cm)',), ('petal length (cm)', 'petal width (cm)')]
        """
        context, instance = self._context, self._context.instance(x)
        wanted = self._budget(context.space.n_features if at_most is None else at_most, scale)
        return budget.make_profile(context, instance, wanted, order, progress, timeout)

    def batch(
        self,
        X: Any,
        *,
        kind: BatchKind = "abductive",
        n_jobs: int | None = None,
        progress: bool = False,
        timeout: float | None = None,
        on_error: Literal["raise", "return"] = "raise",
        **options: Any,
    ) -> Any:
        """Return the explanation of every row, in the order of the rows; the same for any number and kind of workers.

        It is a `Batch`, a sequence with ``to_frame()``, ``to_arrow()`` and ``plot()``; each result knows the label of
        its row, as ``row``. Rows in the same cells, which the forest cannot tell apart, share a search. See
        ``docs/scale.md`` for tables that do not fit into memory.

        Parameters
        ----------
        X
            Rows, as the model takes them; also a table of Arrow, which is read as the frame of pandas that it becomes.
            For an iterator of tables, a `Batch` for each comes out, one after the other. For a DataFrame of Dask, the
            result is one, with the columns of ``Batch.to_arrow()``, computed where its partitions are.
        kind
            ``"abductive"``: why? ``"contrastive"``: what would change it?
        n_jobs
            Number of workers, as in scikit-learn: ``None`` is one, ``-1`` one for each core. They are threads, unless
            ``joblib.parallel_config`` says otherwise: processes (``"loky"``) or ``"dask"``, to which the
            explainer travels once each. What is found there row by row (see ``docs/scale.md``) comes back without
            ``certificate()``. The native oracle works outside Python's lock; the others gain nothing from threads.
        progress
            Whether to show a progress bar on standard error.
        timeout
            Seconds for each row.
        on_error
            What happens if a row cannot be explained, for example because a value is missing: ``"raise"`` its error, or
            ``"return"`` it in the place of the row, and explain the others.
        **options
            Those of `abductive`, or those of `contrastive`.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, patient = tp.examples.heart_disease()
        >>> [len(why.features) for why in tp.Explainer(forest).batch([patient, [0, 1, 0, 80]], n_jobs=2)]
        [2, 1]
        """
        require_one_of("on_error", on_error, ("raise", "return"))
        question = Question(self, kind, timeout, options)
        return batch.explain(question, X, n_jobs=n_jobs, progress=progress, on_error=on_error)

    def _asked(self, kind: BatchKind, timeout: float | None, options: Mapping[str, Any]) -> Callable[..., Result]:
        """Return the function that answers a question of `batch` about one row; InputError if options do not fit."""
        require_one_of("kind", kind, ("abductive", "contrastive"))
        check_timeout(timeout)
        make: Callable[..., Callable[..., Result]] = self._why if kind == "abductive" else self._what_if
        known = inspect.signature(make).parameters
        for option in options:
            if option not in known:
                near = did_you_mean(option, known)
                raise InputError(f"An option of this batch must be one of {kind}'s. Got {option!r}.{near}")
        return make(**options, timeout=timeout)

    @counted("explaining")
    def contrastive(
        self,
        x: Any,
        *,
        target: Any = None,
        minimum: bool = False,
        cost: Mapping[str | int, Any] | None = None,
        fixed: Iterable[str | int] = (),
        directions: Mapping[str | int, Literal["up", "down"]] | None = None,
        limits: Mapping[str | int, Sequence[Any]] | None = None,
        within: float | None = None,
        distance: Distance | None = "l1",
        scale: Mapping[str | int, float] | None = None,
        order: Order = "importance",
        prefer: Iterable[str | int] = (),
        timeout: float | None = None,
    ) -> Contrastive:
        """Return a subset-minimal set of features whose change alone gives another prediction (a CXp), with a witness.

        The witness is the closest one that changes these features only.

        Parameters
        ----------
        x
            One row, as the model takes it.
        target
            The class to reach; by default any other class will do.
        minimum
            Whether to look for a set of the smallest number of features, or of the smallest cost, and to prove that.
        cost
            With `minimum`: feature to what its change costs, however large it is, as in `abductive`.
        fixed
            Features that must not change.
        directions
            Feature to ``"up"`` or ``"down"``: the only way in which it may change.
        limits
            Feature to ``(low, high)``, between which a new value must lie (None for an open end), or, for a feature
            of named values, to the new values that it may take. A feature may always keep the value it has, also one
            outside these limits.
        within
            The part of its scale by which a feature may change at most, as in `abductive`.
        distance
            ``"l1"``: the sum, over the changed features, of the difference divided by the feature's scale; a feature
            of named values adds 1 divided by its scale. With None any witness is returned.
        scale
            Feature to the difference that counts as a distance of 1; by default as in `abductive`.
        order
            In which order features are tried for keeping: ``"importance"`` tries the least important first,
            ``"row"`` those that, changed alone, bring another label least forward.
        prefer
            Features to change rather than others, the most wanted first; they are tried last.
        timeout
            Seconds. When they are over, the best witness so far is returned, with ``closest`` false and perhaps with
            status ``"sound"``, or none with status ``"unknown"``; with `minimum`, ``lower_bound`` is what was proved.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, patient = tp.examples.heart_disease()
        >>> print(tp.Explainer(forest).contrastive(patient, fixed=["chest-pain"]))
        No instead of Yes, if
          blocked-arteries: 1 -> 0.5
        Proved: changing this 1 of 4 features suffices; it cannot be left out, and no closer value does.
        Limits: chest-pain fixed.
        """
        explain = self._what_if(
            target=target,
            minimum=minimum,
            cost=cost,
            fixed=fixed,
            directions=directions,
            limits=limits,
            within=within,
            distance=distance,
            scale=scale,
            order=order,
            prefer=prefer,
            timeout=timeout,
        )
        return explain(self._context.instance(x))

    def _what_if(
        self,
        *,
        target: Any = None,
        minimum: bool = False,
        cost: Mapping[str | int, Any] | None = None,
        fixed: Iterable[str | int] = (),
        directions: Mapping[str | int, Literal["up", "down"]] | None = None,
        limits: Mapping[str | int, Sequence[Any]] | None = None,
        within: float | None = None,
        distance: Distance | None = "l1",
        scale: Mapping[str | int, float] | None = None,
        order: Order = "importance",
        prefer: Iterable[str | int] = (),
        timeout: float | None = None,
    ) -> Callable[..., Contrastive]:
        """Return the function that answers `contrastive`, for one row or many; InputError if options do not fit."""
        context = self._context
        ball = make_ball(context, within, scale, self._spreads)
        preferred, kept = context.features(prefer), context.features(fixed)
        costs = make_costs(context, minimum, cost, preferred)
        context.label_of(target)

        def find(instance: Instance, cancel: Cancel | None) -> Contrastive:
            start = time.monotonic()
            moves = make_moves(
                context,
                context.near(instance, ball),
                fixed=kept,
                directions=directions,
                limits=limits,
                scale=scale,
                usual=self._spreads,
            )
            deadline = context.deadline(seconds_after(timeout, start))
            ordering = context.order(order, preferred, moves.instance, deadline)
            left = seconds_after(timeout, start)
            return contrastive.find_change(context, moves, target, ordering, distance, left, costs, cancel)

        def explain(instance: Instance, cancel: Cancel | None = None, memory: Memory[Any] | None = None) -> Contrastive:
            return once(memory, instance, lambda: find(instance, cancel))

        return explain

    @counted("explaining")
    def contrastives(
        self,
        x: Any,
        n: int = 3,
        *,
        target: Any = None,
        fixed: Iterable[str | int] = (),
        directions: Mapping[str | int, Literal["up", "down"]] | None = None,
        limits: Mapping[str | int, Sequence[Any]] | None = None,
        within: float | None = None,
        distance: Distance | None = "l1",
        scale: Mapping[str | int, float] | None = None,
        order: Order = "importance",
        prefer: Iterable[str | int] = (),
        timeout: float | None = None,
    ) -> Contrastives:
        """Return up to `n` minimal changes (CXps) that share few features, each with its closest witness.

        The first is that of `contrastive`. The features that each next one shares with those before cannot be
        narrowed: no other one that is still to be found shares only a part of them. If there are fewer than `n`, that
        is proved, and the result says so.

        Parameters
        ----------
        x
            One row, as the model takes it.
        n
            How many.
        target, fixed, directions, limits, within, distance, scale, order, prefer
            As in `contrastive`.
        timeout
            Seconds for all together. When they are over, those found so far are returned.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, patient = tp.examples.heart_disease()
        >>> [change.feature_names for change in tp.Explainer(forest).contrastives(patient)]
        [('chest-pain',), ('blocked-arteries',)]
        """
        start, context = time.monotonic(), self._context
        instance = context.instance(x, make_ball(context, within, scale, self._spreads))
        moves = make_moves(
            context,
            instance,
            fixed=fixed,
            directions=directions,
            limits=limits,
            scale=scale,
            usual=self._spreads,
        )
        ordering = context.order(order, prefer, instance, deadline_after(seconds_after(timeout, start)))
        left = seconds_after(timeout, start)
        return contrastive.find_changes(context, moves, target, n, ordering, distance, left)

    @counted("explaining")
    def robustness(
        self,
        x: Any,
        norm: NormName = "linf",
        *,
        target: Any = None,
        keep: Iterable[str | int] = (),
        scale: Mapping[str | int, float] | None = None,
        timeout: float | None = None,
    ) -> Robustness:
        """Return the largest distance below which the prediction is proved constant, and the nearest flip.

        Parameters
        ----------
        x
            One row, as the model takes it.
        norm
            ``"linf"``: the largest change of a feature; ``"l1"``: the sum of the changes; ``"l0"``: the number of
            changed features. The first two divide changes by the feature's scale.
        target
            The class that must not be reached; by default any other class.
        keep
            Features that keep their values: how far may the others move until the label changes? If these are the
            features of an abductive explanation, they may move anywhere.
        scale
            Feature to the difference that counts as a distance of 1, as in `contrastive`.
        timeout
            Seconds. When they are over, the distance proved and the nearest flip found so far are returned, with
            status ``"bounds"``.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, patient = tp.examples.heart_disease()
        >>> tp.Explainer(forest).robustness(patient).proved
        0.5
        """
        context = self._context
        moves = make_moves(context, context.instance(x), fixed=keep, scale=scale, usual=self._spreads)
        found = robustness.measure(context, moves, norm, target, context.plain.order("importance", ()), timeout)
        if norm == "l0" or found.status == "constant":
            return found
        return replace(found, scale=make_scales(context, scale, self._spreads).measure)

    def enumerate(
        self,
        x: Any,
        *,
        kind: ExplanationKind = "abductive",
        target: Any = None,
        within: float | None = None,
        scale: Mapping[str | int, float] | None = None,
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
        within, scale
            For the explanations among the inputs near `x`, of both kinds: as in `abductive`.
        limit
            Stop after so many.
        timeout
            Seconds from the first request.
        order
            As in `abductive`.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, patient = tp.examples.heart_disease()
        >>> [change.feature_names for change in tp.Explainer(forest).enumerate(patient, kind="contrastive")]
        [('chest-pain',), ('blocked-arteries',)]
        """
        context = self._context
        instance = context.instance(x, self._ball(within, scale))
        ordering = context.order(order, (), instance, deadline_after(timeout))
        return enumerate_all(context, instance, kind, target, limit, timeout, ordering)

    @counted("explaining")
    def relevance(self, x: Any, *, timeout: float | None = None) -> Relevance:
        """Return for each feature whether it is in every, in some or in no abductive explanation; all of it proved.

        Parameters
        ----------
        x
            One row, as the model takes it.
        timeout
            Seconds. When they are over, features that were not decided are ``"unknown"``. To show that a feature is
            irrelevant, all explanations have to be enumerated, of which there may be very many.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, patient = tp.examples.heart_disease()
        >>> tp.Explainer(forest).relevance(patient).necessary
        ('blocked-arteries', 'chest-pain')
        """
        return relevance.grade(self._context, self._context.instance(x), timeout)

    @counted("explaining")
    def attribution(self, x: Any, *, limit: int | None = None, timeout: float | None = None) -> Attribution:
        """Return the share of abductive explanations that contain each feature: exact, if all could be enumerated.

        Parameters
        ----------
        x
            One row, as the model takes it.
        limit
            Stop after so many abductive explanations.
        timeout
            Seconds. When they are over, shares are of the explanations found so far, and the result says so.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, patient = tp.examples.heart_disease()
        >>> tp.Explainer(forest).attribution(patient).counts
        (1, 0, 1, 0)
        """
        return attribution.attribute(self._context, self._context.instance(x), limit, timeout)

    @counted("explaining")
    def most_general(self, x: Any, X: Any, *, timeout: float | None = None) -> MostGeneral:
        """Return the rule around `x` that forces its label and covers the most rows of `X`, proved to be so.

        A rule has a range or a set of values for each feature. The result is widened further where no row of `X` tells
        the difference, the least important features first.

        Parameters
        ----------
        x
            One row, as the model takes it.
        X
            Rows to cover, as the model takes them; their labels are those that the model predicts.
        timeout
            Seconds. When they are over, the best rule so far is returned with status ``"sound"`` and a proved bound
            on what any rule covers; it covers no fewer than that of ``abductive(x, inflate=True, timeout=...)``, found
            first. With many features and rows the optimum may take hours, a good rule seconds.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.ensemble import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> explainer = Explainer(RandomForestClassifier(20, max_depth=3, random_state=0).fit(X, y))
        >>> print(explainer.most_general(X.iloc[60], X))
        1, whenever
          petal length (cm) <= 4.95
          0.8 < petal width (cm) <= 1.6
        Proved: whatever satisfies this gets the label 1. It covers 47 of 150 rows (31.3%); no rule around this row
        that forces the label covers more, and no condition can be widened.
        Numbers are compared as the model reads them: as float32.
        """
        context = self._context.plain
        return most_general.generalise(context, context.instance(x), X, context.order("importance", ()), timeout)

    @counted("searching")
    def rules(
        self, X: Any, *, at_most: int = 5, at_most_conditions: int | None = None, timeout: float | None = None
    ) -> Rules:
        """Return a short list of rules, each proved to force its label, that cover many rows of `X`.

        The rules are widened explanations of rows, extended towards other rows, and chosen greedily for each label that
        the model predicts for the rows: how many rows they cover is counted, not proved to be the most.

        Parameters
        ----------
        X
            Rows to cover, as the model takes them; their labels are those that the model predicts.
        at_most
            Rules for each label.
        at_most_conditions
            Conditions in each rule; by default any number. Rows that have no such rule stay uncovered.
        timeout
            Seconds, shared by the labels. When they are over, the rules so far are returned with status ``"sound"``.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.ensemble import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> explainer = Explainer(RandomForestClassifier(20, max_depth=3, random_state=0).fit(X, y))
        >>> print(explainer.rules(X, at_most=2))
        5 rules cover 148 of 150 rows (98.7%)
          if petal width (cm) <= 0.7 then 0: 50 rows
          if petal length (cm) <= 4.95 and 0.8 < petal width (cm) <= 1.6 then 1: 47 rows
          if 2.35 < petal length (cm) <= 4.75 and 0.8 < petal width (cm) <= 1.75 then 1: 45 rows
          if petal length (cm) > 4.75 and petal width (cm) > 1.75 then 2: 46 rows
          if petal length (cm) >= 5.05 and petal width (cm) > 0.8 then 2: 42 rows
        Covered by label: 0 50 of 50, 1 48 of 48, 2 50 of 52.
        Proved: every input that satisfies one of them has its label.
        In no rule: 77, 119.
        Numbers are compared as the model reads them: as float32.
        """
        return rules.find_rules(self._context.plain, X, at_most, at_most_conditions, timeout)

    @counted("explaining")
    def coverage(self, rule: Any, X: Any) -> Coverage:
        """Count the rows of `X` that satisfy a rule.

        Parameters
        ----------
        rule
            A result with a rule, such as that of `abductive`, or conditions: text, or a list of text or `Condition`.
        X
            Rows, as the model takes them. A row outside the space (see `kinds`, `one_hot`, `bounds` and `constraints`)
            is an `InputError`: nothing is proved about it.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, patient = tp.examples.heart_disease()
        >>> explainer = tp.Explainer(forest)
        >>> print(explainer.coverage(explainer.abductive(patient), [patient, [1, 0, 0, 80]]))
        1 of 2 rows (50.0%)
        """
        return coverage.count_covered(self._context, rule, X)

    @counted("searching")
    def extremes(self, *, of: Any = None, where: Any = None, timeout: float | None = None) -> Extremes:
        """Return the lowest and the highest score that any input has, each proved, with the inputs that reach them.

        Parameters
        ----------
        of
            Of a classifier, the class whose score is meant; by default the second of two. The score is the mean
            probability or the share of the votes in a forest, what a boosted model adds up (mostly log-odds), or what a
            regressor predicts.
        where
            Conditions that inputs satisfy, such as ``"income > 20 and age < 30"``; by default all inputs of the space.
        timeout
            Seconds. When they are over, the ends are known up to a gap.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, _ = tp.examples.heart_disease()
        >>> found = tp.Explainer(forest).extremes(of="Yes")
        >>> found.lowest.value, found.highest.value, found.status
        (0.0, 1.0, 'exact')
        """
        return extremes.find_extremes(self.scored_context, of, where, self._link, timeout)

    @counted("proving")
    def prove(self, claim: Any, *, label: Any = None, examples: int = 1, timeout: float | None = None) -> Statement:
        """Decide whether a statement is true of every input of the space: proved, or with counterexamples.

        Parameters
        ----------
        claim
            ``"if defaults = 0 and income > 60 then approve"``, or ``"... then not approve"``; or, with `label`, the
            conditions alone, as in `review`. Conditions are read as they are written.
        label
            The label that the conditions should force.
        examples
            How many different counterexamples to look for.
        timeout
            Seconds. When they are over, the answer is None.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, _ = tp.examples.heart_disease()
        >>> explainer = tp.Explainer(forest)
        >>> explainer.prove("if chest-pain = 0 and blocked-arteries = 0 then not Yes").holds
        True
        >>> len(explainer.prove("weight > 80", label="Yes", examples=3).counterexamples)
        3
        """
        return prove.prove(self._context, claim, label, examples, timeout)

    @counted("proving")
    def monotone(
        self,
        feature: str | int | None = None,
        *,
        increasing: bool = True,
        of: Any = None,
        where: Any = None,
        timeout: float | None = None,
    ) -> Monotone | Monotonicity:
        """Decide whether the score never falls as a feature grows and nothing else changes; for all inputs, proved.

        Parameters
        ----------
        feature
            A feature whose values have an order. Without one, all of them are decided, in both directions.
        increasing
            Whether the score should never fall; otherwise it should never rise.
        of, where
            As in `extremes`.
        timeout
            Seconds. When they are over, what is not decided is None.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, _ = tp.examples.heart_disease()
        >>> tp.Explainer(forest).monotone("weight").holds
        True
        """
        if feature is None:
            return monotone.all_monotone(self.scored_context, of, where, timeout)
        return monotone.is_monotone(self.scored_context, feature, increasing, of, where, timeout)

    @counted("searching")
    def effect(self, features: Any, *, of: Any = None, where: Any = None, timeout: float | None = None) -> Effect:
        """Return the largest change of the score when these features alone change, over all inputs; proved.

        Also whether the label can change at all. The pair of inputs that shows it differs in these features only.

        Parameters
        ----------
        features
            A feature or a group by name or index, or a list of them, which change together.
        of, where
            As in `extremes`. Both inputs of a pair satisfy the conditions.
        timeout
            Seconds. When they are over, the change is known up to a gap.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, _ = tp.examples.heart_disease()
        >>> found = tp.Explainer(forest).effect("weight")
        >>> round(found.value, 3), found.changes_label
        (0.333, True)
        """
        return effect.find_effect(self.scored_context, features, of, where, timeout)

    @counted("proving")
    def independent(self, features: Any, *, where: Any = None, timeout: float | None = None) -> Independence:
        """Decide whether the label never depends on these features: proved for all inputs, or two inputs that show it.

        Parameters
        ----------
        features
            Features or groups by name or index, which may change together.
        where
            As in `extremes`.
        timeout
            Seconds. When they are over, the answer may be None.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, _ = tp.examples.heart_disease()
        >>> tp.Explainer(forest).independent(["weight"], where="chest-pain = 0 and blocked-arteries = 0").holds
        True
        """
        return effect.is_independent(self._context, features, where, timeout)

    @property
    def scored_context(self) -> Context:
        """What questions about all inputs work with: the context, if need be with a label that nobody asks about."""
        if self._made is not None:
            return self._made
        made = self._make(self._forest.with_cuts([0.0], ["< 0", ">= 0"]), None)
        assert made is not None
        return made

    @counted("explaining")
    def holds(
        self,
        x: Any,
        features: Iterable[str | int | Condition],
        *,
        within: float | None = None,
        scale: Mapping[str | int, float] | None = None,
        timeout: float | None = None,
    ) -> Verdict:
        """Decide whether the values of these features in `x` alone, or conditions on them, force the prediction.

        The result is true or false in a condition, and carries a witness if it is false.

        Parameters
        ----------
        x
            One row, as the model takes it.
        features
            Features by name or index, which keep their values; the others may take any. Beside them, conditions that
            `x` satisfies, as text such as ``"age <= 30"`` or as `Condition`: such a feature may take any value that
            satisfies them. `review` also says what is redundant, and repairs what does not hold.
        within, scale
            How far the others may move, as in `abductive`.
        timeout
            Seconds. When they are over, ``holds`` is None.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, patient = tp.examples.heart_disease()
        >>> explainer = tp.Explainer(forest)
        >>> print(explainer.holds(patient, ["chest-pain", "blocked-arteries"]).holds)
        True
        >>> explainer.holds(patient, ["chest-pain"]).witness
        (0.5, 0.0, 1.0, 70.0)
        >>> explainer.holds(patient, ["chest-pain", "blocked-arteries > 0.7"]).holds
        True
        """
        return holds.judge(self._context, self._context.instance(x, self._ball(within, scale)), features, timeout)

    @counted("explaining")
    def review(
        self,
        x: Any = None,
        claim: Any = None,
        *,
        label: Any = None,
        top: int | None = None,
        within: float | None = None,
        scale: Mapping[str | int, float] | None = None,
        timeout: float | None = None,
    ) -> Review:
        """Decide whether somebody else's explanation forces the prediction; if not, show an input and repair it.

        Conditions are read as they are written: ``x <= 2.4`` is about the float64 number 2.4, and a counterexample
        satisfies it exactly. Most models round inputs to float32, so ``x > 2`` includes numbers that it sees as 2.

        Parameters
        ----------
        x
            One row, as the model takes it. Without it, `label` must be given, and what does not hold is not repaired.
        claim
            Features by name or index (they keep their values in `x`), conditions such as ``"age <= 30"``,
            ``"1 < width <= 3.5"``, ``"colour in {red, blue}"`` as a list or joined by "and", `Condition` objects, or an
            `Abductive` explanation, be it of another row or of another model with the same features. The columns of a
            one-hot group may be named as well. Of another tool: a ``shap.Explanation`` of the row, or attributions
            as an array, a Series or a mapping by name (for several classes, those of the predicted one count), which
            claim that the features with an attribution other than 0 force the prediction; or the explanation of LIME,
            or its ``as_list()``, whose conditions are claimed together.
        label
            Instead of a row: the label that the conditions should force.
        top
            Of attributions, or of LIME's pairs: claim only so many, those of the largest absolute value.
        within, scale
            How far features without a condition may move, as in `abductive`: whether the claim holds near the row. A
            local explanation is judged within its own radius, unless another one is given.
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
        return review.review(self._context, x, claim, label, timeout, top, self._ball(within, scale))

    def audit(
        self,
        X: Any,
        protected: Iterable[str | int],
        *,
        n_jobs: int | None = None,
        progress: bool = False,
        timeout: float | None = None,
    ) -> Audit:
        """Decide for every row whether its prediction rests on protected features.

        A change of protected features alone, all others kept, either can give another prediction, which a witness
        shows, or it is proved that it cannot: then there is an explanation without them, and it is given.

        Parameters
        ----------
        X
            Rows, as the model takes them.
        protected
            Features by name or index.
        n_jobs, progress
            As in `batch`.
        timeout
            Seconds for each row. A row that was not decided in time counts as unknown.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, patient = tp.examples.heart_disease()
        >>> audit = tp.Explainer(forest).audit([patient, [0, 1, 0, 80]], protected=["weight"])
        >>> audit.n_flips, audit.n_free, audit.rows[0].why.feature_names
        (0, 2, ('blocked-arteries', 'chest-pain'))
        """
        return audit.audit(self._context, X, protected, n_jobs, progress, timeout)

    def workbench(self, X: Any, *, other: Explainer | None = None, title: str = "Workbench") -> Any:
        """Return a widget for notebooks on which all these questions are asked by clicks; what it says is proved.

        It needs the extra ``treeproof[notebook]``. ``treeproof serve`` opens the same page in a browser. The widget's
        ``save(path)`` writes what it shows as a page of its own.

        Parameters
        ----------
        X
            Rows, as the model takes them.
        other
            An explainer of a second model with the same features, to compare with.
        title
            What the page is called.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, patient = tp.examples.heart_disease()
        >>> widget = tp.Explainer(forest).workbench([patient])
        >>> type(widget).__name__
        'Workbench'
        """
        from treeproof.workbench.session import Session
        from treeproof.workbench.widget import Workbench

        if other is not None and not isinstance(other, Explainer):
            raise InputError(f"The 'other' parameter must be an Explainer. Got {other!r} instead.")
        return Workbench(Session([self] if other is None else [self, other], X, title=title))

    def encode(
        self,
        x: Any,
        *,
        features: Iterable[str | int] | None = None,
        target: Any = None,
        format: Literal["dimacs", "smtlib"] = "dimacs",
        timeout: float | None = None,
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
        timeout
            Seconds. If the formula is not complete by then, there is none: `UnsupportedQueryError`.
        **options
            Options of the ``"sat"`` oracle, such as ``preset="paper"``.

        Examples
        --------
        >>> import treeproof as tp
        >>> forest, patient = tp.examples.heart_disease()
        >>> text = tp.Explainer(forest).encode(patient, features=["chest-pain"], preset="paper")
        >>> [line for line in text.splitlines() if line.startswith("p ")]
        ['p cnf ...']
        """
        context = self._context
        return encode.encode(context, context.instance(x), features, target, format, options, timeout)

    def __repr__(self) -> str:
        oracle = "" if self._made is None else f", oracle={self._made.oracle.name!r}"
        return f"Explainer({self.forest!r}{oracle})"


def state(
    model: Any,
    *,
    vote: Vote | None = None,
    threshold: float | None = None,
    confidence: float | None = None,
    cuts: Iterable[float] | None = None,
    data: Any = None,
) -> Forest:
    """Return the forest whose label is what is to be explained about a model."""
    stated = {"threshold": threshold, "confidence": confidence, "cuts": cuts}
    given = [name for name, value in stated.items() if value is not None]
    if len(given) > 1:
        raise InputError(f"Only one of 'threshold', 'confidence' and 'cuts' can be given. Got {' and '.join(given)}.")
    forest = import_model(model, vote=vote, data=data)
    if threshold is not None:
        return statements.cut_probability(forest, threshold, probability_of(model))
    if confidence is not None:
        return statements.with_confidence(forest, confidence, probability_of(model))
    return forest if cuts is None else statements.cut_score(forest, cuts, link_of(model))


def _refuse_misspelt(options: Mapping[str, Any], oracle: str) -> None:
    """Refuse an option that is written much like one of the explainer's; any other is the oracle's own affair."""
    own = [name for name in inspect.signature(Explainer).parameters if name not in ("model", "options")]
    for option in options:
        near = "" if option in options_of(oracle) else did_you_mean(option, own)
        if near:
            raise InputError(f"An option must be one of Explainer's, or of the oracle's. Got {option!r}.{near}")


def _source(model: Any) -> str:
    """Return what kind of model an explainer was made of, for people."""
    if isinstance(model, Forest):
        return "Forest of treeproof"
    package = type(model).__module__.partition(".")[0]
    steps = ", ".join(type(step).__name__ for _, step in getattr(model, "steps", ()))
    return f"{type(model).__name__} of {package}" + (f" ({steps})" if steps else "")


def _make_context(
    space: Space,
    units: Units,
    oracle: str,
    options: Mapping[str, Any],
    verify: bool,
    form: Form,
    forest: Forest,
    names: Mapping[Any, str] | None,
) -> Context | None:
    """Return the context of a forest that differs from the space's own at most in where its score is cut.

    None if it gives no labels: a regressor's score needs cuts first.
    """
    if forest.decision.cuts == ():
        if names:
            raise InputError("A regressor's score has no labels to name. Pass 'cuts' as well, or leave out 'names'.")
        return None
    labels = name_labels(forest.classes.tolist(), names)
    start = time.perf_counter()
    stated = replace(space, forest=forest)
    cells = discretise(stated)
    context = Context(forest, stated, cells, make_oracle(oracle, cells, **options), labels, form, units)
    if verify:
        context = replace(context, oracle=VerifiedOracle(context))
    _log.debug(
        "%r over %d features: %s oracle in %.3g s", forest, space.n_features, oracle, time.perf_counter() - start
    )
    return context
