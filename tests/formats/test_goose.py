"""Goose messages as entries: what a row means, whatever its values are."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from branchline import Session, SessionLibrary
from branchline.context import ModelRef
from branchline.entries import (
    AssistantMessage,
    ContextEdit,
    CustomMessage,
    MessageEntry,
    ToolResult,
    message_text,
)
from branchline.formats.goose import GOOSE
from formats.database_kit import goose_database

KEY = "20261115_1"


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def result(call: str, words: str) -> dict[str, Any]:
    value = {"content": [text(words)], "isError": False}
    return {"type": "toolResponse", "id": call, "toolResult": {"status": "success", "value": value}}


def changed(path: Path, *statements: tuple[Any, ...]) -> Session:
    """The session of a whole database after these statements."""
    goose_database(path)
    connection = sqlite3.connect(path)
    for sql, *values in statements:
        connection.execute(sql, values)
    connection.commit()
    connection.close()
    return Session.open(f"{path}#{KEY}")


def ids(session: Session) -> list[str]:
    return [entry.id for entry in session.entries() if not isinstance(entry, ContextEdit)]


def older_file(home: Path, *lines: str, name: str = "20240101_1") -> Path:
    folder = home / ".local" / "share" / "goose" / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.jsonl").write_text("\n".join(lines))
    return folder / f"{name}.jsonl"


@pytest.mark.parametrize(
    "name", ['say "hi"', "back\\slash", "two\nlines", "tab\tbed", "é", "nul\x00", '","role":"system']
)
def test_ids_of_any_text_are_kept_and_change_no_other_message(tmp_path, name):
    session = changed(tmp_path / "any.db", ("UPDATE messages SET message_id = ? WHERE id = 4", name))

    assert ids(session) == [
        "message-1", "message-2", "message-3.0", name, "message-5.0", "message-6.0", "message-7",
        "usage", f"{KEY}/title",
    ]  # fmt: skip
    assert session.check().status == "clean"


def test_a_message_without_an_id_is_named_by_its_row(tmp_path):
    statement = "UPDATE messages SET message_id = CASE id WHEN 4 THEN '' WHEN 7 THEN x'' ELSE 'm' || id END"
    session = changed(tmp_path / "any.db", (statement,))

    assert ids(session)[:7] == ["m1", "m2", "m3.0", "message-4", "m5.0", "m6.0", "message-7"]


def test_each_result_in_a_message_is_an_entry_that_a_hidden_message_removes(tmp_path):
    parts = [result("c1", "one"), text("And now?"), result("c1", "two")]
    statement = "UPDATE messages SET message_id = 'm', content_json = ?, metadata_json = ? WHERE id = 5"
    session = changed(tmp_path / "any.db", (statement, json.dumps(parts), '{"agentVisible": false}'))

    found = [entry for entry in session.entries() if entry.id == "m" or entry.id.startswith(("m.", "m/"))]

    said = [message_text(one.message, " ") for one in found if isinstance(one, MessageEntry)]
    edits = [(one.id, one.target) for one in found if isinstance(one, ContextEdit)]
    assert said == ["one", "two", "And now?"]
    assert edits == [("m/unseen-0", "m.0"), ("m/unseen-1", "m.1"), ("m/unseen-2", "m")]
    assert {"one", "two", "And now?"}.isdisjoint(
        message_text(one.message, " ") for one in session.context().messages
    )


def test_a_repeated_id_gets_a_number_and_its_edit_removes_the_right_message(tmp_path):
    statement = "UPDATE messages SET message_id = 'same', metadata_json = '{\"agentVisible\":false}' WHERE id IN (1, 4)"
    session = changed(tmp_path / "any.db", (statement,))

    edits = [one.target for one in session.entries() if isinstance(one, ContextEdit)]

    assert edits == ["same", "message-2", "message-3.0", "same#2"]


def test_an_answer_names_its_own_model_and_others_have_that_of_the_session(tmp_path):
    inference = {"inference": {"provider": "acme", "requestedModel": "two"}, "usage": {"inputTokens": 9}}
    session = changed(
        tmp_path / "any.db", ("UPDATE messages SET metadata_json = ? WHERE id = 2", json.dumps(inference))
    )

    messages = [entry.message for entry in session.entries() if isinstance(entry, MessageEntry)]
    answers = [one for one in messages if isinstance(one, AssistantMessage)]

    assert [(one.provider, one.model) for one in answers] == [("acme", "two"), ("fake", "fake-model")]
    assert session.context().model == ModelRef(provider="fake", id="fake-model")


def test_what_goose_says_in_place_of_the_model_is_no_answer(tmp_path):
    statement = "UPDATE messages SET metadata_json = '{\"userVisible\":false}' WHERE role = 'assistant'"
    session = changed(tmp_path / "any.db", (statement,))

    found = [entry for entry in session.entries() if entry.id in {"message-2", "message-7"}]

    assert [type(one) for one in found] == [MessageEntry, CustomMessage]  # the results belong to its calls
    assert not found[1].display


def test_a_sub_agent_names_the_session_that_started_it(tmp_path):
    statement = "UPDATE sessions SET session_type = 'sub_agent', parent_session_id = '20261115_0'"
    place = tmp_path / ".local" / "share" / "goose" / "sessions" / "sessions.db"
    place.parent.mkdir(parents=True)

    with changed(place, (statement,)) as session:
        assert session.parent_session == "20261115_0"
        assert GOOSE.home.subagent_of("", session.header) == "20261115_0"
    library = SessionLibrary.everywhere(home=tmp_path, environment={}, agents=["goose"])
    assert not list(library.list())


def test_sessions_of_older_versions_record_no_cost(tmp_path):
    lost = ("cost", "cache_read_tokens", "cache_write_tokens")
    dropped = [(f"ALTER TABLE sessions DROP COLUMN accumulated_{name}",) for name in lost]

    spent = changed(tmp_path / "any.db", *dropped).usage().all.total

    assert (spent.input, spent.output, spent.cache_read, spent.unpriced) == (40, 7, 0, 47)


@pytest.mark.parametrize("column", ["content_json", "metadata_json"])
@pytest.mark.parametrize("value", ["", "{", "[1, 2", '[]}\n{"role":"user"', "a\tb", b"\xff\x00", 5, None])
def test_a_value_that_is_not_json_costs_no_other_message(tmp_path, column, value):
    whole = changed(tmp_path / "whole.db")
    session = changed(tmp_path / "any.db", (f"UPDATE messages SET {column} = ? WHERE id = 4", value))

    other = [(a, b) for a, b in zip(session.entries(), whole.entries(), strict=True) if a != b]

    assert [a.id for a, _ in other] == ["message-4"]
    if column == "content_json":
        assert isinstance(other[0][0], CustomMessage)
        assert other[0][0].content == ()


def test_a_database_without_newer_columns_is_read(tmp_path):
    lost = ("metadata_json", "message_id")
    session = changed(tmp_path / "any.db", *((f"ALTER TABLE messages DROP COLUMN {name}",) for name in lost))

    assert ids(session)[:3] == ["message-1", "message-2", "message-3.0"]
    assert not [entry for entry in session.entries() if isinstance(entry, ContextEdit)]


def test_the_messages_of_a_thread_are_read_if_the_session_has_none(tmp_path):
    session = changed(
        tmp_path / "any.db",
        ("CREATE TABLE thread_messages AS SELECT *, 'thread-1' AS thread_id FROM messages",),
        ("ALTER TABLE sessions ADD COLUMN thread_id TEXT",),
        ("UPDATE sessions SET thread_id = 'thread-1'",),
        ("DELETE FROM messages",),
    )

    assert ids(session)[:3] == ["message-1", "message-2", "message-3.0"]


def test_a_message_is_the_same_in_a_database_and_in_an_older_file(tmp_path):
    stored = changed(tmp_path / "any.db", ("UPDATE messages SET message_id = 'm' || id",))
    connection = sqlite3.connect(tmp_path / "any.db")
    rows = connection.execute(
        "SELECT message_id, role, created_timestamp, content_json, metadata_json FROM messages"
    )
    lines = [
        json.dumps({"id": key, "role": role, "created": time, "content": json.loads(said), "metadata": json.loads(seen)})
        for key, role, time, said, seen in rows
    ]  # fmt: skip
    connection.close()
    about = {"working_dir": "/home/dev/demo", "description": "Count lines", "accumulated_input_tokens": 40}
    path = older_file(tmp_path, json.dumps(about), *lines)

    read = Session.open(path)

    mine = [repr(entry) for entry in read.entries()][: len(lines)]
    theirs = [repr(entry) for entry in stored.entries()][: len(lines)]
    assert mine == [
        one.replace("model='fake-model'", "model=None").replace("provider='fake'", "provider=None")
        for one in theirs
    ]
    assert (read.title, read.cwd) == ("Count lines", "/home/dev/demo")


def test_lines_of_an_older_file_are_numbered_and_damage_is_reported(tmp_path):
    prompt = json.dumps({"role": "user", "created": 1_700_000_000, "content": [text("Hello")]})
    path = older_file(tmp_path, prompt, "", "{damaged", '{"neither": 1}', prompt)

    session = Session.open(path)

    assert [entry.id for entry in session.entries()] == ["message-0", "message-4"]
    assert [finding.kind for finding in session.check().findings] == ["unreadable", "not-an-entry"]


def test_an_answer_with_calls_alone_is_textless_and_an_invalid_call_is_text(tmp_path):
    call = {"status": "success", "value": {"name": "shell", "arguments": None}}
    good = {"type": "toolRequest", "id": "c", "toolCall": call}
    bad = {"type": "toolRequest", "id": "d", "toolCall": {"status": "error", "error": "bad"}}
    lines = [
        json.dumps({"role": "assistant", "created": 1, "content": content})
        for content in ([good], [text(" \n"), good], [bad], [text("Yes"), good], [])
    ]

    session = Session.open(older_file(tmp_path, *lines))

    assert session.transcript.tree.textless == {0, 1, 4}


def test_a_result_names_the_tool_of_its_call(tmp_path):
    session = changed(tmp_path / "any.db")

    messages = [entry.message for entry in session.entries() if isinstance(entry, MessageEntry)]

    assert {one.tool_name for one in messages if isinstance(one, ToolResult)} == {"developer__shell"}


def test_a_list_shows_the_model_of_the_session(tmp_path):
    place = tmp_path / ".local" / "share" / "goose" / "sessions" / "sessions.db"
    place.parent.mkdir(parents=True)
    goose_database(place)
    library = SessionLibrary.everywhere(home=tmp_path, environment={}, agents=["goose"])

    (row,) = library.list(deep=True)

    assert (row.provider, row.model, row.title, row.messages) == ("fake", "fake-model", "Count lines", 6)


@pytest.mark.parametrize("statement", ["SELECT 1", "DELETE FROM messages"])
def test_one_session_of_a_database_has_the_version_that_the_list_has(tmp_path, statement):
    changed(tmp_path / "any.db", (statement,))
    connection = sqlite3.connect(tmp_path / "any.db")
    connection.text_factory = bytes
    database = GOOSE.database

    def query(sql: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        return iter(connection.execute(sql, values))

    assert database is not None

    assert [database.session(query, KEY)] == list(database.sessions(query))
    assert database.session(query, "none") is None
    assert list(database.ids(query)) == [KEY]


def test_opening_a_database_loads_no_format_of_another_agent(tmp_path):
    goose_database(tmp_path / "any.db")
    code = (
        "import sys, branchline; branchline.Session.open(sys.argv[1]);"
        "print([name for name in sys.modules if name.startswith('branchline.formats.') and name.endswith('.database')])"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "any.db")], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "['branchline.formats.goose.database']"
