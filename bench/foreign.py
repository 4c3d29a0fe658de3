"""The sessions of `bench.generate` as other programs would have written them.

What our own writers append to, they write, entry by entry, as a live session would; the files of the other
programs are put together here. What a format has no place for is left out, so that none of our own additions
is measured.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from bench import generate
from branchline.context import milliseconds
from branchline.entries import AssistantMessage, Cost, Entry, Header, MessageEntry, message_fields
from branchline.errors import NotSupported
from branchline.formats import EntryLog, Format
from branchline.plugins.formats import formats

OPENED = ("oh-my-pi", "operator", "induscode", "zot", "piglet", "claude-code", "codex")
"""The formats, by name, in the order in which they are measured."""

PER_BYTE = ("qwen", "copilot", "gemini", "kimi", "cline", "opencode", "llm", "goose", "vibe")
"""Formats that store much beside the conversation, or parts of it twice: they are compared per byte."""

_encode = msgspec.json.Encoder().encode
_SPEAKING = "model_change", "thinking_level_change", "message"


def linear(name: str, megabytes: int) -> Path:
    """The linear conversation in this format."""
    if name in _STORES:
        store = _kept(
            f"{name}/linear-{megabytes}MB",
            lambda draft: _write_store(name, [generate.linear(megabytes)], draft),
        )
        return next(store.rglob(_STORES[name].pattern))
    return _kept(
        f"{name}/linear-{megabytes}MB.jsonl", lambda draft: _write(name, generate.linear(megabytes), draft)
    )


def library(name: str, sessions: int, megabytes: int) -> Path:
    """The directory of many sessions, all in this format."""

    def write(draft: Path) -> None:
        sources = sorted(generate.library(sessions, megabytes).iterdir())
        if name in _STORES:
            _write_store(name, sources, draft)
            return
        draft.mkdir()
        for source in sources:
            _write(name, source, draft / _file_name(name, source.stem))

    return _kept(f"{name}/library-{sessions}", write)


def arguments(work: str, name: str, path: Path) -> list[str]:
    """What a worker is given: a store is listed as everything that its program has in a home directory.

    With a session to open comes a small one, which loads the modules of its format.
    """
    if work == "open":
        return [str(path), str(linear(name, 1) if name in (*OPENED, *PER_BYTE) else generate.linear(1))]
    return [str(path), name] if work == "list-deep" and name in _STORES else [str(path)]


def size_of(path: Path) -> int:
    """The bytes of a session file, or of all files of a directory."""
    if path.name == "CURRENT":  # which only names the other files of a Vibe session
        path = path.parent
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def _kept(name: str, write: Callable[[Path], None]) -> Path:
    source = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]
    return generate._kept(f"foreign-{source}/{name}", write)  # noqa: SLF001  one cache, one digest


def _file_name(name: str, key: str) -> str:
    when, _, session_id = key.partition("_")
    if name == "codex":
        return f"rollout-{when[:19]}-{session_id}.jsonl"
    return f"{session_id if name == 'claude-code' else key}.jsonl"


def _conversation(source: Path) -> tuple[Header, Iterator[Entry]]:
    data = source.read_bytes()
    told = EntryLog(_format("pi"), lambda offset, size: data[offset : offset + size], str(source))
    header = told.reading.header
    assert header is not None
    return header, (entry for entry in told.entries(range(len(told.tree))) if entry.type in _SPEAKING)


def _write_store(name: str, sources: Iterable[Path], target: Path) -> None:
    target.mkdir()
    _STORES[name].write(target, map(_conversation, sources))


def _write(name: str, source: Path, target: Path) -> None:
    header, entries = _conversation(source)
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
    written = bytearray(start)
    found = EntryLog(format_, lambda offset, size: bytes(written[offset : offset + size]), "session")
    out.write(start)
    for entry in entries:
        try:
            line = format_.required_writer().encode([_placed(entry, found.leaf)], found.reading)
        except NotSupported:
            continue
        written += line
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


def _kimi(header: Header, entries: Iterator[Entry]) -> Iterator[Any]:
    """Each message is there twice: for the conversation, and for the log of the agent."""
    yield {"type": "metadata", "protocol_version": "1.5", "created_at": milliseconds(header.timestamp)}
    yield {"type": "profile.bind", "environmentDisclosure": {"cwd": header.cwd}, "time": 1}
    turn = step = 0
    for entry in entries:
        if not isinstance(entry, MessageEntry):
            continue
        said = message_fields(entry.message)
        about = {"agentId": "main", "time": milliseconds(entry.timestamp)}
        key = f"{entry.id}-0000-4000-8000-000000000000"
        if said["role"] == "user":
            turn, step = turn + 1, 0
            told = {"role": "user", "content": said["content"]}
            origin = {"kind": "user"}
            prompt = {"type": "turn.prompt", "input": said["content"], "origin": origin, "promptId": key}
            yield {**prompt, "turnId": turn, **about}
            message = {**told, "id": key, "toolCalls": [], "origin": origin}
            yield {"type": "context.append_message", "message": message, **about}
        elif said["role"] == "assistant":
            step += 1
            place = {"turnId": str(turn), "step": step}
            yield _kimi_event(about, {"type": "step.begin", "uuid": key, **place})
            request = {"type": "llm.request", "provider": said["provider"], "model": said["model"]}
            yield {**request, "turnStep": f"{turn}.{step}", **about}
            usage = {"inputOther": 4, "output": said["usage"]["output"], "inputCacheRead": 0}
            yield {"type": "usage.record", "model": said["model"], "usage": usage, **about}
            yield {"type": "token_counting.measured", "length": 6, "tokens": 332, **about}
            for block in said["content"]:
                yield _kimi_event(about, {**_kimi_block(block), "uuid": key, **place, "stepUuid": key})
            ended = {"type": "step.end", "uuid": key, **place, "finishReason": "tool_use", "usage": usage}
            yield _kimi_event(about, ended)
            told = {"role": "assistant", "content": said["content"], "toolCalls": []}
        else:
            result = {"output": said["content"][0]["text"], "durationMs": 63}
            call = {"type": "tool.result", "parentUuid": key, "toolCallId": said["toolCallId"]}
            yield _kimi_event(about, {**call, "result": result})
            told = {"role": "tool", "content": said["content"], "toolCallId": said["toolCallId"]}
        yield {"message": {"message": told}, "type": "agent.message.appended", **about, "kind": "event"}


def _kimi_event(about: dict[str, Any], event: dict[str, Any]) -> dict[str, Any]:
    return {"type": "context.append_loop_event", "agentId": "main", "event": event, **about}


def _kimi_block(block: dict[str, Any]) -> dict[str, Any]:
    match block["type"]:
        case "thinking":
            return {"type": "content.part", "part": {"type": "think", "think": block["thinking"]}}
        case "toolCall":
            call = {"type": "tool.call", "toolCallId": block["id"], "name": block["name"]}
            return {**call, "args": block["arguments"]}
        case _:
            return {"type": "content.part", "part": {"type": "text", "text": block["text"]}}


def _gemini(header: Header, entries: Iterator[Entry]) -> Iterator[Any]:
    """An answer is there once more with the results of its calls, which follow it as a line, too."""
    about = {"sessionId": header.id, "projectHash": "0" * 64, "startTime": header.timestamp}
    yield {**about, "lastUpdated": header.timestamp, "kind": "main"}
    answer: dict[str, Any] = {}
    for entry in entries:
        if not isinstance(entry, MessageEntry):
            continue
        said = message_fields(entry.message)
        key = f"{entry.id}-0000-4000-8000-000000000000"
        line: dict[str, Any] = {"id": key, "timestamp": entry.timestamp}
        if said["role"] == "assistant":
            answer = line = {**line, **_gemini_answer(said)}
        elif said["role"] == "user":
            line |= {"type": "user", "content": [{"text": block["text"]} for block in said["content"]]}
        else:
            response = {"output": said["content"][0]["text"]}
            part = {"id": said["toolCallId"], "name": said["toolName"], "response": response}
            result = [{"functionResponse": part}]
            calls = answer.setdefault("toolCalls", [])
            calls.append({"id": part["id"], "name": part["name"], "args": {}, "result": result})
            yield answer
            line |= {"type": "user", "content": result}
        yield line
        yield {"$set": {"lastUpdated": entry.timestamp}}


def _gemini_answer(said: dict[str, Any]) -> dict[str, Any]:
    texts = [block["text"] for block in said["content"] if block["type"] == "text"]
    thoughts = [
        {"subject": "", "description": block["thinking"]}
        for block in said["content"]
        if block["type"] == "thinking"
    ]
    tokens = {"input": 4, "output": said["usage"]["output"], "cached": 0, "thoughts": 0, "tool": 0}
    answer = {"type": "gemini", "content": "".join(texts), "thoughts": thoughts, "tokens": tokens}
    return {**answer, "model": said["model"]}


_LINES: dict[str, Callable[[Header, Iterator[Entry]], Iterator[Any]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini": _gemini,
    "kimi": _kimi,
}


# -- stores with more than one file for a session, or more than one session in a file ----------------------


def _write_cline(target: Path, conversations: Iterator[tuple[Header, Iterator[Entry]]]) -> None:
    for number, (header, entries) in enumerate(conversations):
        key = f"{generate.START + number}_bench"
        folder = target / ".cline" / "data" / "sessions" / key
        folder.mkdir(parents=True)
        said = [_cline_message(entry) for entry in entries if isinstance(entry, MessageEntry)]
        about = {"version": 1, "session_id": key, "started_at": header.timestamp, "cwd": header.cwd}
        (folder / f"{key}.json").write_bytes(_encode(about))
        document = {"version": 1, "agent": "lead", "sessionId": key, "messages": said}
        (folder / f"{key}.messages.json").write_bytes(msgspec.json.format(_encode(document), indent=2))


def _cline_message(entry: MessageEntry) -> dict[str, Any]:
    said = message_fields(entry.message)
    kind = "assistant" if said["role"] == "assistant" else "user"
    message: dict[str, Any] = {"id": f"msg_{entry.id}", "role": kind, "content": said["content"]}
    message["ts"] = milliseconds(entry.timestamp)
    if kind == "assistant":
        message["content"] = [_claude_block(block) for block in said["content"]]
        message["modelInfo"] = {"id": said["model"], "provider": said["provider"]}
        message["metrics"] = {"inputTokens": 4, "outputTokens": said["usage"]["output"]}
    elif said["role"] == "toolResult":
        output = [{"query": said["toolName"], "result": said["content"][0]["text"], "success": True}]
        result = {"type": "tool_result", "tool_use_id": said["toolCallId"], "name": said["toolName"]}
        message["content"] = [{**result, "content": output}]
    return message


_OPENCODE = """
CREATE TABLE project (id TEXT PRIMARY KEY);
CREATE TABLE session (
    id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT, title TEXT, version TEXT,
    revert TEXT, time_created INTEGER, time_updated INTEGER
);
CREATE TABLE message (
    id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT
);
CREATE TABLE part (
    id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER,
    data TEXT
);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);
CREATE INDEX part_session_idx ON part (session_id);
"""


_SNAPSHOT = "5ad1c79eaeb3b56256f15c997c29d2bf0fad5c92"


def _write_opencode(target: Path, conversations: Iterator[tuple[Header, Iterator[Entry]]]) -> None:
    folder = target / ".local" / "share" / "opencode"
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "opencode.db")) as connection, connection:
        connection.executescript(_OPENCODE)
        for number, (header, entries) in enumerate(conversations):
            key, time = f"ses_{number:026}", milliseconds(header.timestamp)
            about = (key, "global", None, header.cwd, f"Session {number}", "1.18.33", None, time, time)
            connection.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", about)
            for message in _opencode_messages(key, entries):
                when = message.info["time"]["created"]
                connection.execute(
                    "INSERT INTO message VALUES (?, ?, ?, ?, ?)",
                    (message.id, key, when, when, _encode(message.info).decode()),
                )
                rows = [
                    (
                        f"prt_{message.id[4:10]}{message.id[14:]}{place:04}",
                        message.id,
                        key,
                        when,
                        when,
                        _encode(part).decode(),
                    )
                    for place, part in enumerate(message.parts)
                ]
                connection.executemany("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", rows)


class _OpencodeMessage(NamedTuple):
    id: str
    info: dict[str, Any]
    parts: list[dict[str, Any]]


def _opencode_messages(session: str, entries: Iterator[Entry]) -> Iterator[_OpencodeMessage]:
    """Results are in the part of their call, so that a message is complete when the next one begins."""
    waiting: _OpencodeMessage | None = None
    prompt = ""
    calls: dict[str, dict[str, Any]] = {}
    for number, entry in enumerate(entries):
        if not isinstance(entry, MessageEntry):
            continue
        said = message_fields(entry.message)
        if said["role"] == "toolResult":
            call = calls.pop(said["toolCallId"])
            output = {
                "output": said["content"][0]["text"],
                "title": said["toolName"],
                "metadata": {"exit": 0},
            }
            call["state"] = {**call["state"], "status": "completed", **output}
            continue
        if waiting is not None:
            yield waiting
        time: dict[str, Any] = {"created": milliseconds(entry.timestamp)}
        name = f"msg_{session[-6:]}{number:020}"
        if said["role"] == "user":
            prompt = name
            about: dict[str, Any] = {"agent": "build", "model": {"providerID": "acme", "modelID": "one"}}
            info = {"role": "user", "time": time, **about, "summary": {"diffs": []}}
            waiting = _OpencodeMessage(name, info, said["content"])
            continue
        tokens = {"total": 4, "input": 4, "output": said["usage"]["output"], "reasoning": 0}
        spent = {"tokens": {**tokens, "cache": {"read": 0, "write": 0}}, "cost": 0.01}
        about = {"mode": "build", "agent": "build", "path": {"cwd": "/home/dev", "root": "/home/dev"}}
        info = {"parentID": prompt, "role": "assistant", **about, **spent}
        info |= {"modelID": said["model"], "providerID": said["provider"]}
        info |= {"time": {**time, "completed": time["created"]}, "finish": "tool-calls"}
        parts = [_opencode_part(block, time["created"]) for block in said["content"]]
        calls = {part["callID"]: part for part in parts if part["type"] == "tool"}
        start = {"snapshot": _SNAPSHOT, "type": "step-start"}
        finish = {"reason": "tool-calls", "snapshot": _SNAPSHOT, "type": "step-finish", **spent}
        waiting = _OpencodeMessage(name, info, [start, *parts, finish])
    if waiting is not None:
        yield waiting


def _opencode_part(block: dict[str, Any], time: int) -> dict[str, Any]:
    span = {"time": {"start": time, "end": time}}
    match block["type"]:
        case "thinking":
            return {"type": "reasoning", "text": block["thinking"], **span}
        case "toolCall":
            state = {"status": "pending", "input": block["arguments"], **span}
            return {"type": "tool", "tool": block["name"], "callID": block["id"], "state": state}
        case _:
            return {"type": "text", "text": block["text"], **span}


_LLM = """
CREATE TABLE _llm_migrations (name TEXT PRIMARY KEY, applied_at TEXT);
CREATE TABLE messages (hash TEXT PRIMARY KEY, parent_hash TEXT, role TEXT, provider_metadata TEXT);
CREATE TABLE parts (
    id INTEGER PRIMARY KEY, message_hash TEXT, position INTEGER, type TEXT, tool_name TEXT, text TEXT,
    payload TEXT
);
CREATE TABLE threads (
    id TEXT PRIMARY KEY, name TEXT, tip_message_hash TEXT, forked_from TEXT, datetime_utc TEXT
);
CREATE TABLE turns (
    id TEXT PRIMARY KEY, thread_id TEXT, parent_message_hash TEXT, tip_message_hash TEXT, model TEXT,
    resolved_model TEXT, options_json TEXT, schema_id TEXT, input_tokens INTEGER, output_tokens INTEGER,
    token_details TEXT, duration_ms INTEGER, datetime_utc TEXT, response_json TEXT
);
CREATE TABLE turn_search (id INTEGER PRIMARY KEY, turn_id TEXT, prompt TEXT, response TEXT);
CREATE VIRTUAL TABLE turn_search_fts USING FTS5 (prompt, response, content=turn_search);
CREATE TRIGGER turn_search_ai AFTER INSERT ON turn_search BEGIN
    INSERT INTO turn_search_fts (rowid, prompt, response) VALUES (new.rowid, new.prompt, new.response);
END;
CREATE TABLE tools (
    id INTEGER PRIMARY KEY, hash TEXT, name TEXT, description TEXT, input_schema TEXT, plugin TEXT
);
CREATE TABLE turn_tools (
    turn_id TEXT, tool_id INTEGER, instance_id INTEGER, PRIMARY KEY (turn_id, tool_id)
);
CREATE TABLE attachments (id TEXT PRIMARY KEY, type TEXT, path TEXT, url TEXT, content BLOB);
CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT);
CREATE INDEX idx_messages_parent_hash ON messages (parent_hash);
CREATE UNIQUE INDEX idx_parts_message_hash_position ON parts (message_hash, position);
CREATE INDEX idx_turns_thread_id ON turns (thread_id);
CREATE UNIQUE INDEX idx_turn_search_turn_id ON turn_search (turn_id);
"""


_LLM_TOOLS = ("bash", "edit", "read")


def _write_llm(target: Path, conversations: Iterator[tuple[Header, Iterator[Entry]]]) -> None:
    folder = target / ".config" / "io.datasette.llm"
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "logs.db")) as connection, connection:
        connection.executescript(_LLM)
        tools = [(f"{tool:064}", name) for tool, name in enumerate(_LLM_TOOLS)]
        connection.executemany("INSERT INTO tools VALUES (NULL, ?, ?, NULL, NULL, NULL)", tools)
        for number, (header, entries) in enumerate(conversations):
            key = f"01m7gknstv{number:016}"
            tip = _write_llm_messages(connection, key, entries)
            thread = (key, f"Session {number}", tip, None, _llm_time(header.timestamp))
            connection.execute("INSERT INTO threads VALUES (?, ?, ?, ?, ?)", thread)


def _write_llm_messages(connection: sqlite3.Connection, thread: str, entries: Iterator[Entry]) -> str:
    tip = prompt = ""
    for number, entry in enumerate(entries):
        if not isinstance(entry, MessageEntry):
            continue
        said = message_fields(entry.message)
        before, tip = tip, f"b2:{hashlib.sha256(f'{thread}/{entry.id}'.encode()).hexdigest()[:32]}"
        role = "tool" if said["role"] == "toolResult" else said["role"]
        connection.execute("INSERT INTO messages VALUES (?, ?, ?, NULL)", (tip, before or None, role))
        parts = list(_llm_parts(said))
        for place, (kind, tool, text, payload) in enumerate(parts):
            part = (tip, place, kind, tool, text, None if payload is None else json.dumps(payload))
            connection.execute("INSERT INTO parts VALUES (NULL, ?, ?, ?, ?, ?, ?)", part)
        words = "".join([text or "" for kind, _, text, _ in parts if kind == "text"])
        if role == "user":
            prompt = words
        elif role == "assistant":
            turn = f"{thread[:10]}{thread[-6:]}{number:010}"
            made, given = said["usage"]["output"], 4
            usage = {"completion_tokens": made, "prompt_tokens": given, "total_tokens": made + given}
            response: dict[str, Any] = {
                "content": words,
                "finish_reason": "tool_calls",
                "usage": usage,
                "id": turn,
            }
            response |= {"object": "chat.completion.chunk", "model": said["model"], "created": 1794780096}
            called = (said["model"], said["model"], None, None, given, made)
            row: tuple[Any, ...] = (turn, thread, before, tip, *called)
            row += ('{"prompt_tokens_details": {"cached_tokens": 2}}', 298, _llm_time(entry.timestamp))
            connection.execute(f"INSERT INTO turns VALUES ({'?, ' * 13}?)", (*row, json.dumps(response)))
            connection.execute("INSERT INTO turn_search VALUES (NULL, ?, ?, ?)", (turn, prompt, words))
            offered = [(turn, tool) for tool in range(1, len(_LLM_TOOLS) + 1)]
            connection.executemany("INSERT INTO turn_tools VALUES (?, ?, NULL)", offered)
            prompt = ""
    return tip


def _llm_time(time: str) -> str:
    return time.replace("Z", "927+00:00")


def _llm_parts(said: dict[str, Any]) -> Iterator[tuple[str, str | None, str | None, Any]]:
    if said["role"] == "toolResult":
        output = {"name": said["toolName"], "output": said["content"][0]["text"]}
        yield "tool_result", said["toolName"], None, {**output, "tool_call_id": said["toolCallId"]}
        return
    for block in said["content"]:
        match block["type"]:
            case "thinking":
                yield "reasoning", None, block["thinking"], None
            case "toolCall":
                call = {"name": block["name"], "arguments": block["arguments"], "tool_call_id": block["id"]}
                yield "tool_call", block["name"], None, call
            case _:
                yield "text", None, block["text"], None


_GOOSE = """
CREATE TABLE schema_version (version INTEGER PRIMARY KEY);
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, name TEXT, description TEXT, session_type TEXT, working_dir TEXT,
    created_at TIMESTAMP, updated_at TIMESTAMP, accumulated_input_tokens INTEGER,
    accumulated_output_tokens INTEGER, provider_name TEXT, model_config_json TEXT
);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT, role TEXT, content_json TEXT,
    created_timestamp INTEGER, timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP, tokens INTEGER,
    metadata_json TEXT
);
CREATE INDEX idx_messages_session ON messages (session_id);
CREATE INDEX idx_messages_timestamp ON messages (timestamp);
CREATE INDEX idx_messages_message_id ON messages (message_id);
CREATE INDEX idx_messages_session_created ON messages (session_id, created_timestamp, id);
"""
_GOOSE_INSERT = """
INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, metadata_json)
VALUES (?, ?, ?, ?, ?, ?)
"""
_VISIBLE = '{"userVisible":true,"agentVisible":true}'
_ANSWERED = (
    '{"userVisible":true,"agentVisible":true,"inference":{"provider":"acme","requestedModel":"one"},"usage":{'
    '"inputTokens":102,"outputTokens":10,"totalTokens":112,"cacheReadTokens":64,"cost":0.000355,'
    '"costSource":"estimated","elapsedMs":1209,"timeToFirstTokenMs":204}}'
)
_TURN_CONTEXT = '{"userVisible":false,"agentVisible":true,"turnContext":true}'
_TURN = """<turn-context>
<current-time>{time} +00:00</current-time>
<working-directory>{cwd}</working-directory>
</turn-context>"""


def _write_goose(target: Path, conversations: Iterator[tuple[Header, Iterator[Entry]]]) -> None:
    folder = target / ".local" / "share" / "goose" / "sessions"
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "sessions.db")) as connection, connection:
        connection.executescript(_GOOSE)
        for number, (header, entries) in enumerate(conversations):
            key, time = f"20261115_{number}", header.timestamp[:19].replace("T", " ")
            about = (key, f"Session {number}", "", "user", header.cwd, time, time, 40, 7, "acme")
            connection.execute(
                "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*about, '{"model_name":"one"}'),
            )
            said = (entry for entry in entries if isinstance(entry, MessageEntry))
            rows = chain.from_iterable(_goose_rows(entry, key, header.cwd) for entry in said)
            connection.executemany(_GOOSE_INSERT, rows)


def _goose_rows(entry: MessageEntry, key: str, cwd: str) -> Iterator[tuple[str, str, str, str, int, str]]:
    """A message as Goose 1.52 stores it; a message with the time and the directory follows each prompt."""
    said = message_fields(entry.message)
    content, role, metadata = said["content"], "user", _VISIBLE
    if said["role"] == "toolResult":
        result = {
            "status": "success",
            "value": {"resultType": "complete", "content": content, "isError": False},
        }
        content = [{"type": "toolResponse", "id": said["toolCallId"], "toolResult": result}]
    elif said["role"] == "assistant":
        content, role, metadata = [_goose_part(block) for block in content], "assistant", _ANSWERED
    time = (milliseconds(entry.timestamp) or 0) // 1000
    name = f"msg_{uuid.uuid5(uuid.NAMESPACE_URL, entry.id)}"
    yield name, key, role, _encode(content).decode(), time, metadata
    if said["role"] == "user":
        told = _TURN.format(time=entry.timestamp[:19].replace("T", " "), cwd=cwd)
        content = _encode([{"type": "text", "text": told}]).decode()
        yield f"{name[:-4]}0000", key, "user", content, time, _TURN_CONTEXT


def _goose_part(block: dict[str, Any]) -> dict[str, Any]:
    match block["type"]:
        case "thinking":
            return {"type": "thinking", "thinking": block["thinking"], "signature": "s"}
        case "toolCall":
            call = {"status": "success", "value": {"name": block["name"], "arguments": block["arguments"]}}
            told = {"goose.toolCall.providerIndex": 0, "goose_extension": "developer"}
            return {"type": "toolRequest", "id": block["id"], "toolCall": call, "_meta": told}
        case _:
            return block


def _write_vibe(target: Path, conversations: Iterator[tuple[Header, Iterator[Entry]]]) -> None:
    for number, (header, entries) in enumerate(conversations):
        key = f"7b1de000-5555-4a6b-9c3d-{number:012}"
        folder = target / ".vibe" / "logs" / "session" / "unified" / key
        generation = folder / "generations" / "0000000000000001"
        generation.mkdir(parents=True)
        (folder / "chunks").mkdir()
        said = [_vibe_message(entry) for entry in entries if isinstance(entry, MessageEntry)]
        chunks = [_vibe_document(folder / "chunks", said[at : at + 64]) for at in range(0, len(said), 64)]
        identity = {"identity": {"kind": "root", "session_id": key, "parent_session_id": None}}
        session = {"id": key, "title": f"Session {number}", "tokenUsage": {"inputTokens": 4}}
        documents: dict[str, tuple[Any, list[str] | None]] = {
            "checkpoint": ({"checkpoint_version": 1, "context": {"messages": []}}, chunks),
            "runtime_state": (identity, None),
            "projection_state": ({"snapshot": {"session": session, "history": {"entries": []}}}, []),
        }
        manifest: dict[str, Any] = {"manifest_version": 1, "session_id": key, "generation": generation.name}
        for name, (document, named) in documents.items():
            file = f"{name.replace('_', '-')}.json"
            data = _encode(document)
            (generation / file).write_bytes(data)
            manifest[name] = {"path": file, "sha256": hashlib.sha256(data).hexdigest(), "chunks": named}
        data = _encode(manifest)
        (generation / "manifest.json").write_bytes(data)
        environment = {"working_directory": header.cwd}
        about = {"session_id": key, "start_time": header.timestamp, "environment": environment}
        (folder / "meta.json").write_bytes(_encode({**about, "title": f"Session {number}"}))
        pointer = {
            "store_format": "mistral.vibe.unified-session-store/v1",
            "store_format_minor": 10,
            "session_id": key,
            "generation": generation.name,
            "snapshot_sequence": 1,
            "manifest_sha256": hashlib.sha256(data).hexdigest(),
        }
        (folder / "CURRENT").write_bytes(_encode(pointer))


def _vibe_document(folder: Path, content: Any) -> str:
    data = _encode(content)
    digest = hashlib.sha256(data).hexdigest()
    (folder / f"{digest}.json").write_bytes(data)
    return digest


def _vibe_message(entry: MessageEntry) -> dict[str, Any]:
    said = message_fields(entry.message)
    message: dict[str, Any] = {"role": said["role"], "content": said["content"]}
    if said["role"] == "assistant":
        message["content"] = [_vibe_block(block) for block in said["content"]]
    elif said["role"] == "toolResult":
        message |= {"role": "tool", "tool_call_id": said["toolCallId"], "name": said["toolName"]}
        message["outcome"] = "success"
    return {"message": message, "source": "history", "turn_index": 0}


def _vibe_block(block: dict[str, Any]) -> dict[str, Any]:
    match block["type"]:
        case "thinking":
            return {"type": "reasoning", "content": [{"type": "text", "text": block["thinking"]}]}
        case "toolCall":
            given = {"type": "json", "raw": _encode(block["arguments"]).decode(), "value": block["arguments"]}
            return {"type": "tool_call", "id": block["id"], "name": block["name"], "arguments": given}
        case _:
            return block


class _Store(NamedTuple):
    """How a directory of sessions is written, and how the file of one is named."""

    pattern: str
    write: Callable[[Path, Iterator[tuple[Header, Iterator[Entry]]]], None]


_STORES = {
    "cline": _Store("*.messages.json", _write_cline),
    "opencode": _Store("*.db", _write_opencode),
    "llm": _Store("*.db", _write_llm),
    "goose": _Store("*.db", _write_goose),
    "vibe": _Store("CURRENT", _write_vibe),
}


def _line(fields: Any) -> bytes:
    return _encode(fields) + b"\n"
