"""Threads of llm: whatever the order of the rows and the values in them, each thread is read whole."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from branchline import Session
from branchline.entries import Entry, Image, MessageEntry, Text, message_text
from branchline.formats import BUILTIN_FORMATS
from formats.database_kit import DATABASES, llm_database

Message = tuple[Any, Any, str]
"""Hash, hash of the parent, text. The roles alternate."""
FORMATS = {program.name: program for program in BUILTIN_FORMATS}


def database(path: Path, messages: Iterable[Message], tip: Any, **turns: Any) -> str:
    """A log with one thread; returns the path of its session."""
    llm_database(path)
    connection = sqlite3.connect(path)
    for table in ("messages", "parts", "threads", "turns"):
        connection.execute(f"DELETE FROM {table}")
    for number, (name, parent, text) in enumerate(messages):
        role = "assistant" if number % 2 else "user"
        connection.execute("INSERT INTO messages VALUES (?, ?, ?, NULL)", (name, parent, role))
        part = (name, 0, "text", None, text, None)
        connection.execute("INSERT INTO parts VALUES (NULL, ?, ?, ?, ?, ?, ?)", part)
    connection.execute("INSERT INTO threads VALUES ('t', NULL, ?, NULL, '2026-11-15 22:00:00+00:00')", (tip,))
    for name, end in turns.items():
        turn = (name, "t", end, "fake", None, 10, 3, None, f"2026-11-15T22:0{name[1:]}:00.000000+00:00")
        connection.execute("INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", turn)
    connection.commit()
    connection.close()
    return f"{path}#t"


def changed(path: Path, sql: str, *values: Any) -> None:
    connection = sqlite3.connect(path)
    connection.execute(sql, values)
    connection.commit()
    connection.close()


def texts(entries: Iterable[Entry]) -> list[str]:
    return [message_text(entry.message, " ") for entry in entries if isinstance(entry, MessageEntry)]


def one_by_one(session: Session) -> list[str]:
    return [repr(session.entry(key)) for key in session.index.keys]


@pytest.mark.parametrize("others", [0, 3, 40])
@pytest.mark.parametrize("is_reversed", [False, True])
def test_a_thread_is_read_whole_however_many_messages_of_others_are_between_its_own(
    tmp_path, others, is_reversed
):
    path: list[Message] = [(f"m{number}", f"m{number - 1}" if number else None, "x") for number in range(90)]
    foreign = [[(f"o{number}/{other}", None, "other") for other in range(others)] for number in range(90)]
    if is_reversed:
        path.reverse()
    rows = [row for own, between in zip(path, foreign, strict=True) for row in (own, *between)]

    session = Session.open(database(tmp_path / "any.db", rows, "m89", u1="m1", u2="m89"))

    assert list(session.index.keys) == [f"m{number}" for number in range(90)]
    assert session.path() == list(session.index.keys)
    assert [entry.timestamp[14:16] for entry in session.entries(["m0", "m1", "m2", "m89"])] == [
        "01",
        "01",
        "02",
        "02",
    ]


@pytest.mark.parametrize("place", [0, 15, 16, 100, 298, 299])
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE messages SET role = NULL WHERE hash = ?",
        "UPDATE messages SET role = 'user,assistant' WHERE hash = ?",
        "UPDATE messages SET role = 5 WHERE hash = ?",
        "UPDATE messages SET rowid = rowid + 1000 WHERE hash = ?",
        "INSERT INTO messages (rowid, hash, role) SELECT 5000 + rowid, NULL, NULL FROM messages WHERE hash <> ?",
    ],
)
def test_an_unusual_row_harms_no_other_message_of_a_long_thread(tmp_path, statement, place):
    rows: list[Message] = [(f"m{number}", f"m{number - 1}" if number else None, "x") for number in range(300)]
    path = database(tmp_path / "any.db", rows, "m299", u1="m299")
    changed(tmp_path / "any.db", statement, f"m{place}")

    session = Session.open(path)

    assert session.path() == [f"m{number}" for number in range(300)]


@pytest.mark.parametrize("count", [15, 16, 17, 48, 300])
def test_a_thread_whose_first_message_names_a_missing_parent_is_read_whole(tmp_path, count):
    rows: list[Message] = [(f"m{number}", f"m{number - 1}", "x") for number in range(count)]
    tip = f"m{count - 1}"

    session = Session.open(database(tmp_path / "any.db", rows, tip, u1=tip))

    assert session.path() == [f"m{number}" for number in range(count)]


def test_names_with_commas_are_those_of_one_message(tmp_path):
    names = [f"m{number},m{number + 500}" for number in range(100)]
    rows: list[Message] = [(name, above, "x") for name, above in zip(names, [None, *names], strict=False)]

    session = Session.open(database(tmp_path / "any.db", rows, names[-1], u1=names[-1]))

    assert session.path() == names


def test_a_parent_without_a_name_is_not_the_end_of_a_thread(tmp_path):
    names = ["top", "", *[f"m{number}" for number in range(30)]]
    rows: list[Message] = [(name, above, "x") for name, above in zip(names, [None, *names], strict=False)]

    session = Session.open(database(tmp_path / "any.db", rows, "m29", u1="m29"))

    assert len(session.path()) == len(names)


def test_a_message_that_is_its_own_ancestor_ends_the_path(tmp_path):
    rows: list[Message] = [("m0", "m2", "zero"), ("m1", "m0", "one"), ("m2", "m1", "two")]

    session = Session.open(database(tmp_path / "any.db", rows, "m2"))

    assert texts(session.entries()) == ["zero", "one", "two"]
    assert session.path() == ["m0", "m1", "m2"]


def test_a_message_whose_parent_is_missing_is_a_root(tmp_path):
    rows: list[Message] = [("m1", "gone", "one"), ("m2", "m1", "two")]

    session = Session.open(database(tmp_path / "any.db", rows, "m2", u1="m2"))

    assert session.path() == ["m1", "m2"]
    assert session.check().status == "clean"


def test_answers_of_other_turns_are_branches_and_the_tip_of_the_thread_is_the_leaf(tmp_path):
    rows: list[Message] = [("m0", None, "a"), ("m1", "m0", "b"), ("m2", "m0", "c"), ("m3", "m2", "d")]

    session = Session.open(database(tmp_path / "any.db", rows, "m1", u1="m1", u2="m3"))

    assert session.leaf == "m1"
    assert session.children("m0") == ["m1", "m2"]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1",
        "UPDATE parts SET id = 100 - id",
        "UPDATE parts SET id = 100 + position WHERE message_hash = 'm1'",
        "UPDATE parts SET id = 100 WHERE message_hash = 'm1' AND position = 1",
        "INSERT INTO parts VALUES (NULL, 'm3', 0, 'text', NULL, 'of another message', NULL)",
    ],
)
def test_parts_belong_to_their_messages_wherever_they_are_in_the_table(tmp_path, statement):
    path = tmp_path / "any.db"
    address = database(path, [(f"m{n}", f"m{n - 1}" if n else None, f"text {n}") for n in range(3)], "m2")
    for number in (1, 2):
        changed(
            path, "INSERT INTO parts VALUES (?, 'm1', ?, 'text', NULL, 'more', NULL)", 10 + number, number
        )
    changed(path, "UPDATE parts SET id = 20 WHERE message_hash = 'm2'")
    changed(path, statement)

    assert texts(Session.open(address).entries()) == ["text 0", "text 1 more more", "text 2"]


def test_a_message_with_many_parts_is_read_whole(tmp_path):
    path = tmp_path / "any.db"
    address = database(path, [("m0", None, "text 0"), ("m1", "m0", "text 1")], "m1")
    for number in range(1, 60):
        changed(path, "INSERT INTO parts VALUES (NULL, 'm1', ?, 'text', NULL, ?, NULL)", number, f"p{number}")

    said = " ".join(f"p{number}" for number in range(1, 60))
    assert texts(Session.open(address).entries()) == ["text 0", f"text 1 {said}"]


@pytest.mark.parametrize("name", ['quote"', "back\\slash", "tab\t", "é", "line\nend"])
def test_hashes_of_any_characters_name_their_entries(tmp_path, name):
    rows: list[Message] = [(name, None, "a"), (f"{name}2", name, "b")]

    session = Session.open(database(tmp_path / "any.db", rows, f"{name}2", u1=f"{name}2"))

    assert session.path() == [name, f"{name}2"]


def test_texts_are_those_of_the_database_whatever_characters_they_have(tmp_path):
    said = 'a\tb\nc\r"d"\\ \x00\x1b[1m\x7f\u2028é 🌏'
    rows: list[Message] = [("m0", None, said), ("m1", "m0", "broken")]
    path = tmp_path / "any.db"
    address = database(path, rows, "m1", u1="m1")
    changed(path, "UPDATE parts SET text = CAST(x'61ff62' AS TEXT) WHERE message_hash = 'm1'")

    session = Session.open(address)

    assert texts(session.entries()) == [said, "a�b"]
    assert one_by_one(session) == list(map(repr, session.entries()))


@pytest.mark.parametrize("value", ["half {", "\n{\t}\n", "]]}", b"\xff", 7, "", '{"name": NaN}'])
def test_a_payload_that_is_not_json_costs_itself_only(tmp_path, value):
    path = tmp_path / "any.db"
    session_id = llm_database(path)
    before = list(map(repr, Session.open(f"{path}#{session_id}").entries()))
    changed(path, "UPDATE parts SET payload = ? WHERE message_hash = 'b2:3' AND position = 0", value)

    session = Session.open(f"{path}#{session_id}")
    after = list(map(repr, session.entries()))

    assert [new for old, new in zip(before, after, strict=True) if new != old] == [after[3]]
    assert session.entry("b2:3.1").message.role == "toolResult"
    assert one_by_one(session) == after


@pytest.mark.parametrize(
    "payload",
    ['1]],"parts":[],"zz":[["', '1]],"shape":"rrrr","zz":[["', "1],[2", '1]],"message":null,"zz":[["'],
)
def test_a_payload_that_closes_the_list_of_parts_is_no_crash(tmp_path, payload):
    path = database(tmp_path / "any.db", [("a", None, "x"), ("b", "a", "y")], "b", u1="b")
    changed(
        tmp_path / "any.db",
        "UPDATE parts SET type = 'tool_result', text = NULL, payload = ? WHERE message_hash = 'a'",
        payload,
    )

    session = Session.open(path)

    assert one_by_one(session)
    assert session.context().messages
    assert "b" in session.path()


def test_what_a_message_says_beside_tool_results_follows_them(tmp_path):
    path = tmp_path / "any.db"
    session_id = llm_database(path)
    result = json.dumps({"name": "look", "output": "seen", "attachments": [{"id": "picture"}]})
    insert = "INSERT INTO parts (message_hash, position, type, text, payload) VALUES ('b2:4', ?, ?, ?, ?)"
    changed(path, insert, 1, "tool_result", None, result)

    session = Session.open(f"{path}#{session_id}")

    assert session.path()[-2:] == ["b2:4", "b2:4.said"]
    seen, said = session.entries(session.path()[-2:])
    assert [type(block) for block in seen.message.content] == [Text, Image]
    assert message_text(said.message, " ") == "One line."
    assert session.leaf == "b2:4.said"


def test_a_turn_that_repeats_an_answer_is_a_usage_record_of_that_answer(tmp_path):
    rows: list[Message] = [("m0", None, "a"), ("m1", "m0", "b"), ("m2", "m1", "c"), ("m3", "m2", "d")]

    session = Session.open(database(tmp_path / "any.db", rows, "m3", u1="m1", u2="m1", u3="m3"))

    assert [(entry.id, entry.type) for entry in session.entries()] == [
        ("m0", "message"),
        ("m1", "message"),
        ("u2/usage", "usage"),
        ("m2", "message"),
        ("m3", "message"),
    ]
    assert session.entry("u2/usage").parent == "m1"
    assert session.usage().all.total.input == 30


@pytest.mark.parametrize("last", ["m2", "m3"])
def test_a_call_that_the_model_did_not_answer_is_a_usage_record_of_the_prompt(tmp_path, last):
    rows: list[Message] = [("m0", None, "a"), ("m1", "m0", "b"), ("m2", "m1", "c"), ("m3", "m2", "d")]
    turns = {"u1": "m1", "u2": "m2"} | ({"u3": "m3"} if last == "m3" else {})
    path = tmp_path / "any.db"
    address = database(path, rows, last, **turns)
    changed(path, "ALTER TABLE turns ADD COLUMN parent_message_hash TEXT")
    changed(path, "UPDATE turns SET parent_message_hash = iif(id = 'u2', 'm2', 'm0')")

    session = Session.open(address)

    assert session.path() == ["m0", "m1", "m2", "m3"][: len(turns) + 1]
    assert session.entry("u2/usage").parent == "m2"
    assert session.usage().all.total.input == 10 * len(turns)


def prompt_of(path: Path, session_id: str) -> tuple[str, list[bool]]:
    """The text of the one prompt with attachments or fragments, and which of its other blocks are images."""
    with Session.open(f"{path}#{session_id}") as session:
        (prompt,) = (
            entry.message
            for entry in session.entries()
            if isinstance(entry, MessageEntry)
            and entry.message.role == "user"
            and any(word in str(entry.message) for word in ("fragment", "image"))
        )
    return message_text(prompt, ""), [
        isinstance(block, Image) for block in prompt.content if not isinstance(block, Text)
    ]


def test_a_log_does_not_expand_to_a_huge_session(tmp_path, monkeypatch):
    """Once 3 MB of a log became 100 GB of text in memory: a fragment may be named any number of times."""
    monkeypatch.setattr("branchline.formats.llm.stored_values._MOST_REPEATED", 3_000)
    path, older = tmp_path / "logs.db", tmp_path / "older.db"
    threads, conversations = DATABASES["llm"](path), DATABASES["llm, older"](older)
    for one in (path, older):
        changed(one, "UPDATE fragments SET content = ?", "fragment " * 100)
    references = json.dumps({"text_ref": [{"fragment": 1}] * 50})
    changed(path, "UPDATE parts SET payload = ? WHERE payload LIKE '%text_ref%'", references)
    for _ in range(49):
        changed(older, "INSERT INTO prompt_fragments VALUES ('r3', 1, 0)")
        changed(older, "INSERT INTO prompt_attachments VALUES ('r3', 'picture', 0)")
    changed(older, "UPDATE attachments SET content = zeroblob(1000)")
    changed(older, "DELETE FROM prompt_fragments WHERE response_id = 'r1'")

    text, blocks = prompt_of(path, threads)
    older_text, older_blocks = prompt_of(older, conversations)

    assert text == "fragment " * 500 + "[fragment 1 again]" * 45
    assert blocks == [True]
    assert (older_text.count("fragment "), older_text.count("again]")) == (500 + 44, 44)
    assert older_blocks == [True, *[False] * 49]


@pytest.mark.parametrize("kind", DATABASES)
def test_the_table_by_which_a_format_is_chosen_is_one_that_its_databases_have(kind, tmp_path):
    DATABASES[kind](tmp_path / "any.db")
    program = FORMATS[kind.partition(",")[0]]
    with sqlite3.connect(tmp_path / "any.db") as connection:
        rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        tables = {name for (name,) in rows}
    connection.close()

    assert program.database_table in tables


def test_opening_a_log_of_llm_loads_no_format_of_another_database(tmp_path):
    session_id = llm_database(tmp_path / "any.db")
    code = (
        "import sys; from branchline import Session; Session.open(sys.argv[1]);"
        "print([name for name in sys.modules if 'opencode' in name or 'goose' in name])"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, f"{tmp_path / 'any.db'}#{session_id}"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "[]\n"
