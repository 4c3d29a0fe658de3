"""Small databases of opencode, llm and Goose, with everything in them that their readers interpret."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["DATABASES", "goose_database", "llm_conversations", "llm_database", "opencode_database"]

START = 1_794_780_000_000
PIXEL = "iVBORw0KGgo="


def _insert(connection: sqlite3.Connection, table: str, **values: Any) -> None:
    names, marks = ", ".join(f'"{name}"' for name in values), ", ".join("?" * len(values))
    stored = [json.dumps(one) if isinstance(one, dict | list) else one for one in values.values()]
    connection.execute(f'INSERT INTO "{table}" ({names}) VALUES ({marks})', stored)


def opencode_database(path: Path) -> str:
    """A session with all kinds of parts, a compaction that keeps a message, and a pending revert."""
    connection = sqlite3.connect(path)
    connection.executescript(
        """
        CREATE TABLE project (id TEXT PRIMARY KEY);
        CREATE TABLE session (
            id TEXT PRIMARY KEY, project_id, parent_id, slug, directory, title, version, revert,
            time_created INTEGER, time_updated INTEGER
        );
        CREATE TABLE message (id TEXT PRIMARY KEY, session_id, time_created, time_updated, data);
        CREATE TABLE part (id TEXT PRIMARY KEY, message_id, session_id, time_created, time_updated, data);
        CREATE TABLE event (id TEXT PRIMARY KEY, aggregate_id, seq INTEGER, type, data);
        CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
        CREATE INDEX part_message_id_id_idx ON part (message_id, id);
        """
    )
    number = 0

    def message(role: str, parts: list[dict[str, Any]], **more: Any) -> str:
        nonlocal number
        number += 1
        name, time = f"msg_{number:03}", START + number * 1000
        info = {"role": role, "time": {"created": time}, "agent": "build", **more}
        _insert(
            connection,
            "message",
            id=name,
            session_id="ses_1",
            time_created=time,
            time_updated=time,
            data=info,
        )
        for index, part in enumerate(parts):
            _insert(
                connection,
                "part",
                id=f"prt_{number:03}_{index}",
                message_id=name,
                session_id="ses_1",
                time_created=time,
                time_updated=time,
                data=part,
            )
        return name

    def answer(parts: list[dict[str, Any]], **more: Any) -> str:
        tokens = {"input": 10, "output": 3, "reasoning": 1, "cache": {"read": 5, "write": 2}}
        told = {"modelID": "m", "providerID": "p", "cost": 0.25, "tokens": tokens, "finish": "stop", **more}
        return message("assistant", [{"type": "step-start"}, *parts], **told)

    def tool(call: str, **state: Any) -> dict[str, Any]:
        return {"type": "tool", "callID": call, "tool": "read", "state": {"input": {"path": "a"}, **state}}

    _insert(
        connection,
        "session",
        id="ses_1",
        project_id="global",
        directory="/home/dev/demo",
        title="Everything",
        version="1.18.33",
        revert={"messageID": "msg_012"},
        time_created=START,
        time_updated=START + 60_000,
    )
    image = {"type": "file", "mime": "image/png", "url": f"data:image/png;base64,{PIXEL}"}
    message("user", [{"type": "text", "text": '"Look at this"'}, image])
    time = {"start": START, "end": START}
    answer(
        [
            {"type": "reasoning", "text": "Hm.", "time": time},
            {"type": "text", "text": "I read."},
            tool("c1", status="completed", output="one", title="a", metadata={"lines": 1}, time=time),
            tool("c2", status="error", error="no such file", time=time),
            tool("c3", status="running", time=time),
            tool("c4", status="completed", output="old", time={**time, "compacted": START}),
            tool("c5", status="completed", output="", attachments=[image], time=time),
            {"type": "patch", "hash": "x", "files": ["a"]},
            {"type": "step-finish", "reason": "tool-calls", "tokens": {"input": 1}, "cost": 0.1},
        ],
        finish="tool-calls",
    )
    answer([{"type": "text", "text": "Both."}])
    kept = message(
        "user", [{"type": "text", "text": "Kept"}, {"type": "text", "text": "a", "synthetic": True}]
    )
    answer([], error={"name": "APIError", "data": {"message": "refused"}})
    message("user", [{"type": "compaction", "auto": True, "tail_start_id": kept}])
    answer([{"type": "text", "text": "A summary."}], summary=True)
    message("user", [{"type": "text", "text": "Go on", "synthetic": True}])
    answer([{"type": "text", "text": "1"}, {"type": "step-start"}, {"type": "text", "text": "2"}])
    answer([{"type": "text", "text": "Half"}], error={"name": "MessageAbortedError", "data": {}})
    message("shell", [{"type": "text", "text": "ls"}])
    message("user", [{"type": "text", "text": "Hidden"}, {"type": "text", "text": "b", "ignored": True}])
    answer([{"type": "text", "text": "Hidden too"}])
    connection.commit()
    connection.close()
    return "ses_1"


def llm_database(path: Path) -> str:
    """Two threads that share their beginning, with tools, an attachment, a fragment and thoughts."""
    connection = sqlite3.connect(path)
    connection.executescript(
        """
        CREATE TABLE _llm_migrations (name TEXT PRIMARY KEY, applied_at TEXT);
        CREATE TABLE messages (hash TEXT PRIMARY KEY, parent_hash, role, provider_metadata);
        CREATE TABLE parts (
            id INTEGER PRIMARY KEY, message_hash, position, type, tool_name, text, payload
        );
        CREATE TABLE threads (id TEXT PRIMARY KEY, name, tip_message_hash, forked_from, datetime_utc);
        CREATE TABLE turns (
            id TEXT PRIMARY KEY, thread_id, tip_message_hash, model, resolved_model, input_tokens,
            output_tokens, token_details, datetime_utc
        );
        CREATE TABLE turn_search (id INTEGER PRIMARY KEY, turn_id, prompt, response);
        CREATE TABLE attachments (id TEXT PRIMARY KEY, type, path, url, content BLOB);
        CREATE TABLE fragments (id INTEGER PRIMARY KEY, content);
        """
    )

    def message(name: str, parent: str | None, role: str, *parts: dict[str, Any]) -> None:
        _insert(connection, "messages", hash=name, parent_hash=parent, role=role)
        for position, part in enumerate(parts):
            _insert(connection, "parts", message_hash=name, position=position, **part)

    def text(words: str) -> dict[str, Any]:
        return {"type": "text", "text": words}

    message("b2:0", None, "system", text("Be short"))
    reference = {"text_ref": [{"fragment": 1}, {"literal": " and this"}]}
    message(
        "b2:1",
        "b2:0",
        "user",
        {"type": "text", "payload": reference},
        {"type": "attachment", "payload": {"attachment": {"id": "picture"}}},
    )
    call = {"name": "read", "arguments": {"name": "a"}, "tool_call_id": "c1"}
    message(
        "b2:2",
        "b2:1",
        "assistant",
        {"type": "reasoning", "text": "Hm."},
        {"type": "tool_call", "tool_name": "read", "payload": call},
        {"type": "tool_call", "tool_name": "read", "payload": {**call, "tool_call_id": "c2"}},
    )
    message(
        "b2:3",
        "b2:2",
        "tool",
        {"type": "tool_result", "payload": {"name": "read", "output": "one", "tool_call_id": "c1"}},
        {
            "type": "tool_result",
            "payload": {"name": "read", "output": "Error", "tool_call_id": "c2", "exception": "E"},
        },
    )
    message("b2:4", "b2:3", "assistant", text("One line."))
    message("b2:5", "b2:3", "assistant", text("Another answer."))
    _insert(connection, "attachments", id="picture", type="image/png", content=b"\x89PNG")
    _insert(connection, "fragments", id=1, content="A fragment")
    _insert(
        connection,
        "threads",
        id="t1",
        name="Lines",
        tip_message_hash="b2:4",
        datetime_utc="2026-11-15 22:00:00+00:00",
    )
    _insert(
        connection,
        "threads",
        id="t2",
        name=None,
        tip_message_hash="b2:5",
        forked_from="t1",
        datetime_utc="2026-11-15 22:05:00+00:00",
    )
    details = {
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    for turn, thread, tip in (
        ("u1", "t1", "b2:2"),
        ("u2", "t1", "b2:5"),
        ("u3", "t1", "b2:4"),
        ("u4", "t1", "b2:4"),
        ("u5", "t2", "b2:5"),
    ):
        _insert(
            connection,
            "turns",
            id=turn,
            thread_id=thread,
            tip_message_hash=tip,
            model="fake",
            input_tokens=10,
            output_tokens=3,
            token_details=details,
            datetime_utc=f"2026-11-15T22:0{turn[1]}:00.000000+00:00",
        )
        _insert(connection, "turn_search", turn_id=turn, prompt="p", response="r")
    connection.commit()
    connection.close()
    return "t1"  # fmt: skip


def llm_conversations(path: Path) -> str:
    """A conversation as older versions of llm store it, with the tables of version 0.26."""
    connection = sqlite3.connect(path)
    connection.executescript(
        """
        CREATE TABLE _llm_migrations (name TEXT PRIMARY KEY, applied_at TEXT);
        CREATE TABLE conversations (id TEXT PRIMARY KEY, name, model);
        CREATE TABLE responses (
            id TEXT PRIMARY KEY, model, prompt, system, response, conversation_id, datetime_utc,
            input_tokens, output_tokens, token_details
        );
        CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, response_id, name, arguments, tool_call_id);
        CREATE TABLE tool_results (id INTEGER PRIMARY KEY, response_id, name, output, tool_call_id);
        CREATE TABLE attachments (id TEXT PRIMARY KEY, type, path, url, content BLOB);
        CREATE TABLE prompt_attachments (response_id, attachment_id, "order");
        CREATE TABLE fragments (id INTEGER PRIMARY KEY, content);
        CREATE TABLE prompt_fragments (response_id, fragment_id, "order");
        """
    )
    _insert(connection, "conversations", id="k1", name="Lines", model="fake")

    def response(name: str, **values: Any) -> None:
        time = f"2025-03-01T10:00:0{name[1]}.000000"
        _insert(
            connection, "responses", id=name, model="fake", conversation_id="k1", datetime_utc=time, **values
        )

    response("r1", prompt="How many?", system="Be short", response="", input_tokens=10, output_tokens=2)
    response(
        "r2",
        prompt="",
        system="Be short",
        response="One.",
        input_tokens=12,
        output_tokens=3,
        token_details={},
    )
    response("r3", prompt="Thanks", response="Welcome.")
    _insert(
        connection, "tool_calls", response_id="r1", name="count", arguments={"name": "a"}, tool_call_id="c1"
    )
    _insert(connection, "tool_results", response_id="r2", name="count", output="1", tool_call_id="c1")
    _insert(connection, "attachments", id="picture", type="image/png", content=b"\x89PNG")
    _insert(connection, "prompt_attachments", response_id="r3", attachment_id="picture", order=0)
    _insert(connection, "fragments", id=1, content="A fragment")
    _insert(connection, "prompt_fragments", response_id="r1", fragment_id=1, order=0)
    connection.commit()
    connection.close()
    return "k1"


def goose_database(path: Path) -> str:
    """A session with tools, thoughts, an image and a compaction."""
    connection = sqlite3.connect(path)
    connection.executescript(
        """
        CREATE TABLE schema_version (version INTEGER PRIMARY KEY);
        CREATE TABLE sessions (
            id TEXT PRIMARY KEY, name TEXT, description TEXT, session_type TEXT, working_dir TEXT,
            created_at TIMESTAMP, updated_at TIMESTAMP, accumulated_input_tokens INTEGER,
            accumulated_output_tokens INTEGER, accumulated_cache_read_tokens INTEGER,
            accumulated_cache_write_tokens INTEGER, accumulated_cost REAL, provider_name TEXT,
            model_config_json TEXT, parent_session_id TEXT
        );
        CREATE TABLE messages (
            id INTEGER PRIMARY KEY, message_id TEXT, session_id TEXT, role TEXT, content_json TEXT,
            created_timestamp INTEGER, metadata_json TEXT
        );
        """
    )
    _insert(
        connection,
        "sessions",
        id="20261115_1",
        name="Count lines",
        description="",
        session_type="user",
        working_dir="/home/dev/demo",
        created_at="2026-11-15 22:00:00",
        updated_at="2026-11-15 22:01:00",
        accumulated_input_tokens=40,
        accumulated_output_tokens=7,
        accumulated_cache_read_tokens=12,
        accumulated_cache_write_tokens=3,
        accumulated_cost=0.25,
        provider_name="fake",
        model_config_json={"model_name": "fake-model"},
    )

    def message(role: str, *parts: dict[str, Any], **visible: bool) -> None:
        _insert(
            connection,
            "messages",
            session_id="20261115_1",
            role=role,
            content_json=list(parts),
            created_timestamp=START // 1000,
            metadata_json={"userVisible": True, "agentVisible": True, **visible},
        )

    def text(words: str) -> dict[str, Any]:
        return {"type": "text", "text": words}

    call = {"status": "success", "value": {"name": "developer__shell", "arguments": {"command": "wc -l a"}}}
    image = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
    message("user", text("How many lines?"), image, agentVisible=False)
    message(
        "assistant",
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "toolRequest", "id": "c1", "toolCall": call},
        {"type": "toolRequest", "id": "c2", "toolCall": {"status": "error", "error": "bad"}},
        agentVisible=False,
    )
    result = {"status": "success", "value": {"content": [text("1 a"), image], "isError": False}}
    message("user", {"type": "toolResponse", "id": "c1", "toolResult": result}, agentVisible=False)
    message("user", text("A summary."), userVisible=False)
    message("user", {"type": "toolResponse", "id": "c1", "toolResult": {"status": "error", "error": "gone"}})
    message(
        "user",
        {"type": "toolResponse", "id": "c1", "toolResult": {"status": "success", "value": [text("old")]}},
    )
    message("assistant", text("One line."), {"type": "systemNotification", "msg": "note"})
    connection.commit()
    connection.close()
    return "20261115_1"


DATABASES: dict[str, Callable[[Path], str]] = {
    "opencode": opencode_database,
    "llm": llm_database,
    "llm, older": llm_conversations,
    "goose": goose_database,
}
"""For each kind the function that writes one to a path and returns the id of its session."""
