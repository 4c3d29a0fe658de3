"""What the tests of piglet's format share: transcripts of bytes, and piglet's own rules in a few lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from branchline import Session
from branchline.clock import FixedClock
from branchline.context import build_context
from branchline.entries import CompactionSummaryMessage, Header, Message
from branchline.formats import EntryLog
from branchline.formats.piglet import PIGLET
from support import CORPUS

SAMPLES = CORPUS / "piglet"
EXPECTED = json.loads((SAMPLES / "expected.json").read_text(encoding="utf-8"))
META = (
    b'{"type":"meta","ts":"2026-11-15T06:08:32.726694501Z","data":{"id":"46f1d87e-099f-435d-81b6-34ddf53ec43b",'
    b'"cwd":"/home/dev/acme","createdAt":"2026-11-15T06:08:32.726694501Z"}}\n'
)
HEADER = Header(
    id="09f036a9-44d1-4585-8bcb-646a2b5ad769", timestamp="2026-11-15T08:00:32.914Z", cwd="/home/dev/acme"
)
LETTERS = {"user": "u", "assistant": "a", "toolResult": "t", "custom": "u", "compactionSummary": "u"}
START = 1_800_000_000_000


def sample(name: str) -> Path:
    """A sample by a part of its name."""
    (found,) = [path for path in SAMPLES.rglob("*.jsonl") if name in path.name]
    return found


def read(data: bytes | Path, name: str = "session.jsonl") -> EntryLog:
    content = data.read_bytes() if isinstance(data, Path) else data
    return EntryLog(PIGLET, lambda offset, size: content[offset : offset + size], name)


def live(data: bytes | Path) -> Session:
    """A session over these bytes, in memory."""
    content = data.read_bytes() if isinstance(data, Path) else data
    return Session.in_memory(data=content, clock=FixedClock(START))


def content(session: Session) -> bytes:
    log = session._writer.log
    assert log is not None
    return log.read(0, log.size())


def said(found: EntryLog, leaf: int | None = None) -> list[Message]:
    """What a model sees; a compaction that holds whole messages has no summary to say."""
    messages = [
        item.message for item in build_context(found, found.reading.leaf if leaf is None else leaf).messages
    ]
    return [one for one in messages if not (isinstance(one, CompactionSummaryMessage) and not one.summary)]


def letters(messages: list[Message]) -> str:
    return "".join(LETTERS[str(message.__struct_config__.tag)] for message in messages)


def line(
    kind: str, key: str, parent: str | None, data: Any, ts: str = "2026-11-15T06:08:32.760846817Z"
) -> bytes:
    """A line as piglet writes it; without an id for an empty key."""
    fields: dict[str, Any] = {"type": kind}
    if key:
        fields["id"] = key
    if parent:
        fields["parentId"] = parent
    return (
        json.dumps({**fields, "ts": ts, "data": data}, ensure_ascii=False, separators=(",", ":")).encode()
        + b"\n"
    )


def user(key: str, parent: str | None, text: str) -> bytes:
    return line("user", key, parent, {"content": text, "timestamp": "2026-11-15T06:08:32.760842082Z"})


def answer(key: str, parent: str | None, text: str, cost: float = 0.001) -> bytes:
    usage = {
        "inputTokens": 100,
        "outputTokens": 10,
        "cacheReadTokens": 0,
        "cacheWriteTokens": 0,
        "cost": cost,
    }
    data = {
        "content": [{"text": text}],
        "model": "claude-sonnet-4-6",
        "provider": "anthropic",
        "usage": usage,
        "stopReason": "stop",
        "timestamp": "2026-11-15T06:08:32.776Z",
    }
    return line("assistant", key, parent, data)


def as_piglet(data: bytes) -> dict[str, Any]:
    """Leaf, path and context by the rules of piglet itself."""
    nodes: dict[str, dict[str, Any]] = {}
    leaf = ""
    legacy = 0
    for text in data.split(b"\n"):
        if not text.strip():
            continue
        try:
            row = json.loads(text) or {}
        except ValueError:
            continue
        if row.get("type") == "meta":
            continue
        key, parent = row.get("id", ""), row.get("parentId", "")
        if not key:
            key, parent = f"L{legacy}", leaf
            legacy += 1
        nodes[key] = {**row, "parentId": parent}
        leaf = key
    path: list[str] = []
    step = leaf
    while step in nodes:
        path.insert(0, step)
        step = nodes[step]["parentId"]
    context: list[str] = []
    for key in path:
        kind, payload = nodes[key].get("type"), nodes[key].get("data")
        if kind == "compact" and payload:
            context = [message["type"] for message in payload]
        elif kind in ("user", "assistant", "tool_result"):
            context.append(kind)
        elif kind == "custom_message":
            context.append("assistant" if nodes[key]["data"]["role"] == "assistant" else "user")
    return {"leaf": leaf or None, "path": path, "context": "".join(kind[0] for kind in context)}
