"""scikit-learn pipelines: the final estimator's forest, carried back to the columns that people know.

Every column that the final estimator sees must come from one column of the input. Then a split of it is a split of that
column: a cut, if the column is numeric and its transforms never fall, or a set of categories. Where the cut lies is
asked of the transformers themselves, by bisection to the last float, and so is where each category and a missing value
go; no transform is recomputed here. A step that mixes columns, or whose rise cannot be relied on, is refused by name.

`steps` says which column each comes from, `route` what the pipeline takes and makes of it, `carry_back` moves the
splits, and `invert` finds where a cut lies.

Numbers are float64, as in a frame or an array of floats. (Many transformers compute in float32 if all their input is.)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import FeatureUnion, Pipeline

from treeproof.model.columns import Rows
from treeproof.model.decision import Vote
from treeproof.model.forest import Forest
from treeproof.model.importers import Function, sklearn
from treeproof.model.importers.carry_back import carry_back
from treeproof.model.importers.route import Route, find_route
from treeproof.model.importers.selfcheck import boundary_rows, check_against, check_scores
from treeproof.model.importers.sklearn import require_fitted
from treeproof.model.importers.steps import ENCODERS, is_idle
from treeproof.model.importers.tree_nodes import require_known

TAKES = "scikit-learn's Pipeline that ends in one of these"


def takes(model: Any) -> bool:
    """Return whether the model is a pipeline."""
    return isinstance(model, Pipeline)


def load(model: Any, vote: Vote | None) -> Forest:
    """Return the forest of a fitted pipeline, over the columns of its input."""
    from treeproof.model.importers import import_model

    require_fitted(model)
    steps, final = _flattened(model)
    if not steps:
        return import_model(final, vote=vote)
    if vote is None and sklearn.takes(final):
        inner = sklearn.load(final, None, compare=False)  # all that it computes shows in what the pipeline predicts
    else:
        inner = import_model(final, vote=vote)
    route = find_route(steps, final, inner)
    forest = carry_back(route)
    _check(forest, route, vote)
    return forest


def probability(model: Any) -> Callable[[float], float] | None:
    """Return what the final estimator's importer returns."""
    from treeproof.model.importers import probability_of

    return probability_of(_flattened(model)[1])


def decision(model: Any) -> Function | None:
    """Return what the final estimator's importer returns."""
    from treeproof.model.importers import decision_of

    return decision_of(_flattened(model)[1])


def link(model: Any) -> Function | None:
    """Return what the final estimator's importer returns."""
    from treeproof.model.importers import link_of

    return link_of(_flattened(model)[1])


def narrows(model: Any) -> bool:
    """Return whether some step computes in float32 if all its input is float32: any but encoders and selectors."""
    return any(map(_narrows, _flattened(model)[0]))


def _narrows(step: Any) -> bool:
    if isinstance(step, Pipeline):
        return any(_narrows(inner) for _, inner in step.steps)
    if isinstance(step, ColumnTransformer):
        return any(_narrows(inner) for _, inner, _ in step.transformers_)
    if isinstance(step, FeatureUnion):
        return any(_narrows(inner) for _, inner in step.transformer_list)
    return not is_idle(step) and not isinstance(step, (str, SelectorMixin, *ENCODERS))


def _flattened(model: Any) -> tuple[list[Any], Any]:
    """Return the transformers that predict runs through, and the final estimator, also of a pipeline in a pipeline."""
    from treeproof.model.importers import unwrapped

    steps: list[Any] = []
    while isinstance(model, Pipeline):
        require_known(model, "predict", [inspect.getattr_static(Pipeline, "predict")])
        steps += [part for _, step in model.steps[:-1] for part in _parts(step)]
        model = unwrapped(model.steps[-1][1])
    return steps, model


def _parts(step: Any) -> list[Any]:
    """Return the steps of a step that is a pipeline of its own; none, if it does nothing."""
    if type(step) is Pipeline:
        return [part for _, inner in step.steps for part in _parts(inner)]
    return [] if is_idle(step) else [step]


def _check(forest: Forest, route: Route, vote: Vote | None) -> None:
    """Compare the forest with the pipeline, and its sums with those of the final estimator's forest."""
    indices = {seen.name: j for j, seen in enumerate(route.inputs)}

    def given(rows: Rows) -> dict[int, list[Any]]:
        return {
            indices[column.name]: rows[:, i].tolist()
            if column.categories is None
            else [column.categories[int(code)] for code in rows[:, i]]
            for i, column in enumerate(forest.columns)
        }

    rows = boundary_rows(forest)
    if forest.sums is not None:
        check_scores(forest, lambda rows: route.inner.add(route.inner.route(route.seen(given(rows)))), rows)
    if vote is not None:
        return
    if forest.decision.cuts == ():
        check_scores(forest, lambda rows: route.predict(given(rows)), rows, link(route.model))
    else:
        check_against(forest, lambda rows: route.predict(given(rows)), rows)
