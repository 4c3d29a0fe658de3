"""Operator's older store: a line of metadata and bare messages, read in today's terms and never appended to."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from branchline import Session, SessionLibrary
from branchline.actions.check import check_file
from branchline.actions.import_ import import_file
from branchline.context.providers.anthropic import anthropic
from branchline.entries import AssistantMessage, Text, Thinking, ToolCall, ToolResult, message_text
from branchline.errors import ReadOnly
from branchline.formats import EntryLog, detect
from branchline.formats.operator import OPERATOR
from support import CORPUS

SAMPLE = CORPUS / "operator" / "older" / "sessions" / "20-04-2026" / "telegram_42.jsonl"
LINES = SAMPLE.read_text().splitlines()
HEADER = json.loads(LINES[0])


def store(directory: Path, *lines: object) -> Path:
    path = directory / "sessions" / "20-04-2026" / "a.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text("".join(f"{text}\n" for text in texts))
    return path


def said(session: Session) -> list[tuple[str, str]]:
    return [(item.message.role, message_text(item.message)) for item in session.context().messages]


def texts(session: Session) -> list[tuple[str, str]]:
    """What was said, without system messages and answers without text, which some agents leave out."""
    return [(role, text) for role, text in said(session) if text and role != "system"]


def test_a_file_of_the_older_store_opens_with_every_message():
    session = Session.open(SAMPLE)

    assert (session.transcript.format.name, session.id) == ("operator", "telegram:42")
    assert session.header.timestamp.startswith("2026-04-")
    assert session.header.metadata == {"channel": "telegram"}
    assert said(session) == [
        ("system", "You are Operator."),
        ("user", "list the files"),
        ("assistant", ""),
        ("toolResult", "a.txt\nb.txt"),
        ("assistant", "Two files: a.txt and b.txt."),
        ("assistant", ""),
        ("user", "thanks"),
    ]
    _system, _user, calling, result, answer, unanswered, _last = [
        item.message for item in session.context().messages
    ]
    assert isinstance(calling, AssistantMessage)
    assert isinstance(result, ToolResult)
    assert calling.content == (
        Thinking(thinking="look first", thinking_signature="c2ln"),
        ToolCall(id="call_1", name="terminal", arguments={"command": "ls"}),
    )
    assert (result.tool_call_id, result.tool_name) == ("call_1", "terminal")
    assert unanswered.content == (ToolCall(id="call_2", name="read", arguments={"path": "a.txt"}),)
    assert answer.content == (Text(text="Two files: a.txt and b.txt."),)
    assert (session.usage().all.total.input, session.usage().all.total.output) == (30, 7)
    assert session.usage().all.total.cache_read == 4
    assert check_file(SAMPLE).status == "clean"
    assert anthropic(session.context()).messages


def test_its_entries_have_the_same_ids_on_every_load_and_are_a_straight_line():
    one, other = Session.open(SAMPLE), Session.open(SAMPLE)

    assert one.path() == other.path() == [entry.id for entry in one.entries()]
    assert [entry.parent for entry in one.entries()] == [None, *one.path()[:-1]]


def test_it_is_listed_found_and_searched_with_the_others(tmp_path):
    path = tmp_path / "sessions" / "20-04-2026" / SAMPLE.name
    path.parent.mkdir(parents=True)
    path.write_bytes(SAMPLE.read_bytes())
    library = SessionLibrary(path.parent)

    (row,) = library.list(deep=True)

    assert (row.id, row.first_prompt, row.format, row.findings) == (
        "telegram:42",
        "list the files",
        "operator",
        0,
    )
    assert library.find("telegram:42").path == str(path)
    assert library.open(row.key).id == "telegram:42"


def test_operators_folders_of_days_are_searched(tmp_path):
    for place in ("sessions", "profiles/coder/sessions"):
        path = tmp_path / ".operator" / place / "20-04-2026" / SAMPLE.name
        path.parent.mkdir(parents=True)
        path.write_bytes(SAMPLE.read_bytes())

    rows = SessionLibrary.everywhere(agents=["operator"], environment={}, home=tmp_path).list()

    assert [row.id for row in rows] == ["telegram:42"] * 2


def test_it_is_never_appended_to_and_a_fork_of_it_goes_on(tmp_path):
    path = store(tmp_path, *LINES)
    before = path.read_bytes()
    session = Session.open(path)

    with pytest.raises(ReadOnly, match="older store"):
        session.append_message("more")
    fork = session.fork()
    fork.append_message("more")

    assert path.read_bytes() == before
    assert said(fork) == [*said(session), ("user", "more")]


@pytest.mark.parametrize("target", ["operator", "pi", "branchline", "oh-my-pi", "induscode", "zot", "piglet"])
@pytest.mark.parametrize("same_id", [False, True])
def test_converting_keeps_what_was_said(tmp_path, target, same_id):
    with Session.open(SAMPLE) as session:
        (file,) = session.convert(to=target, output=str(tmp_path / "made"), same_id=same_id).files

    made = Session.open(file.path)

    assert texts(made) == texts(Session.open(SAMPLE))
    assert check_file(made.file).is_sound
    made.append_message("more")


def test_converting_there_and_back_gives_todays_form(tmp_path):
    with Session.open(SAMPLE) as session:
        (native,) = session.convert(to="branchline", output=str(tmp_path / "n.jsonl"), same_id=True).files

    with Session.open(native.path) as session:
        session.append_message("one more")
        (back,) = session.convert(to="operator", output=str(tmp_path / "o.jsonl"), same_id=True).files

    assert said(Session.open(back.path)) == [*said(Session.open(SAMPLE)), ("user", "one more")]
    assert json.loads(Path(back.path).read_text().splitlines()[0])["type"] == "session"


def test_importing_writes_todays_form(tmp_path):
    made = import_file(str(SAMPLE), cwd=str(tmp_path), directory=str(tmp_path / "in"))

    imported = Session.open(made.path)
    assert said(imported) == said(Session.open(SAMPLE))
    assert check_file(made.path).is_sound


def test_what_cannot_be_read_is_a_finding_and_costs_nothing_else(tmp_path):
    path = store(
        tmp_path,
        HEADER,
        {"role": "human", "content": "one"},
        '{"role": "ai", "content": "torn',
        {"role": "robot", "content": "beep"},
        {"role": "ai", "content": {"answer": 42}},
        {"role": "human", "content": ["a", "b"]},
        {"role": "tool", "id": 5, "name": "x", "params": [], "content": "r"},
        {"no": "role"},
        HEADER,
        {"role": "human", "content": "last"},
    )

    session = Session.open(path)

    found = [(finding.kind, finding.line) for finding in session.findings]
    assert found == [
        ("unreadable", 3),
        ("unknown", 4),
        ("bad-value", 6),
        ("bad-value", 7),
        ("not-an-entry", 8),
        ("extra-header", 9),
    ]
    assert [text for role, text in said(session) if role == "user"] == ["one", "ab", "last"]
    assert "42" in json.dumps([session.transcript.raw(n).decode() for n in range(len(session.index))])
    assert len(session.path()) == 7


def test_messages_with_parts_are_read_as_those_of_today(tmp_path):
    call = {"type": "tool_call", "id": "c", "name": "read", "args": {"path": "a"}, "metadata": {}}
    result = {"type": "tool_result", "id": "c", "content": "found", "is_error": False, "metadata": {}}
    path = store(
        tmp_path,
        HEADER,
        {"role": "human", "contents": [{"type": "text", "content": "one"}]},
        {"role": "ai", "contents": [{"type": "text", "content": "two"}, call]},
        {"role": "tool", "contents": [result]},
        {"role": "ai", "contents": [{"type": "text", "content": "three"}, {"type": "new", "x": 1}]},
    )

    session = Session.open(path)

    assert said(session) == [
        ("user", "one"),
        ("assistant", "two"),
        ("toolResult", "found"),
        ("assistant", "three"),
    ]
    assert session.findings == []
    assert anthropic(session.context()).messages[1]["content"][1]["name"] == "read"


def test_a_torn_first_line_leaves_the_messages_in_a_folder_of_a_day(tmp_path):
    path = store(tmp_path, LINES[0][:40], *LINES[1:])

    session = Session.open(path)

    assert said(session) == said(Session.open(SAMPLE))
    assert session.id == "a"
    assert {finding.kind for finding in session.findings} == {"unreadable", "no-header"}


def test_bare_messages_elsewhere_are_not_operators(tmp_path):
    other = tmp_path / "langchain.jsonl"
    other.write_text('{"role": "human", "content": "hi"}\n')

    with pytest.raises(Exception, match="not a session"):
        Session.open(other)
    kimi = b'{"type":"metadata","protocol_version":"1.0","created_at":1700000000000}\n'
    assert detect(kimi, "wire.jsonl").name == "kimi"


def test_a_file_cut_or_changed_anywhere_still_opens_or_says_why():
    data = SAMPLE.read_bytes()
    chance = random.Random(5)

    for _ in range(300):
        changed = bytearray(data[: chance.randrange(len(data))] if chance.random() < 0.4 else data)
        for _ in range(chance.randrange(4)):
            if changed:
                changed[chance.randrange(len(changed))] = chance.randrange(256)
        content = bytes(changed)
        log = EntryLog(OPERATOR, lambda at, size, content=content: content[at : at + size], "a.jsonl")
        entries = log.entries(range(len(log.tree)))
        assert [entry.id for entry in entries] == list(log.tree.keys)


@pytest.mark.parametrize("cut", range(len(LINES)))
def test_reading_on_is_like_reading_at_once(cut):
    data = "".join(f"{line}\n" for line in LINES).encode()
    start = len("".join(f"{line}\n" for line in LINES[:cut]))
    content = [data[:start]]
    log = EntryLog(OPERATOR, lambda at, size: content[0][at : at + size], "a.jsonl")

    content[0] = data
    log.catch_up()

    whole = EntryLog(OPERATOR, lambda at, size: data[at : at + size], "a.jsonl")
    assert list(log.tree.keys) == list(whole.tree.keys)
    assert log.entries(range(len(log.tree))) == whole.entries(range(len(whole.tree)))
