"""Runs the viewer on a free port of the loopback address, until it is interrupted."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import webbrowser
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from branchline.library import SessionLibrary
from branchline.programs import safe_environment
from branchline.web.app import create_app
from branchline.web.guard import Keys

__all__ = ["http_server", "serve"]

_BACKLOG = 64
_TICK_SECONDS = 0.5
_REQUEST_SECONDS = 10.0
"""Deadline for the request line and headers to arrive."""


class RequestDeadline(H11Protocol):
    """Closes connections whose request headers do not arrive in time."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        cycle: Any = self.cycle  # None before the first request, contrary to its annotation
        if cycle is None or cycle.response_complete:
            self._wait()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
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

    async def main_loop(self) -> None:
        while not self.should_exit:  # noqa: ASYNC110  a signal handler sets it
            await asyncio.sleep(_TICK_SECONDS)


def serve(
    library: SessionLibrary,
    *,
    port: int = 0,
    writable: bool = False,
    open_browser: bool = True,
    on_address: Callable[[str], object] = print,
) -> None:
    """Serve the sessions of a library until interrupted. ``on_address`` receives the address to open."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(_BACKLOG)
        port = listener.getsockname()[1]
        keys = Keys()
        address = f"http://127.0.0.1:{port}/enter?token={keys.token}"
        app = create_app(library, keys, port=port, writable=writable)
        on_address(address)
        sys.stdout.flush()
        if open_browser:
            _open_browser(address)
        http_server(app).run(sockets=[listener])


def http_server(app: ASGIApp) -> uvicorn.Server:
    """Return a server with the viewer's limits; it has no socket yet."""
    config = uvicorn.Config(
        app,
        http=RequestDeadline,
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws="none",
        h11_max_incomplete_event_size=32768,
        timeout_keep_alive=30,
        limit_concurrency=64,
        timeout_graceful_shutdown=1,
    )
    return QuietServer(config)


def _open_browser(address: str) -> None:
    """Open an address in the system's browser, which is searched only in absolute ``PATH`` entries."""
    os.environ["PATH"] = safe_environment()["PATH"]
    webbrowser.open(address)
