"""The workbench as a widget of a notebook: the same page and the same messages, without a server."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from treeproof.errors import MissingExtraError, TreeproofError
from treeproof.model.files import write_whole
from treeproof.workbench.bundle import saved_page, styles, widget_module
from treeproof.workbench.jobs import Desk, Json
from treeproof.workbench.session import Session

try:
    import anywidget
    import traitlets
except ImportError as error:
    raise MissingExtraError("The widget needs anywidget: pip install 'treeproof[notebook]'.") from error

_VIEWS = 16  # of one widget that are answered; who opens more has closed the first


class Workbench(anywidget.AnyWidget):  # type: ignore[misc]  # traitlets are not typed
    """The workbench in a notebook cell. `state` is what the page shows, kept with the notebook.

    A notebook that is exported as HTML shows that state, without a kernel; so does the page that `save` writes.
    """

    _esm = traitlets.Unicode("").tag(sync=True)
    _css = traitlets.Unicode("").tag(sync=True)
    state = traitlets.Dict(allow_none=True, default_value=None).tag(sync=True)

    def __init__(self, session: Session) -> None:
        self._session = session
        self._desk = Desk(session.ask, clients=_VIEWS)
        super().__init__(_esm=widget_module(), _css=styles("style.css"))
        self.on_msg(self._heard)

    def _heard(self, widget: Any, message: Any, buffers: Any) -> None:
        """Take a request of the page. Each view of the widget is a client of its own, known by its first message."""
        client = message.get("client") if isinstance(message, dict) else None
        try:
            if isinstance(client, str) and client not in (known := self._desk.clients):
                if len(known) >= _VIEWS:
                    self._desk.close(known[0])
                self._desk.open(client, self._sender(client))
            self._desk.take(message)
        except TreeproofError as error:
            number = message.get("id") if isinstance(message, dict) else None
            self.send({"client": client, "id": number, "event": "error", "message": str(error)})

    def _sender(self, client: str) -> Callable[[Json], None]:
        return partial(self._tell, client)

    def _tell(self, client: str, event: Json) -> None:
        self.send({"client": client, **event})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page as it is shown now, as one HTML file that needs nothing else."""
        write_whole(Path(path), saved_page(self._session.title, self.state).encode())

    def close(self) -> None:
        """Remove the widget, and end its questions."""
        self._desk.stop()
        super().close()
