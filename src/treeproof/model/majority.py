"""Breiman's majority vote as a scikit-learn estimator: the forests that the literature on proofs is about.

scikit-learn's own RandomForestClassifier averages the trees' probabilities instead; the two often disagree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils.parallel import Parallel, delayed

from treeproof.errors import InputError

Counts = npt.NDArray[np.int64]


class MajorityForestClassifier(RandomForestClassifier):  # type: ignore[misc]
    """Exactly the trees of RandomForestClassifier (same parameters, same seed), predicting by majority vote.

    Each tree votes for the first maximum of the leaf that a row reaches, and the class with the most votes wins;
    ties go to the one that comes first in ``classes_``. Votes are counted in whole numbers, so the
    prediction does not depend on `n_jobs`. One output only.

    All parameters, and all attributes after `fit`, are those of RandomForestClassifier. ``oob_score=True``
    scores the out-of-bag votes, and ``oob_decision_function_`` holds their shares.

    This is the vote of L. Breiman, "Random forests", Machine Learning 45(1), 2001, definition 1.1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MajorityForestClassifier(n_estimators=10, max_depth=3, random_state=0).fit(X, y)
    >>> model.predict(X[[0, 100]]).tolist()
    [0, 2]
    >>> model.predict_proba(X[[0, 100]]).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MajorityForestClassifier:
        """Grow the trees exactly as RandomForestClassifier does.

        Parameters
        ----------
        X
            The rows, dense or sparse, of shape (n_rows, n_features).
        y
            The class of each row.
        sample_weight
            Weight of each row; by default all are equal.
        """
        shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
        if len(shape) == 2 and shape[1] > 1:
            raise InputError(
                "The 'y' parameter of fit must hold one class for each row: shape (n_rows,). "
                f"Got shape {shape} instead; train one forest for each column."
            )
        super().fit(X, y, sample_weight=sample_weight)
        return self

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the share of the trees' votes that each class gets, in the order of ``classes_``.

        The first maximum of a row is its prediction: shares differ exactly where counts do.

        Parameters
        ----------
        X
            The rows, dense or sparse, of shape (n_rows, n_features).
        """
        rows = self._validate_X_predict(X)
        trees = self.estimators_
        n_jobs = min(effective_n_jobs(self.n_jobs), len(trees))
        if n_jobs == 1:
            counts = _count_votes(trees, rows)
        else:
            shared = [trees[job::n_jobs] for job in range(n_jobs)]
            counts = sum(
                Parallel(n_jobs=n_jobs, verbose=self.verbose, require="sharedmem")(
                    delayed(_count_votes)(part, rows) for part in shared
                )
            )
        return np.asarray(counts / len(trees))

    @staticmethod
    def _get_oob_predictions(tree: Any, X: Any) -> Counts:
        # scikit-learn adds these up over the trees that did not see a row, and divides by their number.
        return _count_votes([tree], X)[:, :, np.newaxis]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        tags.target_tags.multi_output = False
        return tags


def _count_votes(trees: Sequence[Any], rows: Any) -> Counts:
    """Return how many of the trees vote for each class, for each row."""
    n_rows = rows.shape[0]
    n_classes = trees[0].tree_.max_n_classes
    counts = np.zeros(n_rows * n_classes, dtype=np.int64)
    first = np.arange(0, n_rows * n_classes, n_classes)
    for tree in trees:
        nodes = tree.tree_
        leaves = nodes.apply(rows)
        values = nodes.value[:, 0, :]
        few = n_rows < nodes.node_count
        votes = np.argmax(values[leaves], axis=1) if few else np.argmax(values, axis=1)[leaves]
        counts[first + votes] += 1
    return counts.reshape(n_rows, n_classes)
