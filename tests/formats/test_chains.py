"""Rows that follow each other: keys stay unique, and several entries of one line are told apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from branchline import Session
from branchline.entries import MessageEntry, ToolResult


def _cline(tmp_path: Path, messages: list[dict[str, Any]]) -> Session:
    folder = tmp_path / "sessions" / "1794778104904_abcde"
    folder.mkdir(parents=True)
    file = folder / "1794778104904_abcde.messages.json"
    file.write_text(json.dumps({"version": 1, "messages": messages}))
    return Session.open(file)


def _gemini(tmp_path: Path, messages: list[dict[str, Any]]) -> Session:
    """A result and its answer may share an id, so that equal ids with other roles are other messages."""
    kinds = ("user", "gemini")
    lines = [{"sessionId": "s", "projectHash": "h", "startTime": "2026-11-18T00:00:00.000Z"}]
    lines += [
        {"id": "same", "type": kinds[number % 2], "content": message["content"]}
        for number, message in enumerate(messages)
    ]
    file = tmp_path / "session-2026-11-18T00-00-s.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return Session.open(file)


@pytest.mark.parametrize("program", [_cline, _gemini])
def test_many_messages_with_the_same_id_get_keys_of_their_own_in_linear_time(tmp_path, program):
    count = 20_000

    session = program(tmp_path, [{"id": "same", "role": "user", "content": "hello"}] * count)

    path = session.path()
    assert len(path) == len(set(path)) >= count / 2
    assert path[:3] == ["same", "same#2", "same#3"]


def test_each_result_of_a_message_is_an_entry_of_its_own(tmp_path):
    calls = [{"type": "tool_use", "id": name, "name": f"tool {name}", "input": {}} for name in "abc"]
    results = [{"type": "tool_result", "tool_use_id": name, "content": f"result {name}"} for name in "abc"]
    messages = [
        {"id": "1", "role": "assistant", "content": calls},
        {"id": "2", "role": "user", "content": [results[0], {"type": "text", "text": "go on"}, *results[1:]]},
    ]

    session = _cline(tmp_path, messages)

    entries = [session.entry(key) for key in session.path()]
    said = [entry.message for entry in entries if isinstance(entry, MessageEntry)]
    found = [message for message in said if isinstance(message, ToolResult)]
    assert session.path() == ["1", "2", "2.2", "2.3", "2.said"]
    assert [(one.tool_call_id, one.tool_name) for one in found] == [(name, f"tool {name}") for name in "abc"]
