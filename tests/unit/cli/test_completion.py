"""Scripts for shells: bash's is run, the others are read."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from treeproof.cli import main


def script(capsys, shell: str) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def complete(text: str, *words: str) -> list[str]:
    """Return what bash offers for the last word."""
    typed = " ".join(f"'{word}'" for word in words)
    ask = f"{text}\nCOMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _shtab_treeproof; "
    bash = shutil.which("bash")
    assert bash
    shown = "printf '%s\\n' \"${COMPREPLY[@]}\""
    done = subprocess.run([bash, "--norc", "-c", ask + shown], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_options_and_values(capsys):
    text = script(capsys, "bash")
    commands = complete(text, "treeproof", "")
    assert " ".join(commands) == "demo train explain enumerate ask compare report serve check encode bench completion"
    assert complete(text, "treeproof", "comp") == ["compare", "completion"]
    assert sorted(complete(text, "treeproof", "compare", "a.json", "b.json", "--ou")) == ["--out", "--output"]
    assert complete(text, "treeproof", "en") == ["enumerate", "encode"]
    assert complete(text, "treeproof", "explain", "--ro") == ["--row", "--rows"]
    assert complete(text, "treeproof", "explain", "m.json", "d.csv", "--kind", "c") == ["contrastive"]
    assert complete(text, "treeproof", "ask", "ro") == ["robustness"]
    assert complete(text, "treeproof", "ask", "robustness", "m.json", "--norm", "") == ["linf", "l1", "l0"]
    assert complete(text, "treeproof", "completion", "") == ["bash", "zsh", "fish"]
    assert complete(text, "treeproof", "bench", "table1", "--qu") == ["--quick", "--quiet"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_files_where_files_are_meant(capsys, tmp_path, monkeypatch):
    text = script(capsys, "bash")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.json").touch()
    (tmp_path / "models").mkdir()
    assert sorted(complete(text, "treeproof", "explain", "mod")) == ["model.json", "models"]
    assert complete(text, "treeproof", "explain", "model.json", "model.") == ["model.json"]
    assert complete(text, "treeproof", "explain", "m.json", "d.csv", "--constraints", "model.") == ["model.json"]
    assert complete(text, "treeproof", "explain", "m.json", "d.csv", "--certificate", "mod") == ["models"]
    assert complete(text, "treeproof", "explain", "m.json", "d.csv", "--timeout", "mod") == []


def test_zsh_and_fish_know_the_same_words(capsys):
    zsh, fish = script(capsys, "zsh"), script(capsys, "fish")
    assert zsh.startswith("#compdef treeproof\n")
    for shell, text in (("zsh", zsh), ("fish", fish)):
        for word in ("robustness", "where", "table1", "contrastive"):
            assert word in text, (shell, word)
        found = shutil.which(shell)
        if found:
            subprocess.run([found, "-n"], input=text, text=True, check=True)


def test_no_default_is_left_as_a_pattern(capsys):
    for shell in ("bash", "zsh", "fish"):
        assert "%(" not in script(capsys, shell)


def test_without_shtab_the_message_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    assert capsys.readouterr().err == "treeproof: Completion scripts need shtab: pip install 'treeproof[cli]'.\n"
