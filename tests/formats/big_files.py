"""One long conversation in three formats, to compare what opening them costs."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from branchline.formats import EntryLog, detect

WORDS = 'error alpha branch run delta merge tree gamma function return value build commit \\ "quoted" ünï '
CALL = {"command": WORDS * 2}
SIZE = 105_000_000


def turns() -> Iterator[tuple[int, str]]:
    """Who speaks, without end: a prompt, then two rounds of an answer with a call and its result."""
    number = 0
    while True:
        for role in ("user", "assistant", "toolResult", "assistant", "toolResult"):
            yield number, role
            number += 1


def native(path: Path) -> None:
    head = {"type": "session", "version": 3, "id": "x-1", "timestamp": stamp(0)[:23] + "Z", "cwd": "/tmp"}
    _fill(path, [head], lambda number, role: [_native_entry(number, role)])


def zot(path: Path) -> None:
    meta = {
        "id": "x-1",
        "cwd": "/tmp",
        "model": "m",
        "provider": "p",
        "started": stamp(0),
        "version": "0.1.62",
    }
    _fill(path, [{"type": "meta", "meta": meta}], _zot_rows)


def piglet(path: Path) -> None:
    meta = {"id": "x-1", "cwd": "/tmp", "model": "m", "createdAt": stamp(0)}
    _fill(
        path,
        [{"type": "meta", "ts": stamp(0), "data": meta}],
        lambda number, role: [_piglet_line(number, role)],
    )


def stamp(number: int) -> str:
    hours, rest = divmod(number, 3600)
    return f"2026-01-{1 + hours // 24 % 28:02}T{hours % 24:02}:{rest // 60:02}:{rest % 60:02}.{number * 7919 % 10**9:09}Z"


def opening(path: Path) -> tuple[float, int]:
    """Processor seconds for opening a file, the best of some, and how many entries it has."""
    best, entries = 99.0, 0
    descriptor = os.open(path, os.O_RDONLY)
    try:
        for _ in range(4):
            started = time.process_time()
            found = EntryLog(
                detect(os.pread(descriptor, 65536, 0), str(path)),
                lambda offset, size: os.pread(descriptor, size, offset),
                str(path),
            )
            best = min(best, time.process_time() - started)
            entries = len(found.tree)
            assert not found.findings
    finally:
        os.close(descriptor)
    return best, entries


def _fill(path: Path, head: list[Any], rows: Any) -> None:
    with path.open("wb") as file:
        for row in head:
            file.write(_line(row))
        for number, role in turns():
            for row in rows(number, role):
                file.write(_line(row))
            if file.tell() >= SIZE:
                return


def _line(row: Any) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _length(role: str) -> int:
    return {"user": 4, "assistant": 6, "toolResult": 24}[role]


def _native_entry(number: int, role: str) -> Any:
    content: list[Any] = [{"type": "text", "text": WORDS * _length(role)}]
    message: dict[str, Any] = {"role": role, "content": content, "timestamp": 1_767_312_000_000 + number}
    if role == "assistant":
        content.insert(0, {"type": "thinking", "thinking": WORDS * 3})
        content.append({"type": "toolCall", "id": f"call_{number}", "name": "bash", "arguments": CALL})
        cost = {"input": 0.01, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.01}
        usage = {
            "input": 100,
            "output": 20,
            "cacheRead": 0,
            "cacheWrite": 0,
            "totalTokens": 120,
            "cost": cost,
        }
        message |= {"api": "a", "provider": "p", "model": "m", "usage": usage, "stopReason": "toolUse"}
    if role == "toolResult":
        message |= {"toolCallId": f"call_{number - 1}", "toolName": "bash", "isError": False}
    parent = f"{(number - 1) * 2654435761 % 2**32:08x}" if number else None
    key = f"{number * 2654435761 % 2**32:08x}"
    return {
        "type": "message",
        "id": key,
        "parentId": parent,
        "timestamp": stamp(number)[:23] + "Z",
        "message": message,
    }


def _zot_rows(number: int, role: str) -> list[Any]:
    text = {"text": WORDS * _length(role)}
    blocks: list[Any] = [text]
    rows: list[Any] = []
    if role == "assistant":
        totals = {"input_tokens": 100 * number, "output_tokens": 20 * number, "cache_read_tokens": 0, "cache_write_tokens": 0, "cost_usd": number / 100}  # fmt: skip
        rows.append({"type": "usage", "usage": totals, "cumulative": totals})
        call = {"id": f"call_{number}", "name": "bash", "arguments": CALL}
        blocks = [{"reasoning_id": f"rs_{number}", "summary": WORDS * 3}, text, call]
    if role == "toolResult":
        blocks = [{"call_id": f"call_{number - 1}", "content": [text], "is_error": False}]
    name = {"toolResult": "tool"}.get(role, role)
    return [*rows, {"type": "message", "message": {"role": name, "content": blocks, "time": stamp(number)}}]


def _piglet_line(number: int, role: str) -> Any:
    text = WORDS * _length(role)
    kind = {"toolResult": "tool_result"}.get(role, role)
    data: dict[str, Any] = {"content": text, "timestamp": stamp(number)}
    if role == "assistant":
        call = {"id": f"call_{number}", "name": "bash", "arguments": CALL}
        usage = {
            "inputTokens": 100,
            "outputTokens": 20,
            "cacheReadTokens": 0,
            "cacheWriteTokens": 0,
            "cost": 0.01,
        }
        blocks = [{"thinking": WORDS * 3}, {"text": text}, call]
        data = {"content": blocks, "model": "m", "provider": "p", "usage": usage, "stopReason": "toolUse", "timestamp": stamp(number)}  # fmt: skip
    if role == "toolResult":
        data = {"toolCallId": f"call_{number - 1}", "toolName": "bash", "content": [{"text": text}], "isError": False, "timestamp": stamp(number)}  # fmt: skip
    links = {"id": f"{number * 2654435761 % 2**32:08x}"}
    if number:
        links["parentId"] = f"{(number - 1) * 2654435761 % 2**32:08x}"
    return {"type": kind, **links, "ts": stamp(number), "data": data}
