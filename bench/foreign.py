"""The sessions of `bench.generate` as other programs would have written them.

What our own writers can write, they write, entry by entry, as a live session would; transcripts of Claude
Code and rollouts of Codex, which are only read, are put together here. What a format has no place for is left
out, so that none of our own additions is measured.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from bench import generate
from branchline.entries import AssistantMessage, Cost, Entry, Header, MessageEntry, message_fields
from branchline.errors import NotSupported
from branchline.formats import EntryLog, Format
from branchline.plugins.formats import formats

OPENED = ("oh-my-pi", "operator", "induscode", "zot", "piglet", "claude-code", "codex")
"""The formats, by name, in the order in which they are measured."""

_encode = msgspec.json.Encoder().encode
_SPEAKING = "model_change", "thinking_level_change", "message"


def linear(name: str, megabytes: int) -> Path:
    """The linear conversation in this format."""
    return _kept(
        f"{name}/linear-{megabytes}MB.jsonl", lambda draft: _write(name, generate.linear(megabytes), draft)
    )


def library(name: str, sessions: int, megabytes: int) -> Path:
    """The directory of many sessions, all in this format."""

    def write(draft: Path) -> None:
        draft.mkdir()
        for source in sorted(generate.library(sessions, megabytes).iterdir()):
            _write(name, source, draft / _file_name(name, source.stem))

    return _kept(f"{name}/library-{sessions}", write)


def _kept(name: str, write: Callable[[Path], None]) -> Path:
    source = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]
    return generate._kept(f"foreign-{source}/{name}", write)  # noqa: SLF001  one cache, one digest


def _file_name(name: str, key: str) -> str:
    when, _, session_id = key.partition("_")
    if name == "codex":
        return f"rollout-{when[:19]}-{session_id}.jsonl"
    return f"{session_id if name == 'claude-code' else key}.jsonl"


def _write(name: str, source: Path, target: Path) -> None:
    data = source.read_bytes()
    told = EntryLog(_format("pi"), lambda offset, size: data[offset : offset + size], str(source))
    header = told.reading.header
    assert header is not None
    entries = (entry for entry in told.entries(range(len(told.tree))) if entry.type in _SPEAKING)
    with target.open("wb") as out:
        if name in _LINES:
            out.writelines(map(_line, _LINES[name](header, entries)))
        else:
            _write_live(_format(name), header, entries, out)


@cache
def _format(name: str) -> Format:
    return next(format_ for format_ in formats() if format_.name == name)


def _write_live(format_: Format, header: Header, entries: Iterator[Entry], out: BinaryIO) -> None:
    """One append after the other, each under the entry where the file stands."""
    start = format_.required_writer().encode_header(msgspec.structs.replace(header, parent_session=None))
    found = EntryLog(format_, lambda offset, size: start[offset : offset + size], "session")
    out.write(start)
    for entry in entries:
        try:
            line = format_.required_writer().encode([_placed(entry, found.leaf)], found.reading)
        except NotSupported:
            continue
        out.write(line)
        found.take(line)


def _placed(entry: Entry, parent: str | None) -> Entry:
    if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage):
        usage = entry.message.usage
        assert usage is not None
        spent = msgspec.structs.replace(usage, cost=Cost(total=usage.cost.total))
        message = msgspec.structs.replace(entry.message, api=None, usage=spent)
        return msgspec.structs.replace(entry, parent=parent, message=message)
    return msgspec.structs.replace(entry, parent=parent)


def _claude_code(header: Header, entries: Iterator[Entry]) -> Iterator[Any]:
    before = None
    for entry in entries:
        if not isinstance(entry, MessageEntry):
            continue
        said = message_fields(entry.message)
        key = f"{entry.id}-0000-4000-8000-000000000000"
        kind = "assistant" if said["role"] == "assistant" else "user"
        message: dict[str, Any] = {"role": kind, "content": said["content"]}
        if kind == "assistant":
            usage = {"input_tokens": 4, "output_tokens": said["usage"]["output"]}
            message |= {"id": f"msg_{entry.id}", "type": "message", "model": said["model"], "usage": usage}
            message["content"] = [_claude_block(block) for block in said["content"]]
            message["stop_reason"] = "tool_use" if said["stopReason"] == "toolUse" else "end_turn"
        elif said["role"] == "toolResult":
            text = said["content"][0]["text"]
            result = {"type": "tool_result", "tool_use_id": said["toolCallId"], "content": text}
            message["content"] = [result]
        place = {"cwd": header.cwd, "sessionId": header.id, "version": "2.1.0", "gitBranch": "main"}
        links = {"parentUuid": before, "isSidechain": False, "userType": "external", **place}
        yield {**links, "type": kind, "message": message, "uuid": key, "timestamp": entry.timestamp}
        before = key


def _claude_block(block: dict[str, Any]) -> dict[str, Any]:
    match block["type"]:
        case "thinking":
            signature = block["thinkingSignature"]
            return {"type": "thinking", "thinking": block["thinking"], "signature": signature}
        case "toolCall":
            return {
                "type": "tool_use",
                "id": block["id"],
                "name": block["name"],
                "input": block["arguments"],
            }
        case _:
            return block


def _codex(header: Header, entries: Iterator[Entry]) -> Iterator[Any]:
    about = {"id": header.id, "timestamp": header.timestamp, "cwd": header.cwd, "originator": "codex_cli_rs"}
    about |= {"cli_version": "0.147.0", "source": "cli", "model_provider": "openai"}
    yield {"timestamp": header.timestamp, "type": "session_meta", "payload": about}
    for entry in entries:
        if isinstance(entry, MessageEntry):
            for payload in _codex_items(message_fields(entry.message)):
                yield {"timestamp": entry.timestamp, "type": "response_item", "payload": payload}


def _codex_items(said: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if said["role"] == "toolResult":
        text = said["content"][0]["text"]
        yield {"type": "function_call_output", "call_id": said["toolCallId"], "output": text}
        return
    for block in said["content"]:
        match block["type"]:
            case "thinking":
                summary = [{"type": "summary_text", "text": block["thinking"]}]
                yield {"type": "reasoning", "summary": summary, "encrypted_content": "x" * 300}
            case "toolCall":
                arguments = _encode(block["arguments"]).decode()
                call = {"type": "function_call", "name": block["name"], "arguments": arguments}
                yield {**call, "call_id": block["id"]}
            case _:
                kind = "output_text" if said["role"] == "assistant" else "input_text"
                content = [{"type": kind, "text": block["text"]}]
                yield {"type": "message", "role": said["role"], "content": content}


_LINES: dict[str, Callable[[Header, Iterator[Entry]], Iterator[Any]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
}


def _line(fields: Any) -> bytes:
    return _encode(fields) + b"\n"
