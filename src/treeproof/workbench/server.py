"""The workbench in a browser: a server for this machine alone, whose address holds a secret.

Every request must name the server's own address as its host, come from its own page if it says where it comes from,
and have the token in its path. Answers are for nobody else: no cookies, nothing is stored, and the page may load
nothing from elsewhere.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import re
import secrets
import socket
import threading
import webbrowser
from collections import deque
from collections.abc import AsyncIterator, Callable
from importlib.resources.abc import Traversable
from typing import Any

from treeproof.errors import InputError, MissingExtraError
from treeproof.workbench.bundle import PAGE
from treeproof.workbench.jobs import BusyError, Desk, GoneError, Json
from treeproof.workbench.session import Session

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Route
except ImportError as error:
    raise MissingExtraError("The workbench needs starlette and uvicorn: pip install 'treeproof[web]'.") from error

HOST = "127.0.0.1"
LONGEST = 4_000_000  # bytes of a request
_MOST_EVENTS = 2000  # that wait for a client that does not read
_BEAT = 10.0  # seconds between signs of life, by which a closed tab is noticed
_CLIENT = re.compile(r"[A-Za-z0-9-]{1,64}", re.ASCII)
_TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Outbox:
    """The events that a client has not read yet. Of the progress of one request, only the latest waits."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._events: deque[Json] = deque()
        self._ready = asyncio.Event()
        self.closed = False

    def put(self, event: Json) -> None:
        """Add an event, from any thread."""
        with self._lock:
            last = self._events[-1] if self._events else {}
            if event["event"] == last.get("event") == "progress" and event["id"] == last["id"]:
                self._events.pop()
            self._events.append(event)
            if len(self._events) > _MOST_EVENTS:
                self.closed = True
        self._wake()

    def close(self) -> None:
        """Let the stream end."""
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ready.set)

    async def read(self) -> AsyncIterator[bytes]:
        """Yield the events as server-sent ones, and a comment now and then."""
        yield b": open\n\n"
        while not self.closed:
            try:
                await asyncio.wait_for(self._ready.wait(), _BEAT)
            except TimeoutError:
                yield b": still here\n\n"
                continue
            self._ready.clear()
            with self._lock:
                events, self._events = self._events, deque()
            for event in events:
                yield b"data: " + json.dumps(event, allow_nan=False).encode() + b"\n\n"


class Server:
    """A workbench at an address of its own, on this machine alone.

    Parameters
    ----------
    session
        What is asked.
    port
        The port; 0 is a free one.

    Attributes
    ----------
    url
        The address, with the token that it needs.
    """

    def __init__(self, session: Session, port: int = 0) -> None:
        self._session = session
        self.desk = Desk(session.ask)
        self._socket = _bind(port)
        self.port: int = self._socket.getsockname()[1]
        self._token = secrets.token_urlsafe(24)
        self.url = f"http://{HOST}:{self.port}/{self._token}/"
        self._hosts = {f"{HOST}:{self.port}", f"localhost:{self.port}"}
        self._origins = {f"http://{host}" for host in self._hosts}
        self._outboxes: set[Outbox] = set()
        config = uvicorn.Config(
            self._app(), log_level="critical", timeout_graceful_shutdown=2, lifespan="off", server_header=False
        )
        self._uvicorn = _Uvicorn(config, self._end_streams)

    def run(self, opened: Callable[[], None] = lambda: None) -> None:
        """Serve until Ctrl-C or `stop`; call `opened` when requests are taken."""
        self._socket.listen()  # from here on, whoever connects is answered
        opened()
        try:
            self._uvicorn.run(sockets=[self._socket])
        finally:
            self.desk.stop()
            self._socket.close()

    def stop(self) -> None:
        """Let `run` return soon."""
        self._uvicorn.should_exit = True
        self._end_streams()

    def _end_streams(self) -> None:
        for outbox in list(self._outboxes):
            outbox.close()

    def _app(self) -> Any:
        app = Starlette(
            routes=[
                Route("/{token}/api/ask", self._guarded(self._ask), methods=["POST"]),
                Route("/{token}/api/events", self._guarded(self._events), methods=["GET"]),
                Route("/{token}/{path:path}", self._guarded(self._file), methods=["GET"]),
            ]
        )
        return _with_headers(app)

    def _guarded(self, answer: Callable[[Request], Any]) -> Callable[[Request], Any]:
        """Return a handler that answers only requests of the server's own page, or of who knows its address."""

        async def guarded(request: Request) -> Response:
            origin = request.headers.get("origin")
            if request.headers.get("host") not in self._hosts:
                return _refusal(403, "The request was sent to another host than this server's own address.")
            if origin is not None and origin not in self._origins:
                return _refusal(403, "The request came from another page than this server's own.")
            if not hmac.compare_digest(request.path_params["token"].encode(), self._token.encode()):
                return _refusal(403, "The address needs the token that the server printed when it was started.")
            found: Response = await answer(request)
            return found

        return guarded

    async def _file(self, request: Request) -> Response:
        found: Traversable = PAGE
        path = request.path_params["path"] or "index.html"
        for part in path.split("/"):
            if part in ("", ".", "..") or "\\" in part:
                return _refusal(404, "There is no such file.")
            found = found / part
        kind = _TYPES.get(path[path.rfind(".") :])
        if kind is None or not found.is_file():
            return _refusal(404, "There is no such file.")
        return Response(found.read_bytes(), media_type=kind)

    async def _ask(self, request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return _refusal(415, "A request must be JSON: Content-Type: application/json.")
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > LONGEST:
                return _refusal(413, f"A request must not be longer than {LONGEST:,} bytes.")
        try:
            self.desk.take(json.loads(body, parse_constant=_no_constant))
        except InputError as error:
            return _refusal(400, str(error))
        except (ValueError, RecursionError) as error:
            return _refusal(400, f"The request must be JSON. {error}")
        except (BusyError, GoneError) as error:
            return _refusal(429 if isinstance(error, BusyError) else 409, str(error))
        return JSONResponse({}, status_code=202)

    async def _events(self, request: Request) -> Response:
        client = request.query_params.get("client", "")
        if not _CLIENT.fullmatch(client):
            return _refusal(400, "A client must be named, by at most 64 letters, digits and dashes.")
        outbox = Outbox(asyncio.get_running_loop())
        try:
            self.desk.open(client, outbox.put)
        except BusyError as error:
            return _refusal(429, str(error))
        self._outboxes.add(outbox)

        async def stream() -> AsyncIterator[bytes]:
            try:
                async for part in outbox.read():
                    yield part
            finally:
                self._outboxes.discard(outbox)
                self.desk.close(client, outbox.put)

        return StreamingResponse(stream(), media_type="text/event-stream")


class _Uvicorn(uvicorn.Server):
    """A server whose streams end when somebody stops it; without that it would wait for them."""

    def __init__(self, config: uvicorn.Config, end: Callable[[], None]) -> None:
        super().__init__(config)
        self._end = end

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Stop at a signal."""
        super().handle_exit(sig, frame)
        self._end()


def _bind(port: int) -> socket.socket:
    if not 0 <= port < 2**16:
        raise InputError(f"A port must be a number from 0 to 65535. Got {port}.")
    # Only where the protocol is named does asyncio send small packets at once; otherwise each answer waits for 40 ms.
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
    except OSError as error:
        found.close()
        raise InputError(
            f"Port {port} must be free. Got: {error.strerror}. Choose another one with --port, or none for a free one."
        ) from error
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number there.")


def _refusal(status: int, sentence: str) -> Response:
    return JSONResponse({"message": sentence}, status_code=status)


def _with_headers(app: Any) -> Any:
    """Return an application that says the same about itself with every answer."""
    headers = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]

    async def answered(scope: Any, receive: Any, send: Any) -> None:
        async def sent(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *headers]}
            await send(message)

        if scope["type"] != "http":  # no web sockets
            return
        await app(scope, receive, sent)

    return answered


def open_browser(url: str) -> None:
    """Open the page in the user's browser, if there is one; nobody waits for it."""
    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


__all__ = ["HEADERS", "HOST", "LONGEST", "Server", "open_browser"]
