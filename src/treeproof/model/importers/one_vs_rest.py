"""scikit-learn's OneVsRestClassifier: the class whose own model gives the largest number.

The model for a class gives the sum of its trees' values, or their mean; with two classes, or several labels at once, a
label is given if that number is above a threshold.
"""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np
from sklearn.multiclass import OneVsRestClassifier

from treeproof.errors import UnsupportedModelError
from treeproof.model.columns import LEAF
from treeproof.model.decision import Sums, Vote
from treeproof.model.forest import Forest
from treeproof.model.importers import unwrapped
from treeproof.model.importers.assemble import Tree, assemble
from treeproof.model.importers.responses import Response, response_of
from treeproof.model.importers.selfcheck import check_against, decoded
from treeproof.model.importers.sklearn import refuse_vote, require_fitted
from treeproof.model.importers.tree_nodes import require_known
from treeproof.model.monotone import find_cut

TAKES = "OneVsRestClassifier"


def takes(model: Any) -> bool:
    """Return whether the model is scikit-learn's OneVsRestClassifier, with one label per row."""
    return isinstance(model, OneVsRestClassifier) and not getattr(model, "multilabel_", False)


def load(model: Any, vote: Vote | None, output: int | None = None) -> Forest:
    """Return the forest of a fitted model, or of one of its labels; it is checked against the model's predict."""
    require_fitted(model)
    refuse_vote(model, vote)
    require_known(model, "predict", [OneVsRestClassifier.__dict__["predict"]])
    asked = copy.copy(model)
    if output is not None or len(model.estimators_) == 1:
        k = output or 0
        response = _response(model.estimators_[k])
        asked.estimators_ = [response.given(np.array([0, 1]))] * len(model.estimators_)
        classes = model.classes_ if output is None else np.array([0, 1])

        def second(sums: Any) -> Any:
            found = asked.predict(response.function(sums)[:, None])
            return (found if output is None else np.asarray(found)[:, k]) == classes[1]

        what = "The label of a OneVsRestClassifier, as a function of what its model gives,"
        cut = find_cut(response.forest, second, what, response.within)
        forest = response.forest.with_cuts([cut], classes.tolist())
    else:
        responses = [_response(member) for member in model.estimators_]
        asked.estimators_ = [response.given(np.array([0, 1])) for response in responses]
        forest = _largest(responses, model.classes_, ties_to=asked.predict(np.zeros((1, 1)))[0])

    def predict(rows: Any) -> Any:
        found = model.predict(decoded(forest, rows, hasattr(model, "feature_names_in_")))
        return found if output is None else np.asarray(found)[:, output]

    check_against(forest, predict)
    return forest


def _response(member: Any) -> Response:
    if type(member).__name__ == "_ConstantPredictor":
        raise UnsupportedModelError(
            "OneVsRestClassifier must have a model for each label. Got a label that all rows of the training data "
            "have, or none; leave it out of the training."
        )
    return response_of(unwrapped(member), ("decision_function", "predict_proba"))


def _largest(responses: list[Response], classes: Any, ties_to: Any) -> Forest:
    """Return the forest in which each class has the sum of its own model; of equal sums, that of `ties_to` wins."""
    first = responses[0].forest
    same = (first.columns, first.dtype, dataclasses.replace(first.decision, start=(0.0,)))
    for response in responses:
        other = response.forest
        probe = np.array([-2.0, 0.3, 5.0], dtype=other.decision.floats.dtype)
        plain = np.array_equal(response.function(probe), probe) and not other.decision.members
        if not plain or (other.columns, other.dtype, dataclasses.replace(other.decision, start=(0.0,))) != same:
            raise UnsupportedModelError(
                "The models of a OneVsRestClassifier for several classes must give sums, or means of equally many "
                "trees, so that they can be compared as sums of leaf values. Use a forest, gradient boosting or "
                "histogram boosting; none of them has to be wrapped for several classes."
            )
    order = range(len(responses)) if ties_to == classes[0] else range(len(responses))[::-1]
    return assemble(
        [_trees(responses[k].forest, place) for place, k in enumerate(order)],
        classes=classes[list(order)],
        columns=first.columns,
        importances=sum(response.forest.importances for response in responses),
        vote="sum",
        dtype=first.dtype,
        sums=Sums(
            tuple(responses[k].forest.decision.start[0] for k in order), first.decision.dtype, first.decision.divisor
        ),
    )


def _trees(forest: Forest, adds_to: int) -> Tree:
    """Return the trees of a forest with one sum, which add to another one."""
    return Tree(
        forest.feature,
        forest.threshold,
        forest.left,
        forest.right,
        forest.values[:, 0],
        forest.missing_left,
        {int(node): forest.subsets[forest.subset[node]] for node in np.flatnonzero(forest.subset != LEAF)},
        adds_to,
        forest.roots,
    )
