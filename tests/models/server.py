"""A server on the loopback that speaks OpenAI's chat completions, and misbehaves when it is told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[[BaseHTTPRequestHandler], None]


class Server:
    """Replies are given out in order, the last one again and again; requests are kept."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.replies: list[Reply] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                outer.requests.append(json.loads(self.rfile.read(length)))
                outer.headers.append({name.lower(): value for name, value in self.headers.items()})
                reply = outer.replies.pop(0) if len(outer.replies) > 1 else outer.replies[0]
                reply(self)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"

    def will(self, *replies: Reply) -> None:
        self.replies = list(replies)


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.http.shutdown()
        server.http.server_close()
        thread.join()


def chunk(delta: dict[str, Any] | None = None, *, finish: str | None = None, usage: Any = None) -> bytes:
    """One event of the stream."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_767_225_600,
        "model": "test-model-2026",
        "choices": choices,
    }
    if usage is not None:
        body["usage"] = usage
    return b"data: " + json.dumps(body).encode() + b"\n\n"


USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 7,
    "total_tokens": 107,
    "prompt_tokens_details": {"cached_tokens": 40},
    "completion_tokens_details": {"reasoning_tokens": 3},
}
DONE = b"data: [DONE]\n\n"


def stream(*events: bytes, end: bool = True) -> Reply:
    """Send events, then end the body as HTTP wants it, or (``end=False``) just hang up."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        for event in events:
            handler.wfile.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
            handler.wfile.flush()
        if end:
            handler.wfile.write(b"0\r\n\r\n")
        handler.close_connection = not end

    return reply


def says(*texts: str) -> Reply:
    """A whole answer in these pieces."""
    first = chunk({"role": "assistant", "content": ""})
    pieces = [chunk({"content": text}) for text in texts]
    return stream(first, *pieces, chunk({}, finish="stop"), chunk(usage=USAGE), DONE)


def calls(name: str, *arguments: str, key: str = "call_abc") -> Reply:
    """A tool call whose arguments come in these pieces."""
    first = {"index": 0, "id": key, "type": "function", "function": {"name": name, "arguments": ""}}
    more = [chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}) for piece in arguments]
    opening = chunk({"role": "assistant", "content": None, "tool_calls": [first]})
    return stream(opening, *more, chunk({}, finish="tool_calls"), chunk(usage=USAGE), DONE)


def refuses(status: int, error: dict[str, Any], **headers: str) -> Reply:
    """An error with a body."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        body = json.dumps({"error": error}).encode()
        handler.send_response(status)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(body)))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return reply
