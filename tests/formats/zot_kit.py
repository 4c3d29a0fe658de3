"""What the tests of zot's format share: transcripts of bytes, and zot's own rules in a few lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from branchline import Session
from branchline.clock import FixedClock
from branchline.context import build_context
from branchline.entries import Header
from branchline.formats import EntryLog
from branchline.formats.zot import ZOT
from support import CORPUS

SAMPLES = CORPUS / "zot"
EXPECTED = json.loads((SAMPLES / "expected.json").read_text(encoding="utf-8"))
META = (
    b'{"type":"meta","meta":{"id":"c16e23b8-0dad-4288-853f-6657b00cae58","cwd":"/home/dev/acme",'
    b'"model":"claude-sonnet-4-5","provider":"anthropic","started":"2026-11-15T06:36:09.643617647Z",'
    b'"version":"0.1.62"}}\n'
)
HEADER = Header(
    id="6dad0880-18be-4eb1-861b-3717fb999ccb", timestamp="2026-11-15T08:00:10.744Z", cwd="/home/dev/acme"
)
LETTERS = {"user": "u", "assistant": "a", "toolResult": "t", "compactionSummary": "u"}
START = 1_800_000_000_000


def sample(name: str) -> Path:
    """A sample by a part of its name."""
    (found,) = [path for path in SAMPLES.rglob("*.jsonl") if name in path.name]
    return found


def read(data: bytes | Path, name: str = "session.jsonl") -> EntryLog:
    content = data.read_bytes() if isinstance(data, Path) else data
    return EntryLog(ZOT, lambda offset, size: content[offset : offset + size], name)


def live(data: bytes) -> Session:
    """A session over these bytes, in memory."""
    return Session.in_memory(data=data, clock=FixedClock(START))


def content(session: Session) -> bytes:
    log = session._writer.log
    assert log is not None
    return log.read(0, log.size())


def rows(found: EntryLog) -> list[tuple[int, str]]:
    """The rows that entries stand in: the first entry of each, and the type of the row."""
    seen: dict[Any, tuple[int, str]] = {}
    for position in range(len(found.tree)):
        row = json.loads(found.raw(position).decode("utf-8", "replace"))
        seen.setdefault(found.reading.span(position), (position, row["type"]))
    return list(seen.values())


def context_letters(found: EntryLog) -> str:
    """One letter for each message row that a model sees: the results in one row are one."""
    numbers = found.reading.numbers  # type: ignore[attr-defined]
    items = build_context(found, found.reading.leaf).messages
    return "".join(
        LETTERS[str(item.message.__struct_config__.tag)]
        for item in items
        if found.tree.positions[item.entry] not in numbers
    )


def message(role: str, *blocks: dict[str, Any], time: str = "2026-11-15T06:36:09.643675607Z") -> bytes:
    """A message row, as zot writes it."""
    row = {"type": "message", "message": {"role": role, "content": list(blocks) or None, "time": time}}
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def usage(*, tokens: int, cost: float) -> bytes:
    """A usage row with these running totals."""
    numbers = {
        "input_tokens": tokens,
        "output_tokens": tokens // 10,
        "cache_read_tokens": 0,
        "cache_write_tokens": 0,
        "cost_usd": cost,
    }
    row = {"type": "usage", "usage": numbers, "cumulative": numbers}
    return json.dumps(row, separators=(",", ":")).encode() + b"\n"
