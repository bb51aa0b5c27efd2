"""Pictures show what results say, for every kind of value; cards are safe HTML."""

from __future__ import annotations

import datetime
import importlib.util
import pickle
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import treeproof as tp

pytestmark = pytest.mark.slow

DOCS = Path(__file__).resolve().parents[3] / "docs"
HOSTILE = "<script>alert('$x_1$ & \"y\"')</script>\n\u202e"


@pytest.fixture(scope="module")
def iris():
    return load_iris(as_frame=True)


@pytest.fixture(scope="module")
def explainer(iris):
    forest = RandomForestClassifier(20, max_depth=4, random_state=0)
    return tp.Explainer(forest.fit(iris.data, iris.target_names[iris.target]))


@pytest.fixture(autouse=True)
def closed():
    yield
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()  # whatever was drawn can be rendered, without a warning
    plt.close("all")


def shop():
    """A forest with named values, of which one is missing, and a number that may be missing, in its own cell."""
    columns = [tp.Column("colour", ("red", "green", "blue", None)), tp.Column("weight", missing="expected")]
    heavy = tp.split("weight", 3.0, "hold", "ship")
    tree = tp.isin("colour", ["red", "blue"], tp.split("weight", 1.0, "ship", heavy, missing="yes"), "hold")
    return tp.build_forest([tree], columns=columns, classes=["ship", "hold"])


SHOP_ROWS = [["red", 0.5], ["blue", 3.5], ["green", None], [None, 2.0], ["red", 8.0], ["red", None]]


def texts(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def said(ax) -> str:
    """The statement below a picture, on one line."""
    return " ".join(ax.get_xlabel().split())


def names(ax) -> list[str]:
    """The names beside the lines, without the row's values."""
    return [label.get_text().partition("\n")[0] for label in ax.get_yticklabels()]


def values(ax) -> list[str]:
    """The row's values beside the names."""
    return [label.get_text().partition("\n= ")[2] for label in ax.get_yticklabels()]


def proved(ax) -> list[tuple[float, float]]:
    """The ranges drawn as proved, from left to right on each line."""
    colour = mpl.colors.to_rgba(tp.plots.lines.PROVED)
    return [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches if bar.get_facecolor() == colour]


def marked(ax) -> list[tuple[float, float]]:
    """The places of the row's own values."""
    return [
        tuple(line.get_xydata()[0])
        for line in ax.lines
        if line.get_marker() == "o" and len(line.get_xdata()) == 1 and line.get_zorder() == 3
    ]


def test_an_explanation_shows_its_conditions_the_row_and_the_statement(explainer, iris):
    why = explainer.abductive(iris.data.iloc[70], inflate=True)
    ax = why.plot(iris.data)
    assert names(ax) == list(why.feature_names)
    assert ax.get_title(loc="left") == str(why).splitlines()[0]
    assert said(ax) == " ".join([why.claim, "Numbers are compared as the model reads them: as float32."])
    for condition in why.rule:
        for end in condition.bounds(condition.low, condition.high):
            assert end is None or any(end.text in text for text in texts(ax))
    assert [y for _, y in marked(ax)] == list(range(len(why.rule)))
    assert "150 rows" in [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("index", range(0, 150, 25))
def test_the_row_lies_in_the_proved_range_of_every_line(explainer, iris, index):
    why = explainer.abductive(iris.data.iloc[index], inflate=True)
    for data in (None, iris.data):
        ax = why.plot(data)
        spots = marked(ax)
        assert len(proved(ax)) == len(spots) == len(why.rule)
        for (low, high), (x, _) in zip(proved(ax), spots, strict=True):
            assert low - 1e-9 <= x <= high + 1e-9
            assert 0 <= x <= 1


def test_ranges_missing_values_and_names_are_drawn():
    why = tp.Explainer(shop()).abductive(["blue", 3.5], inflate=True)
    several = replace(why.rule[1], low=None, high=None, ranges=((None, 1.0), (why.rule[1].low, None)))
    assert why.rule[1].missing
    for data in (None, SHOP_ROWS):
        for rule, n_ranges in ((why.rule, 1), ((why.rule[0], several), 2)):
            ax = replace(why, rule=rule).plot(data)
            assert len(proved(ax)) == n_ranges
            assert {"red", "green", "blue", "missing"} <= set(texts(ax))
            assert values(ax) == ["", "3.5"]
            assert str(replace(rule[1], name="x")) in texts(ax)
            squares = [line for line in ax.lines if line.get_marker() == "s" and line.get_markersize() > 10]
            assert len(squares) == 3  # red, blue, and a missing weight


def test_a_row_whose_value_is_missing_is_drawn_at_its_place():
    why = tp.Explainer(shop()).abductive(["red", None])
    ax = why.plot(SHOP_ROWS)
    assert marked(ax)[-1] == (tp.plots.lines.MISSING, 1)
    change = tp.Explainer(shop()).contrastive(["red", None], fixed=["colour"])
    ax = change.plot(SHOP_ROWS)
    assert marked(ax) == [(tp.plots.lines.MISSING, 0)]
    assert change.changes[0].after in texts(ax)


def test_one_hot_groups_are_one_line_with_their_values():
    columns = ["size", "red", "green", "blue"]
    tree = tp.split("red", 0.5, tp.split("blue", 0.5, 0, 1), 1)
    forest = tp.build_forest([tree], columns=columns, classes=[0, 1])
    explainer = tp.Explainer(forest, one_hot={"colour": ["red", "green", "blue"]})
    rows = [[1, 1, 0, 0], [2, 0, 0, 1], [3, 0, 1, 0], [3, 0, 1, 0]]
    why = explainer.abductive([5, 0, 0, 1], inflate=True)
    assert why.rule[0].values == ("red", "blue")
    ax = why.plot(rows)
    assert names(ax) == ["colour"]
    assert texts(ax)[:3] == ["red", "green", "blue"]
    assert marked(ax) == [(pytest.approx(2.5 / 3), 0)]
    heights = [-bar.get_height() for bar in ax.patches]
    assert heights[1] == pytest.approx(2 * heights[0])
    change = explainer.contrastive([5, 0, 0, 1])
    assert marked(change.plot(rows)) == [(pytest.approx(2.5 / 3), 0)]


def test_many_values_share_a_place_that_says_so():
    values = [f"value {i}" for i in range(40)]
    tree = tp.isin("town", values[:20], "a", "b")
    explainer = tp.Explainer(tp.build_forest([tree], columns=[tp.Column("town", tuple(values))], classes=["a", "b"]))
    ax = explainer.abductive(["value 13"], inflate=True).plot([[value] for value in values])
    assert {"value 13", "14 more", "20 others"} <= set(texts(ax))
    ax = explainer.contrastive(["value 13"]).plot([[value] for value in values])
    assert "value 20" in texts(ax)


def test_dates_are_written_as_dates():
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=30 * i) for i in range(20)]
    cut = datetime.date(2024, 6, 15).toordinal()
    forest = tp.build_forest([tp.split("day", cut, 0, 1)], columns=["day"], classes=[0, 1])
    explainer = tp.Explainer(forest, kinds={"day": "date"})
    ax = explainer.abductive([days[0]]).plot([[day] for day in days])
    assert values(ax) == ["2024-01-01"]
    assert any("2024-06-15" in text for text in texts(ax))
    ax = explainer.contrastive([days[0]]).plot()
    assert {"2024-01-01", "2024-06-16"} <= set(texts(ax))


def test_an_explanation_without_features_says_so():
    explainer = tp.Explainer(tp.build_forest([tp.leaf("a")], columns=["x"], classes=["a", "b"]))
    ax = explainer.abductive([0]).plot()
    assert texts(ax) == ["whatever the input"]
    ax = explainer.contrastive([0]).plot()
    assert texts(ax) == ["no change does"]
    assert "Proved" in said(ax)
    assert explainer.enumerate([0], kind="contrastive").plot()
    assert explainer.attribution([0]).plot()


@pytest.mark.parametrize("numbers", ["float32", "float64"])
def test_the_largest_and_smallest_numbers_have_a_place(numbers):
    largest = float(np.finfo(numbers).max)
    tree = tp.split("x", -largest / 2, 0, tp.split("x", 1e-40, 1, tp.split("x", largest / 2, 0, 1)))
    forest = tp.build_forest([tree], columns=["x"], classes=[0, 1], dtype=numbers)
    explainer = tp.Explainer(forest)
    for value in (-largest, 0.0, 1e-39, largest):
        ax = explainer.abductive([value], inflate=True).plot([[-largest], [0], [largest]])
        assert all(0 <= x <= 1 for x, _ in marked(ax))
        assert explainer.contrastive([value]).plot()


def test_changes_are_arrows_from_the_row_to_the_witness(explainer, iris):
    change = explainer.contrastive(iris.data.iloc[70])
    ax = change.plot(iris.data)
    assert names(ax) == list(change.feature_names)
    for entry in change.changes:
        assert {entry.before, entry.after} <= set(texts(ax))
    assert len(marked(ax)) == len(change.changes)
    robust = explainer.robustness(iris.data.iloc[70])
    assert names(robust.plot(iris.data)) == [entry.name for entry in robust.changes]


def test_a_matrix_marks_the_features_of_every_explanation(explainer, iris):
    found = list(explainer.enumerate(iris.data.iloc[100], kind="both"))
    ax = tp.plots.matrix(found, complete=True)
    abductive = [e for e in found if isinstance(e, tp.Abductive)]
    contrastive = [e for e in found if isinstance(e, tp.Contrastive)]
    seen = {
        (int(x), names(ax)[int(y)])
        for line in ax.lines
        for x, y in line.get_xydata()
        if line.get_marker() in ("s", "o")
    }
    assert seen == {(k, name) for k, e in enumerate([*abductive, *contrastive]) for name in e.feature_names}
    assert "no others of these kinds" in said(ax)
    again = explainer.enumerate(iris.data.iloc[100], kind="both").plot()
    assert again.get_xlabel() == ax.get_xlabel()
    assert explainer.contrastives(iris.data.iloc[100], n=2).plot()


def test_a_matrix_says_nothing_of_the_kind_that_nobody_asked_for(explainer, iris):
    ax = explainer.enumerate(iris.data.iloc[100], kind="abductive").plot()
    assert "contrastive" not in said(ax)
    assert said(ax).endswith("Proved: there are no others of this kind.")
    ax = explainer.enumerate(iris.data.iloc[100], kind="abductive", limit=1).plot()
    assert "there may be more" in said(ax)
    half = explainer.enumerate(iris.data.iloc[100], kind="both")
    next(half)
    assert "no others" not in said(half.plot())  # it has not seen the first


def test_a_matrix_with_a_target_says_what_is_ruled_out(explainer, iris):
    ax = explainer.enumerate(iris.data.iloc[100], kind="both", target="setosa").plot()
    assert "abductive: together they rule out setosa" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_a_matrix_of_too_many_says_what_is_drawn():
    n = 7
    tree = tp.leaf(1)
    columns = [f"x{i}" for i in range(2 * n)]
    for i in range(n):  # x0 or x1, and x2 or x3, ...: 2 ** n explanations
        tree = tp.split(f"x{2 * i}", 0.5, tp.split(f"x{2 * i + 1}", 0.5, 0, tree), tree)
    explainer = tp.Explainer(tp.build_forest([tree], columns=columns, classes=[0, 1]))
    ax = explainer.enumerate([1] * (2 * n), kind="both").plot()
    assert "128 abductive and 7 contrastive" in said(ax)
    assert "the first 53 and 7 of them" in said(ax)


def test_attribution_is_bars_in_order(explainer, iris):
    result = explainer.attribution(iris.data.iloc[100])
    ax = result.plot()
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == sorted((100 * float(share) for share in result.shares), reverse=True)
    assert set(names(ax)) == set(result.feature_names)


def test_an_overview_counts_features_and_lengths(explainer, iris):
    results = explainer.batch(iris.data[::10])
    features, lengths = tp.plots.overview(results)
    counted = dict(zip(names(features), texts(features), strict=True))
    assert counted == {
        name: str(sum(name in why.feature_names for why in results))
        for name in iris.data.columns
        if any(name in why.feature_names for why in results)
    }
    assert sum(bar.get_width() for bar in lengths.patches) == len(results)


def test_an_overview_counts_rows_that_failed_and_those_out_of_time(explainer, iris):
    rows = np.array(iris.data[:3])
    rows[1, 0] = np.nan
    results = explainer.batch(rows, on_error="return")
    features, _ = tp.plots.overview(results)
    assert "because of errors: 1 of the rows" in said(features)
    late = explainer.batch(iris.data[:4], timeout=0)
    assert "4 timed out" in said(tp.plots.overview(late)[0])
    assert texts(tp.plots.overview([])[0]) == ["no explanations"]


def test_nothing_is_clipped_or_overlaps_side_by_side():
    """Titles and captions wrap at the width that the layout leaves; conditions stay between the ends of their line.

    Names and classes that are too long are shortened so that they can be told apart.
    """
    columns = [f"the measured value of {what}, as reported (second visit)" for what in ("width", "length")]
    no, yes = (f"{answer}, in the opinion of the laboratory that <knows> about it" for answer in ("no", "yes"))
    tree = tp.split(columns[0], -2.0, yes, tp.split(columns[0], 3.0, no, tp.split(columns[1], 1.0, no, yes)))
    explainer = tp.Explainer(tp.build_forest([tree], columns=columns, classes=[no, yes]))
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
    explainer.abductive([9, 9], inflate=True).plot(ax=axes[0])
    explainer.contrastive([9, 9]).plot(ax=axes[1])
    figure.canvas.draw()
    whole = figure.bbox
    boxes = [ax.get_tightbbox() for ax in axes]
    assert boxes[0].x1 <= boxes[1].x0
    assert all(whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 for box in boxes)
    assert names(axes[0]) == ["…width…", "…length…"]
    legend = [text.get_text() for text in axes[1].get_legend().get_texts()]
    assert legend[0].startswith('this row: "yes,')
    assert legend[1].startswith('changed: "no,')


def test_nothing_is_clipped_alone():
    """A legend that needs more room than names leave is shortened, and does not push the title out of the picture."""
    columns = ["the income of all members of the household", "age"]
    trees = [tp.split(name, 0.5, "accepted", "rejected because of a high risk") for name in columns]
    explainer = tp.Explainer(
        tp.build_forest([*trees, trees[0]], columns=columns, classes=["accepted", "rejected because of a high risk"])
    )
    rows = np.random.default_rng(0).random((50, 2))
    for ax in (
        explainer.contrastive([0.9, 0.9]).plot(rows),
        explainer.robustness([0.9, 0.9]).plot(rows),
        explainer.enumerate([0.9, 0.9], kind="both").plot(),
        explainer.relevance([0.9, 0.9]).plot(),
        explainer.batch(rows[:9]).plot(values=True),
    ):
        whole = ax.figure.bbox
        ax.figure.canvas.draw()
        parts = [ax.get_tightbbox(), *([] if ax.get_legend() is None else [ax.get_legend().get_window_extent()])]
        assert all(whole.x0 <= box.x0 and box.x1 <= whole.x1 for box in parts)
        assert all(whole.y0 <= box.y0 and box.y1 <= whole.y1 for box in parts)


def test_relevance_audits_and_reviews_are_drawn(explainer, iris):
    x = iris.data.iloc[70]
    relevance = explainer.relevance(x)
    assert set(names(relevance.plot())) == set(x.index)
    audit = explainer.audit(iris.data[::15], protected=["petal width (cm)"])
    bars = audit.plot().patches
    assert [bar.get_width() for bar in bars if bar.get_y() < 0 and bar.get_width()] == [
        100 * n / audit.n_rows for n in (audit.n_flips, audit.n_free, audit.n_unknown) if n
    ]
    wrong = explainer.review(x, ["sepal width (cm)"])
    ax = wrong.plot()
    assert names(ax) == [change.name for change in wrong.changes]
    assert "Repaired" not in said(ax)
    assert "these force" not in said(ax)
    assert texts(explainer.review(x, list(iris.data)).plot()) == ["right"]


def test_a_swarm_has_a_dot_for_each_row_and_feature(explainer, iris):
    found = explainer.batch(iris.data[::10])
    ax = found.plot(values=True)
    dots = sum(len(line.get_xdata()) for line in ax.lines if line.get_linestyle() == "None")
    assert dots == sum(len(why.features) for why in found)
    assert texts(tp.plots.swarm([])) == ["no explanations"]


def test_results_that_do_not_go_together_are_refused(explainer, iris):
    first, second = explainer.batch(iris.data.iloc[[0, 70]])
    change = explainer.contrastive(iris.data.iloc[0])
    with pytest.raises(tp.InputError, match="one row"):
        tp.plots.matrix([first, second])
    with pytest.raises(tp.InputError, match="one kind at a time"):
        tp.plots.overview([first, change])
    with pytest.raises(tp.InputError, match="Got str"):
        tp.plots.overview(["virginica"])
    with pytest.raises(tp.InputError, match="4 values"):
        first.plot([[1, 2, 3]])


def test_axes_are_taken_and_returned(explainer, iris):
    x = iris.data.iloc[70]
    figure, axes = plt.subplots(3, 2, figsize=(14, 14))
    a, b, c, d, e, f = axes.ravel()
    assert explainer.abductive(x).plot(ax=a) is a
    assert explainer.contrastive(x).plot(ax=b) is b
    assert explainer.attribution(x).plot(ax=c) is c
    assert explainer.enumerate(x).plot(ax=d) is d
    inside = tp.plots.overview(explainer.batch(iris.data[:5]), ax=e)
    assert {ax.figure for ax in inside} == {figure}
    assert tp.plots.overview(explainer.batch(iris.data[:5]), ax=[e, f]).tolist() == [e, f]
    with pytest.raises(tp.InputError, match="one or two axes"):
        tp.plots.overview([], ax=[a, b, c])
    assert plt.get_fignums() == [figure.number]


def test_frames_in_any_order_of_columns_give_the_same_picture(explainer, iris):
    why = explainer.abductive(iris.data.iloc[70])
    pictures = [
        [bar.get_height() for bar in why.plot(data).patches]
        for data in (iris.data, iris.data[iris.data.columns[::-1]], iris.data.to_numpy())
    ]
    assert pictures[0] == pictures[1] == pictures[2]


def test_a_result_from_a_file_draws_the_same_picture(explainer, iris):
    x = iris.data.iloc[70]
    for result in (
        explainer.abductive(x, inflate=True),
        explainer.contrastive(x),
        explainer.most_general(x, iris.data),
        explainer.robustness(x),
    ):
        copy = pickle.loads(pickle.dumps(result))
        assert copy == result
        assert len(pickle.dumps(result)) < 4000
        assert texts(copy.plot(iris.data)) == texts(result.plot(iris.data))


def test_a_result_made_by_hand_is_drawn_as_far_as_it_is_known(explainer, iris):
    from dataclasses import replace

    why = replace(explainer.abductive(iris.data.iloc[70]), _scales=None)
    assert len(marked(why.plot())) == len(why.rule)
    with pytest.raises(tp.InputError, match="made by hand"):
        why.plot(iris.data)
    named = replace(tp.Explainer(shop()).abductive(["blue", 3.5], inflate=True), _scales=None)
    assert {"red", "blue"} <= set(texts(named.plot()))
    change = replace(explainer.contrastive(iris.data.iloc[70]), _scales=None)
    assert {change.changes[0].before, change.changes[0].after} <= set(texts(change.plot()))


def test_hostile_names_are_text_in_pictures():
    """No mathematics is read into them, and what does not print is left out."""
    forest = tp.build_forest(
        [tp.split("$x_$ \n\\frac", 0, "$\\bad", "$ok$")], columns=["$x_$ \n\\frac"], classes=["$\\bad", "$ok$"]
    )
    explainer = tp.Explainer(forest)
    for ax in (
        explainer.abductive([1]).plot([[1], [2]]),
        explainer.contrastive([1]).plot(),
        explainer.attribution([1]).plot(),
        explainer.enumerate([1], kind="both").plot(),
        tp.plots.overview(explainer.batch([[1]]))[0],
    ):
        ax.figure.canvas.draw()
        assert names(ax) == ["$x_$  \\frac"]


@pytest.mark.parametrize("style", ["default", "dark_background", "grayscale"])
def test_pictures_stand_in_other_styles(explainer, iris, style):
    with plt.style.context(style):
        ax = explainer.abductive(iris.data.iloc[70]).plot(iris.data)
        ax.figure.canvas.draw()
        ink, ground = (np.mean(mpl.colors.to_rgb(c)) for c in (tp.plots.axes.ink(ax), ax.get_facecolor()))
        assert abs(ink - ground) > 0.5


def test_without_matplotlib_results_work_and_plot_says_what_to_install():
    code = """
import sys
from dataclasses import replace
sys.modules["matplotlib"] = None
import treeproof as tp
forest, patient = tp.examples.heart_disease()
explainer = tp.Explainer(forest)
why = explainer.abductive(patient)
for draw in (why.plot, explainer.contrastive(patient).plot, explainer.attribution(patient).plot,
             explainer.enumerate(patient).plot, lambda: tp.plots.overview([why])):
    try:
        draw()
    except tp.MissingExtraError as error:
        assert "pip install 'treeproof[plot]'" in str(error)
    else:
        raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    subprocess.run([sys.executable, "-c", "import sys, treeproof; assert 'matplotlib' not in sys.modules"], check=True)


class Page(HTMLParser):
    """Reads a card: its tags in order, whether they nest, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def every_result(explainer, x, rows, protected):
    half, whole = explainer.enumerate(x, kind="both"), explainer.enumerate(x, kind="both")
    next(half)
    list(whole)
    audit = explainer.audit(rows, protected=protected)
    return [
        explainer.abductive(x),
        explainer.abductive(x, inflate=True),
        explainer.contrastive(x),
        explainer.contrastives(x, n=2),
        explainer.holds(x, protected),
        explainer.holds(x, []),
        explainer.attribution(x),
        explainer.relevance(x),
        explainer.robustness(x),
        explainer.review(x, explainer.abductive(x)),
        explainer.review(x, []),
        explainer.most_general(x, rows),
        explainer.coverage(explainer.abductive(x), rows),
        audit,
        audit.rows[0],
        half,
        whole,
    ]


def test_cards_are_safe_whatever_names_and_labels_are():
    tree = tp.isin(HOSTILE, [HOSTILE], tp.split("$y$<", 1, HOSTILE, "ok"), "ok")
    columns = [tp.Column(HOSTILE, (HOSTILE, "<b>")), "$y$<"]
    explainer = tp.Explainer(tp.build_forest([tree], columns=columns, classes=[HOSTILE, "ok"]))
    rows = [[HOSTILE, 0.0], ["<b>", 5.0]]
    for result in every_result(explainer, rows[0], rows, [HOSTILE]):
        card = result._repr_html_()
        page = Page(card)
        assert set(page.tags) <= {"div", "b", "ul", "li", "code", "p", "details", "summary"}
        assert {name for name, _ in page.attributes} <= {"class", "role", "aria-label", "style"}
        assert "\u202e" not in card


def test_cards_say_what_the_results_print_and_have_a_name(explainer, iris):
    rows = iris.data[60:75]
    for result in every_result(explainer, iris.data.iloc[70], rows, ["petal width (cm)"]):
        card = result._repr_html_()
        page = Page(card)
        labels = [value for name, value in page.attributes if name == "aria-label"]
        assert labels
        assert all(label and label in page.text for label in labels)
        assert "<ul></ul>" not in card
        if isinstance(result, tp.Abductive | tp.Contrastive | tp.Robustness | tp.MostGeneral | tp.Review):
            shown = result.widened() if isinstance(result, tp.Abductive) and result.can_widen else result
            for line in [*str(shown).splitlines(), *(shown.values if isinstance(shown, tp.Abductive) else ())]:
                assert line.strip() in page.text


def test_cards_have_no_colours_of_their_own(explainer, iris):
    for result in every_result(explainer, iris.data.iloc[70], iris.data[60:65], [0]):
        styles = [value for name, value in Page(result._repr_html_()).attributes if name == "style"]
        assert styles
        for style in styles:
            for rule in (style or "").split(";"):
                name, _, value = rule.partition(":")
                if name in ("color", "background"):
                    assert value in ("inherit", "transparent")
                assert "#" not in rule
                assert "rgb" not in rule


def test_the_card_of_an_enumeration_leaves_it_where_it_is(explainer, iris):
    found = explainer.enumerate(iris.data.iloc[70])
    assert "0 explanations so far" in found._repr_html_()
    assert len(list(found)) == found.n_found > 0
    assert "no others" in found._repr_html_()
    cut = explainer.enumerate(iris.data.iloc[70], kind="both", limit=1)
    list(cut)
    assert "1 explanation<" in cut._repr_html_()
    assert "There may be more" in cut._repr_html_()


def test_a_card_without_features_says_that_none_matters():
    explainer = tp.Explainer(tp.build_forest([tp.leaf("a")], columns=["x"], classes=["a", "b"]))
    assert "<b>a, whatever the input</b>" in explainer.abductive([0])._repr_html_()


def test_the_pictures_of_the_documentation_are_there_and_small(tmp_path):
    spec = importlib.util.spec_from_file_location("pictures", DOCS / "pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.draw(tmp_path)
    kept = {path.name for path in (DOCS / "pictures").iterdir() if path.suffix == ".png"}
    assert {path.name for path in tmp_path.iterdir()} <= kept, "run: python docs/pictures.py"
    assert sum(path.stat().st_size for path in (DOCS / "pictures").iterdir()) < 600_000
    for page in DOCS.glob("*.md"):
        for line in page.read_text(encoding="utf-8").splitlines():
            if "](pictures/" in line:
                assert (DOCS / line.partition("](")[2].partition(")")[0]).exists(), f"{page.name}: {line}"


def test_pandas_missing_values_are_counted():
    frame = pd.DataFrame({"colour": ["red", "blue"], "weight": [1.0, None]})
    ax = tp.Explainer(shop()).abductive(["blue", 3.5]).plot(frame)
    assert "missing" in texts(ax)
