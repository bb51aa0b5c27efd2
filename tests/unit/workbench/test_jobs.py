"""The desk: one answer for each request, the newest of a channel only, nothing for who has gone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

import treeproof as tp
from treeproof.workbench.jobs import BusyError, Desk, GoneError
from treeproof.workbench.session import Session

LONG = 60.0  # seconds until a test gives up


class Heard:
    """The events of one client."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def ends(self) -> list[tuple[int, str]]:
        return [(event["id"], event["event"]) for event in self.events if event["event"] != "progress"]


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + LONG
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.002)


class Bench:
    """A desk whose questions wait until they are told to go on, or are cancelled."""

    def __init__(self, **options: Any) -> None:
        self.go, self.begun = threading.Event(), []
        self.desk = Desk(self.answer, **options)
        self.heard = Heard()
        self.desk.open("c", self.heard.events.append)

    def answer(self, ask: str, args: dict[str, Any], progress: Any) -> dict[str, Any]:
        self.begun.append(args.get("n"))
        if ask == "fail":
            raise ZeroDivisionError("oops")
        if ask == "refuse":
            raise tp.InputError("That cannot be asked.")
        progress("begun", 0, None, None)
        forest, patient = tp.examples.heart_disease()
        explainer = tp.Explainer(forest)
        while not self.go.wait(0.002):
            explainer.abductive(patient)  # notices that it is cancelled
        return {"n": args.get("n")}

    def take(self, number: int, channel: str = "a", ask: str = "changes", client: str = "c") -> None:
        self.desk.take({"client": client, "id": number, "channel": channel, "ask": ask, "args": {"n": number}})


@pytest.fixture
def bench():
    made: list[Bench] = []

    def make(**options: Any) -> Bench:
        made.append(Bench(**options))
        return made[-1]

    yield make
    for one in made:
        one.go.set()
        one.desk.stop()
        assert not any(thread.is_alive() for thread in one.desk._threads)


def test_a_request_is_answered_once(bench):
    one = bench()
    one.go.set()
    one.take(1)
    until(lambda: one.heard.ends() == [(1, "answer")])
    assert one.heard.events[-1]["answer"] == {"n": 1}


def test_a_newer_request_on_the_channel_silences_the_older_one(bench):
    one = bench(threads=4)
    one.take(1)
    until(lambda: one.begun == [1])
    one.take(2, channel="b")
    one.take(3)
    until(lambda: 3 in one.begun)
    one.go.set()
    until(lambda: len(one.heard.ends()) == 2)
    until(lambda: one.desk.n_jobs == 0)
    assert sorted(one.heard.ends()) == [(2, "answer"), (3, "answer")]


def test_a_waiting_request_that_is_superseded_never_begins(bench):
    one = bench(threads=2)  # one of them is left to quick questions
    one.take(1)
    until(lambda: one.begun == [1])
    for number in range(2, 30):
        one.take(number, channel="b")
    one.go.set()
    until(lambda: len(one.heard.ends()) == 2)
    assert one.begun == [1, 29]
    assert sorted(one.heard.ends()) == [(1, "answer"), (29, "answer")]


def test_cancelling_says_so_at_once(bench):
    one = bench(threads=2)
    one.take(1)
    until(lambda: one.begun == [1])
    one.take(2, channel="b")
    for number in (2, 1, 7):
        one.desk.take({"client": "c", "ask": "cancel", "args": {"id": number}})
    assert one.heard.ends() == [(2, "cancelled"), (1, "cancelled")]
    until(lambda: not one.desk._running)  # the search itself has ended too
    assert one.begun == [1]


def test_a_client_that_has_gone_frees_its_work(bench):
    one = bench(threads=2)
    one.take(1)
    until(lambda: one.begun == [1])
    one.take(2, channel="b")
    one.desk.close("c")
    until(lambda: not one.desk._running)
    assert one.desk.n_jobs == 0
    assert one.heard.ends() == []
    with pytest.raises(GoneError, match="Load the page again"):
        one.take(3)


def test_a_client_that_comes_again_starts_anew(bench):
    one = bench(threads=2)
    again = Heard()
    one.take(1)
    until(lambda: one.begun == [1])
    old = one.heard.events.append
    one.desk.open("c", again.events.append)
    one.desk.close("c", old)  # the old stream ends later; that must not close the new one
    one.take(1)
    one.go.set()
    until(lambda: again.ends() == [(1, "answer")])
    assert one.heard.ends() == []


def test_a_full_desk_says_so(bench):
    one = bench(threads=2, most_waiting=3, each=5)
    one.take(1)
    until(lambda: one.begun == [1])
    for number in (2, 3, 4):
        one.take(number, channel=str(number))
    with pytest.raises(BusyError, match="Too many questions"):
        one.take(5, channel="5")
    one.take(6, channel="4")  # in the place of an older one
    one.go.set()
    until(lambda: len(one.heard.ends()) == 4)
    assert sorted(number for number, _ in one.heard.ends()) == [1, 2, 3, 6]


def test_one_client_cannot_take_all_places(bench):
    one = bench(threads=2, each=2)
    other = Heard()
    one.desk.open("d", other.events.append)
    one.take(1, channel="1")
    one.take(2, channel="2")
    with pytest.raises(BusyError):
        one.take(3, channel="3")
    one.take(1, client="d")
    one.go.set()
    until(lambda: other.ends() == [(1, "answer")])


def test_quick_questions_overtake_long_ones(bench):
    one = bench(threads=3)
    for number in range(1, 6):
        one.take(number, channel=str(number))
    until(lambda: one.begun == [1])
    one.take(6, channel="why", ask="why")
    until(lambda: one.begun == [1, 6])
    one.take(7, channel="another why", ask="why")
    one.take(8, channel="predict", ask="predict")
    until(lambda: one.begun == [1, 6, 8])


def test_errors_are_sentences(bench, caplog):
    one = bench()
    one.take(1, ask="refuse")
    one.take(2, channel="b", ask="fail")
    until(lambda: len(one.heard.events) == 2)
    messages = {event["id"]: event["message"] for event in one.heard.events}
    assert messages[1] == "That cannot be asked."
    assert "please report it. ZeroDivisionError: oops" in messages[2]
    assert "Traceback" not in messages[2]
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize(
    "request_",
    [
        [],
        {"client": "c", "ask": "why", "args": []},
        {"client": "c", "ask": "why", "args": {}},
        {"client": "c", "ask": "why", "args": {}, "id": "1"},
        {"client": "c", "ask": "why", "args": {}, "id": 1, "channel": 5},
        {"client": 5, "ask": "why", "args": {}, "id": 1},
    ],
)
def test_a_request_that_is_none_is_refused(bench, request_):
    with pytest.raises(tp.InputError, match="A request must"):
        bench().desk.take(request_)


def test_an_id_is_used_once(bench):
    one = bench()
    one.take(1)
    with pytest.raises(tp.InputError, match="must be new"):
        one.take(1, channel="b")


def test_a_drag_ends_searches_of_the_shared_explainer():
    X, y = make_classification(300, 40, n_informative=30, n_redundant=0, random_state=0)
    explainer = tp.Explainer(RandomForestClassifier(60, random_state=0, max_depth=8).fit(X, y), data=X)
    session = Session([explainer], X[:20])
    desk, heard = Desk(session.ask), Heard()
    desk.open("c", heard.events.append)
    values = session.ask("rows", {"limit": 1})["rows"][0]["values"]
    endless = {"values": values, "limit": 10_000, "seconds": 600}
    for number in range(1, 12):
        desk.take({"client": "c", "id": number, "ask": "reasons", "args": endless})
        time.sleep(0.01)
    desk.take({"client": "c", "id": 99, "channel": "reasons", "ask": "predict", "args": {"values": values}})
    until(lambda: heard.ends() == [(99, "answer")])
    until(lambda: not desk._running)
    desk.stop()
