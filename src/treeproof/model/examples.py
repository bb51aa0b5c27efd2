"""Small forests to try things on."""

from __future__ import annotations

from treeproof.model.build import build_forest, split
from treeproof.model.forest import Forest


def heart_disease() -> tuple[Forest, list[float]]:
    """Return the running example of Izza and Marques-Silva (IJCAI 2021): a forest of three trees, and a patient.

    The trees are those that the paper's example of the encoding describes.

    >>> forest, patient = heart_disease()
    >>> forest.predict([patient]).tolist()
    ['Yes']
    """
    forest = build_forest(
        [
            split("blocked-arteries", 0.5, "No", split("chest-pain", 0.5, "No", "Yes")),
            split("good-blood-circulation", 0.5, split("weight", 75, "No", "Yes"), "No"),
            split(
                "good-blood-circulation",
                0.5,
                split("chest-pain", 0.5, "No", "Yes"),
                split("blocked-arteries", 0.5, "No", "Yes"),
            ),
        ],
        columns=["blocked-arteries", "good-blood-circulation", "chest-pain", "weight"],
        classes=["No", "Yes"],
    )
    return forest, [1, 0, 1, 70]
