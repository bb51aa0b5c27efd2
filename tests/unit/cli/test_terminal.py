"""Cards, tables and bars on a terminal; plain text in a pipe, and where it is asked for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading

import pytest

import treeproof as tp
from treeproof.cli import main
from treeproof.cli.terminal import waiting

pytest.importorskip("rich")
pty = pytest.importorskip("pty")  # not on every platform

LONG = "the concentration of a substance with a long name, measured in the morning"
UNBROKEN = "od280/od315_of_diluted_wines_and_of_everything_else_in_the_cellar"


@pytest.fixture
def files(tmp_path):
    forest, patient = tp.examples.heart_disease()
    tp.save_forest(forest, tmp_path / "m.json")
    rows = [patient, [0, 1, 0, 80], [0, 0, 1, 60]]
    # With a decimal point: nothing is said about whole numbers.
    lines = [",".join(forest.column_names), *(",".join(map(str, map(float, row))) for row in rows)]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    return ["m.json", "d.csv"]


@pytest.fixture
def long_files(tmp_path):
    names = [LONG, UNBROKEN, "a"]
    low, high = (
        [tp.split(names[i], cut, tp.split(names[j], cut, "no", "yes"), "yes") for i, j in ((0, 1), (1, 2), (2, 0))]
        for cut in (0.5, 0.7)
    )
    for file, trees in (("m.json", low), ("n.json", [*high, tp.split(LONG, 0.1, "yes", "no")])):
        tp.save_forest(tp.build_forest(trees, columns=names, classes=["no", "yes"]), tmp_path / file)
    (tmp_path / "d.csv").write_text(f'"{LONG}",{UNBROKEN},a\n1,1,0\n0,0,0\n0.6,0.6,1\n')
    return ["m.json", "d.csv"]


@pytest.fixture
def terminal(capsys, monkeypatch, tmp_path):
    """Return a function that runs a command here, and takes what it prints for a terminal's."""
    monkeypatch.chdir(tmp_path)

    def run(
        *words: str, code: int = 0, width: int = 80, tty: bool = True, errors: bool = False, **environment: str
    ) -> str:
        with monkeypatch.context() as patch:
            for name in ("NO_COLOR", "FORCE_COLOR"):
                patch.delenv(name, raising=False)
            for name, value in {"TERM": "xterm", "COLUMNS": str(width), **environment}.items():
                patch.setenv(name, value)
            for stream in (sys.stdout, sys.stderr):
                patch.setattr(stream, "isatty", lambda: tty)
            assert main(list(words)) == code
        captured = capsys.readouterr()
        assert tty or captured.err == ""
        return captured.out + (captured.err if errors else "")

    return run


def pseudo_terminal(folder, *words: str) -> str:
    """Run a command in a process of its own whose standard output and error are a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    env = {**kept, "TERM": "xterm", "COLUMNS": "80", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "treeproof", *words]
    process = subprocess.Popen(command, cwd=folder, stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    read = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        read += part
    os.close(ours)
    assert process.wait() == 0
    return read.decode().replace("\r\n", "\n")


def letters(shown: str) -> str:
    """Return what a terminal shows, without colours."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)


def words_of(shown: str) -> str:
    """Return the letters of what is shown, without frames, spaces and line ends."""
    return re.sub(r"[\s│]", "", letters(shown))


def test_a_real_terminal_gets_tables_and_a_pipe_plain_text(files, tmp_path):
    shown = pseudo_terminal(tmp_path, "enumerate", *files)
    assert "\x1b[32mabductive" in shown
    assert "complete: these 3 are all" in letters(shown)
    command = [sys.executable, "-m", "treeproof", "enumerate", *files]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("row 0: Yes; its minimal explanations:\n   1  abductive    {")
    assert done.stderr == ""
    assert "\x1b" not in done.stdout


def test_a_bar_on_a_real_terminal_goes_away(files, tmp_path):
    shown = pseudo_terminal(tmp_path, "explain", *files, "--all", "--out", "r.csv")
    assert re.search(r"explaining .*3/3 .*/s .* left", letters(shown))
    assert shown.endswith("\x1b[1A\x1b[2K3 rows explained, saved to r.csv\n")  # one line up, erased


def test_cards_on_a_terminal(files, terminal):
    shown = terminal("explain", *files, "--all")
    assert letters(shown).count("╭─ row ") == 3
    assert "\x1b[1mYes, because\x1b[0m" in shown
    assert "none of them can be dropped" in " ".join(letters(shown).replace("│", " ").split())
    assert "\x1b" not in terminal("explain", *files, "--json")


@pytest.mark.parametrize(
    "words",
    [
        ["explain", "m.json", "d.csv", "--all"],
        ["enumerate", "m.json", "d.csv"],
        ["ask", "relevance", "m.json", "d.csv"],
        ["ask", "attribution", "m.json", "d.csv"],
        ["ask", "audit", "m.json", "d.csv", "--protected", "weight", "chest-pain"],
        ["compare", "m.json", "m.json", "d.csv"],
    ],
)
def test_a_pipe_gets_plain_text_and_so_does_a_terminal_that_wants_it(files, words, terminal):
    plain = terminal(*words, tty=False)
    assert "\x1b" not in plain
    assert not re.search("[╭│─━]", plain)
    drawn = terminal(*words)
    assert "\x1b[" in drawn
    assert re.search("[│─]", drawn)
    assert terminal(*words, errors=True, NO_COLOR="1") == plain
    assert terminal(*words, errors=True, TERM="dumb") == plain


def test_a_list_of_explanations_is_a_table_with_a_footer(files, terminal):
    shown = terminal("enumerate", *files)
    assert "\x1b[32mabductive" in shown
    assert "\x1b[36mcontrastive" in shown
    assert letters(shown).startswith("row 0: Yes; its minimal explanations:\n")
    rows = [line.split() for line in letters(shown).splitlines()]
    assert ["#", "kind", "features"] in rows
    assert ["1", "abductive", "blocked-arteries,", "chest-pain"] in rows
    assert "complete: these 3 are all (1 abductive, 2 contrastive)" in letters(shown)
    shown = letters(terminal("enumerate", *files, "--limit", "1"))
    assert "not complete: stopped by the limit after 1" in shown
    shown = letters(terminal("enumerate", *files, "--timeout", "0", code=1))
    assert shown.startswith("row 0: Yes; its minimal explanations:\n")


def test_tables_of_answers(files, terminal):
    shown = letters(terminal("ask", "relevance", *files, "--binary", "chest-pain"))
    assert re.search(r"necessary +chest-pain +1 -> 0 gives No", shown)
    assert re.search(r"irrelevant +weight", shown)
    shown = letters(terminal("ask", "attribution", *files))
    assert re.search(r"chest-pain +100 % +1 +█+", shown)
    shown = letters(terminal("ask", "audit", *files, "--protected", "chest-pain"))
    assert re.search(r"row +label +becomes +if only", shown)
    assert re.search(r"another prediction if only these change +\d +\d+\.\d %", shown)


@pytest.mark.parametrize("width", [80, 40])
@pytest.mark.parametrize(
    "words",
    [
        ["explain", "m.json", "d.csv", "--all"],
        ["enumerate", "m.json", "d.csv", "--all"],
        ["ask", "relevance", "m.json", "d.csv"],
        ["ask", "attribution", "m.json", "d.csv"],
        ["ask", "audit", "m.json", "d.csv", "--protected", LONG, UNBROKEN],
        ["compare", "m.json", "n.json", "d.csv"],
    ],
)
def test_long_names_are_wrapped_whole_inside_the_frame(long_files, words, width, terminal):
    shown = letters(terminal(*words, width=width))
    lines = [line.rsplit("\r", 1)[-1] for line in shown.splitlines()]
    assert all(len(line) <= width for line in lines)
    if "enumerate" not in words:
        inside = [line for line in lines if line.startswith("│")]
        assert inside
        assert {line[-1] for line in inside} == {"│"}
    # In one piece, whatever its column: the rest of a line belongs to other columns.
    start = UNBROKEN[:6]
    assert any(start in line for line in lines)
    assert "…" not in shown


def test_a_narrow_list_has_all_of_a_name(long_files, terminal):
    shown = terminal("enumerate", *long_files, "--kind", "abductive", width=40)
    assert UNBROKEN in words_of(shown)
    assert LONG.replace(" ", "") in words_of(shown)


def test_only_what_is_proved_is_green(files, terminal):
    green, red = "\x1b[32m", "\x1b[1;31m"
    assert green + "Proved" in terminal("explain", *files)
    assert red + "Wrong" in terminal("ask", "review", *files, "--claim", "chest-pain > 0.5")
    assert green not in terminal("explain", *files, "--timeout", "0", code=1)
    terminal("explain", *files, "--certificate", "proofs")
    assert "\x1b[1;32mChecked" in terminal("check", "proofs/row-0-why.json", files[0])
    assert green not in terminal("ask", "audit", *files, "--protected", "chest-pain")


def test_names_that_look_like_markup_are_shown_as_they_are(tmp_path, terminal):
    name = "[red]a[/b]"
    forest = tp.build_forest([tp.split(name, 0.5, "[x]", ":smile:")], columns=[name], classes=["[x]", ":smile:"])
    tp.save_forest(forest, tmp_path / "m.json")
    (tmp_path / "d.csv").write_text(f"{name}\n1\n")
    shown = letters(terminal("explain", "m.json", "d.csv"))
    assert '":smile:", because' in shown
    assert name in shown
    for words in (["enumerate"], ["ask", "relevance"], ["ask", "attribution"], ["compare", "m.json"]):
        shown = letters(terminal(*words, "m.json", "d.csv"))
        assert name in shown or words[0] == "compare"


def test_names_cannot_command_the_terminal(tmp_path, terminal):
    name = "a\x1b[2Jb"
    forest = tp.build_forest([tp.split(name, 0.5, "no", "yes")], columns=[name], classes=["no", "yes"])
    tp.save_forest(forest, tmp_path / "m.json")
    (tmp_path / "d.csv").write_text(f"{name}\n1\n")
    for words in (["explain"], ["enumerate"], ["ask", "relevance"]):
        assert "\x1b[2J" not in terminal(*words, "m.json", "d.csv")


def test_a_batch_has_a_bar_with_a_rate_and_the_time_left(files, terminal):
    shown = letters(terminal("explain", *files, "--all"))
    assert re.search(r"explaining .*3/3 .*/s .* left", shown)
    for quiet in (["--quiet"], ["--json"]):
        assert "explaining" not in terminal("explain", *files, "--all", *quiet)
    assert "explaining" not in terminal("explain", *files)
    shown = letters(terminal("ask", "audit", *files, "--protected", "weight", errors=True))
    assert re.search(r"auditing .*3/3 .*/s", shown)


def test_a_list_without_an_end_has_a_count_and_a_rate(files, terminal):
    shown = letters(terminal("enumerate", *files))
    assert re.search(r"row 0 3, [\d.,e+]+/s, 0:00:0", shown)


def test_the_demo_on_a_terminal(tmp_path, terminal):
    shown = letters(terminal("demo"))
    assert "╭─ Why? ─" in shown
    assert "╭─ Why not setosa? ─" in shown
    assert "treeproof train data.csv" in shown
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_seconds_are_counted_on_a_terminal_after_the_first(terminal, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    told = threading.Event()
    write = sys.stderr.write
    monkeypatch.setattr(sys.stderr, "write", lambda text: (write(text), told.set())[0])
    with waiting(False, "explaining"):
        assert told.wait(30)
    assert capsys.readouterr().err.startswith("\r\x1b[Kexplaining: 1 s")
