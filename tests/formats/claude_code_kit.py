"""Transcripts of Claude Code for tests: the samples, and records made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from branchline.entries import AssistantMessage, MessageEntry, ToolCall
from branchline.formats import EntryLog
from branchline.formats.claude_code import CLAUDE_CODE
from branchline.formats.claude_code.rows import ANSWER, COMMAND, HUMAN, QUEUED, RESULT
from support import CORPUS, SHARED, load

SAMPLES = CORPUS / "claude-code"
OTHERS = SHARED / "claude-code"
EXPECTED: dict[str, Any] = load(SAMPLES / "expected.json")
ALL: dict[str, Any] = load(OTHERS / "expected.json") if OTHERS.exists() else {}
THIRD_PARTY = sorted(set(ALL) - set(EXPECTED))
NAME = "5a000000-0000-4000-8000-000000000001.jsonl"


def read(data: bytes | Path, name: str = NAME) -> EntryLog:
    content = data.read_bytes() if isinstance(data, Path) else data
    path = str(data) if isinstance(data, Path) else name
    return EntryLog(CLAUDE_CODE, lambda offset, size: content[offset : offset + size], path)


def record(
    uuid: str | None, parent: str | None, kind: str = "user", content: Any = "x", **more: Any
) -> bytes:
    """One record; answers have an id of their own and cost something."""
    fields: dict[str, Any] = {"parentUuid": parent, "isSidechain": False, "cwd": "/p", "sessionId": "s"}
    time = f"2026-09-01T10:{len(more) % 60:02}:00.000Z"
    if kind == "user":
        message: Any = {"role": "user", "content": content}
    elif kind == "assistant":
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        message = {
            "id": more.pop("answer", f"m-{uuid}"),
            "role": "assistant",
            "model": more.pop("model", "claude-opus-4-5"),
            "content": blocks,
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 10, "output_tokens": more.pop("output", 5)},
        }
    else:
        message = None
    if message is not None:
        fields["message"] = message
    fields |= {"type": kind, "uuid": uuid, "timestamp": time, **more}
    if uuid is None:
        del fields["uuid"]
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def result(uuid: str, parent: str, *calls: str, **more: Any) -> bytes:
    blocks = [{"type": "tool_result", "tool_use_id": call, "content": f"of {call}"} for call in calls]
    return record(uuid, parent, content=blocks, **more)


def call(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": name}}


def keys(found: EntryLog, positions: list[int]) -> list[str]:
    return [found.tree.keys[position] for position in positions]


def since_the_last_start(found: EntryLog, positions: list[int]) -> list[int]:
    """The end of a line whose context was cleared: what manifests call the active line."""
    types = found.tree.types
    marks = [number for number, position in enumerate(positions) if types[position] == "context_cleared"]
    return positions[marks[-1] + 1 :] if marks else positions


def counted(found: EntryLog, positions: list[int]) -> dict[str, int]:
    """What manifests count: prompts, commands, answers, calls and results."""
    kinds = found.reading.kinds  # type: ignore[attr-defined]
    answers = set()
    calls = 0
    for position in positions:
        if kinds[position] == ANSWER and found.tree.types[position] == "message":
            entry = found.entry(position)
            assert isinstance(entry, MessageEntry)
            assert isinstance(entry.message, AssistantMessage)
            answers.add(entry.message.response_id or entry.id)
            calls += sum(isinstance(block, ToolCall) for block in entry.message.content)
    here = [kinds[position] for position in positions]
    return {
        "prompts": here.count(HUMAN) + here.count(QUEUED),
        "commands": here.count(COMMAND),
        "assistantMessages": len(answers),
        "toolCalls": calls,
        "toolResults": here.count(RESULT),
    }
