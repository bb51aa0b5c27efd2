"""Each question of the page has the explainer's own answer, as plain JSON."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout

import numpy as np
import pytest

import treeproof as tp
from treeproof.workbench.session import NOTCHES, Session

ROW = 63


@pytest.fixture(scope="module")
def values(iris):
    return iris.ask("rows", {"indices": [ROW]})["rows"][0]["values"]


@pytest.fixture(scope="module")
def x(flowers):
    return flowers[0].iloc[ROW]


def ask(session: Session, name: str, **args):
    found = session.ask(name, args)
    assert json.loads(json.dumps(found, allow_nan=False)) == found  # plain data, without NaN
    return found


def test_start_describes_features_classes_and_models(iris, flowers, explainers):
    start = ask(iris, "start")
    X, _ = flowers
    assert start["classes"] == ["setosa", "<b>versicolor</b>", "virginica"]
    assert (start["n_rows"], start["title"], len(start["models"])) == (150, "Iris <script>", 2)
    assert [f["name"] for f in start["features"]] == list(X.columns)
    for feature, name in zip(start["features"], X.columns, strict=True):
        assert feature["min"] <= X[name].min() <= X[name].max() <= feature["max"]
        assert sum(feature["histogram"]["counts"]) == 150
        assert len(feature["histogram"]["edges"]) == len(feature["histogram"]["counts"]) + 1
        assert feature["kind"] == "number"
        assert feature["scale"] > 0
    assert start["fingerprint"] == explainers[0].abductive(X.iloc[0]).certificate().document["model"]


def test_rows_have_the_models_own_labels_and_scores(iris, flowers, explainers):
    X, _ = flowers
    found = ask(iris, "rows", limit=150)
    assert found["total"] == 150
    forest = explainers[0].forest
    assert [row["label"] for row in found["rows"]] == forest.predict_index(X).tolist()
    for row in found["rows"]:
        assert row["values"] == X.iloc[row["index"]].tolist()
        assert row["refused"] is None
    probabilities = forest.add(forest.apply(X))
    assert [row["score"] for row in found["rows"]] == probabilities.max(axis=1).tolist()


def test_rows_are_filtered_searched_and_sorted(iris, flowers):
    X, _ = flowers
    width = X["petal width (cm)"]
    found = ask(iris, "rows", where="petal width (cm) > 1.8 and sepal length (cm) <= 6", limit=150)
    wanted = X[(width > 1.8) & (X["sepal length (cm)"] <= 6)].index.tolist()
    assert [row["index"] for row in found["rows"]] == wanted
    only = ask(iris, "rows", where="petal width (cm) = 0.2", limit=150)  # float32 has no 0.2
    assert only["total"] == int((width == 0.2).sum())
    labelled = ask(iris, "rows", where="label = virginica and score > 0.5", limit=150)
    assert {row["label"] for row in labelled["rows"]} == {2}
    assert ask(iris, "rows", search="VIRGIN")["total"] >= labelled["total"]
    ordered = ask(iris, "rows", sort=3, descending=True, offset=10, limit=5)
    assert [row["values"][3] for row in ordered["rows"]] == sorted(width, reverse=True)[10:15]
    by_score = [row["score"] for row in ask(iris, "rows", sort="score", limit=150)["rows"]]
    assert by_score == sorted(by_score)


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ({"where": "petal wdth > 1"}, "petal"),
        ({"indices": [1700]}, "There is no row 1700; the rows are 0 to 149"),
        ({"sort": "colour"}, "sorted by"),
        ({"offset": -1}, "'offset' must be"),
        ({"where": "label > 1"}, "named values"),
    ],
)
def test_rows_that_cannot_be_found_are_refused_in_a_sentence(iris, args, sentence):
    with pytest.raises(tp.InputError, match=sentence):
        iris.ask("rows", args)


def test_predict_is_the_models_own(iris, values, x, explainers):
    forest = explainers[1].forest
    found = ask(iris, "predict", values=values, model=1)
    assert found["label"] == forest.predict_index([x])[0]
    assert found["scores"] == forest.add(forest.apply([x]))[0].tolist()


@pytest.mark.parametrize("within", [None, 0.5])
@pytest.mark.parametrize("widened", [False, True])
def test_why_is_the_abductive_explanation(iris, values, x, explainers, within, widened):
    found = ask(iris, "why", values=values, within=within, widened=widened)
    why = explainers[0].abductive(x, within=within, inflate=widened)
    assert found["features"] == list(why.features)
    assert [condition["text"] for condition in found["conditions"]] == [str(condition) for condition in why.rule]
    assert [(c["low"], c["high"]) for c in found["conditions"]] == [(c.low, c.high) for c in why.rule]
    assert (found["status"], found["decided"]) == (why.status, True)
    assert found["sentences"][0] == {"role": "proved", "text": why.claim}
    assert len(found["others"]) == len(why.others)


@pytest.mark.parametrize("held", [[], [3], [2, 3], [0, 1]])
@pytest.mark.parametrize("within", [None, 0.5])
def test_hold_says_whether_features_force_the_label(iris, values, x, explainers, held, within):
    found = ask(iris, "hold", values=values, held=held, within=within)
    verdict = explainers[0].holds(x, held, within=within)
    assert found["forced"] == verdict.holds
    if not verdict.holds:
        forest = explainers[0].forest
        assert forest.predict_index([found["witness"]])[0] == found["other"] != found["label"]
        assert [found["witness"][f] for f in held] == [values[f] for f in held]
        assert {change["feature"] for change in found["changes"]} == {
            f for f in range(4) if found["witness"][f] != values[f]
        }


@pytest.mark.parametrize("within", [None, 0.5])
def test_hold_takes_the_intervals_of_why_and_wider_ones_fail(iris, values, explainers, within):
    why = ask(iris, "why", values=values, within=within)
    intervals = {str(c["feature"]): {"low": c["low"], "high": c["high"]} for c in why["conditions"]}
    args = {"values": values, "held": why["features"], "within": within}
    assert ask(iris, "hold", intervals=intervals, **args)["forced"] is True
    bounded = [(f, side) for f, ends in intervals.items() for side in ("low", "high") if ends[side] is not None]
    assert bounded
    for f, side in bounded:
        wider = {**intervals, f: {**intervals[f], side: None}}
        found = ask(iris, "hold", intervals=wider, **args)
        assert found["forced"] is False
        assert explainers[0].forest.predict_index([found["witness"]])[0] == found["other"] != found["label"]
        for other, ends in wider.items():
            low, high = (float("-inf") if ends["low"] is None else ends["low"]), ends["high"]
            assert low <= np.float32(found["witness"][int(other)]) <= (float("inf") if high is None else high)


def test_an_interval_without_the_value_is_refused(iris, values):
    with pytest.raises(tp.InputError, match="must satisfy the conditions"):
        iris.ask("hold", {"values": values, "held": [3], "intervals": {"3": {"low": 2.0, "high": None}}})


def test_sizes_come_one_by_one(iris, values, x, explainers):
    parts = []
    found = iris.ask("sizes", {"values": values}, lambda *progress: parts.append(progress))
    assert [size["within"] for size in found["sizes"]] == list(NOTCHES)
    sizes = [len(explainers[0].abductive(x, within=within).features) for within in NOTCHES]
    assert [size["size"] for size in found["sizes"]] == sizes
    assert [done for _, done, _, _ in parts] == list(range(1, len(NOTCHES) + 1))
    assert parts[2][3]["sizes"] == found["sizes"][:3]


def test_changes_are_the_closest_ones(iris, values, x, explainers):
    found = ask(iris, "changes", values=values, fixed=[0], directions={"3": "up"}, target=2, count=2)
    same = explainers[0].contrastives(x, 2, fixed=[0], directions={3: "up"}, target=2)
    assert [change["features"] for change in found["changes"]] == [list(change.features) for change in same]
    forest = explainers[0].forest
    for change in found["changes"]:
        assert forest.predict_index([change["values"]])[0] == change["label"] == 2
        assert change["scores"] == forest.add(forest.apply([change["values"]]))[0].tolist()
        assert change["values"][0] == values[0]
        assert change["values"][3] >= values[3]
    assert found["complete"] == (same.status == "all")


def test_all_reasons_and_what_follows_from_them(iris, values, x, explainers):
    explainer = explainers[0]
    found = ask(iris, "reasons", values=values)
    listed = list(explainer.enumerate(x, kind="both"))
    assert found["complete"] is True
    for kind, result in (("abductive", tp.Abductive), ("contrastive", tp.Contrastive)):
        assert sorted(found[kind]) == sorted(list(one.features) for one in listed if isinstance(one, result))
    grades = {grade["feature"]: grade["grade"] for grade in ask(iris, "relevance", values=values)["grades"]}
    assert grades == {grade.feature: grade.grade for grade in explainer.relevance(x).grades}
    shares = [share["share"] for share in ask(iris, "attribution", values=values)["shares"]]
    assert shares == list(explainer.attribution(x).shares)


@pytest.mark.parametrize("norm", ["linf", "l0"])
def test_robustness(iris, values, x, explainers, norm):
    found = ask(iris, "robustness", values=values, norm=norm, keep=[3])
    same = explainers[0].robustness(x, norm, keep=[3])
    assert (found["proved"], found["nearest"], found["status"]) == (same.proved, same.nearest, same.status)


def test_comparing_rows_and_models(iris, values, x, flowers, explainers):
    others = flowers[0].iloc[0].tolist()
    found = ask(iris, "compare", values=values, others=others)
    forest = explainers[0].forest
    assert [side["label"] for side in found["sides"]] == forest.predict_index([values, others]).tolist() == [1, 0]

    def mixed(taken):
        return forest.predict_index([[others[f] if f in taken else values[f] for f in range(4)]])[0]

    assert mixed(found["enough"]) == 0
    assert all(mixed([g for g in found["enough"] if g != f]) != 0 for f in found["enough"])
    both = ask(iris, "compare", values=values)
    assert [side["features"] for side in both["sides"]] == [
        list(explainer.abductive(x, inflate=True).features) for explainer in explainers
    ]
    assert both["carries"] == explainers[1].holds(x, both["sides"][0]["features"]).holds


def test_what_is_taken_away(iris, values, explainers):
    certificate = ask(iris, "take", what="certificate", values=values, widened=True, index=ROW)
    forest = ask(iris, "take", what="forest")
    assert len(tp.checker.check(certificate["text"], forest["text"]).conditions) == 2
    assert certificate["name"] == f"row-{ROW}-why.json"
    page = ask(iris, "take", what="page", state={"row": "</script><b>"})["text"]
    assert "<title>Iris &lt;script&gt;</title>" in page
    assert "</script><b>" not in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/", "")


def test_the_python_lines_give_the_same_answers(iris, values, x, explainers):
    interval = {"low": 0.9, "high": 1.5}
    asked = [
        {"ask": "why", "args": {"values": values, "within": 0.5}},
        {"ask": "hold", "args": {"values": values, "held": [2, 3], "intervals": {"3": interval}}},
        {"ask": "changes", "args": {"values": values, "target": 2, "count": 1}},
        {"ask": "relevance", "args": {"values": values, "model": 1}},
        {"ask": "robustness", "args": {"values": values}},
        {"ask": "reasons", "args": {"values": values}},
        {"ask": "rows", "args": {}},
    ]
    lines = ask(iris, "take", what="python", asked=asked)["text"]
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(lines, {"explainer": explainers[0], "other": explainers[1], "tp": tp})
    first, second = explainers
    range_ = tp.Condition("petal width (cm)", *interval.values(), dtype="float32")
    wanted = [
        first.abductive(x, within=0.5, inflate=True),
        first.holds(x, [2, range_]),
        first.contrastives(x, 1, target=2),
        second.relevance(x),
        first.robustness(x),
        *(found.feature_names for found in first.enumerate(x, kind="both", limit=200)),
    ]
    assert printed.getvalue() == "".join(f"{result}\n" for result in wanted)


def test_the_report_is_a_page_of_its_own(mixed):
    _, session = mixed
    found = ask(session, "take", what="report", index=0)
    assert found["name"] == "row-0-report.html"
    assert "colour&lt;i&gt;" in found["text"]
    assert "colour<i>" not in found["text"]


def test_named_missing_and_grouped_values(mixed):
    explainer, session = mixed
    start = ask(session, "start")
    colour, age, group = start["features"]
    assert (colour["kind"], colour["values"], colour["histogram"]["counts"]) == (
        "category",
        ["red", "green", "blue"],
        [2, 2, 1],
    )
    assert (age["kind"], age["missing"], age["low"], age["high"], age["step"]) == ("integer", True, 0, 120, 1)
    assert group["values"] == ["is_a", "is_b"]
    assert start["constraints"] == ["if colour<i> = green then age >= 18"]
    rows = ask(session, "rows")["rows"]
    assert [row["values"] for row in rows[:3]] == [[0, 20, 0], [1, 40, 1], [2, None, 0]]
    assert "violates the constraint" in rows[3]["refused"]
    assert "within its bounds" in rows[4]["refused"]
    assert [row["index"] for row in ask(session, "rows", where="age is missing")["rows"]] == [2]
    assert [row["index"] for row in ask(session, "rows", where="colour<i> in {red, blue}")["rows"]] == [0, 2, 4]
    assert [row["index"] for row in ask(session, "rows", search="gree")["rows"]] == [1, 3]
    why = ask(session, "why", values=[0, 20, 0])
    same = explainer.abductive(["red", 20, 1, 0], inflate=True)
    assert why["features"] == list(same.features)
    assert [condition["text"] for condition in why["conditions"]] == [str(condition) for condition in same.rule]
    intervals = {
        str(c["feature"]): {key: c[key] for key in ("low", "high", "values", "missing")} for c in why["conditions"]
    }
    assert ask(session, "hold", values=[0, 20, 0], held=why["features"], intervals=intervals)["forced"] is True
    missing = ask(session, "hold", values=[2, None, 0], held=[0, 1, 2])
    assert missing["forced"] is True
    assert ask(session, "predict", values=[2, None, 0])["label"] == explainer.forest.predict_index([rows_of(2)])[0]


def rows_of(index: int):
    return [["red", 20, 1, 0], ["green", 40, 0, 1], ["blue", None, 1, 0]][index]


@pytest.mark.parametrize(
    ("name", "args", "sentence"),
    [
        ("wy", {}, "Did you mean 'why'"),
        ("why", {}, "must be a list of 3 values"),
        ("why", {"values": [5, 20, 0]}, "place among its 3 values"),
        ("why", {"values": [0, "old", 0]}, "must be a number, or null"),
        ("why", {"values": [0, float("nan"), 0]}, "must be a number, or null"),
        ("why", {"values": [0, 20.5, 0]}, "must be a whole number"),
        ("why", {"values": [0, 20, 0], "within": -1}, "'within' must be"),
        ("why", {"values": [0, 20, 0], "model": 1}, "The model must be"),
        ("why", {"values": [0, 20, 0], "seconds": 1e9}, "'seconds' must be"),
        ("hold", {"values": [0, 20, 0], "held": [7]}, "'held' must be"),
        ("hold", {"values": [0, 20, 0], "held": [1], "intervals": {"1": {"low": "x"}}}, "numbers or null"),
        ("hold", {"values": [0, 20, 0], "held": [1], "intervals": {"9": {}}}, "'intervals' must be"),
        ("changes", {"values": [0, 20, 0], "target": 9}, "'target' must be"),
        ("changes", {"values": [0, 20, 0], "count": 0}, "'count' must be"),
        ("changes", {"values": [0, 20, 0], "directions": {"1": "sideways"}}, "sideways"),
        ("reasons", {"values": [0, 20, 0], "limit": 0}, "'limit' must be"),
        ("compare", {"values": [0, 20, 0]}, "open the workbench with both"),
        ("take", {"what": "everything"}, "'what' must be one of"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(mixed, name, args, sentence):
    with pytest.raises(tp.InputError, match=sentence):
        mixed[1].ask(name, args)


def test_two_models_must_have_the_same_features(mixed, explainers):
    with pytest.raises(tp.InputError, match="same features"):
        Session([mixed[0], explainers[0]], [rows_of(0)])


def test_what_timed_out_is_asked_again(iris, values):
    late = ask(iris, "why", values=values, seconds=0)
    assert late["sentences"][0]["role"] == "open"
    assert ask(iris, "why", values=values, seconds=0) is not late
    assert iris.ask("why", {"values": values}) is iris.ask("why", {"values": values})
