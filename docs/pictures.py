"""Draw every picture of the documentation: ``python docs/pictures.py [FOLDER]``, by default ``docs/pictures``.

The same versions of the libraries give the same files.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier

import treeproof as tp

FOLDER = Path(__file__).parent / "pictures"


def save(ax, folder: Path, name: str) -> None:
    """Write the figure of some axes."""
    figure = np.ravel(ax)[0].figure
    figure.savefig(folder / f"{name}.png", dpi=110, metadata={"Software": None})
    plt.close(figure)


def colours() -> tuple[tp.Explainer, list, list]:
    """Return an explainer with named values and missing ones, a row, and rows."""
    columns = [tp.Column("colour", ("red", "green", "blue", "grey", None)), tp.Column("weight", missing="expected")]
    heavy = tp.split("weight", 3.0, "hold", "ship")
    tree = tp.isin("colour", ["red", "blue"], tp.split("weight", 1.0, "ship", heavy, missing="yes"), "hold")
    forest = tp.build_forest([tree], columns=columns, classes=["ship", "hold"])
    rng = np.random.default_rng(0)
    names = ["red", "green", "blue", "grey", None]
    rows = [
        [names[int(k)], None if gone else float(w)]
        for k, w, gone in zip(
            rng.choice(5, 200, p=[0.4, 0.2, 0.2, 0.1, 0.1]), rng.gamma(4, 0.6, 200), rng.random(200) < 0.1, strict=True
        )
    ]
    return tp.Explainer(forest), ["blue", 3.5], rows


def draw(folder: Path) -> None:
    """Draw all pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    X, y = load_iris(return_X_y=True, as_frame=True)
    labels = load_iris().target_names[y]
    explainer = tp.Explainer(RandomForestClassifier(random_state=0, max_depth=4).fit(X, labels))
    x = X.iloc[70]
    save(explainer.abductive(x, inflate=True).plot(X), folder, "why")
    save(explainer.contrastive(x, target="setosa").plot(X), folder, "change")
    named, row, rows = colours()
    save(named.abductive(row, inflate=True).plot(rows), folder, "named")
    X, y = load_wine(return_X_y=True, as_frame=True)
    explainer = tp.Explainer(RandomForestClassifier(10, random_state=0, max_depth=3).fit(X, y))
    save(explainer.enumerate(X.iloc[0], kind="both").plot(), folder, "matrix")
    save(explainer.attribution(X.iloc[0]).plot(), folder, "attribution")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    explainer = tp.Explainer(RandomForestClassifier(30, random_state=0, max_depth=4).fit(X, y))
    save(tp.plots.overview(explainer.batch(X[:200])), folder, "overview")


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
