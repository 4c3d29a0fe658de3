"""Documents that lie anywhere, with any name: their content tells which agent they are from."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from branchline import NotASession, Session
from branchline.entries import MessageEntry, ToolResult, message_text
from formats.database_kit import opencode_database


def exported(database: Path) -> dict[str, Any]:
    """What ``opencode export`` prints for the only session of a database."""
    connection = sqlite3.connect(database)
    (row,) = connection.execute(
        "SELECT id, directory, title, version, revert, time_created, time_updated FROM session"
    )
    messages = []
    for message_id, data in connection.execute("SELECT id, data FROM message ORDER BY id").fetchall():
        parts = connection.execute("SELECT id, data FROM part WHERE message_id = ? ORDER BY id", [message_id])
        messages.append(
            {
                "info": {**json.loads(data), "id": message_id, "sessionID": row[0]},
                "parts": [{**json.loads(part), "id": name, "messageID": message_id} for name, part in parts],
            }
        )
    connection.close()
    info = dict(zip(("id", "directory", "title", "version"), row[:4], strict=True))
    info |= {"revert": json.loads(row[4]), "time": {"created": row[5], "updated": row[6]}}
    return {"info": info, "messages": messages}


def said(session: Session) -> list[tuple[str, str]]:
    messages = [entry.message for entry in session.entries(session.path()) if isinstance(entry, MessageEntry)]
    return [(message.role, message_text(message)) for message in messages]


def results(session: Session) -> list[ToolResult]:
    return [item.message for item in session.context().messages if isinstance(item.message, ToolResult)]


@pytest.mark.parametrize("name", ["export.json", "full.jsonl", "talk"])
@pytest.mark.parametrize("indent", [None, 2])
def test_an_opencode_export_is_the_session_of_the_database(tmp_path, name, indent):
    session_id = opencode_database(tmp_path / "any.db")
    (tmp_path / name).write_text(
        "\ufeff" * (indent == 2) + json.dumps(exported(tmp_path / "any.db"), indent=indent)
    )

    stored = Session.open(f"{tmp_path / 'any.db'}#{session_id}")
    found = Session.open(tmp_path / name)

    assert found.format == "opencode"
    assert (found.id, found.title, found.cwd) == (stored.id, stored.title, stored.cwd)
    assert found.path() == stored.path()
    assert found.entries(found.index.keys) == stored.entries(stored.index.keys)
    assert found.usage() == stored.usage()
    assert not found.findings


def test_an_opencode_export_with_redacted_ids_keeps_every_message_and_part(tmp_path):
    opencode_database(tmp_path / "any.db")
    document = exported(tmp_path / "any.db")
    del document["info"]["revert"]
    whole, redacted = tmp_path / "whole.json", tmp_path / "redacted.json"
    whole.write_text(json.dumps(document))
    for message in document["messages"]:
        for one in (message["info"], *message["parts"]):
            one["id"] = "REDACTED"
            if "callID" in one:
                one["callID"] = "REDACTED"
    redacted.write_text(json.dumps(document))

    session, kept = Session.open(redacted), Session.open(whole)

    assert session.index.types == kept.index.types
    assert said(session) == said(kept)
    assert len({result.tool_call_id for result in results(session)}) == len(results(kept))
    assert not session.findings


def test_an_opencode_export_with_odd_values_loses_only_those(tmp_path):
    document = {
        "info": {"id": "ses_1", "projectID": "p", "title": 7, "time": "today"},
        "messages": [
            {"info": {"id": "msg_1", "role": "user"}, "parts": [{"type": "text", "text": "lone \ud800"}, 3]},
            None,
            {"info": "?", "parts": None},
            {"info": {"role": "assistant"}, "parts": [{"type": "text", "text": "Hello"}]},
        ],
    }
    (tmp_path / "a.json").write_text(json.dumps(document))

    assert said(Session.open(tmp_path / "a.json")) == [("user", "lone \ud800"), ("assistant", "Hello")]


def test_a_truncated_export_is_reported(tmp_path):
    opencode_database(tmp_path / "any.db")
    text = json.dumps(exported(tmp_path / "any.db"), indent=2)
    (tmp_path / "a.json").write_text(text[: len(text) // 2])

    with pytest.raises(NotASession, match=r"a\.json is not finished or damaged"):
        Session.open(tmp_path / "a.json")


GEMINI = {
    "sessionId": "11111111-2222-3333-4444-555555555555",
    "projectHash": "abc",
    "startTime": "2026-01-02T03:04:05.000Z",
    "lastUpdated": "2026-01-02T03:05:05.000Z",
    "messages": [
        {"id": "a", "timestamp": "2026-01-02T03:04:06.000Z", "type": "user", "content": "Which tests fail?"},
        {"id": "b", "timestamp": "2026-01-02T03:04:07.000Z", "type": "gemini", "content": "None."},
    ],
    "summary": "Failing tests",
}


@pytest.mark.parametrize("name", ["session.json", "full.jsonl"])
@pytest.mark.parametrize("form", [{}, {"indent": 2}, {"indent": 2, "sort_keys": True}, {"sort_keys": True}])
def test_a_copy_of_a_gemini_document_is_recognized(tmp_path, name, form):
    (tmp_path / name).write_text(json.dumps(GEMINI, **form))

    session = Session.open(tmp_path / name)

    assert (session.format, session.title) == ("gemini", "Failing tests")
    assert said(session) == [("user", "Which tests fail?"), ("assistant", "None.")]


def test_lines_of_gemini_are_no_document_even_if_the_first_is_damaged(tmp_path):
    about = {key: GEMINI[key] for key in ("sessionId", "projectHash", "startTime", "lastUpdated")}
    change = {"$set": {"messages": GEMINI["messages"]}}
    lines = [json.dumps(one, separators=(",", ":")) for one in (about, change)]
    (tmp_path / "whole.jsonl").write_text("\n".join([*lines, ""]))
    (tmp_path / "damaged.jsonl").write_text("\n".join([lines[0][:60], lines[1], ""]))

    assert said(Session.open(tmp_path / "whole.jsonl")) == said(Session.open(tmp_path / "damaged.jsonl"))
    assert len(said(Session.open(tmp_path / "whole.jsonl"))) == 2


@pytest.mark.parametrize(
    "text", ['{"info":{"name":"x"}}', '{"kind":"main","messages":[]}', '{\n"messages":[1]}']
)
def test_other_documents_are_refused(tmp_path, text):
    (tmp_path / "a.json").write_text(text)

    with pytest.raises(NotASession, match="not a session of any known agent"):
        Session.open(tmp_path / "a.json")
