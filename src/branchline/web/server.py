"""Running the viewer: on a free port of the loopback address, until the person stops it."""

from __future__ import annotations

import os
import socket
import sys
import webbrowser
from collections.abc import Callable

import uvicorn

from branchline.library import SessionLibrary
from branchline.programs import safe_environment
from branchline.web.app import create_app
from branchline.web.guard import Keys

__all__ = ["serve"]

_BACKLOG = 64


def serve(
    library: SessionLibrary,
    *,
    port: int = 0,
    writable: bool = False,
    open_browser: bool = True,
    on_address: Callable[[str], object] = print,
) -> None:
    """Serve the sessions of a library until interrupted. ``on_address`` gets the address to open, once."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(_BACKLOG)
        port = listener.getsockname()[1]
        keys = Keys()
        address = f"http://127.0.0.1:{port}/enter?token={keys.token}"
        app = create_app(library, keys, port=port, writable=writable)
        config = uvicorn.Config(
            app,
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
        on_address(address)
        sys.stdout.flush()
        if open_browser:
            _open_browser(address)
        uvicorn.Server(config).run(sockets=[listener])


def _open_browser(address: str) -> None:
    """Show an address in the system's browser, which is looked up in absolute entries of ``PATH`` only."""
    os.environ["PATH"] = safe_environment()["PATH"]
    webbrowser.open(address)
