"""Cells of the table of programs that no test of a single program checks: live follow and cost."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from branchline import AssistantMessage, LogReplaced, Session
from branchline.actions.format_support import supported_formats
from branchline.entries import MessageEntry, UsageEntry, message_text
from branchline.formats import EntryLog
from formats.conversion_kit import read, samples
from formats.database_kit import DATABASES
from formats.vibe_kit import ID, MESSAGES, text, write_session
from support import CORPUS

TABLE = {row.name: row for row in supported_formats()}
ZERO = {"operator"}
"""Programs with a field for the cost that they leave at zero; what is converted for them has a cost there."""
LINES = [name for name, row in TABLE.items() if "lines" in row.read]
DOCUMENTS = {
    "cline": "data/sessions/1772600000000_ab1cd/1772600000000_ab1cd.messages.json",
    "vibe": "logs/session/unified/7b1de000-5555-4a6b-9c3d-000000000005/CURRENT",
}


def logs_of(program: str, tmp_path: Path) -> Iterator[EntryLog]:
    """Sessions of a program, however it stores them."""
    if program in DATABASES:
        place = tmp_path / "sessions.db"
        addresses = [f"{place}#{DATABASES[program](place)}"]
    elif program in DOCUMENTS:
        addresses = [str(CORPUS / program / DOCUMENTS[program])]
    else:
        yield from (read(path.read_bytes(), name=str(path)) for path in samples(program))
        return
    for address in addresses:
        with Session.open(address) as session:
            yield session.transcript


def recorded_cost(log: EntryLog) -> float:
    total = 0.0
    for entry in log.iter_entries(range(len(log.tree))):
        usage = entry.usage if isinstance(entry, UsageEntry) else None
        if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage):
            usage = entry.message.usage
        total += 0 if usage is None or usage.cost is None else usage.cost.total or 0
    return total


@pytest.mark.parametrize("program", [name for name in TABLE if name not in ZERO])
def test_programs_record_what_answers_cost_where_the_table_says_so(program, tmp_path):
    recorded = sum(map(recorded_cost, logs_of(program, tmp_path)))

    assert (recorded > 0) == (TABLE[program].cost == "recorded")


@pytest.mark.parametrize("program", LINES)
def test_lines_that_a_program_adds_are_there_after_a_refresh(program, tmp_path):
    sample = max(samples(program), key=lambda path: path.stat().st_size)
    lines = sample.read_bytes().splitlines(keepends=True)
    place = tmp_path / sample.relative_to(CORPUS)
    place.parent.mkdir(parents=True)
    place.write_bytes(b"".join(lines[: len(lines) // 2]))

    with Session.open(place) as session, Session.open(sample) as whole:
        before = len(session.entries())
        with place.open("ab") as file:
            file.writelines(lines[len(lines) // 2 :])
        session.refresh()

        assert before < len(session.entries())
        assert session.index.keys == whole.index.keys
    assert TABLE[program].followed == "yes"


def _in_cline(folder: Path) -> tuple[str, Callable[[], object]]:
    path = folder / DOCUMENTS["cline"]
    shutil.copytree(CORPUS / "cline" / "data", folder / "data")

    def add() -> None:
        document = json.loads(path.read_text())
        document["messages"].append({"id": "u9", "role": "user", "content": "Added.", "ts": 1772600009000})
        path.write_text(json.dumps(document))

    return str(path), add


def _in_vibe(folder: Path) -> tuple[str, Callable[[], object]]:
    place = folder / "logs" / "session" / "unified" / ID
    added = {"message": {"role": "user", "content": [text("Added.")]}, "source": "history", "turn_index": 2}
    current = write_session(place)
    return str(current), lambda: write_session(place, [*MESSAGES, added], generation=8)


ADDED = {
    "opencode": """
        INSERT INTO message VALUES ('msg_z', '{id}', 1900000000000, 1900000000000,
            '{{"role":"user","time":{{"created":1900000000000}}}}');
        INSERT INTO part VALUES ('prt_z', 'msg_z', '{id}', 1900000000000, 1900000000000,
            '{{"type":"text","text":"Added."}}');
    """,
    "llm": """
        INSERT INTO messages VALUES ('b2:9', 'b2:4', 'user', NULL);
        INSERT INTO parts (message_hash, position, type, text) VALUES ('b2:9', 0, 'text', 'Added.');
        UPDATE threads SET tip_message_hash = 'b2:9' WHERE id = '{id}';
    """,
    "goose": """
        INSERT INTO messages (session_id, role, content_json, created_timestamp, metadata_json) VALUES
            ('{id}', 'user', '[{{"type":"text","text":"Added."}}]', 1900000000,
            '{{"userVisible":true,"agentVisible":true}}');
    """,
}
"""What the programs do when a prompt is added."""


def _in_database(program: str, folder: Path) -> tuple[str, Callable[[], object]]:
    path = folder / "sessions.db"
    session_id = DATABASES[program](path)

    def add() -> None:
        with sqlite3.connect(path) as connection:
            connection.executescript(ADDED[program].format(id=session_id))

    return f"{path}#{session_id}", add


@pytest.mark.parametrize("program", sorted(TABLE.keys() - set(LINES)))
def test_what_a_program_adds_to_documents_and_databases_is_there_when_they_are_read_again(program, tmp_path):
    documents = {"cline": _in_cline, "vibe": _in_vibe}
    address, add = documents[program](tmp_path) if program in documents else _in_database(program, tmp_path)
    with Session.open(address) as session:
        assert "Added." not in said(session)

        add()

        try:
            session.refresh()
            assert "Added." in said(session)
        except LogReplaced:  # something else changed with it, as views of a live session expect
            pass
    with Session.open(address) as session:
        assert "Added." in said(session)
    assert TABLE[program].followed == "read again"


def said(session: Session) -> list[str]:
    entries = [entry for entry in session.entries() if isinstance(entry, MessageEntry)]
    return [message_text(entry.message) for entry in entries]
