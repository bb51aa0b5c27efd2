"""The parts of ``treeproof bench``: recipe, timing, verdicts on peers, figures, the results file."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris

import treeproof as tp
from benchdata import write_datasets
from treeproof_bench import growth, judge, memory, recipe, results, summary, table1, timing
from treeproof_bench.peers.worker import digest


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_datasets(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def training(data):
    X, y = recipe.read(data, "sums")
    X_train, _, y_train, _ = recipe.split(X, y)
    return judge.Training(X_train, y_train, recipe.settings(3), recipe.train(X, y, 3))


def test_distinct_rows_are_read_and_trained_as_in_the_paper(data):
    X, y = recipe.read(data, "sums")
    assert X.dtype == np.float32
    assert len(np.unique(np.column_stack([X, y]), axis=0)) == len(X) == len(y)
    model = recipe.train(X, y, 3)
    assert (model.n_estimators, model.max_depth, model.criterion) == (100, 3, "entropy")


def test_the_vote_is_that_of_the_same_trees(data):
    X, y = recipe.read(data, "steps")
    forest = recipe.train(X, y, 2)
    X_train, _, y_train, _ = recipe.split(X, y)
    same = tp.MajorityForestClassifier(**recipe.settings(2)).fit(X_train, y_train)
    assert recipe.voting(forest).predict(X).tolist() == same.predict(X).tolist()


def test_the_sample_is_the_papers(tmp_path):
    """The published tool comes with its 60 instances of iris; these are the first and the last of them."""
    iris = load_iris()
    lines = [f"{','.join(map(str, row))},{label}" for row, label in zip(iris.data, iris.target, strict=True)]
    (tmp_path / "iris.csv").write_text("\n".join(["a,b,c,d,class", *lines]) + "\n")
    places, rows = recipe.sample(tmp_path, "iris")
    assert len(places) == len(rows) == 60
    published = np.array([[5.9, 3, 5.1, 1.8], [5.4, 3, 4.5, 1.5], [5, 3.5, 1.3, 0.3], [4.4, 2.9, 1.4, 0.2]], np.float32)
    assert np.array_equal(rows[[0, 1, 2, -1]], published)
    assert np.array_equal(rows, iris.data[places].astype(np.float32))


def test_a_sample_has_no_repeats_and_begins_alike_for_any_number(data):
    places, rows = recipe.sample(data, "sums")
    assert len(np.unique(rows, axis=0)) == len(rows) < 48  # 40 % of 120, of which some are equal
    few, first = recipe.sample(data, "sums", 5)
    assert few == places[:5]
    assert np.array_equal(first, rows[:5])
    assert recipe.sample(data, "sums", seed=8)[0] != places


class Clock:
    """Advances only when told to."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def action(self, *seconds):
        left = list(seconds)

        def act(row):
            self.now += left.pop(0)
            return row, len(left)

        return act


def test_each_action_is_timed_on_each_row_in_turn():
    calls, ticks = [], []
    actions = {name: lambda row, name=name: calls.append((name, row)) for name in "ab"}
    timed = timing.take_turns(actions, [1, 2], 2, tick=lambda: ticks.append(1))
    once = [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
    assert calls == [("a", 1), ("b", 1), *once, *once]  # warm-up first
    assert [len(repeats) for repeats in timed["a"].raw] == [2, 2]
    assert len(ticks) == 8


def test_an_instance_counts_with_the_median_of_its_repeats():
    clock = Clock()
    # Two rows, three times: 1, 2 and 9 ms on the first row, 4, 6 and 5 on the second.
    action = clock.action(0.001, 0.004, 0.002, 0.006, 0.009, 0.005)
    timed = timing.take_turns({"a": action}, ["x", "y"], 3, warm_up=False, clock=clock)["a"]
    assert timed.raw == [[1, 2, 9], [4, 6, 5]]
    assert timing.medians(timed).tolist() == [2, 5]
    assert timing.ms(timed) == 3.5
    assert timed.results == [("x", 5), ("y", 4)]  # those of the first time


def test_what_takes_long_is_not_repeated():
    clock = Clock()
    timed = timing.take_turns({"a": clock.action(60, 0.001, 0.003)}, "xy", 2, warm_up=False, clock=clock)["a"]
    assert timed.raw == [[60_000], [1, 3]]


def test_memory_is_measured_apart(data, training):
    rows = recipe.sample(data, "sums", 2)[1]
    building, explaining = memory.in_a_fresh_process(memory.resident_peaks, training.forest, rows)
    assert building is None or 0 < building < 100 > explaining > 0


def test_oracles_that_disagree_stop_everything():
    def found(*features, minimal=True):
        return {"features": [list(each) for each in features], "minimal": [minimal] * len(features)}

    assert table1._agreed("x", {"native": found((0, 1), (2,)), "sat": found((0, 1))}) == [[0, 1], [2]]
    late = {"native": found((0, 1, 2), minimal=False), "sat": found((0, 1))}
    assert table1._agreed("x", late) == [[0, 1]]
    assert late["native"]["over_limit"] == [0]
    with pytest.raises(tp.InternalError, match="x, instance 1"):
        table1._agreed("x", {"native": found((0, 1), (2,)), "sat": found((0, 1), (3,))})


@pytest.fixture
def fake(tmp_path):
    """Return a function that makes an interpreter which, whatever it is to run, writes these lines."""

    def fake(*lines, noise="", code=0):
        script = tmp_path / "python"
        (tmp_path / "lines").write_text("".join(f"{line}\n" for line in lines))
        script.write_text(f"#!/bin/sh\ncat {tmp_path}/lines\necho '{noise}' >&2\nexit {code}\n")
        script.chmod(0o755)
        return str(script)

    return fake


def first_line(forest):
    about = {"peer": "anchor", "version": "9", "versions": {"scikit-learn": "1"}, "setup_seconds": 0.1}
    return json.dumps({**about, "nodes": 1, "digest": digest(forest)})


@pytest.mark.parametrize(
    ("lines", "noise", "error"),
    [
        ([], "Segmentation fault in /opt/some/folder/solver", "without a word. Segmentation fault in solver"),
        (['{"peer": "anchor", "error": "ImportError: /opt/x/y.so is bad"}'], "noise", "ImportError: y.so is bad"),
        (["Welcome!"], "", "wrote 'Welcome!"),
        (['{"digest": "0", "versions": {"scikit-learn": "0.1"}}'], "", "scikit-learn 0.1 trains another forest"),
        (["ABOUT", '{"instance": 0, "method": "a", "seconds": 1}'], "killed", "ended after 1 of 2 instances. killed"),
        (["ABOUT", '{"peer": "anchor", "error": "MemoryError"}'], "", "MemoryError"),
    ],
)
def test_a_peer_that_fails_is_reported_not_raised(fake, training, lines, noise, error):
    python = fake(*(first_line(training.forest) if line == "ABOUT" else line for line in lines), noise=noise, code=1)
    found = judge.run("anchor", python, training, training.X[:2], 7, 1.0)
    assert error in found["error"]
    assert judge.judge(found, None, None, training.X[:2], 1.0) == found


def test_a_peer_that_says_nothing_is_given_up(training, tmp_path, monkeypatch):
    monkeypatch.setattr(judge, "PATIENCE", 0.1)
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\nexec sleep 100\n")
    script.chmod(0o755)
    assert "without a word" in judge.run("anchor", str(script), training, training.X[:2], 7, 0.1)["error"]


def test_verdicts_are_proved(training):
    """One answer of each kind; a lie comes with an input on which the model itself contradicts it."""
    model = recipe.voting(training.forest)
    explainer = tp.Explainer(model)
    rows = training.X[:7]
    labels = model.predict(rows).tolist()
    right = list(explainer.abductive(rows[1]).features)
    said = [
        {"features": [], "label": labels[0]},
        {"features": right, "label": labels[1]},
        {"features": [0, 1, 2, 3], "label": labels[2]},
        {"features": [0], "label": labels[3] + 1},
        {"error": "ValueError: no"},
        {"timeout": True},
        {"features": [2, 3], "label": labels[6]},
    ]
    report = {"version": "9", "setup_seconds": 0, "answers": {"anchor": [{"seconds": 0.5, **each} for each in said]}}
    found = judge.judge(report, explainer, model, rows, 10)["answers"]["anchor"]
    verdicts = [each.get("verdict") for each in found]
    assert verdicts == ["refuted", "forces", "forces", "other label", None, None, "refuted"]
    assert found[1]["enough"] == right
    assert len(found[2]["enough"]) < 4
    assert explainer.holds(rows[2], found[2]["enough"])
    assert found[4]["error"] == "ValueError: no"
    assert found[5] == {"ms": 500, "over_limit": True}
    for i in (0, 6):
        x = rows[i].copy()
        for feature, value in found[i]["counterexample"].items():
            assert int(feature) not in said[i]["features"]
            x[int(feature)] = value
        assert model.predict([x])[0] == found[i]["label"] != labels[i]


def test_a_witness_that_does_not_refute_is_never_stored(training):
    model = recipe.voting(training.forest)
    row = training.X[0]
    label = model.predict([row])[0]
    verdict = tp.Explainer(model).holds(row, [])
    assert verdict.witness_label != label
    with pytest.raises(tp.InternalError):
        judge.counterexample(verdict, model, row, verdict.witness_label)


def record(**changes):
    """A record of two instances; Anchor was slower on the first and ran out of time on the second."""
    answers = [
        {"ms": 50.0, "features": [0, 1], "verdict": "forces", "enough": [0]},
        {"ms": 900.0, "over_limit": True},
    ]
    oracle = {"ms": [1.0, 3.0], "refuted": [1, 2], "entailed": [1, 1], "remembered": [0, 0], "over_limit": []}
    made = {
        "dataset": "x",
        "printed": {
            **{"nodes": 10, "accuracy": 90, "instances": 2, "vars": 5, "clauses": 9, "sat_calls": 1, "axp_avg_s": 0.5},
            **{"axp_max_s": 0.0, "axp_won_pct": 100},
        },
        "features": 3,
        "classes": 2,
        "instances": 2,
        "nodes": 10,
        "accuracy": 90.9,
        "vars": 5,
        "clauses": 8,
        "explanations": [[0], [0, 1]],
        "oracles": {"native": {**oracle, "longest_refuted_ms": 0.5, "longest_entailed_ms": 0.25}},
        "peers": {"anchor": {"answers": {"anchor": answers}}},
    }
    return {**made, **changes}


def test_races_are_won_by_the_faster():
    made = record()
    assert summary.race(made, "native", summary.ANCHOR) == summary.Race(2, 2)
    made["oracles"]["native"]["ms"][0] = 60.0
    assert summary.race(made, "native", summary.ANCHOR) == summary.Race(1, 2)
    made["oracles"]["native"]["over_limit"] = [0, 1]
    assert summary.race(made, "native", summary.ANCHOR) == summary.Race(0, 1)  # both ran out of time on the second
    made["peers"]["anchor"]["answers"]["anchor"][0] = {"ms": 1.0, "error": "no"}
    assert summary.race(made, "native", summary.ANCHOR).percent is None


def test_the_columns_of_table_1():
    columns = summary.oracle_columns(record(), "native")
    assert columns == {
        **{"MxS": 0.0005, "MxU": 0.00025, "#S": 1.5, "#U": 1, "kept": 1.5},
        **{"Mx": 0.003, "m": 0.001, "avg": 0.002, "%w": 100},
    }


def test_answers_are_counted_by_what_they_are_worth():
    found = summary.validity([record(), record()], summary.ANCHOR)
    assert (found.asked, found.answered, found.over_limit, found.failed) == (4, 2, 2, 0)
    assert (found.forces, found.not_minimal, found.refuted) == (2, 2, 0)
    assert (found.mean_ms, found.mean_length, found.our_length) == (475, 2, 1)
    assert summary.validity([record(peers={})], summary.ANCHOR).asked == 0


def test_what_is_worse_than_the_paper_is_named():
    def figures(made, complete=True):
        return {each.figure: (each.here, each.printed) for each in summary.worse(made, complete)}

    assert figures(record()) == {"kept": (2, 1)}
    assert figures(record(nodes=9, accuracy=91.0, vars=6)) == {
        **{"#N": (9, 10), "%A": (91, 90), "#var": (6, 5)},
        **{"kept": (2, 1)},
    }
    slow = record(explanations=[[0], [1]])
    slow["oracles"]["native"]["ms"] = [2000.0, 80.0]
    assert figures(slow) == {
        **{"Mx, native": (2.0, 0.0), "avg, native": (1.04, 0.5)},
        **{"%w, native": (50, 100)},
    }
    assert "#I" in figures(record(instances=1))
    assert "#I" not in figures(record(instances=1), complete=False)


HEADER = {"command": results.COMMAND, "settings": {"seed": 7}, "versions": {"a": "1"}, "machine": {}, "date": "now"}


def test_results_survive_an_interruption(tmp_path):
    path = tmp_path / "new" / "r.jsonl"
    begun = results.start(path, HEADER)
    begun.add({"dataset": "x"})
    begun.add({"curve": "trees", "at": None})
    with path.open("ab") as file:
        file.write(b'{"dataset": "y", "da')
    again = results.start(path, {**HEADER, "date": "later"})
    assert set(again.datasets) == {"x"}
    assert set(again.growth) == {("trees", None)}
    assert again.header["date"] == "now"
    again.add({"dataset": "y"})
    assert set(results.load(path).datasets) == {"x", "y"}


def test_results_of_other_settings_are_not_mixed(tmp_path):
    path = tmp_path / "r.jsonl"
    results.start(path, HEADER)
    before = path.read_bytes()
    with pytest.raises(tp.InputError, match=r"other settings.*seed 7, not 8"):
        results.start(path, {**HEADER, "settings": {"seed": 8}})
    with pytest.raises(tp.InputError, match="other versions"):
        results.start(path, {**HEADER, "versions": {"a": "2"}})
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ["{}\n", "nonsense\n", '{"command": "x"}\n', "[]\n", "half a line", "\0\n"])
def test_a_file_of_something_else_is_refused_and_kept(tmp_path, text):
    path = tmp_path / "r.jsonl"
    path.write_text(text)
    with pytest.raises(tp.InputError, match="must be a file of results"):
        results.start(path, HEADER)
    assert path.read_text() == text


def test_growth_is_measured_along_each_curve(monkeypatch):
    monkeypatch.setattr(growth, "INSTANCES", 2)
    monkeypatch.setattr(recipe, "N_TREES", 5)
    for curve, at in {"trees": 3, "depth": None, "features": 4, "classes": 4}.items():
        found = growth.measure(curve, at, 10.0, 1)
        assert (found["curve"], found["at"], found["over_limit"]) == (curve, at, 0)
        assert len(found["explain_ms"]) == len(found["predict_ms"]) == 2
        assert found["length"] >= 1
    assert len(list(growth.places())) == 20
