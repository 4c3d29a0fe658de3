"""A model server on the loopback interface that speaks OpenAI's chat completions.

It stores every request and answers every prompt with the same words. What an agent sends shows which conversation it
took from its session file.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["ANSWER", "ChatServer", "chat_server"]

ANSWER = "Understood."


class ChatServer(ThreadingHTTPServer):
    """``requests`` holds what was sent, in order."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


@contextmanager
def chat_server() -> Iterator[ChatServer]:
    """A running server, stopped at the end."""
    with ChatServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: ChatServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""

    def do_GET(self) -> None:
        self._send("application/json", b'{"object":"list","data":[]}')

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        self.server.requests.append(request)
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        common = {"id": "chatcmpl-fake", "created": 1, "model": "fake"}
        if request.get("stream"):
            delta = {"role": "assistant", "content": ANSWER}
            chunk = {**common, "object": "chat.completion.chunk"}
            events = [
                {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
                {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
                {**chunk, "choices": [], "usage": usage},
            ]
            body = b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in events)
            self._send("text/event-stream", body + b"data: [DONE]\n\n")
            return
        choice = {"index": 0, "message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}
        whole = {**common, "object": "chat.completion", "choices": [choice], "usage": usage}
        self._send("application/json", json.dumps(whole).encode())

    def _send(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
