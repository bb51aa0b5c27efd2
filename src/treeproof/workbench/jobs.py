"""Questions of many clients in a few threads: the newest of each channel only, and nothing for who has gone.

A request is *waiting*, then *running*, then over. Cancelled, superseded or of a client that has gone, it is over at
once, whatever its thread still does: nothing more is said about it, and `tp.cancelling` ends the search within
milliseconds.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from treeproof.errors import Cancelled, InputError, TreeproofError
from treeproof.query.oracle import Cancel, cancelling

_log = logging.getLogger(__name__)

Json = dict[str, Any]
Send = Callable[[Json], None]
Answer = Callable[[str, Json, Callable[[str, int, "int | None", Any], None]], Json]

RANKS = {"start": 0, "rows": 0, "predict": 0, "hold": 0, "why": 1}
"""Which questions go first: those that take milliseconds, then why, which follows every drag, then all others (2).

A thread is always left to each better rank, so that long questions delay nobody who drags.
"""
_LAST = 2


class BusyError(TreeproofError):
    """Too many requests wait already."""


class GoneError(TreeproofError):
    """Nobody listens to this client's events."""


@dataclass(eq=False)
class _Job:
    client: str
    id: int
    channel: str
    ask: str
    args: Json
    send: Send
    cancel: Cancel = field(default_factory=Cancel)
    over: bool = False

    @property
    def rank(self) -> int:
        return RANKS.get(self.ask, _LAST)


class Desk:
    """Takes requests and sends events, as `protocol.md` describes them. `send` must not block.

    Parameters
    ----------
    answer
        Answers a question: its name, its arguments, and a function that takes progress.
    threads
        How many questions are answered at once.
    most_waiting
        How many requests may wait, of all clients together; `each` of one client.
    """

    def __init__(
        self, answer: Answer, *, threads: int | None = None, most_waiting: int = 256, each: int = 32, clients: int = 64
    ) -> None:
        self._answer = answer
        self._n_threads = threads or max(4, (os.cpu_count() or 1) + 2)
        self._most_waiting, self._each, self._most_clients = most_waiting, each, clients
        self._condition = threading.Condition()
        self._clients: dict[str, Send] = {}
        self._waiting: list[_Job] = []
        self._running: set[_Job] = set()
        self._threads: list[threading.Thread] = []
        self._stopped = False

    def open(self, client: str, send: Send) -> None:
        """Take requests of a client from now on; one of the same name that is there already has gone."""
        with self._condition:
            if client not in self._clients and len(self._clients) >= self._most_clients:
                raise BusyError(f"At most {self._most_clients} pages can be open at once. Close another one.")
            if client in self._clients:
                self._drop(client)
            self._clients[client] = send

    def close(self, client: str, send: Send | None = None) -> None:
        """Forget a client and all that it asked; with `send`, only if that is still its own."""
        with self._condition:
            if client in self._clients and send in (None, self._clients[client]):
                self._drop(client)

    def _drop(self, client: str) -> None:
        del self._clients[client]
        for job in self._jobs(client):
            self._end(job)

    @property
    def clients(self) -> list[str]:
        """The clients that are there, in the order in which they came."""
        with self._condition:
            return list(self._clients)

    @property
    def n_jobs(self) -> int:
        """How many requests wait or run, those not counted that are over."""
        with self._condition:
            return len(self._waiting) + sum(not job.over for job in self._running)

    def take(self, request: Any) -> None:
        """Take a request; InputError if it is none, BusyError if too many wait, GoneError if nobody listens."""
        client, ask, args = _read(request)
        with self._condition:
            if self._stopped or client not in self._clients:
                raise GoneError("The events of a client must be open before it asks. Load the page again.")
            if ask == "cancel":
                self._cancel(client, args.get("id"))
                return
            job = self._job(client, ask, args, request)
            for older in self._jobs(client):
                if older.channel == job.channel:
                    self._end(older)
            if len(self._waiting) >= self._most_waiting or len(self._jobs(client)) >= self._each:
                raise BusyError("Too many questions wait already. Wait for an answer, or cancel one.")
            self._waiting.append(job)
            if len(self._threads) < self._n_threads:
                thread = threading.Thread(target=self._work, name="treeproof-workbench", daemon=True)
                self._threads.append(thread)
                thread.start()
            self._condition.notify()

    def stop(self) -> None:
        """End everything, and wait for the threads."""
        with self._condition:
            self._stopped = True
            for client in list(self._clients):
                self._drop(client)
            self._condition.notify_all()
        for thread in self._threads:
            thread.join(timeout=5)

    def _job(self, client: str, ask: str, args: Json, request: Json) -> _Job:
        number, channel = request.get("id"), request.get("channel", ask)
        if type(number) is not int or not isinstance(channel, str) or len(channel) > 64:
            raise InputError("A request must have an 'id', a whole number, and a 'channel', a short text.")
        if any(job.id == number for job in self._jobs(client)):
            raise InputError(f"The 'id' of a request must be new. Got {number} twice.")
        return _Job(client, number, channel, ask, args, self._clients[client])

    def _jobs(self, client: str) -> list[_Job]:
        return [job for job in (*self._waiting, *self._running) if job.client == client and not job.over]

    def _end(self, job: _Job) -> None:
        """End a request without a word; the condition is held."""
        job.over = True
        job.cancel.set()
        if job in self._waiting:
            self._waiting.remove(job)

    def _cancel(self, client: str, number: Any) -> None:
        for job in self._jobs(client):
            if job.id == number:
                self._end(job)
                job.send({"id": job.id, "event": "cancelled"})

    def _work(self) -> None:
        while True:
            with self._condition:
                while (job := self._next()) is None:
                    if self._stopped:
                        return
                    self._condition.wait()
                self._waiting.remove(job)
                self._running.add(job)
            event = self._answered(job)
            with self._condition:
                self._running.discard(job)
                if not job.over:
                    job.over = True
                    job.send({"id": job.id, **event})
                self._condition.notify()  # a long question may start now

    def _next(self) -> _Job | None:
        """Return the request to answer next, if a thread is left for its rank."""
        for rank in range(_LAST + 1):
            n_running = sum(job.rank >= rank for job in self._running)
            found = next((job for job in self._waiting if job.rank == rank), None)
            if found is not None and n_running < max(1, self._n_threads - rank):
                return found
        return None

    def _answered(self, job: _Job) -> Json:
        def progress(text: str, done: int, total: int | None, part: Any) -> None:
            told = {"id": job.id, "event": "progress", "text": text, "done": done, "total": total, "part": part}
            with self._condition:
                if not job.over:
                    job.send(told)

        try:
            with cancelling(job.cancel):
                return {"event": "answer", "answer": self._answer(job.ask, job.args, progress)}
        except Cancelled:
            return {"event": "cancelled"}
        except TreeproofError as error:
            return {"event": "error", "message": str(error)}
        except Exception as error:
            _log.exception("a question of the workbench failed: %s", job.ask)
            what = f"{type(error).__name__}: {error}"[:500]
            return {"event": "error", "message": f"Something went wrong inside treeproof; please report it. {what}"}


def _read(request: Any) -> tuple[str, str, Json]:
    """Return the client, the question and its arguments."""
    if not isinstance(request, dict):
        raise InputError("A request must be a JSON object.")
    client, ask, args = request.get("client"), request.get("ask"), request.get("args", {})
    if not isinstance(client, str) or not isinstance(ask, str) or not isinstance(args, dict):
        raise InputError("A request must have a 'client' and an 'ask', both texts, and 'args', an object.")
    return client, ask, args
