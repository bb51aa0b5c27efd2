"""A result speaks of the row as it was when the question was asked."""

from __future__ import annotations

import numpy as np

import treeproof as tp
from treeproof.model.rows import as_rows


def test_changing_the_row_while_its_explanations_are_listed_changes_nothing():
    forest, patient = tp.examples.heart_disease()
    explainer = tp.Explainer(forest)
    expected = list(explainer.enumerate(patient, kind="both"))
    row = np.array(patient, dtype=np.float32)
    results = explainer.enumerate(row, kind="both")
    row[:] = [0, 1, 0, 90]
    assert list(results) == expected


def test_a_batch_reads_its_rows_before_anything_can_change_them():
    forest, patient = tp.examples.heart_disease()
    rows = np.array([patient, patient], dtype=np.float32)
    read = as_rows(rows, forest.columns)
    rows[:] = 0
    assert read.tolist() == [patient, patient]
