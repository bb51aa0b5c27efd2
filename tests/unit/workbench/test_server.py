"""The server: who may ask, what it says about itself, and many clients at once."""

from __future__ import annotations

import http.client
import json
import queue
import random
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

import treeproof as tp
from treeproof.workbench.server import HEADERS, LONGEST, Server

LONG = 60.0


@pytest.fixture(scope="module")
def server(iris) -> Iterator[Server]:
    made = Server(iris)
    thread = threading.Thread(target=made.run)
    thread.start()
    yield made
    made.stop()
    thread.join(LONG)
    assert not thread.is_alive()


def request(
    server: Server, method: str, path: str, body: Any = None, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    address = urlsplit(server.url)
    connection = http.client.HTTPConnection(str(address.hostname), server.port, timeout=LONG)
    try:
        connection.putrequest(
            method, path if path.startswith("/") else address.path + path, skip_host="Host" in headers
        )
        text = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        if text is not None:
            kind = headers.pop("kind", "application/json")
            headers = {"Content-Type": kind, "Content-Length": str(len(text)), **headers}
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders(text)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


class Tab:
    """A page that listens to its events and asks."""

    def __init__(self, server: Server, client: str) -> None:
        self.server, self.client, self.number = server, client, 0
        self.events: queue.Queue[dict[str, Any]] = queue.Queue()
        self.stream = socket.create_connection(("127.0.0.1", server.port), timeout=LONG)
        path = urlsplit(server.url).path
        self.stream.sendall(
            f"GET {path}api/events?client={client} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode()
        )
        self.file = self.stream.makefile("rb")
        while self.file.readline().strip() != b": open":
            pass
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=LONG)

    def read(self) -> None:
        try:
            for line in self.file:
                if line.startswith(b"data: "):
                    self.events.put(json.loads(line[6:]))
        except (OSError, ValueError):  # closed
            pass

    def send(self, ask: str, channel: str | None = None, **args: Any) -> int:
        self.number += 1
        body = {"client": self.client, "id": self.number, "channel": channel or ask, "ask": ask, "args": args}
        path = f"{urlsplit(self.server.url).path}api/ask"
        self.connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        assert (answer.status, answer.read()) == (202, b"{}")
        return self.number

    def ask(self, ask: str, **args: Any) -> dict[str, Any]:
        number = self.send(ask, **args)
        while True:
            event = self.events.get(timeout=LONG)
            assert event["id"] == number
            if event["event"] != "progress":
                return event

    def close(self) -> None:
        self.connection.close()
        self.stream.shutdown(socket.SHUT_RDWR)
        self.reader.join(LONG)
        self.file.close()
        self.stream.close()


@pytest.fixture
def tab(server):
    made = Tab(server, "tab")
    yield made
    made.close()


def test_a_question_is_answered_by_an_event(tab, iris):
    assert tab.ask("start")["answer"] == iris.ask("start", {})
    values = tab.ask("rows", indices=[63])["answer"]["rows"][0]["values"]
    assert tab.ask("why", values=values)["answer"]["features"] == iris.ask("why", {"values": values})["features"]
    assert "must be a list of 4 values" in tab.ask("why", values=[])["message"]


def test_the_page_and_its_files_are_served_with_strict_headers(server):
    status, headers, body = request(server, "GET", "")
    assert status == 200
    assert b"boot.js" in body
    for path, kind in (("", "text/html"), ("boot.js", "text/javascript"), ("style.css", "text/css")):
        status, headers, _ = request(server, "GET", path)
        assert (status, headers["content-type"].partition(";")[0]) == (200, kind)
        for name, value in HEADERS.items():
            assert headers[name.lower()] == value
        assert "set-cookie" not in headers
    policy = HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy


@pytest.mark.parametrize(
    "path", ["../session.py", "vendor/../../session.py", "nothing.js", "%2e%2e/session.py", "vendor"]
)
def test_no_other_file_is_served(server, path):
    status, headers, body = request(server, "GET", path)
    assert status in (403, 404)
    assert b"import" not in body
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/", "/wrong/", "/wrong/api/events?client=a", "/api/ask"])
def test_a_wrong_token_is_refused(server, path):
    status, headers, _ = request(server, "GET", path)
    assert status in (403, 404)
    assert headers["content-security-policy"] == HEADERS["Content-Security-Policy"]
    status, _, _ = request(server, "POST", "/wrong/api/ask", {"client": "a", "id": 1, "ask": "start"})
    assert status == 403


@pytest.mark.parametrize("host", ["example.com", "127.0.0.1", "localhost:1", "127.0.0.1.example.com"])
def test_a_foreign_host_is_refused(server, host):
    assert request(server, "GET", "", Host=host)[0] == 403


@pytest.mark.parametrize("origin", ["http://example.com", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"])
def test_a_foreign_origin_is_refused(server, origin):
    body = {"client": "a", "id": 1, "ask": "start"}
    status, headers, told = request(server, "POST", "api/ask", body, Origin=origin.format(port=server.port))
    assert status == 403
    assert json.loads(told)["message"].endswith(".")
    assert "access-control-allow-origin" not in headers


def test_the_own_origin_and_localhost_are_not_refused(server):
    own = f"http://127.0.0.1:{server.port}"
    assert request(server, "GET", "", Origin=own)[0] == 200
    assert request(server, "GET", "", Host=f"localhost:{server.port}")[0] == 200


def test_requests_that_cannot_be_taken(server, tab):
    def told(body: Any, **headers: str) -> tuple[int, str]:
        status, _, answer = request(server, "POST", "api/ask", body, **headers)
        return status, json.loads(answer)["message"]

    assert told({"client": "nobody", "id": 1, "ask": "start"})[0] == 409
    assert told({"client": "tab", "ask": "start"})[0] == 400
    assert told(b"{")[0] == 400
    assert told(b'{"client": "tab", "id": 1, "ask": "predict", "args": {"values": [NaN]}}')[0] == 400
    assert told(b"[" * 100_000)[0] == 400
    assert told(b" " * (LONGEST + 1))[0] == 413
    assert told({"client": "tab", "id": 1, "ask": "start"}, kind="text/plain")[0] == 415
    status, _, body = request(server, "GET", "api/events?client=%3Cb%3E")
    assert (status, "must be named" in json.loads(body)["message"]) == (400, True)


def test_a_closed_tab_frees_its_work(server):
    gone = Tab(server, "gone")
    values = gone.ask("rows", indices=[63])["answer"]["rows"][0]["values"]
    assert "gone" in server.desk.clients
    gone.send("sizes", values=values, seconds=9)
    gone.close()
    end = time.monotonic() + LONG
    while "gone" in server.desk.clients:
        assert time.monotonic() < end
        time.sleep(0.02)
    assert server.desk.n_jobs == 0


def test_a_port_in_use_is_a_sentence(server, iris):
    with pytest.raises(tp.InputError, match=f"Port {server.port} must be free"):
        Server(iris, server.port)


def hammer(server: Server, session: Any, seconds: float, n_clients: int) -> int:
    """Let clients ask at once; return how many answers came. Each is compared with what the session says itself."""
    rows = session.ask("rows", {"limit": 150})["rows"]
    failures: list[str] = []
    counts = [0] * n_clients
    end = time.monotonic() + seconds

    def one(k: int) -> None:
        choose = random.Random(k)
        tab = Tab(server, f"client-{k}")
        try:
            while time.monotonic() < end or not counts[k]:
                values = choose.choice(rows)["values"]
                held = choose.sample(range(4), choose.randint(0, 4))
                ask, args = choose.choice(
                    [
                        ("predict", {"values": values}),
                        ("hold", {"values": values, "held": held}),
                        ("why", {"values": values, "within": choose.choice([None, 0.5])}),
                        ("rows", {"sort": choose.randint(0, 3), "offset": choose.randint(0, 100), "limit": 3}),
                    ]
                )
                if choose.random() < 0.3:  # a drag: only the last one may be answered
                    tab.send("hold", channel=ask, values=values, held=held)
                event = tab.send(ask, **args), None
                while True:
                    found = tab.events.get(timeout=LONG)
                    if found["id"] == event[0]:
                        break  # an older one was answered before it was superseded
                same = session.ask(ask, args)
                fixed = {key: value for key, value in same.items() if key != "seconds"}
                if {key: value for key, value in found.get("answer", {}).items() if key != "seconds"} != fixed:
                    failures.append(f"{ask} {args}: {found}")
                counts[k] += 1
        except Exception as error:
            failures.append(repr(error))
        finally:
            tab.close()

    threads = [threading.Thread(target=one, args=(k,)) for k in range(n_clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + LONG)
    assert failures == []
    assert min(counts) > 0
    return sum(counts)


def test_twenty_clients_at_once_get_their_own_answers(server, iris):
    assert hammer(server, iris, 1.5, 20) >= 20
