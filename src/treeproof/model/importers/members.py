"""Models that average other models: bagging and voting of forests, boosted regressors, and of each other.

What a member gives, a probability for each class or a number, is a sum of leaf values, divided and rounded. It is
multiplied by the member's weight, which rounds, and added to what the members before it give; the total is divided.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.ensemble import BaggingClassifier, BaggingRegressor, VotingClassifier, VotingRegressor
from sklearn.ensemble._forest import BaseForest, ForestClassifier
from sklearn.tree import DecisionTreeClassifier

from treeproof.errors import UnsupportedModelError
from treeproof.model.columns import LEAF, Column
from treeproof.model.decision import Member, Sums
from treeproof.model.floats import FINITE_AS_FLOAT32, FLOAT32, FLOAT64, FLOATS, Floats, rounded_up_to
from treeproof.model.forest import Forest
from treeproof.model.importers import import_model, is_taken, link_of, unwrapped
from treeproof.model.importers.assemble import Tree, assemble, column_names
from treeproof.model.importers.selfcheck import check_against, check_scores, decoded
from treeproof.model.importers.sklearn import sequential
from treeproof.model.importers.tree_nodes import require_known
from treeproof.model.scores import as_means

_MISSING = ("never", "possible", "expected")


def load_average(model: Any, chosen: Sequence[Any], weights: Any = None) -> Forest:
    """Return the forest of a fitted model that averages its `estimators_`, each of which sees the chosen columns.

    Its labels or scores are checked against the model's.
    """
    classes = getattr(model, "classes_", None)
    forests = [
        _number(model, place) if classes is None else _probabilities(model, place, n_classes=len(classes))
        for place in range(len(model.estimators_))
    ]
    columns, floats = _columns(model, forests, chosen)
    # Numpy adds, and multiplies by weights, in the finest numbers that members or weights have.
    ones = np.ones((len(forests), 1), np.result_type(*(forest.decision.floats.dtype for forest in forests)))
    mean, divisor = np.average(ones, axis=0, weights=weights, returned=True)
    if mean.dtype.name not in FLOATS:
        raise UnsupportedModelError(f"The weights must be float64 numbers. Got numbers of the type {mean.dtype}.")
    numbers = FLOATS[mean.dtype.name]
    members: list[Member] = []
    n_trees = 0
    for place, forest in enumerate(forests):
        members += _members(forest, n_trees, numbers, 1.0 if weights is None else numbers.round(weights[place]))
        n_trees += forest.n_trees
    n_sums = 1 if classes is None else len(classes)
    forest = assemble(
        [_trees(forest, own, floats) for forest, own in zip(forests, chosen, strict=True)],
        classes=np.array(["any score"]) if classes is None else classes,
        columns=columns,
        importances=_importances(forests, chosen, len(columns), weights),
        vote="sum",
        dtype=floats.name,
        sums=Sums(
            (0.0,) * n_sums,
            numbers.name,
            divisor=float(divisor[0]),
            cuts=() if classes is None else None,
            members=tuple(members),
        ),
    )
    one_by_one = _one_by_one(model)

    def given(rows: Any) -> Any:
        return decoded(forest, rows, hasattr(model, "feature_names_in_"))

    if classes is None:
        check_scores(forest, lambda rows: one_by_one.predict(given(rows)))
    else:
        check_scores(forest, lambda rows: one_by_one.predict_proba(given(rows)))
        check_against(forest, lambda rows: one_by_one.predict(given(rows)))
    return forest


def _number(model: Any, place: int) -> Forest:
    """Return a member whose sum is what it predicts."""
    member = unwrapped(model.estimators_[place])
    _require_taken(model, place, member)
    forest = import_model(member)
    if forest.decision.cuts != () or link_of(member) is not None:
        raise UnsupportedModelError(
            f"A {type(model).__name__} must combine regressors that predict sums of leaf values. Got "
            f"{type(member).__name__}, which predicts a function of such a sum; explain it alone: "
            f"model.estimators_[{place}]."
        )
    return forest


def _probabilities(model: Any, place: int, n_classes: int) -> Forest:
    """Return a member whose sums are its probabilities, for all classes of the model."""
    member = unwrapped(model.estimators_[place])
    _require_taken(model, place, member)
    if not gives_means(member):
        or_without = ", or leave it out" if isinstance(model, VotingClassifier) else ""
        raise UnsupportedModelError(
            f"A {type(model).__name__} must combine decision trees, forests, or bagging and soft voting of these: "
            f"their probabilities are means of leaf values. Got {type(member).__name__}, whose probabilities are not. "
            f"Explain it alone, model.estimators_[{place}]{or_without}."
        )
    if isinstance(member, DecisionTreeClassifier):
        require_known(member, "predict_proba", [DecisionTreeClassifier.__dict__["predict_proba"]])
    forest = import_model(member)
    means = as_means(forest) if forest.sums is None else forest
    # Classes of members are numbers, given to them by the model; a member may not have seen all of them.
    known = np.asarray(member.classes_, dtype=int).tolist()
    if known == list(range(n_classes)):
        return means
    values = np.zeros((means.n_nodes, n_classes))
    values[:, known] = means.values

    def spread(start: tuple[float, ...]) -> tuple[float, ...]:
        of_class = dict(zip(known, start, strict=True))
        return tuple(of_class.get(k, 0.0) for k in range(n_classes))

    sums = dataclasses.replace(
        means.decision,
        start=spread(means.decision.start),
        members=tuple(dataclasses.replace(m, start=spread(m.start)) for m in means.decision.members),
    )
    return dataclasses.replace(means, values=values, classes=np.arange(n_classes), sums=sums)


def gives_means(member: Any) -> bool:
    """Return whether the probabilities of a classifier are means of leaf values, or of such means."""
    member = unwrapped(member)
    soft = isinstance(member, VotingClassifier) and member.voting == "soft"
    return soft or isinstance(member, ForestClassifier | DecisionTreeClassifier | BaggingClassifier)


def _require_taken(model: Any, place: int, member: Any) -> None:
    if not is_taken(member):
        raise UnsupportedModelError(
            f"A {type(model).__name__} must combine tree ensembles. Got {type(member).__name__} as "
            f"model.estimators_[{place}]; leave it out."
        )


def _members(forest: Forest, n_before: int, numbers: Floats, weight: float) -> list[Member]:
    """Return a forest as a member behind so many trees, after its own members."""
    own = forest.decision
    end = n_before + forest.n_trees
    same = own.floats is numbers
    inside = [member.moved(n_before) for member in own.members]
    inside.append(Member(n_before, end, own.start, own.divisor, weight if same else 1.0, own.dtype))
    if not same and weight != 1:  # it is multiplied in other numbers than it is added in
        inside.append(Member(n_before, end, (0.0,) * len(own.start), 1.0, weight, numbers.name))
    return inside


def _columns(model: Any, forests: Sequence[Forest], chosen: Sequence[Any]) -> tuple[list[Column], Floats]:
    """Return the columns that all members take, and the float type in which all of them can be read."""
    types = {forest.dtype for forest in forests}
    floats = FLOAT32 if types == {"float32"} else FLOAT64
    columns: list[Column | None] = [None] * model.n_features_in_
    for forest, own in zip(forests, chosen, strict=True):
        for j, column in zip(own, forest.columns, strict=True):
            ends = FINITE_AS_FLOAT32 if forest.floats is FLOAT32 and floats is FLOAT64 else np.inf
            column = dataclasses.replace(column, low=max(column.low, -ends), high=min(column.high, ends))
            columns[j] = column if columns[j] is None else _both(model, columns[j], column)
    named = zip(column_names(model), columns, strict=True)
    # A column that no member sees may be anything that is a number.
    return [Column(name) if seen is None else dataclasses.replace(seen, name=name) for name, seen in named], floats


def _both(model: Any, one: Any, other: Column) -> Column:
    """Return a column that both of two members take."""
    if one.categories is None and other.categories is None:
        one = dataclasses.replace(
            one,
            missing=min(one.missing, other.missing, key=_MISSING.index),
            low=max(one.low, other.low),
            high=min(one.high, other.high),
            integer=one.integer or other.integer,  # they were trained on the same table; not all keep what was in it
        )
        other = dataclasses.replace(other, missing=one.missing, low=one.low, high=one.high, integer=one.integer)
    if dataclasses.replace(one, name=other.name) != other:
        raise UnsupportedModelError(
            f"The members of a {type(model).__name__} must read a column in the same way. They do not read "
            f"{other.name!r} so: its categories, or what is missing in it, differ."
        )
    return other


def _trees(forest: Forest, columns: Any, floats: Floats) -> Tree:
    """Return the trees of a member, over all columns, in the float type of all."""
    threshold = forest.threshold
    if forest.floats is not floats:
        threshold = rounded_up_to(threshold, forest.floats)
    leaf = forest.feature == LEAF
    return Tree(
        feature=np.where(leaf, LEAF, np.asarray(columns)[np.where(leaf, 0, forest.feature)]),
        threshold=threshold,
        left=forest.left,
        right=forest.right,
        values=forest.values,
        missing_left=forest.missing_left,
        left_categories={int(n): forest.subsets[forest.subset[n]] for n in np.flatnonzero(forest.subset != LEAF)},
        roots=forest.roots,
    )


def _importances(forests: Sequence[Forest], chosen: Sequence[Any], n_columns: int, weights: Any) -> Any:
    """Return the weighted mean of the members' importances."""
    found = np.zeros(n_columns)
    for place, (forest, own) in enumerate(zip(forests, chosen, strict=True)):
        total = float(np.abs(forest.importances).sum())
        if total > 0:
            np.add.at(found, own, forest.importances / total * (1.0 if weights is None else weights[place]))
    return found


def _one_by_one(model: Any) -> Any:
    """Return the model without several jobs, in its members too: these add in any order."""
    model = unwrapped(model)
    if not isinstance(model, BaseForest | BaggingClassifier | BaggingRegressor | VotingClassifier | VotingRegressor):
        return model
    alone = sequential(model)
    if not isinstance(model, BaseForest):
        alone.estimators_ = [_one_by_one(member) for member in model.estimators_]
    return alone
