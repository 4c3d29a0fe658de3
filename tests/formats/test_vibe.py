"""Sessions of Mistral Vibe: a folder of files that are read as one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from branchline import BranchlineError, NotASession, Session, SessionLibrary
from branchline.entries import (
    AssistantMessage,
    CustomMessage,
    Image,
    MessageEntry,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UsageEntry,
    UserMessage,
)
from formats.vibe_kit import ID, MESSAGES, META, text, write_session
from robustness.field_trials import VALUES
from support import CORPUS

UNIFIED = Path(".vibe", "logs", "session", "unified")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / UNIFIED / ID


def library(home: Path, **environment: str) -> SessionLibrary:
    return SessionLibrary.everywhere(home=home, environment=environment, agents=["vibe"])


def texts(path: Path) -> list[str]:
    with Session.open(path) as session:
        found = [entry.message for entry in session.entries() if isinstance(entry, MessageEntry)]
    return [block.text for message in found for block in message.content if isinstance(block, Text)]


def test_the_lines_in_the_corpus_are_those_that_its_session_is_read_as():
    with Session.open(CORPUS / "vibe" / "logs" / "session" / "unified" / ID / "CURRENT") as session:
        lines = session.transcript.bytes_between(0, None)

    assert lines == (CORPUS / "vibe" / "joined.jsonl").read_bytes()


def test_messages_calls_and_results_are_read_in_order(folder):
    with Session.open(write_session(folder)) as session:
        entries = list(session.entries())

    said = [entry.message for entry in entries if isinstance(entry, MessageEntry)]
    assert [type(message) for message in said] == [
        UserMessage, AssistantMessage, ToolResult, ToolResult, AssistantMessage,
        UserMessage, AssistantMessage, ToolResult, AssistantMessage,
    ]  # fmt: skip
    assert said[0].content == (
        Text(text="Count the lines of a.txt."),
        Image(data="aGk=", mime_type="image/png"),
    )
    thinking, words, first, second = said[1].content
    assert thinking == Thinking(thinking="Count\nthem.")
    assert words == Text(text="I look.")
    assert first == ToolCall(id="call1", name="bash", arguments={"command": "wc -l a.txt"})
    assert second == ToolCall(id="call2", name="read", arguments={"path": "b.txt"})
    assert [(one.tool_call_id, one.tool_name, one.is_error) for one in said[2:4]] == [
        ("call1", "bash", False),
        ("call2", "read", True),
    ]
    assert said[6].content == (ToolCall(id="call3", name="bash", arguments={}),)  # its arguments are no JSON
    assert [entry.parent for entry in entries] == [None, *(entry.id for entry in entries[:-1])]


def test_what_the_program_puts_into_a_conversation_is_sent_but_was_not_said_by_the_user(folder):
    with Session.open(write_session(folder)) as session:
        (injected,) = [entry for entry in session.entries() if isinstance(entry, CustomMessage)]
        sent = str(session.context())

    assert injected.content == (Text(text="The file changed."),)
    assert "The file changed." in sent


def test_the_tokens_of_a_session_are_one_record_without_those_from_the_cache_in_the_input(folder):
    with Session.open(write_session(folder)) as session:
        last = list(session.entries())[-1]

    assert isinstance(last, UsageEntry)
    assert last.model == "devstral-latest"
    assert last.usage is not None
    assert (last.usage.input, last.usage.output, last.usage.cache_read) == (600, 60, 300)


def test_title_directory_and_times_come_from_the_description_beside_the_session(folder):
    with Session.open(write_session(folder)) as session:
        header, title = session.header, session.title

    assert title == "Counting"
    assert (header.id, header.cwd) == (ID, "/home/dev/acme")
    assert header.timestamp == META["start_time"]
    assert header.metadata == {"gitBranch": "main"}


@pytest.mark.parametrize(
    ("meta", "title"),
    [(None, "From the projection"), ({"title": None}, "From the projection"), ({"title": "Named"}, "Named")],
)
def test_a_session_without_a_title_in_its_description_has_the_one_that_the_program_shows(folder, meta, title):
    with Session.open(write_session(folder, meta=meta)) as session:
        assert session.title == title


def test_a_checkpoint_that_holds_its_messages_itself_is_read_the_same(folder, tmp_path):
    pooled = texts(write_session(folder))

    whole = texts(write_session(tmp_path / "unified" / "older", pooled=False, minor=1))

    assert whole == pooled


def test_the_newest_generation_is_read_when_the_program_goes_on(folder):
    current = write_session(folder, MESSAGES[:5])
    with Session.open(current) as session:
        before = len(session.index.keys)
    write_session(folder, MESSAGES, generation=8)

    with Session.open(current) as session:
        after = len(session.index.keys)

    assert (before, after) == (6, 11)


def test_sessions_are_found_at_home_and_where_the_variable_says(tmp_path):
    write_session(tmp_path / UNIFIED / "one")
    write_session(tmp_path / "elsewhere" / "logs" / "session" / "unified" / "two")

    at_home = library(tmp_path).list().rows
    named = library(tmp_path, VIBE_HOME=str(tmp_path / "elsewhere")).list().rows
    below = library(tmp_path, VIBE_HOME="~/elsewhere").list().rows

    assert [row.id for row in at_home] == ["one"]
    assert [row.id for row in named] == [row.id for row in below] == ["two"]


def test_sub_agents_are_kept_out_of_lists_and_forks_are_not(tmp_path):
    def born(kind: str) -> dict[str, Any]:
        return {"kind": kind, "parent_session_id": "main"}

    write_session(tmp_path / UNIFIED / "main")
    write_session(tmp_path / UNIFIED / "fork", identity=born("fork"))
    write_session(tmp_path / UNIFIED / "helper", identity=born("subagent"))

    rows = library(tmp_path).list().rows

    assert {(row.id, row.parent_session) for row in rows} == {("main", None), ("fork", "main")}


def test_a_chunk_that_is_missing_or_damaged_costs_its_messages_and_is_reported(folder):
    current = write_session(folder, size=2)
    chunks = json.loads((folder / "generations" / f"{7:016}" / "manifest.json").read_bytes())["checkpoint"][
        "chunks"
    ]
    (folder / "chunks" / f"{chunks[0]}.json").unlink()
    (folder / "chunks" / f"{chunks[1]}.json").write_bytes(b'[{"message":')

    with Session.open(current) as session:
        found = [finding.message for finding in session.check().findings]
    left = texts(current)

    assert left == ["It has three lines.", "A limerick, please.", "A limerick."]
    assert any("missing" in message for message in found)
    assert any("damaged" in message for message in found)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("store_format_minor", 11, "newer Mistral Vibe"),
        ("store_format", "another/v1", "unsupported format"),
        ("generation", "../../../../etc", "does not name a generation"),
        ("generation", "0000000000000099", "manifest is missing"),
    ],
)
def test_a_session_that_cannot_be_read_is_refused_with_a_sentence(folder, name, value, sentence):
    current = write_session(folder)
    current.write_text(json.dumps({**json.loads(current.read_bytes()), name: value}))

    with pytest.raises(NotASession, match=sentence):
        Session.open(current)


def test_no_file_outside_the_folder_of_a_session_is_read(folder, tmp_path):
    current = write_session(folder)
    outside = tmp_path / UNIFIED / "secret.json"
    outside.write_text(json.dumps({"context": {"messages": [MESSAGES[0]]}}))
    manifest = folder / "generations" / f"{7:016}" / "manifest.json"
    fields = json.loads(manifest.read_bytes())
    manifest.write_text(json.dumps({**fields, "checkpoint": {"path": "../../../secret.json"}}))
    by_path = texts(current)
    manifest.write_text(json.dumps({**fields, "checkpoint": {"chunks": ["../../secret"]}}))
    by_chunk = texts(current)

    assert by_path == by_chunk == []


def test_a_chunk_that_is_named_many_times_is_read_once(folder):
    path = write_session(folder)
    known = texts(path)
    [manifest] = folder.glob("generations/*/manifest.json")
    fields = json.loads(manifest.read_text())
    fields["checkpoint"]["chunks"] *= 50_000

    manifest.write_text(json.dumps(fields))

    assert texts(path) == known


def test_other_sessions_are_listed_beside_one_that_is_damaged(tmp_path):
    write_session(tmp_path / UNIFIED / "good")
    write_session(tmp_path / UNIFIED / "half").write_bytes(b'{"store_format":"mistral')

    rows = {row.key: row for row in library(tmp_path).list(deep=True).rows}

    assert (rows["good"].title, rows["good"].problem) == ("Counting", None)
    assert "incomplete or damaged" in (rows["half"].problem or "")


def test_a_value_that_does_not_belong_there_makes_no_file_of_a_session_crash(folder):
    """Every field of every file but the messages, which the trials of joined lines cover."""
    current = write_session(folder, MESSAGES[:3])
    generation = folder / "generations" / f"{7:016}"
    opened = 0

    for file in (current, folder / "meta.json", *sorted(generation.glob("*.json"))):
        good = file.read_bytes()
        for number, place in enumerate(places(json.loads(good))):
            for value in list(VALUES.values())[number % 5 :: 5]:
                file.write_bytes(replaced(good, place, value))
                try:
                    with Session.open(current) as session:
                        assert len(list(session.entries())) == len(session.index.keys)
                        assert session.title is None or isinstance(session.title, str)
                        opened += 1
                except BranchlineError:
                    pass
        file.write_bytes(good)

    assert opened > 100


def places(value: Any, inside: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = [inside]
    if isinstance(value, dict):
        for key, one in value.items():
            found += places(one, (*inside, key))
    return found


def replaced(data: bytes, place: tuple[str, ...], value: str) -> bytes:
    root = json.loads(data)
    if not place:
        return value.encode("utf-8", "surrogatepass")
    at = root
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = "\ue000"
    return json.dumps(root, ensure_ascii=False).replace('"\ue000"', value).encode("utf-8", "surrogatepass")


def test_a_compacted_conversation_holds_what_the_model_still_sees(folder):
    """The messages as the program's core left them after a compaction."""

    def kept(source: str, words: str, role: str = "user") -> Any:
        return {"message": {"role": role, "content": [text(words)]}, "source": source, "turn_index": 0}

    messages = [
        kept("injection", "You are continuing.\n\n<previous_user_messages>"),
        kept("history", "How many lines?"),
        kept(
            "injection",
            "</previous_user_messages>\n\n<compaction_summary>\nThey counted.\n</compaction_summary>",
        ),
        kept("history", "Three.", "assistant"),
    ]

    with Session.open(write_session(folder, messages, meta={})) as session:
        types = [type(entry) for entry in session.entries()]
        said = texts(folder / "CURRENT")
        sent = [message.role for message in session.context().messages]

    assert types == [CustomMessage, MessageEntry, CustomMessage, MessageEntry, UsageEntry]
    assert said == ["How many lines?", "Three."]
    assert len(sent) == 4


def test_an_answer_without_readable_text_is_textless(folder):
    """Texts are decoded only here, so each of them may be of any type."""
    contents: list[Any] = [
        [text("Yes")],
        [text(" \n")],
        [{"type": "text", "text": 5}],
        [{"type": "text", "text": None}],
        [text("half a character")],
        [{"type": "reasoning", "text": "Hm"}],
        [],
    ]
    messages = [
        {"message": {"role": "assistant", "content": content}, "source": "history", "turn_index": 0}
        for content in contents
    ]
    path = write_session(folder, messages)
    for chunk in (folder / "chunks").iterdir():
        chunk.write_bytes(chunk.read_bytes().replace(b"half a character", rb"\ud800"))

    with Session.open(path) as session:
        textless = session.transcript.tree.textless

    assert textless == {1, 2, 3, 5, 6}
