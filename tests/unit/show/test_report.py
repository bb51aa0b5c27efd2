"""Reports: the page says what was proved, its files are those it names, and its commands run as they stand."""

from __future__ import annotations

import hashlib
import html
import itertools
import json
import math
import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import treeproof as tp
from treeproof import checker
from treeproof.cli import main
from treeproof.model.files import save_model
from treeproof.show.report import report as reporting
from treeproof.space.wording import show_label

pytestmark = pytest.mark.slow

HOSTILE = "<script>alert('x & \"y\"')</script><!-- --> 中\u202e"
VOID = {"meta", "br", "link", "img", "hr"}


class Page(HTMLParser):
    """A page, read: it must be well formed, and nothing of it may come from elsewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text, self.open, self.ids, self.links, self.headings = text, [], [], [], []
        self.tags, self.words, self.commands = set(), [], []
        assert text.startswith("<!DOCTYPE html>\n<html lang=")
        self.feed(text)
        self.close()
        assert self.open == []
        assert len(self.ids) == len(set(self.ids))
        assert {link for link in self.links if link[1:] not in self.ids} == set()  # all lead to places on the page
        assert self.tags.isdisjoint({"script", "link", "img", "iframe", "object", "embed", "base", "form"})
        assert "http://" not in text
        assert "https://" not in text
        assert "@import" not in text
        assert "currentColor" in text or "<svg" not in text
        levels = [int(tag[1]) for tag in self.headings]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in itertools.pairwise(levels))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        assert not [name for name in given if name.startswith("on") or name in ("src", "srcset")]
        self.tags.add(tag)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(tag)
        if tag == "svg":
            assert given["role"] == "img"
            assert given["aria-label"]
        if tag not in VOID:
            self.open.append((tag, given.get("class")))
        if (tag, given.get("class")) == ("pre", "command"):
            self.commands.append("")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open[-1][0] == tag
        self.open.pop()

    def handle_data(self, data):
        self.words.append(data)
        if ("pre", "command") in self.open:
            self.commands[-1] += data

    def says(self, text: str) -> bool:
        return " ".join(text.split()) in " ".join("".join(self.words).split())


def read(path: Path | str) -> Page:
    return Page(Path(path).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def iris():
    return load_iris(as_frame=True)


@pytest.fixture(scope="module")
def model(iris):
    return RandomForestClassifier(15, max_depth=3, random_state=0).fit(iris.data, iris.target_names[iris.target])


@pytest.fixture(scope="module")
def explainer(model):
    return tp.Explainer(model)


@pytest.fixture
def heart(tmp_path, monkeypatch):
    """Files of the running example; the commands of a page find this treeproof. No pictures, which take time."""
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    forest, patient = tp.examples.heart_disease()
    tp.save_forest(forest, "m.json")
    rows = [patient, [0, 1, 0, 80], [0, 0, 1, 60], [1, 1, 1, 90], [0, 0, 0, 60], [1, 0, 0, 55]]
    lines = [",".join(forest.column_names), *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def run(capsys, *words: str) -> tuple[int, str, str]:
    code = main([*words, "--force"] if words[0] == "report" and "--force" not in words else list(words))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def shell(line: str) -> str:
    return subprocess.run(line, shell=True, capture_output=True, text=True, check=True).stdout


def test_every_chosen_row_is_there_with_what_was_proved(iris, explainer, tmp_path):
    made = tp.report(explainer, iris.data, tmp_path / "r.html", rows=[0, 70, 100, 70])
    page = read(made.out)
    assert [row.row for row in made.rows] == [0, 70, 100]
    for row in made.rows:
        x = iris.data.iloc[row.row]
        assert row.why.result == explainer.abductive(x, inflate=True)
        assert row.change.result == explainer.contrastive(x)
        for filed in row.answers:
            for line in str(filed.result).splitlines():
                assert page.says(line.strip())
            assert filed.accepted
            assert page.says(filed.sha256)
            assert page.says(f"{len(filed.certificate):,} bytes")
        assert f"row-{row.row}" in page.ids
    assert "row-1" not in page.ids
    assert page.text.count("<svg") == 3 * 2 + 2
    assert page.says("RandomForestClassifier of sklearn")
    assert page.says("6 certificates were made")
    assert page.says("accepted all")
    assert page.says("3 of 150 rows of the data")
    assert made.to_dict()["accepted"] == made.accepted == 6
    assert (made.rejected, made.late, made.failed) == (0, (), ())


def test_fingerprints_are_those_of_the_files(iris, explainer, tmp_path):
    made = tp.report(explainer, iris.data, tmp_path / "r.html", rows=[3])
    assert made.certificates == tmp_path / "r-certificates"
    page, files = read(made.out), sorted(made.certificates.iterdir())
    assert len(files) == 4
    for path in files:
        content = path.read_bytes()
        line = f"{path.name}{len(content):,}{hashlib.sha256(content).hexdigest()}"
        assert line in "".join(page.words)
    (forest,) = made.certificates.glob("forest-*.json")
    assert (
        hashlib.sha256(forest.read_bytes()).hexdigest()
        in page.text.partition("The model</h2>")[2].partition("</section>")[0]
    )
    assert tp.load_forest(forest) == explainer.forest
    assert (made.certificates / "checker.py").read_bytes() == Path(checker.__file__).read_bytes()


@pytest.mark.parametrize("out", ["r.html", "my report's.html"])
def test_the_commands_of_the_page_run_as_they_stand(heart, capsys, out):
    assert run(capsys, "report", "m.json", "d.csv", "--row", "0", "2", "--out", out)[0] == 0
    page = read(out)
    assert len(page.commands) == 5
    alone, installed, against, sums, again = page.commands
    assert alone.startswith("python3 -I ")
    assert [line.rpartition(" ")[2] for line in against.splitlines()] == ["m.json"] * 4
    printed = [shell(line.replace("python3", sys.executable, 1)) for line in alone.splitlines()]
    assert shell(installed.splitlines()[0]) == printed[0]
    for block in (installed, against):
        for line, expected in zip(block.splitlines(), printed, strict=True):
            assert run(capsys, *shlex.split(line)[1:]) == (0, expected, "")
    for text in printed:
        stated = text.splitlines()[0].removeprefix("Checked: ").rpartition(" (")[0]
        assert page.says(f"accepted. Proved: {stated}.")
    found = shell(sums).splitlines()
    assert len(found) == 6
    assert all(page.says(line.split()[0].lstrip("\\")) for line in found)
    Path(out).unlink()
    assert run(capsys, *shlex.split(again)[1:])[0] == 0
    without_date = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")
    assert without_date.sub("", read(out).text) == without_date.sub("", page.text)


def test_a_forged_certificate_is_rejected_by_the_copied_checker(heart, capsys):
    run(capsys, "report", "m.json", "d.csv", "--row", "0")
    line = read("report.html").commands[0].splitlines()[0].replace("python3", sys.executable, 1)
    path = heart / "report-certificates" / "row-0-why.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "label": 1 - document["label"]}))
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert done.stderr.startswith("Rejected: ")


def test_by_default_the_first_five_rows(heart, capsys):
    code, out, _ = run(capsys, "report", "m.json", "d.csv")
    assert (code, out) == (
        0,
        "5 rows; 10 certificates accepted. Saved to report.html, certificates in report-certificates\n",
    )
    assert [name for name in read("report.html").ids if re.fullmatch(r"row-\d", name)] == [f"row-{i}" for i in range(5)]


def test_rows_are_chosen_as_elsewhere_and_too_many_are_refused_at_once(heart, capsys):
    code, out, _ = run(capsys, "report", "m.json", "d.csv", "--where", "weight > 70", "--json")
    assert code == 0
    assert json.loads(out) == {
        "kind": "report",
        "out": "report.html",
        "certificates": "report-certificates",
        "rows": [1, 3],
        "accepted": 4,
        "rejected": 0,
        "late": [],
        "about": [],
        "open": [],
        "failed": [],
    }
    code, out, err = run(capsys, "report", "m.json", "d.csv", "--all", "--limit", "4", "--out", "big.html")
    assert (code, out) == (2, "")
    assert "--limit 6" in err
    assert not Path("big.html").exists()
    assert run(capsys, "report", "m.json", "d.csv", "--all", "--quiet", "--limit", "6") == (0, "", "")


@pytest.mark.parametrize(("kind", "names"), [("abductive", ["why"]), ("contrastive", ["change"])])
def test_one_kind_only(heart, capsys, kind, names):
    assert run(capsys, "report", "m.json", "d.csv", "--row", "0", "--kind", kind)[0] == 0
    found = {path.name for path in Path("report-certificates").iterdir()}
    assert {name for name in found if name.startswith("row")} == {f"row-0-{name}.json" for name in names}
    page = read("report.html")
    assert ("row-0-why" in page.ids) == (kind == "abductive")
    assert ("row-0-change" in page.ids) == (kind == "contrastive")


def claims(folder: str) -> dict[str, tuple[bool, bool]]:
    """Return which certificates claim a minimum, and which that no condition can be widened."""
    documents = {path.stem: checker.read(path) for path in Path(folder).glob("row-*.json")}
    return {name: (bool(d["minimum"]), bool(d.get("wider"))) for name, d in documents.items()}


def test_a_minimum_is_proved_and_the_page_says_so(heart, capsys):
    words = ["report", "m.json", "d.csv", "--row", "0"]
    smaller = "no smaller set does"
    cases = (["--plain"], False, False), (["--plain", "--minimum"], True, False), (["--inflate"], False, True)
    for options, minimum, wider in (*cases, ([], False, True)):
        assert run(capsys, *words, *options)[0] == 0
        page = read("report.html")
        assert claims("report-certificates") == {"row-0-why": (minimum, wider), "row-0-change": (minimum, False)}
        assert page.says("proved, smallest") == page.says(f"{smaller}.") == minimum
        assert page.says(f"; {smaller}, and no closer value does.") == minimum
        assert page.says("Where it says so, no smaller set of features forces the label") == minimum
        assert page.says("Where it says so, no smaller set of changes gives another label") == minimum
        assert page.says("no condition can be widened.") == wider
        assert page.says("Where it says so, no condition can be widened") == wider
        assert page.says("the only one or, where it does not say so, the shortest")


def test_in_python_too_a_minimum_is_proved_for_both_kinds(iris, explainer, tmp_path):
    x = iris.data.iloc[70]
    made = tp.report(explainer, iris.data, tmp_path / "r.html", rows=[70], minimum=True, inflate=True)
    (row,) = made.rows
    assert row.why.result == explainer.abductive(x, minimum=True, inflate=True)
    assert row.change.result == explainer.contrastive(x, minimum=True)
    assert (row.why.result.status, row.change.result.status, made.accepted) == ("minimum", "minimum", 2)
    assert claims(tmp_path / "r-certificates") == {"row-70-why": (True, True), "row-70-change": (True, False)}
    assert read(made.out).text.count("proved, smallest") == 2


def test_certificates_go_elsewhere_or_nowhere(heart, capsys):
    assert run(capsys, "report", "m.json", "d.csv", "--row", "0", "--certificates", "proofs/a")[0] == 0
    assert len(list(Path("proofs/a").iterdir())) == 4
    assert "treeproof check proofs/a/row-0-why.json" in "".join(read("report.html").commands)
    code, out, _ = run(capsys, "report", "m.json", "d.csv", "--row", "0", "--no-certificates", "--out", "bare.html")
    assert (code, out) == (0, "1 row; 2 certificates accepted. Saved to bare.html\n")
    assert not Path("bare-certificates").exists()
    page = read("bare.html")
    assert page.says("No certificates were kept")
    assert len(page.commands) == 1
    assert run(capsys, "report", "m.json", "d.csv", "--certificates", "m.json")[0] == 2


def test_a_deadline_is_labelled(heart, capsys):
    code, out, _ = run(capsys, "report", "m.json", "d.csv", "--row", "0", "--timeout", "0")
    assert code == 1
    assert "1 timed out, not fully proved" in out
    page = read("report.html")
    assert page.says("Row 0 timed out before everything was proved.")
    assert page.says("Timed out before this was complete.")
    assert page.says("Timed out; may not be minimal")
    assert page.says("No certificate could be made")


@pytest.mark.parametrize(
    ("question", "left", "said"),
    [
        ("contrastive", {"closest": False}, "Timed out; closer values may exist."),
        ("abductive", {"widest": False, "timed_out": True}, "Timed out; a condition may still be widened."),
        ("abductive", {"status": "minimal", "lower_bound": Fraction(1)}, "Timed out; a smaller set may exist"),
    ],
)
def test_what_the_time_left_open_is_labelled_though_it_is_minimal(heart, capsys, monkeypatch, question, left, said):
    ask, warning = getattr(tp.Explainer, question), "Timed out before this was complete."
    words = ["report", "m.json", "d.csv", "--row", "0", "--inflate"]
    code, out, _ = run(capsys, *words)
    assert (code, "timed out" in out, read("report.html").says(warning)) == (0, False, False)
    monkeypatch.setattr(tp.Explainer, question, lambda *args, **options: replace(ask(*args, **options), **left))
    code, out, _ = run(capsys, *words)
    assert code == 1
    assert out.startswith("1 row; 2 certificates accepted; 1 timed out, not fully proved.")
    page = read("report.html")
    assert page.says(said)
    assert page.says("Row 0 timed out before everything was proved.")
    assert page.text.count(f">{warning}<") == 1
    assert page.text.count("proved, minimal; timed out before complete") == 1  # in the table


def test_no_picture_is_drawn_of_nothing(tmp_path):
    forest, patient = tp.examples.heart_disease()
    tp.report(tp.Explainer(forest), [patient, [0, 1, 0, 80]], tmp_path / "r.html", timeout=0)
    labels = re.findall(r'aria-label="How many of 2 (\w+)', read(tmp_path / "r.html").text)
    assert labels == ["explanations"]  # no change was found in time


def test_a_row_that_fails_is_there_with_its_error_and_the_others_arrive(heart, capsys):
    lines = Path("d.csv").read_text().splitlines()
    lines[2] = "0,1,,80"
    Path("d.csv").write_text("\n".join(lines) + "\n")
    code, out, err = run(capsys, "report", "m.json", "d.csv", "--rows", "0:3")
    assert code == 2
    assert out.startswith("3 rows; 4 certificates accepted; 1 not explained")
    whole, told = err.splitlines()
    assert whole.startswith("treeproof: counted as whole numbers: blocked-arteries, ")
    assert told == "treeproof: not explained: row 1; the report says why"
    page = read("report.html")
    assert {"row-0", "row-1", "row-2"} <= set(page.ids)
    assert page.says("Not explained: Column 'chest-pain' must be a number in d.csv, row 1.")
    assert page.says("Something in row 1 could not be explained.")


def test_if_no_row_can_be_explained_nothing_is_written(heart, capsys):
    Path("d.csv").write_text("a,b\n1,2\n")
    code, _, err = run(capsys, "report", "m.json", "d.csv")
    assert code == 2
    assert "must have the model's columns" in err
    assert sorted(os.listdir()) == ["d.csv", "m.json"]


def test_a_row_that_has_the_target_already_says_so(heart, capsys):
    code, _, _ = run(capsys, "report", "m.json", "d.csv", "--row", "0", "1", "--target", "Yes")
    assert code == 2
    page = read("report.html")
    assert page.says("The target must differ from the prediction.")
    assert page.says("Yes, because")
    assert page.says("the model gives it the label Yes. None of them")
    assert page.says("no closer values of the same features give the label Yes.")
    assert not page.says("features give another label")
    code, _, err = run(capsys, "report", "m.json", "d.csv", "--kind", "abductive", "--target", "Yes")
    assert code == 2
    assert "--target requires" in err


@pytest.mark.parametrize("failing", ["row-0-why.json", "checker.py", "report.html"])
def test_an_error_while_writing_leaves_the_old_page(heart, capsys, monkeypatch, failing):
    Path("report.html").write_text("old")
    write = reporting.write_whole

    def full(path, content):
        if Path(path).name == failing:
            raise OSError(28, "No space left on device", str(path))
        write(path, content)

    monkeypatch.setattr(reporting, "write_whole", full)
    code, out, err = run(capsys, "report", "m.json", "d.csv", "--row", "0")
    assert (code, out) == (2, "")
    assert "No space left" in err
    assert Path("report.html").read_text() == "old"
    assert {name for name in os.listdir() if name.startswith(".")} == set()


def test_a_rejected_certificate_is_not_hidden(heart, capsys, monkeypatch):
    def reject(certificate, model):
        raise tp.CheckError("it is <wrong>")

    monkeypatch.setattr(reporting.checker, "check", reject)
    code, out, err = run(capsys, "report", "m.json", "d.csv", "--row", "0")
    assert code == 3
    assert "2 REJECTED" in out
    assert "2 certificates rejected" in err
    page = read("report.html")
    assert page.says("accepted 0 and rejected 2")
    assert page.says("rejected. it is <wrong>")


@pytest.mark.parametrize("gone", [True, False])
def test_whatever_people_wrote_is_text(tmp_path, monkeypatch, gone):
    if gone:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    column = tp.Column(f"c{HOSTILE}", (f"red{HOSTILE}", "green"))
    tree = tp.isin(column.name, [f"red{HOSTILE}"], tp.split(f"n{HOSTILE}", 1.0, "yes", f"no{HOSTILE}"), "yes")
    forest = tp.build_forest([tree], columns=[column, f"n{HOSTILE}"], classes=["yes", f"no{HOSTILE}"])
    data = tmp_path / "d<b>&.csv"
    data.write_text("x")
    made = tp.report(
        tp.Explainer(forest, constraints=[f"if c{HOSTILE} = green then n{HOSTILE} <= 5"]),
        [[f"red{HOSTILE}", 2.0], ["green", 0.0], [f"blue{HOSTILE}", 0.0]],
        tmp_path / "r.html",
        title=f"T{HOSTILE}",
        inputs={"Data <file>": data},
        command=f"treeproof {HOSTILE}",
    )
    page = read(made.out)
    assert made.failed == (2,)
    assert "<script" not in page.text
    assert "\u202e" not in page.text
    visible = HOSTILE.replace("\u202e", " ").strip()
    for start in ("T", "c", "n", "treeproof "):
        assert page.says(f"{start}{visible}")
    for start in ("red", "no"):  # values and classes are quoted
        assert page.says(show_label(f"{start}{HOSTILE}"))
    assert page.says("d<b>&.csv")
    assert ("<svg" in page.text) != gone
    assert page.says("This page has no pictures. Pictures need matplotlib: pip install 'treeproof[plot]'.") == gone


def test_a_target_is_named_where_the_page_says_what_a_minimum_is(iris, explainer, tmp_path):
    made = tp.report(explainer, iris.data, tmp_path / "r.html", rows=[0], target="virginica", minimum=True)
    page = read(made.out)
    assert made.rows[0].change.result.status == "minimum"
    assert page.says("Where it says so, no smaller set of changes gives the label virginica.")


def test_pictures_have_their_own_names_and_the_colours_of_the_page(iris, explainer, tmp_path):
    with mpl.rc_context({"text.color": "red", "axes.facecolor": "lime"}):
        tp.report(explainer, iris.data, tmp_path / "r.html", rows=[70])
    text = read(tmp_path / "r.html").text
    pictures = re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL)
    assert len(pictures) == 2
    for picture in pictures:
        assert set(re.findall(r"#[0-9a-f]{6}\b", picture)) == set()
        used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', picture))
        assert used == set(re.findall(r' id="([^"]*)"', picture))
        assert "petal" not in re.sub(r'aria-label="[^"]*"', "", picture)  # letters are outlines
        assert "petal" in html.unescape(re.findall(r'aria-label="([^"]*)"', picture)[0])


def test_a_regressor_with_cuts_or_around_its_score(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = RandomForestRegressor(5, max_depth=3, random_state=0).fit(X, y)
    save_model(model, "m.json")
    X[:8].to_csv("d.csv", index=False)
    assert run(capsys, "report", "m.json", "d.csv", "--cut", "150", "--row", "0", "1")[0] == 0
    page = read("report.html")
    assert page.says(">= 150")
    assert page.says("split at 150.0")
    assert "d.csv --cut 150" in page.commands[-1]
    assert len(page.commands) == 4  # the model's own file has no cuts, so certificates are not about it
    assert run(capsys, "report", "m.json", "d.csv", "--within", "60", "--row", "0", "1", "--out", "w.html")[0] == 0
    page = read("w.html")
    assert page.says("within 60 of")
    assert len(list(Path("w-certificates").glob("forest-*.json"))) == 2
    for line in page.commands[1].splitlines():
        assert main(line.split()[1:]) == 0
    code, _, err = run(capsys, "report", "m.json", "d.csv", "--out", "n.html")
    assert code == 2
    assert "Say what is to be explained" in err


def test_a_pipeline_with_categories_is_told_in_its_own_columns(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"colour": rng.choice(["red", "green", "blue"], 120), "size": rng.normal(size=120).round(2)})
    y = np.where((X["colour"] == "red") & (X["size"] > 0), "buy", "leave")
    encoder = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    model = make_pipeline(encoder, RandomForestClassifier(10, max_depth=4, random_state=0)).fit(X, y)
    row = int(np.flatnonzero(y == "buy")[0])
    made = tp.report(tp.Explainer(model), X, tmp_path / "r.html", rows=[row])
    page = read(made.out)
    assert page.says("Pipeline of sklearn (ColumnTransformer, RandomForestClassifier)")
    assert page.says("colour = red")
    assert page.says("blue, green, red")
    assert page.text.count("<svg") == 2
    assert made.accepted == 2
    assert "rows" in page.text


def test_missing_values_kinds_and_bounds_are_in_the_model_card(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 5, size=(80, 3)).astype(float)
    X[::7, 0] = np.nan
    model = HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=4).fit(X, np.nan_to_num(X[:, 0]) + X[:, 1] > 4)
    explainer = tp.Explainer(model, kinds={0: "ordinal", 1: "binary"}, bounds={2: (0, None)}, missing=[0])
    made = tp.report(explainer, np.where(np.arange(3) == 1, X % 2, X), tmp_path / "r.html", rows=[0, 7])
    page = read(made.out)
    words = " ".join(page.words)
    assert "integer whole numbers, or missing" in words
    assert "binary 0 or 1" in words
    assert "real finite numbers from 0" in words
    assert page.says("x0 = missing")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"out": "r.txt"}, "must end in .html"),
        ({"out": "no/r.html"}, "folder of the page must exist"),
        ({"rows": []}, "at least one row"),
        ({"rows": [2]}, "between 0 and 1"),
        ({"rows": [True]}, "whole numbers"),
        ({"kind": "both kinds"}, "'kind' parameter"),
        ({"timeout": "1"}, "'timeout' parameter"),
        ({"target": "Perhaps"}, "Perhaps"),
        ({"model": math.nan}, "'model' parameter must be a path"),
        ({"model": "\ud800"}, "'model' parameter must be a path"),
        ({"protected": math.nan}, "'protected' parameter must be a list of features"),
    ],
)
def test_bad_arguments_are_refused(tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    forest, patient = tp.examples.heart_disease()
    with pytest.raises(tp.InputError, match=message):
        tp.report(tp.Explainer(forest), [patient, patient], **{"out": "r.html", **options})
    assert os.listdir() == []


def test_a_forest_with_one_answer_needs_no_features(tmp_path):
    forest = tp.build_forest([tp.leaf([0.0, 1.0])], columns=["a"], classes=["no", "yes"])
    made = tp.report(tp.Explainer(forest), [[1.0]], tmp_path / "r.html")
    page = read(made.out)
    assert page.says("yes, whatever the input")
    assert page.says("no input of the space gives another label")
    assert made.accepted == 1
    assert made.late == ()


def test_a_bug_ends_the_report_and_leaves_no_page(tmp_path, monkeypatch):
    forest, patient = tp.examples.heart_disease()

    def fails(*_: object, **__: object) -> None:
        raise tp.InternalError("a self-check failed; please report this.")

    monkeypatch.setattr(tp.Explainer, "abductive", fails)
    with pytest.raises(tp.InternalError):
        tp.report(tp.Explainer(forest), [patient], out=tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_a_page_is_not_overwritten_nor_are_certificates_of_two_models_mixed(heart, capsys):
    words = ["report", "m.json", "d.csv", "--row", "0", "--out", "a.html"]
    assert main(words) == 0
    before = Path("a.html").read_bytes()
    assert main(words) == 2
    assert "a.html exists and was not overwritten" in capsys.readouterr().err
    assert Path("a.html").read_bytes() == before
    other = ["--vote", "mean", "--out", "b.html", "--certificates", "a-certificates"]
    assert main([*words[:-2], *other]) == 2
    assert "has certificates about another model" in capsys.readouterr().err
    assert not Path("b.html").exists()
    assert main([*words[:-2], *other, "--force"]) == 0


def test_reasons_come_first_in_ranges_with_the_plain_values_at_hand(iris, explainer, tmp_path):
    page = read(tp.report(explainer, iris.data, tmp_path / "r.html", rows=[70]).out)
    parts = ["because", "instead of", "<svg", "certificate accepted", "What this page says", "The model</h2>"]
    places = [page.text.index(part) for part in parts]
    assert places == sorted(places)
    assert page.says("petal width (cm) = 1.8") or page.says("petal width (cm) = 1.7999999523162842")
    plain = read(tp.report(explainer, iris.data, tmp_path / "p.html", rows=[70], inflate=False).out)
    assert not plain.says("The values of this row alone")
    assert not plain.says("These conditions are not widened")


def test_a_section_about_the_model_has_what_was_asked_with_certificates(heart, capsys):
    words = ["report", "m.json", "d.csv", "--row", "0", "--about-model", "--protected", "weight", "--of", "Yes"]
    code, out, _ = run(capsys, *words)
    assert code == 0
    page = read("report.html")
    for text in (
        "share of the votes for Yes: from 0 to 1",
        "weight alone changes the share of the votes for Yes by up to 0.333333",
        "chest-pain never falls",
        "rules cover 6 of 6 rows",
        "About the model. What is said there holds for every input",
    ):
        assert page.says(text), text
    assert not page.says("Timed out before")
    names = {path.name for path in Path("report-certificates").glob("model-*")}
    assert {"model-extremes-lowest.json", "model-effect.json", "model-rule-1.json"} <= names
    assert "model-monotone-weight-never-falls.json" in names
    assert f"{len(names) + 2} certificates accepted" in out
    checks = [line for line in page.commands[0].splitlines() if "/model-" in line]
    assert len(checks) == len(names)
    assert shell(checks[0]).startswith("Checked: ")


def test_what_is_asked_about_the_model_is_chosen(heart, capsys):
    code, out, _ = run(capsys, "report", "m.json", "d.csv", "--row", "0", "--about-model", "monotone", "--json")
    assert code == 0
    assert json.loads(out)["about"] == ["monotone"]
    page = read("report.html")
    assert page.says("Whether the score is monotone")
    assert not page.says("How far the score can go")


def test_what_the_time_left_open_about_the_model_is_said(heart, capsys):
    words = ["report", "m.json", "d.csv", "--row", "0", "--about-model", "rules", "monotone", "--model-timeout", "0"]
    code, out, _ = run(capsys, *words)
    assert code == 1
    assert "about the model open: monotone, rules" in out
    page = read("report.html")
    assert page.says("Not everything about the model was decided and certified in time.")
    assert page.says("Timed out before all of this was decided.")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"about_model": ["why"]}, "some of"),
        ({"about_model": ["effect"]}, "name them: protected="),
        ({"protected": ["petal width (cm)"]}, "about_model=True"),
        ({"about_model": True}, "Say which class"),
        ({"about_model": True, "of": "setosa", "protected": ["petals"]}, "petals"),
    ],
)
def test_questions_about_the_model_that_cannot_be_asked_are_refused_at_once(
    iris, explainer, tmp_path, options, message
):
    with pytest.raises(tp.InputError, match=re.escape(message)):
        tp.report(explainer, iris.data, tmp_path / "r.html", rows=[0], **options)
    assert not list(tmp_path.iterdir())
