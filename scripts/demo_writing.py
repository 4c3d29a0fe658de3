"""Helpers that write the demo library: a settable clock, and an author for user and model messages.

The output is deterministic: it uses no system clock, no random numbers and no disk. Sessions are kept in
memory, so that forks refer to their parents by id and not by a local path.
"""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from typing import Any

from branchline import Session
from branchline.clock import iso
from branchline.stores.memory import MemoryStore

CWD = "/home/ada/tidewatch"
PRICES = {  # dollars per million tokens: input, output, cache read, cache write
    "claude-sonnet-4-5": (3.0, 15.0, 0.3, 3.75),
    "claude-opus-4-5": (5.0, 25.0, 0.5, 6.25),
    "gpt-5": (1.25, 10.0, 0.125, 0.0),
    "gemini-3-pro": (2.0, 12.0, 0.2, 0.0),
}
PROVIDERS = {
    "claude-sonnet-4-5": "anthropic",
    "claude-opus-4-5": "anthropic",
    "gpt-5": "openai",
    "gemini-3-pro": "google",
}
APIS = {"anthropic": "anthropic-messages", "openai": "openai-responses", "google": "google-generative-ai"}


class DemoClock:
    """A clock that advances by a few seconds at every call, and can be set."""

    def __init__(self, name: str, start: str) -> None:
        self._name = name
        self._count = 0
        self.set(start)

    def set(self, moment: str) -> None:
        self._now = int(datetime.fromisoformat(moment).timestamp() * 1000)

    def wait(self, seconds: int) -> None:
        self._now += seconds * 1000

    def now(self) -> int:
        self._now += 1200 + int(self._digits("now")[:3], 16)
        return self._now

    def entry_id(self) -> str:
        return self._digits("entry")[:16]

    def session_id(self) -> str:
        digits = self._digits("session")
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:32]}"

    def _digits(self, what: str) -> str:
        self._count += 1
        return hashlib.sha256(f"{self._name}/{what}/{self._count}".encode()).hexdigest()


class Author:
    """Writes one session: prompts, answers and tool results."""

    def __init__(self, session: Session, clock: DemoClock, model: str) -> None:
        self.session = session
        self.clock = clock
        self.model = model
        self._context = 1800  # tokens of the system prompt
        self._calls = 0

    def asks(self, text: str, *, picture: str | None = None, after: int = 45) -> str:
        """Append a prompt, after a while."""
        self.clock.wait(after)
        self._context += len(text) // 4
        content: list[dict[str, Any]] = [{"type": "text", "text": text}]
        if picture is not None:
            content.append({"type": "image", "data": picture, "mimeType": "image/png"})
            self._context += 300
        return self.session.append_message(
            {"role": "user", "content": content, "timestamp": self.clock.now()}
        )

    def answers(
        self,
        text: str = "",
        *calls: tuple[str, dict[str, Any], str],
        thinking: str = "",
        failed: bool = False,
    ) -> str:
        """Append an answer with tool calls; ``failed`` is the result of the last one."""
        blocks: list[dict[str, Any]] = []
        if thinking:
            blocks.append({"type": "thinking", "thinking": thinking})
        if text:
            blocks.append({"type": "text", "text": text})
        ids = []
        for name, arguments, _ in calls:
            self._calls += 1
            ids.append(f"call_{self.clock.entry_id()[:10]}")
            blocks.append({"type": "toolCall", "id": ids[-1], "name": name, "arguments": arguments})
        provider = PROVIDERS[self.model]
        written = len(json.dumps(blocks)) // 4
        answer = self.session.append_message(
            {
                "role": "assistant",
                "content": blocks,
                "api": APIS[provider],
                "provider": provider,
                "model": self.model,
                "usage": self._usage(written),
                "stopReason": "toolUse" if calls else "stop",
                "timestamp": self.clock.now(),
            }
        )
        for number, ((name, _, result), call_id) in enumerate(zip(calls, ids, strict=True), 1):
            self.clock.wait(2)
            self._context += len(result) // 4
            answer = self.session.append_message(
                {
                    "role": "toolResult",
                    "toolCallId": call_id,
                    "toolName": name,
                    "content": [{"type": "text", "text": result}],
                    "isError": failed and number == len(calls),
                    "timestamp": self.clock.now(),
                }
            )
        return answer

    def runs(self, command: str, output: str, *, code: int = 0) -> str:
        """Append a command that the user ran."""
        self.clock.wait(20)
        return self.session.append_message(
            {
                "role": "bashExecution",
                "command": command,
                "output": output,
                "exitCode": code,
                "cancelled": False,
                "truncated": False,
                "timestamp": self.clock.now(),
            }
        )

    def forgets(self, tokens: int) -> None:
        """Reset the context size, as after a compaction."""
        self._context = tokens

    def _usage(self, written: int) -> dict[str, Any]:
        fresh = min(self._context, 900 + self._context // 10)
        cached = self._context - fresh
        prices = PRICES[self.model]
        parts = {
            "input": round(fresh * prices[0] / 1e6, 6),
            "output": round(written * prices[1] / 1e6, 6),
            "cacheRead": round(cached * prices[2] / 1e6, 6),
            "cacheWrite": 0,
        }
        total = round(sum(parts.values()), 6)
        self._context += written
        return {
            "input": fresh,
            "output": written,
            "cacheRead": cached,
            "cacheWrite": 0,
            "totalTokens": fresh + written + cached,
            "cost": {**parts, "total": total},
        }


class Shelf:
    """The files of the demo library."""

    def __init__(self) -> None:
        self.store = MemoryStore("demo")
        self.files: dict[str, bytes] = {}

    def native(self, name: str, start: str, model: str) -> Author:
        clock = DemoClock(name, start)
        session = Session.create(CWD, store=self.store, id=clock.session_id(), clock=clock)
        return Author(session, clock, model)

    def fork(self, source: Session, entry: str | None, name: str, start: str, model: str) -> Author:
        """Fork a session of any agent at an entry into a native session."""
        clock = DemoClock(name, start)
        opened = Session.from_store(self.store, source.key, clock=clock)
        made = opened.fork(entry, store=self.store, id=clock.session_id(), to="branchline")
        opened.close()
        return Author(made, clock, model)

    def foreign(self, key: str, head: bytes, clock: DemoClock, model: str) -> Author:
        """Start a session in another agent's format, with the given first lines."""
        self.store.create(key, head).close()
        return Author(Session.from_store(self.store, key, clock=clock), clock, model)

    def take(self, author: Author, suffix: str = ".jsonl") -> bytes:
        """Add a finished session as a file."""
        key = author.session.key
        author.session.close()
        stored = self.store.stat(key)
        assert stored is not None
        with self.store.snapshot(key) as read:
            data = read(0, stored.size)
        self.files[key + suffix] = data
        return data


def compact(value: Any) -> bytes:
    """Encode a line as compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def stamp(clock: DemoClock) -> str:
    return iso(clock.now())
