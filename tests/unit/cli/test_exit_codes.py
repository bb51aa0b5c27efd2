"""Exit codes of every command, and the one text that documents them."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import treeproof as tp
from treeproof.cli import ask, check, codes, compare, completion, demo, encode, explain, main, report, train
from treeproof.cli import enumerate as enumerate_
from treeproof.cli.main import make_parser

MODULES = [demo, train, explain, enumerate_, compare, report, check, encode, completion]
QUESTIONS = {
    **{name: [] for name in ("relevance", "attribution", "robustness", "changes", "general")},
    "review": ["--claim", "weight > 3"],
    "audit": ["--protected", "chest-pain"],
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    forest, patient = tp.examples.heart_disease()
    tp.save_forest(forest, "m.json")
    tp.Explainer(forest).abductive(patient).certificate().save("c.json")
    tree = tp.split("a", 0.5, "No", "Yes")
    tp.save_forest(tp.build_forest([tree], columns=["a"], classes=["No", "Yes"]), "other.json")
    Path("d.csv").write_text(f"{','.join(forest.column_names)}\n{','.join(map(str, patient))}\n")
    Path("t.csv").write_text("a,b,class\n" + "".join(f"{i},{i % 7},{int(i > 20)}\n" for i in range(40)))
    return tmp_path


def code_of(words: list[str]) -> int | str | None:
    try:
        return main(words)
    except SystemExit as stop:  # argparse
        return stop.code


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--version"],
        ["ask"],
        ["bench"],
        ["demo", "--quiet"],
        ["train", "t.csv", "--trees", "3"],
        ["explain", "m.json", "d.csv"],
        ["enumerate", "m.json", "d.csv"],
        *(["ask", name, "m.json", "d.csv", *options] for name, options in QUESTIONS.items()),
        ["compare", "m.json", "m.json", "d.csv"],
        ["report", "m.json", "d.csv"],
        ["check", "c.json", "m.json"],
        ["encode", "m.json", "d.csv"],
        ["completion", "bash"],
    ],
)
def test_done_is_0(words, capsys):
    assert code_of(words) == codes.DONE == 0


@pytest.mark.parametrize(
    "words",
    [
        ["explain", "m.json", "d.csv"],
        ["explain", "m.json", "d.csv", "--kind", "contrastive"],
        ["enumerate", "m.json", "d.csv"],
        *(["ask", name, "m.json", "d.csv", *options] for name, options in QUESTIONS.items()),
        ["compare", "m.json", "m.json", "d.csv"],
        ["report", "m.json", "d.csv"],
    ],
)
def test_a_deadline_is_1(words, capsys):
    assert code_of([*words, "--timeout", "0"]) == codes.LATE == 1


@pytest.mark.parametrize(
    "words",
    [
        ["sing"],
        ["demo", "--loud"],
        ["train", "none.csv"],
        ["explain", "none.json", "d.csv"],
        ["enumerate", "m.json", "none.csv"],
        *(["ask", name, "none.json", "d.csv", *options] for name, options in QUESTIONS.items()),
        ["compare", "m.json", "none.json", "d.csv"],
        ["report", "none.json", "d.csv"],
        ["check", "none.json", "m.json"],
        ["check", "c.json"],
        ["encode", "m.json", "d.csv", "--row", "7"],
        ["bench", "table1", "--data", "nowhere"],
        ["bench", "report", "none.jsonl", "folder"],
        ["completion", "csh"],
    ],
)
def test_bad_input_is_2(words, capsys):
    assert code_of(words) == codes.BAD == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err


@pytest.mark.parametrize("option", ["--minimun", "--minimun=3"])
def test_an_option_that_is_not_there_is_2(option, capsys):
    assert code_of(["explain", "m.json", "d.csv", option]) == codes.BAD
    told = "treeproof explain: no such option: --minimun. Did you mean '--minimum'? See treeproof explain --help.\n"
    assert capsys.readouterr().err == told


def test_a_folder_is_no_file_to_check(capsys, tmp_path):
    for words in (["c.json", str(tmp_path)], [str(tmp_path), "m.json"], ["c.json", "m.json", str(tmp_path)]):
        assert code_of(["check", *words]) == codes.BAD
        said = f"check takes one file at a time. Got {tmp_path}, which is a folder; name a file in it."
        assert said in capsys.readouterr().err.replace("\n", " ")


def test_a_model_that_the_checker_cannot_read_is_2(capsys, tmp_path):
    document = json.loads(Path("m.json").read_text(encoding="utf-8"))
    (tmp_path / "damaged.json").write_text(json.dumps({**document, "roots": [5]}), encoding="utf-8")
    assert code_of(["check", "c.json", str(tmp_path / "damaged.json")]) == codes.BAD
    assert "damaged.json cannot be read. " in capsys.readouterr().err


def test_a_rejected_certificate_is_3(capsys):
    assert code_of(["check", "c.json", "other.json"]) == codes.REJECTED == 3
    assert "rejected" in capsys.readouterr().err


@pytest.mark.parametrize("error", [tp.InternalError("a core is wrong"), KeyError("a core is wrong")])
def test_a_bug_is_4_and_says_what_to_report(error, monkeypatch, capsys):
    def failing(*args):
        raise error

    monkeypatch.setattr(explain, "load", failing)
    assert code_of(["explain", "m.json", "d.csv"]) == codes.BUG == 4
    captured = capsys.readouterr()
    assert captured.out == ""
    first, *_, last = captured.err.splitlines()
    assert first == "Traceback (most recent call last):"
    assert "a core is wrong" in captured.err
    assert last.startswith("treeproof: this is a bug in treeproof; no result is claimed. Please report it")


@pytest.mark.parametrize("content", [b"", b"cnosuchmodule\nX\n.", b"no pickle"])
def test_a_damaged_pickle_is_bad_input_and_no_bug(content, capsys):
    Path("m.pkl").write_bytes(content)
    assert code_of(["explain", "m.pkl", "d.csv", "--trust"]) == codes.BAD
    assert capsys.readouterr().err.startswith("treeproof: m.pkl must be a pickle that can be read here. Got: ")


@pytest.mark.parametrize("module", [*MODULES, ask], ids=lambda module: module.__name__)
def test_an_interrupted_command_is_130(module, monkeypatch, capsys):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "load" if module is ask else "run", interrupted)
    words = {
        train: ["train", "t.csv"],
        check: ["check"],
        compare: ["compare", "m.json", "m.json", "d.csv"],
        completion: ["completion", "bash"],
        demo: ["demo"],
        ask: ["ask", "relevance", "m.json", "d.csv"],
    }
    name = module.__name__.rpartition(".")[2]
    assert code_of(words.get(module, [name, "m.json", "d.csv"])) == codes.INTERRUPTED == 130
    assert capsys.readouterr().err == "treeproof: interrupted\n"


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_ctrl_c_in_the_middle_of_a_long_list(folder):
    """A forest with so many explanations that nobody waits for all of them."""
    n = 24
    names = [f"f{i}" for i in range(n)]
    trees = [tp.split(name, 0.5, "no", "yes") for name in names] + [tp.leaf("no")]
    tp.save_forest(tp.build_forest(trees, columns=names, classes=["no", "yes"]), "wide.json")
    Path("wide.csv").write_text(f"{','.join(names)}\n{','.join(n * ['1.0'])}\n")
    command = [sys.executable, "-m", "treeproof", "enumerate", "wide.json", "wide.csv"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "row 0: yes; its minimal explanations:\n"
    assert process.stdout.readline().startswith("   1  ")
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "treeproof: interrupted\n"


def leaves(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    made = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    return [leaf for action in made for sub in action.choices.values() for leaf in leaves(sub)] if made else [parser]


def test_every_help_ends_with_the_codes_and_fits_a_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    parser = make_parser()
    for made in [parser, *leaves(parser)]:
        if made.prog == "treeproof bench report":
            continue
        text = made.format_help()
        assert text.endswith(codes.TEXT), made.prog
        too_long = [line for line in text.splitlines() if len(line) > 80]
        assert not too_long or "completion" in made.prog, made.prog


def test_the_documentation_has_the_same_codes():
    page = (Path(__file__).parents[3] / "docs" / "errors.md").read_text()
    for line in codes.TEXT.splitlines()[1:]:
        code, text = line.split(maxsplit=1)
        assert f"| {code} | {text} |" in page


def test_the_examples_in_the_help_are_commands_that_are_understood():
    parser = make_parser()
    seen = set()
    for made in [parser, *leaves(parser)]:
        shown = (made.epilog or "").partition("examples:\n")[2].partition("\n\n")[0]
        for line in shown.replace("\\\n", " ").splitlines():
            words = shlex.split(line.split("  ", 2)[1] if made is parser else line, comments=True)
            words = words[: words.index(">")] if ">" in words else words
            assert words[0] == "treeproof"
            if "--help" not in words and words[1:]:
                args = parser.parse_args(words[1:])
                assert args.run
                seen.add(made.prog)
    expected = {made.prog for made in leaves(parser)} - {"treeproof bench report", "treeproof report"}
    assert seen >= expected


def test_one_option_has_one_help_text_everywhere():
    texts: dict[str, set[tuple[str | None, str | None]]] = {}
    for made in leaves(make_parser()):
        if made.prog.startswith(("treeproof bench", "treeproof report", "treeproof train")):
            continue
        for action in made._actions:
            for flag in action.option_strings:
                metavar = action.metavar if isinstance(action.metavar, str) else None
                texts.setdefault(flag, set()).add((metavar, action.help))
    several = {flag for flag, found in texts.items() if len(found) > 1}
    # What is written, which kinds there are, what is kept unless said, and which row is meant, depends on the command;
    # questions about the whole model are about inputs, not rows: which of them, for how long, and what is claimed.
    whole = {"--where", "--timeout", "--claim", "--at-most"}
    assert several <= {"--out", "--certificate", "--kind", "--keep", "--row"} | whole


def test_rows_are_chosen_in_one_way_everywhere():
    for made in leaves(make_parser()):
        flags = {flag for action in made._actions for flag in action.option_strings}
        if any(action.dest == "data" and not action.option_strings for action in made._actions):
            whole = made.get_default("whole")  # no rows, and a table only for what it says about the inputs
            # A certificate is about one row, and the page that serve opens has all of them to choose from.
            if not whole and made.prog not in ("treeproof train", "treeproof check", "treeproof serve"):
                assert {"--row", "--rows", "--all", "--where"} <= flags, made.prog
            assert {"--json", "--quiet"} <= flags, made.prog
