"""Whoever waits for more than a second at a terminal sees that work is going on; nobody else sees anything."""

from __future__ import annotations

import io
import threading
import time
from types import SimpleNamespace

import pytest

import treeproof as tp
from treeproof.questions import waiting as module
from treeproof.questions.parallel import track
from treeproof.questions.waiting import counted, waiting


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=stream))  # pytest sets sys.stderr anew for the test
    for name in ("NO_COLOR", module.QUIET):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(module, "_teller", module._Teller())
    return stream


def seen(stream, text, within=20.0):
    """Wait until something is shown."""
    end = time.monotonic() + within
    while text not in stream.getvalue() and time.monotonic() < end:
        time.sleep(0.02)
    return text in stream.getvalue()


def test_seconds_are_counted_after_the_first_and_the_line_disappears(terminal):
    with waiting("explaining"):
        assert terminal.getvalue() == ""
        assert seen(terminal, "explaining: ")
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_what_is_quick_or_inside_another_says_nothing(terminal):
    with waiting("outer"):
        with waiting("inner"):
            assert seen(terminal, "outer: ")
        assert "inner" not in terminal.getvalue()
    before = terminal.getvalue()
    tp.Explainer(tp.examples.heart_disease()[0])
    assert terminal.getvalue() == before


def test_a_progress_bar_silences_it(terminal):
    pytest.importorskip("rich")
    with waiting("explaining"):
        assert list(track(iter([1, 2]), 2, "rows")) == [1, 2]
        time.sleep(1.6)
    assert "explaining" not in terminal.getvalue()


@pytest.mark.parametrize("name", ["NO_COLOR", module.QUIET])
def test_it_can_be_switched_off(terminal, monkeypatch, name):
    monkeypatch.setenv(name, "1")
    with waiting("explaining"):
        time.sleep(1.6)
    assert terminal.getvalue() == ""


def test_other_threads_say_nothing(terminal):
    def work():
        with waiting("thread"):
            time.sleep(1.6)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert terminal.getvalue() == ""


def test_an_error_ends_it(terminal):
    @counted("explaining")
    def fails():
        assert seen(terminal, "explaining: ")
        raise ValueError("no answer")

    with pytest.raises(ValueError, match="no answer"):
        fails()
    assert terminal.getvalue().endswith("\r\x1b[K")
    terminal.truncate(0)
    with waiting("again"):
        assert seen(terminal, "again: ")
