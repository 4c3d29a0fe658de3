"""Transcripts of Claude Code for tests: the samples, and records made by hand."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from branchline.entries import AssistantMessage, MessageEntry, ToolCall
from branchline.formats import EntryLog
from branchline.formats.claude_code import CLAUDE_CODE
from branchline.formats.claude_code.kinds import ANSWER, COMMAND, HUMAN, QUEUED, RESULT
from interop.conversations import PICTURE, Item
from support import CORPUS, SHARED, load

SAMPLES = CORPUS / "claude-code"
OTHERS = SHARED / "claude-code"
EXPECTED: dict[str, Any] = load(SAMPLES / "expected.json")
ALL: dict[str, Any] = load(OTHERS / "expected.json") if OTHERS.exists() else {}
THIRD_PARTY = sorted(set(ALL) - set(EXPECTED))
IMAGES = {"image/gif", "image/jpeg", "image/png", "image/webp"}
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


# -- what the program sends -------------------------------------------------------------------------------

Fields = dict[str, Any]


def active_records(data: bytes) -> list[Fields]:
    """The records that Claude Code continues: it begins at a leaf, and follows ``parentUuid``.

    The leaf is the one that the last ``last-prompt`` names, else the last leaf of the file.
    """
    records = [json.loads(line) for line in data.splitlines()]
    by_uuid = {one["uuid"]: one for one in records if "uuid" in one}
    inner = {one["parentUuid"] for one in by_uuid.values()}
    leaves = [uuid for uuid in by_uuid if uuid not in inner]
    named = [one["leafUuid"] for one in records if one["type"] == "last-prompt"]
    here = named[-1] if named and named[-1] in leaves else leaves[-1] if leaves else None
    path: list[Fields] = []
    while here is not None:
        path.append(by_uuid[here])
        here = by_uuid[here]["parentUuid"]
    return path[::-1]


def forked(data: bytes, prompt: str) -> bytes:
    """What ``claude --fork-session`` makes of a transcript with the first prompt of the fork."""
    copied = active_records(data)
    lines = [json.dumps(one).encode() + b"\n" for one in copied]
    return b"".join([*lines, record("more", copied[-1]["uuid"] if copied else None, content=prompt)])


def request(data: bytes) -> list[Fields]:
    """The messages that Claude Code sends for a transcript, by the rules that experiments with it showed.

    Records with one ``message.id`` are one answer; users in a row are one message.
    """
    messages: list[Fields] = []
    answers: dict[str, Fields] = {}
    for one in active_records(data):
        if one["type"] not in ("user", "assistant"):
            continue
        content = one["message"]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        name = one["message"].get("id")
        if name in answers:
            answers[name]["content"] += blocks
        elif one["type"] == "user" and messages and messages[-1]["role"] == "user":
            messages[-1]["content"] += blocks
        else:
            messages.append({"role": one["type"], "content": list(blocks)})
            if one["type"] == "assistant":
                answers[name] = messages[-1]
    return messages


def request_items(messages: list[Fields]) -> list[Item]:
    """The conversation of a request item by item."""
    calls: dict[str, int] = {}
    found: list[Item] = []
    for message in messages:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            match block["type"]:
                case "text":
                    found.append((message["role"], [block["text"]]))
                case "image":
                    found.append((message["role"], [PICTURE]))
                case "tool_use":
                    number = calls.setdefault(block["id"], len(calls))
                    found.append(("call", number, block["name"], block["input"]))
                case "tool_result":
                    inner = block["content"]
                    parts = [{"type": "text", "text": inner}] if isinstance(inner, str) else inner
                    text = "".join(part.get("text", PICTURE) for part in parts)
                    found.append(("result", calls[block["tool_use_id"]], text))
                case _:
                    continue
    return found


def api_problems(messages: list[Fields]) -> list[str]:
    """What Anthropic's API would refuse of a request."""
    found: list[str] = []
    asked: list[str] = []
    used: set[str] = set()
    for message in messages:
        blocks = message["content"]
        results = [block for block in blocks if block["type"] == "tool_result"]
        if sorted(block["tool_use_id"] for block in results) != sorted(asked):
            found.append(f"calls {asked} and results {results}")
        if blocks[: len(results)] != results:
            found.append("something before the results")
        asked = []
        for block in blocks:
            found += _block_problems(block)
            if block["type"] == "tool_use":
                asked.append(block["id"])
                found += [f"the id {block['id']} twice"] if block["id"] in used else []
                used.add(block["id"])
        if not blocks:
            found.append("a message without content")
    return found + ([f"no results for {asked}"] if asked else [])


def _block_problems(block: Fields) -> list[str]:
    match block:
        case {"type": "text", "text": str(text)}:
            return [] if text.strip() else ["an empty text"]
        case {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}:
            return [] if kind in IMAGES and data else [f"an image of type {kind!r}"]
        case {"type": "tool_use", "id": name, "name": tool, "input": dict()}:
            plain = re.fullmatch("[A-Za-z0-9_-]+", name) and re.fullmatch("[A-Za-z0-9_-]{1,64}", tool)
            return [] if plain else [f"the call {name} of {tool}"]
        case {"type": "tool_result", "content": str()}:
            return []
        case {"type": "tool_result", "content": [*inner]}:
            return [problem for part in inner for problem in _block_problems(part)]
        case _:
            return [f"the block {block}"]
