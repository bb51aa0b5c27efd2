"""Draw every picture of the documentation: ``python docs/pictures.py [FOLDER]``, by default ``docs/pictures``.

The same versions of the libraries give the same files.
"""

from __future__ import annotations

import importlib.util
import itertools
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier

import treeproof as tp

PAGES = Path(__file__).parent
FOLDER = PAGES / "pictures"
INK, FAINT, PAID, GOOD, BAD = "#24292f", "#6e7781", "#b35900", "#1a7f37", "#b42318"


def save(ax, folder: Path, name: str) -> None:
    """Write the figure of some axes."""
    figure = np.ravel(ax)[0].figure
    path = folder / f"{name}.png"
    figure.savefig(path, dpi=110, metadata={"Software": None})
    with Image.open(path) as drawn:  # few colours take a third of the room
        few = drawn.convert("RGB").quantize(64, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
    plt.close(figure)


def names_of(page: str) -> dict[str, Any]:
    """Return the names that the code of a page defines, so that a picture shows what the page computes."""
    spec = importlib.util.spec_from_file_location("refresh", PAGES / "refresh.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    names: dict[str, Any] = module.names_of((PAGES / f"{page}.md").read_text(encoding="utf-8"))
    plt.close("all")
    return names


def blank(width: float, height: float) -> Any:
    """Return axes without anything, in inches."""
    ax = plt.figure(figsize=(width, height)).add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, width), ylim=(0, height))
    ax.axis("off")
    return ax


def arrow(ax, start: tuple[float, float], end: tuple[float, float], **style: Any) -> None:
    """Draw an arrow."""
    kept = {"arrowstyle": "-|>", "color": INK, "lw": 1.4, "mutation_scale": 13, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", end, start, arrowprops={**kept, **style})


def pipeline() -> Any:
    """Draw the way from a model to a checked certificate."""
    ax = blank(10, 4.1)
    high, low, width, height = 3.3, 0.8, 1.85, 1.15
    columns = [1.12, 3.7, 6.28, 8.86]
    boxes = [
        ("your model", "scikit-learn, XGBoost,\nLightGBM, pipelines", 0, high, "#f6f8fa"),
        ("Forest", "splits, leaves,\nhow trees are added", 1, high, "#ddf4ff"),
        ("cells", "values that no split\ntells apart", 2, high, "#ddf4ff"),
        ("oracle", "native, sat, smt", 3, high, "#fff8c5"),
        ("search", "deletion, MARCO,\nhitting sets", 3, low, "#fff8c5"),
        ("explanation", "conditions, and\nwhat is proved", 2, low, "#dafbe1"),
        ("certificate", "the proof,\nas a file", 1, low, "#dafbe1"),
        ("checker", "one file of Python,\nno code shared", 0, low, "#f6f8fa"),
    ]
    for title, text, column, y, colour in boxes:
        x, style = columns[column], "round,pad=0,rounding_size=0.1"
        corner = (x - width / 2, y - height / 2)
        ax.add_patch(mpl.patches.FancyBboxPatch(corner, width, height, boxstyle=style, fc=colour, ec=INK))
        write(ax, x, y + 0.29, title, fontsize=13, weight="bold")
        write(ax, x, y - 0.16, text, fontsize=10.5, linespacing=1.25)
    gap, half = width / 2 + 0.05, height / 2 + 0.05
    for left, right in itertools.pairwise(columns):
        arrow(ax, (left + gap, high), (right - gap, high))
        arrow(ax, (right - gap, low), (left + gap, low))
    arrow(ax, (columns[3] + 0.12, low + half), (columns[3] + 0.12, high - half))
    arrow(ax, (columns[3] - 0.12, high - half), (columns[3] - 0.12, low + half))
    middle = (high + low) / 2
    write(ax, columns[3] + 0.22, middle, "query", ha="left")
    write(ax, columns[3] - 0.22, middle, "entailed,\nor refuted by a witness", ha="right")
    arrow(ax, (columns[1] - 0.5, high - half), (columns[0] + 0.5, low + half), linestyle="--")
    write(ax, 2.62, middle, "the model, as it was read", ha="left")
    return ax


def signed(number: float) -> str:
    """Return a number with its sign, a real minus included."""
    return "0" if number == 0 else f"{number:+g}".replace("-", "\N{MINUS SIGN}")


def prices() -> Any:
    """Draw the naive and the priced bound of the forest on the page, by the page's own numbers."""
    page = names_of("how")
    ax = blank(10.6, 6.5)
    for title, paid, base in (("Naive bound", {}, 3.45), ("With prices", page["prices"], 0.1)):
        trees, ages = page["parts"](paid)
        bound = sum(trees) + max(ages)
        proved = bound < 1
        meaning = "refuse needs +1, so it cannot win" if proved else "perhaps refuse wins"
        text = f"the lead of refuse is at most {signed(bound)}: {meaning}"
        write(ax, 0.3, base + 2.65, title, ha="left", fontsize=14, weight="bold")
        write(ax, 2.0, base + 2.65, text, ha="left", fontsize=13, color=GOOD if proved else BAD)
        for t, (node, best) in enumerate(zip(page["forest"].roots, trees, strict=True)):
            stump(ax, page, (1.25 + 2.3 * t, base + 2.05), node, paid.get(node, (0, 0)), best)
        for i, (cell, earned) in enumerate(zip(("age up to 25", "age up to 65", "age above 65"), ages, strict=True)):
            y, colour = base + 2.05 - 0.5 * i, INK if paid else FAINT
            write(ax, 7.35, y, cell, ha="left", color=colour)
            write(ax, 8.55, y, f"earns {earned:g}", ha="left", color=PAID if earned else colour)
        sums = [signed(part) for part in (*trees, max(ages), bound)]
        tree = "best leaf, less price" if paid else "best leaf"
        places = [1.25, 3.55, 5.85, 8.1, 9.85]
        for x, text, below in zip(places, sums, [tree, tree, "30 goes right", "best age", "bound"], strict=True):
            weight = "bold" if below == "bound" else "normal"
            write(ax, x, base + 0.42, text, fontsize=17, weight=weight)
            write(ax, x, base + 0.14, below, fontsize=10, color=FAINT)
        for i, sign in enumerate("+++="):
            write(ax, (places[i] + places[i + 1]) / 2, base + 0.42, sign, fontsize=15, color=FAINT)
    ax.plot([0.3, 10.3], [3.33, 3.33], color=FAINT, lw=0.8)
    return ax


def shared_prices() -> Any:
    """Draw a tree in which a leaf pays also for a split that is not on its path."""
    page = names_of("how")
    ax = blank(9.4, 3.9)
    write(ax, 4.9, 3.55, "income \N{LESS-THAN OR EQUAL TO} 50", fontsize=12)
    for side, cut in ((-1, 25), (1, 40)):
        x = 4.9 + 2.2 * side
        ax.plot([4.9 + 0.3 * side, x - 0.1 * side], [3.38, 2.75], color=INK, lw=1.2)
        write(ax, x, 2.55, f"age \N{LESS-THAN OR EQUAL TO} {cut}", fontsize=12)
        for branch, text in ((-1, "refuse +1"), (1, "approve \N{MINUS SIGN}1")):
            ax.plot([x + 0.15 * branch, x + 0.6 * branch], [2.38, 1.75], color=INK, lw=2.6 if branch < 0 else 1.2)
            write(ax, x + 0.68 * branch, 1.55, text, weight="bold" if branch < 0 else "normal")
        implied = [other for other in page["costs"] if cut <= other]
        for i, other in enumerate(implied):
            own = "on its path" if other == cut else "implied: on another path"
            patch = {"boxstyle": "round,pad=0.25", "fc": PAID if other == cut else "white", "ec": PAID}
            text = f"pays {page['costs'][other]} for age \N{LESS-THAN OR EQUAL TO} {other}, {own}"
            colour = "white" if other == cut else PAID
            write(ax, x - 0.7, 1.1 - 0.42 * i, text, color=colour, fontsize=10, bbox=patch)
            if other != cut:
                arrow(ax, (x + 1.05, 1.1 - 0.42 * i), (6.6, 2.4), color=PAID, linestyle="--")
        write(ax, x - 0.7, 1.1 - 0.42 * len(implied), f"together {page['pays'](cut)}", fontsize=11, weight="bold")
    return ax


def stump(
    ax, page: dict[str, Any], top: tuple[float, float], node: int, price: tuple[float, float], best: float
) -> None:
    """Draw a tree of one split: what its branches pay, and which leaf is the best."""
    forest, lead = page["forest"], page["lead"]
    (x, y), kept = top, forest.column_names[forest.feature[node]] == "income"  # it goes right
    name = forest.column_names[forest.feature[node]]
    write(ax, x, y, f"{name} \N{LESS-THAN OR EQUAL TO} {forest.threshold[node]:g}", fontsize=12)
    for side, leaf, paid in ((-1, forest.left[node], price[0]), (1, forest.right[node], price[1])):
        closed = kept and side < 0
        taken = not closed and lead(leaf) - paid == best
        colour = FAINT if closed else INK
        ax.plot(
            [x + side * 0.15, x + side * 0.55],
            [y - 0.17, y - 0.8],
            color=colour,
            lw=2.6 if taken else 1.2,
            ls=":" if closed else "-",
        )
        text = f"{'refuse' if lead(leaf) > 0 else 'approve'} {signed(lead(leaf))}"
        write(ax, x + side * 0.58, y - 0.97, text, color=colour, weight="bold" if taken else "normal")
        write(ax, x + side * 0.62, y - 0.22, "yes" if side < 0 else "no", color=FAINT, fontsize=10)
        if paid:
            patch = {"boxstyle": "round,pad=0.25", "fc": PAID, "ec": "none"}
            write(ax, x + side * 0.36, y - 0.5, f"pays {paid:g}", color="white", fontsize=10, bbox=patch)


def write(ax, x: float, y: float, text: str, **style: Any) -> None:
    """Write a text."""
    ax.text(x, y, text, **{"ha": "center", "va": "center", "color": INK, "fontsize": 11, **style})


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
    save(explainer.rules(X, at_most=2).plot(), folder, "rules")
    save(explainer.relevance(X.iloc[0]).plot(), folder, "relevance")
    save(explainer.audit(X, protected=["alcohol", "proline"]).plot(), folder, "audit")
    save(explainer.batch(X).plot(values=True), folder, "swarm")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    explainer = tp.Explainer(RandomForestClassifier(30, random_state=0, max_depth=4).fit(X, y))
    save(tp.plots.overview(explainer.batch(X[:200])), folder, "overview")
    page = names_of("tutorial")
    save(page["why"].plot(page["X"]), folder, "tutorial")
    save(names_of("local")["profile"].plot(), folder, "profile")
    save(pipeline(), folder, "pipeline")
    save(prices(), folder, "prices")
    save(shared_prices(), folder, "shared-prices")


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
