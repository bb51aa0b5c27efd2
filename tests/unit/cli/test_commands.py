"""The command line, end to end: files in, text and exit codes out."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from pysat.formula import CNF
from pysat.solvers import Solver
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import treeproof as tp
from treeproof.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    iris = load_iris(as_frame=True)
    iris.frame.rename(columns={"target": "class"}).to_csv(folder / "iris.csv", index=False)
    assert main(["train", str(folder / "iris.csv"), "--trees", "20", "--depth", "3", "--out", f"{folder}/m.json"]) == 0
    return folder


@pytest.fixture
def run(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)

    def run(*words: str) -> tuple[int, str, str]:
        try:
            code = main(list(words))
        except SystemExit as exit_:  # argparse
            code = exit_.code
        out = capsys.readouterr()
        return code, out.out, out.err

    return run


def test_no_arguments_print_help(run):
    code, out, _ = run()
    assert code == 0
    assert "explain" in out
    assert "exit codes" in out


def test_the_demo_shows_the_papers_example(run):
    code, out, _ = run("demo")
    assert code == 0
    assert "abductive    {blocked-arteries, chest-pain}" in out
    assert out.count("contrastive  {") == 2
    assert "complete: these 3 are all (1 abductive, 2 contrastive)" in out
    assert "treeproof train data.csv" in out


def test_train_prints_the_accuracy_and_saves_a_majority_forest(run, folder):
    code, out, _ = run("train", "iris.csv", "--depth", "2", "--trees", "9")
    assert code == 0
    assert "9 trees of depth at most 2" in out
    assert "held-out rows: 9" in out
    forest = tp.load_forest(folder / "iris.json")
    assert (forest.vote, forest.n_trees) == ("majority", 9)
    assert forest.column_names[0] == "sepal length (cm)"


def test_train_can_save_skops_and_the_mean_vote(run):
    assert run("train", "iris.csv", "--trees", "5", "--vote", "mean", "--out", "m.skops")[0] == 0
    code, out, _ = run("explain", "m.skops", "iris.csv", "--row", "3")
    assert code == 0
    assert out.startswith("row 3: 0, because")


def test_explain_agrees_with_the_library(run, folder):
    code, out, _ = run("explain", "m.json", "iris.csv", "--row", "70", "3", "--json")
    assert code == 0
    results = [json.loads(line) for line in out.splitlines()]
    assert [r["row"] for r in results] == [70, 3]
    X = load_iris().data
    explainer = tp.Explainer(tp.load_forest(folder / "m.json"))
    for result in results:
        why = explainer.abductive(X[result["row"]])
        assert result["features"] == list(why.features)
        assert result["label"] == why.label


@pytest.mark.parametrize("oracle", ["native", "sat", "smt"])
def test_every_oracle_can_be_chosen(run, oracle):
    code, out, _ = run("explain", "m.json", "iris.csv", "--row", "70", "--oracle", oracle, "--json")
    assert code == 0
    assert json.loads(out)["stats"]["oracle"] == oracle


def test_options_of_the_sat_oracle(run):
    words = ["explain", "m.json", "iris.csv", "--oracle", "sat", "--preset", "paper", "--solver", "minisat22"]
    assert run(*words)[0] == 0
    code, _, err = run(*words[:-1], "magic")
    assert code == 2
    assert "solver" in err


def test_contrastive_with_a_target(run):
    code, out, _ = run("explain", "m.json", "iris.csv", "--kind", "contrastive", "--target", "2", "--json")
    assert code == 0
    assert json.loads(out)["witness_label"] == 2


def test_all_rows(run):
    code, out, _ = run("explain", "m.json", "iris.csv", "--all", "--json")
    assert code == 0
    assert len(out.splitlines()) == 150


def test_a_deadline_gives_exit_code_1(run):
    code, out, _ = run("explain", "m.json", "iris.csv", "--timeout", "0")
    assert code == 1
    assert "may not be minimal" in out
    assert run("enumerate", "m.json", "iris.csv", "--timeout", "0")[0] == 1


def test_enumerate_lists_both_kinds_and_says_that_it_is_complete(run):
    code, out, _ = run("enumerate", "m.json", "iris.csv", "--row", "70")
    assert code == 0
    assert "abductive" in out
    assert "contrastive" in out
    assert "complete: these" in out
    code, out, _ = run("enumerate", "m.json", "iris.csv", "--row", "70", "--limit", "1")
    assert code == 0
    assert "stopped by the limit" in out


def test_enumerate_with_a_target_says_what_is_ruled_out(run):
    code, out, _ = run("enumerate", "m.json", "iris.csv", "--row", "70", "--target", "0")
    assert code == 0
    assert out.startswith("row 70: 2, not 0; its minimal explanations:\n")
    assert "rules out 0" in out
    assert "abductive" not in out


def test_encode_writes_a_formula_that_is_satisfiable_iff_the_label_can_change(run, folder):
    for preset in ("paper", "compact"):
        code, out, _ = run("encode", "m.json", "iris.csv", "--preset", preset)
        assert code == 0
        with Solver(bootstrap_with=CNF(from_string=out)) as solver:
            assert not solver.solve()
        assert run("encode", "m.json", "iris.csv", "--preset", preset, "--keep", "--out", "free.cnf")[0] == 0
        with Solver(bootstrap_with=CNF(from_file=str(folder / "free.cnf"))) as solver:
            assert solver.solve()
    code, out, _ = run("encode", "m.json", "iris.csv", "--format", "smtlib")
    assert code == 0
    assert "(check-sat)" in out


def test_a_pickle_needs_consent(run, folder):
    iris = load_iris()
    model = RandomForestClassifier(5, random_state=0).fit(iris.data, iris.target)
    (folder / "m.pkl").write_bytes(pickle.dumps(model))
    code, _, err = run("explain", "m.pkl", "iris.csv")
    assert code == 2
    assert "can execute code" in err
    assert "--trust" in err
    assert run("explain", "m.pkl", "iris.csv", "--trust")[0] == 0


def test_other_values_are_declared(run, folder):
    X = pd.DataFrame({"city": ["Bern", "Graz", "Lyon", "Oslo"] * 10, "code": [2, 3] * 20})
    y = X["city"].isin(["Bern", "Graz"])
    steps = make_pipeline(OneHotEncoder(handle_unknown="ignore"), RandomForestClassifier(5, random_state=0))
    (folder / "pipe.pkl").write_bytes(pickle.dumps(steps.fit(X, y)))
    (folder / "rows.csv").write_text("city,code\nRome,2\nBern,7\nLyon,3\n")
    code, _, err = run("explain", "pipe.pkl", "rows.csv", "--row", "0", "--trust")
    assert code == 2
    assert "Explainer(model, other=['city'])" in err
    for declared in (["--other"], ["--other", "city", "code"], ["--observed"]):
        code, out, _ = run("explain", "pipe.pkl", "rows.csv", "--row", "0", "1", "--trust", "--plain", *declared)
        assert code == 0
        assert "city = other" in out, declared
    assert run("explain", "pipe.pkl", "rows.csv", "--row", "1", "--trust", "--other", "city")[0] == 2
    code, _, err = run("explain", "pipe.pkl", "rows.csv", "--trust", "--other", "citi")
    assert code == 2
    assert "Did you mean 'city'" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["explain", "none.json", "iris.csv"], "No such file"),
        (["explain", "m.json", "none.csv"], "No such file"),
        (["explain", "m.json", "iris.csv", "--row", "150"], "between 0 and 149"),
        (["explain", "m.json", "empty.csv"], "empty file"),
        (["explain", "m.json", "ragged.csv"], "must have 2 cells"),
        (["explain", "m.json", "other.csv"], "must have the model's columns"),
        (["explain", "m.json", "words.csv"], "must be a number"),
        (["explain", "iris.csv", "iris.csv"], "must end in"),
        (["explain", "broken.json", "iris.csv"], "must be JSON"),
        (["explain", "m.json", "iris.csv", "--target", "1"], "--kind contrastive"),
        (["explain", "m.json", "iris.csv", "--kind", "contrastive", "--target", "9"], "must be one of"),
        (["explain", "m.json", "iris.csv", "--prefer", "colour"], "must be one of"),
        (["explain", "m.json", "iris.csv", "--one-hot", "a"], "NAME=COLUMN"),
        (["explain", "m.json", "iris.csv", "--timeout", "-1"], "'timeout'"),
        (["train", "iris.csv", "--class", "species"], "class column must be one of"),
        (["train", "iris.csv", "--trees", "0"], "between 1 and"),
        (["train", "iris.csv", "--out", "m.txt"], "must end in .json or .skops"),
        (["train", "words.csv"], "numbers, but 1 of its cells are none, such as 'much' in row 0"),
        (["explain", "m.json"], "required"),
        (["sing"], "invalid choice"),
        (["explian", "m.json", "iris.csv"], "Did you mean 'explain'?"),
        (["explain", "m.json", "iris.csv", "--kind", "contrastve"], "Did you mean 'contrastive'?"),
        (["explain", "m.json", "iris.csv", "--inflate", "--plain"], "not allowed with"),
    ],
)
def test_bad_input_gives_exit_code_2_and_a_message(run, folder, words, message):
    header = ",".join(f'"{name}"' for name in load_iris().feature_names)
    (folder / "empty.csv").write_text("")
    (folder / "ragged.csv").write_text("a,b\n1,2\n3\n")
    (folder / "other.csv").write_text("a,b\n1,2\n")
    (folder / "words.csv").write_text(f"{header},class\n" + "".join(f"1,{i},{i},4,0\n" for i in range(11)))
    (folder / "words.csv").write_text((folder / "words.csv").read_text().replace("1,0,0,", "1,0,much,"))
    (folder / "broken.json").write_text('{"format": "treeproof-forest", ')
    code, out, err = run(*words)
    assert code == 2
    assert message in err
    assert out == ""


def test_a_closed_pipe_is_no_error(folder):
    script = f"{sys.executable} -m treeproof explain m.json iris.csv --all | head -n 1"
    done = subprocess.run(script, shell=True, cwd=folder, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("row 0")
    assert done.stderr == ""


def test_explaining_a_forest_in_a_file_waits_for_no_library(tmp_path):
    """scikit-learn alone takes longer to import than all the rest of a command."""
    forest, _ = tp.examples.heart_disease()
    tp.save_forest(forest, tmp_path / "forest.json")
    (tmp_path / "rows.csv").write_text(",".join(forest.column_names) + "\n1.0,0.0,1.0,70.0\n")
    code = (
        "import sys; from treeproof.cli import main; "
        "assert main(['explain', 'forest.json', 'rows.csv']) == 0; "
        "sys.exit(', '.join({'sklearn', 'scipy', 'pandas', 'pysat', 'jinja2', 'matplotlib'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_one_output_of_several_can_be_chosen(run, folder):
    iris = load_iris(as_frame=True)
    both = iris.frame[["target"]].assign(wide=(iris.data.iloc[:, 0] > 5.8).astype(int))
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(iris.data, both)
    (folder / "both.pkl").write_bytes(pickle.dumps(model))
    code, _, err = run("explain", "both.pkl", "iris.csv", "--row", "3", "--trust")
    assert code == 2
    assert "The model has 2 outputs: 0, 1. Say which one to explain: output=0 (--output 0 on the command line)." in err
    for output in ("0", "1"):
        code, out, _ = run("explain", "both.pkl", "iris.csv", "--row", "60", "--trust", "--output", output)
        assert code == 0
        assert out.startswith(f"row 60: {model.predict(iris.data)[60, int(output)]}, because")


def test_a_local_reason_from_the_command_line(run):
    words = ["explain", "m.json", "iris.csv", "--row", "60"]
    code, out, _ = run(*words, "--radius", "2", "--scale", "petal width (cm)=0.4")
    assert code == 0
    assert "as long as no other feature moves by more than 2 of its" in " ".join(out.split())
    assert "Scale: as given for petal width (cm), otherwise half the distance" in " ".join(out.split())
    code, out, _ = run(*words, "--radius", "0.01", "--kind", "contrastive", "--json")
    assert (code, json.loads(out)["limits"]) == (0, ["every feature within 0.01 of its scale"])
    code, out, _ = run("enumerate", "m.json", "iris.csv", "--row", "60", "--radius", "0.01")
    assert (code, "abductive    {}" in out) == (0, True)
    code, _, err = run(*words, "--scale", "petal width (cm)=0.4")
    assert (code, "--scale requires --radius" in err) == (2, True)
    code, out, _ = run(*words, "--at-most", "1", "--scale", "petal width (cm)=0.4")
    assert (code, "moves by" in out, "of at most 1 feature reaches further" in out) == (0, True, True)
    code, _, _ = run(*words, "--radius", "0.5", "--out", "near.csv")
    assert code == 0
    assert Path("near.csv").read_text().splitlines()[0].endswith(",within")


def test_a_person_reads_ranges_and_a_program_what_it_asks_for(run, monkeypatch):
    wide = run("explain", "m.json", "iris.csv", "--row", "70", "--inflate")[1]
    plain = run("explain", "m.json", "iris.csv", "--row", "70", "--plain")[1]
    assert "can be widened" in wide
    assert "can be widened" not in plain
    assert run("explain", "m.json", "iris.csv", "--row", "70")[1] == wide
    assert not json.loads(run("explain", "m.json", "iris.csv", "--row", "70", "--json")[1])["inflated"]
    monkeypatch.setattr("treeproof.questions.abductive.SECONDS", 0.0)
    code, out, err = run("explain", "m.json", "iris.csv", "--row", "70")
    assert (code, out) == (0, plain)
    assert "--inflate does it all the same" in err


def test_the_usual_time_limit_is_said_when_it_strikes(run, monkeypatch):
    monkeypatch.setattr("treeproof.cli.options.TIMEOUT", 0.0)
    code, out, err = run("explain", "m.json", "iris.csv", "--row", "70")
    assert code == 1
    assert "Timed out" in out
    assert "stopped at the time limit for row 70" in err
    assert run("explain", "m.json", "iris.csv", "--row", "70", "--timeout", "none")[0] == 0


def test_a_missing_value_names_the_option(run, folder):
    rows = [[0.0], [1.0], [float("nan")]] * 5
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(rows, [0, 1, 1] * 5)
    tp.save_forest(tp.import_model(model), folder / "gaps.json")
    (folder / "gaps.csv").write_text('x0\n1\n""\n')
    assert "--missing" in run("explain", "gaps.json", "gaps.csv", "--row", "1")[2]
    assert run("explain", "gaps.json", "gaps.csv", "--row", "1", "--missing")[0] == 0
