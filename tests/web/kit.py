"""A viewer in this process, without a network: exactly the requests that a test writes."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec

from branchline import SessionLibrary
from branchline.web.app import create_app
from branchline.web.entry import Keys
from branchline.web.server import http_server
from branchline.web.viewed import StartIndex

PORT = 4711


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class Viewer:
    """The application with its keys. ``get`` and ``post`` are what the viewer's own page would send."""

    def __init__(
        self, library: SessionLibrary, *, writable: bool = False, index: StartIndex | None = None
    ) -> None:
        self.library = library
        self.keys = Keys()
        self.host = f"{self.keys.name}.localhost:{PORT}"
        self.app = create_app(library, self.keys, port=PORT, writable=writable, index=index)

    def get(self, target: str, **headers: str) -> Answer:
        given = {"host": self.host, "cookie": f"branchline={self.keys.cookie}", **_names(headers)}
        return self.ask("GET", target, given.items())

    def post(self, target: str, body: Any, **headers: str) -> Answer:
        given = {
            "host": self.host,
            "cookie": f"branchline={self.keys.cookie}",
            "origin": f"http://{self.host}",
            "x-branchline": self.keys.csrf,
            "content-type": "application/json",
            **_names(headers),
        }
        data = body if isinstance(body, bytes) else msgspec.json.encode(body)
        return self.ask("POST", target, given.items(), data)

    def ask(self, method: str, target: str, headers: Iterable[tuple[str, str]], body: bytes = b"") -> Answer:
        """Any request at all."""
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers],
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", PORT),
        }
        return asyncio.run(self._asked(scope, body))

    async def _asked(self, scope: dict[str, Any], body: bytes) -> Answer:
        waiting = [{"type": "http.request", "body": body, "more_body": False}]
        sent: list[Any] = []

        async def receive() -> Any:
            if waiting:
                return waiting.pop()
            return await asyncio.Future()

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        start, *rest = sent
        headers = {name.decode(): value.decode() for name, value in start["headers"]}
        return Answer(start["status"], headers, b"".join(part.get("body", b"") for part in rest))


class Running:
    """A viewer that listens on a port of the loopback address, in a thread of this process."""

    def __init__(self, app: Any, keys: Keys, port: int, server: Any, library: SessionLibrary) -> None:
        self.app, self.keys, self.port, self.library = app, keys, port, library
        self._server = server
        self.host = f"{keys.name}.localhost:{port}"
        self.base = f"http://{self.host}"
        self.loopback = f"http://127.0.0.1:{port}"
        self.address = f"{self.loopback}/enter#{keys.key}"

    def break_connections(self) -> None:
        """Abort all connections, as a network does that fails."""
        (loop,) = {one.loop for one in self._server.server_state.connections}
        for one in list(self._server.server_state.connections):
            loop.call_soon_threadsafe(one.transport.abort)

    def keep_busy(self, seconds: float) -> None:
        """Let the server do nothing for some time, as when a core is taken by others."""
        one = next(iter(self._server.server_state.connections))
        one.loop.call_soon_threadsafe(time.sleep, seconds)

    def raw(self, *parts: bytes, seconds: float = 5.0) -> bytes:
        """What comes back for these bytes; they are sent one after the other."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as connection:
            for part in parts:
                connection.sendall(part)
            received = b""
            try:
                while block := connection.recv(65536):
                    received += block
            except (TimeoutError, ConnectionResetError):
                pass
            return received


@contextmanager
def running(library: SessionLibrary, *, writable: bool = False) -> Iterator[Running]:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        port, keys = listener.getsockname()[1], Keys()
        app = create_app(library, keys, port=port, writable=writable)
        server = http_server(app)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield Running(app, keys, port, server, library)
        finally:
            server.should_exit = True
            thread.join(10)


def _names(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}
