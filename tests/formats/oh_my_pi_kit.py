"""What the tests of oh-my-pi's format share: its samples, short files, transcripts of bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from branchline.entries import UnknownMessage
from branchline.formats import OH_MY_PI, EntryLog
from branchline.formats.oh_my_pi.title_slot import TitleSlot, slot_line
from support import CORPUS, load

SAMPLES = CORPUS / "oh-my-pi"
EXPECTED: dict[str, dict[str, Any]] = {
    name: facts for name, facts in load(SAMPLES / "expected.json").items() if "entryIds" in facts
}
NAMES = sorted(EXPECTED)
CREATED = "2026-11-15T07:25:31.381Z"
HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": CREATED, "cwd": "/home/u/proj"}
SIDE = {"label", "title_change", "model_usage", "custom", "leaf"}


def read(data: bytes | Path, name: str = "") -> EntryLog:
    """A transcript over bytes in memory, or over a file that knows its place."""
    content = data.read_bytes() if isinstance(data, Path) else data
    place = str(data) if isinstance(data, Path) else name
    return EntryLog(OH_MY_PI, lambda offset, size: content[offset : offset + size], place)


def sample(name: str) -> EntryLog:
    return read(SAMPLES / f"{name}.jsonl")


def story(*entries: dict[str, Any], header: dict[str, Any] | None = None, slot: bytes | None = None) -> bytes:
    """A file with these entries, numbered from ``e1``; each hangs from the one before unless it says otherwise."""
    lines = [slot_line(TitleSlot(updated=CREATED)) if slot is None else slot, _line(header or HEADER)]
    before = None
    for number, entry in enumerate(entries, 1):
        time = f"2026-11-15T08:{number // 60:02}:{number % 60:02}.000Z"
        common = {"type": entry["type"], "id": f"e{number}", "parentId": before, "timestamp": time}
        lines.append(_line({**common, **entry}))
        before = common["id"]
    return b"".join(lines)


def _line(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def message(role: str, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, **fields}}


def user(text: str) -> dict[str, Any]:
    return message("user", content=[{"type": "text", "text": text}], timestamp=1)


def answer(*blocks: Any, **fields: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    return message(
        "assistant",
        **{"content": content, "provider": "anthropic", "model": "claude", "stopReason": "stop", **fields},
    )


def call(id: str = "c1") -> dict[str, Any]:  # noqa: A002
    return {"type": "toolCall", "id": id, "name": "read", "arguments": {}}


def result(id: str = "c1", **fields: Any) -> dict[str, Any]:  # noqa: A002
    return message("toolResult", toolCallId=id, toolName="read", content=[], isError=False, **fields)


def role(message: Any) -> str:
    return message.role if isinstance(message, UnknownMessage) else str(message.__struct_config__.tag)
