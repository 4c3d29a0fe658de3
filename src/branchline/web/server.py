"""Runs the viewer on a free port of the loopback address, until it is interrupted."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from branchline.library import SessionLibrary
from branchline.places import desktop_environment
from branchline.programs import safe_environment
from branchline.web.app import create_app
from branchline.web.entry import EntryFile, Keys
from branchline.web.guard import Guard
from branchline.web.viewed import StartIndex

__all__ = ["http_server", "serve"]

_BACKLOG = 1024
"""How many connections the system holds until they are accepted: it refuses nobody else meanwhile."""
_ACCEPTED = 32
"""How many are accepted before what they sent is read."""
_TICK_SECONDS = 0.5
_REQUEST_SECONDS = 10.0
"""Deadline for the request line and headers to arrive."""
_OWN = 64
"""How many connections and requests of those who are in are answered at a time."""
_STRANGERS = 24
"""How many connections are kept that did not show the cookie yet. The oldest ones make room for the next."""
_NEWCOMERS = 256
"""How many more there may be until what they sent has been read."""
_READ_SECONDS = 0.05


class Strangers:
    """The connections without a request of somebody who is in: any user of the machine can make them."""

    def __init__(self) -> None:
        self._transports: OrderedDict[object, asyncio.Transport] = OrderedDict()
        self._is_waiting = False

    def add(self, connection: object, transport: asyncio.Transport) -> None:
        """Add a connection. Others are closed a moment later: one may have sent the cookie already."""
        self._transports[connection] = transport
        self._close_all_but(_STRANGERS + _NEWCOMERS)
        if len(self._transports) > _STRANGERS and not self._is_waiting:
            self._is_waiting = True
            asyncio.get_running_loop().call_later(_READ_SECONDS, self._make_room)

    def _make_room(self) -> None:
        self._is_waiting = False
        self._close_all_but(_STRANGERS)

    def _close_all_but(self, most: int) -> None:
        while len(self._transports) > most:
            self._transports.popitem(last=False)[1].abort()

    def discard(self, connection: object) -> None:
        self._transports.pop(connection, None)


class ViewerProtocol(H11Protocol):
    """Closes connections whose request headers do not arrive in time, and limits those of strangers."""

    def __init__(
        self, *arguments: Any, is_known: Callable[[Any], bool], strangers: Strangers, **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self._is_known = is_known
        self._strangers = strangers
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._strangers.add(self, transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        cycle: Any = self.cycle  # None before the first request, contrary to its annotation
        if cycle is None or cycle.response_complete:
            self._wait()
        else:
            self._stop_waiting()
            if self._is_known(self.scope):
                self._strangers.discard(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._strangers.discard(self)
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(_REQUEST_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class QuietServer(uvicorn.Server):
    """Checks for shutdown twice a second instead of ten times, which would dominate the idle CPU time."""

    on_stop: Callable[[], object] | None = None
    """Called before the server ends; after it, a signal may end the process at once."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(_BACKLOG)  # asyncio has made it as short as the number that it accepts at once

    async def main_loop(self) -> None:
        while not self.should_exit:  # noqa: ASYNC110  a signal handler sets it
            await asyncio.sleep(_TICK_SECONDS)
        if self.on_stop is not None:
            self.on_stop()


def serve(
    library: SessionLibrary,
    *,
    port: int = 0,
    writable: bool = False,
    open_browser: bool = True,
    on_address: Callable[[str], object] = print,
    again: int | None = None,
    index: StartIndex | None = None,
) -> None:
    """Serve the sessions of a library until interrupted.

    ``on_address`` receives the address to open, which works once. Each line from the
    descriptor ``again``, a terminal, makes another one. ``index`` starts a process that updates
    the index of the library.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener, ExitStack() as files:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(_BACKLOG)
        port = listener.getsockname()[1]
        keys = Keys()
        server = http_server(create_app(library, keys, port=port, writable=writable, index=index))
        server.on_stop = files.close

        def invite() -> None:
            on_address(f"http://127.0.0.1:{port}/enter#{keys.key}")
            sys.stdout.flush()
            if open_browser:
                file = EntryFile(keys, port)
                files.callback(file.delete)
                threading.Thread(target=_open_browser, args=(file.address,), daemon=True).start()

        invite()
        if again is not None:
            # This signal stops a job in the background that reads its terminal; ignored, reading fails.
            signal.signal(signal.SIGTTIN, signal.SIG_IGN)
            threading.Thread(target=_invite_again, args=(again, keys, invite), daemon=True).start()
        server.run(sockets=[listener])


def _invite_again(terminal: int, keys: Keys, invite: Callable[[], object]) -> None:
    """Make another address for each line, until the terminal is gone or belongs to another job."""
    with suppress(OSError):
        while os.read(terminal, 1024):
            keys.renew()
            invite()


def http_server(app: Guard) -> QuietServer:
    """Return a server with the viewer's limits; it has no socket yet."""
    config = uvicorn.Config(
        app,
        http=partial(ViewerProtocol, is_known=app.is_known, strangers=Strangers()),  # type: ignore[arg-type]
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws="none",
        h11_max_incomplete_event_size=32768,
        timeout_keep_alive=30,
        limit_concurrency=_OWN + _STRANGERS + _NEWCOMERS,
        backlog=_ACCEPTED,
        timeout_graceful_shutdown=1,
    )
    return QuietServer(config)


def _open_browser(address: str) -> None:
    """Open an address in the system's browser, which is searched only in absolute ``PATH`` entries.

    Another process does it: a browser of the terminal ends only when the person leaves it, and the demo has
    another home than the browser.
    """
    command = [sys.executable, "-P", "-c", "import sys, webbrowser; webbrowser.open(sys.argv[1])", address]
    with suppress(OSError):
        subprocess.run(command, env=safe_environment() | desktop_environment(), check=False)  # noqa: S603
