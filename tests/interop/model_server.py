"""A model server on the loopback interface that stores every request and gives short answers.

It speaks the APIs that the agents in these tests use: OpenAI's Responses (`/v1/responses`) and Chat Completions
(`/v1/chat/completions`), and Anthropic's Messages (`/v1/messages`), all as server-sent events. What an agent sends shows
which conversation it took from its session file.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["ANSWER", "ModelServer", "model_server"]

ANSWER = "Understood."


class ModelServer(ThreadingHTTPServer):
    """Answers every prompt with the same words; ``requests`` holds what was sent, in order."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """A running server, stopped at the end."""
    with ModelServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""

    def do_GET(self) -> None:
        self._send("application/json", b'{"object":"list","data":[],"models":[]}')

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            request = json.loads(body)
        except ValueError:
            request = {}
        if self.path.startswith("/v1/responses"):
            self.server.requests.append(request)
            self._send("text/event-stream", _events(_responses_events()))
        elif self.path.startswith("/v1/chat/completions"):
            self.server.requests.append(request)
            self._send_chat_answer(streams=request.get("stream") is True)
        elif self.path.startswith("/v1/messages/count_tokens"):
            self._send("application/json", b'{"input_tokens":1}')
        elif self.path.startswith("/v1/messages"):
            self.server.requests.append(request)
            self._send_messages_answer(streams=request.get("stream") is True)
        else:
            self._send("application/json", b"{}")

    def _send_chat_answer(self, *, streams: bool) -> None:
        answer = {"id": "chat_fake", "created": 1, "model": "fake"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        message = {"role": "assistant", "content": ANSWER}
        if not streams:
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            whole = {**answer, "object": "chat.completion", "choices": [choice], "usage": usage}
            self._send("application/json", json.dumps(whole).encode())
            return
        chunk = {**answer, "object": "chat.completion.chunk"}
        chunks = [
            {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage},
        ]
        lines = [b"data: %s\n\n" % json.dumps(one).encode() for one in chunks]
        self._send("text/event-stream", b"".join([*lines, b"data: [DONE]\n\n"]))

    def _send_messages_answer(self, *, streams: bool) -> None:
        message: dict[str, Any] = {
            "id": "msg_fake",
            "type": "message",
            "role": "assistant",
            "model": "fake",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        if streams:
            self._send("text/event-stream", _events(_messages_events(message)))
            return
        whole = {**message, "content": [{"type": "text", "text": ANSWER}], "stop_reason": "end_turn"}
        self._send("application/json", json.dumps(whole).encode())

    def _send(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _events(events: list[dict[str, Any]]) -> bytes:
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (event["type"].encode(), json.dumps(event).encode()) for event in events
    )


def _responses_events() -> list[dict[str, Any]]:
    item = {
        "type": "message",
        "id": "msg_fake",
        "role": "assistant",
        "content": [{"type": "output_text", "text": ANSWER}],
    }
    usage = {
        "input_tokens": 1,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 2,
    }
    return [
        {"type": "response.created", "response": {"id": "resp_fake"}},
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": {"id": "resp_fake", "usage": usage}},
    ]


def _messages_events(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ANSWER}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 1},
        },
        {"type": "message_stop"},
    ]
